"""
One example of each class is enough
===================================

Some questions come with new classes every day: is this the same face, the same signature, the same part? There are no
rows of the new classes to learn from, but there are rows of others, and they vary in the same ways.
:class:`~fewer.extract.HyperbolicPCA` learns from pairs that are the same or different which directions of feature space
to keep, by one eigenproblem; :func:`~fewer.extract.one_shot_error` then judges them on classes that were not there.

Use it where classes share what does not matter (a rotation, the light, the pen), or where only pairs are labelled and
no classes (``fit_pairs``). Where all classes are known, use LDA. If new classes vary in another way than old ones it
does harm, so always compare with the raw columns, as here.
"""

# %%
# Glyphs, turned
# --------------
# A glyph is four blobs; every image of it is turned by a random angle. We learn from ten
# images of each of ten glyphs what turning means.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics.pairwise import euclidean_distances

from fewer.extract import HyperbolicPCA, one_shot_error

rng = np.random.default_rng(0)
grid = np.linspace(-1, 1, 20)
pixels = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)


def turned_glyphs(n_glyphs, n_images):
    """Images as rows of unit length, and the glyph of each."""
    glyph = np.repeat(np.arange(n_glyphs), n_images)
    blobs = rng.uniform(-0.65, 0.65, size=(n_glyphs, 4, 2))[glyph]
    angle = rng.uniform(0, 2 * np.pi, size=len(glyph))
    turns = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    places = np.einsum("abi,ikb->ika", turns, blobs).reshape(-1, 2)
    ink = np.exp(-euclidean_distances(places, pixels, squared=True) / (2 * 0.15**2))
    ink = ink.reshape(len(glyph), 4, -1).sum(axis=1)
    return ink / np.linalg.norm(ink, axis=1, keepdims=True), glyph


X, y = turned_glyphs(10, 10)
images, glyphs = turned_glyphs(10, 50)

figure, panels = plt.subplots(2, 8, figsize=(8, 2.2))
for row, panels_of_row in enumerate(panels):
    for panel, image in zip(panels_of_row, X[y == row], strict=False):
        panel.imshow(image.reshape(20, 20), cmap="Greys")
        panel.set(xticks=[], yticks=[])
    panels_of_row[0].set_ylabel(f"glyph {row}", fontsize=9)
figure.tight_layout()

# %%
# New glyphs, one example each
# ----------------------------
# Error of the nearest neighbour on ten new glyphs, when one image of each is known.
views = {
    "raw pixels": images,
    "PCA": PCA(9).fit(X).transform(images),
    "LDA, shrunken": LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(X, y).transform(images),
    "HyperbolicPCA": HyperbolicPCA(kernel="linear").fit(X, y).transform(images),
}
for name, view in views.items():
    print(f"{name:>14}: {one_shot_error(view, glyphs, random_state=0):.3f}")

# %%
# LDA divides by the scatter within classes, which cannot be estimated well from 100 images of 400 pixels; here, one
# scatter is subtracted from the other instead. From four times as many images LDA gets there as well. This is how four
# of the new glyphs look along the first two columns.
figure, panels = plt.subplots(1, 4, figsize=(10, 2.9))
colours = ("#2f7fb5", "#cf5f47", "#3d9970", "#d99a2b")
for panel, (name, view) in zip(panels, views.items(), strict=True):
    for glyph, colour in enumerate(colours):
        panel.scatter(*view[glyphs == glyph, :2].T, s=9, color=colour, alpha=0.7)
    panel.set_title(name, fontsize=10, loc="left")
    panel.set(xticks=[], yticks=[])
figure.tight_layout()

# %%
# Where it does harm
# ------------------
# Handwritten digits 0 to 4 vary in their own ways, and what is learnt from them hardly helps for 5 to 9.
digits = load_digits()
old = digits.target < 5
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # five classes give four columns
    model = HyperbolicPCA(10, normalize_rows=True).fit(digits.data[old][:400], digits.target[old][:400])
print(f"raw pixels:    {one_shot_error(digits.data[~old], digits.target[~old], random_state=0):.2f}")
print(f"HyperbolicPCA: {one_shot_error(model.transform(digits.data[~old]), digits.target[~old], random_state=0):.2f}")
