"""The model that a user keeps, and new rows through it.

The winner's columns and learner, fitted on all rows, in a file that is safe to load. Where preparation works column by
column, the model is fitted on the chosen columns alone: new tables need no others. Where missing values are imputed
from other columns, all are needed.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fewer._estimators import columns_known_as, warn_caller, write_whole
from fewer._kernels._one_thread import one_thread
from fewer._wording import argument, cut, did_you_mean, listed
from fewer.catalogue import imputer_named
from fewer.extract import with_components
from fewer.study._errors import StudyError
from fewer.study.files._checked_file import digest, read_checked, write_checked
from fewer.study.model._calibration import Calibration
from fewer.study.model._drift import column_profiles
from fewer.study.model._final import FINAL
from fewer.study.model._model_file import checked_about, pipeline_from
from fewer.study.plan._recipes import of_moderate_size
from fewer.study.table._coded import decoded
from fewer.study.table._columns import TableColumn
from fewer.study.table._study_data import refuse_too_large
from fewer.study.table._units import Units
from fewer.study.table._weights import fit_weighted
from fewer.study.work._notes import quiet_about_rare_classes
from fewer.study.work._predictions import response_of
from fewer.study.work._preparation import fit_prepared, preparation, prepared_columns
from fewer.study.work._work import learner_of, seed_of

if TYPE_CHECKING:
    from fewer.io import Dataset
    from fewer.study.answers._findings import Findings
    from fewer.study.plan._plan import Plan
    from fewer.study.table._study_data import StudyData


VERSION = 5


class UnsavableModelError(StudyError):
    """A model with parts that skops does not know how to write."""


@dataclass(frozen=True, eq=False)
class StudyModel:
    """A fitted pipeline, and the columns that it needs.

    Attributes
    ----------
    pipeline : sklearn.pipeline.Pipeline
        Preparation, choice of columns and learner, fitted on all rows.
    table : tuple of TableColumn
        Columns of a table that it needs, in this order.
    form : {"array", "frame", "sparse"}
        How it takes them.
    target : str
        What it predicts.
    task : str
        "binary", "multiclass" or "regression".
    profiles : mapping of str to mapping
        Ranges and counts of the chosen columns in the study, as ``column_profiles`` makes them.
    calibration : Calibration or None
        From responses of the learner to calibrated probabilities, fitted to held-out rows; None without responses.
    identifiers : tuple of str
        Columns that identified the rows of the study.
    """

    pipeline: Any
    table: tuple[TableColumn, ...]
    form: str
    target: str
    task: str
    profiles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    calibration: Calibration | None = None
    identifiers: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that it needs."""
        return tuple(column.name for column in self.table)

    def save(self, path: "str | Path") -> None:
        """Write the model with skops, and its description beside it as JSON (``model.skops`` and ``model.json``)."""
        import skops.io

        path = Path(path)
        contents: list[Any] = []
        try:
            # What skops would write to a file: its own buffer, where `dumps` copies it.
            skops.io.dump(self.pipeline, SimpleNamespace(write=contents.append))
        except Exception as error:  # whatever is inside of a learner of another package
            learner = type(self.pipeline[-1]).__name__
            raise UnsavableModelError(f"The model of {learner} cannot be saved with skops: {error}") from error
        write_whole(path, *contents)
        about = {
            "version": VERSION,
            "table": [column.to_list() for column in self.table],
            "form": self.form,
            "target": self.target,
            "task": self.task,
            "profiles": dict(self.profiles),
            "calibration": None if self.calibration is None else self.calibration.to_dict(),
            "identifiers": list(self.identifiers),
            "pipeline": digest(*contents),
        }
        write_checked(path.with_suffix(".json"), about)

    @classmethod
    def load(cls, path: "str | Path", *, trusted: Iterable[str] = ()) -> "StudyModel":
        """A model from its files.

        Parameters
        ----------
        path : str or Path
            The file ``model.skops``.
        trusted : iterable of str, default=()
            Types to load besides those of scikit-learn and fewer, which execute no code; the error names those that
            are needed.

        Returns
        -------
        model : StudyModel
            As it was saved.
        """
        path = Path(path)
        about = read_checked(path.with_suffix(".json"))
        if about.pop("version", None) != VERSION:
            raise StudyError(f"The model {path} was written by another version of fewer; run the study again.")
        try:
            content = path.read_bytes()
        except OSError as error:
            raise StudyError(f"The model {path} cannot be read: {error.strerror}.") from None
        if digest(content) != about.pop("pipeline", None):
            raise StudyError(
                f"The model {path} does not match its checksum, so it is damaged. Run `fewer resume {path.parent}` to "
                "write it again."
            )
        return cls(pipeline_from(content, path, trusted), **checked_about(about, path))

    def probabilities(self, X: Any) -> tuple[list[str], np.ndarray]:
        """Calibrated probabilities of all classes; those of the learner itself if they could not be calibrated.

        Parameters
        ----------
        X : frame, Dataset or array
            Rows, as ``for_frames`` takes them.

        Returns
        -------
        classes : list of str
            The classes; none if the learner gives no probabilities.
        probabilities : ndarray of shape (n_rows, n_classes)
            They add up to 1.
        """
        rows = self._taken(X)
        classes = [str(label) for label in getattr(self.pipeline, "classes_", [])]
        if self.calibration is not None:
            found = response_of(self.pipeline, rows)
            if (found.get("response"), tuple(found.get("classes", ()))) == (
                self.calibration.response,
                self.calibration.classes,
            ):
                chances = self.calibration.probabilities(np.array(found["values"]).reshape(-1, len(found["classes"])))
                return classes, np.hstack([1 - chances, chances]) if len(classes) == 2 else chances
        if hasattr(self.pipeline, "predict_proba"):
            return classes, self.pipeline.predict_proba(rows)
        return [], np.empty((0, 0))

    def for_frames(self) -> Any:
        """The fitted pipeline with a first step that finds its columns in a frame by their names.

        Returns
        -------
        pipeline : sklearn.pipeline.Pipeline
            It shares the fitted steps of ``pipeline``.
        """
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import FunctionTransformer

        return Pipeline([("columns", FunctionTransformer(self._taken)), *self.pipeline.steps])

    def _taken(self, X: Any) -> Any:
        """The columns that the model needs, in the form in which it has learnt from them."""
        from fewer.io import Dataset

        if isinstance(X, np.ndarray) or hasattr(X, "indptr"):
            return X
        dataset = X if isinstance(X, Dataset) else Dataset.from_frame(X)
        self.check_columns(dataset)
        return as_trained(self, dataset.keep(self.columns))

    def check_columns(self, dataset: "Dataset") -> None:
        """Raise if a table lacks columns that the model needs."""
        known = set(dataset.columns)
        lacking = [name for name in self.columns if name not in known]
        if lacking:
            others = [name for name in dataset.columns if name not in self.columns]
            nearest = f" {did_you_mean(lacking[0], others, 'other columns')}" if len(lacking) == 1 and others else ""
            raise StudyError(
                f"{dataset.source} does not have {len(lacking)} of the {len(self.columns)} columns that the model "
                f"needs: {listed([repr(name) for name in lacking])}.{nearest}"
            )


