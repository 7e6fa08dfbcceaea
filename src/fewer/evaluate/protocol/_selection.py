"""Selection belongs inside of the evaluation: what chooses outside of it is refused; what a fitted search chose.

A score is unbiased only for the estimator *together with* everything that was chosen by looking at the rows: features,
hyper-parameters, thresholds. All of it has to be one estimator, so that each outer training set can choose afresh. A
selector that has been fitted already may have seen the rows that shall judge it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
    for step in _steps_of_selector(selector):
        if keeps_what_it_learnt(step):
            raise ValueError(
                f"{type(step).__name__} keeps what it learnt before, from rows that are held out here, so its scores "
                "would be too good. Pass a selector that is fitted inside every fold."
            )
        if is_fitted(step):
            raise ValueError(
                f"{type(step).__name__} has been fitted already. What it chose then may rest on rows that are held out "
                "here, and is not used: it would be fitted anew inside every fold. Pass a fresh one, "
                "sklearn.base.clone(selector), if that is what you want."
            )


def _steps_of_selector(selector: Any) -> list[Any]:
    from sklearn.pipeline import Pipeline

    if isinstance(selector, Pipeline):
        last = selector.steps[-1][1] if selector.steps else None
        if last is None or isinstance(last, str):
            raise TypeError("the last step of the pipeline passed as selector must be a selector.")
        return [inner for _, step in selector.steps if hasattr(step, "fit") for inner in _steps_of_selector(step)]
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


_REMEDY = (
    "Put everything that is chosen into one estimator, such as "
    "GridSearchCV(make_pipeline(SelectKBest(), SVC()), {'selectkbest__k': [5, 10, 20]}), and pass that."
)


def check_selection_inside(search: Any) -> None:
    """Raise, with an explanation, unless ``search`` is a predictor that makes its choices anew whenever it is fitted.

    Refused are

    - anything that is not one estimator: a class, a selector beside an estimator, a mask or list of columns;
    - an estimator that predicts nothing, such as a selector alone;
    - a part that keeps what it learnt before: ``FrozenEstimator``, ``prefit=True``, ``cv="prefit"``;
    - a selector that has been fitted while the predictor behind it has not: it was fitted outside;
    - a pipeline with a selector (other than ``VarianceThreshold``) in front of a search: the folds of the search would
      score candidates on columns that were chosen with the rows they hold out;
    - an estimator that chooses nothing: what was chosen for it was chosen outside.

    A table that was cut down beforehand looks like any other table, and cannot be refused.
    """
    if isinstance(search, type):
        raise TypeError(f"search is the class {search.__name__}; pass an instance, {search.__name__}(...).")
    if not (hasattr(search, "fit") and hasattr(search, "get_params")):
        raise TypeError(
            f"search is a {type(search).__name__}, not one estimator. A selection that is not part of the estimator "
            f"would be made outside of the folds, with the rows that shall judge it. {_REMEDY}"
        )
    if not hasattr(search, "predict"):
        raise TypeError(f"{type(search).__name__} predicts nothing, so there is nothing to score. {_REMEDY}")
    parts = list(estimators_within(search))
    for part in parts:
        _refuse_if_frozen(part)
        if is_pipeline(part):
            _refuse_selector_fitted_outside(part)
            _refuse_selector_before_search(part)
    if not any(chooses(part) for part in parts):
        raise ValueError(
            f"nothing is chosen inside {type(search).__name__}: there is no search, no selection step, and nothing "
            "that tunes itself. If features or hyper-parameters were chosen before, by looking at these rows, no score "
            f"of what is left is unbiased. {_REMEDY} If nothing was chosen at all, sklearn's cross_val_score is enough."
        )


def estimators_within(estimator: Any) -> Iterator[Any]:
    """The estimator and all estimators in its parameters, alternatives of a search included."""
    yield estimator
    for value in estimator.get_params(deep=True).values():
        for candidate in _alternatives(value):
            if hasattr(candidate, "fit") and hasattr(candidate, "get_params") and not isinstance(candidate, type):
                yield candidate


def _alternatives(value: Any) -> Iterator[Any]:
    """A parameter's value; of a grid, all the values in it."""
    yield value
    for grid in value if isinstance(value, list | tuple) else [value]:
        if isinstance(grid, Mapping):
            for options in grid.values():
                yield from options if isinstance(options, list | tuple) else []


