"""The value of a direction when classes are normal with their own means and covariances, and its curve over a plane.

The likelihood ratio criterion of a direction a, for classes with shares pi_k and covariances S_k and the total S, is

    LR(a) = sum_k pi_k ( log a'S a - log a'S_k a ),

in which the length of a makes no difference. SAVE's is ``a' sum_k pi_k (I - S_k)^2 a`` for ``S = I`` and ``a'a = 1``.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import column_or_1d

from fewer._estimators import Interval, StrOptions, checked_array, validate_params
from fewer._figures import BLUE, RED, Result, line, new_figure
from fewer.extract._centred_table import rank_tolerance, uncorrelated
from fewer.extract.gaussian_directions._slices import Moments, group_moments, refuse_flat_classes, slices_of

if TYPE_CHECKING:
    import plotly.graph_objects as go


def likelihood_ratio(
    directions: np.ndarray, total: np.ndarray, covariances: np.ndarray, priors: np.ndarray
) -> np.ndarray:
    """LR of directions, which are columns."""
    overall = np.einsum("im,im->m", directions, total @ directions)
    within = np.einsum("im,kim->km", directions, covariances @ directions)
    return np.log(overall) - priors @ np.log(within)


def likelihood_ratio_and_gradient(
    direction: np.ndarray, total: np.ndarray, covariances: np.ndarray, priors: np.ndarray
) -> tuple[float, np.ndarray]:
    """LR of one direction, and its gradient."""
    moved, moved_k = total @ direction, covariances @ direction
    size, sizes = direction @ moved, moved_k @ direction
    value = np.log(size) - priors @ np.log(sizes)
    return float(value), 2 * (moved / size - (priors / sizes) @ moved_k)


def likelihood_ratio_hessian(
    direction: np.ndarray, total: np.ndarray, covariances: np.ndarray, priors: np.ndarray
) -> np.ndarray:
    """Second derivatives of LR at one direction."""
    moved, moved_k = total @ direction, covariances @ direction
    size, sizes = direction @ moved, moved_k @ direction
    overall = total / size - 2 * np.outer(moved, moved) / size**2
    curved = (moved_k.T * (2 * priors / sizes**2)) @ moved_k
    return 2 * (overall - np.einsum("k,kij->ij", priors / sizes, covariances) + curved)


def save_kernel(covariances: np.ndarray, priors: np.ndarray) -> np.ndarray:
    """``sum_k pi_k (I - S_k)^2`` for covariances in coordinates in which the total is I."""
    lacking = np.eye(covariances.shape[1]) - covariances
    return np.einsum("k,kij,kjl->il", priors, lacking, lacking, optimize=True)


_NAMES = {"lr": "likelihood ratio", "save": "SAVE"}


@dataclass(frozen=True, eq=False, repr=False)
class CriterionCurve(Result):
    """What each direction of a plane is worth; made by :func:`criterion_curve`.

    Attributes
    ----------
    criterion : str
        "lr" or "save".
    angles : ndarray of shape (n_angles,)
        Angles in [0, 2 pi), from the first column towards the second, after each was divided by its standard deviation.
    values : ndarray of shape (n_angles,)
        The criterion along each.
    """

    criterion: str
    angles: np.ndarray
    values: np.ndarray

    @property
    def best_angle(self) -> float:
        """The angle with the largest value, in [0, pi): a direction and its opposite are the same."""
        half = self.angles < np.pi
        return float(self.angles[half][self.values[half].argmax()])

    def __repr__(self) -> str:
        return (
            f"CriterionCurve: {_NAMES[self.criterion]} along {len(self.angles)} directions\n"
            f"  largest {self.values.max():.4g} at {np.degrees(self.best_angle):.1f} degrees, "
            f"smallest {self.values.min():.4g}"
        )

    def plot(self) -> "go.Figure":
        """Draw the curve over the angle.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        figure = new_figure(x="direction in degrees: 0 is the first column, 90 the second", y=_NAMES[self.criterion])
        colour = BLUE if self.criterion == "lr" else RED
        figure.add_trace(line(_NAMES[self.criterion], np.degrees(self.angles), self.values, colour))
        figure.update_xaxes(tickvals=list(range(0, 361, 45)))
        figure.add_vline(x=float(np.degrees(self.best_angle)), line={"dash": "dot", "color": colour})
        return figure.update_yaxes(rangemode="tozero")


