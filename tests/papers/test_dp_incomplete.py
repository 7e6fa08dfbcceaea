"""Wang, Liao, Carin and Dunson (2010): classification with incomplete data using Dirichlet process priors."""

import warnings

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import multivariate_normal, norm
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fewer.datasets import make_local_borders
from fewer.latent import IQGMEClassifier, IQGMEMultiTask
from fewer.latent.experts._incomplete_rows import predicted

# Share of right answers among 2,000 new rows: its standard error where 0.88 of them are right.
OF_2000 = np.sqrt(0.88 * 0.12 / 2000)


def without(X, share, seed):
    """The table with a share of its entries missing."""
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def quiet(model, X, y, **arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, **arguments)


def on_means(model):
    return make_pipeline(SimpleImputer(), StandardScaler(), model)


def borders(seed, share=0.0):
    train, new = make_local_borders(300, random_state=seed), make_local_borders(2000, random_state=100 + seed)
    return without(train.X, share, seed), train.y, new.X, new.y


@pytest.mark.claim("dp-incomplete", 1)
def test_three_experts_are_found_behind_three_borders(figure):
    numbers, complete, half, imputed = [], [], [], []
    for seed in range(5):
        X, y, new, truth = borders(seed)
        model = quiet(IQGMEClassifier(random_state=0), X, y)
        numbers.append(model.n_experts_)
        complete.append(model.score(new, truth))
        X, y, new, truth = borders(seed, 0.5)
        model = quiet(IQGMEClassifier(random_state=0), X, y)
        numbers.append(model.n_experts_)
        half.append(model.score(new, truth))
        imputed.append(on_means(LogisticRegression()).fit(X, y).score(new, truth))
    figure(
        f"{np.count_nonzero(np.array(numbers) == 3)} of 10 fits with three experts; accuracy {min(complete):.3f} to "
        f"{max(complete):.3f}, with half missing {min(half):.3f} to {max(half):.3f} against {min(imputed):.3f} to "
        f"{max(imputed):.3f}"
    )
    assert np.count_nonzero(np.array(numbers[::2]) == 3) >= 4
    assert np.count_nonzero(np.array(numbers[1::2]) == 3) >= 4
    assert min(complete) >= 0.97
    # Both methods answer the same 2,000 rows; means of five have a standard error of OF_2000 / sqrt(5) at most.
    assert np.mean(half) >= 0.875
    assert min(half) >= 0.875 - 3 * OF_2000
    assert np.mean(half) >= np.mean(imputed) - 2 * OF_2000 / np.sqrt(5)


def wdbc(seed, n_train, missing=0.5):
    """Standardised rows with missing entries, in two parts; rows without any observed entry are left out."""
    X, y = load_breast_cancer(return_X_y=True)
    X = without(StandardScaler().fit_transform(X), missing, seed)
    rows = np.random.default_rng(1000 + seed).permutation(np.flatnonzero(~np.isnan(X).all(axis=1)))
    return X[rows[:n_train]], y[rows[:n_train]], X[rows[n_train:]], y[rows[n_train:]]


PEERS = {
    "logistic regression": LogisticRegression(max_iter=1000),
    "RBF SVM": SVC(),
    "linear SVM": SVC(kernel="linear"),
}


def wdbc_scores(seeds, n_train, with_peers=True):
    """AUC of the mixture of experts, and of the other classifiers on imputed means."""
    scores = []
    for seed in seeds:
        X, y, new, truth = wdbc(seed, n_train)
        model = quiet(IQGMEClassifier(random_state=0), X, y)
        peers = [on_means(peer).fit(X, y).decision_function(new) for peer in PEERS.values()] if with_peers else []
        scores.append([roc_auc_score(truth, each) for each in [model.predict_proba(new)[:, 1], *peers]])
    return np.array(scores)


@pytest.mark.claim("dp-incomplete", 2)
def test_half_of_the_entries_are_enough_for_wdbc(figure):
    scores = wdbc_scores(range(2), 284)
    few = wdbc_scores(range(2), 57, with_peers=False)
    figure(f"AUC {scores[:, 0].mean():.4f} in 2 splits, {few.mean():.4f} from 57 rows")
    assert scores[:, 0].mean() >= 0.983
    assert (scores[:, [0]].mean() - scores[:, 1:].mean(axis=0) > 0).all()
    assert few.mean() >= 0.975


