"""From a list of base-learners and a table to what a fit works with, and what a fitted model keeps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from fewer.learn.boosting.base_learners import BaseLearner, LinearLearner, SplineLearner, TreeLearner
from fewer.learn.boosting.base_learners._columns import column_numbers, column_values
from fewer.learn.boosting.base_learners._smoother import Smoother
from fewer.learn.boosting.designs._linear_design import LinearDesign, LinearTerms
from fewer.learn.boosting.designs._smooth_design import SmoothDesign, SmoothTerms
from fewer.learn.boosting.designs._tree_design import TreeDesign, TreeTerms

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
            if isinstance(learner, LinearLearner) and learner.is_plain and learner.intercept == intercept
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
