"""
Partial least squares, on spectra
=================================

A spectrum is a row with hundreds of columns that go together: neighbouring wavelengths say nearly the same. Least
squares cannot be had with more columns than rows, and choosing a few wavelengths gives away what the others say.
:class:`~fewer.extract.PLSRegressor` makes a few new columns instead, each of which varies much *and* goes with the
target.

Use it where many columns are driven by a few causes, and some of these matter: spectra, sensors, prices, gene sets.
When most columns are noise of their own and a few explain all, choose columns instead; when classes are to be
separated, see :class:`~fewer.extract.PLSDiscriminant` below; when the target is a curved function,
:class:`~fewer.extract.KernelPLS`.
"""

# %%
# The table
# ---------
# 120 samples of a mixture, measured at 600 wavelengths. Seven substances have broad, overlapping bands. The target is
# the amount of the first one, whose band is weak: most of what varies has nothing to do with it. To this comes a
# baseline that drifts from sample to sample, and noise.
import numpy as np
import plotly.graph_objects as go
from scipy.signal import savgol_filter
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from fewer.evaluate import component_curve
from fewer.extract import (
    PLSSB,
    CanonicalRidge,
    KernelPLS,
    PLSCanonical,
    PLSDiscriminant,
    PLSRegressor,
    PolynomialPLSRegressor,
    plot_correlation_circle,
    plot_projection,
    pls_shrinkage,
)
from fewer.select import VIPSelector

rng = np.random.default_rng(0)
wavelengths = np.linspace(900, 1700, 600)
centres, widths = rng.uniform(900, 1700, size=7), rng.uniform(60, 200, size=7)
centres[0], widths[0] = 1190, 60
bands = np.exp(-(((wavelengths - centres[:, None]) / widths[:, None]) ** 2))
smoothing = np.exp(-(((wavelengths - wavelengths[:, None]) / 15) ** 2))
smoothing /= smoothing.sum(axis=1)


def spectra(n_samples):
    amounts = rng.gamma(4.0, 0.25, size=(n_samples, 7))
    baseline = rng.normal(size=(n_samples, 2)) @ np.array([np.ones(600), (wavelengths - 1300) / 400])
    noise = 0.3 * rng.normal(size=(n_samples, 600)) @ smoothing
    X = amounts * [0.4, *np.linspace(2, 0.3, 6)] @ bands + 0.5 * baseline + noise
    return X, amounts[:, 0]


X, y = spectra(120)
X_new, y_new = spectra(400)
figure = go.Figure().update_layout(xaxis_title="wavelength", yaxis_title="absorbance", height=340)
figure.add_traces([go.Scatter(x=wavelengths, y=row, line={"width": 1}, showlegend=False) for row in X[:25]])

# %%
# How many components
# -------------------
# Too few leave out what matters, too many learn the noise. :func:`~fewer.evaluate.component_curve` scores every number
# on rows held out, for the price of one fit in each fold, and reads the result by cross-indexing: the folds that
# choose the number are not those that score it, so that the score is not too good.
curve = component_curve(PLSRegressor(), X, y, n_components=20, cv=10, random_state=0)
print(curve)
curve.plot()

# %%
# The model, judged on new samples, beside regression on as many principal components. These look for what varies
# most, which here is anything but the first substance.
k = curve.best
model = PLSRegressor(k).fit(X, y)
for name, each in {"PLS": model, "PCA + least squares": make_pipeline(PCA(k), LinearRegression()).fit(X, y)}.items():
    print(f"{name}, {k} components: R2 on new samples {each.score(X_new, y_new):.3f}")

# %%
# How far each number of components gets on new samples:
numbers = list(range(1, 13))
path = PLSRegressor(12).fit(X, y).predict_path(X_new)
total = np.sum((y_new - y_new.mean()) ** 2)
pcr = [make_pipeline(PCA(each), LinearRegression()).fit(X, y).score(X_new, y_new) for each in numbers]
figure = go.Figure().update_layout(xaxis_title="components", yaxis_title="R2 on new samples")
figure.add_scatter(x=numbers, y=[1 - np.sum((each - y_new) ** 2) / total for each in path], mode="lines", name="PLS")
figure.add_scatter(x=numbers, y=pcr, mode="lines", name="PCA + least squares")

