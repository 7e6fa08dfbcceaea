"""Which columns to keep: scores, searches, sparse models, relevance tests.

Searches and objectives combine freely: :class:`SequentialSearch` and :class:`ExhaustiveSearch` take the cross-validated
score of any estimator, an objective that is updated column by column, such as :class:`NearestNeighbourObjective`, or a
function. A new objective is one small class; see :class:`Objective`.
"""

from fewer.select._independent_ranking import IndependentRanking
from fewer.select._likelihood_ratio_selector import LikelihoodRatioSelector
from fewer.select._relief_selector import Relief
from fewer.select._score_agreement import ScoreAgreement, score_agreement
from fewer.select._select_top import SelectTop
from fewer.select._text_feature_scorer import TextFeatureScorer
from fewer.select.objectives._cross_validated_score import CrossValidatedScore
from fewer.select.objectives._nearest_neighbour import NearestNeighbourObjective
from fewer.select.objectives._objective import Objective, PlainScorer, SubsetScorer
from fewer.select.scores import (
    ColumnScores,
    anova_score,
    bns_score,
    bw_ratio_score,
    chi2_score,
    column_score,
    cross_entropy_score,
    fisher_score,
    frequency_score,
    info_gain_score,
    knn_mutual_information_score,
    kolmogorov_smirnov_score,
    laplacian_score,
    likelihood_ratio_feature_score,
    mutual_information_score,
    occurrence_fisher_score,
    occurrence_mutual_info_score,
    odds_ratio_score,
    pearson_score,
    random_score,
    relief_score,
    relieff_score,
    score_names,
    signal_to_noise_score,
    single_column_score,
    spearman_score,
    svm_weight_score,
    variance_score,
    welch_score,
)
from fewer.select.searches._exhaustive_search import ExhaustiveSearch
from fewer.select.searches._sequential import SearchStep
from fewer.select.searches._sequential_search import SequentialSearch
from fewer.select.weights import (
    FisherWeightSelector,
    HaarFeatures,
    VarianceWeightSelector,
    WeightedFisher,
    WeightedPCA,
)

__all__ = [
    "ColumnScores",
    "CrossValidatedScore",
    "ExhaustiveSearch",
    "FisherWeightSelector",
    "HaarFeatures",
    "IndependentRanking",
    "LikelihoodRatioSelector",
    "NearestNeighbourObjective",
    "Objective",
    "PlainScorer",
    "Relief",
    "ScoreAgreement",
    "SearchStep",
    "SelectTop",
    "SequentialSearch",
    "SubsetScorer",
    "TextFeatureScorer",
    "VarianceWeightSelector",
    "WeightedFisher",
    "WeightedPCA",
    "anova_score",
    "bns_score",
    "bw_ratio_score",
    "chi2_score",
    "column_score",
    "cross_entropy_score",
    "fisher_score",
    "frequency_score",
    "info_gain_score",
    "knn_mutual_information_score",
    "kolmogorov_smirnov_score",
    "laplacian_score",
    "likelihood_ratio_feature_score",
    "mutual_information_score",
    "occurrence_fisher_score",
    "occurrence_mutual_info_score",
    "odds_ratio_score",
    "pearson_score",
    "random_score",
    "relief_score",
    "relieff_score",
    "score_agreement",
    "score_names",
    "signal_to_noise_score",
    "single_column_score",
    "spearman_score",
    "svm_weight_score",
    "variance_score",
    "welch_score",
]
