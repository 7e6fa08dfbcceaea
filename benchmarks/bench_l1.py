"""L1-regularised logistic regression beside liblinear, skglm, celer and saga: time to the same gap above the minimum.

Every contender has a tolerance on a scale of its own. Before the clock starts, each gets the loosest one of a ladder
with which it comes within the gap that the case asks for; the timed runs use that. So the ratios compare the same work,
done to the same precision, without intercept. Each is called as its users call it, with its checks of the table. Paths
are timed over 100 weights from the smallest, C_min, to 100 times that, every point within 1e-4 of its minimum.

A peer that takes longer than ``LONGEST_FIT`` or ``LONGEST_PATH`` without coming within the gap is too slow. Not run at
all, for the same reason: saga to 1e-8, on the text and the two large problems, and on the leukaemia-like one, where 300
passes leave it 8 to 50% above the minimum; liblinear on the tall problem, whose table it copies into a list of cells;
the path of celer on madelon-like and the tall problem. adelie needs numpy 1, and glmnet R.
"""

import os
import time
from collections.abc import Callable
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit
from threadpoolctl import threadpool_limits

from benchmarks import Case, Contest
from benchmarks.cases import TooSlowError

LADDER = 10.0 ** -np.arange(0, 12.5, 0.5)
SHORT_LADDER = LADDER[2:10:2]  # for saga, whose 300 passes are over long before the tightest
PATH_LADDER = 10.0 ** -np.arange(1, 6.5, 0.5)
# Seconds of processor time.
LONGEST_FIT, LONGEST_PATH = 10.0, 60.0
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

    model = LogisticRegression(
        l1_ratio=1, C=C, solver="liblinear", fit_intercept=False, tol=tol, max_iter=5000, random_state=0
    )
    return model.fit(X, y).coef_[0]


def saga_fit(X: Any, y: np.ndarray, C: float, tol: float) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(l1_ratio=1, C=C, solver="saga", fit_intercept=False, tol=tol, max_iter=300)
    return model.fit(X, y).coef_[0]


def skglm_fit(X: Any, y: np.ndarray, C: float, tol: float) -> np.ndarray:
    from skglm import SparseLogisticRegression

    model = SparseLogisticRegression(alpha=1 / (C * len(y)), tol=tol, fit_intercept=False, max_iter=200)
    return model.fit(X, y).coef_.ravel()


def celer_fit(X: Any, y: np.ndarray, C: float, tol: float) -> np.ndarray:
    from celer import LogisticRegression

    return LogisticRegression(C=C, tol=tol, fit_intercept=False, max_iter=100).fit(X, y).coef_.ravel()


PEERS = {
    "scikit-learn liblinear": liblinear_fit,
    "skglm": skglm_fit,
    "celer": celer_fit,
    "scikit-learn saga": saga_fit,
}
FITS = {"fewer": fewer_fit, **PEERS}
LEFT_OUT = {
    "leukaemia-like 72 x 7,129": ("scikit-learn saga",),
    "text 5,000 x 50,000": ("scikit-learn saga",),
    "dense 1,000,000 x 200": ("scikit-learn liblinear", "scikit-learn saga"),
    "sparse 100,000 x 100,000": ("scikit-learn saga",),
}


@lru_cache(maxsize=1)
def table_of(problem: str) -> tuple[Any, np.ndarray, float]:
    """The table, the target, and the smallest useful weight of the loss; from here on there is one thread for all."""
    threadpool_limits(1)
    X, y = PROBLEMS[problem]()
    return X, y, 1 / float(np.abs(X.T @ (y / 2)).max())


def fit_of(name: str, problem: str, multiple: float, tol: float) -> np.ndarray:
    """Coefficients that a contender finds."""
    X, y, smallest = table_of(problem)
    return FITS[name](X, y, multiple * smallest, tol)


@cache
def compiled(name: str, problem: str) -> bool:
    """Have a contender compile what it compiles, on a few rows of the table, before anybody looks at the clock."""
    X, y, _ = table_of(problem)
    few = np.concatenate([np.flatnonzero(y == label)[:20] for label in (-1, 1)])
    rows = X[few] if sparse.issparse(X) else np.asfortranarray(X[few])
    for multiple in (3, 30):
        FITS[name](rows, y[few], multiple / float(np.abs(rows.T @ (y[few] / 2)).max()), 1e-6)
    return True


@cache
def objective_of(name: str, problem: str, multiple: float, tol: float) -> tuple[float, float]:
    """Objective that a contender comes to with a tolerance, and the seconds it took."""
    X, y, smallest = table_of(problem)
    compiled(name, problem)
    begun = time.process_time()
    coef = fit_of(name, problem, multiple, tol)
    return objective(X, y, multiple * smallest, coef), time.process_time() - begun


