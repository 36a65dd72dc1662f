# SPDX-License-Identifier: Apache-2.0
"""mpi4py sends dtypes of DLPack that MPI does not have as bytes, and reduces them as bytes: wrong sums, no error."""

import ctypes
import struct

from by_hand import Source, address, report
from mpi4py import MPI

BFLOAT16, ONE = (4, 16, 1), 0x3F80


def ones():
    """Two bfloat16 numbers, each 1.0."""
    source = Source((2,), dtype=BFLOAT16)
    numbers(source)[:] = ONE, ONE
    return source


def numbers(source):
    return (ctypes.c_uint16 * 2).from_address(address(source.__dlpack__()))


# What each of two ranks does in Allreduce with the numbers of the other.
x, total = ones(), ones()
try:
    MPI.SUM.Reduce_local(x, total)
    got = [struct.unpack("f", struct.pack("I", bits << 16))[0] for bits in numbers(total)]
except Exception as error:
    got = type(error).__name__
report("mpi4py", "[2.0, 2.0], or an exception", got, isinstance(got, list) and got != [2.0, 2.0])
