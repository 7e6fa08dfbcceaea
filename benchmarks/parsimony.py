"""``python -m benchmarks.parsimony``: how few columns the rule of a study takes, and what that costs.

A table is cut as in benchmarks/presets.py. Every candidate of a preset is scored at every size on the folds of the two
thirds, without racing, and once more: fitted on both thirds, and scored on the third that is kept apart. Each table is
one line of benchmarks/results/parsimony.jsonl, from which any rule can be replayed in a second.

``--replay`` shows what racing leaves out, and compares rules: the shares of the gain and of the remaining error that
may be given up, on the tables with an even place in the list and on the others. The gap is the score on the rows kept
apart minus that of the best plain pipeline (chosen by its inner cross-validation, from the file of
benchmarks/presets.py); a gap of more than two points and two paired standard errors below zero is a clear loss. Where
that file has no such runs, the best learner of the preset with all columns takes their place, and a loss of more than
two points is counted.

``--more`` also scores sizes that grow by 19% instead of 41%, and backward elimination by forests, and the replay then
compares sets of candidates, too.

``--guards FILE`` writes the table of docs/presets.md on the guard of the rule: by how many standard errors a size must
be within what may be given up. It is about tables of up to 100 columns on all splits that are there; errors are those
over tables.
"""

import json
import warnings
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from benchmarks.cases import UnavailableError
from benchmarks.files import FOLDER
from benchmarks.presets import RESULTS as PRESETS
from benchmarks.presets import lines_of, task_of
from benchmarks.presets_tables import TABLES

RESULTS = FOLDER / "results" / "parsimony.jsonl"
# Small enough for a minute each.
SMALL = (
    "wine,breast_cancer,diabetes,sonar,ionosphere,heart,vehicle,segment,satimage,spambase,movement_libras,bands,german,crx,"
    "vote,labor,unbalanced,yeast4,winequality-red-4,hitters,college,carseats,cpu,khan,nci60,colon,allaml,yale,warpAR10P"
)
# Sets of candidates: what is scored besides those of the preset.
ELIMINATION = "forest elimination"
SETS = ("preset", "finer sizes", ELIMINATION)
RULES = [(0.0, None), (0.05, None), *((0.05, share) for share in (0.7, 0.5, 0.4, 0.3, 0.2, 0.1)), (0.03, None)]
# The same with a guard: by how many standard errors a size must be within; the rule of a study comes first.
GUARDED = [(0.05, 0.5, 0.5), (0.05, 0.5, 0.25), (0.05, 0.5, 0.0), (0.03, 0.5, 0.0), (0.08, 0.8, 0.5), (0.0, None, 0.5)]


def with_more(plan: Any) -> Any:
    """The plan with sizes between those that it has, and with backward elimination by forests."""
    from fewer.study.plan._recipes import Recipe

    def finer(sizes: tuple[int, ...]) -> tuple[int, ...]:
        between = [round((small * large) ** 0.5) for small, large in pairwise(sizes)]
        return tuple(sorted({*sizes, *between}))

    candidates = [replace(each, sizes=finer(each.sizes)) for each in plan.candidates]
    forest = [each for each in candidates if each.labels[0] == "forest importance"]
    backward = Recipe("ForestImportanceSelector", {"step": 0.2})
    more = [replace(each, labels=(ELIMINATION, each.labels[1]), reducer=backward) for each in forest]
    return replace(plan, candidates=(*candidates, *more))


