"""Classifiers that are graphs: options, errors and pictures. Their claims are in tests/papers."""

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import CategoricalNB

from fewer.datasets import make_class_trees, make_conditional_link, make_corral
from fewer.graph import BayesNetClassifier, ISMBClassifier, TANClassifier, edge_stability
from fewer.graph.classifiers._blankets import MISSING, BlanketScores, RowProba, all_blankets
from fewer.graph.classifiers._structures import (
    Configurations,
    information_order,
    nearest_candidates,
    pair_information,
)
from fewer.graph.classifiers._tables import FLOOR, children_first, column_coding
from tolerances import rounding

# Of probabilities mixed over fewer than a thousand Markov blankets, with weights that sum to one.
MIXED = rounding(1000)


@pytest.fixture(scope="module")
def link():
    return make_conditional_link(600, random_state=0)


@pytest.fixture(scope="module")
def corral():
    return make_corral()


def test_columns_of_few_values_are_codes_and_others_are_cut():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    X = np.column_stack([rng.choice([2.0, 5.0, 9.0], size=100), rng.normal(size=100) + 4 * y, rng.normal(size=100)])
    coding = column_coding(X, y, discrete="auto", method="mdl", n_bins=5)
    assert coding.discrete.tolist() == [True, False, False]
    assert coding.n_levels.tolist() == [3, 2, 1]
    codes = coding.codes(np.array([[5.0, -9.0, 0.0], [4.0, np.nan, 1e9]]))
    assert codes.tolist() == [[1, 0, 0], [-1, -1, 0]]  # 4 was not seen
    assert column_coding(X, y, discrete=[False] * 3, method="equal_width", n_bins=4).n_levels.tolist() == [4, 4, 4]
    with pytest.raises(ValueError, match="discrete has shape"):
        TANClassifier(discrete=[True]).fit(X, y)


def test_without_edges_it_is_naive_bayes(link):
    X, y, _ = link
    ours = BayesNetClassifier(smoothing="dirichlet", cell_prior=0.5).fit(X, y)
    theirs = CategoricalNB(alpha=0.5, class_prior=(np.bincount(y) + 0.5) / (len(y) + 1)).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=rounding(len(X), condition=10))
    assert ours.n_parameters_ == 1 + 3 * 2
    assert ours.edges_.height == 0


def test_shares_of_zero_become_the_floor_and_rows_sum_to_one():
    X, y = np.array([[0], [0], [1], [2]]), np.array([0, 0, 1, 1])
    table = np.exp(BayesNetClassifier().fit(X, y).network_.tables[0][0])
    np.testing.assert_allclose(table.sum(axis=0), 1)
    assert table[1, 0] == pytest.approx(FLOOR / (1 + 2 * FLOOR))


def test_a_configuration_that_was_not_seen_is_uniform():
    X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 0, 1, 1])
    table = BayesNetClassifier([(0, 1)]).fit(X, y).network_.tables[1]
    np.testing.assert_allclose(np.exp(table[1, :, 0]), 0.5)  # no row of class 0 has a 1 in the first column


def test_edges_by_name_and_edges_that_are_wrong(link):
    X, y, _ = link
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named, placed = BayesNetClassifier([("a", "c"), ("b", "c")]).fit(frame, y), BayesNetClassifier([(0, 2), (1, 2)])
    np.testing.assert_array_equal(named.predict_proba(frame), placed.fit(X, y).predict_proba(X))
    assert named.edges_.select("from", "to").rows() in ([("a", "c"), ("b", "c")], [("b", "c"), ("a", "c")])
    assert named.order_.tolist().index(2) == 2
    for edges in ([(0, 0)], [(0, 7)], [("a", "z")], [(0, 1, 2)]):
        with pytest.raises(ValueError, match="edges holds"):
            BayesNetClassifier(edges).fit(frame, y)
    with pytest.raises(ValueError, match="cycle among columns"):
        BayesNetClassifier([(0, 1), (1, 2), (2, 0)]).fit(X, y)


def test_rows_with_missing_values_are_left_out_of_training(link):
    X, y, _ = link
    table = X.astype(float)
    table[:5, 1] = np.nan
    with pytest.warns(UserWarning, match="5 rows of 600 have missing values, most often in column 1"):
        found = TANClassifier().fit(table, y)
    np.testing.assert_array_equal(found.predict_proba(X), TANClassifier().fit(X[5:], y[5:]).predict_proba(X))
    table[:, 1] = np.nan
    with pytest.raises(ValueError, match="no row is complete"):
        TANClassifier().fit(table, y)
    table[y == 1, 1] = 0
    with pytest.raises(ValueError, match="not every class has a row"):
        TANClassifier().fit(table, y)


