"""
Binary images behind noise
==========================

:class:`~fewer.latent.HiddenIsing` restores images of two kinds of pixels whose neighbours are mostly alike: masks, maps
of presence, scans, or signals that switch between two levels. It estimates how strongly neighbours go together, and
fills missing pixels in from their neighbours. For a signal in time with more than two levels, take
:class:`~fewer.latent.HiddenMarkov`.
"""

# %%
# A noisy shape with lost pixels
# ------------------------------
# One in six pixels is on the wrong side of the threshold, and a tenth of them is lost.
import matplotlib.pyplot as plt
import numpy as np

from fewer.latent import HiddenIsing

rows, columns = np.mgrid[-1:1:80j, -1:1:80j]
ring = np.abs(np.hypot(rows, columns) - 0.6) < 0.18
truth = np.where(ring | ((np.abs(rows) < 0.1) & (columns < 0.8)), 1, -1)
rng = np.random.default_rng(0)
noisy = truth + rng.normal(size=truth.shape)
noisy[rng.random(truth.shape) < 0.1] = np.nan

restored = {}
for solver in ("mean_field", "icm", "gibbs"):
    model = HiddenIsing(truth.shape, solver=solver, random_state=0).fit(noisy.reshape(1, -1))
    restored[solver] = model.restore(noisy)
print(f"coupling {model.eta_:.2f}, means {model.means_.round(2)}, noise variance {model.noise_variance_:.2f}")

threshold = np.where(noisy > 0, 1, -1)
panels = {"noisy (blue: lost)": noisy, "threshold": threshold, **restored, "truth": truth}
figure, axes = plt.subplots(2, 3, figsize=(7.2, 5.8))
for panel, (title, picture) in zip(axes.flat, panels.items(), strict=True):
    panel.set_facecolor("#2f7fb5")
    panel.imshow(picture, cmap="gray", vmin=-2, vmax=2)
    wrong = "" if title.startswith("noisy") else f"\n{np.mean(picture != truth):.1%} wrong"
    panel.set(xticks=[], yticks=[], title=title + wrong)
figure.tight_layout()

# %%
# More noise
# ----------
# The more noise, the more the neighbours help. Conditional modes (ICM) are the fastest, and end in worse optima than
# mean field where there is much noise; draws from the posterior ("gibbs") are exact up to the sampling error.
levels = [0.5, 0.7, 0.9, 1.1, 1.3]
wrong = {name: [] for name in ("threshold", "mean_field", "icm", "gibbs")}
for level in levels:
    image = truth + level * rng.normal(size=truth.shape)
    wrong["threshold"].append(np.mean(np.where(image > 0, 1, -1) != truth))
    for solver in restored:
        model = HiddenIsing(truth.shape, solver=solver, random_state=0).fit(image.reshape(1, -1))
        wrong[solver].append(np.mean(model.restore(image) != truth))

figure, axes = plt.subplots(figsize=(6.4, 4))
colours = {"threshold": "grey", "mean_field": "#2f7fb5", "icm": "#d99a2b", "gibbs": "#3d9970"}
for name, values in wrong.items():
    axes.plot(levels, 100 * np.array(values), marker="o", color=colours[name], label=name)
axes.set(
    xlabel="standard deviation of the noise (levels are -1 and 1)", ylabel="percent of pixels wrong", ylim=(0, None)
)
axes.legend(frameon=False)
figure.tight_layout()
