"""``python -m benchmarks.presets_page``: docs/presets.md and its picture, from docs/data/presets.jsonl.

Scores are in points (hundredths). Procedures are compared on the same rows; a table counts once, with the mean of its
splits. The best plain pipeline of a split is the one whose own cross-validation on the training rows is best.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from benchmarks.presets import PEERS, PLAIN, RESULTS, STUDIES, lines_of
from benchmarks.presets_tables import TABLES
from benchmarks.presets_times import times_table
from benchmarks.table import readable_seconds
from fewer._wording import counted

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "presets.md"
PICTURE = ROOT / "docs" / "_static" / "presets.png"
FRONTIER = ROOT / "docs" / "data" / "parsimony.md"
BEST_PLAIN = "best plain pipeline"
MANY_COLUMNS = 100
# Goals: mean points below the best plain pipeline, and median shares of the columns.
LARGEST_LOSS = {"quick": 1.0, "standard": 0.5}
LARGEST_SHARE = {True: 1 / 10, False: 1 / 3}

Line = Mapping[str, Any]


class Gap(NamedTuple):
    """A difference of scores in points, with its standard error."""

    mean: float
    error: float

    def __str__(self) -> str:
        return f"{self.mean:+.1f} ± {self.error:.1f}" if np.isfinite(self.error) else f"{self.mean:+.1f}"


class Runs:
    """The finished runs, by procedure and then by table and split."""

    def __init__(self, lines: Iterable[Line]) -> None:
        found: dict[tuple[str, int, str], Line] = {}
        self.made_anew: list[tuple[Line, Line]] = []
        for line in lines:
            run = line["table"], line["split"], line["procedure"]
            earlier = found.get(run)
            if earlier is not None and (earlier["status"], line["status"]) == ("ok", "ok"):
                self.made_anew.append((earlier, line))
            found[run] = line
        lines = list(found.values())
        self.lines = lines
        self.troubles = [line for line in lines if line["status"] != "ok"]
        self.by_procedure: dict[str, dict[tuple[str, int], Line]] = defaultdict(dict)
        for line in lines:
            if line["status"] == "ok":
                self.by_procedure[line["procedure"]][line["table"], line["split"]] = line
        for key in {key for name in PLAIN for key in self.by_procedure[name]}:
            able = [self.by_procedure[name][key] for name in PLAIN if key in self.by_procedure[name]]
            best = max(able, key=lambda line: line["claimed"])
            seconds = sum(line["seconds"] for line in able)
            self.by_procedure[BEST_PLAIN][key] = {**best, "seconds": seconds}

    def fresh(self) -> "Runs":
        """Those on tables that no rule or constant of the presets was chosen with."""
        return Runs(line for line in self.lines if line["table"] in TABLES and TABLES[line["table"]].fresh)

    @cached_property
    def tables(self) -> dict[str, Line]:
        """Every table that the best plain pipeline has been fitted to, with one of its lines: wide ones last."""
        found = {table: line for (table, _), line in sorted(self.by_procedure[BEST_PLAIN].items())}
        return dict(sorted(found.items(), key=lambda pair: (pair[1]["columns"], pair[0])))

    def only(self, split: int) -> "Runs":
        """Those of one split."""
        return Runs(line for line in self.lines if line["split"] == split)

    @property
    def splits(self) -> list[int]:
        """All splits that something has run on."""
        return sorted({split for found in self.by_procedure.values() for _, split in found})

    def of(self, procedure: str, table: str) -> list[Line]:
        """Runs of a procedure on a table, split by split."""
        runs = self.by_procedure.get(procedure, {})
        return [line for (name, _), line in sorted(runs.items()) if name == table]

    def mean(self, procedure: str, table: str, field: str) -> float:
        """Mean over the splits; NaN where there is none."""
        values = [line[field] for line in self.of(procedure, table)]
        return float(np.mean(values)) if values else float("nan")

    def share(self, procedure: str, table: str) -> float:
        """Share of the table's columns that are kept."""
        return self.mean(procedure, table, "kept") / self.tables[table]["columns"]

    def gap(self, procedure: str, other: str, table: str) -> Gap | None:
        """Score of a procedure minus that of another on the same rows; the error is that of a mean over rows.

        A row that several splits have kept apart counts as one row.
        """
        pairs = [pair for pair in self.pairs(procedure, other) if pair[0]["table"] == table]
        if not pairs:
            return None
        differences = 100 * np.concatenate([np.subtract(own["by_row"], its["by_row"]) for own, its in pairs])
        n_rows = min(len(differences), self.tables[table]["rows"])
        mean = 100 * np.mean([own["score"] - its["score"] for own, its in pairs])
        return Gap(float(mean), float(np.std(differences, ddof=1) / np.sqrt(n_rows)))

    def pairs(self, procedure: str, other: str) -> list[tuple[Line, Line]]:
        """Runs of both on the same table and split."""
        own, its = self.by_procedure.get(procedure, {}), self.by_procedure.get(other, {})
        return [(own[key], its[key]) for key in sorted(own.keys() & its.keys())]

    def gaps(self, procedure: str, other: str = BEST_PLAIN) -> dict[str, Gap]:
        """The same for every table that both have run on."""
        found = {table: self.gap(procedure, other, table) for table in self.tables}
        return {table: gap for table, gap in found.items() if gap is not None}

    def excess(self, procedure: str) -> dict[str, float]:
        """What a procedure claimed minus what it reached, in points, by table."""
        return {
            table: 100 * (self.mean(procedure, table, "claimed") - self.mean(procedure, table, "score"))
            for table in self.tables
            if self.of(procedure, table)
        }


