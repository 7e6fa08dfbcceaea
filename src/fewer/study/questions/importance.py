"""How much does each column matter? Permutation importance on held-out rows, and the vote of all selection methods.

On each fold, the winner with the shipped number of columns is fitted on the rows held in, with the columns that it
chooses there. The importance of a column on that fold is

    s - (1/K) sum_k s_k(column)

with s its score on the rows held out, and s_k that with the column permuted among them (Breiman 2001; Fisher, Rudin
and Dominici 2019); zero where the fold does not choose the column. Rows that were trained on never count.

In the vote, every selection method ranks the columns on the training rows of every fold; a column that a list does not
reach has the mean of the ranks that are left.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from fewer._kernels._one_thread import one_thread
from fewer.evaluate import corrected_interval
from fewer.study._final import FINAL, do_final
from fewer.study._plan import Plan
from fewer.study._predictions import Cell, fitted_cell
from fewer.study._question import Answer, Finished, Here, Payloads, Pieces, Question, Verdict
from fewer.study._scores import AllScores, CandidateScores
from fewer.study._work import Bench, seed_of

TITLE = "How much does each column matter?"
_MOST_COLUMNS = 30
N_PERMUTATIONS = 5
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

    @property
    def key(self) -> str:
        """Name in the journal."""
        return f"importance/{self.repeat}/{self.fold}"


def importance_works(plan: Plan, scores: AllScores, final: dict[str, Any]) -> list[ImportanceWork]:
    """One piece for each fold of each repeat."""
    names = tuple(each["name"] for each in final["columns"][: min(final["size"], _MOST_COLUMNS)])
    cell = scores.winner.number, scores.size
    return [
        ImportanceWork(repeat, fold, cell, names) for repeat in range(plan.n_repeats) for fold in range(plan.n_folds)
    ]


def do_importance(work: ImportanceWork, bench: Bench) -> dict[str, Any]:
    """By how much the score falls when a column is permuted among the rows held out."""
    truth = np.asarray(bench.data.dataset.y)[bench.repeats[work.repeat][work.fold].test]
    rng = np.random.default_rng(seed_of(bench.plan, work.key))
    with one_thread():
        model, X, names = fitted_cell(bench, work.repeat, work.fold, work.cell)
        place = {name: column for column, name in enumerate(names)}
        columns = [place[name] for name in work.names if name in place]
        drops = iter(permutation_importance(model, X, truth, columns, bench.plan.scoring, rng))
    return {"importance": [float(next(drops)) if name in place else 0.0 for name in work.names]}


def permutation_importance(
    model: Any, X: Any, y: np.ndarray, columns: list[int], scoring: str, rng: np.random.Generator
) -> np.ndarray:
    """Score of a fitted model minus its mean score with each of the columns permuted, all by the same orders."""
    from sklearn.metrics import get_scorer

    scorer, n = get_scorer(scoring), len(y)
    orders = [rng.permutation(n) for _ in range(1 if n >= _MANY_ROWS else N_PERMUTATIONS)]
    copies = [(column, order) for column in columns for order in orders]
    at_once = max(1, _CELLS // max(1, X.shape[0] * X.shape[1]))
    scores = []
    for start in range(0, len(copies), at_once):
        permuted = [_permuted(X, *copy) for copy in copies[start : start + at_once]]
        replayed = _Replayed(model, sparse.vstack(permuted, "csr") if sparse.issparse(X) else np.concatenate(permuted))
        scores += [scorer(replayed, np.arange(k * n, (k + 1) * n)[:, None], y) for k in range(len(permuted))]
    return scorer(model, X, y) - np.reshape(scores, (len(columns), len(orders))).mean(axis=1)


def _permuted(X: Any, column: int, order: np.ndarray) -> Any:
    """The rows with one of their columns in another order."""
    if sparse.issparse(X):
        changed = X.tolil(copy=True)
        changed[:, column] = X.tocsr()[order][:, [column]]
        return changed
    changed = np.array(X)
    changed[:, column] = X[order, column]
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
                self._said[name] = method(self._X)
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
    return answered(done.plan, list(works[0].names), pieces, done.scores, done.final)


def answered(
    plan: Plan,
    names: list[str],
    pieces: list[dict[str, Any]],
    scores: AllScores,
    final: dict[str, Any],
) -> Answer:
    """The answer from the pieces of all folds."""
    failed = next((piece["failure"] for piece in pieces if "failure" in piece), None)
    if failed is not None:
        return Answer(Verdict.NOT_TESTED, reason=failed)
    folds = np.array([piece["importance"] for piece in pieces]).reshape(plan.n_repeats, plan.n_folds, -1)
    columns: list[dict[str, Any]] = [
        {
            "rank": rank + 1,
            "name": name,
            "importance": float(folds[..., rank].mean()),
            "interval": corrected_interval(folds[..., rank], plan.confidence, scores.test_ratio),
        }
        for rank, name in enumerate(names)
    ]
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
        "voted": voted,
        "n_methods": len(lists),
        "n_first": n_first,
        "n_agreed": len(
            {each["name"] for each in voted[:n_first]} & {each["name"] for each in final["columns"][:n_first]}
        ),
    }
    verdict = Verdict.YES if any(each["interval"][0] > 0 for each in columns) else Verdict.NOT_SHOWN
    return Answer(verdict, columns[0]["importance"], columns[0]["interval"], evidence)


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
