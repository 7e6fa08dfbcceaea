"""Whatever is in a plan or a model file, loading it gives a plan or a model, or an error of ours."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given

from fewer.study import Plan, StudyError, StudyModel, make_plan, study_data
from fewer.study.model._model import fit_model
from fewer.study.model._model_file import pipeline_from
from fewer.study.plan._plan_file import PLAN_ELEMENT
from mutated import QUICK, SLOW, fuzzed, limited_memory, mutated, mutated_archive, refused_or_read

EFFORT = [pytest.param(QUICK, id="quick"), pytest.param(SLOW, id="slow", marks=pytest.mark.slow)]


class Chosen:
    """As much of findings as a model needs."""

    n_made = None

    def __init__(self, names, winner, table):
        self.chosen = names
        self.columns = [SimpleNamespace(name=name, source=name, chosen=True) for name in names]
        self.winner, self.table = winner, table


@pytest.fixture(scope="module")
def plan(make_table, quick_plan):
    reading = {"table": "t.csv", "target": "state", "drop": ["a"], "options": {"separator": ";"}}
    return quick_plan(study_data(make_table()), reading=reading)


@pytest.fixture(scope="module")
def models(make_table):
    """Models by the name of their learner; the forest has few trees."""
    data = study_data(make_table())

    def fitted(learner):
        plan = make_plan(data, preset="quick", methods=["anova"], learners=[learner])
        model = fit_model(plan, data, Chosen(["x0", "x1"], len(plan.candidates) - 1, data.columns))
        if learner == "forest":
            model.pipeline[-1].estimators_ = model.pipeline[-1].estimators_[:2]
        return model

    return {learner: fitted(learner) for learner in ("ridge", "knn", "forest")}


def check(contents, act, max_examples):
    """Act upon this many mutated contents; how many of them were accepted."""
    n_accepted = 0

    @fuzzed(max_examples)
    @given(contents)
    def load(content):
        nonlocal n_accepted
        n_accepted += refused_or_read(lambda: act(content))

    with limited_memory():
        load()
    return n_accepted


@pytest.mark.parametrize("max_examples", EFFORT)
def test_plans_are_loaded_or_refused(plan, tmp_path, max_examples):
    path, page = tmp_path / "plan.json", tmp_path / "report.html"
    document = json.dumps(plan.to_dict()).encode()
    report = f'<p>\n<script type="application/json" id="{PLAN_ELEMENT}">'.encode() + document + b"</script></p>"

    def load(content):
        path.write_bytes(content)
        page.write_bytes(content)
        assert str(Plan.load(page if content.startswith(b"<") else path))

    load(document)  # of few mutated plans, chance decides whether one is still good
    load(report)
    check(mutated([document, report]), load, max_examples)


@pytest.mark.parametrize("max_examples", EFFORT)
def test_pipelines_are_loaded_or_refused(models, tmp_path, max_examples):
    path = tmp_path / "model.skops"
    contents = []
    for model in models.values():
        model.save(path)
        contents.append(path.read_bytes())
    assert check(mutated_archive(contents), lambda content: pipeline_from(content, path), max_examples)


@pytest.mark.parametrize("max_examples", EFFORT)
def test_descriptions_of_models_are_loaded_or_refused(models, tmp_path, max_examples):
    path = tmp_path / "model.skops"
    models["ridge"].save(path)
    valid = path.with_suffix(".json").read_bytes()

    def load(content):
        path.with_suffix(".json").write_bytes(content)
        StudyModel.load(path)

    check(mutated([valid]), load, max_examples)


WRONG = [None, True, -1, 0.5, float("nan"), 2**70, "", "x", [], [1], {}, {"a": 1}, [[]], {"name": "ridge"}]


def entries_of(data, place):
    """The entries of a plan, of its first candidate, or of the candidate's learner."""
    candidate = data["candidates"][0]
    return {"plan": data, "candidates": candidate, "learner": candidate["learner"]}[place]


@pytest.mark.parametrize("place", ["plan", "candidates", "learner"])
def test_an_entry_of_another_type_is_named(plan, place):
    """Each entry is replaced by each of the values above: some fit, all others are refused by name."""
    valid = json.dumps(plan.to_dict())
    refused = []
    for name in entries_of(json.loads(valid), place):
        for value in WRONG:
            data = json.loads(valid)
            entries_of(data, place)[name] = value
            try:
                again = Plan.from_dict(data)
            except StudyError as error:
                refused.append((name, str(error)))
            else:
                assert again.to_dict() == data
    assert len(refused) > 10
    out_of_range = ("folds", "repeat", "permutations", "confidence", "must be at least", "baseline", "format")
    unnamed = [told for name, told in refused if not any(word in told for word in (f"'{name}'", place, *out_of_range))]
    assert unnamed == []


