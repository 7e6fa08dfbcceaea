"""The findings of a study in the terminal: the verdict, the answers, the curve, the columns, the candidates."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fewer.report._study_time import seconds_by_candidate

if TYPE_CHECKING:
    from fewer.study import Findings

_MOST_COLUMNS = 15
_LONGEST_NAME = 40
_LEVELS = {"grave": ("Grave", "bold red"), "mind": ("Mind", "yellow"), "note": ("Note", "dim")}


def print_study(
    findings: "Findings", console: Console | None = None, seconds: Mapping[str, float] | None = None
) -> None:
    """Print the findings of a study for a person to read.

    Parameters
    ----------
    findings : fewer.study.Findings
        What was found.
    console : rich.console.Console, optional
        Where to print; the standard output, in its width, without colours when it is not a terminal.
    seconds : mapping of str to float, optional
        Time that each piece of work took, from the journal.

    Examples
    --------
    >>> import fewer
    >>> from fewer.report import print_study
    >>> study = fewer.run_study(
    ...     fewer.datasets.load("iris"), preset="quick", n_repeats=1, n_permutations=0, n_jobs=1
    ... )
    >>> print_study(study.findings)  # doctest: +ELLIPSIS
    Fewer features ...
    """
    console = console or Console(file=sys.stdout, highlight=False)
    console.print(Text(findings.headline, style="bold"))
    for sentence in findings.verdict[1:]:
        console.print(Text(sentence))
    for answer in findings.answers:
        _title(console, answer.question)
        console.print(Padding(Text(answer.sentence), (0, 0, 0, 2)))
    _title(console, "Score by number of columns")
    console.print(Padding(_curve(findings, ascii_only=console.options.ascii_only), (0, 0, 0, 2)))
    _title(console, "Columns")
    console.print(Padding(_columns(findings), (0, 0, 0, 2)))
    _title(console, "Candidates")
    console.print(Padding(_candidates(findings, seconds_by_candidate(findings, seconds or {})), (0, 0, 0, 2)))
    if findings.cautions:
        _title(console, "What to be careful about")
        for caution in findings.cautions:
            word, style = _LEVELS[caution.level]
            console.print(Padding(Text.assemble((f"{word}: ", style), caution.sentence), (0, 0, 0, 2)))


def _title(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold cyan"))


def _plain_table(*headers: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=bool(headers))
    for place, header in enumerate(headers):
        table.add_column(
            header,
            justify="left" if place == 0 or header == "effect" else "right",
            header_style="dim",
            overflow="ellipsis",
            no_wrap=place == 0,
            max_width=_LONGEST_NAME if place == 0 else None,
        )
    return table


def _curve(findings: "Findings", *, ascii_only: bool) -> Table:
    """A bar for each size, from the score of the simplest candidate to the best."""
    curve = findings.curve["winner"]
    low = min(findings.curve["simplest"], *curve["mean"])
    high = max(curve["mean"])
    table = _plain_table("columns", "score", "")
    table.columns[2].justify = "left"
    marks = {int(findings.how_few.number or 0): "chosen", findings.how_few.evidence["smallest"]: "smallest good"}
    for size, mean in zip(curve["sizes"], curve["mean"], strict=True):
        filled = round(30 * (mean - low) / (high - low)) if high > low else 30
        bar = ("#" if ascii_only else "█") * filled
        note = f" {marks[size]}" if size in marks else " all" if size == curve["sizes"][-1] else ""
        table.add_row(f"{size:,}", f"{mean:.3f}", Text(f"{bar}{note}"))
    return table


def _columns(findings: "Findings") -> Table:
    table = _plain_table("name", "in folds", "score", "effect")
    shown = [column for column in findings.columns if column.chosen][:_MOST_COLUMNS]
    for column in shown:
        score = "" if column.score is None else f"{column.score:.4g}"
        table.add_row(Text(column.name), f"{column.frequency:.0%}", score, Text(column.effect))
    more = len(findings.chosen) - len(shown)
    if more > 0:
        table.add_row(Text(f"... and {more:,} more", style="dim"), "", "", "")
    return table


def _candidates(findings: "Findings", seconds: Mapping[str, float]) -> Table:
    table = _plain_table("candidate", "score", "interval", "columns", "benefit", "time")
    for rival in findings.rivals:
        low, high = rival.interval
        table.add_row(
            Text(rival.name),
            f"{rival.score:.3f}",
            f"{low:.3f} to {high:.3f}",
            "all" if rival.size is None else f"{rival.size:.3g}",
            "" if rival.benefit is None else f"{rival.benefit:+.3f}",
            f"{seconds[rival.name]:.1f} s" if rival.name in seconds else "",
        )
    return table
