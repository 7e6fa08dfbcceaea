"""Logistic regression with a squared penalty chosen by 5 folds of 10 Cs, beside scikit-learn's LogisticRegressionCV.

Both get the same Cs, scikit-learn's own ten over eight decades, and the same folds, and choose by the log loss. Every
solver of scikit-learn stops by a gradient on a scale of its own, and with its default tolerance it stops far above the
minimum where the penalty is weak. Before the clock starts, each solver gets the loosest tolerance of a ladder with
which the paths of all folds come within ``GAP`` of their minima, at every C. Ours has its default tolerance; a test
holds its paths to the same gap, on a smaller table. What is compared here is the objective of the final model over the
minimum at the C that it chose: 1, within ``GAP``. The minima are those of our solver with a tight tolerance.

The cases "as called" time all with their default tolerances instead.
"""

import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from benchmarks import Case, Contest

GAP = 1e-4
CS = np.logspace(-4, 4, 10)
LADDER = 10.0 ** -np.arange(4, 10)
FOLDS = StratifiedKFold(5)


def khan_like() -> tuple[Any, np.ndarray]:
    """66 rows of 4 classes, 2,308 columns of which 240 differ between the classes."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2, 3], [18, 22, 14, 12])
    X = rng.normal(size=(66, 12)) @ rng.normal(size=(12, 2308)) * 0.4 + rng.normal(size=(66, 2308))
    for label in range(4):
        X[np.ix_(y == label, rng.choice(2308, 60, replace=False))] += 1.0
    return X, y


def words() -> tuple[Any, np.ndarray]:
    """1,427 texts of two classes, counts of 4,322 words with Zipf's frequencies."""
    rng = np.random.default_rng(0)
    tilt = 0.35 * rng.normal(size=4322)
    frequencies = np.exp([tilt, -tilt]) / np.arange(1, 4323) ** 0.9
    frequencies /= frequencies.sum(axis=1, keepdims=True)
    y = rng.integers(0, 2, 1427)
    lengths = rng.lognormal(4.3, 0.6, size=1427).astype(int)
    columns = [rng.choice(4322, size, p=frequencies[label]) for size, label in zip(lengths, y, strict=True)]
    rows = np.repeat(np.arange(1427), lengths)
    counts = (np.ones(rows.size), (rows, np.concatenate(columns)))
    return sparse.csr_matrix(counts, shape=(1427, 4322)), y


def long() -> tuple[Any, np.ndarray]:
    """20,000 rows of two classes, 50 columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 50)) + 0.5 * rng.normal(size=(20_000, 1))
    return X, (0.3 * X @ rng.normal(size=50) + rng.logistic(size=20_000) > 0).astype(int)


PROBLEMS: dict[str, tuple[Callable[[], tuple[Any, np.ndarray]], tuple[str, ...]]] = {
    "66 x 2,308, 4 classes": (khan_like, ("lbfgs", "newton-cg")),
    "sparse words 1,427 x 4,322": (words, ("lbfgs", "newton-cg")),
    "20,000 x 50": (long, ("lbfgs", "newton-cholesky")),
}


@cache
def table_of(problem: str) -> tuple[Any, np.ndarray]:
    """The table and the target; from here on there is one thread for all."""
    threadpool_limits(1)
    return PROBLEMS[problem][0]()


def fewer_fit(problem: str, **options: Any) -> Any:
    """The tuned model."""
    from fewer.learn import RidgePathClassifierCV

    return RidgePathClassifierCV(CS, cv=FOLDS, **options).fit(*table_of(problem))


def scikit_learn_fit(problem: str, solver: str, tol: float = 1e-4) -> Any:
    """The tuned model by one of its solvers."""
    from sklearn.linear_model import LogisticRegressionCV

    limits = {} if tol == 1e-4 else {"max_iter": 10_000}
    model = LogisticRegressionCV(
        Cs=CS, cv=FOLDS, solver=solver, tol=tol, scoring="neg_log_loss", l1_ratios=(0.0,),
        use_legacy_attributes=False, **limits,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that 100 iterations were not enough, with the default tolerance
        return model.fit(*table_of(problem))


def objective(X: Any, y: np.ndarray, C: float, coef: np.ndarray, intercept: np.ndarray) -> float:
    """``||w||^2 / 2 + C sum of losses``, which all of them minimise."""
    z = X @ coef.T + intercept
    if z.shape[1] == 1:
        losses = np.logaddexp(0, z[:, 0]) - y * z[:, 0]
    else:
        losses = np.logaddexp.reduce(z, axis=1) - z[np.arange(len(y)), y]
    return float(0.5 * (coef**2).sum() + C * losses.sum())


@cache
def minima(problem: str, fold: int | None) -> np.ndarray:
    """The lowest objective on the rows that a fold learns from, or on all rows, at every C."""
    from fewer.learn.ridge._newton import LogLoss, SoftmaxLoss, ridge_path
    from fewer.learn.ridge._tables import prepared_table

    X, y = training_rows(problem, fold)
    weights = np.full((len(y), 1), 1 / len(y))
    table = prepared_table(X, weights[:, 0], fit_intercept=True)
    loss = (LogLoss if y.max() == 1 else SoftmaxLoss)(y)
    path = ridge_path(table, loss, weights, 1 / (CS * len(y) * table.unit), tol=1e-9, max_iter=1000)
    # The mean loss is on the scale of C n.
    return np.array([point.objectives[0] for point in path]) * CS * len(y)


def training_rows(problem: str, fold: int | None) -> tuple[Any, np.ndarray]:
    X, y = table_of(problem)
    if fold is None:
        return X, y
    train = list(FOLDS.split(np.zeros(len(y)), y))[fold][0]
    return X[train], y[train]


@cache
def loosest(problem: str, solver: str) -> float:
    """The loosest tolerance with which the paths of all folds come within the gap; the tightest if none does."""
    for tol in LADDER:
        paths = scikit_learn_fit(problem, solver, tol).coefs_paths_[:, 0]
        if max(_largest_gap(problem, fold, path) for fold, path in enumerate(paths)) <= GAP:
            return tol
    return LADDER[-1]


def _largest_gap(problem: str, fold: int, path: np.ndarray) -> float:
    X, y = training_rows(problem, fold)
    reached = [objective(X, y, C, at[:, :-1], at[:, -1]) for C, at in zip(CS, path, strict=True)]
    return float((np.array(reached) / minima(problem, fold) - 1).max())


def relative_objective(problem: str, model: Any) -> float:
    """The objective of a tuned model over the minimum at its C."""
    X, y = table_of(problem)
    C = CS[np.argmin(np.abs(np.log(CS / model.C_)))]
    return objective(X, y, C, model.coef_, model.intercept_) / minima(problem, None)[np.searchsorted(CS, C)]


def tuned(problem: str, as_called: bool, folder: Path) -> Contest:
    """10 Cs, 5 folds, and the final model."""

    def peer(solver: str) -> Any:
        return (
            scikit_learn_fit(problem, solver)
            if as_called
            else scikit_learn_fit(problem, solver, loosest(problem, solver))
        )

    return Contest(
        ours={"fewer": partial(fewer_fit, problem)},
        peers={f"scikit-learn {solver}": partial(peer, solver) for solver in PROBLEMS[problem][1]},
        objective=partial(relative_objective, problem),
        tolerance=0.05 if as_called else GAP,
    )


CASES = [
    *(Case(f"{problem}, gap {GAP:g}", partial(tuned, problem, False), repeats=3) for problem in PROBLEMS),
    *(Case(f"{problem}, as called", partial(tuned, problem, True), repeats=5) for problem in PROBLEMS),
]
