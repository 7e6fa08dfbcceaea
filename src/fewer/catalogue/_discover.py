"""Finding the methods: the public names of our rooms, and the entry points of other packages.

Another package joins by an entry point of the group ``fewer.methods`` that names a class or function decorated by
:func:`fewer.catalogue.method`; nothing here needs to change.
"""

import difflib
import importlib
import inspect
import re
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from fewer._lazy import module_of_name
from fewer.catalogue._method import CARD, ROLES, ROOMS, TASKS, TRAITS, CatalogueError, Method, Trait, card_of

if TYPE_CHECKING:
    from fewer.io import Dataset

GROUP = "fewer.methods"
_CURES: dict[Trait, str] = {
    "missing": "impute them inside the folds, for example with sklearn.impute.SimpleImputer in a Pipeline",
    "sparse": "convert it yourself if it fits into memory (X.toarray())",
    "categorical": "encode these columns inside the folds, for example with sklearn.preprocessing.OneHotEncoder",
}


def methods(
    *,
    room: str | None = None,
    task: str | None = None,
    handles: str | Iterable[str] = (),
    package: str | None = None,
    role: str | None = None,
) -> list[Method]:
    """Methods of the catalogue, by room and name.

    Parameters
    ----------
    room : str, default=None
        Only those of this room.
    task : str, default=None
        Only those for this task.
    handles : str or iterable of str, default=()
        Only those that take such data as they are: "missing", "sparse", "categorical".
    package : str, default=None
        Only those that this package brings; "fewer" for our own.
    role : str, default=None
        Only those that a study can use as "selector", "extractor", "learner" or "imputer". Learners and imputers that
        go by a short name, such as "ridge", are listed by role only.

    Returns
    -------
    found : list of Method
        Their cards.

    Examples
    --------
    >>> from fewer.catalogue import methods
    >>> "KurtosisICA" in [card.name for card in methods(room="extract", task="unsupervised", package="fewer")]
    True
    """
    wanted = (handles,) if isinstance(handles, str) else tuple(handles)
    _refuse_unknown("room", [room] if room else [], ROOMS)
    _refuse_unknown("task", [task] if task else [], TASKS)
    _refuse_unknown("kind of data", wanted, TRAITS)
    _refuse_unknown("role", [role] if role else [], ROLES)
    return [
        card
        for card in (*_catalogue().values(), *(_short_named(role) if role else ()))
        if (room is None or card.room == room)
        and (role is None or role in card.roles)
        and (task is None or task in card.tasks)
        and (package is None or card.package == package)
        and set(wanted) <= set(card.handles)
    ]


def find(name: str, *, role: str | None = None) -> Method:
    """The card of one method, by name.

    Parameters
    ----------
    name : str
        Name of the class or function, or what else it alone is called; upper and lower case make no difference.
    role : str, default=None
        Only a "selector", "extractor", "learner" or "imputer".

    Returns
    -------
    card : Method
        Its card.

    Examples
    --------
    >>> from fewer.catalogue import find
    >>> find("kurtosisica").room
    'extract'
    >>> find("boruta").name
    'ShadowRelevanceSelector'
    """
    # Our own come first, and only the one asked for is imported: a study asks for them thousands of times.
    own = _own_card(name.lower()) or _card_of_entry(name)
    if own is not None and (role is None or role in own.roles):
        return own
    found = search(name, role=role)
    named = [card for card in found if name.lower() in _names(card)]
    exact = [card for card in named if card.name.lower() == name.lower()] or named
    if len(exact) == 1 or (exact and exact[0].name.lower() == name.lower()):
        return exact[0]
    what = role or "method"
    if own is not None:
        raise CatalogueError(f"{own.name} is not {_article(what)}; `fewer methods --role {what}` lists them.")
    if named:
        raise CatalogueError(f"{name!r} is what several {what}s are called: {', '.join(c.name for c in named)}.")
    cards = {card.name.lower(): card for card in methods(role=role)}
    begin = sorted(key for key in cards if key.startswith(name.lower()))
    close = begin or difflib.get_close_matches(name.lower(), cards, n=3, cutoff=0.5) or [c.name.lower() for c in found]
    hint = f" Did you mean {' or '.join(cards[key].name for key in close[:5])}?" if close else ""
    option = f" --role {role}" if role else ""
    raise CatalogueError(f"There is no {what} {name!r} in the catalogue.{hint} `fewer methods{option}` lists them all.")


