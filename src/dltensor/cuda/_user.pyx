# SPDX-License-Identifier: Apache-2.0
"""Launches of kernels that a user wrote: tensors and numbers as the engine's operands. Texts are made in _kernels."""
from libc.string cimport memcpy
from libcpp.string cimport string
from libcpp.vector cimport vector

from ._driver cimport NativeLaunch, NativeStream, Status, check, read_launch, stream_on
from .._core.native cimport Block, find_type, type_table
from .._core.scalars cimport store_python
from .._core.tensor cimport Tensor
from .._core.types cimport DType
from .._ops.arguments cimport read_owned
from .._ops.engine cimport CudaLaunch, EngineOperand, LaunchContext

cdef extern from "native/cuda/compile/user_kernel.h" namespace "dlt::cuda" nogil:
    Status user_elementwise(const char*, const EngineOperand*, int, const EngineOperand&, const LaunchContext&) noexcept
    cppclass RawLaunch:
        unsigned[3] grid
        unsigned[3] block
        unsigned shared_bytes
    cppclass RawUse:
        Block* block
        bint write
    Status raw_launch(const string&, const string&, const vector[string]&, const RawLaunch&, void**, const RawUse*, int,
                      NativeStream&) noexcept
    cppclass RawAttributes:
        int registers, most_threads, shared_bytes, local_bytes
    Status raw_prepare(const string&, const string&, const vector[string]&, NativeStream&, RawAttributes*) noexcept

cdef extern from "native/cuda/elementwise/plan.h" namespace "dlt::cuda" nogil:
    const char* type_name(int) noexcept
    enum:
        MOST "dlt::kernels::max_user_operands"

ctypedef void* Address

cdef enum:
    MOST_ARGUMENTS = 256
    MOST_BYTES = 4096  # bytes of parameters that every device takes


def run_elementwise(bytes text, tuple types, tuple arguments, Tensor out not None, object settings):
    """Run a kernel of `text` over `out`: the operands are tensors or numbers, of the dtypes `types` exactly."""
    cdef EngineOperand operands[MOST]
    cdef EngineOperand target
    cdef LaunchContext launch
    cdef NativeLaunch chosen
    cdef Status status
    cdef double[4] element
    cdef int i, count = <int>len(arguments)
    cdef const char* source = text
    if count > MOST:
        raise ValueError(f"elementwise: expected at most {MOST} operands, got {count}")
    for i in range(count):
        if isinstance(arguments[i], Tensor):
            read_owned(<Tensor>arguments[i], &operands[i])
        else:
            dtype = type_table[_row(types[i])].dtype
            store_python(<void*>element, 0, arguments[i], dtype, False, "elementwise")
            operands[i].type = _row(types[i])
            memcpy(operands[i].value, <void*>element, type_table[operands[i].type].bytes)
    read_owned(out, &target)
    launch.stream = stream_on(out.impl.dl.device.device_id)
    if settings is not None:
        read_launch(settings, &chosen, "elementwise")
        launch.launch = <const CudaLaunch*>&chosen
    with nogil:
        status = user_elementwise(source, operands, count, target, launch)
    check(status)


def run_raw(bytes text, bytes name, list options, tuple grid, tuple block, unsigned shared_bytes, list values,
            list tensors, list writes, int device):
    """Launch a kernel: `values` are the bytes of its arguments, `tensors` those whose memory they point to."""
    cdef char[MOST_BYTES] room
    cdef Address[MOST_ARGUMENTS] arguments
    cdef RawUse[MOST_ARGUMENTS] uses
    cdef RawLaunch settings
    cdef NativeStream* stream
    cdef Status status
    cdef string source = text, kernel = name
    cdef vector[string] flags = options
    cdef Tensor t
    cdef bytes value
    cdef Py_ssize_t i, at = 0, count = len(values), used = len(tensors)
    if count > MOST_ARGUMENTS:
        raise ValueError(f"RawKernel: expected at most {MOST_ARGUMENTS} arguments, got {count}")
    for i in range(count):
        value = values[i]
        if at + len(value) > MOST_BYTES:
            raise ValueError(f"RawKernel: expected arguments of at most {MOST_BYTES} bytes in all")
        memcpy(&room[at], <const char*>value, len(value))
        arguments[i] = &room[at]
        at += (len(value) + 15) // 16 * 16
    for i in range(used):
        t = tensors[i]
        uses[i].block = t.impl.block
        uses[i].write = writes[i]
    for i in range(3):
        settings.grid[i] = grid[i]
        settings.block[i] = block[i]
    settings.shared_bytes = shared_bytes
    stream = stream_on(device)
    with nogil:
        status = raw_launch(source, kernel, flags, settings, arguments, uses, <int>used, stream[0])
    check(status)


def attributes(bytes text, bytes name, list options, int device):
    """Compile a kernel and return its attributes as a dict."""
    cdef RawAttributes out
    cdef NativeStream* stream = stream_on(device)
    cdef Status status
    cdef string source = text, kernel = name
    cdef vector[string] flags = options
    with nogil:
        status = raw_prepare(source, kernel, flags, stream[0], &out)
    check(status)
    return {"registers": out.registers, "max_threads_per_block": out.most_threads, "shared_bytes": out.shared_bytes,
            "local_bytes": out.local_bytes}


def element(object value, DType dtype not None):
    """Return the bytes of a number as one element."""
    cdef char[32] room
    store_python(room, 0, value, dtype.value, False, "RawKernel")
    return room[:dtype.itemsize]


cdef int _row(DType dtype) except -1:
    cdef int row = find_type(dtype.value)
    if row < 0 or type_table[row].dtype.bits % 8:
        raise TypeError(f"elementwise: {dtype} has no kernels on a device")
    return row


def name_in_kernels(DType dtype not None):
    """Return the C++ type of an element in the text of kernels."""
    return type_name(_row(dtype)).decode()
