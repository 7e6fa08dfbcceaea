"""Tables as kernels should see them: one kind, whoever owns them.

Numba compiles a kernel once for arrays that can be written to, and again for those that cannot (of a frame, a file,
another process). What a kernel only reads is given to it as the second kind, always.
"""

import numpy as np


def read_only(array: np.ndarray) -> np.ndarray:
    """The same numbers, which cannot be changed through this view."""
    view = array.view()
    view.flags.writeable = False
    return view
