"""Weights of the rows in selectors: a row of weight 2 counts as two rows, a row of weight 0 as none."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from tests.tolerances import rounding

from fewer.select import MRMR, ForestImportanceSelector, RidgeRFE, SelectTop, ShadowRelevanceSelector
from fewer.select.information._levels import discretise

_OF_CLASSES = [
    SelectTop("anova", n_features_to_select=3),
    SelectTop("fisher", n_features_to_select=3, per_class=True),
    RidgeRFE(3),
    RidgeRFE(3, step=1, alpha=2.0),
    MRMR(4),
    ForestImportanceSelector(3, n_estimators=10, random_state=0),
]
_OF_NUMBERS = [SelectTop("pearson", n_features_to_select=3), RidgeRFE(3), MRMR(4)]


def _table(n_rows, n_columns, seed, *, is_sparse):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns)).round(1)
    X[:, -1] = 3.0
    response = X[:, 0] - X[:, 1] + rng.normal(size=n_rows)
    weights = rng.integers(0, 4, size=n_rows)
    X = sparse.csc_array(np.where(rng.random(X.shape) < 0.5, 0, X)) if is_sparse else X
    return X, response, weights, np.repeat(np.arange(n_rows), weights)


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("shape", [(60, 8), (25, 40)], ids=["long", "wide"])
@pytest.mark.parametrize("selector", _OF_CLASSES, ids=repr)
def test_integer_weights_are_repeated_rows_for_classes(selector, shape, is_sparse):
    X, response, weights, repeated = _table(*shape, 1, is_sparse=is_sparse)
    y = np.array(["low", "middle", "high"])[np.digitize(response, [-0.7, 0.7])]
    _same(selector, X, y, weights, repeated)


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("shape", [(60, 8), (25, 40)], ids=["long", "wide"])
@pytest.mark.parametrize("selector", _OF_NUMBERS, ids=repr)
def test_integer_weights_are_repeated_rows_for_numbers(selector, shape, is_sparse):
    X, response, weights, repeated = _table(*shape, 2, is_sparse=is_sparse)
    _same(selector, X, response, weights, repeated)


def _same(selector, X, y, weights, repeated):
    found = clone(selector).fit(X, y, sample_weight=weights)
    wanted = clone(selector).fit(X[repeated], y[repeated])
    assert_array_equal(found.ranking_, wanted.ranking_)
    size = np.abs(wanted.scores_[np.isfinite(wanted.scores_)]).max()
    assert_allclose(found.scores_, wanted.scores_, atol=rounding(len(repeated), size, 1e3))


def test_weights_change_a_forest_for_numbers_as_repeated_rows_do():
    X, response, weights, repeated = _table(80, 6, 3, is_sparse=False)
    forest = ForestImportanceSelector(3, n_estimators=600, random_state=0)
    found = clone(forest).fit(X, response, sample_weight=weights).scores_
    # Draws differ, because a node of equal rows is pure but for rounding: two forests of 600 trees agree this far.
    assert_allclose(found, clone(forest).fit(X[repeated], response[repeated]).scores_, atol=0.02)
    assert np.abs(found - clone(forest).fit(X, response).scores_).max() > 0.02


def test_levels_of_weighted_rows_are_those_of_repeated_rows():
    rng = np.random.default_rng(0)
    for _ in range(50):
        X = rng.integers(0, 40, size=(30, 3)).astype(float)
        weights = rng.integers(1, 5, size=30)
        repeated = np.repeat(np.arange(30), weights)
        found = discretise(X, weights=weights.astype(float))
        assert_array_equal(found.codes[:, repeated], discretise(X[repeated]).codes)


def test_shadows_follow_the_rows_with_weight():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    first = np.arange(300) < 150
    y = np.where(first, X[:, 0] > 0, X[:, 1] > 0).astype(int)
    selector = ShadowRelevanceSelector(30, max_iter=20, random_state=0)
    found = clone(selector).fit(X, y, sample_weight=np.where(first, 1.0, 1e-3))
    assert_array_equal(np.flatnonzero(found.confirmed_), [0])
    assert_array_equal(np.flatnonzero(clone(selector).fit(X, y).confirmed_), [0, 1])
    alone = clone(selector).fit(X, y, sample_weight=first.astype(float))
    assert_array_equal(alone.hits_, clone(selector).fit(X[first], y[first]).hits_)


@pytest.mark.filterwarnings("ignore:No column is confirmed")
def test_shadows_call_weighted_noise_noise():
    rng = np.random.default_rng(0)
    confirmed = 0
    for seed in range(20):
        X, y, weights = rng.normal(size=(60, 5)), rng.integers(0, 2, 60), rng.exponential(size=60)
        selector = ShadowRelevanceSelector(20, max_iter=20, random_state=seed)
        confirmed += selector.fit(X, y, sample_weight=weights).confirmed_.sum()
    # 9 of 300 such columns were confirmed (7 without weights); rows drawn by weight instead would confirm 202. Of 100,
    # more than 10 are four standard errors away.
    assert confirmed <= 10


def test_weights_reach_a_selector_in_a_pipeline_by_routing():
    X, response, weights, repeated = _table(60, 8, 4, is_sparse=False)
    y = (response > 0).astype(int)
    with config_context(enable_metadata_routing=True):
        model = make_pipeline(
            RidgeRFE(3).set_fit_request(sample_weight=True), RidgeClassifier().set_fit_request(sample_weight=True)
        )
        found = model.fit(X, y, sample_weight=weights)[0].ranking_
    assert_array_equal(found, RidgeRFE(3).fit(X[repeated], y[repeated]).ranking_)


def test_scores_without_weights_are_named():
    X, response, weights, _ = _table(60, 8, 5, is_sparse=False)
    with pytest.raises(ValueError, match="scores that do are anova"):
        SelectTop("relieff").fit(X, response > 0, sample_weight=weights)
    with pytest.raises(ValueError, match="mutual_information"):
        MRMR(3, relevance="f").fit(X, response, sample_weight=weights)
    with pytest.raises(ValueError, match="two rows with a positive sample_weight"):
        RidgeRFE(3).fit(X, response, sample_weight=np.eye(60)[0])
