"""
Projection pursuit: any difference, along any direction
=======================================================

Discriminant analysis sees classes whose means differ, and principal components see variance. Projection pursuit looks
for what else a direction may show: classes with one mode or two, a gap, a spread.

- :class:`~fewer.extract.LikelihoodRatioDiscriminant` finds directions along which the densities of classes differ, in
  whatever way;
- :class:`~fewer.extract.ExploratoryProjectionPursuit` finds directions along which a table without classes looks least
  like a normal distribution;
- :class:`~fewer.extract.ProjectionPursuitDiscriminant` classifies, and
  :class:`~fewer.extract.ForwardProjectionPursuitDensity` and
  :class:`~fewer.extract.BackwardProjectionPursuitDensity` give densities, by functions along such directions.

Use them with many rows for each column: at least five, better twenty. With fewer, some direction shows anything one
likes; bring the columns down first, by PCA for instance. Where only means differ, linear discriminant analysis is
surer and takes no search.
"""

# %%
# Classes with the same mean
# --------------------------
# Of three classes in 20 columns, one has two modes along the first column, another one along the second. All three have
# the same mean, so that discriminant analysis has nothing to go by.
import matplotlib.pyplot as plt
import numpy as np
import plotly.graph_objects as go
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

from fewer.extract import (
    BackwardProjectionPursuitDensity,
    ExploratoryProjectionPursuit,
    ForwardProjectionPursuitDensity,
    LikelihoodRatioDiscriminant,
    ProjectionPursuitDiscriminant,
    plot_loadings,
    plot_projection,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 20))
y = np.repeat(["round", "apart in x0", "apart in x1"], 200)
X[y == "apart in x0", 0] += 3 * rng.choice([-1, 1], 200)
X[y == "apart in x1", 1] += 3 * rng.choice([-1, 1], 200)

plot_projection(LinearDiscriminantAnalysis().fit(X, y), X, y)

# %%
# The likelihood ratio of densities finds the plane.
model = LikelihoodRatioDiscriminant(n_components=2, random_state=0).fit(X, y)
plot_projection(model, X, y)

# %%
# Its directions are the two columns; the other 18 have weights near 0.
plot_loadings(model, X, n_components=2, n_columns=6)

# %%
# Is it there at all?
# -------------------
# With shuffled classes the best direction shows a little too. ``n_permutations`` measures how much, and ends the search
# where there is no more than that: of the four directions asked for here, two are kept.
tested = LikelihoodRatioDiscriminant(n_components=4, n_permutations=20, random_state=0).fit(X, y)
for score, null in zip(tested.scores_, tested.null_scores_, strict=True):
    print(f"ratio {score:.3f} nats a row; with shuffled classes at most {null.max():.3f}")

# %%
# Groups in the direction of least variance
# -----------------------------------------
# Without classes the most non-normal direction is of interest. Here two groups lie along a direction that varies less
# than all others, and principal components end with it.
table = rng.normal(size=(500, 8)) * [5, 4, 4, 3, 3, 2, 2, 0.5]
group = rng.choice([-1, 1], size=500)
table[:, 7] += 1.5 * group
table = table @ np.linalg.qr(rng.normal(size=(8, 8)))[0]

plot_projection(PCA(2).fit(table), table, group)

# %%
explorer = ExploratoryProjectionPursuit(n_components=2, random_state=0).fit(table)
plot_projection(explorer, table, group)

# %%
# A classifier along directions
# -----------------------------
# :class:`~fewer.extract.ProjectionPursuitDiscriminant` goes on to classify: along shared directions, each class has a
# function of its own, and their sum decides. Two classes in four groups, crosswise, with eight columns of noise, all
# turned: no single column and no linear rule separates them.
turn = np.linalg.qr(rng.normal(size=(10, 10)))[0]


def crosswise(n_rows):
    corners = 1.5 * rng.choice([-1, 1], size=(n_rows, 2))
    rows = rng.normal(size=(n_rows, 10))
    rows[:, :2] += corners
    return rows @ turn, np.where(corners.prod(axis=1) > 0, "same sign", "unlike signs")


X_train, y_train = crosswise(1000)
X_test, y_test = crosswise(5000)
classifier = ProjectionPursuitDiscriminant(n_ridges=3, random_state=0).fit(X_train, y_train)
for peer in (LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis()):
    print(f"{type(peer).__name__}: {1 - peer.fit(X_train, y_train).score(X_test, y_test):.1%} wrong")
for size, told in enumerate(classifier.staged_predict(X_test), start=1):
    print(f"{size} direction(s): {np.mean(told != y_test):.1%} wrong")  # the best possible rule is at 12.5%

# %%
# Two directions are right, the third fits noise; ``n_ridges="cv"`` finds that by cross-validation. Quadratic
# discriminant analysis comes near here, since the covariances of both classes differ too: it has no directions to show.
plot_projection(classifier, X_test, y_test)


# %%
# The function of each class along the first direction: the log-odds are sums of such curves.
def functions_along(model, direction):
    """The functions of all classes along one direction."""
    figure = go.Figure().update_layout(
        xaxis_title=f"projectionpursuitdiscriminant{direction}", yaxis_title="log of the function"
    )
    for name, ridge in zip(model.classes_, model.ridges_[:, direction], strict=True):
        figure.add_scatter(x=model.ridge_grid_[direction], y=ridge, mode="lines", name=str(name))
    return figure


functions_along(classifier, 0)

# %%
# A density, and rows made normal
# -------------------------------
# The same idea gives the density of a table: :class:`~fewer.extract.ForwardProjectionPursuitDensity` multiplies a
# normal density by functions along directions, :class:`~fewer.extract.BackwardProjectionPursuitDensity` maps the rows
# to normal ones, direction by direction, and back. They are different densities, and both are far nearer the truth than
# one normal density.
centres = np.array([[0, 0], [3, 3], [-3, 2]])
groups, others = (centres[rng.integers(3, size=n)] + 0.8 * rng.normal(size=(n, 2)) for n in (1000, 4000))
forward = ForwardProjectionPursuitDensity(n_ridges=4, oversmooth=0.6, random_state=0).fit(groups)
backward = BackwardProjectionPursuitDensity(random_state=0).fit(groups)
truth = np.log(np.mean([multivariate_normal(centre, 0.64).pdf(others) for centre in centres], axis=0)).mean()
normal = multivariate_normal(groups.mean(axis=0), np.cov(groups.T)).logpdf(others).mean()
print(f"log-density of other rows: normal {normal:.2f}, forward {forward.score(others):.2f}, ", end="")
print(f"backward {backward.score(others):.2f}, truth {truth:.2f}")

# %%
# Left, the groups with the forward density; right, the same rows made normal by the backward one.
nodes = np.linspace(-6, 6, 120)
plane = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
figure, panels = plt.subplots(1, 2, figsize=(8, 3.8))
panels[0].contour(nodes, nodes, np.exp(forward.score_samples(plane)).reshape(120, 120), levels=8, cmap="viridis")
panels[0].plot(*groups.T, ".", markersize=2, color="grey", zorder=0)
panels[1].plot(*backward.transform(groups).T, ".", markersize=2, color="grey")
for panel, title in zip(panels, ("rows, and their density", "rows made normal"), strict=True):
    panel.set_title(title, fontsize=10, loc="left")
    panel.set_aspect("equal")
figure.tight_layout()
