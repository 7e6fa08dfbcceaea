"""The pictures of a study, made from its findings alone."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer import _figures

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from fewer.study import Findings

_MOST_BARS = 40


def curve_figure(findings: "Findings") -> "go.Figure":
    """Held-out score over the number of columns, with its uncertainty and what it is compared with."""
    import plotly.graph_objects as go

    curve = findings.curve["winner"]
    sizes, mean = np.array(curve["sizes"]), np.array(curve["mean"])
    error = np.array(curve["standard_error"])
    figure = _figures.new_figure(x="number of columns", y=findings.plan["scoring"].replace("_", " "), height=420)
    figure.add_trace(_figures.band("one standard error", sizes, mean - error, mean + error))
    for other in findings.curve["others"]:
        trace = _figures.line(other["name"], other["sizes"], other["mean"], _figures.GREY, opacity=0.45)
        trace.update(line={"width": 1}, showlegend=False)
        figure.add_trace(trace)
    figure.add_trace(
        go.Scatter(
            x=sizes,
            y=mean,
            name=curve["name"],
            mode="lines+markers",
            line={"color": _figures.BLUE, "width": 2.5},
            marker={"size": 5},
            hovertemplate="%{x} columns: %{y:.3f}<extra></extra>",
        )
    )
    ends = [int(sizes[0]), int(sizes[-1])]
    everything, simplest = findings.curve["with_everything"], findings.curve["simplest"]
    figure.add_trace(_figures.line("all features", ends, [everything] * 2, _figures.AMBER, line_dash="dash"))
    figure.add_trace(_figures.line("without features", ends, [simplest] * 2, _figures.GREY, line_dash="dot"))
    at = dict(zip(curve["sizes"], curve["mean"], strict=True))
    for size, name, symbol, colour in (
        (findings.how_few.evidence["smallest"], "smallest good size", "circle-open", _figures.RED),
        (int(findings.how_few.number or 1), "chosen size", "circle", _figures.RED),
    ):
        figure.add_trace(
            go.Scatter(
                x=[size],
                y=[at[size]],
                name=f"{name}: {size:,}",
                mode="markers",
                marker={"color": colour, "size": 12, "symbol": symbol, "line": {"width": 2.5, "color": colour}},
                hovertemplate=f"{name}: %{{x}} columns, %{{y:.3f}}<extra></extra>",
            )
        )
    figure.update_xaxes(type="log", tickvals=_ticks(ends[-1]), ticktext=[f"{tick:,}" for tick in _ticks(ends[-1])])
    return figure


def _ticks(largest: int) -> list[int]:
    ticks = [step * 10**power for power in range(6) for step in (1, 2, 5) if step * 10**power < largest * 0.8]
    return [*ticks, largest]


def null_figure(findings: "Findings", null: str) -> "go.Figure":
    """Scores on randomised tables, with that of the real one marked."""
    import plotly.graph_objects as go

    evidence = findings.nulls[null]
    words = {"labels": "shuffled labels", "features_within_class": "columns shuffled within classes"}[null]
    figure = _figures.new_figure(x=findings.plan["scoring"].replace("_", " "), y="tables", height=320)
    figure.add_trace(
        go.Histogram(x=evidence["scores"], name=words, marker={"color": _figures.GREY}, nbinsx=30, opacity=0.7)
    )
    figure.add_vline(
        x=evidence["observed"],
        line={"color": _figures.RED, "width": 3},
        annotation={"text": f"this table: {evidence['observed']:.3f}", "font": {"color": _figures.RED}},
    )
    spread = [*evidence["scores"], evidence["observed"]]
    margin = 0.1 * (max(spread) - min(spread) or 1)
    figure.update_xaxes(range=[min(spread) - margin, max(spread) + 2 * margin])
    figure.update_layout(bargap=0.05, showlegend=True)
    return figure


def benefit_figure(findings: "Findings") -> "go.Figure":
    """Benefit over all features of each way to reduce, and of the whole choice, with intervals."""
    import plotly.graph_objects as go

    assert findings.fewer_help.number is not None
    assert findings.fewer_help.interval is not None
    rows = [
        (rival.name, rival.benefit, rival.benefit_interval)
        for rival in sorted(findings.rivals, key=lambda each: each.benefit or 0.0)
        if rival.benefit is not None and rival.benefit_interval is not None
    ]
    rows.append(("choosing among all of them", findings.fewer_help.number, findings.fewer_help.interval))
    figure = _figures.new_figure(x="benefit over all features with the same learner", height=90 + 26 * len(rows))
    colours = [_figures.BLUE] * (len(rows) - 1) + [_figures.RED]
    figure.add_trace(
        go.Scatter(
            x=[benefit for _, benefit, _ in rows],
            y=[_short(name) for name, _, _ in rows],
            mode="markers",
            marker={"color": colours, "size": 9},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [high - benefit for _, benefit, (_, high) in rows],
                "arrayminus": [benefit - low for _, benefit, (low, _) in rows],
                "color": _figures.GREY,
                "thickness": 1.5,
            },
            hovertemplate="%{y}: %{x:+.3f}<extra></extra>",
            showlegend=False,
        )
    )
    figure.add_vline(x=0, line={"color": _figures.GREY, "dash": "dot"})
    figure.update_yaxes(showgrid=False, title=None)
    figure.update_layout(margin={"b": 60})
    return figure


def frequency_figure(findings: "Findings") -> "go.Figure":
    """How often each of the first columns was chosen over the folds."""
    import plotly.graph_objects as go

    shown = list(reversed(findings.columns[:_MOST_BARS]))
    figure = _figures.new_figure(x="share of folds that chose it", height=90 + 18 * len(shown))
    figure.add_trace(
        go.Bar(
            x=[column.frequency for column in shown],
            y=[f"{column.rank}. {_short(column.name)}" for column in shown],
            orientation="h",
            marker={"color": [_figures.BLUE if column.chosen else _figures.GREY for column in shown]},
            hovertext=[f"{column.name}: {column.effect}" for column in shown],
            hovertemplate="%{hovertext}<br>%{x:.0%} of folds<extra></extra>",
        )
    )
    figure.update_xaxes(range=[0, 1.02], tickformat=".0%")
    figure.update_yaxes(showgrid=False, title=None, tickfont={"size": 11})
    figure.update_layout(margin={"b": 60})
    return figure


def comparison_figure(findings: "Findings") -> "go.Figure":
    """The critical-difference picture of all candidates."""
    from fewer.evaluate import critical_difference_figure

    comparison: Any = SimpleNamespace(
        methods=tuple(_short(name) for name in findings.comparison["methods"]),
        mean_ranks=np.array(findings.comparison["mean_ranks"]),
        critical_difference=findings.comparison["critical_difference"] or np.nan,
        cliques=tuple(tuple(_short(name) for name in clique) for clique in findings.comparison["cliques"]),
        test="friedman",
    )
    return critical_difference_figure(comparison)


def time_figure(findings: "Findings", spent: Mapping[str, float]) -> "go.Figure":
    """Time of each candidate, over all folds."""
    import plotly.graph_objects as go

    names = sorted(spent, key=lambda name: spent[name])
    figure = _figures.new_figure(x="seconds, all folds", height=90 + 22 * len(names))
    figure.add_trace(
        go.Bar(
            x=[spent[name] for name in names],
            y=[_short(name) for name in names],
            orientation="h",
            marker={"color": _figures.GREEN},
            hovertemplate="%{y}: %{x:.1f} s<extra></extra>",
        )
    )
    figure.update_yaxes(showgrid=False, title=None)
    figure.update_layout(margin={"b": 60})
    return figure


def _short(name: str, most: int = 36) -> str:
    """A name that fits beside an axis. Plotly reads tags in text, so what looks like one is made harmless."""
    name = name if len(name) <= most else f"{name[: most - 1]}…"
    return name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
