"""A whole study in one call: table, plan, run, findings, report and model.

Like the command line, it only combines the other packages.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewer._estimators import each_warning_once, write_whole
from fewer.study import (
    Findings,
    Journal,
    Plan,
    StudyData,
    StudyError,
    StudyFolder,
    StudyModel,
    TemporaryFolder,
    findings_of,
    fit_model,
    make_plan,
    run_plan,
    study_data,
)

if TYPE_CHECKING:
    from fewer.engine import Engine
    from fewer.io import Dataset


class Study:
    """A finished study; made by :func:`run_study`, or opened from its folder.

    Parameters
    ----------
    folder : str or Path
        Folder of the study.

    Attributes
    ----------
    folder : StudyFolder
        Its files.
    plan : Plan
        What was done.
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

    def __init__(self, folder: "str | Path") -> None:
        self.folder = StudyFolder(Path(folder))
        with Journal.read(self.folder.journal) as journal:
            self.plan: Plan = journal.plan
            self.findings: Findings = findings_of(journal)
            self.seconds: dict[str, float] = journal.seconds()
        self._model: StudyModel | None = None

    @property
    def model(self) -> StudyModel:
        """The fitted model with the columns that it needs."""
        if self._model is None:
            self._model = StudyModel.load(self.folder.model)
        return self._model

    @property
    def best_pipeline_(self) -> Any:
        """The winning pipeline, fitted on all rows; it takes the columns ``columns_``."""
        return self.model.pipeline

    @property
    def columns_(self) -> list[str]:
        """Columns of a table that the pipeline takes."""
        return list(self.model.columns)

    def report(self, path: "str | Path | None" = None) -> Path:
        """Write the report, one HTML file that works offline.

        Parameters
        ----------
        path : str or Path, default=None
            Where to; into the folder of the study by default.

        Returns
        -------
        path : Path
            The file.
        """
        from fewer.report import study_page

        path = self.folder.report if path is None else Path(path)
        write_whole(path, study_page(self.findings, self.seconds))
        return path

    def __repr__(self) -> str:
        return f"Study of {self.plan.source} in {self.folder.path}\n{self.findings.headline}"

    def _repr_html_(self) -> str:
        from fewer.report import study_summary_html

        return study_summary_html(self.findings)


