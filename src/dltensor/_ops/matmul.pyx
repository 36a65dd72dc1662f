# SPDX-License-Identifier: Apache-2.0
"""Products of matrices: matmul, gemm and the choice of a BLAS. Checks shapes and dtypes, multiplies nothing itself."""
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.object cimport PyObject
from libc.math cimport isfinite
from libc.stdint cimport int64_t

from .._core.native cimport (COMPLEX, KEEP_GIL_BYTES, MAX_DIMS, MAX_DIMS_TWICE, SIGNED, TRAILING, UNSIGNED, Scalar,
                             broadcast_shapes, computed_types, environment, find_type, type_bfloat16, type_float32,
                             type_table)
from .arguments cimport (SAME_DTYPE, Operand, as_engine_operand, check_output, common_device, hold_without_gil,
                         kind_order, own_operands, promote_operands, read_operands, read_tensor)
from .engine cimport EngineOperand, EngineTable, LaunchContext, PyThreadState, engine_at, finish, release_gil
from .._core.reproducible cimport must_reproduce, refuse_library
from .._core.scalars cimport plain_number, tag_number
from .._core.shapes cimport as_tuple
from .._core.tensor cimport Tensor, new_empty, operations
from .._core.types cimport DLPACK_FLAG_BITMASK_READ_ONLY, DLDevice, DLTensor, device_of, dtype_of, kDLCPU, read_dtype

from .._core.foreign_text import quoted
from .._core.once import Once
from .casting import astype

cdef extern from "native/cpu/linalg/gemm.h" namespace "dlt" nogil:
    bint multiply_small(const DLTensor&, const DLTensor&, const DLTensor&, int, int64_t)
    bint use_blas "dlt::set_blas"(const char*)
    bint has_blas()
    bint multiplies_converted(int type, int a_type, int b_type)
    bint multiplies_float8(int type, int a_type, int b_type)
    const int64_t least_blas_work

cdef enum:
    KEEP_GIL_WORK = 1 << 17     # multiplications; fewer take less time than releasing the GIL is worth
    SMALL_SIDE = 128            # rows and columns; more are not worth a look whether they are small


BLAS_NAMES = ("openblas",)


def _use_library(path):
    return use_blas(path.encode())


def _load(str name):
    """The name of a BLAS that is loaded, or None if it is not installed."""
    from .._core.optional_libraries import load_openblas
    return name if load_openblas(_use_library) else None


def _choose_by_environment(str func):
    """Load the BLAS that the environment variable ``DLTENSOR_BLAS`` names, before the first product that it is for."""
    if environment("DLTENSOR_BLAS") != NULL:
        from .._core.optional_libraries import choose_library
        choose_library(BLAS_NAMES, _load, variable="DLTENSOR_BLAS", func=func, absent="", extra="blas",
                       brings="scipy-openblas32")


_find_blas = Once(_choose_by_environment)


def get_blas():
    """Return the name of the BLAS that computes larger products of floats, or None: the package does.

    Returns
    -------
    str or None
        The choice of `set_blas`, else what the environment variable ``DLTENSOR_BLAS`` names: None or "openblas".

    Raises
    ------
    ImportError
        ``DLTENSOR_BLAS`` names a library that is not installed.
    ValueError
        ``DLTENSOR_BLAS`` names something else.

    {See Also: set_blas}

    Examples
    --------
    >>> dl.get_blas() is None
    True
    """
    _find_blas("get_blas")
    return BLAS_NAMES[0] if has_blas() else None


def set_blas(name, /):
    """Choose a BLAS for larger products of floats and complex numbers on the CPU.

    By default the package multiplies itself: with the same bits on every processor, and in most cases as fast. The bits
    of a BLAS depend on its version, on the processor and on the number of threads. The environment variable
    ``DLTENSOR_BLAS`` makes the same choice for a process. The choice holds for all threads.

    Parameters
    ----------
    name : str or None
        "openblas", of the package scipy-openblas32, which the extra ``blas`` installs; or None for no BLAS.

    Raises
    ------
    ImportError
        The library is not installed.
    ValueError
        It is another name.

    {See Also: get_blas, reproducible}

    Examples
    --------
    >>> dl.set_blas(None)
    """
    if name is None:
        use_blas(NULL)
    elif not isinstance(name, str) or name not in BLAS_NAMES:
        raise ValueError(f"set_blas: expected 'openblas' or None, got {quoted(name)}")
    elif _load(name) is None:
        raise ImportError("set_blas: openblas is not installed; install the extra: pip install 'dltensor[blas]' brings "
                          "scipy-openblas32", name="scipy_openblas32")
    _find_blas.is_done = True  # the environment has no say any more


