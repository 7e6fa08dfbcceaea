"""
How to get 90% accuracy from pure noise
=======================================

Choosing columns on all rows, and cross-validating afterwards, is the commonest mistake in feature selection. The folds
are then scored by columns that were chosen with a look at their labels. Here it turns random numbers into a model that
seems to be right nine times out of ten. Three lines avoid it.
"""

# %%
# A table with nothing in it: 50 rows, 2,000 columns of random numbers, and labels that have nothing to do with them. No
# rule is right more than half of the time.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from fewer.evaluate import NestedSelectionCV, selection_curve

rng = np.random.default_rng(0)
X, y = rng.normal(size=(50, 2000)), np.arange(50) % 2

# %%
# The mistake: the 20 best columns first, then cross-validation.
chosen_first = SelectKBest(k=20).fit_transform(X, y)
print(f"chosen first: {cross_val_score(RidgeClassifier(), chosen_first, y, cv=5).mean():.0%}")

# %%
# **The three lines that avoid it.** The selector is a step of the model, so that every fold makes its own choice from
# the rows held in.
model = make_pipeline(SelectKBest(k=20), RidgeClassifier())
honest = cross_val_score(model, X, y, cv=5)
print(f"chosen inside the folds: {honest.mean():.0%}")

# %%
# That was no accident of one table. Here are a hundred of them.
first, inside = [], []
for seed in range(100):
    noise = np.random.default_rng(seed).normal(size=X.shape)
    best = SelectKBest(k=20).fit_transform(noise, y)
    first.append(cross_val_score(RidgeClassifier(), best, y, cv=5).mean())
    inside.append(cross_val_score(model, noise, y, cv=5).mean())

figure, axes = plt.subplots(figsize=(7.5, 3.4))
bins = np.linspace(0.2, 1, 33)
axes.hist(first, bins, color="#cf5f47", alpha=0.85, label=f"chosen first: {np.mean(first):.0%} on average")
axes.hist(inside, bins, color="#2f7fb5", alpha=0.85, label=f"chosen inside the folds: {np.mean(inside):.0%}")
axes.axvline(0.5, color="grey", linestyle=":")
axes.set(xlabel="cross-validated accuracy on pure noise", ylabel="tables of 100")
axes.legend(loc="upper left", frameon=False)
axes.spines[["top", "right"]].set_visible(False)
figure.tight_layout()

# %%
# Looking for the best number of columns adds a second mistake on top: even when every fold makes its own choice, the
# largest of many noisy means is too high. :func:`~fewer.evaluate.selection_curve` scores all sizes on the rows held
# out, and *cross-indexing* reads the score of a size on folds that did not choose it.
curve = selection_curve(SelectKBest(), RidgeClassifier(), X, y, n_repeats=5, random_state=0)
print(curve)
print(f"\nlargest mean: {curve.cross_index('outer').benefit:+.3f} (optimistic)")
print(f"cross-indexing A: {curve.cross_index('A').benefit:+.3f}")

# %%
# The curve of someone who chooses first, beside the unbiased one. The band is the standard deviation over folds. The
# unbiased curve finds nothing at any size; on a single table it strays from a half by chance, up or down.
folds = [(np.setdiff1d(np.arange(50), rows), rows) for rows in np.array_split(rng.permutation(50), 5)]
order = np.argsort(-SelectKBest().fit(X, y).scores_)
fooled = [cross_val_score(RidgeClassifier(), X[:, order[:size]], y, cv=folds).mean() for size in curve.sizes]

figure, axes = plt.subplots(figsize=(7.5, 3.6))
spread = curve.scores.std(axis=(0, 1))
axes.semilogx(curve.sizes, fooled, color="#cf5f47", label="chosen first, on all rows")
axes.semilogx(curve.sizes, curve.mean, color="#2f7fb5", label="chosen inside the folds")
axes.fill_between(curve.sizes, curve.mean - spread, curve.mean + spread, color="#2f7fb5", alpha=0.15, linewidth=0)
axes.axhline(0.5, color="grey", linestyle=":")
axes.set(xlabel="columns used", ylabel="accuracy", ylim=(0.2, 1.02))
axes.legend(frameon=False, loc="lower right")
axes.spines[["top", "right"]].set_visible(False)
figure.tight_layout()

# %%
# One object that does all of it, selects on all rows in the end, and predicts:
# :class:`~fewer.evaluate.NestedSelectionCV`. Its interval for the benefit contains zero.
study = NestedSelectionCV(SelectKBest(), RidgeClassifier(), n_repeats=5, random_state=0).fit(X, y)
low, high = study.benefit_interval_
print(f"benefit of selecting {study.best_size_} columns: {study.benefit_:+.3f}, between {low:+.3f} and {high:+.3f}")

# %%
# And a list of columns that was made beforehand is refused.
try:
    selection_curve(order[:20], RidgeClassifier(), X, y)
except TypeError as error:
    print(error)
