"""A study's model on other rows: score beside promise, drift; and two studies side by side."""

import json

import numpy as np
import polars as pl
import pytest
from scipy.special import expit
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
from fewer.study.model._calibration_check import calibration_check
from fewer.study.model._drift import _tail_p_value, are_profiles
from fewer.study.model._other_rows import interval_of_difference
from tolerances import rounding

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


def test_a_category_that_the_study_did_not_have_is_drift_where_it_is_frequent():
    rng = np.random.default_rng(0)
    words = np.array(["red", "blue", "green"])[rng.integers(0, 3, 360)]
    old = column_profiles(Dataset.from_frame({"colour": words[:300]}))
    (found,) = drift_of(Dataset.from_frame({"colour": np.r_[["violet"] * 4, words[304:]]}), old)
    assert (found.drifted, found.unseen, found.n_unseen) == (True, ("violet",), 4)
    (found,) = drift_of(Dataset.from_frame({"colour": np.r_[["violet"], words[301:]]}), old)
    assert (found.drifted, found.n_unseen) == (False, 1)
    # Many rare categories, of which some are new in every sample.
    alarms = 0
    for _ in range(300):
        rare = rng.permutation(np.repeat([f"c{k}" for k in range(40)], rng.integers(1, 4, 40)))
        profiles = column_profiles(Dataset.from_frame({"c": rare[:-20]}))
        alarms += drift_of(Dataset.from_frame({"c": rare[-20:]}), profiles)[0].drifted
    assert alarms <= 26  # 15 expected at most; 300 x 0.05 + 3 standard deviations is 26.3


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


