"""Base-learners on a training table: each kind tried all at once, in one product."""

from fewer.learn.boosting.designs._prepared import FittedLearners, Prepared, listed_learners, prepared

__all__ = ["FittedLearners", "Prepared", "listed_learners", "prepared"]
