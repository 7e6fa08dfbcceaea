"""A toy that breaks one promise is caught, and the message says which."""

import numpy as np
import pandas as pd
import pytest

from contract.promises import PROMISES, BrokenPromiseError
from contract.toys import Faithful, FaithfulSelector
from fewer.catalogue import method

BROKEN = {}


def breaks(title, *, saying, of=Faithful, **card):
    """A copy of a faithful toy, changed by the decorated function and named after it, is to break this promise."""

    def register(change):
        def toy():
            # In the toys' module, so that skops finds it by name as it would a real one.
            namespace = {"__doc__": of.__doc__, "__module__": of.__module__, "__qualname__": change.__name__}
            broken = type(change.__name__, (of,), namespace)
            change(broken)
            declared = of.__fewer_method__
            facts = {"room": declared.room, "tasks": declared.tasks, "when": declared.when, "cost": declared.cost}
            return method(**facts | card)(broken)

        BROKEN[change.__name__] = (title, saying, toy)
        return change

    return register


@breaks("its card is complete", saying="gives no order", cost="cheap")
def CardWithoutCost(toy): ...


@breaks("its card is complete", saying="no References section", paper="slides")
def PaperWithoutCitation(toy): ...


@breaks("its card is complete", saying="no claims of the paper 'slices'", paper="slices")
def PaperMisspelt(toy):
    toy.__doc__ += "\n    References\n    ----------\n    .. [1] Somebody (2000). Something.\n"


@breaks("it is documented in full", saying="PR01 Parameters {'max_iter'} not documented")
def ParameterLeftOut(toy):
    toy.__doc__ = toy.__doc__.replace("    max_iter : int, default=200\n        Power iterations.\n", "")


@breaks("it is documented in full", saying="attributes that the docstring does not list: n_iter_")
def AttributeLeftOut(toy):
    toy.__doc__ = toy.__doc__.replace("    n_iter_ : int\n        Iterations run.\n", "")


@breaks("it is documented in full", saying="lists, and fit does not set: singular_value_")
def AttributeMadeUp(toy):
    toy.__doc__ = toy.__doc__.replace(
        "    n_iter_ : int\n", "    singular_value_ : float\n        Size.\n    n_iter_ : int\n"
    )


@breaks("its example runs", saying="Expected:")
def WrongExample(toy):
    toy.__doc__ = toy.__doc__.replace("0.894", "0.895")


@breaks("its example runs", saying="no example")
def NoExample(toy):
    toy.__doc__ = toy.__doc__.replace(">>> ", "")


@breaks("it names what it gives", saying="gives 2 names for 1 columns")
def TooManyNames(toy):
    toy.get_feature_names_out = lambda self, input_features=None: np.array(["a", "b"], dtype=object)


@breaks("the same random_state gives the same result", saying="two fits with random_state=0 differ")
def IgnoresItsSeed(toy):
    toy.transform = lambda self, X: Faithful.transform(self, X) + 1e-3 * np.random.normal()  # noqa: NPY002


@breaks("the same random_state gives the same result", saying="there is no random_state parameter")
def HasNoSeed(toy):
    def init(self, max_iter=200):
        self.max_iter = max_iter

    toy.__init__ = init
    toy._start = lambda self, X: np.random.normal(size=X.shape[1])  # noqa: NPY002
    toy._parameter_constraints = {"max_iter": Faithful._parameter_constraints["max_iter"]}
    toy.transform = lambda self, X: Faithful.transform(self, X) + 1e-3 * np.random.normal()  # noqa: NPY002


@breaks("dense and sparse tables give the same result", saying="csr_array with int64 indices differs from dense")
def SparseDiffers(toy):
    def transform(self, X):
        found = Faithful.transform(self, X)
        return found if isinstance(X, np.ndarray | pd.DataFrame) or not hasattr(X, "toarray") else 2 * found

    toy.transform = transform


@breaks("dense and sparse tables give the same result", saying="csr_array with int64 indices differs from dense")
def WideIndicesDiffer(toy):
    def transform(self, X):
        found = Faithful.transform(self, X)
        return 2 * found if getattr(getattr(X, "indices", None), "dtype", None) == np.int64 else found

    toy.transform = transform


UNITS = "its result does not depend on units, unless its card says why"


