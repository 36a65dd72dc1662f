# SPDX-License-Identifier: Apache-2.0
from libc.stdint cimport int32_t, int64_t, uint64_t

from .._core.errors cimport raise_status
from .._core.native cimport KEEP_GIL_BYTES, MAX_DIMS, Block, CastOptions, Fault, Real, Scalar, Status
from .._core.tensor cimport Tensor
from .._core.types cimport DLDevice, DLTensor, is_host, kDLCPU, kDLCUDA, kDLCUDAManaged

cdef extern from "native/cpu/reduce/reduce.h" namespace "dlt" nogil:
    cppclass ReduceOptions:
        bint saturate
        bint keep
        int result
        double correction
        const void* initial
        int initial_type

cdef extern from "native/cpu/index/gather.h" namespace "dlt" nogil:
    ctypedef struct IndexArray:
        const int64_t* data
        int64_t size
        int64_t stride
    ctypedef struct Indexed:
        char* tensor
        char* dense
        int64_t width
        int outer
        int inner
        int64_t outer_shape[MAX_DIMS]
        int64_t outer_tensor[MAX_DIMS]
        int64_t outer_dense[MAX_DIMS]
        int64_t inner_shape[MAX_DIMS]
        int64_t inner_tensor[MAX_DIMS]
        int64_t inner_dense[MAX_DIMS]
        int64_t count
        int64_t dense_step
        int arrays
        IndexArray array[MAX_DIMS]
        int spread
        int64_t spread_shape[MAX_DIMS]
        int64_t spread_tensor[MAX_DIMS]
    ctypedef struct BadIndex:
        int64_t at
        int array
        int64_t value

cdef extern from "native/cpu/linalg/batch.h" namespace "dlt" nogil:
    enum class Factor "dlt::Factor"(int):
        solve
        inverse
        determinant
        cholesky
        qr
        eigh
        svd
    cppclass FactorCall:
        Factor factor
        int64_t count
        int64_t m
        int64_t n
        int64_t k
        bint flag
        bint waits
        unsigned char* info

cdef extern from "native/ops/random/steps.h" namespace "dlt" nogil:
    enum class StepForm "dlt::StepForm"(int):
        signed_integer
        unsigned_integer
        complex
    cppclass Steps:
        StepForm form
        uint64_t first
        uint64_t step
        double re
        double step_re
        double im
        double step_im
    cppclass Ramp:
        int64_t first_high
        int64_t step_high
        uint64_t first_low
        uint64_t step_low
        uint64_t rest
        uint64_t steps
        int32_t fraction

cdef extern from "native/cuda/linalg/fft.h" namespace "dlt::cuda" nogil:
    cppclass FourierCall:
        int rank
        const int64_t* size
        int64_t batch
        bint forward

cdef extern from "native/memory/run.h" namespace "dlt" nogil:
    cppclass Run:
        void* data
        Block* block
        bint number

cdef extern from "native/cpu/runtime/engine_table.h" namespace "dlt" nogil:
    enum Scan "dlt::Scan":  # the values of these, and fields of structs, are declared where they are used
        pass
    enum Distribution "dlt::Distribution":
        pass
    cppclass Draw:
        pass
    cppclass QuantizeCall:
        pass
    cppclass Shuffle:
        pass
    cppclass EngineOperand:
        const DLTensor* tensor
        Block* block
        int type
        bint padded
        unsigned char[16] value
    cppclass CudaLaunch "dlt::cuda::Launch"
    cppclass LaunchContext:
        void* stream
        const CudaLaunch* launch
        unsigned char[16] settings
        bint reproducible
    cppclass ElementCall:
        int op
        bint saturate
        int type
        int saturating
    cppclass EngineTable:
        Status (*element)(const ElementCall&, const EngineOperand*, int, const EngineOperand&,
                          const LaunchContext&) noexcept
        Status (*real)(Real, double, const EngineOperand&, const EngineOperand*, const EngineOperand&,
                       const LaunchContext&) noexcept
        Status (*cast)(const EngineOperand&, const EngineOperand&, const CastOptions&, const LaunchContext&) noexcept
        Status (*choose)(const EngineOperand&, const EngineOperand&, const EngineOperand&, const EngineOperand&,
                         const LaunchContext&) noexcept
        Status (*fill)(const void*, const EngineOperand&, const LaunchContext&) noexcept
        Status (*gemm)(const EngineOperand&, const EngineOperand&, const EngineOperand&, const Scalar&, const Scalar&,
                       const LaunchContext&) noexcept
        Status (*reduce)(int, const ReduceOptions&, int, const EngineOperand&, const EngineOperand*, uint64_t,
                         const EngineOperand&, const LaunchContext&) noexcept
        Status (*scan)(Scan, const EngineOperand&, int, const EngineOperand&, const LaunchContext&) noexcept
        Status (*sort)(const EngineOperand&, const EngineOperand*, const EngineOperand*, int, bint,
                       const LaunchContext&) noexcept
        Status (*gather)(Indexed&, const EngineOperand&, const EngineOperand&, Block**, BadIndex*,
                         const LaunchContext&) noexcept
        Status (*scatter)(Indexed&, int, int, const EngineOperand&, const EngineOperand&, Block**, BadIndex*,
                          const LaunchContext&) noexcept
        Status (*pack_mask)(const EngineOperand&, uint64_t, int64_t, const EngineOperand&, const EngineOperand&,
                            int64_t*, const LaunchContext&) noexcept
        Status (*mask_positions)(const EngineOperand*, int, const int64_t*, int64_t, const EngineOperand&,
                                 const EngineOperand&, const LaunchContext&) noexcept
        Status (*mask_elements)(const EngineOperand&, int64_t, const EngineOperand&, const EngineOperand&,
                                const EngineOperand&, const LaunchContext&) noexcept
        int64_t mask_tile
        Status (*factor)(const FactorCall&, const EngineOperand&, const EngineOperand*, const EngineOperand*,
                         const EngineOperand*, const LaunchContext&) noexcept
        Status (*draw)(Distribution, int, int, const Draw&, uint64_t, int64_t, const EngineOperand&,
                       const LaunchContext&) noexcept
        Status (*search)(const EngineOperand&, const EngineOperand&, const EngineOperand&, bint,
                         const LaunchContext&) noexcept
        Status (*tally)(const EngineOperand&, const EngineOperand*, const EngineOperand&, const LaunchContext&) noexcept
        Status (*quantize)(const QuantizeCall&, const EngineOperand&, const EngineOperand&, const EngineOperand&,
                           const EngineOperand*, const LaunchContext&) noexcept
        Status (*dequantize)(const EngineOperand&, const EngineOperand*, const EngineOperand*, int,
                             const EngineOperand&, const LaunchContext&) noexcept
        Status (*steps)(const Steps&, const EngineOperand&, const LaunchContext&) noexcept
        Status (*ramp)(const Ramp&, int, const EngineOperand&, const LaunchContext&) noexcept
        Status (*shuffle)(const Shuffle&, const EngineOperand&, const LaunchContext&) noexcept
    const EngineTable cpu_engine

