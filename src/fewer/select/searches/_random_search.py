"""Random searches: one random change at a time, or random subsets that become smaller.

*Random mutation* toggles one column, drawn at random, and keeps the change unless it is worse (Skalak 1994): ``Y' = Y +
x`` or ``Y - x``;  ``Y <- Y'`` if ``J(Y') >= J(Y)``. One evaluation a step, whatever the number of columns; and because
equals are taken, the search drifts over plateaus on which greedy ones stop.

*Random subsets* keep the smallest one that reaches a target score (LVF, Liu and Setiono 1996). Draw a subset of at most
as many columns as the best one so far has; it becomes the best if it reaches the target score and is smaller, or as
small and better. With the rate of inconsistency as the objective this is the Las Vegas filter.
"""

from collections.abc import Callable
from numbers import Integral

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import Interval, clearly_better, warn_caller
from fewer.catalogue import method
from fewer.select.objectives._nearest_neighbour import NearestNeighbourObjective
from fewer.select.objectives._objective import SubsetScorer
from fewer.select.searches._search import (
    COMMON_CONSTRAINTS,
    OnStep,
    Search,
    SearchPath,
    SearchStep,
    Walker,
    ranking_by_trials,
    reaches,
)


def random_mutation_path(
    scorer: SubsetScorer,
    n_columns: int,
    *,
    max_size: int,
    n_iter: int,
    seed: int | None,
    target_score: float | None = None,
    on_step: Callable[[SearchPath], bool] = lambda path: False,
) -> SearchPath:
    """Mutate a random subset ``n_iter`` times; it always has 1 to ``max_size`` columns."""
    rng = np.random.default_rng(seed)
    walker = Walker(scorer, n_columns)
    size = int(np.clip(rng.binomial(n_columns, 0.5), 1, max_size))
    current = walker.start_with(np.sort(rng.permutation(n_columns)[:size]).tolist())
    walker.path.tried[walker.scorer.subset] = current
    for _ in range(n_iter):
        if reaches(current, target_score):
            break
        column = _column_to_toggle(rng, walker.scorer.subset, n_columns, max_size)
        if column is None:  # one column, which is all that there may be
            break
        inside = column in walker.scorer.subset
        score_change, change = (scorer.score_removed, walker.remove) if inside else (scorer.score_added, walker.add)
        score = float(walker.scores_of(np.array([column]), score_change)[0])
        if not inside:
            walker.path.tried[column] = score
        if not clearly_better(current, score):
            change(column, score)
            current = max(current, score)
        if on_step(walker.path):
            break
    return walker.path


def _column_to_toggle(rng: np.random.Generator, subset: list[int], n_columns: int, max_size: int) -> int | None:
    """One of the columns that may change, drawn at random: the last one stays, and a full subset takes no more."""
    may_leave, may_enter = len(subset) > 1, len(subset) < max_size
    if may_leave and may_enter:
        return int(rng.integers(n_columns))
    if may_leave:
        return int(rng.choice(subset))
    return int(rng.choice(np.setdiff1d(np.arange(n_columns), subset))) if may_enter and n_columns > 1 else None


