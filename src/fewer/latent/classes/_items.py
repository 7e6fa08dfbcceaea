"""Tables of answers as codes: categories of each item, distinct response patterns, and blocks of items.

An entry of item i is the position of its answer among the categories of the item. Rows with the same answers count
once, with the sum of their weights. Items are put into blocks of a few, and what a block answers is one code: there are
few such combinations, so that a pass over the patterns looks up one number for each block instead of one for each item.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from fewer._estimators import known_column, refuse_dataset, validated, warn_caller
from fewer._wording import listed_values
from fewer.latent._latent_model import row_weights

MISSING, UNSEEN = -1, -2
_MANY_CATEGORIES = 20
_MOST_COMBINATIONS = 256
_MOST_ITEMS = 6  # of a block, so that products of their probabilities never underflow
_MOST_KEYS = 2**62


@dataclass(frozen=True, eq=False)
class Column:
    """One column as it was given: its values, which of them are missing, and its declared categories in their order."""

    values: np.ndarray
    missing: np.ndarray
    declared: tuple[Any, ...] | None = None
    ordered: bool = False


def answer_columns(estimator: Any, X: Any, *, reset: bool) -> list[Column]:
    """Columns of a frame or an array, checked as scikit-learn does; text and categoricals stay what they are."""
    refuse_dataset(X)
    if hasattr(X, "columns") and hasattr(X, "shape"):
        return _frame_columns(estimator, X, reset=reset)
    table = validated(
        estimator, X, reset=reset, dtype=None, ensure_all_finite="allow-nan", ensure_min_samples=int(reset)
    )
    return [_array_column(table[:, column], column, table.shape[1]) for column in range(table.shape[1])]


def _frame_columns(estimator: Any, X: Any, *, reset: bool) -> list[Column]:
    import narwhals.stable.v1 as nw

    validated(estimator, X, reset=reset, skip_check_array=True)
    frame = nw.from_native(X, eager_only=True)
    if reset and not all(frame.shape):
        raise ValueError(
            f"Found array with {frame.shape[0]} sample(s) and {frame.shape[1]} feature(s): both need to be at least 1."
        )
    found = []
    for series in frame.iter_columns():
        if isinstance(series.dtype, nw.Categorical | nw.Enum):
            declared = tuple(series.cat.get_categories().to_list())
            values = np.array(series.to_list(), dtype=object)
            ordered = nw.is_ordered_categorical(series)
            found.append(Column(values, series.is_null().to_numpy(), declared, ordered))
        elif series.dtype.is_numeric() or series.dtype == nw.Boolean:
            values = series.cast(nw.Float64).to_numpy() if series.is_null().any() else series.to_numpy()
            found.append(_numbers(np.asarray(values), repr(series.name)))
        else:
            found.append(_objects(np.array(series.to_list(), dtype=object)))
    return found


def _array_column(values: np.ndarray, place: int, n_columns: int) -> Column:
    if values.dtype.kind in "biuf":
        return _numbers(values, str(known_column(place, n_columns)))
    return _objects(values.astype(object))


def _numbers(values: np.ndarray, name: str) -> Column:
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise ValueError(f"Input X contains infinity (inf), in column {name}: replace it by a category, or by NaN.")
    return Column(values, missing)


def _objects(values: np.ndarray) -> Column:
    """Text, numbers as Python objects, None, NaN and pandas' NA."""
    missing = np.array(
        [each is None or type(each).__name__ in ("NAType", "NaTType") or each != each for each in values], dtype=bool
    )
    kept = [each for each, absent in zip(values, missing, strict=True) if not absent]
    if kept and all(isinstance(each, int | float | np.number) for each in kept):
        numbers = np.full(len(values), np.nan)
        numbers[~missing] = [float(each) for each in kept]
        return _numbers(numbers, "of objects")
    return Column(values, missing)


def observed_categories(column: Column) -> np.ndarray:
    """The categories that occur: in their declared order, or sorted."""
    present = column.values[~column.missing]
    if column.declared is not None:
        there = set(present.tolist())
        return _as_array([each for each in column.declared if each in there])
    if present.dtype.kind != "O":
        return np.unique(present)
    return _as_array(sorted(set(present.tolist()), key=lambda each: (type(each).__name__, each)))


def _as_array(values: Sequence[Any]) -> np.ndarray:
    found = np.empty(len(values), dtype=object)
    found[:] = list(values)
    return found if not len(found) or not all(isinstance(each, str) for each in found) else found.astype(str)


