"""Refusal of selectors that have seen the rows that shall judge them."""

from typing import Any

import numpy as np


def check_selector(selector: Any) -> None:
    """Raise, with an explanation, for anything but a selector that is yet to be fitted inside the folds.

    Parameters
    ----------
    selector : object
        What was passed as a selector.
    """
    if isinstance(selector, type):
        raise TypeError(f"selector is the class {selector.__name__}; pass an instance, {selector.__name__}(...).")
    if isinstance(selector, np.ndarray | list | tuple | set | dict | str | slice) or not hasattr(selector, "fit"):
        raise TypeError(
            f"selector is {_in_short(selector)}. Columns that were chosen before the folds were made have seen the "
            "held-out rows, and their scores would be too good. Pass the selector itself, such as SelectKBest(), and "
            "it is fitted inside every fold, on the rows held in."
        )
    for step in _steps(selector):
        if keeps_what_it_learnt(step):
            raise ValueError(
                f"{type(step).__name__} keeps what it learnt before, from rows that are held out here, so its scores "
                "would be too good. Pass a selector that is fitted inside every fold."
            )
        if is_fitted(step):
            raise ValueError(
                f"{type(step).__name__} has been fitted already. What it chose then may rest on rows that are held out "
                "here, and is not used: it would be fitted anew inside every fold. Pass a fresh one, "
                "sklearn.base.clone(selector), to say that this is what you want."
            )


def _steps(selector: Any) -> list[Any]:
    from sklearn.pipeline import Pipeline

    if isinstance(selector, Pipeline):
        last = selector.steps[-1][1] if selector.steps else None
        if last is None or isinstance(last, str):
            raise TypeError("the last step of the pipeline passed as selector must be a selector.")
        return [inner for _, step in selector.steps if hasattr(step, "fit") for inner in _steps(step)]
    return [selector]


def keeps_what_it_learnt(step: Any) -> bool:
    """Whether fitting it again changes nothing."""
    from sklearn.frozen import FrozenEstimator

    return (
        isinstance(step, FrozenEstimator)
        or getattr(step, "prefit", False) is True
        or str(getattr(step, "cv", None)) == "prefit"
    )


def is_fitted(step: Any) -> bool:
    """Whether it has learnt something, by the attributes that ``fit`` leaves."""
    return any(name.endswith("_") and not name.startswith("_") for name in vars(step))


def _in_short(selector: Any) -> str:
    if isinstance(selector, np.ndarray):
        return f"an array of shape {selector.shape}"
    return f"a {type(selector).__name__}"
