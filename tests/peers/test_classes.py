"""Latent classes of e1071, flexmix and StepMix, latent profiles of mclust; ``classes.R`` and ``stepmix_numbers.py``.

All of them maximise the same likelihood, and stop where it is flat to about 1e-12 of its size; probabilities agree to
about the square root of that.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from fewer.latent import LatentClass, LatentProfile

PEERS = json.loads(Path(__file__).with_name("classes.json").read_text())
VOTES, WHISKEY = (
    np.array([[float(each) for each in row] for row in PEERS["tables"][name]]) for name in ("votes", "whiskey")
)
HOUSEHOLDS, IRIS = np.array(PEERS["tables"]["households"], dtype=float), np.array(PEERS["tables"]["iris"])
TEN = [0, 1, 2, 3, 5, 6, 9, 10, 12, 14]
NUMBERS = {"two": 2, "three": 3}
FLAT = {"atol": 1e-4}
EXACT = {"n_init": 10, "max_iter": 5000, "tol": 1e-13, "random_state": 0}


def yes(model):
    return np.column_stack([each[:, 1] for each in model.probabilities_])


@pytest.mark.parametrize("name", NUMBERS)
def test_classes_of_votes_are_those_of_e1071(name):
    peer = PEERS["lca"][name]
    model = LatentClass(NUMBERS[name], **EXACT).fit(VOTES[:, TEN])
    assert model.log_likelihood_ == pytest.approx(peer["log_likelihood"], rel=1e-9)
    assert model.bic(VOTES[:, TEN]) == pytest.approx(peer["bic"], rel=1e-9)
    np.testing.assert_allclose(model.weights_, peer["sizes"], **FLAT)
    np.testing.assert_allclose(yes(model), peer["probabilities"], **FLAT)


@pytest.mark.parametrize("name", NUMBERS)
def test_weighted_classes_of_a_survey_are_those_of_flexmix(name):
    peer = PEERS["flexmix"][name]
    model = LatentClass(NUMBERS[name], **EXACT).fit(WHISKEY, sample_weight=HOUSEHOLDS)
    assert model.log_likelihood_ == pytest.approx(peer["log_likelihood"], rel=1e-9)
    assert model.n_parameters_ == peer["parameters"]
    np.testing.assert_allclose(model.weights_, peer["sizes"], **FLAT)
    np.testing.assert_allclose(yes(model), peer["probabilities"], **FLAT)


@pytest.mark.parametrize("name", NUMBERS)
def test_classes_of_votes_with_missing_answers_are_those_of_stepmix(name):
    peer = PEERS["stepmix"][name]
    X = VOTES.copy()
    rows, columns = np.indices(X.shape)
    X[(7 * rows + 3 * columns + rows * columns) % 6 == 0] = np.nan
    model = LatentClass(NUMBERS[name], **EXACT).fit(X)
    assert model.log_likelihood_ == pytest.approx(peer["log_likelihood"], rel=1e-8)
    np.testing.assert_allclose(model.weights_, peer["sizes"], **FLAT)
    np.testing.assert_allclose(yes(model), peer["probabilities"], **FLAT)


@pytest.mark.parametrize(
    ("name", "n_components", "covariance_type"),
    [("VVI_2", 2, "diag"), ("EEI_2", 2, "tied_diag"), ("EEI_3", 3, "tied_diag")],
)
def test_profiles_of_flowers_are_those_of_mclust(name, n_components, covariance_type):
    peer = PEERS["mclust"][name]
    model = LatentProfile(n_components, covariance_type=covariance_type, **EXACT).fit(IRIS)
    assert model.log_likelihood_ == pytest.approx(peer["log_likelihood"], rel=1e-9)
    assert model.n_parameters_ == peer["parameters"]
    np.testing.assert_allclose(model.weights_, peer["sizes"], **FLAT)
    np.testing.assert_allclose(model.means_, peer["means"], **FLAT)
    np.testing.assert_allclose(model.variances_, peer["variances"], **FLAT)


def test_random_starts_find_a_better_optimum_than_the_hierarchical_start_of_mclust():
    model = LatentProfile(3, **EXACT).fit(IRIS)
    assert model.log_likelihood_ > PEERS["mclust"]["VVI_3"]["log_likelihood"] + 0.3
