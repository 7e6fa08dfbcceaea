"""The panels of the report, one module for each question of a study."""
