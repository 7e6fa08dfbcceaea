"""Penalised least squares with a wanted number of degrees of freedom.

For a basis Z, weights W and a penalty K, with G = Z'WZ, the fit to u is ``Z A Z'W u``, ``A = (G + lam K)^-1``. All that
depends on lam is diagonal in the generalised eigenvectors of (G, G + c K): with eigenvalues s and

    t = s + lam (1 - s) / c,      trace of the fit = sum s / t,      df = sum 2 s / t - (s / t)^2.

The weighted sum of squares falls by ``b'(2 A - A G A) b`` with ``b = Z'W u``, so learners are compared without their
fitted values. Works for singular G too: directions with s = 0 are those that the rows do not determine.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import brentq

_LARGEST_PENALTY = 1e15
_FREE = 1e-9  # share of c K in a direction below which it is free of penalty
_NOTHING = 1e-10  # share of G in a direction below which the rows do not determine it


@dataclass(frozen=True)
class Spectrum:
    """A basis and its penalty, in the directions in which both are diagonal."""

    directions: np.ndarray
    shares: np.ndarray  # of G in G + c K, by direction
    scale: float  # c

    @classmethod
    def of(cls, gram: np.ndarray, penalty: np.ndarray) -> "Spectrum":
        """Of ``G`` and ``K``, which may both be singular but share no null direction."""
        scale = np.trace(gram) / np.trace(penalty)
        both = gram + scale * penalty
        # A hair of the identity: a direction in neither (two equal columns) is then left at zero, not an error.
        both[np.diag_indices_from(both)] += 1e-13 * np.trace(both) / len(both)
        shares, directions = eigh(gram, both)
        # What is free of penalty must be so exactly, for penalties may be huge.
        shares[shares > 1 - _FREE] = 1
        return cls(directions, np.maximum(shares, 0), scale)

    @property
    def rank(self) -> int:
        """Directions that the rows determine."""
        return int((self.shares > _NOTHING).sum())

    def damping(self, lam: float) -> np.ndarray:
        """``t``; infinite for directions that nothing determines."""
        damping = self.shares + lam * (1 - self.shares) / self.scale
        return np.where((self.shares > _NOTHING) | (lam > 0), np.maximum(damping, 1e-300), np.inf)

    def trace(self, lam: float) -> float:
        """Trace of the fit."""
        return float((self.shares / self.damping(lam)).sum())

    def degrees_of_freedom(self, lam: float) -> float:
        """``2 tr S - tr S'S`` of the fit S."""
        kept = self.shares / self.damping(lam)
        return float((2 * kept - kept**2).sum())

    def penalty_for(self, df: float) -> float:
        """The lam with these degrees of freedom; 0 where df is the rank or more."""
        if df >= self.rank - 1e-9:
            return 0.0
        if df <= self.degrees_of_freedom(_LARGEST_PENALTY):
            return _LARGEST_PENALTY
        # brentq in log lam, for lam may be anything.
        low, high = -15 * np.log(10), np.log(_LARGEST_PENALTY)
        if self.degrees_of_freedom(np.exp(low)) <= df:
            return 0.0
        return float(np.exp(brentq(lambda log: self.degrees_of_freedom(np.exp(log)) - df, low, high, xtol=1e-13)))


@dataclass(frozen=True)
class Smoother:
    """The fit of one learner as matrices for ``b = Z'W u``: coefficients ``A b``, fall of the squares ``b' gain b``."""

    inverse: np.ndarray
    gain: np.ndarray
    df: float
    penalty: float

    @classmethod
    def of(
        cls, gram: np.ndarray, penalty: np.ndarray | None, df: float | None, reduction: np.ndarray | None = None
    ) -> "Smoother":
        """With ``df`` degrees of freedom, unpenalised with None; within the span of ``reduction``, if given."""
        if reduction is not None:
            inside = cls.of(reduction.T @ gram @ reduction, penalty, df)
            return cls(
                reduction @ inside.inverse @ reduction.T,
                reduction @ inside.gain @ reduction.T,
                inside.df,
                inside.penalty,
            )
        # Unpenalised, any penalty of full rank serves to find the directions.
        spectrum = Spectrum.of(gram, np.eye(len(gram)) if penalty is None else penalty)
        lam = 0.0 if penalty is None or df is None else spectrum.penalty_for(df)
        damping = spectrum.damping(lam)
        inverse = (spectrum.directions / damping) @ spectrum.directions.T
        gain = (spectrum.directions * (2 / damping - spectrum.shares / damping**2)) @ spectrum.directions.T
        return cls(inverse, gain, spectrum.degrees_of_freedom(lam), lam)
