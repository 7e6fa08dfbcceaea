"""
Hubs: rows that are everybody's neighbours
==========================================

In a table of many columns, a few rows are among the nearest neighbours of very many others, and many rows of none. Such
*hubs* mislead whatever uses neighbours: kNN, clustering, outlier scores, imputation, UMAP.
:func:`~fewer.evaluate.k_occurrences` counts, :class:`~fewer.evaluate.HubnessAnalyzer` looks for the reason,
:class:`~fewer.learn.HubnessWeightedKNeighborsClassifier` and :func:`~fewer.evaluate.secondary_distances` are cures, and
:func:`~fewer.evaluate.hubness_curve` shows whether a reduction went too far.
"""

# %%
# Hubs of a wide table
# --------------------
# 2,000 rows of 100 independent columns. Each row lists its 10 nearest rows, and so is listed 10 times on average.
import numpy as np
import plotly.graph_objects as go
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import scale

from fewer.evaluate import HubnessAnalyzer, hubness_curve, k_occurrences, secondary_distances
from fewer.learn import HubnessWeightedKNeighborsClassifier

rng = np.random.default_rng(0)
found = k_occurrences(rng.normal(size=(2000, 100)))
print(found)
print(found.reading)
found.plot()

# %%
# It is the dimension
# -------------------
# Hubs grow with the number of dimensions that the rows fill. Digits have 64 columns, but fill about 8 dimensions: with
# the columns permuted, each by itself, the table would have far stronger hubs.
digits, y = load_digits(return_X_y=True)
digits = scale(digits)
analyzer = HubnessAnalyzer(n_shuffles=3, random_state=0).fit(digits, y)
print(f"skewness {analyzer.skewness_:.2f}; with permuted columns {analyzer.shuffled_skewness_.mean():.2f}")
print(f"intrinsic dimension {analyzer.intrinsic_dim_:.1f} of {analyzer.n_features_in_} columns")
print(f"rank correlation with the distance to the mean {analyzer.centre_correlation_:.2f}")
print(analyzer.reading_)

# %%
# Have I reduced too far?
# -----------------------
# The curve stays while the intrinsic dimension is kept, and then falls.
curve = hubness_curve(PCA(random_state=0), digits, [2, 4, 8, 16, 32, 48, 64])
print(curve.reading)
curve.plot()

# %%
# Cures
# -----
# Votes of *bad* hubs, the neighbours of many rows of another class, can weigh less. And distances can be compared
# with what is usual around both rows, so that a hub is near only to rows that are near to it. Here, two classes differ
# in one of 50 columns, and 15% of the labels are wrong.
truth = np.repeat([0, 1], 300)
X = rng.normal(size=(600, 50))
X[:, 0] += 3 * truth
labels = np.where(rng.random(600) < 0.15, 1 - truth, truth)
models = {
    "plain": HubnessWeightedKNeighborsClassifier(weights="uniform"),
    "weighed by bad hubness": HubnessWeightedKNeighborsClassifier(),
    "mutual proximity": HubnessWeightedKNeighborsClassifier(weights="uniform", correction="mutual_proximity"),
    "both": HubnessWeightedKNeighborsClassifier(correction="mutual_proximity"),
}
for name, model in models.items():
    predicted = cross_val_predict(model, X, labels, cv=10)
    print(f"{name}: {np.mean(predicted == truth):.3f} of held-out rows right")

# %%
# What the corrections do to the counts:
figure = go.Figure().update_layout(xaxis_title="times listed among 10 neighbours", yaxis_title="rows", height=360)
for name, counts in {
    "Euclidean": k_occurrences(X).n_occurrences,
    "local scaling": k_occurrences(secondary_distances(X, "local_scaling"), metric="precomputed").n_occurrences,
    "mutual proximity": k_occurrences(secondary_distances(X), metric="precomputed").n_occurrences,
}.items():
    figure.add_trace(go.Scatter(y=np.bincount(np.minimum(counts, 60)), name=name, mode="lines"))
figure.update_yaxes(rangemode="tozero")
