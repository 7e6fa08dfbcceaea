"""What depends on what? A sparse graph of the chosen columns, and how often halves of the rows show each edge.

An edge joins two columns that are correlated when all other columns of the graph are held fixed: its partial
correlation is not zero. The graph is that of the sparse precision matrix of rank correlations, at the penalty with the
smallest extended BIC.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer._wording import counted
from fewer.study.answers._question import Answer, Finished, Here, Payloads, Question, Verdict
from fewer.study.model._final import FINAL, do_final
from fewer.study.plan._plan import Plan
from fewer.study.work._preparation import fit_prepared, preparation, prepared_names
from fewer.study.work._work import Bench, sample_of_rows, seed_of

if TYPE_CHECKING:
    from fewer.study.answers._scores import AllScores

TITLE = "What depends on what?"
DEPENDENCE = "dependence"
# A picture of more is not readable.
_MOST_COLUMNS = 60
# Halves of fewer say little about any pair.
_FEWEST_ROWS = 20
# More rows change frequencies by little, and ranks of them take time.
_MOST_ROWS = 2_000
# Rows that differ from the most frequent value of their column; with fewer of them it may be constant on a half.
_FEWEST_OTHERS = 10
_PAIRS = 20
# An edge is stable that is found on this share of the halves.
_STABLE = 0.9


def do_dependence(final: dict[str, Any], bench: Bench, scores: "AllScores") -> dict[str, Any]:
    """Edges between the first chosen columns of numbers: partial correlation, and share of the halves that show it."""
    chosen = final["columns"][: final["size"]]
    columns = [name for each in chosen for name in each["features"] if name in each["sources"]]
    dataset, seed = bench.data.dataset, seed_of(bench.plan, DEPENDENCE)
    if dataset.n_rows < _FEWEST_ROWS:
        return {"reason": f"halves of {counted(dataset.n_rows, 'row')} are too small"}
    if len(columns) < 2:
        return {"reason": "fewer than two of the chosen columns are numbers"}
    rng, everything = np.random.default_rng(seed), np.arange(dataset.n_rows)
    kept = dataset.keep(columns[:_MOST_COLUMNS]).take(
        sample_of_rows(everything, everything, _MOST_ROWS, rng, classify=False)
    )
    prepare = preparation(kept, bench.plan.impute, seed=bench.plan.seed)
    X = fit_prepared(prepare, kept.X, keep=True)
    X = X.toarray() if kept.is_sparse else np.asarray(X, dtype=float)
    varying = [place for place, values in enumerate(X.T) if len(X) - _most_frequent(values) >= _FEWEST_OTHERS]
    if len(varying) < 2:
        return {"reason": "fewer than two of the chosen columns vary enough"}
    names = prepared_names(prepare, kept)
    found = {"n_chosen": len(columns), "n_rows": len(X), "n_pairs": _PAIRS, "threshold": _STABLE}
    try:
        return found | _graph(X[:, varying], [names[place] for place in varying], seed)
    except ValueError as error:  # constant on a half after all, or without an end to the Newton steps
        return {"reason": str(error).rstrip(".")}


def _most_frequent(values: np.ndarray) -> int:
    """How many rows have the most frequent value."""
    return int(np.unique(values, return_counts=True)[1].max())


def _graph(X: np.ndarray, names: list[str], seed: int) -> dict[str, Any]:
    """The graph at the penalty of the extended BIC, and how often the same penalty gives each edge on halves."""
    from fewer.graph import SparsePrecision, SparsePrecisionCV, edge_stability

    alpha = SparsePrecisionCV(covariance="spearman", n_alphas=15, eps=0.1).fit(X).alpha_
    n_possible = len(names) * (len(names) - 1) // 2
    found = edge_stability(
        SparsePrecision(alpha, covariance="spearman"),
        X,
        threshold=_STABLE,
        n_edges_each=n_possible,
        n_pairs=_PAIRS,
        random_state=seed,
    )
    place = {name: number for number, name in enumerate(found.feature_names)}
    edges = [
        {"from": names[a], "to": names[b], "weight": weight, "frequency": float(found.frequencies[a, b])}
        for a, b, weight in ((place[a], place[b], weight) for a, b, weight in found.estimator.edges_.rows())
    ]
    return {
        "columns": names,
        "alpha": float(alpha),
        "expected_false": min(found.expected_false, float(n_possible)),
        "edges": sorted(edges, key=lambda edge: (-edge["frequency"], -abs(edge["weight"]))),
    }


@dataclass(frozen=True)
class DependenceAnswer(Answer):
    """Which chosen columns depend on one another; shown if it could be asked."""

    @property
    def is_shown(self) -> bool:
        """Whether there is a graph."""
        return bool(self.evidence)


def answer(done: Finished) -> DependenceAnswer:
    """The stable edges, and the nearly duplicate columns."""
    found = done.work[DEPENDENCE]
    if "reason" in found:
        return DependenceAnswer(Verdict.NOT_TESTED, reason=found["reason"])
    nodes = set(found["columns"])
    groups = [[name for name in group if name in nodes] for group in done.final["groups"]]
    groups = [group for group in groups if len(group) > 1]
    stable = [edge for edge in found["edges"] if edge["frequency"] >= found["threshold"] - 1e-9]
    verdict = Verdict.YES if stable else Verdict.NOT_SHOWN
    return DependenceAnswer(verdict, len(stable), evidence={**found, "groups": groups})


def work(plan: Plan, scores: "AllScores", done: Payloads) -> Iterator[Here]:
    """The winner's columns, then their graph."""
    yield Here(FINAL, do_final)
    yield Here(DEPENDENCE, partial(do_dependence, done[FINAL]))


QUESTION = Question(DEPENDENCE, TITLE, answer, work, place=55)
