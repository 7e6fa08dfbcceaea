"""What a first look at a table finds, as plain data."""

import json
import math
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class CountInColumn:
    """How many cells of a column, and which share of its rows."""

    column: str
    count: int
    share: float


@dataclass(frozen=True)
class CountInRow:
    """How many cells of a row (counted from 1), and which share of its columns."""

    row: int
    count: int
    share: float


@dataclass(frozen=True)
class Missing:
    """Missing cells: how many, in which columns (worst first), and in which rows."""

    cells: int
    share: float
    columns: tuple[CountInColumn, ...]
    complete_rows: int
    worst_rows: tuple[CountInRow, ...]


@dataclass(frozen=True)
class Constant:
    """A column with one value, or with none at all (``value`` is None)."""

    column: str
    value: Any
    missing: int


@dataclass(frozen=True)
class NearDuplicateColumns:
    """Columns that nearly repeat the first of them, with their correlations with it (1 for itself)."""

    columns: tuple[str, ...]
    correlations: tuple[float, ...]


@dataclass(frozen=True)
class ClassCount:
    """Rows of one class."""

    label: Any
    count: int
    share: float


@dataclass(frozen=True)
class Distribution:
    """Where a target of numbers lies; over its finite values."""

    minimum: float | None
    lower_quartile: float | None
    median: float | None
    upper_quartile: float | None
    maximum: float | None
    mean: float | None
    standard_deviation: float | None
    skewness: float | None
    distinct: int
    infinite: int


@dataclass(frozen=True)
class Target:
    """What is to be predicted: classes (the most frequent first), or a distribution.

    ``reason`` says why it was taken so, and which option changes it; ``is_counts``, whether the numbers may count
    something.
    """

    name: str
    task: str
    classes: tuple[ClassCount, ...]
    distribution: Distribution | None
    reason: str = ""
    is_counts: bool = False

    @property
    def rarest(self) -> ClassCount | None:
        """The class with the fewest rows."""
        return self.classes[-1] if self.classes else None


@dataclass(frozen=True)
class LeakingColumn:
    """A column that alone predicts the target almost perfectly.

    ``by`` says whether its values do so or only which of its cells are missing; ``known`` is the share of rows where
    the column is not missing. ``level`` is "critical", or "warning" where the other columns predict it as well.
    """

    column: str
    score: float
    measure: str
    by: str
    known: float
    level: str = "critical"


@dataclass(frozen=True)
class DuplicateRows:
    """Rows that repeat an earlier one in all columns but identifiers, the target left aside.

    ``contradicting`` counts the rows whose equals have another target. ``examples`` lists some sets of equal rows,
    counted from 1, those with contradicting targets first. ``level`` is "critical" when more than 5% of the rows are
    repeats and random folds score higher than folds that keep equal rows together, "warning" above 1% of the rows, else
    "note"; the scores are there where they were computed.
    """

    repeats: int
    contradicting: int
    examples: tuple[tuple[int, ...], ...]
    level: str = "note"
    measure: str | None = None
    plain_score: float | None = None
    grouped_score: float | None = None


@dataclass(frozen=True)
class GroupColumn:
    """A column that names groups of rows that resemble each other, such as the rows of one patient.

    ``resemblance`` is the share of the rows whose nearest neighbour has the same value, ``chance`` what it would be
    among rows with the same target. ``constant_target`` says whether the target is nearly constant within a value. The
    scores are those of a quick learner with random folds and with folds that keep the rows of a value together.
    """

    column: str
    values: int
    rows_of_value: float
    resemblance: float
    chance: float
    constant_target: bool
    measure: str | None
    plain_score: float | None
    grouped_score: float | None
    level: str

    @property
    def gap(self) -> float:
        """Score with random folds less that with folds that respect the structure."""
        return (self.plain_score or 0.0) - (self.grouped_score or 0.0)


@dataclass(frozen=True)
class TimeColumn:
    """A column that orders the rows by time.

    ``resemblance`` is the mean distance in time to the nearest neighbour, over that to rows with the same target. The
    scores are those of a quick learner that learns from random rows, and from as many earlier rows only.
    """

    column: str
    is_sorted: bool
    resemblance: float
    measure: str | None
    plain_score: float | None
    ordered_score: float | None
    level: str

    @property
    def gap(self) -> float:
        """Score with random folds less that with folds that respect the structure."""
        return (self.plain_score or 0.0) - (self.ordered_score or 0.0)


@dataclass(frozen=True)
class Hubness:
    """How unequally often rows are among the nearest neighbours of others, counted among some rows.

    ``skewness`` is that of the counts, ``never_listed`` the share of the rows that are nobody's neighbour, and
    ``most_listed`` the largest count; ``dimension`` is their intrinsic dimension. ``level`` is "warning" for a
    skewness above 2, "note" from 1.4 on, else "none".
    """

    rows: int
    neighbours: int
    skewness: float
    never_listed: float
    most_listed: int
    dimension: float
    level: str