def curve_over_angles(moments: Moments, scales: np.ndarray, angles: np.ndarray, criterion: str) -> np.ndarray:
    """The criterion along each angle of the plane of two columns of unit variance; ``moments`` are in their units."""
    directions = np.vstack([np.cos(angles), np.sin(angles)]) / scales[:, None]
    total = moments.total
    if criterion == "lr":
        return likelihood_ratio(directions, total, moments.covariances, moments.priors)
    variances, axes = np.linalg.eigh(total)
    to_unit, from_unit = axes / np.sqrt(variances), (axes * np.sqrt(variances)).T
    kernel = save_kernel(moments.along(to_unit).covariances, moments.priors)
    standard = from_unit @ directions
    standard /= np.linalg.norm(standard, axis=0)
    return np.einsum("im,im->m", standard, kernel @ standard)


@validate_params(
    {
        "X": ["array-like"],
        "y": ["array-like"],
        "criterion": [StrOptions({"lr", "save"})],
        "n_angles": [Interval(Integral, 2, None, closed="left")],
    },
    prefer_skip_nested_validation=True,
)
def criterion_curve(X: Any, y: Any, criterion: str = "lr", *, n_angles: int = 720) -> CriterionCurve:
    """How well each direction of the plane of two columns separates classes.

    Parameters
    ----------
    X : array-like of shape (n_samples, 2)
        Table of two columns, or two new ones of an extractor.
    y : array-like of shape (n_samples,)
        Classes, or numbers, which are cut into slices.
    criterion : {"lr", "save"}, default="lr"
        The likelihood ratio of :class:`GaussianLRDiscriminant`, or the criterion of :class:`SAVE`.
    n_angles : int, default=720
        How many directions, 2 or more.

    Returns
    -------
    curve : CriterionCurve
        Angles and values; prints itself, and ``plot()`` draws it.

    Examples
    --------
    Means differ along the first column, spreads along the second:

    >>> import numpy as np
    >>> from fewer.extract import criterion_curve
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 5000)
    >>> X = rng.normal(size=(10_000, 2)) * np.where(y[:, None] == 0, [0.71, 0.55], [0.71, 1.3])
    >>> X[:, 0] += np.where(y == 0, -0.71, 0.71)
    >>> for criterion in ("lr", "save"):
    ...     print(round(np.degrees(criterion_curve(X, y, criterion).best_angle) / 45) % 4 * 45)
    0
    90
    """
    X = checked_array(X, "criterion_curve", dtype=(np.float64, np.float32), ensure_min_samples=2)
    if X.shape[1] != 2:
        raise ValueError(
            f"criterion_curve looks around the plane of 2 columns, and X has {X.shape[1]}; take two of them, or two "
            "new ones of an extractor."
        )
    y = column_or_1d(y)
    check_consistent_length(X, y)
    labels, codes = slices_of(y, None, "criterion_curve")
    coordinates = uncorrelated(X, unit_variance=False)
    if coordinates.to.shape[1] < 2:
        raise ValueError("The two columns of X lie on a line, so there is no plane to look around.")
    moments = group_moments(X, codes, coordinates)
    if criterion == "lr":
        refuse_flat_classes(moments, labels, np.bincount(codes), rank_tolerance(X), "leave it out.")
    in_columns = moments.along(coordinates.to.T)
    angles = np.arange(n_angles) * (2 * np.pi / n_angles)
    scales = np.sqrt(np.diag(in_columns.total))
    return CriterionCurve(criterion, angles, curve_over_angles(in_columns, scales, angles, criterion))
