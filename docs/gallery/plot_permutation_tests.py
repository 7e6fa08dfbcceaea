"""
Is it chance, and does it take interactions?
============================================

A classifier is right in 87% of cases. Could that be luck? And if it is not, does it need the columns *together*, or
would any simple rule do? :func:`~fewer.evaluate.permutation_test` answers both by running the whole procedure again on
data in which exactly that was destroyed: the labels are shuffled, or each column is shuffled inside each class.

Use the first test before you believe any result, and the second before you pay for a complicated model. Do not read the
first as "this is a good classifier": on data that somebody cared to collect it nearly always rejects.
"""

# %%
# Two tables of 150 rows. In the first, each column is informative about the class by itself. In the second, only the
# first two columns *together* do: their product is positive in one class and negative in the other.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from fewer.evaluate import interaction_test, permutation_test, permutation_verdict, randomize
from fewer.theory import label_permutation_power

rng = np.random.default_rng(0)
y = np.repeat(["healthy", "ill"], 75)
separate = rng.normal(size=(150, 3)) + np.where(y == "ill", 1.0, -1.0)[:, None] * [1, 1, 0]
together = rng.normal(size=(150, 3))
together[:, 1] = np.abs(together[:, 1]) * np.sign(together[:, 0]) * np.where(y == "ill", 1, -1)
tables = {"each column tells": separate, "only pairs tell": together}

# %%
# What each randomisation leaves of the second table: shuffled labels leave nothing, columns shuffled inside the classes
# leave every column as it was in its class, but not how the columns go with one another.
figure, panels = plt.subplots(1, 3, figsize=(9, 3.2), sharex=True, sharey=True)
versions = {
    "as it is": (together, y),
    "labels shuffled": randomize(together, y, "labels", random_state=0),
    "columns shuffled in classes": randomize(together, y, "features_within_class", random_state=0),
}
for panel, (title, (X, labels)) in zip(panels, versions.items(), strict=True):
    for label, colour in (("healthy", "#2f7fb5"), ("ill", "#cf5f47")):
        panel.scatter(*X[labels == label, :2].T, s=10, color=colour, label=label)
    panel.set_title(title, fontsize=10, loc="left")
    panel.set_xlabel("column 1")
panels[0].set_ylabel("column 2")
panels[0].legend(frameon=False, fontsize=8)
figure.tight_layout()

# %%
# Both tests for a small tree on both tables: in blue the errors on randomised data, in red the error on the data.
tree = DecisionTreeClassifier(max_depth=3, random_state=0)
figure, panels = plt.subplots(2, 2, figsize=(9, 5), sharex=True)
for row, (name, X) in enumerate(tables.items()):
    tests = [
        permutation_test(tree, X, y, null=null, cv=5, n_permutations=200, n_repeats=3, random_state=0)
        for null in ("labels", "features_within_class")
    ]
    for panel, test in zip(panels[row], tests, strict=True):
        panel.hist(test.null_errors, bins=np.arange(0, 0.72, 0.02), color="#2f7fb5", alpha=0.6)
        panel.axvline(test.observed.mean(), color="#cf5f47", linewidth=2)
        panel.set_title(f"{name}, {test.null.replace('_', ' ')}: p = {test.p_value:.3f}", fontsize=9, loc="left")
        panel.set_yticks([])
    print(f"{name}: {permutation_verdict(*tests)}")
for panel in panels[1]:
    panel.set_xlabel("cross-validated error")
figure.tight_layout()

# %%
# Which columns take part? Break the ties of one column to all others, inside the classes, and see who suffers.
for column in range(3):
    test = interaction_test(tree, together, y, group=[column], cv=5, n_permutations=100, n_repeats=3, random_state=0)
    print(f"column {column + 1}: p = {test.p_value:.2f}")

# %%
# Label permutations share their work for nearest neighbours, ridge, linear discriminants and naive Bayes: 1,000 of them
# take a moment, and the result draws itself.
test = permutation_test(GaussianNB(), separate, y, random_state=0)
print(test)
test.plot()

# %%
# Before collecting data: how likely would the first test find a classifier with 40% errors, at significance level 0.01?
for n in (50, 100, 200, 400):
    print(f"{n} rows: power {label_permutation_power(n, 0.4, significance_level=0.01):.2f}")
