"""Graphs of columns beside scikit-learn, skglm and gglasso at an equal objective, and beside plain linear programs."""

import warnings
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import Case, Contest
from benchmarks.cases import Contender

# Relative gap at which every solver of the graphical lasso stops, or its own nearest criterion.
GAP = 1e-6


def correlations(n_rows: int, n_columns: int, seed: int = 0) -> np.ndarray:
    from fewer.datasets import make_graph_gaussian

    X = make_graph_gaussian(n_rows, n_columns, degree=4, rho=0.9, random_state=seed).X
    return np.corrcoef(X.T)


def objective(S: np.ndarray, alpha: float, precision: np.ndarray) -> float:
    off = np.abs(precision).sum() - np.abs(np.diag(precision)).sum()
    return float(-np.linalg.slogdet(precision)[1] + (S * precision).sum() + alpha * off)


def graphical_lasso(n_columns: int, alpha: float, slow_peers: bool, folder: Path) -> Contest:
    """A quarter as many rows as columns, in one connected part, five to ten edges for each column."""
    S = correlations(n_columns // 4, n_columns)

    def fewer() -> np.ndarray:
        from fewer.graph import sparse_precision

        return sparse_precision(S, alpha, tol=GAP).precision

    def scikit_learn() -> np.ndarray:
        from sklearn.covariance import graphical_lasso

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where it does not converge, the objective shows how far it came
            return graphical_lasso(S, alpha, tol=GAP * n_columns)[1]

    def skglm(algo: str) -> np.ndarray:
        from skglm import GraphicalLasso

        return GraphicalLasso(alpha=alpha, algo=algo, tol=1e-3).fit(S, mode="precomputed").precision_

    def gglasso() -> np.ndarray:
        from contextlib import redirect_stdout
        from io import StringIO

        from gglasso.solver.single_admm_solver import block_SGL

        with redirect_stdout(StringIO()):
            return block_SGL(S, alpha, np.eye(n_columns), tol=1e-7, rtol=1e-7, max_iter=5000)["Theta"]

    peers: dict[str, Contender] = {
        "skglm, dual": partial(skglm, "dual"),
        "scikit-learn": scikit_learn,
        "gglasso": gglasso,
    }
    if slow_peers:
        peers["skglm, primal"] = partial(skglm, "primal")
    return Contest(ours={"fewer": fewer}, peers=peers, objective=partial(objective, S, alpha), tolerance=2 * GAP)


def path(n_columns: int, eps: float, folder: Path) -> Contest:
    """Twenty penalties from the empty graph down, beside three cold fits at the smallest."""
    S = correlations(n_columns // 4, n_columns)
    smallest = eps * float(np.abs(S - np.diag(np.diag(S))).max())

    def fewer() -> np.ndarray:
        from fewer.graph import sparse_precision_path

        return sparse_precision_path(S, n_alphas=20, eps=eps).precisions[-1].toarray()

    def three_times() -> np.ndarray:
        from fewer.graph import sparse_precision

        return [sparse_precision(S, smallest).precision for _ in range(3)][-1]

    return Contest(
        ours={"fewer, path of 20": fewer},
        peers={"fewer, three cold fits": three_times},
        objective=partial(objective, S, smallest),
        tolerance=2 * GAP,
    )


def blocks(n_columns: int, n_blocks: int, alpha: float, folder: Path) -> Contest:
    """Independent blocks of columns in one matrix, whose order is shuffled, beside each block by itself."""
    size = n_columns // n_blocks
    parts = [correlations(size // 2, size, seed) for seed in range(n_blocks)]
    S = np.zeros((n_columns, n_columns))
    for place, part in enumerate(parts):
        S[place * size : (place + 1) * size, place * size : (place + 1) * size] = part
    order = np.random.default_rng(0).permutation(n_columns)
    shuffled = S[np.ix_(order, order)]

    def fewer() -> float:
        from fewer.graph import sparse_precision

        return sparse_precision(shuffled, alpha, tol=GAP).objective

    def apart() -> float:
        from fewer.graph import sparse_precision

        return sum(sparse_precision(part, alpha, tol=GAP).objective for part in parts)

    return Contest(ours={"fewer": fewer}, peers={"fewer, block by block": apart}, objective=float, tolerance=2 * GAP)


def neighborhoods(n_columns: int, folder: Path) -> Contest:
    """Dantzig selectors of all columns on the others at the penalty of the theory, 50 rows."""
    from fewer.datasets import make_graph_gaussian

    X = make_graph_gaussian(50, n_columns, "chain", random_state=0).X
    S = np.cov(X.T, bias=True)
    alpha = float(np.sqrt(2 * np.log(n_columns) / 50))

    def fewer() -> np.ndarray:
        from fewer.graph import NeighborhoodDantzigPrecision

        raw = NeighborhoodDantzigPrecision(symmetrize=None).fit(X).precision_raw_
        return -raw / np.diag(raw)

    def scipy() -> np.ndarray:
        from scipy.optimize import linprog

        coefs = -np.eye(n_columns)
        for column in range(n_columns):
            others = np.arange(n_columns) != column
            gram, products = S[np.ix_(others, others)], S[others, column]
            rows = np.block([[gram, -gram], [-gram, gram]])
            bounds = np.concatenate([products + alpha, alpha - products])
            found = linprog(np.ones(2 * n_columns - 2), A_ub=rows, b_ub=bounds, method="highs").x
            coefs[others, column] = found[: n_columns - 1] - found[n_columns - 1 :]
        return coefs

    return Contest(
        ours={"fewer": fewer},
        peers={"scipy": scipy},
        objective=lambda coefs: np.abs(coefs).sum(axis=0),
        tolerance=1e-6,
    )


CASES = [
    Case("graphical lasso, 50 rows x 200 columns", partial(graphical_lasso, 200, 0.31, True)),
    Case("graphical lasso, 250 rows x 1,000 columns", partial(graphical_lasso, 1000, 0.18, False), repeats=1),
    Case("20 penalties, 250 rows x 1,000 columns", partial(path, 1000, 0.15), repeats=1),
    Case("graphical lasso, 4,000 columns in 40 blocks", partial(blocks, 4000, 40, 0.25), repeats=1),
    Case("Dantzig neighbourhoods, 50 rows x 200 columns", partial(neighborhoods, 200), repeats=1),
]
