"""LPBoost: the linear program over all thresholds, solved with few of them.

ThresholdStump: the best of all thresholds on all columns, as brute force finds it.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from fewer.learn import LPBoost, ThresholdStump
from fewer.learn.lp_boost import _lp_boost
from fewer.learn.lp_boost._lp_boost import corner, counting, near_optimum, soft_margin
from tolerances import rounding


def noisy_rows(n_rows=80, n_columns=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, np.where(X[:, 0] + X[:, 1] + 0.7 * rng.normal(size=n_rows) > 0, "up", "down")


def all_votes(X):
    """Votes of every threshold on every column, in both directions."""
    votes = [np.ones(len(X))]
    for column in X.T:
        votes += [np.where(column < threshold, 1.0, -1.0) for threshold in np.unique(column)[1:]]
    return np.vstack([votes, np.negative(votes)])


def full_program(X, labels, nu):
    """Soft margin of the program with all rules at once, in its primal form."""
    rules = all_votes(X)
    n_rules, n_rows = rules.shape
    found = linprog(
        np.r_[np.zeros(n_rules), -1, np.full(n_rows, 1 / (nu * n_rows))],
        A_ub=np.hstack([-(labels * rules).T, np.ones((n_rows, 1)), -np.eye(n_rows)]),
        b_ub=np.zeros(n_rows),
        A_eq=[np.r_[np.ones(n_rules), np.zeros(n_rows + 1)]],
        b_eq=[1],
        bounds=[(0, None)] * n_rules + [(None, None)] + [(0, None)] * n_rows,
    )
    return -found.fun


@pytest.mark.parametrize("nu", [0.05, 0.2, 0.5, 1.0])
def test_the_margin_is_that_of_the_program_with_all_rules(nu):
    X, y = noisy_rows()
    model = LPBoost(nu=nu, tol=0).fit(X, y)
    assert model.margin_ == pytest.approx(full_program(X, np.where(y == "up", 1, -1), nu), abs=1e-7)
    assert model.gap_ < 1e-8


@pytest.mark.parametrize("nu", [0.1, 0.3])
def test_the_votes_reach_the_margin(nu):
    X, y = noisy_rows()
    model = LPBoost(nu=nu, tol=0).fit(X, y)
    margins = np.where(y == "up", 1, -1) * model.decision_function(X)
    # The best rho for these margins: what nu times the rows fall short of.
    levels = [rho - np.maximum(rho - margins, 0).mean() / nu for rho in margins]
    assert max(levels) == pytest.approx(model.margin_, abs=1e-7)
    assert np.mean(margins < margins[np.argmax(levels)] - 1e-6) <= nu
    assert model.estimator_weights_.sum() == pytest.approx(1)
    assert np.all(np.diff(model.estimator_weights_) <= 0)


def test_row_weights_and_votes_solve_both_sides_of_the_program():
    rng = np.random.default_rng(1)
    margins = rng.choice([-1.0, 1.0], size=(7, 30), p=[0.4, 0.6])
    found = corner(margins, 0.2)
    assert found.row_weights.sum() == pytest.approx(1)
    assert found.row_weights.max() <= 1 / (0.2 * 30) + 1e-9
    assert (margins @ found.row_weights).max() == pytest.approx(found.margin)
    assert soft_margin(found.votes @ margins, 0.2) == pytest.approx(found.margin)
    np.testing.assert_allclose((margins @ found.row_weights)[found.votes > 1e-9], found.margin, atol=1e-9)


@pytest.mark.parametrize("nu", [0.01, 0.2, 0.6, 0.9])
@pytest.mark.parametrize("shape", [(1, 20), (7, 30), (60, 30)])
def test_from_the_inside_the_optimum_is_as_near_as_asked_for(nu, shape):
    margins = np.random.default_rng(1).choice([-1.0, 1.0], size=shape, p=[0.4, 0.6])
    best = corner(margins, nu).margin
    for gap in (0.1, 1e-3, 1e-5):
        found = near_optimum(margins, nu, gap)
        assert best - gap - 1e-8 <= found.margin <= best + 1e-8
        assert best - 1e-8 <= (margins @ found.row_weights).max() <= best + gap + 1e-8
        assert 0 <= found.row_weights.min() <= found.row_weights.max() <= 1 / (nu * shape[1]) + 1e-9


def test_the_soft_margin_is_the_best_level():
    margins = np.random.default_rng(0).normal(size=50)
    levels = np.linspace(-3, 3, 6001)
    worth = [level - np.maximum(level - margins, 0).sum() / (0.3 * 50) for level in levels]
    assert soft_margin(margins, 0.3) == pytest.approx(max(worth), abs=1e-3)
    assert soft_margin(margins, 0.3) >= max(worth) - rounding(50, scale=np.abs(margins).sum() / (0.3 * 50))


def test_the_columns_that_matter_have_most_of_the_vote_and_tell_new_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 60))
    y = (X[:, 3] + X[:, 7] + 0.5 * rng.normal(size=400) > 0).astype(int)
    model = LPBoost(nu=0.4).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.8
    assert set(np.argsort(-model.feature_importances_)[:2]) == {3, 7}
    kept = SelectFromModel(LPBoost(nu=0.4), max_features=2).fit(X, y).get_support(indices=True)
    np.testing.assert_array_equal(kept, [3, 7])


def test_one_column_that_tells_all_needs_one_rule():
    X, y = load_iris(return_X_y=True)
    model = LPBoost().fit(X[:100], y[:100])
    assert len(model.estimators_) == 1
    assert (model.margin_, model.score(X[:100], y[:100])) == (1, 1)


def test_any_classifier_with_weights_is_boosted():
    X, y = load_breast_cancer(return_X_y=True)
    model = LPBoost(DecisionTreeClassifier(max_depth=2, random_state=0), max_iter=30, tol=0.05).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.92
    assert not hasattr(model, "feature_importances_")


def test_several_classes_by_one_against_all_others():
    X, y = load_iris(return_X_y=True)
    assert OneVsRestClassifier(LPBoost(nu=0.2)).fit(X, y).score(X, y) > 0.93
    with pytest.raises(ValueError, match="OneVsRestClassifier"):
        LPBoost().fit(X, y)


def test_too_few_rounds_are_told_with_the_gap():
    X, y = noisy_rows()
    with pytest.warns(ConvergenceWarning, match=r"after 1 rounds, and could still grow by up to 0\.\d+"):
        model = LPBoost(max_iter=1).fit(X, y)
    assert model.gap_ > 0.01


def test_where_nothing_tells_the_classes_apart_the_larger_is_the_answer():
    X, y = np.ones((10, 3)), np.array([0] * 7 + [1] * 3)
    model = LPBoost(nu=1.0).fit(X, y)
    assert set(model.predict(X)) == {0}
    np.testing.assert_array_equal(model.feature_importances_, 0)


def test_the_side_of_the_stumps_is_respected():
    X, y = noisy_rows()
    model = LPBoost(ThresholdStump("below"), nu=0.3).fit(-X, y)
    assert {each.sign_ for each in model.estimators_} == {1}


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=1, random_state=0)])
def test_a_sparse_table_gives_the_vote_of_the_dense_one(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 8)) * (rng.uniform(size=(120, 8)) < 0.5)
    y = X[:, 0] + X[:, 3] - X[:, 5] > 0
    dense = LPBoost(estimator, nu=0.2).fit(X, y)
    for form in (sparse.csr_array, sparse.csc_matrix):
        found = LPBoost(estimator, nu=0.2).fit(form(X), y)
        np.testing.assert_allclose(found.decision_function(form(X)), dense.decision_function(X), atol=1e-6)
        assert found.margin_ == pytest.approx(dense.margin_, abs=1e-6)


def test_what_it_takes_is_what_its_rule_takes():
    assert get_tags(LPBoost()).input_tags.sparse
    assert not get_tags(LPBoost(GaussianNB())).input_tags.sparse


def hard_rows(n_rows, seed=0):
    """Classes that three columns of fifty tell apart, and noise half as large as these."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 50))
    return X, X[:, :3].sum(axis=1) + rng.normal(size=n_rows) > 0


