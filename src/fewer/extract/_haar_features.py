"""Haar wavelet coefficients of images, as columns.

Each level replaces 2 x 2 blocks of an image by their sum and three differences (between rows, between columns, and
across), halved, and goes on with the sums. That is a rotation of the pixels: nothing is lost, distances stay as they
are, and each coefficient looks at one place at one size. Methods that weight or choose columns profit from that, while
those that only see distances, such as PCA, do not.
"""

from numbers import Integral
from types import ModuleType

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from fewer._estimators import Interval, StrOptions, check_feature_names_in, fit_context, validated
from fewer.catalogue import method

MODE = "periodization"  # the only one with as many coefficients as pixels, when sides can be halved
SHOWS = {"da": "rows", "ad": "columns", "dd": "diagonal"}


def pywavelets() -> ModuleType:
    """PyWavelets, or an error that says how to get it."""
    try:
        import pywt
    except ImportError as error:
        raise ImportError("HaarFeatures needs PyWavelets: pip install fewer[wavelets]") from error
    return pywt


def halved_axes(image_shape: tuple[int, int]) -> tuple[int, ...]:
    """Axes of images (n, height, width) that can be halved; one that is a single pixel wide cannot."""
    return tuple(axis for axis, side in enumerate(image_shape, start=1) if side > 1)


def most_levels(image_shape: tuple[int, int]) -> int:
    """How often both sides of an image, or the length of a line, can be halved."""
    return min((side.bit_length() - 1 for side in image_shape if side > 1), default=0)


def shown_by(key: str, axes: tuple[int, ...]) -> str:
    """What the coefficients under a key of PyWavelets show; "d" marks an axis along which differences are taken."""
    if len(axes) == 1:
        return "rows" if axes == (1,) else "columns"
    return SHOWS[key]


def haar_coefficients(images: np.ndarray, level: int) -> list[tuple[str, int, np.ndarray]]:
    """Bands of coefficients of images (n, height, width), coarsest first: what it shows, level, coefficients."""
    axes = halved_axes(images.shape[1:])
    if level == 0:
        return [("sum", 0, images)]
    sums, *details = pywavelets().wavedecn(images, "haar", mode=MODE, level=level, axes=axes)
    bands = [("sum", level, sums)]
    for depth, of_level in zip(range(level, 0, -1), details, strict=True):
        bands += [(shown_by(key, axes), depth, of_level[key]) for key in _keys(axes)]
    return bands


def images_from_coefficients(
    coefficients: np.ndarray, bands: list[tuple[str, int, int, int]], image_shape: tuple[int, int]
) -> np.ndarray:
    """Images from rows of coefficients, given what the bands are and how high and wide each is."""
    parts, first = [], 0
    for _, _, height, width in bands:
        parts.append(coefficients[:, first : first + height * width].reshape(-1, height, width))
        first += height * width
    if len(bands) == 1:
        return parts[0]
    axes = halved_axes(image_shape)
    keys = _keys(axes)
    details = [
        dict(zip(keys, parts[start : start + len(keys)], strict=True)) for start in range(1, len(parts), len(keys))
    ]
    images = pywavelets().waverecn([parts[0], *details], "haar", mode=MODE, axes=axes)
    return images[:, : image_shape[0], : image_shape[1]]  # a side that was odd has come back with one more


