"""The rows and columns that a study uses: features, columns left out and why, groups and time order.

A fingerprint identifies the table: equal tables have equal ones, and any changed cell, name or row order changes it.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from fewer._wording import argument, counted
from fewer.study._errors import StudyError
from fewer.study.table._coded import CodedDataset, coded, decoded
from fewer.study.table._columns import TableColumn

if TYPE_CHECKING:
    from fewer.io import Dataset


_NOT_LEARNT_FROM = {
    "constant": "it is constant",
    "identifier": "it identifies the rows",
    "text": "it is free text",
    "date": "it is a date",
}

# Sums of squares of larger numbers overflow.
_LARGEST = 1e150
_FEWEST_OF_A_CLASS = 3
_ENOUGH_OF_A_CLASS = 5

_BLOCK_CELLS = 4_000_000


@dataclass(frozen=True, eq=False)
class StudyData:
    """A table ready for a study.

    Attributes
    ----------
    dataset : Dataset
        Columns to learn from and the target, words as codes; in the order of time where there is one.
    groups : ndarray of shape (n_rows,) or None
        Rows of one group are always in the same fold.
    in_order_of_time : bool
        Whether rows may only be predicted from earlier ones.
    weights : ndarray of shape (n_rows,) or None
        Weight of each row in fits and scores.
    weighted_by : str or None
        Column that they come from.
    left_out : tuple of TableColumn
        Columns that are not used as features, each with the reason.
    classes_left_out : tuple of (str, int)
        Classes with too few rows to learn and to test, each with their number; their rows are left out.
    times : mapping of str to ndarray of shape (n_rows,)
        Dates and row numbers among the columns left out, as numbers: they may order the rows by time.
    dropped : tuple of Dataset
        Columns that were dropped before: they may name the group or the time of each row.
    """

    dataset: "Dataset"
    groups: np.ndarray | None = None
    in_order_of_time: bool = False
    weights: np.ndarray | None = None
    weighted_by: str | None = None
    left_out: tuple[TableColumn, ...] = ()
    classes_left_out: tuple[tuple[str, int], ...] = ()
    times: Mapping[str, np.ndarray] = field(default_factory=dict)
    dropped: tuple["Dataset", ...] = ()

    @property
    def is_classification(self) -> bool:
        """Whether the target consists of classes."""
        return self.dataset.classes is not None

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """All columns of the table, without the target; those left out come last."""
        return *map(TableColumn, self.dataset.columns, self.dataset.kinds), *self.left_out

    @property
    def table(self) -> "Dataset":
        """The rows and columns with words as words, as the model of a study takes them."""
        return decoded(self.dataset)

    @cached_property
    def holds_counts(self) -> bool:
        """Whether there is no negative number."""
        X = self.dataset.X
        # Of NaN and a number, `fmin` takes the number; a mask of all cells would take an eighth of the table.
        return bool(np.fmin.reduce(X.data if self.dataset.is_sparse else X, axis=None, initial=0) >= 0)

    @cached_property
    def holds_tokens(self) -> bool:
        """Whether it is a sparse table of counts: whole numbers from 0 on, and not of zeros and ones alone."""
        X = self.dataset.X
        return self.dataset.is_sparse and self.holds_counts and bool((X.data % 1 == 0).all() and (X.data > 1).any())

    @property
    def has_negative_target(self) -> bool:
        """Whether the target is numeric with negative values."""
        return not self.is_classification and bool(np.any(np.asarray(self.dataset.y) < 0))

    @cached_property
    def fingerprint(self) -> str:
        """Changes with any cell, name, group or order of rows."""
        return fingerprint(self.dataset, self.groups, np.array([self.in_order_of_time]), self.weights)


def study_data(
    dataset: "Dataset",
    *,
    groups: str | None = None,
    time: str | None = None,
    weights: str | None = None,
    keep: Iterable[str] = (),
) -> StudyData:
    """The table without columns that are not features, with the groups or the time order of its rows.

    Parameters
    ----------
    dataset : Dataset
        The table, with a target.
    groups : str, default=None
        Column with the group of each row: patient, batch, site. It is not a feature.
    time : str, default=None
        Column that orders the rows by time. It is not a feature.
    weights : str, default=None
        Column with the weight of each row, in any unit. It is not a feature.
    keep : iterable of str, default=()
        Columns to use although they look like identifiers.

    Returns
    -------
    data : StudyData
        What the study works on.
    """
    from fewer.io import unknown_column

    _check_target(dataset)
    table = dataset
    if weights is not None and weights in (groups, time):
        other = "groups" if weights == groups else "time"
        raise StudyError(f"The column {weights!r} is given twice, by {argument('weights')} and by {argument(other)}.")
    if groups is not None and time is not None:
        raise StudyError(f"Use either {argument('groups')} or {argument('time')}, not both.")
    dataset, rare = _without_rare_classes(dataset)
    left_out: list[tuple[str, str]] = []
    group_of = None
    if time is not None:
        in_time = np.argsort(_column(dataset, time, "time"), kind="stable")
        dataset = dataset.take(in_time)
        left_out.append((time, "it orders the rows by time"))
    if groups is not None:
        group_of = np.unique(_column(dataset, groups, "groups"), return_inverse=True)[1]
        if group_of.max() == 0:
            raise StudyError(f"The column {groups!r} has one group only; at least two are needed.")
        left_out.append((groups, "it is the group of each row"))
    weight_of = None
    if weights is not None:
        weight_of = row_weights(dataset, weights)
        left_out.append((weights, "it is the weight of each row"))
    wanted = set(keep)
    for name in sorted(wanted.difference(dataset.columns)):
        raise unknown_column(dataset.source, name, dataset.columns, argument("keep"))
    for name, kind in zip(dataset.columns, dataset.kinds, strict=True):
        if kind in _NOT_LEARNT_FROM and name not in wanted and name not in (groups, time, weights):
            left_out.append((name, _NOT_LEARNT_FROM[kind]))
    kind_of = dict(zip(dataset.columns, dataset.kinds, strict=True))
    dropped = {name for name, _ in left_out}
    kept = [name for name in dataset.columns if name not in dropped]
    if not kept:
        if left_out and all(kind_of[name] == "constant" for name, _ in left_out):
            raise StudyError(f"{dataset.source}: all columns but the target are constant or empty: none is left.")
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out[:5])
        more = f"; and {len(left_out) - 5:,} more" if len(left_out) > 5 else ""
        raise StudyError(
            f"There is no usable column ({reasons}{more}). To use a column anyway, list it in {argument('keep')}."
        )
    refuse_too_large(table, kept)
    return StudyData(
        # Folds take rows many times; only the cautions look at what was dropped.
        dataset=replace(coded(dataset if len(kept) == dataset.n_columns else dataset.keep(kept)), dropped=()),
        groups=group_of,
        in_order_of_time=time is not None,
        weights=weight_of,
        weighted_by=weights,
        left_out=tuple(TableColumn(name, kind_of[name], why) for name, why in left_out),
        classes_left_out=rare,
        times=_times(dataset, dropped),
        dropped=dataset.dropped,
    )


def _times(dataset: "Dataset", names: set[str]) -> dict[str, np.ndarray]:
    """Those of these columns that are dates or row numbers without missing values, as numbers."""
    found: dict[str, np.ndarray] = {}
    for place, (name, kind) in enumerate(zip(dataset.columns, dataset.kinds, strict=True)):
        if name not in names or kind not in ("date", "identifier") or dataset.missing_by_column[place]:
            continue
        values: Any = dataset.X[:, place]
        values = values.toarray().ravel() if dataset.is_sparse else np.asarray(values)
        if values.dtype.kind == "M":
            found[name] = values.astype("datetime64[us]").astype(np.float64)
        elif values.dtype.kind in "iuf":
            found[name] = values.astype(np.float64)
    return found


def _without_rare_classes(
    dataset: "Dataset",
) -> tuple["Dataset", tuple[tuple[str, int], ...]]:
    """The table without rows of classes that are too few to be learnt and tested, where enough others are left.

    With the classes left out.
    """
    if dataset.classes is None:
        return dataset, ()
    labels, counts = np.unique(np.asarray(dataset.y), return_counts=True)
    rare = counts < _FEWEST_OF_A_CLASS
    if not rare.any() or (counts >= _ENOUGH_OF_A_CLASS).sum() < 2:
        return dataset, ()
    kept = np.flatnonzero(~np.isin(np.asarray(dataset.y), labels[rare]))
    left_out = tuple((str(label), int(count)) for label, count in zip(labels[rare], counts[rare], strict=True))
    return dataset.take(kept), left_out


def _check_target(dataset: "Dataset") -> None:
    if dataset.y is None:
        raise StudyError(
            f"A study needs a target: give the column to predict with {argument('target')}; "
            f"{argument('task', 'none')} means that there is none."
        )
    if dataset.n_rows < 4:
        raise StudyError(f"The table has {dataset.n_rows} rows; a study needs at least 4.")
    if dataset.classes is not None:
        labels, counts = np.unique(np.asarray(dataset.y), return_counts=True)
        if len(labels) < 2:
            raise StudyError(f"The target {dataset.target!r} has one class only, {str(labels[0])!r}.")
        if counts.max() < 2:
            raise StudyError(
                f"{dataset.source}: all {dataset.n_rows:,} values of the target {dataset.target!r} are different, as "
                "those of an identifier are. Choose another target; if they are numbers, check the decimal mark "
                f"({argument('decimal')}) and the markers of missing values ({argument('missing_values')})."
            )
    elif len(large := np.flatnonzero(np.abs(dataset.y.astype(float)) > _LARGEST)):
        raise _too_large(dataset, f"the target {dataset.target!r}", dataset.y[large[0]], int(large[0]))
    elif np.ptp(dataset.y.astype(float)) == 0:
        raise StudyError(f"The target {dataset.target!r} is constant: {dataset.y[0]} in every row.")


def refuse_too_large(dataset: "Dataset", columns: Iterable[str]) -> None:
    """Raise for infinite and huge numbers in these columns, by the name of the first column and its first row."""
    rows, places, values = _too_large_cells(dataset)
    if not len(places):
        return
    wanted = set(columns)
    used = np.flatnonzero([dataset.columns[place] in wanted for place in places])
    if len(used):
        first = used[np.lexsort((rows[used], places[used]))[0]]
        raise _too_large(dataset, f"the column {dataset.columns[places[first]]!r}", values[first], int(rows[first]))


def _too_large_cells(dataset: "Dataset") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and values of the infinite and huge cells."""
    X: Any = dataset.X
    if dataset.is_sparse:
        stored = X.tocoo()
        large = _is_too_large(stored.data)
        return stored.row[large], stored.col[large], stored.data[large]
    numbers = np.arange(dataset.n_columns)
    if not isinstance(X, np.ndarray):
        numbers = np.array([place for place, dtype in enumerate(X.dtypes) if dtype.is_float()], dtype=int)
        X = X[:, numbers.tolist()].to_numpy() if len(numbers) else np.empty((dataset.n_rows, 0))
    if len(X) and X.dtype.kind == "f":  # most tables need no second look: no column goes so far
        some = np.flatnonzero(_is_too_large(np.fmax(np.fmax.reduce(X, axis=0), -np.fmin.reduce(X, axis=0))))
        X, numbers = X[:, some], numbers[some]
    rows, own = np.nonzero(_is_too_large(X))
    return rows, numbers[own], X[rows, own]


