"""Weights of linear support vector machines on fewer and fewer columns, for recursive elimination.

The machine is ``w = X' beta`` for the beta that solves its dual, which needs the products of the rows only. When
columns are dropped, the next machine starts from the last beta, which is nearly right: a few steps in n variables.
"""

from typing import Any

import numpy as np

from fewer._kernels._hinge_dual import effort_for, hinge_dual
from fewer.learn import OVRLinearSVMCommittee
from fewer.select._elimination import RowProducts, Weights


class ProductWeights:
    """Weights of machines on fewer and fewer columns, from products of rows that are kept up to date.

    Calling it with the columns that are left (a subset of those of the call before, ascending) gives their weights.
    """

    def __init__(self, X: Any, products: np.ndarray, signs: np.ndarray, *, C: float, tol: float) -> None:
        self.signs, self.C, self.tol = signs, C, tol
        self.products = RowProducts(X, products)
        self.beta = np.zeros(len(signs))
        self.violation = 0.0

    def __call__(self, left: np.ndarray) -> np.ndarray:
        products = self.products(left)
        cost, max_steps, _ = effort_for(products.diagonal(), self.C)
        _, violation = hinge_dual(products, self.signs, cost, self.tol, max_steps, self.beta)
        self.violation = max(self.violation, violation)
        if np.ptp(products @ self.beta) < 10 * self.tol:
            return np.zeros(len(left))  # the best machine has no weights, and those found are noise
        return self.products.weights(self.beta)


def refitted_weights(X: Any, signs: np.ndarray, *, C: float, tol: float) -> Weights:
    """The same for so many rows that their products would not fit: a machine trained anew for each call."""

    def weights(left: np.ndarray) -> np.ndarray:
        return OVRLinearSVMCommittee(C, tol).fit(X[:, left], signs).coef_[0]

    return weights
