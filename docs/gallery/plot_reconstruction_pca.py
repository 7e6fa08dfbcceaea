"""
How many directions rebuild a table well enough?
================================================

:class:`~fewer.extract.ReconstructionPCA` keeps the smallest number of directions that loses less than a stated share
of the variance. The whole curve of losses comes with one fit, so the choice can be looked at before it is believed.

Use it when the new columns replace the old ones: compressing, denoising, handing on a smaller table.
When they have to predict a target, a loss that is small in variance can still be large in what matters; evaluate that
by itself.
"""

# %%
# Scanned digits have 64 pixels each. A loss of 5% needs far fewer columns than that.
import matplotlib.pyplot as plt

from fewer.datasets import load
from fewer.extract import ReconstructionPCA

digits = load("digits")
pca = ReconstructionPCA(epsilon=0.05).fit(digits.X)
print(f"{pca.n_components_} of {digits.n_columns} directions lose {pca.discarded_ratio_:.1%}")

# %%
# The curve: every loss that could have been tolerated, and how many directions it takes.
figure, axes = plt.subplots(figsize=(7, 4))
axes.plot(100 * pca.discarded_ratios_, color="#1f5f8b")
axes.axhline(5, color="grey", linewidth=1, linestyle="--")
axes.plot(pca.n_components_, 100 * pca.discarded_ratio_, "o", color="#c8553d")
axes.annotate(
    f"{pca.n_components_} directions",
    (pca.n_components_, 100 * pca.discarded_ratio_),
    xytext=(10, 12),
    textcoords="offset points",
)
axes.set(xlabel="directions kept", ylabel="variance lost (%)", xlim=(0, 64), ylim=(0, 100))
axes.spines[["top", "right"]].set_visible(False)
figure.tight_layout()

# %%
# What the loss looks like: the same digit rebuilt within 50%, 20%, 5% and 1%.
tolerances = (0.5, 0.2, 0.05, 0.01)
figure, panels = plt.subplots(2, 5, figsize=(7, 3.2))
for row, rebuilt_row in zip((0, 7), panels, strict=True):
    rebuilt_row[0].imshow(digits.X[row].reshape(8, 8), cmap="gray_r")
    rebuilt_row[0].set_title("as scanned" if row == 0 else "", fontsize=9)
    for epsilon, panel in zip(tolerances, rebuilt_row[1:], strict=True):
        model = ReconstructionPCA(epsilon=epsilon).fit(digits.X)
        image = model.inverse_transform(model.transform(digits.X[[row]]))
        panel.imshow(image.reshape(8, 8), cmap="gray_r")
        panel.set_title(f"{epsilon:.0%}: {model.n_components_} of 64" if row == 0 else "", fontsize=9)
for panel in panels.flat:
    panel.axis("off")
figure.tight_layout()
