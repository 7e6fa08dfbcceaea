"""Random projections beside scikit-learn's where distances are kept equally well, and beside a plain copy of the table.

In the cases with a copy, the objective is the gigabytes that are read and written once: divided by the median it is the
speed in GB/s.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks import Case, Contest

LIKE = 0.3
"""What root mean squares of the changes of 1,000 distances may differ by: each is from one draw of directions."""


def dense_table(n_rows: int, n_columns: int, dtype: Any = float) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n_rows, n_columns)).astype(dtype)


def sparse_table(n_rows: int, n_columns: int) -> sparse.csr_array:
    return sparse.random_array((n_rows, n_columns), density=0.005, rng=np.random.default_rng(0), format="csr")


def change_of_distances(X: Any, projected: np.ndarray) -> float:
    """Root mean square of the relative changes of 1,000 squared distances."""
    first, second = np.random.default_rng(1).integers(X.shape[0], size=(2, 1000))
    first, second = first[first != second], second[first != second]
    rows = X[first] - X[second]
    before = np.asarray(rows.multiply(rows).sum(axis=1) if sparse.issparse(rows) else np.sum(rows**2, axis=1)).ravel()
    after = np.sum((projected[first] - projected[second]) ** 2, axis=1)
    return float(np.sqrt(np.mean((after / before - 1) ** 2)))


def fitted_and_projected(make: Callable[[], Any], n_components: int, kinds: list[str], folder: Path) -> Contest:
    """Drawing the directions, and projecting all rows."""
    X = make()

    def fewer(kind: str) -> np.ndarray:
        from fewer.extract import RandomProjection

        return RandomProjection(n_components, method=kind, random_state=0).fit_transform(X)

    def scikit_learn() -> np.ndarray:
        from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

        if kinds == ["sparse"]:
            return SparseRandomProjection(n_components, dense_output=True, random_state=0).fit_transform(X)
        return GaussianRandomProjection(n_components, random_state=0).fit_transform(X)

    return Contest(
        ours={f"fewer, {kind}": partial(fewer, kind) for kind in kinds},
        peers={"scikit-learn": scikit_learn},
        objective=partial(change_of_distances, X),
        tolerance=LIKE,
    )


def beside_a_copy(make: Callable[[], Any], n_components: int, folder: Path) -> Contest:
    """Projecting rows along directions that are there already."""
    from fewer.extract import RandomProjection

    X = make()
    stored = (X.data, X.indices, X.indptr) if isinstance(X, sparse.csr_array) else (X,)
    to_fill = [np.empty_like(array) for array in (*stored, np.empty((X.shape[0], n_components), dtype=X.dtype))]
    project = {
        spread: RandomProjection(n_components, method="sparse", n_nonzero=spread, random_state=0).fit(X)
        for spread in (1, 2)
    }

    def copy() -> None:
        for target, source in zip(to_fill, stored, strict=False):
            np.copyto(target, source)
        to_fill[-1].fill(0)  # the projection has that to write

    gigabytes = sum(array.nbytes for array in to_fill) / 1e9
    return Contest(
        ours={f"fewer, spread {spread}": partial(model.transform, X) for spread, model in project.items()},
        peers={"numpy, a copy": copy},
        objective=lambda projected: gigabytes,
        tolerance=0,
    )


WIDE = partial(dense_table, 60, 20_000)
SQUARE = partial(dense_table, 4_000, 10_000)
SINGLE = partial(dense_table, 4_000, 10_000, np.float32)
WORDS = partial(sparse_table, 5_000, 50_000)
MANY_WORDS = partial(sparse_table, 50_000, 50_000)

CASES = [
    Case("60 x 20,000 to 5,000", partial(fitted_and_projected, WIDE, 5_000, ["gaussian", "sign"])),
    Case("4,000 x 10,000 to 500", partial(fitted_and_projected, SQUARE, 500, ["gaussian", "sign"]), repeats=3),
    Case("4,000 x 10,000 to 500, few entries", partial(fitted_and_projected, SQUARE, 500, ["sparse"]), repeats=3),
    Case("sparse 5,000 x 50,000 to 500", partial(fitted_and_projected, WORDS, 500, ["gaussian", "sign"]), repeats=3),
    Case("sparse 5,000 x 50,000 to 500, few entries", partial(fitted_and_projected, WORDS, 500, ["sparse"]), repeats=3),
    Case("4,000 x 10,000 to 500, beside a copy", partial(beside_a_copy, SQUARE, 500)),
    Case("4,000 x 10,000 in single precision to 500, beside a copy", partial(beside_a_copy, SINGLE, 500)),
    Case("sparse 5,000 x 50,000 to 500, beside a copy", partial(beside_a_copy, WORDS, 500)),
    Case("sparse 50,000 x 50,000 to 500, beside a copy", partial(beside_a_copy, MANY_WORDS, 500), repeats=5),
]
