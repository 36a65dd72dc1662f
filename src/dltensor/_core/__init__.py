# SPDX-License-Identifier: Apache-2.0
"""What a tensor is, and how it comes in and goes out: types, import and export, views, text. No operations."""
