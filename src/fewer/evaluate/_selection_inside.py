"""Refusal of learners whose selection would sit outside of the evaluation.

A score is honest only for the learner *together with* everything that was chosen by looking at the rows: features,
hyper-parameters, thresholds. All of it has to be one estimator, so that each outer training set can choose afresh.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from fewer.evaluate._honest_selector import is_fitted, keeps_what_it_learnt

_REMEDY = (
    "Put everything that is chosen into one estimator, such as "
    "GridSearchCV(make_pipeline(SelectKBest(), SVC()), {'selectkbest__k': [5, 10, 20]}), and pass that."
)


def check_selection_inside(search: Any) -> None:
    """Raise, with an explanation, unless ``search`` is a predictor that makes its choices anew whenever it is fitted.

    Refused are

    - anything that is not one estimator: a class, a selector beside a learner, a mask or list of columns;
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
            f"of what is left is honest. {_REMEDY} If nothing was chosen at all, sklearn's cross_val_score is enough."
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
                "say that this is what you want, and do not cut the table down with the fitted one."
            )


def _refuse_selector_before_search(pipeline: Any) -> None:
    from sklearn.feature_selection import VarianceThreshold

    steps = _steps(pipeline)
    for position, (name, step) in enumerate(steps):
        behind = [later for _, later in steps[position + 1 :] if is_search(later)]
        # Tags do not tell: SelectKBest says that it needs no target.
        if behind and is_selector(step) and not isinstance(step, VarianceThreshold):
            raise ValueError(
                f"the selection step {name!r} ({type(step).__name__}) sits outside of the estimator that "
                f"{type(behind[0]).__name__} searches: its folds would compare candidates on columns that were chosen "
                "with the rows they hold out. Turn it inside out: "
                f"{type(behind[0]).__name__}(make_pipeline({type(step).__name__}(...), "
                f"{type(behind[0].estimator).__name__}(...)), ...)."
            )
