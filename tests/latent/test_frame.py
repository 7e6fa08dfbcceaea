"""The frame of the room: starts, choice of size, matching, stability, coherence, figures."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fewer.datasets import make_aspects, make_bars
from fewer.latent import (
    PLSA,
    BagOfPrototypes,
    DiscreteComponentAnalysis,
    MixtureDiscriminantAnalysis,
    SharedMixtureDiscriminant,
    aspect_report,
    component_coherence,
    component_stability,
    match_components,
    plot_rows,
    select_n_components,
    top_features,
)
from fewer.latent._latent_model import Stride, accelerated, climb
from tolerances import rounding


def three_topics(n_rows=150, n_tokens=60, seed=0):
    rng = np.random.default_rng(seed)
    topics = np.kron(np.eye(3), np.full(10, 0.1))
    return np.array([rng.multinomial(n_tokens, topics[row % 3]) for row in range(n_rows)])


def test_a_climb_ends_by_tolerance_by_number_or_by_a_callback():
    def step(x):
        return x + 1, -1 / x

    assert climb(1.0, step, max_iter=3, tol=0).state == 4
    assert not climb(1.0, step, max_iter=3, tol=0).converged
    assert climb(1.0, step, max_iter=100, tol=0.5).converged
    assert len(climb(1.0, step, max_iter=100, tol=0.5, min_iter=10).path) == 10
    assert climb(1.0, step, max_iter=100, tol=0, on_step=lambda: True).stopped


def test_an_accelerated_step_never_lowers_the_objective_and_needs_fewer_iterations():
    # EM of the share of two known coins, close together: it converges slowly.
    heads = np.random.default_rng(0).binomial(5, np.where(np.arange(400) < 100, 0.45, 0.6), 400)
    likelihoods = np.array([[0.45**h * 0.55 ** (5 - h), 0.6**h * 0.4 ** (5 - h)] for h in heads])

    def step(weights):
        joint = likelihoods * weights
        totals = joint.sum(axis=1)
        return (joint / totals[:, None]).mean(axis=0), float(np.log(totals).sum())

    def settled(weights):
        weights = np.maximum(weights, 1e-10)
        return weights / weights.sum()

    start = np.array([0.9, 0.1])
    plain = climb(start, step, max_iter=5000, tol=1e-13)
    quick = climb(Stride(start), accelerated(step, settled), max_iter=5000, tol=1e-13)
    assert (np.diff(quick.path) >= -1e-9).all()
    assert 3 * len(quick.path) < len(plain.path) / 3
    np.testing.assert_allclose(quick.state.vector, plain.state, atol=1e-4)


def test_the_best_of_all_starts_is_kept():
    X = make_bars(150, random_state=0).X
    model = DiscreteComponentAnalysis(10, n_init=4, max_iter=30, tol=1e-3, random_state=0).fit(X)
    assert len(model.objectives_) == 4
    assert len(set(model.objectives_)) == 4
    assert model.objective_path_[-1] == model.objectives_.max()
    assert model.n_iter_ == len(model.objective_path_)
    assert 1 <= model.n_best_starts_ <= 4
    log_likelihood = model.score_samples(X).sum()
    assert model.aic(X) == pytest.approx(2 * model.n_parameters_ - 2 * log_likelihood)
    assert model.bic(X) - model.aic(X) == pytest.approx(model.n_parameters_ * (np.log(150) - 2))
    assert model.bic(X, sample_weight=np.full(150, 2)) - model.aic(X, sample_weight=np.full(150, 2)) == pytest.approx(
        model.n_parameters_ * (np.log(300) - 2)
    )


def test_the_figure_reached_is_told_where_a_fit_does_not_converge():
    with pytest.warns(ConvergenceWarning, match="of its size after 2 iterations; raise max_iter or tol"):
        DiscreteComponentAnalysis(3, max_iter=2, tol=0).fit(three_topics())


@pytest.mark.parametrize(
    "model", [PLSA(random_state=0), DiscreteComponentAnalysis(model="dm", random_state=0)], ids=str
)
def test_held_out_tokens_tell_the_number_of_topics(model):
    choice = select_n_components(model, three_topics(), [1, 2, 3], cv=3)
    assert choice.criterion == "completion"
    assert choice.n_components == 3
    assert choice.means[2] - choice.means[0] > 0.5
    assert "3 components have the best" in choice.reading
    assert choice.plot().data


def test_criteria_tell_the_number_of_groups():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) + 6 * rng.choice([-1, 1], size=(300, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    shared = SharedMixtureDiscriminant(n_init=3, random_state=0)
    for criterion in ("bic", "aic", "cv", "auto"):
        choice = select_n_components(shared, X, [2, 4], y=y, criterion=criterion)
        assert choice.n_components == 4, criterion
    separate = MixtureDiscriminantAnalysis(n_init=3, random_state=0)
    choice = select_n_components(separate, X, [1, 2, 5], y=y, criterion="bic")
    assert choice.n_components == 2
    model = separate.set_params(n_subclasses=2).fit(X, y)
    assert model.n_parameters_ == 2 * 1 + 2 * 4 + 3
    assert choice.means[1] == pytest.approx(2 * model.score_samples(X, y).sum() - np.log(300) * model.n_parameters_)


def test_wrong_criteria_are_refused():
    model = SharedMixtureDiscriminant()
    with pytest.raises(ValueError, match="is for models of counts"):
        select_n_components(model, np.ones((9, 2)), [2], criterion="completion")
    with pytest.raises(ValueError, match="criterion must be one of"):
        select_n_components(model, np.ones((9, 2)), [2], criterion="elbow")
    with pytest.raises(ValueError, match="numbers from 1 on"):
        select_n_components(model, np.ones((9, 2)), [0])


def test_components_are_matched_whatever_their_order():
    rng = np.random.default_rng(0)
    first = rng.dirichlet(np.ones(6), size=4)
    order = rng.permutation(4)
    match = match_components(first, first[order])
    assert np.array_equal(order[match.partners], np.arange(4))
    assert match.distances == pytest.approx(0)
    cosine = match_components(first[:2], -first, metric="cosine")
    assert cosine.distances == pytest.approx(0, abs=rounding(6))  # one less a product of vectors of length one
    with pytest.raises(ValueError, match="cannot be matched"):
        match_components(first, first[:2])


def test_only_components_that_are_there_come_back():
    X = three_topics()
    found = component_stability(PLSA(3, random_state=0), X, n_repeats=12)
    assert found.frequencies == pytest.approx(1)
    assert found.stable.all()
    assert (found.intervals[:, 0] > 0.7).all()
    noise = np.random.default_rng(0).poisson(2, size=(150, 30))
    nothing = component_stability(PLSA(3, early_stopping=False, random_state=0), noise, n_repeats=12, threshold=0.8)
    assert nothing.frequencies.max() < 0.5
    assert not nothing.stable.any()
    assert "0 of 3 components come back" in nothing.reading
    assert found.plot().data


def test_topics_are_coherent_and_random_words_are_not():
    X = three_topics(n_tokens=15)
    model = PLSA(3, random_state=0).fit(X)
    good = component_coherence(model, X, n_features=8)
    bad = component_coherence(np.random.default_rng(0).dirichlet(np.ones(30), size=3), X, n_features=8)
    assert good.min() > bad.max()
    assert good.min() > 0
    with pytest.raises(ValueError, match="have no pairs"):
        component_coherence(model, X, n_features=1)


def test_top_features_are_those_that_a_component_has_more_of():
    X = three_topics()
    X = np.column_stack([X, np.full(len(X), 20)])  # a word that is everywhere
    model = PLSA(3, early_stopping=False, random_state=0, n_init=3).fit(X)
    found = top_features(model, n_features=5)
    assert all("x30" not in names for names in found.names)
    assert found.lifts.min() > 1.5
    assert found.plot().data


def test_rows_are_drawn_by_components():
    X, y, _ = make_aspects(120, 100, random_state=0)
    model = PLSA(4, random_state=0).fit(X)
    figure = plot_rows(model, X, y=y, n_rows=40)
    assert len(figure.data) == 4
    assert sum(np.asarray(bar.y) for bar in figure.data) == pytest.approx(1)
    report = aspect_report(model, X, y)
    assert 1 <= report.effective_number <= 4
    assert report.top_rows.shape == (4, 10)
    assert report.plot_rows(y=y).data
    assert report.precision.plot().data
    assert set(report.to_dict()) >= {"top_rows", "effective_number"}


def test_prototypes_are_counted_for_each_object():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
    kinds = rng.integers(3, size=300)
    vectors = centres[kinds] + 0.1 * rng.normal(size=(300, 2))
    objects = rng.integers(20, size=300)
    bag = BagOfPrototypes(3, solver="lloyd", random_state=0).fit(vectors)
    counts = bag.transform(vectors, groups=objects)
    expected = np.zeros((20, 3))
    np.add.at(expected, (objects, kinds), 1)
    order = ((bag.cluster_centers_[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert np.array_equal(counts, expected[:, order])
    assert bag.transform(vectors).sum(axis=1) == pytest.approx(1)
