"""Batteries of permutation tests."""

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from fewer.evaluate import benjamini_hochberg
from fewer.theory import PermutationBattery, feature_permutation_power, label_permutation_power


@pytest.fixture(scope="module")
def battery():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    datasets = {
        "iris": load_iris(return_X_y=True),
        "product": (X, X[:, 0] * X[:, 1] > 0),
        "noise": (X, rng.permutation(np.repeat([0, 1], 60))),
    }
    estimators = {"tree": DecisionTreeClassifier(max_depth=4), "naive Bayes": GaussianNB()}
    return PermutationBattery(
        estimators, datasets, cv=2, n_permutations=40, n_repeats=1, significance_level=0.2, random_state=0
    )


@pytest.fixture(scope="module")
def found(battery):
    return battery.run()


def test_each_null_is_a_family_of_its_own(found):
    for null, family in found.families.items():
        p_values = [[found.tests[d, e, null].p_value for e in found.estimators] for d in found.datasets]
        np.testing.assert_array_equal(family.rejected, benjamini_hochberg(p_values, 0.2).rejected)
        assert family.rejected.shape == (3, 2)


def test_verdicts_tell_signal_from_interaction(found):
    assert found.verdict("product", "tree") == "exploits interactions"
    assert found.verdict("noise", "tree") == "no class signal"
    assert found.verdict("iris", "naive Bayes").startswith("no evidence of interactions")


def test_the_table_has_a_row_for_each_pair(found):
    frame = found.to_frame()
    assert frame.height == 6
    assert {"dataset", "estimator", "observed", "labels_p", "features_p", "verdict"} <= set(frame.columns)
    lines = repr(found).splitlines()
    assert lines[0] == "BatteryResult: 6 tests of each null hypothesis"
    assert len(lines) == 9
    assert lines[2].startswith("iris")
    assert "*" in lines[2]


def test_an_engine_gives_the_same(battery, found, workers):
    again = battery.run(workers)
    assert again.records() == found.records()


def test_classifiers_meet_the_same_randomised_data(found):
    datasets = PermutationBattery(
        {"one": GaussianNB(), "same": GaussianNB()},
        [load_iris(return_X_y=True)],
        cv=3,
        n_permutations=39,
        n_repeats=1,
        random_state=1,
    ).run()
    one, same = (datasets.tests["data 1", name, "labels"].null_errors for name in ("one", "same"))
    np.testing.assert_array_equal(one, same)


def test_too_few_permutations_for_many_tests_are_warned_of():
    sets = [load_iris(return_X_y=True)] * 3
    with pytest.warns(UserWarning, match=r"discovery among 3 tests needs p below .* set n_permutations"):
        PermutationBattery([GaussianNB()], sets, cv=2, n_permutations=20, n_repeats=1, random_state=0).run()


def test_names_are_told_apart():
    with pytest.raises(ValueError, match="both called 'GaussianNB'"):
        PermutationBattery([GaussianNB(), GaussianNB()], [])


def test_options_and_data_sets_are_checked_before_anything_runs():
    iris = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="'n_perms' is no option of permutation_test"):
        PermutationBattery([GaussianNB()], [iris], n_perms=10)
    with pytest.raises(TypeError, match=r"iris is a .*every data set must be a pair \(X, y\)"):
        PermutationBattery([GaussianNB()], {"iris": load_iris()})


def test_power_of_the_first_test_is_that_of_simulated_counts():
    n, t, alpha = 400, 0.45, 0.05
    rng = np.random.default_rng(0)
    threshold = n / 2 + stats.norm.ppf(alpha) * np.sqrt(n) / 2
    simulated = np.mean(rng.binomial(n, t, size=20_000) <= threshold)
    assert label_permutation_power(n, t, alpha) == pytest.approx(simulated, abs=0.03)


def test_power_grows_with_rows_and_correlation():
    powers = [feature_permutation_power(n, 0.2) for n in (50, 100, 400)]
    assert powers == sorted(powers)
    assert feature_permutation_power(100, 0.5) == feature_permutation_power(100, -0.5)
    assert label_permutation_power(100, 0.0) == 1.0


@pytest.mark.parametrize("bad", [{"n": 0, "t": 0.2}, {"n": 9, "t": 1.2}, {"n": 9, "t": 0.2, "significance_level": 0}])
def test_impossible_settings_are_refused(bad):
    with pytest.raises(ValueError, match=r"must|error rate"):
        label_permutation_power(**bad)
