"""
How many features can your rows carry?
======================================

Every feature below is independent of the others and informative about the class. Still, with a finite number of
rows, a learner does worse when it uses all of them. :func:`~fewer.theory.optimal_n_features` gives the number to use
when the class means are known, :func:`~fewer.theory.peaking_curve` shows that support vector machines suffer as
well, and :func:`~fewer.theory.plan_n_features` gives a first answer for a table, where nobody knows.

Use them before a study, to see what is possible with the rows there are. They suppose two classes, independent features
and a linear rule; the honest error of your own learner comes from nested evaluation.
"""

# %%
# Two normal classes lie at plus and minus ``1 / j`` in feature j. The best number of features (dots) grows with the
# rows, but slowly: about with their square root.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from fewer.datasets import make_two_gaussians
from fewer.theory import optimal_n_features, peaking_curve, plan_n_features

mu = 1 / np.arange(1, 1001)
figure, panel = plt.subplots(figsize=(7, 4))
for rows, colour in ((16, "#d99a2b"), (100, "#cf5f47"), (225, "#2f7fb5"), (2000, "#3d9970")):
    best = optimal_n_features(mu, rows, method="exact")
    panel.plot(np.arange(1, 1001), best.errors, color=colour, label=f"{rows:,} rows")
    panel.plot(best.n_features, best.error, "o", color=colour)
    panel.annotate(
        f"{best.n_features}",
        (best.n_features, best.error),
        (0, 7 if rows == 16 else -14),
        textcoords="offset points",
        color=colour,
        ha="center",
    )
panel.axhline(best.bayes_error, color="grey", linestyle=":", linewidth=1)
panel.text(1000, best.bayes_error - 0.004, "best possible", color="grey", ha="right", va="top")
panel.set(xscale="log", xlabel="features used, best first", ylabel="error", ylim=(0.08, None))
panel.legend(frameon=False)
figure.tight_layout()

# %%
# A support vector machine was made for many features, and does no better than the plain difference of means.
curve = peaking_curve(SVC(kernel="linear", C=1e-4), mu, m=100, n_repeats=30, random_state=0)
print(curve)
curve.plot()

# %%
# In practice the means are unknown. The plan ranks features on one half of the rows, estimates on the other how
# informative those ranked first are, for many splits.
X, y, _ = make_two_gaussians(n_samples=225, mu=mu, random_state=0)
plan = plan_n_features(X, y, random_state=0)
print(plan.reading)
plan.plot()

# %%
# Usually the same rows rank the features and train the rule. The features ranked first are there by chance too, then,
# and fewer are worth using.
print(plan_n_features(X, y, rank_on="same", random_state=0))
