"""Closed form of ridge whose penalty is chosen by leave-one-out, for all subsets on a path.

With centred columns X of a subset, ``X'X = V diag(v) V'`` and ``Z = X V``, the fit with penalty a has the values
``Z diag(1 / (v + a)) Z'y``, and the row i left out the error

    e_i(a) = (y_i - fitted_i) / (1 - 1/n - sum_j Z_ij^2 / (v_j + a)),

so that one decomposition serves all penalties (Golub, Heath and Wahba 1979). That of ``X'X`` is taken of its leading
block. With more columns than rows, the inner products of rows ``K = Q diag(k) Q'`` grow column by column instead, and
``e(a) = M y / diag(M)`` with ``M = Q diag(a / (k + a)) Q' - 11'/n``. Weights multiply rows by their roots.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from fewer.evaluate.fast import Routes
from fewer.evaluate.fast._ridge import CentredPath, paths_of


def _predictions(model: Any, path: CentredPath, test: np.ndarray, sizes: list[int]) -> np.ndarray:
    """Predictions (sizes, test rows, targets)."""
    alphas = np.atleast_1d(np.asarray(model.alphas, dtype=float))
    root = path.root[:, 0] / np.linalg.norm(path.root) if model.fit_intercept else np.zeros(len(path.root))
    found: list[np.ndarray] = []
    narrow, wide = path.narrow_and_wide(sizes)
    if narrow:
        found += _from_columns(path, test, narrow, alphas, root)
    if wide:
        found += _from_rows(path, test, wide, alphas, root)
    return np.stack(found) + path.offset


def _from_columns(
    path: CentredPath, test: np.ndarray, sizes: list[int], alphas: np.ndarray, root: np.ndarray
) -> Iterator[np.ndarray]:
    products, with_targets = path.products_with_targets(sizes[-1])
    rows, test_rows = path.training_rows(sizes[-1]), path.leading(test, sizes[-1])
    for size in sizes:
        values, vectors = np.linalg.eigh(products[:size, :size])
        shrink = 1 / (np.maximum(values, 0.0)[:, None] + alphas)  # (columns, penalties)
        scores = rows[:, :size] @ vectors
        fits = np.einsum("ca,ct->act", shrink, vectors.T @ with_targets[:size])
        left = path.targets - np.matmul(scores, fits)  # (penalties, rows, targets)
        kept = 1 - root[:, None] ** 2 - scores**2 @ shrink
        best = _best(left / kept.T[:, :, None])
        yield test_rows[:, :size] @ (vectors @ fits[best])


def _from_rows(
    path: CentredPath, test: np.ndarray, sizes: list[int], alphas: np.ndarray, root: np.ndarray
) -> Iterator[np.ndarray]:
    rows, test_rows = path.training_rows(sizes[-1]), path.leading(test, sizes[-1])
    products, test_products = np.zeros((len(rows), len(rows))), np.zeros((len(test), len(rows)))
    for start, stop in pairwise([0, *sizes]):
        added = rows[:, start:stop]
        products += added @ added.T
        test_products += test_rows[:, start:stop] @ added.T
        values, vectors = np.linalg.eigh(products)
        shares = alphas / (np.maximum(values, 0.0)[:, None] + alphas)  # (rows, penalties)
        with_targets = vectors.T @ path.targets
        left = np.matmul(vectors, np.einsum("ra,rt->art", shares, with_targets))
        kept = vectors**2 @ shares - root[:, None] ** 2
        best = _best(left / kept.T[:, :, None])
        yield test_products @ (left[best] / alphas[best])


def _best(errors: np.ndarray) -> int:
    """The penalty with the smallest mean square of the errors (penalties, rows, targets); the first one of equals."""
    return int(np.argmin(np.mean(errors**2, axis=(1, 2))))


ROUTES = Routes(None, *paths_of(_predictions))
