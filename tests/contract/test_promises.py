"""Every public estimator keeps every promise; see ``promises.py``."""

import re
import warnings
from functools import partial
from unittest import SkipTest

import pytest
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import estimator_checks_generator

from contract.promises import PROMISES
from contract.toys import Faithful
from fewer.catalogue import methods, undeclared_estimators

CARDS = [card for card in methods(package="fewer") if card.is_estimator]
ESTIMATORS, UNBUILT = [], []
for card in CARDS:
    try:
        ESTIMATORS += [
            pytest.param(card, estimator, id=re.sub(r"\s+", " ", str(estimator))) for estimator in card.examples()
        ]
    except TypeError as error:
        UNBUILT.append(f"{card.name} needs arguments ({error}): give its card examples=lambda: [{card.name}(...)]")


# Each of these has a quick form: a promise, or another check. What comes a second time with tables that cannot be
# written to (``readonly_memmap``) is slow too, beside check_readonly_memmap_input.
SLOW = {
    "check_estimator_sparse_array",  # every format, every width of indices; dense and sparse give the same
    "check_estimator_sparse_matrix",
    "check_transformer_preserve_dtypes",  # float32 stays float32; check_estimators_dtypes
    "check_fit_idempotent",  # the same random_state gives the same result
    "check_pipeline_consistency",
    "check_estimators_pickle",  # it is saved and loaded safely
    "check_n_features_in_after_fitting",  # bad input gets a clear error
    "check_transformer_data_not_an_array",  # check_transformer_general
    "check_classifier_data_not_an_array",
    "check_regressor_data_not_an_array",
}


# Checks of scikit-learn that may raise SkipTest: {(estimator as in the test's id, check): why that is right}.
# Today all of them run. Install what a check needs (pandas, polars, SCIPY_ARRAY_API=1) rather than list it here.
ALLOWED_SKIPS: dict[tuple[str, str], str] = {}

# Checks of scikit-learn that fail, as they must: {(class, check): why}. One that passes has to be taken off.
_WHOLE_SEQUENCES = "weights are those of whole sequences, and this check changes them from row to row"
ALLOWED_FAILURES: dict[tuple[str, str], str] = {
    (
        "AgreementClassifier",
        "check_classifiers_classes",
    ): "-1 stands for rows without a label, as in the semi-supervised "
    "classifiers of scikit-learn, which this check leaves out by their names",
    ("HarmonicClassifier", "check_classifiers_classes"): "-1 stands for rows without a label, as above",
    (
        "MetaCostClassifier",
        "check_sample_weight_equivalence_on_dense_data",
    ): "bootstrap samples of a row of weight 2 and of the row twice are equal in distribution, not draw by draw",
    ("HiddenMarkov", "check_sample_weights_not_overwritten"): _WHOLE_SEQUENCES,
    ("HiddenMarkov", "check_sample_weight_equivalence_on_dense_data"): _WHOLE_SEQUENCES,
    (
        "ShadowRelevanceSelector",
        "check_sample_weight_equivalence_on_dense_data",
    ): "shadows and the rows of trees are drawn at random, so that repeated rows are the same in distribution only, as "
    "in the bootstrapped forests of scikit-learn",
}


def checks_of(estimator):
    """The checks of scikit-learn that an estimator gets, by name: the function, its keywords, and the call to make."""
    checks = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SkipTestWarning)
        for _, check in estimator_checks_generator(estimator):
            inner = check if isinstance(check, partial) else partial(check)
            given = ",".join(f"{key}={value}" for key, value in inner.keywords.items())
            title = inner.func.__name__ + (f"({given})" if given else "")
            checks[title] = (inner.func.__name__, inner.keywords, partial(check, estimator))
    if any(warning.category is SkipTestWarning for warning in caught):  # scikit-learn leaves out all other checks
        checks["all checks"] = ("all checks", {}, partial(skip, "; ".join(str(warning.message) for warning in caught)))
    return checks


def skip(reason):
    raise SkipTest(reason)


def scikit_learn_checks():
    """Each estimator with the checks of scikit-learn by name, the quick ones and the slow ones.

    Slow are those of the second and further examples of a card, and those in ``SLOW``: of each there is a quick form.
    """
    seen = set()
    for (card, estimator), _, name in ESTIMATORS:
        quick, slow = {}, {}
        for title, (function, keywords, check) in checks_of(estimator).items():
            repeats = card.name in seen or function in SLOW or "readonly_memmap" in keywords
            (slow if repeats else quick)[title] = check
        seen.add(card.name)
        for checks, marks in ((quick, ()), (slow, pytest.mark.slow)):
            if checks:
                yield pytest.param(name, checks, id=name, marks=marks)


