"""
A short list with a classifier attached: sparse linear models
==============================================================

A price on the absolute size of the coefficients makes most of them exactly zero, so that fitting and choosing are one
step. :class:`~fewer.learn.L1LinearClassifier` and :class:`~fewer.learn.L1LinearRegressor` do this for classes and for
numbers.

Use them when many columns may matter a little and few matter much, and when the model is to be read. Do not read too
much into *which* of several alike columns is kept: that is close to chance. And what was chosen on all rows cannot be
judged on the same rows: put the model into :func:`~fewer.evaluate.selection_curve` or a study.
"""

# %%
# The price decides how many. From the strongest to the weakest, in one path, each fit started from the last:
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from fewer._figures import PALETTE, line, new_figure
from fewer.learn import L1LinearClassifier, l1_path

data = load_breast_cancer(as_frame=True)
X = data.data.copy()
X[:] = scale(X)
path = l1_path(X, data.target, eps=1e-3)
path.plot(n_columns=8)

# %%
# One fit says how sure it is of its minimum: ``dual_gap_`` bounds how much lower any other coefficients could get.
model = L1LinearClassifier(C=0.1).fit(X, data.target)
print(f"{len(model.support_)} columns; within {model.dual_gap_[0]:.1e} of the minimum {model.objective_[0]:.4f}")
for column in model.support_:
    print(f"{model.coef_[0, column]:+.2f}  {X.columns[column]}")

# %%
# All solvers come to the same minimum; how fast depends on the table. ``record=True`` keeps what happened. Columns that
# go together and a weak price are hard for passes over single columns, which is why ``"auto"`` goes over to direct
# solutions there.
figure = new_figure(x="iteration", y="objective above its minimum", title="Cancer, C = 10: one minimum, six ways")
best = L1LinearClassifier(C=10, tol=1e-10, fit_intercept=False).fit(X, data.target).objective_[0]
for solver, colour in zip(("auto", "newglmnet", "tron", "owlqn", "cdn", "bbr"), PALETTE, strict=True):
    fitted = L1LinearClassifier(
        C=10, solver=solver, tol=1e-5, max_iter=3000, fit_intercept=False, record=True, random_state=0
    ).fit(X, data.target)
    gaps = [max(value - best, 1e-8) for value in fitted.history_[0].objective]
    figure.add_trace(line(solver, list(range(1, len(gaps) + 1)), gaps, colour))
figure.update_xaxes(type="log")
figure.update_yaxes(type="log")
