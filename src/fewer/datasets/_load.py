"""Data sets by name: find the record, read its files, hand over a Dataset."""

import difflib
import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fewer.datasets import _islp, _keel, _mlxtend, _sklearn_sets
from fewer.datasets._errors import DatasetError, PackageMissingError
from fewer.datasets._record import COLLECTIONS, Record

if TYPE_CHECKING:
    from fewer.io import Dataset

_RECORDS = (*_sklearn_sets.RECORDS, *_islp.RECORDS, *_mlxtend.RECORDS, *_keel.RECORDS)


def available(installed_only: bool = False) -> list[Record]:
    """Every data set that :func:`load` knows, with its size and what it is.

    Parameters
    ----------
    installed_only : bool, default=False
        Leave out the sets whose package is not installed.

    Returns
    -------
    records : list of Record
        scikit-learn's sets first, then the others by package.

    Examples
    --------
    >>> from fewer.datasets import available
    >>> for record in available(installed_only=True)[:2]:
    ...     print(record)
    iris: 150 rows x 4 columns, 3 classes (scikit-learn). Flowers of three species of iris.
    wine: 178 rows x 13 columns, 3 classes (scikit-learn). Chemistry of wines of three cultivars.

    Wide sets, with more columns than rows:

    >>> [record.name for record in available() if record.columns > record.rows]
    ['khan', 'nci60']
    """
    return [record for record in _RECORDS if record.installed or not installed_only]


def load(name: str, **options: Any) -> "Dataset":
    """Load a data set by its name.

    Parameters
    ----------
    name : str
        A name from :func:`available`, in any case. The collection may stand in front: ``"keel/iris"`` is KEEL's
        copy of iris, plain ``"iris"`` is scikit-learn's.
    **options
        What the set offers: ``subset="train"``, ``"test"`` or ``"all"`` for ``khan``; ``target="Weight"``, ``"Waist"``
        or ``"Pulse"`` for ``linnerud``; ``scaled=False`` for ``diabetes``.

    Returns
    -------
    dataset : fewer.io.Dataset
        The table with its target, named columns and kinds.

    Raises
    ------
    DatasetError
        For a name or an option that does not exist.
    PackageMissingError
        For a set whose package is not installed; it is an ``ImportError`` too.

    See Also
    --------
    available : The names, with sizes and packages.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> wine = load("wine")
    >>> wine.shape
    (178, 13)
    >>> list(wine.classes)
    ['class_0', 'class_1', 'class_2']
    >>> load("linnerud", target="Pulse").target
    'Pulse'
    """
    from fewer.io import read_table

    record = _record_named(name)
    _refuse_unknown_options(record, options)
    if not record.installed:
        raise PackageMissingError(record.package, record.name)
    table = record.reader(**options)
    dataset = read_table(table.frame, target=table.y, task=record.task)
    return replace(dataset, target=table.target, source=f"data set {record.name} ({record.package})")


def _record_named(name: str) -> Record:
    """The record that a name means, or an error that offers near names."""
    names = {record.full_name: record for record in _RECORDS} | {record.name: record for record in _RECORDS}
    wanted = str(name).strip().lower()
    if wanted in names:
        return names[wanted]
    raise DatasetError(
        f"There is no data set {name!r}. {_hint(wanted, list(names))}fewer.datasets.available() lists them all."
    )


def _hint(wanted: str, names: list[str]) -> str:
    near = difflib.get_close_matches(wanted, names, n=3, cutoff=0.6)
    if near:
        return f"Did you mean {' or '.join(map(repr, near))}? "
    collection, slash, _ = wanted.partition("/")
    if slash and collection not in COLLECTIONS:
        return f"The part before the slash is one of {', '.join(COLLECTIONS)}. "
    return ""


def _refuse_unknown_options(record: Record, options: dict[str, Any]) -> None:
    known = [
        parameter.name
        for parameter in inspect.signature(record.reader).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    unknown = [option for option in options if option not in known]
    if unknown:
        offer = f"it takes {', '.join(known)}" if known else "it takes no options"
        raise DatasetError(f"{record.name!r} has no option {', '.join(map(repr, unknown))}: {offer}.")
