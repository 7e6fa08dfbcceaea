"""Projection on random directions: ``x' = x A / sqrt(d)``, which keeps lengths and distances.

All keep the squared length of a row on average. With d directions,

- "gaussian" has entries ``N(0, 1 / d)``;
- "sign" has entries ``+-1 / sqrt(d)``, one bit each;
- "orthogonal" has directions at right angles, of length ``sqrt(p / d)``;
- "sparse" adds each of the p columns to s of the new ones, with signs ``+-1 / sqrt(s)``;
- "sparse_gaussian" has entries ``N(0, 1 / (q d))`` with probability q, and 0 otherwise, by which the Lasso can recover
  a sparse signal.

The variance of the squared length of a projected row x is ``2 |x|^4 / d`` for the first, and
``2 (|x|^4 - sum x_i^4) / d`` for signs, few or many: with a fixed number of entries for each column, the sparse ones
avoid the variance of a random number.

Each kind is stored in the form that takes least memory. For sparse signs, row j of ``codes`` lists the new columns that
the old column j goes to: twice the number of the new column, plus 1 if it is subtracted. (One unsigned number for both
stays in the nearest caches, and no index counts from the end.) The table is read once, about as fast as memory gives
it. The sums of a row are kept apart from ``out``, in the nearest cache, and written once; there they are checked to be
finite.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context, warn_caller
from fewer._kernels._arrays import in_threads
from fewer._kernels._numpy_lapack import solve_triangular
from fewer.catalogue import method
from fewer.datasets import make_sparsified_gaussian
from fewer.extract._extractor import Extractor
from fewer.extract.random_projection._dimensions import distortion_dim

_ABREAST = 8
"""Rows that are projected together. Their sums for one new column lie side by side, as vector instructions want."""


@njit(cache=True, nogil=True)
def project_rows(start, stop, places, X, codes, size, out, finite):
    """Write to ``out`` of (rows, new columns) the projection of a dense table by entries of ``size``."""
    n_columns = X.shape[1]
    n_targets = codes.shape[1]
    entries = np.array([size, -size], dtype=X.dtype)
    sums = np.empty((out.shape[1], _ABREAST), dtype=X.dtype)
    n_abreast = stop - (stop - start) % _ABREAST
    for first in range(start, n_abreast, _ABREAST):
        sums[:] = 0
        for column in range(n_columns):
            # All are read before any is written: the compiler cannot know that the arrays do not overlap.
            x0, x1, x2, x3 = X[first, column], X[first + 1, column], X[first + 2, column], X[first + 3, column]
            x4, x5, x6, x7 = X[first + 4, column], X[first + 5, column], X[first + 6, column], X[first + 7, column]
            for place in range(n_targets):
                code = codes[column, place]
                entry = entries[code & np.uint32(1)]
                s = sums[code >> np.uint32(1)]
                s0, s1, s2, s3 = s[0] + entry * x0, s[1] + entry * x1, s[2] + entry * x2, s[3] + entry * x3
                s4, s5, s6, s7 = s[4] + entry * x4, s[5] + entry * x5, s[6] + entry * x6, s[7] + entry * x7
                s[0], s[1], s[2], s[3] = s0, s1, s2, s3
                s[4], s[5], s[6], s[7] = s4, s5, s6, s7
        for row in range(_ABREAST):
            finite[first + row] = _write(sums[:, row], out[first + row])
    for row in range(n_abreast, stop):
        alone = np.zeros(out.shape[1], dtype=X.dtype)
        for column in range(n_columns):
            for place in range(n_targets):
                code = codes[column, place]
                alone[code >> np.uint32(1)] += entries[code & np.uint32(1)] * X[row, column]
        finite[row] = _write(alone, out[row])


@njit(cache=True, nogil=True)
def project_sparse_rows(start, stop, indptr, indices, data, codes, size, out, finite):
    """The same for a table in CSR form."""
    entries = np.array([size, -size], dtype=data.dtype)
    sums = np.empty(out.shape[1], dtype=data.dtype)
    for row in range(start, stop):
        sums[:] = 0
        first, last = np.uint64(indptr[row]), np.uint64(indptr[row + 1])
        for place in range(codes.shape[1]):
            for stored in range(first, last):
                code = codes[np.uint64(indices[stored]), place]
                sums[code >> np.uint32(1)] += entries[code & np.uint32(1)] * data[stored]
        finite[row] = _write(sums, out[row])


@njit(cache=True, nogil=True)
def _write(sums, out):
    finite = True
    for target in range(sums.size):
        out[target] = sums[target]
        finite &= np.isfinite(sums[target])
    return finite


_CELLS = 4_000_000
"""Entries that are unpacked at a time."""


@dataclass(frozen=True)
class DenseDirections:
    """All entries, of (columns, directions), with as many digits as they have or fewer."""

    entries: np.ndarray
    dtype: str  # of what comes out, by its name, which skops trusts

    @property
    def n_components(self) -> int:
        return self.entries.shape[1]

    def matrix(self) -> np.ndarray:
        """The directions as rows."""
        return self.entries.T.astype(self.dtype, copy=False)

    def project(self, X: Any) -> tuple[np.ndarray, bool]:
        if self.entries.dtype == X.dtype:
            return _and_whether_finite(X @ self.entries)
        parts = _projected_in_parts(X, self.n_components, lambda columns: self.entries[columns].astype(X.dtype))
        return _and_whether_finite(parts)


@dataclass(frozen=True)
class SignDirections:
    """One bit for each entry, of (columns, directions / 8)."""

    bits: np.ndarray
    n_components: int
    dtype: str

    def matrix(self) -> np.ndarray:
        """The directions as rows."""
        return self._signs(slice(None)).T / np.sqrt(self.n_components, dtype=self.dtype)

    def project(self, X: Any) -> tuple[np.ndarray, bool]:
        projected = _projected_in_parts(X, self.n_components, self._signs)
        projected /= math.sqrt(self.n_components)
        return _and_whether_finite(projected)

    def _signs(self, columns: slice) -> np.ndarray:
        signs = np.unpackbits(self.bits[columns], axis=1, count=self.n_components).astype(self.dtype)
        signs *= 2
        signs -= 1
        return signs


@dataclass(frozen=True)
class SparseDirections:
    """To which directions each column goes: twice their number, plus 1 if it is taken away, of (columns, n_nonzero)."""

    codes: np.ndarray
    n_components: int
    dtype: str

    @property
    def size(self) -> float:
        """Size of all entries."""
        return 1 / math.sqrt(self.codes.shape[1])

    def matrix(self) -> sparse.csr_array:
        """The directions as rows."""
        n_columns, n_nonzero = self.codes.shape
        entries = np.where(self.codes.ravel() & 1, -self.size, self.size).astype(self.dtype)
        columns = np.repeat(np.arange(n_columns), n_nonzero)
        where = ((self.codes.ravel() >> 1).astype(np.int64), columns)
        return sparse.csr_array((entries, where), shape=(self.n_components, n_columns))

    def project(self, X: Any) -> tuple[np.ndarray, bool]:
        projected = np.empty((X.shape[0], self.n_components), dtype=X.dtype)
        finite = np.empty(X.shape[0], dtype=bool)
        rest = (self.codes, self.size, projected, finite)
        n_columns, n_nonzero = self.codes.shape
        if sparse.issparse(X):
            in_threads(project_sparse_rows, X.indptr, X.indices, X.data, *rest, cost=n_nonzero)
        else:
            places = np.arange(X.shape[0] + 1)
            in_threads(project_rows, places, np.ascontiguousarray(X), *rest, cost=n_nonzero * n_columns)
        return projected, bool(finite.all())


@dataclass(frozen=True)
class SparseGaussianDirections:
    """Entries, their columns, and where each direction begins, as plain arrays: skops trusts no sparse matrix."""

    entries: np.ndarray
    columns: np.ndarray
    begins: np.ndarray
    n_columns: int
    dtype: str

    @property
    def n_components(self) -> int:
        return len(self.begins) - 1

    def matrix(self) -> sparse.csr_array:
        """The directions as rows."""
        return sparse.csr_array((self.entries, self.columns, self.begins), shape=(self.n_components, self.n_columns))

    def project(self, X: Any) -> tuple[Any, bool]:
        projected = X @ self.matrix().T
        return projected, bool(np.isfinite(projected.data if sparse.issparse(projected) else projected).all())


@dataclass(frozen=True)
class AllColumns:
    """The columns as they are."""

    n_components: int
    dtype: str

    def matrix(self) -> sparse.csr_array:
        """The directions as rows."""
        return sparse.eye_array(self.n_components, format="csr", dtype=self.dtype)

    def project(self, X: Any) -> tuple[Any, bool]:
        return X.copy(), bool(np.isfinite(X.data if sparse.issparse(X) else X).all())


Directions = DenseDirections | SignDirections | SparseDirections | SparseGaussianDirections | AllColumns


def drawn_directions(
    method: str,
    n_columns: int,
    n_components: int,
    n_nonzero: int,
    dtype: np.dtype,
    rng: np.random.Generator,
    density: float = 1.0,
) -> Directions:
    """Directions by a method; ``n_nonzero`` is for "sparse", ``density`` for "sparse_gaussian"."""
    if method == "gaussian":
        return DenseDirections(gaussian_entries(n_columns, n_components, rng), dtype.name)
    if method == "orthogonal":
        return DenseDirections(orthogonal_entries(n_columns, n_components, rng).astype(dtype), dtype.name)
    if method == "sign":
        bits = rng.integers(256, size=(n_columns, -(-n_components // 8)), dtype=np.uint8)
        return SignDirections(bits, n_components, dtype.name)
    if method == "sparse_gaussian":
        drawn = make_sparsified_gaussian(n_components, n_columns, density, random_state=int(rng.integers(2**31 - 1))).X
        entries = (drawn.data / math.sqrt(n_components)).astype(dtype)
        return SparseGaussianDirections(entries, drawn.indices, drawn.indptr, n_columns, dtype.name)
    return sparse_directions(n_columns, n_components, min(n_nonzero, n_components), dtype, rng)


def _and_whether_finite(projected: np.ndarray) -> tuple[np.ndarray, bool]:
    return projected, bool(np.isfinite(projected).all())


def _projected_in_parts(X: Any, n_components: int, entries: Callable[[slice], np.ndarray]) -> np.ndarray:
    """The product of a table with entries that are made for some columns at a time."""
    if sparse.issparse(X):
        X = X.tocsc()  # of which some columns are cheap to take
    projected = np.zeros((X.shape[0], n_components), dtype=X.dtype)
    for columns in gen_batches(X.shape[1], max(1, _CELLS // n_components)):
        projected += X[:, columns] @ entries(columns)
    return projected


def gaussian_entries(n_columns: int, n_components: int, rng: np.random.Generator) -> np.ndarray:
    """Normal entries with as many digits as chance needs: single precision is twice as fast to draw."""
    entries = rng.standard_normal((n_columns, n_components), dtype=np.float32)
    entries /= np.float32(math.sqrt(n_components))
    return entries


def orthogonal_entries(n_columns: int, n_components: int, rng: np.random.Generator) -> np.ndarray:
    """Directions at right angles, as columns."""
    drawn = rng.standard_normal((n_columns, n_components))
    if n_columns >= 2 * n_components:
        # So tall a matrix of normal entries is well conditioned, and its products lose no digits: much faster than QR.
        basis = solve_triangular(np.linalg.cholesky(drawn.T @ drawn), drawn.T).T
    else:
        basis, _ = np.linalg.qr(drawn)
    return basis * math.sqrt(n_columns / n_components)


def sparse_directions(
    n_columns: int, n_components: int, n_nonzero: int, dtype: np.dtype, rng: np.random.Generator
) -> SparseDirections:
    """One target in each of ``n_nonzero`` equal parts of the new columns, so that no two of a column's are the same."""
    edges = np.linspace(0, n_components, n_nonzero + 1).astype(np.int64)
    codes = rng.integers(2 * edges[:-1], 2 * edges[1:], size=(n_columns, n_nonzero))
    short = 2 * n_components <= 2**16
    return SparseDirections(codes.astype(np.uint16 if short else np.uint32), n_components, dtype.name)


