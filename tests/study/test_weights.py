"""Weights of the rows reach fits, scores and the test, and nothing of a row that is held out reaches a fit."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import RidgeClassifierCV
from sklearn.metrics import accuracy_score

from fewer.catalogue import LEARNERS
from fewer.facade import Study, run_study
from fewer.io import Dataset, TableError
from fewer.study import StudyError, fit_weighted, make_plan, study_data
from fewer.study.table._weights import takes_weights
from fewer.study.work._predictions import fitted_cell
from fewer.study.work._reference import randomised
from fewer.study.work._work import Bench, FoldWork, do_fold

EFFORT = {"preset": "quick", "methods": ["anova"], "learners": ["ridge"], "n_folds": 4, "n_repeats": 1}


def frame(n_rows=80, seed=0, **columns):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=n_rows) > 0, "ill", "well")
    table = {f"x{place}": column for place, column in enumerate(X.T)} | {"w": rng.integers(0, 4, n_rows), "state": y}
    return pl.DataFrame(table | columns)


def data_of(table):
    return study_data(Dataset.from_frame(table, target="state"), weights="w")


@pytest.fixture(scope="module")
def data():
    return data_of(frame())


@pytest.fixture(scope="module")
def plan(data):
    return make_plan(data, n_permutations=19, **EFFORT)


def test_whole_weights_are_repeated_rows():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(60, 3)), rng.integers(1, 4, 60)
    again = np.repeat(np.arange(60), weights)
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    # Those without random numbers, folds or bins of rows, for which copies are not the same as weights.
    for name in ("svm", "naive_bayes"):
        build = LEARNERS[name].build
        weighted = fit_weighted(build(classify=True), X, y, weights.astype(float))
        repeated = build(classify=True).fit(X[again], y[again])
        assert (weighted.predict(X) == repeated.predict(X)).mean() > 0.98


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "multinomial_nb"])
@pytest.mark.parametrize("classify", [True, False])
def test_a_learner_takes_weights_or_is_known_not_to(name, classify):
    learner = LEARNERS[name]
    if (learner.classifier if classify else learner.regressor) is None:
        pytest.skip("it is for another target")
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(60, 3)), rng.random(60)
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int) if classify else np.exp(X[:, 0] + rng.normal(size=60))
    model = fit_weighted(learner.build(classify=classify), X, y, weights)
    assert "_metadata_request" not in vars(model)
    if takes_weights(learner.build(classify=classify)) and name not in ("extra_trees", "boosting"):
        plain = learner.build(classify=classify).fit(X, y)
        assert any(
            not np.allclose(getattr(model, said)(X), getattr(plain, said)(X))
            for said in ("predict_proba", "decision_function", "predict")
            if hasattr(plain, said)
        )


def test_the_weights_are_no_feature_and_change_the_fingerprint(data):
    assert "w" not in data.dataset.columns
    assert {each.name: each.left_out for each in data.left_out} == {"w": "it is the weight of each row"}
    assert data.fingerprint != study_data(Dataset.from_frame(frame().drop("w"), target="state")).fingerprint
    other = frame().with_columns(w=pl.col("w").reverse())
    assert data.fingerprint != data_of(other).fingerprint


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([-1.0] * 80, "not negative, but the column 'w' has -1 in row 1"),
        ([np.inf] * 80, "must be finite"),
        (["a"] * 80, "does not contain numbers"),
        ([0.0] * 79 + [1.0], "Fewer than two rows have a positive weight"),
    ],
)
def test_what_cannot_be_weights_is_refused(weights, said):
    with pytest.raises(StudyError, match=said):
        data_of(frame(w=weights))


def test_missing_and_unknown_weights_are_refused():
    with pytest.raises(TableError, match=r"'w' \(weights=\) has 1 missing value: add the values, or remove these rows"):
        data_of(frame(w=[None] + [1.0] * 79))
    with pytest.raises(ValueError, match="weight"):
        study_data(Dataset.from_frame(frame(), target="state"), weights="weight")
    with pytest.raises(StudyError, match="'w' is given twice, by weights= and by groups="):
        study_data(Dataset.from_frame(frame(), target="state"), weights="w", groups="w")


def test_learners_without_weights_are_refused_by_name_and_left_out_of_presets(data):
    with pytest.raises(StudyError, match="The learner 'knn' does not take weights of the rows; use ridge"):
        make_plan(data, learners=["knn"])
    presets = make_plan(data, preset="thorough")
    assert {each.learner.name for each in presets.candidates} == {
        "baseline",
        "ridge",
        "logistic",
        "svm",
        "svm10",
        "extra_trees",
        "naive_bayes",
    }
    with pytest.raises(StudyError, match="with weights of the rows"):
        make_plan(data_of(frame(state=np.arange(80.0))), scoring="neg_max_error")


def test_scores_are_those_of_weighted_fits(data, plan):
    bench = Bench(plan, data)
    fold, rows = bench.repeats[0][0], bench.prepared(0, 0)
    y, weights = np.asarray(data.dataset.y), data.weights
    with_all = next(number for number, each in enumerate(plan.candidates) if each.labels[0] == "all features")
    model = RidgeClassifierCV(alphas=plan.candidates[with_all].learner.learner(classify=True, seed=0).alphas)
    model.fit(rows.X_train, y[fold.train], sample_weight=weights[fold.train])
    expected = accuracy_score(y[fold.test], model.predict(rows.X_test), sample_weight=weights[fold.test])
    assert do_fold(FoldWork(with_all, 0, 0), bench)["scores"] == pytest.approx([expected])


def test_nothing_of_a_held_out_row_reaches_a_fit(data, plan):
    """A planted leak: held-out rows get huge weights and the other label."""
    bench = Bench(plan, data)
    test = bench.repeats[0][0].test
    weights, y = data.weights.copy(), np.asarray(data.dataset.y).copy()
    weights[test] *= 1000
    y[test] = np.where(y[test] == "ill", "well", "ill")
    changed = replace(data, dataset=replace(data.dataset, y=y), weights=weights)
    leaking = Bench(plan, changed, bench.repeats)
    for number in range(1, len(plan.candidates)):
        ours, theirs = (fitted_cell(each, 0, 0, (number, 2)) for each in (bench, leaking))
        assert ours.names == theirs.names
        assert np.array_equal(ours.model.decision_function(ours.X_test), theirs.model.decision_function(theirs.X_test))


def test_weights_move_with_the_target_when_it_is_permuted(data):
    drawn = randomised(data, "labels", np.random.default_rng(0))
    y, weights = np.asarray(data.dataset.y), data.weights
    pairs = sorted(zip(y.tolist(), weights.tolist(), strict=True))
    assert sorted(zip(drawn.dataset.y.tolist(), drawn.weights.tolist(), strict=True)) == pairs
    assert not np.array_equal(drawn.weights, weights)
    assert np.array_equal(drawn.dataset.X, data.dataset.X)


def test_a_stopped_study_with_weights_goes_on_to_the_same_findings(with_and_without_a_stop):
    data = data_of(frame(40).drop("x3", "x4"))
    plan = make_plan(data, n_permutations=19, **(EFFORT | {"n_folds": 2}))
    undisturbed, resumed = with_and_without_a_stop(plan, data)
    assert undisturbed == resumed


def test_rows_of_weight_zero_do_not_count(tmp_path):
    """Half of the rows have labels at random; with weight zero, they leave no trace in the score."""
    rng = np.random.default_rng(1)
    wrong = np.arange(160) % 2 == 0
    table = frame(160, seed=1)
    state = np.where(wrong, rng.permutation(table["state"].to_numpy()), table["state"].to_numpy())
    table = table.with_columns(state=state, w=np.where(wrong, 0.0, 1.0))
    effort = EFFORT | {"n_permutations": 0, "n_jobs": 1, "target": "state"}
    weighted = run_study(table, weights="w", out=tmp_path / "study", **effort).findings
    plain = run_study(table.drop("w"), **effort).findings
    assert weighted.compared.number > plain.compared.number + 0.1
    caution = next(each for each in weighted.cautions if each.topic == "weights")
    assert caution.evidence["column"] == "w"
    again = Study(tmp_path / "study")
    assert again.findings.to_json() == weighted.to_json()
    assert len(again.best_pipeline().predict(table)) == 160
