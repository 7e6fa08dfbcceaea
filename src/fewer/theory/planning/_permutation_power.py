"""How likely a permutation test is to find what is there: two settings in closed form, and batteries of tests.

Labels permuted, two balanced classes, a classifier that errs with probability t on new rows: its number of errors is
Binomial(n, t), and about Binomial(n, 1/2) after the permutation, so that with normal approximations and significance
level a

    power = Phi( ((1 - 2t) sqrt(n) + Phi^-1(a)) / (2 sqrt(t (1 - t))) ).

Features permuted within classes, pairs of standard normal columns with correlation +rho in one class and -rho in
the other: the best rule is sign(x1 x2), right with probability 1/2 + asin(rho) / pi, and a coin once the correlation is
destroyed, so that t above is 1/2 - asin(rho) / pi.

A battery runs permutation tests of several classifiers on several data sets. The tests with one null hypothesis make a
family, and Benjamini and Hochberg's rule controls the false discovery rate in each (Ojala and Garriga 2010, Section 5).
"""

import inspect
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer._figures import Result, plain
from fewer.catalogue import method
from fewer.evaluate.permutation import (
    Discoveries,
    Null,
    PermutationResult,
    benjamini_hochberg,
    permutation_test,
    seed_sequence,
)

if TYPE_CHECKING:
    from fewer.engine import Engine


def label_permutation_power(n: int, t: float, significance_level: float = 0.05) -> float:
    """Power of the test with permuted labels for a classifier of known error.

    Parameters
    ----------
    n : int
        Rows, in two classes of equal size.
    t : float
        Error of the classifier on new rows, between 0 and 1.
    significance_level : float, default=0.05
        Significance level of the test.

    Returns
    -------
    power : float
        Probability that the test rejects.

    Examples
    --------
    >>> from fewer.theory import label_permutation_power
    >>> round(label_permutation_power(200, 0.4, significance_level=0.01), 4)
    0.6958
    """
    from scipy.special import ndtr, ndtri

    if n < 1:
        raise ValueError(f"n must be at least 1, not {n}.")
    if not 0 <= t <= 1:
        raise ValueError(f"t is an error rate between 0 and 1, not {t}.")
    if not 0 < significance_level < 1:
        raise ValueError(f"significance_level must lie between 0 and 1, not {significance_level}.")
    gain = (1 - 2 * t) * np.sqrt(n) + ndtri(significance_level)
    spread = 2 * np.sqrt(t * (1 - t))
    return float(ndtr(gain / spread)) if spread > 0 else float(gain > 0)


def feature_permutation_power(n: int, rho: float, significance_level: float = 0.05) -> float:
    """Power of the test with features permuted within classes for a correlation that changes sign with the class.

    Parameters
    ----------
    n : int
        Rows, in two classes of equal size.
    rho : float
        Correlation of the two columns in one class; in the other it is ``-rho``.
    significance_level : float, default=0.05
        Significance level of the test.

    Returns
    -------
    power : float
        Probability that the test rejects for the best rule, ``sign(x1 x2)``.

    Examples
    --------
    >>> from fewer.theory import feature_permutation_power
    >>> round(feature_permutation_power(200, 0.4, significance_level=0.01), 4)
    0.9234
    """
    if not -1 <= rho <= 1:
        raise ValueError(f"rho is a correlation between -1 and 1, not {rho}.")
    return label_permutation_power(n, 0.5 - float(np.arcsin(abs(rho))) / np.pi, significance_level)


_SHORT = {"labels": "labels", "features_within_class": "features", "columns": "columns"}


