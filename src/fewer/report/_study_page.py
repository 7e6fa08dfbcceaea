"""The report of a study: one HTML file that needs nothing else.

Findings go in, a page comes out: figures as data that plotly.js (inlined) draws, tables that sort and filter, the plan
as JSON. Everything that comes from the user's data is escaped; a policy in the page forbids any request, and any script
but the two that belong to it.
"""

import json
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from fewer.report._shown_names import printable, shortened
from fewer.report._study_legend import legend_html
from fewer.report._study_numbers import given_unit, metric_of, shown_numbers, signed, unit_of
from fewer.report._study_pictures import Picture, pictures_of
from fewer.report._study_time import duration, seconds_by_candidate, seconds_by_kind

if TYPE_CHECKING:
    from fewer.study import Findings

_LEVELS = {"critical": "Critical.", "warning": "Warning.", "note": "Note."}
_SECTIONS = (
    ("learn", "Anything to learn?"),
    ("together", "Together?"),
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
    ("Rank", "number", "Place in the order of the winner, fitted on all rows"),
    ("Column", "text", "Name of the column; of a category, column = value"),
    ("Chosen", "text", "Whether it is among the chosen columns"),
    ("In folds", "number", "Share of the folds that chose it, without their held-out rows"),
    ("Score", "number", "What the winner's selector gave it on all rows"),
    ("Effect", "text", "Which way it goes with the target, on all rows"),
    ("Size", "number", "Size of the effect: correlation with the target, or difference of standardised class means"),
    ("Redundant with", "text", "Columns among the best that it is correlated with by 0.9 or more, up to the sign"),
)
_CANDIDATE_HEADINGS = (
    ("Candidate", "text", "How columns are chosen, and what learns from them"),
    ("Score", "number", "Mean over held-out folds, at the size that the other folds chose, with its interval"),
    ("Columns", "number", "Mean of the sizes that the folds chose"),
    ("Benefit", "number", "Over all features with the same learner, on the same folds, with its interval"),
    ("Behind", "number", "How far behind the winner on the same folds, with its interval"),
    ("Time", "number", "All folds together"),
)


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

    columns = ", ".join(f"<bdi>{escape(shortened(printable(name), 40))}</bdi>" for name in findings.chosen[:10])
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
    from plotly.offline import get_plotlyjs

    script = get_plotlyjs()
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
    return printable(sentence).replace("(p = ", "(p\u00a0=\u00a0")


def _command(plan: Mapping[str, Any]) -> str:
    """What to type to run the study again. A table that came from memory has to be named."""
    return f"fewer study {'' if plan['reading'].get('table') else 'TABLE '}--plan report.html"


def _figure_html(name: str, pictures: Mapping[str, Picture]) -> Any:
    """A figure: its data, the place where it is drawn, and its caption."""
    from markupsafe import Markup, escape

    if name not in pictures:
        return Markup("")
    picture = pictures[name]
    legend = legend_html(picture.figure)
    data = _json_in_html(picture.figure.update_layout(showlegend=False).to_json())
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
