"""A table and its target as arrays, as scikit-learn checks them; errors name the columns that are wrong.

A study prepares its table once and passes arrays on. So that an error inside a fit can still name a column as the user
knows it, `columns_known_as` keeps the names.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import issparse
from sklearn.utils import check_array
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d, validate_data

# Numbers with more different values than this are no classes.
_FEW_VALUES = 20

_names: ContextVar[Sequence[str]] = ContextVar("names of columns", default=())


def validated(estimator: Any, X: Any, y: Any = "no_validation", **options: Any) -> Any:
    """What ``sklearn.utils.validation.validate_data`` gives; errors name the columns."""
    who = type(estimator).__name__
    if options.get("y_numeric"):
        _refuse_text_target(y, who)
    with _columns_named(X, who, rows_in_order=getattr(estimator, "_rows_in_order", False)):
        try:
            checked = validate_data(estimator, narrow_indices(X), y, **options)
        except ValueError as error:
            if str(error).startswith("Input contains NaN"):  # of y: for X the message names it
                refuse_missing_labels(np.asarray(y), who)
            if str(error).startswith("Input y contains"):
                _refuse_unusable_numbers(np.asarray(y), who)
            raise
    target = checked[1] if isinstance(checked, tuple) else None
    if isinstance(target, np.ndarray) and target.dtype.kind == "O" and target.ndim == 1:
        refuse_missing_labels(target, who)  # scikit-learn takes None in an array of objects for a label
    return (narrow_indices(checked[0]), *checked[1:]) if isinstance(checked, tuple) else narrow_indices(checked)


def checked_array(X: Any, who: str, **options: Any) -> Any:
    """What ``sklearn.utils.check_array`` gives, for functions; errors name the columns."""
    with _columns_named(X, who):
        return narrow_indices(check_array(narrow_indices(X), input_name="X", **options))


def narrow_indices(X: Any) -> Any:
    """A sparse table with 32-bit indices where these do, as liblinear and compiled kernels want them; others as is.

    >>> wide = sparse.csr_array([[0.0, 2.0]])
    >>> wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    >>> narrow_indices(wide).indices.dtype
    dtype('int32')
    """
    if not sparse.issparse(X) or X.format not in ("csr", "csc") or X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    if max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    narrowed = type(X)(X.shape, dtype=X.dtype)
    narrowed.data, narrowed.indices, narrowed.indptr = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return narrowed


@contextmanager
def _columns_named(X: Any, who: str, *, rows_in_order: bool = False) -> Iterator[None]:
    """Names the columns of X in what scikit-learn refuses within the block, and how to mend them for ``who``."""
    refuse_dataset(X)
    try:
        yield
    except ValueError as error:
        told = _with_columns(str(error), X, who, rows_in_order)
        if told is None:
            raise
        raise ValueError(told) from None


def refuse_dataset(X: Any) -> None:
    """Say how to pass a table that comes together with its target.

    >>> from fewer.datasets import load
    >>> refuse_dataset(load("wine"))
    Traceback (most recent call last):
        ...
    TypeError: X is a Dataset, which holds a table and its target; pass data.X and data.y.
    """
    # A frame may well have columns of these names.
    if hasattr(X, "X") and hasattr(X, "y") and not hasattr(X, "__array__"):
        raise TypeError(f"X is a {type(X).__name__}, which holds a table and its target; pass data.X and data.y.")


class _Culprits(NamedTuple):
    """Columns with entries that cannot be used: the first, how many rows and which of them first, how many columns."""

    column: int
    n_rows: int
    first_row: int
    n_columns: int


def _with_columns(message: str, X: Any, who: str, rows_in_order: bool) -> str | None:
    """The message of scikit-learn with the columns that it is about, and the cure; None for messages about others."""
    if message.startswith("Input X contains NaN"):
        cure = "impute missing values first, with SimpleImputer as an earlier step of a pipeline, or leave them out"
        if rows_in_order:
            cure = (
                "close the gaps from the rows around them, for example with interpolate or ffill of pandas. Without "
                "these rows, later ones would follow rows that they did not follow"
            )
        return _told("Input X contains NaN", _culprits(X, np.isnan), X, f"{who} needs a number everywhere: {cure}.")
    if message.startswith("Input X contains infinity"):
        cure = f"{who} needs finite numbers: replace them, or leave them out."
        return _told(message.removesuffix("."), _culprits(X, np.isinf), X, cure)
    if message.startswith("could not convert string to float"):
        return _told_of_text(X, who)
    return None


def _told(what: str, found: _Culprits, X: Any, cure: str) -> str:
    rows = "row" if found.n_rows == 1 else f"{found.n_rows:,} rows, the first is row"
    more = "" if found.n_columns == 1 else f" and in {found.n_columns - 1:,} more"
    return f"{what}, in column {_name(X, found.column)} ({rows} {found.first_row}){more}. {cure}"


def _culprits(X: Any, wrong: Callable[[np.ndarray], np.ndarray]) -> _Culprits:
    table = check_array(X, accept_sparse=("csr", "csc"), dtype="numeric", ensure_all_finite=False, ensure_min_samples=0)
    if sparse.issparse(table):
        stored = table.tocoo()
        spoilt = wrong(stored.data)
        rows, columns = stored.row[spoilt], stored.col[spoilt]
    else:
        rows, columns = np.nonzero(wrong(table))
    first = int(columns.min())
    its_rows = rows[columns == first]
    return _Culprits(first, len(its_rows), int(its_rows.min()), len(np.unique(columns)))


def _told_of_text(X: Any, who: str) -> str | None:
    table = np.asarray(X, dtype=object)
    if table.ndim != 2:
        return None
    for column in range(table.shape[1]):
        for value in table[:, column]:
            if isinstance(value, str) and not _is_number(value):
                return (
                    f"Column {_name(X, column)} holds text, such as {value!r}. {who} needs numbers: encode it first, "
                    "with OneHotEncoder or OrdinalEncoder as an earlier step of a pipeline, or leave it out."
                )
    return None


def _refuse_text_target(y: Any, who: str) -> None:
    """Text where numbers are to be predicted; numbers written as text pass."""
    target = np.asarray(y)
    if target.dtype.kind in "OU":
        for value in target.flat:
            if isinstance(value, str) and not _is_number(value):
                raise ValueError(
                    f"y holds text, such as {str(value)!r}, and {who} predicts numbers: give numbers, or use a "
                    "classifier if these are names of classes."
                )


def _refuse_unusable_numbers(y: np.ndarray, who: str) -> None:
    """Say in which rows a numeric target is missing or infinite."""
    if y.dtype.kind != "f" or y.ndim not in (1, 2):
        return
    for what, wrong in (("NaN", np.isnan(y)), ("infinity", np.isinf(y))):
        rows = np.flatnonzero(wrong.reshape(len(y), -1).any(axis=1))
        if rows.size:
            where = f"row {rows[0]}" if rows.size == 1 else f"{rows.size:,} rows, the first is row {rows[0]}"
            raise ValueError(f"Input y contains {what}, in {where}. {who} needs a number there: leave these rows out.")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _name(X: Any, column: int) -> str:
    """The column by its name, or by its position where there are no names."""
    names = getattr(X, "columns", None)
    return str(column) if names is None else repr(list(names)[column])


class EncodedClasses(NamedTuple):
    """The classes in sorted order, and for each row the place of its class among them."""

    classes: np.ndarray
    codes: np.ndarray


def encoded_classes(y: np.ndarray, who: str, otherwise: Callable[[], str] = str) -> EncodedClasses:
    """Two classes or more, and the code of each row; anything else is refused in the name of ``who``.

    ``otherwise`` gives what else can be done where y holds numbers with fractions.

    Examples
    --------
    >>> import numpy as np
    >>> encoded_classes(np.array(["ham", "spam", "ham"]), "Relief").codes
    array([0, 1, 0])
    """
    if np.ndim(y) != 1:
        raise ValueError(f"y has several columns, and {who} takes one target only.")
    y = np.asarray(y)
    refuse_missing_labels(y, who)
    _refuse_mixed_labels(y)
    kind = type_of_target(y, input_name="y")
    if kind == "continuous":
        raise ValueError(
            f"Unknown label type: continuous. {who} needs classes, and y holds numbers with fractions; bin them "
            f"first{otherwise()}."
        )
    if kind not in ("binary", "multiclass"):
        raise ValueError(
            f"Unknown label type: {kind}. {who} needs classes, and y is an array of Python objects "
            f"({type(y.flat[0]).__name__}); convert them to numbers or text, with y.astype(int) or y.astype(str)."
        )
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"{who} needs at least two classes, and y has one class only, {classes.tolist()[0]!r}.")
    return EncodedClasses(classes, codes)


def refuse_missing_labels(y: np.ndarray, who: str) -> None:
    """Say in which rows there is no label."""
    if y.dtype.kind == "f":
        missing = np.flatnonzero(np.isnan(y))
    elif y.dtype.kind == "O":
        missing = np.array([row for row, label in enumerate(y) if is_missing_label(label)], dtype=int)
    else:
        return
    if missing.size:
        rows = f"row {missing[0]}" if missing.size == 1 else f"{missing.size:,} rows, the first is row {missing[0]}"
        raise ValueError(
            f"Input y contains NaN: there is no label in {rows}. {who} needs a class for every row: leave these rows "
            "out, or give them a label of their own."
        )


def _refuse_mixed_labels(y: np.ndarray) -> None:
    """Text and something else, which NumPy cannot sort."""
    if y.dtype.kind != "O":
        return
    kinds = sorted({"text" if isinstance(label, str) else type(label).__name__ for label in y})
    if "text" in kinds and len(kinds) > 1:
        raise ValueError(
            f"y mixes labels of several kinds ({', '.join(kinds)}), which have no common order; make all of them text, "
            "for instance by [str(label) for label in y]."
        )


def is_missing_label(label: Any) -> bool:
    """Whether there is no label: None, NaN or pandas' NA."""
    # pandas' own NA is neither equal to itself nor different.
    return label is None or type(label).__name__ == "NAType" or (isinstance(label, float) and label != label)


