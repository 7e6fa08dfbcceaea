"""How much does each column matter? Permutation importance on held-out rows, and the vote of all selection methods.

On each fold, the winner with the shipped number of columns is fitted on the rows held in, with the columns that it
chooses there. The importance of a column on that fold is

    s - (1/K) sum_k s_k(column)

with s its score on the rows held out, and s_k that with the column permuted among them (Breiman 2001; Fisher, Rudin
and Dominici 2019); zero where the fold does not choose the column. Rows that were trained on never count.

A column that others can replace has little importance, or, where a model shares its weight out among all of them, too
little each. So columns of a redundancy group have two figures more: the importance of the whole group, permuted
together, and the *conditional* importance of each column given the others of its group (Strobl and others 2008; Chamma,
Engemann and Thirion 2023). For the latter, the column is regressed on the others on the training rows, and residuals
are permuted among the rows held out,

    x' = E(x | others) + permuted (x - E(x | others)),

so that x' is as dependent on the others as x is.

In the vote, every selection method ranks the columns on the training rows of every fold; a column that a list does not
reach has the mean of the ranks that are left.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from fewer._estimators import model_score, predicted
from fewer._kernels._one_thread import one_thread
from fewer.evaluate import corrected_interval
from fewer.study.answers._question import Answer, Finished, Here, Payloads, Pieces, Question, Verdict
from fewer.study.answers._scores import AllScores, CandidateScores
from fewer.study.model._final import FINAL, do_final
from fewer.study.plan._plan import Plan
from fewer.study.plan._scoring import scorer_named, scoring_of
from fewer.study.table._weights import weighted_score
from fewer.study.work._predictions import Cell, fitted_cell
from fewer.study.work._work import Bench, seed_of

TITLE = "How much does each column matter?"
_MOST_COLUMNS = 30
N_PERMUTATIONS = 5
# With so many folds, more of them narrow an interval little, because their training rows are mostly the same.
_ENOUGH_FOLDS = 10
# With so many held-out rows, one permutation is as good as several.
_MANY_ROWS = 1000
# Permuted copies of the rows held out are predicted together, up to so many cells.
_CELLS = 2_000_000
_FIRST = 10


@dataclass(frozen=True)
class ImportanceWork:
    """Permute some columns in the rows held out on one fold."""

    repeat: int
    fold: int
    cell: Cell
    names: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...] = ()

    @property
    def key(self) -> str:
        """Name in the journal."""
        return f"importance/{self.repeat}/{self.fold}"


def importance_works(plan: Plan, scores: AllScores, final: dict[str, Any]) -> list[ImportanceWork]:
    """One piece for each fold of the first repeats."""
    names = tuple(each["name"] for each in final["columns"][: min(final["size"], _MOST_COLUMNS)])
    cell = scores.winner.number, scores.size
    groups = tuple(tuple(name for name in group if name in names) for group in final["groups"])
    groups = tuple(group for group in groups if len(group) > 1)
    return [
        ImportanceWork(repeat, fold, cell, names, groups)
        for repeat in range(min(plan.n_repeats, -(-_ENOUGH_FOLDS // plan.n_folds)))
        for fold in range(plan.n_folds)
    ]


def do_importance(work: ImportanceWork, bench: Bench) -> dict[str, Any]:
    """By how much the score falls when a column is permuted among the rows held out; and groups, and given others."""
    truth, weights = bench.rows(bench.repeats[work.repeat][work.fold].test)
    rng, scoring = np.random.default_rng(seed_of(bench.plan, work.key)), bench.plan.scoring
    with one_thread():
        model, X, names, X_train, _ = fitted_cell(bench, work.repeat, work.fold, work.cell)
        candidate = bench.plan.candidates[work.cell[0]]
        impute = not candidate.takes_missing
        unit_of = bench.prepared(work.repeat, work.fold, counts=candidate.for_counts, impute=impute).unit_of
        places: dict[str, list[int]] = {}
        for column, name in enumerate(names):
            places.setdefault(unit_of.get(name, name), []).append(column)
        columns = [places[name] for name in work.names if name in places]
        drops = iter(permutation_importance(model, X, truth, columns, scoring, rng, weights))
        found: dict[str, Any] = {"importance": [float(next(drops)) if name in places else 0.0 for name in work.names]}
        if work.groups:
            chosen = [[column for name in group for column in places.get(name, [])] for group in work.groups]
            there = [group for group in chosen if group]
            whole = iter(permutation_importance(model, X, truth, there, scoring, rng, weights))
            given = conditional_importance(model, X_train, X, truth, there, scoring, rng, weights)
            found["groups"] = [float(next(whole)) if group else 0.0 for group in chosen]
            found["conditional"] = {names[column]: float(drop) for column, drop in given.items()}
    return found


def permutation_importance(
    model: Any,
    X: Any,
    y: np.ndarray,
    columns: Sequence[int | list[int]],
    scoring: str,
    rng: np.random.Generator,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Score of a fitted model minus its mean score with each of the columns permuted, all by the same orders.

    A list of columns is permuted together.
    """
    orders = _orders(len(y), rng)
    changes = [(column, partial(_in_order, X, column, order)) for column in columns for order in orders]
    scores = _changed_scores(model, X, y, changes, scoring, weights)
    return _score(model, X, y, scoring, weights) - np.reshape(scores, (len(columns), len(orders))).mean(axis=1)


