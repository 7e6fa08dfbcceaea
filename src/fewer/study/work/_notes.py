"""What the fits of a study warn of: kept with the work as plain data, whichever process did it."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import warn_caller

_KINDS: dict[str, type[Warning]] = {
    kind.__name__: kind for kind in (ConvergenceWarning, UserWarning, RuntimeWarning, FutureWarning)
}
# Python hides them from users as well: they are for those who wrote the code.
_FOR_PROGRAMMERS = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)

# Category and text of a warning.
Note = list[str]


@contextmanager
def quiet_about_rare_classes() -> Iterator[None]:
    """Without the warning that a class has fewer rows than inner folds, for it is among the cautions of a study."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class in y")
        yield


@contextmanager
def noted() -> Iterator[list[Note]]:
    """The warnings raised inside, each once, in the list that is given; it is filled at the end.

    The filters of the process have no say, so that a task has the same notes wherever it runs.
    """
    notes: list[Note] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for kind in _FOR_PROGRAMMERS:
            warnings.simplefilter("ignore", kind)
        with quiet_about_rare_classes():
            yield notes
    notes += each_once([_kind(warning.category), str(warning.message)] for warning in caught)


def each_once(notes: Iterable[Note]) -> list[Note]:
    """Without those that were there before."""
    return [list(note) for note in dict.fromkeys((kind, text) for kind, text in notes)]


def warn_again(payloads: Iterable[dict[str, Any]]) -> None:
    """Warn of what finished work has noted."""
    for kind, text in each_once(note for payload in payloads for note in payload.get("notes", [])):
        warn_caller(text, _KINDS[kind])


def _kind(category: type[Warning]) -> str:
    """The nearest of the kinds that can be written down."""
    return next((each.__name__ for each in category.__mro__ if each.__name__ in _KINDS), UserWarning.__name__)
