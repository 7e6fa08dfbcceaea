"""A folder for a study that nobody asked to keep: it goes with its owner, or else when the next one is made."""

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_PREFIX = "fewer-study-"
_ALIVE = ".alive"


class TemporaryFolder:
    """A temporary folder that is deleted with this object.

    A process that is killed deletes nothing. So the folder contains a file that its process keeps locked, and the next
    folder that is made deletes those whose file is not locked any more.

    Attributes
    ----------
    path : Path
        The folder.
    """

    def __init__(self) -> None:
        import fcntl

        _sweep()
        self._folder = tempfile.TemporaryDirectory(prefix=_PREFIX)
        self.path = Path(self._folder.name)
        # It gets its name when it is locked, so that nobody takes it for one that was left.
        new = self.path / f"{_ALIVE}.new"
        self._alive = new.open("wb")
        fcntl.flock(self._alive, fcntl.LOCK_EX)
        new.rename(self.path / _ALIVE)


def _sweep() -> None:
    import fcntl

    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError), (folder / _ALIVE).open("rb") as alive:  # locked, somebody else's, or gone meanwhile
            fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
