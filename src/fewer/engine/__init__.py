"""Where work runs: this machine or a Dask cluster."""

from fewer.engine._attempt import Failure, Outcome, drop_pages, failure_from
from fewer.engine._engine import Engine
from fewer.engine._run import Run
from fewer.engine._versions import show_versions

__all__ = ["Engine", "Failure", "Outcome", "Run", "drop_pages", "failure_from", "show_versions"]
