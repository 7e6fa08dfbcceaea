"""Numba kernels of the information bound: from moments of states and from products of rows.

``B`` is any matrix with the span of the projection: with noise of covariance ``s^2 B B'`` its codes carry as much
information as those of orthonormal directions with noise ``s^2 I``. For products of rows, the symbols are those of
``_bound``; SciPy's inverse from a Cholesky factor holds the lock that other threads wait for, and takes as long as the
products here.
"""

import numpy as np
from numba import njit

_LOG_TWO_PI = float(np.log(2 * np.pi))


@njit(cache=True, nogil=True)
def product(A, B):
    """One compiled product for all contiguous matrices."""
    return np.dot(A, B)


@njit(cache=True, nogil=True)
def transposed(A, n_columns):
    """The transpose of the first columns, contiguous."""
    turned = np.empty((n_columns, len(A)))
    for a in range(len(A)):
        for b in range(n_columns):
            turned[b, a] = A[a, b]
    return turned


@njit(cache=True, nogil=True)
def weighted_moments(Z, pi):
    """Second moments (J, r, r) of rows with weights ``pi`` (rows, J), not centred again; zero where all weights are."""
    n_rows, n_axes = Z.shape
    n_states = pi.shape[1]
    moments = np.zeros((n_states, n_axes, n_axes))
    weighted = np.empty((n_axes, n_rows))
    for j in range(n_states):
        total = 0.0
        for i in range(n_rows):
            total += pi[i, j]
        if total <= 0:
            continue
        for i in range(n_rows):
            share = pi[i, j] / total
            for a in range(n_axes):
                weighted[a, i] = share * Z[i, a]
        np.dot(weighted, Z, moments[j])
    return moments


@njit(cache=True, nogil=True)
def projection_slopes(B, C, shares, noise, reg, n_columns):
    """``-1/2 sum_j pbar_j (h(E_j) + p log 2 pi)``, its gradient in B, and what a row adds under each decoder.

    That is ``-1/2 (z'M_j z + m_j)``, with M (J, r, r) and m (J,) given; the value is minus infinity if an S_j is not
    positive definite.
    """
    n_states, n_axes = C.shape[:2]
    n_codes = len(B)
    value = 0.0
    gradient = np.zeros((n_codes, n_axes))
    forms = np.empty((n_states, n_axes, n_axes))
    constants = np.zeros(n_states)
    B_transposed = transposed(B, n_axes)
    overlaps = product(B, B_transposed)
    for j in range(n_states):
        P = product(B, C[j])
        N = product(P, B_transposed)
        for a in range(n_codes):
            for b in range(n_codes):
                N[a, b] += noise * overlaps[a, b]
        U = product(np.linalg.inv(N), P)  # transposed: k x r
        S = product(transposed(U, n_axes), P)
        for a in range(n_axes):
            for b in range(a + 1):
                S[a, b] = S[b, a] = C[j, a, b] - (S[a, b] + S[b, a]) / 2
            S[a, a] += reg
        sign, log_det = np.linalg.slogdet(S)
        if not (sign > 0 and np.isfinite(log_det)):
            return -np.inf, gradient, forms, constants
        inverse = np.linalg.inv(S)
        slope = product(inverse, inverse)
        height = log_det + n_axes
        at_rest = 0.0
        for a in range(n_axes):
            height -= reg * inverse[a, a]
            for b in range(n_axes):
                slope[a, b] = inverse[a, b] + reg * slope[a, b]
                at_rest += slope[a, b] * S[a, b]
            at_rest -= reg * slope[a, a]
        if n_columns > n_axes:
            height += (n_columns - n_axes) * np.log(reg)
        value -= 0.5 * shares[j] * (height + n_columns * _LOG_TWO_PI)
        US = product(U, slope)
        USU = product(US, transposed(U, n_axes))
        upwards, downwards = product(US, C[j]), product(USU, P)
        seen = product(USU, B)
        cross, within = product(B_transposed, US), product(B_transposed, seen)
        blurred = 0.0
        for a in range(n_codes):
            for b in range(n_axes):
                gradient[a, b] += shares[j] * (upwards[a, b] - downwards[a, b] - noise * seen[a, b])
            for b in range(n_codes):
                blurred += USU[a, b] * overlaps[a, b]
        for a in range(n_axes):
            for b in range(n_axes):
                forms[j, a, b] = slope[a, b] - cross[a, b] - cross[b, a] + within[a, b]
        constants[j] = noise * blurred + height - at_rest + n_columns * _LOG_TWO_PI
    return value, gradient, forms, constants


