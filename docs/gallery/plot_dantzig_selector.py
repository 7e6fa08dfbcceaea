"""
The Dantzig selector: a penalty from theory
===========================================

Cross-validation finds the penalty that predicts best, which keeps too many columns. The Dantzig selector comes with a
penalty that theory fixes: the largest product with a column that noise alone is likely to show. Columns
that remain are unlikely to be noise, and there are bounds on the error of the coefficients.

Use it when *which* columns matters more than the prediction, and the columns are not too strongly correlated. The
Lasso (``L1LinearRegressor``) can take its penalty from theory too: ``penalty_level(..., xi=3)``.
"""

import numpy as np

from fewer.learn import BasisPursuit, DantzigSelector, L1LinearRegressor, dantzig_path, penalty_level
from fewer.theory import lq_error_bound, selection_certificate

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 30))
beta = np.zeros(30)
beta[:3] = 3.0, -2.0, 2.0
y = X @ beta + 0.5 * rng.normal(size=150)
path = dantzig_path(X, y, eps=0.02)
path.plot()

# %%
# The noise is estimated, unless you know it. The penalty shrinks; ``refit=True`` fits the columns found again.
model = DantzigSelector().fit(X, y)
refitted = DantzigSelector(refit=True, threshold=0.3).fit(X, y)
print(f"noise {model.sigma_:.2f}, penalty {model.alpha_:.3f}, columns {model.support_.tolist()}")
print("shrunken:", model.coef_[:3].round(2), "fitted again:", refitted.coef_[:3].round(2))

# %%
# How large can the error be? Given the true columns, the design bounds it, and gives a threshold that finds exactly
# these columns. The columns of a data frame can be given by name.
bound = lq_error_bound(X, [0, 1, 2], model.alpha_, q=np.inf)
print(bound)
print(bound.reading)
print(selection_certificate(X, [0, 1, 2], model.alpha_, b_min=2.0).reading)

# %%
# The Lasso at the level that theory gives it, and, for targets without noise, basis pursuit.
lasso = L1LinearRegressor(alpha=penalty_level("universal", 150, 30, model.sigma_, xi=3)).fit(X, y)
print("Lasso:", lasso.support_.tolist())
few_rows = rng.normal(size=(40, 100))
exact = BasisPursuit().fit(few_rows, few_rows[:, :5] @ np.arange(1.0, 6.0))
print("basis pursuit:", exact.coef_[:6].round(6))
