"""Linear models whose coefficients are mostly zero, by a penalty on their absolute size.

Classifier: ``min P(w) + C sum_i loss(y_i, x_i'w + b)``; regressor: ``min alpha P(w) + (1/2n) ||y - Xw - b||^2``, with
``P(w) = l1_ratio ||w||_1 + (1 - l1_ratio) ||w||^2 / 2``. The intercept ``b`` is not penalised.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state

from fewer._estimators import (
    Interval,
    LinearClassifierMixin,
    LinearModel,
    SparseCoefMixin,
    StrOptions,
    encoded_classes,
    fit_context,
    fit_steps,
    validated,
)
from fewer.catalogue import method
from fewer.learn._linear import OneVsRestProbabilities, one_vs_rest_targets, row_weights
from fewer.learn.sparse._problem import L1Problem, prepared
from fewer.learn.sparse._solvers import SOLVERS, L1Fit, fit_problem, warn_of_units

_SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "l1_ratio": [Interval(Real, 0, 1, closed="right")],
    "solver": [StrOptions(set(SOLVERS))],
    "fit_intercept": ["boolean"],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "shrinking": ["boolean"],
    "warm_start": ["boolean"],
    "record": ["boolean"],
    "random_state": ["random_state"],
}
ACCEPTED = {"accept_sparse": ("csc", "csr"), "dtype": [np.float64, np.float32]}


def classes_of(y: np.ndarray, who: str) -> np.ndarray:
    """The classes in sorted order; where plain whole numbers leave no doubt, without scikit-learn's longer look."""
    if y.ndim == 1 and y.dtype.kind in "biuf":
        labels = np.unique(y)
        if len(labels) > 1 and (labels == np.trunc(labels)).all():
            return labels
    return encoded_classes(y, who).classes


