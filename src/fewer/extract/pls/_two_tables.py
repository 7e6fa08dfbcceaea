"""Pairs of directions of two tables about the same rows: PLS mode A, canonical ridge analysis, CCA and PLS-SB.

PLS mode A: (w, c) are the leading singular vectors of ``X'Y``, ``t = Xw``, ``u = Yc``; then ``X <- X - t t'X / t't``
and ``Y <- Y - u u'Y / u'u``. Neither table is changed: scores are made orthogonal to earlier ones of their own table,

    S <- S - p (t'Y) - (X'u) q' + p (t'u) q',    with t and u of length 1, p = X't, q = Y'u.

Canonical ridge analysis, from covariance (PLS-SB) to correlation (CCA): maximise ``(r'X'Ys)^2`` with
``r'((1 - a) X'X + a I) r = 1`` and ``s'((1 - b) Y'Y + b I) s = 1``. With the singular values ``X = U_x D_x V_x'``,
``Y = U_y D_y V_y'`` and ``F_x = ((1 - a) D_x^2 + a)^{-1/2}``, the same for y, all pairs come from one singular value
decomposition,

    F_x D_x U_x'U_y D_y F_y = P L Q',    R = V_x F_x P,    S = V_y F_y Q,    eigenvalues L^2.
"""

from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, checked_array, fit_context
from fewer.catalogue import method
from fewer.extract._centred_table import positive_eigenpairs, thin_svd
from fewer.extract._extractor import LinearExtractor
from fewer.learn.pls import CentredTable, Factors, Orthogonal, largest_signs, leading_pair, rounding


class TwoTableExtractor(LinearExtractor):
    """Base: ``transform`` for rows of the first table, ``transform_y`` for those of the second."""

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "scale": ["boolean"],
    }

    x_rotations_: np.ndarray
    y_rotations_: np.ndarray
    scale: bool

    @property
    def _takes_sparse(self) -> bool:
        return True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Find the pairs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            First table.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Second table.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._validated(X, y, multi_output=True, y_numeric=True)
        Y = np.asarray(y, dtype=np.float64)
        self._find_pairs(CentredTable(X, scale=self.scale), CentredTable(Y.reshape(len(Y), -1), scale=self.scale))
        return self

    def _find_pairs(self, x: CentredTable, y: CentredTable) -> None:
        raise NotImplementedError

    def _keep_pairs(
        self, x: CentredTable, y: CentredTable, to_x: np.ndarray, to_y: np.ndarray, T: np.ndarray, U: np.ndarray
    ) -> None:
        """Keep the rotations of both tables, and their scores T and U."""
        self.mean_ = x.mean.astype(x.dtype)
        self.x_rotations_, self.y_rotations_ = to_x.astype(x.dtype), to_y.astype(x.dtype)
        self.components_ = np.ascontiguousarray((to_x / x.scale[:, None]).T, dtype=x.dtype)
        self._y_mean, self._y_components = y.mean, (to_y / y.scale[:, None]).T
        self.x_scores_, self.y_scores_ = T.astype(x.dtype), U.astype(x.dtype)
        self.correlations_ = pair_correlations(T, U)

    def transform_y(self, y: Any) -> np.ndarray:
        """The second table along its directions.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Rows with the columns of the second table.

        Returns
        -------
        y_new : ndarray of shape (n_samples, n_components)
            One column for each direction.
        """
        check_is_fitted(self)
        Y = checked_array(y, type(self).__name__, dtype=np.float64, ensure_2d=False)
        Y = Y.reshape(len(Y), -1)
        if Y.shape[1] != len(self._y_mean):
            raise ValueError(f"y has {Y.shape[1]} columns, and in fit it had {len(self._y_mean)}.")
        return (Y - self._y_mean) @ self._y_components.T


class PairedFactors(NamedTuple):
    """Weights, rotations, loadings and scores of one of the two tables, (columns or rows, components)."""

    weights: np.ndarray
    rotations: np.ndarray
    loadings: np.ndarray
    scores: np.ndarray


