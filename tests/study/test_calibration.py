"""Calibrated probabilities and thresholds come from held-out rows, and a fold has no say in its own."""

import json

import numpy as np
import polars as pl
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from fewer import Study, run_study
from fewer.io import Dataset
from fewer.study import StudyError, StudyModel, apply_model
from fewer.study.model._calibration import (
    Calibration,
    Responses,
    best_threshold,
    fitted_calibration,
    is_calibration,
)

EFFORT = {"preset": "quick", "n_folds": 4, "n_repeats": 1, "n_permutations": 0, "n_jobs": 1}


@pytest.mark.parametrize("exaggerated", [0.25, 1.0, 4.0])
def test_exaggerated_log_odds_are_put_right(exaggerated):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=4000)
    truth = np.where(rng.random(4000) < expit(logits), "yes", "no")
    found = fitted_calibration(exaggerated * logits[:, None], truth, ["yes"], "decision")
    # The information of the slope of a logistic regression on a standard normal column is about 0.15 a row.
    assert found.slopes[0] * exaggerated == pytest.approx(1, abs=3 / np.sqrt(0.15 * 4000))
    assert found.intercepts[0] == pytest.approx(0, abs=3 / np.sqrt(0.2 * 4000))


def test_sigmoids_are_the_most_likely_ones_to_six_digits():
    """Against a logistic regression with each row twice, weighted by its soft target."""
    rng = np.random.default_rng(5)
    values = rng.normal(size=246) * 0.3
    truth = np.where(rng.random(246) < expit(4 * values + 1), "yes", "no")
    found = fitted_calibration(values[:, None], truth, ["yes"], "decision")
    inside, n_inside = truth == "yes", np.sum(truth == "yes")
    target = np.where(inside, (n_inside + 1) / (n_inside + 2), 1 / (246 - n_inside + 2))
    peer = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
    peer.fit(np.r_[values, values][:, None], np.repeat([1, 0], 246), sample_weight=np.r_[target, 1 - target])
    assert found.slopes[0] == pytest.approx(peer.coef_[0, 0], rel=1e-5)
    assert found.intercepts[0] == pytest.approx(peer.intercept_[0], rel=1e-5)


def test_right_probabilities_stay_as_they_are():
    rng = np.random.default_rng(1)
    chances = rng.beta(2, 2, size=4000)
    truth = np.where(rng.random(4000) < chances, "yes", "no")
    found = fitted_calibration(chances[:, None], truth, ["yes"], "probability").probabilities(chances[:, None])
    assert np.abs(found[:, 0] - chances).max() < 0.05


def test_a_response_against_the_truth_gives_the_share_of_the_class():
    """A slope below zero would turn the order of the learner around; on noise it is as likely as one above."""
    truth = ["yes"] * 30 + ["no"] * 60
    found = fitted_calibration(np.r_[np.zeros(30), np.ones(60)][:, None], truth, ["yes"], "decision")
    assert found.slopes == (0.0,)
    assert found.probabilities(np.array([[0.0], [9.0]])) == pytest.approx(np.full((2, 1), 1 / 3), abs=0.01)


def test_probabilities_of_several_classes_add_up_to_one():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 3, 600)
    values = rng.normal(size=(600, 3)) + 2 * np.eye(3)[codes]
    classes = ["a", "b", "c"]
    chances = fitted_calibration(values, np.array(classes)[codes], classes, "decision").probabilities(values)
    assert chances.sum(axis=1) == pytest.approx(np.ones(600))
    assert chances.mean(axis=0) == pytest.approx(np.bincount(codes) / 600, abs=0.03)
    assert log_loss(codes, chances) < 0.7 * np.log(3)


def test_a_constant_response_and_one_class_are_taken():
    found = fitted_calibration(np.zeros((10, 1)), ["a", "b"] * 5, ["b"], "decision")
    assert found.probabilities(np.zeros((1, 1)))[0, 0] == pytest.approx(0.5)
    alone = fitted_calibration(np.arange(5.0)[:, None], ["b"] * 5, ["b"], "decision").probabilities(np.zeros((1, 1)))
    assert 0.8 < alone[0, 0] < 1


def responses(seed=0, strength=0.0):
    rng = np.random.default_rng(seed)
    truth = [np.array(["no", "yes"] * 30) for _ in range(5)]
    values = [rng.normal(size=(60, 1)) + strength * (labels == "yes")[:, None] for labels in truth]
    return Responses("decision", ["yes"], values, truth, [np.ones(len(each)) for each in truth])