def conditional_importance(
    model: Any,
    X_train: Any,
    X: Any,
    y: np.ndarray,
    groups: Sequence[Sequence[int]],
    scoring: str,
    rng: np.random.Generator,
    weights: np.ndarray | None = None,
) -> dict[int, float]:
    """Score of a fitted model minus its mean score with the residuals of a column, given its group, permuted.

    The regression of each column on the others of its group is linear, and fitted on the training rows.
    """
    orders, changes, columns = _orders(len(y), rng), [], []
    for group in groups:
        for column in group if len(group) > 1 else []:
            others = [each for each in group if each != column]
            expected = _linear_prediction(X_train, X, column, others)
            residual = _dense(X, [column])[:, 0] - expected
            columns.append(column)
            changes += [(column, partial(_with_residuals, expected, residual, order)) for order in orders]
    if not columns:
        return {}
    scores = np.reshape(_changed_scores(model, X, y, changes, scoring, weights), (len(columns), len(orders)))
    return dict(zip(columns, _score(model, X, y, scoring, weights) - scores.mean(axis=1), strict=True))


def _linear_prediction(X_train: Any, X: Any, column: int, others: list[int]) -> np.ndarray:
    """A column predicted from others by least squares on the training rows."""
    known, target = _dense(X_train, others), _dense(X_train, [column])[:, 0]
    means, middle = known.mean(axis=0), target.mean()
    coefficients = np.linalg.lstsq(known - means, target - middle, rcond=1e-10)[0]
    return middle + (_dense(X, others) - means) @ coefficients


def _dense(X: Any, columns: list[int]) -> np.ndarray:
    some = X[:, columns]
    return some.toarray() if sparse.issparse(some) else np.asarray(some, dtype=float)


def _orders(n: int, rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.permutation(n) for _ in range(1 if n >= _MANY_ROWS else N_PERMUTATIONS)]


def _in_order(X: Any, column: int | list[int], order: np.ndarray) -> Any:
    columns = [column] if isinstance(column, (int, np.integer)) else column
    return X[order][:, columns] if sparse.issparse(X) else X[np.ix_(order, np.array(columns))]


def _with_residuals(expected: np.ndarray, residual: np.ndarray, order: np.ndarray) -> np.ndarray:
    return (expected + residual[order])[:, None]


