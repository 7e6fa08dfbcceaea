"""A density as a normal one times functions along a few directions, found one after the other.

``p_M(x) = p_0(x) prod_m f_m(a_m'x)``, with p_0 the normal density of the table's mean and covariance. Step m takes the
direction along which the model so far is furthest from the rows: ``mean_j ln f_m(a'x_j)`` is largest, with f_m the
density of the rows over that of the model there.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import DensityMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context, fit_steps
from fewer.catalogue import method
from fewer.extract._extractor import LinearExtractor
from fewer.extract.projection_pursuit._indices import kernel_width, surprise_of_normal
from fewer.extract.projection_pursuit._ridges import RidgeModel, drawn_rows, log_factors, normal_points, ridge_grid
from fewer.extract.projection_pursuit._search import Criterion, Effort, Found, best_direction, warn_unfinished
from fewer.extract.projection_pursuit._sphere import Sphere, sphere_of, warn_of_lost_dimensions
from fewer.extract.projection_pursuit._starts import axis_starts, non_normal_starts, random_starts


class Growth(NamedTuple):
    """The density reached, and what each of its directions added."""

    model: RidgeModel
    found: list[Found]


def grown(
    Z: np.ndarray,
    n_ridges: int,
    points: np.ndarray,
    width: float,
    n_restarts: int,
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
        starts = [*shaped, *left_over[:2], *random_starts(n_restarts, Z.shape[1], rng)]
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
    examples=lambda: [ForwardProjectionPursuitDensity(n_ridges=2, n_monte_carlo=300, n_restarts=1, max_iter=10)],
)
class ForwardProjectionPursuitDensity(CallbackSupportMixin, DensityMixin, LinearExtractor):
    """A density: a normal one, corrected along the directions where it is furthest from the rows.

    Parameters
    ----------
    n_ridges : int, default=5
        Number of corrections. Too many fit noise: the mean of ``score_samples`` for other rows tells when.
    base : {'gaussian'}, default='gaussian'
        Density to begin with.
    n_monte_carlo : int, default=20000
        Points drawn from it, by which the model's own density along a direction is known.
    bandwidth : 'normal_reference' or float, default='normal_reference'
        Kernel width in standard deviations; by default ``oversmooth n^(-1/5)``.
    oversmooth : float, default=1.06
        Factor of the kernel width; 1.06 is best for a normal density, and one with several modes asks for less.
    n_restarts : int, default=5
        Random directions to start from, beside those of extreme kurtosis and of single columns.
    max_iter : int, default=60
        Steps of one search at most.
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
        Logarithm of the integral that the functions were divided by, so that the density has the integral one as far
        as the points tell.
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
        "n_ridges": [Interval(Integral, 1, None, closed="left")],
        "base": [StrOptions({"gaussian"})],
        "n_monte_carlo": [Interval(Integral, 100, None, closed="left")],
        "bandwidth": [StrOptions({"normal_reference"}), Interval(Real, 0, None, closed="neither")],
        "oversmooth": [Interval(Real, 0, None, closed="neither")],
        "n_restarts": [Interval(Integral, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_ridges=5,
        base="gaussian",
        n_monte_carlo=20000,
        bandwidth="normal_reference",
        oversmooth=1.06,
        n_restarts=5,
        max_iter=60,
        tol=1e-6,
        n_jobs=None,
        random_state=None,
    ):
        self.n_ridges = n_ridges
        self.base = base
        self.n_monte_carlo = n_monte_carlo
        self.bandwidth = bandwidth
        self.oversmooth = oversmooth
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def _takes_sparse(self) -> bool:
        return True

    @property
    def directions_(self) -> np.ndarray:
        """Directions, scaled to unit variance along them."""
        return self.components_

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> "ForwardProjectionPursuitDensity":
        """Find the directions and the functions along them.

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
        rng = check_random_state(self.random_state)
        points = normal_points(self.n_monte_carlo, sphere.rank, rng)
        width = kernel_width(len(Z), self.bandwidth, self.oversmooth)
        effort = Effort(self.max_iter, self.tol, self.n_jobs)
        with fit_steps(self, X) as after_step:
            model, found = grown(
                Z, self.n_ridges, points, width, self.n_restarts, effort, rng, lambda: after_step("start")
            )
            self._keep(model, sphere, X.dtype)
            self.gain_ = np.array([one.value for one in found])
            self.n_iter_ = max(one.n_iter for one in found)
        warn_unfinished(found, effort)
        return self

    def _keep(self, model: RidgeModel, sphere: Sphere, dtype: Any) -> None:
        self._sphere_from = sphere.from_sphere
        self._sphere_directions = np.array(model.directions)
        self.whitening_ = sphere.to_sphere.astype(dtype)
        self.components_ = (self._sphere_directions @ sphere.to_sphere.T).astype(dtype)
        self.mean_ = np.asarray(sphere.mean, dtype=dtype)
        self.ridge_grid_ = np.array(model.grids)
        self.ridge_logf_ = np.array(model.log_ridges)
        self.log_normalizer_ = model.log_normalizer
        self._log_volume = sphere.log_volume

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
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        Z = Sphere(self.mean_, self.whitening_, self._sphere_from).coordinates(X)
        normal = -0.5 * (np.einsum("ij,ij->i", Z, Z) + Z.shape[1] * np.log(2 * np.pi)) - self._log_volume
        return normal + log_factors(Z, self._sphere_directions, self.ridge_grid_, self.ridge_logf_).sum(axis=0)

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
        """New rows of the density, by weighing many of the normal one.

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
        shape = (max(n_samples, 100), self.whitening_.shape[1])
        Z = drawn_rows(shape, self._sphere_directions, self.ridge_grid_, self.ridge_logf_, rng)[:n_samples]
        return (Z @ self._sphere_from + self.mean_).astype(self.mean_.dtype)
