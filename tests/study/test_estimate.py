"""About how long a plan takes: every fit is counted, failures are named, and times are in words."""

import re
from dataclasses import replace

import numpy as np
import pytest

from fewer.io import Dataset
from fewer.study import StudyError, make_plan, study_data, time_estimate
from fewer.study.plan import _estimate as estimate
from fewer.study.plan._budget import time_words


@pytest.fixture(scope="module")
def data(make_table):
    return study_data(make_table(n_rows=40, n_columns=12))


@pytest.fixture(scope="module")
def plan(data):
    chosen = {"methods": ["anova"], "learners": ["ridge"], "sizes": [1, 3]}
    return make_plan(data, preset="quick", n_folds=3, n_repeats=2, n_permutations=19, **chosen)


def test_every_fit_is_counted(plan, data):
    said = time_estimate(plan, data, n_workers=1)
    # The baseline, all features, and two sizes, on 3 folds drawn twice.
    assert re.search(r"fits +24 models", said)
    assert "on 1 worker" in said
    assert re.search(r"and up to \d+ seconds? for the tests$", said, re.MULTILINE)


def test_tests_cost_the_same_whichever_candidate_wins(plan, data, monkeypatch):
    """Two tests of 19 permutations at 3 seconds each, on one worker; candidates take an hour a fold."""
    clock = Clock(monkeypatch, lambda n, p: 3600.0)
    monkeypatch.setattr(estimate, "do_null", lambda work, bench: setattr(clock, "now", clock.now + 3.0))
    assert "up to 114 seconds for the tests" in time_estimate(plan, data, n_workers=1)


@pytest.mark.parametrize(("power", "wanted"), [(0.0, 2.0), (1.0, 40.0)])
def test_the_time_of_a_permutation_of_a_large_table_is_that_of_its_parts(plan, monkeypatch, power, wanted):
    """Two seconds with 100 of 2,000 columns, and more columns take longer only as far as these parts say."""
    table = Dataset.from_frame(
        {f"x{place}": column for place, column in enumerate(np.eye(2000))}, target=np.arange(2000) % 2
    )
    data = study_data(table)
    now = [0.0]

    def do_null(work, bench):
        now[0] += 2.0 * (bench.data.dataset.n_columns / 100) ** power

    monkeypatch.setattr(estimate, "do_null", do_null)
    monkeypatch.setattr(estimate.time, "perf_counter", lambda: now[0])
    whole = estimate.Bench(replace(plan, fingerprint=data.fingerprint), data, [])
    assert estimate._seconds_of_a_permutation(whole) == pytest.approx(wanted)


def test_a_candidate_that_fails_is_named_and_the_others_are_timed(plan, data, monkeypatch):
    done = estimate.do_fold

    def without_ridge(work, bench):
        if work.candidate == 1:
            raise ValueError("no memory")
        return done(work, bench)

    monkeypatch.setattr(estimate, "do_fold", without_ridge)
    said = time_estimate(plan, data)
    assert f"fails         {plan.candidates[1].name}: no memory" in said
    assert "time " in said

    def nothing(work, bench):
        raise ValueError("no memory")

    monkeypatch.setattr(estimate, "do_fold", nothing)
    with pytest.raises(StudyError, match=r"No candidate can be run\. most frequent class: no memory"):
        time_estimate(plan, data)


class Clock:
    """Time passes by what a fold is said to cost, and not otherwise."""

    def __init__(self, monkeypatch, cost):
        self.now, self.folds = 0.0, []
        monkeypatch.setattr(estimate.time, "perf_counter", lambda: self.now)

        def do_fold(work, bench):
            self.folds.append(bench.data.dataset.shape)
            self.now += cost(*bench.data.dataset.shape)

        monkeypatch.setattr(estimate, "do_fold", do_fold)


def test_when_the_time_is_over_the_rest_is_taken_to_be_as_slow(plan, data, monkeypatch):
    """Each of the candidates but the first takes half an hour, and one of them is enough to know."""
    clock = Clock(monkeypatch, lambda n, p: 1800.0)
    monkeypatch.setattr(estimate, "do_null", lambda work, bench: None)
    said = time_estimate(plan, data, n_workers=1)
    assert len(plan.candidates) == 3
    assert "about 9.0 hours for the candidates" in said  # three on six folds
    assert len(clock.folds) < 3 * len(estimate._parts(estimate.Bench(plan, data))) + 3


@pytest.mark.parametrize(("unit", "largest"), [(1e-9, 400), (1e-7, 200), (1e-5, 50)])
def test_a_slow_candidate_is_timed_on_parts_of_the_table(unit, largest, make_table, monkeypatch):
    data = study_data(make_table(n_rows=800, n_columns=400))
    parts = estimate._parts(estimate.Bench(make_plan(data, preset="quick"), data))
    clock = Clock(monkeypatch, lambda n, p: unit * (n * p) ** 1.2)
    seconds = estimate._seconds_of_a_fold(estimate.FoldWork(1, 0, 0), parts, limit=0.2, warm=set())
    assert max(p for _, p in clock.folds) == largest
    assert seconds == pytest.approx(unit * (800 * 400) ** 1.2)


def test_parts_of_the_table_have_all_classes_in_their_proportions(make_table):
    data = study_data(make_table(n_rows=400, n_columns=12))
    *parts, whole = estimate._parts(estimate.Bench(make_plan(data, preset="quick"), data))
    assert whole.data is data
    train = parts[-1].repeats[0][0].train
    assert len(train) == 160
    y = parts[-1].data.dataset.y[train]
    for label in data.dataset.classes:
        assert (y == label).mean() == pytest.approx((data.dataset.y == label).mean(), abs=0.03)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 second"),
        (89.4, "89 seconds"),
        (119, "119 seconds"),
        (120, "2 minutes"),
        (5399, "90 minutes"),
        (5400, "1.5 hours"),
    ],
)
def test_times_are_in_words(seconds, words):
    assert time_words(seconds) == words
