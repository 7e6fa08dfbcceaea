"""
Do the same features come back?
===============================

A selection that changes with every handful of rows is no evidence about the features. Select on many bootstrap samples,
and :func:`~fewer.evaluate.selection_stability` measures how well the selections agree beyond chance, with an interval,
and which features come back. :func:`~fewer.evaluate.stability_difference` compares two methods, and
:func:`~fewer.evaluate.compare_methods` tests which of several is better over many data sets.
"""

# %%
# Two ways to choose about ten of the 30 columns of ``breast_cancer``, strongly correlated: by a score for each
# column, and by an L1 penalty.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from fewer.evaluate import compare_methods, selection_stability, stability_difference

table = load_breast_cancer()
X, y = StandardScaler().fit_transform(table.data), table.target
rng = np.random.default_rng(0)
by_score, by_penalty = [], []
for _ in range(40):
    rows = rng.choice(len(y), size=len(y))
    by_score.append(SelectKBest(f_classif, k=10).fit(X[rows], y[rows]).get_support())
    sparse = LogisticRegression(l1_ratio=1, C=0.15, solver="liblinear", random_state=0).fit(X[rows], y[rows])
    by_penalty.append(sparse.coef_[0] != 0)
score = selection_stability(by_score, feature_names=table.feature_names)
penalty = selection_stability(by_penalty, feature_names=table.feature_names)

# %%
# Correlated columns replace one another under the penalty, from sample to sample; a score for each column
# by itself is not disturbed by that.
figure, panels = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True)
for panel, name, found in ((panels[0], "own score", score), (panels[1], "L1 penalty", penalty)):
    panel.bar(np.arange(30), np.sort(found.frequencies)[::-1], color="#2f7fb5")
    panel.axhline(found.frequencies.mean(), color="grey", linestyle=":", label="chance")
    low, high = found.interval
    panel.set_title(f"{name}: stability {found.value:.2f} ({low:.2f} to {high:.2f})", fontsize=10, loc="left")
    panel.set_xlabel("columns, most often chosen first")
panels[0].set_ylabel("share of selections")
panels[0].legend(frameon=False)
figure.tight_layout()

# %%
print(penalty.reading)
print(stability_difference(score, penalty, paired=True))

# %%
# The same picture with the names of the columns.
penalty.plot()

# %%
# Better, over many data sets
# ---------------------------
# Mean ranks over data sets, and the distance that they must be apart. Methods joined by a bar do not differ. The scores
# here are drawn, with the true levels in ``skill``.
skill = {"all features": 0.70, "filter": 0.75, "forward": 0.74, "L1 penalty": 0.76, "random half": 0.69}
difficulty = rng.normal(0, 0.08, size=15)
scores = {name: level + difficulty + rng.normal(0, 0.02, size=15) for name, level in skill.items()}
comparison = compare_methods(scores)
print(comparison.reading)
comparison.plot()
