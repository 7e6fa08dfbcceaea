"""``fewer methods``: the catalogue."""

from typing import Annotated, Any

import typer

from fewer.cli._app import app, told_plainly, warnings_as_notes, without_trailing_spaces, write_out
from fewer.cli._reading import names_in


@app.command()
def methods(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Show one method in full.")] = None,
    room: Annotated[str | None, typer.Option("--room", help="Only those of a room, such as select or extract.")] = None,
    task: Annotated[
        str | None,
        typer.Option("--task", help="Only those for classification, regression, unsupervised or evaluation."),
    ] = None,
    handles: Annotated[
        list[str] | None,
        typer.Option("--handles", help="Only those that take such data as they are: missing, sparse, categorical."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")] = False,
) -> None:
    """List the methods: what each does, when to use it, what it costs, whose it is."""
    with told_plainly():
        from fewer import catalogue

        with warnings_as_notes():
            if name is not None:
                cards = [catalogue.find(name)]
            else:
                cards = catalogue.methods(room=room, task=task, handles=names_in(handles))
        if as_json:
            import json

            write_out(json.dumps([card.to_dict() for card in cards], indent=2, ensure_ascii=False) + "\n")
        elif cards:
            write_out(_rendered_methods(cards, in_full=name is not None))
        else:
            write_out(_nearest_matches({"room": room, "task": task, "handles": names_in(handles)}))


def _rendered_methods(cards: list[Any], *, in_full: bool) -> str:
    from rich.console import Console

    from fewer.report import print_method, print_methods

    console = Console(highlight=False)
    with console.capture() as captured:
        if in_full:
            print_method(cards[0], console)
        else:
            print_methods(cards, console)
    return without_trailing_spaces(captured.get())


def _nearest_matches(asked: dict[str, Any]) -> str:
    """What there would be without one of the options."""
    from fewer import catalogue

    lines = ["No method matches all of this."]
    for option in [option for option, value in asked.items() if value]:
        names = [card.name for card in catalogue.methods(**(asked | {option: () if option == "handles" else None}))]
        lines += [f"Without --{option}: {', '.join(names)}."] if names else []
    return "\n".join(lines) + "\n"
