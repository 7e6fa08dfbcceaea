"""New rows like those of a table, class by class, from a factor model: ``t = mu + W z + e``.

In each class, ``z`` is standard normal with q entries and ``e`` normal with a variance psi_j for each column. ``mu`` is
the class mean; W and psi maximise the likelihood of the class's rows, by expectation-maximisation that starts with
equal variances (probabilistic principal components).

Yu, G. et al. (2010). Matched gene selection and committee classifier for molecular classification of heterogeneous
diseases. Journal of Machine Learning Research 11, 2141-2167 (design II).
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fewer.datasets._problem import Problem

if TYPE_CHECKING:
    from numpy.random import RandomState
    from numpy.typing import ArrayLike


class Factors(NamedTuple):
    """Mean (p,), loadings (q, p) and noise variances (p,) of one class."""

    mean: np.ndarray
    loadings: np.ndarray
    noise: np.ndarray


def fitted_factors(rows: np.ndarray, q: int) -> Factors:
    """Factor model of the rows of one class; with q rows or fewer, one factor less than there are rows."""
    from sklearn.decomposition import FactorAnalysis

    n_rows, n_columns = rows.shape
    q = min(q, n_rows - 1, n_columns)
    start = equal_noise(rows, q)
    model = FactorAnalysis(q, noise_variance_init=np.full(n_columns, start), svd_method="lapack").fit(rows)
    return Factors(model.mean_, model.components_, model.noise_variance_)


def equal_noise(rows: np.ndarray, q: int) -> float:
    """Noise variance of probabilistic principal components: the mean of the eigenvalues beyond the first q."""
    centred = rows - rows.mean(axis=0)
    products = centred @ centred.T if len(rows) < rows.shape[1] else centred.T @ centred
    eigenvalues = np.linalg.eigvalsh(products)[::-1] / len(rows)
    left_over = eigenvalues[q:].sum() / max(rows.shape[1] - q, 1)
    return float(max(left_over, 1e-6 * eigenvalues.sum() / rows.shape[1], np.finfo(float).tiny))


def simulate_factor_classes(
    X: "ArrayLike",
    y: "ArrayLike",
    n_factors: int = 5,
    n_per_class: int = 100,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Draw rows that look like those of a table, class by class, from a factor model of each.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Table to learn from.
    y : array-like of shape (n_samples,)
        Its classes, with two rows or more each.
    n_factors : int, default=5
        Factors of each class; fewer for a class with no more rows than that.
    n_per_class : int, default=100
        Rows to draw for each class.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Returns
    -------
    problem : Problem
        The rows drawn, class by class. ``truth`` holds ``means`` (n_classes, n_features), ``loadings`` (for each class,
        of shape (n_factors, n_features)) and ``noise`` (n_classes, n_features), the variances that the factors leave.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fewer.datasets import simulate_factor_classes
    >>> X, y = load_iris(return_X_y=True)
    >>> drawn = simulate_factor_classes(X, y, n_factors=2, n_per_class=1000, random_state=0)
    >>> drawn.X[drawn.y == 2].mean(axis=0).round(1), X[y == 2].mean(axis=0).round(1)
    (array([6.6, 3. , 5.6, 2. ]), array([6.6, 3. , 5.6, 2. ]))
    """
    from sklearn.utils import check_random_state, check_X_y

    if n_factors < 1 or n_per_class < 1:
        raise ValueError(f"n_factors={n_factors} and n_per_class={n_per_class} must both be at least 1.")
    table, labels = check_X_y(X, y, dtype=np.float64)
    classes, counts = np.unique(labels, return_counts=True)
    if counts.min() < 2:
        raise ValueError(f"class '{classes[counts.argmin()]}' has one row, and a spread takes two or more.")
    rng = check_random_state(random_state)
    models = [fitted_factors(table[labels == label], n_factors) for label in classes]
    truth: dict[str, Any] = {
        "means": np.stack([model.mean for model in models]),
        "loadings": [model.loadings for model in models],
        "noise": np.stack([model.noise for model in models]),
    }
    rows = np.vstack([drawn_rows(model, n_per_class, rng) for model in models])
    return Problem(rows, np.repeat(classes, n_per_class), truth)


def drawn_rows(model: Factors, n_rows: int, rng: "RandomState") -> np.ndarray:
    """Rows of one class."""
    factors = rng.normal(size=(n_rows, len(model.loadings)))
    noise = rng.normal(size=(n_rows, len(model.mean))) * np.sqrt(model.noise)
    return model.mean + factors @ model.loadings + noise
