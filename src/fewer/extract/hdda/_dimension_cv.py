"""Dimensions chosen by held-out rows: one decomposition for each class and fold serves all candidates."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from fewer.extract.hdda._class_spectrum import ClassSpectrum
from fewer.extract.hdda._subspace_model import Moments, estimated_variances

_ROWS = 2000


def right_answers(
    X: Any, codes: np.ndarray, spectra: list[ClassSpectrum], dims: list[np.ndarray], model: str, floor: float
) -> np.ndarray:
    """How many held-out rows are told right, for each candidate's dimensions."""
    sizes = np.array([spectrum.size for spectrum in spectra])
    log_priors = np.log(sizes / sizes.sum())
    p = spectra[0].n_columns
    variances = [estimated_variances(Moments.of(spectra, each), model, floor) for each in dims]
    right = np.zeros(len(dims), dtype=int)
    for rows in gen_batches(X.shape[0], _ROWS):
        lengths, inside = _squares(X[rows], spectra, max(int(each.max(initial=0)) for each in dims))
        for number, (each, (a, b, *_)) in enumerate(zip(dims, variances, strict=True)):
            own = np.column_stack([squares[:, d] for squares, d in zip(inside, each, strict=True)])
            K = own / a + np.maximum(lengths - own, 0) / b
            K += each * np.log(a) + (p - each) * np.log(b) - 2 * log_priors
            right[number] += np.sum(K.argmin(axis=1) == codes[rows])
    return right


def _squares(X: Any, spectra: list[ClassSpectrum], most: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Squared distances to the means (rows, classes); for each class those along its 0, 1, 2, ... first directions."""
    lengths, inside = np.empty((X.shape[0], len(spectra))), []
    for each, spectrum in enumerate(spectra):
        Q = spectrum.vectors[:, :most]
        if sparse.issparse(X):
            lengths[:, each] = row_norms(X, squared=True) - 2 * (X @ spectrum.mean) + spectrum.mean @ spectrum.mean
            t = X @ Q - spectrum.mean @ Q
        else:
            centred = X - spectrum.mean
            lengths[:, each] = row_norms(centred, squared=True)
            t = centred @ Q
        inside.append(np.column_stack([np.zeros(X.shape[0]), np.cumsum(t * t, axis=1)]))
    return lengths, inside