def test_all_missing_gives_the_prior(link):
    X, y, _ = link
    model = TANClassifier("cmi").fit(X, y)
    found = model.predict_proba(np.full((1, 3), np.nan))[0]
    # Sums over two levels of each of three columns; the logarithms of their terms are below 10.
    np.testing.assert_allclose(found, np.bincount(y) / len(y), rtol=rounding(6, condition=10))


def test_an_unseen_code_is_summed_out(link):
    X, y, _ = link
    model = TANClassifier("cmi").fit(X, y)
    np.testing.assert_array_equal(model.predict_proba([[0, 7, 1]]), model.predict_proba([[0, np.nan, 1]]))


def test_orders():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    noisy = np.where(rng.random(400) < 0.1, 1 - y, y)
    codes = np.array([rng.integers(2, size=400), noisy, noisy, np.where(rng.random(400) < 0.25, 1 - y, y)])
    table = codes, np.full(4, 2), y, 2
    pairs = pair_information(*table)
    # A copy of a column adds nothing to it, so that the weaker column comes first.
    for kind in ("omi", "omisp"):
        assert information_order(*table, kind, pairs)[:2] in ([1, 3], [2, 3])
    assert information_order(*table, "ocr", pairs)[0] == 1  # of two copies the first
    assert pairs.given_class[1, 2] == pytest.approx(pairs.given_class[1, 1])
    assert np.allclose(pairs.about_class, pairs.about_class.T)


def entropy(*columns):
    """Entropy of the joint levels of some columns, in nats."""
    shares = np.unique(np.array(columns), axis=1, return_counts=True)[1] / len(columns[0])
    return -(shares * np.log(shares)).sum()


def information(y, new, given):
    """I(y; new | given) by the definition."""
    return entropy(new, *given) + entropy(y, *given) - entropy(y, new, *given) - (entropy(*given) if given else 0)


def order_by_hand(codes, y, kind):
    """The orders of the paper, each step by its definition."""
    columns = range(len(codes))
    order = []
    if kind != "ocr":
        pair = max(
            ((i, j) for i in columns for j in columns if i < j),
            key=lambda pair: information(y, codes[pair[0]], []) + information(y, codes[pair[1]], [codes[pair[0]]]),
        )
        order = sorted(pair, key=lambda column: -information(y, codes[column], []))

    def worth(column):
        if kind == "omi":
            return information(y, codes[column], [codes[each] for each in order])
        if kind == "omisp":
            return max(information(y, codes[column], [codes[each]]) for each in order)
        levels = np.unique(codes[[*order, column]], axis=1, return_inverse=True)[1].ravel()
        right = sum(np.bincount(y[levels == level]).max() for level in np.unique(levels))
        return right, information(y, codes[column], [codes[each] for each in order])  # equal rates: by information

    while len(order) < len(codes):
        order.append(max((column for column in columns if column not in order), key=worth))
    return order


@pytest.mark.parametrize("kind", ["omi", "omisp", "ocr"])
def test_orders_follow_their_definitions(kind):
    rng = np.random.default_rng(5)
    y = rng.integers(3, size=1200)
    codes = np.array(
        [np.where(rng.random(1200) < share, y, rng.integers(3, size=1200)) for share in (0.1, 0.3, 0.2, 0.5)]
    )
    codes[2] = (codes[2] + codes[0]) % 3  # tells more together with the first
    table = codes, np.full(4, 3), y, 3
    assert information_order(*table, kind, pair_information(*table)) == order_by_hand(codes, y, kind)


def test_what_a_further_column_leaves_open():
    rng = np.random.default_rng(6)
    y, codes = rng.integers(2, size=200), rng.integers(3, size=(3, 200))
    joint = Configurations(codes, np.full(3, 3), y, 2)
    joint.add(0)
    entropies, hits = joint.with_each([1, 2])
    expected = [entropy(y, codes[0], codes[column]) - entropy(codes[0], codes[column]) for column in (1, 2)]
    np.testing.assert_allclose(entropies, expected, atol=rounding(200, 6))
    by_hand = [
        sum(
            np.bincount(y[(codes[0] == a) & (codes[column] == b)], minlength=2).max()
            for a in range(3)
            for b in range(3)
        )
        for column in (1, 2)
    ]
    assert hits.tolist() == by_hand


