"""RegularizedFisher and its CV: agreement with scikit-learn and brute force, wide, sparse and degenerate tables."""

import numpy as np
import pytest
from scipy import linalg, sparse
from scipy.special import softmax
from scipy.stats import multivariate_normal
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import LeaveOneOut, ShuffleSplit, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.preprocessing import scale

from fewer.extract import (
    KernelRegularizedFisher,
    RegularizedFisher,
    RegularizedFisherCV,
    discriminant_scores_matrix,
    with_components,
)
from tolerances import rounding


def table(n_rows=90, n_columns=20, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    return rng.normal(size=(n_rows, n_columns)) + rng.normal(size=(n_classes, n_columns))[y], y


def counts(n_rows, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.1, size=(n_rows, n_columns)).astype(float)
    y = np.arange(n_rows) % 3
    X[np.arange(n_rows), y] += 3
    return sparse.csr_array(X), y


def test_scores_are_the_formula_of_the_paper():
    y = np.array(["b", "a", "b", "b", "c"])
    scores = discriminant_scores_matrix(y)
    sizes = np.array([1, 3, 1])
    for row, label in enumerate(y):
        for column, name in enumerate("abc"):
            expected = (
                (5 - sizes[column]) / (5 * np.sqrt(sizes[column])) if label == name else -np.sqrt(sizes[column]) / 5
            )
            assert scores[row, column] == pytest.approx(expected)


def test_scores_refuse_a_single_class():
    with pytest.raises(ValueError, match="one class only"):
        discriminant_scores_matrix([1, 1, 1])
    with pytest.raises(ValueError, match="y is empty"):
        discriminant_scores_matrix([])


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_probabilities_without_a_ridge_are_those_of_lda(load):
    X, y = load(return_X_y=True)
    # In raw units, which differ by a factor of a million in breast_cancer.
    ours = RegularizedFisher(alpha=0, decision_rule="gaussian").fit(X, y)
    theirs = LinearDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("shape", [(90, 20), (30, 60)])
@pytest.mark.parametrize("scaling", ["ridge", "orthonormal"])
def test_probabilities_are_those_of_normal_classes_with_the_regularised_covariance(shape, scaling):
    X, y = table(*shape)
    alpha = 5.0
    model = RegularizedFisher(alpha=alpha, scaling=scaling, decision_rule="gaussian").fit(X, y)
    means = np.array([X[y == label].mean(axis=0) for label in range(3)])
    within = (X - means[y]).T @ (X - means[y]) + alpha * np.eye(shape[1])
    logs = [multivariate_normal(mean, within / shape[0]).logpdf(X) for mean in means]
    np.testing.assert_allclose(model.predict_proba(X), softmax(np.column_stack(logs), axis=1), atol=1e-8)


@pytest.mark.parametrize(
    ("classifier", "peer"), [("centroid", NearestCentroid()), ("neighbour", KNeighborsClassifier(1))]
)
def test_other_classifiers_are_scikit_learns_along_the_directions(classifier, peer):
    X, y = load_digits(return_X_y=True)
    model = RegularizedFisher(alpha=100, decision_rule=classifier).fit(X[:300], y[:300])
    peer.fit(model.transform(X[:300]), y[:300])
    assert (model.predict(X[300:]) == peer.predict(model.transform(X[300:]))).all()


@pytest.mark.parametrize("model", [RegularizedFisher, RegularizedFisherCV, KernelRegularizedFisher])
def test_the_nearest_centre_does_not_depend_on_the_sizes_of_the_classes(model):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [450, 50])
    X = rng.normal(size=(500, 6)) + 0.6 * y[:, None]
    found = model(decision_rule="centroid").fit(X, y)
    nearest = NearestCentroid().fit(found.transform(X), y).predict(found.transform(X))
    assert (found.predict(X) == nearest).all()
    assert (nearest == 1).sum() > 50


