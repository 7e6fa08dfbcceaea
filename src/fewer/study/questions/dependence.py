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

from fewer._wording import counted, listed, signed
from fewer.study._final import FINAL, do_final
from fewer.study._plan import Plan
from fewer.study._preparation import fit_prepared, preparation, prepared_names
from fewer.study._question import Answer, Finished, Here, Payloads, Question, Verdict
from fewer.study._work import Bench, sample_of_rows, seed_of

if TYPE_CHECKING:
    from fewer.study._scores import AllScores

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
_MOST_LISTED = 3


def do_dependence(final: dict[str, Any], bench: Bench, scores: "AllScores") -> dict[str, Any]:
    """Edges between the first chosen columns of numbers: partial correlation, and share of the halves that show it."""
    columns = [each["name"] for each in final["columns"][: final["size"]] if each["name"] == each["source"]]
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
    """The stable edges, and the columns that stand in for one another."""
    found = done.work[DEPENDENCE]
    if "reason" in found:
        return DependenceAnswer(TITLE, Verdict.NOT_TESTED, f"Not tested: {found['reason']}.")
    nodes = set(found["columns"])
    groups = [[name for name in group if name in nodes] for group in done.final["groups"]]
    groups = [group for group in groups if len(group) > 1]
    stable = [edge for edge in found["edges"] if edge["frequency"] >= found["threshold"] - 1e-9]
    return DependenceAnswer(
        TITLE,
        Verdict.YES if stable else Verdict.NOT_SHOWN,
        _sentence(found, stable, groups),
        number=len(stable),
        how=_how(found, len(stable), done.plan),
        evidence={**found, "groups": groups},
    )


def _sentence(found: dict[str, Any], stable: list[dict[str, Any]], groups: list[list[str]]) -> str:
    n_nodes = len(found["columns"])
    n_possible = n_nodes * (n_nodes - 1) // 2
    which = f"the {n_nodes} columns" if n_nodes == found["n_chosen"] else f"{n_nodes} of {found['n_chosen']:,} columns"
    if stable:
        first = [f"{edge['from']} and {edge['to']} ({signed(edge['weight'])})" for edge in stable[:_MOST_LISTED]]
        more = f", and {len(stable) - len(first)} more" if len(stable) > len(first) else ""
        said = (
            f"{len(stable)} of {counted(n_possible, 'pair')} of {which} depend on each other given the others, on "
            f"{found['threshold']:.0%} of the halves of the rows or more: {', '.join(first)}{more}."
        )
    else:
        said = f"Not shown: no pair of {which} depends on each other on {found['threshold']:.0%} of the halves."
    return said + (f" Nearly duplicate: {'; '.join(listed(group, 5) for group in groups[:3])}." if groups else "")


def _how(found: dict[str, Any], n_stable: int, plan: Plan) -> str:
    bound = found["expected_false"]
    said = (
        f"at most {bound:.2g} of the stable pairs are false on average"
        if bound < n_stable
        else "with so many edges for so few columns, it says nothing about these pairs"
    )
    groups = " Rows of one group are not independent: the shares are too large." if plan.splitting == "grouped" else ""
    return (
        f"Computed on {found['n_rows']:,} rows, held-out rows included: it describes the chosen columns and says "
        "nothing about prediction. Numbers in brackets are partial correlations: what is left of the rank correlation "
        "of two columns when the other columns of the graph are held fixed. They are shrunken by the penalty of a "
        "sparse precision matrix, which the extended BIC chose. The same was done on "
        f"{2 * found['n_pairs']} random halves of the rows. The bound of stability selection: {said}. Columns that "
        f"differ between classes or follow the target may depend on each other for that reason alone.{groups}"
    )


def work(plan: Plan, scores: "AllScores", done: Payloads) -> Iterator[Here]:
    """The winner's columns, then their graph."""
    yield Here(FINAL, do_final)
    yield Here(DEPENDENCE, partial(do_dependence, done[FINAL]))


QUESTION = Question(DEPENDENCE, TITLE, answer, work, place=55)
