"""The learners that the papers bring along: sparse linear, discriminants, boosting, Gaussian processes."""

from fewer.learn._kernel_ridge_loo import KernelRidgeClassifierLOO

__all__ = ["KernelRidgeClassifierLOO"]
