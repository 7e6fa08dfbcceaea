"""Permutation tests: p-values, seeds, stopping, groups, warnings and words."""

import json
import signal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, StratifiedKFold
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from fewer.evaluate import PermutationResult, interaction_test, permutation_test, permutation_verdict
from fewer.evaluate.permutation._permutation_test import _label
from fewer.evaluate.permutation._result import p_values_of

NULLS = ["labels", "features_within_class", "columns"]


@pytest.fixture
def noise():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)), np.repeat([0, 1], 20)


@pytest.fixture
def product():
    """Labels that depend on the first two columns together, and on neither alone."""
    X = np.random.default_rng(0).normal(size=(120, 3))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "plus", "minus")


def result_with(observed, drawn, **others):
    observed, drawn = np.atleast_1d(observed).astype(float), np.asarray(drawn, dtype=float)
    hits = others.get("stop_after")
    defaults = {"null": "labels", "scoring": "error", "n_permutations": len(drawn), "significance_level": 0.05}
    p_values = p_values_of(drawn, observed, others.get("higher_is_better", False), hits)
    return PermutationResult(observed=observed, null_errors=drawn, p_values=p_values, **defaults | others)


def test_the_data_count_as_one_of_the_draws():
    assert result_with(0.1, [0.2] * 99).p_value == 0.01
    assert result_with(0.1, [0.1] + [0.2] * 98).p_value == 0.02
    assert result_with(0.9, [0.2] * 99).p_value == 1.0


def test_for_scores_higher_is_better():
    assert result_with(0.9, [0.2] * 99, higher_is_better=True).p_value == 0.01
    assert result_with(0.1, [0.2] * 99, higher_is_better=True).p_value == 1.0


def test_means_that_differ_by_rounding_are_equal():
    assert result_with(0.1 + 0.2, [0.3] * 9).p_value == 1.0
    assert result_with(0.3, [0.1 + 0.2] * 9).p_value == 1.0
    assert result_with(0.1 + 0.2, [0.3] * 9, higher_is_better=True).p_value == 1.0


def test_repeats_are_averaged_against_the_same_draws():
    tested = result_with([0.1, 0.3], [0.2] * 99)
    np.testing.assert_allclose(tested.p_values, [0.01, 1.0])
    assert tested.p_value == pytest.approx(0.505)
    assert tested.p_se == pytest.approx(np.sqrt(0.505 * 0.495 / 99))
    assert tested.p_se <= 1 / (2 * np.sqrt(99))


def test_a_stopped_test_divides_hits_by_draws():
    null = np.array([0.5, 0.1, 0.5, 0.1, 0.1])
    tested = result_with(0.2, null, stop_after=3, n_permutations=100)
    assert tested.p_value == 3 / 5
    assert tested.stopped_early
    assert tested.p_se == pytest.approx(0.6 * np.sqrt(0.4 / 3))


def test_stopped_p_values_are_valid_at_every_level():
    """Besag and Clifford: if the data are exchangeable with the draws, P(p <= a) <= a at every level."""
    rng = np.random.default_rng(0)
    p_values = []
    for _ in range(4000):
        values = rng.integers(0, 30, size=101)
        hits = np.flatnonzero(values[1:] <= values[0])
        drawn = values[1 : hits[4] + 2] if len(hits) >= 5 else values[1:]
        p_values.append(p_values_of(drawn, values[:1], False, hits=5)[0])
    for level in (0.05, 0.1, 0.3, 0.5):
        assert np.mean(np.array(p_values) <= level) <= level + 4 * np.sqrt(level * (1 - level) / 4000)


