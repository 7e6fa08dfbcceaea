"""The small eigenproblem behind regularised discriminant directions.

Directions that part c classes solve ``S_b A = (S_t + alpha I) A Gamma``. With the ridge solution

    G = (X'HX + alpha I)^{-1} X'H E Pi^{-1/2}  =  X'H (HXX'H + alpha I)^{-1} E Pi^{-1/2}

(the first for few columns, the second for few rows) all that is left is c x c:

    R = Pi^{-1/2} E'H X G = V Gamma V',    B = G V,    A = B Gamma^{-1/2}.

A is orthonormal in ``S_t + alpha I``; B has the lengths that make distances those of ridge regression. The
singular values ``HX = U D V_x'`` give R for any alpha: ``R = F'F`` with ``F = D (D^2 + alpha)^{-1/2} U'E Pi^{-1/2}``.

Zhang, Z., Dai, G., Xu, C. and Jordan, M. I. (2010). Regularized discriminant analysis, ridge regression and beyond.
Journal of Machine Learning Research 11, 2199-2228.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import warn_caller
from fewer.extract._centred import (
    centred_columns_times,
    centred_gram,
    positive_eigenpairs,
    scatter,
    thin_svd,
)
from fewer.extract.fisher._class_scores import Groups, scores_matrix
from fewer.extract.fisher._conjugate_gradients import ridge_by_gradients
from fewer.extract.fisher._left_out import LeftOut, left_out_on_average, left_out_rows

_LARGE = 3000
"""Rows and columns from which on the matrix of products of a sparse table is not worth making."""

SOUND = float(np.sqrt(np.finfo(np.float64).eps))
"""Reciprocal condition below which matrices of products lose half of the digits: then singular values are safer."""


class Discriminant(NamedTuple):
    """The ridge solution G, the rotation V (classes, directions) that makes it directions, and their eigenvalues.

    Besides, where rows lie that are left out, None where all rows fall together; and the largest eigenvalue that the
    ridge leaves possible, which is far below 1 where the ridge outweighs the table.
    """

    ridge_coef: np.ndarray
    rotation: np.ndarray
    eigenvalues: np.ndarray
    left_out: LeftOut | None
    possible: float


class Rotation(NamedTuple):
    """Eigenvectors of R (classes, directions), and its eigenvalues: the share of each direction between classes."""

    vectors: np.ndarray
    eigenvalues: np.ndarray


def rotation_of(R: np.ndarray, tol: float, possible: float) -> Rotation:
    """Eigenvectors of R with eigenvalues above ``tol`` times the largest, the largest first."""
    eigenvalues, vectors = linalg.eigh(R, check_finite=False)
    return _telling(vectors[:, ::-1], eigenvalues[::-1], tol, possible)


def rotation_of_factor(F: np.ndarray, tol: float, possible: float) -> Rotation:
    """The same for ``R = F'F``, without squaring F."""
    if not len(F):
        return Rotation(np.zeros((F.shape[1], 0)), np.zeros(0))
    _, sizes, vectors = linalg.svd(F, full_matrices=False, check_finite=False)
    return _telling(vectors.T, sizes**2, tol, possible)


def _telling(vectors: np.ndarray, eigenvalues: np.ndarray, tol: float, possible: float) -> Rotation:
    # One direction less than classes; what lies below rounding of the largest possible one parts nothing.
    most = len(vectors) - 1
    kept = eigenvalues[:most] > max(tol * eigenvalues.max(initial=0), possible * np.finfo(np.float64).eps)
    return Rotation(vectors[:, :most][:, kept], np.minimum(eigenvalues[:most][kept], 1))


def between_classes(X: Any, mean: np.ndarray, groups: Groups) -> np.ndarray:
    """``X'H E Pi^{-1/2}`` of (columns, classes)."""
    return (np.sqrt(groups.sizes)[:, None] * (groups.means(X) - mean)).T


class Products(NamedTuple):
    """The smaller matrix of products of the centred table, and the classes on that side.

    ``by_columns``: X'HX and X'H E Pi^{-1/2}; otherwise HXX'H and H E Pi^{-1/2}.
    """

    matrix: np.ndarray
    classes: np.ndarray
    by_columns: bool

    @classmethod
    def of(cls, X: Any, mean: np.ndarray, groups: Groups) -> "Products":
        if X.shape[1] <= X.shape[0]:
            return cls(scatter(X, mean), between_classes(X, mean, groups), True)
        return cls(centred_gram(X, mean), scores_matrix(groups), False)