def test_an_order_goes_on_where_every_row_is_distinct():
    rng = np.random.default_rng(0)
    codes, y = rng.integers(4, size=(8, 30)), rng.integers(2, size=30)
    table = codes, np.full(8, 4), y, 2
    order = information_order(*table, "omi", pair_information(*table))
    assert sorted(order) == list(range(8))


def test_candidates_limit_the_parents(corral):
    X, y, _ = corral
    pairs = pair_information(X.T.copy(), np.full(6, 2), y, 2)
    mask = nearest_candidates(pairs.given_class, 2)
    assert mask.sum(axis=0).tolist() == [2] * 6
    assert not mask.diagonal().any()
    assert nearest_candidates(pairs.given_class, None) is None
    limited = TANClassifier(max_candidates=1).fit(X, y)
    allowed = nearest_candidates(pairs.given_class, 1)
    assert (allowed | ~limited.adjacency_).all()


def test_the_listing_of_the_paper_keeps_the_first_two_edges():
    rng = np.random.default_rng(0)
    X, y = rng.integers(2, size=(200, 4)), rng.integers(2, size=200)
    literal = TANClassifier(paper_literal=True).fit(X, y)
    second, third = literal.order_[1:3]
    assert literal.parents_[second]
    assert literal.parents_[third]
    half_a_row = 0.5 / len(y)  # rates are numbers of rows
    assert TANClassifier().fit(X, y).training_rate_ > TANClassifier("nb").fit(X, y).score(X, y) - half_a_row


def test_generative_trees_have_one_parent(link):
    X, y, _ = link
    with pytest.raises(ValueError, match="max_parents must be 1"):
        TANClassifier("cmi", 2).fit(X, y)
    assert TANClassifier("cmi").fit(X, y).training_rate_ is None


def test_discriminative_parameters_raise_the_likelihood(link):
    X, y, _ = link
    plain, trained = BayesNetClassifier().fit(X, y), BayesNetClassifier(likelihood="conditional").fit(X, y)
    rows = np.arange(len(y)), y
    assert trained.predict_log_proba(X)[rows].sum() > plain.predict_log_proba(X)[rows].sum()
    assert trained.n_iter_ >= 1
    penalised = BayesNetClassifier(likelihood="conditional", alpha=1000.0).fit(X, y)
    np.testing.assert_allclose(penalised.predict_proba(X), 0.5, atol=0.05)


def test_early_stopping_takes_fewer_iterations_on_noise():
    rng = np.random.default_rng(0)
    X, y = rng.integers(4, size=(60, 12)), rng.integers(2, size=60)
    stopped = TANClassifier("nb", likelihood="conditional", early_stopping=True, max_iter=30).fit(X, y)
    with pytest.warns(UserWarning, match="still rose after 30 iterations"):
        free = TANClassifier("nb", likelihood="conditional", max_iter=30, tol=0).fit(X, y)
    assert stopped.n_iter_ < free.n_iter_ == 30


def test_super_parents_are_taken_one_edge_at_a_time():
    rng = np.random.default_rng(0)
    y, hub = rng.integers(2, size=(2, 1500))
    # Three columns follow the hub in one class and its opposite in the other, some more strictly than others.
    noise = rng.random((3, 1500)) < np.array([[0.3], [0.1], [0.4]])
    X = np.column_stack([hub, *(hub ^ y ^ noise)])
    model = TANClassifier("superparent").fit(X, y)
    assert model.adjacency_[0, 2] or model.adjacency_[2, 0]
    assert model.training_rate_ > TANClassifier("nb").fit(X, y).score(X, y) + 0.3
    assert model.training_rate_ == pytest.approx(model.score(X, y), abs=0.5 / len(y))  # the same number of rows


def test_a_discriminative_order(link):
    X, y, _ = link
    model = TANClassifier("omi-crcl").fit(X, y)
    assert model.adjacency_[0, 2] or model.adjacency_[2, 0]


def test_random_orders_follow_the_seed(corral):
    X, y, _ = corral
    first, second = (TANClassifier("ro-cr", random_state=seed).fit(X, y).order_.tolist() for seed in (0, 1))
    assert first != second
    assert first == TANClassifier("ro-cr", random_state=0).fit(X, y).order_.tolist()


