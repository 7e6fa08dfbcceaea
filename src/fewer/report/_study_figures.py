"""The figures of a study: scores over the number of columns, scores of permuted tables, one bar for each column."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer import _figures
from fewer._wording import interval_words, signed
from fewer.report._study_numbers import metric_of, plotly_text, unit_of

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from fewer.study import Findings

# What was shuffled, by the name of the test.
NULL_WORDS = {"labels": "a shuffled target", "features_within_class": "columns shuffled within classes"}
_MOST_BINS = 24
# So few sizes are all named on the axis.
_FEW_SIZES = 9
# Counts are written into the cells of so many classes.
_MOST_CLASSES_WRITTEN = 15
_MOST_COLUMNS = 30
_NARROW = 18


def curve_figure(findings: "Findings", *, with_others: bool = False) -> "go.Figure":
    """The frontier: best held-out score of all candidates at each number of columns, with its standard error.

    With the others come the curves of all candidates, the sizes that the folds chose, and scores in the legend.
    """
    curve = findings.curve["frontier"]
    sizes, mean = np.array(curve["sizes"]), np.array(curve["mean"])
    error = np.array(curve["standard_error"])
    x_title = f"number of {unit_of(findings)}"
    figure = _figures.new_figure(x=x_title, y=metric_of(findings), height=350)
    ends = [sizes[0], sizes[-1]] if len(sizes) > 1 else [sizes[0] / 2, sizes[0] * 2]
    wide = sizes if len(sizes) > 1 else np.array(ends)  # one size has its error from end to end
    low, high = (np.broadcast_to(mean + by, wide.shape) for by in (-error, error))
    band = _figures.band("± standard error", wide, low, high)
    figure.add_trace(band.update(legendrank=2))
    if with_others:
        _add_others(figure, findings)
    for rank, name, height, colour, dash in (
        (
            5,
            "all features, cross-indexed",
            findings.fewer_help.evidence["with_all"],
            _figures.AMBER,
            "dash",
        ),
        (6, "baseline", findings.curve["baseline"], _figures.GREY, "dot"),
    ):
        label = f"{name}: {height:.3f}" if with_others else name
        line = _figures.line(label, ends, [height] * 2, colour, line_dash=dash, legendrank=rank)
        figure.add_trace(line.update(hovertemplate=f"{name}: %{{y:.3f}}<extra></extra>"))
    best = _figures.line(curve["name"], sizes, mean, _figures.BLUE, legendrank=1)
    best.update(mode="lines+markers", line={"width": 2.5}, marker={"size": 5})
    best.update(customdata=[plotly_text(name) for name in curve["candidates"]])
    figure.add_trace(best.update(hovertemplate="%{x:,} columns: %{y:.3f} (%{customdata})<extra></extra>"))
    _add_mark(figure, findings)
    if with_others:
        _add_fold_sizes(figure, findings)
    _set_curve_axes(figure, findings, curve["sizes"])
    return figure


def _add_others(figure: "go.Figure", findings: "Findings") -> None:
    for place, other in enumerate(findings.curve["candidates"]):
        name = plotly_text(other["name"])
        line = _figures.line("each candidate", other["sizes"], other["mean"], _figures.GREY, legendrank=3)
        line.update(line={"width": 1}, opacity=0.7, showlegend=place == 0, legendgroup="others")
        figure.add_trace(line.update(hovertemplate=f"{name}<br>%{{x:,}} columns: %{{y:.3f}}<extra></extra>"))


def _add_mark(figure: "go.Figure", findings: "Findings") -> None:
    """The chosen size: its own mean, and the cross-indexed score of the procedure that chose it."""
    import plotly.graph_objects as go

    chosen, reached = findings.curve["chosen"], findings.fewer_help.evidence["with_fewer"]
    figure.add_trace(
        go.Scatter(
            x=[chosen["size"]],
            y=[reached],
            name="procedure, cross-indexed",
            mode="markers",
            marker={"symbol": "circle-open", "color": _figures.RED, "size": 12, "line": {"width": 2.5}},
            legendrank=4,
            hovertemplate="procedure, cross-indexed: %{y:.3f}<extra></extra>",
        )
    )
    figure.add_trace(
        go.Scatter(
            x=[chosen["size"]],
            y=[chosen["mean"]],
            name=f"chosen: {chosen['size']:,}",
            mode="markers",
            marker={"color": _figures.RED, "size": 12, "line": {"width": 2.5, "color": _figures.RED}},
            legendrank=4,
            hovertemplate="chosen: %{x:,} columns, %{y:.3f}<extra></extra>",
        )
    )


def _add_fold_sizes(figure: "go.Figure", findings: "Findings") -> None:
    """A mark below the curve for each size that a fold chose, the larger the more of them did."""
    import plotly.graph_objects as go

    by_fold = findings.how_few.evidence["by_fold"]
    sizes, times = np.unique(np.array(by_fold), return_counts=True)
    low, _ = _heights(findings)
    figure.add_trace(
        go.Scatter(
            x=sizes,
            y=np.full(len(sizes), low),
            name="chosen by the folds",
            mode="markers",
            marker={
                "symbol": "triangle-up",
                "size": 8 + 8 * times / len(by_fold),
                "color": _figures.RED,
                "opacity": 0.75,
            },
            customdata=times,
            legendrank=7,
            hovertemplate=f"%{{x:,}} columns: chosen by %{{customdata}} of {len(by_fold)} folds<extra></extra>",
        )
    )


def _heights(findings: "Findings") -> tuple[float, float]:
    """Lowest and highest score to show. A curve that falls far below having no features is cut there."""
    curve = findings.curve["frontier"]
    mean, error = np.array(curve["mean"]), np.array(curve["standard_error"])
    baseline = findings.curve["baseline"]
    reached = [findings.fewer_help.evidence[name] for name in ("with_all", "with_fewer")]
    high = max(float((mean + error).max()), *reached, baseline)
    low = min(float((mean - error).min()), *reached, baseline)
    low = max(low, baseline - 0.75 * (high - baseline)) if high > baseline else low
    margin = 0.07 * (high - low or 1.0)
    return low - margin, high + margin


def _set_curve_axes(figure: "go.Figure", findings: "Findings", sizes: list[int]) -> None:
    narrow = _ticks(sizes if _are_apart(sizes) else _round_numbers(sizes[-1], (1,)))
    wide = _ticks(sizes if len(sizes) <= _FEW_SIZES else _round_numbers(sizes[-1], (1, 2, 5)))
    figure.update_xaxes(type="log", **wide, tickangle=0)
    low, high = _heights(findings)
    figure.update_yaxes(range=[low - 0.04 * (high - low), high], tickformat=".2~f")
    figure.update_layout(showlegend=True, margin={"t": 10, "b": 50, "r": 20}, meta=by_width("xaxis", wide, narrow))


def by_width(axis: str, wide: dict[str, Any], narrow: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Ticks of an axis for wide and for narrow screens; the script of the page chooses."""
    return {
        "wide": {f"{axis}.{key}": value for key, value in wide.items()},
        "narrow": {f"{axis}.{key}": value for key, value in narrow.items()},
    }


