"""Directions along which classes differ in any way: the likelihood ratio of their densities there.

For a direction a and ``z_j = a'x_j``, ``LR(a) = mean_j [ln f_k(z_j) - ln f(z_j)]``: f_k is the density of z in the
class of row j, f that of all rows, both without the row itself. It is the generalised likelihood ratio of "all classes
share one density along a". With normal densities of one common variance it is what discriminant analysis maximises.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state

from fewer._estimators import Interval, StrOptions, fit_context, fit_steps, warn_caller
from fewer.catalogue import method
from fewer.extract._extractor import LinearExtractor, upright
from fewer.extract.gaussian_directions._moments import slices_of
from fewer.extract.projection_pursuit._class_pursuit import ClassCriterion, Pursuit, Ways, labelled_rows, pursued
from fewer.extract.projection_pursuit._search import Effort, Sphere, sphere_of, warn_unfinished

_MOST_TOGETHER = 3


@method(
    tasks=["classification", "regression"],
    when="Classes may differ in spread, shape or number of modes rather than in their means, in directions that are "
    "not columns by themselves, and there are many rows for each column (at least five). Where means differ and "
    "nothing else does, discriminant analysis is faster and more reliable.",
    cost="O(s t n (p + c)) time for each direction, for s starts of t steps and a constant c for the grid; O(n p) "
    "memory. With method 'nested' or 'subspace' O(s t (n p + m^2)) for m = min(n, 1,000) rows.",
    paper="zhu-flexible-discriminant-directions",
    examples=lambda: [LikelihoodRatioDiscriminant(n_init=1, max_iter=10)],
)
class LikelihoodRatioDiscriminant(CallbackSupportMixin, LinearExtractor):
    """Directions along which the densities of classes differ most, in any way.

    Discriminant analysis sees differences of means, and has one direction fewer than classes. Here every difference
    counts (mean, spread, shape, number of modes), and there can be as many directions as columns.

    Parameters
    ----------
    n_components : int or None, default=2
        Number of directions; None for as many as the table has dimensions.
    method : {'orthogonal', 'removal', 'nested', 'subspace'}, default='orthogonal'
        How to go on after the first direction. 'orthogonal' looks across those found, 'removal' makes each class
        normal along what was found and looks everywhere again, 'nested' looks across for what adds most to those
        found, by densities in several dimensions, and 'subspace' moves all in turn until they are best together. The
        last two need many rows for more than three directions.
    density : {'kde', 'gaussian', 'pooled_gaussian'}, default='kde'
        Densities by kernels, normal ones, or normal ones with the same variance in all classes (discriminant
        analysis).
    bandwidth : 'normal_reference' or float, default='normal_reference'
        Kernel width in standard deviations of all rows; by default ``oversmooth n^(-1/5)`` for n rows of a class.
    oversmooth : float, default=1.3
        Factor of the kernel width; 1.06 is best for a normal density, and more leaves fewer local maxima.
    whiten : bool, default=True
        Whether directions are orthogonal to one another after the table is whitened, so that new
        columns are uncorrelated, rather than orthogonal in the columns as they are.
    n_init : int, default=5
        Random directions to start from, beside those of discriminant analysis, of unequal covariances and of single
        columns.
    max_iter : int, default=60
        Maximum number of steps of one search.
    tol : float, default=1e-6
        A search ends when its ratio rises by less than this, or its slope is below it.
    n_slices : int or None, default=None
        If y holds numbers, it is cut into this many slices of about equal size. None takes labels, and whole numbers
        with repeats, as classes, and cuts other numbers into ten slices.
    n_permutations : int, default=0
        If positive, as many searches among rows with shuffled classes are made for each direction, and directions
        end where the ratio is no longer above the largest of these.
    n_jobs : int or None, default=None
        Threads for the starts; None for one.
    random_state : int, RandomState or None, default=None
        Draws the random starts.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions of unit length, in the order in which they were found; the largest entry of each is positive.
    scores_ : ndarray of shape (n_components,)
        Ratio that each reached when it was found, in nats for a row: along itself (after removal, in what was left),
        or for 'nested' and 'subspace' along all directions up to this one together.
    original_scores_ : ndarray of shape (n_components,)
        Ratio along each direction by itself in the table as it is.
    null_scores_ : ndarray of shape (n_components, n_permutations)
        Ratios reached with shuffled classes; NaN where a callback ended the fit before.
    removal_maps_ : list of list of ndarray
        For each direction and class, with 'removal': values along the direction (in standard deviations) and the
        normal ones that were put in their place, as two rows. Otherwise empty.
    whitening_ : ndarray of shape (n_features, rank)
        Map of centred rows to uncorrelated coordinates of unit variance.
    mean_ : ndarray of shape (n_features,)
        Column means of the training table.
    classes_ : ndarray of shape (n_classes,)
        The classes, or the mean of y in each slice.
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
    ExploratoryProjectionPursuit : Directions of structure without classes.
    ProjectionPursuitDiscriminant : A classifier along such directions.
    fewer.select.likelihood_ratio_feature_score : The same ratio for single columns.

    Notes
    -----
    Kernel densities are summed on a grid, O(n) for a direction, with exact derivatives of that sum. Densities count
    from 0.0001 (for unit variance) upwards, so that a few rows far out do not decide the direction. Binary columns are
    taken, since the kernels do not get narrower than the sample size asks for. Gross outliers widen the standard
    deviation, and with it the kernels: clip them, or take ranks (QuantileTransformer) first.

    References
    ----------
    .. [1] Zhu, M. and Hastie, T. (2003). Feature extraction for nonparametric discriminant analysis. Journal of
       Computational and Graphical Statistics 12, 101-120.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import LikelihoodRatioDiscriminant
    >>> X = np.random.default_rng(0).uniform(size=(300, 2))
    >>> y = abs(X[:, 0] - 0.5) < 1 / 6  # the means of both classes are the same
    >>> model = LikelihoodRatioDiscriminant(n_components=1, random_state=0).fit(X, y)
    >>> abs(model.components_).round(1)
    array([[1., 0.]])
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "method": [StrOptions({"orthogonal", "removal", "nested", "subspace"})],
        "density": [StrOptions({"kde", "gaussian", "pooled_gaussian"})],
        "bandwidth": [StrOptions({"normal_reference"}), Interval(Real, 0, None, closed="neither")],
        "oversmooth": [Interval(Real, 0, None, closed="neither")],
        "whiten": ["boolean"],
        "n_init": [Interval(Integral, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_slices": [Interval(Integral, 2, None, closed="left"), None],
        "n_permutations": [Interval(Integral, 0, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=2,
        method="orthogonal",
        density="kde",
        bandwidth="normal_reference",
        oversmooth=1.3,
        whiten=True,
        n_init=5,
        max_iter=60,
        tol=1e-6,
        n_slices=None,
        n_permutations=0,
        n_jobs=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.method = method
        self.density = density
        self.bandwidth = bandwidth
        self.oversmooth = oversmooth
        self.whiten = whiten
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_slices = n_slices
        self.n_permutations = n_permutations
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def _nested(self) -> bool:  # type: ignore[override]  # moving all together is the one way that is not
        return self.method != "subspace"

    @property
    def _takes_sparse(self) -> bool:
        return True

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> "LikelihoodRatioDiscriminant":
        """Find the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes, or numbers to be cut into slices.

        Returns
        -------
        self : object
            The fitted extractor.
        """
        X, y = self._validated(X, y, dtype=(np.float64, np.float32))
        who = type(self).__name__
        labelled = labelled_rows(*slices_of(y, self.n_slices, who), who)
        X = X[labelled.rows]
        sphere = sphere_of(X)
        n_components = self._number_of_components(sphere.rank, "the dimensions of the table")
        self._warn_of_few_rows(X.shape[0], sphere.rank, n_components)
        criterion = ClassCriterion(labelled.begins, self.density, self.bandwidth, self.oversmooth)
        effort = Effort(self.max_iter, self.tol, self.n_jobs)
        ways = Ways(self.method, self.n_init, self.n_permutations, effort)
        metric = None if self.whiten else sphere.to_sphere.T @ sphere.to_sphere
        Z = sphere.coordinates(X)
        rng = check_random_state(self.random_state)
        with fit_steps(self, X, y) as after_step:
            found = pursued(Z, criterion, n_components, ways, metric, rng, lambda: after_step("start"))
            self._keep(found, sphere, Z, criterion, X.dtype)
        self.classes_ = labelled.classes
        warn_unfinished(found.found, effort)
        return self

    def _warn_of_few_rows(self, n_rows: int, rank: int, n_components: int) -> None:
        if rank > n_rows / 5:
            warn_caller(
                f"The table has {n_rows} rows and {rank} dimensions: with fewer than five rows for each, classes seem "
                "to differ along some direction by chance alone. Reduce the columns first, by PCA for instance, and "
                "see n_permutations."
            )
        if self.method in ("nested", "subspace") and n_components > _MOST_TOGETHER:
            warn_caller(
                f"method={self.method!r} estimates densities in {n_components} dimensions, where rows are sparse"
                f"between; use up to {_MOST_TOGETHER} components, or method='orthogonal' or 'removal'."
            )

    def _keep(self, found: Pursuit, sphere: Sphere, Z: np.ndarray, criterion: ClassCriterion, dtype: Any) -> None:
        components = np.array(found.directions) @ sphere.to_sphere.T
        components /= np.linalg.norm(components, axis=1, keepdims=True)
        self.components_ = upright(components).astype(dtype)
        self.mean_ = np.asarray(sphere.mean, dtype=dtype)
        self.whitening_ = sphere.to_sphere.astype(dtype)
        self.scores_ = np.array([one.value for one in found.found])
        alone = criterion.along(Z)
        self.original_scores_ = np.array([alone(direction)[0] for direction in found.directions])
        self.null_scores_ = np.reshape(found.null_scores, (len(found.null_scores), self.n_permutations))
        self.removal_maps_ = found.removal_maps
        self.n_iter_ = max(one.n_iter for one in found.found)

    def feature_scores(self, X: Any, y: Any) -> np.ndarray:
        """Ratio along each column by itself.

        Columns that separate classes only together have low scores here.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table; nothing needs to be fitted before.
        y : array-like of shape (n_samples,)
            Classes, or numbers to be cut into slices.

        Returns
        -------
        scores : ndarray of shape (n_features,)
            In nats for a row; 0 for a constant column.
        """
        X, y = self._validated(X, y, reset=not hasattr(self, "n_features_in_"))
        who = type(self).__name__
        labelled = labelled_rows(*slices_of(y, self.n_slices, who), who)
        index = ClassCriterion(labelled.begins, self.density, self.bandwidth, self.oversmooth).index()
        rows = X[labelled.rows]
        rows = rows.tocsc() if hasattr(rows, "tocsc") else rows
        scores = np.zeros(X.shape[1])
        for place in range(X.shape[1]):
            column = rows[:, [place]]
            column = (column.toarray() if hasattr(column, "toarray") else column)[:, 0]
            column = column.astype(float) - column.mean(dtype=float)
            spread = column.std()
            if spread > np.finfo(X.dtype).eps * np.abs(column).max(initial=0):
                scores[place] = index(column / spread)[0]
        return scores

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
