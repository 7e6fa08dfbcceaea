"""Where classes lie along discriminant directions for rows that are left out of the fit.

With many columns the training rows of a class fall together, and new rows lie nearer to the middle and further apart.
The directions are a ridge regression of the scores ``y = H E Pi^{-1/2} v``, of which a row that is left out keeps the
residual ``e / (1 - h)``, h being its leverage and e what the regression of all rows leaves. So left-out rows are at

    y - e / (1 - h).

Where leverages are not at hand, their mean does for all (generalised cross-validation): with
``t = 1 - h = freedom / n`` class j has its centre at ``y_j (1 - (1 - gamma) / t)``, and the variance around it is
``(|e|^2 - (1 - gamma)^2) / (n t^2)``.
"""

from typing import NamedTuple

import numpy as np

from fewer.extract.fisher._class_scores import Groups

_NO_FREEDOM = 1e-10


class LeftOut(NamedTuple):
    """Centres (classes, directions) of left-out rows, and variances around them, in the lengths of ridge regression."""

    centres: np.ndarray
    variances: np.ndarray

    def turned(self, signs: np.ndarray) -> "LeftOut":
        """The same along the first directions, some of them turned round."""
        return LeftOut(self.centres[:, : len(signs)] * signs, self.variances[: len(signs)])


def left_out_rows(
    scores: np.ndarray, residuals: np.ndarray, freedoms: np.ndarray, groups: Groups, rotation: np.ndarray
) -> LeftOut | None:
    """From scores and residuals (rows, directions), and ``1 - h`` of each row; None if rows have no freedom."""
    if freedoms.min() <= _NO_FREEDOM:
        return None
    along = scores - residuals / freedoms[:, None]
    centres = groups.means(along)
    variances = np.mean((along - centres[groups.codes]) ** 2, axis=0)
    # Left-out rows of classes that cannot be told lie on the other side by a little: that tells nothing.
    agree = np.einsum("jk,jk->k", np.sqrt(groups.sizes)[:, None] * rotation, centres) > 0
    return LeftOut(centres * agree, variances)


def left_out_on_average(
    products: np.ndarray, squares: np.ndarray, freedom: float, groups: Groups, rotation: np.ndarray
) -> LeftOut | None:
    """From ``1 - gamma`` and ``|e|^2`` of each direction, and the number of rows less the degrees of freedom."""
    n_rows = len(groups.codes)
    share = freedom / n_rows
    if share <= _NO_FREEDOM:
        return None
    centres = np.maximum(1 - products / share, 0) * rotation / np.sqrt(groups.sizes)[:, None]
    return LeftOut(centres, np.maximum(squares - products**2, 0) / (n_rows * share**2))
