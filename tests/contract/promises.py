"""What every public estimator promises, each promise one function that fails with words.

A promise takes the card of a method and one of its example instances. Being public and having a card is all that it
takes to be held to all of them: ``test_promises.py`` finds the estimators through the catalogue.
"""

import doctest
import inspect
import re
import sys
import warnings
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from numpydoc.docscrape import ClassDoc, get_doc_object
from numpydoc.validate import validate
from scipy import sparse
from sklearn.base import clone
from sklearn.callback import CallbackSupportMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import get_tags

from claims import read_claims
from tolerances import rounding

DOCS = Path(__file__).parents[2] / "docs"
PROMISES = {}
COLUMNS = ["height", "weight", "width", "depth", "age", "speed"]

# What numpydoc's validator would like beyond what we promise: See Also and Examples on every method, for example.
UNPROMISED = {"ES01", "SA01", "EX01", "RT02", "SA04", "GL01", "GL02", "GL03", "SS05"}


class BrokenPromiseError(AssertionError):
    """Says who broke which promise, and how."""


def promise(title):
    """Register a promise under its title, and put the title and the estimator's name before what it complains about."""

    def register(check):
        def held(card, estimator):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    check(card, estimator)
                except AssertionError as error:
                    raise BrokenPromiseError(f"{card.name} breaks the promise {title!r}: {error}") from error

        PROMISES[title] = held
        return check

    return register