def fit_model(plan: "Plan", data: "StudyData", findings: "Findings") -> StudyModel:
    """The winner on all rows, with the chosen columns.

    Parameters
    ----------
    plan : Plan
        The plan.
    data : StudyData
        The table.
    findings : Findings
        What was chosen.

    Returns
    -------
    model : StudyModel
        Fitted.
    """
    import polars as pl
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline

    winner = plan.candidates[findings.winner]
    from_others = imputer_named(plan.impute).from_others and not winner.takes_missing
    if from_others and not data.dataset.has_missing:
        from_others, impute = False, "median"
    else:
        impute = plan.impute
    chosen = set(findings.chosen)
    table = tuple(each for each in findings.table if not each.left_out and (from_others or each.name in chosen))
    sources = [each.name for each in table]
    dataset = decoded(data.dataset if len(sources) == data.dataset.n_columns else data.dataset.keep(sources))
    missing = not winner.takes_missing
    prepare = preparation(dataset, impute, missing=missing, seed=plan.seed, counts=winner.for_counts)
    learner = of_moderate_size(learner_of(winner, plan, dataset.y, seed_of(plan, "model")), dataset.n_rows)
    with one_thread(), quiet_about_rare_classes():
        X = fit_prepared(prepare, dataset.X, keep=True)
        columns = prepared_columns(prepare, dataset)
        keep = [place for place, column in enumerate(columns) if column.source in chosen]
        steps: list[tuple[str, Any]] = [("prepare", prepare)]
        if findings.n_made is not None:
            units = Units.of([column.source for column in columns], {}, plan.always)
            steps.append(("make", units.maker(_maker(plan, findings))))
        elif len(keep) < len(columns):
            steps.append(("keep", ColumnTransformer([("keep", "passthrough", keep)])))
        with columns_known_as([column.name for column in columns]):
            rest = fit_weighted(Pipeline([*steps[1:], ("learn", learner)]), X, np.asarray(dataset.y), data.weights)
    # Of a search for a penalty, new rows need the model that it found.
    learnt = getattr(rest["learn"], "best_estimator_", rest["learn"])
    pipeline = Pipeline([*steps[:1], *rest.steps[:-1], ("learn", learnt)])
    form = "frame" if isinstance(dataset.X, pl.DataFrame) else "sparse" if dataset.is_sparse else "array"
    profiles = column_profiles(dataset.keep([name for name in sources if name in chosen]))
    answer = getattr(findings, "predictions", None)
    calibrated = answer.evidence.get("calibrated") if answer is not None else None
    calibration = Calibration.from_dict(calibrated["calibration"]) if calibrated else None
    identifiers = tuple(each.name for each in findings.table if each.kind == "identifier" and each.left_out)
    return StudyModel(pipeline, table, form, plan.target, plan.task, profiles, calibration, identifiers)


