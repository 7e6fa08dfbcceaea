"""How much features that were found without labels help a classifier that has few labels.

In every split, a share of the rows is the test set. Each transformer is fitted to all other rows, labels ignored; a
classifier is trained on the labelled share of them, as transformed, and tested. Test rows are seen by neither.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC
from sklearn.utils import check_random_state

from fewer._estimators import each_warning_once, safe_indexing
from fewer._figures import PALETTE, Result, new_figure
from fewer.catalogue import method

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(repr=False)
class LabelEfficiency(Result):
    """Test errors by transformer and share of labelled rows.

    Attributes
    ----------
    names : list of str
        The transformers.
    fractions : list of float
        Shares of all rows that have labels.
    errors : ndarray of shape (n_transformers, n_fractions, n_splits)
        Share of wrong predictions on the test rows of each split.
    confusions : ndarray of shape (n_transformers, n_fractions, n_classes, n_classes)
        Confusion matrices, summed over splits: true classes in rows.
    classes : ndarray of shape (n_classes,)
        The classes.
    """

    _data: ClassVar[tuple[str, ...]] = ("names", "fractions", "errors", "confusions", "classes")

    names: list[str]
    fractions: list[float]
    errors: np.ndarray
    confusions: np.ndarray
    classes: np.ndarray

    @property
    def mean_errors(self) -> np.ndarray:
        """Mean over splits."""
        return self.errors.mean(axis=2)

    @property
    def variances(self) -> np.ndarray:
        """Variance over splits."""
        return self.errors.var(axis=2, ddof=1) if self.errors.shape[2] > 1 else np.zeros(self.errors.shape[:2])

    def __repr__(self) -> str:
        width = max(len(name) for name in self.names)
        heads = "  ".join(f"{fraction:>12.0%}" for fraction in self.fractions)
        lines = [
            "LabelEfficiency: test error (standard deviation over splits) by share of labelled rows",
            f"  {'':{width}}  {heads}",
        ]
        for name, means, variances in zip(self.names, self.mean_errors, self.variances, strict=True):
            cells = [f"{mean:.1%} ({np.sqrt(var):.1%})" for mean, var in zip(means, variances, strict=True)]
            lines.append(f"  {name:{width}}  " + "  ".join(f"{cell:>12}" for cell in cells))
        return "\n".join(lines)

    def plot(self) -> "go.Figure":
        """Draw the errors over the share of labelled rows.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            One line for each transformer, with standard errors over splits.
        """
        import plotly.graph_objects as go

        figure = new_figure(x="share of labelled rows", y="test error")
        for number, (name, means) in enumerate(zip(self.names, self.mean_errors, strict=True)):
            bars = np.sqrt(self.variances[number] / self.errors.shape[2])
            figure.add_trace(
                go.Scatter(
                    x=self.fractions,
                    y=means,
                    error_y={"array": bars},
                    mode="lines+markers",
                    name=name,
                    line={"color": PALETTE[number % len(PALETTE)]},
                )
            )
        return figure.update_xaxes(type="log", tickformat=".0%").update_yaxes(tickformat=".0%", rangemode="tozero")


@method(
    tasks=["evaluation"],
    when="Many rows and few labels: does an extractor that is fitted without labels make up for those missing?",
    cost="O(splits) fits of each transformer, O(splits x fractions) fits of the classifier",
    paper="plsa-visual",
    handles=("sparse",),
)
@each_warning_once()
def label_efficiency(
    transformers: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    fractions: Sequence[float] = (0.9, 0.5, 0.1, 0.05),
    estimator: Any = None,
    n_splits: int = 10,
    test_size: float = 0.1,
    random_state: Any = 0,
) -> LabelEfficiency:
    """Test errors of a classifier on features that were found without labels, by the share of labelled rows.

    Parameters
    ----------
    transformers : dict of str to transformer
        What makes the features, not fitted; "passthrough" takes the table as it is.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Classes.
    fractions : sequence of float, default=(0.9, 0.5, 0.1, 0.05)
        Shares of all rows that have labels; those of one split are nested.
    estimator : classifier, default=None
        Learns from the features; by default support vector machines, one for each class against the others.
    n_splits : int, default=10
        Random splits.
    test_size : float, default=0.1
        Share of the rows held out.
    random_state : int, RandomState instance or None, default=0
        Draws the splits and the labelled rows.

    Returns
    -------
    efficiency : LabelEfficiency
        Errors of all splits, and confusion matrices.

    References
    ----------
    .. [1] Monay, F., Quelhas, P., Gatica-Perez, D. and Odobez, J.-M. (2006). Constructing visual models with a latent
       space approach. In Subspace, Latent Structure and Feature Selection, LNCS 3940, 115-126.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.decomposition import PCA
    >>> from fewer.evaluate import label_efficiency
    >>> X, y = load_digits(return_X_y=True)
    >>> found = label_efficiency({"pixels": "passthrough", "PCA": PCA(20)}, X, y, fractions=[0.5, 0.1], n_splits=2)
    >>> found.errors.shape
    (2, 2, 2)
    """
    y = np.asarray(y)
    fractions = [float(each) for each in fractions]
    if max(fractions) + test_size > 1 + 1e-9:
        raise ValueError(
            f"A share of {max(fractions)} labelled rows leaves less than test_size={test_size} to test on."
        )
    classifier = OneVsRestClassifier(SVC(C=10)) if estimator is None else estimator
    classes = np.unique(y)
    random = check_random_state(random_state)
    errors = np.empty((len(transformers), len(fractions), n_splits))
    confusions = np.zeros((len(transformers), len(fractions), len(classes), len(classes)), dtype=np.int64)
    for split in range(n_splits):
        train, test = train_test_split(np.arange(len(y)), test_size=test_size, random_state=random)
        order = _with_every_class_first(random.permutation(train), y)
        for number, transformer in enumerate(transformers.values()):
            inside, outside = _features(transformer, X, train, test)
            place = np.empty(len(y), dtype=np.int64)
            place[train] = np.arange(len(train))
            for share, fraction in enumerate(fractions):
                labelled = order[: max(len(classes), min(round(fraction * len(y)), len(order)))]
                model = clone(classifier).fit(safe_indexing(inside, place[labelled]), y[labelled])
                predicted = model.predict(outside)
                errors[number, share, split] = np.mean(predicted != y[test])
                confusions[number, share] += confusion_matrix(y[test], predicted, labels=classes)
    return LabelEfficiency(list(transformers), fractions, errors, confusions, classes)


def _with_every_class_first(order: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The rows with one of each class moved to the front, so that even few labels show all classes."""
    _, first = np.unique(y[order], return_index=True)
    first = np.sort(first)
    return np.concatenate([order[first], np.delete(order, first)])


def _features(transformer: Any, X: Any, train: np.ndarray, test: np.ndarray) -> tuple[Any, Any]:
    inside, outside = safe_indexing(X, train), safe_indexing(X, test)
    if isinstance(transformer, str):
        if transformer != "passthrough":
            raise ValueError(f"A transformer, or 'passthrough', is needed, not {transformer!r}.")
        return inside, outside
    fitted = clone(transformer).fit(inside)
    return fitted.transform(inside), fitted.transform(outside)
