"""The options of a study, each declared once: for the command line, ``run_study``, ``make_plan``, ``Plan`` and docs.

An option has a name in Python and one on the command line, a default, and one sentence that says what it does.
"""

import csv
import functools
import inspect
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

Returned = TypeVar("Returned")
# What the table is; how a file is read; what the study does with it; how its report looks.
Group = Literal["table", "reading", "plan", "report"]
THEMES = ("screen", "print")


@dataclass(frozen=True)
class Option:
    """One option.

    Attributes
    ----------
    name : str
        The parameter in Python.
    kind : str
        Its type, as docstrings have it.
    default : object
        Its default in Python.
    help : str
        What it does, in a sentence or two.
    group : {"table", "reading", "plan", "report"}
        Whether it is about the table, about how a file is read, about the plan, or about the report.
    flag : str
        The option on the command line, where it is not ``--name``.
    metavar : str or None
        What stands for its value in the help of the command line.
    typed : type
        What is typed there.
    value : callable
        From what is typed to the value in Python.
    by_default : str
        What is done by default, where the default does not show it.
    """

    name: str
    kind: str
    default: Any
    help: str
    group: Group
    flag: str = ""
    metavar: str | None = None
    typed: Any = str | None
    value: Callable[[Any], Any] = lambda typed: typed
    by_default: str = ""

    @property
    def option(self) -> str:
        """As it is typed on the command line, without a value."""
        return self.flag or f"--{self.name.replace('_', '-')}"

    def written(self, *value: Any) -> str:
        """As it is typed on the command line, with this value if one is given.

        Examples
        --------
        >>> named("drop").written(["height", "age, years"]), named("header").written(False)
        ("--drop 'height,age, years'", '--no-header')
        """
        if not value or self.option.startswith("--no-"):
            return self.option
        words = value[0] if isinstance(value[0], (list, tuple)) else [value[0]]
        return f"{self.option} {shlex.quote(','.join(map(str, words)))}"


def names_in(lists: list[str] | None) -> list[str]:
    """Names in options such as ``a,b``, as a line of CSV: quotes protect a comma.

    Examples
    --------
    >>> names_in(["a, b", '"c,d"'])
    ['a', 'b', 'c,d']
    """
    fields_of_lines = [name for line in csv.reader(lists or [], skipinitialspace=True) for name in line]
    return [name.strip() for name in fields_of_lines if name.strip()]


def _numbers(lists: list[str] | None) -> list[int] | None:
    words = names_in(lists)
    try:
        return [int(word) for word in words] or None
    except ValueError:
        raise OptionError(f"--sizes must be whole numbers, such as 5,10,50, not {','.join(words)}.") from None


def _number_or_word(text: str) -> Any:
    for number in (int, float):
        try:
            return number(text)
        except (TypeError, ValueError):
            continue
    return text


class OptionError(ValueError):
    """What was typed is not what an option takes."""


_NAMES: dict[str, Any] = {"metavar": "A,B", "typed": list[str] | None, "value": lambda typed: names_in(typed) or None}
_BY_PRESET: dict[str, Any] = {"by_default": "by preset"}
_COUNT: dict[str, Any] = {"metavar": "N", "typed": int | None, "by_default": "by preset"}

