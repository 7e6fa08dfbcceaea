"""
Which columns are relevant at all?
==================================

Some ask for the smallest set of columns that predicts well. Others, who want to understand, ask for *all* columns that
have anything to do with the target. :class:`~fewer.select.ForestRelevanceSelector` answers by one forest: it compares
the information that the splits on a column gained with what an irrelevant column would gain by chance.
:class:`~fewer.select.ShadowRelevanceSelector` lets the columns compete with shuffled copies of themselves, round after
round; it is slower, and takes numbers as target, too.

Use them to find columns that matter in any way, also those that matter only together with others. Do not use them to
find a small set: of two redundant columns, both are relevant, and both are kept.
"""

# %%
# Friedman's function as two classes: ten columns, of which the first five are relevant. The bars show how much a split
# on each column gained beyond chance. A column is kept when its p-value is below 0.05.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_selection import mutual_info_classif

from fewer.datasets import make_friedman_classes
from fewer.learn import RandomColumnForestClassifier
from fewer.select import (
    ForestRelevanceSelector,
    ShadowRelevanceSelector,
    chance_gain_bounds,
    exact_chance_gain,
    irrelevant_feature_curve,
    midpoint_chance_gain,
)

BLUE, RED, GREY = "#2f7fb5", "#cf5f47", "#8a8f98"

X, y, truth = make_friedman_classes(n_samples=600, random_state=0)
selector = ForestRelevanceSelector(n_estimators=300, random_state=0).fit(X, y)
for column, (gain, p_value) in enumerate(zip(selector.gain_diff_, selector.pvalues_, strict=True)):
    print(f"x{column + 1:<3} gains {gain:+.4f} bits more than chance, p = {p_value:.2g}")

figure, axes = plt.subplots(figsize=(7, 3.4))
axes.bar(range(1, 11), selector.gain_diff_, color=np.where(selector.get_support(), BLUE, GREY))
axes.axhline(0, color="black", linewidth=0.8)
axes.set(xlabel="column (1 to 5 are relevant)", ylabel="gain beyond chance, bits", xticks=range(1, 11))
axes.set_title("kept in blue", loc="left", fontsize=10)
axes.spines[["top", "right"]].set_visible(False)
figure.tight_layout()

# %%
# Chance depends on the node: with few rows, some cut always looks good. Rogers and Gunn take the middle of two bounds,
# for any mix of the classes. The exact value (``chance="exact"``) depends on the mix; the middle is too low for
# balanced nodes of up to a thousand rows.
sizes = np.unique(np.geomspace(4, 2000, 60).astype(int) // 2 * 2)
lower, upper = chance_gain_bounds(sizes)
figure, axes = plt.subplots(figsize=(7, 3.8))
axes.fill_between(sizes, lower * sizes, upper * sizes, color=GREY, alpha=0.2, label="between the bounds")
axes.plot(sizes, midpoint_chance_gain(sizes) * sizes, color=GREY, label="midpoint")
axes.plot(sizes, exact_chance_gain(sizes, sizes // 2) * sizes, color=BLUE, label="exact, half and half")
axes.plot(sizes, exact_chance_gain(sizes, np.maximum(sizes // 10, 1)) * sizes, color=RED, label="exact, one in ten")
axes.set(xscale="log", xlabel="rows in the node", ylabel="gain by chance, times the rows")
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
figure.tight_layout()

# %%
# Why bother? A forest that draws one column for each split has no other way to avoid bad columns. Noise makes its trees
# larger and its error higher.
curve = irrelevant_feature_curve(X[:, :5], y, RandomColumnForestClassifier(), n_repeats=4, random_state=0)
print(curve)

# %%
# Columns that matter only together: the class is whether exactly one of the first two is above one half. By itself,
# neither is informative, and a univariate score cannot find them. Both selectors do.
rng = np.random.default_rng(0)
X = rng.uniform(size=(500, 10))
y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
single = mutual_info_classif(X, y, random_state=0)
forest = ForestRelevanceSelector(significance_level=0.001, random_state=0).fit(X, y)
shadow = ShadowRelevanceSelector(max_depth=None, random_state=0).fit(X, y)
print("mutual information of single columns:", single.round(3))
print("kept by the forest's test:", np.flatnonzero(forest.get_support()) + 1)
print("kept by the contest with shadows:", np.flatnonzero(shadow.get_support()) + 1)

# %%
# Many columns, few of them relevant: weights count large nodes more, and make the test much more powerful. They need
# the exact chance level. P-values are conditional on the table, since all trees share its rows, so correct for the
# number of columns, and look at the size of the effect as well.
X, y, truth = make_friedman_classes(n_samples=600, n_features=200, random_state=0)
for options in ({}, {"weight": "n_samples", "chance": "exact"}):
    test = ForestRelevanceSelector(500, correction="bonferroni", refit=False, random_state=0, **options).fit(X, y)
    kept = test.get_support()
    print(f"{options or 'plain'}: {kept[:5].sum()} of 5 relevant and {kept[5:].sum()} of 195 irrelevant columns kept")
