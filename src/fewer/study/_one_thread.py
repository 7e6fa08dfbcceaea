"""One thread for the arithmetic of a study, so that sums come in one order and give the same bits everywhere."""

from fewer._kernels._one_thread import one_thread

__all__ = ["one_thread"]
