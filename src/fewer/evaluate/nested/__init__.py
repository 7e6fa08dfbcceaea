"""Selection and evaluation as one procedure: nested cross-validation, and what shortcuts would have done."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.evaluate.nested._nested_evaluation import NestedEvaluation, NestedResult, Realisation
    from fewer.evaluate.nested._nested_selection import NestedSelectionCV
    from fewer.evaluate.nested._protocol_audit import ProtocolAudit, ProtocolBias, protocol_audit

__all__ = [
    "NestedEvaluation",
    "NestedResult",
    "NestedSelectionCV",
    "ProtocolAudit",
    "ProtocolBias",
    "Realisation",
    "protocol_audit",
]

__getattr__, __dir__ = lazy_names(__name__)
