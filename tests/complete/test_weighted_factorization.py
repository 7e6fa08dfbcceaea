"""WeightedFactorization, SubspaceSegmentation and metric_upgrade beyond the paper's claims."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import block_diag
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

from fewer.complete import SubspaceSegmentation, WeightedFactorization, metric_upgrade
from fewer.complete.factorization._em import Evidence, Motion, evidence, independent_latent, smooth_latent
from fewer.complete.factorization._weighted_factorization import entry_weights

pytestmark = pytest.mark.filterwarnings("ignore:Step 60", "ignore:Step 200", "ignore:Nothing is observed of 9999")


def low_rank_table(n_rows=40, n_columns=15, rank=2, noise=0.1, missing=0.3, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n_rows, rank)) @ rng.normal(size=(rank, n_columns))
    table = truth + noise * rng.normal(size=truth.shape)
    return truth, np.where(rng.random(truth.shape) < missing, np.nan, table)


def small_problem(c=2, n_frames=4, n_columns=5, r=2, missing=0.3, seed=0):
    """Values, weights and columns, with the dense matrices of the same model: (values, weights, columns, parts)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(c * n_frames, n_columns))
    X[rng.random(X.shape) < missing] = np.nan
    roots = rng.normal(size=(n_frames, n_columns, c, c)) + 2 * np.eye(c)
    given = roots @ roots.swapaxes(2, 3)
    blocks = entry_weights(X, given, c)
    split = X.reshape(c, n_frames, n_columns).transpose(1, 2, 0)
    columns = rng.normal(size=(n_columns, r))
    whole = ~np.isnan(split).any(axis=2)
    unit = given[whole][0, 0, 0] / blocks[whole][0, 0, 0]  # weights are brought to a mean of 1
    parts = []
    for frame in range(n_frames):
        A = np.vstack([np.kron(np.eye(c), columns[p]) for p in range(n_columns)])
        y = split[frame].ravel()
        seen = ~np.isnan(y)
        covariance = np.zeros((len(y), len(y)))
        for p in range(n_columns):
            at = slice(p * c, (p + 1) * c)
            covariance[at, at] = np.linalg.inv(given[frame, p] / unit)
        parts.append((A[seen], y[seen], covariance[np.ix_(seen, seen)]))
    return np.nan_to_num(split), blocks, columns, parts


def test_latent_moments_and_likelihood_are_those_of_the_joint_normal():
    """Correlated noise, some coordinates missing: against the plain formulas with dense covariances."""
    values, blocks, columns, parts = small_problem()
    latent = independent_latent(evidence(values, blocks, columns), latent_var=3.0)
    total = 0.0
    for frame, (A, y, noise) in enumerate(parts):
        marginal = 3.0 * A @ A.T + noise
        gain = 3.0 * A.T @ np.linalg.inv(marginal)
        np.testing.assert_allclose(latent.means[frame], gain @ y, atol=1e-8)
        np.testing.assert_allclose(latent.covariances[frame], 3.0 * np.eye(A.shape[1]) - 3.0 * gain @ A, atol=1e-8)
        total += multivariate_normal(np.zeros(len(y)), marginal).logpdf(y)
    assert latent.log_likelihood == pytest.approx(total)


def test_smoothed_moments_and_likelihood_are_those_of_the_joint_normal():
    values, blocks, columns, parts = small_problem(c=1, n_frames=5)
    motion, k = Motion(0.3, 0.2, 0.1), columns.shape[1]
    latent = smooth_latent(evidence(values, blocks, columns), 2.0, motion)
    move = np.kron(np.array([[1.0, 1.0, 0.5], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]), np.eye(k))
    jitter = np.kron(np.diag(motion), np.eye(k))
    spreads = [2.0 * np.eye(3 * k)]
    for _ in range(4):
        spreads.append(move @ spreads[-1] @ move.T + jitter)
    joint = np.zeros((5 * k, 5 * k))
    for first in range(5):
        for second in range(first, 5):
            block = (np.linalg.matrix_power(move, second - first) @ spreads[first])[:k, :k]
            joint[second * k : (second + 1) * k, first * k : (first + 1) * k] = block
            joint[first * k : (first + 1) * k, second * k : (second + 1) * k] = block.T
    A, noise = block_diag(*[part[0] for part in parts]), block_diag(*[part[2] for part in parts])
    y = np.concatenate([part[1] for part in parts])
    marginal = A @ joint @ A.T + noise
    gain = joint @ A.T @ np.linalg.inv(marginal)
    np.testing.assert_allclose(latent.means.ravel(), gain @ y, atol=1e-8)
    spread = joint - gain @ A @ joint
    for frame in range(5):
        at = slice(frame * k, (frame + 1) * k)
        np.testing.assert_allclose(latent.covariances[frame], spread[at, at], atol=1e-8)
    assert latent.log_likelihood == pytest.approx(multivariate_normal(np.zeros(len(y)), marginal).logpdf(y))


