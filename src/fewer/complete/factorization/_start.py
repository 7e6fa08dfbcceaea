"""Columns to start EM from: leading directions of the table with its holes filled plainly."""

import numpy as np


def starting_columns(X: np.ndarray, rank: int, latent_var: float, affine: bool) -> np.ndarray:
    """Right singular vectors of the filled table, in the size that the latent variance gives them."""
    filled = filled_plainly(X)
    if affine:
        filled = filled - filled.mean(axis=1, keepdims=True)
    free = rank - 1 if affine else rank
    _, d, Vt = np.linalg.svd(filled, full_matrices=False)
    found = np.zeros((X.shape[1], free))
    n = min(free, len(d))
    found[:, :n] = Vt[:n].T * (d[:n] / np.sqrt(len(X) * latent_var))
    return np.column_stack([found, np.ones(X.shape[1])]) if affine else found


def random_columns(X: np.ndarray, rank: int, latent_var: float, affine: bool, rng: np.random.Generator) -> np.ndarray:
    """Columns drawn at random, of the table's size."""
    size = np.sqrt(max(float(np.nanmean(X**2)), np.finfo(float).tiny) / (latent_var * rank))
    found = size * rng.normal(size=(X.shape[1], rank))
    if affine:
        found[:, -1] = 1.0
    return found


def filled_plainly(X: np.ndarray) -> np.ndarray:
    """Holes get what the means of their row and column say together."""
    seen = ~np.isnan(X)
    values = np.where(seen, X, 0.0)
    total = values.sum() / max(seen.sum(), 1)
    rows = values.sum(axis=1) / np.maximum(seen.sum(axis=1), 1)
    columns = values.sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    rows[~seen.any(axis=1)], columns[~seen.any(axis=0)] = total, total
    return np.where(seen, X, rows[:, None] + columns - total)
