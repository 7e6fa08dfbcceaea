"""Scores of single columns: functions ``(X, y) -> scores``, higher is better, a number for each column.

Each looks at one column at a time (Relief also at the neighbourhood of a row), so none sees that two columns say the
same. A new score is one function on clean arrays, with its card ``@column_score(...)``; selectors then know it by name.
"""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.select.scores._chi_square import chi2_score
    from fewer.select.scores._correlation import pearson_score, spearman_score
    from fewer.select.scores._fisher import anova_score, bw_ratio_score, fisher_score
    from fewer.select.scores._fold_change import fold_change_score
    from fewer.select.scores._kolmogorov_smirnov import kolmogorov_smirnov_score
    from fewer.select.scores._laplacian import laplacian_score
    from fewer.select.scores._likelihood_ratio import likelihood_ratio_feature_score
    from fewer.select.scores._mutual_information import mutual_information_score
    from fewer.select.scores._nearest_mutual_information import knn_mutual_information_score
    from fewer.select.scores._occurrence_controls import frequency_score, random_score, svm_weight_score
    from fewer.select.scores._occurrence_information import (
        cross_entropy_score,
        info_gain_score,
        occurrence_mutual_info_score,
    )
    from fewer.select.scores._occurrence_odds import bns_score, occurrence_fisher_score, odds_ratio_score
    from fewer.select.scores._relief import relief_score, relieff_score
    from fewer.select.scores._score import (
        ColumnScores,
        Score,
        column_score,
        named_score,
        score_card,
        score_names,
    )
    from fewer.select.scores._single_column import single_column_score
    from fewer.select.scores._two_means import signal_to_noise_score, welch_score
    from fewer.select.scores._variance import variance_score

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
