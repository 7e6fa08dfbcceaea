"""Networks that change: what a fit keeps, and what it refuses. The sampler itself is in tests/papers/test_nsdbn.py."""

import numpy as np
import pytest

from fewer.datasets import make_changing_network
from fewer.graph import NonStationaryDBN, edge_stability, independent_edge_proba, nsbde_score
from fewer.graph.changing._edge_course import consensus_epochs, course_of
from fewer.graph.changing._nonstationary_dbn import networks_of, split_r_hat, start_changes
from tolerances import rounding

QUICK = {"max_iter": 30_000, "n_chains": 4, "max_parents": 2, "lambda_m": 5, "random_state": 0}


@pytest.fixture(scope="module")
def switch():
    """Two edges, one of which ends at row 150."""
    return make_changing_network([150, 150], [(0, 1), (1, 2)], [(0, 1)], n_features=3, random_state=0)


@pytest.fixture(scope="module")
def model(switch):
    return NonStationaryDBN(**QUICK).fit(switch.X)


def test_runs_hold_what_they_were_made_of():
    rng = np.random.default_rng(0)
    counts = {(0, 1): np.repeat(rng.integers(5, size=4), 3), (2, 0): np.full(12, 4)}
    course = course_of(list(counts), lambda *edge: counts[edge], 4, 12, 3)
    dense = np.asarray(course)
    np.testing.assert_array_equal(dense[:, 0, 1], counts[0, 1] / 4)
    np.testing.assert_array_equal(dense[:, 2, 0], 1)
    assert dense.sum() == pytest.approx((counts[0, 1].sum() + 48) / 4)
    for time in (0, 5, -1):
        np.testing.assert_array_equal(course[time], dense[time])
    np.testing.assert_array_equal(course.largest(), dense.max(axis=0))
    with pytest.raises(IndexError):
        course[12]
    assert repr(course) == f"EdgeCourse: 12 x 3 x 3, 2 edges in {len(course.starts)} runs"


def test_a_series_without_any_edge_has_an_empty_course():
    course = course_of([], lambda *edge: np.zeros(6), 4, 6, 2)
    assert not np.asarray(course).any()
    assert not course.largest().any()
    epochs, networks = consensus_epochs(course, 0.5)
    assert epochs.tolist() == [[0, 6]]
    assert not networks.any()


def test_epochs_are_stretches_with_the_same_edges():
    counts = {(0, 1): np.array([4, 4, 4, 1, 1]), (1, 0): np.array([0, 0, 4, 4, 4])}
    course = course_of(list(counts), lambda *edge: counts[edge], 4, 5, 2)
    epochs, networks = consensus_epochs(course, 0.5)
    assert epochs.tolist() == [[0, 2], [2, 3], [3, 5]]
    assert networks[:, 0, 1].tolist() == [True, True, False]
    assert networks[:, 1, 0].tolist() == [False, True, True]


def test_the_change_is_found(model, switch):
    np.testing.assert_array_equal(model.networks_[[0, -1]], switch.truth["networks"])
    assert abs(model.epochs_[-1, 0] - 150) < 25
    assert model.n_epochs_posterior_.argmax() == 1
    assert model.n_epochs_posterior_.sum() == pytest.approx(1)
    near = slice(120, 180)
    assert model.transition_proba_[near].sum() > 0.9
    assert model.transition_proba_[0] == 0  # no epoch begins at the first row that has a row before it
    assert (model.transition_proba_std_ >= 0).all()


def test_the_frame_of_the_room(model, tmp_path):
    table = model.edges_
    assert set(table.select("from", "to").rows()) == {("x0", "x1"), ("x1", "x2")}
    assert table.columns == ["from", "to", "weight", "probability"]
    weights = dict(zip(table["from"], table["weight"], strict=True))
    assert weights["x1"] == pytest.approx(1)  # all the time
    assert 0.4 < weights["x0"] < 0.65
    model.write_graphml(tmp_path / "graph.graphml")
    assert (tmp_path / "graph.graphml").read_text().count("<edge ") == 2


def test_edges_at_a_row(model):
    assert model.edges_at(10).height == 2
    assert model.edges_at(290).select("from", "to").rows() == [("x1", "x2")]
    for row in (0, 300):
        with pytest.raises(ValueError, match="1 to 299"):
            model.edges_at(row)


def test_networkx_graphs(model):
    networkx = pytest.importorskip("networkx")
    assert isinstance(model.to_networkx(290), networkx.DiGraph)
    assert list(model.to_networkx(290).edges) == [("x1", "x2")]
    assert model.to_networkx().number_of_edges() == 2


