"""
A tuned linear baseline: logistic and ridge regression along a path of penalties
================================================================================

:class:`~fewer.learn.RidgePathClassifierCV` and :class:`~fewer.learn.RidgePathRegressorCV` penalise the squared size of
the coefficients, and choose the strength of the penalty by cross-validation or leave-one-out.

Use them as the first model of any table, and as the baseline that a more elaborate model has to beat: they take wide,
long and sparse tables, keep all columns, and are fast enough to be fitted in every fold of a study. Correlated columns
share their effect, where a penalty on absolute values (:class:`~fewer.learn.L1PathClassifierCV`) keeps one of them. Do
not use them for a short list of columns: no coefficient is exactly zero.
"""

# %%
# 150 handwritten digits of 64 pixels. The paths of all folds are computed at once, each penalty started from the one
# before, and scored on the rows held out.
from sklearn.datasets import load_diabetes, load_digits
from sklearn.model_selection import cross_val_score

from fewer.learn import RidgePathClassifierCV, RidgePathRegressorCV

X, y = load_digits(return_X_y=True)
X_new, y_new, X, y = X[150:], y[150:], X[:150], y[:150]
model = RidgePathClassifierCV(Cs=25).fit(X, y)
print(f"C = {model.C_:.2g}; accuracy on new rows {model.score(X_new, y_new):.3f}")
model.plot()

# %%
# The grid is relative to the table: its strongest penalty is ten times the total variance of the columns. So the unit
# of the table does not matter, nor do offsets, which are removed inside (without making a sparse table dense). Where
# columns have different units, ``with_std=True`` divides each by its standard deviation, in each fold by that of the
# rows that it learns from.
again = RidgePathClassifierCV(Cs=25).fit(1e6 * X + 1e9, y)
print(f"the same predictions in another unit: {(again.predict(1e6 * X_new + 1e9) == model.predict(X_new)).all()}")

# %%
# Any ``scoring`` and any ``cv`` choose the penalty; ``groups`` go to ``fit``; rare classes get their weight by
# ``class_weight="balanced"``. The score of the best penalty is not that of the model on new rows: evaluate it
# by an outer cross-validation.
balanced = RidgePathClassifierCV(scoring="balanced_accuracy", class_weight="balanced", rule="one_se")
print(f"accuracy by outer cross-validation {cross_val_score(balanced, X, y, cv=5).mean():.3f}")

# %%
# For numbers, leave-one-out has a closed form: one eigenproblem gives the errors of all n models at all penalties.
X, y = load_diabetes(return_X_y=True)
regression = RidgePathRegressorCV(rule="one_se").fit(X, y)
print(f"alpha = {regression.alpha_:.2g}, R2 {cross_val_score(regression, X, y, cv=5).mean():.3f}")
regression.plot()
