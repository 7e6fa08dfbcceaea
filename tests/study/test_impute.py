"""Imputers in a study: fitted inside the folds, noted in the plan and the findings, kept in the model."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from fewer.evaluate import Fold
from fewer.facade import run_study
from fewer.io import Dataset
from fewer.latent import IQGMEClassifier
from fewer.study import Plan, StudyError, StudyModel, apply_model, make_plan, study_data
from fewer.study.plan._recipes import study_imputer
from fewer.study.work._work import prepared_fold

QUICK = {"preset": "quick", "methods": ["anova"], "learners": ["ridge"], "n_folds": 3, "n_repeats": 1, "n_jobs": 1}


def table_with_missing_values(share=0.25, n_rows=90, seed=0):
    """Two hidden factors behind ten columns; the first tells the classes apart."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n_rows, 2))
    X = factors @ rng.normal(size=(2, 10)) * 10.0 ** np.arange(10) + rng.normal(size=(n_rows, 10)) * 0.1
    X[rng.random(X.shape) < share] = np.nan
    columns = {f"x{place}": column for place, column in enumerate(X.T)}
    return Dataset.from_frame(columns | {"state": np.where(factors[:, 0] > 0, "ill", "well")}, target="state")


@pytest.fixture(scope="module")
def imputed_by_the_median():
    """A study of the table, without a learner that takes missing values."""
    return run_study(table_with_missing_values(), n_permutations=0, **QUICK)


@pytest.mark.parametrize("impute", ["median", "mean", "knn", "PCAMissing"])
def test_rows_held_out_teach_nothing_to_the_imputer(impute):
    dataset = table_with_missing_values()
    plan = make_plan(study_data(dataset), impute=impute)
    fold = Fold(np.arange(60), np.arange(60, 90))
    X = np.array(dataset.X, dtype=float)
    X[60:] = np.where(np.isnan(X[60:]), np.nan, 1e6 * np.random.default_rng(1).normal(size=(30, 10)))
    other = Dataset.from_frame(
        {f"x{place}": column for place, column in enumerate(X.T)} | {"state": dataset.y}, target="state"
    )
    ours, theirs = (prepared_fold(study_data(each).dataset, fold, plan) for each in (dataset, other))
    np.testing.assert_array_equal(ours.X_train, theirs.X_train)
    assert not np.array_equal(ours.X_test, theirs.X_test)


def test_columns_that_go_together_fill_one_another():
    dataset = table_with_missing_values()
    truth = table_with_missing_values(share=0.0)
    fold = Fold(np.arange(60), np.arange(60, 90))
    missing = np.isnan(np.asarray(dataset.X, dtype=float))[60:]
    expected = StandardScaler().fit(np.asarray(truth.X)[:60]).transform(np.asarray(truth.X)[60:])
    errors = {}
    for impute in ("median", "PCAMissing"):
        found = prepared_fold(dataset, fold, make_plan(study_data(dataset), impute=impute)).X_test
        errors[impute] = np.sqrt(np.mean((found - expected)[missing] ** 2))
    assert errors["PCAMissing"] < 0.5 * errors["median"]


def test_the_findings_tell_how_much_is_missing_and_how_well_it_can_be_filled(imputed_by_the_median):
    study = imputed_by_the_median
    missing = study.findings.missing.evidence
    assert missing["share"] == pytest.approx(0.25, abs=0.04)
    assert [each["imputer"] for each in missing["filled"]] == ["median", "PCAMissing"]
    median, by_others = missing["filled"]
    assert by_others["interval"][1] < median["interval"][0]
    assert "try --impute PCAMissing" in study.findings.missing.sentence
    assert 'id="missing"' in study.report().read_text(encoding="utf-8")


def test_noise_is_not_said_to_be_filled_by_other_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    X[rng.random(X.shape) < 0.2] = np.nan
    columns = {f"x{place}": column for place, column in enumerate(X.T)}
    dataset = Dataset.from_frame(columns | {"state": np.arange(80) % 2}, target="state", task="binary")
    assert (
        "The other columns do not predict them better"
        in run_study(dataset, n_permutations=0, **QUICK).findings.missing.sentence
    )


def test_what_is_too_little_to_judge_by_is_told_of_each_way_to_fill(monkeypatch):
    """A way to fill that cannot be judged is left out, and the others are told."""
    import fewer.complete

    judged = fewer.complete.completion_score

    def but_not_by_the_median(imputer, *args, **options):
        if type(imputer).__name__ == "SimpleImputer":
            raise ValueError("nothing can be hidden")
        return judged(imputer, *args, **options)

    monkeypatch.setattr(fewer.complete, "completion_score", but_not_by_the_median)
    missing = run_study(table_with_missing_values(), n_permutations=0, **QUICK).findings.missing.evidence
    assert [each["imputer"] for each in missing["filled"]] == ["PCAMissing"]


