"""The best subset for certain: all subsets, or branch and bound.

*All subsets*: there are ``C(p, M)`` subsets of M of p columns and ``2^p - 1`` of any size, so this is for few columns,
and for finding out how much a sequential search misses. With a target score (FOCUS: no conflicts), it goes through the
sizes from one column up until a subset reaches it.

*Branch and bound*, for objectives that never fall when a column is added: if ``J(Y - x) <= J(Y)`` for every column, a
set that is no better than the best subset known so far cannot hold a better one, and everything inside of it is
skipped. The tree starts from all columns and takes one away at each branch: where ``f_1, f_2, ...`` are the columns
that may go, from the most harmful on, the branch j takes ``f_j`` away and keeps ``f_1 ... f_(j-1)`` for good, so that
every subset is met once. Branches with few subsets and high J come first, and large ones with low J are the first to be
cut (Narendra and Fukunaga 1977).
"""

from math import comb
from numbers import Integral

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import Interval, StrOptions, clearly_better, first_of_best, warn_caller
from fewer.catalogue import method
from fewer.select.objectives._discriminant import MahalanobisObjective
from fewer.select.objectives._nearest_neighbour import NearestNeighbourObjective
from fewer.select.objectives._objective import Objective, SubsetScorer
from fewer.select.searches._search import (
    COMMON_CONSTRAINTS,
    OnStep,
    Search,
    SearchPath,
    SearchStep,
    Walker,
    ranking_by_trials,
)

# Callbacks are asked after all subsets that share their first columns, this many.
_SHARED = 2


def try_all(walker: Walker, size: int, on_step: OnStep = lambda path: False) -> bool:
    """Score all subsets of a size and note the best; of equals the first in alphabetical order of indices.

    ``walker.path.tried``, the highest objective of any subset with a column, is kept up to date. Subsets are walked
    through like the leaves of a tree: all that share their first ``size - 1`` columns are candidates of one step, which
    is what incremental objectives are fast at. Returns whether ``on_step`` stopped it.
    """
    scorer, path = walker.scorer, walker.path

    def try_last(first: int) -> None:
        candidates = np.arange(first, path.n_columns)
        scores = walker.scores_of(candidates, scorer.score_added)
        leader = int(first_of_best(scores))
        score = float(scores[leader])
        path.tried[candidates] = np.fmax(path.tried[candidates], scores)
        path.tried[scorer.subset] = np.fmax(path.tried[scorer.subset], score)
        if size not in path.scores or clearly_better(score, path.scores[size]):
            path.note(SearchStep("found", None, size, score), [*scorer.subset, int(candidates[leader])])

    def walk(first: int) -> bool:
        missing = size - len(scorer.subset)
        stopped = False
        if missing == 1:
            try_last(first)
        else:
            for column in range(first, path.n_columns - missing + 1):
                scorer.add(column)
                stopped = walk(column + 1)
                scorer.remove(column)
                if stopped:
                    break
        return stopped or (len(scorer.subset) == min(_SHARED, size - 1) and on_step(path))

    return walk(0)


def n_shared_beginnings(n_columns: int, size: int) -> int:
    """How often ``try_all`` asks ``on_step``."""
    depth = min(_SHARED, size - 1)
    return comb(n_columns - size + depth, depth)


