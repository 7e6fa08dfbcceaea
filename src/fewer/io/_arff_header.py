"""The header of an ARFF file: the name of each attribute, and what it may hold."""

import re
from collections import Counter
from dataclasses import dataclass

from fewer.io._errors import TableError

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s{{}},]+)\s*(.*)", re.IGNORECASE | re.DOTALL)
_VALUE = re.compile(rf"\s*({_QUOTED}|[^,]*)\s*(?:,|$)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_NUMERIC = ("numeric", "real", "integer")
_DATE_FORMAT = "yyyy-MM-dd'T'HH:mm:ss"
# Letters of Java's date formats, which ARFF uses, and what polars calls them.
_DATE_LETTERS = (
    ("yyyy", "%Y"),
    ("yy", "%y"),
    ("MMM", "%b"),
    ("MM", "%m"),
    ("dd", "%d"),
    ("HH", "%H"),
    ("mm", "%M"),
    ("ss", "%S"),
    (".SSS", "%.3f"),
)


@dataclass(frozen=True)
class Attribute:
    """One column: its type is numeric, nominal, string or date."""

    name: str
    type: str
    values: tuple[str, ...] = ()
    date_format: str = ""


def unquoted(text: str) -> str:
    """The text without its quotes and escapes."""
    text = text.strip()
    if len(text) < 2 or text[0] not in "'\"" or text[-1] != text[0]:
        return text
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text[1:-1], flags=re.DOTALL)


def parsed_attribute(line: str, where: str) -> Attribute:
    """The attribute that a line ``@attribute name type`` declares."""
    match = _ATTRIBUTE.fullmatch(line.strip())
    if match is None or not match[2]:
        raise TableError(f"{where}: {line.strip()[:80]!r} is not a declaration. It should be: @attribute name type")
    name, kind = unquoted(match[1]), match[2].strip()
    if kind.startswith("{"):
        if not kind.endswith("}"):
            raise TableError(f"{where}: the values of the attribute {name!r} lack their closing brace.")
        return Attribute(name, "nominal", nominal_values(kind[1:-1], name, where))
    word = kind.split()[0].lower()
    if word in _NUMERIC:
        return Attribute(name, "numeric")
    if word == "string":
        return Attribute(name, "string")
    if word == "date":
        return Attribute(name, "date", date_format=_polars_format(unquoted(kind[4:].strip()) or _DATE_FORMAT))
    raise TableError(
        f"{where}: the attribute {name!r} is of the type {kind[:40]!r}, which is not read. Types are numeric, real, "
        "integer, string, date and {value, value, ...}."
    )


def nominal_values(text: str, name: str, where: str) -> tuple[str, ...]:
    """The values between the braces."""
    values, position = [], 0
    while position < len(text):
        match = _VALUE.match(text, position)
        if match is None:
            raise TableError(f"{where}: a quote in the values of the attribute {name!r} is never closed.")
        values.append(unquoted(match[1]))
        position = match.end()
    repeats = [value for value, count in Counter(values).items() if count > 1]
    if repeats or not values:
        fault = f"repeat {min(repeats)!r}" if repeats else "are missing"
        raise TableError(f"{where}: the values of the attribute {name!r} {fault}. List each once.")
    return tuple(values)


def _polars_format(java: str) -> str:
    for letters, directive in _DATE_LETTERS:
        java = java.replace(letters, directive)
    return java.replace("'", "")
