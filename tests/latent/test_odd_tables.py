"""What the models of the room say to tables and options that cannot be meant."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import FactorAnalysis as PlainFactorAnalysis
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

from fewer.latent import (
    CooperativeVQ,
    FactorAnalysis,
    HiddenIsing,
    HiddenMarkov,
    IQGMEClassifier,
    IQGMEMultiTask,
    LatentClass,
    LatentProfile,
    LatentTrait,
    MixtureOfFactorAnalyzers,
    NonlinearFactorAnalysis,
    PosteriorRegularizedHMM,
    PosteriorRegularizedMixture,
    VBGaussianMixture,
    select_n_components,
)

SHORT = {"max_iter": 3, "tol": 0.1, "random_state": 0}
NUMBERS = [
    LatentProfile(n_init=1, **SHORT),
    MixtureOfFactorAnalyzers(n_init=1, **SHORT),
    CooperativeVQ(n_init=1, **SHORT),
    HiddenMarkov(n_init=1, **SHORT),
    VBGaussianMixture(2, **SHORT),
    NonlinearFactorAnalysis(1, n_init=1, **SHORT),
    PosteriorRegularizedMixture(2, **SHORT),
]
ANSWERS = [
    LatentClass(n_init=1, **SHORT),
    LatentTrait(n_quadrature=9, **SHORT),
    HiddenMarkov(emission="categorical", n_init=1, **SHORT),
    PosteriorRegularizedHMM(2, **SHORT),
]
COUNTS = [each for each in (*NUMBERS, ANSWERS[0]) if not isinstance(each, NonlinearFactorAnalysis)]
UNFINISHED = "ignore::sklearn.exceptions.ConvergenceWarning"


def name_of(model):
    return f"{type(model).__name__}-{getattr(model, 'emission', '')}"


@pytest.fixture
def table():
    return np.random.default_rng(0).normal(size=(40, 4))


@pytest.mark.filterwarnings(UNFINISHED)
@pytest.mark.parametrize("model", [*NUMBERS, *ANSWERS], ids=name_of)
def test_a_constant_column_is_named(model, table):
    X = (table > 0).astype(float) if model in ANSWERS else table
    X[:, 2] = 1.0
    with pytest.warns(UserWarning, match=r"1 column \(2\) is constant and does not affect the model: leave it out"):
        clone(model).fit(X)


@pytest.mark.filterwarnings(UNFINISHED)
def test_a_constant_column_of_a_classifier_is_named(table):
    table[:, 2] = 1.0
    with pytest.warns(UserWarning, match=r"1 column \(2\) is constant"):
        IQGMEClassifier(2, max_iter=3).fit(table, table[:, 0] > 0)


@pytest.mark.filterwarnings(UNFINISHED)
@pytest.mark.parametrize("model", COUNTS, ids=name_of)
def test_more_components_than_different_rows_are_told(model, table):
    name = "n_levels" if isinstance(model, CooperativeVQ) else "n_components"
    with pytest.warns(UserWarning, match=f"{name}=5 is more than the 3 different rows of X: take at most 3"):
        clone(model).set_params(**{name: 5}).fit(np.repeat(table[:3], 8, axis=0))


@pytest.mark.filterwarnings(UNFINISHED)
@pytest.mark.parametrize(
    ("model", "words"),
    [
        (FactorAnalysis(2), r"2 factors and 4 columns that vary.*Lower n_components"),
        (MixtureOfFactorAnalyzers(2, 2, n_init=1, **SHORT), r"2 factors and 4 columns that vary.*Lower n_factors"),
        (LatentTrait(3, n_quadrature=5, **SHORT), "3 traits of 4 items have 9 slopes.*6 associations of pairs"),
        (NonlinearFactorAnalysis(4, n_init=1, **SHORT), "n_components=4 factors of 4 columns that vary"),
    ],
    ids=name_of,
)
def test_more_factors_than_columns_determine_are_told(model, words, table):
    X = (table > 0).astype(float) if isinstance(model, LatentTrait) else table
    with pytest.warns(UserWarning, match=words):
        model.fit(X)


@pytest.mark.parametrize("labels", [np.repeat([0.0, 1.0, np.nan, 2.0], 10), np.array(["a", None] * 20, dtype=object)])
@pytest.mark.parametrize("model", [HiddenMarkov(), PosteriorRegularizedHMM(2)], ids=name_of)
def test_rows_without_a_sequence_are_refused(model, labels, table):
    with pytest.raises(ValueError, match=r"groups is missing in (10|20) rows, such as row (20|1): label these rows"):
        model.fit((table > 0).astype(float), groups=labels)


def test_rows_without_a_task_are_refused(table):
    with pytest.raises(ValueError, match="task_labels is missing in 20 rows, such as row 20: label these rows"):
        IQGMEMultiTask().fit(table, table[:, 0] > 0, task_labels=np.repeat([0.0, np.nan], 20))


@pytest.mark.filterwarnings("ignore:Column 0 has 300 different values")
def test_measurements_are_no_items_of_a_test():
    X = np.random.default_rng(0).normal(size=(300, 3))
    with pytest.raises(
        ValueError, match="Column 0 has 300 different values, and LatentTrait takes items with up to 250"
    ):
        LatentTrait().fit(X)


def test_an_image_of_one_value_has_no_coupling():
    with pytest.raises(ValueError, match="All observed pixels of n_samples = 2 images have the same value, 4"):
        HiddenIsing((3, 3)).fit(np.full((2, 9), 4.0))


def test_sizes_of_models_of_scikit_learn_are_chosen(table):
    X = np.concatenate([table, table + 8])
    by_bic = select_n_components(GaussianMixture(random_state=0), X, [1, 2])
    assert (by_bic.criterion, by_bic.n_components) == ("bic", 2)
    np.testing.assert_allclose(by_bic.scores[1, 0], -GaussianMixture(2, random_state=0).fit(X).bic(X))
    for model in (BayesianGaussianMixture(random_state=0), PlainFactorAnalysis()):
        assert select_n_components(model, X, [1, 2], cv=3).criterion == "cv"
        with pytest.raises(ValueError, match=f"needs a model with the method aic, and {type(model).__name__} has none"):
            select_n_components(model, X, [1, 2], criterion="aic")
    with pytest.raises(TypeError, match="KMeans has no parameter 'n_components'"):
        select_n_components(KMeans(), X, [1, 2])
