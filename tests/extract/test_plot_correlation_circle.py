"""The correlation circle: points are correlations, of columns and of targets of every kind."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_linnerud, load_wine
from sklearn.decomposition import PCA

from fewer.extract import PLSDiscriminant, PLSRegressor, plot_correlation_circle


def test_points_are_correlations():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = PLSRegressor(3).fit(X, y)
    columns, target = plot_correlation_circle(model, X, y, components=(0, 2), n_names=4).data
    scores = model.transform(X)
    bmi = list(columns.customdata).index("bmi")
    assert columns.x[bmi] == pytest.approx(np.corrcoef(X["bmi"], scores[:, 0])[0, 1])
    assert columns.y[bmi] == pytest.approx(np.corrcoef(X["bmi"], scores[:, 2])[0, 1])
    assert target.x[0] == pytest.approx(np.corrcoef(y, scores[:, 0])[0, 1])
    assert list(target.text) == ["target"]
    assert sum(label != "" for label in columns.text) == 4
    assert np.all(columns.x**2 + columns.y**2 <= 1 + 1e-9)  # scores are orthogonal


def test_only_the_columns_nearest_to_the_circle_are_drawn():
    X = load_diabetes().data
    figure = plot_correlation_circle(PCA(2).fit(X), X, n_columns=3)
    reach = np.hypot(figure.data[0].x, figure.data[0].y)
    assert len(reach) == 3
    assert np.all(np.diff(reach) <= 0)
    assert figure.data[0].customdata[0].startswith("x")


def test_classes_and_several_targets_have_a_point_each():
    X, y = load_wine(return_X_y=True)
    figure = plot_correlation_circle(PLSDiscriminant().fit(X, y), X, np.array(["a", "b", "c"])[y])
    assert list(figure.data[1].text) == ["a", "b", "c"]
    assert list(plot_correlation_circle(PLSDiscriminant().fit(X, y), X, y).data[1].text) == ["0", "1", "2"]
    X, Y = load_linnerud(return_X_y=True, as_frame=True)
    figure = plot_correlation_circle(PLSRegressor().fit(X, Y), X, Y)
    assert list(figure.data[1].text) == ["Weight", "Waist", "Pulse"]


def test_it_takes_two_new_columns():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match="a circle needs two"):
        plot_correlation_circle(PLSRegressor(1).fit(X, y), X)
    with pytest.raises(ValueError, match=r"components=\(0, 5\) are asked for, and there are 2"):
        plot_correlation_circle(PLSRegressor(2).fit(X, y), X, components=(0, 5))
