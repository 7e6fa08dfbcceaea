"""How new columns hang together with those of the table: loadings, and their picture."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import _get_feature_names, check_array

from fewer._figures import BLUE, RED, new_figure

if TYPE_CHECKING:
    import plotly.graph_objects as go


def correlations_with(X: Any, new: np.ndarray) -> np.ndarray:
    """Correlation of every column of a table with every new one (columns, new columns); 0 where one is constant."""
    new = new - new.mean(axis=0)
    means, variances = mean_variance_axis(X, axis=0) if sparse.issparse(X) else (X.mean(axis=0), X.var(axis=0))
    spread = np.sqrt(variances)
    # What rounding leaves of a constant column is no spread.
    spread[spread <= np.finfo(X.dtype).eps * np.sqrt(X.shape[0]) * np.abs(means)] = 0
    products = np.asarray(X.T @ new, dtype=float) / X.shape[0]  # the new columns are centred, so X need not be
    scale = np.outer(spread, new.std(axis=0))
    return np.divide(products, scale, out=np.zeros_like(products), where=scale > 0)


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

    new = extractor.transform(X)
    new = np.asarray(new.toarray() if sparse.issparse(new) else new, dtype=float)[:, :n_components]
    table = check_array(X, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32), ensure_all_finite=True)
    loadings = correlations_with(table, new)
    shown = np.argsort(-np.abs(loadings).max(axis=1), kind="stable")[:n_columns]
    names = _get_feature_names(X)
    labels = [f"x{column}" if names is None else str(names[column]) for column in shown]
    titles = [str(name) for name in extractor.get_feature_names_out()[: new.shape[1]]]
    figure = make_subplots(cols=new.shape[1], shared_yaxes=True, subplot_titles=titles, horizontal_spacing=0.03)
    for component in range(new.shape[1]):
        values = loadings[shown, component]
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
