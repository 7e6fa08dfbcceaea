"""Short lists of the smallest values seen so far, one for each column."""

from numba import njit


@njit(cache=True, nogil=True)
def put_in(values, names, value, name):
    """Put a value into an ascending list of fixed length, if it belongs there; of equals the earlier stays ahead."""
    place = values.size - 1
    if not value < values[place]:
        return
    while place > 0 and value < values[place - 1]:
        values[place], names[place] = values[place - 1], names[place - 1]
        place -= 1
    values[place], names[place] = value, name


@njit(cache=True, nogil=True)
def note_pairs(values, names, column, others, of_column, of_others):
    """Note what a column has with others in its own list, and what they have with it in theirs."""
    for place in range(others.size):
        other = others[place]
        put_in(values[column], names[column], of_column[place], other)
        put_in(values[other], names[other], of_others[place], column)
