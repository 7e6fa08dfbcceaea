"""Error curves of linear learners on drawn training sets."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC

from fewer.datasets import make_two_gaussians
from fewer.theory import expected_error, peaking_curve
from tolerances import rounding

MU = 1 / np.arange(1, 101)


class MeanDifference:
    """The rule of the closed forms as a plain scikit-learn estimator."""

    def __init__(self):
        pass

    def get_params(self, deep=True):
        return {}

    def fit(self, X, y):
        self.coef_, self.intercept_ = y @ X, 0.0
        return self


def test_the_fast_rule_gives_what_fits_one_by_one_give():
    for with_std in (False, True):
        options = {"n_repeats": 5, "with_std": with_std, "random_state": 0}
        fast = peaking_curve("mean_difference", MU, 20, **options)
        plain = peaking_curve(MeanDifference(), MU, 20, **options)
        # Sums over the rows, then over the columns; the error is a function of mu . w / |w| with slopes below 1.
        tolerance = rounding(20 + MU.size, scale=np.linalg.norm(MU))
        np.testing.assert_allclose(fast.errors, plain.errors, rtol=0, atol=tolerance)


def test_the_mean_difference_rule_errs_as_expected():
    curve = peaking_curve("mean_difference", MU, 20, n_repeats=500, random_state=0)
    np.testing.assert_array_less(np.abs(curve.mean - curve.expected), 4 * curve.se + 1e-5)
    np.testing.assert_allclose(curve.expected, expected_error(MU, 20, n=curve.sizes, method="exact"))


@pytest.mark.parametrize("estimator", [SVC(kernel="linear", C=0.01), LogisticRegression(), RidgeClassifier()])
@pytest.mark.parametrize("with_std", [False, True])
def test_exact_errors_agree_with_predictions_on_fresh_rows(estimator, with_std):
    mu = np.array([1.0, 0.6, 0.3])
    curve = peaking_curve(estimator, mu, 12, [3], n_repeats=1, with_std=with_std, random_state=5)
    seed = np.random.RandomState(5).randint(2**31 - 1, size=1)[0]
    X, y, _ = make_two_gaussians(12, mu, random_state=seed)
    scales = X.std(axis=0, ddof=1) if with_std else 1.0
    fitted = estimator.fit(X / scales, y)
    fresh, truth, _ = make_two_gaussians(200_000, mu, random_state=99)
    assert curve.errors[0, 0] == pytest.approx(np.mean(fitted.predict(fresh / scales) != truth), abs=0.005)


def test_one_training_set_serves_all_sizes():
    whole = peaking_curve(LinearSVC(C=1e-3), MU, 20, [1, 10, 100], n_repeats=3, random_state=0)
    part = peaking_curve(LinearSVC(C=1e-3), MU, 20, [10], n_repeats=3, random_state=0)
    np.testing.assert_array_equal(whole.errors[:, 1], part.errors[:, 0])


def test_sparse_coefficients_and_rules_without_any_are_taken():
    class Sparsified(SGDClassifier):
        def fit(self, X, y):
            return super().fit(X, y).sparsify()

    options = {"n_repeats": 2, "random_state": 0}
    sparse = peaking_curve(Sparsified(random_state=0), MU, 20, [5], **options)
    dense = peaking_curve(SGDClassifier(random_state=0), MU, 20, [5], **options)
    np.testing.assert_allclose(sparse.errors, dense.errors)
    nothing_left = LogisticRegression(C=1e-6, l1_ratio=1, solver="liblinear")
    assert peaking_curve(nothing_left, MU, 20, [5], **options).mean == 0.5


def test_the_result_does_not_depend_on_where_it_runs(workers):
    options = {"sizes": [1, 10, 100], "n_repeats": 4, "random_state": 0}
    here = peaking_curve(SVC(kernel="linear"), MU, 20, **options)
    there = peaking_curve(SVC(kernel="linear"), MU, 20, engine=workers, **options)
    assert not workers.closed
    np.testing.assert_array_equal(here.errors, there.errors)


def test_the_order_of_the_means_makes_no_difference_and_the_estimator_stays_unfitted():
    learner = LinearSVC(C=1e-3)
    options = {"sizes": [2, 50], "n_repeats": 2, "random_state": 0}
    first, again = (peaking_curve(learner, mu, 20, **options) for mu in (MU, -MU[::-1]))
    np.testing.assert_array_equal(first.errors, again.errors)
    assert not hasattr(learner, "coef_")


def test_the_result_reads_well_saves_and_plots():
    curve = peaking_curve("mean_difference", MU, 20, [1, 4, 100], n_repeats=50, random_state=0)
    assert curve.n_features == 4
    assert repr(curve).startswith("PeakingCurve: mean difference, 20 rows, 50 repeats\n  smallest error 0.1")
    assert json.loads(json.dumps(curve.to_dict()))["sizes"] == [1, 4, 100]
    assert [trace.name for trace in curve.plot().data] == [
        "two standard errors",
        "mean difference",
        "mean difference, exactly",
    ]


def test_one_repeat_has_no_standard_error():
    assert np.isnan(peaking_curve("mean_difference", MU, 20, [1], n_repeats=1).se).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimator": "svm"}, "give a linear estimator or 'mean_difference'"),
        ({"sizes": [5, 1]}, "increasing whole numbers between 1 and the 100 features"),
        ({"sizes": [1, 101]}, "increasing whole numbers"),
        ({"m": 1}, "at least 2 rows"),
    ],
)
def test_bad_input_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        peaking_curve(**{"estimator": "mean_difference", "mu": MU, "m": 10} | change)


def test_a_learner_that_is_not_linear_is_refused_with_the_reason():
    with pytest.raises(TypeError, match="KNeighborsClassifier has no coef_ and intercept_"):
        peaking_curve(KNeighborsClassifier(3), MU, 10, [1], n_repeats=1)


def test_one_size_and_two_repeats_are_enough_for_a_standard_error():
    curve = peaking_curve("mean_difference", np.ones(4), 20, [3], n_repeats=2, random_state=0)
    assert curve.sizes.tolist() == [3]
    assert np.isfinite(curve.se).all()