def _score(model: Any, X: Any, y: np.ndarray, scoring: str, weights: np.ndarray | None, scorer: Any = None) -> float:
    if weights is None:
        return model_score(model, X, y, scoring_of(scoring), scorer)
    return weighted_score(scorer or scorer_named(scoring), model, X, y, weights)


def _changed_scores(
    model: Any,
    X: Any,
    y: np.ndarray,
    copies: "Sequence[tuple[int | list[int], Callable[[], Any]]]",
    scoring: str,
    weights: np.ndarray | None,
) -> list[float]:
    """Scores on copies of the rows, each with some columns replaced."""
    scorer, n = scorer_named(scoring), len(y)
    at_once = max(1, _CELLS // max(1, X.shape[0] * X.shape[1]))
    scores = []
    for start in range(0, len(copies), at_once):
        permuted = [_changed(X, *copy) for copy in copies[start : start + at_once]]
        replayed = _Replayed(model, sparse.vstack(permuted, "csr") if sparse.issparse(X) else np.concatenate(permuted))
        rows = [np.arange(k * n, (k + 1) * n)[:, None] for k in range(len(permuted))]
        scores += [_score(replayed, some, y, scoring, weights, scorer) for some in rows]
    return scores


def _changed(X: Any, columns: int | list[int], values: "Callable[[], Any]") -> Any:
    """The rows with other values in some of their columns."""
    columns = [columns] if isinstance(columns, (int, np.integer)) else columns
    changed = X.tolil(copy=True) if sparse.issparse(X) else np.array(X)
    changed[:, columns] = values()
    return changed


class _Replayed:
    """A fitted model that has seen all rows at once, for a scorer that asks for some of them by their numbers.

    A hundred trees take as long for one row as for a thousand.
    """

    def __init__(self, model: Any, X: Any) -> None:
        self._model, self._X = model, X
        self._said: dict[str, np.ndarray] = {}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._model, name)
        return self._of_rows(name, found) if name in ("predict", "predict_proba", "decision_function") else found

    def _of_rows(self, name: str, method: Any) -> Any:
        def replay(rows: np.ndarray) -> np.ndarray:
            if name not in self._said:
                self._said[name] = predicted(self._model, self._X) if name == "predict" else method(self._X)
            return self._said[name][rows[:, 0]]

        replay.__name__ = name  # by which scikit-learn knows what the values are
        return replay


def work(plan: Plan, scores: AllScores, done: Payloads) -> Iterator[Pieces | Here]:
    """The winner on all rows, whose columns are permuted on the folds."""
    yield Here(FINAL, do_final)
    works = importance_works(plan, scores, done[FINAL])
    yield Pieces("Permuting columns", do_importance, [(piece,) for piece in works])


def answer(done: Finished) -> Answer:
    """Importance of the chosen columns, and the vote."""
    works = importance_works(done.plan, done.scores, done.final)
    pieces = [done.work[piece.key] for piece in works]
    return answered(done.plan, list(works[0].names), pieces, done.scores, done.final, works[0].groups)


