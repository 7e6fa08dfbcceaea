"""Columns that enter together, and columns that are always in: sizes, ranking, model, and no row held out is seen."""

import json
import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from fewer.facade import Study, run_study
from fewer.io import Dataset
from fewer.study import Plan, StudyError, apply_model, make_plan, study_data
from fewer.study.table._units import UnitPath, Units
from fewer.study.work._predictions import fitted_cell
from fewer.study.work._reference import randomised
from fewer.study.work._work import Bench

EFFORT = {"preset": "quick", "methods": ["anova"], "learners": ["ridge"], "n_folds": 4, "n_repeats": 1}


class Scored:
    """A selector with these scores."""

    def __init__(self, scores):
        self.scores_ = np.array(scores, dtype=float)


class Ranked:
    """A selector with an order only."""

    def __init__(self, *order):
        self.ranking_ = np.argsort(order) + 1


def frame(n_rows=120, seed=0):
    """Sex and age decide, proxies follow sex, x0 adds to them."""
    rng = np.random.default_rng(seed)
    sex, age, x = rng.integers(0, 2, n_rows), rng.normal(size=n_rows), rng.normal(size=(n_rows, 4))
    proxies = 2 * sex[:, None] + 0.3 * rng.normal(size=(n_rows, 3))
    z = 3 * sex + age + 2 * x[:, 0] + 0.3 * rng.normal(size=n_rows)
    columns = {"sex": np.array(["f", "m"])[sex], "age": age} | {f"p{j}": proxies[:, j] for j in range(3)}
    columns |= {f"x{j}": x[:, j] for j in range(4)} | {
        "colour": np.array(["red", "green", "blue"])[rng.integers(0, 3, n_rows)]
    }
    return pl.DataFrame(columns | {"state": np.where(z > np.median(z), "ill", "well")})


def data_of(table):
    return study_data(Dataset.from_frame(table, target="state"))


GROUPS = {"proxies": ["p0", "p1", "p2"], "noise": ["x1", "x2"]}
OPTIONS = [
    pytest.param({"always": ["sex", "age"]}, id="always"),
    pytest.param({"column_groups": GROUPS}, id="groups"),
    pytest.param({"always": ["sex"], "column_groups": GROUPS}, id="both"),
]


def test_groups_are_ranked_by_their_mean_score():
    units = Units.of(["a", "b", "c", "d"], {"a": "g", "b": "g"})
    path = UnitPath.of(Scored([5, 0, 3, 1]), units)
    assert [units.names[unit] for unit in path.order] == ["c", "g", "d"]
    assert path.scores.tolist() == [2.5, 3, 1]
    assert path.columns(2).tolist() == [0, 1, 2]
    assert path.sizes([1, 2, 3, 9]) == [1, 2]


def test_one_useful_category_is_enough_for_its_column():
    units = Units.of(["colour", "colour", "colour", "b", "c"], {"b": "g", "c": "g"})
    path = UnitPath.of(Scored([0, 4, 0, 3, 1]), units)
    assert [units.names[unit] for unit in path.order] == ["colour", "g"]
    assert path.scores.tolist() == [4, 2]
    by_place = UnitPath.of(Ranked(1, 3, 4, 0, 2), units)  # the best category first; b, c second and third from it
    assert [units.names[unit] for unit in by_place.order] == ["colour", "g"]


def test_one_category_costs_no_work_for_each_number_and_learner():
    """The units of a fold are found once; the path of each learner is made of whole arrays."""

    def calls(n_numbers):
        units = Units.of(["colour", "colour", *(f"number {j}" for j in range(n_numbers))], {})
        selector = Scored(np.random.default_rng(0).random(n_numbers + 2))
        UnitPath.of(selector, units)
        seen = []
        sys.setprofile(lambda frame, event, arg: seen.append(event) if event in ("call", "c_call") else None)
        try:
            UnitPath.of(selector, units)
        finally:
            sys.setprofile(None)
        return len(seen)

    assert calls(400) - calls(40) < 50


def test_without_scores_groups_are_ranked_by_their_mean_place():
    units = Units.of(["a", "b", "c", "d"], {"a": "g", "b": "g"})
    path = UnitPath.of(Ranked(2, 0, 1, 3), units)  # c, a, b, d
    assert [units.names[unit] for unit in path.order] == ["c", "g", "d"]
    assert path.scores is None


def test_columns_that_are_always_in_are_no_choice_and_lead_every_subset():
    units = Units.of(["a", "b", "c"], {}, ["b"])
    assert (units.names, units.always.tolist()) == (("a", "c"), [1])
    assert UnitPath.of(Scored([1, 2]), units).columns(1).tolist() == [1, 2]
    frozen, ends = units.frozen([1, 0])
    assert (frozen.ranking_.tolist(), ends) == ([3, 1, 2], [2, 3])


def test_columns_are_ranked_by_what_they_add_to_those_that_are_always_in():
    rng = np.random.default_rng(0)
    known, other = rng.normal(size=(2, 200))
    X = np.column_stack([known, known + 0.1 * rng.normal(size=200), other])
    left = Units.of(["a", "b", "c"], {}, ["a"]).choosable(X)
    assert left.std(axis=0) == pytest.approx([0.1, 1], rel=0.2)
    assert np.abs(known @ left) == pytest.approx(0, abs=1e-9)