def _maker(plan: "Plan", findings: "Findings") -> Any:
    """What makes the new columns, not fitted."""
    recipe = plan.candidates[findings.winner].reducer
    assert recipe is not None
    assert findings.n_made is not None
    return with_components(recipe.reducer(seed=seed_of(plan, FINAL)), findings.n_made)


def apply_model(
    model: "StudyModel", table: Any, *, predict: bool = True, identifiers: Iterable[str] | None = None
) -> pl.DataFrame:
    """The chosen columns of a new table, or the new ones made of them, with predictions.

    Parameters
    ----------
    model : StudyModel
        Of a finished study.
    table : Dataset, path or frame
        New rows, or what ``fewer.io.read_table`` reads. Columns are found by name; columns that the model does not need
        are ignored.
    predict : bool, default=True
        Add the prediction; for classes, the calibrated probability of each, and, if the study had costs of errors,
        the decision that costs least.
    identifiers : iterable of str, default=None
        Columns to keep besides, such as the names of the rows; by default those that were identifiers in the study or
        look like ones here.

    Returns
    -------
    reduced : polars.DataFrame
        Identifiers, the columns that the model needs, or the new ones that it makes of them, then
        ``predicted_TARGET``, ``probability_CLASS`` of each class, and ``decision_TARGET`` with costs.
    """
    from fewer.io import Dataset, read_table

    dataset = table if isinstance(table, Dataset) else read_table(table)
    reduced = _applied(model, dataset, predict=predict)
    return pl.concat([_identifiers(model, dataset, identifiers, reduced.columns), reduced], how="horizontal")


def _identifiers(
    model: "StudyModel", dataset: "Dataset", asked: Iterable[str] | None, others: Iterable[str]
) -> pl.DataFrame:
    from fewer.io import unknown_column

    if asked is None:
        known = {*model.identifiers, *dataset.columns_of_kind("identifier")}
        names = [name for name in dataset.columns if name in known]
    else:
        names = list(asked)
    for name in names:
        if name not in dataset.columns:
            raise unknown_column(dataset.source, name, dataset.columns, argument("identifiers"))
    names = [name for name in names if name not in {*others, *model.columns}]
    return dataset.keep(names).to_polars(dense=True).select(names)


