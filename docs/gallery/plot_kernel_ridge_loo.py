"""
A classifier that tunes itself, and when that goes too far
==========================================================

:class:`~fewer.learn.KernelRidgeClassifierLOO` is a kernel machine whose leave-one-out residuals have a closed form: one
factorisation gives the error of all n machines that each leave a row out. It chooses its penalty and the width of
its kernel by them, with no validation set and no grid.

Use it for up to a few thousand rows with smooth class borders. With few rows stay with one width for all columns:
one for each column (``kernel="ard"``) can over-fit the sample, as the second figure shows.
:class:`~fewer.learn.KernelRidgeRegressorLOO` does the same for numbers.
"""

# %%
# Two classes of two clouds each, 64 rows to learn from. The best possible rule errs on 12.4% of new rows.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fewer.datasets import make_four_gaussians, make_twonorm
from fewer.learn import KernelRidgeClassifierLOO, KernelRidgeRegressorLOO

X, y, truth = make_four_gaussians(n_samples=64, random_state=0)
X_new, y_new, _ = make_four_gaussians(n_samples=4096, random_state=1)
model = KernelRidgeClassifierLOO().fit(X, y)
print(f"chosen: {model.hyperparameters_}, after {model.n_iter_} steps")
print(f"error on new rows {1 - model.score(X_new, y_new):.1%}, at best {truth['bayes_error']:.1%}")

# %%
# Its border, and the criterion that it minimised: leave-one-out residuals over the two hyper-parameters, with the way
# that the search took.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
across, up = np.meshgrid(np.linspace(-1.3, 1.0, 120), np.linspace(-0.2, 1.3, 120))
values = model.decision_function(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
left.contourf(across, up, values, levels=[-9, 0, 9], colors=["#2f7fb5", "#cf5f47"], alpha=0.15)
left.contour(across, up, values, levels=[0], colors="black", linewidths=1)
for label, colour in [(-1, "#2f7fb5"), (1, "#cf5f47")]:
    left.scatter(*X[y == label].T, s=18, color=colour, label=f"class {label:+d}")
left.legend(frameon=False, fontsize=8)
left.set_title("64 rows and the border found", fontsize=10, loc="left")

alphas, gammas = np.geomspace(0.01, 100, 25), np.geomspace(0.1, 100, 25)
surface = [[KernelRidgeClassifierLOO(alpha=r, gamma=g, select=None).fit(X, y).press_ for r in alphas] for g in gammas]
shades = right.contourf(alphas, gammas, surface, levels=15, cmap="viridis_r")
right.plot(
    model.selection_path_["alpha"], model.selection_path_["gamma"], "o-", color="white", markersize=3, linewidth=1
)
right.plot(*model.hyperparameters_.values(), "*", color="#d99a2b", markersize=14)
right.set(xscale="log", yscale="log", xlabel="regularisation", ylabel="gamma")
right.set_title("PRESS, and the search on it", fontsize=10, loc="left")
figure.colorbar(shades, ax=right)
figure.tight_layout()

# %%
# More to choose is not better. One width for each of 20 columns contains the single width as a special case, so its
# leave-one-out criterion is lower, always. On new rows it is the worse machine: the difference is what the search
# learned about these 100 rows alone. A penalty on the hyper-parameters, or stopping early, takes some of it back.
variants = {
    "one width": KernelRidgeClassifierLOO(),
    "20 widths": KernelRidgeClassifierLOO(kernel="ard", solver="lbfgs"),
    "20 widths,\npenalty": KernelRidgeClassifierLOO(kernel="ard", solver="lbfgs", hyper_penalty=0.3),
    "20 widths,\n3 steps": KernelRidgeClassifierLOO(kernel="ard", solver="lbfgs", max_iter=3, early_stopping=True),
}
X_new, y_new, _ = make_twonorm(n_samples=4000, random_state=99)
criterion = {name: [] for name in variants}
error = {name: [] for name in variants}
for seed in range(8):
    X, y, _ = make_twonorm(n_samples=100, random_state=seed)
    for name, variant in variants.items():
        variant.fit(X, y)
        criterion[name].append(variant.press_ / len(y))
        error[name].append(1 - variant.score(X_new, y_new))

figure, panels = plt.subplots(1, 2, figsize=(9, 3.2))
for panel, figures, title in zip(
    panels, (criterion, error), ("what the search saw: PRESS / n", "error on new rows"), strict=True
):
    panel.bar(range(4), [np.mean(f) for f in figures.values()], color=["#2f7fb5", "#cf5f47", "#d99a2b", "#d99a2b"])
    panel.set_xticks(range(4), variants, fontsize=8)
    panel.set_title(title, fontsize=10, loc="left")
figure.tight_layout()

# %%
# On real data, with the scaling inside the pipeline as always.
X, y = load_breast_cancer(return_X_y=True)
for learner in (KernelRidgeClassifierLOO(solver="lbfgs"), SVC()):
    scores = cross_val_score(make_pipeline(StandardScaler(), learner), X, y, cv=5)
    print(f"{type(learner).__name__}: accuracy {scores.mean():.3f}")

# %%
# Numbers, likewise: here the target bends with the columns, and a straight line misses that.
X = np.random.default_rng(0).uniform(-2, 2, (150, 2))
y = np.sin(2 * X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=150)
for learner in (KernelRidgeRegressorLOO(), RidgeCV()):
    print(f"{type(learner).__name__}: R2 {cross_val_score(learner, X, y, cv=5).mean():.3f}")
