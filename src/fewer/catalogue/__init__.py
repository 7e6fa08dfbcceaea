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
        search,
        undeclared_estimators,
    )
    from fewer.catalogue._method import ROLES, ROOMS, TASKS, TRAITS, CatalogueError, Method, card_of, method
    from fewer.catalogue._roles import (
        IMPUTERS,
        LEARNERS,
        Imputer,
        Learner,
        import_path_of,
        imputer_named,
        is_import_path,
        learner_named,
    )

__all__ = [
    "IMPUTERS",
    "LEARNERS",
    "ROLES",
    "ROOMS",
    "TASKS",
    "TRAITS",
    "CatalogueError",
    "Imputer",
    "Learner",
    "Method",
    "UnsuitableDataError",
    "card_of",
    "check_takes",
    "find",
    "import_path_of",
    "imputer_named",
    "is_import_path",
    "learner_named",
    "method",
    "methods",
    "public_objects",
    "search",
    "undeclared_estimators",
]

__getattr__, __dir__ = lazy_names(__name__)
