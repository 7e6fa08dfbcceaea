"""``fewer describe``, ``fewer methods``, ``fewer apply``, ``fewer explain`` and ``fewer compare``."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from fewer._options import names_in
from fewer.cli import _reading
from fewer.cli._app import app, told_plainly, warnings_as_notes, without_trailing_spaces, write_out

# Of `fewer apply --score`; 1 and 2 are taken by faults and by errors in the user's data.
LOWER_SCORE = 3


@app.command()
@_reading.takes("reading")
def apply(
    folder: Annotated[Path, typer.Argument(metavar="STUDY", help="Folder of the study.", show_default=False)],
    table: _reading.TablePath,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write to this file (.csv, .parquet, ...) instead of CSV to the terminal.",
        ),
    ] = None,
    no_predictions: Annotated[
        bool, typer.Option("--no-predictions", help="Write the chosen columns without predictions.")
    ] = False,
    identifiers: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="A,B", help="Identifier columns to copy to the output.", show_default="identifiers"
        ),
    ] = None,
    score: Annotated[
        bool,
        typer.Option(
            "--score",
            help="Score the model on these rows, which have the target: compared with the score that the study "
            "estimated, with tests for drift. Exit code 3 if the score is lower than estimated.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --score: print JSON only.")] = False,
    trust: Annotated[
        list[str] | None,
        typer.Option("--trust", metavar="TYPE", help="Type of another package that may be loaded with the model."),
    ] = None,
    *,
    options: dict[Any, Any],
) -> None:
    """Reduce a new table to the columns that a study chose, and predict its target."""
    with told_plainly():
        from fewer.io import write_table
        from fewer.study import StudyError, apply_model

        if as_json and not score:
            raise StudyError("--json is for --score; predictions are written as CSV, or to a file with --output.")

        if score and (output is not None or identifiers is not None or no_predictions):
            raise StudyError(
                "--score prints a score and writes no predictions: leave out --output, --id and --no-predictions, or "
                "run fewer apply without --score as well."
            )
        model, where = _model_of(folder, trust)
        if score:
            _score(model, where, table, _reading.values(options), as_json=as_json)
            return
        with warnings_as_notes():
            dataset = _reading.read(table, None, _reading.values(options))
            names = None if identifiers is None else names_in([identifiers])
            reduced = apply_model(model, dataset, predict=not no_predictions, identifiers=names)
        if output is None:
            write_out(reduced.write_csv())
        else:
            write_table(reduced, output)
            write_out(f"{reduced.height:,} rows, {reduced.width:,} columns: {output}\n")


def _score(model: Any, folder: Any, table: str, options: dict[str, Any], *, as_json: bool) -> None:
    """The score of a model on a table with the target, and the exit code that goes with it."""
    from fewer.study import Journal, promise_of, score_model

    if not table.startswith("dataset:"):  # whose task is known
        options["task"] = "regression" if model.task == "regression" else "classification"
    with warnings_as_notes():
        dataset = _reading.read(table, model.target, options)
        with Journal.read(folder.journal) as journal:
            found = score_model(model, dataset, promise_of(journal))
    write_out(f"{json.dumps(found.to_dict(), indent=2) if as_json else found}\n")
    if found.verdict == "lower":
        raise typer.Exit(LOWER_SCORE)


@app.command()
@_reading.takes("reading")
def explain(
    folder: Annotated[Path, typer.Argument(metavar="STUDY", help="Folder of the study.", show_default=False)],
    table: _reading.TablePath,
    row: Annotated[int, typer.Option("--row", metavar="N", help="Number of the row, from 1.", show_default=False)],
    background: Annotated[
        str | None,
        typer.Option("--background", metavar="TABLE", help="Rows to compare with.", show_default="those of TABLE"),
    ] = None,
    shap: Annotated[
        bool, typer.Option("--shap", help="Shapley values, for any model; needs the package shap.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON only.")] = False,
    trust: Annotated[
        list[str] | None,
        typer.Option("--trust", metavar="TYPE", help="Type of another package that may be loaded with the model."),
    ] = None,
    *,
    options: dict[Any, Any],
) -> None:
    """Show what each column contributes to the prediction for one row."""
    with told_plainly():
        from fewer.study import explain_row

        model, _ = _model_of(folder, trust)
        with warnings_as_notes():
            dataset = _reading.read(table, None, _reading.values(options))
            others = None if background is None else _reading.read(background, None, _reading.values(options))
            found = explain_row(model, dataset, row, background=others, shap=shap)
        write_out(f"{json.dumps(found.to_dict(), indent=2) if as_json else found}\n")


def _model_of(folder: Path, trust: list[str] | None) -> tuple[Any, Any]:
    """The model of a study, and its folder."""
    from fewer.study import StudyError, StudyFolder, StudyModel

    where = StudyFolder(folder)
    if not where.model.exists():
        raise StudyError(
            f"There is no model in {folder}: the study is not finished. Show its progress with: fewer show {folder}"
        )
    return StudyModel.load(where.model, trusted=names_in(trust)), where


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="STUDY", help="Folder of a study.", show_default=False)],
    second: Annotated[Path, typer.Argument(metavar="STUDY", help="Folder of another.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON only.")] = False,
) -> None:
    """Compare two studies of one table: the columns that they chose, and their scores."""
    with told_plainly():
        from fewer.study import compare_studies

        found = compare_studies(first, second)
        write_out(f"{json.dumps(found.to_dict(), indent=2) if as_json else found}\n")


@app.command()
@_reading.takes("table", "reading", only=("drop", "task"))
def describe(
    table: _reading.TablePath,
    target: _reading.Target = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON only.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write to this file (.json for JSON) instead of the terminal."
        ),
    ] = None,
    *,
    options: dict[Any, Any],
) -> None:
    """Describe a table: kinds of columns, missing values, duplicates, possible target leakage, what to do next."""
    with told_plainly():
        from fewer.overview import describe as describe_dataset

        with warnings_as_notes():
            dataset = _reading.read(table, target, _reading.values(options))
        description = describe_dataset(dataset)
        if as_json or (output is not None and output.suffix.lower() == ".json"):
            text = description.to_json() + "\n"
        else:
            text = _rendered(description, to_file=output is not None)
        if output is not None:
            output.write_text(text, encoding="utf-8")
        else:
            write_out(text)


def _rendered(description: Any, *, to_file: bool) -> str:
    """The description as it is to be shown: with colours for a terminal only, and plain for a file."""
    from rich.console import Console

    from fewer.report import print_description

    console = Console(highlight=False, no_color=True, force_terminal=False) if to_file else Console(highlight=False)
    with console.capture() as captured:
        print_description(description, console)
    return without_trailing_spaces(captured.get())


@app.command()
def methods(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A method to show in full, or words to search for.")
    ] = None,
    role: Annotated[
        str | None,
        typer.Option(
            "--role",
            metavar="NAME",
            help="Only methods for this role in a study: selector, score, extractor, learner or imputer.",
        ),
    ] = None,
    room: Annotated[
        str | None,
        typer.Option("--room", metavar="NAME", help="Only methods of this module: select, extract, latent, ..."),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            "--task",
            metavar="NAME",
            help="Only methods for this task: classification, regression, unsupervised or evaluation.",
        ),
    ] = None,
    handles: Annotated[
        list[str] | None,
        typer.Option(
            "--handles", metavar="A,B", help="Only methods that accept such data: missing, sparse or categorical."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON only.")] = False,
) -> None:
    """List the methods: what each does, when to use it, its cost and its paper."""
    with told_plainly():
        from fewer import catalogue

        scores = _scores(name, role, task)
        if scores:
            write_out(_listed_scores(scores, as_json=as_json))
            return
        others: list[str] = []
        with warnings_as_notes():
            if name is not None:
                found = catalogue.search(name, role=role) or [catalogue.find(name, role=role)]
                cards = [card for card in found if card.name.lower() == name.lower()] or found
                others = [card.name for card in found if card not in cards]
            else:
                cards = catalogue.methods(room=room, task=task, handles=names_in(handles), role=role)
        if as_json:
            import json

            write_out(json.dumps([card.to_dict() for card in cards], indent=2, ensure_ascii=False) + "\n")
        elif cards:
            write_out(_rendered_methods(cards, in_full=name is not None and len(cards) == 1))
            write_out(f"See also: {', '.join(others)}.\n" if others else "")
        else:
            write_out(_nearest_matches({"role": role, "room": room, "task": task, "handles": names_in(handles)}))


# What tables of a study call the scores that its presets rank columns by.
_SCORES_IN_TABLES = {"f test": "anova", "correlation": "pearson"}


def _scores(name: str | None, role: str | None, task: str | None) -> list[str]:
    """Scores of columns by this name, that of the function, or the name in a report; all of them for the role score."""
    if name is None and role != "score":
        return []
    from fewer.select import score_names

    known = score_names(task=task)  # type: ignore[arg-type]
    if name is None:
        return known
    wanted = name.lower()
    wanted = _SCORES_IN_TABLES.get(wanted, wanted.removesuffix("_score"))
    return [wanted] if wanted in known and role in (None, "score", "selector") else []


def _listed_scores(names: list[str], *, as_json: bool) -> str:
    """What each score is for, in a line, and how to use them."""
    import json

    from fewer import select

    public = [getattr(select, called) for called in select.__all__ if called.endswith("_score")]
    functions = {card.name: each for each in public if (card := getattr(each, "__fewer_score__", None)) is not None}
    says = {name: (functions[name].__doc__ or "").strip().splitlines()[0] for name in names}
    if as_json:
        found = [{"name": name, "summary": says[name], "role": "score"} for name in names]
        return json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    width, first = max(map(len, names)), names[0]
    use = (
        f"Use: fewer study ... --methods {first}, SelectTop(score_func={first!r}), or "
        f"fewer.select.{functions[first].__name__}(X, y)."
    )
    lines = [f"{name:{width}}  {says[name]}" for name in names]
    return "\n".join(["Scores of single columns, by which SelectTop ranks them:", *lines, use]) + "\n"


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

    lines = ["No method matches all of these options."]
    for option in [option for option, value in asked.items() if value]:
        names = [card.name for card in catalogue.methods(**(asked | {option: () if option == "handles" else None}))]
        lines += [f"Without --{option}: {', '.join(names)}."] if names else []
    return "\n".join(lines) + "\n"
