"""Linear models with a squared penalty that cross-validation chooses."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.metrics import log_loss, make_scorer
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, StratifiedKFold, cross_validate
from sklearn.preprocessing import scale

from fewer.learn import RidgePathClassifierCV, RidgePathRegressorCV
from fewer.learn.ridge._newton import LogLoss, SoftmaxLoss, ridge_path
from fewer.learn.ridge._tables import prepared_table
from tolerances import rounding


def wide(n_classes=3, n_rows=40, n_columns=120, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    X = rng.normal(size=(n_rows, n_columns))
    X[:, :n_classes] += 2 * np.eye(n_classes)[y]
    return X, y


def counts(n_rows=310, n_columns=320, seed=0):
    """Sparse, with more rows than are taken to the row space."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    X = rng.poisson(0.05 + 0.2 * np.outer(y, rng.random(n_columns) < 0.05), size=(n_rows, n_columns))
    return sparse.csr_array(X.astype(float)), y


def regression(n_rows=60, n_columns=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, X[:, 0] - X[:, 1] + rng.normal(size=n_rows)


@pytest.mark.parametrize("C", [1e-3, 1.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("make", [wide, counts, lambda: load_wine(return_X_y=True)])
def test_the_model_is_that_of_logistic_regression_at_its_penalty(make, fit_intercept, C):
    X, y = make()
    X = X if sparse.issparse(X) else scale(X)
    ours = RidgePathClassifierCV([C], cv=2, fit_intercept=fit_intercept).fit(X, y)
    peer = LogisticRegression(C=C, solver="newton-cg", tol=1e-9, max_iter=1000, fit_intercept=fit_intercept).fit(X, y)
    assert ours.coef_.shape == peer.coef_.shape
    assert ours.intercept_.shape == peer.intercept_.shape
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4 * np.abs(peer.coef_).max())
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-4)


def test_every_point_of_every_fold_is_within_the_tolerance_of_its_minimum():
    X, y = wide()
    weights = np.column_stack([np.ones(40), *(np.isin(np.arange(40), train) for train, _ in KFold(3).split(X))])
    weights = weights / weights.sum(axis=0)
    table = prepared_table(X, weights[:, 0], fit_intercept=True)
    penalties = np.geomspace(10, 1e-6, 6)
    path = list(ridge_path(table, SoftmaxLoss(y), weights, penalties, tol=1e-3, max_iter=50))
    exact = list(ridge_path(table, SoftmaxLoss(y), weights, penalties, tol=1e-12, max_iter=50))
    for rough, minimum in zip(path, exact, strict=True):
        assert (rough.objectives <= minimum.objectives * (1 + 1e-4)).all()
        assert (minimum.objectives <= rough.objectives * (1 + rounding(X.size))).all()


def test_folds_learn_from_their_training_rows_alone():
    X, y = wide(n_classes=2)
    cv = StratifiedKFold(4)
    for with_std in (False, True):
        model = RidgePathClassifierCV(4, cv=cv, with_std=with_std, tol=1e-10).fit(X, y)
        train, test = next(iter(cv.split(X, y)))
        held_out = X.copy()
        held_out[test] = 100.0 * np.random.default_rng(1).normal(size=held_out[test].shape)
        # The grid depends on all rows, so it is given.
        again = RidgePathClassifierCV(model.Cs_, cv=cv, with_std=with_std, tol=1e-10).fit(held_out, y)
        for at, C in enumerate(model.Cs_):
            fit = RidgePathClassifierCV([C * len(y) / len(train)], cv=2, with_std=with_std).fit(X[train], y[train])
            expected = -log_loss(y[test], fit.predict_proba(X[test]))
            assert model.scores_[0, at] == pytest.approx(expected, rel=1e-5)
            expected = -log_loss(y[test], fit.predict_proba(held_out[test]))
            assert again.scores_[0, at] == pytest.approx(expected, rel=1e-3)


def test_noise_is_not_learnt():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 300)), rng.integers(0, 2, 60)
    model = RidgePathClassifierCV(scoring="accuracy").fit(X, y)
    assert model.scores_.mean(axis=0).max() < 0.75
    strong = RidgePathClassifierCV().fit(X, y)
    assert strong.scores_[:, 0].mean() == pytest.approx(-np.log(2), abs=0.02)


