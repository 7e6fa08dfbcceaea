"""Numba kernels shared by the rooms."""
