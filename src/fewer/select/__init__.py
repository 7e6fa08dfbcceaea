"""Which columns to keep: scores, searches, sparse models, relevance tests.

Searches and objectives combine freely: :class:`SequentialSearch` and :class:`ExhaustiveSearch` take the cross-validated
score of any estimator, an objective that is updated column by column, such as :class:`NearestNeighbourObjective`, or a
function. A new objective is one small class; see :class:`Objective`.
"""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer._estimators import FastRoute
    from fewer.select._metric_based_selection import MetricBasedSelection
    from fewer.select._select_top import SelectTop
    from fewer.select._text_feature_scorer import TextFeatureScorer
    from fewer.select._vip_selector import VIPSelector
    from fewer.select.embedded._elimination import RidgeRFE
    from fewer.select.embedded._embedded_selector import EmbeddedSelector
    from fewer.select.embedded._sparse_path import SparsePathSelector, StabilitySelection
    from fewer.select.objectives._cross_validated_score import CrossValidatedScore
    from fewer.select.objectives._decision_table import (
        ClassEntropyObjective,
        ConflictsObjective,
        DescriptionLengthObjective,
        InconsistencyObjective,
    )
    from fewer.select.objectives._discriminant import DiscriminantObjective, MahalanobisObjective
    from fewer.select.objectives._naive_bayes import NaiveBayesObjective
    from fewer.select.objectives._nearest_neighbour import NearestNeighbourObjective
    from fewer.select.objectives._objective import Objective, PlainScorer, SubsetScorer
    from fewer.select.objectives._ridge import RidgeObjective
    from fewer.select.per_class._class_statistics import (
        BWRatioSelector,
        OVEFoldChangeSelector,
        OVRSNRSelector,
        OVRTStatSelector,
    )
    from fewer.select.per_class._ovr_svm_rfe import OVRSVMRFESelector
    from fewer.select.per_class._pug_ovr_svm import PUGOVRSVM
    from fewer.select.redundancy._cfs import CFS
    from fewer.select.redundancy._groups import RedundancyGroup, RedundancyGroups, redundancy_groups
    from fewer.select.redundancy._markov_blankets import FCBF, KollerSahami
    from fewer.select.redundancy._mrmr import MRMR
    from fewer.select.relevance._chance_gain import (
        IrrelevantFeatureCurve,
        chance_gain_bounds,
        exact_chance_gain,
        irrelevant_feature_curve,
        majority_vote_convergence,
        midpoint_chance_gain,
    )
    from fewer.select.relevance._forest_importance import ForestImportanceSelector
    from fewer.select.relevance._forest_relevance import ForestRelevanceSelector
    from fewer.select.relevance._shadow_relevance import ShadowRelevanceSelector
    from fewer.select.scores import (
        ColumnScores,
        anova_score,
        bns_score,
        bw_ratio_score,
        chi2_score,
        column_score,
        cross_entropy_score,
        fisher_score,
        fold_change_score,
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
    from fewer.select.scores._score_agreement import ScoreAgreement, score_agreement
    from fewer.select.searches._exhaustive_search import BranchAndBoundSearch, ExhaustiveSearch
    from fewer.select.searches._random_search import RandomMutationSearch, RandomSubsetSearch
    from fewer.select.searches._search import SearchStep
    from fewer.select.searches._sequential_search import SequentialSearch
    from fewer.select.weights._fisher_weights import FisherWeightSelector
    from fewer.select.weights._variance_weights import VarianceWeightSelector
    from fewer.select.weights._weighted_projections import WeightedFisher, WeightedPCA

__all__ = [
    "CFS",
    "FCBF",
    "MRMR",
    "PUGOVRSVM",
    "BWRatioSelector",
    "BranchAndBoundSearch",
    "ClassEntropyObjective",
    "ColumnScores",
    "ConflictsObjective",
    "CrossValidatedScore",
    "DescriptionLengthObjective",
    "DiscriminantObjective",
    "EmbeddedSelector",
    "ExhaustiveSearch",
    "FastRoute",
    "FisherWeightSelector",
    "ForestImportanceSelector",
    "ForestRelevanceSelector",
    "InconsistencyObjective",
    "IrrelevantFeatureCurve",
    "KollerSahami",
    "MahalanobisObjective",
    "MetricBasedSelection",
    "NaiveBayesObjective",
    "NearestNeighbourObjective",
    "OVEFoldChangeSelector",
    "OVRSNRSelector",
    "OVRSVMRFESelector",
    "OVRTStatSelector",
    "Objective",
    "PlainScorer",
    "RandomMutationSearch",
    "RandomSubsetSearch",
    "RedundancyGroup",
    "RedundancyGroups",
    "RidgeObjective",
    "RidgeRFE",
    "ScoreAgreement",
    "SearchStep",
    "SelectTop",
    "SequentialSearch",
    "ShadowRelevanceSelector",
    "SparsePathSelector",
    "StabilitySelection",
    "SubsetScorer",
    "TextFeatureScorer",
    "VIPSelector",
    "VarianceWeightSelector",
    "WeightedFisher",
    "WeightedPCA",
    "anova_score",
    "bns_score",
    "bw_ratio_score",
    "chance_gain_bounds",
    "chi2_score",
    "column_score",
    "cross_entropy_score",
    "exact_chance_gain",
    "fisher_score",
    "fold_change_score",
    "frequency_score",
    "info_gain_score",
    "irrelevant_feature_curve",
    "knn_mutual_information_score",
    "kolmogorov_smirnov_score",
    "laplacian_score",
    "likelihood_ratio_feature_score",
    "majority_vote_convergence",
    "midpoint_chance_gain",
    "mutual_information_score",
    "occurrence_fisher_score",
    "occurrence_mutual_info_score",
    "odds_ratio_score",
    "pearson_score",
    "random_score",
    "redundancy_groups",
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

__getattr__, __dir__ = lazy_names(__name__)