@method(
    tasks=["classification", "regression"],
    when="An evaluation is dear and there are too many columns to try each of them in every step, or a greedy search "
    "gets stuck because columns are useful only together. The result depends on chance: compare several random states.",
    cost="O(n_iter) evaluations of the objective, one a step.",
    paper="mladenic-text-fs",
    examples=lambda: [RandomMutationSearch(NearestNeighbourObjective(), n_iter=20)],
)
class RandomMutationSearch(Search):
    """Search by changing one random column at a time, and keeping what is not worse.

    Parameters
    ----------
    objective : estimator, objective or callable
        What to maximise, as in :class:`SequentialSearch`.
    max_features : int or None, default=None
        Columns to keep at most; None for any number.
    n_iter : int or None, default=None
        Changes to try; None for ten times the number of columns.
    target_score : float or None, default=None
        Stop as soon as J is this high.
    cv : int, "loo", splitter or iterable, default=5
        Folds, when ``objective`` is an estimator.
    scoring : str, callable or None, default=None
        Score of the folds, when ``objective`` is an estimator; its own score by default.
    n_jobs : int or None, default=None
        Passed to the objective; there is one candidate a step, so it rarely helps.
    random_state : int, RandomState instance or None, default=None
        Draws the start and the changes, and shuffles the folds when ``cv`` is a number.
    checkpoint : str, path or None, default=None
        A file that keeps all scores as they come, so that an interrupted search can go on; see
        :class:`SequentialSearch`.

    Attributes
    ----------
    subset_path_ : dict of int to tuple of int
        For every size that was met, the columns of the best subset.
    path_scores_ : dict of int to float
        J of these subsets.
    history_ : list of SearchStep
        The start, and every change that was kept.
    n_evaluations_ : int
        How many subsets were scored.
    fast_route_ : FastRoute
        Whether a closed form took the place of fits (``taken``), and which, or why not (``reason``).
    n_features_to_select_ : int
        Columns kept: those of the best subset, of equals the smallest.
    scores_ : ndarray of shape (n_features,)
        J of the smallest subset of the path that holds the column; where none does, of the last one tried with it, and
        NaN for columns that were never tried.
    ranking_ : ndarray of shape (n_features,)
        Place of each column: those kept come first, then those in more subsets of the path, then by their last trial.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    SequentialSearch : Takes the best of all changes, not a random one.

    References
    ----------
    .. [1] Skalak, D. B. (1994). Prototype and feature selection by sampling and random mutation hill climbing
       algorithms. Proceedings of the Eleventh International Conference on Machine Learning, 293-301.

    Examples
    --------
    >>> from fewer.datasets import make_five_classes
    >>> from fewer.select import NearestNeighbourObjective, RandomMutationSearch
    >>> X, y, truth = make_five_classes(random_state=0)
    >>> search = RandomMutationSearch(NearestNeighbourObjective(), max_features=2, random_state=0).fit(X, y)
    >>> search.get_support(), search.n_evaluations_
    (array([ True, False, False,  True]), 41)
    """

    _parameter_constraints = COMMON_CONSTRAINTS | {
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "n_iter": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        objective,
        *,
        max_features=None,
        n_iter=None,
        target_score=None,
        cv=5,
        scoring=None,
        n_jobs=None,
        random_state=None,
        checkpoint=None,
    ):
        self.objective = objective
        self.max_features = max_features
        self.n_iter = n_iter
        self.target_score = target_score
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.checkpoint = checkpoint

    def _is_random(self) -> bool:
        return True

    def _n_steps(self, n_columns: int) -> int:
        return 10 * n_columns if self.n_iter is None else self.n_iter

    def _n_subsets(self, n_columns: int) -> int:
        return self._n_steps(n_columns)

    def _walk(self, scorer: SubsetScorer, n_columns: int, on_step: OnStep, seed: int | None) -> SearchPath:
        return random_mutation_path(
            scorer,
            n_columns,
            max_size=min(self.max_features or n_columns, n_columns),
            n_iter=self._n_steps(n_columns),
            seed=seed,
            target_score=self.target_score,
            on_step=on_step,
        )


def random_subsets_path(
    scorer: SubsetScorer,
    n_columns: int,
    *,
    max_size: int,
    n_iter: int,
    seed: int | None,
    target_score: float | None,
    on_step: Callable[[SearchPath], bool] = lambda path: False,
) -> SearchPath:
    """Score ``n_iter`` random subsets, none larger than the smallest that reached ``target_score``.

    ``path.tried`` is the highest J of any subset with the column.
    """
    rng = np.random.default_rng(seed)
    walker = Walker(scorer, n_columns)
    path = walker.path
    for _ in range(n_iter):
        size = int(rng.integers(1, max_size, endpoint=True))
        subset = np.sort(rng.permutation(n_columns)[:size])
        scorer.move_to(subset[:-1].tolist())
        score = float(walker.scores_of(subset[-1:], scorer.score_added)[0])
        path.tried[subset] = np.fmax(path.tried[subset], score)
        if size not in path.scores or clearly_better(score, path.scores[size]):
            path.note(SearchStep("found", None, size, score), subset.tolist())
        if reaches(score, target_score):
            max_size = size
        if on_step(path):
            break
    return path


