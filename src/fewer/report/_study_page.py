"""The report of a study: one HTML file that needs nothing else.

Findings go in, a page comes out: figures as data that plotly.js (inlined) draws, tables that sort and filter, the plan
as JSON. Everything that comes from the user's data is escaped; a policy in the page forbids any request, and any script
but the two that belong to it.

Each figure has a caption, a description in words for screen readers, and a legend that wraps like text.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from fewer._wording import cut, printable, signed
from fewer.report._study_figures import (
    NULL_WORDS,
    confusion_figure,
    curve_figure,
    difference_figure,
    frequency_figure,
    made_figure,
    missing_figure,
    null_figure,
    predicted_figure,
    spreads_figure,
)
from fewer.report._study_numbers import (
    duration,
    given_unit,
    metric_of,
    seconds_by_candidate,
    seconds_by_kind,
    shown_numbers,
    unit_of,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from fewer.study import Findings

_LEVELS = {"critical": "Critical.", "warning": "Warning.", "note": "Note."}
_SECTIONS = (
    ("learn", "Predictable?"),
    ("together", "Interactions?"),
    ("help", "Do fewer help?"),
    ("how-few", "How few?"),
    ("which", "Which ones?"),
    ("wrong", "Which rows are wrong?"),
    ("compared", "Compared"),
    ("careful", "Warnings"),
    ("missing", "Missing values"),
    ("plan", "What was done"),
)
_COLUMN_HEADINGS = (
    ("Rank", "number", "Rank by the winning candidate, fitted on all rows"),
    ("Column", "text", "Name of the column; for an encoded category, column = value"),
    ("Chosen", "text", "Whether it is one of the chosen columns"),
    (
        "In folds",
        "number",
        "Share of the folds in which it was chosen, from their training rows; 0% for a chosen column: chosen on all "
        "rows, but in no fold",
    ),
    ("Importance", "number", "Score that the winning selection method gives the column on all rows, in its own unit"),
    ("Effect", "text", "Direction of its association with the target, on all rows"),
    ("Size", "number", "Size of the effect: correlation with the target, or difference of standardised class means"),
    ("Redundant with", "text", "Columns among the best whose absolute correlation with it is 0.9 or more"),
)
_CANDIDATE_HEADINGS = (
    ("Candidate", "text", "Selection method and learner"),
    (
        "Candidate score",
        "number",
        "Mean held-out score with the number of columns that scores best on the other folds, and its confidence "
        "interval; no variation: the same on every fold, so there is no interval",
    ),
    ("Columns", "number", "Number of columns, mean over the folds"),
    (
        "Minus same learner with all",
        "number",
        "Difference to the same learner with all columns on the same folds, with its confidence interval",
    ),
    (
        "Winner minus it",
        "number",
        "Candidate score of the winner minus that of this candidate on the same folds, with its confidence interval; "
        "negative where this candidate scores higher, but needs more columns",
    ),
    ("Time", "number", "Total time of all folds"),
)
_DASHES = {"dash": "6 4", "dot": "2 3"}
_TRIANGLE = "M11 2 L17 12 L5 12 Z"


def study_page(findings: "Findings", seconds: Mapping[str, float] | None = None) -> str:
    """The report of a study as one HTML page that works offline.

    Parameters
    ----------
    findings : fewer.study.Findings
        What was found.
    seconds : mapping of str to float, default=None
        Time that each piece of work took, from the journal.

    Returns
    -------
    page : str
        The whole file.
    """
    from markupsafe import Markup

    from fewer.study import Plan

    spent = seconds_by_candidate(findings, seconds or {})
    pictures = pictures_of(findings)
    plotly_js, plotly_hash = _plotly_js()
    script = _text("study.js")
    stand_ins = any(column.stands_in_for for column in findings.columns)
    return _template().render(
        findings=findings,
        plan=findings.plan,
        nothing=findings.learnable.verdict == "no",
        mood=_mood(findings),
        verdict=_verdict(findings),
        sections=[section for section in _SECTIONS if section[0] != "missing" or findings.missing],
        levels=_LEVELS,
        winner=findings.plan["candidates"][findings.winner]["name"],
        source=_short_source(findings.plan),
        size=_size_of_table(findings),
        metric=metric_of(findings),
        numbers=shown_numbers(findings),
        column_headings=_COLUMN_HEADINGS if stand_ins else _COLUMN_HEADINGS[:-1],
        stand_ins=stand_ins,
        candidate_headings=_CANDIDATE_HEADINGS,
        n_columns=findings.n_columns,
        without_features=[
            each["name"] for each in findings.plan["candidates"] if each["learner"]["name"] == "simplest"
        ],
        spent=spent,
        work=seconds_by_kind(seconds or {}),
        command=_command(findings.plan),
        versions=_versions(),
        figure=lambda name: _figure_html(name, pictures),
        clean=printable,
        said=_said,
        signed=signed,
        between=_between,
        percent=lambda share: f"{100 * share:.4g}%",
        unit=unit_of(findings),
        given=given_unit(findings),
        duration=duration,
        plan_json=Markup(_json_in_html(Plan.from_dict(findings.plan).to_json())),
        css=Markup(_text("study.css")),
        script=Markup(script),
        plotly_js=Markup(plotly_js),
        script_hashes=f"'{plotly_hash}' '{_hash(script)}'",
    )


def study_summary_html(findings: "Findings") -> str:
    """The verdict of a study as a fragment of HTML, for notebooks.

    Parameters
    ----------
    findings : fewer.study.Findings
        What was found.

    Returns
    -------
    html : str
        The three sentences and the first columns.
    """
    from markupsafe import escape

    columns = ", ".join(f"<bdi>{escape(cut(printable(name), 40))}</bdi>" for name in findings.chosen[:10])
    more = f" and {len(findings.chosen) - 10:,} more" if len(findings.chosen) > 10 else ""
    sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in findings.verdict[1:])
    return f"<div><p><strong>{escape(findings.headline)}</strong></p>{sentences}<p>{columns}{more}</p></div>"


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_text("study.html.j2"))


@cache
def _text(name: str) -> str:
    return (files("fewer.report") / "templates" / name).read_text(encoding="utf-8")


@cache
def _plotly_js() -> tuple[str, str]:
    """plotly.js with the kinds of traces that the pages draw, at a quarter of the size of the whole."""
    script = _text("plotly-cartesian.min.js")
    return script, _hash(script)


def _hash(script: str) -> str:
    """What the policy of the page knows a script by. Browsers read every line break as a line feed before they look."""
    text = script.replace("\r\n", "\n").replace("\r", "\n")
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _json_in_html(data: Any) -> str:
    """JSON that no browser can take for markup, whatever the data holds."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _verdict(findings: "Findings") -> list[tuple[str, str]]:
    """The sentences of the verdict, each with the section that says how its figures were obtained."""
    nothing = findings.learnable.verdict == "no"
    sections = ("learn", "learn", "learn") if nothing else ("help", "which", "compared")
    if _mood(findings) == "critical":
        sections = ("careful", "careful", "learn" if nothing else "help")
    return list(zip(findings.verdict, sections, strict=True))


