"""Boosting by linear programming: the vote with the largest soft margin, by column generation.

Of all weak rules h_t, find weights ``a >= 0`` that sum to 1 and maximise

    rho - 1 / (nu n) sum_i xi_i,    with  y_i sum_t a_t h_t(x_i) >= rho - xi_i,  xi >= 0.

The dual is over weights of the rows: ``min beta`` with ``sum_i u_i y_i h_t(x_i) <= beta`` for every rule,
``sum_i u_i = 1`` and ``0 <= u_i <= 1 / (nu n)``. A few rules at a time are enough: solve for these, ask for the rules
with the largest edges under the weights u, add them, until no edge is more than beta. The largest edge bounds what all
rules together could reach, so that the gap tells how near the optimum is.

Demiriz, A., Bennett, K. P. and Shawe-Taylor, J. (2002). Linear programming boosting via column generation. Machine
Learning 46, 225-254.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog
from sklearn.base import _fit_context, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import fit_steps, validated, warn_caller
from fewer.catalogue import method
from fewer.learn._threshold_stump import Stump, StumpFinder, ThresholdStump
from fewer.learn._two_class_vote import TwoClassVote

_NEGLIGIBLE = 1e-9
# There is nothing to simplify in these programs, and looking for it takes half of the time.
_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "presolve": False}
_STUMPS_A_ROUND = 20
_ROUNDS_WITHOUT_VOTE = 3


class Program(NamedTuple):
    """Weights of the rows, the largest edge of the rules under them, and the votes of the rules."""

    row_weights: np.ndarray
    edge: float
    votes: np.ndarray


def solved_program(margins: np.ndarray, nu: float) -> Program:
    """The program for some rules, from ``y_i h_t(x_i)`` of shape (rules, rows)."""
    n_rules, n_rows = margins.shape
    # Weights are counted in units of 1 / n, so that tolerances mean the same for any number of rows.
    found = linprog(
        np.append(np.zeros(n_rows), 1.0),
        A_ub=np.column_stack([margins / n_rows, -np.ones(n_rules)]),
        b_ub=np.zeros(n_rules),
        A_eq=np.append(np.full(n_rows, 1 / n_rows), 0.0)[None],
        b_eq=[1.0],
        bounds=np.vstack([np.tile([0, 1 / nu], (n_rows, 1)), [[-np.inf, np.inf]]]),
        method="highs-ds",
        options=_OPTIONS,
    )
    if found.status != 0:
        raise RuntimeError(f"HiGHS could not solve the program of LPBoost: {found.message}")
    votes = np.maximum(-found.ineqlin.marginals, 0)
    return Program(found.x[:-1] / n_rows, float(found.x[-1]), votes / votes.sum())


class Rule(NamedTuple):
    """A fitted weak classifier, and ``y_i h(x_i)`` of the training rows."""

    classifier: Any
    margins: np.ndarray


@method(
    tasks=["classification"],
    when="Two classes that thresholds on single columns tell apart, and a vote of few of these is wanted. The share of "
    "rows that may be on the wrong side is set beforehand, so that outliers do no harm. With thousands of noisy rows "
    "the programs take long: then AdaBoostClassifier of scikit-learn with ThresholdStump.",
    cost="O(p n log n) once, then for each of some tens of rounds O(p n) and a linear program; O(n p) memory",
    paper="subspace-clusters",
)
class LPBoost(CallbackSupportMixin, TwoClassVote):
    """Weighted vote of weak rules with the largest soft margin.

    Parameters
    ----------
    estimator : classifier, default=None
        The weak rule; it must take ``sample_weight``. By default :class:`ThresholdStump`.
    nu : float, default=0.1
        Share of the training rows that may fall short of the margin, above 0 and up to 1. The smaller, the more rules:
        choose it by cross-validation, and above the share of labels that are wrong.
    tol : float, default=0.01
        Stop when no rule can raise the soft margin, which is between -1 and 1, by more than this.
    max_iter : int, default=200
        Rounds at most.

    Attributes
    ----------
    estimators_ : list of classifier
        The rules with a vote, the weightiest first.
    estimator_weights_ : ndarray of shape (n_estimators,)
        Their votes, which sum to 1.
    margin_ : float
        Soft margin reached: ``rho - sum(xi) / (nu n)``.
    gap_ : float
        At most so much more could be reached with any rules.
    feature_importances_ : ndarray of shape (n_features,)
        Sum of the votes of the rules on each column; only with :class:`ThresholdStump`.
    n_iter_ : int
        Rounds, each with a program.
    classes_ : ndarray of shape (2,)
        The classes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    fewer.extract.SubspaceDistanceFeatures : Columns that suit thresholds well.
    sklearn.ensemble.AdaBoostClassifier : Boosting without a program; takes ThresholdStump, too.

    Notes
    -----
    With ``sklearn.feature_selection.SelectFromModel`` it selects the columns that have a vote. For more than two
    classes, take ``sklearn.multiclass.OneVsRestClassifier``.

    Most of the time goes into the programs, and the harder the classes are to tell apart, the more rules these hold:
    with ``nu=0.1``, 400 rows that are told well take 0.2 s, 500 noisy ones 5 s, and 1,000 noisy ones a minute. A
    larger ``nu`` or ``tol`` shortens it.

    References
    ----------
    .. [1] Savu-Krohn, C. and Auer, P. (2006). A simple feature extraction for high dimensional image representations.
       Subspace, Latent Structure and Feature Selection, LNCS 3940, 163-172.
    .. [2] Demiriz, A., Bennett, K. P. and Shawe-Taylor, J. (2002). Linear programming boosting via column generation.
       Machine Learning 46, 225-254.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewer.learn import LPBoost
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LPBoost(nu=0.2).fit(X[:400], y[:400])
    >>> round(model.margin_, 2), bool(model.score(X[400:], y[400:]) > 0.95)
    (0.27, True)
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "nu": [Interval(Real, 0, 1, closed="right")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, estimator=None, nu=0.1, tol=0.01, max_iter=200):
        self.estimator = estimator
        self.nu = nu
        self.tol = tol
        self.max_iter = max_iter

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> "LPBoost":
        """Find rules and their votes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Two classes.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, labels = self._rows_and_labels(X, y)
        best_rules = self._rules(X, labels)
        rules: list[Rule] = []
        idle = np.empty(0, dtype=int)
        state = Program(np.full(len(labels), 1 / len(labels)), -1.0, np.empty(0))
        tol = max(float(self.tol), _NEGLIGIBLE)
        self.n_iter_ = 0
        with fit_steps(self, X, y) as after_step:
            stopped = False
            while True:
                found = best_rules(state.row_weights)
                edges = [float(state.row_weights @ rule.margins) for rule in found]
                self.gap_ = max(edges[0] - state.edge, 0.0)
                if (rules and self.gap_ <= tol) or stopped or self.n_iter_ == self.max_iter:
                    break
                kept = np.flatnonzero(idle < _ROUNDS_WITHOUT_VOTE)
                better = [rule for rule, edge in zip(found, edges, strict=True) if edge > state.edge + _NEGLIGIBLE]
                rules = [rules[each] for each in kept] + better
                before, state = state, solved_program(np.array([rule.margins for rule in rules]), float(self.nu))
                # Where the margin stays the same, a rule that was dropped might come back for ever.
                idle = np.append(idle[kept], np.zeros(len(better), dtype=int)) + (
                    state.edge > before.edge + _NEGLIGIBLE
                )
                idle[state.votes > _NEGLIGIBLE] = 0
                self.n_iter_ += 1
                stopped = after_step("round")
            self._settle(rules, state)
        if self.gap_ > tol and not stopped:
            warn_caller(
                f"The soft margin is {self.margin_:.3g} after {self.n_iter_} rounds, and could still grow by up to "
                f"{self.gap_:.2g}; raise max_iter or tol.",
                ConvergenceWarning,
            )
        return self

    def _rules(self, X: np.ndarray, labels: np.ndarray) -> Callable[[np.ndarray], list[Rule]]:
        """A function that gives the best rules for weights of the rows, the best one first."""
        weak = ThresholdStump() if self.estimator is None else self.estimator
        if type(weak) is ThresholdStump:
            finder = StumpFinder(X, weak.side)

            def stumps(row_weights: np.ndarray) -> list[Rule]:
                found = finder.best(row_weights * labels, _STUMPS_A_ROUND)
                return [Rule(self._as_classifier(stump, weak), labels * stump.votes(X)) for stump in found]

            return stumps
        names = self.classes_[(labels > 0).astype(int)]

        def fitted(row_weights: np.ndarray) -> list[Rule]:
            classifier = clone(weak).fit(X, names, sample_weight=row_weights * len(labels))
            return [Rule(classifier, labels * self._votes(classifier, X))]

        return fitted

    def _as_classifier(self, stump: Stump, weak: ThresholdStump) -> ThresholdStump:
        classifier = clone(weak)._settled(stump)
        classifier.classes_, classifier.n_features_in_ = self.classes_, self.n_features_in_
        return classifier

    def _votes(self, classifier: Any, X: np.ndarray) -> np.ndarray:
        return np.where(classifier.predict(X) == self.classes_[1], 1.0, -1.0)

    def _settle(self, rules: list[Rule], state: Program) -> None:
        order = np.argsort(-state.votes, kind="stable")
        kept = order[state.votes[order] > _NEGLIGIBLE]
        self.estimators_ = [rules[each].classifier for each in kept]
        self.estimator_weights_ = state.votes[kept] / state.votes[kept].sum()
        self.margin_ = state.edge

    @property
    def feature_importances_(self) -> np.ndarray:
        """Sum of the votes of the rules on each column."""
        check_is_fitted(self)
        if not all(isinstance(each, ThresholdStump) for each in self.estimators_):
            raise AttributeError("feature_importances_ is there with ThresholdStump as the estimator only.")
        # A rule that answers the same for all rows looks at no column.
        looks = [np.isfinite(each.threshold_) for each in self.estimators_]
        columns = [each.feature_ for each in self.estimators_]
        return np.bincount(columns, self.estimator_weights_ * looks, minlength=self.n_features_in_)

    def decision_function(self, X: Any) -> np.ndarray:
        """The vote on each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        votes : ndarray of shape (n_samples,)
            From -1, all for the first class, to 1, all for the second.
        """
        check_is_fitted(self)
        X = validated(self, X, dtype=(np.float64, np.float32), reset=False)
        return np.sum(
            [a * self._votes(h, X) for a, h in zip(self.estimator_weights_, self.estimators_, strict=True)], axis=0
        )
