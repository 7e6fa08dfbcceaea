"""The chain that samples networks that change.

A state is a list of *changes* ``(time, parent, child)``, each of which switches an edge on or off from that transition
row on. Changes at time 0 are the edges of the first network; the other times are where epochs begin. A child's parents
are constant over *intervals*, and each interval adds its own term to the score (`_nsbde.interval_score`).

Rows of the data are transitions, ``before[replicate, t]`` and ``after[replicate, t]``.
"""

import math

import numpy as np
from numba import njit

from fewer._kernels._arrays import copy_into
from fewer._kernels._draws import draw_below, next_bits
from fewer.graph.changing._nsbde import interval_score, most_cells

_S11 = np.uint64(11)
_FACTOR_1 = np.uint64(0x9E3779B97F4A7C15)
_FACTOR_2 = np.uint64(0xD6E8FEB86659FD93)
_S32 = np.uint64(32)
_N_CACHED = 1 << 16
"""Scores of intervals that are kept; a power of 2."""
N_MOVES = 6


@njit(cache=True, nogil=True)
def _copy_rows(target, source, n_rows):
    """Write some rows of one matrix over those of another; returns the target."""
    for row in range(n_rows):
        for column in range(source.shape[1]):
            target[row, column] = source[row, column]
    return target


@njit(cache=True, nogil=True)
def _cached_score(data, child, parents, n_parents, start, stop, count_prior, cache, scratch):
    """The same, looked up where it was computed before."""
    before, after, n_levels = data
    keys, values = cache
    # Parents are sorted, so that a set has one key.
    key = np.uint64(child + 1) * _FACTOR_1
    key = (key ^ (key >> _S32)) * _FACTOR_2 + np.uint64(start)
    key = (key ^ (key >> _S32)) * _FACTOR_1 + np.uint64(stop)
    for place in range(n_parents):
        key = (key ^ (key >> _S32)) * _FACTOR_2 + np.uint64(parents[place] + 1)
    key = (key ^ (key >> _S32)) * _FACTOR_1
    key = (key ^ (key >> _S32)) | np.uint64(1)  # never 0, which stands for an empty place
    slot = np.int64((key >> np.uint64(1)) & np.uint64(_N_CACHED - 1))
    if keys[slot] != key:
        keys[slot] = key
        values[slot] = interval_score(
            before, after, n_levels, child, parents, n_parents, start, stop, count_prior, scratch
        )
    return values[slot]


@njit(cache=True, nogil=True)
def _toggle(parents, n_parents, parent):
    """Add a parent to a sorted set, or remove it; the new size."""
    place = 0
    while place < n_parents and parents[place] < parent:
        place += 1
    if place < n_parents and parents[place] == parent:
        for other in range(place, n_parents - 1):
            parents[other] = parents[other + 1]
        return n_parents - 1
    for other in range(n_parents, place, -1):
        parents[other] = parents[other - 1]
    parents[place] = parent
    return n_parents + 1


@njit(cache=True, nogil=True)
def child_score(data, changes, n_changes, child, max_parents, count_prior, cache, scratch, own, parents):
    """Score of one child over all its intervals; NaN where an epoch has too many parents.

    ``own`` (n_changes) and ``parents`` (n_columns) are working space.
    """
    n_rows = data[0].shape[1]
    n_own = 0
    for change in range(n_changes):  # the child's changes, by time
        if changes[change, 2] == child:
            place = n_own
            while place > 0 and changes[own[place - 1], 0] > changes[change, 0]:
                own[place] = own[place - 1]
                place -= 1
            own[place] = change
            n_own += 1
    score, n_parents, start, change = 0.0, 0, 0, 0
    while True:
        time = start
        while change < n_own and changes[own[change], 0] == time:
            n_parents = _toggle(parents, n_parents, changes[own[change], 1])
            change += 1
        if n_parents > max_parents:
            return np.nan
        stop = changes[own[change], 0] if change < n_own else n_rows
        score += _cached_score(data, child, parents, n_parents, start, stop, count_prior, cache, scratch)
        if stop == n_rows:
            return score
        start = stop


@njit(cache=True, nogil=True)
def _find(changes, n_changes, time, parent, child):
    for change in range(n_changes):
        if changes[change, 0] == time and changes[change, 1] == parent and changes[change, 2] == child:
            return change
    return -1


@njit(cache=True, nogil=True)
def _remove(changes, n_changes, change):
    last = n_changes - 1
    for part in range(3):
        changes[change, part] = changes[last, part]
    return last


