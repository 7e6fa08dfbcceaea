"""What a fitted search chose, and the same learner with that choice frozen."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fewer.evaluate._selection_inside import is_pipeline, is_search, is_selector, tunes_itself


def chosen_parameters(fitted: Any) -> dict[str, Any]:
    """Parameters that fitting chose, by the names under which ``frozen`` sets them; empty when it chose none."""
    if is_search(fitted):
        return dict(fitted.best_params_)
    if is_pipeline(fitted):
        return {
            f"{name}__{parameter}": value
            for name, step in fitted.steps
            if tunes_itself(step)
            for parameter, value in step.hyperparameters_.items()
        }
    return dict(fitted.hyperparameters_) if tunes_itself(fitted) else {}


def frozen(search: Any, parameters: Mapping[str, Any]) -> Any:
    """The learner inside the search, unfitted, with these parameters and nothing left to tune."""
    from sklearn.base import clone

    fresh = {name: clone(value, safe=False) for name, value in parameters.items()}
    if is_search(search):
        return clone(search.estimator).set_params(**fresh)
    learner = clone(search)
    if is_pipeline(search):
        fresh |= {f"{name}__select": None for name, step in search.steps if tunes_itself(step)}
    elif tunes_itself(search):
        fresh["select"] = None
    return learner.set_params(**fresh)


def median_parameters(choices: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The middle of several choices, parameter by parameter.

    Positive numbers that are not whole are taken on the log scale, whole numbers are rounded, and of anything else the
    most frequent is taken. Choices from different parts of a search space have different parameters: then the middle is
    that of the most frequent part.
    """
    names = Counter(tuple(sorted(choice)) for choice in choices).most_common(1)[0][0]
    alike = [choice for choice in choices if tuple(sorted(choice)) == names]
    return {name: _middle([choice[name] for choice in alike]) for name in names}


def _middle(values: list[Any]) -> Any:
    arrays = [np.asarray(value) for value in values]
    if any(array.dtype.kind not in "iuf" for array in arrays):
        shown = [repr(value) for value in values]
        return values[shown.index(Counter(shown).most_common(1)[0][0])]
    stacked = np.stack(arrays)
    if stacked.dtype.kind != "f":
        middle = np.rint(np.median(stacked, axis=0)).astype(stacked.dtype)
    elif (stacked > 0).all():
        middle = np.exp(np.median(np.log(stacked), axis=0))
    else:
        middle = np.median(stacked, axis=0)
    return middle.item() if middle.ndim == 0 else middle


def criterion_reached(fitted: Any) -> float:
    """The score that the search thinks it reached; NaN when it keeps none."""
    return float(getattr(fitted, "best_score_", np.nan)) if is_search(fitted) else np.nan


def selected_columns(fitted: Any, X: Any) -> np.ndarray | None:
    """Positions of the columns that reach the learner; None when no step selects, or new columns are made of them."""
    names = column_names(X)
    if is_search(fitted):
        fitted = fitted.best_estimator_
    if not is_pipeline(fitted) or not any(is_selector(step) for _, step in fitted.steps[:-1]):
        return None
    try:
        kept = fitted[:-1].get_feature_names_out(names)
    except (AttributeError, ValueError):
        return None  # a step that does not say what becomes of the columns
    positions = {name: position for position, name in enumerate(names)}
    if not all(name in positions for name in kept):
        return None
    return np.array([positions[name] for name in kept], dtype=np.intp)


def column_names(X: Any) -> np.ndarray:
    """Names of the columns; x0, x1, ... where they have none."""
    from fewer._estimators import get_feature_names

    names = get_feature_names(X)
    return np.array([f"x{number}" for number in range(X.shape[1])], dtype=object) if names is None else names


def without_selection(search: Any) -> Any:
    """The search with its selection steps taken out, for columns that are chosen already; None when it has none."""
    from sklearn.base import clone

    searched = is_search(search)
    pipeline = search.estimator if searched else search
    if not is_pipeline(pipeline):
        return None
    selecting = [name for name, step in pipeline.steps[:-1] if is_selector(step)]
    if not selecting:
        return None
    rest = clone(pipeline).set_params(**dict.fromkeys(selecting, "passthrough"))
    if not searched:
        return rest
    space = next(name for name in ("param_grid", "param_distributions", "search_spaces") if hasattr(search, name))
    given = getattr(search, space)
    grids = [given] if isinstance(given, Mapping) else list(given)
    left = [{name: options for name, options in grid.items() if name.split("__")[0] not in selecting} for grid in grids]
    left = [grid for grid in left if grid]
    if not left:
        return rest
    return clone(search).set_params(estimator=rest, **{space: left[0] if len(left) == 1 else left})
