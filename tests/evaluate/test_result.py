"""Results: words in a terminal, words and the picture in a notebook, plain data for JSON."""

import json

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from fewer import evaluate, theory
from fewer._figures import Result
from fewer.extract import PLSDiscriminant

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 6)), np.arange(40) % 2
SEARCH = GridSearchCV(make_pipeline(SelectKBest(k=2), GaussianNB()), {"selectkbest__k": [1, 3]}, cv=2)


def of_criterion():
    return theory.RepeatedSplitCriterion(2).surface(GaussianNB(), X, Y, {"var_smoothing": [1e-9, 0.1]})


def stability():
    return evaluate.selection_stability(RNG.random((5, 6)) < 0.5)


LOG_LIK = norm.logpdf(RNG.normal(size=20), RNG.normal(0, 0.2, size=(60, 1)))


def log_lik_of(train, test):
    return LOG_LIK[:, test]


MADE = {
    "BayesLoo": lambda: evaluate.bayes_loo(LOG_LIK),
    "ClusteringComparison": lambda: evaluate.clustering_comparison(Y, np.arange(40) % 3),
    "CostCurve": lambda: evaluate.cost_curve(GaussianNB(), X, Y, pcfs=[0.3, 0.5], cv=2),
    "CostPlane": lambda: theory.min_risk_plane(([0.0], [1.0]), (np.eye(1), np.eye(1)), 0.4, n_init=2),
    "Dic": lambda: evaluate.dic(LOG_LIK),
    "FreeEnergy": lambda: evaluate.free_energy({0: LOG_LIK, 1: LOG_LIK}),
    "FunctionalCumulants": lambda: evaluate.functional_cumulants(LOG_LIK),
    "HubnessCurve": lambda: evaluate.hubness_curve(lambda X, size: X[:, :size], X, [2, 4], n_neighbors=3),
    "KOccurrences": lambda: evaluate.k_occurrences(X, 3, y=Y),
    "LabelEfficiency": lambda: evaluate.label_efficiency(
        {"one": SelectKBest(lambda X, y: X[0], k=2)}, X, Y, fractions=[0.5], estimator=GaussianNB(), n_splits=2
    ),
    "ModelComparison": lambda: evaluate.compare_models({"one": LOG_LIK, "two": 1.1 * LOG_LIK}),
    "OutlierHubness": lambda: evaluate.outlier_hubness(X, 3),
    "PosteriorDraws": lambda: evaluate.metropolis_draws(
        lambda w: -(w**2), lambda w: w[:, 0], np.zeros((2, 1)), step_size=1.0, n_draws=5, n_burn_in=0, random_state=0
    ),
    "PredictiveLoss": lambda: evaluate.exact_loo(log_lik_of, 20),
    "RelativeSilhouette": lambda: evaluate.relative_silhouette(X, Y, 3, 5, hub_threshold=1.0, random_state=0),
    "SingularDiagnostics": lambda: evaluate.singular_diagnostics(LOG_LIK, n_parameters=1),
    "Waic": lambda: evaluate.waic(LOG_LIK),
    "BatteryResult": lambda: theory.PermutationBattery(
        [GaussianNB()], [(X, Y)], n_permutations=39, n_repeats=1, cv=2, random_state=0
    ).run(),
    "BiasExperiment": lambda: theory.selection_bias_experiment(
        SelectKBest(k=2), GaussianNB(), X, Y, n_repeats=2, cv=2, random_state=0
    ),
    "ComponentCurve": lambda: evaluate.component_curve(PLSDiscriminant(), X, Y, n_components=2, cv=2, random_state=0),
    "CriterionSurface": of_criterion,
    "CrossIndex": lambda: evaluate.cross_index(RNG.random((3, 4))),
    "Discoveries": lambda: evaluate.benjamini_hochberg([0.01, 0.3]),
    "MethodComparison": lambda: evaluate.compare_methods(RNG.random((5, 3))),
    "NestedResult": lambda: evaluate.NestedEvaluation(SEARCH, cv=2, random_state=0).run(X, Y),
    "NestedSustainableError": lambda: evaluate.nested_sustainable_error(
        make_pipeline(SelectKBest(k=2), GaussianNB()), X, Y, grid=[1, 2, 3], window=1, cv=2, inner_cv=2, random_state=0
    ),
    "OptimalSize": lambda: theory.optimal_n_features([0.5, 0.1], 20),
    "OverfitCurve": lambda: theory.selection_overfit_curve(SEARCH, X, Y, n_repeats=2, random_state=0),
    "PeakingCurve": lambda: theory.peaking_curve("mean_difference", [1.0, 0.5], 10, n_repeats=3, random_state=0),
    "PermutationResult": lambda: evaluate.permutation_test(
        GaussianNB(), X, Y, cv=2, n_permutations=19, n_repeats=1, random_state=0
    ),
    "ProtocolAudit": lambda: evaluate.protocol_audit(SEARCH, X, Y, cv=2, n_repeats=2, random_state=0),
    "SelectionCurve": lambda: evaluate.selection_curve(SelectKBest(k=2), GaussianNB(), X, Y, cv=2, random_state=0),
    "SizePlan": lambda: theory.plan_n_features(X, Y, n_splits=2, n_boot=2, random_state=0),
    "Stability": stability,
    "StabilityDifference": lambda: evaluate.stability_difference(stability(), stability()),
    "SustainableErrorCurve": lambda: evaluate.sustainable_error_curve(
        make_pipeline(SelectKBest(k=2), GaussianNB()), X, Y, grid=[1, 2, 3], window=1, cv=2, random_state=0
    ),
}


def test_every_result_of_evaluation_planning_and_experiments_is_shown_here():
    """Those of the design of a regression are in tests/theory."""
    public = (getattr(room, name) for room in (evaluate, theory) for name in dir(room))
    results = {thing for thing in public if isinstance(thing, type) and issubclass(thing, Result)}
    elsewhere = ("fewer.theory.design", "fewer.theory._regret_curve")
    assert {thing.__name__ for thing in results if not thing.__module__.startswith(elsewhere)} == set(MADE)


@pytest.mark.parametrize("name", MADE)
def test_a_result_prints_its_name_shows_its_picture_and_gives_plain_data(name):
    made = MADE[name]()
    assert repr(made).startswith(f"{name}: ")
    shown = made._repr_html_()
    assert f"<strong>{name}: " in shown
    assert not hasattr(made, "plot") or made.plot().data
    json.loads(json.dumps(made.to_dict()), parse_constant=pytest.fail)
