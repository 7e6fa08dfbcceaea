"""Sizes chosen by distances between models: closed forms, rows set aside, and the three rules."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from fewer.select import MetricBasedSelection, SelectTop
from fewer.select._metric_based_selection import (
    adjusted_errors,
    default_sizes,
    pairwise_distances,
    triangle_holds,
    trust,
)


def some_useful(n_rows=60, n_columns=20, n_useful=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, :n_useful] += 1.5 * y[:, None]
    return X, y


def test_distances_are_rates_of_disagreement_or_root_mean_squares():
    classes = np.array([[0, 1, 1, 0], [0, 1, 0, 1]])
    assert pairwise_distances(classes, classes=True, smooth=False).tolist() == [[0, 0.5], [0.5, 0]]
    assert pairwise_distances(classes, classes=True, smooth=True) == pytest.approx(np.array([[1, 3], [3, 1]]) / 6)
    numbers = np.array([[0.0, 0.0], [3.0, 4.0]])
    apart = np.sqrt(12.5)
    assert pairwise_distances(numbers, classes=False, smooth=True) == pytest.approx(np.array([[0, apart], [apart, 0]]))


def test_a_model_further_from_a_smaller_one_than_their_errors_allow_is_found_out():
    errors = np.array([0.4, 0.2, 0.1])
    apart = np.array([[0.0, 0.5, 0.4], [0.5, 0.0, 0.31], [0.4, 0.31, 0.0]])
    assert triangle_holds(errors, apart).tolist() == [True, True, False]
    assert triangle_holds(errors, np.minimum(apart, 0.3)).all()


def test_training_errors_are_adjusted_by_the_largest_ratio():
    errors = np.array([0.5, 0.2, 0.1])
    in_training = np.array([[0, 0.2, 0.4], [0.2, 0, 0.1], [0.4, 0.1, 0]])
    elsewhere = np.array([[0, 0.3, 0.4], [0.3, 0, 0.5], [0.4, 0.5, 0]])
    assert adjusted_errors(errors, in_training, elsewhere) == pytest.approx([0.5, 0.3, 0.5])


def test_models_that_differ_only_elsewhere_are_the_worst_and_equal_models_are_not():
    errors, same, apart = np.array([0.5, 0.5]), np.zeros((2, 2)), np.array([[0, 0.1], [0.1, 0]])
    assert adjusted_errors(errors, same, apart).tolist() == [0.5, np.inf]
    assert adjusted_errors(errors, same, same).tolist() == [0.5, 0.5]
    assert adjusted_errors(np.array([0.5, 0.0]), same, apart).tolist() == [0.5, np.inf]


def test_cross_validation_is_trusted_less_the_further_it_is_from_the_metric():
    assert trust(0.0, 0.1) == trust(0.0, 0.0) == 1.0
    assert trust(0.1, 0.1) == 0.5
    assert trust(0.3, 0.1) == pytest.approx(0.25)
    assert trust(0.3, 0.0) == 0.0


def test_sizes_grow_to_the_full_table():
    assert default_sizes(4) == [1, 2, 3, 4]
    assert default_sizes(30) == [*range(1, 11), 12, 15, 19, 24, 30]
    assert len(default_sizes(20_000)) < 50


def test_the_errors_are_those_of_the_models():
    X, y = some_useful()
    other = some_useful(200, seed=1)[0]
    select = MetricBasedSelection(GaussianNB(), rule="adjusted", sizes=[1, 5, 20]).fit(X, y, X_unlabelled=other)
    order = np.argsort(SelectTop("fisher").fit(X, y).ranking_)
    assert np.array_equal(np.argsort(select.ranking_), order)
    models = [GaussianNB().fit(X[:, order[:size]], y) for size in (1, 5, 20)]
    errors = [1 - model.score(X[:, order[:size]], y) for model, size in zip(models, (1, 5, 20), strict=True)]
    assert select.train_errors_ == pytest.approx(errors)
    first, second = (model.predict(other[:, order[:size]]) for model, size in zip(models[:2], (1, 5), strict=True))
    trained = [model.predict(X[:, order[:size]]) for model, size in zip(models[:2], (1, 5), strict=True)]
    constant = np.bincount(y).argmax()
    ratios = [
        ((second != constant).sum() + 1) / 202 * 62 / ((trained[1] != constant).sum() + 1),
        ((second != first).sum() + 1) / 202 * 62 / ((trained[1] != trained[0]).sum() + 1),
    ]
    assert select.adjusted_errors_[1] == pytest.approx((60 * errors[1] + 1) / 62 * max(ratios))


def test_the_largest_consistent_model_is_taken():
    X, y = some_useful(40, 30)
    select = MetricBasedSelection(LinearDiscriminantAnalysis(), rule="triangle")
    select.fit(X, y, X_unlabelled=some_useful(500, 30, seed=1)[0])
    assert not select.consistent_.all()
    assert select.n_features_to_select_ == select.sizes_[select.consistent_].max()
    assert select.get_support().sum() < 30


@pytest.mark.parametrize("rule", ["adjusted", "triangle", "hybrid"])
def test_fewer_columns_than_the_training_error_would_take(rule):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 25))
    y = X[:30, 3] + X[:30, 7] + 0.3 * rng.normal(size=30)
    select = MetricBasedSelection(LinearRegression(), rule=rule).fit(X[:30], y, X_unlabelled=X[30:])
    assert {3, 7} <= set(select.get_support(indices=True))
    assert select.n_features_to_select_ < select.sizes_[select.train_errors_.argmin()]
    assert (select.cv_errors_ is None) == (rule != "hybrid")


def test_labels_of_rows_set_aside_do_not_matter_for_the_choice():
    X, y = some_useful(100)
    select = MetricBasedSelection(GaussianNB(), rule="adjusted", random_state=0).fit(X, y)
    rng = np.random.RandomState(0)
    from fewer.select._selector import sampled_rows

    kept = sampled_rows(100, 70, y, classes=True, rng=rng)
    aside = np.setdiff1d(np.arange(100), kept)
    assert len(aside) == 30
    expected = MetricBasedSelection(GaussianNB(), rule="adjusted").fit(X[kept], y[kept], X_unlabelled=X[aside])
    assert np.array_equal(select.adjusted_errors_, expected.adjusted_errors_)
    assert select.n_features_to_select_ == expected.n_features_to_select_
    assert np.array_equal(select.ranking_, SelectTop("fisher").fit(X, y).ranking_)


def test_another_learner_follows_and_another_ranking_leads():
    X, y = some_useful(100)
    ranked = SelectTop("welch")
    model = make_pipeline(
        MetricBasedSelection(GaussianNB(), selector=ranked, random_state=0), KNeighborsClassifier(5)
    ).fit(X, np.array(["no", "yes"])[y])
    assert set(model.predict(X)) == {"no", "yes"}
    assert np.array_equal(model[0].ranking_, ranked.fit(X, y).ranking_)


def test_sparse_tables_for_learners_and_rankings_that_take_them():
    X, y = some_useful(100)
    X = np.where(X > 1, X, 0)
    parts = {"estimator": BernoulliNB(), "selector": SelectTop("info_gain"), "sizes": [2, 9], "random_state": 0}
    dense = MetricBasedSelection(**parts).fit(X, y)
    for form in (sparse.csr_array, sparse.csc_array):
        assert np.array_equal(MetricBasedSelection(**parts).fit(form(X), y).ranking_, dense.ranking_)


def test_regression_with_few_columns_and_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 1))
    select = MetricBasedSelection(Ridge(), random_state=0).fit(X, X[:, 0])
    assert select.get_support().tolist() == [True]
    assert select.sizes_.tolist() == [1]


def test_what_cannot_be_done_is_told():
    X, y = some_useful()
    with pytest.raises(ValueError, match="sizes holds 0"):
        MetricBasedSelection(GaussianNB(), sizes=[0, 3]).fit(X, y)
    with pytest.raises(ValueError, match="sizes is empty"):
        MetricBasedSelection(GaussianNB(), sizes=[]).fit(X, y)
    with pytest.raises(TypeError, match="SelectKBest does not rank"):
        MetricBasedSelection(GaussianNB(), selector=SelectKBest()).fit(X, y)
    with pytest.raises(ValueError, match="one class only"):
        MetricBasedSelection(GaussianNB()).fit(X, np.zeros(60))
    with pytest.raises(ValueError, match="19 features"):
        MetricBasedSelection(GaussianNB()).fit(X, y, X_unlabelled=X[:, 1:])
