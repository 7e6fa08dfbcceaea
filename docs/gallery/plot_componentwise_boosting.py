"""
Which columns, and in which shape: component-wise boosting
===========================================================

:class:`~fewer.learn.ComponentwiseBoostingRegressor` and :class:`~fewer.learn.ComponentwiseBoostingClassifier` build a
sum of simple terms. At each step all terms are tried, and a small part of the one that helps most is added. Stopped
early, most terms were never taken: fitting, choosing columns, and choosing between a line, a curve and a jump are one
thing.

Use them when the model is to be read, when some effects may not be linear, and when more than the mean is of interest:
medians and quantiles, counts, survival times. Where many columns interact, forests predict better. And what was chosen
on all rows cannot be evaluated on the same rows: put the model into a study, or look at the share of resamples that
take each term.
"""

# %%
# Twenty columns, of which three matter: one as a wave, one as a parabola, one as a line. Each column competes as a
# line and as the smooth deviation from it. All have one degree of freedom, so that none is taken for its flexibility.
import numpy as np
import pandas as pd

from fewer.learn import (
    ComponentwiseBoostingRegressor,
    LinearLearner,
    QuantileFamily,
    SplineLearner,
    TreeLearner,
    cv_risk,
)

rng = np.random.default_rng(0)
names = ["wave", "parabola", "line", *(f"noise {number}" for number in range(1, 18))]
X = pd.DataFrame(rng.uniform(size=(200, 20)), columns=names)
y = 2 * np.sin(2 * np.pi * X["wave"]) + 3 * (2 * X["parabola"] - 1) ** 2 + 2 * X["line"] + 0.5 * rng.normal(size=200)

terms = [LinearLearner(name) for name in names] + [SplineLearner(name, df=1, penalized_only=True) for name in names]
model = ComponentwiseBoostingRegressor(terms, n_estimators=500).fit(X, y)

# %%
# How many steps? The risk on rows that a bootstrap sample missed, after each step. ``share_of_steps`` and ``inclusion``
# show how stable the choice of terms is.
curve = cv_risk(model, X, y, n_repeats=10, random_state=0)
print(curve.reading)
curve.plot()

# %%
# Cut back to this number, the model is as if it had been fitted so; it can also go on. The panels show what each term
# adds, and its share in the fall of the risk.
model.set_n_estimators(curve.best_n_estimators)
model.plot_effects(n_effects=6)

# %%
# Other questions are other families. Nine tenths of the body weights below lie under the upper curve; the jump of two
# columns together is a term, too.
size, age = rng.normal(size=400), rng.uniform(20, 80, size=400)
people = pd.DataFrame({"size": size, "age": age})
weight = 0.5 * size + ((size > 0.5) & (age > 50)) + (0.2 + 0.4 * (age > 50)) * rng.normal(size=400)
upper = ComponentwiseBoostingRegressor(
    [LinearLearner("size"), TreeLearner(("size", "age"), max_depth=2)],
    QuantileFamily(0.9),
    n_estimators=300,
    random_state=0,
).fit(people, weight)
print(f"{np.mean(weight <= upper.predict(people)):.0%} below the 90% quantile")
upper.plot_effects()
