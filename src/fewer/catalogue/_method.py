"""The card of a method, and the decorator that writes it.

A card holds only what the code cannot tell by itself: when to use it, what it costs, which paper. The rest is read from
where it already stands: the summary and the citation from the docstring, the room from the module, the data that it
takes from scikit-learn's tags.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar, get_args

Room = Literal["select", "extract", "latent", "complete", "graph", "learn", "evaluate", "theory"]
Task = Literal["classification", "regression", "unsupervised", "evaluation"]
Trait = Literal["missing", "sparse", "categorical"]
Role = Literal["selector", "extractor", "learner", "imputer"]

ROOMS: tuple[Room, ...] = get_args(Room)
TASKS: tuple[Task, ...] = get_args(Task)
TRAITS: tuple[Trait, ...] = get_args(Trait)
ROLES: tuple[Role, ...] = get_args(Role)

CARD = "__fewer_method__"

Implementation = TypeVar("Implementation", bound=Callable[..., Any])


class CatalogueError(ValueError):
    """A card that is wrong or incomplete, or a name that the catalogue does not know."""


@dataclass(frozen=True)
class Method:
    """One method of the catalogue.

    Attributes
    ----------
    name : str
        Name of the class or function.
    room : str
        The room that it lives in, one of ``ROOMS``.
    tasks : tuple of str
        What it is for, some of ``TASKS``.
    when : str
        When to use it, in a sentence or two.
    cost : str
        Time and memory in n (rows), p (columns) and k (features kept or built).
    paper : str or None
        Key of the paper in ``tests/papers/claims.toml``.
    implementation : type or callable
        The estimator class, or the function.
    examples : callable
        Gives the instances that the contract tests try.
    package : str
        The distribution that brings it.
    depends_on_scale : str
        Why the result changes when the whole table is multiplied by a number, other than by its unit; empty where it
        does not.
    depends_on_shift : str
        Why the result changes when each column is moved by a constant; empty where it does not.
    aliases : tuple of str
        What else people call it.
    says : str
        What sentences of a study call it; empty for the name.
    search_space : mapping of str to sequence
        Values of parameters from which a study chooses inside the folds, as in ``GridSearchCV``.
    counts : bool
        Whether it models counts, so that a study gives it the table without scaling.
    """

    name: str
    room: Room
    tasks: tuple[Task, ...]
    when: str
    cost: str
    paper: str | None
    implementation: Callable[..., Any] = field(repr=False)
    examples: Callable[[], Iterable[Any]] = field(repr=False)
    package: str
    declared_traits: tuple[Trait, ...] | None = field(default=None, repr=False)
    depends_on_scale: str = ""
    depends_on_shift: str = ""
    aliases: tuple[str, ...] = ()
    says: str = ""
    search_space: Mapping[str, Sequence[Any]] = field(default_factory=dict, repr=False, hash=False)
    counts: bool = False
    declared_roles: tuple[Role, ...] | None = field(default=None, repr=False)

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        """What it can be in a study, some of ``ROLES``: its type and its tags tell."""
        if self.declared_roles is not None:
            return self.declared_roles
        if not self.is_estimator:
            return ()
        from sklearn.feature_selection import SelectorMixin
        from sklearn.utils import get_tags

        implementation: Any = self.implementation
        found: list[Role] = []
        if hasattr(implementation, "transform"):
            selects, completes = issubclass(implementation, SelectorMixin), self.room == "complete"
            found.append("selector" if selects else "imputer" if completes else "extractor")
        parameters = inspect.signature(implementation).parameters.values()
        by_name = all(each.default is not each.empty or each.kind is each.VAR_KEYWORD for each in parameters)
        if by_name and get_tags(next(iter(self.examples()))).estimator_type in ("classifier", "regressor"):
            found.append("learner")
        return tuple(found)

    @property
    def is_estimator(self) -> bool:
        """Whether it is a scikit-learn estimator, and not a function or a class that only evaluates."""
        from sklearn.base import BaseEstimator

        return inspect.isclass(self.implementation) and issubclass(self.implementation, BaseEstimator)

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return (inspect.getdoc(self.implementation) or "").partition("\n")[0]

    @property
    def citation(self) -> str:
        """The references of the docstring, as one paragraph; empty when it has none."""
        _, _, references = (inspect.getdoc(self.implementation) or "").partition("References\n----------\n")
        section = re.split(r"\n[A-Z][\w ]+\n-{3,}\n", references)[0]
        return " ".join(re.sub(r"\.\. \[\d+\]", "", section).split())

    @cached_property
    def handles(self) -> tuple[Trait, ...]:
        """Kinds of difficult data that it takes as they are, some of ``TRAITS``."""
        if self.declared_traits is not None:
            return self.declared_traits
        if not self.is_estimator:
            return ()
        from sklearn.utils import get_tags

        tags = get_tags(next(iter(self.examples()))).input_tags
        taken = {"missing": tags.allow_nan, "sparse": tags.sparse, "categorical": tags.categorical}
        return tuple(trait for trait in TRAITS if taken[trait])

    @property
    def units(self) -> str:
        """What the unit and the origin of the columns change, in a sentence or two."""
        if not (self.depends_on_scale or self.depends_on_shift):
            return "The result does not depend on the unit or the origin of the columns."
        said = [
            f"The result depends on the {what} of the columns: {why}."
            for what, why in (("unit", self.depends_on_scale), ("origin", self.depends_on_shift))
            if why
        ]
        return " ".join(said)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON and for the docs."""
        return {
            "name": self.name,
            "room": self.room,
            "roles": list(self.roles),
            "aliases": list(self.aliases),
            "tasks": list(self.tasks),
            "summary": self.summary,
            "when": self.when,
            "cost": self.cost,
            "handles": list(self.handles),
            "depends_on_scale": self.depends_on_scale,
            "depends_on_shift": self.depends_on_shift,
            "paper": self.paper,
            "citation": self.citation,
            "package": self.package,
        }


