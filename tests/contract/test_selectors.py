"""What every selector of the catalogue promises beyond the contract of an estimator: it ranks, and it fits where users
put it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.feature_selection import SelectorMixin
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline

from fewer.catalogue import methods
from fewer.evaluate import selection_curve

N_ROWS, N_COLUMNS = 40, 6


def selectors():
    """The first example of every public selector, with its card."""
    return [
        pytest.param(card, next(iter(card.examples())), id=card.name)
        for card in methods(room="select", package="fewer")
        if card.is_estimator and issubclass(card.implementation, SelectorMixin)
    ]


def frame_and_target(card):
    """Counts, which every score takes, and a target that suits the selector."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(N_ROWS) % 2)
    X = rng.poisson(2.0, size=(N_ROWS, N_COLUMNS)).astype(float)
    X[:, :2] += rng.poisson(3.0, size=(N_ROWS, 2)) * y[:, None]
    names = [f"word {place}" for place in range(N_COLUMNS)]
    target = np.array(["ham", "spam"])[y] if "classification" in card.tasks else X[:, 0] + rng.normal(size=N_ROWS)
    return X, names, target


def small(selector):
    """The selector, asked for few columns where its example asks for more than there are."""
    wanted = {"k": 2, "n_features_to_select": 2, "n_per_class": 1}
    known = selector.get_params(deep=False)
    return clone(selector).set_params(**{name: value for name, value in wanted.items() if known.get(name) is not None})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("card", "selector"), selectors())
def test_a_selector_ranks_every_column(card, selector):
    X, _, y = frame_and_target(card)
    fitted = small(selector).fit(X, y)
    assert sorted(fitted.ranking_) == list(range(1, N_COLUMNS + 1))
    assert len(fitted.scores_) == N_COLUMNS
    assert fitted.get_support().any()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("card", "selector"), selectors())
def test_a_selector_keeps_names_in_a_pipeline(card, selector):
    X, names, y = frame_and_target(card)
    learner = RidgeClassifier() if y.dtype.kind == "U" else Ridge()
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        pipeline = make_pipeline(small(selector), learner).fit(frame, y)
        assert len(pipeline.predict(frame)) == N_ROWS
        assert set(pipeline[0].get_feature_names_out()) <= set(names)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("card", "selector"), selectors())
def test_a_selector_serves_a_curve_of_sizes(card, selector):
    X, _, y = frame_and_target(card)
    learner = RidgeClassifier() if y.dtype.kind == "U" else Ridge()
    curve = selection_curve(small(selector), learner, X, y, cv=3, random_state=0)
    assert curve.scores.shape[:2] == (1, 3)
    assert curve.sizes[-1] == N_COLUMNS
    assert np.isfinite(curve.scores).all()
