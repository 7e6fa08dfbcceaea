"""What depends on what: edges between the chosen columns, how often halves show them, and duplicates."""

import json
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from fewer import run_study
from fewer.datasets import make_graph_gaussian
from fewer.io import Dataset
from fewer.report import print_study
from fewer.study import Verdict
from fewer.study.questions.dependence import do_dependence

CHAIN = [(f"c{place}", f"c{place + 1}") for place in range(5)]


def chain_table(n_rows=400, seed=0):
    """A chain of six columns, an almost exact copy of the first one, and a target that all of them tell of."""
    X = make_graph_gaussian(n_rows, 6, structure="chain", random_state=seed).X
    rng = np.random.default_rng(seed)
    columns = {f"c{place}": column for place, column in enumerate(X.T)}
    columns["copy"] = X[:, 5] + 0.05 * rng.normal(size=n_rows)
    return pl.DataFrame(columns | {"target": X.sum(axis=1) + 0.1 * rng.normal(size=n_rows)})


def graph_of(frame, columns, *, target="target"):
    """The work alone, for columns that are taken as chosen."""
    dataset = Dataset.from_frame(frame, target=target)
    bench = SimpleNamespace(plan=SimpleNamespace(seed=0, impute="median"), data=SimpleNamespace(dataset=dataset))
    chosen = [{"features": [name], "sources": [name.partition(" = ")[0]]} for name in columns]
    return do_dependence({"columns": chosen, "size": len(chosen)}, bench, None)


def stable_pairs(found):
    return {tuple(sorted((edge["from"], edge["to"]))) for edge in found["edges"] if edge["frequency"] >= 0.9}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    effort = {"preset": "quick", "methods": ["pearson"], "learners": ["ridge"], "n_folds": 3, "n_repeats": 1}
    out = tmp_path_factory.mktemp("dependence") / "study"
    return run_study(chain_table(), "target", **effort, sizes=[6], n_permutations=0, n_jobs=1, out=out)


def test_a_chain_is_found_whatever_the_order_and_monotone_scale_of_its_columns():
    frame = chain_table().drop("copy")
    names = [f"c{place}" for place in (3, 0, 5, 1, 4, 2)]
    assert stable_pairs(graph_of(frame, names)) == set(CHAIN)
    bent = frame.with_columns(pl.col("c1").exp(), pl.col("c4") ** 3)
    assert stable_pairs(graph_of(bent, names)) == set(CHAIN)


def test_independent_columns_have_no_stable_edge():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({f"x{place}": column for place, column in enumerate(rng.normal(size=(9, 200)))})
    found = graph_of(frame, [f"x{place}" for place in range(8)], target="x8")
    assert stable_pairs(found) == set()


def test_missing_values_and_rare_values_do_not_stop_it():
    frame = chain_table().with_columns(
        c2=pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise(pl.col("c2")),
        rare=(pl.int_range(pl.len()) == 5).cast(pl.Float64),
    )
    found = graph_of(frame, ["c0", "c1", "c2", "rare"])
    assert found["columns"] == ["c0", "c1", "c2"]
    assert ("c0", "c1") in stable_pairs(found)


def test_at_most_sixty_columns_and_two_thousand_rows_are_looked_at():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"x{place}": column for place, column in enumerate(rng.normal(size=(71, 2100)))})
    found = graph_of(frame, [f"x{place}" for place in range(70)], target="x70")
    assert (len(found["columns"]), found["n_chosen"], found["n_rows"]) == (60, 70, 2000)


@pytest.mark.parametrize(
    ("n_rows", "columns", "reason"),
    [(400, ["c0"], "numbers"), (400, ["c0", "w = a", "w = b"], "numbers"), (12, ["c0", "c1"], "too small")],
)
def test_without_columns_of_numbers_or_rows_it_is_not_tested(n_rows, columns, reason):
    assert reason in graph_of(chain_table(n_rows), columns)["reason"]


def test_terminal_report_and_json_say_the_same(study, capsys):
    answer = study.findings.dependence
    assert answer.verdict is Verdict.YES
    assert answer.number == len(stable_pairs(answer.evidence))
    assert answer.evidence["groups"] == [["c5", "copy"]] or answer.evidence["groups"] == [["copy", "c5"]]
    assert "Nearly duplicate: " in answer.sentence
    assert "says nothing about prediction" in answer.how
    assert json.loads(study.findings.to_json())["dependence"]["sentence"] == answer.sentence
    print_study(study.findings)
    assert "What depends on what?" in capsys.readouterr().out
    page = study.folder.report.read_text(encoding="utf-8")
    assert 'id="dependence"' in page
    assert "Dots of one colour are nearly duplicate columns" in page
