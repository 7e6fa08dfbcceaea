"""
Which selector for which columns?
=================================

No selector sees everything. Some take every useful column by itself and keep its copies too; some drop the copies; some
find columns that are informative only together; some find all of them and take longer. This page simulates a table with
all kinds of columns, and compares the families of selectors on it.
"""

# %%
# One table, four kinds of columns
# --------------------------------
# Two classes, 300 rows and 50 columns. Three columns each shift with the class (*alone*). Two more repeat the first of
# them, with a little noise (*copies*). The sign of the product of a pair separates part of the rows, and neither of
# the two is informative alone (*pair*). One column is wider in one class than in the other, with the same mean
# (*spread*). The other 42 are noise.
import time

import numpy as np
import plotly.graph_objects as go

from fewer.select import (
    CFS,
    FCBF,
    MRMR,
    ForestImportanceSelector,
    ForestRelevanceSelector,
    NearestNeighbourObjective,
    RidgeObjective,
    RidgeRFE,
    SelectTop,
    SequentialSearch,
    ShadowRelevanceSelector,
    VarianceWeightSelector,
)

PLANTED = ["alone 1", "alone 2", "alone 3", "copy of 1", "copy of 1 ", "pair a", "pair b", "spread"]


def table(seed, n_rows=300, n_noise=42):
    """A table with all kinds of columns in a random order, and where the planted ones are."""
    rng = np.random.default_rng(seed)
    pair = rng.normal(size=(n_rows, 2))
    y = (2.2 * np.sign(pair.prod(axis=1)) + rng.normal(size=n_rows) > 0).astype(int)
    alone = rng.normal(size=(n_rows, 3)) + 0.9 * y[:, None]
    copies = alone[:, [0, 0]] + 0.15 * rng.normal(size=(n_rows, 2))
    spread = rng.normal(size=n_rows) * np.where(y == 1, 2.2, 1.0)
    X = np.column_stack([alone, copies, pair, spread, rng.normal(size=(n_rows, n_noise))])
    order = rng.permutation(X.shape[1])
    return X[:, order], y, np.argsort(order)[: len(PLANTED)]


# %%
# Every family looks
# ------------------
# Each selector chooses from five such tables: eight columns, as many as were planted, or as many as it thinks right
# (FCBF, CFS, the forests). The picture shows how often each planted column is kept, and how many of the noise columns
# are. Copies should be dropped for a short list, and kept for a list of all relevant genes.
families = {
    "F test": SelectTop("anova", n_features_to_select=8),
    "Kolmogorov-Smirnov": SelectTop("kolmogorov_smirnov", n_features_to_select=8),
    "mutual information (k-NN)": SelectTop("knn_mutual_information", n_features_to_select=8, random_state=0),
    "ReliefF": SelectTop("relieff", n_features_to_select=8, random_state=0),
    "mRMR": MRMR(n_features_to_select=8),
    "FCBF": FCBF(),
    "CFS": CFS(),
    "ridge elimination": RidgeRFE(n_features_to_select=8),
    "forward search, ridge": SequentialSearch(RidgeObjective(), n_features_to_select=8),
    "forward search, neighbours": SequentialSearch(NearestNeighbourObjective(5), n_features_to_select=8),
    "backward search, neighbours": SequentialSearch(
        NearestNeighbourObjective(5), direction="backward", n_features_to_select=8
    ),
    "forest importance": ForestImportanceSelector(n_features_to_select=8, random_state=0),
    "forest elimination": ForestImportanceSelector(n_features_to_select=8, step=0.5, random_state=0),
    "forest relevance": ForestRelevanceSelector(1000, random_state=0),
    "shadow columns": ShadowRelevanceSelector(random_state=0),
    "variance weights (no target)": VarianceWeightSelector(n_features_to_select=8),
}
tables = [table(seed) for seed in range(5)]
found = np.zeros((len(families), len(PLANTED)))
others = np.zeros(len(families))
seconds = {}
for row, (name, selector) in enumerate(families.items()):
    started = time.perf_counter()
    for X, y, planted in tables:
        selector.fit(X, y)
        found[row] += selector.get_support()[planted]
        others[row] += selector.get_support().sum() - selector.get_support()[planted].sum()
    seconds[name] = (time.perf_counter() - started) / len(tables)
found /= len(tables)
others /= len(tables)

figure = go.Figure().update_layout(height=520)
figure.add_trace(
    go.Heatmap(
        z=np.column_stack([found, np.zeros(len(found))])[::-1],
        x=[*PLANTED, "noise columns kept"],
        y=list(families)[::-1],
        colorscale=[[0, "rgba(47, 127, 181, 0.04)"], [1, "rgb(47, 127, 181)"]],
        text=[[f"{value:.0%}" for value in row] + [f"{number:.1f}"] for row, number in zip(found, others, strict=True)][
            ::-1
        ],
        texttemplate="%{text}",
        hovertemplate="%{y}: %{x}, %{text}<extra></extra>",
        showscale=False,
        xgap=2,
        ygap=2,
    )
)
figure.update_xaxes(side="top", showline=False, ticks="")
figure.update_yaxes(showgrid=False, showline=False, ticks="")
figure.update_layout(margin={"t": 60, "b": 20})
figure  # noqa: B018 - the gallery shows the last expression

# %%
# What to take
# ------------
# Time for one table of 300 x 50, with the compilation of the first run spread over five:
for name, value in sorted(seconds.items(), key=lambda pair: pair[1]):
    print(f"{value:8.3f} s  {name}")

# %%
# - **A first cut of very many columns**: a score with :class:`~fewer.select.SelectTop`. The F test sees shifts of the
#   mean; Kolmogorov-Smirnov and mutual information also a change of spread. None sees the pair, all keep the copies.
# - **A short list without repetitions**: :class:`~fewer.select.MRMR`, :class:`~fewer.select.FCBF` or
#   :class:`~fewer.select.CFS`. They leave the copies out, and miss the pair as the scores do.
# - **A quick ranking for a linear model**: :class:`~fewer.select.RidgeRFE` drops the columns that add least to the
#   others, thousands of columns in a fraction of a second. It sees neither the pair nor the spread.
# - **Columns that work together**: ReliefF, as long as noise columns are not too many, or the forests. A forward search
#   cannot find a pair of which neither half helps by itself; a backward search can, because it starts with both.
#   :class:`~fewer.select.ForestImportanceSelector` is the quickest of the forests and ranks all columns; with
#   ``step=0.5`` it grows a new forest on the better half again and again.
# - **All columns that matter, copies included**: :class:`~fewer.select.ForestRelevanceSelector` with its p-values, or
#   :class:`~fewer.select.ShadowRelevanceSelector`.
# - **No target at all**: :class:`~fewer.select.VarianceWeightSelector` finds columns that vary together: here those
#   that shift with the class, and their copies.
#
# How much a selection gains is measured on held-out rows: use
# :func:`~fewer.evaluate.selection_curve`, or let ``fewer study`` compare several.
