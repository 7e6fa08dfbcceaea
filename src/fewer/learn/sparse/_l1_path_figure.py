"""The picture of a path: coefficients against the penalty."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fewer.learn.sparse._l1_path import L1Path


def path_figure(path: "L1Path", n_columns: int) -> Any:
    """Lines of the first columns to enter, named; the rest thin and grey."""
    from fewer._figures import GREY, new_figure, translucent

    coefs = path.coefs.tocsc()
    ever = np.flatnonzero(np.diff(coefs.indptr))
    order = ever[np.argsort(path.entered[ever], kind="stable")]
    figure = new_figure(
        title=f"{len(ever)} of {coefs.shape[1]} columns enter",
        x="C: weight of the loss (the penalty gets weaker to the right)",
        y="coefficient",
    )
    for place, column in enumerate(order):
        values = coefs[:, [column]].toarray().ravel()
        name = str(column) if path.feature_names is None else str(path.feature_names[column])
        named = place < n_columns
        figure.add_scatter(
            x=path.Cs, y=values, mode="lines", name=name, showlegend=named,
            line={"width": 2} if named else {"width": 0.7, "color": translucent(GREY, 0.5)},
        )  # fmt: skip
    figure.update_xaxes(type="log")
    figure.update_layout(
        legend={"title": "first to enter", "orientation": "v", "x": 1.02, "xanchor": "left", "y": 1, "yanchor": "top"},
    )
    return figure