OPTIONS: tuple[Option, ...] = (
    Option(
        "groups",
        "str",
        None,
        "Column with the group of each row (a patient, a site); all rows of a group are in the same fold.",
        "table",
        metavar="COL",
    ),
    Option(
        "time",
        "str",
        None,
        "Column with the time of each row; rows are predicted from earlier rows only.",
        "table",
        metavar="COL",
    ),
    Option(
        "weights",
        "str",
        None,
        "Column with the weight of each row, in fits and scores; it is not a feature.",
        "table",
        metavar="COL",
    ),
    Option(
        "preset",
        '{"quick", "standard", "thorough"}',
        "standard",
        "quick: 5 folds, drawn twice, 99 permutations; standard: drawn 10 times, 199 permutations; thorough: 10 folds, "
        "drawn 10 times, 999 permutations, more methods and learners. Large tables have fewer repeats.",
        "plan",
        metavar="NAME",
        typed=str,
    ),
    Option(
        "methods",
        "iterable of str",
        None,
        "Selectors, extractors or scores to compare; listed by: fewer methods --role selector (or extractor, score).",
        "plan",
        **_NAMES,
        **_BY_PRESET,
    ),
    Option(
        "learners",
        "iterable of str or estimator",
        None,
        "Models that predict from the columns: ridge, logistic, lasso, svm, forest, boosting, ... (listed by: fewer "
        "methods --role learner), import paths (xgboost:XGBClassifier), or, in Python, estimators.",
        "plan",
        **_NAMES,
        **_BY_PRESET,
    ),
    Option(
        "sizes",
        "iterable of int",
        None,
        "Numbers of columns to try.",
        "plan",
        metavar="N,M",
        by_default="from 1 to all, each 40% larger; larger steps for wide tables",
        typed=list[str] | None,
        value=_numbers,
    ),
    Option(
        "always",
        "iterable of str",
        (),
        "Columns that are in every subset; sizes count the others, and the baseline is ridge with these columns alone.",
        "plan",
        **_NAMES,
    ),
    Option(
        "column_groups",
        "str, Path or mapping of str to list of str",
        None,
        "File with groups of columns that enter and leave together: JSON or TOML, a list of columns for each group, or "
        "CSV with two columns, column and group. Sizes count groups. By default, only the encoded categories of a "
        "column form a group.",
        "plan",
        metavar="FILE",
    ),
    Option(
        "scoring",
        "str or iterable of str",
        None,
        "Scorers of scikit-learn, such as balanced_accuracy, roc_auc or neg_log_loss, or proper scoring rules "
        "(neg_boosting_loss, neg_minimal_loss, neg_asymmetric_1_loss, neg_asymmetric_2_loss). All choices are made by "
        "the first; the others are reported as well.",
        "plan",
        by_default="accuracy, or balanced_accuracy if a class is rare; r2 for numbers",
        **_NAMES,
    ),
    Option("n_folds", "int", None, "Number of cross-validation folds.", "plan", "--folds", **_COUNT),
    Option("n_repeats", "int", None, "How many times folds are drawn.", "plan", "--repeats", **_COUNT),
    Option(
        "max_repeats",
        "int",
        None,
        "How many times folds are drawn at most: more often than that only where the outcome may depend on their draw.",
        "plan",
        metavar="N",
        by_default="by preset for tables of at most 100,000 cells; no more if the repeats or a time limit are given",
        typed=int | None,
    ),
    Option("n_permutations", "int", None, "Permutations per test; 0 for no tests.", "plan", "--permutations", **_COUNT),
    Option(
        "confidence",
        "float",
        0.95,
        "Confidence level of intervals; one minus it is the significance level of tests.",
        "plan",
        metavar="LEVEL",
        typed=float,
    ),
    Option(
        "margin",
        "float",
        0.1,
        "Used to word the conclusion (a non-inferiority margin): fewer columns are 'not worse' if they lose at most "
        "this share of the gain of all columns over the baseline.",
        "plan",
        metavar="SHARE",
        typed=float,
    ),
    Option(
        "parsimony",
        'float or "one_se"',
        0.1,
        "Used to choose the number of columns: share of the best gain over the baseline to give up for fewer columns, "
        "but no more than twice this share of the remaining error, and than a fifth of it as points of the score. "
        "0 takes the best score; one_se takes the best candidate, with its fewest columns within one standard error.",
        "plan",
        metavar="SHARE",
        typed=str,
        value=_number_or_word,
    ),
    Option(
        "racing",
        "float",
        2.0,
        "Early stopping of candidates: from the third fold on, a method and learner with a given number of columns "
        "is not fitted on further folds if it is behind the best one by more than 10% of the best gain plus this many "
        "standard errors; 0: no early stopping.",
        "plan",
        metavar="N_SE",
        typed=float,
    ),
    Option(
        "impute",
        "str",
        "median",
        "Imputation of missing values, inside the folds: median, mean, knn, PCAMissing, ... (listed by: fewer methods "
        "--role imputer).",
        "plan",
        metavar="NAME",
        typed=str,
    ),
    Option(
        "cost",
        "str",
        None,
        "Costs of the two kinds of errors, such as FN=5,FP=1, for a target with two classes; the class that sorts last "
        "(yes of no and yes) is positive.",
        "plan",
        metavar="FN=A,FP=B",
    ),
    Option(
        "budget",
        "str or float",
        None,
        "Time limit, such as 90s, 30m or 2h (a number is seconds): after the first fold, the study has fewer repeats, "
        "permutations or candidates if it would take longer, and the report names what was left out.",
        "plan",
        metavar="TIME",
        by_default="no limit",
    ),
    Option(
        "questions",
        "iterable of str",
        None,
        "Additional analyses that other installed packages provide, by name.",
        "plan",
        **_NAMES,
    ),
    Option("seed", "int", 0, "Random seed.", "plan", metavar="N", typed=int),
    Option(
        "theme",
        '{"screen", "print"}',
        "screen",
        "Look of the report: screen (in colour, light or dark as the browser asks) or print (black and white).",
        "report",
        metavar="NAME",
        typed=str,
    ),
    Option("keep", "iterable of str", (), "Columns to use although they look like identifiers.", "table", **_NAMES),
    Option(
        "drop",
        "iterable of str",
        (),
        "Columns to leave out; on the command line, quote a name that contains a comma.",
        "table",
        **_NAMES,
    ),
    Option(
        "task",
        "str",
        "auto",
        "Type of the prediction task: auto, binary, multiclass, classification or regression (in describe, also none).",
        "table",
        metavar="NAME",
        typed=str,
    ),
    Option(
        "missing_values",
        "iterable of str",
        None,
        "Further markers of missing values, such as -999.",
        "reading",
        metavar="V,W",
        typed=list[str] | None,
        value=lambda typed: names_in(typed) or None,
    ),
    Option("separator", "str", None, "CSV: delimiter.", "reading", metavar="CHAR", by_default="detected"),
    Option("decimal", "str", None, "CSV: decimal mark, '.' or ','.", "reading", metavar="CHAR", by_default="."),
    Option("encoding", "str", None, "Text files: encoding.", "reading", metavar="NAME", by_default="utf-8"),
    Option(
        "header",
        "bool",
        True,
        "CSV, Excel: without column names in the first line, columns are named x0, x1, ...",
        "reading",
        "--no-header",
        typed=bool,
    ),
    Option("query", "str", None, "Database: SQL query whose result is the table.", "reading", metavar="SQL"),
    Option("table", "str", None, "Database: name of the table.", "reading", metavar="NAME"),
    Option(
        "sheet",
        "str or int",
        None,
        "Excel: name or number of the sheet.",
        "reading",
        metavar="NAME",
        value=_number_or_word,
    ),
    Option(
        "format", "str", None, "File format, if the suffix does not show it: csv, arff, ...", "reading", metavar="NAME"
    ),
)