@dataclass(frozen=True, eq=False, repr=False)
class BatteryResult(Result):
    """Outcome of many permutation tests; made by :meth:`PermutationBattery.run`.

    Attributes
    ----------
    tests : dict of (dataset, estimator, null) to PermutationResult
        Every single test.
    families : dict of null to Discoveries
        Which tests of each family are rejected, as a table of data sets by estimators.
    datasets, estimators, nulls : tuple of str
        Names, in the order of the tables.
    """

    tests: dict[tuple[str, str, Null], PermutationResult]
    families: dict[Null, Discoveries]
    datasets: tuple[str, ...]
    estimators: tuple[str, ...]
    nulls: tuple[Null, ...]

    def verdict(self, dataset: str, estimator: str) -> str:
        """How to read the tests of one classifier on one data set, after the control of false discoveries.

        Parameters
        ----------
        dataset, estimator : str
            Their names.

        Returns
        -------
        verdict : str
            "no class signal", "exploits interactions" or "no evidence of interactions: consider a simpler model".
        """
        at = self.datasets.index(dataset), self.estimators.index(estimator)
        if not {"labels", "features_within_class"} <= set(self.nulls):
            raise ValueError('a verdict needs the nulls "labels" and "features_within_class".')
        if not self.families["labels"].rejected[at]:
            return "no class signal"
        if self.families["features_within_class"].rejected[at]:
            return "exploits interactions"
        return "no evidence of interactions: consider a simpler model"

    def records(self) -> list[dict[str, Any]]:
        """A row for each data set and estimator: error, and for each null the mean, standard deviation, p, decision.

        Returns
        -------
        records : list of dict
            Ready for a data frame.
        """
        rows = []
        for d, dataset in enumerate(self.datasets):
            for e, estimator in enumerate(self.estimators):
                row: dict[str, Any] = {"dataset": dataset, "estimator": estimator}
                for null in self.nulls:
                    test = self.tests[dataset, estimator, null]
                    short = _SHORT[null]
                    row.setdefault("observed", float(test.observed.mean()))
                    row[f"{short}_mean"] = test.null_mean
                    row[f"{short}_std"] = test.null_std
                    row[f"{short}_p"] = test.p_value
                    row[f"{short}_rejected"] = bool(self.families[null].rejected[d, e])
                if {"labels", "features_within_class"} <= set(self.nulls):
                    row["verdict"] = self.verdict(dataset, estimator)
                rows.append(row)
        return rows

    def to_frame(self) -> Any:
        """The records as a polars frame.

        Returns
        -------
        frame : polars.DataFrame
            One row for each data set and estimator.
        """
        import polars as pl

        return pl.DataFrame(self.records())

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON.

        Returns
        -------
        data : dict
            The records.
        """
        return {"records": plain(self.records())}

    def __repr__(self) -> str:
        wide = max(len(name) for name in ("data set", *self.datasets))
        broad = max(len(name) for name in ("classifier", *self.estimators))
        columns = f"{'data set':<{wide}}  {'classifier':<{broad}}  {'error':>6}"
        for null in self.nulls:
            columns += f"  {_SHORT[null] + ': mean (sd)':>20} {'p':>7} "
        count = len(self.datasets) * len(self.estimators)
        lines = [f"BatteryResult: {count} tests of each null hypothesis", columns.rstrip()]
        for row in self.records():
            line = f"{row['dataset']:<{wide}}  {row['estimator']:<{broad}}  {row['observed']:>6.3f}"
            for null in self.nulls:
                short = _SHORT[null]
                spread = f"{row[f'{short}_mean']:.3f} ({row[f'{short}_std']:.3f})"
                line += f"  {spread:>20} {row[f'{short}_p']:>7.4f}{'*' if row[f'{short}_rejected'] else ' '}"
            lines.append(line.rstrip())
        rate = self.families[self.nulls[0]].false_discovery_rate
        return "\n".join([*lines, f"* rejected, false discovery rate {rate:g} in each column of p-values"])


@method(
    tasks=["evaluation"],
    when="Several classifiers on several data sets: which find structure, and which use interactions, without being "
    "fooled by the number of tests?",
    cost="one permutation test for each data set, classifier and null hypothesis",
    paper="permutation-tests",
    handles=["missing", "sparse", "categorical"],
)
class PermutationBattery:
    """Permutation tests of several classifiers on several data sets, with the false discovery rate controlled.

    Parameters
    ----------
    estimators : dict of str to estimator, or list of estimators
        The classifiers; a list takes the names of their classes.
    datasets : dict of str to (X, y), or list of (X, y)
        The data sets; those of a list are called ``data 1`` and so on.
    nulls : sequence of str, default=("labels", "features_within_class")
        The null hypotheses, each of which makes a family of tests.
    significance_level : float, default=0.05
        False discovery rate in each family.
    random_state : int, Generator, RandomState or None, default=None
        Draws everything.
    **options : object
        All else as in :func:`permutation_test`.

    References
    ----------
    .. [1] M. Ojala and G. C. Garriga. Permutation Tests for Studying Classifier Performance. Journal of Machine
       Learning Research 11:1833-1863, 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fewer.theory import PermutationBattery
    >>> battery = PermutationBattery(
    ...     [GaussianNB()], {"iris": load_iris(return_X_y=True)}, cv=3, n_permutations=99, n_repeats=1, random_state=0
    ... )
    >>> found = battery.run()
    >>> found.verdict("iris", "GaussianNB")
    'no evidence of interactions: consider a simpler model'
    """

    def __init__(
        self,
        estimators: "Mapping[str, Any] | Iterable[Any]",
        datasets: "Mapping[str, tuple[Any, Any]] | Iterable[tuple[Any, Any]]",
        *,
        nulls: Sequence[Null] = ("labels", "features_within_class"),
        significance_level: float = 0.05,
        random_state: Any = None,
        **options: Any,
    ) -> None:
        known = inspect.signature(permutation_test).parameters
        for name in options:
            if name not in known or name in ("estimator", "X", "y", "null", "engine", "n_jobs"):
                raise TypeError(f"{name!r} is no option of permutation_test that a battery could hand on.")
        self.estimators = _named(estimators, lambda number, value: type(value).__name__)
        self.datasets = _named(datasets, lambda number, value: f"data {number}")
        for name, data in self.datasets.items():
            if not isinstance(data, tuple | list) or len(data) != 2:
                raise TypeError(f"{name} is a {type(data).__name__}; every data set must be a pair (X, y).")
        self.nulls = tuple(nulls)
        self.significance_level = significance_level
        self.random_state = random_state
        self.options = options

    def run(self, engine: "Engine | None" = None, n_jobs: int | None = None) -> BatteryResult:
        """Run all tests.

        Parameters
        ----------
        engine : Engine or None, default=None
            Where the randomised data sets are computed; by default in this process.
        n_jobs : int or None, default=None
            In place of an engine: number of processes on this machine, -1 for all cores.

        Returns
        -------
        result : BatteryResult
            Table of errors, p-values and decisions.
        """
        self._warn_if_too_coarse()
        cells = [(d, e, null) for d in self.datasets for e in self.estimators for null in self.nulls]
        # The same seed for a data set's tests: classifiers meet the same randomised versions of it.
        roots = dict(zip(self.datasets, seed_sequence(self.random_state).spawn(len(self.datasets)), strict=True))
        tests = {}
        for dataset, estimator, null in cells:
            X, y = self.datasets[dataset]
            tests[dataset, estimator, null] = permutation_test(
                self.estimators[estimator],
                X,
                y,
                null=null,
                significance_level=self.significance_level,
                engine=engine,
                n_jobs=n_jobs,
                random_state=np.random.default_rng(roots[dataset]),
                **self.options,
            )
        families = {
            null: benjamini_hochberg(
                [[tests[d, e, null].p_value for e in self.estimators] for d in self.datasets], self.significance_level
            )
            for null in self.nulls
        }
        return BatteryResult(tests, families, tuple(self.datasets), tuple(self.estimators), self.nulls)

    def _warn_if_too_coarse(self) -> None:
        n_permutations = self.options.get("n_permutations", 1000)
        m = len(self.estimators) * len(self.datasets)
        if 1 / (n_permutations + 1) > self.significance_level / m:
            warnings.warn(
                f"With {n_permutations} permutations p is at least {1 / (n_permutations + 1):.2g}. A single discovery "
                f"among {m} tests needs p below {self.significance_level / m:.2g}: set n_permutations >= "
                f"{int(np.ceil(m / self.significance_level)) - 1}.",
                UserWarning,
                stacklevel=3,
            )


def _named(given: Any, name_of: Any) -> dict[str, Any]:
    if isinstance(given, Mapping):
        return dict(given)
    named: dict[str, Any] = {}
    for number, value in enumerate(given, start=1):
        name = name_of(number, value)
        if name in named:
            raise ValueError(f"two estimators are both called {name!r}; give a dict with names of your own.")
        named[name] = value
    return named