def search(words: str, *, role: str | None = None) -> list[Method]:
    """Methods that go by this name, or whose card contains these words; the best matches first.

    Parameters
    ----------
    words : str
        A name or a part of it, or words; upper and lower case make no difference.
    role : str, default=None
        Only those that a study can use as "selector", "extractor", "learner" or "imputer".

    Returns
    -------
    found : list of Method
        Those of this name, those that are also called so, those whose name contains it, and those whose summary, use
        or reference contains all the words.

    Examples
    --------
    >>> from fewer.catalogue import search
    >>> [card.name for card in search("Boruta")]
    ['ShadowRelevanceSelector']
    """
    wanted = words.lower()
    cards = methods(role=role) if role else [*methods(), *_short_named(None)]

    def rank(card: Method) -> int | None:
        names = _names(card)
        if wanted in names:
            return names.index(wanted) > 0
        # In names, words begin with a capital letter: RFE is in RidgeRFE, not in HaarFeatures.
        if any(place == 0 or card.name[place].isupper() for place in _places(wanted, names[0])):
            return 2
        if any(wanted in name.split() for name in names[1:]):
            return 2
        text = " ".join((card.summary, card.when, card.citation)).lower()
        whole_words = all(re.search(rf"\b{re.escape(word)}s?\b", text) for word in wanted.split())
        return 3 if wanted.split() and whole_words else None

    ranks = [(place, card) for card in cards if (place := rank(card)) is not None]
    return [card for _, card in sorted(ranks, key=lambda pair: pair[0])]


def _names(card: Method) -> list[str]:
    """All that a method is called, its name first, in lower case."""
    return [card.name.lower(), *(alias.lower() for alias in card.aliases)]


def _places(part: str, name: str) -> Iterator[int]:
    """Where a part of a name begins."""
    return (place for place in range(len(name)) if part and name.startswith(part, place))


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeio' else 'a'} {noun}"


def _short_named(role: str | None) -> Iterator[Method]:
    from fewer.catalogue._roles import short_named  # which needs find

    return short_named(role)


def _card_of_entry(name: str) -> Method | None:
    """The card behind the entry point of this name, without a look at the others."""
    for entry in entry_points(group=GROUP):
        if entry.name.lower() == name.lower():
            card = _card_of_guest(entry)
            return card if card is not None and card.name.lower() == name.lower() else None
    return None


# A whole study is a selector as well: public names of rooms above those of the methods.
_FROM_ABOVE = {"study": ("StudySelector",)}


def public_objects() -> Iterator[tuple[str, Any]]:
    """Every public class and function of our rooms, classes of results included, as (dotted name, object)."""
    for room in (*ROOMS, *_FROM_ABOVE):
        module = importlib.import_module(f"fewer.{room}")
        names = _FROM_ABOVE.get(room) or [*getattr(module, "__all__", ()), *module_of_name(f"fewer.{room}")]
        for name in dict.fromkeys(names):
            found = getattr(module, name)
            if inspect.isclass(found) or inspect.isfunction(found):
                yield f"fewer.{room}.{name}", found


def undeclared_estimators() -> list[str]:
    """Public estimators without a card of their own; the contract wants none."""
    from sklearn.base import BaseEstimator

    return [
        dotted
        for dotted, found in public_objects()
        if inspect.isclass(found) and issubclass(found, BaseEstimator) and CARD not in vars(found)
    ]


@cache
def _own_card(lower_name: str) -> Method | None:
    """The card of our own method of this name in lower case, without a look at the others."""
    for room in (*ROOMS, *_FROM_ABOVE):
        for public_name in _FROM_ABOVE.get(room) or module_of_name(f"fewer.{room}"):
            if public_name.lower() == lower_name:
                found = getattr(importlib.import_module(f"fewer.{room}"), public_name)
                return card_of(found) if inspect.isclass(found) or inspect.isfunction(found) else None
    return None


@cache
def _own() -> dict[str, Method]:
    return {found.__name__: vars(found)[CARD] for _, found in public_objects() if CARD in vars(found)}


def _catalogue() -> dict[str, Method]:
    cards = dict(_own())
    for entry in entry_points(group=GROUP):
        card = _card_of_guest(entry)
        if card is None:
            continue
        if card.name in cards and cards[card.name].implementation is not card.implementation:
            warnings.warn(
                f"The entry point {entry.value!r} defines the method {card.name}, but {cards[card.name].package} "
                "already has a method of this name; it is ignored.",
                stacklevel=3,
            )
            continue
        cards[card.name] = card
    return dict(sorted(cards.items(), key=lambda item: (ROOMS.index(item[1].room), item[0])))


