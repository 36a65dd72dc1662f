# SPDX-License-Identifier: Apache-2.0
# Signals within loops of compiled code, where the interpreter does not look for them.
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t


cdef inline int check_signals(int64_t step) except -1:
    """Call Python's handlers of signals that have arrived, once in 65,536 steps of a loop."""
    return PyErr_CheckSignals() if step & 0xFFFF == 0xFFFF else 0
