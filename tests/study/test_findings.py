"""What a study says: noise is called noise, signal is found, and every figure comes with its uncertainty."""

import json
import re

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from fewer.datasets import load
from fewer.io import Dataset
from fewer.study.answers._first_lines import CROSS_INDEXED
from tolerances import rounding


@pytest.fixture(scope="module")
def of_signal(studied, make_table):
    return studied(make_table(n_rows=80, n_columns=40))


def test_signal_is_found(of_signal):
    assert of_signal.learnable.verdict == "yes"
    assert of_signal.learnable.number == pytest.approx(1 / 20)
    assert {column.name for column in of_signal.columns[:2]} == {"x0", "x1"}
    assert of_signal.columns[0].frequency == 1.0
    assert of_signal.columns[0].effect == "higher in well"


def test_noise_is_called_noise(studied, make_table):
    findings = studied(make_table(n_informative=0, n_columns=100), n_repeats=1)
    assert findings.learnable.verdict == "no"
    assert findings.headline.startswith("There is no sign that state can be predicted")
    assert not findings.claims_benefit


def test_fewer_columns_help_where_noise_drowns_neighbours(studied, make_table):
    findings = studied(make_table(n_rows=120, n_columns=300, shift=2.0), learners=["knn"], n_permutations=0)
    assert findings.claims_benefit
    assert findings.headline.startswith("Fewer features help:")
    low, high = findings.fewer_help.interval
    assert 0 < low < findings.fewer_help.number < high


def test_all_features_are_kept_where_each_counts(studied):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 30))
    table = Dataset.from_frame(X, target=X.sum(axis=1) + 0.1 * rng.normal(size=200))
    findings = studied(table, learners=["ridge"], sizes=[1, 2, 5])
    assert findings.fewer_help.verdict == "not shown"
    assert findings.headline.startswith("Keep all 30 features")
    assert not findings.claims_benefit
    assert findings.columns[0].effect == "increases with the target"


def test_the_benefit_is_that_of_choosing_and_not_of_the_best(of_signal):
    """The honest score of the choice cannot be above the best mean of any candidate at any size."""
    best = max(of_signal.curve["frontier"]["mean"])
    assert of_signal.fewer_help.evidence["with_fewer"] <= best + rounding(100)


def test_sizes_are_those_that_were_tried(of_signal):
    sizes = of_signal.curve["frontier"]["sizes"]
    assert of_signal.how_few.number in sizes
    assert set(of_signal.how_few.evidence["by_fold"]) <= set(sizes)
    assert len(of_signal.chosen) == of_signal.how_few.number


def test_candidates_stand_side_by_side(of_signal):
    names = [rival.name for rival in of_signal.rivals]
    assert {
        "most frequent class",
        "all features, ridge",
        "all features, nearest neighbours",
        "anova, ridge",
        "anova, nearest neighbours",
    } == set(names)
    scores = [rival.score for rival in of_signal.rivals]
    assert scores == sorted(scores, reverse=True)
    winner = next(rival for rival in of_signal.rivals if rival.behind == 0 and rival.size is not None)
    assert winner.behind_interval == (0.0, 0.0)


def test_findings_are_plain_data(of_signal):
    assert json.loads(of_signal.to_json()) == of_signal.to_dict()
    assert "NaN" not in of_signal.to_json()


def test_they_can_be_read(of_signal):
    text = str(of_signal)
    assert text.startswith(of_signal.headline)
    assert "How few?" in text


def test_copies_are_told_as_standing_in_for_one_another(studied, make_table):
    table = make_table(n_rows=80, n_columns=10)
    X = np.column_stack([table.X, table.X[:, 0] + 0.01 * np.random.default_rng(1).normal(size=80)])
    copied = Dataset(X, (*table.columns, "copy"), (*table.kinds, "numeric"), table.y, "state", "binary")
    findings = studied(copied, n_permutations=0)
    first = next(column for column in findings.columns if column.name == "x0")
    assert first.stands_in_for == ("copy",)


def test_without_permutations_nothing_is_tested(studied, make_table):
    findings = studied(make_table(), n_permutations=0)
    assert findings.learnable.verdict == "not tested"
    assert findings.interacting.verdict == "not tested"


def test_a_leaking_column_comes_first_among_the_cautions(studied, make_table):
    table = make_table(n_rows=80)
    X = np.column_stack([table.X, np.where(table.y == "ill", 3.0, 7.0) + 1e-3 * np.arange(80)])
    spoilt = Dataset(X, (*table.columns, "outcome"), (*table.kinds, "numeric"), table.y, "state", "binary")
    findings = studied(spoilt, n_permutations=0)
    assert findings.cautions[0].topic == "target leakage"
    assert "outcome" in findings.cautions[0].sentence


