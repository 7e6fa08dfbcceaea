"""Classifiers that are graphs: each column depends on the class and on a few other columns.

    P(c | x) proportional to P(c) prod_j theta_j(x_j | parents of j, c)

With no edges this is naive Bayes. Missing values of new rows are summed out, which is exact. `_tables` has the
parameters, `_structures` the searches for edges.

Pernkopf, F. and Bilmes, J. A. (2010). Efficient heuristics for discriminative structure learning of Bayesian network
classifiers. Journal of Machine Learning Research 11, 2323-2360.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, encoded_classes, fit_context, fit_steps, validated, warn_caller
from fewer.catalogue import method
from fewer.graph._frame import GraphMixin
from fewer.graph.classifiers._structures import (
    OnStep,
    PairInformation,
    RateSearch,
    information_order,
    nearest_candidates,
    pair_information,
    search_all_edges,
    search_in_order,
    search_super_parents,
    spanning_tree,
)
from fewer.graph.classifiers._tables import (
    Network,
    check_mask,
    children_first,
    column_coding,
    complete_rows,
    conditional_log_likelihood,
    counted_network,
    discriminative_network,
)

ORDERED = ("omi-cr", "omisp-cr", "ocr-cr", "ro-cr", "omi-crcl")
_TUNING_FOLDS = 5


@method(
    tasks=["classification"],
    when="You know which columns depend on which within the classes, and want a classifier with probabilities that "
    "takes rows with missing values as they are. Without edges it is naive Bayes.",
    cost="O(n p) to count; each iteration of likelihood='conditional' O(n p k) for k classes",
    paper="discriminative-bn",
    examples=lambda: [BayesNetClassifier(likelihood="conditional", max_iter=5)],
)
class BayesNetClassifier(CallbackSupportMixin, GraphMixin, ClassifierMixin, BaseEstimator):
    """Bayesian network classifier with given edges between the columns.

    Parameters
    ----------
    edges : list of (int or str, int or str), default=()
        Parent and child of each edge, by position or, for a frame, by name. The class is a parent of every column.
    likelihood : {"joint", "conditional"}, default="joint"
        Which likelihood the probabilities maximise: of all columns and the class, which is counting, or of the class
        given the columns.
    smoothing : {"floor", "dirichlet"}, default="floor"
        Shares of 0 become 1e-5, or ``cell_prior`` is added to every count.
    cell_prior : float, default=1.0
        Pseudo-count of each cell, for ``smoothing="dirichlet"``.
    alpha : float, default=0.0
        Penalty of squared log probabilities, for ``likelihood="conditional"``.
    early_stopping : bool, default=False
        For ``likelihood="conditional"``: whether cross-validation chooses the number of iterations.
    max_iter : int, default=100
        Iterations at most, for ``likelihood="conditional"``.
    tol : float, default=1e-6
        They end when the largest entry of the mean gradient is below this.
    discretisation : {"mdl", "equal_frequency", "equal_width"}, default="mdl"
        How measurements are cut into levels.
    n_bins : int, default=5
        Levels at most, for equal frequency and width.
    discrete : "auto", bool or array-like of shape (n_features,), default="auto"
        Which columns hold codes rather than measurements: those with at most 10 values, all, none, or a mask.

    Attributes
    ----------
    parents_ : dict
        Parents of each column among the columns, by position.
    adjacency_ : ndarray of bool of shape (n_features, n_features)
        True at [parent, child].
    order_ : ndarray of shape (n_features,)
        Columns in an order in which parents come before children.
    n_parameters_ : int
        Probabilities that are free.
    network_ : Network
        The tables of probabilities.
    coding_ : ColumnCoding
        How entries become levels.
    pair_information_ : ndarray of shape (n_features, n_features)
        Information that two columns share within the classes, in bits.
    n_iter_ : int
        Iterations of ``likelihood="conditional"``; 1 with "joint".
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, when they are strings.

    See Also
    --------
    TANClassifier : Finds the edges.
    ISMBClassifier : Averages over graphs, for each row anew.

    References
    ----------
    .. [1] Pernkopf, F. and Bilmes, J. A. (2010). Efficient heuristics for discriminative structure learning of Bayesian
       network classifiers. Journal of Machine Learning Research 11, 2323-2360.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.datasets import make_conditional_link
    >>> from fewer.graph import BayesNetClassifier
    >>> X, y, truth = make_conditional_link(random_state=0)
    >>> model = BayesNetClassifier(edges=[truth["edge"]]).fit(X, y)
    >>> bool(model.score(X, y) > 0.6)
    True
    >>> model.predict_proba([[1, np.nan, 0]]).round(1)
    array([[0.3, 0.7]])
    """

    _parameter_constraints = {
        "edges": ["array-like"],
        "likelihood": [StrOptions({"joint", "conditional"})],
        "smoothing": [StrOptions({"floor", "dirichlet"})],
        "cell_prior": [Interval(Real, 0, None, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "early_stopping": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "discretisation": [StrOptions({"mdl", "equal_frequency", "equal_width"})],
        "n_bins": [Interval(Integral, 2, None, closed="left")],
        "discrete": [StrOptions({"auto"}), "boolean", "array-like"],
    }
    _directed = True
    _weight_words = "bits shared within classes"
    _learns_from_complete_rows = True

    def __init__(
        self,
        edges=(),
        *,
        likelihood="joint",
        smoothing="floor",
        cell_prior=1.0,
        alpha=0.0,
        early_stopping=False,
        max_iter=100,
        tol=1e-6,
        discretisation="mdl",
        n_bins=5,
        discrete="auto",
    ):
        self.edges = edges
        self.likelihood = likelihood
        self.smoothing = smoothing
        self.cell_prior = cell_prior
        self.alpha = alpha
        self.early_stopping = early_stopping
        self.max_iter = max_iter
        self.tol = tol
        self.discretisation = discretisation
        self.n_bins = n_bins
        self.discrete = discrete

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any):
        """Find the graph and its probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table; rows with missing values (NaN) are left out, with a warning.
        y : array-like of shape (n_samples,)
            Class of each row.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        table, target = validated(self, X, y, dtype=(np.float64, np.float32), ensure_all_finite="allow-nan")
        encoded_classes(target, type(self).__name__)
        table, target = complete_rows(table, target, type(self).__name__)
        self.classes_, classes = encoded_classes(target, type(self).__name__)
        check_mask(self.discrete, table.shape[1])
        self.coding_ = column_coding(
            table, classes, discrete=self.discrete, method=self.discretisation, n_bins=self.n_bins
        )
        codes, n_levels = np.ascontiguousarray(self.coding_.codes(table).T), self.coding_.n_levels
        classes, n_classes = classes.astype(np.int64), len(self.classes_)
        pairs = pair_information(codes, n_levels, classes, n_classes)
        self.pair_information_ = pairs.given_class / np.log(2)
        with fit_steps(self, X, y) as after_step:
            parents, order = self._found_parents(codes, n_levels, classes, pairs, lambda: after_step("column"))
            network = counted_network(codes, n_levels, classes, n_classes, parents, self._cell_prior)
            self.n_iter_ = 1
            if self.likelihood == "conditional":
                network = self._trained(network, codes, classes, lambda: after_step("iteration"))
            self.network_ = network
            self.parents_ = dict(enumerate(network.parents))
            self.adjacency_ = np.zeros((len(codes), len(codes)), dtype=bool)
            for child, own in enumerate(network.parents):
                self.adjacency_[list(own), child] = True
            self.order_ = np.array(order or children_first(network.parents)[::-1])
            self.n_parameters_ = network.n_parameters
        return self

    @property
    def _cell_prior(self) -> float:
        return float(self.cell_prior) if self.smoothing == "dirichlet" else 0.0

    def _found_parents(
        self, codes: np.ndarray, n_levels: np.ndarray, classes: np.ndarray, pairs: PairInformation, on_step: OnStep
    ) -> tuple[list[tuple[int, ...]], list[int] | None]:
        """Parents of each column, and the order of a search: here, those of the edges that were given."""
        names = {str(name): place for place, name in enumerate(getattr(self, "feature_names_in_", ()))}
        parents: list[set[int]] = [set() for _ in codes]
        for edge in self.edges:
            places = [names.get(end, -1) if isinstance(end, str) else int(end) for end in edge]
            if len(places) != 2 or min(places) < 0 or max(places) >= len(codes) or places[0] == places[1]:
                raise ValueError(
                    f"edges holds {tuple(edge)}, which is not a pair of two different columns of the {len(codes)}, by "
                    "position or by name."
                )
            parents[places[1]].add(places[0])
        found = [tuple(sorted(own)) for own in parents]
        children_first(found)  # refuses a cycle
        return found, None

    def _trained(self, network: Network, codes: np.ndarray, classes: np.ndarray, on_step: OnStep) -> Network:
        """Discriminative parameters from those by counting."""
        max_iter = self._tuned_iterations(network, codes, classes) if self.early_stopping else self.max_iter
        if max_iter == 0:
            return network
        network, self.n_iter_, converged = discriminative_network(
            network, codes, classes, alpha=self.alpha, max_iter=max_iter, tol=self.tol, on_step=lambda _: on_step()
        )
        if not converged and not self.early_stopping:
            warn_caller(
                f"The conditional likelihood still rose after {self.n_iter_} iterations, as it does without end where "
                "the classes can be separated. Raise max_iter, or set alpha or early_stopping.",
                ConvergenceWarning,
            )
        return network

    def _tuned_iterations(self, network: Network, codes: np.ndarray, classes: np.ndarray) -> int:
        """Number of iterations with the highest likelihood of held-out rows."""
        n_folds = min(_TUNING_FOLDS, int(np.bincount(classes).min()))
        if n_folds < 2:
            return self.max_iter
        curves = np.zeros((n_folds, self.max_iter + 1))
        splits = StratifiedKFold(n_folds).split(classes, classes)
        for fold, (train, test) in enumerate(splits):
            start = counted_network(
                codes[:, train], network.n_levels, classes[train], len(network.log_prior), network.parents,
                self._cell_prior,
            )  # fmt: skip
            curve = [conditional_log_likelihood(start.log_joint(codes[:, test]), classes[test])]

            def note(found: Network, curve=curve, test=test) -> bool:
                curve.append(conditional_log_likelihood(found.log_joint(codes[:, test]), classes[test]))
                return False

            discriminative_network(
                start, codes[:, train], classes[train], alpha=self.alpha, max_iter=self.max_iter, tol=self.tol,
                on_step=note,
            )  # fmt: skip
            curves[fold] = np.pad(curve, (0, self.max_iter + 1 - len(curve)), mode="edge")
        return int(curves.sum(axis=0).argmax())

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Log of the joint probability of each row and class, missing values summed out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Table with the columns of the training table; NaN is a missing value, and so is a code that was not seen.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            ``log P(c, x)``.
        """
        check_is_fitted(self)
        X = validated(self, X, dtype=(np.float64, np.float32), ensure_all_finite="allow-nan", reset=False)
        return self.network_.log_joint(np.ascontiguousarray(self.coding_.codes(X).T))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Table with the columns of the training table; missing values are summed out.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            One column for each class.
        """
        joint = self.predict_joint_log_proba(X)
        return joint - logsumexp(joint, axis=1, keepdims=True)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Table with the columns of the training table; missing values are summed out.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column for each class.
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Table with the columns of the training table; missing values are summed out.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The classes.
        """
        probabilities = self.predict_proba(X)  # first, so that a model that is not fitted is reported
        return self.classes_[probabilities.argmax(axis=1)]

    def _edge_weights(self) -> np.ndarray:
        return self.pair_information_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


@method(
    tasks=["classification"],
    when="Columns of few levels, or measurements to be cut into levels, that depend on one another within the classes: "
    "probabilities that naive Bayes gets wrong, a graph that can be read, and rows with missing values at prediction. "
    "structure='cmi' models the columns, 'omi-cr' (the default) looks for edges that help to classify.",
    cost="O(n p^2 k) for k classes and 'cmi', 'omi-cr', 'omisp-cr'; O(n p^3 k) for 'cr' and 'superparent'",
    paper="discriminative-bn",
    examples=lambda: [TANClassifier(), TANClassifier(structure="superparent", likelihood="conditional", max_iter=5)],
)
class TANClassifier(BayesNetClassifier):
    """Tree-augmented naive Bayes: finds the edges between columns that help to tell the classes apart.

    Parameters
    ----------
    structure : {"nb", "cmi", "omi-cr", "omisp-cr", "ocr-cr", "ro-cr", "omi-crcl", "cr", "superparent"}, \
