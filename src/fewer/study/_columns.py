"""What becomes of each column of the table: left out, kept as it is, or made into features.

One object, which the plan, the findings, the model, ``apply`` and the report share. The features are known when the
preparation has been fitted on all rows, once, after the folds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fewer.study._scores import AllScores
    from fewer.study._work import Bench

COLUMNS = "columns"


@dataclass(frozen=True)
class TableColumn:
    """A column of the table in a study.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        Its kind, as a Dataset has it.
    left_out : str
        Why it is not learnt from; empty if it is.
    features : tuple of str
        What the preparation makes of it: itself, a column for each category, or nothing if it is constant.
    """

    name: str
    kind: str
    left_out: str = ""
    features: tuple[str, ...] = ()

    def to_list(self) -> list[Any]:
        """Plain data; None stands for a column that is its own and only feature."""
        features = None if self.features == (self.name,) else list(self.features)
        return [self.name, self.kind, self.left_out, features]

    @classmethod
    def from_list(cls, data: Sequence[Any]) -> "TableColumn":
        """What ``to_list`` has written."""
        name, kind, left_out, features = data
        return cls(name, kind, left_out, (name,) if features is None else tuple(features))


def columns_from(data: Iterable[Sequence[Any]]) -> tuple[TableColumn, ...]:
    """The columns of a table from plain data."""
    return tuple(map(TableColumn.from_list, data))


def do_columns(bench: "Bench", scores: "AllScores | None" = None) -> dict[str, Any]:
    """The columns of the table with their features, and the rows in a fold over rows trained on."""
    features: dict[str, list[str]] = {}
    for column in bench.whole().columns:
        features.setdefault(column.source, []).append(column.name)
    ratios = [len(fold.test) / len(fold.train) for folds in bench.repeats for fold in folds]
    found = [
        TableColumn(each.name, each.kind, each.left_out, tuple(features.get(each.name, ())))
        for each in bench.data.columns
    ]
    return {"columns": [each.to_list() for each in found], "test_ratio": sum(ratios) / len(ratios)}
