"""A straight line in one column, or a plane in several."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewer.learn.boosting.base_learners._base_learner import BaseLearner, Basis


@dataclass(frozen=True)
class LinearBasis(Basis):
    """A constant, if wanted, and the columns themselves."""

    intercept: bool

    def matrix(self, values: np.ndarray) -> np.ndarray:
        return np.column_stack([np.ones(len(values)), values]) if self.intercept else values


@dataclass(frozen=True)
class LinearLearner(BaseLearner):
    """A linear term: ``a + b x``, or several columns that enter together.

    Parameters
    ----------
    columns : int, str or sequence of these
        Which columns, by number or name. None of them, ``()``, is a constant alone.
    intercept : bool, default=True
        Whether it fits a constant too. Without one, columns should be centred.
    df : float or None, default=None
        Degrees of freedom of a ridge penalty on all coefficients, so that a group of columns competes fairly with
        single ones; None for no penalty.

    See Also
    --------
    SplineLearner : A smooth curve.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fewer.learn import ComponentwiseBoostingRegressor, LinearLearner
    >>> X, y = load_diabetes(return_X_y=True)
    >>> learners = [LinearLearner(2), LinearLearner(8), LinearLearner((4, 5), df=1)]
    >>> ComponentwiseBoostingRegressor(learners, n_iter=20).fit(X, y).learner_names_
    ['linear(x2)', 'linear(x8)', 'linear(x4, x5)']
    """

    columns: Any
    intercept: bool = True
    df: float | None = None

    kind = "linear"

    @property
    def has_constant(self) -> bool:  # type: ignore[override]  # a property here, a plain attribute in the base
        return self.intercept and self.df is None

    @property
    def is_plain(self) -> bool:
        """One column and no penalty: such learners are tried all at once."""
        return len(self.references) == 1 and self.df is None

    def fitted_basis(self, values: np.ndarray) -> LinearBasis | None:
        if values.shape[1] and (np.ptp(values, axis=0) == 0).all() and self.intercept:
            return None
        size = values.shape[1] + self.intercept
        return LinearBasis(None if self.df is None else np.eye(size), None, self.intercept)
