"""
One pass, truly sparse: online learning by dual averaging
==========================================================

Rows that come as a stream, or are too many to hold, are seen once and not stored. Gradient descent with an l1 penalty
does not give a sparse model there: each row moves nearly all weights away from zero, and the shrinkage of one step is
too small to bring them back. :class:`~fewer.learn.RDAClassifier` and :class:`~fewer.learn.RDARegressor` compare the
*average* of all gradients with the penalty instead. Where that average is small, the weight is exactly zero, after
every step.

Use them for streams and for very many sparse rows. Where all rows fit into memory,
:class:`~fewer.learn.L1LinearClassifier` finds the exact minimum. Scale the columns first: they share one penalty.
"""

# %%
# Of 200 columns, 10 matter. Beside dual averaging, descent that shrinks the weights after each row by the same penalty
# (FOBOS), and the exact minimum for all rows:
import numpy as np
import plotly.graph_objects as go
from scipy.special import expit

from fewer.learn import L1LinearClassifier, RDAClassifier
from fewer.theory import regret_curve

rng = np.random.default_rng(0)
truth = np.zeros(200)
truth[:10] = [1, -1] * 5
X = rng.normal(size=(12_000, 200))
y = np.where(rng.random(len(X)) < expit(X @ truth), 1, -1)

price, gamma = 0.03, 5.0
model = RDAClassifier(alpha=price, gamma=gamma, fit_intercept=False, shuffle=False, record=True).fit(X, y)
batch = L1LinearClassifier(C=1 / (price * len(X)), fit_intercept=False).fit(X, y)

step = np.sqrt(2 / len(X)) / gamma
weights, n_shrunk = np.zeros(200), []
for row, label in zip(X, y, strict=True):
    weights += step * label * expit(-label * (row @ weights)) * row
    weights = np.sign(weights) * np.maximum(np.abs(weights) - step * price, 0)
    n_shrunk.append(np.count_nonzero(weights))

steps, n_nonzero = zip(*model.nnz_history_, strict=True)
figure = go.Figure().update_layout(title="Ten columns matter", xaxis_title="rows", yaxis_title="nonzero weights")
figure.add_scatter(x=steps, y=n_nonzero, mode="lines", name="dual averaging")
figure.add_scatter(x=[*range(100, 12_001, 100)], y=n_shrunk[99::100], mode="lines", name="descent with shrinking")
figure.add_hline(y=len(batch.support_), line_dash="dot", annotation_text="all rows at once")
figure.update_yaxes(rangemode="tozero")

# %%
# ``gamma`` sets how slowly weights move. By default it is chosen during the fit: several run side by side, each row is
# predicted before it is learnt from, and as the rows double, the worst drops out.
chosen = RDAClassifier(alpha=price, fit_intercept=False, random_state=0).fit(X, y)
print(f"gamma {chosen.gamma_:.1f}, columns kept: {chosen.support_}")

# %%
# Learning goes on where it stopped: pieces give what all rows at once give. The state is one number for each column,
# however many rows there were.
pieces = RDAClassifier(alpha=price, gamma=gamma, fit_intercept=False)
for rows in np.array_split(np.arange(len(X)), 7):
    pieces.partial_fit(X[rows], y[rows], classes=[-1, 1])
print("the same weights:", np.array_equal(pieces.coef_, model.coef_), "- columns kept:", pieces.support_)

# %%
# The regret is the loss on the way, minus that of the best fixed weights for the rows so far. Theory bounds it; in
# practice it is far below the bound.
regret = regret_curve(model, X, y)
print(regret)
regret.plot()
