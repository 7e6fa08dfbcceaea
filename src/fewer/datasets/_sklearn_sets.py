"""The data sets that scikit-learn carries, with their own column and class names."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from fewer.datasets._errors import DatasetError
from fewer.datasets._record import Record
from fewer.datasets._table import Table


def _bunch(loader: str, **options: Any) -> Any:
    from sklearn import datasets

    return getattr(datasets, loader)(**options)


def _frame(values: Any, names: Iterable[str]) -> Any:
    import polars as pl

    return pl.DataFrame(values, schema=list(names), orient="row")


def _classification(loader: str, target: str) -> Table:
    bunch = _bunch(loader)
    classes = bunch.target_names
    if classes.dtype.kind == "U":  # as Python strings, which is what every reader of tables gives
        classes = classes.astype(object)
    return Table(_frame(bunch.data, bunch.feature_names), classes[bunch.target], target)


def _diabetes(*, scaled: bool = True) -> Table:
    bunch = _bunch("load_diabetes", scaled=scaled)
    return Table(_frame(bunch.data, bunch.feature_names), bunch.target, "progression")


def _linnerud(*, target: str = "Weight") -> Table:
    bunch = _bunch("load_linnerud")
    names = {name.lower(): position for position, name in enumerate(bunch.target_names)}
    position = names.get(str(target).lower())
    if position is None:
        raise DatasetError(
            f"target={target!r}: 'linnerud' has the targets {', '.join(bunch.target_names)}; choose one of them."
        )
    return Table(_frame(bunch.data, bunch.feature_names), bunch.target[:, position], bunch.target_names[position])


def _set(name: str, rows: int, columns: int, classes: int | None, about: str, reader: Any) -> Record:
    return Record(name, rows, columns, classes, "sklearn", about, reader)


RECORDS = (
    _set("iris", 150, 4, 3, "Flowers of three species of iris.", partial(_classification, "load_iris", "species")),
    _set(
        "wine", 178, 13, 3, "Chemistry of wines of three cultivars.", partial(_classification, "load_wine", "cultivar")
    ),
    _set(
        "breast_cancer",
        569,
        30,
        2,
        "Cell nuclei in images of breast masses, malignant or benign.",
        partial(_classification, "load_breast_cancer", "diagnosis"),
    ),
    _set("digits", 1797, 64, 10, "Handwritten digits, 8 x 8 pixels.", partial(_classification, "load_digits", "digit")),
    _set(
        "diabetes",
        442,
        10,
        None,
        "Patients with diabetes and how far it went in a year. scaled=False gives the raw units.",
        _diabetes,
    ),
    _set(
        "linnerud",
        20,
        3,
        None,
        "Exercises of twenty men; target='Weight' (the default), 'Waist' or 'Pulse'.",
        _linnerud,
    ),
)
