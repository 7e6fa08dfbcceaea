"""
Hidden switches that add up
===========================

:class:`~fewer.latent.CooperativeVQ` explains rows by a few hidden switches, each of which adds a pattern of its own
when it is on: parts of a picture, faults of a machine, active pathways. A mixture would need a group for each
combination of switches; here each switch has its own pattern. Where the causes are a matter of degree, take
:class:`~fewer.latent.FactorAnalysis`.
"""

# %%
# Pictures of bars
# ----------------
# 6 x 6 pixels with noise; each of three rows and three columns of bars is on or off, which makes 64 combinations. One
# pixel in ten is missing.
import matplotlib.pyplot as plt
import numpy as np

from fewer.latent import CooperativeVQ

rng = np.random.default_rng(0)
bars = np.zeros((6, 6, 6))
for number in range(3):
    bars[number, 2 * number] = 1
    bars[3 + number, :, 2 * number + 1] = 1
states = rng.random((600, 6)) < 0.35
pictures = states @ bars.reshape(6, 36) + 0.4 * rng.normal(size=(600, 36))
pictures[rng.random(pictures.shape) < 0.1] = np.nan

model = CooperativeVQ(6, random_state=0).fit(pictures)
print(
    f"log-likelihood {model.log_likelihood_:.0f}; {model.n_best_starts_} of {len(model.objectives_)} starts reached it"
)

figure, panels = plt.subplots(2, 6, figsize=(7.2, 2.8))
for column in range(6):
    step = model.codebooks_[column, 1] - model.codebooks_[column, 0]
    panels[0, column].imshow(bars[column], cmap="gray_r", vmin=-1, vmax=1)
    panels[1, column].imshow(step.reshape(6, 6), cmap="gray_r", vmin=-1, vmax=1)
for panel in panels.flat:
    panel.set(xticks=[], yticks=[])
panels[0, 0].set_ylabel("truth")
panels[1, 0].set_ylabel("found,\nany order")
figure.tight_layout()

# %%
# Likelihood, bound and draws
# ---------------------------
# With many switches the sum over all combinations is too long. ``solver="variational_em"`` maximises a lower bound of
# the likelihood instead, which is reported apart from the likelihood; ``solver="gibbs"`` gives draws from the
# posterior, which show how sure the patterns are.
for solver in ("em", "variational_em"):
    found = CooperativeVQ(6, solver=solver, random_state=0).fit(pictures)
    print(f"{solver}: log-likelihood {found.log_likelihood_:.1f}, bound {found.lower_bound_:.1f}")
draws = CooperativeVQ(6, solver="gibbs", n_init=2, n_draws=100, n_burn_in=100, random_state=0).fit(pictures).draws_
steps = draws.codebooks[:, 0, 1] - draws.codebooks[:, 0, 0]

figure, axes = plt.subplots(figsize=(6.4, 3.4))
axes.errorbar(range(36), steps.mean(axis=0), yerr=2 * steps.std(axis=0), fmt="o", color="#2f7fb5", markersize=4)
axes.axhline(0, color="grey", linestyle=":")
axes.set(xlabel="pixel", ylabel="what the first switch adds")
figure.tight_layout()
