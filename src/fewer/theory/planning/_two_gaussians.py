"""Two normal classes: the error of the mean-difference rule and its best number of columns, and the cheapest plane.

*Mean-difference rule*: rows are ``x | y ~ N(y mu, I)``, y = -1 or +1. From m of them comes ``mu_hat = mean(y_i x_i) ~
N(mu, I / m)``, and the rule is ``sign(mu_hat . x)`` on the n columns of largest ``|mu_j|``. Given ``mu_hat`` it errs
with probability ``Phi(-mu_hat . mu / ||mu_hat||)``. On average over training sets, with ``s_n = mu_1^2 + ... +
mu_n^2``, this is about

    Phi(-f),    f = s_n / sqrt(n / m + s_n)

when expectations are moved inside, and exactly

    1/2 - (1 / pi) int_0^{pi/2} cos^n(t) exp(-(m + 1) s_n sin^2(t) / 2) g(t) dt,
    g(t) = sin(sqrt(m) s_n sin(t) cos(t)) / (sin(t) cos(t)),

because ``2 sqrt(m) mu_hat . x`` is the difference of two independent noncentral chi-squares with n degrees of freedom,
whose characteristic function is inverted. The best number of columns is ``argmax_n f`` with
``|mu_1| >= |mu_2| >= ...``.

*Cheapest plane*, an exact baseline for linear classifiers with costs: for classes N(mu+, S+) and N(mu-, S-), the rule
``theta'x > b`` and costs that add up to 1 with the priors,

    R = pcf Phi((b - theta'mu+) / sqrt(theta'S+ theta)) + (1 - pcf) (1 - Phi((b - theta'mu-) / sqrt(theta'S- theta))).

Dmochowski, J., Sajda, P. and Parra, L. (2010). Maximum likelihood in cost-sensitive learning. JMLR 11, 3313-3332.
"""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from scipy.special import ndtr
from sklearn.utils import check_random_state

from fewer._figures import Result, mark_point
from fewer._kernels._scipy_solvers import minimize
from fewer.catalogue import method as card

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.random import RandomState
    from numpy.typing import ArrayLike

ErrorMethod = Literal["approx", "exact", "mc"]

_NODES = 200
_DRAWS_AT_ONCE = 4_000_000


def separation(n: np.ndarray, m: float, s: np.ndarray) -> np.ndarray:
    """``f(n, m)`` of the module's formula: the error is about ``Phi(-f)``. Zero where ``s`` is."""
    return np.divide(s, np.sqrt(n / m + s), out=np.zeros_like(s), where=s > 0)


