"""Four clouds, two classes; and twonorm."""

import numpy as np

from fewer.datasets import make_four_gaussians, make_twonorm


def test_the_clouds_are_where_the_paper_puts_them():
    X, y, truth = make_four_gaussians(200_000, random_state=0)
    # A cloud's class and the side of x = 0 that its centre lies on tell it apart only roughly, so compare class means.
    np.testing.assert_allclose(X[y > 0].mean(axis=0), [0.05, 0.7], atol=0.005)
    np.testing.assert_allclose(X[y < 0].mean(axis=0), [-0.2, 0.3], atol=0.005)
    np.testing.assert_allclose(X[y > 0].var(axis=0), [0.04 + 0.35**2, 0.04], rtol=0.02)
    np.testing.assert_allclose(X[y < 0].var(axis=0), [0.04 + 0.5**2, 0.04], rtol=0.02)
    assert truth["centres"].shape == (4, 2)


def test_the_posterior_is_a_calibrated_probability_even_far_away():
    _, y, truth = make_four_gaussians(200_000, random_state=1)
    bins = np.digitize(truth["posterior"], np.linspace(0, 1, 11)[1:-1])
    for number in range(10):
        inside = bins == number
        assert abs((y[inside] > 0).mean() - truth["posterior"][inside].mean()) < 4 * 0.5 / np.sqrt(inside.sum())
    assert np.isfinite(truth["posterior"]).all()


def test_twonorm_has_its_means_four_apart():
    X, y, truth = make_twonorm(50_000, random_state=0)
    gap = X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0)
    np.testing.assert_allclose(np.linalg.norm(gap), 4, rtol=0.01)
    wrong = np.sign(X.sum(axis=1)) != y
    assert abs(wrong.mean() - truth["bayes_error"]) < 3 * np.sqrt(0.0228 / 50_000)
