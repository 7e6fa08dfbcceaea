"""Variational Bayes and Gibbs sampling of profiles and chains, against sums over all assignments of rows."""

from itertools import product

import numpy as np
import pytest
from scipy.special import betaln, gammaln, logsumexp

from fewer.latent import HiddenMarkov, LatentProfile, select_n_components
from tolerances import rounding

KAPPA, SHAPE = 0.1, 1.0  # of the default priors: 0.1 rows for means, 2 degrees of freedom for variances
# Of a log-evidence: sums over 60 entries, and logarithms of Gamma functions a few times as large as what they leave.
EVIDENCE = rounding(60, condition=10)
EXACT = {"n_init": 5, "max_iter": 5000, "tol": 1e-13, "random_state": 0}


def dirichlet_evidence(counts, prior=1.0):
    """Log-probability of a sequence of draws with these counts, from shares with a symmetric Dirichlet prior."""
    counts = np.asarray(counts, dtype=float)
    n = len(counts)
    return float(
        gammaln(n * prior) - n * gammaln(prior) + gammaln(counts + prior).sum() - gammaln(counts.sum() + n * prior)
    )


def normal_evidence(Z):
    """Log evidence of standardised rows of one state, columns apart, with a normal-gamma prior."""
    total = 0.0
    for column in Z.T:
        z = column[~np.isnan(column)]
        n, kappa, a = len(z), KAPPA + len(z), SHAPE + len(z) / 2
        b = SHAPE + (z @ z - z.sum() ** 2 / kappa) / 2
        total += gammaln(a) - gammaln(SHAPE) + SHAPE * np.log(SHAPE) - a * np.log(b)
        total += np.log(KAPPA / kappa) / 2 - n / 2 * np.log(2 * np.pi)
    return total


def binary_evidence(X):
    return float(sum(betaln(1 + column.sum(), 1 + (1 - column).sum()) - betaln(1, 1) for column in X.T))


def rate_evidence(X):
    total = 0.0
    for column, overall in zip(X.T, X.mean(axis=0), strict=True):
        a = KAPPA * overall
        total += a * np.log(KAPPA) - gammaln(a) + gammaln(a + column.sum())
        total -= (a + column.sum()) * np.log(KAPPA + len(column)) + gammaln(column + 1).sum()
    return float(total)


def standardised(X):
    return (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)


@pytest.fixture(scope="module")
def few_rows():
    X = np.array([[0.1, 2.0], [-0.4, 2.5], [0.3, 1.7], [4.0, 7.1], [4.4, 6.2], [3.9, np.nan], [0.0, 2.2]])
    paths = [np.array(each) for each in product(range(2), repeat=len(X))]
    Z = standardised(X)
    of_rows = np.array([sum(normal_evidence(Z[path == k]) for k in range(2)) for path in paths])
    units = float((~np.isnan(X) @ np.log(np.nanstd(X, axis=0))).sum())
    return X, paths, of_rows - units


def of_labels(path):
    return dirichlet_evidence(np.bincount(path, minlength=2))


def of_path(path):
    """One sequence: the first state, and the states after each."""
    rows = [np.bincount(path[1:][path[:-1] == k], minlength=2) for k in range(2)]
    return dirichlet_evidence(np.bincount(path[:1], minlength=2)) + sum(map(dirichlet_evidence, rows))


def test_the_bound_of_one_profile_is_the_log_evidence():
    X = np.random.default_rng(0).normal(5, 3, size=(30, 2))
    X[:4, 1] = np.nan
    exact = normal_evidence(standardised(X)) - float((~np.isnan(X) @ np.log(np.nanstd(X, axis=0))).sum())
    for covariance_type in ("diag", "tied_diag"):
        model = LatentProfile(1, covariance_type=covariance_type, solver="variational_bayes").fit(X)
        assert model.lower_bound_ == pytest.approx(exact, rel=EVIDENCE)
        assert model.log_evidence() == model.lower_bound_