def _applied(model: "StudyModel", dataset: "Dataset", *, predict: bool) -> pl.DataFrame:
    model.check_columns(dataset)
    refuse_too_large(dataset, model.columns)
    kept = dataset.keep(model.columns)
    reduced = kept.to_polars(dense=True).select(list(model.columns))
    if not predict and "make" not in model.pipeline.named_steps:
        return reduced
    try:
        X = as_trained(model, kept)
        with unseen_categories_named(model, X):
            return _through(model, X, reduced, predict=predict)
    except StudyError:
        raise
    except Exception as error:  # a model from elsewhere may have parts that do not fit one another
        reason = str(error).partition("\n")[0][:200] or type(error).__name__
        raise StudyError(f"The model cannot be applied to {dataset.source}: {reason}") from error


def _through(model: "StudyModel", X: Any, reduced: pl.DataFrame, *, predict: bool) -> pl.DataFrame:
    """The columns kept, or those made of them, with predictions if these are asked for."""
    maker = model.pipeline.named_steps.get("make")
    if maker is not None:
        reduced = pl.DataFrame(model.pipeline[:-1].transform(X), schema=list(maker.get_feature_names_out()))
    if not predict:
        return reduced
    predicted = {f"predicted_{model.target}": model.pipeline.predict(X)}
    if model.task != "regression":
        classes, chances = model.probabilities(X)
        predicted |= {f"probability_{label}": chances[:, place] for place, label in enumerate(classes)}
        threshold = model.calibration.threshold if model.calibration is not None else None
        if threshold is not None and len(classes) == 2:
            predicted[f"decision_{model.target}"] = np.array(classes)[(chances[:, 1] >= threshold).astype(int)]
    return reduced.with_columns(**{name: pl.Series(_plain(values)) for name, values in predicted.items()})


def _plain(values: np.ndarray) -> Any:
    return values.tolist() if values.dtype.kind == "O" else values


@contextmanager
def unseen_categories_named(model: "StudyModel", X: Any) -> Iterator[None]:
    """One warning that names columns and categories, for those of scikit-learn at every step, which count columns."""
    if model.form == "frame":
        numbers = model.pipeline[0].named_steps["numbers"]
        encoder = numbers.named_transformers_["words"]
        unseen = {
            name: sorted(set(X[name].drop_nulls().unique()) - set(known))
            for name, known in zip(numbers.transformers_[1][2], encoder.categories_, strict=True)
        }
        described = [f"{name!r} ({listed(values)})" for name, values in unseen.items() if values]
        if described:
            warn_caller(
                "Categories that the study did not have, treated as its rare categories or as none: "
                f"{listed(described, longest=200)}.",
                UserWarning,
            )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Found unknown categories")
        yield


def as_trained(model: "StudyModel", dataset: "Dataset") -> Any:
    """The columns in the form in which the model has learnt from them."""
    if model.form != "frame":
        X = dataset.to_numpy()
        if model.form == "array" and dataset.is_sparse:
            return X.toarray()
        return X
    frame = dataset.to_polars(dense=True).select(list(model.columns))
    words = set(model.pipeline[0].named_steps["numbers"].transformers_[1][2])
    cast = frame.with_columns(
        pl.col(name).cast(pl.String if name in words else pl.Float64, strict=False) for name in model.columns
    )
    for name in model.columns:
        if cast[name].null_count() > frame[name].null_count():
            row = int((cast[name].is_null() & frame[name].is_not_null()).arg_max() or 0)
            raise StudyError(
                f"{dataset.source}: {name!r} was numeric in the study, but contains strings in this table, such as "
                f"{cut(str(frame[name][row]), 40)!r} in row {row + 1}."
            )
    return cast
