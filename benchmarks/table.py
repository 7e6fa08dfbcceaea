"""Results as a table for the terminal."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.contest import CaseResult, Standing


def print_case(result: CaseResult, console: Console) -> None:
    """One table for one case: time, spread and the ratio to the first peer, where the results agree."""
    if result.unavailable:
        console.print(f"[bold]{escape(result.data)}[/]: not run, {escape(result.unavailable)}\n", soft_wrap=True)
        return
    table = Table(title=f"[bold]{escape(result.data)}[/]", title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("contender")
    for heading in _headings(result):
        table.add_column(escape(heading), justify="right", no_wrap=True)
    for standing in result.standings:
        table.add_row(
            f"[bold]{escape(standing.name)}[/]" if standing.ours else escape(standing.name), *_cells(result, standing)
        )
    console.print(table)
    for standing in result.standings:
        if standing.trouble:
            console.print(f"[yellow]{escape(standing.name)}: {escape(standing.trouble)}[/]", soft_wrap=True)
    console.print()


def _headings(result: CaseResult) -> list[str]:
    headings = ["median", "quartiles", f"time / {result.baseline}" if result.baseline else "ratio"]
    return headings + ["peak memory"] * _any(result, "peak_megabytes") + ["objective"] * _any(result, "objective")


def _cells(result: CaseResult, standing: Standing) -> list[str]:
    timing, peak, objective = standing.timing, standing.peak_megabytes, standing.objective
    cells = ["-", "-"]
    if timing:
        cells = [readable_seconds(timing.median), " to ".join(map(readable_seconds, timing.quartiles))]
    cells.append("-" if standing.ratio is None else f"{standing.ratio:.3g}")
    if _any(result, "peak_megabytes"):
        cells.append("-" if peak is None else f"{peak:,.0f} MB")
    if _any(result, "objective"):
        cells.append("-" if objective is None else f"{objective:.8g}")
    return cells


def _any(result: CaseResult, attribute: str) -> bool:
    return any(getattr(standing, attribute) is not None for standing in result.standings)


def readable_seconds(seconds: float) -> str:
    """Seconds in the unit in which a person would say them.

    >>> readable_seconds(0.00123)
    '1.23 ms'
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
