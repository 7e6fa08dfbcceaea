"""What a score of columns is: a function on clean arrays, with a card that says what it takes.

``score(X, y) -> scores`` gives one number for each column, higher for better; or one row of them for each class; or
:class:`ColumnScores`, with p-values. ``@column_score(...)`` turns a function on clean arrays into one that takes
whatever a user has (frames, sparse matrices, strings as labels), and puts it on the list of names that selectors know.

:func:`single_column_score` is the score of any estimator that sees one column only.
"""

import difflib
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from inspect import signature
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import type_of_target

from fewer._estimators import check_sample_weight, checked_array, encoded_classes, warn_caller
from fewer._lazy import module_of_name
from fewer.select._target import few_rows_of_each, fixed_splits, holds_numbers

Task = Literal["classification", "regression", "unsupervised"]

CARD = "__fewer_score__"

# What is nearest to the score functions of scikit-learn.
_IN_SCIKIT_LEARN = {
    "f_classif": "anova",
    "f_regression": "pearson",
    "r_regression": "pearson",
    "mutual_info_classif": "knn_mutual_information",
    "mutual_info_regression": "knn_mutual_information",
}


class ColumnScores(NamedTuple):
    """Scores of columns with their p-values, each of shape (n_features,) or (n_classes, n_features)."""

    scores: np.ndarray
    p_values: np.ndarray


@dataclass(frozen=True)
class Score:
    """The card of a score.

    Attributes
    ----------
    name : str
        What selectors call it: the function's name without ``_score``.
    tasks : tuple of {"classification", "regression", "unsupervised"}
        What kind of target it takes.
    sparse : bool
        Whether it takes sparse tables, without making them dense.
    p_values : bool
        Whether it comes with p-values.
    for_each_class : bool
        Whether it gives a row of scores for each class.
    not_negative : bool
        Whether tables must have no negative entry, such as counts.
    function : callable
        The function on clean arrays.
    """

    name: str
    tasks: tuple[Task, ...]
    sparse: bool
    p_values: bool
    for_each_class: bool
    not_negative: bool
    function: Callable[..., Any]

    @property
    def needs_y(self) -> bool:
        """Whether there must be a target."""
        return "unsupervised" not in self.tasks

    @property
    def weights(self) -> bool:
        """Whether rows can have weights."""
        return "sample_weight" in signature(self.function).parameters

    @property
    def random(self) -> bool:
        """Whether chance plays a part."""
        return "random_state" in signature(self.function).parameters

    def clean_target(self, y: Any) -> np.ndarray | None:
        """Classes as 0, 1, ... in sorted order, numbers as floats; refuses what the score cannot use."""
        if not self.needs_y:
            return None
        if y is None:
            raise ValueError(
                f"The score {self.name!r} compares columns with a target: it requires y to be passed, but the target y "
                "is None."
            )
        y = column_or_1d(y, warn=False)
        if "classification" in self.tasks and ("regression" not in self.tasks or not holds_numbers(y)):
            if "regression" in self.tasks:
                return encoded_classes(y, f"The score {self.name!r}").codes
            _warn_of_counts(y, self.name)
            return encoded_classes(
                y, f"The score {self.name!r}", lambda: f", or take a score for numbers ({_for_numbers()})"
            ).codes
        return _numbers(y, f"The score {self.name!r}")

    def clean_table(self, X: Any) -> Any:
        """Floating-point array, or CSC matrix where the score takes sparse tables."""
        sparse = "csc" if self.sparse else False
        taken = {"accept_sparse": sparse, "dtype": (np.float64, np.float32), "ensure_min_samples": 2}
        X = checked_array(X, f"The score {self.name!r}", **taken)
        return self.check_signs(X)

    def check_signs(self, X: Any) -> Any:
        """The table, if none of its entries is negative or that does not matter."""
        if self.not_negative and X.shape[0] and X.min() < 0:
            raise ValueError(
                f"Negative values in data passed to the score {self.name!r}, which is for counts and other columns "
                "without negative values."
            )
        return X


def _warn_of_counts(y: np.ndarray, name: str) -> None:
    """Say so where whole numbers of very many kinds are about to be taken for classes."""
    if y.dtype.kind not in "iuf" or type_of_target(y).startswith("continuous"):
        return
    n_kinds = len(np.unique(y))
    if few_rows_of_each(n_kinds, len(y)):
        warn_caller(
            f"y has {n_kinds:,} different numbers in {len(y):,} rows, and the score {name!r} takes each for a class. "
            f"If y is a quantity, take a score for numbers ({_for_numbers()})."
        )


def _for_numbers() -> str:
    return ", ".join(score_names(task="regression"))


def _numbers(y: np.ndarray, who: str) -> np.ndarray:
    """Numbers as floats; two classes count as 0 and 1."""
    if y.dtype.kind in "OUSb":
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) == 1:
            raise ValueError(f"{who} compares columns with the target, and y is {str(classes[0])!r} in every row.")
        if len(classes) == 2:
            return codes.astype(float)
        try:
            y = y.astype(float)
        except (TypeError, ValueError):
            raise ValueError(
                f"{who} compares columns with numbers (or with two classes), and y has {len(classes)} classes, "
                f"such as {str(classes[0])!r}; take a score for classes."
            ) from None
    y = y.astype(float)
    if not np.isfinite(y).all():
        raise ValueError(f"{who} needs a number for each row, and y contains NaN or infinity.")
    return y


_NAMED: dict[str, Callable[..., Any]] = {}