def test_children_come_before_parents():
    order = children_first([(), (0,), (0, 1), ()])
    assert order.index(2) < order.index(1) < order.index(0)


def test_classes_that_differ_in_their_trees_are_told_apart():
    X, y, truth = make_class_trees(6000, n_features=6, n_classes=3, n_levels=4, random_state=0)
    half = np.arange(len(y)) % 2 == 0
    naive, tree = (
        TANClassifier(structure).fit(X[half], y[half]).score(X[~half], y[~half]) for structure in ("nb", "cmi")
    )
    assert tree > naive + 0.02
    assert truth["adjacency"].sum(axis=1).max() == 1


def test_edge_stability_of_a_classifier(link):
    found = edge_stability(TANClassifier(), link.X, link.y, n_edges_each=1, n_pairs=10, random_state=0)
    assert (found.frequencies + found.frequencies.T)[0, 2] > 0.8


def test_edges_around_the_class_weigh_what_they_tell_about_it(corral):
    X, y, _ = corral
    frame = pd.DataFrame(X, columns=["a0", "class", "b0", "b1", "irrelevant", "hint"])
    model = ISMBClassifier().fit(frame, y)
    assert {"class", "the class"} <= {end for row in model.edges_.select("from", "to").rows() for end in row}
    weights = {row[:2]: row[2] for row in model.edges_.rows()}
    counts = np.array([[np.sum((X[:, 5] == level) & (y == label)) for label in (0, 1)] for level in (0, 1)]) / len(y)
    expected = np.sum(counts * np.log2(counts / np.outer(counts.sum(axis=1), counts.sum(axis=0))))
    assert weights["the class", "hint"] == pytest.approx(expected)
    found = edge_stability(ISMBClassifier(), X, y, n_edges_each=2, n_pairs=3, random_state=0)
    assert found.frequencies[6, 5] + found.frequencies[5, 6] >= 0.5


def test_pictures_of_classifiers(corral):
    X, y, _ = corral
    tree = TANClassifier("cmi").fit(X, y)
    assert len(tree.plot().layout.annotations) == tree.edges_.height == 3  # two bits are independent of all others
    blanket = ISMBClassifier().fit(X, y)
    drawn = blanket.plot()
    assert "class" in drawn.data[-1].text
    assert blanket.edges_["probability"].max() <= 1 + MIXED


def test_an_explanation_lists_the_columns_of_one_row(corral):
    X, y, _ = corral
    names = ["a0", "a1", "b0", "b1", "irrelevant", "hint"]
    frame = pd.DataFrame(X, columns=names)
    model = ISMBClassifier().fit(frame, y)
    found = model.explain(frame.iloc[[5]])
    assert found.weights.sum() == pytest.approx(1)
    assert (np.diff(found.weights) <= 0).all()
    np.testing.assert_allclose(found.proba, model.predict_proba(frame.iloc[[5]])[0], rtol=0, atol=MIXED)
    held = [
        sum(weight for model_, weight in zip(found.models, found.weights, strict=True) if place in model_.columns)
        for place in range(6)
    ]
    np.testing.assert_allclose(found.inclusion, held, rtol=0, atol=MIXED)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a row of a frame has the names of its columns
        np.testing.assert_array_equal(model.explain(frame.iloc[5]).proba, found.proba)
    with pytest.raises(ValueError, match="takes one row, and 3 rows were given"):
        model.explain(frame.iloc[:3])
    ones = model.explain(pd.DataFrame([[1, 1, 0, 0, 1, 0]], columns=names))
    assert ones.proba.argmax() == 1
    assert min(ones.effects[:2]) > 0.3  # the pair that makes the class
    assert ones.effects[5] < -0.01  # the hint speaks against it
    assert abs(ones.effects[4]) < 0.01
    assert ones.reading == (
        "Class 1 has probability 0.88 for this row. The value of a0 changes it most: it raises it by 0.43."
    )
    assert f"{len(found.models)} Markov blankets, {found.n_phase1} of them for all rows" in repr(found)
    shown = np.abs(found.plot().data[0].x).round(3)
    assert (np.diff(shown) <= 0).all()
    assert found.to_dict()["feature_names"] == names


def test_one_model_predicts_alone(corral):
    X, y, _ = corral
    found = ISMBClassifier(average=False).fit(X, y).explain(X[0])
    assert found.weights[0] == 1
    assert set(found.inclusion) <= {0.0, 1.0}


