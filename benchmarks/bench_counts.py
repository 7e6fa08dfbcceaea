"""Components of counts beside scikit-learn, gensim, tomotopy and lda, at equal perplexity of held-out tokens.

The corpus is drawn from a hundred topics over 20,000 words, whose frequencies fall as in texts. The objective is the
logarithm of the completion perplexity on documents that nobody was fitted to, computed in the same way for all; a
target counts as reached below it too. In the large cases each contender runs the smallest number of blocks, passes or
sweeps with which it reaches the target of the case (`TARGETS`), as single runs have found; in the small one the bench
looks for that number itself, untimed, and the target is what all reach. ``--memory`` measures peak memory too, which
grows with non-zeros + (rows + columns) x components.

gensim, lda and tomotopy are best in an environment of their own: ``python -m venv peers``, ``peers/bin/pip install
gensim lda tomotopy``, and ``FEWER_PEERS=peers python -m benchmarks counts``.
"""

import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks import Case, Contest

PRIORS = {"doc_topic_prior": 0.1, "topic_word_prior": 0.05}
PASSES = (1, 2, 4, 8)
TARGETS = {
    ("gensim", 50): 7.952,
    ("scikit-learn, online", 50): 8.023,
    ("scikit-learn, batch", 50): 7.88,
    ("gensim", 200): 8.031,
    ("scikit-learn, online", 200): 8.0811,
    ("scikit-learn, batch", 200): 7.897,
    ("Gibbs", 200): 7.66,
}
"""Logarithm of the perplexity that both contenders of a large case reach: what the peer has after one pass, for gensim
what it has after 4,000 rows, since more rows gain it little."""


@cache
def corpus(n_rows: int = 22_000, n_columns: int = 20_000, n_topics: int = 100) -> sparse.csr_array:
    """Documents of about 57 words, each a mixture of some four topics: a million non-zeros in 20,000 of them."""
    rng = np.random.default_rng(0)
    frequencies = 1 / np.arange(1, n_columns + 1) ** 0.9
    shapes = np.maximum(0.05 * n_columns * frequencies / frequencies.sum(), 1e-3)
    running = np.cumsum(rng.gamma(shapes, size=(n_topics, n_columns)), axis=1)
    lengths = rng.poisson(57, size=n_rows)
    words = []
    for length in lengths:
        own = rng.choice(n_topics, size=min(n_topics, rng.poisson(3) + 1), replace=False)
        topics = rng.choice(own, p=rng.dirichlet(np.ones(len(own))), size=length)
        words += [np.searchsorted(running[topic], rng.uniform() * running[topic, -1]) for topic in topics]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    X = sparse.csr_array((np.ones(len(words)), np.array(words), indptr), shape=(n_rows, n_columns))
    X.sum_duplicates()
    return X


def log_perplexity(components: np.ndarray, alpha: np.ndarray, new: sparse.csr_array | None = None) -> float:
    """Of the held-out half of the tokens of new documents, with the variational posterior of the other half."""
    from fewer.latent import DiscreteComponentAnalysis

    new = corpus()[20_000:] if new is None else new
    judge = DiscreteComponentAnalysis(len(components), model="dm", doc_topic_prior=alpha, max_iter=2, tol=1.0)
    judge.fit(new[: len(components)])
    judge.components_ = (components + 1e-12) / (components + 1e-12).sum(axis=1, keepdims=True)
    judge.alpha_ = np.asarray(alpha, dtype=float)
    return -judge.score_completion(new)


def topics(n_components: int, peer: str, n_blocks: int, folder: Path) -> Contest:
    """Variational inference with fixed priors, to what the peer reaches: blocks of 2,000 rows for ours."""
    train, new = corpus()[:20_000], corpus()[20_000:20_500]
    alpha, target = np.full(n_components, 0.1), TARGETS[peer, n_components]

    def blocks() -> np.ndarray:
        from fewer.latent import DiscreteComponentAnalysis

        model = DiscreteComponentAnalysis(n_components, model="dm", **PRIORS, total_samples=20_000, random_state=0)
        for block in range(n_blocks):
            first = 2_000 * (block % 10)
            model.partial_fit(train[first : first + 2_000])
        return model.components_

    def whole() -> np.ndarray:
        from fewer.latent import DiscreteComponentAnalysis

        options = {"max_iter": 1, "tol": 0, "random_state": 0}
        return DiscreteComponentAnalysis(n_components, model="dm", **PRIORS, **options).fit(train).components_

    def scikit_learn(method: str) -> np.ndarray:
        from sklearn.decomposition import LatentDirichletAllocation

        options = {"learning_method": method, "max_iter": 1, "random_state": 0}
        return LatentDirichletAllocation(n_components, **PRIORS, **options).fit(train).components_

    def gensim() -> np.ndarray:
        from gensim.matutils import Sparse2Corpus
        from gensim.models import LdaModel

        documents = Sparse2Corpus(sparse.csc_matrix(train[:4_000].T), documents_columns=True)
        names = {column: str(column) for column in range(train.shape[1])}
        options = {"alpha": [0.1] * n_components, "eta": 0.05, "eval_every": None, "random_state": 0}
        return LdaModel(documents, n_components, names, passes=1, **options).get_topics()

    peers: dict[str, Callable[[], np.ndarray]] = {
        "gensim": gensim,
        "scikit-learn, online": partial(scikit_learn, "online"),
        "scikit-learn, batch": partial(scikit_learn, "batch"),
    }
    return Contest(
        ours={"fewer, partial_fit": blocks, "fewer, fit": whole},
        peers={peer: peers[peer]},
        objective=lambda found: max(log_perplexity(found, alpha, new), target),
        tolerance=1e-9,
    )


