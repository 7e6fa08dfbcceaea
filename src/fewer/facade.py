"""A whole study in one call: table, plan, run, findings, report and model.

Like the command line, it only combines the other packages.
"""

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewer._estimators import each_warning_once, warn_caller, write_whole
from fewer._options import THEMES, named, options_of, with_options
from fewer._wording import parameter
from fewer.datasets import open_table, place_of
from fewer.study import (
    Clock,
    Findings,
    Journal,
    Plan,
    StudyData,
    StudyError,
    StudyFolder,
    StudyModel,
    TemporaryFolder,
    UnsavableModelError,
    findings_of,
    fit_model,
    held_out_predictions,
    make_plan,
    parquet_of,
    run_plan,
    study_data,
    winner_code,
)

if TYPE_CHECKING:
    import polars as pl

    from fewer.engine import Engine


class Study:
    """A finished study; made by :func:`run_study`, or opened from its folder.

    Parameters
    ----------
    folder : str or Path
        Folder of the study.
    trusted : iterable of str, default=()
        Types of other packages that may be loaded with its model, as in ``StudyModel.load``.

    Attributes
    ----------
    folder : StudyFolder
        Its files.
    plan : Plan
        What was done; with a time limit, what that left of the plan.
    findings : Findings
        What was found.

    Examples
    --------
    >>> import fewer
    >>> wine = fewer.datasets.load("wine")
    >>> study = fewer.run_study(wine, preset="quick", n_repeats=1, n_permutations=0, n_jobs=1)
    >>> study.findings.learnable.verdict
    'not tested'
    >>> len(study.best_pipeline_.predict(wine.keep(study.columns_).X))
    178
    """

    # Keeps a temporary folder as long as the study itself.
    _temporary: Any = None

    def __init__(self, folder: "str | Path", *, trusted: Iterable[str] = (), _journal: Journal | None = None) -> None:
        self._trusted = tuple(trusted)
        self.folder = StudyFolder(Path(folder))
        with nullcontext(_journal) if _journal is not None else Journal.read(self.folder.journal) as journal:
            self.findings: Findings = findings_of(journal)
            self.plan: Plan = self.findings.plan
            self.seconds: dict[str, float] = journal.seconds()
        self._model: StudyModel | None = None

    @property
    def model(self) -> StudyModel:
        """The fitted model with the columns that it needs."""
        if self._model is None:
            self._model = StudyModel.load(self.folder.model, trusted=self._trusted)
        return self._model

    @property
    def best_pipeline_(self) -> Any:
        """The winning pipeline, fitted on all rows; it takes the columns ``columns_``."""
        return self.model.pipeline

    @property
    def code(self) -> str | None:
        """Python code that fits the winner again; None if its model cannot be read, or cannot be written as code."""
        try:
            return winner_code(self.plan, self.model)
        except StudyError:
            return None

    def best_pipeline(self) -> Any:
        """The winning pipeline, fitted on all rows, for any table that has its columns.

        Returns
        -------
        pipeline : sklearn.pipeline.Pipeline
            Takes a pandas or polars frame, or a ``Dataset``, finds the columns by name, and ignores others. Of an
            array, which has no names, it takes the columns ``columns_``.
        """
        return self.model.for_frames()

    @property
    def columns_(self) -> list[str]:
        """Columns of a table that the pipeline takes."""
        return list(self.model.columns)

    @property
    def predictions(self) -> "pl.DataFrame":
        """Held-out predictions of the winning procedure, of all columns and of the baseline, row by row and fold."""
        with Journal.read(self.folder.journal) as journal:
            return held_out_predictions(journal)

    def report(self, path: "str | Path | None" = None, *, theme: str = "screen") -> Path:
        """Write the report, one HTML file that works offline.

        Parameters
        ----------
        path : str or Path, default=None
            Where to; into the folder of the study by default.
        theme : {"screen", "print"}, default="screen"
            In colours, or in black and white for print.

        Returns
        -------
        path : Path
            The file.
        """
        from fewer.report import study_page

        check_theme(theme)
        path = self.folder.report if path is None else Path(path)
        write_whole(path, study_page(self.findings, self.seconds, self.code, theme))
        return path

    def __repr__(self) -> str:
        return f"Study of {self.plan.source} in {self.folder.path}\n{self.findings.headline}"

    def _repr_html_(self) -> str:
        return self.findings._repr_html_()


def check_theme(theme: str) -> None:
    """Raise for a look of the report that there is not, before hours of work."""
    if theme not in THEMES:
        raise StudyError(f"{parameter('theme')} must be one of {', '.join(THEMES)}, not {theme!r}.")


