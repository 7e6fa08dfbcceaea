"""A time limit: repeats go first, then permutations, then candidates; the decision is kept, and can be run again."""

import time
from dataclasses import replace

import numpy as np
import pytest

import fewer
from fewer.engine import Engine
from fewer.study import Journal, Plan, StudyError, findings_of, make_plan, run_plan, study_data, time_estimate
from fewer.study.plan._budget import (
    BUDGET,
    Clock,
    Measured,
    limit_in_words,
    seconds_in,
    settled_plan,
    with_tests_within,
    within_budget,
)
from fewer.study.work._null_test import batch_ends, enough, is_decided, nulls_of
from fewer.study.work._race import fold_rounds
from fewer.study.work._run import StudyInterruptedError
from study.test_run import StoppingEngine

INTERACTIONS = ("interacting",)


@pytest.fixture(scope="module")
def data(make_table):
    return study_data(make_table())


@pytest.fixture(scope="module")
def plan(data):
    learners = ["ridge", "knn", "naive_bayes"]
    return make_plan(data, methods=["anova", "RidgeRFE"], learners=learners, n_folds=4, n_repeats=3, n_permutations=99)


def measured(plan, **changes):
    """A second for each candidate, a tenth for a permutation."""
    return Measured(
        **{"folds": dict.fromkeys(range(len(plan.candidates)), 1.0), "permutation": 0.1, "n_workers": 1} | changes
    )


@pytest.mark.parametrize("text", ["", "x", "30x", "m30", "-5", "0", "nan", "inf", "30m!", True, "1e400"])
def test_what_is_no_time_is_refused_with_examples(text):
    with pytest.raises(StudyError, match=r"budget must be a positive time such as 90s, 30m, 2h"):
        seconds_in(text)


def test_the_plan_has_seconds(data):
    assert make_plan(data, budget="1h30m").budget == 5400.0
    assert "time limit    1.5 hours" in str(make_plan(data, budget="1h30m"))


def test_a_long_limit_leaves_all_of_it(plan):
    asked = replace(plan, budget=1e6)
    assert within_budget(asked, measured(plan)) == replace(plan, budget=None)


def test_repeats_go_first_then_permutations_then_interactions_then_the_slowest_candidates(plan):
    n = len(plan.candidates)
    times = measured(plan, folds={number: 1.0 + number / 100 for number in range(n)})
    in_full = times.of_a_study(plan)
    one_repeat = times.of_a_study(replace(plan, n_repeats=1))
    fewest = times.of_a_study(replace(plan, n_repeats=1, n_permutations=19))

    fewer_repeats = within_budget(replace(plan, budget=in_full - 1), times)
    assert (fewer_repeats.n_repeats, fewer_repeats.n_permutations, fewer_repeats.skipped) == (2, 99, ())

    fewer_permutations = within_budget(replace(plan, budget=one_repeat - 1), times)
    assert fewer_permutations.n_repeats == 1
    assert 19 <= fewer_permutations.n_permutations < 99
    assert fewer_permutations.skipped == ()
    assert times.of_a_study(fewer_permutations) <= one_repeat - 1

    no_interactions = within_budget(replace(plan, budget=fewest - 0.5), times)
    assert (no_interactions.n_permutations, no_interactions.untested, no_interactions.skipped) == (33, INTERACTIONS, ())
    assert nulls_of(no_interactions) == ("labels",)

    one_test = times.of_a_study(replace(plan, n_repeats=1, n_permutations=19, untested=INTERACTIONS))
    fewer_candidates = within_budget(replace(plan, budget=one_test - 0.5), times)
    assert (fewer_candidates.n_repeats, fewer_candidates.n_permutations) == (1, 19)
    assert fewer_candidates.untested == INTERACTIONS
    assert fewer_candidates.skipped == (n - 1,)  # the slowest one


def test_a_test_that_takes_too_long_with_a_single_candidate_is_left_out(plan):
    slow_tests = measured(plan, permutation=10.0)
    folds = slow_tests.of_a_study(replace(plan, n_repeats=1, n_permutations=0))
    settled = within_budget(replace(plan, budget=folds + 100), slow_tests)
    assert (settled.n_repeats, settled.n_permutations, settled.skipped) == (1, 0, ())
    assert slow_tests.of_a_study(settled) <= folds + 100
    said = limit_in_words(replace(plan, budget=folds + 100), settled, 1.0, 1.0)
    assert said.endswith("folds drawn once instead of 3 times, no permutation tests.")
    # Where leaving out candidates makes room, the test stays.
    settled = within_budget(replace(plan, budget=220.0), slow_tests)
    assert (settled.n_permutations, settled.untested) == (19, INTERACTIONS)
    assert len(settled.skipped) > 0


