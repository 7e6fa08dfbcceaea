"""An objective from what a user may give."""

from typing import Any

from fewer.select.objectives._class_entropy import ClassEntropyObjective
from fewer.select.objectives._conflicts import ConflictsObjective
from fewer.select.objectives._cross_validated_score import CrossValidatedScore
from fewer.select.objectives._description_length import DescriptionLengthObjective
from fewer.select.objectives._inconsistency import InconsistencyObjective
from fewer.select.objectives._objective import FunctionObjective, Objective

NAMED_OBJECTIVES: dict[str, type[Objective]] = {
    "conflicts": ConflictsObjective,
    "class_entropy": ClassEntropyObjective,
    "inconsistency_rate": InconsistencyObjective,
    "mdl": DescriptionLengthObjective,
}


def as_objective(objective: Any, *, cv: Any, scoring: Any) -> Objective:
    """An objective from one already, its name, an estimator, or a function ``(X, y) -> float``."""
    if isinstance(objective, Objective):
        return objective
    if isinstance(objective, str) and objective in NAMED_OBJECTIVES:
        return NAMED_OBJECTIVES[objective]()
    if isinstance(objective, type) and (issubclass(objective, Objective) or hasattr(objective, "fit")):
        raise TypeError(
            f"The objective is the class {objective.__name__}; give an instance of it, {objective.__name__}(...)."
        )
    if hasattr(objective, "fit"):
        return CrossValidatedScore(objective, cv=cv, scoring=scoring)
    return FunctionObjective(objective)
