"""Directions along which normal classes differ most, in mean, in variance, or in both.

The first direction maximises the likelihood ratio of one normal distribution for each class against one for all,

    LR(a) = sum_k pi_k ( log a'S a - log a'S_k a ),

from many starts, in coordinates in which the total covariance S is I. The next ones maximise the same among directions
uncorrelated with those found ("orthogonal"), or after every class was given mean 0 and variance 1 along them
("removal") [1]_.
"""

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from fewer._estimators import Interval, StrOptions, fit_context, fit_steps, warn_caller
from fewer._kernels._numpy_lapack import solve_triangular
from fewer._kernels._scipy_solvers import minimize
from fewer.catalogue import method
from fewer.extract._centred_table import Coordinates, rank_tolerance, rows_along, uncorrelated
from fewer.extract.gaussian_directions._moments import (
    Moments,
    SlicedExtractor,
    group_moments,
    likelihood_ratio,
    likelihood_ratio_and_gradient,
    likelihood_ratio_hessian,
    refuse_flat_classes,
    save_kernel,
    shrunk,
)

_ALIKE = 0.99
_NEWTON_STEPS = 20
_NEAR = 1e-5  # from here on Newton steps are the shorter way


class Climb(NamedTuple):
    """Where a climb came to, as a unit vector."""

    direction: np.ndarray
    value: float
    slope: float
    n_iter: int


def climbs(moments: Moments, n_init: int, tol: float, max_iter: int, rng: np.random.RandomState) -> Iterator[Climb]:
    """The best climb so far, after each start."""
    identity = np.eye(moments.means.shape[1])
    best = None
    for start in _starts(moments, n_init, rng).T:
        found = _climbed(start, identity, moments, tol, max_iter)
        if best is None or found.value > best.value:
            best = found
        yield best


def _starts(moments: Moments, n_init: int, rng: np.random.RandomState) -> np.ndarray:
    """Of what the classes' axes, the means, SAVE and chance suggest, the most promising that are not alike."""
    n_dims = moments.means.shape[1]
    axes = [np.linalg.eigh(each)[1] for each in moments.covariances]
    between = np.linalg.eigh(moments.between)[1][:, -min(len(moments.priors) - 1, n_dims) :]
    save = np.linalg.eigh(save_kernel(moments.covariances, moments.priors))[1]
    chance = rng.standard_normal((n_dims, n_init))
    candidates = np.hstack([between, *axes, save, chance / np.linalg.norm(chance, axis=0)])
    order = np.argsort(
        -likelihood_ratio(candidates, np.eye(n_dims), moments.covariances, moments.priors), kind="stable"
    )
    chosen: list[int] = []
    for each in order:
        if len(chosen) == n_init:
            break
        if not chosen or np.abs(candidates[:, chosen].T @ candidates[:, each]).max() < _ALIKE:
            chosen.append(each)
    return candidates[:, chosen]


def _climbed(start: np.ndarray, total: np.ndarray, moments: Moments, tol: float, max_iter: int) -> Climb:
    def downhill(direction: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = likelihood_ratio_and_gradient(direction, total, moments.covariances, moments.priors)
        return -value, -gradient

    run = minimize(
        downhill, start, jac=True, method="L-BFGS-B", options={"maxiter": max_iter, "gtol": max(tol, _NEAR), "ftol": 0}
    )
    return _sharpened(run.x / np.linalg.norm(run.x), run.nit, max_iter, total, moments)


def _sharpened(direction: np.ndarray, n_iter: int, max_iter: int, total: np.ndarray, moments: Moments) -> Climb:
    """Newton steps, each kept only if it lowers the slope: near the top, values no longer differ between two points."""
    value, gradient = likelihood_ratio_and_gradient(direction, total, moments.covariances, moments.priors)
    slope = np.abs(gradient).max()
    for _ in range(min(_NEWTON_STEPS, max_iter - n_iter)):
        hessian = likelihood_ratio_hessian(direction, total, moments.covariances, moments.priors)
        # LR does not change along the direction itself: any curvature there makes the system solvable.
        step = np.linalg.lstsq(np.outer(direction, direction) - hessian, gradient, rcond=None)[0]
        moved = (direction + step) / np.linalg.norm(direction + step)
        moved_value, moved_gradient = likelihood_ratio_and_gradient(moved, total, moments.covariances, moments.priors)
        moved_slope = np.abs(moved_gradient).max()
        if not moved_slope < slope / 2 or moved_value < value - 1e-10:
            break
        direction, value, gradient, slope = moved, moved_value, moved_gradient, moved_slope
        n_iter += 1
    return Climb(direction, value, float(slope), n_iter)


SHRINKAGES = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0)
_CURE = "set shrinkage (0.1, or 'cv'), leave columns out, or have PCA as the step before."
_CURE_OF_POOLED = "shrinkage cannot help, as all classes together have none either: set alpha=0.01, or have PCA first."
_SETTLED = 1e-4


