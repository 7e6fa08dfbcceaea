"""Support vector machines with the RBF kernel for all subsets on a path: distances grow column by column.

    K_s = exp(-gamma_s D_s),   D_s = sum_{j <= s} (x_j 1' - 1 x_j')^2  (squares of the entries),

so that the distances of all sizes cost as much as those of the largest. For classes, machines of pairs are solved on
blocks of one kernel in the steps of libsvm (``_pair_machines.py``); for numbers, libsvm reads kernels that are there
already. The solution is the one of a fit on the columns themselves, but for rounding.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from fewer.evaluate.fast import Routes, shared

# For numbers, and of many rows with few columns, libsvm computes the part of the kernel that it needs in less time than
# all of it.
_FEW_ROWS = 600
_MOST_ROWS = 3_000
# Numbers of single precision that are kept for other penalties.
_MOST_KEPT = 16_000_000
_NUMBERS = 3  # libsvm's code of the problem


def class_predictions(
    model: Any, train: np.ndarray, y: np.ndarray, test: np.ndarray, order: np.ndarray, sizes: list[int]
) -> np.ndarray | None:
    """Class of each test row for each size; None where fits take less time."""
    from sklearn.utils.class_weight import compute_class_weight

    classes, codes = np.unique(y, return_inverse=True)
    if len(train) > _MOST_ROWS or len(classes) < 2:
        return None
    # As in libsvm, machines of pairs of classes; rows in the order of their classes give them blocks of the kernel.
    by_class = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[by_class], np.arange(len(classes) + 1))
    penalties = model.C * compute_class_weight(model.class_weight, classes=classes, y=y)
    found = [
        _of_pairs(model, *kernels, starts, penalties)
        for kernels in _single_kernels(model, train, by_class, test, order, sizes)
    ]
    return classes[np.array(found)]


def _single_kernels(
    model: Any, train: np.ndarray, by_class: np.ndarray, test: np.ndarray, order: np.ndarray, sizes: list[int]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Kernels of the training rows by class, in single precision, and of the test rows with them, for each size.

    Machines with other penalties for the same rows read them again inside ``shared_work``.
    """
    from fewer.evaluate.fast._pair_machines import add_squares

    kept = shared("kernels", train, by_class, test, order, np.array(model.gamma))
    n = len(train)
    within, between = np.zeros((n, n)), np.zeros((len(test), n))
    to_come = [size for size in sizes if size not in kept]
    for start, stop in pairwise([0, *sizes]):
        if to_come and start < to_come[-1]:
            added, added_test = (
                train[by_class[:, None], order[start:stop]].T.copy(),
                test[:, order[start:stop]].T.copy(),
            )
            add_squares(added, added, False, within)
            add_squares(added_test, added, True, between)
        if stop in kept:
            yield kept[stop]
            continue
        gamma = _gamma(model.gamma, train, order[:stop])
        kernels = _single_precision(within, gamma), np.exp(-gamma * between)
        if (len(kept) + 1) * n * (n + 2 * len(test)) <= _MOST_KEPT:
            kept[stop] = kernels
        yield kernels


def _single_precision(within: np.ndarray, gamma: float) -> np.ndarray:
    """The kernel, from distances up to the blocks of the diagonal."""
    from sklearn.utils import gen_batches

    from fewer.evaluate.fast._pair_machines import BLOCK

    kernel = np.empty(within.shape, dtype=np.float32)
    for rows in gen_batches(len(within), BLOCK):
        kernel[rows, : rows.stop] = np.exp(-gamma * within[rows, : rows.stop])
        kernel[: rows.start, rows] = kernel[rows, : rows.start].T
    return kernel


def _of_pairs(
    model: Any, within: np.ndarray, between: np.ndarray, starts: np.ndarray, penalties: np.ndarray
) -> np.ndarray:
    """Place of the class of each test row."""
    from fewer._estimators import elected
    from fewer.evaluate.fast._pair_machines import pair_machines

    n_classes = len(penalties)
    weights, offsets = np.empty((len(within), n_classes - 1)), np.empty(n_classes * (n_classes - 1) // 2)
    pair_machines(within, starts, penalties, float(model.tol), bool(model.shrinking), weights, offsets)
    return elected(between, starts, weights, offsets)


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