@contextmanager
def columns_known_as(names: Sequence[str]) -> Iterator[None]:
    """Inside, messages about a table of as many columns call them by these names."""
    before = _names.set(names)
    try:
        yield
    finally:
        _names.reset(before)


def known_column(place: int, n_columns: int) -> str | int:
    """What to call a column of an array with so many: its name where that is known, and its place otherwise.

    Part of a table has other columns at the same places, so names count for a table of their number only.
    """
    names = _names.get()
    return names[place] if len(names) == n_columns else int(place)


def refuse_documents(X: Any, who: str) -> None:
    """Say how texts become a table.

    >>> refuse_documents([[0, 2], [1, 0]], "WordClusters")
    >>> refuse_documents(["a cat", "a dog"], "WordClusters")
    Traceback (most recent call last):
        ...
    ValueError: X holds texts, such as 'a cat', and WordClusters takes a table of word counts; ...
    """
    if issparse(X) or not (isinstance(X, (list, tuple)) or len(getattr(X, "shape", ())) == 1):
        return
    first = next(iter(X), None)
    if isinstance(first, str):
        shown = first if len(first) <= 40 else first[:37] + "..."
        raise ValueError(
            f"X holds texts, such as {str(shown)!r}, and {who} takes a table of word counts; make one with "
            "scikit-learn's CountVectorizer as an earlier step of a pipeline."
        )


