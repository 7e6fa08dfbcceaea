"""Hidden Markov chains beyond the paper's check: sequences, missing values, weights, extremes, peers' parameters."""

from itertools import pairwise, product

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy.stats import multivariate_normal
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewer.latent import HiddenMarkov, plot_states, select_n_components
from fewer.latent.chains._emissions import GaussianEmission
from fewer.latent.chains._forward_backward import Chain, _with_logarithms, forward_backward, most_likely_states
from tolerances import rounding

CHAIN = Chain(np.array([0.6, 0.4]), np.array([[0.95, 0.05], [0.1, 0.9]]))


def regimes(n_rows=400, n_columns=2, seed=0):
    """Two normal regimes and which of them each row is in."""
    rng = np.random.default_rng(seed)
    states = np.empty(n_rows, dtype=int)
    for t in range(n_rows):
        states[t] = rng.choice(2, p=CHAIN.start if t == 0 else CHAIN.transition[states[t - 1]])
    return rng.normal(size=(n_rows, n_columns)) + 3.0 * states[:, None], states


def quick(n_components=2, **options):
    return HiddenMarkov(n_components, **({"n_init": 2, "tol": 1e-6, "random_state": 0} | options))


def agreement(found, states):
    return max(np.mean(found == states), np.mean(found != states))


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_em_climbs_and_finds_the_regimes(covariance_type, missing):
    X, states = regimes()
    X[np.random.default_rng(1).random(X.shape) < missing] = np.nan
    model = quick(covariance_type=covariance_type, n_init=1, tol=1e-8).fit(X)
    path = model.objective_path_
    assert np.diff(path).min() > -rounding(X.size, np.abs(path).max(), condition=10)
    assert agreement(model.predict(X), states) > 0.95
    stay = np.sort(np.diag(model.transition_matrix_))
    assert np.abs(stay - [0.9, 0.95]).max() < 0.06  # 2.5 standard errors of about 25 changes


@pytest.mark.parametrize("emission", ["categorical", "bernoulli", "poisson"])
def test_em_climbs_for_discrete_rows(emission):
    _, states = regimes(600)
    rng = np.random.default_rng(2)
    if emission == "poisson":
        X = rng.poisson(np.where(states, 8.0, 2.0)[:, None], size=(600, 2)).astype(float)
    else:
        X = (rng.random((600, 6)) < np.where(states, 0.85, 0.2)[:, None]).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = quick(emission=emission).fit(X)
    path = model.objective_path_
    assert np.diff(path).min() > -rounding(X.size, np.abs(path).max(), condition=10)
    assert agreement(model.predict(X), states) > 0.95


def test_missing_entries_of_a_full_covariance_leave_the_density_of_the_others():
    X, _ = regimes(50, 3)
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    X[7] = np.nan
    emission = GaussianEmission("full", 1e-6)
    emission.learn(X)
    rows = emission.prepare(X)
    parameters = emission.start(rows, 2, np.random.RandomState(0), False)
    found = emission.log_densities(rows, parameters)
    told = emission.attributes(parameters)
    for row, k in product(range(50), range(2)):
        seen = ~np.isnan(X[row])
        mean, covariance = told["means_"][k][seen], told["covariances_"][k][np.ix_(seen, seen)]
        expected = multivariate_normal.logpdf(X[row, seen], mean, covariance) if seen.any() else 0.0
        assert (found + emission.log_units(rows)[:, None])[row, k] == pytest.approx(expected, abs=1e-9)


def test_a_row_without_values_keeps_the_time_step():
    logs = np.log([[0.9, 0.1], [1.0, 1.0], [0.2, 0.8]])
    with_gap = forward_backward(logs, CHAIN, np.array([0, 3]))
    two_steps = Chain(CHAIN.start, CHAIN.transition @ CHAIN.transition)
    without = forward_backward(logs[[0, 2]], two_steps, np.array([0, 2]))
    assert np.abs(with_gap.posteriors[[0, 2]] - without.posteriors).max() < rounding(10)
    assert with_gap.scores.sum() == pytest.approx(without.scores.sum(), abs=rounding(10))


def test_a_probability_beyond_floating_point_numbers_is_done_with_logarithms():
    # Only state 1 explains the last row, and only a step of probability e^-900 leads there.
    logs = np.array([[0.0, -900.0], [0.0, -2000.0], [-3000.0, 0.0]])
    chain = Chain(np.array([0.5, 0.5]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    found = forward_backward(logs, chain, np.array([0, 3]))
    paths = np.array([0.0 + 0.0 - 3000.0, -900.0 - 2000.0 + 0.0]) + np.log(0.5)
    assert found.scores.sum() == pytest.approx(np.logaddexp(*paths), rel=rounding(3))
    assert found.posteriors[:, 1] == pytest.approx(1.0)
    assert most_likely_states(logs, chain, np.array([0, 3])).tolist() == [1, 1, 1]


def test_logarithms_and_scaling_agree():
    rng = np.random.default_rng(3)
    chain = Chain(rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4), size=4))
    logs = rng.normal(scale=3, size=(50, 4))
    indptr = np.array([0, 20, 20, 50])
    scaled = forward_backward(logs, chain, indptr)
    posteriors, counts, scores = np.empty_like(logs), np.zeros((4, 4)), np.empty(50)
    _with_logarithms(logs, chain.start, chain.transition, 0, 20, np.empty_like(logs), posteriors, counts, scores)
    assert np.abs(posteriors[:20] - scaled.posteriors[:20]).max() < rounding(20 * 16, condition=10)
    assert np.abs(scores[:20] - scaled.scores[:20]).max() < rounding(20 * 16, condition=100)


