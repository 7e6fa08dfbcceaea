"""Are probabilities right on rows with a known class? Shares in bins, the slope of the logits, and the mean.

With p the probability of a class and z whether a row belongs to it, calibrated probabilities have the share p of z
among the rows with probability p. Two numbers say how far they are from it (Cox 1958; Van Calster and others 2016):
the slope b of the logistic regression of z on the logit of p, 1 if calibrated, less if the probabilities are too
extreme; and, of two classes, the mean of p less the share of z. Each of several classes counts against the rest, all
together. Intervals take the rows for independent, and the classes of a row not (a sandwich estimate).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, ndtri

from fewer._figures import Result
from fewer._wording import interval_words, signed

if TYPE_CHECKING:
    import plotly.graph_objects as go

_N_BINS = 10
_SMOOTHING = 1e-6
_two_digits = "{:.2f}".format


@dataclass(frozen=True, repr=False)
class CalibrationCheck(Result):
    """Predicted probabilities beside the classes of rows.

    Attributes
    ----------
    verdict : {"calibrated", "too extreme", "not extreme enough", "too high", "too low"}
        What the intervals show; the first of what they do.
    slope : float
        Of the observed logits over the predicted ones: 1 if calibrated, below 1 if probabilities are too extreme.
    slope_interval : tuple of two floats
        Its confidence interval.
    difference : float or None
        Mean probability minus share of the second of two classes; None for more classes.
    difference_interval : tuple of two floats or None
        Its confidence interval.
    label : str or None
        The second of two classes.
    confidence_level : float
        Of all intervals.
    bins : dict of str to list of float
        In bins of equally many rows: mean probability ``predicted``, share ``observed`` with its interval ``low`` and
        ``high``, and ``rows``.
    error : float
        Mean distance of predicted and observed over the bins.
    """

    verdict: str
    slope: float
    slope_interval: tuple[float, float]
    difference: float | None
    difference_interval: tuple[float, float] | None
    label: str | None
    confidence_level: float
    bins: dict[str, list[float]]
    error: float

    def __repr__(self) -> str:
        level = self.confidence_level
        words = {
            "calibrated": "agree with the classes",
            "too extreme": "are too extreme: nearer to 0 and 1 than the shares of rows",
            "not extreme enough": "are not extreme enough: farther from 0 and 1 than the shares of rows",
            "too high": f"of {self.label} are too high",
            "too low": f"of {self.label} are too low",
        }[self.verdict]
        said = [
            f"probabilities {words} (mean distance {self.error:.3f})",
            f"slope, 1 if calibrated: {self.slope:.2f} ({interval_words(self.slope_interval, level, _two_digits)})",
        ]
        if self.difference is not None and self.difference_interval is not None:
            words = interval_words(self.difference_interval, level, signed)
            said.append(f"mean probability of {self.label} minus its share: {signed(self.difference)} ({words})")
        return "\n  ".join(said)

    def plot(self) -> "go.Figure":
        """Shares of rows over predicted probabilities.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            A point for each bin, with the interval of its share; the diagonal is calibrated.
        """
        import plotly.graph_objects as go

        bins = {name: np.array(values) for name, values in self.bins.items()}
        figure = go.Figure(
            [
                go.Scatter(
                    x=[0, 1], y=[0, 1], mode="lines", line={"dash": "dot", "color": "#8a8f98"}, name="calibrated"
                ),
                go.Scatter(
                    x=bins["predicted"],
                    y=bins["observed"],
                    error_y={
                        "array": bins["high"] - bins["observed"],
                        "arrayminus": bins["observed"] - bins["low"],
                        "symmetric": False,
                    },
                    mode="lines+markers",
                    name="these rows",
                    line={"color": "#2f7fb5"},
                ),
            ]
        )
        return figure.update_layout(
            xaxis_title="predicted probability", yaxis_title="share of rows", xaxis_range=[0, 1], yaxis_range=[0, 1]
        )


def calibration_check(
    classes: list[str], probabilities: np.ndarray, truth: np.ndarray, weights: np.ndarray, confidence: float
) -> CalibrationCheck:
    """Probabilities (n_rows, n_classes) beside the classes of the rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=2000)
    >>> truth = np.where(rng.uniform(size=2000) < p, "yes", "no")
    >>> calibration_check(["no", "yes"], np.column_stack([1 - p, p]), truth, np.ones(2000), 0.95).verdict
    'calibrated'
    """
    places = [1] if len(classes) == 2 else range(len(classes))
    p = np.asarray(probabilities, dtype=float)[:, places]
    hit = truth[:, None].astype(str) == np.array(classes)[places]
    logits = np.log((p + _SMOOTHING) / (1 - p + _SMOOTHING))
    slope, reach = _slope(logits, hit, weights)
    z = float(ndtri((1 + confidence) / 2))
    slope_interval = slope - z * reach, slope + z * reach
    difference = interval = None
    verdict = "calibrated"
    if len(classes) == 2:
        apart = (p - hit)[:, 0]
        difference = float(np.average(apart, weights=weights))
        error = float(np.sqrt(weights**2 @ (apart - difference) ** 2) / weights.sum())
        interval = difference - z * error, difference + z * error
        verdict = "too high" if interval[0] > 0 else "too low" if interval[1] < 0 else verdict
    if not slope_interval[0] <= 1 <= slope_interval[1]:
        verdict = "too extreme" if slope < 1 else "not extreme enough"
    bins = in_bins(p.ravel(), hit.ravel(), np.repeat(weights, p.shape[1]), 1, confidence)
    error_of_bins = bins.pop("error")
    label = classes[1] if len(classes) == 2 else None
    return CalibrationCheck(
        verdict, slope, slope_interval, difference, interval, label, confidence, bins, error_of_bins
    )


def _slope(logits: np.ndarray, hit: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Slope of a logistic regression of the hits on the logits, and its standard error by rows.

    Of classes that the logits separate, the likelihood rises for ever: a weak penalty keeps the slope finite.
    """
    middle = np.average(logits.mean(axis=1), weights=weights)
    spread = float(np.sqrt(np.average(((logits - middle) ** 2).mean(axis=1), weights=weights))) or 1.0
    design = np.stack([np.ones(logits.shape), logits / spread], axis=2)
    weight, penalty = weights[:, None], np.array([0.0, 1e-6 * weights.sum()])
    beta = np.array([0.0, spread])
    for _ in range(50):
        chance = expit(design @ beta)
        gradient = np.einsum("rc,rck->k", weight * (hit - chance), design) - penalty * beta
        curvature = np.einsum("rc,rck,rcl->kl", weight * chance * (1 - chance), design, design) + np.diag(penalty)
        step = np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        beta = beta + step * min(1.0, 5.0 / max(np.abs(step).max(), 1e-12))
        if np.abs(step).max() < 1e-8:
            break
    by_row = np.einsum("rc,rck->rk", weight * (hit - expit(design @ beta)), design)
    inverse = np.linalg.pinv(curvature)
    covariance = inverse @ (by_row.T @ by_row) @ inverse
    return float(beta[1] / spread), float(np.sqrt(max(covariance[1, 1], 0.0)) / spread)


