"""The bytes of a text file: unpacked, in UTF-8, with errors that name the line and the character."""

import codecs
import gzip
import zlib
from pathlib import Path

import numpy as np

from fewer.io._errors import TableError
from fewer.io._limits import physical_memory

NEWLINE = 10
CHUNK = 1 << 24
_MEMORY_SHARE = 4  # a table takes several times the memory of its text


def is_packed(path: Path) -> bool:
    """Whether the name says that the file is compressed by gzip."""
    return path.suffix.lower() == ".gz"


def unpacked(path: Path) -> bytes:
    """What is in a file that is compressed by gzip."""
    most = physical_memory() // _MEMORY_SHARE
    chunks, length = [], 0
    try:
        with gzip.open(path) as file:
            while length <= most and (chunk := file.read(CHUNK)):
                chunks.append(chunk)
                length += len(chunk)
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(
            f"{path}: the file cannot be unpacked by gzip ({error}). Was it written completely?"
        ) from error
    if length > most:
        raise TableError(
            f"{path}: unpacked, this is more than {most / 2**30:.1f} GiB of text, which is too much for the memory of "
            "this machine. Unpack it and read a part of it."
        )
    return b"".join(chunks)


def check_encoding(data: np.ndarray, source: str) -> None:
    """Raise at the first byte that is not UTF-8, with its line and column."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), CHUNK):
        chunk = data[start : start + CHUNK]
        if not chunk.all():
            where = start + int(np.argmin(chunk != 0))
            raise TableError(
                f"{source}, line {line_of(data, where)}: there is a NUL byte, so this is not a UTF-8 text file. If a "
                "spreadsheet wrote it as 'Unicode text', use encoding='utf-16'; otherwise check the format."
            )
        pending = len(decoder.getstate()[0])
        if chunk.max() < 128 and not pending:
            continue
        try:
            decoder.decode(chunk.tobytes(), final=start + CHUNK >= len(data))
        except UnicodeDecodeError as error:
            raise _undecodable(data, start - pending + error.start, "utf-8", source) from error


def decoded(data: np.ndarray, encoding: str, source: str) -> np.ndarray:
    """The same text as UTF-8 bytes."""
    try:
        text = data.tobytes().decode(encoding)
    except LookupError as error:
        raise TableError(
            f"encoding={encoding!r} is not known. Use for example 'utf-8', 'cp1252' or 'utf-16'."
        ) from error
    except UnicodeDecodeError as error:
        raise _undecodable(data, error.start, encoding, source) from error
    return np.frombuffer(text.removeprefix("\ufeff").encode(), dtype=np.uint8)


def _undecodable(data: np.ndarray, where: int, encoding: str, source: str) -> TableError:
    line, column = line_of(data, where), column_of(data, where)
    try:
        data[max(0, where - 200) : where + 200].tobytes().decode("cp1252")
        likely = "cp1252"
    except UnicodeDecodeError:
        likely = "latin-1"
    return TableError(
        f"{source}, line {line}, character {column}: byte 0x{int(data[where]):02x} is not {encoding} text. The file "
        f"was probably written in another encoding: try encoding={likely!r}."
    )


def line_of(data: np.ndarray, where: int) -> int:
    """Number of the line that holds this byte, from 1."""
    return 1 + sum(
        int(np.count_nonzero(data[start : min(where, start + CHUNK)] == NEWLINE)) for start in range(0, where, CHUNK)
    )


def column_of(data: np.ndarray, where: int) -> int:
    """Number of the character in its line, from 1."""
    before = data[max(0, where - 1_000_000) : where].tobytes()
    return 1 + len(before[before.rfind(b"\n") + 1 :].decode("utf-8", errors="replace"))
