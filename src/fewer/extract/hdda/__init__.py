"""Normal classes and clusters with a subspace of their own each."""

from fewer.extract.hdda._hdda import HDDA
from fewer.extract.hdda._hddc import HDDC

__all__ = ["HDDA", "HDDC"]