@pytest.mark.parametrize("null", NULLS)
def test_results_depend_on_the_seed_alone(null, product, workers):
    X, y = product
    options = {"null": null, "cv": 2, "n_permutations": 8, "n_repeats": 2, "random_state": 5, "significance_level": 0.2}
    forest = RandomForestClassifier(2)
    here = permutation_test(forest, X, y, **options)
    np.testing.assert_array_equal(permutation_test(forest, X, y, **options).null_errors, here.null_errors)
    elsewhere = permutation_test(forest, X, y, engine=workers, **options)
    np.testing.assert_array_equal(elsewhere.null_errors, here.null_errors)
    np.testing.assert_array_equal(elsewhere.observed, here.observed)
    other = permutation_test(forest, X, y, **options | {"random_state": 6})
    assert not np.array_equal(other.null_errors, here.null_errors)


def test_a_longer_test_starts_like_a_shorter_one(noise):
    options = {"n_repeats": 1, "random_state": 0, "significance_level": 0.2}
    short, long = (permutation_test(GaussianNB(), *noise, n_permutations=k, **options) for k in (10, 30))
    np.testing.assert_array_equal(short.null_errors, long.null_errors[:10])


@pytest.mark.parametrize(
    ("learner", "elsewhere"),
    [(GaussianNB(), False), (DecisionTreeClassifier(), False), (DecisionTreeClassifier(), True)],
)
def test_stopping_saves_draws_and_keeps_their_order(noise, elsewhere, learner, workers):
    options = {"n_repeats": 1, "random_state": 0, "n_permutations": 100, "cv": 2}
    stopped = permutation_test(learner, *noise, sequential=5, engine=workers if elsewhere else None, **options)
    assert stopped.n_permutations_used < 60
    whole = permutation_test(learner, *noise, **options)
    np.testing.assert_array_equal(stopped.null_errors, whole.null_errors[: stopped.n_permutations_used])
    assert stopped.p_value == pytest.approx(whole.p_value, abs=0.45)
    assert "stopped early" in repr(stopped)


def test_a_small_p_needs_all_draws_and_is_what_it_would_be(product):
    X, y = product
    options = {"n_repeats": 1, "random_state": 0, "n_permutations": 30, "cv": 4}
    tree = DecisionTreeClassifier()
    stopped, whole = (permutation_test(tree, X, y, sequential=s, **options) for s in (True, False))
    assert stopped.n_permutations_used == 30
    assert not stopped.stopped_early
    assert stopped.p_value == whole.p_value == 1 / 31


def test_repeats_count_once_when_nothing_is_random(noise):
    options = {"n_permutations": 19, "n_repeats": 7, "random_state": 0}
    assert len(permutation_test(GaussianNB(), *noise, cv=StratifiedKFold(5), **options).observed) == 1
    assert len(permutation_test(GaussianNB(), *noise, **options).observed) == 7
    assert len(permutation_test(DecisionTreeClassifier(), *noise, cv=StratifiedKFold(5), **options).observed) == 7


def test_own_permutations_replace_the_drawn_ones(noise):
    X, y = noise
    orders = [np.arange(40), np.arange(40)[::-1]]
    tested = permutation_test(GaussianNB(), X, y, permutations=orders, cv=StratifiedKFold(5), significance_level=0.4)
    assert tested.null_errors[0] == tested.observed[0]
    with pytest.raises(ValueError, match=r"permutations\[1\] does not name every row"):
        permutation_test(GaussianNB(), X, y, permutations=[np.arange(40), np.zeros(40)])
    with pytest.raises(ValueError, match="table of 40 row numbers"):
        permutation_test(GaussianNB(), X, y, permutations=[[0, 1]])
    with pytest.raises(ValueError, match='Use null="labels"'):
        permutation_test(GaussianNB(), X, y, null="columns", permutations=orders)


def test_labels_move_inside_groups_only(noise):
    X, _ = noise
    groups = np.repeat(np.arange(10), 4)
    y = np.tile([0, 0, 1, 1], 10)
    X = X + 3 * groups[:, None]
    tested = permutation_test(
        GaussianNB(), X, y, groups=groups, cv=GroupKFold(5), n_permutations=19, n_repeats=1, random_state=0
    )
    assert tested.n_permutations_used == 19
    with pytest.raises(ValueError, match="permuting within groups changes nothing"):
        permutation_test(GaussianNB(), X, groups % 2, groups=groups)


