"""Problems of classification whose relevant columns are known.

`make_five_classes`
    Five classes and four columns, of which the one that is worst by itself belongs to the best pair.

    Row i of class c is ``x_i = m_c + e_i`` with standard normal noise e. The means of x1 keep all classes apart but
    the last two, which x4 alone tells apart; x2 and x3 only repeat what x1 knows.

`make_friedman_classes`
    Friedman's regression function as two classes: an interaction, a parabola, two lines, and irrelevant columns.

    ``x ~ U[0, 1]^p``, ``r = 10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5 + e`` with ``e ~ N(0, noise^2)``, and
    the class is whether r is above a threshold.

`make_waveform`
    Noisy mixtures of two of three triangular waves: ``x = u h_a + (1 - u) h_b + e``, the class being the pair (a,
    b).

    ``h_1``, ``h_2`` and ``h_3`` have height 6 and are centred at 7, 15 and 11 on the points 1 to 21, ``u`` is
    uniform on [0, 1] and ``e`` standard normal. Columns of pure noise follow. Breiman et al. (1984).

`make_simple_relevance`
    Two classes by a quadratic and a linear column, among columns that have nothing to do with them.

    ``x ~ U[0, 1]^p``, and the class is whether ``x1^2 + 2 x2`` is above its median in the sample.

`make_gene_blocks`
    Three classes in blocks of correlated columns, two of them close to each other and far from the third.

    Column j of block b is ``m_cb + sqrt(r) u_b + sqrt(1 - r) e_j`` in class c, with standard normal u and e:
    variance 1, and correlation r within a block. Eighteen blocks have means other than zero. Only the first two
    tell the classes A and B apart, while most of the others set class C apart, and far.

    Yu, G. et al. (2010). Matched gene selection and committee classifier for molecular classification of
    heterogeneous diseases. Journal of Machine Learning Research 11, 2141-2167 (design I).

`make_local_borders`
    Two classes in three normal components, each with a linear border of its own.

    Components have weight 1/3 and means (-3, 0), (1, 0) and (5, 0). In component k the class is whether
    ``x2 > w_k x1 + b_k``, so that the border of the whole is not linear.

    Wang, C. et al. (2010). Classification with incomplete data using Dirichlet process priors. Journal of Machine
    Learning Research 11, 3269-3311.

`simulate_factor_classes`
    New rows like those of a table, class by class, from a factor model: ``t = mu + W z + e``.

    In each class, ``z`` is standard normal with q entries and ``e`` normal with a variance psi_j for each column.
    ``mu`` is the class mean; W and psi maximise the likelihood of the class's rows, by expectation-maximisation
    that starts with equal variances (probabilistic principal components).

    Yu, G. et al. (2010). Matched gene selection and committee classifier for molecular classification of
    heterogeneous diseases. Journal of Machine Learning Research 11, 2141-2167 (design II).
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fewer.datasets._problem import Problem

if TYPE_CHECKING:
    from numpy.random import RandomState
    from numpy.typing import ArrayLike

_FIVE_CLASS_MEANS = np.array(
    [
        [0.0, 0.0, 0.0, 0.0],
        [4.0, 0.0, 4.0, 0.0],
        [8.0, 4.0, 4.0, 0.0],
        [12.0, 8.0, 8.0, -2.5],
        [12.0, 8.0, 8.0, 2.5],
    ]
)
_CENTRES = (7, 15, 11)
_N_POINTS = 21
_PAIRS = np.array([(0, 1), (0, 2), (1, 2)])
_BLOCK_MEANS = np.array(
    [
        [2.8, 1, 2, 0.5, 0, 2, 2, 1, 2, 3, 2, 2, 2, 0.5, 0, 1, 3, 0.1],
        [1, 2.8, 2, 0.5, 0, 2, 2, 1, 2, 3, 2, 2, 2, 0.5, 0, 1, 3, 0.1],
        [1, 1, 14.4, 8.5, 8, 10, 10, 9, 10, 3, 10, 10, 10, 8.5, 8, 9, 11, 7.1],
    ]
)

_TILTED_DOWN = [[0.52, -0.36], [-0.36, 0.73]]
_LOCAL_MEANS = np.array([[-3.0, 0.0], [1.0, 0.0], [5.0, 0.0]])
_LOCAL_COVARIANCES = np.array([_TILTED_DOWN, [[0.47, 0.19], [0.19, 0.7]], _TILTED_DOWN])
_LOCAL_BORDERS = np.array([[0.75, 2.25], [-0.58, 0.58], [0.75, -3.75]])


def make_five_classes(
    n_per_class: int = 60, noise: float = 1.0, random_state: "int | RandomState | None" = None
) -> Problem:
    """Five classes whose best pair of columns holds the worst single column.

    Parameters
    ----------
    n_per_class : int, default=60
        Rows of each class.
    noise : float, default=1.0
        Standard deviation of every column within a class.
    random_state : int, RandomState instance or None, default=None
        Draws the noise.

    Returns
    -------
    problem : Problem
        Four columns, classes 1 to 5 in order. ``truth`` holds ``means`` (n_classes, n_features) and ``best_pair``, the
        columns (0, 3) that keep all classes apart.

    Examples
    --------
    >>> from fewer.datasets import make_five_classes
    >>> X, y, truth = make_five_classes(random_state=0)
    >>> X.shape, truth["best_pair"]
    ((300, 4), (0, 3))
    """
    from sklearn.utils import check_random_state

    if n_per_class < 1 or noise < 0:
        raise ValueError(f"n_per_class={n_per_class} must be at least 1, and noise={noise} must not be negative.")
    y = np.repeat(np.arange(1, 6), n_per_class)
    X = _FIVE_CLASS_MEANS[y - 1] + noise * check_random_state(random_state).normal(size=(len(y), 4))
    return Problem(X, y, {"means": _FIVE_CLASS_MEANS.copy(), "best_pair": (0, 3)})


def make_friedman_classes(
    n_samples: int = 300,
    n_features: int = 10,
    noise: float = 1.0,
    threshold: float = 14.0,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Two classes by Friedman's function of five columns, among irrelevant ones.

    Parameters
    ----------
    n_samples : int, default=300
        Rows.
    n_features : int, default=10
        Columns; the first five are relevant.
    noise : float, default=1.0
        Standard deviation of the noise that is added to the function.
    threshold : float, default=14.0
        Class 1 is above it.
    random_state : int, RandomState instance or None, default=None
        Draws the table and the noise.

    Returns
    -------
    problem : Problem
        Uniform columns and classes 0 and 1. ``truth`` holds ``support`` (n_features,), True for the relevant columns,
        and ``response`` (n_samples,), the function with noise.

    See Also
    --------
    sklearn.datasets.make_friedman1 : The same function for regression.

    Examples
    --------
    >>> from fewer.datasets import make_friedman_classes
    >>> X, y, truth = make_friedman_classes(random_state=0)
    >>> X.shape, truth["support"].nonzero()[0].tolist()
    ((300, 10), [0, 1, 2, 3, 4])
    """
    from sklearn.utils import check_random_state

    if n_samples < 1 or n_features < 5 or noise < 0:
        raise ValueError(
            f"n_samples={n_samples} must be at least 1, n_features={n_features} at least 5, and noise={noise} must not "
            "be negative."
        )
    rng = check_random_state(random_state)
    X = rng.uniform(size=(n_samples, n_features))
    response = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    response += noise * rng.normal(size=n_samples)
    return Problem(X, (response > threshold).astype(int), {"support": np.arange(n_features) < 5, "response": response})


