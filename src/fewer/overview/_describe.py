"""A first look at a table: what is in it, what is wrong with it, and what to do next."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from fewer.io import KINDS, Dataset
from fewer.overview._advice import advice_for
from fewer.overview._description import Description
from fewer.overview._duplicates_of_table import duplicate_columns, duplicate_rows, equal_rows, near_duplicates
from fewer.overview._facts import (
    constant_columns,
    infinite_cells,
    memory_bytes,
    missing_cells,
    numbers_with_commas,
    target_of,
)
from fewer.overview._giveaways_of_table import give_aways
from fewer.overview._parts import parts_of
from fewer.overview._rows_together import (
    TableRows,
    group_columns,
    judged_copies,
    judged_give_aways,
    rows_of_groups,
    time_columns,
)


def describe(dataset: Dataset, *, times: Mapping[str, np.ndarray] | None = None) -> Description:
    """Describe a table: kinds of columns, missing cells, duplicates, rows that belong together, and target leakage.

    Fast on wide tables, and never makes a sparse table dense.

    Parameters
    ----------
    dataset : Dataset
        The table, as `read_table` gives it; a target is not needed.
    times : mapping of str to ndarray of shape (n_rows,), default=None
        Columns that are not in the table and may tell the time of each row, as numbers.

    Returns
    -------
    description : Description
        The findings as plain data, with ``to_dict`` and ``to_json``.

    Notes
    -----
    A column *gives the target away* when it alone predicts each row from the other rows with a balanced accuracy (for
    a target of numbers: an R2 on ranks) of 0.99 or more, or when its sorted values pass through the classes one after
    the other without overlap. A column of numbers predicts a row by the nearest rows in sorted order, a column of
    categories by the other rows of the category, so an identifier does not look perfect. Missing cells count as a
    value, and the known rows are judged alone too. Where rows are so few that one of as many columns of noise would
    be found as well, nothing is reported and ``give_aways_checked`` is False.

    Columns that *name groups* of rows, such as a patient with several rows, and columns that tell the *time* are found
    by how much rows that belong together resemble each other (`GroupColumn`, `TimeColumn`); at most a thousand rows are
    compared. Where folds that ignore this would be too optimistic, the finding is "critical", and its scores show by
    how much.

    *Near duplicates* are columns of numbers with an absolute correlation above 0.999 on the rows where both are known
    (at least ten, and half of those where either is).

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.io import read_table
    >>> from fewer.overview import describe
    >>> rng = np.random.default_rng(0)
    >>> height, ill = rng.normal(170, 10, size=100), rng.permutation(["yes", "no"] * 50)
    >>> table = {"height": height, "inches": height / 2.54, "code": np.where(ill == "yes", 7, 3), "ill": ill}
    >>> description = describe(read_table(table, target="ill"))
    >>> description.near_duplicates[0].columns
    ('height', 'inches')
    >>> description.give_aways[0]
    GiveAway(column='code', score=1.0, measure='balanced accuracy', by='values', known=1.0, level='critical')
    >>> print(description.advice[0])
    code alone predicts the target almost perfectly. If it is not known before the outcome is, a study with it means
    nothing: --drop code
    """
    parts = parts_of(dataset)
    duplicates = duplicate_columns(dataset, parts)
    table = TableRows(dataset, parts)
    groups, equals = group_columns(table), equal_rows(dataset, parts)
    found, checked = give_aways(dataset, parts)
    if found and groups:
        # Whatever is constant within a group tells the target of its rows; a give-away does so in other groups too.
        of_groups = dataset.take(rows_of_groups(table, groups[0]))
        again = {each.column for each in give_aways(of_groups, parts_of(of_groups))[0]}
        found = tuple(each for each in found if each.column in again)
    comma_numbers = numbers_with_commas(dataset)
    description = Description(
        source=dataset.source,
        rows=dataset.n_rows,
        columns=dataset.n_columns,
        columns_by_kind={kind: tuple(names) for kind in KINDS if (names := dataset.columns_of_kind(kind))},
        memory_bytes=memory_bytes(dataset.X),
        stored_share=dataset.X.nnz / max(1, dataset.n_rows * dataset.n_columns) if dataset.is_sparse else None,
        missing=missing_cells(dataset),
        constants=constant_columns(dataset),
        duplicates=tuple(tuple(dataset.columns[j] for j in group) for group in duplicates),
        near_duplicates=near_duplicates(dataset, parts, duplicates),
        identifiers=tuple(name for name in dataset.columns_of_kind("identifier") if name not in comma_numbers),
        comma_numbers=comma_numbers,
        infinite=infinite_cells(dataset),
        target=target_of(dataset),
        give_aways=judged_give_aways(found, table),
        give_aways_checked=checked,
        duplicate_rows=judged_copies(duplicate_rows(dataset, equals), equals, table),
        groups=groups,
        time=time_columns(table, times),
    )
    return replace(description, advice=advice_for(description))
