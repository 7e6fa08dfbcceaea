"""
What theory can certify about your columns
==========================================

The Lasso and related methods come with guarantees, *if* the design is good enough. Whether yours is can be computed,
within limits: for small numbers of true columns a property is proved, refuted by a counterexample, or neither. The
report names which, and never calls a property satisfied only because no violation was found.

Use it before you trust *which* columns a sparse model keeps. It is for some dozens to some hundred columns; "unknown"
is a common answer, as it should be: to verify these properties is a hard problem.
"""

import numpy as np

from fewer.datasets import make_gaussian_design
from fewer.theory import (
    design_report,
    gaussian_norm_slack,
    restricted_eigenvalue,
    restricted_eigenvalue_sample_size,
    restricted_nullspace,
)

X, _, truth = make_gaussian_design(60, 20, "toeplitz", a=0.5, random_state=0)
report = design_report(X, k_grid=(1, 2, 3), random_state=0)
print(report)
report.plot()

# %%
# With fewer rows than columns less is certified. A refutation comes with its counterexample: a vector that the design
# maps to zero, with more than half of its l1 norm in few columns.
wide = make_gaussian_design(10, 24, "identity", random_state=0).X
found = restricted_nullspace(wide, k=4, random_state=0)
print(found.reading)
print("the design maps to zero:", found.worst[found.columns].round(2), "on the columns", found.columns)

# %%
# For one support the answer on basis pursuit is exact, and the bracket of the restricted eigenvalue tight.
print(restricted_nullspace(wide, [0, 1]).reading)
print(restricted_eigenvalue(X, [0, 5], a=1, random_state=0))

# %%
# The theorem behind these properties has constants too large for planning; it is about how the number of rows must
# grow. ``lasso_sample_size`` and ``support_recovery_curve`` are for planning.
print(
    "rows that the proof asks for:", f"{restricted_eigenvalue_sample_size(k=3, n_features=20, gamma=np.sqrt(1 / 3)):,}"
)
print(gaussian_norm_slack(X, truth["covariance"], random_state=0))
