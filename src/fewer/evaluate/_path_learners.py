"""Predictions of a learner for every subset on a path, without a fit for each where the learner allows it.

k-NN, ridge, linear discriminant analysis and Gaussian naive Bayes share most of their work between nested subsets.
Scalers that treat each column by itself, without the target, commute with taking columns, so they are fitted once.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from fewer._estimators import (
    DISCRIMINANT,
    NAIVE_BAYES,
    NEIGHBOURS,
    RIDGE,
    ClosedForm,
    FastRoute,
    by_column,
    closed_form,
    plain_table,
)
from fewer._kernels._one_thread import one_thread
from fewer.evaluate._subset_path import SubsetPath

# Up to this many cells, matrix products are over before a second thread has started.
_SMALL_TABLE = 2_000_000


def path_predictions(
    learner: Any,
    X_train: Any,
    y_train: np.ndarray,
    X_test: Any,
    path: SubsetPath,
    sizes: list[int],
    scoring: Any = None,
) -> tuple[np.ndarray | None, FastRoute]:
    """Predictions (sizes, test rows) and where they are from, or None and why the learner has to be fitted for each.

    Parameters
    ----------
    learner : estimator
        Not fitted, and left so.
    X_train, X_test : tables
        Rows to learn from, rows to predict.
    y_train : ndarray
        Target of the rows to learn from.
    path : SubsetPath
        The subsets.
    sizes : list of int
        Sizes to predict for, increasing.
    scoring : str, callable or None, default=None
        What will be made of the predictions.
    """
    form = closed_form(learner, scoring, "path", knows_step=by_column)
    if isinstance(form, FastRoute):
        return None, form
    if y_train.ndim != 1:
        return None, FastRoute(False, "closed forms are for one target")
    any_path = form.name == NEIGHBOURS
    if path.order is None and not any_path:
        return None, FastRoute(False, f"the closed form of {form.name} is for nested subsets")
    train, test = plain_table(X_train), plain_table(X_test)
    for table in (train, test):
        if isinstance(table, FastRoute):
            return None, table
    train, test = _scaled(form.steps, train, test)
    subsets: Any = path if any_path else path.order
    try:
        with nullcontext() if any_path else _threads_for(train):
            found = _predict(form)(form.model, train, y_train, test, subsets, sizes)
    except np.linalg.LinAlgError:
        found = None
    if found is None:
        return None, FastRoute(False, f"the closed form of {form.name} does not hold on these rows")
    return found, form.route


def _threads_for(table: np.ndarray) -> AbstractContextManager:
    """One BLAS thread for a small table: on a busy machine, threads that wait for each other take far longer."""
    return one_thread("blas", when=table.size <= _SMALL_TABLE)


def _predict(form: ClosedForm) -> Callable[..., np.ndarray | None]:
    """What predicts along a path: by the path itself for neighbours, by the order of its columns for others."""
    from sklearn.base import is_classifier

    from fewer.evaluate import _path_discriminant, _path_naive_bayes, _path_neighbours, _path_ridge

    modules: dict[str, Any] = {
        NEIGHBOURS: _path_neighbours,
        RIDGE: _path_ridge,
        DISCRIMINANT: _path_discriminant,
        NAIVE_BAYES: _path_naive_bayes,
    }
    module = modules[form.name]
    return module.class_predictions if is_classifier(form.model) else module.value_predictions


def _scaled(scalers: list[Any], train: Any, test: Any) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.base import clone

    for scaler in scalers:
        fresh = clone(scaler).set_output(transform="default")
        train = fresh.fit_transform(train)
        test = fresh.transform(test)
    return train, test