def given_categories(categories: Iterable[Any], columns: list[Column]) -> list[np.ndarray]:
    """Categories that the user gives, one list for each column; values that are not among them are refused."""
    found = [np.asarray(each) for each in categories]
    if len(found) != len(columns):
        raise ValueError(f"categories has {len(found)} lists, and X has {len(columns)} columns: give one for each.")
    for place, (column, known) in enumerate(zip(columns, found, strict=True)):
        if len(set(known.tolist())) < len(known):
            raise ValueError(f"categories[{place}] contains a duplicate: {listed_values(known.tolist())}.")
        unknown = codes_of(column, known) == UNSEEN
        if unknown.any():
            value = column.values[unknown].tolist()[0]
            raise ValueError(
                f"Column {known_column(place, len(columns))} holds {value!r}, which is not in categories[{place}]: "
                f"{listed_values(known.tolist())}."
            )
    return found


def training_items(model: Any, X: Any, sample_weight: Any) -> tuple[list[Column], np.ndarray, np.ndarray]:
    """Columns of the rows with a weight above 0, their codes, and these weights; sets the model's categories.

    ``model.categories`` and ``model.ordinal`` are what the user gave; the model gets ``categories_`` and ``ordinal_``.
    """
    columns = answer_columns(model, X, reset=True)
    n_rows = len(columns[0].values)
    weights = row_weights(sample_weight, np.empty((n_rows, 1)))
    weights = np.ones(n_rows) if weights is None else weights
    kept = weights > 0
    if not kept.all():
        columns = [Column(each.values[kept], each.missing[kept], each.declared, each.ordered) for each in columns]
    if isinstance(model.categories, str):
        model.categories_ = [observed_categories(each) for each in columns]
    else:
        model.categories_ = given_categories(model.categories, columns)
    model.ordinal_ = ordinal_mask(model.ordinal, columns, getattr(model, "feature_names_in_", ()))
    codes = np.column_stack([codes_of(column, own) for column, own in zip(columns, model.categories_, strict=True)])
    return columns, codes, weights[kept]


def warn_of_measurements(
    columns: list[Column], categories: list[np.ndarray], names: Sequence[str], instead: str
) -> None:
    """Warn of a column in which nearly every row has a value of its own."""
    for name, column, known in zip(names, columns, categories, strict=True):
        n_answers = int(np.sum(~column.missing))
        if len(known) > _MANY_CATEGORIES and 2 * len(known) > n_answers:
            warn_caller(
                f"Column {name} has {len(known)} different values in {n_answers} rows, and each counts as a "
                f"category: cut it into a few, or use {instead} for measurements."
            )
            return


def warn_of_other_values(
    columns: list[Column], categories: list[np.ndarray], codes: np.ndarray, names: Sequence[str], about: str
) -> None:
    """Warn of a column with mostly values that were not seen in fit: numbers where there was text, for example."""
    for name, column, known, own in zip(names, columns, categories, codes.T, strict=True):
        strange = own == UNSEEN
        if len(known) and 2 * strange.sum() > (~column.missing).sum():
            warn_caller(
                f"Column {name} holds values that were not seen in fit, such as "
                f"{column.values[strange].tolist()[0]!r}. They do not affect the {about}; the categories are "
                f"{listed_values(known.tolist())}."
            )
            return


def ordinal_mask(ordinal: Any, columns: list[Column], names: Iterable[str]) -> np.ndarray:
    """Which columns the parameter ``ordinal`` names: by a mask, names or positions, or "auto" for ordered ones."""
    n_columns = len(columns)
    if ordinal is None:
        return np.zeros(n_columns, dtype=bool)
    if isinstance(ordinal, str):
        return np.array([each.ordered for each in columns])
    given = np.asarray(ordinal)
    if given.dtype == bool:
        if given.shape != (n_columns,):
            raise ValueError(f"ordinal has {given.size} entries, and X has {n_columns} columns.")
        return given.copy()
    mask = np.zeros(n_columns, dtype=bool)
    known = list(names)
    for each in given.ravel().tolist():
        place = known.index(each) if each in known else each
        if isinstance(place, str) or not -n_columns <= place < n_columns:
            raise ValueError(f"ordinal names the column {each!r}, which X does not have.")
        mask[place] = True
    return mask


