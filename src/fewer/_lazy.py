"""Packages that import a public name when it is first asked for.

The ``__init__`` of such a package lists its public names as ordinary imports under ``if TYPE_CHECKING:``, where type
checkers, editors and the import linter read them, and ends with

    __getattr__, __dir__ = lazy_names(__name__)

The same statements, parsed once, say which module has a name. So a command that needs three methods of a package does
not import the other hundred.
"""

import ast
import importlib
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose imports stand under ``if TYPE_CHECKING:``.

    Parameters
    ----------
    package : str
        Its ``__name__``.

    Returns
    -------
    getattr_, dir_ : callable
        See PEP 562.
    """

    def __getattr__(name: str) -> Any:  # noqa: N807  # PEP 562 names it so
        origins = _origins(package)
        if name not in origins:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])
        module, name_there = origins[name]
        found = getattr(importlib.import_module(module), name_there)
        setattr(sys.modules[package], name, found)  # asked for once
        return found

    def __dir__() -> list[str]:  # noqa: N807
        return sorted({*vars(sys.modules[package]), *_origins(package)})

    return __getattr__, __dir__


def module_of_name(package: str) -> dict[str, str]:
    """The module that each public name of a package comes from; nothing but the package itself is imported.

    Examples
    --------
    >>> module_of_name("fewer.evaluate")["randomize"]
    'fewer.evaluate.permutation._randomize'
    """
    return {name: module for name, (module, _) in _origins(package).items()}


@cache
def _origins(package: str) -> dict[str, tuple[str, str]]:
    """Module and name there of each public name."""
    spec = find_spec(package)
    source = spec.loader.get_source(package)  # type: ignore[union-attr]  # a package of this distribution has both
    return {
        alias.asname or alias.name: (str(statement.module), alias.name)
        for guard in ast.parse(source).body
        if isinstance(guard, ast.If) and ast.unparse(guard.test) == "TYPE_CHECKING"
        for statement in guard.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
