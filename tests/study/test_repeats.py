"""Repeats: folds are drawn again where the outcome may depend on their draw, whichever outcome that is."""

import numpy as np
import pytest
from scipy.stats import t as student

from fewer.study import make_plan, study_data
from fewer.study.answers._decision import claim

N_FOLDS = 5
RULE = {"margin": 0.0, "confidence": 0.95, "test_ratio": 1 / (N_FOLDS - 1), "n_rows": 200}
# Distance of the mean from zero at which the lower limit is zero with very many repeats, in standard deviations.
REACH = student.ppf(0.975, N_FOLDS - 1) * np.sqrt(RULE["test_ratio"])


def claimed(differences):
    """The claim about differences on folds of shape (n_repeats, n_folds), where fewer columns gain 10 on average."""
    zero = np.zeros_like(differences)
    return claim(10 + differences, zero + 10, zero, **RULE)


def drawn(differences, n_repeats):
    """The claim of a study with so many repeats to begin with, and the repeats that it has in the end."""
    while claimed(differences[:n_repeats]).is_close and n_repeats < len(differences):
        n_repeats = min(2 * n_repeats, len(differences))
    return claimed(differences[:n_repeats]).outcome == "better", n_repeats


def test_a_limit_is_close_above_and_below_zero_alike():
    differences = np.tile([-1.0, -0.5, 0.0, 0.5, 1.0], (2, 1))
    reach = -claimed(differences).interval[0]
    close = [claimed(differences + reach + shift).is_close for shift in (-0.9, -0.5, -0.1, 0.1, 0.5, 0.9)]
    assert close == [False, True, True, True, True, False]
    assert not claimed(np.zeros((2, N_FOLDS))).is_close  # no difference on any fold


def test_the_error_of_a_limit_is_its_standard_deviation_over_draws_of_the_folds():
    rng = np.random.default_rng(0)
    found = [claimed(rng.normal(size=(4, N_FOLDS))) for _ in range(2000)]
    spread = np.std([each.interval[0] for each in found])
    assert np.mean([each.limit_errors[0] for each in found]) == pytest.approx(spread, rel=0.08)


def test_more_repeats_where_it_is_close_make_outcomes_agree_and_no_claim_more_frequent():
    """The limit with very many repeats lies within two standard deviations of zero, normally distributed.

    Of 400 draws of the folds, two repeats give the most frequent outcome in 0.85 on average, two to ten in 0.93.
    """
    rng = np.random.default_rng(0)
    limits = np.linspace(-2, 2, 41)
    weights = np.exp(-(limits**2) / 2) / np.exp(-(limits**2) / 2).sum()
    agreed, claims, repeats = np.zeros(2), np.zeros(2), 0.0
    for limit, weight in zip(limits, weights, strict=True):
        differences = rng.normal(limit + REACH, size=(150, 10, N_FOLDS))
        once = np.mean([claimed(each[:2]).outcome == "better" for each in differences])
        more, numbers = np.mean([drawn(each, 2) for each in differences], axis=0)
        agreed += weight * np.array([max(once, 1 - once), max(more, 1 - more)])
        claims += weight * (limit <= 0) * np.array([once, more])
        repeats += weight * numbers
    assert agreed[0] < 0.88
    assert agreed[1] > 0.91
    assert claims[1] < claims[0]
    assert repeats < 6


@pytest.fixture(scope="module")
def close(make_table):
    return make_table(seed=4)


def test_a_close_outcome_gets_more_repeats_and_says_so(studied, close):
    findings = studied(close, n_repeats=1, max_repeats=4, learners=["ridge"], n_permutations=0)
    assert findings.plan.n_repeats == 4
    assert "Folds were drawn 4 times: they are drawn again, up to 4 times" in findings.fewer_help.how
    again = studied(close, n_repeats=4, learners=["ridge"], n_permutations=0)
    assert again.fewer_help.interval == findings.fewer_help.interval
    assert again.chosen == findings.chosen


def test_an_outcome_that_is_clear_gets_none(studied, make_table):
    findings = studied(make_table(shift=6), n_repeats=1, max_repeats=4, learners=["ridge"], n_permutations=0)
    assert findings.plan.n_repeats == 1
    assert not findings.fewer_help.evidence["is_close"]


@pytest.mark.parametrize("after", [5, 14])
def test_a_study_that_was_stopped_comes_to_the_same_repeats(quick_plan, close, with_and_without_a_stop, after):
    data = study_data(close)
    plan = quick_plan(data, n_repeats=1, max_repeats=4, learners=["ridge"], n_permutations=0)
    undisturbed, stopped = with_and_without_a_stop(plan, data, after)
    assert undisturbed == stopped
    assert '"n_repeats": 4' in undisturbed


def test_presets_have_more_repeats_for_small_tables_only(make_table):
    small, large = study_data(make_table()), study_data(make_table(n_rows=60, n_columns=2000))

    def most(data, **options):
        return make_plan(data, preset="quick", **options).max_repeats

    assert most(small) == 10
    assert "folds         5, stratified, 2 times; up to 10 times where the outcome is close" in str(
        make_plan(small, preset="quick")
    )
    assert most(study_data(make_table(n_rows=450, n_columns=20))) == 2
    assert most(study_data(make_table(n_rows=100, n_columns=450))) == 4
    assert [most(large), most(small, n_repeats=2), most(small, budget="1h")] == [None] * 3
    assert not make_plan(small, max_repeats=20, budget="1h").may_repeat
