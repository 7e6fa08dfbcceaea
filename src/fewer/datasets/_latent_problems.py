"""Problems with hidden sources, topics or clusters.

`make_independent_sources`
    Linear mixtures of independent sources: ``x = A s``.

    The sources ``s`` are independent, with mean 0 and variance 1; ``A`` is (n_sensors, n_sources). Independent
    component analysis should recover the sources from ``x`` alone, up to order and sign.

`make_topic_words`
    Documents of which few are on a topic: words that the others share, rare words of the topic, and neutral ones.

    Every word occurs in a document, or not, by itself: boilerplate with probability .25 in other documents and .10
    on the topic, topic words with .0005 and .03, and the r-th neutral word with ``min(.5, 3 / r)`` in both.

`make_subspace_clusters`
    Clusters through one another that are tight in two columns each, among rows that belong nowhere.

    Rows of cluster c are standard normal in all columns but two, which are drawn for the cluster and have a
    standard deviation of 0.1; all clusters are centred at 0, and grow in size from the first to the last. Noise is
    uniform over the range of each column.

    Savu-Krohn, C. and Auer, P. (2006). A simple feature extraction for high dimensional image representations.
    Subspace, Latent Structure and Feature Selection, LNCS 3940, 163-172.

`make_permuted_clusters`
    Two clusters that show in a few columns; the others have the same values, but each in a random order.

    Row i of cluster c (-1 or +1) has ``x_ij = c delta + e_ij`` with standard normal e. Every column beyond the
    first few is then permuted by itself, so that it keeps its two humps and tells nothing about the cluster.

`make_bars`
    Images of a small grid as counts of pixels, each a mixture of bars: rows and columns of the grid.

    Component k is uniform over the pixels of bar k; ``m ~ Dirichlet(concentration)`` and ``w ~ Multinomial(n_tokens,
    m @ bars)``.

`make_aspects`
    Documents of seven classes, each a mixture of aspects that its class prefers.

    Aspect a has ``P(w|a) ~ Dirichlet(concentration)``. A row of class c has Dirichlet weights of 1 for aspects 2c and
    2c + 1, .5 for one of the last six at random, and .05 for all others.

    After Monay, F., Quelhas, P., Gatica-Perez, D. and Odobez, J.-M. (2006). Constructing visual models with a latent
    space approach. Subspace, Latent Structure and Feature Selection, LNCS 3940, 115-126.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from fewer.datasets._problem import Problem

if TYPE_CHECKING:
    from numpy.random import RandomState

_Draw = Callable[["RandomState", int], np.ndarray]
_BOILERPLATE = (0.25, 0.10)
_TOPIC = (0.0005, 0.03)
_ROWS_AT_A_TIME = 512
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


def make_subspace_clusters(
    n_samples: int = 10_450,
    n_features: int = 25,
    n_clusters: int = 19,
    n_tight: int = 2,
    spread: float = 0.1,
    noise: float = 0.0,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Clusters with the same centre, each of which is tight in a few columns of its own.

    Parameters
    ----------
    n_samples : int, default=10450
        Rows, those of noise included. The largest cluster is ten times as large as the smallest, and the others lie
        evenly between: 100, 150, ..., 1000 rows by default.
    n_features : int, default=25
        Columns.
    n_clusters : int, default=19
        Clusters.
    n_tight : int, default=2
        Columns in which a cluster is tight.
    spread : float, default=0.1
        Standard deviation in these; in all others it is 1.
    noise : float, default=0.0
        Share of the rows that belong to no cluster.
    random_state : int, RandomState instance or None, default=None
        Draws the tight columns, then the rows.

    Returns
    -------
    problem : Problem
        ``y`` is the cluster, from the smallest, 0, to the largest, and -1 for noise. ``truth`` holds ``tight``
        (n_clusters, n_tight), the columns in which each is tight.

    Notes
    -----
    No cluster can be seen by its mean, and none in a column alone that is tight for others too.

    References
    ----------
    .. [1] Savu-Krohn, C. and Auer, P. (2006). A simple feature extraction for high dimensional image representations.
       Subspace, Latent Structure and Feature Selection, LNCS 3940, 163-172.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.datasets import make_subspace_clusters
    >>> X, y, truth = make_subspace_clusters(random_state=0)
    >>> np.bincount(y)[[0, 1, -1]], truth["tight"].shape
    (array([ 100,  150, 1000]), (19, 2))
    """
    from sklearn.utils import check_random_state

    if not 0 <= noise < 1:
        raise ValueError(f"noise={noise} must be at least 0 and less than 1.")
    if not 1 <= n_tight <= n_features:
        raise ValueError(f"n_tight={n_tight} must lie between 1 and n_features={n_features}.")
    n_noise = round(noise * n_samples)
    if n_clusters < 1 or n_samples - n_noise < n_clusters:
        raise ValueError(f"n_clusters={n_clusters} must be at least 1, and there must be a row for each.")
    rng = check_random_state(random_state)
    tight = np.array([np.sort(rng.permutation(n_features)[:n_tight]) for _ in range(n_clusters)])
    y = np.repeat(np.arange(n_clusters), _growing_sizes(n_samples - n_noise, n_clusters))
    X = rng.normal(size=(len(y), n_features))
    X[np.arange(len(y))[:, None], tight[y]] *= spread
    strays = rng.uniform(X.min(axis=0), X.max(axis=0), size=(n_noise, n_features))
    return Problem(np.vstack([X, strays]), np.append(y, np.full(n_noise, -1)), {"tight": tight})


def _growing_sizes(n_rows: int, n_clusters: int) -> np.ndarray:
    """Sizes that sum to the number of rows, the last ten times the first as far as whole numbers go."""
    shares = np.linspace(1, 10, n_clusters)
    ends = np.round(np.cumsum(shares) / shares.sum() * n_rows).astype(int)
    return np.diff(ends, prepend=0)


