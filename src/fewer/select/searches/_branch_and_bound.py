"""Branch and bound: the best subset of a size, without scoring all, for objectives that never fall with a column more.

If ``J(Y - x) <= J(Y)`` for every column, a set that is no better than the best subset known so far cannot hold a better
one, and everything inside of it is skipped. The tree starts from all columns and takes one away at each branch: where
``f_1, f_2, ...`` are the columns that may go, from the most harmful on, the branch j takes ``f_j`` away and keeps
``f_1 ... f_(j-1)`` for good, so that every subset is met once. Branches with few subsets and high J come first, and
large ones with low J are the first to be cut (Narendra and Fukunaga 1977).
"""

from numbers import Integral

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import Interval, clearly_better, warn_caller
from fewer.catalogue import method
from fewer.select.objectives._mahalanobis import MahalanobisObjective
from fewer.select.objectives._objective import Objective, SubsetScorer
from fewer.select.searches._path import SearchPath, SearchStep, Walker, ranking_by_trials
from fewer.select.searches._search import COMMON_CONSTRAINTS, OnStep, Search


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
    cv, scoring, random_state, enough = 5, None, None, None

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
