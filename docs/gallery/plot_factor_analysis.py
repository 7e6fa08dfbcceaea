"""
Factors behind the columns of a table
=====================================

:class:`~fewer.latent.FactorAnalysis` explains the correlations of columns by a few unobserved factors; what is left of
each column is noise of its own. Use it for items of a questionnaire, test scores or measurements that indicate
something which was not measured itself. Missing values are taken as they are. Principal components are the better
choice when you want to keep as much variance as possible and do not ask what it stands for.
"""

# %%
# How many factors
# ----------------
# Chemical measurements of 178 wines. BIC weighs the likelihood against the number of loadings. Four factors have the
# best value, but from four on the noise variance of a column falls to zero (a Heywood case, which a warning names): the
# fourth factor is that column itself. So three factors are kept below.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from fewer.latent import FactorAnalysis, MixtureOfFactorAnalyzers, select_n_components

wine = load_wine(as_frame=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    choice = select_n_components(FactorAnalysis(), wine.data, [1, 2, 3, 4, 5])
print(choice)
print(caught[0].message)

# %%
# The table that people publish
# -----------------------------
# Any rotation of the factors fits as well. Varimax looks for one in which each column has few large loadings; "promax",
# "oblimin" and "geomin" also let the factors be correlated. The largest loadings name the factors: phenols, strength
# and colour, ash.
model = FactorAnalysis(3, rotation="varimax").fit(wine.data)
table = model.loadings_table(threshold=0.3)
print(table)

# %%
table.plot()

# %%
# Rows by their factor scores
# ---------------------------
# The model did not see the grower.
scores = model.transform(wine.data)
figure, axes = plt.subplots(figsize=(6.4, 4.5))
for label, colour in enumerate(["#2f7fb5", "#cf5f47", "#3d9970"]):
    own = wine.target == label
    axes.scatter(scores[own, 0], scores[own, 1], color=colour, label=f"grower {label + 1}", s=18)
axes.set(xlabel="factor 1: phenols", ylabel="factor 2: strength and colour")
axes.legend(frameon=False)
figure.tight_layout()

# %%
# Missing values
# --------------
# Three of ten entries are removed at random. Scores use what is left of each row, and loadings the whole likelihood of
# what was observed; nothing is imputed. With column means in the place of missing values, correlations shrink and
# loadings with them.
rng = np.random.default_rng(0)
incomplete = wine.data.mask(rng.random(wine.data.shape) < 0.3)
observed = FactorAnalysis(1).fit(incomplete)
imputed = FactorAnalysis(1).fit(incomplete.fillna(incomplete.mean()))
complete = FactorAnalysis(1).fit(wine.data)

figure, axes = plt.subplots(figsize=(5.4, 4.6))
axes.plot([-1, 1], [-1, 1], color="grey", linestyle=":")
axes.plot(complete.loadings_[:, 0], observed.loadings_[:, 0], "o", color="#2f7fb5", label="FactorAnalysis, as it is")
axes.plot(complete.loadings_[:, 0], imputed.loadings_[:, 0], "o", color="#d99a2b", label="column means first")
axes.set(xlabel="loading, complete table", ylabel="loading, 30% missing")
axes.legend(frameon=False)
figure.tight_layout()

# %%
# A posterior instead of a maximum
# --------------------------------
# ``solver="variational_bayes"`` gives a bound on the log evidence, and ``solver="gibbs"`` draws from the posterior.
# Neither lets a noise variance fall to zero. Draws are turned to one set of loadings before they are averaged, so their
# standard deviations are those of the loadings; here they are beside the standard errors of maximum likelihood.
bayes = FactorAnalysis(solver="variational_bayes")
print(select_n_components(bayes, wine.data, [1, 2, 3, 4, 5], criterion="bound"))
draws = FactorAnalysis(3, rotation="varimax", solver="gibbs", n_draws=300, n_burn_in=200, random_state=0).fit(wine.data)
print(f"standard deviations of draws: {draws.loading_errors_.mean():.3f} on average,")
print(
    f"standard errors: {model.loading_errors_.mean():.3f}; {draws.dic(wine.data).n_effective:.0f} effective parameters"
)

# %%
# Several kinds of rows
# ---------------------
# :class:`~fewer.latent.MixtureOfFactorAnalyzers` lets each group of rows have factors of its own. It finds groups that
# differ in how their columns go together, where means alone would not separate them: here two sheets that cross.
group = np.repeat([0, 1], 250)
along = np.array([[2, 2, 0, 1], [-1, 2, 2, 0]])[group]
sheets = 1.5 * rng.normal(size=(500, 1)) * along + 0.4 * rng.normal(size=(500, 4))
mixture = MixtureOfFactorAnalyzers(2, random_state=0).fit(sheets)
found = mixture.predict(sheets)
print(f"{max(np.mean(found == group), np.mean(found != group)):.0%} of the rows in the right group")

figure, axes = plt.subplots(figsize=(5.4, 4.6))
for label, colour in enumerate(["#2f7fb5", "#cf5f47"]):
    axes.scatter(*sheets[found == label][:, :2].T, color=colour, s=12, label=f"group {label}")
axes.set(xlabel="column 0", ylabel="column 1")
axes.legend(frameon=False)
figure.tight_layout()
