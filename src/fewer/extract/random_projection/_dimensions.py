"""How many new columns are enough, by the theorems about random projections, and the margins that they depend on.

- Distances: for entries that are normal or signs, a squared distance is kept within ``1 +- g`` by d directions but for
  a chance of ``2 exp(-(g^2 - g^3) d / 4)``; over all pairs of n rows, ``n (n - 1) exp(-(g^2 - g^3) d / 4)`` at most.
- Margins: ``O(log(1 / (eps delta)) / gamma^2)`` directions keep all but a share eps of the rows on their side, at half
  of the margin. The margin of (x, y) under w is ``y (w . x) / (|w| |x|)``, y = +-1: the cosine of the angle between the
  row, multiplied by its sign, and the plane's normal.
- Landmarks: the span of ``(8 / eps) (1 / gamma^2 + ln(1 / delta))`` rows, drawn at random, holds such a separator.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import column_or_1d

from fewer._estimators import checked_array, encoded_classes
from fewer._figures import BLUE, GREY, RED, Result, line, new_figure

if TYPE_CHECKING:
    import plotly.graph_objects as go


_TIGHTEST = 2 / 3
"""Where g^2 - g^3 is largest: a wider distortion is kept at least as often as this one."""


def distortion_failure(n_components: int, eps: float) -> float:
    """Bound on the chance that one squared distance is not kept within ``1 +- eps``."""
    return 2 * math.exp(-_exponent(eps) * n_components)


def distortion_dim(n_samples: int, eps: float = 0.1, delta: float = 0.05) -> int:
    """Random directions that keep all distances between rows.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    eps : float, default=0.1
        Distortion: squared distances are kept within ``1 - eps`` and ``1 + eps`` times what they are.
    delta : float, default=0.05
        Chance that one of them is not.

    Returns
    -------
    n_components : int
        ``4 ln(n (n - 1) / delta) / (eps^2 - eps^3)``, rounded up. From ``eps = 2/3`` on, what it is there.

    References
    ----------
    .. [1] Blum, A. (2006). Random projection, margins, kernels, and feature-selection. Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 52-68.

    Examples
    --------
    >>> from fewer.extract import distortion_dim
    >>> distortion_dim(1000, eps=0.2)
    2102
    """
    _check_shares(eps=eps, delta=delta)
    if n_samples < 1:
        raise ValueError(f"n_samples={n_samples} must be at least 1.")
    n_pairs = max(n_samples * (n_samples - 1) / 2, 1)
    return math.ceil(math.log(2 * n_pairs / delta) / _exponent(eps))


def margin_dim(gamma: float, eps: float = 0.1, delta: float = 0.05, *, constant: float = 8.0) -> int:
    """Random directions that keep classes apart.

    Parameters
    ----------
    gamma : float
        Margin by which a plane through the origin separates the classes: the smallest cosine between the rows, turned
        to their side, and the plane's normal.
    eps : float, default=0.1
        Share of rows that may end up on the wrong side, or closer to it than half of the margin.
    delta : float, default=0.05
        Chance that more do.
    constant : float, default=8
        Constant factor of the bound, which the theorem leaves open.

    Returns
    -------
    n_components : int
        ``constant ln(1 / (eps delta)) / gamma^2``, rounded up. The number of columns does not matter.

    See Also
    --------
    margin_report : The margin of a linear model.

    References
    ----------
    .. [1] Blum, A. (2006). Random projection, margins, kernels, and feature-selection. Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 52-68.

    Examples
    --------
    >>> from fewer.extract import margin_dim
    >>> margin_dim(0.3)
    471
    """
    _check_shares(eps=eps, delta=delta)
    _check_margin(gamma)
    if not constant > 0:
        raise ValueError(f"constant={constant} must be above 0.")
    return math.ceil(constant * math.log(1 / (eps * delta)) / gamma**2)


def landmark_dim(gamma: float, eps: float = 0.1, delta: float = 0.05) -> int:
    """Landmarks whose span holds a plane that separates the classes.

    Parameters
    ----------
    gamma : float
        Margin by which classes are separated in the space of the kernel.
    eps : float, default=0.1
        Share of rows that may end up on the wrong side, or closer to it than half of the margin.
    delta : float, default=0.05
        Chance that more do.

    Returns
    -------
    n_landmarks : int
        ``(8 / eps) (1 / gamma^2 + ln(1 / delta))``, rounded up.

    References
    ----------
    .. [1] Blum, A. (2006). Random projection, margins, kernels, and feature-selection. Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 52-68.

    Examples
    --------
    >>> from fewer.extract import landmark_dim
    >>> landmark_dim(0.3)
    1129
    """
    _check_shares(eps=eps, delta=delta)
    _check_margin(gamma)
    return math.ceil(8 / eps * (1 / gamma**2 + math.log(1 / delta)))


def _exponent(eps: float) -> float:
    eps = min(eps, _TIGHTEST)
    return (eps**2 - eps**3) / 4


def _check_shares(**shares: float) -> None:
    for name, share in shares.items():
        if not 0 < share < 1:
            raise ValueError(f"{name}={share} must be above 0 and below 1.")


def _check_margin(gamma: float) -> None:
    if not 0 < gamma <= 1:
        raise ValueError(f"gamma={gamma} is the cosine of an angle: it must be above 0 and at most 1.")


def margins(X: Any, signs: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Margin of each row."""
    lengths = row_norms(X)
    empty = np.flatnonzero(lengths == 0)
    if len(empty):
        raise ValueError(
            f"Row {empty[0]} is all zeros ({len(empty):,} such rows in all): it lies on every plane through the origin "
            "and has no margin. Leave such rows out."
        )
    return signs * (X @ w) / (lengths * np.linalg.norm(w))