@njit(cache=True, nogil=True)
def row_slopes(Z, forms, constants):
    """``-1/2 (z'M_j z + m_j)`` of each row and state."""
    n_rows, n_axes = Z.shape
    found = np.empty((n_rows, len(forms)))
    for j in range(len(forms)):
        turned = product(Z, forms[j])
        for i in range(n_rows):
            total = constants[j]
            for a in range(n_axes):
                total += turned[i, a] * Z[i, a]
            found[i, j] = -0.5 * total
    return found


@njit(cache=True, nogil=True)
def softmax_states(Z, weights):
    """Probabilities ``~ exp(-(v_j'z + b_j))`` of the states of each row, from v and b side by side."""
    n_rows, n_axes = Z.shape
    n_states = len(weights)
    pi = product(Z, transposed(weights, n_axes))
    for i in range(n_rows):
        lowest = np.inf
        for j in range(n_states):
            pi[i, j] += weights[j, n_axes]
            lowest = min(lowest, pi[i, j])
        total = 0.0
        for j in range(n_states):
            pi[i, j] = np.exp(lowest - pi[i, j])
            total += pi[i, j]
        for j in range(n_states):
            pi[i, j] /= total
    return pi


@njit(cache=True, nogil=True)
def state_shares(pi):
    """Share of the rows in each state."""
    n_rows, n_states = pi.shape
    shares = np.zeros(n_states)
    for i in range(n_rows):
        for j in range(n_states):
            shares[j] += pi[i, j] / n_rows
    return shares


@njit(cache=True, nogil=True)
def softmax_slopes(Z, pi, shares, gains, sent):
    """Entropies of the states, if they are not sent, and the gradient of the bound in v and b.

    ``gains`` has what each row adds in each state without them, times its probability.
    """
    n_rows, n_axes = Z.shape
    n_states = len(shares)
    entropy = 0.0
    down = np.empty((n_states, n_rows))
    for i in range(n_rows):
        mean = 0.0
        for j in range(n_states):
            gain = gains[i, j]
            if not sent and pi[i, j] > 0:
                surprise = pi[i, j] * (np.log(shares[j]) - np.log(pi[i, j]))
                entropy += surprise / n_rows
                gain += surprise
            down[j, i] = gain
            mean += gain
        for j in range(n_states):
            down[j, i] = (pi[i, j] * mean - down[j, i]) / n_rows  # logits are minus what the weights give
    along = product(down, Z)
    in_weights = np.zeros((n_states, n_axes + 1))
    for j in range(n_states):
        for a in range(n_axes):
            in_weights[j, a] = along[j, a]
        for i in range(n_rows):
            in_weights[j, n_axes] += down[j, i]
    return entropy, in_weights


@njit(cache=True, nogil=True)
def softmax_bound(Z, weights, B, noise, reg, n_columns, sent):
    """The bound for states with probabilities ``~ exp(-(v_j'z + b_j))``, and its gradients in (v, b) and in B."""
    pi = softmax_states(Z, weights)
    shares = state_shares(pi)
    value, in_B, forms, constants = projection_slopes(B, weighted_moments(Z, pi), shares, noise, reg, n_columns)
    entropy, in_weights = softmax_slopes(Z, pi, shares, pi * row_slopes(Z, forms, constants), sent)
    return value + entropy, in_weights, in_B


