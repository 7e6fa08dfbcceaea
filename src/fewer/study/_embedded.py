"""The plan inside a report: written into the page as JSON, and found there again."""

from pathlib import Path

from fewer.study._errors import StudyError

PLAN_ELEMENT = "fewer-plan"
_OPENING = f'<script type="application/json" id="{PLAN_ELEMENT}">'
_CLOSING = "</script>"
# A report carries its figures with it, a plan only words.
_MOST_BYTES = 1 << 28
_LONGEST_PLAN = 1 << 26


def plan_text(path: Path) -> str:
    """JSON of the plan in a file: the file itself, or the plan that a report carries."""
    nothing = StudyError(f"{path} contains no plan; give the report.html or the plan.json of a study.")
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise nothing
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise StudyError(f"The plan {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise nothing from None
    if path.suffix.lower() in (".html", ".htm"):
        _, opening, rest = text.partition(_OPENING)
        text, closing, _ = rest.partition(_CLOSING)
        if not opening or not closing:
            raise StudyError(f"{path} is not a report of a study: it contains no plan.")
    if len(text) > _LONGEST_PLAN:
        raise nothing
    return text
