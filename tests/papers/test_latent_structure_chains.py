"""Titterington (2006), latent structure analysis: the part on hidden Markov chains."""

from itertools import pairwise, product

import numpy as np
import pytest
from scipy.stats import norm, poisson

from fewer.latent import HiddenMarkov
from fewer.latent.chains._forward_backward import Chain, forward_backward
from tolerances import rounding


def enumerated(densities, chain):
    """Log-likelihood, posteriors of states and of pairs of states, from all paths one by one."""
    n_rows, n_states = densities.shape
    posteriors, pairs, total = np.zeros((n_rows, n_states)), np.zeros((n_states, n_states)), 0.0
    for path in product(range(n_states), repeat=n_rows):
        weight = chain.start[path[0]] * np.prod([chain.transition[i, j] for i, j in pairwise(path)])
        weight *= np.prod(densities[np.arange(n_rows), path])
        total += weight
        posteriors[np.arange(n_rows), path] += weight
        for i, j in pairwise(path):
            pairs[i, j] += weight
    return np.log(total), posteriors / total, pairs / total


@pytest.mark.claim("latent-structure", 3)
@pytest.mark.parametrize("seed", range(5))
def test_forward_backward_is_the_sum_over_all_paths(seed, figure):
    rng = np.random.default_rng(seed)
    chain = Chain(rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), size=3))
    densities = rng.exponential(size=(6, 3))
    log_likelihood, posteriors, pairs = enumerated(densities, chain)
    found = forward_backward(np.log(densities), chain, np.array([0, 6]))
    errors = [
        abs(found.scores.sum() - log_likelihood),
        np.abs(found.posteriors - posteriors).max(),
        np.abs(found.transitions - pairs).max(),
    ]
    figure(f"largest difference {max(errors):.0e}")
    assert max(errors) < rounding(3**6, scale=5) < 1e-10


@pytest.mark.claim("latent-structure", 3)
@pytest.mark.parametrize("emission", ["gaussian", "categorical", "bernoulli", "poisson"])
def test_a_fitted_chain_with_missing_values_scores_as_the_sum_over_all_paths(emission):
    rng = np.random.default_rng(1)
    X = rng.poisson(1.0 + 3 * (np.arange(60) % 20 > 9)[:, None], size=(60, 2)).astype(float)
    X = np.minimum(X, 1) if emission == "bernoulli" else X
    X[rng.random(X.shape) < 0.2] = np.nan
    X[3] = np.nan
    model = HiddenMarkov(3, emission=emission, n_init=1, max_iter=5, tol=0, random_state=0)
    with pytest.warns(UserWarning, match="still changed"):
        model.fit(X)
    densities = np.ones((6, 3))
    for row, column in product(range(6), range(2)):
        value = X[row, column]
        if np.isnan(value):
            continue
        if emission == "gaussian":
            densities[row] *= norm.pdf(value, model.means_[:, column], np.sqrt(model.covariances_[:, column]))
        elif emission == "poisson":
            densities[row] *= poisson.pmf(value, model.means_[:, column])
        elif emission == "bernoulli":
            chance = model.means_[:, column]
            densities[row] *= chance if value else 1 - chance
        else:
            place = list(model.categories_[column]).index(value)
            densities[row] *= model.probabilities_[column][:, place]
    chain = Chain(model.start_probabilities_, model.transition_matrix_)
    log_likelihood, posteriors, _ = enumerated(densities, chain)
    assert model.score_samples(X[:6]).sum() == pytest.approx(log_likelihood, abs=1e-10)
    assert np.abs(model.predict_proba(X[:6]) - posteriors).max() < 1e-10
