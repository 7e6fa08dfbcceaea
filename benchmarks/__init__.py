"""Side by side with peers, in one run, as ratios.

``python -m benchmarks`` runs every ``bench_*.py`` in this folder; ``python -m benchmarks read_table --quick`` runs one
of them with few repeats.

A bench file is one question: its docstring says which, and ``CASES`` lists the data sets to ask it on. Each case
prepares a contest: our contenders, the peers, and the objective on which all of them must agree before any ratio is
shown. ::

    \"\"\"Leading direction of a table.\"\"\"

    from functools import partial
    from pathlib import Path

    from benchmarks import Case, Contest, real_file

    def leading_direction(name: str, folder: Path) -> Contest:
        X = read_table(real_file(f"{name}.mat")).X          # says so when FEWER_DATA does not point to the data

        def fewer() -> float:
            return LeadingDirection().fit(X).singular_value_

        def scikit_learn() -> float:
            from sklearn.decomposition import PCA           # imported inside: a missing peer is reported, not fatal

            return PCA(1).fit(X).singular_values_[0]

        return Contest(ours={"fewer": fewer}, peers={"scikit-learn": scikit_learn}, objective=float, tolerance=1e-6)

    CASES = [Case(name, partial(leading_direction, name)) for name in ("ALLAML", "Isolet")]

``folder`` is an empty folder for files that the contest needs; it is removed afterwards.

Peers that the extra ``bench`` does not install may stand in an environment of their own: the environment variable
``FEWER_PEERS`` names it. Its packages are imported where ours has none of that name, so that versions which ours has
stay those of ours. ::

    python -m venv peers && peers/bin/pip install gensim lda tomotopy
    FEWER_PEERS=peers python -m benchmarks counts
"""

import os
import sys
from pathlib import Path

# Before numpy is imported: threads that wait for one another count as processor time.
if "--cpu" in sys.argv:
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# Behind our own packages, which therefore come first.
if "FEWER_PEERS" in os.environ:
    sys.path += [str(folder) for folder in Path(os.environ["FEWER_PEERS"]).expanduser().glob("[Ll]ib/**/site-packages")]

from benchmarks.cases import Case, Contest, UnavailableError, real_file

__all__ = ["Case", "Contest", "UnavailableError", "real_file"]
