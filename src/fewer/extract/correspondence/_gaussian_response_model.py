"""The estimator of the Gaussian response model; the mathematics is in ``_gaussian_response.py``."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, checked_array, fit_context, fit_steps, warn_caller
from fewer.catalogue import method
from fewer.extract._extractor import Extractor
from fewer.extract.correspondence._correspondence_analysis import placed
from fewer.extract.correspondence._counts import CountTable, count_table, refuse_negative, warn_of_empty_rows
from fewer.extract.correspondence._gaussian_response import Fit, Response, fitted_response, row_scores

_MOST_CELLS = 50_000_000


@method(
    tasks=["unsupervised"],
    when="Counts rise and fall along a hidden gradient (species along moisture, words along time).",
    cost="O(n p k) time for a step; O(n p k) memory",
    paper="zhu-cca-lda",
    depends_on_shift="it takes counts, whose zero means that nothing was there",
)
class GaussianResponseModel(CallbackSupportMixin, Extractor):
    """Places of rows along a hidden gradient, and optima of columns whose counts rise towards them, by likelihood.

    Parameters
    ----------
    n_components : int, default=1
        Dimensions of the gradient; None for as many as possible.
    equal_tolerance : bool, default=True
        All columns fall off equally fast from their optima; that distance is the unit of the scores. Otherwise each
        column has a tolerance of its own, and the unit is their geometric mean.
    max_iter : int, default=500
        Steps at most.
    tol : float, default=1e-8
        Stop when no derivative of the log likelihood is larger than this share of all counts.
    row_effects : bool, default=False
        Every row has a factor of its own, so that its total says nothing: for sites that were searched longer, or
        longer documents. Otherwise a row with few counts is far from all optima.

    Attributes
    ----------
    row_scores_ : ndarray of shape (n_samples, n_components)
        Places of the training rows, with mean 0; NaN for rows without counts, which ``transform`` puts at 0.
    column_scores_ : ndarray of shape (n_features, n_components)
        Optima of the columns; NaN for columns without counts.
    tolerances_ : ndarray of shape (n_features,)
        How far from its optimum a column's counts have fallen to 61%.
    heights_ : ndarray of shape (n_features,)
        Logarithm of the count expected at the optimum; with row effects, relative to the other columns.
    coef_ : ndarray of shape (n_covariates, n_components) or None
        With covariates: what they are multiplied by.
    covariate_means_ : ndarray of shape (n_covariates,) or None
        What is subtracted from them first.
    log_likelihood_ : float
        Log likelihood reached.
    initial_log_likelihood_ : float
        That of correspondence analysis, where the search starts.
    n_iter_ : int
        Steps taken.
    n_components_ : int
        Dimensions of the gradient.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    CorrespondenceAnalysis : An approximation of it that takes no iterations.

    Notes
    -----
    Given the total of a row, its counts are those of a discriminant analysis along the gradient, with the tolerances as
    standard deviations of the classes: LDA if they are equal. A larger fit does not begin with a smaller one.

    References
    ----------
    .. [1] Zhu, M. (2001). Feature extraction and dimension reduction with applications to classification and the
       analysis of co-occurrence data. PhD dissertation, Stanford University, chapters 1 and 2.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import GaussianResponseModel
    >>> rng = np.random.default_rng(0)
    >>> places, optima = np.linspace(-2, 2, 50), np.linspace(-2, 2, 8)
    >>> counts = rng.poisson(np.exp(2 - (places[:, None] - optima) ** 2 / 2))
    >>> model = GaussianResponseModel().fit(counts)
    >>> bool(abs(np.corrcoef(model.row_scores_[:, 0], places)[0, 1]) > 0.97)
    True
    """

    _nested = False

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "equal_tolerance": ["boolean"],
        "row_effects": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, n_components=1, equal_tolerance=True, max_iter=500, tol=1e-8, row_effects=False):
        self.n_components = n_components
        self.equal_tolerance = equal_tolerance
        self.max_iter = max_iter
        self.tol = tol
        self.row_effects = row_effects

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, covariates=None):
        """Find the gradient.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table of counts, or of other numbers that are 0 or more. A sparse one becomes dense.
        y : Ignored
            Not used.
        covariates : array-like of shape (n_samples, n_covariates), default=None
            Columns that describe the rows: places are linear combinations of them.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if getattr(y, "ndim", 1) == 2 and covariates is None:
            raise ValueError("y is not used, and here it is a table; did you mean fit(X, covariates=...)?")
        X = self._dense_counts(X)
        refuse_negative(X, type(self).__name__, getattr(self, "feature_names_in_", None))
        described = self._centred_covariates(covariates, X)
        table = count_table(X, type(self).__name__)
        possible = min(table.counts.shape) - 1
        if described is not None:
            possible = min(possible, int(np.linalg.matrix_rank(described[table.rows])))
        kept = self._number_of_components(possible, "one less than there are rows or columns with counts")
        with fit_steps(self, X) as after_step:
            found = fitted_response(
                table,
                kept,
                None if described is None else described[table.rows],
                equal_tolerance=self.equal_tolerance,
                row_effects=self.row_effects,
                tol=self.tol,
                max_iter=self.max_iter,
                on_step=lambda: after_step("step"),
            )
            self._keep(found, table, X, described)
        if not found.settled:
            warn_caller(
                f"After {found.n_iter} steps the log likelihood was {found.log_likelihood:.6g} and still rising; "
                f"tol={self.tol:g} was asked for. Raise max_iter; a column found at one end only has no optimum.",
                ConvergenceWarning,
            )
        return self

    def _dense_counts(self, X: Any, **options: Any) -> np.ndarray:
        """The table, checked; expected counts are never 0, so that a sparse one has to become dense."""
        X = self._validated(X, **options)
        if sparse.issparse(X):
            if X.shape[0] * X.shape[1] > _MOST_CELLS:
                raise ValueError(
                    f"GaussianResponseModel expects a count in each of the {X.shape[0]:,} x {X.shape[1]:,} cells, "
                    "which are too many to hold: leave rare columns out, or take CorrespondenceAnalysis instead."
                )
            X = X.toarray()
        return np.ascontiguousarray(X)

    def _centred_covariates(self, covariates: Any, X: np.ndarray) -> np.ndarray | None:
        self.covariate_means_ = None
        if covariates is None:
            return None
        described = checked_array(covariates, type(self).__name__, dtype=np.float64)
        check_consistent_length(X, described)
        self.covariate_means_ = described.mean(axis=0)
        return described - self.covariate_means_

    def _keep(self, found: Fit, table: CountTable, X: np.ndarray, described: np.ndarray | None) -> None:
        """Scores with mean 0 along their principal axes, in units of the typical tolerance."""
        response = found.response
        unit = np.exp(response.log_tolerances.mean())
        centre = response.rows.mean(axis=0) if described is None else np.zeros(response.rows.shape[1])
        turn = linalg.svd(response.rows - centre, full_matrices=False)[2].T
        optima = (response.optima - centre) @ turn / unit
        signs = np.sign(np.take_along_axis(optima, np.abs(optima).argmax(axis=0)[None], axis=0))
        rows, optima = (response.rows - centre) @ turn / unit * signs, optima * signs
        heights = response.heights - (response.heights.mean() if self.row_effects else 0)
        tolerances = response.log_tolerances - np.log(unit)
        self._response = Response(heights, rows, optima, tolerances, response.row_totals)
        self._columns = table.columns
        n_rows, n_columns = X.shape
        self.row_scores_ = placed(rows, table.rows, n_rows, np.nan, X.dtype)
        self.column_scores_ = placed(optima, table.columns, n_columns, np.nan, X.dtype)
        self.tolerances_ = placed(np.exp(tolerances), table.columns, n_columns, np.nan, X.dtype)
        self.heights_ = placed(heights, table.columns, n_columns, -np.inf, X.dtype)
        self.coef_ = None
        if described is not None:
            self.coef_ = linalg.lstsq(described[table.rows], rows)[0]
            self.row_scores_ = (described @ self.coef_).astype(X.dtype)
        self.log_likelihood_ = found.log_likelihood
        self.initial_log_likelihood_ = found.started_at
        self.n_iter_ = max(found.n_iter, 1)

    def transform(self, X):
        """The most likely places of rows with given counts.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts of rows, in the columns of the training table.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Their places; 0, with a warning, for rows without counts.
        """
        check_is_fitted(self)
        X = self._dense_counts(X, reset=False)
        refuse_negative(X, type(self).__name__, getattr(self, "feature_names_in_", None))
        counts = X[:, self._columns].astype(np.float64)
        warn_of_empty_rows(counts.sum(axis=1), type(self).__name__)
        return row_scores(counts, self._response).astype(X.dtype)

    def scores_from(self, covariates):
        """Places of rows of which the covariates alone are known.

        Parameters
        ----------
        covariates : array-like of shape (n_samples, n_covariates)
            Columns that describe the rows, as in ``fit``.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components)
            Their places.
        """
        check_is_fitted(self)
        if self.coef_ is None:
            raise ValueError("The model was fitted without covariates; pass them to fit, or give counts to transform.")
        described = checked_array(covariates, type(self).__name__, dtype=np.float64)
        return (described - self.covariate_means_) @ self.coef_

    @property
    def n_components_(self) -> int:  # type: ignore[override]  # a fact about row_scores_ rather than one more to set
        return self.row_scores_.shape[1]

    @property
    def _takes_sparse(self) -> bool:
        return True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
