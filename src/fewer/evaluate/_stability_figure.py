"""The picture of a stability: how often each column was chosen, against what chance would do."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from fewer.evaluate._stability import Stability


def frequency_figure(stability: "Stability", n_features: int) -> "go.Figure":
    """Bars of the selection frequencies, most often first."""
    import plotly.graph_objects as go

    from fewer import _figures

    frequencies = stability.frequencies
    ever = int((frequencies > 0).sum())
    shown = np.argsort(-frequencies, kind="stable")[: max(1, min(n_features, ever))]
    rest = ever - len(shown)
    told = f" ({rest:,} more not shown)" if rest > 0 else ""
    never = f"; {len(frequencies) - ever:,} never chosen" if 0 < ever < len(frequencies) else ""
    names = [str(stability.feature_names[column]) for column in shown]
    positions = np.arange(len(shown))
    share = float(frequencies.mean())
    limit = chance_limit(stability)
    figure = _figures.new_figure(
        title=f"Stability {stability.value:.2f}"
        + ("" if np.isnan(stability.interval[0]) else " ({:.2f} to {:.2f})".format(*stability.interval)),
        x=f"columns, most often chosen first{told}{never}",
        y="share of selections",
    )
    figure.add_trace(
        go.Bar(
            x=positions,
            y=frequencies[shown],
            marker_color=[
                _figures.BLUE if f > limit else _figures.translucent(_figures.BLUE, 0.4) for f in frequencies[shown]
            ],
            customdata=names,
            hovertemplate="%{customdata}: %{y:.0%}<extra></extra>",
            showlegend=False,
        )
    )
    ends = [-0.5, len(shown) - 0.5]
    figure.add_trace(
        _figures.line(f"chance, on average {share:.0%}", ends, [share] * 2, _figures.GREY, line_dash="dot")
    )
    figure.add_trace(
        _figures.line(
            f"one random column in 20 at most passes {limit:.0%}", ends, [limit] * 2, _figures.RED, line_dash="dash"
        )
    )
    named = len(shown) <= 40
    figure.update_xaxes(
        range=ends,
        tickvals=positions if named else [],
        ticktext=names,
        tickangle=-45 if len(shown) > 8 else 0,
    )
    figure.update_yaxes(range=[0, 1.02], tickformat=".0%")
    figure.update_layout(bargap=0.15)
    if named:  # the names stand between the axis and the legend
        long = max(map(len, names)) > 3
        figure.update_layout(legend={"y": -0.6 if long else -0.32}, height=520 if long else 400)
    return figure


def chance_limit(stability: "Stability") -> float:
    """Share of selections that a column chosen at random passes with a probability of at most 5%."""
    from scipy.stats import binom

    n_selections = stability.n_selections
    return float(binom.ppf(0.95, n_selections, stability.frequencies.mean()) / n_selections)
