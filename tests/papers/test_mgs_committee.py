"""Yu et al. (2010), Matched gene selection and committee classifier: markers of each class by fold change."""

import numpy as np
import pytest
from scipy.stats import gmean
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from fewer.datasets import make_gene_blocks
from fewer.evaluate import nested_sustainable_error, sustainable_error_curve
from fewer.learn import OVRLinearSVMCommittee
from fewer.select import PUGOVRSVM, BWRatioSelector, OVEFoldChangeSelector, OVRSNRSelector
from tolerances import rounding

SELECTORS = {
    "PUG": OVEFoldChangeSelector(),
    "BW": BWRatioSelector(),
    "SNR": OVRSNRSelector(),
    "PDG": OVEFoldChangeSelector(direction="down"),
}


@pytest.mark.claim("mgs-committee", 1)
def test_scores_are_differences_of_log_means_and_ratios_of_geometric_means(figure):
    X, y = load_iris(return_X_y=True)
    logs = np.log(X)
    scores = OVEFoldChangeSelector(n_per_class=2).fit(logs, y).class_scores_
    means = np.array([logs[y == label].mean(axis=0) for label in range(3)])
    plain = np.array([means[k] - np.delete(means, k, axis=0).max(axis=0) for k in range(3)])
    geometric = np.array([gmean(X[y == label]) for label in range(3)])
    ratios = np.array([geometric[k] / np.delete(geometric, k, axis=0).max(axis=0) for k in range(3)])
    down = OVEFoldChangeSelector(n_per_class=2, direction="down").fit(logs, y).class_scores_
    mirrored = OVEFoldChangeSelector(n_per_class=2).fit(-logs, y).class_scores_
    from_raw = OVEFoldChangeSelector(n_per_class=2, log_transform=True).fit(X, y).class_scores_
    gaps = [np.abs(scores - plain).max(), np.abs(np.exp(scores) - ratios).max(), np.abs(down - mirrored).max()]
    figure(f"largest differences {gaps[0]:.1g}, {gaps[1]:.1g}, {gaps[2]:.1g}")
    tolerance = rounding(50, np.abs(logs).max())
    assert gaps[0] < tolerance
    assert gaps[1] < 1e-10
    assert gaps[2] < tolerance
    np.testing.assert_allclose(from_raw, scores, rtol=0, atol=tolerance)


def design_one_errors(n_sets, n_test, grid):
    """Sustainable test error of each selector (column) with a committee, on each data set (row)."""
    errors = np.empty((n_sets, len(SELECTORS)))
    for seed in range(n_sets):
        train, test = make_gene_blocks(random_state=seed), make_gene_blocks(n_test, random_state=1000 + seed)
        X, y = np.vstack([train.X, test.X]), np.concatenate([train.y, test.y])
        split = [(np.arange(60), np.arange(60, len(y)))]
        for place, selector in enumerate(SELECTORS.values()):
            model = make_pipeline(selector, OVRLinearSVMCommittee(tol=1e-4))
            errors[seed, place] = sustainable_error_curve(model, X, y, cv=split, grid=grid).sustainable_error
    return errors


@pytest.mark.claim("mgs-committee", 2)
def test_upregulated_columns_have_the_smallest_error_on_a_few_data_sets(figure):
    pug, bw, snr, pdg = design_one_errors(3, 200, range(2, 31, 2)).T
    figure(f"3 data sets: PUG {pug.mean():.3f}, SNR {snr.mean():.3f}, BW {bw.mean():.3f}, PDG {pdg.mean():.3f}")
    assert 0.05 < pug.mean() < 0.11
    assert bw.mean() - pug.mean() >= 0.01
    assert snr.mean() > pug.mean()
    assert pdg.min() >= 0.2


@pytest.mark.slow
@pytest.mark.claim("mgs-committee", 2)
def test_upregulated_columns_have_the_smallest_error(figure):
    pug, bw, snr, pdg = design_one_errors(20, 500, range(2, 101)).T
    figure(
        f"PUG {pug.mean():.4f}, SNR {snr.mean():.4f}, BW {bw.mean():.4f}, PDG {pdg.mean():.3f}; PUG beats BW on "
        f"{(pug < bw).sum()} of 20, SNR on {(pug < snr).sum()}"
    )
    assert 0.060 <= pug.mean() <= 0.092
    assert bw.mean() - pug.mean() >= 0.015
    assert (pug < bw).sum() >= 17
    assert snr.mean() - pug.mean() >= 0.005
    assert pdg.mean() >= 0.20


@pytest.mark.claim("mgs-committee", 3)
def test_markers_of_the_close_classes_are_found(figure):
    found = []
    for seed in range(20):
        X, y, truth = make_gene_blocks(random_state=seed)
        lists = OVEFoldChangeSelector(n_per_class=5).fit(X, y).selected_per_class_
        found += [np.isin(lists[k], truth["markers"][label]).mean() for k, label in enumerate("AB")]
    figure(f"{np.mean(found):.1%} of the entries are markers")
    assert np.mean(found) >= 0.95


