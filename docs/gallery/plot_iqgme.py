"""
A classifier that takes missing values as they are
==================================================

:class:`~fewer.latent.IQGMEClassifier` is trained on rows with missing values, and predicts rows with missing values.
Nothing is imputed: rows come from a mixture of normal distributions, each with a linear classifier of its own (an
expert), and missing entries are integrated out. The number of experts is inferred.

Use it with up to some dozens of columns of numbers, a few hundred or thousand rows, and much that is missing: that is
where imputing first costs most. Values may be missing depending on what is observed, but not on the value itself. With
many rows, or columns that are far from normal, trees that take missing values are the better choice; with hundreds of
columns, impute or select first.
"""

# %%
# Local borders
# -------------
# Three groups of rows, and in each the classes are divided by another line. The number of experts is not
# given; each line below is the border of one of them, drawn where its group is.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewer.datasets import load, make_local_borders
from fewer.latent import IQGMEClassifier, IQGMEMultiTask

X, y, truth = make_local_borders(random_state=1)
model = IQGMEClassifier(random_state=0).fit(X, y)
print(f"{model.n_experts_} experts, after {model.n_iter_} iterations")

figure, axes = plt.subplots(figsize=(6.4, 3.6))
first, second = np.meshgrid(np.linspace(-6, 8, 200), np.linspace(-3.5, 3.5, 120))
grid = np.column_stack([first.ravel(), second.ravel()])
axes.contourf(first, second, model.predict_proba(grid)[:, 1].reshape(first.shape), levels=20, cmap="RdBu_r", alpha=0.4)
axes.scatter(*X.T, c=np.where(y == 1, "#cf5f47", "#2f7fb5"), s=10)
circle = np.array([np.cos(np.linspace(0, 2 * np.pi, 60)), np.sin(np.linspace(0, 2 * np.pi, 60))])
for expert in range(model.n_experts_):
    root = np.linalg.cholesky(np.linalg.inv(model.precisions_[expert]))
    axes.plot(*(model.means_[expert][:, None] + 2 * root @ circle), color="black", linewidth=1)
    along = model.means_[expert, 0] + np.array([-1.6, 1.6])
    (a, b), c = model.coef_[expert], model.intercept_[expert]
    axes.plot(along, -(a * along + c) / b, color="black", linewidth=2)
axes.set(xlim=(-6, 8), ylim=(-3.5, 3.5), xlabel="x1", ylabel="x2")
figure.tight_layout()

# %%
# How many experts?
# -----------------
# The answer has a distribution of its own.
numbers, counts = np.unique(model.sample_n_experts(1000, random_state=0), return_counts=True)
for number, count in zip(numbers, counts, strict=True):
    print(f"{number} experts: {count / 1000:.0%}")

# %%
# Against imputing first
# ----------------------
# Cell nuclei of breast tumours, 30 measurements of each; half of the rows are for training. The more entries are
# missing, the further the ways to deal with it are apart, and trees lose most. One line divides these classes well, so
# that logistic regression on values imputed from the other columns is as good. It would not be above, where each group
# has a border of its own.
cancer = load("breast_cancer")
table, malignant = np.asarray(cancer.X, dtype=float), cancer.y == np.unique(cancer.y)[1]
ways = {
    "IQGMEClassifier": (lambda: IQGMEClassifier(random_state=0), "#2f7fb5"),
    "gradient boosting": (lambda: HistGradientBoostingClassifier(random_state=0), "#3d9970"),
    "means + logistic": (lambda: make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()), "grey"),
    "iterative + logistic": (
        lambda: make_pipeline(StandardScaler(), IterativeImputer(max_iter=5, random_state=0), LogisticRegression()),
        "#d99a2b",
    ),
}
shares = [0.1, 0.3, 0.5, 0.7]
found = {name: [] for name in ways}
for share in shares:
    rng = np.random.default_rng(0)
    incomplete = np.where(rng.random(table.shape) < share, np.nan, table)
    rows = rng.permutation(len(table))
    train, new = rows[::2], rows[1::2]
    for name, (build, _) in ways.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            classifier = build().fit(incomplete[train], malignant[train])
        found[name].append(roc_auc_score(malignant[new], classifier.predict_proba(incomplete[new])[:, 1]))

figure, axes = plt.subplots(figsize=(6.4, 4))
for name, (_, colour) in ways.items():
    axes.plot(100 * np.array(shares), found[name], marker="o", color=colour, label=name)
axes.set(xlabel="percent of entries missing", ylabel="area under the ROC curve, new rows")
axes.legend(frameon=False, loc="lower left")
figure.tight_layout()

# %%
# What is missing, and how surely
# -------------------------------
# ``impute`` gives the posterior means of missing entries, and with ``return_cov=True`` their covariances. It never uses
# the class of a row. Two standard deviations should hold 95% of what was hidden.
incomplete = np.where(np.random.default_rng(1).random(table.shape) < 0.3, np.nan, table)
model = IQGMEClassifier(random_state=0).fit(incomplete[::2], malignant[::2])
completed, covariances = model.impute(incomplete[1::2], return_cov=True)
hidden = np.isnan(incomplete[1::2])
std = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))[hidden]
error = (completed - table[1::2])[hidden]
by_means = (np.nanmean(incomplete[::2], axis=0) - table[1::2])[hidden]
unit = np.broadcast_to(table.std(axis=0), hidden.shape)[hidden]
print(f"root mean squared error, in standard deviations of the column: {np.sqrt(np.mean((error / unit) ** 2)):.2f}")
print(f"of column means: {np.sqrt(np.mean((by_means / unit) ** 2)):.2f}")
print(f"{np.mean(np.abs(error) < 2 * std):.0%} of the hidden values are within two standard deviations")

# %%
# Several tasks with few rows each
# --------------------------------
# :class:`~fewer.latent.IQGMEMultiTask` fits related problems together: sites, patients, devices. Six tasks of 20 rows,
# of which the last three are mirror images of the first three. It is inferred which tasks have experts in common.
tasks = [make_local_borders(20, mirrored=task > 2, random_state=2000 + task) for task in range(6)]
X, y = np.vstack([task.X for task in tasks]), np.concatenate([task.y for task in tasks])
X = np.where(np.random.default_rng(2).random(X.shape) < 0.25, np.nan, X)
task = np.repeat(np.arange(1, 7), 20)
shared = IQGMEMultiTask(random_state=0).fit(X, y, task_labels=task)

figure, axes = plt.subplots(figsize=(4.2, 3.6))
picture = axes.imshow(shared.task_similarity_, cmap="Blues", vmin=0, vmax=1)
axes.set(xticks=range(6), yticks=range(6), xticklabels=shared.tasks_, yticklabels=shared.tasks_)
axes.set(xlabel="task", ylabel="task")
figure.colorbar(picture, label="similarity")
figure.tight_layout()
