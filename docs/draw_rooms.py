"""The picture of who imports whom, drawn from the imports in the code each time the docs are built."""

import ast
import tomllib
from collections import Counter
from html import escape
from pathlib import Path

CELL, NAMES, HEAD, MARGIN = 34, 110, 96, 40


def rooms_picture(root: Path) -> str:
    """An SVG: a row for each room, from the top of the house down, and a dot under each room that it imports."""
    rooms = rooms_in_order(root)
    counts = _imports_between(root / "src" / "fewer", rooms)
    side = CELL * len(rooms)
    parts = [
        f'<svg class="house" viewBox="0 0 {NAMES + side + MARGIN} {HEAD + side}" role="img" '
        f'aria-label="Which room imports from which" style="max-width: {NAMES + side + MARGIN}px">'
    ]
    for place, room in enumerate(rooms):
        middle = place * CELL + CELL / 2
        parts += [
            f'<line class="grid" x1="{NAMES}" x2="{NAMES + side}" y1="{HEAD + middle}" y2="{HEAD + middle}"/>',
            f'<text x="{NAMES - 10}" y="{HEAD + middle + 4}" text-anchor="end">{escape(room)}</text>',
            f'<text transform="translate({NAMES + middle + 4} {HEAD - 8}) rotate(-60)">{escape(room)}</text>',
            f'<rect class="self" x="{NAMES + middle - 5}" y="{HEAD + middle - 5}" width="10" height="10"/>',
        ]
    for (importer, imported), count in counts.items():
        x, y = NAMES + (rooms.index(imported) + 0.5) * CELL, HEAD + (rooms.index(importer) + 0.5) * CELL
        files = "file" if count == 1 else "files"
        parts.append(
            f'<circle cx="{x}" cy="{y}" r="{min(4 + count**0.5, 14):.1f}">'
            f"<title>{count} {files} of {escape(importer)} import from {escape(imported)}</title></circle>"
        )
    return "\n".join([*parts, "</svg>"])


def rooms_in_order(root: Path) -> list[str]:
    """The rooms from the top down, as the contract in pyproject.toml lists them, without those that are empty yet."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = next(contract["layers"] for contract in settings["contracts"] if contract["type"] == "layers")
    rooms = [room.strip(" ()") for layer in layers for room in layer.split("|")]
    return [room for room in rooms if _has_something(root / "src" / "fewer" / room)]


def _has_something(room: Path) -> bool:
    if room.with_suffix(".py").exists():
        return True
    sources = [path.read_text(encoding="utf-8") for path in room.glob("*.py")]
    return sum(len(source.splitlines()) for source in sources) > 1


def _imports_between(package: Path, rooms: list[str]) -> Counter[tuple[str, str]]:
    """How many files of one room import from another."""
    counts: Counter[tuple[str, str]] = Counter()
    for path in sorted(package.rglob("*.py")):
        importer = path.relative_to(package).with_suffix("").parts[0]
        names = _imported_rooms(ast.parse(path.read_text(encoding="utf-8")))
        counts.update((importer, name) for name in names if importer in rooms and name in rooms and name != importer)
    return counts


def _imported_rooms(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "fewer":
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fewer."):
            found.add((node.module or "").split(".")[1])
        elif isinstance(node, ast.Import):
            found.update(alias.name.split(".")[1] for alias in node.names if alias.name.startswith("fewer."))
    return found
