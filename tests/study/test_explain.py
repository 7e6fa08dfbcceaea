"""One row explained: contributions of linear and additive models add up exactly, others are refused or go to shap."""

import json
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from fewer import run_study
from fewer.cli import app
from fewer.io import Dataset
from fewer.study import StudyError, explain_row

EFFORT = {"preset": "quick", "n_folds": 3, "n_repeats": 1, "n_permutations": 0, "n_jobs": 1}


def numbers(n_rows=60, seed=0):
    X = np.random.default_rng(seed).normal(size=(n_rows, 4))
    y = 3 * X[:, 0] - 2 * X[:, 1] + 0.1 * X[:, 2]
    return Dataset.from_frame({f"x{j}": X[:, j] for j in range(4)} | {"y": y}, target="y")


def test_contributions_to_a_linear_prediction_are_weights_times_distances_from_the_mean():
    table = numbers()
    study = run_study(table, **EFFORT, methods=["pearson"], learners=["ridge"], sizes=[2], parsimony=0)
    found = explain_row(study.model, table, 7)
    X = np.column_stack([table.keep([f"x{j}"]).X[:, 0] for j in range(4)])
    contributions = {each.column: each.contribution for each in found.contributions}
    assert contributions["x0"] == pytest.approx(3 * (X[6, 0] - X[:, 0].mean()), rel=0.05)
    assert contributions["x1"] == pytest.approx(-2 * (X[6, 1] - X[:, 1].mean()), rel=0.05)
    assert sum(contributions.values()) == pytest.approx(found.value - found.expected)
    assert float(found.predicted) == pytest.approx(found.value, rel=1e-3)
    assert found.n_rows == 60
    assert str(found).startswith(f"Row 7: {found.predicted}\ny ")
    assert json.loads(json.dumps(found.to_dict()))["contributions"][0]["column"] == found.contributions[0].column


@pytest.mark.parametrize("learner", ["ridge", "logistic", "naive_bayes", "linear_svm"])
@pytest.mark.parametrize("classes", [("ill", "well"), ("a", "b", "c")])
def test_linear_and_additive_classifiers_add_up(learner, classes, make_table):
    table = make_table(n_rows=90, classes=classes, n_columns=6)
    study = run_study(table, **EFFORT, methods=["anova"], learners=[learner])
    found = explain_row(study.model, table, 3)
    assert sum(each.contribution for each in found.contributions) == pytest.approx(found.value - found.expected)
    assert found.value > 0  # the predicted class is ahead
    assert found.predicted != found.against
    assert {found.predicted, found.against} <= set(classes)


def test_categories_and_missing_values_are_explained_whole():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], size=90)
    size = rng.normal(size=90)
    size[5] = np.nan
    columns = {"colour": colour, "size": size, "other": rng.normal(size=90)}
    table = Dataset.from_frame(columns | {"y": np.where(colour == "red", "yes", "no")}, target="y")
    study = run_study(table, **EFFORT, methods=["anova"], learners=["logistic"])
    found = explain_row(study.model, table, 6)
    assert found.contributions[0].column == "colour"
    assert found.contributions[0].value == colour[5]
    assert all(each.value == "missing" for each in found.contributions if each.column == "size")


def test_a_model_that_is_not_additive_is_refused_with_the_way_out(make_table):
    table = make_table()
    study = run_study(table, **EFFORT, methods=["anova"], learners=["svm"], sizes=[5], parsimony=0)
    with pytest.raises(StudyError, match=r"SVC is not additive .* use shap=True, which needs the package shap"):
        explain_row(study.model, table, 1)


def test_without_shap_the_error_says_how_to_get_it(make_table, monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    table = make_table()
    study = run_study(table, **EFFORT, methods=["anova"], learners=["ridge"])
    with pytest.raises(StudyError, match=r"shap, which is not installed: pip install 'fewer\[shap\]'"):
        explain_row(study.model, table, 1, shap=True)


class ExactExplainer:
    """Stands for shap's explainer: Shapley values from all orders of the columns, for few columns."""

    def __init__(self, function, background, seed):
        self.function, self.background = function, background

    def __call__(self, rows, max_evals, silent):
        from itertools import permutations

        p = rows.shape[1]
        orders = list(permutations(range(p)))
        values = np.zeros(p)
        for order in orders:
            mixed = self.background.copy()
            before = self.function(mixed).mean()
            for column in order:
                mixed[:, column] = rows[0, column]
                after = self.function(mixed).mean()
                values[column] += (after - before) / len(orders)
                before = after
        return SimpleNamespace(values=values[None])


@pytest.mark.parametrize("learner", ["ridge", "svm", "extra_trees"])
def test_shapley_values_add_up_for_any_model(learner, make_table, monkeypatch):
    try:
        import shap  # noqa: F401 - the real one where it is installed
    except ImportError:
        fake = ModuleType("shap")
        fake.PermutationExplainer = ExactExplainer
        monkeypatch.setitem(sys.modules, "shap", fake)
    table = make_table(n_columns=4)
    study = run_study(table, **EFFORT, methods=["anova"], learners=[learner], sizes=[3], parsimony=0)
    found = explain_row(study.model, table, 2, shap=True)
    assert sum(each.contribution for each in found.contributions) == pytest.approx(found.value - found.expected)
    if learner == "ridge":
        exact = {each.column: each.contribution for each in explain_row(study.model, table, 2).contributions}
        assert {each.column: each.contribution for each in found.contributions} == pytest.approx(exact)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explained")
    table = numbers()
    table.to_polars().write_csv(folder / "table.csv")
    table.to_polars().head(1).write_csv(folder / "one.csv")
    run_study(folder / "table.csv", "y", out=folder / "study", **EFFORT, methods=["pearson"], learners=["ridge"])
    return folder


def told(folder, *words):
    found = CliRunner().invoke(app, ["explain", str(folder / "study"), *words])
    return found.exit_code, found.output


def test_the_command_line_explains_a_row(folder):
    code, output = told(folder, str(folder / "table.csv"), "--row", "3")
    assert code == 0
    assert output.startswith("Row 3: ")
    assert "x0 = " in output
    code, output = told(folder, str(folder / "table.csv"), "--row", "3", "--json")
    assert json.loads(output)["method"] == "additive"


def test_one_row_needs_others_to_compare_with(folder):
    code, output = told(folder, str(folder / "one.csv"), "--row", "1")
    assert code == 2
    assert "--background" in output
    code, output = told(folder, str(folder / "one.csv"), "--row", "1", "--background", str(folder / "table.csv"))
    assert code == 0
    assert "60 rows" in output


@pytest.mark.parametrize("row", ["0", "61"])
def test_a_row_that_is_not_there_is_named(folder, row):
    code, output = told(folder, str(folder / "table.csv"), "--row", row)
    assert code == 2
    assert "--row must be from 1 to 60" in " ".join(output.split())


def test_a_folder_without_a_model_is_named(tmp_path):
    code, output = told(tmp_path, "dataset:iris", "--row", "1")
    assert code == 2
    assert "no model" in output
