"""Tables with one pitfall each, or none, for tests of whether a study says the right thing about them.

Columns are standard normal but for what is planted. Two classes are drawn with ``P(y = 1 | x) = 1 / (1 + exp(-b'x))``,
where b is not zero for the informative columns only; or these have other means in each class. The rest is the pitfall.
"""

from typing import TYPE_CHECKING

import numpy as np

from fewer.datasets._problem import Problem

if TYPE_CHECKING:
    from numpy.random import RandomState


def make_planted(
    n_samples: int = 200,
    n_features: int = 200,
    n_informative: int = 5,
    effect: float = 1.5,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Two classes, a few informative columns among many of noise, and no pitfall.

    Parameters
    ----------
    n_samples : int, default=200
        Rows.
    n_features : int, default=200
        Columns.
    n_informative : int, default=5
        How many of them have an effect; their places are drawn.
    effect : float, default=1.5
        Change of the log odds with one standard deviation of an informative column.
    random_state : int, RandomState instance or None, default=None
        Draws the table.

    Returns
    -------
    problem : Problem
        Classes 0 and 1. ``truth`` holds ``support``, the informative columns, and ``probability``, that of class 1 for
        each row.

    Examples
    --------
    >>> from fewer.datasets import make_planted
    >>> X, y, truth = make_planted(random_state=0)
    >>> X.shape, int(truth["support"].sum())
    ((200, 200), 5)
    """
    rng = _checked(random_state, n_samples, n_features, n_informative)
    X = rng.normal(size=(n_samples, n_features))
    support = _some(rng, n_features, n_informative)
    probability = _probability(effect * X[:, support].sum(axis=1))
    y = (rng.uniform(size=n_samples) < probability).astype(int)
    return Problem(X, y, {"support": support, "probability": probability})


def make_rows_per_patient(
    n_patients: int = 60,
    rows_per_patient: int = 6,
    n_features: int = 20,
    n_informative: int = 2,
    effect: float = 0.5,
    noise: float = 0.5,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Several rows of each patient, which resemble each other and have the same class.

    Row i of patient g is ``x = m_g + noise e_i`` with a patient's own mean ``m_g``. Random folds test on patients that
    were learnt by heart; folds that keep patients together do not.

    Parameters
    ----------
    n_patients : int, default=60
        Patients, half of them of each class.
    rows_per_patient : int, default=6
        Rows of each.
    n_features : int, default=20
        Columns, beside the last one, which names the patient.
    n_informative : int, default=2
        How many of them have means that differ between the classes; they come first.
    effect : float, default=0.5
        Difference of these means, in standard deviations between patients.
    noise : float, default=0.5
        Standard deviation within a patient; that between patients is 1.
    random_state : int, RandomState instance or None, default=None
        Draws the table.

    Returns
    -------
    problem : Problem
        Classes 0 and 1, rows in random order, and the column ``patient``, numbered from 1. ``truth`` holds ``support``,
        ``groups`` (the patient of each row) and ``accuracy``, the best for new patients when all rows of a patient
        count as one.

    Examples
    --------
    >>> from fewer.datasets import make_rows_per_patient
    >>> problem = make_rows_per_patient(random_state=0)
    >>> problem.to_dataset().columns[-2:], round(problem.truth["accuracy"], 2)
    (('x20', 'patient'), 0.64)
    """
    from scipy.special import ndtr

    n_samples = n_patients * rows_per_patient
    rng = _checked(random_state, n_samples, n_features, n_informative)
    support = np.arange(n_features) < n_informative
    sick = rng.permutation(np.arange(n_patients) % 2)
    means = rng.normal(size=(n_patients, n_features)) + effect * sick[:, None] * support
    patient = rng.permutation(np.repeat(np.arange(n_patients), rows_per_patient))
    X = means[patient] + noise * rng.normal(size=(n_samples, n_features))
    spread = np.sqrt(1 + noise**2 / max(rows_per_patient, 1))
    truth = {
        "support": np.append(support, False),
        "groups": patient + 1,
        "accuracy": float(ndtr(effect * np.sqrt(n_informative) / 2 / spread)),
    }
    names = (*(f"x{number}" for number in range(1, n_features + 1)), "patient")
    return Problem(np.column_stack([X, patient + 1]), sick[patient], truth, names)


def make_rare_class(
    n_samples: int = 1000,
    n_features: int = 50,
    n_informative: int = 5,
    share: float = 0.03,
    effect: float = 1.0,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Two classes, one of them rare: always answering the other is nearly always right.

    Parameters
    ----------
    n_samples : int, default=1000
        Rows.
    n_features : int, default=50
        Columns.
    n_informative : int, default=5
        How many of them have means that differ between the classes; their places are drawn.
    share : float, default=0.03
        Share of the rows that have class 1, at least two of them.
    effect : float, default=1.0
        Difference of these means, in standard deviations.
    random_state : int, RandomState instance or None, default=None
        Draws the table.

    Returns
    -------
    problem : Problem
        Classes 0 and 1. ``truth`` holds ``support`` and ``balanced_accuracy``, the best there is.

    Examples
    --------
    >>> from fewer.datasets import make_rare_class
    >>> X, y, truth = make_rare_class(random_state=0)
    >>> int(y.sum()), round(truth["balanced_accuracy"], 2)
    (30, 0.87)
    """
    from scipy.special import ndtr

    rng = _checked(random_state, n_samples, n_features, n_informative)
    if not 0 < share < 1:
        raise ValueError(f"share={share} must be more than 0 and less than 1.")
    y = np.zeros(n_samples, dtype=int)
    y[rng.permutation(n_samples)[: max(2, round(share * n_samples))]] = 1
    support = _some(rng, n_features, n_informative)
    X = rng.normal(size=(n_samples, n_features)) + effect * y[:, None] * support
    return Problem(X, y, {"support": support, "balanced_accuracy": float(ndtr(effect * np.sqrt(n_informative) / 2))})


def make_leak(
    n_samples: int = 300,
    n_features: int = 50,
    n_informative: int = 3,
    effect: float = 1.0,
    noise: float = 0.05,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Two classes, and one column that was written down after the outcome: the class with a little noise.

    Parameters
    ----------
    n_samples : int, default=300
        Rows.
    n_features : int, default=50
        Columns, the leaking one included.
    n_informative : int, default=3
        How many of the others have an effect.
    effect : float, default=1.0
        Change of the log odds with one standard deviation of an informative column.
    noise : float, default=0.05
        Standard deviation of what is added to the class in the leaking column.
    random_state : int, RandomState instance or None, default=None
        Draws the table.

    Returns
    -------
    problem : Problem
        Classes 0 and 1. ``truth`` holds ``support``, the informative columns without the leaking one, and ``leak``, the
        position of that one.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.datasets import make_leak
    >>> X, y, truth = make_leak(random_state=0)
    >>> bool(np.all((X[:, truth["leak"]] > 0.5) == y))
    True
    """
    planted = make_planted(n_samples, n_features - 1, n_informative, effect, rng := _rng(random_state))
    assert planted.y is not None
    leak = int(rng.randint(n_features))
    X = np.insert(planted.X, leak, planted.y + noise * rng.normal(size=n_samples), axis=1)
    return Problem(X, planted.y, {"support": np.insert(planted.truth["support"], leak, False), "leak": leak})


def make_drift(
    n_samples: int = 400,
    n_features: int = 20,
    n_informative: int = 3,
    drift: float = 2.0,
    noise: float = 0.5,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Rows in the order of time, whose columns and target wander: later rows are unlike earlier ones.

    ``x_t = w_t + e_t`` with random walks ``w`` of standard deviation ``drift`` over the whole time, and ``y_t`` is the
    sum of the informative columns, a walk of its own, and noise. Random folds predict the walk of a day from the days
    before and after it.

    Parameters
    ----------
    n_samples : int, default=400
        Rows.
    n_features : int, default=20
        Columns, beside the last one, which numbers the days.
    n_informative : int, default=3
        How many of them have an effect; they come first.
    drift : float, default=2.0
        Standard deviation of each walk at its end.
    noise : float, default=0.5
        Standard deviation of what no column tells of the target.
    random_state : int, RandomState instance or None, default=None
        Draws the table.

    Returns
    -------
    problem : Problem
        A target of numbers, and the column ``day``. ``truth`` holds ``support`` and ``walk``, the part of the target
        that drifts whatever the columns are.

    Examples
    --------
    >>> from fewer.datasets import make_drift
    >>> problem = make_drift(random_state=0)
    >>> problem.to_dataset().columns[-1], problem.truth["walk"].shape
    ('day', (400,))
    """
    rng = _checked(random_state, n_samples, n_features, n_informative)
    walks = np.cumsum(rng.normal(size=(n_samples, n_features + 1)), axis=0) * drift / np.sqrt(n_samples)
    X = walks[:, :-1] + 0.5 * rng.normal(size=(n_samples, n_features))
    support = np.arange(n_features) < n_informative
    walk = np.sqrt(n_informative) * walks[:, -1]
    y = X[:, support].sum(axis=1) + walk + noise * rng.normal(size=n_samples)
    names = (*(f"x{number}" for number in range(1, n_features + 1)), "day")
    days = np.arange(1.0, n_samples + 1)
    return Problem(np.column_stack([X, days]), y, {"support": np.append(support, False), "walk": walk}, names)


def make_counts(
    n_samples: int = 400,
    n_features: int = 30,
    n_informative: int = 3,
    mean: float = 1.5,
    effect: float = 0.3,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """A target that counts: ``y ~ Poisson(mu)``, where the columns raise and lower log mu.

    Parameters
    ----------
    n_samples : int, default=400
        Rows.
    n_features : int, default=30
        Columns.
    n_informative : int, default=3
        How many of them have an effect; their places are drawn.
    mean : float, default=1.5
        Mean of the counts.
    effect : float, default=0.3
        Change of log mu with one standard deviation of an informative column.
    random_state : int, RandomState instance or None, default=None
        Draws the table.

    Returns
    -------
    problem : Problem
        Whole numbers from 0 on. ``truth`` holds ``support`` and ``expected``, mu for each row.

    Examples
    --------
    >>> from fewer.datasets import make_counts
    >>> problem = make_counts(random_state=0)
    >>> dataset = problem.to_dataset()
    >>> dataset.task, dataset.is_counts
    ('regression', True)
    """
    rng = _checked(random_state, n_samples, n_features, n_informative)
    X = rng.normal(size=(n_samples, n_features))
    support = _some(rng, n_features, n_informative)
    expected = mean * np.exp(effect * X[:, support].sum(axis=1) - n_informative * effect**2 / 2)
    return Problem(X, rng.poisson(expected).astype(float), {"support": support, "expected": expected})


def _rng(random_state: "int | RandomState | None") -> "RandomState":
    from sklearn.utils import check_random_state

    return check_random_state(random_state)


def _checked(
    random_state: "int | RandomState | None", n_samples: int, n_features: int, n_informative: int
) -> "RandomState":
    if n_samples < 2 or not 0 <= n_informative <= n_features or n_features < 1:
        raise ValueError(
            f"There must be two rows or more (not {n_samples}), and from 0 to n_features={n_features} informative "
            f"columns (not {n_informative})."
        )
    return _rng(random_state)


def _some(rng: "RandomState", n_features: int, n_informative: int) -> np.ndarray:
    support = np.zeros(n_features, dtype=bool)
    support[rng.permutation(n_features)[:n_informative]] = True
    return support


def _probability(log_odds: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-log_odds))