def exact_error(n: np.ndarray, m: float, s: np.ndarray) -> np.ndarray:
    """The exact mean error by Gauss-Legendre quadrature, to about 1e-13."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    errors = np.empty(len(s))
    for start in range(0, len(s), 1000):  # keeps the grid of sizes and nodes small
        part = slice(start, start + 1000)
        size, strength = n[part, None].astype(float), s[part, None]
        # Beyond this angle the integrand has fallen below exp(-29).
        end = np.minimum(np.pi / 2, 12 / np.sqrt(size + (m + 1) * strength))
        angle = end * (nodes + 1) / 2
        decay = np.exp(size * np.log(np.cos(angle)) - (m + 1) * strength * np.sin(angle) ** 2 / 2)
        frequency = np.sqrt(m) * strength
        wave = frequency * np.sinc(frequency * np.sin(2 * angle) / (2 * np.pi))
        errors[part] = 0.5 - (decay * wave) @ weights * end[:, 0] / (2 * np.pi)
    return np.clip(errors, 0.0, 0.5)


def simulated_error(strengths: np.ndarray, m: float, n_draws: int, random: "RandomState") -> np.ndarray:
    """Mean error over drawn training sets, for every n at once by cumulative sums."""
    total = np.zeros(len(strengths))
    at_once = max(1, _DRAWS_AT_ONCE // len(strengths))
    for start in range(0, n_draws, at_once):
        drawn = random.normal(strengths, 1 / np.sqrt(m), size=(min(at_once, n_draws - start), len(strengths)))
        total += ndtr(-np.cumsum(drawn * strengths, axis=1) / np.sqrt(np.cumsum(drawn**2, axis=1))).sum(axis=0)
    return total / n_draws


@overload
def expected_error(mu: "ArrayLike", m: float, n: int, method: ErrorMethod = ..., **rest: Any) -> float: ...
@overload
def expected_error(
    mu: "ArrayLike", m: float, n: "ArrayLike | None" = ..., method: ErrorMethod = ..., **rest: Any
) -> np.ndarray: ...
def expected_error(mu, m, n=None, method="approx", *, n_draws=20_000, random_state=None):
    """Mean error of the rule that is trained on m rows of two normal classes and uses the n best columns.

    Parameters
    ----------
    mu : array-like of shape (n_features,)
        Half the distance between the two class means in each column, in units of the standard deviation within the
        classes. Sorted by absolute value here, largest first.
    m : float
        Rows of the training set.
    n : int or array-like of int, default=None
        Numbers of columns used. By default 1, 2, ... up to all.
    method : {"approx", "exact", "mc"}, default="approx"
        The formula of the paper, which moves the expectation inside and is off most at n = 1; the exact integral; or a
        simulation of training sets.
    n_draws : int, default=20000
        Training sets drawn for ``"mc"``.
    random_state : int, RandomState instance or None, default=None
        Draws them.

    Returns
    -------
    error : float or ndarray
        One number for an integer n, otherwise an array.

    References
    ----------
    .. [1] Navot, A., Gilad-Bachrach, R., Navot, Y. & Tishby, N. (2006). Is feature selection still necessary? In
       Subspace, Latent Structure and Feature Selection, LNCS 3940, 127-138.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.theory import expected_error
    >>> mu = 1 / np.arange(1, 1001)
    >>> expected_error(mu, m=100, n=[1, 10, 1000]).round(3)
    array([0.16 , 0.114, 0.315])
    >>> expected_error(mu, m=100, n=[1, 10, 1000], method="exact").round(3)
    array([0.159, 0.113, 0.315])
    """
    strengths = sorted_strengths(mu)
    m = checked_rows(m)
    sizes = np.arange(1, len(strengths) + 1) if n is None else _checked_sizes(n, len(strengths))
    s = np.cumsum(strengths**2)[sizes - 1]
    if method == "approx":
        errors = ndtr(-separation(sizes, m, s))
    elif method == "exact":
        errors = exact_error(sizes, m, s)
    elif method == "mc":
        from sklearn.utils import check_random_state

        if n_draws < 1:
            raise ValueError(f"n_draws={n_draws} training sets give no mean; draw at least one.")
        random = check_random_state(random_state)
        errors = simulated_error(strengths[: sizes.max()], m, n_draws, random)[sizes - 1]
    else:
        raise ValueError(f"method={method!r} is not known; choose 'approx', 'exact' or 'mc'.")
    return float(errors[0]) if isinstance(n, Integral) else errors


def linear_rule_error(coef: "ArrayLike", intercept: float, mu: "ArrayLike") -> float:
    """Exact error of a linear rule on two normal classes ``N(+-mu, I)``.

    The rule is ``sign(coef . x + intercept)``.

    Parameters
    ----------
    coef : array-like of shape (n_features,)
        Weights of the rule; with all of them zero it errs half of the time.
    intercept : float
        Its intercept.
    mu : array-like of shape (n_features,)
        Mean of the class +1; that of the class -1 is ``-mu``. In the order of ``coef``.

    Returns
    -------
    error : float
        Probability of a wrong answer when both classes are equally likely.

    Examples
    --------
    >>> from fewer.theory import linear_rule_error
    >>> round(linear_rule_error([2.0, 0.0], 0.0, mu=[1.0, 0.5]), 4)
    0.1587
    """
    weights, means = np.ravel(np.asarray(coef, dtype=float)), np.ravel(np.asarray(mu, dtype=float))
    if weights.shape != means.shape:
        raise ValueError(f"coef has {weights.size} weights and mu {means.size} means; every column needs one of each.")
    length = np.linalg.norm(weights)
    if length == 0:
        return 0.5
    signal, shift = weights @ means / length, float(np.ravel(intercept)[0]) / length
    return float(ndtr(-signal - shift) + ndtr(-signal + shift)) / 2


def sorted_strengths(mu: "ArrayLike") -> np.ndarray:
    """``|mu|``, largest first, or an error that names what is wrong with it."""
    strengths = np.abs(np.asarray(mu, dtype=float))
    if strengths.ndim != 1 or strengths.size == 0:
        raise ValueError(f"mu has the shape {strengths.shape}; it must be one number for each column.")
    if not np.isfinite(strengths).all():
        raise ValueError(f"mu[{int(np.argmin(np.isfinite(strengths)))}] is not finite; every column needs a number.")
    return np.sort(strengths)[::-1]


def checked_rows(m: float) -> float:
    """The number of training rows, or an error."""
    if not (isinstance(m, Real) and np.isfinite(m) and m > 0):
        raise ValueError(f"m={m!r} must be the number of training rows, above 0.")
    return float(m)


def _checked_sizes(n: "ArrayLike", n_features: int) -> np.ndarray:
    sizes = np.atleast_1d(np.asarray(n))
    if sizes.dtype.kind not in "iu" or sizes.ndim != 1 or sizes.size == 0:
        raise ValueError(f"n={n!r} must be a number of columns, or several.")
    if sizes.min() < 1 or sizes.max() > n_features:
        raise ValueError(f"n={n!r} must lie between 1 and the {n_features} columns of mu.")
    return sizes


@dataclass(frozen=True, eq=False, repr=False)
class OptimalSize(Result):
    """How many columns to use, when the mean differences are known; made by :func:`optimal_n_features`.

    Attributes
    ----------
    n_features : int
        Number of columns with the smallest error; 0 when no column is informative.
    error : float
        Error with that many columns.
    error_all : float
        Error with all columns.
    bayes_error : float
        Error of the best rule there is, which knows the means.
    errors : ndarray of shape (n_features_in,)
        Error with the 1, 2, ... best columns.
    order : ndarray of shape (n_features_in,)
        Columns by ``|mu|``, largest first.
    m : float
        Rows of the training set.
    """

    n_features: int
    error: float
    error_all: float
    bayes_error: float
    errors: np.ndarray
    order: np.ndarray
    m: float

    def __repr__(self) -> str:
        return (
            f"OptimalSize: {self.n_features:,} of {len(self.errors):,} columns for {self.m:g} rows\n"
            f"  error {self.error:.4f}; with all columns {self.error_all:.4f}; at best {self.bayes_error:.4f}"
        )

    def plot(self) -> "go.Figure":
        """The error over the number of columns, with the best number marked.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        from fewer import _figures

        sizes = np.arange(1, len(self.errors) + 1)
        figure = _figures.new_figure(
            title=f"Error with {self.m:g} training rows", x="columns used, best first", y="error"
        )
        figure.add_trace(_figures.line("expected error", sizes, self.errors))
        figure.add_trace(
            _figures.line("best possible", sizes[[0, -1]], [self.bayes_error] * 2, _figures.GREY, line_dash="dot")
        )
        if self.n_features:
            mark_point(figure, self.n_features, self.error, f"{self.n_features:,}", name="best")
        figure.update_xaxes(type="log", dtick=1)
        return figure