def test_auto_takes_singular_values_only_where_products_lose_digits(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    exact = RegularizedFisher(alpha=1e-6, solver="svd").fit(X, y)
    np.testing.assert_allclose(RegularizedFisher(alpha=1e-6).fit(X, y).components_, exact.components_, rtol=1e-9)
    monkeypatch.setattr("fewer.extract.fisher._eigenproblem.thin_svd", lambda centred: pytest.fail("decomposed"))
    RegularizedFisher(alpha=1.0).fit(scale(X), y)


def test_more_components_begin_with_those_of_fewer():
    X, y = table(n_classes=5)
    all_of_them = RegularizedFisher().fit(X, y)
    assert all_of_them.n_components_ == 4
    two = with_components(RegularizedFisher(), 2).fit(X, y)
    np.testing.assert_allclose(two.transform(X), all_of_them.transform(X)[:, :2])
    with pytest.warns(UserWarning, match="n_components=9"):
        assert RegularizedFisher(n_components=9).fit(X, y).n_components_ == 4


@pytest.mark.filterwarnings("ignore:.*fitted exactly")
@pytest.mark.parametrize("shape", [(60, 20), (40, 200)])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("estimator", [RegularizedFisher, RegularizedFisherCV])
def test_sparse_gives_what_dense_gives(shape, alpha, estimator):
    # With this seed no column is constant in a fold of the tall table: without a ridge, what such a column does to a
    # held-out row is rounding.
    X, y = counts(*shape, seed=2)
    model = estimator(alpha=alpha) if estimator is RegularizedFisher else estimator(alphas=[alpha, 10.0], cv=3)
    dense = model.fit(X.toarray(), y).transform(X.toarray())
    for form in (sparse.csr_array, sparse.csc_array):
        found = model.fit(form(X), y).transform(form(X))
        if alpha == 0 and shape[0] < shape[1]:  # classes fall together, so directions may turn among themselves
            np.testing.assert_allclose(found @ found.T, dense @ dense.T, atol=1e-7)
        else:
            np.testing.assert_allclose(found, dense, atol=1e-7)


def test_a_sparse_table_is_never_made_dense(monkeypatch):
    X, y = counts(50, 20_000)
    toarray = sparse.csr_array.toarray
    monkeypatch.setattr(
        sparse.csr_array,
        "toarray",
        lambda self, *args, **options: (
            pytest.fail("dense") if self.shape == X.shape else toarray(self, *args, **options)
        ),
    )
    assert RegularizedFisher().fit(X, y).score(X, y) == 1


@pytest.mark.parametrize("shape", [(60, 20), (40, 200)])
@pytest.mark.parametrize("alpha", [0.1, 100.0])
def test_conjugate_gradients_come_to_the_same(shape, alpha):
    X, y = counts(*shape)
    exact = RegularizedFisher(alpha=alpha, solver="evd").fit(X.toarray(), y)
    for table in (X, X.toarray()):
        model = RegularizedFisher(alpha=alpha, solver="cg").fit(table, y)
        np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, atol=1e-9)
        np.testing.assert_allclose(model.components_, exact.components_, atol=1e-7 * np.abs(exact.components_).max())


def test_large_sparse_tables_need_no_matrix_of_products(monkeypatch):
    X, y = counts(60, 200)
    monkeypatch.setattr("fewer.extract.fisher._eigenproblem._LARGE", 50)
    monkeypatch.setattr("fewer.extract.fisher._eigenproblem.centred_gram", lambda *_: pytest.fail("made"))
    for dtype in (np.float64, np.float32):
        assert RegularizedFisher().fit(X.astype(dtype), y).score(X, y) == 1


def test_conjugate_gradients_say_when_they_are_not_done(monkeypatch):
    X, y = counts(60, 20)
    monkeypatch.setattr("fewer.extract.fisher._eigenproblem._MOST_STEPS", 2)
    with pytest.warns(ConvergenceWarning, match="came to a residual of"):
        RegularizedFisher(solver="cg").fit(X, y)
    with pytest.raises(ValueError, match="needs a ridge"):
        RegularizedFisher(alpha=0, solver="cg").fit(X, y)


def test_a_wide_table_asks_for_no_matrix_of_columns_by_columns():
    import tracemalloc

    X, y = table(30, 8000)
    tracemalloc.start()
    RegularizedFisher().fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * X.nbytes


def test_columns_that_are_constant_or_repeated_do_no_harm():
    X, y = table(50, 5)
    padded = np.column_stack([X, np.full(50, 7.0), X[:, 0]])
    for alpha in (0.0, 1.0):
        model = RegularizedFisher(alpha=alpha).fit(padded, y)
        assert np.isfinite(model.components_).all()
        assert model.components_[:, 5] == pytest.approx(0, abs=1e-9)
        np.testing.assert_allclose(model.components_[:, 0], model.components_[:, 6], atol=1e-9)


def test_one_column_and_a_class_of_one_row():
    X, y = table(30, 1)
    y = np.where(np.arange(30) == 0, 3, y)
    model = RegularizedFisher().fit(X, y)
    assert model.n_components_ == 1
    assert np.isfinite(model.predict_proba(X)).all()


def test_classes_with_the_same_mean_are_told():
    X = np.array([[-1.0, 0], [1, 0], [-2, 0], [2, 0]])
    with pytest.raises(ValueError, match="means of all classes are the same"):
        RegularizedFisher().fit(X, ["a", "a", "b", "b"])
    with pytest.raises(ValueError, match="means of all classes are the same"):
        RegularizedFisher(alpha=0).fit(np.ones((4, 2)), ["a", "a", "b", "b"])


