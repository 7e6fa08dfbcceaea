"""L1-regularised logistic regression beside liblinear, skglm, celer and saga: time to the same gap above the minimum.

Every contender has a tolerance on a scale of its own. Before the clock starts, each gets the loosest one of a ladder
with which it comes within the gap that the case asks for; the timed runs use that. So the ratios compare the same work,
done to the same precision, without intercept. Paths are timed over 100 weights from the smallest, C_min, to 100 times
that.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit

from benchmarks import Case, Contest

LADDER = 10.0 ** -np.arange(1, 13)
MULTIPLES = (10, 100)
GAPS = (1e-3, 1e-8)


def leukaemia_like() -> tuple[Any, np.ndarray]:
    """72 rows, 7,129 columns that go together in 20 ways."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(72, 20)) @ rng.normal(size=(20, 7129)) * 0.5 + rng.normal(size=(72, 7129))
    y = np.where(X[:, :10].sum(axis=1) + rng.normal(size=72) > 0, 1.0, -1.0)
    return np.asfortranarray((X - X.mean(axis=0)) / X.std(axis=0)), y


def zipf_text(n_rows: int, n_columns: int, n_words: int, n_useful: int) -> tuple[Any, np.ndarray]:
    """Sparse rows of unit length, columns with Zipf's frequencies."""
    rng = np.random.default_rng(0)
    frequencies = 1 / np.arange(1, n_columns + 1) ** 0.9
    columns = rng.choice(n_columns, size=(n_rows, n_words), p=frequencies / frequencies.sum())
    rows = np.repeat(np.arange(n_rows), n_words)
    X = sparse.csr_matrix((rng.exponential(size=rows.size) + 0.2, (rows, columns.ravel())), shape=(n_rows, n_columns))
    X.sum_duplicates()
    X = sparse.csc_matrix(sparse.diags_array(1 / np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())) @ X)
    effects = np.zeros(n_columns)
    effects[rng.choice(min(n_columns, 5000), n_useful, replace=False)] = 5 * rng.normal(size=n_useful)
    signal = X @ effects
    return X, np.where(rng.random(n_rows) < expit(2 * (signal - np.median(signal))), 1.0, -1.0)


def madelon_like() -> tuple[Any, np.ndarray]:
    """2,600 rows, 500 columns of which 250 are noisy copies of 20."""
    from sklearn.datasets import make_classification

    X, y = make_classification(
        2600, 500, n_informative=5, n_redundant=15, n_clusters_per_class=8, flip_y=0.1, random_state=0
    )
    rng = np.random.default_rng(0)
    X[:, 20:250] = X[:, rng.integers(0, 20, 230)] + 0.3 * rng.normal(size=(2600, 230))
    return np.asfortranarray((X - X.mean(axis=0)) / X.std(axis=0)), 2.0 * y - 1


def tall() -> tuple[Any, np.ndarray]:
    """1,000,000 rows, 200 dense columns."""
    rng = np.random.default_rng(0)
    X = np.empty((1_000_000, 200), order="F")
    shared = 0.5 * rng.normal(size=len(X))
    for column in range(200):
        X[:, column] = rng.normal(size=len(X)) + shared
    return X, np.where(rng.random(len(X)) < expit(X[:, :20] @ rng.normal(size=20) * 0.3), 1.0, -1.0)


PROBLEMS: dict[str, Callable[[], tuple[Any, np.ndarray]]] = {
    "leukaemia-like 72 x 7,129": leukaemia_like,
    "words 2,000 x 5,000": partial(zipf_text, 2000, 5000, 80, 100),
    "madelon-like 2,600 x 500": madelon_like,
    "text 5,000 x 50,000": partial(zipf_text, 5000, 50_000, 40, 200),
    "dense 1,000,000 x 200": tall,
    "sparse 100,000 x 100,000": partial(zipf_text, 100_000, 100_000, 50, 500),
}


def objective(X: Any, y: np.ndarray, C: float, coef: np.ndarray) -> float:
    """What all of them minimise."""
    return float(np.abs(coef).sum() + C * np.logaddexp(0, -y * (X @ coef)).sum())


def fewer_fit(X: Any, y: np.ndarray, C: float, tol: float) -> np.ndarray:
    from fewer.learn import L1LinearClassifier

    return L1LinearClassifier(C=C, tol=tol, fit_intercept=False).fit(X, y).coef_[0]


