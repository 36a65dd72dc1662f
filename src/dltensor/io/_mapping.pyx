# SPDX-License-Identifier: Apache-2.0
"""Pages of a file as a row of bytes, and what the system says of a file. Formats are not known here."""
from libc.errno cimport errno
from libc.stdint cimport int64_t

from .._core.native cimport Block
from .._core.tensor cimport Tensor, bytes_of
from .._core.types cimport DLPACK_FLAG_BITMASK_READ_ONLY, DLDevice, kDLCPU

import os

from .._core.convert import empty

cdef extern from "native/memory/mapping.h" namespace "dlt" nogil:
    enum Mapping "dlt::Mapping":
        READ_ONLY "dlt::Mapping::read_only"
        COPY_ON_WRITE "dlt::Mapping::copy_on_write"
        SHARED "dlt::Mapping::shared"
    Block* native_map "dlt::map_file"(int, size_t, size_t, Mapping) noexcept
    bint native_is_remote "dlt::is_remote_file"(int) noexcept
    bint is_sole_reference(const Block*) noexcept


def map_file(int file, int64_t nbytes, int64_t offset, str mode, str prefix):
    """Return bytes of an open file as a row of uint8, mapped and not read.

    Parameters
    ----------
    file : int, a descriptor, which may be closed afterwards
    nbytes, offset : int, within the file
    mode : {"r", "c", "r+", "w+"}
        Read-only over pages of this process's own; the same and writable; writable into the file.
    prefix : str, what messages begin with

    Examples
    --------
    >>> import os
    >>> from dltensor.io._mapping import map_file
    >>> file = os.memfd_create("example"); _ = os.write(file, b"\\x01\\x02\\x03")
    >>> map_file(file, 2, 1, "r", "example").tolist(); os.close(file)
    [2, 3]
    """
    cdef Mapping mapping = READ_ONLY if mode == "r" else COPY_ON_WRITE if mode == "c" else SHARED
    cdef Block* block
    if nbytes == 0:
        return empty(0, dtype="uint8")
    with nogil:
        block = native_map(file, <size_t>nbytes, <size_t>offset, mapping)
    if block == NULL:
        number = errno
        raise OSError(number, f"{prefix}: {nbytes} bytes cannot be mapped: {os.strerror(number)}")
    return bytes_of(block, nbytes, DLDevice(kDLCPU, 0), DLPACK_FLAG_BITMASK_READ_ONLY if mapping == READ_ONLY else 0)


def as_read_only(Tensor t):
    """Make a tensor that nothing else refers to yet read-only, and return it.

    >>> as_read_only(dl.zeros(2)).readonly
    True
    """
    t.impl.flags |= DLPACK_FLAG_BITMASK_READ_ONLY
    return t


def has_views(Tensor t):
    """Test whether other tensors or exports refer to the memory of a tensor.

    >>> t = dl.zeros(2); view = t[:1]
    >>> has_views(t), has_views(dl.zeros(2))
    (True, False)
    """
    return t.impl.block != NULL and not is_sole_reference(t.impl.block)


def is_remote(int file):
    """Test whether an open file is on a network file system.

    >>> import os
    >>> file = os.memfd_create("example"); is_remote(file); os.close(file)
    False
    """
    cdef bint answer
    with nogil:
        answer = native_is_remote(file)
    return answer
