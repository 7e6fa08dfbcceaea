"""What is predicted: each family is a loss, its negative gradient, where f starts, and how f is read."""

from typing import Any

from fewer.learn.boosting.families._classes import AdaExpFamily, BinomialFamily, ProportionalOddsFamily
from fewer.learn.boosting.families._counts import NegativeBinomialFamily, PoissonFamily
from fewer.learn.boosting.families._family import Family
from fewer.learn.boosting.families._numbers import (
    ExpectileFamily,
    GaussianFamily,
    HuberFamily,
    LaplaceFamily,
    QuantileFamily,
)
from fewer.learn.boosting.families._survival import CoxFamily, LogLogisticFamily, LogNormalFamily, WeibullFamily

REGRESSION: dict[str, type[Family]] = {
    "gaussian": GaussianFamily,
    "laplace": LaplaceFamily,
    "huber": HuberFamily,
    "quantile": QuantileFamily,
    "expectile": ExpectileFamily,
    "poisson": PoissonFamily,
    "negative_binomial": NegativeBinomialFamily,
    "cox": CoxFamily,
    "weibull": WeibullFamily,
    "log_logistic": LogLogisticFamily,
    "log_normal": LogNormalFamily,
}
CLASSIFICATION: dict[str, type[Family]] = {
    "binomial": BinomialFamily,
    "adaexp": AdaExpFamily,
    "proportional_odds": ProportionalOddsFamily,
}


def family_of(family: Any, among: dict[str, type[Family]]) -> Family:
    """The family of this name, or the one given."""
    return among[family]() if isinstance(family, str) else family


__all__ = [
    "CLASSIFICATION",
    "REGRESSION",
    "AdaExpFamily",
    "BinomialFamily",
    "CoxFamily",
    "ExpectileFamily",
    "Family",
    "GaussianFamily",
    "HuberFamily",
    "LaplaceFamily",
    "LogLogisticFamily",
    "LogNormalFamily",
    "NegativeBinomialFamily",
    "PoissonFamily",
    "ProportionalOddsFamily",
    "QuantileFamily",
    "WeibullFamily",
    "family_of",
]
