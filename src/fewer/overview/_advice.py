"""What to do next with a table, in sentences that name the columns and the options."""

import csv
import io
import shlex
from collections.abc import Iterator, Sequence

from fewer._wording import counted, listed, rounded_percent
from fewer.overview._description import Description, Target

_NAMES_IN_OPTION = 12
_MOSTLY_MISSING = 0.5
_FEWEST_ROWS_OF_CLASS = 10
_RARE_SHARE = 0.1
_SKEWED = 2.0


def advice_for(description: Description) -> tuple[str, ...]:
    """Sentences for a reader who has seen the table for the first time, the most pressing first."""
    return (
        *_about_commas(description),
        *_about_groups(description),
        *_about_time(description),
        *_about_target(description),
        *_about_leakage(description),
        *_about_columns(description),
        *_about_missing(description),
        *_about_rows(description),
        *_about_neighbours(description),
        *_about_kinds(description),
        _next_command(description),
    )


def drop_option(names: Sequence[str]) -> str:
    """The option that drops these columns; a long list is cut short.

    Examples
    --------
    >>> from fewer.overview._advice import drop_option
    >>> drop_option(["id", "ward"])
    '--drop id,ward'
    >>> drop_option(["age, years"])
    '--drop \\'"age, years"\\''
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names[:_NAMES_IN_OPTION])
    more = f" and {len(names) - _NAMES_IN_OPTION:,} more (--json lists them)" if len(names) > _NAMES_IN_OPTION else ""
    return f"--drop {shlex.quote(text.getvalue())}{more}"


def _about_commas(description: Description) -> Iterator[str]:
    names = description.comma_numbers
    if names:
        yield (
            f"{counted(len(names), 'column holds', 'columns hold')} numbers with a comma ({listed(names)}), which "
            "were read as strings. If the comma is the decimal mark, read the table again with --decimal , (write "
            "points if the comma is also the delimiter); if it separates thousands, remove it from the file."
        )


def _about_target(description: Description) -> Iterator[str]:
    target = description.target
    if target is None:
        yield "Name the column to predict, if there is one: --target COLUMN."
        return
    if target.distribution is not None:
        yield from _about_distribution(target)
        return
    few = [item for item in target.classes if item.count < _FEWEST_ROWS_OF_CLASS]
    if few:
        shown = listed([f"{item.label} ({item.count:,})" for item in few])
        yield (
            f"{counted(len(few), 'class has', 'classes have')} fewer than {_FEWEST_ROWS_OF_CLASS} rows, too few to "
            f"learn from and to test on: {shown}. Add rows, merge classes, or leave them out."
        )
    commonest, rarest = target.classes[0], target.classes[-1]
    # With many classes each is rare; what misleads is one that outweighs the rest.
    if commonest.share > 0.5 and rarest.share < _RARE_SHARE:
        yield (
            f"The classes are unbalanced: always predicting {commonest.label} is right in {commonest.share:.1%} of the "
            "rows. Use balanced accuracy instead of accuracy."
        )


def _about_distribution(target: Target) -> Iterator[str]:
    spread = target.distribution
    if spread is None:
        return
    if spread.infinite:
        yield f"The target {target.name} is infinite in {counted(spread.infinite, 'row')}: correct or remove them."
    if spread.skewness is not None and abs(spread.skewness) > _SKEWED:
        cure = "its logarithm" if spread.minimum is not None and spread.minimum > 0 else "its ranks"
        yield (
            f"The target {target.name} is skewed (skewness {spread.skewness:.1f}), so a few rows dominate the "
            f"squared error: consider {cure}, or an error measure that is robust to outliers."
        )


def _about_groups(description: Description) -> Iterator[str]:
    for found in description.groups[:1]:
        scores = _both_ways(found.measure, found.plain_score, found.grouped_score, "folds that keep them together")
        yield (
            f"{found.column} identifies {found.values:,} groups of similar rows, with {found.rows_of_value:.3g} "
            f"rows each on average.{scores} Keep the rows of a group together: --groups {shlex.quote(found.column)}"
        )


def _about_time(description: Description) -> Iterator[str]:
    for found in description.time:
        scores = _both_ways(found.measure, found.plain_score, found.ordered_score, "earlier rows only")
        yield (
            f"{found.column} orders the rows by time.{scores} If later rows are to be predicted from "
            f"earlier ones: --time {shlex.quote(found.column)}"
        )


def _both_ways(measure: str | None, plain: float | None, kept: float | None, how: str) -> str:
    if measure is None:
        return ""
    return f" A quick model reaches {measure} {plain:.3f} with random folds, {kept:.3f} with {how}."


def _about_leakage(description: Description) -> Iterator[str]:
    names = [found.column for found in description.leaking_columns]
    if len(names) == 1:
        yield (
            f"{names[0]} alone predicts the target almost perfectly, which suggests target leakage. If it is not "
            f"known before the outcome, leave it out: {drop_option(names)}"
        )
    elif names:
        yield (
            f"{len(names):,} columns each predict the target almost perfectly, which suggests target leakage. Leave "
            f"out those that are not known before the outcome: {drop_option(names)}"
        )
    if description.target is not None and description.columns and not description.leakage_checked:
        yield (
            "Target leakage was not checked: with so few rows and this many columns, some column predicts the "
            "target by chance. Check yourself that each column is known before the outcome."
        )


def _about_columns(description: Description) -> Iterator[str]:
    useless = description.columns_to_drop
    if useless:
        reasons = [
            counted(len(description.constants), "constant column") if description.constants else "",
            _repeats(sum(len(group) - 1 for group in description.duplicates), "repeats", "repeat"),
            _repeats(
                sum(len(group.columns) - 1 for group in description.near_duplicates), "nearly repeats", "nearly repeat"
            ),
            counted(len(description.identifiers), "identifier") if description.identifiers else "",
        ]
        what = listed([reason for reason in reasons if reason], 4)
        yield f"Leave out columns that add nothing ({what}): {drop_option(useless)}"
    if description.infinite:
        names = [found.column for found in description.infinite]
        yield (
            f"Most methods raise an error for infinite values ({listed(names)}): find out where they come from, "
            "then mark them as missing with --missing-values inf,-inf or leave the column out."
        )


def _about_missing(description: Description) -> Iterator[str]:
    missing = description.missing
    told = {found.column for found in description.constants} | {found.column for found in description.leaking_columns}
    mostly = [found.column for found in missing.columns if found.share > _MOSTLY_MISSING and found.column not in told]
    if mostly:
        yield (
            f"{counted(len(mostly), 'column is', 'columns are')} missing in more than half of the rows; if they are "
            f"not useful, leave them out: {drop_option(mostly)}"
        )
    if missing.cells:
        yield (
            "Impute missing values inside each training fold, never before the split, as fewer study does; or "
            "choose methods that accept them: fewer methods --handles missing"
        )


def _about_rows(description: Description) -> Iterator[str]:
    rows = description.duplicate_rows
    if rows.repeats:
        yield (
            f"{counted(rows.repeats, 'row repeats', 'rows repeat')} an earlier one. If they are the same measurement, "
            "leave them out: copies in training and test folds make every score too optimistic."
            + _both_ways(rows.measure, rows.plain_score, rows.grouped_score, "folds that keep equal rows together")
        )
    if rows.contradicting:
        yield (
            f"{rows.contradicting:,} equal rows have different targets, so no method can predict all of them "
            "correctly: look "
            "for wrong labels or a column that is not in the table."
        )
    if description.rows < description.columns:
        yield (
            f"There are fewer rows ({description.rows:,}) than columns ({description.columns:,}): almost any target "
            "can be fitted perfectly, and the best of many columns looks good by chance. Trust only scores on "
            "held-out rows that were not used to choose the columns either."
        )


def _about_neighbours(description: Description) -> Iterator[str]:
    found = description.hubness
    if found is not None and found.level != "none":
        yield (
            f"Nearest neighbours are {'unreliable' if found.level == 'warning' else 'less reliable'} here: "
            f"{rounded_percent(found.never_listed)} of the rows are nobody's neighbour, and one row is the neighbour "
            f"of {found.most_listed:,}. Methods that use neighbours (kNN, clustering, outlier scores, imputation by "
            "neighbours) need fewer columns first, or distances that are corrected for hubs "
            "(fewer.evaluate.secondary_distances)."
        )


def _about_kinds(description: Description) -> Iterator[str]:
    kinds = description.kinds
    words = [f"{kinds[kind]:,} {kind}" for kind in ("categorical", "text", "date") if kinds.get(kind)]
    if words:
        yield (
            f"Encode columns that are not numeric ({', '.join(words)}): most methods take numbers only. fewer study "
            "encodes categories, and leaves out texts and dates."
        )


def _next_command(description: Description) -> str:
    target = description.target
    if target is not None:
        # Rows can be kept together or put in order, not both.
        tied = [f" --groups {shlex.quote(found.column)}" for found in description.groups]
        tied += [f" --time {shlex.quote(found.column)}" for found in description.time if found.level == "critical"]
        option = tied[0] if tied else ""
        return f"See whether fewer columns are enough: fewer study TABLE --target {shlex.quote(target.name)}{option}"
    handles = " --handles missing" if description.missing.cells else ""
    handles += " --handles sparse" if description.stored_share is not None else ""
    return f"See which methods fit this table: fewer methods --task unsupervised{handles}"


def _repeats(number: int, one: str, many: str) -> str:
    return counted(number, f"column that {one} another", f"columns that {many} another") if number else ""
