"""One fold of a curve over the number of columns per class: rank once, learn with every number, test.

The sets of all sizes are read off one ranking of the rows held in. They are nested, so learners that can share their
work over them.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fewer.evaluate._checked_table import checked_table, columns_of, rows_of
from fewer.evaluate._fold_scores import fit_selector, fitted_learner
from fewer.evaluate._honest_selector import check_selector
from fewer.evaluate._outer_folds import Fold, outer_folds
from fewer.evaluate._path_learners import path_predictions
from fewer.evaluate._subset_path import SubsetPath
from fewer.evaluate._sustainable_result import SustainableErrorCurve
from fewer.evaluate._tasks import values_of
from fewer.learn import OVRLinearSVMCommittee
from fewer.select.per_class import argmin_smoothed_error, checked_grid, smoothed_errors

if TYPE_CHECKING:
    from fewer.evaluate._tasks import Where


class Task(NamedTuple):
    """What all folds share. ``inner_cv`` is None when the size is not chosen inside."""

    X: Any
    y: np.ndarray
    selector: Any
    learner: Any
    grid: np.ndarray
    window: int
    inner_cv: Any = None


class FoldErrors(NamedTuple):
    """Which rows held out are mistaken, (n_sizes, n_rows); columns of each size; the place chosen inside, if any."""

    wrong: np.ndarray
    n_columns: np.ndarray
    chosen: int | None


def new_task(estimator: Any, X: Any, y: Any, *, grid: Iterable[int], window: int) -> Task:
    """Table, parts of the estimator and sizes, checked."""
    if isinstance(window, bool) or not isinstance(window, int | np.integer) or window < 1:
        raise ValueError(f"window={window!r} must be a whole number, at least 1.")
    selector, learner = selector_and_learner(estimator)
    X, y, _ = checked_table(X, y, learner=learner)
    return Task(X, y, selector, learner, checked_grid(grid, X.shape[1]), int(window))


def selector_and_learner(estimator: Any) -> tuple[Any, Any]:
    """The two parts of a pipeline; steps before the selector stay with it."""
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline

    if hasattr(estimator, "as_pipeline"):
        estimator = estimator.as_pipeline()
    if not isinstance(estimator, Pipeline) or len(estimator.steps) < 2:
        raise TypeError(
            f"estimator is a {type(estimator).__name__}; pass a PUGOVRSVM, or a pipeline that ends with a selector and "
            "a classifier, such as make_pipeline(OVRSNRSelector(), OVRLinearSVMCommittee())."
        )
    for _, step in estimator.steps[:-1]:
        if not isinstance(step, str):  # "passthrough"
            check_selector(step)
    before, learner = clone(estimator).steps[:-1], estimator.steps[-1][1]
    if "n_per_class" in before[-1][1].get_params():
        before[-1][1].set_params(n_per_class=1)  # all numbers are read off the ranking, so its own does not matter
    return (before[0][1] if len(before) == 1 else Pipeline(before)), learner


def folds_of(cv: Any, X: Any, y: np.ndarray, random_state: Any) -> list[Fold]:
    """The folds; a list of (train, test) may have a single one, a fixed split."""
    from sklearn.model_selection import LeaveOneOut

    if isinstance(cv, str):
        if cv != "loo":
            raise ValueError(f"cv={cv!r} is neither 'loo', nor a number of folds, nor a splitter.")
        cv = LeaveOneOut()
    if isinstance(cv, Sequence) and len(cv) == 1:
        return [Fold(*(np.asarray(rows) for rows in cv[0]))]
    repeats = outer_folds(cv, X, y, classifier=True, n_repeats=1, groups=None, random_state=random_state)
    return [fold for folds in repeats for fold in folds]


def run_folds(folds: list[Fold], task: Task, *, engine: "Where", progress: bool) -> list[FoldErrors]:
    """What came of every fold, in their order."""
    labels = [f"fold {place}" for place in range(len(folds))]
    done = values_of(
        fold_errors,
        folds,
        task,
        engine=engine,
        progress=progress,
        description="Sustainable error",
        labels=labels,
        only_all=True,  # an error over some of the rows would pass for that of the table
    )
    return [done[place] for place in range(len(folds))]


def fold_errors(fold: Fold, task: Task) -> FoldErrors:
    """Errors of all sizes on one fold. Nothing that is fitted or chosen sees the rows held out."""
    X_train, y_train = rows_of(task.X, fold.train), task.y[fold.train]
    chosen = None
    if task.inner_cv is not None:
        cv, seed = task.inner_cv
        inside = task._replace(X=X_train, y=y_train, inner_cv=None)
        inner_folds = folds_of(cv, X_train, y_train, seed)
        found = [fold_errors(inner, inside) for inner in inner_folds]
        chosen = argmin_smoothed_error(curve_of_folds(found, inner_folds, inside).errors, task.window)
    selected, table = fit_selector(task.selector, X_train, y_train)
    n_columns = sizes_of(selected, task.grid, len(np.unique(y_train)))
    predicted = nested_set_predictions(
        task.learner, table, y_train, selected.table(rows_of(task.X, fold.test)), selected.path, n_columns
    )
    return FoldErrors(predicted != task.y[fold.test], np.array(n_columns), chosen)


def sizes_of(selected: Any, grid: np.ndarray, n_classes: int) -> list[int]:
    """Columns in all, for each number per class."""
    subset: Callable[[int], np.ndarray] | None = getattr(selected.selector, "subset", None)
    if subset is not None:
        return [len(subset(int(number))) for number in grid]
    return [min(int(number) * n_classes, selected.path.n_features) for number in grid]


def nested_set_predictions(
    learner: Any, X: Any, y: np.ndarray, X_new: Any, path: SubsetPath, n_columns: list[int]
) -> np.ndarray:
    """Predictions (sizes, new rows), by shared work where the learner allows it."""
    sizes, places = np.unique(n_columns, return_inverse=True)
    if type(learner) is OVRLinearSVMCommittee and path.order is not None:
        found = learner.nested_predictions(as_numbers(X), y, as_numbers(X_new), path.order, sizes.tolist())
        return found[places]
    shared, _ = path_predictions(learner, X, y, X_new, path, sizes.tolist())
    if shared is None:
        fits = ((fitted_learner(learner, X, y, path.columns(size)), path.columns(size)) for size in sizes.tolist())
        shared = np.stack([fit.predict(columns_of(X_new, columns)) for fit, columns in fits])
    return shared[places]


def as_numbers(X: Any) -> Any:
    """A sparse matrix as it is, anything else as an array of floating-point numbers without holes."""
    from sklearn.utils import check_array

    return check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32))


def curve_of_folds(found: list[FoldErrors], folds: list[Fold], task: Task) -> SustainableErrorCurve:
    """All rows held out together."""
    wrong = np.concatenate([fold.wrong for fold in found], axis=1)
    errors = wrong.mean(axis=1)
    return SustainableErrorCurve(
        grid=task.grid,
        errors=errors,
        sustained=smoothed_errors(errors, task.window),
        n_columns=np.mean([fold.n_columns for fold in found], axis=0),
        wrong=wrong,
        held_out=np.concatenate([fold.test for fold in folds]),
        window=task.window,
    )