cdef int _product(Operand* left, Operand* right, Operand* out, DLDevice device, const Scalar& alpha, const Scalar& beta,
                  str func) except -1:
    cdef int64_t work = 1
    cdef int i
    cdef DLDevice here
    cdef LaunchContext launch
    cdef const EngineTable* engine
    cdef EngineOperand first, second, target
    cdef PyThreadState* state
    cdef const DLTensor* a = &left.view
    cdef const DLTensor* c = &out.view
    common_device(out, 1, &here, func)
    if here.device_type != device.device_type or here.device_id != device.device_id:
        raise ValueError(f"{func}: the operands are on {device_of(device)}, the output is on {device_of(c.device)}")
    for i in range(c.ndim):
        work *= c.shape[i]
    work *= a.shape[a.ndim - 1]
    engine = engine_at(device, &launch, func)
    if launch.stream != NULL:
        launch.reproducible = must_reproduce()
    elif work >= least_blas_work:
        _find_blas(func)
        if has_blas() and type_table[out.type].kind not in (SIGNED, UNSIGNED):
            refuse_library(func, "OpenBLAS", "call dl.set_blas(None) before")
    _owners = None
    if work >= KEEP_GIL_WORK:
        _owners = hold_without_gil(left, 1), hold_without_gil(right, 1), hold_without_gil(out, 1)
    as_engine_operand(left, &first)
    as_engine_operand(right, &second)
    as_engine_operand(out, &target)
    state = release_gil(launch, KEEP_GIL_BYTES + 1 if work >= KEEP_GIL_WORK else 0)
    return finish(state, engine.gemm(first, second, target, alpha, beta, launch), launch, func)


cdef object _shape_of(const DLTensor* view):
    return as_tuple(view.ndim, view.shape)


cdef Tensor _small(Tensor a, Tensor b, Tensor out, str func):
    """Fast path of the product of small host matrices or vectors, into `out` or a new tensor: one call of the kernel.

    None when the slow path is needed, which raises all errors.
    """
    cdef DLTensor left = a.impl.dl
    cdef DLTensor right = b.impl.dl
    cdef DLTensor target
    cdef bint left_vector = left.ndim == 1, right_vector = right.ndim == 1
    cdef int64_t shape[2]
    cdef int64_t extended[3][4]
    cdef int type = find_type(left.dtype)
    if (left.device.device_type != kDLCPU or right.device.device_type != kDLCPU or
            type < 0 or type >= computed_types or find_type(right.dtype) != type):
        return None
    if left_vector:
        _insert_axes(&left, 0, -1, extended[0])
    if right_vector:
        _insert_axes(&right, 1, -1, extended[1])
    if left.ndim != 2 or right.ndim != 2:
        return None
    if out is None:
        shape[0], shape[1] = left.shape[0], right.shape[1]
        if shape[0] > SMALL_SIDE or shape[1] > SMALL_SIDE:
            return None
        out = new_empty(2 - left_vector - right_vector, shape + left_vector, left.dtype, left.device, func)
    elif (out.impl.dl.device.device_type != kDLCPU or out.impl.flags & DLPACK_FLAG_BITMASK_READ_ONLY or
            find_type(out.impl.dl.dtype) != type):
        return None
    target = out.impl.dl
    if left_vector or right_vector:
        if target.ndim != 2 - left_vector - right_vector:
            return None
        _insert_axes(&target, 0 if left_vector else -1, 1 if right_vector else -1, extended[2])
    return out if multiply_small(target, left, right, type, KEEP_GIL_WORK) else None


