import numpy as np
import pytest

from fewer.datasets import make_sparsified_gaussian
from fewer.theory import (
    irrepresentability,
    lasso_recovery_density,
    lasso_recovery_penalty,
    lasso_sample_size,
    lasso_support_certificate,
    recovery_conditions,
    support_recovery_curve,
)
from tolerances import rounding


def test_a_sparse_design_gets_the_verdict_of_the_dense_one():
    X, _, truth = make_sparsified_gaussian(500, 300, 0.2, random_state=0)
    first = lasso_support_certificate(X, truth["noise"], truth["coef"], 0.3)
    second = lasso_support_certificate(X.toarray(), truth["noise"], truth["coef"], 0.3)
    condition = np.linalg.cond(X.toarray()[:, truth["coef"] != 0]) ** 2
    for ours, theirs in ((first.coef, second.coef), (first.dual, second.dual)):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=rounding(500, np.abs(theirs).max(), condition))


def test_dependent_columns_of_the_support_are_a_verdict_not_an_error():
    X = np.random.default_rng(0).normal(size=(20, 5))
    X[:, 1] = X[:, 0]
    found = lasso_support_certificate(X, np.zeros(20), [1, 1, 0, 0, 0], 0.1)
    assert (found.recovers, found.reason) == (False, "singular")
    assert "Impossible" in found.reading
    X[:, 1] = 0
    assert lasso_support_certificate(X, np.zeros(20), [1, 1, 0, 0, 0], 0.1).reason == "singular"


def test_too_strong_a_penalty_loses_a_sign_and_noise_lets_others_in():
    rng = np.random.default_rng(1)
    X, noise = rng.normal(size=(50, 10)), rng.normal(size=50)
    beta = np.r_[1.0, -1.0, np.zeros(8)]
    assert lasso_support_certificate(X, 0 * noise, beta, 5.0).reason in ("sign", "other columns")
    assert lasso_support_certificate(X, noise, beta, 1e-3).reason == "other columns"
    assert lasso_support_certificate(X, 0.01 * noise, beta, 0.05).recovers


def test_without_true_columns_only_the_noise_counts():
    rng = np.random.default_rng(2)
    X, noise = rng.normal(size=(50, 10)), rng.normal(size=50)
    needed = np.abs(X.T @ noise / 50).max()
    assert lasso_support_certificate(X, noise, np.zeros(10), 1.01 * needed).recovers
    assert not lasso_support_certificate(X, noise, np.zeros(10), 0.99 * needed).recovers


def test_irrepresentability_is_the_noise_free_part_of_the_certificate():
    X, _, truth = make_sparsified_gaussian(200, 60, 1.0, dense_output=True, random_state=3)
    values = irrepresentability(X, truth["support"], np.ones(len(truth["support"])))
    found = lasso_support_certificate(X, truth["noise"], truth["coef"], 0.3)
    assert np.nanmax(values) == pytest.approx(found.irrepresentable)
    assert np.flatnonzero(np.isnan(values)).tolist() == truth["support"].tolist()


def test_the_curve_is_the_same_for_the_same_seed_and_carries_wilson_intervals():
    first, again = (support_recovery_curve(40, 3, 0.5, (0.5, 2.0, 4.0), 8, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(first.frequency, again.frequency)
    assert (first.lower <= first.frequency).all()
    assert (first.frequency <= first.upper).all()
    assert first.upper[0] > first.frequency[0]
    assert first.to_frame().columns == ["theta", "n_samples", "frequency", "lower", "upper"]
    assert len(first.plot().data) == 2
    assert 0.5 < first.crossing < 4


def test_schedules_have_the_values_of_their_formulas():
    assert lasso_sample_size(512, 23) == np.ceil(2 * 23 * np.log(489))
    assert lasso_sample_size(512, 23, eps=1) == np.ceil(3 * 23 * np.log(489))
    assert lasso_recovery_density(1024, 32) == pytest.approx(0.5 * np.log(992) / np.sqrt(992))
    assert lasso_recovery_density(10, 2) <= 1
    ratio = np.log(489) / np.log(np.log(489))
    assert lasso_recovery_penalty(100, 512, 23) == pytest.approx(np.sqrt(np.log(489) / 100 * np.sqrt(ratio)))
    conditions = recovery_conditions(285, 512, 23, 0.14, 0.3, 4)
    assert conditions.theta == pytest.approx(1, abs=0.01)
    assert conditions.penalty_over_noise == pytest.approx(285 * 0.09 * 0.14 / np.log(489))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lasso_sample_size(5, 3), "three others"),
        (lambda: lasso_recovery_density(50, 3, "none"), "choose"),
        (lambda: lasso_support_certificate(np.eye(3), [0, 0, 0], [1, 0], 1), "coef 3"),
        (lambda: lasso_support_certificate(np.eye(3), [0, 0, 0], [1, 0, 0], 0), "above 0"),
        (lambda: irrepresentability(np.eye(3), [0], [2]), "-1 or 1"),
        (lambda: make_sparsified_gaussian(density=0), "above 0"),
        (lambda: support_recovery_curve(40, 3, coef=np.zeros(40)), "not zero"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