def _are_apart(sizes: list[int]) -> bool:
    """Whether all sizes can be named on the logarithmic axis of a narrow screen."""
    gaps = np.diff(np.log(sizes))
    return bool((gaps > 0.09 * gaps.sum()).all())


def _round_numbers(largest: int, steps: tuple[int, ...]) -> list[int]:
    """Round numbers up to the largest, which comes last."""
    room = 0.7 if len(steps) > 1 else 0.4
    return [*(step * 10**power for power in range(7) for step in steps if step * 10**power < largest * room), largest]


def _ticks(numbers: list[int]) -> dict[str, list]:
    return {"tickvals": numbers, "ticktext": [f"{number:,}" for number in numbers]}


def null_figure(findings: "Findings", null: str, *, height: int = 300) -> "go.Figure":
    """Scores on randomised tables, with that of the real one marked; those as good as it in a colour of their own."""
    import plotly.graph_objects as go

    evidence = findings.nulls[null]
    scores, observed = np.array(evidence["scores"]), evidence["observed"]
    x_title = f"test statistic: {metric_of(findings)} of the reference procedure"
    figure = _figures.new_figure(x=x_title, y="tables", height=height)
    edges, step = _bins(scores, observed)
    counts, _ = np.histogram(scores, edges)
    left, right = edges[:-1] - step / 2, edges[1:] - step / 2
    as_good = int((scores >= observed).sum())
    for name, colour, shown in (
        (
            f"tables with {NULL_WORDS[null]}, below this one: {len(scores) - as_good}",
            _figures.GREY,
            edges[:-1] < observed,
        ),
        (f"as good or better: {as_good}", _figures.AMBER, edges[:-1] >= observed),
    ):
        shown = shown & (counts > 0)
        if not shown.any():
            continue
        figure.add_trace(
            go.Bar(
                x=((left + right) / 2)[shown],
                y=counts[shown],
                width=0.92 * (right - left)[shown],
                customdata=np.column_stack([left, right])[shown],
                name=name,
                marker={"color": colour},
                hovertemplate="%{customdata[0]:.3f} to %{customdata[1]:.3f}: %{y} tables<extra></extra>",
            )
        )
    top = 1.12 * counts.max()
    figure.add_trace(
        go.Scatter(
            x=[observed, observed],
            y=[0, top],
            mode="lines",
            name=f"this table: {observed:.3f}",
            line={"color": _figures.RED, "width": 3},
            hovertemplate="this table: %{x:.3f}<extra></extra>",
        )
    )
    low, high = min(left[counts > 0].min(), observed), max(right[counts > 0].max(), observed)
    figure.update_xaxes(range=[low - 0.04 * (high - low), high + 0.04 * (high - low)])
    figure.update_yaxes(range=[0, top], tickformat=",d", dtick=_count_step(top))
    figure.update_layout(barmode="overlay", showlegend=True, margin={"t": 10, "b": 50, "r": 20})
    return figure