def over_tables(values: Iterable[float]) -> Gap:
    """Mean over tables and its standard error."""
    found = np.array(list(values), dtype=float)
    error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
    return Gap(float(np.mean(found)), float(error))


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """95% interval of the mean over tables, by Student's t; None for a single table."""
    from scipy import stats

    if len(values) < 2:
        return None
    mean, error = over_tables(values)
    reach = stats.t.ppf(0.975, len(values) - 1) * error
    return mean - reach, mean + reach


def percent(share: float) -> str:
    """A share in percent, with one digit below 1%."""
    return f"{share:.1%}" if share < 0.01 else f"{share:.0%}"


def shares(runs: Runs, procedure: str, many: bool) -> list[float]:
    """Shares of the columns kept, of tables with many columns or of the others."""
    return [
        runs.share(procedure, table)
        for table, line in runs.tables.items()
        if (line["columns"] > MANY_COLUMNS) == many and runs.of(procedure, table)
    ]


def outdone(runs: Runs, preset: str) -> list[tuple[str, str, Gap]]:
    """Tables on which a peer selects fewer columns and has the better score, beyond the paired standard error."""
    found = []
    for peer in PEERS:
        for table, gap in runs.gaps(preset, peer).items():
            more = runs.mean(preset, table, "kept") > runs.mean(peer, table, "kept")
            if more and gap.mean < -gap.error:
                found.append((table, peer, gap))
    return found


def goals(runs: Runs, preset: str) -> list[tuple[str, bool, str]]:
    """What a preset is to reach, whether it does, and the figure."""
    gaps = runs.gaps(preset)
    mean = over_tables(gap.mean for gap in gaps.values())
    below = clear_losses(runs, preset)
    found = [
        (
            f"mean score at most {LARGEST_LOSS[preset]:g} points below the best plain pipeline",
            mean.mean >= -LARGEST_LOSS[preset],
            f"{mean} points on {len(gaps)} tables",
        ),
        (
            "at most 1 table in 20 more than max(2 points, 2 paired standard errors) below it",
            len(below) <= len(gaps) / 20,
            f"{len(below)} of {len(gaps)}" + (f": {', '.join(below)}" if below else ""),
        ),
    ]
    for many, most in LARGEST_SHARE.items():
        kept = shares(runs, preset, many)
        if kept:
            which = f"more than {MANY_COLUMNS} columns" if many else f"up to {MANY_COLUMNS} columns"
            found.append(
                (
                    f"tables with {which}: median share kept at most {most:.0%}",
                    median(kept) <= most,
                    percent(median(kept)),
                )
            )
    worse = outdone(runs, preset)
    told = "; ".join(f"{table}: {peer} ({gap})" for table, peer, gap in worse)
    found.append(("never both more columns and a lower score than a selecting peer", not worse, told or "never"))
    excess = list(runs.excess(preset).values())
    reach = interval(excess)
    if reach is not None:
        figure = f"{over_tables(excess).mean:+.1f} points, 95% interval {reach[0]:+.1f} to {reach[1]:+.1f}"
        found.append(
            ("claims are unbiased: 0 is in the interval of claim minus score", reach[0] <= 0 <= reach[1], figure)
        )
    if preset == "quick":
        both: dict[str, list[tuple[Line, Line]]] = defaultdict(list)
        for own, its in runs.pairs(preset, "Boruta + forest"):
            both[own["table"]].append((own, its))
        ratios = {
            table: sum(own["seconds"] for own, _ in pairs) / sum(its["seconds"] for _, its in pairs)
            for table, pairs in both.items()
        }
        slower = [f"{table} ({ratio:.1f} times)" for table, ratio in ratios.items() if ratio > 1]
        found.append(("never slower than Boruta + forest", not slower, ", ".join(slower) or f"{len(ratios)} tables"))
    return found


