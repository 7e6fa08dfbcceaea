"""
A short list with a classifier attached: sparse linear models
==============================================================

A penalty on the absolute size of the coefficients makes most of them exactly zero, so that fitting and selecting are
one step. :class:`~fewer.learn.L1LinearClassifier` and :class:`~fewer.learn.L1LinearRegressor` do this for classes and
for numbers.

Use them when many columns may matter a little and few matter much, and when the model is to be read. Do not read too
much into *which* of several correlated columns is kept: that is close to chance. And what was chosen on all rows cannot
be evaluated on the same rows: put the model into :func:`~fewer.evaluate.selection_curve` or a study.
"""

# %%
# The penalty decides how many. From the strongest to the weakest, in one path, each fit started from the last:
import warnings

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from fewer.learn import L1LinearClassifier, L1PathClassifierCV, compare_l1_solvers, l1_path
from fewer.select import StabilitySelection

data = load_breast_cancer(as_frame=True)
X = data.data.copy()
X[:] = scale(X)
path = l1_path(X, data.target, eps=1e-3)
path.plot(n_columns=8)

# %%
# A fit reports its accuracy: ``dual_gap_`` bounds how much lower any other coefficients could get.
model = L1LinearClassifier(C=0.1).fit(X, data.target)
print(f"{len(model.support_)} columns; within {model.dual_gap_[0]:.1e} of the minimum {model.objective_[0]:.4f}")
for column in model.support_:
    print(f"{model.coef_[0, column]:+.2f}  {X.columns[column]}")

# %%
# How strong should the penalty be? :class:`~fewer.learn.L1PathClassifierCV` follows a path in each fold, and takes the
# strongest penalty whose score is within one standard error of the best (:class:`~fewer.learn.L1PathRegressorCV` for
# numbers).
chosen = L1PathClassifierCV(eps=1e-3).fit(X, data.target)
chosen.plot()

# %%
# Offsets and units. With an intercept, an offset of the columns changes nothing, however large: columns far from zero
# are centred for the solver, and sparse columns stay sparse. :class:`~fewer.learn.L1PathClassifierCV` does not depend
# on the unit of the table either, because its penalties follow the table. A fixed ``C`` or ``alpha`` does: in a unit
# that makes the numbers small, all coefficients are zero, and a warning names the unit. Columns share one penalty, so
# scale them to comparable sizes first.
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    L1LinearClassifier(C=0.1).fit(1e-6 * X, data.target)
print(caught[-1].message)
moved = L1PathClassifierCV(eps=1e-3).fit(1e-6 * X + 1, data.target)
print(abs(moved.predict_proba(1e-6 * X + 1) - chosen.predict_proba(X)).max())

# %%
# Classes of unequal size get equal weight by ``class_weight="balanced"``, rows that belong together stay in one fold by
# ``groups`` in ``fit``, and ``l1_ratio`` below 1 (the elastic net) keeps correlated columns together.
balanced = L1PathClassifierCV(eps=1e-3, class_weight="balanced", l1_ratio=0.5, scoring="balanced_accuracy")
balanced.fit(X, data.target)
print(f"{len(balanced.support_)} columns, {len(chosen.support_)} without squares in the penalty")

# %%
# Which columns enter first is a ranking, :class:`~fewer.select.SparsePathSelector`; which come back when the model sees
# other halves of the rows is a harder question, :class:`~fewer.select.StabilitySelection`. It bounds how many useless
# columns are kept on average.
stable = StabilitySelection(n_features_each=6, random_state=0).fit(X, data.target)
print(f"at most {stable.expected_false_:.1f} useless columns are expected among {stable.support_.sum()}")
stable.plot()

# %%
# All solvers come to the same minimum; how fast depends on the table. Correlated columns and a weak penalty are
# hard for passes over single columns, which is why ``"auto"`` goes over to direct solutions there.
compared = compare_l1_solvers(X, data.target, C=10, max_time=2)
print(compared)
compared.plot()
