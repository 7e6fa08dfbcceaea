"""What every graph has: a table of its edges, a picture, a file, and how often edges come back."""

from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from fewer._estimators import validated
from fewer.graph import edge_stability
from fewer.graph._frame import GraphMixin, _name_sides, node_places


class CorrelationGraph(GraphMixin, BaseEstimator):
    """An edge wherever a correlation is above a limit."""

    def __init__(self, limit=0.3, n_rows_wanted=None):
        self.limit = limit
        self.n_rows_wanted = n_rows_wanted

    def fit(self, X, y=None):
        X = validated(self, X)
        self.correlation_ = np.corrcoef(X.T)
        self.adjacency_ = (np.abs(self.correlation_) > self.limit) & ~np.eye(X.shape[1], dtype=bool)
        return self

    def _edge_weights(self):
        return self.correlation_


class LeadGraph(CorrelationGraph):
    """An edge from each column to the next; the rows are in order."""

    _directed = True
    _rows_in_order = True

    def fit(self, X, y=None):
        super().fit(X)
        self.first_row_ = X[0, 0]
        assert set(np.diff(X[:, 0]) % self.n_rows_wanted) == {1}  # a stretch, not a sample
        self.adjacency_ = np.eye(X.shape[1], k=1, dtype=bool)
        return self

    def _edge_probabilities(self):
        return 0.5 * self.adjacency_


def chain(n_rows, n_columns, seed=0):
    return np.cumsum(np.random.default_rng(seed).normal(size=(n_rows, n_columns)), axis=1)


def test_edges_are_listed_once_and_the_strongest_first():
    import pandas as pd

    frame = pd.DataFrame(chain(200, 4), columns=["a", "b", "c", "d"])
    graph = CorrelationGraph(0.6).fit(frame)
    edges = graph.edges_
    assert edges.columns == ["from", "to", "weight"]
    assert len(edges) == graph.adjacency_.sum() // 2
    assert np.all(np.diff(np.abs(edges["weight"].to_numpy())) <= 0)
    first = edges.row(0, named=True)
    assert {first["from"], first["to"]} == {"c", "d"}
    assert first["weight"] == pytest.approx(frame.corr().loc["c", "d"])


def test_a_graph_without_edges_is_a_table_without_rows():
    graph = CorrelationGraph(0.99).fit(np.random.default_rng(0).normal(size=(50, 3)))
    assert graph.edges_.shape == (0, 3)
    assert "0 edges" in graph.plot().layout.title.text


def test_graphml_holds_the_nodes_and_the_weights(tmp_path):
    graph = CorrelationGraph(0.6).fit(chain(200, 4))
    graph.write_graphml(tmp_path / "graph.graphml")
    space = {"g": "http://graphml.graphdrawing.org/xmlns"}
    root = ElementTree.parse(tmp_path / "graph.graphml").getroot()
    assert [node.get("id") for node in root.findall(".//g:node", space)] == ["x0", "x1", "x2", "x3"]
    written = [
        (edge.get("source"), edge.get("target"), float(edge.find("g:data", space).text))
        for edge in root.findall(".//g:edge", space)
    ]
    assert written == graph.edges_.rows()


def test_networkx_gets_the_same_edges():
    pytest.importorskip("networkx")
    graph = CorrelationGraph(0.6).fit(chain(200, 4))
    drawn = graph.to_networkx()
    assert {frozenset(edge) for edge in drawn.edges} == {frozenset(row[:2]) for row in graph.edges_.rows()}


def test_sixty_columns_are_dots_and_lines_and_more_are_a_matrix():
    rng = np.random.default_rng(1)
    dots = CorrelationGraph(0.2).fit(rng.normal(size=(50, 60))).plot()
    assert not any(trace.type == "heatmap" for trace in dots.data)
    assert list(dots.data[-1].text) == [f"x{place}" for place in range(60)]
    matrix = CorrelationGraph(0.2).fit(rng.normal(size=(50, 61))).plot()
    assert [trace.type for trace in matrix.data] == ["heatmap"]


def test_a_path_is_drawn_as_a_line_of_equal_steps():
    path = np.eye(8, k=1, dtype=bool)
    places = node_places(path)
    steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    assert steps.max() < 1.2 * steps.min()
    assert np.linalg.norm(places[0] - places[-1]) > 6.5 * steps.mean()


