"""Linear mixtures of independent sources: ``x = A s``.

The sources ``s`` are independent, with mean 0 and variance 1; ``A`` is (n_sensors, n_sources). Independent component
analysis should recover the sources from ``x`` alone, up to order and sign.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fewer.datasets._problem import Problem

if TYPE_CHECKING:
    from numpy.random import RandomState

_Draw = Callable[["RandomState", int], np.ndarray]

# Each with mean 0 and variance 1, beside its excess kurtosis.
_SOURCES: dict[str, tuple[_Draw, float]] = {
    "uniform": (lambda random, n: random.uniform(-np.sqrt(3), np.sqrt(3), n), -1.2),
    "laplace": (lambda random, n: random.laplace(scale=np.sqrt(0.5), size=n), 3.0),
    "normal": (lambda random, n: random.normal(size=n), 0.0),
    "logistic": (lambda random, n: random.logistic(scale=np.sqrt(3) / np.pi, size=n), 1.2),
    "exponential": (lambda random, n: random.exponential(size=n) - 1, 6.0),
    "binary": (lambda random, n: random.choice([-1.0, 1.0], size=n), -2.0),
}


def make_independent_sources(
    n_samples: int = 5000,
    sources: Sequence[str] = ("uniform", "laplace", "normal"),
    n_sensors: int | None = None,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Sensors that each record a mixture of independent sources.

    Parameters
    ----------
    n_samples : int, default=5000
        Rows.
    sources : sequence of str, default=("uniform", "laplace", "normal")
        Distributions of the sources, each with mean 0 and variance 1: ``"uniform"``, ``"laplace"``, ``"normal"``,
        ``"logistic"``, ``"exponential"`` or ``"binary"``. One may occur several times.
    n_sensors : int, optional
        Columns of ``X``; as many as there are sources by default, and never fewer.
    random_state : int, RandomState instance or None, default=None
        Draws the mixing (standard normal entries), then the sources.

    Returns
    -------
    problem : Problem
        ``X = sources @ mixing.T``, no target. ``truth`` holds ``sources`` (n_samples, n_sources), ``mixing``
        (n_sensors, n_sources) and ``kurtosis``, the excess kurtosis of each source's distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.datasets import make_independent_sources
    >>> X, y, truth = make_independent_sources(n_samples=1000, n_sensors=4, random_state=0)
    >>> X.shape, truth["mixing"].shape
    ((1000, 4), (4, 3))
    >>> bool(np.allclose(truth["sources"] @ truth["mixing"].T, X))
    True
    """
    from sklearn.utils import check_random_state

    unknown = [source for source in sources if source not in _SOURCES]
    if isinstance(sources, str) or unknown or not len(sources):
        raise ValueError(f"sources={sources!r} must be a sequence of names among {', '.join(_SOURCES)}.")
    n_sensors = len(sources) if n_sensors is None else n_sensors
    if n_sensors < len(sources):
        raise ValueError(
            f"n_sensors={n_sensors} is fewer than the {len(sources)} sources, which could not be told apart."
        )
    random = check_random_state(random_state)
    mixing = random.normal(size=(n_sensors, len(sources)))
    drawn = np.column_stack([_SOURCES[source][0](random, n_samples) for source in sources])
    kurtosis = np.array([_SOURCES[source][1] for source in sources])
    return Problem(drawn @ mixing.T, None, {"sources": drawn, "mixing": mixing, "kurtosis": kurtosis})
