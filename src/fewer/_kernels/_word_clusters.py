"""Merging of the two clusters that lose least information, again and again, with few clusters open at a time.

The loss of a merge is ``g(a) + g(b) - g(a + b)`` for clusters with joint shares a and b of the classes, where
``g(v) = sum_c v_c ln v_c - v ln v`` and ``v = sum_c v_c``: what ``I(class; cluster)`` falls by.
"""

import numpy as np
from numba import njit

from fewer._kernels._copied import copy_into


@njit(cache=True, nogil=True)
def _information(shares):
    total = 0.0
    terms = 0.0
    for share in shares:
        if share > 0.0:
            terms += share * np.log(share)
            total += share
    return terms - total * np.log(total) if total > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _set_losses(table, own, losses, place, n_open):
    """Loss of a merge of one open cluster with each other one."""
    for other in range(n_open):
        total = 0.0
        terms = 0.0
        for code in range(table.shape[1]):
            share = table[place, code] + table[other, code]
            if share > 0.0:
                terms += share * np.log(share)
                total += share
        loss = max(own[place] + own[other] - (terms - total * np.log(total)), 0.0)
        losses[place, other] = loss
        losses[other, place] = loss
    losses[place, place] = np.inf


@njit(cache=True, nogil=True)
def _nearest(losses, place, n_open):
    """The open cluster with which a merge loses least."""
    best = 0
    for other in range(1, n_open):
        if losses[place, other] < losses[place, best]:
            best = other
    return best


@njit(cache=True, nogil=True)
def _open(table, own, losses, nearest, words, place, shares, word):
    """Open a cluster of one word in a free place."""
    copy_into(table[place], shares)
    own[place] = _information(shares)
    words[place] = word
    _set_losses(table, own, losses, place, place + 1)
    nearest[place] = _nearest(losses, place, place + 1)
    for other in range(place):
        if losses[other, place] < losses[other, nearest[other]]:
            nearest[other] = place


@njit(cache=True, nogil=True)
def _merge_closest(table, own, losses, nearest, words, parents, n_open):
    """Merge the two open clusters that lose least, and close the gap with the last one."""
    first = 0
    for place in range(1, n_open):
        if losses[place, nearest[place]] < losses[first, nearest[first]]:
            first = place
    second = nearest[first]
    if second < first:
        first, second = second, first
    parents[words[second]] = words[first]
    for label in range(table.shape[1]):
        table[first, label] += table[second, label]
    own[first] = _information(table[first])
    last = n_open - 1
    copy_into(table[second], table[last])
    own[second], words[second], nearest[second] = own[last], words[last], nearest[last]
    for other in range(last):
        losses[second, other] = losses[last, other]
        losses[other, second] = losses[other, last]
    losses[second, second] = np.inf
    _set_losses(table, own, losses, first, last)
    for place in range(last):
        if place == first or nearest[place] == first or nearest[place] == second:
            nearest[place] = _nearest(losses, place, last)
            continue
        if nearest[place] == last:
            nearest[place] = second
        if losses[place, first] < losses[place, nearest[place]]:
            nearest[place] = first


@njit(cache=True, nogil=True)
def merge_some(joint, order, table, own, losses, nearest, words, parents, n_open, n_entered, n_merges):
    """Some merges; before each, words enter in their order as long as there is a free place.

    Returns the number of open clusters and the number of words that have entered. The other arguments are changed in
    place: ``table`` (places, classes), ``losses`` (places, places) and ``words``, ``nearest``, ``own`` (places)
    describe the open clusters, ``parents`` (words) says into which word's cluster a word has gone.
    """
    for _ in range(n_merges):
        while n_open < len(words) and n_entered < len(order):
            word = order[n_entered]
            _open(table, own, losses, nearest, words, n_open, joint[word], word)
            n_open += 1
            n_entered += 1
        _merge_closest(table, own, losses, nearest, words, parents, n_open)
        n_open -= 1
    return n_open, n_entered
