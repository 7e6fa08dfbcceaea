"""How partial least squares shrinks least squares, direction by direction, and how many degrees of freedom it uses.

With ``X = V S U'`` and eigenvalues ``l_i = s_i^2`` of X'X, least squares has pieces ``b_i = (v_i'y / s_i) u_i``, and
PLS1 with k components is ``sum_i f_k(l_i) b_i`` with ``f_k(l) = 1 - prod_j (1 - l / mu_j)`` and the Ritz values mu_j.

The fit is ``T T'y`` with an orthonormal basis T of span{Ky, ..., K^k y}, K = XX'. The basis is made of fixed
polynomials, ``t_j = q_j(K) y``, as far as a small change of y is concerned; so the derivative of the fit has the trace

    DoF = 1 + k + sum_j c_j (tr q_j(K) - sum_l t_l' q_j(K) t_l) + sum_j r' q_j(K) t_j,   c_j = t_j'y,  r = y - fit,

and 1 is for the mean. In the coordinates of V all of these are sums over eigenvalues.

Kraemer, N. and Sugiyama, M. (2011). The degrees of freedom of partial least squares regression. Journal of the American
Statistical Association 106, 697-705.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d

from fewer._estimators import checked_array, warn_caller
from fewer._figures import GREY, PALETTE, Result, line, new_figure
from fewer.catalogue import method
from fewer.learn.pls import NOTHING_ALONG, shrinkage_factors

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True, eq=False, repr=False)
class PLSShrinkage(Result):
    """What PLS1 makes of least squares; made by :func:`pls_shrinkage`.

    Attributes
    ----------
    eigenvalues : ndarray of shape (n_directions,)
        Eigenvalues of ``X'X`` of the centred table, the largest first.
    factors : ndarray of shape (n_components, n_directions)
        What the piece of least squares along each principal direction is multiplied by, after 1, 2, ... components.
        Factors above 1 are normal.
    ritz_values : list of ndarray
        Ritz values after 1, 2, ... components.
    degrees_of_freedom : ndarray of shape (n_components,)
        After 1, 2, ... components, the mean included. More than components + 1 in general, because the components are
        chosen by y.
    norm_ratios : ndarray of shape (n_components,)
        Length of the coefficients over that of least squares.
    coef_path : ndarray of shape (n_components, n_features)
        Coefficients after 1, 2, ... components.
    """

    eigenvalues: np.ndarray
    factors: np.ndarray
    ritz_values: list[np.ndarray]
    degrees_of_freedom: np.ndarray
    norm_ratios: np.ndarray
    coef_path: np.ndarray

    def __repr__(self) -> str:
        lines = [f"PLSShrinkage: {len(self.factors)} components, {len(self.eigenvalues)} principal directions"]
        for place, factors in enumerate(self.factors):
            lines.append(
                f"  after {place + 1}: factors {factors.min():.3g} to {factors.max():.3g}, coefficients "
                f"{self.norm_ratios[place]:.3f} of least squares, {self.degrees_of_freedom[place]:.1f} degrees of "
                "freedom"
            )
        return "\n".join(lines)

    @property
    def ridge_equivalents(self) -> np.ndarray:
        """Ridge ``gamma`` whose degrees of freedom are nearest, after 1, 2, ... components; NaN where none is."""
        return np.array([_ridge_with(self.eigenvalues, float(wanted) - 1) for wanted in self.degrees_of_freedom])

    def plot(self) -> "go.Figure":
        """The factors over the principal directions, one line for each number of components.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        places = np.arange(1, len(self.eigenvalues) + 1)
        figure = new_figure(x="principal direction, the largest first", y="factor of least squares")
        figure.add_trace(line("least squares", places, np.ones(len(places)), GREY, line_dash="dot"))
        for number, factors in enumerate(self.factors):
            trace = line(f"{number + 1}", places, factors, PALETTE[number % len(PALETTE)])
            figure.add_trace(trace.update(mode="lines+markers"))
        return figure.update_layout(legend_title_text="components")


class _Spectrum(NamedTuple):
    """``v_i'y``, ``s_i`` and the principal directions as rows, without those of rounding."""

    along: np.ndarray
    sizes: np.ndarray
    directions: np.ndarray


