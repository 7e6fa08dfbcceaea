"""
Types of answers in a survey: latent classes
============================================

A survey has many questions, and some answers are missing. :class:`~fewer.latent.LatentClass` finds types of rows that
answer alike: within a class, the answers are independent. It takes text, categoricals and numbers as they are, and a
missing answer simply drops out of the likelihood, which is exact where answers are missing at random.

Not for measurements: :class:`~fewer.latent.LatentProfile` is for those, at the end of this page. And not where the
answers depend on one another within the classes, as two wordings of the same question do: the model then finds more
classes than there are.
"""

# %%
# Reading
# -------
# Votes of members of the US Congress of 1984. The copy of KEEL holds the members who have voted each time; here every
# sixth vote is lost, at random, and the table is written and read again as a survey comes: text, with blanks.
from io import StringIO

import numpy as np
import pandas as pd

from fewer.datasets import load
from fewer.latent import (
    LatentClass,
    LatentProfile,
    match_components,
    select_n_components,
    three_step_covariates,
    three_step_outcome,
)

bills = [
    "infants", "water", "budget", "physician fee", "El Salvador", "religious groups", "satellite", "Contras", "missile",
    "immigration", "synfuels", "education", "superfund", "crime", "exports", "South Africa",
]  # fmt: skip
congress = load("housevotes")
votes = pd.DataFrame(congress.X.to_numpy(), columns=bills).replace({"n": "no", "y": "yes"})
lost = np.random.default_rng(0).random(votes.shape) < 1 / 6
text = votes.mask(lost).to_csv(index=False)
table = pd.read_csv(StringIO(text))
table.iloc[:4, :6]

# %%
# How many classes?
# -----------------
# BIC compares the likelihood of each number of classes with its parameters.
choice = select_n_components(LatentClass(random_state=0), table, [1, 2, 3, 4, 5], criterion="bic")
print(choice)
choice.plot()

# %%
# A test says more: tables are drawn from the model with two classes, with the same missing votes, and both models are
# fitted to each. Is the gain of a third class larger than on those? (A chi-squared table would not be right here.)
# It goes one class further than BIC, which asks whether a class is worth its parameters; the table below has three.
# ``checkpoint="votes.jsonl"`` would let an interrupted test go on, and ``n_jobs=-1`` uses all cores.
tested = select_n_components(
    LatentClass(n_init=3, random_state=0), table, [1, 2, 3, 4, 5, 6], criterion="bootstrap", n_resamples=49
)
print(tested)
tested.plot()

# %%
# The table that is published
# ---------------------------
# Sizes of the classes, and the probability of each answer, with standard errors. The lines below say which questions
# separate the classes, how clearly rows belong to one, and how many of the random starts reached the best optimum.
model = LatentClass(choice.n_components, random_state=0).fit(table)
profile = model.profile()
print(profile)

# %%
profile.plot()

# %%
# Who is in the classes
# ---------------------
# The parties were not in the table. ``transform`` gives the probabilities of the classes as new columns, and they do
# not need a complete row.
pd.crosstab(np.asarray(congress.y), model.predict(table), rownames=["party"], colnames=["class"])

# %%
# What the classes depend on, and what depends on them
# ----------------------------------------------------
# The most likely class of a row is sometimes the wrong one, so a table or a regression of the assigned classes
# understates every relation. The three-step method knows how often assignments are wrong, and corrects for it.
# :func:`~fewer.latent.three_step_outcome` compares a column between the classes, and
# :func:`~fewer.latent.three_step_covariates` regresses the classes on columns. Here the party is the outcome.
comparison = three_step_outcome(model, table, np.asarray(congress.y))
print(comparison)

# %%
# As a covariate it gives the log odds of the classes.
republican = pd.DataFrame({"republican": np.asarray(congress.y) == "republican"}).astype(float)
print(three_step_covariates(model, table, republican))

# %%
# What the missing answers cost
# -----------------------------
# Nine of ten members are in the same class as with all votes; standard errors are somewhat larger. Classes
# have no order of their own (the largest comes first), so they are matched before they are compared.
complete = LatentClass(choice.n_components, random_state=0).fit(votes)
partners = match_components(model.components_, complete.components_).partners
same = np.mean(complete.predict(votes) == partners[model.predict(table)])
print(f"same class with all votes: {same:.1%} of members")
print(f"mean standard error: {np.nanmean(np.concatenate(model.probability_errors_)):.3f} with missing votes,")
print(f"{np.nanmean(np.concatenate(complete.probability_errors_)):.3f} with all")

# %%
# Numbers: latent profiles
# ------------------------
# For numbers, the classes have means and variances. Wines of three cultivars, with a tenth of the entries missing:
wine = load("wine")
X = pd.DataFrame(wine.X, columns=wine.columns)
X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
profiles = LatentProfile(3, random_state=0).fit(X)
print(pd.crosstab(np.asarray(wine.y), profiles.predict(X), rownames=["cultivar"], colnames=["profile"]))
profiles.profile().plot()