class _L1Linear(CallbackSupportMixin, SparseCoefMixin, BaseEstimator):
    """What the classifier and the regressor share: targets one by one, through the same solver."""

    # SelectFromModel of scikit-learn asks this, and then keeps every column with a coefficient.
    penalty = "l1"
    _accepted: dict[str, Any] = ACCEPTED

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Find the coefficients.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table. Columns should be on comparable scales, for they share one penalty.
        y : array-like of shape (n_samples,)
            Classes, or numbers to predict.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows' losses; a row of weight zero is as if it were not there. In a regression, their sum
            takes the place of the number of rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = validated(self, X, y, **self._accepted)
        self._fit(X, y, sample_weight)
        return self

    def _fitted_to(
        self, X, targets: list[np.ndarray], loss: str, C: float, weights: np.ndarray | None, y
    ) -> list[L1Fit]:
        """A fit for each target; sets the fitted attributes."""
        table = prepared(X, weights, self.fit_intercept)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        options = {"shrinking": self.shrinking} if self.solver == "cdn" else {}
        fits = []
        with fit_steps(self, X, y) as after_step:
            for place, target in enumerate(targets):
                problem = L1Problem.of(
                    loss, table, target, C=C, sample_weight=weights, fit_intercept=self.fit_intercept,
                    l1_ratio=self.l1_ratio,
                )  # fmt: skip
                fits.append(
                    fit_problem(
                        problem, self._start(problem, place, len(targets)), solver=self.solver, tol=self.tol,
                        max_iter=self.max_iter, rng=rng, record=self.record,
                        on_iteration=lambda: after_step("iteration"), **options,
                    )
                )  # fmt: skip
            self._keep(fits, X)
        if not self.support_.size:
            warn_of_units([fit.problem for fit in fits], *self._penalty_and_cure)
        return fits

    def _start(self, problem: L1Problem, place: int, n_targets: int) -> np.ndarray:
        """The coefficients of the last fit for a warm start, or the model without columns."""
        n_columns = problem.X.shape[1]
        if self.warm_start and hasattr(self, "coef_"):
            coef = np.atleast_2d(self.coef_.toarray() if sparse.issparse(self.coef_) else self.coef_)
            if coef.shape == (n_targets, n_columns):
                constant = float(np.ravel(self.intercept_)[place])
                return np.append(*problem.units.prepared(coef[place].astype(np.float64), constant))[: problem.size]
        return problem.null_start

    def _keep(self, fits: list[L1Fit], X: Any) -> None:
        for name, value in self._attributes(fits, X).items():
            setattr(self, name, value)

    def _attributes(self, fits: list[L1Fit], X: Any) -> dict[str, Any]:
        """What the estimator has after the fits, one for each target; coefficients are as precise as the table."""
        coef = np.array([fit.coef for fit in fits], dtype=X.dtype)
        return {
            "coef_": coef,
            "intercept_": np.array([fit.intercept for fit in fits], dtype=X.dtype),
            "support_": np.flatnonzero(coef.any(axis=0)),
            "n_iter_": np.array([fit.solution.n_iter for fit in fits]),
            "objective_": np.array([fit.objective for fit in fits]),
            "dual_gap_": np.array([fit.duality_gap for fit in fits]),
            "violation_": np.array([fit.scaled_violation for fit in fits]),
            "history_": [fit.history for fit in fits] if self.record else None,
        }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@method(
    tasks=["classification"],
    when="Many columns of which few matter, in one model whose coefficients can be read: genes, words, sensors. It is "
    "the fast way to a short list with a classifier attached. Of a group of redundant columns it keeps one, by "
    "chance; StabilitySelection shows how much that matters.",
    cost="O(n p) a pass over the stored entries, few of them at strong penalties; correlated columns and weak "
    "penalties add the cube of the number of columns kept.",
    paper="l1-comparison",
    depends_on_scale="C weighs losses against weights, which have the inverse unit of the columns",
    aliases=["lasso", "elastic net"],
    search_space={"C": [0.01, 0.1, 1.0, 10.0]},
)
class L1LinearClassifier(OneVsRestProbabilities, LinearClassifierMixin, ClassifierMixin, _L1Linear):
    """Sparse logistic regression or squared-hinge machine, ``min P(w) + C sum_i loss(y_i, x_i'w + b)``.

    ``P(w) = l1_ratio ||w||_1 + (1 - l1_ratio) ||w||^2 / 2``, by default the sum of absolute values.

    Parameters
    ----------
    loss : {"log", "squared_hinge"}, default="log"
        ``log(1 + exp(-y z))``, with probabilities, or ``max(1 - y z, 0)^2``.
    C : float, default=1.0
        Weight of the loss, summed over the rows, against the penalty, as in scikit-learn. Smaller keeps fewer columns;
        below a smallest value (:func:`~fewer.learn.l1_path` begins there) none.
    solver : {"auto", "cdn", "newglmnet", "tron", "owlqn", "bbr"}, default="auto"
        How to minimise; all come to the same minimum. "auto" uses working sets of columns, and changes from passes to
        direct solutions when passes converge slowly. The others are those of the comparison [1]_.
    l1_ratio : float, default=1.0
        Share of the absolute values in the penalty, above 0 and at most 1; the rest are squares (elastic net). Below 1,
        correlated columns are kept together.
    fit_intercept : bool, default=True
        Whether to add a constant, which is not penalised.
    tol : float, default=1e-8
        It ends when the duality gap, which bounds how far the objective is above its minimum, is at most this share of
        the objective of the model without columns. If that is not reached, a ConvergenceWarning gives the gap.
    max_iter : int, default=1000
        Iterations at most: rounds of working sets, or passes.
    shrinking : bool, default=True
        For "cdn": set aside columns that look as if they stay at zero; they are looked at again before the end.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    warm_start : bool, default=False
        Start from the coefficients of the last fit.
    record : bool, default=False
        Whether to keep ``history_``.
    random_state : int, RandomState instance or None, default=None
        Orders the columns for "cdn" and "bbr".

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in sorted order.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients; with more than two classes, one row for each class against the rest.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Constants.
    support_ : ndarray of shape (n_selected,)
        Columns with a coefficient that is not zero, for any class.
    n_iter_ : ndarray of shape (1,) or (n_classes,)
        Iterations made.
    objective_ : ndarray of shape (1,) or (n_classes,)
        What was minimised, at the end.
    dual_gap_ : ndarray of shape (1,) or (n_classes,)
        The objective is above its minimum by this at most.
    violation_ : ndarray of shape (1,) or (n_classes,)
        The sum of absolute sub-gradients at the end, over that of the model without columns, over the share of the
        rarer class.
    history_ : list of L1History or None
        What the solver had after each iteration, with ``record=True``.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    fewer.learn.L1PathClassifierCV : Chooses the penalty.
    fewer.select.SparsePathSelector : Ranks columns by where they enter.

    Notes
    -----
    scikit-learn's liblinear penalises the intercept; this does not, so the two agree only without one.

    With an intercept, offsets of the columns change nothing: columns far from zero are centred for the solver. A unit
    does change the model, for one ``C`` is for all columns: a warning names the unit where it leaves no column.

    References
    ----------
    .. [1] Yuan, G.-X., Chang, K.-W., Hsieh, C.-J. and Lin, C.-J. (2010). A comparison of optimization methods and
       software for large-scale L1-regularized linear classification. JMLR 11, 3183-3234.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from fewer.learn import L1LinearClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = L1LinearClassifier(C=0.1).fit(scale(X), y)
    >>> len(model.support_), round(model.score(scale(X), y), 3)
    (8, 0.974)
    """

    _parameter_constraints = {
        "loss": [StrOptions({"log", "squared_hinge"})],
        "C": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        **_SHARED_CONSTRAINTS,
    }

    def __init__(
        self,
        loss="log",
        C=1.0,
        *,
        solver="auto",
        l1_ratio=1.0,
        fit_intercept=True,
        tol=1e-8,
        max_iter=1000,
        shrinking=True,
        class_weight=None,
        warm_start=False,
        record=False,
        random_state=None,
    ):
        self.loss = loss
        self.C = C
        self.solver = solver
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.shrinking = shrinking
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.record = record
        self.random_state = random_state

    @property
    def _penalty_and_cure(self):
        return f"C={self.C:g}", "L1PathClassifierCV"

    def _fit(self, X, y, sample_weight):
        weights = row_weights(X, y, sample_weight, self.class_weight)
        present = slice(None) if weights is None else weights > 0
        self.classes_ = classes_of(y[present], type(self).__name__)
        self._fitted_to(X, one_vs_rest_targets(y, self.classes_), self.loss, self.C, weights, y)


