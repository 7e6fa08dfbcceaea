"""Correspondence analysis: scores of the rows and columns of a table of counts on shared axes, and their biplot.

Scores are each other's averages, ``z_i = sum_k y_ik u_k / r_i`` and ``u_k = sum_i y_ik z_i / c_k`` up to a factor: the
singular vectors of the standardised residuals M (see ``_counts.py``), divided by the roots of the totals [1]_.
"""

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context, fit_steps, warn_caller
from fewer._figures import BLUE, GREEN, GREY, PALETTE, RED, new_figure
from fewer.catalogue import method
from fewer.extract._extractor import Extractor
from fewer.extract.correspondence._counts import (
    Axis,
    CountTable,
    axes_by_averaging,
    axes_by_svd,
    count_table,
    refuse_negative,
    residuals,
    total_inertia,
    warn_of_empty_rows,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go


_NO_AXIS = 1e-7


@method(
    tasks=["unsupervised"],
    when="A table of counts (words in documents, purchases of customers, species at sites) is to be seen as one map.",
    cost="O(n p min(n, p)) time; O(m k) for a step of Lanczos on a large table with m counts above 0",
    paper="zhu-cca-lda",
    depends_on_shift="it takes counts, for which 0 means none",
)
class CorrespondenceAnalysis(CallbackSupportMixin, Extractor):
    """Scores of the rows and columns of a table of counts on shared axes, rows near columns that they have more of.

    Parameters
    ----------
    n_components : int, default=2
        Number of axes, at most one less than there are rows or columns; None for all.
    solver : {"svd", "power"}, default="svd"
        "power" is reciprocal averaging, one axis after the other.
    tol : float, default=1e-10
        For "power": an axis is found when a round changes it by less.
    max_iter : int, default=1000
        For "power": maximum number of rounds for each axis.
    scaling : {"row", "column", "symmetric"}, default="row"
        Which scores are scaled by the eigenvalues of the axes. "row": rows are the averages of their columns, and
        distances between rows are those of their profiles. "column" the other way round; "symmetric" by the root of it
        each.

    Attributes
    ----------
    row_scores_ : ndarray of shape (n_samples, n_components)
        Scores of the training rows; NaN for rows without counts, which ``transform`` puts at 0.
    column_scores_ : ndarray of shape (n_features, n_components)
        Scores of the columns; NaN for those without counts.
    eigenvalues_ : ndarray of shape (n_components,)
        Inertia along each axis: squared correlation of rows and columns, between 0 and 1.
    explained_inertia_ratio_ : ndarray of shape (n_components,)
        The same as a share of the whole.
    total_inertia_ : float
        Pearson's chi-square of the table, divided by the sum of the counts.
    row_masses_ : ndarray of shape (n_samples,)
        Shares of all counts that each row holds.
    column_masses_ : ndarray of shape (n_features,)
        Shares of all counts that each column holds.
    components_ : ndarray of shape (n_components, n_features)
        What the profile of a row, its counts divided by their sum, is multiplied by.
    n_iter_ : int
        Rounds that the slowest axis took; 1 for "svd".
    n_components_ : int
        Number of axes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    CanonicalCorrespondenceAnalysis : With columns that describe the rows, and scores for rows without counts.
    GaussianResponseModel : The model of counts behind it, fitted by likelihood.
    plot_biplot : Rows and columns in one figure.

    Notes
    -----
    A row without counts has no profile. ``row_scores_`` has NaN there; ``transform``, which feeds other estimators,
    puts it at the origin, where the average row is, with a warning.

    References
    ----------
    .. [1] Zhu, M. (2001). Feature extraction and dimension reduction with applications to classification and the
       analysis of co-occurrence data. PhD dissertation, Stanford University, chapter 1.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import CorrespondenceAnalysis
    >>> counts = np.array([[9, 3, 0, 0], [5, 6, 1, 0], [1, 5, 7, 2], [0, 1, 4, 8]])
    >>> model = CorrespondenceAnalysis(1).fit(counts)
    >>> model.row_scores_.ravel().round(1)
    array([-1. , -0.6,  0.3,  1.1])
    >>> model.explained_inertia_ratio_.round(2)
    array([0.76])
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "solver": [StrOptions({"svd", "power"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "scaling": [StrOptions({"row", "column", "symmetric"})],
    }

    def __init__(self, n_components=2, solver="svd", tol=1e-10, max_iter=1000, scaling="row"):
        self.n_components = n_components
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.scaling = scaling

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the axes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table of counts, or of other numbers that are 0 or more.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = self._validated(X)
        refuse_negative(X, type(self).__name__, getattr(self, "feature_names_in_", None))
        table = count_table(X, type(self).__name__)
        possible = min(table.counts.shape) - 1
        wanted = self._number_of_components(possible, "one less than there are rows or columns with counts")
        self.total_inertia_ = total_inertia(table)
        with fit_steps(self, X, n_steps=wanted) as after_step:
            axes = self._axes(table, wanted, after_step)
            self._keep(axes, table, X)
        self._warn_unless_settled(axes)
        return self

    def _axes(self, table: CountTable, wanted: int, after_step: Any) -> list[Axis]:
        """Axes that there are: those along which nothing depends on anything have no scores."""
        M = residuals(table)
        search = (
            axes_by_svd(M, wanted) if self.solver == "svd" else axes_by_averaging(M, wanted, self.tol, self.max_iter)
        )
        smallest = max(_NO_AXIS, 10 * float(np.finfo(table.counts.dtype).eps))
        axes: list[Axis] = []
        for axis in search:
            if axis.size <= smallest:
                break
            axes.append(axis)
            if after_step(f"axis {len(axes) - 1}"):
                return axes
        if not axes:
            raise ValueError("All rows have the same profile: rows and columns are independent, and there are no axes.")
        if len(axes) < wanted and self.n_components is not None:
            warn_caller(
                f"n_components={self.n_components} are asked for, and along {len(axes)} axes the table departs from "
                "independence; all of them are kept."
            )
        return axes

    def _keep(self, axes: list[Axis], table: CountTable, X: Any) -> None:
        sizes = np.array([axis.size for axis in axes])
        rows = np.column_stack([axis.left for axis in axes]) * np.sqrt(table.total / table.row_totals)[:, None]
        columns = np.column_stack([axis.right for axis in axes]) * np.sqrt(table.total / table.column_totals)[:, None]
        signs = np.sign(np.take_along_axis(columns, np.abs(columns).argmax(axis=0)[None], axis=0))
        strength = {"row": 1.0, "column": 0.0, "symmetric": 0.5}[self.scaling]
        rows, columns = rows * signs, columns * signs
        self.eigenvalues_ = sizes**2
        self.explained_inertia_ratio_ = self.eigenvalues_ / self.total_inertia_
        self.row_masses_ = placed(table.row_totals / table.total, table.rows, X.shape[0], 0.0, X.dtype)
        self.column_masses_ = placed(table.column_totals / table.total, table.columns, X.shape[1], 0.0, X.dtype)
        self.row_scores_ = placed(rows * sizes**strength, table.rows, X.shape[0], np.nan, X.dtype)
        self.column_scores_ = placed(columns * sizes ** (1 - strength), table.columns, X.shape[1], np.nan, X.dtype)
        self.components_ = placed(columns * sizes ** (strength - 1), table.columns, X.shape[1], 0.0, X.dtype).T.copy()
        self.n_iter_ = max(axis.n_iter for axis in axes)

    def _warn_unless_settled(self, axes: list[Axis]) -> None:
        worst = max(axes, key=lambda axis: axis.change)
        if worst.change >= self.tol:
            warn_caller(
                f"Round {worst.n_iter} still changed an axis by {worst.change:.1e}; tol={self.tol:g} was asked for. "
                "Raise max_iter, or use solver='svd'.",
                ConvergenceWarning,
            )

    def transform(self, X):
        """Scores of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts of rows, in the columns of the training table.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Their scores; 0, with a warning, for a row without counts in the columns that had any in training.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        refuse_negative(X, type(self).__name__, getattr(self, "feature_names_in_", None))
        totals = X @ (self.column_masses_ > 0).astype(X.dtype)
        warn_of_empty_rows(totals, type(self).__name__)
        scores = X @ self.components_.T
        return np.divide(scores, totals[:, None], out=np.zeros_like(scores), where=totals[:, None] > 0)

    @property
    def n_components_(self) -> int:  # type: ignore[override]  # a fact about components_ rather than one more to set
        return self.components_.shape[0]

    @property
    def _takes_sparse(self) -> bool:
        return True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def placed(values: np.ndarray, places: np.ndarray, size: int, elsewhere: float, dtype: Any) -> np.ndarray:
    """Values of those that took part, at their places in the table."""
    whole = np.full((size, *values.shape[1:]), elsewhere, dtype=dtype)
    whole[places] = values
    return whole


_MOST_ROWS = 5000
_MOST_NAMED_ROWS = 60
_ARROW = 0.9


def plot_biplot(
    model: Any,
    *,
    row_names: Any = None,
    column_names: Any = None,
    y: Any = None,
    components: tuple[int, int] = (0, 1),
    n_columns: int = 40,
) -> "go.Figure":
    """Draw rows and columns of a table of counts on two shared axes, with arrows of the columns that describe the rows.

    A row lies near the columns that it has more of than others. Of models with columns that describe the rows, these
    are arrows: they point to where the column is large, and the longer, the closer it goes with the axes.

    Parameters
    ----------
    model : fitted CorrespondenceAnalysis, CanonicalCorrespondenceAnalysis or GaussianResponseModel
        With two axes or more.
    row_names : array-like of shape (n_samples,), default=None
        Names of the rows, shown beside them if there are at most 60, and on hovering.
    column_names : array-like of shape (n_columns,), default=None
        Names of the columns of counts; by default those of the frame that the model was fitted to.
    y : array-like of shape (n_samples,), default=None
        Classes of the rows, shown as colours.
    components : tuple of two int, default=(0, 1)
        Which axes to draw.
    n_columns : int, default=40
        How many columns to name at most: those farthest from the middle.

    Returns
    -------
    figure : plotly.graph_objects.Figure
        The figure.

    Examples
    --------
    >>> import pandas as pd
    >>> from fewer.extract import CorrespondenceAnalysis, plot_biplot
    >>> counts = pd.DataFrame({"tea": [9, 3, 0], "coffee": [2, 8, 3], "milk": [1, 2, 7]})
    >>> figure = plot_biplot(CorrespondenceAnalysis().fit(counts), row_names=["Ann", "Bea", "Cy"])
    >>> sorted(str(name) for name in figure.data[1].text)
    ['coffee', 'milk', 'tea']
    """
    check_is_fitted(model)
    if not hasattr(model, "row_scores_") or not hasattr(model, "column_scores_"):
        raise TypeError(
            f"A biplot shows scores of rows and of columns, and {type(model).__name__} has none; take plot_projection "
            "for its rows, and plot_loadings for its columns."
        )
    rows, columns = (np.asarray(each, dtype=float) for each in (model.row_scores_, model.column_scores_))
    if rows.shape[1] < 2:
        raise ValueError("A biplot shows two axes, and the model has one; fit it with n_components=2 or more.")
    if not all(-rows.shape[1] <= each < rows.shape[1] for each in components):
        raise ValueError(f"components={components} are asked for, and there are {rows.shape[1]}, counted from 0.")
    for what, given, size in (("row_names", row_names, len(rows)), ("y", y, len(rows))):
        if given is not None and len(given) != size:
            raise ValueError(f"{what} has {len(given)} entries, and the model was fitted to {size} rows.")
    picked = list(components)
    figure = new_figure(height=560, x=_axis_title(model, picked[0]), y=_axis_title(model, picked[1]))
    _add_rows(figure, rows[:, picked], row_names, y)
    _add_columns(figure, columns[:, picked], _column_names(model, column_names), n_columns)
    if hasattr(model, "biplot_scores_"):
        names = getattr(model, "feature_names_in_", [f"x{number}" for number in range(len(model.biplot_scores_))])
        reach = np.nanmax(np.abs(np.vstack([rows[:, picked], columns[:, picked]])))
        _add_arrows(figure, np.asarray(model.biplot_scores_)[:, picked], [str(name) for name in names], reach)
    figure.update_xaxes(zeroline=True, zerolinecolor=GREY)
    return figure.update_yaxes(zeroline=True, zerolinecolor=GREY, scaleanchor="x", scaleratio=1)


def _add_rows(figure: "go.Figure", rows: np.ndarray, names: Any, y: Any) -> None:
    import plotly.graph_objects as go

    shown = np.linspace(0, len(rows) - 1, min(len(rows), _MOST_ROWS)).astype(int)
    labels = np.asarray([f"row {number}" for number in range(len(rows))] if names is None else names).astype(str)
    groups = np.full(len(rows), "rows") if y is None else np.asarray(y).astype(str)
    named = names is not None and len(rows) <= _MOST_NAMED_ROWS
    for number, group in enumerate(np.unique(groups)):
        own = shown[groups[shown] == group]
        figure.add_trace(
            go.Scatter(
                x=rows[own, 0],
                y=rows[own, 1],
                mode="markers+text" if named else "markers",
                text=labels[own],
                textposition="bottom center",
                textfont={"size": 11},
                name=str(group),
                marker={"size": 6, "opacity": 0.65, "color": BLUE if y is None else PALETTE[number % len(PALETTE)]},
                hovertemplate="%{text}<extra></extra>",
            )
        )


def _add_columns(figure: "go.Figure", columns: np.ndarray, names: np.ndarray, n_columns: int) -> None:
    import plotly.graph_objects as go

    there = np.flatnonzero(np.isfinite(columns).all(axis=1))
    order = there[np.argsort(-np.linalg.norm(columns[there], axis=1), kind="stable")][:n_columns]
    figure.add_trace(
        go.Scatter(
            x=columns[order, 0],
            y=columns[order, 1],
            mode="markers+text",
            text=names[order],
            textposition="top center",
            textfont={"color": RED},
            name="columns",
            marker={"symbol": "diamond", "size": 9, "color": RED},
            hovertemplate="%{text}<extra></extra>",
        )
    )


def _add_arrows(figure: "go.Figure", arrows: np.ndarray, names: list[str], reach: float) -> None:
    longest = max(float(np.linalg.norm(arrows, axis=1).max()), 1e-12)
    for (across, up), name in zip(arrows * (_ARROW * reach / longest), names, strict=True):
        tail = {"ax": 0, "ay": 0, "axref": "x", "ayref": "y", "xref": "x", "yref": "y"}
        figure.add_annotation(x=across, y=up, text="", showarrow=True, arrowhead=2, arrowcolor=GREEN, **tail)
        beyond = {"x": 1.08 * across, "y": 1.08 * up}
        figure.add_annotation(**beyond, text=name, showarrow=False, font={"color": GREEN}, xref="x", yref="y")


def _column_names(model: Any, given: Any) -> np.ndarray:
    n_columns = len(model.column_scores_)
    if given is None:
        described = hasattr(model, "biplot_scores_")
        given = model.classes_ if described else getattr(model, "feature_names_in_", None)
    if given is None:
        given = [f"x{number}" for number in range(n_columns)]
    if len(given) != n_columns:
        raise ValueError(f"column_names has {len(given)} entries, and the model was fitted to {n_columns} columns.")
    return np.asarray(given).astype(str)


def _axis_title(model: Any, component: int) -> str:
    number = component % model.row_scores_.shape[1]
    shares = getattr(model, "explained_inertia_ratio_", None)
    return f"axis {number}" + ("" if shares is None else f" ({shares[number]:.0%} of the inertia)")