def test_no_row_has_a_say_in_its_own_probability_or_threshold():
    """A planted leak: the labels of one fold are turned around; nothing of that fold may change."""
    before, after = responses(strength=1.0), responses(strength=1.0)
    after.truth[2] = np.where(after.truth[2] == "yes", "no", "yes")
    same = [np.array_equal(*pair) for pair in zip(before.held_out(), after.held_out(), strict=True)]
    assert same == [False, False, True, False, False]
    costs = 5.0, 1.0
    assert before.calibration(costs, without=2) == after.calibration(costs, without=2)
    assert before.calibration(costs) != after.calibration(costs)


def test_on_noise_calibrated_probabilities_promise_nothing():
    """Sigmoids of the same rows would seem to beat the shares of the classes, those of other folds do not."""
    losses, leaking = [], []
    for seed in range(40):
        found = responses(seed)
        truth, values = np.concatenate(found.truth), np.concatenate(found.values)
        losses.append(log_loss(truth, np.concatenate(found.held_out())[:, 0]))
        leaking.append(log_loss(truth, found.calibration().probabilities(values)[:, 0]))
    error = np.std(losses) / np.sqrt(40)
    assert np.mean(losses) > np.log(2) - 2 * error
    assert np.mean(leaking) < np.mean(losses)


def test_on_noise_a_threshold_costs_no_less_than_one_decision_for_all():
    costs = [responses(seed).held_out_cost(1.0, 1.0) for seed in range(40)]
    assert np.mean(costs) > 0.5 - 2 * np.std(costs) / np.sqrt(40)


def test_the_threshold_is_the_cheapest_for_right_probabilities():
    rng = np.random.default_rng(3)
    chances = rng.random(20_000)
    positive = rng.random(20_000) < chances
    for fn, fp in ((1, 1), (5, 1), (1, 8)):
        costs = [
            np.where(positive, fn * (chances < threshold), fp * (chances >= threshold)).mean()
            for threshold in np.linspace(0.02, 0.98, 49)
        ]
        best = best_threshold(fn, fp)
        found = np.where(positive, fn * (chances < best), fp * (chances >= best)).mean()
        assert found < min(costs) + 3 * max(fn, fp) / np.sqrt(20_000)


