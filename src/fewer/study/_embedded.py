"""The plan inside a report: written into the page as JSON, and found there again."""

import re
from pathlib import Path

from fewer.study._errors import StudyError

PLAN_ELEMENT = "fewer-plan"
_ELEMENT = re.compile(rf'<script type="application/json" id="{PLAN_ELEMENT}">(.*?)</script>', re.DOTALL)


def plan_text(path: Path) -> str:
    """JSON of the plan in a file: the file itself, or the plan that a report carries."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise StudyError(f"The plan {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise StudyError(f"{path} holds no plan; give the report.html or the plan.json of a study.") from None
    if path.suffix.lower() not in (".html", ".htm"):
        return text
    found = _ELEMENT.search(text)
    if found is None:
        raise StudyError(f"{path} is not a report of a study: no plan is in it.")
    return found.group(1)
