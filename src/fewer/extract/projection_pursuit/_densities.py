"""Densities by projection pursuit: forward, a normal one times ridge functions; backward, by making the rows normal.

Forward: ``p_M(x) = p_0(x) prod_m f_m(a_m'x)``, with p_0 the normal density of the table's mean and covariance. Step m
takes the direction along which the model so far is furthest from the rows: ``mean_j ln f_m(a'x_j)`` is largest, with
f_m the density of the rows over that of the model there.

Backward: step m takes the direction a_m along which the rows are furthest from standard normal, and maps them there to
normal values: ``x <- x + (g_m(a_m'x) - a_m'x) a_m`` with ``g_m = Phi^(-1) o F_m``. All steps together are a smooth
map r to nearly normal rows, so that ``ln p(x) = ln n(r(x)) + sum_m ln g_m'(z_m)``, z_m being ``a_m'x`` before step m.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context, fit_steps
from fewer.catalogue import method
from fewer.extract._extractor import Extractor, LinearExtractor
from fewer.extract.projection_pursuit._density_models import (
    NormalMap,
    RidgeModel,
    drawn_rows,
    log_factors,
    made_normal,
    normal_map,
    normal_points,
    ridge_grid,
)
from fewer.extract.projection_pursuit._search import (
    Criterion,
    Effort,
    Found,
    Search,
    Sphere,
    along,
    axis_starts,
    best_direction,
    kernel_width,
    non_normal_starts,
    random_starts,
    sphere_of,
    surprise_of_normal,
    warn_of_lost_dimensions,
    warn_unfinished,
)


class PursuitDensity(CallbackSupportMixin, DensityMixin, Extractor):
    """Base: sphered rows, a model of them that is found direction by direction, log-densities and new rows."""

    _parameter_constraints = {
        "n_ridges": [Interval(Integral, 1, None, closed="left")],
        "bandwidth": [StrOptions({"normal_reference"}), Interval(Real, 0, None, closed="neither")],
        "oversmooth": [Interval(Real, 0, None, closed="neither")],
        "n_init": [Interval(Integral, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    whitening_: np.ndarray
    mean_: np.ndarray

    @property
    def _takes_sparse(self) -> bool:
        return True

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the directions, and the function or map along each.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted density.
        """
        X = self._validated(X)
        sphere = sphere_of(X)
        warn_of_lost_dimensions(sphere, X, type(self).__name__)
        Z = sphere.coordinates(X)
        width = kernel_width(len(Z), self.bandwidth, self.oversmooth)
        effort = Effort(self.max_iter, self._search_tol, self.n_jobs)
        rng = check_random_state(self.random_state)
        with fit_steps(self, X) as after_step:
            found = self._fit_sphered(Z, width, effort, rng, lambda: after_step("start"))
            self.whitening_ = sphere.to_sphere.astype(X.dtype)
            self.mean_ = np.asarray(sphere.mean, dtype=X.dtype)
            self._sphere_from = sphere.from_sphere
            self._log_volume = sphere.log_volume
            self._keep_columns(sphere)
            self.gain_ = np.array([one.value for one in found])
            self.n_iter_ = max([1, *(one.n_iter for one in found)])
        warn_unfinished(found, effort)
        return self

    def _sphered(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return Sphere(self.mean_, self.whitening_, self._sphere_from).coordinates(self._validated(X, reset=False))

    def _in_columns(self, Z: np.ndarray) -> np.ndarray:
        """Sphered rows in the columns of the table."""
        return (Z @ self._sphere_from + self.mean_).astype(self.mean_.dtype)

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-density at rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            One number for each row.
        """
        Z, gains = self._normal_rows(X)
        normal = -0.5 * (np.einsum("ij,ij->i", Z, Z) + Z.shape[1] * np.log(2 * np.pi))
        return normal + gains - self._log_volume

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-density of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.
        y : Ignored
            Not used.

        Returns
        -------
        score : float
            The larger, the better the density fits the rows.
        """
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw new rows from the density.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState or None, default=None
            Draws them; None for that of the estimator.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            The rows.
        """
        check_is_fitted(self)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        return self._in_columns(self._drawn(n_samples, rng))


class Growth(NamedTuple):
    """The density reached, and what each of its directions added."""

    model: RidgeModel
    found: list[Found]


def grown(
    Z: np.ndarray,
    n_ridges: int,
    points: np.ndarray,
    width: float,
    n_init: int,
    effort: Effort,
    rng: np.random.RandomState,
    on_step: Callable[[], bool] = lambda: False,
) -> Growth:
    """A density of sphered rows with so many functions along directions."""
    model = RidgeModel.normal(points)
    everything = np.eye(Z.shape[1])
    shaped = [*non_normal_starts(Z), *axis_starts(Z, surprise_of_normal(len(Z), width))]
    found: list[Found] = []
    left_over: list[np.ndarray] = []
    while len(found) < n_ridges:
        starts = [*shaped, *left_over[:2], *random_starts(n_init, Z.shape[1], rng)]
        search = best_direction(_gain_along(Z, model, width), starts, everything, effort, on_step)
        direction = search.best.direction
        found.append(search.best)
        left_over = search.ends[1:]
        values = Z @ direction
        grid = ridge_grid(values, width)
        model.grow(direction, grid, model.ridge(direction, values, width, grid), rng)
        if search.stopped:
            break
    return Growth(model, found)


def _gain_along(Z: np.ndarray, model: RidgeModel, width: float) -> Criterion:
    def criterion(direction: np.ndarray) -> tuple[float, np.ndarray]:
        gain, slopes, drawn_slopes = model.gain(Z @ direction, model.points @ direction, width)
        return gain / len(Z), (slopes @ Z + drawn_slopes @ model.points) / len(Z)

    return criterion


@method(
    tasks=["unsupervised"],
    when="The density of a table with up to some ten columns and clusters, gaps or skewness along a few directions, "
    "for outliers, new rows or a look at its structure. Kernel densities need ever more rows with each column.",
    cost="O(s t (n + m) (p + c)) time for each ridge, for s starts of t steps, m Monte Carlo points and a constant c "
    "for the grid; O((n + m) p) memory",
    paper="zhu-reduced-rank-npda",
    examples=lambda: [ForwardProjectionPursuitDensity(n_ridges=2, n_draws=300, n_init=1, max_iter=10)],
)
class ForwardProjectionPursuitDensity(PursuitDensity, LinearExtractor):
    """A density: a normal one, corrected along the directions where it is furthest from the rows.

    Parameters
    ----------
    n_ridges : int, default=5
        Number of corrections. Too many fit noise: compare the mean of ``score_samples`` of held-out rows.
    n_draws : int, default=20000
        Points drawn from the normal density, by which the density of the model along a direction is estimated.
    bandwidth : 'normal_reference' or float, default='normal_reference'
        Kernel width in standard deviations; by default ``oversmooth n^(-1/5)``.
    oversmooth : float, default=1.06
        Factor of the kernel width; 1.06 is best for a normal density, and one with several modes asks for less.
    n_init : int, default=5
        Random directions to start from, beside those of extreme kurtosis and of single columns.
    max_iter : int, default=60
        Maximum number of steps of one search.
    tol : float, default=1e-6
        A search ends when it gains less than this, or its slope is below it.
    n_jobs : int or None, default=None
        Threads for the starts; None for one.
    random_state : int, RandomState or None, default=None
        Draws the points and the random starts.

    Attributes
    ----------
    directions_ : ndarray of shape (n_ridges, n_features)
        Directions, in the order in which they were found and scaled to unit variance along them.
    components_ : ndarray of shape (n_ridges, n_features)
        The same.
    ridge_grid_ : ndarray of shape (n_ridges, n_nodes)
        Values along each direction, as ``transform`` gives them, at which its function is kept.
    ridge_logf_ : ndarray of shape (n_ridges, n_nodes)
        Logarithm of each function there. It is constant further out.
    gain_ : ndarray of shape (n_ridges,)
        What each function adds to the mean log-density, for rows that are left out of it.
    log_normalizer_ : float
        Logarithm of the integral that the functions were divided by, so that the density integrates to 1, as estimated
        from the points.
    mean_ : ndarray of shape (n_features,)
        Column means of the training table.
    whitening_ : ndarray of shape (n_features, rank)
        Map of centred rows to uncorrelated coordinates of unit variance.
    n_components_ : int
        Number of directions.
    n_iter_ : int
        Steps of the longest search among those that were kept.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    BackwardProjectionPursuitDensity : Makes the rows normal, direction by direction; another density.
    ProjectionPursuitDiscriminant : The same for classes.

    References
    ----------
    .. [1] Friedman, J. H., Stuetzle, W. and Schroeder, A. (1984). Projection pursuit density estimation. Journal of the
       American Statistical Association 79, 599-608.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import ForwardProjectionPursuitDensity
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> X[:, 1] += 3 * rng.choice([-1, 1], size=400)
    >>> model = ForwardProjectionPursuitDensity(n_ridges=1, random_state=0).fit(X)
    >>> int(abs(model.directions_[0]).argmax())
    1
    >>> between, at_a_mode = model.score_samples([[0, 0, 0], [0, 3, 0]])
    >>> bool(between < at_a_mode - 1)
    True
    """

    _size_parameter: ClassVar[str] = "n_ridges"

    _parameter_constraints = {
        **PursuitDensity._parameter_constraints,
        "n_draws": [Interval(Integral, 100, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_ridges=5,
        n_draws=20000,
        bandwidth="normal_reference",
        oversmooth=1.06,
        n_init=5,
        max_iter=60,
        tol=1e-6,
        n_jobs=None,
        random_state=None,
    ):
        self.n_ridges = n_ridges
        self.n_draws = n_draws
        self.bandwidth = bandwidth
        self.oversmooth = oversmooth
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def directions_(self) -> np.ndarray:
        """Directions, scaled to unit variance along them."""
        return self.components_

    @property
    def _search_tol(self) -> float:
        return self.tol

    def _fit_sphered(
        self, Z: np.ndarray, width: float, effort: Effort, rng: np.random.RandomState, on_step: Callable[[], bool]
    ) -> list[Found]:
        points = normal_points(self.n_draws, Z.shape[1], rng)
        model, found = grown(Z, self.n_ridges, points, width, self.n_init, effort, rng, on_step)
        self._sphere_directions = np.array(model.directions)
        self.ridge_grid_ = np.array(model.grids)
        self.ridge_logf_ = np.array(model.log_ridges)
        self.log_normalizer_ = model.log_normalizer
        return found

    def _keep_columns(self, sphere: Sphere) -> None:
        self.components_ = (self._sphere_directions @ sphere.to_sphere.T).astype(self.mean_.dtype)

    def _normal_rows(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Sphered rows, and the sum of the logarithms of the functions there."""
        Z = self._sphered(X)
        return Z, log_factors(Z, self._sphere_directions, self.ridge_grid_, self.ridge_logf_).sum(axis=0)

    def _drawn(self, n_samples: int, rng: np.random.RandomState) -> np.ndarray:
        shape = (max(n_samples, 100), self.whitening_.shape[1])
        return drawn_rows(shape, self._sphere_directions, self.ridge_grid_, self.ridge_logf_, rng)[:n_samples]


_SAMPLES_OF_LEVEL = 2


class Flattening(NamedTuple):
    """Directions with the map along each, and the level at which steps end."""

    found: list[Found]
    maps: list[NormalMap]
    level: float


def flattened(
    Z: np.ndarray,
    n_ridges: int,
    level: float | None,
    width: float,
    n_init: int,
    effort: Effort,
    rng: np.random.RandomState,
    on_step: Callable[[], bool] = lambda: False,
) -> Flattening:
    """Maps that make sphered rows normal step by step, until no direction is above a level.

    Without a level, it is the largest that normal rows of the same number reach, or 0 if that is less.
    """

    def search(rows: np.ndarray, kept: list[np.ndarray], on_step: Callable[[], bool] = lambda: False) -> Search:
        index = surprise_of_normal(len(rows), width)
        shaped = [*non_normal_starts(rows), *axis_starts(rows, index)]
        starts = [*shaped, *kept[:2], *random_starts(n_init, rows.shape[1], rng)]
        return best_direction(along(rows, index), starts, np.eye(rows.shape[1]), effort, on_step)

    if level is None:
        level = max(0.0, *(search(rng.normal(size=Z.shape), []).best.value for _ in range(_SAMPLES_OF_LEVEL)))
    found: list[Found] = []
    maps: list[NormalMap] = []
    left_over: list[np.ndarray] = []
    while len(found) < n_ridges:
        step = search(Z, left_over, on_step)
        if step.best.value <= level and not step.stopped:
            break
        found.append(step.best)
        maps.append(normal_map(Z @ step.best.direction, width))
        Z, _ = made_normal(Z, step.best.direction, maps[-1])
        left_over = step.ends[1:]
        if step.stopped:
            break
    return Flattening(found, maps, level)


@method(
    tasks=["unsupervised"],
    when="A smooth, invertible map that makes a table normal, for methods that ask for normal rows, or its density, "
    "without Monte Carlo; up to some ten columns and with many rows for each.",
    cost="O(s t n (p + c) + n p^2) time for each step, for s starts of t iterations and a constant c for the grid; "
    "O(n p) memory",
    paper="zhu-reduced-rank-npda",
    examples=lambda: [BackwardProjectionPursuitDensity(n_ridges=2, n_init=1, max_iter=10, tol=0.0)],
)
class BackwardProjectionPursuitDensity(PursuitDensity):
    """A table made normal along one direction after the other, and its density by that map.

    Parameters
    ----------
    n_ridges : int, default=10
        Maximum number of directions along which the rows are made normal.
    tol : float or None, default=None
        Steps end when no direction is further from normal than this, in nats for a row. None takes what the best
        directions of normal rows of the same number reach.
    bandwidth : 'normal_reference' or float, default='normal_reference'
        Kernel width in standard deviations; by default ``oversmooth n^(-1/5)``.
    oversmooth : float, default=1.06
        Factor of the kernel width; 1.06 is best for a normal density, and one with several modes asks for less.
    n_init : int, default=5
        Random directions to start from, beside those of extreme kurtosis and of single columns.
    max_iter : int, default=60
        Maximum number of iterations of one search.
    n_jobs : int or None, default=None
        Threads for the starts; None for one.
    random_state : int, RandomState or None, default=None
        Draws the random starts, and the normal rows of ``tol=None``.
    n_components : int or None, default=None
        Number of new columns that ``transform`` gives. None for all, next to the columns of the table; a number for
        this many of them, rotated to the directions that were found, the least normal first. It makes no difference to
        the density.

    Attributes
    ----------
    directions_ : ndarray of shape (n_ridges, rank)
        Unit vectors in the coordinates of ``whitening_``, in the order of the steps.
    map_grid_ : ndarray of shape (n_ridges, n_nodes)
        Values along each direction at which the density of the rows is kept, in standard deviations.
    map_density_ : ndarray of shape (n_ridges, n_nodes)
        Density of the rows there, before the step.
    map_tails_ : ndarray of shape (n_ridges, 2)
        Mean and standard deviation of the wide normal density that is mixed in for values far out.
    gain_ : ndarray of shape (n_ridges,)
        What each step adds to the mean log-density, for rows that are left out of it.
    level_ : float
        The value of ``gain_`` at or below which steps end.
    whitening_ : ndarray of shape (n_features, rank)
        Map of centred rows to uncorrelated coordinates of unit variance.
    mean_ : ndarray of shape (n_features,)
        Column means of the training table.
    n_components_ : int
        Number of new columns: by default the dimensions of the table.
    n_iter_ : int
        Iterations of the longest search among those that were kept; 1 if there were none.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    ForwardProjectionPursuitDensity : A normal density times functions along directions; another density.

    Notes
    -----
    The map is exact: the density integrates to 1 for any directions. Each distribution function is that
    of a kernel density with one per cent of a normal one of twice the spread mixed in, without which a single outlier
    would have a density of 0.

    References
    ----------
    .. [1] Friedman, J. H. (1987). Exploratory projection pursuit. Journal of the American Statistical Association 82,
       249-266.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import stats
    >>> from fewer.extract import BackwardProjectionPursuitDensity
    >>> X = np.random.default_rng(0).exponential(size=(500, 2))
    >>> model = BackwardProjectionPursuitDensity(random_state=0).fit(X)
    >>> Z = model.transform(X)
    >>> [bool(stats.kstest(column, "norm").statistic < 0.05) for column in Z.T]
    [True, True]
    >>> np.allclose(model.inverse_transform(Z), X)
    True
    """

    _parameter_constraints = {
        **PursuitDensity._parameter_constraints,
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
    }

    _search_tol = 1e-6

    def __init__(
        self,
        n_ridges=10,
        tol=None,
        bandwidth="normal_reference",
        oversmooth=1.06,
        n_init=5,
        max_iter=60,
        n_jobs=None,
        random_state=None,
        n_components=None,
    ):
        self.n_ridges = n_ridges
        self.tol = tol
        self.bandwidth = bandwidth
        self.oversmooth = oversmooth
        self.n_init = n_init
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.n_components = n_components

    def _fit_sphered(
        self, Z: np.ndarray, width: float, effort: Effort, rng: np.random.RandomState, on_step: Callable[[], bool]
    ) -> list[Found]:
        found, maps, level = flattened(Z, self.n_ridges, self.tol, width, self.n_init, effort, rng, on_step)
        self.directions_ = np.array([one.direction for one in found]).reshape(-1, Z.shape[1])
        self.map_grid_ = np.array([one.grid for one in maps])
        self.map_density_ = np.array([one.densities for one in maps])
        self.map_tails_ = np.array([[one.mean, one.spread] for one in maps]).reshape(-1, 2)
        self.level_ = float(level)
        return found

    def _keep_columns(self, sphere: Sphere) -> None:
        self.n_components_ = self._number_of_components(sphere.rank, "the dimensions of the table")

    def _steps(self) -> list[tuple[np.ndarray, NormalMap]]:
        maps = zip(self.map_grid_, self.map_density_, self.map_tails_, strict=True)
        return [
            (direction, NormalMap(grid, densities, *tails))
            for direction, (grid, densities, tails) in zip(self.directions_, maps, strict=True)
        ]

    def _normal_rows(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Rows made normal, and the logarithm of the volume that each gains."""
        Z = self._sphered(X)
        gains = np.zeros(len(Z))
        for direction, to_normal in self._steps():
            Z, log_slope = made_normal(Z, direction, to_normal)
            gains += log_slope
        return Z, gains

    def transform(self, X: Any) -> np.ndarray:
        """Rows made normal.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            By default as many columns as the table has dimensions, about standard normal and independent.
        """
        Z = self._normal_rows(X)[0]
        if self.n_components is not None:
            Z = Z @ self._turn()[:, : self.n_components_]
        return Z.astype(self.mean_.dtype, copy=False)

    def _turn(self) -> np.ndarray:
        """Orthonormal axes as columns: the directions in their order, as far as they are new, then what is left."""
        axes, triangle = np.linalg.qr(np.vstack([self.directions_, np.eye(self.directions_.shape[1])]).T)
        return axes * np.where(np.diag(triangle) < 0, -1.0, 1.0)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rows of the table that ``transform`` maps to the given ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, rank)
            Rows as ``transform`` gives them, with as many columns as the table has dimensions.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Rows in the columns of the training table.
        """
        check_is_fitted(self)
        Z = check_array(X, dtype=float, copy=True)
        rank = self.directions_.shape[1]
        if Z.shape[1] != rank:
            raise ValueError(
                f"X has {Z.shape[1]} columns, and tables made normal here have {rank}; pass what transform returns, "
                "with n_components=None."
            )
        if self.n_components is not None:
            Z = Z @ self._turn().T
        return self._in_columns(self._from_normal(Z))

    def _from_normal(self, Z: np.ndarray) -> np.ndarray:
        """Sphered rows, from all coordinates of rows made normal, which are overwritten."""
        for direction, to_normal in reversed(self._steps()):
            values = Z @ direction
            Z += np.outer(to_normal.back(values) - values, direction)
        return Z

    def _drawn(self, n_samples: int, rng: np.random.RandomState) -> np.ndarray:
        return self._from_normal(rng.normal(size=(n_samples, self.directions_.shape[1])))
