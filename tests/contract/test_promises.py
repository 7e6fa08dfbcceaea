"""Every public estimator keeps every promise; see ``promises.py``."""

import re
from functools import partial

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


def scikit_learn_checks():
    """Each estimator with each check of scikit-learn.

    Slow are those of the second and further examples of a card, and those of scipy's sparse matrices: they do what
    those of the first example and of sparse arrays do.
    """
    seen = set()
    for (card, estimator), _, name in ESTIMATORS:
        for _, check in estimator_checks_generator(estimator):
            inner = check if isinstance(check, partial) else partial(check)
            repeats = card.name in seen or inner.func.__name__ == "check_estimator_sparse_matrix"
            given = ",".join(f"{key}={value}" for key, value in inner.keywords.items())
            yield pytest.param(
                estimator,
                check,
                id=f"{name}-{inner.func.__name__}" + (f"({given})" if given else ""),
                marks=pytest.mark.slow if repeats else (),
            )
        seen.add(card.name)


def test_every_public_estimator_has_a_card():
    assert undeclared_estimators() == [], "decorate them with fewer.catalogue.method"


def test_every_public_estimator_can_be_built():
    assert UNBUILT == []


@pytest.mark.parametrize("title", PROMISES)
@pytest.mark.parametrize(("card", "estimator"), ESTIMATORS)
def test_promise(card, estimator, title):
    PROMISES[title](card, estimator)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("estimator", "check"), [*scikit_learn_checks()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
