"""Loadings: rotations towards a simple structure, standard errors, and the table that people publish.

Any rotation of the factors fits as well. An orthogonal one takes loadings A to ``L = A T`` with ``T'T = I``; an oblique
one to ``L = A T'^-1`` with columns of T of unit length, and correlations ``T'T`` of the factors. Each minimises a
criterion Q(L), by projected gradients (Jennrich 2001, 2002):

- *varimax*: ``- sum_k var_i(L_ik^2)``, and *quartimax*: ``- sum_ik L_ik^4``, orthogonal;
- *oblimin* (quartimin): ``sum_i sum_{k < l} L_ik^2 L_il^2``, and *geomin*: ``sum_i (prod_k (L_ik^2 + 0.01))^(1/q)``,
  oblique;
- *promax*: the oblique rotation closest to the fourth powers of varimax loadings (Hendrickson and White 1964).

For varimax, quartimax and promax, rows count alike whatever their length (Kaiser's normalisation), as in R's factanal.

Standard errors are those of the delta method. The parameters are the loadings W before rotation and the noise variances
psi, with ``Sigma = W W' + Psi``. For n complete rows the expected information is

    n [Sigma^-1_ij (W' Sigma^-1 W)_kl + (Sigma^-1 W)_il (Sigma^-1 W)_jk]   for W_ik and W_jl,
    n Sigma^-1_ij (Sigma^-1 W)_jk   for W_ik and psi_j,     n / 2 (Sigma^-1_ij)^2   for psi_i and psi_j;

with missing entries, the observed information is that of the patterns of observed entries, means included: derivatives
of the score. Rotations of W change nothing, and a standardised and rotated loading does not depend on them either. So
they are left out: with the other directions M and the derivatives J, its variance is ``J M (M'I M)^-1 M'J'``.

References
----------
Bernaards, C. A. and Jennrich, R. I. (2005). Gradient projection algorithms and software for arbitrary rotation criteria
in factor analysis. Educational and Psychological Measurement 65, 676-696.
Jennrich, R. I. (1974). Simplified formulae for standard errors in maximum-likelihood factor analysis. British Journal
of Mathematical and Statistical Psychology 27, 122-131.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from scipy import linalg

from fewer._figures import BLUE, RED, Result, new_figure
from fewer._kernels._numpy_lapack import solve_spd
from fewer._wording import counted, cut, listed
from fewer.latent.factors._factor_model import Factors, Rows

_MAX_STEPS = 1000
_TOL = 1e-9
_N_STARTS = 8
_GEOMIN = 0.01

Criterion = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Rotation(NamedTuple):
    """Rotated loadings L (p, q), the map of old factors to new ones (q, q), and correlations of the new (q, q).

    If z are the old factors, ``turn @ z`` are the new ones, so that ``L = A @ inv(turn)`` and ``phi = turn @ turn.T``.
    """

    loadings: np.ndarray
    turn: np.ndarray
    correlations: np.ndarray


def varimax(L: np.ndarray) -> tuple[float, np.ndarray]:
    """Criterion and gradient."""
    away = L**2 - np.mean(L**2, axis=0)
    return -float(np.sum(away**2)) / 4, -L * away


def quartimax(L: np.ndarray) -> tuple[float, np.ndarray]:
    """Criterion and gradient."""
    return -float(np.sum(L**4)) / 4, -(L**3)


def oblimin(L: np.ndarray) -> tuple[float, np.ndarray]:
    """Criterion and gradient."""
    squares = L**2
    others = squares.sum(axis=1, keepdims=True) - squares
    return float(np.sum(squares * others)) / 4, L * others


def geomin(L: np.ndarray) -> tuple[float, np.ndarray]:
    """Criterion and gradient."""
    squares = L**2 + _GEOMIN
    means = np.exp(np.mean(np.log(squares), axis=1))
    return float(means.sum()), 2 / L.shape[1] * (L / squares) * means[:, None]


ORTHOGONAL: dict[str, Criterion] = {"varimax": varimax, "quartimax": quartimax}
OBLIQUE: dict[str, Criterion] = {"oblimin": oblimin, "geomin": geomin}
ROTATIONS = (*ORTHOGONAL, "promax", *OBLIQUE)


def rotated(loadings: np.ndarray, rotation: str | None, near: np.ndarray | None = None) -> Rotation:
    """Rotate standardised loadings; factors of decreasing sums of squares, whose largest loading is positive.

    ``near`` is the turn of loadings that differ little: the search begins there, and nowhere else.

    Examples
    --------
    >>> simple = np.array([[0.9, 0.0], [0.8, 0.0], [0.0, 0.7], [0.0, 0.6]])
    >>> turned = simple @ np.array([[0.6, -0.8], [0.8, 0.6]])
    >>> bool(np.allclose(rotated(turned, "varimax").loadings, simple, atol=1e-6))
    True
    """
    q = loadings.shape[1]
    turn = np.eye(q)
    if rotation is not None and q > 1 and np.any(loadings):
        lengths = np.sqrt(np.sum(loadings**2, axis=1, keepdims=True))
        normal = loadings / np.where(lengths > 0, lengths, 1)
        starts = _starts(q) if near is None else [linalg.polar(near.T)[0]]
        if rotation in ORTHOGONAL:
            turn = _orthogonal(normal, ORTHOGONAL[rotation], starts).T
        elif rotation == "promax":
            turn = _promax(loadings, _orthogonal(normal, varimax, starts))
        else:
            starts = [_orthogonal(normal, varimax, starts), *starts] if near is None else [near.T]
            turn = _oblique(loadings, OBLIQUE[rotation], starts).T
    return _arranged(loadings @ np.linalg.inv(turn), turn)


def _arranged(loadings: np.ndarray, turn: np.ndarray) -> Rotation:
    order = np.argsort(-np.sum(loadings**2, axis=0), kind="stable")
    largest = loadings[np.abs(loadings).argmax(axis=0), np.arange(len(order))]
    signs = np.where(largest < 0, -1.0, 1.0)[order]
    turn = turn[order] * signs[:, None]
    return Rotation(loadings[:, order] * signs, turn, turn @ turn.T)


def _starts(q: int) -> list[np.ndarray]:
    """The identity, and random rotations: criteria have several minima."""
    random = np.random.RandomState(0)
    return [np.eye(q), *(np.linalg.qr(random.standard_normal((q, q)), mode="complete")[0] for _ in range(_N_STARTS))]


def _orthogonal(A: np.ndarray, criterion: Criterion, starts: list[np.ndarray]) -> np.ndarray:
    def at(T):
        value, slope = criterion(A @ T)
        return value, A.T @ slope

    def tangent(T, gradient):
        inner = T.T @ gradient
        return gradient - T @ (inner + inner.T) / 2

    def on_manifold(T):
        left, _, right = np.linalg.svd(T)
        return left @ right

    found = [_projected_descent(T, at, tangent, on_manifold) for T in starts]
    return min(found, key=lambda each: each[0])[1]


def _oblique(A: np.ndarray, criterion: Criterion, starts: list[np.ndarray]) -> np.ndarray:
    def at(T):
        inverse = np.linalg.inv(T)
        L = A @ inverse.T
        value, slope = criterion(L)
        return value, -(L.T @ slope @ inverse).T

    def tangent(T, gradient):
        return gradient - T * np.sum(T * gradient, axis=0)

    def on_manifold(T):
        return T / np.sqrt(np.sum(T**2, axis=0))

    found = [_projected_descent(T, at, tangent, on_manifold) for T in starts]
    return min(found, key=lambda each: each[0])[1]


def _projected_descent(T, at, tangent, on_manifold) -> tuple[float, np.ndarray]:
    """Minimise over a manifold of matrices; steps double where they succeed, and are halved where they do not."""
    value, gradient = at(T)
    step = 1.0
    for _ in range(_MAX_STEPS):
        direction = tangent(T, gradient)
        length = float(np.linalg.norm(direction))
        if length < _TOL:
            break
        step *= 2
        for _ in range(40):
            moved = on_manifold(T - step * direction)
            after, slope = at(moved)
            if after < value - 0.5 * step * length**2:
                break
            step /= 2
        else:
            break
        T, value, gradient = moved, after, slope
    return value, T


def _promax(A: np.ndarray, T: np.ndarray, power: int = 4) -> np.ndarray:
    L = A @ T
    target = L * np.abs(L) ** (power - 1)
    turn, *_ = np.linalg.lstsq(L, target, rcond=None)
    turn = turn * np.sqrt(np.diag(np.linalg.inv(turn.T @ turn)))
    return np.linalg.inv(T @ turn)


MOST_PARAMETERS = 500
_MOST_ENTRIES = 2_000_000
_STEP = 1e-4
_SINGULAR = 1e-9


class PatternMoments(NamedTuple):
    """Of each pattern of observed entries: the weight of its rows, which entries, their mean and covariance.

    Entries that are missing are 0.
    """

    masses: np.ndarray
    observed: np.ndarray
    means: np.ndarray
    covariances: np.ndarray


def pattern_moments(rows: Rows) -> PatternMoments | None:
    """What the observed information needs of rows with missing entries; None where it would take much room."""
    assert rows.observed is not None
    n_patterns, p = rows.observed.shape
    if n_patterns * p * p > _MOST_ENTRIES:
        return None
    masses = np.bincount(rows.pattern, weights=rows.weights, minlength=n_patterns)
    means, covariances = np.zeros((n_patterns, p)), np.zeros((n_patterns, p, p))
    for place in range(n_patterns):
        own = np.flatnonzero(rows.pattern == place)
        share = rows.weights[own] / masses[place]
        means[place] = share @ rows.X[own]
        centred = (rows.X[own] - means[place]) * rows.observed[place] * np.sqrt(share)[:, None]
        covariances[place] = centred.T @ centred
    return PatternMoments(masses, rows.observed.astype(np.float64), means * rows.observed, covariances)


def expected_information(model: Factors, total: float) -> np.ndarray:
    """Of the loadings, row by row, and the noise variances, from complete rows with this total weight."""
    W = model.loadings
    p, q = W.shape
    inverse = np.linalg.inv(W @ W.T + np.diag(model.noise))
    projected = inverse @ W
    of_loadings = np.einsum("ij,kl->ikjl", inverse, W.T @ projected) + np.einsum("il,jk->ikjl", projected, projected)
    across = np.einsum("ij,jk->ikj", inverse, projected).reshape(p * q, p)
    return total * np.block([[of_loadings.reshape(p * q, p * q), across], [across.T, inverse**2 / 2]])


def observed_information(model: Factors, moments: PatternMoments) -> np.ndarray:
    """The same where entries are missing: with the means taken account of, which are estimated as well."""
    p, q = model.loadings.shape
    theta = np.concatenate([model.loadings.ravel(), model.noise, model.mean])

    def score(moved: np.ndarray) -> np.ndarray:
        parts = np.split(moved, [p * q, p * q + p])
        return _score(Factors(parts[2], parts[0].reshape(p, q), parts[1]), moments)

    hessian = np.empty((len(theta), len(theta)))
    for place in range(len(theta)):
        step = np.zeros(len(theta))
        step[place] = _STEP * (theta[place] if p * q <= place < p * q + p else 1.0)
        hessian[place] = (score(theta - step) - score(theta + step)) / (2 * step[place])
    hessian = (hessian + hessian.T) / 2
    inside, means = slice(0, p * (q + 1)), slice(p * (q + 1), None)
    return hessian[inside, inside] - hessian[inside, means] @ solve_spd(hessian[means, means], hessian[means, inside])


def _score(model: Factors, moments: PatternMoments) -> np.ndarray:
    """Derivatives of the log-likelihood by loadings, noise variances and means."""
    masses, there, means, covariances = moments
    both = there[:, :, None] * there[:, None, :]
    covariance = model.loadings @ model.loadings.T + np.diag(model.noise)
    # The entries that are not there are given a covariance of their own, and taken out again.
    filled = covariance * both + np.eye(len(covariance)) * (1 - there)[:, None, :]
    inverses = np.linalg.inv(filled) * both
    gaps = (means - model.mean) * there
    scatter = covariances + gaps[:, :, None] * gaps[:, None, :]
    by_covariance = np.einsum("m,mij->ij", masses, inverses @ scatter @ inverses - inverses) / 2
    by_mean = np.einsum("m,mij,mj->i", masses, inverses, gaps)
    return np.concatenate([(2 * by_covariance @ model.loadings).ravel(), np.diag(by_covariance), by_mean])


def loading_errors(model: Factors, information: np.ndarray, rotation: str | None) -> np.ndarray:
    """Standard errors (p, q) of standardised, rotated loadings; NaN where the information leaves them open."""
    p, q = model.loadings.shape

    def standard(theta: np.ndarray) -> np.ndarray:
        W, noise = theta[: p * q].reshape(p, q), theta[p * q :]
        if rotation is None:  # the axes are those in which W' Psi^-1 W is diagonal
            W = W @ np.linalg.eigh(W.T @ (W / noise[:, None]))[1][:, ::-1]
        return W / np.sqrt(np.sum(W**2, axis=1) + noise)[:, None]

    theta = np.concatenate([model.loadings.ravel(), model.noise])
    base = rotated(standard(theta), rotation)

    def turned(moved: np.ndarray) -> np.ndarray:
        found = rotated(standard(moved), rotation, near=base.turn).loadings
        across = base.loadings.T @ found
        partners = np.abs(across).argmax(axis=1)
        return (found[:, partners] * np.sign(across[np.arange(q), partners])).ravel()

    slopes = np.empty((p * q, len(theta)))
    for place in range(len(theta)):
        step = np.zeros(len(theta))
        step[place] = _STEP * (theta[place] if place >= p * q else 1.0)
        slopes[:, place] = (turned(theta + step) - turned(theta - step)) / (2 * step[place])
    moves = _moves_of_the_fit(model.loadings)
    values, vectors = np.linalg.eigh(moves.T @ information @ moves)
    if values[0] <= _SINGULAR * values[-1]:
        return np.full((p, q), np.nan)
    along = slopes @ moves @ vectors / np.sqrt(values)
    return np.sqrt(np.sum(along**2, axis=1)).reshape(p, q)


def _moves_of_the_fit(W: np.ndarray) -> np.ndarray:
    """Orthonormal directions of loadings and noise variances, all but those of rotations: ``W A`` with ``A' = -A``.

    Away from the maximum of the likelihood, its second derivatives along rotations are not 0.
    """
    p, q = W.shape
    turns = np.zeros((q * (q - 1) // 2, p, q))
    for turn, (first, second) in zip(turns, itertools.combinations(range(q), 2), strict=True):
        turn[:, first], turn[:, second] = W[:, second], -W[:, first]
    flat = np.pad(turns.reshape(len(turns), p * q), [(0, 0), (0, p)])
    return np.linalg.qr(flat.T, mode="complete")[0][:, len(turns) :] if len(turns) else np.eye(p * (q + 1))


if TYPE_CHECKING:
    import plotly.graph_objects as go

_NAME_WIDTH = 24
_MANY_COLUMNS = 40


@dataclass(repr=False)
class LoadingsTable(Result):
    """Standardised loadings of columns on factors.

    Attributes
    ----------
    names : list of str
        Columns of the table.
    loadings : ndarray of shape (n_features, n_components)
        Weight of each factor in each column, both with variance 1.
    errors : ndarray of shape (n_features, n_components)
        Their standard errors; NaN where there are none.
    communalities : ndarray of shape (n_features,)
        Share of each column's variance that the factors explain.
    uniquenesses : ndarray of shape (n_features,)
        The rest: noise of the column's own.
    factor_correlations : ndarray of shape (n_components, n_components)
        Correlations of the factors; the identity unless the rotation is oblique.
    rotation : str or None
        How loadings were rotated.
    chi2, dof, p_value : float
        Test of the hypothesis that the number of factors is sufficient; NaN with missing values, or where it does
        not exist.
    threshold : float
        Smaller loadings are not printed.
    error_type : str
        What ``errors`` are: "standard errors" or "posterior standard deviations".
    """

    _data: ClassVar[tuple[str, ...]] = (
        "names",
        "loadings",
        "errors",
        "communalities",
        "uniquenesses",
        "factor_correlations",
        "rotation",
        "chi2",
        "dof",
        "p_value",
    )

    names: list[str]
    loadings: np.ndarray
    errors: np.ndarray
    communalities: np.ndarray
    uniquenesses: np.ndarray
    factor_correlations: np.ndarray
    rotation: str | None
    chi2: float
    dof: float
    p_value: float
    threshold: float = 0.1
    error_type: str = "standard errors"

    @property
    def sums_of_squares(self) -> np.ndarray:
        """Variance of the standardised columns that each factor explains, summed over columns."""
        return np.einsum("ik,il,kl->k", self.loadings, self.loadings, self.factor_correlations)

    @property
    def order(self) -> np.ndarray:
        """Columns sorted by the factor that they load on most, and by the size of that loading."""
        best = np.abs(self.loadings).argmax(axis=1)
        return np.lexsort((-np.abs(self.loadings).max(axis=1), best))

    @property
    def reading(self) -> str:
        """What it means, in words."""
        parts = []
        for k in range(self.loadings.shape[1]):
            own = [i for i in self.order if np.abs(self.loadings[i]).argmax() == k and abs(self.loadings[i, k]) >= 0.3]
            if own:
                shown = [("-" if self.loadings[i, k] < 0 else "") + self.names[i] for i in own[:4]]
                parts.append(f"Factor {k + 1}: {listed(shown)}{' and more' if len(own) > 4 else ''}.")
        share = self.sums_of_squares.sum() / len(self.names)
        parts.append(f"The factors explain {share:.0%} of the variance.")
        if np.isfinite(self.p_value):
            verdict = "not enough to explain all correlations" if self.p_value < 0.05 else "enough"
            n_factors = self.loadings.shape[1]
            parts.append(
                f"By the test of fit, {counted(n_factors, 'factor')} {'is' if n_factors == 1 else 'are'} {verdict} "
                f"(chi2 = {self.chi2:.1f}, {self.dof:.0f} degrees of freedom, p = {self.p_value:.2g})."
            )
        return " ".join(parts)

    def __repr__(self) -> str:
        q = self.loadings.shape[1]
        width = min(max([len(name) for name in self.names] + [12]), _NAME_WIDTH)
        known = bool(np.isfinite(self.errors).any())
        cell = 16 if known else 8
        factors = [f"{'F' + str(k + 1):>8}" + " " * (cell - 8) for k in range(q)]
        lines = [
            f"Loadings of {counted(len(self.names), 'column')} on {counted(q, 'factor')}, "
            f"rotation {self.rotation or 'none'}{f' ({self.error_type})' if known else ''}",
            " " * width + "".join(factors) + "  communality  uniqueness",
        ]
        for i in self.order:
            entries = [
                (
                    f"{value:8.2f}" + ("" if np.isnan(error) else f" ({error:.2f})")
                    if abs(value) >= self.threshold
                    else ""
                )
                for value, error in zip(self.loadings[i], self.errors[i], strict=True)
            ]
            ends = f"{self.communalities[i]:13.2f}{self.uniquenesses[i]:12.2f}"
            lines.append(
                f"{cut(self.names[i], width):<{width}}" + "".join(f"{each:<{cell}}" for each in entries) + ends
            )
        sums = self.sums_of_squares
        shares = sums / len(self.names)
        for title, values in (("sum of sq.", sums), ("share", shares), ("cumulative", np.cumsum(shares))):
            lines.append(f"{title:<{width}}" + "".join(f"{f'{each:8.2f}':<{cell}}" for each in values))
        if not np.allclose(self.factor_correlations, np.eye(q)):
            lines.append("correlations of the factors")
            for k, row in enumerate(self.factor_correlations):
                lines.append(f"{'F' + str(k + 1):<{width}}" + "".join(f"{f'{each:8.2f}':<{cell}}" for each in row))
        return "\n".join([*(each.rstrip() for each in lines), self.reading])

    def plot(self) -> "go.Figure":
        """Draw the loadings.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            A row for each column of the table, those of one factor side by side; positive loadings blue, negative red.
        """
        import plotly.graph_objects as go

        order = self.order[::-1]
        values = self.loadings[order]
        few = len(order) <= _MANY_COLUMNS
        figure = new_figure(height=max(380, 110 + 22 * len(order)) if few else 600)
        figure.add_trace(
            go.Heatmap(
                z=values,
                x=[f"factor {k + 1}" for k in range(values.shape[1])],
                y=[cut(self.names[i], _NAME_WIDTH) for i in order],
                text=[[f"{each:.2f}" for each in row] for row in values] if few else None,
                texttemplate="%{text}" if few else None,
                zmin=-1,
                zmax=1,
                colorscale=[[0, RED], [0.5, "#f4f4f4"], [1, BLUE]],
                colorbar={"title": {"text": "loading"}, "thickness": 12},
                hovertemplate="%{y}, %{x}: %{z:.3f}<extra></extra>",
            )
        )
        return figure.update_xaxes(side="top")
