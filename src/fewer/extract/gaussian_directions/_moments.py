"""Groups of rows by a target, their moments, and the value of a direction for separating them.

Classes are groups as they are; numbers are cut into slices of about equal size. In any coordinates the total covariance
is

    S = sum_k pi_k S_k + sum_k pi_k m_k m_k'

for groups with shares pi_k, means m_k and covariances S_k (divisor n_k), so that total and groups agree exactly. For
normal groups the likelihood ratio criterion of a direction a is

    LR(a) = sum_k pi_k ( log a'S a - log a'S_k a ),

in which the length of a makes no difference. SAVE's is ``a' sum_k pi_k (I - S_k)^2 a`` for ``S = I`` and ``a'a = 1``.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from fewer._estimators import Interval, StrOptions, checked_array, encoded_classes, validate_params, warn_caller
from fewer._figures import BLUE, RED, Result, line, new_figure
from fewer.extract._centred_table import Coordinates, rank_tolerance, rows_along, uncorrelated
from fewer.extract._extractor import LinearExtractor, upright

if TYPE_CHECKING:
    import plotly.graph_objects as go


_USUAL_SLICES = 10
_ROWS_OF_A_CLASS = 5


class Slices(NamedTuple):
    """Groups in order (the classes; or the mean target of each slice), and the group of each row."""

    labels: np.ndarray
    codes: np.ndarray


def slices_of(y: Any, n_slices: int | None, who: str, rows_of_a_slice: int = 1) -> Slices:
    """Groups of rows by their target.

    Without ``n_slices``, labels are classes, and numbers are too if they have no fractions and each comes at least five
    times on average; other numbers are cut into ten slices, or fewer so that each has ``rows_of_a_slice``. Equal
    numbers always share a slice.

    Examples
    --------
    >>> import numpy as np
    >>> slices_of(np.array([0.1, 0.2, 0.3, 0.4]), 2, "SIR").codes
    array([0, 0, 1, 1])
    """
    numbers = np.ndim(y) == 1 and np.asarray(y).dtype.kind in "iuf"
    if not numbers or (n_slices is None and _are_classes(y)):
        return Slices(*encoded_classes(y, who))
    values = np.asarray(y, dtype=np.float64)
    distinct, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(distinct) < 2:
        raise ValueError(f"{who} compares classes or slices of y, and y is constant: {distinct[0]:g} in every row.")
    middle_ranks = np.cumsum(counts) - counts / 2
    n_slices = n_slices or max(2, min(_USUAL_SLICES, len(values) // rows_of_a_slice))
    cut = np.floor(middle_ranks / len(values) * min(n_slices, len(distinct))).astype(int)
    _, slice_of_value = np.unique(cut, return_inverse=True)
    if slice_of_value[-1] == 0:  # one value holds nearly all rows: it stands against the others
        slice_of_value = (counts == counts.max()).astype(int)
    codes = slice_of_value[places]
    return Slices(np.bincount(codes, weights=values) / np.bincount(codes), codes)


def _are_classes(y: np.ndarray) -> bool:
    return type_of_target(y) in ("binary", "multiclass") and len(np.unique(y)) * _ROWS_OF_A_CLASS <= max(
        len(y), 2 * _ROWS_OF_A_CLASS
    )


class Moments(NamedTuple):
    """Shares, means and covariances of groups of rows, from centred coordinates."""

    priors: np.ndarray
    means: np.ndarray
    covariances: np.ndarray

    @property
    def within(self) -> np.ndarray:
        return np.einsum("k,kij->ij", self.priors, self.covariances)

    @property
    def between(self) -> np.ndarray:
        return (self.means.T * self.priors) @ self.means

    @property
    def total(self) -> np.ndarray:
        return self.within + self.between

    def along(self, directions: np.ndarray) -> "Moments":
        """The moments of ``z @ directions``."""
        return Moments(self.priors, self.means @ directions, directions.T @ self.covariances @ directions)


def group_means(X: Any, codes: np.ndarray, coordinates: Coordinates) -> tuple[np.ndarray, np.ndarray]:
    """Share and mean of each group in the coordinates."""
    counts = np.bincount(codes)
    member = sparse.csr_array((np.ones(len(codes), dtype=X.dtype), (codes, np.arange(len(codes)))))
    sums = member @ X
    means = np.asarray(sums.toarray() if sparse.issparse(sums) else sums, dtype=np.float64) / counts[:, None]
    return counts / len(codes), (means - coordinates.mean) @ coordinates.to


def group_moments(X: Any, codes: np.ndarray, coordinates: Coordinates) -> Moments:
    """Share, mean and covariance of each group in the coordinates."""
    counts = np.bincount(codes)
    means, covariances = [], []
    for group in range(len(counts)):
        rows = rows_along(X[np.flatnonzero(codes == group)], coordinates)
        mean = rows.mean(axis=0, dtype=np.float64)
        centred = rows - mean.astype(rows.dtype)
        means.append(mean)
        covariances.append((centred.T @ centred).astype(np.float64) / len(rows))
    return Moments(counts / len(codes), np.array(means), np.array(covariances))


def warn_of_few_rows(X: Any, n_coordinates: int) -> None:
    """Warn where some direction separates any groups of rows."""
    if n_coordinates >= X.shape[0] - 1:
        warn_caller(
            f"{X.shape[0]} rows span {n_coordinates} dimensions, so that some direction separates any groups of them: "
            "what is found here overfits these rows. Use more rows, or fewer columns (PCA as the step before)."
        )


def shrunk(moments: Moments, shrinkage: float, alpha: float) -> Moments:
    """``(1 - a) S_k + a W + b tr(W) / p I`` in place of each S_k."""
    within = moments.within
    covariances = (1 - shrinkage) * moments.covariances + shrinkage * within
    if alpha:
        covariances = covariances + alpha * np.trace(within) / len(within) * np.eye(len(within))
    return moments._replace(covariances=covariances)


def refuse_flat_classes(moments: Moments, classes: np.ndarray, counts: np.ndarray, tolerance: float, cure: str) -> None:
    """Refuse classes that have no variance along some direction, where a likelihood has no bound."""
    n_dims = moments.means.shape[1]
    for label, count, covariance in zip(classes.tolist(), counts, moments.covariances, strict=True):
        variances = np.linalg.eigvalsh(covariance)
        if variances[0] > tolerance * max(variances[-1], tolerance):
            continue
        why = (
            f"has {count} rows for the {n_dims} dimensions of the table, and more rows than dimensions are needed"
            if count <= n_dims
            else "has no variance along some direction: a column may be constant in it, or follow from others"
        )
        sliced = isinstance(label, float)
        whose = f"The slice of y around {label:.4g}" if sliced else f"Class {label!r}"
        fewer_slices = "have fewer slices (n_slices), " if sliced else ""
        raise ValueError(f"{whose} {why}, for a covariance of its own; {fewer_slices}{cure}")


class SlicedExtractor(LinearExtractor):
    """Base of those that separate groups of rows along directions in uncorrelated coordinates."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "n_slices": [Interval(Integral, 2, None, closed="left"), None],
    }

    n_slices: int | None

    def _sliced(self, X: Any, y: Any, with_covariances: bool = False) -> tuple[Any, np.ndarray]:
        """The table as an array, and the group of each row; groups are kept as ``classes_``.

        Slices that need a covariance of their own have about twice as many rows as that has dimensions, if n_slices
        does not say otherwise.
        """
        X, y = self._validated(X, y)
        rows_of_a_slice = 2 * (X.shape[1] + 1) if with_covariances else 1
        self.classes_, codes = slices_of(y, self.n_slices, type(self).__name__, rows_of_a_slice)
        return X, codes

    def _keep(self, coordinates: Coordinates, directions: np.ndarray, dtype: Any) -> None:
        """Directions are columns, in the coordinates."""
        self.mean_ = coordinates.mean.astype(dtype)
        self.whitening_ = coordinates.to.astype(dtype)
        self.components_ = upright((coordinates.to @ directions).T).astype(dtype)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @property
    def _takes_sparse(self) -> bool:
        return True


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
