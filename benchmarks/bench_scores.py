"""Scores of columns beside scikit-learn, plain numpy and skrebate: wide, long and sparse tables."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Case, Contest


def dense_table(n_rows: int, n_columns: int, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Classes that every tenth column tells apart, each a little."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n_rows)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, ::10] += 0.5 * y[:, None]
    return X, y


def sparse_counts(n_rows: int, n_columns: int, n_stored: int) -> tuple[Any, np.ndarray]:
    """Counts of words: most words are rare, and two classes use them a little differently."""
    from scipy import sparse

    rng = np.random.default_rng(0)
    rows = rng.integers(0, n_rows, n_stored)
    columns = (n_columns * rng.random(n_stored) ** 2).astype(np.int64)
    X = sparse.csc_matrix((rng.integers(1, 4, n_stored).astype(float), (rows, columns)), shape=(n_rows, n_columns))
    X.sum_duplicates()
    return X, rng.integers(0, 2, n_rows)


def numbers_only(scores: np.ndarray) -> np.ndarray:
    """A column of zeros has no number with scikit-learn, and zero with us."""
    return np.nan_to_num(scores)


def anova(table: Any, folder: Path) -> Contest:
    X, y = table()

    def fewer() -> np.ndarray:
        from fewer.select import anova_score

        return anova_score(X, y).scores

    def scikit_learn() -> np.ndarray:
        from sklearn.feature_selection import f_classif

        with np.errstate(invalid="ignore", divide="ignore"):
            return f_classif(X, y)[0]

    def numpy() -> np.ndarray:
        groups = [X[y == label] for label in np.unique(y)]
        mean = X.mean(axis=0)
        between = sum(len(rows) * (rows.mean(axis=0) - mean) ** 2 for rows in groups)
        within = sum(((rows - rows.mean(axis=0)) ** 2).sum(axis=0) for rows in groups)
        return (between / (len(groups) - 1)) / (within / (len(y) - len(groups)))

    peers = {"scikit-learn": scikit_learn}
    if isinstance(X, np.ndarray):
        peers["numpy"] = numpy
    return Contest(ours={"fewer": fewer}, peers=peers, objective=numbers_only, tolerance=1e-6)


def correlation(table: Any, folder: Path) -> Contest:
    X, y = table()
    target = y + np.random.default_rng(1).normal(size=len(y))

    def fewer() -> np.ndarray:
        from fewer.select import pearson_score

        return pearson_score(X, target).scores

    def scikit_learn() -> np.ndarray:
        from sklearn.feature_selection import f_regression

        statistic = f_regression(X, target)[0]
        return np.sqrt(statistic / (statistic + len(target) - 2))

    def scikit_learn_without_p_values() -> np.ndarray:
        from sklearn.feature_selection import r_regression

        return np.abs(r_regression(X, target))

    peers = {"scikit-learn": scikit_learn, "scikit-learn without p-values": scikit_learn_without_p_values}
    return Contest(ours={"fewer": fewer}, peers=peers, objective=numbers_only, tolerance=1e-6)


def chi_square(table: Any, folder: Path) -> Contest:
    X, y = table()
    X = np.abs(X)

    def fewer() -> np.ndarray:
        from fewer.select import chi2_score

        return chi2_score(X, y).scores

    def scikit_learn() -> np.ndarray:
        from sklearn.feature_selection import chi2

        with np.errstate(invalid="ignore", divide="ignore"):
            return chi2(X, y)[0]

    peers = {"scikit-learn": scikit_learn}
    return Contest(ours={"fewer": fewer}, peers=peers, objective=numbers_only, tolerance=1e-9)


def information_of_codes(table: Any, folder: Path) -> Contest:
    X, y = table()

    def fewer() -> np.ndarray:
        from fewer.select import mutual_information_score

        return mutual_information_score(X, y, n_bins=100).scores

    def scikit_learn() -> np.ndarray:
        from sklearn.feature_selection import mutual_info_classif

        return mutual_info_classif(X, y, discrete_features=True)

    peers = {"scikit-learn": scikit_learn}
    return Contest(ours={"fewer": fewer}, peers=peers, objective=np.asarray, tolerance=1e-9)


def information_by_neighbours(table: Any, task: str, folder: Path) -> Contest:
    X, y = table()
    target = y if task == "classes" else X[:, 0] ** 2 + np.random.default_rng(1).normal(size=len(y))

    def fewer() -> np.ndarray:
        from fewer.select import knn_mutual_information_score

        return knn_mutual_information_score(X, target, random_state=0)

    def scikit_learn() -> np.ndarray:
        from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

        peer = mutual_info_classif if task == "classes" else mutual_info_regression
        return peer(X, target, random_state=0)

    peers = {"scikit-learn": scikit_learn}
    return Contest(ours={"fewer": fewer}, peers=peers, objective=np.asarray, tolerance=1e-6)


def relief(table: Any, folder: Path) -> Contest:
    X, y = table()

    def fewer() -> np.ndarray:
        from fewer.select import relieff_score

        return relieff_score(X, y, n_neighbors=10, random_state=0)

    def skrebate() -> np.ndarray:
        from skrebate import ReliefF

        return ReliefF(n_neighbors=10, n_features_to_select=5).fit(X, y).feature_importances_

    return Contest(ours={"fewer": fewer}, peers={"skrebate": skrebate}, objective=np.asarray, tolerance=1e-9)


WIDE = partial(dense_table, 60, 20_000)
LONG = partial(dense_table, 1_000_000, 100)
WORDS = partial(sparse_counts, 20_000, 50_000, 2_000_000)

CASES = [
    Case("F of 60 x 20,000", partial(anova, WIDE)),
    Case("F of 1,000,000 x 100", partial(anova, LONG), repeats=3),
    Case("F of sparse 20,000 x 50,000", partial(anova, WORDS), repeats=5),
    Case("correlations of 60 x 20,000", partial(correlation, WIDE)),
    Case("correlations of 1,000,000 x 100", partial(correlation, LONG), repeats=3),
    Case("chi-square of 60 x 20,000", partial(chi_square, WIDE)),
    Case("chi-square of 1,000,000 x 100", partial(chi_square, LONG), repeats=3),
    Case("chi-square of sparse 20,000 x 50,000", partial(chi_square, WORDS), repeats=5),
    Case(
        "information of counts, sparse 20,000 x 2,000",
        partial(information_of_codes, partial(sparse_counts, 20_000, 2_000, 80_000)),
        repeats=3,
    ),
    Case(
        "k-NN information, 60 x 1,000, classes",
        partial(information_by_neighbours, partial(dense_table, 60, 1_000), "classes"),
        repeats=3,
    ),
    Case(
        "k-NN information, 100,000 x 4, classes",
        partial(information_by_neighbours, partial(dense_table, 100_000, 4), "classes"),
        repeats=3,
    ),
    Case(
        "k-NN information, 60 x 1,000, numbers",
        partial(information_by_neighbours, partial(dense_table, 60, 1_000), "numbers"),
        repeats=3,
    ),
    Case(
        "k-NN information, 100,000 x 4, numbers",
        partial(information_by_neighbours, partial(dense_table, 100_000, 4), "numbers"),
        repeats=3,
    ),
    Case("ReliefF, 60 x 500", partial(relief, partial(dense_table, 60, 500)), repeats=3),
    Case("ReliefF, 500 x 50", partial(relief, partial(dense_table, 500, 50)), repeats=3),
]
