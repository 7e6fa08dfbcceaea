"""Learners and imputers take part in a study by their cards, and what a stranger's file names is not imported."""

import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from fewer import run_study
from fewer.cli import app
from fewer.facade import Study
from fewer.io import read_table
from fewer.study import (
    Plan,
    StudyError,
    StudyModel,
    UntrustedPlanError,
    UntrustedTypesError,
    Verdict,
    make_plan,
    study_data,
)

HOW_TO = Path(__file__).parents[2] / "docs" / "how_to"
LEARNER = """
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from fewer.catalogue import method

@method(room="learn", tasks=["classification"], when="Classes are balls.", cost="O(np)", search_space={"power": [1, 2]})
class NearestMean(ClassifierMixin, BaseEstimator):
    '''The class with the nearest mean.'''
    def __init__(self, power=2):
        self.power = power
    def fit(self, X, y):
        X, y = validate_data(self, X, y)
        self.classes_ = np.unique(y)
        self.means_ = np.array([X[y == label].mean(axis=0) for label in self.classes_])
        return self
    def predict(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        distances = (np.abs(X[:, None, :] - self.means_) ** self.power).sum(axis=2)
        return self.classes_[distances.argmin(axis=1)]
"""
ENTRY = "NearestMean = guest_methods:NearestMean\n"
EFFORT = {"preset": "quick", "methods": ["anova"], "n_folds": 3, "n_repeats": 1, "n_permutations": 0, "n_jobs": 1}
IN_WORDS = [
    "--preset",
    "quick",
    "--methods",
    "anova",
    "--folds",
    "3",
    "--repeats",
    "1",
    "--permutations",
    "0",
    "-j",
    "1",
    "-q",
]


