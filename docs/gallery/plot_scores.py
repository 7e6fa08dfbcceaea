"""
What do scores of columns see?
==============================

A score measures how strongly each column by itself is associated with the target. There are many scores, because there
are many forms of association. This page compares the numeric ones on the same few relations.

:class:`~fewer.select.SelectTop` takes any of them by name or as a function, and
:func:`~fewer.select.score_agreement` shows which of them agree on your table.
"""

# %%
# Two classes, and eight columns: a shift of the mean; a shift under heavy tails, which outliers hide from means; one
# class in the middle of the other; the same mean, a larger spread; two clusters against one; two columns of which only
# the sign of the product is informative; and noise.
from functools import partial

import matplotlib.pyplot as plt
import numpy as np

from fewer.select import SelectTop, relief_score, score_agreement, score_names

rng = np.random.default_rng(0)
n_rows = 600
y = rng.integers(0, 2, n_rows)
sign = rng.choice([-1.0, 1.0], n_rows)
first = rng.choice([-1.0, 1.0], n_rows)
columns = {
    "shift": 0.8 * y + rng.normal(size=n_rows),
    "shift, heavy tails": 0.9 * y + rng.standard_t(1.2, size=n_rows),
    "in the middle": np.where(y == 1, rng.uniform(-0.7, 0.7, n_rows), sign * rng.uniform(0.2, 1.0, n_rows)),
    "spread": rng.normal(size=n_rows) * (1 + y),
    "two clusters": np.where(y == 1, 2 * sign, 0) + rng.normal(size=n_rows) * np.where(y == 1, 0.7, 2.1),
    "together a": first + 0.3 * rng.normal(size=n_rows),
    "together b": first * np.where(y == 1, 1, -1) + 0.3 * rng.normal(size=n_rows),
    "noise": rng.normal(size=n_rows),
}
X = np.column_stack(list(columns.values()))

figure, panels = plt.subplots(2, 4, figsize=(9, 3.8))
for panel, (name, column) in zip(panels.flat, columns.items(), strict=True):
    limits = np.quantile(column, [0.02, 0.98])
    for label, colour in ((0, "#2f7fb5"), (1, "#cf5f47")):
        panel.hist(column[y == label], bins=30, range=limits, density=True, alpha=0.55, color=colour)
    panel.set_title(name, fontsize=10, loc="left")
    panel.set_yticks([])
    panel.spines[["top", "right", "left"]].set_visible(False)
figure.tight_layout()

# %%
# Each score of each column, as a share of the score's best. Scores of means see shifts, and little else. Ranks and
# distribution functions are not disturbed by outliers. Mutual information sees any difference in a single column; so
# does the likelihood ratio of densities, unless outliers make its kernels too wide. Relief alone, which compares near
# rows, sees the two columns that matter only together.
names = [
    "pearson",
    "fisher",
    "welch",
    "signal_to_noise",
    "spearman",
    "kolmogorov_smirnov",
    "mutual_information",
    "knn_mutual_information",
    "likelihood_ratio",
    "relieff",
]
scores = np.stack([SelectTop(name, n_features_to_select=1, random_state=0).fit(X, y).scores_ for name in names])
shares = np.clip(scores, 0, None) / scores.max(axis=1, keepdims=True)

figure, panel = plt.subplots(figsize=(8, 4.6))
panel.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
for (row, column), share in np.ndenumerate(shares):
    panel.text(column, row, f"{share:.2f}", ha="center", va="center", color="white" if share > 0.6 else "#333333")
panel.set_xticks(range(len(columns)), list(columns), rotation=30, ha="right")
panel.set_yticks(range(len(names)), names)
panel.set_title("score, as a share of its best", fontsize=11, loc="left")
figure.tight_layout()

# %%
# As selectors: by name, or with options of its own.
for name, score in {"likelihood ratio": "likelihood_ratio", "Relief": partial(relief_score, n_neighbors=10)}.items():
    kept = SelectTop(score, n_features_to_select=3, random_state=0).fit(X, y).get_support(indices=True)
    print(f"{name}: {', '.join(list(columns)[column] for column in kept)}")

# %%
# Do they agree?
# --------------
# On a table of your own, look at the columns on which scores disagree: an outlier, two clusters, a threshold.
agreement = score_agreement(X, y, names, random_state=0)
print(agreement)
agreement.plot()

# %%
# How to choose
# -------------
# - *A first cut, or very many columns*: ``"anova"`` for classes, ``"pearson"`` for numbers. Fast on any table, dense or
#   sparse, with p-values.
# - *Outliers, or a scale that is arbitrary*: ``"spearman"`` or ``"kolmogorov_smirnov"``: only the order counts.
# - *Any relation, one column at a time*: ``"mutual_information"``, with p-values; ``"knn_mutual_information"`` where
#   bins are too coarse; ``"likelihood_ratio"`` for measurements without outliers, and classes.
# - *Counts, such as words*: ``"chi2"``, and the scores of text.
# - *Markers for each of several classes*: ``"signal_to_noise"`` or ``"welch"``, with ``SelectTop(per_class=True)``.
# - *Columns that may matter only together*: ``"relieff"``, if most columns are not noise; otherwise a search.
# - *No target*: ``"variance"`` for columns of one unit, ``"laplacian"`` for those that keep the clusters of the rows.
#
# No score of single columns notices that two columns are redundant. And any of them, on enough columns of noise, finds
# some that look good: choose inside of cross-validation, or with ``SelectTop(significance_level=...)``.
print("for classes:", ", ".join(score_names(task="classification")))
print("for numbers:", ", ".join(score_names(task="regression")))
print("with no target:", ", ".join(score_names(task="unsupervised")))