@njit(cache=True, nogil=True)
def _append(changes, n_changes, time, parent, child):
    changes[n_changes, 0], changes[n_changes, 1], changes[n_changes, 2] = time, parent, child
    return n_changes + 1


@njit(cache=True, nogil=True)
def _uniform(state):
    return np.float64(next_bits(state) >> _S11) * 2.0**-53


@njit(cache=True, nogil=True)
def _sizes_of(changes, n_changes, times, n_times, sizes):
    """Number of changes at time 0 (first entry) and at each of the sorted times."""
    sizes[: n_times + 1] = 0
    for change in range(n_changes):
        time = changes[change, 0]
        low, high = 0, n_times
        while low < high:
            middle = (low + high) // 2
            if times[middle] < time:
                low = middle + 1
            else:
                high = middle
        sizes[0 if time == 0 else low + 1] += 1


@njit(cache=True, nogil=True)
def _count(sizes, n_times, least, most):
    n = 0
    for place in range(1, n_times + 1):
        n += least <= sizes[place] <= most
    return n


@njit(cache=True, nogil=True)
def _pick(sizes, n_times, least, most, number):
    """Position of the ``number``-th time whose size is in a range."""
    for place in range(1, n_times + 1):
        if least <= sizes[place] <= most:
            if number == 0:
                return place - 1
            number -= 1
    return -1


@njit(cache=True, nogil=True)
def _insert_time(times, n_times, time):
    """Put a time in its place; the new number, or the old one if it is there already."""
    place = n_times
    while place > 0 and times[place - 1] >= time:
        place -= 1
    if place < n_times and times[place] == time:
        return n_times
    for other in range(n_times, place, -1):
        times[other] = times[other - 1]
    times[place] = time
    return n_times + 1


@njit(cache=True, nogil=True)
def _delete_time(times, n_times, place):
    for other in range(place, n_times - 1):
        times[other] = times[other + 1]
    return n_times - 1


@njit(cache=True, nogil=True)
def _switch_twice(changes, n_changes, times, n_times, sizes, options, state, touched):
    """Switch an edge at two times, so that it appears or vanishes between them only."""
    n_columns, _, max_changes, _, self_edges = options
    nothing = (False, n_changes, n_times, 0, 0.0)
    if n_times == 0:
        return nothing
    parent, child = draw_below(state, n_columns), draw_below(state, n_columns)
    first, second = draw_below(state, n_times + 1), draw_below(state, n_times)
    second += second >= first
    if parent == child and not self_edges:
        return nothing
    for place in (first, second):
        time = times[place - 1] if place > 0 else 0
        change = _find(changes, n_changes, time, parent, child)
        size = sizes[place] + (1 if change < 0 else -1)
        if place > 0 and (size == 0 or size > max_changes):
            return nothing
        if change < 0:
            n_changes = _append(changes, n_changes, time, parent, child)
        else:
            n_changes = _remove(changes, n_changes, change)
    touched[0] = child
    return True, n_changes, n_times, 1, 0.0


@njit(cache=True, nogil=True)
def _n_pairs(changes, n_changes, wanted):
    """Pairs of changes of the same edge; (their number, the two of the wanted one)."""
    n_pairs, first, second = 0, -1, -1
    for one in range(n_changes):
        for other in range(one):
            if changes[one, 1] == changes[other, 1] and changes[one, 2] == changes[other, 2]:
                if n_pairs == wanted:
                    first, second = one, other
                n_pairs += 1
    return n_pairs, first, second


@njit(cache=True, nogil=True)
def _add_or_drop_two(changes, n_changes, times, n_times, sizes, options, state, touched, parent, child):
    """Switch an edge at two new places of the series, or take two switches of the same edge away.

    Without it, a stretch of a few rows with a chance edge would stay: neither of its ends can go alone.
    """
    n_columns, n_rows, max_changes, _, _ = options
    nothing = (False, n_changes, n_times, 0, 0.0)
    n_ways = n_columns * n_columns * (n_rows * (n_rows - 1) / 2)
    if _uniform(state) < 0.5:
        first, second = draw_below(state, n_rows), draw_below(state, n_rows - 1)
        second += second >= first
        for time in (first, second):
            if _find(changes, n_changes, time, parent, child) >= 0:
                return nothing
            if time > 0:
                place = np.searchsorted(times[:n_times], time)
                if place < n_times and times[place] == time and sizes[place + 1] == max_changes:
                    return nothing
        for time in (first, second):
            n_changes = _append(changes, n_changes, time, parent, child)
            if time > 0:
                n_times = _insert_time(times, n_times, time)
        touched[0] = child
        n_pairs, _, _ = _n_pairs(changes, n_changes, -1)
        return True, n_changes, n_times, 1, math.log(n_ways / n_pairs)
    n_pairs, _, _ = _n_pairs(changes, n_changes, -1)
    if n_pairs == 0:
        return nothing
    _, one, other = _n_pairs(changes, n_changes, draw_below(state, n_pairs))
    touched[0] = changes[one, 2]
    for change in (one, other):  # the later in the list first, so that the other stays where it is
        time = changes[change, 0]
        n_changes = _remove(changes, n_changes, change)
        if time > 0:
            place = np.searchsorted(times[:n_times], time)
            alone = True
            for rest in range(n_changes):
                alone = alone and changes[rest, 0] != time
            if alone:
                n_times = _delete_time(times, n_times, place)
    return True, n_changes, n_times, 1, -math.log(n_ways / n_pairs)


