"""A plan is plain data: it is saved, loaded, compared, and says what is wrong with it.

The plan inside of a report is found there again.
"""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from fewer.io import Dataset
from fewer.study import Plan, StudyError, make_plan, study_data
from fewer.study.plan._candidates import _learners, _reducers, candidates_for, size_path
from fewer.study.plan._plan_file import PLAN_ELEMENT, plan_text
from fewer.study.work._work import Bench, FoldWork, do_fold


@pytest.fixture(scope="module")
def data(make_table):
    return study_data(make_table())


def test_a_plan_comes_back_from_its_file(data, tmp_path):
    plan = make_plan(data, reading={"table": "a.csv"})
    plan.save(tmp_path / "plan.json")
    assert Plan.load(tmp_path / "plan.json") == plan


def test_what_another_plan_does_differently_is_named(data):
    plan = make_plan(data)
    assert plan.differences(replace(plan, source="elsewhere.csv")) == []
    assert plan.differences(replace(plan, candidates=plan.candidates[:-1])) == ["the candidates"]
    other = replace(plan, n_folds=plan.n_folds + 1, fingerprint="another")
    assert plan.differences(other) == ["the table itself", f"n_folds ({plan.n_folds} and {plan.n_folds + 1})"]


def test_a_plan_comes_back_from_a_report(data, tmp_path):
    plan = make_plan(data)
    page = f'<html><script type="application/json" id="fewer-plan">{plan.to_json()}</script></html>'
    (tmp_path / "report.html").write_text(page)
    assert Plan.load(tmp_path / "report.html").identity == plan.identity


def test_a_page_without_a_plan_is_refused(tmp_path):
    (tmp_path / "other.html").write_text("<html></html>")
    with pytest.raises(StudyError, match="contains no plan"):
        Plan.load(tmp_path / "other.html")


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 99}', '{"version": 1, "seed": 0}'])
def test_what_is_no_plan_is_refused(tmp_path, text):
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(StudyError):
        Plan.load(tmp_path / "plan.json")


def test_everything_that_changes_numbers_changes_the_identity(data):
    plan = make_plan(data)
    others = [replace(plan, **change) for change in ({"seed": 1}, {"n_folds": 3}, {"scoring": "f1_macro"})]
    assert len({each.identity for each in [plan, *others]}) == 4
    assert replace(plan, source="b", reading={"table": "c"}).identity == plan.identity


def test_all_features_and_the_simplest_are_always_among_the_candidates(data):
    for preset in ("quick", "standard", "thorough"):
        names = [candidate.name for candidate in make_plan(data, preset=preset).candidates]
        assert names[0] == "most frequent class"
        assert "all features, ridge" in names


def test_scores_are_found_in_capitals_too(data):
    spelt = [make_plan(data, methods=[name], learners=["ridge"]).candidates for name in ("anova", "ANOVA")]
    assert spelt[0] == spelt[1]