def make_waveform(n_samples: int = 5000, n_noise: int = 19, random_state: "int | RandomState | None" = None) -> Problem:
    """Noisy mixtures of two of three triangular waves, and columns of pure noise.

    Parameters
    ----------
    n_samples : int, default=5000
        Rows.
    n_noise : int, default=19
        Columns of pure noise after the 21 points of the wave.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Returns
    -------
    problem : Problem
        ``y`` is 0, 1 or 2, for the waves (1, 2), (1, 3) and (2, 3). ``truth`` holds ``waves`` (3 x 21) and
        ``support``, True for the columns that tell about the class: all points but the first and the last, where
        every wave is 0.

    Notes
    -----
    The best possible rule is right for about 86% of rows [1]_.

    References
    ----------
    .. [1] Breiman, L., Friedman, J., Olshen, R. & Stone, C. (1984). Classification and regression trees. Wadsworth.

    Examples
    --------
    >>> from fewer.datasets import make_waveform
    >>> X, y, truth = make_waveform(n_samples=300, random_state=0)
    >>> X.shape, int(truth["support"].sum())
    ((300, 40), 19)
    """
    from sklearn.utils import check_random_state

    if n_samples < 1 or n_noise < 0:
        raise ValueError(f"n_samples={n_samples} must be at least 1, and n_noise={n_noise} at least 0.")
    rng = check_random_state(random_state)
    points = np.arange(1, _N_POINTS + 1)
    waves = np.maximum(6.0 - np.abs(points - np.array(_CENTRES)[:, None]), 0.0)
    y = rng.randint(3, size=n_samples)
    share = rng.uniform(size=(n_samples, 1))
    first, second = waves[_PAIRS[y, 0]], waves[_PAIRS[y, 1]]
    X = rng.normal(size=(n_samples, _N_POINTS + n_noise))
    X[:, :_N_POINTS] += share * first + (1 - share) * second
    support = np.concatenate([waves.any(axis=0), np.zeros(n_noise, dtype=bool)])
    return Problem(X, y, {"waves": waves, "support": support})