def test_viterbi_is_the_best_of_all_paths():
    rng = np.random.default_rng(4)
    logs = np.log(rng.exponential(size=(6, 2)))

    def worth(path):
        steps = sum(np.log(CHAIN.transition[i, j]) for i, j in pairwise(path))
        return np.log(CHAIN.start[path[0]]) + steps + logs[np.arange(6), path].sum()

    best = max(product(range(2), repeat=6), key=lambda path: worth(np.array(path)))
    assert most_likely_states(logs, CHAIN, np.array([0, 6])).tolist() == list(best)


def test_sequences_are_independent_and_their_rows_may_be_apart():
    X, _ = regimes(200)
    groups = np.repeat(["b", "a", "c"], [80, 50, 70])
    model = quick().fit(X, groups=groups)
    one_by_one = np.concatenate([model.predict_proba(X[groups == each]) for each in ("b", "a", "c")])
    assert np.abs(model.predict_proba(X, groups=groups) - one_by_one).max() == 0
    mixed = np.argsort(np.random.default_rng(0).random(200), kind="stable")
    mixed = mixed[np.lexsort((mixed, groups[mixed]))]  # in time order within sequences
    mixed = np.concatenate([mixed[0::2], mixed[1::2]])
    mixed = mixed[np.argsort(mixed % 7, kind="stable")]
    by_time = np.empty(200, dtype=int)
    for each in ("a", "b", "c"):
        places = np.flatnonzero(groups[mixed] == each)
        by_time[places] = np.sort(mixed[places])
    shuffled = model.predict_proba(X[by_time], groups=groups[by_time])
    assert np.abs(shuffled - model.predict_proba(X, groups=groups)[by_time]).max() == 0
    assert np.array_equal(model.predict(X[by_time], groups=groups[by_time]), model.predict(X, groups=groups)[by_time])


def test_a_sequence_of_weight_two_is_the_sequence_twice():
    X, _ = regimes(150)
    groups = np.repeat([0, 1, 2], 50)
    weights = np.array([2.0, 1.0, 0.0])[groups]
    weighted, twice = (quick(n_init=1, reg_covar=0, tol=1e-13) for _ in range(2))
    again = np.concatenate([X[:50], X[:100]])
    weighted.fit(X, sample_weight=weights, groups=groups)
    twice.fit(again, groups=groups)
    assert np.abs(weighted.means_ - twice.means_).max() < 1e-6
    assert np.abs(weighted.transition_matrix_ - twice.transition_matrix_).max() < 1e-6
    with pytest.raises(ValueError, match="changes within a sequence, at row 1"):
        quick().fit(X, sample_weight=np.arange(150))


def test_text_is_taken_as_it_is_and_unseen_categories_count_as_missing():
    _, states = regimes(300)
    rng = np.random.default_rng(5)
    words = np.where(rng.random(300) < 0.9, states, 1 - states)
    frame = {"sky": np.array(["clear", "rain"], dtype=object)[words], "wind": rng.choice(["east", "west"], 300)}
    frame["sky"][[5, 6]] = None
    for library in (pd, pl):
        table = library.DataFrame(frame)
        model = quick(emission="categorical").fit(table)
        assert agreement(model.predict(table), states) > 0.85
        assert [list(each) for each in model.categories_] == [["clear", "rain"], ["east", "west"]]
        drawn, hidden = model.sample(20, random_state=0)
        assert set(drawn[:, 0]) <= {"clear", "rain"}
        assert len(hidden) == 20
        new = library.DataFrame({"sky": ["snow", "rain"], "wind": ["east", "west"]})
        missing = library.DataFrame({"sky": [None, "rain"], "wind": ["east", "west"]})
        with pytest.warns(UserWarning, match="'sky' holds 'snow'|0 holds 'snow'"):
            found = model.predict_proba(new)
        assert np.array_equal(found, model.predict_proba(missing))


@pytest.mark.parametrize(
    ("emission", "value", "complaint"),
    [("bernoulli", 2.0, "takes 0 and 1"), ("poisson", 1.5, "takes counts"), ("poisson", -1.0, "takes counts")],
)
def test_values_that_a_distribution_cannot_have_are_refused(emission, value, complaint):
    X = np.zeros((20, 2))
    X[::2] = 1
    X[4, 1] = value
    with pytest.raises(ValueError, match=f"Column 1 holds {value:g}.*{complaint}"):
        quick(emission=emission).fit(X)


