"""
Classes that differ in spread
=============================

LDA looks at means. Where one class lies within another, or two have the same centre but other correlations, it finds
nothing, and with two classes it never finds more than one direction.

* :class:`~fewer.extract.GaussianLRDiscriminant` weighs differences in mean and in spread by likelihood. Use it to see
  and to tell classes apart, with clearly more rows in each class than columns, or with ``shrinkage``.
* :class:`~fewer.extract.CPCDiscriminant` gives all directions at once where classes have their axes in common, and says
  so where they have not.
* :class:`~fewer.extract.SIR` (means of slices), :class:`~fewer.extract.SAVE` (their spreads) and
  :class:`~fewer.extract.PHD` (curvature) find what a numeric target depends on.

With fewer rows than columns, use a regularised LDA: covariances of single classes cannot be had from so little.
"""

# %%
# One class within another
# ------------------------
# Eight columns. In two of them the class "out of control" swings wider, or the two swing together; the widest columns
# are uninformative.
import warnings

import numpy as np
from plotly.subplots import make_subplots
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from fewer.extract import (
    PHD,
    SAVE,
    SIR,
    CPCDiscriminant,
    GaussianLRDiscriminant,
    criterion_curve,
    plot_loadings,
    plot_projection,
)

rng = np.random.default_rng(0)
y = np.repeat(["in control", "out of control"], 400)
wide = (y == "out of control")[:, None]
X = rng.normal(size=(800, 8)) * [1, 1, 1, 1, 2, 3, 2, 1]
X[:, :1] *= np.where(wide, 3.5, 1)
X[:, 1:2] = np.where(wide, 0.95 * X[:, 2:3] + 0.3 * X[:, 1:2], X[:, 1:2])
X = X @ (np.eye(8) + 0.2 * rng.normal(size=(8, 8)))
plot_projection(PCA(2).fit(X), X, y)

# %%
# PCA follows the widest columns. LDA (here as SIR on classes) has one direction, and nothing to see along it:
plot_projection(SIR(1).fit(X, y), X, y)

# %%
# The likelihood ratio sees both differences.
model = GaussianLRDiscriminant(random_state=0).fit(X, y)
print("likelihood ratio of the directions:", model.scores_.round(2))
plot_projection(model, X, y)

# %%
# Which columns the directions go with:
plot_loadings(model, X, n_components=2, n_columns=8)

# %%
# How much of each kind of difference?
# ------------------------------------
# SAVE sees spreads as well, but gives them too much weight: here the means, along the first column, separate the
# classes with 16% errors, the spreads along the second with 30%. The curves show the value of each direction.
labels = np.repeat([0, 1], 2000)
plane = rng.normal(size=(4000, 2)) * np.where(labels[:, None] == 0, np.sqrt([0.5, 0.3]), np.sqrt([0.5, 1.7]))
plane[:, 0] += np.where(labels == 0, -1, 1) * np.sqrt(0.5)
curves = [criterion_curve(plane, labels, criterion) for criterion in ("lr", "save")]
for curve in curves:
    print(curve)
figure = make_subplots(rows=1, cols=2, subplot_titles=["the classes", "what each direction is worth"])
for trace in plot_projection(GaussianLRDiscriminant(random_state=0).fit(plane, labels), plane, labels).data:
    figure.add_trace(trace, row=1, col=1)
for curve in curves:
    figure.add_trace(curve.plot().data[0], row=1, col=2)
figure.update_layout(height=420)
figure.update_xaxes(title_text="direction (degrees)", tickvals=[0, 90, 180, 270, 360], col=2)
figure.update_yaxes(rangemode="tozero", col=2)

# %%
# When means are enough
# ---------------------
# Then LDA is the better choice: there is less to estimate. QDA along the directions is judged by rows that these have
# not seen.
tumours, diagnosis = load_breast_cancer(return_X_y=True)
tumours = PCA(15).fit_transform(tumours)
for name, table, classes in (("one class within another", X, y), ("tumours", tumours, diagnosis)):
    for extractor in (SIR(1), SAVE(2), GaussianLRDiscriminant(2, random_state=0)):
        pipeline = make_pipeline(extractor, QuadraticDiscriminantAnalysis())
        errors = 1 - cross_val_score(pipeline, table, classes, cv=10)
        print(f"{name}, {type(extractor).__name__}: {errors.mean():.1%} errors")

# %%
# Common axes
# -----------
# Two classes with one centre always have axes in common (once the table is brought to unit variances), and all
# directions are found at once. For tumours, whose means differ, that is not so, and there is a warning.
print("one class within another: p =", round(CPCDiscriminant().fit(X, y).p_value_, 2))
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    CPCDiscriminant().fit(tumours, diagnosis)
print("tumours:", said[0].message)

# %%
# A numeric target
# ----------------
# The target rises to both sides of a valley along one direction, and with a trend along another. SIR sees the trend,
# PHD the valley, SAVE both.
X = rng.normal(size=(2000, 6))
target = (X[:, 0] + X[:, 1]) ** 2 / 2 + X[:, 2] + 0.3 * rng.normal(size=2000)
for extractor in (SIR(1), PHD(1), SAVE(2)):
    directions = extractor.fit(X, target).components_
    print(type(extractor).__name__, directions.round(2).tolist())
# %%
# P-values show how many directions there are: the first hypothesis is that none matters, the next that one does, ...
print("PHD:", PHD().fit(X, target).p_values_[:4].round(3))
plot_projection(SAVE(2).fit(X, target), X, target)