def test_fractions_as_classes_and_several_targets_are_refused():
    X, y = table()
    with pytest.raises(ValueError, match="continuous"):
        RegularizedFisher().fit(X, y + 0.5)
    with pytest.raises(ValueError):
        RegularizedFisher().fit(X, np.column_stack([y, y]))


@pytest.mark.parametrize("shape", [(60, 10), (30, 80)])
def test_gcv_is_that_of_ridge_regression(shape):
    X, y = table(*shape)
    alphas = np.array([0.1, 1.0, 30.0, 1000.0])
    model = RegularizedFisherCV(alphas=alphas).fit(X, y)
    Y, centred, n_rows = discriminant_scores_matrix(y), X - X.mean(axis=0), shape[0]
    for score, alpha in zip(model.scores_, alphas, strict=True):
        residuals = Y - Ridge(alpha=alpha).fit(X, Y).predict(X)
        hat = centred @ linalg.solve(centred.T @ centred + alpha * np.eye(shape[1]), centred.T) + 1 / n_rows
        assert -score == pytest.approx(n_rows * np.sum(residuals**2) / np.trace(np.eye(n_rows) - hat) ** 2, rel=1e-6)
    assert model.alpha_ == alphas[np.argmax(model.scores_)]
    fixed = RegularizedFisher(alpha=model.alpha_).fit(X, y)
    condition = 1 + np.linalg.norm(centred, 2) ** 2 / model.alpha_
    tolerance = rounding(max(shape), np.abs(fixed.components_).max(), condition)
    np.testing.assert_allclose(model.components_, fixed.components_, rtol=0, atol=tolerance)


@pytest.mark.parametrize("shape", [(90, 10), (45, 80)])
@pytest.mark.parametrize("classifier", ["left_out", "gaussian", "centroid", "neighbour"])
@pytest.mark.parametrize("cv", [StratifiedKFold(3), ShuffleSplit(2, test_size=0.5, random_state=0)])
def test_folds_from_shared_products_are_those_of_fits_one_by_one(shape, classifier, cv):
    rng = np.random.default_rng(1)
    X, y = table(*shape, seed=1)
    X = X + 2 * rng.normal(size=shape) + 10
    alphas = [0.1, 10.0, 1000.0]
    model = RegularizedFisherCV(alphas=alphas, cv=cv, decision_rule=classifier, n_components=1).fit(X, y)
    for score, alpha in zip(model.scores_, alphas, strict=True):
        one = RegularizedFisher(alpha=alpha, decision_rule=classifier, n_components=1)
        right = [one.fit(X[train], y[train]).predict(X[test]) == y[test] for train, test in cv.split(X, y)]
        assert score == pytest.approx(np.mean(np.concatenate(right)))
    assert model.alpha_ == max(
        a for a, score in zip(alphas, model.scores_, strict=True) if score == model.scores_.max()
    )


def test_a_fold_without_a_class_is_told():
    X, y = table(30, 4)
    labels = np.array(["x", "y", "z"], dtype=object)[y]
    labels[0] = "rare"
    with pytest.raises(ValueError, match="Fold 0 has no training row of class 'rare'"):
        RegularizedFisherCV(cv=LeaveOneOut()).fit(X, labels)
    assert RegularizedFisherCV().fit(X, labels).n_components_ == 3  # generalised cross-validation needs no folds


@pytest.mark.parametrize("alphas", [[], [-1.0], [[1.0]], [np.inf]])
def test_ridges_that_are_none_are_refused(alphas):
    with pytest.raises(ValueError, match="alphas"):
        RegularizedFisherCV(alphas=alphas).fit(*table())


@pytest.mark.parametrize("solver", ["evd", "svd", "cg"])
@pytest.mark.parametrize("shape", [(60, 12), (40, 300)])
def test_left_out_classes_are_those_of_regressions_without_each_row(shape, solver):
    X, y = table(*shape)
    X = X + 2 * np.random.default_rng(2).normal(size=shape)
    alpha, n_rows = 3.0, shape[0]
    model = RegularizedFisher(alpha=alpha, solver=solver).fit(X, y)
    rotation = linalg.lstsq(model.ridge_coef_, model.components_.T)[0]
    scores = discriminant_scores_matrix(y) @ rotation
    if shape[0] > shape[1] or solver != "evd":  # leverages are replaced by their mean
        centred = X - X.mean(axis=0)
        hat = centred @ linalg.solve(centred.T @ centred + alpha * np.eye(shape[1]), centred.T)
        along = scores - (scores - model.transform(X)) / (1 - 1 / n_rows - np.trace(hat) / n_rows)
    else:
        others = [np.delete(np.arange(n_rows), row) for row in range(n_rows)]
        fits = [Ridge(alpha=alpha).fit(X[rest], scores[rest]) for rest in others]
        along = np.vstack([fit.predict(X[[row]]) for row, fit in enumerate(fits)])
    means = np.array([along[y == label].mean(axis=0) for label in range(3)])
    tolerance = {"rtol": 0.1, "atol": 0.02} if solver == "cg" else {"rtol": 1e-6, "atol": 1e-10}
    np.testing.assert_allclose(model._geometry.centres, means, **tolerance)
    np.testing.assert_allclose(model._geometry.variances, np.mean((along - means[y]) ** 2, axis=0), **tolerance)


