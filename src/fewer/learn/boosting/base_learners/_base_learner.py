"""What a base-learner is: columns, and how a least-squares fit on them is made."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewer.learn.boosting.base_learners._columns import as_references


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
