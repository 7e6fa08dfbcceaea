"""
A few noisy numbers that tell most about a row
==============================================

A row is sent through a narrow channel: some coordinates along directions that may be chosen, each with noise. Which
directions tell the receiver most? For Gaussian rows the answer is PCA. :class:`~fewer.extract.VariationalInfoMax` gives
the receiver several decoders instead of one, and finds other directions where rows are far from Gaussian.

Use it for codes to reconstruct from, and where much of the variance belongs to a few rows, which PCA follows. Do not
expect it to separate groups: it keeps what tells *all* about a row, and
:func:`~fewer.extract.compare_to_pca` measures on new rows whether it kept more than PCA.
"""

# %%
# Where few rows have most of the variance
# ----------------------------------------
# Two clusters differ along the first column. One row in twenty varies wildly along the second: that is where PCA looks.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from fewer.extract import VariationalInfoMax, compare_to_pca

rng = np.random.default_rng(0)
cluster = rng.integers(2, size=600)
X = 0.3 * rng.normal(size=(600, 5))
X[:, 0] += np.where(cluster == 1, 2, -2)
X[::20, 1] += rng.normal(scale=15, size=30)
models = {
    "PCA": VariationalInfoMax(1, objective="gaussian").fit(X),
    "VariationalInfoMax": VariationalInfoMax(1, random_state=0).fit(X),
}

figure, panels = plt.subplots(1, 3, figsize=(10, 3.2))
for label, colour in enumerate(("#2f7fb5", "#cf5f47")):
    panels[0].plot(*X[cluster == label, :2].T, ".", markersize=3, color=colour)
panels[0].set(xlabel="column 0", ylabel="column 1")
for name, model, colour in zip(models, models.values(), ("#8a8f98", "#3d9970"), strict=True):
    across, along = 12 * model.components_[0, :2]
    panels[0].plot([-across, across], [-along, along], color=colour, label=name)
panels[0].legend(frameon=False, fontsize=8, loc="lower right")
for panel, (name, model) in zip(panels[1:], models.items(), strict=True):
    codes = model.transform(X)[:, 0]
    bins = np.linspace(*np.quantile(codes, [0.03, 0.97]), 40)
    for label, colour in enumerate(("#2f7fb5", "#cf5f47")):
        panel.hist(codes[cluster == label], bins=bins, color=colour, alpha=0.6)
    panel.set_title(f"code by {name}", fontsize=9, loc="left")
figure.tight_layout()

# %%
# Digits from six numbers
# -----------------------
# Images of 1, 2 and 8, with noise in the image and in the code. With ``objective="hybrid"``, the receiver also learns
# which of three decoders to use.
digits = load_digits()
chosen = np.isin(digits.target, (1, 2, 8))
images = digits.data[chosen] - digits.data[chosen].mean(axis=0)
images /= images.std()
mean = digits.data[chosen].mean(axis=0) / 6
train, test = images[::2], images[1::2]
coders = {
    "6 principal components": VariationalInfoMax(6, objective="gaussian").fit(train),
    "6 directions, 3 decoders": VariationalInfoMax(6, objective="hybrid", random_state=0).fit(train),
}
noisy = test + np.sqrt(0.5) * rng.normal(size=test.shape)
noise = rng.normal(size=(len(test), 6))
views = {"image": test, "with noise": noisy}
for name, coder in coders.items():
    decoded = coder.inverse_transform(coder.transform(noisy) + noise, coder.predict_aux(noisy))
    print(f"{name}: mean squared error {np.mean((decoded - test) ** 2):.3f}")
    views[name] = decoded

figure, panels = plt.subplots(4, 9, figsize=(9, 4.3))
for row, (name, view) in zip(panels, views.items(), strict=True):
    for panel, image in zip(row, view[5:14], strict=True):
        panel.imshow((image + mean).reshape(8, 8), cmap="Greys", vmin=0, vmax=3)
        panel.set(xticks=[], yticks=[])
    row[0].set_ylabel(name, fontsize=8, rotation=0, ha="right", va="center")
figure.tight_layout()

# %%
# What did it gain?
# -----------------
# Part of what more decoders bring they would bring to principal components as well. The comparison fits decoders of
# the same kind to each projection, and looks at rows that none has seen.
found = compare_to_pca(VariationalInfoMax(6, n_init=4, random_state=0), train, test, random_state=0)
print(found)
print(found.reading)
found.plot()
