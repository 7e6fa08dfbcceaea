"""Classifiers that are graphs of the columns."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.graph.classifiers._bayes_net_classifier import BayesNetClassifier, TANClassifier
    from fewer.graph.classifiers._blankets import MarkovBlanketStructure
    from fewer.graph.classifiers._ismb_classifier import ISMBClassifier, RowExplanation

__all__ = ["BayesNetClassifier", "ISMBClassifier", "MarkovBlanketStructure", "RowExplanation", "TANClassifier"]

__getattr__, __dir__ = lazy_names(__name__)
