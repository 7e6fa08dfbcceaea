"""
WAIC and leave-one-out where DIC fails
======================================

A Bayesian model with posterior draws can be judged without new rows. :func:`~fewer.evaluate.waic` and
:func:`~fewer.evaluate.bayes_loo` estimate its loss on new rows from the log-likelihood of each row under each draw, and
they hold for models with latent variables, too. DIC looks at the posterior mean of the parameters, which means nothing
when components can change places. They take arrays, ArviZ's InferenceData and xarray's DataTree.
"""

# %%
# A mixture of two normal distributions
# -------------------------------------
# 200 rows from two components, and a Gibbs sampler for any number of them.
import numpy as np
import plotly.graph_objects as go
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

from fewer.evaluate import (
    bayes_loo,
    compare_models,
    dic,
    exact_loo,
    free_energy,
    functional_cumulants,
    metropolis_draws,
    singular_diagnostics,
    waic,
)
from fewer.latent import LatentClass

rng = np.random.default_rng(1)
x = np.r_[rng.normal(-2, 0.7, size=100), rng.normal(2, 0.7, size=100)]


def log_density(x, weights, means, variances):
    return logsumexp(np.log(weights) + norm.logpdf(x[:, None], means, np.sqrt(variances)), axis=1)


def gibbs(x, n_components, n_burn_in=300, n_draws=700):
    means, variances, weights = rng.choice(x, n_components), np.full(n_components, x.var()), np.ones(n_components)
    parameters = []
    for step in range(n_burn_in + n_draws):
        parts = np.log(weights) + norm.logpdf(x[:, None], means, np.sqrt(variances))
        shares = np.cumsum(np.exp(parts - logsumexp(parts, axis=1)[:, None]), axis=1)
        labels = np.minimum((rng.random(len(x))[:, None] > shares).sum(axis=1), n_components - 1)
        counts, sums = np.bincount(labels, minlength=n_components), np.bincount(labels, x, minlength=n_components)
        weights = rng.dirichlet(1 + counts)
        precision = counts / variances + 1 / (4 * x.var())
        means = rng.normal((sums / variances + x.mean() / (4 * x.var())) / precision, 1 / np.sqrt(precision))
        squares = np.bincount(labels, (x - means[labels]) ** 2, minlength=n_components)
        variances = (0.5 * x.var() + squares / 2) / rng.gamma(2 + counts / 2)
        if step >= n_burn_in:
            parameters.append([weights, means, variances])
    return np.array(parameters)


numbers = range(1, 6)
draws = {number: gibbs(x, number) for number in numbers}
log_lik = {number: np.array([log_density(x, *each) for each in draws[number]]) for number in numbers}

# %%
# WAIC and leave-one-out agree, and find two components. DIC reports a far too small loss for larger numbers, and would
# take one of these.
curves = {
    "WAIC": [waic(log_lik[number]).loss for number in numbers],
    "leave-one-out": [bayes_loo(log_lik[number]).loss for number in numbers],
    "DIC at the posterior mean": [
        dic(log_lik[number], log_density(x, *draws[number].mean(axis=0)), method="mean").loss for number in numbers
    ],
}
figure = go.Figure().update_layout(xaxis_title="components", yaxis_title="estimated loss for each row", height=400)
for (name, losses), dash in zip(curves.items(), ("solid", "dot", "dash"), strict=True):
    figure.add_trace(go.Scatter(x=list(numbers), y=losses, name=name, line={"dash": dash, "width": 3}))
figure.update_xaxes(dtick=1)

# %%
# With standard errors of the differences, three components are as good as two:
comparison = compare_models({f"components: {number}": log_lik[number] for number in numbers})
print(comparison)
print(comparison.reading)
comparison.plot()

# %%
# Models of fewer
# ---------------
# Latent models with posterior draws have ``log_lik``: :class:`~fewer.latent.LatentClass`,
# :class:`~fewer.latent.LatentProfile`, :class:`~fewer.latent.FactorAnalysis` and
# :class:`~fewer.latent.HiddenMarkov` (of whole sequences) with ``solver="gibbs"`` or ``"variational_bayes"``,
# :class:`~fewer.latent.VBGaussianMixture`, and :class:`~fewer.latent.IQGMEClassifier` with ``solver="gibbs"``. How many
# classes of answers to eight questions are there?
classes = rng.integers(3, size=300)
answers = (rng.random((300, 8)) < rng.uniform(0.05, 0.95, size=(3, 8))[classes]).astype(int)
settings = {"solver": "gibbs", "n_draws": 300, "n_burn_in": 100, "random_state": 0}
found = compare_models(
    {f"classes: {number}": LatentClass(number, **settings).fit(answers).log_lik(answers) for number in (1, 2, 3, 4)}
)
print(found)

# %%
# Evidence
# --------
# The log evidence asks another question: how likely the rows were before any of them was seen. It comes from draws at
# several temperatures, from the prior to the posterior, by :func:`~fewer.evaluate.metropolis_draws` or a sampler of
# your own; :func:`~fewer.evaluate.free_energy` integrates over them. Here, the mean of the first component:
part = x[:100]
at_temperatures = {
    beta: metropolis_draws(
        lambda w: norm.logpdf(part, w, 0.7),
        lambda w: norm.logpdf(w[:, 0], 0, 10),
        np.full((8, 1), part.mean()),
        step_size=2.4 / np.sqrt(1 / 100 + beta * len(part) / 0.49),
        beta=beta,
        n_draws=250,
        n_burn_in=100,
        thin=4,
        random_state=0,
    ).log_lik
    for beta in np.linspace(0, 1, 30) ** 5
}
energy = free_energy(at_temperatures)
exact = multivariate_normal(np.zeros(100), 0.49 * np.eye(100) + 100).logpdf(part)
print(energy)
print(f"exact log evidence {exact:.2f}")

# %%
# How far to trust it
# -------------------
# The fluctuation is half the effective number of parameters. A mixture of four components has 11 parameters; on rows of
# two it does not use them. The gap between the two criteria is what theory expects.
print(singular_diagnostics(log_lik[4], n_parameters=11).reading)
print(functional_cumulants(log_lik[2]).reading)

# %%
# A row far out cannot be left out by weighing draws. Its Pareto shape shows this, and :func:`~fewer.evaluate.exact_loo`
# fits the model again without it.
x = np.append(x, 6.8)
spoilt = gibbs(x, 2)
found = bayes_loo(np.array([log_density(x, *each) for each in spoilt]))
print(found.reading)


def log_lik_of(train, test):
    return np.array([log_density(x[test], *each) for each in gibbs(x[train], 2)])


again = exact_loo(log_lik_of, len(x), rows=[200])
print(f"loss of the last row: {found.pointwise[200]:.1f} by weights, {again.pointwise[0]:.1f} by a new fit")
found.plot()
