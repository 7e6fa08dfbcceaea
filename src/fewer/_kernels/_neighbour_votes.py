"""Votes of the nearest neighbours outside a row's own fold, for many labellings at once.

Neighbours do not depend on labels. They are sorted once; for each labelling and its folds a walk along the sorted list
skips the row's own fold and collects the first k labels.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def neighbour_votes(order, distances, slack, labels, folds, n_neighbors, by_distance, n_classes, predicted, unsure):
    """Fill ``predicted`` and ``unsure``, both of one row for each labelling.

    Parameters
    ----------
    order, distances, slack : arrays of shape (n_rows, n_listed)
        Neighbours of each row from near to far (not itself), their distances, and the difference of distances
        that rounding may hide.
    labels, folds : int arrays of shape (n_labellings, n_rows)
        A row in fold -1 is never predicted, but votes.
    by_distance : bool
        Weigh votes by the inverse of the distance instead of equally.
    predicted : int array of shape (n_labellings, n_rows)
        The class with most votes, the first of them when several have.
    unsure : bool array of shape (n_labellings, n_rows)
        True where equal distances or equal votes leave the answer to the order of the rows.
    """
    n_rows, n_listed = order.shape
    votes = np.zeros(n_classes)
    for labelling in range(labels.shape[0]):
        own_labels = labels[labelling]
        own_folds = folds[labelling]
        for row in range(n_rows):
            if own_folds[row] < 0:
                continue
            votes[:] = 0.0
            found = 0
            last = -1
            at = 0
            exact = False
            while at < n_listed and found < n_neighbors:
                neighbour = order[row, at]
                if own_folds[neighbour] != own_folds[row]:
                    label = own_labels[neighbour]
                    distance = distances[row, at]
                    if not by_distance:
                        votes[label] += 1.0
                    elif distance == 0.0:
                        if not exact:  # rows at distance zero outvote all others
                            votes[:] = 0.0
                            exact = True
                        votes[label] += 1.0
                    elif not exact:
                        votes[label] += 1.0 / distance
                    found += 1
                    last = at
                at += 1
            doubt = found < n_neighbors
            if not doubt:
                # Rows as far as the last one: if their labels differ, which of them vote is a matter of order.
                edge = distances[row, last]
                tied_label = own_labels[order[row, last]]
                mixed = False
                back = last - 1
                while back >= 0 and edge - distances[row, back] <= slack[row, last]:
                    neighbour = order[row, back]
                    if own_folds[neighbour] != own_folds[row] and own_labels[neighbour] != tied_label:
                        mixed = True
                    back -= 1
                ahead = last + 1
                more = False
                while ahead < n_listed and distances[row, ahead] - edge <= slack[row, last]:
                    neighbour = order[row, ahead]
                    if own_folds[neighbour] != own_folds[row]:
                        more = True
                        if own_labels[neighbour] != tied_label:
                            mixed = True
                    ahead += 1
                beyond = ahead == n_listed and n_listed < n_rows - 1
                doubt = (more and mixed) or beyond
            best = 0
            for label in range(1, n_classes):
                if votes[label] > votes[best]:
                    best = label
            if by_distance:
                for label in range(n_classes):
                    if label != best and votes[best] - votes[label] <= 1e-9 * votes[best]:
                        doubt = True
            predicted[labelling, row] = best
            unsure[labelling, row] = doubt