def signs_of(y: Any, who: str) -> np.ndarray:
    """-1 for the first of two classes, 1 for the second."""
    classes, codes = encoded_classes(column_or_1d(y), who)
    if len(classes) != 2:
        raise ValueError(
            f"{who} is about one plane between two classes, and y has {len(classes)}; set one of them against the "
            "others, as in y == label."
        )
    return 2.0 * codes - 1


def perceptron_mistake_bound(X: Any, y: Any, w: Any) -> float:
    """Bound on the mistakes of a perceptron on rows with a given separator, in any order.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows, none of them all zeros.
    y : array-like of shape (n_samples,)
        Two classes; the second in sorted order is on the side of ``w``.
    w : array-like of shape (n_features,)
        Normal of a plane through the origin.

    Returns
    -------
    bound : float
        ``1 / gamma^2``, where gamma is the smallest margin; infinite where some row is on the wrong side. It is for a
        perceptron that scales rows to unit length.

    References
    ----------
    .. [1] Blum, A. (2006). Random projection, margins, kernels, and feature-selection. Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 52-68.

    Examples
    --------
    >>> from fewer.extract import perceptron_mistake_bound
    >>> perceptron_mistake_bound([[3.0, 4.0], [-4.0, 3.0]], [1, 0], [1.0, 0.0])
    2.777...
    """
    X = checked_array(X, "perceptron_mistake_bound", accept_sparse="csr", dtype=np.float64)
    signs = signs_of(y, "perceptron_mistake_bound")
    check_consistent_length(X, signs)
    return bound_of(float(margins(X, signs, normal(w, X.shape[1])).min()))


def bound_of(gamma: float) -> float:
    """``1 / gamma^2``, or infinity without a margin."""
    return 1 / gamma**2 if gamma > 0 else np.inf


def normal(w: Any, n_columns: int) -> np.ndarray:
    """A plane's normal as a vector."""
    vector = np.asarray(w, dtype=np.float64).ravel()
    if len(vector) != n_columns:
        raise ValueError(f"w has {len(vector)} entries, and X has {n_columns} columns; it needs one for each.")
    if not np.isfinite(vector).all() or not vector.any():
        raise ValueError("w must hold finite numbers that are not all zero.")
    return vector