def example_table(card, estimator, dtype=np.float64):
    """A small table that suits the estimator, with zeros in it so that sparse means something."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    X = rng.exponential(size=(90, 6)) ** [1.0, 1.2, 0.8, 1.5, 0.6, 1.0]
    X[:, 0] += 2 * y
    X[:, 1] += y == 1
    X[rng.random(X.shape) < 0.1] = 0
    tags = get_tags(estimator)
    if not tags.input_tags.positive_only:
        X = X @ (np.eye(6) + 0.1 * rng.normal(size=(6, 6)))
        X[rng.random(X.shape) < 0.1] = 0
    if "classification" in card.tasks:
        if tags.classifier_tags is not None and not tags.classifier_tags.multi_class:
            y = np.minimum(y, 1)
        target = np.array(["low", "middle", "high"])[y]
    elif "regression" in card.tasks:
        target = X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=90)
    else:
        target = None
    return X.astype(dtype), target


def outputs(estimator, X):
    """Everything that a fitted estimator says about a table, by method."""
    said = {}
    for name in ("transform", "predict", "predict_proba", "decision_function", "score_samples"):
        if hasattr(estimator, name):
            said[name] = getattr(estimator, name)(X)
    if isinstance(estimator, SelectorMixin):
        said["ranking_"] = getattr(estimator, "ranking_", None)
    said["adjacency_"] = getattr(estimator, "adjacency_", None)  # of the graphs
    return {name: dense(value) for name, value in said.items() if value is not None}


def dense(value):
    return value.toarray() if sparse.issparse(value) else np.asarray(value)


def every_entry_stored(X):
    n_rows, n_columns = X.shape
    indptr = np.arange(0, X.size + 1, n_columns)
    return sparse.csr_array((X.ravel(), np.tile(np.arange(n_columns), n_rows), indptr), shape=X.shape)


def assert_same(first, second, rtol, why):
    for name, value in first.items():
        if value.dtype.kind in "fc":
            scale = max(float(np.abs(value).max(initial=0, where=np.isfinite(value))), 1e-12)
            apart = value != second[name]  # infinite entries may well be equal
            gap = float(np.abs(value[apart] - second[name][apart]).max(initial=0)) / scale
            assert gap <= rtol, f"{why}: `{name}` differs by {gap:.2g} of its size."
        else:
            assert np.array_equal(value, second[name]), f"{why}: `{name}` differs."


def fitted(estimator, X, y, random_state=0):
    estimator = clone(estimator)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=random_state)
    return estimator.fit(X, y)


@lru_cache(maxsize=3)
def example_fit(card, estimator, library=np):
    """The estimator fitted to its example table, or to a frame of a library: once for all promises that only ask it.

    An estimator equals itself alone, so that the one before is never mistaken for this one.
    """
    X, y = example_table(card, estimator)
    return fitted(estimator, X if library is np else frame_of(X, library), y)


def frame_of(X, library):
    return library.DataFrame(dict(zip(COLUMNS, X.T, strict=True)))


def message_of(action):
    """Message of the ValueError or TypeError that an action raises; None when it raises none."""
    try:
        action()
    except (ValueError, TypeError) as error:
        return str(error)
    return None


@promise("its card is complete")
def card_is_complete(card, estimator):
    assert card.summary.endswith("."), f"the docstring's first line is not a sentence: {card.summary!r}."
    assert len(card.when.split()) >= 5, f"`when` does not say when to use it: {card.when!r}."
    assert "O(" in card.cost, f"`cost` gives no order in n and p: {card.cost!r}."
    assert card.citation or card.paper is None, "the docstring has no References section that cites its paper."
    assert card.paper is None or card.paper in claimed_papers(), (
        f"claims.toml has no claims of the paper {card.paper!r}."
    )


@cache
def claimed_papers():
    return {key for key, _ in read_claims()}


@promise("it is documented in full")
def is_documented(card, estimator):
    assert not complaints(card.implementation), " ".join(complaints(card.implementation))
    model = example_fit(card, estimator, pd)
    there = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    told = told_attributes(card.implementation)
    assert there <= told, f"attributes that the docstring does not list: {', '.join(sorted(there - told))}."
    absent = {name for name in told if not hasattr(model, name)}
    assert not absent, f"attributes that the docstring lists, and fit does not set: {', '.join(sorted(absent))}."


@cache
def complaints(implementation):
    """What numpydoc misses in the docstrings of a class and of its own public methods."""
    own_methods = [
        getattr(implementation, name)
        for name, member in vars(implementation).items()
        if inspect.isfunction(inspect.unwrap(member)) and not name.startswith("_")
    ]
    return [
        f"{documented.__name__}: {code} {complaint}."
        for documented in [implementation, *own_methods]
        for code, complaint in validate(get_doc_object(documented))["errors"]
        if code not in UNPROMISED
    ]


@cache
def told_attributes(implementation):
    return {entry.name for entry in ClassDoc(implementation)["Attributes"]}


@promise("its example runs")
def example_runs(card, estimator):
    module = sys.modules[card.implementation.__module__]
    found = doctest.DocTestFinder(recurse=False).find(card.implementation, card.name, module=module, globs=vars(module))
    examples = [test for test in found if test.examples]
    assert examples, "the docstring has no example."
    if card.package == "fewer":  # pytest runs the examples of this package where they stand
        return
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for test in examples:
        runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)


@promise("it has a page in the docs")
def has_a_page(card, estimator):
    if card.package != "fewer":
        return
    assert card.name in words_of_the_docs(), f"no file of docs/gallery or docs/methods mentions {card.name}."


@cache
def words_of_the_docs():
    pages = [*DOCS.glob("gallery/*.py"), *DOCS.glob("methods/*.md"), *DOCS.glob("methods/*.rst")]
    return {word for page in pages for word in re.findall(r"\w+", page.read_text(encoding="utf-8"))}


@promise("it names what it gives")
def names_its_outputs(card, estimator):
    X, _ = example_table(card, estimator)
    nameless = example_fit(card, estimator)
    plain = dense(nameless.transform(X)) if hasattr(nameless, "transform") else None
    for library in (pd, pl):
        frame = frame_of(X, library)
        model = example_fit(card, estimator, library)
        assert list(model.feature_names_in_) == COLUMNS, "feature_names_in_ does not keep the columns of a frame."
        if plain is None:
            continue
        names = list(model.get_feature_names_out())
        assert len(names) == plain.shape[1], (
            f"get_feature_names_out gives {len(names)} names for {plain.shape[1]} columns."
        )
        framed = model.set_output(transform=library.__name__).transform(frame)
        assert isinstance(framed, library.DataFrame), f"set_output(transform={library.__name__!r}) gives no frame."
        assert list(framed.columns) == names, f"the columns of the {library.__name__} frame are not the names given."
        assert_same({"transform": plain}, {"transform": framed.to_numpy()}, 1e-10, "a frame gives other values")


@promise("the same random_state gives the same result")
def is_repeatable(card, estimator):
    X, y = example_table(card, estimator)
    seeded = "random_state" in estimator.get_params()
    state = np.random.get_state()  # noqa: NPY002  # the global generator is what must not matter
    try:
        np.random.seed(1)  # noqa: NPY002
        first = outputs(example_fit(card, estimator), X)
        np.random.seed(2)  # noqa: NPY002
        second = outputs(fitted(estimator, X, y), X)
    finally:
        np.random.set_state(state)  # noqa: NPY002
    why = "two fits with random_state=0 differ" if seeded else "two fits differ, and there is no random_state parameter"
    assert_same(first, second, 0, why)  # the same steps in the same order: the same bits


@promise("dense and sparse tables give the same result")
def dense_is_sparse(card, estimator):
    X, y = example_table(card, estimator)
    if not get_tags(estimator).input_tags.sparse:
        said = message_of(lambda: fitted(estimator, sparse.csr_array(X), y))
        assert said, "it is not tagged for sparse input, yet takes it without an error."
        assert "parse" in said, f"its error for sparse input does not say so: {said}"
        return
    expected = outputs(example_fit(card, estimator), X)
    for form, width in ((sparse.csr_array, np.int64), (sparse.csc_matrix, np.int32)):  # both layouts, kinds, widths
        # Among completers what is not stored is a missing value, so that zeros must be stored to say the same.
        table = form(every_entry_stored(X) if card.room == "complete" else X)
        table.indices, table.indptr = table.indices.astype(width), table.indptr.astype(width)
        found = outputs(fitted(estimator, table, y), table)
        assert_same(expected, found, 1e-6, f"{form.__name__} with {width.__name__} indices differs from dense")


FAR = 2.0**20
"""About 1e6. Powers of 2 round nothing, so that a table in another unit holds the very same numbers."""


def in_other_units(X):
    return {f"times {factor:.0e}": factor * X for factor in (FAR**-2, 1 / FAR, FAR, FAR**2)}


def far_from_zero(X):
    return {f"{FAR:.0e} standard deviations from zero": X + FAR * 2.0 ** np.round(np.log2(np.nanstd(X, axis=0)))}


UNITS = {"scale": in_other_units, "shift": far_from_zero}


def comparable(said, change, X):
    """What must stay the same: new columns and decision values up to a factor, and new columns up to a shift if theirs
    is one; log densities up to a constant for each observed entry. An infinite entry counts as twice the largest."""
    found = {}
    n_observed = np.isfinite(X).sum(axis=1)
    for name, value in said.items():
        if value.dtype.kind == "f" and name != "predict":
            value = np.where(np.isfinite(value), value, np.nan)
            if name == "score_samples":
                for number in np.unique(n_observed):
                    value[n_observed == number] -= np.nanmean(value[n_observed == number], axis=0)
            elif name == "transform" and change == "shift":
                value = value - np.nanmean(value, axis=0)
            if name in ("transform", "decision_function"):
                value = value / (np.nanmax(np.abs(value), initial=0) or 1)
            value = np.nan_to_num(value, nan=2)
        found[name] = value
    return found


def is_degenerate(found, expected):
    """Whether one class or value is predicted for all rows, where there were several."""
    return "predict" in found and len(np.unique(found["predict"])) == 1 < len(np.unique(expected["predict"]))


def precision_after(change, n_rows):
    """Another unit costs no digits. Columns far from zero keep 16 - 6 of them, of which the condition of the example,
    or a search that ends after a few steps, takes two more; differences of squares would take six."""
    return 1e-6 if change == "scale" else rounding(n_rows, FAR, condition=100)


def results_in(tables, estimator, y):
    """What a fit to each table says of it, and the warnings on the way."""
    for word, table in tables.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield word, outputs(fitted(estimator, table, y), table), " ".join(str(each.message) for each in caught)


def differs(first, second):
    try:
        assert_same(first, second, 1e-6, "")
    except (AssertionError, ValueError, IndexError):  # also if there are more columns, or fewer
        return True
    return False


@promise("its result does not depend on units, unless its card says why")
def has_no_unit(card, estimator):
    X, y = example_table(card, estimator)
    expected = outputs(example_fit(card, estimator), X)
    if get_tags(estimator).input_tags.allow_nan:  # without missing values a completer changes nothing
        X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
        expected = outputs(fitted(estimator, X, y), X)
    for change, tables_of in UNITS.items():
        why = getattr(card, f"depends_on_{change}")
        # A reason that begins so is about other parameters than those of the first example.
        is_first = str(estimator) == str(next(iter(card.examples())))
        if why.startswith("with ") and is_first:
            why = ""
        same = True
        for word, found, warned in results_in(tables_of(X), estimator, y):
            if not why:
                first, second = comparable(expected, change, X), comparable(found, change, X)
                assert_same(first, second, precision_after(change, len(X)), f"the table {word} differs")
            elif not counts_only(estimator, change):
                same = same and not differs(comparable(expected, change, X), comparable(found, change, X))
                told = re.search(r"\bunit\b|StandardScaler", warned) or "estimator" in estimator.get_params(deep=False)
                assert told or not is_degenerate(found, expected), (
                    f"the table {word} leaves nothing to predict, and no warning names the unit: {warned}"
                )
        assert not (same and why and is_first) or counts_only(estimator, change), (
            f"its card says that the result depends on {change} ({why}), yet it stays the same."
        )


def counts_only(estimator, change):
    """Whether a change makes no sense: counts have no other origin."""
    return change == "shift" and get_tags(estimator).input_tags.positive_only


@promise("float32 stays float32")
def keeps_float32(card, estimator):
    tags = get_tags(estimator)
    if tags.transformer_tags is None or "float32" not in tags.transformer_tags.preserves_dtype:
        return
    X, y = example_table(card, estimator, np.float32)
    found = fitted(estimator, X, y).transform(X)
    assert found.dtype == np.float32, f"it is tagged to keep float32, yet gives {found.dtype}."
    expected = fitted(estimator, X.astype(np.float64), y).transform(X.astype(np.float64))
    assert_same({"transform": dense(expected)}, {"transform": dense(found)}, 1e-3, "float32 differs from float64")


@promise("it is saved and loaded safely by skops")
def survives_skops(card, estimator):
    import skops.io

    X, _ = example_table(card, estimator)
    model = example_fit(card, estimator)
    saved = skops.io.dumps(model)
    untrusted = skops.io.get_untrusted_types(data=saved)
    foreign = [name for name in untrusted if not name.startswith(card.implementation.__module__.partition(".")[0])]
    assert not foreign, f"a saved model holds types that skops does not trust: {', '.join(foreign)}."
    assert_same(outputs(model, X), outputs(skops.io.loads(saved, trusted=untrusted), X), 0, "the loaded model differs")


class Watch:
    """A callback that counts the steps and stops after a given one."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.n_steps = 0

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        if context.parent is None:
            return False
        self.n_steps += 1
        return self.stop_after is not None and self.n_steps >= self.stop_after