def test_frames_without_evidence_have_the_prior():
    nothing = Evidence(np.zeros((2, 3, 3)), np.zeros((2, 3)), np.zeros(2), np.zeros(2))
    latent = independent_latent(nothing, 4.0)
    np.testing.assert_allclose(latent.covariances, 4 * np.broadcast_to(np.eye(3), (2, 3, 3)))
    assert latent.log_likelihood == pytest.approx(0.0)


@pytest.mark.parametrize("options", [{}, {"affine": True}, {"temporal": "second_order"}, {"n_coordinates": 2}])
def test_the_likelihood_never_falls(options):
    _, table = low_rank_table()
    rises = np.diff(WeightedFactorization(3, tol=0.0, max_iter=60, **options).fit(table).log_likelihoods_)
    assert rises.min() > -1e-6


def test_a_known_shape_is_kept_where_little_is_seen():
    rng = np.random.default_rng(0)
    S, M = rng.normal(size=(2, 30)), rng.normal(size=(6, 2))
    table = M @ S + 0.5 * rng.normal(size=(6, 30))
    table[rng.random(table.shape) < 0.5] = np.nan
    table[0, np.isnan(table).all(axis=0)] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain = WeightedFactorization(2).fit(table)
        informed = WeightedFactorization(2, col_prior=S, col_prior_weight=10.0).fit(table)
    assert np.abs(informed.components_ - S).mean() < 0.2
    errors = [np.square(model.reconstruct(model.scores_) - M @ S).mean() for model in (plain, informed)]
    assert errors[1] < errors[0]


def test_known_noise_of_entries_is_the_inverse_of_weights():
    _, table = low_rank_table()
    variances = np.random.default_rng(1).uniform(0.01, 1, size=table.shape)
    by_noise = WeightedFactorization(2, noise_var=variances, tol=1e-8).fit(table)
    mean_weight = (1 / variances)[~np.isnan(table)].mean()
    by_weight = WeightedFactorization(2, weights=1 / variances, noise_var=1 / mean_weight, tol=1e-8).fit(table)
    np.testing.assert_allclose(by_noise.components_, by_weight.components_, atol=1e-8)


def test_more_starts_never_fit_worse():
    _, table = low_rank_table()
    one, many = (WeightedFactorization(2, n_init=n, random_state=0).fit(table) for n in (1, 4))
    assert many.log_likelihood_ >= one.log_likelihood_


def test_rows_are_filled_alone_and_score_is_their_likelihood():
    truth, table = low_rank_table()
    model = WeightedFactorization(2).fit(table)
    together = model.transform(table)
    np.testing.assert_allclose(together, np.vstack([model.transform(row[None]) for row in table]), atol=1e-10)
    np.testing.assert_allclose(model.project(table), model.scores_, atol=1e-6)
    assert np.square((together - truth)[np.isnan(table)]).mean() < 0.1
    assert model.score(table) == pytest.approx(model.log_likelihood_ / len(table))
    assert model.score(table) > model.score(np.random.default_rng(0).permuted(table, axis=1))


