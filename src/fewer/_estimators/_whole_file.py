"""Files that are written as a whole: a reader, or the next run after a kill, finds the old file or the new one."""

import os
from pathlib import Path


def write_whole(path: "str | Path", content: str | bytes) -> None:
    """Write a file beside its place, flush it to the disk, and rename it.

    Parameters
    ----------
    path : str or Path
        Where to; a symbolic link is followed.
    content : str or bytes
        Text is written in UTF-8.
    """
    place = Path(os.path.realpath(path))
    beside = beside_of(place)
    try:
        with beside.open("wb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        put_in_place(beside, place)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def beside_of(path: Path) -> Path:
    """Where a file is made before it gets its name; a file that a killed process left there is overwritten."""
    return path.with_name(f"{path.name}.new")


def put_in_place(beside: Path, path: Path) -> None:
    """Rename a file that is complete on the disk, and flush the folder, so that the name is on the disk as well."""
    beside.replace(path)
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
