"""Clusters with a subspace of their own each: the model of HDDA, fitted by EM.

Responsibilities ``r_ik = P(k | x_i)`` weigh the rows in the estimates, and follow from the costs. A table with more
columns than rows is rotated into the coordinates of its rows first, which changes no distance, so that no step depends
on the number of columns.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import ClusterMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context, fit_steps, warn_caller
from fewer.catalogue import method
from fewer.extract._centred_table import centred_columns_times, centred_gram, column_means, positive_eigenpairs
from fewer.extract._extractor import upright
from fewer.extract.hdda._subspace_model import (
    MODELS,
    ClassSpectrum,
    Moments,
    SubspaceExtractor,
    SubspaceModel,
    chosen_dimensions,
    count_parameters,
    estimated_variances,
    leading_eigenpairs,
    noise_floor_of,
    wanted_dimensions,
)

SETTLING = 10
"""Steps in which dimensions are chosen anew; then they stay, so that the likelihood can only rise."""

_NOTHING = 1e-12
"""A responsibility below this adds no more than rounding does."""
_CELLS, _FEWEST = 1_000_000, 256


class Rows(NamedTuple):
    """Rows in coordinates that are as few as possible: ``X - centre = coordinates @ basis.T``; None is the identity."""

    coordinates: np.ndarray
    centre: np.ndarray
    basis: np.ndarray | None
    n_columns: int


def compact_rows(X: np.ndarray) -> Rows:
    """Rows about their mean, turned into as many coordinates as there are rows where columns are more."""
    mean = column_means(X)
    n_rows, n_columns = X.shape
    if n_columns <= n_rows:
        return Rows(X - mean, mean, None, n_columns)
    squares, left = positive_eigenpairs(centred_gram(X, mean))
    return Rows(left * np.sqrt(squares), mean, centred_columns_times(X, left) / np.sqrt(squares), n_columns)


class Fit(NamedTuple):
    """The state of EM: the model, its spectra, and how likely the rows are under it."""

    model: SubspaceModel
    spectra: list[ClassSpectrum]
    dims: np.ndarray
    priors: np.ndarray
    responsibilities: np.ndarray
    log_likelihood: float
    n_iter: int
    gain: float


class Recipe(NamedTuple):
    """How clusters are estimated."""

    model: str
    dims: str | np.ndarray
    threshold: float
    noise_floor: float
    tol: float
    max_iter: int


def weighted_spectrum(Z: np.ndarray, weights: np.ndarray, most: int, n_columns: int) -> ClassSpectrum:
    """Spectrum of rows that count by weights; the mean has as many entries as coordinates."""
    size = float(weights.sum())
    if size <= 10 * np.finfo(np.float64).eps:
        return ClassSpectrum(size, np.zeros(Z.shape[1]), 0.0, np.zeros(0), np.zeros((Z.shape[1], 0)))
    mean = weights @ Z / size
    products = _weighted_scatter(Z, weights, mean) / size
    values, vectors = leading_eigenpairs(products, min(most, int(np.ceil(size)) - 1, n_columns - 1))
    return ClassSpectrum(size, mean, float(np.trace(products)), values, vectors)


def _weighted_scatter(Z: np.ndarray, weights: np.ndarray, mean: np.ndarray) -> np.ndarray:
    # With many columns most rows belong to one cluster beyond any doubt, and need not be added to the others.
    counting = np.flatnonzero(weights > _NOTHING)
    roots = np.sqrt(weights[counting])
    total = np.zeros((Z.shape[1], Z.shape[1]))
    for rows in gen_batches(len(counting), max(_FEWEST, _CELLS // Z.shape[1])):
        block = (Z[counting[rows]] - mean) * roots[rows, None]
        total += block.T @ block
    return total


def maximised(
    Z: np.ndarray, responsibilities: np.ndarray, recipe: Recipe, n_columns: int, dims: np.ndarray | None
) -> tuple[SubspaceModel, list[ClassSpectrum], np.ndarray]:
    """The M-step: model, spectra, and dimensions, chosen anew unless they are given."""
    rule = recipe.dims if dims is None else dims
    most = n_columns if isinstance(rule, str) else int(np.max(rule, initial=0))
    compact = [weighted_spectrum(Z, weights, most, n_columns) for weights in responsibilities.T]
    sizes = np.array([spectrum.size for spectrum in compact])
    traces = np.array([spectrum.trace for spectrum in compact])
    floor = noise_floor_of(traces, sizes, n_columns, recipe.noise_floor)
    # Rules count the columns of the table, of which the coordinates may be fewer.
    padded = [spectrum._replace(mean=_padded(spectrum.mean, n_columns)) for spectrum in compact]
    dims = chosen_dimensions(padded, rule, recipe.threshold, floor)
    variances = estimated_variances(Moments.of(compact, dims, n_columns), recipe.model, floor)
    priors = np.maximum(sizes, np.finfo(np.float64).tiny) / sizes.sum()
    model = SubspaceModel(
        np.array([spectrum.mean for spectrum in compact]),
        [spectrum.vectors[:, :d] for spectrum, d in zip(compact, dims, strict=True)],
        variances.a,
        variances.b,
        np.log(priors),
        n_columns,
    )
    return model, compact, dims


def _padded(mean: np.ndarray, n_columns: int) -> np.ndarray:
    return np.append(mean, np.zeros(n_columns - len(mean)))


def em(
    Z: np.ndarray,
    responsibilities: np.ndarray,
    recipe: Recipe,
    n_columns: int,
    on_step: Callable[[], bool] = lambda: False,
) -> Fit:
    """Alternate the two steps until the mean log-likelihood of a row gains less than ``tol``."""
    n_rows, before = len(Z), -np.inf
    dims: Any = None
    for n_iter in range(1, recipe.max_iter + 1):
        model, spectra, dims = maximised(Z, responsibilities, recipe, n_columns, dims if n_iter > SETTLING else None)
        halves = -model.costs(Z) / 2
        of_rows = logsumexp(halves, axis=1, keepdims=True)
        responsibilities = np.exp(halves - of_rows)
        log_likelihood = float(of_rows.sum()) - n_rows * n_columns * np.log(2 * np.pi) / 2
        gain, before = (log_likelihood - before) / n_rows, log_likelihood
        if on_step() or abs(gain) < recipe.tol:
            break
    return Fit(
        model, spectra, dims, np.exp(model.log_priors), responsibilities, log_likelihood, n_iter, float(abs(gain))
    )


def partition(labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Responsibilities of a hard partition."""
    return (labels[:, None] == np.arange(n_clusters)).astype(np.float64)


