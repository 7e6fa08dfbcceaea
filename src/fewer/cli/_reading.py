"""Options of commands, made of those that are declared in ``fewer._options``."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fewer._options import OPTIONS, Group, Option, options_of

if TYPE_CHECKING:
    from fewer.io import Dataset

TablePath = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="A file (CSV, Parquet, ARFF, ...), a database URI, or dataset:NAME.",
        show_default=False,
    ),
]
Target = Annotated[str | None, typer.Option("--target", "-t", metavar="COL", help="Column to predict.")]
# What commands have besides the declared options, by the name of the parameter in Python.
_OTHER_OPTIONS = {
    "out": "--out FOLDER",
    "n_jobs": "--jobs",
    "trusted": "--trust",
    "trust": "--trust-plan",
    "identifiers": "--id",
}


def takes(*groups: Group, only: tuple[str, ...] | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The command with the declared options of these groups, or some of them; it gets their values as ``options``."""
    declared = [
        option for option in options_of(*groups) if only is None or option.name in only or option.group == "reading"
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        # Prefixed, because the argument TABLE and the option --table are both called table.
        parameters = {option.name: f"option_{option.name}" for option in declared}

        @functools.wraps(command)
        def with_options(**words: Any) -> None:
            typed = {option: words.pop(parameters[option.name]) for option in declared}
            command(**words, options=typed)

        own = [each for each in inspect.signature(command).parameters.values() if each.name != "options"]
        own = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
        added = {option: _parameter(option, parameters[option.name]) for option in declared}
        # In the help: the table and its target, what a study does, the command's own options, how files are read.
        first = next((place + 1 for place, each in enumerate(own) if each.name == "target"), 1)
        about_files = [each for option, each in added.items() if option.group == "reading"]
        others = [each for option, each in added.items() if option.group != "reading"]
        shown = [*own[:first], *others, *own[first:], *about_files]
        with_options.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # read by typer
        with_options.__annotations__ = {each.name: each.annotation for each in shown}
        return with_options

    return decorate


def _parameter(option: Option, name: str) -> inspect.Parameter:
    flag = f" /{option.option}" if option.typed is bool else option.option
    default_shown: Any = option.by_default or option.typed is not bool
    shown = typer.Option(flag, metavar=option.metavar, help=option.help, show_default=default_shown)
    default = option.default or None if option.metavar in ("A,B", "V,W", "N,M") else option.default
    if option.typed is str:
        default = str(default)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[option.typed, shown]
    )


def values(typed: Mapping[Option, Any]) -> dict[str, Any]:
    """What the options mean in Python, by name."""
    return {option.name: option.value(word) for option, word in typed.items()}


def read(table: str, target: str | None, options: Mapping[str, Any]) -> "Dataset":
    """The table, read as the options say."""
    from fewer.datasets import open_table

    given = dict(options)
    return open_table(table, target, drop=given.pop("drop", None) or (), task=given.pop("task", "auto"), **given)


def option_for(name: str, *value: Any) -> str:
    """What is typed here for an argument in Python."""
    declared = {option.name: option for option in OPTIONS}
    if name in declared:
        return declared[name].written(*value)
    option = _OTHER_OPTIONS.get(name, f"--{name.replace('_', '-')}")
    if not value or isinstance(value[0], bool):
        return option
    words = value[0] if isinstance(value[0], (list, tuple)) else value
    return " ".join(f"{option} {word}" for word in words)
