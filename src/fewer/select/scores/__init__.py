"""Scores of single columns: functions ``(X, y) -> scores``, higher is better, a number for each column.

Each looks at one column at a time (Relief also at the neighbourhood of a row), so none sees that two columns say the
same. A new score is one function on clean arrays, with its card ``@column_score(...)``; selectors then know it by name.
"""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.select.scores._class_means import (
        anova_score,
        bw_ratio_score,
        fisher_score,
        fold_change_score,
        signal_to_noise_score,
        welch_score,
    )
    from fewer.select.scores._correlation import pearson_score, spearman_score
    from fewer.select.scores._distributions import kolmogorov_smirnov_score, likelihood_ratio_feature_score
    from fewer.select.scores._information import chi2_score, knn_mutual_information_score, mutual_information_score
    from fewer.select.scores._occurrence import (
        bns_score,
        cross_entropy_score,
        frequency_score,
        info_gain_score,
        occurrence_fisher_score,
        occurrence_mutual_info_score,
        odds_ratio_score,
        random_score,
        svm_weight_score,
    )
    from fewer.select.scores._relief import relief_score, relieff_score
    from fewer.select.scores._score import (
        ColumnScores,
        Score,
        column_score,
        named_score,
        score_card,
        score_names,
        single_column_score,
    )
    from fewer.select.scores._unsupervised import laplacian_score, variance_score

__all__ = [
    "ColumnScores",
    "Score",
    "anova_score",
    "bns_score",
    "bw_ratio_score",
    "chi2_score",
    "column_score",
    "cross_entropy_score",
    "fisher_score",
    "fold_change_score",
    "frequency_score",
    "info_gain_score",
    "knn_mutual_information_score",
    "kolmogorov_smirnov_score",
    "laplacian_score",
    "likelihood_ratio_feature_score",
    "mutual_information_score",
    "named_score",
    "occurrence_fisher_score",
    "occurrence_mutual_info_score",
    "odds_ratio_score",
    "pearson_score",
    "random_score",
    "relief_score",
    "relieff_score",
    "score_card",
    "score_names",
    "signal_to_noise_score",
    "single_column_score",
    "spearman_score",
    "svm_weight_score",
    "variance_score",
    "welch_score",
]

__getattr__, __dir__ = lazy_names(__name__)
