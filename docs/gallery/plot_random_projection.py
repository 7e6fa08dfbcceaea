"""
Random directions, and a kernel as columns
==========================================

A table of 5,000 words or 20,000 genes is mostly read for the distances and angles between its rows: neighbours,
clusters and linear models see nothing else. Some hundred random directions keep them, and nothing needs to be learnt
for that. :class:`~fewer.extract.RandomProjection` knows how many directions are enough.
:class:`~fewer.extract.LandmarkFeatures` does the same in the space of a kernel, or of any similarity.

Use it as a first step where columns are very many and time or memory is short, and where rows come one by one. Do not
use it to explain anything (each new column mixes all old ones), and not where few columns carry the signal and the
others noise: it keeps both alike, while a selector or PCA drops the noise.
"""

# %%
# Distances between word counts
# -----------------------------
# 80 documents of 200 words each, some words far more frequent than others. From 5,000 columns to 400.
import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import pdist
from sklearn.datasets import make_circles
from sklearn.decomposition import PCA
from sklearn.ensemble import AdaBoostClassifier
from sklearn.random_projection import SparseRandomProjection
from sklearn.svm import SVC, LinearSVC

from fewer.extract import LandmarkFeatures, RandomProjection, distortion_dim, margin_report
from fewer.learn import RandomSeparatorClassifier

rng = np.random.default_rng(0)
shares = 1 / np.arange(1, 5001)
X = rng.multinomial(200, shares / shares.sum(), size=80).astype(float)
before = pdist(X)

figure, panels = plt.subplots(1, 3, figsize=(9, 3.2), sharex=True, sharey=True)
projections = {
    "method='sign'": RandomProjection(400, method="sign", random_state=0),
    "method='sparse', 2 entries a column": RandomProjection(400, method="sparse", random_state=0),
    "scikit-learn's sparse, 6 a column": SparseRandomProjection(400, dense_output=True, random_state=0),
}
for panel, (name, projection) in zip(panels, projections.items(), strict=True):
    after = pdist(projection.fit_transform(X))
    change = np.sqrt(np.mean((after**2 / before**2 - 1) ** 2))
    panel.plot(before, after, ".", markersize=2, color="#2f7fb5", alpha=0.5)
    panel.plot([15, 30], [15, 30], color="grey", linewidth=0.8)
    panel.set_title(f"{name}\nsquared distances change by {change:.0%}", fontsize=9, loc="left")
    panel.set_xlabel("distance before")
panels[0].set_ylabel("distance after")
figure.tight_layout()

# %%
# A few entries for each column do as well as 400, if every column gets as many: "sparse" reads a table about as fast
# as it can be copied. By default there are as many directions as keep *all* distances within 10%, for sure but for one
# case in twenty; the guarantee is generous, and may well ask for more directions than there are columns.
for n_rows in (100, 10_000, 1_000_000):
    print(
        f"{n_rows:>9,} rows: {distortion_dim(n_rows):,} directions for 10%, {distortion_dim(n_rows, eps=0.3):,} for 30%"
    )

# %%
# A kernel as columns
# -------------------
# No straight line separates a ring from what it surrounds, and PCA gives straight directions only. A kernel sees the
# ring; similarity to a few rows makes it into columns, for a linear model or any other. "F1" are the similarities
# themselves, "F2" the space that the landmarks span, "F3" random directions in that.
rings, side = make_circles(600, factor=0.4, noise=0.05, random_state=0)
width = {"gamma": 2}
landmarks = LandmarkFeatures(n_landmarks=100, method="F2", kernel_params=width, random_state=0).fit(rings)
views = {"PCA": PCA().fit_transform(rings), "100 landmarks, F2, columns 1 and 4": landmarks.transform(rings)[:, [0, 3]]}

figure, panels = plt.subplots(1, 3, figsize=(10, 3.3))
for panel, (name, view) in zip(panels, views.items(), strict=False):
    for label, colour in enumerate(("#2f7fb5", "#cf5f47")):
        panel.plot(*view[side == label].T, ".", markersize=3, color=colour)
    panel.set_title(name, fontsize=9, loc="left")

sizes = np.array([2, 3, 5, 7, 10, 15, 20])
for mapping, colour in zip(("F1", "F2", "F3"), ("#3d9970", "#2f7fb5", "#d99a2b"), strict=True):
    errors = np.zeros((20, len(sizes)))
    for seed in range(20):
        rings, side = make_circles(600, factor=0.4, noise=0.05, random_state=seed)
        for place, size in enumerate(sizes):
            columns = LandmarkFeatures(
                n_landmarks=100 if mapping == "F3" else int(size),
                method=mapping,
                n_components=int(size),
                kernel_params=width,
                random_state=seed,
            ).fit(rings[:300])
            svm = SVC(kernel="linear", C=10).fit(columns.transform(rings[:300]), side[:300])
            errors[seed, place] = 1 - svm.score(columns.transform(rings[300:]), side[300:])
    panels[2].plot(sizes, errors.mean(axis=0), "o-", markersize=4, color=colour, label=mapping)
panels[2].set(xlabel="new columns", ylabel="error on new rows")
panels[2].legend(frameon=False)
panels[2].set_title("linear SVM on the new columns", fontsize=9, loc="left")
figure.tight_layout()

# %%
# Use landmarks where a kernel suits the question and rows are too many for a kernel machine, or where only a similarity
# of two objects is known. Landmarks must come from the data: ``fit`` draws them from the rows that it gets, and
# ``partial_fit`` from rows that come in blocks. Random directions ("F3") pay only where landmarks span far more than
# the margin asks for; here, they need more columns for the same.

# %%
# How many dimensions does the question have?
# -------------------------------------------
# 20,000 columns, and in each of them two classes differ by two fifths of a standard deviation. The margin of a linear
# model shows that this is a question of few dimensions, and how many random directions keep its answer.
y = np.repeat(["healthy", "ill"], 100)
genes = rng.normal(size=(200, 20_000)) + np.where(y == "ill", 0.2, -0.2)[:, None]
train, test = np.arange(200) % 2 == 0, np.arange(200) % 2 == 1
report = margin_report(LinearSVC(C=0.01).fit(genes[train], y[train]), genes[test], y[test])
print(report)
print(report.reading)
report.plot()

# %%
# The guarantee asks for more than is needed, as guarantees do. Even one random direction helps: planes
# through the origin, each taken as soon as it is a little better than chance
# (:class:`~fewer.learn.RandomSeparatorClassifier`), make a good classifier when they are boosted.
for size in (10, 50, 250):
    projection = RandomProjection(size, method="sparse", random_state=0).fit(genes[train])
    model = LinearSVC(C=0.01).fit(projection.transform(genes[train]), y[train])
    print(f"{size:>5} random directions: error {1 - model.score(projection.transform(genes[test]), y[test]):.2f}")
one = RandomSeparatorClassifier(0.1, random_state=0).fit(genes[train], y[train])
many = AdaBoostClassifier(one, n_estimators=200, random_state=0).fit(genes[train], y[train])
print(f"one random plane: error {1 - one.score(genes[test], y[test]):.2f}, 200 boosted: ", end="")
print(f"{1 - many.score(genes[test], y[test]):.2f}")