# %%
# So close do predictions of new samples come to the amounts:
predicted = model.predict(X_new)
error = np.sqrt(np.mean((predicted - y_new) ** 2))
title = f"root mean squared error {error:.2f}, of a standard deviation of {y_new.std():.2f}"
figure = go.Figure().update_layout(title=title, xaxis_title="amount", yaxis_title="predicted amount", height=440)
figure.add_scatter(x=y_new, y=predicted, mode="markers", marker={"opacity": 0.5}, name="new samples")
figure.add_scatter(x=[0, 3.5], y=[0, 3.5], mode="lines", line_dash="dot", name="as it should be")

# %%
# Preparation belongs into the folds
# ----------------------------------
# Spectra are often prepared first: slopes instead of heights take a baseline away, scaling makes wavelengths count
# alike. Which preparation is best, and with how many components, is one more choice that must not see the rows that
# score it. ``component_curve`` takes pipelines, and fits every step anew in each fold. Here it makes little difference:
# slopes need a component less, because the baseline is gone before, and are noisier than heights.
slopes = FunctionTransformer(savgol_filter, kw_args={"window_length": 41, "polyorder": 2, "deriv": 1})
for name, steps in {"as measured": (), "slopes": (slopes,), "scaled": (StandardScaler(),)}.items():
    prepared = component_curve(make_pipeline(*steps, PLSRegressor()), X, y, n_components=20, random_state=0)
    found = prepared.cross_index()
    print(f"{name}: R2 {found.score:.3f} with {found.size:.3g} components")

# %%
# What the model looks at
# -----------------------
# The coefficients: positive at the band of the substance, negative where others overlap it.
figure = go.Figure().update_layout(xaxis_title="wavelength", yaxis_title="coefficient")
figure.add_scatter(x=wavelengths, y=model.coef_, mode="lines", name="coefficients")
figure.add_scatter(x=wavelengths, y=bands[0] * np.abs(model.coef_).max(), name="band of the substance", line_dash="dot")

# %%
# The scores show samples, coloured by the amount; the circle shows how columns and target go with two of the scores. No
# single wavelength lies near the target: it takes many to see it.
plot_projection(model, X_new, y_new, components=(3, 4))

# %%
plot_correlation_circle(model, X, y, components=(3, 4), n_columns=600, n_names=0)

# %%
# Which wavelengths matter most is shown by their variable importance in projection (VIP), whose mean square is 1.
# :class:`~fewer.select.VIPSelector` ranks columns by it, and keeps as many as asked for. The highest values stand
# where the other substances are seen best, because these have to be taken out; the band of the substance comes after.
selector = VIPSelector(60, n_components=k).fit(X, y)
figure = go.Figure().update_layout(xaxis_title="wavelength", yaxis_title="importance", height=360)
figure.add_scatter(x=wavelengths, y=selector.scores_, mode="lines", name="all wavelengths")
chosen = selector.get_support()
figure.add_scatter(x=wavelengths[chosen], y=selector.scores_[chosen], mode="markers", name="the 60 largest")

# %%
# So importance is for looking at. To choose by it fails here: the 60 most important wavelengths leave the substance
# out. Where neighbours are nearly equal, every tenth wavelength does as well as all of them.
for name, columns in {"60 by importance": chosen, "every tenth": np.arange(600) % 10 == 0}.items():
    fewer_columns = PLSRegressor(k).fit(X[:, columns], y)
    print(f"{name}: R2 on new samples {fewer_columns.score(X_new[:, columns], y_new):.3f}")