def named(name: str) -> Option:
    """The option of this name in Python."""
    return next(option for option in OPTIONS if option.name == name)


def options_of(*groups: Group) -> list[Option]:
    """The options of these groups, in their order."""
    return [option for option in OPTIONS if option.group in groups]


def with_options(*groups: Group) -> Callable[[Callable[..., Returned]], Callable[..., Returned]]:
    """The function with a keyword for each option of these groups; it gets their values as one mapping, ``options``.

    A parameter of the function itself comes before an option of the same name. In its docstring, ``{options}`` becomes
    the descriptions of all of them.
    """

    def decorate(function: Callable[..., Returned]) -> Callable[..., Returned]:
        own = [each for each in inspect.signature(function).parameters.values() if each.name != "options"]
        declared = [option for option in options_of(*groups) if all(option.name != each.name for each in own)]
        defaults = {option.name: option.default for option in declared}
        known = {*defaults, *(each.name for each in own)}

        @functools.wraps(function)
        def with_all(*arguments: Any, **given: Any) -> Returned:
            for name in given.keys() - known:
                raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}")
            options = {name: given.pop(name, default) for name, default in defaults.items()}
            return function(*arguments, **given, options=options)

        added = [
            inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default)
            for option in declared
        ]
        with_all.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]
        with_all.__doc__ = described(function.__doc__ or "", declared, with_defaults=True)
        return with_all

    return decorate


def described(docstring: str, options: Iterable[Option], *, with_defaults: bool) -> str:
    """The docstring with descriptions of the options in the place of ``{options}``, wrapped to its width."""
    import textwrap

    head, _, tail = docstring.partition("{options}")
    indent = head.rpartition("\n")[2]
    lines = []
    for option in options:
        default = f", default={option.default!r}" if with_defaults else ""
        text = textwrap.fill(option.help, 116 - len(indent), break_long_words=False, break_on_hyphens=False)
        lines += [f"{option.name} : {option.kind}{default}", *(f"    {line}" for line in text.split("\n"))]
    return head + f"\n{indent}".join(lines) + tail
