"""The catalogue in the terminal: a list of methods, or the card of one."""

import re
from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fewer.catalogue import Method

# How a study takes a method of each role.
_OPTIONS = {"selector": "--methods", "extractor": "--methods", "learner": "--learners", "imputer": "--impute"}


def print_methods(cards: Sequence[Method], console: Console | None = None) -> None:
    """Print methods, a block for each room.

    Parameters
    ----------
    cards : sequence of Method
        Cards of the methods, in the order of the catalogue.
    console : rich.console.Console, default=None
        Where to print; by default to standard output.

    Examples
    --------
    >>> from fewer.catalogue import find
    >>> from fewer.report import print_methods
    >>> print_methods([find("KurtosisICA")])
    extract
      KurtosisICA...
    """
    console = console or Console(highlight=False)
    for room in dict.fromkeys(card.room for card in cards):
        console.print(Text(room, style="bold"))
        for card in (card for card in cards if card.room == room):
            name = Text(card.name, style="cyan").append(_marks(card), style="dim")
            console.print(Padding(name, (0, 0, 0, 2)))
            console.print(Padding(Text(card.summary), (0, 0, 0, 6)))
            for label, fact in (("When", card.when), ("Cost", card.cost), ("From", _authors(card))):
                if fact:
                    console.print(Padding(Text(f"{label}: ", style="dim").append(fact, style="not dim"), (0, 0, 0, 6)))
        console.print()
    console.print(Text("fewer methods NAME shows a method in full, with its paper.", style="dim"))


def print_method(card: Method, console: Console | None = None) -> None:
    """Print the card of one method in full.

    Parameters
    ----------
    card : Method
        Its card.
    console : rich.console.Console, default=None
        Where to print; by default to standard output.

    Examples
    --------
    >>> from fewer.catalogue import find
    >>> from fewer.report import print_method
    >>> print_method(find("KurtosisICA"))
    KurtosisICA: Independent components in closed form...
    """
    console = console or Console(highlight=False)
    console.print(Text(card.name, style="bold cyan").append(f": {card.summary}", style="default not bold"))
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column()
    short = card.name != card.implementation.__name__
    where = f"fewer.{card.room}" + ("" if card.package == "fewer" else f" (from the package {card.package})")
    for label, value in [
        ("class", f"{card.implementation.__module__}.{card.implementation.__qualname__}")
        if short
        else ("module", where),
        *([("also", ", ".join(card.aliases))] if card.aliases and not short else []),
        ("tasks", ", ".join(card.tasks)),
        *(
            [("study", ", ".join(f"fewer study {_OPTIONS[role]} {card.name}" for role in card.roles))]
            if card.roles
            else []
        ),
        ("when", card.when),
        ("accepts", ", ".join(card.handles) or "dense numeric tables without missing values"),
        *([] if short else [("units", card.units)]),
        ("cost", card.cost),
        ("paper", card.citation or "none"),
    ]:
        facts.add_row(label, Text(value))
    console.print(facts)


def _authors(card: Method) -> str:
    """Authors and year of the first paper that the card cites."""
    found = re.match(r".+?\(\d{4}[a-z]?\)", card.citation)
    return found[0] if found else card.citation


def _marks(card: Method) -> str:
    takes = f"; accepts {', '.join(card.handles)}" if card.handles else ""
    guest = "" if card.package == "fewer" else f"; from {card.package}"
    return f"  {', '.join(card.tasks)}{takes}{guest}"
