"""Classification by densities along shared directions: special cases, peers, bad input."""

import numpy as np
import pytest
from scipy import sparse, special
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import cross_val_score

from fewer.extract import ProjectionPursuitDiscriminant
from fewer.extract.projection_pursuit._density_models import RidgeModel, normal_points
from fewer.extract.projection_pursuit._projection_pursuit_discriminant import ClassRows, _ridge_ratio
from fewer.extract.projection_pursuit._search import class_widths

QUICK = {"n_draws": 2000, "n_init": 2, "random_state": 0}


def exclusive_or(n_rows, seed=0, n_columns=2):
    rng = np.random.default_rng(seed)
    corners = rng.choice([-1.5, 1.5], size=(n_rows, 2))
    X = rng.normal(size=(n_rows, n_columns))
    X[:, :2] += corners
    return X, np.where(corners.prod(axis=1) > 0, "same", "unlike")


def test_the_gradient_with_functions_taken_in_is_that_of_the_ratio():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(120, 3))
    Z[:50, 0] *= 0.5
    begins = np.array([0, 50, 120])
    widths = class_widths(begins, "normal_reference", 1.06)
    models = [RidgeModel.normal(normal_points(500, 3, np.random.RandomState(seed))) for seed in (0, 0, 1)]
    grid = np.linspace(-3, 3, 50)
    for model, sign in zip(models, (1, -1, 0.5), strict=True):
        model.grow(np.array([1.0, 0, 0]), grid, sign * np.sin(grid), np.random.RandomState(0))
    criterion = _ridge_ratio(ClassRows(Z, begins, widths), models[:2], models[2])
    direction = np.array([0.5, -0.5, np.sqrt(0.5)])
    differences = [(criterion(direction + s)[0] - criterion(direction - s)[0]) / 2e-6 for s in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(criterion(direction)[1], differences, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_real_classes_are_told_apart_about_as_well_as_by_discriminant_analysis(direction):
    X, y = load_wine(return_X_y=True)
    ours, lda = (
        cross_val_score(model, X, y, cv=3).mean()
        for model in (ProjectionPursuitDiscriminant(2, direction, **QUICK), LinearDiscriminantAnalysis())
    )
    assert ours > lda - 0.05


def test_classes_of_unequal_spread_are_told_apart_about_as_well_as_by_the_true_rule():
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 2
    X = rng.normal(size=(2000, 3))
    X[y == 1, 0] *= 4
    train, test = slice(0, 600), slice(600, None)
    ours, quadratic = (
        model.fit(X[train], y[train]).score(X[test], y[test])
        for model in (ProjectionPursuitDiscriminant(1, **QUICK), QuadraticDiscriminantAnalysis())
    )
    assert ours > quadratic - 0.03


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_probabilities_decisions_and_predictions_agree(direction):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = ProjectionPursuitDiscriminant(2, direction, **QUICK).fit(X, names)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(special.softmax(model.decision_function(X), axis=1), probabilities)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X))
    two = model.fit(X[:100], names[:100])
    np.testing.assert_allclose(special.expit(two.decision_function(X[:100])), two.predict_proba(X[:100])[:, 1])


def test_forward_log_odds_are_sums_of_the_functions_kept():
    X, y = exclusive_or(300)
    model = ProjectionPursuitDiscriminant(2, **QUICK).fit(X, y)
    new = model.transform(X)
    np.testing.assert_allclose(new.std(axis=0), 1, atol=1e-10)
    odds = np.log(model.priors_[1] / model.priors_[0]) + sum(
        np.interp(new[:, m], model.ridge_grid_[m], model.ridges_[1, m] - model.ridges_[0, m]) for m in range(2)
    )
    np.testing.assert_allclose(model.decision_function(X), odds, atol=1e-8)


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_the_first_directions_of_a_larger_fit_are_those_of_a_smaller_one(direction):
    X, y = exclusive_or(300, n_columns=4)
    small, large = (ProjectionPursuitDiscriminant(size, direction, **QUICK).fit(X, y) for size in (1, 2))
    np.testing.assert_allclose(small.directions_, large.directions_[:1], atol=1e-10)
    np.testing.assert_array_equal(small.predict(X), next(large.staged_predict(X)))


def test_cross_validation_finds_that_two_directions_are_needed():
    X, y = exclusive_or(300)
    model = ProjectionPursuitDiscriminant("cv", n_draws=1000, n_init=1, cv=3, random_state=0).fit(X, y)
    assert model.n_components_ == 2


def test_priors_are_taken():
    X, y = exclusive_or(300)
    model = ProjectionPursuitDiscriminant(1, priors=[1, 9], **QUICK).fit(X, y)
    np.testing.assert_allclose(model.priors_, [0.1, 0.9])
    equal = ProjectionPursuitDiscriminant(1, priors=[1, 1], **QUICK).fit(X, y)
    shift = model.decision_function(X) - equal.decision_function(X)
    np.testing.assert_allclose(shift, np.log(9))
    with pytest.raises(ValueError, match="each of the 2 classes"):
        ProjectionPursuitDiscriminant(priors=[1, 1, 1]).fit(X, y)


def test_far_apart_classes_draw_new_points_and_are_told_apart():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), np.repeat([0, 1, 2], 100)
    X[y == 1] += [40, 0]
    X[y == 2] += [0, 40]
    model = ProjectionPursuitDiscriminant(3, **QUICK).fit(X, y)
    assert model.score(X, y) > 0.98
    assert np.isfinite(model.predict_proba(X + 1000)).all()


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_wide_sparse_constant_and_single_columns_are_taken(direction):
    X, y = exclusive_or(120, n_columns=3)
    model = ProjectionPursuitDiscriminant(1, direction, **QUICK)
    stored, dense = (model.fit(table, y).decision_function(table) for table in (sparse.csr_array(X), X))
    np.testing.assert_allclose(stored, dense, rtol=1e-5, atol=1e-8)
    assert model.fit(np.column_stack([X, np.ones(120)]), y).directions_[0, 3] == 0
    assert model.fit(X[:, [0]], y).predict(X[:, [0]]).shape == (120,)
    wide = np.random.default_rng(0).normal(size=(60, 100))
    with pytest.warns(UserWarning, match="60 rows in 59 dimensions"):
        assert model.fit(wide, y[:60]).transform(wide).shape == (60, 1)


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_a_class_of_one_row_is_told_and_taken(direction):
    X, y = exclusive_or(120)
    y = y.astype(object)
    y[0] = "odd"
    with pytest.warns(UserWarning, match=r"'odd', has 1 row\(s\)"):
        model = ProjectionPursuitDiscriminant(1, direction, **QUICK).fit(X, y)
    assert model.predict_proba(X).shape == (120, 3)


def test_numbers_are_no_classes():
    with pytest.raises(ValueError, match="continuous"):
        ProjectionPursuitDiscriminant().fit(np.random.default_rng(0).normal(size=(30, 2)), np.linspace(0, 1, 30))


def test_few_rows_for_many_columns_are_told():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 30)), np.repeat(["a", "b"], 25)
    model = ProjectionPursuitDiscriminant(1, n_draws=500, n_init=0, max_iter=5, tol=1.0, random_state=0)
    with pytest.warns(UserWarning, match="50 rows in 30 dimensions.*PCA"):
        model.fit(X, y)