# %%
# What it does to least squares
# -----------------------------
# Along each principal direction, least squares is multiplied by a factor: 0 or 1 with principal components, something
# between with ridge, and for PLS it may even be above 1. :func:`~fewer.extract.pls_shrinkage` draws them, and counts
# degrees of freedom: more than components, because these are chosen by the target.
few = X[:, ::75]
report = pls_shrinkage(few, y, 4)
print(report)
report.plot()

# %%
# Missing values, streams, sparse tables
# --------------------------------------
# With ``solver="nipals"`` the table may have missing values; with ``partial_fit`` it may come in blocks of rows, of
# which only sums are kept; and a sparse table stays sparse.
missing = np.where(rng.random(X.shape) < 0.05, np.nan, X)
print(f"with 5% of the entries missing: R2 {PLSRegressor(k).fit(missing, y).score(X_new, y_new):.3f}")
stream = PLSRegressor(k)
for block in np.array_split(np.arange(120), 6):
    stream.partial_fit(X[block], y[block])
print(f"in six blocks: R2 {stream.score(X_new, y_new):.3f}")

# %%
# Classes
# -------
# :class:`~fewer.extract.PLSDiscriminant` does the same for classes, and hands the new columns to any classifier. Here:
# is there much, some or little of the substance?
cuts = np.quantile(y, (1 / 3, 2 / 3))
labels, labels_new = (np.array(["little", "some", "much"])[np.digitize(each, cuts)] for each in (y, y_new))
classes = PLSDiscriminant(k).fit(X, labels)
print(f"classified correctly among new samples: {classes.score(X_new, labels_new):.0%}")
plot_projection(classes, X_new, labels_new, components=(2, 4))

# %%
# In a study
# ----------
# From a file to a report in one command: the number of components, whether a choice of wavelengths does as well, and
# the score of all that on held-out samples.
#
# .. code-block:: console
#
#    $ fewer study spectra.csv --target amount --methods PLSRegressor,VIPSelector --learners ridge

# %%
# Curves
# ------
# When the target bends, straight components need help: a polynomial of each score, which stays easy to read
# (:class:`~fewer.extract.PolynomialPLSRegressor`), or a kernel. Forty columns follow one latent variable, and the
# target rises with its square as well:
cause = rng.normal(size=600)
many = np.outer(cause, rng.normal(size=40)) + rng.normal(size=(600, 40))
bent = cause + cause**2 + 0.3 * rng.normal(size=600)
for each in (PLSRegressor(2), PolynomialPLSRegressor(2), KernelPLS(8)):
    score = each.fit(many[:300], bent[:300]).score(many[300:], bent[300:])
    print(f"{type(each).__name__}: R2 on new rows {score:.2f}")

# %%
# Two tables
# ----------
# Where no table is the target of the other, :class:`~fewer.extract.PLSCanonical` and :class:`~fewer.extract.PLSSB` show
# what they have in common by covariance, and :class:`~fewer.extract.CanonicalRidge` goes from there to correlation. Two
# instruments look at the same samples. Each has a drift of its own, which varies much and is not shared: covariance is
# fooled by it, correlation is not.
amounts = rng.gamma(4.0, 0.3, size=(150, 2))
first = amounts @ bands[[0, 3]] + 0.5 * rng.normal(size=(150, 1)) + 0.05 * rng.normal(size=(150, 600))
second = amounts @ bands[[1, 2], ::10] + 0.5 * rng.normal(size=(150, 1)) + 0.05 * rng.normal(size=(150, 60))
train, new = slice(0, 100), slice(100, 150)
for each in (PLSCanonical(2), PLSSB(2), CanonicalRidge(2, gamma_x=0.9, gamma_y=0.9)):
    each.fit(first[train], second[train])
    pairs = each.transform(first[new]), each.transform_y(second[new])
    correlations = [np.corrcoef(pairs[0][:, place], pairs[1][:, place])[0, 1] for place in range(2)]
    print(f"{type(each).__name__}: pairs of new samples correlate by {correlations[0]:.2f} and {correlations[1]:.2f}")
