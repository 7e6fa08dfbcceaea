"""What every estimator of this room has: a graph of the columns, as a matrix, a table, a picture and a file.

    adjacency_[i, j] : there is an edge from column i to column j; symmetric where edges have no direction

An estimator inherits from :class:`GraphMixin` and sets ``adjacency_``. It may also say how strong each edge is
(``_edge_weights``), how probable (``_edge_probabilities``), what its nodes are called (``_node_names``), whether edges
have a direction (``_directed``), and whether the order of the rows matters (``_rows_in_order``).
"""

from typing import TYPE_CHECKING, Any, ClassVar
from xml.etree import ElementTree

import numpy as np
from scipy.sparse.csgraph import reverse_cuthill_mckee, shortest_path
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import check_feature_names_in
from fewer._wording import counted, cut

if TYPE_CHECKING:
    import networkx
    import plotly.graph_objects as go
    import polars as pl

LARGEST_DRAWN = 60
"""Nodes that a picture of dots and lines can show; more are drawn as a matrix."""


class GraphMixin:
    """Shows ``adjacency_`` as a table of edges, a picture, a networkx graph or a GraphML file."""

    _directed: ClassVar[bool] = False
    _rows_in_order: ClassVar[bool] = False
    _weight_words: ClassVar[str] = "weight"

    def _node_names(self) -> list[str]:
        return [str(name) for name in check_feature_names_in(self)]

    def _edge_weights(self) -> np.ndarray:
        """A number for each edge, with its sign; entries where there is no edge are not read."""
        return np.ones(self.adjacency_.shape)  # type: ignore[attr-defined]

    def _edge_probabilities(self) -> np.ndarray | None:
        """The probability of each edge, also of those that are not in the graph; None where there is none."""
        return None

    @property
    def edges_(self) -> "pl.DataFrame":
        """The edges, strongest first: ``from``, ``to``, ``weight`` and, where it is known, ``probability``."""
        check_is_fitted(self, "adjacency_")
        columns = {"weight": self._edge_weights()}
        probabilities = self._edge_probabilities()
        if probabilities is not None:
            columns["probability"] = probabilities
        return edge_table(self.adjacency_, self._node_names(), columns, directed=self._directed)  # type: ignore[attr-defined]

    def plot(self, *, title: str | None = None) -> "go.Figure":
        """Picture of the graph: dots and lines, or a matrix if there are more than 60 columns.

        Lines are wider the stronger the edge; blue for positive weights and red for negative ones.

        Parameters
        ----------
        title : str or None, default=None
            Title of the figure; None for the number of edges.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The picture.
        """
        check_is_fitted(self, "adjacency_")
        weights = np.where(self.adjacency_, self._edge_weights(), 0.0)  # type: ignore[attr-defined]
        shown = weights if self._directed else np.triu(weights, 1)
        if title is None:
            title = f"{counted(int(np.count_nonzero(shown)), 'edge')} between {len(weights)} columns"
        return graph_figure(
            self._node_names(), weights, self._edge_probabilities(), directed=self._directed, title=title,
            weight_words=self._weight_words,
        )  # fmt: skip

    def to_networkx(self) -> "networkx.Graph":
        """The graph for networkx, with the columns of ``edges_`` as attributes of its edges.

        Returns
        -------
        graph : networkx.Graph or networkx.DiGraph
            Its nodes are the names of the columns.
        """
        return networkx_graph(self._node_names(), self.edges_, directed=self._directed)

    def write_graphml(self, path: Any) -> None:
        """Write the graph as GraphML, which Gephi, Cytoscape, yEd, igraph and networkx read.

        Parameters
        ----------
        path : path-like
            The file.
        """
        tree = graphml_tree(self._node_names(), self.edges_, directed=self._directed)
        tree.write(path, encoding="utf-8", xml_declaration=True)