class Recorder(GaussianNB):
    """Notes the labels that it is fitted with."""

    seen = []

    def fit(self, X, y):
        Recorder.seen.append(y)
        return super().fit(X, y)


def test_randomised_labels_keep_the_counts_of_every_group(noise):
    groups, y, rows = np.repeat([0, 1], [10, 30]), np.arange(40) % 4 == 0, np.arange(40)
    options = {"cv": [(rows, rows)], "n_permutations": 19, "n_repeats": 1, "random_state": 0}
    permutation_test(Recorder(), noise[0], y, groups=groups, **options)
    counts = {tuple(np.bincount(groups[labels], minlength=2)) for labels in Recorder.seen}
    assert counts == {tuple(np.bincount(groups[y]))}
    assert len({labels.tobytes() for labels in Recorder.seen}) == 20


def test_a_task_is_called_by_what_it_computes():
    assert _label(2) == "the error on the data, repeat 3"
    assert _label(range(4, 5)) == "permutation 5"
    assert _label(range(4, 9)) == "permutations 5 to 9"


def test_a_frame_with_categories_and_gaps_is_taken_as_it_is(product):
    X, y = product
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.loc[::9, "c"] = np.nan
    frame["colour"] = pd.Categorical(np.where(X[:, 2] > 0, "red", "blue"))
    encoder = make_column_transformer(
        (OneHotEncoder(), make_column_selector(dtype_include="category")), remainder="passthrough"
    )
    tree = make_pipeline(encoder, DecisionTreeClassifier())
    options = {"null": "features_within_class", "n_permutations": 19, "n_repeats": 1, "random_state": 0, "cv": 3}
    assert permutation_test(tree, frame, pd.Series(y), **options).p_value == 1 / 20
    numbers = pl.DataFrame(X, schema=["a", "b", "c"])
    assert permutation_test(DecisionTreeClassifier(), numbers, pl.Series(y), **options).p_value == 1 / 20


@pytest.mark.parametrize(
    ("null", "form"),
    [*((null, sparse.csr_array) for null in NULLS), (NULLS[0], sparse.csc_array), (NULLS[-1], sparse.coo_array)],
)
def test_sparse_tables_are_taken(null, form):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = rng.poisson(0.2 + 0.5 * y[:, None] * (np.arange(20) < 5), size=(60, 20))
    options = {"null": null, "n_permutations": 19, "n_repeats": 1, "cv": 3, "random_state": 0}
    tested = permutation_test(MultinomialNB(), form(X), y, **options)
    assert tested.decision() == (null != "features_within_class")


def test_a_regression_is_tested_with_a_score(noise):
    X, _ = noise
    y = X[:, 0] + np.random.default_rng(1).normal(size=40)
    tested = permutation_test(Ridge(), X, y, scoring="r2", n_permutations=19, n_repeats=1, cv=4, random_state=0)
    assert tested.p_value == 1 / 20
    assert tested.higher_is_better
    with pytest.raises(ValueError, match='choose a score where higher is better, such as scoring="r2"'):
        permutation_test(Ridge(), X, y)
    with pytest.raises(ValueError, match="numbers instead of classes"):
        permutation_test(Ridge(), X, y, scoring="r2", null="features_within_class")


def test_interactions_are_found_where_they_are(product):
    X, y = product
    frame = pd.DataFrame(X, columns=["left", "right", "idle"])
    options = {"n_permutations": 19, "n_repeats": 1, "random_state": 0, "cv": 4}
    tree = DecisionTreeClassifier(max_depth=4)
    assert interaction_test(tree, frame, y, group=["left"], **options).decision()
    assert not interaction_test(tree, frame, y, group=["idle"], **options).decision()
    # Together the pair keeps what it has between its own columns.
    assert not interaction_test(tree, frame, y, group=["left", "right"], **options).decision()
    assert interaction_test(tree, frame, y, group=["left", "right"], jointly=False, **options).decision()
    with pytest.raises(TypeError, match="does not take 'null'"):
        interaction_test(tree, frame, y, group=["left"], null="labels")
    with pytest.raises(ValueError, match="names no column"):
        interaction_test(tree, frame, y, group=[])