@dataclass(frozen=True, eq=False, repr=False)
class MarginReport(Result):
    """Margins of a linear model, and what follows; made by :func:`margin_report`.

    Attributes
    ----------
    margins : ndarray of shape (n_samples,)
        Cosine between each row, turned to its side, and the plane's normal; below 0 for rows on the wrong side.
    n_features : int
        Number of columns.
    quantile : float
        Share of rows that are left out of account.
    eps : float
        Share of the others that may end up on the wrong side after a projection.
    delta : float
        Chance that more do.
    """

    margins: np.ndarray
    n_features: int
    quantile: float
    eps: float
    delta: float

    _data: ClassVar[tuple[str, ...]] = (
        "quantile", "eps", "delta", "gamma", "error", "effective_dim", "mistake_bound", "projection_dim",
        "landmark_dim", "n_features", "margins",
    )  # fmt: skip

    @property
    def gamma(self) -> float:
        """Margin that all rows but a share ``quantile`` have; 0 or less if more of them are on the wrong side."""
        return float(np.sort(self.margins)[min(int(self.quantile * len(self.margins) + 1e-9), len(self.margins) - 1)])

    @property
    def error(self) -> float:
        """Share of rows that are not on their side."""
        return float(np.mean(self.margins <= 0))

    @property
    def effective_dim(self) -> float:
        """``1 / gamma^2``: of how many dimensions the question is, whatever the number of columns."""
        return bound_of(self.gamma)

    @property
    def mistake_bound(self) -> float:
        """Most mistakes of a perceptron on these rows, in any order; infinite where some are on the wrong side."""
        return bound_of(float(self.margins.min()))

    @property
    def projection_dim(self) -> int | None:
        """Random directions that keep the classes apart; None without a margin."""
        return margin_dim(min(self.gamma, 1.0), self.eps, self.delta) if self.gamma > 0 else None

    @property
    def landmark_dim(self) -> int | None:
        """Landmarks that do so, with the linear kernel; None without a margin."""
        return landmark_dim(min(self.gamma, 1.0), self.eps, self.delta) if self.gamma > 0 else None

    @property
    def reading(self) -> str:
        """What it means, in plain words."""
        if self.gamma <= 0:
            return (
                f"{_percent(self.error)} of the rows are on the wrong side, more than quantile={self.quantile:g} "
                "that may be left out, so that there is no margin. Raise quantile, or take another model or a kernel."
            )
        lost = (1 - self.quantile) * self.eps + self.quantile
        kept = "All rows" if self.quantile == 0 else f"All rows but {_percent(self.quantile)} of them"
        told = (
            f"{kept} are separated by a margin of {self.gamma:.3g}, as if there were {self.effective_dim:,.0f} "
            f"dimensions rather than {self.n_features:,} columns. {self.projection_dim:,} random directions, or "
            f"{self.landmark_dim:,} landmarks, keep all but {_percent(lost)} of the rows on their side, for sure but "
            f"for a chance of {self.delta:g}."
        )
        assert self.projection_dim is not None
        if self.projection_dim >= self.n_features:
            told += " That is no fewer than there are columns: by this guarantee, random directions save nothing."
        return told

    def __repr__(self) -> str:
        quartiles = np.quantile(self.margins, [0, 0.25, 0.5, 0.75, 1])
        lines = [
            f"MarginReport: {len(self.margins):,} rows, {_percent(self.error)} on the wrong side",
            f"  margins (cosines): {', '.join(f'{each:.3g}' for each in quartiles)} (smallest, quartiles, largest)",
        ]
        if self.gamma > 0:
            dimensions = f"{self.effective_dim:,.0f} dimensions"
            lines += [
                f"  all but {_percent(self.quantile)} have a margin of {self.gamma:.3g}: {dimensions}",
                f"  enough: {self.projection_dim:,} random directions, {self.landmark_dim:,} landmarks",
            ]
        else:
            lines.append(f"  no margin of all but {_percent(self.quantile)}")
        return "\n".join(lines)

    def plot(self) -> "go.Figure":
        """Draw which share of the rows is below each margin.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        ordered = np.sort(self.margins)
        shares = np.arange(1, len(ordered) + 1) / len(ordered)
        figure = new_figure(x="margin: cosine between row and normal", y="share of rows below")
        figure.add_trace(line("rows", ordered, shares, BLUE, line_shape="hv"))
        figure.add_vline(x=0, line={"color": GREY, "width": 1})
        if self.gamma > 0:
            note = {"text": f"all but {_percent(self.quantile)}: {self.gamma:.3g}", "font": {"color": RED}}
            figure.add_vline(
                self.gamma, line={"dash": "dot", "color": RED}, annotation=note, annotation_position="top left"
            )
        return figure.update_yaxes(rangemode="tozero")


def margin_report(
    model: Any, X: Any, y: Any, *, quantile: float = 0.05, eps: float = 0.1, delta: float = 0.05
) -> MarginReport:
    """Margins of a linear model, and how many random directions or landmarks would keep them.

    Parameters
    ----------
    model : fitted linear model, or array-like of shape (n_features,)
        Of two classes, with ``coef_`` (logistic regression, linear SVM, ridge, LDA ...), or a pipeline that ends with
        one; or the normal of a plane through the origin.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows, preferably held-out ones.
    y : array-like of shape (n_samples,)
        Their classes.
    quantile : float, default=0.05
        Share of rows that are ignored: those with the smallest margins.
    eps : float, default=0.1
        Share of the others that may end up on the wrong side after a projection.
    delta : float, default=0.05
        Chance that more do.

    Returns
    -------
    report : MarginReport
        Margins and sizes; prints itself, ``reading`` explains it, and ``plot()`` draws it.

    See Also
    --------
    RandomProjection : The random directions.
    LandmarkFeatures : The landmarks.

    Notes
    -----
    The statements are about planes through the origin. A model with an intercept is one in a table with one more
    column, which holds the rows' typical length, and so it is measured here.

    References
    ----------
    .. [1] Blum, A. (2006). Random projection, margins, kernels, and feature-selection. Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 52-68.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import margin_report
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["no", "yes"], 100)
    >>> X = rng.normal(size=(200, 5000)) + np.where(y == "yes", 0.3, -0.3)[:, None]
    >>> report = margin_report(np.ones(5000), X, y)
    >>> report
    MarginReport: 200 rows, 0% on the wrong side
      margins (cosines): 0.255, 0.278, 0.287, 0.295, 0.319 (smallest, quartiles, largest)
      all but 5% have a margin of 0.264: 14 dimensions
      enough: 610 random directions, 1,390 landmarks
    >>> report.projection_dim
    610
    """
    if not 0 <= quantile < 1:
        raise ValueError(f"quantile={quantile} is a share of the rows: it must be at least 0 and below 1.")
    signs = signs_of(y, "margin_report")
    if isinstance(model, Pipeline):
        X, model = model[:-1].transform(X), model[-1]
    X = checked_array(X, "margin_report", accept_sparse="csr", dtype=np.float64)
    check_consistent_length(X, signs)
    w, intercept = _plane(model, X.shape[1])
    known = getattr(model, "classes_", np.unique(y)).tolist()
    unknown = [label for label in np.unique(y).tolist() if label not in known]
    if unknown:
        raise ValueError(
            f"y holds the class {unknown[0]!r}, and the model was fitted to {' and '.join(map(repr, known))}."
        )
    n_features = X.shape[1]
    if intercept:
        typical = float(np.sqrt(np.mean(row_norms(X, squared=True)))) or 1.0
        ones = np.full((X.shape[0], 1), typical)
        X = sparse.hstack([X, ones], format="csr") if sparse.issparse(X) else np.hstack([X, ones])
        w = np.append(w, intercept / typical)
    report = MarginReport(margins(X, signs, w), n_features, float(quantile), float(eps), float(delta))
    margin_dim(1.0, eps, delta)  # refuses shares that are none
    return report


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def _plane(model: Any, n_columns: int) -> tuple[np.ndarray, float]:
    """Normal and intercept."""
    if not hasattr(model, "predict"):
        return normal(model, n_columns), 0.0
    coef = getattr(model, "coef_", None)
    if coef is None:
        raise TypeError(
            f"{type(model).__name__} has no coef_: margin_report is about a plane. Fit it first, or take a linear "
            "model, such as LogisticRegression or LinearSVC."
        )
    coef = np.asarray(coef.toarray() if sparse.issparse(coef) else coef)
    if coef.ndim == 2 and coef.shape[0] > 1:
        raise ValueError(
            f"This model has {coef.shape[0]} planes, and margin_report is about one between two classes; fit it with "
            "one class against the others."
        )
    if coef.size != n_columns:
        raise ValueError(
            f"{type(model).__name__} was fitted to {coef.size:,} columns, and X has {n_columns:,}; pass the table that "
            "the model takes."
        )
    return normal(coef, n_columns), float(np.ravel(getattr(model, "intercept_", 0.0))[0])
