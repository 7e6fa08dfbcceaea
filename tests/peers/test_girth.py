"""Item parameters of girth; ``girth_numbers.py`` wrote them.

girth stops early, so its parameters differ from the maximum by up to some hundredths; the likelihood says whose are
better.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from fewer.latent import LatentTrait

PEERS = json.loads(Path(__file__).with_name("girth.json").read_text())


def log_likelihood(table, steps):
    """Of answers to items with a slope and difficulties of the steps between answers, on a fine grid."""
    points = np.linspace(-8, 8, 2001)
    weights = np.exp(-(points**2) / 2)
    total = np.zeros((len(table), len(points)))
    for answers, (slope, difficulties) in zip(np.array(table).T, steps, strict=True):
        logits = np.cumsum([np.zeros(len(points)), *(slope * (points - b) for b in difficulties)], axis=0)
        logs = logits - np.log(np.exp(logits - logits.max(axis=0)).sum(axis=0)) - logits.max(axis=0)
        total += logs[answers]
    return float(np.log(np.exp(total) @ (weights / weights.sum())).sum())


@pytest.mark.parametrize(("name", "n_steps"), [("votes", 1), ("tumours", 3)])
def test_item_parameters_are_those_of_girth_or_better(name, n_steps):
    table, peer = PEERS["tables"][name], PEERS[name]
    model = LatentTrait(ordinal=list(range(len(table[0]))), tol=1e-11).fit(np.array(table))
    found = model.item_table()
    slopes = found.slopes[::n_steps, 0]
    difficulties = found.difficulties.reshape(-1, n_steps)
    theirs = np.array(peer["difficulty"]).reshape(-1, n_steps)
    # a small part of the sampling error
    assert (np.abs(slopes - peer["discrimination"]) < 0.4 * found.slope_errors[::n_steps, 0]).all()
    assert (np.abs(difficulties - theirs) < 0.4 * found.difficulty_errors.reshape(-1, n_steps)).all()
    ours = log_likelihood(table, zip(slopes, difficulties, strict=True))
    assert ours == pytest.approx(model.score_samples(np.array(table)).sum(), rel=1e-5)
    assert ours >= log_likelihood(table, zip(peer["discrimination"], theirs, strict=True)) - 1e-5 * abs(ours)
