# SPDX-License-Identifier: Apache-2.0
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t

from .._core.native cimport MAX_DIMS_TWICE, REAL, Block, Scalar, computed_types, type_table
from .._core.scalars cimport kind_order  # for the modules that cimport arguments
from .._core.tensor cimport Tensor, assign, new_empty
from .._core.types cimport (DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, DLDataType, DLDevice, DLPackExchangeAPI,
                            DLTensor)

from .engine cimport EngineOperand, EngineTable, LaunchContext, computing_device

# Test whether a dtype is a float one that has no arithmetic.
cdef inline bint is_narrow_float(int type) noexcept:
    return type >= computed_types and type_table[type].kind == REAL

# Operand of a function: a view of a tensor, or a Python number. Valid while the argument itself is held, no
# Python code runs and the GIL is not released; `hold_without_gil` keeps it good without the GIL.
cdef struct Operand:
    DLTensor view
    PyObject* owner    # the foreign object that the memory is borrowed from; NULL for our tensors and numbers
    const DLPackExchangeAPI* table  # table of the owner's type; NULL for an ndarray
    Block* block        # owner of the memory; NULL for numbers and for what is borrowed
    uint64_t flags
    int type            # a row of the dtype table, -1 for types no row names; of numbers the default type of their kind
    bint number
    int64_t dims[MAX_DIMS_TWICE]
    double element[4]   # the number as one element, once its dtype is known

cdef object read_operands(PyObject** arguments, int count, PyObject* output, Operand* operands, PyObject** used,
                          str func)
cdef object read_operand(object x, Operand* out, str func)
cdef int own_operands(PyObject** used, int count, Operand* operands, list owners, str func) except -1
cdef object hold_without_gil(Operand* operands, int count)
cdef int read_number(object x, Scalar* out, str func) except -1
cdef int store_number(object x, Operand* out, int type, str func) except -1
cdef int promote_operands(Operand* operands, int count, str func) except -1
cdef int narrow_float(const Operand* operands, int count) noexcept
cdef int common_device(Operand* operands, int count, DLDevice* device, str func) except -1
cdef int common_shape(Operand* operands, int count, int64_t* shape, str func) except -2

cdef void read_tensor(Tensor t, Operand* out) noexcept
cdef void order_as(const Operand* operands, int count, Tensor result) noexcept

cdef inline void read_owned(Tensor t, EngineOperand* out) noexcept:
    out.tensor = &t.impl.dl
    out.block = t.impl.block
    out.padded = t.impl.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED != 0

cdef inline void as_engine_operand(const Operand* operand, EngineOperand* out) noexcept:
    if operand.number:
        out.tensor = NULL
        out.block = NULL
        out.type = operand.type
        (<double*>out.value)[0] = operand.element[0]  # one load for each store: a wider one waits for both
        if type_table[operand.type].bytes > 8:
            (<double*>out.value)[1] = operand.element[1]
        return
    out.tensor = &operand.view
    out.block = operand.block
    out.padded = operand.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED != 0

cdef int fill_operand(const EngineTable* engine, const LaunchContext& launch, const void* element, Operand* target,
                      str func) except -1

# -- the one treatment of `out`: checked, computed into, delivered

# Rules for the dtype of an output beside that of the result.
cdef enum OutputRule:
    SAME_DTYPE  # not at all
    HOLDS       # it holds every value of the result
    SAME_KIND   # it is not of a lower kind: results are rounded to it
cdef Tensor read_out(object out, str func)
cdef int check_output(const DLTensor* out, int ndim, const int64_t* shape, DLDataType dtype, DLDevice device,
                      OutputRule rule, str func) except -1
cdef Tensor read_output(object out, Tensor x, int ndim, const int64_t* shape, DLDataType dtype, OutputRule rule,
                        str func)
cdef bint is_written_at_once(Tensor target, Tensor x, DLDataType dtype) noexcept
# Return `target` where results can be written to it at once, else new memory where `x` is.
cdef inline Tensor result_for(Tensor target, Tensor x, int ndim, const int64_t* shape, DLDataType dtype, str func):
    if target is not None and is_written_at_once(target, x, dtype):
        return target
    return new_empty(ndim, shape, dtype, computing_device(x.impl.dl.device), func)
# The result of a call: new memory, or `out` with the results in it.
cdef inline object deliver(Tensor result, Tensor target, object out, str func):
    if target is None:
        return result
    if result is not target:
        assign(target, result, func)
    return out
