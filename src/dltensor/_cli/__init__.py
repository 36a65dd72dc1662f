# SPDX-License-Identifier: Apache-2.0
"""The command ``dltensor`` and those subcommands that no other package holds."""
