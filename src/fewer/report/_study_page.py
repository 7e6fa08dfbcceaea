"""The report of a study: one HTML file that needs nothing else.

Findings go in, a page comes out: figures as data that plotly.js (inlined) draws, tables that sort and filter, the plan
as JSON. Everything that comes from the user's data is escaped; a policy in the page forbids any request.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fewer.report import _study_figures as figures
from fewer.report._study_time import seconds_by_candidate

if TYPE_CHECKING:
    from fewer.study import Answer, Findings

_LEVELS = {"grave": "Grave.", "mind": "Mind.", "note": "Note."}
_SECTIONS = (
    ("learn", "Anything to learn?"),
    ("together", "Working together?"),
    ("help", "Do fewer help?"),
    ("how-few", "How few?"),
    ("which", "Which ones?"),
    ("compared", "Compared"),
    ("careful", "Careful"),
    ("plan", "What was done"),
)
_COLUMN_HEADINGS = (
    ("Rank", "number", "Place in the order of the winner, fitted on all rows"),
    ("Column", "text", "Name of the column; of a category, column_value"),
    ("On the list", "text", "Whether it is among the chosen"),
    ("In folds", "number", "Share of the folds in which it was chosen without the held-out rows"),
    ("Score", "number", "What the winner's selector gave it on all rows"),
    ("Effect", "text", "Which way it goes with the target"),
    ("Size", "number", "Correlation with the target, or difference of standardised class means"),
    ("Stands in for", "text", "Columns that say nearly the same (correlation of 0.9 or more)"),
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
    from plotly.offline import get_plotlyjs

    spent = seconds_by_candidate(findings, seconds or {})
    drawn = _drawn(findings, spent)
    return _template().render(
        findings=findings,
        plan=findings.plan,
        mood="gain" if findings.claims_benefit else "nothing" if findings.learnable.verdict == "no" else "",
        sections=_SECTIONS,
        levels=_LEVELS,
        winner=findings.plan["candidates"][findings.winner]["name"],
        column_headings=_COLUMN_HEADINGS,
        candidate_headings=_CANDIDATE_HEADINGS,
        spent=spent,
        versions=_versions(),
        figure=lambda name: _figure_html(name, drawn),
        figures_of=_figures_of,
        plan_json=Markup(_json_in_html(findings.plan)),
        css=Markup(_text("study.css")),
        script=Markup(_text("study.js")),
        plotly_js=Markup(get_plotlyjs()),
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

    columns = ", ".join(str(escape(name)) for name in findings.chosen[:10])
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


def _json_in_html(data: Any) -> str:
    """JSON that no browser can take for markup, whatever the data holds."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _drawn(findings: "Findings", spent: Mapping[str, float]) -> dict[str, tuple[Any, str]]:
    """All figures that there is something to draw for, each with what it shows in words."""
    curve = (
        figures.curve_figure(findings),
        f"Held-out score over the number of columns, for {findings.curve['winner']['name']}; thin grey lines are the "
        "other ways to reduce.",
    )
    found = {
        "curve": curve,
        "benefit": (
            figures.benefit_figure(findings),
            "What each way to reduce gains over all features, with intervals; in red the choice among all of them.",
        ),
        "frequency": (
            figures.frequency_figure(findings),
            "How often the first columns were chosen over the folds; blue ones are on the list.",
        ),
        "comparison": (
            figures.comparison_figure(findings),
            "Mean ranks over the folds of one repeat, 1 being best; bars join candidates that do not differ.",
        ),
    }
    for null, words in (("labels", "shuffled labels"), ("features_within_class", "columns shuffled within classes")):
        if findings.nulls[null]["scores"]:
            picture = figures.null_figure(findings, null)
            found[null] = (picture, f"Scores on tables with {words}, and that of the real table.")
    if spent:
        found["time"] = (figures.time_figure(findings, spent), "Time of each candidate over all folds.")
    nothing = findings.learnable.verdict == "no"
    found["first"] = found["labels"] if nothing else curve
    return found


def _figure_html(name: str, drawn: Mapping[str, tuple[Any, str]]) -> Any:
    """A figure: its data, the place where it is drawn, and its caption."""
    from markupsafe import Markup, escape

    if name not in drawn:
        return Markup("")
    figure, caption = drawn[name]
    data = _json_in_html(figure.to_json())
    height = figure.layout.height or 380
    return Markup(
        f'<figure><div class="plot" id="plot-{name}" data-figure="data-{name}" role="img" '
        f'aria-label="{escape(caption)}" style="height: '
        f'{height}px"></div><figcaption>{escape(caption)}</figcaption></figure><script type="application/json" '
        f'id="data-{name}">{data}</script>'
    )


def _figures_of(answer: "Answer") -> str:
    """The number of an answer, with its interval."""
    number = f"{answer.number:.4g}" if answer.number is not None else ""
    if answer.interval is None:
        return f"p = {number}" if answer.question.startswith(("Is there", "Do features")) else number
    low, high = answer.interval
    return f"{number} ({low:.4g} to {high:.4g})"


def _versions() -> dict[str, str]:
    import numpy
    import sklearn

    import fewer

    return {"fewer": fewer.__version__, "scikit-learn": sklearn.__version__, "numpy": numpy.__version__}
