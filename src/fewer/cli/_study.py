"""``fewer study`` and what goes with it: ``resume``, ``show``, ``studies``, ``rm``."""

import re
import shutil
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fewer._options import options_of
from fewer.cli import _reading
from fewer.cli._app import (
    app,
    told_plainly,
    warnings_as_notes,
    without_collector,
    without_trailing_spaces,
    write_out,
)

if TYPE_CHECKING:
    from fewer.engine import Engine
    from fewer.facade import Study
    from fewer.study import Clock, Plan, StudyData, StudyFolder, StudyState

# Where facts begin in the lines of a plan.
_PLAN_INDENT = 16

Folder = Annotated[Path, typer.Argument(metavar="STUDY", help="Folder of the study.", show_default=False)]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", min=1, metavar="N", help="Worker processes on this machine.", show_default="one per core"
    ),
]
EngineName = Annotated[
    str, typer.Option("--engine", metavar="NAME", help="Where the work runs: local (this machine) or dask (a cluster).")
]
Scheduler = Annotated[
    str | None, typer.Option("--scheduler", metavar="ADDRESS", help="Dask: address of the scheduler.")
]
TrustPlan = Annotated[
    bool, typer.Option("--trust-plan", help="Import the modules that the plan names, which executes their code.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the findings as JSON only.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Hide the progress bar.")]


@app.command()
@_reading.takes("table", "plan", "report", "reading")
def study(
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="TABLE",
            help="A file (CSV, Parquet, ARFF, ...), a database URI, or dataset:NAME.",
            show_default=False,
        ),
    ] = None,
    target: _reading.Target = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Folder of the study.", show_default="in fewer-studies"),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option("--plan", metavar="FILE", help="Run a plan again, from a report.html or a plan.json."),
    ] = None,
    trust_plan: TrustPlan = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and the expected time only.")] = False,
    engine: EngineName = "local",
    scheduler: Scheduler = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    *,
    options: dict[Any, Any],
) -> None:
    """Find out whether a target can be predicted, and from how few columns and which ones.

    The same command resumes a study that was stopped.
    """
    started = time.perf_counter(), time.process_time()
    with told_plainly(), without_collector() as imported:
        from fewer.facade import check_theme, data_of, reading_of
        from fewer.study import Clock, Plan, StudyError, StudyFolder, make_plan

        given = _reading.values(options)
        check_theme(given["theme"])
        if plan is not None:
            made = Plan.load(plan, trust=trust_plan)
            with warnings_as_notes():
                data = data_of(made.reading, table)
        elif table is None:
            raise StudyError(
                "Give a table (fewer study TABLE --target COLUMN) or a plan (fewer study --plan report.html)."
            )
        else:
            reading = reading_of(table, target, given)
            with warnings_as_notes():
                data = data_of(reading)
            made = make_plan(data, reading=reading, **{each.name: given[each.name] for each in options_of("plan")})
        imported()
        if dry_run:
            write_out(_foreseen(made, data, jobs))
            return
        folder = StudyFolder(out if out is not None else _default_folder(made))
        shown: dict[str, Any] = {"quiet": quiet or as_json, "theme": given["theme"]}
        done = _carried_out(made, data, folder, engine, scheduler, jobs, **shown, clock=Clock(*started))
        _show(done, as_json=as_json)


@app.command()
def resume(
    folder: Folder,
    engine: EngineName = "local",
    scheduler: Scheduler = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    trust_plan: TrustPlan = False,
) -> None:
    """Continue a study that was stopped."""
    with told_plainly(), without_collector() as imported:
        from fewer.facade import data_of
        from fewer.study import Journal, StudyFolder

        where = StudyFolder(folder)
        with Journal.read(where.journal) as journal:
            plan = journal.plan
        plan.check_recipes(trust=trust_plan)
        with warnings_as_notes():
            data = data_of(plan.reading)
        imported()
        _show(_carried_out(plan, data, where, engine, scheduler, jobs, quiet=quiet or as_json), as_json=as_json)


@app.command()
@_reading.takes("report")
def show(
    folder: Folder,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write the report to this file as well.")
    ] = None,
    as_json: AsJson = False,
    *,
    options: dict[Any, Any],
) -> None:
    """Show the findings of a study, or the progress of an unfinished one."""
    with told_plainly():
        from fewer.study import StudyError, StudyFolder, study_state

        if StudyFolder(folder).finished:
            from fewer.facade import Study

            found = Study(folder)
            if report is not None:
                found.report(report, theme=_reading.values(options)["theme"])
            _show(found, as_json=as_json)
            return
        state = study_state(folder)
        so_far = f"The study of {state.source} is {_progress(state)}. Continue with: fewer resume {folder}"
        if as_json:
            raise StudyError(so_far)
        write_out(f"{so_far}\n")


