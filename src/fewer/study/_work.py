"""The pieces of work of a study, each a pure function of the plan and the table.

Every piece has a key, under which the journal keeps what came of it. All chance comes from the plan's seed and the key,
and all arithmetic runs on one thread, so a piece gives the same bits wherever and whenever it runs.
"""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from zlib import crc32

import numpy as np

from fewer._estimators import columns_known_as
from fewer.evaluate import (
    ComponentScores,
    Fold,
    FoldScores,
    cross_index,
    outer_folds,
    randomize,
    score_components,
    score_sizes,
)
from fewer.study._candidates import Candidate
from fewer.study._errors import StudyError
from fewer.study._notes import Note, each_once, noted
from fewer.study._one_thread import one_thread
from fewer.study._plan import Plan
from fewer.study._preparation import fit_prepared, preparation, prepared_names, prepared_rows
from fewer.study._study_data import StudyData
from fewer.study._wording import counted

if TYPE_CHECKING:
    from fewer.io import Dataset

Null = Literal["labels", "features_within_class"]

# The first columns of an order are kept; nobody reads on, and 20,000 names in each row would fill the journal.
MOST_NAMES = 1000
_MOST_DRAWS = 1000


@dataclass(frozen=True)
class FoldWork:
    """Score one candidate on one fold of one repeat."""

    candidate: int
    repeat: int
    fold: int

    @property
    def key(self) -> str:
        """Name in the journal."""
        return f"fold/{self.candidate}/{self.repeat}/{self.fold}"


@dataclass(frozen=True)
class NullWork:
    """Score one candidate, all folds of one repeat, on a table that was randomised under a null hypothesis."""

    null: Null
    number: int
    candidate: int

    @property
    def key(self) -> str:
        """Name in the journal."""
        return f"null/{self.null}/{self.candidate}/{self.number}"


class Bench:
    """What all pieces of work share: the plan, the table, and the folds.

    Parameters
    ----------
    plan : Plan
        What to do.
    data : StudyData
        The table.
    repeats : list of list of Fold, default=None
        The folds of each repeat; by default those of the plan.
    """

    def __init__(self, plan: Plan, data: StudyData, repeats: list[list[Fold]] | None = None) -> None:
        self.plan = plan
        self.data = data
        self.repeats = table_folds(plan, data) if repeats is None else repeats
        self._last: tuple[tuple[int, int, bool], PreparedFold] | None = None

    def prepared(self, repeat: int, fold: int, *, counts: bool = False) -> "PreparedFold":
        """The rows of a fold, made ready, and kept for the next candidate."""
        if self._last is None or self._last[0] != (repeat, fold, counts):
            self.let_go()  # two folds of a large table need not be in memory at once
            rows = prepared_fold(self.data.dataset, self.repeats[repeat][fold], self.plan, counts=counts)
            self._last = (repeat, fold, counts), rows
        return self._last[1]

    def let_go(self) -> None:
        """Forget the rows that were kept."""
        self._last = None


class PreparedFold(NamedTuple):
    """Rows held in and rows held out, as numbers on one scale, the names of their columns, and what there was to note.

    The notes stay with the rows, because the rows serve many candidates and each is to have the same notes.
    """

    X_train: Any
    X_test: Any
    names: list[str]
    notes: list[Note]


def prepared_fold(dataset: "Dataset", fold: Fold, plan: Plan, *, counts: bool = False) -> PreparedFold:
    """The rows of a fold, made ready by what the rows held in say."""
    prepare = preparation(dataset, plan.impute, seed=plan.seed, counts=counts)
    with noted() as notes:
        X_train = fit_prepared(prepare, dataset.take(fold.train).X)
        X_test = prepared_rows(prepare, dataset.take(fold.test).X)
    return PreparedFold(X_train, X_test, prepared_names(prepare, dataset), notes)


def table_folds(plan: Plan, data: StudyData, *, n_repeats: int | None = None) -> list[list[Fold]]:
    """Folds of the table itself; an error with what to do if they cannot be made."""
    try:
        return study_folds(plan, data, data.dataset.y, plan.seed, n_repeats=n_repeats)
    except ValueError as error:
        reason = str(error).partition(". ")[0].rstrip(".")
        raise StudyError(
            f"The rows cannot be split into {plan.n_folds} folds ({plan.splitting}): {reason}. Give fewer folds "
            "(--folds N), or leave out the rows of classes that are too rare for them."
        ) from None


def study_folds(plan: Plan, data: StudyData, y: Any, seed: int, *, n_repeats: int | None = None) -> list[list[Fold]]:
    """Folds of each repeat, as the plan has them, for this target."""
    from sklearn.model_selection import TimeSeriesSplit

    in_time = plan.splitting == "in order of time"
    return outer_folds(
        TimeSeriesSplit(plan.n_folds) if in_time else plan.n_folds,
        np.empty((plan.n_rows, 1)),
        y,
        classifier=plan.classify,
        n_repeats=plan.n_repeats if n_repeats is None else n_repeats,
        groups=data.groups,
        random_state=seed,
    )


def seed_of(plan: Plan, *words: object) -> int:
    """A seed of its own for each piece of work."""
    return crc32(repr((plan.seed, *words)).encode())


def do_fold(work: FoldWork, bench: Bench) -> dict[str, Any]:
    """Scores of all sizes of a candidate on one fold, its columns in order, and what its fits warned of."""
    candidate = bench.plan.candidates[work.candidate]
    fold = bench.repeats[work.repeat][work.fold]
    with one_thread():
        rows = bench.prepared(work.repeat, work.fold, counts=candidate.for_counts)
        with noted() as notes, columns_known_as(rows.names):
            found = scored(candidate, rows, bench.data.dataset.y, fold, bench.plan, seed_of(bench.plan, work.key))
    if not np.isfinite(found["scores"]).all():
        raise ValueError(f"{bench.plan.scoring} is not defined on a test fold of {counted(len(fold.test), 'row')}")
    told = each_once([*rows.notes, *notes])
    return found | {"notes": told} if told else found