@method(
    tasks=["unsupervised"],
    when="Very many columns, and what follows (neighbours, clusters, kernels, linear models with a wide margin) needs "
    "distances or angles only: no fit, no labels, a guarantee, and rows can come one by one.",
    cost='O(n p d) time for d new columns, O(n p) for "sparse"; O(p d) memory, a bit for each entry of "sign"',
    paper="random-projection",
    examples=lambda: [
        RandomProjection(n_components=3),
        RandomProjection(n_components=3, method="sign"),
        RandomProjection(n_components=3, method="orthogonal"),
        RandomProjection(n_components=3, method="sparse"),
        RandomProjection(n_components=3, method="sparse_gaussian", density=0.5),
        RandomProjection(),
    ],
)
class RandomProjection(Extractor):
    """Projection on random directions, as many as keep all distances.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of directions; "auto" for as many as keep the squared distances between all training rows within
        ``1 - eps`` and ``1 + eps``, see :func:`distortion_dim`. If that is no fewer than columns, these are kept as
        they are, with a warning. To keep classes apart rather than distances, give :func:`margin_dim`.
    method : {"gaussian", "sign", "orthogonal", "sparse", "sparse_gaussian"}, default="gaussian"
        Directions with normal entries; with entries of one size and random sign, which take a bit each; at right
        angles, which takes longest to draw; of few signs, by which a table is projected about as fast as it can be
        read from memory; or of few normal entries, from which the Lasso can recover a sparse signal.
    eps : float, default=0.1
        Distortion that "auto" allows, below 1.
    delta : float, default=0.05
        Chance that it is exceeded for some pair of rows.
    n_nonzero : int, default=2
        Number of new columns that each old one is added to, for "sparse". Raise it for rows in which a few entries are
        much larger than all others.
    density : float or "auto", default="auto"
        Probability that an entry is not zero, for "sparse_gaussian"; "auto" for ``1 / sqrt(n_features)``.
    random_state : int, RandomState instance or None, default=None
        Draws the directions.

    Attributes
    ----------
    components_ : {ndarray, csr_array} of shape (n_components, n_features)
        The directions; sparse for "sparse" and "sparse_gaussian", and where the columns are kept as they are.
    n_components_ : int
        Number of directions.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    LandmarkFeatures : The same in the space of a kernel.
    margin_report : How many directions keep the classes of a linear model apart.
    sklearn.random_projection.SparseRandomProjection : A random number of signs in each column.

    Notes
    -----
    ``fit`` looks at the shape of the table only, and ``transform`` at one row after the other: a table that comes in
    blocks is projected block by block after a fit on the first one. Give ``n_components`` then, for instance
    ``distortion_dim`` of all rows to come.

    The guarantee is for "gaussian", "sign" and "orthogonal". Squared distances by "sparse" have the variance of those
    by "sign", but tails that depend on the rows; so do those by "sparse_gaussian". It holds for rows that do not
    depend on the directions, not for some that were chosen by looking at them.

    Directions are drawn in no order: a smaller ``n_components`` gives others, not the first ones.

    References
    ----------
    .. [1] Blum, A. (2006). Random projection, margins, kernels, and feature-selection. Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 52-68.
    .. [2] Kane, D. M. and Nelson, J. (2014). Sparser Johnson-Lindenstrauss transforms. Journal of the ACM 61(1), 4.
    .. [3] Omidiran, D. and Wainwright, M. J. (2010). High-dimensional variable selection with sparse random
       projections: measurement sparsity and statistical efficiency. JMLR 11, 2361-2386.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.spatial.distance import pdist
    >>> from fewer.extract import RandomProjection
    >>> X = np.random.default_rng(0).normal(size=(50, 10_000))
    >>> shorter = RandomProjection(eps=0.2, random_state=0).fit_transform(X)
    >>> shorter.shape
    (50, 1350)
    >>> bool(np.abs(pdist(shorter, "sqeuclidean") / pdist(X, "sqeuclidean") - 1).max() < 0.2)
    True
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "method": [StrOptions({"gaussian", "sign", "orthogonal", "sparse", "sparse_gaussian"})],
        "eps": [Interval(Real, 0, 1, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "n_nonzero": [Interval(Integral, 1, None, closed="left")],
        "density": [Interval(Real, 0, 1, closed="right"), StrOptions({"auto"})],
        "random_state": ["random_state"],
    }

    _nested = False  # entries are scaled by the number of directions
    _takes_sparse = True

    def __init__(
        self,
        n_components="auto",
        *,
        method="gaussian",
        eps=0.1,
        delta=0.05,
        n_nonzero=2,
        density="auto",
        random_state=None,
    ):
        self.n_components = n_components
        self.method = method
        self.eps = eps
        self.delta = delta
        self.n_nonzero = n_nonzero
        self.density = density
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> "RandomProjection":
        """Draw the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table; only its shape and its precision are used.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = self._validated(X, accept_sparse="csr", ensure_min_samples=1)
        n_components = self._enough_directions(*X.shape)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        n_columns = X.shape[1]
        density = float(1 / np.sqrt(n_columns) if self.density == "auto" else self.density)
        self._directions = (
            AllColumns(n_columns, X.dtype.name)
            if n_components is None
            else drawn_directions(self.method, n_columns, n_components, self.n_nonzero, X.dtype, rng, density)
        )
        return self

    def _enough_directions(self, n_rows: int, n_columns: int) -> int | None:
        """How many directions to draw; None where that would save no columns."""
        if self.n_components != "auto":
            return self._number_of_components(n_columns, "as many as columns")
        enough = distortion_dim(n_rows, self.eps, self.delta)
        if enough < n_columns:
            return enough
        warn_caller(
            f"To keep distances between {n_rows:,} rows within eps={self.eps:g} takes {enough:,} random directions, "
            f"and there are {n_columns:,} columns; they are kept as they are. Raise eps, or give n_components."
        )
        return None

    def transform(self, X: Any) -> Any:
        """The table along the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        X_new : {ndarray, sparse matrix} of shape (n_samples, n_components)
            One column for each direction. Sparse only for a sparse table, with "sparse_gaussian" or if its columns are
            kept as they are.
        """
        check_is_fitted(self)
        options = {"reset": False, "accept_sparse": "csr"}
        # A product with NaN or infinity is none of a number, so that the few new columns show them: looking for them
        # in the table would take as long as projecting it.
        table = self._validated(X, ensure_all_finite=False, **options)
        with np.errstate(invalid="ignore", over="ignore"):
            projected, finite = self._directions.project(table)
        if not finite:
            self._validated(X, **options)
        return projected

    @property
    def n_components_(self) -> int:  # type: ignore[override]  # a fact about the directions rather than one more to set
        """Number of directions."""
        return self._directions.n_components

    @property
    def components_(self) -> Any:
        """The directions."""
        return self._directions.matrix()
