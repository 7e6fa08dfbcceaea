"""Ranking by a path of penalties, and stability over halves of the rows."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_regression
from sklearn.linear_model import Lasso, lars_path
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

from fewer._estimators import expected_false_bound, paired_halves
from fewer.select import SelectTop, SparsePathSelector, StabilitySelection


def test_columns_are_ranked_in_the_order_in_which_lars_lets_them_in():
    X, y = make_regression(80, 12, n_informative=6, noise=5.0, random_state=2)
    X = scale(X)
    select = SparsePathSelector(n_alphas=400, eps=1e-3).fit(X, y)
    _, entered, _ = lars_path(X, y - y.mean(), method="lar")
    assert np.argsort(select.ranking_)[:6].tolist() == list(entered[:6])


def test_columns_that_never_enter_come_last_by_how_near_they_came():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 30))
    y = X[:, 3] > 0
    select = SparsePathSelector(n_features_to_select=1, eps=0.3).fit(X, y)
    assert select.get_support(indices=True).tolist() == [3]
    assert (select.scores_[select.ranking_ > 25] == 0).all()
    assert sorted(select.ranking_) == list(range(1, 31))


def test_with_several_classes_a_column_that_tells_one_of_them_is_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 20))
    y = np.repeat(["a", "b", "c"], 50)
    X[y == "a", 4] += 3
    X[y == "c", 9] += 3
    select = SparsePathSelector(n_features_to_select=2).fit(X, y)
    assert select.get_support(indices=True).tolist() == [4, 9]


def test_the_scale_of_a_column_does_not_matter_unless_asked():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 6))
    y = X[:, 0] + 0.8 * X[:, 1] + 0.5 * rng.normal(size=100) > 0
    X[:, 0] *= 1e-3
    assert SparsePathSelector(2).fit(X, y).get_support(indices=True).tolist() == [0, 1]
    assert 0 not in SparsePathSelector(1, with_std=False).fit(X, y).get_support(indices=True)


def test_halves_of_a_pair_share_no_row_and_keep_the_classes():
    y = np.repeat([0, 1], [30, 11])
    halves = paired_halves(y, 3, np.random.RandomState(0), classes=True)
    assert len(halves) == 6
    for first, second in zip(halves[::2], halves[1::2], strict=True):
        assert not set(first) & set(second)
        assert np.bincount(y[first]).tolist() == np.bincount(y[second]).tolist() == [15, 5]


def test_frequencies_are_the_share_of_halves_in_which_a_column_is_chosen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 10))
    y = X[:, 2] - X[:, 5] + 0.3 * rng.normal(size=80) > 0
    select = StabilitySelection(
        SelectTop("fisher", n_features_to_select=10), n_features_each=2, n_pairs=7, random_state=0
    ).fit(X, y)
    halves = paired_halves(y, 7, np.random.RandomState(0), classes=True)
    counts = np.zeros(10)
    for rows in halves:
        counts[np.argsort(SelectTop("fisher", n_features_to_select=10).fit(X[rows], y[rows]).ranking_)[:2]] += 1
    np.testing.assert_allclose(select.scores_, counts / 14)
    assert select.stability_path_[-1].tolist() == select.scores_.tolist()
    assert select.stability_path_.sum(axis=1).tolist() == pytest.approx([1, 2])


def test_the_number_chosen_on_a_half_keeps_the_bound():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 200))
    y = X[:, :3].sum(axis=1) > 0
    select = StabilitySelection(n_pairs=5, threshold=0.8, max_false=2.0, random_state=0).fit(X, y)
    assert select.n_features_each_ == 15  # the largest q with q^2 / (0.6 x 200) at most 2
    assert select.expected_false_ <= 2.0
    assert select.expected_false_ == expected_false_bound(select.n_chosen_, 0.8, 200)


def test_on_noise_fewer_useless_columns_are_kept_than_the_bound():
    kept = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(50, 100)), rng.integers(0, 2, 50)
        select = StabilitySelection(
            SelectTop("fisher", n_features_to_select=100), threshold=0.75, max_false=1.0, n_pairs=20, random_state=0
        )
        with warnings.catch_warnings(action="ignore"):
            kept.append(int(select.fit(X, y).support_.sum()))
    assert np.mean(kept) <= 1.0


def test_a_sparse_model_chooses_by_its_coefficients():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 15))
    y = X[:, 1] + X[:, 2] > 0
    model = LinearSVC(penalty="l1", dual=False, C=0.05, random_state=0)
    select = StabilitySelection(model, n_features_each=5, n_pairs=5, random_state=0).fit(X, y)
    assert select.get_support(indices=True).tolist() == [1, 2]
    assert select.n_chosen_ <= 5


def test_when_nothing_is_stable_it_says_so():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="No column is chosen on 100% of the halves"):
        StabilitySelection(threshold=1.0, n_features_each=1, n_pairs=10, random_state=0).fit(
            rng.normal(size=(40, 60)), rng.integers(0, 2, 40)
        )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_path_that_ends_early_ranks_the_first_columns_as_the_whole_one_does(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 20))
    y = np.digitize(X[:, 0] + 0.7 * X[:, 1] + 0.5 * X[:, 2] + rng.normal(size=120), [-0.5, 0.5][: n_classes - 1])
    whole, short = SparsePathSelector().fit(X, y), SparsePathSelector(max_features=4).fit(X, y)
    first = whole.ranking_ <= 4
    assert np.array_equal(short.ranking_[first], whole.ranking_[first])
    assert np.count_nonzero(short.scores_) < np.count_nonzero(whole.scores_)
    options = {"n_features_each": 4, "n_pairs": 2, "threshold": 0.6, "random_state": 0}
    by_whole = StabilitySelection(SparsePathSelector(), **options).fit(X, y)
    assert np.array_equal(StabilitySelection(**options).fit(X, y).scores_, by_whole.scores_)


def test_a_class_with_one_row_cannot_be_halved():
    X = np.random.default_rng(0).normal(size=(9, 3))
    with pytest.raises(ValueError, match="the class 'rare' has one row only"):
        StabilitySelection(n_pairs=2).fit(X, ["a"] * 8 + ["rare"])


def test_a_model_that_keeps_nothing_is_named():
    X, y = make_regression(40, 5, random_state=0)
    with pytest.warns(UserWarning, match="Lasso chose no column on any half: weaken its penalty"):
        StabilitySelection(Lasso(1e6), n_pairs=2, random_state=0).fit(X, y)


def test_columns_that_are_chosen_equally_often_are_ranked_by_their_places_on_the_halves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8))
    y = 3 * X[:, 7] + X[:, 6] + 0.7 * X[:, 5] + rng.normal(size=200)
    select = StabilitySelection(n_features_each=1, n_pairs=5, random_state=0).fit(X, y)
    assert np.count_nonzero(select.scores_) == 1
    assert np.argsort(select.ranking_)[:3].tolist() == [7, 6, 5]


def test_named_columns_of_the_picture_differ_in_colour_or_dash():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12))
    select = StabilitySelection(n_features_each=12, n_pairs=3, random_state=0).fit(X, X.sum(axis=1) > 0)
    named = [trace for trace in select.plot(n_columns=11).data if trace.showlegend]
    assert len({(trace.line.color, trace.line.dash) for trace in named}) == len(named) == 11