def column_score(
    *,
    tasks: tuple[Task, ...],
    sparse: bool = False,
    p_values: bool = False,
    for_each_class: bool = False,
    not_negative: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Write the card of the score that follows, let it take what users have, and list it under its name.

    The function itself gets clean arrays: a floating-point table (CSC if it is sparse), classes as 0, 1, ... and
    numbers as floats.

    Parameters
    ----------
    tasks : tuple of {"classification", "regression", "unsupervised"}
        What kind of target it takes. With both of the first two, it gets integers for classes and floats for numbers.
    sparse : bool, default=False
        Whether it takes sparse tables, without making them dense.
    p_values : bool, default=False
        Whether it gives :class:`ColumnScores`, with p-values.
    for_each_class : bool, default=False
        Whether it gives a row of scores for each class.
    not_negative : bool, default=False
        Whether tables must have no negative entry.

    Returns
    -------
    decorator : callable
        Returns the function that users call.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.select import SelectTop, column_score
    >>> @column_score(tasks=("unsupervised",))
    ... def spread_score(X, y):
    ...     return X.max(axis=0) - X.min(axis=0)
    >>> spread_score([[1, 5], [2, 9]])
    array([1., 4.])
    >>> SelectTop("spread", n_features_to_select=1).fit([[1, 5], [2, 9]]).get_support()
    array([False,  True])
    """

    def write_card(function: Callable[..., Any]) -> Callable[..., Any]:
        name = _name_of(function.__name__)
        card = Score(name, tuple(tasks), sparse, p_values, for_each_class, not_negative, function)

        @wraps(function)
        def take_what_users_have(X: Any, y: Any = None, **options: Any) -> Any:
            X, y = card.clean_table(X), card.clean_target(y)
            if y is not None:
                check_consistent_length(X, y)
            if options.get("sample_weight") is not None:
                weights = check_sample_weight(options["sample_weight"], X, dtype=np.float64, ensure_non_negative=True)
                used = weights > 0
                X, y, options = X[used], card.clean_target(y[used]), {**options, "sample_weight": weights[used]}
            return function(X, y, **options)

        setattr(take_what_users_have, CARD, card)
        _NAMED[name] = take_what_users_have
        return take_what_users_have

    return write_card


def score_names(*, task: Task | None = None, p_values: bool | None = None) -> list[str]:
    """Names of the scores, in alphabetical order.

    Parameters
    ----------
    task : {"classification", "regression", "unsupervised"} or None, default=None
        Only scores for this kind of target.
    p_values : bool or None, default=None
        Only scores with p-values, or only those without.

    Returns
    -------
    names : list of str
        What ``SelectTop(score_func=...)`` takes.

    Examples
    --------
    >>> from fewer.select import score_names
    >>> "fisher" in score_names(task="classification")
    True
    """
    _import_scores()
    cards = {name: getattr(function, CARD) for name, function in _NAMED.items()}
    return sorted(
        name
        for name, card in cards.items()
        if (task is None or task in card.tasks) and (p_values is None or p_values == card.p_values)
    )


def named_score(name: str) -> Callable[..., Any]:
    """The score of this name."""
    _import_scores(name)
    if name not in _NAMED:
        raise ValueError(f"There is no score {name!r}{_nearest(name)}; there are {', '.join(score_names())}.")
    return _NAMED[name]


def _name_of(function_name: str) -> str:
    """What selectors call the score with a function of this name."""
    return function_name.removesuffix("_score").removesuffix("_feature")


def _import_scores(name: str | None = None) -> None:
    """Import the module of our score of this name, all of them by default: scores are listed when they are imported."""
    for public_name, module in module_of_name(__package__).items():
        if public_name.endswith("_score") and (name is None or name == _name_of(public_name)):
            importlib.import_module(module)


def _nearest(name: str) -> str:
    """The score that was perhaps meant, in parentheses."""
    near = difflib.get_close_matches(name.lower(), _NAMED, n=1)
    meant = _IN_SCIKIT_LEARN.get(name, near[0] if near else None)
    return "" if meant is None else f" (did you mean {meant!r}?)"


def score_card(function: Any) -> Score | None:
    """The card of a score, also through ``functools.partial``; None for a function without one."""
    while isinstance(function, partial):
        function = function.func
    return getattr(function, CARD, None)


def single_column_score(
    X: Any, y: Any, *, estimator: Any, cv: Any = 5, scoring: Any = None, random_state: Any = None
) -> np.ndarray:
    """Cross-validated score of an estimator that sees one column only, for each column.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Table.
    y : ndarray of shape (n_samples,)
        Target.
    estimator : estimator
        Classifier or regressor.
    cv : int, "loo", splitter or iterable, default=5
        Folds, the same for all columns.
    scoring : str, callable or None, default=None
        Score of the folds; the estimator's own score by default.
    random_state : int, RandomState instance or None, default=None
        Shuffles the rows before they are split into folds, when ``cv`` is a number.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Mean over the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    >>> from fewer.select import single_column_score
    >>> X, y = load_iris(return_X_y=True)
    >>> single_column_score(X, y, estimator=LinearDiscriminantAnalysis()).round(3)
    array([0.733, 0.547, 0.953, 0.96 ])
    """
    from sklearn.model_selection import cross_val_score

    splits = fixed_splits(cv, X, y, classifier=is_classifier(estimator), random_state=random_state)
    return np.array(
        [
            cross_val_score(clone(estimator), X[:, [column]], y, cv=splits, scoring=scoring, error_score="raise").mean()
            for column in range(X.shape[1])
        ]
    )
