"""What plan, journal and engine cost: a study without tests beside a plain loop that does the same fits."""

import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import Case, Contest, UnavailableError


def evaluations(name: str, folder: Path) -> Contest:
    """Scores of all candidates on all folds; they must be equal, and the study's time at most 5% longer."""
    from fewer.engine import Engine
    from fewer.study import Journal, make_plan, run_plan, study_data
    from fewer.study.work._work import Bench, FoldWork, prepared_fold, scored, seed_of

    data = study_data(table(name))
    plan = make_plan(data, preset="quick", n_permutations=0, racing=0.0)
    work = [
        FoldWork(candidate, repeat, fold)
        for repeat in range(plan.n_repeats)
        for fold in range(plan.n_folds)
        for candidate in range(len(plan.candidates))
    ]

    def study() -> np.ndarray:
        with (
            tempfile.TemporaryDirectory(dir=folder) as place,
            Journal.create(Path(place) / "journal.sqlite", plan) as journal,
            Engine.local(1) as engine,
        ):
            run_plan(plan, data, journal, engine=engine)
            return np.concatenate([journal[piece.key]["scores"] for piece in work])

    def plain_loop(*, prepare_once: bool) -> np.ndarray:
        from threadpoolctl import threadpool_limits

        from fewer.study.answers._scores import read_scores
        from fewer.study.model._final import do_final
        from fewer.study.questions.careful import do_cautions

        with threadpool_limits(1):
            bench = Bench(plan, data)
            found = {}
            for piece in work:
                candidate, fold = plan.candidates[piece.candidate], bench.repeats[piece.repeat][piece.fold]
                rows = (
                    bench.prepared(piece.repeat, piece.fold)
                    if prepare_once
                    else prepared_fold(data.dataset, fold, plan)
                )
                seed = seed_of(plan, piece.key)
                reducer = candidate.reducer and candidate.reducer.reducer(seed=seed)
                found[piece.key] = scored(candidate, reducer, rows, bench, fold, seed)
            scores = read_scores(found, plan, 0.25)
            do_final(bench, scores)
            do_cautions(bench, scores)
        return np.concatenate([found[piece.key]["scores"] for piece in work])

    peers = {
        "plain loop": partial(plain_loop, prepare_once=False),
        "plain loop that prepares each fold once": partial(plain_loop, prepare_once=True),
    }
    return Contest(ours={"study": study}, peers=peers, objective=np.asarray, tolerance=0.0)


def table(name: str):
    """A data set by name."""
    from fewer.datasets import PackageMissingError, load

    try:
        return load(name)
    except PackageMissingError as missing:
        raise UnavailableError(str(missing)) from None


CASES = [
    Case("khan, 83 x 2,308, quick", partial(evaluations, "khan")),
    Case("breast_cancer, 569 x 30, quick", partial(evaluations, "breast_cancer")),
]
