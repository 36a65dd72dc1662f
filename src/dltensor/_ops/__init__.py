# SPDX-License-Identifier: Apache-2.0
"""Everything that makes tensors or computes with them."""
