"""
Which words tell a rare topic?
==============================

:class:`~fewer.select.TextFeatureScorer` scores words by the classes of the documents in which they occur, and keeps the
best. It is for very many columns that are mostly zero (words, n-grams, items bought, mutations), and it takes one pass
over the entries stored. Which score is right depends on the learner and on how rare the class of interest is.

- A rare class and :class:`~fewer.learn.NaiveBayesText`: the odds ratio or bi-normal separation. They rank words *of*
  the class, and naive Bayes needs these to ever predict it.
- Balanced classes: information gain is as good.
- A linear support vector machine: it does best with nearly all words, so leave the selection out, or keep most.

Each word is judged by itself. For columns that are measurements, take :class:`~fewer.select.SelectTop`.
"""

# %%
# Six thousand documents, of which 2% are on a topic. Of the 3,000 words, 300 are boilerplate that documents *off* the
# topic share, 200 are rare words of the topic, and the others say nothing.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import fbeta_score, make_scorer, precision_score, recall_score

from fewer.datasets import make_topic_words
from fewer.evaluate import selection_curve
from fewer.learn import NaiveBayesText
from fewer.select import TextFeatureScorer

X, y, truth = make_topic_words(random_state=0)
for name in ("odds_ratio", "bns", "cross_entropy", "info_gain", "frequency"):
    kept = TextFeatureScorer(name, k=100).fit(X, y).support_
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
# As many words as the documents on the topic have between them is a good start, says the literature:
# ``k="pos_vocab"``. And a stricter threshold than one half trades recall for precision.
vocabulary = TextFeatureScorer(k="pos_vocab", min_df=3).fit(X, y)
print(f"{vocabulary.support_.sum()} different words in the documents on the topic that occur at least three times")
words = TextFeatureScorer(k=100).fit(X[::2], y[::2])
for threshold in (0.5, 0.95, 0.999):
    model = NaiveBayesText(threshold=threshold).fit(words.transform(X[::2]), y[::2])
    found = model.predict(words.transform(X[1::2]))
    print(
        f"threshold {threshold}: precision {precision_score(y[1::2], found):.2f}, "
        f"recall {recall_score(y[1::2], found):.2f}"
    )
