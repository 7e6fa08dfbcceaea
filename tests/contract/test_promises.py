"""Every public estimator keeps every promise; see ``promises.py``."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from contract.promises import PROMISES
from fewer.catalogue import methods, undeclared_estimators

CARDS = [card for card in methods(package="fewer") if card.is_estimator]
ESTIMATORS, UNBUILT = [], []
for card in CARDS:
    try:
        ESTIMATORS += [(card, estimator) for estimator in card.examples()]
    except TypeError as error:
        UNBUILT.append(f"{card.name} needs arguments ({error}): give its card examples=lambda: [{card.name}(...)]")


def test_every_public_estimator_has_a_card():
    assert undeclared_estimators() == [], "decorate them with fewer.catalogue.method"


def test_every_public_estimator_can_be_built():
    assert UNBUILT == []


@pytest.mark.parametrize("title", PROMISES)
@pytest.mark.parametrize(("card", "estimator"), ESTIMATORS, ids=[str(estimator) for _, estimator in ESTIMATORS])
def test_promise(card, estimator, title):
    PROMISES[title](card, estimator)


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks([estimator for _, estimator in ESTIMATORS])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