@method(
    tasks=["regression"],
    when="You want to see what partial least squares does to least squares along each principal direction, beside "
    "ridge and principal components, and how many degrees of freedom it uses.",
    cost="O(n p min(n, p)) time, O(n p) memory",
    paper="pls",
)
def pls_shrinkage(X: Any, y: Any, n_components: int) -> PLSShrinkage:
    """Shrinkage factors and degrees of freedom of PLS1 with 1 to ``n_components`` components.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Table; its columns are centred first.
    y : array-like of shape (n_samples,)
        Target.
    n_components : int
        Largest number of components.

    Returns
    -------
    report : PLSShrinkage
        Factors, Ritz values, degrees of freedom; ``plot()`` draws them.

    See Also
    --------
    PLSRegressor : The regression itself.

    Notes
    -----
    Degrees of freedom are the trace of the derivative of the fit by y, an unbiased estimate of those in the sense of
    Stein; they depend on y, and can fall with another component.

    References
    ----------
    .. [1] Rosipal, R. and Kraemer, N. (2006). Overview and recent advances in partial least squares. In Subspace,
       Latent Structure and Feature Selection, LNCS 3940, 34-51.
    .. [2] Kraemer, N. and Sugiyama, M. (2011). The degrees of freedom of partial least squares regression. Journal of
       the American Statistical Association 106, 697-705.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fewer.extract import pls_shrinkage
    >>> X, y = load_diabetes(return_X_y=True)
    >>> pls_shrinkage(X, y, 2)
    PLSShrinkage: 2 components, 10 principal directions
      after 1: factors 0.00238 to 1.12, coefficients 0.395 of least squares, 3.6 degrees of freedom
      after 2: factors 0.0101 to 1.25, coefficients 0.601 of least squares, 7.6 degrees of freedom
    """
    X = checked_array(X, "pls_shrinkage", dtype=np.float64, ensure_min_samples=2)
    y = _one_target(y)
    check_consistent_length(X, y)
    if isinstance(n_components, bool) or not isinstance(n_components, int | np.integer) or n_components < 1:
        raise ValueError(f"n_components={n_components!r} must be an integer of at least 1.")
    spectrum = _spectrum(X, y)
    eigenvalues = spectrum.sizes**2
    scores = _scores(eigenvalues, spectrum.along, int(n_components))
    n_found = len(scores.units)
    if n_found < n_components:
        warn_caller(f"n_components={n_components} are asked for, and there are {n_found}; all of them are shown.")
    ritz_values = [_ritz_values(eigenvalues, scores.units[:number]) for number in range(1, n_found + 1)]
    fits = np.cumsum((scores.units @ spectrum.along)[:, None] * scores.units, axis=0)
    factors = [
        shrinkage_factors(fit, spectrum.along, eigenvalues, ritz) for fit, ritz in zip(fits, ritz_values, strict=True)
    ]
    ols = float(np.linalg.norm(spectrum.along / spectrum.sizes)) or 1.0
    return PLSShrinkage(
        eigenvalues=eigenvalues,
        factors=np.reshape(factors, fits.shape),
        ritz_values=ritz_values,
        degrees_of_freedom=_degrees_of_freedom(spectrum.along, scores),
        norm_ratios=np.linalg.norm(fits / spectrum.sizes, axis=1) / ols,
        coef_path=(fits / spectrum.sizes) @ spectrum.directions,
    )


def _one_target(y: Any) -> np.ndarray:
    target = np.asarray(y)
    if target.ndim == 2 and target.shape[1] > 1:
        raise ValueError(f"pls_shrinkage looks at one target, and y has {target.shape[1]} columns; call it for each.")
    try:
        numbers = column_or_1d(target.astype(np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"pls_shrinkage needs a number for every row, and y holds {str(target.flat[0])!r}.") from None
    assert_all_finite(numbers, input_name="y")
    return numbers


def _spectrum(X: np.ndarray, y: np.ndarray) -> _Spectrum:
    left, sizes, right = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    kept = sizes > np.finfo(np.float64).eps * max(X.shape) * sizes[0]
    return _Spectrum((left.T @ (y - y.mean()))[kept], sizes[kept], right[kept])


class _Scores(NamedTuple):
    """Orthonormal scores in the coordinates of V, their polynomials at the eigenvalues; (components, directions)."""

    units: np.ndarray
    polynomials: np.ndarray


def _scores(eigenvalues: np.ndarray, along: np.ndarray, most: int) -> _Scores:
    """Orthonormal basis of span{Ky, ..., K^k y}, as far as it grows; polynomials go through the same steps."""
    units: list[np.ndarray] = []
    polynomials: list[np.ndarray] = []
    unit, polynomial = along, np.ones_like(along)
    for _ in range(min(most, len(along))):
        before = float(np.linalg.norm(unit))
        unit, polynomial = eigenvalues * unit, eigenvalues * polynomial
        for _ in range(2):
            for earlier, its in zip(units, polynomials, strict=True):
                step = float(earlier @ unit)
                unit, polynomial = unit - step * earlier, polynomial - step * its
        length = float(np.linalg.norm(unit))
        if length <= 1e-12 * eigenvalues[0] * before:
            break
        unit, polynomial = unit / length, polynomial / length
        units.append(unit)
        polynomials.append(polynomial)
    shape = (len(units), len(along))
    vectors, values = np.reshape(units, shape), np.reshape(polynomials, shape)
    # A score is its polynomial times what y has along each direction, and rounding does not grow in scores.
    goes = np.abs(along) > NOTHING_ALONG * np.abs(along).max(initial=0)
    values[:, goes] = vectors[:, goes] / along[goes]
    return _Scores(vectors, values)


def _ritz_values(eigenvalues: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Eigenvalues of X'X within the Krylov space, the largest first."""
    # The weights span the vectors b with Xb in the span of the scores: T = X B has B = S^-1 T in these coordinates.
    basis = np.linalg.qr((units / np.sqrt(eigenvalues)).T)[0]
    return np.sort(np.linalg.eigvalsh(basis.T @ (eigenvalues[:, None] * basis)))[::-1]


def _degrees_of_freedom(along: np.ndarray, scores: _Scores) -> np.ndarray:
    """Trace of the derivative of the fit by y, and 1 for the mean, after 1, 2, ... components."""
    units, polynomials = scores
    on_scores = units @ along
    traces = polynomials.sum(axis=1)
    found = []
    for number in range(1, len(units) + 1):
        within = polynomials[:number] @ np.sum(units[:number] ** 2, axis=0)
        residual = along - on_scores[:number] @ units[:number]
        turning = float(np.sum(polynomials[:number] * units[:number] * residual))
        found.append(1 + number + float(on_scores[:number] @ (traces[:number] - within)) + turning)
    return np.array(found)


def _ridge_with(eigenvalues: np.ndarray, wanted: float) -> float:
    """The ridge whose ``sum l / (l + gamma)`` is this many."""
    from scipy.optimize import brentq

    def excess(log_gamma: float) -> float:
        return float(np.sum(eigenvalues / (eigenvalues + np.exp(log_gamma)))) - wanted

    low, high = np.log(eigenvalues[-1]) - 30, np.log(eigenvalues[0]) + 30
    if not excess(high) < 0 < excess(low):
        return float("nan")
    return float(np.exp(brentq(excess, low, high)))
