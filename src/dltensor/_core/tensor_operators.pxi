# SPDX-License-Identifier: Apache-2.0
# How operators, and NumPy's ufuncs, reach the functions, which are a layer above. Part of _core/tensor.pyx; nothing is
# computed here.

cdef element_t _element = NULL


cdef void set_element(element_t function) noexcept:
    global _element
    _element = function


cdef inline bint is_operand(object x):
    """Whether a function would take `x`: an operator must leave everything else to the other side."""
    if type(x) is Tensor or PyFloat_CheckExact(x) or PyLong_CheckExact(x):
        return True
    if entry_of(x).path not in (UNKNOWN, CAPSULE, NONE):
        return True
    return isinstance(x, (int, float, complex))  # bool, and subclasses


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


cdef inline object operate_matmul(object a, object b):
    if not is_operand(a) or not is_operand(b):
        return NotImplemented
    return _hooks["matmul_operator"](a, b)


# -- NumPy's ufuncs ---------------------------------------------------------------------------------------------------
# NumPy looks for __array_ufunc__ on the class in two places. Its operators step back when that is None, and the
# tensor's __radd__ computes; its ufuncs call it. An operator that is not told to step back builds the call of a ufunc,
# which costs more than the sum of two small tensors: so Python code that is at an operator is told None.

cdef extern from "_core/instruction.h" namespace "dlt":
    bint is_at_operator() noexcept


@cython.final
@cython.auto_pickle(False)
cdef class _UfuncMethod:
    """``Tensor.__array_ufunc__``: None for an operator of Python code, which has a faster way; else the method.

    Where an operator calls C code of another package, and that calls a ufunc with a tensor, NumPy is told None, too,
    and raises TypeError.
    """

    def __get__(self, instance, owner):
        if instance is not None:
            return MethodType(self, instance)
        return None if is_at_operator() else self

    def __call__(self, tensor, ufunc, method, *inputs, **kwargs):
        """Answer a ufunc of NumPy: the operation of the same meaning computes, and the result is a Tensor."""
        return call_ufunc(ufunc, method, inputs, kwargs)


cdef dict _ufuncs = {}      # ufunc -> number of the operation that it is
cdef object _ndarray = None


def set_ufuncs(dict rows, ndarray):
    """Register which ufuncs of NumPy are operations here, ufunc -> name of the row, and the class of its arrays."""
    global _ndarray
    _ndarray = ndarray
    numbers = {op_table[i].name.decode(): i for i in range(op_count)}
    for ufunc, name in rows.items():
        _ufuncs[ufunc] = numbers[name]


cdef inline bint _is_plain_operand(object x) noexcept:
    """Whether `x` is of a type whose own ``__array_ufunc__`` need not be asked."""
    return type(x) is Tensor or PyFloat_CheckExact(x) or PyLong_CheckExact(x) or type(x) is _ndarray


cdef inline object call_ufunc(object ufunc, str method, tuple inputs, dict kwargs):
    """The operation that a ufunc is, on plain operands; everything else is decided in _ops/numpy_dispatch.py."""
    cdef PyObject* operands[2]
    cdef PyObject* number = PyDict_GetItem(_ufuncs, ufunc)
    cdef Py_ssize_t count = PyTuple_GET_SIZE(inputs)
    out = None
    if number != NULL and count <= 2 and method == "__call__":
        for i in range(count):
            operands[i] = PyTuple_GET_ITEM(inputs, i)
            if not _is_plain_operand(<object>operands[i]):
                break
        else:
            if len(kwargs) == 0:
                return _element(<object>number, False, operands, <PyObject*>None, False, <PyObject*>None)
            if len(kwargs) == 1 and "out" in kwargs:
                out = kwargs["out"][0]
                if _is_plain_operand(out):
                    return _element(<object>number, False, operands, <PyObject*>out, False, <PyObject*>None)
    return _hooks["array_ufunc"](ufunc, method, inputs, kwargs)