def _is_too_large(values: np.ndarray) -> np.ndarray:
    """Whether numbers are infinite or huge; of single precision, whether they are infinite."""
    if values.dtype.kind != "f":
        return np.zeros(values.shape, dtype=bool)
    return np.abs(values) > min(_LARGEST, float(np.finfo(values.dtype).max))


def _too_large(dataset: "Dataset", where: str, value: float, row: int) -> StudyError:
    kind = "an infinite number" if np.isinf(value) else "a number too large to compute with"
    cure = f"Replace the value, or treat it as missing: add {value:g} to {argument('missing_values')}."
    row = row if dataset.rows is None else int(dataset.rows[row])
    return StudyError(
        f"{dataset.source}: {where} contains {value:g}, {kind}, in row {row + 1} (counted from 1). {cure}"
    )


def _column(dataset: "Dataset", name: str, role: str) -> np.ndarray:
    from fewer.io import TableError, unknown_column

    if name == dataset.target:
        raise StudyError(f"The column {name!r} is the target, so it cannot have the {role} of the rows too.")
    if name not in dataset.columns:
        raise unknown_column(dataset.source, name, dataset.columns, argument(role))
    place = dataset.columns.index(name)
    if dataset.missing_by_column[place]:
        raise TableError(
            f"The column {name!r} ({argument(role)}) has {counted(dataset.missing_by_column[place], 'missing value')}: "
            "add the values, or remove these rows."
        )
    X: Any = dataset.X[:, place]
    values = X.toarray().ravel() if dataset.is_sparse else np.asarray(X)
    return values.astype(str) if values.dtype.kind == "O" else values