def refuse_negative(counts: Any, who: str, names: Any = None) -> None:
    """Refuse negative counts, and name the first column that has one.

    >>> refuse_negative(np.array([[1.0, 2.0], [0.0, -1.0]]), "PLSA", ["sun", "rain"])
    Traceback (most recent call last):
        ...
    ValueError: Negative values in data passed to PLSA, in column 'rain': it takes a table of counts, ...
    """
    stored = counts.tocoo() if sparse.issparse(counts) else None
    lowest = counts.min() if stored is None or stored.nnz else 0
    if lowest < 0:
        place = int(np.nonzero(counts < 0)[1].min() if stored is None else stored.coords[1][stored.data < 0].min())
        name = place if names is None else repr(str(names[place]))
        raise ValueError(
            f"Negative values in data passed to {who}, in column {name}: it takes a table of counts, or of other "
            "numbers that are 0 or more."
        )


def place_of_class(classes: np.ndarray, pos_label: Any) -> int:
    """Position of ``pos_label`` among the classes."""
    found = np.flatnonzero(classes == pos_label)
    if len(found) == 0:
        raise ValueError(
            f"pos_label={pos_label!r} is not a class of y; the classes are "
            f"{', '.join(repr(label) for label in classes.tolist())}."
        )
    return int(found[0])


