"""The questions of a study, one module each.

Another package adds one by an entry point of the group ``fewer.questions`` that is called after the question and refers
to its :class:`fewer.study.Question`.
"""

import importlib
import pkgutil
from functools import cache
from importlib.metadata import entry_points

from fewer.study._errors import StudyError
from fewer.study.answers._question import Question

GROUP = "fewer.questions"


def question_named(name: str) -> Question:
    """The question of this id."""
    if name in _modules():
        return importlib.import_module(f"{__name__}.{name}").QUESTION
    for entry in entry_points(group=GROUP, name=name):
        return entry.load()
    raise StudyError(f"There is no question {name!r}; the questions are {', '.join(own_questions())}.")


@cache
def own_questions() -> tuple[str, ...]:
    """Ids of the questions in this folder, in their order."""
    return tuple(sorted(_modules(), key=lambda name: question_named(name).place))


@cache
def _modules() -> tuple[str, ...]:
    return tuple(module.name for module in pkgutil.iter_modules(__path__))
