"""Component-wise functional gradient descent.

Minimise ``sum_i w_i rho(y_i, f(x_i))`` over sums ``f = offset + sum_j f_j``. Each step takes the negative gradient u of
the loss at f, fits every learner to u by weighted (penalised) least squares, and moves f along the one that fits best:

    j* = argmin_j sum_i w_i (u_i - h_j(x_i))^2,        f <- f + nu h_j*.

For the squared loss u changes by ``-nu h``, so the products Z'W u of all learners change by ``-nu Z'W Z_j beta``: with
these columns of the Gram matrix kept, a step costs no pass over the table once a learner has been taken before.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fewer.learn.boosting._designs import Prepared
from fewer.learn.boosting._families import Family

_REFRESH = 256  # steps after which updated products are computed anew, for rounding errors add up
_ROOM = 50_000_000  # numbers of the Gram matrix that may be kept
_TIE = 1e-12  # gains that differ by less, relatively, are equal but for rounding: the first learner is taken
_WORSE = 0.01  # share of the first risk by which a later one may be above it: steps that are right lower it
TOO_LONG = "the next would make the loss larger than that of a constant"
_PERFECT = 1e-24  # share of the first gradient's squares below which there is nothing left to fit


@dataclass
class Steps:
    """What was done so far, and where f stands; enough to go on later."""

    offset: float
    learning_rate: float
    margin: np.ndarray  # f at the training rows
    moments: np.ndarray | None = None
    selected: list[int] = field(default_factory=list)
    coefficients: list[Any] = field(default_factory=list)
    risks: list[float] = field(default_factory=list)
    nuisances: list[Any] = field(default_factory=list)
    scale: float = 0.0  # weighted squares of the first gradient
    ended: str = ""  # why no further step can be made

    def totals(self, n_estimators: int) -> dict[int, Any]:
        """Coefficients of each learner after so many steps, added up in the order of the steps."""
        totals: dict[int, Any] = {}
        for learner, coefficients in zip(self.selected[:n_estimators], self.coefficients[:n_estimators], strict=True):
            if not isinstance(coefficients, np.ndarray):
                totals.setdefault(learner, []).append((self.learning_rate, coefficients))
            elif learner in totals:
                totals[learner] = totals[learner] + self.learning_rate * coefficients
            else:
                totals[learner] = self.learning_rate * coefficients
        return totals

    def step_total(self, step: int) -> Any:
        """What one step added to the coefficients of its learner."""
        coefficients = self.coefficients[step]
        if isinstance(coefficients, np.ndarray):
            return self.learning_rate * coefficients
        return [(self.learning_rate, coefficients)]

    def risk_reduction(self, n_estimators: int, n_learners: int) -> np.ndarray:
        """By how much the steps of each learner lowered the risk."""
        done = self.selected[:n_estimators]
        falls = -np.diff(self.risks[: len(done) + 1])
        return np.bincount(np.asarray(done, dtype=int), weights=falls, minlength=n_learners)

    def counts(self, n_estimators: int, n_learners: int) -> np.ndarray:
        """How often each learner was taken."""
        return np.bincount(np.asarray(self.selected[:n_estimators], dtype=int), minlength=n_learners)


class Booster:
    """Makes the steps of one target."""

    def __init__(self, prepared: Prepared, family: Family, y: np.ndarray, weights: np.ndarray, steps: Steps) -> None:
        self._designs, self._members = prepared.designs, prepared.members
        self._group_of, self._place_of = prepared.learners.group_of, prepared.learners.place_of
        self._n_learners = len(prepared.learners.names)
        self._bounds = np.cumsum([0, *(design.n_moments for design in self._designs)])
        self._family, self._y, self._weights = family, y, weights
        self._gram: dict[int, np.ndarray] = {}
        self._room = _ROOM
        self.steps = steps
        if not steps.risks:
            self._begin()
        self._u = family.negative_gradient(y, steps.margin, weights, steps.nuisances[-1])

    @classmethod
    def started(
        cls,
        prepared: Prepared,
        family: Family,
        y: np.ndarray,
        weights: np.ndarray,
        *,
        learning_rate: float,
        offset: float | None = None,
    ) -> "Booster":
        """Before the first step."""
        start = family.offset(y, weights) if offset is None else float(offset)
        return cls(prepared, family, y, weights, Steps(start, learning_rate, np.full(len(y), start)))

    def _begin(self) -> None:
        steps = self.steps
        steps.nuisances.append(self._family.nuisance(self._y, steps.margin, self._weights))
        steps.risks.append(self._family.risk(self._y, steps.margin, self._weights, steps.nuisances[0]))
        u = self._family.negative_gradient(self._y, steps.margin, self._weights, steps.nuisances[0])
        steps.scale = float(self._weights @ u**2)

    def advance(self) -> bool:
        """One step; False where none can be made, for a reason that ``steps.ended`` tells."""
        if self.steps.ended:
            return False
        moments = self._current_moments()
        learner, gain = self._best(moments)
        if not gain > _PERFECT * self.steps.scale:
            self.steps.ended = "nothing is left that a learner could fit"
            return False
        group, place = self._group_of[learner], int(self._place_of[learner])
        own = moments[self._bounds[group] : self._bounds[group + 1]]
        coefficients = self._designs[group].coefficients(place, own, self._u)
        values = self._designs[group].values(place, coefficients)
        if not self._moved(values):
            self.steps.ended = TOO_LONG
            return False
        self.steps.selected.append(learner)
        self.steps.coefficients.append(coefficients)
        if self._family.squared:
            change = self._moments_of_fit(learner, coefficients, values)
            self.steps.moments = None if change is None else moments - self.steps.learning_rate * change
        return True

    def _current_moments(self) -> np.ndarray:
        steps = self.steps
        if self._family.squared and steps.moments is not None and len(steps.selected) % _REFRESH:
            return steps.moments
        return self._moments(self._u)

    def _moments(self, vectors: Any) -> np.ndarray:
        if len(self._designs) == 1:
            return self._designs[0].moments(vectors)
        return np.concatenate([design.moments(vectors) for design in self._designs])

    def _best(self, moments: np.ndarray) -> tuple[int, float]:
        """The learner that fits u best, the first of equals, and by how much it lowers the sum of squares."""
        gains = np.full(self._n_learners, -np.inf)
        for design, members, low, high in zip(
            self._designs, self._members, self._bounds[:-1], self._bounds[1:], strict=True
        ):
            gains[members] = design.gains(moments[low:high], self._u)
        largest = gains.max(initial=-np.inf)
        return int(np.argmax(gains >= largest - _TIE * abs(largest))), float(largest)

    def _moved(self, values: np.ndarray) -> bool:
        """Move f; False, and f as it was, where the loss would be above the first, or not be finite."""
        steps, family = self.steps, self._family
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            margin = steps.margin + steps.learning_rate * values
            nuisance = family.nuisance(self._y, margin, self._weights, steps.nuisances[-1])
            risk = family.risk(self._y, margin, self._weights, nuisance)
            u = family.negative_gradient(self._y, margin, self._weights, nuisance)
        too_large = steps.risks[0] + _WORSE * abs(steps.risks[0])
        if not (np.isfinite(risk) and np.isfinite(u).all() and risk <= too_large):
            return False
        steps.margin, self._u = margin, u
        steps.nuisances.append(nuisance)
        steps.risks.append(risk)
        return True

    def _moments_of_fit(self, learner: int, coefficients: Any, values: np.ndarray) -> np.ndarray | None:
        """``Z'W h`` of all learners; None for a tree, after which they are computed anew."""
        design = self._designs[self._group_of[learner]]
        if design.directions is None:
            return None
        if learner not in self._gram:
            size = int(self._bounds[-1]) * len(coefficients)
            if size > self._room:
                return self._moments(values)
            self._room -= size
            self._gram[learner] = self._moments(design.directions(int(self._place_of[learner])))
        return self._gram[learner] @ coefficients
