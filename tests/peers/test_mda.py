"""Mixture discriminant analysis of R's package mda on iris; ``mda.R`` wrote the numbers.

R's EM regresses scores of the sub-classes on the columns, ours estimates means and a covariance: the same steps.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from fewer.latent import MixtureDiscriminantAnalysis
from fewer.latent.mixtures._class_mixture import (
    Recipe,
    centred_rows,
    class_log_probabilities,
    em_step,
    maximised,
    rows_of,
)

PEERS = json.loads(Path(__file__).with_name("mda.json").read_text())
X, Y = np.array(PEERS["iris"]), np.repeat([0, 1, 2], 50)
NUMBERS = {"two": 2, "three": 3}
PRINTED = 1e-9  # ten digits of numbers up to 1


def deviance(log_probabilities):
    return -2 * log_probabilities[np.arange(150), Y].sum()


@pytest.mark.parametrize("name", NUMBERS)
def test_where_mda_ends_our_em_stays(name):
    peer, size = PEERS[name], NUMBERS[name]
    shares, labels = np.zeros((150, 3 * size)), np.zeros((3 * size, 3))
    for label, own in enumerate(peer["weights"].values()):
        members, columns = slice(50 * label, 50 * (label + 1)), slice(size * label, size * (label + 1))
        shares[members, columns] = own
        labels[columns, label] = np.sum(own, axis=0)
    centred, _, _ = centred_rows(X, np.ones(150))
    rows = rows_of(centred, sparse.csc_array(np.eye(3)[Y]), np.zeros(150))
    mixture = maximised(rows, shares, labels, Recipe())
    found, _ = class_log_probabilities(centred, mixture)
    # Ten digits of 450 shares, magnified by the covariance of columns whose variances differ by a factor of 100.
    assert np.abs(np.exp(found) - np.array(peer["posterior"])).max() < 1e3 * PRINTED
    assert deviance(found) == pytest.approx(peer["deviance"], rel=1e3 * PRINTED)
    assert np.abs(em_step(rows, Recipe(), mixture)[0].means - mixture.means).max() < 1e3 * PRINTED


@pytest.mark.parametrize("name", NUMBERS)
def test_the_best_of_our_starts_is_what_mda_finds(name):
    peer = PEERS[name]
    model = MixtureDiscriminantAnalysis(
        NUMBERS[name], n_init=20, reg_covar=0, tol=1e-12, max_iter=5000, random_state=0
    ).fit(X, Y)
    # Flat to 1e-12 of the log-likelihood: parameters and probabilities to about its square root.
    assert np.abs(model.predict_proba(X) - np.array(peer["posterior"])).max() < 1e-4
    assert deviance(model.predict_log_proba(X)) == pytest.approx(peer["deviance"], rel=1e-4)
    assert int((model.predict(X) != Y).sum()) == peer["errors"]
