"""A search that was stopped goes on where it was: every score is written down as soon as it is known.

A checkpoint is a text file of JSON lines: what was searched, and then the scores of each step, in order. A search that
finds one walks its path again from the start with the scores from the file, which takes no time worth mentioning, and
computes only what comes after. So no search needs to know how to save its state, and the result is the same as without
the interruption, to the last digit. A process that is killed loses the line that it was writing, and no more.
"""

import json
import os
import pickle
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from fewer._estimators import FastRoute, write_whole
from fewer.select.objectives._objective import Objective, SubsetScorer

_FORMAT = "fewer search checkpoint 1"
_WORDS = {
    "table": "the table has changed",
    "target": "the target has changed",
    "groups": "the groups have changed",
    "search": "the search, its objective or one of their parameters has changed",
}
_DO_NOT_MATTER = ("checkpoint", "n_jobs")


def fingerprint(search: Any, objective: Objective, X: Any, y: Any, groups: Any = None) -> dict[str, str]:
    """What must be the same for a search to go on."""
    parameters = {name: value for name, value in search.get_params(deep=False).items() if name not in _DO_NOT_MATTER}
    parameters["objective"] = (type(objective).__qualname__, objective.get_params(deep=False))
    _refuse_chance(parameters)
    try:
        described = joblib.hash((type(search).__qualname__, parameters))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            "checkpoint= must recognise the objective in a later session, and this one cannot be pickled: "
            f"{error}. Define functions at the top of a module, or write an Objective."
        ) from error
    found = {"table": joblib.hash(X), "target": joblib.hash(y), "search": described}
    return found if groups is None else found | {"groups": joblib.hash(groups)}


def _refuse_chance(parameters: dict[str, Any]) -> None:
    """Folds that are shuffled anew each time would mix scores of different folds."""
    for value in [*parameters.values(), *parameters["objective"][1].values()]:
        draws = hasattr(value, "split") and getattr(value, "shuffle", True) and hasattr(value, "random_state")
        if draws and value.random_state is None:
            raise ValueError(
                f"checkpoint= needs the same folds again in a later session, and {value!r} draws new ones each time; "
                "give it a random_state."
            )


class Checkpoint:
    """The scores of earlier sessions, and a file for those of this one."""

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        if path.is_dir():
            raise ValueError(f"checkpoint={str(path)!r} is a folder; it must be a file.")
        if not path.exists() or path.stat().st_size == 0:
            write_whole(path, json.dumps(header) + "\n")
        with path.open("rb") as file:
            lines = file.read().split(b"\n")
        found = _header(lines[0], path)
        for what in _WORDS:
            if found["fingerprint"].get(what) != header["fingerprint"].get(what):
                raise ValueError(
                    f"checkpoint={str(path)!r} holds another search: {_WORDS[what]} since. Fit with what it was begun "
                    "with, or delete the file (or name another) to begin anew."
                )
        self.seed: int | None = found["seed"]
        complete = lines[1:-1]  # what follows the last line break was cut off
        self._known = [json.loads(line) for line in complete]
        self._next = 0
        self._file = path.open("r+b")
        self._file.truncate(sum(len(line) + 1 for line in lines[:-1]))
        self._file.seek(0, os.SEEK_END)

    def recall(self, question: list[Any], compute: Callable[[], np.ndarray]) -> np.ndarray:
        """The answer of an earlier session, or else the one computed now, which is written down."""
        if self._next < len(self._known):
            asked, answer = self._known[self._next]
            if asked != question:
                raise ValueError(
                    f"checkpoint={self._file.name!r} does not fit: it has scores for {asked} where the search asks for "
                    f"{question}. Two searches may have written to it, or fewer has changed; delete it to begin anew."
                )
            self._next += 1
            return np.asarray(answer, dtype=float)
        scores = np.asarray(compute(), dtype=float)
        self._file.write(json.dumps([question, scores.tolist()]).encode() + b"\n")
        self._file.flush()
        return scores

    def close(self) -> None:
        self._file.close()


class RecalledScorer(SubsetScorer):
    """A scorer that answers from a checkpoint as far as that goes.

    Moves are made by the real scorer all along, so that it is in the same state as if it had scored everything itself.
    """

    def __init__(self, scorer: SubsetScorer, checkpoint: Checkpoint) -> None:
        super().__init__()
        self._scorer = scorer
        self._checkpoint = checkpoint
        self.subset = scorer.subset

    @property
    def fast_route(self) -> FastRoute:  # type: ignore[override]
        return self._scorer.fast_route

    def score_added(self, candidates: np.ndarray) -> np.ndarray:
        question = ["added", len(self.subset), len(candidates)]
        return self._checkpoint.recall(question, lambda: self._scorer.score_added(candidates))

    def score_removed(self, candidates: np.ndarray) -> np.ndarray:
        question = ["removed", len(self.subset), len(candidates)]
        return self._checkpoint.recall(question, lambda: self._scorer.score_removed(candidates))

    def score(self) -> float:
        question = ["subset", len(self.subset), 1]
        return float(self._checkpoint.recall(question, lambda: np.array([self._scorer.score()]))[0])

    def add(self, column: int) -> None:
        self._scorer.add(column)
        self.subset = self._scorer.subset

    def remove(self, column: int) -> None:
        self._scorer.remove(column)
        self.subset = self._scorer.subset

    def move_to(self, subset: Iterable[int]) -> None:
        self._scorer.move_to(subset)
        self.subset = self._scorer.subset

    def close(self) -> None:
        self._checkpoint.close()
        self._scorer.close()


def opened(
    path: str | os.PathLike[str], search: Any, objective: Objective, X: Any, y: Any, seed: Any, groups: Any = None
) -> Checkpoint:
    """The checkpoint of this search at this path: an earlier one if there is any, or else a new one."""
    header = {"format": _FORMAT, "fingerprint": fingerprint(search, objective, X, y, groups), "seed": seed}
    return Checkpoint(Path(path).expanduser(), header)


def _header(line: bytes, path: Path) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("format") != _FORMAT:
        raise ValueError(
            f"checkpoint={str(path)!r} exists, and is not a checkpoint of a search by this version of fewer; it is "
            "left alone. Name another file, or delete it."
        )
    return found