class Directions(NamedTuple):
    """Directions as columns of unit length, and the climb that led to each."""

    directions: np.ndarray
    climbs: list[Climb]
    stopped: bool


def lr_directions(
    moments: Moments,
    n_directions: int,
    method: str,
    *,
    n_init: int,
    tol: float,
    max_iter: int,
    rng: np.random.RandomState,
    on_climb: Callable[[int], bool] = lambda number: False,
) -> Directions:
    """Directions of decreasing likelihood ratio, one after the other; ``on_climb`` says whether to stop."""
    n_dims = moments.means.shape[1]
    found, history, stopped = np.empty((n_dims, 0)), [], False
    while found.shape[1] < n_directions and not stopped:
        free = (
            np.eye(n_dims) if method == "removal" or not found.size else np.linalg.svd(found.T)[2][found.shape[1] :].T
        )
        here = moments.along(free)
        to_unit = _inverse_root(here.total)
        for climb in climbs(here.along(to_unit), n_init, tol, max_iter, rng):
            best, stopped = climb, on_climb(found.shape[1])
            if stopped:
                break
        direction = free @ to_unit @ best.direction
        history.append(best)
        found = np.column_stack([found, direction / np.linalg.norm(direction)])
        if method == "removal":
            moments = without(moments, direction)
    return Directions(found, history, stopped)


def without(moments: Moments, direction: np.ndarray) -> Moments:
    """Moments after every class was given mean 0 and variance 1 along a direction of unit total variance.

    A row z of class k moves to ``z + (h_k(t) - t) v`` with ``t = a'z``, ``h_k(t) = (t - m_k) / s_k`` and ``v = S a``.
    """
    moving = moments.total @ direction
    spreads = np.sqrt(np.einsum("i,kij,j->k", direction, moments.covariances, direction))
    moves = np.eye(len(direction)) + (1 / spreads - 1)[:, None, None] * np.outer(moving, direction)
    means = moments.means - np.outer(moments.means @ direction, moving)
    return Moments(moments.priors, means, moves @ moments.covariances @ moves.transpose(0, 2, 1))


def chosen_shrinkage(
    Z: np.ndarray, codes: np.ndarray, alpha: float, directions_of: Callable[[Moments], np.ndarray]
) -> float:
    """Shrinkage whose directions, with a normal distribution for each class along them, classify held-out rows best.

    The score is the mean log probability of the right class over five folds.
    """
    everything = Coordinates(np.zeros(Z.shape[1]), np.eye(Z.shape[1]))
    n_folds = min(5, np.bincount(codes).min())
    if n_folds < 2:
        raise ValueError("shrinkage='cv' needs two rows or more of each class; give a number instead.")
    totals = np.zeros(len(SHRINKAGES))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    for seen, unseen in folds.split(Z, codes):
        centre = Z[seen].mean(axis=0)
        moments = group_moments(Z[seen] - centre, codes[seen], everything)
        for number, shrinkage in enumerate(SHRINKAGES):
            regular = shrunk(moments, shrinkage, alpha)
            if min(np.linalg.eigvalsh(each)[0] for each in regular.covariances) <= 1e-10:
                totals[number] = -np.inf
                continue
            directions = directions_of(regular)
            posterior = log_posterior((Z[unseen] - centre) @ directions, regular.along(directions))
            totals[number] += posterior[np.arange(len(unseen)), codes[unseen]].sum()
    if not np.isfinite(totals.max()):
        raise ValueError(f"No class has a covariance that can be inverted; {_CURE_OF_POOLED}")
    return SHRINKAGES[int(totals.argmax())]


