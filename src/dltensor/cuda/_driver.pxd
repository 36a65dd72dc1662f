# SPDX-License-Identifier: Apache-2.0
# Parts of cuda/_driver.pyx that tensors on CUDA devices share: statuses, streams, events and launch settings.
from libc.stdint cimport uintptr_t
from libcpp cimport bool as truth

from .._core.errors cimport check_status
from .._core.native cimport Block, Fault, Status


cdef extern from "native/cuda/runtime/driver.h" namespace "dlt::cuda" nogil:
    ctypedef void* CUstream
    ctypedef void* CUevent

cdef extern from "native/cuda/runtime/device.h" namespace "dlt::cuda" nogil:
    cdef cppclass NativeDevice "dlt::cuda::Device":
        int ordinal

cdef extern from "native/cuda/runtime/stream.h" namespace "dlt::cuda" nogil:
    cdef cppclass NativeStream "dlt::cuda::Stream":
        uintptr_t number() noexcept
        NativeDevice* device
        int priority
    Status stream_of(int, CUstream, NativeStream**) noexcept
    Status create_stream(int, int, NativeStream**) noexcept
    Status destroy_stream(NativeStream*) noexcept
    Status synchronize_stream(NativeStream*) noexcept
    Status query_stream(NativeStream*) noexcept
    Status native_current_stream "dlt::cuda::current_stream"(int, NativeStream**) noexcept
    void set_current_stream(NativeStream*) noexcept
    Status is_capturing(const NativeStream&, truth*) noexcept
    Status order_after(NativeStream&, NativeStream&) noexcept
    CUstream share_handle(NativeStream&) noexcept
    void hold_stream(NativeStream&) noexcept
    void release_stream_owner(NativeStream&, Block*) noexcept
    Status create_event(int, bint, bint, CUevent*) noexcept
    void destroy_event(int, CUevent) noexcept
    Status record_event(CUevent, NativeStream*) noexcept
    Status wait_event(NativeStream*, CUevent) noexcept
    Status query_event(int, CUevent) noexcept
    Status synchronize_event(int, CUevent) noexcept
    Status native_elapsed_time "dlt::cuda::elapsed_time"(int, CUevent, CUevent, float*) noexcept

cdef extern from "native/cuda/runtime/launch.h" namespace "dlt::cuda" nogil:
    cdef cppclass NativeLaunch "dlt::cuda::Launch":
        int blocks_per_sm
        int num_threads
        long long values_per_thread

cdef inline int check(Status status) except -1:
    """Raise what a status stands for, with the engine's text, which names the function."""
    return check_status(status, None)
cdef int read_launch(object settings, NativeLaunch* out, str func) except -1
cdef int start() except -1
cdef NativeStream* stream_on(int ordinal) except NULL
cdef NativeStream* stream_or_null(int ordinal) except? NULL
