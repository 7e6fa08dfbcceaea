"""A fingerprint of a table: equal tables have equal ones, and any changed cell, name or row order changes it."""

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from fewer.study._coded import CodedDataset, coded

if TYPE_CHECKING:
    from fewer.io import Dataset

_BLOCK_CELLS = 4_000_000


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