def test_late_tests_have_a_tenth_of_the_limit_more_before_they_are_left_out(plan):
    times = measured(plan, permutation=1.0)
    assert with_tests_within(plan, 100.0, times).n_permutations == 50
    assert with_tests_within(plan, 37.0, times) == replace(plan, n_permutations=37, untested=INTERACTIONS)
    assert with_tests_within(plan, 37.0, times, grace=1.0) == replace(plan, n_permutations=19)
    assert with_tests_within(plan, 18.0, times, grace=0.5) == replace(plan, n_permutations=0)
    assert with_tests_within(plan, -1.0, times, grace=20.0) == replace(plan, n_permutations=19, untested=INTERACTIONS)


def test_a_limit_counts_from_when_the_study_was_asked_for(data, quick_plan, tmp_path):
    plan = quick_plan(data, n_repeats=4, budget=600)
    early = Clock(wall=time.perf_counter() - 610)
    with Journal.create(tmp_path / "journal.sqlite", plan) as journal, Engine.local(1) as engine:
        with pytest.warns(UserWarning, match="The limit is too short for this table"):
            run_plan(plan, data, journal, engine=engine, clock=early)
        assert journal.settled.n_repeats == 1


def test_the_end_of_a_study_is_expected_to_take_longer_on_a_busy_machine(monkeypatch):
    monkeypatch.setattr("fewer.study.plan._budget.time.perf_counter", lambda: 2e6)
    monkeypatch.setattr("fewer.study.plan._budget.time.process_time", lambda: 100.0)
    usual = Clock(1e6, 99.9).closing()  # too little work to say
    assert Clock(2e6 - 0.75, 99.75).closing() == 3 * usual
    assert Clock(1e6, 99.75).closing() == 10 * usual


def test_a_study_is_left_whatever_the_limit(plan):
    settled = within_budget(replace(plan, budget=1e-6), measured(plan))
    left = [each for number, each in enumerate(plan.candidates) if number not in settled.skipped]
    assert settled.n_permutations == 0
    assert [each.is_baseline for each in left] == [True, False, False]
    assert left[1].reducer is None
    assert left[2].reducer is not None
    assert left[1].learner == left[2].learner
    said = limit_in_words(replace(plan, budget=1e-6), settled, 20.0, 90.0)
    assert "The limit is too short for this table: even this is expected to take 20 seconds." in said


def test_no_tests_stay_no_tests(plan):
    asked = replace(plan, budget=1e-6, n_permutations=0)
    assert within_budget(asked, measured(plan)).n_permutations == 0


def test_the_fit_of_a_reducer_is_paid_by_whoever_is_left(plan):
    """The first candidate of a reducer is timed with its fit; leaving that one out saves its learner only."""
    first, second, third = (n for n, each in enumerate(plan.candidates) if each.labels[0] == "anova")
    times = measured(
        plan, folds=dict.fromkeys(range(len(plan.candidates)), 0.0) | {first: 9.0, second: 1.0, third: 1.0}
    )
    assert times.of_a_fold(plan) == 11.0
    assert times.of_a_fold(replace(plan, skipped=(first,))) == 10.0
    assert times.of_a_fold(replace(plan, skipped=(first, second, third))) == 0.0


def test_workers_are_started_if_the_study_is_finished_earlier_with_them(plan):
    n = len(plan.candidates)
    short = measured(plan, folds=dict.fromkeys(range(n), 0.01), permutation=0.0, n_workers=2, starting=3.0)
    assert not short.needs_workers(plan)
    assert short.of_a_study(plan) == measured(plan, folds=short.folds, permutation=0.0).of_a_study(plan)
    long = replace(short, folds=dict.fromkeys(range(n), 1.0))
    assert long.needs_workers(plan)
    assert long.of_a_study(plan) > replace(long, starting=0.0).of_a_study(plan)
    assert measured(plan).needs_workers(plan) is False


def test_a_fold_takes_as_long_as_its_longest_task(plan):
    """One candidate takes all of the time, so that a second worker has nothing to do while it runs."""
    only = replace(plan, n_permutations=0)
    slow = {number: float(number == 1) for number in range(len(plan.candidates))}
    folds = plan.n_folds * plan.n_repeats
    with_two = measured(plan, folds=slow, n_workers=2)
    assert with_two.of_a_study(only) - with_two.spent - with_two.closing >= folds


def test_held_out_predictions_count_the_slow_learners_and_not_all_numbers_of_columns(plan):
    first, others = measured(plan)._of_predictions(plan)
    n, sizes = len(plan.candidates), len(plan.candidates[-1].sizes)
    assert sizes > 3
    # A tenth of the fold for importance; six candidates, of which learners with all columns are fitted as before.
    assert first == pytest.approx(0.1 * n + 4 + 2 * 3 / sizes)
    assert others == pytest.approx(0.1 * n + 1 + 3 / sizes)


