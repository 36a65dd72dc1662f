# SPDX-License-Identifier: Apache-2.0
"""The fault catalogue: producers that lie, what is expected of a consumer, and the child processes it is tried in."""
