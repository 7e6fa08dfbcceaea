"""Rows of two classes: one posterior of soft label, missing entries and component, instead of one of each.

The paper's ``q(t) q(x_missing, z)`` lets every component of a row explain the same soft label t, although it should
depend on the component and on what is missing. Jointly, ``log p(t, x_missing, z = h)`` is quadratic in t and x. With
x_missing integrated out, it is ``c_0 + c_1 t + c_2 t^2 - t^2 / 2``, so t is a truncated normal variable of precision
``1 - 2 c_2`` about ``c_1 / (1 - 2 c_2)`` in each component, and the mean of x_missing is linear in t. All of it has
closed forms, and the bound on the evidence is never lower. Of several soft labels, one for each class, no such form is
known, as they share the missing entries.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, logsumexp

from fewer.latent.experts._incomplete_rows import NEGLIGIBLE, Block, Quadratics, conditionals, moments

_LOG_2PI = float(np.log(2 * np.pi))


class LabelledRows(NamedTuple):
    """Of the rows of a block: log evidence (b,) and, by component, shares (b, K), means and variances of the soft
    label (K, b), rows completed at a soft label of 0 (K, b, P), and how they change with it (K, b, P) or None."""

    totals: np.ndarray
    shares: np.ndarray
    means: np.ndarray
    variances: np.ndarray
    completed: np.ndarray
    slopes: np.ndarray | None


def labelled_rows(
    block: Block,
    quadratics: Quadratics,
    linear: np.ndarray,
    slopes: np.ndarray,
    constants: np.ndarray,
    intercepts: np.ndarray,
    signs: np.ndarray,
    weights: np.ndarray,
    covariances: np.ndarray,
) -> LabelledRows:
    """The joint posterior, for linear terms (K, P) and constants (K,) and how they change with the soft label.

    Covariances of the missing entries, given the soft label, are added to ``covariances`` by weight.
    """
    n_rows = len(block.rows)

    def at(label: float):
        terms = np.repeat((linear + label * slopes)[:, None, :], n_rows, axis=1)
        return conditionals(block, quadratics, terms, np.tile(constants + label * intercepts, (n_rows, 1)))

    zero, one = at(0.0), at(1.0)
    rise, fall = one.log_masses - zero.log_masses, at(-1.0).log_masses - zero.log_masses
    precisions = 1 - (rise + fall)
    centres, roots = (rise - fall) / 2 / precisions, np.sqrt(precisions)
    towards = signs[:, None] * centres * roots
    # log of the integral of exp(c_1 t + c_2 t^2) times a standard normal density, over the side of the label
    logs = zero.log_masses + (precisions * centres**2 - np.log(precisions)) / 2 + log_ndtr(towards)
    totals = logsumexp(logs, axis=1)
    shares = np.exp(logs - totals[:, None])
    ratios = np.exp(-(towards**2 + _LOG_2PI) / 2 - log_ndtr(towards))
    means = (centres + signs[:, None] * ratios / roots).T
    variances = np.maximum((1 - ratios * (ratios + towards)) / precisions, 0.0).T
    weighted = shares * weights[:, None]
    completed = moments(block, quadratics, zero, weighted, covariances).completed
    if block.by == "nothing":
        return LabelledRows(totals, shares, means, variances, completed, None)
    return LabelledRows(
        totals, shares, means, variances, completed, moments(block, quadratics, one, weighted).completed - completed
    )


def add_labelled_rows(sums, found: LabelledRows, weights: np.ndarray) -> float:
    """Add the rows to the sums over rows (``Sums``), and give the sum of the expected squares of soft labels."""
    shares = (found.shares * weights[:, None]).T
    used = np.flatnonzero(shares.sum(axis=1) > NEGLIGIBLE)
    own, means = shares[used], found.means[used]
    completed = found.completed[used]
    of_labels = own * means
    if found.slopes is not None:
        slopes, spread = found.slopes[used], own * found.variances[used]
        completed = completed + means[:, :, None] * slopes
        weighted = slopes * spread[:, :, None]
        sums.products[used] += weighted.transpose(0, 2, 1) @ slopes
        sums.labels[used, 0, :-1] += weighted.sum(axis=1)
    weighted = completed * own[:, :, None]
    sums.sizes[:] += shares.sum(axis=1)
    sums.rows[used] += weighted.sum(axis=1)
    sums.products[used] += weighted.transpose(0, 2, 1) @ completed
    sums.labels[used, 0, :-1] += (completed.transpose(0, 2, 1) @ of_labels[:, :, None])[..., 0]
    sums.labels[used, 0, -1] += of_labels.sum(axis=1)
    return float(np.sum(own * (means**2 + found.variances[used])))
