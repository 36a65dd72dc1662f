# SPDX-License-Identifier: Apache-2.0
"""The Tensor class, its types, import and export, views and text. No operations."""