@pytest.mark.slow
@pytest.mark.claim("dp-incomplete", 2)
def test_half_of_the_entries_are_enough_for_wdbc_in_ten_splits(figure):
    scores = wdbc_scores(range(10), 284)
    few = wdbc_scores(range(10), 57)
    others = ", ".join(f"{name} {score:.4f}" for name, score in zip(PEERS, scores[:, 1:].mean(axis=0), strict=True))
    figure(f"AUC {scores[:, 0].mean():.4f} ({others}), {few[:, 0].mean():.4f} from 57 rows")
    assert scores[:, 0].mean() >= 0.983
    assert (scores[:, [0]].mean() - scores[:, 1:].mean(axis=0) > 0).all()
    assert few[:, 0].mean() >= 0.975


@pytest.mark.claim("dp-incomplete", 3)
@pytest.mark.parametrize("joint_labels", [False, True])
@pytest.mark.parametrize("missing", [0.5, 0.8, pytest.param(0.1, marks=pytest.mark.slow)])
def test_the_bound_never_falls_on_wdbc(missing, joint_labels, figure):
    X, y, _, _ = wdbc(0, 284, missing)
    model = IQGMEClassifier(joint_labels=joint_labels, random_state=0).fit(X, y)
    path = model.objective_path_
    falls = np.max((path[:-1] - path[1:]) / np.abs(path[1:]))
    figure(f"{model.n_iter_} iterations with {missing:.0%} missing")
    assert falls <= 1e-8
    assert model.converged_
    assert joint_labels or missing != 0.5 or model.n_iter_ < 150


@pytest.mark.claim("dp-incomplete", 3)
@pytest.mark.parametrize("sparse_experts", [False, True])
def test_the_bound_never_falls_with_three_classes_and_weights(sparse_experts):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=120)
    X = without(rng.normal(size=(120, 4)) + 2 * (y[:, None] == np.arange(4)), 0.3, 1)
    model = IQGMEClassifier(6, max_iter=100, sparse_experts=sparse_experts, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = model.fit(X, y, sample_weight=rng.uniform(0.5, 3, size=120)).objective_path_
    assert np.max((path[:-1] - path[1:]) / np.abs(path[1:])) <= 1e-8


def vb_probit(X, y, shape, rate, mean_precision, n_steps=5_000):
    """Variational probit regression in two blocks, labels and coefficients, with the normal-gamma prior of one expert.

    Plain updates in turn, without any of the library's code.
    """
    X = np.column_stack([X, np.ones(len(X))])
    precisions, centre, location = np.full(X.shape[1], 0.1), np.zeros(X.shape[1]), y.astype(float)
    for _ in range(n_steps):
        labels = location + y * norm.pdf(location) / ndtr(y * location)
        covariance = np.linalg.inv(X.T @ X + np.diag(precisions))
        mean = covariance @ (X.T @ labels + precisions * centre)
        centre = mean / (mean_precision + 1)
        squares = mean**2 + np.diag(covariance) - (mean_precision + 1) * centre**2
        precisions = (shape + 0.5) / (rate + squares / 2)
        location = X @ mean
    return mean, covariance


@pytest.mark.claim("dp-incomplete", 4)
def test_one_component_is_a_normal_wishart_posterior_and_a_probit_regression(figure):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) @ np.array([[1.0, 0.5, 0], [0, 1, 0.3], [0, 0, 1]])
    y = (X[:, 0] - 0.5 * X[:, 2] + rng.normal(size=80) > 0).astype(int)
    model = quiet(IQGMEClassifier(1, max_iter=5_000, tol=0), X, y)
    # The prior: mean of the table, and its covariance, with 1e-3 of the variances added, nu_0 = P + 2 and u_0 = 0.1.
    covariance = np.cov(X.T, bias=True)
    covariance += 1e-3 * np.diag(np.diag(covariance))
    scatter = (X - X.mean(axis=0)).T @ (X - X.mean(axis=0))
    precision = (5 + 80) * np.linalg.inv(5 * covariance + scatter)
    gap = np.abs(model.precisions_[0] / precision - 1).max()
    np.testing.assert_allclose(model.means_[0], X.mean(axis=0), atol=1e-9)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    mean, covariance = vb_probit(Z, 2 * y - 1, 0.01, 0.01, 0.1)
    coef_gap = np.abs(model.coef_[0] * X.std(axis=0) - mean[:-1]).max()
    figure(f"{gap:.1e} for the gate, {coef_gap:.1e} for the expert")
    assert gap < 1e-6
    assert coef_gap < 1e-6
    spread = np.diag(np.append(1 / X.std(axis=0), 1.0))
    spread[-1, :-1] = -X.mean(axis=0) / X.std(axis=0)
    np.testing.assert_allclose(model.coef_cov_[0], spread @ covariance @ spread.T, atol=1e-6)
    assert model.intercept_[0] == pytest.approx(mean[-1] - model.coef_[0] @ X.mean(axis=0), abs=1e-6)


