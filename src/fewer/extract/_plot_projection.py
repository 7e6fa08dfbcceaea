"""The picture of a table along the first new columns of an extractor."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from fewer._figures import GREY, PALETTE, new_figure
from fewer.extract._extractor import new_columns_to_draw

if TYPE_CHECKING:
    import plotly.graph_objects as go

_MOST_POINTS = 5000
_MOST_CLASSES = 30


def plot_projection(
    extractor: Any, X: Any, y: Any = None, *, components: tuple[int, int] = (0, 1), random_state: Any = 0
) -> "go.Figure":
    """Draw a table along two new columns, or the distribution along one.

    Parameters
    ----------
    extractor : fitted transformer
        Any that gives new columns: those of this room, and scikit-learn's.
    X : table of shape (n_samples, n_features)
        Rows to draw; of more than 5,000, as many at random.
    y : array-like of shape (n_samples,), default=None
        Classes or numbers, shown as colours.
    components : tuple of two int, default=(0, 1)
        Which new columns to draw. If there is only one, its distribution is drawn for each class.
    random_state : int, RandomState or None, default=0
        Decides which rows are drawn of very many.

    Returns
    -------
    figure : plotly.graph_objects.Figure
        The picture.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.decomposition import PCA
    >>> from fewer.extract import plot_projection
    >>> X, y = load_wine(return_X_y=True)
    >>> figure = plot_projection(PCA().fit(X), X, y)
    >>> [points.name for points in figure.data]
    ['0', '1', '2']
    """
    points = np.asarray(new_columns_to_draw(extractor, X), dtype=float)
    target = None if y is None else np.asarray(y)
    if target is not None and len(target) != len(points):
        raise ValueError(f"X has {len(points)} rows, and y has {len(target)}.")
    if len(points) > _MOST_POINTS:
        shown = np.sort(check_random_state(random_state).choice(len(points), _MOST_POINTS, replace=False))
        points, target = points[shown], None if target is None else target[shown]
    n_columns = points.shape[1]
    if n_columns > 1 and not all(-n_columns <= each < n_columns for each in components):
        raise ValueError(f"components={components} are asked for, and there are {n_columns}, counted from 0.")
    axes = [str(extractor.get_feature_names_out()[each % n_columns]) for each in components]
    if n_columns == 1:
        return _along_one(points[:, 0], _classes(target), axes[0])
    return _along_two(points[:, list(components)], target, axes)


def _along_two(points: np.ndarray, target: np.ndarray | None, axes: list[str]) -> "go.Figure":
    import plotly.graph_objects as go

    figure = new_figure(x=axes[0], y=axes[1], height=440)
    if target is not None and _classes(target) is None:
        shade = {"color": target, "colorscale": "Viridis", "colorbar": {"title": "y"}, "size": 6, "opacity": 0.75}
        return figure.add_trace(go.Scatter(x=points[:, 0], y=points[:, 1], mode="markers", marker=shade, name="rows"))
    for number, (name, rows) in enumerate(_groups(_classes(target), len(points))):
        marker = {"size": 6, "opacity": 0.65, "color": _colour(number, target)}
        figure.add_trace(go.Scatter(x=points[rows, 0], y=points[rows, 1], mode="markers", name=name, marker=marker))
    return figure


def _along_one(values: np.ndarray, classes: np.ndarray | None, axis: str) -> "go.Figure":
    import plotly.graph_objects as go

    figure = new_figure(x=axis, y="rows").update_layout(barmode="overlay")
    n_bins = int(np.clip(1.5 * np.sqrt(len(values)), 8, 40))
    for number, (name, rows) in enumerate(_groups(classes, len(values))):
        bars = {"color": _colour(number, classes), "opacity": 0.55}
        figure.add_trace(go.Histogram(x=values[rows], name=name, marker=bars, bingroup="rows", nbinsx=n_bins))
    return figure


def _classes(target: np.ndarray | None) -> np.ndarray | None:
    """The target, if it holds few enough classes to give each a colour."""
    if target is None or type_of_target(target) not in ("binary", "multiclass"):
        return None
    return target if len(np.unique(target)) <= _MOST_CLASSES else None


def _groups(classes: np.ndarray | None, n_rows: int) -> list[tuple[str, np.ndarray]]:
    if classes is None:
        return [("rows", np.ones(n_rows, dtype=bool))]
    return [(str(label), classes == label) for label in np.unique(classes)]


def _colour(number: int, classes: np.ndarray | None) -> str:
    return GREY if classes is None else PALETTE[number % len(PALETTE)]
