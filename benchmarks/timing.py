"""Seconds for one call of each contender, measured so that a drift of the machine hits all of them alike."""

import gc
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

Clock = Callable[[], float]

SHORTEST_SAMPLE = 0.02
"""Seconds; a faster contender is called again and again until so much time has passed, and the mean is taken."""


PAUSE = 0.1
"""Seconds between two contenders: the threads of a BLAS go on spinning for some 30 ms after a call."""


@dataclass(frozen=True)
class Timing:
    """Seconds of the timed runs of one contender."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.seconds)

    @property
    def quartiles(self) -> tuple[float, float]:
        """Lower and upper quartile; the spread is what lies between."""
        if len(self.seconds) < 2:
            return self.seconds[0], self.seconds[0]
        lower, _, upper = quantiles(self.seconds, n=4, method="inclusive")
        return lower, upper


def seconds_per_call(call: Callable[[], Any], clock: Clock = time.perf_counter) -> float:
    """Mean seconds of as many calls as fill the shortest sample."""
    calls = 0
    start = clock()
    while True:
        call()
        calls += 1
        elapsed = clock() - start
        if elapsed >= SHORTEST_SAMPLE:
            return elapsed / calls


def interleaved_timings(
    contenders: Mapping[str, Callable[[], Any]], *, repeats: int, clock: Clock = time.perf_counter, seed: int = 0
) -> dict[str, Timing]:
    """Time every contender once a round, in an order that is drawn anew for each round."""
    order = random.Random(seed)
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repeats):
        for name in order.sample(list(contenders), len(contenders)):
            gc.collect()  # so that nobody pays for another's rubbish
            time.sleep(PAUSE)  # nor for its threads
            seconds[name].append(seconds_per_call(contenders[name], clock))
    return {name: Timing(tuple(taken)) for name, taken in seconds.items()}
