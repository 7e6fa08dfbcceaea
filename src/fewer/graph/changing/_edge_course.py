"""The probability of every edge at every time, stored as runs of equal values, and its picture."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer._wording import counted, cut

if TYPE_CHECKING:
    import plotly.graph_objects as go

_MOST_DRAWN = 40
"""Edges in the picture, those with the largest change or probability first."""


@dataclass(frozen=True, eq=False, repr=False)
class EdgeCourse:
    """Probabilities of edges over time, in runs; ``numpy.asarray`` gives all of them.

    Attributes
    ----------
    shape : tuple of int
        ``(n_times, n_columns, n_columns)``; entries are ``[time, parent, child]``.
    edges : ndarray of shape (n_edges, 2)
        Parent and child of each edge that was ever met; all others have probability 0.
    indptr : ndarray of shape (n_edges + 1,)
        Where the runs of each edge begin.
    starts : ndarray of shape (n_runs,)
        First time of each run.
    values : ndarray of shape (n_runs,)
        Probability during the run.
    """

    shape: tuple[int, int, int]
    edges: np.ndarray
    indptr: np.ndarray
    starts: np.ndarray
    values: np.ndarray

    @property
    def nbytes(self) -> int:
        """Memory of the runs, in bytes."""
        return sum(part.nbytes for part in (self.edges, self.indptr, self.starts, self.values))

    def __repr__(self) -> str:
        sizes = " x ".join(f"{size:,}" for size in self.shape)
        return f"EdgeCourse: {sizes}, {counted(len(self.edges), 'edge')} in {counted(len(self.starts), 'run')}"

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, time: int) -> np.ndarray:
        """Probabilities at one time, [parent, child]."""
        time = range(self.shape[0])[time]
        found = np.zeros(self.shape[1:])
        for edge, (parent, child) in enumerate(self.edges):
            first, stop = self.indptr[edge : edge + 2]
            found[parent, child] = self.values[first + np.searchsorted(self.starts[first:stop], time, side="right") - 1]
        return found

    def of_edge(self, edge: int) -> np.ndarray:
        """Probability of one of ``edges`` at every time."""
        first, stop = self.indptr[edge : edge + 2]
        lengths = np.diff(np.append(self.starts[first:stop], self.shape[0]))
        return np.repeat(self.values[first:stop], lengths)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = np.zeros(self.shape, dtype=dtype or float)
        for edge, (parent, child) in enumerate(self.edges):
            found[:, parent, child] = self.of_edge(edge)
        return found

    def largest(self) -> np.ndarray:
        """Highest probability over time, [parent, child]."""
        found = np.zeros(self.shape[1:])
        if len(self.edges):
            found[tuple(self.edges.T)] = np.maximum.reduceat(self.values, self.indptr[:-1])
        return found


def course_of(counts: dict[tuple[int, int], np.ndarray], n_kept: int, n_times: int, n_columns: int) -> EdgeCourse:
    """Runs from the number of kept states that hold each edge, at each time."""
    edges = sorted(counts)
    starts, values, indptr = [], [], [0]
    for edge in edges:
        course = counts[edge]
        begins = np.flatnonzero(np.diff(course, prepend=course[0] - 1))
        starts.append(begins)
        values.append(course[begins] / n_kept)
        indptr.append(indptr[-1] + len(begins))
    return EdgeCourse(
        (n_times, n_columns, n_columns),
        np.array(edges, dtype=np.int64).reshape(-1, 2),
        np.array(indptr),
        np.concatenate(starts) if starts else np.zeros(0, dtype=np.int64),
        np.concatenate(values) if values else np.zeros(0),
    )


def consensus_epochs(course: EdgeCourse, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """Stretches in which the edges above a threshold are the same, (start, stop) each, and their networks."""
    n_times = course.shape[0]
    above = [course.of_edge(edge) > threshold for edge in range(len(course.edges))]
    breaks = [np.flatnonzero(np.diff(each)) + 1 for each in above]
    starts = np.unique(np.concatenate([[0], *breaks])).astype(np.int64)
    networks = np.zeros((len(starts), *course.shape[1:]), dtype=bool)
    for (parent, child), each in zip(course.edges, above, strict=True):
        networks[:, parent, child] = each[starts]
    return np.column_stack([starts, np.append(starts[1:], n_times)]), networks


def course_figure(
    course: EdgeCourse, transition_proba: np.ndarray, names: list[str], *, threshold: float, title: str
) -> "go.Figure":
    """A row for each edge, darker where it is more probable, above the probability that an epoch begins."""
    from plotly.subplots import make_subplots

    from fewer._figures import AMBER, BLUE, new_figure

    largest = course.largest()
    places = [edge for edge, (parent, child) in enumerate(course.edges) if largest[parent, child] > threshold]
    places.sort(key=lambda edge: -float(course.of_edge(edge).sum()))
    places = places[:_MOST_DRAWN]
    rows = np.arange(1, course.shape[0] + 1)
    labels = [f"{cut(names[p], 14)} → {cut(names[c], 14)}" for p, c in course.edges[places]]
    style = new_figure(title=title, height=max(420, 200 + 20 * len(places))).layout
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.78, 0.22], vertical_spacing=0.05)
    figure.update_layout(style)
    if places:
        figure.add_heatmap(
            z=np.array([course.of_edge(edge) for edge in places]), x=rows, y=labels, zmin=0, zmax=1, ygap=2,
            colorscale=[[0, "rgba(0,0,0,0)"], [1, BLUE]], row=1, col=1,
            colorbar={"title": {"text": "probability<br>of the edge"}, "len": 0.78, "y": 1, "yanchor": "top"},
            hovertemplate="%{y} at row %{x}: %{z:.2f}<extra></extra>",
        )  # fmt: skip
    figure.add_bar(
        x=rows, y=transition_proba, marker={"color": AMBER, "line": {"width": 1, "color": AMBER}}, showlegend=False,
        hovertemplate="an epoch begins at row %{x}: %{y:.2f}<extra></extra>", row=2, col=1,
    )  # fmt: skip
    figure.update_yaxes(autorange="reversed", showgrid=False, automargin=True, row=1, col=1)
    figure.update_yaxes(title={"text": "an epoch<br>begins"}, range=[0, 1], row=2, col=1)
    figure.update_xaxes(title={"text": "row of the series"}, row=2, col=1)
    return figure.update_layout(margin={"b": 50})
