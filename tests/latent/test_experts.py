"""Mixtures of experts: integrals over missing entries, labels, odd tables, weights, sampling."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from fewer.datasets import make_local_borders
from fewer.latent import IQGMEClassifier, IQGMEMultiTask
from fewer.latent.experts._gibbs import drawn_soft_labels
from fewer.latent.experts._incomplete_rows import blocks_of, conditionals, draw_missing, moments, quadratics_of
from fewer.latent.experts._joint_labels import add_labelled_rows, labelled_rows
from fewer.latent.experts._variational import mean_soft_labels, no_sums
from tolerances import rounding

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def components(n_components=3, p=5, seed=0):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(n_components, 2 * p, p))
    return rng.normal(size=(n_components, p)), np.einsum("hip,hiq->hpq", roots, roots) / p


@pytest.mark.parametrize("by_missing", [False, True])
def test_log_masses_and_moments_are_those_of_normal_distributions(by_missing):
    means, precisions = components()
    rng = np.random.default_rng(1)
    X = np.where(rng.random((40, 5)) < 0.5, np.nan, rng.normal(size=(40, 5)))
    X[:3] = rng.normal(size=(3, 5))
    X[3] = np.nan
    X[5] = X[4]  # two rows of one pattern
    quadratics = quadratics_of(precisions)
    linear = np.einsum("hpq,hq->hp", precisions, means)
    constants = (quadratics.log_dets - 5 * np.log(2 * np.pi) - np.einsum("hp,hp->h", linear, means)) / 2
    condition = np.linalg.cond(precisions).max()
    seen = []
    for block in blocks_of(X, 3, by_missing=by_missing):
        n_rows = len(block.rows)
        given = conditionals(block, quadratics, np.repeat(linear[:, None], n_rows, 1), np.tile(constants, (n_rows, 1)))
        total = np.zeros((3, 5, 5))
        directions = rng.normal(size=(3, 2, 5))
        found = moments(block, quadratics, given, np.ones((n_rows, 3)), total, directions)
        expected_total = np.zeros_like(total)
        for place, row in enumerate(block.rows):
            seen.append(row)
            o, m = np.flatnonzero(~np.isnan(X[row])), np.flatnonzero(np.isnan(X[row]))
            for h in range(3):
                S = np.linalg.inv(precisions[h])
                density = 0.0 if not len(o) else multivariate_normal(means[h, o], S[np.ix_(o, o)]).logpdf(X[row, o])
                assert given.log_masses[place, h] == pytest.approx(density, abs=rounding(100, 100, condition))
                across = S[np.ix_(m, o)] @ np.linalg.inv(S[np.ix_(o, o)])
                completed = X[row].copy()
                completed[m] = means[h, m] + across @ (X[row, o] - means[h, o])
                np.testing.assert_allclose(found.completed[h, place], completed, atol=rounding(100, 10, condition))
                within = S[np.ix_(m, m)] - across @ S[np.ix_(o, m)]
                expected_total[h][np.ix_(m, m)] += within
                projected = np.einsum("cp,pq,cq->c", directions[h][:, m], within, directions[h][:, m])
                np.testing.assert_allclose(found.variances[h, :, place], projected, atol=rounding(100, 10, condition))
        np.testing.assert_allclose(total, expected_total, atol=rounding(1000, 10, condition))
    assert sorted(seen) == list(range(40))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("row", "by"), [([0.4, -0.2, np.nan], "missing"), ([np.nan, 0.3, np.nan], "observed")])
def test_joint_posteriors_of_labels_and_missing_entries_are_integrals(sign, row, by):
    """Against a grid over the soft label and the missing entries, for two components."""
    rng = np.random.default_rng(0)
    slopes, linear = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    matrices = slopes[:, :, None] * slopes[:, None, :] + 0.7 * np.eye(3) + 0.3
    constants, intercepts = rng.normal(size=2), rng.normal(size=2)
    (block,) = blocks_of(np.array([row]), 2)
    assert block.by == by
    covariances, weights = np.zeros((2, 3, 3)), np.array([1.5])
    terms = (linear, slopes, constants, intercepts)
    found = labelled_rows(block, quadratics_of(matrices), *terms, np.array([sign]), weights, covariances)
    sums = no_sums(2, 1, 3)
    sums.products[:] += covariances
    squares = add_labelled_rows(sums, found, weights)
    nodes, masses = np.polynomial.legendre.leggauss(80)
    labels = sign * 5 * (nodes + 1)
    line = np.linspace(-10, 10, 101)
    axes = [labels, *(line if np.isnan(each) else np.array([each]) for each in row)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij")).reshape(4, -1)
    cells = np.repeat(5 * masses, grid.shape[1] // 80) * 0.2 ** np.isnan(row).sum()
    t, x = grid[0], grid[1:]
    evidence, firsts, products = [], [], []
    for k in range(2):
        logs = constants[k] + t * intercepts[k] - (t**2 + np.log(2 * np.pi)) / 2 + linear[k] @ x + t * (slopes[k] @ x)
        density = np.exp(logs - np.einsum("ia,ij,ja->a", x, matrices[k], x, optimize=True) / 2) * cells
        evidence.append(density.sum())
        firsts.append(grid @ density / density.sum())
        products.append((grid * density) @ grid.T / density.sum())
    shares = np.array(evidence) / np.sum(evidence)
    firsts, products = (
        1.5 * np.array([s * each for s, each in zip(shares, of, strict=True)]) for of in (firsts, products)
    )
    close = {"rtol": 1e-6, "atol": 1e-8}
    np.testing.assert_allclose(found.totals, np.log(np.sum(evidence)), **close)
    np.testing.assert_allclose(found.shares[0], shares, **close)
    np.testing.assert_allclose(sums.sizes, 1.5 * shares, **close)
    np.testing.assert_allclose(sums.rows, firsts[:, 1:], **close)
    np.testing.assert_allclose(sums.products, products[:, 1:, 1:], **close)
    np.testing.assert_allclose(sums.labels[:, 0, :-1], products[:, 0, 1:], **close)
    np.testing.assert_allclose(sums.labels[:, 0, -1], firsts[:, 0], **close)
    assert squares == pytest.approx(products[:, 0, 0].sum(), rel=1e-6)


def test_drawn_missing_entries_have_the_conditional_moments():
    means, precisions = components(2, 3)
    row = np.array([np.nan, 0.3, np.nan])
    n = 20_000
    (block,) = blocks_of(np.tile(row, (n, 1)), 2, by_missing=True)
    quadratics = quadratics_of(precisions)
    linear = np.einsum("hpq,hq->hp", precisions, means)
    given = conditionals(block, quadratics, np.repeat(linear[:, None], n, 1), np.zeros((n, 2)))
    rng = np.random.default_rng(0)
    drawn = draw_missing(block, quadratics, given, np.ones(n, dtype=int), rng.normal(size=(n, 3)))
    expected = moments(block, quadratics, given, np.ones((n, 2))).completed[1, 0]
    within = np.linalg.inv(precisions[1][np.ix_([0, 2], [0, 2])])
    assert np.all(drawn[:, 1] == 0.3)
    error = np.abs(drawn[:, [0, 2]].mean(axis=0) - expected[[0, 2]])
    assert np.all(error < 5 * np.sqrt(np.diag(within) / n))
    np.testing.assert_allclose(np.cov(drawn[:, [0, 2]].T), within, atol=5 * within.max() * np.sqrt(2 / n))


@pytest.mark.parametrize("location", [-40.0, -3.0, 0.0, 2.0, 40.0])
def test_soft_labels_have_their_sign_and_mean(location):
    signs = np.repeat([-1.0, 1.0], 20_000)[:, None]
    locations = np.full_like(signs, location)
    drawn = drawn_soft_labels(locations, signs, np.random.RandomState(0))
    means = mean_soft_labels(locations, signs)
    assert np.isfinite(drawn).all()
    assert np.all(np.sign(drawn) == signs)
    assert np.all(np.sign(means) == signs)
    for sign in (-1, 1):
        own = drawn[signs == sign]
        assert abs(own.mean() - means[signs == sign][0]) < 5 * own.std() / np.sqrt(len(own)) + 1e-9


def table(n=150, share=0.3, seed=0):
    problem = make_local_borders(n, random_state=seed)
    hidden = np.random.default_rng(seed).random(problem.X.shape) < share
    return np.where(hidden, np.nan, problem.X), np.where(problem.y == 1, "yes", "no")


def small(**parameters):
    return IQGMEClassifier(5, max_iter=40, random_state=0).set_params(**parameters)


def test_labels_may_be_words_and_frames_of_any_library_give_the_same():
    X, y = table()
    expected = small().fit(X, y).predict_proba(X)
    for frame in (pd.DataFrame(X, columns=["a", "b"]), pl.DataFrame(X, schema=["a", "b"])):
        model = small().fit(frame, y)
        assert model.classes_.tolist() == ["no", "yes"]
        assert model.feature_names_in_.tolist() == ["a", "b"]
        np.testing.assert_array_equal(model.predict_proba(frame), expected)
    nullable = pd.DataFrame(X, columns=["a", "b"]).convert_dtypes()
    np.testing.assert_array_equal(small().fit(nullable, y).predict_proba(nullable), expected)


def test_a_table_that_is_stored_by_columns_gives_the_same():
    X, y = table()
    by_columns = np.asfortranarray(X)
    expected = small().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(small().fit(by_columns, y).predict_proba(by_columns), expected, atol=1e-9)


def test_a_row_without_any_entry_is_left_out_and_predicted_by_the_weights():
    X, y = table()
    extended, labels = np.vstack([X, np.full((10, 2), np.nan)]), np.append(y, ["yes"] * 10)
    kept = ~np.isnan(X).all(axis=1)
    model, other = small().fit(extended, labels), small().fit(X[kept], y[kept])
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-9)
    empty = np.full((1, 2), np.nan)
    np.testing.assert_allclose(model.transform(empty)[0], model.weights_, rtol=0, atol=rounding(2))
    assert model.score_samples(empty)[0] == pytest.approx(0, abs=rounding(2))  # the logarithm of the sum of the weights
    np.testing.assert_allclose(model.impute(empty)[0], model.weights_ @ model.means_, rtol=1e-9)


def test_constant_and_empty_columns_are_ignored():
    X, y = table()
    n = len(X)
    wide = np.column_stack([X, np.full(n, 7.0), np.full(n, np.nan)])
    model = small().fit(wide, y)
    changed = wide.copy()
    changed[:, 2], changed[:, 3] = -1e6, 1e6
    np.testing.assert_array_equal(model.predict_proba(wide), model.predict_proba(changed))
    assert model.score(wide, y) > 0.8


def test_tables_that_cannot_be_used_are_refused():
    X, y = table()
    with pytest.raises(ValueError, match="one class only"):
        small().fit(X, np.full(len(X), "yes"))
    with pytest.raises(ValueError, match="every entry of X is missing"):
        small().fit(np.full_like(X, np.nan), y)
    with pytest.raises(ValueError, match=r"larger than n_features - 1, which is 1"):
        small(degrees_of_freedom_prior=0.5).fit(X, y)
    with pytest.raises(ValueError, match="takes no sample_weight"):
        small(solver="gibbs").fit(X, y, sample_weight=np.arange(len(X)))
    with pytest.raises(ValueError, match="infinity"):
        small().fit(np.where(np.isnan(X), np.inf, X), y)


def test_a_class_may_have_a_single_row_and_components_may_be_more_than_rows():
    X, y = table(12, 0.2)
    y = np.array(["no"] * 11 + ["yes"])
    X[-1] = [9.0, 9.0]
    model = IQGMEClassifier(20, max_iter=30, random_state=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_three_classes_are_told_apart_under_the_same_gates():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    centres = np.array([[0, 0, 3.0], [3, 0, 0], [0, 3, 0]])
    X = np.where(rng.random((300, 3)) < 0.2, np.nan, centres[y] + rng.normal(size=(300, 3)))
    model = small().fit(X[:150], y[:150])
    assert model.coef_.shape == (5, 3, 3)
    assert model.coef_cov_.shape == (5, 3, 4, 4)
    probabilities = model.predict_proba(X[150:])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert model.score(X[150:], y[150:]) > 0.8


def test_attributes_are_in_the_units_of_the_table():
    X, y = table()
    units, shift = np.array([1000.0, 0.01]), np.array([5.0, -3.0])
    model, other = small().fit(X, y), small().fit(X * units + shift, y)
    np.testing.assert_allclose(other.means_, model.means_ * units + shift, rtol=1e-6)
    np.testing.assert_allclose(other.precisions_, model.precisions_ / np.outer(units, units), rtol=1e-6)
    np.testing.assert_allclose(other.coef_, model.coef_ / units, rtol=1e-6)
    # The gates and experts, written out, give the predictions of complete rows up to the spread of the posterior.
    rows = np.nan_to_num(X)
    locations = rows @ model.coef_.T + model.intercept_
    shares = model.transform(rows)
    assert np.mean(((shares * (locations > 0)).sum(axis=1) > 0.5) == (model.predict(rows) == "yes")) > 0.95


def test_imputed_values_use_no_class_and_have_honest_covariances():
    rng = np.random.default_rng(0)
    whole = rng.multivariate_normal([0, 0, 0], [[1, 0.8, 0.5], [0.8, 1, 0.3], [0.5, 0.3, 1]], size=800)
    y = whole[:, 0] + rng.normal(size=800) > 0
    X = np.where(rng.random(whole.shape) < 0.3, np.nan, whole)
    model = small().fit(X[:400], y[:400])
    completed, covariances = model.impute(X[400:], return_cov=True)
    hidden = np.isnan(X[400:])
    np.testing.assert_array_equal(completed[~hidden], X[400:][~hidden])
    np.testing.assert_array_equal(completed, model.impute(X[400:]))
    std = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    assert np.all(std[~hidden] == 0)
    inside = np.abs(completed - whole[400:])[hidden] < 2 * std[hidden]
    assert abs(inside.mean() - 0.954) < 4 * np.sqrt(0.954 * 0.046 / hidden.sum()) + 0.01
    assert np.sqrt(np.mean((completed - whole[400:])[hidden] ** 2)) < 0.85


def test_more_starts_do_not_lower_the_bound():
    X, y = table()
    one = small(init="random").fit(X, y)
    several = small(init="random", n_init=4).fit(X, y)
    assert several.lower_bound_ >= one.lower_bound_
    assert several.lower_bound_ == several.objectives_.max()


def test_draws_of_the_number_of_experts_agree_with_the_weights():
    X, y = table(300, 0.0)
    model = IQGMEClassifier(10, random_state=0).fit(X, y)
    numbers = model.sample_n_experts(500, random_state=0)
    assert model.n_experts_ == 3
    assert numbers.min() >= 3
    assert np.median(numbers) <= 5
    np.testing.assert_array_equal(numbers, model.sample_n_experts(500, random_state=0))


def test_rows_that_are_drawn_look_like_the_table():
    X, y = table(300, 0.0)
    model = IQGMEClassifier(10, random_state=0).fit(X, y)
    drawn, labels = model.sample(2000, random_state=0)
    assert np.all(np.abs(drawn.mean(axis=0) - X.mean(axis=0)) < 5 * X.std(axis=0) * np.sqrt(1 / 300 + 1 / 2000))
    assert model.score(drawn, labels) > 0.95


def test_gibbs_sampling_is_reproducible_and_describes_itself():
    X, y = table(80)
    sampler = small(solver="gibbs", n_burn_in=20, n_draws=3, thin=10, n_init=3)
    first, second = clone(sampler).fit(X, y), clone(sampler).fit(X, y)
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    assert first.n_iter_ == 50
    assert len(first._weights) == 3
    assert first.n_init == 3
    assert np.isnan(first.lower_bound_)
    assert np.isfinite(first.impute(X, return_cov=True)[1]).all()
    assert first.sample_n_experts(7, random_state=0).shape == (7,)
    np.testing.assert_allclose(first.predict_proba(X).sum(axis=1), 1)
    assert first.score(X, y) > 0.7


def test_a_fit_that_has_not_converged_warns():
    X, y = table()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with pytest.raises(ConvergenceWarning, match="raise max_iter"):
            small(max_iter=5).fit(X, y)


def three_tasks(n=40):
    problems = [make_local_borders(n, mirrored=task == 2, random_state=task) for task in range(3)]
    X = np.vstack([each.X for each in problems])
    hidden = np.random.default_rng(0).random(X.shape) < 0.2
    return np.where(hidden, np.nan, X), np.concatenate([each.y for each in problems]), np.repeat(["a", "b", "c"], n)


def test_tasks_are_predicted_by_their_own_weights_in_any_order():
    X, y, task = three_tasks()
    model = IQGMEMultiTask(5, n_atoms=8, n_init=3, max_iter=60, random_state=0).fit(X, y, task_labels=task)
    assert model.tasks_.tolist() == ["a", "b", "c"]
    assert model.task_similarity_[0, 1] > 0.5 > model.task_similarity_[0, 2]
    np.testing.assert_allclose(np.diag(model.task_similarity_), 1)
    np.testing.assert_allclose(model.task_weights_.sum(axis=1), 1)
    assert model.score(X, y, task_labels=task) > 0.8
    order = np.random.default_rng(1).permutation(len(X))
    for name in ("predict_proba", "transform", "score_samples", "impute"):
        found = getattr(model, name)
        np.testing.assert_allclose(found(X, task)[order], found(X[order], task[order]), atol=1e-9)
    other = np.where(task == "c", "a", "c")
    assert model.score(X, y, task_labels=other) < model.score(X, y, task_labels=task) - 0.2


def test_tasks_that_are_missing_or_unknown_are_named():
    X, y, task = three_tasks(15)
    model = IQGMEMultiTask(3, n_atoms=4, n_init=1, max_iter=5, random_state=0).fit(X, y, task_labels=task)
    with pytest.raises(ValueError, match="task_labels is missing"):
        model.predict(X)
    with pytest.raises(ValueError, match="the task 'd', which was not seen in fit"):
        model.predict(X, np.where(task == "c", "d", task))
    with pytest.raises(ValueError, match="task_labels has 3 entries, and X has 45 rows"):
        model.fit(X, y, task_labels=["a", "b", "c"])


def test_one_task_is_close_to_the_classifier_of_one_task():
    X, y = table(200, 0.0)
    one = IQGMEMultiTask(10, n_atoms=10, n_init=1, random_state=0).fit(X, y)
    other = IQGMEClassifier(10, random_state=0).fit(X, y)
    assert one.n_experts_by_task_.tolist() == [one.n_experts_]
    assert np.mean(one.predict(X) == other.predict(X)) > 0.9


def test_a_weight_of_a_row_in_a_task_is_a_repetition():
    X, y, task = three_tasks()
    weights = np.random.default_rng(0).integers(0, 3, size=len(X))
    options = {"n_atoms": 6, "n_init": 1, "max_iter": 15, "tol": 0, "random_state": 0}
    weighted = IQGMEMultiTask(4, **options).fit(X, y, task_labels=task, sample_weight=weights)
    again = np.repeat(np.arange(len(X)), weights)
    repeated = IQGMEMultiTask(4, **options).fit(X[again], y[again], task_labels=task[again])
    np.testing.assert_allclose(weighted.objective_path_, repeated.objective_path_, rtol=1e-9)
    np.testing.assert_allclose(weighted.task_weights_, repeated.task_weights_, atol=1e-7)


def test_rows_that_are_drawn_are_those_of_their_task():
    X, y, task = three_tasks()
    model = IQGMEMultiTask(5, n_atoms=8, n_init=3, max_iter=60, random_state=0).fit(X, y, task_labels=task)
    for own, other in (("a", "c"), ("c", "a")):
        drawn, labels = model.sample(400, task=own, random_state=0)
        right = {each: np.mean(model.predict(drawn, np.full(400, each)) == labels) for each in (own, other)}
        assert right[own] > right[other] + 0.2
    with pytest.raises(ValueError, match="task=None is not one of the tasks"):
        model.sample(3)
