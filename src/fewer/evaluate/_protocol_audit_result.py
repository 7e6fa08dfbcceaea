"""What an audit of shortcuts found: paired scores, the bias of each shortcut, and a verdict in plain words."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer._figures import Result

if TYPE_CHECKING:
    import plotly.graph_objects as go

_WORDS = {
    "external": "choosing hyper-parameters once on all rows",
    "median": "freezing the median of the first choices",
    "external_selection": "choosing columns before splitting",
}


@dataclass(frozen=True)
class ProtocolBias:
    """One shortcut beside the honest protocol.

    Attributes
    ----------
    protocol : str
        Its name.
    score : float
        Mean score that it gives.
    bias : float
        By how much that is too good: its score minus the internal one, or the internal error minus its error.
    se : float
        Standard error of the bias over the paired realisations.
    p_value : float
        Of Wilcoxon's signed-rank test, two-sided; 1 when all pairs are equal.
    """

    protocol: str
    score: float
    bias: float
    se: float
    p_value: float

    @property
    def verdict(self) -> str:
        """What the figures say, in plain words."""
        figures = f"bias {self.bias:+.4f}, standard error {self.se:.4f}, p = {self.p_value:.2g}"
        if self.p_value < 0.05 and self.bias > 0:
            return f"{self.protocol}: {_WORDS[self.protocol]} makes the score look better than it is ({figures})."
        if self.p_value < 0.05 and self.bias < 0:
            return f"{self.protocol}: {_WORDS[self.protocol]} makes the score look worse than it is ({figures})."
        return f"{self.protocol}: no bias that these realisations could show ({figures}). It may still be there."


def paired_bias(protocol: str, scores: np.ndarray, honest: np.ndarray) -> ProtocolBias:
    """Bias of a protocol from paired scores."""
    from scipy.stats import wilcoxon

    differences = scores - honest
    # Rounding must not make pairs of equal scores differ.
    differences[np.isclose(scores, honest, rtol=0, atol=1e-12)] = 0
    p_value = float(wilcoxon(differences).pvalue) if differences.any() else 1.0
    se = float(differences.std(ddof=1) / np.sqrt(len(differences)))
    return ProtocolBias(protocol, float(scores.mean()), float(differences.mean()), se, p_value)


@dataclass(frozen=True, eq=False, repr=False)
class ProtocolAudit(Result):
    """Scores of one search under several protocols, on the same realisations; made by :func:`protocol_audit`.

    Attributes
    ----------
    scores : dict of str to ndarray
        Score of each realisation, for every protocol; ``"internal"`` is the honest one.
    frozen : dict of str to object
        What the shortcuts froze: parameters, or the names of columns.
    left_out : dict of str to str
        Protocols that do not apply to this search, and why.
    scoring : str
        Name of the score.
    """

    scores: dict[str, np.ndarray]
    frozen: dict[str, Any]
    left_out: dict[str, str]
    scoring: str = "score"

    _data = ("scoring", "scores", "left_out", "verdict")

    @property
    def errors(self) -> dict[str, np.ndarray]:
        """``1 - score``, which is the error rate where the score is an accuracy."""
        return {protocol: 1 - scores for protocol, scores in self.scores.items()}

    @property
    def biases(self) -> dict[str, ProtocolBias]:
        """Bias of every shortcut."""
        return {
            protocol: paired_bias(protocol, scores, self.scores["internal"])
            for protocol, scores in self.scores.items()
            if protocol != "internal"
        }

    @property
    def verdict(self) -> str:
        """What to make of it, one sentence for each shortcut."""
        said = [bias.verdict for bias in self.biases.values()]
        return "\n".join([*said, f"Report the internal score, {self.scores['internal'].mean():.4f}."])

    def table(self) -> list[dict[str, Any]]:
        """One row for each protocol, ready for a data frame.

        Returns
        -------
        rows : list of dict
            Protocol, whether it is honest, score, its standard error, bias with standard error and p-value.
        """
        honest = self.scores["internal"]
        biases = {"internal": ProtocolBias("internal", float(honest.mean()), 0.0, 0.0, 1.0)} | self.biases
        return [
            {
                "protocol": protocol,
                "honest": protocol == "internal",
                "score": biases[protocol].score,
                "score_se": float(scores.std(ddof=1) / np.sqrt(len(scores))),
                "bias": biases[protocol].bias,
                "bias_se": biases[protocol].se,
                "p_value": biases[protocol].p_value,
            }
            for protocol, scores in self.scores.items()
        ]

    def __repr__(self) -> str:
        n = len(self.scores["internal"])
        lines = [
            f"ProtocolAudit: {self.scoring} over {n} realisations",
            f"  {'protocol':<20}{'score':>8}{'bias':>10}{'se':>9}{'p':>10}",
        ]
        for row in self.table():
            figures = "" if row["honest"] else f"{row['bias']:>+10.4f}{row['bias_se']:>9.4f}{row['p_value']:>10.2g}"
            lines.append(f"  {row['protocol']:<20}{row['score']:>8.4f}{figures or '    honest'}")
        lines += [f"  {protocol}: left out, {why}" for protocol, why in self.left_out.items()]
        return "\n".join([*lines, self.verdict])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON; every protocol says whether it is honest.

        Returns
        -------
        data : dict
            The table, the verdict, and the scores of every realisation.
        """
        return super().to_dict() | {"protocols": self.table()}

    def plot(self) -> "go.Figure":
        """How much too good each shortcut looks, with two standard errors on either side.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The picture.
        """
        import plotly.graph_objects as go

        from fewer import _figures

        figure = _figures.new_figure(
            title=f"Honest score: {self.scores['internal'].mean():.3f}",
            x="looks better than it is by",
            y="",
            height=260,
        )
        biases = list(self.biases.values())
        figure.add_trace(
            go.Scatter(
                x=[bias.bias for bias in biases],
                y=[bias.protocol.replace("_", " ") for bias in biases],
                error_x={"type": "data", "array": [2 * bias.se for bias in biases], "color": _figures.RED},
                mode="markers",
                marker={"color": _figures.RED, "size": 11},
                text=[bias.verdict for bias in biases],
                name="bias",
                showlegend=False,
            )
        )
        figure.add_vline(x=0, line={"color": _figures.GREY, "dash": "dot"})
        figure.update_layout(margin={"l": 140})
        return figure
