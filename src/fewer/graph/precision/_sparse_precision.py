"""A sparse precision matrix by the graphical lasso: at one penalty, or at a penalty that is chosen.

    min over Omega > 0 of  -log det Omega + tr(S Omega) + alpha sum_{i != j} |Omega_ij|

Friedman, Hastie and Tibshirani (2008), Biostatistics 9, 432-441. The penalty is chosen by held-out likelihood, or by an
information criterion,

    EBIC = n (tr(S Omega) - log det Omega) + E log n + 4 gamma E log p,

with E edges; BIC has gamma = 0 (Foygel and Drton 2010).
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.model_selection import check_cv

from fewer._estimators import Interval, StrOptions, decreasing_alphas, fit_context, fit_steps
from fewer.catalogue import method
from fewer.graph.precision._column_covariance import (
    METHODS,
    ColumnCovariance,
    PrecisionGraph,
    column_covariance,
    covariance_around,
)
from fewer.graph.precision._precision_path import checked_solution, path_of_solutions, penalty_grid, penalty_matrix


@method(
    tasks=["unsupervised"],
    when="Which columns depend on each other given all the others, at a penalty that you choose; the first graph to "
    "try for columns of numbers. With covariance='spearman' columns need not be Gaussian.",
    cost="O(n p^2) for the covariances, then a few steps of O(p^3 + p^2 degree); parts of the graph that are not "
    "connected are solved separately.",
    examples=lambda: [SparsePrecision(alpha=0.05), SparsePrecision(alpha=0.1, covariance="spearman")],
    depends_on_scale="alpha is compared with covariances, unless covariance is 'pearson', 'spearman' or 'kendall'",
)
class SparsePrecision(CallbackSupportMixin, PrecisionGraph):
    """Sparse precision matrix by the graphical lasso, with a duality gap.

    Parameters
    ----------
    alpha : float, default=0.1
        Penalty of the entries off the diagonal, on scikit-learn's scale; the larger, the fewer edges.
    covariance : {"empirical", "pearson", "spearman", "kendall", "precomputed"}, default="empirical"
        What is penalised: covariances; correlations; correlations of the Gaussians behind the ranks, for columns that
        are increasing functions of Gaussians; or X itself, which is a covariance matrix. With correlations, ``alpha``
        has no unit, and ``precision_`` is converted to the units of the columns.
    tol : float, default=1e-6
        The objective is above its minimum by at most this for each column.
    max_iter : int, default=100
        Newton steps at most.
    assume_centered : bool, default=False
        Whether the columns have mean zero already.

    Attributes
    ----------
    precision_ : ndarray of shape (n_features, n_features)
        The sparse precision matrix.
    covariance_ : ndarray of shape (n_features, n_features)
        Its inverse.
    location_ : ndarray of shape (n_features,)
        Means of the columns.
    adjacency_ : ndarray of bool of shape (n_features, n_features)
        Which pairs have an edge.
    edges_ : polars.DataFrame
        The edges with their partial correlations, largest first.
    objective_ : float
        The minimum that was reached.
    gap_ : float
        Duality gap: the objective is above the minimum by this at most.
    n_iter_ : int
        Newton steps.
    n_parts_ : int
        Parts of the graph that no edge connects, as the screening found them.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    SparsePrecisionCV : Chooses the penalty.
    sparse_precision : The same for a covariance matrix, with a penalty for each entry.
    edge_stability : How sure each edge is.

    References
    ----------
    .. [1] Friedman, J., Hastie, T. and Tibshirani, R. (2008). Sparse inverse covariance estimation with the graphical
       lasso. Biostatistics 9, 432-441.
    .. [2] Hsieh, C.-J., Sustik, M. A., Dhillon, I. S. and Ravikumar, P. (2014). QUIC: quadratic approximation for
       sparse inverse covariance estimation. Journal of Machine Learning Research 15, 2911-2947.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> from fewer.graph import SparsePrecision
    >>> wine = load("wine")
    >>> graph = SparsePrecision(alpha=0.4, covariance="pearson").fit(wine.X)
    >>> graph.edges_.head(2).rows()
    [('x5', 'x6', 0.36...), ('x6', 'x11', 0.26...)]
    """

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "covariance": [StrOptions({*METHODS, "precomputed"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "assume_centered": ["boolean"],
    }

    def __init__(self, alpha=0.1, *, covariance="empirical", tol=1e-6, max_iter=100, assume_centered=False):
        self.alpha = alpha
        self.covariance = covariance
        self.tol = tol
        self.max_iter = max_iter
        self.assume_centered = assume_centered

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Estimate the precision matrix.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table, or its covariance matrix with ``covariance="precomputed"``.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        moments = self._moments(X, self.covariance)
        with fit_steps(self, X) as after_step:
            self._fit_at(moments, self.alpha, after_step=lambda *_: after_step("Newton step"))
        return self

    def _fit_at(self, moments: ColumnCovariance, alpha: float, after_step: Any = None) -> None:
        S = moments.matrix
        solution = checked_solution(S, penalty_matrix(alpha, S), self.tol, self.max_iter, after_step=after_step)
        self._set_precision(solution.precision, solution.covariance, moments)
        self.adjacency_ = (solution.precision != 0) & ~np.eye(len(S), dtype=bool)
        self.objective_, self.gap_ = solution.objective, solution.gap
        self.n_iter_, self.n_parts_ = solution.n_iter, solution.n_parts


@method(
    tasks=["unsupervised"],
    when="The graphical lasso when you do not know the penalty: held-out likelihood predicts best but keeps too many "
    "edges; EBIC, the default, is for the graph.",
    cost="O(n p^2 + n_alphas p^3) for a path of penalties, cv + 1 times with criterion='cv'.",
    examples=lambda: [SparsePrecisionCV(n_alphas=6), SparsePrecisionCV(n_alphas=5, criterion="cv", cv=3)],
)
class SparsePrecisionCV(SparsePrecision):
    """Sparse precision matrix at a penalty that likelihood or an information criterion chooses.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,), default=None
        Penalties to choose from; by default ``n_alphas`` from the smallest one without an edge down to ``eps`` times
        that.
    n_alphas : int, default=20
        Number of penalties.
    eps : float, default=0.05
        Smallest penalty over the largest.
    criterion : {"ebic", "bic", "cv"}, default="ebic"
        Extended BIC, BIC, or the likelihood of held-out rows.
    ebic_gamma : float, default=0.5
        How much the number of possible graphs counts in "ebic", 0 to 1.
    cv : int, splitter or iterable, default=5
        Folds for "cv".
    covariance : {"empirical", "pearson", "spearman", "kendall"}, default="pearson"
        As in :class:`SparsePrecision`.
    tol : float, default=1e-6
        The objective is above its minimum by at most this for each column.
    max_iter : int, default=100
        Newton steps at most.
    assume_centered : bool, default=False
        Whether the columns have mean zero already.
    n_jobs : int or None, default=None
        Folds at the same time, in threads.

    Attributes
    ----------
    alpha_ : float
        The penalty.
    alphas_ : ndarray of shape (n_alphas,)
        The penalties that were compared, largest first.
    scores_ : ndarray of shape (n_alphas,)
        Mean log-likelihood of a held-out row, or minus the criterion over twice the number of rows; the largest wins.
    precision_ : ndarray of shape (n_features, n_features)
        The sparse precision matrix.
    covariance_ : ndarray of shape (n_features, n_features)
        Its inverse.
    location_ : ndarray of shape (n_features,)
        Means of the columns.
    adjacency_ : ndarray of bool of shape (n_features, n_features)
        Which pairs have an edge.
    edges_ : polars.DataFrame
        The edges with their partial correlations, largest first.
    objective_ : float
        The minimum that was reached.
    gap_ : float
        Duality gap: the objective is above the minimum by this at most.
    n_iter_ : int
        Newton steps of the final fit.
    n_parts_ : int
        Parts of the graph that no edge connects, as the screening found them.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    SparsePrecision : At a penalty that is given.
    sparse_precision_path : The whole path.

    References
    ----------
    .. [1] Foygel, R. and Drton, M. (2010). Extended Bayesian information criteria for Gaussian graphical models.
       Advances in Neural Information Processing Systems 23, 604-612.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> from fewer.graph import SparsePrecisionCV
    >>> wine = load("wine")
    >>> graph = SparsePrecisionCV().fit(wine.X)
    >>> len(graph.edges_)
    47
    """

    _parameter_constraints = {
        **{name: rule for name, rule in SparsePrecision._parameter_constraints.items() if name != "alpha"},
        "alphas": ["array-like", None],
        "n_alphas": [Interval(Integral, 1, None, closed="left")],
        "eps": [Interval(Real, 0, 1, closed="neither")],
        "criterion": [StrOptions({"ebic", "bic", "cv"})],
        "ebic_gamma": [Interval(Real, 0, 1, closed="both")],
        "cv": ["cv_object"],
        "covariance": [StrOptions(set(METHODS))],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        alphas=None,
        n_alphas=20,
        eps=0.05,
        criterion="ebic",
        ebic_gamma=0.5,
        cv=5,
        covariance="pearson",
        tol=1e-6,
        max_iter=100,
        assume_centered=False,
        n_jobs=None,
    ):
        self.alphas = alphas
        self.n_alphas = n_alphas
        self.eps = eps
        self.criterion = criterion
        self.ebic_gamma = ebic_gamma
        self.cv = cv
        self.covariance = covariance
        self.tol = tol
        self.max_iter = max_iter
        self.assume_centered = assume_centered
        self.n_jobs = n_jobs

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Choose the penalty and estimate the precision matrix.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        moments = self._moments(X, self.covariance)
        X = self._checked_table(X)
        self.alphas_ = (
            penalty_grid(moments.matrix, self.n_alphas, self.eps)
            if self.alphas is None
            else decreasing_alphas(self.alphas)
        )
        with fit_steps(self, X) as after_step:
            score = self._held_out if self.criterion == "cv" else self._criterion
            self.scores_ = score(X, moments.matrix, after_step)
            self.alphas_ = self.alphas_[: len(self.scores_)]
            self.alpha_ = float(self.alphas_[np.argmax(self.scores_)])
            self._fit_at(moments, self.alpha_)
        return self

    def _criterion(self, X: np.ndarray, S: np.ndarray, after_step: Any) -> np.ndarray:
        """Scores of the penalties, each of them a step."""
        path = path_of_solutions(S, self.alphas_, self.tol, self.max_iter, lambda: after_step("penalty"))
        gamma = self.ebic_gamma if self.criterion == "ebic" else 0.0
        return -path.information_criterion(len(X), gamma) / (2 * len(X))

    def _held_out(self, X: np.ndarray, S: np.ndarray, after_step: Any) -> np.ndarray:
        """Scores of the penalties on all folds, each fold a step."""
        found = []
        for scores in Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
            delayed(self._fold_scores)(X[train], X[test]) for train, test in check_cv(self.cv).split(X)
        ):
            found.append(scores)
            if after_step("fold"):
                break
        return np.mean(found, axis=0)

    def _fold_scores(self, train: np.ndarray, test: np.ndarray) -> np.ndarray:
        moments = column_covariance(train, self.covariance, assume_centered=self.assume_centered)
        path = path_of_solutions(moments.matrix, self.alphas_, self.tol, self.max_iter)
        S = covariance_around(test, self.covariance, moments)
        traces = np.array([precision.multiply(S).sum() for precision in path.precisions])
        return (path.log_dets - traces - S.shape[0] * np.log(2 * np.pi)) / 2