def test_leave_one_out_is_that_of_ridge_cv_and_of_refits():
    X, y = load_diabetes(return_X_y=True)
    alphas = np.geomspace(1e-3, 10, 8)
    ours, peer = RidgePathRegressorCV(alphas).fit(X, y), RidgeCV(alphas).fit(X, y)
    assert ours.alpha_ == pytest.approx(peer.alpha_)
    assert ours.scores_.mean(axis=0).max() == pytest.approx(peer.best_score_)
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-8)
    X, y = regression()
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 4, 60).astype(float)
    model = RidgePathRegressorCV([2.0]).fit(X, y, sample_weight=weights)
    for left_out, (train, test) in enumerate(LeaveOneOut().split(X)):
        fit = Ridge(2.0).fit(X[train], y[train], sample_weight=weights[train])
        error = weights[left_out] / weights.mean() * (y[test] - fit.predict(X[test]))[0] ** 2
        assert -model.scores_[left_out, 0] == pytest.approx(error)


@pytest.mark.parametrize("shape", [(60, 20), (30, 50)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_regressor_with_folds_is_ridge(shape, form):
    X, y = regression(*shape)
    model = RidgePathRegressorCV([0.5, 5.0], cv=KFold(3)).fit(form(X), y)
    np.testing.assert_allclose(model.coef_, Ridge(model.alpha_).fit(X, y).coef_, atol=1e-7)
    for fold, (train, test) in enumerate(KFold(3).split(X)):
        fit = Ridge(5.0 * len(train) / len(y)).fit(X[train], y[train])
        error = np.mean((y[test] - fit.predict(X[test])) ** 2)
        assert -model.scores_[fold, 0] == pytest.approx(error, rel=1e-3)


def test_leave_one_out_scores_by_any_metric():
    X, y = regression()
    model = RidgePathRegressorCV(5, scoring="neg_mean_absolute_error").fit(X, y)
    assert model.scores_.shape == (1, 5)
    alpha = model.alphas_[2]
    left_out = [
        abs(y[test] - Ridge(alpha).fit(X[train], y[train]).predict(X[test]))[0]
        for train, test in LeaveOneOut().split(X)
    ]
    assert -model.scores_[0, 2] == pytest.approx(np.mean(left_out))


@pytest.mark.parametrize("with_std", [False, True])
@pytest.mark.parametrize(("model", "make"), [(RidgePathClassifierCV, wide), (RidgePathRegressorCV, regression)])
def test_weights_are_repeated_rows(model, make, with_std):
    X, y = make()
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 3, len(y))
    folds = np.arange(len(y)) % 4
    rows = np.repeat(np.arange(len(y)), weights)

    def splits(labels):
        return [(np.flatnonzero(labels != fold), np.flatnonzero(labels == fold)) for fold in range(4)]

    weighted = model(5, cv=splits(folds), with_std=with_std, tol=1e-12).fit(X, y, sample_weight=weights)
    repeated = model(5, cv=splits(folds[rows]), with_std=with_std, tol=1e-12).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-5)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7 * np.abs(repeated.coef_).max())


def test_rows_of_weight_zero_are_not_there():
    X, y = wide()
    kept = np.arange(40) % 5 != 3
    gone = RidgePathClassifierCV(4, cv=3, tol=1e-8).fit(X, y, sample_weight=kept.astype(float))
    without = RidgePathClassifierCV(4, cv=3, tol=1e-8).fit(X[kept], y[kept])
    np.testing.assert_allclose(gone.scores_, without.scores_, rtol=1e-4)