def make_simple_relevance(
    n_samples: int = 300, n_features: int = 9, random_state: "int | RandomState | None" = None
) -> Problem:
    """Two relevant columns, the second with more influence, among irrelevant ones.

    Parameters
    ----------
    n_samples : int, default=300
        Rows.
    n_features : int, default=9
        Columns; the first two are relevant.
    random_state : int, RandomState instance or None, default=None
        Draws the table.

    Returns
    -------
    problem : Problem
        Uniform columns and classes 0 and 1, half of the rows each. ``truth`` holds ``support`` (n_features,), True for
        the relevant columns.

    Examples
    --------
    >>> from fewer.datasets import make_simple_relevance
    >>> X, y, truth = make_simple_relevance(random_state=0)
    >>> X.shape, int(y.sum()), truth["support"].nonzero()[0].tolist()
    ((300, 9), 150, [0, 1])
    """
    from sklearn.utils import check_random_state

    if n_samples < 2 or n_features < 2:
        raise ValueError(f"n_samples={n_samples} and n_features={n_features} must both be at least 2.")
    X = check_random_state(random_state).uniform(size=(n_samples, n_features))
    response = X[:, 0] ** 2 + 2 * X[:, 1]
    y = (response > np.median(response)).astype(int)
    return Problem(X, y, {"support": np.arange(n_features) < 2})