def test_many_noisy_rows_need_no_corner(monkeypatch):
    """The corners of a large program are what took minutes."""

    def never(*args):
        raise AssertionError("a corner was looked for")

    monkeypatch.setattr(_lp_boost, "corner", never)
    X, y = hard_rows(700)
    model = LPBoost().fit(X, y)
    margins = np.where(y, 1, -1) * model.decision_function(X)
    assert soft_margin(margins, 0.1) == pytest.approx(model.margin_, abs=1e-9)
    assert 0 <= model.gap_ <= 0.01


def test_a_large_program_ends_near_the_optimum_with_as_few_votes_as_a_corner():
    X, y = hard_rows(600)
    model = LPBoost(tol=0.02).fit(X, y)
    rules = np.array([np.where(y, 1, -1) * (2 * each.predict(X) - 1) for each in model.estimators_])
    best = corner(rules, 0.1)
    assert rules.size > 100_000
    assert model.margin_ == pytest.approx(best.margin, abs=1e-4)
    assert np.count_nonzero(best.votes > 1e-9) > 0.95 * len(rules)


def test_rules_that_count_near_a_large_optimum_are_those_of_the_corner_and_hardly_more():
    X, y = hard_rows(700)
    rng = np.random.default_rng(0)
    columns, cuts = rng.integers(50, size=300), rng.normal(size=300)
    columns[:150] %= 3
    signs = rng.choice([-1.0, 1.0], size=(300, 1))
    margins = np.where(y, 1, -1) * signs * np.where(cuts[:, None] > X[:, columns].T, 1.0, -1.0)
    best, inside = corner(margins, 0.5), near_optimum(margins, 0.5, 1e-6)
    assert margins.size > 200_000
    assert best.margin - 1e-6 <= inside.margin <= best.margin + 1e-8
    at_corner = best.votes > 1e-4 * best.votes.max()
    assert counting(inside)[at_corner].all()
    assert counting(inside).sum() <= 1.1 * at_corner.sum()


