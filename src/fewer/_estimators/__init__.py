"""What estimators of every room are made of: checked tables, closed forms, ties, steps of a fit, warnings, files."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer._estimators._classes import encoded_classes
    from fewer._estimators._closed_forms import (
        DISCRIMINANT,
        NAIVE_BAYES,
        NEIGHBOURS,
        NOT_KNOWN,
        RIDGE,
        ClosedForm,
        FastRoute,
        by_column,
        closed_form,
        column_scales,
        note_slow,
        pipeline_parts,
        plain_table,
        scales_columns,
    )
    from fewer._estimators._documents import refuse_documents
    from fewer._estimators._fit_steps import fit_steps
    from fewer._estimators._known_columns import columns_known_as, known_column
    from fewer._estimators._prediction_scores import asks_for_predictions, fold_scores, score_of_predictions
    from fewer._estimators._sklearn import (
        CVIterableWrapper,
        GroupsConsumerMixin,
        HasMethods,
        Interval,
        LinearClassifierMixin,
        LinearModel,
        MissingValues,
        SparseCoefMixin,
        StrOptions,
        check_feature_names,
        check_feature_names_in,
        check_partial_fit_first_call,
        check_sample_weight,
        check_y,
        fit_context,
        get_column_indices,
        get_feature_names,
        is_pandas_df,
        raise_for_params,
        randomized_eigsh,
        routing_enabled,
        safe_indexing,
        safe_split,
        validate_params,
    )
    from fewer._estimators._targets import known_target, target_matrix
    from fewer._estimators._ties import clearly_better, first_of_best, without_rounding
    from fewer._estimators._validated import checked_array, narrow_indices, refuse_dataset, validated
    from fewer._estimators._warn import each_warning_once, warn_caller
    from fewer._estimators._whole_file import beside_of, put_in_place, write_whole

__all__ = [
    "DISCRIMINANT",
    "NAIVE_BAYES",
    "NEIGHBOURS",
    "NOT_KNOWN",
    "RIDGE",
    "CVIterableWrapper",
    "ClosedForm",
    "FastRoute",
    "GroupsConsumerMixin",
    "HasMethods",
    "Interval",
    "LinearClassifierMixin",
    "LinearModel",
    "MissingValues",
    "SparseCoefMixin",
    "StrOptions",
    "asks_for_predictions",
    "beside_of",
    "by_column",
    "check_feature_names",
    "check_feature_names_in",
    "check_partial_fit_first_call",
    "check_sample_weight",
    "check_y",
    "checked_array",
    "clearly_better",
    "closed_form",
    "column_scales",
    "columns_known_as",
    "each_warning_once",
    "encoded_classes",
    "first_of_best",
    "fit_context",
    "fit_steps",
    "fold_scores",
    "get_column_indices",
    "get_feature_names",
    "is_pandas_df",
    "known_column",
    "known_target",
    "narrow_indices",
    "note_slow",
    "pipeline_parts",
    "plain_table",
    "put_in_place",
    "raise_for_params",
    "randomized_eigsh",
    "refuse_dataset",
    "refuse_documents",
    "routing_enabled",
    "safe_indexing",
    "safe_split",
    "scales_columns",
    "score_of_predictions",
    "target_matrix",
    "validate_params",
    "validated",
    "warn_caller",
    "without_rounding",
    "write_whole",
]

__getattr__, __dir__ = lazy_names(__name__)
