"""Rooms are entered by the front door. (That they import downward only is checked by import-linter, in `make lint`.)"""

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
# A folder of kernels has no front door: each of its modules is one.
OPEN = {"_kernels"}


@cache
def imports(path):
    """The import statements of a file."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def imported_modules(path):
    """(line, dotted name) of everything that a file imports from the package."""
    for node in imports(path):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name.startswith("fewer."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fewer"):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def test_no_room_imports_a_private_name_of_another():
    trespasses = []
    for path in sorted(SOURCE.rglob("*.py")):
        own = path.relative_to(SOURCE).with_suffix("").parts[1]
        for line, name in imported_modules(path):
            _, room, *inner = name.split(".")
            if room not in {own, *OPEN} and any(part.startswith("_") for part in inner):
                trespasses.append(f"{path.relative_to(SOURCE)}:{line} imports {name}")
    assert not trespasses, "import the public name from the room instead:\n" + "\n".join(trespasses)


def is_private(name):
    return any(part.startswith("_") for part in name.split("."))


def test_private_names_of_scikit_learn_are_imported_in_one_module():
    shim = SOURCE / "fewer/_estimators/_sklearn.py"
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        for node in imports(path)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn")
        for alias in node.names
        if is_private(f"{node.module}.{alias.name}")
    }
    assert found == {str(shim.relative_to(SOURCE))}


def test_all_private_names_of_scikit_learn_are_there():
    from fewer._estimators import _sklearn

    assert all(getattr(_sklearn, name) is not None for name in _sklearn.__all__)