def do_null(work: NullWork, bench: Bench) -> dict[str, Any]:
    """Honest score of a candidate on a randomised table; what there is to warn of there, is not of the user's table."""
    bench.let_go()
    seed = seed_of(bench.plan, work.null, work.number)
    candidate = bench.plan.candidates[work.candidate]
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dataset, y, folds = randomised_with_folds(bench, work.null, seed)
        found = []
        for fold in folds:
            rows = prepared_fold(dataset, fold, bench.plan, counts=candidate.for_counts)
            found.append(scored(candidate, rows, y, fold, bench.plan, seed))
    return {"score": honest_score(found, makes_columns=candidate.makes_columns)}


def honest_score(found: list[dict[str, Any]], *, makes_columns: bool) -> float:
    """Cross-indexed score over the folds of one repeat, at the sizes that all of them have."""
    sizes, table = at_common_sizes(found)
    return cross_index(table, "A", choose_full=not makes_columns).score if sizes else float(table.mean())


def at_common_sizes(found: list[dict[str, Any]]) -> tuple[list[int], np.ndarray]:
    """Sizes below all columns that every fold has, and the scores (folds, sizes and all columns)."""
    common = sorted(set.intersection(*(set(fold["sizes"][:-1]) for fold in found)))
    by_size = [dict(zip(fold["sizes"], fold["scores"], strict=True)) for fold in found]
    table = [
        [scores[size] for size in (*common, fold["sizes"][-1])] for scores, fold in zip(by_size, found, strict=True)
    ]
    return common, np.array(table)


def scored(candidate: Candidate, rows: PreparedFold, y: Any, fold: Fold, plan: Plan, seed: int) -> dict[str, Any]:
    """What came of one candidate on one fold; the rows held out are seen by the score alone."""
    from sklearn.metrics import get_scorer

    X_train, X_test, names = rows.X_train, rows.X_test, rows.names
    learner = candidate.learner.learner(classify=plan.classify, seed=seed)
    if candidate.reducer is None:
        score = get_scorer(plan.scoring)(learner.fit(X_train, y[fold.train]), X_test, y[fold.test])
        return {"sizes": [int(X_train.shape[1])], "scores": [float(score)], "names": []}
    reducer = candidate.reducer.reducer(seed=seed)
    halves = X_train, y[fold.train], X_test, y[fold.test]
    found: FoldScores | ComponentScores
    if candidate.makes_columns:
        found = score_components(reducer, learner, *halves, sizes=candidate.sizes, scoring=plan.scoring)
        order = weightiest(found.weights)
    else:
        sizes = [size for size in candidate.sizes if size < X_train.shape[1]]
        found = score_sizes(reducer, learner, *halves, sizes=sizes, scoring=plan.scoring)
        order = columns_in_order(found.path, found.sizes)
    return {
        "sizes": [int(size) for size in found.sizes],
        "scores": [float(score) for score in found.scores],
        "names": [names[column] for column in order[:MOST_NAMES]],
    }


def weightiest(weights: np.ndarray) -> list[int]:
    """Columns by how much of them is in the new ones, most first; to ten digits, so that rounding decides nothing."""
    return [int(column) for column in np.argsort(-np.round(weights, 10), kind="stable")]


def columns_in_order(path: Any, sizes: list[int]) -> list[int]:
    """Columns of a path, best first; of a path without an order, by the smallest subset that holds a column."""
    if path.order is not None:
        return [int(column) for column in path.order]
    order: list[int] = []
    for size in sizes[:-1]:
        order += [int(column) for column in path.columns(size) if column not in set(order)]
    return order


def randomised_with_folds(bench: Bench, null: Null, seed: int) -> tuple["Dataset", np.ndarray, list[Fold]]:
    """A randomised table, its target, and folds that leave some rows of every class to learn from.

    Where rows are in order or in groups, a shuffled rare class may be missing from all rows of a training set. Such
    draws are put aside. The real table is not one of those, so the test stays exact.
    """
    rng = np.random.default_rng(seed)
    for draw in range(_MOST_DRAWS):
        dataset, y = randomised(bench.data, null, rng)
        try:
            return dataset, y, study_folds(bench.plan, bench.data, y, (seed + draw) % 2**31, n_repeats=1)[0]
        except ValueError as error:
            without_folds = error
    raise without_folds


def randomised(data: StudyData, null: Null, rng: np.random.Generator) -> tuple["Dataset", np.ndarray]:
    """The table and its target under a null hypothesis."""
    from dataclasses import replace

    dataset = data.dataset
    y = np.asarray(dataset.y)
    if null == "features_within_class":
        X, _ = randomize(dataset.X, y, null, rng, groups=None)
        return replace(dataset, X=X), y
    if data.groups is not None and _one_label_for_each_group(y, data.groups):
        return dataset, _labels_moved_by_group(y, data.groups, rng)
    _, permuted = randomize(dataset.X, y, "labels", rng, groups=data.groups)
    return dataset, permuted


def _one_label_for_each_group(y: np.ndarray, groups: np.ndarray) -> bool:
    pairs = {(group, label) for group, label in zip(groups.tolist(), y.tolist(), strict=True)}
    return len(pairs) == len(np.unique(groups))


def _labels_moved_by_group(y: np.ndarray, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each group gets the label of another one: rows of a group are not exchangeable with those of others."""
    first = np.unique(groups, return_index=True)[1]
    return y[first][rng.permutation(len(first))][groups]
