"""Wolf and Bileschi (2005), Combining variable selection with dimensionality reduction."""

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy.sparse.linalg import eigsh
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from fewer.datasets import make_permuted_clusters
from fewer.select import FisherWeightSelector, VarianceWeightSelector, WeightedPCA


def contrast(weights, support):
    """Mean weight of the relevant columns, over that of the others."""
    return weights[support].mean() / weights[~support].mean()


def finds_all(selector, support):
    return set(np.flatnonzero(selector.ranking_ <= support.sum())) == set(np.flatnonzero(support))


def fitted_on_clusters(selector, seeds=20, **problem):
    for seed in range(seeds):
        X, y, truth = make_permuted_clusters(**problem, random_state=seed)
        yield selector.fit(X), X, y, truth["support"]


@pytest.mark.claim("wolf-bileschi", 1)
def test_direct_weights_find_three_of_203_columns(figure):
    found, ratios = 0, []
    for selector, _, _, support in fitted_on_clusters(VarianceWeightSelector()):
        found += finds_all(selector, support)
        ratios.append(contrast(selector.weights_, support))
    figure(f"{found} of 20 seeds; median ratio {np.median(ratios):.2f}")
    assert found >= 19
    assert 2 < np.median(ratios) < 4


@pytest.mark.claim("wolf-bileschi", 2)
def test_iterated_weights_are_sharper_and_never_get_worse(figure):
    found, ratios, lowest, falls = 0, [], [], []
    for selector, _, _, support in fitted_on_clusters(VarianceWeightSelector("iterative")):
        found += finds_all(selector, support)
        ratios.append(contrast(selector.weights_, support))
        lowest.append(selector.weights_.min())
        falls.append(np.diff(selector.objective_path_).min())
    figure(f"{found} of 20 seeds; median ratio {np.median(ratios):.0f}; lowest weight {min(lowest):.1g}")
    assert found == 20
    assert np.median(ratios) > 20
    assert min(lowest) >= -1e-6
    assert min(falls) >= -1e-9


@pytest.mark.claim("wolf-bileschi", 3)
def test_the_first_component_is_the_cluster_after_weighting_and_not_before(figure):
    weighted, plain = [], []
    for seed in range(20):
        X, y, _ = make_permuted_clusters(random_state=seed)
        pca = WeightedPCA(1, selector=VarianceWeightSelector("iterative"))
        weighted.append(abs(np.corrcoef(pca.fit_transform(X)[:, 0], y)[0, 1]))
        unit = StandardScaler().fit_transform(X)
        plain.append(abs(np.corrcoef(PCA(1).fit_transform(unit)[:, 0], y)[0, 1]))
    figure(f"median correlation {np.median(weighted):.2f} after weighting, {np.median(plain):.2f} before")
    assert np.median(weighted) > 0.93
    assert np.median(plain) < 0.75


@pytest.mark.claim("wolf-bileschi", 4)
def test_direct_weights_are_sharp_when_ten_columns_are_relevant(figure):
    found, ratios = 0, []
    for selector, _, _, support in fitted_on_clusters(VarianceWeightSelector(), n_relevant=10, delta=1.5):
        found += finds_all(selector, support)
        ratios.append(contrast(selector.weights_, support))
    figure(f"{found} of 20 seeds; median ratio {np.median(ratios):.1f}")
    assert found == 20
    assert np.median(ratios) > 10


@pytest.mark.claim("wolf-bileschi", 5)
@pytest.mark.parametrize("n_features", [203, 2100], ids=["with the matrix", "without the matrix"])
def test_direct_weights_are_the_leading_eigenvector_of_the_squared_correlations(n_features, figure):
    X, _, _ = make_permuted_clusters(n_features=n_features, n_relevant=20, random_state=0)
    _, vectors = eigsh(np.corrcoef(X, rowvar=False) ** 2, 1, which="LA", tol=1e-14)
    expected = np.abs(vectors[:, 0])
    gap = np.abs(VarianceWeightSelector().fit(X).weights_ - expected).max()
    figure(f"{n_features} columns: largest difference {gap:.1g}")
    assert gap < 1e-8


