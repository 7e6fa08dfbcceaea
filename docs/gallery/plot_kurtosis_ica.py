"""
Unmixing sensors in closed form
===============================

:class:`~fewer.extract.KurtosisICA` finds independent sources behind mixed columns with two eigendecompositions: no
iterations, no starting values, no learning rate. It tells the sources apart by the shape of their distributions
(their kurtosis).

Use it when every column is a mixture of a few independent sources and these differ in shape. It warns when they do
not: of sources with equal kurtosis, only the space that they span can be found.
"""

# %%
# Three signals reach three sensors, each sensor hearing all of them.
import warnings

import matplotlib.pyplot as plt
import numpy as np

from fewer.extract import KurtosisICA

time = np.linspace(0, 8, 4000)
rng = np.random.default_rng(0)
signals = {
    "hum": np.sin(9 * time),
    "bursts": rng.laplace(size=time.size),
    "steps": np.sign(np.sin(4 * time)) + 0.05 * rng.normal(size=time.size),
}
sources = np.column_stack([signal / signal.std() for signal in signals.values()])
sensors = sources @ np.array([[1.0, 0.6, 0.5], [0.4, 1.0, 0.7], [0.8, 0.5, 1.0]])
ica = KurtosisICA().fit(sensors)
found = ica.transform(sensors)

# %%
# Sources come in the order of their kurtosis; sign and size are not theirs to keep.
figure, panels = plt.subplots(3, 3, figsize=(8, 4.5), sharex=True)
order = np.abs(np.corrcoef(found.T, sources.T)[:3, 3:]).argmax(axis=0)
for row, name in enumerate(signals):
    panels[row, 0].plot(time, sources[:, row], linewidth=0.4, color="grey")
    panels[row, 0].set_ylabel(name)
    panels[row, 1].plot(time, sensors[:, row], linewidth=0.4, color="#1f5f8b")
    panels[row, 2].plot(time, found[:, order[row]], linewidth=0.4, color="#c8553d")
    panels[row, 2].set_title(f"kurtosis {ica.kurtosis_[order[row]]:.1f}", fontsize=8, loc="right")
for panel, title in zip(panels[0], ("sources", "what the sensors hear", "what is found"), strict=True):
    panel.set_title(title, fontsize=10, loc="left")
for panel in panels.flat:
    panel.set(xticks=[], yticks=[])
figure.tight_layout()

# %%
# Two sources of the same shape cannot be separated this way, and there is a warning.
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    KurtosisICA().fit(rng.uniform(size=(2000, 2)) @ np.array([[1.0, 0.6], [0.4, 1.0]]))
print(said[0].message)
