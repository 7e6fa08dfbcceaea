"""Models of counts: bad input, texts, weights, blocks, groups, samplers."""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.special import digamma, gammaln
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from fewer.datasets import make_aspects, make_bars
from fewer.latent import (
    PLSA,
    AspectModel,
    ComponentClassifier,
    ComponentFeatures,
    DiscreteComponentAnalysis,
    match_components,
    select_n_components,
    top_features,
)
from fewer.latent._count_model import split_tokens
from fewer.latent._passes import count_rows, count_table, exp_digamma, folded_in, gamma_pair, mixture_sums
from fewer.latent.counts import _gibbs
from fewer.latent.counts._blocks import block_concentrations
from fewer.latent.counts._gibbs import TokenSampler, draw_gamma
from fewer.latent.counts._updates import Prior, estimated_prior, starting_concentrations
from tolerances import rounding

TEXTS = ["rain wind rain", "wind rain", "bread jam", "jam bread jam", "rain wind wind rain"]
MODELS = [DiscreteComponentAnalysis(2, random_state=0), PLSA(2, random_state=0), AspectModel(2, random_state=0)]


def counts_of(n_rows=60, seed=0):
    return make_bars(n_rows, 3, 30, random_state=seed).X


def test_special_functions_have_the_digits_of_scipy():
    values = 10.0 ** np.linspace(-6, 5, 60)
    pairs = np.array([gamma_pair(value) for value in values])
    # Near its zero, digamma is a difference: log(y) less inverses, with y of at least 8, where the series is cut off.
    cut_off = 691 / 32760 * 8.0**-12
    scale = np.log(values + 8) + 1 / values + 2.6
    assert np.all(np.abs(pairs[:, 0] - digamma(values)) < cut_off + rounding(16) * scale)
    # log Gamma of large numbers is a difference of large numbers.
    assert pairs[:, 1] == pytest.approx(gammaln(values), rel=1e-10, abs=1e-10)
    assert [exp_digamma(value) for value in values] == pytest.approx(np.exp(digamma(values)), rel=1e-9, abs=1e-300)


def test_sums_over_non_zeros_are_those_of_dense_matrices():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, size=(20, 15)).astype(float)
    own, other = rng.uniform(size=(20, 4)), rng.uniform(size=(15, 4))
    sums, fits = mixture_sums(count_rows(sparse.csr_array(X)), own, other)
    mixed = own @ other.T
    assert sums == pytest.approx(X / mixed @ other, rel=rounding(15, condition=100))
    assert fits == pytest.approx(np.sum(X * np.log(mixed), axis=1), rel=rounding(15, condition=100))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_bad_counts_are_refused_by_the_name_of_their_column(model):
    frame = pd.DataFrame(counts_of(), columns=[f"word{number}" for number in range(9)]).astype(float)
    frame.loc[3, "word4"] = -1
    with pytest.raises(ValueError, match=r"Negative values .* 'word4'"):
        model.fit(frame)
    frame.loc[3, "word4"] = np.nan
    with pytest.raises(ValueError, match="NaN, in column 'word4'"):
        model.fit(frame)
    with pytest.raises(ValueError, match="entries of the table are zero"):
        model.fit(np.zeros((30, 4)))


