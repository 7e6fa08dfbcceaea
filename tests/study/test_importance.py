"""Importance of columns: known answers of a known model, honest on noise, and a vote that counts every method once."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import get_scorer

from fewer.facade import run_study
from fewer.io import Dataset
from fewer.study.questions.importance import permutation_importance, vote

EFFORT = {"preset": "quick", "n_folds": 4, "n_permutations": 0, "n_jobs": 1}


def test_importance_in_a_linear_model_is_twice_the_variance_that_a_column_explains():
    """Of mean squared errors: E(b (x' - x))^2 = 2 b^2 var(x), for independent x and x'."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 3))
    weights = np.array([1.0, 0.5, 0.0])
    model = LinearRegression().fit(X, X @ weights)
    found = permutation_importance(model, X, X @ weights, [0, 1, 2], "neg_mean_squared_error", rng)
    # The standard error of the mean of n squares of normal numbers with variance v is v sqrt(2 / n).
    assert found == pytest.approx(2 * weights**2, abs=4 * 2 * np.sqrt(2 / 5000))


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc", "neg_log_loss"])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_permuted_copies_predicted_at_once_score_as_one_after_another(scoring, is_sparse):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 4)), np.tile(["a", "b"], 20)
    X[:, 1] += y == "b"
    table = sparse.csr_array(X) if is_sparse else X
    for model in (LogisticRegression(), RandomForestClassifier(5, random_state=0)):
        model.fit(table, y)
        found = permutation_importance(model, table, y, [3, 1], scoring, np.random.default_rng(1))
        orders, scorer = np.random.default_rng(1), get_scorer(scoring)
        orders = [orders.permutation(40) for _ in range(5)]
        for column, drop in zip([3, 1], found, strict=True):
            scores = []
            for order in orders:
                changed = X.copy()
                changed[:, column] = X[order, column]
                scores.append(scorer(model, changed, y))
            assert drop == pytest.approx(scorer(model, X, y) - np.mean(scores))


def test_informative_columns_matter_and_noise_beside_them_does_not(make_table):
    table = make_table(n_rows=120, n_columns=10, shift=2.0)
    effort = EFFORT | {"methods": ["anova"], "learners": ["ridge"], "n_repeats": 2, "sizes": [4]}
    answer = run_study(table, parsimony=0.5, **effort).findings.importance
    by_name = {each["name"]: each for each in answer.evidence["columns"]}
    assert {"x0", "x1"} < set(by_name)
    for name, each in by_name.items():
        low, high = each["interval"]
        assert low > 0 if name in ("x0", "x1") else low < 0.01 and high < 0.1
    assert answer.number == max(each["importance"] for each in by_name.values())
    assert answer.evidence["voted"][0]["name"] in ("x0", "x1")
    assert answer.evidence["n_agreed"] >= 2


def test_on_noise_no_chosen_column_matters(make_table):
    """On the rows that it was chosen on, the best of 200 columns of noise would."""
    table = make_table(n_rows=60, n_columns=200, shift=0.0, seed=2)
    effort = EFFORT | {"methods": ["anova"], "learners": ["ridge"], "n_repeats": 2, "sizes": [3]}
    answer = run_study(table, **effort).findings.importance
    assert answer.verdict == "not shown"
    assert "for 0 of the first 30 columns" in answer.sentence


def test_the_vote_counts_every_method_and_fold_once():
    lists = {"f": (("a", "b", "c"), ("b", "a", "c")), "g": (("c",), ("c", "a"))}
    found = vote(lists, n_first=1, n_columns=4)
    # In g, what is not listed has the mean of the ranks that are left: 3 of 2 to 4, then 3.5 of 3 and 4.
    assert {each["name"]: each["mean_rank"] for each in found} == pytest.approx(
        {"a": (1 + 2 + 3 + 2) / 4, "b": (2 + 1 + 3 + 3.5) / 4, "c": (3 + 3 + 1 + 1) / 4}
    )
    assert [each["name"] for each in found] == ["a", "c", "b"]
    assert [each["frequency"] for each in found] == [1 / 4, 2 / 4, 1 / 4]


@pytest.mark.parametrize("kind", ["sparse", "new columns", "in order of time"])
def test_other_tables_and_winners_have_predictions_and_importance(make_table, kind):
    table, options = make_table(n_rows=60, n_columns=6, shift=2.0), {"methods": ["anova"]}
    if kind == "sparse":
        X = sparse.csr_array(np.where(np.asarray(table.X) > 0.5, table.X, 0.0))
        table = Dataset.from_frame(X, target=np.asarray(table.y))
    elif kind == "new columns":
        options = {"methods": ["PLSDiscriminant"], "parsimony": 0.0}
    else:
        frame = table.to_polars().with_columns(day=np.arange(60.0))
        table, options = Dataset.from_frame(frame, target="state"), options | {"time": "day"}
    effort = EFFORT | {"learners": ["ridge"], "n_repeats": 1, "sizes": [2]}
    findings = run_study(table, **(effort | options)).findings
    assert "curves" in findings.predictions.evidence
    by_name = {each["name"]: each["importance"] for each in findings.importance.evidence["columns"]}
    assert max(by_name, key=by_name.get) in ("x0", "x1")
