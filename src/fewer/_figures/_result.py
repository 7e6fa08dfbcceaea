"""What results share: words in a terminal, a picture too in a notebook, plain data for JSON."""

from html import escape
from typing import Any, ClassVar

import numpy as np


class Result:
    """A result that prints itself, and in a notebook shows its picture too.

    Derived classes are dataclasses with a ``__repr__`` whose first line is a heading. They may have ``reading``, what
    it all means in plain words, and ``plot()``. ``_data`` names what ``to_dict`` gives; all fields by default.
    """

    _data: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON.

        Returns
        -------
        data : dict
            Arrays as lists, and None for what is not a finite number.
        """
        return {name: plain(getattr(self, name)) for name in self._data or vars(self)}

    def _repr_html_(self) -> str:
        heading, _, figures = repr(self).partition("\n")
        parts = [f"<strong>{escape(heading)}</strong>"]
        if figures:
            parts.append(f'<pre style="margin: 0.3em 0; white-space: pre-wrap">{escape(figures)}</pre>')
        reading = getattr(self, "reading", "")
        if reading:
            parts.append(f'<p style="margin: 0.3em 0; max-width: 60em">{escape(reading)}</p>')
        return f"<div>{''.join(parts)}</div>"

    def _ipython_display_(self) -> None:
        """The words, then the picture as plotly shows figures by itself: nothing is fetched from elsewhere."""
        from IPython.display import HTML, display

        display(HTML(self._repr_html_()))
        draw = getattr(self, "plot", None)
        if draw is not None:
            display(draw())


def plain(value: Any) -> Any:
    """A value that JSON can hold."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, Result):
        return value.to_dict()
    return value if isinstance(value, int | str | None) else repr(value)
