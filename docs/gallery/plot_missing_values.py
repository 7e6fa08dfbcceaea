"""
Which values are missing, and can they be imputed?
===================================================

Before you impute missing values or drop rows: how many are missing, where, which go missing together, and does that
depend on other columns? :func:`~fewer.complete.missing_pattern` answers in words, :func:`~fewer.complete.plot_missing`
draws it. Afterwards :func:`~fewer.complete.completion_score` estimates the error of imputed values, for any imputer.
"""

# %%
# A table with three kinds of missing values
# ------------------------------------------
# Measurements of breast tumours. Three readings are often lost for large tumours, one instrument was out of order for a
# while, and here and there a value is missing by chance.
import numpy as np
import plotly.graph_objects as go
from sklearn.datasets import load_breast_cancer
from sklearn.impute import KNNImputer, SimpleImputer

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
# The figure: columns from the most to the least missing, rows with the same pattern together. A warning sign marks
# columns whose missing values depend on the values of another column, tested for each pair and corrected for the number
# of tests. The texture readings have as many missing values, but at random.
plot_missing(table)

# %%
print(pattern.reading)

# %%
# This matters. The mean of the observed values is far off for these columns; the mean of the model is not, because it
# uses the other columns of the rows with missing values.
model = PCAMissing(6, with_std=True, random_state=0).fit(table)
for name in ("worst area", "worst radius", "worst texture"):
    fitted = model.mean_[table.columns.get_loc(name)]
    print(f"{name}: truth {whole[name].mean():.1f}, observed {table[name].mean():.1f}, PCAMissing {fitted:.1f}")

# %%
# How far off are imputed values?
# -------------------------------
# Hide a tenth of what is known, fit to the rest, compare, five times over. Errors are in standard deviations of each
# column, so that column means have an error of about one.
for imputer in (SimpleImputer(), KNNImputer(), PCAMissing(6, with_std=True, random_state=0)):
    print(completion_score(imputer, table, random_state=0))

# %%
# Not all columns can be imputed equally well: a column that is correlated with no other gets little more than its mean.
completion_score(PCAMissing(6, with_std=True, random_state=0), table, random_state=0).plot()


# %%
# How many components?
# --------------------
# Hidden entries decide that too.
def error_by_size(sizes):
    """Error at hidden entries over the number of components."""
    scores = [
        completion_score(PCAMissing(size, with_std=True, random_state=0), table, n_repeats=4, random_state=0)
        for size in sizes
    ]
    errors = np.array([score.error for score in scores])
    lower, upper = np.array([score.interval for score in scores]).T
    bars = {"array": upper - errors, "arrayminus": errors - lower}
    figure = go.Figure().update_layout(xaxis_title="components", yaxis_title="error at hidden entries, 95% interval")
    return figure.add_scatter(x=sizes, y=errors, error_y=bars, mode="lines+markers", name="PCAMissing")


error_by_size(np.array([1, 2, 4, 6, 8, 12, 16]))

# %%
# In the place of scikit-learn's imputers
# ---------------------------------------
# All completers take ``missing_values`` (a number such as -999 that stands for a missing value), ``add_indicator`` and
# ``keep_empty_features``. Where an entry is missing for a reason, the indicator is a feature of its own.
imputer = PCAMissing(6, with_std=True, missing_values=-999, add_indicator=True, random_state=0)
imputed = imputer.set_output(transform="pandas").fit_transform(table.fillna(-999))
print(imputed.filter(like="missingindicator_worst").mean().round(2))
