"""How numbers and names are written in messages, in the terminal and in the report."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_LONGEST_NAME = 40
_LONGEST_VALUE = 103
_METRIC_WORDS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "r2": "R2",
    "roc_auc": "ROC AUC",
    "neg_log_loss": "negative log loss",
    "neg_brier_score": "negative Brier score",
    "neg_boosting_loss": "negative boosting loss",
    "neg_minimal_loss": "negative minimal loss",
}


# How a command line calls a parameter, with its value if one is given; None in Python.
_translated: ContextVar[Callable[..., str] | None] = ContextVar("translated", default=None)
_NOT_GIVEN = object()


@contextmanager
def translated_by(option: Callable[..., str]) -> Iterator[None]:
    """Inside, messages call parameters by what ``option(name)`` or ``option(name, value)`` returns."""
    before = _translated.set(option)
    try:
        yield
    finally:
        _translated.reset(before)


def argument(name: str, value: Any = _NOT_GIVEN, *, python: str | None = None) -> str:
    """An argument in a message: as it is typed in Python, or on the command line where that is where the user is.

    Parameters
    ----------
    name : str
        The parameter.
    value : object, default=None
        Its value, if the message proposes one.
    python : str, default=None
        The value as Python code, where it is not its ``repr``.

    Returns
    -------
    text : str
        ``name=value``.

    Examples
    --------
    >>> argument("encoding", "cp1252"), argument("target")
    ("encoding='cp1252'", 'target=')
    >>> with translated_by(lambda name, *value: f"--{name}"):
    ...     argument("target")
    '--target'
    """
    given = () if value is _NOT_GIVEN else (value,)
    option = _translated.get()
    if option is not None:
        return option(name, *given)
    return f"{name}={python or (repr(value) if given else '')}"


def parameter(name: str) -> str:
    """The name of a parameter in a message.

    Examples
    --------
    >>> parameter("n_folds")
    'n_folds'
    """
    option = _translated.get()
    return name if option is None else option(name)


def metric_words(scoring: str) -> str:
    """What people call a score of scikit-learn."""
    return _METRIC_WORDS.get(scoring, scoring)


# Smaller p-values of asymptotic tests are rounding.
_LEAST_P = 1e-16


def p_words(p_value: float, n_permutations: int | None = None) -> str:
    """A p-value; the smallest that this number of permutations can show is given as a bound.

    Examples
    --------
    >>> p_words(0.05), p_words(0.0002), p_words(0.05, 19), p_words(0.0)
    ('p = 0.050', 'p = 2.0e-04', 'p <= 0.050, the smallest that 19 permutations can show', 'p < 1e-16')
    """
    if p_value < _LEAST_P:
        return f"p < {_LEAST_P:.0e}"
    digits = p_digits(p_value)
    if n_permutations is not None and p_value <= 1 / (n_permutations + 1):
        return f"p <= {digits}, the smallest that {n_permutations} permutations can show"
    return f"p = {digits}"


def p_digits(p_value: float) -> str:
    """A p-value with three decimals, or its power of ten.

    Examples
    --------
    >>> p_digits(0.05), p_digits(0.0002)
    ('0.050', '2.0e-04')
    """
    return f"{p_value:.3f}" if p_value >= 0.001 else f"{p_value:.1e}"


def signed(value: float) -> str:
    """With its sign, and nothing as +0.000.

    Examples
    --------
    >>> signed(-0.0123), signed(-0.0001)
    ('-0.012', '+0.000')
    """
    return f"{round(value, 3) + 0.0:+.3f}"


def percent(share: float) -> str:
    """A share in percent, with the digits that it has.

    Examples
    --------
    >>> percent(0.05), percent(0.025), percent(0.995)
    ('5%', '2.5%', '99.5%')
    """
    return f"{100 * share:.4g}%"


def rounded_percent(share: float) -> str:
    """A share in percent with one decimal; never 0% or 100% unless it is exactly that.

    Examples
    --------
    >>> rounded_percent(0.1234), rounded_percent(0.0001), rounded_percent(0.9999)
    ('12.3%', '<0.1%', '99.9%')
    """
    if 0 < share < 0.001:
        return "<0.1%"
    return "100%" if share == 1 else f"{min(100 * share, 99.9):.1f}%"


def rows_words(needed: int, n_rows: int) -> str:
    """Rows that would be needed, rounded up to two digits; of more than a hundred times as many, only that.

    Examples
    --------
    >>> rows_words(7541, 83), rows_words(111_455, 12)
    ('about 7,600 rows', 'more than 1,200 rows')
    """
    if needed > 100 * n_rows:
        return f"more than {100 * n_rows:,} rows"
    unit = 10 ** max(len(str(needed)) - 2, 0)
    return f"about {-(-needed // unit) * unit:,} rows"


def interval_words(
    interval: tuple[float, float],
    confidence: float,
    written: Callable[[float], str],
    of: str = "",
    drawn: str = "over the folds",
) -> str:
    """An interval with its confidence level; one of no width is no certainty, because nothing varied on the folds.

    Examples
    --------
    >>> interval_words((-0.1, 0.2), 0.95, signed), interval_words((0.0, 0.0), 0.95, signed)
    ('95% interval -0.100 to +0.200', 'no variation over the folds')
    """
    low, high = interval
    if high - low < 1e-12:
        return f"no variation {drawn}"
    return f"{percent(confidence)} interval{of} {written(low)} to {written(high)}"


def two_digits(value: float) -> str:
    """Nothing as 0.00, whatever its sign.

    Examples
    --------
    >>> two_digits(-0.011), two_digits(-0.001)
    ('-0.01', '0.00')
    """
    return f"{round(value, 2) + 0.0:.2f}"


def listed(names: Sequence[str], most: int = 5, *, between: str = ", ", longest: int = _LONGEST_NAME) -> str:
    """The first names, long ones cut, and how many more there are.

    Examples
    --------
    >>> listed(["age", "dose", "sex", "site"], 2)
    'age, dose and 2 more'
    """
    more = len(names) - most
    return between.join(cut(name, longest) for name in names[:most]) + (f" and {more:,} more" if more > 0 else "")


def listed_values(values: Iterable[object], most: int = 8) -> str:
    """The first values as Python writes them, and how many more there are.

    Examples
    --------
    >>> listed_values(["a", "b", 3], 2)
    "'a', 'b' and 1 more"
    """
    values = list(values)
    written = [repr(cut(value, _LONGEST_VALUE) if isinstance(value, str) else value) for value in values[:most]]
    more = len(values) - most
    return ", ".join(written) + (f" and {more:,} more" if more > 0 else "")


def did_you_mean(wanted: str, names: Sequence[str], what: str, most: int = 8) -> str:
    """A sentence that offers the nearest names, or lists what there is.

    Examples
    --------
    >>> did_you_mean("hieght", ["height", "age"], "columns"), did_you_mean("x", ["height", "age"], "columns")
    ("Did you mean 'height'?", "The columns are: 'height', 'age'.")
    >>> did_you_mean("acc", ["jaccard", "accuracy"], "scores")
    "Did you mean 'accuracy' or 'jaccard'?"
    """
    by_lower = {name.lower(): name for name in reversed(names)}
    begun = [name for name in reversed(by_lower) if len(wanted) > 2 and name.startswith(wanted.lower())]
    close = difflib.get_close_matches(wanted.lower(), by_lower, n=3, cutoff=0.6)
    near = list(dict.fromkeys([*sorted(begun, key=len), *close]))[:3]
    if near:
        return "Did you mean " + " or ".join(repr(by_lower[name]) for name in near) + "?"
    return f"The {what} are: {listed_values(names, most)}." if names else f"There are no {what}."


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number of things.

    Examples
    --------
    >>> counted(1, "worker"), counted(2000, "row"), counted(2, "class", "classes")
    ('1 worker', '2,000 rows', '2 classes')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def cut(text: str, most: int, ellipsis: str = "…") -> str:
    """The beginning of a text that is longer than allowed.

    Examples
    --------
    >>> cut("temperature", 8)
    'tempera…'
    """
    return text if len(text) <= most else f"{text[: most - len(ellipsis)]}{ellipsis}"


def printable(text: str) -> str:
    """The text with line breaks and control characters written out, so that a name cannot control a terminal.

    Examples
    --------
    >>> printable("two\\nlines")
    'two\\\\nlines'
    """
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
