"""Held-out predictions: they are those that were scored, and their curves have known answers on known pieces."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer

from fewer.facade import Study, run_study
from fewer.io import Dataset
from fewer.learn import proper_loss
from fewer.study import Journal, Plan, StudyError, make_plan, promise_of, score_model, study_data
from fewer.study.answers._sentences import WORDS
from fewer.study.plan._scoring import scorer_named
from fewer.study.questions.predictions import answered, precision_of_fold, roc_of_fold
from fewer.study.work._predictions import PROCEDURES

EFFORT = {"preset": "quick", "n_folds": 4, "n_repeats": 2, "n_permutations": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def study(make_table, tmp_path_factory):
    effort = EFFORT | {"methods": ["anova"], "learners": ["ridge", "naive_bayes"]}
    return run_study(make_table(shift=0.8), out=tmp_path_factory.mktemp("study"), **effort)


def test_predictions_of_each_procedure_give_its_score(study):
    frame, findings = study.predictions, study.findings
    right = frame.with_columns(right=pl.col("truth") == pl.col("prediction"))
    folds = right.group_by("procedure", "repeat", "fold").agg(pl.col("right").mean())
    means = dict(folds.group_by("procedure").agg(pl.col("right").mean()).iter_rows())
    expected = findings.compared.number, findings.fewer_help.evidence["with_all"], findings.curve["baseline"]
    assert means == pytest.approx(dict(zip(PROCEDURES, expected, strict=True)))
    [accuracy] = findings.predictions.evidence["metrics"]
    assert [accuracy[name]["mean"] for name in PROCEDURES] == pytest.approx(expected)
    assert accuracy["winner"]["interval"] == pytest.approx(findings.compared.interval)


def test_every_row_is_held_out_once_in_each_repeat_and_has_its_own_truth(study, make_table):
    frame = study.predictions
    assert set(frame.group_by("procedure", "repeat", "row").len()["len"]) == {1}
    assert len(frame) == 3 * 2 * 60
    truth = np.asarray(make_table(shift=0.8).y)
    assert frame["truth"].to_list() == [truth[row - 1] for row in frame["row"]]


def test_values_of_the_learners_agree_with_their_predictions(study):
    """Ridge gives decision values, naive Bayes probabilities; both of the second class."""
    frame = study.predictions.filter(pl.col("procedure") != "baseline")
    values = {"probability well": 0.5, "decision well": 0.0}
    assert set(values) & set(frame.columns)
    for name in set(values) & set(frame.columns):
        with_value = frame.filter(pl.col(name).is_not_null())
        assert ((with_value[name] > values[name]) == (with_value["prediction"] == "well")).all()


def test_the_file_has_the_same_bytes_when_it_is_written_again(study, make_table):
    folder = study.folder
    before = folder.predictions.read_bytes()
    assert pl.read_parquet(folder.predictions).equals(study.predictions)
    folder.predictions.unlink()
    folder.findings.unlink()
    effort = EFFORT | {"plan": study.plan}
    again = run_study(make_table(shift=0.8), out=folder.path, **effort)
    assert again.folder.predictions.read_bytes() == before
    assert Study(folder.path).predictions.equals(study.predictions)


def test_numbers_have_residuals():
    X = np.random.default_rng(0).normal(size=(60, 8))
    table = Dataset.from_frame(X, target=X[:, 0] + 0.5 * np.random.default_rng(1).normal(size=60))
    study = run_study(table, **(EFFORT | {"methods": ["pearson"], "learners": ["ridge"], "n_repeats": 1}))
    frame = study.predictions.filter(pl.col("procedure") == "winner")
    found = study.findings.predictions.evidence["residuals"]
    expected = (frame["truth"] - frame["prediction"]).to_numpy()
    assert np.allclose(found["residuals"], expected)
    # R2 of the signal is 0.8, that of these held-out rows within three standard errors of it.
    assert np.var(expected) == pytest.approx(0.25, abs=3 * 0.25 * np.sqrt(2 / 60) + 0.03)


def test_on_noise_the_chosen_columns_rank_held_out_rows_at_random(make_table):
    """Columns chosen on all rows would rank them far better: the best 5 of 200 are correlated with any labels."""
    table = make_table(n_rows=80, n_columns=200, shift=0.0)
    effort = EFFORT | {"methods": ["anova"], "learners": ["ridge"], "sizes": [5], "n_repeats": 1}
    curves = run_study(table, **effort).findings.predictions.evidence["curves"]
    error = np.sqrt(81 / (12 * 40 * 40))  # of the area, from Mann and Whitney
    assert curves[0]["roc"]["area"] == pytest.approx(0.5, abs=3 * error)


def test_curves_of_a_fold_with_a_known_order():
    truth = np.array([True, True, False, True, False, False])
    values = np.array([0.9, 0.8, 0.7, 0.6, 0.2, 0.1])
    line, area = roc_of_fold(truth, values)
    assert area == pytest.approx(8 / 9)
    assert line[[10, 14, 40]] == pytest.approx([2 / 3 * 1.0, 1.0, 1.0], abs=0.05)
    precision, average = precision_of_fold(truth, values)
    assert precision[[0, 20, 26]] == pytest.approx([1, 1, 1])
    assert precision[[27, 40]] == pytest.approx([3 / 4, 3 / 4])
    assert average == pytest.approx((1 + 1 + 3 / 4) / 3)


@pytest.mark.parametrize(("exaggerated", "least", "most"), [(1, 0.0, 0.03), (4, 0.1, 0.5)])
def test_calibration_tells_right_from_exaggerated_probabilities(exaggerated, least, most):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(4, 500))
    hits = rng.random(logits.shape) < 1 / (1 + np.exp(-logits))
    said = 1 / (1 + np.exp(-exaggerated * logits))
    answer = answered(_plan(), [_piece(*fold) for fold in zip(hits, said, strict=True)], 1 / 3)
    found = answer.evidence["calibration"]
    assert least <= found["error"] <= most
    assert sum(found["rows"]) == pytest.approx(2000)
    assert (
        f"calibration error {found['error']:.3f}"
        in WORDS["predictions"](SimpleNamespace(plan=_plan()), answer)["sentence"]
    )


def test_a_metric_that_a_fold_does_not_define_has_no_figure():
    pieces = [_piece(np.tile([True, False], 5), np.linspace(0, 1, 10)) for _ in range(4)]
    pieces[0]["procedures"][0]["scores"]["accuracy"] = None
    answer = answered(_plan(), pieces, 1 / 3)
    assert answer.number is None
    assert "not defined on some fold" in WORDS["predictions"](SimpleNamespace(plan=_plan()), answer)["sentence"]


def imbalanced_table(make_table):
    """Five rows of ill to each well one."""
    return make_table(n_rows=90, shift=0.8, classes=("ill", "ill", "ill", "ill", "ill", "well"), seed=1)


@pytest.fixture(scope="module")
def imbalanced(make_table, tmp_path_factory):
    scoring = "balanced_accuracy,roc_auc,neg_log_loss"
    effort = EFFORT | {"methods": ["anova"], "learners": ["naive_bayes", "knn"], "scoring": scoring}
    return run_study(imbalanced_table(make_table), out=tmp_path_factory.mktemp("imbalanced"), **effort)


@pytest.mark.parametrize("procedure", PROCEDURES)
def test_further_metrics_are_those_of_the_held_out_predictions(imbalanced, procedure):
    from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

    frame = imbalanced.predictions.filter(pl.col("procedure") == procedure)
    by_fold = [[], [], []]
    for fold in frame.partition_by("repeat", "fold"):
        truth, said = (fold["truth"] == "well").to_numpy(), fold["probability well"].to_numpy()
        by_fold[0].append(balanced_accuracy_score(fold["truth"], fold["prediction"]))
        by_fold[1].append(roc_auc_score(truth, said))
        by_fold[2].append(-log_loss(truth, said))
    metrics = imbalanced.findings.predictions.evidence["metrics"]
    assert [each["metric"] for each in metrics] == ["balanced_accuracy", "roc_auc", "neg_log_loss"]
    for metric, folds in zip(metrics, by_fold, strict=True):
        assert metric[procedure]["mean"] == pytest.approx(np.mean(folds), rel=1e-3)
        low, high = metric[procedure]["interval"]
        assert low <= metric[procedure]["mean"] <= high


def test_the_first_metric_alone_decides(imbalanced, make_table):
    plan, found = imbalanced.plan, imbalanced.findings
    assert (plan.scoring, plan.more_scoring) == ("balanced_accuracy", ("roc_auc", "neg_log_loss"))
    effort = EFFORT | {"methods": ["anova"], "learners": ["naive_bayes", "knn"], "scoring": "balanced_accuracy"}
    alone = run_study(imbalanced_table(make_table), **effort).findings
    assert (alone.headline, alone.chosen, alone.rivals) == (found.headline, found.chosen, found.rivals)
    assert Plan.from_dict(plan.to_dict()) == plan
    assert "balanced_accuracy; also reported: roc_auc, neg_log_loss" in str(plan)


def test_presets_leave_out_learners_that_some_metric_cannot_score(make_table):
    data = study_data(make_table())
    learners = {each.learner.name for each in make_plan(data, scoring=["accuracy", "neg_log_loss"]).candidates}
    assert "ridge" not in learners
    assert "logistic" in learners
    with pytest.raises(StudyError, match="There is no score 'acuracy'"):
        make_plan(data, scoring="accuracy,acuracy")


def test_a_learner_that_was_asked_for_and_gives_no_probabilities_has_no_such_metric(make_table):
    effort = EFFORT | {"methods": ["anova"], "learners": ["ridge"], "n_repeats": 1, "sizes": [2]}
    findings = run_study(make_table(), scoring=["accuracy", "neg_log_loss"], **effort).findings
    accuracy, loss = findings.predictions.evidence["metrics"]
    assert accuracy["winner"]["mean"] == pytest.approx(findings.compared.number)
    assert loss["winner"]["mean"] is None
    assert "Negative log loss is not defined on some fold" in findings.predictions.sentence


def test_the_report_says_why_classes_of_very_different_sizes_are_scored_by_balanced_accuracy(imbalanced):
    why = imbalanced.findings.predictions.evidence["why"]
    assert (
        "always predicting ill, the most frequent class, has an accuracy of 0.833 and a balanced accuracy of 0.5" in why
    )
    assert "well has 33%" in why
    assert why in imbalanced.folder.report.read_text()


def _plan():
    from types import SimpleNamespace

    metrics = {"scoring": "accuracy", "metrics": ("accuracy",)}
    return SimpleNamespace(classify=True, n_repeats=1, n_folds=4, confidence=0.95, **metrics)


def _piece(hits, probabilities):
    said = {
        "predicted": ["b" if p > 0.5 else "a" for p in probabilities],
        "response": "probability",
        "classes": ["b"],
        "values": [[p] for p in probabilities],
    }
    return {
        "truth": ["b" if hit else "a" for hit in hits],
        "procedures": [dict(said, scores={"accuracy": 0.7}) for _ in PROCEDURES],
    }


def test_proper_scores_decide_and_are_reported(make_table):
    table = make_table(n_rows=90, shift=1.0)
    scoring = "neg_boosting_loss,neg_minimal_loss,neg_log_loss,neg_brier_score,accuracy"
    effort = EFFORT | {"methods": ["anova"], "learners": ["logistic"], "scoring": scoring, "n_repeats": 1}
    study = run_study(table, **(effort | {"n_permutations": 19}))
    metrics = {each["metric"]: each for each in study.findings.predictions.evidence["metrics"]}
    assert list(metrics) == scoring.split(",")
    frame = study.predictions.filter(pl.col("procedure") == "winner")
    for name, loss in (("neg_boosting_loss", "boosting"), ("neg_minimal_loss", "minimal"), ("neg_log_loss", "log")):
        by_fold = [
            -proper_loss(loss).loss(
                (part["truth"] == "well").to_numpy().astype(int), part["probability well"].to_numpy()
            )
            for _, part in frame.group_by(["repeat", "fold"], maintain_order=True)
        ]
        # Predictions in the file have six digits.
        assert metrics[name]["winner"]["mean"] == pytest.approx(np.mean(by_fold), rel=1e-4)
        assert metrics[name]["winner"]["interval"][1] <= 0
        assert metrics[name]["winner"]["mean"] > metrics[name]["baseline"]["mean"]
    assert study.findings.learnable.verdict == "yes"
    assert "Negative boosting loss" in study.findings.predictions.sentence


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_brier_score_is_that_of_scikit_learn_whatever_the_classes_are_called(n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % n_classes
    X[:, 0] += y
    named = np.array(["ill", "well", "unknown"])[y]
    expected = get_scorer("neg_brier_score")(LogisticRegression().fit(X, y), X, y)
    model = LogisticRegression().fit(X, named)
    assert scorer_named("neg_brier_score")(model, X, named) == pytest.approx(expected, rel=1e-4)


def test_proper_scores_are_for_two_classes(make_table, quick_plan):
    three = study_data(make_table(classes=("a", "b", "c")))
    with pytest.raises(StudyError, match=r"'neg_minimal_loss' cannot be used .* for two classes, not 3"):
        quick_plan(three, scoring="neg_minimal_loss")


def test_a_proper_score_of_another_table_is_that_of_the_promise(make_table, tmp_path):
    effort = EFFORT | {"methods": ["anova"], "learners": ["naive_bayes"], "scoring": "neg_boosting_loss"}
    study = run_study(make_table(n_rows=90), out=tmp_path, **effort)
    with Journal.read(study.folder.journal) as journal:
        found = score_model(study.model, make_table(n_rows=90, seed=4), promise_of(journal))
    assert found.scoring == "neg_boosting_loss"
    assert found.score < 0