@cache
def loosest(name: str, problem: str, multiple: float, gap: float) -> float:
    """The loosest tolerance with which a contender comes within the gap; the tightest if none does.

    A tolerance in ``FEWER_L1_TOL`` is taken as it is: what is measured then is memory.
    """
    if "FEWER_L1_TOL" in os.environ:
        return float(os.environ["FEWER_L1_TOL"])
    enough = objective_of("fewer", problem, multiple, 1e-11)[0] * (1 + gap)
    ladder = SHORT_LADDER if name == "scikit-learn saga" else LADDER
    for tol in ladder:
        reached, seconds = objective_of(name, problem, multiple, tol)
        if reached <= enough:
            return tol
        if seconds > LONGEST_FIT:
            raise TooSlowError(f"> {LONGEST_FIT:g} s")
    return ladder[-1]


def fits(problem: str, multiple: float, gap: float, folder: Path) -> Contest:
    """Single fits to a relative gap."""
    X, y, smallest = table_of(problem)
    peers = [name for name in PEERS if name not in LEFT_OUT.get(problem, ())]
    if gap < 1e-6:
        peers = [name for name in peers if name != "scikit-learn saga"]

    def contender(name: str) -> Callable[[], np.ndarray]:
        return lambda: fit_of(name, problem, multiple, loosest(name, problem, multiple, gap))

    return Contest(
        ours={"fewer": contender("fewer")},
        peers={name: contender(name) for name in peers},
        objective=lambda coef: objective(X, y, multiple * smallest, coef),
        tolerance=2 * gap,
    )


def fewer_path(X: Any, y: np.ndarray, Cs: np.ndarray, tol: float) -> Any:
    from fewer.learn import l1_path

    return l1_path(X, y, Cs=Cs, fit_intercept=False, tol=tol).coefs


def celer_homotopy(X: Any, y: np.ndarray, Cs: np.ndarray, tol: float) -> Any:
    from celer import celer_path

    return celer_path(X, y, pb="logreg", alphas=1 / Cs, tol=1e-2 * tol)[1].T


def skglm_path(X: Any, y: np.ndarray, Cs: np.ndarray, tol: float) -> Any:
    from skglm.datafits import Logistic
    from skglm.penalties import L1
    from skglm.solvers import ProxNewton

    solver = ProxNewton(tol=1e-2 * tol, fit_intercept=False, max_iter=200)
    coef, coefs = np.zeros(X.shape[1]), []
    for C in Cs:
        coef = solver.solve(X, y, Logistic(), L1(1 / (C * len(y))), coef, X @ coef)[0]
        coefs.append(coef.copy())
    return coefs


LARGE = ("dense 1,000,000 x 200", "sparse 100,000 x 100,000")
CELER_TAKES_LONG = ("madelon-like 2,600 x 500", "dense 1,000,000 x 200")


def paths(problem: str, folder: Path) -> Contest:
    """Paths of 100 weights."""
    X, y, smallest = table_of(problem)
    Cs = np.geomspace(smallest, 100 * smallest, 100)

    def objectives(coefs: Any) -> np.ndarray:
        rows = (coef.toarray().ravel() if sparse.issparse(coef) else coef for coef in coefs)
        return np.array([objective(X, y, C, coef) for C, coef in zip(Cs, rows, strict=True)])

    @cache
    def minima() -> np.ndarray:
        return objectives(fewer_path(X, y, Cs, 1e-5))

    @cache
    def loosest_of(path: Callable) -> float:
        enough = minima() * (1 + 1e-4)
        for tol in PATH_LADDER:
            begun = time.process_time()
            coefs = path(X, y, Cs, tol)
            seconds = time.process_time() - begun
            if (objectives(coefs) <= enough).all():
                return tol
            if seconds > LONGEST_PATH:
                raise TooSlowError(f"> {LONGEST_PATH:g} s")
        return PATH_LADDER[-1]

    def contender(path: Callable) -> Callable[[], np.ndarray]:
        return lambda: path(X, y, Cs, loosest_of(path))

    peers = {"skglm": skglm_path} | ({} if problem in CELER_TAKES_LONG else {"celer": celer_homotopy})
    return Contest(
        ours={"fewer": contender(fewer_path)},
        peers={name: contender(path) for name, path in peers.items()},
        objective=objectives,
        tolerance=1e-3,
    )


def repeats(problem: str) -> int:
    """Timed runs; fewer where one takes seconds."""
    return 3 if problem in LARGE else 5


CASES = [
    *(
        Case(
            f"{problem}, {multiple} C_min, gap {gap:g}", partial(fits, problem, multiple, gap), repeats=repeats(problem)
        )
        for problem in PROBLEMS
        for multiple in MULTIPLES
        for gap in GAPS
    ),
    *(Case(f"{problem}, path", partial(paths, problem), repeats=1 if problem in LARGE else 3) for problem in PROBLEMS),
]
