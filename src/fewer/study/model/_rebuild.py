"""The winner as Python code: a script that reads the table and fits the same pipeline with scikit-learn and fewer."""

import importlib
import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fewer.study.model._model import StudyModel
    from fewer.study.plan._plan import Plan

_INDENT = "    "
_WIDTH = 100


class _NotCodeError(ValueError):
    """A value that cannot be written as an expression."""


# Every part that takes weights of the rows gets them.
_WEIGHTED = """fit_weighted(pipeline, X, y, data.weights)"""


def winner_code(plan: "Plan", model: "StudyModel") -> str | None:
    """A script that fits the winner again.

    Parameters
    ----------
    plan : Plan
        How the table was read.
    model : StudyModel
        The fitted winner.

    Returns
    -------
    code : str or None
        It needs scikit-learn and fewer; ``pipeline`` predicts as the model does. A table that was in memory must be
        there as ``table``. None if a part of the pipeline cannot be written as code.
    """
    imports: dict[str, set[str]] = {"fewer.datasets": {"open_table"}, "fewer.study": {"study_data"}}
    if plan.weights is not None:
        imports["fewer.study"].add("fit_weighted")
    try:
        built = _expression(model.pipeline, imports, 0)
        read, used = _reading(plan.reading)
    except _NotCodeError:
        return None
    lines = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(imports.items())]
    return "\n".join(
        [
            *lines,
            "",
            f"data = study_data(open_table({read}){used})",
            "rows = data.table",
            f"X, y = rows.keep({_expression(list(model.columns), imports, 0)}).X, rows.y",
            f"pipeline = {built}",
            "pipeline.fit(X, y)" if plan.weights is None else _WEIGHTED,
            "predictions = pipeline.predict(X)",
            "",
        ]
    )


def _reading(reading: Mapping[str, Any]) -> tuple[str, str]:
    """Arguments with which the table was read, and those that say what it is used for."""
    place, target = reading.get("table"), reading.get("target")
    given = [repr(place) if place else "table", *([repr(target)] if target else [])]
    asked = {"drop": reading.get("drop"), "task": reading.get("task"), **dict(reading.get("options", {}))}
    given += [f"{name}={value!r}" for name, value in asked.items() if value and (name, value) != ("task", "auto")]
    used = [f", {name}={reading[name]!r}" for name in ("groups", "time", "weights", "keep") if reading.get(name)]
    return ", ".join(given), "".join(used)


def _expression(value: Any, imports: dict[str, set[str]], depth: int) -> str:
    """A value as Python code; what it needs is added to the imports."""
    from sklearn.base import BaseEstimator

    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float) and not np.isfinite(value):
        return f'float("{value}")'
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, list | tuple):
        parts = [_expression(each, imports, depth + 1) for each in value]
        opening, closing = "[]" if isinstance(value, list) else "()"
        return _joined(opening, parts, "," * (closing == ")" and len(parts) == 1) + closing, depth)
    if isinstance(value, Mapping):
        parts = [f"{key!r}: {_expression(each, imports, depth + 1)}" for key, each in value.items()]
        return _joined("{", parts, "}", depth)
    if isinstance(value, BaseEstimator):
        return _call(value, imports, depth)
    if inspect.isfunction(value) or inspect.isclass(value):
        return _imported(value, imports)
    raise _NotCodeError(repr(value))


def _call(estimator: Any, imports: dict[str, set[str]], depth: int) -> str:
    """How an estimator is made: its class with the parameters that are not defaults."""
    known = inspect.signature(type(estimator)).parameters
    parts = []
    for name, value in estimator.get_params(deep=False).items():
        default = known[name].default if name in known else inspect.Parameter.empty
        if value is default or (type(value) is type(default) and repr(value) == repr(default)):
            continue
        parts.append(f"{name}={_expression(value, imports, depth + 1)}")
    return _joined(f"{_imported(type(estimator), imports)}(", parts, ")", depth)


def _joined(opening: str, parts: list[str], closing: str, depth: int) -> str:
    line = f"{opening}{', '.join(parts)}{closing}"
    if len(line) + len(_INDENT) * depth <= _WIDTH and "\n" not in line:
        return line
    inside = "".join(f"\n{_INDENT * (depth + 1)}{part}," for part in parts)
    return f"{opening}{inside}\n{_INDENT * depth}{closing.removeprefix(',')}"


def _imported(thing: Any, imports: dict[str, set[str]]) -> str:
    """The name of a class or function, imported from the nearest public module that has it."""
    name, parts = thing.__name__, thing.__module__.split(".")
    public = [part for part in parts if not part.startswith("_")]
    for path in (".".join(public[:2]), ".".join(public), thing.__module__):
        if getattr(importlib.import_module(path), name, None) is thing:
            imports.setdefault(path, set()).add(name)
            return name
    raise _NotCodeError(f"{thing.__module__}.{thing.__qualname__}")