def test_only_columns_with_missing_are_listed_the_emptiest_first():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 5))
    X[:6, 1], X[:20, 3] = np.nan, np.nan
    columns = {f"x{place}": column for place, column in enumerate(X.T)}
    dataset = Dataset.from_frame(columns | {"state": np.arange(60) % 2}, target="state", task="binary")
    missing = run_study(dataset, n_permutations=0, **QUICK).findings.missing.evidence
    assert missing["columns"] == [{"name": "x3", "share": 1 / 3}, {"name": "x1", "share": 0.1}]
    assert (missing["n_columns"], missing["n_cells"], missing["n_complete_rows"]) == (2, 26, 40)


def test_a_table_without_missing_values_has_no_panel_of_them(make_table):
    study = run_study(make_table(), n_permutations=0, impute="PCAMissing", **QUICK)
    assert not study.findings.missing.is_shown
    assert 'id="missing"' not in study.report().read_text(encoding="utf-8")


def test_the_model_imputes_as_the_study_did_and_is_loaded_safely(tmp_path):
    dataset = table_with_missing_values()
    study = run_study(dataset, out=tmp_path / "study", n_permutations=0, impute="pcamissing", **QUICK)
    assert study.plan.impute == "PCAMissing"
    assert study.columns_ == list(dataset.columns)  # it may be imputed from any of them
    model = StudyModel.load(study.folder.model)
    predicted = model.pipeline.predict(dataset.X)
    assert np.mean(predicted == np.asarray(dataset.y)) > 0.85


def test_the_way_to_fill_is_part_of_the_plan():
    data = study_data(table_with_missing_values())
    plan = make_plan(data, impute="knn")
    assert Plan.from_dict(plan.to_dict()) == plan
    assert plan.identity != make_plan(data).identity
    assert "imputed by the five most similar rows" in str(plan)
    with pytest.raises(StudyError, match=r"no imputer 'magic' in the catalogue.*--role imputer"):
        make_plan(data, impute="magic")


def test_zeros_of_a_sparse_table_are_not_missing_values():
    with pytest.raises(StudyError, match="use median or mean"):
        study_imputer("PCAMissing", sparse=True)
    assert study_imputer("Mean", sparse=True).name == "mean"


def test_a_learner_that_takes_missing_values_gets_them_and_is_compared_with_imputing(tmp_path):
    dataset = table_with_missing_values(share=0.4)
    effort = QUICK | {"learners": [IQGMEClassifier(4, max_iter=30), "ridge"], "sizes": [3]}
    study = run_study(dataset, n_permutations=0, **effort, out=tmp_path / "study")
    (found,) = study.findings.missing.evidence["not_imputed"]
    assert found["learner"].startswith("mixture of experts for missing values (IQGMEClassifier)")
    assert found["score"] == pytest.approx(
        next(each.score for each in study.findings.rivals if each.name == f"all features, {found['learner']}")
    )
    assert found["imputed"]["gain"] == pytest.approx(found["score"] - found["imputed"]["score"])
    assert found["other"]["learner"] == "ridge"
    assert "without imputation and" in study.findings.missing.sentence
    assert "The accuracy of mixture of experts" in study.findings.missing.sentence
    assert "but for learners that take them as they are" in study.findings.missing.how
    assert 'id="not-imputed"' in study.report().read_text(encoding="utf-8")


def test_a_study_without_such_a_learner_has_no_such_comparison(imputed_by_the_median):
    study = imputed_by_the_median
    assert study.findings.missing.evidence["not_imputed"] == []
    assert "without imputation" not in study.findings.missing.sentence
    assert 'id="not-imputed"' not in study.report().read_text(encoding="utf-8")


def test_the_model_of_such_a_learner_imputes_nothing(tmp_path):
    """Classes with a border in each of two groups, which no other candidate can follow."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 4))
    X[:, 0] += 6 * (np.arange(240) % 2)
    y = np.where((X[:, 1] > 0) == (np.arange(240) % 2 == 1), "yes", "no")
    X[rng.random(X.shape) < 0.15] = np.nan
    dataset = Dataset.from_frame({f"x{place}": column for place, column in enumerate(X.T)} | {"y": y}, target="y")
    effort = QUICK | {"learners": [IQGMEClassifier(4, max_iter=30), "ridge"], "sizes": [1], "impute": "PCAMissing"}
    study = run_study(dataset, n_permutations=0, **effort, out=tmp_path / "study")
    assert study.findings.plan.candidates[study.findings.winner].takes_missing
    assert "fill" not in study.model.pipeline["prepare"].named_steps
    assert study.model.columns == ("x0", "x1", "x2", "x3")
    loaded = StudyModel.load(study.folder.model)
    found = apply_model(loaded, dataset)
    assert found.equals(apply_model(study.model, dataset))
    assert (found["predicted_y"].to_numpy() == y).mean() > 0.8