def fewer(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def table(make_table, tmp_path):
    path = tmp_path / "table.csv"
    make_table(n_rows=40, n_columns=6, shift=2.5).to_polars().write_csv(path)
    return path


def learners_of(plan):
    return {candidate.learner.name for candidate in plan.candidates} - {"baseline"}


def test_a_learner_of_our_own_takes_part_by_its_name(make_table):
    study = run_study(make_table(shift=3.0), learners=["LPBoost", "rdaclassifier"], **EFFORT)
    assert learners_of(study.plan) == {"LPBoost", "RDAClassifier"}
    assert study.findings.learnable.evidence["score"] > 0.8
    assert Study(study.folder.path).model.pipeline.predict(np.zeros((1, len(study.columns_)))).shape == (1,)


def test_a_learner_of_another_package_takes_part_by_its_name(install_guest, table, tmp_path):
    install_guest(LEARNER, ENTRY)
    out = tmp_path / "out"
    result = fewer("study", table, "-t", "state", "--learners", "NearestMean", *IN_WORDS, "-o", out)
    assert result.exit_code == 0, result.output
    assert learners_of(Plan.load(out / "plan.json")) == {"NearestMean"}
    named = "guest_methods.NearestMean"
    refused = fewer("apply", out, table)
    assert refused.exit_code == 2
    assert f"({named})" in refused.stderr
    assert f"--trust {named}" in refused.stderr
    applied = fewer("apply", out, table, "--trust", named)
    assert applied.exit_code == 0, applied.output
    predicted = pl.read_csv(applied.stdout.encode())["predicted_state"]
    assert (predicted == pl.read_csv(table)["state"]).mean() > 0.8
    with pytest.raises(UntrustedTypesError, match=named):
        StudyModel.load(out / "model.skops")
    assert isinstance(Study(out, trusted=[named]).model, StudyModel)


def test_an_import_path_is_imported_for_who_types_it_and_not_for_who_receives_the_plan(install_guest, table, tmp_path):
    install_guest(LEARNER, "")
    out, again = tmp_path / "out", tmp_path / "again"
    words = ("study", table, "-t", "state", "--learners", "guest_methods:NearestMean", *IN_WORDS)
    result = fewer(*words, "-o", out)
    assert result.exit_code == 0, result.output
    assert "NearestMean" in result.stdout
    sys.modules.pop("guest_methods")
    for command in (("study", "--plan", out / "report.html", "-o", again), ("resume", out)):
        refused = fewer(*command)
        assert refused.exit_code == 2
        assert "imports guest_methods:NearestMean" in refused.stderr
        assert "--trust-plan" in refused.stderr
        assert "guest_methods" not in sys.modules
    assert fewer("show", out).exit_code == 0
    assert "guest_methods" not in sys.modules
    with pytest.raises(UntrustedPlanError, match="trust=True"):
        Plan.load(out / "plan.json")
    trusted = fewer("study", "--plan", out / "report.html", "-o", again, "--trust-plan", "-j", 1)
    assert trusted.exit_code == 0, trusted.output
    assert json.loads((again / "findings.json").read_text())["rivals"]


def test_a_model_that_skops_cannot_write_leaves_the_findings(install_guest, make_table):
    running = LEARNER.replace("        return self\n", "        self.rows_ = iter(x for x in X)\n        return self\n")
    install_guest(running, ENTRY)
    with pytest.warns(UserWarning, match="model of NearestMean cannot be saved with skops"):
        study = run_study(make_table(n_rows=40, n_columns=6, shift=2.5), learners=["NearestMean"], **EFFORT)
    assert study.folder.report.exists()
    assert not study.folder.model.exists()
    assert type(study.best_pipeline_[-1]).__name__ == "NearestMean"


def test_an_estimator_is_written_into_the_plan_as_name_and_parameters(make_table):
    from sklearn.svm import NuSVC

    from fewer.learn import LPBoost

    data = study_data(make_table())
    plan = make_plan(data, preset="quick", methods=["anova"], learners=[NuSVC(nu=0.3), LPBoost()])
    recipes = {each.learner.name: each.learner.params for each in plan.candidates}
    assert recipes == {"baseline": {}, "sklearn.svm._classes:NuSVC": {"nu": 0.3}, "LPBoost": {}}
    assert "all features, NuSVC (nu=0.3)" in [each.name for each in plan.candidates]
    assert Plan.from_dict(plan.to_dict()) == plan


def test_an_estimator_that_cannot_be_written_down_is_refused(make_table):
    from sklearn.ensemble import BaggingClassifier
    from sklearn.svm import SVC

    class Local(SVC):
        pass

    data = study_data(make_table())
    for learner, complaint in [
        (Local(), "Put it into a module"),
        (BaggingClassifier(SVC()), "parameter estimator of BaggingClassifier is a SVC"),
        (3, "names or estimators"),
    ]:
        with pytest.raises(StudyError, match=complaint):
            make_plan(data, learners=[learner])


def test_an_imputer_in_one_file_takes_part_by_its_name(install_guest, make_table):
    install_guest((HOW_TO / "_smallest_imputer.py").read_text(), "SmallestImputer = guest_methods:SmallestImputer\n")
    frame = make_table(shift=3.0).to_polars()
    frame = frame.with_columns(pl.when(pl.col("x3") < -1).then(None).otherwise("x3").alias("x3"))
    study = run_study(frame, target="state", impute="smallestimputer", learners=["ridge"], **EFFORT)
    assert study.plan.impute == "SmallestImputer"
    assert "imputed by half of the smallest value of the column" in str(study.plan)
    assert [each["imputer"] for each in study.findings.missing.evidence["filled"]] == ["SmallestImputer"]


def test_count_models_receive_counts_as_they_are(make_table):
    from fewer.study.plan._candidates import Candidate
    from fewer.study.plan._recipes import Recipe

    ridge = Recipe("ridge")
    assert Candidate(("", ""), None, Recipe("NaiveBayesText")).for_counts == "raw"
    assert Candidate(("", ""), Recipe("CorrespondenceAnalysis"), ridge).for_counts == "raw"
    assert Candidate(("", ""), Recipe("SelectTop", {"score_func": "chi2"}), ridge).for_counts == "scaled"
    assert Candidate(("", ""), Recipe("RidgeRFE"), ridge).for_counts is None


def test_a_data_set_by_name_is_studied_and_its_plan_can_be_run_again(tmp_path):
    study = run_study("dataset:iris", drop=["petal width (cm)"], learners=["ridge"], out=tmp_path / "iris", **EFFORT)
    assert (study.plan.n_columns, study.plan.reading["table"]) == (3, "dataset:iris")
    assert fewer("resume", tmp_path / "iris", "-q").exit_code == 0


def test_a_question_in_two_files_is_asked_answered_and_shown(install_guest, table, tmp_path):
    points = "[fewer.questions]\nbalance = guest_methods:QUESTION\n[fewer.panels]\nbalance = guest_panel:PANEL\n"
    install_guest((HOW_TO / "_balance_question.py").read_text(), points)
    (tmp_path / "guest_panel.py").write_text((HOW_TO / "_balance_panel.py").read_text())
    out = tmp_path / "out"
    words = (table, "-t", "state", "--learners", "ridge", "--questions", "balance", *IN_WORDS)
    result = fewer("study", *words, "-o", out)
    assert result.exit_code == 0, result.output
    sentence = "Yes: ill, the rarest class, has 100% of an equal share."
    assert sentence in result.stdout
    found = Study(out)
    assert found.plan.questions[-1] == "balance"
    assert (found.findings.balance.verdict, found.findings.balance.number) == (Verdict.YES, 1.0)
    assert json.loads((out / "findings.json").read_text())["balance"]["sentence"] == sentence
    page = (out / "report.html").read_text(encoding="utf-8")
    assert all(each in page for each in ('<section id="balance"', sentence, 'id="plot-balance"', 'href="#balance"'))
    assert fewer("study", "--plan", out / "report.html", "-o", tmp_path / "again", "-j", 1).exit_code == 0
    sys.modules.pop("guest_panel", None)
    with pytest.raises(StudyError, match=r"no question 'balence'; the questions are learnable, interacting"):
        make_plan(study_data(read_table(table, target="state")), questions=["balence"])