@pytest.mark.claim("dp-incomplete", 5)
@pytest.mark.parametrize("hidden", [(0,), (1,), (0, 2)])
def test_a_missing_entry_is_integrated_out(hidden, figure):
    rng = np.random.default_rng(0)
    problem = make_local_borders(400, random_state=0)
    X = np.column_stack([problem.X, problem.X @ [0.4, 0.6] + 0.5 * rng.normal(size=400)])
    model = quiet(IQGMEClassifier(8, max_iter=100, random_state=0), without(X, 0.2, 1), problem.y)
    row = X[7].copy()
    row[list(hidden)] = np.nan
    observed = np.flatnonzero(~np.isnan(row))
    # The conditional mixture of the missing entries, with the posterior means of all parameters.
    covariances = np.linalg.inv(model.precisions_)
    logs = [
        np.log(weight) + multivariate_normal(mean[observed], cov[np.ix_(observed, observed)]).logpdf(row[observed])
        for weight, mean, cov in zip(model.weights_, model.means_, covariances, strict=True)
    ]
    shares = np.exp(logs - np.max(logs))
    components = rng.choice(len(shares), 200_000, p=shares / shares.sum())
    answers = np.empty(len(components))
    for h in np.unique(components):
        own = np.flatnonzero(components == h)
        across = covariances[h][np.ix_(hidden, observed)] @ np.linalg.inv(covariances[h][np.ix_(observed, observed)])
        centre = model.means_[h, list(hidden)] + across @ (row[observed] - model.means_[h, observed])
        within = covariances[h][np.ix_(hidden, hidden)] - across @ covariances[h][np.ix_(observed, hidden)]
        drawn = np.tile(row, (len(own), 1))
        drawn[:, hidden] = rng.multivariate_normal(centre, within, size=len(own))
        answers[own] = ndtr(drawn @ model.coef_[h] + model.intercept_[h])
    gap = abs(answers.mean() - model.predict_proba(row[None])[0, 1])
    figure(f"{gap:.1e} with {len(hidden)} missing")
    # 200,000 draws of a number between 0 and 1 have a standard error of 0.0011 at most.
    assert gap < 5e-3


@pytest.mark.claim("dp-incomplete", 5)
def test_complete_rows_use_the_whole_posterior():
    X, y, new, _ = borders(0)
    model = quiet(IQGMEClassifier(5, max_iter=50, random_state=0), X, y)
    mixture = model._mixtures()[0]._replace(gates=None, covariances=None)
    plugged = predicted(model._standardised(new), mixture).probabilities[:, 0]
    found = model.predict_proba(new)[:, 1]
    certain = predicted(model._standardised(new), model._mixtures()[0]._replace(covariances=None)).probabilities[:, 0]
    # The uncertainty of the coefficients pulls probabilities towards one half.
    assert np.mean(np.abs(found - 0.5)) < np.mean(np.abs(certain - 0.5))
    assert np.abs(found - plugged).max() < 0.2


def gibbs_gap(share, n_burn_in, n_draws):
    X, y, new, truth = borders(0, share)
    variational = quiet(IQGMEClassifier(10, random_state=0), X, y).predict_proba(new)[:, 1]
    sampler = IQGMEClassifier(10, solver="gibbs", n_burn_in=n_burn_in, n_draws=n_draws, random_state=0)
    sampled = sampler.fit(X, y).predict_proba(new)[:, 1]
    return roc_auc_score(truth, variational), roc_auc_score(truth, sampled)


