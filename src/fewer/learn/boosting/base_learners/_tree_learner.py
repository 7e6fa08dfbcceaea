"""A small regression tree, for jumps and interactions."""

from dataclasses import dataclass
from typing import Any

from fewer.learn.boosting.base_learners._base_learner import BaseLearner


@dataclass(frozen=True)
class TreeLearner(BaseLearner):
    """A term that is a sum of small regression trees on some columns.

    Parameters
    ----------
    columns : int, str or sequence of these, or None, default=None
        Which columns, by number or name; None for all.
    max_depth : int, default=1
        Splits one after the other; with 1, a single jump, and with d, interactions of up to d columns.
    min_samples_split : int, default=10
        Rows that a node needs to be split.
    min_samples_leaf : int, default=4
        Rows on each side of a split.

    See Also
    --------
    SpatialLearner : A smooth surface instead.

    Notes
    -----
    Splits are searched for as in scikit-learn's trees, so columns with many distinct values are somewhat more likely to
    be split than those with few; the R package uses conditional inference trees, which are not.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import ComponentwiseBoostingRegressor, TreeLearner
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = np.where((X > 0).all(axis=1), 1.0, 0.0)
    >>> model = ComponentwiseBoostingRegressor([TreeLearner((0, 1), max_depth=2)]).fit(X, y)
    >>> model.score(X, y) > 0.99
    True
    """

    columns: Any = None
    max_depth: int = 1
    min_samples_split: int = 10
    min_samples_leaf: int = 4

    kind = "tree"

    @property
    def references(self) -> tuple[Any, ...]:
        return () if self.columns is None else super().references

    def label(self, names: list[str]) -> str:
        return f"{self.kind}({', '.join(names)})" if self.columns is not None else f"{self.kind}(all columns)"
