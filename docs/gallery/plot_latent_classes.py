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
# Votes of all 435 members of the US House of Representatives on 16 bills in 1984 (Congressional Quarterly Almanac,
# collected by J. Schlimmer for the `UCI repository <https://doi.org/10.24432/C5C01P>`_, licence CC BY 4.0; letters are
# written as words here). A blank is an abstention or absence: 392 of the 6,960 votes, and only 232 members voted each
# time. So leaving out incomplete rows would lose
# nearly half of the House. The file is read as a survey comes: text, with blanks.
import numpy as np
import pandas as pd

from fewer.complete import missing_pattern
from fewer.datasets import load
from fewer.latent import (
    LatentClass,
    LatentProfile,
    match_components,
    select_n_components,
    three_step_covariates,
    three_step_outcome,
)

house = pd.read_csv("house_votes_1984.csv")
party, table = house["party"], house.drop(columns="party")
table.iloc[:4, :6]

# %%
# Does missing depend on what is there? A vote that is missing because of itself would bias the classes; one that is
# missing because of other columns would not. A quarter of the House did not vote on South Africa; all other votes are
# nearly complete.
print(missing_pattern(table))

# %%
# How many classes?
# -----------------
# BIC compares the likelihood of each number of classes with its parameters.
choice = select_n_components(LatentClass(random_state=0), table, [1, 2, 3, 4, 5, 6, 7], criterion="bic")
print(choice)
choice.plot()

# %%
# A test says more: tables are drawn from the model with two classes, with the same missing votes, and both models are
# fitted to each. Is the gain of a third class larger than on those? (A chi-squared table would not be right here.)
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
# Three classes are shown, which have most of the gain; the others divide both parties further.
model = LatentClass(3, random_state=0).fit(table)
profile = model.profile()
print(profile)

# %%
profile.plot()

# %%
# Who is in the classes
# ---------------------
# The parties were not in the table. ``transform`` gives the probabilities of the classes as new columns, and they do
# not need a complete row.
pd.crosstab(party.to_numpy(), model.predict(table), rownames=["party"], colnames=["class"])

# %%
# What the classes depend on, and what depends on them
# ----------------------------------------------------
# The most likely class of a row is sometimes the wrong one, so a table or a regression of the assigned classes
# understates every relation. The three-step method knows how often assignments are wrong, and corrects for it.
# :func:`~fewer.latent.three_step_outcome` compares a column between the classes, and
# :func:`~fewer.latent.three_step_covariates` regresses the classes on columns. Here the party is the outcome.
comparison = three_step_outcome(model, table, party.to_numpy())
print(comparison)

# %%
# As a covariate it gives the log odds of the classes.
republican = pd.DataFrame({"republican": party.to_numpy() == "republican"}).astype(float)
print(three_step_covariates(model, table, republican))

# %%
# What leaving out incomplete rows would cost
# -------------------------------------------
# With the 232 members who voted each time the classes are about the same, but standard errors are larger, and the other
# 203 members have no class. Classes have no order of their own (the largest comes first), so they are matched before
# they are compared.
complete = table.dropna()
fewer_rows = LatentClass(3, random_state=0).fit(complete)
partners = match_components(fewer_rows.components_, model.components_).partners
same = np.mean(model.predict(complete) == partners[fewer_rows.predict(complete)])
print(f"same class by both: {same:.1%} of {len(complete)} members")
print(f"mean standard error: {np.nanmean(np.concatenate(model.probability_errors_)):.3f} with all rows,")
print(f"{np.nanmean(np.concatenate(fewer_rows.probability_errors_)):.3f} with complete rows")

# %%
# Posterior instead of maximum
# ----------------------------
# ``solver="variational_bayes"`` gives posteriors of all probabilities and a bound on the log evidence, which compares
# numbers of classes as well. Its posterior variances are too small; those of draws by ``solver="gibbs"`` are not.
bayes = LatentClass(solver="variational_bayes", n_init=5, random_state=0)
print(select_n_components(bayes, table, [1, 2, 3, 4, 5, 6], criterion="bound"))

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
