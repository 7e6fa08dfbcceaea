"""``python -m benchmarks.presets``: the presets of ``fewer study`` on real tables, beside plain pipelines and peers.

A table is cut into thirds. Each procedure learns on two of them and predicts the third, which nothing else has seen:

- a study with a preset; its model is applied as ``fewer apply`` does;
- plain pipelines with all columns, the penalty of linear ones chosen inside;
- procedures that people select columns with today: RFECV, Boruta, L1, sequential search.

Each finished run is one line of docs/data/presets.jsonl: its score on the rows kept apart, row by row, the score that
it claimed itself, columns kept, processor time, and the revision of the code. What is there is not run again: to run a
preset anew after a change, take its lines out.
``python -m benchmarks.presets_page`` makes docs/presets.md of it.
"""

import json
import os
import resource
import signal
import subprocess
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from benchmarks.cases import TooSlowError, UnavailableError
from benchmarks.files import FOLDER
from benchmarks.presets_tables import TABLES
from fewer.io import Dataset

RESULTS = FOLDER.parent / "docs" / "data" / "presets.jsonl"
N_PARTS = 3
Key = tuple[str, int, str]


class Ran(NamedTuple):
    """What a procedure gave: predictions of the rows kept apart, its own claim, and how many columns it needs."""

    predicted: np.ndarray
    claimed: float
    kept: int


@dataclass(frozen=True)
class Task:
    """A part of a table to learn on, one kept apart, and the score that counts."""

    train: Dataset
    test: Dataset
    scoring: str

    @property
    def classify(self) -> bool:
        """Whether the target holds classes."""
        return self.train.classes is not None

    @property
    def class_weight(self) -> str | None:
        """What learners are told where rare classes count as much as frequent ones."""
        return "balanced" if self.scoring == "balanced_accuracy" else None


