"""The penalty of a ridge regression by leave-one-out in closed form, or by cross-validation; see ``_path_cv``.

With row weights ``c`` that sum to 1, the weighted centred table ``B = diag(c)^1/2 (Z - 1 m')`` and ``B'B = V diag(g)
V'``, the leverages at a penalty are ``h_i = c_i + sum_j (B V)_ij^2 / (g_j + penalty)``, and the error of a row that is
left out is its residual over ``1 - h_i``.
"""

from collections.abc import Iterator
from numbers import Integral

import numpy as np
from scipy import linalg
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.callback import with_callbacks

from fewer._estimators import Interval, LinearModel, fit_context, fit_steps, validated
from fewer.catalogue import method
from fewer.learn.ridge._losses import SquaredLoss
from fewer.learn.ridge._path_cv import ACCEPTED, SHARED_CONSTRAINTS, RidgePathCV, normalised, row_weights
from fewer.learn.ridge._tables import Table

# Of a table that was rotated to its axes, the columns up to which leave-one-out has its eigenproblem.
_FEW = 1000


def left_out_path(
    table: Table, y: np.ndarray, weights: np.ndarray, penalties: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each penalty the coefficients, (size, 1), and the prediction of every row by the model without it."""
    root = np.sqrt(weights)[:, None]
    inner = table.rows[:, : table.size - table.fit_intercept].astype(np.float64, copy=False)
    mean, level = (weights @ inner, weights @ y) if table.fit_intercept else (np.zeros(inner.shape[1]), 0.0)
    weighted = root * (inner - mean)
    if np.ptp(weights) == 0:  # the table is on its principal axes
        values, axes, along = (weighted**2).sum(axis=0), np.eye(weighted.shape[1]), weighted
    else:
        values, axes = linalg.eigh(weighted.T @ weighted, check_finite=False)
        along = weighted @ axes
    moments = along.T @ (root[:, 0] * (y - level))
    for penalty in penalties:
        shrunk = 1 / (np.maximum(values, 0.0) + penalty)
        coefs = axes @ (shrunk * moments)
        leverages = along**2 @ shrunk + (weights if table.fit_intercept else 0.0)
        fitted = inner @ coefs + (level - mean @ coefs)
        left_out = y - (y - fitted) / np.maximum(1 - leverages, np.finfo(float).eps)
        yield (np.append(coefs, level - mean @ coefs) if table.fit_intercept else coefs)[:, None], left_out


class _Predicted(RegressorMixin, BaseEstimator):
    """Predictions that are there already, for a scorer."""

    def predict(self, X):
        return X[:, 0]


@method(
    tasks=["regression"],
    when="A tuned linear baseline for a number to predict: all columns stay in the model, and correlated ones share "
    "their effect. For a short list of columns, use L1PathRegressorCV. The penalty is chosen on the rows that it is "
    "given, so judge it from outside: in a pipeline, by NestedEvaluation or in a study.",
    cost="One eigenproblem of the smaller side of a dense table, O(n p min(n, p)), then O(n min(n, p)) for each "
    "penalty; for a sparse table some tens of passes of O(stored entries), in all folds at once.",
    examples=lambda: [RidgePathRegressorCV(), RidgePathRegressorCV(alphas=4, cv=2, with_std=True)],
)
class RidgePathRegressorCV(RegressorMixin, LinearModel, RidgePathCV):
    """Ridge regression with the penalty chosen by leave-one-out or cross-validation.

    Minimises ``sum_i (y_i - x_i'w - b)^2 + alpha ||w||^2`` for each ``alpha`` of a grid, as scikit-learn's ``Ridge``
    does. The intercept is not penalised.

    Parameters
    ----------
    alphas : int or array-like of float, default=50
        Penalties to try, or their number: then in geometric order, from ten times the total variance of the columns
        (times the number of rows), so that predictions do not depend on the unit of the table.
    eps : float, default=1e-8
        Weakest penalty over strongest, where ``alphas`` is a number.
    cv : int, cross-validation generator, iterable or None, default=None
        Folds; None for leave-one-out in closed form. Tables with more than 1,000 rows and 1,000 columns, and
        sparse ones of more than 10 million cells and 1,000 rows, get 5 folds.
    scoring : str, callable or None, default=None
        What is compared; None for the mean squared error, weighted by ``sample_weight``.
    rule : {"best", "one_se"}, default="best"
        The penalty with the best mean score, or the strongest within one standard error of that.
    fit_intercept : bool, default=True
        Whether to add a constant, which is not penalised.
    with_std : bool, default=False
        Whether to divide columns by their standard deviation; ``alphas`` then refer to the divided columns. Sparse
        tables stay sparse.
    tol : float, default=1e-6
        With folds, the fit at a penalty ends with the first step that lowers the objective by no more than this share.
        The model that is kept is then refined to rounding.
    max_iter : int, default=100
        Such steps at each penalty, at most.
    n_jobs : int or None, default=None
        Threads among which the folds are divided. One thread is often as fast: a pass over the table serves all folds.

    Attributes
    ----------
    alpha_ : float
        The penalty that was chosen, on the scale of scikit-learn's ``Ridge``.
    alpha_best_ : float
        The one with the best mean score.
    alphas_ : ndarray of shape (n_points,)
        All that were tried, decreasing.
    scores_ : ndarray of shape (n_folds, n_points)
        Score of each fold at each. By leave-one-out a row is a fold; with a ``scoring`` there is one score for all
        rows together.
    coef_ : ndarray of shape (n_features,)
        Coefficients at ``alpha_``, on all rows.
    intercept_ : float
        Constant.
    n_iter_ : ndarray of shape (n_points,)
        Steps at each; 1 in closed form.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    L1PathRegressorCV : Keeps few columns.
    RidgePathClassifierCV : For classes.

    References
    ----------
    .. [1] Hoerl, A. E. and Kennard, R. W. (1970). Ridge regression: biased estimation for nonorthogonal problems.
       Technometrics 12(1), 55-67.
    .. [2] Allen, D. M. (1974). The relationship between variable selection and data augmentation and a method for
       prediction. Technometrics 16(1), 125-127.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fewer.learn import RidgePathRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RidgePathRegressorCV().fit(X, y)
    >>> model.scores_.shape, round(model.score(X, y), 2)
    ((442, 50), 0.52)
    """

    _parameter_constraints = {
        "alphas": [Interval(Integral, 2, None, closed="left"), "array-like"],
        **SHARED_CONSTRAINTS,
    }

    def __init__(
        self,
        alphas=50,
        *,
        eps=1e-8,
        cv=None,
        scoring=None,
        rule="best",
        fit_intercept=True,
        with_std=False,
        tol=1e-6,
        max_iter=100,
        n_jobs=None,
    ):
        self.alphas = alphas
        self.eps = eps
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.fit_intercept = fit_intercept
        self.with_std = with_std
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, groups=None, **params):
        """Follow the paths, choose the penalty, and take the model on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Numbers to predict.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows, in the fits and in the scores.
        groups : array-like of shape (n_samples,) or None, default=None
            Groups of rows, for a ``cv`` that keeps them together.
        **params : dict
            Further metadata for the splitter and the scorer, with metadata routing enabled.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        X, y = validated(self, X, y, y_numeric=True, ensure_min_samples=2, **ACCEPTED)
        y = np.asarray(y, dtype=np.float64)
        sample_weight = row_weights(sample_weight, X)
        folds, score_params = self._routed(X, y, sample_weight, groups, params)
        rows = np.ones(len(y)) if sample_weight is None else sample_weight
        held = [np.isin(np.arange(len(y)), train) for train, _ in folds]
        weights = normalised(np.column_stack([rows, *(rows * train for train in held)]))
        tables = self._tables(X, weights, axes=self.cv is None)
        table = tables[0][0]
        penalties = self._penalties(self.alphas, rows.sum(), table.unit, inverse=False)
        self.alphas_ = penalties * table.unit * rows.sum()
        if self.cv is None and table.shift is None and table.size <= _FEW + 1:
            self._leave_one_out(X, y, table, weights[:, 0], penalties, score_params)
        else:
            self._follow(X, y, SquaredLoss(y), penalties, tables, folds, score_params, sample_weight)
        return self

    def _leave_one_out(self, X, y, table: Table, weights: np.ndarray, penalties: np.ndarray, score_params) -> None:
        models, scores = [], []
        present = weights > 0
        scale = present.sum() * weights[present]
        with fit_steps(self, X, y, n_steps=len(penalties)) as after_step:
            for coefs, left_out in left_out_path(table, y, weights, penalties):
                models.append(coefs)
                if self.scoring is None:
                    scores.append(-(scale * (y - left_out)[present] ** 2))
                else:
                    scores.append([self._scorer()(_Predicted(), left_out[:, None], y, **score_params)])
                if after_step("penalty"):
                    break
            self._choose(np.array(scores).T, models, np.ones(len(models), dtype=int), table, X.dtype)

    def _losses(self, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (predictions[:, 0] - y) ** 2

    def _set_model(self, coef: np.ndarray, intercept: np.ndarray, dtype) -> None:
        self.coef_, self.intercept_ = coef[:, 0].astype(dtype), float(intercept[0])

    def _set_penalties(self, n_points: int, chosen: int, best: int) -> None:
        self.alphas_ = self.alphas_[:n_points]
        self.alpha_, self.alpha_best_ = float(self.alphas_[chosen]), float(self.alphas_[best])

    def plot(self):
        """Mean score with its standard error against the penalty, and what was chosen.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The picture.
        """
        return self._plot(self.alphas_, self.alpha_, self.alpha_best_, "alpha: weight of the penalty")