def _card_of_guest(entry: EntryPoint) -> Method | None:
    """Card of another package's method; a package that is broken is named and left out, and the rest goes on."""
    try:
        found = entry.load()
    except Exception as error:  # whatever a stranger's module raises must not take the catalogue down
        warnings.warn(f"The method {entry.name!r} of {entry.value!r} could not be loaded: {error!r}.", stacklevel=4)
        return None
    card = card_of(found)
    if card is None:
        warnings.warn(
            f"The entry point {entry.value!r} refers to an object without a card; decorate it with "
            "fewer.catalogue.method.",
            stacklevel=4,
        )
    return card


def _refuse_unknown(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    for word in given:
        if word not in known:
            raise CatalogueError(f"There is no {what} {word!r}; choose from {', '.join(known)}.")


class UnsuitableDataError(ValueError):
    """A table of a kind that the method cannot take."""


def check_takes(card: Method, dataset: "Dataset") -> None:
    """Raise :class:`UnsuitableDataError` unless the method takes this table as it is.

    Parameters
    ----------
    card : Method
        Card of the method.
    dataset : Dataset
        The table.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.catalogue import check_takes, find
    >>> from fewer.io import read_table
    >>> check_takes(find("ReconstructionPCA"), read_table(np.array([[1.0, np.nan], [2.0, 3.5], [0.5, 2.0]])))
    Traceback (most recent call last):
    ...
    fewer.catalogue...UnsuitableDataError: ReconstructionPCA does not accept missing values, and x1 has 1...
    """
    _check_task(card, dataset)
    needed = traits_of(dataset)
    for trait, where in needed.items():
        if trait in card.handles:
            continue
        peers = [
            other.name
            for other in methods(room=card.room, handles=tuple(needed))
            if set(other.tasks) & set(card.tasks) and other.name != card.name
        ]
        raise UnsuitableDataError(f"{card.name} {where}. {_advice(peers, card.room, _CURES[trait])}")


def traits_of(dataset: "Dataset") -> dict[Trait, str]:
    """What makes this table difficult, each with words that say where."""
    traits: dict[Trait, str] = {}
    if dataset.is_sparse:
        traits["sparse"] = "does not accept sparse tables, and this one is sparse"
    if dataset.has_missing:
        counts = dataset.missing_by_column
        found = [(name, int(count)) for name, count in zip(dataset.columns, counts, strict=True) if count]
        first, count = found[0]
        more = len(found) - 1
        others = f", as {'has' if more == 1 else 'have'} {more} other column{'' if more == 1 else 's'}" if more else ""
        traits["missing"] = f"does not accept missing values, and {first} has {count}{others}"
    words = [] if dataset.is_sparse else _words_of(dataset)
    if words:
        verb = f" and {len(words) - 1} more are not" if len(words) > 1 else " is not"
        traits["categorical"] = f"accepts numbers only, and {words[0]}{verb}"
    return traits


def _words_of(dataset: "Dataset") -> list[str]:
    """Columns of strings, categories or dates; an integer identifier is a number all the same."""
    import polars as pl

    if not isinstance(dataset.X, pl.DataFrame):
        return []
    unusual = {
        name
        for name, kind in zip(dataset.columns, dataset.kinds, strict=True)
        if kind in ("categorical", "text", "date", "identifier")
    }
    return [name for name, dtype in dataset.X.schema.items() if name in unusual and not dtype.is_numeric()]


def _check_task(card: Method, dataset: "Dataset") -> None:
    task = {"binary": "classification", "multiclass": "classification"}.get(dataset.task, dataset.task)
    if task == "none":
        if not {"unsupervised", "evaluation"} & set(card.tasks):
            peers = [other.name for other in methods(room=card.room, task="unsupervised")]
            advice = _advice(peers, card.room, "name a target column")
            raise UnsuitableDataError(f"{card.name} needs a target, and the table has none. {advice}")
    elif not {task, "unsupervised", "evaluation"} & set(card.tasks):
        peers = [other.name for other in methods(room=card.room, task=task)]
        raise UnsuitableDataError(
            f"{card.name} is for {' and '.join(card.tasks)}, and the target {dataset.target!r} asks for {task}. "
            + _advice(peers, card.room, f"read the table with another task= than {dataset.task!r}")
        )


def _advice(peers: list[str], room: str, cure: str) -> str:
    if peers:
        return f"{', '.join(peers[:3])} in fewer.{room} can, or {cure}."
    return f"No method in fewer.{room} accepts it: {cure}."
