"""The small eigenproblem behind regularised discriminant directions, and the ridge regression that it is.

With E the n x c indicator of the classes, Pi the diagonal of their sizes n_j and H the centring matrix, the targets are

    Y = H E Pi^{-1/2},    y_ij = (n - n_j) / (n sqrt(n_j))  for i in class j,  else  -sqrt(n_j) / n.

Directions that separate c classes solve ``S_b A = (S_t + alpha I) A Gamma``. With the ridge solution

    G = (X'HX + alpha I)^{-1} X'H E Pi^{-1/2}  =  X'H (HXX'H + alpha I)^{-1} E Pi^{-1/2}

(the first for few columns, the second for few rows) all that is left is c x c:

    R = Pi^{-1/2} E'H X G = V Gamma V',    B = G V,    A = B Gamma^{-1/2}.

A is orthonormal in ``S_t + alpha I``; B has the lengths that make distances those of ridge regression. The
singular values ``HX = U D V_x'`` give R for any alpha: ``R = F'F`` with ``F = D (D^2 + alpha)^{-1/2} U'E Pi^{-1/2}``. A
table that is large both ways is solved by conjugate gradients for all classes at once, scaled by the diagonal, and no
matrix of products is formed.

With many columns the training rows of a class nearly coincide along these directions, and new rows lie nearer to the
middle and further apart. In the regression of the scores ``y = H E Pi^{-1/2} v``, a row that is left out has the
residual ``e / (1 - h)``, with its leverage h and the residual e of the regression of all rows. So left-out rows are at
``y - e / (1 - h)``. Without leverages their mean is used for all (generalised cross-validation): with
``t = 1 - h = freedom / n`` class j has its centre at ``y_j (1 - (1 - gamma) / t)``, and the variance around it is
``(|e|^2 - (1 - gamma)^2) / (n t^2)``.

Zhang, Z., Dai, G., Xu, C. and Jordan, M. I. (2010). Regularized discriminant analysis, ridge regression and beyond.
Journal of Machine Learning Research 11, 2199-2228.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import column_or_1d

from fewer._estimators import encoded_classes, warn_caller
from fewer._kernels._numpy_lapack import inverse_of_lower, solve_cholesky
from fewer.extract._centred_table import centred_columns_times, centred_gram, positive_eigenpairs, scatter, thin_svd


class Groups(NamedTuple):
    """Rows by class: the code of each, and how many there are of each code."""

    codes: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, codes: np.ndarray, n_classes: int) -> "Groups":
        return cls(codes, np.bincount(codes, minlength=n_classes))

    def indicator(self) -> sparse.csr_array:
        """``E Pi^{-1/2}``, whose columns are orthonormal."""
        n_rows = len(self.codes)
        entries = 1 / np.sqrt(self.sizes[self.codes])
        return sparse.csr_array((entries, self.codes, np.arange(n_rows + 1)), shape=(n_rows, len(self.sizes)))

    def sums(self, X: Any) -> np.ndarray:
        """Sum over the rows of each class, (classes, columns), in double precision."""
        # Rows are added up by a sparse product, so that the cost does not grow with the number of classes.
        ones = self.indicator()
        ones.data[:] = 1
        sums = ones.T @ X
        return np.asarray(sums.toarray() if sparse.issparse(sums) else sums, dtype=np.float64)

    def means(self, X: Any) -> np.ndarray:
        """Mean of each class, (classes, columns), in double precision."""
        return self.sums(X) / self.sizes[:, None]


def discriminant_scores_matrix(y: Any) -> np.ndarray:
    """Scores of the classes on which multi-output ridge regression is regularised discriminant analysis.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Class of each row: numbers or strings.

    Returns
    -------
    scores : ndarray of shape (n_samples, n_classes)
        One column for each class, in sorted order; columns have mean zero.

    See Also
    --------
    RegularizedFisher : The directions; its ``ridge_coef_`` are the coefficients of that regression.

    References
    ----------
    .. [1] Zhang, Z., Dai, G., Xu, C. and Jordan, M. I. (2010). Regularized discriminant analysis, ridge regression and
       beyond. Journal of Machine Learning Research 11, 2199-2228.

    Examples
    --------
    >>> from fewer.extract import discriminant_scores_matrix
    >>> discriminant_scores_matrix(["a", "a", "a", "b"]).round(3)
    array([[ 0.144, -0.25 ],
           [ 0.144, -0.25 ],
           [ 0.144, -0.25 ],
           [-0.433,  0.75 ]])
    """
    y = column_or_1d(y)
    if not len(y):
        raise ValueError("y is empty: discriminant_scores_matrix needs the class of each row, and two classes or more.")
    classes, codes = encoded_classes(y, "discriminant_scores_matrix")
    return scores_matrix(Groups.of(codes, len(classes)))


def scores_matrix(groups: Groups) -> np.ndarray:
    """``H E Pi^{-1/2}`` in full."""
    return groups.indicator().toarray() - np.sqrt(groups.sizes) / len(groups.codes)


_NO_FREEDOM = 1e-10


class LeftOut(NamedTuple):
    """Centres (classes, directions) of left-out rows, and variances around them, in the lengths of ridge regression."""

    centres: np.ndarray
    variances: np.ndarray

    def turned(self, signs: np.ndarray) -> "LeftOut":
        """The same along the first directions, some of them turned round."""
        return LeftOut(self.centres[:, : len(signs)] * signs, self.variances[: len(signs)])


def left_out_rows(
    scores: np.ndarray, residuals: np.ndarray, freedoms: np.ndarray, groups: Groups, rotation: np.ndarray
) -> LeftOut | None:
    """From scores and residuals (rows, directions), and ``1 - h`` of each row; None if rows have no freedom."""
    if freedoms.min() <= _NO_FREEDOM:
        return None
    along = scores - residuals / freedoms[:, None]
    centres = groups.means(along)
    variances = np.mean((along - centres[groups.codes]) ** 2, axis=0)
    # Left-out rows of classes that cannot be separated lie a little on the other side, by chance.
    agree = np.einsum("jk,jk->k", np.sqrt(groups.sizes)[:, None] * rotation, centres) > 0
    return LeftOut(centres * agree, variances)


def left_out_on_average(
    products: np.ndarray, squares: np.ndarray, freedom: float, groups: Groups, rotation: np.ndarray
) -> LeftOut | None:
    """From ``1 - gamma`` and ``|e|^2`` of each direction, and the number of rows less the degrees of freedom."""
    n_rows = len(groups.codes)
    share = freedom / n_rows
    if share <= _NO_FREEDOM:
        return None
    centres = np.maximum(1 - products / share, 0) * rotation / np.sqrt(groups.sizes)[:, None]
    return LeftOut(centres, np.maximum(squares - products**2, 0) / (n_rows * share**2))


_TOLERANCE = 1e-10
_MOST_STEPS = 2000
_ENTRIES, _MOST_SIGNS = 10_000, 100


class Descent(NamedTuple):
    """Solution, the classes on its side, the matrix times the solution, and how far the residual came down.

    The trace of the inverse is estimated, from random vectors; the total is the trace of the matrix without the ridge.
    """

    weights: np.ndarray
    classes: np.ndarray
    images: np.ndarray
    by_columns: bool
    trace: float
    residual: float
    total: float

    @property
    def converged(self) -> bool:
        return self.residual <= _TOLERANCE


def ridge_by_gradients(X: Any, mean: np.ndarray, groups: Groups, alpha: float) -> Descent:
    """The ridge solution on the smaller side, and what is needed to rotate it into directions."""
    by_columns = X.shape[1] <= X.shape[0]
    X = X.astype(np.float64, copy=False)  # single precision would not come down to the tolerance
    axis = 0 if by_columns else 1
    squares = np.asarray(X.multiply(X).sum(axis=axis) if sparse.issparse(X) else np.square(X).sum(axis=axis)).ravel()
    if by_columns:
        classes = (np.sqrt(groups.sizes)[:, None] * (groups.means(X) - mean)).T
        diagonal = squares - X.shape[0] * mean**2 + alpha

        def image(weights: np.ndarray) -> np.ndarray:
            return centred_columns_times(X, np.asarray(X @ weights))
    else:
        classes = scores_matrix(groups)
        diagonal = squares - 2 * np.asarray(X @ mean) + mean @ mean + alpha

        def image(weights: np.ndarray) -> np.ndarray:
            products = np.asarray(X @ centred_columns_times(X, weights))
            return products - products.mean(axis=0)

    # Signs z have the trace as the mean of z'A^{-1}z, to a few parts in a hundred over thousands of entries.
    n_signs = max(1, min(_ENTRIES // len(classes), _MOST_SIGNS))
    signs = np.random.RandomState(0).choice([-1.0, 1.0], size=(len(classes), n_signs))
    if not by_columns:
        signs -= signs.mean(axis=0)  # along the constant direction the inverse is 1 / alpha, known and large
    solved, residual = _descended(
        lambda w: image(w) + alpha * w, np.hstack([classes, signs]), np.maximum(diagonal, alpha)
    )
    weights, of_signs = solved[:, :-n_signs], solved[:, -n_signs:]
    trace = float(np.einsum("ij,ij->", signs, of_signs)) / n_signs + (0 if by_columns else 1 / alpha)
    total = float((diagonal - alpha).sum())
    return Descent(weights, classes, image(weights), by_columns, trace, residual, total)


def _descended(matrix: Any, targets: np.ndarray, diagonal: np.ndarray) -> tuple[np.ndarray, float]:
    """Solutions for all targets, and the largest of their residuals as a share of the target's length."""
    weights = np.zeros_like(targets)
    residuals = targets.copy()
    lengths = np.linalg.norm(targets, axis=0)
    lengths[lengths == 0] = 1
    scaled = residuals / diagonal[:, None]
    directions, inner = scaled, np.einsum("ij,ij->j", residuals, scaled)
    for _ in range(_MOST_STEPS):
        if (np.linalg.norm(residuals, axis=0) <= _TOLERANCE * lengths).all():
            break
        images = matrix(directions)
        curvature = np.einsum("ij,ij->j", directions, images)
        steps = np.divide(inner, curvature, out=np.zeros_like(inner), where=curvature > 0)
        weights += steps * directions
        residuals -= steps * images
        scaled = residuals / diagonal[:, None]
        before, inner = inner, np.einsum("ij,ij->j", residuals, scaled)
        directions = scaled + np.divide(inner, before, out=np.zeros_like(inner), where=before > 0) * directions
    return weights, float((np.linalg.norm(residuals, axis=0) / lengths).max())