def run_study(
    table: Any,
    target: str | None = None,
    *,
    out: "str | Path | None" = None,
    groups: str | None = None,
    time: str | None = None,
    keep: Iterable[str] = (),
    drop: Iterable[str] = (),
    preset: str = "standard",
    methods: Iterable[str] | None = None,
    learners: Iterable[str] | None = None,
    sizes: Iterable[int] | None = None,
    n_folds: int | None = None,
    n_repeats: int | None = None,
    scoring: str | None = None,
    n_permutations: int | None = None,
    confidence: float = 0.95,
    margin: float = 0.1,
    parsimony: Any = 0.05,
    seed: int = 0,
    impute: str = "median",
    plan: Plan | None = None,
    engine: "Engine | None" = None,
    n_jobs: int | None = None,
    progress: Any = False,
    reading: Mapping[str, Any] | None = None,
) -> Study:
    """Study a table: can the target be predicted, do fewer features help, how few, which ones.

    Parameters
    ----------
    table : path, frame, array, sparse matrix or Dataset
        The table.
    target : str, default=None
        Column to predict; not needed if the Dataset has one.
    out : str or Path, default=None
        Folder of the study. A study with the same plan that was started there is continued. By default a temporary
        folder, which is deleted with the result.
    groups : str, default=None
        Column with the group of each row; rows of a group are always in the same fold.
    time : str, default=None
        Column that orders the rows by time; rows are predicted from earlier ones only.
    keep, drop : iterable of str, default=()
        Columns to use although they look like identifiers; columns to drop.
    preset : {"quick", "standard", "thorough"}, default="standard"
        Candidates and effort.
    methods, learners, sizes : iterable, default=None
        Selectors or scores, learners ("ridge", "lasso", "svm", "boosting" ...), and numbers of columns, instead of
        those of the preset.
    n_folds, n_repeats, n_permutations : int, default=None
        Numbers to use instead of those of the preset.
    scoring : str, default=None
        Name of a scikit-learn scorer; by default accuracy (balanced where a class is rare), or R2.
    confidence : float, default=0.95
        Confidence level of intervals; one minus it is the significance level of tests.
    margin : float, default=0.1
        Share of what all columns gain over the baseline that fewer columns may lose and still count as not worse.
    parsimony : float or "one_se", default=0.05
        Share of what the best candidate gains over the baseline that may be given up for fewer columns, or the rule of
        one standard error.
    seed : int, default=0
        Random seed.
    impute : {"median", "mean", "knn", "PCAMissing", "SoftImputeCV"}, default="median"
        How missing values are imputed, inside the folds: column by column, or from the other columns.
    plan : Plan, default=None
        A plan made earlier; ``preset`` to ``impute`` are then ignored.
    engine : Engine, default=None
        Where the work runs; by default on this machine with ``n_jobs`` workers.
    n_jobs : int, default=None
        Workers on this machine; one for each core by default.
    progress : bool, "auto" or callable, default=False
        As in ``Engine.run``.
    reading : mapping, default=None
        How the table was read, to be stored in the plan.

    Returns
    -------
    study : Study
        Findings, report and model.

    Examples
    --------
    >>> import fewer
    >>> study = fewer.run_study(
    ...     fewer.datasets.load("iris"), preset="quick", n_repeats=1, n_permutations=19, n_jobs=1
    ... )
    >>> study.findings.learnable.verdict
    'yes'
    """
    dataset = _dataset(table, target, tuple(drop))
    data = study_data(dataset, groups=groups, time=time, keep=keep)
    if plan is None:
        plan = make_plan(
            data,
            preset=preset,  # type: ignore[arg-type]  # checked there, with a message for people
            methods=methods,
            learners=learners,
            sizes=sizes,
            n_folds=n_folds,
            n_repeats=n_repeats,
            scoring=scoring,
            n_permutations=n_permutations,
            confidence=confidence,
            margin=margin,
            parsimony=parsimony,
            seed=seed,
            impute=impute,
            reading=reading,
        )
    temporary = TemporaryFolder() if out is None else None
    folder = StudyFolder(temporary.path if temporary else Path(out))  # type: ignore[arg-type]  # one of them is given
    study = carry_out(plan, data, folder, engine=engine, n_jobs=n_jobs, progress=progress)
    study._temporary = temporary
    return study


@each_warning_once()
def carry_out(
    plan: Plan,
    data: StudyData,
    folder: StudyFolder,
    *,
    engine: "Engine | None" = None,
    n_jobs: int | None = None,
    progress: Any = False,
) -> Study:
    """Run a plan in a folder, or continue it, and write the results."""
    from fewer.engine import Engine

    with folder.locked():
        with Journal.open(folder.journal, plan) if folder.exists else Journal.create(folder.journal, plan) as journal:
            if engine is not None:
                run_plan(plan, data, journal, engine=engine, progress=progress)
            else:
                with Engine.local(n_jobs) as here:
                    run_plan(plan, data, journal, engine=here, progress=progress)
        study = Study(folder.path)
        _write(study, data)
    return study


def _write(study: Study, data: StudyData) -> None:
    folder, findings = study.folder, study.findings
    try:
        study.plan.save(folder.plan)
        write_whole(folder.features, "".join(f"{name}\n" for name in findings.chosen))
        fit_model(study.plan, data, findings).save(folder.model)
        study.report()
        # Last, because its presence means that the study is finished.
        findings.save(folder.findings)
    except OSError as error:
        raise StudyError(
            f"The results cannot be written to {folder.path}: {error.strerror}. Finished tasks are kept "
            "in the journal: free some space, or allow writing, then run the same command again."
        ) from None


def _dataset(table: Any, target: str | None, drop: tuple[str, ...]) -> "Dataset":
    from fewer.io import Dataset, read_table

    if not isinstance(table, Dataset):
        return read_table(table, target=target, drop=drop)
    if target is not None and target != table.target:
        return Dataset.from_frame(table.to_polars(dense=True), target=target, drop=drop)
    return table.drop(drop) if drop else table
