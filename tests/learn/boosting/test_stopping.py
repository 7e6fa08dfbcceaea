"""How many steps to make."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

from fewer.learn import (
    ComponentwiseBoostingClassifier,
    ComponentwiseBoostingRegressor,
    SplineLearner,
    TreeLearner,
    aic_stop,
    cv_risk,
)

EDGE = "ignore:The risk is smallest at the last number"


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.mark.filterwarnings(EDGE)
def test_the_risk_is_that_of_models_fitted_without_the_rows(diabetes):
    X, y = diabetes[0][:100], diabetes[1][:100]
    model = ComponentwiseBoostingRegressor([SplineLearner(2), SplineLearner(8)], n_estimators=30)
    curve = cv_risk(model, X, y, resampling="kfold", n_repeats=4, grid=[0, 5, 30], random_state=0)
    draw = np.random.default_rng(np.random.RandomState(0).randint(2**31)).integers(2**31)
    splits = KFold(4, shuffle=True, random_state=int(draw)).split(X)
    for risks, (inside, outside) in zip(curve.risks, splits, strict=True):
        fitted = ComponentwiseBoostingRegressor([SplineLearner(2), SplineLearner(8)], n_estimators=30)
        stages = list(fitted.fit(X[inside], y[inside]).staged_predict(X[outside]))
        expected = [np.mean((y[outside] - stages[n_estimators]) ** 2) for n_estimators in (0, 5, 30)]
        np.testing.assert_allclose(risks, expected)


def test_noise_asks_for_no_steps():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 30)), rng.normal(size=100)
    curve = cv_risk(ComponentwiseBoostingRegressor(n_estimators=50), X, y, random_state=0)
    assert curve.best_n_estimators <= 3
    nothing = cv_risk(ComponentwiseBoostingRegressor(n_estimators=50), X, y, grid=[0, 40, 50], random_state=0)
    assert nothing.best_n_estimators == 0
    assert "do not help" in nothing.reading


@pytest.mark.filterwarnings(EDGE)
@pytest.mark.parametrize(("folds", "n_folds"), [("bootstrap", 25), ("kfold", 10), ("subsampling", 25)])
def test_every_way_to_leave_rows_out(diabetes, folds, n_folds):
    model = ComponentwiseBoostingRegressor(n_estimators=150)
    curve = cv_risk(model, *diabetes, resampling=folds, grid=range(0, 151, 10), random_state=0)
    assert curve.risks.shape == (n_folds, 16)
    assert 20 <= curve.best_n_estimators <= 150
    assert curve.inclusion[[2, 8]].tolist() == [1, 1]
    assert curve.share_of_steps.sum() == pytest.approx(1)
    assert not hasattr(model, "selected_")


def test_workers_give_the_same_curve(diabetes):
    model = ComponentwiseBoostingRegressor(n_estimators=10)
    with pytest.warns(UserWarning, match="last number of steps, 10"):
        alone = cv_risk(model, *diabetes, n_repeats=3, random_state=1)
    with parallel_config(backend="threading"), pytest.warns(UserWarning, match="last number of steps, 10"):
        together = cv_risk(model, *diabetes, n_repeats=3, random_state=1, n_jobs=2)
    np.testing.assert_array_equal(alone.risks, together.risks)


def test_the_grid_is_extended_while_the_best_is_at_its_edge(diabetes):
    model = ComponentwiseBoostingRegressor(n_estimators=10)
    curve = cv_risk(model, *diabetes, n_repeats=5, max_n_estimators=400, random_state=0)
    direct = cv_risk(model.set_params(n_estimators=int(curve.grid[-1])), *diabetes, n_repeats=5, random_state=0)
    assert 10 < curve.best_n_estimators < curve.grid[-1]
    assert curve.best_n_estimators == direct.best_n_estimators
    np.testing.assert_array_equal(curve.risks, direct.risks)


@pytest.mark.filterwarnings(EDGE)
def test_several_classes_share_their_number_of_steps():
    X, y = load_iris(return_X_y=True)
    rows = np.random.default_rng(0).permutation(150)[:60]
    curve = cv_risk(ComponentwiseBoostingClassifier(n_estimators=40), X[rows], y[rows], n_repeats=5, grid=[0, 20, 40])
    assert curve.mean_risk[1] < curve.mean_risk[0]


@pytest.mark.filterwarnings(EDGE)
def test_weights_of_zero_leave_rows_out_of_everything(diabetes):
    X, y = diabetes
    weights = np.r_[np.ones(300), np.zeros(142)]
    spoilt = np.where(weights > 0, y, 1e9)
    model = ComponentwiseBoostingRegressor(n_estimators=60)
    curve = cv_risk(model, X, spoilt, sample_weight=weights, n_repeats=5, grid=[0, 30, 60], random_state=0)
    assert curve.risks.max() < 10_000


@pytest.mark.filterwarnings(EDGE)
def test_a_curve_prints_itself_and_becomes_plain_data(diabetes):
    curve = cv_risk(ComponentwiseBoostingRegressor(n_estimators=200), *diabetes, n_repeats=5, random_state=0)
    assert repr(curve).startswith(f"Risk curve: {curve.best_n_estimators} steps are best of 0 to 200")
    assert f"{curve.best_n_estimators} steps are best" in curve.reading
    assert curve.to_dict()["best_n_estimators"] == curve.best_n_estimators
    assert len(curve.plot().data) == 6


@pytest.mark.parametrize(
    "wrong", [{"grid": [-1]}, {"grid": [0.5]}, {"resampling": "jackknife"}, {"resampling": "kfold", "n_repeats": 1}]
)
def test_what_cannot_be_is_refused(diabetes, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong)) if "n_repeats" not in wrong else "n_repeats"):
        cv_risk(ComponentwiseBoostingRegressor(n_estimators=5), *diabetes, **wrong)


def test_degrees_of_freedom_are_the_trace_of_the_fit_as_a_matrix(diabetes):
    X, y = diabetes[0][:40], diabetes[1][:40]
    model = ComponentwiseBoostingRegressor([SplineLearner(2), SplineLearner(8)], n_estimators=15).fit(X, y)
    curve = aic_stop(model)
    # The fitted values are linear in y as long as the same learners are taken: so for a tiny change of y.
    trace = 0.0
    for row in range(40):
        moved = y + 1e-4 * (np.arange(40) == row)
        other = ComponentwiseBoostingRegressor([SplineLearner(2), SplineLearner(8)], n_estimators=15).fit(X, moved)
        np.testing.assert_array_equal(other.selected_, model.selected_)
        trace += (other.predict(X) - model.predict(X))[row] / 1e-4
    assert curve.df[-1] == pytest.approx(trace, rel=1e-4)
    n_rows, df = 40, curve.df[-1]
    expected = np.log(model.risk_[-1]) + (1 + df / n_rows) / (1 - (df + 2) / n_rows)
    assert curve.aic[-1] == pytest.approx(expected)
    assert curve.best_n_estimators == np.argmin(curve.aic)


@pytest.mark.parametrize("family", ["poisson", "binomial"])
def test_many_steps_of_a_generalised_linear_model_have_all_degrees_of_freedom(family):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    if family == "poisson":
        model = ComponentwiseBoostingRegressor(family="poisson", n_estimators=400).fit(
            X, rng.poisson(np.exp(0.3 * X[:, 0]))
        )
    else:
        model = ComponentwiseBoostingClassifier(n_estimators=400).fit(X, X[:, 0] + 2 * rng.normal(size=60) > 0)
    curve = aic_stop(model)
    assert curve.df[0] == pytest.approx(1)
    assert curve.df[-1] == pytest.approx(4, abs=0.1)
    assert not curve.corrected
    assert len(curve.plot().data) == 1
    assert "cv_risk is safer" in curve.reading


@pytest.mark.filterwarnings("ignore:3 steps of LaplaceFamily move no prediction")
def test_models_without_a_hat_matrix_are_refused(diabetes):
    X, y = diabetes
    with pytest.raises(ValueError, match="cv_risk"):
        aic_stop(ComponentwiseBoostingRegressor(family="laplace", n_estimators=3).fit(X, y))
    with pytest.raises(ValueError, match="tree"):
        aic_stop(ComponentwiseBoostingRegressor([TreeLearner()], n_estimators=3).fit(X, y))
    with pytest.raises(ValueError, match="two classes"):
        aic_stop(ComponentwiseBoostingClassifier(n_estimators=3).fit(*load_iris(return_X_y=True)))


@pytest.mark.parametrize("stop", [lambda model: cv_risk(model, [[0.0]], [0.0]), aic_stop])
def test_other_models_are_refused_by_name(stop):
    with pytest.raises(TypeError, match="got Pipeline; of a pipeline, pass the last step"):
        stop(make_pipeline(ComponentwiseBoostingRegressor()))
