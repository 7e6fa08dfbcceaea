"""A level of its own for each category."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from fewer.learn.boosting.base_learners._base_learner import BaseLearner, Basis
from fewer.learn.boosting.base_learners._columns import as_references


@dataclass(frozen=True)
class CategoryBasis(Basis):
    """An indicator of each category; zero for those that were not there in training."""

    categories: np.ndarray

    def matrix(self, values: np.ndarray) -> Any:
        places = np.searchsorted(self.categories, values[:, 0]).clip(max=len(self.categories) - 1)
        rows = np.flatnonzero(self.categories[places] == values[:, 0])
        shape = (len(values), len(self.categories))
        return sparse.csr_array((np.ones(len(rows)), (rows, places[rows])), shape=shape)

    def n_outside(self, values: np.ndarray) -> int:
        return int((~np.isin(values[:, 0], self.categories)).sum())


@dataclass(frozen=True)
class CategoricalLearner(BaseLearner):
    """A term with a level for each category of a column.

    Parameters
    ----------
    columns : int or str
        Which column, by number or name. It holds categories as numbers (see sklearn.preprocessing.OrdinalEncoder).
    df : float or None, default=None
        Degrees of freedom of a ridge penalty, which draws the levels towards zero, those of rare categories most; so a
        column with many categories competes fairly with one that has few. None for no penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import CategoricalLearner, ComponentwiseBoostingRegressor
    >>> X = np.repeat([[0.0], [1.0], [2.0]], 20, axis=0)
    >>> y = np.repeat([1.0, 5.0, 2.0], 20)
    >>> model = ComponentwiseBoostingRegressor([CategoricalLearner(0)]).fit(X, y)
    >>> model.predict([[0.0], [1.0], [2.0]]).round(2)
    array([1., 5., 2.])
    """

    columns: Any
    df: float | None = None

    kind = "categories"

    def __post_init__(self) -> None:
        if len(as_references(self.columns)) != 1:
            raise ValueError("A CategoricalLearner takes one column.")

    @property
    def has_constant(self) -> bool:  # type: ignore[override]  # a property here, a plain attribute in the base
        return self.df is None

    def fitted_basis(self, values: np.ndarray) -> CategoryBasis | None:
        categories = np.unique(values[:, 0])
        if len(categories) < 2:
            return None
        return CategoryBasis(None if self.df is None else np.eye(len(categories)), None, categories)
