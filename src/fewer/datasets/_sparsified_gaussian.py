"""Random measurements of which most entries are zero: ``y = X beta + w``.

An entry of ``X`` is zero with probability ``1 - density`` and otherwise N(0, 1 / density), so that its variance is 1
(scaled); unscaled, it is N(0, 1). The noise shrinks and grows with the entries, so both scales are the same problem.
"""

from math import isqrt
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import sparse

from fewer.datasets._problem import Problem

if TYPE_CHECKING:
    from numpy.random import RandomState
    from numpy.typing import ArrayLike


def make_sparsified_gaussian(
    n_samples: int = 400,
    n_features: int = 512,
    density: float = 0.14,
    *,
    scaled: bool = True,
    distribution: Literal["normal", "sign"] = "normal",
    coef: "ArrayLike | None" = None,
    noise: float = 0.25,
    dense_output: bool = False,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Sparse random measurements of a sparse vector.

    Parameters
    ----------
    n_samples : int, default=400
        Measurements (rows).
    n_features : int, default=512
        Columns.
    density : float, default=0.14
        Probability that an entry is not zero, above 0 and at most 1.
    scaled : bool, default=True
        Whether entries have variance 1 whatever the density; otherwise those that are not zero have.
    distribution : {"normal", "sign"}, default="normal"
        What entries that are not zero are: normal, or plus and minus one value with equal chance.
    coef : array-like of shape (n_features,) or None, default=None
        The vector that is measured; by default 1 for the first ``sqrt(n_features)`` columns and 0 for the others.
    noise : float, default=0.25
        Standard deviation of the noise, in units of an entry that is not zero.
    dense_output : bool, default=False
        Whether ``X`` is an array, not a sparse matrix in CSR form.
    random_state : int, RandomState instance or None, default=None
        Draws the places, the entries and the noise.

    Returns
    -------
    problem : Problem
        ``truth`` holds ``coef``, its ``support`` and the ``noise`` vector.

    References
    ----------
    .. [1] Omidiran, D. and Wainwright, M. J. (2010). High-dimensional variable selection with sparse random
       projections: measurement sparsity and statistical efficiency. JMLR 11, 2361-2386.

    Examples
    --------
    >>> from fewer.datasets import make_sparsified_gaussian
    >>> make_sparsified_gaussian(random_state=0)
    Problem: 400 rows x 512 columns, numeric target
      truth['coef']: array 512
      truth['support']: array 22
      truth['noise']: array 400
    """
    from sklearn.utils import check_random_state

    if not 0 < density <= 1:
        raise ValueError(f"density={density}: the share of entries that are not zero must lie above 0, at most at 1.")
    if distribution not in ("normal", "sign"):
        raise ValueError(f"distribution={distribution!r} is not known; choose 'normal' or 'sign'.")
    measured = np.asarray(coef, dtype=float) if coef is not None else np.repeat(
        [1.0, 0.0], [isqrt(n_features), n_features - isqrt(n_features)]
    )  # fmt: skip
    if measured.shape != (n_features,):
        raise ValueError(f"coef of shape {measured.shape} does not go with n_features={n_features}.")
    rng = np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    size = 1 / np.sqrt(density) if scaled else 1.0
    places = _places(n_samples * n_features, density, rng)
    entries = rng.normal(size=places.size) if distribution == "normal" else rng.choice([-1.0, 1.0], places.size)
    starts = np.searchsorted(places, np.arange(n_samples + 1) * n_features)
    X = sparse.csr_array((size * entries, places % n_features, starts), shape=(n_samples, n_features))
    errors = size * noise * rng.normal(size=n_samples)
    truth = {"coef": measured, "support": np.flatnonzero(measured), "noise": errors}
    return Problem(X.toarray() if dense_output else X, X @ measured + errors, truth)


def _places(n_entries: int, density: float, rng: np.random.Generator) -> np.ndarray:
    """Which entries are not zero, in order: the gaps between them are geometric."""
    places = np.empty(0, dtype=np.int64)
    last = -1
    while last < n_entries:
        left = n_entries - last
        gaps = rng.geometric(density, size=int(left * density + 5 * np.sqrt(left * density) + 10))
        places = np.concatenate([places, last + np.cumsum(gaps)])
        last = int(places[-1])
    return places[places < n_entries]
