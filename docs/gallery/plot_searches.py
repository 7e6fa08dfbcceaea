"""
Which search, and for what?
===========================

Any search takes any objective. This page runs them side by side, and describes what each is for.

* :class:`~fewer.select.SequentialSearch` is the place to start: forward for few columns out of many, backward for most
  of few, floating when there is time for more.
* :class:`~fewer.select.RandomMutationSearch` when a step of these takes too long; compare several random states
  to see how stable its result is.
* :class:`~fewer.select.BranchAndBoundSearch` and :class:`~fewer.select.ExhaustiveSearch` when the best subset is
  wanted, and not just a good one; up to some 30 and some 20 columns.
* For discrete columns, :class:`~fewer.select.RandomSubsetSearch` and the filters "conflicts", "class_entropy",
  "inconsistency_rate" and "mdl", which every search takes by name.

Do not use any of them when each column is good or bad by itself: a ranking is as good, and takes no time.
"""

# %%
# Ridge regression, linear discriminants, nearest neighbours and naive Bayes are updated column by column, so that a
# whole path takes moments. The scores of the path are optimistic: the same rows chose the columns.
import time

import matplotlib.pyplot as plt
import numpy as np

from fewer.datasets import load
from fewer.select import (
    BranchAndBoundSearch,
    DiscriminantObjective,
    ExhaustiveSearch,
    MahalanobisObjective,
    NaiveBayesObjective,
    NearestNeighbourObjective,
    RandomMutationSearch,
    RandomSubsetSearch,
    RidgeObjective,
    SequentialSearch,
)

sonar = load("sonar")
X = (sonar.X - sonar.X.mean(axis=0)) / sonar.X.std(axis=0)
objectives = {
    "nearest neighbour": NearestNeighbourObjective(cv="loo"),
    "ridge": RidgeObjective(cv="loo"),
    "discriminant": DiscriminantObjective(cv="loo"),
    "naive Bayes": NaiveBayesObjective(cv=10),
}
figure, axes = plt.subplots(figsize=(7, 4))
for (name, objective), colour in zip(objectives.items(), ["#2f7fb5", "#cf5f47", "#3d9970", "#d99a2b"], strict=True):
    began = time.perf_counter()
    path = SequentialSearch(objective, n_features_to_select=30).fit(X, sonar.y).path_scores_
    print(f"{name}: 30 of 60 columns in {time.perf_counter() - began:.2f} s")
    axes.plot(list(path), list(path.values()), label=name, color=colour)
axes.set(xlabel="columns", ylabel="accuracy, as the search sees it")
axes.legend(frameon=False, loc="lower center", ncols=2)
axes.spines[["top", "right"]].set_visible(False)
figure.tight_layout()

# %%
# The same objective with different searches. Those that go back score more subsets, and find better ones; so may a
# random walk, which needs more steps to do it.
objective = DiscriminantObjective(cv="loo")
searches = {
    direction: SequentialSearch(objective, direction=direction, n_features_to_select=12)
    for direction in ("forward", "floating", "forward_stepwise", "plus_minus", "backward")
}
searches["random mutation"] = RandomMutationSearch(objective, max_features=12, n_iter=1500, random_state=0)
for name, search in searches.items():
    search.fit(X, sonar.y)
    size = search.n_features_to_select_
    print(f"{name:17} {search.path_scores_[size]:.3f} with {size:2} columns, {search.n_evaluations_:5} subsets scored")

# %%
# The distance between classes never falls when a column is added. So branch and bound can skip all subsets of a set
# that is no better than the best subset known already, and still finds the best of all.
wine = load("wine")
everything = ExhaustiveSearch(MahalanobisObjective(), n_features_to_select=7).fit(wine.X, wine.y)
bounded = BranchAndBoundSearch(MahalanobisObjective(), n_features_to_select=7).fit(wine.X, wine.y)
print(f"the same subset: {everything.subset_path_ == bounded.subset_path_}")
print(f"sets scored: {everything.n_evaluations_} and {bounded.n_evaluations_}")

# %%
# Two bits whose exclusive or is the class, among ten of noise. Neither is informative by itself, so a search that adds
# one column at a time cannot find them. A search over pairs does, and so do random subsets.
rng = np.random.default_rng(0)
bits = rng.integers(0, 2, size=(200, 12))
parity = bits[:, 3] ^ bits[:, 8]
for title, search in {
    "forward, class entropy": SequentialSearch("class_entropy", target_score=0.0),
    "all subsets, smallest first (FOCUS)": ExhaustiveSearch("conflicts", target_score=0.0),
    "random subsets (LVF)": RandomSubsetSearch("inconsistency_rate", target_score=0.0, random_state=0),
}.items():
    print(f"{title}: columns {search.fit(bits, parity).get_support(indices=True)}")

# %%
# A long search can be interrupted: give it a checkpoint file, and fit it again to continue.
#
# .. code-block:: python
#
#     SequentialSearch(estimator, direction="floating", checkpoint="search.jsonl").fit(X, y)
