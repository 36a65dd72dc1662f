# SPDX-License-Identifier: Apache-2.0
"""The exchange matrix: what every installed framework makes of the tensors of every other."""
