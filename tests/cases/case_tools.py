# SPDX-License-Identifier: Apache-2.0
"""How the acceptance cases look at tensors. No cases in here."""

import numpy as np


def values(x):
    """The elements of a tensor, on the host."""
    return x.to("cpu").tolist()


def same(x, numbers):
    """Assert elements, NaN equal to NaN and the sign of 0 seen."""
    np.testing.assert_array_equal(np.asarray(values(x), np.float64), np.asarray(numbers, np.float64))
    np.testing.assert_array_equal(
        np.signbit(np.asarray(values(x), np.float64)), np.signbit(np.asarray(numbers, np.float64))
    )
