"""The pieces of work of a study, each a pure function of the plan and the table.

Every piece has a key, under which the journal keeps what came of it. All chance comes from the plan's seed and the key,
and all arithmetic runs on one thread, so a piece gives the same bits wherever and whenever it runs.
"""

import json
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from zlib import crc32

import numpy as np
from sklearn.utils import gen_batches

from fewer._estimators import columns_known_as, model_score
from fewer._kernels._one_thread import one_thread
from fewer._wording import counted
from fewer.engine import drop_pages, failure_from
from fewer.evaluate import (
    ComponentScores,
    Fold,
    FoldScores,
    outer_folds,
    score_components,
    score_sizes,
)
from fewer.extract import loadings, with_components
from fewer.study._errors import StudyError
from fewer.study.plan._candidates import Candidate
from fewer.study.plan._plan import Plan
from fewer.study.plan._recipes import BALANCED_SCORES, Counts, Recipe
from fewer.study.plan._scoring import scorer_named, scoring_of
from fewer.study.table._coded import words_of
from fewer.study.table._study_data import StudyData
from fewer.study.table._units import UnitPath, Units
from fewer.study.table._weights import fit_weighted, weighted_score
from fewer.study.work._notes import Note, each_once, noted
from fewer.study.work._preparation import (
    PreparedColumn,
    fit_prepared,
    preparation,
    prepared_columns,
    prepared_names,
    prepared_rows,
)

if TYPE_CHECKING:
    from fewer.io import Dataset

Null = Literal["labels", "features_within_class"]

# The first columns of an order are kept; nobody reads on, and 20,000 names in each row would fill the journal.
MOST_NAMES = 1000
# Of very many rows, each fold takes a sample: more of them change scores by less than the folds differ.
MOST_TRAINING_ROWS = 10_000
MOST_TEST_ROWS = 5_000
# A table of more cells is prepared again when it is needed again.
_CELLS_KEPT = 4_000_000
# Random rows of a mapped table are taken so many at a time.
_ROWS_AT_ONCE = 1000


@dataclass(frozen=True)
class FoldWork:
    """Score one candidate on one fold of one repeat, with the sizes that are still in the race; None for all."""

    candidate: int
    repeat: int
    fold: int
    sizes: tuple[int, ...] | None = None

    @property
    def key(self) -> str:
        """Name in the journal."""
        return f"fold/{self.candidate}/{self.repeat}/{self.fold}"


