"""Closed forms of the step that are not weights of the estimators, and projections.

Online sparse linear models: penalties, averages, going on, and what is refused.
"""

import math

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale as scaled

from fewer._kernels import _dual_averaging as kernels
from fewer.learn import L1LinearClassifier, L1LinearRegressor, RDAClassifier, RDARegressor
from fewer.learn.online._learners import (
    SHARES,
    l1_ball_weights,
    l1_weights,
    near_prior_weights,
    nearest_in_l1_ball,
    p_norm_weights,
    simplex_weights,
    sparse_truth_norm,
    strongly_convex_weights,
)
from tolerances import rounding


def test_the_projection_on_the_ball_is_nearest():
    rng = np.random.default_rng(0)
    for _ in range(50):
        values, radius = rng.normal(size=6), rng.uniform(0.1, 5)
        found = nearest_in_l1_ball(values, radius)
        assert np.abs(found).sum() <= radius * (1 + rounding(6))
        others = rng.normal(size=(500, 6))
        others *= (radius * rng.uniform(0, 1, size=(500, 1))) / np.abs(others).sum(axis=1, keepdims=True)
        distance = np.linalg.norm(found - values)
        assert (np.linalg.norm(others - values, axis=1) >= distance - rounding(6, np.linalg.norm(values))).all()


def test_values_within_the_ball_stay():
    values = np.array([0.2, -0.3])
    assert np.array_equal(nearest_in_l1_ball(values, 0.5), values)


def test_shares_minimise_cost_and_entropy():
    rng = np.random.default_rng(0)
    mean, prior, sigma = rng.normal(size=5), rng.dirichlet(np.ones(5)), 0.7
    for found, cost in [
        (simplex_weights(mean, 9, 2.0), lambda w: w @ mean + 2 / 3 * (w @ np.log(w))),
        (near_prior_weights(mean, sigma, prior), lambda w: w @ mean + sigma * (w @ np.log(w / prior))),
    ]:
        assert found.sum() == pytest.approx(1)
        others = rng.dirichlet(np.ones(5), size=1000)
        near = np.abs(found + 0.01 * rng.normal(size=(1000, 5)))
        for w in np.concatenate([others, near / near.sum(axis=1, keepdims=True)]):
            assert cost(w) >= cost(found) - rounding(5, np.abs(mean).max() + np.log(5))


def test_what_the_prior_rules_out_stays_out():
    assert near_prior_weights(np.array([-5.0, 0.0, 0.0]), 1.0, np.array([0.0, 0.5, 0.5])) == pytest.approx(
        [0, 0.5, 0.5]
    )


def test_shares_of_extreme_gradients_are_finite():
    assert simplex_weights(np.array([1e6, -1e6]), 100, 0.1) == pytest.approx([0, 1])


def test_the_2_norm_is_the_plain_form_and_a_norm_near_1_does_not_overflow():
    mean = np.random.default_rng(0).normal(size=20)
    assert p_norm_weights(mean, 5, 0.3, 2.0, 2.0, 0.1) == pytest.approx(l1_weights(mean, 5, 0.3, 2.0, 0.1))
    extreme = p_norm_weights(1e5 * mean, 5, 0.3, 1e-5, 1.001)
    assert np.isfinite(extreme).all()
    assert extreme.any()
    assert not p_norm_weights(mean, 5, 100.0, 2.0, 1.5).any()


def test_the_strongly_convex_form_is_the_minimum():
    mean = np.random.default_rng(0).normal(size=4)
    found = strongly_convex_weights(mean, 0.5, 0.2)

    def objective(w):
        return mean @ w + 0.2 * np.abs(w).sum() + 0.25 * w @ w

    assert objective(found) <= minimize(objective, np.zeros(4), method="Nelder-Mead").fun + 1e-9


