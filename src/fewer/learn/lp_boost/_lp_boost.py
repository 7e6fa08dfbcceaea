"""Boosting by linear programming: the vote with the largest soft margin, by column generation.

Of all weak rules h_t, find weights ``a >= 0`` that sum to 1 and maximise

    rho - 1 / (nu n) sum_i xi_i,    with  y_i sum_t a_t h_t(x_i) >= rho - xi_i,  xi >= 0.

The dual is over weights of the rows: ``min beta`` with ``sum_i u_i y_i h_t(x_i) <= beta`` for every rule,
``sum_i u_i = 1`` and ``0 <= u_i <= 1 / (nu n)``. A few rules at a time are enough: solve for these, ask for the rules
with the largest edges under the weights u, add them, until no edge is more than beta. The largest edge bounds what all
rules together could reach, so that the gap shows how near the optimum is.

The program of given rules, with ``A_ti = y_i h_t(x_i) / n``, rows in units of 1 / n and ``C = 1 / nu``, is

    min beta,   s = beta - A u >= 0,   sum(u) = n,   0 <= u <= C,

and its dual variables ``a`` of the rules, which sum to 1, are their votes. Newton steps towards
``a s = z u = w (C - u) = mu`` need one matrix of rules by rules, ``A diag(1 / theta) A' + diag(s / a)`` with
``theta = z / u + w / (C - u)``. Half way to the optimum, weights are spread over many rows, and ask for better rules
than those of a corner would, which rest on a few; a corner has few votes. Where the program is large, the corner is
found from the inside, too: close to the optimum, the votes that are zero at the corner have all but vanished.

Demiriz, A., Bennett, K. P. and Shawe-Taylor, J. (2002). Linear programming boosting via column generation. Machine
Learning 46, 225-254.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import HasMethods, Interval, fit_context, fit_steps, validated, warn_caller
from fewer._kernels._numpy_lapack import solve_spd
from fewer.catalogue import method
from fewer.learn.lp_boost._threshold_stump import Stump, StumpFinder, ThresholdStump, TwoClassVote

# There is nothing to simplify in these programs, and looking for it takes half of the time.
_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "presolve": False}
_MOST_STEPS = 80
_TOWARDS_THE_MIDDLE = 0.15
# To find the corner of a program with more entries, HiGHS takes seconds and then minutes.
_LARGE = 200_000
_SHORT_OF = 1e-7
_VANISHING = 1e-4
_ABOUT = 1.1


class Program(NamedTuple):
    """Weights of the rows, which sum to 1; votes of the rules, which sum to 1; and the soft margin of these votes."""

    row_weights: np.ndarray
    votes: np.ndarray
    margin: float


def is_large(n_rules: int, n_rows: int) -> bool:
    """Whether a program is better solved from the inside than at a corner."""
    return n_rules * n_rows > _LARGE


def soft_margin(margins: np.ndarray, nu: float) -> float:
    """``max_rho rho - sum(max(rho - margins, 0)) / (nu n)``, which one of the margins attains."""
    ordered = np.sort(margins)
    shortfall = np.arange(1, len(ordered) + 1) * ordered - np.cumsum(ordered)
    return float(np.max(ordered - shortfall / (nu * len(ordered))))


def corner(margins: np.ndarray, nu: float) -> Program:
    """The optimum for some rules, from ``y_i h_t(x_i)`` of shape (rules, rows): a corner, with few votes."""
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
    return Program(found.x[:-1] / n_rows, votes / votes.sum(), float(found.x[-1]))


def near_optimum(margins: np.ndarray, nu: float, gap: float) -> Program:
    """Weights and votes within about ``gap`` of the optimum, from the inside, which there is for nu below 1."""
    A = margins / margins.shape[1]
    n_rules, n_rows = A.shape
    # The matrix of a large program takes nearly all of the time. Steps need not be exact, as each mends the one before.
    short = A.astype(np.float32) if is_large(*A.shape) and gap > _SHORT_OF else A
    u, a = np.ones(n_rows), np.full(n_rules, 1 / n_rules)
    beta, rho = float((A @ u).max()) + 0.1, 0.0
    s, z, w = beta - A @ u, np.full(n_rows, 0.1 / n_rows), np.full(n_rows, 0.1 / n_rows)
    for _ in range(_MOST_STEPS):
        v = 1 / nu - u
        between = float(a @ s + z @ u + w @ v)
        if between <= gap:
            break
        mu = _TOWARDS_THE_MIDDLE * between / (n_rules + 2 * n_rows)
        inverse = 1 / (z / u + w / v)
        half = short * np.sqrt(inverse).astype(short.dtype)
        K = (half @ half.T).astype(float)  # a matrix times its own transpose takes half of the products
        K.flat[:: n_rules + 1] += s / a
        off = rho / n_rows + mu / u - mu / v - A.T @ a
        sums = A @ inverse
        right = np.column_stack([A @ u - beta + A @ (inverse * off) + mu / a, np.ones(n_rules), -sums / n_rows])
        try:
            alone, by_beta, by_rho = solve_spd(K, right).T
        except np.linalg.LinAlgError:
            if short is A:  # as near as rounding lets it come
                break
            short = A
            continue
        # The two equations left: votes sum to 1, weights to n.
        d_beta, d_rho = np.linalg.solve(
            [[-by_beta.sum(), -by_rho.sum()], [sums @ by_beta, sums @ by_rho + inverse.sum() / n_rows]],
            [1 - a.sum() - alone.sum(), n_rows - u.sum() - inverse @ off + sums @ alone],
        )
        d_a = alone - d_beta * by_beta - d_rho * by_rho
        d_u = inverse * (off - A.T @ d_a + d_rho / n_rows)
        d_s = mu / a - s - s / a * d_a
        d_z, d_w = mu / u - z - z / u * d_u, mu / v - w + w / v * d_u
        along = min(_longest_step(u, d_u), _longest_step(v, -d_u), _longest_step(s, d_s))
        u, s, beta = u + along * d_u, s + along * d_s, beta + along * d_beta
        along = min(_longest_step(a, d_a), _longest_step(z, d_z), _longest_step(w, d_w))
        a, z, w, rho = a + along * d_a, z + along * d_z, w + along * d_w, rho + along * d_rho
    votes = a / a.sum()
    return Program(u / u.sum(), votes, soft_margin(votes @ margins, nu))


def counting(inside: Program) -> np.ndarray:
    """Mask of the rules that count near the optimum; those that hardly do so count for nothing at a corner."""
    return inside.votes > _VANISHING * inside.votes.max()


def as_few_as_at_a_corner(inside: Program, nu: float) -> bool:
    """Whether about as few rules count as at a corner, where each but one needs a row of middling weight."""
    shares = nu * len(inside.row_weights) * inside.row_weights
    n_middling = np.count_nonzero((shares > _VANISHING) & (shares < 1 - _VANISHING))
    return bool(np.count_nonzero(counting(inside)) <= 1 + _ABOUT * n_middling)


def _longest_step(values: np.ndarray, step: np.ndarray) -> float:
    """How far along a step all values stay positive, 1 at most."""
    shrinking = step < 0
    return min(1.0, 0.99 * float(np.min(-values[shrinking] / step[shrinking], initial=np.inf)))


_NEGLIGIBLE = 1e-9
_STUMPS_A_ROUND = 50
# From so near the optimum on, rounds go from corner to corner.
_NEAR = 1e-4
# How near the optimum of the rules so far each round comes, and how near that of a large program comes last.
_PART_OF_GAP, _PART_OF_GAP_IF_LARGE = 0.1, 0.3
_PART_OF_TOL = 1e-4
_NO_INSIDE = 0.99


class Rule(NamedTuple):
    """A fitted weak classifier, and ``y_i h(x_i)`` of the training rows."""

    classifier: Any
    margins: np.ndarray


class Vote(NamedTuple):
    """Rules with their votes, the soft margin of these, by how much any rules could exceed it, and rounds."""

    rules: list[Rule]
    votes: np.ndarray
    margin: float
    gap: float
    n_rounds: int


def best_vote(
    best_rules: Callable[[np.ndarray], list[Rule]],
    n_rows: int,
    nu: float,
    tol: float,
    max_iter: int,
    stop: Callable[[], bool] = lambda: False,
) -> Vote:
    """The vote of the best rules of all, which are asked for by weights of the rows."""
    rules: dict[bytes, Rule] = {}
    state, bound = Program(np.full(n_rows, 1 / n_rows), np.empty(0), -1.0), np.inf
    # With all rows at their largest weight there is no inside.
    n_rounds, stopped, at_corner = 0, False, nu > _NO_INSIDE
    while True:
        found = {np.packbits(rule.margins > 0).tobytes(): rule for rule in best_rules(state.row_weights)}
        bound = min(bound, float(state.row_weights @ next(iter(found.values())).margins))
        gap = max(bound - state.margin, 0.0)
        ended = gap <= max(tol, 0 if at_corner else _NEAR) or found.keys() <= rules.keys()
        if rules and (ended or stopped or n_rounds == max_iter):
            if at_corner:
                return Vote(list(rules.values()), state.votes, state.margin, gap, n_rounds)
            large = tol > _NEAR and is_large(len(rules), n_rows)
            if large:
                state = near_optimum(_margins(rules), nu, _PART_OF_TOL * tol)
            counts = counting(state)
            rules = {key: rule for (key, rule), kept in zip(rules.items(), counts, strict=True) if kept}
            if large and as_few_as_at_a_corner(state, nu):
                votes = state.votes[counts] / state.votes[counts].sum()
                margin = soft_margin(votes @ _margins(rules), nu)
                return Vote(list(rules.values()), votes, margin, max(bound - margin, 0.0), n_rounds)
            at_corner = True
            state = corner(_margins(rules), nu)
            continue
        rules |= found
        part = _PART_OF_GAP_IF_LARGE if is_large(len(rules), n_rows) else _PART_OF_GAP
        near = part * max(gap, tol, _NEAR)
        state = corner(_margins(rules), nu) if at_corner else near_optimum(_margins(rules), nu, near)
        n_rounds += 1
        stopped = stop()


def _margins(rules: dict[bytes, Rule]) -> np.ndarray:
    return np.array([rule.margins for rule in rules.values()])


@method(
    tasks=["classification"],
    when="Two classes that thresholds on single columns separate, and a vote of few of these is wanted. The share of "
    "rows that may be on the wrong side is set beforehand, so that outliers do no harm. With ten thousand noisy rows "
    "or more the programs take long: then AdaBoostClassifier of scikit-learn with ThresholdStump.",
    cost="O(p n log n) once, then for each of some tens of rounds O(p n) and a linear program of O(n k^2) for k rules "
    "so far: a few where classes are well separated, hundreds where labels are noisy, so that time grows as n^2 or "
    "faster; a larger nu or tol means fewer. O(n p + n k) memory; for a sparse table, of what is stored",
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
        Upper bound of what further rules could add to it.
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

    Most of the time goes into the programs, and the harder the classes are to separate, the more rules these hold. With
    the defaults and 50 columns, of which three separate the classes up to noise, 1,000 rows take 1.5 s and keep 430
    rules, 2,000 rows 7 s and 790, 5,000 rows 40 s and 1,400. A larger ``nu`` or ``tol`` shortens it most, as there are
    fewer rules then; ``max_iter`` ends it, with the gap that is left. Of a large program the corner, with the fewest
    votes, is found from inside: the margin is that of the optimum but for a small part of ``tol``, and there may be a
    few votes more.

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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> "LPBoost":
        """Find rules and their votes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Two classes.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, labels = self._rows_and_labels(X, y)
        tol = max(float(self.tol), _NEGLIGIBLE)
        with fit_steps(self, X, y) as after_step:
            stopped = False

            def stop() -> bool:
                nonlocal stopped
                stopped = after_step("round")
                return stopped

            found = best_vote(self._rules(X, labels), len(labels), float(self.nu), tol, self.max_iter, stop)
            self._settle(found)
        if self.gap_ > tol and not stopped:
            warn_caller(
                f"The soft margin is {self.margin_:.3g} after {self.n_iter_} rounds, and could still grow by up to "
                f"{self.gap_:.2g}; raise max_iter or tol.",
                ConvergenceWarning,
            )
        return self

    def _rules(self, X: Any, labels: np.ndarray) -> Callable[[np.ndarray], list[Rule]]:
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

    def _votes(self, classifier: Any, X: Any) -> np.ndarray:
        return np.where(classifier.predict(X) == self.classes_[1], 1.0, -1.0)

    def _settle(self, found: Vote) -> None:
        order = np.argsort(-found.votes, kind="stable")
        kept = order[found.votes[order] > _NEGLIGIBLE]
        self.estimators_ = [found.rules[each].classifier for each in kept]
        self.estimator_weights_ = found.votes[kept] / found.votes[kept].sum()
        self.margin_, self.gap_, self.n_iter_ = found.margin, found.gap, found.n_rounds

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
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        votes : ndarray of shape (n_samples,)
            From -1, all for the first class, to 1, all for the second.
        """
        check_is_fitted(self)
        X = validated(self, X, dtype=(np.float64, np.float32), accept_sparse="csc", reset=False)
        return np.sum(
            [a * self._votes(h, X) for a, h in zip(self.estimator_weights_, self.estimators_, strict=True)], axis=0
        )
