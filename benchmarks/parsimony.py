"""``python -m benchmarks.parsimony``: how few columns the rule of a study takes, and what that costs.

A table is cut as in benchmarks/presets.py. Every candidate of a preset is scored at every size on the folds of the two
thirds, without racing, and once more: fitted on both thirds, and scored row by row on the third that is kept apart.
Each table and split is one line of benchmarks/results/parsimony.jsonl, from which any rule can be replayed in a second.

``--replay`` shows what racing leaves out, and compares rules: what may be lost to the best mean score for fewer columns
(shares of the gain and of the remaining error, points of the score), and by how many standard errors of the difference
a size must be within that. Points are the score on the rows kept apart minus that of the best plain pipeline (chosen by
its inner cross-validation, from the file of benchmarks/presets.py) or, where it has not run, of the best learner with
all columns. A loss of more than two points and two paired standard errors is a clear one. ``--page FOLDER`` writes the
tables of docs/presets.md.
"""

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from benchmarks.cases import UnavailableError
from benchmarks.files import FOLDER
from benchmarks.presets import RESULTS as PRESETS
from benchmarks.presets import lines_of, row_scores, task_of
from benchmarks.presets_tables import TABLES

RESULTS = FOLDER / "results" / "parsimony.jsonl"
# Less than half a minute each.
SMALL = (
    "wine,breast_cancer,diabetes,sonar,ionosphere,heart,vehicle,segment,satimage,spambase,movement_libras,bands,german,crx,"
    "vote,labor,unbalanced,yeast4,winequality-red-4,hitters,college,carseats,cpu,khan,nci60,colon,allaml,yale,warpAR10P,"
    "pima,boston,credit,saheart,auto,phoneme,australian,contraceptive,oj,ring,vowel,glass,tic-tac-toe,twonorm,penbased,"
    "chess,nci60_gene"
)


class Trial(NamedTuple):
    """A rule: the shares of the gain and of the remaining error and the points to lose, and the guard.

    ``smooth`` moves each score so far towards the mean of all selection methods with its learner and size; ``within``
    takes sizes of the winner's selection method and learner alone.
    """

    gain: float
    error: float = np.inf
    points: float = np.inf
    guard: float = 0.0
    smooth: float = 0.0
    within: bool = False

    def __str__(self) -> str:
        if not self.gain:
            return "the best mean score"
        limits = [f"{self.gain:.0%} of the gain"]
        limits += [f"{self.error:.0%} of the error"] if np.isfinite(self.error) else []
        limits += [f"{self.points:g}"] if np.isfinite(self.points) else []
        more = [f"within by {self.guard:g} standard errors"] if self.guard else []
        more += ["scores half way to the mean over methods"] if self.smooth else []
        more += ["sizes of the winner alone"] if self.within else []
        return "; ".join([", ".join(limits), *more])


RULE = Trial(0.1, 0.2, 0.02)
FORMER = Trial(0.05, 0.5, guard=0.5)
TRIALS = (
    Trial(0.0),
    FORMER,
    FORMER._replace(guard=0.0),
    Trial(0.05, 0.1, 0.01),
    RULE,
    RULE._replace(points=np.inf),
    RULE._replace(error=np.inf),
    RULE._replace(guard=0.5),
    RULE._replace(smooth=0.5),
    RULE._replace(within=True),
    Trial(0.15, 0.3, 0.03),
    Trial(0.2, 0.4, 0.04),
)
WIDE = (FORMER._replace(guard=1.0), *(RULE._replace(guard=guard) for guard in (1.0, 0.5, 0.0)))
# The rule was chosen with the first two in sight, and was fixed when the last one was measured.
SPLITS = {"split 0": range(1), "splits 1 to 5": range(1, 6), "split 6": range(6, 7)}
# What could be chosen if the rows kept apart were known: of each size the best mean, and of these the fewest columns
# that lose no more than so many points.
HINDSIGHT = (0.01, 0.02, 0.04)


