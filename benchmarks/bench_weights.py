"""Direct variance weights, beside ARPACK on the matrix of squared correlations and on products without it.

With ``--memory`` the last case shows what 100 rows x 100,000 columns take: the matrix would be 80 GB.
"""

from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import Case, Contest


def unit_columns(X: np.ndarray) -> np.ndarray:
    centred = X - X.mean(axis=0)
    centred /= np.linalg.norm(centred, axis=0)
    return centred


def direct_weights(n_rows: int, n_columns: int, with_matrix: bool, dtype: type, folder: Path) -> Contest:
    """The weights of all columns."""
    from fewer.datasets import make_permuted_clusters

    X = make_permuted_clusters(n_rows, n_columns, n_columns // 100, random_state=0).X.astype(dtype)

    def fewer() -> np.ndarray:
        from fewer.select import VarianceWeightSelector

        return VarianceWeightSelector().fit(X).weights_

    def scipy_with_matrix() -> np.ndarray:
        from scipy.sparse.linalg import eigsh

        columns = unit_columns(X)
        return np.abs(eigsh((columns.T @ columns) ** 2, 1, which="LA", v0=np.ones(n_columns))[1][:, 0])

    def scipy_by_products() -> np.ndarray:
        from scipy.sparse.linalg import LinearOperator, eigsh

        columns = unit_columns(X)

        def product(vector: np.ndarray) -> np.ndarray:
            gram = (columns * vector.ravel()) @ columns.T
            return np.einsum("ij,ij->j", columns, gram @ columns)

        operator = LinearOperator((n_columns, n_columns), product, dtype=X.dtype)
        return np.abs(eigsh(operator, 1, which="LA", v0=np.ones(n_columns, dtype=X.dtype))[1][:, 0])

    peers = {"scipy, with the matrix": scipy_with_matrix} if with_matrix else {}
    if n_columns > n_rows:
        peers["scipy, by products"] = scipy_by_products
    return Contest(
        ours={"fewer": fewer},
        peers=peers,
        objective=lambda weights: np.asarray(weights, dtype=float),
        tolerance=1e-6 if dtype == np.float64 else 1e-3,
    )


CASES = [
    Case("100 rows x 2,000 columns", partial(direct_weights, 100, 2_000, True, np.float64)),
    Case("100 rows x 8,000 columns", partial(direct_weights, 100, 8_000, True, np.float64), repeats=3),
    Case("200,000 rows x 50 columns", partial(direct_weights, 200_000, 50, True, np.float64), repeats=3),
    Case("100 rows x 20,000 columns", partial(direct_weights, 100, 20_000, False, np.float64), repeats=3),
    Case("100 rows x 100,000 columns", partial(direct_weights, 100, 100_000, False, np.float64), repeats=3),
    Case("the same in single precision", partial(direct_weights, 100, 100_000, False, np.float32), repeats=3),
]