def make_gene_blocks(
    n_per_class: int = 20,
    n_blocks: int = 1000,
    block_size: int = 5,
    correlation: float = 0.9,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Three classes in blocks of correlated columns, where a few columns separate two neighbours.

    Parameters
    ----------
    n_per_class : int, default=20
        Rows of each class.
    n_blocks : int, default=1000
        Blocks of columns; the first 18 have means other than zero.
    block_size : int, default=5
        Columns of a block.
    correlation : float, default=0.9
        Correlation of two columns of a block.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Returns
    -------
    problem : Problem
        On the log scale, with the classes "A", "B" and "C". ``truth`` holds ``means`` (n_classes, n_features),
        ``support`` (the columns whose class means differ), ``markers`` (for each class, the columns that are higher in
        it than in any other) and ``bayes_error``, the smallest error there is when the classes are equally frequent; C
        is so far away that only A and B are mistaken for each other.

    Examples
    --------
    >>> from fewer.datasets import make_gene_blocks
    >>> X, y, truth = make_gene_blocks(random_state=0)
    >>> X.shape, round(truth["bayes_error"], 4)
    ((60, 5000), 0.0615)
    >>> truth["markers"]["B"]
    array([5, 6, 7, 8, 9])
    """
    from scipy.special import ndtr
    from sklearn.utils import check_random_state

    if n_per_class < 1 or block_size < 1 or n_blocks < _BLOCK_MEANS.shape[1]:
        raise ValueError(
            f"n_per_class={n_per_class} and block_size={block_size} must be at least 1, and n_blocks={n_blocks} at "
            f"least {_BLOCK_MEANS.shape[1]}, the number of blocks with means of their own."
        )
    if not 0 <= correlation < 1:
        raise ValueError(f"correlation={correlation} must be at least 0 and less than 1.")
    rng = check_random_state(random_state)
    means = np.zeros((3, n_blocks, block_size))
    means[:, : _BLOCK_MEANS.shape[1]] = _BLOCK_MEANS[:, :, None]
    n_rows = 3 * n_per_class
    X = np.sqrt(1 - correlation) * rng.normal(size=(n_rows, n_blocks, block_size))
    X += np.sqrt(correlation) * rng.normal(size=(n_rows, n_blocks, 1))
    X += np.repeat(means, n_per_class, axis=0)
    class_means = means.reshape(3, -1)
    highest = class_means > np.sort(class_means, axis=0)[1]
    # Five columns of a block tell as much as one with this many times the signal.
    gain = block_size / (1 + (block_size - 1) * correlation)
    distance = np.sqrt(gain * ((_BLOCK_MEANS[0] - _BLOCK_MEANS[1]) ** 2).sum())
    truth = {
        "means": class_means,
        "support": np.flatnonzero(np.ptp(class_means, axis=0) > 0),
        "markers": {label: np.flatnonzero(row) for label, row in zip("ABC", highest, strict=True)},
        "bayes_error": float(2 / 3 * ndtr(-distance / 2)),
    }
    return Problem(X.reshape(n_rows, -1), np.repeat(["A", "B", "C"], n_per_class), truth)


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


def make_local_borders(
    n_samples: int = 300, mirrored: bool = False, random_state: "int | RandomState | None" = None
) -> Problem:
    """Two classes in three normal components, each with a linear border of its own.

    Parameters
    ----------
    n_samples : int, default=300
        Rows.
    mirrored : bool, default=False
        Whether the second column changes its sign, after the classes are set.
    random_state : int, RandomState instance or None, default=None
        Draws the components and the rows.

    Returns
    -------
    problem : Problem
        Two columns, and classes 0 and 1. ``truth`` holds ``components`` (n_samples,), ``means`` (3, 2), ``covariances``
        (3, 2, 2) and ``borders`` (3, 2), the slope and intercept of each.

    Examples
    --------
    >>> from fewer.datasets import make_local_borders
    >>> X, y, truth = make_local_borders(random_state=0)
    >>> X.shape, len(truth["borders"])
    ((300, 2), 3)
    """
    from sklearn.utils import check_random_state

    if n_samples < 1:
        raise ValueError(f"n_samples={n_samples} must be at least 1.")
    rng = check_random_state(random_state)
    components = rng.randint(3, size=n_samples)
    noise = rng.normal(size=(n_samples, 2, 1))
    X = _LOCAL_MEANS[components] + (np.linalg.cholesky(_LOCAL_COVARIANCES)[components] @ noise)[:, :, 0]
    slopes, intercepts = _LOCAL_BORDERS[components].T
    y = (X[:, 1] > slopes * X[:, 0] + intercepts).astype(int)
    sign = -1.0 if mirrored else 1.0
    signs = np.array([1.0, sign])
    truth = {
        "components": components,
        "means": _LOCAL_MEANS * signs,
        "covariances": _LOCAL_COVARIANCES * np.outer(signs, signs),
        "borders": _LOCAL_BORDERS * sign,
    }
    return Problem(X * signs, y, truth)


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
        raise ValueError(f"class '{classes[counts.argmin()]}' has one row, but a variance needs two or more.")
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
