"""Whether the Lasso finds the signed support of a known vector, and how often over the number of rows.

The Lasso is not solved (primal-dual witness). For ``y = X beta + w`` and ``min (1/2n)||y - Xb||^2 + alpha ||b||_1``;
``S`` is the support of ``beta``, ``s`` its signs:

    U = Sigma_SS^-1 (X_S'w / n - alpha s),    z_N = X_N' [X_S Sigma_SS^-1 s / n + (I - P_S) w / (n alpha)].

If every ``|z_j| < 1`` and no sign changes, ``beta_S + U`` is the one and only Lasso solution.
Omidiran and Wainwright (2010), JMLR 11, 2361-2386.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.special import ndtri
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from fewer._estimators import checked_array
from fewer._figures import Result
from fewer._kernels._numpy_lapack import solve_cholesky
from fewer.datasets import make_sparsified_gaussian
from fewer.theory.design._cones import column_positions
from fewer.theory.design._recovery_plan import lasso_recovery_penalty, lasso_sample_size

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import polars as pl
    from numpy.typing import ArrayLike


# Below this ratio of the smallest to the largest pivot the columns of the support count as dependent.
_DEPENDENT = 1e-7


@dataclass(frozen=True, eq=False, repr=False)
class SupportCertificate(Result):
    """Whether the Lasso recovers a signed support; made by :func:`lasso_support_certificate`.

    Attributes
    ----------
    recovers : bool
        Whether the Lasso solution is unique and has exactly the signs of the true coefficients.
    reason : {"recovered", "sign", "other columns", "singular"}
        What decides: a sign of the support is lost, columns outside of it enter, or those inside depend on each other.
    strict_recovers : bool
        The sufficient form of the paper: no coefficient moves by more than the smallest true one.
    coef : ndarray of shape (n_features,)
        The Lasso solution if it recovers; otherwise the solution with all other columns kept out. NaN when singular.
    dual : ndarray of shape (n_features,)
        Sub-gradient that goes with it: the signs on the support, below 1 in absolute value elsewhere if it recovers.
    irrepresentable : float
        Largest part of the dual that is there without noise; at 1 or above, no amount of data like these helps.
    noise_part : float
        Largest part of the dual that the noise adds.
    slack : float
        ``1 - max |dual|`` over the other columns.
    """

    recovers: bool
    reason: str
    strict_recovers: bool
    coef: np.ndarray
    dual: np.ndarray
    irrepresentable: float
    noise_part: float
    slack: float

    @property
    def reading(self) -> str:
        """What the result means, in words."""
        return {
            "recovered": "Certified: at this penalty the Lasso has one solution, with exactly the true signed support.",
            "sign": "The Lasso misses: a true coefficient is shrunk to zero or past it. A smaller penalty may help.",
            "other columns": "The Lasso misses: columns outside of the true support enter. A larger penalty may help "
            "unless `irrepresentable` is 1 or more.",
            "singular": "Impossible: columns of the true support depend on each other on these rows.",
        }[self.reason]

    def __repr__(self) -> str:
        verdict = "recovers" if self.recovers else f"does not recover ({self.reason})"
        return (
            f"SupportCertificate: the Lasso {verdict} the signed support\n"
            f"  slack {self.slack:.3g}; without noise {1 - self.irrepresentable:.3g}, noise takes {self.noise_part:.3g}"
        )


def lasso_support_certificate(X: Any, noise: "ArrayLike", coef: "ArrayLike", alpha: float) -> SupportCertificate:
    """Whether the Lasso finds the signed support of a known vector, by one small system of equations.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Design.
    noise : array-like of shape (n_samples,)
        The noise, ``y - X beta``.
    coef : array-like of shape (n_features,)
        The true coefficients.
    alpha : float
        Penalty of the Lasso, as in scikit-learn and :class:`~fewer.learn.L1LinearRegressor`; there is no intercept.

    Returns
    -------
    certificate : SupportCertificate
        The verdict, the solution and its dual, and how far the nearest other column is from entering.

    References
    ----------
    .. [1] Omidiran, D. and Wainwright, M. J. (2010). High-dimensional variable selection with sparse random
       projections: measurement sparsity and statistical efficiency. JMLR 11, 2361-2386.

    Examples
    --------
    >>> from fewer.datasets import make_sparsified_gaussian
    >>> from fewer.theory import lasso_support_certificate
    >>> X, y, truth = make_sparsified_gaussian(600, random_state=0)
    >>> lasso_support_certificate(X, truth["noise"], truth["coef"], alpha=0.3)
    SupportCertificate: the Lasso recovers the signed support
      slack 0.214; without noise 0.251, noise takes 0.238
    """
    X = checked_array(X, "lasso_support_certificate", accept_sparse=("csr", "csc"), dtype=np.float64)
    noise, coef = np.asarray(noise, dtype=float), np.asarray(coef, dtype=float)
    if noise.shape != (X.shape[0],) or coef.shape != (X.shape[1],):
        raise ValueError(
            f"X has shape {X.shape}, so noise needs {X.shape[0]} entries and coef {X.shape[1]}; they have shapes "
            f"{noise.shape} and {coef.shape}."
        )
    if not alpha > 0:
        raise ValueError(f"alpha={alpha}: the penalty must be above 0.")
    support = np.flatnonzero(coef)
    signs = np.sign(coef[support])
    inside = columns_as_array(X, support)
    solve = _solver(inside)
    if solve is None:
        missing = np.full(X.shape[1], np.nan)
        return SupportCertificate(False, "singular", False, missing, missing.copy(), np.nan, np.nan, np.nan)
    n_rows = X.shape[0]
    products = inside.T @ noise / n_rows
    moved = solve(products - alpha * signs)
    # Both parts of the dual by one product with the table, which is all of the cost.
    without_noise = inside @ solve(signs) / n_rows
    by_noise = (noise - inside @ solve(products)) / (n_rows * alpha)
    parts = np.asarray(X.T @ np.column_stack([without_noise, by_noise]))
    outside = np.ones(X.shape[1], dtype=bool)
    outside[support] = False
    dual, lasso_coef = parts.sum(axis=1), np.zeros(X.shape[1])
    dual[support], lasso_coef[support] = signs, coef[support] + moved
    slack = 1 - float(np.abs(dual[outside]).max(initial=0.0))
    signs_hold = bool((np.sign(lasso_coef[support]) == signs).all())
    reason = "other columns" if slack <= 0 else "recovered" if signs_hold else "sign"
    small_moves = np.abs(moved).max(initial=0.0) <= np.abs(coef[support]).min(initial=np.inf)
    return SupportCertificate(
        recovers=reason == "recovered",
        reason=reason,
        strict_recovers=bool(slack > 0 and small_moves),
        coef=lasso_coef,
        dual=dual,
        irrepresentable=float(np.abs(parts[outside, 0]).max(initial=0.0)),
        noise_part=float(np.abs(parts[outside, 1]).max(initial=0.0)),
        slack=slack,
    )


def irrepresentability(X: Any, support: "ArrayLike", signs: "ArrayLike") -> np.ndarray:
    """How strongly each column looks like those of a support: ``|x_j'X_S (X_S'X_S)^-1 s|``.

    With 1 or more anywhere, the Lasso cannot find this support with these signs, however little noise there is and
    whatever the penalty; with less everywhere, it can if the noise is small enough.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Design.
    support : array-like of shape (k,) of int, str or bool
        Columns: their positions, names or a mask.
    signs : array-like of shape (k,)
        Signs of their coefficients, -1 or 1.

    Returns
    -------
    values : ndarray of shape (n_features,)
        One for each column, NaN for those of the support.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.theory import irrepresentability
    >>> X = np.array([[1.0, 0.0, 0.8], [0.0, 1.0, 0.6], [0.0, 0.0, 0.1]])
    >>> irrepresentability(X, [0, 1], [1, 1])
    array([nan, nan, 1.4])
    """
    names = X
    X = checked_array(X, "irrepresentability", accept_sparse=("csr", "csc"), dtype=np.float64)
    support = column_positions(support, names, "irrepresentability")
    signs = np.asarray(signs, dtype=float)
    if support.shape != signs.shape or not np.isin(signs, (-1, 1)).all():
        raise ValueError("signs must hold -1 or 1 for each column of the support.")
    inside = columns_as_array(X, support)
    solve = _solver(inside)
    if solve is None:
        raise ValueError("The columns of the support depend on each other, so no model with all of them is unique.")
    values = np.abs(np.asarray(X.T @ (inside @ solve(signs)))) / X.shape[0]
    values[support] = np.nan
    return values


def columns_as_array(X: Any, columns: np.ndarray) -> np.ndarray:
    """Some columns of a table, dense."""
    return X[:, columns].toarray() if sparse.issparse(X) else X[:, columns]


def _solver(inside: np.ndarray):
    """``v -> (inside'inside / n)^-1 v``, or None when its columns depend on each other."""
    n_rows, n_columns = inside.shape
    if n_columns == 0:
        return lambda right: right
    if n_columns > n_rows:
        return None
    try:
        factor = np.linalg.cholesky(inside.T @ inside / n_rows)
    except np.linalg.LinAlgError:
        return None
    pivots = np.diag(factor)
    if pivots.min() <= _DEPENDENT * pivots.max():
        return None
    return lambda right: solve_cholesky(factor, right)


@dataclass(frozen=True, eq=False, repr=False)
class RecoveryCurve(Result):
    """How often a signed support was found; made by :func:`support_recovery_curve`.

    Attributes
    ----------
    n_features, k : int
        Columns, and how many of them are true.
    density : float
        Share of entries of the design that are not zero.
    theta : ndarray of shape (n_points,)
        Rows in units of ``2 k log(p - k)``.
    n_samples : ndarray of shape (n_points,)
        Rows.
    n_trials : int
        Draws at each point.
    frequency : ndarray of shape (n_points,)
        Share of the draws in which the Lasso has exactly the true signs.
    lower, upper : ndarray of shape (n_points,)
        Wilson's 95% interval of that share.
    """

    n_features: int
    k: int
    density: float
    theta: np.ndarray
    n_samples: np.ndarray
    n_trials: int
    frequency: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def crossing(self) -> float:
        """The first theta at which half of the draws succeed, between points by a straight line; NaN if never."""
        above = np.flatnonzero(self.frequency >= 0.5)
        if not above.size:
            return np.nan
        at = above[0]
        if at == 0:
            return float(self.theta[0])
        low, high = self.frequency[at - 1], self.frequency[at]
        return float(self.theta[at - 1] + (0.5 - low) / (high - low) * (self.theta[at] - self.theta[at - 1]))

    def __repr__(self) -> str:
        points = ", ".join(f"{f:.2f} at {t:g}" for t, f in zip(self.theta, self.frequency, strict=True))
        return (
            f"RecoveryCurve: {self.k:,} of {self.n_features:,} columns, density {self.density:.3g}, "
            f"{self.n_trials} draws each\n"
            f"  found exactly: {points}\n"
            f"  half of the draws succeed at theta = {self.crossing:.2f}"
        )

    def to_frame(self) -> "pl.DataFrame":
        """One row for each number of rows.

        Returns
        -------
        frame : polars.DataFrame
            Columns ``theta``, ``n_samples``, ``frequency``, ``lower`` and ``upper``.
        """
        import polars as pl

        return pl.DataFrame(
            {name: getattr(self, name) for name in ("theta", "n_samples", "frequency", "lower", "upper")}
        )

    def plot(self) -> "go.Figure":
        """The share of successes over theta, with its intervals.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        from fewer import _figures

        figure = _figures.new_figure(
            title=f"Exact support of {self.k} of {self.n_features:,} columns",
            x="theta: rows in units of 2 k log(p - k)",
            y="share of draws that recover",
        )
        figure.add_trace(_figures.band("95% interval", self.theta, self.lower, self.upper))
        figure.add_trace(_figures.line(f"density {self.density:.3g}", self.theta, self.frequency))
        figure.update_yaxes(range=[-0.03, 1.03])
        return figure


def support_recovery_curve(
    n_features: int,
    k: int,
    density: float = 1.0,
    theta_grid: Sequence[float] = (0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0),
    n_trials: int = 100,
    *,
    sigma: float = 0.25,
    coef: "ArrayLike | None" = None,
    alpha: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> RecoveryCurve:
    """Simulate how often the Lasso finds the exact signed support, as rows are added.

    Each draw is judged by :func:`lasso_support_certificate`, so no Lasso is solved.

    Parameters
    ----------
    n_features : int
        Number of columns, ``p``.
    k : int
        Columns with a coefficient that is not zero.
    density : float, default=1.0
        Share of entries of the design that are not zero (:func:`~fewer.datasets.make_sparsified_gaussian`).
    theta_grid : sequence of float, default=(0.4, 0.6, ..., 2.0)
        Numbers of rows, in units of ``2 k log(p - k)``.
    n_trials : int, default=100
        Draws of design and noise at each point.
    sigma : float, default=0.25
        Standard deviation of the noise, in units of an entry that is not zero.
    coef : array-like of shape (n_features,) or None, default=None
        True coefficients, k of them not zero; by default 1 for the first k.
    alpha : float or None, default=None
        Penalty; by default twice :func:`lasso_recovery_penalty`, with which the transition of the paper's figure comes
        out.
    n_jobs : int or None, default=None
        Processes, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Draws designs and noise.

    Returns
    -------
    curve : RecoveryCurve
        Shares with their intervals; it plots itself.

    References
    ----------
    .. [1] Omidiran, D. and Wainwright, M. J. (2010). High-dimensional variable selection with sparse random
       projections: measurement sparsity and statistical efficiency. JMLR 11, 2361-2386.

    Examples
    --------
    >>> from fewer.theory import support_recovery_curve
    >>> curve = support_recovery_curve(64, 4, theta_grid=(0.3, 3.0), n_trials=10, random_state=0)
    >>> curve.frequency
    array([0., 1.])
    """
    lasso_sample_size(n_features, k)  # raises for impossible n_features and k
    truth = np.repeat([1.0, 0.0], [k, n_features - k]) if coef is None else np.asarray(coef, dtype=float)
    if truth.shape != (n_features,) or np.count_nonzero(truth) != k:
        raise ValueError(f"coef must hold {n_features} numbers, {k} of them not zero.")
    theta = np.asarray(theta_grid, dtype=float)
    if theta.ndim != 1 or theta.size == 0 or not (theta > 0).all() or n_trials < 1:
        raise ValueError("theta_grid must hold numbers above 0, and n_trials be 1 or more.")
    theta = np.sort(theta)
    rows = np.array([ceil(value * 2 * k * log(n_features - k)) for value in theta])
    penalties = [2 * lasso_recovery_penalty(int(n), n_features, k) if alpha is None else alpha for n in rows]
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=(len(rows), n_trials))
    found = Parallel(n_jobs=n_jobs)(
        delayed(_recovers)(int(n), truth, density, sigma, penalty, int(seed))
        for n, penalty, row in zip(rows, penalties, seeds, strict=True)
        for seed in row
    )
    frequency = np.reshape(found, seeds.shape).mean(axis=1)
    lower, upper = wilson_interval(frequency, n_trials)
    return RecoveryCurve(n_features, k, density, theta, rows, n_trials, frequency, lower, upper)


def _recovers(n: int, coef: np.ndarray, density: float, sigma: float, alpha: float, seed: int) -> bool:
    X, _, truth = make_sparsified_gaussian(
        n, coef.size, density, coef=coef, noise=sigma, dense_output=density > 0.3, random_state=seed
    )
    return lasso_support_certificate(X, truth["noise"], coef, alpha).recovers


def wilson_interval(frequency: np.ndarray, n_trials: int, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's interval of shares."""
    z2 = ndtri(0.5 + level / 2) ** 2
    centre = (frequency + z2 / (2 * n_trials)) / (1 + z2 / n_trials)
    half = np.sqrt(z2 * (frequency * (1 - frequency) / n_trials + z2 / (4 * n_trials**2))) / (1 + z2 / n_trials)
    return np.clip(centre - half, 0.0, 1.0), np.clip(centre + half, 0.0, 1.0)