def _chances(n, seed, slope=1.0, shift=0.0):
    """Probabilities, and classes whose true logits are a slope times theirs plus a shift."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=1.5, size=n)
    truth = np.where(rng.uniform(size=n) < expit(slope * logits + shift), "yes", "no")
    return np.column_stack([expit(-logits), expit(logits)]), truth


def test_a_check_of_calibration_finds_the_slope_and_the_shift_that_were_put_in():
    for slope, shift, verdict in ((1, 0, "calibrated"), (0.5, 0, "too extreme"), (2, 0, "not extreme enough")):
        p, truth = _chances(4000, 0, slope, shift)
        found = calibration_check(["no", "yes"], p, truth, np.ones(4000), 0.99)
        assert found.verdict == verdict
        assert found.slope_interval[0] < slope < found.slope_interval[1]
        assert found.slope_interval[1] - found.slope_interval[0] < 0.5
    found = calibration_check(["no", "yes"], *_chances(4000, 1, 1, 0.5), np.ones(4000), 0.99)
    assert found.verdict == "too low"
    assert found.difference < -0.05


def test_intervals_of_calibration_cover_as_often_as_they_say():
    n_covered = 0
    for seed in range(200):
        p, truth = _chances(300, seed)
        low, high = calibration_check(["no", "yes"], p, truth, np.ones(300), 0.9).slope_interval
        n_covered += low < 1 < high
    assert 165 <= n_covered <= 195  # 180 expected, 3.5 standard errors either way


def test_weights_in_a_check_of_calibration_are_repeated_rows():
    p, truth = _chances(200, 2)
    weights = np.random.default_rng(2).integers(1, 4, 200)
    again = np.repeat(np.arange(200), weights)
    ours = calibration_check(["no", "yes"], p, truth, weights.astype(float), 0.95)
    theirs = calibration_check(["no", "yes"], p[again], truth[again], np.ones(len(again)), 0.95)
    assert ours.slope == pytest.approx(theirs.slope, rel=1e-6)
    assert ours.difference == pytest.approx(theirs.difference, abs=rounding(len(again)))


def test_several_classes_are_checked_against_the_rest_each():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], size=3000)
    truth = np.array(["a", "b", "c"])[(rng.uniform(size=(3000, 1)) > p.cumsum(axis=1)[:, :2]).sum(axis=1)]
    found = calibration_check(["a", "b", "c"], p, truth, np.ones(3000), 0.99)
    assert (found.verdict, found.difference) == ("calibrated", None)
    assert calibration_check(["b", "a", "c"], p, truth, np.ones(3000), 0.99).verdict == "too extreme"


def test_other_rows_come_with_their_calibration_in_words_json_and_a_picture(study, promise):
    found = score_model(study.model, Dataset.from_frame(blood(300, seed=1), target="state"), promise)
    assert found.calibration.slope_interval[0] < found.calibration.slope < found.calibration.slope_interval[1]
    assert "slope, 1 if calibrated" in repr(found)
    assert found.to_dict()["calibration"]["slope_interval"] == list(found.calibration.slope_interval)
    bins = found.to_dict()["calibration"]["bins"]
    assert sum(bins["rows"]) == pytest.approx(300)
    assert [len(trace.x) for trace in found.plot().data] == [2, len(bins["predicted"])]
    flipped = blood(300, seed=1).with_columns(state=pl.Series(blood(300, seed=1)["state"].to_numpy()[::-1]))
    assert score_model(study.model, Dataset.from_frame(flipped, target="state"), promise).calibration.slope < 0.5


def test_weights_of_other_rows_are_used_or_said_to_be_missing(tmp_path):
    def weighted(n_rows, seed):
        rng = np.random.default_rng(seed)
        return blood(n_rows, seed=seed).with_columns(w=rng.integers(1, 4, n_rows))

    study = run_study(weighted(90, 0), "state", weights="w", out=tmp_path / "study", methods=["anova"], **EFFORT)
    with Journal.read(study.folder.journal) as journal:
        promise = promise_of(journal)
    table = weighted(200, 1)
    again = np.repeat(np.arange(200), table["w"].to_numpy())
    found = score_model(study.model, Dataset.from_frame(table, target="state"), promise)
    repeated = score_model(study.model, Dataset.from_frame(table[again].drop("w"), target="state"), promise)
    assert found.score == pytest.approx(repeated.score)
    assert found.calibration.slope == pytest.approx(repeated.calibration.slope, rel=1e-4)
    assert (found.weights, repeated.without_weights) == ("w", "w")
    assert "rows have the weights of w" in repr(found)
    assert "have no column 'w'" in repr(repeated)


def test_a_single_row_keeps_its_identifier(study, tmp_path):
    one = Dataset.from_frame(blood(seed=1).head(1).drop("state"))
    assert apply_model(study.model, one)["name"].to_list() == ["sample 000"]


def test_rows_of_one_class_are_scored(study, folder):
    blood(60, seed=1).filter(pl.col("state") == "ill").write_csv(folder / "ill.csv")
    result = fewer("apply", study.folder.path, folder / "ill.csv", "--score", "--json")
    found = json.loads(result.stdout)
    predicted = apply_model(study.model, Dataset.from_frame(pl.read_csv(folder / "ill.csv").drop("state")))
    assert found["score"] == pytest.approx((predicted["predicted_state"] == "ill").mean())
    assert found["calibration"] is None
    assert result.exit_code in (0, 3)


@pytest.mark.parametrize(
    ("change", "words", "said"),
    [
        (lambda table: table.rename({"x0": "X0"}), [], "needs: 'x0'. Did you mean 'X0'?"),
        (
            lambda table: table.with_columns(x0=pl.lit("3 mm")),
            [],
            "contains strings in this table, such as '3 mm' in row 1.",
        ),
        (lambda table: table.drop("state"), ["--score"], "there is no column 'state'"),
        (
            lambda table: table.with_columns(state=pl.col("state").str.to_uppercase()),
            ["--score"],
            "has no row of a class that the model knows ('ill', 'well'): 'state' is 'ILL', 'WELL'.",
        ),
        (lambda table: table, ["--score", "--id", "name"], "--score prints a score and writes no predictions"),
    ],
)
def test_what_does_not_fit_is_named_with_the_way_out(study, folder, change, words, said):
    change(blood(60, seed=1)).write_csv(folder / "odd.csv")
    result = fewer("apply", study.folder.path, folder / "odd.csv", *words)
    assert result.exit_code == 2
    assert said in result.output
