"""Words scored one by one by where they occur, and the best kept.

A word occurs in a row when its count is above zero; all scores but the weights of a linear model come from one count of
occurrences by class, O(number of entries stored).
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

from fewer._estimators import (
    Interval,
    StrOptions,
    encoded_classes,
    fit_context,
    place_of_class,
    refuse_documents,
    warn_caller,
)
from fewer.catalogue import method
from fewer.select._selector import Selector, ranks
from fewer.select.scores._occurrence import (
    Occurrence,
    against_the_rest,
    cross_entropy,
    fisher_index,
    frequency_score,
    information_gain,
    log_odds_ratio,
    mean_log_ratio,
    normal_separation,
    occurrence,
    random_score,
    svm_weight_score,
)

OF_ALL_CLASSES: dict[str, Callable[[Occurrence, float], np.ndarray]] = {
    "info_gain": lambda found, smoothing: information_gain(found),
    "cross_entropy": lambda found, smoothing: cross_entropy(found),
    "mutual_info": lambda found, smoothing: np.abs(mean_log_ratio(found, smoothing)),
}
OF_ONE_CLASS = ("odds_ratio", "bns", "fisher", "svm_weight")
WITHOUT_CLASSES = ("frequency", "random")


@method(
    tasks=["classification"],
    when="Very many columns of counts or of things that occur or not (words, n-grams, items, mutations), and a class "
    "of interest that is rare: take the odds ratio and naive Bayes. With balanced classes information gain is as "
    "good; a linear support vector machine does best with nearly all words.",
    cost="O(entries stored) for all scores but 'svm_weight', and O(p log p) to sort.",
    paper="mladenic-text-fs",
    depends_on_shift="it takes counts, whose zero means that nothing was there",
)
class TextFeatureScorer(Selector):
    """Score words by the classes of the rows in which they occur, and keep the best.

    Parameters
    ----------
    score_func : {"odds_ratio", "bns", "info_gain", "cross_entropy", "mutual_info", "fisher", "frequency", \
"svm_weight", "random"}, default="odds_ratio"
        The first two are signed, so that only words of the class of interest rank high. "info_gain" is symmetric in the
        classes and in presence and absence, "cross_entropy" counts presence only, "mutual_info" is the absolute value
        of a mean log ratio, "fisher" the Fisher index of occurrence. "frequency" does not look at the classes,
        "svm_weight" takes the weights of a linear support vector machine on all words, and "random" is the control.
    n_features_to_select : int, float or "pos_vocab", default=1000
        Words to keep: a number, a share of all words (a float up to 1.0), or as many as there are different words in
        the rows of the class of interest. All of them, with a warning, if the table has fewer; and all that occur often
        enough, if these are fewer.
    pos_label : str, int, bool or None, default=None
        The class of interest, which is compared with all others. None takes the last of two classes in sorted order
        (1 of 0 and 1, "spam" of "ham" and "spam"); with more classes, each in turn, see ``multiclass``.
    smoothing : float, default=1.0
        Added to every count of presence and of absence before rates are compared. With 0, words that a class has never
        seen have infinite scores.
    multiclass : {"max", "avg"}, default="max"
        With more than two classes and no ``pos_label``: a word's score is the best over the classes, each against all
        others, or the mean weighted by the frequency of the classes. "info_gain", "cross_entropy" and "mutual_info"
        look at all classes together anyway.
    clip : float, default=5e-4
        For "bns", rates are kept between this and one minus this.
    min_df : int, default=1
        Words that occur in fewer rows are never kept: their score is minus infinity. Rates of rare words are poorly
        known, and with a rare class the odds ratio overrates them.
    random_state : int, RandomState instance or None, default=None
        For "random" and "svm_weight".

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Score of each word.
    ranking_ : ndarray of shape (n_features,)
        Place of each word, 1 for the best; of equals, the one with the lowest index comes first.
    support_ : ndarray of bool of shape (n_features,)
        Which words are kept.
    classes_ : ndarray of shape (n_classes,)
        The classes, in sorted order.
    class_probabilities_ : ndarray of shape (n_classes, n_features)
        Probability that a word occurs in a row of the class, smoothed.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    SelectTop : The same scores by other rules, and scores for columns that are not counts.
    fewer.learn.NaiveBayesText : The learner that gains most from it.
    fewer.extract.WordClusters : Sums of words with the same information about the class, instead of single words.

    Notes
    -----
    Learners that make rates add up to one over the words kept (multinomial naive Bayes) lose what the odds ratio finds:
    if all words that are kept speak for one class, their shares within each class say nothing. Take
    :class:`fewer.learn.NaiveBayesText`, or a linear model.

    References
    ----------
    .. [1] Mladenic, D. (2006). Feature selection for dimensionality reduction. In Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 84-102.
    .. [2] Forman, G. (2003). An extensive empirical study of feature selection metrics for text classification. Journal
       of Machine Learning Research 3, 1289-1305.

    Examples
    --------
    >>> from fewer.datasets import make_topic_words
    >>> from fewer.select import TextFeatureScorer
    >>> X, y, truth = make_topic_words(random_state=0)
    >>> odds = TextFeatureScorer("odds_ratio", n_features_to_select=100).fit(X, y)
    >>> gain = TextFeatureScorer("info_gain", n_features_to_select=100).fit(X, y)
    >>> [int(truth["topic"][selector.support_].sum()) for selector in (odds, gain)]
    [100, 64]
    """

    _takes_sparse = True
    _parameter_constraints = {
        "score_func": [StrOptions({*OF_ALL_CLASSES, *OF_ONE_CLASS, *WITHOUT_CLASSES})],
        "n_features_to_select": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
            StrOptions({"pos_vocab"}),
        ],
        "pos_label": [Real, str, "boolean", None],
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "multiclass": [StrOptions({"max", "avg"})],
        "clip": [Interval(Real, 0, 0.5, closed="neither")],
        "min_df": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        score_func="odds_ratio",
        *,
        n_features_to_select=1000,
        pos_label=None,
        smoothing=1.0,
        multiclass="max",
        clip=5e-4,
        min_df=1,
        random_state=None,
    ):
        self.score_func = score_func
        self.n_features_to_select = n_features_to_select
        self.pos_label = pos_label
        self.smoothing = smoothing
        self.multiclass = multiclass
        self.clip = clip
        self.min_df = min_df
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Count occurrences, score the words and choose.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts, or other values that are zero where a word does not occur; none may be negative.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
            The fitted selector.
        """
        refuse_documents(X, "TextFeatureScorer")
        X, y = self._validated(X, y, accept_sparse=("csr", "csc"))
        check_counts(X)
        self.classes_, codes = encoded_classes(y, "TextFeatureScorer")
        of_all = occurrence(X, codes)
        self.class_probabilities_ = of_all.probabilities(self.smoothing)
        target = self._code_of_interest()
        found = of_all if target is None else of_all.one_against_the_rest(target)
        if target is not None:
            codes = (codes == target).astype(int)
        frequent = self._frequent_enough(found)
        self.scores_ = np.where(frequent, self._scores(X, codes, found, target is not None), -np.inf)
        self.ranking_ = ranks(self.scores_)
        n_kept = min(self._size(found, target is not None), int(frequent.sum()))
        self.support_ = self.ranking_ <= n_kept
        return self

    def _code_of_interest(self) -> int | None:
        """Place of the class of interest among the classes; None when each is in turn."""
        if self.pos_label is None:
            return 1 if len(self.classes_) == 2 else None
        return place_of_class(self.classes_, self.pos_label)

    def _frequent_enough(self, found: Occurrence) -> np.ndarray:
        frequent = found.totals >= self.min_df
        if not frequent.any():
            raise ValueError(
                f"No column occurs in at least min_df={self.min_df} rows (the most frequent one occurs in "
                f"{found.totals.max()}); lower min_df."
            )
        if not found.varies.any():
            warn_caller(
                "Every column occurs in all rows or in none, so that occurrence has no information about the classes. "
                "For measurements, make columns of zeros and ones first (Binarizer, KBinsDiscretizer), or take "
                "SelectTop."
            )
        return frequent

    def _scores(self, X: Any, codes: np.ndarray, found: Occurrence, one_class: bool) -> np.ndarray:
        """Score of each word; ``codes`` and ``found`` have two classes where one is of interest."""
        name = self.score_func
        if name == "frequency":
            return frequency_score(X)
        if name == "random":
            return random_score(X, random_state=self.random_state)
        if name in OF_ALL_CLASSES:
            return OF_ALL_CLASSES[name](found, self.smoothing)
        rows = self._rows_of_scores(X, codes, found)
        if one_class:
            return rows[1]
        return rows.max(axis=0) if self.multiclass == "max" else found.priors @ rows

    def _rows_of_scores(self, X: Any, codes: np.ndarray, found: Occurrence) -> np.ndarray:
        """Scores for each class against all others."""
        if self.score_func == "svm_weight":
            return svm_weight_score(X, codes, random_state=self.random_state)
        compare: Any = {
            "odds_ratio": log_odds_ratio,
            "bns": lambda p, q: normal_separation(p, q, self.clip),
            "fisher": fisher_index,
        }[self.score_func]
        return against_the_rest(found, self.smoothing, compare)

    def _size(self, found: Occurrence, one_class: bool) -> int:
        """How many words to keep, if there are so many."""
        wanted, n_columns = self.n_features_to_select, found.counts.shape[1]
        if wanted == "pos_vocab":
            if not one_class:
                raise ValueError(
                    "n_features_to_select='pos_vocab' counts the words of the class of interest, and y has "
                    f"{len(self.classes_)} classes; say which one by pos_label, or give a number."
                )
            return max(1, int((found.counts[1] > 0).sum()))
        if isinstance(wanted, Integral):
            return self._number_to_keep(n_columns)
        return max(1, round(wanted * n_columns))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def check_counts(X: Any) -> None:
    """Refuse a table with a negative entry, of which nobody can say whether it occurs."""
    if X.min() < 0:
        raise ValueError(
            "Negative values in data passed to TextFeatureScorer, which looks at where counts are above zero. Make "
            "columns of zeros and ones first (Binarizer, KBinsDiscretizer), or take SelectTop with a score for "
            "measurements."
        )
