"""A graph from lasso regressions of each column on the others, and the maximum-likelihood precision matrix on it.

    theta_i = argmin b' R_{-i,-i} b / 2 - b' R_{-i,i} + alpha ||b||_1,    alpha = Phi^-1(1 - level / (2 p^2)) / sqrt(n),

with the correlations R. At this penalty, two columns that no path connects are joined with a probability of at most
``level``. Meinshausen and Buhlmann (2006), Annals of Statistics 34, 1436-1462.
"""

import warnings
from numbers import Real

import numpy as np
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import Interval, StrOptions, fit_context, warn_caller
from fewer._wording import listed
from fewer.catalogue import method
from fewer.graph.precision._column_covariance import PrecisionGraph, column_covariance, refuse_constant_columns
from fewer.graph.precision._neighborhoods import RULES, edge_knowledge, neighborhood
from fewer.graph.precision._newton import PrecisionSolution
from fewer.graph.precision._precision_path import sparse_precision

_LARGEST_PRECISION = 1e7
"""Eigenvalues of the precision matrix of standardised columns above this come from columns that determine another."""


@method(
    tasks=["unsupervised"],
    when="A quick graph with a significance level instead of a penalty, and a precision matrix on it that is not "
    "shrunk. Conservative: it misses weak edges.",
    cost="O(n p^2) for the covariances, p lasso regressions of O(p k) a pass, and O(p^3) a step for the likelihood.",
    examples=lambda: [NeighborhoodSelectionMLE(), NeighborhoodSelectionMLE(rule="and", significance_level=0.5)],
)
class NeighborhoodSelectionMLE(PrecisionGraph):
    """Graph from lasso regressions of each column on the others, then maximum likelihood on that graph.

    Parameters
    ----------
    significance_level : float, default=0.05
        Bound on the probability of joining two columns that no path of the true graph connects.
    rule : {"or", "and"}, default="or"
        Whether an edge needs a coefficient in one or in both of its regressions.
    tol : float, default=1e-6
        The likelihood is below its maximum by at most this for each column.
    assume_centered : bool, default=False
        Whether the columns have mean zero already.

    Attributes
    ----------
    precision_ : ndarray of shape (n_features, n_features)
        The precision matrix, zero wherever there is no edge.
    covariance_ : ndarray of shape (n_features, n_features)
        Its inverse; on the edges, it has the covariances of the table.
    location_ : ndarray of shape (n_features,)
        Means of the columns.
    alpha_ : float
        The penalty of the regressions of standardised columns.
    gap_ : float
        Duality gap of the likelihood.
    adjacency_ : ndarray of bool of shape (n_features, n_features)
        Which pairs have an edge.
    edges_ : polars.DataFrame
        The edges with their partial correlations, largest first.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    SparsePrecisionCV : The graphical lasso, which does both at once.
    NeighborhoodDantzigPrecision : By Dantzig selectors.

    References
    ----------
    .. [1] Meinshausen, N. and Buhlmann, P. (2006). High-dimensional graphs and variable selection with the lasso.
       Annals of Statistics 34, 1436-1462.

    Examples
    --------
    >>> from fewer.datasets import make_graph_gaussian
    >>> from fewer.graph import NeighborhoodSelectionMLE
    >>> X, _, truth = make_graph_gaussian(200, 6, structure="chain", random_state=0)
    >>> graph = NeighborhoodSelectionMLE().fit(X)
    >>> bool((graph.adjacency_ == truth["adjacency"]).all())
    True
    """

    _parameter_constraints = {
        "significance_level": [Interval(Real, 0, 1, closed="neither")],
        "rule": [StrOptions(set(RULES))],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "assume_centered": ["boolean"],
    }

    def __init__(self, significance_level=0.05, *, rule="or", tol=1e-6, assume_centered=False):
        self.significance_level = significance_level
        self.rule = rule
        self.tol = tol
        self.assume_centered = assume_centered

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Select the neighbours of each column, and estimate the precision matrix.

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
        X = self._checked_table(X, dtype=(np.float64,))
        moments = column_covariance(X, "pearson", assume_centered=self.assume_centered)
        refuse_constant_columns(moments.scales**2, moments.location, self._node_names(), type(self).__name__)
        R, size = moments.matrix, X.shape[1]
        self.alpha_ = float(norm.isf(self.significance_level / (2 * size**2)) / np.sqrt(len(X)))
        nothing_known = edge_knowledge(self._node_names(), None, None)
        coefs = np.column_stack([neighborhood(R, i, self.alpha_, "lasso", nothing_known) for i in range(size)])
        self.adjacency_ = RULES[self.rule](coefs != 0, coefs.T != 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it advises on parameters of the graphical lasso
            solution = sparse_precision(R, np.where(self.adjacency_, 0.0, np.inf), tol=self.tol)
        self._check_maximum(solution)
        self.gap_ = solution.gap
        self._set_precision(solution.precision, solution.covariance, moments)
        return self

    def _check_maximum(self, solution: PrecisionSolution) -> None:
        """Refuse a likelihood without a maximum; warn of one that was not reached."""
        values, vectors = np.linalg.eigh(solution.precision)
        if values[-1] > _LARGEST_PRECISION:
            involved = np.abs(vectors[:, -1]) > 0.1
            names = [name for name, is_it in zip(self._node_names(), involved, strict=True) if is_it]
            raise ValueError(
                f"The likelihood has no maximum on the graph that was found: one of columns {listed(names)} is a "
                "linear combination of the others, or a duplicate. Leave it out, or use SparsePrecisionCV."
            )
        if not solution.gap <= self.tol * len(values):
            warn_caller(
                f"The likelihood was not maximised in {solution.n_iter} steps: it is below its maximum by at most "
                f"{solution.gap:.2g}, above tol={self.tol:.2g} times {len(values)} columns. Increase tol, or decrease "
                "significance_level for fewer edges.",
                ConvergenceWarning,
            )
