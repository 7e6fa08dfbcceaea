"""Sequential searches as a selector; the searches themselves are in ``_sequential.py``."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from fewer.catalogue import method
from fewer.select.objectives._cross_validated_score import CrossValidatedScore
from fewer.select.objectives._nearest_neighbour import NearestNeighbourObjective
from fewer.select.objectives._objective import FunctionObjective, Objective
from fewer.select.searches._sequential import SearchPath, chosen_size, column_ranking, column_scores, sequential_path


def as_objective(objective: Any, *, cv: Any, scoring: Any) -> Objective:
    """An objective from what a user may give: one already, an estimator, or a function ``(X, y) -> float``."""
    if isinstance(objective, Objective):
        return objective
    if hasattr(objective, "fit"):
        return CrossValidatedScore(objective, cv=cv, scoring=scoring)
    return FunctionObjective(objective)


@method(
    tasks=["classification", "regression"],
    when="Columns are useful together rather than each by itself, and a good objective for a whole subset is known: "
    "typically the cross-validated score of the learner that will use them. The scores of the path are optimistic; "
    "evaluate the whole search inside an outer cross-validation.",
    cost="k (p - k / 2) evaluations of the objective forward, about twice that or more for the floating searches; with "
    "nearest neighbours O(n^2) for each.",
    paper="slides",
    examples=lambda: [SequentialSearch(NearestNeighbourObjective(), n_features_to_select=2)],
)
class SequentialSearch(CallbackSupportMixin, SelectorMixin, BaseEstimator):
    """Search for the columns that are best together, one column at a time.

    Forward, the search starts with no column and adds the one that gives the highest objective J, again and again.
    Backward, it starts with all and removes. The floating searches also go back: after each step they undo earlier
    ones, as long as that gives a subset better than the best known one of its size.

    J of the chosen subset is optimistic, because the same rows chose it. For an honest figure, put the whole search
    inside a cross-validation.

    Parameters
    ----------
    objective : estimator, objective or callable
        What to maximise: the cross-validated score of an estimator, on one set of folds for the whole search; an
        objective such as :class:`NearestNeighbourObjective`; or a function ``(X, y) -> float``, given the columns of a
        subset.
    direction : {"forward", "backward", "floating", "floating_backward"}, default="forward"
        Where the search starts, and whether it goes back. Forward suits small subsets, backward large ones.
    n_features_to_select : int or None, default=None
        Columns to keep. None searches the whole path, and keeps the subset with the highest J (of equals the smallest).
    cv : int, "loo", splitter or iterable, default=5
        Folds, when ``objective`` is an estimator; an objective brings its own.
    scoring : str, callable or None, default=None
        What the folds are scored by, when ``objective`` is an estimator; its own score by default.
    tol : float or None, default=None
        Stop as soon as a step gains less than this in J. Backward, it may be negative: how much a removal may cost.
    n_jobs : int or None, default=None
        How many candidates of a step are tried side by side. It never changes the result.
    random_state : int, RandomState instance or None, default=None
        Shuffles the rows before they are dealt into folds, when ``cv`` is a number. None leaves them in their order.

    Attributes
    ----------
    subset_path_ : dict of int to tuple of int
        For every size that the search has reached, the columns of the best subset found. Nested for forward and
        backward searches, not always for floating ones.
    path_scores_ : dict of int to float
        J of these subsets.
    history_ : list of SearchStep
        Every step: what was done, to which column, the size and J afterwards.
    n_evaluations_ : int
        How many subsets were scored.
    n_features_to_select_ : int
        Columns kept.
    scores_ : ndarray of shape (n_features,)
        J of the smallest subset of the path that holds the column; where none does, of the last subset tried with it.
    ranking_ : ndarray of shape (n_features,)
        Place of each column, 1 for the best: the order of entry, or of removal backwards. For floating searches the
        columns kept come first, then those that are in more subsets of the path. Columns that never entered (or never
        left) are ranked by their last trial.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    NearestNeighbourObjective : Nearest neighbours, updated column by column.
    CrossValidatedScore : Any estimator.
    ExhaustiveSearch : Every subset of a size.

    Notes
    -----
    Of columns with the same J, the one with the lowest index is taken.

    A forward search for k of p columns scores ``p + (p - 1) + ... + (p - k + 1)`` subsets; a backward one the full set,
    and ``p + (p - 1) + ... + (k + 1)`` others.

    References
    ----------
    .. [1] Pudil, P., Novovicova, J. and Kittler, J. (1994). Floating search methods in feature selection. Pattern
       Recognition Letters 15, 1119-1125.
    .. [2] Somol, P., Pudil, P., Novovicova, J. and Paclik, P. (1999). Adaptive floating search methods in feature
       selection. Pattern Recognition Letters 20, 1157-1163.

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

    _parameter_constraints = {
        "objective": [HasMethods(["start"]), HasMethods(["fit"]), callable],
        "direction": [StrOptions({"forward", "backward", "floating", "floating_backward"})],
        "n_features_to_select": [Interval(Integral, 1, None, closed="left"), None],
        "cv": ["cv_object", StrOptions({"loo"})],
        "scoring": [str, callable, None],
        "tol": [Interval(Real, None, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
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
        n_jobs=None,
        random_state=None,
    ):
        self.objective = objective
        self.direction = direction
        self.n_features_to_select = n_features_to_select
        self.cv = cv
        self.scoring = scoring
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Search the columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table; sparse, or with holes, if the objective takes that.
        y : array-like of shape (n_samples,), default=None
            Target, as the objective needs it.

        Returns
        -------
        self : object
            The fitted selector.
        """
        objective = as_objective(self.objective, cv=self.cv, scoring=self.scoring)
        X, y = validated(self, objective, X, y)
        n_columns = X.shape[1]
        forward = self.direction in ("forward", "floating")
        size = self.n_features_to_select
        if size is not None and size > n_columns:
            raise ValueError(
                f"n_features_to_select={size} columns cannot be kept of a table with n_features={n_columns}."
            )
        goal = size if size is not None else (n_columns if forward else 1)
        known_length = None if self.direction.startswith("floating") else abs(goal - (0 if forward else n_columns))
        fitting = self._init_callback_context(max_subtasks=known_length)
        fitting.call_on_fit_task_begin(estimator=self, X=X, y=y)

        def on_step(path):
            step = fitting.subcontext(task_name=f"{path.history[-1].action}-column")
            step.call_on_fit_task_begin(estimator=self, X=X, y=y)
            return step.call_on_fit_task_end(
                estimator=self, X=X, y=y, reconstruction_attributes=lambda: self._attributes(path)
            )

        with objective.start(X, y, n_jobs=self.n_jobs, random_state=self.random_state) as scorer:
            path = sequential_path(
                scorer, n_columns, direction=self.direction, size=goal, tol=self.tol, on_step=on_step
            )
        for name, value in self._attributes(path).items():
            setattr(self, name, value)
        fitting.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _attributes(self, path: SearchPath) -> dict[str, Any]:
        """What the path says, as the attributes of a fitted selector."""
        kept = chosen_size(path, direction=self.direction, size=self.n_features_to_select, tol=self.tol)
        return {
            "subset_path_": {size: path.subsets[size] for size in sorted(path.subsets)},
            "path_scores_": {size: path.scores[size] for size in sorted(path.scores)},
            "history_": list(path.history),
            "n_evaluations_": path.n_evaluations,
            "n_features_to_select_": kept,
            "scores_": column_scores(path),
            "ranking_": column_ranking(path, path.subsets[kept], direction=self.direction),
        }

    def _get_support_mask(self):
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[list(self.subset_path_[self.n_features_to_select_])] = True
        return mask

    def __sklearn_tags__(self):
        return objective_tags(
            super().__sklearn_tags__(), as_objective(self.objective, cv=self.cv, scoring=self.scoring)
        )


def validated(selector: BaseEstimator, objective: Objective, X: Any, y: Any) -> tuple[Any, Any]:
    """X and y, checked for what the objective takes."""
    taken: dict[str, Any] = {
        "accept_sparse": ("csc", "csr") if objective.takes_sparse else False,
        "ensure_all_finite": "allow-nan" if objective.takes_nan else True,
    }
    if y is None and not objective.needs_y:
        X = validate_data(selector, X, **taken)
    else:
        X, y = validate_data(selector, X, y, **taken)
    return X, y


def objective_tags(tags: Any, objective: Objective) -> Any:
    """The selector's tags, with what its objective takes."""
    tags.input_tags.sparse = objective.takes_sparse
    tags.input_tags.allow_nan = objective.takes_nan
    tags.target_tags.required = objective.needs_y
    return tags
