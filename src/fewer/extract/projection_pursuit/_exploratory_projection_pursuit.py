"""Directions of structure without classes: find the one of the largest index, remove its structure, and repeat.

An index measures the structure of the values along a direction. By default it is negentropy, ``mean_j [ln f(z_j) - ln
n(z_j)]``: how far the kernel density of the values is from the normal one of their mean and variance. What was found is
taken away by making the rows normal along the direction, while they stay as they are across.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state

from fewer._estimators import Interval, StrOptions, fit_context, fit_steps
from fewer.catalogue import method
from fewer.extract._extractor import LinearExtractor, upright
from fewer.extract.projection_pursuit._density_models import without_structure
from fewer.extract.projection_pursuit._search import (
    Criterion,
    Effort,
    Found,
    along,
    along_by_differences,
    axis_starts,
    best_direction,
    negentropy,
    non_normal_starts,
    random_starts,
    sphere_of,
    warn_unfinished,
)

MakeCriterion = Callable[[np.ndarray], Criterion]


def explored(
    Z: np.ndarray,
    criterion: MakeCriterion,
    n_components: int,
    n_init: int,
    effort: Effort,
    rng: np.random.RandomState,
    on_step: Callable[[], bool] = lambda: False,
) -> list[Found]:
    """Directions of sphered rows along which a criterion is largest, each after those before were made normal."""
    everything = np.eye(Z.shape[1])
    all_rows = np.array([0, len(Z)])
    found: list[Found] = []
    left_over: list[np.ndarray] = []
    while len(found) < n_components:
        shape = negentropy(len(Z), "normal_reference", 1.06)
        starts = [
            *non_normal_starts(Z),
            *axis_starts(Z, shape),
            *left_over[:2],
            *random_starts(n_init, Z.shape[1], rng),
        ]
        search = best_direction(criterion(Z), starts, everything, effort, on_step)
        found.append(search.best)
        left_over = search.ends[1:]
        if search.stopped:
            break
        Z, _ = without_structure(Z, all_rows, search.best.direction, search.best.direction)
    return found


@method(
    tasks=["unsupervised"],
    when="To see clusters, gaps or skewness that the directions of largest variance do not show, in a table with many "
    "rows for each column (at least five).",
    cost="O(s t n (p + c) + n p^2) time for each direction, for s starts of t steps and a constant c for the grid; "
    "O(n p) memory",
    paper="zhu-flexible-discriminant-directions",
    examples=lambda: [ExploratoryProjectionPursuit(n_init=1, max_iter=10)],
)
class ExploratoryProjectionPursuit(CallbackSupportMixin, LinearExtractor):
    """Directions along which a table looks least like a normal distribution.

    Parameters
    ----------
    n_components : int or None, default=2
        Number of directions; None for as many as the table has dimensions.
    index : 'negentropy' or callable, default='negentropy'
        Measure of structure of the values along a direction. A callable takes them as an array with mean zero and unit
        variance, and returns a number, or that and its derivatives by the values, which is quicker.
    bandwidth : 'normal_reference' or float, default='normal_reference'
        Kernel width of negentropy in standard deviations; by default ``oversmooth n^(-1/5)``.
    oversmooth : float, default=1.3
        Factor of the kernel width; 1.06 is best for a normal density, and more leaves fewer local maxima.
    n_init : int, default=5
        Random directions to start from, beside those of extreme kurtosis and of single columns.
    max_iter : int, default=60
        Maximum number of steps of one search.
    tol : float, default=1e-6
        A search ends when its index rises by less than this, or its slope is below it.
    n_jobs : int or None, default=None
        Threads for the starts; None for one.
    random_state : int, RandomState or None, default=None
        Draws the random starts.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions of unit length, in the order in which they were found; the largest entry of each is positive.
    scores_ : ndarray of shape (n_components,)
        Index of each when it was found, after the structure of earlier ones was removed.
    original_scores_ : ndarray of shape (n_components,)
        Index along each direction in the table as it is.
    whitening_ : ndarray of shape (n_features, rank)
        Map of centred rows to uncorrelated coordinates of unit variance.
    mean_ : ndarray of shape (n_features,)
        Column means of the training table.
    n_components_ : int
        Number of directions found.
    n_iter_ : int
        Steps of the longest search among those that were kept.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    LikelihoodRatioDiscriminant : The same with classes.
    KurtosisICA : Directions by fourth moments, in closed form.

    Notes
    -----
    Directions need not be orthogonal. Structure removed along one may partly return when that of a later one is
    removed; ``original_scores_`` has the index of each in the table itself.

    References
    ----------
    .. [1] Friedman, J. H. (1987). Exploratory projection pursuit. Journal of the American Statistical Association 82,
       249-266.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import ExploratoryProjectionPursuit
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4)) * [5, 5, 5, 1]
    >>> X[:, 3] += 3 * rng.choice([-1, 1], size=300)  # two groups along the column of least variance
    >>> model = ExploratoryProjectionPursuit(n_components=1, random_state=0).fit(X)
    >>> int(abs(model.components_[0]).argmax())
    3
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "index": [StrOptions({"negentropy"}), callable],
        "bandwidth": [StrOptions({"normal_reference"}), Interval(Real, 0, None, closed="neither")],
        "oversmooth": [Interval(Real, 0, None, closed="neither")],
        "n_init": [Interval(Integral, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=2,
        index="negentropy",
        bandwidth="normal_reference",
        oversmooth=1.3,
        n_init=5,
        max_iter=60,
        tol=1e-6,
        n_jobs=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.index = index
        self.bandwidth = bandwidth
        self.oversmooth = oversmooth
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def _takes_sparse(self) -> bool:
        return True

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> "ExploratoryProjectionPursuit":
        """Find the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted extractor.
        """
        X = self._validated(X)
        sphere = sphere_of(X)
        n_components = self._number_of_components(sphere.rank, "the dimensions of the table")
        Z = sphere.coordinates(X)
        effort = Effort(self.max_iter, self.tol, self.n_jobs)
        criterion = self._criterion(Z)
        rng = check_random_state(self.random_state)
        with fit_steps(self, X) as after_step:
            found = explored(Z, criterion, n_components, self.n_init, effort, rng, lambda: after_step("start"))
            directions = np.array([one.direction for one in found])
            components = directions @ sphere.to_sphere.T
            components /= np.linalg.norm(components, axis=1, keepdims=True)
            self.components_ = upright(components).astype(X.dtype)
            self.mean_ = np.asarray(sphere.mean, dtype=X.dtype)
            self.whitening_ = sphere.to_sphere.astype(X.dtype)
            self.scores_ = np.array([one.value for one in found])
            self.original_scores_ = np.array([criterion(Z)(direction)[0] for direction in directions])
            self.n_iter_ = max(one.n_iter for one in found)
        warn_unfinished(found, effort)
        return self

    def _criterion(self, Z: np.ndarray) -> MakeCriterion:
        if self.index == "negentropy":
            index = negentropy(len(Z), self.bandwidth, self.oversmooth)
            return lambda rows: along(rows, index)
        told = self.index(Z[:, 0].copy())
        if isinstance(told, tuple):
            return lambda rows: along(rows, self.index)
        if np.ndim(told) != 0:
            raise ValueError(
                f"index must return a number, or a number and an array of derivatives; it returned {type(told)} with "
                f"the shape {np.shape(told)}."
            )
        return lambda rows: along_by_differences(rows, self.index)