@card(
    tasks=["evaluation"],
    when="Before a study of two classes: you can guess how strongly the columns differ between them, and want to know "
    "how many columns your number of rows can carry.",
    cost="O(p) with the formula; the exact error takes O(200 p)",
    paper="fs-necessary",
)
def optimal_n_features(mu: "ArrayLike", m: float, *, method: Literal["approx", "exact"] = "approx") -> OptimalSize:
    """Number of columns that a training set of m rows can carry.

    Parameters
    ----------
    mu : array-like of shape (n_features,)
        Half the distance between the two class means in each column, in units of the standard deviation within the
        classes, in any order.
    m : float
        Rows of the training set.
    method : {"approx", "exact"}, default="approx"
        The formula of the paper, or the exact error.

    Returns
    -------
    best : OptimalSize
        The best number of columns, the whole error curve, and the errors to compare with. It plots itself.

    See Also
    --------
    plan_n_features : The same from a table, where nobody knows the means.

    Notes
    -----
    The setting: two equally likely normal classes with the identity as covariance, and a rule that projects on the
    estimated difference of means.

    - A column with ``mu_j = 0`` always does harm.
    - Whether a column helps depends on those already in use, although the columns are independent of each other.
    - If the sum of ``mu_j^2`` converges, the error tends to 1/2 as columns are added: a finite number is best.
    - Any n that grows with m such that ``n / m`` tends to 0 gets the best possible error in the end.
    - With all ``mu_j`` equal, or ``s_n = n^a`` for 1/2 < a < 1, using everything is best, even though ``mu_j`` tends
      to 0 in the second case. So "keep column j if ``|mu_j| > c / sqrt(m)``" is no rule in general.

    References
    ----------
    .. [1] Navot, A., Gilad-Bachrach, R., Navot, Y. & Tishby, N. (2006). Is feature selection still necessary? In
       Subspace, Latent Structure and Feature Selection, LNCS 3940, 127-138.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.theory import optimal_n_features
    >>> optimal_n_features(1 / np.arange(1, 1001), m=100)
    OptimalSize: 10 of 1,000 columns for 100 rows
      error 0.1138; with all columns 0.3150; at best 0.0999
    """
    strengths, m = sorted_strengths(mu), checked_rows(m)
    sizes, s = np.arange(1, len(strengths) + 1), np.cumsum(strengths**2)
    if method == "approx":
        # Where the error is almost 0, f still separates sizes.
        separations = separation(sizes, m, s)
        errors, best = ndtr(-separations), int(np.argmax(separations))
    elif method == "exact":
        errors = exact_error(sizes, m, s)
        best = int(np.argmin(errors))
    else:
        raise ValueError(f"method={method!r} is not known; choose 'approx' or 'exact'.")
    return OptimalSize(
        n_features=best + 1 if s[-1] > 0 else 0,
        error=float(errors[best]),
        error_all=float(errors[-1]),
        bayes_error=float(ndtr(-np.sqrt(s[-1]))),
        errors=errors,
        order=np.argsort(-np.abs(np.asarray(mu, dtype=float)), kind="stable"),
        m=m,
    )


