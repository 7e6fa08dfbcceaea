"""Base-learners on a training table: each kind tried all at once, in one product.

Lines in single columns: with z a column (centred where learners have an intercept), ``b = z'W u`` and ``S = z'W z``,
the fit is ``(b / S) z`` and the weighted sum of squares falls by ``b^2 / S``; the mean of u adds the same to all.

Penalised learners have a wanted number of degrees of freedom. For a basis Z, weights W and a penalty K, with
G = Z'WZ, the fit to u is ``Z A Z'W u``, ``A = (G + lam K)^-1``. All that depends on lam is diagonal in the generalised
eigenvectors of (G, G + c K): with eigenvalues s and

    t = s + lam (1 - s) / c,      trace of the fit = sum s / t,      df = sum 2 s / t - (s / t)^2.

The weighted sum of squares falls by ``b'(2 A - A G A) b`` with ``b = Z'W u``, so learners are compared without their
fitted values. Works for singular G too: directions with s = 0 are those that the rows do not determine.

Regression trees are grown for each learner at each step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import brentq
from sklearn.tree import DecisionTreeRegressor

from fewer._kernels._numpy_lapack import generalized_eigh
from fewer.learn.boosting._base_learners import (
    BaseLearner,
    Basis,
    LinearBasis,
    LinearLearner,
    SplineLearner,
    TreeLearner,
    column_numbers,
    column_values,
)

_LARGEST_PENALTY = 1e15
_FREE = 1e-9  # share of c K in a direction below which it is free of penalty
_NOTHING = 1e-10  # share of G in a direction below which the rows do not determine it


@dataclass(frozen=True)
class Spectrum:
    """A basis and its penalty, in the directions in which both are diagonal."""

    directions: np.ndarray
    shares: np.ndarray  # of G in G + c K, by direction
    scale: float  # c

    @classmethod
    def of(cls, gram: np.ndarray, penalty: np.ndarray) -> "Spectrum":
        """Of ``G`` and ``K``, which may both be singular but share no null direction."""
        scale = np.trace(gram) / np.trace(penalty)
        both = gram + scale * penalty
        # A hair of the identity: a direction in neither (two equal columns) is then left at zero, not an error.
        both[np.diag_indices_from(both)] += 1e-13 * np.trace(both) / len(both)
        shares, directions = generalized_eigh(gram, both)
        # What is free of penalty must be so exactly, for penalties may be huge.
        shares[shares > 1 - _FREE] = 1
        return cls(directions, np.maximum(shares, 0), scale)

    @property
    def rank(self) -> int:
        """Directions that the rows determine."""
        return int((self.shares > _NOTHING).sum())

    def damping(self, lam: float) -> np.ndarray:
        """``t``; infinite for directions that nothing determines."""
        damping = self.shares + lam * (1 - self.shares) / self.scale
        return np.where((self.shares > _NOTHING) | (lam > 0), np.maximum(damping, 1e-300), np.inf)

    def trace(self, lam: float) -> float:
        """Trace of the fit."""
        return float((self.shares / self.damping(lam)).sum())

    def degrees_of_freedom(self, lam: float) -> float:
        """``2 tr S - tr S'S`` of the fit S."""
        kept = self.shares / self.damping(lam)
        return float((2 * kept - kept**2).sum())

    def penalty_for(self, df: float) -> float:
        """The lam with these degrees of freedom; 0 where df is the rank or more."""
        if df >= self.rank - 1e-9:
            return 0.0
        if df <= self.degrees_of_freedom(_LARGEST_PENALTY):
            return _LARGEST_PENALTY
        # brentq in log lam, for lam may be anything.
        low, high = -15 * np.log(10), np.log(_LARGEST_PENALTY)
        if self.degrees_of_freedom(np.exp(low)) <= df:
            return 0.0
        return float(np.exp(brentq(lambda log: self.degrees_of_freedom(np.exp(log)) - df, low, high, xtol=1e-13)))