def edge_table(
    adjacency: np.ndarray, names: list[str], columns: dict[str, np.ndarray], *, directed: bool
) -> "pl.DataFrame":
    """Edges as rows: from, to and an entry of each matrix in ``columns``; by the size of the last one, largest first.

    Examples
    --------
    >>> edge_table(np.array([[0, 1], [1, 0]]), ["a", "b"], {"weight": np.full((2, 2), -0.5)}, directed=False).rows()
    [('a', 'b', -0.5)]
    """
    import polars as pl

    edges = np.asarray(adjacency, dtype=bool)
    sources, targets = np.nonzero(edges if directed else np.triu(edges, 1))
    table = {name: np.asarray(matrix, dtype=float)[sources, targets] for name, matrix in columns.items()}
    order = np.lexsort([-np.round(np.abs(values), 12) for values in table.values()])
    return pl.DataFrame(
        {"from": [names[place] for place in sources[order]], "to": [names[place] for place in targets[order]]}
        | {name: values[order] for name, values in table.items()},
        schema_overrides={"from": pl.String, "to": pl.String},
    )


def networkx_graph(names: list[str], edges: "pl.DataFrame", *, directed: bool) -> "networkx.Graph":
    """A graph with a node for each name, and the numbers of ``edges`` as attributes of its edges."""
    try:
        import networkx
    except ImportError:
        raise ImportError(
            "to_networkx needs the package networkx: pip install networkx. write_graphml works without it."
        ) from None
    graph = networkx.DiGraph() if directed else networkx.Graph()
    graph.add_nodes_from(names)
    for edge in edges.to_dicts():
        graph.add_edge(edge.pop("from"), edge.pop("to"), **edge)
    return graph


def graphml_tree(names: list[str], edges: "pl.DataFrame", *, directed: bool) -> ElementTree.ElementTree:
    """The document of a graph: a node for each name, and every number of ``edges`` as data of its edge."""
    root = ElementTree.Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
    figures = [name for name in edges.columns if name not in ("from", "to")]
    for name in figures:
        ElementTree.SubElement(root, "key", {"id": name, "for": "edge", "attr.name": name, "attr.type": "double"})
    graph = ElementTree.SubElement(root, "graph", edgedefault="directed" if directed else "undirected")
    for name in names:
        ElementTree.SubElement(graph, "node", id=name)
    for edge in edges.to_dicts():
        element = ElementTree.SubElement(graph, "edge", source=edge["from"], target=edge["to"])
        for name in figures:
            ElementTree.SubElement(element, "data", key=name).text = repr(float(edge[name]))
    return ElementTree.ElementTree(root)


def graph_figure(
    names: list[str],
    weights: np.ndarray,
    shares: np.ndarray | None = None,
    *,
    directed: bool = False,
    title: str = "",
    weight_words: str = "weight",
    share_words: str = "probability",
    colours: list[str] | None = None,
) -> "go.Figure":
    """Dots and lines for up to 60 nodes, a matrix beyond; ``shares`` (0 to 1) make an edge fainter the smaller."""
    if len(names) > LARGEST_DRAWN:
        return _matrix_figure(names, weights, title=title, weight_words=weight_words)
    from fewer._figures import BLUE, GREY, RED, new_figure, translucent

    # More nodes get more room and smaller names, more edges thinner lines.
    height = 520 + 9 * max(len(names) - 20, 0)
    size = 13 if len(names) <= 30 else 11
    figure = new_figure(title=title, height=height)
    places = node_places(weights != 0)
    edges = np.argwhere(weights if directed else np.triu(weights, 1))
    thin = min(1.0, np.sqrt(40 / max(len(edges), 1)))
    largest = np.abs(weights).max(initial=0) or 1.0
    shares = np.ones(weights.shape) if shares is None else shares
    for source, target in edges:
        weight, share = weights[source, target], shares[source, target]
        colour = translucent(BLUE if weight > 0 else RED, (0.25 + 0.75 * float(share)) * (0.4 + 0.6 * thin))
        width = thin * (1 + 5 * abs(weight) / largest)
        if directed:
            figure.add_annotation(
                x=places[target, 0], y=places[target, 1], ax=places[source, 0], ay=places[source, 1],
                xref="x", yref="y", axref="x", ayref="y", showarrow=True, arrowhead=2, text="",
                arrowsize=max(0.6, 2.5 / width), arrowwidth=width, arrowcolor=colour, standoff=9, startstandoff=7,
            )  # fmt: skip
        else:
            figure.add_scatter(
                x=places[[source, target], 0], y=places[[source, target], 1], mode="lines", hoverinfo="skip",
                line={"color": colour, "width": width}, showlegend=False,
            )  # fmt: skip
        words = f"{names[source]} {'→' if directed else '–'} {names[target]}: {weight_words} {weight:.3g}"
        if share < 1:
            words += f", {share_words} {share:.2f}"
        middle = places[[source, target]].mean(axis=0)  # a line has no hover of its own except at its ends
        figure.add_scatter(
            x=middle[:1], y=middle[1:], mode="markers", marker={"opacity": 0, "size": 12}, hovertext=[words],
            hoverinfo="text", showlegend=False,
        )  # fmt: skip
    linked = (weights != 0) | (weights.T != 0)
    degrees = linked.sum(axis=0)
    # Names stand beside the outermost nodes.
    low, high = places.min(axis=0), places.max(axis=0)
    room = 0.12 * (high - low) + 0.15
    low, high = low - room, high + room
    shown = [cut(name, 18) for name in names]
    figure.add_scatter(
        x=places[:, 0], y=places[:, 1], mode="markers+text", marker={"color": colours or GREY, "size": 12},
        text=shown, cliponaxis=False, showlegend=False,
        textfont={"size": size}, textposition=_name_sides(
            (places - low) / (high - low), linked, [len(name) for name in shown], size=size, height=height
        ),
        hovertext=[f"{name}: {counted(int(degree), 'edge')}" for name, degree in zip(names, degrees, strict=True)],
        hoverinfo="text",
    )  # fmt: skip
    figure.update_xaxes(visible=False, range=[low[0], high[0]])
    figure.update_yaxes(visible=False, range=[low[1], high[1]])
    return figure.update_layout(margin={"l": 20, "r": 20, "b": 20})


