"""Directions along which classes differ in any way, beside linear discriminant analysis and pairwise kernel sums.

The peers answer a smaller question, or the same one more slowly: scikit-learn's discriminant analysis finds the one
direction of means, and the plain sum over all pairs of rows is what the criterion costs without a grid.
"""

from pathlib import Path

import numpy as np

from benchmarks import Case, Contest


def unequal_means(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    y = np.repeat([0, 1], [n_rows // 2, n_rows - n_rows // 2])
    X[y == 1, 0] += 3
    return X @ rng.normal(size=(n_columns, n_columns)), y


def one_direction(n_rows: int, n_columns: int, folder: Path) -> Contest:
    """Where only means differ both find the same direction: how far apart the classes are along it."""
    X, y = unequal_means(n_rows, n_columns)

    def separation(values: np.ndarray) -> float:
        first, second = values[y == 0], values[y == 1]
        return float(abs(first.mean() - second.mean()) / np.sqrt((first.var() + second.var()) / 2))

    def fewer() -> np.ndarray:
        from fewer.extract import LikelihoodRatioDiscriminant

        return LikelihoodRatioDiscriminant(n_components=1, random_state=0).fit_transform(X, y)[:, 0]

    def scikit_learn() -> np.ndarray:
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        return LinearDiscriminantAnalysis().fit_transform(X, y)[:, 0]

    return Contest(ours={"fewer": fewer}, peers={"scikit-learn": scikit_learn}, objective=separation, tolerance=0.02)


def one_ratio(n_rows: int, folder: Path) -> Contest:
    """The likelihood ratio of two classes along one direction, with its derivatives by the values."""
    rng = np.random.default_rng(0)
    half = n_rows // 2
    values = np.concatenate([rng.normal(-1, 0.4, size=half), rng.normal(1, 0.4, size=half)])
    begins = np.array([0, half, 2 * half])
    groups = [(values, -1), (values[:half], 1), (values[half:], 1)]

    def fewer() -> float:
        from fewer.extract.projection_pursuit._kernels import likelihood_ratio

        widths = 1.3 * np.diff(begins) ** -0.2
        return likelihood_ratio(values, begins, widths, 1.3 * float(2 * half) ** -0.2, 1e-4)[0]

    def numpy() -> float:
        total = 0.0
        for group, sign in groups:
            width = 1.3 * len(group) ** -0.2
            kernels = np.exp(-0.5 * ((group[:, None] - group) / width) ** 2)
            np.fill_diagonal(kernels, 0)
            densities = kernels.sum(axis=1) / ((len(group) - 1) * width * np.sqrt(2 * np.pi)) + 1e-4
            total += sign * np.log(densities).sum()
        return total / len(values)

    return Contest(ours={"fewer": fewer}, peers={"numpy": numpy}, objective=float, tolerance=1e-4)


CASES = [
    Case("one direction, 5,000 rows x 50 columns", lambda folder: one_direction(5_000, 50, folder)),
    Case("one direction, 100,000 rows x 20 columns", lambda folder: one_direction(100_000, 20, folder), repeats=3),
    Case("one ratio of 4,000 values", lambda folder: one_ratio(4_000, folder)),
]
