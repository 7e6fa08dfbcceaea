"""Restricted eigenvalues and nullspaces, the report on them, and columns given by position, name or mask."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from fewer.datasets import make_gaussian_design
from fewer.theory import (
    cone_invertibility,
    design_report,
    gaussian_norm_bound,
    gaussian_norm_slack,
    irrepresentability,
    lq_error_bound,
    restricted_eigenvalue,
    restricted_eigenvalue_sample_size,
    restricted_nullspace,
    selection_certificate,
)
from fewer.theory.design._cones import compatibility, root_of
from tolerances import rounding


def test_a_refutation_of_the_nullspace_is_a_vector_that_proves_it():
    X = np.random.default_rng(0).normal(size=(10, 30))
    found = restricted_nullspace(X, k=5, random_state=0)
    assert (found.verdict, found.certified) == ("fails", False)
    np.testing.assert_allclose(X @ found.worst, 0, atol=1e-8)
    inside = np.abs(found.worst[found.columns]).sum()
    assert inside >= np.abs(found.worst).sum() - inside
    assert "Refuted" in found.reading


def test_a_certificate_for_all_supports_holds_for_each():
    X = np.random.default_rng(1).normal(size=(20, 24))
    found = restricted_nullspace(X, k=2, random_state=0)
    assert found.certified
    for first in range(0, 24, 5):
        for second in range(first + 1, 24, 6):
            assert restricted_nullspace(X, [first, second]).value <= found.value + 1e-7


def test_no_violation_met_is_not_called_proof():
    verdicts = [
        restricted_nullspace(np.random.default_rng(seed).normal(size=(20, 30)), k=4, n_init=1, random_state=0)
        for seed in range(2)
    ]
    for found in verdicts:
        assert found.verdict != "holds" or found.certified
        if found.verdict == "unknown":
            assert "not proof" in found.reading


def test_a_copied_column_is_an_infinite_share_and_full_rank_none():
    X = np.random.default_rng(2).normal(size=(10, 6))
    assert restricted_nullspace(X, [0, 1]).value == 0
    X[:, 1] = X[:, 0]
    found = restricted_nullspace(X, [0, 1])
    assert found.value == np.inf
    np.testing.assert_allclose(X @ found.worst, 0, atol=1e-10)
    assert restricted_nullspace(sparse.csr_array(X), [0, 1]).value == np.inf


def test_a_column_of_zeros_refutes_the_restricted_eigenvalue():
    X = np.random.default_rng(3).normal(size=(30, 6))
    X[:, 2] = 0
    found = restricted_eigenvalue(X, [2], a=1, random_state=0)
    assert found.refuted
    assert not found.certified
    assert "Refuted" in found.reading


def test_order_k_is_not_above_any_support_that_was_tried():
    X = np.random.default_rng(4).normal(size=(40, 6))
    whole = restricted_eigenvalue(X, k=2, a=1, n_init=8, random_state=0)
    singles = [restricted_eigenvalue(X, [i, j], a=1, random_state=0).upper for i in range(6) for j in range(i)]
    assert whole.upper == pytest.approx(min(singles), rel=1e-3)
    assert whole.lower <= whole.upper


def test_a_known_population_certifies_with_many_rows():
    X, _, truth = make_gaussian_design(200_000, 6, "spiked", a=0.3, random_state=0)
    sample = X.T @ X / len(X)
    found = restricted_eigenvalue(sample, [0], a=1, precomputed=True, population=truth["covariance"], random_state=0)
    assert found.lower <= found.upper
    assert found.certified


def test_the_report_calls_nothing_certified_that_is_not():
    X = np.random.default_rng(5).normal(size=(10, 14))
    report = design_report(X, k_grid=(1, 6), random_state=0)
    frame = report.to_frame()
    for row in frame.iter_rows(named=True):
        assert (row["eigenvalue"] == "certified") == (row["lower"] > 1e-9)
        assert row["lower"] <= row["upper"]
    assert "refuted for k = 6" in report.reading
    assert "satisfied" not in repr(report)
    assert len(report.plot().data) == 4
    assert report.to_dict()["coherence"] == report.coherence


def test_theorem_1_is_never_violated_and_says_little():
    X, _, truth = make_gaussian_design(40, 60, random_state=0)
    found = gaussian_norm_slack(X, truth["covariance"], random_state=0)
    assert found.worst_slack >= 0
    assert found.share_empty == 1
    assert gaussian_norm_bound(np.eye(5), 1296 * 2 * np.log(5), [1, 0, 0, 0, 0]) > 0
    assert gaussian_norm_bound(np.eye(5), 1296 * 0.9 * np.log(5), [1, 0, 0, 0, 0]) < 0
    assert restricted_eigenvalue_sample_size(2, 100, 1.0, 0.5, 2.0) == np.ceil(5184 * 4 * 4 * 2 * np.log(100) / 0.25)


def test_nothing_is_certified_where_the_cone_holds_a_vector_that_is_not_seen():
    for seed in range(12):
        X = np.random.default_rng(seed).normal(size=(6, 16))
        S = [0, 1, 2]
        if restricted_nullspace(X / np.sqrt((X**2).mean(axis=0)), S).verdict == "fails":
            found = restricted_eigenvalue(X, S, a=1, n_init=1, random_state=0)
            assert not found.certified
            assert found.refuted


def test_the_certified_constant_is_close_to_the_one_found_and_not_above():
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(20, 12))
        found = compatibility(root_of(X.T @ X / 20), np.array([0, 1]), 3.0)
        assert found.certified <= found.phi2 + rounding(20 * 12, scale=found.phi2)
        assert found.certified == pytest.approx(found.phi2, rel=0.01, abs=1e-6)


def test_copies_refute_the_nullspace_property_of_a_single_column():
    X = np.random.default_rng(6).normal(size=(10, 12))
    X[:, 7] = X[:, 3]
    found = restricted_nullspace(X, k=1, random_state=0)
    assert found.verdict == "fails"
    assert restricted_nullspace(X, [3]).verdict == "fails"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: restricted_nullspace(np.eye(3)), "either support"),
        (lambda: restricted_nullspace(np.eye(3), k=4), "from 1 to the 3"),
        (lambda: restricted_nullspace(np.eye(20), range(13)), "too many"),
        (lambda: restricted_eigenvalue(np.eye(20), range(13)), "too many"),
        (lambda: restricted_eigenvalue(np.ones((2, 3)), [0], precomputed=True), "symmetric"),
        (lambda: restricted_eigenvalue(np.eye(3), k=1, a=-1), "negative"),
        (lambda: design_report(np.eye(3), k_grid=(5,)), "3 columns"),
        (lambda: restricted_eigenvalue_sample_size(5, 3), "from 1 to n_features"),
        (lambda: gaussian_norm_bound(np.eye(3), 10, [1, 0]), "3 columns"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


NAMES = ["age", "bmi", "pulse", "sugar", "salt", "sleep"]
MASK = [False, True, False, False, True, False]


@pytest.fixture(scope="module")
def design():
    return np.random.default_rng(0).normal(size=(20, 6))


@pytest.mark.parametrize(
    "number",
    [
        lambda X, J: cone_invertibility(X, J).value,
        lambda X, J: restricted_eigenvalue(X, J, random_state=0).upper,
        lambda X, J: restricted_nullspace(X[:4], J).value,
        lambda X, J: lq_error_bound(X, J, 0.1).bound,
        lambda X, J: selection_certificate(X, J, 0.1, 1.0).threshold[0],
        lambda X, J: np.nansum(irrepresentability(X, J, [1, -1])),
    ],
    ids=["cone", "eigenvalue", "nullspace", "bound", "selection", "irrepresentability"],
)
def test_columns_are_told_by_position_by_name_or_by_a_mask(design, number):
    by_position = number(design, [1, 4])
    assert number(design, MASK) == by_position
    for frame in (pd.DataFrame(design, columns=NAMES), pl.DataFrame(design, schema=NAMES)):
        assert number(frame, ["bmi", "salt"]) == pytest.approx(by_position)


def test_signs_go_with_the_names_in_the_order_in_which_they_are_told(design):
    frame = pd.DataFrame(design, columns=NAMES)
    swapped = irrepresentability(frame, ["salt", "bmi"], [-1, 1])
    assert swapped == pytest.approx(irrepresentability(design, [1, 4], [1, -1]), nan_ok=True)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (["bmi", "slat"], "'slat', which the table does not have. Did you mean 'salt'"),
        ([1, 1], "needs different columns, by their positions from 0 to 5, by their names or by a mask of length 6"),
        ([-1], "needs different columns"),
        ([0.5], "needs different columns"),
        ([], "needs different columns"),
        ([True, False], "needs different columns"),
    ],
)
def test_columns_that_are_not_there_are_refused_with_a_hint(design, columns, told):
    with pytest.raises(ValueError, match=told):
        cone_invertibility(pd.DataFrame(design, columns=NAMES), columns)


def test_a_table_without_names_says_so(design):
    with pytest.raises(ValueError, match="'bmi', and the table has no names; pass a data frame"):
        restricted_nullspace(design, ["bmi"])


def test_a_report_on_one_number_of_columns(design):
    assert design_report(design, k_grid=2, a=1, random_state=0).ks == (2,)
