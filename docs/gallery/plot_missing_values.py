"""
Missing values: where they are, and how well they can be imputed
================================================================

Before missing values are imputed, or rows with missing values dropped: how many are there, in which columns, which
columns are missing together, and does that depend on the values of other columns?
:func:`~fewer.complete.missing_pattern` counts and tests this, :func:`~fewer.complete.plot_missing` draws it. Afterwards
:func:`~fewer.complete.completion_score` measures the error of any imputer.
"""

# %%
# A table with three causes of missing values
# -------------------------------------------
# Measurements of breast tumours. Three readings are often lost for large tumours, one instrument was out of order for a
# while, and here and there a value is missing by chance.
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.impute import KNNImputer, SimpleImputer

from fewer import _figures
from fewer.complete import PCAMissing, completion_score, missing_pattern, plot_missing

whole = load_breast_cancer(as_frame=True).data
rng = np.random.default_rng(0)
table = whole.mask(rng.random(whole.shape) < 0.03)
large = (whole["mean radius"] > 15) & (rng.random(len(whole)) < 0.6)
table.loc[large, ["worst area", "worst radius", "worst perimeter"]] = np.nan
table.loc[200:300, ["mean texture", "worst texture"]] = np.nan
pattern = missing_pattern(table)
print(pattern)

# %%
# Columns are ordered from the most to the least missing, and rows with the same pattern are next to each other. A
# warning sign marks a column whose missing values depend on the values of another column; every pair is tested, and the
# p-values are corrected for the number of pairs. The texture readings are missing as often, but at random.
plot_missing(table)

# %%
print(pattern.reading)

# %%
# This matters: the mean of the observed values of these columns is far from the true mean. The mean of the model is
# not, because the other columns of a row say which values are missing in it.
model = PCAMissing(6, scale=True, random_state=0).fit(table)
for name in ("worst area", "worst radius", "worst texture"):
    fitted = model.mean_[table.columns.get_loc(name)]
    print(f"{name}: truth {whole[name].mean():.1f}, observed {table[name].mean():.1f}, PCAMissing {fitted:.1f}")

# %%
# The error of imputed values
# ---------------------------
# A tenth of the observed entries is hidden, the imputer is fitted to the rest, and its values are compared with the
# hidden ones; five times. Errors are in standard deviations of each column, so that column means have an error of one.
for imputer in (SimpleImputer(), KNNImputer(), PCAMissing(6, scale=True, random_state=0)):
    print(completion_score(imputer, table, random_state=0))

# %%
# Columns differ: one that no other column is correlated with cannot be imputed better than by its mean.
completion_score(PCAMissing(6, scale=True, random_state=0), table, random_state=0).plot()


# %%
# How many components?
# --------------------
# The error at hidden entries answers this as well. In this table, half of the components lower it.
def error_by_size(sizes):
    """Error at hidden entries over the number of components."""
    scores = [
        completion_score(PCAMissing(size, scale=True, random_state=0), table, n_repeats=4, random_state=0)
        for size in sizes
    ]
    figure = _figures.new_figure(x="components", y="error at hidden entries")
    figure.add_trace(_figures.band("95% interval", sizes, *np.array([score.interval for score in scores]).T))
    return figure.add_trace(_figures.line("PCAMissing", sizes, [score.error for score in scores]))


error_by_size(np.array([1, 2, 4, 6, 8, 12, 16]))

# %%
# In the place of scikit-learn's imputers
# ---------------------------------------
# All completers take ``missing_values`` (a number such as -999 that stands for a missing value), ``add_indicator`` and
# ``keep_empty_features``. Where an entry is missing for a reason, the indicator is a feature of its own.
imputer = PCAMissing(6, scale=True, missing_values=-999, add_indicator=True, random_state=0)
filled = imputer.set_output(transform="pandas").fit_transform(table.fillna(-999))
print(filled.filter(like="missingindicator_worst").mean().round(2))