def to_equal_perplexity(n_components: int, folder: Path) -> Contest:
    """Variational inference with as many passes as each contender needs for what all of them reach."""
    documents = corpus(1_500, 2_000, n_components)
    train, new = documents[:1_000], documents[1_000:]
    alpha = np.full(n_components, 0.1)

    def fewer(n_passes: int) -> np.ndarray:
        from fewer.latent import DiscreteComponentAnalysis

        options = {"max_iter": n_passes, "tol": 0, "random_state": 0}
        return DiscreteComponentAnalysis(n_components, model="dm", **PRIORS, **options).fit(train).components_

    def scikit_learn(method: str, n_passes: int) -> np.ndarray:
        from sklearn.decomposition import LatentDirichletAllocation

        options = {"learning_method": method, "max_iter": n_passes, "random_state": 0}
        return LatentDirichletAllocation(n_components, **PRIORS, **options).fit(train).components_

    fits: dict[str, Callable[[int], np.ndarray]] = {
        "fewer": fewer,
        "scikit-learn, online": partial(scikit_learn, "online"),
        "scikit-learn, batch": partial(scikit_learn, "batch"),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # passes are limited on purpose
        reached = {
            name: np.array([log_perplexity(fit(n_passes), alpha, new) for n_passes in PASSES])
            for name, fit in fits.items()
        }
    target = max(values.min() for values in reached.values())
    needed = {name: PASSES[int((values <= target + 1e-12).argmax())] for name, values in reached.items()}
    calls: dict[str, Callable[[], np.ndarray]] = {name: partial(fit, needed[name]) for name, fit in fits.items()}
    return Contest(
        ours={"fewer": calls.pop("fewer")},
        peers=calls,
        objective=lambda found: log_perplexity(found, alpha, new),
        tolerance=0.02,
    )


def chains(n_components: int, n_sweeps: int, peer: str, folder: Path) -> Contest:
    """Collapsed Gibbs sampling on one thread with estimated priors, to the target; `lda` has fixed priors."""
    train, new = corpus()[:20_000], corpus()[20_000:20_500]
    target = TARGETS["Gibbs", n_components]

    def fewer() -> tuple[np.ndarray, np.ndarray]:
        from fewer.latent import DiscreteComponentAnalysis

        options = {"n_burn_in": n_sweeps - 1, "n_draws": 1, "init": "dirichlet", "random_state": 0}
        model = DiscreteComponentAnalysis(
            n_components, model="dm", solver="rb_gibbs", doc_topic_prior="auto", topic_word_prior=0.05, **options
        ).fit(train)
        return model.components_, model.alpha_

    def tomotopy() -> tuple[np.ndarray, np.ndarray]:
        import tomotopy

        model = tomotopy.LDAModel(k=n_components, alpha=0.1, eta=0.05, seed=0)
        for start, stop in zip(train.indptr[:-1], train.indptr[1:], strict=True):
            counts = train.data[start:stop].astype(int)
            model.add_doc([str(word) for word in np.repeat(train.indices[start:stop], counts)])
        model.train(n_sweeps, workers=1)
        found = np.zeros((n_components, train.shape[1]))
        places = [int(word) for word in model.used_vocabs]
        for topic in range(n_components):
            found[topic, places] = model.get_topic_word_dist(topic)
        return found, np.asarray(model.alpha, dtype=float)

    def lda() -> tuple[np.ndarray, np.ndarray]:
        import logging

        import lda

        logging.getLogger("lda").setLevel(logging.ERROR)  # it reports every tenth sweep
        model = lda.LDA(n_components, n_iter=n_sweeps, alpha=0.1, eta=0.05, random_state=0)
        model.fit(sparse.csr_matrix(train.astype(np.int64)))
        return model.components_, np.full(n_components, 0.1)

    return Contest(
        ours={"fewer": fewer},
        peers={peer: {"tomotopy": tomotopy, "lda": lda}[peer]},
        objective=lambda found: max(log_perplexity(found[0], found[1], new), target),
        tolerance=1e-9,
    )


def factors(n_cycles: int, folder: Path) -> Contest:
    """The same number of multiplicative updates from the same start."""
    rng = np.random.default_rng(0)
    X = sparse.csr_array((np.ones(1_000_000), tuple(rng.integers(10_000, size=(2, 1_000_000)))), shape=(10_000, 10_000))
    X.sum_duplicates()
    start = rng.uniform(size=(60, 10_000))
    start /= start.sum(axis=1, keepdims=True)

    def fewer() -> Any:
        from fewer.latent import DiscreteComponentAnalysis

        model = DiscreteComponentAnalysis(60, solver="nmf", max_iter=n_cycles, tol=0, init=start).fit(X)
        return model.scores_, model.components_

    def scikit_learn() -> Any:
        from sklearn.decomposition import NMF

        options = {"solver": "mu", "beta_loss": "kullback-leibler", "init": "custom", "tol": 0}
        model = NMF(60, max_iter=n_cycles, **options)
        # Ours starts from equal scores of all components.
        scores = model.fit_transform(X, W=np.repeat(X.sum(axis=1)[:, None] / 60, 60, axis=1), H=start.copy())
        return scores, model.components_

    def log_likelihood(found: Any) -> float:
        scores, components = found
        means = np.einsum("ij,ij->i", scores[X.nonzero()[0]], components.T[X.nonzero()[1]])
        return float(X.data @ np.log(means) - scores.sum(axis=0) @ components.sum(axis=1))

    return Contest(ours={"fewer": fewer}, peers={"scikit-learn": scikit_learn}, objective=log_likelihood)


def sub_classes(folder: Path) -> Contest:
    """Three normal sub-classes in each of three classes, to the likelihood of new rows that the peer ends at (0.0003).

    Ours has one covariance for all classes, as the rows have it, and the peer one for each: twice as many parameters.
    So the peer has more likelihood of the training rows: by 0.01 for each here, and by 0.09 for the waveforms, whose
    classes differ in covariance. No number of iterations makes that equal.
    """
    rng = np.random.default_rng(0)
    means = rng.normal(scale=0.5, size=(3, 3, 21))
    root = np.linalg.qr(rng.normal(size=(21, 21)))[0] * rng.uniform(0.5, 2, size=21)
    labels, own = rng.integers(3, size=(2, 40_000))
    rows = means[labels, own] + rng.normal(size=(40_000, 21)) @ root.T
    X, y, new, new_y = rows[:20_000], labels[:20_000], rows[20_000:], labels[20_000:]

    def fewer() -> np.ndarray:
        from fewer.latent import MixtureDiscriminantAnalysis

        model = MixtureDiscriminantAnalysis(3, n_init=1, max_iter=7, tol=0, random_state=0).fit(X, y)
        return model.score_samples(new, new_y)

    def scikit_learn() -> np.ndarray:
        from sklearn.mixture import GaussianMixture

        found = np.empty(len(new))
        for label in range(3):
            model = GaussianMixture(3, covariance_type="tied", max_iter=18, tol=0, random_state=0).fit(X[y == label])
            found[new_y == label] = model.score_samples(new[new_y == label]) + np.log(np.mean(y == label))
        return found

    return Contest(
        ours={"fewer": fewer},
        peers={"scikit-learn": scikit_learn},
        objective=lambda found: min(float(found.mean()), -32.9444),
        tolerance=1e-9,
    )


CASES = [
    Case("to equal perplexity, 1,000 x 2,000, 20 components", partial(to_equal_perplexity, 20), repeats=5),
    *(
        Case(
            f"{peer}, 20,000 x 20,000, {n_components} components",
            partial(topics, n_components, peer, n_blocks),
            repeats=repeats,
        )
        for peer, n_components, n_blocks, repeats in (
            ("gensim", 50, 1, 3),
            ("scikit-learn, online", 50, 1, 3),
            ("scikit-learn, batch", 50, 7, 1),
            ("gensim", 200, 2, 3),
            ("scikit-learn, online", 200, 1, 3),
            ("scikit-learn, batch", 200, 16, 1),
        )
    ),
    Case("Gibbs, 20,000 x 20,000, 200 components", lambda folder: chains(200, 50, "tomotopy", folder), repeats=3),
    Case("Gibbs beside lda, 20,000 x 20,000, 200 components", lambda folder: chains(200, 50, "lda", folder), repeats=1),
    Case("matrix factorisation, 10,000 x 10,000, 60 components", lambda folder: factors(10, folder), repeats=3),
    Case("sub-classes, 20,000 x 21", sub_classes, repeats=5),
]
