"""The picture of the way that a table takes from the command line to the report, drawn from a study that is watched.

Each time the docs are built, a small study runs under ``sys.setprofile``. A call is drawn if it goes from one room to
another and hands over, or gives back, something that the package defines.
"""

import sys
import tempfile
from dataclasses import dataclass
from html import escape
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

from draw_rooms import rooms_in_order

COMMAND = "study dataset:wine --preset quick --methods anova --learners ridge --folds 3 --repeats 1 --permutations 19"
LABELS, LANE, ROW, HEAD = 290, 60, 24, 34
# Rooms whose things every call hands on, and which say nothing about the way; what evaluates scores is mathematics.
LEFT_OUT = ("_estimators", "_figures", "_kernels", "_options", "_wording", "catalogue", "evaluate")


@dataclass
class Step:
    """A call from one room to another: what is handed over, and what comes back."""

    caller: str
    called: str
    function: str
    given: tuple[str, ...]
    returned: str = ""

    @property
    def rooms(self) -> tuple[str, str]:
        """The room of the caller and that of the function."""
        return self.caller.split("/")[0].removesuffix(".py"), self.called.split("/")[0].removesuffix(".py")


def way_picture(root: Path) -> str:
    """An SVG: a lane for each room, the top of the house first, and a row for each step, in the order of time."""
    steps = _steps()
    visited = {room for step in steps for room in step.rooms}
    lanes = [room for room in rooms_in_order(root) if room in visited]
    width, height = LABELS + LANE * len(lanes), HEAD + ROW * len(steps) + 10
    middle = {room: LABELS + LANE * (place + 0.5) for place, room in enumerate(lanes)}
    parts = [
        f'<svg class="house" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="The calls between rooms in a study" style="min-width: {width * 0.75:.0f}px">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z"/></marker></defs>',
    ]
    for room, x in middle.items():
        parts += [
            f'<text class="head" x="{x}" y="16" text-anchor="middle">{escape(room)}</text>',
            f'<line class="grid" x1="{x}" x2="{x}" y1="{HEAD - 8}" y2="{height}"/>',
        ]
    for place, step in enumerate(steps):
        y = HEAD + ROW * place + 14
        start, end = (middle[room] for room in step.rooms)
        returned = f" → {escape(step.returned)}" if step.returned else ""
        parts += [
            f'<text x="0" y="{y + 4}"><tspan class="function">{escape(step.function)}</tspan>'
            f"({escape(', '.join(step.given))}){returned}</text>",
            f'<circle class="start" cx="{start}" cy="{y}" r="3"/>',
            f'<line class="call" x1="{start}" x2="{end}" y1="{y}" y2="{y}" marker-end="url(#tip)">'
            f"<title>{escape(step.caller)} calls {escape(step.function)} of {escape(step.called)}</title></line>",
        ]
    return "\n".join([*parts, "</svg>"])


def _steps() -> list[Step]:
    """The steps of a small study, each once."""
    from typer.testing import CliRunner

    from fewer.cli import app

    watcher = _Watcher()
    with tempfile.TemporaryDirectory() as folder:
        words = [*COMMAND.split(), "--jobs", "1", "--quiet", "--out", f"{folder}/study"]
        sys.setprofile(watcher.note)
        try:
            done = CliRunner().invoke(app, words)
        finally:
            sys.setprofile(None)
    if done.exit_code:
        raise RuntimeError(f"The study that the picture is drawn from failed:\n{done.output}")
    found = {}
    for step in watcher.steps:
        if step.given or step.returned:
            found.setdefault((step.called, step.function), step)
    return list(found.values())


class _Watcher:
    """Notes the calls between rooms while it is the profile function of the interpreter."""

    def __init__(self) -> None:
        import fewer

        self.package = str(Path(fewer.__file__).parent)
        self.steps: list[Step] = []
        self.open: dict[FrameType, Step] = {}

    def note(self, frame: FrameType, event: str, value: Any) -> None:
        if event == "return" and frame in self.open:
            self.open.pop(frame).returned = _kind(value)
        if event != "call" or not frame.f_code.co_filename.startswith(self.package) or not _is_public(frame):
            return
        step = Step(self._caller(frame), self._file(frame), frame.f_code.co_qualname, _given(frame))
        own, other = step.rooms
        if own and own != other and not {own, other} & set(LEFT_OUT):
            self.steps.append(step)
            self.open[frame] = step

    def _caller(self, frame: FrameType) -> str:
        back = frame.f_back
        while back is not None and not self._is_on_the_way(back):
            back = back.f_back
        return "" if back is None else self._file(back)

    def _is_on_the_way(self, frame: FrameType) -> bool:
        """Whether a call comes from the package itself, and not from what fills in the declared options."""
        inside = frame.f_code.co_filename.startswith(self.package)
        return inside and self._file(frame) != "_options.py"

    def _file(self, frame: FrameType) -> str:
        return frame.f_code.co_filename[len(self.package) + 1 :]


def _is_public(frame: FrameType) -> bool:
    """Whether a function, or a method that is called as one, has a name that others may use."""
    name = frame.f_code.co_qualname
    owner = frame.f_locals.get("self")
    is_property = owner is not None and not callable(getattr(type(owner), frame.f_code.co_name, None))
    return not is_property and "<" not in name and not any(part.startswith("_") for part in name.split("."))


def _given(frame: FrameType) -> tuple[str, ...]:
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    kinds = (_kind(frame.f_locals.get(name)) for name in names if name not in ("self", "cls"))
    return tuple(kind for kind in kinds if kind)


def _kind(value: Any) -> str:
    """What a thing of the package is called, by its public name; of a list of them, with an ellipsis."""
    if isinstance(value, list) and value:
        inner = _kind(value[0])
        return inner if not inner or inner.endswith("…") else f"{inner}…"
    for kind in type(value).__mro__:
        package, _, rest = kind.__module__.partition(".")
        if package == "fewer" and kind.__name__ in getattr(import_module(f"fewer.{rest.split('.')[0]}"), "__all__", ()):
            return kind.__name__
    return type(value).__name__ if type(value).__module__.startswith("fewer.") else ""
