"""The files of a model, read without trust: no code is run, and what would crash when it is used is refused.

skops builds objects of known types only. Their content is not checked by scikit-learn: compiled loops search trees and
neighbours, and follow the indices that they find there.
"""

import importlib
import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fewer._wording import argument, listed
from fewer.catalogue import ROOMS
from fewer.io import KINDS
from fewer.study._errors import StudyError
from fewer.study.model._calibration import Calibration, is_calibration
from fewer.study.model._drift import are_profiles
from fewer.study.table._columns import columns_from

# Types inside of the pipelines of a study that skops, in some supported version, does not know by itself; they contain
# numbers and text and run nothing.
_PARTS_OF_LEARNERS = frozenset(
    [
        "fewer.study.work._preparation.CutColumns",
        "fewer.study.work._preparation.WordCodes",
        "numpy.dtype",
        "scipy.sparse._csr.csr_matrix",
        "sklearn._loss._loss.CyHalfMultinomialLoss",
        "sklearn._loss.link.IdentityLink",
        "sklearn._loss.link.Interval",
        "sklearn._loss.link.LogLink",
        "sklearn._loss.link.LogitLink",
        "sklearn._loss.link.MultinomialLogit",
        "sklearn._loss.loss.HalfBinomialLoss",
        "sklearn._loss.loss.HalfMultinomialLoss",
        "sklearn._loss.loss.HalfPoissonLoss",
        "sklearn._loss.loss.HalfSquaredError",
        "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.metrics._dist_metrics.EuclideanDistance",
        "sklearn.metrics._dist_metrics.EuclideanDistance32",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.neighbors._ball_tree.BallTree",
        "sklearn.neighbors._ball_tree.BallTree32",
        "sklearn.neighbors._ball_tree.BallTree64",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neighbors._kd_tree.KDTree32",
        "sklearn.neighbors._kd_tree.KDTree64",
        "sklearn.tree._tree.Tree",
    ]
)
_NO_CHILD = -1


def checked_about(about: Any, path: Path) -> dict[str, Any]:
    """What a model wants, from ``model.json``, if it is of the types that a study writes there."""
    texts = "form", "target", "task"
    sound = (
        isinstance(about, Mapping)
        and about.keys() == {*texts, "table", "profiles", "calibration", "identifiers"}
        and all(isinstance(about[name], str) for name in texts)
        and isinstance(about["table"], list)
        and all(map(_is_column, about["table"]))
        and (about["calibration"] is None or is_calibration(about["calibration"]))
        and isinstance(about["identifiers"], list)
        and all(isinstance(name, str) for name in about["identifiers"])
        and are_profiles(about["profiles"])
        and set(about["profiles"]) <= {name for name, *_ in about["table"]}
        and about["form"] in ("array", "frame", "sparse")
        and about["task"] in ("binary", "multiclass", "regression")
    )
    if not sound:
        raise StudyError(
            f"The model {path} cannot be read: {path.with_suffix('.json').name} does not describe a model."
        )
    calibration = None if about["calibration"] is None else Calibration.from_dict(about["calibration"])
    identifiers = tuple(about["identifiers"])
    return {**about, "table": columns_from(about["table"]), "calibration": calibration, "identifiers": identifiers}


def _is_column(data: Any) -> bool:
    """Whether this is what a column of a table is written as."""
    return (
        isinstance(data, list)
        and len(data) == 4
        and all(isinstance(each, str) for each in data[:3])
        and data[1] in KINDS
        and (data[3] is None or (isinstance(data[3], list) and all(isinstance(each, str) for each in data[3])))
    )


class UntrustedTypesError(StudyError):
    """A model with types of other packages."""

    def __init__(self, path: Path, types: Iterable[str]) -> None:
        self.types = tuple(types)
        super().__init__(
            f"The model {path} contains types of other packages ({listed(self.types, 10, longest=200)}), so it is not "
            "loaded: it could execute arbitrary code. If you trust who made it: "
            f"{argument('trusted', list(self.types))}."
        )


