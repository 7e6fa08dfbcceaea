"""
Which words identify a rare topic?
==================================

:class:`~fewer.select.TextFeatureScorer` scores words by the classes of the documents in which they occur, and keeps the
best. It is for very many columns that are mostly zero (words, n-grams, items bought, mutations), and it takes one pass
over the entries stored. Which score is right depends on the learner and on how rare the class of interest is.

- A rare class and :class:`~fewer.learn.NaiveBayesText`: the odds ratio or bi-normal separation. They rank words *of*
  the class, and naive Bayes needs these to ever predict it.
- Balanced classes: information gain is as good.
- A linear support vector machine: it does best with nearly all words, so leave the selection out, or keep most.

Each word is judged by itself. Three others look at words together, at the end of this page:
:class:`~fewer.extract.WordClusters` adds up words with the same information about the class,
:class:`~fewer.select.EmbeddedSelector` keeps what a model uses, and
:class:`~fewer.select.MetricBasedSelection` chooses how many to keep when few documents have labels.
For columns that are measurements, take :class:`~fewer.select.SelectTop`.
"""

# %%
# Six thousand documents, of which 2% are on a topic. Of the 3,000 words, 300 are boilerplate that documents *off* the
# topic share, 200 are rare words of the topic, and the others are noise.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.metrics import fbeta_score, make_scorer, precision_score, recall_score
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from fewer.datasets import make_topic_words
from fewer.evaluate import selection_curve
from fewer.extract import WordClusters
from fewer.learn import NaiveBayesText
from fewer.select import EmbeddedSelector, MetricBasedSelection, SelectTop, TextFeatureScorer

X, y, truth = make_topic_words(random_state=0)
for name in ("odds_ratio", "bns", "cross_entropy", "info_gain", "frequency"):
    kept = TextFeatureScorer(name, n_features_to_select=100).fit(X, y).support_
    of_topic, of_boilerplate = (truth[kind][kept].sum() for kind in ("topic", "boilerplate"))
    print(f"{name:>13}: {of_topic:3d} words of the topic, {of_boilerplate:3d} of boilerplate")

# %%
# How well naive Bayes then finds the documents on the topic, over the number of words: the mean over five folds, with
# its standard error. Words are chosen inside of each fold.
#
# Read the three together. Information gain has perfect precision, and misses half of the topic. When nothing is
# predicted to be on the topic, precision is not defined; ``zero_division=1`` counts it as perfect, as is the custom in
# this field, and that alone makes random words look precise.
scorings = {
    "F2 (recall counts more)": make_scorer(fbeta_score, beta=2, zero_division=0),
    "precision": make_scorer(precision_score, zero_division=1),
    "recall": make_scorer(recall_score, zero_division=0),
}
colours = {
    "odds_ratio": "#2f7fb5",
    "bns": "#8f6bb3",
    "cross_entropy": "#3d9970",
    "info_gain": "#cf5f47",
    "random": "#8a8f98",
}
sizes = [10, 30, 60, 100, 200, 400, 1000]

figure, panels = plt.subplots(1, 3, figsize=(9, 3.6), sharey=True)
for panel, (title, scoring) in zip(panels, scorings.items(), strict=True):
    for name, colour in colours.items():
        selector = TextFeatureScorer(name, random_state=0)
        curve = selection_curve(selector, NaiveBayesText(), X, y, sizes=sizes, scoring=scoring, random_state=0)
        folds = curve.scores[0]
        error = folds.std(axis=0, ddof=1) / np.sqrt(len(folds))
        panel.errorbar(curve.sizes, curve.mean, error, color=colour, label=name.replace("_", " "), capsize=2)
    panel.set(xscale="log", xlabel="words kept", title=title)
    panel.spines[["top", "right"]].set_visible(False)
figure.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncols=5, frameon=False)
figure.tight_layout(rect=(0, 0.08, 1, 1))

