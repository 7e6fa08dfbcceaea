"""The report of a study: one HTML file that needs nothing else.

Findings go in, a page comes out: figures as data that plotly.js (inlined) draws, tables that sort and filter, the plan
as JSON. Everything that comes from the user's data is escaped; a policy in the page forbids any request, and any script
but the three that belong to it.

Each figure has a caption, a description in words for screen readers, and a legend that wraps like text.
"""

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from fewer._options import THEMES
from fewer._wording import printable, signed
from fewer.report._panel import Panel, Picture, panel_of
from fewer.report._study_figures import curve_figure
from fewer.report._study_numbers import duration, metric_of, seconds_by_candidate, seconds_by_kind, unit_of
from fewer.report._used import bibtex, versions
from fewer.report.panels._nulls import null_pictures
from fewer.report.panels.how_few import curve_in_words

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from fewer.study import Findings, Plan

_LEVELS = {"critical": "Critical.", "warning": "Warning.", "note": "Note."}
_DASHES = {"dash": "6 4", "dot": "2 3", "longdash": "9 4", "dashdot": "6 3 2 3", "longdashdot": "9 3 2 3"}
_SYMBOLS = {
    "triangle-up": "M11 2 L17 12 L5 12 Z",
    "diamond": "M11 1 L17 7 L11 13 L5 7 Z",
    "square": "M6 2 H16 V12 H6 Z",
    "x": "M6 4 L8 2 L11 5 L14 2 L16 4 L13 7 L16 10 L14 12 L11 9 L8 12 L6 10 L9 7 Z",
}


def study_page(
    findings: "Findings", seconds: Mapping[str, float] | None = None, code: str | None = None, theme: str = "screen"
) -> str:
    """The report of a study as one HTML page that works offline.

    Parameters
    ----------
    findings : fewer.study.Findings
        What was found.
    seconds : mapping of str to float, default=None
        Time that each piece of work took, from the journal.
    code : str, default=None
        Python code that fits the winner again, from ``winner_code``.
    theme : {"screen", "print"}, default="screen"
        In colours, light or dark as the browser is; or in black and white.

    Returns
    -------
    page : str
        The whole file.
    """
    from markupsafe import Markup

    if theme not in THEMES:
        raise ValueError(f"theme must be one of {', '.join(THEMES)}, not {theme!r}.")
    spent = seconds_by_candidate(seconds or {})
    plotly, unpack, script = _plotly(), _text("unpack.js"), _text("study.js")
    panels = {name: panel_of(name, answer.question) for name, answer in findings.shown.items()}
    drawn = {name: panel.pictures(findings) for name, panel in panels.items()}
    pictures = {name: picture for each in drawn.values() for name, picture in each.items()}
    pictures["first"] = _first_picture(findings)
    if theme == "print":
        from fewer.report._black_and_white import in_black_and_white, without_colours

        pictures = {
            name: replace(picture, figure=in_black_and_white(picture.figure), caption=without_colours(picture.caption))
            for name, picture in pictures.items()
        }
    shared: dict[str, Any] = {
        "findings": findings,
        "plan": findings.plan,
        "levels": _LEVELS,
        "metric": metric_of(findings),
        "n_columns": findings.n_columns,
        "spent": spent,
        "figure": lambda name: _figure_html(name, pictures),
        "clean": printable,
        "said": _said,
        "signed": signed,
        "between": _between,
        "percent": lambda share: f"{100 * share:.4g}%",
        "unit": unit_of(findings),
        "duration": duration,
    }
    sections = [_section(findings, name, panel, shared | {"pictures": drawn[name]}) for name, panel in panels.items()]
    return (
        _environment()
        .get_template("study.html.j2")
        .render(
            **shared,
            theme=theme,
            nothing=findings.finds_nothing,
            mood=findings.moods[0],
            verdict=zip(findings.verdict, (panels[name].anchor for name in findings.verdict_of), strict=True),
            sections=[*sections, {"anchor": "plan", "title": "What was done", "answer": None}],
            source=_short_source(findings.plan),
            size=_size_of_table(findings),
            work=seconds_by_kind(seconds or {}),
            command=_command(findings.plan),
            versions=versions(),
            bibtex=bibtex(findings.plan),
            code=code,
            plan_json=Markup(_json_in_html(findings.plan.to_json())),
            css=Markup(_text("study.css")),
            script=Markup(script),
            plotly=plotly,
            unpack=Markup(unpack),
            script_hashes=" ".join(f"'{each}'" for each in (plotly.hash, _hash(unpack), _hash(script))),
        )
    )


def _section(findings: "Findings", name: str, panel: Panel, shared: Mapping[str, Any]) -> dict[str, Any]:
    """What the template of the page needs of a panel."""
    from markupsafe import Markup

    answer = findings.answers[name]
    body = _template(panel.body).render(**shared, **panel.values(findings))
    return {
        **vars(panel),
        "heading": panel.heading or answer.question,
        "answer": answer,
        "number": panel.number(findings),
        "body": Markup(re.sub(r">\s+<", ">\n<", body)),  # indents are a tenth of a long table
    }