@njit(cache=True, nogil=True)
def _propose(move, changes, n_changes, times, n_times, sizes, options, state, touched):
    """Change the state in place by one move; (possible, changes, times, children touched, log Hastings ratio)."""
    n_columns, n_rows, max_changes, shift_width, self_edges = options
    nothing = (False, n_changes, n_times, 0, 0.0)
    if move <= 1 or move == 4:
        parent, child = draw_below(state, n_columns), draw_below(state, n_columns)
        if parent == child and not self_edges:
            return nothing
        touched[0] = child
    if move == 0 or move == 1:  # switch an edge in the first network, or in a set of changes
        if move == 1 and n_times == 0:
            return nothing
        place = draw_below(state, n_times) if move == 1 else -1
        time = times[place] if move == 1 else 0
        change = _find(changes, n_changes, time, parent, child)
        if change >= 0:
            if move == 1 and sizes[place + 1] == 1:
                return nothing
            return True, _remove(changes, n_changes, change), n_times, 1, 0.0
        if move == 1 and sizes[place + 1] == max_changes:
            return nothing
        return True, _append(changes, n_changes, time, parent, child), n_times, 1, 0.0
    if move == 2:  # one of three: a change moves to another time, an edge is switched at two times, or a parent changes
        variant = draw_below(state, 3)
        if variant == 1:
            return _switch_twice(changes, n_changes, times, n_times, sizes, options, state, touched)
        if n_changes == 0 or (variant == 0 and n_times == 0):
            return nothing
        change = draw_below(state, n_changes)
        time, parent, child = changes[change, 0], changes[change, 1], changes[change, 2]
        if variant == 0:
            origin = np.searchsorted(times[:n_times], time) + 1 if time > 0 else 0
            target = draw_below(state, n_times)
            target += target >= origin
            time = times[target - 1] if target > 0 else 0
            if (origin > 0 and sizes[origin] == 1) or (target > 0 and sizes[target] == max_changes):
                return nothing
        else:
            parent = draw_below(state, n_columns)
            if parent == child and not self_edges:
                return nothing
        if _find(changes, n_changes, time, parent, child) >= 0:
            return nothing
        changes[change, 0], changes[change, 1] = time, parent
        touched[0] = child
        return True, n_changes, n_times, 1, 0.0
    if move == 3:  # all changes of a time move a few rows
        if n_times == 0:
            return nothing
        place = draw_below(state, n_times)
        time, new = times[place], times[place] - shift_width + draw_below(state, 2 * shift_width + 1)
        if new <= (times[place - 1] if place > 0 else 0) or new >= (
            times[place + 1] if place + 1 < n_times else n_rows
        ):
            return nothing
        times[place] = new
        n_touched = 0
        for change in range(n_changes):
            if changes[change, 0] == time:
                changes[change, 0] = new
                touched[n_touched] = changes[change, 2]
                n_touched += 1
        return True, n_changes, n_times, n_touched, 0.0
    if move == 4:  # an epoch begins with one change, or such a beginning goes; or the same with two
        n_edges = n_columns * n_columns
        if _uniform(state) < 0.5:
            return _add_or_drop_two(changes, n_changes, times, n_times, sizes, options, state, touched, parent, child)
        if _uniform(state) < 0.5:
            time = 1 + draw_below(state, n_rows - 1)
            n_single = _count(sizes, n_times, 1, 1) + 1
            grown = _insert_time(times, n_times, time)
            if grown == n_times:
                return nothing
            n_changes = _append(changes, n_changes, time, parent, child)
            return True, n_changes, grown, 1, math.log((n_rows - 1) * n_edges / n_single)
        n_single = _count(sizes, n_times, 1, 1)
        if n_single == 0:
            return nothing
        place = _pick(sizes, n_times, 1, 1, draw_below(state, n_single))
        for change in range(n_changes):
            if changes[change, 0] == times[place]:
                touched[0] = changes[change, 2]
                n_changes = _remove(changes, n_changes, change)
                break
        n_times = _delete_time(times, n_times, place)
        return True, n_changes, n_times, 1, -math.log((n_rows - 1) * n_edges / n_single)
    # A time with several changes becomes two, or two neighbours become one.
    if _uniform(state) < 0.5:
        n_several = _count(sizes, n_times, 2, n_changes)
        if n_several == 0:
            return nothing
        place = _pick(sizes, n_times, 2, n_changes, draw_below(state, n_several))
        time = times[place]
        lower = times[place - 1] if place > 0 else 0
        upper = times[place + 1] if place + 1 < n_times else n_rows
        n_free = upper - lower - 2
        if n_free == 0:
            return nothing
        other = lower + 1 + draw_below(state, n_free)
        other += other >= time
        earlier, later = min(time, other), max(time, other)
        n_earlier, size = 0, sizes[place + 1]
        for change in range(n_changes):
            if changes[change, 0] == time:
                if _uniform(state) < 0.5:
                    n_earlier += 1
                    changes[change, 0] = -earlier  # marked, so that the loop does not meet it again
                else:
                    changes[change, 0] = -later
        if n_earlier == 0 or n_earlier == size:
            return nothing
        n_touched = 0
        for change in range(n_changes):
            if changes[change, 0] < 0:
                changes[change, 0] = -changes[change, 0]
                touched[n_touched] = changes[change, 2]
                n_touched += 1
        n_times = _insert_time(times, n_times, other)
        ratio = math.log(0.5 / (n_times - 1) * n_several * n_free) + size * math.log(2.0)
        return True, n_changes, n_times, n_touched, ratio
    if n_times < 2:
        return nothing
    place = draw_below(state, n_times - 1)
    earlier, later = times[place], times[place + 1]
    size = sizes[place + 1] + sizes[place + 2]
    if size > max_changes:
        return nothing
    for change in range(n_changes):
        if (
            changes[change, 0] == earlier
            and _find(changes, n_changes, later, changes[change, 1], changes[change, 2]) >= 0
        ):
            return nothing
    keep_earlier = _uniform(state) < 0.5
    kept = earlier if keep_earlier else later
    n_touched = 0
    for change in range(n_changes):
        if changes[change, 0] == earlier or changes[change, 0] == later:
            changes[change, 0] = kept
            touched[n_touched] = changes[change, 2]
            n_touched += 1
    n_several = _count(sizes, n_times, 2, n_changes) - (sizes[place + 1] >= 2) - (sizes[place + 2] >= 2) + 1
    lower = times[place - 1] if place > 0 else 0
    upper = times[place + 2] if place + 2 < n_times else n_rows
    ratio = math.log(0.5 / (n_times - 1) * n_several * (upper - lower - 2)) + size * math.log(2.0)
    n_times = _delete_time(times, n_times, place + 1 if keep_earlier else place)
    return True, n_changes, n_times, n_touched, -ratio


