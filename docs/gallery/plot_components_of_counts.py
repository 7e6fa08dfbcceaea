"""
Components of counts: topics of a corpus
========================================

Words in texts, clicks, species at sites, genotypes, answers to a survey: counts. PCA is for real numbers; components
of counts are distributions over the columns, and every row is a mixture of a few.

* :class:`~fewer.latent.DiscreteComponentAnalysis` has priors on both: the Dirichlet-multinomial model (latent Dirichlet
  allocation), the gamma-Poisson model, and matrix factorisation as their limit. It is fitted by a variational bound or
  by Gibbs sampling.
* :class:`~fewer.latent.PLSA` has none, and stops early on held-out tokens. :class:`~fewer.latent.AspectModel` is the
  same model for a two-way table.
* :func:`~fewer.latent.select_n_components` estimates their number, :func:`~fewer.latent.component_stability` which
  return, and :func:`~fewer.latent.component_coherence` whether their words belong together.
  :func:`~fewer.latent.match_components` compares the components of two fits.
* :class:`~fewer.latent.ComponentFeatures` and :class:`~fewer.latent.ComponentClassifier` use them to classify, and
  :class:`~fewer.latent.BagOfPrototypes` makes counts of local vectors, such as patches of images.

For few columns without zeros, or columns with signs, use the extractors of :mod:`fewer.extract`. For two or three axes
of a map rather than components, use correspondence analysis (:ref:`sphx_glr_auto_gallery_plot_correspondence.py`).
"""

# %%
# A corpus that is always there
# -----------------------------
# The docstrings of the functions and classes of scipy, one text each, without the code of their examples. The label is
# the package that each comes from; no model sees it.
import importlib
import inspect
import re

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer
from sklearn.preprocessing import Normalizer

from fewer.evaluate import label_efficiency
from fewer.latent import (
    PLSA,
    DiscreteComponentAnalysis,
    aspect_report,
    component_coherence,
    component_stability,
    plot_rows,
    select_n_components,
    top_features,
)

packages = ["cluster.hierarchy", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal"]
packages += ["sparse", "spatial", "special", "stats"]
texts, labels = [], []
for package in packages:
    module = importlib.import_module(f"scipy.{package}")
    for name in sorted(getattr(module, "__all__", dir(module))):
        described = inspect.getdoc(getattr(module, name, None)) or ""
        prose = re.split(r"\n(?:Examples|References)\n-+\n", described)[0]
        prose = " ".join(line for line in prose.splitlines() if not re.match(r"\s*(>>>|\.\.\.|-+$)", line))
        if not name.startswith("_") and len(prose) > 400:
            texts.append(prose)
            labels.append(package)
labels = np.array(labels)
boilerplate = "parameters returns like ndarray default optional int float bool shape notes see return given value"
boilerplate += " values input used array axis method function true false following parameter default: type object note"
words = CountVectorizer(
    stop_words=sorted(ENGLISH_STOP_WORDS.union(boilerplate.split())), min_df=5, max_df=0.3, token_pattern=r"[a-z]{3,}"
)
print(f"{len(texts):,} texts, {words.fit_transform(texts).sum():,} words, {len(words.vocabulary_):,} of them different")

# %%
# How many topics, honestly
# -------------------------
# A model that is scored on the words that it was fitted to, or from which the topics of a text were inferred, always
# looks better with more topics. So topics are found on some texts; of each other text, topics are inferred from half of
# the words, and the other half is scored.
model = DiscreteComponentAnalysis(
    model="dm", doc_topic_prior="auto", topic_word_prior=0.1, vectorizer=words, max_iter=60, tol=1e-3, random_state=0
)
choice = select_n_components(model, texts, [5, 20, 80, 160, 320, 600], cv=2)
print(choice)
choice.plot()

# %%
# What they are
# -------------
# The best number is some hundreds, one for every few texts: here many texts are about one family of functions, whose
# words they share. So no small number of topics is the right one. Each of the first ones helps most, and a person wants
# to read few: twelve are shown. Which of them a reader can rely on comes next. Bars are the share of a word in the
# topic; the darker, the more frequent it is there than in the whole corpus.
n_topics = 12
model.set_params(n_components=n_topics, max_iter=300, tol=1e-4, n_init=4).fit(texts)
topics = top_features(model, n_features=7)
print(topics)
topics.plot()

# %%
# Which of them are real
# ----------------------
# Texts are drawn again with replacement, and the fit starts elsewhere. A topic that comes back in most resamples is a
# property of the corpus rather than of one fit. Coherence asks whether the top words of a topic occur together.
stability = component_stability(model.set_params(n_init=1, tol=1e-3), texts, n_repeats=10, threshold=0.5)
print(stability)
coherence = component_coherence(model, texts)
print("coherence:", coherence.round(2))
stability.plot()

# %%
# Texts by topics
# ---------------
# Each bar is a text; they are sorted by package. Special functions and distributions have topics of their own.
plot_rows(model, texts, row_names=labels, y=labels, n_rows=120)

# %%
# Aspects as features where labels are few
# ----------------------------------------
# PLSA without labels, stopped early, beside classes that it has not seen: the words of each aspect, and the package
# that it ranks best.
plsa = PLSA(n_topics, vectorizer=words, random_state=0).fit(texts)
report = aspect_report(plsa, texts, labels, n_features=5)
print(report)
report.precision.plot()

# %%
# A classifier learns the package of a text from few labels, from its words or from topics that were found in all texts.
# With many labels words are far better; with few, thirty topics come close to all words.
counts = words.fit_transform(texts).astype(float)
topics = DiscreteComponentAnalysis(30, model="dm", max_iter=40, tol=1e-3, random_state=0)
efficiency = label_efficiency(
    {"words": Normalizer(), "topics": topics}, counts, labels, fractions=[0.9, 0.2, 0.05], n_splits=2
)
print(efficiency)
efficiency.plot()
