"""Data sets to try things on, and the papers' synthetic problems.

Real data, by name: :func:`load` gives a :class:`fewer.io.Dataset`, :func:`available` lists what there is. The sets of
scikit-learn are always there; the others are read from the files of the packages in the extra ``data``, which are
never imported.

Synthetic problems, each from a paper or with one known pitfall: ``make_NAME(n_samples, ..., random_state)`` gives a
``Problem(X, y, truth)``. They are all made in one style:

- The name says what is in the data (``make_independent_sources``), not which method it is for. The module starts with
  the formula of the model that draws it.
- The defaults are the paper's own setting, so that ``make_NAME(random_state=0)`` is the problem of the paper.
- ``random_state`` comes last, and alone decides every draw.
- ``y`` is None when there is nothing to predict.
- ``truth`` holds what a method should recover (the support, the mixing, the directions ...), each part under the word
  for it and in the shape in which our estimators give theirs, so that a test compares the two directly.
"""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.datasets._class_problems import (
        make_five_classes,
        make_friedman_classes,
        make_gene_blocks,
        make_local_borders,
        make_simple_relevance,
        make_waveform,
        simulate_factor_classes,
    )
    from fewer.datasets._gaussian_problems import (
        make_four_gaussians,
        make_gaussian,
        make_gaussian_design,
        make_sparsified_gaussian,
        make_two_gaussians,
        make_twonorm,
    )
    from fewer.datasets._graph_problems import (
        make_changing_network,
        make_class_trees,
        make_conditional_link,
        make_corral,
        make_graph_gaussian,
        simulate_sparse_var,
    )
    from fewer.datasets._latent_problems import (
        make_aspects,
        make_bars,
        make_independent_sources,
        make_permuted_clusters,
        make_subspace_clusters,
        make_topic_words,
    )
    from fewer.datasets._load import available, load
    from fewer.datasets._open import open_table, place_of
    from fewer.datasets._pitfalls import (
        make_counts,
        make_drift,
        make_leak,
        make_planted,
        make_rare_class,
        make_rows_per_patient,
    )
    from fewer.datasets._problem import Problem
    from fewer.datasets._record import DatasetError, PackageMissingError, Record

__all__ = [
    "DatasetError",
    "PackageMissingError",
    "Problem",
    "Record",
    "available",
    "load",
    "make_aspects",
    "make_bars",
    "make_changing_network",
    "make_class_trees",
    "make_conditional_link",
    "make_corral",
    "make_counts",
    "make_drift",
    "make_five_classes",
    "make_four_gaussians",
    "make_friedman_classes",
    "make_gaussian",
    "make_gaussian_design",
    "make_gene_blocks",
    "make_graph_gaussian",
    "make_independent_sources",
    "make_leak",
    "make_local_borders",
    "make_permuted_clusters",
    "make_planted",
    "make_rare_class",
    "make_rows_per_patient",
    "make_simple_relevance",
    "make_sparsified_gaussian",
    "make_subspace_clusters",
    "make_topic_words",
    "make_two_gaussians",
    "make_twonorm",
    "make_waveform",
    "open_table",
    "place_of",
    "simulate_factor_classes",
    "simulate_sparse_var",
]

__getattr__, __dir__ = lazy_names(__name__)
