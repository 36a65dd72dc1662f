# SPDX-License-Identifier: Apache-2.0
"""What the author of an array type writes to have it checked."""

import dltensor as dl


def make():
    return dl.asarray([[1.0, 2.0], [3.0, 4.0]])
