"""What is too large for a table, so that a small file cannot take all time and memory."""

import os
from collections.abc import Sequence

from fewer.io._errors import TableError

# A dense table takes some KB for each column in each of several places.
MOST_COLUMNS = 1_000_000
_MOST_EMPTY = 1 << 20  # as many columns as hashed features commonly have


def physical_memory() -> int:
    """Bytes of memory of this machine; 64 GiB where it cannot be asked for."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 64 << 30


def refuse_large(source: str, n_bytes: int) -> None:
    """Raise when this many bytes do not fit into the memory of this machine."""
    if n_bytes > physical_memory():
        raise TableError(
            f"{source}: this would take {n_bytes / 2**30:,.1f} GiB, but this machine has "
            f"{physical_memory() / 2**30:,.1f} GiB of memory. If it is not damaged, read a part of it, or take a "
            "machine with more memory."
        )


def refuse_empty(source: str, shape: Sequence[int], n_bytes: int) -> None:
    """Raise for rows or columns that are far more than what is stored in this many bytes, as in a sparse table."""
    if max(shape) > _MOST_EMPTY + n_bytes:
        raise TableError(
            f"{source}: a table of {' x '.join(f'{length:,}' for length in shape)} with {n_bytes:,} bytes of "
            "stored values is not read: nearly all of it would be empty. Check its indices; make hashes shorter."
        )