@pytest.mark.filterwarnings("error:Found unknown categories")
def test_missing_values_categories_and_identifiers_are_handled(studied):
    rng = np.random.default_rng(0)
    dose = rng.normal(size=90)
    colour = rng.choice(["red", "blue", "green"], size=90)
    colour[7] = "mauve"
    y = np.where(dose + 2 * (colour == "red") + 0.3 * rng.normal(size=90) > 0.7, "ill", "well")
    frame = pl.DataFrame(
        {
            "sample_id": [f"s{i:03d}" for i in range(90)],
            "dose": np.where(rng.random(90) < 0.2, np.nan, dose),
            "colour": np.where(rng.random(90) < 0.1, "", colour),
            "weight": np.where(rng.random(90) < 0.2, np.nan, rng.normal(size=90)),
            "smokes": rng.random(90) < 0.5,
            "state": y,
        }
    )
    findings = studied(Dataset.from_frame(frame, target="state"), learners=["ridge"], n_repeats=1)
    assert findings.learnable.verdict == "yes"
    effects = {column.name: column.effect for column in findings.columns[:3]}
    assert {"dose", "colour"} <= set(effects)
    assert effects["colour"] == "colour = red: higher in ill"
    topics = {caution.topic for caution in findings.cautions}
    assert {"missing values", "left out"} <= topics
    # Lists and counts are of columns of the table, whatever they became.
    assert set(findings.chosen) <= {"dose", "colour", "weight", "smokes"}
    assert f"{len(findings.chosen)} of 4 columns" in findings.how_few.sentence
    assert re.search(r"of 4 columns|all 4 features", findings.headline)
    assert " = " not in findings.which.sentence + findings.verdict[1]


def test_missing_values_that_depend_on_the_target_are_told(studied, make_table):
    table = make_table(n_rows=100)
    X = table.X.copy()
    X[(table.y == "ill") & (np.random.default_rng(0).random(100) < 0.6), 5] = np.nan
    missing = Dataset(X, table.columns, table.kinds, table.y, "state", "binary")
    findings = studied(missing, n_permutations=0)
    dependent = next(caution for caution in findings.cautions if caution.topic == "missing values depend on the target")
    assert dependent.evidence["columns"] == ["x5"]


@pytest.mark.parametrize(
    ("scoring", "advice"), [("accuracy", "balanced_accuracy"), ("balanced_accuracy", "these few rows")]
)
def test_of_a_rare_class_the_advice_is_one_that_is_not_followed_yet(studied, make_table, scoring, advice):
    table = make_table(n_rows=60, classes=("common",) * 9 + ("rare",))
    findings = studied(table, n_permutations=0, scoring=scoring)
    assert advice in next(caution.sentence for caution in findings.cautions if caution.topic == "imbalance")


def test_repeated_rows_are_critical_where_they_change_the_score(studied, make_table):
    table = make_table(n_rows=40, shift=0.3)
    for copies, level in ((40, "critical"), (2, "warning")):
        findings = studied(table.take(np.r_[np.arange(40), np.arange(copies)]), n_permutations=0)
        (found,) = (caution for caution in findings.cautions if caution.topic == "repeated rows")
        assert (found.level, bool(found.headline)) == (level, level == "critical")


def test_sparse_tables_stay_sparse_and_are_studied(studied):
    rng = np.random.default_rng(0)
    X = sp.random(80, 200, 0.1, format="csr", random_state=0)
    y = rng.permutation(np.arange(80) % 2)
    X = X.tolil()
    X[np.flatnonzero(y), 7] = 1.0
    findings = studied(
        Dataset.from_frame(X.tocsr(), target=np.array(["no", "yes"])[y]),
        methods=["chi2"],
        n_permutations=0,
        n_repeats=1,
    )
    assert findings.columns[0].frequency == 1.0


def test_all_columns_are_as_many_in_every_answer_as_on_all_rows(studied, make_table):
    """A column with one entry is constant in most folds, and counts all the same."""
    table = make_table(n_columns=20, n_informative=20, shift=1.0)
    X = np.column_stack([table.X, np.eye(60)[:, :12]])
    rare = Dataset.from_frame(sp.csr_array(X), target=table.y)
    findings = studied(rare, learners=["ridge"], sizes=[1], n_permutations=0)
    assert findings.curve["frontier"]["sizes"] == [1, 32]
    assert findings.how_few.number == 32
    assert findings.how_few.sentence.startswith("32 of 32 columns.")
    assert findings.headline.startswith("Keep all 32 features: ")