def best_edge(X, signed, both):
    """The largest edge of any threshold, by trying all."""
    edges = []
    for column in X.T:
        for threshold in [np.inf, -np.inf, *np.unique(column)]:
            edge = np.where(column < threshold, signed, -signed).sum()
            edges += [edge, -edge] if both else [edge]
    return max(edges)


@pytest.mark.parametrize("side", ["both", "below"])
@pytest.mark.parametrize("decimals", [0, 6])
def test_no_threshold_is_better(side, decimals):
    rng = np.random.default_rng(0)
    for _ in range(10):
        X, y = rng.normal(size=(25, 4)).round(decimals), rng.integers(2, size=25)
        weights = rng.uniform(size=25)
        model = ThresholdStump(side).fit(X, y, sample_weight=weights)
        signed = (2 * y - 1) * weights / weights.sum()
        assert model.edge_ == pytest.approx(best_edge(X, signed, side == "both"))
        assert signed @ model.decision_function(X) == pytest.approx(model.edge_)


def test_without_weights_it_is_the_tree_of_one_split_by_errors():
    X, y = load_breast_cancer(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=1).fit(X, y)
    assert ThresholdStump().fit(X, y).score(X, y) >= tree.score(X, y)


def test_the_second_class_is_below_unless_it_may_be_on_either_side():
    x = np.arange(10.0)[:, None]
    y = np.where(x[:, 0] < 4, "near", "far")
    above = ThresholdStump().fit(x, np.where(x[:, 0] < 4, "far", "near"))
    assert (ThresholdStump("below").fit(x, y).threshold_, above.threshold_, above.sign_) == (3.5, 3.5, -1)
    below = ThresholdStump("below").fit(x, np.where(x[:, 0] < 4, "far", "near"))
    assert below.threshold_ == np.inf
    assert set(below.predict(x)) == {"near"}


