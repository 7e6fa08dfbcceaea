"""How the columns depend on one another."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.graph._edge_stability import edge_stability

if TYPE_CHECKING:  # classes of results: documented, but not in __all__
    from fewer.graph._edge_stability import EdgeStability as EdgeStability

__all__ = [
    "edge_stability",
]

__getattr__, __dir__ = lazy_names(__name__)
