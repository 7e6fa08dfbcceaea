"""
Classes made of groups: mixture discriminant analysis
=====================================================

LDA has one mean for each class. Where a class consists of several groups, or curves, it is a mixture.

* :class:`~fewer.latent.MixtureDiscriminantAnalysis`: every class has sub-classes of its own, all with one covariance.
  The map of the sub-classes has more than one axis even for two classes.
* :class:`~fewer.latent.SharedMixtureDiscriminant`: classes share the components, and a table shows which class claims
  which. Rows without a label take part.
* :class:`~fewer.latent.AspectModelWithCovariates`: the same with counts of items in the place of a class, for a
  distribution of items of new rows.
* :class:`~fewer.learn.SeparateKMeansClassifier` and :class:`~fewer.learn.LVQClassifier`, the baselines: the nearest
  prototype decides.

With many columns and few rows the covariance cannot be estimated: reduce the columns first, or use
:class:`~fewer.extract.HDDA`.
"""

# %%
# Waves
# -----
# Each row is a mixture of two of three triangular waves, with noise: three classes that form the sides of a triangle.
# Three sub-classes for each follow the sides, where LDA has one point in the middle.
import numpy as np
import pandas as pd
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

from fewer.datasets import make_waveform
from fewer.extract import plot_projection
from fewer.latent import (
    AspectModelWithCovariates,
    MixtureDiscriminantAnalysis,
    SharedMixtureDiscriminant,
    select_n_components,
)
from fewer.learn import LVQClassifier, SeparateKMeansClassifier

X, y, _ = make_waveform(300, n_noise=0, random_state=0)
X_new, y_new, _ = make_waveform(3000, n_noise=0, random_state=1)
models = [
    LinearDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(),
    MixtureDiscriminantAnalysis(3, random_state=0),
    SharedMixtureDiscriminant(9, random_state=0),
    SeparateKMeansClassifier(3, random_state=0),
    LVQClassifier(3, random_state=0),
]
for model in models:
    print(f"{type(model).__name__}: {1 - model.fit(X, y).score(X_new, y_new):.1%} wrong")
separate, shared = models[2], models[3]
plot_projection(separate, X_new, y_new)

# %%
# Which class claims which component
# ----------------------------------
# Most of the shared components belong to one class. The mixed ones lie at the corners of the triangle, where two
# classes meet.
pd.DataFrame(shared.class_given_component_.round(2), columns=[f"class {label}" for label in shared.classes_])

# %%
# How many sub-classes? By the log-probability of the class of held-out rows:
choice = select_n_components(MixtureDiscriminantAnalysis(n_init=2, random_state=0), X, [1, 2, 3, 4, 6], y=y)
print(choice)
choice.plot()

# %%
# Few labels
# ----------
# Four groups, opposite ones of one class. Twenty labels are not enough for a curved boundary by themselves; with 480
# rows that have none, the groups are known, and labels only name them.
rng = np.random.default_rng(0)


def draw(n_rows):
    signs = rng.choice([-1, 1], size=(n_rows, 2))
    return rng.normal(size=(n_rows, 2)) + 1.5 * signs, (signs[:, 0] * signs[:, 1] > 0).astype(int)


X, y = draw(500)
X_new, y_new = draw(5000)
labelled = SharedMixtureDiscriminant(4, random_state=0).fit(X[:20], y[:20])
partly = np.where(np.arange(500) < 20, y, -1)
semi = SharedMixtureDiscriminant(4, n_init=8, semi_supervised=True, random_state=0).fit(X, partly)
print(f"20 labelled rows: {1 - labelled.score(X_new, y_new):.1%} wrong")
print(f"with 480 rows without labels: {1 - semi.score(X_new, y_new):.1%} wrong")

# %%
# What a new customer will buy
# ----------------------------
# Purchases depend on age and income. The model has aspects of both, so that a new customer, of whom nothing else is
# known, has a distribution of items.
people = pd.DataFrame({"age": rng.uniform(18, 80, 400), "income": rng.normal(50, 15, 400)})
young, rich = people["age"] < 40, people["income"] > 55
tastes = np.column_stack([1 + 5 * young, 1 + 5 * ~young, 1 + 4 * rich, 2 + 0 * rich]).astype(float)
bought = pd.DataFrame(
    rng.poisson(2 * tastes / tastes.sum(axis=1, keepdims=True) * 4), columns=["games", "garden", "wine", "bread"]
)
model = AspectModelWithCovariates(4, random_state=0).fit(people, bought)
customers = pd.DataFrame({"age": [25.0, 70.0, 70.0], "income": [30.0, 30.0, 80.0]})
pd.DataFrame(model.predict_proba(customers).round(2), columns=model.classes_, index=["young", "old", "old and rich"])