@dataclass(frozen=True)
class NullWork:
    """Score the reference procedure on a table that was randomised under a null hypothesis, or on the real one."""

    null: Null
    number: int | None

    @property
    def key(self) -> str:
        """Name in the journal."""
        return f"null/{self.null}/{'real' if self.number is None else self.number}"


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
        _ = data.dataset.has_missing  # counted here once, so that no worker goes through the whole table for it
        self._last: tuple[tuple[int, int, Counts, bool], PreparedFold] | None = None
        self._reduced: tuple[tuple[int, int, str, Counts], tuple[Any, list[Note]]] | None = None
        self._whole: tuple[Counts, PreparedTable] | None = None
        self.tested: Any = None  # rows of the permutation tests, which the first of them keeps for the others

    def prepared(self, repeat: int, fold: int, *, counts: Counts = None, impute: bool = True) -> "PreparedFold":
        """The rows of a fold, made ready, and kept for the next candidate; without imputing, NaN stays NaN."""
        impute = impute or not self.data.dataset.has_missing  # without missing values, the rows are the same
        if self._last is None or self._last[0] != (repeat, fold, counts, impute):
            self.let_go()  # two folds of a large table need not be in memory at once
            held = self.repeats[repeat][fold]
            rows = prepared_fold(self.data.dataset, held, self.plan, counts=counts, impute=impute)
            self._last = (repeat, fold, counts, impute), rows
        return self._last[1]

    def fitted_selector(self, work: FoldWork, rows: "PreparedFold") -> tuple[Any, list[Note]]:
        """The selector of a candidate, fitted on the rows held in, its notes; kept for the next learner.

        Its seed follows from the selector and the fold, so that all learners get the same columns.
        """
        from sklearn.frozen import FrozenEstimator

        candidate = self.plan.candidates[work.candidate]
        recipe = candidate.reducer
        assert recipe is not None
        name = json.dumps(recipe.to_dict(), sort_keys=True)
        where = work.repeat, work.fold, name
        if self._reduced is None or self._reduced[0] != (*where, candidate.for_counts):
            self._reduced = None
            y, weights = self.rows(self.repeats[work.repeat][work.fold].train)
            X = rows.X_train if rows.units is None else rows.units.choosable(rows.X_train, weights)
            with noted() as notes:
                selector = fit_weighted(recipe.reducer(seed=seed_of(self.plan, *where)), X, y, weights)
            self._reduced = (*where, candidate.for_counts), (FrozenEstimator(selector), notes)
        return self._reduced[1]

    def rows(self, which: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Target and weights of some rows."""
        weights = self.data.weights
        return np.asarray(self.data.dataset.y)[which], None if weights is None else weights[which]

    def whole(self, counts: Counts = None) -> "PreparedTable":
        """All rows, made ready; kept for the next who asks, unless the table is large."""
        if self._whole is None or self._whole[0] != counts:
            dataset = self.data.dataset
            prepare = preparation(dataset, self.plan.impute, seed=self.plan.seed, counts=counts)
            X = fit_prepared(prepare, dataset.X, keep=True)
            columns = prepared_columns(prepare, dataset)
            whole = PreparedTable(X, columns, units_of(self.plan, dataset, [column.source for column in columns]))
            if math.prod(dataset.shape) > _CELLS_KEPT:
                return whole
            self._whole = counts, whole
        return self._whole[1]

    def let_go(self) -> None:
        """Forget the rows of folds that were kept."""
        self._last = self._reduced = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": None, "_reduced": None, "_whole": None, "tested": None}


class PreparedTable(NamedTuple):
    """All rows as numbers on one scale, and what their columns are made of."""

    X: Any
    columns: list[PreparedColumn]
    units: Units | None


class PreparedFold(NamedTuple):
    """Rows held in and rows held out, as numbers on one scale, the names of their columns, and what there was to note.

    Units are None where every column is one of its own.

    The notes stay with the rows, because the rows serve many candidates and each is to have the same notes.
    """

    X_train: Any
    X_test: Any
    names: list[str]
    notes: list[Note]
    units: Units | None = None

    @property
    def n_units(self) -> int:
        """What sizes count."""
        return len(self.names) if self.units is None else self.units.n

    @property
    def unit_of(self) -> dict[str, str]:
        """The unit of each column that is not one of its own, by name."""
        if self.units is None:
            return {}
        pairs = zip(self.units.names, self.units.members, strict=True)
        return {self.names[place]: name for name, places in pairs for place in places}

    def unit_names(self, order: Iterable[int]) -> list[str]:
        """Names of these units."""
        names = self.names if self.units is None else self.units.names
        return [names[unit] for unit in order]

    def path(self, selector: Any) -> "UnitPath":
        """The subsets of a selector that was fitted on the columns to choose from."""
        return UnitPath.of(selector, self.units or Units.of(self.names, {}))

    def keep(self, columns: Any) -> "PreparedFold":
        """These columns alone."""
        names = [self.names[column] for column in columns]
        return PreparedFold(self.X_train[:, columns], self.X_test[:, columns], names, self.notes)

    def of_baseline(self) -> "PreparedFold":
        """The columns that are always in; all where there are none, as a baseline does not look at them."""
        return self if self.units is None or not len(self.units.always) else self.keep(self.units.always)


def prepared_fold(
    dataset: "Dataset", fold: Fold, plan: Plan, *, counts: Counts = None, impute: bool = True
) -> PreparedFold:
    """The rows of a fold, prepared by a pipeline that is fitted on the training rows."""
    prepare = preparation(dataset, plan.impute, missing=None if impute else False, seed=plan.seed, counts=counts)
    with noted() as notes:
        X_train = fit_prepared(prepare, rows_of(dataset, fold.train).X)
        X_test = prepared_rows(prepare, rows_of(dataset, fold.test).X)
    if not has_units(plan, dataset):
        return PreparedFold(X_train, X_test, prepared_names(prepare, dataset), notes)
    columns = prepared_columns(prepare, dataset)
    units = units_of(plan, dataset, [column.source for column in columns])
    return PreparedFold(X_train, X_test, [column.name for column in columns], notes, units)


def rows_of(dataset: "Dataset", rows: np.ndarray) -> "Dataset":
    """The table of these rows, as ``dataset.take``.

    Of a large table in mapped memory, which workers share, only the pages of some rows are in memory at a time.
    """
    if not isinstance(dataset.X, np.ndarray) or dataset.X.size <= _CELLS_KEPT:
        return dataset.take(rows)
    X = np.empty((len(rows), dataset.n_columns), dtype=dataset.X.dtype)
    for some in gen_batches(len(rows), _ROWS_AT_ONCE):
        X[some] = dataset.X[rows[some]]
        drop_pages()
    return replace(dataset.keep([]).take(rows), X=X, columns=dataset.columns, kinds=dataset.kinds)


def has_units(plan: Plan, dataset: "Dataset") -> bool:
    """Whether some columns enter together, or are always in."""
    return bool(words_of(dataset) or plan.column_groups or plan.always)


def units_of(plan: Plan, dataset: "Dataset", sources: list[str]) -> Units | None:
    """What sizes count: columns of the table with their categories, or groups of them; None for single columns."""
    if not has_units(plan, dataset):
        return None
    groups = {column: name for name, columns in plan.column_groups.items() for column in columns}
    return Units.of(sources, groups, plan.always)


def table_folds(plan: Plan, data: StudyData, *, n_repeats: int | None = None) -> list[list[Fold]]:
    """Folds of the table itself, of very many rows a sample; an error with what to do if they cannot be made."""
    labels = y = np.asarray(data.dataset.y)
    if plan.classify:  # whole numbers are compared much faster than words
        y = np.unique(labels, return_inverse=True)[1]
    try:
        repeats = study_folds(plan, data, y, plan.seed, n_repeats=n_repeats)
        return [[_sampled(fold, plan, y, number) for number, fold in enumerate(folds)] for folds in repeats]
    except ValueError as error:
        reason = str(error).partition(". ")[0].rstrip(".")
        try:  # the same once more, for a message with the name of the class
            study_folds(plan, data, labels, plan.seed, n_repeats=n_repeats)
        except ValueError as named:
            reason = str(named).partition(". ")[0].rstrip(".")
        raise StudyError(
            f"The rows cannot be split into {plan.n_folds} folds ({plan.splitting}): {reason}. Use fewer folds "
            "(--folds N), or remove the rows of rare classes."
        ) from None


def _sampled(fold: Fold, plan: Plan, y: np.ndarray, number: int) -> Fold:
    """The fold with as many rows as a choice among candidates needs."""
    rng = np.random.default_rng(seed_of(plan, "rows of a fold", number))
    return Fold(
        sample_of_rows(fold.train, y, MOST_TRAINING_ROWS, rng, classify=plan.classify),
        sample_of_rows(fold.test, y, MOST_TEST_ROWS, rng, classify=plan.classify),
    )


def sample_of_rows(
    rows: np.ndarray, y: np.ndarray, most: int, rng: np.random.Generator, *, classify: bool
) -> np.ndarray:
    """These rows, or a random sample of them in their order; of a rare class, 100 rows at least."""
    if len(rows) <= most:
        return rows
    if not classify:
        return np.sort(rng.permutation(rows)[:most])
    parts = [rng.permutation(rows[y[rows] == label]) for label in np.unique(y[rows])]
    return np.sort(np.concatenate([part[: max(most * len(part) // len(rows), 100)] for part in parts]))


def study_folds(plan: Plan, data: StudyData, y: Any, seed: int, *, n_repeats: int | None = None) -> list[list[Fold]]:
    """Folds of each repeat, as the plan has them, for this target."""
    from sklearn.model_selection import TimeSeriesSplit

    in_time = plan.splitting == "in order of time"
    return outer_folds(
        TimeSeriesSplit(plan.n_folds) if in_time else plan.n_folds,
        np.empty((len(y), 1)),
        y,
        classifier=plan.classify,
        n_repeats=plan.n_repeats if n_repeats is None else n_repeats,
        groups=data.groups,
        random_state=seed,
    )


def seed_of(plan: Plan, *words: object) -> int:
    """A seed of its own for each piece of work."""
    return crc32(repr((plan.seed, *words)).encode())


def finished(
    function: Callable[[Any, Bench], dict[str, Any]], works: Iterable[Any], bench: Bench
) -> dict[str, tuple[dict[str, Any], float]]:
    """What came of each piece of work, under its key, with the seconds that it took.

    What fails once fails again, as all pieces are pure; a candidate that cannot be run must not stop others.
    """
    from fewer.evaluate.fast import shared_work

    done = {}
    with shared_work():
        for work in works:
            started = time.perf_counter()
            try:
                payload = function(work, bench)
            except Exception as error:
                payload = {"failure": str(failure_from(error))}
            done[work.key] = payload, time.perf_counter() - started
    return done


def do_fold(work: FoldWork, bench: Bench) -> dict[str, Any]:
    """Scores of a candidate on one fold at some sizes, its columns in order, and what its fits warned of."""
    plan, candidate = bench.plan, bench.plan.candidates[work.candidate]
    fold = bench.repeats[work.repeat][work.fold]
    seed = seed_of(plan, work.key)
    with one_thread():
        rows = bench.prepared(work.repeat, work.fold, counts=candidate.for_counts, impute=not candidate.takes_missing)
        with columns_known_as(rows.names):
            reducer: Any = candidate.reducer and candidate.reducer.reducer(seed=seed)
            of_reducer: list[Note] = []
            if candidate.reducer is not None and not candidate.makes_columns:
                reducer, of_reducer = bench.fitted_selector(work, rows)
        with noted() as notes, columns_known_as(rows.names):
            found = scored(candidate, reducer, rows, bench, fold, seed, sizes=work.sizes)
    if not np.isfinite(found["scores"]).all():
        raise ValueError(f"{plan.scoring} is not defined on a test fold of {counted(len(fold.test), 'row')}")
    all_notes = each_once([*rows.notes, *of_reducer, *notes])
    return found | {"notes": all_notes} if all_notes else found


def learner_of(candidate: Candidate, plan: Plan, y: Any, seed: int) -> Any:
    """The learner of a candidate, not fitted; classes weigh alike where the score counts them so."""
    classes = len(np.unique(y)) if plan.classify and plan.scoring in BALANCED_SCORES else 0
    recipe = Recipe("ridge") if candidate.is_baseline and plan.always else candidate.learner
    return recipe.learner(classify=plan.classify, classes=classes, seed=seed)


def at_common_sizes(found: list[dict[str, Any]]) -> tuple[list[int], np.ndarray]:
    """Sizes below all columns that every fold has, and the scores (folds, sizes and all columns)."""
    common = sorted(set.intersection(*(set(fold["sizes"][:-1]) for fold in found)))
    by_size = [dict(zip(fold["sizes"], fold["scores"], strict=True)) for fold in found]
    table = [
        [scores[size] for size in (*common, fold["sizes"][-1])] for scores, fold in zip(by_size, found, strict=True)
    ]
    return common, np.array(table)


def scored(
    candidate: Candidate,
    reducer: Any,
    rows: PreparedFold,
    bench: Bench,
    fold: Fold,
    seed: int,
    *,
    sizes: tuple[int, ...] | None = None,
) -> dict[str, Any]:
    """What came of one candidate on one fold; the rows held out are seen by the score alone."""
    plan, (y_train, weights), (y_test, _) = bench.plan, bench.rows(fold.train), bench.rows(fold.test)
    learner, scoring = learner_of(candidate, plan, bench.data.dataset.y, seed), scoring_of(plan.scoring)
    sizes = candidate.sizes if sizes is None else sizes
    if reducer is None:
        table = rows.of_baseline() if candidate.is_baseline else rows
        return {"sizes": [rows.n_units], "scores": [_score(learner, table, bench, fold)], "names": []}
    halves = rows.X_train, y_train, rows.X_test, y_test
    found: FoldScores | ComponentScores
    scores: Any
    if candidate.makes_columns and weights is None and not plan.always:
        found = score_components(reducer, learner, *halves, sizes=sizes, scoring=scoring, full_set=False)
        tried, scores = found.sizes, found.scores
        order = weightiest(found.weights if rows.units is None else rows.units.norms(found.weights))
    elif candidate.makes_columns:
        tried, scores, order = _scored_components(reducer, learner, rows, bench, fold, sizes)
    elif rows.units is None and weights is None:
        found = score_sizes(reducer, learner, *halves, sizes=sizes, scoring=scoring, full_set=False)
        tried, scores, order = found.sizes, found.scores, columns_in_order(found.path, found.sizes)
    else:
        path = rows.path(reducer)
        tried, order = path.sizes(sizes), path.order
        if weights is None:
            frozen, ends = path.units.frozen(order)
            wanted = [ends[size - 1] for size in tried]
            scores = score_sizes(frozen, learner, *halves, sizes=wanted, scoring=scoring, full_set=False).scores
        else:
            scores = [_score(learner, rows.keep(path.columns(size)), bench, fold) for size in tried]
    return {
        "sizes": [int(size) for size in tried],
        "scores": [float(score) for score in scores],
        "names": rows.unit_names(order[:MOST_NAMES]),
    }


def _score(learner: Any, rows: PreparedFold, bench: Bench, fold: Fold) -> float:
    """Score of a learner on the rows held out, fitted on those held in, with the weights of both."""
    from sklearn.base import clone

    model = fit_weighted(clone(learner), rows.X_train, *bench.rows(fold.train))
    return _held_out(model, rows, bench, fold)


def _held_out(model: Any, rows: PreparedFold, bench: Bench, fold: Fold) -> float:
    y, weights = bench.rows(fold.test)
    if weights is None:
        return model_score(model, rows.X_test, y, scoring_of(bench.plan.scoring))
    return weighted_score(scorer_named(bench.plan.scoring), model, rows.X_test, y, weights)


def _scored_components(
    reducer: Any, learner: Any, rows: PreparedFold, bench: Bench, fold: Fold, sizes: Iterable[int]
) -> tuple[list[int], list[float], list[int]]:
    """Sizes and scores of new columns beside those that are always in, and the units by their weight in them."""
    from sklearn.base import clone
    from sklearn.pipeline import make_pipeline

    units = rows.units or Units.of(rows.names, {})
    tried, scores, weights = [], [], np.zeros(len(rows.names))
    for size in sizes:
        if size >= min(rows.X_train.shape[0], len(units.others)):
            continue
        model = make_pipeline(units.maker(with_components(clone(reducer), size)), clone(learner))
        fit_weighted(model, rows.X_train, *bench.rows(fold.train))
        tried.append(int(size))
        scores.append(_held_out(model, rows, bench, fold))
        new = model[:-1].transform(rows.X_train)[:, len(units.always) :]
        weights[units.others] = np.linalg.norm(loadings(rows.X_train[:, units.others], new), axis=1)
    return tried, scores, weightiest(units.norms(weights))


def weightiest(weights: np.ndarray) -> list[int]:
    """Columns by how much of them is in the new ones, most first; to ten digits, so that rounding decides nothing."""
    return [int(column) for column in np.argsort(-np.round(weights, 10), kind="stable")]


def columns_in_order(path: Any, sizes: list[int]) -> list[int]:
    """Columns of a path, best first; of a path without an order, by the smallest subset that contains a column."""
    if path.order is not None:
        return [int(column) for column in path.order]
    order: list[int] = []
    for size in sizes:
        order += [int(column) for column in path.columns(size) if column not in set(order)]
    return order
