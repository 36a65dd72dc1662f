# SPDX-License-Identifier: Apache-2.0
"""Factorizations of batches of matrices: checked and allocated here, computed by native/cpu/linalg/batch.h."""
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc

from .._core.native cimport (KEEP_GIL_BYTES, Status, computed_types, find_type, is_contiguous, numel, type_float32,
                             type_float64, type_table)
from .._core.reproducible cimport refuse_library
from .._core.tensor cimport Tensor
from .._core.types cimport DLDataType, kDLCPU
from .._ops.arguments cimport read_owned, result_for
from .._ops.engine cimport (EngineOperand, EngineTable, Factor, FactorCall, LaunchContext, PyThreadState, engine_at,
                            finish, is_same_place, release_gil, take_gil)

from .._core.convert import asarray, asarrays
from .._core.default_dtype import get_default_dtype
from .._core.foreign_text import quoted
from .._core.types import DTYPES, DeviceError, LinAlgError
from .._core.views import on_host
from .._ops.creation import eye, ones, tril, triu, zeros
from .._ops.manipulation import broadcast_shapes, broadcast_to
from .._ops.elementwise import isfinite
from .._ops.arguments import written
from .._ops.engine import check_computes
from .._ops.promotion import result_type
from .._ops.reduce import all as all_of
from ._results import EighResult, EigResult, QRResult, SlogdetResult, SVDResult

cdef extern from "native/cpu/runtime/dtype.h" namespace "dlt" nogil:
    int type_complex64, type_complex128

cdef extern from "native/cpu/linalg/norms.h" namespace "dlt" nogil:
    bint find_norms(int, int64_t, int64_t, int64_t, int64_t, const void*, void*)

cdef extern from "native/cpu/linalg/batch.h" namespace "dlt" nogil:
    cppclass Batch:
        int type
        int64_t count
        uint8_t* info
    Status eig_batch "dlt::eig"(const Batch&, int64_t, const void*, void*, void*)
    bint all_finite(int, int64_t, const void*)
    bint set_lapack(const char*)

cdef enum:
    SMALL_SIDE = 8           # rows and columns that need no LAPACK
    KEEP_GIL_ELEMENTS = 256  # fewer take less time than releasing the GIL is worth

_NARROW = ("float16", "bfloat16")
_PARTS = {"complex64": "float32", "complex128": "float64"}


def load_lapack(str path):
    """Load a LAPACK into the engine. Returns whether the library has all that is called."""
    return set_lapack(path.encode())


# -- operands and results ---------------------------------------------------------------------------------------------

cdef inline bint _is_computed(DLDataType dtype) noexcept:
    cdef int type = find_type(dtype)
    return type == type_float32 or type == type_float64 or type == type_complex64 or type == type_complex128


cdef Tensor _plain(Tensor t):
    """A tensor with contiguous memory: `t` itself where it can be."""
    if is_contiguous(t.impl.dl.ndim, t.impl.dl.shape, t.impl.dl.strides):
        return t
    return t.copy()


cpdef Tensor computed(object x, str func, Tensor beside=None):
    """A tensor of a float or complex dtype on the host or a CUDA device.

    bool and integers are converted to the dtype of `beside`, if that has floats, else to the default dtype.

    Raises
    ------
    TypeError
        Its dtype is another one, such as float8, which is only stored.
    DeviceError
        It is elsewhere.

    Examples
    --------
    >>> computed([1.0], "inv")
    Tensor([1.], shape=(1,), device=cpu, dtype=float32)
    """
    cdef Tensor t = <Tensor>x if type(x) is Tensor else asarray(x)
    check_computes(t, func)
    if _is_computed(t.impl.dl.dtype) or t.dtype.name in _NARROW:
        return t
    if not 0 <= find_type(t.impl.dl.dtype) < computed_types:
        raise TypeError(f"{func}: not defined for {t.dtype}; it takes bool, integers, float16, bfloat16, float32, "
                        f"float64, complex64 and complex128, so convert x with astype()")
    if beside is None or not _is_computed(beside.impl.dl.dtype):
        return t.astype(get_default_dtype())
    return t.astype(beside.dtype)


cpdef object check_matrices(Tensor t, bint square, str func):
    cdef int ndim = t.impl.dl.ndim
    if ndim < 2:
        raise ValueError(f"{func}: expected a matrix or a batch of matrices, got shape {t.shape}")
    if square and t.impl.dl.shape[ndim - 1] != t.impl.dl.shape[ndim - 2]:
        raise ValueError(f"{func}: expected square matrices, got shape {t.shape}")