def measured(table: str, split: int, preset: Any, *, more: bool = False) -> dict[str, Any]:
    """The scores of all candidates at all sizes, on the folds and on the rows kept apart."""
    from fewer.evaluate import Fold
    from fewer.study import make_plan, study_data
    from fewer.study.answers._scores import read_scores
    from fewer.study.work._work import Bench, FoldWork, do_fold, table_folds

    dataset = replace(TABLES[table].dataset(), rows=None)
    task = task_of(dataset, split)
    n_train, n_test = task.train.n_rows, task.test.n_rows
    # The rows of the third come last, so that the folds are those of a study of the two thirds.
    train, test = study_data(task.train), np.arange(n_train, n_train + n_test)
    plan = make_plan(train, preset=preset, n_permutations=0, racing=0.0, scoring=task.scoring)
    tried = [sorted(each.sizes) for each in plan.candidates]
    plan = with_more(plan) if more else plan
    rows = np.concatenate([_rows(task.train), _rows(task.test)])
    data = study_data(dataset.take(rows))
    if (data.dataset.n_rows, train.dataset.n_rows) != (len(rows), n_train):
        raise UnavailableError(f"{table}: rows of rare classes are left out")
    folds = [*table_folds(plan, train), [Fold(np.arange(n_train), test)] * plan.n_folds]
    bench, done = Bench(plan, data, folds), {}
    for repeat in range(plan.n_repeats + 1):
        for fold in range(plan.n_folds if repeat < plan.n_repeats else 1):
            for number in range(len(plan.candidates)):
                work = FoldWork(number, repeat, fold)
                try:
                    done[work.key] = do_fold(work, bench)
                except Exception as error:
                    done[work.key] = {"failure": str(error)}
    scores = read_scores(done, plan, 1 / (plan.n_folds - 1))
    held_out = {}
    for number in range(len(plan.candidates)):
        last = done[FoldWork(number, plan.n_repeats, 0).key]
        held_out[number] = dict(zip(last.get("sizes", []), last.get("scores", []), strict=True))
    cells = scores.cells
    whole = {each.number for each in scores.with_everything}
    apart: list[Any] = [
        next(iter(held_out[number].values()), None) if number in whole else held_out[number].get(int(size))
        for number, size in zip(cells.candidates.tolist(), cells.sizes.tolist(), strict=True)
    ]
    kept = [place for place, score in enumerate(apart) if score is not None]
    return {
        "table": table,
        "split": split,
        "preset": preset,
        "rows": n_train,
        "columns": dataset.n_columns,
        "scoring": plan.scoring,
        "reducers": [each.labels[0] for each in plan.candidates],
        "tried": tried,
        "candidates": cells.candidates[kept].tolist(),
        "sizes": cells.sizes[kept].tolist(),
        "scores": np.round(cells.scores[..., kept], 6).tolist(),
        "baseline": np.round(scores.baseline.fold_scores, 6).tolist(),
        "apart": [round(float(apart[place]), 6) for place in kept],
    }


def _rows(part: Any) -> np.ndarray:
    return np.asarray(part.rows)


def chosen(line: dict[str, Any], parsimony: float, error_share: float | None, guard: float = 0.5) -> int:
    """The cell that the rule takes on all folds of a line; where columns outnumber rows, the guard is one."""
    from fewer.study.answers._decision import Cells, Rule

    sizes, scores = np.array(line["sizes"]), np.array(line["scores"])
    cells = Cells(np.array(line["candidates"]), sizes, sizes, scores)
    guard = 1.0 if line["columns"] > line["rows"] else guard
    rule = Rule(parsimony, guard, 0.25, error_share, 3 / line["rows"])
    return cells.chosen(scores.reshape(-1, len(sizes)), np.ravel(line["baseline"]), rule)


def raced(line: dict[str, Any]) -> tuple[float, bool]:
    """Share of the scores that racing leaves out, and whether the choice stays the same."""
    from fewer.study.work._race import out_of_race

    sizes, scores, baseline = (np.array(line[name]) for name in ("sizes", "scores", "baseline"))
    n_repeats, n_folds, n_cells = scores.shape
    left, n_scored, stays = np.arange(n_cells), 3 * n_cells, sizes == sizes.max()
    for done in range(3, n_folds + 1):
        rule = {"standard_errors": 2.0, "share": 0.1, "test_ratio": 1 / (n_folds - 1)}
        left = left[~out_of_race(scores[0, :done][:, left], baseline[0, :done], stays[left], **rule)]
        n_scored += len(left) * (1 if done < n_folds else n_folds * (n_repeats - 1))
    return 1 - n_scored / scores.size, chosen(line, 0.05, 0.5) in left


def plain_of(path: Path) -> dict[tuple[str, int], tuple[float, float]]:
    """Score of the best plain pipeline on each table and split, and the paired standard error of the study."""
    runs: dict[tuple[str, int], dict[str, Any]] = {}
    for line in lines_of(path):
        if line["status"] == "ok":
            runs.setdefault((line["table"], line["split"]), {})[line["procedure"]] = line
    found = {}
    for key, by_name in runs.items():
        plain = [line for name, line in by_name.items() if name.startswith("all columns")]
        if plain and "quick" in by_name:
            best = max(plain, key=lambda line: line["claimed"])
            differences = np.subtract(by_name["quick"]["by_row"], best["by_row"])
            found[key] = best["score"], float(differences.std(ddof=1) / np.sqrt(len(differences)))
    return found