FORMS = {
    "l1": lambda mean, t: l1_weights(mean, t, 0.003, 1.5),
    "none": lambda mean, t: l1_weights(mean, t, 0.0, 1.5),
    "l1l2": lambda mean, t: strongly_convex_weights(mean, 0.1, 0.003),
    "l2": lambda mean, t: strongly_convex_weights(mean, 0.1),
    "l1_ball": lambda mean, t: l1_ball_weights(mean, t, 1.5, 2.0),
    "p_norm": lambda mean, t: p_norm_weights(mean, t, 0.003, 1.5, 1.3),
}
SLOPES = {
    "log": lambda y, z: -y * expit(-y * z),
    "hinge": lambda y, z: np.where(y * z < 1, -y, 0.0),
    "squared": lambda y, z: 2 * (z - y),
}


@pytest.fixture(scope="module")
def rows():
    """Rows with 3 of 100 entries stored, and two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 60)) * (rng.random((1500, 60)) < 0.03)
    y = np.where(X[:, :3] @ [1, 1, -1] + 0.1 * rng.normal(size=1500) > 0, 1.0, -1.0)
    return X, y


def by_the_book(X, y, form, slope, batch_size, fit_intercept):
    """Algorithm 1, word by word: last weights and their average."""
    table = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    n_columns = X.shape[1]
    total, w, met = np.zeros(table.shape[1]), np.zeros(table.shape[1]), []
    for t, start in enumerate(range(0, len(X), batch_size), 1):
        batch, target = table[start : start + batch_size], y[start : start + batch_size]
        met.append(w)
        total += batch.T @ slope(target, batch @ w) / len(target)
        w = np.append(form(total[:n_columns] / t, t), -(np.sqrt(t) / 1.5) * total[n_columns:] / t)
    return w, np.mean(met, axis=0)


def after_steps(weights):
    """Rounding after the 1,500 steps; the powers of the p-norm, 1 / (p - 1) = 3.3, magnify a relative error most."""
    return rounding(1500, np.abs(weights).max(), condition=1 / (1.3 - 1))


@pytest.mark.parametrize("penalty", FORMS)
@pytest.mark.parametrize(("loss", "batch_size", "fit_intercept"), [("log", 1, True), ("hinge", 7, False)])
def test_every_penalty_follows_the_algorithm_and_so_does_the_average(rows, penalty, loss, batch_size, fit_intercept):
    X, y = rows
    last, average = by_the_book(X, y, FORMS[penalty], SLOPES[loss], batch_size, fit_intercept)
    own = {"penalty": "l1", "p_norm": 1.3} if penalty == "p_norm" else {"penalty": penalty}
    model = RDAClassifier(
        loss, alpha=0.003, alpha_l2=0.1, radius=2.0, gamma=1.5, batch_size=batch_size, fit_intercept=fit_intercept,
        shuffle=False, **own,
    )  # fmt: skip
    for output, expected in (("last", last), ("average", average)):
        for form in (np.asarray, sparse.csr_array):
            fitted = model.set_params(output=output).fit(form(X), y)
            assert fitted.coef_[0] == pytest.approx(expected[:60], abs=after_steps(expected))
            if fit_intercept:
                assert fitted.intercept_[0] == pytest.approx(expected[60], abs=after_steps(expected))


def test_rho_makes_the_average_sparser_steps_and_counts_them_right(rows):
    X, y = rows
    form = lambda mean, t: l1_weights(mean, t, 0.001, 1.5, 0.02)  # noqa: E731
    last, average = by_the_book(X, y, form, SLOPES["log"], 1, True)
    model = RDAClassifier(alpha=0.001, gamma=1.5, rho=0.02, shuffle=False)
    assert model.fit(X, y).coef_[0] == pytest.approx(last[:60], abs=after_steps(last))
    model.set_params(output="average").fit(X, y)
    assert model.coef_[0] == pytest.approx(average[:60], abs=after_steps(average))


def raced(X, y, share, alpha=0.001):
    """Rows in order, with this share of the longest of the first 100 as gamma: it, t times the losses, and weights."""
    total, gamma, w, met, losses = np.zeros(X.shape[1]), 0.0, np.zeros(X.shape[1]), [], []
    for t, (row, label) in enumerate(zip(X, y, strict=True), 1):
        met.append(w)
        losses.append(t * np.logaddexp(0, -label * (row @ w)))
        total += row * SLOPES["log"](label, row @ w)
        gamma = max(gamma, share * np.linalg.norm(row)) if t <= 100 else gamma
        w = l1_weights(total / t, t, alpha, gamma) if gamma > 0 else w
    return gamma, np.array(losses), np.array(met), w


def test_the_average_counts_weights_from_before_gamma_grew(rows):
    X, y = rows
    X = X * np.linspace(0.1, 3, 1500)[:, None]  # the longest of the first rows come late
    options = {"alpha": 0.001, "shuffle": False, "fit_intercept": False, "output": "average"}
    model = RDAClassifier(**options).fit(X[:300], y[:300])
    runs = [raced(X[:300], y[:300], share) for share in SHARES]
    gamma, _, met, _ = min(runs, key=lambda run: run[1].sum())
    assert model.gamma_ == pytest.approx(gamma)
    assert model.coef_[0] == pytest.approx(met.mean(axis=0), abs=after_steps(met))


def test_gamma_is_the_one_that_predicted_new_rows_best_and_the_worst_drop_out_as_steps_double(rows):
    X, y = rows
    model = RDAClassifier(alpha=0.001, shuffle=False, fit_intercept=False).fit(X, y)
    left = [raced(X, y, share) for share in SHARES]
    for cut in (200, 400, 800):
        left.remove(max(left, key=lambda run: run[1][:cut].sum()))
    gamma, _, _, last = min(left, key=lambda run: run[1].sum())
    assert model.gamma_ == pytest.approx(gamma)
    assert model.gamma_ < raced(X[:100], y[:100], 1)[0]
    assert model.coef_[0] == pytest.approx(last, abs=after_steps(last))
    again = RDAClassifier(alpha=0.001, shuffle=False, fit_intercept=False, n_epochs=3).fit(X, y)
    assert again.gamma_ == model.gamma_  # rows that come again judge nothing


def test_gamma_left_alone_is_close_to_the_best_there_is():
    X, y = load_breast_cancer(return_X_y=True)
    parts = [train_test_split(scaled(X), y, test_size=0.3, random_state=seed) for seed in range(10)]
    chosen, *given = (
        np.mean([RDAClassifier(gamma=gamma, random_state=0).fit(A, a).score(B, b) for A, B, a, b in parts])
        for gamma in (None, 15, 5, 1.5, 0.5, 0.15)
    )
    assert chosen > max(given) - 0.01 > given[0]


@pytest.mark.parametrize("model", [RDARegressor(gamma=1.0), RDARegressor(gamma=0.3, p_norm=1.5)], ids=str)
def test_weights_that_run_away_are_told_of_and_never_kept_as_nan(model):  # errors of 1e40, whatever the rounding
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 30))
    y = X[:, 0] + rng.normal(size=4000)
    with pytest.warns(
        ConvergenceWarning, match=rf"mean squared error of the last 100 rows .* gamma={model.gamma:g} is too small"
    ):
        model.fit(X[:120], y[:120])
    with pytest.raises(ValueError, match=r"overflowed.*raise it, leave it at None, or scale"):
        model.set_params(gamma=1e-3).fit(X, y)
    assert model.set_params(gamma=None).fit(X, y).score(X, y) > 0.3


@pytest.mark.parametrize(
    ("short", "plain"),
    [
        (kernels.sum_of_inverse_roots, lambda k: 1 / np.sqrt(k)),
        (kernels.sum_of_roots, np.sqrt),
        (kernels.sum_of_inverses, lambda k: 1 / k),
    ],
)
def test_sums_over_steps_are_right_at_any_length(short, plain):
    for t in (1, 2, 10, 63, 64, 65, 1000, 99_999):
        # The first 64 terms are summed one by one, and the others by an integral.
        assert short(t) == pytest.approx(math.fsum(plain(np.arange(1, t + 1))), rel=rounding(64))
    assert short(0) == 0


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"output": "average"},
        {"penalty": "l1l2"},
        {"p_norm": 1.5},
        {"accelerated": True, "batch_size": 10},
        {"batch_size": 10, "loss": "squared"},
    ],
    ids=str,
)
def test_pieces_are_the_whole_also_when_saved_between(rows, options):
    import pickle

    X, y = (part[:400] for part in rows)
    whole = RDAClassifier(alpha=0.002, shuffle=False, **options).fit(sparse.csr_array(X), y)
    pieces = RDAClassifier(alpha=0.002, **options)
    for start in range(0, 400, 50):  # gamma is still measured in the second piece
        pieces.partial_fit(sparse.csr_array(X[start : start + 50]), y[start : start + 50], classes=[-1, 1])
        pieces = pickle.loads(pickle.dumps(pieces))
    assert np.array_equal(pieces.coef_, whole.coef_)
    assert np.array_equal(pieces.intercept_, whole.intercept_)
    assert (pieces.t_, pieces.gamma_) == (whole.t_, whole.gamma_)


def test_the_accelerated_method_on_the_whole_table_finds_the_batch_minimum():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 20))
    y = np.where(rng.random(200) < expit(X[:, 0] - X[:, 1] + 0.5), 1, -1)
    batch = L1LinearClassifier(C=1 / (0.02 * 200), tol=1e-10).fit(X, y)
    for form in (np.asarray, sparse.csr_array):
        model = RDAClassifier(alpha=0.02, accelerated=True, batch_size=200, n_epochs=1500).fit(form(X), y)
        assert model.coef_ == pytest.approx(batch.coef_, abs=1e-3)
        assert model.intercept_ == pytest.approx(batch.intercept_, abs=1e-3)


def test_exact_gradients_of_one_table_do_not_go_on_with_another(rows):
    X, y = rows
    model = RDAClassifier(accelerated=True, batch_size=2000).fit(X, y)
    with pytest.raises(ValueError, match="smaller than the table"):
        model.partial_fit(X, y)


def test_regression_comes_near_the_batch_minimum():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 30))
    y = X[:, 0] - 2 * X[:, 3] + 0.5 + rng.normal(size=5000)
    batch = L1LinearRegressor(alpha=0.1).fit(X, y)
    model = RDARegressor(alpha=0.2, gamma=10.0, n_epochs=5, random_state=0).fit(X, y)
    assert model.support_.tolist() == batch.support_.tolist() == [0, 3]
    assert model.coef_ == pytest.approx(batch.coef_, abs=0.1)
    assert model.intercept_ == pytest.approx(batch.intercept_, abs=0.1)


def test_gamma_of_regression_follows_the_scales_of_table_and_target():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = X[:, 0] + 0.1 * rng.normal(size=300)
    options = {"alpha": 0, "fit_intercept": False, "random_state": 0}
    plain = RDARegressor(**options).fit(X, y).predict(X)
    scaled = RDARegressor(**options).fit(1000 * X, 1e-3 * y).predict(1000 * X)
    assert scaled == pytest.approx(1e-3 * plain)


def test_columns_that_never_occur_are_never_touched():
    X = sparse.csr_array(([1.0, 2.0], ([0, 1], [5, 5])), shape=(2, 1_000_000))
    model = RDAClassifier(output="average", shuffle=False, fit_intercept=False, gamma=1.0).fit(X, [0, 1])
    touched = model._learners[0].counted_to > 0
    assert np.flatnonzero(touched).tolist() == [5]


def test_several_classes_are_learnt_one_against_the_rest():
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = RDAClassifier(random_state=0, n_epochs=5).fit(X, y)
    assert model.coef_.shape == (3, 4)
    alone = RDAClassifier(random_state=0, n_epochs=5).fit(X, y == 2)
    assert np.array_equal(model.coef_[2], alone.coef_[0])
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)
    assert model.score(X, y) > 0.8


def test_the_ball_holds_the_weights():
    X, y = make_classification(n_samples=500, random_state=0)
    model = RDAClassifier(penalty="l1_ball", radius=0.7, random_state=0).fit(X, y)
    assert np.abs(model.coef_).sum() == pytest.approx(0.7)
    assert 0 < len(model.support_) < 20


def test_sparsified_models_predict_the_same_and_go_on(rows):
    X, y = rows
    model = RDAClassifier(alpha=0.003, random_state=0).fit(X, y)
    dense = model.decision_function(X)
    assert sparse.issparse(model.sparsify().coef_)
    assert model.decision_function(X) == pytest.approx(dense)
    assert not sparse.issparse(model.partial_fit(X, y).coef_)


def test_the_history_tells_how_many_weights_there_were(rows):
    X, y = rows
    model = RDAClassifier(alpha=0.003, shuffle=False, record=True, n_epochs=2).fit(X, y)
    assert model.nnz_history_[-1] == (3000, np.count_nonzero(model.coef_))
    assert len(model.nnz_history_) == 40
    until = RDAClassifier(alpha=0.003, shuffle=False).fit(X[:75], y[:75])
    assert model.nnz_history_[0] == (75, len(until.support_))
    assert RDAClassifier().fit(X, y).nnz_history_ is None


def test_a_callback_stops_between_blocks(rows):
    class StopAfterThree:
        n_blocks = 0

        def setup(self, estimator, context): ...

        def teardown(self, estimator, context): ...

        def on_fit_task_begin(self, estimator, context): ...

        def on_fit_task_end(self, estimator, context):
            self.n_blocks += context.parent is not None
            return self.n_blocks >= 3

    X, y = rows
    model = RDAClassifier(shuffle=False, n_epochs=4).set_callbacks(StopAfterThree()).fit(X, y)
    assert model.t_ == 225
    assert np.array_equal(model.coef_, RDAClassifier(shuffle=False).fit(X[:225], y[:225]).coef_)


def test_huge_and_tiny_numbers_stay_finite():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    for scale in (1e-150, 1e100):
        X = scale * (rng.normal(size=(200, 3)) + y[:, None])
        for options in ({}, {"p_norm": 1.01}, {"output": "average"}, {"penalty": "l1_ball"}):
            assert np.isfinite(RDAClassifier(**options).fit(X, y).coef_).all()


def test_a_batch_may_be_larger_than_the_table(rows):
    X, y = rows
    whole, larger = (RDAClassifier(batch_size=size, shuffle=False).fit(X, y) for size in (1500, 10**12))
    assert whole.t_ == larger.t_ == 1
    assert np.array_equal(whole.coef_, larger.coef_)


def test_rows_without_entries_change_nothing():
    X = np.zeros((10, 3))
    for options in ({}, {"p_norm": 1.5}, {"accelerated": True}, {"penalty": "l2"}):
        model = RDAClassifier(fit_intercept=False, **options).fit(X, np.arange(10) % 2)
        assert not model.coef_.any()


def test_the_suggested_norm_goes_to_one_with_the_number_of_columns():
    assert sparse_truth_norm(2) == 2
    assert sparse_truth_norm(10**6) == pytest.approx(np.log(10**6) / (np.log(10**6) - 1))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"accelerated": True, "loss": "hinge"}, "smooth losses"),
        ({"gamma": 0}, "gamma=0"),
        ({"rho": 0.1, "penalty": "l2"}, "rho=0.1 is for penalty='l1'"),
        ({"p_norm": 1.5, "penalty": "l1_ball"}, "p_norm=1.5 is for penalty='l1'"),
        ({"p_norm": 1.5, "accelerated": True}, "without acceleration"),
    ],
)
def test_what_has_no_meaning_together_is_refused(options, told):
    with pytest.raises(ValueError, match=told):
        RDAClassifier(**options).fit([[0.0], [1.0]], [0, 1])


def test_classes_that_were_not_named_are_refused(rows):
    X, y = rows
    with pytest.raises(ValueError, match=r"class 1\.0, which is not one of classes="):
        RDAClassifier().partial_fit(X, y, classes=[-1.0, 0.0])
    with pytest.raises(ValueError, match="one class only"):
        RDAClassifier().partial_fit(X, np.ones(len(X)), classes=[1.0])


@pytest.mark.parametrize("model", [RDAClassifier(random_state=0), RDARegressor(random_state=0)])
def test_columns_too_small_or_too_far_from_zero_are_told(model):
    X, y = load_breast_cancer(return_X_y=True)
    X = scaled(X)
    with pytest.warns(ConvergenceWarning, match=r"in the unit of the columns.*StandardScaler"):
        model.fit(1e-6 * X, y)
    with pytest.warns(ConvergenceWarning, match=r"All columns lie far from zero.*StandardScaler"):
        model.fit(X + 1e6, y)
