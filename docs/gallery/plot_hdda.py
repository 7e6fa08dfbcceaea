"""
Classes with a subspace of their own
====================================

:class:`~fewer.extract.HDDA` takes every class for a cloud that is spread along a few directions of its own, and thin in
all others. It needs far fewer numbers than a full covariance for each class, so that it works where QDA has too few
rows, and it sees differences of spread, to which LDA and PCA are blind. :class:`~fewer.extract.HDDC` is the same model
for clusters.

Use it when classes vary in different ways: textures, handwriting, states of a machine. When they differ in their means
alone, :class:`~fewer.extract.RegularizedFisher` does with less. Units matter, so bring columns to comparable ones
first; with few rows of a class take ``model="isometric"`` or ``"common_noise"``, which share what can be shared.
"""

# %%
# Same means, different directions
# --------------------------------
# Three classes in 100 columns, all about the origin. Class "first" is spread along 2 directions, "second" along 5,
# "third" along 10, all of them at random.
import numpy as np
import plotly.graph_objects as go
from scipy.stats import ortho_group
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.svm import SVC

from fewer.extract import HDDA, HDDC, plot_projection

BLUE, RED, GREEN = "#2f7fb5", "#cf5f47", "#3d9970"
rng = np.random.default_rng(0)
names, dims = np.array(["first", "second", "third"]), (2, 5, 10)
bases = [ortho_group.rvs(100, random_state=rng) for _ in dims]


def rows_of_each(n_rows):
    blocks = [
        rng.normal(size=(n_rows, 100)) * np.sqrt(np.r_[np.full(d, a), np.full(100 - d, b)]) @ basis.T
        for d, a, b, basis in zip(dims, (150, 75, 50), (15, 10, 5), bases, strict=True)
    ]
    return np.vstack(blocks), np.repeat(names, n_rows)


X, y = rows_of_each(200)
X_new, y_new = rows_of_each(500)
model = HDDA().fit(X, y)
print("dimensions found:", dict(zip(model.classes_.tolist(), model.dims_.tolist(), strict=True)))
for peer in (
    LinearDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.1),
    SVC(),
    HDDA(),
):
    print(f"{type(peer).__name__}: {peer.fit(X, y).score(X_new, y_new):.0%} of new rows classified correctly")

# %%
# LDA looks for means that differ, and there are none:
plot_projection(LinearDiscriminantAnalysis().fit(X, y), X_new, y_new)

# %%
# PCA finds the directions of the class that is largest, and mixes the others:
plot_projection(PCA(2).fit(X), X_new, y_new)

# %%
# Along the first axes of two classes each of them is long where the other is short.
plot_projection(model, X_new, y_new, components=(0, 2))

# %%
# All axes together separate them: this is what it costs to put a row into one class rather than another, and rows go
# where that is least.
costs = model.cost(X_new)
figure = go.Figure().update_layout(
    xaxis_title="cost of first less cost of second", yaxis_title="cost of third less cost of second", height=440
)
for name, colour in zip(model.classes_, (BLUE, RED, GREEN), strict=True):
    own = costs[y_new == name]
    marker = {"size": 6, "opacity": 0.65, "color": colour}
    figure.add_trace(
        go.Scatter(x=own[:, 0] - own[:, 1], y=own[:, 2] - own[:, 1], mode="markers", name=str(name), marker=marker)
    )
figure.add_hline(y=0, line_color="grey")
figure.add_vline(x=0, line_color="grey")

# %%
# The dimension of a class is where its eigenvalues have their last large gap.
figure = go.Figure().update_layout(xaxis_title="eigenvalue, from the largest", yaxis_title="variance", height=340)
for name, eigenvalues, d, colour in zip(
    model.classes_, model.eigenvalues_, model.dims_, (BLUE, RED, GREEN), strict=True
):
    places = np.arange(1, 21)
    figure.add_trace(go.Scatter(x=places, y=eigenvalues[:20], mode="lines+markers", name=str(name), line_color=colour))
    figure.add_vline(x=d + 0.5, line_dash="dot", line_color=colour)
figure.update_layout(hovermode="x")

# %%
# How much to share
# -----------------
# With 60 rows of each class a variance outside of the subspace, estimated from so few, comes out too small, and the
# more so the more dimensions were taken out. If classes have the same noise, sharing it helps; here they do not, and it
# harms. BIC shows it without new rows: the smallest is the best.
X_few, y_few = (part[np.r_[0:60, 200:260, 400:460]] for part in (X, y))
for shared in ("full", "homothetic", "isometric", "common_noise"):
    fitted = HDDA(shared).fit(X_few, y_few)
    print(f"{shared}: {fitted.score(X_new, y_new):.1%} of new rows classified correctly, BIC {fitted.bic_:.0f}")

# %%
# Without labels
# --------------
# The same rows, labels unknown. The mixture of full covariances has 15,000 numbers to estimate from 600 rows.
found = HDDC(3, init="random", n_init=10, random_state=0).fit(X)
mixture = GaussianMixture(3, covariance_type="full", reg_covar=0.1, n_init=3, random_state=0).fit(X)
print(f"HDDC: adjusted Rand index {adjusted_rand_score(y, found.labels_):.2f}, dimensions {found.dims_.tolist()}")
print(f"GaussianMixture: adjusted Rand index {adjusted_rand_score(y, mixture.predict(X)):.2f}")
