"""Classification by densities along a few shared directions, found where they differ most: forward and backward.

Forward, ``p_k(x) = p_0(x) prod_m f_mk(a_m'x)``: one normal density p_0 for all classes, and functions of each class
along directions that all share. p_0 cancels, so that ``ln pi_k + sum_m ln f_mk(a_m'x)`` decides: log-odds are sums of
smooth functions along the directions. Direction m is where the functions of classes differ most from one for all rows.

Backward, classes are made normal along one direction after the other, each by its own map, before the next is searched
for, and the densities follow from these maps. The rest of all classes is taken as one normal density, which is the
weakness of this model.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import special
from sklearn.base import ClassifierMixin, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, encoded_classes, fit_context, fit_steps, warn_caller
from fewer._kernels._numpy_lapack import solve_triangular
from fewer.catalogue import method
from fewer.extract._extractor import LinearExtractor
from fewer.extract.projection_pursuit._density_models import (
    NormalMap,
    RidgeModel,
    made_normal,
    normal_map,
    normal_points,
    ridge_grid,
)
from fewer.extract.projection_pursuit._search import (
    Criterion,
    Effort,
    Found,
    Sphere,
    Widths,
    along,
    axis_starts,
    best_direction,
    kernel_ratio,
    kernel_width,
    random_starts,
    separating_starts,
    sphere_of,
    warn_unfinished,
)


class ClassRows(NamedTuple):
    """Sphered rows in the order of their classes, where these begin, and kernel widths."""

    Z: np.ndarray
    begins: np.ndarray
    widths: Widths


class Hunt(NamedTuple):
    """How to look for directions."""

    n_ridges: int
    n_init: int
    effort: Effort
    rng: np.random.RandomState
    on_step: Callable[[], bool] = lambda: False


class ForwardClasses(NamedTuple):
    """Directions, the nodes along them, and the logarithm of each class's functions there (directions first)."""

    found: list[Found]
    grids: list[np.ndarray]
    log_ridges: list[np.ndarray]


class BackwardClasses(NamedTuple):
    """Directions, each class's map along them, and the normal density left after each step."""

    found: list[Found]
    maps: list[list[NormalMap]]
    means: list[np.ndarray]
    covariances: list[np.ndarray]


def forward_classes(rows: ClassRows, n_points: int, hunt: Hunt) -> ForwardClasses:
    """Directions and functions that are found forward."""
    Z, begins, widths = rows
    points = normal_points(n_points, Z.shape[1], hunt.rng)
    models = [RidgeModel.normal(points) for _ in widths.classes]
    pooled = RidgeModel.normal(points)
    result = ForwardClasses([], [], [])
    left_over: list[np.ndarray] = []
    while len(result.found) < hunt.n_ridges:
        direction, left_over, stopped = _next(rows, _ridge_ratio(rows, models, pooled), left_over, hunt, result.found)
        values = Z @ direction
        grid = ridge_grid(values, widths.pooled)
        own = []
        for model, (begin, end), width in zip(models, pairwise(begins), widths.classes, strict=True):
            model.grow(direction, grid, model.ridge(direction, values[begin:end], width, grid), hunt.rng)
            own.append(model.log_ridges[-1])
        pooled.grow(direction, grid, pooled.ridge(direction, values, widths.pooled, grid), hunt.rng)
        result.grids.append(grid)
        result.log_ridges.append(np.array(own))
        if stopped:
            break
    return result


def backward_classes(rows: ClassRows, hunt: Hunt) -> BackwardClasses:
    """Directions and maps that are found backward."""
    Z, begins, widths = rows
    result = BackwardClasses([], [], [], [])
    left_over: list[np.ndarray] = []
    while len(result.found) < hunt.n_ridges:
        now = ClassRows(Z, begins, widths)
        direction, left_over, stopped = _next(
            now, along(Z, kernel_ratio(begins, widths)), left_over, hunt, result.found
        )
        maps, parts = [], []
        for (begin, end), width in zip(pairwise(begins), widths.classes, strict=True):
            maps.append(normal_map(Z[begin:end] @ direction, width))
            parts.append(made_normal(Z[begin:end], direction, maps[-1])[0])
        Z = np.concatenate(parts)
        result.maps.append(maps)
        result.means.append(Z.mean(axis=0))
        result.covariances.append(np.cov(Z, rowvar=False, bias=True).reshape(Z.shape[1], -1))
        if stopped:
            break
    return result


