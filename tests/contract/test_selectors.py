"""What every selector of the catalogue promises beyond the contract of an estimator: it fits where users put it,
and it says what it was given too much of."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.feature_selection import SelectorMixin
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from fewer.catalogue import methods
from fewer.datasets import load
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
    wanted = {"n_features_to_select": 2, "n_per_class": 1}
    known = selector.get_params(deep=False)
    return clone(selector).set_params(**{name: value for name, value in wanted.items() if known.get(name) is not None})


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


@pytest.mark.parametrize(("card", "selector"), selectors())
def test_more_columns_than_there_are_means_all_and_is_said(card, selector):
    name = next((name for name in ("n_features_to_select", "n_per_class") if name in selector.get_params()), None)
    if name is None:
        return
    X, _, y = frame_and_target(card)
    with pytest.warns(UserWarning, match=f"{name}=99 columns are asked for, and the table has 6; all of them are kept"):
        fitted = clone(selector).set_params(**{name: 99}).fit(X, y)
    assert fitted.get_support().all()


def estimators_of_tables():
    """The first example of every estimator that takes a table."""
    return [
        pytest.param(card, next(iter(card.examples())), id=card.name)
        for room in ("select", "learn", "extract")
        for card in methods(room=room, package="fewer")
        if card.is_estimator
    ]


@pytest.mark.parametrize(("card", "estimator"), estimators_of_tables())
def test_what_cannot_be_used_is_told_by_the_name_of_its_column(card, estimator):
    X, names, y = frame_and_target(card)
    incomplete, text = pd.DataFrame(X, columns=names), pd.DataFrame(X, columns=names).astype(object)
    incomplete.iloc[5, 2], text.iloc[5, 2] = np.nan, "many"
    if not get_tags(estimator).input_tags.allow_nan:
        with pytest.raises(ValueError, match=r"Input X contains NaN, in column 'word 2' \(row 5\)"):
            clone(estimator).fit(incomplete, y)
    with pytest.raises(ValueError, match="Column 'word 2' holds text, such as 'many'"):
        clone(estimator).fit(text, y)


@pytest.mark.parametrize(("card", "estimator"), estimators_of_tables())
def test_a_dataset_is_no_table(card, estimator):
    data = load("diabetes" if card.tasks == ("regression",) else "wine")
    with pytest.raises(TypeError, match=r"X is a Dataset, .* pass data\.X and data\.y"):
        clone(estimator).fit(data, data.y)
