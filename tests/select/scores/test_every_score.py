"""What holds for every score of a numeric column, by its card."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from fewer.select import SelectTop
from fewer.select.scores import named_score, score_card
from tolerances import rounding

NAMES = [
    "anova",
    "bw_ratio",
    "chi2",
    "fisher",
    "knn_mutual_information",
    "kolmogorov_smirnov",
    "laplacian",
    "likelihood_ratio",
    "mutual_information",
    "pearson",
    "relief",
    "relieff",
    "signal_to_noise",
    "spearman",
    "variance",
    "welch",
]
CARDS = {name: score_card(named_score(name)) for name in NAMES}


def table(name, n_rows=90, dtype=np.float64):
    """Column 0 has to do with the target, 4 repeats it, 5 is constant, 6 holds whole numbers."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n_rows)
    X = rng.exponential(size=(n_rows, 7))
    X[:, 0] += 3 * y
    X[rng.random(X.shape) < 0.3] = 0
    X[:, 4], X[:, 5], X[:, 6] = X[:, 0], 0.5, rng.poisson(1, n_rows)
    target = y * 1.5 + 0.01 * rng.random(n_rows) if CARDS[name].tasks == ("regression",) else y
    return X.astype(dtype), target


def scores_of(name, X, y, **options):
    if CARDS[name].random:
        options["random_state"] = 0
    given = named_score(name)(X, y, **options)
    return np.asarray(given[0] if isinstance(given, tuple) else given)


@pytest.mark.parametrize("name", NAMES)
def test_the_useful_column_beats_noise_and_its_copy_has_the_same_score(name):
    X, y = table(name)
    found = np.atleast_2d(scores_of(name, X, y))
    # Ties of nearest neighbours are broken at random, and noise parts equal values, anew for each column.
    tolerance = 0.1 if name == "knn_mutual_information" else rounding(len(X), np.abs(found).max())
    assert found[:, 4] == pytest.approx(found[:, 0], abs=tolerance)
    best = found.max(axis=0)
    assert best[0] > best[[1, 2, 3]].max()
    assert best[0] > best[5]


@pytest.mark.parametrize("name", NAMES)
def test_p_values_are_probabilities_and_small_for_the_useful_column(name):
    X, y = table(name)
    given = named_score(name)(X, y, **({"random_state": 0} if CARDS[name].random else {}))
    assert isinstance(given, tuple) == CARDS[name].p_values
    if CARDS[name].p_values:
        assert given.p_values.shape == given.scores.shape
        assert given.p_values.min() >= 0
        assert given.p_values.max() <= 1
        assert np.atleast_2d(given.p_values)[:, 0].min() < 1e-4
        assert np.atleast_2d(given.p_values)[:, 5] == pytest.approx(1)


@pytest.mark.parametrize("name", NAMES)
def test_storage_and_precision_do_not_matter(name):
    X, y = table(name)
    expected = scores_of(name, X, y)
    assert scores_of(name, np.asfortranarray(X), y) == pytest.approx(expected, rel=1e-9)
    assert scores_of(name, pd.DataFrame(X), y) == pytest.approx(expected, rel=1e-9)
    if name != "knn_mutual_information":  # where float32 has ties, noise decides
        assert scores_of(name, X.astype(np.float32), y) == pytest.approx(expected, rel=2e-3, abs=1e-4)
    if CARDS[name].sparse:
        for form in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
            assert scores_of(name, form(X), y) == pytest.approx(expected, rel=1e-9)
            assert scores_of(name, form(X.astype(np.float32)), y) == pytest.approx(expected, rel=2e-3, abs=1e-4)
    else:
        with pytest.raises(TypeError, match="parse"):
            scores_of(name, sparse.csr_matrix(X), y)


@pytest.mark.parametrize("name", NAMES)
def test_whole_numbers_and_single_columns_are_taken(name):
    X, y = table(name)
    whole = X.astype(int)
    assert scores_of(name, whole, y) == pytest.approx(scores_of(name, whole.astype(float), y))
    assert scores_of(name, X[:, :1], y).shape[-1] == 1


@pytest.mark.parametrize("name", [name for name in NAMES if "classification" in CARDS[name].tasks])
def test_names_of_classes_are_taken_and_one_class_is_refused(name):
    X, y = table(name)
    names = np.array(["well", "ill", "unknown"])[y]
    order = np.unique(names, return_inverse=True)[1]
    assert np.array_equal(scores_of(name, X, names), scores_of(name, X, order))
    with pytest.raises(ValueError, match="one class only"):
        named_score(name)(X, np.full(len(X), "only"))


@pytest.mark.parametrize("name", NAMES)
def test_missing_and_infinite_entries_are_refused(name):
    X, y = table(name)
    for bad, word in ((np.nan, "NaN"), (np.inf, "inf")):
        spoilt = X.copy()
        spoilt[3, 2] = bad
        with pytest.raises(ValueError, match=word):
            named_score(name)(spoilt, y)


@pytest.mark.parametrize("name", NAMES)
def test_a_target_of_another_length_is_refused(name):
    X, y = table(name)
    if CARDS[name].needs_y:
        with pytest.raises(ValueError, match="inconsistent"):
            named_score(name)(X, y[:-1])
        with pytest.raises(ValueError, match="y is None"):
            named_score(name)(X)


@pytest.mark.parametrize("name", NAMES)
def test_selectors_take_it_by_name_on_a_wide_table(name):
    X, y = table(name, n_rows=40)
    wide = np.hstack([X, np.random.default_rng(1).exponential(size=(40, 2000))])
    selector = SelectTop(name, n_features_to_select=5000, random_state=0).fit(wide, y)  # more than there are
    assert sorted(selector.ranking_) == list(range(1, 2008))
    assert selector.transform(wide).shape == wide.shape


@pytest.mark.parametrize("name", [name for name in NAMES if CARDS[name].sparse])
def test_sparse_tables_are_never_made_dense(name):
    n_rows, n_columns = 1000, 40_000
    rng = np.random.default_rng(0)
    where = rng.integers(0, n_rows, 40_000), rng.integers(0, n_columns, 40_000)
    X = sparse.coo_array((rng.random(40_000), where), shape=(n_rows, n_columns)).tocsc()
    y = np.arange(n_rows) % 2
    scores_of(name, X[:, :50], y)  # so that compilation is not counted
    tracemalloc.start()
    try:
        found = scores_of(name, X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.shape[-1] == n_columns
    assert peak < 0.5 * 8 * n_rows * n_columns


@pytest.mark.parametrize("name", ["anova", "chi2", "pearson", "variance", "welch"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_long_tables_are_read_without_a_copy(name, order):
    X = np.ones((200_000, 20), dtype=np.float32, order=order)
    X[::2, ::2] = 2
    y = np.arange(200_000) % 3
    scores_of(name, X[:10], y[:10])
    tracemalloc.start()
    try:
        scores_of(name, X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < X.nbytes  # what is needed are the classes, a number or two for each row, and blocks of rows