@pytest.mark.parametrize("emission", ["gaussian", "categorical", "bernoulli", "poisson"])
def test_the_bound_of_one_state_is_the_log_evidence(emission):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(25, 2)) if emission == "gaussian" else rng.integers(0, 2, size=(25, 2)).astype(float)
    X = rng.poisson(3.0, size=(25, 2)).astype(float) if emission == "poisson" else X
    exact = {
        "gaussian": lambda: normal_evidence(standardised(X)) - 25 * np.log(X.std(axis=0)).sum(),
        "categorical": lambda: sum(dirichlet_evidence([25 - column.sum(), column.sum()]) for column in X.T),
        "bernoulli": lambda: binary_evidence(X),
        "poisson": lambda: rate_evidence(X),
    }[emission]()
    model = HiddenMarkov(1, emission=emission, solver="variational_bayes").fit(X)
    assert model.lower_bound_ == pytest.approx(exact, rel=EVIDENCE)


@pytest.mark.parametrize("model", [LatentProfile(2), HiddenMarkov(2)], ids=["profile", "chain"])
def test_the_bound_is_below_the_evidence_of_all_assignments_and_near_it(model, few_rows):
    X, paths, of_rows = few_rows
    of_states = of_labels if isinstance(model, LatentProfile) else of_path
    exact = logsumexp(of_rows + [of_states(path) for path in paths])
    model.set_params(solver="variational_bayes", **EXACT).fit(X)
    assert model.lower_bound_ < exact
    assert model.log_evidence() > exact - 0.7
    assert (np.diff(model.objective_path_) > -1e-10 * abs(exact)).all()


def mean_square_shares(model, paths, of_rows):
    """Posterior mean of the sum of squared class sizes, or transition probabilities: the same in every order."""
    chain = isinstance(model, HiddenMarkov)
    logs = of_rows + [of_path(path) if chain else of_labels(path) for path in paths]
    weights = np.exp(logs - logsumexp(logs))

    def squares(counts):
        a = np.asarray(counts) + 1.0
        return float((a * (a + 1)).sum() / (a.sum() * (a.sum() + 1)))

    def of(path):
        if not chain:
            return squares(np.bincount(path, minlength=2))
        return sum(squares(np.bincount(path[1:][path[:-1] == k], minlength=2)) for k in range(2))

    return float(weights @ [of(path) for path in paths])


@pytest.mark.parametrize("model", [LatentProfile(2), HiddenMarkov(2)], ids=["profile", "chain"])
def test_draws_have_the_posterior_of_all_assignments(model, few_rows):
    X, paths, of_rows = few_rows
    expected = mean_square_shares(model, paths, of_rows)
    model.set_params(solver="gibbs", n_draws=2000, n_burn_in=200, n_chains=2, random_state=0).fit(X)
    drawn = (
        (model.draws_.weights**2).sum(axis=1)
        if isinstance(model, LatentProfile)
        else (model.draws_.transition_matrices**2).sum(axis=(1, 2))
    )
    # of blocks of 100 draws, which hardly depend on one another
    blocks = drawn.reshape(-1, 100).mean(axis=1)
    assert drawn.mean() == pytest.approx(expected, abs=5 * blocks.std() / np.sqrt(len(blocks)))


@pytest.fixture(scope="module")
def overlapping():
    rng = np.random.default_rng(0)
    regimes = np.repeat([0, 1, 0, 1, 0], [80, 60, 70, 50, 40])
    X = rng.normal(size=(300, 3)) * [1, 10, 0.1] + np.where(regimes, 2.0, 0.0)[:, None] * [1, 10, 0.1]
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, regimes


def test_variational_deviations_are_smaller_than_those_of_draws(overlapping):
    X, _ = overlapping
    by_bound = LatentProfile(2, solver="variational_bayes", n_init=2, random_state=0).fit(X)
    by_draws = LatentProfile(2, solver="gibbs", n_draws=500, n_burn_in=200, random_state=0).fit(X)
    by_em = LatentProfile(2, n_init=2, random_state=0).fit(X)
    assert (by_bound.mean_errors_ < by_draws.mean_errors_).all()
    assert (by_bound.weight_errors_ < by_draws.weight_errors_).all()
    for model in (by_bound, by_draws):
        assert (np.abs(model.means_ - by_em.means_) < by_em.mean_errors_).all()
    assert by_draws.mean_errors_ == pytest.approx(by_em.mean_errors_, rel=0.25)
    assert by_draws.draws_.means.shape == (1000, 2, 3)
    assert by_draws.draws_.means.mean(axis=0) == pytest.approx(by_draws.means_)


