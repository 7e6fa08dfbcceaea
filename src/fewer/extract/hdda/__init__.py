"""Normal classes and clusters with a subspace of their own each."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.extract.hdda._hdda import HDDA
    from fewer.extract.hdda._hddc import HDDC

__all__ = ["HDDA", "HDDC"]

__getattr__, __dir__ = lazy_names(__name__)