def test_methods_scores_and_parameters_that_do_not_exist_are_named(plan, tmp_path):
    path = tmp_path / "plan.json"
    reducer = next(place for place, each in enumerate(plan.candidates) if each.reducer is not None)
    for change, told in [
        (lambda data: data.update(scoring="fame"), "no score 'fame'"),
        (lambda data: data["candidates"][reducer]["reducer"].update(name="Oracle"), "no method 'Oracle'"),
        (lambda data: data["candidates"][reducer]["reducer"].update(params={"luck": 3}), "cannot be built.*luck"),
        (lambda data: data["candidates"][reducer]["learner"].update(params={"luck": 3}), "cannot be built.*luck"),
    ]:
        data = plan.to_dict()
        change(data)
        path.write_text(json.dumps(data))
        with pytest.raises(ValueError, match=told) as caught:
            Plan.load(path)
        assert type(caught.value).__module__.startswith("fewer.")


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"version": 2, "a": ' + "[" * 200_000 + "]" * 200_000 + "}", "9" * 5000]
)
def test_a_plan_that_is_nested_too_deep_or_too_long_a_number_is_refused(tmp_path, text):
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(StudyError, match="contains no plan"):
        Plan.load(tmp_path / "plan.json")


def test_many_openings_of_the_plan_in_a_report_are_passed_once(tmp_path):
    """200,000 openings, each of which a search for its end would follow through the whole file: 2e12 characters."""
    opening = f'<script type="application/json" id="{PLAN_ELEMENT}">'
    (tmp_path / "report.html").write_text("<html>" + opening * 200_000)
    with pytest.raises(StudyError, match="contains no plan"):
        Plan.load(tmp_path / "report.html")
    (tmp_path / "report.html").write_text("<html>" + opening * 200_000 + "</script>")
    with pytest.raises(StudyError, match="contains no plan"):
        Plan.load(tmp_path / "report.html")


@pytest.mark.parametrize("size", [1 << 27, 1 << 29])
def test_a_plan_of_many_megabytes_is_not_parsed(tmp_path, size):
    with (tmp_path / "plan.json").open("wb") as file:
        file.truncate(size)
    with pytest.raises(StudyError, match="contains no plan"):
        Plan.load(tmp_path / "plan.json")


def with_state(thing, place, value):
    """The tree or the neighbours with one array of their state changed."""
    state = thing.__getstate__()
    state = {**state} if isinstance(state, dict) else list(state)
    state[place] = value(np.array(state[place]))
    made, arguments, *_ = thing.__reduce__()
    changed = made(*arguments)
    changed.__setstate__(state if isinstance(state, dict) else tuple(state))
    return changed


def test_trees_that_lead_out_of_themselves_are_refused(models, tmp_path):
    """A walk to a node or a feature that is not there would read any memory, and one back to the root never ends."""
    path = tmp_path / "model.skops"
    model = models["forest"]
    tree = model.pipeline[-1].estimators_[0]
    sound = tree.tree_

    def changed(field, value):
        def change(nodes):
            nodes[field][0] = value
            return nodes

        return change

    try:
        for field, value in [
            ("left_child", 10**9),
            ("right_child", -7),
            ("left_child", 0),
            ("feature", 2),
            ("feature", -3),
        ]:
            tree.tree_ = with_state(sound, "nodes", changed(field, value))
            model.save(path)
            with pytest.raises(StudyError, match="tree in it is damaged"):
                StudyModel.load(path)
    finally:
        tree.tree_ = sound
    model.save(path)
    assert StudyModel.load(path).pipeline[-1].estimators_[0].tree_.node_count == sound.node_count


def test_neighbours_outside_of_the_rows_are_refused(models, tmp_path):
    path = tmp_path / "model.skops"
    model = models["knn"]
    learner = model.pipeline[-1]
    sound = learner._tree
    order, nodes = 1, 2

    def beyond(array):
        if array.dtype.names:
            array["idx_end"][0] = 10**9
        else:
            array[0] = 10**9
        return array

    try:
        for place in (order, nodes):
            learner._tree = with_state(sound, place, beyond)
            model.save(path)
            with pytest.raises(StudyError, match="neighbours in it is damaged"):
                StudyModel.load(path)
    finally:
        learner._tree = sound
