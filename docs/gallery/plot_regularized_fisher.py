"""
Directions that separate classes, when columns are many
=======================================================

:class:`~fewer.extract.RegularizedFisher` looks for the directions along which classes lie apart, as LDA does, with a
ridge that keeps it from believing in accidents of the sample. It is as fast as a ridge regression, because it is one:
on :func:`~fewer.extract.discriminant_scores_matrix`. :class:`~fewer.extract.RegularizedFisherCV` chooses the ridge, a
whole path of them for little more than the price of one.

Use it when classes differ in their means and columns are many beside rows: spectra, genes, pixels. Bring the columns to
comparable units first, for the ridge counts them by their size. When classes have the same means, no straight direction
helps: :class:`~fewer.extract.KernelRegularizedFisher` bends it, and :class:`~fewer.extract.HDDA` looks at spreads.
"""

# %%
# New rows, and not those that were learnt from
# ---------------------------------------------
# Three classes, 240 rows and as many columns, of which 20 are informative. PCA looks for what varies most, which is not
# what separates the classes. LDA separates the training rows perfectly and new rows hardly at all. The ridge gives up
# on perfection.
import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from fewer.extract import (
    GeneralizedEigenProjector,
    KernelRegularizedFisher,
    PenalizedKernelCCA,
    RegularizedFisher,
    RegularizedFisherCV,
    plot_loadings,
    plot_projection,
)

rng = np.random.default_rng(0)
centres = np.zeros((3, 240))
centres[:, :20] = 0.6 * rng.normal(size=(3, 20))


def rows_of_three_classes(n_rows):
    y = np.arange(n_rows) % 3
    X = centres[y] + rng.normal(size=(n_rows, 240))
    X[:, 20:60] += 2 * rng.normal(size=(n_rows, 1))  # what varies most, and has nothing to do with the classes
    return X, np.array(["first", "second", "third"])[y]


X, y = rows_of_three_classes(240)
X_new, y_new = rows_of_three_classes(600)
model = RegularizedFisherCV(alphas=np.logspace(-2, 6, 50)).fit(X, y)
lda = LinearDiscriminantAnalysis().fit(X, y)
print(f"ridge chosen: {model.alpha_:.0f}")
print(
    f"new rows classified correctly: LDA {lda.score(X_new, y_new):.0%}, with the ridge {model.score(X_new, y_new):.0%}"
)

# %%
# New rows along the first two directions of PCA, of LDA, and of LDA with a ridge:
plot_projection(PCA(2).fit(X), X_new, y_new)

# %%
plot_projection(lda, X_new, y_new)

# %%
plot_projection(model, X_new, y_new)

# %%
# The columns that the directions go with, over new rows, are among the 20 informative ones.
plot_loadings(model, X_new, n_components=2)

# %%
# Classes with the same mean
# --------------------------
# Two classes on the corners of a square, crosswise: along every straight direction their means are the same. A kernel
# gives one curved direction, and that is enough.
corners = rng.choice([-1.5, 1.5], size=(800, 2))
X = corners + 0.6 * rng.normal(size=(800, 2))
y = np.where(corners[:, 0] * corners[:, 1] > 0, "same sign", "other sign")
train, new = slice(0, 400), slice(400, 800)
plot_projection(RegularizedFisher().fit(X[train], y[train]), X[new], y[new])

# %%
bent = KernelRegularizedFisher().fit(X[train], y[train])
print(f"new rows classified correctly: {bent.score(X[new], y[new]):.0%}")
plot_projection(bent, X[new], y[new])

# %%
# Relatives
# ---------
# The same eigenproblem serves for other ends. :class:`~fewer.extract.GeneralizedEigenProjector` goes from covariance
# with the target (partial least squares) to correlation (Fisher), by the polynomial in its denominator; between the two
# lies what is robust without being blind.
X, y = rows_of_three_classes(240)
for f_coeffs in ((1,), (1, 1), (1000, 0, 1), (0, 0, 1)):
    projector = GeneralizedEigenProjector(f_coeffs=f_coeffs).fit(X, y)
    near = LinearDiscriminantAnalysis().fit(projector.transform(X), y)
    print(f"f_coeffs={f_coeffs}: {near.score(projector.transform(X_new), y_new):.0%} of new rows classified correctly")

# %%
# :class:`~fewer.extract.PenalizedKernelCCA` asks what two tables about the same rows have in common. Here one holds the
# cosine of an angle and the other its sine: their correlation is zero, yet each can be predicted from the other.
angle = rng.uniform(0, 2 * np.pi, size=600)
X = np.column_stack([np.cos(angle), rng.normal(size=600)]) + 0.1 * rng.normal(size=(600, 2))
Y = np.column_stack([np.sin(angle), rng.normal(size=600)]) + 0.1 * rng.normal(size=(600, 2))
for kernels in ("linear", "rbf"):
    common = PenalizedKernelCCA(n_components=1, kernels=kernels, alpha_x=0.1, alpha_y=0.1).fit(X[:300], Y[:300])
    variates = common.transform(X[300:])[:, 0], common.transform_y(Y[300:])[:, 0]
    print(f"{kernels}: new rows correlate by {np.corrcoef(*variates)[0, 1]:.2f}")