def restricted(line: dict[str, Any], which: str) -> dict[str, Any]:
    """The line with one of the sets of candidates only."""
    whole = max(line["sizes"])

    def is_in(number: int, size: int) -> bool:
        if line["reducers"][number] == ELIMINATION:
            return which == ELIMINATION
        return which != "preset" or size == whole or size in line["tried"][number]

    kept = [place for place, cell in enumerate(zip(line["candidates"], line["sizes"], strict=True)) if is_in(*cell)]
    found = line | {name: [line[name][place] for place in kept] for name in ("candidates", "sizes", "apart")}
    return found | {"scores": np.array(line["scores"])[..., kept].tolist()}


def reference_of(line: dict[str, Any], plain: dict[tuple[str, int], tuple[float, float]]) -> tuple[float, float]:
    """Score to compare with and standard error of the difference: of the best plain pipeline, if it was run."""
    key = line["table"], line["split"]
    if key in plain:
        return plain[key]
    sizes, means = np.array(line["sizes"]), np.mean(line["scores"], axis=(0, 1))
    best = int(np.argmax(np.where(sizes == sizes.max(), means, -np.inf)))
    return line["apart"][best], 0.0


def replay(results: Path, presets: Path) -> None:
    """Print gap, clear losses and columns of every rule, for both halves of the tables and each set of candidates."""
    lines, plain = lines_of(results), plain_of(presets)
    left_out, same = np.array([raced(restricted(line, "preset")) for line in lines]).T
    print(
        f"racing leaves out {left_out.mean():.0%} of the scores ({left_out.min():.0%} to {left_out.max():.0%}); the "
        f"choice is the same on {int(same.sum())} of {len(lines)} tables"
    )
    sets = SETS if any(ELIMINATION in line["reducers"] for line in lines) else SETS[:1]
    for name, half in {"even": lines[::2], "odd": lines[1::2], "all": lines}.items():
        for which in sets:
            print(f"{name}, {which}: {len(half)} tables")
            for rule in RULES:
                print(_in_words(rule, figures_of(rule, [restricted(line, which) for line in half], plain)))


class Figures(NamedTuple):
    """What a rule gives on some tables: gaps in points, losses, median shares of the columns."""

    gap: float
    error: float
    losses: int
    wide: float
    narrow: float


def figures_of(rule: tuple[float, float | None], lines: list[dict[str, Any]], plain: dict[Any, Any]) -> Figures:
    """Replay the rule on these lines."""
    gaps, clear = [], 0
    shares: dict[bool, list[float]] = {True: [], False: []}
    for line in lines:
        score, error = reference_of(line, plain)
        cell = chosen(line, *rule)
        gap = line["apart"][cell] - score
        gaps.append(100 * gap)
        clear += gap < -max(0.02, 2 * error)
        shares[line["columns"] > 100].append(line["sizes"][cell] / max(line["sizes"]))
    wide, narrow = (float(np.median(shares[many])) if shares[many] else np.nan for many in (True, False))
    return Figures(float(np.mean(gaps)), float(np.std(gaps, ddof=1) / np.sqrt(len(gaps))), clear, wide, narrow)


def _in_words(rule: tuple[float, float | None], found: Figures) -> str:
    return (
        f"  gain {rule[0]:.2f}, error {rule[1] or '-':>4}: gap {found.gap:+.2f} +- {found.error:.2f}, clear losses "
        f"{found.losses}, columns wide {found.wide:.3f}, narrow {found.narrow:.2f}"
    )


