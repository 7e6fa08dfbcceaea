"""Plans in files: the JSON of a plan or inside a report, and checks of its entries before the plan is run."""

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fewer.study._errors import StudyError
from fewer.study.plan._recipes import is_plain

_LARGEST = 2**63
_COSTS = re.compile(r"\s*F[NP]\s*=[^,=]+,\s*F[NP]\s*=[^,=]+", re.IGNORECASE)
_Rule = tuple[Callable[[Any], bool], str]

PLAN_ELEMENT = "fewer-plan"
_OPENING = f'<script type="application/json" id="{PLAN_ELEMENT}">'
_CLOSING = "</script>"
# A report carries its figures with it, a plan only words.
_MOST_BYTES = 1 << 28
_LONGEST_PLAN = 1 << 26


def check_entries(data: Mapping[str, Any], splittings: tuple[str, ...]) -> None:
    """Raise for the first entry that is of another type than a plan has there, with what it should be."""
    rules: dict[str, _Rule] = {
        **dict.fromkeys(("source", "fingerprint", "target", "scoring", "preset"), (_is_text, "a string")),
        **dict.fromkeys(
            ("n_rows", "n_columns", "n_folds", "n_repeats", "n_permutations", "seed"),
            (_is_count, "a non-negative integer"),
        ),
        "task": _one_of("binary", "multiclass", "regression"),
        "splitting": _one_of(*splittings),
        "impute": (_is_text, "the name of an imputer"),
        **dict.fromkeys(("confidence", "margin", "racing"), (_is_number, "a number")),
        "cost": (
            lambda value: value is None or (_is_text(value) and bool(_COSTS.fullmatch(value))),
            "costs such as FN=5,FP=1, or null",
        ),
        "parsimony": (lambda value: value == "one_se" or _is_number(value), "a number or one_se"),
        "candidates": (lambda value: isinstance(value, list) and bool(value), "a list of candidates"),
        "questions": (
            lambda value: isinstance(value, list) and bool(value) and all(map(_is_text, value)),
            "a list of questions",
        ),
        "more_scoring": (lambda value: isinstance(value, list) and all(map(_is_text, value)), "a list of scores"),
        "weights": (lambda value: value is None or _is_text(value), "the name of a column, or null"),
        "always": (lambda value: isinstance(value, list) and all(map(_is_text, value)), "a list of columns"),
        "column_groups": (_are_groups, "a list of columns for each group"),
        "budget": (
            lambda value: value is None or (_is_number(value) and 0 < value < math.inf),
            "a positive number of seconds, or null",
        ),
        "max_repeats": (lambda value: value is None or _is_count(value), "a non-negative integer, or null"),
        "skipped": (
            lambda value: isinstance(value, list) and all(map(_is_count, value)) and _leave_a_study(value, data),
            "places of candidates that can be left out",
        ),
        "untested": (
            lambda value: isinstance(value, list) and all(each in ("learnable", "interacting") for each in value),
            "a list of learnable, interacting or both",
        ),
        "reading": (_is_reading, "how the table is read"),
    }
    _check(data, rules, "")
    for number, candidate in enumerate(data["candidates"], start=1):
        _check_candidate(candidate, f" of candidate {number}")
    if all(candidate["learner"]["name"] != "baseline" for candidate in data["candidates"]):
        raise StudyError("This is not a plan of fewer: the learner 'baseline' is not among its candidates.")


def with_baseline(candidates: Any) -> Any:
    """Candidates of a plan in which the baseline may have its name of development versions, "simplest"."""
    if not isinstance(candidates, list):
        return candidates  # refused for that
    old = {"name": "simplest"}
    return [
        {**each, "learner": {**each["learner"], "name": "baseline"}}
        if isinstance(each, dict) and isinstance(each.get("learner"), dict) and old.items() <= each["learner"].items()
        else each
        for each in candidates
    ]


def _leave_a_study(skipped: list[int], data: Mapping[str, Any]) -> bool:
    """Whether the baseline and a candidate with a reducer are left, and the learner of each of these on all columns."""
    candidates = data["candidates"]
    if not isinstance(candidates, list) or not all(isinstance(each, dict) for each in candidates):
        return True  # refused for that
    if skipped and max(skipped) >= len(candidates):
        return False
    left = [each for number, each in enumerate(candidates) if number not in skipped]
    whole = [each.get("learner") for each in left if each.get("reducer") is None]
    reduced = [each.get("learner") for each in left if each.get("reducer") is not None]
    baseline = any(isinstance(each, dict) and each.get("name") == "baseline" for each in whole)
    return not skipped or (bool(reduced) and baseline and all(learner in whole for learner in reduced))


def _check_candidate(candidate: Any, where: str) -> None:
    rules: dict[str, _Rule] = {
        "labels": (
            lambda value: isinstance(value, list) and len(value) == 2 and all(map(_is_text, value)),
            "two strings",
        ),
        "reducer": (lambda value: value is None or _is_recipe(value), "a name with params, or null"),
        "learner": (_is_recipe, "a name with params"),
        "sizes": (
            lambda value: isinstance(value, list) and all(_is_count(each) for each in value),
            "a list of numbers",
        ),
    }
    if not isinstance(candidate, dict) or candidate.keys() != rules.keys():
        raise StudyError(f"This is not a plan of fewer: the entries{where} must be {', '.join(rules)}.")
    _check(candidate, rules, where)


def _check(data: Mapping[str, Any], rules: Mapping[str, _Rule], where: str) -> None:
    for name, (is_valid, wanted) in rules.items():
        value = data[name]
        if not is_valid(value):
            shown = repr(value)[:60] if is_plain(value) else f"a {type(value).__name__}"
            raise StudyError(f"This is not a plan of fewer: {name!r}{where} should be {wanted}, not {shown}.")


def _one_of(*words: str) -> _Rule:
    return lambda value: isinstance(value, str) and value in words, f"one of {', '.join(words)}"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or _is_count(value)


def _is_plain_or_list(value: Any) -> bool:
    return is_plain(value) or (isinstance(value, list) and all(map(is_plain, value)))


def _is_recipe(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"name", "params"}
        and isinstance(value["name"], str)
        and isinstance(value["params"], dict)
        and all(map(_is_plain_or_list, value["params"].values()))
    )


def _are_groups(value: Any) -> bool:
    """Lists of columns by the names of their groups, without a column in two of them."""
    if not isinstance(value, dict) or not all(isinstance(each, list) for each in value.values()):
        return False
    columns = [column for each in value.values() for column in each]
    return all(map(_is_text, columns)) and len(set(columns)) == len(columns)


def _is_reading(value: Any) -> bool:
    """The words of the command line: texts, lists of texts, and the options of ``read_table``."""
    if not isinstance(value, dict):
        return False
    texts = [value.get(name) for name in ("table", "target", "task", "groups", "time", "weights")]
    lists = [value.get(name, []) for name in ("drop", "keep")]
    options = value.get("options", {})
    return (
        all(each is None or _is_text(each) for each in texts)
        and all(isinstance(names, list) and all(map(_is_text, names)) for names in lists)
        and all(_is_plain_or_list(each) for name, each in value.items() if name != "options")
        and (not options or _are_options(options))
    )


def _are_options(value: Any) -> bool:
    from inspect import signature

    from fewer.io import read_table

    known = signature(read_table).parameters.keys() - {"source", "target", "drop", "task"}
    return isinstance(value, dict) and value.keys() <= known and all(map(_is_plain_or_list, value.values()))


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