@dataclass(frozen=True)
class Smoother:
    """The fit of one learner as matrices for ``b = Z'W u``: coefficients ``A b``, fall of the squares ``b' gain b``."""

    inverse: np.ndarray
    gain: np.ndarray
    df: float
    penalty: float

    @classmethod
    def of(
        cls, gram: np.ndarray, penalty: np.ndarray | None, df: float | None, reduction: np.ndarray | None = None
    ) -> "Smoother":
        """With ``df`` degrees of freedom, unpenalised with None; within the span of ``reduction``, if given."""
        if reduction is not None:
            inside = cls.of(reduction.T @ gram @ reduction, penalty, df)
            return cls(
                reduction @ inside.inverse @ reduction.T,
                reduction @ inside.gain @ reduction.T,
                inside.df,
                inside.penalty,
            )
        # Unpenalised, any penalty of full rank serves to find the directions.
        spectrum = Spectrum.of(gram, np.eye(len(gram)) if penalty is None else penalty)
        lam = 0.0 if penalty is None or df is None else spectrum.penalty_for(df)
        damping = spectrum.damping(lam)
        inverse = (spectrum.directions / damping) @ spectrum.directions.T
        gain = (spectrum.directions * (2 / damping - spectrum.shares / damping**2)) @ spectrum.directions.T
        return cls(inverse, gain, spectrum.degrees_of_freedom(lam), lam)


