"""Hidden Markov chains: rows in time order whose state is not observed."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.latent.chains._hidden_markov import HiddenMarkov
    from fewer.latent.chains._state_figure import plot_states

__all__ = ["HiddenMarkov", "plot_states"]

__getattr__, __dir__ = lazy_names(__name__)