def hold(claims, allowed_skips=(), allowed_failures=()):
    """Try every claim, by name, and report all that do not hold: a test for each would take longer than the claims.

    A claim that is skipped holds only if it is one of ``allowed_skips``, and one of those must not hold by itself;
    likewise a claim that fails and ``allowed_failures``.
    """
    broken = []
    for title, claim in claims.items():
        try:
            if title in allowed_failures:
                try:
                    claim()
                except (AssertionError, ValueError):
                    continue
                raise AssertionError("this check no longer fails: take it off ALLOWED_FAILURES")
            claim()
            if title in allowed_skips:
                raise AssertionError("this check no longer skips: take it off ALLOWED_SKIPS")
        except SkipTest as skipped:
            if title in allowed_skips:
                warnings.warn(f"{title} was skipped: {skipped}", SkipTestWarning, stacklevel=2)
            else:
                error = AssertionError(f"this check was skipped, and ALLOWED_SKIPS does not list it: {skipped}")
                error.add_note(f"^ {title}")
                broken.append(error)
        except Exception as error:
            error.add_note(f"^ {title}")
            broken.append(error)
    if broken:
        raise ExceptionGroup("broken promises", broken)


def test_every_public_estimator_has_a_card():
    assert undeclared_estimators() == [], "decorate them with fewer.catalogue.method"


def test_every_public_estimator_can_be_built():
    assert UNBUILT == []


@pytest.mark.parametrize(("card", "estimator"), ESTIMATORS)
def test_promises(card, estimator):
    hold({title: partial(promise, card, estimator) for title, promise in PROMISES.items()})


@pytest.mark.filterwarnings("ignore::UserWarning", "default::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(("name", "checks"), [*scikit_learn_checks()])
def test_scikit_learn_checks(name, checks):
    excused = {check for estimator, check in ALLOWED_FAILURES if name.partition("(")[0] == estimator}
    hold(checks, {check for estimator, check in ALLOWED_SKIPS if estimator == name}, excused)


def test_every_allowed_skip_is_a_check_of_an_estimator_and_has_a_reason():
    listed = {name for name, _ in ALLOWED_SKIPS}
    there = {(name, title) for (_, built), _, name in ESTIMATORS if name in listed for title in checks_of(built)}
    assert ALLOWED_SKIPS.keys() <= there
    assert all(ALLOWED_SKIPS.values())


def test_every_allowed_failure_is_a_check_of_an_estimator_and_has_a_reason():
    listed = {name for name, _ in ALLOWED_FAILURES}
    built = [estimator for (card, estimator), _, _ in ESTIMATORS if card.name in listed]
    there = {(type(estimator).__name__, title) for estimator in built for title in checks_of(estimator)}
    assert ALLOWED_FAILURES.keys() <= there
    assert all(ALLOWED_FAILURES.values())


def test_a_failure_that_was_expected_and_does_not_come_is_reported():
    with pytest.raises(ExceptionGroup) as caught:
        hold({"holds": lambda: None}, allowed_failures={"holds"})
    assert "no longer fails" in str(caught.value.exceptions[0])


def test_a_skipped_check_does_not_count_as_passed():
    with pytest.raises(ExceptionGroup) as caught:
        hold({"runs": lambda: None, "skips": partial(skip, "no pandas")})
    (error,) = caught.value.exceptions
    assert "skipped, and ALLOWED_SKIPS does not list it: no pandas" in str(error)
    assert error.__notes__ == ["^ skips"]


def test_an_allowed_skip_is_reported_and_an_outdated_one_fails():
    with pytest.warns(SkipTestWarning, match="skips was skipped: no pandas"):
        hold({"skips": partial(skip, "no pandas")}, {"skips"})
    with pytest.raises(ExceptionGroup) as caught:
        hold({"runs": lambda: None}, {"runs"})
    assert "no longer skips" in str(caught.value.exceptions[0])


def test_an_estimator_that_scikit_learn_leaves_out_counts_as_skipped():
    class LeftOut(Faithful):
        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.input_tags.two_d_array = False
            return tags

    with pytest.raises(SkipTest, match="Can't test estimator LeftOut"):
        checks_of(LeftOut())["all checks"][-1]()
    assert "all checks" not in checks_of(Faithful())