class Solution(NamedTuple):
    """``(S + alpha I)^{-1}`` times the classes, the diagonal of the inverse, and the reciprocal condition."""

    weights: np.ndarray
    diagonal: np.ndarray
    condition: float


def cholesky_solution(products: Products, alpha: float) -> Solution | None:
    """The ridge solution on the smaller side for one alpha > 0; None where the matrix is not positive definite."""
    regularised = products.matrix.copy()
    regularised.flat[:: len(regularised) + 1] += alpha
    size = np.abs(regularised).sum(axis=0).max()
    try:
        factor, lower = linalg.cho_factor(regularised, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    condition = float(linalg.lapack.dpocon(factor, size, uplo="L")[0])
    weights = linalg.cho_solve((factor, lower), products.classes, check_finite=False)
    inverse = linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)[0]
    return Solution(weights, np.diag(inverse).copy(), condition)


def discriminant_of_solution(
    products: Products, solution: Solution, coef: np.ndarray, alpha: float, tol: float, groups: Groups
) -> Discriminant:
    """Directions from the ridge solution on the smaller side, and G."""
    weights = solution.weights
    R = products.classes.T @ (weights if products.by_columns else products.matrix @ weights)
    total = float(np.trace(products.matrix))
    rotation = rotation_of((R + R.T) / 2, tol, total / (total + alpha))
    if products.by_columns:
        left_out = average_of_columns(weights, rotation, alpha, float(solution.diagonal.sum()), groups)
    else:
        scores, residuals = products.classes @ rotation.vectors, alpha * weights @ rotation.vectors
        freedoms = alpha * solution.diagonal - 1 / len(weights)
        left_out = left_out_rows(scores, residuals, freedoms, groups, rotation.vectors)
    return Discriminant(coef, *rotation, left_out, total / (total + alpha))


def average_of_columns(
    weights: np.ndarray, rotation: Rotation, alpha: float, trace: float, groups: Groups
) -> LeftOut | None:
    """From the ridge solution on the side of the columns, and the trace of the inverse."""
    products = 1 - rotation.eigenvalues
    turned = weights @ rotation.vectors
    squares = products - alpha * np.einsum("ik,ik->k", turned, turned)
    freedom = len(groups.codes) - 1 - len(weights) + alpha * trace
    return left_out_on_average(products, squares, freedom, groups, rotation.vectors)


class Spectrum(NamedTuple):
    """``HX = U D V'``: squares of D, decreasing; ``U'E Pi^{-1/2}``, the classes' shares; V, or U where that is less.

    One serves all alphas.
    """

    squares: np.ndarray
    shares: np.ndarray
    right: np.ndarray | None
    left: np.ndarray | None = None

    @classmethod
    def of_products(cls, products: Products) -> "Spectrum":
        squares, vectors = positive_eigenpairs(products.matrix)
        shares = vectors.T @ products.classes
        if products.by_columns:
            return cls(squares, shares / np.sqrt(squares)[:, None], vectors)
        return cls(squares, shares, None, vectors)

    @classmethod
    def of_table(cls, X: np.ndarray, mean: np.ndarray, groups: Groups) -> "Spectrum":
        """By singular values of the centred table itself: slower, and exact where matrices of products are not."""
        left, sizes, right = thin_svd(X - mean)
        return cls(sizes**2, (groups.indicator().T @ left).T, right.T)

    def rotation(self, alpha: float, tol: float) -> Rotation:
        """The rotation that makes directions of G."""
        return rotation_of_factor(self.factor(alpha), tol, self.possible(alpha))

    def possible(self, alpha: float) -> float:
        """Largest eigenvalue that a ridge leaves."""
        return float(self.squares[0] / (self.squares[0] + alpha)) if len(self.squares) else 0.0

    def factor(self, alpha: float) -> np.ndarray:
        """F, whose ``F'F`` is R."""
        return np.sqrt(self.squares / (self.squares + alpha))[:, None] * self.shares

    def ridge_coordinates(self, alpha: float) -> np.ndarray:
        """G in the coordinates of V."""
        return (np.sqrt(self.squares) / (self.squares + alpha))[:, None] * self.shares

    def discriminant(self, X: Any, groups: Groups, alpha: float, tol: float) -> Discriminant:
        """Directions for one alpha, 0 included: then the pseudo-inverse takes the place of the inverse."""
        if self.right is not None:
            ridge_coef = self.right @ self.ridge_coordinates(alpha)
        else:
            ridge_coef = centred_columns_times(X, self.dual_coef(alpha))
        rotation = self.rotation(alpha, tol)
        left_out = self.left_out(alpha, rotation.vectors, groups)
        return Discriminant(ridge_coef, *rotation, left_out, self.possible(alpha))

    def left_out(self, alpha: float, rotation: np.ndarray, groups: Groups) -> LeftOut | None:
        """Where left-out rows lie along directions."""
        n_rows = len(groups.codes)
        shares, left = self.shares @ rotation, alpha / (self.squares + alpha)
        # Where the rows span all that they can, nothing lies outside but rounding.
        full = len(self.squares) >= n_rows - 1
        if self.left is not None:
            inside, outside = self.left @ shares, 0.0
            scores = scores_matrix(groups) @ rotation
            freedoms = (self.left**2) @ left
            if not full:
                outside = scores - inside
                freedoms = freedoms + (1 - 1 / n_rows - np.einsum("ij,ij->i", self.left, self.left))
            residuals = self.left @ (left[:, None] * shares) + outside
            return left_out_rows(scores, residuals, freedoms, groups, rotation)
        outside = 0.0 if full else np.maximum(1 - (shares**2).sum(axis=0), 0)
        freedom = n_rows - 1 - len(self.squares) + left.sum()
        products, squares = outside + left @ shares**2, outside + left**2 @ shares**2
        return left_out_on_average(products, squares, float(freedom), groups, rotation)

    def dual_coef(self, alpha: float) -> np.ndarray:
        """Weights of the rows that make up G, where U is at hand."""
        assert self.left is not None
        return self.left @ (self.shares / (self.squares + alpha)[:, None])

    def soundness(self, alpha: float) -> float:
        """Reciprocal condition of what the smallest square and alpha give."""
        if not len(self.squares):
            return 1.0
        return float((self.squares[-1] + alpha) / (self.squares[0] + alpha))


