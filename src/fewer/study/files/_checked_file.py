"""A checksum inside each JSON file of a study, so that a damaged file is refused and never believed."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fewer._estimators import write_whole
from fewer.study._errors import StudyError

CHECKSUM = "checksum"


def digest(*parts: bytes) -> str:
    """32 hexadecimal digits that change with any byte, and with where one part ends and the next begins."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.hexdigest()


def with_checksum(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with its checksum as the last entry."""
    return {**document, CHECKSUM: _checksum(document)}


def without_checksum(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document that ``with_checksum`` was given."""
    return {key: value for key, value in document.items() if key != CHECKSUM}


def matches_checksum(document: Mapping[str, Any]) -> bool:
    """Whether a document is as it was written; one without a checksum is, for all that is known."""
    return CHECKSUM not in document or document[CHECKSUM] == _checksum(without_checksum(document))


def write_checked(path: "str | Path", document: Mapping[str, Any]) -> None:
    """Write a document with its checksum as JSON, whole or not at all."""
    write_whole(path, json.dumps(with_checksum(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_checked(path: Path) -> dict[str, Any]:
    """A document that ``write_checked`` has written; an error if it is damaged in any way."""
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise StudyError(f"The file {path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):  # not UTF-8, or not JSON
        document = None
    if not isinstance(document, dict) or CHECKSUM not in document or not matches_checksum(document):
        raise StudyError(
            f"The file {path} does not match its checksum, so it is damaged. Run `fewer resume {path.parent}` to write "
            "it again."
        )
    return without_checksum(document)


def _checksum(document: Mapping[str, Any]) -> str:
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return digest(text.encode("utf-8", "surrogatepass"))
