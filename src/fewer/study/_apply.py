"""Apply the model of a study to new rows: the chosen or new columns, and the predictions."""

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fewer._wording import listed
from fewer.study._errors import StudyError
from fewer.study._study_data import refuse_too_large

if TYPE_CHECKING:
    from fewer.io import Dataset
    from fewer.study._model import StudyModel


def apply_model(model: "StudyModel", dataset: "Dataset", *, predict: bool = True) -> pl.DataFrame:
    """The chosen columns of a new table, or the new ones made of them, with predictions.

    Parameters
    ----------
    model : StudyModel
        Of a finished study.
    dataset : Dataset
        New rows. Columns are found by name; columns that the model does not need are ignored.
    predict : bool, default=True
        Add the prediction, and for classes the probability of each where the learner gives one.

    Returns
    -------
    reduced : polars.DataFrame
        The columns that the model needs, or the new ones that it makes of them, then ``predicted_TARGET``.
    """
    lacking = [name for name in model.columns if name not in set(dataset.columns)]
    if lacking:
        raise StudyError(
            f"{dataset.source} does not have {len(lacking)} of the {len(model.columns)} columns that the model needs: "
            f"{listed([repr(name) for name in lacking])}."
        )
    refuse_too_large(dataset, model.columns)
    kept = dataset.keep(list(model.columns))
    reduced = kept.to_polars(dense=True).select(list(model.columns))
    if not predict and "make" not in model.pipeline.named_steps:
        return reduced
    try:
        return _through(model, _as_trained(model, kept), reduced, predict=predict)
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
    if model.task != "regression" and hasattr(model.pipeline, "predict_proba"):
        chances = model.pipeline.predict_proba(X)
        predicted |= {f"probability_{label}": chances[:, place] for place, label in enumerate(model.pipeline.classes_)}
    return reduced.with_columns(**{name: pl.Series(_plain(values)) for name, values in predicted.items()})


def _plain(values: np.ndarray) -> Any:
    return values.tolist() if values.dtype.kind == "O" else values


def _as_trained(model: "StudyModel", dataset: "Dataset") -> Any:
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
            raise StudyError(
                f"{dataset.source}: {name!r} was numeric in the study, but contains strings in this table."
            )
    return cast
