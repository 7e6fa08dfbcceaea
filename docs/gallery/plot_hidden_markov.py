"""
States over time
================

Rows in time order often switch between a few regimes: sleep stages, markets that are calm or nervous, machines that run
or idle. :class:`~fewer.latent.HiddenMarkov` finds the regimes, how rows look in each, and which regime follows which.

Use it where the order of rows matters and regimes last, or follow each other in a pattern. Where the order of rows
means nothing, a mixture does the same with fewer parameters; where the series drifts slowly instead of switching, a
hidden Markov model cuts the drift into pieces that do not exist.
"""

# %%
# A night of a wearable sensor
# ----------------------------
# Pulse and the logarithm of movement for every minute of one night, simulated. The sensor loses contact now and then:
# these values are missing, and stay so. The model leaves them out of the likelihood, which is exact where they are
# missing at random.
import numpy as np
import pandas as pd

from fewer.latent import HiddenMarkov, plot_states, select_n_components

rng = np.random.default_rng(7)
steps = np.array([[0.97, 0.02, 0.01], [0.02, 0.97, 0.01], [0.01, 0.03, 0.96]])
stage = [0]
for _ in range(479):
    stage.append(rng.choice(3, p=steps[stage[-1]]))
stage = np.array(stage)
night = pd.DataFrame(
    {
        "pulse": rng.normal(np.array([62, 54, 66])[stage], 2.5),
        "movement": rng.normal(np.array([0.5, -1.0, 0.2])[stage], 0.6),
    }
)
night.loc[150:165, "pulse"] = np.nan
night[rng.random(night.shape) < 0.05] = np.nan
night.describe().round(1)

# %%
# How many states?
# ----------------
# BIC counts one long series as one sequence. With several series, ``groups`` holds the series of each row, and
# ``criterion="cv"`` leaves out whole series.
choice = select_n_components(HiddenMarkov(n_init=3, random_state=0), night, [1, 2, 3, 4, 5])
print(choice)

# %%
# The states
# ----------
# States are numbered by the share of rows that they hold. The transition matrix shows how long they last: a
# state that stays with probability ``a`` lasts ``1 / (1 - a)`` rows on average.
model = HiddenMarkov(choice.n_components, random_state=0).fit(night)
table = pd.DataFrame(model.means_, columns=model.feature_names_in_)
table["share"] = model.weights_
table["minutes"] = 1 / (1 - np.diag(model.transition_matrix_))
table.round(2)

# %%
# The dots have the colour of the most likely sequence of states as a whole (``predict``); the areas below are posterior
# probabilities (``predict_proba``), which show where the model is not sure, such as in the gap after row 150.
plot_states(model, night, column="pulse")

# %%
# How often is the stage right? Numbers of states are arbitrary, so each is compared with the stage that it meets most.
found = model.predict(night)
names = {state: np.bincount(stage[found == state]).argmax() for state in np.unique(found)}
print(f"{np.mean([names[state] for state in found] == stage):.0%} of the minutes")

# %%
# Text, counts, and several series
# --------------------------------
# ``emission="categorical"`` takes text as it is, "bernoulli" zeros and ones, "poisson" counts. Short series of many
# people are one table: all rows below each other, and ``groups`` with the person.
diary = pd.DataFrame({"weather": rng.choice(["dry", "wet"], 200), "walk": rng.choice(["yes", "no", None], 200)})
person = np.repeat(np.arange(20), 10)
habits = HiddenMarkov(2, emission="categorical", n_init=5, tol=1e-5, random_state=0).fit(diary, groups=person)
print(habits.categories_[1], habits.probabilities_[1].round(2))
