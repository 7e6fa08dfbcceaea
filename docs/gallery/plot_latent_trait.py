"""
A scale behind answers
======================

:class:`~fewer.latent.LatentTrait` places rows on a scale by their answers to a few items: abilities by right and wrong
answers, attitudes by votes, severity by symptoms. It is known as item response theory. Each item has a slope (how much
it says about the trait) and a difficulty (where on the scale it separates rows). Use it for answers that are
categories; :class:`~fewer.latent.FactorAnalysis` does the same for numbers, and :class:`~fewer.latent.LatentClass`
finds types of rows instead of a scale.
"""

# %%
# Votes in Congress
# -----------------
# Votes of 232 members of the US House of Representatives in 1984, "y" or "n". A tenth of them is removed here: missing
# answers are left out of the likelihood, and nothing is imputed. One of the 16 votes (x5) is left out, because it
# separates the members perfectly: its slope would grow without limit, and a warning would say so.
import matplotlib.pyplot as plt
import numpy as np

from fewer.datasets import load
from fewer.latent import LatentTrait

votes = load("housevotes")
answers = votes.X.to_pandas().drop(columns="x5")
rng = np.random.default_rng(0)
answers = answers.mask(rng.random(answers.shape) < 0.1)
model = LatentTrait(n_quadrature=121).fit(answers)
table = model.item_table()
print(table)

# %%
# The curve of an item is the probability of "y" along the scale. Steep curves separate; flat ones (x2, x10) have little
# to do with it.
figure, axes = plt.subplots(figsize=(6.4, 4.2))
shown = {"x4": "#2f7fb5", "x8": "#cf5f47", "x6": "#3d9970", "x16": "#d99a2b", "x3": "#8f6bb3", "x10": "grey"}
for name, colour in shown.items():
    axes.plot(table.points, table.curves[name], color=colour, label=name)
axes.set(xlabel="trait", ylabel="probability of a yes", xlim=(-3, 3), ylim=(0, 1))
axes.legend(frameon=False, ncol=2)
figure.tight_layout()

# %%
# Members on the scale
# --------------------
# The model did not see the party.
place = model.transform(answers)[:, 0]
figure, axes = plt.subplots(figsize=(6.4, 3.6))
bins = np.linspace(-2.5, 2.5, 26)
for party, colour in {"democrat": "#2f7fb5", "republican": "#cf5f47"}.items():
    axes.hist(place[np.asarray(votes.y) == party], bins=bins, color=colour, alpha=0.6, label=party)
axes.set(xlabel="posterior mean of the trait", ylabel="members")
axes.legend(frameon=False)
figure.tight_layout()

# %%
# Ordinal items
# -------------
# Grades of tumours, in four levels. With ``ordinal`` an item has one slope, and a difficulty for each step to the next
# grade; the BIC shows whether that is enough.
grades = np.digitize(np.asarray(load("wisconsin").X, dtype=float)[:, [0, 3, 4, 6, 7, 8]], [1.5, 4.5, 7.5])
ordinal, nominal = LatentTrait(ordinal=range(6)).fit(grades), LatentTrait().fit(grades)
print(f"BIC {ordinal.bic(grades):.0f} with one slope for each item, {nominal.bic(grades):.0f} with one for each grade")
print(ordinal.item_table())