@pytest.mark.claim("mgs-committee", 4)
def test_only_against_everyone_two_classes_alike_have_no_marker(figure):
    rng = np.random.default_rng(0)
    y = np.repeat([1, 2, 3], [100, 10, 10])
    X = rng.normal(scale=0.01, size=(120, 1)) + np.where(y < 3, 4.0, 1.0)[:, None]
    first, second, third = (X[y == label].mean() for label in (1, 2, 3))
    scores = {
        contrast: OVEFoldChangeSelector(n_per_class=1, contrast=contrast).fit(X, y).class_scores_[1, 0]
        for contrast in ("ove", "ovr-classes", "ovr-samples")
    }
    gap = scores["ovr-classes"] - scores["ovr-samples"]
    expected = (100 / 110 - 1 / 2) * first + (10 / 110 - 1 / 2) * third
    figure(", ".join(f"{contrast} {score:.3f}" for contrast, score in scores.items()) + f"; gap {gap:.4f}")
    assert gap == pytest.approx(expected, abs=rounding(120, scale=4))
    assert gap == pytest.approx((4 - 1) * (1 / 2 - 1 / 11), abs=0.01)
    assert scores["ove"] == pytest.approx(second - first, abs=rounding(120, scale=4))
    assert abs(scores["ove"]) < 0.02


@pytest.mark.claim("mgs-committee", 5)
def test_selection_inside_of_the_folds_finds_nothing_in_noise(figure):
    model = make_pipeline(OVEFoldChangeSelector(n_per_class=10), OVRLinearSVMCommittee(tol=1e-4))
    inside, outside = [], []
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(60, 2000))
        y = np.repeat([0, 1, 2], 20)
        folds = StratifiedKFold(10, shuffle=True, random_state=seed)
        inside.append(1 - cross_val_score(model, X, y, cv=folds).mean())
        leaked = OVEFoldChangeSelector(n_per_class=10).fit_transform(X, y)
        outside.append(1 - cross_val_score(OVRLinearSVMCommittee(tol=1e-4), leaked, y, cv=folds).mean())
        curve = sustainable_error_curve(model, X, y, grid=[10], cv=folds)
        assert curve.errors[0] == pytest.approx(inside[-1])
    figure(f"inside {np.mean(inside):.3f}, outside {np.mean(outside):.3f}")
    assert 0.58 <= np.mean(inside) <= 0.75
    assert np.mean(outside) < 0.30
    with pytest.raises(ValueError, match="fitted already"):
        sustainable_error_curve(make_pipeline(OVEFoldChangeSelector().fit(X, y), OVRLinearSVMCommittee()), X, y)


@pytest.mark.claim("mgs-committee", 6)
def test_the_minimum_of_the_curve_is_optimistic_on_a_few_training_sets(figure):
    optimism = []
    for seed in range(4):
        X, y, _ = make_gene_blocks(n_per_class=15, n_blocks=200, random_state=seed)
        nested = nested_sustainable_error(PUGOVRSVM(), X, y, grid=range(2, 16), cv=10, inner_cv=5, random_state=seed)
        optimism.append(nested.optimism)
    figure(f"10 folds outside, 5 inside: nested error {np.mean(optimism):+.4f} above the minimum (4 sets)")
    assert np.mean(optimism) >= 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.claim("mgs-committee", 6)
def test_the_minimum_of_the_curve_is_optimistic(figure):
    found = []
    for seed in range(10):
        X, y, _ = make_gene_blocks(random_state=seed)
        found.append(
            nested_sustainable_error(PUGOVRSVM(), X, y, grid=range(2, 31), cv="loo", inner_cv=10, random_state=seed)
        )
    nested = np.array([one.error for one in found])
    curves = np.array([one.curve.sustainable_error for one in found])
    figure(f"nested {nested.mean():.4f}, minimum of the curve {curves.mean():.4f}")
    assert nested.mean() >= curves.mean()


@pytest.mark.claim("mgs-committee", 7)
def test_a_wide_table_of_many_classes_is_ranked_from_its_class_means_alone(figure):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 20_000)), np.arange(200) % 14
    X.flags.writeable = False
    select = OVEFoldChangeSelector(n_per_class=100).fit(X, y)
    means = np.array([X[y == label].mean(axis=0) for label in range(14)])
    from_means = OVEFoldChangeSelector(n_per_class=100).fit(np.repeat(means, 2, axis=0), np.repeat(range(14), 2))
    same = (select.ranking_ == from_means.ranking_).mean()
    figure(f"{select.class_scores_.shape} scores, {same:.1%} of the places equal to those of the class means")
    assert select.class_scores_.shape == (14, 20_000)
    assert same > 0.999
