"""Terms of an additive model (base-learners), each fitted by least squares on columns of its own.

- a straight line in one column, or a plane in several;
- a smooth curve in one column: B-splines on equidistant knots whose coefficients must not differ much from a line
  (P-splines), continued as straight lines beyond the last knots;
- a smooth surface over two columns: products of B-splines;
- a level of its own for each category;
- a small regression tree, for jumps and interactions.

Eilers, P. H. C. and Marx, B. D. (1996). Flexible smoothing with B-splines and penalties. Statistical Science 11,
89-121.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from scipy import sparse
from scipy.interpolate import BSpline


def as_references(columns: Any) -> tuple[Any, ...]:
    """One reference or several as a tuple."""
    if isinstance(columns, (int, str, np.integer)):
        return (columns,)
    return tuple(columns)


def column_numbers(references: Sequence[Any], n_features: int, names: Sequence[str] | None) -> tuple[int, ...]:
    """The place of each column that is referred to.

    >>> column_numbers(("hip", 0), 2, ["age", "hip"])
    (1, 0)
    """
    return tuple(_number(reference, n_features, names) for reference in references)


def _number(reference: Any, n_features: int, names: Sequence[str] | None) -> int:
    if isinstance(reference, (int, np.integer)) and not isinstance(reference, bool):
        if 0 <= int(reference) < n_features:
            return int(reference)
        raise ValueError(f"A base-learner asks for column {reference}; the table has columns 0 to {n_features - 1}.")
    if names is None:
        raise ValueError(
            f"A base-learner asks for column {reference!r}, and the table has no names; pass a data frame, or refer "
            "to columns by number."
        )
    places = {name: place for place, name in enumerate(names)}
    if reference in places:
        return places[reference]
    close = get_close_matches(str(reference), list(names), n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"A base-learner asks for column {reference!r}, which the table does not have.{hint}")


def column_values(X: Any, columns: Sequence[int]) -> np.ndarray:
    """These columns as a dense array."""
    chosen = X[:, list(columns)]
    return chosen.toarray() if sparse.issparse(chosen) else np.asarray(chosen)


@dataclass(frozen=True)
class Basis:
    """What a learner has learnt of its columns; a fit on them is ``matrix(values) @ coefficients``.

    Derived classes add what they need to make the matrix.
    """

    penalty: np.ndarray | None
    reduction: np.ndarray | None  # coefficients are those of ``matrix @ reduction`` where there is one

    def matrix(self, values: np.ndarray) -> Any:
        """The basis functions at rows of the learner's columns, dense or sparse."""
        raise NotImplementedError

    def n_outside(self, values: np.ndarray) -> int:
        """Rows beyond what was seen in training, where the fit is continued by an assumption."""
        return 0


class BaseLearner:
    """One term of an additive model: a fit by (penalised) least squares on columns of its own.

    Derived classes are frozen dataclasses with a field ``columns``.
    """

    columns: Any
    kind = "term"
    df: float | None = None
    has_constant = False  # whether a constant is fitted free of penalty, which then counts as one degree of freedom

    @property
    def references(self) -> tuple[Any, ...]:
        """All columns that the learner needs, by number or name."""
        return as_references(self.columns)

    def label(self, names: list[str]) -> str:
        """How the term is called, with the names of its columns."""
        return f"{self.kind}({', '.join(names)})"

    def fitted_basis(self, values: np.ndarray) -> Basis | None:
        """Basis functions for these training rows; None where the columns are constant."""
        raise NotImplementedError


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
    fit_intercept : bool, default=True
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
    >>> ComponentwiseBoostingRegressor(learners, n_estimators=20).fit(X, y).learner_names_
    ['linear(x2)', 'linear(x8)', 'linear(x4, x5)']
    """

    columns: Any
    fit_intercept: bool = True
    df: float | None = None

    kind = "linear"

    @property
    def has_constant(self) -> bool:  # type: ignore[override]  # a property here, a plain attribute in the base
        return self.fit_intercept and self.df is None

    @property
    def is_plain(self) -> bool:
        """One column and no penalty: such learners are tried all at once."""
        return len(self.references) == 1 and self.df is None

    def fitted_basis(self, values: np.ndarray) -> LinearBasis | None:
        if values.shape[1] and (np.ptp(values, axis=0) == 0).all() and self.fit_intercept:
            return None
        size = values.shape[1] + self.fit_intercept
        return LinearBasis(None if self.df is None else np.eye(size), None, self.fit_intercept)


def difference_matrix(size: int, order: int, cyclic: bool = False) -> np.ndarray:
    """Differences of neighbouring coefficients; a circle's last has the first as its neighbour."""
    if cyclic:
        step = np.roll(np.eye(size), 1, axis=1) - np.eye(size)
        return np.linalg.matrix_power(step, order)
    return np.diff(np.eye(size), n=order, axis=0)


