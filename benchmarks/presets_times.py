"""``python -m benchmarks.presets_times``: time and memory of ``fewer study`` with a preset, from command to report.

Each case is one command with two workers, in a process of its own: wall time, processor time of all its processes, and
the largest memory that they had together (shared pages count in each). Each finished run is a line of
docs/data/presets-times.jsonl, the last one of a case counts; ``python -m benchmarks.presets_page`` shows them. A
processor time within the goal shows the goal on a busy machine, too, because one free core would do.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from benchmarks.files import FOLDER
from benchmarks.presets import lines_of, revision

RESULTS = FOLDER.parent / "docs" / "data" / "presets-times.jsonl"
_SECONDS_BETWEEN_LOOKS = 0.5
# From this load on, two cores are not free, and a study takes more processor time, too.
_BUSY = 3.0


class Timed(NamedTuple):
    """A study to time: its size (None for dataset:khan), and the goals in seconds and gigabytes."""

    size: tuple[int, int] | None
    preset: str
    seconds: int
    gigabytes: float | None = None

    @property
    def name(self) -> str:
        """What the page calls it."""
        size = "Khan, 83 x 2,308" if self.size is None else "{:,} x {:,}".format(*self.size)
        return f"{size}, {self.preset}"


CASES = (
    Timed((217, 228), "quick", 15),
    Timed((217, 228), "standard", 60),
    Timed(None, "quick", 30),
    Timed(None, "standard", 180),
    Timed((50, 4434), "standard", 300),
    Timed((100_000, 100), "quick", 180),
    Timed((1_000_000, 100), "quick", 360, 4.0),
)


def write_table(path: Path, n_rows: int, n_columns: int) -> None:
    """Two classes, ten columns of use, ten that repeat these, a tenth of the labels wrong."""
    import polars as pl
    from sklearn.datasets import make_classification

    X, y = make_classification(
        n_rows, n_columns, n_informative=10, n_redundant=10, n_clusters_per_class=1, flip_y=0.1, random_state=0
    )
    columns = {f"x{number}": np.round(column, 5) for number, column in enumerate(X.T)}
    pl.DataFrame(columns | {"y": np.where(y == 1, "yes", "no")}).write_csv(path)


def resident_bytes(process: int) -> int:
    """Resident memory of a process and its descendants; what has ended counts nothing."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(resident_bytes(child) for child in children)


def timed(case: Timed, folder: Path) -> dict[str, Any]:
    """The line of a case."""
    table = ["dataset:khan"]
    if case.size is not None:
        write_table(folder / "table.csv", *case.size)
        table = [str(folder / "table.csv"), "-t", "y"]
    command = [sys.executable, "-m", "fewer", "study", *table, "--preset", case.preset, "-j", "2"]
    before, begun, most = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter(), 0
    with (folder / "said.txt").open("w", encoding="utf-8") as said:
        study = subprocess.Popen([*command, "--out", str(folder / "study")], stdout=said, stderr=said)
        while study.poll() is None:
            most = max(most, resident_bytes(study.pid))
            time.sleep(_SECONDS_BETWEEN_LOOKS)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if study.returncode:
        raise RuntimeError(f"{case.name} failed:\n{(folder / 'said.txt').read_text(encoding='utf-8')[-2000:]}")
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    line = {"case": case.name, "wall": round(wall, 1), "processor": round(processor, 1)}
    return line | {"gigabytes": round(most / 1e9, 2), "load": round(os.getloadavg()[1], 1), "code": revision()}


def times_table(path: Path = RESULTS) -> list[str]:
    """The Markdown table of all cases that have run; none where there is no file."""
    found = {line["case"]: line for line in lines_of(path)}
    lines = [
        "| study | goal | reached | wall time | processor time | memory | load | code |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for case in CASES:
        if (line := found.get(case.name)) is None:
            continue
        reached = "yes" if min(line["wall"], line["processor"]) <= case.seconds else "**no**"
        if reached != "yes" and line["load"] > _BUSY:
            reached = "**not shown**"
        if case.gigabytes is not None and line["gigabytes"] > case.gigabytes:
            reached = "**no**"
        goal = f"{case.seconds} s" + ("" if case.gigabytes is None else f", {case.gigabytes:g} GB")
        cells = [case.name, goal, reached]
        cells += [f"{line['wall']:.0f} s", f"{line['processor']:.0f} s", f"{line['gigabytes']:.1f} GB"]
        lines.append(f"| {' | '.join([*cells, str(line['load']), '`' + line['code'] + '`'])} |")
    return lines if found else []


def main(
    cases: Annotated[str, typer.Option(help="Beginnings of names, with semicolons between; all by default.")] = "",
    results: Annotated[Path, typer.Option(help="File of the runs.")] = RESULTS,
) -> None:
    """Time the studies one after the other."""
    begin = tuple(cases.split(";"))
    for case in CASES:
        if not case.name.startswith(begin):
            continue
        with tempfile.TemporaryDirectory(prefix="fewer-times-") as folder:
            line = timed(case, Path(folder))
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        print(line, flush=True)


if __name__ == "__main__":
    typer.run(main)
