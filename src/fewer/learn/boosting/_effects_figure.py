"""The picture of a boosted model: what each learner adds."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from fewer.learn.boosting._effects import PartialEffect


def effects_figure(effects: "list[PartialEffect]", shares: np.ndarray, n_left_out: int) -> "go.Figure":
    """A panel for each effect: curves on a common scale, maps for two columns."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    from fewer import _figures

    if not effects:
        return _figures.new_figure(title="No learner on one or two columns was taken")
    n_columns = min(3, len(effects))
    n_rows = -(-len(effects) // n_columns)
    figure = make_subplots(
        rows=n_rows,
        cols=n_columns,
        subplot_titles=[f"{effect.name}: {shares[effect.learner]:.0%}" for effect in effects],
        vertical_spacing=0.35 / n_rows,
    )
    style = _figures.new_figure(height=120 + 240 * n_rows).layout
    more = f"; {n_left_out} more not shown" if n_left_out else ""
    figure.update_layout(
        template=style.template, height=style.height, paper_bgcolor=style.paper_bgcolor,
        plot_bgcolor=style.plot_bgcolor, font=style.font, showlegend=False, margin={"l": 60, "r": 20, "t": 80, "b": 50},
        title={"text": f"What each term adds, and its share in the fall of the risk{more}", "x": 0},
    )  # fmt: skip
    curves = [effect.effect for effect in effects if effect.effect.ndim == 1]
    span = _padded_range(np.concatenate(curves)) if curves else None
    axis = {"showgrid": False, "zeroline": False, "ticks": "outside", "linecolor": _figures.GREY, "showline": True}
    for place, effect in enumerate(effects):
        row, column = place // n_columns + 1, place % n_columns + 1
        figure.update_xaxes(axis | {"title": {"text": effect.columns[0], "standoff": 4}}, row=row, col=column)
        if effect.effect.ndim == 1:
            few = len(effect.points[0]) <= 12
            trace = go.Scatter(
                x=effect.points[0], y=effect.effect, name=effect.name, mode="markers+lines" if few else "lines",
                line={"color": _figures.BLUE, "width": 2, "shape": "hv" if "tree" in effect.name else "linear"},
            )  # fmt: skip
            figure.update_yaxes(
                axis | {"range": span, "showgrid": True, "gridcolor": _figures.translucent(_figures.GREY, 0.25)},
                row=row,
                col=column,
            )
        else:
            trace = go.Heatmap(
                x=effect.points[0], y=effect.points[1], z=effect.effect.T, colorscale="RdBu_r", zmid=0,
                showscale=len(effects) == 1, hovertemplate="%{x:.4g}, %{y:.4g}: %{z:.4g}<extra></extra>",
            )  # fmt: skip
            figure.update_yaxes(axis | {"title": {"text": effect.columns[1], "standoff": 4}}, row=row, col=column)
        figure.add_trace(trace, row=row, col=column)
    figure.update_annotations(font={"size": 13, "color": _figures.GREY})
    return figure


def _padded_range(values: np.ndarray) -> list[float]:
    low, high = float(values.min()), float(values.max())
    pad = 0.05 * (high - low) or 1.0
    return [low - pad, high + pad]