def is_search(estimator: Any) -> bool:
    """Whether it tries candidates for the parameters of another estimator, as scikit-learn's searches do."""
    return hasattr(estimator, "estimator") and any(
        hasattr(estimator, name) for name in ("param_grid", "param_distributions", "search_spaces")
    )


def is_pipeline(estimator: Any) -> bool:
    from sklearn.pipeline import Pipeline

    return isinstance(estimator, Pipeline)


def is_selector(estimator: Any) -> bool:
    """Whether it keeps some of the columns."""
    return hasattr(estimator, "get_support")


def tunes_itself(estimator: Any) -> bool:
    """Whether fitting it chooses hyper-parameters that can be read off and frozen."""
    from fewer.learn import KernelRidgeClassifierLOO

    return isinstance(estimator, KernelRidgeClassifierLOO) and estimator.select is not None


def chooses(estimator: Any) -> bool:
    """Whether fitting it makes a choice: a search, a selection of columns, or tuning by folds of its own (``cv``)."""
    return (
        is_search(estimator) or is_selector(estimator) or tunes_itself(estimator) or "cv" in estimator.get_params(False)
    )


def _refuse_if_frozen(part: Any) -> None:
    if keeps_what_it_learnt(part):
        raise ValueError(
            f"{type(part).__name__} keeps what it learnt before, perhaps from rows that are held out here, so scores "
            f"would be too good. Pass a part that is fitted on each training set. {_REMEDY}"
        )


def _steps(pipeline: Any) -> list[tuple[str, Any]]:
    return [(name, step) for name, step in pipeline.steps if hasattr(step, "fit")]


def _refuse_selector_fitted_outside(pipeline: Any) -> None:
    steps = _steps(pipeline)
    if not steps or is_fitted(steps[-1][1]):
        return  # fitted as a whole before: it is cloned, and that is forgotten
    for name, step in steps[:-1]:
        if is_selector(step) and is_fitted(step):
            raise ValueError(
                f"the step {name!r} ({type(step).__name__}) was fitted before the pipeline was: what it chose then is "
                "not used, for it is fitted anew on each training set. Pass a fresh one, sklearn.base.clone(...), to "
                "have that, and do not cut the table down with the fitted one."
            )


def _refuse_selector_before_search(pipeline: Any) -> None:
    from sklearn.feature_selection import VarianceThreshold

    steps = _steps(pipeline)
    for position, (name, step) in enumerate(steps):
        behind = [later for _, later in steps[position + 1 :] if is_search(later)]
        # Tags are no help: by its tags, SelectKBest needs no target.
        if behind and is_selector(step) and not isinstance(step, VarianceThreshold):
            raise ValueError(
                f"the selection step {name!r} ({type(step).__name__}) sits outside of the estimator that "
                f"{type(behind[0]).__name__} searches: its folds would compare candidates on columns that were chosen "
                "with the rows they hold out. Turn it inside out: "
                f"{type(behind[0]).__name__}(make_pipeline({type(step).__name__}(...), "
                f"{type(behind[0].estimator).__name__}(...)), ...)."
            )


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
    """The estimator inside the search, unfitted, with these parameters and nothing left to tune."""
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
    """Positions of the columns that reach the estimator; None when no step selects, or new columns are made of them."""
    names = column_names(X)
    if is_search(fitted):
        fitted = fitted.best_estimator_
    if not is_pipeline(fitted) or not any(is_selector(step) for _, step in fitted.steps[:-1]):
        return None
    try:
        kept = fitted[:-1].get_feature_names_out(names)
    except (AttributeError, ValueError):
        return None  # a step from which columns cannot be traced
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


def scoring_of(search: Any, scoring: Any) -> Any:
    """The scoring to use: the one given, else the search's own, so that inner and outer scores compare."""
    if scoring is not None or not is_search(search):
        return scoring
    own = search.scoring
    if isinstance(own, str) or callable(own) or own is None:
        return own
    if not isinstance(search.refit, str):
        raise ValueError("the search has several scorings; pass the one to evaluate as scoring=...")
    return own[search.refit] if isinstance(own, dict) else search.refit


def scoring_name(scoring: Any, learner: Any) -> str:
    """What the score is called."""
    from sklearn.base import is_classifier

    if scoring is None:
        return "accuracy" if is_classifier(learner) else "r2"
    return scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