def _count_step(top: float) -> int:
    """A round distance of ticks, a whole number, with at most seven of them."""
    return next(step * 10**power for power in range(9) for step in (1, 2, 5) if step * 10**power >= top / 7)


def _bins(scores: np.ndarray, observed: float) -> tuple[np.ndarray, float]:
    """Edges of bins, and the step of the scores, 0 if there is none.

    One edge is the observed score, so that no bar holds both worse and better ones. Scores of few rows come in steps
    (each row counts the same); bins are then a whole number of steps wide.
    """
    reach = max(float(scores.max()), observed) - min(float(scores.min()), observed)
    spread = max(float(np.ptp(scores)), 1e-3 * reach) or 0.1
    width = spread / min(_MOST_BINS, max(6.0, 2 * np.sqrt(len(scores))))
    gaps = np.diff(np.unique(np.round(np.append(scores, observed), 9)))
    step = float(gaps.min()) if len(gaps) and gaps.min() > spread / 100 else 0.0
    if step:
        width = step * max(1, round(width / step))
    below = max(0, int(np.ceil((observed - scores.min()) / width + 1e-6)))
    above = max(0, int(np.floor((scores.max() - observed) / width + 1e-6)) + 1)
    places = np.arange(-below, above + 1)
    # A hair to the left, so that rounding never moves a score over an edge; but the observed score stands as it is.
    return observed + width * (places - 1e-6 * (places != 0)), step


def confusion_figure(findings: "Findings") -> "go.Figure":
    """True against predicted classes of held-out rows, shaded by their share of the true class."""
    import plotly.graph_objects as go

    evidence = findings.wrong.evidence
    counts = np.array(evidence["confusion"])
    labels = [plotly_text(label, 18) for label in evidence["labels"]]
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    height = max(220, 110 + 30 * len(labels))
    figure = _figures.new_figure(x="predicted class", y="true class", height=height)
    places = list(range(len(labels)))
    figure.add_trace(
        go.Heatmap(
            z=shares,
            x=places,
            y=places,
            zmin=0,
            zmax=1,
            text=counts if len(labels) <= _MOST_CLASSES_WRITTEN else None,
            texttemplate="%{text:,}" if len(labels) <= _MOST_CLASSES_WRITTEN else None,
            colorscale=[[0, "#eef3f7"], [1, _figures.BLUE]],  # opaque: counts have to stand out from the cells
            showscale=False,
            customdata=counts,
            hovertemplate="true %{y}, predicted %{x}: %{customdata:,} rows (%{z:.0%})<extra></extra>",
        )
    )
    figure.update_xaxes(tickvals=places, ticktext=labels, showgrid=False)
    figure.update_yaxes(tickvals=places, ticktext=labels, showgrid=False, range=[len(labels) - 0.5, -0.5])
    figure.update_layout(margin={"t": 10, "b": 50, "r": 20})
    return figure


def predicted_figure(findings: "Findings") -> "go.Figure":
    """Predicted over true values of held-out rows."""
    import plotly.graph_objects as go

    evidence = findings.wrong.evidence
    figure = _figures.new_figure(x="true value", y="predicted value", height=350)
    ends = [min(evidence["truth"]), max(evidence["truth"])]
    figure.add_trace(_figures.line("right", ends, ends, _figures.GREY, line_dash="dot"))
    figure.add_trace(
        go.Scatter(
            x=evidence["truth"],
            y=evidence["predicted"],
            mode="markers",
            name="held-out rows",
            marker={"color": _figures.BLUE, "size": 6, "opacity": 0.6},
            hovertemplate="true %{x:.4g}, predicted %{y:.4g}<extra></extra>",
        )
    )
    figure.update_layout(margin={"t": 10, "b": 50, "r": 20})
    return figure


