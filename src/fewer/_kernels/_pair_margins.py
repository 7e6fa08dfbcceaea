"""Predictions between pairs of rows, weighted and added up in one pass over them."""

from numba import njit


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def weigh_margins(products, weights, here, there, row_sums, column_sums):
    """Turn each ``products[i, j]`` into ``weights[i, j] * (here[i] + there[j] - products[i, j])``.

    The sum of each row is written to ``row_sums``, that of each column is added to ``column_sums``.
    """
    n_rows, n_columns = products.shape
    for i in range(n_rows):
        offset = here[i]
        total = 0.0
        for j in range(n_columns):
            weighted = weights[i, j] * (offset + there[j] - products[i, j])
            products[i, j] = weighted
            total += weighted
            column_sums[j] += weighted
        row_sums[i] = total