@method(
    tasks=["classification", "regression"],
    when="Columns are discrete, useful only together, and too many to try all subsets: with InconsistencyObjective "
    "this is the Las Vegas filter. The result depends on chance, and gets smaller with more iterations.",
    cost="O(n_iter) evaluations of the objective.",
    paper="mladenic-text-fs",
    examples=lambda: [RandomSubsetSearch(NearestNeighbourObjective(), target_score=0.5, n_iter=20)],
)
class RandomSubsetSearch(Search):
    """Try random subsets, and keep the smallest that reaches a target score.

    Parameters
    ----------
    objective : estimator, objective or callable
        What to maximise, as in :class:`SequentialSearch`.
    target_score : float or None, default=None
        J that a subset must reach. None keeps the best of all subsets drawn.
    max_features : int or None, default=None
        Columns to keep at most; None for any number.
    n_iter : int or None, default=None
        Subsets to try; None for 77 times the number of columns, as the authors do.
    cv : int, "loo", splitter or iterable, default=5
        Folds, when ``objective`` is an estimator.
    scoring : str, callable or None, default=None
        Score of the folds, when ``objective`` is an estimator; its own score by default.
    n_jobs : int or None, default=None
        Passed to the objective; there is one candidate a step, so it rarely helps.
    random_state : int, RandomState instance or None, default=None
        Draws the subsets, and shuffles the folds when ``cv`` is a number.
    checkpoint : str, path or None, default=None
        A file that keeps all scores as they come, so that an interrupted search can go on; see
        :class:`SequentialSearch`.

    Attributes
    ----------
    subset_path_ : dict of int to tuple of int
        For every size that was drawn, the columns of the best subset.
    path_scores_ : dict of int to float
        J of these subsets.
    history_ : list of SearchStep
        Every subset that was better than those before it of its size.
    n_evaluations_ : int
        How many subsets were scored.
    fast_route_ : FastRoute
        Whether a closed form took the place of fits (``taken``), and which, or why not (``reason``).
    n_features_to_select_ : int
        Columns kept.
    scores_ : ndarray of shape (n_features,)
        Highest objective of any subset that holds the column; NaN for columns that were never drawn.
    ranking_ : ndarray of shape (n_features,)
        Place of each column: the columns kept come first, and each group stands in the order of ``scores_``.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    ExhaustiveSearch : All subsets, from the smallest up.
    RandomMutationSearch : Changes a subset, rather than drawing a new one.

    References
    ----------
    .. [1] Liu, H. and Setiono, R. (1996). A probabilistic approach to feature selection: a filter solution. Proceedings
       of the Thirteenth International Conference on Machine Learning, 319-327.

    Examples
    --------
    >>> from fewer.datasets import make_five_classes
    >>> from fewer.select import NearestNeighbourObjective, RandomSubsetSearch
    >>> X, y, truth = make_five_classes(random_state=0)
    >>> RandomSubsetSearch(NearestNeighbourObjective(), target_score=0.9, random_state=0).fit(X, y).get_support()
    array([ True, False, False,  True])
    """

    _parameter_constraints = COMMON_CONSTRAINTS | {
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "n_iter": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        objective,
        *,
        target_score=None,
        max_features=None,
        n_iter=None,
        cv=5,
        scoring=None,
        n_jobs=None,
        random_state=None,
        checkpoint=None,
    ):
        self.objective = objective
        self.target_score = target_score
        self.max_features = max_features
        self.n_iter = n_iter
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.checkpoint = checkpoint

    def _is_random(self) -> bool:
        return True

    def _n_steps(self, n_columns: int) -> int:
        return 77 * n_columns if self.n_iter is None else self.n_iter

    def _n_subsets(self, n_columns: int) -> int:
        return self._n_steps(n_columns)

    def _walk(self, scorer: SubsetScorer, n_columns: int, on_step: OnStep, seed: int | None) -> SearchPath:
        n_iter = self._n_steps(n_columns)
        path = random_subsets_path(
            scorer,
            n_columns,
            max_size=min(self.max_features or n_columns, n_columns),
            n_iter=n_iter,
            seed=seed,
            target_score=self.target_score,
            on_step=on_step,
        )
        if self.target_score is not None and path.smallest_reaching(self.target_score) is None:
            warn_caller(
                f"None of {path.n_evaluations} random subsets reaches target_score={self.target_score}; the best one, "
                f"with {max(path.scores.values()):.6g}, is kept. Raise n_iter or max_features, or lower target_score.",
                ConvergenceWarning,
            )
        return path

    def _columns(self, path: SearchPath, kept: int) -> tuple[np.ndarray, np.ndarray]:
        return path.tried, ranking_by_trials(path, path.subsets[kept])
