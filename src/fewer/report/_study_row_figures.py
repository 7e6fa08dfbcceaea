"""The pictures of a study with one row for each candidate or column: labels never meet, however many or long."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fewer import _figures
from fewer.report._shown_names import plotly_text
from fewer.report._study_figures import by_width
from fewer.report._study_numbers import signed

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from fewer.study import Findings

_MOST_COLUMNS = 30
_NARROW = 18


def _rows_figure(names: Sequence[str], x: str, *, row: int = 26) -> "go.Figure":
    """A figure whose rows are 0, 1, 2 ... from the top, with a name at each; short ones for narrow screens too."""
    wide = {"ticktext": [plotly_text(name) for name in names]}
    narrow = {"ticktext": [plotly_text(name, _NARROW) for name in names]}
    figure = _figures.new_figure(x=x, height=60 + row * len(names))
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        **wide,
        range=[len(names) - 0.4, -0.6],
        showgrid=False,
        ticks="",
        ticklabelstandoff=6,
        showline=False,
    )
    figure.update_xaxes(showgrid=True, gridcolor=_figures.translucent(_figures.GREY, 0.25))
    figure.update_layout(margin={"t": 10, "b": 50, "r": 20}, meta=by_width("yaxis", wide, narrow))
    return figure


def benefit_figure(findings: "Findings") -> "go.Figure":
    """Benefit over all features of each way to reduce, and of the whole choice, with intervals."""
    import plotly.graph_objects as go

    assert findings.fewer_help.number is not None
    assert findings.fewer_help.interval is not None
    rows = [
        (rival.name, rival.benefit, rival.benefit_interval)
        for rival in sorted(findings.rivals, key=lambda each: -(each.benefit or 0.0))
        if rival.benefit is not None and rival.benefit_interval is not None
    ]
    rows.insert(0, ("the rule", findings.fewer_help.number, findings.fewer_help.interval))
    figure = _rows_figure([name for name, _, _ in rows], "benefit over all features")
    colours = [_figures.RED] + [_figures.BLUE] * (len(rows) - 1)
    for place, ((name, benefit, (low, high)), colour) in enumerate(zip(rows, colours, strict=True)):
        words = f"{signed(benefit)} ({signed(low)} to {signed(high)})"
        figure.add_trace(
            go.Scatter(
                x=[low, high],
                y=[place, place],
                mode="lines",
                line={"color": colour, "width": 4 if place == 0 else 2},
                opacity=0.55,
                showlegend=False,
                hoverinfo="skip",
            )
        )
        figure.add_trace(
            go.Scatter(
                x=[benefit],
                y=[place],
                mode="markers",
                marker={"color": colour, "size": 11 if place == 0 else 9},
                showlegend=False,
                hovertemplate=f"{plotly_text(name)}: {words}<extra></extra>",
            )
        )
    figure.add_vline(x=0, line={"color": _figures.GREY, "dash": "dot"})
    ends = [0.0, *(end for _, _, interval in rows for end in interval)]
    margin = 0.05 * (max(ends) - min(ends) or 1.0)
    figure.update_xaxes(tickformat="+.3~f", tickangle=0, nticks=7, range=[min(ends) - margin, max(ends) + margin])
    return figure


def frequency_figure(findings: "Findings") -> "go.Figure":
    """How often each of the first columns was chosen over the folds."""
    import plotly.graph_objects as go

    shown = [column for column in findings.columns if column.chosen or column.frequency > 0][:_MOST_COLUMNS]
    figure = _rows_figure([f"{column.rank}. {column.name}" for column in shown], "share of folds", row=20)
    for name, colour, wanted in (("chosen", _figures.BLUE, True), ("not chosen", _figures.GREY, False)):
        places = [place for place, column in enumerate(shown) if column.chosen is wanted]
        if not places:
            continue
        figure.add_trace(
            go.Bar(
                x=[shown[place].frequency for place in places],
                y=places,
                name=name,
                orientation="h",
                width=0.7,
                marker={"color": colour},
                hovertext=[
                    f"{plotly_text(shown[place].name, 60)}: {plotly_text(shown[place].effect, 80)}" for place in places
                ],
                hovertemplate="%{hovertext}<br>%{x:.0%} of folds<extra></extra>",
            )
        )
    figure.update_xaxes(range=[0, 1.02], tickformat=".0%")
    figure.update_yaxes(tickfont={"size": 12})
    figure.update_layout(barmode="overlay", showlegend=True)
    return figure


def made_figure(findings: "Findings") -> "go.Figure":
    """Correlations of the new columns with those of the table that weigh most in them."""
    import plotly.graph_objects as go

    names, loadings = findings.made["columns"], findings.made["loadings"]
    figure = _rows_figure(names, "new column", row=20)
    figure.add_trace(
        go.Heatmap(
            z=loadings,
            x=[str(number) for number in range(1, len(loadings[0]) + 1)],
            y=list(range(len(names))),
            zmin=-1,
            zmax=1,
            colorscale=[[0, _figures.RED], [0.5, "#f7f7f7"], [1, _figures.BLUE]],
            colorbar={"title": {"text": "correlation", "side": "right"}, "thickness": 12},
            hovertext=[[plotly_text(name, 60)] * len(loadings[0]) for name in names],
            hovertemplate="%{hovertext} and new column %{x}: %{z:.2f}<extra></extra>",
        )
    )
    figure.update_xaxes(type="category")
    figure.update_yaxes(tickfont={"size": 12})
    return figure


def missing_figure(findings: "Findings") -> "go.Figure":
    """Share of each column that is missing, the emptiest first."""
    import plotly.graph_objects as go

    columns = findings.missing["columns"]
    figure = _rows_figure([column["name"] for column in columns], "share of the rows that is missing", row=20)
    figure.add_trace(
        go.Bar(
            x=[column["share"] for column in columns],
            y=list(range(len(columns))),
            orientation="h",
            width=0.7,
            marker={"color": _figures.BLUE},
            showlegend=False,
            hovertext=[plotly_text(column["name"], 60) for column in columns],
            hovertemplate="%{hovertext}: %{x:.1%} missing<extra></extra>",
        )
    )
    figure.update_xaxes(range=[0, 1.02], tickformat=".0%")
    figure.update_yaxes(tickfont={"size": 12})
    return figure


def spreads_figure(findings: "Findings") -> "go.Figure":
    """Median and middle half of the first chosen columns in each class, or in thirds of the target."""
    import plotly.graph_objects as go

    columns, groups = findings.spreads["columns"], findings.spreads["groups"]
    figure = _rows_figure(columns, "standardised value", row=22 + 10 * len(groups))
    for number, group in enumerate(groups):
        colour = _figures.PALETTE[number % len(_figures.PALETTE)]
        quartiles = np.array(findings.spreads["quartiles"][number])
        places = np.arange(len(columns)) + 0.6 * ((number + 0.5) / len(groups) - 0.5)
        figure.add_trace(
            go.Scatter(
                x=quartiles[:, 1],
                y=places,
                mode="markers",
                name=plotly_text(group, _NARROW),
                marker={"color": colour, "size": 9},
                error_x={
                    "type": "data",
                    "symmetric": False,
                    "array": quartiles[:, 2] - quartiles[:, 1],
                    "arrayminus": quartiles[:, 1] - quartiles[:, 0],
                    "color": colour,
                    "thickness": 2,
                    "width": 0,
                },
                hovertemplate=f"{plotly_text(group, 60)}: median %{{x:.2f}}<extra></extra>",
            )
        )
    figure.update_layout(showlegend=True)
    return figure