@pytest.mark.parametrize("solver", ["gibbs", "rb_gibbs"])
def test_samplers_need_whole_numbers_and_no_weights(solver):
    frame = pd.DataFrame(counts_of(), columns=[f"word{number}" for number in range(9)]).astype(float)
    model = DiscreteComponentAnalysis(2, solver=solver, n_burn_in=2, n_draws=2)
    with pytest.raises(ValueError, match="sample_weight is not supported"):
        model.fit(frame, sample_weight=np.ones(60))
    frame.loc[3, "word4"] = 1.5
    with pytest.raises(ValueError, match=r"column 'word4' holds 1.5"):
        model.fit(frame)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "cgp"}, "needs solver='gibbs'"),
        ({"feature_groups": np.zeros(9)}, "needs model='dm'"),
        ({"model": "dm", "feature_groups": np.zeros(8)}, "8 labels, and the table has 9"),
        ({"doc_topic_prior": [0.1, 0.1, 0.1]}, "there are 2 components"),
        ({"rate_prior": "auto", "model": "dm"}, "needs solver='variational' and model='gp'"),
        ({"init": np.ones((2, 3))}, "init must be"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        DiscreteComponentAnalysis(2, **options).fit(counts_of())


@pytest.mark.parametrize("model", ["gp", "dm"])
@pytest.mark.parametrize("solver", ["variational", "nmf", "rb_gibbs", "gibbs"])
def test_empty_rows_and_unseen_columns_do_no_harm(model, solver):
    X = counts_of().astype(float)
    X[5] = 0
    X[:, 2] = 0
    fitted = DiscreteComponentAnalysis(3, model=model, solver=solver, n_burn_in=5, n_draws=5, random_state=0).fit(X)
    new = X.copy()
    new[:, 2] = 3  # of which nothing is known
    for table in (X, new):
        assert np.isfinite(fitted.transform(table)).all()
        assert np.isfinite(fitted.score_samples(table)).all()
    assert fitted.components_.sum(axis=1) == pytest.approx(1)
    expected = fitted.alpha_ / fitted.alpha_.sum() if model == "dm" else fitted.alpha_ / (1 + fitted.beta_)
    if solver != "nmf":
        assert fitted.transform(X)[5] == pytest.approx(expected)
    assert fitted.weights_.sum() == pytest.approx(1)
    assert (np.diff(fitted.weights_) <= 0).all()


def test_rows_without_counts_have_equal_shares_with_a_warning():
    X = counts_of().astype(float)
    X[5] = 0
    with pytest.warns(UserWarning, match="row 5 holds no counts"):
        model = PLSA(3, early_stopping=False, random_state=0).fit(X)
    assert model.doc_topic_[5] == pytest.approx(1 / 3)
    assert model.transform(X)[5] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    "texts", [TEXTS, pd.Series(TEXTS), pl.Series(TEXTS), pd.DataFrame({"text": TEXTS}), np.array(TEXTS)]
)
def test_texts_give_components_that_print_their_words(texts):
    model = PLSA(2, early_stopping=False, random_state=0).fit(texts)
    assert top_features(model, n_features=2).names == [["rain", "wind"], ["jam", "bread"]]
    assert "rain, wind" in repr(top_features(model, n_features=2))
    assert model.transform(["wind and rain"])[0, 0] > 0.99


def test_a_vectorizer_before_the_model_names_the_words():
    pipeline = make_pipeline(CountVectorizer(), PLSA(2, early_stopping=False, random_state=0)).fit(TEXTS)
    assert top_features(pipeline, n_features=1).names == [["rain"], ["jam"]]
    with pytest.raises(ValueError, match="fitted to a table of counts"):
        pipeline[-1].transform(TEXTS)
    with pytest.raises(ValueError, match="row 1 is None"):
        PLSA(2).fit(["a text", None])


def test_estimated_priors_are_near_those_that_drew_the_rows():
    alpha = np.array([0.8, 0.3, 0.1])
    topics = np.kron(np.eye(3), np.full(8, 1 / 8))
    shares = np.random.RandomState(0).dirichlet(alpha, size=1500)
    X = np.array([np.random.RandomState(row).multinomial(60, each) for row, each in enumerate(shares @ topics)])
    for options in ({}, {"solver": "rb_gibbs", "n_burn_in": 150, "n_draws": 5}):
        model = DiscreteComponentAnalysis(3, model="dm", doc_topic_prior="auto", tol=1e-7, random_state=0, **options)
        model.fit(X)
        assert model.alpha_ == pytest.approx(alpha, rel=0.25)


@pytest.mark.parametrize("dirichlet", [True, False])
def test_the_prior_from_counts_is_that_which_drew_them(dirichlet):
    rng = np.random.default_rng(0)
    alpha, beta = np.array([2.0, 0.5]), np.array([0.05, 0.2])
    scores = rng.gamma(alpha, 1 / beta, size=(4000, 2))
    if dirichlet:
        scores = 200 * scores * beta / (scores * beta).sum(axis=1, keepdims=True)
    prior = Prior(dirichlet, np.ones(2), beta, 0.5, np.zeros(2, dtype=np.int64), True, not dirichlet)
    found = estimated_prior(rng.poisson(scores).astype(float), np.ones(4000), prior, 500)
    assert found.alpha == pytest.approx(alpha, rel=0.1)
    assert found.beta == pytest.approx(beta, rel=0.1)


def test_gamma_draws_have_their_mean_and_variance():
    state = np.array([7], dtype=np.uint64)
    for shape in (0.3, 1.0, 4.5):
        drawn = np.array([draw_gamma(state, shape) for _ in range(20_000)])
        # Five standard errors.
        assert drawn.mean() == pytest.approx(shape, abs=5 * np.sqrt(shape / 20_000))
        assert drawn.var() == pytest.approx(shape, rel=5 * np.sqrt((2 + 6 / shape) / 20_000))


