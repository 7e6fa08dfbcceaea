"""
Which columns are best together?
================================

:class:`~fewer.select.SequentialSearch` looks for a subset of the columns, one column at a time, by an objective for the
whole subset. So it finds what :class:`~fewer.select.SelectTop`, a ranking of single columns, cannot: columns that are
useful only together. :class:`~fewer.select.ExhaustiveSearch` tries all subsets, when there are not too many.

Use it when the columns are not too many (with nearest neighbours, hundreds are no trouble) and the learner that will
use them is known. The scores of its path are optimistic, because the same rows chose the columns. Measure
the result by an outer cross-validation.
"""

# %%
# Five classes in four columns. The first column separates all classes but the last two. The fourth separates only these
# two, and is the worst of all by itself.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier

from fewer.datasets import load, make_five_classes
from fewer.select import ExhaustiveSearch, SelectTop, SequentialSearch

X, y, truth = make_five_classes(random_state=0)
learner = LinearDiscriminantAnalysis()
naive = SelectTop(learner, n_features_to_select=2).fit(X, y)
search = SequentialSearch(learner, n_features_to_select=2).fit(X, y)
every_pair = ExhaustiveSearch(learner, n_features_to_select=2).fit(X, y)
print("score of each column by itself:", naive.scores_.round(2))
for selector in (naive, search, every_pair):
    print(f"{type(selector).__name__}: {[f'x{column + 1}' for column in np.flatnonzero(selector.get_support())]}")

figure, panels = plt.subplots(1, 2, figsize=(8, 3.6), sharey=False)
for panel, (first, second), title in zip(
    panels, [(0, 2), (0, 3)], ["two good columns: x1, x3", "the best two: x1, x4"], strict=True
):
    panel.scatter(X[:, first], X[:, second], c=y, cmap="viridis", s=10)
    panel.set(xlabel=f"x{first + 1}", ylabel=f"x{second + 1}", title=title)
    panel.spines[["top", "right"]].set_visible(False)
figure.tight_layout()

# %%
# A real table: 60 frequencies of sonar echoes, from rocks and from mines. Nearest neighbours have a closed form: the
# search adds up distances column by column, and the whole path from 1 to 60 columns takes a fraction of a second.
# ``fast_route_`` reports whether there is one for an estimator, its steps and its score, or why not. A floating search
# goes back whenever that pays, and finds better subsets of most sizes.
sonar = load("sonar")
nearest = KNeighborsClassifier(1)
paths = {
    direction: SequentialSearch(nearest, direction=direction, cv="loo").fit(sonar.X, sonar.y)
    for direction in ("forward", "backward", "floating")
}
print(paths["forward"].fast_route_)

figure, axes = plt.subplots(figsize=(7, 4))
for (direction, path), colour in zip(paths.items(), ["#8a8f98", "#d99a2b", "#2f7fb5"], strict=True):
    sizes = list(path.path_scores_)
    axes.plot(sizes, [path.path_scores_[size] for size in sizes], label=direction, color=colour)
axes.set(xlabel="columns", ylabel="leave-one-out accuracy, as the search sees it")
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
figure.tight_layout()

# %%
# How far to trust that curve? Shuffle the classes, so that there is nothing to be found, and search again. The search
# knows nothing of that, and its best subset still claims to beat chance.
shuffled = np.random.default_rng(0).permutation(sonar.y)
on_noise = SequentialSearch(nearest, cv="loo").fit(sonar.X, shuffled)
chance = np.unique(shuffled, return_counts=True)[1].max() / len(shuffled)
print(f"best score on shuffled classes: {max(on_noise.path_scores_.values()):.2f}; chance: {chance:.2f}")
