"""
Imputation by low-rank completion
=================================

:class:`~fewer.complete.SoftImpute` imputes missing values by the table of least nuclear norm (sum of singular
values) near what is observed: a convex problem, solved for a whole path of penalties, each with a bound of its distance
to the minimum. :class:`~fewer.complete.SoftImputeCV` picks the penalty, and whether the shrinkage is undone in the end,
by entries that it hides from itself.

Use it when columns go together in a few ways and there is noise: ratings, sensors, gene expression. If there is hardly
any noise and the rank is known, :class:`~fewer.complete.HardImpute` and :class:`~fewer.complete.OptSpace` do better, as
the second figure shows. :class:`~fewer.complete.SpectralImpute` lies in between, :class:`~fewer.complete.MMMF` is the
quick one for very large sparse tables.
"""

# %%
# A hundred rows and columns of rank 6, half of the entries missing, as much noise as signal. Of the path we look at the
# error at the missing entries (which a user cannot see) and at the error at hidden entries (which the CV version sees).
import matplotlib.pyplot as plt
import numpy as np

from fewer.complete import MMMF, HardImpute, OptSpace, SoftImpute, SoftImputeCV, SpectralImpute


def noisy_table(rank, snr, observed, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(100, rank)) @ rng.normal(size=(rank, 100))
    table = truth + truth.std() / snr * rng.normal(size=truth.shape)
    return truth, np.where(rng.random(truth.shape) < observed, table, np.nan)


def error(truth, table, model):
    missing = np.isnan(table)
    filled = model.reconstruct(model.scores_)
    return np.sum((filled - truth)[missing] ** 2) / np.sum(truth[missing] ** 2)


truth, table = noisy_table(rank=6, snr=1, observed=0.5)
chosen = {
    post: SoftImputeCV(post=post, n_alphas=25, n_repeats=2, random_state=0).fit(table) for post in ("none", "unshrink")
}

figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
for panel, (post, model) in zip(panels, chosen.items(), strict=True):
    shares = model.alphas_ / model.alpha_max_
    seen = np.isfinite(model.errors_).all(axis=0)
    truths = [
        error(truth, table, SoftImpute(alpha=alpha, post=post, tol=1e-3).fit(table)) for alpha in model.alphas_[seen]
    ]
    noise = 0.5  # half of a hidden entry's variance is noise, which nobody can predict
    hidden = (model.errors_[:, seen].mean(axis=0) - noise) / noise
    panel.plot(shares[seen], hidden, color="#2f7fb5", label="hidden entries")
    panel.plot(shares[seen], truths, color="#cf5f47", label="missing entries (the truth)")
    panel.axvline(model.alpha_ / model.alpha_max_, color="grey", linewidth=0.8, linestyle=":")
    panel.annotate(
        f"chosen: rank {model.rank_}",
        (model.alpha_ / model.alpha_max_, 0.97),
        textcoords="offset points",
        xytext=(5, 0),
        fontsize=8,
    )
    panel.set(xscale="log", xlabel="penalty, as a share of the largest", ylim=(0.2, 1.05))
    panel.set_xticks([1, 0.5, 0.3, 0.2], ["1", "0.5", "0.3", "0.2"])
    panel.minorticks_off()
    panel.invert_xaxis()
    title = {"none": "shrunken singular values", "unshrink": "shrinkage undone in the end"}[post]
    panel.set_title(title, fontsize=10, loc="left")
panels[0].set_ylabel("squared error / signal")
panels[0].legend(frameon=False, fontsize=8, loc="lower left")
figure.tight_layout()

# %%
# With the shrinkage undone, far fewer directions are needed and the error is lower. Now a contest with much and with
# little noise. The last three are given the true rank. With little noise that is worth far more than shrinking; with
# much noise, cutting off alone keeps too much of it, and shrinking within the rank (MMMF) is best.
contest = {
    "much noise,\nhalf observed": (noisy_table(rank=6, snr=1, observed=0.5), 6),
    "little noise,\na fifth observed": (noisy_table(rank=5, snr=10, observed=0.2), 5),
}
figure, panels = plt.subplots(1, 2, figsize=(9, 3.2))
for panel, (setting, ((truth, table), rank)) in zip(panels, contest.items(), strict=True):
    soft = SoftImputeCV(post="none", random_state=0, tol=1e-3).fit(table)
    models = {
        "SoftImpute": soft,
        "unshrunk": SoftImputeCV(post="unshrink", random_state=0, tol=1e-3).fit(table),
        "MC+": SpectralImpute(alpha=1.5 * soft.alpha_, max_iter=5000).fit(table),
        "MMMF": MMMF(rank=rank, alpha=soft.alpha_).fit(table),
        "HardImpute": HardImpute(rank=rank).fit(table),
        "OptSpace": OptSpace(rank=rank, max_iter=500, random_state=0).fit(table),
    }
    errors = [error(truth, table, model) for model in models.values()]
    panel.barh(list(models), errors, color=["#2f7fb5"] * 3 + ["#cf5f47"] * 3)
    for place, value in enumerate(errors):
        panel.text(value, place, f" {value:.3f}", va="center", fontsize=8)
    panel.invert_yaxis()
    panel.set_title(setting, fontsize=10, loc="left")
    panel.set_xlim(0, 1.25 * max(errors))
    panel.set_xlabel("squared error / signal at missing entries")
figure.tight_layout()

# %%
# As a step of a pipeline it imputes rows that were not there in ``fit``, each from its own observed entries. For
# columns in different units and with different means, set ``with_mean`` and ``with_std``.
model = SoftImputeCV(with_mean=True, with_std=True, random_state=0).fit(table[:80])
print("new rows, imputed:", model.transform(table[80:]).shape, "rank", model.rank_)