@njit(cache=True, nogil=True)
def _record(changes, n_changes, times, n_times, sums):
    """Add the state to the sums over kept states; the differences grow where an edge is met for the first time."""
    differences, edge_rows, n_edges_seen, transition_counts, epoch_counts = sums
    epoch_counts[n_times] += 1
    for place in range(n_times):
        transition_counts[times[place]] += 1
    for change in range(n_changes):
        time, parent, child = changes[change, 0], changes[change, 1], changes[change, 2]
        sign = 1
        for other in range(n_changes):
            if changes[other, 1] == parent and changes[other, 2] == child and changes[other, 0] < time:
                sign = -sign
        row = edge_rows[parent, child]
        if row < 0:
            row = n_edges_seen[0]
            edge_rows[parent, child] = row
            n_edges_seen[0] += 1
            if row == len(differences):
                grown = np.zeros((2 * row, differences.shape[1]), dtype=np.int32)
                differences = _copy_rows(grown, differences, row)
        differences[row, time] += sign
    return differences


@njit(cache=True, nogil=True)
def run_chain(
    before, after, n_levels, times, changes, n_moves, lambdas, count_prior, max_parents, max_changes, shift_width,
    self_edges, n_draws, n_burn_in, thin, trace, state,
):  # fmt: skip
    """Metropolis-Hastings steps from a state; what is returned has a size that does not depend on their number.

    A proposal that is impossible counts as one that is not accepted: the state stays, and is recorded again.
    """
    lambda_s, lambda_m = lambdas
    n_rows, n_columns = before.shape[1], before.shape[2]
    data = (before, after, n_levels)
    cache = (np.zeros(_N_CACHED, dtype=np.uint64), np.empty(_N_CACHED))
    scratch = np.empty(most_cells(n_levels, max_parents), dtype=np.int64)
    options = (n_columns, n_rows, max_changes, shift_width, self_edges)

    n_times, n_changes = len(times), len(changes)
    capacity = max(64, 2 * n_changes)
    now, new = np.empty((capacity, 3), dtype=np.int64), np.empty((capacity, 3), dtype=np.int64)
    _copy_rows(now, changes, n_changes)
    times_now, times_new = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
    copy_into(times_now, times)
    sizes = np.zeros(n_rows + 1, dtype=np.int64)
    _sizes_of(now, n_changes, times_now, n_times, sizes)
    touched, own = np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64)
    parents = np.empty(n_columns + 1, dtype=np.int64)
    scores = np.empty(n_columns)
    for child in range(n_columns):
        scores[child] = child_score(data, now, n_changes, child, max_parents, count_prior, cache, scratch, own, parents)
    log_posterior = scores.sum() - lambda_s * (n_changes - sizes[0]) - lambda_m * (n_times + 1)
    child_scores = np.empty(n_columns)
    is_touched = np.zeros(n_columns, dtype=np.bool_)

    proposed, accepted = np.zeros(N_MOVES, dtype=np.int64), np.zeros(N_MOVES, dtype=np.int64)
    differences = np.zeros((16, n_rows + 1), dtype=np.int32)
    edge_rows = np.full((n_columns, n_columns), -1, dtype=np.int64)
    n_edges_seen = np.zeros(1, dtype=np.int64)
    transition_counts, epoch_counts = np.zeros(n_rows, dtype=np.int64), np.zeros(n_rows, dtype=np.int64)
    n_kept = 0
    best, best_changes = log_posterior, _copy_rows(np.empty((n_changes, 3), dtype=np.int64), now, n_changes)
    every = max(1, n_draws // len(trace))

    for draw in range(n_draws):
        move = draw_below(state, n_moves)
        proposed[move] += 1
        _copy_rows(new, now, n_changes)
        for place in range(n_times):
            times_new[place] = times_now[place]
        possible, n_new, n_times_new, n_touched, ratio = _propose(
            move, new, n_changes, times_new, n_times, sizes, options, state, touched
        )
        if possible:
            gain = 0.0
            n_children = 0
            for place in range(n_touched):
                child = touched[place]
                if not is_touched[child]:
                    is_touched[child] = True
                    touched[n_children] = child
                    child_scores[child] = child_score(
                        data, new, n_new, child, max_parents, count_prior, cache, scratch, own, parents
                    )
                    gain += child_scores[child] - scores[child]
                    n_children += 1
            is_touched[:] = False
            n_first = 0
            for change in range(n_new):
                n_first += new[change, 0] == 0
            gain -= lambda_s * ((n_new - n_first) - (n_changes - sizes[0])) + lambda_m * (n_times_new - n_times)
            if math.log(1.0 - _uniform(state)) < gain + ratio:  # never true where gain is NaN
                accepted[move] += 1
                log_posterior += gain
                now, new = new, now
                times_now, times_new = times_new, times_now
                n_changes, n_times = n_new, n_times_new
                for place in range(n_children):
                    scores[touched[place]] = child_scores[touched[place]]
                _sizes_of(now, n_changes, times_now, n_times, sizes)
                if log_posterior > best + 1e-9:
                    best = log_posterior
                    best_changes = _copy_rows(np.empty((n_changes, 3), dtype=np.int64), now, n_changes)
                if n_changes + 2 >= len(now):  # a move adds two at most
                    grown = np.empty((2 * len(now), 3), dtype=np.int64)
                    now, new = _copy_rows(grown, now, n_changes), np.empty((len(grown), 3), dtype=np.int64)
                    touched, own = np.empty(len(grown), dtype=np.int64), np.empty(len(grown), dtype=np.int64)
        if draw % every == 0 and draw // every < len(trace):
            trace[draw // every] = log_posterior
        if draw >= n_burn_in and (draw - n_burn_in) % thin == 0:
            sums = (differences, edge_rows, n_edges_seen, transition_counts, epoch_counts)
            differences = _record(now, n_changes, times_now, n_times, sums)
            n_kept += 1
    return (
        differences[: n_edges_seen[0]], edge_rows, transition_counts, epoch_counts, n_kept, proposed, accepted, best,
        best_changes,
    )  # fmt: skip
