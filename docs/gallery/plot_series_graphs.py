"""
Which series depend on which, at any lag
========================================

Rows in time order are not independent. A graph of the columns as if they were misses a series that follows another with
a delay, and joins series that only share their own slow movements. These models look back some rows: two series have an
edge if they still go together, at some frequency, when all other series are known at all times.

- :class:`~fewer.graph.ARTopologySelector` chooses the order of the model and the penalty: start here.
- :class:`~fewer.graph.ARGraphicalLasso`: one order and penalty, with a duality gap.
- :class:`~fewer.graph.ConstrainedAR`: the model on a graph that you know.
"""

# %%
# Twenty series with a known graph
# --------------------------------
# Each series follows a few others, one or two steps later. The model has 512 rows to find 190 pairs in.
import matplotlib.pyplot as plt
import numpy as np

from fewer.datasets import simulate_sparse_var
from fewer.graph import (
    ARGraphicalLasso,
    ARTopologySelector,
    ConstrainedAR,
    SparsePrecisionCV,
    ar_kl,
    edge_stability,
    partial_coherence,
    welch_partial_coherence,
)

X, _, truth = simulate_sparse_var(512, 20, order=2, random_state=0)
graph = ARTopologySelector(orders=(1, 2, 3)).fit(X)
print(f"order {graph.order_}, {len(graph.edges_)} edges; the truth has {truth['adjacency'].sum() // 2}")
graph.plot()

# %%
# Against simpler ways
# --------------------
# The truth, what the procedure finds, least squares with the same threshold, Welch's method without a model, and a
# graph that takes rows as independent. Least squares has too many edges; the graph of independent rows misses what
# comes later.
plain = ConstrainedAR(order=2).fit(X)
static = SparsePrecisionCV(criterion="bic").fit(X)
true = truth["adjacency"]
off = ~np.eye(20, dtype=bool)
graphs = {
    "truth": true,
    "chosen by BIC": graph.adjacency_,
    "least squares": (plain.partial_coherence_ > 0.1) & off,
    "Welch": (welch_partial_coherence(X, n_window=32) > 0.6) & off,
    "independent rows": (partial_coherence(static.precision_[None]) > 0.1) & off,
}
figure, panels = plt.subplots(1, 5, figsize=(13, 3.6))
for panel, (name, edges) in zip(panels, graphs.items(), strict=True):
    kinds = np.where(edges & true, 2, np.where(edges, 1, np.where(true, 3, 0)))
    colours = np.array([[0.96, 0.96, 0.96], [0.81, 0.37, 0.28], [0.18, 0.5, 0.71], [0.85, 0.6, 0.17]])
    panel.imshow(colours[kinds])
    wrong = (edges != true).sum() // 2
    panel.set_title(f"{name}\n{wrong} pairs wrong" if name != "truth" else "truth\n", fontsize=10)
    panel.set_xticks([])
    panel.set_yticks([])
figure.text(0.5, 0.02, "blue: found    amber: missed    red: false", ha="center")
figure.tight_layout(rect=(0, 0.06, 1, 0.97))

# %%
# What was compared
# -----------------
# Every penalty gives a graph, every graph a model without shrinkage, and BIC decides. The divergence from the true
# model, which real data do not show, agrees.
best = {order: graph.path_["criterion"][graph.path_["order"] == order].min() for order in (1, 2, 3)}
print("smallest BIC by order:", {order: round(value) for order, value in best.items()})
for name, model in (("chosen", graph), ("least squares", plain)):
    print(f"divergence from the truth, {name}: {ar_kl(truth['inverse_spectrum'], model.inverse_spectrum_):.2f}")

# %%
# How sure is each edge?
# ----------------------
# Halves of a series are stretches of it, so that neighbours in time stay together.
stability = edge_stability(ARGraphicalLasso(0.06, order=2), X, n_edges_each=15, n_pairs=10, random_state=0)
print(stability)
stability.plot()

# %%
# When to use which
# -----------------
# - Rows in time order and edges at any lag: ``ARTopologySelector``; orders up to 3 or so, because each lag adds as many
#   numbers as there are pairs.
# - Fewer rows than parameters: ``ARGraphicalLasso``, whose shrinkage is safer than a model on a badly chosen graph.
# - ``penalty="inf"`` where whole pairs matter; "2" is between; "1" removes single lags.
# - The graph has no direction. What follows what is in ``ar_coef_``.
# - ``alpha`` with ``order=0`` is that of :class:`~fewer.graph.SparsePrecision`.
# - To classify a series, fit a model for each class and compare their ``score``.
# - Missing values are refused: impute gaps first.