def log_posterior(rows: np.ndarray, moments: Moments) -> np.ndarray:
    """Log probability of each class for rows, if each is normal."""
    joint = np.empty((len(rows), len(moments.priors)))
    for number, (mean, covariance) in enumerate(zip(moments.means, moments.covariances, strict=True)):
        root = np.linalg.cholesky(covariance)
        away = solve_triangular(root, (rows - mean).T)
        joint[:, number] = -0.5 * np.sum(away**2, axis=0) - np.log(np.diag(root)).sum()
    joint += np.log(moments.priors)
    return joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)


def _inverse_root(covariance: np.ndarray) -> np.ndarray:
    variances, axes = np.linalg.eigh(covariance)
    return axes / np.sqrt(variances)


@method(
    tasks=["classification", "regression"],
    when="Classes differ in spread or correlation as well as in mean, so that LDA misses directions or has too few.",
    cost="O(n p^2 + r k (c p^2 + p^3)) time for c classes and r restarts; O(n p + c p^2) memory",
    paper="zhu-qda-save-cpc",
)
class GaussianLRDiscriminant(CallbackSupportMixin, SlicedExtractor):
    """Directions along which normal classes with their own means and covariances differ most, by likelihood ratio.

    Parameters
    ----------
    n_components : int, default=2
        Number of directions, up to that of the columns; None for all.
    method : {"orthogonal", "removal"}, default="orthogonal"
        How the next direction is kept from being the same again. "orthogonal" looks among those uncorrelated with what
        was found; "removal" gives every class mean 0 and variance 1 along what was found, and looks anywhere.
    whiten : bool, default=True
        Directions are uncorrelated over all rows, and new columns have unit variance. Otherwise directions are
        orthogonal and of unit length in the units of the table; the first one is the same.
    shrinkage : float in [0, 1] or "cv", default=None
        Shrinks the covariance of each class towards the pooled one; 1 is LDA. "cv" chooses it by the classification of
        held-out rows. Needed where a class has no more rows than the table has columns.
    n_init : int, default=10
        Number of starts for each direction: the most promising of what LDA, SAVE, the axes of the classes and chance
        suggest.
    tol : float, default=1e-8
        A search ends when no entry of the gradient is larger.
    max_iter : int, default=200
        Maximum number of steps of a search.
    random_state : int, RandomState or None, default=None
        Draws the random starts.
    n_slices : int, default=None
        Number of slices of a numeric target. By default its values are classes if they are whole numbers with repeats,
        and are cut into ten slices otherwise, fewer where these would have fewer rows than twice the columns.
    alpha : float, default=0.0
        Adds this share of the mean variance within classes to all variances.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The directions.
    scores_ : ndarray of shape (n_components,)
        Likelihood ratio of each direction, for a row, when it was found.
    classes_ : ndarray of shape (n_classes,)
        The classes, or the mean target of each slice.
    mean_ : ndarray of shape (n_features,)
        Column means of the training table.
    whitening_ : ndarray of shape (n_features, n_dimensions)
        From centred rows to the coordinates in which the search took place.
    shrinkage_ : float
        The shrinkage used.
    n_iter_ : int
        Steps of the longest search.
    n_components_ : int
        Number of directions.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    SAVE : By one eigendecomposition; gives differences in spread too much weight.
    SIR : Sees differences in mean only.
    CPCDiscriminant : All directions at once, where classes have their axes in common.

    Notes
    -----
    With equal covariances the directions are those of LDA, and with any there may be more of them than classes. The
    gradient and Hessian of the criterion are those of its definition; the source prints them without some factors 2.

    References
    ----------
    .. [1] Zhu, M. (2001). Feature extraction and dimension reduction with applications to classification and the
       analysis of co-occurrence data. PhD dissertation, Stanford University, chapter 5.

    Examples
    --------
    One class lies within the other, so that the means do not differ:

    >>> import numpy as np
    >>> from fewer.extract import GaussianLRDiscriminant
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["inner", "outer"], 500)
    >>> X = rng.normal(size=(1000, 4)) * np.where((y == "outer")[:, None], [1, 1, 3, 1], 1)
    >>> model = GaussianLRDiscriminant(1, random_state=0).fit(X, y)
    >>> np.abs(model.components_).round(1)
    array([[0. , 0. , 0.4, 0. ]])
    """

    _parameter_constraints = {
        **SlicedExtractor._parameter_constraints,
        "method": [StrOptions({"orthogonal", "removal"})],
        "whiten": ["boolean"],
        "shrinkage": [Interval(Real, 0, 1, closed="both"), StrOptions({"cv"}), None],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components=2,
        method="orthogonal",
        whiten=True,
        shrinkage=None,
        n_init=10,
        tol=1e-8,
        max_iter=200,
        random_state=None,
        n_slices=None,
        alpha=0.0,
    ):
        self.n_components = n_components
        self.method = method
        self.whiten = whiten
        self.shrinkage = shrinkage
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_slices = n_slices
        self.alpha = alpha

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Find the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes, or numbers.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, codes = self._sliced(X, y, with_covariances=not (self.shrinkage or self.alpha))
        coordinates = uncorrelated(X, unit_variance=self.whiten)
        n_dims = coordinates.to.shape[1]
        n_directions = self._number_of_components(n_dims, "the dimensions of the table")
        self.shrinkage_ = self._shrinkage(X, codes, coordinates, n_directions)
        moments = shrunk(group_moments(X, codes, coordinates), self.shrinkage_, self.alpha)
        cure = _CURE if self.shrinkage_ == 0 else _CURE_OF_POOLED
        refuse_flat_classes(moments, self.classes_, np.bincount(codes), rank_tolerance(X), cure)
        with fit_steps(self, X, y) as after_step:
            found = self._directions(
                moments, n_directions, on_climb=lambda number: after_step(f"climb towards direction {number}")
            )
            self.scores_ = np.array([climb.value for climb in found.climbs])
            self.n_iter_ = max(1, *(climb.n_iter for climb in found.climbs), 1)
            self._keep(coordinates, found.directions, X.dtype)
        if not found.stopped:
            self._warn_unless_settled(found.climbs)
        return self

    def _directions(self, moments: Moments, n_directions: int, **options: Any) -> Directions:
        return lr_directions(
            moments,
            n_directions,
            self.method,
            n_init=self.n_init,
            tol=self.tol,
            max_iter=self.max_iter,
            rng=check_random_state(self.random_state),
            **options,
        )

    def _shrinkage(self, X: Any, codes: np.ndarray, coordinates: Coordinates, n_directions: int) -> float:
        if self.shrinkage != "cv":
            return float(self.shrinkage or 0)
        rows = rows_along(X, coordinates).astype(np.float64)
        return chosen_shrinkage(
            rows, codes, self.alpha, lambda moments: self._directions(moments, n_directions).directions
        )

    def _warn_unless_settled(self, history: list[Climb]) -> None:
        worst = max(range(len(history)), key=lambda number: history[number].slope)
        if history[worst].slope > max(self.tol, _SETTLED):
            warn_caller(
                f"The climb towards direction {worst} ended after {history[worst].n_iter} steps with a gradient of "
                f"{history[worst].slope:.1e}; tol={self.tol:g} was asked for. Raise max_iter.",
                ConvergenceWarning,
            )