@pytest.mark.claim("dp-incomplete", 6)
def test_gibbs_sampling_agrees_with_the_variational_posterior(figure):
    variational, sampled = gibbs_gap(0.0, 100, 20)
    figure(f"AUC {variational:.3f} and {sampled:.3f}, 200 sweeps")
    assert abs(variational - sampled) < 0.02


@pytest.mark.slow
@pytest.mark.claim("dp-incomplete", 6)
def test_gibbs_sampling_agrees_after_1500_sweeps(figure):
    variational, sampled = gibbs_gap(0.0, 1000, 100)
    figure(f"AUC {variational:.3f} and {sampled:.3f}, 1,500 sweeps")
    assert abs(variational - sampled) < 0.02


@pytest.mark.slow
@pytest.mark.claim("dp-incomplete", 6)
@pytest.mark.parametrize("share", [0.25, 0.5])
def test_gibbs_sampling_is_not_worse_where_training_entries_are_missing(share, figure):
    variational, sampled = gibbs_gap(share, 1000, 100)
    figure(f"AUC {variational:.3f} and {sampled:.3f} with {share:.0%} missing, 1,500 sweeps")
    assert sampled > variational - 0.02


def six_tasks(seed):
    """Twenty rows of each of six tasks, the last three mirrored, a quarter of the entries missing; and new rows."""
    problems = [make_local_borders(20, mirrored=task > 2, random_state=1000 * seed + task) for task in range(6)]
    new = [make_local_borders(1000, mirrored=task > 2, random_state=1000 * seed + 100 + task) for task in range(6)]
    X = without(np.vstack([each.X for each in problems]), 0.25, seed)
    return X, np.concatenate([each.y for each in problems]), np.repeat(np.arange(6), 20), new


def shared_and_separate(seed, **parameters):
    """AUC of shared experts, of a model of each task, and of one for each group; similarities within and between."""
    X, y, task, new = six_tasks(seed)
    model = quiet(IQGMEMultiTask(random_state=0, **parameters), X, y, task_labels=task)
    shared = [
        roc_auc_score(each.y, model.predict_proba(each.X, np.full(1000, number))[:, 1])
        for number, each in enumerate(new)
    ]
    separate, pooled = [], []
    for scores, members in ((separate, [[number] for number in range(6)]), (pooled, [[0, 1, 2], [3, 4, 5]])):
        for group in members:
            own = np.isin(task, group)
            alone = quiet(IQGMEClassifier(random_state=0), X[own], y[own])
            scores += [roc_auc_score(new[each].y, alone.predict_proba(new[each].X)[:, 1]) for each in group]
    same = np.equal.outer(np.arange(6) > 2, np.arange(6) > 2)
    alike = model.task_similarity_
    return shared, separate, pooled, alike[same].min(), alike[~same].max(), model.objective_path_


@pytest.mark.claim("dp-incomplete", 7)
def test_tasks_of_one_group_share_experts(figure):
    shared, separate, _, within, between, path = shared_and_separate(2, n_atoms=20, n_init=2)
    figure(
        f"AUC {np.mean(shared):.3f} shared, {np.mean(separate):.3f} separate; similarity {within:.2f}, {between:.2f}"
    )
    assert np.max((path[:-1] - path[1:]) / np.abs(path[1:])) <= 1e-8
    assert within > between
    assert np.mean(shared) > np.mean(separate)


@pytest.mark.slow
@pytest.mark.claim("dp-incomplete", 7)
def test_sharing_experts_is_as_good_as_knowing_the_groups(figure):
    found = [shared_and_separate(seed, n_atoms=20, n_init=4) for seed in range(5)]
    shared, separate, pooled = (np.array([each[place] for each in found]) for place in range(3))
    figure(f"AUC {shared.mean():.3f} shared, {separate.mean():.3f} separate, {pooled.mean():.3f} with known groups")
    assert all(each[3] > each[4] for each in found)
    gains = (shared - separate).mean(axis=1)
    assert gains.mean() > 2 * gains.std(ddof=1) / np.sqrt(5)
    # A thousand new rows of each task: the standard error of an AUC near 0.95 is 0.007, of the mean of 30 0.0013.
    assert abs(shared.mean() - pooled.mean()) < 3 * 0.0013