_ROWS_FOR_KMEANS = 2000


@method(
    tasks=["unsupervised"],
    when="Clusters in many columns, each flat in directions of its own, where a Gaussian mixture has too many "
    "covariances to estimate and k-means sees round clusters only.",
    cost="O(k n p min(n, p) + k min(n, p)^3) time a step, O(n min(n, p)) memory beside the table",
    paper="hdda",
    examples=lambda: [HDDC(n_clusters=3, n_dims=2, max_iter=20, tol=0.01), HDDC(n_init=2, init="random", max_iter=20)],
)
class HDDC(CallbackSupportMixin, ClusterMixin, SubspaceExtractor):
    """Clustering in which every cluster has a subspace of its own.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters. Fits with several may be compared by ``bic_``.
    model : {"full", "isometric", "homothetic", "common_noise"}, default="full"
        What clusters share: nothing; both variances, inside and outside of the subspaces; the ratio of the two; the
        variance outside.
    n_dims : {"scree", "bic"}, int or list of int, default="scree"
        Dimension of the subspaces: by gaps between eigenvalues, by BIC, or given, for all clusters or for each.
    scree_threshold : float, default=0.2
        With ``n_dims="scree"``: the last gap counts that is at least this share of the largest.
    second_stage : {"full", "isometric", "homothetic", "common_noise"}, default=None
        Continue with this model from the result of the first: a model that shares more depends less on the start, one
        that shares less fits better in the end.
    init : {"kmeans", "random"}, default="kmeans"
        Where EM starts: from the clusters of k-means, or from a random partition. k-means does not find clusters that
        cross one another.
    n_init : int, default=1
        Number of starts, of which the end with the best BIC is kept.
    noise_floor : float, default=1e-8
        No variance is below this share of the mean variance of a column within clusters.
    tol : float, default=1e-4
        Stop when the mean log-likelihood of a row gains less than this.
    max_iter : int, default=200
        Maximum number of steps in each stage.
    n_components : int, default=None
        Number of new columns that ``transform`` gives: first axes first, of each cluster in turn. By default all. It
        makes no difference to ``predict``.
    n_jobs : int, default=None
        Starts at the same time, in threads.
    random_state : int, RandomState instance or None, default=None
        Draws the starts.

    Attributes
    ----------
    labels_ : ndarray of int of shape (n_samples,)
        Cluster of each training row.
    means_ : ndarray of shape (n_clusters, n_features)
        Mean of each cluster.
    subspaces_ : list of ndarray of shape (n_features, n_dims)
        Orthonormal axes of each cluster's subspace, as columns, by decreasing variance.
    dims_ : ndarray of int of shape (n_clusters,)
        Dimension of each.
    a_ : ndarray of shape (n_clusters,)
        Variance of each cluster along every axis of its subspace.
    b_ : ndarray of shape (n_clusters,)
        Variance along every direction outside.
    alpha_ : ndarray of shape (n_clusters,)
        ``b / (a + b)``: how flat the cluster is, from 0 to 1/2.
    sigma_ : ndarray of shape (n_clusters,)
        ``sqrt(ab / (a + b))``: how large it is.
    priors_ : ndarray of shape (n_clusters,)
        Share of each cluster; the largest cluster is the first.
    eigenvalues_ : list of ndarray
        Leading eigenvalues of the covariance of each cluster, as many as were computed.
    log_likelihood_ : float
        Log-likelihood of the training rows.
    n_parameters_ : float
        Number of free parameters, dimensions included.
    bic_ : float
        Minus twice the log-likelihood plus ``n_parameters_`` times the log of the number of rows: less is better.
    n_iter_ : int
        Steps of the last stage of the start that was kept.
    converged_ : bool
        Whether it ended because it gained too little to go on.
    n_components_ : int
        Number of new columns.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    HDDA : The same model, when the classes are known.
    sklearn.mixture.GaussianMixture : Full, tied, diagonal or round covariances.

    Notes
    -----
    Dimensions are chosen anew in the first ten steps and then stay. The units of columns matter: what is large counts
    as signal.

    References
    ----------
    .. [1] Bouveyron, C., Girard, S. and Schmid, C. (2006). Class-specific subspace discriminant analysis for
       high-dimensional data. Subspace, Latent Structure and Feature Selection, LNCS 3940, 139-150.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from fewer.extract import HDDC
    >>> rng = np.random.default_rng(0)
    >>> X = 0.3 * rng.normal(size=(300, 30))
    >>> X[:150, 0] += 3 * rng.normal(size=150)
    >>> X[150:, 1] += 3 * rng.normal(size=150)
    >>> found = HDDC(n_dims=1, n_init=5, init="random", random_state=0).fit_predict(X)
    >>> bool(adjusted_rand_score(np.arange(300) < 150, found) > 0.7)
    True
    """

    _what = "cluster"
    # EM needs the rows about their mean, which a sparse table has no room for.
    _takes_sparse = False

    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "model": [StrOptions(set(MODELS))],
        "n_dims": [StrOptions({"scree", "bic"}), Interval(Integral, 0, None, closed="left"), "array-like"],
        "scree_threshold": [Interval(Real, 0, 1, closed="right")],
        "second_stage": [StrOptions(set(MODELS)), None],
        "init": [StrOptions({"kmeans", "random"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "noise_floor": [Interval(Real, 0, 1, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters=2,
        model="full",
        n_dims="scree",
        scree_threshold=0.2,
        second_stage=None,
        init="kmeans",
        n_init=1,
        noise_floor=1e-8,
        tol=1e-4,
        max_iter=200,
        n_components=None,
        n_jobs=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.model = model
        self.n_dims = n_dims
        self.scree_threshold = scree_threshold
        self.second_stage = second_stage
        self.init = init
        self.n_init = n_init
        self.noise_floor = noise_floor
        self.tol = tol
        self.max_iter = max_iter
        self.n_components = n_components
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> "HDDC":
        """Find the clusters and their subspaces.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = self._validated(X)
        if X.shape[0] < self.n_clusters:
            raise ValueError(f"n_clusters={self.n_clusters} are asked for, and there are only {X.shape[0]} rows.")
        wanted = wanted_dimensions(self.n_dims, self.n_clusters, "clusters")
        rows = compact_rows(X)
        recipe = Recipe(self.model, wanted, self.scree_threshold, self.noise_floor, self.tol, self.max_iter)
        rng = check_random_state(self.random_state)
        starts = [self._start(rows.coordinates, rng) for _ in range(self.n_init)]
        with fit_steps(self, X) as after_step:
            stopped = False

            def stop() -> bool:
                nonlocal stopped
                stopped = stopped or after_step("em-step")
                return stopped

            fits = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(self._ended)(rows, start, recipe, stop) for start in starts
            )
            best = min(fits, key=lambda fit: self._bic(fit, rows))
            order = self._settle(rows, best)
            self._settle_components(wanted if isinstance(wanted, str) else wanted[order])
        self.converged_ = best.gain < self.tol
        if not self.converged_ and not stopped:
            warn_caller(
                f"The mean log-likelihood of a row still gained {best.gain:.2g} after {best.n_iter} steps; raise "
                "max_iter or tol.",
                ConvergenceWarning,
            )
        return self

    def _validated(self, X: Any, y: Any = "no_validation", **options: Any) -> Any:
        if sparse.issparse(X):
            megabytes = 8e-6 * X.shape[0] * X.shape[1]
            raise TypeError(
                f"Sparse data was passed for X, and HDDC looks at rows about their means, which are dense: pass "
                f"X.toarray(), which takes {megabytes:,.0f} MB here, or have TruncatedSVD(100) as the step before."
            )
        return super()._validated(X, y, **options)

    def _start(self, Z: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        if self.init == "random":
            # Every cluster gets a row at least.
            labels = rng.permutation(np.arange(len(Z)) % self.n_clusters)
        else:
            # The best of several on some of the rows is a better start than a single one on all of them, and faster.
            some = rng.permutation(len(Z))[: max(_ROWS_FOR_KMEANS, 10 * self.n_clusters)]
            labels = KMeans(self.n_clusters, n_init=10, random_state=rng).fit(Z[some]).predict(Z)
        return partition(labels, self.n_clusters)

    def _ended(self, rows: Rows, start: np.ndarray, recipe: Recipe, stop: Callable[[], bool]) -> Fit:
        """Where EM comes to from one start, after all stages."""
        stages = [recipe]
        if self.init == "random" and isinstance(recipe.dims, str):
            # Random parts are alike, and many dimensions would hold them all: one makes them choose.
            lines = np.ones(self.n_clusters, dtype=int)
            stages.insert(0, recipe._replace(dims=lines, max_iter=min(2 * SETTLING, self.max_iter)))
        if self.second_stage is not None:
            stages.append(recipe._replace(model=self.second_stage))
        stopped = False

        def on_step() -> bool:
            nonlocal stopped
            stopped = stop()
            return stopped

        for stage in stages:
            found = em(rows.coordinates, start, stage, rows.n_columns, on_step)
            start = found.responsibilities
            if stopped:
                break
        return found

    def _settle(self, rows: Rows, best: Fit) -> np.ndarray:
        """Set what a fit leaves, in the columns of the table, the largest cluster first; give their order in EM."""
        order = np.argsort(-best.priors, kind="stable")
        to_columns = (lambda vectors: vectors) if rows.basis is None else (lambda vectors: rows.basis @ vectors)
        means = np.array([to_columns(best.model.means[each]) for each in order])
        self.means_ = means + rows.centre
        self.dims_ = best.dims[order]
        axes = [to_columns(best.model.subspaces[each]) for each in order]
        self.subspaces_ = [np.ascontiguousarray(upright(Q.T).T) if Q.shape[1] else Q for Q in axes]
        self.a_, self.b_, self.priors_ = best.model.a[order], best.model.b[order], best.priors[order]
        self.eigenvalues_ = [best.spectra[each].eigenvalues for each in order]
        self.labels_ = best.responsibilities[:, order].argmax(axis=1)
        self.log_likelihood_ = best.log_likelihood
        self.n_iter_ = best.n_iter
        used = self.model if self.second_stage is None else self.second_stage
        self.n_parameters_ = count_parameters(used, self.dims_, rows.n_columns)
        self.bic_ = self._bic(best, rows)
        return order

    def _bic(self, fit: Fit, rows: Rows) -> float:
        used = self.model if self.second_stage is None else self.second_stage
        n_parameters = count_parameters(used, fit.dims, rows.n_columns)
        return -2 * fit.log_likelihood + n_parameters * float(np.log(len(rows.coordinates)))

    def predict(self, X: Any) -> np.ndarray:
        """Cluster of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        labels : ndarray of int of shape (n_samples,)
            Number of the cluster of each row.
        """
        return self.cost(X).argmin(axis=1)

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        log_likelihoods : ndarray of shape (n_samples,)
            Log of the density of the mixture at each row.
        """
        return logsumexp(-self.cost(X) / 2, axis=1) - self.n_features_in_ * np.log(2 * np.pi) / 2

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Table with the columns of the training table.
        y : Ignored
            Not used.

        Returns
        -------
        score : float
            Mean log of the density of the mixture.
        """
        return float(self.score_samples(X).mean())

    def transform_class(self, X: Any, cluster: int) -> np.ndarray:
        """Coordinates in the subspace of one cluster.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Table with the columns of the training table.
        cluster : int
            Number of the cluster.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_dims)
            One column for each axis of its subspace.
        """
        check_is_fitted(self)
        if not 0 <= cluster < self.n_clusters:
            raise ValueError(f"There is no cluster {cluster}; they are counted from 0 to {self.n_clusters - 1}.")
        return self._coordinates(X, cluster)

    def _labels(self) -> list[int]:
        return list(range(self.n_clusters))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]  # which clusterings of scikit-learn do not
        return tags
