"""Paths of penalties, and the choice of one."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification
from sklearn.linear_model import ElasticNet, ElasticNetCV, LogisticRegression, lasso_path
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, cross_validate
from sklearn.preprocessing import scale

from fewer.learn import (
    L1LinearClassifier,
    L1LinearRegressor,
    L1PathClassifierCV,
    L1PathRegressorCV,
    compare_l1_solvers,
    l1_path,
)
from fewer.learn.sparse._l1_path_cv import chosen_point
from fewer.learn.sparse._solvers import SOLVERS
from tolerances import rounding


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


def test_a_path_is_the_single_fits_one_after_the_other(cancer):
    X, y = cancer
    path = l1_path(X, y, n_alphas=12, eps=1e-3, tol=1e-7)
    assert path.n_nonzero[0] == 0
    for at in (3, 7, 11):
        alone = L1LinearClassifier(C=path.Cs[at], tol=1e-9).fit(X, y)
        np.testing.assert_allclose(path.coefs[[at]].toarray()[0], alone.coef_[0], atol=1e-4)
        assert path.intercepts[at] == pytest.approx(alone.intercept_[0], abs=1e-4)
        assert path.objectives[at] == pytest.approx(alone.objective_[0], rel=1e-9)


def test_the_squared_path_is_the_lasso_path():
    X, y = load_diabetes(return_X_y=True)
    X, y = X - X.mean(axis=0), y - y.mean()
    path = l1_path(X, y, loss="squared", n_alphas=20, fit_intercept=False, tol=1e-8)
    alphas, coefs, _ = lasso_path(X, y, alphas=path.alphas, tol=1e-12, max_iter=100_000)
    np.testing.assert_allclose(alphas, path.alphas)
    np.testing.assert_allclose(path.coefs.toarray().T, coefs, atol=1e-3)


def test_columns_that_the_strong_rule_misses_are_found():
    # Few points, far apart: the rule has little to go by, and the look at all columns must make up for it.
    X, y = make_classification(60, 400, n_informative=10, random_state=1)
    path = l1_path(X, y, n_alphas=4, eps=1e-2, tol=1e-6)
    for at in range(4):
        alone = L1LinearClassifier(C=path.Cs[at], tol=1e-9).fit(X, y)
        assert path.objectives[at] == pytest.approx(alone.objective_[0], rel=1e-6)


def test_entered_is_the_first_point_with_a_coefficient(cancer):
    X, y = cancer
    path = l1_path(X, y, n_alphas=15)
    dense = path.coefs.toarray() != 0
    for column in range(X.shape[1]):
        expected = np.argmax(dense[:, column]) if dense[:, column].any() else 15
        assert path.entered[column] == expected


def test_a_path_ends_when_enough_columns_are_in(cancer):
    X, y = cancer
    path = l1_path(X, y, eps=1e-3, max_features=4)
    assert path.n_nonzero[-1] > 4
    assert (path.n_nonzero[:-1] <= 4).all()


def test_a_path_without_anything_to_enter_is_refused():
    with pytest.raises(ValueError, match="No column is correlated with the target"):
        l1_path(np.ones((10, 3)), np.arange(10) % 2)


def test_three_classes_are_sent_elsewhere():
    with pytest.raises(ValueError, match=r"two classes.*L1PathClassifierCV"):
        l1_path(np.eye(6), [0, 1, 2, 0, 1, 2])


def test_one_standard_error_takes_the_strongest_penalty_as_good():
    scores = np.array([[0.5, 0.7, 0.75, 0.7], [0.5, 0.8, 0.85, 0.8], [0.5, 0.75, 0.8, 0.75]])
    # The best mean is .8 with a standard error of .029; .75 is further away than that.
    assert chosen_point(scores, "one_se") == (2, 2)
    noisy = scores + np.array([[0.2], [-0.2], [0.0]])
    assert chosen_point(noisy, "one_se") == (1, 2)
    assert chosen_point(noisy, "best") == (2, 2)


def test_cross_validation_never_fits_on_the_rows_it_scores():
    # Noise: on rows that were seen, weak penalties look perfect; held out, none is better than the empty model.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 300)), rng.integers(0, 2, 60)
    model = L1PathClassifierCV(n_alphas=12, scoring="accuracy").fit(X, y)
    assert model.scores_.mean(axis=0).max() < 0.75
    assert model.scores_.shape == (5, 12)


def test_the_chosen_model_is_the_one_fit_at_its_penalty(cancer):
    X, y = cancer
    model = L1PathClassifierCV(n_alphas=15, eps=1e-3, tol=1e-7, n_jobs=2).fit(X, y)
    assert model.C_ in model.Cs_
    alone = L1LinearClassifier(C=model.C_, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-4)


def test_the_regressor_chooses_as_scikit_learn_does_when_asked_for_the_best():
    from sklearn.linear_model import LassoCV

    X, y = load_diabetes(return_X_y=True)
    model = L1PathRegressorCV(rule="best", tol=1e-7).fit(X, y)
    peer = LassoCV(alphas=model.alphas_, cv=5, tol=1e-8, max_iter=100_000).fit(X, y)
    assert model.alpha_ == pytest.approx(peer.alpha_)
    np.testing.assert_allclose(-model.scores_.T, peer.mse_path_, rtol=1e-4)


def test_solvers_are_compared_on_the_same_minimum(cancer):
    X, y = cancer
    compared = compare_l1_solvers(X, y, solvers=["auto", "tron"], max_time=5, test=(X, y))
    assert compared.minimum == pytest.approx(46.08174, rel=1e-6)
    assert np.isfinite(list(compared.seconds_to(1e-8).values())).all()
    record = compared.table[-1]
    assert record["solver"] == "tron"
    assert record["accuracy"] > 0.98
    assert compared.plot().data[0].name == "auto"


def test_an_unknown_solver_is_named(cancer):
    with pytest.raises(ValueError, match=r"Unknown solvers newton; there are auto, cdn"):
        compare_l1_solvers(*cancer, solvers=["newton"])


def test_a_path_that_would_run_backwards_and_numbers_for_classes_are_told():
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match="between 0 and 1; got 2"):
        l1_path(X, np.arange(20) % 2, eps=2)
    with pytest.raises(ValueError, match="loss='squared'"):
        l1_path(X, X[:, 0])


@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.parametrize("cv", [3, [(np.arange(1, 40), np.arange(1))]])
def test_a_class_that_a_fold_holds_out_whole_is_told(cv):
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = np.where(X[:, 0] > 0, "yes", "no").astype(object)
    y[0] = "perhaps"
    with pytest.raises(ValueError, match=r"cannot learn class 'perhaps' in fold . of ., which holds out its only row"):
        L1PathClassifierCV(cv=cv).fit(X, y)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_no_subgradient_of_a_path_exceeds_the_tolerance(kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 200)) * (rng.random((80, 200)) < 0.3)
    y = np.where(X[:, :5].sum(axis=1) + rng.normal(size=80) > 0, 1.0, -1.0)
    path = l1_path(kind(X), y, fit_intercept=False, n_alphas=15, tol=1e-3)
    minima = l1_path(X, y, fit_intercept=False, Cs=path.Cs, tol=1e-9).objectives
    for C, coef, told in zip(path.Cs, path.coefs.toarray(), path.violations, strict=True):
        slopes = -C * X.T @ (y / (1 + np.exp(y * (X @ coef))))
        gaps = np.where(coef == 0, np.maximum(np.abs(slopes) - 1, 0), np.abs(slopes + np.sign(coef)))
        assert gaps.max() == pytest.approx(told, abs=1e-9)
        assert told <= 1e-3
    assert (path.objectives <= (1 + 2e-3) * minima).all()


def test_classes_have_weights_on_a_path(cancer):
    X, y = cancer
    rows = np.r_[np.flatnonzero(y == 0)[:25], np.flatnonzero(y == 1)]
    X, y = X[rows], y[rows]
    balanced = len(y) / (2 * np.bincount(y))
    by_class = L1PathClassifierCV(n_alphas=6, cv=3, class_weight="balanced", tol=1e-6).fit(X, y)
    by_dict = L1PathClassifierCV(n_alphas=6, cv=3, class_weight=dict(enumerate(balanced)), tol=1e-6).fit(X, y)
    by_row = L1PathClassifierCV(n_alphas=6, cv=3, tol=1e-6).fit(X, y, sample_weight=balanced[y])
    np.testing.assert_allclose(by_dict.coef_, by_row.coef_, atol=1e-9)
    np.testing.assert_allclose(by_class.Cs_, by_row.Cs_)
    # A fold learns from its own counts, so that held-out classes do not weigh in.
    alone = L1LinearClassifier(C=by_class.C_, class_weight="balanced", tol=1e-10).fit(X, y)
    np.testing.assert_allclose(by_class.coef_, alone.coef_, atol=1e-4)
    plain = L1PathClassifierCV(n_alphas=6, cv=3).fit(X, y)
    assert by_class.intercept_[0] < plain.intercept_[0]  # the rarer class gets more of the room


def test_groups_are_never_parted_by_a_fold():
    # Rows of a group are copies: folds that part groups find something to learn in noise.
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 4)
    X, y = rng.normal(size=(20, 60))[groups], rng.normal(size=20)[groups]
    parted = L1PathRegressorCV(n_alphas=8, cv=KFold(3, shuffle=True, random_state=0)).fit(X, y)
    kept = L1PathRegressorCV(n_alphas=8, cv=3).fit(X, y, groups=groups)
    assert parted.scores_.mean(axis=0).max() > 0.5 * -y.var()
    assert kept.scores_.mean(axis=0).max() < 0.8 * -y.var()


@pytest.mark.parametrize(
    ("model", "splitter"), [(L1PathRegressorCV, GroupKFold), (L1PathClassifierCV, StratifiedGroupKFold)]
)
def test_groups_go_to_the_splitter_and_a_number_becomes_one_that_takes_them(model, splitter):
    rng = np.random.default_rng(0)
    X, y, groups = rng.normal(size=(60, 5)), rng.integers(0, 2, 60), rng.integers(0, 12, 60)
    folds = list(splitter(3).split(X, y, groups))
    expected = model(n_alphas=5, cv=folds).fit(X, y).scores_
    for cv in (3, splitter(3)):
        np.testing.assert_array_equal(model(n_alphas=5, cv=cv).fit(X, y, groups=groups).scores_, expected)


def test_groups_and_weights_of_scores_come_by_metadata_routing(cancer):
    X, y = cancer
    X, y = X[:120], y[:120]
    groups, weights = np.arange(120) % 10, np.where(y == 1, 5.0, 0.0)
    with config_context(enable_metadata_routing=True):
        weighted = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        model = L1PathClassifierCV(n_alphas=4, cv=GroupKFold(2), scoring=weighted)
        model.fit(X, y, groups=groups, sample_weight=weights + 1e-9)
        # Scores count class 1 alone, which the empty model predicts.
        assert model.scores_[:, 0] == pytest.approx(1.0)
        inside = cross_validate(
            L1PathClassifierCV(n_alphas=4, cv=GroupKFold(2)), X, y, cv=GroupKFold(2), params={"groups": groups}
        )
        assert (inside["test_score"] > 0.8).all()
    with pytest.raises(ValueError, match="price"):
        L1PathClassifierCV().fit(X, y, price=groups)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_elastic_net_is_scikit_learns(solver):
    X, y = load_diabetes(return_X_y=True)
    X = scale(X) + 100.0
    peer = ElasticNet(0.5, l1_ratio=0.3, tol=1e-12, max_iter=10_000).fit(X - 100, y)
    model = L1LinearRegressor(0.5, l1_ratio=0.3, solver=solver, tol=1e-10, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-2)
    price = 0.5 * (0.3 * np.abs(peer.coef_).sum() + 0.35 * (peer.coef_**2).sum())
    minimum = price + ((y - peer.predict(X - 100)) ** 2).mean() / 2
    assert model.objective_ == pytest.approx(minimum, rel=1e-8)
    assert model.objective_ - model.dual_gap_ <= minimum * (1 + rounding(X.size))  # a sum of squares after products


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", ["log", "squared_hinge"])
def test_the_elastic_net_of_classes_has_one_minimum(loss, solver, cancer):
    X, y = cancer
    model = L1LinearClassifier(loss, 0.02, l1_ratio=0.5, solver=solver, tol=1e-7, random_state=0).fit(X, y)
    exact = L1LinearClassifier(loss, 0.02, l1_ratio=0.5, tol=1e-11).fit(X, y)
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-6)
    assert exact.dual_gap_[0] <= 1e-11 * 0.02 * len(y)
    if loss == "log":
        peer = LogisticRegression(C=0.02, l1_ratio=0.5, solver="saga", tol=1e-8, max_iter=5000).fit(X, y)
        np.testing.assert_allclose(exact.coef_, peer.coef_, atol=1e-4)


def test_an_elastic_net_path_is_its_single_fits():
    X, y = load_diabetes(return_X_y=True)
    path = l1_path(X, y, loss="squared", n_alphas=8, l1_ratio=0.4, tol=1e-8)
    assert path.n_nonzero[0] == 0
    for at in (2, 5, 7):
        peer = ElasticNet(path.alphas[at], l1_ratio=0.4, tol=1e-12, max_iter=10_000).fit(X, y)
        np.testing.assert_allclose(path.coefs[[at]].toarray()[0], peer.coef_, atol=1e-3)
    with pytest.raises(ValueError, match="l1_ratio must be above 0"):
        l1_path(X, y, loss="squared", l1_ratio=0.0)
    model = L1PathRegressorCV(rule="best", l1_ratio=0.9, n_alphas=20, tol=1e-6).fit(X, y)
    theirs = ElasticNetCV(alphas=model.alphas_, l1_ratio=0.9, cv=5, tol=1e-8, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(-model.scores_.T, theirs.mse_path_, rtol=1e-4)
