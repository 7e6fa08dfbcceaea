"""``fewer study`` and what goes with it: ``resume``, ``show``, ``studies``, ``rm``."""

import re
import shutil
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fewer.cli import _reading
from fewer.cli._app import app, told_plainly, warnings_as_notes, without_trailing_spaces, write_out

if TYPE_CHECKING:
    from fewer.engine import Engine
    from fewer.facade import Study
    from fewer.study import Plan, StudyData, StudyFolder, StudyState

# Where facts begin in the lines of a plan.
_PLAN_INDENT = 16

Folder = Annotated[Path, typer.Argument(metavar="STUDY", help="Folder of the study.", show_default=False)]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, metavar="N", help="Workers on this machine; one for each core by default."),
]
EngineName = Annotated[str, typer.Option("--engine", help="Where the work runs: local or dask.")]
Scheduler = Annotated[
    str | None, typer.Option("--scheduler", metavar="ADDRESS", help="Dask: address of the scheduler.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the findings as JSON, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]


@app.command()
@_reading.reads_a_table
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
    groups: Annotated[
        str | None,
        typer.Option("--groups", metavar="COL", help="Column that names the group of a row; folds keep groups whole."),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option("--time", metavar="COL", help="Column of the time; rows are predicted from earlier ones only."),
    ] = None,
    preset: Annotated[str, typer.Option("--preset", help="Candidates and effort: quick, standard or thorough.")] = (
        "standard"
    ),
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--methods",
            metavar="A,B",
            help="Selectors and extractors (fewer methods --room select, --room extract) or scores to compare.",
        ),
    ] = None,
    learners: Annotated[
        list[str] | None,
        typer.Option(
            "--learners",
            metavar="A,B",
            help="ridge, logistic, lasso, elastic_net, poisson, fisher, lda, naive_bayes, multinomial_nb, linear_svm, "
            "svm, svm10, kernel_ridge, knn, extra_trees, forest, boosting.",
        ),
    ] = None,
    sizes: Annotated[
        list[str] | None, typer.Option("--sizes", metavar="N,M", help="Numbers of columns to try.")
    ] = None,
    scoring: Annotated[
        str | None, typer.Option("--scoring", help="A score of scikit-learn, such as balanced_accuracy.")
    ] = None,
    folds: Annotated[int | None, typer.Option("--folds", metavar="N", help="Folds of the cross-validation.")] = None,
    repeats: Annotated[int | None, typer.Option("--repeats", metavar="N", help="How often folds are drawn.")] = None,
    permutations: Annotated[
        int | None, typer.Option("--permutations", metavar="N", help="Permutations of each test; 0 for no tests.")
    ] = None,
    confidence: Annotated[float, typer.Option("--confidence", help="Confidence level of intervals and tests.")] = 0.95,
    margin: Annotated[
        float,
        typer.Option("--margin", help="Share of the gain of all columns that fewer may lose and still be 'not worse'."),
    ] = 0.1,
    parsimony: Annotated[
        str,
        typer.Option(
            "--parsimony",
            metavar="SHARE",
            help="Share of the best gain to give up for fewer columns; 0 takes the best score, one_se the fewest "
            "columns of the best candidate within one standard error.",
        ),
    ] = "0.05",
    impute: Annotated[
        str,
        typer.Option("--impute", help="How missing values are imputed: median, mean, knn, PCAMissing or SoftImputeCV."),
    ] = "median",
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="Random seed.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="Folder of the study.", show_default=False)
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option("--plan", metavar="FILE", help="Run the plan of a report (report.html) or of a plan.json again."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and about how long it takes.")] = False,
    engine: EngineName = "local",
    scheduler: Scheduler = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="A,B", help="Columns to learn from although they look like identifiers."),
    ] = None,
    drop: _reading.Drop = None,
    task: _reading.Task = "auto",
    *,
    options: _reading.ReadingOptions,
) -> None:
    """Study a table: is there anything to learn, do fewer features help and by how much, how few, and which ones.

    The same command resumes a study that was stopped.
    """
    with told_plainly():
        from fewer.study import Plan, StudyError, StudyFolder, make_plan

        if plan is None:
            if table is None:
                raise StudyError("Which table? fewer study TABLE --target COLUMN, or fewer study --plan report.html.")
            reading = {
                "table": _where(table),
                "target": target,
                "drop": _reading.names_in(drop),
                "keep": _reading.names_in(keep),
                "task": task,
                "groups": groups,
                "time": time,
                "options": options.given(),
            }
            data = _data(reading)
            made = make_plan(
                data,
                preset=preset,  # type: ignore[arg-type]  # checked there, with a message for people
                methods=_reading.names_in(methods) or None,
                learners=_reading.names_in(learners) or None,
                sizes=_numbers(_reading.names_in(sizes)) or None,
                n_folds=folds,
                n_repeats=repeats,
                scoring=scoring,
                n_permutations=permutations,
                confidence=confidence,
                margin=margin,
                parsimony=_parsimony(parsimony),
                seed=seed,
                impute=impute,
                reading=reading,
            )
        else:
            made = Plan.load(plan)
            data = _data(dict(made.reading) | ({"table": _where(table)} if table else {}))
        if dry_run:
            write_out(_foreseen(made, data, jobs))
            return
        folder = StudyFolder(out if out is not None else _default_folder(made))
        _show(_carried_out(made, data, folder, engine, scheduler, jobs, quiet=quiet or as_json), as_json=as_json)