def test_copies_of_rows_do_not_make_probabilities_sure():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2000)), rng.permutation(60) % 2
    X[30:40] = X[:10] + 1e-6 * rng.normal(size=(10, 2000))
    y[30:40] = y[:10]
    told = RegularizedFisher().fit(X, y).predict_proba(rng.normal(size=(200, 2000)))
    assert np.median(np.abs(told[:, 1] - 0.5)) < 0.3


@pytest.mark.parametrize(
    "model", [RegularizedFisher(), RegularizedFisher(scaling="orthonormal"), RegularizedFisherCV()]
)
def test_probabilities_in_wide_noise_are_near_the_shares_of_the_classes(model):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(260, 3000)), rng.permutation(260) % 2
    model.fit(X[:60], y[:60])
    told = model.predict_proba(X[60:])
    assert log_loss(y[60:], told) < 0.75, "guessing has 0.69"
    plug_in = RegularizedFisher(decision_rule="gaussian").fit(X[:60], y[:60]).predict_proba(X[60:])
    assert log_loss(y[60:], plug_in) > 2


def test_rows_that_fall_together_for_want_of_a_ridge_are_told():
    X, y = table(30, 60)
    with pytest.warns(UserWarning, match="fitted exactly.*Raise alpha"):
        model = RegularizedFisher(alpha=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("classifier", ["left_out", "gaussian", "centroid"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_coefficients_give_the_log_posteriors(classifier, n_classes):
    X, y = load_wine(return_X_y=True)
    X, y = scale(X), np.minimum(y, n_classes - 1)
    model = RegularizedFisher(alpha=10, decision_rule=classifier).fit(X, y)
    values = X @ model.coef_.T + model.intercept_
    if n_classes == 2:
        assert model.coef_.shape == (1, X.shape[1])
        values = np.column_stack([np.zeros(len(X)), values])
    assert softmax(values, axis=1) == pytest.approx(model.predict_proba(X), abs=rounding(13, 1e3))


def test_coefficients_without_a_ridge_are_those_of_discriminant_analysis():
    X, y = load_wine(return_X_y=True)
    ours = RegularizedFisher(alpha=0, decision_rule="gaussian").fit(scale(X), y)
    theirs = LinearDiscriminantAnalysis().fit(scale(X), y)
    # Log posteriors are up to a constant for each row, so that coefficients are up to one for each column.
    for name in ("coef_", "intercept_"):
        first, second = (getattr(model, name) - getattr(model, name).mean(axis=0) for model in (ours, theirs))
        assert first == pytest.approx(second, abs=rounding(len(y), np.abs(second).max(), condition=100))


def test_the_nearest_neighbour_has_no_coefficients():
    model = RegularizedFisher(decision_rule="neighbour").fit(*table())
    assert model.coef_ is None
    assert model.intercept_ is None


@pytest.mark.parametrize("model", [RegularizedFisher(), RegularizedFisherCV(), RegularizedFisherCV(cv=3)])
@pytest.mark.parametrize("unit", [1e-6, 1e-12])
def test_a_ridge_that_outweighs_the_table_is_told_with_its_unit(model, unit):
    X, y = table()
    with pytest.warns(UserWarning, match="squared unit of the columns.*StandardScaler"):
        model.fit(unit * X, y)
    assert len(model.eigenvalues_) == 2


def test_a_column_that_is_constant_in_a_training_fold_does_not_decide_by_rounding():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    X = np.column_stack([rng.normal(size=(60, 4)) + np.eye(4)[y], np.zeros(60)])
    X[[0, 20, 40], 4] = [0.3, 1.7, 0.2]
    tests = [np.array([0, 1, 2, 20, 21, 40, 41]), np.arange(3, 12), np.arange(23, 35)]
    folds = [(np.setdiff1d(np.arange(60), test), test) for test in tests]
    expected = np.average(
        [RegularizedFisher(alpha=0).fit(X[train], y[train]).score(X[test], y[test]) for train, test in folds],
        weights=[len(test) for test in tests],
    )
    for unit in (1, 3, 7, 0.1):
        scores = RegularizedFisherCV(alphas=[0.0, 1e-12], cv=folds).fit(unit * (X + 100), y).scores_
        assert scores[0] == pytest.approx(expected)
