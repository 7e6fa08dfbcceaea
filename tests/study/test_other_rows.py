"""A study's model on other rows: score beside promise, drift; and two studies side by side."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from fewer.cli import app
from fewer.facade import run_study
from fewer.io import Dataset
from fewer.study import (
    Journal,
    StudyError,
    apply_model,
    column_profiles,
    compare_studies,
    drift_of,
    promise_of,
    score_model,
)
from fewer.study._drift import _tail_p_value, are_profiles
from fewer.study._other_rows import interval_of_difference

EFFORT = {"preset": "quick", "n_folds": 4, "n_repeats": 1, "n_permutations": 0, "n_jobs": 1, "learners": ["ridge"]}


def blood(n_rows=120, seed=0, shift=1.5):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_rows) % 2)
    columns = {f"x{place}": rng.normal(size=n_rows) + (shift * y if place < 2 else 0) for place in range(6)}
    colour = np.where(rng.random(n_rows) < 0.8, np.where(y, "red", "blue"), "grey")
    names = [f"sample {place:03d}" for place in range(n_rows)]
    return pl.DataFrame({"name": names, **columns, "colour": colour, "state": np.where(y, "ill", "well")})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("studies")


@pytest.fixture(scope="module")
def study(folder):
    blood().write_csv(folder / "blood.csv")
    return run_study(folder / "blood.csv", "state", out=folder / "one", methods=["anova"], parsimony=0.0, **EFFORT)


@pytest.fixture(scope="module")
def promise(study):
    with Journal.read(study.folder.journal) as journal:
        return promise_of(journal)


def fewer(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_identifiers_are_kept_and_can_be_chosen(study):
    new = Dataset.from_frame(blood(seed=1), target="state")
    assert apply_model(study.model, new).columns[0] == "name"
    assert apply_model(study.model, new)["name"].to_list() == blood()["name"].to_list()
    assert "name" not in apply_model(study.model, new, identifiers=[]).columns
    with pytest.raises(ValueError, match="there is no column 'nam'"):
        apply_model(study.model, new, identifiers=["nam"])


def test_unseen_categories_are_reported_once_by_column(study):
    assert "colour" in study.columns_
    new = blood(seed=1).with_columns(colour=pl.lit("mauve"))
    with pytest.warns(UserWarning, match="Categories") as caught:
        apply_model(study.model, Dataset.from_frame(new, target="state"))
    assert [str(each.message) for each in caught] == [
        "Categories that the study did not have, treated as its rare categories or as none: 'colour' (mauve)."
    ]


def test_rows_like_those_of_the_study_score_as_promised_without_drift(study, promise):
    assert promise.score == pytest.approx(study.findings.learnable.evidence["score"])
    found = score_model(study.model, Dataset.from_frame(blood(300, seed=1), target="state"), promise)
    assert found.verdict == "as promised"
    assert found.drifted == []
    assert found.interval[0] < found.score < found.interval[1]
    again = apply_model(study.model, Dataset.from_frame(blood(300, seed=1), target="state"))
    recall = [
        (again.filter(truth == label)["predicted_state"] == label).mean()
        for truth in [blood(300, seed=1)["state"]]
        for label in ("ill", "well")
    ]
    assert found.score == pytest.approx(np.mean(recall))  # classes are of equal size


def test_rows_of_another_kind_score_lower_and_what_moved_is_named(study, promise):
    moved = blood(300, seed=1, shift=0.0).with_columns(
        x0=pl.col("x0") + 4, colour=pl.lit("mauve"), x5=pl.col("x5") + 100
    )
    with pytest.warns(UserWarning, match="mauve"):
        found = score_model(study.model, Dataset.from_frame(moved, target="state"), promise)
    assert found.verdict == "lower"
    assert {"x0", "colour"} <= set(found.drifted)
    assert "x5" not in found.drifted or "x5" in study.findings.chosen
    by_name = {each.name: each for each in found.drift}
    assert by_name["colour"].unseen == ("mauve",)
    assert by_name["colour"].n_unseen == 300
    assert by_name["x0"].n_above > 50
    assert "rows above the range of the study" in repr(found)


def test_rows_of_unknown_classes_are_counted_and_a_target_is_needed(study, promise):
    odd = blood(100, seed=1).with_columns(
        state=pl.when(pl.int_range(100) < 7).then(pl.lit("dead")).otherwise(pl.col("state"))
    )
    found = score_model(study.model, Dataset.from_frame(odd, target="state"), promise)
    assert (found.n_rows, found.classes_left_out) == (93, {"dead": 7})
    with pytest.raises(StudyError, match="A score needs the target 'state'"):
        score_model(study.model, Dataset.from_frame(odd.drop("state")), promise)


def test_few_rows_are_scored_but_not_tested(study, promise):
    found = score_model(study.model, Dataset.from_frame(blood(8, seed=2), target="state"), promise)
    assert found.verdict == "not tested"


def test_numbers_are_scored_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    table = Dataset.from_frame({**{f"x{j}": X[:, j] for j in range(4)}, "y": X[:, 1] + rng.normal(size=150)}, "y")
    study = run_study(table.take(range(90)), methods=["pearson"], **EFFORT)
    with Journal.read(study.folder.journal) as journal:
        found = score_model(study.model, table.take(range(90, 150)), promise_of(journal))
    assert found.verdict == "as promised"
    assert found.scoring == "r2"


def test_the_command_scores_with_json_and_an_exit_code(study, folder):
    blood(300, seed=1).write_csv(folder / "same.csv")
    good = fewer("apply", study.folder.path, folder / "same.csv", "--score", "--json")
    assert good.exit_code == 0, good.output
    assert json.loads(good.stdout)["verdict"] == "as promised"
    blood(300, seed=1, shift=0.0).with_columns(colour=pl.lit("grey")).write_csv(folder / "bad.csv")
    bad = fewer("apply", study.folder.path, folder / "bad.csv", "--score")
    assert bad.exit_code == 3, bad.output
    assert bad.stdout.startswith("The model scores lower than the study promised.")
    unused = next(name for name in blood().columns if name not in {*study.columns_, "name"})
    kept = fewer("apply", study.folder.path, folder / "same.csv", "--id", f"{unused},name").stdout
    assert kept.startswith(f"{unused},name,")


def test_drift_tests_keep_their_level_and_see_a_change():
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(200):
        old, new = (Dataset.from_frame({"a": rng.normal(size=n), "b": rng.poisson(2, n)}) for n in (60, 40))
        alarms += any(each.drifted for each in drift_of(new, column_profiles(old)))
    assert alarms <= 20  # 10 expected at most; 200 x 0.05 + 3 standard deviations is 19.2
    drift = drift_of(Dataset.from_frame({"a": rng.normal(size=80), "b": rng.poisson(6, 80)}), column_profiles(old))
    assert [each.name for each in drift if each.drifted] == ["b"]


def test_the_probability_of_a_tail_is_exact():
    """The two largest of 3 + 2 values are the new ones in 1 of 10 orders."""
    assert _tail_p_value(2, 3, 2) == pytest.approx(1 / 10)
    assert _tail_p_value(0, 3, 2) == 1


def test_missing_values_alone_are_drift():
    x = np.random.default_rng(0).normal(size=200)
    found = drift_of(
        Dataset.from_frame({"x": np.where(x > 0, np.nan, x)}), column_profiles(Dataset.from_frame({"x": x}))
    )
    assert found[0].drifted
    assert found[0].missing == pytest.approx((x > 0).mean())


@pytest.mark.parametrize(
    "data", [[], {"x": 1}, {"x": {"missing": 0}}, {"x": {"missing": 0, "range": [0, 1], "edges": [1], "counts": [1]}}]
)
def test_profiles_from_a_file_are_checked(data):
    assert not are_profiles(data)


def test_the_interval_of_a_difference_is_that_of_normal_theory_for_symmetric_ones():
    difference, (low, high) = interval_of_difference(0.8, (0.7, 0.9), 0.6, (0.5, 0.7))
    assert (low, high) == pytest.approx((difference - 0.1 * np.sqrt(2), difference + 0.1 * np.sqrt(2)))


def test_two_studies_of_one_table_are_compared(study, folder):
    run_study(folder / "blood.csv", "state", out=folder / "two", methods=["relieff"], parsimony=0.0, **EFFORT)
    found = compare_studies(folder / "one", folder / "two")
    assert found.same_table
    assert found.same_folds
    assert set(found.in_both) == set(found.chosen[0]) & set(found.chosen[1])
    assert found.difference == pytest.approx(found.scores[1] - found.scores[0])
    itself = compare_studies(folder / "one", folder / "one")
    assert itself.jaccard == 1
    assert itself.difference == 0
    result = fewer("compare", folder / "one", folder / "two", "--json")
    assert json.loads(result.stdout)["jaccard"] == found.jaccard
    assert "columns in both:" in fewer("compare", folder / "one", folder / "two").stdout


def test_scores_of_other_folds_are_compared_as_independent(study, folder):
    options = EFFORT | {"n_folds": 3}
    run_study(folder / "blood.csv", "state", out=folder / "three", methods=["anova"], **options)
    found = compare_studies(folder / "one", folder / "three")
    assert not found.same_folds
    assert found.differing_options["n_folds"] == (4, 3)
    low, high = found.difference_interval
    assert low < found.difference < high