@app.command()
def resume(
    folder: Folder,
    engine: EngineName = "local",
    scheduler: Scheduler = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Go on with a study that was stopped."""
    with told_plainly():
        from fewer.study import Journal, StudyFolder

        where = StudyFolder(folder)
        with Journal.read(where.journal) as journal:
            plan = journal.plan
        data = _data(dict(plan.reading))
        _show(_carried_out(plan, data, where, engine, scheduler, jobs, quiet=quiet or as_json), as_json=as_json)


@app.command()
def show(folder: Folder, as_json: AsJson = False) -> None:
    """Show the findings of a study again, or how far it has come."""
    with told_plainly():
        from fewer.study import StudyError, StudyFolder, study_state

        if StudyFolder(folder).finished:
            from fewer.facade import Study

            _show(Study(folder), as_json=as_json)
            return
        state = study_state(folder)
        so_far = f"The study of {state.source} is {_progress(state)}. Go on with: fewer resume {folder}"
        if as_json:
            raise StudyError(so_far)
        write_out(f"{so_far}\n")


@app.command()
def studies(
    home: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of studies.")] = Path("fewer-studies"),
) -> None:
    """List the studies of a folder."""
    with told_plainly():
        from fewer.study import studies_in

        found = studies_in(home)
        if not found:
            write_out(f"There is no study in {home}. Begin with: fewer study TABLE --target COLUMN\n")
        for state in found:
            if state.damage is not None:
                write_out(f"{state.folder.path}\n  {state.damage}\n")
                continue
            running = f"; running: {state.owner}" if state.owner else ""
            progress = state.headline or f"{_progress(state)}{running}"
            write_out(f"{state.folder.path}  ({state.started[:16].replace('T', ' ')})\n  {progress}\n")


@app.command()
def rm(
    folders: Annotated[list[Path], typer.Argument(metavar="STUDY...", help="Folders of studies.", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Stop a study that is running, then remove it.")] = False,
) -> None:
    """Remove studies: their journal, findings, report and model."""
    with told_plainly():
        from fewer.study import StudyError, StudyFolder, study_state

        for folder in folders:
            where = StudyFolder(folder)
            try:
                what = f"the study of {study_state(folder).source}"
            except StudyError:
                what = "the study"  # a damaged one can be removed, too
            if where.owner is not None and not force:
                raise StudyError(f"The study in {folder} is run by {where.owner}. Stop it and remove it with --force.")
            if yes or typer.confirm(f"Remove {what} in {folder}?"):
                if force:
                    where.stop()
                where.remove()
                write_out(f"Removed {folder}.\n")
            else:
                write_out(f"Kept {folder}.\n")


def _progress(state: "StudyState") -> str:
    """How far a study has come that is not finished."""
    tests = "; tests and the report are left" if state.done >= state.total else ""
    return f"not finished: {state.done:,} of {state.total:,} evaluations{tests}"


def _where(table: str) -> str:
    """Where the table is, from any folder: a path in full, names of data sets and addresses as they are."""
    path = Path(table)
    return str(path.resolve()) if path.exists() else table


def _data(reading: dict[str, Any]) -> "StudyData":
    """The table of a study, read as the plan says."""
    from fewer.study import StudyError, study_data

    if not reading.get("table"):
        raise StudyError("The plan does not say where the table is; give it: fewer study TABLE --plan FILE.")
    with warnings_as_notes():
        dataset = _reading.read(
            reading["table"],
            reading.get("target"),
            reading.get("drop", []),
            reading.get("task", "auto"),
            dict(reading.get("options", {})),
        )
        return study_data(dataset, groups=reading.get("groups"), time=reading.get("time"), keep=reading.get("keep", ()))


def _numbers(words: list[str]) -> list[int]:
    from fewer.study import StudyError

    try:
        return [int(word) for word in words]
    except ValueError:
        raise StudyError(f"--sizes takes whole numbers, such as 5,10,50, and got {','.join(words)}.") from None


def _default_folder(plan: "Plan") -> Path:
    """A folder for this table and target, and for another plan another one."""
    from fewer.study import HOME

    name = Path(plan.source.split("(")[0].strip().removeprefix("data set ")).stem
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
) -> "Study":
    from fewer.facade import carry_out
    from fewer.study import StudyInterruptedError

    if not quiet:
        typer.secho(f"Study in {folder.path}", err=True)
    try:
        with _engine(engine, scheduler, jobs) as where, warnings_as_notes():
            return carry_out(plan, data, folder, engine=where, progress=False if quiet else "auto")
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
            raise StudyError("Which cluster? Give the address of its scheduler: --scheduler tcp://HOST:8786.")
        return Engine.dask(scheduler)
    raise StudyError(f"There is no engine {name!r}; there are local and dask.")


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


def _parsimony(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text