@pytest.mark.claim("wolf-bileschi", 5)
def test_a_copy_of_a_column_raises_the_weight_of_both(figure):
    X, _, _ = make_permuted_clusters(random_state=0)
    raised = 0
    for column in (0, 2, 50, 100, 202):
        before = VarianceWeightSelector().fit(X).weights_[column]
        after = VarianceWeightSelector().fit(np.column_stack([X, X[:, column]])).weights_[[column, -1]]
        assert after[0] == pytest.approx(after[1], abs=1e-9)
        raised += after[0] > before
    figure(f"{raised} of 5 columns")
    assert raised == 5


@pytest.mark.claim("wolf-bileschi", 6)
@pytest.mark.parametrize("alpha", [0, 0.1, 1])
def test_fisher_weights_find_the_columns_that_shift_with_the_class(alpha, figure):
    found = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y = np.repeat(["no", "yes"], 30)
        X = rng.normal(size=(60, 300))
        X[:, :5] += np.where(y == "yes", 1, -1)[:, None]
        found += finds_all(FisherWeightSelector(alpha).fit(X, y), np.arange(300) < 5)
    figure(f"alpha {alpha}: {found} of 10 seeds")
    assert found >= 9


@pytest.mark.claim("wolf-bileschi", 6)
def test_fisher_weights_on_a_tall_table_warn_and_do_not_put_all_on_one_column(figure):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = rng.normal(size=(200, 20))
    X[:, :5] += np.where(y, 1, -1)[:, None]
    with pytest.warns(UserWarning, match="degenerate"):
        selector = FisherWeightSelector().fit(X, y)
    figure(f"warns; largest of 20 weights {selector.weights_.max():.2f}")
    assert finds_all(selector, np.arange(20) < 5)
    assert selector.weights_.max() < 0.6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert finds_all(FisherWeightSelector(projection_rank=10).fit(X, y), np.arange(20) < 5)


@pytest.mark.claim("wolf-bileschi", 7)
def test_digits_with_shuffled_pixels_are_read_better_after_weighting(figure):
    digits = load_digits()
    names = ("plain", "direct", "iterative")
    errors = {name: [] for name in names}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        moving = digits.data[:, np.ptp(digits.data, axis=0) > 0]
        noise = rng.permuted(moving[:, rng.integers(0, moving.shape[1], 200)], axis=0)
        X = np.column_stack([moving, noise])
        order = rng.permutation(len(X))
        train, test = order[:600], order[600:]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # some pixels at the rim never move in 600 rows
            projections = {
                "plain": PCA(10).fit(StandardScaler().fit(X[train]).transform(X[train])),
                "direct": WeightedPCA(10).fit(X[train]),
                "iterative": WeightedPCA(10, selector=VarianceWeightSelector("iterative", n_directions=10)).fit(
                    X[train]
                ),
            }
        tables = dict.fromkeys(names, X) | {"plain": StandardScaler().fit(X[train]).transform(X)}
        for name, projection in projections.items():
            points = projection.transform(tables[name])
            neighbours = KNeighborsClassifier(1).fit(points[train], digits.target[train])
            errors[name].append(1 - neighbours.score(points[test], digits.target[test]))
    mean = {name: np.mean(errors[name]) for name in names}
    figure(f"errors: plain PCA {mean['plain']:.1%}, direct {mean['direct']:.1%}, iterative {mean['iterative']:.1%}")
    assert mean["direct"] < mean["plain"] - 0.04
    assert mean["iterative"] < mean["plain"] - 0.04


def peak_in_tables(n_samples, n_features):
    """Peak memory of a direct fit, in multiples of the table."""
    X, _, truth = make_permuted_clusters(n_samples, n_features, 50, random_state=0)
    tracemalloc.start()
    selector = VarianceWeightSelector().fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert finds_all(selector, truth["support"])
    return peak / X.nbytes


@pytest.mark.claim("wolf-bileschi", 8)
def test_wide_tables_need_no_matrix_over_the_columns(figure):
    # A matrix over the columns alone would be 60 times the table.
    multiple = peak_in_tables(100, 6_000)
    figure(f"6,000 columns x 100 rows: peak {multiple:.1f} times the table")
    assert multiple < 15


@pytest.mark.slow
@pytest.mark.claim("wolf-bileschi", 8)
def test_twenty_thousand_columns_need_no_matrix_over_the_columns(figure):
    multiple = peak_in_tables(100, 20_000)
    figure(f"20,000 columns x 100 rows: peak {multiple:.1f} times the table, {multiple * 16:.0f} MB")
    assert multiple * 16 < 1000  # the table is 16 MB
    assert multiple < 6