def _keys(axes: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(SHOWS) if len(axes) == 2 else ("d",)


@method(
    tasks=["unsupervised"],
    when="The columns are pixels of an image (or points of a signal) and a method that weights or chooses columns "
    "follows. Useless before plain PCA or nearest neighbours, which a rotation of the pixels does not touch.",
    cost="O(n p) time and memory",
    paper="wolf-bileschi",
)
class HaarFeatures(TransformerMixin, BaseEstimator):
    """Turn the pixels of images into Haar wavelet coefficients.

    Parameters
    ----------
    image_shape : tuple of (int, int) or None, default=None
        Height and width of the images. By default the columns are a single line of pixels, a signal.
    level : int or None, default=None
        How often to halve; by default as often as both sides of an image, or a line, can be.
    order : {"C", "F"}, default="C"
        How the pixels of an image follow one another in a row of the table: line by line ("C"), or column by column
        ("F", as MATLAB writes them).

    Attributes
    ----------
    bands_ : list of tuple of (str, int, int, int)
        For each band of coefficients, coarsest first: what it shows ("sum", or the difference between "rows", between
        "columns", or "diagonal"), its level, its height and its width.
    image_shape_ : tuple of (int, int)
        Height and width of the images.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    fewer.select.VarianceWeightSelector : Weights for the coefficients.

    Notes
    -----
    Needs PyWavelets (``pip install fewer[wavelets]``). Where a side cannot be halved, its last pixel is repeated, so
    there may be a few more coefficients than pixels. With sides that are powers of two the transform is a rotation.

    References
    ----------
    .. [1] Wolf, L. and Bileschi, S. (2005). Combining variable selection with dimensionality reduction. MIT CSAIL
       technical report 2005-019.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import HaarFeatures
    >>> haar = HaarFeatures(image_shape=(2, 2)).fit(np.zeros((2, 4)))
    >>> haar.get_feature_names_out()
    array(['sum_2x2_0_0', 'rows_2x2_0_0', 'columns_2x2_0_0', 'diagonal_2x2_0_0'], dtype=object)
    >>> haar.transform([[1.0, 1.0, 3.0, 3.0]])
    array([[ 4., -2.,  0.,  0.]])
    """

    _parameter_constraints = {
        "image_shape": [tuple, list, None],
        "level": [Interval(Integral, 0, None, closed="left"), None],
        "order": [StrOptions({"C", "F"})],
    }

    def __init__(self, image_shape=None, *, level=None, order="C"):
        self.image_shape = image_shape
        self.level = level
        self.order = order

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn which coefficients there are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Images, one in each row.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        pywavelets()
        X = validated(self, X, dtype=[np.float64, np.float32])
        self.image_shape_ = self._checked_shape(X.shape[1])
        level = most_levels(self.image_shape_) if self.level is None else self.level
        if level > most_levels(self.image_shape_):
            raise ValueError(
                f"level={level}: images of {self.image_shape_[0]} x {self.image_shape_[1]} pixels can be halved "
                f"{most_levels(self.image_shape_)} times."
            )
        empty = haar_coefficients(np.zeros((1, *self.image_shape_)), level)
        self.bands_ = [(kind, depth, *band.shape[1:]) for kind, depth, band in empty]
        return self

    def _checked_shape(self, n_columns: int) -> tuple[int, int]:
        if self.image_shape is None:
            return (1, n_columns)
        sides = tuple(self.image_shape)
        if len(sides) != 2 or not all(isinstance(side, int | np.integer) and side > 0 for side in sides):
            raise ValueError(f"image_shape={self.image_shape!r} must be two positive numbers: height and width.")
        if sides[0] * sides[1] != n_columns:
            raise ValueError(
                f"Images of {sides[0]} x {sides[1]} pixels take {sides[0] * sides[1]} columns, but X has {n_columns}. "
                "Give image_shape=(height, width) of your images."
            )
        return int(sides[0]), int(sides[1])

    def transform(self, X):
        """Coefficients of images.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Images, one in each row.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_coefficients)
            Coefficients, band by band.
        """
        check_is_fitted(self)
        X = validated(self, X, dtype=[np.float64, np.float32], reset=False)
        bands = haar_coefficients(self._as_images(X), self.bands_[0][1])
        return np.concatenate([band.reshape(len(X), -1) for _, _, band in bands], axis=1)

    def inverse_transform(self, X):
        """Images from their coefficients.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_coefficients)
            Coefficients.

        Returns
        -------
        X_images : ndarray of shape (n_samples, n_features)
            Images, one in each row.
        """
        check_is_fitted(self)
        X = check_array(X, dtype=[np.float64, np.float32])
        if X.shape[1] != self._n_coefficients():
            raise ValueError(f"X has {X.shape[1]} columns, but transform gives {self._n_coefficients()}.")
        images = images_from_coefficients(X, self.bands_, self.image_shape_)
        return self._as_rows(images)

    def _as_images(self, X: np.ndarray) -> np.ndarray:
        height, width = self.image_shape_
        if self.order == "F":
            return X.reshape(-1, width, height).transpose(0, 2, 1)
        return X.reshape(-1, height, width)

    def _as_rows(self, images: np.ndarray) -> np.ndarray:
        return (images.transpose(0, 2, 1) if self.order == "F" else images).reshape(len(images), -1)

    def _n_coefficients(self) -> int:
        return sum(height * width for _, _, height, width in self.bands_)

    def get_feature_names_out(self, input_features=None):
        """Names of the coefficients: what it shows, size in pixels of what it looks at, and where.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the pixels; only checked against those seen in ``fit``.

        Returns
        -------
        names : ndarray of str objects
            Such as ``rows_8x8_1_3``: the upper half of an 8 x 8 patch less the lower, second patch from the top,
            fourth from the left.
        """
        check_is_fitted(self)
        check_feature_names_in(self, input_features)
        tall, wide = (side > 1 for side in self.image_shape_)
        names = [
            f"{kind}_{2**depth if tall else 1}x{2**depth if wide else 1}_{row}_{column}"
            for kind, depth, height, width in self.bands_
            for row in range(height)
            for column in range(width)
        ]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