@pytest.mark.parametrize("criterion", ["bic", "aic", "cv"])
def test_the_number_of_states_is_chosen(criterion):
    X, _ = regimes(400)
    groups = np.repeat(np.arange(8), 50)
    choice = select_n_components(quick(tol=1e-4), X, [1, 2, 3], criterion=criterion, groups=groups, cv=4)
    assert choice.n_components == 2 or (criterion != "bic" and choice.n_components_simplest == 2)
    model = quick().fit(X, groups=groups)
    if criterion != "cv":
        assert getattr(model, criterion)(X, groups=groups) == pytest.approx(
            -2 * model.score_samples(X, groups=groups).sum()
            + {"bic": np.log(400), "aic": 2.0}[criterion] * model.n_parameters_
        )
    assert model.n_parameters_ == 1 + 2 + 8


def test_groups_go_through_a_pipeline_and_cross_validation():
    X, _ = regimes(300)
    groups = np.repeat(np.arange(6), 50)
    with sklearn.config_context(enable_metadata_routing=True):
        model = quick(tol=1e-4).set_fit_request(groups=True).set_score_request(groups=True)
        scores = cross_val_score(make_pipeline(StandardScaler(), model), X, cv=GroupKFold(3), params={"groups": groups})
    assert np.ptp(scores) < 0.5


def test_draws_follow_the_model():
    X, _ = regimes(2000)
    model = quick().fit(X)
    drawn, states = model.sample(4000, random_state=1)
    again = np.bincount(states, minlength=2) / 4000
    assert np.abs(again - model.weights_).max() < 0.1
    assert np.abs(drawn[states == 0].mean(axis=0) - model.means_[0]).max() < 0.15
    changes = np.mean(states[1:] != states[:-1])
    expected = model.weights_ @ (1 - np.diag(model.transition_matrix_))
    assert changes == pytest.approx(expected, abs=4 * np.sqrt(expected / 4000))


def test_the_figure_draws_one_sequence():
    X, _ = regimes(100)
    groups = np.repeat(["first", "second"], 50)
    frame = pd.DataFrame(X, columns=["pulse", "breath"])
    model = quick().fit(frame, groups=groups)
    figure = plot_states(model, frame, column="breath", groups=groups, sequence="second")
    assert figure.layout.yaxis.title.text == "breath"
    shares = [trace for trace in figure.data if trace.yaxis == "y2"]
    assert np.sum([trace.y for trace in shares], axis=0) == pytest.approx(np.ones(50))
    dots = [trace for trace in figure.data if trace.mode == "markers"]
    assert sum(len(trace.x) for trace in dots) == 50
    with pytest.raises(ValueError, match="no column 'puls'"):
        plot_states(model, frame, column="puls", groups=groups)
    with pytest.raises(ValueError, match="is not one of groups"):
        plot_states(model, frame, groups=groups, sequence="third")


def test_a_constant_column_and_short_sequences_do_no_harm():
    X, states = regimes(200)
    X = np.column_stack([X, np.ones(200)])
    for covariance_type in ("diag", "full"):
        model = quick(covariance_type=covariance_type).fit(X)
        assert agreement(model.predict(X), states) > 0.95
    alone = quick(n_init=1).fit(X[:, :2], groups=np.arange(200))
    assert np.abs(alone.start_probabilities_ - alone.weights_).max() < 1e-3


def test_an_unseen_word_that_begins_like_a_known_one_is_unseen():
    model = quick(emission="categorical").fit(np.array([["a"], ["b"]] * 20))
    with pytest.warns(UserWarning, match="holds 'abc', which was not seen in fit"):
        found = model.predict_proba(np.array([["abc"], ["b"]]))
    assert found.shape == (2, 2)


@pytest.mark.parametrize("covariance_type", ["full", "diag", "spherical"])
def test_a_state_without_rows_keeps_a_finite_covariance(covariance_type):
    model = quick(covariance_type=covariance_type).fit(np.ones((50, 2)))
    assert np.abs(model.covariances_).max() < 1e6
    assert np.isfinite(model.score(np.ones((5, 2))))


def test_errors_name_the_column_of_a_frame():
    with pytest.raises(ValueError, match="Column 'visits' holds -1"):
        quick(emission="poisson").fit(pd.DataFrame({"age": [1.0, 2, 3, 4], "visits": [0.0, 1, -1, 2]}))


def test_plot_states_names_a_wrong_model_and_a_wrong_column():
    from fewer.latent import LatentProfile

    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(TypeError, match="not LatentProfile"):
        plot_states(LatentProfile(2, n_init=1, random_state=0).fit(X), X)
    model = HiddenMarkov(2, n_init=1, max_iter=5, tol=1.0, random_state=0).fit(X)
    for table in (X, pd.DataFrame(X, columns=["a", "b"])):
        with pytest.raises(ValueError, match="no column 2: X has 2 columns"):
            plot_states(model, table, column=2)
