"""Over-fitting along a search: the curves, the turn and the flag."""

import json

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fewer.datasets import make_four_gaussians, make_twonorm
from fewer.learn import KernelRidgeClassifierLOO
from fewer.theory import OverfitCurve, selection_overfit_curve
from tolerances import rounding


def curve_of(mean, *, noise=0.0, n_repeats=1, seed=0):
    rng = np.random.default_rng(seed)
    mean = np.asarray(mean, dtype=float)
    parts = mean + noise * rng.normal(size=(n_repeats, 10, len(mean)))
    return OverfitCurve(np.repeat(-np.arange(len(mean))[None, :], n_repeats, axis=0), parts)


def test_the_turn_and_the_rise_after_it_are_found():
    curve = curve_of([5, 3, 1, 2, 4], noise=0.01)
    assert curve.turn == 2
    assert curve.rise == pytest.approx(3, abs=0.02)
    assert curve.overfits


def test_a_curve_that_only_falls_does_not_overfit():
    assert not curve_of([5, 4, 3, 2, 1], noise=0.01).overfits


def test_noise_on_a_flat_curve_is_rarely_taken_for_a_rise():
    flagged = [curve_of(np.ones(30), noise=1.0, n_repeats=n, seed=seed).overfits for n in (1, 20) for seed in range(60)]
    # 5% are expected, with a standard error of 2%.
    assert np.mean(flagged) < 0.11


def test_the_curve_starts_at_the_start_and_ends_at_the_choice():
    X, y, _ = make_four_gaussians(64, random_state=0)
    model = KernelRidgeClassifierLOO(solver="lbfgs").fit(X, y)
    curve = selection_overfit_curve(model, X, y, make_four_gaussians, n_repeats=2, random_state=0)
    np.testing.assert_allclose(curve.criterion[0], model.selection_path_["press"] / 64)
    # A mean of 64 squared residuals, from a system of 64 equations.
    assert (np.diff(curve.criterion[0]) <= rounding(64, scale=curve.criterion[0, 0])).all()
    X_new, y_new, _ = make_four_gaussians(50_000, random_state=1)
    true = np.mean((y_new - model.decision_function(X_new)) ** 2)
    assert curve.held_out[0, -1] == pytest.approx(true, rel=0.05)


def test_many_widths_on_few_rows_overfit_and_one_width_does_so_less():
    X, y, _ = make_twonorm(60, random_state=0)
    many = selection_overfit_curve(
        KernelRidgeClassifierLOO(kernel="ard", solver="lbfgs"), X, y, make_twonorm, n_repeats=3, random_state=0
    )
    one = selection_overfit_curve(
        KernelRidgeClassifierLOO(solver="lbfgs"), X, y, make_twonorm, n_repeats=3, random_state=0
    )
    assert many.overfits
    assert many.rise > 5 * max(one.rise, 0.01)
    assert "over-fits the criterion" in repr(many)


def test_without_a_generator_a_part_of_the_table_is_held_out():
    X, y, _ = make_twonorm(200, random_state=0)
    curve = selection_overfit_curve(KernelRidgeClassifierLOO(solver="lbfgs"), X, y, n_repeats=2, random_state=0)
    assert curve.parts.shape[:2] == (2, 10)
    assert json.loads(json.dumps(curve.to_dict()))["n_repeats"] == 2


def test_candidates_of_a_search_are_its_iterations():
    X, y, _ = make_twonorm(80, random_state=0)
    search = GridSearchCV(SVC(), {"C": [1e-6, 1.0, 1e-3]}, cv=3)
    curve = selection_overfit_curve(search, X, y, make_twonorm, random_state=0)
    fitted = search.fit(X, y)
    np.testing.assert_allclose(curve.criterion[0], -np.maximum.accumulate(fitted.cv_results_["mean_test_score"]))
    assert curve.held_out[0, 2] == curve.held_out[0, 1]  # the third candidate is no better, so the second stays
    assert -curve.held_out[0, -1] > 0.9


def test_searching_pure_noise_promises_more_than_it_holds():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 5)), rng.permutation(np.repeat([0, 1], 60))
    search = RandomizedSearchCV(
        DecisionTreeClassifier(), {"max_depth": range(1, 9), "min_samples_leaf": range(1, 9)}, n_iter=15, cv=4
    )
    curve = selection_overfit_curve(search, X, y, n_repeats=3, random_state=0)
    assert -curve.criterion[:, -1].mean() > 0.53
    assert -curve.held_out[:, -1].mean() < 0.53
    assert len(curve.plot().data) == 3


def test_an_estimator_without_a_record_of_its_search_is_refused():
    X, y, _ = make_twonorm(40, random_state=0)
    with pytest.raises(TypeError, match="keeps no record"):
        selection_overfit_curve(SVC(), X, y)


def test_the_turn_is_drawn_only_where_the_search_over_fits():
    steps = np.linspace(1, 0.5, 12)
    flat = OverfitCurve(np.tile(steps, (20, 1)), np.tile(steps, (20, 2, 1)))
    turning = OverfitCurve(np.tile(steps, (20, 1)), np.tile(np.abs(np.arange(12) - 4.0), (20, 2, 1)))
    assert not flat.overfits
    assert not flat.plot().layout.shapes
    assert flat.plot().layout.title.text == "No over-fitting that these rows can show"
    assert turning.overfits
    assert turning.plot().layout.shapes[0].x0 == 4
