"""Every method once: what it does, when to use it, what it costs, whose it is."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.catalogue._discover import (
        UnsuitableDataError,
        check_takes,
        find,
        methods,
        public_objects,
        undeclared_estimators,
    )
    from fewer.catalogue._method import ROOMS, TASKS, TRAITS, CatalogueError, Method, card_of, method

__all__ = [
    "ROOMS",
    "TASKS",
    "TRAITS",
    "CatalogueError",
    "Method",
    "UnsuitableDataError",
    "card_of",
    "check_takes",
    "find",
    "method",
    "methods",
    "public_objects",
    "undeclared_estimators",
]

__getattr__, __dir__ = lazy_names(__name__)
