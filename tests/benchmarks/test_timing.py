import pytest

from benchmarks.timing import SHORTEST_SAMPLE, Timing, interleaved_timings, seconds_per_call


def test_a_slow_call_is_made_once(clock):
    assert seconds_per_call(clock.work(2.5, name="slow"), clock) == 2.5
    assert clock.log == ["slow"]


def test_a_fast_call_is_repeated_until_it_can_be_timed(clock):
    assert seconds_per_call(clock.work(SHORTEST_SAMPLE / 8), clock) == pytest.approx(SHORTEST_SAMPLE / 8)
    assert len(clock.log) == 8


def test_every_round_times_everybody_once_in_a_shuffled_order(clock):
    contenders = {name: clock.work(1.0, name=name) for name in "abcd"}
    interleaved_timings(contenders, repeats=20, clock=clock)
    rounds = [clock.log[start : start + 4] for start in range(0, 80, 4)]
    assert all(sorted(order) == list("abcd") for order in rounds)
    assert len({tuple(order) for order in rounds}) > 5


def test_the_order_is_the_same_in_every_run(new_clock):
    logs = []
    for _ in range(2):
        clock = new_clock()
        interleaved_timings({name: clock.work(1.0, name=name) for name in "abcd"}, repeats=10, clock=clock)
        logs.append(clock.log)
    assert logs[0] == logs[1]


def test_median_and_quartiles_shrug_off_one_bad_run():
    timing = Timing((1.0, 1.1, 0.9, 1.0, 60.0))
    assert timing.median == 1.0
    assert timing.quartiles == (1.0, 1.1)
    assert Timing((2.0,)).quartiles == (2.0, 2.0)
