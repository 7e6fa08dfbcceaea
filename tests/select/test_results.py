"""Results of this room show themselves in a notebook and as plain data."""

import json

import numpy as np
import pytest

from fewer.select import irrelevant_feature_curve, redundancy_groups, score_agreement

RNG = np.random.default_rng(0)
Y = np.arange(30) % 2
X = RNG.normal(size=(30, 3))
X[:, 2] = X[:, 0]

MADE = {
    "IrrelevantFeatureCurve": lambda: irrelevant_feature_curve(X, Y, n_noise=[0, 2], n_repeats=2, random_state=0),
    "RedundancyGroups": lambda: redundancy_groups(X, Y),
    "ScoreAgreement": lambda: score_agreement(X, Y, ["fisher", "relief"], random_state=0),
}


@pytest.mark.parametrize("name", MADE)
def test_a_result_has_words_a_notebook_view_and_data(name):
    result = MADE[name]()
    assert type(result).__name__ == name
    heading = repr(result).partition("\n")[0]
    assert f"<strong>{heading}</strong>" in result._repr_html_()
    assert not hasattr(result, "plot") or result.plot().data
    assert set(json.loads(json.dumps(result.to_dict()))) == set(vars(result))
