# SPDX-License-Identifier: Apache-2.0
"""Instruction sets and threads of the CPU engine, and type promotion. Nothing is computed here."""
from .._core.indexing cimport integer_of
from .._core.native cimport computed_types, environment, find_type, promote, type_table
from .._core.scalars cimport promote_number
from .arguments cimport Operand, kind_order, read_operand
from .._core.types cimport DLDataType, dtype_of, read_dtype

cdef extern from "native/cpu/runtime/features.h" namespace "dlt" nogil:
    const char* const* cpu_levels()
    bint cpu_supports(const char*)
    const char* cpu_level()
    bint set_level "dlt::set_cpu_level"(const char*)

cdef extern from "native/cpu/runtime/thread_pool.h" namespace "dlt" nogil:
    int threads_used "dlt::num_threads"()
    void use_threads "dlt::set_num_threads"(int)

cdef enum:
    MOST_THREADS = 64

# An invalid value is reported when the package is imported, not in the middle of a calculation.
if environment("DLTENSOR_CPU") != NULL:
    cpu_level()
if environment("DLTENSOR_NUM_THREADS") != NULL:
    threads_used()


def _levels():
    cdef const char* const* level = cpu_levels()
    found = []
    while level[0] != NULL:
        found.append(level[0].decode())
        level += 1
    return found


def cpu_features() -> _Features:
    """Return the instruction set that the CPU loops use, and the available ones.

    Returns
    -------
    dict
        ``used``: the level in use, such as ``"v3"`` for x86-64-v3; ``supported``: the levels that this processor
        supports; ``compiled``: the levels of this build; ``threads``: the result of `num_threads`. The environment
        variable ``DLTENSOR_CPU`` selects a lower level before the package is imported.

    {See Also: num_threads}

    Examples
    --------
    >>> features = dl.cpu_features()
    >>> features["used"] in features["supported"]
    True
    """
    compiled = _levels()
    supported = tuple([name for name in compiled if cpu_supports(name.encode())])
    return {"used": cpu_level().decode(), "supported": supported,
            "compiled": tuple(compiled), "threads": threads_used()}


def _set_cpu_level(str level):
    """Switch the loops to another level, for tests, while nothing is being computed.
    """
    if not set_level(level.encode()):
        raise ValueError(f"_set_cpu_level: expected one of {', '.join(cpu_features()['supported'])}, got {level!r}")


def num_threads():
    """Return the number of threads that compute large operations on the CPU.

    The environment variable ``DLTENSOR_NUM_THREADS`` sets the initial number, else ``OMP_NUM_THREADS``, which joblib
    and Dask set in their worker processes. By default it is the number of processors that this process may use, by its
    affinity and by the time that its control group has.

    Returns
    -------
    int
        Number of threads, the calling one included.

    {See Also: set_num_threads}

    Examples
    --------
    >>> dl.num_threads() >= 1
    True
    """
    return threads_used()


def set_num_threads(count, /):
    """Set the number of threads that compute large operations on the CPU.

    Results do not depend on the number. Threads in excess of it end before the function returns; it waits for running
    work.

    Parameters
    ----------
    count : int
        From 1 to 64, the calling thread included; 1 keeps all work on the calling thread.

    Raises
    ------
    ValueError
        `count` is out of range.
    TypeError
        `count` is not an integer.

    {See Also: num_threads}

    Examples
    --------
    >>> before = dl.num_threads(); dl.set_num_threads(1); dl.num_threads()
    1
    >>> dl.set_num_threads(before)
    """
    count = integer_of(count, "count", "set_num_threads")
    if not 1 <= count <= MOST_THREADS:
        raise ValueError(f"set_num_threads: expected 1 to {MOST_THREADS}, got {count}")
    cdef int threads = count
    with nogil:  # it may have to wait for work that runs
        use_threads(threads)


def result_type(*arrays_and_dtypes):
    """Return the dtype to which operands are promoted.

    Parameters
    ----------
    *arrays_and_dtypes : array_like, dtype_like or number
        Operands or their dtypes. A number counts by its kind only: if its kind is higher than that of all other
        operands, the result is the default dtype of that kind, as it is without other operands.

    Returns
    -------
    DType
        The common dtype.

    Raises
    ------
    TypeError
        Two dtypes have no common dtype (int64 and uint64), or a dtype is storage-only.
    ValueError
        There is no argument.

    {See Also: can_cast}

    Examples
    --------
    >>> dl.result_type(dl.int8, dl.uint8), dl.result_type(dl.zeros(2, dtype="int32"), 1.5)
    (dltensor.int16, dltensor.float32)
    """
    return common_dtype("result_type", arrays_and_dtypes)


def common_dtype(str func, operands):
    """Return what `result_type` returns, with the name of another function in messages.

    >>> common_dtype("concat", [dl.int8, dl.uint8])
    dltensor.int16
    """
    cdef Operand operand
    cdef int type = -1, one, joined, highest = -1
    cdef DLDataType named
    for x in operands:
        if _is_dtype(x):
            named = read_dtype(x, func)
            one = find_type(named)
        else:
            read_operand(x, &operand, func)
            if operand.number:
                if highest < 0 or kind_order(operand.type) > kind_order(highest):
                    highest = operand.type
                continue
            named = operand.view.dtype
            one = find_type(named)
        if one < 0:
            raise TypeError(f"{func}: {dtype_of(named)} has no arithmetic; convert with astype() first")
        joined = one if type < 0 else promote(type, one)
        if joined < 0:
            raise TypeError(f"{func}: {type_table[type].name.decode()} and {dtype_of(named)} have no dtype in "
                            f"common; convert one with astype()")
        type = joined
    if type < 0:
        if highest < 0:
            raise ValueError(f"{func}: expected at least one tensor or dtype, got nothing")
        type = promote_number(-1, highest)
    elif highest >= 0 and (type >= computed_types or kind_order(highest) > kind_order(type)):
        joined = -1 if type >= computed_types else promote_number(type, highest)
        if joined < 0:
            raise TypeError(f"{func}: {type_table[type].name.decode()} and a number have no dtype in common; "
                            f"convert with astype() first")
        type = joined
    return dtype_of(type_table[type].dtype)


cdef bint _is_dtype(object x):
    """Test whether an argument names a dtype rather than holding elements."""
    if isinstance(x, (str, type)) or hasattr(x, "__dlpack_data_type__"):
        return True
    if hasattr(x, "__dlpack__") or isinstance(x, (int, float, complex)):
        return False
    return (hasattr(x, "byteorder") and hasattr(x, "itemsize")) or type(x).__module__ == "torch"
