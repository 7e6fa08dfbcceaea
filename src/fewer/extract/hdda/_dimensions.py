"""How many dimensions the subspace of a class has: by gaps in its eigenvalues, by BIC, or as asked for."""

from typing import Any

import numpy as np

from fewer.extract.hdda._class_spectrum import ClassSpectrum


def noise_floor_of(traces: np.ndarray, sizes: np.ndarray, n_columns: int, share: float) -> float:
    """The least variance allowed: a share of the mean variance of a column within classes."""
    mean = float(sizes @ traces) / (float(sizes.sum()) * n_columns)
    return share * mean if mean > 0 else share


def wanted_dimensions(n_dims: Any, n_classes: int, what: str) -> str | np.ndarray:
    """The name of a rule, or one number for each class."""
    if isinstance(n_dims, str):
        return n_dims
    dims = np.asarray(n_dims)
    if dims.ndim == 0:
        return np.full(n_classes, int(dims))
    if dims.shape != (n_classes,) or dims.dtype.kind not in "iu" or (dims < 0).any():
        raise ValueError(
            f"n_dims has to be one dimension for each of the {n_classes} {what}, whole and not negative; it is "
            f"{n_dims!r}."
        )
    return dims.astype(int)


def most_dimensions(spectrum: ClassSpectrum, floor: float) -> int:
    """As many as leave some variance outside: below the rank, the number of columns, and above the noise floor."""
    p = spectrum.n_columns
    most = min(len(spectrum.eigenvalues), p - 1, max(int(np.ceil(spectrum.size)) - 1, 0))
    outside = (spectrum.trace - spectrum.leading_sums()[: most + 1]) / (p - np.arange(most + 1))
    return int(np.max(np.flatnonzero(outside > floor), initial=min(most, 1)))


def sensible_dimensions(spectrum: ClassSpectrum, floor: float) -> int:
    """At most half of the rows: eigenvalues beyond are chance, and their gaps tell nothing."""
    return min(most_dimensions(spectrum, floor), max(int(spectrum.size / 2), 1))


def scree_dimension(spectrum: ClassSpectrum, threshold: float, floor: float) -> int:
    """The last gap between neighbouring eigenvalues that is at least ``threshold`` times the largest gap."""
    most = sensible_dimensions(spectrum, floor)
    gaps = -np.diff(np.append(spectrum.eigenvalues, 0.0 if len(spectrum.eigenvalues) < 2 else []))[:most]
    if not len(gaps):
        return most
    return int(np.flatnonzero(gaps >= threshold * gaps.max())[-1]) + 1


def bic_dimension(spectrum: ClassSpectrum, floor: float) -> int:
    """The dimension with the largest log-likelihood less half of the parameters times log n."""
    p, n_rows = spectrum.n_columns, spectrum.size
    d = np.arange(sensible_dimensions(spectrum, floor) + 1)
    inside = spectrum.leading_sums()[: len(d)]
    b = np.maximum((spectrum.trace - inside) / (p - d), floor)
    a = np.maximum(np.divide(inside, d, out=np.ones_like(inside), where=d > 0), b)
    log_likelihood = -n_rows / 2 * (d * np.log(a) + (p - d) * np.log(b))
    n_parameters = d * (p - (d + 1) / 2) + 2.0 * (d > 0)
    return int(np.argmax(log_likelihood - n_parameters / 2 * np.log(max(n_rows, 2))))


def chosen_dimensions(
    spectra: list[ClassSpectrum], how: str | np.ndarray, threshold: float, floor: float
) -> np.ndarray:
    """Dimension of every class, by name of the rule, or one number for each class, lowered where it is too large."""
    if isinstance(how, str):
        choose = {
            "scree": lambda spectrum: scree_dimension(spectrum, threshold, floor),
            "bic": lambda spectrum: bic_dimension(spectrum, floor),
        }[how]
        return np.array([choose(spectrum) for spectrum in spectra])
    return np.array([min(int(d), most_dimensions(spectrum, floor)) for d, spectrum in zip(how, spectra, strict=True)])
