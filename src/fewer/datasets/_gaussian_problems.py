"""Problems drawn from normal distributions.

`make_gaussian`
    Draws from a normal distribution with a known covariance: ``x = m + V diag(sqrt(l)) z``.

    ``V`` holds the eigenvectors of the covariance, ``l`` its eigenvalues, and ``z`` is standard normal. Principal
    component analysis should recover ``V`` and ``l``.

`make_two_gaussians`
    Two spherical normal classes: ``x | y ~ N(y mu, I)`` with ``y`` in {-1, +1}, both equally likely.

    ``|mu_j|`` says how much column j tells about the class. With few rows, columns that tell little do harm even
    though they are independent of each other and none is pure noise. No rule errs less than ``Phi(-||mu||)``.

`make_twonorm`
    Two unit normals whose means lie at plus and minus ``(2 / sqrt(20)) (1, ..., 1)`` in 20 dimensions (twonorm).

    The best rule is linear and weighs all columns alike, so anything that weighs them differently over-fits.

`make_four_gaussians`
    Two classes of two round normal clouds each, in the plane.

        x | c ~ N(centre_c, 0.04 I),    c one of four, equally likely

    The classes overlap, their border is curved, and the best rule is known: an endless supply of data for watching
    how the choice of hyper-parameters over-fits.

`make_gaussian_design`
    Normal rows whose columns are correlated, ``x ~ N(0, Sigma)``, of the kinds that theory speaks about.

    Toeplitz: ``Sigma_ij = a^|i - j|``. Spiked identity: ``Sigma = (1 - a) I + a 11'``. Degenerate: rows from the
    covariance of a first sample, whose rank is at most the number of its rows.

`make_sparsified_gaussian`
    Random measurements of which most entries are zero: ``y = X beta + w``.

    An entry of ``X`` is zero with probability ``1 - density`` and otherwise N(0, 1 / density), so that its variance
    is 1 (scaled); unscaled, it is N(0, 1). The noise shrinks and grows with the entries, so both scales are the
    same problem.
"""

from math import isqrt
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import sparse
from scipy.linalg import toeplitz

from fewer.datasets._problem import Problem

if TYPE_CHECKING:
    from numpy.random import RandomState
    from numpy.typing import ArrayLike

CENTRES = np.array([[0.4, 0.7], [-0.3, 0.7], [-0.7, 0.3], [0.3, 0.3]])
CLASSES = np.array([1, 1, -1, -1])
VARIANCE = 0.04
# Integral of the smaller of the two class densities, by the midpoint rule with steps of 0.0005.
BAYES_ERROR = 0.12372


def make_gaussian(
    n_samples: int = 1000,
    mean: "ArrayLike" = (0.0, 5.0, 2.0),
    cov: "ArrayLike" = ((25.0, -1.0, 7.0), (-1.0, 4.0, -4.0), (7.0, -4.0, 10.0)),
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Rows from one normal distribution, with its principal directions.

    Parameters
    ----------
    n_samples : int, default=1000
        Rows.
    mean : array-like of shape (n_features,), default=(0, 5, 2)
        Mean of the distribution.
    cov : array-like of shape (n_features, n_features)
        Its covariance, symmetric and with no negative eigenvalue. The default has the eigenvalues 28.0, 9.26 and 1.74.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Returns
    -------
    problem : Problem
        No target. ``truth`` holds ``mean``, ``covariance``, ``eigenvalues`` (largest first) and ``directions``, one row
        for each eigenvalue as in ``components_`` of scikit-learn's PCA, its largest entry in absolute value positive.

    Examples
    --------
    >>> from fewer.datasets import make_gaussian
    >>> X, y, truth = make_gaussian(n_samples=100_000, random_state=0)
    >>> truth["eigenvalues"].round(3)
    array([28.004,  9.261,  1.735])
    >>> X.var(axis=0).round(0)
    array([25.,  4., 10.])
    """
    from sklearn.utils import check_random_state

    mean = np.asarray(mean, dtype=float)
    covariance = np.asarray(cov, dtype=float)
    if mean.ndim != 1 or covariance.shape != (len(mean), len(mean)):
        raise ValueError(f"cov of shape {covariance.shape} does not match a mean of shape {mean.shape}.")
    if not np.allclose(covariance, covariance.T):
        raise ValueError("cov must be symmetric; use (cov + cov.T) / 2.")
    eigenvalues, directions = _eigen(covariance)
    rounding = len(mean) * np.finfo(float).eps * max(eigenvalues[0], 0.0)
    if eigenvalues[-1] < -rounding:
        raise ValueError(f"cov has the negative eigenvalue {eigenvalues[-1]:.3g}, so it is not positive semidefinite.")
    # Rounding leaves an eigenvalue of 0 on either side of it, and the root of 1e-16 is 1e-8.
    eigenvalues = np.where(eigenvalues > rounding, eigenvalues, 0.0)
    standard = check_random_state(random_state).normal(size=(n_samples, len(mean)))
    truth = {"mean": mean, "covariance": covariance, "eigenvalues": eigenvalues, "directions": directions}
    return Problem(mean + (standard * np.sqrt(eigenvalues)) @ directions, None, truth)


def _eigen(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, largest first, and eigenvectors as rows with a fixed sign."""
    eigenvalues, vectors = np.linalg.eigh(covariance)
    directions = vectors.T[::-1]
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)
    return eigenvalues[::-1], directions * np.sign(largest)


