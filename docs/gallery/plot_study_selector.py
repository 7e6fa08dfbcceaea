"""
A whole study inside of your pipeline
=====================================

The choice of a study, with its selection methods, numbers of columns and learners, is a step of a pipeline:
``StudySelector``. Cross-validation around it repeats the whole choice on the training rows of each fold, so that its
score is honest; choosing first and cross-validating afterwards is not.
"""

import numpy as np
import plotly.graph_objects as go
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from fewer import StudySelector

rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 200)), np.arange(60) % 2
selector = StudySelector(methods=["anova"], learners=["ridge"], n_folds=3)

# %%
# The table is noise, so that no honest score is far from 0.5.
inside = cross_val_score(make_pipeline(selector, LogisticRegression()), X, y, cv=5)
outside = cross_val_score(LogisticRegression(), selector.fit_transform(X, y), y, cv=5)
print(f"chosen inside of the folds: {inside.mean():.2f}, chosen before: {outside.mean():.2f}")
figure = go.Figure(layout={"xaxis_title": "fold", "yaxis_title": "accuracy", "yaxis_range": [0, 1]})
for name, scores in (("chosen on all rows, then cross-validated", outside), ("chosen inside of the folds", inside)):
    figure.add_scatter(x=np.arange(1, 6), y=scores, name=name)
figure.add_hline(0.5, line_dash="dot")

# %%
# All answers of the study are in ``findings_``.
print(selector.findings_.headline)
