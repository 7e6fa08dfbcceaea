"""How often the Lasso finds the exact signed support, over the number of rows: a simulated phase transition."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from fewer._figures import Result
from fewer.datasets import make_sparsified_gaussian
from fewer.learn.dantzig._recovery_plan import lasso_sample_size, rho_schedule
from fewer.learn.dantzig._support_certificate import lasso_support_certificate

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import polars as pl
    from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False, repr=False)
class RecoveryCurve(Result):
    """How often a signed support was found; made by :func:`support_recovery_curve`.

    Attributes
    ----------
    p, k : int
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

    p: int
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
            f"RecoveryCurve: {self.k:,} of {self.p:,} columns, density {self.density:.3g}, {self.n_trials} draws each\n"
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
            The picture.
        """
        from fewer import _figures

        figure = _figures.new_figure(
            title=f"Exact support of {self.k} of {self.p:,} columns",
            x="theta: rows in units of 2 k log(p - k)",
            y="share of draws that recover",
        )
        figure.add_trace(_figures.band("95% interval", self.theta, self.lower, self.upper))
        figure.add_trace(_figures.line(f"density {self.density:.3g}", self.theta, self.frequency))
        figure.update_yaxes(range=[-0.03, 1.03])
        return figure


def support_recovery_curve(
    p: int,
    k: int,
    density: float = 1.0,
    theta_grid: Sequence[float] = (0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0),
    n_trials: int = 100,
    *,
    sigma: float = 0.25,
    beta: "ArrayLike | None" = None,
    rho: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> RecoveryCurve:
    """Simulate how often the Lasso finds the exact signed support, as rows are added.

    Each draw is judged by :func:`lasso_support_certificate`, so no Lasso is solved.

    Parameters
    ----------
    p : int
        Columns.
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
    beta : array-like of shape (p,) or None, default=None
        True coefficients, k of them not zero; by default 1 for the first k.
    rho : float or None, default=None
        Penalty; by default twice :func:`rho_schedule`, with which the transition of the paper's figure comes out.
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
    >>> from fewer.learn import support_recovery_curve
    >>> curve = support_recovery_curve(64, 4, theta_grid=(0.3, 3.0), n_trials=10, random_state=0)
    >>> curve.frequency
    array([0., 1.])
    """
    lasso_sample_size(p, k)  # refuses p and k that make no sense
    coef = np.repeat([1.0, 0.0], [k, p - k]) if beta is None else np.asarray(beta, dtype=float)
    if coef.shape != (p,) or np.count_nonzero(coef) != k:
        raise ValueError(f"beta must hold {p} numbers, {k} of them not zero.")
    theta = np.asarray(theta_grid, dtype=float)
    if theta.ndim != 1 or theta.size == 0 or not (theta > 0).all() or n_trials < 1:
        raise ValueError("theta_grid must hold numbers above 0, and n_trials be 1 or more.")
    theta = np.sort(theta)
    rows = np.array([ceil(value * 2 * k * log(p - k)) for value in theta])
    penalties = [2 * rho_schedule(int(n), p, k) if rho is None else rho for n in rows]
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=(len(rows), n_trials))
    found = Parallel(n_jobs=n_jobs)(
        delayed(_recovers)(int(n), coef, density, sigma, penalty, int(seed))
        for n, penalty, row in zip(rows, penalties, seeds, strict=True)
        for seed in row
    )
    frequency = np.reshape(found, seeds.shape).mean(axis=1)
    lower, upper = wilson_interval(frequency, n_trials)
    return RecoveryCurve(p, k, density, theta, rows, n_trials, frequency, lower, upper)


def _recovers(n: int, coef: np.ndarray, density: float, sigma: float, rho: float, seed: int) -> bool:
    X, _, truth = make_sparsified_gaussian(
        n, coef.size, density, coef=coef, noise=sigma, dense_output=density > 0.3, random_state=seed
    )
    return lasso_support_certificate(X, truth["noise"], coef, rho).recovers


def wilson_interval(frequency: np.ndarray, n_trials: int, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's interval of shares."""
    z2 = ndtri(0.5 + level / 2) ** 2
    centre = (frequency + z2 / (2 * n_trials)) / (1 + z2 / n_trials)
    half = np.sqrt(z2 * (frequency * (1 - frequency) / n_trials + z2 / (4 * n_trials**2))) / (1 + z2 / n_trials)
    return np.clip(centre - half, 0.0, 1.0), np.clip(centre + half, 0.0, 1.0)
