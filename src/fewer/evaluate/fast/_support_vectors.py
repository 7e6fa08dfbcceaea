"""Support vector machines with the RBF kernel for all subsets on a path: distances grow column by column.

    K_s = exp(-gamma_s D_s),   D_s = sum_{j <= s} (x_j 1' - 1 x_j')^2  (squares of the entries),

so that the inner products of all sizes cost as much as those of the largest, and libsvm reads kernels that are there
already. Its solution is the one of a fit on the columns themselves, but for rounding.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from fewer.evaluate.fast import Routes

# Of many rows with few columns, libsvm computes the part of the kernel that it needs in less time than all of it.
_FEW_ROWS = 600
_MOST_ROWS = 3_000
_CLASSES, _NUMBERS = 0, 3  # libsvm's codes of its problems


def class_predictions(
    model: Any, train: np.ndarray, y: np.ndarray, test: np.ndarray, order: np.ndarray, sizes: list[int]
) -> np.ndarray | None:
    """Class of each test row for each size; None where fits take less time."""
    from sklearn.utils.class_weight import compute_class_weight

    classes, codes = np.unique(y, return_inverse=True)
    if not _pays(train, sizes) or len(classes) < 2:
        return None
    weights = compute_class_weight(model.class_weight, classes=classes, y=y)
    found = [
        _solved(model, *kernels, codes.astype(float), _CLASSES, weights)
        for kernels in _kernels(model, train, test, order, sizes)
    ]
    return classes[np.array(found, dtype=np.intp)]


def value_predictions(
    model: Any, train: np.ndarray, y: np.ndarray, test: np.ndarray, order: np.ndarray, sizes: list[int]
) -> np.ndarray | None:
    """Value of each test row for each size; None where fits take less time. The target may be standardised before."""
    if not _pays(train, sizes):
        return None
    machine = getattr(model, "regressor", model)
    target = y.astype(float)
    middle, width = (target.mean(), target.std() or 1.0) if machine is not model else (0.0, 1.0)
    found = [
        _solved(machine, *kernels, (target - middle) / width, _NUMBERS, np.empty(0))
        for kernels in _kernels(machine, train, test, order, sizes)
    ]
    return middle + width * np.array(found)


def _pays(train: np.ndarray, sizes: list[int]) -> bool:
    return len(train) <= min(max(_FEW_ROWS, 2 * sizes[-1]), _MOST_ROWS)


def _kernels(
    model: Any, train: np.ndarray, test: np.ndarray, order: np.ndarray, sizes: list[int]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Kernels of the training rows, and of the test rows with them, for each size."""
    within, between = np.zeros((len(train), len(train))), np.zeros((len(test), len(train)))
    for start, stop in pairwise([0, *sizes]):
        added, added_test = train[:, order[start:stop]], test[:, order[start:stop]]
        lengths, test_lengths = (added**2).sum(axis=1), (added_test**2).sum(axis=1)
        within += lengths[:, None] + lengths - 2 * added @ added.T
        between += test_lengths[:, None] + lengths - 2 * added_test @ added.T
        np.fill_diagonal(within, 0.0)
        gamma = _gamma(model.gamma, train, order[:stop])
        yield np.exp(-gamma * np.maximum(within, 0.0)), np.exp(-gamma * np.maximum(between, 0.0))


def _gamma(gamma: Any, train: np.ndarray, columns: np.ndarray) -> float:
    if gamma == "scale":
        variance = train[:, np.sort(columns)].var()
        return 1 / (len(columns) * variance) if variance != 0 else 1.0
    return 1 / len(columns) if gamma == "auto" else float(gamma)


def _solved(
    model: Any, within: np.ndarray, between: np.ndarray, y: np.ndarray, problem: int, class_weight: np.ndarray
) -> np.ndarray:
    """Predictions of libsvm."""
    from fewer._estimators import libsvm

    libsvm.set_verbosity_wrap(0)
    *solution, _, _ = libsvm.fit(
        within,
        y,
        svm_type=problem,
        kernel="precomputed",
        C=model.C,
        epsilon=getattr(model, "epsilon", 0.0),
        tol=model.tol,
        shrinking=model.shrinking,
        cache_size=model.cache_size,
        class_weight=class_weight,
        sample_weight=np.empty(0),
    )
    return libsvm.predict(between, *solution, svm_type=problem, kernel="precomputed", cache_size=model.cache_size)


ROUTES = Routes(None, class_predictions, value_predictions)
