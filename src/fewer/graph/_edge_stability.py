"""How sure each edge of a graph is: the share of halves of the rows on which an estimator finds it.

Each half gives its q strongest edges. Those found on a share ``threshold`` of the halves include at most

    q^2 / ((2 threshold - 1) N)

false ones on average, of N possible edges (stability selection with complementary pairs).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from fewer._estimators import (
    each_warning_once,
    expected_false_bound,
    number_for_bound,
    paired_halves,
    paired_stretches,
    safe_indexing,
)
from fewer._figures import Result
from fewer._wording import counted, percent
from fewer.catalogue import method
from fewer.graph._frame import edge_table, graph_figure, graphml_tree, networkx_graph

if TYPE_CHECKING:
    import networkx
    import plotly.graph_objects as go
    import polars as pl


@dataclass(frozen=True, eq=False, repr=False)
class EdgeStability(Result):
    """How often each edge is found; made by :func:`edge_stability`.

    Attributes
    ----------
    estimator : estimator
        Fitted to all rows.
    feature_names : list of str
        Names of the nodes.
    frequencies : ndarray of shape (n_nodes, n_nodes)
        Share of the halves on which each edge is found.
    adjacency : ndarray of bool of shape (n_nodes, n_nodes)
        The edges found on a share ``threshold`` of the halves.
    threshold : float
        That share.
    n_edges_each : int
        Edges taken of each half at most.
    n_chosen : float
        Edges taken of a half on average.
    expected_false : float
        Bound on the mean number of false edges in ``adjacency``.
    """

    estimator: Any
    feature_names: list[str]
    frequencies: np.ndarray
    adjacency: np.ndarray
    threshold: float
    n_edges_each: int
    n_chosen: float
    expected_false: float

    _data = ("feature_names", "frequencies", "adjacency", "threshold", "n_edges_each", "n_chosen", "expected_false")

    @property
    def edges(self) -> "pl.DataFrame":
        """Edges that were ever found: from, to, weight on all rows, frequency; the most frequent first."""
        return self._table(self.frequencies > 0)

    def _table(self, among: np.ndarray) -> "pl.DataFrame":
        columns = {"weight": self._weights(), "frequency": self.frequencies}
        return edge_table(among, self.feature_names, columns, directed=self.estimator._directed)

    def _weights(self) -> np.ndarray:
        return np.where(self.estimator.adjacency_, self.estimator._edge_weights(), 0.0)

    @property
    def n_stable(self) -> int:
        """Number of edges in ``adjacency``."""
        return int(self.adjacency.sum()) if self.estimator._directed else int(self.adjacency.sum()) // 2

    @property
    def reading(self) -> str:
        """What it means, in words."""
        if not self.n_stable:
            return f"No edge is found on {percent(self.threshold)} of the halves: the rows do not support any edge."
        return (
            f"{counted(self.n_stable, 'edge')} found on {percent(self.threshold)} of the halves or more; on average at "
            f"most {self.expected_false:.2g} of them false."
        )

    def __repr__(self) -> str:
        return (
            f"Edge stability: {counted(self.n_stable, 'stable edge')} between {len(self.feature_names)} columns\n"
            f"  at least {percent(self.threshold)} of the halves, {self.n_chosen:.3g} edges a half, "
            f"false edges on average at most {self.expected_false:.2g}"
        )

    def plot(self) -> "go.Figure":
        """Picture of the stable edges; the fainter an edge, the less often it was found.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            Dots and lines, or a matrix if there are more than 60 columns.
        """
        weights = self._weights()
        # An edge may be stable on halves and absent on all rows, where the penalty weighs otherwise.
        weights = np.where(self.adjacency, np.where(weights == 0, self.frequencies, weights), 0.0)
        return graph_figure(
            self.feature_names, weights, self.frequencies, directed=self.estimator._directed, title=self.reading,
            weight_words=self.estimator._weight_words, share_words="frequency",
        )  # fmt: skip

    def to_networkx(self) -> "networkx.Graph":
        """The stable edges for networkx, with their weights and frequencies.

        Returns
        -------
        graph : networkx.Graph or networkx.DiGraph
            Its nodes are the names of the columns.
        """
        return networkx_graph(self.feature_names, self._table(self.adjacency), directed=self.estimator._directed)

    def write_graphml(self, path: Any) -> None:
        """Write the stable edges as GraphML, with their weights and frequencies.

        Parameters
        ----------
        path : path-like
            The file.
        """
        tree = graphml_tree(self.feature_names, self._table(self.adjacency), directed=self.estimator._directed)
        tree.write(path, encoding="utf-8", xml_declaration=True)


@method(
    tasks=["evaluation"],
    when="You fitted a graph of the columns and want to know which edges would come back on other rows, with a bound "
    "on the number of false ones. Works with every estimator of fewer.graph.",
    cost="Two fits for each pair of halves, and one to all rows: O(n_pairs) fits.",
)
@each_warning_once()
def edge_stability(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    threshold: float = 0.7,
    n_edges_each: int | None = None,
    max_false: float = 1.0,
    n_pairs: int = 50,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> EdgeStability:
    """Share of the halves of the rows on which an estimator finds each edge.

    Parameters
    ----------
    estimator : estimator
        A graph of this room. It is cloned.
    X : array-like of shape (n_samples, n_features)
        The table. Halves of a time series are stretches of it; those of several series hold half of them each.
    y : array-like of shape (n_samples,), default=None
        Target, for classifiers that are graphs; each class is halved.
    threshold : float, default=0.7
        Share of the halves on which an edge must be found; above one half.
    n_edges_each : int or None, default=None
        Edges taken of each half at most, the strongest; None for the number with which the bound is ``max_false``.
    max_false : float, default=1.0
        The bound on the mean number of false edges, when ``n_edges_each`` is None.
    n_pairs : int, default=50
        Pairs of halves; two fits for each.
    n_jobs : int or None, default=None
        Halves at the same time, in threads.
    random_state : int, RandomState instance or None, default=None
        Draws the halves.

    Returns
    -------
    stability : EdgeStability
        Frequencies, the stable edges and the bound. It prints itself and has ``plot()``.

    References
    ----------
    .. [1] Meinshausen, N. and Buhlmann, P. (2010). Stability selection. Journal of the Royal Statistical Society B 72,
       417-473.
    .. [2] Shah, R. D. and Samworth, R. J. (2013). Variable selection with error control: another look at stability
       selection. Journal of the Royal Statistical Society B 75, 55-80.

    Examples
    --------
    >>> from fewer.datasets import make_graph_gaussian
    >>> from fewer.graph import SparsePrecision, edge_stability
    >>> X = make_graph_gaussian(300, 8, structure="chain", random_state=0).X
    >>> edge_stability(SparsePrecision(0.1), X, n_edges_each=7, n_pairs=10, random_state=0)
    Edge stability: 7 stable edges between 8 columns
      at least 70% of the halves, 7 edges a half, false edges on average at most 4.4
    """
    if not 0.5 < threshold <= 1:
        raise ValueError(f"threshold is {threshold}; it must lie above 0.5 and be at most 1.")
    fitted = clone(estimator).fit(X, y)
    n_rows, several = X.shape[0] if hasattr(X, "shape") else len(X), np.ndim(X) == 3
    if n_rows < 4:
        raise ValueError(
            f"X has {counted(n_rows, *(('series', 'series') if several else ('row',)))}; halves need at least 4."
        )
    directed = fitted._directed
    n_nodes = len(fitted.adjacency_)
    n_possible = n_nodes * (n_nodes - 1) // (1 if directed else 2)
    if n_edges_each is None:
        n_edges_each = number_for_bound(max_false, threshold, n_possible)
    rng = check_random_state(random_state)
    if fitted._rows_in_order and not several:
        halves = paired_stretches(n_rows, n_pairs, rng)
    else:
        classes = y is not None and type_of_target(y) in ("binary", "multiclass")
        halves = paired_halves(np.asarray(y) if classes else np.arange(n_rows), n_pairs, rng, classes)
    found = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_strongest_edges)(clone(estimator), X, y, rows, n_edges_each) for rows in halves
    )
    counts = np.sum(found, axis=0)
    frequencies = counts / len(halves)
    n_chosen = float(counts.sum() / len(halves)) / (1 if directed else 2)
    return EdgeStability(
        estimator=fitted,
        feature_names=fitted._node_names(),
        frequencies=frequencies,
        # Shares are sums of 1/halves: a hair below the threshold is the threshold.
        adjacency=frequencies >= threshold - 1e-9,
        threshold=threshold,
        n_edges_each=n_edges_each,
        n_chosen=n_chosen,
        expected_false=expected_false_bound(n_chosen, threshold, n_possible),
    )


def _strongest_edges(estimator: Any, X: Any, y: Any, rows: np.ndarray, n_edges: int) -> np.ndarray:
    """The strongest edges on some rows, as a matrix of booleans."""
    fitted = estimator.fit(safe_indexing(X, rows), None if y is None else safe_indexing(y, rows))
    sizes = np.where(fitted.adjacency_, np.abs(fitted._edge_weights()), 0.0)
    sizes = sizes if fitted._directed else np.triu(sizes, 1)
    order = np.argsort(-sizes, axis=None, kind="stable")[:n_edges]
    chosen = np.zeros(sizes.shape, dtype=bool)
    chosen.flat[order] = sizes.flat[order] > 0
    return chosen if fitted._directed else chosen | chosen.T
