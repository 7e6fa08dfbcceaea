"""Warnings that point at the user's line, however many wrappers lie between."""

import sys
import warnings

_PASSED_OVER = ("fewer", "sklearn", "contextlib", "joblib")


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the nearest line outside of fewer and scikit-learn."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PASSED_OVER:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