def test_columns_of_a_dense_graph_do_not_crowd():
    rng = np.random.default_rng(0)
    adjacency = np.triu(rng.random((60, 60)) < 0.1, 1)
    adjacency[0, 1:40] = True  # a hub
    places = node_places(adjacency)
    room = np.ptp(places, axis=0)
    apart = np.linalg.norm((places[:, None] - places) / room, axis=2)[np.triu_indices(60, 1)]
    assert np.quantile(apart, 0.01) > 0.05
    sparse, dense = (CorrelationGraph(limit).fit(chain(200, 60)).plot() for limit in (0.97, 0.5))
    widest = [
        max(trace.line.width or 0 for trace in figure.data if trace.mode == "lines") for figure in (sparse, dense)
    ]
    assert widest[1] < widest[0]


def test_nodes_without_an_edge_stand_below_the_others():
    adjacency = np.zeros((5, 5), dtype=bool)
    adjacency[0, 1] = adjacency[1, 2] = True
    places = node_places(adjacency)
    assert places[3:, 1].max() < places[:3, 1].min()
    assert np.linalg.norm(places[3] - places[4]) > 0.1


def test_true_edges_come_back_on_the_halves_and_others_do_not(tmp_path):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 10))
    X[:, 1] += X[:, 0]
    X[:, 3] -= X[:, 2]
    stability = edge_stability(CorrelationGraph(0.25), X, n_edges_each=4, n_pairs=20, random_state=0)
    assert set(zip(*np.nonzero(np.triu(stability.adjacency)), strict=True)) == {(0, 1), (2, 3)}
    assert stability.frequencies[0, 1] == stability.frequencies[3, 2] == 1
    assert stability.expected_false == pytest.approx(stability.n_chosen**2 / (0.4 * 45))
    assert stability.edges.columns == ["from", "to", "weight", "frequency"]
    assert "2 edges" in stability.reading
    assert stability.plot() is not None
    stability.write_graphml(tmp_path / "stable.graphml")
    written = ElementTree.parse(tmp_path / "stable.graphml").getroot().findall(".//{*}edge")
    assert {(edge.get("source"), edge.get("target")) for edge in written} == {("x0", "x1"), ("x2", "x3")}
    assert [data.get("key") for data in written[0]] == ["weight", "frequency"]
    pytest.importorskip("networkx")
    assert stability.to_networkx().number_of_nodes() == 10
    assert {frozenset(edge) for edge in stability.to_networkx().edges} == {
        frozenset(("x0", "x1")),
        frozenset(("x2", "x3")),
    }


def test_the_bound_decides_how_many_edges_a_half_gives():
    X = np.random.default_rng(3).normal(size=(40, 12))
    stability = edge_stability(CorrelationGraph(0.0), X, max_false=0.5, threshold=0.8, n_pairs=5, random_state=0)
    assert stability.n_edges_each == int(np.sqrt(0.5 * 0.6 * 66))
    assert stability.expected_false <= 0.5


def test_halves_of_rows_in_order_are_stretches():
    X = np.c_[np.arange(40), np.random.default_rng(4).normal(size=(40, 2))]
    stability = edge_stability(LeadGraph(n_rows_wanted=40), X, n_pairs=6, n_edges_each=2, random_state=0)
    assert stability.n_stable == 2
    assert stability.estimator.edges_["probability"].to_list() == [0.5, 0.5]


def test_halves_need_rows_and_a_threshold_above_one_half():
    X = np.random.default_rng(5).normal(size=(40, 3))
    with pytest.raises(ValueError, match="above 0"):
        edge_stability(CorrelationGraph(), X, threshold=0.5)
    with pytest.raises(ValueError, match="at least 4"):
        edge_stability(CorrelationGraph(), X[:3])


def test_names_stand_away_from_lines_and_inside_of_the_figure():
    # A node in the middle has lines up, down and to the right; only its left is free.
    places = np.array([[0.5, 0.5], [0.5, 0.95], [0.5, 0.05], [0.95, 0.5]])
    linked = np.zeros((4, 4), dtype=bool)
    linked[0, 1:] = linked[1:, 0] = True
    sides = _name_sides(places, linked, [10, 4, 4, 4])
    assert sides[0].endswith("left")
    # On a narrow screen a long name at the right edge would be cut.
    (side,) = _name_sides(np.array([[0.99, 0.5]]), np.zeros((1, 1), dtype=bool), [10])
    assert side.endswith("left")
