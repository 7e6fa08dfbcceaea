"""Item parameters by girth, written to girth.json beside this file.

In an environment of its own: ``pip install girth``, then ``python tests/peers/girth_numbers.py girth.json``, which
writes the numbers of the tables in that file again.

"votes" are eight roll calls of the US Congress of 1984 (UCI, house votes), coded so that all slopes are positive, which
girth takes for granted; "tumours" are six grades of the Wisconsin breast cancer table (UCI), in four levels. girth
integrates over an equidistant grid, and stops when no parameter moves by more than 1e-3 or so.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np


def main():
    """Fit the items, and write their parameters."""
    from girth import pcm_mml, twopl_mml

    found = json.loads(Path(sys.argv[1]).read_text())
    tables = found.get("tables", found)
    options = {"quadrature_n": 81, "quadrature_bounds": (-6, 6), "max_iteration": 500}
    votes = twopl_mml(np.array(tables["votes"]).T, options)
    tumours = pcm_mml(np.array(tables["tumours"]).T, options)
    numbers = {
        "versions": {"girth": version("girth")},
        "tables": tables,
        "votes": {name.lower(): votes[name].tolist() for name in ("Discrimination", "Difficulty")},
        "tumours": {name.lower(): tumours[name].tolist() for name in ("Discrimination", "Difficulty")},
    }
    Path(__file__).with_name("girth.json").write_text(json.dumps(numbers, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