def _mood(findings: "Findings") -> str:
    """How the first line is shown: as a critical warning, as a claim, as nothing found, or plainly."""
    if any(caution.headline for caution in findings.cautions):
        return "critical"
    if findings.learnable.verdict == "no":
        return "nothing"
    return "gain" if findings.claims_benefit else ""


def _short_source(plan: Mapping[str, Any]) -> str:
    """What the table is called, without the folders that it lies in."""
    path = plan["reading"].get("table") or ""
    return plan["source"].replace(path, PurePath(path).name) if PurePath(path).is_absolute() else plan["source"]


def _size_of_table(findings: "Findings") -> str:
    """Rows and columns that were learnt from, and of how many in the table."""
    left_out = {caution.topic: caution.evidence for caution in findings.cautions}
    rows, columns = findings.plan["n_rows"], findings.plan["n_columns"]
    more_rows = sum(n for _, n in left_out.get("classes left out", {}).get("classes", []))
    more_columns = len(left_out.get("left out", {}).get("columns", []))
    return f"{_of(rows, more_rows)} rows, {_of(columns, more_columns)} columns"


def _of(used: int, left_out: int) -> str:
    return f"{used:,} of {used + left_out:,}" if left_out else f"{used:,}"


def _said(sentence: str) -> str:
    """A sentence of the findings; a p-value is not broken over lines."""
    return printable(sentence).replace("(p = ", "(p\u00a0=\u00a0").replace("(p <= ", "(p\u00a0<=\u00a0")


