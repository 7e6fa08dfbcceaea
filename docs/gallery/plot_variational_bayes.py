"""
Variational Bayes: groups of unknown number, factors along curves
=================================================================

Maximum likelihood always likes one component more. Variational Bayes has priors and a bound on the evidence: components
and factors that the rows do not need vanish, and bounds of different models can be compared.

* :class:`~fewer.latent.VBGaussianMixture`: groups of rows, or a density. Use it where the number of groups is not
  known, or where groups overlap so much that EM takes thousands of iterations.
* :class:`~fewer.latent.NonlinearFactorAnalysis`: a few causes behind many columns, along curves.
* :func:`~fewer.latent.riemannian_cg`: the solver of both, for models of your own.

With fewer than some ten rows for each column of a group, a full covariance cannot be estimated: reduce the columns
first, or use :class:`~fewer.extract.HDDC`. Straight factors are found much faster by
:class:`~fewer.extract.ReconstructionPCA`.
"""

# %%
# Groups that overlap
# -------------------
# Five groups in the plane, four around one. Eight components are offered; the bound leaves those empty that are not
# needed.
import numpy as np
import plotly.graph_objects as go

from fewer.latent import DiagonalMetric, NonlinearFactorAnalysis, VBGaussianMixture, riemannian_cg

COLOURS = ("#2f7fb5", "#cf5f47", "#3d9970", "#d99a2b", "#8f6bb3", "#8a8f98")
LAYOUT = {"height": 400, "margin": {"l": 60, "r": 20, "t": 20, "b": 60}, "plot_bgcolor": "rgba(0,0,0,0)"}

rng = np.random.default_rng(1)
centres = 0.4 * np.array([[0, 0], [1, 1], [1, -1], [-1, 1], [-1, -1]])
X = centres[np.arange(1000) % 5] + np.sqrt(0.03) * rng.normal(size=(1000, 2))
model = VBGaussianMixture(8, n_init=5, random_state=0).fit(X)
print(f"{model.n_effective_components_} of 8 components have rows; their weights:", model.weights_.round(3))

labels = model.predict(X)
figure = go.Figure(layout=LAYOUT)
angles = np.linspace(0, 2 * np.pi, 60)
for k in range(model.n_effective_components_):
    own, colour = X[labels == k], COLOURS[k % len(COLOURS)]
    ring = (
        model.means_[k]
        + 2 * np.column_stack([np.cos(angles), np.sin(angles)]) @ np.linalg.cholesky(model.covariances_[k]).T
    )
    name = f"component {k}"
    figure.add_scatter(x=own[:, 0], y=own[:, 1], mode="markers", marker={"color": colour, "size": 4}, name=name)
    figure.add_scatter(x=ring[:, 0], y=ring[:, 1], mode="lines", line={"color": colour}, showlegend=False)
figure.update_yaxes(scaleanchor="x")

# %%
# Why conjugate gradients
# -----------------------
# The nearer the groups, the slower EM: it moves each row a little in every iteration. Conjugate gradients in the
# geometry of the posterior take the same steps when they take steps of length 1, but look ahead.
near = X - centres[np.arange(1000) % 5] / 2
figure = go.Figure(layout=LAYOUT)
for solver, colour in zip(("em", "rcg"), COLOURS, strict=False):
    fitted = VBGaussianMixture(8, solver=solver, max_iter=5000, random_state=0).fit(near)
    print(f"{solver}: {fitted.n_iter_} iterations, {fitted.n_eval_} evaluations, bound {fitted.lower_bound_:.2f}")
    gaps = fitted.lower_bound_ - fitted.objective_path_[:-1]
    figure.add_scatter(x=np.arange(1, len(gaps) + 1), y=gaps, mode="lines", line={"color": colour}, name=solver)
figure.update_xaxes(title="iteration", type="log")
figure.update_yaxes(title="distance from the final bound (nats)", type="log", exponentformat="power")

# %%
# A cause along a curve
# ---------------------
# Three columns follow one cause. PCA needs three components for what is one; the network needs one factor, and its
# bound is higher than that of two.
cause = rng.normal(size=200)
table = np.column_stack([cause, cause**2, np.sin(2 * cause)]) + 0.1 * rng.normal(size=(200, 3))
one = NonlinearFactorAnalysis(1, n_hidden=10, n_init=2, max_iter=150, tol=1e-3, random_state=0).fit(table)
two = NonlinearFactorAnalysis(2, n_hidden=10, n_init=2, max_iter=150, tol=1e-3, random_state=0).fit(table)
print(f"bound with one factor {one.lower_bound_:.1f}, with two {two.lower_bound_:.1f}")
print("standard deviation of the noise:", np.sqrt(one.noise_variance_).round(3), "(0.1 was drawn)")

line = one.inverse_transform(np.linspace(-2.5, 2.5, 100)[:, None])
figure = go.Figure(layout=LAYOUT)
for place, (name, colour) in enumerate(zip(("square", "sine"), COLOURS, strict=False), start=1):
    figure.add_scatter(
        x=table[:, 0], y=table[:, place], mode="markers", marker={"color": colour, "size": 4}, name=f"rows, {name}"
    )
    figure.add_scatter(x=line[:, 0], y=line[:, place], mode="lines", line={"color": colour}, name=f"fitted, {name}")
figure.update_xaxes(title="first column")
figure.update_yaxes(title="second and third column", range=[-2, 7])

# %%
# A model of your own
# -------------------
# A posterior with a ridge, ``exp(-9 (x y - 1)^2 - x^2 - y^2)``, approximated by independent normal distributions: the
# solver moves the means, and the variances follow in closed form before each step.
variances = np.ones(2)


def free_energy(mean):
    squares = mean**2 + variances
    value = 9 * (squares.prod() - 2 * mean.prod() + 1) + squares.sum() - np.log(variances).sum() / 2
    return value, 18 * (mean * squares[::-1] - mean[::-1]) + 2 * mean


def follow(mean):
    for place in range(2):
        other = 1 - place
        variances[place] = 1 / (2 * (9 * (mean[other] ** 2 + variances[other]) + 1))


found = riemannian_cg(free_energy, DiagonalMetric(lambda mean: 1 / variances), [0.5, 1.5], update=follow)
print(f"free energy {found.value:.4f} after {found.n_iter} iterations; means {found.x.round(3)}")