def canonical_components(
    x: CentredTable,
    y: CentredTable,
    n_components: int,
) -> tuple[PairedFactors, PairedFactors]:
    """At most so many pairs of components; fewer where nothing is left that the tables have in common."""
    nothing = np.zeros((x.shape[0], 0))
    of_x, of_y = Orthogonal(x, 0, n_components), Orthogonal(y, 0, n_components)
    S = x.back(y.times(np.eye(y.shape[1])))
    floor = max(rounding(x), rounding(y)) * x.size * y.size
    while of_x.n_found < n_components and np.linalg.norm(S) > floor:
        w, c = leading_pair(S)
        found_x = of_x.add(w, nothing)
        found_y = of_y.add(c, nothing) if found_x is not None else None
        if found_x is None or found_y is None:
            break
        p, q = found_x[0], found_y[0]
        # What is left of a table is the table itself, times weights of rows that earlier scores have no part in.
        t, u = of_y.without_earlier(of_x.last), of_x.without_earlier(of_y.last)
        S -= np.outer(p, y.back(t)) + np.outer(x.back(u), q) - float(of_x.last @ of_y.last) * np.outer(p, q)
    return _first(of_x.factors(), of_y.n_found), _first(of_y.factors(), of_y.n_found)


def _first(found: Factors, n_pairs: int) -> PairedFactors:
    """As many of one table's factors as there are pairs."""
    parts = (found.weights, found.rotations, found.x_loadings, found.scores)
    return PairedFactors(*(part[:, :n_pairs] for part in parts))


@method(
    tasks=["regression"],
    when="Two tables about the same rows, none of which is the target of the other, and you want to see what they have "
    "in common. To predict one from the other, take PLSRegressor.",
    cost="O(n (p + q) k + p q k) time for tables with p and q columns, O(n (p + q) + p q) memory",
    paper="pls",
)
class PLSCanonical(TwoTableExtractor):
    """Pairs of directions along which two tables vary together most, with both deflated.

    Parameters
    ----------
    n_components : int, default=2
        Number of pairs; None for as many as there are.
    scale : bool, default=False
        Whether the columns of both tables are scaled to unit variance.

    Attributes
    ----------
    x_weights_ : ndarray of shape (n_features, n_components)
        Weights of length 1, for what is left of each table.
    y_weights_ : ndarray of shape (n_targets, n_components)
        The same of the second table.
    x_loadings_ : ndarray of shape (n_features, n_components)
        How the columns of each table go with its scores.
    y_loadings_ : ndarray of shape (n_targets, n_components)
        The same of the second table.
    x_rotations_ : ndarray of shape (n_features, n_components)
        From centred and scaled columns to scores.
    y_rotations_ : ndarray of shape (n_targets, n_components)
        The same of the second table.
    x_scores_ : ndarray of shape (n_samples, n_components)
        Scores of the training rows; those of one table are orthogonal.
    y_scores_ : ndarray of shape (n_samples, n_components)
        The same of the second table.
    correlations_ : ndarray of shape (n_components,)
        Correlation of each pair of scores.
    components_ : ndarray of shape (n_components, n_features)
        From centred columns of the first table to scores: ``x_rotations_`` as rows, in the units of the table.
    mean_ : ndarray of shape (n_features,)
        Column means of the first table.
    n_components_ : int
        Number of pairs found.
    n_features_in_ : int
        Number of columns of the first table.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    PLSSB : All pairs at once, without deflation.
    CanonicalRidge : From covariance to correlation.
    PLSRegressor : To predict one table from the other.

    References
    ----------
    .. [1] Rosipal, R. and Kraemer, N. (2006). Overview and recent advances in partial least squares. In Subspace,
       Latent Structure and Feature Selection, LNCS 3940, 34-51.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from fewer.extract import PLSCanonical
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> model = PLSCanonical(2, scale=True).fit(X, Y)
    >>> model.correlations_.round(3)
    array([0.554, 0.396])
    >>> model.transform(X).shape, model.transform_y(Y).shape
    ((20, 2), (20, 2))
    """

    def __init__(self, n_components=2, scale=False):
        self.n_components = n_components
        self.scale = scale

    def _find_pairs(self, x: CentredTable, y: CentredTable) -> None:
        most = min(x.shape[0] - 1, x.shape[1], y.shape[1])
        wanted = most if self.n_components is None else min(self.n_components, most)
        of_x, of_y = canonical_components(x, y, wanted)
        self._number_of_components(
            of_y.weights.shape[1], "as many as the smaller table has columns, or fewer that go with the other"
        )
        self._keep_pairs(x, y, of_x.rotations, of_y.rotations, of_x.scores, of_y.scores)
        self.x_weights_, self.y_weights_ = of_x.weights.astype(x.dtype), of_y.weights.astype(x.dtype)
        self.x_loadings_, self.y_loadings_ = of_x.loadings.astype(x.dtype), of_y.loadings.astype(x.dtype)

    def transform(self, X: Any, y: Any = None) -> Any:
        """The first table along its directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the first table.
        y : Ignored
            Not used: ``transform_y`` is for the second table.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            One column for each direction.
        """
        return super().transform(X)


