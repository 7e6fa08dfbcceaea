"""Factor analyses of R's factanal and of lavaan; ``factors.R`` wrote the numbers.

Both stop where the log-likelihood of a row is flat to about 1e-9, so loadings agree to about the square root of that.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from fewer.latent import FactorAnalysis, match_components

PEERS = json.loads(Path(__file__).with_name("factors.json").read_text())
SCHOOL = np.array(PEERS["tables"]["school"])
AIR = np.array(PEERS["tables"]["air"], dtype=float)
FLAT = {"atol": 5e-5}


def same_up_to_order_and_signs(model, peer):
    """Loadings, and correlations of factors; returns what brings the factors of the peer into our order."""
    theirs = np.array(peer["loadings"])
    partners = match_components(model.loadings_.T, theirs.T, metric="cosine").partners
    signs = np.sign(np.sum(model.loadings_ * theirs[:, partners], axis=0))
    np.testing.assert_allclose(model.loadings_, theirs[:, partners] * signs, **FLAT)
    return partners, signs


@pytest.mark.parametrize(
    ("n_factors", "rotation", "name"),
    [(2, None, "two_none"), (3, "varimax", "three_varimax"), (3, "promax", "three_promax")],
)
def test_loadings_and_test_of_fit_are_those_of_factanal(n_factors, rotation, name):
    peer = PEERS["factanal"][name]
    model = FactorAnalysis(n_factors, rotation=rotation).fit(SCHOOL)
    same_up_to_order_and_signs(model, peer)
    np.testing.assert_allclose(model.uniquenesses_, peer["uniquenesses"], **FLAT)
    assert model.chi2_ == pytest.approx(peer["chi2"], rel=1e-6)
    assert model.dof_ == peer["dof"]
    assert model.p_value_ == pytest.approx(peer["p_value"], rel=1e-5)


def test_factor_scores_are_those_of_factanal():
    peer = PEERS["factanal"]
    model = FactorAnalysis(3, rotation="varimax").fit(SCHOOL)
    partners, signs = same_up_to_order_and_signs(model, peer["three_varimax"])
    expected = np.array(peer["scores"])[:, partners] * signs
    # factanal standardises columns with n - 1 in the variance
    found = model.transform(SCHOOL[:20]) * np.sqrt((len(SCHOOL) - 1) / len(SCHOOL))
    np.testing.assert_allclose(found, expected, atol=2e-4)


def test_weighted_uniquenesses_are_those_of_factanal():
    model = FactorAnalysis(3).fit(SCHOOL, sample_weight=PEERS["tables"]["weights"])
    np.testing.assert_allclose(model.uniquenesses_, PEERS["factanal"]["weighted"], **FLAT)


@pytest.mark.parametrize("rotation", ["oblimin", "geomin"])
def test_oblique_rotations_are_those_of_lavaan(rotation):
    peer = PEERS["lavaan"][rotation]
    model = FactorAnalysis(3, rotation=rotation).fit(SCHOOL)
    partners, signs = same_up_to_order_and_signs(model, peer)
    expected = np.array(peer["correlations"])[np.ix_(partners, partners)] * np.outer(signs, signs)
    np.testing.assert_allclose(model.factor_correlations_, expected, atol=2e-4)
    assert model.score_samples(SCHOOL).sum() == pytest.approx(peer["log_likelihood"], rel=1e-9)


def test_missing_values_are_treated_as_by_full_information_likelihood_in_lavaan():
    peer = PEERS["lavaan"]["air"]
    model = FactorAnalysis(1, tol=1e-12).fit(AIR)
    assert model.score_samples(AIR).sum() == pytest.approx(peer["log_likelihood"], rel=1e-9)
    np.testing.assert_allclose(np.abs(model.components_[0]), np.abs(peer["loadings"]), rtol=2e-4)
    np.testing.assert_allclose(model.noise_variance_, peer["noise"], rtol=2e-3)
    np.testing.assert_allclose(model.mean_, peer["means"], rtol=1e-5)
