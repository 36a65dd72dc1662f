# SPDX-License-Identifier: Apache-2.0
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t

from .._core.scalars cimport kind_order  # for the modules that cimport operands
from .._core.native cimport MAX_DIMS, MAX_DIMS_TWICE, Block, CastOptions, Real, Scalar
from .._core.tensor cimport Tensor
from .._core.types cimport DLDataType, DLDevice, DLPackExchangeAPI, DLTensor

cdef extern from "native/cpu/reduce.h" namespace "dlt" nogil:
    cppclass ReduceOptions:
        bint saturate
        bint keep
        int result
        double correction
        const void* initial
        int initial_type

cdef extern from "native/cpu/scan.h" namespace "dlt" nogil:
    enum Scan "dlt::Scan":
        SUM "dlt::Scan::sum"
        PRODUCT "dlt::Scan::product"
        MAXIMUM "dlt::Scan::maximum"
        MINIMUM "dlt::Scan::minimum"
        SATURATING_SUM "dlt::Scan::saturating_sum"
        SATURATING_PRODUCT "dlt::Scan::saturating_product"

cdef extern from "native/ops/draws.h" namespace "dlt" nogil:
    cppclass Sequence "dlt::philox::Sequence":
        uint64_t key
        uint64_t stream
    enum Distribution "dlt::Distribution":
        UNIT "dlt::draw_unit"
        UNIFORM "dlt::draw_uniform"
        NORMAL "dlt::draw_normal"
        EXPONENTIAL "dlt::draw_exponential"
        INTEGERS "dlt::draw_integers"
    cppclass Draw:
        Sequence sequence
        double a
        double b
        double below
        uint64_t low
        uint64_t count
        uint64_t reject


cdef extern from "native/cpu/gather.h" namespace "dlt" nogil:
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

cdef extern from "native/cuda/matrices.h" namespace "dlt::cuda" nogil:
    enum class Factor "dlt::cuda::Factor"(int):
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

cdef extern from "native/cuda/fft.h" namespace "dlt::cuda" nogil:
    cppclass FourierCall:
        int rank
        const int64_t* size
        int64_t batch
        bint forward

# Operand of a function: a view of a tensor, or a Python number. Valid while the argument itself is held, no
# Python code runs and the GIL is not released; `hold_without_gil` keeps it good without the GIL.
cdef struct Operand:
    DLTensor view
    PyObject* owner    # the foreign object that the memory is borrowed from; NULL for our tensors and numbers
    const DLPackExchangeAPI* table  # of the owner's type; NULL for an ndarray
    Block* block        # that the memory belongs to; NULL for numbers and for what is borrowed
    uint64_t flags
    int type            # a row of the dtype table, -1 for types no row names; of numbers the default type of their kind
    bint number
    int64_t dims[MAX_DIMS_TWICE]
    double element[4]   # the number as one element, once its dtype is known

cdef object read_operands(PyObject** given, int count, PyObject* output, Operand* operands, PyObject** used, str func)
cdef object read_operand(object x, Operand* out, str func)
cdef int own_operands(PyObject** used, int count, Operand* operands, list held, str func) except -1
cdef object hold_without_gil(Operand* operands, int count)
cdef int read_number(object x, Scalar* out, str func) except -1
cdef int store_number(object x, Operand* out, int type, str func) except -1
cdef int promote_operands(Operand* operands, int count, str func) except -1
cdef int common_device(Operand* operands, int count, DLDevice* device, str func) except -1
cdef int common_shape(Operand* operands, int count, int64_t* shape, str func) except -2

cdef extern from "native/memory/run.h" namespace "dlt" nogil:
    cppclass Run:
        void* data
        Block* block
        bint number

# The engine of other devices than the host. Everything is checked before: devices, shapes, dtypes, and that outputs are
# writable. Each function raises, or has enqueued the work. `same` is the fast path: tensors of one dtype and shape in
# C order, of `size` elements, and numbers as elements of that dtype; into a tensor like `like`, of dtype `to`, or a new
# one, which it returns. `reduce_rows` is that of reductions: of a tensor in C order, `outer` times rows of `count`
# elements that are `inner` apart, into `made`, whose memory it allocates.
cdef struct Engine:
    object (*same)(int op, int type, int to, int64_t size, const DLTensor* like, const Run* items, int count,
                   object out)
    int (*element)(int op, bint saturate, int type, Operand* operands, int count, Operand* out, object launch) except -1
    int (*real)(Real form, double number, Operand* a, Operand* c, Operand* out, object launch) except -1
    int (*cast)(Operand* source, Operand* out, const CastOptions& options) except -1
    int (*choose)(Operand* operands, Operand* out) except -1
    int (*reduce)(int reduction, const ReduceOptions& options, int type, const Operand* x, const Operand* mask,
                  uint64_t axes, const Operand* out) except -1
    int (*reduce_rows)(int reduction, int type, int to, double correction, Tensor x, int64_t outer, int64_t count,
                       int64_t inner, Tensor made) except -1
    int (*draw)(Distribution distribution, int type, int words, const Draw& how, uint64_t position, int64_t n,
                const Operand* out) except -1
    int (*fill)(const void* element, Operand* out) except -1
    int (*gather)(const Indexed* x, const Operand* source, const Operand* out, Block** blocks, BadIndex* bad) except -1
    int (*scatter)(const Indexed* x, int op, int type, const Operand* source, const Operand* out, Block** blocks,
                   BadIndex* bad) except -1
    int (*sort)(const Operand* source, const Operand* elements, const Operand* indices, int64_t line,
                bint descending) except -1
    int (*searchsorted)(const Operand* values, const Operand* given, const Operand* out, bint after) except -1
    int (*tally)(const Operand* bins, const Operand* counts) except -1
    int (*factor)(const FactorCall* call, const Operand* a, const Operand* out, const Operand* second,
                  const Operand* third, const Operand* info) except -1
    int (*fourier)(const FourierCall* call, const Operand* x, const Operand* out) except -1
    int64_t (*mask_tiles)(int64_t n) noexcept
    int64_t (*mask_words)(int64_t n) noexcept
    int (*pack_mask)(const Operand* source, uint64_t bits, int64_t n, const Operand* words, const Operand* before,
                     int64_t* count) except -1
    int (*mask_positions)(const Operand* to, int ndim, const int64_t* shape, int64_t n, const Operand* words,
                          const Operand* before) except -1
    int (*scan)(Scan op, const Operand* x, int axis, const Operand* out) except -1
    int (*gemm)(Operand* a, Operand* b, Operand* c, const Scalar& alpha, const Scalar& beta) except -1

cdef void set_engine(const Engine* engine) noexcept
cdef const Engine* engine_of(DLDevice device, str func) except NULL
cdef const Engine* loaded_engine() noexcept
cdef void read_tensor(Tensor t, Operand* out) noexcept
