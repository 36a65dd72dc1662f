# SPDX-License-Identifier: Apache-2.0
"""Parts that the command line tools share: timing, arguments, terminal output and files."""
