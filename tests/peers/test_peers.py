"""Numbers that R packages give for small tables; ``peers.R`` wrote them, and README.md says how to do it again.

Methods with a closed form agree to rounding (``DIRECT``, with room for tables whose condition is some thousands); for
methods that iterate, the tolerance is what the stopping rules of the two leave open.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.model_selection import LeaveOneOut

from fewer.evaluate import benjamini_hochberg, clustering_comparison, compare_methods
from fewer.extract import (
    CanonicalCorrespondenceAnalysis,
    CanonicalRidge,
    CorrespondenceAnalysis,
    OptimalScoringLDA,
    PLSRegressor,
    ReconstructionPCA,
    RegularizedFisher,
)
from fewer.learn import (
    ComponentwiseBoostingClassifier,
    ComponentwiseBoostingRegressor,
    CoxFamily,
    L1LinearClassifier,
    L1LinearRegressor,
    LogLogisticFamily,
    LogNormalFamily,
    WeibullFamily,
    l1_path,
)
from fewer.select import (
    DiscriminantObjective,
    MahalanobisObjective,
    NearestNeighbourObjective,
    anova_score,
    chi2_score,
    kolmogorov_smirnov_score,
    mutual_information_score,
    pearson_score,
    spearman_score,
    variance_score,
    welch_score,
)
from fewer.select._select_top import adjusted_p_values

DIRECT = {"rtol": 1e-9, "atol": 1e-10}
PEERS = json.loads(Path(__file__).with_name("peers.json").read_text())
TABLES = {name: np.array(values, dtype=float) for name, values in PEERS["tables"].items()}
CARS, IRIS, SPECIES = TABLES["cars"], TABLES["iris"], TABLES["species"].astype(int)
MPG, AM = CARS[:, 0], CARS[:, 8].astype(int)
LAST_TWO = SPECIES > 1


def standardised(X):
    centred = X - X.mean(axis=0)
    return centred / np.sqrt((centred**2).mean(axis=0))


def close(found, expected, **tolerance):
    np.testing.assert_allclose(found, np.asarray(expected, dtype=float), **(tolerance or DIRECT))


def same_axes(found, expected, **tolerance):
    """Columns agree up to a factor, which is a matter of convention; signs are."""
    expected = np.asarray(expected, dtype=float)
    factors = np.einsum("ij,ij->j", found, expected) / np.einsum("ij,ij->j", found, found)
    close(found * factors, expected, **tolerance)


# glmnet stops where a pass changes no coefficient by more than sqrt(thresh), 1e-11 and 1e-9 of the target here.


@pytest.mark.parametrize("place", range(4))
def test_the_lasso_is_that_of_glmnet(place):
    peer = PEERS["glmnet"]
    model = L1LinearRegressor(peer["lambdas"][place], tol=1e-14).fit(standardised(CARS[:, 1:]), MPG)
    close([model.intercept_, *model.coef_], np.array(peer["lasso"])[:, place], atol=1e-6)


def test_the_lasso_with_weights_of_rows_is_that_of_glmnet():
    peer = PEERS["glmnet"]
    weights = np.array(peer["weights"], dtype=float)
    model = L1LinearRegressor(0.5, tol=1e-14).fit(standardised(CARS[:, 1:]), MPG, sample_weight=weights)
    close([model.intercept_, *model.coef_], np.array(peer["weighted"])[:, 0], atol=1e-6)


@pytest.mark.parametrize("place", range(3))
def test_sparse_logistic_regression_is_that_of_glmnet(place):
    peer = PEERS["glmnet"]
    n_rows, X, y = 100, standardised(IRIS[LAST_TWO]), SPECIES[LAST_TWO]
    model = L1LinearClassifier(C=1 / (n_rows * peer["log_lambdas"][place]), tol=1e-12).fit(X, y)
    found = np.r_[model.intercept_, model.coef_.ravel()]
    close(found, np.array(peer["logistic"])[:, place], atol=1e-5)


def test_paths_begin_at_the_penalties_of_glmnet():
    peer = PEERS["glmnet"]
    linear = l1_path(standardised(CARS[:, 1:]), MPG, loss="squared", n_alphas=3)
    logistic = l1_path(standardised(IRIS[LAST_TWO]), SPECIES[LAST_TWO], loss="log", n_alphas=3)
    close(1 / (32 * linear.Cs[0]), peer["lambda_max"], rtol=1e-6)
    close(1 / (100 * logistic.Cs[0]), peer["log_lambda_max"], rtol=1e-6)


@pytest.mark.parametrize("method", ["kernelpls", "widekernelpls", "simpls", "oscorespls"])
def test_pls_of_one_target_is_that_of_pls(method):
    peer = PEERS["pls"]["one"][method]
    for k in (1, 3, 5):
        model = PLSRegressor(k).fit(TABLES["nir"], TABLES["density"])
        close(np.ravel(model.coef_), np.array(peer["coef"])[:, k - 1], rtol=1e-6, atol=1e-8)
    close(100 * model.explained_variance_ratio_x_, peer["explained"], rtol=1e-7)


@pytest.mark.parametrize(
    ("method", "algorithm"), [("kernelpls", "nipals"), ("oscorespls", "nipals"), ("simpls", "simpls")]
)
def test_pls_of_three_targets_is_that_of_pls(method, algorithm):
    Y, X = (stats.zscore(CARS[:, columns], ddof=1) for columns in ([0, 3, 6], [1, 2, 4, 5, 9, 10]))
    model = PLSRegressor(3, solver=algorithm).fit(X, Y)
    coef = np.asarray(model.coef_)
    close(coef if coef.shape == (6, 3) else coef.T, PEERS["pls"]["three"][method], rtol=1e-6, atol=1e-7)


def test_scores_and_loadings_of_pls_are_those_of_pls():
    model = PLSRegressor(3).fit(TABLES["nir"], TABLES["density"])
    same_axes(model.x_scores_, PEERS["pls"]["scores"], rtol=1e-6, atol=1e-7)
    same_axes(model.x_loadings_, PEERS["pls"]["loadings"], rtol=1e-6, atol=1e-7)


def test_left_out_errors_of_pls_are_those_of_pls():
    X, y = TABLES["nir"], TABLES["density"]
    for k in (1, 5):
        model = PLSRegressor(k)
        missed = [model.fit(X[fit], y[fit]).predict(X[out])[0] - y[out[0]] for fit, out in LeaveOneOut().split(X)]
        close(np.sum(np.square(missed)), PEERS["pls"]["press"][k - 1], rtol=1e-6)


def test_correspondence_analysis_is_that_of_vegan_and_ade4():
    peer = PEERS["counts"]
    model = CorrespondenceAnalysis(2).fit(TABLES["dune"])
    close(model.eigenvalues_, peer["cca_eig"][:2])
    close(model.eigenvalues_, peer["coa_eig"][:2])
    close(model.total_inertia_, peer["cca_inertia"])
    same_axes(model.row_scores_, peer["cca_sites"], rtol=1e-7, atol=1e-8)
    same_axes(model.column_scores_, peer["cca_species"], rtol=1e-7, atol=1e-8)


def test_correspondence_analysis_is_that_of_ca():
    peer = PEERS["counts"]
    model = CorrespondenceAnalysis(3).fit(TABLES["smoke"])
    close(np.sqrt(model.eigenvalues_), peer["ca_sv"])
    same_axes(model.row_scores_, peer["ca_rows"], rtol=1e-7, atol=1e-8)
    same_axes(model.column_scores_, peer["ca_columns"], rtol=1e-7, atol=1e-8)


def test_canonical_correspondence_analysis_is_that_of_vegan():
    peer = PEERS["counts"]
    model = CanonicalCorrespondenceAnalysis().fit(TABLES["env"], TABLES["dune"])
    close(model.eigenvalues_, peer["constrained_eig"])
    same_axes(model.transform(TABLES["env"]), peer["constrained_sites"], rtol=1e-7, atol=1e-8)
    same_axes(model.biplot_scores_, peer["constrained_biplot"], rtol=1e-7, atol=1e-8)


def test_posteriors_of_optimal_scoring_are_those_of_lda_and_fda():
    peer = PEERS["discriminants"]
    rows = IRIS[np.array(peer["rows"]) - 1]
    model = OptimalScoringLDA().fit(IRIS, SPECIES)
    # fda divides variances by n, lda by n - k.
    close(model.eigenvalues_, peer["fda_values"])
    close(model.predict_proba(rows), peer["fda_posterior"], rtol=1e-7, atol=1e-9)
    same_axes(model.transform(rows), (rows - IRIS.mean(axis=0)) @ np.array(peer["lda_scaling"]), rtol=1e-7, atol=1e-8)


def test_fisher_directions_without_a_ridge_are_those_of_lda():
    model = RegularizedFisher(alpha=0.0).fit(IRIS, SPECIES)
    scaling = np.array(PEERS["discriminants"]["lda_scaling"])
    same_axes(model.transform(IRIS), (IRIS - IRIS.mean(axis=0)) @ scaling, rtol=1e-7, atol=1e-7)


def test_leave_one_out_accuracy_of_discriminant_analysis_is_that_of_lda():
    with DiscriminantObjective(cv=LeaveOneOut()).start(IRIS, SPECIES) as scorer:
        scorer.move_to(range(4))
        assert scorer.score() == pytest.approx(PEERS["discriminants"]["lda_loo_accuracy"])


def test_mahalanobis_distance_is_that_of_stats():
    with MahalanobisObjective().start(IRIS[LAST_TWO], SPECIES[LAST_TWO]) as scorer:
        scorer.move_to(range(4))
        close(scorer.score(), PEERS["discriminants"]["mahalanobis"])


@pytest.mark.parametrize("place", [0, 1])
def test_leave_one_out_accuracy_of_nearest_neighbours_is_that_of_class(place):
    X = stats.zscore(CARS[:, 2:7], ddof=1)
    with NearestNeighbourObjective(n_neighbors=(1, 3)[place]).start(X, AM) as scorer:
        scorer.move_to(range(5))
        assert scorer.score() == pytest.approx(PEERS["discriminants"]["knn_loo_accuracy"][place])


def test_principal_components_are_those_of_prcomp():
    peer = PEERS["components"]
    model = ReconstructionPCA(5).fit(CARS[:, 2:7])
    close(np.sqrt(model.explained_variance_), peer["prcomp_sdev"])
    same_axes(model.components_.T, peer["prcomp_rotation"], rtol=1e-7, atol=1e-8)


def test_canonical_correlations_are_those_of_cancor():
    model = CanonicalRidge(2).fit(CARS[:, [2, 3, 5]], CARS[:, [0, 6]])
    close(model.correlations_, PEERS["components"]["cancor"])


def test_scores_of_two_classes_are_those_of_t_test_and_ks_test():
    peer, X, y = PEERS["univariate"], IRIS[LAST_TWO], SPECIES[LAST_TWO]
    scores, p_values = welch_score(X, y)
    close(np.abs(scores), np.abs(peer["welch"]))
    close(p_values, peer["welch_p"], rtol=1e-8)
    close(kolmogorov_smirnov_score(X, y).scores, peer["ks"])


def test_the_anova_score_is_that_of_oneway_test():
    scores, p_values = anova_score(IRIS, SPECIES)
    close(scores, PEERS["univariate"]["anova"])
    close(p_values, PEERS["univariate"]["anova_p"], rtol=1e-7)


def test_correlations_are_those_of_cor_test():
    peer, X = PEERS["univariate"], CARS[:, 1:]
    scores, p_values = pearson_score(X, MPG)
    close(scores, np.abs(peer["pearson"]))
    close(p_values, peer["pearson_p"], rtol=1e-8)
    close(spearman_score(X, MPG).scores, np.abs(peer["spearman"]))


def test_chi_square_of_counts_is_that_of_chisq_test():
    scores, p_values = chi2_score(CARS[:, [1, 9, 10]], AM)
    close(scores, PEERS["univariate"]["chi2"])
    close(p_values, PEERS["univariate"]["chi2_p"])


def test_mutual_information_is_that_of_the_entropies_of_vegan():
    scores = mutual_information_score(CARS[:, [1, 9, 10]], AM, n_bins=6).scores
    close(scores, PEERS["univariate"]["mutual_information"])


def test_variances_are_those_of_var():
    close(variance_score(CARS) * 32 / 31, PEERS["univariate"]["variance"])


def test_adjusted_p_values_are_those_of_p_adjust():
    p_values, peer = TABLES["p_values"], PEERS["univariate"]["adjusted"]
    close(benjamini_hochberg(p_values).adjusted, peer["BH"])
    for ours, theirs in (("fdr", "BH"), ("holm", "holm"), ("bonferroni", "bonferroni")):
        close(adjusted_p_values(p_values, ours), peer[theirs])


def test_methods_are_compared_as_by_friedman_test_and_wilcox_test():
    from fewer.evaluate._compare import friedman_statistic, ranks_of, wilcoxon_p_values

    ratings, peer = TABLES["ratings"], PEERS["univariate"]
    close(friedman_statistic(ranks_of(ratings)), peer["friedman"][0])
    close(wilcoxon_p_values(ratings.round(12))[0, 1], peer["wilcoxon"])
    assert compare_methods(ratings).mean_ranks.shape == (3,)


def test_the_partial_likelihood_is_that_of_coxph():
    lung, peer = TABLES["lung"], PEERS["likelihoods"]
    y = np.column_stack([lung[:, 0], lung[:, 1] - 1])
    close(-40 * CoxFamily().risk(y, np.array(peer["f"]), np.ones(40)), peer["cox"])


@pytest.mark.parametrize(
    ("family", "name"),
    [(WeibullFamily(), "weibull"), (LogNormalFamily(), "lognormal"), (LogLogisticFamily(), "loglogistic")],
)
def test_likelihood_and_scale_of_times_are_those_of_survreg(family, name):
    lung, peer = TABLES["lung"], PEERS["likelihoods"][name]
    y = np.column_stack([lung[:, 0], lung[:, 1] - 1])
    f = np.full(40, peer["intercept"])
    # survreg's density is that of the time, ours that of its logarithm.
    close(-40 * family.risk(y, f, np.ones(40), peer["scale"]) - y[:, 1] @ np.log(y[:, 0]), peer["log_likelihood"])
    close(family.nuisance(y, f, np.ones(40)), peer["scale"], rtol=1e-5)


def test_boosting_comes_to_least_squares():
    model = ComponentwiseBoostingRegressor(n_estimators=600, learning_rate=0.5).fit(
        standardised(CARS[:, [5, 6, 3]]), MPG
    )
    fitted = np.column_stack([np.ones(32), CARS[:, [5, 6, 3]]]) @ PEERS["likelihoods"]["least_squares"]
    close(model.predict(standardised(CARS[:, [5, 6, 3]])), fitted, atol=1e-6)


def test_boosting_of_counts_comes_to_the_poisson_model_of_glm():
    X = standardised(CARS[:, [5, 6]])
    model = ComponentwiseBoostingRegressor(family="poisson", n_estimators=1500, learning_rate=0.3).fit(X, CARS[:, 10])
    rates = np.exp(np.column_stack([np.ones(32), CARS[:, [5, 6]]]) @ PEERS["likelihoods"]["poisson"])
    close(model.predict(X), rates, rtol=1e-4)


def test_boosting_of_two_classes_comes_to_the_logistic_model_of_glm():
    X = standardised(CARS[:, [5, 2]])
    model = ComponentwiseBoostingClassifier(n_estimators=3000, learning_rate=0.9).fit(X, CARS[:, 7].astype(int))
    chances = 1 / (1 + np.exp(-(np.column_stack([np.ones(32), CARS[:, [5, 2]]]) @ PEERS["likelihoods"]["binomial"])))
    close(model.predict_proba(X)[:, 1], chances, atol=1e-3)


def test_clusterings_are_compared_as_by_igraph():
    peer = PEERS["clusterings"]
    groups = np.digitize(IRIS[:, 2], [2, 4.5, 5.2], right=True)
    found = clustering_comparison(SPECIES, groups)
    close(found.variation_of_information, peer["vi"])
    close(found.similarity("sum"), peer["nmi"])
    close([found.rand_index, found.adjusted_rand_index], [peer["rand"], peer["adjusted.rand"]])
