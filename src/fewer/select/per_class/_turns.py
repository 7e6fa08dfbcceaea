"""The same number of columns for every class: who enters when the classes take turns.

A column's turn is its best place in the order of any class, counting only classes for which it is good enough. The
union of the first k columns of every class is then all columns whose turn is at most k.
"""

import numpy as np

from fewer.select._ranking import places_of_order


def class_turns(orders: np.ndarray, good_enough: np.ndarray) -> np.ndarray:
    """Place of each column in each class's order (row); beyond the last where it is not good enough.

    Examples
    --------
    >>> import numpy as np
    >>> class_turns(np.array([[0, 1, 2], [2, 1, 0]]), np.array([[True, True, True], [True, False, False]]))
    array([[1, 2, 3],
           [3, 4, 4]])
    """
    places = np.stack([places_of_order(order) for order in orders])
    return np.where(good_enough, places, orders.shape[1] + 1)


def places_by_turn(turns: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Place of each column from 1: by its best turn in any class, then by its score there, then by its index."""
    turn = turns.min(axis=0)
    merit = np.where(turns == turn, scores, -np.inf).max(axis=0)
    return places_of_order(np.lexsort((np.arange(len(turn)), -merit, turn)))
