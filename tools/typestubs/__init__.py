# SPDX-License-Identifier: Apache-2.0
"""Type stubs from sources: tables of the engine, signatures and docstrings. Nothing of the package is imported."""
