"""Steps of the sampler of changing networks, beside the same chain in plain Python with stored scores."""

import math
import random
from pathlib import Path

import numpy as np

from benchmarks import Case, Contest


def plain_chain(X: np.ndarray, times: list[int], lambda_s: float, max_parents: int, n_draws: int) -> np.ndarray:
    """Edges that are above one half, by the paper's moves for known times; every score is computed once."""
    rng = random.Random(0)
    n_rows, n_columns = len(X) - 1, X.shape[1]
    before, after = X[:-1].tolist(), X[1:].tolist()
    bounds = [0, *(time - 1 for time in times), n_rows]
    sets: list[set] = [set(), *({(rng.randrange(n_columns), rng.randrange(n_columns))} for _ in times)]
    stored: dict = {}

    def interval(child: int, parents: frozenset, start: int, stop: int) -> float:
        key = child, parents, start, stop
        if key not in stored:
            counts: dict = {}
            for row in range(start, stop):
                cell = counts.setdefault(tuple(before[row][parent] for parent in sorted(parents)), [0, 0])
                cell[after[row][child]] += 1
            row_prior = (stop - start) / n_rows / 2 ** len(parents)
            stored[key] = sum(
                math.lgamma(row_prior)
                - math.lgamma(row_prior + sum(cell))
                + sum(math.lgamma(row_prior / 2 + count) - math.lgamma(row_prior / 2) for count in cell)
                for cell in counts.values()
            )
        return stored[key]

    def score(child: int, changes: list[set]) -> float:
        total, parents, start = 0.0, frozenset(p for p, c in changes[0] if c == child), 0
        for number in range(1, len(bounds)):
            changed = {p for p, c in changes[number] if c == child} if number < len(bounds) - 1 else None
            if changed or changed is None:
                if len(parents) > max_parents:
                    return -math.inf
                total += interval(child, parents, start, bounds[number])
                start, parents = bounds[number], parents ^ frozenset(changed or ())
        return total

    scores = [score(child, sets) for child in range(n_columns)]
    held, kept = np.zeros((len(sets), n_columns, n_columns)), 0
    for draw in range(n_draws):
        move = rng.randrange(3)
        new = [set(each) for each in sets]
        edge = rng.randrange(n_columns), rng.randrange(n_columns)
        place = 0 if move == 0 else rng.randrange(1, len(sets))
        if move == 2:
            place = rng.choice([number for number, each in enumerate(sets) for _ in each] or [0])
            edge = rng.choice(sorted(sets[place])) if sets[place] else edge
            new[rng.choice([number for number in range(len(sets)) if number != place])] ^= {edge}
        new[place] ^= {edge}
        if all(new[1:]):
            found = score(edge[1], new)
            change = sum(map(len, new[1:])) - sum(map(len, sets[1:]))
            if math.log(1 - rng.random()) < found - scores[edge[1]] - lambda_s * change:
                sets, scores[edge[1]] = new, found
        if draw >= n_draws // 4 and draw % 20 == 0:
            network = np.zeros((n_columns, n_columns), dtype=bool)
            for number, changes in enumerate(sets):
                for parent, child in changes:
                    network[parent, child] ^= True
                held[number] += network
            kept += 1
    return held / kept > 0.5


def known_times(n_draws: int, folder: Path) -> Contest:
    """Ten columns, seven epochs with known starts, one chain; the objective is the share of edges that are right."""
    from fewer.datasets import make_changing_network

    X, _, truth = make_changing_network(random_state=0)
    times = truth["transition_times"].tolist()

    def fewer() -> np.ndarray:
        from fewer.graph import NonStationaryDBN

        model = NonStationaryDBN(times, lambda_s=2, max_parents=3, max_iter=n_draws, n_chains=1, random_state=0).fit(X)
        return np.array([model.edge_proba_[start - 1] > 0.5 for start in (1, *times)])

    return Contest(
        ours={"fewer": fewer},
        peers={"plain Python, stored scores": lambda: plain_chain(X, times, 2.0, 3, n_draws)},
        objective=lambda found: round(float((found == truth["networks"]).mean()), 2),
        tolerance=0.03,
    )


def unknown_times(n_draws: int, folder: Path) -> Contest:
    """The same series with nothing known, ten times as many steps, and the first as the measure of both."""
    from fewer.datasets import make_changing_network
    from fewer.graph import NonStationaryDBN

    X, _, _ = make_changing_network(random_state=0)

    def fit(draws: int) -> int:
        model = NonStationaryDBN(lambda_s=5, lambda_m=5, max_parents=3, max_iter=draws, n_chains=1, random_state=0)
        return len(model.fit(X).edge_proba_)

    return Contest(
        ours={f"fewer, {10 * n_draws:,} steps": lambda: fit(10 * n_draws)},
        peers={f"fewer, {n_draws:,} steps": lambda: fit(n_draws)},
        objective=lambda n_times: n_times,
    )


CASES = [
    Case("known times, 100,000 steps", lambda folder: known_times(100_000, folder), repeats=3),
    Case(
        "nothing known, memory and time of ten times the steps",
        lambda folder: unknown_times(100_000, folder),
        repeats=3,
    ),
]