def pair_correlations(T: np.ndarray, U: np.ndarray) -> np.ndarray:
    """Correlation of each centred column of T with its partner in U; 0 where one is constant."""
    sizes = np.linalg.norm(T, axis=0) * np.linalg.norm(U, axis=0)
    products = np.einsum("nk,nk->k", T, U)
    return np.clip(np.divide(products, sizes, out=np.zeros_like(products), where=sizes > 0), -1, 1)


class Pairs(NamedTuple):
    """Rotations of both tables (columns, pairs), and the eigenvalues, decreasing."""

    x_rotations: np.ndarray
    y_rotations: np.ndarray
    eigenvalues: np.ndarray


class _Side(NamedTuple):
    """Rows in the coordinates F D U' (rows, directions), and the way of coordinates to columns, V F.

    Both are None where the columns serve as they are.
    """

    table: CentredTable
    rows: np.ndarray | None
    to_columns: np.ndarray | None

    @property
    def size(self) -> float:
        return self.table.size if self.rows is None else float(np.linalg.norm(self.rows))

    def of_columns(self, coordinates: np.ndarray) -> np.ndarray:
        """Directions in the columns."""
        return coordinates if self.to_columns is None else self.to_columns @ coordinates


def canonical_pairs(of_x: _Side, of_y: _Side) -> Pairs:
    """All pairs of directions of two centred tables; the largest entry of each x rotation is positive."""
    left, values, right = np.linalg.svd(_cross_products(of_x, of_y), full_matrices=False)
    kept = values > 1e-12 * of_x.size * of_y.size
    to_x, to_y = of_x.of_columns(left[:, kept]), of_y.of_columns(right[kept].T)
    signs = largest_signs(to_x)
    return Pairs(to_x * signs, to_y * signs, values[kept] ** 2)


def _cross_products(of_x: _Side, of_y: _Side) -> np.ndarray:
    if of_y.rows is None:
        return of_x.table.back(of_y.table.values) if of_x.rows is None else of_y.table.back(of_x.rows).T
    return of_x.table.back(of_y.rows) if of_x.rows is None else of_x.rows.T @ of_y.rows


def _side(table: CentredTable, gamma: float, n_other: int) -> _Side:
    """A table beside one with ``n_other`` columns."""
    if gamma == 1 and min(table.shape[1], n_other) <= table.shape[0]:
        # No whitening: the columns serve as they are, unless they and those of the other table are more than the rows.
        return _Side(table, None, None)
    rows, sizes, directions = _thin_svd_of(table)
    shrunk = 1 / np.sqrt((1 - gamma) * sizes**2 + gamma)
    return _Side(table, rows * (sizes * shrunk), directions * shrunk)