def _next(
    rows: ClassRows, criterion: Criterion, left_over: list[np.ndarray], hunt: Hunt, found: list[Found]
) -> tuple[np.ndarray, list[np.ndarray], bool]:
    """The next direction (which is noted), where other climbs ended, and whether to stop."""
    dim = rows.Z.shape[1]
    starts = [
        *separating_starts(rows.Z, rows.begins),
        *axis_starts(rows.Z, kernel_ratio(rows.begins, rows.widths)),
        *left_over[:2],
        *random_starts(hunt.n_init, dim, hunt.rng),
    ]
    search = best_direction(criterion, starts, np.eye(dim), hunt.effort, hunt.on_step)
    found.append(search.best)
    return search.best.direction, search.ends[1:], search.stopped


def _ridge_ratio(rows: ClassRows, models: list[RidgeModel], pooled: RidgeModel) -> Criterion:
    """Log-likelihood that functions of the classes would add, less what one for all rows would, a row."""
    Z, begins, widths = rows
    parts = [
        *zip(models, pairwise(begins), widths.classes, [1.0] * len(models), strict=True),
        (pooled, (0, len(Z)), widths.pooled, -1.0),
    ]

    def criterion(direction: np.ndarray) -> tuple[float, np.ndarray]:
        values = Z @ direction
        # Most models share their points, which are projected once, and pull the direction together.
        drawn = {id(model.points): model.points @ direction for model, *_ in parts}
        clouds = {id(model.points): model.points for model, *_ in parts}
        pulls = {key: np.zeros(len(each)) for key, each in drawn.items()}
        total, slopes = 0.0, np.zeros(len(Z))
        for model, (begin, end), width, sign in parts:
            key = id(model.points)
            gain, own, drawn_slopes = model.gain(values[begin:end], drawn[key], width)
            total += sign * gain
            slopes[begin:end] += sign * own
            pulls[key] += sign * drawn_slopes
        gradient = slopes @ Z
        for key, pull in pulls.items():
            gradient += pull @ clouds[key]
        return total / len(Z), gradient / len(Z)

    return criterion


_FEW_ROWS = 20
_MOST_BY_CV, _POINTS_BY_CV = 5, 5000
_ROWS_OF_A_DIMENSION = 3