def test_class_weights_are_row_weights():
    X, y = wide(n_classes=2)
    y[:12] = 0
    given = {0: 1.0, 1: 3.0}
    by_class = RidgePathClassifierCV([0.1], class_weight=given, cv=2).fit(X, y)
    by_row = RidgePathClassifierCV([0.1], cv=2).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(by_class.coef_, by_row.coef_, rtol=1e-6)
    balanced = RidgePathClassifierCV([0.1], class_weight="balanced", cv=2).fit(X, y)
    peer = LogisticRegression(C=0.1, class_weight="balanced", tol=1e-8, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(balanced.coef_, peer.coef_, atol=1e-5)


@pytest.mark.parametrize("factor", [1e-12, 1e-6, 1e6, 1e12])
@pytest.mark.parametrize("make", [wide, counts, lambda: load_breast_cancer(return_X_y=True)])
def test_predictions_do_not_depend_on_the_unit(make, factor):
    X, y = make()
    model, scaled = RidgePathClassifierCV(5, cv=2).fit(X, y), RidgePathClassifierCV(5, cv=2).fit(factor * X, y)
    np.testing.assert_allclose(scaled.predict_proba(factor * X), model.predict_proba(X), atol=1e-7)
    assert scaled.C_ * factor**2 == pytest.approx(model.C_)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("with_std", [False, True])
def test_predictions_do_not_depend_on_offsets(with_std, form):
    X, y = load_breast_cancer(return_X_y=True)
    shifted = X + 1e6 * X.std(axis=0)
    options = {"Cs": 5, "cv": 2, "with_std": with_std}
    expected = RidgePathClassifierCV(**options).fit(X, y).predict_proba(X)
    # 1e6 standard deviations take 6 of 16 digits.
    found = RidgePathClassifierCV(**options).fit(form(shifted), y).predict_proba(form(shifted))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    X, y = load_diabetes(return_X_y=True)
    shifted = X + 1e6 * X.std(axis=0)
    expected = RidgePathRegressorCV().fit(X, y).predict(X)
    np.testing.assert_allclose(RidgePathRegressorCV().fit(form(shifted), y).predict(form(shifted)), expected, rtol=1e-5)


@pytest.mark.parametrize("with_std", [False, True])
@pytest.mark.parametrize("n_rows", [100, 310])
def test_sparse_is_dense(n_rows, with_std):
    X, y = counts(n_rows)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    options = {"Cs": 5, "eps": 1e-5, "cv": 3, "with_std": with_std, "tol": 1e-6}
    model, dense = RidgePathClassifierCV(**options).fit(X, y), RidgePathClassifierCV(**options).fit(X.toarray(), y)
    np.testing.assert_allclose(model.scores_, dense.scores_, rtol=1e-4)
    np.testing.assert_allclose(model.coef_, dense.coef_, atol=1e-6 * np.abs(dense.coef_).max())


def test_groups_reach_the_splitter_with_and_without_routing():
    X, y = wide()
    groups = np.arange(40) // 4
    folds = list(GroupKFold(4).split(X, y, groups))
    expected = RidgePathClassifierCV(4, cv=folds).fit(X, y).scores_
    np.testing.assert_array_equal(RidgePathClassifierCV(4, cv=GroupKFold(4)).fit(X, y, groups=groups).scores_, expected)
    with config_context(enable_metadata_routing=True):
        model = RidgePathClassifierCV(4, cv=GroupKFold(4))
        np.testing.assert_array_equal(model.fit(X, y, groups=groups).scores_, expected)
        outer = cross_validate(model, X, y, cv=GroupKFold(3), params={"groups": groups}, error_score="raise")
        assert len(outer["test_score"]) == 3
        target = X[:, 0]
        fit = RidgePathRegressorCV(4, cv=GroupKFold(4)).fit(X, target, groups=groups)
        assert fit.scores_.shape == (4, 4)


def test_any_scorer_chooses_and_sees_a_fitted_model():
    X, y = wide()
    by_name = RidgePathClassifierCV(6, cv=3, scoring="neg_log_loss").fit(X, y)
    by_default = RidgePathClassifierCV(6, cv=3).fit(X, y)
    np.testing.assert_allclose(by_name.scores_, by_default.scores_)
    seen = []

    def smallest_model(model, rows, target):
        seen.append((model.coef_.shape, rows.shape[1], model.predict(rows).shape == target.shape))
        return -np.abs(model.coef_).sum()

    assert by_name.Cs_[0] == RidgePathClassifierCV(6, cv=3, scoring=smallest_model).fit(X, y).C_
    assert set(seen) == {((3, 120), 120, True)}
    scorer = make_scorer(log_loss, response_method="predict_proba", greater_is_better=False)
    weights = np.where(y == 0, 3.0, 1.0)
    weighted = RidgePathClassifierCV(6, cv=3, scoring=scorer).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(
        weighted.scores_, RidgePathClassifierCV(6, cv=3).fit(X, y, sample_weight=weights).scores_, rtol=1e-6
    )


def test_a_score_that_is_not_a_number_is_refused():
    X, y = wide()
    with pytest.raises(ValueError, match="score of fold 1 of 3 is NaN"):
        RidgePathClassifierCV(3, cv=3, scoring=lambda *_: np.nan).fit(X, y)


def test_one_standard_error_takes_a_penalty_at_least_as_strong():
    X, y = wide()
    model = RidgePathClassifierCV(rule="one_se").fit(X, y)
    assert model.C_best_ >= model.C_
    assert len(model.plot().data) == 2


def test_threads_change_nothing_but_rounding():
    X, y = wide()
    for with_std in (False, True):
        one = RidgePathClassifierCV(4, with_std=with_std, tol=1e-9).fit(X, y)
        two = RidgePathClassifierCV(4, with_std=with_std, tol=1e-9, n_jobs=2).fit(X, y)
        np.testing.assert_allclose(one.scores_, two.scores_, rtol=1e-3)
        np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-7)


