"""A synthetic problem together with what a method should recover from it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fewer.io import Dataset


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """Data drawn from a known model, and the truth about it.

    What every ``make_NAME(..., random_state)`` returns. It unpacks into its three parts.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        The table that a method sees.
    y : ndarray of shape (n_samples,) or None
        The target, when there is one.
    truth : dict
        What a method should recover, each part under its name.
    columns : tuple of str, default=None
        Names of the columns; by default ``x1``, ``x2`` and so on.

    Examples
    --------
    >>> from fewer.datasets import make_independent_sources
    >>> problem = make_independent_sources(n_samples=100, random_state=0)
    >>> problem
    Problem: 100 rows x 3 columns, no target
      truth['sources']: array 100 x 3
      truth['mixing']: array 3 x 3
      truth['kurtosis']: array 3
    >>> X, y, truth = problem
    >>> X.shape == truth["sources"].shape
    True
    """

    X: Any
    y: np.ndarray | None
    truth: dict[str, Any]
    columns: tuple[str, ...] | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y, self.truth))

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        parts = [f"  truth[{name!r}]: {_in_short(value)}" for name, value in self.truth.items()]
        return "\n".join([f"Problem: {rows:,} rows x {columns:,} columns, {_target_in_short(self.y)}", *parts])

    def to_dataset(self) -> "Dataset":
        """The table that a method sees, without the truth.

        Returns
        -------
        dataset : fewer.io.Dataset
            With the problem's names of columns; the target, if any, is called ``y``.

        Examples
        --------
        >>> from fewer.datasets import make_gaussian
        >>> make_gaussian(n_samples=50, random_state=0).to_dataset().columns
        ('x1', 'x2', 'x3')
        """
        from dataclasses import replace

        from fewer.io import read_table

        names = self.columns or tuple(f"x{number}" for number in range(1, self.X.shape[1] + 1))
        dataset = read_table(self.X, target=self.y)
        return replace(dataset, columns=names, target=None if self.y is None else "y", source="synthetic problem")


def _in_short(value: Any) -> str:
    """An array by its shape, anything else as Python shows it, cut to a line."""
    if hasattr(value, "shape") and value.shape:
        return f"array {' x '.join(f'{side:,}' for side in value.shape)}"
    shown = " ".join(repr(value).split())
    return shown if len(shown) <= 80 else f"{shown[:77]}..."


def _target_in_short(y: np.ndarray | None) -> str:
    if y is None:
        return "no target"
    if y.dtype.kind == "f":
        return "numeric target"
    return f"target of {len(np.unique(y))} classes"
