"""Proper losses of scores: a link takes probabilities to scores, and with it a loss becomes one of scores.

With link psi and score ``v = psi(e)``, the slopes need the ratio ``rho(e) = w(e) / psi'(e)`` only:

    d l(+1) / dv = (e - 1) rho(e),     d l(-1) / dv = e rho(e),     e = psi^-1(v).

Both are convex in v if and only if, for all x between 0 and 1,

    -1 / x <= w'(x) / w(x) - psi''(x) / psi'(x) <= 1 / (1 - x).

With the canonical link, psi' = w, that always holds.

Reid, M. and Williamson, R. (2010). Composite binary losses. JMLR 11, 2387-2422.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from fewer.learn.composite._proper_loss import CLIP, ProperLoss, proper_loss

Function = Callable[[np.ndarray], np.ndarray]


class Link(NamedTuple):
    """A link: scores from probabilities, its slope, probabilities from scores, and the range of the scores."""

    score: Function
    slope: Function
    probability: Function
    bounds: tuple[float, float] = (-np.inf, np.inf)

    @property
    def is_bounded(self) -> bool:
        """Whether some scores are no score of any probability."""
        return bool(np.isfinite(self.bounds).any())


_LINKS = {
    "identity": Link(lambda e: e, np.ones_like, lambda v: v, (0.0, 1.0)),
    "logit": Link(logit, lambda e: 1 / (e * (1 - e)), expit),
    "cloglog": Link(
        lambda e: np.log(-np.log1p(-e)),
        lambda e: -1 / ((1 - e) * np.log1p(-e)),
        lambda v: -np.expm1(-np.exp(np.minimum(v, 700))),
    ),
    "square": Link(lambda e: e**2, lambda e: 2 * e, lambda v: np.sqrt(np.clip(v, 0, 1)), (0.0, 1.0)),
    "cosine": Link(
        lambda e: 1 - np.cos(np.pi * e),
        lambda e: np.pi * np.sin(np.pi * e),
        lambda v: np.arccos(np.clip(1 - v, -1, 1)) / np.pi,
        (0.0, 2.0),
    ),
}

_CANONICAL = {
    "log": _LINKS["logit"],
    "square": _LINKS["identity"],
    "boosting": Link(
        lambda e: 2 * (2 * e - 1) / np.sqrt(e * (1 - e)),
        lambda e: (e * (1 - e)) ** -1.5,
        lambda v: 0.5 * (1 + v / np.hypot(v, 4)),
    ),
    "asymmetric-1": Link(np.log, lambda e: 1 / e, np.exp, (-np.inf, 0.0)),
    "asymmetric-2": Link(lambda e: -np.log1p(-e), lambda e: 1 / (1 - e), lambda v: -np.expm1(-v), (0.0, np.inf)),
}


def link_named(name: str, loss: ProperLoss | None = None) -> Link:
    """A link by name.

    Parameters
    ----------
    name : {"canonical", "logit", "cloglog", "identity", "square", "cosine"}
        Which link; "canonical" has the weight of the loss as its slope.
    loss : ProperLoss or None, default=None
        For "canonical".

    Returns
    -------
    link : Link
        The link.

    Examples
    --------
    >>> from fewer.learn import link_named, proper_loss
    >>> link_named("canonical", proper_loss("log")).score(0.5)
    np.float64(0.0)
    """
    if name == "canonical":
        if loss is None:
            raise ValueError('link="canonical" belongs to a loss; give one.')
        return _CANONICAL.get(loss.name) or _numerical_canonical(loss)
    if name not in _LINKS:
        raise ValueError(f"{name!r} is not one of the links canonical, {', '.join(_LINKS)}.")
    return _LINKS[name]


def _numerical_canonical(loss: ProperLoss) -> Link:
    """psi(e) = int_(1/2)^e w, which is l(-1, e) - l(+1, e) up to a constant, and its inverse by bisection."""

    def score(e: Any) -> np.ndarray:
        negative, positive = loss.partial_losses(e)
        return negative - positive

    low, high = (float(score(np.array([end]))[0]) for end in (CLIP, 1 - CLIP))

    def probability(v: Any) -> np.ndarray:
        v = np.asarray(v, dtype=float)
        first, last = np.full(v.shape, logit(CLIP)), np.full(v.shape, logit(1 - CLIP))
        for _ in range(60):
            middle = (first + last) / 2
            below = score(expit(middle)) < v
            first, last = np.where(below, middle, first), np.where(below, last, middle)
        return expit((first + last) / 2)

    # A score at the end of the clipped range that still grows without limit is unbounded.
    grows = [abs(float(score(np.array([end]))[0])) for end in (1e-6, 1 - 1e-6)]
    bounds = (
        low if abs(low) < 1.001 * grows[0] + 1e-9 else -np.inf,
        high if abs(high) < 1.001 * grows[1] + 1e-9 else np.inf,
    )
    return Link(score, loss.weight, probability, bounds)


def reference_link(negative_slope: Function, positive_slope: Function) -> Function:
    """The only way to read scores as probabilities that makes a loss of scores proper.

    Parameters
    ----------
    negative_slope, positive_slope : callable
        Derivatives by the score of the losses of the negative and of the positive class.

    Returns
    -------
    probability : callable
        ``slope(-1) / (slope(-1) - slope(+1))`` as a function of scores.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import reference_link
    >>> probability = reference_link(lambda v: np.exp(v), lambda v: -np.exp(-v))  # the exponential loss
    >>> bool(np.isclose(probability(0.7), 1 / (1 + np.exp(-1.4))))
    True
    """

    def probability(v: np.ndarray) -> np.ndarray:
        slope = negative_slope(v)
        return slope / (slope - positive_slope(v))

    return probability


class CompositeLoss:
    """A proper loss of scores.

    Parameters
    ----------
    proper : ProperLoss or str
        The loss of probabilities, or its name.
    link : Link or str, default="canonical"
        From probabilities to scores, or its name.

    See Also
    --------
    CompositeLossClassifier : A linear model with such a loss.

    References
    ----------
    .. [1] Reid, M. & Williamson, R. (2010). Composite binary losses. Journal of Machine Learning Research 11,
       2387-2422.

    Examples
    --------
    >>> from fewer.learn import CompositeLoss
    >>> CompositeLoss("log", "logit").is_convex(), CompositeLoss("square", "logit").is_convex()
    (True, False)
    """

    def __init__(self, proper: "ProperLoss | str", link: "Link | str" = "canonical"):
        self.proper = proper_loss(proper) if isinstance(proper, str) else proper
        self.link = link_named(link, self.proper) if isinstance(link, str) else link

    def partial_losses(self, scores: Any) -> tuple[np.ndarray, np.ndarray]:
        """Losses of scores for the negative and for the positive class.

        Parameters
        ----------
        scores : array-like
            Scores.

        Returns
        -------
        negative, positive : ndarray
            The losses.
        """
        return self.proper.partial_losses(self.link.probability(np.asarray(scores, dtype=float)))

    def slopes(self, scores: Any) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of the losses by the score.

        Parameters
        ----------
        scores : array-like
            Scores.

        Returns
        -------
        negative, positive : ndarray
            ``e rho(e)`` and ``(e - 1) rho(e)``.
        """
        e = np.clip(self.link.probability(np.asarray(scores, dtype=float)), CLIP, 1 - CLIP)
        rho = self.proper.weight(e) / self.link.slope(e)
        return e * rho, (e - 1) * rho

    def is_convex(self, n_points: int = 2000) -> bool:
        """Whether both losses are convex in the score.

        Parameters
        ----------
        n_points : int, default=2000
            Probabilities at which the condition is tested.

        Returns
        -------
        convex : bool
            Whether it holds at all of them, up to rounding.
        """
        x = (np.arange(n_points) + 0.5) / n_points
        h = 1e-4 * np.minimum(x, 1 - x)

        def log_slope(function: Function) -> np.ndarray:
            return (np.log(function(x + h)) - np.log(function(x - h))) / (2 * h)

        with np.errstate(divide="ignore", invalid="ignore"):
            difference = log_slope(self.proper.weight) - log_slope(self.link.slope)
        room = 1e-4 * (1 / x + 1 / (1 - x))
        # A weight of zero on an interval has a flat loss there, which is convex.
        inside = (difference >= -1 / x - room) & (difference <= 1 / (1 - x) + room)
        return bool(np.all(inside | (self.proper.weight(x) == 0)))

    def convexity_band(self, probabilities: Any) -> tuple[np.ndarray, np.ndarray]:
        """Bounds of the weight over w(1/2) that convexity needs; they do not suffice.

        Parameters
        ----------
        probabilities : array-like
            Probabilities.

        Returns
        -------
        low, high : ndarray
            The bounds.
        """
        x = np.asarray(probabilities, dtype=float)
        ratio = self.link.slope(x) / (2 * self.link.slope(np.array([0.5])))
        ends = np.array([ratio / x, ratio / (1 - x)])
        return ends.min(axis=0), ends.max(axis=0)
