# SPDX-License-Identifier: Apache-2.0
"""The command ``dltensor`` and the subcommands that are not in other packages."""