@method(
    tasks=["classification", "regression"],
    when="There are few columns, say up to 20, and it matters to have the best subset and not just a good one; or to "
    "see how much a sequential search misses. The winning score is optimistic, the more so the more subsets compete.",
    cost="O(p! / (k! (p - k)!)) evaluations of the objective for k of p columns, O(2^p) for all sizes.",
    paper="slides",
    examples=lambda: [ExhaustiveSearch(NearestNeighbourObjective(), n_features_to_select=2)],
    aliases=["best subset"],
)
class ExhaustiveSearch(Search):
    """Score every subset of the columns, and keep the best.

    Parameters
    ----------
    objective : estimator, objective or callable
        What to maximise, as in :class:`SequentialSearch`.
    n_features_to_select : int or "best", default="best"
        Columns to keep (all of them, with a warning, if the table has fewer); "best" tries all sizes, and keeps the
        subset with the highest objective (of equals the smallest).
    max_features : int or None, default=None
        With "best", the largest size to try; None for all.
    limit : int, default=100_000
        Raise an error when there are more subsets than this. With ``target_score``, the number of subsets is not known
        in advance: the search stops, with a warning, before the first size that would exceed it.
    target_score : float or None, default=None
        Go through the sizes from one column up, and keep the best subset of the first size that reaches this J.
    cv : int, "loo", splitter or iterable, default=5
        Folds, when ``objective`` is an estimator.
    scoring : str, callable or None, default=None
        Score of the folds, when ``objective`` is an estimator; its own score by default.
    n_jobs : int or None, default=None
        How many subsets are tried side by side. It never changes the result.
    random_state : int, RandomState instance or None, default=None
        Shuffles the rows before they are split into folds, when ``cv`` is a number.
    checkpoint : str, path or None, default=None
        A file that keeps all scores as they come, so that an interrupted search can go on; see
        :class:`SequentialSearch`.

    Attributes
    ----------
    subset_path_ : dict of int to tuple of int
        The best subset of every size that was tried.
    path_scores_ : dict of int to float
        Their objectives.
    history_ : list of SearchStep
        Every subset that was better than those before it of its size.
    n_evaluations_ : int
        How many subsets were scored.
    fast_route_ : FastRoute
        Whether a closed form took the place of fits (``taken``), and which, or why not (``reason``).
    n_features_to_select_ : int
        Columns kept.
    scores_ : ndarray of shape (n_features,)
        Highest objective of any subset that holds the column.
    ranking_ : ndarray of shape (n_features,)
        Place of each column: the columns kept come first, and each group stands in the order of ``scores_``.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    SequentialSearch : Far fewer evaluations, and often the same subset.
    BranchAndBoundSearch : The same subset with fewer evaluations, where the objective allows it.

    References
    ----------
    .. [1] Cover, T. M. and Van Campenhout, J. M. (1977). On the possible orderings in the measurement selection
       problem. IEEE Transactions on Systems, Man, and Cybernetics 7, 657-661.
    .. [2] Almuallim, H. and Dietterich, T. G. (1991). Learning with many irrelevant features. Proceedings of the Ninth
       National Conference on Artificial Intelligence, 547-552.

    Examples
    --------
    >>> from fewer.datasets import make_five_classes
    >>> from fewer.select import ExhaustiveSearch, NearestNeighbourObjective
    >>> X, y, truth = make_five_classes(random_state=0)
    >>> search = ExhaustiveSearch(NearestNeighbourObjective(), n_features_to_select=2).fit(X, y)
    >>> search.subset_path_[2], search.n_evaluations_
    ((0, 3), 6)
    """

    _parameter_constraints = COMMON_CONSTRAINTS | {
        "n_features_to_select": [Interval(Integral, 1, None, closed="left"), StrOptions({"best"})],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "limit": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        objective,
        *,
        n_features_to_select="best",
        max_features=None,
        limit=100_000,
        target_score=None,
        cv=5,
        scoring=None,
        n_jobs=None,
        random_state=None,
        checkpoint=None,
    ):
        self.objective = objective
        self.n_features_to_select = n_features_to_select
        self.max_features = max_features
        self.limit = limit
        self.target_score = target_score
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.checkpoint = checkpoint

    def _check(self, objective: Objective, n_columns: int) -> None:
        size = self.n_features_to_select
        if size != "best":
            size = self._number_to_keep(n_columns)
        if self.target_score is not None and size == "best":
            count, what = n_columns, "of one column"
        elif size == "best":
            count = sum(comb(n_columns, each) for each in self._sizes(n_columns))
            what = "of any size" if self.max_features is None else f"of up to {self.max_features} columns"
        else:
            count, what = comb(n_columns, size), f"of {size} columns"
        if count > self.limit:
            raise ValueError(
                f"A table with n_features={n_columns} has {_in_words(count)} subsets {what}, more than "
                f"limit={self.limit:,}. Choose fewer columns beforehand, use SequentialSearch, or raise the limit."
            )

    def _sizes(self, n_columns: int) -> list[int]:
        if self.n_features_to_select != "best":
            return [min(self.n_features_to_select, n_columns)]
        largest = n_columns if self.max_features is None else min(self.max_features, n_columns)
        return list(range(1, largest + 1))

    def _n_steps(self, n_columns: int) -> int | None:
        if self.target_score is not None:
            return None
        return sum(n_shared_beginnings(n_columns, size) for size in self._sizes(n_columns))

    def _walk(self, scorer: SubsetScorer, n_columns: int, on_step: OnStep, seed: int | None) -> SearchPath:
        walker = Walker(scorer, n_columns)
        for size in self._sizes(n_columns):
            more = comb(n_columns, size)
            if walker.path.n_evaluations + more > self.limit:
                warn_caller(
                    f"No subset of up to {size - 1} columns reaches target_score={self.target_score}; the best has "
                    f"{max(walker.path.scores.values()):.6g}. There are {_in_words(more)} subsets of {size} columns, "
                    f"which would exceed limit={self.limit:,}: raise it, or choose fewer columns beforehand.",
                    ConvergenceWarning,
                )
                break
            if try_all(walker, size, on_step) or walker.path.smallest_reaching(self.target_score) is not None:
                break
        return walker.path

    def _columns(self, path: SearchPath, kept: int) -> tuple[np.ndarray, np.ndarray]:
        return path.tried, ranking_by_trials(path, path.subsets[kept])


