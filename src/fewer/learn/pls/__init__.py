"""The mathematics of partial least squares: centred tables, components by several solvers, variable importance.

``fewer.extract`` has the estimators that make new columns of it, ``fewer.select`` the selector by variable importance.
"""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.learn.pls._components import (
        Factors,
        Orthogonal,
        observed_part,
        ritz_values,
        rounding,
        scores_with_missing,
    )
    from fewer.learn.pls._solution import (
        NOTHING_ALONG,
        WHY_NO_MORE,
        Moments,
        Settings,
        Solution,
        from_row_products,
        of_moments,
        shrinkage_factors,
        solution,
        vip_scores,
    )
    from fewer.learn.pls._table import CentredTable, column_means, largest_signs, leading_pair

__all__ = [
    "NOTHING_ALONG",
    "WHY_NO_MORE",
    "CentredTable",
    "Factors",
    "Moments",
    "Orthogonal",
    "Settings",
    "Solution",
    "column_means",
    "from_row_products",
    "largest_signs",
    "leading_pair",
    "observed_part",
    "of_moments",
    "ritz_values",
    "rounding",
    "scores_with_missing",
    "shrinkage_factors",
    "solution",
    "vip_scores",
]

__getattr__, __dir__ = lazy_names(__name__)
