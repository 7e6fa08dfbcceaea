"""Predictions of a learner for every subset on a path, without a fit for each where the learner allows it.

k-NN, ridge, linear discriminant analysis and Gaussian naive Bayes share most of their work between nested subsets.
Scalers that treat each column by itself, without the target, commute with taking columns, so they are fitted once.
"""

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from fewer.evaluate._subset_path import SubsetPath

# Up to this many cells, matrix products are over before a second thread has started.
_SMALL_TABLE = 2_000_000


def path_predictions(
    learner: Any, X_train: Any, y_train: np.ndarray, X_test: Any, path: SubsetPath, sizes: list[int]
) -> np.ndarray | None:
    """Predictions (sizes, test rows), or None when the learner has to be fitted for each size.

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
    """
    scalers, model = _parts(learner)
    route = _route(model)
    if route is None or y_train.ndim != 1 or not all(_by_column(scaler) for scaler in scalers):
        return None
    train, test = _numbers(X_train), _numbers(X_test)
    if train is None or test is None:
        return None
    train, test = _scaled(scalers, train, test)
    if not (np.isfinite(train).all() and np.isfinite(test).all()):
        return None  # scikit-learn says what is wrong with it, or knows what to do
    predict, any_path = route
    if any_path:
        return predict(model, train, y_train, test, path, sizes)
    if path.order is None:
        return None
    try:
        with _threads_for(train):
            return predict(model, train, y_train, test, path.order, sizes)
    except np.linalg.LinAlgError:
        return None


def _threads_for(table: np.ndarray) -> AbstractContextManager:
    """One BLAS thread for a small table: on a busy machine, threads that wait for each other take far longer."""
    return _blas().limit(limits=1, user_api="blas") if table.size <= _SMALL_TABLE else nullcontext()


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _parts(learner: Any) -> tuple[list[Any], Any]:
    """Steps before the last of a pipeline, and the model itself."""
    from sklearn.pipeline import Pipeline

    if type(learner) is not Pipeline:
        return [], learner
    steps = [step for _, step in learner.steps]
    return [step for step in steps[:-1] if step is not None and not isinstance(step, str)], steps[-1]


def _route(model: Any) -> tuple[Any, bool] | None:
    """How this model predicts along a path, and whether subsets may be other than nested."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import Ridge, RidgeClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    from fewer.evaluate import _path_discriminant, _path_naive_bayes, _path_neighbours, _path_ridge

    # The very classes: a class derived from one of them may do anything.
    routes: dict[type, tuple[Any, Any, bool]] = {
        KNeighborsClassifier: (_path_neighbours.suits, _path_neighbours.class_predictions, True),
        KNeighborsRegressor: (_path_neighbours.suits, _path_neighbours.value_predictions, True),
        RidgeClassifier: (_path_ridge.suits, _path_ridge.class_predictions, False),
        Ridge: (_path_ridge.suits, _path_ridge.value_predictions, False),
        LinearDiscriminantAnalysis: (_path_discriminant.suits, _path_discriminant.class_predictions, False),
        GaussianNB: (_path_naive_bayes.suits, _path_naive_bayes.class_predictions, False),
    }
    suits, predict, any_path = routes.get(type(model), (None, None, False))
    return (predict, any_path) if suits is not None and suits(model) else None


def _by_column(scaler: Any) -> bool:
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    return type(scaler) in (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)


def _scaled(scalers: list[Any], train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.base import clone

    for scaler in scalers:
        fresh = clone(scaler).set_output(transform="default")
        train = fresh.fit_transform(train)
        test = fresh.transform(test)
    return train, test


def _numbers(X: Any) -> np.ndarray | None:
    """The table as float64; None when it is sparse or holds anything but numbers."""
    from scipy import sparse

    if sparse.issparse(X):
        return None
    values = X if isinstance(X, np.ndarray) else np.asarray(X)
    if values.dtype.kind not in "fiub":
        return None
    return values.astype(np.float64, copy=False)