@njit(cache=True, nogil=True)
def turned_value(B, values, axes, shares, noise, reg, n_columns):
    """The value of ``projection_slopes`` and its gradient, from ``C_j = Q diag(c) Q'``.

    ``S = C + reg I - P N^-1 P'`` is a diagonal matrix less one of rank k in the axes Q, so that no matrix of r x r is
    inverted: ``S^-1 = K + K P D^-1 P'K`` and ``|S| = |C + reg I| |D| / |N|``, with ``K = (C + reg I)^-1`` and
    ``D = N - P'K P``.
    """
    n_states, n_axes = values.shape
    n_codes = len(B)
    value = 0.0
    gradient = np.zeros((n_codes, n_axes))
    overlaps = product(B, transposed(B, n_axes))
    for j in range(n_states):
        turned = product(B, axes[j])
        P, PK = np.empty((n_codes, n_axes)), np.empty((n_codes, n_axes))
        height = n_axes + n_columns * _LOG_TWO_PI
        if n_columns > n_axes:
            height += (n_columns - n_axes) * np.log(reg)
        for b in range(n_axes):
            if not values[j, b] + reg > 0:
                return -np.inf, gradient
            height += np.log(values[j, b] + reg) - reg / (values[j, b] + reg)
            for a in range(n_codes):
                P[a, b] = turned[a, b] * values[j, b]
                PK[a, b] = P[a, b] / (values[j, b] + reg)
        PK_transposed = transposed(PK, n_axes)
        N, D = product(P, transposed(turned, n_axes)), product(P, PK_transposed)
        for a in range(n_codes):
            for b in range(n_codes):
                N[a, b] += noise * overlaps[a, b]
                D[a, b] = N[a, b] - D[a, b]
        sign, log_det = np.linalg.slogdet(D)
        if not (sign > 0 and np.isfinite(log_det)):
            return -np.inf, gradient
        inverse = np.linalg.inv(D)
        traces, squares = 0.0, product(PK, PK_transposed)
        for a in range(n_codes):
            for b in range(n_codes):
                traces += inverse[a, b] * squares[a, b]
        value -= 0.5 * shares[j] * (height + log_det - np.linalg.slogdet(N)[1] - reg * traces)
        U = product(np.linalg.inv(N), P)
        low_rank = product(inverse, PK)
        once = product(product(U, PK_transposed), low_rank)
        for a in range(n_codes):
            for b in range(n_axes):
                once[a, b] += U[a, b] / (values[j, b] + reg)
        slope = product(product(once, PK_transposed), low_rank)
        for a in range(n_codes):
            for b in range(n_axes):
                slope[a, b] = once[a, b] + reg * (slope[a, b] + once[a, b] / (values[j, b] + reg))
        within = product(slope, transposed(U, n_axes))
        inside = product(within, P)
        for a in range(n_codes):
            for b in range(n_axes):
                inside[a, b] = shares[j] * (slope[a, b] * values[j, b] - inside[a, b])
        upwards, seen = product(inside, transposed(axes[j], n_axes)), product(within, B)
        for a in range(n_codes):
            for b in range(n_axes):
                gradient[a, b] += upwards[a, b] - noise * shares[j] * seen[a, b]
    return value, gradient


_SMALL, _BAND = 32, 96
"""Rows of a triangle that is inverted entry by entry, and of a band of a product."""


@njit(cache=True, nogil=True)
def gram_inverse(products, rows, roots, reg):
    """``G^-1`` and ``log|G|`` for ``G = M M' + reg I`` of some rows with weights, from the products of all rows."""
    size = len(rows)
    G = np.empty((size, size))
    for a in range(size):
        for b in range(size):
            G[a, b] = roots[a] * roots[b] * products[rows[a], rows[b]]
        G[a, a] += reg
    factor = np.linalg.cholesky(G)
    log_det = 0.0
    for a in range(size):
        log_det += 2 * np.log(factor[a, a])
    return _own_product(_triangular_inverse(factor)), log_det


@njit(cache=True, nogil=True)
def _own_product(R):
    """``R'R`` of a lower triangular matrix, by bands of its rows up to the diagonal, which need R from there on."""
    size = len(R)
    found = np.empty((size, size))
    for start in range(0, size, _BAND):
        end = min(start + _BAND, size)
        below, turned = np.empty((size - start, end)), np.empty((end - start, size - start))
        for a in range(start, size):
            for b in range(end):
                below[a - start, b] = R[a, b]
            for b in range(start, end):
                turned[b - start, a - start] = R[a, b]
        band = product(turned, below)
        for a in range(start, end):
            for b in range(end):
                found[a, b] = band[a - start, b]
            for b in range(start):
                found[b, a] = band[a - start, b]
    return found


