# SPDX-License-Identifier: Apache-2.0
# How operators reach the functions, which are a layer above. Part of _tensor.pyx; nothing is computed here.

cdef element_t _element = NULL


cdef void set_element(element_t function) noexcept:
    global _element
    _element = function


cdef inline bint is_operand(object x):
    """Whether a function would take `x`: an operator must leave everything else to the other side."""
    if type(x) is Tensor or PyFloat_CheckExact(x) or PyLong_CheckExact(x):
        return True
    if isinstance(x, (int, float, complex)):  # bool, and subclasses
        return True
    return entry_of(x).door not in (UNKNOWN, CAPSULE, NONE)


cdef inline object operate(int op, object a, object b, object out):
    cdef PyObject* operands[2]
    if not is_operand(a) or not is_operand(b):
        return NotImplemented
    operands[0] = <PyObject*>a
    operands[1] = <PyObject*>b
    return _element(op, False, operands, <PyObject*>out, False, <PyObject*>None)


cdef inline object operate_alone(int op, object a):
    cdef PyObject* operands[1]
    operands[0] = <PyObject*>a
    return _element(op, False, operands, <PyObject*>None, False, <PyObject*>None)


cdef inline object operate_divmod(object a, object b):
    if not is_operand(a) or not is_operand(b):
        return NotImplemented
    return operate(op_floor_divide, a, b, None), operate(op_remainder, a, b, None)