def measured(table: str, split: int, preset: Any) -> dict[str, Any]:
    """The scores of all candidates at all sizes, on the folds and on the rows kept apart."""
    from fewer._estimators import predicted
    from fewer.evaluate import Fold
    from fewer.study import make_plan, study_data
    from fewer.study.answers._scores import read_scores
    from fewer.study.work._predictions import fitted_cell
    from fewer.study.work._work import Bench, FoldWork, do_fold, finished, table_folds

    dataset = replace(TABLES[table].dataset(), rows=None)
    task = task_of(dataset, split)
    n_train, n_test = task.train.n_rows, task.test.n_rows
    # The rows of the third come last, so that the folds are those of a study of the two thirds.
    train, test = study_data(task.train), np.arange(n_train, n_train + n_test)
    plan = make_plan(train, preset=preset, n_permutations=0, racing=0.0, scoring=task.scoring)
    rows = np.concatenate([np.asarray(task.train.rows), np.asarray(task.test.rows)])
    data = study_data(dataset.take(rows))
    if (data.dataset.n_rows, train.dataset.n_rows) != (len(rows), n_train):
        raise UnavailableError(f"{table}: rows of rare classes are left out")
    bench = Bench(plan, data, [*table_folds(plan, train), [Fold(np.arange(n_train), test)]])
    works = [
        FoldWork(number, repeat, fold)
        for repeat in range(plan.n_repeats)
        for fold in range(plan.n_folds)
        for number in range(len(plan.candidates))
    ]
    done = {key: found for key, (found, _) in finished(do_fold, works, bench).items()}
    scores = read_scores(done, plan, 1 / (plan.n_folds - 1))
    cells, y = scores.cells, np.asarray(data.dataset.y)[test]
    by_row = []
    for number, size in zip(cells.candidates.tolist(), cells.sizes.tolist(), strict=True):
        fitted = fitted_cell(bench, plan.n_repeats, 0, (number, size))
        by_row.append(row_scores(y, np.asarray(predicted(fitted.model, fitted.X_test)), plan.scoring))
    return {
        "table": table,
        "split": split,
        "preset": preset,
        "rows": n_train,
        "columns": dataset.n_columns,
        "scoring": plan.scoring,
        "methods": [each.labels[0] for each in plan.candidates],
        "learners": [each.labels[1] for each in plan.candidates],
        "candidates": cells.candidates.tolist(),
        "sizes": cells.sizes.tolist(),
        "scores": np.round(cells.scores, 6).tolist(),
        "baseline": np.round(scores.baseline.fold_scores, 6).tolist(),
        "by_row": [np.round(own, 3).tolist() for own in by_row],
    }