@pytest.mark.parametrize("shape", [(60, 20), (30, 50)])
def test_float32_stays(shape):
    X, y = regression(*shape)
    y = (y > 0).astype(int)
    narrow = RidgePathClassifierCV(5, cv=3).fit(X.astype(np.float32), y)
    assert narrow.coef_.dtype == narrow.intercept_.dtype == np.float32
    expected = RidgePathClassifierCV(narrow.Cs_, cv=3).fit(X, y)
    np.testing.assert_allclose(narrow.predict_proba(X.astype(np.float32)), expected.predict_proba(X), atol=1e-2)


def test_too_few_steps_are_reported():
    X, y = wide()
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1 Newton steps at a relative gap of"):
        RidgePathClassifierCV(4, cv=2, max_iter=1).fit(X, y)


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_folds_without_a_class_and_bad_grids_are_refused():
    X, y = wide()
    y = np.array(["a", "b", "c"], dtype=object)[y]
    y[0] = "d"
    with pytest.raises(ValueError, match=r"cannot learn class 'd' in fold . of 3, which holds out all its 1 rows"):
        RidgePathClassifierCV(3, cv=3).fit(X, y)
    with pytest.raises(ValueError, match="Cs must be positive"):
        RidgePathClassifierCV([0.0, 1.0]).fit(*wide())
    with pytest.raises(ValueError, match="class_weight must be positive"):
        RidgePathClassifierCV(class_weight={0: 0.0}).fit(*wide())


def test_a_constant_table_gives_the_shares_of_the_classes():
    y = np.repeat([0, 1], [10, 30])
    model = RidgePathClassifierCV(3).fit(np.full((40, 3), 7.1), y)
    np.testing.assert_allclose(model.predict_proba(np.full((1, 3), 7.1)), [[0.25, 0.75]], atol=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_pass_that_serves_six_sets_is_the_two_products(fit_intercept):
    X, y = counts()
    rng = np.random.default_rng(0)
    weights = rng.random((len(y), 6))
    table = prepared_table(X, weights[:, 0] / weights[:, 0].sum(), fit_intercept=fit_intercept)
    loss = LogLoss(y)
    coefs = rng.normal(size=(table.size, 6, 1))
    terms = loss.terms(table.forward(coefs), weights)
    image, products = table.curved(loss, terms, coefs)
    np.testing.assert_allclose(image, table.forward(coefs), atol=1e-10)
    np.testing.assert_allclose(products, table.backward(loss.curved(terms, image)), atol=1e-8)
    dense = prepared_table(X.toarray(), weights[:, 0] / weights[:, 0].sum(), fit_intercept=fit_intercept)
    assert dense.unit == pytest.approx(table.unit)


@pytest.mark.parametrize(("loss", "n_classes"), [(LogLoss, 2), (SoftmaxLoss, 4)])
def test_slopes_and_curvatures_are_derivatives(loss, n_classes):
    rng = np.random.default_rng(0)
    y = np.arange(12) % n_classes
    loss = loss(y)
    z, change = rng.normal(size=(2, 12, 2, loss.n_outputs))
    weights = rng.random((12, 2))
    weights[0, 1] = 0.0
    terms = loss.terms(z, weights)
    step = 1e-6
    ahead, behind = (loss.terms(z + sign * step * change, weights) for sign in (1, -1))
    slopes = np.einsum("iso,iso->s", terms.slopes, change)
    np.testing.assert_allclose((ahead.values - behind.values) / (2 * step), slopes, atol=1e-7)
    np.testing.assert_allclose((ahead.slopes - behind.slopes) / (2 * step), loss.curved(terms, change), atol=1e-7)
    for output in range(loss.n_outputs):
        unit = np.zeros_like(z)
        unit[..., output] = 1.0
        found, expected = loss.diagonal(terms)[..., output], loss.curved(terms, unit)[..., output]
        # Second derivatives are at most one: p (1 - p) in one place, p less a sum over the outputs in the other.
        np.testing.assert_allclose(found, expected, rtol=0, atol=rounding(loss.n_outputs + 1))
