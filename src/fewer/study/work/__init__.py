"""The pieces of work of a study, and the loop that runs those which the journal lacks."""