@app.command()
def studies(
    home: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of studies.")] = Path("fewer-studies"),
) -> None:
    """List the studies in a folder."""
    with told_plainly():
        from fewer.study import studies_in

        found = studies_in(home)
        if not found:
            write_out(f"There is no study in {home}. Start one with: fewer study TABLE --target COLUMN\n")
        for state in found:
            if state.damage is not None:
                write_out(f"{state.folder.path}\n  {state.damage}\n")
                continue
            running = f"; running: {state.owner}" if state.owner else ""
            progress = state.headline or f"{_progress(state)}{running}"
            write_out(f"{state.folder.path}  ({state.started[:16].replace('T', ' ')})\n  {progress}\n")


@app.command()
def rm(
    folders: Annotated[list[Path], typer.Argument(metavar="STUDY", help="Folders of studies.", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Stop a study that is running, then remove it.")] = False,
) -> None:
    """Remove studies: their journal, findings, report and model."""
    with told_plainly():
        from fewer.study import StudyError, StudyFolder, study_state

        for folder in folders:
            where = StudyFolder(folder)
            if not folder.exists():
                raise StudyError(f"There is no study in {folder}: the folder does not exist.")
            try:
                what = f"the study of {study_state(folder).source}"
            except StudyError:
                what = "the study"  # a damaged one can be removed, too
            if where.owner is not None and not force:
                raise StudyError(f"The study in {folder} is run by {where.owner}. Stop and remove it with --force.")
            if yes or typer.confirm(f"Remove {what} in {folder}?"):
                if force:
                    where.stop()
                where.remove()
                write_out(f"Removed {folder}.\n")
            else:
                write_out(f"Kept {folder}.\n")


def _progress(state: "StudyState") -> str:
    """How far a study has come that is not finished."""
    tests = "; the tests and the report remain" if state.done >= state.total else ""
    return f"not finished: {state.done:,} of {state.total:,} evaluations{tests}"


def _default_folder(plan: "Plan") -> Path:
    """A folder for this table and target, and for another plan another one."""
    from fewer.study import HOME

    name = Path((plan.reading.get("table") or plan.source).removeprefix("dataset:")).stem
    words = re.sub(r"[^\w.-]+", "-", f"{name}-{plan.target}").strip("-.").lower() or "study"
    return HOME / f"{words[:60]}-{plan.identity[:6]}"


def _carried_out(
    plan: "Plan",
    data: "StudyData",
    folder: "StudyFolder",
    engine: str,
    scheduler: str | None,
    jobs: int | None,
    *,
    quiet: bool,
    theme: str = "screen",
    clock: "Clock | None" = None,
) -> "Study":
    from fewer.facade import carry_out
    from fewer.study import StudyInterruptedError

    if not quiet:
        typer.secho(f"Study in {folder.path}", err=True)
    try:
        with _engine(engine, scheduler, jobs) as where, warnings_as_notes():
            progress = False if quiet else "auto"
            return carry_out(plan, data, folder, engine=where, progress=progress, theme=theme, clock=clock)
    except StudyInterruptedError as stopped:
        typer.secho(str(stopped), fg="yellow", err=True)
        raise KeyboardInterrupt from None


def _engine(name: str, scheduler: str | None, jobs: int | None) -> "Engine":
    from fewer.engine import Engine
    from fewer.study import StudyError

    if name == "local":
        return Engine.local(jobs)
    if name == "dask":
        if scheduler is None:
            raise StudyError("--engine dask needs the address of a scheduler: --scheduler tcp://HOST:8786.")
        return Engine.dask(scheduler)
    raise StudyError(f"--engine must be local or dask, not {name!r}.")


def _foreseen(plan: "Plan", data: "StudyData", jobs: int | None) -> str:
    """The plan, and about how long it takes."""
    from fewer.study import time_estimate

    lines = f"{plan}\n{time_estimate(plan, data, n_workers=jobs)}".splitlines()
    width = max(60, min(120, shutil.get_terminal_size().columns))
    wrapped = (textwrap.fill(line, width, subsequent_indent=" " * _PLAN_INDENT) for line in lines)
    return "\n".join(wrapped) + "\n"


def _show(study: "Study", *, as_json: bool) -> None:
    """The findings on the standard output, and where the report is."""
    from rich.console import Console

    from fewer.report import print_study

    if as_json:
        write_out(study.findings.to_json() + "\n")
        return
    console = Console(highlight=False)
    with console.capture() as captured:
        print_study(study.findings, console, study.seconds)
    write_out(without_trailing_spaces(captured.get()))
    write_out(f"\nReport: {study.folder.report}\nFeatures: {study.folder.features}\n")
    write_out(f"Held-out predictions: {study.folder.predictions}\n")
