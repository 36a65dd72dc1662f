# SPDX-License-Identifier: Apache-2.0
"""Structs and private fields of other libraries: one module per library, each with a switch to do without them."""

import os


def takes_public_way(variable):
    """Test whether an environment variable restricts exchange with a library to its public interface.

    >>> takes_public_way("DLTENSOR_UNSET")
    False
    """
    value = os.environ.get(variable, "")
    if value not in ("", "public"):
        raise ValueError(f"dltensor: {variable} must be 'public' or empty, got {value[:40]!r}; correct or unset it")
    return value == "public"
