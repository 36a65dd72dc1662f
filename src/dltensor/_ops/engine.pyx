# SPDX-License-Identifier: Apache-2.0
"""The engine that computes on a device: one table of functions for the CPU and for CUDA. Reads no arguments."""
from .._core.tensor cimport Tensor
from .._core.threads cimport Published
from .._core.types cimport DLDevice, device_of, kDLCUDA, kDLCUDAManaged, kDLExtDev

from .._core.types import DeviceError


cdef extern from "native/cpu/program/recorder.h" namespace "dlt" nogil:
    bint is_recording()
    const EngineTable recording_engine

cdef Engine _recording
_recording.table = &recording_engine
_recording.launch_on = _launch_nowhere

cdef Published[const Engine] _engine  # NULL until the CUDA package is loaded


cdef int _launch_nowhere(int device, LaunchContext* launch) except -1:
    return 0


cdef void set_engine(const Engine* engine) noexcept:
    """Register what computes on CUDA devices."""
    _engine.set(engine)


cdef const Engine* loaded_engine() noexcept:
    """Return the engine of CUDA devices, NULL before the first use of one."""
    return _engine.get()


cdef const Engine* engine_of(DLDevice device, str func) except NULL:
    """Return the engine of a device that is not the host."""
    if device.device_type == kDLExtDev and is_recording():
        return &_recording
    if device.device_type != kDLCUDA and device.device_type != kDLCUDAManaged:
        raise DeviceError(f"{func}: nothing here computes on {device_of(device)}; move the tensor with its own "
                          f"framework, or to a CUDA device or the CPU")
    if _engine.get() == NULL:
        from ..cuda import _backend  # no-cython-lint: it registers them
    return _engine.get()


cdef const EngineTable* device_engine_at(DLDevice device, LaunchContext* launch, str func) except NULL:
    cdef const Engine* engine = engine_of(device, func)
    engine.launch_on(device.device_id, launch)
    return engine.table


cdef int set_launch(LaunchContext* launch, object settings) except -1:
    """Launch kernels with these settings. The CPU has none."""
    return 0 if launch.stream == NULL else loaded_engine().set_launch(settings, launch)


def check_computes(Tensor t, str func):
    """Raise DeviceError for a tensor on a device where nothing here computes.

    >>> check_computes(dl.zeros(2), "norm")
    """
    check_device(t, func)


def transform(Tensor x, Tensor out, tuple sizes, bint forward):
    """Write the Fourier transform of `x` over its last dimensions, without a factor; see native/cuda/linalg/fft.h.

    >>> transform(x, out, (8,), True)                             # doctest: +SKIP
    """
    cdef FourierCall call
    cdef int64_t[3] extents
    cdef int i
    call.rank = len(sizes)
    call.batch = 1
    for i in range(x.impl.dl.ndim - call.rank):
        call.batch *= x.impl.dl.shape[i]
    for i in range(call.rank):
        extents[i] = sizes[i]
    call.size, call.forward = extents, forward
    engine_of(x.impl.dl.device, "fft").fourier(&call, x, out)