def test_numbers_next_to_each_other_are_parted():
    x = np.array([1.0, 1.0, np.nextafter(1, 2), np.nextafter(1, 2)])[:, None]
    assert ThresholdStump().fit(x, [0, 0, 1, 1]).score(x, [0, 0, 1, 1]) == 1


def test_adaboost_of_scikit_learn_boosts_it():
    X, y = load_breast_cancer(return_X_y=True)
    model = AdaBoostClassifier(ThresholdStump(), n_estimators=30).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.93


def test_rows_without_weight_do_not_matter():
    X, y = load_iris(return_X_y=True)
    kept = y < 2
    model = ThresholdStump().fit(X[:120], np.minimum(y[:120], 1), sample_weight=kept[:120].astype(float))
    assert model.threshold_ == ThresholdStump().fit(X[kept], y[kept]).threshold_


def test_bad_input_is_told():
    X, y = load_iris(return_X_y=True, as_frame=True)
    with pytest.raises(ValueError, match=r"Only binary .* 3 classes\. Take sklearn\.multiclass\.OneVsRestClassifier"):
        ThresholdStump().fit(X, y)
    with pytest.raises(ValueError, match="at least one non-zero"):
        ThresholdStump().fit(X, y > 0, sample_weight=np.zeros(150))
    incomplete = pd.DataFrame(X).mask(X > 6)
    with pytest.raises(ValueError, match="contains NaN, in column 'sepal length"):
        ThresholdStump().fit(incomplete, y > 0)


@pytest.mark.parametrize("side", ["both", "below"])
@pytest.mark.parametrize("signs", ["positive", "negative", "both"])
def test_a_sparse_table_gives_the_stump_of_the_dense_one(side, signs):
    rng = np.random.default_rng(0)
    for _ in range(20):
        X = np.round(rng.normal(size=(30, 6)), 1) * (rng.uniform(size=(30, 6)) < 0.4)
        X = {"positive": np.abs(X), "negative": -np.abs(X), "both": X}[signs]
        y, weights = rng.integers(2, size=30), rng.uniform(size=30)
        weights[::5] = 0
        dense = ThresholdStump(side).fit(X, y, weights)
        for form in (sparse.csr_array, sparse.csc_matrix):
            found = ThresholdStump(side).fit(form(X), y, weights)
            assert (found.feature_, found.threshold_, found.sign_) == (dense.feature_, dense.threshold_, dense.sign_)
            assert found.edge_ == pytest.approx(dense.edge_)
            np.testing.assert_array_equal(found.predict(form(X)), dense.predict(X))


def test_zeros_and_duplicates_that_are_stored_change_nothing():
    X = sparse.csr_array(np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 3.0], [-1.0, 0.0]]))
    stored = X.tocsc()
    stored.data[:] = np.where(stored.data == 3, 0, stored.data)
    doubled = sparse.coo_array(([1.0, 1.0, -1.0, 1.0], ([1, 1, 3, 0], [0, 0, 0, 1])), shape=(4, 2))
    y = ["a", "b", "a", "b"]
    expected = ThresholdStump().fit(stored.toarray(), y)
    for table in (stored, doubled):
        found = ThresholdStump().fit(table, y)
        assert (found.feature_, found.threshold_, found.edge_) == (
            expected.feature_,
            expected.threshold_,
            expected.edge_,
        )


def test_a_million_columns_of_words_are_never_made_dense():
    words = sparse.random_array((1000, 1_000_000), density=1e-5, format="csr", rng=np.random.default_rng(0))
    told = sparse.csr_array((np.ones(500), (np.arange(500), np.full(500, 123_456))), shape=words.shape)
    model = ThresholdStump().fit(words + told, np.arange(1000) < 500)
    assert model.feature_ == 123_456
    assert model.score(words + told, np.arange(1000) < 500) == 1