def method(
    *,
    tasks: Iterable[Task],
    when: str,
    cost: str,
    paper: str | None = None,
    room: Room | None = None,
    handles: Iterable[Trait] | None = None,
    examples: Callable[[], Iterable[Any]] | None = None,
    depends_on_scale: str = "",
    depends_on_shift: str = "",
    aliases: Iterable[str] = (),
    says: str = "",
    search_space: Mapping[str, Sequence[Any]] | None = None,
    counts: bool = False,
) -> Callable[[Implementation], Implementation]:
    """Write the card of the estimator class or function that follows.

    Parameters
    ----------
    tasks : iterable of {"classification", "regression", "unsupervised", "evaluation"}
        What the method is for.
    when : str
        When to use it: a sentence or two for somebody who has not read the paper.
    cost : str
        Time, and memory where it matters, in n, p and k.
    paper : str, default=None
        Key of the paper whose claims are tested.
    room : str, default=None
        The room that it belongs to. Needed outside of the package ``fewer``; inside, the module tells.
    handles : iterable of {"missing", "sparse", "categorical"}, default=None
        Difficult data that it takes as they are. By default scikit-learn's tags tell; functions have none, so they say
        it here.
    examples : callable, default=None
        Gives the instances that the contract tests try, where the class cannot be built without arguments.
    depends_on_scale : str, default=""
        Why the result changes with the unit of the table, as a clause that follows a colon: "alpha is added to squares
        of columns". The contract tests hold a method that says nothing to giving the same result in every unit.
    depends_on_shift : str, default=""
        The same for constants that are added to columns.
    aliases : iterable of str, default=()
        What else people call it: ``fewer methods ALIAS`` finds it, and so does a study.
    says : str, default=""
        What sentences of a study call it, where the name of the class does not read well.
    search_space : mapping of str to sequence, default=None
        Of a classifier or regressor: values of parameters from which a study chooses inside the folds.
    counts : bool, default=False
        Whether it models counts, so that a study gives it the table without scaling. The tag ``positive_only`` says
        the same, except of a selector.

    Returns
    -------
    decorator : callable
        Returns the class or function itself, with its card attached.

    Examples
    --------
    >>> from fewer.catalogue import method
    >>> @method(room="select", tasks=["unsupervised"], when="Columns differ much in scale.", cost="O(n p)")
    ... def widest_columns(X):
    ...     '''Columns by range, widest first.'''
    >>> widest_columns.__fewer_method__.summary
    'Columns by range, widest first.'
    """

    def write_card(implementation: Implementation) -> Implementation:
        package, _, rest = implementation.__module__.partition(".")
        own_room = room or (rest.partition(".")[0] if package == "fewer" else None)
        card = Method(
            name=implementation.__name__,
            room=own_room,  # type: ignore[arg-type]  # checked below, with a message for people
            tasks=tuple(tasks),
            when=when,
            cost=cost,
            paper=paper,
            implementation=implementation,
            examples=examples or (lambda: [implementation()]),
            package=package,
            declared_traits=None if handles is None else tuple(handles),
            depends_on_scale=depends_on_scale,
            depends_on_shift=depends_on_shift,
            aliases=tuple(aliases),
            says=says,
            search_space=search_space or {},
            counts=counts,
        )
        _check_card(card)
        setattr(implementation, CARD, card)
        return implementation

    return write_card


def _check_card(card: Method) -> None:
    """Refuse a card with a word that the catalogue does not know, or with a blank."""

    def refuse(what: str, given: object, known: tuple[str, ...]) -> None:
        raise CatalogueError(f"{card.name}: {what} {given!r} is not one of {', '.join(known)}.")

    if card.room is None:
        raise CatalogueError(f"{card.name} is defined outside of fewer, so its card needs a room=: {', '.join(ROOMS)}.")
    if card.room not in ROOMS:
        refuse("room", card.room, ROOMS)
    for task in card.tasks:
        if task not in TASKS:
            refuse("task", task, TASKS)
    for trait in card.declared_traits or ():
        if trait not in TRAITS:
            refuse("trait", trait, TRAITS)
    for blank in ("tasks", "when", "cost"):
        if not getattr(card, blank):
            raise CatalogueError(f"{card.name}: the card has no text for {blank!r}.")


def card_of(implementation: Any) -> Method | None:
    """The card of a class or function itself, not of what it inherits from; None if it has none."""
    return vars(implementation).get(CARD)
