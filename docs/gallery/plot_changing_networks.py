"""
Networks that change with time
==============================

In a series of measurements, which column acts on which at the next time step, and does that stay the same? For
:class:`~fewer.graph.NonStationaryDBN` the answer may change at unknown times: edges appear and vanish, and each has a
probability at every row.

Use it for series of discrete values, or of values that can be cut into a few levels, from some dozens of rows on: gene
expression along a development, sensors of a machine that is rebuilt, spike trains. Do not use it where the *strength*
of dependencies changes but not who depends on whom, or where changes are gradual.
"""

# %%
# Seven epochs
# ------------
# Ten columns of zeros and ones, 1,020 rows. Eight edges at first; then, six times, one edge appears or vanishes. One of
# the epochs has 20 rows only. The model knows none of this.
import matplotlib.pyplot as plt
import numpy as np

from fewer.datasets import make_changing_network
from fewer.graph import NonStationaryDBN, independent_edge_proba

X, _, truth = make_changing_network(random_state=1)
model = NonStationaryDBN(lambda_s=5, lambda_m=5, max_parents=3, max_iter=300_000, n_chains=5, random_state=0).fit(X)
print(f"R-hat {model.r_hat_:.2f}: the chains {'agree' if model.r_hat_ < 1.1 else 'do not quite agree'}")

# %%
# A row of the picture for each edge: blue where it is probable. The bars below show where an epoch begins.
model.plot()

# %%
# The truth, drawn in the same way. Edges to columns with other parents take more rows to be noticed, so that their
# times are less sharp.
edges = [tuple(edge) for edge in np.argwhere(truth["networks"].any(axis=0))]
epoch = np.searchsorted(truth["transition_times"], np.arange(1, len(X)), side="right")
figure, axes = plt.subplots(figsize=(7, 3.6))
axes.imshow(
    [truth["networks"][epoch, parent, child] for parent, child in edges],
    aspect="auto",
    cmap="Blues",
    vmax=1.2,
    interpolation="none",
)
axes.set_yticks(range(len(edges)), [f"x{parent} → x{child}" for parent, child in edges])
axes.set(xlabel="row of the series", title="the true edges")
figure.tight_layout()

# %%
# How many epochs, and when
# -------------------------
for number, share in enumerate(model.n_epochs_posterior_, start=1):
    if share > 0.01:
        print(f"{number} epochs: probability {share:.2f}")
print(f"most probable starts: {model.best_transition_times_.tolist()}")
print(f"true starts:          {truth['transition_times'].tolist()}")

# %%
# The network at one row
# ----------------------
# ``edges_at`` gives the table; ``to_networkx(t)`` hands the network to networkx.
print(model.edges_at(500))
model.plot(t=500)

# %%
# Why not one network for each epoch?
# -----------------------------------
# Even where the times are known, an epoch of 20 rows has little information by itself. Epochs that differ in one
# edge only can learn from one another. Right edges among those found (precision), and found
# among the right ones (recall):
known = NonStationaryDBN(
    truth["transition_times"], lambda_s=2, max_parents=3, max_iter=100_000, n_chains=5, random_state=0
).fit(X)
alone = independent_edge_proba(X, truth["transition_times"]) > 0.5
first_rows = [1, *truth["transition_times"]]
together = np.array([known.edge_proba_[row - 1] > 0.5 for row in first_rows])


def precision_and_recall(found, true):
    hits = (found & true).sum(axis=(1, 2))
    return hits / found.sum(axis=(1, 2)), hits / true.sum(axis=(1, 2))


lengths = np.diff([0, *truth["transition_times"], len(X)])
figure, panels = plt.subplots(1, 2, figsize=(7, 3.2), sharey=True)
for found, colour, label in ((alone, "#cf5f47", "each epoch alone"), (together, "#2f7fb5", "NonStationaryDBN")):
    for panel, values in zip(panels, precision_and_recall(found, truth["networks"]), strict=True):
        order = np.argsort(lengths)
        panel.plot(lengths[order], values[order], "o-", color=colour, label=label)
for panel, title in zip(panels, ("precision", "recall"), strict=True):
    panel.set(title=title, xlabel="rows of the epoch", xscale="log", ylim=(0, 1.05))
    panel.set_xticks([20, 50, 100, 200, 400], [20, 50, 100, 200, 400])
    panel.minorticks_off()
panels[0].legend(loc="lower right")
figure.tight_layout()