@dataclass(frozen=True, eq=False, repr=False)
class CostPlane(Result):
    """A plane between two normal classes; made by :func:`min_risk_plane`.

    Attributes
    ----------
    coef : ndarray of shape (n_features,)
        Its normal, of length 1.
    threshold : float
        Rows with ``coef @ x > threshold`` are taken for positive.
    risk : float
        Expected cost, where always being wrong costs 1.
    normalized_risk : float
        The same over the cost of the better constant decision.
    """

    coef: np.ndarray
    threshold: float
    risk: float
    normalized_risk: float

    def __repr__(self) -> str:
        return f"CostPlane: risk {self.risk:.4f}\n  {self.normalized_risk:.4f} of that of the better constant decision"


def gaussian_plane_risk(
    coef: Any, threshold: float, means: tuple[Any, Any], covariances: tuple[Any, Any], pcf: float
) -> float:
    """Expected cost of a plane between two normal classes.

    Parameters
    ----------
    coef : array-like of shape (n_features,)
        Normal of the plane.
    threshold : float
        Rows with ``coef @ x > threshold`` are taken for positive.
    means : pair of array-like of shape (n_features,)
        Means of the negative and of the positive class.
    covariances : pair of array-like of shape (n_features, n_features)
        Their covariances.
    pcf : float
        Share of the positives in the cost of always being wrong.

    Returns
    -------
    risk : float
        Expected cost, where always being wrong costs 1.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.theory import gaussian_plane_risk
    >>> gaussian_plane_risk([1.0], 0.0, ([-1.0], [1.0]), (np.eye(1), np.eye(1)), 0.5).round(4)
    np.float64(0.1587)
    """
    coef = np.asarray(coef, dtype=float)
    centres, squares = _checked_classes(means, covariances)
    if coef.shape != centres[0].shape or not coef.any():
        raise ValueError(
            f"coef must have {len(centres[0])} entries that are not all 0, and has the shape {coef.shape}."
        )
    return _risk(coef, threshold, centres, squares, pcf)


