"""The command line: ``fewer study``, ``fewer describe``, ``fewer methods`` and the commands that go with them.

Each command imports what it needs itself, so that ``fewer --help`` answers at once.
"""

from fewer.cli import _commands, _study
from fewer.cli._app import app

__all__ = ["app"]

# A command joins the app when its module is imported.
_COMMANDS = (_study, _commands)