def test_a_group_of_one_is_given_by_its_name_and_columns_that_are_not_there_are_named_at_once():
    X = np.random.default_rng(0).normal(size=(40, 2))
    frame, y = pd.DataFrame(X, columns=["left", "right"]), np.arange(40) % 2
    options = {"cv": 2, "n_permutations": 19, "n_repeats": 1, "random_state": 0}
    by_name = interaction_test(GaussianNB(), frame, y, group="left", **options)
    np.testing.assert_array_equal(
        by_name.null_errors, interaction_test(GaussianNB(), frame, y, group=["left"], **options).null_errors
    )
    with pytest.raises(ValueError, match="the table has no column 'middle'"):
        interaction_test(GaussianNB(), frame, y, group="middle", **options)
    with pytest.raises(ValueError, match="positions from 0 to 1"):
        interaction_test(GaussianNB(), X, y, group=[2], **options)


def test_small_classes_are_warned_of_where_columns_move_inside_them(noise):
    X, _ = noise
    y = np.repeat(["many", "few"], [37, 3])
    with pytest.warns(UserWarning, match=r"less than 5 rows: few \(3\)") as caught:
        permutation_test(GaussianNB(), X, y, null="features_within_class", n_permutations=19, random_state=0)
    assert caught[0].filename == __file__


def test_too_few_permutations_are_warned_of(noise):
    options = {"n_repeats": 1, "random_state": 0}
    with pytest.warns(UserWarning, match=r"at least 0.1, .* 0.05 never rejects") as caught:
        permutation_test(GaussianNB(), *noise, n_permutations=9, **options)
    assert caught[0].filename == __file__
    tested = permutation_test(GaussianNB(), *noise, n_permutations=49, **options)
    assert tested.notes == ("p has steps of 0.02; 200 permutations decide better at 0.05",)
    assert permutation_test(GaussianNB(), *noise, n_permutations=200, **options).notes == ()


@pytest.mark.usefixtures("ctrl_c_is_heard")
@pytest.mark.parametrize("learner", [GaussianNB(), DecisionTreeClassifier()])
def test_ctrl_c_keeps_what_is_done(noise, learner):
    def press_ctrl_c(done, total, outcome):
        if done == 4:
            signal.raise_signal(signal.SIGINT)

    tested = permutation_test(learner, *noise, n_permutations=2000, n_repeats=1, progress=press_ctrl_c, random_state=0)
    assert 1 <= tested.n_permutations_used < 2000
    assert f"p is that of {tested.n_permutations_used:,} permutations out of 2,000" in tested.notes[0]
    assert tested.p_value == pytest.approx(
        (np.sum(tested.null_errors <= tested.observed[0] + 1e-9) + 1) / (tested.n_permutations_used + 1)
    )


def test_progress_counts_to_the_end(noise):
    seen = []
    permutation_test(
        DecisionTreeClassifier(),
        *noise,
        n_permutations=19,
        n_repeats=2,
        random_state=0,
        progress=lambda done, total, outcome: seen.append((done, total)),
    )
    assert seen[-1] == (21, 21)


def test_a_fit_that_fails_is_named(noise):
    X, y = noise
    X = X.copy()
    X[3, 1] = np.nan
    with pytest.raises(RuntimeError, match=r"(?s)the error on the data, repeat 1 failed.*NaN"):
        permutation_test(LogisticRegression(), X, y, n_permutations=19)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"null": "rows"}, "null must be one of"),
        ({"n_permutations": 0}, "n_permutations must be at least 1"),
        ({"n_repeats": 0}, "n_repeats must be at least 1"),
        ({"significance_level": 1}, "significance_level must lie"),
        ({"random_state": "seed"}, "random_state must be"),
        ({"sequential": -1}, "number of hits"),
    ],
)
def test_bad_arguments_are_refused(noise, options, complaint):
    with pytest.raises(ValueError, match=complaint):
        permutation_test(GaussianNB(), *noise, **options)