def _checked_classes(means: Any, covariances: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Two means of the same length, and two positive definite covariances."""
    if len(means) != 2 or len(covariances) != 2:
        raise ValueError("means and covariances must be pairs, of the negative and of the positive class.")
    centres = [np.asarray(mean, dtype=float) for mean in means]
    squares = [np.asarray(covariance, dtype=float) for covariance in covariances]
    size = centres[0].size
    if any(each.shape != (size,) for each in centres) or any(each.shape != (size, size) for each in squares):
        shapes = ", ".join(str(each.shape) for each in (*centres, *squares))
        raise ValueError(f"means and covariances must be of the same columns, and have the shapes {shapes}.")
    for each in (*centres, *squares):
        if not np.isfinite(each).all():
            raise ValueError("means and covariances must be finite.")
    if any(np.linalg.eigvalsh(each)[0] <= 0 for each in squares):
        raise ValueError("covariances must be positive definite.")
    return centres, squares


def _risk(coef: np.ndarray, threshold: float, means: Any, covariances: Any, pcf: float) -> float:
    spreads = [np.sqrt(coef @ np.asarray(each) @ coef) for each in covariances]
    negative, positive = (
        (threshold - coef @ np.asarray(mean)) / spread for mean, spread in zip(means, spreads, strict=True)
    )
    return pcf * ndtr(positive) + (1 - pcf) * ndtr(-negative)


def min_risk_plane(
    means: tuple[Any, Any], covariances: tuple[Any, Any], pcf: float, *, n_init: int = 20, random_state: Any = 0
) -> CostPlane:
    """The plane of the smallest expected cost between two normal classes.

    Parameters
    ----------
    means : pair of array-like of shape (n_features,)
        Means of the negative and of the positive class.
    covariances : pair of array-like of shape (n_features, n_features)
        Their covariances.
    pcf : float
        Share of the positives in the cost of always being wrong.
    n_init : int, default=20
        Random starts, of which the best is kept.
    random_state : int, RandomState or None, default=0
        Random seed of the starts.

    Returns
    -------
    plane : CostPlane
        Its normal, threshold and risk.

    References
    ----------
    .. [1] Dmochowski, J., Sajda, P. & Parra, L. (2010). Maximum likelihood in cost-sensitive learning: model
       specification, approximations, and upper bounds. Journal of Machine Learning Research 11, 3313-3332.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.theory import min_risk_plane
    >>> plane = min_risk_plane(([0, 0.5], [0.5, 0]), (np.diag([0.5, 1]), np.diag([1, 0.5])), 0.2)
    >>> round(plane.normalized_risk, 3)
    0.896
    """
    if not 0 < pcf < 1:
        raise ValueError(f"pcf={pcf} must lie between 0 and 1.")
    centres, squares = _checked_classes(means, covariances)
    n_columns = len(centres[0])
    rng = check_random_state(random_state)

    def risk(v: np.ndarray) -> float:
        length = np.linalg.norm(v[:-1])
        return _risk(v[:-1] / length, v[-1], centres, squares, pcf) if length > 0 else 1.0

    scale = float(np.sqrt(max(np.trace(each) for each in squares)))
    centre = (centres[0] + centres[1]) / 2
    starts = []
    for _ in range(n_init):
        normal = rng.normal(size=n_columns)
        starts.append(np.append(normal, normal / np.linalg.norm(normal) @ centre + scale * rng.normal()))
    results = (minimize(risk, start, method="BFGS", options={"gtol": 1e-10}) for start in starts)
    best = min(results, key=lambda found: found.fun)
    length = float(np.linalg.norm(best.x[:-1]))
    return CostPlane(best.x[:-1] / length, float(best.x[-1]), float(best.fun), float(best.fun / min(pcf, 1 - pcf)))
