"""
Which columns depend on which, given all the others
===================================================

Two columns may be correlated only because both follow a third. A graph of *conditional* dependence leaves such pairs
out: it has an edge where two columns still go together when all other columns are held fixed. For columns that are
Gaussian, or increasing functions of Gaussians, these edges are the entries of the precision matrix (the inverse of the
covariance matrix) that are not zero.

- :class:`~fewer.graph.SparsePrecision` and :class:`~fewer.graph.SparsePrecisionCV`, the graphical lasso: the first to
  try, at any number of columns.
- :class:`~fewer.graph.NeighborhoodDantzigPrecision`: each column regressed on all others by linear programs, with a
  penalty that theory gives, and with edges that are known to be there or not.
- :class:`~fewer.graph.NeighborhoodSelectionMLE`: lasso regressions at a significance level, then maximum likelihood.
- :func:`~fewer.graph.edge_stability` shows which edges would come back on other rows.
"""

# %%
# Chemical analyses of 178 wines
# ------------------------------
# Blue lines are positive, red ones negative; the wider, the larger the partial correlation. EBIC chooses the penalty,
# and ``covariance="spearman"`` uses ranks, so that a column may be skewed.
import numpy as np
import pandas as pd

from fewer.datasets import load, make_graph_gaussian
from fewer.graph import (
    NeighborhoodDantzigPrecision,
    NeighborhoodSelectionMLE,
    SparsePrecision,
    SparsePrecisionCV,
    edge_stability,
    sparse_precision_path,
)

wine = load("wine")
table = pd.DataFrame(wine.X, columns=wine.columns)
graph = SparsePrecisionCV(covariance="spearman", ebic_gamma=1.0).fit(table)
graph.plot()

# %%
# The same as a table, strongest first. ``graph.write_graphml("wine.graphml")`` writes it for Gephi or Cytoscape, and
# ``graph.to_networkx()`` hands it to networkx.
print(graph.edges_.head(8))

# %%
# How sure is each edge?
# ----------------------
# Fit the graph to halves of the rows and count. Edges that come back on 80% of the halves are kept; the bound says how
# many of them are false on average.
chooser = SparsePrecision(alpha=0.35, covariance="spearman")
stability = edge_stability(chooser, table, threshold=0.8, n_edges_each=8, n_pairs=25, random_state=0)
print(stability)
stability.plot()

# %%
# What the penalty does
# ---------------------
# A larger penalty keeps fewer edges. The path from the empty graph down costs little more than its last point.
path = sparse_precision_path(np.corrcoef(wine.X.T), n_alphas=30)
path.plot()

# %%
# Does it find the truth?
# -----------------------
# Forty columns with 60 true edges, drawn from a known graph: correlations alone show many more pairs.
X, _, truth = make_graph_gaussian(300, 40, rho=0.8, random_state=0)
true = truth["adjacency"]
correlated = (np.abs(np.corrcoef(X.T)) > 0.15) & ~np.eye(40, dtype=bool)
graphs = {
    "correlation above 0.15": correlated,
    "graphical lasso, EBIC": SparsePrecisionCV().fit(X).adjacency_,
    "Dantzig neighbourhoods": NeighborhoodDantzigPrecision(rule="and").fit(X).adjacency_,
    "lasso neighbourhoods": NeighborhoodSelectionMLE().fit(X).adjacency_,
}
for name, edges in graphs.items():
    print(
        f"{name:>24}: {(edges & true).sum() // 2} of {true.sum() // 2} true edges, {(edges & ~true).sum() // 2} false"
    )

# %%
# What is known can be used: these ten pairs are known to be connected, and those not.
pairs = np.argwhere(np.triu(true))
absent = np.argwhere(np.triu(~true, 1))
informed = NeighborhoodDantzigPrecision(rule="and", known_edges=pairs[:10], zero_edges=absent[:10]).fit(X)
print(f"known edges: {informed.adjacency_[tuple(pairs[:10].T)].sum()} of 10 in the graph")

# %%
# When to use which
# -----------------
# - ``criterion="ebic"`` for the graph; ``criterion="cv"`` for a covariance matrix that predicts well, which keeps more
#   edges than there are.
# - ``covariance="spearman"`` (or "kendall", slower and a little more robust) unless columns are Gaussian.
# - ``NeighborhoodDantzigPrecision`` where each column depends on few others and not strongly (correlations of
#   neighbours up to about 0.4), or where edges are known. At stronger dependence the graphical lasso with BIC has the
#   smaller error.
# - ``NeighborhoodSelectionMLE`` for few false edges; it misses weak ones.
# - A constant column has no place in a graph and is refused; of perfectly correlated columns, the penalty shares the
#   edges.