class Line:
    """A line of the file: the cells of a table, and their scores on the folds and on the rows kept apart."""

    def __init__(self, line: dict[str, Any]) -> None:
        self.table, self.split = line["table"], line["split"]
        self.n_rows, self.n_columns = line["rows"], line["columns"]
        self.sizes, self.candidates = np.array(line["sizes"]), np.array(line["candidates"])
        self.scores, self.baseline = np.array(line["scores"]), np.array(line["baseline"])
        self.by_row = np.array(line["by_row"])
        learners = np.array(line["learners"])[self.candidates]
        self.alike = (self.sizes[:, None] == self.sizes) & (learners[:, None] == learners)
        self.share = self.sizes / self.sizes.max()

    @property
    def all_columns(self) -> np.ndarray:
        """The cells with all columns."""
        return np.asarray(self.sizes == self.sizes.max())

    def chosen(self, trial: Trial, scores: np.ndarray, baseline: np.ndarray) -> int:
        """The cell that a rule takes, from scores (folds, cells) and baselines."""
        if trial.smooth:
            means = scores @ self.alike / self.alike.sum(axis=0)
            scores = (1 - trial.smooth) * scores + trial.smooth * means
        means = np.round(scores.mean(axis=0), 10)
        best = int(np.argmax(means))
        error = (scores[:, [best]] - scores).std(axis=0, ddof=1) * np.sqrt(1 / len(scores) + 0.25)
        left = trial.error * max(1 - means[best], 3 / self.n_rows)
        limit = min(trial.gain * max(means[best] - baseline.mean(), 0.0), left, trial.points)
        good = np.round(means[best] - means + trial.guard * error, 10) <= round(limit, 10)
        if trial.within:
            good &= self.candidates == self.candidates[best]
        good[best] = True
        return int(np.lexsort((-means, np.where(good, self.sizes, np.inf)))[0])

    def with_hindsight(self, points: float, reference: np.ndarray) -> int:
        """The fewest columns that lose at most so many points on the rows kept apart; of each size the best mean."""
        means, least = self.scores.mean(axis=(0, 1)), reference.mean() - points
        best = [int(np.argmax(np.where(self.sizes == size, means, -np.inf))) for size in np.unique(self.sizes)]
        return next((cell for cell in best if self.by_row[cell].mean() >= least), best[-1])

    def inside(self, trial: Trial) -> float:
        """Score of a rule on folds that it has not seen, minus that of the best learner with all columns there."""
        n_repeats, n_folds = self.baseline.shape
        gaps = []
        for repeat in range(n_repeats):
            for fold in range(n_folds):
                others = np.arange(n_folds) != fold
                scores = self.scores[repeat, others]
                whole = np.argmax(np.where(self.all_columns, scores.mean(axis=0), -np.inf))
                cell = self.chosen(trial, scores, self.baseline[repeat, others])
                gaps.append(self.scores[repeat, fold, cell] - self.scores[repeat, fold, whole])
        return float(np.mean(gaps))


def plain_of(path: Path) -> dict[tuple[str, int], np.ndarray]:
    """Row by row, the scores of the best plain pipeline on each table and split."""
    best: dict[tuple[str, int], dict[str, Any]] = {}
    for line in lines_of(path):
        if line["status"] == "ok" and line["procedure"].startswith("all columns"):
            key = line["table"], line["split"]
            best[key] = max(line, best.get(key, line), key=lambda each: each["claimed"])
    return {key: np.array(line["by_row"], dtype=float) for key, line in best.items()}


def reference_of(line: Line, plain: dict[tuple[str, int], np.ndarray]) -> np.ndarray:
    """Scores to compare with, row by row."""
    if (line.table, line.split) in plain:
        return plain[line.table, line.split]
    whole = np.where(line.all_columns, line.scores.mean(axis=(0, 1)), -np.inf)
    return np.asarray(line.by_row[int(np.argmax(whole))])


class Figures(NamedTuple):
    """What rules give on some tables: points, clear losses, median share of the columns, points inside the folds."""

    points: str
    losses: str
    share: str
    inside: str


def figures_of(lines: list[Line], plain: dict[Any, Any], trial: Trial | float) -> Figures:
    """Replay a rule, or hindsight of so many points; errors are over tables, after splits have been averaged."""
    points: dict[str, list[float]] = {}
    inside: dict[str, list[float]] = {}
    clear, shares = 0, []
    for line in lines:
        reference = reference_of(line, plain)
        if isinstance(trial, Trial):
            n_cells = len(line.sizes)
            cell = line.chosen(trial, line.scores.reshape(-1, n_cells), line.baseline.ravel())
            inside.setdefault(line.table, []).append(line.inside(trial))
        else:
            cell = line.with_hindsight(trial, reference)
        lost = reference - line.by_row[cell]
        clear += lost.mean() > max(0.02, 2 * lost.std(ddof=1) / np.sqrt(len(lost)))
        points.setdefault(line.table, []).append(-lost.mean())
        shares.append(line.share[cell])
    return Figures(_mean(points), f"{clear} of {len(lines)}", f"{np.median(shares):.0%}", _mean(inside))


def _mean(by_table: dict[str, list[float]]) -> str:
    means = [100 * np.mean(each) for each in by_table.values()]
    if len(means) < 2:
        return ""
    return f"{np.mean(means):+.1f} ± {np.std(means, ddof=1) / np.sqrt(len(means)):.1f}"