@njit(cache=True, nogil=True)
def _triangular_inverse(L):
    """The inverse of a lower triangular matrix; of a large one by halves, so that most of it is products."""
    size = len(L)
    R = np.zeros((size, size))
    if size <= _SMALL:
        for a in range(size):
            R[a, a] = 1 / L[a, a]
            for b in range(a):
                total = 0.0
                for c in range(b, a):
                    total += L[a, c] * R[c, b]
                R[a, b] = -total * R[a, a]
        return R
    half = size // 2
    first = _triangular_inverse(np.ascontiguousarray(L[:half, :half]))
    second = _triangular_inverse(np.ascontiguousarray(L[half:, half:]))
    R[:half, :half], R[half:, half:] = first, second
    R[half:, :half] = product(second, product(np.ascontiguousarray(-L[half:, :half]), first))
    return R


@njit(cache=True, nogil=True)
def seen_state(inverse, T, blur, reg):
    """How much the projection changes h(E), what its gradient is made of, and ``N^-1``, ``D^-1``, ``T'G^-1 Q``.

    The gradient of ``-1/2 h(E)`` in B is ``pull'M - s^2 within B``. ``X T`` and the parts of
    ``X = M (S^-1 + reg S^-2) M' = I - reg^2 G^-2 + Q L' + L Q'`` come last.
    """
    size, n_codes = T.shape
    T_transposed = transposed(T, n_codes)
    once = product(inverse, T)
    twice = product(inverse, once)
    N, D = product(T_transposed, T), product(T_transposed, once)
    squared = product(transposed(once, n_codes), once)
    for a in range(n_codes):
        for b in range(n_codes):
            squared[a, b] = D[a, b] - reg * squared[a, b]
            D[a, b] = reg * D[a, b] + blur[a, b]
            N[a, b] += blur[a, b]
    N_inverse, D_inverse = np.linalg.inv(N), np.linalg.inv(D)
    change = np.linalg.slogdet(D)[1] - np.linalg.slogdet(N)[1]
    outer = product(product(D_inverse, squared), D_inverse)
    for a in range(n_codes):
        for b in range(n_codes):
            change -= reg * D_inverse[a, b] * squared[a, b]
            outer[a, b] = 0.5 * (D_inverse[a, b] + reg * outer[a, b])
    Q, R, XT = np.empty((size, n_codes)), np.empty((size, n_codes)), np.empty((size, n_codes))
    for i in range(size):
        for a in range(n_codes):
            Q[i, a] = T[i, a] - reg * once[i, a]
            R[i, a] = reg * (once[i, a] - reg * twice[i, a])
            XT[i, a] = T[i, a] - reg * reg * twice[i, a]
    L = product(R, D_inverse) + product(Q, outer)
    XT += product(Q, product(transposed(L, n_codes), T)) + product(L, product(transposed(Q, n_codes), T))
    inner = product(N_inverse, product(T_transposed, XT))
    pull = product(XT - product(T, inner), N_inverse)
    return change, pull, product(inner, N_inverse), N_inverse, D_inverse, squared, XT, Q, L


@njit(cache=True, nogil=True)
def weighted_distances(inverse, T, reg, within, N_inverse, XT, Q, L):
    """``w d'(S^-1 + reg S^-2) d`` of the rows of a state with ``d = z - U W z``.

    It is the diagonal of ``F X F`` with ``F = I - T N^-1 T'``.
    """
    size, n_codes = T.shape
    found = np.zeros(size)
    for a in range(size):
        for b in range(size):
            found[b] -= inverse[a, b] * inverse[a, b]
    fitted, inside = product(T, N_inverse), product(T, within)
    for i in range(size):
        found[i] = 1 + reg * reg * found[i]
        for a in range(n_codes):
            found[i] += 2 * Q[i, a] * L[i, a] + T[i, a] * inside[i, a] - 2 * fitted[i, a] * XT[i, a]
    return found
