"""What estimators of every room are made of: checked tables, steps that callbacks see, warnings, whole files."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer._estimators._classes import encoded_classes
    from fewer._estimators._documents import refuse_documents
    from fewer._estimators._fit_steps import fit_steps
    from fewer._estimators._known_columns import columns_known_as, known_column
    from fewer._estimators._validated import checked_array, narrow_indices, refuse_dataset, validated
    from fewer._estimators._warn import each_warning_once, warn_caller
    from fewer._estimators._whole_file import beside_of, put_in_place, write_whole

__all__ = [
    "beside_of",
    "checked_array",
    "columns_known_as",
    "each_warning_once",
    "encoded_classes",
    "fit_steps",
    "known_column",
    "narrow_indices",
    "put_in_place",
    "refuse_dataset",
    "refuse_documents",
    "validated",
    "warn_caller",
    "write_whole",
]

__getattr__, __dir__ = lazy_names(__name__)
