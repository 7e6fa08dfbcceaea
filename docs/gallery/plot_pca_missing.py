"""
Principal components of a table with missing values
===================================================

:class:`~fewer.complete.PCAMissing` fits principal components to what is observed of a table, and nothing else. As a
transformer it imputes missing values, so it takes the place of an imputer; ``impute`` also gives the standard deviation
of each imputed value; ``project`` gives the scores of rows with missing values.

Use it when columns go together, so that what is observed of a row predicts the rest. Where columns have little in
common, column means are as good. Values may be missing depending on what is observed, but not on the value itself: if
large values are missing because they are large, nothing here corrects for that.
"""

# %%
# Half of every digit
# -------------------
# Scanned digits, 64 pixels each; half of the pixels are lost. ``with_std=True`` gives each pixel the same weight: some
# vary much more than others, and the model takes noise to be alike in all.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.impute import SimpleImputer

from fewer.complete import PCAMissing
from fewer.datasets import load

digits = np.asarray(load("digits").X, dtype=float)
rng = np.random.default_rng(0)
lost = rng.random(digits.shape) < 0.5
table = np.where(lost, np.nan, digits)

model = PCAMissing(n_components=15, with_std=True, random_state=0).fit(table)
filled, std = model.impute(table, return_std=True)
means = SimpleImputer().fit_transform(table)


def error(guess):
    """Root mean squared error at the lost pixels."""
    return np.sqrt(np.mean((guess - digits)[lost] ** 2))


print(f"PCAMissing {error(filled):.2f}, column means {error(means):.2f}; a pixel has values from 0 to 16")
print(f"{model.n_components_effective_} components are above the noise, found in {model.n_iter_} rounds")

# %%
# What is observed, the imputed values, their standard deviations, and the truth.
shown = [0, 2, 5, 8, 33]
figure, panels = plt.subplots(4, len(shown), figsize=(6.4, 5.6))
for column, row in enumerate(shown):
    for line, (picture, colours, top) in enumerate(
        [(table, "gray_r", 16), (filled, "gray_r", 16), (std, "Oranges", std.max()), (digits, "gray_r", 16)]
    ):
        panel = panels[line, column]
        panel.set_facecolor("#cfe3f0")
        panel.imshow(picture[row].reshape(8, 8), cmap=colours, vmin=0, vmax=top)
        panel.set(xticks=[], yticks=[])
for line, title in enumerate(["observed\n(blue: lost)", "imputed", "standard\ndeviation", "truth"]):
    panels[line, 0].set_ylabel(title)
figure.tight_layout()

# %%
# Is its uncertainty right?
# -------------------------
# The standard deviations are for the missing entry itself. If they are right, 95% of the hidden values lie within 1.96
# of them, and the dots below lie on the line. They are nearly right here, and no better than the model: pixels are not
# normally distributed, and its own uncertainty is always a little too small.
distance = np.abs(filled - digits)[lost] / std[lost]
print(f"{np.mean(distance < 1.96):.1%} within 1.96 standard deviations")

order = np.argsort(std[lost])
groups = np.array_split(order, 20)
claimed = [np.sqrt(np.mean(std[lost][group] ** 2)) for group in groups]
real = [np.sqrt(np.mean((filled - digits)[lost][group] ** 2)) for group in groups]
figure, axes = plt.subplots(figsize=(5, 4))
axes.plot([0, max(claimed)], [0, max(claimed)], color="grey", linestyle=":")
axes.plot(claimed, real, "o", color="#2f7fb5")
axes.set(xlabel="error that the model expects", ylabel="error that it makes", xlim=(0, None), ylim=(0, None))
figure.tight_layout()

# %%
# Which method when
# -----------------
# With little missing, all methods are close. Least squares overfits as more goes missing, variational Bayes
# (``method="vb"``, which is the default) least. With four fifths gone from a table as small as this one, nothing is
# better than column means; :func:`~fewer.complete.completion_score` shows that without knowing the truth.
rows = rng.choice(len(digits), 150, replace=False)
few = digits[rows]
shares = [0.05, 0.2, 0.4, 0.6, 0.8]
methods = {"ls-imputation": "#cf5f47", "map": "#d99a2b", "ppca": "#3d9970", "vb": "#2f7fb5"}
found = {name: [] for name in [*methods, "column means"]}
for share in shares:
    hidden = rng.random(few.shape) < share
    incomplete = np.where(hidden, np.nan, few)
    for name, values in found.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # at 80%, the methods that overfit have not converged
            imputer = (
                SimpleImputer(keep_empty_features=True)
                if name == "column means"
                else PCAMissing(12, method=name, with_std=True, max_iter=500, keep_empty_features=True, random_state=0)
            )
            guess = imputer.fit_transform(incomplete)
        values.append(np.sqrt(np.mean((guess - few)[hidden] ** 2)))

figure, axes = plt.subplots(figsize=(6.4, 4))
for name, values in found.items():
    axes.plot(100 * np.array(shares), values, marker="o", color=methods.get(name, "grey"), label=name)
axes.set(xlabel="percent of entries missing (150 digits)", ylabel="error at hidden pixels", ylim=(0, 12))
axes.legend(frameon=False)
figure.tight_layout()
