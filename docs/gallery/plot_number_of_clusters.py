"""
How many clusters, and are there any?
=====================================

Every clustering method gives as many clusters as it is asked for. :class:`~fewer.evaluate.ConsensusClusterNumber`
clusters perturbed versions of the table and looks for the number on which these agree best. And it runs the same
procedure on tables that have no clusters, because agreement alone proves nothing: one long cloud is cut in two at the
same place every time. :func:`~fewer.evaluate.clustering_comparison` compares two clusterings, corrected for chance.
"""

# %%
# Four groups in 600 columns
# --------------------------
# 40 rows in four groups, each of which is shifted in 50 columns of its own. The grey and yellow bands are tables
# without clusters: with permuted columns, and one cloud of rows with the same covariance (the rows, rotated at random).
import numpy as np
from sklearn.cluster import KMeans

from fewer.evaluate import ConsensusClusterNumber, clustering_comparison, consensus_index

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 600))
for group in range(4):
    X[group * 10 : (group + 1) * 10, group * 50 : (group + 1) * 50] += 1.5
truth = np.repeat(range(4), 10)
settings = {"n_clusters_range": (2, 8), "n_resamples": 20, "null": "both", "random_state": 0}
model = ConsensusClusterNumber(KMeans(n_init=3), **settings).fit(X)
print(model.reading_)
print(clustering_comparison(truth, model.labels_))
model.plot()

# %%
# One long cloud
# --------------
# Rows that differ mostly along one direction, without groups. Two halves agree almost perfectly, and better than those
# of permuted columns. Only a normal cloud of the same shape shows that this is no evidence of clusters.
cloud = rng.normal(size=(80, 30)) + 2 * rng.normal(size=(80, 1))
model = ConsensusClusterNumber(KMeans(n_init=3), **(settings | {"n_clusters_range": (2, 6)})).fit(cloud)
print(model.reading_)
model.plot()

# %%
# Why correct for chance?
# -----------------------
# Without correction, random labels seem to agree the better the more clusters there are.
for n_clusters in (2, 5, 10, 20):
    labelings = rng.integers(n_clusters, size=(30, 60))
    plain, adjusted = (consensus_index(labelings, measure=measure) for measure in ("nmi", "ami"))
    print(f"{n_clusters} clusters of 60 rows at random: NMI {plain:.2f}, AMI {adjusted:+.2f}")
