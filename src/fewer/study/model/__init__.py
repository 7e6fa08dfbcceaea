"""The model that a study ships: fitted, kept in files, applied to other rows, explained, rebuilt as code."""