def _rows_figure(names: Sequence[str], x: str, *, row: int = 26, two_lines: bool = False) -> "go.Figure":
    """A figure whose rows are 0, 1, 2 ... from the top, with a name at each; short ones for narrow screens too.

    With two lines, a long name is broken at its first comma on narrow screens, where letters are then smaller.
    """
    wide: dict[str, Any] = {"ticktext": [plotly_text(name) for name in names]}
    narrow: dict[str, Any] = {"ticktext": [plotly_text(name, _NARROW) for name in names]}
    if two_lines:
        narrow["ticktext"] = [_in_two_lines(name) for name in names]
        wide["tickfont.size"], narrow["tickfont.size"] = 13, 10
    figure = _figures.new_figure(x=x, height=60 + row * len(names))
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=wide["ticktext"],
        range=[len(names) - 0.4, -0.6],
        showgrid=False,
        ticks="",
        ticklabelstandoff=6,
        showline=False,
    )
    figure.update_xaxes(showgrid=True, gridcolor=_figures.translucent(_figures.GREY, 0.25))
    figure.update_layout(margin={"t": 10, "b": 50, "r": 20}, meta=by_width("yaxis", wide, narrow))
    return figure


def _in_two_lines(name: str) -> str:
    first, comma, second = name.partition(", ")
    if len(name) <= _NARROW or not comma:
        return plotly_text(name, _NARROW)
    return f"{plotly_text(first, _NARROW)},<br>{plotly_text(second, _NARROW)}"


def difference_figure(findings: "Findings") -> "go.Figure":
    """Each candidate minus the same learner with all features; first the procedure minus the best learner with all."""

    assert findings.fewer_help.number is not None
    assert findings.fewer_help.interval is not None
    rows = [
        (rival.name, rival.over_same_learner, rival.over_same_learner_interval)
        for rival in sorted(findings.rivals, key=lambda each: -(each.over_same_learner or 0.0))
        if rival.over_same_learner is not None and rival.over_same_learner_interval is not None
    ]
    rows.insert(0, ("whole procedure", findings.fewer_help.number, findings.fewer_help.interval))
    return _interval_figure(findings, rows, f"difference to all features in {metric_of(findings)}", has_first=True)


def importance_figure(findings: "Findings") -> "go.Figure":
    """Decrease of the score when a column is permuted on held-out rows, the most important column first."""
    rows = [(each["name"], each["importance"], each["interval"]) for each in findings.importance.evidence["columns"]]
    return _interval_figure(findings, rows, f"decrease of {metric_of(findings)} when permuted", has_first=False)


def _interval_figure(
    findings: "Findings", rows: "list[tuple[str, float, tuple[float, float]]]", x: str, *, has_first: bool
) -> "go.Figure":
    """A point with its interval in each row; the first may be one of its own kind."""
    import plotly.graph_objects as go

    # The names of candidates, a method and a learner, may take two lines; those of columns do not.
    figure = _rows_figure([name for name, _, _ in rows], x, row=30 if has_first else 26, two_lines=has_first)
    for place, (name, middle, (low, high)) in enumerate(rows):
        first = has_first and place == 0
        colour = _figures.RED if first else _figures.BLUE
        words = f"{signed(middle)} ({interval_words((low, high), findings.plan.confidence, signed)})"
        figure.add_trace(
            go.Scatter(
                x=[low, high],
                y=[place, place],
                mode="lines",
                line={"color": colour, "width": 4 if first else 2},
                opacity=0.55,
                showlegend=False,
                hoverinfo="skip",
            )
        )
        figure.add_trace(
            go.Scatter(
                x=[middle],
                y=[place],
                mode="markers",
                marker={"color": colour, "size": 11 if first else 9},
                showlegend=False,
                hovertemplate=f"{plotly_text(name)}: {words}<extra></extra>",
            )
        )
    figure.add_vline(x=0, line={"color": _figures.GREY, "dash": "dot"})
    ends = [0.0, *(end for _, _, interval in rows for end in interval)]
    margin = 0.05 * (max(ends) - min(ends) or 1.0)
    figure.update_xaxes(tickformat="+.3~f", tickangle=0, nticks=7, range=[min(ends) - margin, max(ends) + margin])
    figure.layout.meta["wide"]["xaxis.nticks"], figure.layout.meta["narrow"]["xaxis.nticks"] = 7, 5
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

    columns = findings.missing.evidence["columns"]
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