_LARGE = 3000
"""Rows and columns from which on the matrix of products of a sparse table is not worth making."""

SOUND = float(np.sqrt(np.finfo(np.float64).eps))
"""Reciprocal condition below which matrices of products lose half of the digits: then singular values are safer."""


class Discriminant(NamedTuple):
    """The ridge solution G, the rotation V (classes, directions) that makes it directions, and their eigenvalues.

    Besides, where rows lie that are left out, None where all rows coincide; and the largest eigenvalue that the
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
    eigenvalues, vectors = np.linalg.eigh(R)
    return _telling(vectors[:, ::-1], eigenvalues[::-1], tol, possible)


def rotation_of_factor(F: np.ndarray, tol: float, possible: float) -> Rotation:
    """The same for ``R = F'F``, without squaring F."""
    if not len(F):
        return Rotation(np.zeros((F.shape[1], 0)), np.zeros(0))
    _, sizes, vectors = np.linalg.svd(F, full_matrices=False)
    return _telling(vectors.T, sizes**2, tol, possible)


def _telling(vectors: np.ndarray, eigenvalues: np.ndarray, tol: float, possible: float) -> Rotation:
    # One direction less than classes; what lies below rounding of the largest possible one separates nothing.
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
        factor = np.linalg.cholesky(regularised)
    except np.linalg.LinAlgError:
        return None
    root = inverse_of_lower(factor)
    condition = 1 / (size * float(np.abs(root.T @ root).sum(axis=0).max()))
    return Solution(solve_cholesky(factor, products.classes), np.einsum("ij,ij->j", root, root), condition)


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
