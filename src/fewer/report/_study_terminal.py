"""The findings of a study in the terminal: the verdict, the answers, the curve, the columns, the candidates."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fewer._wording import cut, printable, signed
from fewer.report._study_numbers import duration, seconds_by_candidate, unit_of

if TYPE_CHECKING:
    from fewer.study import Findings, Rival

_MOST_COLUMNS = 15
_LONGEST_NAME = 28
_LONGEST_EFFECT = 60
_LONGEST_BAR = 30
_MOST_REDUCED = 12
# Narrower terminals go without the time of each candidate, so that names stay on one line.
_WIDE = 100
# Answers that are shown below the tables.
_LATER = ("careful", "missing")
_LEVELS = {"critical": ("Critical", "bold red"), "warning": ("Warning", "yellow"), "note": ("Note", "dim")}


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
    Too few rows ...
    """
    _Printer(findings, console or Console(file=sys.stdout, highlight=False), seconds or {}).print_all()


class _Printer:
    """Prints one study to one console, in characters that its encoding has."""

    def __init__(self, findings: "Findings", console: Console, seconds: Mapping[str, float]) -> None:
        self.findings = findings
        self.console = console
        self.seconds = seconds_by_candidate(seconds)
        self.plain = console.options.ascii_only

    def print_all(self) -> None:
        findings = self.findings
        self.console.print(self._text(findings.headline, style="bold"))
        for sentence in findings.verdict[1:]:
            self.console.print(self._text(sentence))
        for name, answer in findings.shown.items():
            if name in _LATER:
                continue
            self._print_section(answer.question, self._text(answer.sentence))
        self._print_section(f"Best fixed-size score by number of {unit_of(findings)}", self._curve())
        self._print_note(
            "Fixed-size scores are those of the best of many, so they are higher than that of the first line."
        )
        self._print_section("Columns", self._columns())
        if any(column.chosen and not column.frequency for column in findings.columns):
            self._print_note("0% in folds: chosen on all rows, but in no fold.")
        self._print_section("Candidates", self._candidates())
        self._print_note(
            "score: candidate score, with the number of columns that scores best on the other folds. vs. all: "
            "difference to the same learner with all columns. no variation: the same score on every fold, so there is "
            "no interval."
        )
        if "missing" in findings.shown:
            self._print_section(findings.missing.question, self._text(findings.missing.sentence))
        if findings.cautions:
            self._print_section("Warnings and notes")
            for caution in findings.cautions:
                word, style = _LEVELS[caution.level]
                line = Text.assemble((f"{word}: ", style), self._text(caution.sentence))
                self.console.print(Padding(line, (0, 0, 0, 2), expand=False))

    def _print_section(self, title: str, content: "Text | Table | None" = None) -> None:
        self.console.print()
        self.console.print(Text(title, style="bold cyan"))
        if content is not None:
            self.console.print(Padding(content, (0, 0, 0, 2), expand=False))

    def _print_note(self, text: str) -> None:
        """What the headings of the table above mean."""
        self.console.print(Padding(Text(text, style="dim"), (0, 0, 0, 2), expand=False))

    def _text(self, text: str, most: int | None = None, style: str = "") -> Text:
        """Text from the findings: short, without control characters, with a ? for what the terminal cannot show."""
        text = printable(text)
        if most is not None:
            text = cut(text, most, "..." if self.plain else "…")
        if self.plain:
            text = text.replace("…", "...")
        encoding = self.console.encoding
        return Text(text.encode(encoding, errors="replace").decode(encoding), style=style)

    def _curve(self) -> Table:
        """A bar for each size, from the score of the baseline, or the lowest, to the best."""
        curve = self.findings.curve["frontier"]
        low = min(self.findings.curve["baseline"], *curve["mean"])
        high = max(curve["mean"])
        marks = {self.findings.n_columns: "all", self.findings.curve["chosen"]["size"]: "chosen"}
        table = _table((unit_of(self.findings), "right"), ("score", "right"), ("", "left"))
        for size, mean in zip(curve["sizes"], curve["mean"], strict=True):
            filled = round(_LONGEST_BAR * (mean - low) / (high - low)) if high > low else _LONGEST_BAR
            bar = ("#" if self.plain else "█") * filled
            mark = marks.get(size, "")
            table.add_row(f"{size:,}", f"{mean:.3f}", Text(f"{bar} {mark}".strip()))
        return table

    def _columns(self) -> Table:
        table = _table(("name", "left"), ("in folds", "right"), ("selection score", "right"), ("effect", "left"))
        chosen = [column for column in self.findings.columns if column.chosen]
        shown = chosen[:_MOST_COLUMNS]
        for column in shown:
            importance = "" if column.importance is None else f"{column.importance:.4g}"
            name, effect = self._text(column.name, _LONGEST_NAME), self._text(column.effect, _LONGEST_EFFECT)
            table.add_row(name, f"{column.frequency:.0%}", importance, effect)
        more = len(chosen) - len(shown)
        if more > 0:
            table.add_row(Text(f"and {more:,} more", style="dim"), "", "", "")
        return table

    def _candidates(self) -> Table:
        """The best candidates, and the baselines."""
        reduced = [rival.name for rival in self.findings.rivals if rival.size is not None]
        timed = self.console.width >= _WIDE
        headers = [("score", "right"), ("interval", "right"), ("columns", "right"), ("vs. all", "right")]
        table = _table(("candidate", "left"), *headers, *([("time", "right")] if timed else []))
        for rival in self.findings.rivals:
            if rival.name in reduced[_MOST_REDUCED:]:
                continue
            low, high = rival.interval
            spent = duration(self.seconds[rival.number]) if rival.number in self.seconds else ""
            table.add_row(
                self._text(rival.name),
                f"{rival.score:.3f}",
                "no variation" if high - low < 1e-12 else f"{low:.3f} to {high:.3f}",
                self._columns_of(rival),
                "" if rival.over_same_learner is None else signed(rival.over_same_learner),
                *([spent] if timed else []),
            )
        more = len(reduced) - _MOST_REDUCED
        if more > 0:
            table.add_row(Text(f"and {more:,} more, in the report", style="dim"))
        return table

    def _columns_of(self, rival: "Rival") -> str:
        """How many columns a candidate uses, on average over the folds."""
        if rival.size is not None:
            return f"{rival.size:,.1f}".removesuffix(".0")
        if not self.findings.plan.candidates[rival.number].is_baseline:
            return "all"
        return "always in" if self.findings.plan.always else "none"


def _table(*headers: tuple[str, str]) -> Table:
    """A table without lines; the first column gives way when there is too little room."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for place, (header, justify) in enumerate(headers):
        table.add_column(
            header,
            justify="left" if justify == "left" else "right",
            header_style="dim",
            no_wrap=justify == "right",
            overflow="fold",
            min_width=10 if place == 0 and justify == "left" else None,
        )
    return table
