"""Gene expression from the files of ISLP (An Introduction to Statistical Learning, in Python)."""

from typing import Any

from fewer.datasets._errors import DatasetError
from fewer.datasets._package_files import package_file
from fewer.datasets._record import Record
from fewer.datasets._table import Table

# The files number the tumours; the class sizes (8, 23, 12 and 20 of the 63 training samples) tell which is which.
_KHAN_TUMOURS = {1: "BL", 2: "EWS", 3: "NB", 4: "RMS"}


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


RECORDS = (
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
