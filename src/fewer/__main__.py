"""``python -m fewer``: the command line."""

from fewer.cli import app

app(prog_name="fewer")
