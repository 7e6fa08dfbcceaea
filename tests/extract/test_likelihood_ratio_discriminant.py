"""Directions along which the densities of classes differ: special cases, other ways to the same numbers, bad input."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning

from fewer.extract import LikelihoodRatioDiscriminant
from fewer.extract.projection_pursuit._class_pursuit import ClassCriterion, thinned
from fewer.extract.projection_pursuit._density_models import without_structure
from fewer.select import likelihood_ratio_feature_score
from tolerances import rounding


def cosine(first, second):
    return abs(first @ second) / np.linalg.norm(first) / np.linalg.norm(second)


def alike(X, first, second):
    """Correlation of a table's rows along two directions."""
    return abs(np.corrcoef(X @ first, X @ second)[0, 1])


def unequal_spreads(seed=0, n_rows=400, n_columns=5):
    """The second class is spread out along the first column; then the columns are mixed."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    y = np.where(np.arange(n_rows) < n_rows // 2, "narrow", "wide")
    X[y == "wide", 0] *= 4
    mixing = rng.normal(size=(n_columns, n_columns))
    return X @ mixing, y, np.linalg.inv(mixing)[:, 0]


def test_a_difference_in_spread_is_found_through_mixed_columns():
    X, y, truth = unequal_spreads()
    model = LikelihoodRatioDiscriminant(1, random_state=0).fit(X, y)
    assert alike(X, model.components_[0], truth) > 0.99
    assert alike(X, LinearDiscriminantAnalysis().fit(X, y).scalings_[:, 0], truth) < 0.9


def test_a_column_that_differs_in_shape_alone_is_found_among_many():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 20)), np.arange(1000) % 2
    X[y == 1, 3] = 0.9 * rng.choice([-1, 1], 500) + np.sqrt(0.19) * rng.normal(size=500)  # as wide as the other class
    model = LikelihoodRatioDiscriminant(1, random_state=0).fit(X, y)
    assert cosine(model.components_[0], np.eye(20)[3]) > 0.95


def test_the_ratio_is_that_of_all_pairs():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=40), rng.normal(2, 3, size=70)])
    values /= values.std()

    def left_out(group):
        width = 1.3 * len(group) ** -0.2
        kernels = np.exp(-0.5 * ((group[:, None] - group) / width) ** 2) / (width * np.sqrt(2 * np.pi))
        return np.log((kernels.sum(axis=1) - kernels[0, 0]) / (len(group) - 1) + 1e-4).sum()

    expected = (left_out(values[:40]) + left_out(values[40:]) - left_out(values)) / 110
    criterion = ClassCriterion(np.array([0, 40, 110]), "kde", "normal_reference", 1.3)
    assert criterion.index()(values)[0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("density", ["kde", "gaussian", "pooled_gaussian"])
def test_gradients_along_several_directions_are_right(density):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(60, 4))
    Z[:25, 0] += 1
    Z[25:, 1] *= 2
    others, direction = list(rng.normal(size=(2, 4))), rng.normal(size=4)
    criterion = ClassCriterion(np.array([0, 25, 60]), density, "normal_reference", 1.3).given(Z, others)
    differences = [(criterion(direction + s)[0] - criterion(direction - s)[0]) / 2e-6 for s in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(criterion(direction)[1], differences, rtol=1e-5, atol=1e-8)


def test_normal_densities_in_several_dimensions_give_the_ratio_of_determinants():
    rng = np.random.default_rng(0)
    Z, begins = rng.normal(size=(90, 3)), np.array([0, 30, 90])
    Z[:30] *= [1, 2, 3]
    logdets = [np.linalg.slogdet(np.cov(part.T, bias=True))[1] for part in (Z, Z[:30], Z[30:])]
    criterion = ClassCriterion(begins, "gaussian", "normal_reference", 1.3)
    expected = (logdets[0] - logdets[1] / 3 - 2 * logdets[2] / 3) / 2
    assert criterion.joint(Z, list(np.eye(3))) == pytest.approx(expected, abs=1e-4)


def test_column_scores_agree_with_those_of_the_selector():
    X, y, _ = unequal_spreads()
    scores = LikelihoodRatioDiscriminant().feature_scores(X, y)
    np.testing.assert_allclose(scores, likelihood_ratio_feature_score(X, y), atol=0.03)
    np.testing.assert_allclose(LikelihoodRatioDiscriminant().feature_scores(sparse.csr_array(X), y), scores, rtol=1e-6)


def test_new_columns_of_the_orthogonal_strategy_are_uncorrelated():
    X, y = load_iris(return_X_y=True)
    new = LikelihoodRatioDiscriminant(3, random_state=0).fit_transform(X, y)
    correlations = np.corrcoef(new.T)
    np.testing.assert_allclose(correlations, np.eye(3), atol=1e-8)


def test_without_sphering_directions_are_orthogonal_in_the_columns():
    X, y = load_iris(return_X_y=True)
    directions = LikelihoodRatioDiscriminant(3, whiten=False, random_state=0).fit(X, y).components_
    np.testing.assert_allclose(directions @ directions.T, np.eye(3), atol=1e-8)


@pytest.mark.parametrize("strategy", ["orthogonal", "removal", "nested"])
def test_the_first_directions_of_a_larger_fit_are_those_of_a_smaller_one(strategy):
    X, y, _ = unequal_spreads(n_rows=150)
    fit = {size: LikelihoodRatioDiscriminant(size, strategy, random_state=0).fit(X, y) for size in (1, 3)}
    np.testing.assert_allclose(fit[3].components_[:1], fit[1].components_, rtol=0, atol=rounding(len(X)))


@pytest.mark.parametrize("strategy", ["nested", "subspace"])
def test_classes_that_differ_only_in_two_directions_together_are_told_apart(strategy):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] * X[:, 1] > 0  # along each column by itself both classes are alike
    X[:, :2] += np.sign(X[:, :2])
    model = LikelihoodRatioDiscriminant(2, strategy, random_state=0).fit(X, y)
    plane = np.linalg.svd(np.linalg.qr(model.components_.T)[0][:2], compute_uv=False)
    assert plane.min() > 0.95
    assert model.scores_[1] > model.scores_[0]


def test_pairs_of_many_rows_are_summed_over_a_share_of_each_class(monkeypatch):
    monkeypatch.setattr("fewer.extract.projection_pursuit._class_pursuit.MOST_ROWS", 100)
    X, y, _ = unequal_spreads(n_rows=400)
    fit = {size: LikelihoodRatioDiscriminant(size, "nested", random_state=0).fit(X, y) for size in (1, 2)}
    np.testing.assert_allclose(fit[2].components_[:1], fit[1].components_, rtol=0, atol=rounding(len(X)))
    rows, begins = thinned(np.array([0, 100, 400]), np.random.RandomState(0))
    assert list(begins) == [0, 25, 100]
    assert np.sum(rows < 100) == 25
    assert len(set(rows)) == 100


def test_only_directions_that_move_together_change_with_their_number():
    nested = {way: LikelihoodRatioDiscriminant(method=way)._nested for way in ("orthogonal", "removal", "nested")}
    assert all(nested.values())
    assert not LikelihoodRatioDiscriminant(method="subspace")._nested


def test_without_sphering_removal_moves_rows_along_the_direction_itself():
    X, y = load_iris(return_X_y=True)
    plain, sphered = (LikelihoodRatioDiscriminant(2, "removal", whiten=way, random_state=0) for way in (False, True))
    first = [model.fit(X, y).components_[0] for model in (plain, sphered)]
    np.testing.assert_allclose(*first, rtol=0, atol=rounding(len(X)))
    Z = (X - X.mean(axis=0)) @ sphered.whitening_
    to = sphered.whitening_
    direction = np.linalg.solve(to, sphered.components_[0])
    direction /= np.linalg.norm(direction)
    moved, _ = without_structure(Z, np.array([0, 50, 100, 150]), direction, to.T @ to @ direction)
    in_columns = (moved - Z) @ np.linalg.inv(to)
    along = in_columns @ sphered.components_[0]
    np.testing.assert_allclose(in_columns, np.outer(along, sphered.components_[0]), atol=1e-8)


def test_moving_directions_together_does_not_lower_the_joint_ratio():
    X, y = load_iris(return_X_y=True)
    nested, subspace = (LikelihoodRatioDiscriminant(2, way, random_state=0).fit(X, y) for way in ("nested", "subspace"))
    assert subspace.scores_[1] >= nested.scores_[1] - 1e-6


def test_units_of_columns_make_no_difference():
    X, y, _ = unequal_spreads()
    units = np.array([1e-6, 1, 1e6, 3, 1e3])
    plain = LikelihoodRatioDiscriminant(2, random_state=0).fit(X, y)
    scaled = LikelihoodRatioDiscriminant(2, random_state=0).fit(X * units, y)
    np.testing.assert_allclose(scaled.scores_, plain.scores_, rtol=1e-4)


def test_a_few_rows_far_out_do_not_decide_the_direction():
    X, y, truth = unequal_spreads()
    X[:2] += 100 * np.random.default_rng(1).normal(size=5)
    model = LikelihoodRatioDiscriminant(1, random_state=0).fit(X, y)
    assert alike(X[2:], model.components_[0], truth) > 0.95


def test_threads_change_nothing():
    X, y, _ = unequal_spreads(n_rows=200)
    one, two = (LikelihoodRatioDiscriminant(2, n_jobs=jobs, random_state=0).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.components_, two.components_)


def test_a_number_is_cut_into_slices():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = X[:, 2] ** 2 + 0.1 * rng.normal(size=400)
    model = LikelihoodRatioDiscriminant(1, random_state=0).fit(X, y)
    assert len(model.classes_) == 10
    assert cosine(model.components_[0], np.eye(4)[2]) > 0.95


def test_directions_end_where_shuffled_classes_do_as_well():
    X, y, _ = unequal_spreads(n_rows=300)
    model = LikelihoodRatioDiscriminant(4, "removal", n_permutations=10, n_init=2, random_state=0).fit(X, y)
    assert 1 <= model.n_components_ < 4
    assert model.null_scores_.shape == (model.n_components_, 10)
    assert len(model.removal_maps_) == model.n_components_


class StopAfter:
    """A callback that ends a fit after so many climbs."""

    def __init__(self, n_steps):
        self.left = n_steps

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        self.left -= context.parent is not None
        return self.left <= 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("options", [{}, {"n_jobs": 2}, {"n_permutations": 3}])
def test_a_fit_that_is_stopped_keeps_the_direction_found(options):
    X, y, _ = unequal_spreads(n_rows=200)
    model = (
        LikelihoodRatioDiscriminant(3, random_state=0, **options)
        .set_callbacks(StopAfter(12 if options.get("n_permutations") else 3))
        .fit(X, y)
    )
    assert model.transform(X).shape == (200, 1)
    assert np.isnan(model.null_scores_).all()


def test_more_columns_than_rows_give_a_warning_and_directions():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 200)), np.repeat([0, 1], 15)
    with pytest.warns(UserWarning, match="30 rows and 29 dimensions"):
        model = LikelihoodRatioDiscriminant(2, random_state=0).fit(X, y)
    assert model.transform(X).shape == (30, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stored = LikelihoodRatioDiscriminant(2, random_state=0).fit(sparse.csr_array(X), y)
    assert stored.scores_[0] == pytest.approx(model.scores_[0], rel=1e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_too_many_components_are_told():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="n_components=9 are asked for, and there are 4"):
        assert LikelihoodRatioDiscriminant(9, random_state=0).fit(X, y).n_components_ == 4
    with pytest.warns(UserWarning, match="densities in 4 dimensions"):
        LikelihoodRatioDiscriminant(4, "nested", n_init=0, max_iter=3, random_state=0).fit(X[::3], y[::3])


def test_constant_and_repeated_columns_are_passed_over():
    X, y = load_iris(return_X_y=True)
    wide = np.column_stack([X, np.full(len(X), 7.0), X[:, 0]])
    plain, more = (LikelihoodRatioDiscriminant(2, random_state=0).fit(table, y) for table in (X, wide))
    np.testing.assert_allclose(more.scores_, plain.scores_, rtol=1e-3)
    assert more.components_[0, 4] == 0


def test_one_column_is_its_own_direction():
    X, y = load_iris(return_X_y=True)
    model = LikelihoodRatioDiscriminant(1, random_state=0).fit(X[:, [2]], y)
    np.testing.assert_allclose(model.components_, [[1]])
    np.testing.assert_allclose(model.scores_, model.feature_scores(X[:, [2]], y), rtol=1e-9)


def test_a_class_of_one_row_is_left_out_and_small_ones_are_told():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    names[0] = "odd"
    with pytest.warns(UserWarning, match=r"single row .*'odd'"):
        model = LikelihoodRatioDiscriminant(1, random_state=0).fit(X, names)
    assert list(model.classes_) == ["odd", "setosa", "versicolor", "virginica"]
    with pytest.warns(UserWarning, match="'a' has 3 rows only"):
        LikelihoodRatioDiscriminant(1, random_state=0).fit(X, np.where(np.arange(150) < 3, "a", "b"))
    with pytest.raises(ValueError, match="two classes with two or more rows"):
        LikelihoodRatioDiscriminant(1).fit(X, np.where(np.arange(150) < 1, "a", "b"))


def test_a_table_without_variance_is_refused():
    with pytest.raises(ValueError, match="constant"):
        LikelihoodRatioDiscriminant().fit(np.ones((20, 3)), np.arange(20) % 2)


def test_a_search_that_runs_out_of_steps_says_so():
    X, y, _ = unequal_spreads()
    with pytest.warns(ConvergenceWarning, match=r"still climbed after 2 iterations.*slope of"):
        LikelihoodRatioDiscriminant(1, n_init=1, max_iter=2, tol=1e-12, random_state=0).fit(X, y)


def test_float32_stays_float32():
    X, y, _ = unequal_spreads()
    model = LikelihoodRatioDiscriminant(2, random_state=0).fit(X.astype(np.float32), y)
    assert {each.dtype for each in (model.components_, model.mean_, model.transform(X.astype(np.float32)))} == {
        np.dtype(np.float32)
    }