def _thin_svd_of(table: CentredTable) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U, d and V (columns, directions); of a sparse table from its products."""
    if not table.sparse:
        left, sizes, right = thin_svd(np.array(table.values, dtype=np.float64))
        return left, sizes, right.T
    if table.shape[1] > table.shape[0]:
        squares, left = positive_eigenpairs(table.row_products())
        sizes = np.sqrt(squares)
        return left, sizes, table.back(left) / sizes
    squares, right = positive_eigenpairs(table.column_products())
    sizes = np.sqrt(squares)
    return table.times(right) / sizes, sizes, right


@method(
    tasks=["regression"],
    when="Two tables about the same rows and correlations between them, where columns are many or nearly dependent: "
    "canonical correlations with a ridge.",
    cost="O(n p min(n, p) + n q min(n, q)) time for tables with p and q columns, O(n (p + q)) memory",
    paper="pls",
    examples=lambda: [CanonicalRidge(), CanonicalRidge(1, gamma_x=0.3, gamma_y=1.0, scale=True)],
)
class CanonicalRidge(TwoTableExtractor):
    """Pairs of directions of two tables, from largest correlation to largest covariance.

    Parameters
    ----------
    n_components : int, default=None
        Number of pairs; by default as many as there are.
    gamma_x, gamma_y : float, default=0.0
        From 0, where the variance of the scores of a table counts in full, to 1, where it does not matter: (0, 0) is
        canonical correlation analysis, (1, 1) is PLS-SB, and (1, 0) orthonormalised partial least squares. The
        scatter, a sum over rows, is mixed with the identity, ``(1 - gamma) X'X + gamma I``, so that columns count by
        their spread, and a small gamma already makes a difference in small tables.
    scale : bool, default=False
        Whether the columns of both tables are scaled to unit variance.

    Attributes
    ----------
    x_rotations_ : ndarray of shape (n_features, n_components)
        From centred and scaled columns to scores.
    y_rotations_ : ndarray of shape (n_targets, n_components)
        The same of the second table.
    x_scores_ : ndarray of shape (n_samples, n_components)
        Scores of the training rows.
    y_scores_ : ndarray of shape (n_samples, n_components)
        The same of the second table.
    correlations_ : ndarray of shape (n_components,)
        Correlation of each pair of scores; with both gammas at 0 the canonical correlations.
    eigenvalues_ : ndarray of shape (n_components,)
        What is maximised, decreasing; squares of the canonical correlations with both gammas at 0, and of the singular
        values of ``X'Y`` with both at 1.
    components_ : ndarray of shape (n_components, n_features)
        ``x_rotations_`` as rows, in the units of the table.
    mean_ : ndarray of shape (n_features,)
        Column means of the first table.
    n_components_ : int
        Number of pairs found.
    n_features_in_ : int
        Number of columns of the first table.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    PenalizedKernelCCA : With kernels.
    PLSSB : The end with covariance.

    References
    ----------
    .. [1] Rosipal, R. and Kraemer, N. (2006). Overview and recent advances in partial least squares. In Subspace,
       Latent Structure and Feature Selection, LNCS 3940, 34-51.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from fewer.extract import CanonicalRidge
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> CanonicalRidge().fit(X, Y).correlations_.round(3)
    array([0.796, 0.201, 0.073])
    """

    _parameter_constraints = {
        **TwoTableExtractor._parameter_constraints,
        "gamma_x": [Interval(Real, 0, 1, closed="both")],
        "gamma_y": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(self, n_components=None, gamma_x=0.0, gamma_y=0.0, scale=False):
        self.n_components = n_components
        self.gamma_x = gamma_x
        self.gamma_y = gamma_y
        self.scale = scale

    def _find_pairs(self, x: CentredTable, y: CentredTable) -> None:
        of_x = _side(x, float(self.gamma_x), y.shape[1])
        of_y = _side(y, float(self.gamma_y), x.shape[1])
        for side, gamma, name in ((of_x, self.gamma_x, "gamma_x"), (of_y, self.gamma_y, "gamma_y")):
            # As many independent columns as rows can separate.
            if gamma == 0 and side.rows is not None and side.rows.shape[1] >= len(side.rows) - 1:
                n_rows, n_columns = side.table.shape
                raise ValueError(
                    f"{n_columns} columns and {n_rows} rows: some combination of the columns fits anything, so that "
                    f"all correlations would be 1. Set {name} above 0, or take fewer columns or more rows."
                )
        found = canonical_pairs(of_x, of_y)
        n_kept = self._number_of_components(
            len(found.eigenvalues), "as many as there are directions that the tables have in common"
        )
        to_x, to_y = found.x_rotations[:, :n_kept], found.y_rotations[:, :n_kept]
        self._keep_pairs(x, y, to_x, to_y, x.times(to_x), y.times(to_y))
        self.eigenvalues_ = found.eigenvalues[:n_kept]


@method(
    tasks=["regression"],
    when="Two tables about the same rows, and a quick look at what varies together: one singular value decomposition "
    "of their cross-products.",
    cost="O(n p q + p q min(p, q)) time for tables with p and q columns, O(n (p + q) + p q) memory",
    paper="pls",
)
class PLSSB(CanonicalRidge):
    """Pairs of directions along which two tables vary together most, all at once.

    Parameters
    ----------
    n_components : int, default=None
        Number of pairs; by default as many as there are, which is the rank of ``X'Y``.
    scale : bool, default=False
        Whether the columns of both tables are scaled to unit variance.

    Attributes
    ----------
    x_weights_ : ndarray of shape (n_features, n_components)
        Singular vectors of ``X'Y`` of the centred and scaled tables.
    y_weights_ : ndarray of shape (n_targets, n_components)
        The same of the second table.
    x_rotations_ : ndarray of shape (n_features, n_components)
        The same: from centred and scaled columns to scores.
    y_rotations_ : ndarray of shape (n_targets, n_components)
        The same of the second table.
    x_scores_ : ndarray of shape (n_samples, n_components)
        Scores of the training rows; in general not orthogonal.
    y_scores_ : ndarray of shape (n_samples, n_components)
        The same of the second table.
    singular_values_ : ndarray of shape (n_components,)
        Singular values of ``X'Y``, decreasing.
    eigenvalues_ : ndarray of shape (n_components,)
        Their squares.
    correlations_ : ndarray of shape (n_components,)
        Correlation of each pair of scores.
    components_ : ndarray of shape (n_components, n_features)
        ``x_weights_`` as rows, in the units of the table.
    mean_ : ndarray of shape (n_features,)
        Column means of the first table.
    n_components_ : int
        Number of pairs found.
    n_features_in_ : int
        Number of columns of the first table.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    PLSCanonical : One pair after the other, with orthogonal scores.
    CanonicalRidge : From covariance to correlation.

    References
    ----------
    .. [1] Rosipal, R. and Kraemer, N. (2006). Overview and recent advances in partial least squares. In Subspace,
       Latent Structure and Feature Selection, LNCS 3940, 34-51.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from fewer.extract import PLSSB
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> PLSSB(scale=True).fit(X, Y).correlations_.round(3)
    array([0.554, 0.177, 0.072])
    """

    _parameter_constraints = TwoTableExtractor._parameter_constraints
    gamma_x = gamma_y = 1.0

    def __init__(self, n_components=None, scale=False):
        self.n_components = n_components
        self.scale = scale

    def _find_pairs(self, x: CentredTable, y: CentredTable) -> None:
        super()._find_pairs(x, y)
        self.x_weights_, self.y_weights_ = self.x_rotations_, self.y_rotations_
        self.singular_values_ = np.sqrt(self.eigenvalues_)
