"""A table ready for an estimator: columns with names and kinds, a target, and where values are missing."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from fewer._wording import argument, listed_values
from fewer.io._errors import TableError, unknown_column
from fewer.io._frame import DEFAULT_MISSING
from fewer.io._kinds import KINDS
from fewer.io._target import TASKS, is_counts, missing_in

_BLOCK_CELLS = 4_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table: the columns ``X`` to learn from, the target ``y``, and what is known of both.

    Made by `read_table`, or `Dataset.from_frame` for what is in memory already.

    Parameters
    ----------
    X : ndarray, scipy sparse CSR or CSC, or polars.DataFrame
        An array when all columns are numbers or booleans (missing: NaN), sparse when it came so (missing: a stored
        NaN), a polars frame when columns are of mixed types (missing: null).
    columns : tuple of str
        Names of the columns of ``X``.
    kinds : tuple of str
        Kind of each column: one of ``fewer.io.KINDS``.
    y : ndarray of shape (n_rows,), optional
        The target, complete: numbers, or an object array of strings.
    target : str, optional
        Name of the target.
    task : {"binary", "multiclass", "regression", "none"}
        Task of the target; "none" without a target.
    source : str
        Name of the source of the table, for messages.
    task_reason : str
        Why the target was taken for this task, and the option that changes it.
    other_task : str
        The task that whole numbers could be taken for as well; empty where there is no doubt.
    rows : ndarray of shape (n_rows,), optional
        Number of each row in the table that was read, from 0; None where ``X`` has all of its rows in their order.
    dropped : tuple of Dataset
        Columns that were dropped, each as a table without a target. They are never features, but may name the group or
        the time of each row.

    Examples
    --------
    >>> from fewer.io import Dataset
    >>> dataset = Dataset.from_frame(
    ...     {"height": [1.6, 1.7, None, 1.8], "smokes": ["yes", "no", "no", "no"], "ill": ["a", "b", "b", "a"]},
    ...     target="ill",
    ... )
    >>> dataset
    dict of columns: 4 rows, 2 columns
      kinds    1 numeric, 1 boolean
      missing  1 cell (12.5%), in 1 column and 1 row
      target   ill: binary (a: 2, b: 2)
    >>> dataset.kind_of("smokes")
    'boolean'
    >>> dataset.missing_by_column
    array([1, 0])
    """

    X: Any
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    y: np.ndarray | None = None
    target: str | None = None
    task: str = "none"
    source: str = "memory"
    task_reason: str = ""
    other_task: str = ""
    rows: np.ndarray | None = None
    dropped: tuple["Dataset", ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "kinds", tuple(self.kinds))
        is_array = isinstance(self.X, np.ndarray) and self.X.ndim == 2
        if not (
            is_array or isinstance(self.X, pl.DataFrame) or (sp.issparse(self.X) and self.X.format in ("csr", "csc"))
        ):
            raise TableError("X must be a two-dimensional array, a sparse CSR or CSC matrix, or a polars DataFrame.")
        if not self.X.shape[1] == len(self.columns) == len(self.kinds):
            raise TableError(f"{self.X.shape[1]} columns, but {len(self.columns)} names and {len(self.kinds)} kinds.")
        if unknown := set(self.kinds) - set(KINDS):
            raise TableError(f"{listed_values(sorted(unknown))}: not a kind of column. Use one of {', '.join(KINDS)}.")
        if self.task not in TASKS or (self.task == "none") != (self.y is None):
            raise TableError(f"{argument('task', self.task)} does not fit {'no' if self.y is None else 'a'} target.")
        if self.y is not None and np.shape(self.y) != (self.X.shape[0],):
            raise TableError(f"The target has the shape {np.shape(self.y)}, but there are {self.X.shape[0]} rows.")

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        target: Any = None,
        *,
        drop: Iterable[str] = (),
        missing_values: Iterable[object] = DEFAULT_MISSING,
        task: str = "auto",
        kinds: Mapping[str, str] | None = None,
        missing_target: str = "drop",
    ) -> "Dataset":
        """Make a Dataset from a frame, array, sparse matrix or dict of columns.

        Parameters
        ----------
        frame : pandas or polars frame, ndarray, sparse matrix, or dict of columns
            The table.
        target : str or array-like, optional
            Name of the column to predict, or its values.
        drop, missing_values, task, kinds, missing_target
            As in `read_table`.

        Returns
        -------
        dataset : Dataset
            The table.

        Examples
        --------
        >>> import numpy as np
        >>> from fewer.io import Dataset
        >>> Dataset.from_frame(np.eye(3)).kinds
        ('boolean', 'boolean', 'boolean')
        """
        from fewer.io._memory import table_from_memory
        from fewer.io._read import assemble

        return assemble(
            table_from_memory(frame),
            target=target,
            drop=drop,
            missing_values=missing_values,
            task=task,
            kinds=kinds,
            missing_target=missing_target,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of ``X``."""
        return self.X.shape

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    @property
    def n_columns(self) -> int:
        """Number of columns of ``X``."""
        return self.X.shape[1]

    @property
    def is_sparse(self) -> bool:
        """Whether ``X`` is a sparse matrix."""
        return sp.issparse(self.X)

    @cached_property
    def classes(self) -> np.ndarray | None:
        """The labels in ``y``, sorted; None when the target is a number or there is none."""
        return np.unique(self.y) if self.y is not None and self.task in ("binary", "multiclass") else None

    @cached_property
    def is_counts(self) -> bool:
        """Whether the target is a number that may count something: whole, and from 0 or 1 on."""
        return self.y is not None and self.task == "regression" and is_counts(self.y)

    @cached_property
    def missing(self) -> Any:
        """Mask of the missing cells of ``X``: an array, or for sparse ``X`` a sparse matrix of the same format."""
        if isinstance(self.X, pl.DataFrame):
            if not self.n_columns:
                return np.zeros(self.shape, dtype=bool)
            return self.X.select(pl.all().is_null()).to_numpy()
        if self.is_sparse:
            mask = self.X.astype(bool)
            mask.data = self.X.data != self.X.data
            mask.eliminate_zeros()
            return mask
        return np.isnan(self.X) if self.X.dtype.kind == "f" else np.zeros(self.shape, dtype=bool)

    @cached_property
    def missing_by_column(self) -> np.ndarray:
        """Number of missing cells in each column."""
        if isinstance(self.X, pl.DataFrame):
            return np.array(self.X.null_count().row(0) if self.n_columns else [], dtype=np.int64)
        return self._missing_along(0)

    @cached_property
    def missing_by_row(self) -> np.ndarray:
        """Number of missing cells in each row."""
        return self._missing_along(1)

    @property
    def has_missing(self) -> bool:
        """Whether any cell of ``X`` is missing."""
        return bool(self.missing_by_column.any())

    def _missing_along(self, axis: int) -> np.ndarray:
        """Numbers of missing cells, counted in blocks of rows: a mask of all cells takes an eighth of the table."""
        X, n_found = self.X, self.shape[1 - axis]
        if self.is_sparse and not np.isnan(X.data).any():
            return np.zeros(n_found, dtype=np.int64)
        if not isinstance(X, np.ndarray):
            return np.asarray(self.missing.sum(axis=axis, dtype=np.int64)).ravel()
        if X.dtype.kind != "f" or not X.size:
            return np.zeros(n_found, dtype=np.int64)
        step = max(1, _BLOCK_CELLS // self.n_columns)
        blocks = (X[start : start + step] for start in range(0, self.n_rows, step))
        counts = [np.isnan(block).sum(axis=axis, dtype=np.int64) for block in blocks]
        return np.sum(counts, axis=0) if axis == 0 else np.concatenate(counts)

    def kind_of(self, name: str) -> str:
        """Kind of the column of this name.

        Parameters
        ----------
        name : str
            A column of ``X``.

        Returns
        -------
        kind : str
            One of ``fewer.io.KINDS``.
        """
        return self.kinds[self._positions([name], "kind_of")[0]]

    def columns_of_kind(self, kind: str) -> list[str]:
        """Names of the columns of one kind.

        Parameters
        ----------
        kind : str
            One of ``fewer.io.KINDS``.

        Returns
        -------
        names : list of str
            In the order of the table.
        """
        if kind not in KINDS:
            raise TableError(f"{kind!r} is not a kind of column. Use one of {', '.join(KINDS)}.")
        return [name for name, its_kind in zip(self.columns, self.kinds, strict=True) if its_kind == kind]

    def take(self, rows: Any) -> "Dataset":
        """Dataset of these rows; kinds and task stay as they are.

        Parameters
        ----------
        rows : array-like of int or bool, or slice
            Row numbers (from 0; negative ones count from the end), or a mask with one entry for each row.

        Returns
        -------
        dataset : Dataset
            The chosen rows, in the order asked for.
        """
        rows = np.arange(self.n_rows)[rows if isinstance(rows, slice) else self._row_numbers(rows)]
        return replace(
            self,
            X=self.X[rows],
            y=None if self.y is None else self.y[rows],
            rows=rows if self.rows is None else self.rows[rows],
            dropped=tuple(each.take(rows) for each in self.dropped),
        )

    def _row_numbers(self, rows: Any) -> np.ndarray:
        rows = np.atleast_1d(np.asarray(rows))
        if rows.dtype == bool and rows.shape != (self.n_rows,):
            raise TableError(f"A mask of rows needs {self.n_rows} entries, but this one has the shape {rows.shape}.")
        if rows.size == 0:
            return rows.astype(np.intp)
        if rows.dtype.kind not in "iub":
            raise TableError(f"Rows are selected by integers or by a boolean mask, not by {rows.tolist()[0]!r}.")
        beyond = rows[(rows >= self.n_rows) | (rows < -self.n_rows)] if rows.dtype != bool else rows[:0]
        if beyond.size:
            raise TableError(f"Row {beyond[0]} is out of range: there are {self.n_rows} rows (numbered from 0).")
        return rows

    def keep(self, columns: Iterable[str]) -> "Dataset":
        """Dataset of these columns of ``X``; the target stays.

        Parameters
        ----------
        columns : iterable of str
            Names, in the order wanted.

        Returns
        -------
        dataset : Dataset
            The chosen columns.
        """
        names = [columns] if isinstance(columns, str) else list(columns)
        where = self._positions(names, "keep")
        if twice := [name for name, times in Counter(names).items() if times > 1]:
            raise TableError(f"{self.source}: keep names {listed_values(twice)} more than once. Name each column once.")
        if isinstance(self.X, pl.DataFrame):  # a frame without columns would lose its rows
            X = self.X.select(names) if names else np.empty((self.n_rows, 0))
        else:
            X = self.X[:, where]
        return replace(self, X=X, columns=tuple(names), kinds=tuple(self.kinds[j] for j in where))

    def drop(self, columns: Iterable[str]) -> "Dataset":
        """Dataset without these columns of ``X``; they are kept in ``dropped``.

        Parameters
        ----------
        columns : iterable of str
            Names.

        Returns
        -------
        dataset : Dataset
            The other columns.
        """
        names = [columns] if isinstance(columns, str) else list(columns)
        rest = self.keep(name for name in self.columns if name not in set(names))
        apart = replace(self, y=None, target=None, task="none", task_reason="", other_task="", dropped=())
        return replace(rest, dropped=(*self.dropped, *(apart.keep([name]) for name in names)))

    def _positions(self, names: list[str], asked_by: str) -> list[int]:
        position = {name: j for j, name in enumerate(self.columns)}
        for name in names:
            if name not in position:
                raise unknown_column(self.source, name, self.columns, asked_by)
        return [position[name] for name in names]

    def split(
        self, test_size: float = 0.25, *, stratify: bool = True, groups: Any = None, random_state: Any = None
    ) -> tuple["Dataset", "Dataset"]:
        """Two Datasets with different rows, drawn at random: one to learn from, one to test on.

        Parameters
        ----------
        test_size : float or int, default=0.25
            Share of the rows (of the groups, when given) that go to the test set, or their number.
        stratify : bool, default=True
            Keep the share of each class the same in both; for classification without ``groups``.
        groups : array-like of shape (n_rows,) or str, optional
            Rows of the same group stay together; the name of a column, or one value for each row.
        random_state : int, RandomState instance or None, default=None
            Draws the rows.

        Returns
        -------
        train, test : Dataset
            Rows in the order of the table.
        """
        if isinstance(groups, str):
            groups = self._column(groups)
        labels = self.y if stratify and self.classes is not None else None
        train, test = split_rows(self.n_rows, test_size, labels, groups, random_state)
        return self.take(train), self.take(test)

    def _column(self, name: str) -> np.ndarray:
        where = self._positions([name], argument("groups"))
        column = self.X[:, where[0]]
        if isinstance(column, pl.Series):
            return column.to_physical().to_numpy() if column.dtype != pl.String else column.to_numpy()
        return column.toarray().ravel() if self.is_sparse else column

    def to_numpy(self) -> Any:
        """``X`` as an array (sparse ``X`` stays sparse); an error names the columns that are not numbers.

        Returns
        -------
        X : ndarray or sparse matrix of shape (n_rows, n_columns)
            The columns, without the target.
        """
        from fewer.io._convert import dataset_to_numpy

        return dataset_to_numpy(self)

    def to_polars(self, *, dense: bool = False) -> pl.DataFrame:
        """The table as a polars frame, the target as its last column, missing cells as null.

        Parameters
        ----------
        dense : bool, default=False
            Allow a sparse table to be written out in full, zeros included.

        Returns
        -------
        frame : polars.DataFrame
            Columns and target.
        """
        from fewer.io._convert import dataset_to_polars

        return dataset_to_polars(self, dense=dense)

    def to_pandas(self) -> Any:
        """The table as a pandas frame, the target as its last column; sparse columns stay sparse.

        Returns
        -------
        frame : pandas.DataFrame
            Columns and target.
        """
        from fewer.io._convert import dataset_to_pandas

        return dataset_to_pandas(self)

    def summary(self) -> str:
        """Rows, columns, kinds, missing cells, and the target with its classes, in a few lines.

        Returns
        -------
        text : str
            What ``print(dataset)`` shows.
        """
        from fewer.io._convert import summary_text

        return summary_text(self)

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from fewer.io._convert import summary_html

        return summary_html(self)


def split_rows(
    n_rows: int, test_size: float, labels: np.ndarray | None, groups: Any, random_state: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Sorted row numbers of the training and of the test set."""
    from sklearn.model_selection import GroupShuffleSplit, train_test_split

    rows = np.arange(n_rows)
    if groups is not None:
        groups = np.asarray(groups)
        if groups.shape != (n_rows,):
            raise TableError(
                f"{argument('groups')} needs one value for each of the {n_rows} rows, but has the shape {groups.shape}."
            )
        if n_missing := int(missing_in(groups).sum()):
            raise TableError(
                f"{argument('groups')} is missing in {n_missing} of {n_rows} rows, so their group is not known. Add "
                "the values, "
                "or leave these rows out with take()."
            )
        if groups.dtype == object:
            groups = np.array([str(group) for group in groups])
        splitter = GroupShuffleSplit(n_splits=1, test_size=test_size, random_state=random_state)
        train, test = _or_table_error(lambda: next(splitter.split(rows, groups=groups)))
        return np.sort(train), np.sort(test)
    if labels is not None:
        distinct, counts = np.unique(labels, return_counts=True)
        if lonely := distinct[counts < 2].tolist():
            raise TableError(
                f"These classes have a single row, which cannot be in both parts of a split: {listed_values(lonely)}. "
                "Leave these rows out, or use stratify=False."
            )
    train, test = _or_table_error(
        lambda: train_test_split(rows, test_size=test_size, stratify=labels, random_state=random_state)
    )
    return np.sort(train), np.sort(test)


def _or_table_error(split: Any) -> Any:
    try:
        return split()
    except ValueError as error:
        raise TableError(f"The rows cannot be split: {error}") from error
