"""
Maps of counts, and their bridge to discriminant analysis
=========================================================

Words in documents, purchases of customers, species at sites: how often something occurs where.

* :class:`~fewer.extract.CorrespondenceAnalysis` gives rows and columns of such a table places on one map
  (:func:`~fewer.extract.plot_biplot`). It compares profiles, so that rows with many counts do not swamp the others, as
  they do in PCA.
* :class:`~fewer.extract.GaussianResponseModel` is the model behind it, fitted by likelihood: counts rise and fall along
  a hidden gradient.
* :class:`~fewer.extract.CanonicalCorrespondenceAnalysis` ties the map to columns that describe the rows, and so places
  rows of which nothing was counted yet. It is LDA in another dress
  (:func:`~fewer.extract.cooccurrence_to_labeled` shows it).
* :class:`~fewer.extract.OptimalScoringLDA` is LDA as a regression, with any penalty or regressor in it.

For measurements rather than counts, use PCA; for text with labels, choose words first
(:ref:`sphx_glr_auto_gallery_plot_text_selection.py`).
"""

# %%
# A map of a table
# ----------------
# Hair and eyes of 592 students (Snee, 1974). Blond goes with blue, black with brown; red is near green.
import numpy as np
import pandas as pd
import plotly.graph_objects as go
from scipy import stats
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

from fewer.extract import (
    CanonicalCorrespondenceAnalysis,
    CorrespondenceAnalysis,
    GaussianResponseModel,
    OptimalScoringLDA,
    cooccurrence_to_labeled,
    plot_biplot,
    plot_projection,
)

hair = ["black hair", "brown hair", "red hair", "blond hair"]
eyes = pd.DataFrame(
    {"brown": [68, 119, 26, 7], "blue": [20, 84, 17, 94], "hazel": [15, 54, 14, 10], "green": [5, 29, 14, 16]}
)
model = CorrespondenceAnalysis(scaling="symmetric").fit(eyes)
print("chi-square:", round(model.total_inertia_ * eyes.to_numpy().sum(), 1))
plot_biplot(model, row_names=hair)

# %%
# A latent gradient
# -----------------
# Twelve species, each most frequent somewhere along a gradient of moisture that nobody has measured; some sites were
# searched longer than others. PCA mixes both up: sites that were searched in vain all lie in the middle. Correspondence
# analysis finds the gradient, and so does the Gaussian response model, with a factor for each row.
rng = np.random.default_rng(0)
moisture, optima = rng.uniform(-3, 3, 80), np.linspace(-3, 3, 12)
effort = rng.choice([0.3, 1, 4], size=80)
counts = rng.poisson(effort[:, None] * np.exp(1.5 - (moisture[:, None] - optima) ** 2 / 2))
found = {
    "PCA": PCA(1).fit_transform(counts),
    "CorrespondenceAnalysis": CorrespondenceAnalysis(1).fit_transform(counts),
    "GaussianResponseModel": GaussianResponseModel(row_effects=True).fit_transform(counts),
}
figure = go.Figure().update_layout(
    xaxis_title="moisture, which no model has seen", yaxis_title="place (in standard deviations)", height=440
)
for colour, (name, scores) in zip(("#8a8f98", "#2f7fb5", "#cf5f47"), found.items(), strict=True):
    places = scores[:, 0] / scores[:, 0].std()
    rank = stats.spearmanr(places, moisture).statistic
    print(f"{name}: rank correlation {abs(rank):.3f}")
    figure.add_scatter(x=moisture, y=np.sign(rank) * places, mode="markers", name=name, marker={"color": colour})
figure.update_layout()

# %%
# Columns that describe the rows
# ------------------------------
# Now moisture has been measured, along with acidity, and with height, which makes no difference. The arrows show which
# way each grows; a species lies where it is found most.
described = pd.DataFrame({"moisture": moisture, "acidity": rng.normal(size=80), "height": rng.normal(size=80)})
species = pd.DataFrame(
    rng.poisson(
        np.exp(
            1.2 - (moisture[:, None] - optima) ** 2 / 4 + 0.7 * np.outer(described["acidity"], np.sin(np.arange(12)))
        )
    ),
    columns=[f"species {number}" for number in range(1, 13)],
)
constrained = CanonicalCorrespondenceAnalysis().fit(described, species)
plot_biplot(constrained)

# %%
# A new site, of which nothing but these columns is known, has its place and its most likely species:
site = pd.DataFrame({"moisture": [2.5], "acidity": [0.0], "height": [1.0]})
print(constrained.transform(site).round(2), constrained.predict(site))

# %%
# The same axes come out of LDA on the table with one row for each plant that was found, labelled by its species:
plants, labels = cooccurrence_to_labeled(species, described)
lda = LinearDiscriminantAnalysis().fit(plants, labels)
for axis in range(2):
    ours, theirs = constrained.axes_[:, axis], lda.scalings_[:, axis]
    print(f"axis {axis}: |cos| {abs(ours @ theirs) / np.linalg.norm(ours) / np.linalg.norm(theirs):.12f}")

# %%
# What LDA cannot see
# -------------------
# One class lies between the two halves of another. Their means are the same, and LDA's direction is chance:
X = rng.uniform(size=(400, 2))
y = np.where(np.abs(X[:, 0] - 0.5) < 1 / 6, "between", "outside")
plot_projection(OptimalScoringLDA().fit(X, y), X, y)

# %%
# With splines in the regression it follows the curve:
flexible = OptimalScoringLDA(estimator=make_pipeline(SplineTransformer(), Ridge(0.1)))
plot_projection(flexible.fit(X, y), X, y)