def test_constant_labels_are_refused(noise):
    with pytest.raises(ValueError, match="nothing to test"):
        permutation_test(GaussianNB(), noise[0], np.zeros(40, dtype=int))


@pytest.mark.parametrize(
    "random_state", [3, np.random.RandomState(0), np.random.default_rng(0), None], ids=["int", "old", "new", "none"]
)
def test_every_kind_of_seed_is_taken(noise, random_state):
    tested = permutation_test(GaussianNB(), *noise, n_permutations=19, n_repeats=2, random_state=random_state)
    assert 0.05 <= tested.p_value <= 1


def test_leave_one_out_and_plain_splits_are_taken(noise):
    X, y = noise
    splits = list(KFold(4).split(X))
    for cv in (LeaveOneOut(), splits, 4):
        tested = permutation_test(KNeighborsClassifier(1), X, y, cv=cv, n_permutations=19, random_state=0)
        assert tested.n_permutations_used == 19


def test_the_verdict_follows_the_rule_of_use():
    signal, none = result_with(0.1, [0.5] * 99), result_with(0.5, [0.4] * 99)
    used = result_with(0.1, [0.5] * 99, null="features_within_class")
    unused = result_with(0.5, [0.4] * 99, null="features_within_class")
    assert permutation_verdict(none, used).startswith("no class signal")
    assert permutation_verdict(signal, used).startswith("exploits interactions")
    assert permutation_verdict(signal, unused).startswith("no evidence of interactions: consider a simpler model")
    assert 'run null="features_within_class"' in permutation_verdict(signal)
    with pytest.raises(ValueError, match="needs a test with null='labels'"):
        permutation_verdict(used)


def test_a_result_reads_well_and_becomes_json(noise):
    tested = permutation_test(GaussianNB(), *noise, n_permutations=199, random_state=0)
    assert "not rejected at 0.05" in repr(tested)
    assert tested.reading.startswith("p = ")
    again = json.loads(json.dumps(tested.to_dict()))
    assert again["p_value"] == tested.p_value
    assert len(again["null_errors"]) == 199


def test_the_picture_shows_every_draw_and_marks_the_observed_error(noise):
    tested = permutation_test(GaussianNB(), *noise, n_permutations=199, n_repeats=3, random_state=0)
    figure = tested.plot()
    bars, observed, _ = figure.data
    assert sum(bars.y) == 199
    assert observed.x[0] == pytest.approx(tested.observed.mean())
    assert "observed" in observed.name
    assert figure.layout.title.text == tested.reading
    flat = result_with(0.1, [0.5] * 99).plot()
    assert sum(flat.data[0].y) == 99


def test_the_iris_classes_are_real():
    X, y = load_iris(return_X_y=True)
    options = {"cv": 3, "n_permutations": 19, "n_repeats": 1, "random_state": 0}
    tested = permutation_test(LogisticRegression(max_iter=500), X, y, **options)
    assert tested.decision()
    assert tested.null_mean == pytest.approx(2 / 3, abs=0.05)


def test_folds_that_ignore_groups_do_not_warn_of_it(recwarn):
    X, y = load_iris(return_X_y=True)
    permutation_test(GaussianNB(), X, y, groups=np.arange(150) % 5, n_permutations=200, n_repeats=1, random_state=0)
    assert not [str(warning.message) for warning in recwarn]


def test_the_band_of_the_repeats_is_explained_in_the_legend():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    result = permutation_test(GaussianNB(), X, y, n_permutations=200, n_repeats=4, random_state=0)
    (band,) = result.plot().layout.shapes
    assert (band.name, band.showlegend) == ("its 4 repeats", True)
