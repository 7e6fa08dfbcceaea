"""
Random directions keep what matters
===================================

A table of 5,000 words or 20,000 genes is mostly read for the distances and angles between its rows: neighbours,
clusters and linear models see nothing else. Some hundred random directions keep them, and nothing needs to be learnt
for that. :class:`~fewer.extract.RandomProjection` knows how many directions are enough.

Use it as a first step where columns are very many and time or memory is short, and where rows come one by one. Do not
use it to explain anything (each new column mixes all old ones), and not where few columns carry the signal and the
others noise: it keeps both alike, while a selector or PCA drops the noise.
"""

# %%
# Distances between word counts
# -----------------------------
# 80 documents of 200 words each, some words far more frequent than others. From 5,000 columns to 400.
import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import pdist
from sklearn.random_projection import SparseRandomProjection

from fewer.extract import RandomProjection, distortion_dim

rng = np.random.default_rng(0)
shares = 1 / np.arange(1, 5001)
X = rng.multinomial(200, shares / shares.sum(), size=80).astype(float)
before = pdist(X)

figure, panels = plt.subplots(1, 3, figsize=(9, 3.2), sharex=True, sharey=True)
projections = {
    "kind='sign'": RandomProjection(400, kind="sign", random_state=0),
    "kind='sparse', 2 entries a column": RandomProjection(400, kind="sparse", random_state=0),
    "scikit-learn's sparse, 6 a column": SparseRandomProjection(400, dense_output=True, random_state=0),
}
for panel, (name, projection) in zip(panels, projections.items(), strict=True):
    after = pdist(projection.fit_transform(X))
    change = np.sqrt(np.mean((after**2 / before**2 - 1) ** 2))
    panel.plot(before, after, ".", markersize=2, color="#2f7fb5", alpha=0.5)
    panel.plot([15, 30], [15, 30], color="grey", linewidth=0.8)
    panel.set_title(f"{name}\nsquared distances change by {change:.0%}", fontsize=9, loc="left")
    panel.set_xlabel("distance before")
panels[0].set_ylabel("distance after")
figure.tight_layout()

# %%
# A few entries for each column do as well as 400, if every column gets as many: "sparse" reads a table about as fast
# as it can be copied. By default there are as many directions as keep *all* distances within 10%, for sure but for one
# case in twenty; the guarantee is generous, and may well ask for more directions than there are columns.
for n_rows in (100, 10_000, 1_000_000):
    print(
        f"{n_rows:>9,} rows: {distortion_dim(n_rows):,} directions for 10%, {distortion_dim(n_rows, eps=0.3):,} for 30%"
    )
