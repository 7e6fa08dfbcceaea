"""Over-fitting in model selection (Cawley and Talbot 2010): what the criterion learns, and what shortcuts hide."""

import numpy as np
import pytest
from scipy.stats import wilcoxon
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fewer.datasets import make_four_gaussians, make_twonorm
from fewer.evaluate import NestedEvaluation, protocol_audit
from fewer.learn import KernelRidgeClassifierLOO
from fewer.theory import RepeatedSplitCriterion, selection_overfit_curve


def error(model, X, y):
    return 1 - model.score(X, y)


@pytest.mark.claim("selection-bias", 1)
@pytest.mark.parametrize("kernel", ["rbf", "ard"])
def test_leave_one_out_residuals_are_those_of_refits(kernel, figure):
    X, y, _ = make_four_gaussians(64, random_state=0)
    model = KernelRidgeClassifierLOO(kernel=kernel).fit(X, y)
    fixed = KernelRidgeClassifierLOO(kernel=kernel, select=None, **model.hyperparameters_)
    refits = []
    for row in range(64):
        others = np.arange(64) != row
        refits.append(y[row] - fixed.fit(X[others], y[others]).decision_function(X[[row]])[0])
    gap = np.abs(model.loo_residuals_ - refits).max()
    assert gap < 1e-10
    assert model.press_ == pytest.approx(np.sum(np.square(refits)))
    figure(f"{kernel}: largest difference {gap:.0e}")


@pytest.mark.claim("selection-bias", 2)
def test_the_best_rule_errs_on_an_eighth_of_the_rows(figure):
    _, y, truth = make_four_gaussians(500_000, random_state=0)
    wrong = np.mean((truth["posterior"] > 0.5) != (y > 0))
    noise = 3 * np.sqrt(0.1237 * 0.8763 / 5e5)
    assert wrong == pytest.approx(0.1237, abs=noise)
    assert truth["bayes_error"] == pytest.approx(wrong, abs=noise)
    figure(f"{wrong:.2%} by 500,000 rows, {truth['bayes_error']:.3%} by integration")


def training_set(seed):
    X, y, _ = make_four_gaussians(64, random_state=seed)
    return X, y


@pytest.mark.claim("selection-bias", 2)
def test_a_machine_tuned_on_64_rows_errs_a_little_more(figure):
    X_new, y_new, _ = make_four_gaussians(4096, random_state=10**6)
    errors = [
        error(KernelRidgeClassifierLOO(solver="lbfgs").fit(*training_set(seed)), X_new, y_new) for seed in range(50)
    ]
    assert 0.14 < np.mean(errors) < 0.16
    figure(f"tuned on 64 rows: {np.mean(errors):.2%}, mean of 50")


def median_bias(repetition, n_sets):
    """Internal minus median error over disjoint training sets, judged by rows that none of them shares."""
    X_new, y_new, _ = make_four_gaussians(4096, random_state=10**6 + repetition)
    sets = [training_set(1000 * repetition + number) for number in range(n_sets)]
    tuned = [KernelRidgeClassifierLOO(solver="lbfgs").fit(*rows) for rows in sets]
    first = [model.hyperparameters_ for model in tuned[:5]]
    middle = {name: np.exp(np.median([np.log(chosen[name]) for chosen in first])) for name in ("alpha", "gamma")}
    frozen = [KernelRidgeClassifierLOO(select=None, **middle).fit(*rows) for rows in sets]
    return np.mean([error(model, X_new, y_new) for model in tuned]) - np.mean(
        [error(model, X_new, y_new) for model in frozen]
    )


@pytest.mark.slow
@pytest.mark.claim("selection-bias", 3)
def test_the_median_protocol_is_optimistic_though_no_row_is_used_twice(figure):
    biases = [median_bias(repetition, 25) for repetition in range(15)]
    p = wilcoxon(biases).pvalue
    assert np.mean(biases) > 0
    assert p < 0.05
    se = np.std(biases, ddof=1) / np.sqrt(15)
    figure(f"bias {100 * np.mean(biases):.2f} points, standard error {100 * se:.2f}, p = {p:.3f}")


@pytest.mark.claim("selection-bias", 3)
def test_the_median_protocol_is_optimistic_in_most_repetitions(figure):
    biases = [median_bias(repetition, 12) for repetition in range(6)]
    assert np.mean(biases) > 0
    figure(f"short form: bias {100 * np.mean(biases):.2f} points over 6 repetitions of 12 sets")


