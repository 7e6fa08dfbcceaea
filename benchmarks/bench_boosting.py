"""Component-wise boosting, beside the same steps in plain numpy and scikit-learn's boosted stumps."""

from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import Case, Contest


def sparse_signal(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    return X, X[:, :10] @ np.arange(1, 11)[:n_columns] + rng.normal(size=n_rows)


def linear_steps(X: np.ndarray, y: np.ndarray, n_estimators: int, gradient, start: float) -> np.ndarray:
    """The algorithm as the paper tells it, vectorised over the columns: one product with the table at each step."""
    Z = X - X.mean(axis=0)
    squares, f = (Z**2).sum(axis=0), np.full(len(y), start)
    for _ in range(n_estimators):
        u = gradient(y, f)
        products = Z.T @ u
        best = np.argmax(products**2 / squares)
        f += 0.1 * (u.mean() + products[best] / squares[best] * Z[:, best])
    return f


def lines(n_rows: int, n_columns: int, n_estimators: int, folder: Path) -> Contest:
    """Fitted means after so many steps of lines."""
    X, y = sparse_signal(n_rows, n_columns)

    def fewer() -> np.ndarray:
        from fewer.learn import ComponentwiseBoostingRegressor

        return ComponentwiseBoostingRegressor(n_estimators=n_estimators).fit(X, y).predict(X)

    def plain_numpy() -> np.ndarray:
        return linear_steps(X, y, n_estimators, lambda y, f: y - f, y.mean())

    return Contest({"fewer": fewer}, {"plain numpy": plain_numpy}, objective=np.asarray, tolerance=1e-8)


def two_classes(n_rows: int, n_columns: int, n_estimators: int, folder: Path) -> Contest:
    """Half the log-odds after so many steps of lines."""
    X, y = sparse_signal(n_rows, n_columns)
    target = np.where(y > 0, 1.0, -1.0)
    share = float((target > 0).mean())

    def fewer() -> np.ndarray:
        from fewer.learn import ComponentwiseBoostingClassifier

        return ComponentwiseBoostingClassifier(n_estimators=n_estimators).fit(X, target).decision_function(X)

    def plain_numpy() -> np.ndarray:
        def gradient(y, f):
            return 2 / np.log(2) * y / (1 + np.exp(2 * y * f))

        return linear_steps(X, target, n_estimators, gradient, 0.5 * np.log(share / (1 - share)))

    return Contest({"fewer": fewer}, {"plain numpy": plain_numpy}, objective=np.asarray, tolerance=1e-8)


def curves(n_rows: int, n_columns: int, n_estimators: int, folder: Path) -> Contest:
    """Fitted means after so many steps of splines with 4 degrees of freedom."""
    X, y = sparse_signal(n_rows, n_columns)

    def fewer() -> np.ndarray:
        from fewer.learn import ComponentwiseBoostingRegressor

        return ComponentwiseBoostingRegressor("smooth", n_estimators=n_estimators).fit(X, y).predict(X)

    def plain_numpy() -> np.ndarray:
        from scipy.interpolate import BSpline
        from scipy.linalg import cho_factor, cho_solve

        from fewer.learn.boosting._designs import Smoother

        differences = np.diff(np.eye(24), n=2, axis=0)
        penalty = differences.T @ differences
        bases, factors = [], []
        for x in X.T:
            knots = x.min() + np.ptp(x) / 21 * np.arange(-3, 25)
            bases.append(BSpline.design_matrix(np.clip(x, knots[3], knots[-4]), knots, 3).toarray())
            gram = bases[-1].T @ bases[-1]
            factors.append(cho_factor(gram + Smoother.of(gram, penalty, 4.0).penalty * penalty))
        f = np.full(len(y), y.mean())
        for _ in range(n_estimators):
            fits = [Z @ cho_solve(factor, Z.T @ (y - f)) for Z, factor in zip(bases, factors, strict=True)]
            f += 0.1 * min(fits, key=lambda fit: float(((y - f - fit) ** 2).sum()))
        return f

    return Contest({"fewer": fewer}, {"plain numpy": plain_numpy}, objective=np.asarray, tolerance=1e-6)


def stumps(n_rows: int, n_columns: int, n_estimators: int, folder: Path) -> Contest:
    """Fitted means after so many stumps."""
    X, y = sparse_signal(n_rows, n_columns)

    def fewer() -> np.ndarray:
        from fewer.learn import ComponentwiseBoostingRegressor

        return ComponentwiseBoostingRegressor("tree", n_estimators=n_estimators, random_state=0).fit(X, y).predict(X)

    def scikit_learn() -> np.ndarray:
        from sklearn.ensemble import GradientBoostingRegressor

        peer = GradientBoostingRegressor(
            n_estimators=n_estimators, max_depth=1, min_samples_leaf=4, min_samples_split=10
        )
        return peer.fit(X, y).predict(X)

    return Contest({"fewer": fewer}, {"scikit-learn": scikit_learn}, objective=np.asarray, tolerance=1e-6)


CASES = [
    Case("lines: 1,000 rows x 5,000 columns, 500 steps", partial(lines, 1_000, 5_000, 500), repeats=3),
    Case("lines: 100,000 rows x 50 columns, 500 steps", partial(lines, 100_000, 50, 500), repeats=3),
    Case("two classes: 1,000 rows x 5,000 columns, 200 steps", partial(two_classes, 1_000, 5_000, 200), repeats=3),
    Case("splines: 1,000 rows x 50 columns, 200 steps", partial(curves, 1_000, 50, 200), repeats=3),
    Case("splines: 100,000 rows x 5 columns, 100 steps", partial(curves, 100_000, 5, 100), repeats=3),
    Case("stumps: 2,000 rows x 50 columns, 200 steps", partial(stumps, 2_000, 50, 200), repeats=3),
]