@method(
    tasks=["classification"],
    when="Classes that differ in shape or in several modes (XOR and the like) along a few directions of up to some "
    "fifty columns, with many rows for each class (at least 20, better 100), where one wants to see the directions.",
    cost="O(s t (n + c m) (p + g)) time for each direction, for s starts of t steps, c classes, m Monte Carlo points "
    "and a constant g for the grid; O((n + m) p) memory",
    paper="zhu-reduced-rank-npda",
    examples=lambda: [
        ProjectionPursuitDiscriminant(n_draws=300, n_init=1, max_iter=10),
        ProjectionPursuitDiscriminant(direction="backward", n_init=1, max_iter=10),
    ],
)
class ProjectionPursuitDiscriminant(CallbackSupportMixin, ClassifierMixin, LinearExtractor):
    """Classify by densities of classes along the directions where they differ most.

    Parameters
    ----------
    n_ridges : int or 'cv', default=2
        Number of directions. Too many fit noise; 'cv' tries 1 to 5 by cross-validation, and takes the fewest that err
        no more than the best, within one standard error.
    direction : {'forward', 'backward'}, default='forward'
        Whether functions are added to one normal density, or rows are made normal class by class.
    priors : array-like of shape (n_classes,), default=None
        Probabilities of the classes, in sorted order; None for their shares of the rows.
    n_draws : int, default=20000
        Points by which the densities of the model along a direction are estimated (forward); at most 5,000 in the folds
        of ``n_ridges='cv'``, which is enough to find the number of directions.
    bandwidth : 'normal_reference' or float, default='normal_reference'
        Kernel width in standard deviations of all rows; by default ``oversmooth n^(-1/5)`` for n rows of a class, and
        no less than for 20.
    oversmooth : float, default=1.06
        Factor of the kernel width; 1.06 is best for a normal density.
    n_init : int, default=5
        Random directions to start from, beside those of discriminant analysis, of unequal covariances and of single
        columns.
    max_iter : int, default=60
        Maximum number of steps of one search.
    tol : float, default=1e-6
        A search ends when its ratio rises by less than this, or its slope is below it.
    cv : int, cross-validation generator or iterable, default=5
        Folds for ``n_ridges='cv'``.
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
    lr_path_ : ndarray of shape (n_ridges,)
        How much better functions for each class fit than one for all, along each direction when it was found, in nats
        for a row.
    ridge_grid_ : ndarray of shape (n_ridges, n_nodes)
        Values along each direction, as ``transform`` gives them, at which its functions are kept; backward, nothing.
    ridges_ : ndarray of shape (n_classes, n_ridges, n_nodes)
        Logarithm of each class's functions there, which are constant further out; backward, nothing.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    priors_ : ndarray of shape (n_classes,)
        Their probabilities.
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
    LikelihoodRatioDiscriminant : Directions alone, by several methods.
    ForwardProjectionPursuitDensity : The density of one class.

    Notes
    -----
    Directions are chosen by the training rows, which therefore overstate the fit, the more so the
    more columns there are for the rows: with fewer than about ten rows for each column probabilities are too near to 0
    and 1, in noise too. Have PCA as the step before, judge by held-out rows, and take
    ``sklearn.calibration.CalibratedClassifierCV`` around it for calibrated probabilities.

    References
    ----------
    .. [1] Zhu, M. and Hastie, T. (2003). Feature extraction for nonparametric discriminant analysis. Journal of
       Computational and Graphical Statistics 12, 101-120.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import ProjectionPursuitDiscriminant
    >>> rng = np.random.default_rng(0)
    >>> corners = 1.5 * rng.choice([-1, 1], size=(600, 2))
    >>> X, y = corners + rng.normal(size=(600, 2)), corners.prod(axis=1) > 0
    >>> model = ProjectionPursuitDiscriminant(n_ridges=2, random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.8)  # a linear rule would guess
    True
    """

    _size_parameter: ClassVar[str] = "n_ridges"

    _parameter_constraints = {
        "n_ridges": [Interval(Integral, 1, None, closed="left"), StrOptions({"cv"})],
        "direction": [StrOptions({"forward", "backward"})],
        "priors": ["array-like", None],
        "n_draws": [Interval(Integral, 100, None, closed="left")],
        "bandwidth": [StrOptions({"normal_reference"}), Interval(Real, 0, None, closed="neither")],
        "oversmooth": [Interval(Real, 0, None, closed="neither")],
        "n_init": [Interval(Integral, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_ridges=2,
        direction="forward",
        priors=None,
        n_draws=20000,
        bandwidth="normal_reference",
        oversmooth=1.06,
        n_init=5,
        max_iter=60,
        tol=1e-6,
        cv=5,
        n_jobs=None,
        random_state=None,
    ):
        self.n_ridges = n_ridges
        self.direction = direction
        self.priors = priors
        self.n_draws = n_draws
        self.bandwidth = bandwidth
        self.oversmooth = oversmooth
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
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
    def fit(self, X: Any, y: Any) -> "ProjectionPursuitDiscriminant":
        """Find the directions, and the densities of classes along them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, y = self._validated(X, y)
        self.classes_, codes = encoded_classes(y, type(self).__name__)
        sizes = np.bincount(codes)
        self.priors_ = self._class_priors(sizes)
        if sizes.min() < _FEW_ROWS:
            warn_caller(
                f"The smallest class, {self.classes_.tolist()[sizes.argmin()]!r}, has {sizes.min()} row(s): its "
                f"density is smoothed as if there were {_FEW_ROWS}. Merge small classes, or use a linear method."
            )
        n_ridges = self._by_cross_validation(X, codes) if self.n_ridges == "cv" else self.n_ridges
        sphere = sphere_of(X)
        if _ROWS_OF_A_DIMENSION * sphere.rank > len(codes):
            warn_caller(
                f"{len(codes)} rows in {sphere.rank} dimensions: some direction separates any classes of so few rows, "
                "so that probabilities are overconfident. Use PCA as the step before, with a tenth as many columns as "
                "rows."
            )
        begins = np.append(0, np.cumsum(sizes))
        own = np.array([kernel_width(max(size, _FEW_ROWS), self.bandwidth, self.oversmooth) for size in sizes])
        widths = Widths(own, kernel_width(max(len(codes), _FEW_ROWS), self.bandwidth, self.oversmooth))
        rows = ClassRows(sphere.coordinates(X[np.argsort(codes, kind="stable")]), begins, widths)
        effort = Effort(self.max_iter, self.tol, self.n_jobs)
        rng = check_random_state(self.random_state)
        with fit_steps(self, X, y) as after_step:
            hunt = Hunt(n_ridges, self.n_init, effort, rng, lambda: after_step("start"))
            if self.direction == "forward":
                found = self._keep_forward(forward_classes(rows, self.n_draws, hunt))
            else:
                found = self._keep_backward(backward_classes(rows, hunt))
            self._directions = np.array([one.direction for one in found])
            self.components_ = (self._directions @ sphere.to_sphere.T).astype(X.dtype)
            self.whitening_ = sphere.to_sphere.astype(X.dtype)
            self.mean_ = np.asarray(sphere.mean, dtype=X.dtype)
            self.lr_path_ = np.array([one.value for one in found])
            self.n_iter_ = max(one.n_iter for one in found)
        warn_unfinished(found, effort)
        return self

    def _class_priors(self, sizes: np.ndarray) -> np.ndarray:
        if self.priors is None:
            return sizes / sizes.sum()
        priors = np.asarray(self.priors, dtype=float)
        if priors.shape != sizes.shape or (priors <= 0).any():
            raise ValueError(
                f"priors must hold a positive number for each of the {len(sizes)} classes "
                f"({', '.join(map(str, self.classes_[:10].tolist()))}), got {self.priors!r}."
            )
        return priors / priors.sum()

    def _by_cross_validation(self, X: Any, codes: np.ndarray) -> int:
        """The fewest directions that err no more than the best number of them, within one standard error."""
        errors = []
        for train, test in check_cv(self.cv, codes, classifier=True).split(X, codes):
            n_points = min(self.n_draws, _POINTS_BY_CV)
            model = clone(self).set_params(n_ridges=_MOST_BY_CV, priors=None, n_draws=n_points).set_callbacks()
            stages = model.fit(X[train], codes[train]).staged_predict(X[test])
            errors.append(np.array([stage != codes[test] for stage in stages]))
        wrong = np.concatenate(errors, axis=1).astype(float)
        excess = wrong - wrong[wrong.mean(axis=1).argmin()]
        near = excess.mean(axis=1) <= excess.std(axis=1) / np.sqrt(excess.shape[1])
        return int(near.argmax()) + 1

    def _keep_forward(self, found: ForwardClasses) -> list:
        self.ridge_grid_ = np.array(found.grids)
        self.ridges_ = np.array(found.log_ridges).transpose(1, 0, 2)
        return found.found

    def _keep_backward(self, found: BackwardClasses) -> list:
        self.ridge_grid_ = np.empty((len(found.found), 0))
        self.ridges_ = np.empty((len(self.classes_), len(found.found), 0))
        self._map_grids = np.array([[one.grid for one in maps] for maps in found.maps])
        self._map_densities = np.array([[one.densities for one in maps] for maps in found.maps])
        self._map_tails = np.array([[[one.mean, one.spread] for one in maps] for maps in found.maps])
        self._rest_means, self._rest_covariances = np.array(found.means), np.array(found.covariances)
        return found.found

    def _stages(self, X: Any) -> Iterator[np.ndarray]:
        """Log-probabilities of classes up to a constant of each row, after one direction, two, and so on."""
        Z = Sphere(self.mean_, self.whitening_, self.whitening_.T).coordinates(X)
        stages = self._forward_stages(Z) if self.direction == "forward" else self._backward_stages(Z)
        for log_densities in stages:
            yield np.log(self.priors_) + log_densities

    def _forward_stages(self, Z: np.ndarray) -> Iterator[np.ndarray]:
        total = np.zeros((len(Z), len(self.classes_)))
        for number, direction in enumerate(self._directions):
            values = Z @ direction
            own = [np.interp(values, self.ridge_grid_[number], ridge[number]) for ridge in self.ridges_]
            total = total + np.array(own).T
            yield total

    def _backward_stages(self, Z: np.ndarray) -> Iterator[np.ndarray]:
        rows = [Z] * len(self.classes_)
        gains = np.zeros((len(Z), len(self.classes_)))
        for step, direction in enumerate(self._directions):
            centre, factor = self._rest_means[step], np.linalg.cholesky(self._rest_covariances[step])
            rest = np.empty_like(gains)
            for code in range(len(self.classes_)):
                grid, densities = self._map_grids[step, code], self._map_densities[step, code]
                own = NormalMap(grid, densities, *self._map_tails[step, code])
                rows[code], slopes = made_normal(rows[code], direction, own)
                gains[:, code] += slopes
                left = solve_triangular(factor, (rows[code] - centre).T)
                rest[:, code] = -0.5 * np.einsum("ij,ij->j", left, left)
            yield gains + rest

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        *_, last = self._stages(self._validated(X, reset=False))
        return last

    def decision_function(self, X: Any) -> np.ndarray:
        """Log-probabilities of classes, up to a constant of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            For two classes, the log-odds of the second.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return special.softmax(self._scores(X), axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        scores = self._scores(X)
        return self.classes_[scores.argmax(axis=1)]

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """The most probable class of each row by the first direction, the first two, and so on.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        check_is_fitted(self)
        for scores in self._stages(self._validated(X, reset=False)):
            yield self.classes_[scores.argmax(axis=1)]