@pytest.mark.claim("selection-bias", 4)
def test_one_width_for_each_column_lowers_the_criterion_and_raises_the_error(figure):
    X_new, y_new, _ = make_twonorm(4000, random_state=10**6)
    press, errors = [], []
    for seed in range(8):
        X, y, _ = make_twonorm(100, random_state=seed)
        models = [KernelRidgeClassifierLOO(kernel=kernel, solver="lbfgs").fit(X, y) for kernel in ("rbf", "ard")]
        press.append([model.press_ for model in models])
        errors.append([error(model, X_new, y_new) for model in models])
    press, errors = np.array(press), np.array(errors)
    both = (press[:, 1] < press[:, 0]) & (errors[:, 1] > errors[:, 0])
    assert both.sum() >= 7
    figure(
        f"{both.sum()} of 8; PRESS {press[:, 0].mean():.1f} -> {press[:, 1].mean():.1f}, "
        f"error {errors[:, 0].mean():.1%} -> {errors[:, 1].mean():.1%}"
    )


def flat_and_nested_error(seed, grid):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 5)), rng.permutation(np.repeat([0, 1], 30))
    search = GridSearchCV(SVC(), grid, cv=5)
    return 1 - search.fit(X, y).best_score_, 1 - NestedEvaluation(search, random_state=seed).run(X, y).mean


@pytest.mark.slow
@pytest.mark.claim("selection-bias", 5)
def test_the_best_of_a_grid_looks_good_on_pure_noise_and_is_not(figure):
    grid = {"C": 10.0 ** np.arange(-2, 5), "gamma": 10.0 ** np.arange(-4, 2)}
    flat, nested = np.mean([flat_and_nested_error(seed, grid) for seed in range(12)], axis=0)
    assert flat < 0.45
    assert 0.45 <= nested <= 0.58
    figure(f"best of the grid {flat:.2f}, nested {nested:.2f}")


def test_the_best_of_four_is_optimistic_on_pure_noise():
    flat, nested = flat_and_nested_error(0, {"C": [0.1, 1000.0], "gamma": [0.01, 1.0]})
    assert flat < nested
    # Of 60 rows that toss a coin.
    assert abs(nested - 0.5) < 3 * np.sqrt(0.25 / 60)


@pytest.mark.claim("selection-bias", 5)
@pytest.mark.slow
def test_the_best_of_a_small_grid_is_optimistic_on_pure_noise(figure):
    grid = {"C": [0.1, 1000.0], "gamma": [0.01, 0.1, 1.0]}
    flat, nested = np.mean([flat_and_nested_error(seed, grid) for seed in range(3)], axis=0)
    assert nested - flat > 0.02
    assert 0.42 <= nested <= 0.62
    figure(f"short form, 2 x 3 grid: best {flat:.2f}, nested {nested:.2f}")


def noise_audit(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(50, 2000)), rng.permutation(np.repeat([0, 1], 25))
    pipeline = make_pipeline(SelectKBest(k=20), SVC(kernel="linear"))
    return protocol_audit(pipeline, X, y, cv=10, n_repeats=1, random_state=seed)


@pytest.mark.claim("selection-bias", 6)
def test_columns_chosen_before_the_folds_turn_noise_into_a_finding(figure):
    audits = [noise_audit(seed) for seed in range(4)]
    chosen_outside = np.array([audit.errors["external_selection"].mean() for audit in audits])
    honest = np.array([audit.errors["internal"].mean() for audit in audits])
    assert (chosen_outside < 0.2).all()
    assert 0.45 <= honest.mean() <= 0.62
    assert all(audit.biases["external_selection"].p_value < 0.05 for audit in audits)
    figure(
        f"chosen outside {chosen_outside.mean():.2f}, honest {honest.mean():.2f} "
        f"(single tables {honest.min():.2f} to {honest.max():.2f})"
    )


def choices_by_splits(n_sets, n_splits, grid):
    """Spread of the choice (log alpha, log gamma) and mean error, for each number of splits."""
    X_new, y_new, _ = make_four_gaussians(4096, random_state=10**6)
    chosen, errors = {n: [] for n in n_splits}, {n: [] for n in n_splits}
    for seed in range(n_sets):
        X, y = training_set(seed)
        criterion = RepeatedSplitCriterion(max(n_splits), stratify=False, random_state=seed)
        surface = criterion.surface(KernelRidgeClassifierLOO(), X, y, grid)
        for n in n_splits:
            best = surface.first(n).best
            chosen[n].append([np.log(best["alpha"]), np.log(best["gamma"])])
            errors[n].append(error(KernelRidgeClassifierLOO(select=None, **best).fit(X, y), X_new, y_new))
    spread = np.array([np.std(chosen[n], axis=0, ddof=1) for n in n_splits])
    return spread, np.array([np.mean(errors[n]) for n in n_splits])


