"""The Dantzig selector and basis pursuit: sparse regression by linear programming, with penalties fixed in advance."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.learn.dantzig._basis_pursuit import BasisPursuit
    from fewer.learn.dantzig._dantzig_path import DantzigPath, dantzig_path
    from fewer.learn.dantzig._dantzig_problem import DantzigSolution
    from fewer.learn.dantzig._dantzig_selector import DantzigSelector, penalty_level, solve_dantzig

__all__ = [
    "BasisPursuit",
    "DantzigPath",
    "DantzigSelector",
    "DantzigSolution",
    "dantzig_path",
    "penalty_level",
    "solve_dantzig",
]

__getattr__, __dir__ = lazy_names(__name__)
