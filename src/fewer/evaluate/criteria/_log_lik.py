"""Log-likelihoods of rows under posterior draws, in one form: (draws, rows), read in blocks of rows.

They come as arrays, (draws, rows) or (chains, draws, rows), or as ArviZ's InferenceData or xarray's DataTree, which are
known by their group ``log_likelihood`` and not by their type, so that neither package is needed. Axes of xarray's
arrays are known by their names: "chain" and "draw", or "sample" for both; all others are rows.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.special import logsumexp

from fewer._kernels._arrays import read_only

_ENTRIES_OF_BLOCK = 1 << 18
_TILE = 64


class Draws(NamedTuple):
    """Log-likelihoods (chains, draws, rows), and normalised log weights of all draws or None if they are equal."""

    values: np.ndarray
    log_weights: np.ndarray | None

    @property
    def n_draws(self) -> int:
        return self.values.shape[0] * self.values.shape[1]

    @property
    def n_rows(self) -> int:
        return self.values.shape[2]

    @property
    def weights(self) -> np.ndarray:
        """Weights of the draws, which sum to 1."""
        if self.log_weights is None:
            return np.full(self.n_draws, 1 / self.n_draws)
        return np.exp(self.log_weights)

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Rows of the table, and their log-likelihoods with a line for each: contiguous copies of a few rows."""
        flat = self.values.reshape(self.n_draws, self.n_rows)
        width = max(1, _ENTRIES_OF_BLOCK // self.n_draws)
        for start in range(0, self.n_rows, width):
            rows = slice(start, min(start + width, self.n_rows))
            if flat.dtype == np.float64 and flat.flags.c_contiguous:
                block = np.empty((rows.stop - rows.start, self.n_draws))
                _transpose_into(block, read_only(flat), start)
                yield rows, block
            else:
                yield rows, np.ascontiguousarray(flat[:, rows].T, dtype=np.float64)


@njit(cache=True, nogil=True)
def _transpose_into(block, flat, start):
    """Columns from ``start`` on as rows, a few draws at a time: these stay in the cache while they are read again."""
    n_draws = flat.shape[0]
    for first in range(0, n_draws, _TILE):
        last = min(first + _TILE, n_draws)
        for row in range(block.shape[0]):
            for s in range(first, last):
                block[row, s] = flat[s, start + row]


def as_draws(log_lik: Any, log_weights: Any = None, var_name: str | None = None, *, fewest: int = 2) -> Draws:
    """The log-likelihoods, checked."""
    values = np.asarray(_array_of(log_lik, var_name))
    if values.ndim == 2:
        values = values[None]
    if values.ndim != 3 or values.dtype.kind not in "fiu":
        raise ValueError(
            "log_lik must hold numbers, of shape (draws, rows) or (chains, draws, rows), and has the shape "
            f"{np.shape(values)}."
        )
    if 0 in values.shape:
        raise ValueError(f"log_lik is empty: its shape is {values.shape}.")
    if values.shape[0] * values.shape[1] < fewest:
        raise ValueError(
            f"log_lik has a single draw (its shape is {values.shape}), which shows nothing of the posterior; give "
            "draws, or compare models that have none by AIC, BIC or held-out rows."
        )
    for chain, each in enumerate(values):
        # A sum shows whether anything is not finite in a third of the time; it may also overflow.
        if not np.isfinite(each.sum()) and not np.isfinite(each).all():
            draw, row = np.argwhere(~np.isfinite(each))[0]
            value = each[draw, row]
            where = f"draw {draw}, row {row}" + (f" of chain {chain}" if len(values) > 1 else "")
            why = "Compute the log-likelihood of all rows under all draws."
            if value == -np.inf:
                why = "A row with probability 0 under a draw has no finite variance; correct the model or leave it out."
            raise ValueError(f"log_lik contains {'NaN' if np.isnan(value) else f'{value:+}'} ({where}). {why}")
    if log_weights is None:
        return Draws(values, None)
    log_weights = np.asarray(log_weights, dtype=np.float64).ravel()
    n_draws = values.shape[0] * values.shape[1]
    if len(log_weights) != n_draws:
        raise ValueError(f"log_weights has {len(log_weights)} entries, and there are {n_draws} draws.")
    total = logsumexp(log_weights)
    if not np.isfinite(total):
        raise ValueError("log_weights must be below infinity, and above minus infinity for at least one draw.")
    return Draws(values, log_weights - total)


def _array_of(log_lik: Any, var_name: str | None) -> Any:
    """The array of log-likelihoods of an ArviZ object, with rows last; arrays as they are."""
    if isinstance(log_lik, np.ndarray | list | tuple):
        return log_lik
    group = getattr(log_lik, "log_likelihood", None)
    if group is None:
        group = log_lik  # a Dataset or DataArray itself, or something that NumPy takes
        if hasattr(log_lik, "groups") and not getattr(log_lik, "data_vars", None):
            raise ValueError(
                "log_lik has no group log_likelihood. Compute it first, for example by pymc.compute_log_likelihood, or "
                "give an array (draws, rows)."
            )
    variables = getattr(group, "data_vars", None)
    if variables is not None:
        names = [str(name) for name in variables]
        if var_name is None and len(names) != 1:
            raise ValueError(f"There are log-likelihoods of {', '.join(names) or 'nothing'}; choose one by var_name.")
        if var_name is not None and var_name not in names:
            raise ValueError(f"var_name={var_name!r} is not one of {', '.join(names)}.")
        group = variables[var_name or names[0]]
    dims = getattr(group, "dims", ())
    # Chains that were stacked, as by arviz.extract, have one axis "sample", which comes last.
    over_draws = [name for name in ("chain", "draw", "sample") if name in dims]
    if not over_draws:
        return group
    others = [name for name in dims if name not in over_draws]
    if not others:
        raise ValueError(
            f"log_lik has a value for each draw, but no axis of rows: its axes are {', '.join(over_draws)}. Is it the "
            "log-likelihood of all rows together, or of a parameter?"
        )
    values = np.asarray(group.transpose(*over_draws, *others).values)
    return values.reshape(*values.shape[: len(over_draws)], -1)


def relative_efficiency(chains: np.ndarray) -> np.ndarray:
    """Effective sample size of each row's mean over the number of draws, from chains (chains, draws, rows).

    Autocovariances of all chains are combined as in split R-hat, and sums of neighbouring pairs are added up while
    they are positive and fall (Geyer 1992).
    """
    _, n_draws, n_rows = chains.shape
    if n_draws < 8:
        return np.ones(n_rows)
    half = n_draws // 2
    parts = np.concatenate([chains[:, :half], chains[:, n_draws - half :]])  # each chain in two
    centred = parts - parts.mean(axis=1, keepdims=True)
    size = 1 << int(2 * half - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(centred, size, axis=1)) ** 2
    covariances = np.fft.irfft(spectrum, size, axis=1)[:, :half].mean(axis=0) / half
    within = covariances[0] * half / (half - 1)
    pooled = within * (half - 1) / half + parts.mean(axis=1).var(axis=0, ddof=1)
    total = len(parts) * half
    with np.errstate(divide="ignore", invalid="ignore"):
        correlations = 1 - (within - covariances * half / (half - 1)) / pooled
    correlations[0] = 1.0
    pairs = correlations[: half // 2 * 2].reshape(-1, 2, n_rows).sum(axis=1)
    positive = np.cumprod(pairs > 0, axis=0).astype(bool)
    falling = np.minimum.accumulate(pairs, axis=0)
    time = -1 + 2 * np.where(positive, falling, 0.0).sum(axis=0)
    time = np.maximum(time, 1 / np.log10(total))
    return np.where(pooled > 0, np.minimum(1 / time, np.log10(total)), 1.0)