cdef tuple _read(object x, bint square, str func):
    """Contiguous matrices of one of the four dtypes, and the 16-bit dtype that the result is rounded to, or None."""
    cdef Tensor t
    if (type(x) is Tensor and (<Tensor>x).impl.dl.device.device_type == kDLCPU and
            _is_computed((<Tensor>x).impl.dl.dtype)):
        t = <Tensor>x
        dtype = None
    else:
        t = computed(x, func)
        dtype = None
        if not _is_computed(t.impl.dl.dtype):
            dtype = t.dtype
            t = t.astype(DTYPES["float32"])
    check_matrices(t, square, func)
    return _plain(t), dtype


cdef Tensor _made(Tensor like, int batch_dims, int dims, int64_t first, int64_t second, object dtype, str func):
    """A new tensor of the batch's shape and further dimensions; `dtype` None for that of `like`."""
    cdef int64_t shape[64]
    cdef DLDataType element = like.impl.dl.dtype
    cdef int i
    for i in range(batch_dims):
        shape[i] = like.impl.dl.shape[i]
    shape[batch_dims], shape[batch_dims + (1 if dims > 1 else 0)] = first, second if dims > 1 else first
    if dtype is not None:
        element.code = 2 if dtype == "real" else 5
        if dtype == "real" and like.impl.dl.dtype.code == 5:
            element.bits = element.bits // 2
        if dtype == "complex" and like.impl.dl.dtype.code == 2:
            element.bits = element.bits * 2
    return result_for(None, like, batch_dims + dims, shape, element, func)


cdef object _delivered(object result, object dtype, object out, str func):
    """The result, rounded to a 16-bit dtype, or `out` after it was written there."""
    if dtype is not None:
        real = result.dtype.name in _PARTS and dtype.name not in _NARROW
        result = result.astype(_PARTS[result.dtype.name] if real else dtype)
    return written(result, out, func)


def which(index, batch):
    """Name a matrix of a batch in a message."""
    if not batch:
        return "the matrix"
    places = []
    for size in reversed(batch):
        places.append(index % size)
        index //= size
    return f"the matrix at {list(reversed(places))}"