def make_two_gaussians(
    n_samples: int = 100,
    mu: "ArrayLike | None" = None,
    balanced: bool = True,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Rows of two normal classes that differ in their means alone.

    Parameters
    ----------
    n_samples : int, default=100
        Rows, at least 2.
    mu : array-like of shape (n_features,), default=None
        Mean of the class +1; that of the class -1 is ``-mu``. By default ``mu_j = 1 / j`` for 1,000 columns.
    balanced : bool, default=True
        Whether both classes have ``n_samples / 2`` rows, up to one. Otherwise each row's class is a fair coin.
    random_state : int, RandomState instance or None, default=None
        Draws the order of the classes, then the rows.

    Returns
    -------
    problem : Problem
        ``y`` is -1 or +1. ``truth`` holds ``mu``, ``ranking`` (1 is the column with the largest ``|mu_j|``) and
        ``bayes_error``, the error of the best rule that there is.

    References
    ----------
    .. [1] Navot, A., Gilad-Bachrach, R., Navot, Y. & Tishby, N. (2006). Is feature selection still necessary? In
       Subspace, Latent Structure and Feature Selection, LNCS 3940, 127-138.

    Examples
    --------
    >>> from fewer.datasets import make_two_gaussians
    >>> X, y, truth = make_two_gaussians(n_samples=50, mu=[1.0, 0.5, 0.0], random_state=0)
    >>> X.shape, int(y.sum())
    ((50, 3), 0)
    >>> round(truth["bayes_error"], 4)
    0.1318
    """
    from scipy.special import ndtr
    from sklearn.utils import check_random_state

    mu = 1 / np.arange(1.0, 1001.0) if mu is None else np.asarray(mu, dtype=float)
    if mu.ndim != 1 or mu.size == 0 or not np.isfinite(mu).all():
        raise ValueError(f"mu of shape {mu.shape} must be one finite number for each column.")
    if n_samples < 2:
        raise ValueError(f"n_samples={n_samples} must be at least 2, a row for each class.")
    random = check_random_state(random_state)
    if balanced:
        y = random.permutation(np.where(np.arange(n_samples) % 2, -1, 1))
    else:
        y = random.choice([-1, 1], size=n_samples)
    X = random.normal(size=(n_samples, mu.size))
    X += y[:, None] * mu
    ranking = np.empty(mu.size, dtype=int)
    ranking[np.argsort(-np.abs(mu), kind="stable")] = np.arange(1, mu.size + 1)
    return Problem(X, y, {"mu": mu, "ranking": ranking, "bayes_error": float(ndtr(-np.linalg.norm(mu)))})


def make_twonorm(
    n_samples: int = 400, n_features: int = 20, random_state: "int | RandomState | None" = None
) -> Problem:
    """Rows of the benchmark twonorm.

    Parameters
    ----------
    n_samples : int, default=400
        Rows.
    n_features : int, default=20
        Columns; the class means are always 4 apart.
    random_state : int, RandomState instance or None, default=None
        Draws the class of each row by a fair coin, then the rows.

    Returns
    -------
    problem : Problem
        ``y`` is -1 or +1. ``truth`` is that of :func:`make_two_gaussians`: ``mu``, ``ranking`` and ``bayes_error``.

    References
    ----------
    .. [1] Breiman, L. (1996). Bias, variance, and arcing classifiers. Technical report 460, University of California,
       Berkeley.

    Examples
    --------
    >>> from fewer.datasets import make_twonorm
    >>> X, y, truth = make_twonorm(random_state=0)
    >>> X.shape, round(truth["bayes_error"], 4)
    ((400, 20), 0.0228)
    """
    if n_features < 1:
        raise ValueError(f"n_features={n_features}: there must be at least one column.")
    mu = np.full(n_features, 2 / np.sqrt(n_features))
    return make_two_gaussians(n_samples, mu, balanced=False, random_state=random_state)


def make_four_gaussians(n_samples: int = 256, random_state: "int | RandomState | None" = None) -> Problem:
    """Rows of the synthetic benchmark for over-fitting in model selection.

    Parameters
    ----------
    n_samples : int, default=256
        Rows.
    random_state : int, RandomState instance or None, default=None
        Draws the cloud of each row, then the rows.

    Returns
    -------
    problem : Problem
        ``y`` is -1 or +1. ``truth`` holds ``centres`` (those of the class +1 first), ``variance``, ``posterior`` (the
        probability of the class +1 for each row) and ``bayes_error``, the error of the best rule that there is.

    References
    ----------
    .. [1] Cawley, G. C. & Talbot, N. L. C. (2010). On over-fitting in model selection and subsequent selection bias in
       performance evaluation. Journal of Machine Learning Research 11, 2079-2107.

    Examples
    --------
    >>> from fewer.datasets import make_four_gaussians
    >>> X, y, truth = make_four_gaussians(n_samples=100_000, random_state=0)
    >>> best_rule = (truth["posterior"] > 0.5) == (y > 0)
    >>> round(1 - float(best_rule.mean()), 2), round(truth["bayes_error"], 4)
    (0.12, 0.1237)
    """
    from sklearn.utils import check_random_state

    random = check_random_state(random_state)
    clouds = random.randint(len(CENTRES), size=n_samples)
    X = CENTRES[clouds] + np.sqrt(VARIANCE) * random.normal(size=(n_samples, 2))
    truth = {
        "centres": CENTRES.copy(),
        "variance": VARIANCE,
        "posterior": _posterior(X),
        "bayes_error": BAYES_ERROR,
    }
    return Problem(X, CLASSES[clouds], truth)


def _posterior(X: np.ndarray) -> np.ndarray:
    """Probability of the class +1, given the row."""
    squared_distances = ((X[:, None, :] - CENTRES) ** 2).sum(axis=2)
    # Taking off the smallest keeps rows far from all centres from dividing 0 by 0.
    densities = np.exp((squared_distances.min(axis=1, keepdims=True) - squared_distances) / (2 * VARIANCE))
    return densities[:, CLASSES > 0].sum(axis=1) / densities.sum(axis=1)


def make_gaussian_design(
    n_samples: int = 100,
    n_features: int = 200,
    cov: "str | ArrayLike" = "toeplitz",
    a: float = 0.5,
    *,
    degenerate: bool = False,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Rows from a normal distribution with correlated columns.

    Parameters
    ----------
    n_samples : int, default=100
        Rows.
    n_features : int, default=200
        Columns.
    cov : {"toeplitz", "spiked", "identity"} or array-like of shape (n_features, n_features), default="toeplitz"
        Covariance of the columns: correlations that die off with the distance, the same between any two, none, or a
        matrix of your own.
    a : float, default=0.5
        Correlation of neighbours ("toeplitz", between -1 and 1), or of any two ("spiked", from 0 to below 1).
    degenerate : bool, default=False
        Draw ``n_samples`` rows first and use their covariance, whose rank is at most ``n_samples``, for those returned.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Returns
    -------
    problem : Problem
        No target. ``truth`` holds ``covariance``, that of the distribution which the rows are from.

    References
    ----------
    .. [1] Raskutti, G., Wainwright, M. J. and Yu, B. (2010). Restricted eigenvalue properties for correlated Gaussian
       designs. JMLR 11, 2241-2259.

    Examples
    --------
    >>> from fewer.datasets import make_gaussian_design
    >>> make_gaussian_design(50, 4, "spiked", a=0.3, random_state=0).truth["covariance"]
    array([[1. , 0.3, 0.3, 0.3],
           [0.3, 1. , 0.3, 0.3],
           [0.3, 0.3, 1. , 0.3],
           [0.3, 0.3, 0.3, 1. ]])
    """
    from sklearn.utils import check_random_state

    draws = check_random_state(random_state)
    covariance = _covariance(cov, n_features, a)
    if degenerate:
        first = _rows(covariance, n_samples, draws)
        covariance = first.T @ first / n_samples
    return Problem(_rows(covariance, n_samples, draws), None, {"covariance": covariance})


def _covariance(cov: "str | ArrayLike", n_features: int, a: float) -> np.ndarray:
    if not isinstance(cov, str):
        given = np.asarray(cov, dtype=float)
        if given.shape != (n_features, n_features) or not np.allclose(given, given.T):
            raise ValueError(
                f"cov of shape {given.shape} must be symmetric, with n_features ({n_features}) rows and columns."
            )
        return given
    if cov == "identity":
        return np.eye(n_features)
    if cov == "toeplitz":
        if not -1 < a < 1:
            raise ValueError(f"a={a}: a correlation of neighbours lies between -1 and 1.")
        return toeplitz(float(a) ** np.arange(n_features))
    if cov == "spiked":
        if not 0 <= a < 1:
            raise ValueError(f"a={a}: a correlation that any two of many columns share lies from 0 to below 1.")
        return (1 - a) * np.eye(n_features) + a
    raise ValueError(f"cov={cov!r} is not known; choose 'toeplitz', 'spiked', 'identity', or give a matrix.")


def _rows(covariance: np.ndarray, n_samples: int, draws) -> np.ndarray:
    eigenvalues, vectors = np.linalg.eigh(covariance)
    if eigenvalues[0] < -1e-10 * max(eigenvalues[-1], 0.0):
        raise ValueError(f"cov has the negative eigenvalue {eigenvalues[0]:.3g}, so it is not positive semidefinite.")
    # Rounding leaves an eigenvalue of 0 on either side of it, and the root of 1e-16 is 1e-8.
    rounding = len(covariance) * np.finfo(float).eps * eigenvalues[-1]
    root = vectors * np.sqrt(np.where(eigenvalues > rounding, eigenvalues, 0.0))
    return draws.normal(size=(n_samples, len(covariance))) @ root.T


def make_sparsified_gaussian(
    n_samples: int = 400,
    n_features: int = 512,
    density: float = 0.14,
    *,
    scaled: bool = True,
    distribution: Literal["normal", "sign"] = "normal",
    coef: "ArrayLike | None" = None,
    noise: float = 0.25,
    dense_output: bool = False,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Sparse random measurements of a sparse vector.

    Parameters
    ----------
    n_samples : int, default=400
        Measurements (rows).
    n_features : int, default=512
        Columns.
    density : float, default=0.14
        Probability that an entry is not zero, above 0 and at most 1.
    scaled : bool, default=True
        Whether entries have variance 1 whatever the density; otherwise those that are not zero have.
    distribution : {"normal", "sign"}, default="normal"
        What entries that are not zero are: normal, or plus and minus one value with equal chance.
    coef : array-like of shape (n_features,) or None, default=None
        The vector that is measured; by default 1 for the first ``sqrt(n_features)`` columns and 0 for the others.
    noise : float, default=0.25
        Standard deviation of the noise, in units of an entry that is not zero.
    dense_output : bool, default=False
        Whether ``X`` is an array, not a sparse matrix in CSR form.
    random_state : int, RandomState instance or None, default=None
        Draws the places, the entries and the noise.

    Returns
    -------
    problem : Problem
        ``truth`` holds ``coef``, its ``support`` and the ``noise`` vector.

    References
    ----------
    .. [1] Omidiran, D. and Wainwright, M. J. (2010). High-dimensional variable selection with sparse random
       projections: measurement sparsity and statistical efficiency. JMLR 11, 2361-2386.

    Examples
    --------
    >>> from fewer.datasets import make_sparsified_gaussian
    >>> make_sparsified_gaussian(random_state=0)
    Problem: 400 rows x 512 columns, numeric target
      truth['coef']: array 512
      truth['support']: array 22
      truth['noise']: array 400
    """
    from sklearn.utils import check_random_state

    if not 0 < density <= 1:
        raise ValueError(f"density={density}: the share of non-zero entries must be above 0 and at most 1.")
    if distribution not in ("normal", "sign"):
        raise ValueError(f"distribution={distribution!r} is not known; choose 'normal' or 'sign'.")
    measured = np.asarray(coef, dtype=float) if coef is not None else np.repeat(
        [1.0, 0.0], [isqrt(n_features), n_features - isqrt(n_features)]
    )  # fmt: skip
    if measured.shape != (n_features,):
        raise ValueError(f"coef of shape {measured.shape} does not match n_features={n_features}.")
    rng = np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    size = 1 / np.sqrt(density) if scaled else 1.0
    places = _places(n_samples * n_features, density, rng)
    entries = rng.normal(size=places.size) if distribution == "normal" else rng.choice([-1.0, 1.0], places.size)
    starts = np.searchsorted(places, np.arange(n_samples + 1) * n_features)
    X = sparse.csr_array((size * entries, places % n_features, starts), shape=(n_samples, n_features))
    errors = size * noise * rng.normal(size=n_samples)
    truth = {"coef": measured, "support": np.flatnonzero(measured), "noise": errors}
    return Problem(X.toarray() if dense_output else X, X @ measured + errors, truth)


def _places(n_entries: int, density: float, rng: np.random.Generator) -> np.ndarray:
    """Which entries are not zero, in order: the gaps between them are geometric."""
    places = np.empty(0, dtype=np.int64)
    last = -1
    while last < n_entries:
        left = n_entries - last
        gaps = rng.geometric(density, size=int(left * density + 5 * np.sqrt(left * density) + 10))
        places = np.concatenate([places, last + np.cumsum(gaps)])
        last = int(places[-1])
    return places[places < n_entries]