def test_categories_of_a_column_enter_and_leave_together(tmp_path):
    study = run_study(frame(), "state", n_permutations=0, n_jobs=1, out=tmp_path / "study", **EFFORT)
    findings = study.findings
    assert findings.n_columns == 10
    assert {column.name for column in findings.columns} == set(frame().columns) - {"state"}
    assert all(" = " not in name for name in findings.chosen)
    assert (tmp_path / "study" / "features.txt").read_text().splitlines() == findings.chosen
    assert findings.headline.count(f"{len(findings.chosen)} of 10 columns") == 1
    whole = {"sex = m"} | {f"colour = {each}" for each in ("red", "green", "blue")}
    known = {name for column in findings.table for name in column.features}
    assert whole <= known
    if "colour" in findings.chosen:
        assert {name for name in findings.chosen_features if name.startswith("colour")} == whole - {"sex = m"}


def test_always_columns_are_in_the_model_and_the_baseline(tmp_path):
    study = run_study(frame(), "state", always=["sex", "age"], n_permutations=19, n_jobs=1, out=tmp_path, **EFFORT)
    findings = study.findings
    assert findings.chosen[:3] == ["sex", "age", "x0"]
    assert (tmp_path / "features.txt").read_text().split()[:2] == ["sex", "age"]
    assert findings.n_columns == 8
    assert {"sex", "age"}.isdisjoint(column.name for column in findings.columns)
    baseline = findings.compared.evidence["baseline"]
    assert baseline["name"] == "ridge with sex, age alone"
    assert baseline["score"] > 0.7
    assert findings.learnable.verdict == "yes"
    assert "shuffled rows of all columns but sex, age" in findings.learnable.sentence
    assert "which are always in" in findings.how_few.sentence
    assert "sex" in study.model.columns
    assert apply_model(study.model, Dataset.from_frame(frame().drop("state"))).height == 120


def test_nothing_beyond_the_columns_that_are_always_in_is_called_nothing():
    table = (
        frame()
        .drop("x0")
        .with_columns(state=pl.when(pl.col("sex") == "m").then(pl.lit("ill")).otherwise(pl.lit("well")))
    )
    rng = np.random.default_rng(3)
    flipped = np.where(rng.random(120) < 0.2, "ill", table["state"].to_numpy())
    findings = run_study(
        table.with_columns(state=flipped), "state", always=["sex"], n_permutations=19, n_jobs=1, **EFFORT
    ).findings
    assert findings.learnable.verdict == "no"
    assert findings.headline.startswith("There is no sign that state can be predicted better than by sex alone")


def test_sizes_count_groups_and_groups_come_whole(tmp_path):
    path = tmp_path / "groups.json"
    path.write_text(json.dumps(GROUPS))
    study = run_study(frame(), "state", column_groups=path, n_permutations=0, n_jobs=1, **EFFORT)
    findings = study.findings
    assert findings.n_columns == 7
    assert max(size for each in findings.plan.candidates for size in each.sizes) < 7
    assert {"proxies", "noise"} <= {column.name for column in findings.columns}
    for members in GROUPS.values():
        assert len(set(members) & set(findings.chosen)) in (0, len(members))
    assert "groups)" in findings.how_few.sentence


@pytest.mark.parametrize("name", ["groups.json", "groups.toml", "groups.csv"])
def test_groups_are_read_from_every_form_of_file(tmp_path, name):
    text = {
        "groups.json": '{"g": ["p0", "p1"], "h": ["x1", "x2"]}',
        "groups.toml": 'g = ["p0", "p1"]\nh = ["x1", "x2"]\n',
        "groups.csv": "column,group\np0,g\np1,g\n\nx1,h\nx2,h\n",
    }
    (tmp_path / name).write_text(text[name])
    plan = make_plan(data_of(frame()), column_groups=tmp_path / name, **EFFORT)
    assert plan.column_groups == {"g": ["p0", "p1"], "h": ["x1", "x2"]}
    assert Plan.from_dict(json.loads(plan.to_json())) == plan


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ({"g": ["p0", "nope"]}, r"no column 'nope', which the group 'g' has\. The columns are"),
        ({"g": ["p0", "ages"]}, r"no column 'ages', which the group 'g' has\. Did you mean 'age'\?$"),
        ({"g": ["p0"], "h": ["p0"]}, "'p0' is in two groups, 'g' and 'h'"),
        ({"g": ["sex"]}, "'sex' of the group 'g' is in always= as well"),
        ({"age": ["p0"]}, "a group has the name of a column, 'age'"),
        ("nowhere.json", "nowhere.json cannot be read"),
    ],
)
def test_groups_that_cannot_be_are_refused(groups, said):
    with pytest.raises(StudyError, match=said):
        make_plan(data_of(frame()), column_groups=groups, always=["sex"], **EFFORT)


