"""How many rows, which penalty and how sparse a design: schedules under which the Lasso finds the exact support.

With p columns, k of them true, and a share gamma of entries that are not zero, ``n = (2 + eps) k log(p - k)`` rows are
enough in the limit, as many as with a dense design. All is for entries of variance 1 and noise of variance 1 / gamma.
"""

from dataclasses import dataclass
from math import ceil, log, sqrt
from typing import Literal

from fewer._figures import Result


def _log_of_others(p: int, k: int) -> float:
    if not k >= 1 or not p - k >= 3:
        raise ValueError(f"p={p}, k={k}: there must be at least one true column and three others.")
    return log(p - k)


def lasso_sample_size(p: int, k: int, eps: float = 0.0) -> int:
    """Rows at which the Lasso begins to find the exact support, ``(2 + eps) k log(p - k)``.

    Parameters
    ----------
    p : int
        Columns.
    k : int
        Columns with a coefficient that is not zero.
    eps : float, default=0.0
        What to add for safety; with few columns 1 or 2 is not too much (:func:`support_recovery_curve` tells).

    Returns
    -------
    n : int
        Rows.

    Examples
    --------
    >>> from fewer.learn import lasso_sample_size
    >>> lasso_sample_size(512, 23)
    285
    """
    if eps < 0:
        raise ValueError(f"eps={eps} must not be negative.")
    return ceil((2 + eps) * k * _log_of_others(p, k))


def density_schedule(p: int, k: int, kind: Literal["theorem", "experiment"] = "experiment") -> float:
    """Share of entries of a random design that need not be zero.

    Parameters
    ----------
    p : int
        Columns.
    k : int
        Columns with a coefficient that is not zero.
    kind : {"theorem", "experiment"}, default="experiment"
        What the proof allows, or the sparser design of the paper's simulations.

    Returns
    -------
    density : float
        At most 1.

    Examples
    --------
    >>> from fewer.learn import density_schedule
    >>> round(density_schedule(512, 51), 3), round(density_schedule(512, 51, "theorem"), 3)
    (0.143, 0.816)
    """
    others = _log_of_others(p, k)
    if kind == "theorem":
        return (log(others) / others) ** (1 / 6)
    if kind == "experiment":
        return min(0.5 * others / sqrt(p - k), 1.0)
    raise ValueError(f"kind={kind!r} is not known; choose 'theorem' or 'experiment'.")


def rho_schedule(n: int, p: int, k: int) -> float:
    """Penalty of the Lasso under which the theorem holds, for entries of variance 1 and unit noise.

    Parameters
    ----------
    n : int
        Rows.
    p : int
        Columns.
    k : int
        Columns with a coefficient that is not zero.

    Returns
    -------
    rho : float
        ``sqrt(log(p - k) / n * sqrt(log(p - k) / log log(p - k)))``; for noise of another standard deviation, in units
        of an entry that is not zero, multiply by it.

    Examples
    --------
    >>> from fewer.learn import rho_schedule
    >>> round(rho_schedule(600, 512, 23), 4)
    0.1379
    """
    if n < 1:
        raise ValueError(f"n={n}: there must be at least one row.")
    others = _log_of_others(p, k)
    return sqrt(others / n * sqrt(others / log(others)))


@dataclass(frozen=True, repr=False)
class RecoveryConditions(Result):
    """The ratios on which exact recovery depends in the limit; made by :func:`recovery_conditions`.

    There is no verdict: the theorem says what happens as they grow or vanish, not at which value.

    Attributes
    ----------
    theta : float
        ``n / (2 k log(p - k))``; above 1 is needed.
    penalty_over_noise : float
        ``n rho^2 density / log(p - k)``; should be large, so that no other column enters by noise.
    penalty_over_signal : float
        ``(rho / b_min) max(1, sqrt(k) / density sqrt(log log / log))``; should be small, so that no true one is lost.
    measurements : float
        ``density^3 min(k, log / log log)``; should be large: a denser design.
    signal_in_column : float
        ``density n b_min^2``; if this stays bounded, no method at all can succeed.
    """

    theta: float
    penalty_over_noise: float
    penalty_over_signal: float
    measurements: float
    signal_in_column: float

    def __repr__(self) -> str:
        return (
            f"RecoveryConditions: theta = {self.theta:.3g} (needs more than 1)\n"
            f"  penalty over noise {self.penalty_over_noise:.3g} (large is good)\n"
            f"  penalty over signal {self.penalty_over_signal:.3g} (small is good)\n"
            f"  measurements {self.measurements:.3g} (large is good)\n"
            f"  signal in a column {self.signal_in_column:.3g} (bounded: no method succeeds)"
        )


def recovery_conditions(n: int, p: int, k: int, density: float, rho: float, b_min: float) -> RecoveryConditions:
    """The three ratios of the theorem on sparsified designs, and that of its converse.

    Parameters
    ----------
    n : int
        Rows.
    p : int
        Columns.
    k : int
        Columns with a coefficient that is not zero.
    density : float
        Share of entries that are not zero.
    rho : float
        Penalty of the Lasso.
    b_min : float
        Smallest true coefficient in absolute value, in units of the noise's standard deviation.

    Returns
    -------
    conditions : RecoveryConditions
        The ratios.

    References
    ----------
    .. [1] Omidiran, D. and Wainwright, M. J. (2010). High-dimensional variable selection with sparse random
       projections: measurement sparsity and statistical efficiency. JMLR 11, 2361-2386.

    Examples
    --------
    >>> from fewer.learn import recovery_conditions
    >>> recovery_conditions(600, 512, 23, density=0.14, rho=0.28, b_min=4.0).theta > 1
    True
    """
    others = _log_of_others(p, k)
    if not (n > 0 and 0 < density <= 1 and rho > 0 and b_min > 0):
        raise ValueError("n, rho and b_min must be above 0, and density above 0 and at most 1.")
    twice = log(others)
    return RecoveryConditions(
        theta=n / (2 * k * others),
        penalty_over_noise=n * rho**2 * density / others,
        penalty_over_signal=rho / b_min * max(1.0, sqrt(k) / density * sqrt(twice / others)),
        measurements=density**3 * min(k, others / twice),
        signal_in_column=density * n * b_min**2,
    )
