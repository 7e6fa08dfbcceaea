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

from fewer.evaluate import HubnessAnalyzer, hub_order, hubness_curve, k_occurrences, secondary_distances
from fewer.learn import HarmonicClassifier, HubnessWeightedKNeighborsClassifier
from fewer.theory import centre_advantage

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
analyzer = HubnessAnalyzer(n_permutations=3, random_state=0).fit(digits, y)
print(f"skewness {analyzer.skewness_:.2f}; with permuted columns {analyzer.shuffled_skewness_.mean():.2f}")
print(f"intrinsic dimension {analyzer.intrinsic_dim_:.1f} of {analyzer.n_features_in_} columns")
print(f"rank correlation with the distance to the mean {analyzer.centre_correlation_:.2f}")
print(analyzer.reading_)

# %%
# Why rows near the centre? In a normal cloud a row two standard deviations nearer to it is nearer to *all* rows, the
# more so the more dimensions there are. With ``betweenness=True`` the analyzer also reports whether shortest paths
# in the graph of neighbours lead through hubs.
for n_dims in (3, 20, 100):
    cloud = HubnessAnalyzer(5, betweenness=True).fit(rng.normal(size=(500, n_dims)))
    print(
        f"{n_dims} dimensions: nearer by {centre_advantage(n_dims):.2f}, skewness {cloud.skewness_:.2f}, rank "
        f"correlation of counts and betweenness {cloud.betweenness_correlation_:.2f}"
    )

# %%
# Have I reduced too far?
# -----------------------
# The curve stays while the intrinsic dimension is kept, and then falls.
curve = hubness_curve(PCA(random_state=0), digits, [2, 4, 8, 16, 32, 48, 64])
print(curve.reading)
curve.plot()

# %%
# Which rows to label first?
# --------------------------
# Hubs are near to many rows, so their labels are worth most. :func:`~fewer.evaluate.hub_order` gives the order, and
# :class:`~fewer.learn.HarmonicClassifier` spreads a few labels along the graph of similar rows.
shares = [0.01, 0.02, 0.03, 0.05, 0.1]
figure = go.Figure().update_layout(
    xaxis_title="share of labelled rows", yaxis_title="accuracy on the others", height=360
)
for order in ("hubs", "random", "antihubs"):
    rows, right = hub_order(digits, 5, order, random_state=0), []
    for share in shares:
        partly = np.full(len(y), -1)
        labelled = rows[: int(share * len(y))]
        partly[labelled] = y[labelled]
        model = HarmonicClassifier().fit(digits, partly)
        right.append(np.mean(model.transduction_[partly == -1] == y[partly == -1]))
    figure.add_trace(go.Scatter(x=shares, y=right, name=f"{order} first" if order != "random" else "random rows"))
figure.update_yaxes(range=[0, 1]).update_xaxes(tickformat=".0%")

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
# What the corrections do to the counts; 60 stands for 60 and more:
figure = go.Figure().update_layout(xaxis_title="times listed among 10 neighbours", yaxis_title="rows", height=360)
for name, counts in {
    "Euclidean": k_occurrences(X).n_occurrences,
    "local scaling": k_occurrences(secondary_distances(X, "local_scaling"), metric="precomputed").n_occurrences,
    "mutual proximity": k_occurrences(secondary_distances(X), metric="precomputed").n_occurrences,
}.items():
    figure.add_trace(go.Scatter(y=np.bincount(np.minimum(counts, 60)), name=name, mode="lines"))
figure.update_yaxes(rangemode="tozero")
