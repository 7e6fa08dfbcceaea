"""Three classes in blocks of correlated columns, two of them close to each other and far from the third.

Column j of block b is ``m_cb + sqrt(r) u_b + sqrt(1 - r) e_j`` in class c, with standard normal u and e: variance 1,
and correlation r within a block. Eighteen blocks have means other than zero. Only the first two tell the classes A and
B apart, while most of the others set class C apart, and far.

Yu, G. et al. (2010). Matched gene selection and committee classifier for molecular classification of heterogeneous
diseases. Journal of Machine Learning Research 11, 2141-2167 (design I).
"""

from typing import TYPE_CHECKING

import numpy as np

from fewer.datasets._problem import Problem

if TYPE_CHECKING:
    from numpy.random import RandomState

_MEANS = np.array(
    [
        [2.8, 1, 2, 0.5, 0, 2, 2, 1, 2, 3, 2, 2, 2, 0.5, 0, 1, 3, 0.1],
        [1, 2.8, 2, 0.5, 0, 2, 2, 1, 2, 3, 2, 2, 2, 0.5, 0, 1, 3, 0.1],
        [1, 1, 14.4, 8.5, 8, 10, 10, 9, 10, 3, 10, 10, 10, 8.5, 8, 9, 11, 7.1],
    ]
)


def make_gene_blocks(
    n_per_class: int = 20,
    n_blocks: int = 1000,
    block_size: int = 5,
    correlation: float = 0.9,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Three classes in blocks of correlated columns, where a few columns separate two neighbours.

    Parameters
    ----------
    n_per_class : int, default=20
        Rows of each class.
    n_blocks : int, default=1000
        Blocks of columns; the first 18 have means other than zero.
    block_size : int, default=5
        Columns of a block.
    correlation : float, default=0.9
        Correlation of two columns of a block.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Returns
    -------
    problem : Problem
        On the log scale, with the classes "A", "B" and "C". ``truth`` holds ``means`` (n_classes, n_features),
        ``support`` (the columns whose class means differ), ``markers`` (for each class, the columns that are higher in
        it than in any other) and ``bayes_error``, the smallest error there is when the classes are equally frequent; C
        is so far away that only A and B are mistaken for each other.

    Examples
    --------
    >>> from fewer.datasets import make_gene_blocks
    >>> X, y, truth = make_gene_blocks(random_state=0)
    >>> X.shape, round(truth["bayes_error"], 4)
    ((60, 5000), 0.0615)
    >>> truth["markers"]["B"]
    array([5, 6, 7, 8, 9])
    """
    from scipy.special import ndtr
    from sklearn.utils import check_random_state

    if n_per_class < 1 or block_size < 1 or n_blocks < _MEANS.shape[1]:
        raise ValueError(
            f"n_per_class={n_per_class} and block_size={block_size} must be at least 1, and n_blocks={n_blocks} at "
            f"least {_MEANS.shape[1]}, the number of blocks with means of their own."
        )
    if not 0 <= correlation < 1:
        raise ValueError(f"correlation={correlation} must be at least 0 and less than 1.")
    rng = check_random_state(random_state)
    means = np.zeros((3, n_blocks, block_size))
    means[:, : _MEANS.shape[1]] = _MEANS[:, :, None]
    n_rows = 3 * n_per_class
    X = np.sqrt(1 - correlation) * rng.normal(size=(n_rows, n_blocks, block_size))
    X += np.sqrt(correlation) * rng.normal(size=(n_rows, n_blocks, 1))
    X += np.repeat(means, n_per_class, axis=0)
    class_means = means.reshape(3, -1)
    highest = class_means > np.sort(class_means, axis=0)[1]
    # Five columns of a block tell as much as one with this many times the signal.
    gain = block_size / (1 + (block_size - 1) * correlation)
    distance = np.sqrt(gain * ((_MEANS[0] - _MEANS[1]) ** 2).sum())
    truth = {
        "means": class_means,
        "support": np.flatnonzero(np.ptp(class_means, axis=0) > 0),
        "markers": {label: np.flatnonzero(row) for label, row in zip("ABC", highest, strict=True)},
        "bayes_error": float(2 / 3 * ndtr(-distance / 2)),
    }
    return Problem(X.reshape(n_rows, -1), np.repeat(["A", "B", "C"], n_per_class), truth)