@with_options("table", "reading", "plan", "report")
def run_study(
    table: Any,
    target: str | None = None,
    *,
    out: "str | Path | None" = None,
    plan: Plan | None = None,
    engine: "Engine | None" = None,
    n_jobs: int | None = None,
    progress: Any = False,
    options: Mapping[str, Any],
) -> Study:
    """Study a table: can the target be predicted, do fewer features help, how few, which ones.

    Parameters
    ----------
    table : path, URI, "dataset:NAME", frame, array, sparse matrix or Dataset
        The table.
    target : str, default=None
        Column to predict; not needed if the data set has one.
    out : str or Path, default=None
        Folder of the study. A study with the same plan that was started there is continued. By default a temporary
        folder, which is deleted with the result.
    plan : Plan, default=None
        A plan made earlier; options that would make another one are then ignored.
    engine : Engine, default=None
        Where the work runs; by default on this machine with ``n_jobs`` workers.
    n_jobs : int, default=None
        Workers on this machine; one for each core by default.
    progress : bool, "auto" or callable, default=False
        As in ``Engine.run``.
    {options}

    Returns
    -------
    study : Study
        Findings, report and model.

    Examples
    --------
    >>> import fewer
    >>> study = fewer.run_study("dataset:iris", preset="quick", n_repeats=1, n_permutations=19, n_jobs=1)
    >>> study.findings.learnable.verdict
    'yes'
    """
    clock = Clock()
    check_theme(options["theme"])
    reading = reading_of(table, target, options)
    data = data_of(reading, table)
    if plan is None:
        plan = make_plan(
            data,
            reading=reading if reading["table"] else None,
            **{option.name: options[option.name] for option in options_of("plan")},
        )
    temporary = TemporaryFolder() if out is None else None
    folder = StudyFolder(temporary.path if temporary else Path(out))  # type: ignore[arg-type]  # one of them is given
    where: dict[str, Any] = {"engine": engine, "n_jobs": n_jobs}
    study = carry_out(plan, data, folder, **where, progress=progress, theme=options["theme"], clock=clock)
    study._temporary = temporary
    return study


def reading_of(table: Any, target: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """How a table is read, as plain data for a plan; its place is None if it is in memory."""
    given = {option.name: options.get(option.name) for option in options_of("reading")}
    return {
        "table": place_of(table),
        "target": target,
        "drop": list(options["drop"] or ()),
        "keep": list(options["keep"] or ()),
        "task": options["task"],
        "groups": options["groups"],
        "time": options["time"],
        "weights": options["weights"],
        "options": {
            name: list(value) if name == "missing_values" else value
            for name, value in given.items()
            if value not in (None, named(name).default)
        },
    }


def data_of(reading: Mapping[str, Any], table: Any = None) -> StudyData:
    """The table of a study, read as a plan says; from another place, or from memory, if that is given."""
    if table is None and not reading.get("table"):
        raise StudyError("The plan does not contain the path of the table; give it: fewer study TABLE --plan FILE.")
    dataset = open_table(
        reading["table"] if table is None else table,
        reading.get("target"),
        drop=reading.get("drop", ()),
        task=reading.get("task", "auto"),
        **dict(reading.get("options", {})),
    )
    roles = {name: reading.get(name) for name in ("groups", "time", "weights")}
    return study_data(dataset, **roles, keep=reading.get("keep", ()))


@each_warning_once()
def carry_out(
    plan: Plan,
    data: StudyData,
    folder: StudyFolder,
    *,
    engine: "Engine | None" = None,
    n_jobs: int | None = None,
    progress: Any = False,
    theme: str = "screen",
    clock: Clock | None = None,
) -> Study:
    """Run a plan in a folder, or continue it, and write the results; a time limit counts from the clock's start."""
    from fewer.engine import Engine

    with folder.locked():
        with Journal.open(folder.journal, plan) if folder.exists else Journal.create(folder.journal, plan) as journal:
            if engine is not None:
                run_plan(plan, data, journal, engine=engine, progress=progress, clock=clock)
            else:
                with Engine.local(n_jobs) as here:
                    run_plan(plan, data, journal, engine=here, progress=progress, clock=clock)
            study = Study(folder.path, _journal=journal)
            predictions = held_out_predictions(journal)
        _write(study, data, predictions, theme)
    return study


def _write(study: Study, data: StudyData, predictions: "pl.DataFrame", theme: str) -> None:
    folder, findings = study.folder, study.findings
    try:
        study.plan.save(folder.plan)
        write_whole(folder.features, "".join(f"{name}\n" for name in findings.chosen))
        write_whole(folder.predictions, parquet_of(predictions))
        study._model = fit_model(study.plan, data, findings)
        try:
            study._model.save(folder.model)
        except UnsavableModelError as error:
            warn_caller(f"{error} Findings and report are complete; `best_pipeline_` has the model.", UserWarning)
        study.report(theme=theme)
        # Last, because its presence means that the study is finished.
        findings.save(folder.findings)
    except OSError as error:
        raise StudyError(
            f"The results cannot be written to {folder.path}: {error.strerror}. Finished tasks are kept "
            "in the journal: free some space, or allow writing, then run the same command again."
        ) from None
