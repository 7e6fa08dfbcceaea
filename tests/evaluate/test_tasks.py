"""Pieces of work: where they run, what an interrupt keeps."""

import signal
import time

import numpy as np
import pytest
from sklearn.feature_selection import SelectKBest
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from fewer.engine import Engine
from fewer.evaluate import NestedEvaluation, permutation_test, protocol_audit, selection_curve, sustainable_error_curve
from fewer.evaluate.protocol._tasks import engine_for, values_of
from fewer.learn import KernelRidgeClassifierLOO
from fewer.theory import (
    PermutationBattery,
    peaking_curve,
    plan_n_features,
    selection_bias_experiment,
    selection_overfit_curve,
)

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 6)), np.arange(40) % 2


def product(task, factor):
    return task * factor


def slow_first(task, pause):
    time.sleep(pause if task == 0 else 0)
    return task


def interrupted_at(task, last):
    if task == last:
        signal.raise_signal(signal.SIGINT)
    return task


def values(function, tasks, shared, **options):
    return values_of(function, tasks, shared, description="Counting", **({"engine": None} | options))


@pytest.mark.parametrize("engine", [None, 1, np.int64(1)])
def test_every_value_comes_under_the_place_of_its_task(engine):
    assert values(product, [5, 3, 4], 10, engine=engine) == {0: 50, 1: 30, 2: 40}


def test_values_stand_in_the_order_of_their_tasks_whichever_ends_first(workers):
    assert list(values(slow_first, [0, 1, 2], 0.3, engine=workers)) == [0, 1, 2]


def test_an_engine_that_was_given_stays_open(workers):
    assert values(product, [5, 3, 4], 10, engine=workers) == {0: 50, 1: 30, 2: 40}
    assert not workers.closed
    with Engine.local(1) as mine:
        with engine_for(mine) as running:
            assert running is mine
        assert not mine.closed
    with engine_for(1) as own:
        assert own.n_workers == 1
    assert own.closed


def test_without_an_engine_errors_come_through_as_they_are():
    with pytest.raises(TypeError, match="unsupported operand") as caught:
        values(product, [1, {}], 2, labels=["the first", "the second"])
    assert caught.value.__notes__ == ["This happened in the second."]
    with pytest.raises(RuntimeError, match="the second failed"):
        values(product, [1, {}], 2, engine=1, labels=["the first", "the second"])


@pytest.mark.parametrize("progress", [False, lambda done, total, outcome: None], ids=["here", "on an engine"])
def test_an_interrupt_keeps_what_is_done_and_says_so(progress, ctrl_c_is_heard):
    with pytest.warns(UserWarning, match="Counting: interrupted after 2 of 4 pieces of work"):
        assert values(interrupted_at, [0, 1, 2, 3], 2, progress=progress) == {0: 0, 1: 1}


@pytest.mark.parametrize("options", [{"only_all": True, "tasks": [0, 1]}, {"tasks": [1]}], ids=["some", "none"])
def test_an_interrupt_stays_one_when_what_is_done_is_worth_nothing(options, ctrl_c_is_heard):
    with pytest.raises(KeyboardInterrupt, match="pieces of work were done"):
        values(interrupted_at, options["tasks"], 1, only_all=options.get("only_all", False))


SEARCH = make_pipeline(SelectKBest(k=2), GaussianNB())
TAKING_AN_ENGINE = {
    "selection_curve": lambda engine: selection_curve(SelectKBest(), GaussianNB(), X, Y, engine=engine),
    "bias experiment": lambda engine: selection_bias_experiment(SelectKBest(), GaussianNB(), X, Y, engine=engine),
    "sustainable error": lambda engine: sustainable_error_curve(SEARCH, X, Y, cv=2, grid=[1], engine=engine),
    "nested evaluation": lambda engine: NestedEvaluation(SEARCH).run(X, Y, engine=engine),
    "protocol audit": lambda engine: protocol_audit(SEARCH, X, Y, engine=engine),
    "overfit curve": lambda engine: selection_overfit_curve(KernelRidgeClassifierLOO(), X, Y, engine=engine),
    "plan": lambda engine: plan_n_features(X, Y, engine=engine),
    "peaking curve": lambda engine: peaking_curve("mean_difference", [1.0], 4, engine=engine),
    "permutation test": lambda engine: permutation_test(GaussianNB(), X, Y, engine=engine),
    "battery": lambda engine: PermutationBattery([GaussianNB()], [(X, Y)]).run(engine),
}


@pytest.mark.parametrize("name", TAKING_AN_ENGINE)
def test_what_is_no_engine_is_refused_everywhere(name):
    with pytest.raises(TypeError, match=r"engine='fast' is not an Engine; .* n_jobs=4"):
        TAKING_AN_ENGINE[name]("fast")


@pytest.mark.parametrize("n_jobs", [True, 2.0])
def test_only_whole_numbers_count_processes(n_jobs):
    with pytest.raises(TypeError, match=f"n_jobs={n_jobs} must be a whole number"):
        selection_curve(SelectKBest(), GaussianNB(), X, Y, n_jobs=n_jobs)


def test_processes_are_counted_or_an_engine_is_given_but_not_both(workers):
    with pytest.raises(ValueError, match="pass one of them"):
        plan_n_features(X, Y, engine=workers, n_jobs=2)
