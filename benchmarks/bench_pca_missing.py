"""PCA of tables with missing values, beside other packages: time until the same error at hidden entries is reached."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks import Case, Contest


def incomplete_table(n_rows: int, n_columns: int, rank: int, missing: float) -> tuple[np.ndarray, np.ndarray]:
    """A whole table of low rank with noise, and the same with missing entries."""
    rng = np.random.default_rng(0)
    whole = rng.normal(size=(n_rows, rank)) @ rng.normal(size=(rank, n_columns)) + rng.normal(size=(n_rows, n_columns))
    return whole, np.where(rng.random(whole.shape) < missing, np.nan, whole)


def filling(n_rows: int, n_columns: int, rank: int, missing: float, slow_peers: bool, folder: Path) -> Contest:
    """Impute; what counts is the error at missing entries, and all must reach the same within 10%."""
    whole, X = incomplete_table(n_rows, n_columns, rank, missing)
    missing_entries = np.isnan(X)

    def error(filled: np.ndarray) -> float:
        return float(np.sqrt(np.mean((filled - whole)[missing_entries] ** 2)))

    def fewer(method: str) -> np.ndarray:
        from fewer.complete import PCAMissing

        return PCAMissing(rank, method=method, random_state=0).fit_transform(X)

    def vbpca() -> np.ndarray:
        from vbpca_py import VBPCA

        model = VBPCA(rank, random_state=0, num_cpu=1, return_diagnostics=False).fit(X)
        return model.inverse_transform(model.scores_)

    def ppca() -> np.ndarray:
        from ppca import PPCA

        model = PPCA()
        np.random.seed(0)  # noqa: NPY002  # it draws from the global generator
        model.fit(X.copy(), d=rank)
        return model.data * model.stds + model.means

    def bayespy() -> np.ndarray:
        from bayespy.inference import VB
        from bayespy.nodes import Add, Gamma, GaussianARD, SumMultiply

        scores = GaussianARD(0, 1, plates=(n_rows, 1), shape=(rank,))
        relevance = Gamma(1e-3, 1e-3, plates=(rank,))
        loadings = GaussianARD(0, relevance, plates=(1, n_columns), shape=(rank,))
        noise = Gamma(1e-3, 1e-3)
        mean = GaussianARD(0, 1e-3, plates=(1, n_columns))
        table = GaussianARD(Add(SumMultiply("i,i", scores, loadings), mean), noise)
        table.observe(np.where(missing_entries, 0, X), mask=~missing_entries)
        loadings.initialize_from_random()
        VB(table, scores, loadings, relevance, noise, mean).update(repeat=100, tol=1e-5, verbose=False)
        return scores.get_moments()[0][:, 0] @ loadings.get_moments()[0][0].T + mean.get_moments()[0]

    peers: dict[str, Callable] = {"vbpca-py": vbpca, "ppca": ppca}
    if slow_peers:
        peers["bayespy"] = bayespy
    ours = {"fewer (vb)": partial(fewer, "vb"), "fewer (ppca)": partial(fewer, "ppca")}
    return Contest(ours=ours, peers=peers, objective=error, tolerance=0.1)


def sparse_table(n_observed: int) -> sparse.csr_array:
    rng = np.random.default_rng(0)
    places = rng.choice(20_000 * 5_000, n_observed, replace=False)
    rows, columns = places // 5_000, places % 5_000
    scores, loadings = rng.normal(size=(20_000, 10)), rng.normal(size=(5_000, 10))
    values = np.einsum("ij,ij->i", scores[rows], loadings[columns]) + rng.normal(size=n_observed)
    return sparse.csr_array((values, (rows, columns)), shape=(20_000, 5_000))


def linear_in_entries(method: str, folder: Path) -> Contest:
    """Twenty rounds on sparse tables with more and more entries: time should grow no faster than they do."""

    def fit(X: sparse.csr_array) -> float:
        import warnings

        from fewer.complete import PCAMissing

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # twenty rounds are too few to settle
            PCAMissing(10, method=method, max_iter=20, tol=0, random_state=0).fit(X)
        return 0.0

    tables = {n: sparse_table(n) for n in (250_000, 500_000, 1_000_000, 2_000_000)}
    calls = {f"{n:,} observed": partial(fit, X) for n, X in tables.items()}
    fewest = "250,000 observed"
    more = {name: call for name, call in calls.items() if name != fewest}
    return Contest(ours=more, peers={fewest: calls[fewest]}, objective=np.asarray, tolerance=0)


CASES = [
    Case("2,000 x 500, half missing, 10 components", partial(filling, 2_000, 500, 10, 0.5, False), repeats=1),
    Case("300 x 60, 30% missing, 5 components", partial(filling, 300, 60, 5, 0.3, True), repeats=3),
    Case("5,000 x 20, 30% missing, 4 components", partial(filling, 5_000, 20, 4, 0.3, False), repeats=3),
    *(
        Case(f"sparse 20,000 x 5,000, rounds of {method}", partial(linear_in_entries, method), repeats=1)
        for method in ("vb", "vb-diag")
    ),
]
