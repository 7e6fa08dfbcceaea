"""
Projection pursuit: any difference, along any direction
=======================================================

Discriminant analysis sees classes whose means differ, and principal components see variance. Projection pursuit looks
for what else a direction may show: classes with one mode or two, a gap, a spread.

- :class:`~fewer.extract.LikelihoodRatioDiscriminant` finds directions along which the densities of classes differ, in
  whatever way;
- :class:`~fewer.extract.ExploratoryProjectionPursuit` finds directions along which a table without classes looks least
  like a normal distribution.

Use them with many rows for each column: at least five, better twenty. With fewer, some direction shows anything one
likes; bring the columns down first, by PCA for instance. Where only means differ, linear discriminant analysis is
surer and takes no search.
"""

# %%
# Classes with the same mean
# --------------------------
# Of three classes in 20 columns, one has two modes along the first column, another one along the second. All three have
# the same mean, so that discriminant analysis has nothing to go by.
import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from fewer.extract import ExploratoryProjectionPursuit, LikelihoodRatioDiscriminant, plot_loadings, plot_projection

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 20))
y = np.repeat(["round", "apart in x0", "apart in x1"], 200)
X[y == "apart in x0", 0] += 3 * rng.choice([-1, 1], 200)
X[y == "apart in x1", 1] += 3 * rng.choice([-1, 1], 200)

plot_projection(LinearDiscriminantAnalysis().fit(X, y), X, y)

# %%
# The likelihood ratio of densities finds the plane.
model = LikelihoodRatioDiscriminant(n_components=2, random_state=0).fit(X, y)
plot_projection(model, X, y)

# %%
# Its directions are the two columns; the other 18 have next to no part in them.
plot_loadings(model, X, n_components=2, n_columns=6)

# %%
# Is it there at all?
# -------------------
# With shuffled classes the best direction shows a little too. ``n_permutations`` tells how much, and ends the search
# where there is no more than that: of the four directions asked for here, two are kept.
tested = LikelihoodRatioDiscriminant(n_components=4, n_permutations=20, random_state=0).fit(X, y)
for score, null in zip(tested.scores_, tested.null_scores_, strict=True):
    print(f"ratio {score:.3f} nats a row; with shuffled classes at most {null.max():.3f}")

# %%
# Groups in the direction of least variance
# -----------------------------------------
# Without classes the most non-normal direction is of interest. Here two groups lie along a direction that varies less
# than all others, and principal components end with it.
table = rng.normal(size=(500, 8)) * [5, 4, 4, 3, 3, 2, 2, 0.5]
group = rng.choice([-1, 1], size=500)
table[:, 7] += 1.5 * group
table = table @ np.linalg.qr(rng.normal(size=(8, 8)))[0]

plot_projection(PCA(2).fit(table), table, group)

# %%
explorer = ExploratoryProjectionPursuit(n_components=2, random_state=0).fit(table)
plot_projection(explorer, table, group)