@promise("an iterative fit takes callbacks, and stops when one says so")
def takes_callbacks(card, estimator):
    X, y = example_table(card, estimator)
    model = example_fit(card, estimator)
    if not (hasattr(model, "n_iter_") or "max_iter" in model.get_params()):
        return
    assert isinstance(model, CallbackSupportMixin), "it is iterative, yet no CallbackSupportMixin."
    watch = Watch()
    watched = fitted(clone(estimator).set_callbacks(watch), X, y)
    assert_same(outputs(model, X), outputs(watched, X), 0, "a callback that only watches changes the result")
    assert watch.n_steps > 1, f"a callback saw {watch.n_steps} steps of the fit."
    stopping = Watch(stop_after=1)
    stopped = fitted(clone(estimator).set_callbacks(stopping), X, y)
    assert stopping.n_steps < watch.n_steps, "a callback that says stop does not end the fit."
    assert outputs(stopped, X), "a fit that was stopped keeps nothing to work with."


@promise("bad input gets a clear error")
def refuses_bad_input(card, estimator):
    X, y = example_table(card, estimator)
    for word, bad, allowed in [("NaN", np.nan, get_tags(estimator).input_tags.allow_nan), ("inf", np.inf, False)]:
        spoilt = X.copy()
        spoilt[3, 2] = bad
        said = message_of(lambda spoilt=spoilt: fitted(estimator, spoilt, y))
        if allowed:
            assert said is None, f"it is tagged to take NaN, yet refuses it: {said}"
        else:
            assert said, f"a table with {word} is taken without an error."
            assert word in said, f"the error for {word} does not say so: {said}"
    model = example_fit(card, estimator)
    ask = next((getattr(model, name) for name in ("transform", "predict") if hasattr(model, name)), None)
    if ask is not None:
        said = message_of(lambda: ask(X[:, :-1]))
        assert said, "a table with a column less than in fit is taken without an error."
        assert "5 features" in said, f"the error for a missing column does not name the numbers: {said}"
    if "classification" in card.tasks:
        said = message_of(lambda: fitted(estimator, X, np.full(len(X), "only")))
        assert said, "a target with one class only is taken without an error."
        assert "class" in said, f"the error for a target with one class does not say so: {said}"


@promise("a selector ranks every column")
def selectors_rank(card, estimator):
    if not isinstance(estimator, SelectorMixin):
        return
    model = example_fit(card, estimator)
    for name in ("scores_", "ranking_"):
        assert hasattr(model, name), f"it has no `{name}`."
        assert np.shape(getattr(model, name)) == (6,), f"`{name}` has not one entry for each column."
    assert sorted(model.ranking_) == [1, 2, 3, 4, 5, 6], f"`ranking_` is not an order from 1 on: {model.ranking_}."
    chosen = model.get_support()
    assert set(model.ranking_[chosen]) == set(range(1, chosen.sum() + 1)), (
        "the columns kept are not the best ranked ones."
    )