# %%
# As many words as the documents on the topic have between them is a good start according to the literature:
# ``n_features_to_select="pos_vocab"``. And a stricter threshold than one half trades recall for precision.
vocabulary = TextFeatureScorer(n_features_to_select="pos_vocab", min_df=3).fit(X, y)
print(f"{vocabulary.support_.sum()} different words in the documents on the topic that occur at least three times")
words = TextFeatureScorer(n_features_to_select=100).fit(X[::2], y[::2])
for threshold in (0.5, 0.95, 0.999):
    model = NaiveBayesText(threshold=threshold).fit(words.transform(X[::2]), y[::2])
    found = model.predict(words.transform(X[1::2]))
    print(
        f"threshold {threshold}: precision {precision_score(y[1::2], found):.2f}, "
        f"recall {recall_score(y[1::2], found):.2f}"
    )

# %%
# Single words are not the only way to have fewer columns. With five topics and 400 words that are all a little typical
# of one or another, ten single words hold little information, and ten sums of similar words most of it. The names of
# the new columns give the heaviest word, and how many others are added to it.
rng = np.random.default_rng(0)
topic = rng.integers(0, 5, 1000)
rates = 0.02 * rng.exponential(size=(5, 400)) ** 2
counts = rng.poisson(rates[topic])
shares, clusters_tried = [], [5, 10, 20, 50, 100]
for method in ("agglomerative", "divisive"):
    models = [WordClusters(size, method=method).fit(counts, topic) for size in clusters_tried]
    shares.append([model.information_kept_ / model.information_ for model in models])
print("ten columns:", ", ".join(WordClusters(10).fit(counts, topic).get_feature_names_out()))

figure, axes = plt.subplots(figsize=(6, 3.6))
for share, name, colour in zip(shares, ("agglomerative", "divisive"), ("#2f7fb5", "#d99a2b"), strict=True):
    axes.plot(clusters_tried, share, marker="o", label=name, color=colour)
axes.set(xscale="log", xlabel="clusters", ylabel="share of the information kept", ylim=(0, 1))
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
figure.tight_layout()

# %%
# A tree selects columns, nearest neighbours do not. So use a tree to select columns for nearest neighbours.
measured = rng.normal(size=(300, 60))
side = (measured[:, 3] + measured[:, 17] > 0).astype(int)
nearest = KNeighborsClassifier(5)
chosen = make_pipeline(EmbeddedSelector(DecisionTreeClassifier(max_depth=4, random_state=0)), nearest)
for name, learner in (("all 60 columns", nearest), ("columns that a tree uses", chosen)):
    print(f"nearest neighbours, {name}: {cross_val_score(learner, measured, side).mean():.2f}")

# %%
# How many columns should a model have with 20 labelled rows? The training error falls with every power of x. On 200
# rows without labels, the models from some degree on are far from all smaller ones, which they were not in training:
# they overfit. No label is needed to see that.
x = rng.uniform(-1, 1, size=220)
powers = np.vander(x, 13, increasing=True)[:, 1:]
response = np.sin(np.pi * x[:20]) + 0.2 * rng.normal(size=20)
by_degree = SelectTop(lambda X, y: -np.arange(X.shape[1], dtype=float))
select = MetricBasedSelection(LinearRegression(), selector=by_degree, rule="adjusted")
select.fit(powers[:20], response, X_unlabelled=powers[20:])
print(f"degree kept: {select.n_features_to_select_}")

figure, axes = plt.subplots(figsize=(6, 3.6))
axes.plot(select.sizes_, select.train_errors_, label="training error", color="#8a8f98")
axes.plot(select.sizes_, select.adjusted_errors_, label="adjusted by rows without labels", color="#2f7fb5")
axes.axvline(select.n_features_to_select_, color="#cf5f47", linestyle=":")
axes.set(xlabel="powers of x", ylabel="root mean squared error", yscale="log")
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
figure.tight_layout()