def test_methods_may_be_scores_or_selectors(data):
    plan = make_plan(data, methods=["fisher", "RidgeRFE"], learners=["knn"])
    assert [candidate.name for candidate in plan.candidates[2:]] == [
        "fisher, nearest neighbours",
        "RidgeRFE, nearest neighbours",
    ]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"methods": ["fischer"]}, "fisher"),
        ({"methods": ["SoftImpute"]}, "is neither a selector nor an extractor"),
        ({"methods": ["anva"]}, "no selection method 'anva'. Did you mean 'anova'?"),
        ({"methods": ["nonsense"]}, "The methods are: 'anova'"),
        ({"learners": ["rigde"]}, "no learner 'rigde'.*Did you mean ridge"),
        ({"methods": ["SequentialSearch"]}, "cannot be written into a plan.*; use .*MRMR"),
        ({"methods": ["HaarFeatures"]}, "has no parameter for the number of columns"),
        ({"methods": ["chi2"]}, "needs non-negative counts"),
        ({"learners": ["boost"]}, "no learner 'boost'.*Did you mean boosting"),
        (
            {"learners": ["multinomial_nb"]},
            "needs non-negative counts, but this table has negative numbers.*; use ridge",
        ),
        ({"learners": ["poisson"]}, "is a regressor, but the target has classes; use ridge"),
        ({"preset": "fast"}, "must be one of quick"),
        ({"scoring": "acuracy"}, "There is no score 'acuracy' in scikit-learn or fewer. Did you mean 'accuracy'"),
        ({"n_folds": 1}, "n_folds must be at least 2, not 1"),
        ({"n_folds": 100}, "n_folds must be at most the number of rows \\(60\\), not 100"),
        ({"n_repeats": 0}, "n_repeats must be at least 1, not 0"),
        ({"n_permutations": -1}, "n_permutations must be at least 0"),
        ({"n_permutations": 9}, "smallest p-value is 0.100.* Use 19 or more"),
        ({"preset": "quick", "confidence": 0.995}, "Use 199 or more"),
        ({"sizes": [0, 5]}, "sizes must be at least 1, not 0"),
        ({"sizes": [500]}, "sizes must be less than the number of columns \\(20\\), not 500"),
        ({"sizes": [20]}, "sizes must be less than the number of columns \\(20\\), not 20"),
        ({"confidence": 95}, "between 0 and 1"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_said_before_anything_runs(data, wrong, words):
    with pytest.raises(StudyError, match=words):
        make_plan(data, **wrong)


@pytest.mark.parametrize(
    ("classes", "scoring"), [(("a", "b", "c"), "roc_auc"), (("a", "b"), "f1"), (("a", "b"), "r2"), (None, "accuracy")]
)
def test_a_score_that_does_not_go_with_the_target_is_refused_before_anything_runs(make_table, classes, scoring):
    table = make_table(classes=classes) if classes else Dataset.from_frame(np.eye(9), target=np.arange(9) / 7)
    with pytest.raises(StudyError, match=f"The score '{scoring}' cannot be used for the target"):
        make_plan(study_data(table), scoring=scoring)


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", "f1_macro", "matthews_corrcoef"])
def test_scores_for_two_classes_of_words_are_taken(data, scoring):
    assert make_plan(data, scoring=scoring).scoring == scoring


@pytest.mark.filterwarnings("ignore:No column gains more than chance")
def test_what_cannot_take_a_sparse_table_is_not_tried_on_one():
    X = sp.random(40, 30, 0.2, format="csr", random_state=0)
    sparse = study_data(Dataset.from_frame(X, target=np.array(["a", "b"])[np.arange(40) % 2]))
    plan = make_plan(sparse, preset="thorough")
    bench = Bench(plan, sparse)
    tried = set()
    for number, candidate in enumerate(plan.candidates):
        parts = {("learner", candidate.learner.name), ("reducer", str(candidate.reducer))}
        if not parts <= tried:
            do_fold(FoldWork(number, 0, 0), bench)
            tried |= parts
    assert {candidate.learner.name for candidate in plan.candidates} == {
        "baseline",
        "ridge",
        "logistic",
        "svm",
        "svm10",
        "extra_trees",
        "knn",
    }
    with pytest.raises(
        StudyError, match="'lda' does not support sparse tables; use ridge, logistic, svm, svm10, extra"
    ):
        make_plan(sparse, learners=["lda"])
    for dense_only in ("relieff", "ShadowRelevanceSelector"):
        with pytest.raises(
            StudyError, match=f"^{dense_only} does not support sparse tables; use (?!.*relief).*anova.*MRMR"
        ):
            make_plan(sparse, methods=[dense_only])


def test_one_column_leaves_nothing_to_choose():
    alone = study_data(Dataset.from_frame(np.arange(20.0)[:, None], target=np.arange(20) % 2))
    with pytest.raises(StudyError, match="a study needs at least two"):
        make_plan(alone)


def test_what_is_named_twice_is_tried_once(data):
    plan = make_plan(data, methods=["anova", "anova"], learners=["knn", "knn"])
    assert len(plan.candidates) == 3


def test_learners_for_classes_are_refused_for_numbers():
    rng = np.random.default_rng(0)
    numbers = study_data(Dataset.from_frame(rng.normal(size=(30, 4)), target=rng.normal(size=30)))
    tried = {candidate.learner.name for candidate in make_plan(numbers, preset="thorough").candidates}
    assert tried == {"baseline", "ridge", "svm", "svm10", "extra_trees", "knn"}
    with pytest.raises(StudyError, match="is a classifier, but the target is numeric"):
        make_plan(numbers, learners=["naive_bayes"])


def test_learners_for_counts_are_refused_for_targets_below_zero():
    rng = np.random.default_rng(0)
    numbers = study_data(Dataset.from_frame(rng.normal(size=(30, 4)), target=rng.normal(size=30)))
    with pytest.raises(StudyError, match=r"'poisson' needs a non-negative target, .* negative numbers; use ridge"):
        make_plan(numbers, learners=["poisson"])


def test_a_learner_that_solves_for_all_rows_at_once_is_refused_for_many():
    many = study_data(Dataset.from_frame(np.random.default_rng(0).normal(size=(5001, 2)), target=np.arange(5001) % 2))
    with pytest.raises(
        StudyError, match=r"'kernel_ridge' supports at most 5,000 rows, but the table has 5,001; use ridge"
    ):
        make_plan(many, learners=["kernel_ridge"])


@pytest.mark.parametrize(
    ("scoring", "losses"),
    [
        ("neg_mean_poisson_deviance", [{}, {"criterion": "poisson"}, {"loss": "poisson"}]),
        ("neg_mean_gamma_deviance", [{}, {"criterion": "poisson"}, {"loss": "gamma"}]),
    ],
)
def test_where_predictions_must_be_positive_presets_have_learners_that_give_such(scoring, losses):
    rng = np.random.default_rng(0)
    counts = study_data(Dataset.from_frame(rng.normal(size=(1000, 4)), target=1.5 + rng.poisson(3, 1000)))
    everything = [each for each in make_plan(counts, preset="quick", scoring=scoring).candidates if not each.reducer]
    assert [each.learner.name for each in everything] == ["baseline", "poisson", "extra_trees", "boosting"]
    assert [each.learner.params for each in everything[1:]] == losses
    with pytest.raises(StudyError, match=r"'ridge' may predict negative numbers.*; use extra_trees, .*poisson"):
        make_plan(counts, scoring=scoring, learners=["ridge"])


def test_a_rare_class_is_scored_by_balanced_accuracy(make_table):
    table = make_table(100)
    rare = np.flatnonzero(table.y == "ill")[:6]
    few = table.take(np.concatenate([rare, np.flatnonzero(table.y == "well")]))
    assert make_plan(study_data(few)).scoring == "balanced_accuracy"
    assert make_plan(study_data(table)).scoring == "accuracy"


@pytest.mark.parametrize(("counts", "scoring"), [((19, 81), "balanced_accuracy"), ((20, 80), "accuracy")])
def test_a_class_is_rare_below_two_fifths_of_an_equal_share(counts, scoring):
    y = np.repeat(["a", "b"], counts)
    table = Dataset.from_frame(np.random.default_rng(0).normal(size=(100, 3)), target=y)
    assert make_plan(study_data(table)).scoring == scoring


def test_presets_differ_in_folds_repeats_and_permutations(make_table):
    data = study_data(make_table(100))
    effort = {
        preset: (plan.n_folds, plan.n_repeats, plan.n_permutations)
        for preset in ("quick", "standard", "thorough")
        for plan in [make_plan(data, preset=preset)]
    }
    assert effort == {"quick": (5, 2, 99), "standard": (5, 10, 199), "thorough": (10, 10, 999)}
    repeats = [make_plan(study_data(make_table(400)), preset=preset).n_repeats for preset in effort]
    assert repeats == [1, 5, 10]


def test_folds_are_as_many_as_the_rarest_class_allows(make_table):
    table = make_table(40)
    few = table.take(np.concatenate([np.flatnonzero(table.y == "ill")[:3], np.flatnonzero(table.y == "well")]))
    assert make_plan(study_data(few)).n_folds == 3


def test_of_very_many_rows_presets_try_nothing_that_compares_all_pairs_of_them():
    rng = np.random.default_rng(0)
    many = study_data(Dataset.from_frame(rng.normal(size=(20_001, 3)), target=np.arange(20_001) % 2))
    plan = make_plan(many, preset="thorough")
    assert {candidate.learner.name for candidate in plan.candidates}.isdisjoint({"knn", "svm"})
    assert not any(candidate.name.startswith("ReliefF") for candidate in plan.candidates)
    assert (plan.n_folds, plan.n_repeats, plan.n_permutations) == (10, 1, 199)
    assert make_plan(many, preset="quick", confidence=0.99).n_permutations == 99
    asked = make_plan(many, preset="quick", learners=["knn"], n_repeats=2, n_permutations=99)
    assert {candidate.learner.name for candidate in asked.candidates} == {"baseline", "knn"}
    assert (asked.n_repeats, asked.n_permutations) == (2, 99)


def test_folds_of_very_many_rows_are_samples_that_keep_rare_classes():
    y = np.where(np.arange(60_000) % 300 == 0, "rare", "common")
    X = np.random.default_rng(0).normal(size=(60_000, 2))
    data = study_data(Dataset.from_frame(X, target=y))
    (folds,) = Bench(make_plan(data, preset="quick", methods=["anova"], learners=["ridge"]), data).repeats
    for fold in folds:
        assert len(fold.train) <= 10_100
        assert len(fold.test) <= 5_100
        assert (y[fold.train] == "rare").sum() == 100
        assert (y[fold.test] == "rare").sum() == 40  # all there are
        assert not set(fold.train) & set(fold.test)


def test_sizes_grow_and_stay_below_all():
    for n_columns in (1, 2, 3, 10, 100, 20_000):
        sizes = size_path(n_columns)
        assert all(1 <= size < n_columns for size in sizes)
        assert list(sizes) == sorted(set(sizes))
        assert len(sizes) <= 25
    steps = np.diff(np.log(size_path(20_000)[6:]))
    assert steps.max() - steps.min() < 0.1
    assert max(size_path(20_000)) > 8_000
    assert max(size_path(20_000, 30)) <= 30


def test_a_plan_is_readable_data(data):
    text = make_plan(data).to_json()
    assert json.loads(text)["target"] == "state"
    assert "lambda" not in text
    assert "candidates" in str(make_plan(data))


def test_there_are_no_more_folds_than_groups(make_table):
    table = make_table(n_rows=30, n_columns=4)
    groups = np.repeat(["p", "q", "r"], 10)
    frame = table.to_polars().with_columns(patient=pl.Series(groups))
    grouped = study_data(Dataset.from_frame(frame, target="state"), groups="patient")
    assert make_plan(grouped, preset="quick").n_folds == 3


def test_folds_follow_time_groups_classes_or_nothing(make_table):
    frame = make_table(n_rows=30, n_columns=4).to_polars()
    frame = frame.with_columns(patient=pl.Series(np.repeat(["p", "q", "r"], 10)), day=pl.Series(np.arange(30) + 0.5))

    def splitting(target, **options):
        return make_plan(study_data(Dataset.from_frame(frame, target=target), **options), preset="quick").splitting

    assert splitting("state") == "stratified"
    assert splitting("x0") == "shuffled"
    assert splitting("state", groups="patient") == "grouped"
    assert splitting("state", time="day") == "in order of time"


def test_presets_try_more_and_more_and_what_suits_the_target():
    def names(preset, *, classify):
        return [name for name, _ in _reducers(preset, classify=classify, sparse=False, many_rows=False, weighted=False)]

    rankings = ["ridge elimination", "forest importance"]
    assert names("quick", classify=True) == names("standard", classify=True) == ["F test", *rankings]
    assert names("quick", classify=False) == ["correlation", *rankings]
    assert names("thorough", classify=False) == ["correlation", *rankings, "mRMR", "ReliefF", "shadow columns"]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ({"classify": True}, ["ridge", "logistic", "svm", "svm10", "extra_trees", "naive_bayes", "knn"]),
        ({"classify": True, "scoring": "neg_log_loss"}, ["logistic", "extra_trees", "naive_bayes", "knn"]),
        ({"classify": False, "scoring": "r2"}, ["ridge", "svm", "svm10", "extra_trees", "knn"]),
        ({"classify": True, "sparse": True}, ["ridge", "logistic", "svm", "svm10", "extra_trees", "knn"]),
        ({"classify": True, "n_rows": 30_000}, ["ridge", "logistic", "extra_trees", "boosting", "naive_bayes"]),
    ],
)
def test_the_learners_of_a_preset_suit_target_and_table(kind, expected):
    table = {"sparse": False, "n_rows": 100, "n_columns": 20, "n_classes": 2, "scoring": "accuracy"}
    assert _learners("thorough", **table | kind) == expected


