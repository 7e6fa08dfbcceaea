"""Pages made from the catalogue and from the rooms' public names, each time the docs are built."""

import importlib
from pathlib import Path

from fewer.catalogue import ROOMS, methods

ROOM_ORDER = ("io", "overview", "datasets", "engine", "catalogue", *ROOMS, "study", "report")


def write(folder: Path) -> None:
    """Write the method index and the API reference below the folder of the docs."""
    (folder / "methods").mkdir(exist_ok=True)
    (folder / "generated").mkdir(exist_ok=True)
    (folder / "methods" / "index.md").write_text(method_index(), encoding="utf-8")
    (folder / "generated" / "index.rst").write_text(api_reference(), encoding="utf-8")


def method_index() -> str:
    """The method index, one section for each room that has methods."""
    lines = [
        "# Methods",
        "",
        "Every method once, from the catalogue; `fewer methods` prints the same in a terminal.",
        "",
    ]
    for room in ROOMS:
        cards = methods(room=room, package="fewer")
        if not cards:
            continue
        lines += [f"## {room}", "", f"{_room_summary(room)}.", ""]
        for card in cards:
            lines += [
                f"### {card.name}",
                "",
                card.summary,
                "",
                f"- **When:** {card.when}",
                f"- **For:** {', '.join(card.tasks)}",
                f"- **Takes as they are:** {', '.join(card.handles) or 'dense tables of numbers, without holes'}",
                f"- **Cost:** {card.cost}",
                *([f"- **Paper:** {card.citation}"] if card.citation else []),
                f"- **Reference and examples:** {{py:obj}}`fewer.{room}.{card.name}`",
                "",
            ]
    return "\n".join(lines)


def api_reference() -> str:
    """The API reference: a table of the public names for each room."""
    lines = ["Reference", "=========", ""]
    for room in ROOM_ORDER:
        module = importlib.import_module(f"fewer.{room}")
        names = [name for name in getattr(module, "__all__", ()) if callable(getattr(module, name))]
        if not names:
            continue
        title = f"fewer.{room}"
        lines += [title, "-" * len(title), "", f"{_room_summary(room)}.", "", f".. currentmodule:: {title}", ""]
        lines += [".. autosummary::", "   :toctree: .", "   :nosignatures:", "", *(f"   {name}" for name in names), ""]
    return "\n".join(lines)


def _room_summary(room: str) -> str:
    return (importlib.import_module(f"fewer.{room}").__doc__ or "").partition("\n")[0].rstrip(".")