def test_threads_and_blocks_of_the_sampler_leave_all_counts_consistent(monkeypatch):
    monkeypatch.setattr(_gibbs, "_TOKENS_FOR_BLOCKS", 1000)
    X = make_aspects(400, 200, random_state=0).X
    options = {"model": "dm", "solver": "rb_gibbs", "n_burn_in": 5, "n_draws": 3, "random_state": 0}
    one, two = (DiscreteComponentAnalysis(8, n_jobs=n_jobs, **options).fit(X) for n_jobs in (1, 2))
    assert np.array_equal(one.components_, two.components_)
    assert np.array_equal(one.scores_, two.scores_)
    prior = Prior(True, np.full(8, 0.1), np.ones(8), 0.5, np.zeros(200, dtype=np.int64))
    sampler = TokenSampler(count_table(X), 8, prior, np.zeros(8), np.random.RandomState(0))
    assert sampler.n_blocks == 4
    sampler.start_at_random(np.random.RandomState(0))
    for _ in range(3):
        sampler.cycle()
    assert np.array_equal(sampler.totals[0], sampler.word_counts.sum(axis=0))
    assert np.array_equal(sampler.word_counts.sum(axis=1), X.sum(axis=0))
    assert np.array_equal(sampler.row_table().sum(axis=1), X.sum(axis=1))
    assert np.array_equal(np.bincount(sampler.labels, minlength=8), sampler.totals[0])


def test_missing_answers_have_no_token():
    """Two kinds of people answer three questions; some leave one out, which makes no difference to the components."""
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=600)
    answers = np.where(rng.uniform(size=(600, 3)) < 0.9, kind[:, None], 1 - kind[:, None])
    X = np.zeros((600, 3, 2))
    rows, questions = np.indices(answers.shape)
    X[rows, questions, answers] = rng.uniform(size=answers.shape) < 0.8
    groups = np.repeat([0, 1, 2], 2)
    pure = {"model": "dm", "feature_groups": groups, "doc_topic_prior": 0.01, "tol": 1e-9, "max_iter": 1000}
    model = DiscreteComponentAnalysis(2, n_init=3, random_state=0, **pure)
    model.fit(X.reshape(600, 6))
    assert model.components_.reshape(2, 3, 2).sum(axis=2) == pytest.approx(1)
    clear = model.components_.reshape(2, 3, 2).max(axis=2)
    assert clear.min() > 0.85
    assert model.n_parameters_ == 2 * 3
    sampled = DiscreteComponentAnalysis(2, solver="rb_gibbs", random_state=0, **pure)
    sampled.fit(X.reshape(600, 6))
    assert match_components(model.components_ / 3, sampled.components_ / 3).distances.max() < 0.1


def test_blocks_of_rows_find_the_components():
    X, _, truth = make_bars(3000, 4, 60, random_state=0)
    model = DiscreteComponentAnalysis(8, model="dm", doc_topic_prior=1.0, total_samples=3000, random_state=1)
    distances = []
    for first in [*range(0, 3000, 100)] * 5:
        model.partial_fit(X[first : first + 100])
        distances.append(match_components(truth["components"], model.components_).distances.mean())
    assert model.n_iter_ == 150
    assert model.scores_ is None
    assert distances[-1] < distances[30] < distances[0]
    assert model.objective_path_[-30:].mean() > model.objective_path_[:30].mean()
    whole = DiscreteComponentAnalysis(8, model="dm", doc_topic_prior=1.0, random_state=1).fit(X)
    assert match_components(truth["components"], whole.components_).distances.max() < 0.1
    again = whole.partial_fit(X[:300])  # a fit can go on with more rows
    assert again.n_iter_ > 1


@pytest.mark.parametrize("alpha", [0.001, 0.1, 5.0])
@pytest.mark.parametrize("dirichlet", [False, True])
@pytest.mark.parametrize("n_components", [3, 37])
def test_blocks_are_folded_in_as_in_double_precision(n_components, dirichlet, alpha):
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.poisson(0.3, size=(40, 90)).astype(float))
    X[0] *= 10_000  # a long row, and one without counts
    X[1] *= 0
    X.eliminate_zeros()
    table = count_table(X)
    theta = np.ascontiguousarray(rng.dirichlet(np.full(90, 0.3), size=n_components).T)
    prior = Prior(dirichlet, np.full(n_components, alpha), np.full(n_components, 0.7), 0.5, np.zeros(90, dtype=int))
    single = block_concentrations(table.rows, table.totals, theta, prior)
    start = starting_concentrations(table.totals, prior)
    # The peers' rule for a row, as a share of its sum, and the same number of steps at most.
    double = np.array(
        [
            folded_in(
                count_rows(X[[row]]),
                start[[row]],
                theta,
                prior.alpha,
                prior.scale,
                bayes=True,
                max_iter=20,
                tol=1e-3 * n_components / (table.totals[row] + alpha * n_components),
            )[0]
            for row in range(40)
        ]
    )
    sums = table.totals + alpha * n_components
    assert single[1] == pytest.approx(prior.alpha, rel=1e-6)
    assert single.sum(axis=1) == pytest.approx(sums, rel=1e-5)
    # Twenty steps magnify 1e-4 of a factor; a step more or less moves a row by what it stops at.
    assert np.all(np.abs(single - double).sum(axis=1) < 0.002 * n_components + 0.002 * sums)


