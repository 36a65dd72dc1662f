# SPDX-License-Identifier: Apache-2.0
"""Parts of calls_fuzzer.py: what can be called, with what, what may come of it, and the child process that tries."""