def _in_words(count: int) -> str:
    return f"{count:,}" if count < 10**9 else f"{float(count):.2e}" if count < 10**300 else "more than 1e300"


def branch_and_bound_path(
    scorer: SubsetScorer, n_columns: int, *, size: int, limit: int, on_step: OnStep = lambda path: False
) -> SearchPath:
    """The best subset of a size, by a tree of removals.

    ``path.tried`` is the highest J of any subset with the column. After ``limit`` evaluations the search gives up and
    keeps the best subset so far; ``path.complete`` tells.
    """
    walker = Walker(scorer, n_columns)
    path = walker.path
    scorer.move_to(range(n_columns))

    def best() -> float:
        return path.scores.get(size, -np.inf)

    def note(subset: list[int], score: float) -> None:
        path.tried[subset] = np.fmax(path.tried[subset], score)
        if clearly_better(score, best()):
            path.note(SearchStep("found", None, size, score), subset)

    def descend(free: list[int]) -> bool:
        """Try all subsets of the current set that lack only ``free`` columns; returns whether to stop."""
        surplus = len(scorer.subset) - size
        if len(free) == surplus:  # all of them have to go: one subset is left
            scorer_set = list(scorer.subset)
            scorer.move_to([column for column in scorer_set if column not in set(free)])
            score = scorer.score()
            path.n_evaluations += 1
            note(list(scorer.subset), score)
            scorer.move_to(scorer_set)
            return on_step(path)
        scores = walker.scores_of(np.array(free), scorer.score_removed)
        if surplus == 1:
            for column, score in zip(free, scores, strict=True):
                note([kept for kept in scorer.subset if kept != column], float(score))
            return on_step(path)
        if path.n_evaluations >= limit and path.scores:
            return True
        order = np.argsort(scores, kind="stable")
        n_branches = len(free) - surplus + 1
        for branch in range(n_branches - 1, -1, -1):
            if not clearly_better(scores[order[branch]], best()):
                break  # the branches to come have lower J still
            column = free[order[branch]]
            scorer.remove(column)
            stopped = descend([free[place] for place in order[branch + 1 :]])
            scorer.add(column)
            if stopped:
                return True
        return False

    if size == n_columns:
        note(list(scorer.subset), scorer.score())
        path.n_evaluations += 1
    else:
        path.complete = not descend(list(range(n_columns)))
    return path


