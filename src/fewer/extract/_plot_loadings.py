"""The picture of which columns of the table the new ones go with."""

from typing import TYPE_CHECKING, Any

import numpy as np

from fewer._figures import BLUE, RED, new_figure
from fewer.extract._column_labels import column_labels
from fewer.extract._extractor import new_columns_to_draw
from fewer.extract._loadings import loadings

if TYPE_CHECKING:
    import plotly.graph_objects as go


def plot_loadings(extractor: Any, X: Any, *, n_components: int = 3, n_columns: int = 12) -> "go.Figure":
    """Draw which columns of the table each new column goes with: their correlations.

    Correlations can be drawn for every extractor, with a kernel or without one, and do not depend on the units.

    Parameters
    ----------
    extractor : fitted transformer
        Any that gives new columns: those of this room, and scikit-learn's.
    X : table of shape (n_samples, n_features)
        Rows to take the correlations over.
    n_components : int, default=3
        How many new columns to draw, from the first.
    n_columns : int, default=12
        How many columns of the table, those with the largest correlation with any of them.

    Returns
    -------
    figure : plotly.graph_objects.Figure
        The picture.

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
    height = 130 + 22 * len(labels)
    style = new_figure(height=height).layout
    figure.update_layout(
        height=height,
        showlegend=False,
        font=style.font,
        paper_bgcolor=style.paper_bgcolor,
        plot_bgcolor=style.plot_bgcolor,
        margin={"l": 60, "r": 20, "t": 40, "b": 60},
    )
    figure.update_xaxes(range=[-1, 1], title_text="correlation", zeroline=True, zerolinecolor="#8a8f98")
    figure.update_yaxes(autorange="reversed", automargin=True)
    return figure
