"""``python -m benchmarks [NAME ...]``: run the benches and write benchmarks/results/NAME.json."""

import difflib
import time
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from benchmarks.contest import run_case
from benchmarks.files import FOLDER, bench_names, cases_of, question_of
from benchmarks.memory import peak_megabytes
from benchmarks.results import write_results
from benchmarks.table import print_case


def main(
    names: Annotated[list[str] | None, typer.Argument(help="Benches to run; all by default.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="3 timed runs of each contender instead of 7.")] = False,
    memory: Annotated[bool, typer.Option("--memory", help="Measure peak memory too (Linux).")] = False,
    cpu: Annotated[
        bool, typer.Option("--cpu", help="Count processor time, on one thread, for a machine that others use too.")
    ] = False,
    only: Annotated[
        str, typer.Option(help="Cases with this in their name; the results of the others stay in the file.")
    ] = "",
    results: Annotated[Path, typer.Option(help="Folder for the JSON files.")] = FOLDER / "results",
) -> None:
    """Time fewer beside its peers. Exit code 1 when a contender fails or results disagree."""
    console = Console()
    benches = _chosen(names or [])
    repeats = 3 if quick else 7
    clock = time.process_time if cpu else time.perf_counter
    sound = True
    for bench in benches:
        console.rule(f"{escape(bench)}: {escape(question_of(bench))}", align="left")
        finished = []
        for case in (case for case in cases_of(bench) if only in case.data):
            measure = partial(peak_megabytes, bench, case.data) if memory else lambda contender: None
            finished.append(run_case(case, repeats=repeats, clock=clock, peak_megabytes=measure))
            print_case(finished[-1], console)
        path, clock_name = results / f"{bench}.json", "cpu" if cpu else "wall"
        write_results(path, bench, finished, repeats, clock=clock_name, keep_others=bool(only))
        sound = sound and all(case.sound for case in finished)
    raise typer.Exit(0 if sound else 1)


def _chosen(names: list[str]) -> list[str]:
    known = bench_names()
    wanted = [Path(name).stem.removeprefix("bench_") for name in names]
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name, known)
            hint = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(known)}."
            raise typer.BadParameter(f"there is no benchmarks/bench_{name}.py. {hint}")
    return wanted or known


if __name__ == "__main__":
    typer.run(main)
