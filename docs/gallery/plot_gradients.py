"""
Following the slope of the target
=================================

How does the target change when a column does? :class:`~fewer.extract.GradientLearner` learns the answer row by row: a
smooth function of the columns together with its gradient. Three things come from it:

- directions along which the target changes, bent or not: :class:`~fewer.extract.GradientOuterProduct`;
- coordinates that follow the target on a bent surface: :class:`~fewer.extract.GradientDiffusionMap`;
- a graph of the columns that act on the target together: :class:`~fewer.extract.GradientGraph`.

Use them when the effect may turn round (a square, a wave), for some hundreds or few thousands of rows and any number of
columns. Where a straight line does the job, LDA or a linear model is quicker and needs fewer rows; beyond some thousand
rows, matrices of rows by rows become too large.
"""

# %%
# A ring that LDA does not see
# ----------------------------
# Two classes, one inside of the other, in a plane that lies askew among 12 columns. The class means are the same, so
# there is nothing for LDA to find; the plane has no more variance than any other, so PCA does not see it either.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from fewer.extract import GradientDiffusionMap, GradientGraph, GradientLearner, GradientOuterProduct

rng = np.random.default_rng(0)
n_rows = 300
ring = np.repeat([0.4, 1.9], n_rows // 2) + 0.15 * rng.normal(size=n_rows)
angle = rng.uniform(0, 2 * np.pi, size=n_rows)
plane = ring[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
turn = np.linalg.qr(rng.normal(size=(12, 12)))[0]
X = np.hstack([plane, 1.2 * rng.normal(size=(n_rows, 10))]) @ turn
y = np.repeat(["inside", "outside"], n_rows // 2)

figure, panels = plt.subplots(1, 3, figsize=(9, 3.2))
slopes = GradientOuterProduct(n_components=2).fit(X, y)
lda = LinearDiscriminantAnalysis().fit_transform(X, y)[:, 0]
views = {
    "PCA": PCA(2).fit_transform(X),
    "LDA (and a column of noise)": np.column_stack([lda, rng.normal(size=n_rows)]),
    "GradientOuterProduct": slopes.transform(X),
}
for panel, (title, view) in zip(panels, views.items(), strict=True):
    for name, colour in (("inside", "#cf5f47"), ("outside", "#2f7fb5")):
        panel.scatter(*view[y == name].T, s=8, color=colour, alpha=0.7, label=name)
    panel.set_title(title, fontsize=10, loc="left")
    panel.set(xticks=[], yticks=[])
panels[0].legend(fontsize=8)
figure.tight_layout()

# %%
# Two eigenvalues stand out, so the target depends on two directions.
print(slopes.eigenvalues_[:5].round(2))

# %%
# A Swiss roll
# ------------
# A sheet, rolled up; the target is a wave along it. The longest way is across the roll, and that is what a map without
# a target shows first. With the gradient, rows on different crests of the wave are far from each other, and the
# coordinate along the roll comes first.
n_rows = 1000
along, across = rng.random((2, n_rows))
angle = 1.5 * np.pi * (1 + 2 * along)
roll = np.column_stack([angle * np.cos(angle), 70 * across, angle * np.sin(angle)])
wave = np.sin(5 * np.pi * along)

learner = GradientLearner(joint=False, weight_bandwidth=3, kernel_bandwidth=3, alpha_grad=1e-6)
plain = GradientDiffusionMap(2, sigma1=300, sigma2=np.inf).fit_transform(roll)
guided = GradientDiffusionMap(2, sigma1=300, sigma2=0.1, estimator=learner).fit_transform(roll, wave)

figure, panels = plt.subplots(1, 3, figsize=(9, 3.2))
panels[0].scatter(roll[:, 0], roll[:, 2], s=6, c=wave, cmap="coolwarm")
panels[0].set_title("the roll from its end, and the target", fontsize=10, loc="left")
panels[0].set(xticks=[], yticks=[])
for panel, title, view in zip(panels[1:], ("without target", "GradientDiffusionMap"), (plain, guided), strict=True):
    panel.scatter(along, view[:, 0], s=6, c=wave, cmap="coolwarm")
    panel.set_title(title, fontsize=10, loc="left")
    panel.set(yticks=[], xlabel="place along the roll", ylabel="first new column")
figure.tight_layout()

# %%
# Who acts together
# -----------------
# Eight columns, of which four make the target: ``a`` and ``b`` as a sum inside of a wave, ``c`` and ``d`` as one inside
# of a square. ``e`` is a noisy copy of ``a`` that plain correlation takes for a cause; ``c`` and ``d`` it does not see.
columns = list("abcdefgh")
X = rng.normal(size=(400, 8))
X[:, 4] = X[:, 0] + 0.7 * rng.normal(size=400)
y = 3 * np.sin(X[:, 0] + X[:, 1]) + (X[:, 2] + X[:, 3]) ** 2 + 0.3 * rng.normal(size=400)
learner = GradientLearner(weight_bandwidth=1.5, alpha_f=1e-5, alpha_grad=1e-5)
graph = GradientGraph(learner).fit(pd.DataFrame(X, columns=columns), y)
correlations = np.corrcoef(X.T, y)[-1]
for name, correlation, slope in zip(columns, correlations, graph.feature_scores_, strict=False):
    print(f"{name}: correlation {correlation:5.2f}, mean squared slope {slope:.2f}")

# %%
# The two pairs show as the two strongest edges. In red are negative partial correlations: the target stays where it is
# if one of the two goes up and the other down.
graph.plot()
