"""Files that were damaged at random, for readers that must refuse them in our own words.

A file is a valid one in which bytes were flipped, set, cut out, inserted or replaced by a part of another file. Formats
that are archives check their members' checksums, so members are mutated as well and packed anew.
"""

import io
import os
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

QUICK, SLOW = 50, 2_000
_TOKENS = [
    b'"',
    b"'",
    b",",
    b";",
    b"\n",
    b"\r",
    b"\x00",
    b"\xff",
    b"-1",
    b"1e999",
    b"9" * 20,
    b"{",
    b"[",
    b"NaN",
    b"'" * 3,
]
_NUMBERS = [0, 1, 2, 127, 128, 255, 256, 2**15, 2**16 - 1, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1]


# Seeded by hypothesis, and even over the whole file.
_CHANCES = st.randoms(use_true_random=True)


def fuzzed(max_examples: int) -> settings:
    """Settings of a fuzz test: the same inputs each time, without a database and without shrinking."""
    return settings(
        max_examples=max_examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def mutated(contents: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """One of these files with some mutations."""
    return _CHANCES.map(lambda chance: damaged(chance, contents))


def mutated_archive(archives: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """One of these zip archives: mutated itself, or packed anew with a mutated member."""
    return _CHANCES.map(lambda chance: damaged_archive(chance, archives))


def batches(
    damage: Callable[[Random, Sequence[bytes]], bytes], contents: Sequence[bytes], size: int
) -> st.SearchStrategy[list[bytes]]:
    """Several such files at once."""
    return _CHANCES.map(lambda chance: [damage(chance, contents) for _ in range(size)])


def damaged(chance: Random, contents: Sequence[bytes]) -> bytes:
    """One of these files with some mutations."""
    content = bytearray(chance.choice(contents))
    for _ in range(chance.choice([1, 1, 1, 2, 4, 8])):
        _mutate(chance, content, contents)
    return bytes(content)


def damaged_archive(chance: Random, archives: Sequence[bytes]) -> bytes:
    """One of these zip archives: mutated itself, or packed anew with a mutated member."""
    if chance.random() < 0.25:
        return damaged(chance, archives)
    members = members_of(chance.choice(archives))
    contents = list(members.values())
    for name in chance.choices(sorted(members), k=chance.choice([1, 1, 2])):
        content = bytearray(members[name])
        for _ in range(chance.choice([1, 1, 3])):
            _mutate(chance, content, contents)
        members[name] = bytes(content)
    return packed(members)


def members_of(archive: bytes) -> dict[str, bytes]:
    """The members of a zip archive by name."""
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        return {name: file.read(name) for name in file.namelist()}


def packed(members: dict[str, bytes]) -> bytes:
    """A zip archive of these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return buffer.getvalue()


def _mutate(chance: Random, content: bytearray, contents: Sequence[bytes]) -> None:
    place = chance.randint(0, len(content))
    match chance.randrange(8):
        case 0 if place < len(content):
            content[place] ^= 1 << chance.randrange(8)
        case 1 if place < len(content):
            content[place] = chance.randrange(256)
        case 2:
            del content[place:]
        case 3:
            del content[place : place + chance.randint(1, 16)]
        case 4:
            content[place:place] = chance.choice(_TOKENS)
        case 5:
            width = chance.choice([1, 2, 4, 8])
            number = chance.choice(_NUMBERS) % 2 ** (8 * width)
            content[place : place + width] = number.to_bytes(width, chance.choice(["little", "big"]))
        case 6:
            other = chance.choice(contents)
            start = chance.randint(0, len(other))
            content[place : place + chance.randint(0, 64)] = other[start : start + chance.randint(1, 64)]
        case _:
            content[place:place] = chance.randbytes(chance.randint(1, 8))


def refused_or_read(act: Callable[[], Any]) -> bool:
    """Whether a file was read; raises unless it was, or was refused in our own words.

    Our own words are those that the command line shows without a traceback: errors of the package, and of the operating
    system.
    """
    try:
        act()
    except BaseException as error:
        ours = isinstance(error, OSError) or type(error).__module__.startswith("fewer.")
        if not ours or not 0 < len(str(error)) < 5_000:
            raise
        return False
    return True


@contextmanager
def limited_memory(more: int = 3 << 30) -> Iterator[None]:
    """No more than this many bytes beyond what the process has now, so that a file cannot take all memory unnoticed."""
    if not sys.platform.startswith("linux"):
        yield
        return
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:
        size = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