@dataclass(frozen=True)
class Description:
    """A first look at a table, as `describe` returns it.

    Attributes
    ----------
    source : str
        Where the table came from.
    rows, columns : int
        Size of the table, without the target.
    columns_by_kind : dict of str to tuple of str
        Names of the columns of each kind that occurs.
    memory_bytes : int
        Memory that the columns take.
    stored_share : float or None
        Share of the cells that a sparse table stores; None for other tables.
    missing : Missing
        Missing cells in total, by column (worst first) and by row.
    constants : tuple of Constant
        Columns with one value or none.
    duplicates : tuple of tuples of str
        Groups of columns that are equal cell for cell, or renamings of one another (categories).
    near_duplicates : tuple of NearDuplicateColumns
        Groups of columns whose absolute correlation with the first of the group is above 0.999.
    identifiers : tuple of str
        Columns that number or name the rows.
    comma_numbers : tuple of str
        Columns of strings that are numbers with a comma, such as "1,5".
    infinite : tuple of CountInColumn
        Columns with infinite values.
    target : Target or None
        What is to be predicted.
    leaking_columns : tuple of LeakingColumn
        Columns that alone predict the target almost perfectly, the best first.
    leakage_checked : bool
        False without a target, and when there are too few rows to tell leakage from chance.
    duplicate_rows : DuplicateRows
        Rows that repeat earlier ones.
    groups : tuple of GroupColumn
        Columns that name groups of rows that resemble each other, the most harmful first.
    time : tuple of TimeColumn
        The column that puts the rows in the order of time, if there is one.
    hubness : Hubness or None
        Whether a few rows are the nearest neighbours of very many others; None for sparse
        tables, and with fewer than 20 columns or 50 rows.
    columns_to_drop : tuple of str
        Columns that can be dropped without loss: constants, all but one of each group of exact or near duplicates,
        identifiers.
    advice : tuple of str
        What to do next, in sentences.

    Examples
    --------
    >>> from fewer.io import read_table
    >>> from fewer.overview import describe
    >>> description = describe(read_table({"a": [1.5, 2.5, 4.5], "b": [7.0, 7.0, 7.0]}))
    >>> description.constants
    (Constant(column='b', value=7.0, missing=0),)
    >>> description.to_dict()["kinds"]
    {'numeric': 1, 'constant': 1}
    """

    source: str
    rows: int
    columns: int
    columns_by_kind: dict[str, tuple[str, ...]]
    memory_bytes: int
    stored_share: float | None
    missing: Missing
    constants: tuple[Constant, ...]
    duplicates: tuple[tuple[str, ...], ...]
    near_duplicates: tuple[NearDuplicateColumns, ...]
    identifiers: tuple[str, ...]
    comma_numbers: tuple[str, ...]
    infinite: tuple[CountInColumn, ...]
    target: Target | None
    leaking_columns: tuple[LeakingColumn, ...]
    leakage_checked: bool
    duplicate_rows: DuplicateRows
    groups: tuple[GroupColumn, ...] = ()
    time: tuple[TimeColumn, ...] = ()
    hubness: Hubness | None = None
    advice: tuple[str, ...] = ()

    @property
    def columns_to_drop(self) -> tuple[str, ...]:
        """Columns that can be dropped without loss."""
        useless = [constant.column for constant in self.constants]
        useless += [name for group in self.duplicates for name in group[1:]]
        useless += [name for group in self.near_duplicates for name in group.columns[1:]]
        return tuple(dict.fromkeys([*useless, *self.identifiers]))

    @property
    def kinds(self) -> dict[str, int]:
        """Number of columns of each kind that occurs."""
        return {kind: len(names) for kind, names in self.columns_by_kind.items()}

    def to_dict(self) -> dict[str, Any]:
        """The description as dicts, lists, strings and finite numbers, always with the same keys.

        Returns
        -------
        facts : dict
            One entry for each attribute, and ``kinds`` with the number of columns of each kind; what has no finite
            value is None.
        """
        facts = _plain(asdict(self))
        facts["kinds"] = self.kinds
        facts["columns_to_drop"] = list(self.columns_to_drop)
        if self.target is not None:
            facts["target"]["rarest"] = _plain(asdict(self.target.rarest)) if self.target.rarest else None
        return facts

    def to_json(self, *, indent: int | None = 2) -> str:
        """The description as JSON text.

        Parameters
        ----------
        indent : int or None, default=2
            Spaces for each level; None for a single line.

        Returns
        -------
        text : str
            Valid JSON: it holds no NaN and no infinity.
        """
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
