"""
Weights for columns, before a projection
========================================

PCA mixes all columns, so many columns of noise spoil it, however clear the others are. Filters that look at one column
at a time need labels. :class:`~fewer.select.VarianceWeightSelector` needs none: it gives every column a weight, so that
the principal directions of the weighted table hold as much variance as possible. Columns that move together support
each other, and noise is left alone.

Use it before PCA, clustering or nearest neighbours, when you believe that what matters shows in *several* columns. Do
not use it when useful columns are unrelated to one another, or when noise columns are copies of each other: they would
support each other just as well. All columns are scaled to the same variance first, so it is also not for
columns whose sizes mean something.
"""

# %%
# Two clusters that show in 3 columns of 203. The other 200 have the same values, each shuffled by itself: looked at one
# by one, all columns are alike.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from fewer.datasets import make_permuted_clusters
from fewer.select import FisherWeightSelector, HaarFeatures, VarianceWeightSelector, WeightedFisher, WeightedPCA

BLUE, RED, GREEN, AMBER, GREY = "#2f7fb5", "#cf5f47", "#3d9970", "#d99a2b", "#8a8f98"

X, y, truth = make_permuted_clusters(random_state=0)
direct = VarianceWeightSelector("direct").fit(X)
iterated = VarianceWeightSelector("iterative", n_directions=2).fit(X)

figure, panels = plt.subplots(1, 2, figsize=(9, 3), sharex=True)
for panel, selector, title in zip(panels, (direct, iterated), ("direct", "iterative"), strict=True):
    colours = np.where(truth["support"], RED, GREY)
    panel.bar(np.arange(50), selector.weights_[:50], color=colours[:50], width=0.9)
    panel.set(title=f'method="{title}"', xlabel="column (the first 50 of 203)")
    panel.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("weight")
figure.tight_layout()

# %%
# The direct weights come from one eigenvector, the same in every run, and have no parameter. The iterated ones are
# sharper. They look for a local maximum, so they start from the direct ones, and not from a random place.
#
# What that does to the principal components:
plain = PCA(2).fit_transform(StandardScaler().fit_transform(X))
projections = {
    "PCA": plain,
    "direct weights, then PCA": WeightedPCA(2).fit_transform(X),
    "iterated weights, then PCA": WeightedPCA(2, selector=VarianceWeightSelector("iterative")).fit_transform(X),
}
figure, panels = plt.subplots(1, 3, figsize=(9, 3.2))
for panel, (title, points) in zip(panels, projections.items(), strict=True):
    panel.scatter(*points.T, c=np.where(y == 1, RED, BLUE), s=12)
    panel.set(title=title, xlabel="first component", xticks=[], yticks=[])
    panel.title.set_fontsize(10)
    panel.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("second component")
figure.tight_layout()

# %%
# The colours were not used. When there are labels, and more columns than rows,
# :class:`~fewer.select.FisherWeightSelector` weights the columns by how they separate the classes, and
# :class:`~fewer.select.WeightedFisher` puts weights, PCA and a discriminant analysis in a row. Everything is fitted on
# training rows only.
X, y, truth = make_permuted_clusters(n_samples=120, n_features=500, n_relevant=8, delta=0.6, random_state=0)
train, test = np.arange(120) % 2 == 0, np.arange(120) % 2 == 1
for name, selector in {"no labels": VarianceWeightSelector(), "labels": FisherWeightSelector()}.items():
    model = WeightedFisher(10, selector=selector).fit(X[train], y[train])
    print(f"weights from {name}: {model.score(X[test], y[test]):.0%} of the test rows right")

# %%
# Weights depend on the axes. Pixels of images are poor ones, because neighbours hardly differ;
# :class:`~fewer.select.HaarFeatures` turns them into wavelets, each of which looks at one place at one size. It takes
# PyWavelets (``pip install fewer[wavelets]``). These are the eight wavelets with the highest weights in the middle part of
# handwritten digits. The rim was left out before: there only one pixel of a block ever moves, its wavelets are copies of
# one another, and copies support each other.
middle = load_digits().images[:, :, 2:6].reshape(-1, 8 * 4)
haar = HaarFeatures(image_shape=(8, 4)).fit(middle)
weights = VarianceWeightSelector().fit(haar.transform(middle)).weights_
figure, panels = plt.subplots(1, 8, figsize=(9, 2.4))
for panel, column in zip(panels, np.argsort(-weights), strict=False):
    wavelet = haar.inverse_transform(np.eye(len(weights))[[column]]).reshape(8, 4)
    panel.imshow(wavelet, cmap="RdBu", vmin=-0.5, vmax=0.5)
    panel.set_title(f"{haar.get_feature_names_out()[column]}\nweight {weights[column]:.2f}", fontsize=7)
    panel.set(xticks=[], yticks=[])
figure.tight_layout()
