# SPDX-License-Identifier: Apache-2.0
"""Blocks in which no result has the bits of a library: whether one is entered, and the error of functions."""

from cpython.contextvars cimport PyContextVar_Set, get_value
from cpython.object cimport PyTypeObject

from .default_dtype cimport new_context_variable
from .native cimport environment_switch

# The entered blocks of a context.
cdef object _blocks = new_context_variable("dltensor.reproducible", ())
cdef bint _is_process_reproducible = environment_switch("DLTENSOR_REPRODUCIBLE")


cdef class _Entry:
    """An entered block. Tasks that copied its context keep it after the block, if that ends in another context."""
    cdef bint is_withdrawn


cdef bint must_reproduce() except -1:
    """Test whether the caller is inside a `reproducible` block, or the environment asks for one."""
    cdef _Entry entry
    if _is_process_reproducible:
        return True
    for one in <tuple>get_value(_blocks):
        entry = one
        if not entry.is_withdrawn:
            return True
    return False


def is_reproducible():
    """Return whether the caller is inside a `reproducible` block, or the environment asks for one."""
    return must_reproduce()


cdef int refuse_library(str func, str library, str remedy) except -1:
    """Raise inside a block for a function that a library computes."""
    if must_reproduce():
        raise RuntimeError(f"{func}: computed by {library}, whose bits depend on version, processor and threads, "
                           f"inside dl.reproducible(); {remedy}")
    return 0


def check_reproducible(func, library, remedy):
    """Raise inside a block for a function that a library computes.

    >>> check_reproducible("f", "a library", "call it outside the block")
    """
    refuse_library(func, library, remedy)


cdef class reproducible:
    """reproducible()\n--\n\nCompute, in a block or a function, only results that have the same bits on every machine.

    Results of the CPU have the same bits for every layout, number of threads and processor, but for those that a
    library computes. Inside the block these raise RuntimeError, which names the function, the library and a remedy:
    `linalg.eigh`, `linalg.svd`, `linalg.eig` and functions composed of them, of matrices beyond 8 x 8; the transforms
    of `fft`; larger products while `set_blas` has a BLAS; and on CUDA devices factorizations beyond 8 x 8. Products of
    floats and complex numbers on CUDA devices are computed by kernels of the package in place of cuBLAS, with the bits
    of the CPU, and take longer; no other result changes. ``DLTENSOR_REPRODUCIBLE=1`` does the same for the whole
    process.

    It is a context manager, and a decorator. The block holds for its thread or asyncio task only, and for tasks that
    are started inside it. Blocks may be nested, and one object may be entered several times.

    Raises
    ------
    TypeError
        What is decorated is a coroutine or a generator function, which runs after the call.

    {See Also: set_blas}

    {Notes: PyTorch: ``torch.use_deterministic_algorithms``, which asks for the same bits on one machine.}

    Examples
    --------
    >>> with dl.reproducible():
    ...     t = dl.linalg.qr(dl.eye(9)).R
    >>> with dl.reproducible():
    ...     dl.fft.fft(dl.ones(4))
    Traceback (most recent call last):
        ...
    RuntimeError: fft: computed by ...
    """

    cdef list _entered

    def __init__(self):
        self._entered = []

    def __enter__(self):
        entry = _Entry()
        self._entered.append(entry)
        PyContextVar_Set(_blocks, (*get_value(_blocks), entry))
        return self

    def __exit__(self, kind, error, trace, /):
        cdef _Entry entry
        blocks = get_value(_blocks)
        for one in reversed(blocks):
            if one in self._entered:
                PyContextVar_Set(_blocks, tuple([other for other in blocks if other is not one]))
                self._entered.remove(one)
                return
        # A generator that is closed in another context than its own, which cannot be changed from here.
        entry = self._entered.pop()
        entry.is_withdrawn = True

    def __call__(self, function, /):
        from .decorating import decorated  # loaded on use, for the import time of the package
        return decorated(self, function, "reproducible")


# The package shows it under this name.
(<PyTypeObject*>reproducible).tp_name = "dltensor.reproducible"