def test_the_order_of_components_moves_with_all_that_belongs_to_them():
    X = counts_of(400)
    alpha = np.array([0.05, 0.2, 0.8])
    model = DiscreteComponentAnalysis(3, model="dm", doc_topic_prior=alpha, total_samples=400, random_state=0)
    for _ in range(3):
        model.partial_fit(X[:300])
        assert np.all(np.diff(model.weights_) <= 0)
        share = (model._statistics + 0.5) / (model._statistics + 0.5).sum(axis=0)
        assert model.components_ == pytest.approx(share.T, abs=rounding(len(share)))
        assert sorted(model.alpha_) == pytest.approx(alpha)
    before = model.components_.copy()
    model.partial_fit(X[300:301])  # a block of one row counts as one row
    assert np.abs(model.components_ - before).sum(axis=1).max() < 0.05


def test_more_tokens_than_can_have_labels_are_refused():
    X = np.full((4, 3), 1e9)
    with pytest.raises(ValueError, match=r"sum to 1\.2e\+10, and solver='rb_gibbs' keeps a label"):
        DiscreteComponentAnalysis(2, solver="rb_gibbs").fit(X)


@pytest.mark.parametrize("solver", ["variational", "rb_gibbs", "nmf"])
def test_memory_is_that_of_the_non_zeros_and_of_two_tables_of_components(solver):
    rng = np.random.default_rng(0)
    options = {"max_iter": 1, "tol": 0, "n_burn_in": 1, "n_draws": 1, "init": "dirichlet", "random_state": 0}
    peaks = []
    for size, n_components in ((1000, 20), (4000, 20), (4000, 80)):
        places = rng.integers(size, size=(2, 20 * size))
        X = sparse.csr_array((np.ones(20 * size), tuple(places)), shape=(size, size))
        X.sum_duplicates()
        model = DiscreteComponentAnalysis(n_components, model="dm", solver=solver, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X[:50])  # kernels are loaded
            tracemalloc.start()
            model.fit(X)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # Four times the table, four times the memory at most; a dense table would be sixteen times as large.
    assert peaks[1] <= 4.4 * peaks[0]
    assert peaks[2] <= 4.4 * peaks[1]
    linear = 4000 * 20 * 16 + 2 * 4000 * 80 * 8
    assert peaks[2] <= 12 * linear


def test_sampled_rows_have_the_moments_of_the_model():
    X = counts_of(400)
    for model in (
        DiscreteComponentAnalysis(6, random_state=0),
        DiscreteComponentAnalysis(6, model="dm", random_state=0),
    ):
        drawn, scores = model.fit(X).sample(3000, random_state=0)
        assert drawn.shape == (3000, 9)
        assert scores.shape == (3000, 6)
        if model.model == "dm":
            assert drawn.sum() / 3000 == pytest.approx(30, rel=0.05)
        else:
            assert scores.mean(axis=0) == pytest.approx(model.alpha_ / model.beta_, rel=0.3)
    drawn, shares = PLSA(6, random_state=0).fit(X).sample(50, random_state=0)
    assert np.array_equal(drawn.sum(axis=1), np.full(50, 30.0))
    assert shares.sum(axis=1) == pytest.approx(1)


def test_halves_of_tokens_add_up():
    X = make_aspects(50, 100, random_state=0).X
    seen, held_out = split_tokens(X, 0)
    assert (abs(seen + held_out - X)).sum() == 0
    assert seen.sum() == pytest.approx(X.sum() / 2, rel=0.1)


def test_component_features_zero_what_is_small_and_keep_the_words():
    X = make_aspects(400, 300, random_state=0).X
    model = DiscreteComponentAnalysis(10, model="dm", random_state=0)
    alone = ComponentFeatures(model).fit_transform(X)
    assert alone.shape == (400, 10)
    assert np.mean(alone == 0) > 0.1
    assert np.linalg.norm(alone, axis=1) == pytest.approx(1)
    both = ComponentFeatures(model, passthrough=True).fit(X)
    assert sparse.issparse(both.transform(X))
    assert both.transform(X).shape == (400, 310)
    assert len(both.get_feature_names_out()) == 310


