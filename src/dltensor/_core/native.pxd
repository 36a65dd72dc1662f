# SPDX-License-Identifier: Apache-2.0
# The engine as Cython sees it: what several modules use of native/, declared once. What only one module calls is
# declared there, CUDA in cuda/_driver.pxd and the vtable arrays in opaque/_array.pxd.
from libc.stdint cimport int64_t, uint64_t
from libcpp cimport bool as cbool

from .types cimport DLDataType, DLManagedTensorVersioned, DLTensor

cdef enum:
    # A release of the GIL costs about as much as 4,000 additions; below some ten times that it is not worth it.
    KEEP_GIL_BYTES = 1 << 18


cdef extern from "native/memory/block.h" namespace "dlt" nogil:
    cppclass Block:
        void* data
        size_t bytes
        void* owner
        void* second_owner
    void retain(Block*) noexcept
    void release(Block*) noexcept
    Block* allocate(size_t) noexcept
    Block* allocate_clear(size_t, cbool*) noexcept
    Block* adopt(void*, void*, void (*)(Block*) noexcept nogil) noexcept

cdef extern from "native/environment.h" namespace "dlt" nogil:
    const char* environment(const char*)
    bint environment_switch(const char*)

cdef extern from "native/memory/managed.h" namespace "dlt" nogil:
    DLManagedTensorVersioned* export_managed(const DLTensor&, Block*, uint64_t) noexcept

cdef extern from "native/layout/layout.h" namespace "dlt" nogil:
    ctypedef struct Extent:
        int64_t low
        int64_t high
    enum Align "dlt::Align":
        TRAILING "dlt::Align::trailing"
        LEADING "dlt::Align::leading"
    enum:
        MAX_DIMS "dlt::max_dims"
        MAX_DIMS_TWICE "dlt::max_dims_twice"
    int64_t item_bytes(DLDataType)
    int64_t numel(int, const int64_t*)
    int64_t work_bytes(int, const int64_t*, int64_t)
    int64_t bytes_of(int64_t, DLDataType, bint)
    bint count_elements(int, const int64_t*, DLDataType, int64_t*)
    void contiguous_strides(int, const int64_t*, int64_t*)
    bint is_contiguous(int, const int64_t*, const int64_t*)
    Extent extent(int, const int64_t*, const int64_t*)
    bint repeats_elements(int, const int64_t*, const int64_t*)
    enum Sharing "dlt::Sharing":
        SHARING_NONE "dlt::Sharing::none"
        SHARING_SOME "dlt::Sharing::some"
        SHARING_UNKNOWN "dlt::Sharing::unknown"
    Sharing find_sharing(int, const int64_t*, const int64_t*)
    int broadcast_shapes(int, const int*, const int64_t* const*, Align, int64_t*)
    bint broadcast_strides(int, const int64_t*, const int64_t*, int, const int64_t*, Align, int64_t*)

cdef extern from "native/cpu/runtime/dtype.h" namespace "dlt" nogil:
    enum Kind "dlt::Kind":
        BOOLEAN "dlt::Kind::boolean"
        SIGNED "dlt::Kind::signed_integer"
        UNSIGNED "dlt::Kind::unsigned_integer"
        REAL "dlt::Kind::real"
        COMPLEX "dlt::Kind::complex"
    ctypedef struct TypeRow:
        const char* name
        DLDataType dtype
        Kind kind
        int bytes
    const TypeRow type_table[1]
    int computed_types
    int type_bool, type_int64, type_uint8, type_uint64, type_float16, type_bfloat16, type_float32, type_float64
    int type_complex64, type_complex128
    int find_type(DLDataType) noexcept
    bint same_dtype(DLDataType, DLDataType)
    bint same_dims(const DLTensor&, const DLTensor&)

cdef extern from "native/cpu/copy/scalar.h" namespace "dlt" nogil:
    enum Rounding "dlt::Rounding":
        TRUNCATE "dlt::Rounding::truncate"
        NEAREST "dlt::Rounding::nearest"
    cppclass Scalar:
        Kind kind
        int64_t i
        uint64_t u
        double re
        double im
    bint load_scalar(const void*, int64_t, DLDataType, bint, Scalar*)
    bint store_scalar(void*, int64_t, DLDataType, bint, const Scalar&, Rounding, bint)

cdef extern from "native/cpu/copy/copy.h" namespace "dlt" nogil:
    bint copy_tensor "dlt::copy"(const DLTensor& to, const DLTensor& source, bint padded) noexcept
    void fill_tensor "dlt::fill"(const DLTensor& to, const void* element, bint padded) noexcept

cdef extern from "native/status.h" namespace "dlt" nogil:
    cdef enum class Fault(int):
        none
        device
        memory
        value
        type
        buffer
        callback
        not_ready
    cdef cppclass Status:
        Fault fault
        bint ok()
    ctypedef struct FaultRow:
        const char* exception
    const FaultRow fault_table[]
    const int fault_count
    const char* message() noexcept

cdef extern from "native/cpu/runtime/engine.h" namespace "dlt" nogil:
    ctypedef struct OpRow:
        const char* name
        int operands
        unsigned kinds
        const char* result_name
        const char* symbol
        const char* text
        const char* doc
        int saturating
    cppclass CastOptions:
        Rounding rounding
        bint saturate
        bint scaled
        double scale
        double offset
    enum Real "dlt::Real":
        pass
    const OpRow op_table[1]
    int op_count "dlt::op_table_size"
    int promote(int, int)
