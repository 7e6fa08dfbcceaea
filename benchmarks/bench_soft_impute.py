"""Low-rank imputation beside other imputers: seconds and error at missing entries; sparse tables by size."""

import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks import Case, Contest


def noisy_table(n_rows: int, n_columns: int, rank: int, missing: float) -> tuple[np.ndarray, np.ndarray]:
    """The truth, of low rank, and a noisy table with missing entries."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(n_rows, rank)) @ rng.normal(size=(rank, n_columns))
    return truth, np.where(rng.random(truth.shape) < missing, np.nan, truth + 2 * rng.normal(size=truth.shape))


def filling(n_rows: int, n_columns: int, rank: int, missing: float, folder: Path) -> Contest:
    """Impute a noisy table of low rank; the objective is the error at missing entries, against the truth without noise.

    Imputers have different aims, so their errors need not agree: all are let through, to be read beside their seconds.
    Nobody is told the rank.
    """
    truth, X = noisy_table(n_rows, n_columns, rank, missing)

    def fewer() -> np.ndarray:
        from fewer.complete import SoftImputeCV

        return SoftImputeCV(random_state=0).fit_transform(X)

    def neighbours() -> np.ndarray:
        from sklearn.impute import KNNImputer

        return KNNImputer().fit_transform(X)

    def chained(rounds: int) -> np.ndarray:
        from sklearn.experimental import enable_iterative_imputer  # noqa: F401  # makes the import below work
        from sklearn.impute import IterativeImputer

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # All 500 columns for each of 500 regressions, ten times, would take some 20 minutes.
            return IterativeImputer(max_iter=rounds, n_nearest_features=50, random_state=0).fit_transform(X)

    peers: dict[str, Callable] = {"scikit-learn (KNNImputer)": neighbours}
    for rounds in (2, 10):
        peers[f"scikit-learn (IterativeImputer, {rounds} rounds)"] = partial(chained, rounds)
    peers["fancyimpute (SoftImpute)"] = partial(_fancyimpute, "SoftImpute", X)
    return Contest(ours={"fewer (SoftImputeCV)": fewer}, peers=peers, objective=_error(truth, X), tolerance=100.0)


def filling_with_a_rank(n_rows: int, n_columns: int, rank: int, missing: float, folder: Path) -> Contest:
    """The same with the true rank given to all."""
    truth, X = noisy_table(n_rows, n_columns, rank, missing)

    def fewer(name: str, **options: object) -> np.ndarray:
        from fewer import complete

        return getattr(complete, name)(rank=rank, random_state=0, **options).fit_transform(X)

    ours = {
        "fewer (HardImpute)": partial(fewer, "HardImpute"),
        "fewer (OptSpace)": partial(fewer, "OptSpace"),
        # Its penalty is the variance of the noise, which a user does not know.
        "fewer (MMMF, known noise)": partial(fewer, "MMMF", alpha=4.0),
    }
    peers = {"fancyimpute (IterativeSVD)": partial(_fancyimpute, "IterativeSVD", X, rank=rank)}
    return Contest(ours=ours, peers=peers, objective=_error(truth, X), tolerance=0.1)


def _error(truth: np.ndarray, X: np.ndarray) -> Callable[[np.ndarray], float]:
    missing = np.isnan(X)
    return lambda filled: float(np.sqrt(np.mean((filled - truth)[missing] ** 2)))


def _fancyimpute(name: str, X: np.ndarray, **options: object) -> np.ndarray:
    import fancyimpute
    from sklearn.utils import check_array

    def checked(table: np.ndarray, force_all_finite: bool = True) -> np.ndarray:
        return check_array(table, ensure_all_finite=force_all_finite)

    # It asks for an argument by a name that scikit-learn 1.8 took away; without this translation it does not run.
    for module in list(sys.modules.values()):
        if module.__name__.startswith("fancyimpute.") and hasattr(module, "check_array"):
            setattr(module, "check_array", checked)  # noqa: B010  # a module of another package has no such attribute
    return getattr(fancyimpute, name)(verbose=False, **options).fit_transform(X.copy())


def sparse_table(n_rows: int, n_columns: int, n_observed: int, rank: int) -> sparse.csr_array:
    rng = np.random.default_rng(0)
    cells = np.unique(rng.integers(0, n_rows * n_columns, size=n_observed))
    rows, columns = cells // n_columns, cells % n_columns
    U, V = rng.normal(size=(n_rows, rank)), rng.normal(size=(n_columns, rank))
    values = np.einsum("ij,ij->i", U[rows], V[columns]) + np.sqrt(rank) / 10 * rng.normal(size=len(cells))
    return sparse.csr_array((values, (rows, columns)), shape=(n_rows, n_columns))


def linear_in_entries(n_observed: int, folder: Path) -> Contest:
    """Twenty sweeps or steps on a sparse table: from case to case, time should grow as the observed entries do."""
    X = sparse_table(20_000, 5_000, n_observed, 10)

    def fewer(name: str, **options: object) -> float:
        from fewer import complete

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(getattr(complete, name)(random_state=0, **options).fit(X).d_[0])

    ours = {
        "fewer (MMMF)": partial(fewer, "MMMF", rank=10, max_iter=20, tol=0),
        "fewer (OptSpace)": partial(fewer, "OptSpace", rank=10, max_iter=10, tol=0),
    }
    return Contest(ours=ours, peers=_nobody(X), objective=lambda first: 0.0, tolerance=0)


def large(folder: Path) -> Contest:
    """20,000 x 20,000 with a million entries, at two thirds of the largest penalty."""
    X = sparse_table(20_000, 20_000, 1_000_000, 5)
    alpha = float(sparse.linalg.svds(X, k=1, return_singular_vectors=False)[0]) / 1.5

    def fewer() -> float:
        from fewer.complete import SoftImpute

        return float(SoftImpute(alpha=alpha, random_state=0).fit(X).d_[0])

    return Contest(ours={"fewer": fewer}, peers=_nobody(X), objective=lambda first: 0.0, tolerance=0)


def _nobody(X: sparse.csr_array) -> dict[str, Callable]:
    """No peer takes sparse tables; scipy's SVD of the zero-filled table shows what its entries cost."""

    def scipy() -> float:
        return float(sparse.linalg.svds(X, k=10)[1][-1])

    return {"scipy": scipy}


CASES = [
    Case("2,000 x 500, half missing, rank 10", partial(filling, 2_000, 500, 10, 0.5), repeats=1),
    Case("300 x 60, 30% missing, rank 5", partial(filling, 300, 60, 5, 0.3), repeats=3),
    Case("2,000 x 500, half missing, rank 10 given", partial(filling_with_a_rank, 2_000, 500, 10, 0.5), repeats=3),
    Case("300 x 60, 30% missing, rank 5 given", partial(filling_with_a_rank, 300, 60, 5, 0.3), repeats=3),
    Case("sparse 20,000 x 20,000, 1,000,000 observed, rank 5", large, repeats=1),
    *(
        Case(f"sparse 20,000 x 5,000, {n:,} observed, rank 10", partial(linear_in_entries, n), repeats=1)
        for n in (500_000, 1_000_000, 2_000_000, 4_000_000)
    ),
]