@dataclass(frozen=True)
class LinearTerms:
    """What is needed to evaluate the lines on other rows."""

    columns: np.ndarray
    centres: np.ndarray
    intercept: bool

    def values(self, X: Any, term: int, total: np.ndarray) -> np.ndarray:
        """One term at the rows of X."""
        column = X[:, [self.columns[term]]]
        column = column.toarray()[:, 0] if sparse.issparse(column) else column[:, 0]
        constant, slope = total if self.intercept else (0.0, total[0])
        return constant + slope * (column - self.centres[term])

    def linear_part(self, term: int, total: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Constant, columns and slopes of one term."""
        constant, slope = total if self.intercept else (0.0, total[0])
        return float(constant - slope * self.centres[term]), self.columns[[term]], np.array([slope])

    def n_outside(self, X: Any, term: int) -> int:
        """A line goes on by itself."""
        return 0


class LinearDesign:
    """The columns at the training rows. Sparse ones stay so: they are centred in the products only."""

    def __init__(self, X: Any, columns: np.ndarray, weights: np.ndarray, intercept: bool) -> None:
        every = np.array_equal(columns, np.arange(X.shape[1]))
        table = X if every else X[:, columns]
        self._weights, self._intercept, self._total = weights, intercept, float(weights.sum())
        means = (table.T @ weights) / self._total
        centres = means if intercept else np.zeros(len(columns))
        self._sparse = sparse.issparse(table)
        if self._sparse:
            self._table = sparse.csc_array(table)
            squares = self._table.copy()
            squares.data **= 2
            raw = squares.T @ weights
            self._squares = raw - self._total * centres**2
        else:
            self._table = table - centres
            self._squares = np.einsum("ij,ij,i->j", self._table, self._table, weights)
            raw = self._squares + self._total * centres**2
        # A constant column has rounding errors for a variance; larger ones where it is a difference of sums.
        self.usable = self._squares > (1e-12 if self._sparse else 1e-26) * raw
        self._safe_squares = np.where(self.usable, self._squares, 1.0)
        self.terms = LinearTerms(np.asarray(columns), centres, intercept)
        self.degrees_of_freedom = np.ones(len(columns))

    @property
    def n_moments(self) -> int:
        """A product for each column, and the sum of u with an intercept."""
        return len(self.terms.columns) + self._intercept

    def moments(self, vectors: Any) -> np.ndarray:
        """Products ``z'W v`` with all columns."""
        vectors = vectors.toarray() if sparse.issparse(vectors) else vectors
        weighted = (self._weights * vectors.T).T
        products = self._table.T @ weighted
        if not self._intercept:
            return products
        totals = weighted.sum(axis=0)
        if self._sparse:
            products = products - np.multiply.outer(self.terms.centres, totals)
        return np.concatenate([totals[None], products])

    def gains(self, moments: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Fall of the weighted sum of squares by each learner."""
        products = moments[int(self._intercept) :]
        gains = products**2 / self._safe_squares
        if self._intercept:
            gains += moments[0] ** 2 / self._total
        gains[~self.usable] = -np.inf
        return gains

    def coefficients(self, term: int, moments: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The fit of one learner."""
        if not self._intercept:
            return moments[[term]] / self._safe_squares[term]
        return np.array([moments[0] / self._total, moments[term + 1] / self._safe_squares[term]])

    def directions(self, term: int) -> np.ndarray:
        """What the coefficients of a learner multiply."""
        column = self._table[:, [term]]
        if self._sparse:
            column = column.toarray() - self.terms.centres[term]
        return np.hstack([np.ones_like(column), column]) if self._intercept else column

    def inverse(self, term: int) -> np.ndarray:
        """The matrix that takes products with the directions to coefficients."""
        squares = [self._total, self._safe_squares[term]] if self._intercept else [self._safe_squares[term]]
        return np.diag(1 / np.array(squares))

    def values(self, term: int, coefficients: np.ndarray) -> np.ndarray:
        """The fit at the training rows."""
        return self.directions(term) @ coefficients


@dataclass(frozen=True)
class SmoothTerms:
    """What is needed to evaluate the terms on other rows."""

    columns: list[tuple[int, ...]]
    bases: list[Basis]

    def values(self, X: Any, term: int, total: np.ndarray) -> np.ndarray:
        """One term at the rows of X."""
        return self.bases[term].matrix(column_values(X, self.columns[term])) @ total

    def linear_part(self, term: int, total: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Constant, columns and slopes of one term; nothing for terms that are not linear."""
        basis = self.bases[term]
        if not isinstance(basis, LinearBasis):
            return 0.0, np.empty(0, dtype=int), np.empty(0)
        constant = float(total[0]) if basis.intercept else 0.0
        return constant, np.array(self.columns[term], dtype=int), total[int(basis.intercept) :]

    def n_outside(self, X: Any, term: int) -> int:
        """Rows for which the term is continued beyond what was seen."""
        return self.bases[term].n_outside(column_values(X, self.columns[term]))


class SmoothDesign:
    """The basis functions at the training rows, side by side and sparse, and the fit of each learner as matrices."""

    def __init__(self, terms: SmoothTerms, matrices: list[Any], smoothers: list[Smoother], weights: np.ndarray) -> None:
        self.terms = terms
        self._matrices = matrices
        stacked = sparse.hstack([sparse.csr_array(matrix) for matrix in matrices], format="csr")
        self._products = sparse.csr_array((sparse.diags_array(weights) @ stacked).T)
        self._inverses = np.array([smoother.inverse for smoother in smoothers])
        self._gains = np.array([smoother.gain for smoother in smoothers])
        self._width = self._gains.shape[-1]
        self.usable = np.ones(len(matrices), dtype=bool)
        self.degrees_of_freedom = np.array([smoother.df for smoother in smoothers])

    @property
    def n_moments(self) -> int:
        """A product for each basis function."""
        return self._products.shape[0]

    def moments(self, vectors: Any) -> np.ndarray:
        """Products ``Z'W v`` with all basis functions."""
        products = self._products @ vectors
        return products.toarray() if sparse.issparse(products) else products

    def gains(self, moments: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Fall of the weighted sum of squares by each learner."""
        by_term = moments.reshape(-1, self._width)
        return np.einsum("jk,jk->j", by_term, (self._gains @ by_term[:, :, None])[:, :, 0])

    def coefficients(self, term: int, moments: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The fit of one learner."""
        return self._inverses[term] @ moments[term * self._width : (term + 1) * self._width]

    def directions(self, term: int) -> Any:
        """What the coefficients of a learner multiply."""
        return self._matrices[term]

    def inverse(self, term: int) -> np.ndarray:
        """The matrix that takes products with the directions to coefficients."""
        return self._inverses[term]

    def values(self, term: int, coefficients: np.ndarray) -> np.ndarray:
        """The fit at the training rows."""
        return self._matrices[term] @ coefficients


@dataclass(frozen=True)
class TreeTerms:
    """What is needed to evaluate sums of trees on other rows."""

    columns: list[tuple[int, ...]]

    def values(self, X: Any, term: int, total: list[tuple[float, Any]]) -> np.ndarray:
        """One term at the rows of X: a sum of trees, each with its step."""
        chosen = column_values(X, self.columns[term]).astype(np.float32)
        values = np.zeros(len(chosen))
        for step, tree in total:
            values += step * tree.tree_.predict(chosen)[:, 0]
        return values

    def linear_part(self, term: int, total: Any) -> tuple[float, np.ndarray, np.ndarray]:
        """Trees are not linear."""
        return 0.0, np.empty(0, dtype=int), np.empty(0)

    def n_outside(self, X: Any, term: int) -> int:
        """A tree is constant beyond its last split."""
        return 0


class TreeDesign:
    """The columns of each learner at the training rows."""

    n_moments = 0
    directions = None  # a tree has no fixed basis

    def __init__(
        self, X: Any, learners: list[TreeLearner], columns: list[tuple[int, ...]], weights: np.ndarray, seed: int
    ) -> None:
        self.terms = TreeTerms(columns)
        self._learners, self._weights, self._seed = learners, weights, seed
        self._tables = [column_values(X, chosen).astype(np.float32) for chosen in columns]
        self._grown: list[DecisionTreeRegressor] = []
        self.usable = np.array([bool((np.ptp(table, axis=0) > 0).any()) for table in self._tables])
        self.degrees_of_freedom = np.full(len(learners), np.nan)  # unknown, and not compared

    def moments(self, vectors: Any) -> np.ndarray:
        """None: trees look at u itself."""
        return np.empty((0, *vectors.shape[1:]))

    def gains(self, moments: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Fall of the weighted sum of squares by each learner, whose tree is grown here."""
        self._grown = [
            self._tree(learner, table, u) for learner, table in zip(self._learners, self._tables, strict=True)
        ]
        before = self._weights @ u**2
        return np.array(
            [before - self._weights @ (u - self.values(term, tree)) ** 2 for term, tree in enumerate(self._grown)]
        )

    def _tree(self, learner: TreeLearner, table: np.ndarray, u: np.ndarray) -> DecisionTreeRegressor:
        tree = DecisionTreeRegressor(
            max_depth=learner.max_depth,
            min_samples_split=learner.min_samples_split,
            min_samples_leaf=learner.min_samples_leaf,
            random_state=self._seed,
        )
        return tree.fit(table, u, sample_weight=self._weights, check_input=False)

    def coefficients(self, term: int, moments: np.ndarray, u: np.ndarray) -> DecisionTreeRegressor:
        """The tree that was just grown."""
        return self._grown[term]

    def values(self, term: int, coefficients: DecisionTreeRegressor) -> np.ndarray:
        """The tree at the training rows."""
        return coefficients.tree_.predict(self._tables[term])[:, 0]


Terms = LinearTerms | SmoothTerms | TreeTerms
Design = LinearDesign | SmoothDesign | TreeDesign


@dataclass(frozen=True)
class FittedLearners:
    """All learners of a model: how each is evaluated on other rows. Those of a kind stand together in a group."""

    groups: list[Terms]
    group_of: np.ndarray  # by learner; -1 for those that were dropped
    place_of: np.ndarray  # within its group
    names: list[str]
    columns: list[tuple[int, ...]]

    def values(self, X: Any, learner: int, total: Any) -> np.ndarray:
        """The contribution of one learner, whose coefficients add up to ``total``, at the rows of X."""
        return self.groups[self.group_of[learner]].values(X, int(self.place_of[learner]), total)

    def linear_part(self, learner: int, total: Any) -> tuple[float, np.ndarray, np.ndarray]:
        """Constant, columns and slopes of one learner, as far as it is linear."""
        return self.groups[self.group_of[learner]].linear_part(int(self.place_of[learner]), total)

    def n_outside(self, X: Any, learner: int) -> int:
        """Rows of X for which a learner is continued beyond what was seen in training."""
        return self.groups[self.group_of[learner]].n_outside(X, int(self.place_of[learner]))


@dataclass(frozen=True)
class Prepared:
    """Learners and a training table, ready for boosting."""

    learners: FittedLearners
    designs: list[Design]
    members: list[np.ndarray]  # learners of each design
    degrees_of_freedom: np.ndarray  # beyond the constant, by learner; NaN where they are unknown

    @property
    def dropped(self) -> np.ndarray:
        """Learners that cannot fit anything, their columns being constant."""
        usable = np.zeros(len(self.learners.names), dtype=bool)
        for design, members in zip(self.designs, self.members, strict=True):
            usable[members] = design.usable
        return np.flatnonzero(~usable)


def listed_learners(base_learners: Any, n_features: int) -> list[BaseLearner]:
    """The learners that a word stands for, or those of the list."""
    if base_learners == "linear":
        return [LinearLearner(column) for column in range(n_features)]
    if base_learners == "smooth":
        return [SplineLearner(column) for column in range(n_features)]
    if base_learners == "tree":
        return [TreeLearner()]
    learners = list(base_learners)
    if not learners:
        raise ValueError("base_learners is empty; pass 'linear', 'smooth', 'tree' or at least one learner.")
    for learner in learners:
        if not isinstance(learner, BaseLearner):
            raise TypeError(
                f"base_learners holds {learner!r}, which is no base-learner; use LinearLearner, SplineLearner, "
                "SpatialLearner, CategoricalLearner or TreeLearner."
            )
    return learners


def prepared(
    learners: Sequence[BaseLearner], X: Any, weights: np.ndarray, names: Sequence[str] | None, seed: int = 0
) -> Prepared:
    """Everything that depends on the table and the weights, but not on the target."""
    X = sparse.csc_array(X) if sparse.issparse(X) else X
    n_features = X.shape[1]
    shown = [f"x{column}" for column in range(n_features)] if names is None else [str(name) for name in names]
    columns = [
        tuple(range(n_features))
        if isinstance(learner, TreeLearner) and learner.columns is None
        else column_numbers(learner.references, n_features, names)
        for learner in learners
    ]
    labels = [
        learner.label([shown[number] for number in numbers]) for learner, numbers in zip(learners, columns, strict=True)
    ]
    grouped = [
        *_linear_groups(learners, columns, X, weights),
        *_smooth_groups(learners, columns, X, weights),
        *_tree_groups(learners, columns, X, weights, seed),
    ]
    designs, members = [design for design, _ in grouped], [np.asarray(places) for _, places in grouped]
    group_of, place_of = np.full(len(learners), -1), np.zeros(len(learners), dtype=int)
    freedom = np.full(len(learners), np.nan)
    for group, (design, places) in enumerate(zip(designs, members, strict=True)):
        group_of[places], place_of[places] = group, np.arange(len(places))
        freedom[places] = design.degrees_of_freedom
        if isinstance(design, SmoothDesign):
            freedom[places] -= [learners[place].has_constant for place in places]
    fitted = FittedLearners([design.terms for design in designs], group_of, place_of, labels, columns)
    return Prepared(fitted, designs, members, freedom)


def _linear_groups(learners, columns, X, weights):
    for intercept in (True, False):
        places = [
            place
            for place, learner in enumerate(learners)
            if isinstance(learner, LinearLearner) and learner.is_plain and learner.fit_intercept == intercept
        ]
        if places:
            numbers = np.array([columns[place][0] for place in places])
            yield LinearDesign(X, numbers, weights, intercept), places


def _smooth_groups(learners, columns, X, weights):
    """Learners with equally many basis functions together, so that their fits are one array operation."""
    by_width: dict[int, list[tuple]] = {}
    for place, learner in enumerate(learners):
        if isinstance(learner, TreeLearner) or (isinstance(learner, LinearLearner) and learner.is_plain):
            continue
        values = column_values(X, columns[place])
        basis = learner.fitted_basis(values)
        if basis is None:
            continue
        matrix = basis.matrix(values)
        weighted = sparse.diags_array(weights) @ matrix
        gram = matrix.T @ weighted
        gram = gram.toarray() if sparse.issparse(gram) else gram
        smoother = Smoother.of(gram, basis.penalty, learner.df, basis.reduction)
        by_width.setdefault(len(gram), []).append((place, basis, matrix, smoother))
    for entries in by_width.values():
        places, bases, matrices, smoothers = map(list, zip(*entries, strict=True))
        terms = SmoothTerms([columns[place] for place in places], bases)
        yield SmoothDesign(terms, matrices, smoothers, weights), places


def _tree_groups(learners, columns, X, weights, seed):
    places = [place for place, learner in enumerate(learners) if isinstance(learner, TreeLearner)]
    if places:
        chosen = [columns[place] for place in places]
        yield TreeDesign(X, [learners[place] for place in places], chosen, weights, seed), places