def _name_sides(
    places: np.ndarray, linked: np.ndarray, lengths: list[int], *, size: int = 13, height: int = 520
) -> list[str]:
    """The side of each node on which its name meets the fewest lines, nodes and other names.

    ``places`` are shares of the width and the height of the figure; the sides are good ones for a narrow screen and for
    a wide one together.
    """
    steps = np.linspace(0, 1, 25)[:, None, None]
    starts, ends = np.nonzero(np.triu(linked | linked.T, 1))
    sides = [(across, down) for down in (1, -1, 0) for across in (0, 1, -1) if across or down]
    costs = np.tile(np.linspace(0, 0.5, len(sides)), (len(places), 1))  # above or below if nothing else decides
    boxes = []
    for width in (350.0, 850.0):
        points = places * [width, height - 40.0]
        lines = points[starts] * (1 - steps) + points[ends] * steps
        half = np.column_stack([0.3 * size * np.array(lengths), np.full(len(lengths), 0.6 * size)])[:, None]
        # Beside the node, at a corner of it, or above or below.
        middles = points[:, None] + np.array(sides) * (half + np.where(np.all(sides, axis=1)[:, None], 4, 8))
        boxes.append((middles, half))
        outside = (middles - half < 0) | (middles + half > [width, height - 40.0])
        costs += 20 * outside.any(axis=2)
        for node in range(len(points)):
            for side, middle in enumerate(middles[node]):
                costs[node, side] += (np.abs(lines - middle) < half[node]).all(axis=2).any(axis=0).sum()
                costs[node, side] += 3 * (np.abs(points - middle) < half[node] + 6).all(axis=1).sum()
    taken = np.full(len(places), -1)
    for node in np.argsort(-costs.min(axis=1), kind="stable"):  # who has the least choice comes first
        others = np.flatnonzero(taken >= 0)
        for middles, half in boxes:
            apart = np.abs(middles[node][:, None] - middles[others, taken[others]][None])
            costs[node] += 3 * (apart < half[node] + half[others, 0]).all(axis=2).sum(axis=1)
        taken[node] = costs[node].argmin()
    words = {1: ("top", "right"), -1: ("bottom", "left"), 0: ("middle", "center")}
    return [f"{words[sides[side][1]][0]} {words[sides[side][0]][1]}" for side in taken]


