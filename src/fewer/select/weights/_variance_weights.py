"""Weights for the columns under which a few directions hold as much variance as possible.

With unit columns m_j and weights a, ``A(a) = sum_j a_j m_j m_j'`` has eigenvalues s_1 >= s_2 >= ..., the variances
along the principal directions of the weighted table. The weights maximise

    s_1^2 + ... + s_k^2    subject to ||a|| = 1.

*Direct*: with all directions the sum is ``a' H a``, where ``H_ij = (m_i' m_j)^2``, and its maximum the leading
eigenvector of H. *Q-alpha*: with k directions Q it is ``a' G a``, where ``G_ij = (m_i' m_j) (m_i' Q Q' m_j)``; Q and a
are improved in turn, and the sum never falls.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from fewer._estimators import Interval, StrOptions, fit_context, fit_steps, warn_caller
from fewer._kernels._numpy_lapack import largest_eigh
from fewer._kernels._one_thread import one_thread
from fewer._kernels._scipy_solvers import eigsh
from fewer.catalogue import method
from fewer.select.weights._unit_columns import (
    ColumnScale,
    UnitColumns,
    correlations,
    is_small,
    leading_eigenvector,
    unit_columns,
    varying_part,
)
from fewer.select.weights._weight_selector import WeightSelector

MATRIX_FREE = 2000
"""With more columns than this, and than there are rows, the matrix of squared correlations is not made."""

# Up to here all eigenvectors over the rows take no longer than some Lanczos steps.
_FEW_ROWS = 500

OnStep = Callable[[Callable[[], np.ndarray], float], bool]


class Weighting(NamedTuple):
    """Weights of length one, the objective after each step, and whether it had settled."""

    weights: np.ndarray
    path: list[float]
    converged: bool


def never(weights: Callable[[], np.ndarray], objective: float) -> bool:
    """The step callback that never stops."""
    return False


def eigenvector_tolerance(precision: float) -> float:
    """Residual at which an eigenvector has settled: 2e-12 in double precision, 6e-6 in single."""
    return float(precision**0.75)


def direct_weights(X: Any, scale: ColumnScale, on_step: OnStep = never) -> Weighting:
    """Leading eigenvector of the squared correlations; a step is one product with them."""
    n_rows, n_columns = X.shape
    if n_columns <= max(MATRIX_FREE, n_rows):
        squared = correlations(X, scale)
        squared **= 2
        return _leading_of_squared(lambda vector: squared @ vector, n_columns, np.finfo(X.dtype).eps, on_step)
    return direct_weights_of(unit_columns(X, scale), on_step)


def direct_weights_of(table: UnitColumns, on_step: OnStep = never) -> Weighting:
    """The same without the matrix, by O(p n^2) a product."""
    return _leading_of_squared(table.squared_correlation_product, table.n_columns, table.precision, on_step)


def _leading_of_squared(
    product: Callable[[np.ndarray], np.ndarray], n_columns: int, precision: float, on_step: OnStep
) -> Weighting:
    # The matrix has no negative entry, nor has its leading eigenvector: a positive start cannot miss it.
    start = product(np.ones(n_columns))
    found = leading_eigenvector(product, start, tol=eigenvector_tolerance(precision), on_step=on_step)
    weights = np.maximum(found.vector, 0)  # rounding
    return Weighting(weights / np.linalg.norm(weights), found.path, found.converged)


def principal_directions(table: UnitColumns, weights: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues of ``A(a)``, largest first, and their eigenvectors."""
    n_rows = table.n_rows
    if n_rows <= max(_FEW_ROWS, 4 * k):
        gram = table.gram(weights).astype(np.float64, copy=False)
        values, vectors = largest_eigh(gram, k)
    else:
        operator = LinearOperator(
            (n_rows, n_rows), lambda vector: table.combined(weights * table.along(vector.ravel())), dtype=np.float64
        )
        values, vectors = eigsh(operator, k, which="LA", v0=np.cos(np.arange(n_rows, dtype=float)))
    return values[::-1], vectors[:, ::-1]


def random_directions(table: UnitColumns, k: int, rng: np.random.RandomState) -> np.ndarray:
    """Orthonormal directions over the rows, uniformly drawn."""
    return np.linalg.qr(rng.normal(size=(table.n_rows, k)))[0]


