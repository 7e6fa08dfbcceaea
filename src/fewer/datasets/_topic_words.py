"""Documents of which few are on a topic: words that the others share, rare words of the topic, and neutral ones.

Every word occurs in a document, or not, by itself: boilerplate with probability .25 in other documents and .10 on the
topic, topic words with .0005 and .03, and the r-th neutral word with ``min(.5, 3 / r)`` in both.
"""

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from fewer.datasets._problem import Problem

if TYPE_CHECKING:
    from numpy.random import RandomState

_BOILERPLATE = (0.25, 0.10)
_TOPIC = (0.0005, 0.03)
_ROWS_AT_A_TIME = 512


def make_topic_words(
    n_samples: int = 6000,
    n_boilerplate: int = 300,
    n_topic: int = 200,
    n_neutral: int = 2500,
    share: float = 0.02,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Documents as words that occur or not, of which few are on a topic.

    Parameters
    ----------
    n_samples : int, default=6000
        Documents.
    n_boilerplate : int, default=300
        Words that are frequent, and more so in documents that are not on the topic. They come first.
    n_topic : int, default=200
        Words that are rare everywhere, but less so on the topic.
    n_neutral : int, default=2500
        Words that are as frequent on the topic as elsewhere, some in half of all documents and most in very few.
    share : float, default=0.02
        Share of the documents on the topic, at least one and not all.
    random_state : int, RandomState instance or None, default=None
        Draws the documents.

    Returns
    -------
    problem : Problem
        Sparse table (CSR) of zeros and ones; ``y`` is 1 on the topic. ``truth`` holds ``topic`` and ``boilerplate``
        (masks of columns) and ``probabilities`` (2, n_features), those that a word occurs in a document of class 0 and
        of class 1.

    Examples
    --------
    >>> from fewer.datasets import make_topic_words
    >>> X, y, truth = make_topic_words(random_state=0)
    >>> X.shape, int(y.sum()), int(truth["topic"].sum())
    ((6000, 3000), 120, 200)
    """
    from sklearn.utils import check_random_state

    if n_samples < 2 or not 0 < share < 1:
        raise ValueError(f"n_samples={n_samples} must be at least 2, and share={share} between 0 and 1.")
    if min(n_boilerplate, n_topic, n_neutral) < 0 or n_boilerplate + n_topic + n_neutral < 1:
        raise ValueError(
            f"n_boilerplate={n_boilerplate}, n_topic={n_topic} and n_neutral={n_neutral} must not be negative, and "
            "there must be at least one word."
        )
    rng = check_random_state(random_state)
    neutral = np.minimum(0.5, 3 / np.arange(1, n_neutral + 1))
    probabilities = np.stack(
        [
            np.concatenate([np.full(n_boilerplate, boilerplate), np.full(n_topic, topic), neutral])
            for boilerplate, topic in zip(_BOILERPLATE, _TOPIC, strict=True)
        ]
    )
    n_on_topic = min(max(1, round(share * n_samples)), n_samples - 1)
    y = np.zeros(n_samples, dtype=int)
    y[rng.permutation(n_samples)[:n_on_topic]] = 1
    # Some rows at a time: a table of uniform numbers as large as the whole one would be dense.
    parts = [
        sparse.csr_array(
            (rng.uniform(size=(len(labels), probabilities.shape[1])) < probabilities[labels]).astype(float)
        )
        for labels in np.split(y, range(_ROWS_AT_A_TIME, n_samples, _ROWS_AT_A_TIME))
    ]
    places = np.arange(probabilities.shape[1])
    truth = {
        "topic": (places >= n_boilerplate) & (places < n_boilerplate + n_topic),
        "boilerplate": places < n_boilerplate,
        "probabilities": probabilities,
    }
    return Problem(sparse.vstack(parts, format="csr"), y, truth)