@pytest.mark.parametrize("text", ["[1]", '{"g": "p0"}', "{", "a,b,c"])
def test_a_file_that_has_no_groups_is_refused(tmp_path, text):
    path = tmp_path / ("groups.csv" if text == "a,b,c" else "groups.json")
    path.write_text(text + "\nx,y,z\n" if text == "a,b,c" else text)
    with pytest.raises(StudyError, match="groups") as refused:
        make_plan(data_of(frame()), column_groups=path, **EFFORT)
    assert str(refused.value).count("cannot be used") == 1
    if path.suffix == ".csv":
        assert str(refused.value).endswith("has 3 cells (x, y, z); there must be two, a column and its group.")


def test_always_columns_that_are_not_there_or_left_out_are_refused():
    table = frame().with_columns(row=np.array([f"r{place}" for place in range(120)]))
    with pytest.raises(ValueError, match="sexx"):
        make_plan(data_of(table), always=["sexx"], **EFFORT)
    with pytest.raises(StudyError, match="'row' cannot be in every subset"):
        make_plan(data_of(table), always=["row"], **EFFORT)
    with pytest.raises(StudyError, match="fewer than two columns, or groups"):
        make_plan(data_of(table), always=[name for name in frame().columns if name not in ("state", "x0")], **EFFORT)


def test_groups_of_rows_and_columns_that_are_always_in_have_no_test_and_the_reason_is_given(tmp_path):
    table = frame().with_columns(site=pl.Series([f"s{place % 12}" for place in range(120)]))
    table.write_csv(tmp_path / "t.csv")
    asked = {"groups": "site", "always": ["age"], "n_permutations": 19, "n_jobs": 1}
    found = run_study(tmp_path / "t.csv", "state", **EFFORT, **asked).findings.learnable
    assert found.verdict == "not tested"
    assert found.sentence.startswith(
        "Not tested: with groups of rows, there is no permutation test of what columns add"
    )


@pytest.mark.parametrize("options", OPTIONS)
def test_nothing_of_a_held_out_row_decides_about_columns(options):
    """A planted leak: in held-out rows alone, every column but x0 gives the target away."""
    data = data_of(frame())
    plan = make_plan(data, **EFFORT, **options)
    bench = Bench(plan, data)
    test = bench.repeats[0][0].test
    X = np.array(data.dataset.X)
    numbers = [place for place, name in enumerate(data.dataset.columns) if name not in ("sex", "colour")]
    X[np.ix_(test, numbers)] = 1000.0 * (np.asarray(data.dataset.y)[test] == "ill")[:, None]
    leaking = Bench(plan, replace(data, dataset=replace(data.dataset, X=X)), bench.repeats)
    for number, candidate in enumerate(plan.candidates):
        if candidate.is_baseline and not plan.always:
            continue
        for size in candidate.sizes or (99,):
            ours, theirs = (fitted_cell(each, 0, 0, (number, size)) for each in (bench, leaking))
            assert ours.names == theirs.names
            assert np.array_equal(ours.model.coef_, theirs.model.coef_)


@pytest.mark.parametrize(
    "options",
    [pytest.param(*each.values, id=each.id, marks=[pytest.mark.slow] * (each.id != "both")) for each in OPTIONS],
)
def test_a_stopped_study_goes_on_to_the_same_findings(options, with_and_without_a_stop):
    data = data_of(frame())
    undisturbed, resumed = with_and_without_a_stop(make_plan(data, n_permutations=19, **EFFORT, **options), data)
    assert undisturbed == resumed


def test_the_test_permutes_the_other_columns_and_keeps_the_target_with_those_that_are_always_in():
    data = data_of(frame())
    drawn = randomised(data, "labels", np.random.default_rng(0), ["sex", "age"])
    assert np.array_equal(drawn.dataset.y, data.dataset.y)
    fixed = [data.dataset.columns.index(name) for name in ("sex", "age")]
    others = np.setdiff1d(np.arange(data.dataset.n_columns), fixed)
    assert np.array_equal(drawn.dataset.X[:, fixed], data.dataset.X[:, fixed])
    assert not np.array_equal(drawn.dataset.X[:, others], data.dataset.X[:, others])
    rows = {tuple(row) for row in data.dataset.X[:, others]}
    assert {tuple(row) for row in drawn.dataset.X[:, others]} == rows


def test_new_columns_are_made_of_the_others_beside_those_that_are_always_in(tmp_path):
    effort = EFFORT | {"methods": ["PCA"]}
    study = run_study(frame(), "state", always=["sex"], n_permutations=0, n_jobs=1, out=tmp_path, **effort)
    assert study.findings.n_made is not None or study.findings.how_few.number == study.findings.n_columns
    assert len(Study(tmp_path).best_pipeline().predict(frame())) == 120


def test_plans_of_the_format_before_are_read():
    plan = make_plan(data_of(frame()), **EFFORT)
    new = "weights", "always", "column_groups", "budget", "skipped"
    older = {name: value for name, value in plan.to_dict().items() if name not in new} | {"version": 6}
    older["candidates"][0]["learner"]["name"] = "simplest"
    assert Plan.from_dict(older) == plan
