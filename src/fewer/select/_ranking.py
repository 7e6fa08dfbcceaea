"""From scores to places: who is first, second, third.

Places count from 1, and of equal scores the column with the lowest index comes first, so that results repeat.
"""

import numpy as np


def places(scores: np.ndarray) -> np.ndarray:
    """Place of each column from 1, highest score first.

    Examples
    --------
    >>> import numpy as np
    >>> places(np.array([0.2, 0.9, 0.2]))
    array([2, 1, 3])
    """
    return places_of_order(np.argsort(-scores, kind="stable"))


def places_of_order(order: np.ndarray) -> np.ndarray:
    """Place of each column from 1, given the columns from best to worst."""
    ranking = np.empty(len(order), dtype=int)
    ranking[order] = np.arange(1, len(order) + 1)
    return ranking


def class_orders(class_scores: np.ndarray) -> np.ndarray:
    """For each class (row), the columns from best to worst."""
    return np.argsort(-class_scores, axis=1, kind="stable")


def places_in_turn(class_scores: np.ndarray) -> np.ndarray:
    """Places when the classes take turns: first the best column of every class, then every second best, and so on.

    A column's turn is its best place in any class's order; within a turn the higher score goes first. So the union of
    the first k columns of every class is always at the head.

    Examples
    --------
    >>> import numpy as np
    >>> places_in_turn(np.array([[9.0, 8.0, 1.0, 0.0], [0.0, 1.0, 2.0, 3.0]]))
    array([1, 3, 4, 2])
    """
    n_columns = class_scores.shape[1]
    turns = np.stack([places_of_order(order) for order in class_orders(class_scores)])
    turn = turns.min(axis=0)
    merit = np.where(turns == turn, class_scores, -np.inf).max(axis=0)
    return places_of_order(np.lexsort((np.arange(n_columns), -merit, turn)))


def n_in_first(class_scores: np.ndarray, k: int) -> int:
    """How many columns are among the first k of at least one class."""
    return len(np.unique(class_orders(class_scores)[:, :k]))
