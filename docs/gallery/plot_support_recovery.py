"""
How many rows until the Lasso finds exactly the right columns
=============================================================

The Lasso always gives a sparse model, but not always the right columns. With ``p`` columns of which ``k`` matter, the
Lasso begins to find exactly these at about ``2 k log(p - k)`` rows, and nearly always does at twice as many. That holds
even when most entries of the design are zero, so measurements may be cheap: each needs to touch a few columns only.

Use this to plan a study whose point is *which* columns. It is about independent columns; correlated ones need more.
``design_report`` looks at the columns you have.
"""

import numpy as np
import plotly.graph_objects as go

from fewer.datasets import make_sparsified_gaussian
from fewer.extract import RandomProjection
from fewer.theory import irrepresentability, lasso_sample_size, lasso_support_certificate, support_recovery_curve

print("rows at the transition:", lasso_sample_size(256, 16))
figure = go.Figure().update_layout(
    title="Exact support of 16 of 256 columns",
    xaxis_title="theta: rows in units of 2 k log(p - k)",
    yaxis_title="share of draws",
)
for density in (1.0, 0.2):
    curve = support_recovery_curve(256, 16, density, n_trials=25, random_state=0)
    figure.add_scatter(x=curve.theta, y=curve.frequency, mode="lines", name=f"density {density:g}")
figure.update_yaxes(range=[-0.03, 1.03])

# %%
# Each draw is judged without solving a Lasso: where the truth is known, a small system of equations shows whether the
# Lasso has exactly the true signs, and with which margin.
X, y, truth = make_sparsified_gaussian(600, random_state=0)
certificate = lasso_support_certificate(X, truth["noise"], truth["coef"], alpha=0.3)
print(certificate)
print(certificate.reading)

# %%
# For your own columns the truth is not known. But given a support and its signs, ``irrepresentability`` measures
# how similar each other column is to it. At 1 or above, the Lasso cannot recover the support.
values = irrepresentability(X, truth["support"], np.ones(len(truth["support"])))
print(f"largest: {np.nanmax(values):.2f}, in column {np.nanargmax(values)}")

# %%
# The same kind of matrix is a random projection that touches few columns of the table for each new one, and keeps
# distances between rows.
rows = np.random.default_rng(0).normal(size=(50, 5000))
shorter = RandomProjection(1000, method="sparse_gaussian", density=0.05, random_state=0).fit_transform(rows)
ratios = np.linalg.norm(shorter, axis=1) / np.linalg.norm(rows, axis=1)
print(f"lengths change by {np.abs(ratios - 1).max():.1%} at most")