def frontier(lines: list[dict[str, Any]], plain: dict[Any, Any]) -> str:
    """The part of docs/presets.md on score against columns: tables of up to 100 columns, one line for each rule."""
    narrow = [line for line in lines if line["columns"] <= 100]
    splits = sorted({line["split"] for line in narrow})
    names = {"preset": "those of quick", "finer sizes": "twice as many sizes", ELIMINATION: "forest elimination, too"}
    found = [
        "| candidates | of the gain | of the error | "
        + " | ".join(f"split {split}: points | loses > 2 | columns" for split in splits)
        + " |",
        "|---|---|---|" + "---|---|---|" * len(splits),
    ]
    for which, name in names.items():
        for gain, error in ((0.0, None), (0.03, 0.5), (0.05, 0.5), (0.05, None), (0.1, 0.5)):
            cells = [name, f"{gain:.0%}", f"{error:.0%}" if error else "any"]
            for split in splits:
                own = [restricted(line, which) for line in narrow if line["split"] == split]
                one = figures_of((gain, error), own, plain)
                cells += [f"{one.gap:+.1f} ± {one.error:.1f}", f"{one.losses} of {len(own)}", f"{one.narrow:.0%}"]
            found.append(f"| {' | '.join(cells)} |")
    return "\n".join(found) + "\n"


def guards(lines: list[dict[str, Any]], plain: dict[Any, Any]) -> str:
    """The part of docs/presets.md on the guard of the rule: tables of up to 100 columns, splits averaged."""
    narrow = [line for line in lines if line["columns"] <= 100]
    tables = sorted({line["table"] for line in narrow})

    def replayed(rule: tuple[float, float | None, float]) -> tuple[np.ndarray, np.ndarray]:
        cells = [chosen(line, *rule) for line in narrow]
        scores = [line["apart"][cell] - reference_of(line, plain)[0] for line, cell in zip(narrow, cells, strict=True)]
        shares = [line["sizes"][cell] / max(line["sizes"]) for line, cell in zip(narrow, cells, strict=True)]
        return 100 * np.array(scores), np.array(shares)

    def in_words(values: np.ndarray) -> str:
        means = [
            np.mean([value for value, line in zip(values, narrow, strict=True) if line["table"] == name])
            for name in tables
        ]
        return f"{np.mean(means):+.1f} ± {np.std(means, ddof=1) / np.sqrt(len(means)):.1f}"

    first, _ = replayed(GUARDED[0])
    found = [
        "| of the gain | of the error | standard errors | points | minus the first rule | loses > 2 | columns |",
        "|---|---|---|---|---|---|---|",
    ]
    for rule in GUARDED:
        gaps, shares = replayed(rule)
        limits = f"{rule[0]:.0%} | {f'{rule[1]:.0%}' if rule[1] else 'any'} | {rule[2]:g}"
        against = in_words(gaps - first) if rule != GUARDED[0] else ""
        lost = f"{int((gaps < -2).sum())} of {len(gaps)}"
        found.append(f"| {limits} | {in_words(gaps)} | {against} | {lost} | {np.median(shares):.0%} |")
    return "\n".join(found) + "\n"


def main(
    tables: Annotated[str, typer.Option(help="Names, with commas between.")] = SMALL,
    split: Annotated[int, typer.Option(help="The third kept apart.")] = 0,
    preset: Annotated[str, typer.Option(help="The preset whose candidates are scored.")] = "quick",
    more: Annotated[bool, typer.Option("--more", help="Score finer sizes and backward elimination, too.")] = False,
    only_replay: Annotated[bool, typer.Option("--replay", help="Compare rules on what is there.")] = False,
    results: Annotated[Path, typer.Option(help="File of the scores.")] = RESULTS,
    presets: Annotated[Path, typer.Option(help="File of the plain pipelines.")] = PRESETS,
    page: Annotated[Path | None, typer.Option(help="File for the table of the docs.")] = None,
    guard_page: Annotated[Path | None, typer.Option("--guards", help="File for the table on guards.")] = None,
) -> None:
    """Measure the tables that are not there yet, then compare rules."""
    done = {(line["table"], line["split"], line["preset"]) for line in lines_of(results)}
    results.parent.mkdir(parents=True, exist_ok=True)
    for table in [] if only_replay else tables.split(","):
        if (table, split, preset) in done:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                line = measured(table, split, preset, more=more)
        except UnavailableError as error:
            print(f"{table}: {error}")
            continue
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
        print(table, flush=True)
    replay(results, presets)
    if page is not None:
        page.write_text(frontier(lines_of(results), plain_of(presets)), encoding="utf-8")
    if guard_page is not None:
        guard_page.write_text(guards(lines_of(results), plain_of(presets)), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
