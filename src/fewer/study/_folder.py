"""The folder of a study: its journal, and what the user keeps."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from fewer._estimators import beside_of
from fewer.study._checked_file import read_checked
from fewer.study._errors import StudyError
from fewer.study._journal import Journal, glance, side_files
from fewer.study._lock import NAME as LOCK
from fewer.study._lock import Owner, locked, owner_of, stop_owner

HOME = Path("fewer-studies")
_FILES = ("journal.sqlite", "plan.json", "findings.json", "features.txt", "report.html", "model.skops", "model.json")


@dataclass(frozen=True)
class StudyFolder:
    """Where the parts of a study are.

    Attributes
    ----------
    path : Path
        The folder.
    """

    path: Path

    @property
    def journal(self) -> Path:
        """Finished work."""
        return self.path / "journal.sqlite"

    @property
    def plan(self) -> Path:
        """The plan, as JSON."""
        return self.path / "plan.json"

    @property
    def findings(self) -> Path:
        """The findings, as JSON."""
        return self.path / "findings.json"

    @property
    def features(self) -> Path:
        """Names of the chosen columns, one on each line, best first."""
        return self.path / "features.txt"

    @property
    def report(self) -> Path:
        """The report."""
        return self.path / "report.html"

    @property
    def model(self) -> Path:
        """The fitted pipeline."""
        return self.path / "model.skops"

    @property
    def exists(self) -> bool:
        """Whether a study was started here."""
        return Journal.begun(self.journal)

    @property
    def finished(self) -> bool:
        """Whether the study is finished."""
        return self.exists and self.findings.exists()

    @property
    def owner(self) -> Owner | None:
        """The process that runs the study now."""
        return owner_of(self.path)

    def locked(self) -> AbstractContextManager[None]:
        """Keep other processes from running the same study; the lock goes with the process, however it ends."""
        return locked(self.path)

    def stop(self) -> None:
        """End the process that runs the study, if there is one; what is finished stays in the journal."""
        stop_owner(self.path)

    def remove(self) -> None:
        """Delete the study, which must not be running. Other files in the folder are kept."""
        if not any((self.path / name).exists() for name in _FILES):
            raise StudyError(f"There is no study in {self.path}, so nothing was removed.")
        with self.locked():
            for name in _FILES:
                for path in (self.path / name, beside_of(self.path / name)):
                    for each in side_files(path):
                        each.unlink(missing_ok=True)
            (self.path / LOCK).unlink(missing_ok=True)
        if not any(self.path.iterdir()):
            self.path.rmdir()


@dataclass(frozen=True)
class StudyState:
    """Progress of a study.

    Attributes
    ----------
    folder : StudyFolder
        Where it is.
    source, target : str
        What it is about.
    started : str
        When it began.
    done : int
        Evaluations finished.
    total : int
        Evaluations planned, without the permutation tests.
    headline : str or None
        The first line of its findings; None until it is finished.
    owner : Owner or None
        The process that runs it now.
    damage : str or None
        Why it cannot be read; then all else is empty.
    """

    folder: StudyFolder
    source: str = ""
    target: str = ""
    started: str = ""
    done: int = 0
    total: int = 0
    headline: str | None = None
    owner: Owner | None = None
    damage: str | None = None


def study_state(path: "str | Path") -> StudyState:
    """Progress of the study in a folder; it may be running."""
    folder = StudyFolder(Path(path))
    plan, started, done = glance(folder.journal)
    return StudyState(
        folder=folder,
        source=plan["source"],
        target=plan["target"],
        started=started,
        done=done,
        total=len(plan["candidates"]) * plan["n_folds"] * plan["n_repeats"],
        headline=read_checked(folder.findings)["headline"] if folder.findings.exists() else None,
        owner=folder.owner,
    )


def studies_in(home: "str | Path" = HOME) -> list[StudyState]:
    """All studies in a folder of studies, by name; a damaged one is listed with its error."""
    home = Path(home)
    if not home.is_dir():
        return []
    found = []
    for folder in map(StudyFolder, sorted(home.iterdir())):
        try:
            if folder.exists:
                found.append(study_state(folder.path))
        except (StudyError, OSError) as error:
            found.append(StudyState(folder, damage=str(error)))
    return found
