"""Regression on a few new columns with a large covariance with the target: partial least squares."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context, fit_steps
from fewer.catalogue import method
from fewer.extract._extractor import LinearExtractor
from fewer.learn.pls import (
    WHY_NO_MORE,
    Moments,
    Settings,
    Solution,
    column_means,
    observed_part,
    of_moments,
    ritz_values,
    scores_with_missing,
    solution,
    vip_scores,
)


class PLSExtractor(LinearExtractor):
    """Base: a dense table may have missing values (NaN) where ``_takes_missing`` says so; a sparse one may not."""

    x_weights_: np.ndarray
    x_loadings_: np.ndarray
    _x_scale: np.ndarray

    _for_missing: str
    """The parameter with which missing values are accepted, for the error message."""

    @property
    def _takes_sparse(self) -> bool:
        return True

    @property
    def _takes_missing(self) -> bool:
        raise NotImplementedError

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_missing
        return tags

    def _with_missing(self, X: Any, y: Any = "no_validation", **options: Any) -> Any:
        """Table and target, checked; where missing values are not accepted, the error names the parameter to set."""
        usual = {"ensure_all_finite": "allow-nan" if self._takes_missing and not sparse.issparse(X) else True}
        try:
            return self._validated(X, y, **(usual | options))
        except ValueError as error:
            if self._takes_missing or sparse.issparse(X) or not str(error).startswith("Input X contains NaN"):
                raise
            raise ValueError(f"{error} Or take {self._for_missing}, which accepts missing values.") from None

    def transform(self, X: Any) -> Any:
        """Scores of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table; it may have missing values where that of ``fit`` may.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            One column for each component.
        """
        return self._scores(X)

    def _scores(self, X: Any) -> Any:
        """As ``transform``, and an array whatever output is set."""
        check_is_fitted(self)
        return self._scores_of(self._with_missing(X, reset=False))

    def _scores_of(self, X: Any) -> np.ndarray:
        if isinstance(X, np.ndarray) and self._takes_missing and np.isnan(X.sum()) and np.isnan(X).any():
            filled, there = observed_part(X, self.mean_, self._x_scale)
            return scores_with_missing(filled, there, self.x_weights_, self.x_loadings_).astype(X.dtype)
        return X @ self.components_.T - self.mean_ @ self.components_.T


@method(
    tasks=["regression"],
    when="Many columns that go together, such as spectra, more of them than rows or not, and one target or several: "
    "a few new columns that both vary and predict. Where most columns are noise of their own, choose columns instead.",
    cost="O(n p k) time for k components (sparse: stored entries for n p), O(n p) memory; kernel: O(n p min(n, p))",
    paper="pls",
    examples=lambda: [
        PLSRegressor(),
        PLSRegressor(3, solver="kernel"),
        PLSRegressor(3, solver="simpls", scale=True),
        PLSRegressor(3, solver="krylov"),
    ],
    aliases=["partial least squares"],
)
class PLSRegressor(CallbackSupportMixin, RegressorMixin, MultiOutputMixin, PLSExtractor):
    """Partial least squares regression: new columns by covariance with the targets, and least squares on them.

    Parameters
    ----------
    n_components : int, default=2
        Number of new columns; None for as many as there are.
    solver : {"nipals", "simpls", "kernel", "krylov"}, default="nipals"
        "nipals" (PLS1 and PLS2) works on the table itself and takes missing values (NaN). "kernel" gives the same from
        the products of columns or of rows, whichever are fewer: faster for many components of a table that is long or
        wide, with half of the digits where columns are nearly dependent. "krylov" gives the same for one target, as
        conjugate gradients, without the components that are weak in the table. "simpls" predicts the same for one
        target, by other weights (and so ``vip_``), and a little different for several.
    scale : bool, default=False
        Whether columns and targets are scaled to unit variance; coefficients are in the units of the table all the
        same. Without it, columns count by their spread.
    max_iter : int, default=500
        Maximum number of rounds of the inner loop for a component, needed for missing values with several targets; and
        maximum number of restarts of Lanczos' method, which finds the weights with more than 500 targets.
    tol : float, default=1e-10
        The loop ends when the score changes by less than this share of its length, and the method when its residual is
        below this share of the eigenvalue.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients for the columns as they are.
    intercept_ : float or ndarray of shape (n_targets,)
        Constant term.
    coef_path_ : ndarray of shape (n_components, n_features) or (n_components, n_targets, n_features)
        Coefficients after 1, 2, ... components.
    x_weights_ : ndarray of shape (n_features, n_components)
        Weights W of length 1; the largest entry of each is positive.
    x_loadings_ : ndarray of shape (n_features, n_components)
        Loadings P: how the columns go with the scores.
    x_rotations_ : ndarray of shape (n_features, n_components)
        ``W (P'W)^-1``: from centred and scaled columns to scores.
    x_scores_ : ndarray of shape (n_samples, n_components) or None
        Scores T of the training rows, orthogonal to each other; None after ``partial_fit``, which keeps no rows.
    y_loadings_ : ndarray of shape (n_targets, n_components)
        Coefficients C of the targets on the scores.
    y_weights_ : ndarray of shape (n_targets, n_components)
        The same with length 1.
    explained_variance_ratio_x_ : ndarray of shape (n_components,)
        Share of the variance of the columns that each component takes.
    explained_variance_ratio_y_ : ndarray of shape (n_components,)
        Share of the variance of the targets.
    vip_ : ndarray of shape (n_features,)
        Variable importance in projection; its mean square is 1.
    ritz_values_ : ndarray of shape (n_components,)
        Eigenvalues of ``X'X`` within the span of the weights.
    shrinkage_factors_ : ndarray of shape (n_directions,) or None
        Factor of the least-squares coefficients along each principal direction, the largest first; some are above 1.
        None with several targets, with missing values, and for tables so large that this would cost more than the fit:
        then see ``pls_shrinkage``.
    components_ : ndarray of shape (n_components, n_features)
        From centred columns to scores: the rotations as rows, in the units of the table.
    mean_ : ndarray of shape (n_features,)
        Column means.
    n_components_ : int
        Number of components found.
    n_iter_ : int
        Steps of the fit, which callbacks see: one for each component, and 1 at least.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    fewer.evaluate.component_curve : How many components, by cross-indexing.
    KernelPLS : For curved relations.
    PLSDiscriminant : For classes.
    fewer.select.VIPSelector : Columns by their importance here.
    sklearn.cross_decomposition.PLSRegression : Its peer; slower, without sparse tables, missing values or paths.

    Notes
    -----
    The components of a fit with fewer are the first ones of a fit with more. A sparse table stays sparse. With missing
    values, which are assumed to be missing at random, components are those of the classical loop over what is
    observed; they are only nearly orthogonal.

    References
    ----------
    .. [1] Rosipal, R. and Kraemer, N. (2006). Overview and recent advances in partial least squares. In Subspace,
       Latent Structure and Feature Selection, LNCS 3940, 34-51.
    .. [2] Dayal, B. S. and MacGregor, J. F. (1997). Improved PLS algorithms. Journal of Chemometrics 11, 73-85.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fewer.extract import PLSRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = PLSRegressor(3).fit(X, y)
    >>> round(model.score(X, y), 3)
    0.513
    >>> model.explained_variance_ratio_y_.round(3)
    array([0.406, 0.102, 0.005])
    >>> model.transform(X).shape
    (442, 3)
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "solver": [StrOptions({"nipals", "simpls", "kernel", "krylov"})],
        "scale": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, n_components=2, solver="nipals", scale=False, max_iter=500, tol=1e-10):
        self.n_components = n_components
        self.solver = solver
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol

    _moments: Moments

    _for_missing = 'solver="nipals"'

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.solver != "krylov"
        return tags

    @property
    def _takes_missing(self) -> bool:
        return self.solver == "nipals"

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> "PLSRegressor":
        """Find the components and the coefficients.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table; with ``solver="nipals"`` it may have missing values (NaN), unless it is sparse.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, Y, mean = self._checked_with_means(X, y)
        self.__dict__.pop("_moments", None)
        most = max(min(X.shape[0] - 1, X.shape[1]), 0)
        wanted = most if self.n_components is None else min(self.n_components, most)
        stopped = False
        with fit_steps(self, X, y, n_steps=wanted) as after_step:

            def watch(number: int) -> bool:
                nonlocal stopped
                stopped = after_step(f"component {number}")
                return stopped

            found = solution(X, Y, wanted, self._settings, watch, mean)
            if not stopped:
                why = WHY_NO_MORE if found.y_square else "for y is constant: its mean is predicted"
                self._number_of_components(found.factors.n_components, why)
            self._keep(found, X.dtype)
        return self

    def _works_from_sums(self) -> bool:
        if self.solver not in ("nipals", "kernel"):
            raise AttributeError(
                f"partial_fit keeps sums over rows, which solver={self.solver!r} does not work from; take "
                "solver='kernel'."
            )
        return True

    @available_if(_works_from_sums)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any) -> "PLSRegressor":
        """Add rows to those seen so far: only sums over rows are kept, ``X'X`` and ``X'y`` among them.

        After the last block the model is that of ``fit`` with ``solver="kernel"`` on all rows. After ``fit``, rows
        are counted from none again.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            More rows of the training table, without missing values.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets.

        Returns
        -------
        self : object
            The estimator, fitted to all rows so far.
        """
        first = not hasattr(self, "_moments")
        n_targets = np.shape(y)[1] if np.ndim(y) == 2 else 1
        if not first and n_targets != len(self._moments.y_mean):
            raise ValueError(
                f"The number of targets is {n_targets} here, and in the rows before it was "
                f"{len(self._moments.y_mean)}; give the same ones with every block of rows."
            )
        X, Y = self._checked(X, y, reset=first, ensure_min_samples=1, ensure_all_finite=True)
        sums = Moments.of(X, Y)
        self._moments = sums if first else self._moments.joined(sums)
        most = max(min(self._moments.n_rows - 1, X.shape[1]), 0)
        wanted = most if self.n_components is None else min(self.n_components, most)
        self._keep(of_moments(self._moments, wanted, self._settings), X.dtype)
        return self

    @property
    def _settings(self) -> Settings:
        return Settings(self.solver, self.scale, self.max_iter, self.tol)

    def _checked(self, X: Any, y: Any, **options: Any) -> tuple[Any, np.ndarray]:
        """Table and targets, these as (rows, targets)."""
        several, shape = self.solver != "krylov", np.asarray(y).shape
        if not several and len(shape) == 2 and shape[1] > 1:
            raise ValueError(
                f"solver='krylov' is for one target, and y has {shape[1]} columns; take 'nipals', 'simpls' or 'kernel'."
            )
        X, y = self._with_missing(X, y, multi_output=several, y_numeric=True, **options)
        Y = np.asarray(y, dtype=np.float64)
        self._one_target = Y.ndim == 1
        Y = Y.reshape(len(Y), -1)
        return X, Y

    def _checked_with_means(self, X: Any, y: Any) -> tuple[Any, np.ndarray, np.ndarray | None]:
        """Table and targets, and the means of the columns where the table is dense."""
        if sparse.issparse(X):
            return *self._checked(X, y), None
        # NaN among the means indicates missing or infinite values: looking for them would be one more reading of
        # all.
        table, Y = self._checked(X, y, ensure_all_finite=False)
        with np.errstate(invalid="ignore", over="ignore"):
            mean = column_means(table)
        if not np.isfinite(mean).all():
            self._checked(X, y)
        return table, Y, mean

    def _keep(self, found: Solution, dtype: Any) -> None:
        """Set what a fit leaves."""
        factors = found.factors
        self.mean_ = found.x_mean.astype(dtype)
        # In place, for nobody needs the rotations after this.
        components = np.divide(factors.rotations, found.x_scale[:, None], out=factors.rotations).T
        self.components_ = np.ascontiguousarray(components, dtype=dtype)
        self._x_scale, self._y_mean, self._y_scale = found.x_scale, found.y_mean, found.y_scale
        self.x_weights_ = factors.weights.astype(dtype, copy=False)
        self.x_loadings_ = factors.x_loadings.astype(dtype, copy=False)
        self.x_scores_ = None if factors.scores is None else factors.scores.astype(dtype, copy=False)
        self.y_loadings_ = factors.y_loadings.astype(dtype)
        lengths = np.linalg.norm(factors.y_loadings, axis=0)
        self.y_weights_ = (factors.y_loadings / np.where(lengths > 0, lengths, 1)).astype(dtype)
        taken_x = factors.squares * np.einsum("pk,pk->k", factors.x_loadings, factors.x_loadings)
        taken_y = factors.squares * lengths**2
        self.explained_variance_ratio_x_ = taken_x / (found.x_square or 1.0)
        self.explained_variance_ratio_y_ = taken_y / (found.y_square or 1.0)
        self.vip_ = vip_scores(factors.weights, taken_y).astype(dtype)
        self._squares = factors.squares
        self.n_iter_ = max(factors.n_components, 1)
        self.shrinkage_factors_ = found.shrinkage_factors
        B = (factors.y_loadings * found.y_scale[:, None]) @ components
        intercept = found.y_mean - B @ found.x_mean
        self.coef_ = (B[0] if self._one_target else B).astype(dtype)
        self.intercept_ = float(intercept[0]) if self._one_target else intercept.astype(dtype)

    @property
    def x_rotations_(self) -> np.ndarray:
        """From centred and scaled columns to scores."""
        check_is_fitted(self)
        return self.components_.T * self._x_scale[:, None].astype(self.components_.dtype)

    @property
    def ritz_values_(self) -> np.ndarray:
        """Eigenvalues of ``X'X`` within the span of the weights, the largest first."""
        check_is_fitted(self)
        return ritz_values(self.x_weights_, self.x_loadings_, self._squares)

    @property
    def coef_path_(self) -> np.ndarray:
        """Coefficients after 1, 2, ... components."""
        check_is_fitted(self)
        targets = (self.y_loadings_.T * self._y_scale).astype(self.components_.dtype)
        path = np.cumsum(targets[:, :, None] * self.components_[:, None, :], axis=0)
        return path[:, 0] if self._one_target else path

    def predict(self, X: Any) -> np.ndarray:
        """Targets of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table; with ``solver="nipals"`` it may have missing values.

        Returns
        -------
        targets : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions.
        """
        check_is_fitted(self)
        # NaN among the targets means missing or infinite values in the table: looking for them in the table
        # would take as long as the product.
        table = self._with_missing(X, reset=False, ensure_all_finite=False)
        with np.errstate(invalid="ignore", over="ignore"):
            targets = table @ self.coef_.T + self.intercept_
        if np.isfinite(targets).all():
            return targets
        if (
            isinstance(table, np.ndarray)
            and self._takes_missing
            and np.isnan(table).any()
            and not np.isinf(table).any()
        ):
            return self._of_targets(self._scores_of(table) @ self.y_loadings_.T * self._y_scale + self._y_mean)
        self._with_missing(X, reset=False)
        return targets

    def predict_path(self, X: Any) -> np.ndarray:
        """Targets of the rows after 1, 2, ... components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        targets : ndarray of shape (n_components, n_samples) or (n_components, n_samples, n_targets)
            Predictions.
        """
        scores = np.asarray(self._scores(X), dtype=np.float64)
        steps = scores.T[:, :, None] * self.y_loadings_.T[:, None, :]
        return self._of_targets(np.cumsum(steps, axis=0) * self._y_scale + self._y_mean)

    def _of_targets(self, predictions: np.ndarray) -> np.ndarray:
        return predictions[..., 0] if self._one_target else predictions
