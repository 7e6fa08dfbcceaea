"""Fewer features, honestly chosen."""

import importlib
from typing import Any

__version__ = "0.1.0.dev0"

_ROOMS = (
    "catalogue",
    "complete",
    "datasets",
    "engine",
    "evaluate",
    "extract",
    "graph",
    "io",
    "latent",
    "learn",
    "overview",
    "report",
    "select",
    "study",
    "theory",
)
_SHORTCUTS = {
    "read_table": "io",
    "write_table": "io",
    "Dataset": "io",
    "describe": "overview",
    "run_study": "facade",
    "Study": "facade",
    "StudySelector": "study",
    "show_versions": "engine",
}

__all__ = ["__version__", *_ROOMS, *_SHORTCUTS]


def __getattr__(name: str) -> Any:
    """Import a room when it is first asked for, so that ``import fewer`` costs next to nothing."""
    if name in _ROOMS:
        return importlib.import_module(f"fewer.{name}")
    if name in _SHORTCUTS:
        return getattr(importlib.import_module(f"fewer.{_SHORTCUTS[name]}"), name)
    raise AttributeError(f"module 'fewer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
