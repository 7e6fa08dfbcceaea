"""
Tuning over-fits, too
=====================

Choosing features and hyper-parameters is learning, and it over-fits like any learning. Three pictures: the best of many
candidates looks good on pure noise; a search that goes on too long gets worse while its criterion gets better; and the
usual shortcuts in evaluation hide both. :class:`~fewer.evaluate.NestedEvaluation` does not, and
:func:`~fewer.evaluate.protocol_audit` shows what the shortcuts would have done to your own table.
"""

# %%
# **The best of many.** Sixty rows, five columns, and labels drawn by a coin: nothing can be right more than half of the
# time. The best of 20 settings of a support vector machine seems to be. Nested evaluation runs the whole search afresh
# on each outer training set, and is not taken in.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from fewer.datasets import make_four_gaussians, make_twonorm
from fewer.evaluate import NestedEvaluation, protocol_audit
from fewer.learn import KernelRidgeClassifierLOO
from fewer.theory import RepeatedSplitCriterion, selection_overfit_curve

BLUE, RED, GREY = "#2f7fb5", "#cf5f47", "#8a8f98"
search = GridSearchCV(SVC(), {"C": 10.0 ** np.arange(-1, 4), "gamma": 10.0 ** np.arange(-3, 1)}, cv=5)
believed, honest = [], []
for seed in range(5):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 5)), rng.permutation(np.repeat(["a", "b"], 30))
    believed.append(search.fit(X, y).best_score_)
    honest.append(NestedEvaluation(search, random_state=seed).run(X, y).mean)

figure, panel = plt.subplots(figsize=(6, 2.6))
panel.axvline(0.5, color=GREY, linestyle=":")
for row, (high, low) in enumerate(zip(believed, honest, strict=True)):
    panel.plot([low, high], [row, row], color=GREY, linewidth=1)
panel.scatter(believed, range(5), color=RED, label="best score of the grid", zorder=3)
panel.scatter(honest, range(5), color=BLUE, label="nested", zorder=3)
panel.set(xlabel="accuracy", yticks=[], xlim=(0.25, 0.75), title="five tables of pure noise")
panel.legend(frameon=False, fontsize=8, loc="center right")
figure.tight_layout()

# %%
# **Too long a search.** A kernel machine with one width for each of 20 columns, tuned on 60 rows by its leave-one-out
# error. The criterion falls to the end, for that is what the search is for; the error on new rows turns up early.
X, y, _ = make_twonorm(n_samples=60, random_state=0)
many_widths = KernelRidgeClassifierLOO(kernel="ard", solver="lbfgs", max_iter=40, early_stopping=True)
curve = selection_overfit_curve(many_widths, X, y, make_twonorm, n_repeats=6, random_state=0)
print(curve)

figure, panel = plt.subplots(figsize=(6, 3))
panel.plot(curve.criterion.mean(axis=0), color=BLUE, label="criterion: leave-one-out")
panel.plot(curve.held_out.mean(axis=0), color=RED, label="new rows")
panel.axvline(curve.turn, color=GREY, linestyle=":")
panel.set(xlabel="iteration of the search", ylabel="mean squared error")
panel.legend(frameon=False, fontsize=8)
figure.tight_layout()

# %%
# **Why.** A criterion computed on few rows has variance, and its minimum goes astray with it. The mean squared error
# over random 9:1 splits shows this best, for its variance can be set: over ten samples of the same problem, one split
# chooses all over the place, 25 splits choose much the same.
grid = {"alpha": np.exp(np.arange(-6, 6.1, 0.75)), "gamma": np.exp(np.arange(-2, 4.1, 1.0))}
surfaces = []
for seed in range(10):
    X, y, _ = make_four_gaussians(n_samples=64, random_state=seed)
    surfaces.append(RepeatedSplitCriterion(25, random_state=seed).surface(KernelRidgeClassifierLOO(), X, y, grid))

figure, panels = plt.subplots(1, 3, figsize=(9, 3), sharey=True)
for panel, n_splits in zip(panels, (1, 5, 25), strict=True):
    average = np.mean([surface.first(n_splits).mean for surface in surfaces], axis=0)
    panel.contourf(grid["alpha"], grid["gamma"], average.T, levels=12, cmap="Blues_r", alpha=0.6)
    choices = [surface.first(n_splits).best for surface in surfaces]
    panel.plot([c["alpha"] for c in choices], [c["gamma"] for c in choices], "x", color=RED)
    panel.set(xscale="log", yscale="log", xlabel="regularisation", title=f"{n_splits} split{'s' * (n_splits > 1)}")
panels[0].set_ylabel("gamma")
figure.tight_layout()

# %%
# **What shortcuts do to a score.** The audit evaluates one search under four protocols on the same folds. Here the
# labels are noise again, so every score above a half is bias. Choosing columns before splitting is the famous mistake,
# and the audit cannot miss it. Freezing only their number and C does less harm here; on other tables it does more, and
# that is why there is something to run.
rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 1000)), rng.permutation(np.repeat(["a", "b"], 30))
search = GridSearchCV(
    make_pipeline(SelectKBest(), SVC(kernel="linear")), {"selectkbest__k": [5, 20, 80], "svc__C": [0.01, 1.0]}, cv=3
)
audit = protocol_audit(search, X, y, n_repeats=2, random_state=0)
print(audit)

# %%
# The same as an interactive picture: how much better than it is each shortcut makes the score look.
audit.plot()
