"""Loadings (correlations of new columns with those of the table), and figures of loadings and projections."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_array, check_consistent_length

from fewer._estimators import checked_array
from fewer._figures import BLUE, GREY, PALETTE, RED, new_figure, style_panels
from fewer.extract._extractor import new_columns_to_draw, refuse_infinite

if TYPE_CHECKING:
    import plotly.graph_objects as go


def column_labels(X: Any, letter: str = "x") -> list[str]:
    """Names as they are given, be they text or numbers, such as wavelengths; places where there are none.

    >>> import pandas as pd
    >>> column_labels(pd.DataFrame([[1, 2]], columns=[900.5, 901.0])), column_labels(pd.DataFrame([[1, 2]]))
    (['900.5', '901.0'], ['x0', 'x1'])
    """
    n_columns = X.shape[1] if hasattr(X, "shape") else len(X[0])
    names = list(getattr(X, "columns", range(n_columns)))
    return [f"{letter}{name}" for name in names] if names == list(range(n_columns)) else [str(name) for name in names]


def loadings(X: Any, X_new: Any) -> np.ndarray:
    """Correlation of every column of a table with every new one.

    It is defined for any extractor, with or without a kernel, and does not depend on the units of the columns.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The table. A dense one may have missing values (NaN): the correlation of a column is that of its observed rows.
    X_new : {array-like, sparse matrix} of shape (n_samples, n_components)
        Output of an extractor for these rows.

    Returns
    -------
    correlations : ndarray of shape (n_features, n_components)
        Between -1 and 1; 0 where a column is constant.

    Examples
    --------
    >>> from fewer.extract import loadings
    >>> loadings([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]], [[5.0], [4.0], [3.0]])
    array([[-1.],
           [ 0.]])
    """
    missing = True if sparse.issparse(X) else "allow-nan"
    X = checked_array(
        X, "loadings", accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32), ensure_all_finite=missing
    )
    refuse_infinite(X_new, "What made X_new")
    new = check_array(X_new, accept_sparse=("csr", "csc"), dtype=np.float64, ensure_min_features=0)
    check_consistent_length(X, new)
    new = new.toarray() if sparse.issparse(new) else new
    if isinstance(X, np.ndarray) and np.isnan(X.sum()) and np.isnan(X).any():
        return _of_observed(X, new)
    new = new - new.mean(axis=0)
    means, variances = mean_variance_axis(X, axis=0) if sparse.issparse(X) else (X.mean(axis=0), X.var(axis=0))
    spread = np.sqrt(variances)
    # What rounding leaves of a constant column is no spread.
    spread[spread <= np.finfo(X.dtype).eps * np.sqrt(X.shape[0]) * np.abs(means)] = 0
    products = np.asarray(X.T @ new, dtype=float) / X.shape[0]  # the new columns are centred, so X need not be
    return _quotient(products, np.outer(spread, new.std(axis=0)))


def _of_observed(X: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The same over the rows in which a column is there."""
    there = (~np.isnan(X)).astype(np.float64)
    counts = np.maximum(there.sum(axis=0), 1)
    centred = np.nan_to_num(X - np.nansum(X, axis=0) / counts)
    new = new - new.mean(axis=0)
    squares = there.T @ new**2 - (there.T @ new) ** 2 / counts[:, None]
    scale = np.sqrt(np.sum(centred**2, axis=0)[:, None] * np.maximum(squares, 0))
    return _quotient(np.asarray(centred.T @ new, dtype=float), scale)


def _quotient(products: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return np.clip(np.divide(products, scale, out=np.zeros_like(products), where=scale > 0), -1, 1)


def plot_loadings(extractor: Any, X: Any, *, n_components: int = 3, n_columns: int = 12) -> "go.Figure":
    """Draw which columns of the table each new column goes with: their correlations.

    Correlations are defined for every extractor, with or without a kernel, and do not depend on the units.

    Parameters
    ----------
    extractor : fitted transformer
        Any that gives new columns: those of ``fewer.extract`` and of scikit-learn.
    X : table of shape (n_samples, n_features)
        Rows to take the correlations over.
    n_components : int, default=3
        How many new columns to draw, from the first.
    n_columns : int, default=12
        How many columns of the table, those with the largest correlation with any of them.

    Returns
    -------
    figure : plotly.graph_objects.Figure
        The figure.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.decomposition import PCA
    >>> from fewer.extract import plot_loadings
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> figure = plot_loadings(PCA(2).fit(X), X, n_columns=1)
    >>> figure.data[0].y[0]
    'proline'
    """
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    correlations = loadings(X, new_columns_to_draw(extractor, X))[:, :n_components]
    shown = np.argsort(-np.abs(correlations).max(axis=1), kind="stable")[:n_columns]
    names = column_labels(X)
    labels = [names[column] for column in shown]
    titles = [str(name) for name in extractor.get_feature_names_out()[: correlations.shape[1]]]
    figure = make_subplots(cols=len(titles), shared_yaxes=True, subplot_titles=titles, horizontal_spacing=0.03)
    for component in range(len(titles)):
        values = correlations[shown, component]
        bars = go.Bar(
            x=values,
            y=labels,
            orientation="h",
            marker={"color": np.where(values < 0, RED, BLUE)},
            name=titles[component],
            hovertemplate="%{y}: %{x:.2f}<extra></extra>",
        )
        figure.add_trace(bars, row=1, col=component + 1)
    style_panels(figure, 130 + 22 * len(labels), l=60, r=20, t=40, b=60)
    figure.update_xaxes(range=[-1, 1], title_text="correlation", zeroline=True, zerolinecolor="#8a8f98")
    figure.update_yaxes(autorange="reversed", automargin=True)
    return figure


_MOST_POINTS = 5000
_MOST_CLASSES = 30


def plot_projection(
    extractor: Any, X: Any, y: Any = None, *, components: tuple[int, int] = (0, 1), random_state: Any = 0
) -> "go.Figure":
    """Draw a table along two new columns, or the distribution along one.

    Parameters
    ----------
    extractor : fitted transformer
        Any that gives new columns: those of ``fewer.extract`` and of scikit-learn.
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
        The figure.

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


_MOST_NAMED = 20


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

    A column near the circle is fully explained by the two new ones; columns near each other go together, and columns on
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
        The figure.

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
    few = values.ndim == 1 and type_of_target(values) == "multiclass" and len(np.unique(values)) <= _MOST_NAMED
    if few or (values.ndim == 1 and values.dtype.kind not in "fiub"):
        classes = np.unique(values)
        return (values[:, None] == classes).astype(float), [str(label) for label in classes]
    if values.ndim == 1:
        return values[:, None].astype(float), [str(getattr(y, "name", None) or "y")]
    return values.astype(float), column_labels(y, "y")