def matmul(x1, x2, /, out=None, *, dtype=None):
    """Multiply matrices, or stacks of matrices that broadcast.

    Parameters
    ----------
    x1 : array_like
        Of shape ``(..., m, k)`` or ``(k,)``, of integer, float or complex dtype.
    x2 : array_like
        Of shape ``(..., k, n)`` or ``(k,)``.
    out : array_like, optional
        Writable tensor of the shape and dtype of the result; overwritten and returned.
    dtype : dtype_like, optional
        Dtype that both operands are converted to first, of their kind or a higher one. On the CPU, int8 and uint8 as
        int32, and what has 8 or 16 bits as float32, is converted in registers or part by part, not in memory. The
        product in int32 is exact below 2**31. Tensor cores of CUDA devices multiply float8_e4m3fn and float8_e5m2 as
        float16 and bfloat16, and as float32 inside `cuda.tf32`; their sums have about 14 bits. Inside `reproducible`
        the operands are converted.

    Returns
    -------
    Tensor
        Of shape ``(..., m, n)``, without the dimension that a one-dimensional operand lacks. `out`, when it is given.

    Raises
    ------
    ValueError
        The inner dimensions differ (the message names both shapes), or `out` has another shape than the result.
    TypeError
        An operand is a number or bool, there is no common dtype, `out` has another dtype than the result, or `dtype`
        has no products or is of a lower kind than an operand.

    {See Also: gemm}

    Examples
    --------
    >>> dl.matmul(dl.asarray([[1, 2], [3, 4]]), dl.asarray([[1, 0], [1, 1]]))
    Tensor([[3, 2],
            [7, 4]], shape=(2, 2), device=cpu, dtype=int64)
    """
    cdef Operand[3] operands
    cdef PyObject* used[3]
    cdef PyObject* arguments[2]
    cdef Operand* target = &operands[2]
    cdef DLDevice device
    cdef DLTensor a, b
    cdef Scalar one, zero
    cdef list owners
    cdef int row, ndim, i
    cdef bint left_vector, right_vector
    cdef int64_t shape[MAX_DIMS]
    cdef int64_t extended_a[4]
    cdef int64_t extended_b[4]
    cdef int64_t extended_out[MAX_DIMS_TWICE]
    cdef int count = 0
    cdef Tensor result
    cdef int wanted = -1 if dtype is None else _read_product_type(dtype)
    if wanted < 0 and type(x1) is Tensor and type(x2) is Tensor and (out is None or type(out) is Tensor):
        result = _small(<Tensor>x1, <Tensor>x2, <Tensor>out, "matmul")
        if result is not None:
            return result
    arguments[0], arguments[1] = <PyObject*>x1, <PyObject*>x2
    owners = read_operands(arguments, 2, <PyObject*>out if out is not None else NULL, operands, used, "matmul") or []
    if operands[0].number or operands[1].number or operands[0].view.ndim == 0 or operands[1].view.ndim == 0:
        raise TypeError("matmul: both operands need at least one dimension; multiply() takes numbers")
    common_device(operands, 2, &device, "matmul")
    if multiplies_converted(wanted, operands[0].type, operands[1].type) and (
            device.device_type == kDLCPU or type_table[wanted].kind == SIGNED):
        row = wanted
    elif device.device_type != kDLCPU and (multiplies_float8(wanted, operands[0].type, operands[1].type) or
                                           _alternates(wanted, operands)):
        row = wanted
    else:
        row = _convert_factors(operands, used, 3 if out is not None else 2, owners, wanted)
    a, b = operands[0].view, operands[1].view
    left_vector, right_vector = a.ndim == 1, b.ndim == 1
    if left_vector:
        _insert_axes(&a, 0, -1, extended_a)
    if right_vector:
        _insert_axes(&b, 1, -1, extended_b)
    ndim = _product_shape(&a, &b, shape)
    if ndim < 0:
        raise ValueError(f"matmul: shapes {_shape_of(&operands[0].view)} and {_shape_of(&operands[1].view)} do not "
                         f"chain")
    operands[0].view, operands[1].view = a, b
    one.kind = zero.kind = type_table[row].kind
    one.i = one.u = 1
    one.re, one.im = 1.0, 0.0
    zero.i = zero.u = 0
    zero.re = zero.im = 0.0
    for i in range(ndim + 2):
        if not (left_vector and i == ndim or right_vector and i == ndim + 1):
            extended_out[count] = shape[i]
            count += 1
    if out is None:
        out = new_empty(count, extended_out, type_table[row].dtype, device, "matmul")
        read_tensor(out, target)
    else:
        check_output(&target.view, count, extended_out, type_table[row].dtype, device, SAME_DTYPE, "matmul")
    _insert_axes(&target.view, ndim if left_vector else -1, ndim + 1 if right_vector else -1, extended_out)
    _product(&operands[0], &operands[1], target, device, one, zero, "matmul")
    return out


