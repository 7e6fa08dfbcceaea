"""The states of a chain over time: a column of the table, and the probability of each state below it."""

from typing import TYPE_CHECKING, Any

import numpy as np

from fewer._estimators import get_feature_names
from fewer._figures import GREY, PALETTE, new_figure, translucent
from fewer.catalogue import method
from fewer.latent.chains._state_model import ChainModel

if TYPE_CHECKING:
    import plotly.graph_objects as go


@method(
    tasks=["evaluation"],
    when="The states that a hidden Markov model finds are to be seen over time, with how sure they are.",
    cost="O(n (k^2 + k p)) time",
    handles=("missing",),
)
def plot_states(
    model: Any, X: Any, *, column: int | str = 0, times: Any = None, groups: Any = None, sequence: Any = None
) -> "go.Figure":
    """Draw a column of one sequence over time, coloured by state, and the probability of each state below.

    Parameters
    ----------
    model : fitted estimator
        A `HiddenMarkov` or `PosteriorRegularizedHMM`.
    X : array-like of shape (n_samples, n_features)
        Rows in time order.
    column : int or str, default=0
        The column to draw: its place or, in a frame, its name.
    times : array-like of shape (n_samples,), default=None
        Time of each row; its number in the sequence by default.
    groups : array-like of shape (n_samples,), default=None
        The sequence of each row; one sequence by default.
    sequence : object, default=None
        Which sequence to draw; the first by default.

    Returns
    -------
    figure : plotly.graph_objects.Figure
        Dots have the colour of the most likely sequence of states; areas show posterior probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import HiddenMarkov, plot_states
    >>> X = np.repeat([0.0, 5.0, 0.0], 20)[:, None] + np.random.default_rng(0).normal(size=(60, 1))
    >>> figure = plot_states(HiddenMarkov(2, random_state=0).fit(X), X)
    >>> [trace.name for trace in figure.data[:2]]
    ['state 0', 'state 1']
    """
    import plotly.graph_objects as go

    if not isinstance(model, ChainModel):
        raise TypeError(f"plot_states draws HiddenMarkov and PosteriorRegularizedHMM, not {type(model).__name__}.")
    names = get_feature_names(X)
    states, shares = model.predict(X, groups=groups), model.predict_proba(X, groups=groups)
    values, title = _column(X, column, names)
    shown = np.arange(len(states))
    if groups is not None:
        labels = np.asarray(groups)
        wanted = labels[0] if sequence is None else sequence
        shown = np.flatnonzero(labels == wanted)
        if not len(shown):
            raise ValueError(f"sequence={sequence!r} is not one of groups.")
    moments = np.arange(len(shown)) if times is None else np.asarray(times)[shown]
    figure = new_figure(y=title, x="time" if times is not None else "row of the sequence", height=440)
    figure.update_layout(
        xaxis={"anchor": "y2"},
        yaxis={"domain": [0.36, 1.0]},
        yaxis2={"domain": [0.0, 0.27], "range": [0, 1], "tickformat": ".0%", "title": {"text": "probability"}},
        hovermode="x unified",
    )
    figure.add_trace(
        go.Scatter(
            x=moments,
            y=values[shown],
            mode="lines",
            line={"color": translucent(GREY, 0.5), "width": 1},
            showlegend=False,
            hoverinfo="skip",
        )
    )
    for state in range(shares.shape[1]):
        own = states[shown] == state
        colour = PALETTE[state % len(PALETTE)]
        figure.add_trace(
            go.Scatter(
                x=moments[own],
                y=values[shown][own],
                mode="markers",
                marker={"color": colour, "size": 5},
                name=f"state {state}",
                legendgroup=str(state),
            )
        )
        figure.add_trace(
            go.Scatter(
                x=moments,
                y=shares[shown, state],
                yaxis="y2",
                stackgroup="shares",
                mode="lines",
                line={"width": 0, "color": colour},
                fillcolor=translucent(colour, 0.8),
                name=f"state {state}",
                legendgroup=str(state),
                showlegend=False,
                hovertemplate="%{y:.0%}",
            )
        )
    # The line lies below the dots, and the legend starts with the states.
    figure.data = tuple(sorted(figure.data, key=lambda trace: (trace.mode != "markers", trace.yaxis == "y2")))
    return figure


def _column(X: Any, column: int | str, names: Any) -> tuple[np.ndarray, str]:
    """Values of one column, and what to call it."""
    if isinstance(column, str):
        if names is None or column not in list(names):
            there = "X has no names of columns" if names is None else f"X has {', '.join(map(str, names))}"
            raise ValueError(f"There is no column {column!r}: {there}.")
        return np.asarray(X[column]), column
    table = X if hasattr(X, "iloc") else np.asarray(X)
    if not -table.shape[1] <= column < table.shape[1]:
        raise ValueError(f"There is no column {column}: X has {table.shape[1]} columns, counted from 0.")
    values = np.asarray(table.iloc[:, column]) if hasattr(table, "iloc") else table[:, column]
    return values, f"column {column}" if names is None else str(names[column])