def noise(n_rows, seed):
    rng = np.random.default_rng(seed)
    columns = {f"x{place}": column for place, column in enumerate(rng.normal(size=(200, n_rows)))}
    return Dataset.from_frame(columns | {"state": np.tile(["ill", "well"], n_rows // 2)}, target="state")


def test_new_rows_of_noise_get_the_shares_of_the_classes():
    """Columns are chosen on all rows, and fit them well; sigmoids fitted to these rows would believe it."""
    table, other = noise(80, 0), noise(400, 1)
    study = run_study(table, **EFFORT, methods=["anova"], learners=["svm"], sizes=[10])
    chances = study.model.probabilities(other)[1][:, 1]
    honest = log_loss(other.y, chances)
    rows = study.best_pipeline_.decision_function(table.keep(study.columns_).X)[:, None]
    leaking = fitted_calibration(rows, table.y, ["well"], "decision")
    values = study.best_pipeline_.decision_function(other.keep(study.columns_).X)[:, None]
    assert honest < np.log(2) + 0.05
    assert log_loss(other.y, leaking.probabilities(values)[:, 0]) > honest + 0.03


@pytest.fixture(scope="module")
def with_costs(make_table, tmp_path_factory):
    table = make_table(n_rows=120, n_columns=8, shift=1.2)
    folder = tmp_path_factory.mktemp("costs")
    return table, run_study(table, out=folder, **EFFORT, methods=["anova"], learners=["ridge"], cost="FN=9,FP=1")


def test_a_learner_without_probabilities_gets_them_and_the_file_keeps_them(with_costs, make_table):
    table, study = with_costs
    assert not hasattr(study.best_pipeline_, "predict_proba")
    new = make_table(n_rows=60, n_columns=8, shift=1.2, seed=5)
    loaded = StudyModel.load(study.folder.model)
    assert loaded.calibration == study.model.calibration
    frame = apply_model(loaded, new)
    chances = frame.select("probability_ill", "probability_well").to_numpy()
    assert chances.sum(axis=1) == pytest.approx(np.ones(60))
    assert log_loss(new.y, chances) < 0.6
    assert np.array_equal(chances, study.model.probabilities(new.to_pandas())[1])
    found = study.findings.predictions
    assert "Expected calibration error" in found.sentence
    assert found.evidence["calibrated"]["log_loss"] < found.evidence["calibrated"]["log_loss_of_shares"]
    assert "before calibration" not in found.sentence
    assert table.n_rows == sum(found.evidence["calibrated"]["rows"])


def test_decisions_follow_the_costs(with_costs, make_table):
    _, study = with_costs
    frame = apply_model(study.model, make_table(n_rows=60, n_columns=8, shift=1.2, seed=5))
    called = (frame["decision_state"] == "well").sum()
    assert called > (frame["predicted_state"] == "well").sum()
    threshold = study.model.calibration.threshold
    assert threshold == 0.1
    assert ((frame["probability_well"] >= threshold) == (frame["decision_state"] == "well")).all()
    assert study.findings.predictions.evidence["calibrated"]["cost"] < study.findings.cost.evidence["constant"]


def test_without_costs_there_is_no_decision(make_table):
    study = run_study(make_table(), **EFFORT, methods=["anova"], learners=["knn"])
    frame = apply_model(study.model, make_table(seed=3))
    assert "decision_state" not in frame.columns
    assert study.model.calibration.response == "probability"
    assert "before calibration" in study.findings.predictions.sentence


def test_numbers_have_no_probabilities():
    X = np.random.default_rng(0).normal(size=(40, 4))
    study = run_study(Dataset.from_frame(X, target=X[:, 0]), **EFFORT, methods=["pearson"], learners=["ridge"])
    assert study.model.calibration is None
    assert study.model.probabilities(X)[0] == []
    assert [name for name in apply_model(study.model, Dataset.from_frame(X)).columns if "prob" in name] == []


def test_three_classes_have_three_probabilities(make_table, tmp_path):
    table = make_table(n_rows=90, classes=("a", "b", "c"))
    study = run_study(table, out=tmp_path, **EFFORT, methods=["anova"], learners=["ridge"])
    frame = Study(tmp_path).model
    chances = apply_model(frame, table).select(pl.col("^probability_.*$")).to_numpy()
    assert chances.shape == (90, 3)
    assert chances.sum(axis=1) == pytest.approx(np.ones(90))
    assert study.model.calibration.classes == ("a", "b", "c")


GOOD = Calibration("decision", ("a",), (1.0,), (0.0,)).to_dict()


@pytest.mark.parametrize(
    "changes",
    [
        {"response": "other"},
        {"slopes": [1.0, 2.0]},
        {"slopes": [float("nan")]},
        {"intercepts": ["a"]},
        {"classes": []},
        {"classes": "a"},
        {"threshold": "a"},
        {"more": 1},
    ],
)
def test_a_calibration_of_another_shape_is_refused(changes, with_costs, tmp_path):
    assert is_calibration(GOOD)
    assert not is_calibration(GOOD | changes)


def test_a_model_with_a_damaged_calibration_is_refused(with_costs, tmp_path):
    from fewer.study.files._checked_file import read_checked, write_checked

    study = with_costs[1]
    for name in ("model.skops", "model.json"):
        (tmp_path / name).write_bytes((study.folder.path / name).read_bytes())
    about = read_checked(tmp_path / "model.json")
    assert json.dumps(about["calibration"])
    write_checked(tmp_path / "model.json", about | {"calibration": {"slopes": [1.0]}})
    with pytest.raises(StudyError, match=r"model\.json does not describe a model"):
        StudyModel.load(tmp_path / "model.skops")


def test_weights_in_sigmoids_are_repeated_rows():
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=(80, 1)), rng.integers(1, 4, 80)
    truth = np.where(values[:, 0] + rng.normal(size=80) > 0, "yes", "no")
    again = np.repeat(np.arange(80), weights)
    ours = fitted_calibration(values, truth, ["yes"], "decision", weights)
    theirs = fitted_calibration(values[again], truth[again], ["yes"], "decision")
    np.testing.assert_allclose([*ours.slopes, *ours.intercepts], [*theirs.slopes, *theirs.intercepts], rtol=1e-4)
    assert ours.slopes != fitted_calibration(values, truth, ["yes"], "decision").slopes


def test_no_weight_or_label_of_a_fold_reaches_its_calibrated_probabilities():
    """A planted leak: the rows of one fold get huge weights and the other label."""
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(30, 1)) for _ in range(4)]
    truth = [np.where(each[:, 0] + rng.normal(size=30) > 0, "yes", "no") for each in values]
    weights = [rng.random(30) for _ in range(4)]
    ours = Responses("decision", ["yes"], values, truth, weights)
    flipped = [np.where(truth[0] == "yes", "no", "yes"), *truth[1:]]
    leaking = Responses("decision", ["yes"], values, flipped, [1000 * weights[0], *weights[1:]])
    assert np.array_equal(ours.held_out()[0], leaking.held_out()[0])
    assert not np.array_equal(ours.held_out()[1], leaking.held_out()[1])
