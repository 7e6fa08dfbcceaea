"""Surveys with missing answers, as e1071, flexmix, mclust, lavaan, StepMix and girth see them.

``survey.R`` and ``survey_numbers.py`` wrote the numbers. The tables are answers and measurements of 237 students
(MASS::survey), and 435 votes of the US Congress of 1984 with abstentions (UCI, house votes).
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fewer.latent import FactorAnalysis, LatentClass, LatentProfile, LatentTrait, match_components

PEERS = json.loads(Path(__file__).with_name("survey.json").read_text())
FACTORS = json.loads(Path(__file__).with_name("factors.json").read_text())
ANSWERS = pd.DataFrame(PEERS["tables"]["answers"], columns=["Sex", "W.Hnd", "Fold", "Clap", "Exer", "Smoke", "M.I"])
MEASURED = np.array(PEERS["tables"]["measured"], dtype=float)
VOTES = np.array([[{"y": 1.0, "n": 0.0, "?": np.nan}[each] for each in row] for row in PEERS["tables"]["votes"]])
ITEMS = [0, 5, 6, 10, 12, 14, 15]
POSITIVE = [True, False, True, True, False, True, True]
EXACT = {"n_init": 10, "max_iter": 5000, "tol": 1e-13, "random_state": 0}
FLAT = {"atol": 1e-4}


def complete_binary_items():
    """Six answers as 0 and 1, of the students who gave all of them."""
    wanted = {"Sex": "Male", "Fold": "R on L", "Clap": "Right", "Exer": "Freq", "M.I": "Metric"}
    items = pd.DataFrame({name: ANSWERS[name].eq(answer) for name, answer in wanted.items()})
    items.insert(4, "Smoke", ANSWERS["Smoke"].ne("Never"))
    return items[ANSWERS[list(items.columns)].notna().all(axis=1)].astype(float)


@pytest.mark.parametrize("peer", ["lca", "flexmix"])
def test_classes_of_students_are_those_of_e1071_and_flexmix(peer):
    theirs = PEERS[peer]["two"]
    items = complete_binary_items()
    model = LatentClass(2, **EXACT | {"n_init": 30}).fit(items)
    assert model.log_likelihood_ == pytest.approx(theirs["log_likelihood"], rel=1e-8)
    np.testing.assert_allclose(model.weights_, theirs["sizes"], **FLAT)
    yes = np.column_stack([each[:, 1] for each in model.probabilities_])
    np.testing.assert_allclose(yes, theirs["probabilities"], **FLAT)
    if "bic" in theirs:
        assert model.bic(items) == pytest.approx(theirs["bic"], rel=1e-8)


def test_classes_of_students_with_missing_answers_are_those_of_stepmix():
    theirs = PEERS["stepmix"]["students"]
    model = LatentClass(2, **EXACT | {"n_init": 30}).fit(ANSWERS)
    assert ANSWERS.isna().any(axis=1).sum() == 31
    assert model.log_likelihood_ >= theirs["log_likelihood"] - 1e-6
    assert model.log_likelihood_ == pytest.approx(theirs["log_likelihood"], rel=1e-6)
    np.testing.assert_allclose(model.weights_, theirs["sizes"], atol=1e-3)


def test_the_votes_are_those_of_the_gallery():
    file = Path(__file__).parents[2] / "docs" / "gallery" / "house_votes_1984.csv"
    house = pd.read_csv(file).drop(columns="party")
    np.testing.assert_array_equal(house.replace({"yes": 1.0, "no": 0.0}).astype(float), VOTES)


def test_classes_of_votes_with_abstentions_are_those_of_stepmix():
    theirs = PEERS["stepmix"]["votes"]
    model = LatentClass(3, **EXACT).fit(VOTES)
    assert np.isnan(VOTES).sum() == 392
    assert model.log_likelihood_ == pytest.approx(theirs["log_likelihood"], rel=1e-9)
    np.testing.assert_allclose(model.weights_, theirs["sizes"], **FLAT)
    yes = np.column_stack([each[:, 1] for each in model.probabilities_])
    np.testing.assert_allclose(yes, theirs["probabilities"], **FLAT)


@pytest.mark.parametrize(("name", "covariance_type"), [("EEI_2", "tied_diag"), ("VVI_2", "diag")])
def test_profiles_of_students_are_those_of_mclust_or_better(name, covariance_type):
    theirs = PEERS["mclust"][name]
    X = MEASURED[~np.isnan(MEASURED[:, :4]).any(axis=1), :4]
    model = LatentProfile(2, covariance_type=covariance_type, **EXACT).fit(X)
    assert model.n_parameters_ == theirs["parameters"]
    assert model.log_likelihood_ >= theirs["log_likelihood"] - 1e-6
    if model.log_likelihood_ < theirs["log_likelihood"] + 0.1:  # the same optimum
        np.testing.assert_allclose(model.weights_, theirs["sizes"], **FLAT)
        np.testing.assert_allclose(model.means_, theirs["means"], atol=1e-2)
        np.testing.assert_allclose(model.variances_, theirs["variances"], rtol=1e-3)


def test_loadings_and_their_standard_errors_with_missing_answers_are_those_of_lavaan():
    theirs = PEERS["lavaan"]
    model = FactorAnalysis(1, tol=1e-13).fit(MEASURED)
    assert np.isnan(MEASURED).sum() == 75
    np.testing.assert_allclose(model.loadings_[:, 0], theirs["loadings"], atol=1e-6)
    np.testing.assert_allclose(model.loading_errors_[:, 0], theirs["errors"], rtol=1e-5)
    np.testing.assert_allclose(model.mean_, theirs["means"], rtol=1e-6)
    units = ~np.isnan(MEASURED) @ np.log([2, 2, 10, 12, 6])
    assert model.score_samples(MEASURED).sum() + units.sum() == pytest.approx(theirs["log_likelihood"], rel=1e-9)


@pytest.mark.parametrize("rotation", ["varimax", "oblimin", "geomin"])
def test_errors_of_rotated_loadings_are_about_those_of_lavaan(rotation):
    """Over 800 simulated tables (varimax), loadings vary 1.001 times as ours say, and 1.000 times as lavaan's."""
    theirs = {name: np.array(each) for name, each in PEERS["school"][rotation].items()}
    model = FactorAnalysis(3, rotation=rotation).fit(np.array(FACTORS["tables"]["school"]))
    partners = match_components(model.loadings_.T, theirs["loadings"].T, metric="cosine").partners
    np.testing.assert_allclose(np.abs(model.loadings_), np.abs(theirs["loadings"][:, partners]), atol=5e-5)
    np.testing.assert_allclose(model.loading_errors_, theirs["errors"][:, partners], rtol=0.05)