@method(
    tasks=["regression"],
    when="Many columns of which few matter, and a number to predict: the Lasso, with a solver that stays fast when "
    "columns are correlated and when the table is large, dense or sparse.",
    cost="O(n p) a pass over the stored entries, few of them at strong penalties; correlated columns and weak "
    "penalties add the cube of the number of columns kept.",
    paper="l1-comparison",
    depends_on_scale="alpha penalises weights, which have the inverse unit of the columns",
    aliases=["lasso", "elastic net"],
)
class L1LinearRegressor(RegressorMixin, _L1Linear, LinearModel):
    """Sparse linear regression (the Lasso), ``min alpha P(w) + (1/2n) sum_i (y_i - x_i'w - b)^2``.

    ``P(w) = l1_ratio ||w||_1 + (1 - l1_ratio) ||w||^2 / 2``, by default the sum of absolute values.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty, as in scikit-learn's Lasso. Larger keeps fewer columns.
    solver : {"auto", "cdn", "newglmnet", "tron", "owlqn", "bbr"}, default="auto"
        How to minimise; all come to the same minimum.
    l1_ratio : float, default=1.0
        Share of the absolute values in the penalty, above 0 and at most 1; the rest are squares (the elastic net, as in
        scikit-learn's ElasticNet). Below 1, correlated columns are kept together.
    fit_intercept : bool, default=True
        Whether to add a constant, which is not penalised.
    tol : float, default=1e-8
        It ends when the duality gap, which bounds how far the objective is above its minimum, is at most this share of
        the objective of the model without columns. If that is not reached, a ConvergenceWarning gives the gap.
    max_iter : int, default=1000
        Iterations at most: rounds of working sets, or passes.
    shrinking : bool, default=True
        For "cdn": set aside columns that look as if they stay at zero; they are looked at again before the end.
    warm_start : bool, default=False
        Start from the coefficients of the last fit.
    record : bool, default=False
        Whether to keep ``history_``.
    random_state : int, RandomState instance or None, default=None
        Orders the columns for "cdn" and "bbr".

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Constant.
    support_ : ndarray of shape (n_selected,)
        Columns with a coefficient that is not zero.
    n_iter_ : int
        Iterations made.
    objective_ : float
        What was minimised, at the end.
    dual_gap_ : float
        The objective is above its minimum by this at most.
    violation_ : float
        The sum of absolute sub-gradients at the end, over that of the model without columns.
    history_ : L1History or None
        What the solver had after each iteration, with ``record=True``.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    fewer.learn.L1PathRegressorCV : Chooses the penalty.
    fewer.learn.DantzigSelector : The same aim by linear programming, with a penalty that theory fixes.

    Notes
    -----
    With an intercept, offsets of the columns and of the target change nothing: columns far from zero are centred for
    the solver. A unit does change the model, for one ``alpha`` is for all columns: a warning names the unit where it
    leaves no column.

    References
    ----------
    .. [1] Tibshirani, R. (1996). Regression shrinkage and selection via the lasso. Journal of the Royal Statistical
       Society B 58, 267-288.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fewer.learn import L1LinearRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> L1LinearRegressor(alpha=0.5).fit(X, y).support_
    array([2, 3, 6, 8])
    """

    _parameter_constraints = {"alpha": [Interval(Real, 0, None, closed="neither")], **_SHARED_CONSTRAINTS}
    _accepted = {**ACCEPTED, "y_numeric": True}

    def __init__(
        self,
        alpha=1.0,
        *,
        solver="auto",
        l1_ratio=1.0,
        fit_intercept=True,
        tol=1e-8,
        max_iter=1000,
        shrinking=True,
        warm_start=False,
        record=False,
        random_state=None,
    ):
        self.alpha = alpha
        self.solver = solver
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.shrinking = shrinking
        self.warm_start = warm_start
        self.record = record
        self.random_state = random_state

    @property
    def _penalty_and_cure(self):
        return f"alpha={self.alpha:g}", "L1PathRegressorCV"

    def _fit(self, X, y, sample_weight):
        weights = row_weights(X, y, sample_weight)
        total = len(y) if weights is None else weights.sum()
        self._fitted_to(X, [np.asarray(y, dtype=np.float64)], "squared", 1 / (self.alpha * total), weights, y)

    def _attributes(self, fits, X):
        several = super()._attributes(fits, X)
        one = {name: value[0] for name, value in several.items() if name not in ("support_", "history_")}
        one |= {"support_": several["support_"], "history_": fits[0].history}
        for name in ("intercept_", "n_iter_", "objective_", "dual_gap_", "violation_"):
            one[name] = one[name].item()
        # The problem is solved with the penalty at 1; on the scale of the formula above, that is alpha times as much.
        return one | {name: self.alpha * one[name] for name in ("objective_", "dual_gap_")}
