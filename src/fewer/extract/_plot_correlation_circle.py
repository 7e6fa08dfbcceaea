"""The picture of columns and targets by their correlations with two new columns."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from fewer._figures import BLUE, GREY, RED, new_figure
from fewer.extract._column_labels import column_labels
from fewer.extract._extractor import new_columns_to_draw
from fewer.extract._loadings import loadings

if TYPE_CHECKING:
    import plotly.graph_objects as go


_MOST_CLASSES = 20


def plot_correlation_circle(
    extractor: Any,
    X: Any,
    y: Any = None,
    *,
    components: tuple[int, int] = (0, 1),
    n_columns: int = 60,
    n_names: int = 12,
) -> "go.Figure":
    """Draw columns and targets by their correlations with two new columns.

    A column near the circle is told in full by the two new ones; columns near each other go together, and columns on
    opposite sides go against each other. The same holds for targets, so that the columns near one are those that it
    goes with.

    Parameters
    ----------
    extractor : fitted transformer
        Any that gives two new columns or more, best uncorrelated ones.
    X : table of shape (n_samples, n_features)
        Rows to take the correlations over.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
        Targets, or the class of each row, to draw beside the columns.
    components : tuple of two int, default=(0, 1)
        Which new columns to draw.
    n_columns : int, default=60
        How many columns of the table to draw, those nearest to the circle.
    n_names : int, default=12
        How many of them to name.

    Returns
    -------
    figure : plotly.graph_objects.Figure
        The picture.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fewer.extract import PLSRegressor, plot_correlation_circle
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> figure = plot_correlation_circle(PLSRegressor(2).fit(X, y), X, y)
    >>> [trace.name for trace in figure.data]
    ['columns', 'target']
    """
    new = np.asarray(new_columns_to_draw(extractor, X), dtype=float)
    if new.shape[1] < 2 or not all(-new.shape[1] <= each < new.shape[1] for each in components):
        raise ValueError(
            f"components={components} are asked for, and there are {new.shape[1]}, counted from 0; a circle needs two."
        )
    new = new[:, list(components)]
    names_out = [str(extractor.get_feature_names_out()[each]) for each in components]
    points = loadings(X, new)
    reach = np.linalg.norm(points, axis=1)
    shown = np.argsort(-reach, kind="stable")[:n_columns]
    names = column_labels(X)
    labels = [names[column] for column in shown]
    figure = new_figure(x=names_out[0], y=names_out[1], height=520)
    for radius in (0.5, 1.0):
        figure.add_shape(type="circle", x0=-radius, x1=radius, y0=-radius, y1=radius, line={"color": GREY, "width": 1})
    figure.add_trace(_points("columns", points[shown], labels, n_names, {"color": BLUE, "size": 7, "opacity": 0.7}))
    if y is not None:
        values, target_names = _targets(y)
        mark = {"color": RED, "size": 11, "symbol": "diamond"}
        title = "target" if len(target_names) == 1 else "targets"
        figure.add_trace(_points(title, loadings(values, new), target_names, len(target_names), mark))
    figure.update_xaxes(range=[-1.1, 1.1], zeroline=True, zerolinecolor=GREY, constrain="domain")
    figure.update_yaxes(range=[-1.1, 1.1], zeroline=True, zerolinecolor=GREY, scaleanchor="x", showgrid=False)
    return figure


def _points(title: str, points: np.ndarray, labels: list[str], n_names: int, marker: dict[str, Any]) -> "go.Scatter":
    import plotly.graph_objects as go

    return go.Scatter(
        x=points[:, 0],
        y=points[:, 1],
        mode="markers+text",
        text=[label if place < n_names else "" for place, label in enumerate(labels)],
        textposition="top center",
        customdata=labels,
        hovertemplate="%{customdata}: %{x:.2f}, %{y:.2f}<extra></extra>",
        name=title,
        marker=marker,
    )


def _targets(y: Any) -> tuple[np.ndarray, list[str]]:
    """Targets as numbers (rows, targets) and their names; a column of 0 and 1 for each class."""
    values = np.asarray(y)
    few = values.ndim == 1 and type_of_target(values) == "multiclass" and len(np.unique(values)) <= _MOST_CLASSES
    if few or (values.ndim == 1 and values.dtype.kind not in "fiub"):
        classes = np.unique(values)
        return (values[:, None] == classes).astype(float), [str(label) for label in classes]
    if values.ndim == 1:
        return values[:, None].astype(float), [str(getattr(y, "name", None) or "y")]
    return values.astype(float), column_labels(y, "y")
