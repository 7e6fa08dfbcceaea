"""Partial least squares: new columns by covariance with targets, classes or another table."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.extract.pls._nonlinear_pls import KernelPLS, PolynomialPLSRegressor
    from fewer.extract.pls._pls_discriminant import PLSDiscriminant
    from fewer.extract.pls._pls_regressor import PLSRegressor
    from fewer.extract.pls._shrinkage import PLSShrinkage, pls_shrinkage
    from fewer.extract.pls._two_tables import PLSSB, CanonicalRidge, PLSCanonical

__all__ = [
    "PLSSB",
    "CanonicalRidge",
    "KernelPLS",
    "PLSCanonical",
    "PLSDiscriminant",
    "PLSRegressor",
    "PLSShrinkage",
    "PolynomialPLSRegressor",
    "pls_shrinkage",
]

__getattr__, __dir__ = lazy_names(__name__)