def _matrix_figure(names: list[str], weights: np.ndarray, *, title: str, weight_words: str) -> "go.Figure":
    """A cell for each pair of columns that have an edge, connected ones side by side."""
    from scipy.sparse import csr_array

    from fewer._figures import BLUE, RED, new_figure

    linked = (weights != 0) | (weights.T != 0)
    order = reverse_cuthill_mckee(csr_array(linked), symmetric_mode=True)
    order = order[linked[order].any(axis=1)]
    if 0 < len(order) < len(names):
        title += f"; {len(names) - len(order)} columns without an edge are not shown"
    labels = [cut(names[place], 18) for place in order]
    largest = np.abs(weights).max(initial=0) or 1.0
    cells = np.where(weights != 0, weights, np.nan)[np.ix_(order, order)]
    figure = new_figure(title=title, height=620)
    figure.add_heatmap(
        z=cells, x=np.arange(len(labels)), y=np.arange(len(labels)), zmin=-largest, zmax=largest,
        colorscale=[[0, RED], [0.5, "#e8e8e8"], [1, BLUE]], colorbar={"title": {"text": weight_words}},
        customdata=np.array([[f"{row} – {column}" for column in labels] for row in labels]),
        hovertemplate="%{customdata}: %{z:.3g}<extra></extra>",
    )  # fmt: skip
    every = max(1, len(labels) // 40)
    ticks = {"tickvals": list(range(0, len(labels), every)), "ticktext": labels[::every], "tickfont": {"size": 9}}
    figure.update_xaxes(**ticks)
    return figure.update_yaxes(autorange="reversed", showgrid=False, **ticks)


def node_places(adjacency: np.ndarray) -> np.ndarray:
    """Places in the plane where distances are about those in the graph, ``(n_nodes, 2)``.

    Minimises ``sum_ij (|x_i - x_j| / d_ij - 1)^2`` over the places, with d the lengths of shortest paths (Kamada and
    Kawai), from the classical scaling of d. An edge is the longer the more neighbours its ends do not share, so that
    columns with many edges do not crowd (Gansner, Koren and North 2004). Nodes without an edge stand in a row below.
    """
    from fewer._kernels._scipy_solvers import minimize

    linked = (adjacency | adjacency.T) & ~np.eye(len(adjacency), dtype=bool)
    joined = np.flatnonzero(linked.any(axis=0))
    places = np.zeros((len(adjacency), 2))
    if len(joined):
        near = linked[np.ix_(joined, joined)].astype(float)
        not_shared = near.sum(axis=0)[:, None] + near.sum(axis=0) - 2 * near @ near
        steps = shortest_path(near * np.sqrt(not_shared / 4), directed=False)
        apart = 0.5 * steps[np.isfinite(steps)].max() + 1.5  # parts of the graph stand beside one another
        steps = np.where(np.isfinite(steps), steps, apart)
        np.fill_diagonal(steps, 1.0)
        found = minimize(_stress, _classical_scaling(steps).ravel(), args=(steps,), jac=True, method="L-BFGS-B").x
        places[joined] = found.reshape(-1, 2) - found.reshape(-1, 2).mean(axis=0)
    lonely = np.setdiff1d(np.arange(len(adjacency)), joined)
    if len(lonely):
        per_row = max(6, int(np.ceil(np.sqrt(len(lonely)))))
        width = max(0.5 * per_row, places[:, 0].max() - places[:, 0].min())
        bottom = places[:, 1].min()
        row, place = np.divmod(np.arange(len(lonely)), per_row)
        places[lonely] = np.c_[(place + 0.5) / per_row * width - width / 2, bottom - 1 - 0.6 * row]
    return places


def _classical_scaling(steps: np.ndarray) -> np.ndarray:
    squares = steps**2 * ~np.eye(len(steps), dtype=bool)
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    start = vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 0))
    # Nodes with the same neighbours have one place here, from which no step of the search would part them.
    angle = 2.4 * np.arange(len(steps))
    return start + 0.05 * np.c_[np.cos(angle), np.sin(angle)]


def _stress(flat: np.ndarray, steps: np.ndarray) -> tuple[float, np.ndarray]:
    places = flat.reshape(-1, 2)
    apart = places[:, None] - places
    lengths = np.sqrt((apart**2).sum(axis=2) + 1e-12)
    excess = (lengths / steps - 1) * ~np.eye(len(steps), dtype=bool)
    slope = 4 * ((excess / (lengths * steps))[:, :, None] * apart).sum(axis=1)
    return float((excess**2).sum()), slope.ravel()