@pytest.mark.slow
@pytest.mark.claim("selection-bias", 7)
def test_a_criterion_of_less_variance_chooses_steadier_and_better(figure):
    grid = {"alpha": np.exp(np.arange(-8, 6.1, 0.5)), "gamma": np.exp(np.arange(-3, 4.1, 0.5))}
    spread, errors = choices_by_splits(30, (1, 5, 25), grid)
    figure(
        f"sd of log lam {spread[:, 0].round(2).tolist()}, of log eta {spread[:, 1].round(2).tolist()}, "
        f"error {(100 * errors).round(1).tolist()}%"
    )
    assert (np.diff(spread, axis=0) < 0).all()
    assert (np.diff(errors) < 0).all()


def test_a_criterion_of_eight_splits_varies_less_than_that_of_one():
    X, y = training_set(0)
    criteria = [RepeatedSplitCriterion(8, stratify=False, random_state=seed) for seed in range(20)]
    surfaces = [each.surface(KernelRidgeClassifierLOO(), X, y, {"alpha": [1.0], "gamma": [1.0]}) for each in criteria]
    one, eight = (np.std([surface.first(n).mean for surface in surfaces]) for n in (1, 8))
    # Independent splits would give the root of 1/8; ratios of two deviations of 20 draws vary by a third.
    assert eight < 0.7 * one


@pytest.mark.claim("selection-bias", 7)
@pytest.mark.slow
def test_many_splits_choose_steadier_and_better_than_one(figure):
    grid = {"alpha": np.exp(np.arange(-8, 6.1, 2.0)), "gamma": np.exp(np.arange(-3, 4.1, 1.0))}
    spread, errors = choices_by_splits(10, (1, 12), grid)
    assert (spread[1] < spread[0]).all()
    assert errors[1] < errors[0]
    figure(f"short form, 1 and 12 splits: error {errors[0]:.1%} and {errors[1]:.1%}")


@pytest.mark.claim("selection-bias", 8)
def test_the_audit_of_real_data_gives_a_bias_table(figure):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), SelectKBest(), SVC()),
        {"selectkbest__k": [2, 10], "svc__C": [0.1, 10.0]},
        cv=3,
    )
    audit = protocol_audit(search, X.iloc[::4], y.iloc[::4], cv=4, n_repeats=1, random_state=0)
    table = {row["protocol"]: row for row in audit.table()}
    assert set(table) == {"internal", "external", "median", "external_selection"}
    for protocol, row in table.items():
        assert 0.85 < row["score"] < 1
        assert row["unbiased"] == (protocol == "internal")
        assert np.isfinite([row["bias"], row["bias_se"], row["p_value"]]).all()
    assert any(row["bias_se"] > 0 for row in table.values())
    figure(
        "; ".join(f"{name} {row['bias']:+.4f} ± {row['bias_se']:.4f}" for name, row in table.items() if row["bias_se"])
    )


@pytest.mark.claim("selection-bias", 8)
def test_a_selection_step_outside_of_the_estimator_is_refused():
    X, y = load_breast_cancer(return_X_y=True)
    outside = make_pipeline(SelectKBest(k=5), GridSearchCV(SVC(), {"C": [0.1, 1.0]}))
    with pytest.raises(ValueError, match="sits outside"):
        protocol_audit(outside, X, y)
    with pytest.raises(TypeError, match="not one estimator"):
        protocol_audit((SelectKBest(k=5), SVC()), X, y)


def curve_from_afar(n_repeats):
    """From a start far from good: then there is something to gain before there is something to over-fit."""
    X, y = training_set(0)
    model = KernelRidgeClassifierLOO(kernel="ard", alpha=10.0, gamma=0.1, solver="lbfgs")
    return selection_overfit_curve(model, X, y, make_four_gaussians, n_repeats=n_repeats, n_test=1024, random_state=0)


@pytest.mark.slow
@pytest.mark.claim("selection-bias", 9)
def test_the_criterion_falls_while_the_true_error_turns_up(figure):
    curve = curve_from_afar(200)
    assert curve.overfits
    assert 0 < curve.turn < curve.criterion.shape[1] - 1
    typical = np.median(curve.held_out, axis=0)
    figure(
        f"turn after iteration {curve.turn} of L-BFGS; median error {typical[curve.turn]:.3f}, then {typical[-1]:.3f}"
    )


@pytest.mark.claim("selection-bias", 9)
def test_the_best_machine_is_met_before_the_search_ends(figure):
    curve = curve_from_afar(16)
    criterion, held_out = curve.criterion.mean(axis=0), curve.held_out.mean(axis=0)
    assert (np.diff(criterion) <= 1e-9).all()
    assert 0 < curve.turn < len(criterion) - 1
    assert held_out[curve.turn] < held_out[0] / 1.5
    figure(f"short form: turn after iteration {curve.turn} of {len(criterion) - 1}")