cdef int _product_shape(const DLTensor* a, const DLTensor* b, int64_t* shape) noexcept:
    """The shape of a product of matrices, after the dimensions of their batches. Returns how many; -1: no product."""
    cdef int ndims[2]
    cdef const int64_t* shapes[2]
    cdef int ndim = 0
    if a.ndim > 2 or b.ndim > 2:
        ndims[0], ndims[1] = a.ndim - 2, b.ndim - 2
        shapes[0], shapes[1] = a.shape, b.shape
        ndim = broadcast_shapes(2, ndims, shapes, TRAILING, shape)
    if ndim < 0 or ndim > 62 or a.shape[a.ndim - 1] != b.shape[b.ndim - 2]:
        return -1
    shape[ndim], shape[ndim + 1] = a.shape[a.ndim - 2], b.shape[b.ndim - 1]
    return ndim


cdef int _read_product_type(object dtype) except -1:
    """The row of a dtype that matrices are multiplied in."""
    cdef int row = find_type(read_dtype(dtype, "matmul"))
    if row < 0 or row >= computed_types or kind_order(row) == 0:
        raise TypeError(f"matmul: dtype must be an integer, float or complex one with arithmetic, got {quoted(dtype)}")
    return row


cdef bint _alternates(int wanted, const Operand* operands) except -1:
    """Test whether the sums of bfloat16 in float32 must have their own order, which converted operands do not have."""
    return (wanted == type_float32 and operands[0].type == type_bfloat16 and operands[1].type == type_bfloat16 and
            must_reproduce())


cdef int _convert_factors(Operand* operands, PyObject** used, int count, list owners, int wanted) except -1:
    """Convert the first two of `count` operands to a dtype, -1: the one that they meet in, and return its row."""
    cdef int i, row = operands[0].type
    if wanted >= 0 or row != operands[1].type or row < 0 or row >= computed_types:
        row = wanted if wanted >= 0 else promote_operands(operands, 2, "matmul")
        for i in range(2):
            if wanted >= 0 and (operands[i].type < 0 or kind_order(operands[i].type) > kind_order(row)):
                raise TypeError(f"matmul: an operand is {dtype_of(operands[i].view.dtype)}, which does not become "
                                f"{dtype_of(type_table[row].dtype)}; convert it with astype()")
        own_operands(used, count, operands, owners, "matmul")  # a conversion may release the GIL
        for i in range(2):
            if operands[i].type != row:
                converted = astype(<object>used[i], dtype_of(type_table[row].dtype))
                owners.append(converted)
                read_tensor(converted, &operands[i])
    if kind_order(row) == 0:
        raise TypeError("matmul: not defined for bool; astype() an integer first")
    return row


cdef void _insert_axes(DLTensor* view, int first, int second, int64_t* numbers) noexcept:
    """Insert axes of one element into a view at these positions; `numbers` holds its new shape and strides."""
    cdef int axis, from_axis = 0, ndim = view.ndim + (first >= 0) + (second >= 0)
    for axis in range(ndim):
        if axis == first or axis == second:
            numbers[axis], numbers[ndim + axis] = 1, 1
        else:
            numbers[axis], numbers[ndim + axis] = view.shape[from_axis], view.strides[from_axis]
            from_axis += 1
    view.ndim, view.shape, view.strides = ndim, numbers, numbers + ndim


cdef object _factor(object number, str name, int type):
    """A factor for elements of a dtype: its integer part, which wraps, for integers."""
    if isinstance(number, complex) and type_table[type].kind != COMPLEX:
        raise TypeError(f"gemm: {name} is {number}, and a and b are {dtype_of(type_table[type].dtype)}; astype() a "
                        f"complex dtype first")
    if type_table[type].kind != SIGNED and type_table[type].kind != UNSIGNED:
        return number
    if isinstance(number, float) and not isfinite(number):
        raise ValueError(f"gemm: {name} must be finite for {dtype_of(type_table[type].dtype)}, got {number}")
    return int(number) & (1 << 64) - 1


