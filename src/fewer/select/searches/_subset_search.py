"""All searches under one name, chosen by a word."""

from numbers import Integral

import numpy as np

from fewer._estimators import Interval, StrOptions
from fewer.catalogue import method
from fewer.select.objectives._cross_validated_score import as_objective
from fewer.select.objectives._nearest_neighbour import NearestNeighbourObjective
from fewer.select.objectives._objective import Objective, SubsetScorer
from fewer.select.searches._exhaustive_search import ExhaustiveSearch
from fewer.select.searches._random_search import RandomMutationSearch, RandomSubsetSearch
from fewer.select.searches._search import COMMON_CONSTRAINTS, OnStep, Search, SearchPath
from fewer.select.searches._sequential_search import DIRECTIONS, SequentialSearch

STRATEGIES = (*DIRECTIONS, "random_mutation", "focus", "lvf")
_NEED_ENOUGH = ("focus", "lvf")


@method(
    tasks=["classification", "regression"],
    when="Several ways to search are to be compared by one parameter, in a grid search for example, or a filter such "
    "as 'conflicts' is to be searched until nothing is left to gain. The searches by themselves have more settings.",
    cost="That of the strategy: O(k p) evaluations of the criterion forward, O(p^2) backward, O(n_iter) at random, up "
    "to O(2^p) for focus.",
    paper="mladenic-text-fs",
    examples=lambda: [
        SubsetSearch(NearestNeighbourObjective(), max_features=2),
        SubsetSearch(NearestNeighbourObjective(), strategy="random_mutation", n_iter=20),
    ],
)
class SubsetSearch(Search):
    """Search for a subset of the columns by one of many strategies.

    Parameters
    ----------
    objective : estimator, objective, callable or str
        What to maximise: the cross-validated score of an estimator, an objective, a function ``(X, y) -> float``, or
        the name of a filter for discrete columns: "conflicts", "class_entropy", "inconsistency_rate" or "mdl".
    strategy : {"forward", "backward", "floating", "floating_backward", "forward_stepwise", "backward_stepwise", \
            "plus_minus", "random_mutation", "focus", "lvf"}, default="forward"
        The first seven as in :class:`SequentialSearch`; :class:`RandomMutationSearch`; "focus" goes through all subsets
        from the smallest up until one is good enough (:class:`ExhaustiveSearch`), "lvf" keeps the smallest of many
        random subsets that is (:class:`RandomSubsetSearch`).
    max_features : int or None, default=None
        Where a sequential search stops: forward and backward ones keep that many columns, all others at most that many.
        None keeps the best subset of any size.
    n_iter : int or None, default=None
        Steps of "random_mutation" (None for ten times the number of columns), or subsets of "lvf" (None for 77 times).
    cv : int, "loo", splitter or iterable, default=5
        Folds, when an estimator is given.
    random_state : int, RandomState instance or None, default=None
        Draws what is random, and shuffles the folds when ``cv`` is a number.
    enough : float or None, default=None
        What is good enough. None is the highest value that there can be, for the filters that have one (0 conflicts,
        for example), and nothing for all other criteria.
    n_jobs : int or None, default=None
        How many candidates of a step are tried side by side.
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
        Every step.
    n_evaluations_ : int
        How many subsets were scored.
    fast_route_ : FastRoute
        Whether a closed form took the place of fits (``taken``), and which, or why not (``reason``).
    n_features_to_select_ : int
        Columns kept.
    scores_ : ndarray of shape (n_features,)
        J of a subset with the column, as the strategy's own class defines it.
    ranking_ : ndarray of shape (n_features,)
        Place of each column, 1 for the best; the columns kept come first.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    SequentialSearch : With tolerance and rounds of any length.
    BranchAndBoundSearch : The best subset of a size, where the criterion allows it.

    References
    ----------
    .. [1] Mladenic, D. (2006). Feature selection for dimensionality reduction. In Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 84-102.

    Examples
    --------
    Two bits whose exclusive or is the class: only a search that looks at both together finds them.

    >>> import numpy as np
    >>> from fewer.select import SubsetSearch
    >>> X = np.random.default_rng(0).integers(0, 2, size=(200, 10))
    >>> y = X[:, 3] ^ X[:, 7]
    >>> SubsetSearch("conflicts", strategy="focus").fit(X, y).get_support(indices=True)
    array([3, 7])
    >>> SubsetSearch("class_entropy", strategy="forward").fit(X, y).get_support().sum() > 2
    np.True_
    """

    _parameter_constraints = {
        "objective": COMMON_CONSTRAINTS["objective"],
        "strategy": [StrOptions(set(STRATEGIES))],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "n_iter": [Interval(Integral, 1, None, closed="left"), None],
        **{name: COMMON_CONSTRAINTS[name] for name in ("cv", "random_state", "enough", "n_jobs", "checkpoint")},
    }

    def __init__(
        self,
        objective,
        strategy="forward",
        max_features=None,
        n_iter=None,
        cv=5,
        random_state=None,
        *,
        enough=None,
        n_jobs=None,
        checkpoint=None,
    ):
        self.objective = objective
        self.strategy = strategy
        self.max_features = max_features
        self.n_iter = n_iter
        self.cv = cv
        self.random_state = random_state
        self.enough = enough
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint

    def _is_random(self) -> bool:
        return self._search()._is_random()

    def _objective(self) -> Objective:
        return as_objective(self.objective, cv=self.cv, scoring=None)

    def _search(self) -> Search:
        """The search that the strategy stands for."""
        objective = self._objective()
        enough = objective.ideal if self.enough is None else self.enough
        if self.strategy == "random_mutation":
            return RandomMutationSearch(objective, max_features=self.max_features, n_iter=self.n_iter, enough=enough)
        if self.strategy == "lvf":
            return RandomSubsetSearch(objective, max_features=self.max_features, n_iter=self.n_iter, enough=enough)
        if self.strategy == "focus":
            return ExhaustiveSearch(objective, max_features=self.max_features, enough=enough)
        size = None if self.max_features is None else min(self.max_features, self.n_features_in_)
        return SequentialSearch(objective, direction=self.strategy, n_features_to_select=size, enough=enough)

    def _check(self, objective: Objective, n_columns: int) -> None:
        if self.strategy in _NEED_ENOUGH and self.enough is None and objective.ideal is None:
            raise ValueError(
                f"strategy={self.strategy!r} looks for the smallest subset that is good enough, and for "
                f"{type(objective).__name__} nobody knows what that is: say so by enough=."
            )
        self._search()._check(objective, n_columns)

    def _n_steps(self, n_columns: int) -> int | None:
        return self._search()._n_steps(n_columns)

    def _n_subsets(self, n_columns: int) -> int | None:
        return self._search()._n_subsets(n_columns)

    def _walk(self, scorer: SubsetScorer, n_columns: int, on_step: OnStep, seed: int | None) -> SearchPath:
        return self._search()._walk(scorer, n_columns, on_step, seed)

    def _kept_size(self, path: SearchPath) -> int:
        return self._search()._kept_size(path)

    def _columns(self, path: SearchPath, kept: int) -> tuple[np.ndarray, np.ndarray]:
        return self._search()._columns(path, kept)