def task_of(dataset: Dataset, split: int) -> Task:
    """One of the thirds of a table kept apart; every three splits, the rows are shuffled anew."""
    from sklearn.model_selection import KFold, StratifiedKFold

    from fewer.study import make_plan, study_data

    folds: Any = KFold if dataset.classes is None else StratifiedKFold
    thirds = list(
        folds(N_PARTS, shuffle=True, random_state=split // N_PARTS).split(np.zeros(dataset.n_rows), dataset.y)
    )
    train, test = (dataset.take(rows) for rows in thirds[split % N_PARTS])
    return Task(train, test, make_plan(study_data(train), preset="quick").scoring)


def row_scores(y: np.ndarray, predicted: np.ndarray, scoring: str) -> np.ndarray:
    """What each row adds to a score, which is the mean of them: accuracy, balanced accuracy or R2."""
    if scoring == "r2":
        return 1 - (y.astype(float) - predicted.astype(float)) ** 2 / np.var(y.astype(float))
    y, predicted = y.astype(str), predicted.astype(str)
    hits = (y == predicted).astype(float)
    if scoring == "accuracy":
        return hits
    if scoring == "balanced_accuracy":
        _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        return hits * len(y) / (len(counts) * counts[codes])
    raise ValueError(f"There is no row-wise form of the score {scoring!r} here.")


def study(preset: str, task: Task) -> Ran:
    """A study with a preset; the claim is what the report says of the columns that it chose."""
    import fewer
    from fewer.study import apply_model

    done = fewer.run_study(task.train, preset=preset, n_jobs=1)
    applied = apply_model(done.model, task.test)
    predicted = applied[f"predicted_{task.train.target}"].to_numpy()
    return Ran(predicted, done.findings.fewer_help.evidence["with_fewer"], len(done.columns_))


@dataclass(frozen=True)
class Encoded:
    """A task as matrices of numbers and codes of classes, and the table's column that each column was made of."""

    task: Task
    train: Any
    test: Any
    sources: np.ndarray

    @cached_property
    def y(self) -> np.ndarray:
        """The target; classes as 0, 1, ..., which every estimator takes."""
        y = np.asarray(self.task.train.y)
        return np.unique(y, return_inverse=True)[1] if self.task.classify else y

    def ran(self, predicted: np.ndarray, claimed: float, mask: np.ndarray | None = None) -> Ran:
        """The result, with the names of classes and the number of the table's columns behind those that are kept."""
        if self.task.classify:
            predicted = np.asarray(self.task.train.classes)[predicted]
        kept = self.task.train.n_columns if mask is None else len(np.unique(self.sources[mask]))
        return Ran(predicted, float(claimed), kept)


def encoded(task: Task) -> Encoded:
    """Medians for missing numbers, a level of its own for missing words, indicators of words, one scale."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

    if task.train.is_sparse:
        scale = MaxAbsScaler().fit(task.train.X)
        X_train, X_test = scale.transform(task.train.X), scale.transform(task.test.X)
        return Encoded(task, X_train, X_test, np.arange(task.train.n_columns))
    train, test = (
        part.to_polars(dense=True).select(task.train.columns).to_pandas() for part in (task.train, task.test)
    )
    words = [name for name in train.columns if not _is_number(train[name])]
    numbers = [name for name in train.columns if name not in words]
    for frame in (train, test):
        frame[words] = frame[words].astype(object).where(frame[words].notna(), "missing").astype(str)
        frame[numbers] = frame[numbers].astype(float)
    prepare = ColumnTransformer(
        [
            ("n", make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()), numbers),
            ("w", OneHotEncoder(handle_unknown="ignore", sparse_output=False), words),
        ]
    ).fit(train)
    levels = prepare.named_transformers_["w"].categories_ if words else []
    order = [*numbers, *(name for name, known in zip(words, levels, strict=True) for _ in known)]
    place = {name: number for number, name in enumerate(task.train.columns)}
    sources = np.array([place[name] for name in order])
    return Encoded(task, prepare.transform(train), prepare.transform(test), sources)


def _is_number(column: Any) -> bool:
    from pandas.api.types import is_numeric_dtype

    return bool(is_numeric_dtype(column.dtype))


def _folds(task: Task) -> Any:
    from sklearn.model_selection import KFold, StratifiedKFold

    return (StratifiedKFold if task.classify else KFold)(5, shuffle=True, random_state=0)


def _linear(task: Task, **options: Any) -> Any:
    from sklearn.linear_model import LogisticRegression, RidgeCV

    if not task.classify:
        return RidgeCV(np.logspace(-3, 4, 15))
    return LogisticRegression(max_iter=2000, class_weight=task.class_weight, **options)


def _logistic(task: Task) -> Any:
    from sklearn.linear_model import LogisticRegressionCV

    return LogisticRegressionCV(
        Cs=np.logspace(-4, 2, 7),
        cv=5,
        max_iter=500,
        scoring=task.scoring,
        class_weight=task.class_weight,
        l1_ratios=(0,),
        use_legacy_attributes=False,
    )


def _linear_svm(task: Task) -> Any:
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    # Wide tables suit the dual with a kernel; of linear ones, this takes any number of classes pair by pair.
    return GridSearchCV(
        SVC(kernel="linear", class_weight=task.class_weight),
        {"C": np.logspace(-4, 1, 6)},
        cv=_folds(task),
        scoring=task.scoring,
    )


def _forest(task: Task) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    if task.classify:
        return RandomForestClassifier(300, class_weight=task.class_weight, random_state=0)
    return RandomForestRegressor(300, max_features=1 / 3, random_state=0)


def _boosting(task: Task) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    if task.classify:
        return HistGradientBoostingClassifier(class_weight=task.class_weight, random_state=0)
    return HistGradientBoostingRegressor(random_state=0)


def _ridge(task: Task) -> Any:
    from sklearn.linear_model import RidgeClassifierCV, RidgeCV

    alphas = np.logspace(-3, 4, 15)
    return RidgeClassifierCV(alphas, class_weight=task.class_weight) if task.classify else RidgeCV(alphas)


def plain(build: Callable[[Task], Any], task: Task) -> Ran:
    """All columns; the claim is the mean score of five folds. Encoding is outside of them, and knows no target."""
    from sklearn.model_selection import cross_val_score

    data, model = encoded(task), build(task)
    X_train, X_test = data.train, data.test
    if build is _boosting and task.train.is_sparse:
        X_train, X_test = X_train.toarray(), X_test.toarray()
    claimed = np.mean(cross_val_score(model, X_train, data.y, cv=_folds(task), scoring=task.scoring))
    return data.ran(model.fit(X_train, data.y).predict(X_test), claimed)


def rfecv(task: Task) -> Ran:
    """scikit-learn's RFECV with logistic or ridge regression; a tenth of the columns a step where there are many."""
    from sklearn.feature_selection import RFECV

    data = encoded(task)
    step = 1 if data.train.shape[1] <= 100 else 0.1
    search = RFECV(_linear(task), step=step, cv=_folds(task), scoring=task.scoring).fit(data.train, data.y)
    return data.ran(search.predict(data.test), np.max(search.cv_results_["mean_test_score"]), search.support_)


def boruta(task: Task) -> Ran:
    """BorutaPy, then a forest on what it confirms; the claim is a cross-validation of that forest, as is common."""
    from boruta import BorutaPy
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.model_selection import cross_val_score

    data = encoded(task)
    X_train, X_test = (X.toarray() if hasattr(X, "toarray") else X for X in (data.train, data.test))
    kind = partial(RandomForestClassifier, class_weight=task.class_weight) if task.classify else RandomForestRegressor
    search = BorutaPy(kind(max_depth=5, n_jobs=1), n_estimators="auto", random_state=0).fit(X_train, data.y)
    mask = search.support_ if search.support_.any() else search.support_weak_
    mask = mask if mask.any() else search.ranking_ == search.ranking_.min()
    forest = _forest(task)
    claimed = cross_val_score(forest, X_train[:, mask], data.y, cv=_folds(task), scoring=task.scoring)
    predicted = forest.fit(X_train[:, mask], data.y).predict(X_test[:, mask])
    return data.ran(predicted, np.mean(claimed), mask)


def l1(task: Task) -> Ran:
    """A sparse linear model, its penalty chosen by cross-validation; several classes one against the rest."""
    from sklearn.linear_model import LassoCV, LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.multiclass import OneVsRestClassifier

    data = encoded(task)
    if not task.classify:
        model = LassoCV(cv=_folds(task), max_iter=5000).fit(data.train, data.y)
        claimed = 1 - model.mse_path_.mean(axis=1).min() / np.var(data.y)
        return data.ran(model.predict(data.test), claimed, model.coef_ != 0)
    sparse = LogisticRegression(l1_ratio=1, solver="liblinear", class_weight=task.class_weight, random_state=0)
    search = GridSearchCV(
        OneVsRestClassifier(sparse),
        {"estimator__C": np.logspace(-2, 2, 9)},
        cv=_folds(task),
        scoring=task.scoring,
    ).fit(data.train, data.y)
    mask = np.any([np.ravel(each.coef_) != 0 for each in search.best_estimator_.estimators_], axis=0)
    return data.ran(search.predict(data.test), search.best_score_, mask)


def sequential(task: Task) -> Ran:
    """mlxtend's forward search with logistic or ridge regression, the best number of columns up to 20."""
    from mlxtend.feature_selection import SequentialFeatureSelector

    data = encoded(task)
    n_columns = data.train.shape[1]
    if n_columns > 200:
        raise TooSlowError("fits a model for each of more than 200 columns, fold and step")
    model = _linear(task)
    search = SequentialFeatureSelector(model, (1, min(20, n_columns)), cv=_folds(task), scoring=task.scoring)
    mask = np.isin(np.arange(n_columns), search.fit(np.asarray(data.train), data.y).k_feature_idx_)
    predicted = model.fit(data.train[:, mask], data.y).predict(data.test[:, mask])
    return data.ran(predicted, search.k_score_, mask)


STUDIES = ("quick", "standard")
PLAIN = {
    "all columns, logistic": _logistic,
    "all columns, linear SVM": _linear_svm,
    "all columns, forest": _forest,
    "all columns, boosting": _boosting,
    "all columns, ridge": _ridge,
}
FOR_CLASSES = ("all columns, logistic", "all columns, linear SVM")
PEERS = {"RFECV": rfecv, "Boruta + forest": boruta, "L1-CV": l1, "mlxtend forward": sequential}
PROCEDURES: dict[str, Callable[[Task], Ran]] = {
    **{preset: partial(study, preset) for preset in STUDIES},
    **{name: partial(plain, build) for name, build in PLAIN.items()},
    **PEERS,
}


def processor_seconds() -> float:
    """Of this process and of its children that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


class _OutOfTimeError(BaseException):
    """Not an Exception, which many procedures catch."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Ends the block with a TooSlowError after so many processor seconds; 0 for no limit."""
    if not seconds:
        yield
        return
    over = False

    def out_of_time(*_: Any) -> None:
        nonlocal over
        over = True
        raise _OutOfTimeError

    before = signal.signal(signal.SIGPROF, out_of_time)
    # Again each second, because a study takes the first one for the failure of one of its tasks.
    signal.setitimer(signal.ITIMER_PROF, seconds, min(seconds, 1.0))
    try:
        yield
    except BaseException:
        if not over:
            raise
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    if over:
        raise TooSlowError(f"longer than {seconds:,} s")


@cache
def revision() -> str:
    """Hash of the commit that is checked out; empty where git does not say."""
    command = ["git", "rev-parse", "--short=8", "HEAD"]
    try:
        return subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def run_one(key: Key, limit: int) -> dict[str, Any]:
    """The line of one run: a score, or why there is none."""
    table, split, procedure = key
    line: dict[str, Any] = {"table": table, "split": split, "procedure": procedure, "code": revision()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dataset = TABLES[table].dataset()
            task = task_of(dataset, split)
        line |= {"kind": TABLES[table].kind, "rows": dataset.n_rows, "columns": dataset.n_columns}
        line |= {"scoring": task.scoring, "n_train": task.train.n_rows}
        begun = processor_seconds()
        with warnings.catch_warnings(), time_limit(limit):
            warnings.simplefilter("ignore")
            ran = PROCEDURES[procedure](task)
        line["seconds"] = round(processor_seconds() - begun, 2)
        by_row = row_scores(np.asarray(task.test.y), ran.predicted, task.scoring)
        line |= {"status": "ok", "score": float(np.mean(by_row)), "claimed": ran.claimed, "kept": ran.kept}
        # Hits as 0 and 1, which takes half of the space of 0.0 and 1.0.
        line["by_row"] = [int(score) if score in (0, 1) else round(float(score), 4) for score in by_row]
    except (ImportError, UnavailableError) as error:
        line |= {"status": "missing", "trouble": str(error)}
    except TooSlowError as error:
        line |= {"status": "too slow", "trouble": str(error)}
    except Exception as error:
        line |= {"status": "failed", "trouble": "".join(traceback.format_exception_only(error)).strip()[-500:]}
    return line


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The runs in a file; a last line that was cut short is left out."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


def keys_to_run(
    tables: Iterable[str], n_splits: int, procedures: Iterable[str], path: Path, *, quickest_first: bool = False
) -> list[Key]:
    """What is not in the file yet, all procedures of a split together; what was missing or failed is tried again.

    A split starts with the tables on which quick took the least time on split 0, if asked for: a run that is stopped
    has then left out tables for their time, not for their scores.
    """
    done = {
        (line["table"], line["split"], line["procedure"])
        for line in lines_of(path)
        if line["status"] in ("ok", "too slow")
    }
    procedures, tables = list(procedures), list(tables)
    if quickest_first:
        seconds = {
            line["table"]: line["seconds"]
            for line in lines_of(path)
            if (line["split"], line["procedure"], line["status"]) == (0, "quick", "ok")
        }
        tables.sort(key=lambda table: seconds.get(table, np.inf))
    wanted = [(table, split, each) for split in range(n_splits) for table in tables for each in procedures]
    return [key for key in wanted if key not in done and _suits(key)]


def _suits(key: Key) -> bool:
    return not ("regression" in TABLES[key[0]].kind and key[2] in FOR_CLASSES)


def main(
    tables: Annotated[str, typer.Option(help="Names, with commas between; all by default.")] = "",
    splits: Annotated[int, typer.Option(help="Parts kept apart, one after the other; 3 use every row once.")] = N_PARTS,
    procedures: Annotated[
        str, typer.Option(help="Names or 'plain' or 'peers', with semicolons or commas between.")
    ] = "",
    jobs: Annotated[int, typer.Option(help="Processes; each works on one thread.")] = 1,
    limit: Annotated[int, typer.Option(help="Processor seconds after which a run is given up; 0 for none.")] = 1800,
    results: Annotated[Path, typer.Option(help="File of the runs.")] = RESULTS,
    quickest_first: Annotated[
        bool, typer.Option("--quickest-first", help="Start with the tables that quick took the least time for.")
    ] = False,
) -> None:
    """Run what is not there yet, and write a line for each run."""
    wanted = _chosen(tables, TABLES, ",")
    chosen = _chosen(procedures, PROCEDURES, ";" if ";" in procedures else ",")
    keys = keys_to_run(wanted, splits, chosen, results, quickest_first=quickest_first)
    results.parent.mkdir(parents=True, exist_ok=True)
    # Before numpy is loaded in the workers.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    with (
        ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool,
        results.open("a", encoding="utf-8") as file,
    ):
        running = [pool.submit(run_one, key, limit) for key in keys]
        for number, future in enumerate(as_completed(running), 1):
            line = future.result()
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
            file.flush()
            print(f"{number}/{len(keys)} {_in_words(line)}", flush=True)


def _chosen(words: str, known: Iterable[str], separator: str) -> list[str]:
    known = list(known)
    wanted = [word.strip() for word in words.split(separator) if word.strip()]
    groups: dict[str, Iterable[str]] = {"plain": PLAIN, "peers": PEERS}
    wanted = [each for word in wanted for each in groups.get(word, [word])]
    for word in wanted:
        if word not in known:
            raise typer.BadParameter(f"there is no {word!r}; there are {', '.join(known)}.")
    return wanted or known


def _in_words(line: dict[str, Any]) -> str:
    about = f"{line['table']} split {line['split']} {line['procedure']}: "
    if line["status"] != "ok":
        return about + f"{line['status']}, {line['trouble']}"
    figures = f"{line['score']:.3f} (claimed {line['claimed']:.3f}), {line['kept']} of {line['columns']} columns"
    return about + f"{figures}, {line['seconds']:.1f} s"


if __name__ == "__main__":
    typer.run(main)
