"""VIPSelector: the formula, columns that go with classes and numbers, missing values."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_wine
from sklearn.preprocessing import scale

from fewer.extract import PLSRegressor
from fewer.select import VIPSelector


def test_vip_is_the_formula_and_that_of_the_regression():
    X, y = load_diabetes(return_X_y=True)
    model = PLSRegressor(3, scale=True).fit(X, y)
    share = model.explained_variance_ratio_y_ / model.explained_variance_ratio_y_.sum()
    expected = np.sqrt(10 * (model.x_weights_**2 @ share))
    np.testing.assert_allclose(model.vip_, expected)
    selector = VIPSelector(4, n_components=3).fit(X, y)
    np.testing.assert_allclose(selector.scores_, expected)
    assert selector.get_support().sum() == 4
    assert np.array_equal(np.argsort(selector.ranking_), np.argsort(-expected))


def test_vip_finds_the_columns_that_tell_classes_and_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 50))
    y = X[:, 3] - X[:, 7] + 0.3 * rng.normal(size=100)
    assert set(np.flatnonzero(VIPSelector(2).fit(X, y).get_support())) == {3, 7}
    classes = np.where(y > 0, "high", "low")
    assert set(np.flatnonzero(VIPSelector(2).fit(X, classes).get_support())) == {3, 7}
    assert set(np.flatnonzero(VIPSelector(2).fit(sparse.csr_array(X), y).get_support())) == {3, 7}


def test_vip_above_one_and_all():
    X, y = load_diabetes(return_X_y=True)
    selector = VIPSelector(None).fit(X, y)
    assert np.array_equal(selector.get_support(), selector.scores_ > 1)
    assert VIPSelector().fit(X[:, :4], y).get_support().all()
    with pytest.warns(UserWarning, match="n_features_to_select=99 columns are asked for, and the table has 10"):
        VIPSelector(99).fit(X, y)


def test_vip_takes_numbers_of_few_values_for_what_it_is_told():
    X, y = load_wine(return_X_y=True)
    as_classes, as_numbers = (VIPSelector(3, target=kind).fit(X, y) for kind in ("classes", "numbers"))
    np.testing.assert_allclose(VIPSelector(3).fit(X, y).scores_, as_classes.scores_)
    np.testing.assert_allclose(as_numbers.scores_, PLSRegressor(2, scale=True).fit(X, y).vip_)


def test_vip_ranks_a_table_with_missing_values_much_as_the_whole_one():
    X, y = load_wine(return_X_y=True)
    X, y = scale(X), np.array(["a", "b", "c"])[y]
    missing = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    whole, model = VIPSelector(5).fit(X, y), VIPSelector(5).fit(missing, y)
    assert np.corrcoef(whole.scores_, model.scores_)[0, 1] > 0.98
    assert model.transform(missing).shape == (178, 5)
    with pytest.raises(ValueError, match="y holds text"):
        VIPSelector(target="numbers").fit(X, y)


@pytest.mark.parametrize("target", ["auto", "classes"])
@pytest.mark.parametrize("labels", [lambda y: y, lambda y: y.astype(str), lambda y: y.astype(str).astype(object)])
def test_classes_in_a_single_column_are_classes(labels, target):
    X, y = load_wine(return_X_y=True)
    expected = VIPSelector(3, target=target).fit(X, y).ranking_
    np.testing.assert_array_equal(VIPSelector(3, target=target).fit(X, labels(y)[:, None]).ranking_, expected)


def test_more_components_than_there_are_is_said_by_the_selector():
    X, y = load_wine(return_X_y=True)
    with pytest.warns(UserWarning, match="n_components=50 are asked for, and there are 13"):
        VIPSelector(3, n_components=50).fit(X, y)