def answered(
    plan: Plan,
    names: list[str],
    pieces: list[dict[str, Any]],
    scores: AllScores,
    final: dict[str, Any],
    groups: Sequence[Sequence[str]] = (),
) -> Answer:
    """The answer from the pieces of all folds."""
    failed = next((piece["failure"] for piece in pieces if "failure" in piece), None)
    if failed is not None:
        return Answer(Verdict.NOT_TESTED, reason=failed)
    folds = np.array([piece["importance"] for piece in pieces]).reshape(-1, plan.n_folds, len(names))
    columns: list[dict[str, Any]] = [
        {
            "rank": rank + 1,
            "name": name,
            "importance": float(folds[..., rank].mean()),
            "interval": corrected_interval(folds[..., rank], plan.confidence, scores.test_ratio),
        }
        for rank, name in enumerate(names)
    ]
    for each in columns:
        each |= _given_others(each["name"], plan, pieces, scores.test_ratio)
    columns.sort(key=lambda each: -round(each["importance"], 10))
    selects = scores.winner.reduces and final["n_made"] is None
    n_first = final["size"] if selects else min(_FIRST, final["n_prepared"])
    lists = _lists(scores.reduced)
    voted = vote(lists, n_first, final["n_prepared"])[: max(_MOST_COLUMNS, n_first)]
    in_rank = {each["name"]: rank for rank, each in enumerate(final["columns"], start=1)}
    for each in voted:
        each["winner_rank"] = in_rank.get(each["name"])
    evidence = {
        "columns": columns,
        "n_chosen": final["size"],
        "groups": _groups(plan, groups, pieces, scores.test_ratio),
        "voted": voted,
        "n_methods": len(lists),
        "n_first": n_first,
        "n_agreed": len(
            {each["name"] for each in voted[:n_first]} & {each["name"] for each in final["columns"][:n_first]}
        ),
    }
    verdict = Verdict.YES if any(each["interval"][0] > 0 for each in columns) else Verdict.NOT_SHOWN
    return Answer(verdict, columns[0]["importance"], columns[0]["interval"], evidence)


def _given_others(name: str, plan: Plan, pieces: list[dict[str, Any]], test_ratio: float) -> dict[str, Any]:
    """Conditional importance of a column of a redundancy group; nothing for others."""
    if not any(name in piece.get("conditional", {}) for piece in pieces):
        return {}
    found = np.array([piece.get("conditional", {}).get(name, 0.0) for piece in pieces])
    folds = found.reshape(-1, plan.n_folds)
    return {
        "conditional": float(folds.mean()),
        "conditional_interval": corrected_interval(folds, plan.confidence, test_ratio),
    }


def _groups(
    plan: Plan, groups: Sequence[Sequence[str]], pieces: list[dict[str, Any]], test_ratio: float
) -> list[dict[str, Any]]:
    """Importance of each redundancy group as a whole."""
    folds = np.array([piece.get("groups", []) for piece in pieces])
    folds = folds.reshape(len(pieces) // plan.n_folds, plan.n_folds, len(groups))
    return [
        {
            "columns": list(group),
            "importance": float(folds[..., place].mean()),
            "interval": corrected_interval(folds[..., place], plan.confidence, test_ratio),
        }
        for place, group in enumerate(groups)
    ]


def _lists(reduced: list[CandidateScores]) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Columns in order on each fold, for each selection method once: all learners get the same."""
    return {each.labels[0]: each.orders for each in reversed(reduced) if not each.makes_columns}


def vote(lists: dict[str, tuple[tuple[str, ...], ...]], n_first: int, n_columns: int) -> list[dict[str, Any]]:
    """Columns by their mean rank over all methods and folds, with the share of lists that have them among the first.

    Examples
    --------
    >>> [(each["name"], each["mean_rank"], each["frequency"]) for each in vote({"f": (("a", "b"), ("b",))}, 1, 3)]
    [('b', 1.5, 0.5), ('a', 1.75, 0.5)]
    """
    orders = [order for of_folds in lists.values() for order in of_folds]
    ranks: dict[str, float] = {}
    times: dict[str, int] = {}
    left = [(len(order) + 1 + n_columns) / 2 for order in orders]  # mean of the ranks that a list does not give
    for order, rest in zip(orders, left, strict=True):
        for rank, name in enumerate(order, start=1):
            ranks[name] = ranks.get(name, 0.0) + rank - rest
            times[name] = times.get(name, 0) + (rank <= n_first)
    found: list[dict[str, Any]] = [
        {"name": name, "mean_rank": (sum(left) + gain) / len(orders), "frequency": times[name] / len(orders)}
        for name, gain in ranks.items()
    ]
    return sorted(found, key=lambda each: (round(each["mean_rank"], 10), each["name"]))


QUESTION = Question("importance", TITLE, answer, work, place=55)
