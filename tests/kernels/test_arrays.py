"""Threads share the rows, and never change a bit of the result."""

import numpy as np
import pytest
from scipy import sparse

from fewer._kernels import _arrays
from fewer._kernels._arrays import in_threads
from fewer.complete import PCAMissing
from fewer.extract import RandomProjection


@pytest.fixture
def many_threads(monkeypatch):
    monkeypatch.setattr(_arrays, "_WORK_FOR_A_THREAD", 1)
    monkeypatch.setattr(_arrays, "_n_threads", lambda: 3)


def test_every_row_is_worked_on_once(many_threads):
    def count(start, stop, indptr, seen):
        seen[start:stop] += 1

    for lengths in ([5, 0, 0, 7, 1], [0, 0, 0, 0], [100, 0, 0], [1], [0] * 50 + [1000]):
        seen = np.zeros(len(lengths), dtype=int)
        in_threads(count, np.concatenate([[0], np.cumsum(lengths)]), seen)
        np.testing.assert_array_equal(seen, 1)
    in_threads(count, np.array([0]), np.zeros(0))


def test_what_a_thread_raises_is_raised(many_threads):
    def fail(start, stop, indptr):
        if start > 0:
            raise ValueError("in the second part")

    with pytest.raises(ValueError, match="in the second part"):
        in_threads(fail, np.arange(0, 60, 10))


@pytest.mark.parametrize("method", ["vb", "vb-diag"])
def test_the_number_of_threads_never_changes_a_fit(method, request):
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(70, 2)) @ rng.normal(size=(2, 15)) + 0.1 * rng.normal(size=(70, 15))
    X = sparse.csr_array(np.where(rng.random(dense.shape) < 0.4, 0, dense))
    alone = PCAMissing(2, method=method, random_state=0).fit(X)
    request.getfixturevalue("many_threads")
    shared = PCAMissing(2, method=method, random_state=0).fit(X)
    np.testing.assert_array_equal(alone.loadings_, shared.loadings_)
    np.testing.assert_array_equal(alone.scores_, shared.scores_)


@pytest.mark.parametrize("spread", [1, 3])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_number_of_threads_never_changes_a_projection(spread, form, request):
    X = form(np.random.default_rng(0).normal(size=(70, 15)).round())
    project = RandomProjection(5, method="sparse", n_nonzero=spread, random_state=0).fit(X)
    alone = project.transform(X)
    request.getfixturevalue("many_threads")
    np.testing.assert_array_equal(project.transform(X), alone)
