"""Random subsets, ever smaller: keep the smallest one that is good enough (LVF, Liu and Setiono 1996).

Draw a subset of at most as many columns as the best one so far has; it becomes the best if it is good enough and
smaller, or as small and better. With the rate of inconsistency as the objective this is the Las Vegas filter.
"""

from collections.abc import Callable
from numbers import Integral

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import Interval, clearly_better, warn_caller
from fewer.catalogue import method
from fewer.select.objectives._nearest_neighbour import NearestNeighbourObjective
from fewer.select.objectives._objective import SubsetScorer
from fewer.select.searches._path import SearchPath, SearchStep, Walker, ranking_by_trials, reaches
from fewer.select.searches._search import COMMON_CONSTRAINTS, OnStep, Search


def random_subsets_path(
    scorer: SubsetScorer,
    n_columns: int,
    *,
    max_size: int,
    n_iter: int,
    seed: int | None,
    enough: float | None,
    on_step: Callable[[SearchPath], bool] = lambda path: False,
) -> SearchPath:
    """Score ``n_iter`` random subsets, none larger than the smallest that was good enough.

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
        if reaches(score, enough):
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
    examples=lambda: [RandomSubsetSearch(NearestNeighbourObjective(), enough=0.5, n_iter=20)],
)
class RandomSubsetSearch(Search):
    """Try random subsets, and keep the smallest that is good enough.

    Parameters
    ----------
    objective : estimator, objective or callable
        What to maximise, as in :class:`SequentialSearch`.
    enough : float or None, default=None
        What is good enough. None keeps the best of all subsets drawn.
    max_features : int or None, default=None
        Columns to keep at most; None for any number.
    n_iter : int or None, default=None
        Subsets to try; None for 77 times the number of columns, as the authors do.
    cv : int, "loo", splitter or iterable, default=5
        Folds, when ``objective`` is an estimator.
    scoring : str, callable or None, default=None
        What the folds are scored by, when ``objective`` is an estimator; its own score by default.
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
    >>> RandomSubsetSearch(NearestNeighbourObjective(), enough=0.9, random_state=0).fit(X, y).get_support()
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
        enough=None,
        max_features=None,
        n_iter=None,
        cv=5,
        scoring=None,
        n_jobs=None,
        random_state=None,
        checkpoint=None,
    ):
        self.objective = objective
        self.enough = enough
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
            enough=self.enough,
            on_step=on_step,
        )
        if self.enough is not None and path.smallest_that(self.enough) is None:
            warn_caller(
                f"None of {path.n_evaluations} random subsets reaches enough={self.enough}; the best one, with "
                f"{max(path.scores.values()):.6g}, is kept. Raise n_iter or max_features, or ask for less.",
                ConvergenceWarning,
            )
        return path

    def _columns(self, path: SearchPath, kept: int) -> tuple[np.ndarray, np.ndarray]:
        return path.tried, ranking_by_trials(path, path.subsets[kept])
