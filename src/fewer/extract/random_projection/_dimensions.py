"""How many new columns are enough, by the statements about random projections.

- Distances: for entries that are normal or signs, a squared distance is kept within ``1 +- g`` by d directions but for
  a chance of ``2 exp(-(g^2 - g^3) d / 4)``; over all pairs of n rows, ``n (n - 1) exp(-(g^2 - g^3) d / 4)`` at most.
- Margins: ``O(log(1 / (eps delta)) / gamma^2)`` directions keep all but a share eps of the rows on their side, at half
  of the margin.
- Landmarks: the span of ``(8 / eps) (1 / gamma^2 + ln(1 / delta))`` rows, drawn at random, holds such a separator.
"""

import math

_TIGHTEST = 2 / 3
"""Where g^2 - g^3 is largest: a wider distortion is kept at least as often as this one."""


def distortion_failure(n_components: int, eps: float) -> float:
    """Bound on the chance that one squared distance is not kept within ``1 +- eps``."""
    return 2 * math.exp(-_exponent(eps) * n_components)


def distortion_dim(n_samples: int, eps: float = 0.1, delta: float = 0.05) -> int:
    """Random directions that keep all distances between rows.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    eps : float, default=0.1
        Distortion: squared distances are kept within ``1 - eps`` and ``1 + eps`` times what they are.
    delta : float, default=0.05
        Chance that one of them is not.

    Returns
    -------
    n_components : int
        ``4 ln(n (n - 1) / delta) / (eps^2 - eps^3)``, rounded up. From ``eps = 2/3`` on, what it is there.

    References
    ----------
    .. [1] Blum, A. (2006). Random projection, margins, kernels, and feature-selection. Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 52-68.

    Examples
    --------
    >>> from fewer.extract import distortion_dim
    >>> distortion_dim(1000, eps=0.2)
    2102
    """
    _check_shares(eps=eps, delta=delta)
    if n_samples < 1:
        raise ValueError(f"n_samples={n_samples} must be 1 at least.")
    n_pairs = max(n_samples * (n_samples - 1) / 2, 1)
    return math.ceil(math.log(2 * n_pairs / delta) / _exponent(eps))


def margin_dim(gamma: float, eps: float = 0.1, delta: float = 0.05, *, constant: float = 8.0) -> int:
    """Random directions that keep classes apart.

    Parameters
    ----------
    gamma : float
        Margin by which a plane through the origin parts the classes: the smallest cosine between the rows, turned to
        their side, and the plane's normal.
    eps : float, default=0.1
        Share of rows that may end up on the wrong side, or closer to it than half of the margin.
    delta : float, default=0.05
        Chance that more do.
    constant : float, default=8
        The statement holds up to a constant factor; this one.

    Returns
    -------
    n_components : int
        ``constant ln(1 / (eps delta)) / gamma^2``, rounded up. The number of columns does not matter.

    See Also
    --------
    margin_report : The margin of a linear model.

    References
    ----------
    .. [1] Blum, A. (2006). Random projection, margins, kernels, and feature-selection. Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 52-68.

    Examples
    --------
    >>> from fewer.extract import margin_dim
    >>> margin_dim(0.3)
    471
    """
    _check_shares(eps=eps, delta=delta)
    _check_margin(gamma)
    if not constant > 0:
        raise ValueError(f"constant={constant} must be above 0.")
    return math.ceil(constant * math.log(1 / (eps * delta)) / gamma**2)


def landmark_dim(gamma: float, eps: float = 0.1, delta: float = 0.05) -> int:
    """Landmarks whose span holds a plane that parts the classes.

    Parameters
    ----------
    gamma : float
        Margin by which classes are parted in the space of the kernel.
    eps : float, default=0.1
        Share of rows that may end up on the wrong side, or closer to it than half of the margin.
    delta : float, default=0.05
        Chance that more do.

    Returns
    -------
    n_landmarks : int
        ``(8 / eps) (1 / gamma^2 + ln(1 / delta))``, rounded up.

    References
    ----------
    .. [1] Blum, A. (2006). Random projection, margins, kernels, and feature-selection. Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 52-68.

    Examples
    --------
    >>> from fewer.extract import landmark_dim
    >>> landmark_dim(0.3)
    1129
    """
    _check_shares(eps=eps, delta=delta)
    _check_margin(gamma)
    return math.ceil(8 / eps * (1 / gamma**2 + math.log(1 / delta)))


def _exponent(eps: float) -> float:
    eps = min(eps, _TIGHTEST)
    return (eps**2 - eps**3) / 4


def _check_shares(**shares: float) -> None:
    for name, share in shares.items():
        if not 0 < share < 1:
            raise ValueError(f"{name}={share} must be above 0 and below 1.")


def _check_margin(gamma: float) -> None:
    if not 0 < gamma <= 1:
        raise ValueError(f"gamma={gamma} is the cosine of an angle: it must be above 0, and 1 at most.")