default="omi-cr"
        No edges; the tree of the information that columns share within classes (generative); edges by classification
        rate in the order of the information about the class ("omi-cr", or "omisp-cr" for few rows), of the rate
        ("ocr-cr") or at random ("ro-cr"); "omi-crcl" trains parameters before each comparison, for small tables only;
        "cr" tries all edges in every round, and "superparent" looks for columns that are good parents of all.
    max_parents : int, default=1
        Parents of a column among the columns, at most: 1 for trees.
    likelihood : {"joint", "conditional"}, default="joint"
        Which likelihood the probabilities maximise: of all columns and the class, which is counting, or of the class
        given the columns.
    cv : int, cross-validation generator or None, default=None
        Folds that classify each training row while edges are chosen; None for the rows themselves, which overfits with
        two parents or few rows.
    max_candidates : int or None, default=None
        For structures with an order: how many earlier columns are tried as parents at most, those that
        share most information with the column within classes.
    paper_literal : bool, default=False
        Keep the first two edges of an order without a test, as the paper's listing does.
    smoothing : {"floor", "dirichlet"}, default="floor"
        Shares of 0 become 1e-5, or ``cell_prior`` is added to every count.
    cell_prior : float, default=1.0
        Pseudo-count of each cell, for ``smoothing="dirichlet"``.
    alpha : float, default=0.0
        Penalty of squared log probabilities, for ``likelihood="conditional"``.
    early_stopping : bool, default=False
        For ``likelihood="conditional"``: whether cross-validation chooses the number of iterations.
    max_iter : int, default=100
        Iterations at most, for ``likelihood="conditional"``.
    tol : float, default=1e-6
        They end when the largest entry of the mean gradient is below this.
    discretisation : {"mdl", "equal_frequency", "equal_width"}, default="mdl"
        How measurements are cut into levels.
    n_bins : int, default=5
        Levels at most, for equal frequency and width.
    discrete : "auto", bool or array-like of shape (n_features,), default="auto"
        Which columns hold codes rather than measurements: those with at most 10 values, all, none, or a mask.
    random_state : int, RandomState instance or None, default=None
        Draws the order of "ro-cr".

    Attributes
    ----------
    training_rate_ : float or None
        Share of the training rows that are classified right with the edges found, as the search saw it. It is not an
        estimate of the accuracy on new rows. None for "nb" and "cmi", which do not search.
    parents_ : dict
        Parents of each column among the columns, by position.
    adjacency_ : ndarray of bool of shape (n_features, n_features)
        True at [parent, child].
    order_ : ndarray of shape (n_features,)
        Columns in the order of the search, or one in which parents come before children.
    n_parameters_ : int
        Probabilities that are free.
    network_ : Network
        The tables of probabilities.
    coding_ : ColumnCoding
        How entries become levels.
    pair_information_ : ndarray of shape (n_features, n_features)
        Information that two columns share within the classes, in bits.
    n_iter_ : int
        Iterations of ``likelihood="conditional"``; 1 with "joint".
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, when they are strings.

    See Also
    --------
    BayesNetClassifier : With edges of your own.
    ISMBClassifier : Averages over graphs, for each row anew.

    Notes
    -----
    Many edges have the same classification rate. Of these, the one with the highest conditional likelihood is taken.

    References
    ----------
    .. [1] Pernkopf, F. and Bilmes, J. A. (2010). Efficient heuristics for discriminative structure learning of Bayesian
       network classifiers. Journal of Machine Learning Research 11, 2323-2360.
    .. [2] Friedman, N., Geiger, D. and Goldszmidt, M. (1997). Bayesian network classifiers. Machine Learning 29,
       131-163.
    .. [3] Keogh, E. J. and Pazzani, M. J. (1999). Learning augmented Bayesian classifiers. AISTATS, 225-230.

    Examples
    --------
    >>> from fewer.datasets import make_conditional_link
    >>> from fewer.graph import TANClassifier
    >>> X, y, truth = make_conditional_link(random_state=0)
    >>> TANClassifier(structure="cmi").fit(X, y).edges_.select("from", "to").rows()  # how columns depend on one another
    [('x1', 'x2'), ('x0', 'x1')]
    >>> TANClassifier().fit(X, y).edges_.select("from", "to").rows()  # what tells the classes apart
    [('x2', 'x0')]
    """

    _parameter_constraints = {
        **{name: each for name, each in BayesNetClassifier._parameter_constraints.items() if name != "edges"},
        "structure": [StrOptions({"nb", "cmi", "cr", "superparent", *ORDERED})],
        "max_parents": [Interval(Integral, 1, None, closed="left")],
        "cv": ["cv_object", None],
        "max_candidates": [Interval(Integral, 1, None, closed="left"), None],
        "paper_literal": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        structure="omi-cr",
        max_parents=1,
        *,
        likelihood="joint",
        cv=None,
        max_candidates=None,
        paper_literal=False,
        smoothing="floor",
        cell_prior=1.0,
        alpha=0.0,
        early_stopping=False,
        max_iter=100,
        tol=1e-6,
        discretisation="mdl",
        n_bins=5,
        discrete="auto",
        random_state=None,
    ):
        self.structure = structure
        self.max_parents = max_parents
        self.likelihood = likelihood
        self.cv = cv
        self.max_candidates = max_candidates
        self.paper_literal = paper_literal
        self.smoothing = smoothing
        self.cell_prior = cell_prior
        self.alpha = alpha
        self.early_stopping = early_stopping
        self.max_iter = max_iter
        self.tol = tol
        self.discretisation = discretisation
        self.n_bins = n_bins
        self.discrete = discrete
        self.random_state = random_state

    def _found_parents(
        self, codes: np.ndarray, n_levels: np.ndarray, classes: np.ndarray, pairs: PairInformation, on_step: OnStep
    ) -> tuple[list[tuple[int, ...]], list[int] | None]:
        self.training_rate_: float | None = None
        if self.structure == "nb":
            return [() for _ in codes], None
        if self.structure == "cmi":
            if self.max_parents > 1:
                raise ValueError("structure='cmi' is a tree, so that max_parents must be 1.")
            return spanning_tree(pairs.given_class), None
        n_classes, order = len(self.classes_), None
        search = RateSearch(
            codes, n_levels, classes, n_classes, self._folds(codes, classes), self._cell_prior,
            discriminative=self.structure == "omi-crcl",
        )  # fmt: skip
        if self.structure == "cr":
            search_all_edges(search, self.max_parents, on_step)
        elif self.structure == "superparent":
            search_super_parents(search, self.max_parents, on_step)
        else:
            kind = self.structure.partition("-")[0]
            if kind == "ro":
                order = check_random_state(self.random_state).permutation(len(codes)).tolist()
            else:
                order = information_order(codes, n_levels, classes, n_classes, kind, pairs)
            candidates = nearest_candidates(pairs.given_class, self.max_candidates)
            search_in_order(search, order, self.max_parents, candidates, self.paper_literal, on_step)
        self.training_rate_ = 1 - search.n_wrong / len(classes)
        return search.parents, order

    def _folds(self, codes: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """Fold that each row belongs to; all to one where rows are classified by tables that they helped to fill."""
        fold = np.zeros(len(classes), dtype=np.int64)
        if self.cv is not None:
            splitter = check_cv(self.cv, classes, classifier=True)
            for number, (_, test) in enumerate(splitter.split(codes.T, classes)):
                fold[test] = number
        return fold