cdef extern from "Python.h" nogil:
    ctypedef struct PyThreadState
    PyThreadState* PyEval_SaveThread() noexcept
    void PyEval_RestoreThread(PyThreadState*) noexcept

# The engine of other devices than the host. Everything is checked before: devices, shapes, dtypes, and that outputs are
# writable. Each function raises, or has enqueued the work. `same` is the fast path: tensors of one dtype and shape in
# C order, of `size` elements, and numbers as elements of that dtype; into a tensor like `like`, of dtype `to`, or a new
# one, which it returns. `reduce_rows` is that of reductions: of a tensor in C order, `outer` times rows of `count`
# elements that are `inner` apart, into `answer`, whose memory it allocates.
cdef struct Engine:
    const EngineTable* table
    int (*launch_on)(int device, LaunchContext* out) except -1  # the calling thread's stream
    int (*set_launch)(object settings, LaunchContext* out) except -1
    object (*same)(int op, int type, int to, int64_t size, const DLTensor* like, const Run* items, int count,
                   object out)
    int (*reduce_rows)(int reduction, int type, int to, double correction, Tensor x, int64_t outer, int64_t count,
                       int64_t inner, Tensor answer) except -1
    int (*fourier)(const FourierCall* call, Tensor x, Tensor out) except -1
    int (*float8_product)(Tensor x, Tensor values, Tensor scale, Tensor out, bint* is_done) except -1

cdef void set_engine(const Engine* engine) noexcept
cdef const Engine* engine_of(DLDevice device, str func) except NULL
cdef const Engine* loaded_engine() noexcept
cdef inline int check_device(Tensor t, str func) except -1:
    if not is_host(<int>t.impl.dl.device.device_type):
        engine_of(t.impl.dl.device, func)
    return 0

cdef const EngineTable* device_engine_at(DLDevice device, LaunchContext* launch, str func) except NULL
cdef int set_launch(LaunchContext* launch, object settings) except -1
# The engine of a device, and where it enqueues work of the calling thread.
cdef inline const EngineTable* engine_at(DLDevice device, LaunchContext* launch, str func) except NULL:
    if is_host(<int>device.device_type):
        return &cpu_engine
    return device_engine_at(device, launch, func)

# Before the call of a slot: release the GIL where the work takes longer than that costs, and on devices, where a launch
# may block. `bytes`: of an addition that takes as long. After it: take the GIL back, and raise what the status stands
# for.
cdef inline PyThreadState* release_gil(const LaunchContext& launch, int64_t bytes) noexcept:
    return PyEval_SaveThread() if launch.stream != NULL or bytes > KEEP_GIL_BYTES else NULL
cdef inline void take_gil(PyThreadState* state) noexcept:
    if state != NULL:
        PyEval_RestoreThread(state)

cdef inline int finish(PyThreadState* state, Status status, const LaunchContext& launch, str func) except -1:
    take_gil(state)
    if status.fault == Fault.none:
        return 0
    return raise_status(status, func if launch.stream == NULL else None)  # texts of devices name the function

# Host memory of every kind counts as the CPU, managed memory as its CUDA device.
cdef inline DLDevice computing_device(DLDevice device) noexcept:
    if is_host(<int>device.device_type):
        device.device_type, device.device_id = kDLCPU, 0
    elif device.device_type == kDLCUDAManaged:
        device.device_type = kDLCUDA
    return device
cdef inline bint is_same_place(DLDevice a, DLDevice b) noexcept:
    a, b = computing_device(a), computing_device(b)
    return a.device_type == b.device_type and a.device_id == b.device_id
