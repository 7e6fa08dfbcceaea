"""Every public estimator keeps every promise; see ``promises.py``."""

import re
from functools import partial
from unittest import SkipTest

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from contract.promises import PROMISES
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


def scikit_learn_checks():
    """Each estimator with the checks of scikit-learn by name, the quick ones and the slow ones.

    Slow are those of the second and further examples of a card, and those in ``SLOW``: of each there is a quick form.
    """
    seen = set()
    for (card, estimator), _, name in ESTIMATORS:
        quick, slow = {}, {}
        for _, check in estimator_checks_generator(estimator):
            inner = check if isinstance(check, partial) else partial(check)
            repeats = card.name in seen or inner.func.__name__ in SLOW or "readonly_memmap" in inner.keywords
            given = ",".join(f"{key}={value}" for key, value in inner.keywords.items())
            title = inner.func.__name__ + (f"({given})" if given else "")
            (slow if repeats else quick)[title] = partial(check, estimator)
        seen.add(card.name)
        for checks, marks in ((quick, ()), (slow, pytest.mark.slow)):
            if checks:
                yield pytest.param(checks, id=name, marks=marks)


def hold(claims):
    """Try every claim, by name, and tell of all that do not hold: a test for each would take longer than the claims."""
    broken = []
    for title, claim in claims.items():
        try:
            claim()
        except SkipTest:
            continue
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


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("checks", [*scikit_learn_checks()])
def test_scikit_learn_checks(checks):
    hold(checks)
