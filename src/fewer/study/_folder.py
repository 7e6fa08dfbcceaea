"""The folder of a study: its journal, and what the user keeps."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fewer.study._errors import StudyError
from fewer.study._journal import Journal

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
        """Whether a study has begun here."""
        return self.journal.exists()

    @property
    def finished(self) -> bool:
        """Whether it has come to its end."""
        return self.exists and self.findings.exists()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from running the same study; the lock goes with the process, however it ends."""
        import fcntl

        try:
            self.path.mkdir(parents=True, exist_ok=True)
            handle = (self.path / ".lock").open("a")
        except OSError as error:
            raise StudyError(
                f"The folder {self.path} cannot be written: {error.strerror}. Choose another with --out FOLDER."
            ) from None
        with handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise StudyError(
                    f"Another process is running the study in {self.path}; wait for it, or stop it."
                ) from None
            yield

    def remove(self) -> None:
        """Delete the study. Only its own files go; a folder that holds others stays with them."""
        if not self.exists:
            raise StudyError(f"There is no study in {self.path}, so nothing was removed.")
        with self.locked():
            for name in _FILES:
                for leftover in (name, f"{name}-wal", f"{name}-shm"):
                    (self.path / leftover).unlink(missing_ok=True)
            (self.path / ".lock").unlink(missing_ok=True)
        if not any(self.path.iterdir()):
            shutil.rmtree(self.path)


@dataclass(frozen=True)
class StudyState:
    """How far a study has come.

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
    """

    folder: StudyFolder
    source: str
    target: str
    started: str
    done: int
    total: int
    headline: str | None


def study_state(path: "str | Path") -> StudyState:
    """How far the study in a folder has come; it may be running."""
    import json

    folder = StudyFolder(Path(path))
    with Journal.read(folder.journal) as journal:
        headline = None
        if folder.findings.exists():
            headline = json.loads(folder.findings.read_text(encoding="utf-8"))["headline"]
        return StudyState(
            folder=folder,
            source=journal.plan.source,
            target=journal.plan.target,
            started=journal.started,
            done=len(journal.keys("fold/")),
            total=journal.plan.n_evaluations,
            headline=headline,
        )


def studies_in(home: "str | Path" = HOME) -> list[StudyState]:
    """All studies in a folder of studies, by name."""
    home = Path(home)
    if not home.is_dir():
        return []
    return [study_state(path) for path in sorted(home.iterdir()) if StudyFolder(path).exists]