def refuse_other_classes(y: np.ndarray, classes: np.ndarray) -> None:
    """Raise for labels that ``partial_fit`` was not given in its first call."""
    unknown = np.setdiff1d(y, classes)
    if len(unknown) > 0:
        raise ValueError(
            f"y holds the class {unknown.tolist()[0]!r}, which is not one of classes={classes.tolist()}; "
            "name all classes in the first call of partial_fit."
        )


class Target(NamedTuple):
    """Numbers of shape (rows, targets), and the classes that they stand for, if any."""

    values: np.ndarray
    classes: np.ndarray | None


def target_matrix(y: np.ndarray, kind: str, who: str, balanced: bool) -> Target:
    """A target that is "classes", "numbers", or what "auto" makes of it; ``balanced``: E Pi^{-1/2} rather than E."""
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if kind == "classes" or (kind == "auto" and _looks_like_classes(y)):
        classes, codes = encoded_classes(y, who)
        indicator = (codes[:, None] == np.arange(len(classes))).astype(np.float64)
        return Target(indicator / np.sqrt(indicator.sum(axis=0)) if balanced else indicator, classes)
    numbers = np.asarray(y, dtype=np.float64)
    return Target(numbers.reshape(len(numbers), -1), None)


def _looks_like_classes(y: np.ndarray) -> bool:
    if y.ndim == 1 and y.dtype.kind == "O" and not all(isinstance(value, Real) for value in y):
        return True  # labels; what may be wrong with them is reported where they are encoded
    if y.ndim != 1 or type_of_target(y) not in ("binary", "multiclass"):
        return False
    return y.dtype.kind not in "iuf" or len(np.unique(y)) <= _FEW_VALUES


def known_target(y: Any, classes: np.ndarray | None) -> np.ndarray:
    """New values of a target whose classes are known, as a matrix of the same columns."""
    if classes is None:
        numbers = np.asarray(y, dtype=np.float64)
        return numbers.reshape(len(numbers), -1)
    labels = np.asarray(y)
    unknown = np.setdiff1d(labels, classes)
    if len(unknown):
        raise ValueError(f"y holds the class {unknown.tolist()[0]!r}, which was not seen in fit.")
    return (labels[:, None] == classes).astype(np.float64)


def known_codes(y: Any, classes: np.ndarray, n_rows: int) -> np.ndarray:
    """Places among the classes seen in fit, for one label for each row.

    Examples
    --------
    >>> known_codes(["b", "a"], np.array(["a", "b"]), 2)
    array([1, 0])
    """
    labels = column_or_1d(y)
    if len(labels) != n_rows:
        raise ValueError(f"y has {len(labels)} labels, and X has {n_rows} rows.")
    return known_target(labels, classes).argmax(axis=1)


def decreasing_alphas(alphas: Any) -> np.ndarray:
    """Penalties of a path, largest first; at least one, and none below 0.

    Examples
    --------
    >>> decreasing_alphas([0.1, 1.0])
    array([1. , 0.1])
    """
    found = np.sort(np.asarray(alphas, dtype=float).ravel())[::-1]
    if not len(found) or not (found >= 0).all() or np.isinf(found[0]):
        raise ValueError("alphas must be finite numbers that are not negative, at least one.")
    return found
