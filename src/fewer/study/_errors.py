"""The error of a study that cannot be planned, run or read."""


class StudyError(ValueError):
    """A study that cannot be planned, run or read, with the reason and the cure."""
