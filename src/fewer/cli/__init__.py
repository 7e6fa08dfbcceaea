"""The command line: ``fewer study``, ``fewer describe``, ``fewer methods`` and what goes with them.

One module for each command. Each imports what it needs itself, so that ``fewer --help`` answers at once.
"""

from fewer.cli import _apply, _describe, _methods, _study
from fewer.cli._app import app

__all__ = ["app"]

# A command joins the app when its module is imported.
_COMMANDS = (_study, _apply, _describe, _methods)
