"""Groups of redundant columns: which are linked, how chains are divided, and who stands for a group."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.stats import spearmanr
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import mutual_info_score, normalized_mutual_info_score

from fewer.select import fisher_score, redundancy_groups
from fewer.select.information._levels import discretise


def sets(found):
    return {frozenset(group.columns) for group in found.groups}


def hanging_together(similarities, threshold):
    labels = connected_components(similarities >= threshold)[1]
    return {frozenset(np.flatnonzero(labels == g)) for g in np.unique(labels) if (labels == g).sum() > 1}


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


def test_single_linkage_gives_the_components_of_the_graph_of_pairs(cancer):
    X = cancer[0][:, 10:24]
    levels = discretise(X).codes
    expected = {
        "pearson": np.abs(np.corrcoef(X.T)),
        "spearman": np.abs(spearmanr(X).statistic),
        "symmetric_uncertainty": np.array([[normalized_mutual_info_score(a, b) for b in levels] for a in levels]),
    }
    for measure, threshold in [("pearson", 0.9), ("spearman", 0.8), ("symmetric_uncertainty", 0.4)]:
        found = redundancy_groups(X, measure=measure, threshold=threshold, linkage="single")
        assert sets(found) == hanging_together(expected[measure], threshold)
        for group in found.groups:
            own = expected[measure][np.ix_(group.columns, group.columns)]
            assert group.min_similarity == pytest.approx(own.min())
            middle = group.columns.index(group.representative)
            assert own[middle].sum() == pytest.approx(own.sum(axis=1).max())
            assert group.similarities == pytest.approx(own[middle])


def test_blocks_do_not_change_the_groups(cancer, monkeypatch):
    X, y = cancer
    whole = redundancy_groups(X, y, threshold=0.8)
    monkeypatch.setattr("fewer.select.redundancy._groups._BLOCK", 7)
    monkeypatch.setattr("fewer.select.redundancy._similarity._CELLS_AT_ONCE", 300)
    monkeypatch.setattr("fewer.select.redundancy._similarity._COLUMNS_HELD", 0)
    blocks = redundancy_groups(X, y, threshold=0.8)
    assert sets(blocks) == sets(whole)
    assert [group.representative for group in blocks.groups] == [group.representative for group in whole.groups]
    assert blocks.shown_similarities == pytest.approx(whole.shown_similarities)


def test_a_chain_is_divided_unless_single_linkage_is_asked_for():
    steps = np.random.default_rng(0).normal(size=(2000, 40))
    chain = np.column_stack([steps[:, start : start + 20].sum(axis=1) for start in range(20)])
    single = redundancy_groups(chain, threshold=0.9, linkage="single")
    assert sets(single) == {frozenset(range(20))}
    assert single.groups[0].min_similarity < 0.2
    for linkage, least in [("complete", 0.9), ("average", 0.8)]:
        found = redundancy_groups(chain, threshold=0.9, linkage=linkage)
        assert len(found.groups) > 4
        assert min(group.min_similarity for group in found.groups) >= least


def test_the_most_relevant_column_stands_for_a_group(cancer):
    X, y = cancer
    by_information = [mutual_info_score(column, y) for column in discretise(X).codes]
    by_fisher = fisher_score(X, y)
    for options, relevance in [({}, by_information), ({"relevance": "fisher"}, by_fisher)]:
        found = redundancy_groups(X, y, threshold=0.9, **options)
        assert len(found.groups) > 3
        for group in found.groups:
            assert group.representative == max(group.columns, key=relevance.__getitem__)
    y_of_7 = X[:, 7] > np.median(X[:, 7])
    for group in redundancy_groups(X, y_of_7, threshold=0.9).groups:
        assert (7 not in group.columns) or group.representative == 7


def test_columns_to_keep_say_it_all(cancer):
    X, _ = cancer
    found = redundancy_groups(X, threshold=0.9)
    assert sorted([*found.redundant, *found.representatives]) == list(range(30))
    assert len(found.redundant) == sum(len(group) - 1 for group in found.groups)
    r = np.abs(np.corrcoef(X.T))
    assert (r[np.ix_(found.redundant, found.representatives)].max(axis=1) >= 0.9).all()
    for column, label in enumerate(found.labels):
        assert (label == -1) == all(column not in group.columns for group in found.groups)


def test_sparse_tables_have_the_same_groups():
    rng = np.random.default_rng(1)
    X = rng.poisson(0.3, size=(300, 40)).astype(float)
    X[:, 20:30] = 3 * X[:, :10]
    for measure in ("pearson", "symmetric_uncertainty"):
        full = redundancy_groups(X, measure=measure)
        assert sets(redundancy_groups(sparse.csr_array(X), measure=measure)) == sets(full)
        assert {frozenset((column, column + 20)) for column in range(10)} <= sets(full)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        redundancy_groups(sparse.csr_array(X), measure="spearman")


def test_constant_columns_and_opposite_signs():
    x = np.arange(20.0)
    found = redundancy_groups(np.column_stack([np.full(20, 0.1), x, np.full(20, 0.1), 5 - x]))
    assert sets(found) == {frozenset((1, 3))}
    assert redundancy_groups(x[:, None]).groups == ()


@pytest.mark.parametrize("library", [pd, pl])
def test_names_come_from_the_frame_and_the_text_reads_well(library):
    rng = np.random.default_rng(2)
    height = rng.normal(170, 10, size=100)
    frame = library.DataFrame({"age": rng.uniform(20, 60, 100), "cm": height, "inch": height / 2.54, "m": height / 100})
    found = redundancy_groups(frame)
    assert found.groups[0].names == ("cm", "inch", "m")
    assert repr(found) == (
        "3 of 4 columns are in 1 group of redundant columns; 2 columns are left with one for each group.\n"
        "  cm represents inch, m (similarity 1.00 or more)"
    )
    figure = found.plot()
    assert list(figure.layout.xaxis.ticktext) == ["<b>cm</b>", "inch", "m"]
    assert len(figure.layout.shapes) == 1
    assert repr(redundancy_groups(frame[["age"]])).startswith("No two of the 1 columns")
    assert redundancy_groups(frame[["age", "cm"]]).plot() is not None
    assert len(pickle.dumps(found)) < 10_000


def test_a_picture_of_many_groups_shows_the_first_columns():
    X = np.repeat(np.random.default_rng(3).normal(size=(50, 80)), 3, axis=1)
    found = redundancy_groups(X)
    assert len(found.groups) == 80
    assert "and 70 more groups" in repr(found)
    assert len(found.plot(30).layout.shapes) == 10
    assert len(found.plot(10_000).layout.xaxis.ticktext) == 100


def test_bad_input_is_refused_in_plain_words(monkeypatch):
    X = np.random.default_rng(4).normal(size=(30, 5))
    with pytest.raises(ValueError, match="3 names for 5 columns"):
        redundancy_groups(X, feature_names=["a", "b", "c"])
    with pytest.raises(ValueError, match="NaN"):
        redundancy_groups(np.where(X > 2, np.nan, X) + np.where(np.eye(30, 5) > 0, np.nan, 0))
    with pytest.raises(ValueError, match="threshold"):
        redundancy_groups(X, threshold=1.5)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        redundancy_groups(X, np.zeros(7))
    monkeypatch.setattr("fewer.select.redundancy._groups._LONGEST_CHAIN", 4)
    with pytest.raises(ValueError, match=r"5 columns .*linkage='single'"):
        redundancy_groups(X[:, :1] + 1e-3 * X)


def test_of_equally_relevant_columns_the_one_most_like_the_others_stands_for_them():
    rng = np.random.default_rng(0)
    middle = rng.normal(size=200)
    X = np.column_stack([middle + 0.2 * rng.normal(size=200), middle, middle + 0.2 * rng.normal(size=200)])
    (group,) = redundancy_groups(X, middle > 0, relevance=lambda X, y: np.ones(3), threshold=0.8).groups
    assert group.representative == 1
    (group,) = redundancy_groups(X, middle > 0, relevance=lambda X, y: np.array([1, 1, 2.0]), threshold=0.8).groups
    assert group.representative == 2