def pipeline_from(content: bytes, path: Path, trusted: Iterable[str] = ()) -> Any:
    """The pipeline in the bytes of ``model.skops``. Types that are not ours or scikit-learn's are loaded on trust."""
    import skops.io

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(member.file_size for member in archive.infolist()) > len(content):
                raise ValueError("its parts are larger than the file")
        asked_for = skops.io.get_untrusted_types(data=content)
        known = {*_PARTS_OF_LEARNERS, *trusted}
        strangers = [name for name in asked_for if name not in known and not _is_own_type(name)]
        if not strangers:
            pipeline = skops.io.loads(content, trusted=asked_for)
            _check_pipeline(pipeline)
            return pipeline
    except Exception as error:  # skops raises whatever numpy, zipfile and the types themselves raise for damaged bytes
        reason = str(error).partition("\n")[0][:200] or type(error).__name__
        raise StudyError(f"The model {path} cannot be read: {reason}") from error
    raise UntrustedTypesError(path, strangers)


def _is_own_type(name: str) -> bool:
    """Whether a type, by its dotted name, is a class of our rooms: they hold what they are given and run nothing."""
    module, _, qualname = name.rpartition(".")
    if not any(module.startswith(f"fewer.{room}.") for room in ROOMS):
        return False
    try:
        found = getattr(importlib.import_module(module), qualname)
    except (ImportError, AttributeError):
        return False
    return isinstance(found, type) and found.__module__ == module


def _check_pipeline(pipeline: Any) -> None:
    """Raise for what is no pipeline, and for trees whose indices lead out of them or out of a row."""
    from sklearn.pipeline import Pipeline

    if not isinstance(pipeline, Pipeline):
        raise ValueError("it is not a pipeline")
    for _, step in pipeline.steps:
        for part in _parts(step):
            where = type(part).__module__
            if where == "sklearn.tree._tree":
                _check_tree(part, step.n_features_in_)
            elif where == "sklearn.ensemble._hist_gradient_boosting.predictor":
                _check_boosted_tree(part, step.n_features_in_)
            elif where in ("sklearn.neighbors._kd_tree", "sklearn.neighbors._ball_tree"):
                _check_neighbours(part)
            elif where == "scipy.sparse._csr":  # support vectors, or the rows that neighbours are found among
                part.check_format(full_check=True)


def _parts(thing: Any) -> Iterator[Any]:
    """Everything inside an estimator, at any depth."""
    todo, seen = [thing], set()
    while todo:
        part = todo.pop()
        if id(part) in seen or isinstance(part, (str, bytes, int, float)):
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, Mapping):
            todo += part.values()
        elif isinstance(part, (list, tuple, set)):
            todo += part
        elif isinstance(part, np.ndarray):
            todo += part.ravel().tolist() if part.dtype.kind == "O" else []
        else:
            todo += getattr(part, "__dict__", {}).values()


def _check_tree(tree: Any, n_features: int) -> None:
    """Children come after their parent, so that each walk from the root ends in a leaf."""
    own = np.arange(tree.node_count)
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    inner = (left > own) & (right > own) & (left < len(own)) & (right < len(own))
    uses = (feature >= 0) & (feature < n_features)
    if not len(own) or not np.all((left == _NO_CHILD) | (inner & uses)):
        raise ValueError("a tree in it is damaged")


def _check_boosted_tree(tree: Any, n_features: int) -> None:
    """As of other trees; columns of a study are numbers, so no node looks up a set of categories."""
    nodes = tree.nodes
    own, left, right = np.arange(len(nodes)), nodes["left"].astype(int), nodes["right"].astype(int)
    inner = (left > own) & (right > own) & (left < len(own)) & (right < len(own))
    uses = (nodes["feature_idx"] >= 0) & (nodes["feature_idx"] < n_features) & (nodes["is_categorical"] == 0)
    if not len(own) or not np.all((nodes["is_leaf"] == 1) | (inner & uses)):
        raise ValueError("a tree in it is damaged")


def _check_neighbours(tree: Any) -> None:
    """The nodes are a complete binary tree over the rows, each for a part of those of its parent."""
    data, order, nodes, bounds, leaf_size, n_levels, n_nodes, *_ = tree.__getstate__()
    n_rows = len(data)
    start, end = nodes["idx_start"], nodes["idx_end"]
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    sound = (
        data.ndim == 2
        and n_rows > 0
        and leaf_size > 0
        and 0 < n_levels < 64
        and n_nodes == len(nodes) == 2**n_levels - 1
        and bounds.shape[1:] == (n_nodes, data.shape[1])
        and np.array_equal(np.sort(order), np.arange(n_rows))
        and np.all((start >= 0) & (start <= end) & (end <= n_rows))
        and np.all(2 * inner + 2 < n_nodes)
    )
    if not sound:
        raise ValueError("a tree of neighbours in it is damaged")