@pytest.mark.parametrize(
    ("preset", "n_columns", "n_classes", "boosted"),
    [
        ("quick", 500, 2, True),
        ("quick", 3000, 2, False),
        ("quick", 10, 3, False),
        ("standard", 10, 3, True),
        ("standard", 500, 10, False),
    ],
)
def test_presets_boost_only_where_classes_times_columns_are_few(preset, n_columns, n_classes, boosted):
    found = candidates_for(classify=True, preset=preset, n_rows=2000, n_columns=n_columns, n_classes=n_classes)
    assert any(each.learner.name == "boosting" for each in found) == boosted


def test_a_plan_is_read_from_its_file_and_from_a_report(tmp_path):
    plan, report = tmp_path / "plan.json", tmp_path / "report.HTML"
    plan.write_text('{"a": 1}')
    report.write_text(f'<p>\n<script type="application/json" id="{PLAN_ELEMENT}">{{\n"a": 1}}</script></p></script>')
    assert plan_text(plan) == '{"a": 1}'
    assert plan_text(report) == '{\n"a": 1}'


def test_what_holds_no_plan_is_told(tmp_path):
    page, picture = tmp_path / "page.html", tmp_path / "picture.png"
    page.write_text("<p>Hello</p>")
    picture.write_bytes(b"\xff\xfe\xfd")
    for path, told in [
        (page, "is not a report of a study"),
        (picture, "contains no plan"),
        (tmp_path / "nothing.json", "cannot be read: No such file"),
    ]:
        with pytest.raises(StudyError, match=told):
            plan_text(path)