def test_where_all_of_many_columns_are_best_all_are_kept(studied, make_table):
    """Names in the journal of a fold end after 1,000; the list of what to keep does not."""
    findings = studied(
        make_table(40, 1010, 1010, shift=0.3), learners=["ridge"], sizes=[1], n_permutations=0, n_folds=2, n_repeats=1
    )
    assert findings.how_few.number == len(findings.chosen) == len(set(findings.chosen)) == 1010
    assert {column.frequency for column in findings.columns} == {1.0}
    assert findings.which.number is None


def test_the_only_scores_at_the_top_are_those_of_the_first_line(of_signal):
    assert not re.search(r"\d\.\d{3}", " ".join(of_signal.verdict[1:]))
    by = "Columns were chosen by anova with ridge, from 2 combinations of selection method and learner."
    assert of_signal.verdict[2].startswith(f"{by} {CROSS_INDEXED}")
    assert f"{of_signal.fewer_help.evidence['with_fewer']:.3f}" in of_signal.headline


def test_few_rows_are_not_said_to_do_as_well(studied, make_table):
    findings = studied(make_table(n_rows=24, n_columns=8, shift=1.0), n_permutations=0, n_folds=3)
    low, high = findings.fewer_help.interval
    assert low < -0.2
    assert high > 0.2
    assert findings.fewer_help.verdict == "not shown"
    assert not findings.claims_benefit


def test_numbers_are_studied_too(studied):
    findings = studied(load("diabetes"), n_permutations=19)
    assert findings.learnable.verdict == "yes"
    assert findings.interacting.verdict == "not tested"
    assert "R2" in findings.headline
    assert findings.columns[0].name in ("bmi", "s5")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_pure_noise_is_rarely_said_to_gain(studied, make_table):
    """Of 50 tables of pure noise, 60 x 500, at most 5% may be said to gain from fewer features."""
    claims = learnable = 0
    for seed in range(50):
        findings = studied(make_table(60, 500, 0, seed=seed), learners=None, n_folds=5, n_permutations=99)
        claims += findings.claims_benefit
        learnable += findings.learnable.verdict == "yes"
    assert claims <= 2
    assert learnable <= 50 * 0.05 + 3 * np.sqrt(50 * 0.05 * 0.95)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_informative_columns_are_found_among_noise(studied, make_table):
    """Five informative columns of 500, 200 rows: all five among the first ten in at least 90% of tables."""
    found = 0
    for seed in range(20):
        findings = studied(make_table(200, 500, 5, shift=1.0, seed=seed), learners=None, n_permutations=0)
        found += {"x0", "x1", "x2", "x3", "x4"} <= {column.name for column in findings.columns[:10]}
    assert found >= 18


def test_only_tables_with_far_more_columns_than_rows_are_called_wide(studied, make_table, of_signal):
    assert "wide" not in {caution.topic for caution in of_signal.cautions}
    wide = studied(make_table(n_rows=30, n_columns=301), learners=["ridge"], n_permutations=0)
    assert "wide" in {caution.topic for caution in wide.cautions}


def test_columns_that_are_not_all_kept_are_listed_with_how_often_they_came_back(of_signal):
    assert re.search(r"\d+ of \d+ were chosen in at least 80% of the folds", of_signal.which.sentence)
    assert not of_signal.which.sentence.startswith("All")


def test_p_is_the_share_that_did_as_well_the_table_itself_counted(studied, make_table):
    findings = studied(make_table(n_informative=0, n_columns=30), learners=["ridge"])
    null = findings.nulls["labels"]
    as_good = sum(score >= null["observed"] for score in null["scores"])
    assert findings.learnable.number == pytest.approx((1 + as_good) / (1 + len(null["scores"])))


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_held_out_predictions_are_those_that_were_scored(studied, make_table, task):
    """With one repeat of folds of equal sizes, they give the score of the first line, not that of the winner."""
    table = make_table(n_rows=60, shift=0.7)
    if task == "numbers":
        X = np.random.default_rng(0).normal(size=(60, 8))
        table = Dataset.from_frame(X, target=X[:, 0] + 0.5 * np.random.default_rng(1).normal(size=60))
    scoring = "accuracy" if task == "classes" else "neg_mean_squared_error"
    findings = studied(table, n_permutations=0, n_repeats=1, n_folds=4, scoring=scoring)
    wrong = findings.wrong
    if task == "classes":
        found = 1 - wrong.number / 60
    else:
        found = -np.mean((np.array(wrong.evidence["truth"]) - np.array(wrong.evidence["predicted"])) ** 2)
    assert found == pytest.approx(findings.learnable.evidence["score"], rel=1e-4)
    if task == "classes":
        assert found < findings.curve["chosen"]["mean"] - 0.02
