"""Hidden images on a lattice of pixels."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.latent.lattices._hidden_ising import HiddenIsing

__all__ = ["HiddenIsing"]

__getattr__, __dir__ = lazy_names(__name__)