def test_candidates_left_out_get_no_folds_and_no_place(plan):
    work = [
        piece for tasks in fold_rounds({}, replace(plan, skipped=(2, 5), racing=0)) for task in tasks for piece in task
    ]
    assert {piece.candidate for piece in work} == set(range(len(plan.candidates))) - {2, 5}


@pytest.mark.parametrize("after", [3, pytest.param(12, marks=pytest.mark.slow), 15])
def test_a_stopped_study_goes_on_with_the_decision_that_it_has_made(data, plan, tmp_path, after):
    asked = replace(plan, budget=1e-6)
    path = tmp_path / "journal.sqlite"
    with Journal.create(path, asked) as journal, pytest.raises(StudyInterruptedError):
        run_plan(asked, data, journal, engine=StoppingEngine(after))
    with Journal.open(path, asked) as journal, Engine.local(1) as engine:
        assert (BUDGET in journal) == (after > 10)
        before = {key: journal[key] for key in journal.keys(BUDGET)}
        run_plan(asked, data, journal, engine=engine)
        assert before.items() <= {key: journal[key] for key in journal.keys(BUDGET)}.items()
        found, settled = findings_of(journal), settled_plan(asked, journal)
        work = {key: journal[key] for key in journal.keys()}  # noqa: SIM118 - not a dict
    assert found.plan == settled
    assert settled.budget is None
    notes = [each for each in found.cautions if each.topic == "time limit"]
    assert "without" in notes[0].sentence
    assert "no permutation tests" in notes[0].sentence
    assert found.learnable.verdict == "not tested"

    # The plan that is left, saved and loaded, gives the same bits without a clock.
    settled.save(tmp_path / "plan.json")
    again = Plan.load(tmp_path / "plan.json")
    assert again == settled
    with Journal.create(tmp_path / "again.sqlite", again) as journal, Engine.local(1) as engine:
        run_plan(again, data, journal, engine=engine)
        assert {key: journal[key] for key in journal.keys()}.items() <= work.items()  # noqa: SIM118
        same = findings_of(journal)
    assert same.verdict == found.verdict
    assert same.answers["which"] == found.answers["which"]
    assert next(each.sentence for each in same.cautions if each.topic == "time limit").startswith("The plan leaves out")


def test_a_long_limit_changes_nothing(data, quick_plan, tmp_path):
    found = []
    for place, budget in enumerate((None, "1d")):
        plan = quick_plan(data, budget=budget)
        with Journal.create(tmp_path / f"{place}.sqlite", plan) as journal, Engine.local(1) as engine:
            run_plan(plan, data, journal, engine=engine)
            found.append(findings_of(journal).to_json())
    assert found[0] == found[1]


@pytest.mark.parametrize("skipped", [[0], [1], [4, 5, 6, 7, 8, 9], [99], ["a"], "x"])
def test_a_plan_that_leaves_out_what_a_study_needs_is_refused(plan, skipped):
    data = plan.to_dict() | {"skipped": skipped}
    with pytest.raises(StudyError, match="'skipped' should be places of candidates that can be left out"):
        Plan.from_dict(data)


def test_the_estimate_says_what_a_limit_leaves_out(data, quick_plan):
    said = time_estimate(quick_plan(data, budget=0.01), data, n_workers=1)
    assert "with limit    To keep the time limit of 1 second" in said
    assert "long enough" in time_estimate(quick_plan(data, budget="1d"), data, n_workers=1)


def test_a_selector_keeps_its_limit(make_table):
    table = make_table()
    options = {"methods": ["anova"], "learners": ["ridge"], "n_folds": 3, "n_repeats": 5}
    selector = fewer.StudySelector(**options, budget=0.01).fit(table.X, table.y)
    assert selector.findings_.plan.n_repeats == 1
    assert fewer.StudySelector(**options, budget="1h").fit(table.X, table.y).findings_.plan.n_repeats == 5


@pytest.mark.parametrize("n_permutations", [19, 99, 199, 999])
@pytest.mark.parametrize("level", [0.01, 0.05, 0.2])
def test_a_test_that_stops_has_the_verdict_of_all_permutations(plan, n_permutations, level):
    rng = np.random.default_rng(n_permutations)
    plan = replace(plan, n_permutations=n_permutations, confidence=1 - level)
    n_stopped = 0
    for share in np.concatenate([np.linspace(0, 3 * level, 60), rng.uniform(size=60)]):
        scores = (rng.uniform(size=n_permutations) < share).astype(float).tolist()
        found = scores
        for stop in batch_ends(n_permutations):
            if is_decided(scores[:stop], 1.0, enough(plan)):
                found = scores[:stop]
                break
        n_stopped += len(found) < n_permutations
        p_values = [(1 + sum(each)) / (1 + len(each)) for each in (found, scores)]
        assert (p_values[0] <= level) == (p_values[1] <= level)
    assert n_stopped > (0 if n_permutations > 19 else -1)
