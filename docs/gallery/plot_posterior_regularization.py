"""
Steering a clustering by what is known on average
=================================================

A clustering finds the groups that are easiest to see, which need not be those that you mean. Often something is known
of these: *at least three quarters of the people in this ward are ill; of those in the other, at most one quarter.* Such
knowledge is about averages, not about single rows, so that it is no label. With posterior regularization, EM can use
it: :class:`~fewer.latent.PosteriorRegularizedMixture` takes constraints on shares, counts or any linear function of the
groups, and finds the mixture that fits best among those that meet them.

Use it when you know shares, counts or totals of groups in parts of the table. Do not use it to force a result: a
constraint that the data contradict costs a large divergence (``kl_``), and the fitted model alone does not meet it
(``model_violation_``).
"""

# %%
# Two wards
# ---------
# Two columns. The second has two clear groups, which have nothing to do with the illness; the first one shows the
# illness, less clearly.
import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from fewer.latent import (
    L1LinfSparsity,
    PosteriorRegularizedHMM,
    PosteriorRegularizedMixture,
    ProportionConstraint,
    kl_project,
    l1linf_score,
)

rng = np.random.default_rng(0)
ward = np.repeat(["A", "B"], 200)
ill = (rng.random(400) < np.where(ward == "A", 0.8, 0.2)).astype(int)
other = rng.integers(2, size=400)
table = pd.DataFrame(
    {
        "marker": 2 * ill - 1 + 0.5 * rng.normal(size=400),
        "age group": 3 * (2 * other - 1) + 0.5 * rng.normal(size=400),
        "ward": ward,
    }
)

# %%
# What is known: component 1 are the ill, at least 75% of ward A and at most 25% of ward B. The column that a constraint
# names is not part of the model.
known = [
    ProportionConstraint(("ward", "A"), component=1, lower=0.75),
    ProportionConstraint(("ward", "B"), component=1, upper=0.25),
]
plain = PosteriorRegularizedMixture(2, random_state=0).fit(table[["marker", "age group"]])
steered = PosteriorRegularizedMixture(2, known, random_state=0).fit(table)

figure = make_subplots(1, 2, subplot_titles=["plain EM", "steered by the two shares"], shared_yaxes=True)
for column, (model, frame) in enumerate([(plain, table[["marker", "age group"]]), (steered, table)], start=1):
    found = model.predict(frame)
    for component, colour in enumerate(["#2f7fb5", "#cf5f47"]):
        own = table[found == component]
        figure.add_trace(
            go.Scatter(
                x=own["marker"],
                y=own["age group"],
                mode="markers",
                marker={"color": colour, "size": 5},
                name=f"component {component}",
                showlegend=column == 2,
            ),
            row=1,
            col=column,
        )
figure.update_xaxes(title="marker")
figure.update_yaxes(title_text="age group", row=1, col=1)
figure.update_layout(height=380, margin={"t": 40})

# %%
# Plain EM separates what is easiest to separate. With two sentences of knowledge, the same model finds the illness.
agreement = np.mean(plain.predict(table[["marker", "age group"]]) == ill)
print(f"plain EM: {max(agreement, 1 - agreement):.0%} of the rows")
print(f"steered:  {np.mean(steered.predict(table) == ill):.0%}")
print(f"divergence {steered.kl_:.2f} nats, the model alone violates the shares by {steered.model_violation_:.3f}")

# %%
# New rows need no constraints: ``predict`` uses the model. ``predict_with="q"`` projects them on the constraints too,
# and ``constraint_violation`` tells how far the model is from them on another table.
print(f"{steered.constraint_violation(table.iloc[::2]):.3f}")

# %%
# If bounds contradict each other, an error is raised. With ``slack="penalty"`` they have a price instead.
impossible = [*known, ProportionConstraint(("ward", "A"), component=0, lower=0.5)]
try:
    PosteriorRegularizedMixture(2, impossible, random_state=0).fit(table)
except ValueError as error:
    print(error)
compromise = PosteriorRegularizedMixture(2, impossible, slack="penalty", slack_strength=100, random_state=0).fit(table)
print(f"largest violation with a price of 100: {compromise.violation_:.2f}")

# %%
# Probabilities of any classifier
# -------------------------------
# :func:`~fewer.latent.kl_project` does the projection alone, for probabilities from anywhere: it changes them as
# little as possible. Here a classifier is sure that 70% are positive, and 50% is known.
probabilities = rng.beta([[7.0]], [[3.0]], size=(1000, 1))
probabilities = np.hstack([1 - probabilities, probabilities])
half = kl_project(np.log(probabilities), ProportionConstraint(np.arange(1000), 1, 0.5, 0.5))
print(half)
print(f"mean probability {probabilities[:, 1].mean():.2f} before, {half.q[:, 1].mean():.2f} after")

# %%
# Few states for each word
# ------------------------
# A constraint need not be about a share. :class:`~fewer.latent.L1LinfSparsity` is a penalty for groups of rows that
# have many states: occurrences of one word, which are nouns or verbs but not everything. In a hidden Markov model
# (:class:`~fewer.latent.PosteriorRegularizedHMM`) it makes states sharper.
#
# Here are 300 sentences of ten words, from five tags that follow each other; each word has one tag.
rng = np.random.default_rng(1)
steps = 0.05 + 0.5 * np.roll(np.eye(5), 1, axis=1) + 0.25 * np.roll(np.eye(5), 2, axis=1)
frequencies = rng.dirichlet(np.ones(10), size=5)
sentence, tags, words = np.repeat(np.arange(300), 10), [], []
for place in range(3000):
    tags.append(rng.integers(5) if place % 10 == 0 else rng.choice(5, p=steps[tags[-1]]))
    words.append(f"word {tags[-1] + 5 * rng.choice(10, p=frequencies[tags[-1]])}")
tags, words = np.array(tags), np.array(words)
for name, constraints in (("plain EM", ()), ("with the penalty", L1LinfSparsity(words, alpha=32, min_count=0))):
    model = PosteriorRegularizedHMM(5, constraints, max_iter=100, tol=1e-5, random_state=1)
    shares = model.fit(words[:, None], groups=sentence).predict_proba(words[:, None], groups=sentence)
    state = shares.argmax(axis=1)
    right = sum(np.bincount(tags[state == each]).max() for each in np.unique(state)) / len(tags)
    print(f"{name}: {l1linf_score(shares, words):.2f} states for each word; the tag of {right:.1%} of the words")
