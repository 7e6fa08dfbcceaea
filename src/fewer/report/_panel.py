"""What a panel of the report is: the section of one question, with its number, its pictures and its tables.

Each is one module of ``fewer.report.panels``, called after its question, with an object ``PANEL``. Another package adds
one by an entry point of the group ``fewer.panels`` that is called after the question and refers to its :class:`Panel`.
"""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fewer.report._study_numbers import Shown

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from fewer.study import Findings

GROUP = "fewer.panels"


@dataclass(frozen=True)
class Picture:
    """A figure, how to read it, and what it shows."""

    figure: "go.Figure"
    caption: str
    in_words: str


@dataclass(frozen=True)
class Panel:
    """The section of one question in the report.

    Attributes
    ----------
    anchor : str
        Its name in addresses.
    title : str
        Its name in the list of sections.
    number : callable
        From the findings to the number that is shown large, or None.
    pictures : callable
        From the findings to pictures by name.
    body : str
        What follows the answer, as a Jinja template; by default the pictures.
    values : callable
        From the findings to what else the template needs, by name.
    heading : str
        Heading of the section, where it is not the question.
    has_sentence : bool
        Whether the sentence of the answer is shown.
    is_about_choice : bool
        Whether it describes the choice of columns, which is no finding where nothing can be predicted.
    """

    anchor: str
    title: str
    number: "Callable[[Findings], Shown | None]" = lambda findings: None
    pictures: "Callable[[Findings], Mapping[str, Picture]]" = lambda findings: {}
    body: str = "{% for name in pictures %}{{ figure(name) }}{% endfor %}"
    values: "Callable[[Findings], Mapping[str, Any]]" = lambda findings: {}
    heading: str = ""
    has_sentence: bool = True
    is_about_choice: bool = False


def panel_of(question: str, title: str) -> Panel:
    """The panel of a question by its id; one with the answer alone if there is no other."""
    module = f"fewer.report.panels.{question}"
    if question.isidentifier() and find_spec(module) is not None:
        return importlib.import_module(module).PANEL
    for entry in entry_points(group=GROUP, name=question):
        return entry.load()
    return Panel(question, title)