def make_permuted_clusters(
    n_samples: int = 100,
    n_features: int = 203,
    n_relevant: int = 3,
    delta: float = 2.0,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Two clusters in a few columns, among many columns of the same shape that know nothing of them.

    Parameters
    ----------
    n_samples : int, default=100
        Rows; the first half is the first cluster.
    n_features : int, default=203
        Columns.
    n_relevant : int, default=3
        Columns in which the clusters show: the first ones.
    delta : float, default=2.0
        The clusters' means are at minus and plus this, in standard deviations.
    random_state : int, RandomState instance or None, default=None
        Draws the noise, then the permutations.

    Returns
    -------
    problem : Problem
        ``y`` is the cluster, 0 or 1. ``truth`` holds ``support``, a mask of the relevant columns.

    Notes
    -----
    A method that looks at one column at a time, without the clusters, cannot tell the columns apart.

    References
    ----------
    .. [1] Wolf, L. and Bileschi, S. (2005). Combining variable selection with dimensionality reduction. MIT CSAIL
       technical report 2005-019. The clusters of their recipe are too close to be found; here they are further apart.

    Examples
    --------
    >>> from fewer.datasets import make_permuted_clusters
    >>> X, y, truth = make_permuted_clusters(random_state=0)
    >>> X.shape, int(truth["support"].sum())
    ((100, 203), 3)
    """
    from sklearn.utils import check_random_state

    if not 0 <= n_relevant <= n_features:
        raise ValueError(f"n_relevant={n_relevant} must lie between 0 and n_features={n_features}.")
    if n_samples < 2:
        raise ValueError(f"n_samples={n_samples}: two clusters need at least two rows.")
    rng = check_random_state(random_state)
    y = (np.arange(n_samples) >= n_samples // 2).astype(int)
    X = rng.normal(size=(n_samples, n_features)) + delta * (2 * y - 1)[:, None]
    for column in range(n_relevant, n_features):
        X[:, column] = rng.permutation(X[:, column])
    return Problem(X, y, {"support": np.arange(n_features) < n_relevant})


def make_bars(
    n_samples: int = 1000,
    size: int = 5,
    n_tokens: int = 100,
    concentration: float = 1.0,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Counts on a grid of pixels, each row a mixture of bars.

    Parameters
    ----------
    n_samples : int, default=1000
        Rows.
    size : int, default=5
        Width and height of the grid; there are twice as many bars.
    n_tokens : int, default=100
        Counts of each row.
    concentration : float, default=1.0
        Parameter of the Dirichlet distribution of the shares: the smaller, the fewer bars a row has.
    random_state : int, RandomState instance or None, default=None
        Draws the shares and the counts.

    Returns
    -------
    problem : Problem
        Counts of ``size ** 2`` columns, no target. ``truth`` holds ``components`` (2 size, size ** 2), the horizontal
        bars first, and ``scores`` (n_samples, 2 size), the shares.

    Examples
    --------
    >>> from fewer.datasets import make_bars
    >>> X, y, truth = make_bars(random_state=0)
    >>> X.shape, int(X[0].sum()), truth["components"][0].reshape(5, 5)[0]
    ((1000, 25), 100, array([0.2, 0.2, 0.2, 0.2, 0.2]))
    """
    from sklearn.utils import check_random_state

    random = check_random_state(random_state)
    lines = np.eye(size) / size
    bars = np.vstack([np.repeat(lines, size, axis=1), np.tile(lines, (1, size))])
    scores = random.dirichlet(np.full(2 * size, concentration), size=n_samples)
    X = np.array([random.multinomial(n_tokens, shares) for shares in scores @ bars])
    return Problem(X, None, {"components": bars, "scores": scores})


def make_aspects(
    n_samples: int = 1776,
    n_columns: int = 1000,
    n_tokens: int = 40,
    concentration: float = 0.1,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Counts of words of documents from seven classes, which prefer some of twenty aspects.

    Parameters
    ----------
    n_samples : int, default=1776
        Rows.
    n_columns : int, default=1000
        Words.
    n_tokens : int, default=40
        Counts of each row.
    concentration : float, default=0.1
        Parameter of the Dirichlet distribution of the words of an aspect: the smaller, the fewer words it has.
    random_state : int, RandomState instance or None, default=None
        Draws aspects, classes, shares and counts.

    Returns
    -------
    problem : Problem
        Counts as a sparse table (CSR); ``y`` is the class, 0 to 6. ``truth`` holds ``components`` (20, n_columns) and
        ``scores`` (n_samples, 20), the shares.

    Examples
    --------
    >>> from fewer.datasets import make_aspects
    >>> X, y, truth = make_aspects(random_state=0)
    >>> X.shape, len(set(y.tolist())), truth["components"].shape
    ((1776, 1000), 7, (20, 1000))
    """
    from sklearn.utils import check_random_state

    random = check_random_state(random_state)
    n_classes, n_aspects = 7, 20
    aspects = random.dirichlet(np.full(n_columns, concentration), size=n_aspects)
    y = random.randint(n_classes, size=n_samples)
    weights = np.full((n_samples, n_aspects), 0.05)
    rows = np.arange(n_samples)
    weights[rows, random.randint(2 * n_classes, n_aspects, size=n_samples)] = 0.5
    weights[rows, 2 * y] = weights[rows, 2 * y + 1] = 1.0
    scores = random.standard_gamma(weights)
    scores /= scores.sum(axis=1, keepdims=True)
    X = np.array([random.multinomial(n_tokens, shares) for shares in scores @ aspects])
    return Problem(sparse.csr_array(X.astype(np.float64)), y, {"components": aspects, "scores": scores})
