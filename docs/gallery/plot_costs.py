"""
When errors have different costs
================================

A missed illness costs more than a needless test. :class:`~fewer.learn.ThresholdedLogisticRegression` moves the
threshold of a model of the probabilities, :class:`~fewer.learn.WeightedLogisticRegression` weighs the likelihood of
each row by its cost, :class:`~fewer.learn.SigmoidRiskClassifier` minimises a smooth form of the cost (or, with
``risk="step"``, the cost itself), and :class:`~fewer.learn.MetaCostClassifier` relabels rows for any classifier.
:func:`~fewer.evaluate.cost_curve` shows what decisions cost on held-out rows, for every ratio of costs.
"""

# %%
# A plane that cannot be right everywhere
# ---------------------------------------
# Two normal classes whose best border is curved. :func:`~fewer.theory.min_risk_plane` knows the cheapest plane. A moved
# threshold keeps its direction; weights turn it the right way; the sigmoid risk comes closest.
import numpy as np
import plotly.graph_objects as go
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import make_scorer
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from fewer.evaluate import cost_curve
from fewer.learn import (
    CompositeLoss,
    CompositeLossClassifier,
    CompositeLossClassifierCV,
    MetaCostClassifier,
    ProperLoss,
    SigmoidRiskClassifier,
    ThresholdedLogisticRegression,
    WeightedLogisticRegression,
    proper_loss,
)
from fewer.theory import gaussian_plane_risk, min_risk_plane

means = (np.array([0, 0.5]), np.array([0.5, 0]))
covariances = (np.diag([0.5, 1.0]), np.diag([1.0, 0.5]))
rng = np.random.default_rng(0)
X = np.vstack([rng.multivariate_normal(*each, size=5000) for each in zip(means, covariances, strict=True)])
y = np.repeat([0, 1], 5000)
pcfs = np.linspace(0.1, 0.9, 9)
models = {
    "threshold": ThresholdedLogisticRegression(),
    "weighted likelihood": WeightedLogisticRegression(),
    "sigmoid risk": SigmoidRiskClassifier(n_init=4, random_state=0),
}
figure = go.Figure().update_layout(
    xaxis_title="share of the positives in the cost", yaxis_title="cost over that of the better constant", height=420
)
for name, model in models.items():
    costs = []
    for pcf in pcfs:
        model.set_params(cost=float(pcf)).fit(X, y)
        risk = gaussian_plane_risk(model.coef_[0], model.threshold_ - model.intercept_[0], means, covariances, pcf)
        costs.append(risk / min(pcf, 1 - pcf))
    figure.add_trace(go.Scatter(x=pcfs, y=costs, name=name, mode="lines"))
best = [min_risk_plane(means, covariances, pcf).normalized_risk for pcf in pcfs]
figure.add_trace(go.Scatter(x=pcfs, y=best, name="cheapest plane", mode="markers"))

# %%
# Real rows, held out
# -------------------
# Breast cancer, with alpha chosen on inner folds. Below 1 a classifier saves something; costs can be read at the ratio
# that applies.
X, y = load_breast_cancer(return_X_y=True)
curve = cost_curve(WeightedLogisticRegression(), X, y == 0, alphas=[0.001, 0.01, 0.1])
print(curve.reading)
curve.plot()

# %%
# The same for any classifier with probabilities, or relabelled by cost:
meta = MetaCostClassifier(WeightedLogisticRegression(alpha=0.01), n_estimators=5, random_state=0)
for name, model in {"threshold": ThresholdedLogisticRegression(alpha=0.01), "MetaCost": meta}.items():
    print(name, cost_curve(model, X, y == 0, pcfs=[0.1, 0.5, 0.9]).normalized_cost.round(3))

# %%
# Losses of your own
# ------------------
# Where the cost is not known exactly but within a range, a proper loss can put its weight there:
# :class:`~fewer.learn.ProperLoss` builds a loss of probabilities from a weight function,
# :class:`~fewer.learn.CompositeLoss` shows whether it is convex with a link, and
# :class:`~fewer.learn.CompositeLossClassifier` learns with it. This weight is convex with its own canonical link; with
# the logit link it is not, as it leaves the band that convexity needs.
focused = ProperLoss(lambda c: (1 + 4 * np.exp(-(((c - 0.3) / 0.15) ** 2))) / (c * (1 - c)), "focused on 0.3")
print("convex with its canonical link:", CompositeLoss(focused).is_convex())
model = CompositeLossClassifier(focused, alpha=0.01).fit(StandardScaler().fit_transform(X), y)
print(f"accuracy {model.score(StandardScaler().fit_transform(X), y):.3f}")
low, high = CompositeLoss(focused, "logit").convexity_band(np.linspace(0.05, 0.95, 91))
figure = go.Figure().update_layout(xaxis_title="probability", yaxis_title="weight over that at 1/2", height=380)
grid = np.linspace(0.05, 0.95, 91)
for name, values in {
    "lower bound": low,
    "upper bound": high,
    "weight": focused.weight(grid) / focused.weight(0.5),
}.items():
    figure.add_trace(go.Scatter(x=grid, y=values, name=name, mode="lines"))
figure.update_yaxes(type="log", dtick=1)


# %%
# Which loss serves a decision?
# -----------------------------
# A linear model that is wrong somewhere should be right near the threshold of the decision.
# :class:`~fewer.learn.CompositeLossClassifierCV` chooses the loss that it minimises, out of
# :func:`~fewer.learn.beta_loss` with powers at both ends, by the cost on held-out rows; cross-validation of the whole
# shows what that is worth. Here the log odds are a curve, and a false alarm costs four times a miss.
x = rng.uniform(-2, 2, size=(4000, 1))
odds = 3 * np.sin(x[:, 0]) + x[:, 0] ** 2
y = (rng.random(4000) < 1 / (1 + np.exp(-odds))).astype(int)
target = proper_loss("cost", threshold=0.8)
tuned = CompositeLossClassifierCV(target_loss=target)
scorer = make_scorer(target.loss, response_method="predict_proba", greater_is_better=False)
for name, model in {"log loss": CompositeLossClassifier(), "chosen loss": tuned}.items():
    print(f"{name}: cost {-cross_val_score(model, x, y, scoring=scorer, cv=5).mean():.4f} a held-out row")
tuned.fit(x, y)
print(f"chosen: {tuned.loss_}")
grid = np.linspace(-2, 2, 101)[:, None]
figure = go.Figure().update_layout(xaxis_title="x", yaxis_title="probability of class 1", height=380)
for name, values in {
    "truth": 1 / (1 + np.exp(-3 * np.sin(grid[:, 0]) - grid[:, 0] ** 2)),
    "log loss": CompositeLossClassifier().fit(x, y).predict_proba(grid)[:, 1],
    "chosen loss": tuned.predict_proba(grid)[:, 1],
}.items():
    figure.add_trace(go.Scatter(x=grid[:, 0], y=values, name=name, mode="lines"))
figure.add_hline(y=0.8, line={"dash": "dot", "color": "grey"}, annotation_text="threshold")
