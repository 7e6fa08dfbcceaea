"""What a receiver does with the decoders of ``_bound``: tell states from rows or codes, and rate rows."""

from typing import NamedTuple

import numpy as np

from fewer.extract.information._bound import (
    Channel,
    Decoders,
    decoders_of,
    entropies,
    log_densities,
    normalized,
    second_moments,
    softmax,
)
from fewer.extract.information._climbs import Auxiliary


class Receiver(NamedTuple):
    """Projection, decoders, their prior q, and how the state follows from a row, which is ``sent`` or not."""

    W: np.ndarray
    decoders: Decoders
    prior: np.ndarray
    auxiliary: Auxiliary
    channel: Channel
    sent: bool

    def states(self, Z: np.ndarray) -> np.ndarray:
        """Probability of each state, for any rows in the span of the training rows."""
        V, b = self.auxiliary
        if V is not None and b is not None:
            return softmax(Z, V, b)
        densities = log_densities(Z, self.W, self.decoders, self.channel)
        if self.sent:
            return np.eye(densities.shape[1])[densities.argmax(axis=1)]
        return normalized(densities + np.log(self.prior))

    def states_of_codes(self, codes: np.ndarray) -> np.ndarray:
        """Probability of each state given a code: ``q_j N(y; 0, W C_j W' + s^2 I)``."""
        spreads = self.W @ self.decoders.C @ self.W.T + self.channel.noise * np.eye(len(self.W))
        squares = np.stack([np.sum(codes * np.linalg.solve(spread, codes.T).T, axis=1) for spread in spreads], axis=1)
        return normalized(np.log(self.prior) - 0.5 * (squares + np.linalg.slogdet(spreads)[1]))

    def bound(self, Z: np.ndarray) -> float:
        """F on any rows in the span of the training rows."""
        pi = self.states(Z)
        value = float(np.mean(np.sum(pi * log_densities(Z, self.W, self.decoders, self.channel), axis=1)))
        return value if self.sent else value + entropies(pi, self.prior)

    def turned(self, rotation: np.ndarray) -> "Receiver":
        """The same for codes in other coordinates."""
        return self._replace(W=rotation @ self.W, decoders=self.decoders._replace(U=self.decoders.U @ rotation.T))


def receiver_of(
    Z: np.ndarray, W: np.ndarray, pi: np.ndarray, auxiliary: Auxiliary, channel: Channel, *, sent: bool
) -> Receiver:
    """With the best decoders and prior for training rows in given states."""
    return Receiver(W, decoders_of(second_moments(Z, pi), W, channel), pi.mean(axis=0), auxiliary, channel, sent)
