"""What a study used: versions of packages, and references of its methods as BibTeX, read from their cards."""

import inspect
import platform
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from fewer.catalogue import Method, card_of, imputer_named, is_import_path, learner_named
from fewer.evaluate import cross_index

if TYPE_CHECKING:
    from fewer.study import Plan

_PACKAGES = ("scikit-learn", "numpy", "scipy", "polars", "numba")
# As the house writes references: authors (year). title. where.
_REFERENCE = re.compile(r"(?P<author>.+?)\s\((?P<year>\d{4})\)\.\s(?P<title>.+?[.?])\s(?P<where>.+)")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that computed the study.

    Returns
    -------
    versions : dict of str to str
        By name.
    """
    import fewer

    found = {"fewer": fewer.__version__}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return {**found, "Python": platform.python_version()}


def bibtex(plan: "Plan") -> str:
    """References of the methods of a plan, and of cross-indexing, as BibTeX.

    Parameters
    ----------
    plan : fewer.study.Plan
        The plan.

    Returns
    -------
    text : str
        One entry for each reference, without duplicates.
    """
    entries: dict[str, str] = {}
    for card in _cards(plan):
        for reference in references(card):
            key, entry = bibtex_entry(reference, card.name)
            # The same reference of two methods is one entry; another one of the same author and year gets a letter.
            known = {text.rpartition(",\n  note")[0]: each for each, text in entries.items()}
            if entry.rpartition(",\n  note")[0] in known:
                continue
            while key in entries:
                key, entry = f"{key}a", entry.replace(f"{{{key},", f"{{{key}a,", 1)
            entries[key] = entry
    return "\n\n".join(entries.values())


def _cards(plan: "Plan") -> Iterator[Method]:
    """Cards of the methods that took part; learners of scikit-learn have their references in its documentation.

    Estimators are built, because that imports what the study has used, where a search by name imports all methods.
    What goes by an import path is of another package, and a page must not import it.
    """
    used: list[Any] = [cross_index]
    if not is_import_path(plan.impute):
        used.append(type(imputer_named(plan.impute).build()))
    for candidate in plan.candidates:
        if candidate.reducer is not None and not is_import_path(candidate.reducer.name):
            used.append(type(candidate.reducer.reducer(seed=0)))
        if not is_import_path(candidate.learner.name):
            learner = learner_named(candidate.learner.name).build(classify=plan.classify)
            used.append(type(getattr(learner, "estimator", learner)))
    for each in dict.fromkeys(used):
        card = card_of(each)
        if card is not None:
            yield card


def references(card: Method) -> list[str]:
    """References in the docstring of a method, each as one line."""
    _, _, section = (inspect.getdoc(card.implementation) or "").partition("References\n----------\n")
    section = re.split(r"\n[A-Z][\w ]+\n-{3,}\n", section)[0]
    parts = re.split(r"\.\. \[\d+\]|\n\s*\n", section)
    return [line for line in (" ".join(part.split()) for part in parts) if line]


def bibtex_entry(reference: str, method: str = "") -> tuple[str, str]:
    """A reference of a docstring as BibTeX: its key, and the entry.

    Examples
    --------
    >>> key, entry = bibtex_entry("Hall, M. (2000). Correlation-based selection. ICML, 359-366.", "CFS")
    >>> print(entry)
    @misc{hall2000,
      author = {Hall, M.},
      year = {2000},
      title = {Correlation-based selection},
      howpublished = {ICML, 359-366},
      note = {CFS in fewer}
    }
    """
    match = _REFERENCE.fullmatch(reference)
    used = f"{method} in fewer" if method else ""
    if match is None:
        key = re.sub(r"\W+", "", reference.lower())[:20]
        fields = {"title": reference, "note": used}
    else:
        authors = re.sub(r"\s+&\s+|,?\s+and\s+", " and ", match["author"])
        # House style separates authors by commas after the initials: "Peng, H., Long, F. and Ding, C."
        authors = re.sub(r"((?:[A-Z]\.[- ]?)+),\s+(?=[^\s,]+[^,]*,)", r"\1 and ", authors)
        key = re.sub(r"\W+", "", match["author"].split(",")[0].lower()) + match["year"]
        fields = {
            "author": authors,
            "year": match["year"],
            "title": match["title"].rstrip("."),
            "howpublished": match["where"].rstrip("."),
            "note": used,
        }
    inside = ",\n".join(f"  {name} = {{{_plain(value)}}}" for name, value in fields.items() if value)
    return key, f"@misc{{{key},\n{inside}\n}}"


def _plain(text: str) -> str:
    return text.replace("{", "").replace("}", "").replace("%", "\\%").replace("&", "\\&").replace("_", "\\_")
