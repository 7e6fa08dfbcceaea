"""scikit-learn's private names: a new release that moves one of them breaks this file and no other.

Each is imported when it is first asked for. `fit_steps` reports the steps of a fit to scikit-learn's callbacks.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from sklearn.base import _fit_context as fit_context
    from sklearn.linear_model._base import LinearClassifierMixin, LinearModel, SparseCoefMixin
    from sklearn.model_selection._split import GroupsConsumerMixin
    from sklearn.model_selection._split import _CVIterableWrapper as CVIterableWrapper
    from sklearn.svm import _libsvm as libsvm
    from sklearn.tree._classes import CRITERIA_CLF, CRITERIA_REG, DENSE_SPLITTERS
    from sklearn.tree._tree import DepthFirstTreeBuilder, Tree
    from sklearn.utils import _safe_indexing as safe_indexing
    from sklearn.utils._dataframe import is_pandas_df
    from sklearn.utils._indexing import _get_column_indices as get_column_indices
    from sklearn.utils._metadata_requests import _raise_for_params as raise_for_params
    from sklearn.utils._metadata_requests import _routing_enabled as routing_enabled
    from sklearn.utils._param_validation import HasMethods, Interval, MissingValues, StrOptions, validate_params
    from sklearn.utils.extmath import _randomized_eigsh as randomized_eigsh
    from sklearn.utils.metaestimators import _safe_split as safe_split
    from sklearn.utils.multiclass import _check_partial_fit_first_call as check_partial_fit_first_call
    from sklearn.utils.validation import _check_feature_names as check_feature_names
    from sklearn.utils.validation import _check_feature_names_in as check_feature_names_in
    from sklearn.utils.validation import _check_sample_weight as check_sample_weight
    from sklearn.utils.validation import _check_y as check_y
    from sklearn.utils.validation import _get_feature_names as get_feature_names

__all__ = [
    "CRITERIA_CLF",
    "CRITERIA_REG",
    "DENSE_SPLITTERS",
    "CVIterableWrapper",
    "DepthFirstTreeBuilder",
    "GroupsConsumerMixin",
    "HasMethods",
    "Interval",
    "LinearClassifierMixin",
    "LinearModel",
    "MissingValues",
    "SparseCoefMixin",
    "StrOptions",
    "Tree",
    "check_feature_names",
    "check_feature_names_in",
    "check_partial_fit_first_call",
    "check_sample_weight",
    "check_y",
    "fit_context",
    "get_column_indices",
    "get_feature_names",
    "is_pandas_df",
    "libsvm",
    "raise_for_params",
    "randomized_eigsh",
    "routing_enabled",
    "safe_indexing",
    "safe_split",
    "validate_params",
]

__getattr__, __dir__ = lazy_names(__name__)

Attributes = Callable[..., dict[str, Any]]


class Steps:
    """The steps of a fit, for scikit-learn's callbacks."""

    def __init__(self, estimator: Any, X: Any, y: Any, n_steps: int | None) -> None:
        self._rows: dict[str, Any] = {"estimator": estimator, "X": X, "y": y}
        self._fitting = estimator._init_callback_context(max_subtasks=n_steps)
        self._notes: list[Any] = []
        # Telling nobody takes a fifth of a millisecond, more than many a step.
        self._watched = bool(getattr(estimator, "_skl_callbacks", None))
        self._fitting.call_on_fit_task_begin(**self._rows)

    def __call__(self, name: str, attributes: Attributes | None = None) -> bool:
        """To be called after each step; returns whether a callback says stop."""
        if not self._watched:
            return False
        step = self._fitting.subcontext(task_name=name)
        step.call_on_fit_task_begin(**self._rows)
        return step.call_on_fit_task_end(**self._rows, reconstruction_attributes=attributes)

    def note(self, words: str) -> None:
        """Show some words as a line of their own in the progress display, until the fit ends."""
        if self._watched:
            if self._fitting.max_subtasks is not None:
                self._fitting.max_subtasks += 1  # the note is no step
            self._notes.append(self._fitting.subcontext(task_name=words, max_subtasks=None))
            self._notes[-1].call_on_fit_task_begin(**self._rows)

    def end(self) -> None:
        """The fit is over."""
        for context in (*self._notes, self._fitting):
            context.call_on_fit_task_end(**self._rows)


@contextmanager
def fit_steps(estimator: Any, X: Any, y: Any = None, *, n_steps: int | None = None) -> Iterator[Steps]:
    """Gives a function to call after each step of a fit, with its name; it returns whether a callback says stop.

    The second argument makes the attributes that the estimator would have if the fit ended here; None where that is
    not known. All attributes must be set before the block ends. ``n_steps`` is how many there will be, if that is
    known.
    """
    steps = Steps(estimator, X, y, n_steps)
    yield steps
    steps.end()
