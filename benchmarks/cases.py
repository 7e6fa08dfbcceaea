"""What a bench file declares: cases, and the contest that each prepares."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Contender = Callable[[], Any]


class UnavailableError(Exception):
    """A case cannot be run here; the message says what it needs."""


class TooSlowError(Exception):
    """A peer takes longer than the bench waits; the message says how long that is."""


@dataclass(frozen=True)
class Contest:
    """Contenders that compute the same thing, and how to tell that they do.

    Parameters
    ----------
    ours, peers : mapping of name to callable
        Each callable takes nothing, does the whole job and returns its result. Ratios are to the first peer. A peer
        imports its package inside the callable, and is best named after it: that is how its version is found.
    objective : callable
        From a result to the number (or array) on which the contenders must agree, such as the value of the function
        that all of them minimise.
    tolerance : float
        Largest difference allowed, relative to the largest entry of the first peer's objective; 0 asks for equality.
    """

    ours: Mapping[str, Contender]
    peers: Mapping[str, Contender]
    objective: Callable[[Any], Any]
    tolerance: float = 1e-6
    contenders: Mapping[str, Contender] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        shared = self.ours.keys() & self.peers.keys()
        if shared or not self.ours or not self.peers:
            raise ValueError(
                f"A contest needs at least one of ours and one peer, with different names; got ours={list(self.ours)}, "
                f"peers={list(self.peers)}."
            )
        object.__setattr__(self, "contenders", {**self.ours, **self.peers})


@dataclass(frozen=True)
class Case:
    """One data set on which a bench asks its question.

    Parameters
    ----------
    data : str
        What a person would call the data set.
    prepare : callable
        Takes an empty folder, makes or reads the data (which is not timed) and returns the :class:`Contest`. It raises
        :class:`UnavailableError` when something that it needs is not here.
    repeats : int, optional
        Timed runs of each contender, where the harness's own number does not suit.
    """

    data: str
    prepare: Callable[[Path], Contest]
    repeats: int | None = None


def real_file(name: str) -> Path:
    """A file in the folder of real data that ``FEWER_DATA`` points to."""
    folder = os.environ.get("FEWER_DATA")
    if not folder:
        raise UnavailableError(f"needs {name}: set FEWER_DATA to the folder that holds it")
    path = Path(folder).expanduser() / name
    if not path.is_file():
        raise UnavailableError(f"needs {name}, which is not in FEWER_DATA={folder}")
    return path