@pytest.mark.parametrize("covariance_type", ["diag", "spherical"])
def test_chains_agree_between_solvers(covariance_type, overlapping):
    X, regimes = overlapping
    options = {"covariance_type": covariance_type, "random_state": 0}
    by_em, by_bound, by_draws = (
        HiddenMarkov(2, solver=solver, n_init=2, n_draws=200, n_burn_in=100, n_chains=1, **options).fit(X)
        for solver in ("em", "variational_bayes", "gibbs")
    )
    errors = by_draws.draws_.parameters[0].std(axis=0)
    for model in (by_bound, by_draws):
        assert (np.abs(model.means_ - by_em.means_) < errors).all()
        assert np.mean(model.predict(X) == regimes) > 0.95
        assert 0 < model.dic(X, n_draws=100).n_effective < 1.5 * model.n_parameters_
    assert by_draws.draws_.parameters[0].mean(axis=0) == pytest.approx(by_draws.means_)
    assert by_draws.covariances_.shape == by_em.covariances_.shape
    with pytest.raises(ValueError, match="DIC needs draws"):
        by_em.dic(X)
    with pytest.raises(ValueError, match="Only solver='variational_bayes'"):
        by_draws.log_evidence()


def test_numbers_of_profiles_and_states_are_chosen_by_bound_and_dic(overlapping):
    X, _ = overlapping
    groups = np.repeat(np.arange(3), 100)
    short = {"n_draws": 60, "n_burn_in": 40, "n_chains": 1, "random_state": 0}
    bayes = {"solver": "variational_bayes", "n_init": 2, "random_state": 0}
    assert select_n_components(LatentProfile(**bayes), X, [1, 2, 3], criterion="bound").n_components == 2
    chosen = select_n_components(HiddenMarkov(**bayes), X, [1, 2, 3], criterion="bound", groups=groups)
    assert chosen.n_components == 2
    by_dic = select_n_components(HiddenMarkov(solver="gibbs", **short), X, [1, 2], criterion="dic", groups=groups)
    assert by_dic.n_components == 2
    assert select_n_components(LatentProfile(solver="gibbs", **short), X, [1, 2], criterion="dic").n_components == 2


def test_weights_are_repetitions_for_every_solver(overlapping):
    X, _ = overlapping
    X = X[:60]
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    for solver in ("variational_bayes", "gibbs"):
        options = {"solver": solver, "n_init": 1, "n_draws": 30, "n_burn_in": 10, "random_state": 0}
        weighted = LatentProfile(2, **options).fit(X, sample_weight=weights)
        repeated = LatentProfile(2, **options).fit(np.repeat(X, weights, axis=0))
        assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_, rel=1e-6)
    with pytest.raises(ValueError, match="whole numbers"):
        LatentProfile(2, solver="gibbs").fit(X, sample_weight=weights + 0.5)
    groups = np.repeat(np.arange(6), 10)
    of_sequences = np.array([1, 2, 0, 1, 3, 1])
    options = {"solver": "variational_bayes", "n_init": 1, "max_iter": 500}
    weighted = HiddenMarkov(2, **options).fit(X, sample_weight=np.repeat(of_sequences, 10), groups=groups)
    assert np.isfinite(weighted.lower_bound_)
    draws = {"solver": "gibbs", "n_draws": 20, "n_burn_in": 10, "n_chains": 1, "random_state": 0}
    weighted = HiddenMarkov(2, **draws).fit(X, sample_weight=np.repeat(of_sequences, 10), groups=groups)
    plain = HiddenMarkov(2, **draws).fit(X, groups=groups)
    # Eight sequences instead of six, of which each has some nats.
    assert weighted.objectives_[0] < 1.1 * plain.objectives_[0] < 0
    same = HiddenMarkov(2, **draws).fit(X, sample_weight=np.ones(60), groups=groups)
    assert same.means_ == pytest.approx(plain.means_)
    with pytest.raises(ValueError, match="whole numbers"):
        HiddenMarkov(2, **draws).fit(X, sample_weight=np.repeat(of_sequences + 0.5, 10), groups=groups)


def test_correlated_columns_need_em():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match="takes covariance_type='diag' or 'spherical', not 'full'"):
        HiddenMarkov(2, covariance_type="full", solver="gibbs").fit(X)


def test_a_sampler_can_be_fitted_again(overlapping):
    X, _ = overlapping
    for model in (LatentProfile(2), HiddenMarkov(2)):
        model.set_params(solver="gibbs", n_draws=10, n_burn_in=5, random_state=0)
        first = model.fit(X).weights_
        assert model.fit(X).weights_ == pytest.approx(first)