@pytest.mark.parametrize(
    "model", [WeightedFactorization(2), SubspaceSegmentation(2, 2, affine=False, n_init=2)], ids=str
)
def test_edges_of_the_input(model):
    _, table = low_rank_table(12, 8)
    table[3], table[:, 2] = np.nan, np.nan
    table[:, 4] = np.where(np.isnan(table[:, 4]), np.nan, 7.0)
    model.set_params(random_state=0, keep_empty_features=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given in (table, table[:, :1], np.ones((6, 3)), np.zeros((5, 4)), sparse.csr_array(np.eye(6))):
            assert np.isfinite(model.fit(given).transform(given)).all()
    table[0, 0] = np.inf
    with pytest.raises(ValueError, match="column 0"):
        model.fit(table)


def test_rows_with_nothing_observed_are_told():
    _, table = low_rank_table()
    table[5] = np.nan
    with pytest.warns(UserWarning, match="1 of 40 rows"):
        model = WeightedFactorization(2).fit(table)
    assert (model.scores_[5] == 0).all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"weights": np.ones((3, 3))}, "shape of the|that of the table"),
        ({"weights": -np.ones((40, 15))}, "negative"),
        ({"weights": np.full((40, 15), np.inf)}, "NaN or infinity"),
        ({"weights": np.tile([[1.0, 2.0], [2.0, 1.0]], (20, 15, 1, 1)), "n_coordinates": 2}, "no negative eigenvalue"),
        ({"weights": np.ones((40, 15)), "noise_var": np.ones((40, 15))}, "either weights or"),
        ({"n_coordinates": 3}, "cannot hold 3 coordinates"),
        ({"col_prior": np.ones((3, 3))}, "col_prior has the shape"),
        ({"temporal": "second_order", "process_var": (1.0, 2.0)}, "three variances"),
    ],
)
def test_options_that_do_not_fit_the_table_are_refused_in_words(options, said):
    _, table = low_rank_table(missing=0.0)
    with pytest.raises(ValueError, match=said):
        WeightedFactorization(2, **options).fit(table)


def test_a_sparse_table_too_large_to_be_whole_is_refused():
    large = sparse.csr_array(([1.0], ([0], [0])), shape=(10_000, 10_000))
    with pytest.raises(ValueError, match="use MMMF, SoftImpute or PCAMissing"):
        WeightedFactorization(2).fit(large)


def test_too_few_steps_are_told():
    _, table = low_rank_table()
    for model in (WeightedFactorization(2, max_iter=2), SubspaceSegmentation(2, 2, n_init=1, max_iter=2)):
        with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
            model.fit(table)


def test_one_cluster_is_one_subspace():
    _, table = low_rank_table()
    model = SubspaceSegmentation(1, 2, affine=False, n_init=1, random_state=0).fit(table)
    assert (model.labels_ == 0).all()
    assert len(model.energies_) == 1


def test_things_in_motion_with_a_temporal_prior():
    rng = np.random.default_rng(0)
    time = np.arange(15)[:, None]
    parts = [np.cos(0.1 * time) @ rng.normal(size=(1, 12)), np.sin(0.25 * time) @ rng.normal(size=(1, 12))]
    table = np.hstack(parts) + 0.01 * rng.normal(size=(15, 24))
    options = {"affine": False, "temporal": "second_order", "n_init": 4, "random_state": 0}
    labels = SubspaceSegmentation(2, 1, **options).fit(table).labels_
    wrong = int((labels != np.repeat([0, 1], 12)).sum())
    assert min(wrong, 24 - wrong) <= 1


def test_the_camera_gets_right_angles_and_the_points_their_distances():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(3, 12))
    axes = np.array([np.linalg.qr(rng.normal(size=(3, 3)))[0][:2] for _ in range(10)])
    motion = np.vstack([axes[:, 0], axes[:, 1]])
    map = rng.normal(size=(3, 3))
    found = metric_upgrade(motion @ map, np.linalg.inv(map) @ points)
    assert found.metric
    np.testing.assert_allclose(found.motion @ found.shape, motion @ points, atol=1e-8)
    np.testing.assert_allclose(found.shape.T @ found.shape, points.T @ points, atol=1e-8)
    across, up = np.split(found.motion, 2)
    np.testing.assert_allclose(np.einsum("ij,ij->i", across, up), 0, atol=1e-8)


def test_without_a_metric_the_reconstruction_stays_affine():
    sizes = np.linspace(-1, 1, 6)
    none, one = np.zeros(6), np.ones(6)
    # Orthonormal in a space with a negative square, so that no map of ours makes them so.
    across = np.vstack([np.column_stack([np.cosh(sizes), none, np.sinh(sizes)]), np.column_stack([one, none, none])])
    up = np.vstack([np.column_stack([none, one, none]), np.column_stack([none, np.cosh(sizes), np.sinh(sizes)])])
    motion = np.vstack([across, up])
    with pytest.warns(UserWarning, match="stays affine"):
        found = metric_upgrade(motion, np.eye(3))
    assert not found.metric
    assert (found.motion == motion).all()
    with pytest.raises(ValueError, match="leave it out"):
        metric_upgrade(np.ones((4, 4)), np.ones((4, 5)))


def test_a_metric_is_not_sought_in_tables_with_missing_values():
    with pytest.raises(ValueError, match="complete and finite"):
        metric_upgrade(np.full((4, 3), np.nan), np.ones((3, 5)))
