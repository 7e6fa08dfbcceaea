"""How much each entry of a table counts: inverse noise variances, zero in the holes, correlated within groups of rows.

A table of ``c * F`` rows holds c coordinates of F frames: first all frames of the first coordinate, then all of the
second. The noise of one frame's c coordinates in a column may be correlated; its inverse covariance is a c x c block.
Where some of them are missing, the block becomes that of the others, as if the missing had never been measured.
"""

import numpy as np


def entry_weights(X: np.ndarray, weights: np.ndarray | None, n_coordinates: int) -> np.ndarray:
    """Blocks of shape (n_frames, n_columns, c, c), scaled so that the mean weight of an observed entry is 1."""
    n_rows, n_columns = X.shape
    n_frames = n_rows // n_coordinates
    seen = ~np.isnan(X).reshape(n_coordinates, n_frames, n_columns).transpose(1, 2, 0)
    if weights is None:
        weights = np.ones((n_rows, n_columns))
    if weights.ndim == 2:
        plain = weights.reshape(n_coordinates, n_frames, n_columns).transpose(1, 2, 0)
        blocks = np.zeros((n_frames, n_columns, n_coordinates, n_coordinates))
        at = np.arange(n_coordinates)
        blocks[..., at, at] = np.where(seen, plain, 0.0)
    else:
        blocks = _of_the_seen(weights, seen)
    diagonal = np.einsum("fpcc->fpc", blocks)
    mean = diagonal[seen].mean() if seen.any() else 1.0
    return blocks / mean if mean > 0 else blocks


def _of_the_seen(blocks: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Inverse covariances of the observed coordinates alone."""
    found = np.where((seen[..., :, None] & seen[..., None, :]), blocks, 0.0)
    partly = seen.any(axis=-1) & ~seen.all(axis=-1)
    for frame, column in zip(*np.nonzero(partly), strict=True):
        kept, gone = np.flatnonzero(seen[frame, column]), np.flatnonzero(~seen[frame, column])
        block = blocks[frame, column]
        cross = block[np.ix_(kept, gone)]
        inner = block[np.ix_(gone, gone)]
        found[frame, column][np.ix_(kept, kept)] -= cross @ np.linalg.pinv(inner) @ cross.T
    return found


def weights_complaint(weights: np.ndarray, shape: tuple[int, int], n_coordinates: int) -> str | None:
    """What is wrong with given weights, in words; None when they are fine."""
    n_rows, n_columns = shape
    blocks = (n_rows // n_coordinates, n_columns, n_coordinates, n_coordinates)
    if weights.shape not in (shape, blocks):
        return (
            f"weights have the shape {weights.shape}; they must have that of the table, {shape}, or be blocks of shape "
            f"{blocks}: frames, columns, and inverse covariances of the {n_coordinates} coordinates."
        )
    if not np.isfinite(weights).all():
        return "weights hold NaN or infinity; a weight of 0 says that an entry tells nothing."
    if weights.ndim == 2 and (weights < 0).any():
        return "weights hold negative numbers; they are inverse variances of the noise."
    if weights.ndim == 4 and (
        not np.allclose(weights, weights.swapaxes(2, 3)) or np.linalg.eigvalsh(weights).min() < -1e-8 * weights.max()
    ):
        return "blocks of weights must be inverse covariances: symmetric, with no negative eigenvalue."
    return None