@breaks(UNITS, saying="the table times 9e-13 differs: `transform` differs")
def HasAFixedRidge(toy):
    toy.transform = lambda self, X: np.tanh(Faithful.transform(self, X))


@breaks(UNITS, saying="the table 1e+06 standard deviations from zero differs: `transform` differs")
def SubtractsSquares(toy):
    def fit(self, X, y=None):
        X = self._validated(X, reset=True)
        self.n_iter_, self.mean_ = 1, np.asarray(X.mean(axis=0)).ravel()
        products = X.T @ X
        products = products.toarray() if hasattr(products, "toarray") else products
        self.direction_ = np.linalg.eigh(products / X.shape[0] - np.outer(self.mean_, self.mean_))[1][:, -1]
        return self

    toy.fit = fit


@breaks(UNITS, saying="depends on shift (it says so), yet it stays the same", depends_on_shift="it says so")
def ExcusedInVain(toy): ...


@breaks(UNITS, saying="no warning names the unit", of=FaithfulSelector, depends_on_scale="0.1 is in its unit")
def PredictsOneClass(toy):
    toy.predict = lambda self, X: np.abs(np.asarray(X)[:, 0]) > 0.1


@breaks("float32 stays float32", saying="yet gives float64")
def WidensFloats(toy):
    toy.transform = lambda self, X: Faithful.transform(self, X).astype(np.float64)


@breaks("it is saved and loaded safely by skops", saying="types that skops does not trust: sklearn.callback")
def HoldsAStranger(toy):
    def fit(self, X, y=None):
        from sklearn.callback import ProgressBar

        Faithful.fit(self, X)
        self._bar = ProgressBar()
        return self

    toy.fit = fit


@breaks("an iterative fit takes callbacks, and stops when one says so", saying="does not end the fit")
def NeverStops(toy):
    toy._heeds_callbacks = lambda self: False


@breaks("bad input gets a clear error", saying="a table with inf is taken without an error")
def TakesAnything(toy):
    def validated(self, X, reset):
        if hasattr(X, "replace"):
            return Faithful._validated(self, X, reset)
        if isinstance(X, np.ndarray):
            X = np.where(np.isinf(X), 0, X)
        return Faithful._validated(self, X, reset)

    toy._validated = validated


@breaks("bad input gets a clear error", saying="one class only is taken without an error", of=FaithfulSelector)
def OneClassWillDo(toy):
    toy._check_classes = lambda self, classes: None


@breaks("a selector ranks every column", saying="`ranking_` is not an order from 1 on", of=FaithfulSelector)
def RanksFromZero(toy):
    def fit(self, X, y):
        FaithfulSelector.fit(self, X, y)
        self.ranking_ -= 1
        return self

    toy.fit = fit
    toy._get_support_mask = lambda self: self.ranking_ < 3


@breaks("a selector ranks every column", saying="it has no `scores_`", of=FaithfulSelector)
def HidesItsScores(toy):
    def fit(self, X, y):
        FaithfulSelector.fit(self, X, y)
        del self.scores_
        return self

    toy.fit = fit
    toy.__doc__ = toy.__doc__.replace(
        "    scores_ : ndarray of shape (n_features,)\n        Variance of the class means.\n", ""
    )


@breaks("it has a page in the docs", saying="no file of docs/gallery or docs/methods mentions NobodyWroteAboutMe")
def NobodyWroteAboutMe(toy): ...


@pytest.mark.parametrize("title", PROMISES)
@pytest.mark.parametrize("toy", [Faithful, FaithfulSelector])
def test_faithful_toys_keep_every_promise(title, toy):
    PROMISES[title](toy.__fewer_method__, toy())


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_promise_is_named(name, monkeypatch):
    title, saying, make_toy = BROKEN[name]
    toy = make_toy()
    monkeypatch.setattr(f"contract.toys.{name}", toy, raising=False)
    card = toy.__fewer_method__
    if title == "it has a page in the docs":
        object.__setattr__(card, "package", "fewer")
    with pytest.raises(BrokenPromiseError) as caught:
        PROMISES[title](card, toy())
    assert str(caught.value).startswith(f"{name} breaks the promise {title!r}: ")
    assert saying in str(caught.value)


def test_every_promise_is_broken_by_some_toy():
    assert {title for title, _, _ in BROKEN.values()} == set(PROMISES)
