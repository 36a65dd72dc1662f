# SPDX-License-Identifier: Apache-2.0
"""Calls of the engine that quantize and dequantize blocks. Operands are checked by quantization.py."""
from .._core.native cimport Status, find_type, is_contiguous, work_bytes
from .._core.reproducible cimport must_reproduce
from .._core.tensor cimport Tensor, copied
from .._core.types cimport DLTensor, DType, kDLCPU
from .arguments cimport read_owned
from .engine cimport (EngineOperand, EngineTable, LaunchContext, PyThreadState, engine_at, engine_of, finish,
                      release_gil)
from .engine cimport QuantizeCall  # no-cython-lint: the base of QuantizeOptions

from .._core.convert import empty
from .creation import full
from .elementwise import multiply

cdef extern from "native/cpu/quantize/quantize.h" namespace "dlt" nogil:
    enum ScaleKind "dlt::ScaleKind":
        pass
    enum ScaleRule "dlt::ScaleRule":
        pass
    cppclass QuantizeOptions "dlt::QuantizeCall"(QuantizeCall):  # the table only names the struct
        ScaleKind kind
        ScaleRule rule
        int type
    cppclass PowerRule:
        unsigned int carry
        int top
    bint _quantizes "dlt::quantizes"(ScaleKind, int)
    float _largest "dlt::largest_element"(int)
    PowerRule _power_rule "dlt::power_rule"(ScaleRule, int)

cdef extern from "native/cpu/quantize/scaled_product.h" namespace "dlt" nogil:
    Status multiply_scaled(const DLTensor&, const DLTensor&, const EngineOperand&, const EngineOperand*,
                           const EngineOperand*, int, bint)

cdef enum:
    MOST_OPERANDS = 4  # of dequantize_blocks, with the zero point

# The kinds of scales, and the rules of powers of two, in the order of the engine.
KINDS = ("power", "ratio", "two_level")
RULES = ("floor", "even", "ceil")
MOST_NUMBERS = MOST_OPERANDS


def has_format(DType dtype, str kind="ratio"):
    """Return whether elements of a dtype can have scales of a kind."""
    return _quantizes(<ScaleKind><int>KINDS.index(kind), find_type(dtype.value))


def largest_element(DType dtype):
    """Return the largest element of a dtype that has a format."""
    return _largest(find_type(dtype.value))


def power_rule(str rule, DType dtype):
    """Return what a rule adds to the bits of magnitudes, and the exponent of the largest element."""
    cdef PowerRule found = _power_rule(<ScaleRule><int>RULES.index(rule), find_type(dtype.value))
    return found.carry, found.top


cdef Tensor _in_order(Tensor t, str func):
    """A tensor in C order: itself, or a copy."""
    if is_contiguous(t.impl.dl.ndim, t.impl.dl.shape, t.impl.dl.strides):
        return t
    return copied(t, func)


def quantize_blocks(Tensor x, Tensor values, Tensor scale, tensor_scale, str kind, str rule):
    """Quantize float32 into new tensors in C order. False while a fused function is recorded: steps compose it."""
    cdef QuantizeOptions call
    cdef LaunchContext launch
    cdef EngineOperand source, codes, scales, second
    cdef const EngineOperand* whole = NULL
    cdef PyThreadState* state
    cdef const EngineTable* engine = engine_at(x.impl.dl.device, &launch, "quantize")
    if engine.quantize == NULL:
        return False
    x = _in_order(x, "quantize")
    call.kind, call.rule = <ScaleKind><int>KINDS.index(kind), <ScaleRule><int>RULES.index(rule)
    call.type = find_type(values.impl.dl.dtype)
    read_owned(x, &source)
    read_owned(values, &codes)
    read_owned(scale, &scales)
    if tensor_scale is not None:
        read_owned(<Tensor>tensor_scale, &second)
        whole = &second
    state = release_gil(launch, work_bytes(x.impl.dl.ndim, x.impl.dl.shape, 16))
    finish(state, engine.quantize(call, source, codes, scales, whole, launch), launch, "quantize")
    return True


cdef class _Blocks:
    """Values, scales and zero points in C order, as operands of the engine."""
    cdef EngineOperand values
    cdef EngineOperand[MOST_OPERANDS] scales
    cdef EngineOperand offset
    cdef const EngineOperand* zero
    cdef int count
    cdef list owners

    def __cinit__(self, Tensor values, zero, list scales, str func):
        cdef int i
        self.count = <int>len(scales)
        self.owners = [_in_order(t, func) for t in (values, *scales)]
        read_owned(<Tensor>self.owners[0], &self.values)
        for i in range(self.count):
            read_owned(<Tensor>self.owners[1 + i], &self.scales[i])
        self.zero = NULL
        if zero is not None:
            self.owners.append(_in_order(zero, func))
            read_owned(<Tensor>self.owners[self.count + 1], &self.offset)
            self.zero = &self.offset


def dequantize_blocks(Tensor values, zero, list scales, Tensor out):
    """Dequantize into a new tensor in C order, by at most MOST_NUMBERS. False while a fused function is recorded."""
    cdef LaunchContext launch
    cdef EngineOperand target
    cdef _Blocks blocks
    cdef PyThreadState* state
    cdef const EngineTable* engine = engine_at(values.impl.dl.device, &launch, "dequantize")
    if engine.dequantize == NULL:
        return False
    blocks = _Blocks(values, zero, scales, "dequantize")
    read_owned(out, &target)
    state = release_gil(launch, work_bytes(out.impl.dl.ndim, out.impl.dl.shape, 16))
    finish(state, engine.dequantize(blocks.values, blocks.zero, blocks.scales, blocks.count, target, launch), launch,
           "dequantize")
    return True


def multiply_blocks(Tensor x, Tensor values, zero, list scales, Tensor out, bint each):
    """Multiply rows of x by each row of values with scales, all matrices, into a new tensor in C order.

    `each`: each row of x is a product of its own. False where that is not done at once.
    """
    cdef LaunchContext launch
    cdef _Blocks blocks
    cdef PyThreadState* state
    cdef const EngineTable* engine = engine_at(values.impl.dl.device, &launch, "quantized_matmul")
    if (engine.dequantize == NULL or x.impl.dl.device.device_type != kDLCPU or
            values.impl.dl.device.device_type != kDLCPU):
        return False
    x = _in_order(x, "quantized_matmul")
    blocks = _Blocks(values, zero, scales, "quantized_matmul")
    state = release_gil(launch, work_bytes(values.impl.dl.ndim, values.impl.dl.shape, 16))
    finish(state, multiply_scaled(out.impl.dl, x.impl.dl, blocks.values, blocks.zero, blocks.scales, blocks.count,
                                  each), launch, "quantized_matmul")
    return True


def multiply_float8(Tensor x, Tensor values, list scales, dtype):
    """Multiply rows of x by each row of values, both float8, and by scales of one element, on a CUDA device.

    None where that is not done at once.
    """
    cdef Tensor factor, out
    cdef bint is_done = False
    if values.impl.dl.device.device_type == kDLCPU or must_reproduce():
        return None
    factor = full((1,), 1.0, dtype="float32", device=x.device)
    for scale in scales:
        factor = multiply(factor, scale.reshape((1,)))
    out = empty((x.shape[0], values.shape[0]), dtype=dtype, device=x.device)
    x, values = _in_order(x, "quantized_matmul"), _in_order(values, "quantized_matmul")
    engine_of(out.impl.dl.device, "quantized_matmul").float8_product(x, values, factor, out, &is_done)
    return out if is_done else None
