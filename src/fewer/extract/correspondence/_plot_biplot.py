"""Rows and columns of a table of counts in one picture."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fewer._figures import BLUE, GREEN, GREY, PALETTE, RED, new_figure

if TYPE_CHECKING:
    import plotly.graph_objects as go

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
        The picture.

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