def q_alpha_weights(
    table: UnitColumns,
    directions: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    max_iter: int,
    tol: float,
    on_step: OnStep = never,
) -> Weighting:
    """Weights and directions in turn, from a start for the directions, and where known the weights that gave them."""
    k = directions.shape[1]
    path: list[float] = []
    for _ in range(max_iter):
        weights = weights_for(table, directions, weights)
        variances, directions = principal_directions(table, weights, k)
        path.append(float(np.sum(variances**2)))
        converged = len(path) > 1 and path[-1] - path[-2] <= tol * path[-1]
        stopped = on_step(lambda weights=weights: weights, path[-1])  # type: ignore[misc]
        if converged or stopped:
            break
    assert weights is not None
    return Weighting(weights, path, converged)


def weights_for(table: UnitColumns, directions: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Best weights for given directions Q: the leading eigenvector of G, by O(n p k) a product."""
    along = table.along(directions)

    def product(vector: np.ndarray) -> np.ndarray:
        return np.einsum("ij,ij->i", table.along(table.combined(vector[:, None] * along)), along)

    start = np.einsum("ij,ij->i", along, along).astype(np.float64)
    start /= np.linalg.norm(start)
    if weights is not None:
        start += weights
    return leading_eigenvector(product, start, tol=eigenvector_tolerance(table.precision)).vector


@method(
    tasks=["unsupervised"],
    when="Most columns are noise, those that matter move together, and the rows have no labels (or too few to trust): "
    "before PCA, clustering or nearest neighbours. Not when columns that matter are unrelated to one another.",
    cost="O(n p^2) up to 2,000 columns; beyond, O(n^2 p) a product without the p x p matrix, some 10 products. "
    "Iterative: O(n p k) a product, some 100 products.",
    paper="wolf-bileschi",
    examples=lambda: [VarianceWeightSelector(), VarianceWeightSelector(method="iterative")],
)
class VarianceWeightSelector(CallbackSupportMixin, WeightSelector):
    """Weight columns so that a few directions hold as much of the variance as possible.

    Every column is centred and scaled to norm one, so that none has more variance than another. The weights, of length
    one together, maximise the sum of the squared variances along the principal directions of the weighted table. They
    are high for columns that move together with many others, and low for noise. No labels are used.

    Parameters
    ----------
    method : {"direct", "iterative"}, default="direct"
        "direct" looks at all directions: one eigenvector, the same in every run, with soft weights. "iterative"
        (Q-alpha) looks at the first ``n_directions`` only, and gives sharper, nearly sparse weights.
    n_directions : int, default=2
        Directions that should hold the variance, when iterative; at most as many as the table has.
    init : {"direct", "random", "pca"}, default="direct"
        Where the iteration starts: from the direct weights, from random directions, or from the principal directions
        of the unweighted table. It finds a local maximum, and every column alone is nearly one, so that a single random
        start often ends in noise.
    n_init : int, default=10
        Random starts, of which the best is kept. The other starts are run once.
    max_iter : int, default=100
        Iterations of a start at most.
    tol : float, default=1e-9
        Stop when the objective rises by less than this share of it.
    threshold : float or None, default=None
        Keep only columns with at least this weight; if there is none, the best one, with a warning. Equal weights would
        be ``1 / sqrt(n_features)``.
    n_features_to_select : int or None, default=None
        Number of columns to keep, those with the highest weights; all of them, with a warning, if the table has fewer.
    with_mean : bool, default=True
        Whether ``transform`` takes off the mean. Without it a sparse table stays sparse, and distances are the same.
    random_state : int, RandomState instance or None, default=None
        Draws random starts.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features,)
        Weight of each column; their squares sum to one. The direct ones are never negative; iterative ones may be
        slightly so, and count as zero in ``transform``.
    scores_ : ndarray of shape (n_features,)
        The same as ``weights_``.
    ranking_ : ndarray of shape (n_features,)
        Place of each column, 1 for the highest weight.
    n_features_to_select_ : int
        Columns kept.
    objective_ : float
        Sum of the squared variances along the directions.
    objective_path_ : ndarray of shape (n_iter,)
        The objective after every iteration of the best start.
    n_iter_ : int
        Iterations of the best start; for "direct", products of the eigenvalue solver.
    mean_ : ndarray of shape (n_features,)
        Column means of the training table.
    norm_ : ndarray of shape (n_features,)
        Norms of its columns about the mean; 0 for constant ones, which are left out.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    FisherWeightSelector : Weights from labels, for tables with more columns than rows.
    WeightedPCA : These weights, then principal components.

    Notes
    -----
    The direct weights have little contrast when noise outweighs what is there: with g columns that correlate by r among
    p, roughly when ``(g - 1) r^2 < (p - g - 1) / (n - 1)``. The ranking is often still right; the iterative weights
    then tell the two apart.

    The weights depend on the axes, by design: rotated columns get other weights. Columns that mean something, such as
    wavelets of an image, profit more than pixels.

    References
    ----------
    .. [1] Wolf, L. and Bileschi, S. (2005). Combining variable selection with dimensionality reduction. MIT CSAIL
       technical report 2005-019.
    .. [2] Wolf, L. and Shashua, A. (2003). Direct feature selection with implicit inference. Proceedings of ICCV.

    Examples
    --------
    >>> from fewer.datasets import make_permuted_clusters
    >>> from fewer.select import VarianceWeightSelector
    >>> X, _, truth = make_permuted_clusters(random_state=0)
    >>> selector = VarianceWeightSelector(method="iterative", n_features_to_select=3).fit(X)
    >>> selector.get_support(indices=True)
    array([0, 1, 2])
    >>> selector.weights_[:6].round(2)
    array([0.57, 0.57, 0.57, 0.  , 0.  , 0.01])
    """

    _takes_sparse = True
    _parameter_constraints = {
        "method": [StrOptions({"direct", "iterative"})],
        "n_directions": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"direct", "random", "pca"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "threshold": [Interval(Real, 0, None, closed="left"), None],
        "n_features_to_select": [Interval(Integral, 1, None, closed="left"), None],
        "with_mean": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        method="direct",
        *,
        n_directions=2,
        init="direct",
        n_init=10,
        max_iter=100,
        tol=1e-9,
        threshold=None,
        n_features_to_select=None,
        with_mean=True,
        random_state=None,
    ):
        self.method = method
        self.n_directions = n_directions
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.threshold = threshold
        self.n_features_to_select = n_features_to_select
        self.with_mean = with_mean
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X = self._validated(X, "no_validation", accept_sparse=("csr", "csc"))
        scale = self._scale_of(X)
        varying, varying_scale = varying_part(X, scale)
        with fit_steps(self, X, n_steps=self.max_iter if self._runs_once() else None) as after_step:
            stopped = Stop(
                lambda weights, objective: after_step(f"{self.method}-step", lambda: self._attributes(weights(), scale))
            )
            with one_thread("blas", when=is_small(X)):
                if self.method == "direct":
                    found = direct_weights(varying, varying_scale, stopped)
                else:
                    found = self._iterated(varying, varying_scale, stopped)
            self._keep(found.weights, scale)
            self.objective_ = found.path[-1]
            self.objective_path_ = np.array(found.path)
            self.n_iter_ = len(found.path)
        if not (found.converged or stopped.asked):
            self._warn_of_moving(found)
        return self

    def _runs_once(self) -> bool:
        return self.method == "iterative" and (self.init != "random" or self.n_init == 1)

    def _iterated(self, X: Any, scale: ColumnScale, stopped: "Stop") -> Weighting:
        """The best of the starts."""
        table = unit_columns(X, scale)
        # Taking off the means costs one direction of the rows.
        k = min(self.n_directions, max(1, min(X.shape[0] - 1, X.shape[1])))
        settings = {"max_iter": self.max_iter, "tol": self.tol, "on_step": stopped}
        if self.init != "random":
            start = direct_weights(X, scale).weights if self.init == "direct" else equal_weights(table)
            _, directions = principal_directions(table, start, k)
            return q_alpha_weights(table, directions, start, **settings)
        rng = check_random_state(self.random_state)
        best = None
        for _ in range(self.n_init):
            found = q_alpha_weights(table, random_directions(table, k, rng), **settings)
            if best is None or found.path[-1] > best.path[-1]:
                best = found
            if stopped.asked:
                break
        assert best is not None
        return best

    def _warn_of_moving(self, found: Weighting) -> None:
        rise = (found.path[-1] - found.path[-2]) / found.path[-1] if len(found.path) > 1 else 1.0
        cure = "Raise max_iter, or tol" if self.method == "iterative" else "Two columns or groups may be equally good"
        warn_caller(
            f"The weights still moved after {len(found.path)} iterations: the objective, {found.path[-1]:.6g}, rose by "
            f"{rise:.1g} of it in the last. {cure}.",
            ConvergenceWarning,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


class Stop:
    """A step callback that remembers whether it said stop."""

    def __init__(self, on_step: Callable[[Callable[[], np.ndarray], float], bool]):
        self.on_step = on_step
        self.asked = False

    def __call__(self, weights: Callable[[], np.ndarray], objective: float) -> bool:
        self.asked = bool(self.on_step(weights, objective))
        return self.asked


def equal_weights(table: UnitColumns) -> np.ndarray:
    return np.full(table.n_columns, 1 / np.sqrt(table.n_columns))
