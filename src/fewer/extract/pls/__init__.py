"""Partial least squares: new columns by covariance with targets, classes or another table."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.extract.pls._canonical_ridge import PLSSB, CanonicalRidge
    from fewer.extract.pls._kernel_pls import KernelPLS
    from fewer.extract.pls._pls_canonical import PLSCanonical
    from fewer.extract.pls._pls_discriminant import PLSDiscriminant
    from fewer.extract.pls._pls_regressor import PLSRegressor
    from fewer.extract.pls._polynomial_pls import PolynomialPLSRegressor
    from fewer.extract.pls._shrinkage import PLSShrinkage, pls_shrinkage
    from fewer.extract.pls._vip_selector import VIPSelector

__all__ = [
    "PLSSB",
    "CanonicalRidge",
    "KernelPLS",
    "PLSCanonical",
    "PLSDiscriminant",
    "PLSRegressor",
    "PLSShrinkage",
    "PolynomialPLSRegressor",
    "VIPSelector",
    "pls_shrinkage",
]

__getattr__, __dir__ = lazy_names(__name__)
