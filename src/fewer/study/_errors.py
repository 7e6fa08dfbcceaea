"""What goes wrong with a study, told to the person who asked for it."""


class StudyError(ValueError):
    """A study that cannot be planned, run or read, with the reason and the cure."""
