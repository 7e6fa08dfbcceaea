"""The panel of the question ``balance``: the size of each class."""

import plotly.graph_objects as go

from fewer.report import Panel, Picture, Shown


def pictures(findings):
    """A bar for each class."""
    classes = findings.balance.evidence.get("classes", [])
    bars = go.Bar(x=[each["label"] for each in classes], y=[each["rows"] for each in classes])
    figure = go.Figure(bars, layout={"height": 250})
    return {"balance": Picture(figure, "Rows of each class.", findings.balance.sentence)} if classes else {}


def number(findings):
    """The figure that is shown large."""
    share = findings.balance.number
    return None if share is None else Shown("Rarest class, of an equal share", f"{share:.0%}")


PANEL = Panel("balance", "Class sizes", number, pictures)
