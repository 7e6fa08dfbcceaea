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
from scipy.stats import norm

from fewer.evaluate import (
    bayes_loo,
    compare_models,
    dic,
    exact_loo,
    functional_cumulants,
    singular_diagnostics,
    waic,
)

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
comparison = compare_models({f"{number} components": log_lik[number] for number in numbers})
print(comparison)
print(comparison.reading)
comparison.plot()

# %%
# How far to trust it
# -------------------
# The fluctuation is half the effective number of parameters. A mixture of four components has 11 parameters; on rows of
# two it does not use them. The gap between the two criteria is what theory expects.
print(singular_diagnostics(log_lik[4], n_parameters=11).reading)
print(functional_cumulants(log_lik[2]).reading)

# %%
# A row far out cannot be left out by weighing draws. Its Pareto shape says so, and :func:`~fewer.evaluate.exact_loo`
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