def liblinear_fit(X: Any, y: np.ndarray, C: float, tol: float) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(l1_ratio=1, C=C, solver="liblinear", fit_intercept=False, tol=tol, max_iter=5000)
    return model.fit(X, y).coef_[0]


def saga_fit(X: Any, y: np.ndarray, C: float, tol: float) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(l1_ratio=1, C=C, solver="saga", fit_intercept=False, tol=tol, max_iter=300)
    return model.fit(X, y).coef_[0]


def skglm_fit(X: Any, y: np.ndarray, C: float, tol: float, start: np.ndarray | None = None) -> np.ndarray:
    from skglm.datafits import Logistic
    from skglm.penalties import L1
    from skglm.solvers import ProxNewton

    solver = ProxNewton(tol=tol, fit_intercept=False, max_iter=200)
    predictions = None if start is None else X @ start
    return solver.solve(X, y, Logistic(), L1(1 / (C * len(y))), start, predictions)[0]


def celer_fit(X: Any, y: np.ndarray, C: float, tol: float) -> np.ndarray:
    from celer import LogisticRegression

    return LogisticRegression(C=C, tol=tol, fit_intercept=False, max_iter=100).fit(X, y).coef_.ravel()


PEERS = {
    "scikit-learn liblinear": liblinear_fit,
    "skglm ProxNewton": skglm_fit,
    "celer": celer_fit,
    "scikit-learn saga": saga_fit,
}


def calibrated(fit: Callable, X: Any, y: np.ndarray, C: float, enough: float) -> Callable[[], np.ndarray]:
    """The contender with the loosest tolerance that reaches an objective of ``enough``; the tightest if none does."""
    for tol in LADDER:
        if objective(X, y, C, fit(X, y, C, tol)) <= enough:
            break
    return partial(fit, X, y, C, tol)


def fits(problem: Callable, multiple: float, gap: float, folder: Path) -> Contest:
    """Single fits to a relative gap."""
    X, y = problem()
    C = multiple / np.abs(X.T @ (y / 2)).max()
    minimum = objective(X, y, C, fewer_fit(X, y, C, 1e-11))
    enough = minimum * (1 + gap)
    peers = {name: fit for name, fit in PEERS.items() if name != "scikit-learn saga" or gap > 1e-6}

    def lazily(fit: Callable) -> Callable[[], np.ndarray]:
        ready: list[Callable] = []

        def contender() -> np.ndarray:
            if not ready:
                ready.append(calibrated(fit, X, y, C, enough))
            return ready[0]()

        return contender

    return Contest(
        ours={"fewer": lazily(fewer_fit)},
        peers={name: lazily(fit) for name, fit in peers.items()},
        objective=lambda coef: objective(X, y, C, coef),
        tolerance=2 * gap,
    )


def paths(problem: Callable, folder: Path) -> Contest:
    """Paths of 100 weights, every point within 1e-4 of its minimum."""
    X, y = problem()
    first = 1 / np.abs(X.T @ (y / 2)).max()
    Cs = np.geomspace(first, 100 * first, 100)

    def fewer_path() -> np.ndarray:
        from fewer.learn import l1_path

        path = l1_path(X, y, Cs=Cs, fit_intercept=False, tol=1e-3)
        return np.array([objective(X, y, C, path.coefs[[at]].toarray()[0]) for at, C in enumerate(Cs)])

    def celer_homotopy() -> np.ndarray:
        from celer import celer_path

        _, coefs, *_ = celer_path(X, y, pb="logreg", alphas=1 / Cs, tol=1e-4)
        return np.array([objective(X, y, C, coefs[:, at]) for at, C in enumerate(Cs)])

    def skglm_path() -> np.ndarray:
        coef, values = np.zeros(X.shape[1]), []
        for C in Cs:
            coef = skglm_fit(X, y, C, 1e-5, coef)
            values.append(objective(X, y, C, coef))
        return np.array(values)

    return Contest(
        ours={"fewer l1_path": fewer_path},
        peers={"celer path": celer_homotopy, "skglm warm starts": skglm_path},
        objective=lambda values: values,
        tolerance=1e-3,
    )


CASES = [
    *(
        Case(f"{name}, {multiple} C_min, gap {gap:g}", partial(fits, problem, multiple, gap), repeats=3)
        for name, problem in PROBLEMS.items()
        for multiple in MULTIPLES
        for gap in GAPS
    ),
    *(Case(f"{name}, path", partial(paths, problem), repeats=3) for name, problem in PROBLEMS.items()),
]
