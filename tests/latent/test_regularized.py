"""Posterior regularization beyond the paper's checks: constraints, solvers, frames, labels, errors."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fewer.latent import (
    AtMostCount,
    HiddenMarkov,
    L1LinfSparsity,
    LinearConstraint,
    PosteriorRegularizedHMM,
    PosteriorRegularizedMixture,
    ProportionConstraint,
    kl_project,
    l1linf_score,
    plot_states,
)
from tolerances import rounding


def distributions(n_rows=40, n_components=3, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(n_components), size=n_rows)


def bags(seed=0, n_rows=100):
    """A frame with two bags, its true groups, and what is known of them."""
    rng = np.random.default_rng(seed)
    bag = np.repeat(["A", "B"], n_rows)
    truth = (rng.random(2 * n_rows) < np.where(bag == "A", 0.8, 0.2)).astype(int)
    x2 = 3 * rng.choice([-1, 1], 2 * n_rows) + 0.5 * rng.normal(size=2 * n_rows)
    table = {"x1": 2.0 * truth - 1 + 0.5 * rng.normal(size=2 * n_rows), "x2": x2, "bag": bag}
    known = [ProportionConstraint(("bag", "A"), 1, lower=0.75), ProportionConstraint(("bag", "B"), 1, upper=0.25)]
    return table, truth, known


@pytest.mark.parametrize("norm", ["l2", "l1", "linf"])
@pytest.mark.parametrize("slack", ["none", "constraint", "penalty"])
def test_the_projection_is_that_of_a_general_solver(slack, norm):
    p = distributions(5)
    rng = np.random.default_rng(1)
    phi = rng.normal(size=(2, 5, 3))
    b = np.einsum("mik,ik->m", phi, p) - [0.8, 0.3]
    strength = {"none": 0, "constraint": 0.2, "penalty": 0.6}[slack]
    constraints = LinearConstraint(phi, b)
    found = kl_project(np.log(p), constraints, slack=slack, slack_strength=strength, norm=norm)
    order = {"l2": 2, "l1": 1, "linf": np.inf}[norm]

    def violation(q):
        return np.maximum(np.einsum("mik,ik->m", phi, q) - b, 0)

    def objective(q):
        kl = np.sum(q * np.log(q / p))
        return kl + (strength * np.linalg.norm(violation(q), order) if slack == "penalty" else 0)

    assert found.converged
    assert found.kl + found.penalty == pytest.approx(objective(found.q), abs=1e-8)
    allowed = {"none": 1e-6, "constraint": strength + 1e-6, "penalty": np.inf}[slack]
    assert np.linalg.norm(violation(found.q), order) <= allowed
    assert abs(found.dual_gap) < 1e-6  # weak duality: nothing is better
    for _ in range(200):  # and nothing nearby is
        other = found.q * np.exp(0.05 * rng.normal(size=found.q.shape))
        other /= other.sum(axis=1, keepdims=True)
        if np.linalg.norm(violation(other), order) <= allowed:
            assert objective(other) >= objective(found.q) - 1e-6


def test_equations_hold_and_their_dual_variables_have_any_sign():
    p = distributions()
    shares = p.mean(axis=0)
    wanted = shares + np.array([0.1, -0.1, 0])
    found = kl_project(np.log(p), [ProportionConstraint(np.arange(40), k, wanted[k], wanted[k]) for k in (0, 1)])
    assert found.q.mean(axis=0) == pytest.approx(wanted, abs=1e-7)
    assert found.lambda_[0] < 0 < found.lambda_[1]
    one = kl_project(np.log(p), LinearConstraint(np.eye(3)[None, [0] * 40] / 40, wanted[0], equality=True))
    assert one.q.mean(axis=0)[0] == pytest.approx(wanted[0], abs=1e-9)


def test_counts_and_operators():
    p = distributions()
    count = kl_project(np.log(p), AtMostCount(np.arange(10), 2, 1.0))
    assert count.q[:10, 2].sum() == pytest.approx(1.0, abs=1e-9)
    # Nothing constrains these rows: the exponential of a logarithm, over a sum of three.
    assert np.abs(count.q[10:] - p[10:]).max() < rounding(3)

    class Operator:
        b = np.array([1.0])

        def apply(self, q):
            return q[:10, 2].sum()

        def adjoint(self, dual):
            shift = np.zeros((40, 3))
            shift[:10, 2] = dual[0]
            return shift

    assert np.abs(kl_project(np.log(p), Operator()).q - count.q).max() < 1e-9


def test_a_function_that_infers_is_taken_for_rows_that_depend_on_each_other():
    # Two rows that are equal: (0, 0) with probability .7, (1, 1) with .3.
    def infer(shift):
        shift = np.broadcast_to(shift, (2, 2))
        logs = np.log([0.7, 0.3]) - shift.sum(axis=0)
        z = np.exp(logs).sum()
        return np.tile(np.exp(logs) / z, (2, 1)), float(np.log(z))

    found = kl_project(infer, ProportionConstraint([0], 0, upper=0.5))
    assert found.q == pytest.approx(np.full((2, 2), 0.5), abs=1e-8)
    assert found.kl == pytest.approx(0.5 * np.log(0.5 / 0.7) + 0.5 * np.log(0.5 / 0.3), abs=1e-8)


@pytest.mark.parametrize(
    ("constraints", "complaint"),
    [
        (LinearConstraint(np.ones((40, 3)), -1), "at most -1, and it is between 40 and 40"),
        ([ProportionConstraint([0, 1], 0, 0.9), ProportionConstraint([0, 1], 1, 0.5)], "contradict each other"),
        (
            [ProportionConstraint([0, 1], 0, 0.9), ProportionConstraint([0, 1], 1, 0.5), L1LinfSparsity(np.ones(40))],
            "No distribution meets the constraints",
        ),
    ],
)
def test_an_empty_set_is_an_error_that_suggests_a_penalty(constraints, complaint):
    with pytest.raises(ValueError, match=complaint) as caught:
        kl_project(np.log(distributions()), constraints)
    assert "slack='penalty'" in str(caught.value)
    kl_project(np.log(distributions()), constraints, slack="penalty", slack_strength=2.0)


@pytest.mark.parametrize(
    ("constraint", "complaint"),
    [
        (lambda: ProportionConstraint([0], 0, 0.6, 0.5), "lower <= upper"),
        (lambda: ProportionConstraint([0], 7, 0.5), "component 7, and the components are numbered 0 to 2"),
        (lambda: ProportionConstraint([99], 0, 0.5), "row 99, and the table has 40 rows"),
        (lambda: ProportionConstraint(np.ones(3, dtype=bool), 0, 0.5), "mask of 3 rows"),
        (lambda: ProportionConstraint(np.zeros(40, dtype=bool), 0, 0.5), "no row at all"),
        (lambda: ProportionConstraint(("bag", "A"), 0, 0.5), "names the column 'bag', and there is no frame"),
        (lambda: LinearConstraint(np.ones((2, 3)), 1), "rows and components are"),
        (lambda: L1LinfSparsity(np.ones(3)), "there are 40 rows"),
        (lambda: "at least half", "constraints must be"),
    ],
)
def test_constraints_that_make_no_sense_are_refused(constraint, complaint):
    with pytest.raises((ValueError, TypeError), match=complaint):
        kl_project(np.log(distributions()), [constraint()])


@pytest.mark.parametrize("library", [pd, pl])
def test_columns_that_constraints_name_are_no_data(library):
    table, truth, known = bags()
    frame = library.DataFrame(table)
    model = PosteriorRegularizedMixture(2, known, n_init=2, random_state=0).fit(frame)
    assert list(model.feature_names_in_) == ["x1", "x2"]
    assert np.mean(model.predict(frame) == truth) > 0.93
    bare = library.DataFrame({name: table[name] for name in ("x1", "x2")})
    assert np.array_equal(model.predict_proba(bare), model.predict_proba(frame))  # new rows need no bag
    assert model.violation_ < 1e-6
    assert model.constraint_violation(frame) == pytest.approx(model.model_violation_, abs=1e-9)
    with pytest.raises(ValueError, match=r"names the column 'bag', which X does not have. The columns are: 'x1', 'x2'"):
        PosteriorRegularizedMixture(2, known).fit(bare)


def test_predictions_with_q_meet_the_constraints_on_new_rows():
    table, _, known = bags()
    model = PosteriorRegularizedMixture(2, known, predict_with="q", n_init=1, random_state=0).fit(pd.DataFrame(table))
    new = pd.DataFrame(bags(seed=1)[0])
    new["bag"] = new["bag"].to_numpy()[::-1]  # the bags have changed places, so that the model alone is wrong on them
    in_bag = (new["bag"] == "A").to_numpy()
    assert model.predict_proba(new)[in_bag, 1].mean() >= 0.75 - 1e-6
    model.set_params(predict_with="p")
    assert model.predict_proba(new)[in_bag, 1].mean() < 0.4
    assert model.constraint_violation(new) > 0.3
    by_number = PosteriorRegularizedMixture(
        2, ProportionConstraint(np.arange(50), 1, 0.5), predict_with="q", n_init=1, random_state=0
    ).fit(new[["x1", "x2"]])
    with pytest.raises(ValueError, match="rows of the training table"):
        by_number.predict(new[["x1", "x2"]])


def test_known_labels_keep_their_component():
    table, truth, _ = bags()
    X = np.column_stack([table["x1"], table["x2"]])
    labels = np.where(np.arange(200) % 4 == 0, truth, -1)
    model = PosteriorRegularizedMixture(2, n_init=3, random_state=0).fit(X, labels=labels)
    assert np.mean(model.predict(X) == truth) > 0.93
    known = labels >= 0
    assert np.array_equal(model.q_[known].argmax(axis=1), labels[known])
    assert model.q_[known].max(axis=1).min() > 1 - rounding(2)
    with pytest.raises(ValueError, match="labels must be numbers of components, 0 to 1"):
        PosteriorRegularizedMixture(2).fit(X, labels=np.full(200, 5))


def test_labels_that_contradict_a_constraint_are_an_error():
    X = np.random.default_rng(0).normal(size=(40, 2))
    constraint = ProportionConstraint(np.arange(10), 1, lower=0.9)
    with pytest.raises(ValueError, match="No distribution meets"):
        PosteriorRegularizedMixture(2, constraint, random_state=0).fit(X, labels=np.where(np.arange(40) < 10, 0, -1))


def test_missing_values_are_left_out_of_the_density():
    table, truth, known = bags(n_rows=200)
    frame = pd.DataFrame(table)
    frame.loc[np.random.default_rng(0).random(400) < 0.1, "x1"] = np.nan
    model = PosteriorRegularizedMixture(2, known, n_init=2, random_state=0).fit(frame)
    observed = frame["x1"].notna().to_numpy()
    assert np.mean(model.predict(frame)[observed] == truth[observed]) > 0.93


@pytest.mark.parametrize("emission", ["bernoulli", "categorical", "poisson"])
def test_other_distributions_are_steered_too(emission):
    _, truth, _ = bags(n_rows=200)
    rng = np.random.default_rng(2)
    X = (rng.random((400, 8)) < np.where(truth, 0.8, 0.3)[:, None]).astype(float)
    shares = [ProportionConstraint(np.arange(200), 1, 0.75), ProportionConstraint(np.arange(200, 400), 1, 0, 0.25)]
    model = PosteriorRegularizedMixture(2, shares, emission=emission, n_init=2, random_state=0).fit(X)
    assert np.mean(model.predict(X) == truth) > 0.88
    assert model.n_parameters_ == 1 + 16


def test_a_chain_is_steered_and_drawn():
    rng = np.random.default_rng(0)
    states = np.repeat([0, 1, 0, 1], 100)
    X = rng.normal(size=(400, 1)) + 2.0 * states[:, None]
    first = PosteriorRegularizedHMM(
        2, ProportionConstraint(np.arange(100), 1, upper=0.1), emission="gaussian", random_state=0
    ).fit(X)
    other = PosteriorRegularizedHMM(
        2, ProportionConstraint(np.arange(100), 0, upper=0.1), emission="gaussian", random_state=0
    ).fit(X)
    assert np.mean(first.predict(X) == states) > 0.95
    assert np.mean(other.predict(X) == 1 - states) > 0.95
    assert plot_states(first, X).data[0].name == "state 0"
    groups = np.tile(np.arange(2), 200)
    with pytest.raises(ValueError, match="next to each other"):
        PosteriorRegularizedHMM(2, AtMostCount([0], 0), emission="gaussian").fit(X, groups=groups)


def test_without_constraints_it_is_a_hidden_markov_model():
    rng = np.random.default_rng(0)
    X = (rng.random((300, 3)) < np.where(np.arange(300) % 60 < 30, 0.9, 0.2)[:, None]).astype(float)
    options = {"emission": "bernoulli", "tol": 1e-12, "n_init": 2, "max_iter": 2000, "random_state": 0}
    ours = PosteriorRegularizedHMM(2, init_em_iter=0, **options).fit(X)
    assert ours.score(X) == pytest.approx(HiddenMarkov(2, **options).fit(X).score(X), abs=1e-8)


def test_group_sparsity_of_small_groups_is_left_alone():
    p = distributions()
    groups = np.repeat([0, 1], [30, 10])
    found = kl_project(np.log(p), L1LinfSparsity(groups, alpha=50))
    assert np.abs(found.q[30:] - p[30:]).max() < rounding(3)
    assert l1linf_score(found.q[:30], groups[:30]) < l1linf_score(p[:30], groups[:30])
    assert l1linf_score(p, np.arange(40)) == pytest.approx(1.0)


def test_constraints_and_penalties_combine():
    p = distributions()
    known = ProportionConstraint(np.arange(40), 0, lower=0.6)
    found = kl_project(np.log(p), [known, L1LinfSparsity(np.zeros(40), alpha=1.0)], max_iter=5000)
    assert found.converged
    assert found.q[:, 0].mean() == pytest.approx(0.6, abs=1e-6)
    alone = kl_project(np.log(p), known)
    assert l1linf_score(found.q, np.zeros(40)) < l1linf_score(alone.q, np.zeros(40))


def test_the_projection_takes_what_single_rows_exclude():
    p = np.array([[1.0, 0.0], [0.5, 0.5]])
    found = kl_project(p, AtMostCount([0, 1], 0, 1.2), log=False)
    assert found.q == pytest.approx(np.array([[1, 0], [0.2, 0.8]]), abs=1e-6)
    with pytest.raises(ValueError, match="negative probabilities"):
        kl_project(-p, AtMostCount([0, 1], 0, 1.2), log=False)


def test_what_is_wrong_with_a_constraint_is_said_before_the_fit():
    table, _, known = bags()
    frame = pd.DataFrame(table)
    with pytest.raises(ValueError, match=r"'bagg', which X does not have. Did you mean 'bag'"):
        PosteriorRegularizedMixture(2, ProportionConstraint(("bagg", "A"), 1, 0.5)).fit(frame)
    with pytest.raises(ValueError, match=r"name all columns of X \(bag\)"):
        PosteriorRegularizedHMM(2, L1LinfSparsity("bag")).fit(frame[["bag"]])
    with pytest.raises(ValueError, match=r"needs numbers, .* the column holds 'A'"):
        PosteriorRegularizedMixture(2, LinearConstraint("bag", 3.0, component=0)).fit(frame)
    with pytest.raises(ValueError, match="alpha and min_count of L1LinfSparsity must be at least 0"):
        PosteriorRegularizedMixture(2, L1LinfSparsity("bag", alpha=-1.0)).fit(frame)
    with pytest.raises(ValueError, match="slack_strength=0 has no effect"):
        PosteriorRegularizedMixture(2, known, slack="penalty").fit(frame)
