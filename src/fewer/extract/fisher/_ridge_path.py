"""How well every ridge of a path does, from one decomposition: generalised cross-validation, and held-out rows.

Generalised cross-validation is about the ridge regression of ``Y = H E Pi^{-1/2}`` that the directions amount to. With
``HX = U D V'``, ``t_i = ||U_i'Y||^2`` and ``||Y||^2 = c - 1``,

    GCV(alpha) = n RSS / (n - df)^2,   RSS = c - 1 - sum t_i + sum (alpha / (d_i^2 + alpha))^2 t_i,
                                       df  = 1 + sum d_i^2 / (d_i^2 + alpha).

For held-out rows the products of the training rows are those of all rows less those of the rows left out, so that those
of all folds together cost about as much as those of one fit.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import gen_batches

from fewer.extract._centred import centred_kernel, column_means, scatter
from fewer.extract.fisher._class_scores import Groups, scores_matrix
from fewer.extract.fisher._eigenproblem import Products, Spectrum
from fewer.extract.fisher._projected_classes import ClassGeometry

_DIRECTIONS = 64
"""Directions, of several ridges, along which held-out rows are seen in one product."""

_ROUNDING = 1e4 * float(np.finfo(np.float64).eps)
"""Share of the total scatter below which a ridge does not hide what rounding leaves of differences of products."""


def gcv_errors(spectrum: Spectrum, alphas: np.ndarray, n_rows: int) -> np.ndarray:
    """Generalised cross-validation error for each alpha; infinite where the regression has no residuals to judge by."""
    squares, shares = spectrum.squares, np.einsum("rc,rc->r", spectrum.shares, spectrum.shares)
    n_classes = spectrum.shares.shape[1]
    # Where the rows span all that they can, nothing is left outside but rounding.
    outside = max(n_classes - 1 - shares.sum(), 0) if len(squares) < n_rows - 1 else 0
    kept = squares / (squares + alphas[:, None])
    residuals = outside + (1 - kept) ** 2 @ shares
    freedom = n_rows - 1 - kept.sum(axis=1)
    errors = np.full(len(alphas), np.inf)
    judged = freedom > 1e-8
    errors[judged] = n_rows * residuals[judged] / freedom[judged] ** 2
    return errors


class Telling(NamedTuple):
    """How classes are told along the directions: the parameters of the estimator that matter to it."""

    n_components: int | None
    scaling: str
    classifier: str
    tol: float


class Fold(NamedTuple):
    """A split, decomposed: ``(rows - centre) @ basis`` are rows in the coordinates of V."""

    spectrum: Spectrum
    groups: Groups
    basis: np.ndarray
    centre: np.ndarray
    training: Any
    held_out: Any
    answers: np.ndarray


class WholeTable(NamedTuple):
    """All rows, with the products and sums from which those of any fold follow, and the smallest ridge."""

    X: Any
    mean: np.ndarray
    groups: Groups
    products: Products
    class_means: np.ndarray
    least_alpha: float

    @classmethod
    def of(
        cls, X: Any, mean: np.ndarray, groups: Groups, products: Products, least_alpha: float = np.inf
    ) -> "WholeTable":
        return cls(X, mean, groups, products, groups.means(X), least_alpha)

    def fold(self, train: np.ndarray, test: np.ndarray, with_rows: bool) -> Fold:
        """A split, decomposed; ``with_rows`` keeps the training rows too."""
        if self.products.by_columns:
            return self._fold_by_columns(train, test, with_rows)
        own, raw = self._groups(train), self.products.matrix[np.ix_(train, train)]
        spectrum = Spectrum.of_products(Products(centred_kernel(raw), scores_matrix(own), False))
        assert spectrum.left is not None
        held_out = self.products.matrix[np.ix_(test, train)]
        basis = spectrum.left / np.sqrt(spectrum.squares)
        return Fold(spectrum, own, basis, raw.mean(axis=0), raw, held_out, self.groups.codes[test])

    def _fold_by_columns(self, train: np.ndarray, test: np.ndarray, with_rows: bool) -> Fold:
        own = self._groups(train)
        left_out = np.setdiff1d(np.arange(self.X.shape[0]), train)
        others, spectrum = None, None
        # Without a ridge, what rounding leaves of a column that is constant in this fold would become a direction.
        exact = self.least_alpha < _ROUNDING * np.trace(self.products.matrix)
        if exact and not sparse.issparse(self.X):
            rows = self.X[train]
            centre = column_means(rows)
            spectrum = Spectrum.of_table(rows, centre, own)
        elif exact or 2 * len(left_out) > len(train) or len(train) + len(left_out) > self.X.shape[0]:
            rows = self.X[train]
            centre, class_means = column_means(rows), own.means(rows)
            its_scatter = scatter(rows, centre)
        else:  # taking away the other rows is less work
            others = self.X[left_out]
            sums = self.groups.sizes[:, None] * self.class_means - self._groups(left_out).sums(others)
            centre, class_means = sums.sum(axis=0) / len(train), sums / own.sizes[:, None]
            shift = centre - self.mean
            its_scatter = self.products.matrix - scatter(others, self.mean) - len(train) * np.outer(shift, shift)
        if spectrum is None:
            classes = (np.sqrt(own.sizes)[:, None] * (class_means - centre)).T
            spectrum = Spectrum.of_products(Products(its_scatter, classes, True))
        assert spectrum.right is not None
        training = self.X[train] if with_rows else None
        held_out = others if others is not None and np.array_equal(left_out, test) else self.X[test]
        return Fold(spectrum, own, spectrum.right, centre, training, held_out, self.groups.codes[test])

    def _groups(self, rows: np.ndarray) -> Groups:
        return Groups.of(self.groups.codes[rows], len(self.groups.sizes))


def held_out_accuracies(fold: Fold, alphas: np.ndarray, telling: Telling) -> np.ndarray:
    """Share of the held-out rows whose class is told right, for each alpha."""
    accuracies: list[float] = []
    for some in gen_batches(len(alphas), max(1, _DIRECTIONS // len(fold.groups.sizes))):
        solved = [_directions(fold, alpha, telling) for alpha in alphas[some]]
        # Rows meet the directions of several alphas in one product, which is faster than one by one.
        to_directions = fold.basis @ np.hstack([each.coordinates for each in solved])
        held_out = np.asarray(fold.held_out @ to_directions) - fold.centre @ to_directions
        training = None
        if telling.classifier == "neighbour":
            training = np.asarray(fold.training @ to_directions) - fold.centre @ to_directions
        end = 0
        for each in solved:
            start, end = end, end + each.coordinates.shape[1]
            own = None if training is None else training[:, start:end]
            told = _told(fold.groups, each, held_out[:, start:end], own, telling)
            accuracies.append(float(np.mean(told == fold.answers)))
    return np.array(accuracies)


class _Directions(NamedTuple):
    coordinates: np.ndarray
    geometry: ClassGeometry


def _directions(fold: Fold, alpha: float, telling: Telling) -> _Directions:
    """Directions for one alpha in the coordinates of V, and where the classes are along them."""
    rotation, eigenvalues = fold.spectrum.rotation(alpha, telling.tol)
    rotation, eigenvalues = rotation[:, : telling.n_components], eigenvalues[: telling.n_components]
    coordinates = fold.spectrum.ridge_coordinates(alpha) @ rotation
    if telling.scaling == "orthonormal":
        coordinates /= np.sqrt(eigenvalues)
    left = fold.spectrum.left_out(alpha, rotation, fold.groups) if telling.classifier == "left_out" else None
    return _Directions(coordinates, ClassGeometry(rotation, eigenvalues, fold.groups.sizes, telling.scaling, left))


def _told(
    groups: Groups, solved: _Directions, rows: np.ndarray, training: np.ndarray | None, telling: Telling
) -> np.ndarray:
    if not rows.shape[1]:  # no direction parts the classes of this fold
        return np.full(len(rows), groups.sizes.argmax())
    if training is not None:
        return groups.codes[pairwise_distances_argmin(rows, training)]
    return solved.geometry.log_posteriors(rows, telling.classifier == "centroid").argmax(axis=1)