def test_pictures(model):
    course = model.plot()
    assert course.data[0].z.shape == (2, 299)
    assert list(course.data[0].y) == ["x1 → x2", "x0 → x1"]  # the one that is there longest first
    np.testing.assert_array_equal(course.data[1].y, model.transition_proba_)
    at = model.plot(t=10)
    assert at.layout.title.text == "2 edges at row 10"
    assert len(at.layout.annotations) == 2


def test_the_score_is_that_of_the_best_state(model, switch):
    expected = nsbde_score(switch.X, model.best_networks_, model.best_transition_times_)
    assert model.score(switch.X) == pytest.approx(expected, abs=rounding(300, abs(expected)))
    with pytest.raises(ValueError, match="epochs are rows"):
        model.score(switch.X[:-1])
    other = switch.X.copy()
    other[0, 0] = 5
    with pytest.raises(ValueError, match="holds 5, which was not seen in fit"):
        model.score(other)


def test_the_best_state_beats_its_neighbours(model, switch):
    best = model.score(switch.X)
    for parent in range(3):
        for child in range(3):
            networks = model.best_networks_.copy()
            networks[:, parent, child] ^= True
            if networks.sum(axis=1).max() <= 2:
                assert nsbde_score(switch.X, networks, model.best_transition_times_) < best


@pytest.mark.parametrize("pool", ["counts", "chains"])
def test_replicates_sharpen_the_posterior(pool):
    one = make_changing_network([40, 40], [(0, 1)], [(1, 0)], n_features=2, random_state=1).X
    rng = np.random.default_rng(0)
    several = np.stack([one, *(np.where(rng.random(one.shape) < 0.02, 1 - one, one) for _ in range(3))])
    found = NonStationaryDBN([40], pool=pool, lambda_s=1, **QUICK).fit(several)
    assert found.edge_proba_.shape == (79, 2, 2)
    alone = NonStationaryDBN([40], lambda_s=1, **QUICK).fit(one)
    if pool == "counts":
        assert found.edge_proba_[0][0, 1] >= alone.edge_proba_[0][0, 1] - 0.02
        assert np.isfinite(found.score(several))
    assert len(found.log_posterior_trace_) == (4 if pool == "counts" else 16)


def test_known_numbers_and_times_stay_what_they_are(switch):
    known = NonStationaryDBN([150], **QUICK).fit(switch.X)
    assert known.best_transition_times_.tolist() == [150]
    assert set(known.acceptance_rates_) == {"switch in first network", "switch in changes", "move a change"}
    three = NonStationaryDBN(n_epochs=3, **QUICK).fit(switch.X)
    assert three.n_epochs_posterior_.round(12).tolist() == [0, 0, 1]
    never = NonStationaryDBN([], **QUICK).fit(switch.X)
    assert never.n_epochs_posterior_.tolist() == [1]
    assert len(never.epochs_) == 1
    np.testing.assert_allclose(never.edge_proba_[0], independent_edge_proba(switch.X, max_parents=2)[0], atol=0.05)


def test_self_edges_can_be_excluded():
    X = np.repeat([[0, 0], [1, 0], [0, 1], [1, 1]], 25, axis=0)  # every column repeats itself
    assert NonStationaryDBN([], **QUICK).fit(X).adjacency_.diagonal().all()
    model = NonStationaryDBN([], allow_self_edges=False, **QUICK).fit(X)
    assert not np.asarray(model.edge_proba_).diagonal(axis1=1, axis2=2).any()
    assert not independent_edge_proba(X, allow_self_edges=False).diagonal(axis1=1, axis2=2).any()
    looped = NonStationaryDBN([], **QUICK).fit(X).plot(t=3)
    assert any("↻" in text for text in looped.data[-1].text)


def test_measurements_are_refused_unless_they_are_cut():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    X[1:, 1] = X[:-1, 0] + 0.1 * rng.normal(size=79)
    with pytest.raises(ValueError, match="discretisation='equal_frequency'"):
        NonStationaryDBN(**QUICK).fit(X)
    for how in ("equal_frequency", "equal_width"):
        found = NonStationaryDBN([], discretisation=how, **QUICK).fit(X)
        assert found.adjacency_[0, 1]


