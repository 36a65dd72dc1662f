# SPDX-License-Identifier: Apache-2.0
"""The exchange matrix: how every installed framework imports the tensors of every other."""
