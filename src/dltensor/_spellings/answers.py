# SPDX-License-Identifier: Apache-2.0
"""Names of NumPy, PyTorch and JAX that are not taken, each with what to write here."""

OF_TENSOR = {}
