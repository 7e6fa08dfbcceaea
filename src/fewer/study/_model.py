"""The model that a user keeps: the winner's columns and learner, fitted on all rows, in a file that is safe to load.

Where preparation works column by column, the model is fitted on the chosen columns alone: new tables need no others.
Where missing values are imputed from other columns, all are needed.
"""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer._estimators import columns_known_as, write_whole
from fewer.extract import with_components
from fewer.study._checked_file import digest, read_checked, write_checked
from fewer.study._coded import decoded
from fewer.study._errors import StudyError
from fewer.study._final import FINAL
from fewer.study._imputers import IMPUTERS
from fewer.study._model_file import checked_about, pipeline_from
from fewer.study._one_thread import one_thread
from fewer.study._preparation import fit_prepared, preparation, prepared_names
from fewer.study._recipes import of_moderate_size
from fewer.study._work import learner_of, seed_of

if TYPE_CHECKING:
    from fewer.study._findings import Findings
    from fewer.study._plan import Plan
    from fewer.study._study_data import StudyData

VERSION = 2


@dataclass(frozen=True, eq=False)
class StudyModel:
    """A fitted pipeline, and the columns that it needs.

    Attributes
    ----------
    pipeline : sklearn.pipeline.Pipeline
        Preparation, choice of columns and learner, fitted on all rows.
    columns : tuple of str
        Columns of a table that it needs, in this order.
    kinds : tuple of str
        Their kinds.
    form : {"array", "frame", "sparse"}
        How it takes them.
    target : str
        What it predicts.
    task : str
        "binary", "multiclass" or "regression".
    """

    pipeline: Any
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    form: str
    target: str
    task: str

    def save(self, path: "str | Path") -> None:
        """Write the model with skops, and its description beside it as JSON (``model.skops`` and ``model.json``)."""
        import skops.io

        path = Path(path)
        contents: list[Any] = []
        # What skops would write to a file: its own buffer, where `dumps` copies it.
        skops.io.dump(self.pipeline, SimpleNamespace(write=contents.append))
        write_whole(path, *contents)
        about = {
            "version": VERSION,
            "columns": list(self.columns),
            "kinds": list(self.kinds),
            "form": self.form,
            "target": self.target,
            "task": self.task,
            "pipeline": digest(*contents),
        }
        write_checked(path.with_suffix(".json"), about)

    @classmethod
    def load(cls, path: "str | Path") -> "StudyModel":
        """A model from its files. Only types that a study writes are loaded; no code is run."""
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
        return cls(pipeline_from(content, path), **checked_about(about, path))


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

    from_others = IMPUTERS[plan.impute].from_others
    if from_others and not data.dataset.has_missing:
        from_others, impute = False, "median"
    else:
        impute = plan.impute
    chosen = set(findings.chosen)
    sources = [name for name in data.dataset.columns if from_others or name in chosen]
    dataset = decoded(data.dataset if len(sources) == data.dataset.n_columns else data.dataset.keep(sources))
    winner = plan.candidates[findings.winner]
    prepare = preparation(dataset, impute, missing=True, seed=plan.seed, counts=winner.for_counts)
    learner = of_moderate_size(learner_of(winner, plan, dataset.y, seed_of(plan, "model")), dataset.n_rows)
    with one_thread():
        X = fit_prepared(prepare, dataset.X, keep=True)
        names = prepared_names(prepare, dataset)
        wanted = set(findings.chosen_features)
        keep = [place for place, name in enumerate(names) if name in wanted]
        steps: list[tuple[str, Any]] = [("prepare", prepare)]
        if findings.n_made is not None:
            steps.append(("make", _maker(plan, findings)))
        elif len(keep) < len(names):
            steps.append(("keep", ColumnTransformer([("keep", "passthrough", keep)])))
        with columns_known_as(names):
            rest = Pipeline([*steps[1:], ("learn", learner)]).fit(X, np.asarray(dataset.y))
    # Of a search for a penalty, new rows need the model that it found.
    learnt = getattr(rest["learn"], "best_estimator_", rest["learn"])
    pipeline = Pipeline([*steps[:1], *rest.steps[:-1], ("learn", learnt)])
    form = "frame" if isinstance(dataset.X, pl.DataFrame) else "sparse" if dataset.is_sparse else "array"
    return StudyModel(pipeline, tuple(sources), dataset.kinds, form, plan.target, plan.task)


def _maker(plan: "Plan", findings: "Findings") -> Any:
    """What makes the new columns, not fitted."""
    recipe = plan.candidates[findings.winner].reducer
    assert recipe is not None
    assert findings.n_made is not None
    return with_components(recipe.reducer(seed=seed_of(plan, FINAL)), findings.n_made)
