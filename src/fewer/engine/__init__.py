"""Where work runs: this machine or a Dask cluster."""

from fewer.engine._engine import Engine
from fewer.engine._outcome import Failure, Outcome
from fewer.engine._run import Run

__all__ = ["Engine", "Failure", "Outcome", "Run"]
