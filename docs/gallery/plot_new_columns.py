"""
Choose columns, or make new ones?
=================================

A short list of columns is easy to explain and cheap to measure again. But when every column holds a little of what
matters, no short list is good, and a few new columns made of all of them do better. Which of the two a table is like, a
study finds out: it scores both on rows that took no part in the choosing or the making.
"""

# %%
# Two tables that look alike
# --------------------------
# Both have 150 rows, 60 columns and two classes. In the first, four columns carry the difference between the classes.
# In the second it is spread: every column shifts a little.
import numpy as np
import plotly.graph_objects as go
from sklearn.datasets import make_circles
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB

from fewer.evaluate import score_components, score_sizes
from fewer.extract import RegularizedFisher, plot_loadings, plot_projection
from fewer.select import SelectTop


def table(shifts, seed=0, n_rows=150):
    """Two classes, whose means differ by these shifts."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_rows) % 2)
    return rng.normal(size=(n_rows, len(shifts))) + np.outer(y, shifts), y


in_few = table(np.r_[np.ones(4), np.zeros(56)])
in_all = table(np.full(60, 0.28))

# %%
# Chosen and made, scored alike
# -----------------------------
# :func:`fewer.evaluate.score_sizes` chooses columns on the rows held in and scores each number of them on the rows held
# out; :func:`fewer.evaluate.score_components` does so for new columns. There is one discriminant direction for two
# classes, so that ``RegularizedFisher`` makes one new column of all sixty.
SIZES = [1, 2, 4, 8, 16, 32]


def mean_scores(score, reducer, X, y, sizes):
    """Mean accuracy for each number of columns over ten times five folds."""
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=10, random_state=0).split(X, y)
    found = [score(reducer, GaussianNB(), X[a], y[a], X[b], y[b], sizes=sizes) for a, b in folds]
    return found[0].sizes, np.mean([each.scores for each in found], axis=0)


figure = go.Figure().update_layout(xaxis_title="columns", yaxis_title="accuracy on rows held out")
figure.update_xaxes(type="log", tickvals=[*SIZES, 60])
for name, (X, y), colour in (
    ("four columns differ", in_few, "#2f7fb5"),
    ("all columns differ", in_all, "#cf5f47"),
):
    sizes, scores = mean_scores(score_sizes, SelectTop("anova"), X, y, SIZES)
    figure.add_scatter(x=sizes, y=scores, mode="lines", line_color=colour, name=f"{name}: chosen by F test")
    made, of_made = mean_scores(score_components, RegularizedFisher(alpha=100), X, y, [1])
    marker = {"size": 12, "color": colour, "symbol": "diamond"}
    figure.add_scatter(x=made[:1], y=of_made[:1], mode="markers", name=f"{name}: one new column", marker=marker)
figure.update_layout(height=420)

# %%
# Where four columns differ, choosing them is best, and more of them only adds noise. Where all differ, every column
# that is left out costs something, and one new column does what all sixty do: a single number for each row, which can
# be looked at.
X, y = in_all
fisher = RegularizedFisher(alpha=100).fit(X[:75], y[:75])
plot_projection(fisher, X[75:], y[75:])

# %%
# These are the 75 rows that the direction has not seen. What it holds, ``plot_loadings`` shows for any extractor, with
# a kernel or without one.
plot_loadings(fisher, X[75:], n_columns=8)

# %%
# Those of scikit-learn
# ---------------------
# What scikit-learn has is not here again, and everything above takes it: ``PCA``, ``FastICA``,
# ``LinearDiscriminantAnalysis``; :class:`sklearn.decomposition.KernelPCA` for what is curved, with
# :class:`sklearn.kernel_approximation.Nystroem` in its place from some 5,000 rows on; and
# :class:`sklearn.mixture.GaussianMixture`, whose ``predict_proba`` makes a new column of each cluster. Here are two
# rings, and in the first two new columns of kernel PCA they are apart.
#
# A Gaussian kernel sees only rows that are near: about ``1 / sqrt(gamma)``. With ``gamma=1`` on columns in large units
# no row is near any other, the kernel is a matrix of ones on the diagonal and zeros elsewhere, and the new columns are
# noise. So scale the columns first, and look at the mean of the kernel off the diagonal: it should not be near 0 or 1.
rings, ring = make_circles(400, factor=0.3, noise=0.05, random_state=0)
for unit in (1, 100):
    kernel = rbf_kernel(unit * rings, gamma=1.0)
    print(f"columns times {unit}: mean off the diagonal {kernel[~np.eye(400, dtype=bool)].mean():.4f}")
plot_projection(KernelPCA(2, kernel="rbf", gamma=2.0).fit(rings), rings, ring)

# %%
# In a study
# ----------
# Every extractor of ``fewer methods --room extract`` can be named beside selectors and scores; its sizes are numbers of
# new columns. The report then shows what the new columns hold, and ``fewer apply`` gives them for new rows.
#
# .. code-block:: console
#
#    $ fewer study table.csv --target diagnosis --methods anova,MRMR,RegularizedFisher
