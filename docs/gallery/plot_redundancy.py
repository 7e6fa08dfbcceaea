"""
Redundant columns
=================

Genes of one pathway, neighbouring wavelengths, a height in centimetres and in inches: many columns of a wide table are
redundant. A list of the best single columns then holds many copies of one quantity. The filters on this page avoid
that: :class:`~fewer.select.MRMR`, :class:`~fewer.select.CFS`, :class:`~fewer.select.FCBF` and
:class:`~fewer.select.KollerSahami`. And :func:`~fewer.select.redundancy_groups` shows the groups of redundant columns.
"""

# %%
# Five hidden numbers decide a class, each a little less than the one before. The table has eight noisy copies of each,
# two columns that are informative only together (their signs form an exclusive or), and 60 columns of noise.
import matplotlib.pyplot as plt
import numpy as np

from fewer.select import CFS, FCBF, MRMR, KollerSahami, SelectTop, redundancy_groups

rng = np.random.default_rng(0)
n_rows = 400
hidden = rng.normal(size=(n_rows, 5))
pair = rng.normal(size=(n_rows, 2))
signal = hidden @ [1.0, 0.9, 0.8, 0.7, 0.6] + 1.2 * np.sign(pair[:, 0] * pair[:, 1])
y = np.where(signal + 0.5 * rng.normal(size=n_rows) > 0, "ill", "well")
copies = np.repeat(hidden, 8, axis=1) + 0.3 * rng.normal(size=(n_rows, 40))
X = np.column_stack([copies, pair, rng.normal(size=(n_rows, 60))])
names = [f"{group}{copy}" for group in "abcde" for copy in range(1, 9)] + ["xor1", "xor2"]
names += [f"noise{number}" for number in range(1, 61)]

# %%
# Groups of redundant columns
# ---------------------------
# Groups of columns with a correlation of 0.85 or more between every two, each with the column that is most relevant for
# the class. One column of each group represents the others.
groups = redundancy_groups(X, y, threshold=0.85, feature_names=names)
print(groups)

# %%
groups.plot()

# %%
# What each filter keeps
# ----------------------
# Ten columns where the number is a parameter; CFS and FCBF choose it themselves.
selectors = {
    "best single columns": SelectTop("mutual_information", n_features_to_select=10),
    "MRMR": MRMR(10),
    "MRMR, F / correlation": MRMR(10, relevance="f", redundancy="correlation", criterion="quotient"),
    "CFS": CFS(),
    "FCBF": FCBF(),
    "Koller-Sahami": KollerSahami(10),
}
kinds = [*"abcde", "xor", "noise"]
kind_of = np.array([name.rstrip("0123456789") for name in names])
counts = {}
for name, selector in selectors.items():
    kept = selector.fit(X, y).get_support()
    counts[name] = [(kept & (kind_of == kind)).sum() for kind in kinds]
    print(
        f"{name:>22}: " + ", ".join(f"{kind} {count}" for kind, count in zip(kinds, counts[name], strict=True) if count)
    )

# %%
# The best single columns are copies of one or two numbers. The others cover all five; asked for more columns than there
# are quantities, MRMR and Koller-Sahami add noise rather than a redundant column. None finds the pair (half of it
# may get in by chance): neither of its columns is informative alone, and all of these filters look at columns one by
# one or two by two. Look for such pairs with a search over subsets (:class:`~fewer.select.SequentialSearch`) or with
# neighbours, as Relief does.
colours = ["#2f7fb5", "#5b9bc8", "#87b7da", "#b3d3ec", "#d5e6f5", "#d99a2b", "#8a8f98"]
figure, panel = plt.subplots(figsize=(8, 3.6))
left = np.zeros(len(selectors))
for kind, colour, widths in zip(kinds, colours, np.array(list(counts.values())).T, strict=True):
    panel.barh(list(selectors), widths, left=left, color=colour, label=kind)
    left += widths
panel.invert_yaxis()
panel.set_xlabel("columns kept")
panel.legend(frameon=False, ncols=7, loc="upper center", bbox_to_anchor=(0.4, -0.18))
figure.tight_layout()

# %%
# How to choose
# -------------
# - ``MRMR`` for a list of a given length, from a table of any size. With mutual information it sees relations of any
#   form; ``relevance="f", redundancy="correlation", criterion="quotient"`` needs no bins and is the fastest.
# - ``CFS`` and ``FCBF`` when the length is not known. CFS weighs whole subsets and likes several copies of a good
#   number, as their noise averages out; FCBF keeps one.
# - ``KollerSahami`` up to a few thousand columns: it measures what a column adds to the columns next to it,
#   and so removes one that is a function of another.
# - ``redundancy_groups`` before any of them, to see what there is.
#
# None of them is an honest estimate of anything: put the selection inside a cross-validation, for example with
# :func:`~fewer.evaluate.selection_curve`.