def log_likelihood(items, slopes, difficulties):
    """Of the answers that are there, on a fine grid."""
    points = np.linspace(-8, 8, 2001)
    logits = slopes[:, None] * (points - difficulties[:, None])
    yes, no = -np.logaddexp(0, -logits), -np.logaddexp(0, logits)
    logs = np.where(items == 1, 1.0, 0.0) @ yes + np.where(items == 0, 1.0, 0.0) @ no
    weights = np.exp(-(points**2) / 2)
    return float(np.log(np.exp(logs) @ (weights / weights.sum())).sum())


def test_item_parameters_of_votes_with_abstentions_are_those_of_girth_or_better():
    """girth stops early; of the last item, on which a quarter abstained, its difficulty is 0.6 standard errors off."""
    items = np.where(POSITIVE, VOTES[:, ITEMS], 1 - VOTES[:, ITEMS])
    model = LatentTrait(tol=1e-11).fit(items)
    found, theirs = model.item_table(), {name: np.array(each) for name, each in PEERS["girth"].items()}
    assert (np.abs(found.slopes[:, 0] - theirs["discrimination"]) < 0.3 * found.slope_errors[:, 0]).all()
    apart = np.abs(found.difficulties - theirs["difficulty"]) / found.difficulty_errors
    assert (apart[:-1] < 0.3).all()
    assert apart[-1] < 1
    ours = log_likelihood(items, found.slopes[:, 0], found.difficulties)
    assert ours == pytest.approx(model.score_samples(items).sum(), rel=1e-5)
    assert ours > log_likelihood(items, theirs["discrimination"], theirs["difficulty"]) + 0.1
