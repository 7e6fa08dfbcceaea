"""Pages made from the catalogue and from the rooms' public names, each time the docs are built."""

import importlib
from pathlib import Path

from fewer._lazy import module_of_name
from fewer._options import OPTIONS
from fewer.catalogue import LEARNERS, ROOMS, methods

ROOM_ORDER = ("io", "overview", "datasets", "engine", "catalogue", *ROOMS, "study", "report")


def write(folder: Path) -> None:
    """Write the method index, the page on units and the API reference below the folder of the docs."""
    (folder / "methods").mkdir(exist_ok=True)
    (folder / "generated").mkdir(exist_ok=True)
    (folder / "methods" / "index.md").write_text(method_index(), encoding="utf-8")
    (folder / "methods" / "units.md").write_text(unit_page(), encoding="utf-8")
    (folder / "generated" / "index.rst").write_text(api_reference(), encoding="utf-8")
    (folder / "generated" / "learners.md").write_text(learner_table(), encoding="utf-8")
    (folder / "generated" / "options.md").write_text(option_table(), encoding="utf-8")


def learner_table() -> str:
    """The learners that go by a short name, from their cards."""
    lines = ["| `--learners` | for | what it is good at | table |", "|---|---|---|---|"]
    for learner in LEARNERS.values():
        if learner.name == "baseline":
            continue
        targets = [word for word, there in (("classes", learner.classifier), ("numbers", learner.regressor)) if there]
        number = " of 0 or more" * learner.count_targets
        table = ("no negative numbers, " if learner.counts else "") + ("sparse too" if learner.sparse else "dense")
        lines.append(f"| `{learner.name}` | {', '.join(targets)}{number} | {learner.when} | {table} |")
    return "\n".join([*lines, ""])


def option_table() -> str:
    """Every option of a study, on the command line and in Python, from its declaration."""
    lines = ["| command line | Python | default | what it does |", "|---|---|---|---|"]
    for option in OPTIONS:
        default = option.by_default or ("" if option.default in (None, ()) else f"`{option.default!r}`")
        lines.append(f"| `{option.option}` | `{option.name}` | {default} | {option.help} |")
    return "\n".join([*lines, ""])


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
                f"- **Takes as they are:** {', '.join(card.handles) or 'dense numeric tables without missing values'}",
                f"- **Units:** {card.units}",
                f"- **Cost:** {card.cost}",
                *([f"- **Paper:** {card.citation}"] if card.citation else []),
                f"- **Reference and examples:** {{py:obj}}`fewer.{room}.{card.name}`",
                "",
            ]
    return "\n".join(lines)


def unit_page() -> str:
    """Which estimators depend on the unit or on the origin of the columns, and why, from the cards."""
    cards = [card for card in methods(package="fewer") if card.is_estimator]
    free = [f"{{py:obj}}`~fewer.{each.room}.{each.name}`" for each in cards if not depends(each)]
    lines = [
        "# Units and origins",
        "",
        "A table in metres and the same table in nanometres hold the same information, and so do temperatures in "
        "Celsius and in Kelvin. Most estimators give the same result for both; some have a penalty or a width that is "
        "in the unit of the columns.",
        "",
        "The contract tests try every estimator on a table times 1e-12, 1e-6, 1e6 and 1e12, and with columns that lie "
        "1e6 standard deviations from zero. Predictions, rankings and new columns (up to the unit and up to constants) "
        "must be the same to 1e-6, and to 1e-5 far from zero, unless the card of the method says why not. Where a fit "
        "comes to nothing for the unit of the columns, a warning says so. For the methods in the second table, have "
        "`StandardScaler` as the step before in a pipeline, unless the columns have one unit and parameters suit it.",
        "",
        "All columns are multiplied by one number here: whether columns are weighed against each other by their own "
        "units is another question, which `scale` and `with_std` are about where a method has them.",
        "",
        "## The result depends on neither",
        "",
        ", ".join(free) + ".",
        "",
        "## The result depends on one or both",
        "",
        "A reason that begins with *with* is about other parameters than the default ones.",
        "",
        "| method | unit of the columns | origin of the columns |",
        "|---|---|---|",
    ]
    lines += [
        f"| {{py:obj}}`~fewer.{each.room}.{each.name}` | {each.depends_on_scale} | {each.depends_on_shift} |"
        for each in cards
        if depends(each)
    ]
    return "\n".join([*lines, ""])


def depends(card) -> bool:
    return bool(card.depends_on_scale or card.depends_on_shift)


def api_reference() -> str:
    """The API reference: a table of the public names for each room."""
    lines = ["API reference", "=============", ""]
    for room in ROOM_ORDER:
        module = importlib.import_module(f"fewer.{room}")
        names = [name for name in getattr(module, "__all__", ()) if callable(getattr(module, name))]
        if not names:
            continue
        title = f"fewer.{room}"
        lines += [title, "-" * len(title), "", f"{_room_summary(room)}.", "", f".. currentmodule:: {title}", ""]
        lines += _summary_table(names)
        results = [name for name in module_of_name(title) if name not in module.__all__]
        if results:
            lines += ["Results, as these functions and classes return them:", "", *_summary_table(results)]
    return "\n".join(lines)


def _summary_table(names: list[str]) -> list[str]:
    return [
        ".. autosummary::",
        "   :toctree: .",
        "   :nosignatures:",
        "",
        *(f"   {name}" for name in sorted(names)),
        "",
    ]


def _room_summary(room: str) -> str:
    return (importlib.import_module(f"fewer.{room}").__doc__ or "").partition("\n")[0].rstrip(".")
