"""Directions of classes that differ in mean and spread: special cases, peers, shapes of tables, bad input."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import linalg, sparse, stats
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning

from fewer.extract import PHD, SAVE, SIR, CPCDiscriminant, GaussianLRDiscriminant, criterion_curve
from fewer.extract.gaussian_directions._moments import slices_of
from tolerances import rounding

ALL = [GaussianLRDiscriminant(random_state=0), SIR(), SAVE(), CPCDiscriminant(tol=1e-8)]


def names(model):
    return type(model).__name__


def iris(dtype=float):
    X, y = load_iris(return_X_y=True)
    return X.astype(dtype), np.array(["setosa", "versicolor", "virginica"])[y]


def cosines(first, second):
    first, second = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (first, second))
    return np.abs(np.sum(first * second, axis=1))


def one_within_another(n_rows=600, n_columns=6, seed=0):
    """Two classes with one centre; the second is three times as wide along one hidden direction."""
    rng = np.random.default_rng(seed)
    y = np.repeat(["inner", "outer"], n_rows // 2)
    Z = rng.normal(size=(n_rows, n_columns))
    Z[y == "outer", 0] *= 3
    mixing = rng.normal(size=(n_columns, n_columns)) + 2 * np.eye(n_columns)
    return Z @ mixing, y, Z[:, 0]


def quiet(model, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)


@pytest.mark.parametrize("data", [load_iris, load_wine])
def test_sir_on_classes_is_lda(data):
    X, y = data(return_X_y=True)
    ours = SIR().fit(X, y).components_
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y).scalings_[:, :2].T
    assert cosines(ours, theirs).min() > 1 - 1e-10


def test_sir_scores_are_the_shares_of_variance_between_slices():
    X, y = iris()
    model = SIR().fit(X, y)
    new = model.transform(X)
    means = np.array([new[y == label].mean(axis=0) for label in model.classes_])
    np.testing.assert_allclose(means.var(axis=0), model.scores_, rtol=1e-10)


def test_full_shrinkage_is_lda():
    X, y = load_wine(return_X_y=True)
    ours = GaussianLRDiscriminant(1, shrinkage=1.0, random_state=0).fit(X, y).components_
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y).scalings_[:, :1].T
    assert cosines(ours, theirs).min() > 1 - 1e-8


@pytest.mark.parametrize("model", [GaussianLRDiscriminant(1, random_state=0), SAVE(1), CPCDiscriminant(1)], ids=names)
def test_spread_is_seen_where_means_tell_nothing(model):
    X, y, truth = one_within_another(2000)
    assert abs(np.corrcoef(model.fit_transform(X, y)[:, 0], truth)[0, 1]) > 0.99
    assert abs(np.corrcoef(SIR(1).fit_transform(X, y)[:, 0], truth)[0, 1]) < 0.9


def test_no_direction_of_many_has_a_larger_ratio():
    X, y = iris()
    model = GaussianLRDiscriminant(random_state=0).fit(X, y)
    rng = np.random.default_rng(0)
    chance = rng.normal(size=(4, 20_000))

    def ratio(directions):
        new = (X - X.mean(axis=0)) @ directions
        return np.log(new.var(axis=0)) - np.mean(
            [np.log(new[y == label].var(axis=0)) for label in np.unique(y)], axis=0
        )

    np.testing.assert_allclose(ratio(model.components_.T), model.scores_, rtol=1e-8)
    assert ratio(chance).max() <= model.scores_[0]
    uncorrelated = model.components_[1] @ np.cov(X.T, bias=True) @ model.components_[0]
    assert abs(uncorrelated) < 1e-10


def test_new_columns_are_uncorrelated_with_unit_variance():
    X, y = load_wine(return_X_y=True)
    for model in (GaussianLRDiscriminant(4, random_state=0), SIR(), SAVE(4), CPCDiscriminant(4, tol=1e-6)):
        new = quiet(model, X, y).transform(X)
        np.testing.assert_allclose(np.cov(new.T, bias=True), np.eye(new.shape[1]), atol=1e-8)


def test_without_standardising_directions_are_orthogonal_and_the_first_is_the_same():
    X, y = load_wine(return_X_y=True)
    plain = GaussianLRDiscriminant(3, whiten=False, random_state=0).fit(X, y)
    np.testing.assert_allclose(plain.components_ @ plain.components_.T, np.eye(3), atol=1e-8)
    standard = GaussianLRDiscriminant(1, random_state=0).fit(X, y)
    assert plain.scores_[0] == pytest.approx(standard.scores_[0], rel=1e-8)
    assert cosines(plain.components_[:1], standard.components_)[0] > 1 - 1e-8


def test_removal_leaves_nothing_along_what_was_found():
    from fewer.extract._centred_table import uncorrelated
    from fewer.extract.gaussian_directions._gaussian_lr import without
    from fewer.extract.gaussian_directions._moments import group_moments

    X, y = iris()
    codes = np.unique(y, return_inverse=True)[1]
    moments = group_moments(X, codes, uncorrelated(X))
    direction = np.array([0.6, -0.8, 0.0, 0.0])
    left = without(moments, direction)
    scale = np.linalg.norm(moments.means, axis=1).max()
    np.testing.assert_allclose(left.means @ direction, 0, atol=rounding(4, scale))
    np.testing.assert_allclose(np.einsum("i,kij,j->k", direction, left.covariances, direction), 1, rtol=1e-10)
    # The same by moving the rows themselves.
    rows = (X - X.mean(axis=0)) @ uncorrelated(X).to
    for number, covariance in enumerate(left.covariances):
        own = rows[codes == number]
        along = own @ direction
        moved = own + np.outer((along - along.mean()) / along.std() - along, direction)
        np.testing.assert_allclose(np.cov(moved.T, bias=True), covariance, atol=1e-10)


@pytest.mark.parametrize("strategy", ["orthogonal", "removal"])
def test_the_first_of_many_directions_are_those_of_a_smaller_fit(strategy):
    X, y = load_wine(return_X_y=True)
    many = GaussianLRDiscriminant(3, method=strategy, random_state=0).fit(X, y)
    few = GaussianLRDiscriminant(2, method=strategy, random_state=0).fit(X, y)
    np.testing.assert_allclose(many.components_[:2], few.components_, rtol=1e-6)


@pytest.mark.parametrize("model", [SIR(2), SAVE(2), PHD(2)], ids=names)
def test_nested_fits_of_eigenvectors(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = X[:, 0] ** 2 + X[:, 1] + 0.1 * rng.normal(size=300)
    few, many = model.fit(X, y).components_, type(model)(4).fit(X, y).components_
    np.testing.assert_allclose(many[:2], few, rtol=1e-8)


@pytest.mark.parametrize("model", ALL, ids=names)
def test_units_offsets_and_constant_columns_make_no_difference(model):
    X, y = iris()
    plain = quiet(model, X, y).transform(X)
    changed = np.column_stack([X * [1e-4, 1, 1e4, 1] + [3, 0, -1e3, 7], np.full(len(X), 5.5)])
    found = quiet(model, changed, y).transform(changed)
    np.testing.assert_allclose(np.abs(found), np.abs(plain), atol=1e-5)


@pytest.mark.parametrize("model", ALL, ids=names)
def test_a_copied_column_changes_nothing(model):
    X, y = iris()
    copied = np.column_stack([X, X[:, 0]])
    plain, found = quiet(model, X, y).transform(X), quiet(model, copied, y).transform(copied)
    np.testing.assert_allclose(np.abs(found), np.abs(plain), atol=1e-6)


@pytest.mark.parametrize("model", [*ALL, PHD()], ids=names)
def test_sparse_is_dense(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)) * (rng.random((300, 6)) < 0.4)
    y = np.repeat([0, 1, 2], 100)
    X[y == 2] *= 2
    X[y == 1, 0] += 1
    target = y + X[:, 0] ** 2 if isinstance(model, PHD) else y
    dense = quiet(model, X, target).transform(X)
    stored = quiet(model, sparse.csr_array(X), target).transform(sparse.csr_array(X))
    np.testing.assert_allclose(stored, dense, atol=1e-7)


@pytest.mark.parametrize("model", [*ALL, PHD()], ids=names)
def test_float32_stays_float32(model):
    X, y = iris(np.float32)
    target = X[:, 0] ** 2 + X[:, 1] if isinstance(model, PHD) else y
    quiet(model, X, target)
    assert model.components_.dtype == model.transform(X).dtype == np.float32


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_more_columns_than_rows_cost_no_square_of_the_columns(form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 20_000)) * (rng.random((40, 20_000)) < 0.1)
    y = np.repeat(["a", "b"], 20)
    with pytest.warns(UserWarning, match="40 rows span 39 dimensions"):
        model = SIR(1).fit(form(X), y)
    new = model.transform(form(X))
    assert np.ptp(new[y == "a"]) < 1e-6, "with as many dimensions, classes fall onto one point each"
    assert new.var() == pytest.approx(1)


def test_wide_coordinates_are_those_of_tall_ones():
    from fewer.extract._centred_table import rows_along, uncorrelated

    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 5)) @ rng.normal(size=(5, 13))
    wide, tall = rows_along(X, uncorrelated(X)), rows_along(X[:, :12], uncorrelated(X[:, :12]))
    np.testing.assert_allclose(wide @ wide.T, tall @ tall.T, atol=1e-8)
    stored = rows_along(X, uncorrelated(sparse.csr_array(X)))
    np.testing.assert_allclose(np.abs(stored), np.abs(wide), atol=1e-8)


def test_shrinkage_by_cross_validation_is_strong_where_covariances_are_equal():
    X, y, truth = one_within_another(160)
    found = GaussianLRDiscriminant(1, shrinkage="cv", random_state=0).fit(X, y)
    assert found.shrinkage_ < 1
    assert abs(np.corrcoef(found.transform(X)[:, 0], truth)[0, 1]) > 0.8
    equal, labels = np.random.default_rng(1).normal(size=(50, 12)), np.repeat([0, 1], 25)
    equal[labels == 1, 0] += 2
    assert GaussianLRDiscriminant(1, shrinkage="cv", random_state=0).fit(equal, labels).shrinkage_ >= 0.5


def test_more_columns_than_rows_need_a_ridge():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 50)), np.repeat([0, 1], 15)
    with pytest.raises(ValueError, match="set alpha"):
        GaussianLRDiscriminant(shrinkage=0.5).fit(X, y)
    assert GaussianLRDiscriminant(1, shrinkage=0.5, alpha=0.1, random_state=0).fit_transform(X, y).shape == (30, 1)


def test_a_column_constant_in_one_class_is_told():
    X, y = iris()
    X[y == "setosa", 2] = 1.0
    for model in (GaussianLRDiscriminant(), CPCDiscriminant()):
        with pytest.raises(ValueError, match="Class 'setosa' has no variance along some direction"):
            model.fit(X, y)


def test_a_class_of_one_row_is_named():
    X, y = iris()
    y[0] = "odd"
    with pytest.raises(ValueError, match="Class 'odd' has 1 rows"):
        GaussianLRDiscriminant().fit(X, y)
    assert SIR().fit(X, y).components_.shape == (2, 4)


@pytest.mark.parametrize("model", ALL, ids=names)
@pytest.mark.filterwarnings("ignore:The classes have no axes")
def test_more_components_than_there_are(model):
    X, y = iris()
    possible = 2 if isinstance(model, SIR) else 4
    with pytest.warns(UserWarning, match=f"n_components=9 are asked for, and there are {possible}"):
        found = type(model)(9).fit(X, y)
    assert found.n_components_ == possible
    assert quiet(type(model)(None), X, y).n_components_ == possible


@pytest.mark.parametrize("model", ALL, ids=names)
def test_one_column(model):
    X, y = iris()
    assert quiet(type(model)(1), X[:, :1], y).transform(X[:, :1]).shape == (150, 1)


@pytest.mark.parametrize("model", ALL, ids=names)
def test_bad_targets_and_tables_are_told(model):
    X, y = iris()
    with pytest.raises(ValueError, match="one class only"):
        model.fit(X, np.full(150, "setosa"))
    with pytest.raises(ValueError, match="All columns are constant"):
        model.fit(np.ones((150, 3)), y)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.loc[3, "c"] = np.nan
    with pytest.raises(ValueError, match="NaN, in column 'c'"):
        model.fit(frame, y)


def test_slices_hold_as_many_rows_each_and_ties_stay_together():
    rng = np.random.default_rng(0)
    labels, codes = slices_of(rng.normal(size=1000), 8, "SIR")
    assert np.bincount(codes).tolist() == [125] * 8
    assert (np.diff(labels) > 0).all()
    counts = rng.poisson(1.0, size=500).astype(float) + 0.5
    _, codes = slices_of(counts, 5, "SIR")
    assert all(len(np.unique(codes[counts == value])) == 1 for value in np.unique(counts))
    mostly_zero = np.r_[np.zeros(95), 1.5, 2.5, 3.5, 4.5, 5.5]
    assert np.bincount(slices_of(mostly_zero, 2, "SIR").codes).min() == 5


def test_whole_numbers_are_classes_when_they_come_again_and_again():
    assert len(slices_of(np.repeat(np.arange(26), 20), None, "SIR").labels) == 26
    assert len(slices_of(np.arange(200), None, "SIR").labels) == 10
    with pytest.raises(ValueError, match="in every row"):
        slices_of(np.full(9, 2.5), 3, "SIR")


def test_sir_p_values_are_uniform_without_signal():
    rng = np.random.default_rng(0)
    p_values = [
        SIR(1, n_slices=5).fit(rng.normal(size=(300, 4)), rng.normal(size=300)).p_values_[0] for _ in range(200)
    ]
    assert stats.kstest(p_values, "uniform").pvalue > 0.01


def test_phd_p_values_are_uniform_without_curvature():
    rng = np.random.default_rng(0)
    p_values = []
    for _ in range(200):
        X = rng.normal(size=(400, 3))
        p_values.append(PHD(1).fit(X, X[:, 0] + rng.normal(size=400)).p_values_[0])
    assert stats.kstest(p_values, "uniform").pvalue > 0.01


def test_phd_is_the_mean_hessian():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 3))
    hessian = np.array([[2.0, 0.5, 0.0], [0.5, -1.0, 0.0], [0.0, 0.0, 0.0]])
    y = np.einsum("ni,ij,nj->n", X, hessian, X) / 2 + 3 * X[:, 2]
    values, axes = linalg.eigh(hessian)
    model = PHD(2).fit(X, y)
    np.testing.assert_allclose(model.eigenvalues_, values[[2, 0]], atol=0.05)
    assert cosines(model.components_, axes[:, [2, 0]].T).min() > 0.999


def test_phd_on_y_by_hand():
    rng = np.random.default_rng(0)
    X, y = rng.exponential(size=(100, 3)), rng.normal(size=100)
    model = PHD(3, response="y").fit(X, y)
    Z = (X - X.mean(axis=0)) @ linalg.inv(linalg.sqrtm(np.cov(X.T, bias=True)))
    expected = linalg.eigvalsh((Z * (y - y.mean())[:, None]).T @ Z / 100)
    np.testing.assert_allclose(np.sort(model.eigenvalues_), expected, rtol=1e-8)
    np.testing.assert_allclose(model.scores_, np.sort(np.abs(expected))[::-1], rtol=1e-8)


def test_phd_says_when_there_is_nothing_to_find():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 12))
    with pytest.raises(ValueError, match="no residuals are left"):
        PHD().fit(X, rng.normal(size=10))
    with pytest.raises(ValueError, match="y is 3 in every row"):
        PHD().fit(X, np.full(10, 3.0))
    tall = rng.normal(size=(50, 3))
    with pytest.raises(ValueError, match=r"nothing is curved: y is linear in the columns. SIR\(n_components=1\)"):
        PHD().fit(tall, tall @ [1.0, 2.0, 0.0])
    with pytest.raises(ValueError, match="Input y contains NaN, in row 0"):
        PHD().fit(tall, np.append(np.nan, tall[1:, 0]))


def test_common_axes_of_two_classes_solve_one_eigenproblem():
    X, y, _ = one_within_another()
    X[y == "outer"] -= X[y == "outer"].mean(axis=0)
    X[y == "inner"] -= X[y == "inner"].mean(axis=0)
    model = CPCDiscriminant(None).fit(X, y)
    inner, outer = (np.cov(X[y == label].T, bias=True) for label in ("inner", "outer"))
    ratios = linalg.eigvalsh(inner, outer)
    np.testing.assert_allclose(np.sort(model.variances_[:, 0] / model.variances_[:, 1]), ratios, rtol=1e-8)
    assert model.p_value_ == pytest.approx(1)


@pytest.mark.filterwarnings("ignore:The classes have no axes")
def test_classes_without_common_axes_are_told():
    X, y = load_wine(return_X_y=True)
    with pytest.warns(UserWarning, match="no axes in common"):
        model = CPCDiscriminant().fit(X, y)
    assert (np.diff(model.objectives_) <= 1e-8).all()
    with pytest.warns(ConvergenceWarning, match="Sweep 2 .*max_iter"):
        CPCDiscriminant(max_iter=2).fit(X, y)


def test_a_short_climb_is_told():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 40)), np.repeat([0, 1, 2, 3], 100)
    X[y == 1] *= rng.uniform(0.5, 2, 40)
    with pytest.warns(ConvergenceWarning, match="gradient of"):
        GaussianLRDiscriminant(1, max_iter=1, n_init=1, random_state=0).fit(X @ rng.normal(size=(40, 40)), y)


def test_criterion_curve_is_the_ratio_along_each_direction():
    X, y = iris()
    plane = X[:, [0, 3]]
    curve = criterion_curve(plane, y, n_angles=36)
    directions = np.vstack([np.cos(curve.angles), np.sin(curve.angles)]) / plane.std(axis=0)[:, None]
    new = plane @ directions
    expected = np.log(new.var(axis=0)) - np.mean([np.log(new[y == each].var(axis=0)) for each in np.unique(y)], axis=0)
    np.testing.assert_allclose(curve.values, expected, rtol=1e-8)
    save = criterion_curve(plane, y, "save", n_angles=3600)
    assert save.values.max() == pytest.approx(SAVE(1).fit(plane, y).scores_[0], rel=1e-5)
    assert "degrees" in repr(save)
    assert len(save.plot().data[0].x) == 3600
    assert save.to_dict()["criterion"] == "save"


def test_criterion_curve_wants_a_plane():
    X, y = iris()
    with pytest.raises(ValueError, match="X has 4"):
        criterion_curve(X, y)
    with pytest.raises(ValueError, match="lie on a line"):
        criterion_curve(np.column_stack([X[:, 0], 2 * X[:, 0]]), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        criterion_curve(X[:, :2], y[:9])


@pytest.mark.parametrize("n_angles", [0, -3, 2.5])
def test_criterion_curve_wants_some_angles(n_angles):
    with pytest.raises(ValueError, match="'n_angles' parameter"):
        criterion_curve(np.eye(4)[:, :2], [0, 0, 1, 1], n_angles=n_angles)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("model", [SIR(1), SAVE(), GaussianLRDiscriminant(random_state=0), CPCDiscriminant()])
@pytest.mark.parametrize("factor", [2.0**530, 2.0**-530])
def test_numbers_whose_squares_cannot_be_counted_change_nothing(model, factor):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    X = rng.normal(size=(100, 3)) * np.where(y[:, None] == 0, 1, [3, 1, 1]) + np.outer(y, [0, 1, 0])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The axes of the classes")
        usual = model.fit(X, y).transform(X)
        found = model.fit(factor * X, y).transform(factor * X)
        # Powers of two change no digit of the table.
        np.testing.assert_allclose(found, usual, rtol=0, atol=rounding(len(X), np.abs(usual).max()))


@pytest.mark.parametrize("model", [GaussianLRDiscriminant(1, random_state=0), CPCDiscriminant(1)])
def test_slices_are_fewer_where_each_needs_a_covariance(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(model.fit(X, y).classes_) == 4
