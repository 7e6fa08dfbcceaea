"""Copies inside of kernels: what ``target[:] = source`` does, which Numba takes two seconds longer to compile.

Its message for sizes that do not match brings along all of Numba's text; here the caller sees to the sizes.
"""

from numba import njit


@njit(cache=True, nogil=True)
def copy_into(target, source):
    """Write one vector over another of the same size."""
    for place in range(source.size):
        target[place] = source[place]
