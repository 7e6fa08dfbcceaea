"""HardImpute, SpectralImpute and MMMF: thresholds, starts, edges of their input."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from fewer.complete import MMMF, HardImpute, SoftImpute, SpectralImpute
from fewer.complete.soft_impute._spectral import hard, mc_plus, soft, top


def low_rank_table(n_rows=50, n_columns=40, rank=3, noise=0.1, missing=0.4, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n_rows, rank)) @ rng.normal(size=(rank, n_columns))
    table = truth + noise * rng.normal(size=truth.shape)
    return truth, np.where(rng.random(truth.shape) < missing, np.nan, table)


def model_of(fitted):
    return fitted.scores_ @ fitted.loadings_.T + fitted.mean_


COMPLETERS = [HardImpute(rank=2), SpectralImpute(random_state=1), MMMF(rank=2)]


@pytest.mark.parametrize("threshold", [soft(1.3), hard(1.3), mc_plus(1.3, 2.5)], ids=["soft", "hard", "mc+"])
def test_thresholds_solve_their_scalar_problem(threshold):
    grid = np.linspace(0, 10, 1001)
    costs = [threshold.cost(np.array([d])) for d in grid]
    for s in np.linspace(0.1, 9.5, 40):
        best = grid[((s - grid) ** 2 / 2 + costs).argmin()]
        assert threshold.shrink(np.array([s]))[0] == pytest.approx(best, abs=0.011)


def test_the_top_values_are_kept_as_they_are():
    assert top(2).shrink(np.array([5.0, 3.0, 1.0])).tolist() == [5.0, 3.0, 0.0]


def test_a_complete_table_is_cut_to_its_leading_singular_values():
    table = np.random.default_rng(0).normal(size=(30, 20))
    U, d, Vt = np.linalg.svd(table, full_matrices=False)
    np.testing.assert_allclose(model_of(HardImpute(rank=4).fit(table)), U[:, :4] * d[:4] @ Vt[:4], atol=1e-8)


@pytest.mark.parametrize("init", ["soft+", "zero"])
def test_a_table_without_noise_is_recovered(init):
    truth, table = low_rank_table(noise=0.0)
    model = HardImpute(rank=3, init=init, tol=1e-14, max_iter=20000).fit(table)
    np.testing.assert_allclose(model.transform(table), truth, atol=1e-4)


def test_the_objective_never_rises_and_the_start_saves_steps():
    _, table = low_rank_table()
    fits = {init: HardImpute(rank=3, init=init).fit(table) for init in ("soft+", "zero")}
    for model in fits.values():
        assert (np.diff(model.objective_history_) <= 1e-9 * model.objective_history_[0]).all()
    assert fits["soft+"].objective_history_[0] < fits["zero"].objective_history_[0]


def test_a_price_of_rank_keeps_what_is_worth_it():
    _, table = low_rank_table()
    assert HardImpute(alpha=20.0).fit(table).rank_ == 3
    assert HardImpute(alpha=1e6).fit(table).rank_ == 0


def test_spectral_thresholds_meet_their_special_cases():
    _, table = low_rank_table(noise=0.5)
    same = SoftImpute(alpha=5.0, tol=1e-9, max_iter=5000).fit(table)
    for threshold in ("soft", lambda s, alpha: np.maximum(s - alpha, 0)):
        np.testing.assert_allclose(model_of(SpectralImpute(threshold, alpha=5.0).fit(table)), model_of(same), atol=0.01)
    nearly_soft = SpectralImpute("mc+", alpha=5.0, mu=1e6).fit(table)
    np.testing.assert_allclose(model_of(nearly_soft), model_of(same), atol=0.01)
    rank = HardImpute(rank=3, tol=1e-12).fit(table)
    as_hard = SpectralImpute("mc+", alpha=12.0, mu=1.01, tol=1e-12).fit(table)
    np.testing.assert_allclose(model_of(as_hard), model_of(rank), atol=0.01)


def test_mc_plus_shrinks_strong_directions_less_than_soft():
    _, table = low_rank_table(noise=0.5)
    bridge, convex = SpectralImpute(alpha=8.0).fit(table), SoftImpute(alpha=8.0).fit(table)
    assert (bridge.d_[:3] > convex.d_[:3] + 4).all()


def test_without_a_penalty_given_noise_is_not_taken_for_structure():
    """A fixed share of the largest penalty can lie below the noise: then a concave penalty keeps it unshrunk."""
    truth, table = low_rank_table(80, 50, noise=2.0, missing=0.5)
    model = SpectralImpute(random_state=0).fit(table)
    is_missing = np.isnan(table)
    wrong = np.mean((model_of(model) - truth)[is_missing] ** 2)
    assert model.rank_ <= 5
    assert wrong < 0.6 * np.mean(truth[is_missing] ** 2)
    as_hard = SpectralImpute("hard", random_state=0).fit(table)
    assert as_hard.alpha_ == pytest.approx(model.alpha_**2 / 2)


def test_narrow_factors_fit_worse_than_wide_ones():
    _, table = low_rank_table(noise=0.5)
    objectives = [MMMF(rank=rank, alpha=3.0, tol=1e-9).fit(table).objective_history_[-1] for rank in (1, 2, 3, 20)]
    assert (np.diff(objectives) < 0).all()
    wide = MMMF(rank=20, alpha=3.0, tol=1e-9).fit(table)
    assert wide.objective_history_[-1] == pytest.approx(
        SoftImpute(alpha=3.0, tol=1e-8).fit(table).path_[0]["objective"], rel=1e-6
    )


@pytest.mark.parametrize("model", COMPLETERS, ids=str)
def test_training_rows_are_filled_by_transform_as_in_the_fit(model):
    _, table = low_rank_table()
    model = clone(model).set_params(tol=1e-10, max_iter=20000).fit(table)
    np.testing.assert_allclose(model.project(table), model.scores_, atol=1e-3 * np.abs(model.scores_).max())


@pytest.mark.parametrize("model", COMPLETERS, ids=str)
def test_edges_of_the_input(model):
    _, table = low_rank_table(12, 9)
    table[2], table[:, 4] = np.nan, np.nan
    table[:, 1] = np.where(np.isnan(table[:, 1]), np.nan, 3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for given in (table, table[:, :1], np.zeros((4, 3)), np.ones((5, 2))):
            filled = model.fit(given).transform(given)
            assert np.isfinite(filled).all()
    table[0, 0] = np.inf
    with pytest.raises(ValueError, match="column 0"):
        model.fit(table)


@pytest.mark.parametrize("model", [HardImpute(rank=99), MMMF(rank=99)], ids=str)
def test_a_rank_above_the_smaller_side_is_lowered_with_a_word(model):
    _, table = low_rank_table(12, 9, missing=0.1)
    with pytest.warns(UserWarning, match="rank=99 is more than"):
        assert model.fit(table).rank_ <= 9


@pytest.mark.parametrize(
    "model", [HardImpute(max_iter=1), SpectralImpute(max_iter=1), MMMF(max_iter=2, tol=0)], ids=str
)
def test_too_few_steps_are_told(model):
    _, table = low_rank_table(noise=1.0)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        model.fit(table)