def _between(interval: tuple[float, float], written: Callable[[float], str]) -> str:
    """The ends of an interval in a table."""
    low, high = interval
    return f"{written(low)} to {written(high)}" if high - low > 1e-12 else "no variation"


def _command(plan: Mapping[str, Any]) -> str:
    """What to type to run the study again. A table that came from memory has to be named."""
    return f"fewer study {'' if plan['reading'].get('table') else 'TABLE '}--plan report.html"


@dataclass(frozen=True)
class Picture:
    """A figure, how to read it, and what it shows."""

    figure: "go.Figure"
    caption: str
    in_words: str


def _figure_html(name: str, pictures: Mapping[str, Picture]) -> Any:
    """A figure: its data, the place where it is drawn, and its caption."""
    from markupsafe import Markup, escape

    if name not in pictures:
        return Markup("")
    picture = pictures[name]
    legend = legend_html(picture.figure)
    data = _json_in_html(picture.figure.update_layout(showlegend=False, template="none").to_json())
    return Markup(
        f'<figure>{legend}<div class="plot" id="plot-{name}" data-figure="data-{name}" role="img" '
        f'aria-label="{escape(picture.in_words)}" style="height: {picture.figure.layout.height}px"></div>'
        f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
        f'<script type="application/json" id="data-{name}">{data}</script>'
    )


def _versions() -> dict[str, str]:
    import numpy
    import sklearn

    import fewer

    return {"fewer": fewer.__version__, "scikit-learn": sklearn.__version__, "numpy": numpy.__version__}


def legend_html(figure: "go.Figure") -> Any:
    """One entry for each named trace, in the order of their ranks; nothing if the figure has no legend."""
    from markupsafe import Markup

    if figure.layout.showlegend is not True:
        return Markup("")
    named = [trace for trace in figure.data if trace.showlegend is not False]
    named.sort(key=lambda trace: trace.legendrank or 1000)
    # Names have been made harmless for plotly, which reads them as markup: the same that HTML needs.
    entries = "".join(f"<li>{_swatch(trace)}{trace.name}</li>" for trace in named)
    return Markup(f'<ul class="legend" aria-hidden="true">{entries}</ul>')


def _swatch(trace: Any) -> str:
    return f'<svg width="22" height="14" viewBox="0 0 22 14">{_mark(trace)}</svg>'


def _mark(trace: Any) -> str:
    """The look of a trace, in a box of 22 by 14."""
    if trace.type == "bar":
        return f'<rect x="5" y="1" width="12" height="12" fill="{trace.marker.color}"/>'
    if trace.fill:
        return f'<rect y="2" width="22" height="10" fill="{trace.fillcolor}"/>'
    if trace.mode == "markers":
        colour = trace.marker.color
        if trace.marker.symbol == "triangle-up":
            return f'<path d="{_TRIANGLE}" fill="{colour}"/>'
        inside = "none" if trace.marker.symbol == "circle-open" else colour
        return f'<circle cx="11" cy="7" r="5" fill="{inside}" stroke="{colour}" stroke-width="2"/>'
    dash = f' stroke-dasharray="{_DASHES[trace.line.dash]}"' if trace.line.dash in _DASHES else ""
    width = min(trace.line.width, 4)
    return f'<path d="M0 7 H22" stroke="{trace.line.color}" stroke-width="{width}"{dash}/>'


