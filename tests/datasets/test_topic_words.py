"""Documents of which few are on a topic."""

import numpy as np
import pytest
from scipy import sparse

from fewer.datasets import make_topic_words


def test_words_occur_with_the_probabilities_of_the_truth():
    X, y, truth = make_topic_words(
        n_samples=40_000, n_boilerplate=5, n_topic=5, n_neutral=20, share=0.5, random_state=0
    )
    assert sparse.issparse(X)
    assert set(np.unique(X.data)) == {1.0}
    for label in (0, 1):
        rates = X[y == label].mean(axis=0)
        expected = truth["probabilities"][label]
        assert (np.abs(rates - expected) <= 5 * np.sqrt(expected * (1 - expected) / 20_000)).all()


def test_the_truth_names_the_kinds_of_words():
    X, y, truth = make_topic_words(random_state=0)
    assert X.shape == (6000, 3000)
    assert y.sum() == 120
    assert truth["probabilities"][:, truth["topic"]].tolist() == [[0.0005] * 200, [0.03] * 200]
    assert truth["probabilities"][:, truth["boilerplate"]].tolist() == [[0.25] * 300, [0.10] * 300]
    neutral = truth["probabilities"][:, ~(truth["topic"] | truth["boilerplate"])]
    assert np.array_equal(neutral[0], neutral[1])
    assert neutral[0, [0, 5, 6, 9]] == pytest.approx([0.5, 0.5, 3 / 7, 0.3])


def test_the_seed_alone_decides():
    first, second, other = (make_topic_words(n_samples=700, random_state=seed) for seed in (1, 1, 2))
    assert (first.X != second.X).nnz == 0
    assert (first.X != other.X).nnz > 0
    assert np.array_equal(first.y, second.y)


def test_impossible_wishes_are_refused():
    with pytest.raises(ValueError, match="share=0"):
        make_topic_words(share=0)
    with pytest.raises(ValueError, match="at least one word"):
        make_topic_words(n_boilerplate=0, n_topic=0, n_neutral=0)
    with pytest.raises(ValueError, match="n_samples=1 must be at least 2, and share=1"):
        make_topic_words(n_samples=1, share=1)


def test_both_kinds_of_documents_are_there_however_small_the_share():
    assert make_topic_words(n_samples=2, share=0.01, random_state=0).y.sum() == 1
    assert make_topic_words(n_samples=2, share=0.99, random_state=0).y.sum() == 1
    assert make_topic_words(n_samples=2, n_boilerplate=0, n_topic=1, n_neutral=0, random_state=0).X.shape == (2, 1)
