"""What is certified or planned in advance: design certificates, sample sizes, bounds, the papers' experiments."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    pass

__all__: list[str] = []

__getattr__, __dir__ = lazy_names(__name__)
