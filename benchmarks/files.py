"""The bench files in this folder."""

import importlib
from collections.abc import Sequence
from pathlib import Path

from benchmarks.cases import Case

FOLDER = Path(__file__).parent


def bench_names() -> list[str]:
    """Names of the benches: ``bench_read_table.py`` is ``read_table``."""
    return sorted(path.stem.removeprefix("bench_") for path in FOLDER.glob("bench_*.py"))


def cases_of(bench: str) -> Sequence[Case]:
    """The cases that a bench file declares."""
    return importlib.import_module(f"benchmarks.bench_{bench}").CASES


def question_of(bench: str) -> str:
    """The first line of a bench file's docstring."""
    lines = (importlib.import_module(f"benchmarks.bench_{bench}").__doc__ or bench).strip().splitlines()
    return lines[0]