cdef class _Call:
    """A call on a batch: where it is computed, and what failed."""
    cdef const EngineTable* engine
    cdef LaunchContext launch
    cdef Batch batch
    cdef uint8_t one
    cdef Tensor x

    def __cinit__(self, Tensor x, str func):
        cdef int64_t count = numel(x.impl.dl.ndim - 2, x.impl.dl.shape)
        self.engine = engine_at(x.impl.dl.device, &self.launch, func)
        self.x = x
        self.batch.type = find_type(x.impl.dl.dtype)
        self.batch.count = count
        self.one = 0
        self.batch.info = &self.one if count <= 1 else <uint8_t*>malloc(count)
        if self.batch.info == NULL:
            raise MemoryError("linalg: no memory for a batch")

    def __dealloc__(self):
        if self.batch.info != &self.one:
            free(self.batch.info)

    cdef bint is_large(self, int64_t side) noexcept:
        """Test whether matrices are on a device and not computed by the code of the CPU."""
        return self.launch.stream != NULL and side > SMALL_SIDE

    cdef int run(self, Factor factor, int64_t m, int64_t n, int64_t k, bint flag, Tensor out, Tensor second,
                 Tensor third, bint waits, str func) except -1:
        """Compute, and if the matrices may fail find which did."""
        cdef FactorCall call
        cdef EngineOperand x
        cdef EngineOperand results[3]
        cdef const EngineOperand* each[3]
        cdef PyThreadState* state
        cdef Status status
        if self.batch.count == 0:
            return 0
        if self.is_large(max(m, n)):
            refuse_library(func, "cuSOLVER", "pass tensors on the CPU")
        call.factor, call.count, call.m, call.n, call.k, call.flag = factor, self.batch.count, m, n, k, flag
        call.waits, call.info = waits, self.batch.info
        each[0] = each[1] = each[2] = NULL
        if out is not None:
            read_owned(out, &results[0])
            each[0] = &results[0]
        if second is not None:
            read_owned(second, &results[1])
            each[1] = &results[1]
        if third is not None:
            read_owned(third, &results[2])
            each[2] = &results[2]
        read_owned(self.x, &x)
        state = release_gil(self.launch, KEEP_GIL_BYTES // KEEP_GIL_ELEMENTS * m * n * self.batch.count)
        status = self.engine.factor(call, x, each[0], each[1], each[2], self.launch)
        return finish(state, status, self.launch, func)

    cdef int64_t first_failed(self, int64_t start) noexcept:
        cdef int64_t i
        for i in range(start, self.batch.count):
            if self.batch.info[i]:
                return i
        return -1

    cdef int check(self, str func, str what) except -1:
        cdef int64_t i = self.first_failed(0)
        if i >= 0:
            raise LinAlgError(f"{func}: {which(i, self.x.shape[:-2])} {what}")
        return 0

    cdef int check_singular(self, Tensor result, str func) except -1:
        """Raise for the first singular matrix; those with NaN or infinity give NaN."""
        cdef int64_t i = self.first_failed(0), n = self.x.impl.dl.shape[self.x.impl.dl.ndim - 1]
        cdef int64_t width = type_table[self.batch.type].bytes
        cdef Tensor matrix
        cdef int64_t place
        while i >= 0:
            matrix = self.x if self.launch.stream == NULL else self.x.reshape((self.batch.count, n * n))[i].to("cpu")
            place = i * n * n * width if matrix is self.x else 0
            if all_finite(self.batch.type, n * n, <char*>matrix.impl.dl.data + place):
                raise LinAlgError(f"{func}: {which(i, self.x.shape[:-2])} is singular")
            result.reshape((self.batch.count, -1))[i] = float("nan")
            i = self.first_failed(i + 1)
        return 0

    cdef int check_finite(self, str func) except -1:
        cdef int64_t i, each
        cdef const char* data = <const char*>self.x.impl.dl.data
        cdef int ndim = self.x.impl.dl.ndim
        if self.launch.stream != NULL:
            finite = all_of(isfinite(self.x), axis=(-2, -1)).to("cpu")  # waits
            if not finite.all().item():
                wrong = which(finite.reshape((-1,)).tolist().index(False), self.x.shape[:-2])
                raise LinAlgError(f"{func}: {wrong} has NaN or infinite elements")
            return 0
        each = self.x.impl.dl.shape[ndim - 1] * self.x.impl.dl.shape[ndim - 2]
        if all_finite(self.batch.type, each * self.batch.count, data):
            return 0
        for i in range(self.batch.count):
            if not all_finite(self.batch.type, each, data + i * each * type_table[self.batch.type].bytes):
                raise LinAlgError(f"{func}: {which(i, self.x.shape[:-2])} has NaN or infinite elements")
        return 0


# -- LU ---------------------------------------------------------------------------------------------------------------

def det(x, /, *, out=None):
    """Compute the determinant of a square matrix.

    Parameters
    ----------
    x : array_like
        Of shape ``(..., n, n)`` and of any dtype with arithmetic: integers are
        converted to `get_default_dtype`, float16 and bfloat16 computed in float32.
    out : array_like, optional
        Writable tensor of the shape of the result; overwritten and returned.

    Returns
    -------
    Tensor
        Of shape ``(...)`` and the dtype of `x`. 0 for a singular matrix, 1 for one of no elements.

    Raises
    ------
    ValueError
        `x` does not consist of square matrices, or `out` has another shape or is read-only.
    {_functions.matrix_norm: TypeError, DeviceError}

    {See Also: slogdet}

    {Notes: Array API 2025.12: ``linalg.det``. The factorization is LU with partial pivoting.}

    Examples
    --------
    >>> dl.linalg.det(dl.asarray([[4.0, 2.0], [1.0, 3.0]]))
    Tensor(10., shape=(), device=cpu, dtype=float32)
    """
    cdef Tensor a, result
    cdef _Call call
    cdef int64_t n
    a, dtype = _read(x, True, "det")
    n = a.impl.dl.shape[a.impl.dl.ndim - 1]
    if n == 0:
        return _delivered(ones(a.shape[:-2], dtype=a.dtype, device=a.device), dtype, out, "det")
    result = _made(a, a.impl.dl.ndim - 2, 0, 0, 0, None, "det")
    call = _Call(a, "det")
    call.run(Factor.determinant, n, n, 0, False, result, None, None, False, "det")
    return result if out is None and dtype is None else _delivered(result, dtype, out, "det")


def slogdet(x, /):
    """Compute the sign of the determinant and the logarithm of its absolute value.

    {det: Parameters, Raises}

    Returns
    -------
    SlogdetResult
        `sign` of shape ``(...)`` and the dtype of `x`: a number of absolute value 1, or 0 for a singular matrix.
        `logabsdet`, real: the natural logarithm, or minus infinity.

    Raises
    ------
    ValueError
        `x` does not consist of square matrices.
    TypeError
        The dtype has no arithmetic, as float8.

    {See Also: det}

    Examples
    --------
    >>> dl.linalg.slogdet(dl.asarray([[0.0, 2.0], [2.0, 0.0]])).sign
    Tensor(-1., shape=(), device=cpu, dtype=float32)
    """
    cdef Tensor a, sign, logarithm
    cdef _Call call
    cdef int64_t n
    a, dtype = _read(x, True, "slogdet")
    n = a.impl.dl.shape[a.impl.dl.ndim - 1]
    if n == 0:
        real = _PARTS.get(a.dtype.name, a.dtype.name)
        return SlogdetResult(_delivered(ones(a.shape[:-2], dtype=a.dtype, device=a.device), dtype, None, "slogdet"),
                             _delivered(zeros(a.shape[:-2], dtype=real, device=a.device), dtype, None, "slogdet"))
    sign = _made(a, a.impl.dl.ndim - 2, 0, 0, 0, None, "slogdet")
    logarithm = _made(a, a.impl.dl.ndim - 2, 0, 0, 0, "real", "slogdet")
    call = _Call(a, "slogdet")
    call.run(Factor.determinant, n, n, 0, False, sign, logarithm, None, False, "slogdet")
    return SlogdetResult(_delivered(sign, dtype, None, "slogdet"), _delivered(logarithm, dtype, None, "slogdet"))


def inv(x, /, *, out=None):
    """Compute the inverse of a square matrix.

    {det: Parameters}

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`. A matrix with NaN gives NaN.

    Raises
    ------
    LinAlgError
        A matrix is singular; the message names which of the batch.
    {det: ValueError, TypeError, DeviceError}

    See Also
    --------
    solve : Solve systems of equations, which takes less work and is more accurate.
    pinv : The inverse of any matrix.

    {Notes: Array API 2025.12: ``linalg.inv``. The factorization is LU with partial pivoting.}

    Examples
    --------
    >>> dl.linalg.inv(dl.asarray([[2.0, 0.0], [0.0, 4.0]]))
    Tensor([[0.5 , 0.  ],
            [0.  , 0.25]], shape=(2, 2), device=cpu, dtype=float32)
    """
    cdef Tensor a, result
    cdef _Call call
    cdef int64_t n
    a, dtype = _read(x, True, "inv")
    n = a.impl.dl.shape[a.impl.dl.ndim - 1]
    result = _made(a, a.impl.dl.ndim - 2, 2, n, n, None, "inv")
    call = _Call(a, "inv")
    if n > 0:
        call.run(Factor.inverse, n, n, n, False, result, None, None, True, "inv")
        call.check_singular(result, "inv")
    return result if out is None and dtype is None else _delivered(result, dtype, out, "inv")


def solve(x1, x2, /, *, out=None):
    """Solve systems of linear equations: the x with ``x1 @ x = x2``.

    Parameters
    ----------
    x1 : array_like
        Of shape ``(..., n, n)`` and of any dtype with arithmetic: integers are
        converted to `get_default_dtype`, float16 and bfloat16 computed in float32.
    x2 : array_like
        Of shape ``(n,)``, one vector for all matrices, or ``(..., n, k)``. The dtypes are promoted, and the dimensions
        of the batches broadcast.
    {det: out}

    Returns
    -------
    Tensor
        Of shape ``(..., n)`` for one vector, else ``(..., n, k)``. A matrix with NaN gives NaN.

    Raises
    ------
    {inv: LinAlgError}
    ValueError
        Shapes do not fit; the message names both. `out` has another shape or is read-only.
    TypeError
        A dtype has no arithmetic, as float8, or that of `out` is of a lower kind than the result's.
    DeviceError
        Operands are on several devices, or neither on the host nor on a CUDA device.

    {See Also: inv}

    {Notes: Array API 2025.12: ``linalg.solve``. The factorization is LU with partial pivoting.}

    Examples
    --------
    >>> dl.linalg.solve(dl.asarray([[2.0, 0.0], [0.0, 4.0]]), dl.asarray([1.0, 2.0]))
    Tensor([0.5, 0.5], shape=(2,), device=cpu, dtype=float32)
    """
    cdef Tensor a, b
    cdef _Call call
    cdef int64_t n, k
    left, right = asarrays(x1, x2)
    left, right = computed(left, "solve", right), computed(right, "solve", left)
    if not is_same_place((<Tensor>left).impl.dl.device, (<Tensor>right).impl.dl.device):
        raise DeviceError(f"solve: x1 is on {left.device} and x2 on {right.device}; move one with to()")
    check_matrices(left, True, "solve")
    n = left.shape[-1]
    vector = right.ndim == 1
    if right.ndim == 0 or right.shape[0 if vector else -2] != n:
        raise ValueError(f"solve: x1 has shape {left.shape}, x2 has shape {right.shape}; expected x2 of {n} rows")
    dtype = result_type(left, right)
    wide = DTYPES["float32"] if dtype.name in _NARROW else dtype
    narrow = dtype if wide is not dtype else None
    if vector:
        right = right[:, None]
    k = right.shape[-1]
    batch = left.shape[:-2]
    if right.shape[:-2] != batch:
        try:
            batch = broadcast_shapes(left.shape[:-2], right.shape[:-2])
        except ValueError:
            raise ValueError(f"solve: the batches of x1, shape {left.shape}, and of x2, shape {right.shape}, do not "
                             f"broadcast") from None
    left = left if left.dtype == wide else left.astype(wide)
    a = _plain(left if left.shape[:-2] == batch else broadcast_to(left, (*batch, n, n)))
    if right.dtype == wide and right.shape[:-2] == batch:
        b = right.copy()
    else:
        b = broadcast_to(right.astype(wide), (*batch, n, k)).copy()
    call = _Call(a, "solve")
    if b.size:
        call.run(Factor.solve, n, n, k, False, b, None, None, True, "solve")
        call.check_singular(b, "solve")
    result = b.reshape((*batch, n)) if vector else b
    return result if out is None and narrow is None else _delivered(result, narrow, out, "solve")


def cholesky(x, /, *, upper=False, out=None):
    """Compute the Cholesky factor of a symmetric or Hermitian positive definite matrix.

    Parameters
    ----------
    x : array_like
        Of shape ``(..., n, n)`` and of any dtype with arithmetic. Only the triangle of the result is read. float16 and
        bfloat16 are computed in float32.
    upper : bool, default False
        Whether the result is the upper triangle u with ``x = u^H @ u``, and not the lower l with ``x = l @ l^H``.
    {det: out}

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`; elements of the other triangle are 0.

    Raises
    ------
    LinAlgError
        A matrix is not positive definite; the message names which of the batch.
    {det: ValueError, TypeError, DeviceError}

    {See Also: qr}

    Examples
    --------
    >>> dl.linalg.cholesky(dl.asarray([[4.0, 2.0], [2.0, 2.0]]))
    Tensor([[2., 0.],
            [1., 1.]], shape=(2, 2), device=cpu, dtype=float32)
    """
    cdef Tensor a, result
    cdef _Call call
    cdef int64_t n
    cdef bint high = bool(upper)
    a, dtype = _read(x, True, "cholesky")
    n = a.impl.dl.shape[a.impl.dl.ndim - 1]
    result = _made(a, a.impl.dl.ndim - 2, 2, n, n, None, "cholesky")
    call = _Call(a, "cholesky")
    if n > 0:
        call.run(Factor.cholesky, n, n, 0, high, result, None, None, True, "cholesky")
        if call.is_large(n):
            result = triu(result) if high else tril(result)
        call.check("cholesky", "is not positive definite")
    return result if out is None and dtype is None else _delivered(result, dtype, out, "cholesky")


# -- QR ---------------------------------------------------------------------------------------------------------------

def qr(x, /, mode="reduced"):
    """Compute the QR factorization: ``x = Q @ R`` with orthonormal columns in Q, and R an upper triangle.

    Parameters
    ----------
    mode : {"reduced", "complete"}, default "reduced"
        Whether Q has ``min(m, n)`` columns or m.

    {_functions.matrix_rank: Parameters}

    Returns
    -------
    QRResult
        `Q` of shape ``(..., m, k)`` and `R` of shape ``(..., k, n)``. The diagonal of R is real.

    Raises
    ------
    ValueError
        `x` has fewer than two dimensions, or `mode` is unknown.
    {slogdet: TypeError}
    {_functions.matrix_rank: DeviceError}

    {See Also: svd}

    {Notes: Array API 2025.12: ``linalg.qr``. The algorithm is Householder's.}

    Examples
    --------
    >>> dl.linalg.qr(dl.asarray([[3.0], [4.0]])).R
    Tensor([[-5.]], shape=(1, 1), device=cpu, dtype=float32)
    """
    cdef Tensor a, q, r
    cdef _Call call
    cdef int64_t m, n, k
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode must be reduced or complete, got {quoted(mode)}")
    a, dtype = _read(x, False, "qr")
    m, n = a.impl.dl.shape[a.impl.dl.ndim - 2], a.impl.dl.shape[a.impl.dl.ndim - 1]
    k = m if mode == "complete" else min(m, n)
    q = _made(a, a.impl.dl.ndim - 2, 2, m, k, None, "qr")
    r = _made(a, a.impl.dl.ndim - 2, 2, k, n, None, "qr")
    call = _Call(a, "qr")
    if m > 0 and n == 0:
        q[...] = eye(m, k, dtype=q.dtype, device=q.device)
    elif m > 0:
        call.run(Factor.qr, m, n, k, False, q, r, None, False, "qr")
    return QRResult(_delivered(q, dtype, None, "qr"), _delivered(r, dtype, None, "qr"))


# -- eigenvalues and singular values ----------------------------------------------------------------------------------

cdef bint _uses_numpy(str func) except -1:
    """Test whether NumPy computes what is too large for our own code; else a LAPACK is loaded."""
    from ._backends import find

    library = find(func)
    refuse_library(func, "LAPACK", "call it outside the block")
    return library == "numpy"


cdef int _by_numpy(_Call call, str func, dict options, list results, str what) except -1:
    """Matrix by matrix into the first dimension of each of `results`."""
    from ._backends import by_numpy

    flat = call.x.reshape((call.batch.count, *call.x.shape[-2:]))
    into = [t.reshape((call.batch.count, *t.shape[call.x.ndim - 2:])) for t in results]
    for i in range(call.batch.count):
        result = by_numpy(func, flat[i].numpy(), **options)
        if result is None:
            raise LinAlgError(f"{func}: {which(i, call.x.shape[:-2])} {what}")
        for to, array in zip(into, result, strict=True):
            to[i] = asarray(array).astype(to.dtype)
    return 0


cdef tuple _eigh(object x, bint vectors, str func):
    cdef Tensor a, values, columns = None
    cdef _Call call
    cdef int64_t n
    a, dtype = _read(x, True, func)
    n = a.impl.dl.shape[a.impl.dl.ndim - 1]
    values = _made(a, a.impl.dl.ndim - 2, 1, n, 0, "real", func)
    if vectors:
        columns = _made(a, a.impl.dl.ndim - 2, 2, n, n, None, func)
    call = _Call(a, func)
    if n > 0 and call.batch.count > 0:
        call.check_finite(func)
        if n > SMALL_SIDE and call.launch.stream == NULL and _uses_numpy(func):
            outputs = [values, columns] if vectors else [values]
            _by_numpy(call, func, {}, outputs, "has eigenvalues that did not converge")
        else:
            call.run(Factor.eigh, n, n, 0, False, values, columns, None, n > SMALL_SIDE, func)
            call.check(func, "has eigenvalues that did not converge")
    if dtype is None:
        return values, columns
    return values.astype(dtype), columns.astype(dtype) if vectors else None


def eigh(x, /):
    """Compute eigenvalues and eigenvectors of a symmetric or Hermitian matrix.

    Parameters
    ----------
    x : array_like
        Of shape ``(..., n, n)`` and of any dtype with arithmetic. Only the lower triangle is read. float16 and bfloat16
        are computed in float32.

    Returns
    -------
    EighResult
        `eigenvalues` of shape ``(..., n)``, real and ascending; `eigenvectors` of shape ``(..., n, n)``, orthonormal
        columns.

    Raises
    ------
    LinAlgError
        A matrix has NaN or infinite elements, or the iteration did not converge; the message names which of the batch.
    ValueError
        `x` does not consist of square matrices, or is larger than `backend` takes.
    {qr: TypeError, DeviceError}
    ImportError
        A matrix is larger than 8 x 8, and no library is installed; the extra ``linalg`` brings one.
    RuntimeError
        A matrix is larger than 8 x 8, inside a `reproducible` block.

    {See Also: eigvalsh, eig}

    Notes
    -----
    Array API 2025.12: ``linalg.eigh``. Up to 8 x 8 the algorithm is Jacobi's, with the same bits on every processor;
    `backend` computes for larger matrices.

    Examples
    --------
    >>> dl.linalg.eigh(dl.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    Tensor([1., 2.], shape=(2,), device=cpu, dtype=float32)
    """
    return EighResult(*_eigh(x, True, "eigh"))


def eigvalsh(x, /, *, out=None):
    """Compute the eigenvalues of a symmetric or Hermitian matrix.

    Parameters
    ----------
    {det: out}

    Returns
    -------
    Tensor
        Of shape ``(..., n)``, real and ascending.

    Raises
    ------
    ValueError
        `x` does not consist of square matrices, is larger than `backend` takes, or `out` has another shape or is
        read-only.
    {det: TypeError}

    {eigh: Parameters, Raises}

    {See Also: eigh}

    Examples
    --------
    >>> dl.linalg.eigvalsh(dl.asarray([[0.0, 1.0], [1.0, 0.0]]))
    Tensor([-1.,  1.], shape=(2,), device=cpu, dtype=float32)
    """
    return _delivered(_eigh(x, False, "eigvalsh")[0], None, out, "eigvalsh")


cdef tuple _eig(object x, bint vectors, str func):
    cdef Tensor a, values, columns = None
    cdef _Call call
    cdef LaunchContext host
    cdef PyThreadState* state
    cdef int64_t n
    cdef void* to = NULL
    if type(x) is Tensor and not on_host(x):
        raise DeviceError(f'{func}: computed on the host only, but x is on {x.device}; pass x.to("cpu")')
    a, _ = _read(x, True, func)
    n = a.impl.dl.shape[a.impl.dl.ndim - 1]
    values = _made(a, a.impl.dl.ndim - 2, 1, n, 0, "complex", func)
    if vectors:
        columns = _made(a, a.impl.dl.ndim - 2, 2, n, n, "complex", func)
        to = columns.impl.dl.data
    call = _Call(a, func)
    if n > 0 and call.batch.count > 0:
        call.check_finite(func)
        if _uses_numpy(func):
            outputs = [values, columns] if vectors else [values]
            _by_numpy(call, func, {}, outputs, "has eigenvalues that did not converge")
        else:
            state = release_gil(host, KEEP_GIL_BYTES // KEEP_GIL_ELEMENTS * n * n * call.batch.count)
            finish(state, eig_batch(call.batch, n, a.impl.dl.data, values.impl.dl.data, to), host, func)
            call.check(func, "has eigenvalues that did not converge")
    return values, columns


def eig(x, /):
    """Compute eigenvalues and eigenvectors of a square matrix.

    {slogdet: Parameters}

    Returns
    -------
    EigResult
        `eigenvalues` of shape ``(..., n)``, complex and in no order; `eigenvectors` of shape ``(..., n, n)``, columns
        of norm 1. complex64 for dtypes of up to 32 bits and complex64, else complex128.

    Raises
    ------
    {eigh: LinAlgError, ValueError, TypeError}
    DeviceError
        `x` is not on the host; the message names ``.to("cpu")``.
    ImportError
        No library is installed; the extra ``linalg`` brings one.
    RuntimeError
        Called inside a `reproducible` block.

    {See Also: eigvals, eigh}

    {Notes: Array API 2025.12: ``linalg.eig``. `backend` computes.}

    Examples
    --------
    >>> dl.linalg.eig(dl.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    Tensor([2.+0.j, 1.+0.j], shape=(2,), device=cpu, dtype=complex64)
    """
    return EigResult(*_eig(x, True, "eig"))


def eigvals(x, /, *, out=None):
    """Compute the eigenvalues of a square matrix.

    {det: Parameters}

    Returns
    -------
    Tensor
        Of shape ``(..., n)`` and a complex dtype, in no order.

    Raises
    ------
    {eigvalsh: LinAlgError, ValueError, TypeError}
    {eig: DeviceError, ImportError, RuntimeError}

    {See Also: eig}

    Examples
    --------
    >>> dl.linalg.eigvals(dl.asarray([[2.0, 0.0], [0.0, 3.0]])).tolist()
    [(2+0j), (3+0j)]
    """
    return _delivered(_eig(x, False, "eigvals")[0], None, out, "eigvals")


cdef tuple _svd(object x, bint vectors, bint full, bint finite, str func):
    """U, S and Vh, or None, S and None. Without `finite`, NaN and infinity are not looked for."""
    cdef Tensor a, values, left = None, right = None
    cdef _Call call
    cdef int64_t m, n, k
    cdef int dims
    a, dtype = _read(x, False, func)
    dims = a.impl.dl.ndim - 2
    m, n = a.impl.dl.shape[dims], a.impl.dl.shape[dims + 1]
    k = min(m, n)
    call = _Call(a, func)
    if finite and k > 0 and call.batch.count > 0:
        call.check_finite(func)
    values = _made(a, dims, 1, k, 0, "real", func)
    if vectors:
        left = _made(a, dims, 2, m, m if full else k, None, func)
        right = _made(a, dims, 2, n if full else k, n, None, func)
    if k == 0 or call.batch.count == 0:
        for t in (left, right):
            if t is not None and t.size:
                t[...] = eye(t.shape[-2], dtype=t.dtype, device=t.device)
    elif max(m, n) > SMALL_SIDE and call.launch.stream == NULL and _uses_numpy(func):
        _by_numpy(call, func, {"full_matrices": full} if vectors else {},
                  [left, values, right] if vectors else [values], "has singular values that did not converge")
    else:
        call.run(Factor.svd, m, n, max(m, n) if full else k, full, left, values, right, max(m, n) > SMALL_SIDE, func)
        call.check(func, "has singular values that did not converge")
    if dtype is None:
        return left, values, right
    return tuple([None if t is None else t.astype(dtype) for t in (left, values, right)])


def svd(x, /, full_matrices=True, *, compute_uv=True):
    """Compute the singular value decomposition: ``x = U @ diag(S) @ Vh``.

    Parameters
    ----------
    {qr: x}
    full_matrices : bool, default True
        Whether U has m columns and Vh n rows, and not k = min(m, n) both.
    compute_uv : bool, default True
        False returns S alone, as `svdvals`.

    Returns
    -------
    SVDResult
        `U` of shape ``(..., m, m)`` or ``(..., m, k)``; `S` of shape ``(..., k)``, real, descending and not negative;
        `Vh` of shape ``(..., n, n)`` or ``(..., k, n)``.

    Raises
    ------
    {eigh: LinAlgError}
    ValueError
        `x` has fewer than two dimensions, or is larger than `backend` takes.
    {eigh: TypeError, DeviceError, ImportError, RuntimeError}

    {See Also: svdvals}

    Notes
    -----
    Array API 2025.12: ``linalg.svd``. Up to 8 x 8 the algorithm is the one-sided one of Jacobi, with the same bits on
    every processor; `backend` computes for larger matrices.

    Examples
    --------
    >>> dl.linalg.svd(dl.asarray([[0.0, 2.0], [1.0, 0.0]])).S
    Tensor([2., 1.], shape=(2,), device=cpu, dtype=float32)
    """
    if not compute_uv:
        return _delivered(_svd(x, False, False, True, "svd")[1], None, None, "svd")
    return SVDResult(*_svd(x, True, bool(full_matrices), True, "svd"))


def svdvals(x, /, *, out=None):
    """Compute the singular values of a matrix.

    {_functions.matrix_norm: Parameters}

    Returns
    -------
    Tensor
        Of shape ``(..., min(m, n))``, real, descending and not negative.

    Raises
    ------
    {eigh: LinAlgError}
    ValueError
        `x` has fewer than two dimensions, is larger than `backend` takes, or `out` has another shape or is
        read-only.
    {eigvalsh: TypeError, DeviceError, ImportError, RuntimeError}

    {See Also: svd}

    Examples
    --------
    >>> dl.linalg.svdvals(dl.asarray([[3.0, 4.0]]))
    Tensor([5.], shape=(1,), device=cpu, dtype=float32)
    """
    return _delivered(_svd(x, False, False, True, "svdvals")[1], None, out, "svdvals")


# -- norms ------------------------------------------------------------------------------------------------------------

cdef bint _merge(int ndim, const int64_t* shape, const int64_t* strides, int64_t* extent, int64_t* step) noexcept:
    """Take dimensions as one of `extent` elements, `step` apart. False where their strides are not those of one."""
    cdef int d
    extent[0], step[0] = numel(ndim, shape), 1
    cdef int64_t inner = 1
    for d in range(ndim - 1, -1, -1):
        if extent[0] == 0 or shape[d] == 1:
            continue
        if inner == 1:
            step[0] = strides[d]
        elif inner > (1 << 62) // (abs(step[0]) + 1) or strides[d] != inner * step[0]:
            return False
        inner *= shape[d]
    return True


def euclidean(x, int kept=0):
    """Return Euclidean norms over all but the first `kept` dimensions of a tensor of the four dtypes.

    None where `x` is something else, or has strides that need a copy: what takes longer is left to the caller.
    """
    cdef Tensor t, result
    cdef int64_t rows, row, n, step
    cdef bint is_done
    if type(x) is not Tensor:
        return None
    t = <Tensor>x
    if (t.impl.dl.device.device_type != kDLCPU or not _is_computed(t.impl.dl.dtype) or
            not _merge(kept, t.impl.dl.shape, t.impl.dl.strides, &rows, &row) or
            not _merge(t.impl.dl.ndim - kept, t.impl.dl.shape + kept, t.impl.dl.strides + kept, &n, &step)):
        return None
    result = _made(t, kept, 0, 0, 0, "real", "vector_norm")
    cdef LaunchContext host
    cdef PyThreadState* state = release_gil(host, KEEP_GIL_BYTES // KEEP_GIL_ELEMENTS // 16 * rows * n)
    is_done = find_norms(find_type(t.impl.dl.dtype), rows, row, n, step, t.impl.dl.data, result.impl.dl.data)
    take_gil(state)
    return result if is_done else None
