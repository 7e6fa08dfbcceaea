"""What estimators of every room are made of: checked tables, steps that callbacks see, warnings."""

from fewer._estimators._classes import encoded_classes
from fewer._estimators._documents import refuse_documents
from fewer._estimators._fit_steps import fit_steps
from fewer._estimators._validated import checked_array, refuse_dataset, validated
from fewer._estimators._warn import warn_caller

__all__ = [
    "checked_array",
    "encoded_classes",
    "fit_steps",
    "refuse_dataset",
    "refuse_documents",
    "validated",
    "warn_caller",
]
