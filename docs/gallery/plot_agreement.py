"""
Two views and few labels
========================

Some tables have columns from two sources, each of which could tell the classes apart by itself: words and links of a
page, sound and image, blood values of two laboratories. :class:`~fewer.learn.AgreementClassifier` fits one classifier
to each view, and asks them to agree on rows that have no label. This is how rows without labels help.

Use it with few labels, many rows without, and views that make different errors. With many labels it gains nothing; and
views that see the same agree from the start.
"""

# %%
# Twenty labels
# -------------
# Two views of 20 columns. Of 1,020 rows for training, 20 have a label; -1 stands for none.
import numpy as np
import plotly.graph_objects as go
from sklearn.linear_model import LogisticRegression

from fewer.learn import AgreementClassifier


def two_views(seed, n_labels=20, n_rows=1000, n_test=2000):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n_labels + n_rows + n_test)
    y[:n_labels] = np.arange(n_labels) % 2
    directions = rng.normal(size=(2, 20))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    views = [(2 * y - 1)[:, None] * 1.5 * each + rng.normal(size=(len(y), 20)) for each in directions]
    train = np.arange(len(y)) < n_labels + n_rows
    labels = np.where(np.arange(len(y)) < n_labels, y, -1)
    X = np.hstack(views)
    return X[train], labels[train], X[~train], y[~train]


views = [range(20), range(20, 40)]
X, y, X_test, y_test = two_views(0)
model = AgreementClassifier(views).fit(X, y)
print(f"trained to agree:             {model.score(X_test, y_test):.1%}")
print(f"the same views before EM:     {model.agree0_.score(X_test, y_test):.1%}")
labelled = y != -1
alone = LogisticRegression().fit(X[labelled], y[labelled])
print(f"one classifier, labels alone: {alone.score(X_test, y_test):.1%}")

# %%
# What happens to the views
# -------------------------
# Each dot is a test row: its log odds in the first view and in the second. In the upper left and the lower right the
# views contradict each other; afterwards fewer rows are there. ``view_proba`` gives the probabilities of each view.
panels = {"before": model.agree0_, "after": model}
figure = go.Figure()
for place, (name, each) in enumerate(panels.items()):
    first, second = (np.log(shares[:400, 1] / shares[:400, 0]) for shares in each.view_proba(X_test))
    for label, colour in enumerate(["#2f7fb5", "#cf5f47"]):
        own = y_test[:400] == label
        figure.add_trace(
            go.Scatter(
                x=first[own],
                y=second[own],
                mode="markers",
                marker={"color": colour, "size": 5},
                name=f"class {label}",
                showlegend=place == 0,
                xaxis="x" if place == 0 else "x2",
                yaxis="y" if place == 0 else "y2",
            )
        )
    print(f"{name}: the views contradict each other on {np.mean(first * second < 0):.0%} of the rows")
axis = {"range": [-9, 9], "zeroline": True}
figure.update_layout(
    xaxis=axis | {"domain": [0, 0.47], "title": "log odds in the first view, before"},
    xaxis2=axis | {"domain": [0.53, 1], "title": "log odds in the first view, after"},
    yaxis=axis | {"title": "log odds in the second view"},
    yaxis2=axis | {"anchor": "x2"},
    height=420,
)

# %%
# How many labels does it replace?
# --------------------------------
sizes = [6, 10, 20, 50, 100]
names = ["trained to agree", "views before EM", "one classifier"]
curves = {name: [] for name in names}
for n_labels in sizes:
    scores = []
    for seed in range(5):
        X, y, X_test, y_test = two_views(seed, n_labels)
        model = AgreementClassifier(views, tol=1e-4).fit(X, y)
        alone = LogisticRegression().fit(X[y != -1], y[y != -1])
        scores.append([each.score(X_test, y_test) for each in (model, model.agree0_, alone)])
    for name, mean in zip(names, np.mean(scores, axis=0), strict=True):
        curves[name].append(mean)
figure = go.Figure([go.Scatter(x=sizes, y=curves[name], name=name, mode="lines+markers") for name in names])
figure.update_xaxes(title="rows with a label", type="log", tickvals=sizes)
figure.update_yaxes(title="accuracy on test rows", tickformat=".0%")
figure.update_layout(height=380)

# %%
# Views that tell fewer classes apart
# -----------------------------------
# With ``label_maps``, a view may tell only coarse classes: here the second view knows animals from plants, and the
# first one tells all three apart. They agree on what they have in common.
rng = np.random.default_rng(5)
kind = rng.choice(["cat", "dog", "oak"], size=600)
first = np.column_stack([kind == "cat", kind == "dog"]) * 2.5 + rng.normal(size=(600, 2))
second = (kind == "oak")[:, None] * 3.0 + rng.normal(size=(600, 1))
labels = np.where(np.arange(600) < 9, kind, "unknown")
X = np.hstack([first, second])
coarse = {"cat": "animal", "dog": "animal"}
model = AgreementClassifier([[0, 1], [2]], label_maps=[None, coarse], unlabeled_value="unknown").fit(X, labels)
print(f"{model.score(X, kind):.0%} of the rows, {model.agree0_.score(X, kind):.0%} before EM")