def frontier(lines: list[Line], plain: dict[Any, Any]) -> str:
    """The table of docs/presets.md on tables with up to 100 columns, by splits."""
    narrow = [line for line in lines if line.n_columns <= 100]
    parts = [[line for line in narrow if line.split in splits] for splits in SPLITS.values()]
    heads = [f"{name}: points | clear losses | columns" for name in SPLITS]
    found = [
        f"| may be lost | {' | '.join(heads)} | inside the folds |",
        "|---|" + "---|---|---|" * len(SPLITS) + "---|",
    ]
    tried: list[tuple[str, Trial | float]] = [(str(trial), trial) for trial in TRIALS]
    tried = [(f"**{name}**" if trial == RULE else name, trial) for name, trial in tried]
    tried += [(f"hindsight: {points:g}", points) for points in HINDSIGHT]
    for name, trial in tried:
        cells = [figures_of(part, plain, trial)[:3] for part in parts]
        of_all = figures_of(narrow, plain, trial).inside
        found.append(f"| {name} | {' | '.join(' | '.join(each) for each in cells)} | {of_all} |")
    return "\n".join(found) + "\n"


def wide(lines: list[Line], plain: dict[Any, Any]) -> str:
    """The same for tables with more columns."""
    many = [line for line in lines if line.n_columns > 100]
    found = ["| may be lost | points | clear losses | columns | inside the folds |", "|---|---|---|---|---|"]
    for trial in WIDE:
        name = f"**{trial}**" if trial == RULE else str(trial)
        found.append(f"| {name} | {' | '.join(figures_of(many, plain, trial))} |")
    return "\n".join(found) + "\n"


def raced(line: Line) -> tuple[float, bool]:
    """Share of the scores that racing leaves out, and whether the choice stays the same."""
    from fewer.study.answers._decision import Rule
    from fewer.study.work._race import out_of_race

    given_up = Rule(0.1, 1.0, 3 / line.n_rows)
    n_repeats, n_folds, n_cells = line.scores.shape
    left, n_scored = np.arange(n_cells), 3 * n_cells
    for done in range(3, n_folds + 1):
        rule = {"rule": given_up, "standard_errors": 2.0, "test_ratio": 1 / (n_folds - 1)}
        scores, stays = line.scores[0, :done][:, left], line.all_columns[left]
        left = left[~out_of_race(scores, line.baseline[0, :done], stays, **rule)]
        n_scored += len(left) * (1 if done < n_folds else n_folds * (n_repeats - 1))
    cell = line.chosen(RULE, line.scores.reshape(-1, n_cells), line.baseline.ravel())
    return 1 - n_scored / line.scores.size, cell in left


def main(
    tables: Annotated[str, typer.Option(help="Names, with commas between.")] = SMALL,
    split: Annotated[int, typer.Option(help="The third kept apart.")] = 0,
    preset: Annotated[str, typer.Option(help="The preset whose candidates are scored.")] = "quick",
    only_replay: Annotated[bool, typer.Option("--replay", help="Compare rules on what is there.")] = False,
    results: Annotated[Path, typer.Option(help="File of the scores.")] = RESULTS,
    presets: Annotated[Path, typer.Option(help="File of the plain pipelines.")] = PRESETS,
    page: Annotated[Path | None, typer.Option(help="Folder for the tables of the docs.")] = None,
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
                line = measured(table, split, preset)
        except UnavailableError as error:
            print(f"{table}: {error}")
            continue
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
        print(table, flush=True)
    lines, plain = [Line(line) for line in lines_of(results) if line["preset"] == preset], plain_of(presets)
    left_out, same = np.array([raced(line) for line in lines]).T
    print(
        f"racing leaves out {left_out.mean():.0%} of the scores ({left_out.min():.0%} to {left_out.max():.0%}); the "
        f"choice is the same on {int(same.sum())} of {len(lines)} tables and splits"
    )
    found = {"parsimony.md": frontier(lines, plain), "parsimony-wide.md": wide(lines, plain)}
    for name, text in found.items():
        print(text)
        if page is not None:
            (page / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