def test_odd_series(switch):
    constant = np.column_stack([switch.X[:, :1], np.ones(300, dtype=int), switch.X[:, 1:]])
    with pytest.warns(UserWarning, match="Column 1 is constant"):
        found = NonStationaryDBN([], **QUICK).fit(constant)
    alone = NonStationaryDBN([], **QUICK).fit(switch.X)
    proba = np.asarray(found.edge_proba_)
    assert not proba[:, 1].any()
    assert not proba[:, :, 1].any()
    kept = [0, 2, 3]
    assert np.array_equal(proba[:, kept][:, :, kept], np.asarray(alone.edge_proba_))
    # The same networks; a mean over 300 rows of sums over the columns, of which the constant one adds log 1.
    assert found.score(constant) == pytest.approx(alone.score(switch.X), rel=rounding(300 * 4))
    with pytest.warns(UserWarning, match="Column 1 is constant"):
        changing = NonStationaryDBN(**QUICK).fit(constant)
    assert not changing.best_networks_[:, 1].any()
    assert changing.best_networks_.shape[1:] == (4, 4)
    with pytest.raises(ValueError, match="Every column of X is constant"):
        NonStationaryDBN(**QUICK).fit(np.ones((20, 2)))
    gap = switch.X.astype(float)
    gap[7, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN, in column 1 .*interpolate or ffill"):
        NonStationaryDBN(**QUICK).fit(gap)
    with pytest.raises(ValueError, match="between 2 and 299"):
        NonStationaryDBN([1, 30], **QUICK).fit(switch.X)
    with pytest.raises(ValueError, match="each epoch needs one"):
        NonStationaryDBN(n_epochs=400, **QUICK).fit(switch.X)
    with pytest.raises(ValueError, match="begin 2 epochs: leave one of them out"):
        NonStationaryDBN([30], n_epochs=5, **QUICK).fit(switch.X)
    many = np.random.default_rng(0).integers(6, size=(50, 20))
    for refused in (
        lambda: NonStationaryDBN(**{**QUICK, "max_parents": 12}).fit(many),
        lambda: independent_edge_proba(many, max_parents=12),
    ):
        with pytest.raises(ValueError, match=r"6 levels with 12 parents has a table of 1.3e\+10 counts"):
            refused()
    for missing in (gap, np.where(np.isnan(gap), None, gap)):
        with pytest.raises(ValueError, match="missing values, the first in row 7"):
            nsbde_score(missing, np.zeros((1, 3, 3)))
    with pytest.raises(ValueError, match="n_burn_in=90000 leaves none"):
        NonStationaryDBN(n_burn_in=90_000, **QUICK).fit(switch.X)
    with pytest.raises(ValueError, match="it must be"):
        nsbde_score(switch.X, np.zeros((2, 3, 3)))
    with pytest.raises(ValueError, match="two rows or more"):
        nsbde_score([[0, 1]], np.zeros((1, 2, 2)))


def test_chains_that_disagree_are_reported(switch):
    with pytest.warns(UserWarning, match="The chains disagree"):
        NonStationaryDBN(max_iter=60, n_burn_in=0, n_chains=4, thin=1, random_state=3).fit(switch.X)


def test_r_hat():
    rng = np.random.default_rng(0)
    same = rng.normal(size=(4, 500))
    assert split_r_hat(same) == pytest.approx(1, abs=0.02)
    assert split_r_hat(same + np.arange(4)[:, None]) > 1.5
    assert split_r_hat(np.ones((2, 10))) == 1
    assert split_r_hat(np.array([[1.0] * 10, [2.0] * 10])) == np.inf
    assert np.isnan(split_r_hat(np.ones((2, 3))))


def test_starts_respect_the_number_of_parents():
    changes = start_changes(np.arange(1, 30), 3, 1, False, np.random.RandomState(0))
    times, networks = networks_of(changes, 3)
    np.testing.assert_array_equal(times, np.arange(1, 30))
    assert networks.sum(axis=1).max() == 1
    assert not networks.diagonal(axis1=1, axis2=2).any()


def test_edge_stability_takes_whole_series_where_there_are_several(switch):
    model, several = NonStationaryDBN([], **{**QUICK, "max_iter": 2000}), np.stack([switch.X[:100]] * 4)
    found = edge_stability(model, several, n_edges_each=2, n_pairs=2, random_state=0)
    assert set(found.frequencies.ravel()) <= {0.0, 0.25, 0.5, 0.75, 1.0}
    assert found.n_stable >= 1
    with pytest.raises(ValueError, match="3 series; halves need at least 4"):
        edge_stability(model, several[:3], n_pairs=2)


def test_edge_stability_takes_stretches_of_the_series(switch):
    found = edge_stability(
        NonStationaryDBN([], **{**QUICK, "max_iter": 2000}), switch.X, n_edges_each=2, n_pairs=5, random_state=0
    )
    assert found.frequencies[1, 2] == 1
