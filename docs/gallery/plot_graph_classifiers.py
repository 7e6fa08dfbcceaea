"""
Classifiers that are graphs
===========================

Naive Bayes takes columns to be independent within each class. Some classifiers say which columns depend on which
instead, and stay as easy to read:

- :class:`~fewer.graph.TANClassifier` finds a tree (or a few parents for each column). Its edges can describe the
  columns (``structure="cmi"``) or be chosen by how many rows they classify right (``"omi-cr"``, the default).
- :class:`~fewer.graph.BayesNetClassifier` takes edges that you know.
- :class:`~fewer.graph.ISMBClassifier` averages many graphs, searched for each row anew, and lists the columns that
  matter for *that* row.

All of them count levels: measurements are cut where that tells most about the classes, as
:class:`~fewer.extract.MDLDiscretizer` does.
"""

# %%
# An edge that describes, and one that decides
# --------------------------------------------
# Three bits that say nothing about the class one by one. The first and the third agree in one class and disagree in the
# other; both follow the second, in both classes. The tree that describes the columns spends its edges on the second
# bit, and misses what tells the classes apart.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_predict, cross_val_score

from fewer.datasets import load, make_conditional_link
from fewer.evaluate import calibration_error
from fewer.graph import BayesNetClassifier, ISMBClassifier, TANClassifier

X, y, truth = make_conditional_link(4000, random_state=0)
models = {
    "naive Bayes": TANClassifier("nb"),
    "tree that describes": TANClassifier("cmi"),
    "tree that decides": TANClassifier("omi-cr"),
    "the true edge": BayesNetClassifier([truth["edge"]]),
}
for name, model in models.items():
    edges = [f"{parent}-{child}" for parent, child in model.fit(X, y).edges_.select("from", "to").rows()]
    print(f"{name}: {cross_val_score(model, X, y).mean():.3f} right, edges {', '.join(edges) or 'none'}")

# %%
# Digits, and pixels that are lost
# --------------------------------
# Scanned digits with 64 pixels. Missing values of new rows are summed out exactly: no imputation, no extra model.
digits, labels = load_digits(return_X_y=True)
train = np.arange(len(labels)) % 5 > 0
place = np.random.default_rng(0).random(digits[~train].shape).argsort(axis=1)
n_lost = [0, 4, 8, 16, 32, 48]
figure, axes = plt.subplots(figsize=(6.4, 3.6))
for structure, colour, label in (
    ("nb", "#8a8f98", "naive Bayes"),
    ("cmi", "#d99a2b", "tree that describes"),
    ("omi-cr", "#2f7fb5", "tree that decides"),
):
    model = TANClassifier(structure, smoothing="dirichlet").fit(digits[train], labels[train])
    rates = [model.score(np.where(place < lost, np.nan, digits[~train]), labels[~train]) for lost in n_lost]
    axes.plot(n_lost, rates, "o-", color=colour, label=label)
axes.set(xlabel="pixels lost, of 64", ylabel="share of digits classified correctly")
axes.legend()
figure.tight_layout()

# %%
# The edges of the last one, over the mean of all digits: which pixels are read together.
figure, axes = plt.subplots(figsize=(3.6, 3.6))
axes.imshow(digits.mean(axis=0).reshape(8, 8), cmap="Greys", vmax=40)
for parent, child in np.argwhere(model.adjacency_):
    (top, left), (bottom, right) = divmod(parent, 8), divmod(child, 8)
    axes.annotate("", (right, bottom), (left, top), arrowprops={"arrowstyle": "->", "color": "#2f7fb5"})
axes.set(xticks=[], yticks=[])
figure.tight_layout()

# %%
# Which columns matter for one patient?
# -------------------------------------
# Tumours of the breast, described by eight measurements. ``explain`` lists which values of one row raise the
# probability of its class and which lower it, and how probable it is that each column matters at all.
tumours = load("breast_cancer")
chosen = ["mean texture", "mean concavity", "worst radius", "worst texture", "worst smoothness", "worst concave points"]
chosen += ["area error", "mean symmetry"]
table = pd.DataFrame(tumours.X, columns=tumours.columns)[chosen]
rows = np.arange(len(table)) % 3 > 0
ismb = ISMBClassifier().fit(table[rows], tumours.y[rows])
others = table[~rows].iloc[:60]
unsure = np.abs(ismb.predict_proba(others)[:, 0] - 0.8).argmin()
explanation = ismb.explain(others.iloc[[unsure]])
print(explanation)
explanation.plot()

# %%
# The graph around the class that was found for all rows.
ismb.plot()

# %%
# Are its probabilities right?
# ----------------------------
# Averaging keeps probabilities from being too sure. Predicted probabilities in groups, beside the share of rows that
# are of the class: dots on the line are right. :func:`~fewer.evaluate.calibration_error` gives their mean distance from
# it, over windows of rows.
figure, axes = plt.subplots(figsize=(4.6, 4))
axes.plot([0, 1], [0, 1], color="grey", linestyle=":")
for model, colour, label in (
    (TANClassifier("nb"), "#8a8f98", "naive Bayes"),
    (ISMBClassifier(), "#2f7fb5", "ISMBClassifier"),
):
    proba = cross_val_predict(model, table, tumours.y, cv=3, method="predict_proba")[:, 1]
    groups = np.array_split(np.argsort(proba), 12)
    positive = tumours.y == np.unique(tumours.y)[1]
    print(f"{label}: calibration error {calibration_error(positive, proba):.3f}")
    axes.plot(
        [proba[group].mean() for group in groups],
        [positive[group].mean() for group in groups],
        "o-",
        color=colour,
        label=label,
    )
axes.set(xlabel="predicted probability", ylabel="share of rows of the class")
axes.legend()
figure.tight_layout()