def shown(runs: Runs) -> list[str]:
    """The presets that have run on a fifth of the tables at least."""
    return [preset for preset in STUDIES if runs.gaps(preset) and 5 * len(runs.gaps(preset)) >= len(runs.tables)]


def page(runs: Runs) -> str:
    """The page of the docs."""
    presets = shown(runs)
    lines = [
        "# How well the presets do",
        "",
        "`make presets` makes this page. "
        f"{len(runs.tables)} real tables, splits: {len(runs.splits)}. A study on two thirds of the rows, its model "
        "applied to the rest, as `fewer apply` does. Beside it, on the same rows: plain pipelines with all "
        "columns (logistic regression and ridge with the penalty chosen inside, linear SVM, random forest, "
        "gradient boosting; the best one by cross-validation on the training rows), and procedures that select "
        "columns: RFECV, Boruta with a forest, an L1 penalty chosen by cross-validation, mlxtend's forward "
        "search. Scores are accuracy (balanced where a class is rare) or R2, in points, on rows that nothing else "
        "has seen. Times are processor seconds on "
        f"one thread.{_left_out(runs, presets)}",
        "",
        *_what_has_run(runs, presets),
        "",
        "![Score over the share of columns kept: an arrow for each table](_static/presets.png)",
        "",
        "Each arrow is a table: from the best plain pipeline, with all columns, to the model of the preset. Red ones "
        "lose more than two paired standard errors.",
        "",
        "## On average",
        "",
        *_means(runs, [*presets, *PEERS, BEST_PLAIN, *PLAIN]),
        "",
        "± is one standard error over tables. A procedure is averaged over the tables that it has run on.",
        "",
    ]
    lines += _splits_apart(runs, presets) + _beside_peers(runs, presets)
    fresh = runs.fresh()
    if fresh.tables:
        lines += [
            "## Fresh tables",
            "",
            f"{len(fresh.tables)} of the tables were added after every rule and constant of the presets had been "
            "chosen. They are counted above, too. Alone:",
            "",
            *_means(fresh, [*presets, *PEERS, BEST_PLAIN]),
            "",
        ]
    for preset in presets:
        lines += [f"## Goals of {preset}", "", "| goal | reached | figure |", "|---|---|---|"]
        lines += [
            f"| {what} | {'yes' if reached else '**no**'} | {figure} |" for what, reached, figure in goals(runs, preset)
        ]
        lines += [""]
    lines += _times_section()
    lines += frontier_section() if FRONTIER.exists() else []
    lines += ["## Table by table", "", "Score / columns kept / seconds.", "", *_by_table(runs, presets), ""]
    return "\n".join([*lines, *_troubles(runs)]).rstrip() + "\n"


def _revisions(runs: Runs, presets: Iterable[str]) -> str:
    """Which code the presets ran with."""
    codes = Counter(line.get("code") for preset in presets for line in runs.by_procedure[preset].values())
    told = ", ".join(f"`{code}` ({count} runs)" for code, count in codes.most_common() if code)
    if not told:
        return "Lines do not say which code the presets ran with."
    return f"The presets ran with the code of {told}.{_agreement(runs, presets)}"