def in_bins(p: np.ndarray, hit: np.ndarray, weights: np.ndarray, n_repeats: int, confidence: float) -> dict[str, Any]:
    """Mean probability and share of hits in bins of equal numbers of rows; with weights, of as many rows as these say.

    The interval of a share counts rows of weights w as (sum w)^2 / sum w^2.
    """
    edges = np.unique(np.quantile(p, np.linspace(0, 1, _N_BINS + 1))[1:-1])
    places = np.searchsorted(edges, p, side="right")
    counts, squares = (np.bincount(places, each, len(edges) + 1) for each in (weights, weights**2))
    full = counts > 0
    predicted = np.bincount(places, weights * p, len(counts))[full] / counts[full]
    observed = np.clip(np.bincount(places, weights * hit, len(counts))[full] / counts[full], 0, 1)
    rows = counts[full] / n_repeats  # repeats predict the same rows again
    low, high = _wilson(observed, counts[full] ** 2 / squares[full] / n_repeats, confidence)
    return {
        "predicted": np.round(predicted, 4).tolist(),
        "observed": np.round(observed, 4).tolist(),
        "low": np.round(low, 4).tolist(),
        "high": np.round(high, 4).tolist(),
        "rows": rows.tolist(),
        "error": float(np.average(np.abs(predicted - observed), weights=rows)),
    }


def _wilson(share: np.ndarray, n: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's interval of a share."""
    z = float(ndtri((1 + confidence) / 2))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.clip(middle - reach, 0, 1), np.clip(middle + reach, 0, 1)
