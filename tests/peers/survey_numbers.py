"""Classes by StepMix and item parameters by girth of answers of which some are missing, added to ``survey.json``.

``survey.R`` writes the tables: answers of students, and votes of the US Congress of 1984. In an environment of its own:
``pip install stepmix==3.0.0 girth==0.8.0``, then ``python tests/peers/survey_numbers.py``.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("survey.json")
ITEMS = [0, 5, 6, 10, 12, 14, 15]
POSITIVE = [True, False, True, True, False, True, True]


def main():
    """Fit the classes and the items, and write them into the file."""
    from girth import INVALID_RESPONSE, twopl_mml
    from stepmix.stepmix import StepMix

    peers = json.loads(FILE.read_text())
    answers = np.array(peers["tables"]["answers"], dtype=object)
    codes = np.full(answers.shape, np.nan)
    for item, column in enumerate(answers.T):
        for code, answer in enumerate(sorted({each for each in column if each is not None})):
            codes[column == answer, item] = code
    votes = np.array([[{"y": 1.0, "n": 0.0, "?": np.nan}[each] for each in row] for row in peers["tables"]["votes"]])
    options = {"n_init": 30, "max_iter": 20000, "abs_tol": 1e-14, "rel_tol": 0.0, "random_state": 0}
    quiet = {"verbose": 0, "progress_bar": 0}
    students = StepMix(n_components=2, measurement="categorical_nan", **options, **quiet).fit(codes)
    members = StepMix(n_components=3, measurement="binary_nan", **options, **quiet).fit(votes)
    order = np.argsort(-members.get_parameters()["weights"])
    items = np.where(POSITIVE, votes[:, ITEMS], 1 - votes[:, ITEMS])
    tagged = np.where(np.isnan(items), INVALID_RESPONSE, items).astype(int)
    found = twopl_mml(tagged.T, {"quadrature_n": 81, "quadrature_bounds": (-6, 6), "max_iteration": 500})
    peers["stepmix"] = {
        "students": {
            "log_likelihood": float(students.score(codes) * len(codes)),
            "sizes": sorted(students.get_parameters()["weights"].tolist(), reverse=True),
        },
        "votes": {
            "log_likelihood": float(members.score(votes) * len(votes)),
            "sizes": members.get_parameters()["weights"][order].tolist(),
            "probabilities": members.get_parameters()["measurement"]["pis"][order].tolist(),
        },
    }
    peers["girth"] = {name.lower(): found[name].tolist() for name in ("Discrimination", "Difficulty")}
    peers["versions"] |= {"stepmix": version("stepmix"), "girth": version("girth")}
    FILE.write_text(json.dumps(peers, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