def _agreement(runs: Runs, presets: Iterable[str]) -> str:
    """How the runs that were made with two revisions differ."""
    pairs = [(old, new) for old, new in runs.made_anew if new["procedure"] in presets]
    if not pairs:
        return ""
    scores = over_tables(100 * (new["score"] - old["score"]) for old, new in pairs)
    same = sum(old["kept"] == new["kept"] for old, new in pairs)
    return (
        f" {counted(len(pairs), 'run')} of an earlier revision were made anew: the later score minus the earlier one "
        f"is {scores} points, and {same} keep the same number of columns. The later runs count."
    )


def _what_has_run(runs: Runs, presets: Sequence[str]) -> list[str]:
    """How many tables each procedure has run on, split by split, and with which code the presets ran."""
    if len(runs.splits) == 1:
        return [_revisions(runs, presets)]
    lines = [
        "Splits are thirds of the rows that do not overlap. Split 0 was run on all tables; further splits and "
        "`standard` were run in the order of the time that `quick` took on split 0, the quickest table first, until "
        "the time was over (`python -m benchmarks.presets --quickest-first`), so no score had a say in what was run. "
        "These later runs shared a busy machine, where processor times are up to twice as long. "
        f"{_revisions(runs, presets)}",
        "",
        "Tables that have run:",
        "",
        f"| split | {' | '.join([*presets, BEST_PLAIN, *PEERS])} |",
        "|---|" + "---|" * (len(presets) + 1 + len(PEERS)),
    ]
    for split in runs.splits:
        counts = (
            sum(key[1] == split for key in runs.by_procedure.get(name, {})) for name in [*presets, BEST_PLAIN, *PEERS]
        )
        lines.append(f"| {split} | {' | '.join(str(count) for count in counts)} |")
    return lines


def _left_out(runs: Runs, presets: Iterable[str]) -> str:
    few = {preset: len(runs.gaps(preset)) for preset in STUDIES if preset not in presets}
    return "".join(f" `{preset}` has run on {n} of the tables so far, too few to show." for preset, n in few.items())


def _times_section() -> list[str]:
    table = times_table()
    if not table:
        return []
    return [
        "## Time and memory",
        "",
        "`python -m benchmarks.presets_times`: the command `fewer study` with two workers, from its start to the "
        "report. A goal of so many seconds on two free cores is reached if the wall time or the processor time of all "
        "processes is within it. Load is the machine's average of five minutes: on a busy machine, a longer time "
        "shows nothing.",
        "",
        *table,
        "",
    ]


def frontier_section() -> list[str]:
    """Score against columns, by replay of journals: the table is made by ``python -m benchmarks.parsimony``."""
    return [
        "## Fewer columns without loss: the frontier",
        "",
        "On tables with up to 100 columns, no rule that was tried keeps a third of the columns with at most one clear "
        "loss in 20 tables. `python -m benchmarks.parsimony` (`--split N` for other splits) scores all candidates and "
        "sizes of `quick` on the folds and on the rows kept apart, and replays rules: a size may lose so much to the "
        "best mean score, namely the smallest of the limits given. Points are as above, beside the best learner with "
        "all columns where plain pipelines have not run on a split; columns are median shares. *Inside the folds* is "
        "the score of the rule on folds that it has not seen minus that of the best learner with all columns chosen "
        "likewise, on all tables and splits. Errors are over tables, after splits have been averaged. The rule of the "
        "presets is in bold.",
        "",
        "```{include} data/parsimony.md",
        "```",
        "",
        "**A third of the columns is hardly in reach of any rule with these candidates.** *Hindsight* knows the rows "
        "kept apart: of each number of columns, it takes the candidate with the best mean, and then the fewest columns "
        "that lose at most 0.01, 0.02 or 0.04 there. With 0.02, it keeps a median of a third of the columns on split 6 "
        "and more on the others; less than a third takes up to 0.04. With 19 to 600 rows kept apart, hindsight is also "
        "helped by chance, so that the truth is further away.",
        "",
        "What was learned: shares of the gain alone allow losses of several points where much is gained, and many "
        "times the error where little is left (spambase lost 4.8 points at 91%). A guard of standard errors costs "
        "columns and gains what a smaller limit gains. Among candidates and sizes near the best mean, 0.01 more in the "
        "mean is 0.006 more on the rows kept apart, and explains 9% of the differences there. Neighbouring sizes and "
        "other selection methods with the same learner and size raise this to 16%, the log loss of calibrated scores "
        "to 13% where the mean accuracy explains 5%. But choosing by such smoothed scores, by a Gaussian process over "
        "sizes, methods and learners, or by the log loss, half or in full, moves along the frontier and not beyond it: "
        "smoothing also lifts the small sizes, where the curve is steep.",
        "",
        "The rule was chosen with split 0 and most of the splits 1 to 5 in sight. Split 6 was measured after it was "
        "fixed.",
        "",
        "On tables with more than 100 columns, the same limits without a guard keep the fewest columns, and lose "
        "nothing on the rows kept apart:",
        "",
        "```{include} data/parsimony-wide.md",
        "```",
        "",
        "Other ideas for narrow tables gained nothing that held on other tables and splits, and are not in the "
        "presets: twice as many sizes for all learners; every size for trees, which otherwise see one in three (on ten "
        "splits of five tables where trees win, a tenth fewer columns for 0.3 points and half as much time again); "
        "backward elimination by forests, or by the exact leave-one-out error of kernel ridge; means of the "
        "predictions of ridge, support vector machines, kernel ridge and extra trees; kernel ridge as one more "
        "learner.",
        "",
        "glass (142 training rows, six classes, of which the rarest has six rows there) loses most. With balanced "
        "accuracy, a row of that class is worth as much as eight of the largest one. On the folds, support vector "
        "machines with 4 to 6 of 9 columns reach 0.71 to 0.72 and extra trees with all 0.70; on the rows kept apart "
        "0.57 and 0.78. No rule that sees these folds can know that.",
        "",
    ]