def test_component_features_take_texts():
    texts = ["rain wind rain", "wind rain", "bread jam", "jam bread jam"] * 5
    model = DiscreteComponentAnalysis(2, model="dm", topic_word_prior=0.1, n_init=3, random_state=0)
    found = ComponentFeatures(model, passthrough=True).fit(texts)
    features = found.transform(texts[:4])
    assert list(found.get_feature_names_out()[2:]) == ["bread", "jam", "rain", "wind"]
    assert sparse.issparse(features)
    shares = features[:, :2].toarray()
    assert np.array_equal(shares[0] > shares[0].mean(), shares[1] > shares[1].mean())
    assert not np.array_equal(shares[0] > shares[0].mean(), shares[2] > shares[2].mean())


def test_the_class_as_one_more_group_is_predicted():
    X, y, _ = make_aspects(1000, 300, random_state=0)
    model = ComponentClassifier(20, random_state=0).fit(X[:700], y[:700])
    assert model.score(X[700:], y[700:]) > 0.75
    assert model.predict_proba(X[700:]).sum(axis=1) == pytest.approx(1)
    assert model.class_given_component_.sum(axis=1) == pytest.approx(1)


def test_a_classifier_by_components_draws_rows_and_has_criteria():
    X, y, _ = make_aspects(400, 100, random_state=0)
    model = ComponentClassifier(15, random_state=0).fit(X, y)
    drawn, classes = model.sample(3000, random_state=0)
    assert drawn.sum(axis=1).mean() == pytest.approx(X.sum(axis=1).mean(), rel=0.02)
    assert np.asarray(drawn.sum(axis=0) / drawn.sum()) == pytest.approx(np.asarray(X.sum(axis=0) / X.sum()), abs=0.01)
    assert model.score(drawn, classes) > 0.5
    assert np.all(model.score_samples(X, y) < model.score_samples(X))
    # An unknown class between, or after, the known ones has no place among them.
    for unknown in (model.classes_.min() + 0.5, model.classes_.max() + 1):
        with pytest.raises(ValueError, match=f"{unknown}.*not seen in fit"):
            model.score_samples(X[:2], [unknown, y[0]])
    with pytest.raises(ValueError, match="1 labels, and X has 2 rows"):
        model.score_samples(X[:2], y[:1])
    for criterion in ("auto", "completion", "bic"):
        assert select_n_components(model, X, [1, 10], y=y, criterion=criterion, cv=3).scores.shape[0] == 2
    assert select_n_components(model, X, [1, 10], y=y, cv=3).n_components == 10


def test_weights_of_rows_count_as_repetitions():
    X = counts_of(40)
    weights = np.random.default_rng(0).integers(1, 4, size=40)
    for model in (DiscreteComponentAnalysis(3, random_state=0), AspectModel(3, random_state=0)):
        weighted = model.fit(X, sample_weight=weights).components_
        repeated = model.fit(np.repeat(X, weights, axis=0)).components_
        assert weighted == pytest.approx(repeated, abs=1e-6)


def test_texts_that_cannot_be_counted_are_named():
    model = DiscreteComponentAnalysis(2, max_iter=3)
    frame = pd.DataFrame({"year": [1, 2], "title": ["rain and wind", "bread and jam"]})
    with pytest.raises(ValueError, match=r"Column 'title' holds texts, such as 'rain and wind', .* X\['title'\]"):
        model.fit(frame)
    with pytest.raises(ValueError, match=r"Column 'title' holds texts"):
        model.fit(pl.from_pandas(frame))
    with pytest.raises(ValueError, match="X holds texts, but row 0 is None: give an empty text for it"):
        model.fit([None, "rain and wind"])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", [DiscreteComponentAnalysis, PLSA, AspectModel])
def test_more_components_than_rows_raise_a_warning(kind):
    with pytest.warns(UserWarning, match="n_components=5 is more than the 4 different rows of X"):
        kind(5, max_iter=3).fit(np.random.default_rng(0).poisson(3.0, size=(4, 6)))


def test_a_bound_is_not_compared_by_likelihood_ratios():
    X = np.random.default_rng(0).poisson(3.0, size=(20, 6))
    model = DiscreteComponentAnalysis(max_iter=500, tol=1e-3, random_state=0)
    with pytest.raises(ValueError, match=r"compares log-likelihoods, and .* has a bound here: use .*'completion'"):
        select_n_components(model, X, [1, 2], criterion="bootstrap")
