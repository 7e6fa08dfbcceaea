"""Sequential searches for subsets of columns: forward, backward, floating, stepwise, and in rounds.

Forward, from the empty set Y:  ``Y + argmax_{x not in Y} J(Y + x)``. Backward, from the full set:  ``Y - argmax_{x in
Y} J(Y - x)``.

The floating searches (Pudil et al. 1994) go back after each step, as long as the way back leads to a subset strictly
better than the best known one of its size. With the correction of Somol et al. (1999), a step that leads to a subset
worse than the best known one of that size goes on from the latter, and never replaces it.

Of columns with equal J, but for rounding, the one with the lowest index is taken.

*Stepwise*: each step is the best addition or the best removal, whichever gains more. From the empty set (or the full
one), ``Y <- argmax J`` over all subsets that are one column away, until none of them is better; a removal that costs
nothing counts as better. J never falls, so the search ends, in a subset that no single column can improve.

*Plus-l-minus-r*: rounds of l additions and r removals (Stearns 1976). With l > r the rounds start from the empty set
and grow, with l < r they start from the full set and shrink. Columns that later ones make useless are dropped again,
but how far to go back is fixed beforehand; the floating searches find that out by themselves.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Literal

import numpy as np

from fewer._estimators import Interval, StrOptions, clearly_better
from fewer.catalogue import method
from fewer.select.objectives._nearest_neighbour import NearestNeighbourObjective
from fewer.select.objectives._objective import Objective, SubsetScorer
from fewer.select.searches._search import (
    COMMON_CONSTRAINTS,
    OnStep,
    Search,
    SearchPath,
    Walker,
    column_ranking,
    column_scores,
    reaches,
)

Direction = Literal["forward", "backward", "floating", "floating_backward"]


def sequential_path(
    scorer: SubsetScorer,
    n_columns: int,
    *,
    direction: Direction,
    size: int,
    tol: float | None = None,
    target_score: float | None = None,
    on_step: Callable[[SearchPath], bool] = lambda path: False,
) -> SearchPath:
    """Search from the empty (or full) set until the subset has ``size`` columns.

    Stops early when the objective gains less than ``tol`` by a step, when it reaches ``target_score`` (backward, before
    it falls below), or when ``on_step`` returns True.
    """
    walker = Walker(scorer, n_columns)
    path = walker.path
    forward = direction in ("forward", "floating")
    floating = direction in ("floating", "floating_backward")
    best_step, take = (walker.best_addition, walker.add) if forward else (walker.best_removal, walker.remove)
    best_return, take_back = (walker.best_removal, walker.remove) if forward else (walker.best_addition, walker.add)
    # From these sizes there is no way back: of single columns, and of full sets, the best is known.
    no_return = range(3) if forward else range(n_columns - 1, n_columns + 1)

    current = -np.inf if forward else walker.start_full()
    while walker.size != size and not (forward and reaches(current, target_score)):
        column, score = best_step()
        if tol is not None and score - current < tol:
            break
        if not forward and target_score is not None and not reaches(score, target_score):
            break
        take(column, score)
        current = score
        if on_step(path):
            break
        if not floating:
            continue
        here = walker.size
        if clearly_better(path.scores[here], score):
            # All ways back from the best known subset were tried when it was found, against no better rivals.
            current = walker.restore(here)
            continue
        stopped = False
        just_taken: int | None = column
        while not stopped and walker.size not in no_return:
            column, score = best_return(just_taken, main=False)
            if not clearly_better(score, path.scores[walker.size + (-1 if forward else 1)]):
                break
            take_back(column, score)
            current, just_taken = score, None
            stopped = on_step(path)
        if stopped:
            break
    return path


def stepwise_path(
    scorer: SubsetScorer,
    n_columns: int,
    *,
    forward: bool,
    max_size: int,
    tol: float | None = None,
    target_score: float | None = None,
    on_step: Callable[[SearchPath], bool] = lambda path: False,
) -> SearchPath:
    """Search until neither an addition nor a removal improves J, by ``tol`` at least where that is given.

    Subsets have at most ``max_size`` columns; from the full set, the least harmful ones are removed first until there
    are no more.
    """
    walker = Walker(scorer, n_columns)
    current = -np.inf if forward else walker.start_full()
    just_added, just_removed = None, None
    while not (forward and reaches(current, target_score)):
        too_large = walker.size > max_size
        addition = walker.best_addition(just_removed) if walker.size < max_size else (-1, -np.inf)
        removal = walker.best_removal(just_added, main=not forward) if walker.size > 1 else (-1, -np.inf)
        adding = clearly_better(addition[1], removal[1])  # of equals, fewer columns
        column, score = addition if adding else removal
        improved = clearly_better(score, current) if adding else not clearly_better(current, score)
        improved = improved and (tol is None or score - current >= tol)
        if column < 0 or not (improved or too_large):
            break
        if adding:
            walker.add(column, score)
        else:
            walker.remove(column, score)
        just_added, just_removed = (column, None) if adding else (None, column)
        # Removals must not cost anything together either, so J to beat is the highest one.
        current = score if too_large else max(current, score)
        if on_step(walker.path):
            break
    return walker.path


def plus_minus_path(
    scorer: SubsetScorer,
    n_columns: int,
    *,
    plus: int,
    minus: int,
    size: int,
    tol: float | None = None,
    target_score: float | None = None,
    on_step: Callable[[SearchPath], bool] = lambda path: False,
) -> SearchPath:
    """Rounds until the subset has ``size`` columns; the last one steps back as often as it takes.

    Stops early when a round gains less than ``tol``, when J reaches ``target_score`` (from the full set, when it falls
    below), or when ``on_step`` returns True.
    """
    walker = Walker(scorer, n_columns)
    forward = plus > minus
    # A subset is never empty, and how far a round leads depends on what there is to add or to remove.
    there, back = (plus, minus) if forward else (minus, plus)
    away, home = (_addition, _removal) if forward else (_removal, _addition)
    limit = n_columns if forward else 1
    current = -np.inf if forward else walker.start_full()

    while walker.size != size:
        before = current
        for _ in range(min(there, abs(limit - walker.size))):
            current = away(walker, main=True)
            if on_step(walker.path):
                return walker.path
        beyond = (walker.size - size) if forward else (size - walker.size)
        # The last round ends at the size wanted, from the far side; there is no far side of the limit.
        for _ in range(beyond if beyond >= back or walker.size == limit else back):
            current = home(walker, main=False)
            if on_step(walker.path):
                return walker.path
        if tol is not None and current - before < tol:
            break
        if target_score is not None and reaches(current, target_score) == forward:
            break
    return walker.path


def _addition(walker: Walker, *, main: bool) -> float:
    column, score = walker.best_addition(main=main)
    walker.add(column, score)
    return score


def _removal(walker: Walker, *, main: bool) -> float:
    column, score = walker.best_removal(main=main)
    walker.remove(column, score)
    return score


STEPWISE = ("forward_stepwise", "backward_stepwise")
DIRECTIONS = ("forward", "backward", "floating", "floating_backward", *STEPWISE, "plus_minus")


@method(
    tasks=["classification", "regression"],
    when="Columns are useful together rather than each by itself, and a good objective for a whole subset is known: "
    "typically the cross-validated score of the learner that will use them. The scores of the path are optimistic; "
    "evaluate the whole search inside an outer cross-validation.",
    cost="k (p - k / 2) evaluations of the objective forward, about twice that or more for the floating searches; with "
    "nearest neighbours O(n^2) for each.",
    paper="slides",
    examples=lambda: [SequentialSearch(NearestNeighbourObjective(), n_features_to_select=2)],
    aliases=["SequentialFeatureSelector", "forward selection", "backward elimination"],
)
class SequentialSearch(Search):
    """Search for the columns that are best together, one column at a time.

    Forward, the search starts with no column and adds the one that gives the highest objective J, again and again.
    Backward, it starts with all and removes. The floating searches also go back: after each step they undo earlier
    ones, as long as that gives a subset better than the best known one of its size. The stepwise searches take the best
    addition or the best removal, whichever is better, until neither helps. Plus-minus adds some and removes fewer (or
    the other way round), again and again.

    J of the chosen subset is optimistic, because the same rows chose it. For an honest figure, put the whole search
    inside a cross-validation.

    Parameters
    ----------
    objective : estimator, objective or callable
        What to maximise: the cross-validated score of an estimator, on one set of folds for the whole search (by a
        closed form where the estimator has one: nearest neighbours, ridge, linear discriminant analysis, Gaussian naive
        Bayes); an objective such as :class:`NearestNeighbourObjective`; or a function ``(X, y) -> float``, given the
        columns of a subset.
    direction : {"forward", "backward", "floating", "floating_backward", "forward_stepwise", "backward_stepwise", \
            "plus_minus"}, default="forward"
        Where the search starts, and whether it goes back. Forward suits small subsets, backward large ones.
    n_features_to_select : int or None, default=None
        Columns to keep (all of them, with a warning, if the table has fewer); for the stepwise searches, at most that
        many. None searches the whole path, and keeps the subset with the highest J (of equals the smallest).
    cv : int, "loo", splitter or iterable, default=5
        Folds, when ``objective`` is an estimator; an objective brings its own.
    scoring : str, callable or None, default=None
        Score of the folds, when ``objective`` is an estimator; its own score by default.
    tol : float or None, default=None
        Stop as soon as a step (or a round of "plus_minus") gains less than this in J. Backward, it may be negative: how
        much a removal may cost.
    target_score : float or None, default=None
        Stop as soon as J is this high (backward, before it no longer is), and keep the smallest subset that is.
    plus : int, default=2
        Columns that each round of "plus_minus" adds.
    minus : int, default=1
        Columns that it removes. If these are more than it adds, the rounds start from all columns.
    n_jobs : int or None, default=None
        How many candidates of a step are tried side by side. It never changes the result.
    random_state : int, RandomState instance or None, default=None
        Shuffles the rows before they are split into folds, when ``cv`` is a number. None leaves them in their order.
    checkpoint : str, path or None, default=None
        A file that keeps all scores as they come. A search that was interrupted goes on from there when it is fitted
        again with the same table, target and parameters; anything else is refused. The file stays when the search is
        done.

    Attributes
    ----------
    subset_path_ : dict of int to tuple of int
        For every size that the search has reached, the columns of the best subset found. Nested for forward and
        backward searches, not always for the others.
    path_scores_ : dict of int to float
        J of these subsets.
    history_ : list of SearchStep
        Every step: what was done, to which column, the size and J afterwards.
    n_evaluations_ : int
        How many subsets were scored.
    fast_route_ : FastRoute
        Whether a closed form took the place of fits (``taken``), and which, or why not (``reason``).
    n_features_to_select_ : int
        Columns kept.
    scores_ : ndarray of shape (n_features,)
        J of the smallest subset of the path that holds the column; where none does, of the last subset tried with it.
    ranking_ : ndarray of shape (n_features,)
        Rank of each column, 1 for the best: the order of entry, or of removal backwards. For searches that go back,
        the columns kept come first, then those that are in more subsets of the path. Columns that never entered (or
        never left) are ranked by their last trial.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    NearestNeighbourObjective : Nearest neighbours, updated column by column.
    RidgeObjective : Ridge regression and classification, updated column by column.
    DiscriminantObjective : Linear discriminant analysis, updated column by column.
    NaiveBayesObjective : Gaussian naive Bayes, updated column by column.
    CrossValidatedScore : Any estimator.
    ExhaustiveSearch : Every subset of a size.
    BranchAndBoundSearch : The best subset of a size, for some objectives, without scoring all.
    RandomMutationSearch : Changes one column at random.

    Notes
    -----
    Of columns with the same J, but for rounding, the one with the lowest index is taken.

    A forward search for k of p columns scores ``p + (p - 1) + ... + (p - k + 1)`` subsets; a backward one the full set,
    and ``p + (p - 1) + ... + (k + 1)`` others.

    References
    ----------
    .. [1] Pudil, P., Novovicova, J. and Kittler, J. (1994). Floating search methods in feature selection. Pattern
       Recognition Letters 15, 1119-1125.
    .. [2] Somol, P., Pudil, P., Novovicova, J. and Paclik, P. (1999). Adaptive floating search methods in feature
       selection. Pattern Recognition Letters 20, 1157-1163.
    .. [3] Stearns, S. D. (1976). On selecting features for pattern classifiers. Proceedings of the Third International
       Joint Conference on Pattern Recognition, 71-75.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> from fewer.select import NearestNeighbourObjective, SequentialSearch
    >>> wine = load("wine")
    >>> search = SequentialSearch(NearestNeighbourObjective(cv="loo"), n_features_to_select=3).fit(wine.X, wine.y)
    >>> [wine.columns[column] for column in search.subset_path_[3]]
    ['alcohol', 'flavanoids', 'color_intensity']
    >>> {size: round(score, 2) for size, score in search.path_scores_.items()}
    {1: 0.71, 2: 0.93, 3: 0.94}
    """

    _parameter_constraints = COMMON_CONSTRAINTS | {
        "direction": [StrOptions(set(DIRECTIONS))],
        "n_features_to_select": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, None, None, closed="neither"), None],
        "plus": [Interval(Integral, 1, None, closed="left")],
        "minus": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        objective,
        *,
        direction="forward",
        n_features_to_select=None,
        cv=5,
        scoring=None,
        tol=None,
        target_score=None,
        plus=2,
        minus=1,
        n_jobs=None,
        random_state=None,
        checkpoint=None,
    ):
        self.objective = objective
        self.direction = direction
        self.n_features_to_select = n_features_to_select
        self.cv = cv
        self.scoring = scoring
        self.tol = tol
        self.target_score = target_score
        self.plus = plus
        self.minus = minus
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.checkpoint = checkpoint

    def _check(self, objective: Objective, n_columns: int) -> None:
        if self.n_features_to_select is not None:
            self._number_to_keep(n_columns)
        if self.direction == "plus_minus" and self.plus == self.minus:
            raise ValueError(
                f"plus={self.plus} and minus={self.minus} are equal, so the subset never changes in size; add more "
                "columns than are removed to start from none, or fewer to start from all."
            )
        if self.direction in STEPWISE and self.tol is not None and self.tol < 0:
            raise ValueError(
                f"tol={self.tol} is negative: a stepwise search that may lose might never end. Use "
                "direction='backward' to pay for removals."
            )

    @property
    def _forward(self) -> bool:
        if self.direction == "plus_minus":
            return self.plus > self.minus
        return self.direction in ("forward", "floating", "forward_stepwise")

    def _goal(self, n_columns: int) -> int:
        if self.n_features_to_select is not None:
            return min(self.n_features_to_select, n_columns)
        return n_columns if self._forward or self.direction in STEPWISE else 1

    def _n_steps(self, n_columns: int) -> int | None:
        if self.direction not in ("forward", "backward"):
            return None
        return abs(self._goal(n_columns) - (0 if self._forward else n_columns))

    def _n_subsets(self, n_columns: int) -> int:
        goal = self._goal(n_columns)
        if self._forward:
            return sum(n_columns - size for size in range(goal))
        return 1 + sum(range(goal + 1, n_columns + 1))

    def _walk(self, scorer: SubsetScorer, n_columns: int, on_step: OnStep, seed: int | None) -> SearchPath:
        goal, stops = self._goal(n_columns), {"tol": self.tol, "target_score": self.target_score, "on_step": on_step}
        if self.direction in STEPWISE:
            return stepwise_path(scorer, n_columns, forward=self._forward, max_size=goal, **stops)
        if self.direction == "plus_minus":
            return plus_minus_path(scorer, n_columns, plus=self.plus, minus=self.minus, size=goal, **stops)
        return sequential_path(scorer, n_columns, direction=self.direction, size=goal, **stops)

    def _kept_size(self, path: SearchPath) -> int:
        size, smallest = self.n_features_to_select, path.smallest_reaching(self.target_score)
        if smallest is not None and (size is None or smallest <= size):
            return smallest
        if self.direction in STEPWISE:
            return path.best_size if size is None else path.best_size_up_to(size)
        if size is None and (self.tol is None or self.direction == "plus_minus"):
            return path.best_size
        if size in path.scores:
            return size
        return max(path.scores) if self._forward else min(path.scores)

    def _columns(self, path: SearchPath, kept: int) -> tuple[np.ndarray, np.ndarray]:
        # A trial forward is one with the column, backward one without it.
        merit = path.tried if self._forward else -path.tried
        return column_scores(path), column_ranking(path, path.subsets[kept], merit)
