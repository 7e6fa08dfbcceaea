"""Haar coefficients: the definition, a rotation, and the way back."""

import sys

import numpy as np
import pytest

from fewer.extract import HaarFeatures
from fewer.select import VarianceWeightSelector
from tolerances import rounding

pytest.importorskip("pywt")


def images(n, height, width, seed=0):
    return np.random.default_rng(seed).normal(size=(n, height * width))


def test_one_level_is_sums_and_differences_of_blocks():
    X = images(3, 4, 6)
    haar = HaarFeatures(image_shape=(4, 6), level=1).fit(X)
    blocks = X.reshape(3, 2, 2, 3, 2)
    upper_left, upper_right = blocks[:, :, 0, :, 0], blocks[:, :, 0, :, 1]
    lower_left, lower_right = blocks[:, :, 1, :, 0], blocks[:, :, 1, :, 1]
    expected = [
        upper_left + upper_right + lower_left + lower_right,
        upper_left + upper_right - lower_left - lower_right,
        upper_left - upper_right + lower_left - lower_right,
        upper_left - upper_right - lower_left + lower_right,
    ]
    np.testing.assert_allclose(
        haar.transform(X), np.concatenate([part.reshape(3, -1) / 2 for part in expected], axis=1)
    )
    assert [kind for kind, *_ in haar.bands_] == ["sum", "rows", "columns", "diagonal"]


def test_sides_that_are_powers_of_two_give_a_rotation():
    haar = HaarFeatures(image_shape=(8, 16)).fit(images(2, 8, 16))
    rotation = haar.transform(np.eye(128))
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(128), rtol=0, atol=rounding(128))


@pytest.mark.parametrize("shape", [(8, 8), (60, 40), (7, 5), (1, 6), (9, 1), (1, 1), (2, 33)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_way_back_gives_the_images(shape, order):
    X = images(4, *shape)
    haar = HaarFeatures(image_shape=shape, order=order).fit(X)
    coefficients = haar.transform(X)
    tolerance = rounding(X.shape[1], np.linalg.norm(X, axis=1).max())
    np.testing.assert_allclose(haar.inverse_transform(coefficients), X, rtol=0, atol=tolerance)
    names = haar.get_feature_names_out()
    assert len(set(names)) == len(names) == coefficients.shape[1]


def test_the_order_of_pixels_is_that_of_matlab_when_asked():
    X = images(3, 6, 4)
    turned = X.reshape(3, 6, 4).transpose(0, 2, 1).reshape(3, -1)
    expected = HaarFeatures(image_shape=(6, 4)).fit_transform(X)
    np.testing.assert_array_equal(HaarFeatures(image_shape=(6, 4), order="F").fit_transform(turned), expected)


def test_names_say_what_size_and_where():
    X = np.zeros((1, 64))
    X[0, 2 * 8 + 4 : 2 * 8 + 6] = 1  # a bright line, two pixels wide
    haar = HaarFeatures(image_shape=(8, 8)).fit(X)
    found = dict(zip(haar.get_feature_names_out(), haar.transform(X)[0], strict=True))
    assert found["rows_2x2_1_2"] == pytest.approx(1)
    assert found["columns_2x2_1_2"] == pytest.approx(0)
    assert found["sum_8x8_0_0"] == pytest.approx(2 / 8)


def test_a_line_is_halved_along_its_length_only():
    haar = HaarFeatures().fit(images(2, 1, 8))
    assert list(haar.get_feature_names_out())[:3] == ["sum_1x8_0_0", "columns_1x8_0_0", "columns_1x4_0_0"]
    assert haar.transform(images(2, 1, 8)).shape == (2, 8)
    expected = [np.sqrt(8)] + [0] * 7
    np.testing.assert_allclose(haar.transform([[1.0] * 8])[0], expected, rtol=0, atol=rounding(8, np.sqrt(8)))


def test_level_zero_leaves_the_pixels():
    X = images(2, 4, 4)
    haar = HaarFeatures(image_shape=(4, 4), level=0).fit(X)
    np.testing.assert_array_equal(haar.transform(X), X)
    np.testing.assert_array_equal(haar.inverse_transform(X), X)


def test_weighted_coefficients_come_back_as_images():
    X = images(30, 8, 8) + images(30, 1, 1, seed=1)
    haar = HaarFeatures(image_shape=(8, 8)).fit(X)
    selector = VarianceWeightSelector(n_features_to_select=5).fit(haar.transform(X))
    rebuilt = haar.inverse_transform(selector.inverse_transform(selector.transform(haar.transform(X))))
    assert np.linalg.matrix_rank(rebuilt - rebuilt.mean(axis=0)) == 5


def test_bad_shapes_and_levels_are_refused_with_the_cure():
    with pytest.raises(ValueError, match=r"3 x 3 pixels take 9 columns, but X has 8\. Give image_shape"):
        HaarFeatures(image_shape=(3, 3)).fit(np.zeros((2, 8)))
    with pytest.raises(ValueError, match="two positive numbers"):
        HaarFeatures(image_shape=(2, 2, 2)).fit(np.zeros((2, 8)))
    with pytest.raises(ValueError, match=r"level=3: images of 2 x 4 pixels can be halved 1 times"):
        HaarFeatures(image_shape=(2, 4), level=3).fit(np.zeros((2, 8)))
    with pytest.raises(ValueError, match="X has 7 columns, but transform gives 8"):
        HaarFeatures(image_shape=(2, 4)).fit(np.zeros((2, 8))).inverse_transform(np.zeros((2, 7)))


def test_without_pywavelets_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pywt", None)
    with pytest.raises(ImportError, match=r"pip install fewer\[wavelets\]"):
        HaarFeatures().fit(np.zeros((2, 4)))