def _first_picture(findings: "Findings") -> Picture:
    """The picture beside the verdict."""
    if findings.finds_nothing:
        return null_pictures(findings, "labels", height=350)["labels"]
    caption = (
        "Fixed-size scores: the best mean score on held-out rows of all candidates with this number of columns on "
        "every fold, on a logarithmic axis. The cross-indexed scores in the text may be lower: they correct for "
        "choosing the best of many."
    )
    return Picture(curve_figure(findings), caption, curve_in_words(findings))


def study_summary_html(findings: "Findings") -> str:
    """The verdict of a study as a fragment of HTML, for notebooks.

    Parameters
    ----------
    findings : fewer.study.Findings
        What was found.

    Returns
    -------
    html : str
        The three sentences, the first columns and the curve.
    """
    return findings._repr_html_()


@cache
def _environment() -> Any:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_text),
    )


@cache
def _template(source: str) -> Any:
    return _environment().from_string(source)


@cache
def _text(name: str) -> str:
    return (files("fewer.report") / "templates" / name).read_text(encoding="utf-8")


class PackedScript(NamedTuple):
    """A script that the page unpacks: deflated, in base64; its size, what the policy knows it by, and its licence."""

    packed: str
    size: int
    hash: str
    licence: str


@cache
def _plotly() -> PackedScript:
    """plotly.js with the kinds of traces that the pages draw: a quarter of the whole, and packed half of that."""
    packed = (files("fewer.report") / "templates" / "plotly-cartesian.min.js.gz").read_bytes()
    data = gzip.decompress(packed)
    script, deflated = data.decode(), packed[10:-8]  # without the header and the checksum of gzip
    head = script[: script.index("*/")].replace("*", " ").replace("/", " ", 1)
    return PackedScript(
        b64encode(deflated).decode(), len(data), _hash(script), " ".join(head.replace("--", "-").split())
    )


def _hash(script: str) -> str:
    """What the policy of the page knows a script by. Browsers read every line break as a line feed before they look."""
    text = script.replace("\r\n", "\n").replace("\r", "\n")
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _json_in_html(data: Any) -> str:
    """JSON that no browser can take for markup, whatever the data holds."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _short_source(plan: "Plan") -> str:
    """What the table is called, without the folders that it lies in."""
    path = plan.reading.get("table") or ""
    return plan.source.replace(path, PurePath(path).name) if PurePath(path).is_absolute() else plan.source


def _size_of_table(findings: "Findings") -> str:
    """Rows and columns that were learnt from, and of how many in the table."""
    found = {caution.topic: caution.evidence for caution in findings.cautions}
    more_rows = sum(n for _, n in found.get("classes left out", {}).get("classes", []))
    more_columns = sum(bool(column.left_out) for column in findings.table)
    return f"{_of(findings.plan.n_rows, more_rows)} rows, {_of(findings.plan.n_columns, more_columns)} columns"


def _of(used: int, left_out: int) -> str:
    return f"{used:,} of {used + left_out:,}" if left_out else f"{used:,}"


def _said(sentence: str) -> Any:
    """A sentence of the findings; a p-value and the name of an option are not broken over lines."""
    from markupsafe import Markup, escape

    text = printable(sentence).replace("(p = ", "(p\u00a0=\u00a0").replace("(p <= ", "(p\u00a0<=\u00a0")
    return Markup(re.sub(r"(?<!\S)--[a-z][a-z-]*", r'<span class="option">\g<0></span>', str(escape(text))))


def _between(interval: tuple[float, float], written: Callable[[float], str]) -> str:
    """The ends of an interval in a table."""
    low, high = interval
    return f"{written(low)} to {written(high)}" if high - low > 1e-12 else "no variation"


def _command(plan: "Plan") -> str:
    """What to type to run the study again. A table that came from memory has to be named."""
    return f"fewer study {'' if plan.reading.get('table') else 'TABLE '}--plan report.html"


def _figure_html(name: str, pictures: Mapping[str, Picture]) -> Any:
    """A figure: its data, the place where it is drawn, and its caption."""
    from markupsafe import Markup, escape

    if name not in pictures:
        return Markup("")
    picture = pictures[name]
    legend = legend_html(picture.figure)
    # The legend is HTML, and the title a heading.
    plain = picture.figure.update_layout(showlegend=False, template="none", legend=None, title=None)
    data = _json_in_html(plain.to_json())
    return Markup(
        f'<figure>{legend}<div class="plot" id="plot-{name}" data-figure="data-{name}" role="img" '
        f'aria-label="{escape(picture.in_words)}" style="height: {picture.figure.layout.height}px"></div>'
        f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
        f'<script type="application/json" id="data-{name}">{data}</script>'
    )


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
        if trace.marker.symbol in _SYMBOLS:
            return f'<path d="{_SYMBOLS[trace.marker.symbol]}" fill="{colour}"/>'
        inside = "none" if trace.marker.symbol == "circle-open" else colour
        return f'<circle cx="11" cy="7" r="5" fill="{inside}" stroke="{colour}" stroke-width="2"/>'
    dash = f' stroke-dasharray="{_DASHES[trace.line.dash]}"' if trace.line.dash in _DASHES else ""
    width = min(trace.line.width, 4)
    return f'<path d="M0 7 H22" stroke="{trace.line.color}" stroke-width="{width}"{dash}/>'
