"""What is decided before any number is known: candidates, score, folds, time limit."""