def _means(runs: Runs, procedures: Iterable[str]) -> list[str]:
    lines = [
        "| procedure | tables | score minus best plain | share kept, wide | share kept, others | claim minus score "
        "(95% interval) | seconds, median (most) |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in procedures:
        gaps = runs.gaps(name)
        if not gaps:
            continue
        seconds = [runs.mean(name, table, "seconds") for table in gaps]
        cells = [
            f"**{name}**" if name in STUDIES else name,
            str(len(gaps)),
            "" if name == BEST_PLAIN else str(over_tables(gap.mean for gap in gaps.values())),
            *_kept_and_claimed(runs, name),
            f"{readable_seconds(median(seconds))} ({readable_seconds(max(seconds))})",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _kept_and_claimed(runs: Runs, procedure: str) -> list[str]:
    """Median shares of the columns kept, of wide tables and of others, and the claim minus the score."""
    kept = [shares(runs, procedure, many) for many in (True, False)]
    excess = list(runs.excess(procedure).values())
    reach = interval(excess)
    told = f"{over_tables(excess).mean:+.1f}" + ("" if reach is None else f" ({reach[0]:+.1f} to {reach[1]:+.1f})")
    return [*(percent(median(each)) if each else "" for each in kept), told]


def clear_losses(runs: Runs, preset: str) -> list[str]:
    """Tables on which a preset is more than max(2 points, 2 paired standard errors) below the best plain pipeline."""
    return [table for table, gap in runs.gaps(preset).items() if gap.mean < -max(2.0, 2 * gap.error)]


def _splits_apart(runs: Runs, presets: Sequence[str]) -> list[str]:
    """The presets on each split: the rules were compared on the rows that split 0 keeps apart, not on the others."""
    if len(runs.splits) == 1:
        return []
    lines = [
        "Each split alone. The rules of the presets were compared on split 0 of many of these tables, so the others "
        "are the fairer judges of these rules:",
        "",
        "| preset | split | tables | score minus best plain | clear losses | share kept, wide | share kept, others | "
        "claim minus score (95% interval) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for preset in presets:
        for split in runs.splits:
            alone = runs.only(split)
            if gaps := alone.gaps(preset):
                told = [str(len(gaps)), str(over_tables(gap.mean for gap in gaps.values()))]
                told += [str(len(clear_losses(alone, preset))), *_kept_and_claimed(alone, preset)]
                lines.append(f"| {preset} | {split} | {' | '.join(told)} |")
    return [*lines, ""]


def _beside_peers(runs: Runs, presets: Sequence[str]) -> list[str]:
    """Each preset and each selecting peer, on the tables and splits that both have run on."""
    lines = [
        "## Beside peers that select columns",
        "",
        "On the tables and splits that both have run on; shares and times are medians.",
        "",
        "| preset | peer | tables | score minus the peer's | share kept | the peer's | seconds | the peer's |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for preset in presets:
        for peer in PEERS:
            pairs = runs.pairs(preset, peer)
            if not pairs:
                continue
            tables = {own["table"] for own, _ in pairs}
            gap = over_tables(runs.gaps(preset, peer)[table].mean for table in tables)
            cells = [str(len(tables)), str(gap)]
            sides = list(zip(*pairs, strict=True))
            cells += [percent(median(line["kept"] / line["columns"] for line in side)) for side in sides]
            cells += [readable_seconds(median(line["seconds"] for line in side)) for side in sides]
            lines.append(f"| {preset} | {peer} | {' | '.join(cells)} |")
    return [*lines, ""]


def _by_table(runs: Runs, presets: list[str]) -> list[str]:
    names = [*presets, *PEERS]
    lines = [
        f"| table | rows x columns | best plain | {' | '.join(names)} |",
        "|---|---|---|" + "---|" * len(names),
    ]
    for table, line in runs.tables.items():
        size = f"{line['rows']:,} x {line['columns']:,}"
        for plain in runs.of(BEST_PLAIN, table):
            split = plain["split"]
            cells = [_figures(runs.by_procedure.get(name, {}).get((table, split))) for name in names]
            which = f"{table} ({line['kind']})" if split == 0 else f"{table}, split {split}"
            lines.append(f"| {which} | {size} | {100 * plain['score']:.1f} | {' | '.join(cells)} |")
    return lines


def _figures(line: Line | None) -> str:
    return "" if line is None else f"{100 * line['score']:.1f} / {line['kept']} / {line['seconds']:.0f}"


def _troubles(runs: Runs) -> list[str]:
    """What did not run, and why: one line for each reason."""
    reasons: dict[tuple[str, str], set[str]] = defaultdict(set)
    for line in runs.troubles:
        reasons[line["procedure"], f"{line['status']}: {line['trouble']}"].add(line["table"])
    told = [
        f"- {procedure}, {', '.join(sorted(tables))}: {why}" for (procedure, why), tables in sorted(reasons.items())
    ]
    return ["## What did not run", "", *told] if told else []


def draw(runs: Runs, path: Path) -> None:
    """The picture: an arrow for each table and preset."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from fewer._figures import BLUE, GREY, RED

    mpl.rcParams["font.size"] = 9
    presets = shown(runs)
    figure = Figure(figsize=(4.8 * len(presets), 4.4), layout="constrained", dpi=160)
    for axes, preset in zip(figure.subplots(1, len(presets), squeeze=False, sharey=True)[0], presets, strict=True):
        for table, gap in runs.gaps(preset).items():
            own = 100 * runs.mean(preset, table, "score")
            plain = own - gap.mean  # on the same splits
            share = runs.share(preset, table)
            colour = RED if gap.mean < -2 * gap.error else BLUE
            ends = {"xy": (share, own), "xytext": (1.0, plain)}
            axes.annotate("", **ends, arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.1, "alpha": 0.75})
            axes.plot([1.0], [plain], "o", color=GREY, ms=3)
            axes.plot([share], [own], ".", color=colour, ms=4)
        axes.set_xscale("log")
        axes.set_xlim(right=1.25)
        ticks = [tick for tick in (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1) if tick >= axes.get_xlim()[0]]
        axes.set_xticks(ticks, [f"{100 * tick:g}%" for tick in ticks], minor=False)
        axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())
        axes.set_title(f"preset {preset}", loc="left", fontsize=10)
        axes.set_xlabel("share of the columns kept")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.25)
    figure.axes[0].set_ylabel("score on rows kept apart, points")
    figure.savefig(path)


def main(
    results: Annotated[Path, typer.Option(help="File of the runs.")] = RESULTS,
    out: Annotated[Path, typer.Option(help="The page.")] = PAGE,
    picture: Annotated[Path, typer.Option(help="The picture.")] = PICTURE,
) -> None:
    """Write the page and its picture."""
    runs = Runs(lines_of(results))
    if not runs.tables:
        raise typer.BadParameter(f"{results} holds no runs of plain pipelines: run python -m benchmarks.presets first.")
    out.write_text(page(runs), encoding="utf-8")
    draw(runs, picture)


if __name__ == "__main__":
    typer.run(main)
