"""A smooth curve in one column: B-splines whose coefficients must not differ much from a line (P-splines)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from fewer.learn.boosting.base_learners._base_learner import BaseLearner, Basis
from fewer.learn.boosting.base_learners._columns import as_references
from fewer.learn.boosting.base_learners._spline_basis import SplineBasis, difference_matrix


@dataclass(frozen=True)
class CurveBasis(Basis):
    """B-splines of the first column, multiplied by the second where there is one."""

    splines: SplineBasis

    def matrix(self, values: np.ndarray) -> Any:
        basis = self.splines.matrix(values[:, 0])
        return sparse.csr_array(sparse.diags_array(values[:, 1]) @ basis) if values.shape[1] > 1 else basis

    def n_outside(self, values: np.ndarray) -> int:
        return self.splines.n_outside(values[:, 0])


@dataclass(frozen=True)
class SplineLearner(BaseLearner):
    """A smooth term: a penalised spline of one column.

    Parameters
    ----------
    columns : int or str
        Which column, by number or name.
    df : float, default=4
        Degrees of freedom of the fit in one step; the whole curve can become more flexible over the steps.
    knots : int, default=20
        Inner knots, equally far from one another.
    degree : int, default=3
        Degree of the pieces.
    differences : int, default=2
        What is penalised: with 2, being different from a straight line.
    center : bool, default=False
        Leave out what is not penalised (with ``differences=2``, the line), and fit only the deviation from it. Beside a
        :class:`LinearLearner` of the same column, with ``df=1``, the two compete fairly, and the model tells whether a
        line is enough.
    cyclic : bool, default=False
        Whether the ends meet, as for hours of a day.
    by : int, str or None, default=None
        A column that the curve is multiplied by: its effect varies with the first column.

    See Also
    --------
    SpatialLearner : A smooth surface over two columns.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fewer.learn import ComponentwiseBoostingRegressor, LinearLearner, SplineLearner
    >>> X, y = load_diabetes(return_X_y=True)
    >>> learners = [LinearLearner(2), SplineLearner(2, df=1, center=True)]
    >>> ComponentwiseBoostingRegressor(learners, n_iter=50).fit(X, y).selection_frequency_.round(2).tolist()
    [0.66, 0.34]
    """

    columns: Any
    df: float | None = 4.0
    knots: int = 20
    degree: int = 3
    differences: int = 2
    center: bool = False
    cyclic: bool = False
    by: Any = None

    kind = "smooth"

    def __post_init__(self) -> None:
        if len(as_references(self.columns)) != 1:
            raise ValueError("A SplineLearner takes one column; use a SpatialLearner for a surface over two.")
        if self.center and self.cyclic:
            raise ValueError("A curve that closes has no line to leave out; choose center=True or cyclic=True.")
        least = 0 if self.center else (1 if self.cyclic else self.differences)
        if self.df is not None and self.df <= least:
            raise ValueError(
                f"df={self.df} is too small: {least} degrees of freedom are free of the penalty, so df must be larger"
                + ("." if self.center or self.cyclic else "; or set center=True, which leaves these out.")
            )

    @property
    def references(self) -> tuple[Any, ...]:
        return as_references(self.columns) + (() if self.by is None else (self.by,))

    @property
    def has_constant(self) -> bool:  # type: ignore[override]  # a property here, a plain attribute in the base
        return not self.center and self.by is None

    def label(self, names: list[str]) -> str:
        return f"{self.kind}({names[0]})" + ("" if self.by is None else f" x {names[1]}")

    def fitted_basis(self, values: np.ndarray) -> CurveBasis | None:
        low, high = float(values[:, 0].min()), float(values[:, 0].max())
        if not low < high or (values.shape[1] > 1 and not values[:, 1].any()):
            return None
        splines = SplineBasis(low, high, self.knots, self.degree, self.cyclic)
        differences = difference_matrix(splines.size, self.differences, self.cyclic)
        if not self.center:
            return CurveBasis(differences.T @ differences, None, splines)
        reduction = differences.T @ np.linalg.inv(differences @ differences.T)
        return CurveBasis(np.eye(reduction.shape[1]), reduction, splines)