def gemm(a, b, c=None, alpha=1.0, beta=0.0):
    """Compute ``a @ (alpha * b) + beta * c``.

    Parameters
    ----------
    a : array_like
        Of shape ``(m, k)``, of integer, float or complex dtype. Any strides are read without a copy.
    b : array_like
        Of shape ``(k, n)``, with the dtype and device of `a`.
    c : array_like, optional
        Writable tensor of shape ``(m, n)`` with the same dtype; overwritten and returned.
    alpha, beta : number
        Factors; of integers their integer part, which wraps. If `beta` is 0, `c` is not read.

    Returns
    -------
    Tensor
        Of shape ``(m, n)``: `c`, or a new tensor.

    Raises
    ------
    ValueError
        The shapes do not match (the message names both), `beta` is not 0 and there is no `c`, or a factor of integers
        is not finite.
    TypeError
        The dtypes differ, or have no arithmetic, or a factor is complex and the dtype is not.

    {See Also: matmul}

    {Notes: BLAS level 3: ``gemm``.}

    Examples
    --------
    >>> dl.gemm(dl.ones((2, 3)), dl.ones((3, 1)), alpha=2)
    Tensor([[6.],
            [6.]], shape=(2, 1), device=cpu, dtype=float32)
    """
    cdef Operand[3] operands
    cdef PyObject* used[3]
    cdef PyObject* arguments[2]
    cdef Operand* target = &operands[2]
    cdef DLDevice device
    cdef Scalar first, second
    cdef int64_t shape[MAX_DIMS]
    cdef Tensor result = None
    if (type(a) is Tensor and type(b) is Tensor and (c is None or type(c) is Tensor) and
            (<Tensor>a).impl.dl.ndim == 2 and (<Tensor>b).impl.dl.ndim == 2 and
            PyFloat_CheckExact(alpha) and PyFloat_AS_DOUBLE(alpha) == 1 and
            PyFloat_CheckExact(beta) and PyFloat_AS_DOUBLE(beta) == 0):
        result = _small(<Tensor>a, <Tensor>b, <Tensor>c, "gemm")
        if result is not None:
            return result
    alpha, beta = plain_number(alpha, "gemm"), plain_number(beta, "gemm")
    arguments[0], arguments[1] = <PyObject*>a, <PyObject*>b
    _owners = read_operands(arguments, 2, <PyObject*>c if c is not None else NULL, operands, used, "gemm")
    if operands[0].number or operands[1].number or operands[0].view.ndim != 2 or operands[1].view.ndim != 2:
        raise ValueError(f"gemm: a and b must have 2 dimensions, got "
                         f"{'a number' if operands[0].number else _shape_of(&operands[0].view)} and "
                         f"{'a number' if operands[1].number else _shape_of(&operands[1].view)}")
    if operands[0].type != operands[1].type or operands[0].type < 0 or operands[0].type >= computed_types:
        raise TypeError(f"gemm: a is {dtype_of(operands[0].view.dtype)}, b is {dtype_of(operands[1].view.dtype)}; both "
                        f"must be one dtype of numbers, so astype() one")
    if kind_order(operands[0].type) == 0:
        raise TypeError("gemm: not defined for bool; astype() an integer first")
    alpha, beta = _factor(alpha, "alpha", operands[0].type), _factor(beta, "beta", operands[0].type)
    tag_number(alpha, &first)
    tag_number(beta, &second)
    if operands[0].view.shape[1] != operands[1].view.shape[0]:
        raise ValueError(f"gemm: a.shape[1] must match b.shape[0], got shapes {_shape_of(&operands[0].view)} and "
                         f"{_shape_of(&operands[1].view)}")
    common_device(operands, 2, &device, "gemm")
    shape[0], shape[1] = operands[0].view.shape[0], operands[1].view.shape[1]
    if c is None:
        if beta != 0:
            raise ValueError(f"gemm: beta is {beta} and there is no c to multiply; give c, or beta=0")
        result = new_empty(2, shape, operands[0].view.dtype, device, "gemm")
        read_tensor(result, target)
    else:
        if target.view.ndim != 2 or target.view.shape[0] != shape[0] or target.view.shape[1] != shape[1]:
            raise ValueError(f"gemm: shape of c must match a @ b, which is {(shape[0], shape[1])}, got "
                             f"{_shape_of(&target.view)}")
        if target.type != operands[0].type:
            raise TypeError(f"gemm: a and b are {dtype_of(operands[0].view.dtype)}, c is {dtype_of(target.view.dtype)}")
    _product(&operands[0], &operands[1], target, device, first, second, "gemm")
    return result if c is None else c


cdef object _matmul(object a, object b, object out):
    return matmul(a, b, out)


operations.matmul = _matmul
