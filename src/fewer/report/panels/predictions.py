"""Panel of held-out predictions: every metric, ROC and precision-recall curves, calibration, residuals."""

from typing import TYPE_CHECKING, Any

import numpy as np

from fewer import _figures
from fewer._wording import printable
from fewer.report._panel import Panel, Picture
from fewer.report._study_numbers import metric_of, number_of, plotly_text

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from fewer.study import Findings

_AXES = {"roc": ("false positive rate", "true positive rate"), "precision_recall": ("recall", "precision")}
_AREAS = {"roc": "area", "precision_recall": "average precision"}
_CAPTIONS = {
    "roc": "ROC curve on held-out rows, mean over the folds{}; the dotted line is the baseline.",
    "precision_recall": "Precision over recall on held-out rows, mean over the folds{}.",
}


def _pictures(findings: "Findings") -> dict[str, Picture]:
    evidence = findings.predictions.evidence
    found = {}
    if evidence.get("curves"):
        two = findings.plan.task == "binary"
        more = (
            f", for class {printable(evidence['curves'][0]['label'])}, with its interval"
            if two
            else ", each class against the rest"
        )
        for name, caption in _CAPTIONS.items():
            words = "; ".join(
                f"{each['procedure']}, class {printable(each['label'])}: {_AREAS[name]} {each[name]['area']:.3f}"
                for each in evidence["curves"]
            )
            found[name] = Picture(curves_figure(evidence["curves"], name), caption.format(more), words)
    raw, calibrated = evidence.get("calibration"), evidence.get("calibrated")
    if raw or calibrated:
        both = " Triangles are the probabilities of the learner before calibration." if raw and calibrated else ""
        caption = (
            f"Share of held-out rows that belong to a class over its {'calibrated' if calibrated else 'predicted'} "
            "probability, in tenths of the predictions, with confidence intervals. On the dotted line, probabilities "
            f"are right.{both}"
        )
        words = f"Probabilities are off by {(calibrated or raw)['error']:.3f} on average."
        found["calibration"] = Picture(
            calibration_figure(calibrated or raw, raw if calibrated else None), caption, words
        )
    if "residuals" in evidence:
        caption = (
            "Residuals (true minus predicted value) of held-out rows over the prediction, first repeat. A bend or a "
            "funnel shows what the model does not describe."
        )
        found["residuals"] = Picture(residuals_figure(evidence["residuals"]), caption, findings.predictions.sentence)
    return found


def curves_figure(curves: list[dict[str, Any]], kind: str) -> "go.Figure":
    """ROC or precision-recall curves; a band where there is one class."""
    figure = _figures.new_figure(x=_AXES[kind][0], y=_AXES[kind][1], height=330)
    places = np.linspace(0, 1, len(curves[0][kind]["mean"]))
    one_class = len({each["label"] for each in curves}) == 1
    if kind == "roc":
        figure.add_trace(_figures.line("baseline", [0, 1], [0, 1], _figures.GREY, line_dash="dot"))
    elif one_class:
        share = curves[0]["share"]
        figure.add_trace(_figures.line("share of the class", [0, 1], [share] * 2, _figures.GREY, line_dash="dot"))
    for number, each in enumerate(curves):
        colour = (
            _figures.PALETTE[number % len(_figures.PALETTE)]
            if not one_class
            else (_figures.BLUE, _figures.AMBER)[number]
        )
        label = each["procedure"] if one_class else plotly_text(each["label"], 18)
        curve = each[kind]
        if one_class and number == 0:
            band = _figures.band("interval", places, np.array(curve["low"]), np.array(curve["high"]), colour)
            figure.add_trace(band)
        x, y = ([0, *places], [0, *curve["mean"]]) if kind == "roc" else (places, curve["mean"])
        line = _figures.line(f"{label}: {_AREAS[kind]} {curve['area']:.3f}", x, y, colour)
        figure.add_trace(line.update(hovertemplate=f"{label}: %{{y:.3f}} at %{{x:.2f}}<extra></extra>"))
    figure.update_xaxes(range=[-0.01, 1.01])
    figure.update_yaxes(range=[-0.01, 1.03])
    figure.update_layout(showlegend=True, margin={"t": 10, "b": 50, "r": 20})
    return figure


def calibration_figure(found: dict[str, Any], before: dict[str, Any] | None = None) -> "go.Figure":
    """Observed shares over predicted probabilities, and those before calibration."""
    import plotly.graph_objects as go

    figure = _figures.new_figure(x="predicted probability", y="share of the rows", height=330)
    figure.add_trace(_figures.line("right", [0, 1], [0, 1], _figures.GREY, line_dash="dot"))
    observed = np.array(found["observed"])
    if before:
        figure.add_trace(
            go.Scatter(
                x=before["predicted"],
                y=before["observed"],
                mode="markers",
                name="before calibration",
                marker={"color": _figures.AMBER, "size": 7, "symbol": "triangle-up"},
                hovertemplate="before calibration: predicted %{x:.2f}, observed %{y:.2f}<extra></extra>",
            )
        )
    figure.add_trace(
        go.Scatter(
            x=found["predicted"],
            y=found["observed"],
            mode="markers",
            name="held-out rows",
            marker={"color": _figures.BLUE, "size": 8},
            error_y={
                "type": "data",
                "symmetric": False,
                "array": np.round(np.array(found["high"]) - observed, 4).tolist(),
                "arrayminus": np.round(observed - np.array(found["low"]), 4).tolist(),
                "color": _figures.BLUE,
                "thickness": 1.5,
                "width": 0,
            },
            hovertemplate="predicted %{x:.2f}, observed %{y:.2f}<extra></extra>",
        )
    )
    figure.update_xaxes(range=[-0.02, 1.02])
    figure.update_yaxes(range=[-0.02, 1.03])
    figure.update_layout(margin={"t": 10, "b": 50, "r": 20}, showlegend=False)
    return figure


def residuals_figure(found: dict[str, list[float]]) -> "go.Figure":
    """Residuals over predictions."""
    import plotly.graph_objects as go

    figure = _figures.new_figure(x="predicted value", y="true minus predicted value", height=330)
    figure.add_trace(
        go.Scatter(
            x=found["predicted"],
            y=found["residuals"],
            mode="markers",
            name="held-out rows",
            marker={"color": _figures.BLUE, "size": 6, "opacity": 0.6},
            hovertemplate="predicted %{x:.4g}, residual %{y:.4g}<extra></extra>",
        )
    )
    figure.add_hline(y=0, line={"color": _figures.GREY, "dash": "dot"})
    figure.update_layout(margin={"t": 10, "b": 50, "r": 20}, showlegend=False)
    return figure


PANEL = Panel(
    "predictions",
    "How good?",
    lambda findings: number_of(
        findings, findings.predictions, f"Held-out {metric_of(findings)}", lambda value: f"{value:.3f}"
    ),
    _pictures,
    '{% include "panel_predictions.html.j2" %}',
)
