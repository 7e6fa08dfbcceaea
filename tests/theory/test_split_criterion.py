"""The repeated-split criterion and the smoothed error rate."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB

from fewer.datasets import make_four_gaussians
from fewer.learn import KernelRidgeClassifierLOO
from fewer.theory import RepeatedSplitCriterion, smoothed_error_rate

GRID = {"gamma": np.geomspace(0.3, 10, 3), "alpha": np.geomspace(0.01, 10, 4)}


@pytest.mark.parametrize("classes", [2, 3])
def test_one_decomposition_for_all_regularisations_gives_the_errors_of_refits(classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes][::2], y[y < classes][::2]
    criterion = RepeatedSplitCriterion(4)
    learner = KernelRidgeClassifierLOO(select=None)
    shared = criterion.surface(KernelRidgeClassifierLOO(), X, y, GRID)
    plain = criterion._errors_by_refits(learner, X, y, GRID)
    assert shared.errors.shape == (4, 3, 4)
    np.testing.assert_allclose(shared.errors, plain, rtol=1e-8)


def test_the_criterion_is_the_mean_squared_error_of_the_decision_values():
    X, y, _ = make_four_gaussians(64, random_state=0)
    criterion, learner = RepeatedSplitCriterion(3), KernelRidgeClassifierLOO(select=None)
    by_hand = [
        np.mean((y[test] - learner.fit(X[train], y[train]).decision_function(X[test])) ** 2)
        for train, test in criterion.split(X, y)
    ]
    np.testing.assert_allclose(criterion.errors(learner, X, y), by_hand)
    assert criterion(learner, X, y) == pytest.approx(np.mean(by_hand))
    assert {len(test) for _, test in criterion.split(X, y)} == {7}


def test_more_splits_begin_with_the_same_ones_and_vary_less():
    X, y, _ = make_four_gaussians(64, random_state=0)
    learner = KernelRidgeClassifierLOO(select=None)
    many = RepeatedSplitCriterion(12).errors(learner, X, y)
    np.testing.assert_array_equal(many[:5], RepeatedSplitCriterion(5).errors(learner, X, y))
    spread = {
        n: np.std([RepeatedSplitCriterion(n, random_state=seed)(learner, X, y) for seed in range(15)]) for n in (1, 16)
    }
    assert spread[16] < spread[1] / 2


def test_it_takes_probabilities_and_regressors_too():
    X, y = load_iris(return_X_y=True)
    assert 0 < RepeatedSplitCriterion(3)(GaussianNB(), X, y) < 0.2
    X, y = load_diabetes(return_X_y=True)
    surface = RepeatedSplitCriterion(5).surface(Ridge(), X, y, {"alpha": [1e-3, 1e-1, 1e3]})
    assert surface.errors.shape == (5, 3)
    assert surface.best["alpha"] != 1e3


def test_it_serves_as_the_folds_of_a_search():
    X, y, _ = make_four_gaussians(64, random_state=0)
    search = GridSearchCV(KernelRidgeClassifierLOO(select=None), {"alpha": [0.1, 1.0]}, cv=RepeatedSplitCriterion(4))
    assert search.fit(X, y).n_splits_ == 4


def test_the_surface_is_cut_to_fewer_splits_and_drawn():
    X, y, _ = make_four_gaussians(64, random_state=0)
    surface = RepeatedSplitCriterion(6).surface(KernelRidgeClassifierLOO(), X, y, GRID)
    np.testing.assert_array_equal(surface.first(2).errors, surface.errors[:2])
    assert surface.mean.min() == surface.mean[tuple(list(v).index(surface.best[k]) for k, v in GRID.items())]
    assert surface.plot().data[0].z.shape == (4, 3)
    one = RepeatedSplitCriterion(2).surface(KernelRidgeClassifierLOO(), X, y, {"alpha": GRID["alpha"]})
    assert len(one.plot().data[0].x) == 4
    with pytest.raises(ValueError, match="between 1 and the 6"):
        surface.first(7)


def test_impossible_splits_are_refused():
    with pytest.raises(ValueError, match="n_splits=0"):
        RepeatedSplitCriterion(0)
    assert RepeatedSplitCriterion(1).get_n_splits() == 1
    with pytest.raises(ValueError, match=r"test_size=1\.5"):
        RepeatedSplitCriterion(3, test_size=1.5)


def test_the_smoothed_error_rate_tends_to_the_error_rate():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(500) < 0.5, -1, 1)
    f = y + rng.normal(size=500)
    wrong = np.mean(np.sign(f) != y)
    gaps = [abs(smoothed_error_rate(y, f, gamma) - wrong) for gamma in (1, 8, 1e6)]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-3
    by_hand = sum(1 - yi * np.tanh(8 * fi) for yi, fi in zip(y, f, strict=True)) / 1000
    assert smoothed_error_rate(y, f) == pytest.approx(by_hand)


def test_the_smoothed_error_rate_takes_any_two_labels():
    assert smoothed_error_rate(["no", "yes"], [-3.0, 3.0]) == pytest.approx(0, abs=1e-9)
    assert smoothed_error_rate([1, 1], [-3.0, 3.0]) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="3 different labels"):
        smoothed_error_rate([0, 1, 2], [0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="one entry for each row"):
        smoothed_error_rate([0, 1], [0.0])