def pictures_of(findings: "Findings") -> dict[str, Picture]:
    """Every picture that there is something to draw for, by name; "first" is the one beside the verdict."""
    found = {
        "curve": Picture(
            curve_figure(findings, with_others=True),
            "Fixed-size scores on held-out rows over the number of columns, on a logarithmic axis: each candidate in "
            "grey, the best of all candidates at each number in blue. Triangles at the bottom: the numbers "
            "that the folds chose.",
            _curve_in_words(findings),
        ),
        "difference": Picture(
            difference_figure(findings),
            "In red, the cross-indexed score of the whole selection procedure minus that of the best learner with all "
            "columns; in blue, the score of each candidate minus that of the same learner with all columns; with "
            "confidence intervals. Left of the dotted line, fewer columns score worse. A point without a line did not "
            "vary over the folds.",
            _difference_in_words(findings),
        ),
        "frequency": Picture(
            frequency_figure(findings),
            f"Share of the folds in which the first columns were "
            f"{'chosen' if findings.n_made is None else 'among the first ten'}. The longer the bar, the less the "
            "choice depends on which rows are held out.",
            findings.which.sentence,
        ),
    }
    for null, words in NULL_WORDS.items():
        if findings.nulls[null]["scores"]:
            caption = f"Scores of the reference procedure on tables with {words}, and its score on this table."
            found[null] = Picture(null_figure(findings, null), caption, _null_in_words(findings, null))
    if findings.made:
        caption = (
            "What the new columns hold: their correlations with the columns that have the largest weights in them. "
            "Blue is positive, red is negative."
        )
        found["made"] = Picture(made_figure(findings), caption, findings.which.sentence)
    if "confusion" in findings.wrong.evidence:
        caption = "Held-out rows by true and predicted class; each row of the figure adds up to the size of a class."
        found["wrong"] = Picture(confusion_figure(findings), caption, findings.wrong.sentence)
    elif "predicted" in findings.wrong.evidence:
        caption = "Predicted over true values of held-out rows; on the dotted line, predictions are right."
        found["wrong"] = Picture(predicted_figure(findings), caption, findings.wrong.sentence)
    if findings.spreads:
        caption = (
            "The first chosen columns by class (at most six), or by thirds of the target: median and interquartile "
            "range, in standard deviations from the mean."
        )
        found["spreads"] = Picture(spreads_figure(findings), caption, findings.which.sentence)
    if findings.missing:
        caption = "Share of missing values in each column, the largest first."
        found["missing"] = Picture(missing_figure(findings), caption, findings.missing["sentence"])
    if findings.learnable.verdict == "no":
        found["first"] = replace(found["labels"], figure=null_figure(findings, "labels", height=350))
    else:
        caption = (
            "Fixed-size scores: the best mean score on held-out rows of all candidates with this number of columns on "
            "every fold, on a logarithmic axis. The cross-indexed scores in the text may be lower: they correct for "
            "choosing the best of many."
        )
        found["first"] = Picture(curve_figure(findings), caption, _curve_in_words(findings))
    return found


def _curve_in_words(findings: "Findings") -> str:
    curve, chosen = findings.curve["frontier"], findings.curve["chosen"]
    at = dict(zip(curve["sizes"], curve["mean"], strict=True))
    sizes = sorted({curve["sizes"][0], chosen["size"], curve["sizes"][-1]})
    reached = ", ".join(f"{at[size]:.3f} with {size:,} column{'s' * (size > 1)}" for size in sizes)
    return (
        f"The best candidate reaches {metric_of(findings)} {reached}. The best learner with all columns reaches "
        f"{findings.fewer_help.evidence['with_all']:.3f}, the baseline {findings.curve['simplest']:.3f}. The chosen "
        f"number is {chosen['size']:,}."
    )


def _difference_in_words(findings: "Findings") -> str:
    intervals = [each.over_same_learner_interval for each in findings.rivals if each.over_same_learner_interval]
    sure = sum(low > 0 for low, _ in intervals)
    ways = f"{len(intervals)} combinations of selection method and learner"
    return f"{findings.fewer_help.sentence} Of {ways}, {sure} are better than the same learner with all columns."


def _null_in_words(findings: "Findings", null: str) -> str:
    evidence = findings.nulls[null]
    as_good = sum(score >= evidence["observed"] for score in evidence["scores"])
    return (
        f"{as_good} of {len(evidence['scores'])} tables with {NULL_WORDS[null]} did as well as this one, for which the "
        f"reference procedure reached {metric_of(findings)} {evidence['observed']:.3f}; they reached "
        f"{min(evidence['scores']):.3f} to {max(evidence['scores']):.3f}."
    )
