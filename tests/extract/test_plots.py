"""Loadings, and figures of tables along new columns: projections, loadings, correlation circles."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_linnerud, load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from fewer.extract import (
    CorrespondenceAnalysis,
    FastProjectiveClustering,
    PLSDiscriminant,
    PLSRegressor,
    SubspaceDistanceFeatures,
    loadings,
    plot_biplot,
    plot_correlation_circle,
    plot_loadings,
    plot_projection,
)
from tolerances import rounding

X, y = load_wine(return_X_y=True, as_frame=True)
# How much larger cells are before the mean is taken off than after.
OFF_CENTRE = float((X.mean().abs() / X.std()).max())


def test_loadings_are_the_correlations_of_columns_with_new_columns():
    model = PCA(2).fit(X)
    figure = plot_loadings(model, X, n_columns=13)
    for component, bars in enumerate(figure.data):
        new = model.transform(X)[:, component]
        expected = [np.corrcoef(X[name], new)[0, 1] for name in bars.y]
        np.testing.assert_allclose(bars.x, expected, rtol=0, atol=rounding(len(X), condition=OFF_CENTRE))


def test_columns_with_the_largest_correlation_come_first():
    figure = plot_loadings(PCA(3).fit(X), X, n_columns=5)
    largest = np.abs([bars.x for bars in figure.data]).max(axis=0)
    assert list(largest) == sorted(largest, reverse=True)
    assert len(largest) == 5


def test_loadings_of_a_sparse_table_are_those_of_the_dense_one():
    table = np.where(X.median() < X, X, 0)
    model = TruncatedSVD(2, random_state=0).fit(table)
    dense, stored = (plot_loadings(model, each) for each in (table, sparse.csr_array(table)))
    bars_x = [[bars.x for bars in figure.data] for figure in (dense, stored)]
    np.testing.assert_allclose(*bars_x, rtol=0, atol=rounding(len(X), condition=OFF_CENTRE))


def test_a_constant_column_has_no_loading():
    table = X.assign(flat=123.456)
    figure = plot_loadings(PCA(2).fit(table), table, n_columns=14)
    assert dict(zip(figure.data[0].y, figure.data[0].x, strict=True))["flat"] == 0


def test_each_class_has_its_points():
    figure = plot_projection(PCA(2).fit(X), X, y)
    assert [len(points.x) for points in figure.data] == list(np.bincount(y))
    assert figure.layout.xaxis.title.text == "pca0"


def test_numbers_are_shown_by_shade():
    figure = plot_projection(PCA(2).fit(X), X, X["alcohol"] + 0.001)
    np.testing.assert_array_equal(figure.data[0].marker.color, X["alcohol"] + 0.001)


def test_one_new_column_is_drawn_as_a_distribution_for_each_class():
    figure = plot_projection(PCA(1).fit(X), X, y)
    assert [bars.type for bars in figure.data] == ["histogram"] * 3


def test_of_very_many_rows_some_are_drawn_with_their_own_classes():
    many = pd.concat([X] * 60, ignore_index=True)
    labels = np.tile(y, 60)
    model = PCA(2).fit(X)
    figure = plot_projection(model, many, labels)
    assert sum(len(points.x) for points in figure.data) == 5000
    own = model.transform(X)[y == 2]
    assert set(np.round(figure.data[2].x, 6)) <= set(np.round(own[:, 0], 6))


def test_components_that_do_not_exist_and_targets_of_another_length_are_refused():
    model = PCA(2).fit(X)
    with pytest.raises(ValueError, match="there are 2, counted from 0"):
        plot_projection(model, X, components=(0, 2))
    with pytest.raises(ValueError, match="178 rows, and y has 3"):
        plot_projection(model, X, y[:3])


def test_what_makes_no_new_columns_is_refused_in_words():
    learner = Ridge().fit(X[:40], y[:40])
    for draw in (plot_loadings, plot_projection):
        with pytest.raises(TypeError, match="Ridge makes no new columns"):
            draw(learner, X)
    with pytest.raises(TypeError, match="PCA has none; take plot_projection"):
        plot_biplot(PCA(2).fit(X))
    with pytest.raises(NotFittedError):
        plot_biplot(CorrespondenceAnalysis())


def test_missing_values_are_left_out_of_correlations_column_by_column():
    new = PCA(2).fit_transform(X)
    missing = X.mask(np.random.default_rng(0).random(X.shape) < 0.3)
    expected = [
        [np.corrcoef(each[~np.isnan(each)], t[~np.isnan(each)])[0, 1] for t in new.T] for each in missing.T.values
    ]
    np.testing.assert_allclose(loadings(missing, new), expected)
    np.testing.assert_array_equal(loadings(missing.assign(ash=np.nan), new)[2], 0)


def test_a_missing_value_that_the_extractor_does_not_take_is_told_with_its_column():
    with pytest.raises(ValueError, match="NaN"):
        plot_loadings(PCA(2).fit(X), X.mask(X > 10))


def test_columns_named_by_numbers_keep_their_names():
    spectra = pd.DataFrame(X.to_numpy(), columns=np.linspace(900, 1700, 13))
    figure = plot_loadings(PCA(2).fit(spectra), spectra, n_columns=1)
    assert figure.data[0].y[0] == "1700.0"
    assert plot_loadings(PCA(2).fit(X.to_numpy()), X.to_numpy(), n_columns=1).data[0].y[0] == "x12"


@pytest.mark.filterwarnings("ignore:n_components")
@pytest.mark.parametrize("draw", [plot_loadings, plot_projection])
def test_nothing_found_is_nothing_to_draw(draw):
    with pytest.raises(ValueError, match="PLSRegressor found no new columns"):
        draw(PLSRegressor().fit(X, np.ones(len(X))), X)


@pytest.mark.parametrize("draw", [plot_loadings, plot_correlation_circle, plot_projection])
def test_clusters_are_no_directions_and_columns_of_them_are_drawn(draw):
    boxes = FastProjectiveClustering(min_gain=None).fit(X)
    with pytest.raises(ValueError, match=r"FastProjectiveClustering gives .* clusters and no directions, .* Subspace"):
        draw(boxes, X)
    draw(SubspaceDistanceFeatures(clustering=boxes).fit(X), X)


def test_loadings_of_infinite_distances_are_refused_in_words():
    distances = FastProjectiveClustering(min_gain=None).fit(X).transform(X)
    with pytest.raises(ValueError, match=r"X_new gives .* clusters and no directions, .* SubspaceDistanceFeatures"):
        loadings(X, distances)
    with pytest.raises(ValueError, match="X_new gives infinite"):
        loadings(X, distances.tolist())


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
