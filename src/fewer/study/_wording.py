"""How numbers and names are put into sentences."""

from collections.abc import Sequence

_LONGEST_NAME = 40
_METRIC_WORDS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "r2": "R2",
    "roc_auc": "ROC AUC",
}


def metric_words(scoring: str) -> str:
    """What people call a score of scikit-learn."""
    return _METRIC_WORDS.get(scoring, scoring)


def p_words(p_value: float, n_permutations: int | None = None) -> str:
    """A p-value with as many digits as it has to say; at its floor, that it is the smallest that there could be.

    Examples
    --------
    >>> p_words(0.05), p_words(0.0002), p_words(0.05, 19)
    ('p = 0.050', 'p = 2.0e-04', 'p <= 0.050, the smallest that 19 permutations can show')
    """
    digits = f"{p_value:.3f}" if p_value >= 0.001 else f"{p_value:.1e}"
    if n_permutations is not None and p_value <= 1 / (n_permutations + 1):
        return f"p <= {digits}, the smallest that {n_permutations} permutations can show"
    return f"p = {digits}"


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


def two_digits(value: float) -> str:
    """Nothing as 0.00, whatever its sign.

    Examples
    --------
    >>> two_digits(-0.011), two_digits(-0.001)
    ('-0.01', '0.00')
    """
    return f"{round(value, 2) + 0.0:.2f}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """The first names, long ones cut, and how many more there are.

    Examples
    --------
    >>> listed(["age", "dose", "sex", "site"], 2)
    'age, dose and 2 more'
    """
    short = [name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…" for name in names[:most]]
    more = len(names) - most
    return ", ".join(short) + (f" and {more:,} more" if more > 0 else "")


def counted(number: int, what: str) -> str:
    """A number of things.

    Examples
    --------
    >>> counted(1, "worker"), counted(2000, "row")
    ('1 worker', '2,000 rows')
    """
    return f"{number:,} {what}{'s' * (number != 1)}"