def fisher_directions(
    X: Any, mean: np.ndarray, groups: Groups, *, alpha: float, solver: str, tol: float
) -> Discriminant:
    """Directions by the solver asked for; "auto" takes singular values only where products would lose digits."""
    if solver == "svd" or (solver == "auto" and alpha == 0):
        return safest_spectrum(X, mean, groups).discriminant(X, groups, alpha, tol)
    if solver == "cg" or (solver == "auto" and sparse.issparse(X) and min(X.shape) > _LARGE):
        return by_gradients(X, mean, groups, alpha, tol)
    products = Products.of(X, mean, groups)
    solution = cholesky_solution(products, alpha) if alpha > 0 else None
    if solution is not None and (solution.condition >= SOUND or solver == "evd"):
        coef = solution.weights if products.by_columns else centred_columns_times(X, solution.weights)
        return discriminant_of_solution(products, solution, coef, alpha, tol, groups)
    if solver == "auto" and not sparse.issparse(X):
        return Spectrum.of_table(X, mean, groups).discriminant(X, groups, alpha, tol)
    return Spectrum.of_products(products).discriminant(X, groups, alpha, tol)


def by_gradients(X: Any, mean: np.ndarray, groups: Groups, alpha: float, tol: float) -> Discriminant:
    """Directions without any matrix of products."""
    found = ridge_by_gradients(X, mean, groups, alpha)
    if not found.converged:
        warn_caller(
            f"Conjugate gradients came to a residual of {found.residual:.2g} of the target and no further; a larger "
            "alpha is easier to solve for, and solver='evd' is exact where memory allows.",
            ConvergenceWarning,
        )
    R = found.classes.T @ (found.weights if found.by_columns else found.images)
    coef = found.weights if found.by_columns else centred_columns_times(X, found.weights)
    possible = found.total / (found.total + alpha)
    rotation = rotation_of((R + R.T) / 2, tol, possible)
    if found.by_columns:
        left_out = average_of_columns(found.weights, rotation, alpha, found.trace, groups)
    else:
        scores, residuals = found.classes @ rotation.vectors, alpha * found.weights @ rotation.vectors
        squares = np.einsum("ik,ik->k", residuals, residuals)
        products = np.einsum("ik,ik->k", scores, residuals)
        left_out = left_out_on_average(products, squares, alpha * found.trace - 1, groups, rotation.vectors)
    return Discriminant(coef, *rotation, left_out, possible)


def safest_spectrum(X: Any, mean: np.ndarray, groups: Groups) -> Spectrum:
    """Singular values of the table itself; of its products where it is sparse, for it must not become dense."""
    if sparse.issparse(X):
        return Spectrum.of_products(Products.of(X, mean, groups))
    return Spectrum.of_table(X, mean, groups)