def row_weights(dataset: "Dataset", name: str) -> np.ndarray:
    """The weights of the rows over the mean of the positive ones, so that their unit does not matter.

    An error unless they are numbers of which none is negative and some are positive.
    """
    values = _column(dataset, name, "weights")
    if values.dtype.kind not in "biuf":
        raise StudyError(
            f"The column {name!r} does not contain numbers, so it cannot have the weights of the rows "
            f"({argument('weights')})."
        )
    weights = values.astype(float)
    wrong = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
    if len(wrong):
        row = int(wrong[0]) if dataset.rows is None else int(dataset.rows[wrong[0]])
        raise StudyError(
            f"Weights must be finite and not negative, but the column {name!r} has {weights[wrong[0]]:g} in row "
            f"{row + 1} (counted from 1)."
        )
    if np.count_nonzero(weights) < 2:
        raise StudyError(f"Fewer than two rows have a positive weight in the column {name!r}.")
    return weights / weights[weights > 0].mean()


def fingerprint(dataset: "Dataset", *more: np.ndarray | None) -> str:
    """Fingerprint of a table with its target, and of more arrays that go with its rows.

    Parameters
    ----------
    dataset : Dataset
        The table.
    *more : ndarray or None
        Such as the groups of the rows.

    Returns
    -------
    text : str
        32 hexadecimal digits.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.io import Dataset
    >>> table = Dataset.from_frame(np.eye(3), target=np.array([0.5, 1.5, 2.5]))
    >>> len(fingerprint(table)), fingerprint(table) == fingerprint(table.take([0, 2, 1]))
    (32, False)
    """
    dataset = coded(dataset)
    digest = hashlib.blake2b(digest_size=16)
    categories = dataset.categories.values() if isinstance(dataset, CodedDataset) else ()
    for words in (dataset.columns, dataset.kinds, (str(dataset.target), dataset.task), *categories):
        for word in words:
            digest.update(word.encode("utf-8", "surrogatepass") + b"\0")
    _add_table(digest, dataset.X)
    for array in (dataset.y, *more):
        if array is not None:
            _add_array(digest, np.asarray(array))
    return digest.hexdigest()


def _add_table(digest: Any, X: Any) -> None:
    if sp.issparse(X):
        digest.update(X.format.encode())
        for part in (np.array(X.shape), X.indptr, X.indices, X.data):
            _add_array(digest, part)
    else:
        _add_array(digest, X)


def _add_array(digest: Any, array: np.ndarray) -> None:
    digest.update(f"{array.dtype}{array.shape}".encode())
    if array.dtype.kind == "O":
        for value in array.ravel():
            digest.update(repr(value).encode("utf-8", "surrogatepass") + b"\0")
        return
    # In blocks of rows: a table that is not contiguous is never copied whole.
    rows = max(1, _BLOCK_CELLS // max(1, int(np.prod(array.shape[1:]))))
    for start in range(0, len(array), rows):
        digest.update(np.ascontiguousarray(array[start : start + rows]).view(np.uint8).data)