@method(
    tasks=["classification"],
    when="There are up to some thirty columns, the best subset of a size is wanted and not just a good one, and the "
    "objective never falls when a column is added: distances between classes, conflicts, class entropy, inconsistency.",
    cost="O(p! / (k! (p - k)!)) evaluations of the objective in the worst case, often a small part of that.",
    paper="slides",
    examples=lambda: [BranchAndBoundSearch(MahalanobisObjective(), n_features_to_select=2)],
)
class BranchAndBoundSearch(Search):
    """Find the best subset of a size without scoring all of them.

    Parameters
    ----------
    objective : objective
        What to maximise; it must never fall when a column is added (``objective.monotone``).
    n_features_to_select : int or None, default=None
        Columns to keep; None for half of them. All of them, with a warning, if the table has fewer.
    limit : int, default=100_000
        Evaluations after which the search gives up, with a warning, and keeps the best subset so far.
    n_jobs : int or None, default=None
        How many candidates are tried side by side, where the objective can do that. It never changes the result.
    checkpoint : str, path or None, default=None
        A file that keeps all scores as they come, so that an interrupted search can go on; see
        :class:`SequentialSearch`.

    Attributes
    ----------
    subset_path_ : dict of int to tuple of int
        The best subset, under its size.
    path_scores_ : dict of int to float
        Its objective.
    complete_ : bool
        Whether no subset can be better; False when the search was stopped or came to its limit.
    history_ : list of SearchStep
        Every subset that was better than those before it.
    n_evaluations_ : int
        How many sets were scored, those that were only passed through included.
    fast_route_ : FastRoute
        Whether a closed form took the place of fits (``taken``), and which, or why not (``reason``).
    n_features_to_select_ : int
        Columns kept.
    scores_ : ndarray of shape (n_features,)
        Highest objective of any subset of the size that was scored and holds the column; NaN if there was none.
    ranking_ : ndarray of shape (n_features,)
        Place of each column: the columns kept come first, and each group stands in the order of ``scores_``.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    ExhaustiveSearch : For any objective, with all subsets.

    Notes
    -----
    Subsets whose J is equal but for rounding are not told apart: the first one met is kept.

    References
    ----------
    .. [1] Narendra, P. M. and Fukunaga, K. (1977). A branch and bound algorithm for feature subset selection. IEEE
       Transactions on Computers 26, 917-922.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> from fewer.select import BranchAndBoundSearch, MahalanobisObjective
    >>> wine = load("wine")
    >>> search = BranchAndBoundSearch(MahalanobisObjective(), n_features_to_select=6).fit(wine.X, wine.y)
    >>> search.subset_path_[6], search.n_evaluations_ < 1716  # as many subsets have 6 of 13 columns
    ((0, 3, 6, 9, 11, 12), True)
    """

    _parameter_constraints = {
        "objective": COMMON_CONSTRAINTS["objective"],
        "n_features_to_select": [Interval(Integral, 1, None, closed="left"), None],
        "limit": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": COMMON_CONSTRAINTS["n_jobs"],
        "checkpoint": COMMON_CONSTRAINTS["checkpoint"],
    }
    # What other searches let a user choose is of no use here.
    cv, scoring, random_state, target_score = 5, None, None, None

    def __init__(self, objective, *, n_features_to_select=None, limit=100_000, n_jobs=None, checkpoint=None):
        self.objective = objective
        self.n_features_to_select = n_features_to_select
        self.limit = limit
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint

    def _check(self, objective: Objective, n_columns: int) -> None:
        if self.n_features_to_select is not None:
            self._number_to_keep(n_columns)
        if not objective.monotone:
            raise ValueError(
                f"{type(objective).__name__} may fall when a column is added, so that no branch can be cut. Use an "
                "objective that never does (MahalanobisObjective, ConflictsObjective, ClassEntropyObjective, "
                "InconsistencyObjective), or ExhaustiveSearch."
            )

    def _walk(self, scorer: SubsetScorer, n_columns: int, on_step: OnStep, seed: int | None) -> SearchPath:
        size = min(self.n_features_to_select or max(1, n_columns // 2), n_columns)
        path = branch_and_bound_path(scorer, n_columns, size=size, limit=self.limit, on_step=on_step)
        if not path.complete and path.n_evaluations >= self.limit:
            warn_caller(
                f"The search gave up after {path.n_evaluations:,} evaluations (limit={self.limit:,}); the best subset "
                f"so far, with {path.scores[size]:.6g}, is kept, and may not be the best of all. Raise the limit, or "
                "choose fewer columns beforehand.",
                ConvergenceWarning,
            )
        return path

    def _attributes(self, path: SearchPath) -> dict:
        return super()._attributes(path) | {"complete_": path.complete}

    def _columns(self, path: SearchPath, kept: int) -> tuple[np.ndarray, np.ndarray]:
        return path.tried, ranking_by_trials(path, path.subsets[kept])
