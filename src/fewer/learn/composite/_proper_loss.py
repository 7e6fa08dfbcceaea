"""Proper losses of predicted probabilities, from their weight functions.

A loss is proper, so that the true probability is the best prediction, if for a weight w >= 0 its partial losses are

    l(+1, e) = int_e^1 (1 - c) w(c) dc,     l(-1, e) = int_0^e c w(c) dc:

a mixture of the losses with cost c, with weight w(c). The regret ``L(eta, e) - L(eta, eta)`` is a Bregman divergence.

Integrals are over ``t = logit(c)``, in which the integrands fall off exponentially at both ends, by Gauss-Legendre
rules on short intervals.

Reid, M. and Williamson, R. (2010). Composite binary losses. JMLR 11, 2387-2422.
"""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit, lambertw, logit

Function = Callable[[np.ndarray], np.ndarray]
Partial = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

CLIP = 1e-12
_ROUNDING = 1e-6
"""Negative weights of this size, relative to the largest, come from differences."""
# Beyond 30, 1 - c has too few digits, and a geometric series stands for the rest.
_EDGES = np.linspace(-60.0, 30.0, 361)
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(16)


class ProperLoss:
    """A loss of predicted probabilities whose best prediction is the true probability.

    Parameters
    ----------
    weight : callable
        w(c) >= 0 for probabilities c between 0 and 1, as a function of arrays.
    name : str, default=""
        Name, for messages.
    partial_losses : callable or None, default=None
        Closed form: gives (loss for the negative class, loss for the positive class) of predicted probabilities.
        Without it the integrals are computed.

    See Also
    --------
    proper_loss : Losses by name.
    CompositeLoss : A proper loss with a link.

    References
    ----------
    .. [1] Reid, M. & Williamson, R. (2010). Composite binary losses. Journal of Machine Learning Research 11,
       2387-2422.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import ProperLoss
    >>> loss = ProperLoss(lambda c: 1 / (c * (1 - c)))
    >>> [part.round(4) for part in loss.partial_losses(np.array([0.2, 0.5]))]
    [array([0.2231, 0.6931]), array([1.6094, 0.6931])]
    """

    def __init__(self, weight: Function, name: str = "", partial_losses: Partial | None = None):
        if not callable(weight):
            raise ValueError(f"weight must be a function of probabilities, and is {weight!r}.")
        self._weight = weight
        self.name = name
        on_grid = self.weight(_grid())
        if not (on_grid >= -_ROUNDING * np.abs(on_grid).max()).all():
            place = int(np.flatnonzero(~(on_grid >= 0))[0])
            raise ValueError(
                "The weight of a proper loss must not be negative, and is "
                f"{on_grid[place]:.3g} at {_grid()[place]:.3f}."
            )
        self._closed_form = partial_losses

    def weight(self, c: Any) -> np.ndarray:
        """w(c), the weight of the costs c in the mixture that the loss is.

        Parameters
        ----------
        c : array-like
            Probabilities between 0 and 1.

        Returns
        -------
        weight : ndarray
            From 0 on.
        """
        c = np.asarray(c, dtype=float)
        return np.broadcast_to(np.asarray(self._weight(c), dtype=float), c.shape)

    def partial_losses(self, probabilities: Any) -> tuple[np.ndarray, np.ndarray]:
        """Losses of predicted probabilities for the negative and for the positive class.

        Parameters
        ----------
        probabilities : array-like
            Predicted probabilities of the positive class.

        Returns
        -------
        negative, positive : ndarray
            The losses.
        """
        e = np.clip(np.asarray(probabilities, dtype=float), CLIP, 1 - CLIP)
        return self._closed_form(e) if self._closed_form is not None else self._integrals(e)

    def risk(self, eta: Any, probabilities: Any) -> np.ndarray:
        """Expected loss of predictions where the probability of the positive class is ``eta``.

        Parameters
        ----------
        eta, probabilities : array-like
            True and predicted probabilities.

        Returns
        -------
        risk : ndarray
            ``eta l(+1) + (1 - eta) l(-1)``.
        """
        negative, positive = self.partial_losses(probabilities)
        eta = np.asarray(eta, dtype=float)
        return eta * positive + (1 - eta) * negative

    def bayes_risk(self, eta: Any) -> np.ndarray:
        """Expected loss of the true probability, the smallest that there is.

        Parameters
        ----------
        eta : array-like
            True probabilities.

        Returns
        -------
        risk : ndarray
            The risk.
        """
        return self.risk(eta, eta)

    def regret(self, eta: Any, probabilities: Any) -> np.ndarray:
        """Expected loss above the smallest.

        Parameters
        ----------
        eta, probabilities : array-like
            True and predicted probabilities.

        Returns
        -------
        regret : ndarray
            0 or more.
        """
        return self.risk(eta, probabilities) - self.bayes_risk(eta)

    def loss(self, y: Any, probabilities: Any, *, pos_label: Any = 1, sample_weight: Any = None) -> float:
        """Mean loss of predicted probabilities.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Classes.
        probabilities : array-like of shape (n_samples,)
            Predicted probabilities of the class ``pos_label``.
        pos_label : object, default=1
            The positive class.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        loss : float
            The mean. ``sklearn.metrics.make_scorer(loss.loss, response_method="predict_proba",
            greater_is_better=False)`` makes a scorer of it.
        """
        labels, shares = np.asarray(y), np.asarray(probabilities, dtype=float)
        if labels.shape != shares.shape:
            raise ValueError(f"y has the shape {labels.shape} and probabilities have {shares.shape}.")
        if not ((shares >= 0) & (shares <= 1)).all():
            place = int(np.flatnonzero(~((shares >= 0) & (shares <= 1)))[0])
            raise ValueError(f"probabilities must lie between 0 and 1, and are {shares.flat[place]} in row {place}.")
        if labels.dtype.kind in "USO" and pos_label not in labels.tolist():
            raise ValueError(f"pos_label={pos_label!r} is not among the labels {sorted(set(labels.tolist()))[:5]}.")
        negative, positive = self.partial_losses(shares)
        return float(np.average(np.where(labels == pos_label, positive, negative), weights=sample_weight))

    def corrupted_partial_losses(self, probabilities: Any, noise: float) -> tuple[np.ndarray, np.ndarray]:
        """Partial losses, on average, where each label is flipped with probability ``noise``.

        Parameters
        ----------
        probabilities : array-like
            Predicted probabilities.
        noise : float
            Probability of a flip, below 1/2.

        Returns
        -------
        negative, positive : ndarray
            The losses; the best prediction for a true probability eta is ``noise (1 - eta) + (1 - noise) eta``.
        """
        if not 0 <= noise < 0.5:
            raise ValueError(f"noise={noise} must lie from 0 to below 1/2.")
        negative, positive = self.partial_losses(probabilities)
        return (1 - noise) * negative + noise * positive, (1 - noise) * positive + noise * negative

    @property
    def is_strictly_proper(self) -> bool:
        """Whether the true probability is the only best prediction: w > 0 everywhere."""
        return bool((self.weight(_grid()) > 0).all())

    @property
    def is_symmetric(self) -> bool:
        """Whether both classes are treated alike: w(c) = w(1 - c)."""
        grid = _grid()
        return bool(np.allclose(self.weight(grid), self.weight(1 - grid), rtol=1e-9))

    def is_calibrated_at(self, threshold: float) -> bool:
        """Whether the best predictions lie on the right side of a threshold, also where it is the decision threshold.

        Parameters
        ----------
        threshold : float
            Probability between 0 and 1.

        Returns
        -------
        calibrated : bool
            Whether w(threshold) > 0.
        """
        return bool(self.weight(np.array([threshold]))[0] > 0)

    @classmethod
    def from_bayes_risk(cls, bayes_risk: Function, name: str = "") -> "ProperLoss":
        """The loss with a given smallest risk: ``w = -(bayes_risk)''``, by differences.

        Parameters
        ----------
        bayes_risk : callable
            A concave function of probabilities.
        name : str, default=""
            Name, for messages.

        Returns
        -------
        loss : ProperLoss
            The loss.
        """

        def weight(c: np.ndarray) -> np.ndarray:
            h = 1e-3 * np.minimum(c, 1 - c)
            return -(bayes_risk(c + h) - 2 * bayes_risk(c) + bayes_risk(c - h)) / h**2

        return cls(weight, name)

    @classmethod
    def from_partial(cls, negative_loss: Function, name: str = "") -> "ProperLoss":
        """The loss with a given loss for the negative class: ``w(e) = l'(-1, e) / e``, by differences.

        Parameters
        ----------
        negative_loss : callable
            A function of probabilities that does not fall.
        name : str, default=""
            Name, for messages.

        Returns
        -------
        loss : ProperLoss
            The loss.
        """

        def weight(c: np.ndarray) -> np.ndarray:
            h = 1e-4 * np.minimum(c, 1 - c)
            return (negative_loss(c + h) - negative_loss(c - h)) / (2 * h * c)

        return cls(weight, name)

    @cached_property
    def _table(self) -> tuple[np.ndarray, np.ndarray]:
        """Integrals of c w and (1 - c) w from the left and from the right end to each edge of the grid over logits."""
        parts = _panels(_EDGES[:-1], _EDGES[1:], self.weight)
        for end, before, last in ((0, *parts[0][1::-1]), (1, *parts[1][-2:])):
            if last > 0 and last > 0.9995 * before:
                raise ValueError(
                    f"The weight grows too fast towards {end}: the loss of predicting it is infinite for both classes. "
                    "It must grow less than the square of the distance falls."
                )
        left = _rest(*parts[0][1::-1]) + np.concatenate([[0.0], np.cumsum(parts[0])])
        right = _rest(*parts[1][-2:]) + np.concatenate([np.cumsum(parts[1][::-1])[::-1], [0.0]])
        return left, right

    def _integrals(self, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        t = logit(np.atleast_1d(e).ravel())
        place = np.clip(np.searchsorted(_EDGES, t, side="right") - 1, 0, len(_EDGES) - 2)
        left, right = self._table
        negative = left[place] + _panels(_EDGES[place], t, self.weight)[0]
        positive = right[place + 1] + _panels(t, _EDGES[place + 1], self.weight)[1]
        return negative.reshape(np.shape(e)), positive.reshape(np.shape(e))

    def __repr__(self) -> str:
        return f"ProperLoss({self.name or 'of a weight function'})"


def _panels(start: np.ndarray, stop: np.ndarray, weight: Function) -> tuple[np.ndarray, np.ndarray]:
    """Integrals of c w(c) and (1 - c) w(c) over c, between pairs of logits."""
    half = (stop - start) / 2
    t = ((start + stop) / 2)[:, None] + half[:, None] * _NODES
    c, rest = expit(t), expit(-t)
    values = weight(c) * c * rest * _NODE_WEIGHTS * half[:, None]
    return (values * c).sum(axis=1), (values * rest).sum(axis=1)


def _rest(before: float, last: float) -> float:
    """What follows the last two terms of a sum, if it goes on as a geometric series."""
    return float(last**2 / (before - last)) if 0 < last < before else 0.0


def _grid() -> np.ndarray:
    return np.linspace(0.001, 0.999, 999)


def proper_loss(name: str, threshold: float = 0.5) -> ProperLoss:
    """A proper loss by name.

    Parameters
    ----------
    name : {"log", "square", "boosting", "asymmetric-1", "asymmetric-2", "minimal", "zero-one", "cost"}
        Which loss. The last two have their whole weight at ``threshold`` and are not strictly proper.
    threshold : float, default=0.5
        Cost of a false positive of "cost", where that of a false negative is 1 less it.

    Returns
    -------
    loss : ProperLoss
        The loss.

    Examples
    --------
    >>> from fewer.learn import proper_loss
    >>> round(proper_loss("square").loss([1, 0, 1], [0.9, 0.2, 0.6]), 4)
    0.035
    """
    if name in ("zero-one", "cost"):
        at, scale = (0.5, 2.0) if name == "zero-one" else (threshold, 1.0)
        if not 0 < at < 1:
            raise ValueError(f"threshold={threshold} must lie between 0 and 1.")
        return ProperLoss(
            lambda c: np.where(np.isclose(c, at), np.inf, 0.0),
            name,
            lambda e: (scale * at * (e >= at), scale * (1 - at) * (e < at)),
        )
    if name not in _NAMED:
        raise ValueError(f"{name!r} is not one of the losses {', '.join([*_NAMED, 'zero-one', 'cost'])}.")
    return ProperLoss(_NAMED[name][0], name, _NAMED[name][1])


def beta_loss(low: float = 0.0, high: float = 0.0) -> ProperLoss:
    """A proper loss of the beta family, ``w(c) = c^(low - 1) (1 - c)^(high - 1)``.

    Parameters
    ----------
    low, high : float, default=0.0, 0.0
        Powers at both ends, above -1: the smaller one is, the more small errors count near 0 or near 1. Equal powers of
        0 are the log loss, of 1 the square loss, and of -1/2 boosting. With the logit link the loss is convex where
        both lie between -1 and 0; with its canonical link always, and then scores are without bounds for powers up to
        0.

    Returns
    -------
    loss : ProperLoss
        The loss.

    See Also
    --------
    CompositeLossClassifierCV : Chooses the powers.

    References
    ----------
    .. [1] Buja, A., Stuetzle, W. & Shen, Y. (2005). Loss functions for binary class probability estimation and
       classification: structure and applications. University of Pennsylvania.

    Examples
    --------
    >>> from fewer.learn import CompositeLoss, beta_loss
    >>> beta_loss(-0.5, -0.5).partial_losses(0.2)[0].round(6)  # boosting: 2 sqrt(e / (1 - e))
    np.float64(1.0)
    >>> CompositeLoss(beta_loss(-0.5, 0.0), "logit").is_convex()
    True
    """
    if not (-1 < low < np.inf and -1 < high < np.inf):
        raise ValueError(
            f"low={low} and high={high} must be above -1; below, the loss of a probability of 0 or 1 is infinite."
        )
    name = {(0, 0): "log", (1, 1): "square", (-0.5, -0.5): "boosting"}.get((low, high))
    if name is not None:
        return proper_loss(name)

    def weight(c: np.ndarray) -> np.ndarray:
        return c ** (low - 1.0) * (1 - c) ** (high - 1.0)

    return ProperLoss(weight, f"beta({low:g}, {high:g})")


def is_calibrated_at(negative_slope: Function, positive_slope: Function, threshold: float) -> bool:
    """Whether a loss of probabilities, proper or not, has its best predictions on the right side of a threshold.

    Parameters
    ----------
    negative_slope, positive_slope : callable
        Derivatives by the predicted probability of the losses of the negative and of the positive class.
    threshold : float
        Probability between 0 and 1.

    Returns
    -------
    calibrated : bool
        Whether the first rises there, the second falls, and ``c l'(+1, c) + (1 - c) l'(-1, c) = 0``.

    See Also
    --------
    ProperLoss.is_calibrated_at : The same for a proper loss, from its weight.

    Examples
    --------
    >>> from fewer.learn import is_calibrated_at
    >>> is_calibrated_at(lambda e: e, lambda e: e - 1, 0.3)  # the square loss
    True
    >>> is_calibrated_at(lambda e: 1, lambda e: -1, 0.3), is_calibrated_at(lambda e: 1, lambda e: -1, 0.5)  # |y - e|
    (False, True)
    """
    if not 0 < threshold < 1:
        raise ValueError(f"threshold={threshold} must lie between 0 and 1.")
    negative, positive = (float(slope(np.asarray(threshold))) for slope in (negative_slope, positive_slope))
    balance = threshold * positive + (1 - threshold) * negative
    return bool(negative > 0 > positive and abs(balance) <= 1e-9 * max(negative, -positive))


def is_noise_robust(proba: Any, threshold: float, noise: float) -> np.ndarray:
    """Whether a decision by cost stays right where labels are flipped.

    Parameters
    ----------
    proba : array-like
        True probabilities of the positive class.
    threshold : float
        Probability from which on the positive class is decided: cost of a false positive, c.
    noise : float
        Probability of a flip, below 1/2.

    Returns
    -------
    robust : ndarray of bool
        Whether ``noise (1 - proba) + (1 - noise) proba``, which is what the labels show, lies on the same side.

    Examples
    --------
    >>> from fewer.learn import is_noise_robust
    >>> is_noise_robust([0.1, 0.25, 0.4, 0.9], 0.3, 0.2)
    array([ True, False,  True,  True])
    """
    if not 0 < threshold < 1 or not 0 <= noise < 0.5:
        raise ValueError(f"threshold={threshold} must lie between 0 and 1, and noise={noise} from 0 to below 1/2.")
    proba = np.asarray(proba, dtype=float)
    return (proba >= threshold) == (noise * (1 - proba) + (1 - noise) * proba >= threshold)


def _minimal(e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    low = e < 0.5
    negative = np.where(low, -e - np.log1p(-e), e - 1 + np.log(2)) / 2
    return negative, np.where(low, np.log(2) - e, e - 1 - np.log(e)) / 2


_NAMED: dict[str, tuple[Function, Partial]] = {
    "log": (lambda c: 1 / (c * (1 - c)), lambda e: (-np.log1p(-e), -np.log(e))),
    "square": (lambda c: np.ones_like(c), lambda e: (e**2 / 2, (1 - e) ** 2 / 2)),
    "boosting": (
        lambda c: (c * (1 - c)) ** -1.5,
        lambda e: (2 * np.sqrt(e / (1 - e)), 2 * np.sqrt((1 - e) / e)),
    ),
    "asymmetric-1": (lambda c: 1 / c, lambda e: (e, e - 1 - np.log(e))),
    "asymmetric-2": (lambda c: 1 / (1 - c), lambda e: (-e - np.log1p(-e), 1 - e)),
    "minimal": (lambda c: np.minimum(1 / c, 1 / (1 - c)) / 2, _minimal),
}


def symmetric_from_half(negative_loss: Function, name: str = "") -> ProperLoss:
    """The symmetric proper loss with a given loss of the negative class for probabilities up to 1/2.

    Parameters
    ----------
    negative_loss : callable
        Loss of the negative class on [0, 1/2]; it must not fall.
    name : str, default=""
        Name, for messages.

    Returns
    -------
    loss : ProperLoss
        ``w(c) = l'(-1, c) / c`` below 1/2, and the same of 1 - c above.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import symmetric_from_half
    >>> loss = symmetric_from_half(lambda e: e)
    >>> loss.is_symmetric
    True
    """
    half = ProperLoss.from_partial(negative_loss)

    def weight(c: np.ndarray) -> np.ndarray:
        return half.weight(np.minimum(c, 1 - c))

    return ProperLoss(weight, name)


def zero_one_regret_bound(regret: Any) -> np.ndarray:
    """The largest regret of the 0-1 loss that a regret of the minimal loss allows.

    Parameters
    ----------
    regret : array-like
        Regret of ``proper_loss("minimal")``, from 0 to ln(2) / 2 - 1/4.

    Returns
    -------
    bound : ndarray
        Distance of the true probability from 1/2, at most: ``exp(W((4 x - 1) / e) + 1) / 2 - 1/2``.

    Examples
    --------
    >>> from fewer.learn import zero_one_regret_bound
    >>> zero_one_regret_bound([0.0, 0.01, 0.0966]).round(3)
    array([0.   , 0.148, 0.5  ])
    """
    regret, largest = np.asarray(regret, dtype=float), np.log(2) / 2 - 0.25
    if not ((regret >= -_ROUNDING) & (regret <= largest + 1e-4)).all():
        raise ValueError(f"regret must lie from 0 to ln(2) / 2 - 1/4 = {largest:.4f}.")
    argument = np.maximum((4 * np.clip(regret, 0.0, largest) - 1) / math.e, -1 / math.e + 1e-16)
    return 0.5 * np.exp(lambertw(argument).real + 1) - 0.5