@dataclass(frozen=True)
class SplineBasis:
    """B-splines of one variable: ``n_knots`` equidistant inner knots between ``low`` and ``high``."""

    low: float
    high: float
    n_knots: int
    degree: int
    cyclic: bool

    @property
    def knots(self) -> np.ndarray:
        """All knots, with ``degree`` more beyond either end."""
        places = np.arange(-self.degree, self.n_knots + 2 + self.degree)
        return self.low + (self.high - self.low) / (self.n_knots + 1) * places

    @property
    def size(self) -> int:
        """Number of basis functions."""
        return self.n_knots + 1 + (0 if self.cyclic else self.degree)

    def matrix(self, x: np.ndarray) -> Any:
        """Value of each basis function at each x, sparse: at most ``degree + 1`` of them are not zero."""
        knots = self.knots
        if self.cyclic:
            inside = self.low + np.mod(x - self.low, self.high - self.low)
        else:
            inside = np.clip(x, self.low, self.high)
        # Rounding must not push a value over the knot that is its bound.
        inside = np.clip(inside, knots[self.degree], knots[-self.degree - 1])
        basis = sparse.csr_array(BSpline.design_matrix(inside, knots, self.degree))
        if self.cyclic:
            return self._wrapped(basis)
        beyond = x - np.clip(x, self.low, self.high)
        if beyond.any():
            basis = sparse.csr_array(basis + sparse.diags_array(beyond) @ self._slopes(inside, beyond))
        return basis

    def _slopes(self, inside: np.ndarray, beyond: np.ndarray) -> Any:
        """Slope of each basis function at the end that a row lies beyond; empty rows for those within."""
        rows = np.flatnonzero(beyond)
        knots, n_columns = self.knots, self.size
        ends = BSpline(knots, np.eye(n_columns), self.degree).derivative()(inside[rows])
        slopes = sparse.coo_array(ends)
        return sparse.csr_array((slopes.data, (rows[slopes.row], slopes.col)), shape=(len(inside), n_columns))

    def _wrapped(self, basis: Any) -> Any:
        """On a circle the last ``degree`` functions are the first ones again."""
        fold = sparse.eye_array(self.size, format="csr")
        return sparse.csr_array(basis @ sparse.vstack([fold, fold[: self.degree]]))

    def n_outside(self, x: np.ndarray) -> int:
        """How many values lie beyond the range that the basis was made for."""
        return 0 if self.cyclic else int(((x < self.low) | (x > self.high)).sum())


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
    n_knots : int, default=20
        Number of inner knots, equally far from one another.
    degree : int, default=3
        Degree of the pieces.
    differences : int, default=2
        What is penalised: with 2, being different from a straight line.
    penalized_only : bool, default=False
        Leave out what is not penalised (with ``differences=2``, the line), and fit only the deviation from it. Beside a
        :class:`LinearLearner` of the same column, with ``df=1``, the two compete fairly, and the model shows whether a
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
    >>> learners = [LinearLearner(2), SplineLearner(2, df=1, penalized_only=True)]
    >>> ComponentwiseBoostingRegressor(learners, n_estimators=50).fit(X, y).selection_frequency_.round(2).tolist()
    [0.66, 0.34]
    """

    columns: Any
    df: float | None = 4.0
    n_knots: int = 20
    degree: int = 3
    differences: int = 2
    penalized_only: bool = False
    cyclic: bool = False
    by: Any = None

    kind = "smooth"

    def __post_init__(self) -> None:
        if len(as_references(self.columns)) != 1:
            raise ValueError("A SplineLearner takes one column; use a SpatialLearner for a surface over two.")
        if self.penalized_only and self.cyclic:
            raise ValueError("A curve that closes has no line to leave out; choose penalized_only=True or cyclic=True.")
        least = 0 if self.penalized_only else (1 if self.cyclic else self.differences)
        if self.df is not None and self.df <= least:
            raise ValueError(
                f"df={self.df} is too small: {least} degrees of freedom are free of the penalty, so df must be larger"
                + (
                    "."
                    if self.penalized_only or self.cyclic
                    else "; or set penalized_only=True, which leaves these out."
                )
            )

    @property
    def references(self) -> tuple[Any, ...]:
        return as_references(self.columns) + (() if self.by is None else (self.by,))

    @property
    def has_constant(self) -> bool:  # type: ignore[override]  # a property here, a plain attribute in the base
        return not self.penalized_only and self.by is None

    def label(self, names: list[str]) -> str:
        return f"{self.kind}({names[0]})" + ("" if self.by is None else f" x {names[1]}")

    def fitted_basis(self, values: np.ndarray) -> CurveBasis | None:
        low, high = float(values[:, 0].min()), float(values[:, 0].max())
        if not low < high or (values.shape[1] > 1 and not values[:, 1].any()):
            return None
        splines = SplineBasis(low, high, self.n_knots, self.degree, self.cyclic)
        differences = difference_matrix(splines.size, self.differences, self.cyclic)
        if not self.penalized_only:
            return CurveBasis(differences.T @ differences, None, splines)
        reduction = differences.T @ np.linalg.inv(differences @ differences.T)
        return CurveBasis(np.eye(reduction.shape[1]), reduction, splines)


def row_products(first: Any, second: Any) -> Any:
    """Products of each column of the first with each of the second, row by row."""
    first, second = sparse.csr_array(first), sparse.csr_array(second)
    ones_second, ones_first = np.ones((1, second.shape[1])), np.ones((1, first.shape[1]))
    repeated = sparse.kron(first, ones_second, format="csr")
    tiled = sparse.kron(ones_first, second, format="csr")
    return sparse.csr_array(repeated.multiply(tiled))


@dataclass(frozen=True)
class SurfaceBasis(Basis):
    """Products of the B-splines of two columns."""

    splines: tuple[SplineBasis, SplineBasis]

    def matrix(self, values: np.ndarray) -> Any:
        return row_products(self.splines[0].matrix(values[:, 0]), self.splines[1].matrix(values[:, 1]))

    def n_outside(self, values: np.ndarray) -> int:
        return max(splines.n_outside(values[:, place]) for place, splines in enumerate(self.splines))


@dataclass(frozen=True)
class SpatialLearner(BaseLearner):
    """A smooth surface over two columns, such as a map, or the interaction of two measurements.

    Parameters
    ----------
    columns : sequence of two int or str
        Which columns, by number or name.
    df : float, default=6
        Degrees of freedom of the fit in one step; more than ``differences**2``, which are free of the penalty.
    n_knots : int, default=12
        Number of inner knots along each column.
    degree : int, default=3
        Degree of the pieces.
    differences : int, default=2
        What is penalised along each column: with 2, being different from a straight line.

    See Also
    --------
    TreeLearner : An interaction with jumps instead.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import ComponentwiseBoostingRegressor, SpatialLearner
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    >>> y = np.exp(-4 * (X**2).sum(axis=1))
    >>> ComponentwiseBoostingRegressor([SpatialLearner((0, 1))]).fit(X, y).score(X, y) > 0.8
    True
    """

    columns: Any
    df: float | None = 6.0
    n_knots: int = 12
    degree: int = 3
    differences: int = 2

    kind = "surface"
    has_constant = True

    def __post_init__(self) -> None:
        if len(as_references(self.columns)) != 2:
            raise ValueError("A SpatialLearner takes two columns, such as SpatialLearner(('east', 'north')).")
        if self.df is not None and self.df <= self.differences**2:
            raise ValueError(f"df={self.df} is too small: {self.differences**2} are free of the penalty.")

    def fitted_basis(self, values: np.ndarray) -> SurfaceBasis | None:
        lows, highs = values.min(axis=0), values.max(axis=0)
        if not (lows < highs).all():
            return None
        first, second = (
            SplineBasis(float(low), float(high), self.n_knots, self.degree, cyclic=False)
            for low, high in zip(lows, highs, strict=True)
        )
        differences = difference_matrix(first.size, self.differences)
        along, identity = differences.T @ differences, np.eye(first.size)
        return SurfaceBasis(np.kron(along, identity) + np.kron(identity, along), None, (first, second))


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