def test_rows_do_not_depend_on_the_others_or_on_workers(corral):
    X, y, _ = corral
    model = ISMBClassifier().fit(X, y)
    together = model.predict_proba(X[:6])
    np.testing.assert_allclose(together[3], model.predict_proba(X[3:4])[0], rtol=0, atol=MIXED)
    assert model.set_params(max_time=1e-9).predict_proba(X[:2]).sum() == pytest.approx(2)


def test_all_blankets_need_few_columns(corral):
    with pytest.raises(ValueError, match="at most 4 columns, and 6 vary"):
        ISMBClassifier("complete").fit(corral.X, corral.y)


def test_columns_without_a_cut_are_left_out():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    X = np.column_stack([rng.normal(size=80), rng.normal(size=80) + 3 * y])
    model = ISMBClassifier().fit(X, y)
    assert model.inclusion_.round(2).tolist() == [0, 1]
    assert model.score(X, y) > 0.9


def test_levels_from_a_file_are_checked_before_loops_follow_them(corral):
    model = ISMBClassifier().fit(corral.X, corral.y)
    model._codes = model._codes + 5  # as a damaged file might hold
    with pytest.raises(ValueError, match="below their number"):
        model.predict(corral.X)


def joint_probabilities(model, codes, n_levels, rows):
    """P(class, row | G) by its definition, one row after the other: theta = (1 + N_ijk) / (r_i + N_ij)."""
    target = len(codes) - 1

    def theta(node, parents, values):
        same = np.ones(codes.shape[1], dtype=bool)
        for parent in parents:
            same &= codes[parent] == values[parent]
        return (1 + np.sum(same & (codes[node] == values[node]))) / (n_levels[node] + same.sum())

    children = dict(model.children)
    found = np.ones((len(rows), n_levels[target]))
    for place, row in enumerate(rows):
        for label in range(n_levels[target]):
            values = [*row, label]
            found[place, label] *= theta(target, model.parents, values)
            for column in range(target):
                parents = [*children[column], target] if column in children else []
                found[place, label] *= theta(column, parents, values)
    return found


def test_missing_values_are_summed_out_of_every_blanket():
    rng = np.random.default_rng(0)
    n_levels = np.array([2, 3, 2, 2])
    codes = np.array([rng.integers(each, size=60) for each in n_levels])
    codes[3] = (codes[0] + (codes[1] > 1) + (rng.random(60) < 0.2)) % 2
    scores = BlanketScores(codes, n_levels, 1.0)
    models = list(all_blankets(3))
    numbers = np.array([scores.number(each) for each in models])
    for row in ([MISSING, 1, 0], [0, MISSING, MISSING], [MISSING, MISSING, MISSING]):
        found = RowProba(scores, np.array(row)).of(numbers)
        filled = [
            [level if entry == MISSING else entry for entry, level in zip(row, levels, strict=True)]
            for levels in product(range(2), range(3), range(2))
        ]
        filled = np.unique(filled, axis=0)
        for place in range(0, len(models), 7):
            joint = joint_probabilities(models[place], codes, n_levels, filled).sum(axis=0)
            # At most twelve fillings; the logarithm of a joint probability is a sum of four of at most log(60 + 3).
            tolerance = rounding(12, condition=4 * np.log(63))
            assert found[place] == pytest.approx(joint / joint.sum(), abs=tolerance)


def test_blankets_take_missing_values(corral):
    X, y, _ = corral
    model = ISMBClassifier().fit(X, y)
    rows = X[:12].astype(float)
    rows[:, 4] = np.nan  # the irrelevant bit
    assert model.predict_proba(rows) == pytest.approx(model.predict_proba(X[:12]), abs=0.05)
    rows[:] = np.nan
    assert model.predict_proba(rows)[0] == pytest.approx(np.bincount(y) / len(y), abs=0.1)
    explained = model.explain([1, 1, 0, 0, np.nan, np.nan])
    assert explained.effects[5] == 0
    assert explained.proba.sum() == pytest.approx(1, abs=MIXED)
    partial = X.astype(float)
    partial[::16, 2] = np.nan
    with pytest.warns(UserWarning, match="8 rows of 128 have missing values"):
        again = ISMBClassifier().fit(partial, y)
    complete = ~np.isnan(partial).any(axis=1)
    expected = ISMBClassifier().fit(X[complete], y[complete])
    assert np.array_equal(again.predict_proba(X[:5]), expected.predict_proba(X[:5]))
