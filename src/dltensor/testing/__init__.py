# SPDX-License-Identifier: Apache-2.0
"""Tools for testing code that uses dltensor. Nothing here is imported by the package itself."""