def codes_of(column: Column, categories: np.ndarray) -> np.ndarray:
    """Position of each value among the categories; `MISSING`, or `UNSEEN` where it is none of them."""
    codes = np.full(len(column.values), MISSING, dtype=np.int64)
    here = ~column.missing
    if column.values.dtype.kind != "O" and categories.dtype.kind in "biuf":
        order = np.argsort(categories, kind="stable")
        ranked = categories[order].astype(np.float64)
        values = column.values[here].astype(np.float64)
        places = (
            np.minimum(np.searchsorted(ranked, values), len(ranked) - 1) if len(ranked) else np.zeros(len(values), int)
        )
        known = ranked[places] == values if len(ranked) else np.zeros(len(values), bool)
        codes[here] = np.where(known, order[places] if len(ranked) else 0, UNSEEN)
        return codes
    place_of = {value: place for place, value in enumerate(categories.tolist())}
    codes[here] = [place_of.get(value, UNSEEN) for value in column.values[here].tolist()]
    return codes


class Blocks(NamedTuple):
    """Patterns of answers by blocks of items, as kernels read them.

    ``codes[u, b]`` is the combination of answers of pattern u in block b; ``answers`` of combination m are the entries
    ``starts[m]`` to ``starts[m + 1]``, rows of the table of probabilities (categories of all items, one after another).
    """

    codes: np.ndarray
    starts: np.ndarray
    answers: np.ndarray


@dataclass(frozen=True, eq=False)
class Patterns:
    """The distinct rows of a table of codes, with the sum of their weights, and where each row is among them."""

    codes: np.ndarray
    weights: np.ndarray
    of_row: np.ndarray
    n_categories: np.ndarray
    blocks: Blocks

    @property
    def offsets(self) -> np.ndarray:
        """First row of each item in the table of probabilities."""
        return np.concatenate([[0], np.cumsum(self.n_categories)])[:-1]


def response_patterns(codes: np.ndarray, weights: np.ndarray, n_categories: np.ndarray) -> Patterns:
    """Distinct rows in the order of their codes, so that neither the order of rows nor repetitions matter."""
    key = np.zeros(len(codes), dtype=np.int64)
    n_keys = 1
    for column, size in zip(codes.T, n_categories, strict=True):
        if n_keys > _MOST_KEYS // (int(size) + 1):
            known, key = np.unique(key, return_inverse=True)
            n_keys = len(known)
        key = key * (int(size) + 1) + np.maximum(column, MISSING) + 1
        n_keys *= int(size) + 1
    _, first, of_row = np.unique(key, return_index=True, return_inverse=True)
    sums = np.bincount(of_row, weights=weights, minlength=len(first))
    distinct = np.ascontiguousarray(np.maximum(codes[first], MISSING))
    return Patterns(distinct, sums, of_row, n_categories, item_blocks(distinct, n_categories))


def item_blocks(codes: np.ndarray, n_categories: np.ndarray) -> Blocks:
    """Blocks of neighbouring items with few combinations of answers."""
    most = min(max(len(codes) // 4, 8), _MOST_COMBINATIONS)
    missing = (codes < 0).any(axis=0)
    blocks: list[list[int]] = []
    size = most + 1
    for item, own in enumerate(n_categories + missing):
        if size * own > most or len(blocks[-1]) == _MOST_ITEMS:
            blocks.append([])
            size = 1
        blocks[-1].append(item)
        size *= int(own)
    offsets = np.concatenate([[0], np.cumsum(n_categories)])[:-1]
    places, starts, answers, n_before = [], [np.zeros(1, dtype=np.int64)], [], 0
    for items in blocks:
        key = np.zeros(len(codes), dtype=np.int64)
        for item in items:
            key = key * (int(n_categories[item]) + 1) + codes[:, item] + 1
        _, first, place = np.unique(key, return_index=True, return_inverse=True)
        own_codes = codes[first][:, items]
        there = own_codes >= 0
        answers.append((own_codes + offsets[items])[there])
        starts.append(starts[-1][-1] + np.cumsum(there.sum(axis=1)))
        places.append(place + n_before)
        n_before += len(first)
    return Blocks(
        np.ascontiguousarray(np.column_stack(places).astype(np.int32)),
        np.concatenate(starts).astype(np.int32),
        np.concatenate(answers).astype(np.int32),
    )


def indicator_matrix(codes: np.ndarray, n_categories: np.ndarray) -> sparse.csr_array:
    """Indicators of the answers, of shape (rows, categories of all items)."""
    offsets = np.concatenate([[0], np.cumsum(n_categories)])
    rows, items = np.nonzero(codes >= 0)
    places = codes[rows, items] + offsets[items]
    return sparse.csr_array((np.ones(len(rows)), (rows, places)), shape=(len(codes), int(offsets[-1])))
