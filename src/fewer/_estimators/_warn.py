"""Warnings that point at the user's line, however many wrappers lie between, and that come once."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_PASSED_OVER = ("fewer", "sklearn", "contextlib", "joblib")


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the nearest line outside of fewer and scikit-learn."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PASSED_OVER:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def each_warning_once() -> Iterator[None]:
    """Of equal warnings inside, which many fits may raise, one; at the end, and before an error, too.

    Serves as a decorator as well.
    """
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            yield
    finally:
        for category, text in dict.fromkeys((warning.category, str(warning.message)) for warning in caught):
            warn_caller(text, category)
