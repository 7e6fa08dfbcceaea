"""
Clusters in a few columns each
==============================

A cluster may be dense in two columns and spread like all other rows in the rest, and each cluster in columns of its
own. To k-means and mixtures, which look at all columns, there is nothing to see.
:class:`~fewer.extract.FastProjectiveClustering` looks for dense boxes instead: it takes the column with the densest
interval, goes on among the rows inside, and stops when no column has an interval any more. What it finds are rules that
can be read, and there is nothing to set: no number of clusters, no distance, no scaling.

Use it on tables with many columns of numbers where you suspect dense corners: states of a machine, habits of customers,
local descriptors of images. Do not use it when clusters lie aslant, along combinations of columns
(:class:`~fewer.extract.HDDC` sees these), or when columns have a handful of values. If clusters are round in all
columns, k-means is faster and better.
"""

# %%
# Nothing to see
# --------------
# 3,000 rows in 25 columns, in six clusters. All have the same centre; each is tight in two columns. Along the first
# principal components they look like one cloud.
import numpy as np
import plotly.graph_objects as go
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from fewer.datasets import make_subspace_clusters
from fewer.extract import FastProjectiveClustering, SubspaceDistanceFeatures, cluster_coverage, plot_projection
from fewer.learn import LPBoost, ThresholdStump

BLUE, GREY = "#2f7fb5", "#8a8f98"
X, y, truth = make_subspace_clusters(3000, n_clusters=6, random_state=0)
plot_projection(PCA(2).fit(X), X, y)

# %%
# Boxes
# -----
# The boxes come with their bounds. A cluster may be found in several pieces; the largest piece of each is shown.
model = FastProjectiveClustering().fit(X)
print(f"{model.n_clusters_} boxes")
for cluster, tight in enumerate(truth["tight"]):
    box = int(np.bincount(model.labels_[y == cluster]).argmax())
    bounds = ", ".join(f"{low:.2f} < x{column} < {high:.2f}" for column, (low, high) in model.bounds_[box].items())
    print(f"cluster {cluster}, tight in {tight.tolist()}: box {box} of {model.sizes_[box]} rows, {bounds}")

# %%
# This is the box of the largest cluster, in the two columns in which it is tight. The bounds were found one after the
# other: first the column in which rows are densest, then the other one among the rows inside.
box = int(np.bincount(model.labels_[y == 5]).argmax())
first, second = truth["tight"][5]
(left, right), (low, high) = model.bounds_[box][first], model.bounds_[box][second]
figure = go.Figure().update_layout(xaxis_title=f"x{first}", yaxis_title=f"x{second}", height=440)
for name, rows, colour in (("other rows", y != 5, GREY), ("the largest cluster", y == 5, BLUE)):
    marker = {"size": 5, "opacity": 0.6, "color": colour}
    figure.add_trace(go.Scatter(x=X[rows, first], y=X[rows, second], mode="markers", name=name, marker=marker))
figure.add_shape(type="rect", x0=left, x1=right, y0=low, y1=high, line={"color": "#cf5f47", "width": 3})
figure.update_xaxes(range=[-1.5, 1.5]).update_yaxes(range=[-1, 1])

# %%
# How well do boxes match the clusters? :func:`~fewer.extract.cluster_coverage` lets every box stand for the cluster
# that has most rows in it, and counts these rows. More pieces always cover more, so k-means is given as many.
numbers = [2, 4, 6, 10, 15, 20, 30, 40]
covered = [cluster_coverage(y, KMeans(k, n_init=3, random_state=0).fit(X).labels_) for k in numbers]
figure = go.Figure().update_layout(xaxis_title="clusters", yaxis_title="coverage", height=340)
figure.add_scatter(x=numbers, y=covered, mode="lines", line_color=GREY, name="k-means")
for name, gain, colour in (("boxes", "bic", BLUE), ("boxes, cut as in the paper", None, "#d99a2b")):
    found = FastProjectiveClustering(min_gain=gain).fit(X)
    point = {"size": 12, "color": colour}
    figure.add_trace(
        go.Scatter(
            x=[found.n_clusters_], y=[cluster_coverage(y, found.labels_)], mode="markers", marker=point, name=name
        )
    )
figure.update_yaxes(range=[0, 1])

# %%
# When to stop cutting
# --------------------
# The paper cuts as long as enough rows are left on both sides, and so cuts where the density is even, too. By default
# an interval must gain so much likelihood that chance hardly ever does (``min_gain="bic"``); ``min_gain=None`` is the
# paper's way. Here, half of the points are uniform between 0 and 1, half of them between 0.40 and 0.45.
rng = np.random.default_rng(0)
points = np.r_[rng.uniform(size=500), rng.uniform(0.4, 0.45, size=500)][:, None]
for gain in ("bic", None):
    low, high = FastProjectiveClustering(min_gain=gain, max_clusters=1).fit(points).bounds_[0][0]
    print(f"min_gain={gain!r}: {low:.3f} to {high:.3f}")

# %%
# Boxes as new columns
# --------------------
# :class:`~fewer.extract.SubspaceDistanceFeatures` makes a column of each box: the distance to its centre for rows
# inside, and something large for all others, or closeness with ``outside="exp"``. With these, a linear model separates
# classes that have the same mean.
linear = LogisticRegression(max_iter=500)
boxes = make_pipeline(SubspaceDistanceFeatures(outside="exp"), linear)
print(f"the columns themselves: {cross_val_score(linear, X, y, cv=5).mean():.0%} of held-out rows classified correctly")
print(f"closeness to boxes: {cross_val_score(boxes, X, y, cv=5).mean():.0%}")

# %%
# Objects with many parts
# -----------------------
# An image may be known by hundreds of local descriptors, a customer by purchases, a patient by visits: one table for
# each object. Pass a list of tables, and each object gets one row, with the distance of its nearest part to every box.
# Here, 120 objects have 40 parts with 10 columns each; half of them show one of two things, by three parts in a box of
# two columns.


def objects(n_objects):
    tables = rng.uniform(size=(n_objects, 40, 10))
    shows = rng.integers(2, size=n_objects)
    for table, seen, kind in zip(tables, shows, rng.integers(2, size=n_objects), strict=True):
        if seen:
            corner = table[:3, 3 * kind + 1 : 3 * kind + 3]
            corner[:] = 0.3 + 0.4 * kind + 0.03 * corner
    return list(tables), np.array(["nothing", "something"])[shows]


tables, labels = objects(120)
new_tables, new_labels = objects(300)
features = SubspaceDistanceFeatures().fit(tables)
distances = features.transform(tables)
print(f"{len(tables)} objects, {distances.shape[1]} boxes")

# %%
# :class:`~fewer.learn.LPBoost` makes a vote of thresholds on these columns, each a
# :class:`~fewer.learn.ThresholdStump`, with the largest margin that all but a share ``nu`` of the objects can have. A
# rule may also be the same for all objects, which moves the balance.
vote = LPBoost(ThresholdStump("below"), nu=0.2).fit(distances, labels)
for weight, stump in zip(vote.estimator_weights_, vote.estimators_, strict=True):
    if np.isinf(stump.threshold_):
        print(f"{weight:.2f} for {'something' if stump.threshold_ > 0 else 'nothing'} in any case")
    else:
        box = features.clustering_.bounds_[stump.feature_].items()
        where = ", ".join(f"{low:.2f} < x{column} < {high:.2f}" for column, (low, high) in box) or "anywhere"
        print(f"{weight:.2f} for something if a part is within {stump.threshold_:.2f} of the centre of {where}")
print(f"of new objects, {vote.score(features.transform(new_tables), new_labels):.0%} are classified correctly")
