"""Conditional importance: known answers on Gaussian tables, those of hidimstat, and no say for training rows."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression

from fewer.facade import run_study
from fewer.io import Dataset
from fewer.study.questions.importance import conditional_importance, permutation_importance
from peers.hidimstat_numbers import CORRELATIONS, WEIGHTS, gaussian_table

PEER = json.loads((Path(__file__).parents[1] / "peers" / "hidimstat.json").read_text())
EFFORT = {"preset": "quick", "n_folds": 4, "n_permutations": 0, "n_jobs": 1}
SCORE = "neg_mean_squared_error"
DRAWS = 60


def drawn_importance(correlation):
    """Mean and standard error over independent calls, which permute five times each."""
    X_train, y_train, X, y = gaussian_table(correlation)
    model = LinearRegression().fit(X_train, y_train)
    rng = np.random.default_rng(0)
    calls = [conditional_importance(model, X_train, X, y, [[0, 1, 2, 3]], SCORE, rng) for _ in range(DRAWS)]
    found = np.array([[call[column] for column in range(4)] for call in calls])
    return found.mean(axis=0), found.std(axis=0) / np.sqrt(DRAWS), X


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_it_is_that_of_hidimstat(correlation):
    found, error, _ = drawn_importance(correlation)
    peer = PEER["tables"][str(correlation)]
    both = np.hypot(error, peer["errors"])
    assert np.all(np.abs(found - peer["importance"]) <= 4 * both)


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_on_gaussian_tables_it_is_twice_the_variance_that_only_this_column_explains(correlation):
    """2 b^2 var(x | others), with var(x | two others) = 1 - 2 r^2 / (1 + r) for equal correlations r."""
    found, error, X = drawn_importance(correlation)
    left = np.array([1 - 2 * correlation**2 / (1 + correlation)] * 3 + [1.0])
    known = 2 * WEIGHTS**2 * left
    # Of n residuals, the variance has a relative standard error of sqrt(2 / n); weights are estimated likewise, with a
    # variance of 0.25 / (n left) for noise of variance 0.25.
    n = len(X)
    weight_error = 0.5 / np.sqrt(n * left)
    tolerance = known * np.sqrt(2 / n) + 4 * WEIGHTS * weight_error * left + 2 * weight_error**2 * left + error
    assert np.all(np.abs(found - known) <= 4 * tolerance)


def test_a_copy_has_no_importance_given_the_other_and_both_have_it_together():
    rng = np.random.default_rng(1)
    x, other = rng.normal(size=(2, 600))
    X = np.column_stack([x, x, other])
    model = LinearRegression().fit(X, x)  # shares the weight out between the copies
    alone = permutation_importance(model, X, x, [0, 1], SCORE, rng)
    together = permutation_importance(model, X, x, [[0, 1]], SCORE, rng)
    given = conditional_importance(model, X, X, x, [[0, 1], [2]], SCORE, rng)
    assert alone == pytest.approx([0.5, 0.5], rel=0.2)
    assert together == pytest.approx([2.0], rel=0.2)
    assert given == {0: pytest.approx(0, abs=1e-9), 1: pytest.approx(0, abs=1e-9)}


def test_sparse_rows_give_the_same():
    X_train, y_train, X, y = gaussian_table(0.5)
    model = LinearRegression().fit(X_train, y_train)
    groups, found = [[0, 1], [2, 3]], []
    for kind in (np.asarray, sparse.csr_array):
        rng = np.random.default_rng(0)
        found.append(conditional_importance(model, kind(X_train), kind(X), y, groups, SCORE, rng))
        found.append(permutation_importance(model, kind(X), y, [[0, 1], 2], SCORE, rng))
    assert found[2] == pytest.approx(found[0])
    assert found[3] == pytest.approx(found[1])


def nearly_duplicate(seed=0, shift=1.5, n_rows=120):
    rng = np.random.default_rng(seed)
    codes = np.arange(n_rows) % 2
    X = rng.normal(size=(n_rows, 8))
    X[:, 0] += shift * codes
    X[:, 1] = X[:, 0] + 0.1 * rng.normal(size=n_rows)
    columns = {f"x{place}": column for place, column in enumerate(X.T)}
    return Dataset.from_frame(columns | {"state": np.array(["ill", "well"])[codes]}, target="state")


def test_a_study_shows_what_nearly_duplicate_columns_are_worth_together():
    effort = EFFORT | {"methods": ["anova"], "learners": ["ridge"], "n_repeats": 2, "sizes": [3]}
    study = run_study(nearly_duplicate(), parsimony=0.3, **effort)
    answer = study.findings.importance
    (group,) = answer.evidence["groups"]
    assert set(group["columns"]) == {"x0", "x1"}
    by_name = {each["name"]: each for each in answer.evidence["columns"]}
    assert group["interval"][0] > 0
    for name in ("x0", "x1"):
        assert by_name[name]["conditional"] < group["importance"] / 2
        assert by_name[name]["conditional_interval"][0] <= 0.02
    assert all("conditional" not in each for name, each in by_name.items() if name not in ("x0", "x1"))
    assert "Nearly duplicate columns lower it together: " in answer.sentence
    page = study.report().read_text()
    assert 'id="redundant"' in page


def test_on_noise_no_group_matters():
    """A planted leak: on the rows that the model was fitted on, a column and its copy would seem to matter."""
    effort = EFFORT | {"methods": ["anova"], "learners": ["svm"], "n_repeats": 2, "sizes": [2]}
    low = []
    for seed in range(3):
        evidence = run_study(nearly_duplicate(seed, shift=0.0, n_rows=60), **effort).findings.importance.evidence
        low += [group["interval"][0] for group in evidence["groups"]]
        low += [each["conditional_interval"][0] for each in evidence["columns"] if "conditional" in each]
    assert low
    assert max(low) <= 0


def test_without_redundancy_groups_nothing_is_added(make_table):
    effort = EFFORT | {"methods": ["anova"], "learners": ["ridge"], "n_repeats": 1}
    answer = run_study(make_table(), **effort).findings.importance
    assert answer.evidence["groups"] == []
    assert "Nearly duplicate" not in answer.sentence
