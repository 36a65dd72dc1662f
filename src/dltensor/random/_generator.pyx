# SPDX-License-Identifier: Apache-2.0
"""The generator: arguments are checked and positions counted here; native/ computes words and values."""
cimport cython
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.object cimport PyTypeObject
from libc.math cimport INFINITY, isfinite
from libc.stdint cimport int64_t, uint32_t, uint64_t

from .._core.convert cimport view_any
from .._core.indexing cimport integer_of, items_of
from .._core.native cimport (MAX_DIMS, Status, find_type, is_contiguous, numel, type_table)
from .._core.signals cimport check_signals
from .._core.allocation cimport check_writable
from .._core.shapes cimport read_shape
from .._core.tensor cimport Tensor, assign, new_empty
from .._core.types cimport DLDevice, device_of, kDLCPU, read_device, read_dtype
from .._ops.engine cimport Draw, Shuffle  # no-cython-lint: the bases of DrawOptions and ShuffleOptions
from .._ops.arguments cimport read_owned
from .._ops.engine cimport (Distribution, EngineOperand, EngineTable, LaunchContext, PyThreadState, check_device,
                            computing_device, engine_at, finish, release_gil, take_gil)

from itertools import islice
from math import frexp
from operator import index
from os import urandom

from .._core.call_errors import rename
from .._core.convert import asarray, empty, empty_for
from .._core.foreign_text import quoted
from .._core.default_dtype import default_dtype, get_default_dtype
from .._core.types import DTYPES, DeviceError, as_device, as_dtype
from .._core.views import move_for, on_host
from .._ops.casting import where
from .._ops.take import take
from .._ops.engine import check_computes
from .._ops.reduce import count_nonzero
from .._ops.scan import cumulative_sum
from .._ops.search import searchsorted
from .._ops.sort import argsort

cdef extern from "native/ops/random/philox.h" namespace "dlt::philox" nogil:
    cppclass Sequence:
        uint64_t key
        uint64_t stream
    uint32_t children
    int position_bits

cdef extern from "native/ops/random/draws.h" namespace "dlt" nogil:
    Distribution UNIT "dlt::draw_unit"
    Distribution UNIFORM "dlt::draw_uniform"
    Distribution NORMAL "dlt::draw_normal"
    Distribution EXPONENTIAL "dlt::draw_exponential"
    Distribution INTEGERS "dlt::draw_integers"
    Distribution BETA "dlt::draw_beta"
    Distribution BINOMIAL "dlt::draw_binomial"
    Distribution CHISQUARE "dlt::draw_chisquare"
    Distribution GAMMA "dlt::draw_gamma"
    Distribution GEOMETRIC "dlt::draw_geometric"
    Distribution GUMBEL "dlt::draw_gumbel"
    Distribution LAPLACE "dlt::draw_laplace"
    Distribution LOGISTIC "dlt::draw_logistic"
    Distribution LOGNORMAL "dlt::draw_lognormal"
    Distribution MULTINOMIAL "dlt::draw_multinomial"
    Distribution PARETO "dlt::draw_pareto"
    Distribution POISSON "dlt::draw_poisson"
    Distribution RAYLEIGH "dlt::draw_rayleigh"
    Distribution WEIBULL "dlt::draw_weibull"
    int first_sample
    int distribution_count
    cppclass DrawOptions "dlt::Draw"(Draw):  # the table only names the struct
        Sequence sequence
        double a
        double b
        double below
        uint64_t low
        uint64_t count
        uint64_t reject
        const EngineOperand* parameters

cdef extern from "native/ops/random/shuffles.h" namespace "dlt" nogil:
    cppclass ShuffleOptions "dlt::Shuffle"(Shuffle):
        Sequence sequence
        uint64_t position
        int64_t n
        int64_t count
        bint from_end

cdef extern from "native/cpu/random/random.h" namespace "dlt" nogil:
    bint draws(Distribution, int)
    uint64_t words_per_value(Distribution, int, uint64_t)
    enum class Domain(int):
        whole
        no_parameter
    bint contains(Domain, double)
    cppclass SampleParameter:
        const char* name
        Domain domain
        const char* domain_name
    cppclass SampleRow:
        const char* name
        bint counts
        int blocks
        SampleParameter parameters[2]
    const SampleRow* sample_rows
    void philox_block(uint32_t*, const uint32_t*, const uint32_t*)
    void choose_weighted(const double*, int64_t, const double*, int64_t, int64_t*)
    bint smallest(const double*, int64_t, int64_t, int64_t*)

# Objects of Python: shifts of C integers would overflow.
_NARROW, _WIDE, _END = 0x100000000, 0x10000000000000000, 2**int(position_bits)
_ALGORITHM = "philox4x32-10"
_REALS = "float16, bfloat16, float32 or float64"
_INTEGERS = "int8, int16, int32, int64, uint8, uint16, uint32 or uint64"
cdef list _SAMPLES = [sample_rows[i].name.decode() for i in range(distribution_count - first_sample)]


cdef int _read_words(object numbers, uint32_t* words, int count, str what) except -1:
    """Exactly `count` integers of 32 bits."""
    words_read = [integer_of(number, what, "philox") for number in islice(numbers, count + 1)]
    if len(words_read) != count or not all([0 <= number < 1 << 32 for number in words_read]):
        raise ValueError(f"philox: {what}: expected {count} integers from 0 to 2^32 - 1, got {str(words_read)[:200]}")
    for i in range(count):
        words[i] = words_read[i]
    return 0


def philox(counter, key, /):
    """Compute one block of Philox 4x32-10: four words from a counter and a key.

    All values of `Generator` come from this function.

    Parameters
    ----------
    counter : sequence of int
        Four words of 32 bits.
    key : sequence of int
        Two words of 32 bits.

    Returns
    -------
    tuple of four ints
        Four words of 32 bits.

    Raises
    ------
    ValueError
        There are not four and two integers from 0 to 2^32 - 1.
    TypeError
        An item is not an integer.

    See Also
    --------
    Generator : Random tensors.

    Notes
    -----
    J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, *Parallel random numbers: as easy as 1, 2, 3*, SC11, 2011.

    Examples
    --------
    >>> [f"{word:08x}" for word in dl.random.philox((0, 0, 0, 0), (0, 0))]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    cdef uint32_t c[4]
    cdef uint32_t k[2]
    cdef uint32_t out[4]
    _read_words(counter, c, 4, "counter")
    _read_words(key, k, 2, "key")
    philox_block(out, c, k)
    return out[0], out[1], out[2], out[3]


def _words_of(number):
    """An integer as words that begin with its sign and their number, so that no two sequences give the same words."""
    size = (abs(number).bit_length() + 31) // 32
    return [int(number < 0), size, *[abs(number) >> 32 * i & 0xffffffff for i in range(size)]]


def _hash(numbers):
    """Key and stream of a seed that is not one integer of 64 bits: its words through philox(), four at a time."""
    words = [word for number in numbers for word in _words_of(number)]
    count = len(words)
    words += [0] * (-count % 4)
    key = (0, 0)
    for i in range(0, len(words), 4):
        result = philox(words[i : i + 4], key)
        key = result[0] ^ words[i], result[1] ^ words[i + 1]
    result = philox((count & 0xffffffff, count >> 32, 0, 0xffffffff), key)
    return result[0] | result[1] << 32, result[2] | result[3] << 32


cdef double _number(object value, str what, str func) except? -1:
    """A parameter of a distribution."""
    try:
        return value
    except TypeError:
        raise TypeError(f"{func}: {what} must be a number, got {quoted(value)}"
                        f"{f'; write {func}(shape=...)' if isinstance(value, (tuple, list)) else ''}") from None


def _limited(value, bits, what):
    value = index(value)
    if not 0 <= value < 1 << bits:
        raise ValueError(f"Generator: {what}: expected an integer from 0 to 2^{bits} - 1, got {str(value)[:60]}")
    return value


cdef class Generator:
    """Generator(seed=None, *, stream=None)\n--\n\nRandom tensors, whose value i depends on the seed and i alone.

    Values come from a counter-based function, Philox 4x32-10, so that neither threads, nor the instruction set of the
    processor, nor the way in which values are divided among calls changes a bit of them.

    Parameters
    ----------
    seed : int, sequence of int or None, optional
        An integer from 0 to 2^64 - 1 is the key. Any other integer, and a sequence of integers, is hashed to 64 bits of
        key and 64 bits of stream. None takes both from the operating system.
    stream : int, optional
        Number of an independent sequence of the same key, from 0 to 2^64 - 1. By default 0, or what hashing gives.

    Raises
    ------
    TypeError
        The seed is not an integer, a sequence of integers or None.
    ValueError
        `stream` is outside of its range.

    {See Also: philox}

    Notes
    -----
    A generator counts words of 32 bits. A value takes one word; values of float64, and integers among more than 2^32,
    take two, which begin at an even position; values of distributions whose parameters may be arrays take four or more,
    which begin at a multiple of four. So two calls of 5 values give the values of one call of 10.
    A sequence has 2^56 words. Threads may share a generator: each call takes its words at once, then computes.

    float16 and bfloat16 values of `normal` and `exponential` are rounded from float32.

    Examples
    --------
    >>> rng = dl.random.Generator(7)
    >>> rng.random(3)
    Tensor([0.9545971 , 0.7501522 , 0.11417735],
           shape=(3,), device=cpu, dtype=float32)
    >>> rng.integers(1, 6, 5, endpoint=True).tolist()
    [1, 3, 5, 2, 6]
    """
    cdef uint64_t _key, _stream, _position, _children

    def __init__(self, seed=None, *, stream=None):
        if seed is None:
            entropy = urandom(16)
            key, found = int.from_bytes(entropy[:8], "little"), int.from_bytes(entropy[8:], "little")
        elif hasattr(type(seed), "__index__"):
            key, found = index(seed), 0
            if not 0 <= key < 1 << 64:
                key, found = _hash([key])
        elif isinstance(seed, (str, bytes, bytearray)) or not hasattr(type(seed), "__iter__"):
            raise TypeError(f"Generator: seed: expected an integer, a sequence of integers or None, got "
                            f"{type(seed).__name__}; hash other objects first")
        else:
            key, found = _hash([integer_of(number, "an item of the seed", "Generator") for number in seed])
        self._key = key
        self._stream = found if stream is None else _limited(stream, 64, "stream")
        self._position = self._children = 0

    def __repr__(self):
        return f"Generator(key={self._key}, stream={self._stream}, position={self._position})"

    @property
    def state(self) -> _State:
        """The state, as a dictionary of integers and the algorithm's name.

        Returns
        -------
        dict
            "algorithm", "key", "stream", "position" in words of 32 bits, and "children", the number of generators
            spawned.

        Examples
        --------
        >>> rng = dl.random.Generator(7)
        >>> before = rng.state
        >>> a = rng.random(4)
        >>> rng.state["position"]
        4
        >>> rng.state = before
        >>> bool((rng.random(4) == a).all())
        True
        """
        cdef uint64_t key, stream, position, spawned
        with cython.critical_section(self):
            key, stream, position, spawned = self._key, self._stream, self._position, self._children
        return {"algorithm": _ALGORITHM, "key": key, "stream": stream, "position": position, "children": spawned}

    @state.setter
    def state(self, value: _State):
        names = {"algorithm", "key", "stream", "position", "children"}
        if not isinstance(value, dict) or set(value) != names or value["algorithm"] != _ALGORITHM:
            raise ValueError(f"Generator: state: expected a dictionary that the property state returned, with the "
                             f"algorithm {_ALGORITHM}, got {str(value)[:200]}")
        key, stream = _limited(value["key"], 64, "key"), _limited(value["stream"], 64, "stream")
        position = _limited(value["position"], position_bits, "position")
        spawned = _limited(value["children"], position_bits, "children")
        cdef uint64_t numbers[4]
        numbers[0], numbers[1], numbers[2], numbers[3] = key, stream, position, spawned
        with cython.critical_section(self):
            self._key, self._stream, self._position, self._children = numbers[0], numbers[1], numbers[2], numbers[3]

    def __reduce__(self):
        return Generator, (0,), self.state

    def __setstate__(self, state: _State):
        self.state = state

    cdef uint64_t _reserve(self, int64_t n, uint64_t words, Sequence* sequence, str func) except? 0xffffffffffffffff:
        """The position of the first of n values, which is that of a block where they take whole ones, and its sequence;
        the next call begins after them."""
        cdef uint64_t start, used
        cdef uint64_t most = <uint64_t>1 << position_bits
        cdef uint64_t unit = words if words < 4 else 4
        cdef bint fits
        with cython.critical_section(self):
            sequence.key, sequence.stream = self._key, self._stream
            used = self._position
            start = used + (-used & (unit - 1) if unit else 0)
            fits = start <= most and (words == 0 or <uint64_t>n <= (most - start) // words)
            if fits:
                self._position = start + <uint64_t>n * words
        if not fits:
            raise ValueError(f"{func}: {n} values do not fit into the 2^{position_bits} words of a sequence, of which "
                             f"{used} are used; continue with a generator of spawn()")
        return start

    cdef object _draw(self, Distribution kind, DrawOptions* how, object shape, object dtype, object out, Tensor target,
                      object device, str func):
        """A new tensor of values, or `out`, whose memory `target` is, with the values in it."""
        cdef Tensor result
        cdef EngineOperand place
        cdef LaunchContext launch
        cdef const EngineTable* engine
        cdef PyThreadState* state
        cdef Status status
        cdef int64_t extents[MAX_DIMS]
        cdef DLDevice where_to
        cdef int type, ndim
        cdef int64_t n
        cdef uint64_t start, words
        if target is not None:
            _check_output(target, shape, dtype, device, func)
            device = target.device
        result = target
        if target is None or not is_contiguous(target.impl.dl.ndim, target.impl.dl.shape, target.impl.dl.strides):
            ndim = read_shape(shape if target is None else target.shape, extents, func)
            where_to = DLDevice(kDLCPU, 0)
            if device is not None:
                where_to = read_device(device, func)
            result = new_empty(ndim, extents, read_dtype(dtype, func), where_to, func)
        type = find_type(result.impl.dl.dtype)
        n = numel(result.impl.dl.ndim, result.impl.dl.shape)
        if kind == MULTINOMIAL:  # a value is a row
            n //= <int64_t>how.count + 1
        words = words_per_value(kind, type, how.count)
        start = self._reserve(n, words, &how.sequence, func)
        engine = engine_at(result.impl.dl.device, &launch, func)
        read_owned(result, &place)
        state = release_gil(launch, n * type_table[type].bytes if kind < first_sample else 64 * n)
        status = engine.draw(kind, type, <int>words if kind < first_sample else 0, how[0], start, n, place, launch)
        finish(state, status, launch, func)
        if target is not None and result is not target:
            assign(target, result, func)
        return result if out is None else out

    cdef object _sample(self, Distribution kind, object first, object second, object shape, object size, object dtype,
                        object device):
        """Values of a row of ops/random/rows.h; `second` is None where there is one parameter."""
        cdef const SampleRow* row = &sample_rows[<int>kind - first_sample]
        cdef str func = _SAMPLES[<int>kind - first_sample]
        cdef DrawOptions how
        shape = _one_of(shape, size, func)
        dtype = DTYPES["int64"] if row.counts else _checked(kind, dtype, None, None, func)
        how.count = row.blocks
        how.a = how.b = 0
        if (_reads_number(first, row.parameters[0].domain, &how.a)
                and _reads_number(second, row.parameters[1].domain, &how.b) and _is_plain_shape(shape)):
            return self._draw(kind, &how, () if shape is None else shape, dtype, None, None, device, func)
        values = [first] if row.parameters[1].domain == Domain.no_parameter else [first, second]
        names = [row.parameters[i].name.decode() for i in range(len(values))]
        domains = [row.parameters[i].domain_name.decode() for i in range(len(values))]
        shape, device, values = _arranged(func, values, names, domains, shape, device)
        return self._draw_with(kind, &how, values, shape, dtype, device, func)

    cdef object _draw_with(self, Distribution kind, DrawOptions* how, list parameters, object shape, object dtype,
                           object device, str func):
        """Values with parameters that are numbers or tensors on their device."""
        cdef EngineOperand operands[2]
        cdef double* numbers[2]
        numbers[0], numbers[1] = &how.a, &how.b
        for k in range(len(parameters)):
            if isinstance(parameters[k], Tensor):
                read_owned(<Tensor>parameters[k], &operands[k])
            else:
                numbers[k][0] = parameters[k]
        how.parameters = operands
        return self._draw(kind, how, shape, dtype, None, None, device, func)

    def random(self, shape=(), *, size=None, dtype=None, out=None, device=None):
        """Draw real values that are uniform in [0, 1).

        Parameters
        ----------
        shape : int or sequence of int, default ()
            Shape of the tensor.
        size : int or sequence of int, optional
            NumPy's name of `shape`.
        dtype : dtype_like, optional
            One of float16, bfloat16, float32 and float64; by default `get_default_dtype`.
        out : writable tensor, optional
            What is written to and returned, of any strides. It gives shape, dtype and device.
        device : device_like, default "cpu"
            Device of the values; they have the same bits on every device.

        Returns
        -------
        Tensor
            Multiples of 2^-11, 2^-8, 2^-24 and 2^-53 in these dtypes, all equally likely.

        Raises
        ------
        TypeError
            The dtype is not one of those above.
        ValueError
            `out` is read-only, or has another shape or dtype than the arguments.

        {See Also: uniform}

        Examples
        --------
        >>> dl.random.Generator(1).random(2, dtype="float64")
        Tensor([0.89468472, 0.71126808], shape=(2,), device=cpu, dtype=float64)
        """
        shape = _one_of(shape, size, "random")
        cdef DrawOptions how
        how.count = 0
        cdef Tensor target = _target(out, "random")
        dtype = _checked(UNIT, dtype, None, target, "random")
        return self._draw(UNIT, &how, shape, dtype, out, target, device, "random")

    def uniform(self, low=0.0, high=1.0, shape=(), *, size=None, dtype=None, out=None, device=None):
        """Draw real values that are uniform in [low, high).

        Parameters
        ----------
        low : float, default 0.0
            Lower bound, which is a possible value.
        high : float, default 1.0
            Upper bound, which is not.
        dtype : dtype_like, optional
            One of float16, bfloat16, float32 and float64; by default `get_default_dtype`. Values are
            computed in float64 and rounded once.

        Returns
        -------
        Tensor
            What rounding would make `high` or more is the largest value below it.

        Raises
        ------
        ValueError
            The bounds, rounded to the dtype, are not finite or not increasing, or their difference is not finite.

        {Generator.random: Parameters, Raises}

        See Also
        --------
        random : The same in [0, 1), from one multiplication.

        Examples
        --------
        >>> dl.random.Generator(1).uniform(-1, 1, 3)
        Tensor([0.78051835, 0.7893694 , 0.1714519 ],
               shape=(3,), device=cpu, dtype=float32)
        """
        shape = _one_of(shape, size, "uniform")
        cdef DrawOptions how
        cdef Tensor target = _target(out, "uniform")
        dtype = _checked(UNIFORM, dtype, None, target, "uniform")
        first = _rounded(_number(low, "low", "uniform"), dtype)
        last = _rounded(_number(high, "high", "uniform"), dtype)
        if not (isfinite(first) and isfinite(last) and first < last and isfinite(last - first)):
            raise ValueError(f"uniform: expected finite bounds with low < high in {dtype.name}, whose "
                             f"difference is finite, "
                             f"got low={low} and high={high}")
        how.a, how.b, how.count = first, last - first, 0
        how.below = _below(last, dtype)
        return self._draw(UNIFORM, &how, shape, dtype, out, target, device, "uniform")

    def integers(self, low, high=None, shape=(), *, size=None, dtype=None, endpoint=False, out=None,
                 device=None):
        """Draw integers of which each is equally likely.

        Parameters
        ----------
        low : int
            Lowest integer; without `high`, the bound above integers that begin at 0.
        high : int, optional
            Bound above, which is not drawn.
        {Generator.random: shape, size}
        dtype : dtype_like, default int64
            An integer dtype of 8 to 64 bits.
        endpoint : bool, default False
            Whether the bound above is drawn too.
        {Generator.random: out, device}

        Returns
        -------
        Tensor
            Without bias: words that would prefer some integers are rejected (Lemire, 2019). The same integers in every
            dtype.

        Raises
        ------
        TypeError
            The dtype is not one of those above, or a bound is not an integer.
        ValueError
            There is no integer between the bounds, or `out` does not fit.
        OverflowError
            The dtype does not hold all integers between the bounds.

        Examples
        --------
        >>> dl.random.Generator(1).integers(0, 100, 4)
        Tensor([89, 89, 58, 71], shape=(4,), device=cpu, dtype=int64)
        """
        shape = _one_of(shape, size, "integers")
        cdef DrawOptions how
        cdef Tensor target = _target(out, "integers")
        dtype = _checked(INTEGERS, dtype, "int64", target, "integers")
        low = integer_of(low, "low", "integers")
        first, last = (0, low) if high is None else (low, integer_of(high, "high", "integers"))
        if not endpoint:
            last -= 1
        if first > last:
            raise ValueError(f"integers: expected low {'<=' if endpoint else '<'} high, got low={first} and "
                             f"high={last + (not endpoint)}")
        bits = dtype.bits
        least = 0 if dtype.name[0] == "u" else -1 << bits - 1
        if first < least or last >= least + (1 << bits):
            raise OverflowError(f"integers: {dtype.name} does not hold all integers from {first} to {last}; "
                                f"give another "
                                f"dtype")
        count = last - first + 1
        how.low, how.count = first & 0xffffffffffffffff, count & 0xffffffffffffffff
        how.reject = (_NARROW if count <= _NARROW else _WIDE) % count
        return self._draw(INTEGERS, &how, shape, dtype, out, target, device, "integers")

    def normal(self, mean=0.0, std=1.0, shape=(), *, size=None, loc=None, scale=None, dtype=None, out=None,
               device=None):
        """Draw values of a normal distribution.

        Parameters
        ----------
        mean : float, default 0.0
            Mean.
        std : float, default 1.0
            Standard deviation, at least 0.
        loc, scale : float, optional
            NumPy's names of `mean` and `std`.

        Returns
        -------
        Tensor
            By the method of Box and Muller; at most 6.6 deviations from the mean, in float64 8.6.

        Raises
        ------
        ValueError
            `mean` or `std` is not finite, `std` is negative, or `out` does not fit.

        {Generator.random: Parameters, Raises}

        Examples
        --------
        >>> dl.random.Generator(1).normal(10, 2, 3)
        Tensor([10.760801 ,  9.407444 ,  9.5015335],
               shape=(3,), device=cpu, dtype=float32)
        """
        shape = _one_of(shape, size, "normal")
        mean, std = mean if loc is None else loc, std if scale is None else scale
        cdef double center = _number(mean, "mean", "normal"), deviation = _number(std, "std", "normal")
        if not (isfinite(center) and isfinite(deviation) and deviation >= 0):
            raise ValueError(f"normal: expected a finite mean and a finite std of at least 0, got mean={mean} and "
                             f"std={std}")
        return self._scaled(NORMAL, center, deviation, shape, dtype, out, device, "normal")

    cdef object _scaled(self, Distribution kind, double a, double b, object shape, object dtype, object out,
                        object device, str func):
        cdef DrawOptions how
        cdef Tensor target = _target(out, func)
        dtype = _checked(kind, dtype, None, target, func)
        how.a, how.b, how.count = a, b, 0
        return self._draw(kind, &how, shape, dtype, out, target, device, func)

    def exponential(self, scale=1.0, shape=(), *, size=None, dtype=None, out=None, device=None):
        """Draw values of an exponential distribution.

        Parameters
        ----------
        scale : float, default 1.0
            Mean, at least 0.
        {Generator.random: shape, size, dtype, out, device}

        Returns
        -------
        Tensor
            By inversion; at most 21.5 times the scale, in float64 36.8.

        Raises
        ------
        {Generator.random: TypeError}
        ValueError
            `scale` is negative or not finite, or `out` does not fit.

        Examples
        --------
        >>> dl.random.Generator(1).exponential(2.0, 3)
        Tensor([0.23248535, 0.22256774, 1.0698066 ],
               shape=(3,), device=cpu, dtype=float32)
        """
        shape = _one_of(shape, size, "exponential")
        cdef double mean = _number(scale, "scale", "exponential")
        if not (isfinite(mean) and mean >= 0):
            raise ValueError(f"exponential: expected a finite scale of at least 0, got {scale}")
        return self._scaled(EXPONENTIAL, 0.0, mean, shape, dtype, out, device, "exponential")

    def standard_normal(self, shape=(), *, size=None, dtype=None, out=None, device=None):
        """Draw values of the normal distribution with mean 0 and standard deviation 1.

        Returns
        -------
        Tensor
            Those of `normal`.

        {Generator.random: Parameters, Raises}

        Examples
        --------
        >>> rng, same = dl.random.Generator(1), dl.random.Generator(1)
        >>> bool((rng.standard_normal(3) == same.normal(0, 1, 3)).all())
        True
        """
        shape = _one_of(shape, size, "standard_normal")
        return self._scaled(NORMAL, 0.0, 1.0, shape, dtype, out, device, "standard_normal")

    def standard_exponential(self, shape=(), *, size=None, dtype=None, out=None, device=None):
        """Draw values of the exponential distribution with mean 1.

        Returns
        -------
        Tensor
            Those of `exponential`.

        {Generator.standard_normal: Parameters, Raises}

        Examples
        --------
        >>> rng, same = dl.random.Generator(1), dl.random.Generator(1)
        >>> bool((rng.standard_exponential(3) == same.exponential(1, 3)).all())
        True
        """
        shape = _one_of(shape, size, "standard_exponential")
        return self._scaled(EXPONENTIAL, 0.0, 1.0, shape, dtype, out, device, "standard_exponential")

    def lognormal(self, mean=0.0, sigma=1.0, shape=None, *, size=None, dtype=None, device=None):
        """Draw values whose logarithms are of a normal distribution.

        Parameters
        ----------
        mean : float or array_like, default 0.0
            Mean of the logarithms.
        sigma : float or array_like, default 1.0
            Standard deviation of the logarithms, at least 0.
        shape : int or sequence of int, optional
            Shape of the tensor; by default that of the parameters, broadcast.
        {Generator.random: size}
        {Generator.uniform: dtype}
        device : device_like, optional
            Device of the values, by default that of the parameters; they have the same bits on every device.

        Returns
        -------
        Tensor
            A value takes four words of the sequence.

        Raises
        ------
        TypeError
            A parameter is not real, the dtype is not one of those above, or shape and size are both there.
        ValueError
            A parameter is outside of its range, or shapes do not fit.

        See Also
        --------
        normal : The logarithms.

        Examples
        --------
        >>> bool((dl.random.Generator(1).lognormal(0.0, 0.0, 2) == 1.0).all())
        True
        """
        return self._sample(LOGNORMAL, mean, sigma, shape, size, dtype, device)

    def laplace(self, loc=0.0, scale=1.0, shape=None, *, size=None, dtype=None, device=None):
        """Draw values of a Laplace distribution.

        Parameters
        ----------
        loc : float or array_like, default 0.0
            Location.
        scale : float or array_like, default 1.0
            Scale, at least 0.

        Returns
        -------
        Tensor
            An exponential value with a random sign.

        {Generator.lognormal: Parameters, Raises}

        Examples
        --------
        >>> dl.random.Generator(1).laplace(shape=2)
        Tensor([-0.1112839 , -0.13454685], shape=(2,), device=cpu, dtype=float32)
        """
        return self._sample(LAPLACE, loc, scale, shape, size, dtype, device)

    def gumbel(self, loc=0.0, scale=1.0, shape=None, *, size=None, dtype=None, device=None):
        """Draw values of a Gumbel distribution.

        Returns
        -------
        Tensor
            Minus the logarithm of an exponential value.

        {Generator.laplace: Parameters, Raises}

        Examples
        --------
        >>> dl.random.Generator(1).gumbel(shape=2)
        Tensor([2.1956708, 2.005843 ], shape=(2,), device=cpu, dtype=float32)
        """
        return self._sample(GUMBEL, loc, scale, shape, size, dtype, device)

    def logistic(self, loc=0.0, scale=1.0, shape=None, *, size=None, dtype=None, device=None):
        """Draw values of a logistic distribution.

        Returns
        -------
        Tensor
            The logarithm of u / (1 - u) of a uniform value u.

        {Generator.laplace: Parameters, Raises}

        Examples
        --------
        >>> dl.random.Generator(1).logistic(shape=2)
        Tensor([2.1395128, 1.9378153], shape=(2,), device=cpu, dtype=float32)
        """
        return self._sample(LOGISTIC, loc, scale, shape, size, dtype, device)

    def rayleigh(self, scale=1.0, shape=None, *, size=None, dtype=None, device=None):
        """Draw values of a Rayleigh distribution.

        Returns
        -------
        Tensor
            The root of twice an exponential value.

        {Generator.laplace: Parameters, Raises}

        Examples
        --------
        >>> dl.random.Generator(1).rayleigh(shape=2)
        Tensor([0.4717709, 0.5187424], shape=(2,), device=cpu, dtype=float32)
        """
        return self._sample(RAYLEIGH, scale, None, shape, size, dtype, device)

    def weibull(self, a, shape=None, *, size=None, dtype=None, device=None):
        """Draw values of a Weibull distribution with scale 1.

        Parameters
        ----------
        a : float or array_like
            Shape, above 0.

        Returns
        -------
        Tensor
            A power of an exponential value.

        {Generator.lognormal: Parameters, Raises}

        Examples
        --------
        >>> dl.random.Generator(1).weibull(2.0, 2)
        Tensor([0.3335924 , 0.36680627], shape=(2,), device=cpu, dtype=float32)
        """
        return self._sample(WEIBULL, a, None, shape, size, dtype, device)

    def pareto(self, a, shape=None, *, size=None, dtype=None, device=None):
        """Draw values of a Pareto distribution of the second kind, which begins at 0.

        {Generator.weibull: Parameters, Raises}

        Returns
        -------
        Tensor
            Add 1 for the classical Pareto distribution.

        Examples
        --------
        >>> dl.random.Generator(1).pareto(2.0, 2)
        Tensor([0.05721908, 0.06958789], shape=(2,), device=cpu, dtype=float32)
        """
        return self._sample(PARETO, a, None, shape, size, dtype, device)

    def gamma(self, shape, scale=1.0, size=None, *, dtype=None, device=None):
        """Draw values of a gamma distribution.

        Parameters
        ----------
        shape : float or array_like
            Shape of the distribution, not of the tensor; at least 0.
        size : int or sequence of int, optional
            Shape of the tensor; by default that of the parameters, broadcast.

        Returns
        -------
        Tensor
            By the method of Marsaglia and Tsang. An attempt is accepted with a probability of 0.95 or more; after 254
            the last one stands.

        {Generator.laplace: Parameters, Raises}

        See Also
        --------
        chisquare, beta : Distributions of gamma values.

        Examples
        --------
        >>> dl.random.Generator(1).gamma(2.0, size=2)
        Tensor([1.8340278, 1.6158919], shape=(2,), device=cpu, dtype=float32)
        """
        return self._sample(GAMMA, shape, scale, None, size, dtype, device)

    def beta(self, a, b, shape=None, *, size=None, dtype=None, device=None):
        """Draw values of a beta distribution.

        Parameters
        ----------
        a, b : float or array_like
            Shapes, above 0.

        Returns
        -------
        Tensor
            The part of one of two gamma values in their sum; a value takes eight words of the sequence.

        {Generator.lognormal: Parameters, Raises}

        Examples
        --------
        >>> dl.random.Generator(1).beta(2.0, 3.0, 2)
        Tensor([0.413411 , 0.8732807], shape=(2,), device=cpu, dtype=float32)
        """
        return self._sample(BETA, a, b, shape, size, dtype, device)

    def chisquare(self, df, shape=None, *, size=None, dtype=None, device=None):
        """Draw values of a chi-squared distribution.

        Parameters
        ----------
        df : float or array_like
            Degrees of freedom, above 0.

        Returns
        -------
        Tensor
            Twice a gamma value.

        {Generator.lognormal: Parameters, Raises}

        Examples
        --------
        >>> dl.random.Generator(1).chisquare(3, 2)
        Tensor([2.6151385, 2.2485416], shape=(2,), device=cpu, dtype=float32)
        """
        return self._sample(CHISQUARE, df, None, shape, size, dtype, device)

    def multivariate_normal(self, mean, cov, shape=None, *, size=None, dtype=None, device=None):
        """Draw vectors of a multivariate normal distribution.

        Parameters
        ----------
        mean : array_like
            Of shape ``(n,)``.
        cov : array_like
            Covariance, symmetric and positive semi-definite, of shape ``(n, n)``.
        shape : int or sequence of int, default ()
            Shape of the tensor before the dimension of the vectors.

        Returns
        -------
        Tensor
            Of shape ``(*shape, n)``; a vector takes 2 n words of the sequence.

        {Generator.lognormal: Parameters, Raises}

        Examples
        --------
        >>> dl.random.Generator(1).multivariate_normal([0, 0], [[1, 0], [0, 4]], 2).shape
        (2, 2)
        """
        from . import _distributions

        shape = _one_of(shape, size, "multivariate_normal")
        dtype = _checked(UNIT, dtype, None, None, "multivariate_normal")
        try:
            return _distributions.multivariate_normal(self, mean, cov, shape, dtype, device)
        except Exception as error:
            rename(error, "multivariate_normal")
            raise

    def poisson(self, lam=1.0, shape=None, *, size=None, device=None):
        """Draw numbers of events of a Poisson process.

        Parameters
        ----------
        lam : float or array_like, default 1.0
            Expected number, at least 0.
        {Generator.lognormal: shape, size, device}

        Returns
        -------
        Tensor
            int64. By inversion below 10, else by PTRS (Hormann, 1993), in 254 attempts at most.
            A value that int64 does not hold is its largest one.

        Raises
        ------
        TypeError
            A parameter is not of its kind, or shape and size are both there.
        {Generator.lognormal: ValueError}

        Examples
        --------
        >>> dl.random.Generator(1).poisson(3.0, 4).tolist()
        [5, 5, 3, 0]
        """
        return self._sample(POISSON, lam, None, shape, size, None, device)

    def binomial(self, n, p, shape=None, *, size=None, device=None):
        """Draw numbers of successes among independent trials.

        Parameters
        ----------
        n : int or array_like
            Number of trials.
        p : float or array_like
            Probability of success.

        Returns
        -------
        Tensor
            int64. By inversion where fewer than 10 are expected, else by BTRS (Hormann, 1993), in 254
            attempts at most.

        {Generator.poisson: Parameters, Raises}

        Examples
        --------
        >>> dl.random.Generator(1).binomial(10, 0.5, 4).tolist()
        [7, 7, 5, 2]
        """
        return self._sample(BINOMIAL, n, p, shape, size, None, device)

    def geometric(self, p, shape=None, *, size=None, device=None):
        """Draw the number of the first successful one of independent trials.

        Parameters
        ----------
        p : float or array_like
            Probability of success, above 0.

        Returns
        -------
        Tensor
            int64, at least 1.

        {Generator.poisson: Parameters, Raises}

        Examples
        --------
        >>> dl.random.Generator(1).geometric(0.5, 4).tolist()
        [1, 1, 1, 5]
        """
        return self._sample(GEOMETRIC, p, None, shape, size, None, device)

    def multinomial(self, n, pvals, shape=None, *, size=None, device=None):
        """Draw numbers of trials with each of several outcomes.

        Parameters
        ----------
        pvals : array_like
            Probability of each outcome, of shape ``(k,)``; the last one has what the others leave to 1.
        shape : int or sequence of int, optional
            Shape of the tensor before the dimension of the outcomes; by default that of `n`.

        Returns
        -------
        Tensor
            int64, of shape ``(*shape, k)``; a value takes ``4 (k - 1)`` words.

        {Generator.binomial: Parameters, Raises}

        Examples
        --------
        >>> dl.random.Generator(1).multinomial(10, [0.2, 0.8], 2).sum(1).tolist()
        [10, 10]
        """
        cdef DrawOptions how
        cdef list values = [n]
        shape = _one_of(shape, size, "multinomial")
        how.a = how.b = 0
        if _reads_number(n, Domain.whole, &how.a) and _is_plain_shape(shape):
            values[0], shape = how.a, () if shape is None else shape
        else:
            shape, device, values = _arranged("multinomial", values, ["n"], ["whole"], shape, device)
        shape = (shape,) if type(shape) is int else shape
        shares = _shares(pvals)
        how.count = shares.size
        values.append(shares if device is None else shares.to(device))
        return self._draw_with(MULTINOMIAL, &how, values, (*shape, shares.size + 1), DTYPES["int64"], device,
                               "multinomial")

    def permuted(self, x, axis=None, out=None):
        """Return the elements in random order, each line along an axis in an order of its own.

        Parameters
        ----------
        x : array_like
            Tensor of any dtype that is computed with.
        axis : int, optional
            Dimension along which elements change places; by default all elements do.
        out : array_like, optional
            Writable tensor of the shape of `x`, which it may be; overwritten and returned.

        Returns
        -------
        Tensor
            Of the shape and dtype of `x`. By sorting a float64 value for each element.

        Raises
        ------
        IndexError
            `axis` is out of range.
        ValueError
            `out` has another shape or is read-only.

        {See Also: permutation, shuffle}

        Examples
        --------
        >>> sorted(dl.random.Generator(1).permuted([3, 1, 2]).tolist())
        [1, 2, 3]
        """
        from . import _distributions

        try:
            return _distributions.permuted(self, x, axis, out)
        except Exception as error:
            rename(error, "permuted")
            raise

    cdef Tensor _order(self, int64_t n, int64_t count, bint from_end, object device, str func):
        """The integers below n in random order; `from_end`, the last `count` of them, the last one first."""
        cdef Tensor result = empty_for(func, count, DTYPES["int64"], device)
        cdef ShuffleOptions how
        cdef LaunchContext launch
        cdef EngineOperand out
        cdef const EngineTable* engine = engine_at(result.impl.dl.device, &launch, func)
        cdef PyThreadState* state
        cdef Status status
        how.position = self._reserve(max(0, min(count, n - 1)), 2 if n >> 32 else 1, &how.sequence, func)
        how.n, how.count, how.from_end = n, count, from_end
        read_owned(result, &out)
        state = release_gil(launch, 64 * count)
        status = engine.shuffle(how, out, launch)
        finish(state, status, launch, func)
        return result

    def permutation(self, x, /, *, device=None):
        """Return integers, or the entries of a tensor along its first axis, in random order.

        Parameters
        ----------
        x : int, array_like or nested sequence of numbers
            Number of integers that begin at 0, or a tensor with at least one dimension.
        device : device_like, optional
            Device of the result; by default that of a tensor, and the host for integers. The order is the same on every
            device.

        Returns
        -------
        Tensor
            int64 integers, or a new tensor like `x`.

        Raises
        ------
        ValueError
            `x` is negative, or has no dimension.
        DeviceError
            There is no such device.

        {See Also: shuffle}

        Examples
        --------
        >>> sorted(dl.random.Generator(1).permutation(4).tolist())
        [0, 1, 2, 3]
        """
        if hasattr(type(x), "__index__") and not hasattr(type(x), "shape"):
            n = _count(x, "permutation")
            return self._order(n, n, False, device, "permutation")
        x = _entries(asarray(x), "permutation")
        chosen = take(x, self._order(x.shape[0], x.shape[0], False, _device_of(x), "permutation"), axis=0)
        return move_for("permutation", chosen, device)

    def shuffle(self, x, /):
        """Reorder the entries of a tensor along its first axis at random, in place.

        Parameters
        ----------
        x : writable tensor
            A tensor, or an array of any library that shares its memory.

        Raises
        ------
        TypeError
            `x` has no memory to share.
        ValueError
            `x` is read-only, or has no dimension.
        DeviceError
            `x` is neither on the host nor on a CUDA device.

        {See Also: permutation}

        Examples
        --------
        >>> t = dl.arange(4)
        >>> dl.random.Generator(1).shuffle(t)
        >>> sorted(t.tolist())
        [0, 1, 2, 3]
        """
        cdef Tensor target = _writable(x, "x", "shuffle")
        _entries(target, "shuffle")
        check_computes(target, "shuffle")
        n = target.impl.dl.shape[0]
        assign(target, take(target, self._order(n, n, False, _device_of(target), "shuffle"), axis=0), "shuffle")

    def choice(self, x, /, shape=(), replace=True, p=None, *, size=None):
        """Draw from integers, or from the entries of a tensor along its first axis.

        Parameters
        ----------
        {Generator.permutation: x}
        shape : int or sequence of int, default ()
            Shape of the result before the other axes of `x`.
        replace : bool, default True
            Whether an entry may be drawn several times.
        p : array_like or nested sequence of numbers, optional
            Weight of each entry, at least 0; the probability is the weight over their sum. By default all are equal.
        {Generator.random: size}

        Returns
        -------
        Tensor
            int64 integers on the device of `p`, or a new tensor of the dtype and on the device of `x`.

        Raises
        ------
        ValueError
            There are no or too few entries to draw from, or a weight is negative or not finite.
        DeviceError
            `p` is neither on the host nor on a CUDA device, or on another device than `x`.

        Notes
        -----
        Without replacement and with weights, those with the smallest exponential values over their weights are taken,
        in
        this order (Efraimidis and Spirakis, 2006).

        Examples
        --------
        >>> rng = dl.random.Generator(1)
        >>> sorted(rng.choice(5, 5, replace=False).tolist())
        [0, 1, 2, 3, 4]
        >>> rng.choice(dl.asarray([10, 20, 30]), 3, p=[0, 1, 0]).tolist()
        [20, 20, 20]
        """
        shape = _one_of(shape, size, "choice")
        entries, replace = None, bool(replace)
        if hasattr(type(x), "__index__") and not hasattr(type(x), "shape"):
            n = _count(x, "choice")
        else:
            entries = _entries(asarray(x), "choice")
            n = entries.shape[0]
        result = empty_for("choice", shape, DTYPES["int64"])
        count = result.size
        weights = None if p is None else _weights(p, n)
        if entries is not None and weights is not None and not on_host(weights) and weights.device != entries.device:
            raise DeviceError(f"choice: x is on {entries.device} and p on {weights.device}; move one with to()")
        most = n if weights is None else int(count_nonzero(weights).item())
        if count > (most if not replace else count if most else 0):
            above = "" if p is None else " with a weight above 0"
            raise ValueError(f"choice: {count} of {most} entries{above}; expected "
                             f"{'at least one entry' if replace else 'no more than there are, or replace=True'}")
        if count == 0:
            chosen = result if weights is None else result.to(weights.device)
        elif weights is None:
            device = None if entries is None else _device_of(entries)
            chosen = (self.integers(n, shape=result.shape, device=device) if replace
                      else self._order(n, count, True, device, "choice"))
        else:
            chosen = self._weighted(weights, count, replace)
        chosen = chosen.reshape(result.shape)
        if entries is None:
            return chosen
        return take(entries, chosen.reshape((count,)), axis=0).reshape((*result.shape, *entries.shape[1:]))

    cdef object _weighted(self, Tensor weights, int64_t count, bint replace):
        """Indices by weight."""
        cdef int64_t n = weights.size
        cdef Tensor keys, sums, result = empty(count, dtype="int64")
        cdef int64_t* data = <int64_t*>result.impl.dl.data
        cdef LaunchContext host
        cdef PyThreadState* state
        cdef bint done
        if not on_host(weights):
            return self._weighted_by_search(weights, count, replace)
        if replace:
            sums = cumulative_sum(weights)
            keys = self.random(count, dtype="float64")
            state = release_gil(host, 64 * count)
            choose_weighted(<double*>sums.impl.dl.data, n, <double*>keys.impl.dl.data, count, data)
            take_gil(state)
            return result
        keys = where(weights > 0, self.exponential(shape=n, dtype="float64") / weights, INFINITY).astype("float64")
        state = release_gil(host, 16 * n)
        done = smallest(<double*>keys.impl.dl.data, n, count, data)
        take_gil(state)
        if not done:
            raise MemoryError(f"choice: no memory for {n} indices")
        return result

    cdef object _weighted_by_search(self, Tensor weights, int64_t count, bint replace):
        """The same where the weights are: choose_weighted() and smallest() of the engine by searches and sorts."""
        device = weights.device
        if not replace:
            drawn = self.exponential(shape=weights.size, dtype="float64", device=device)
            return argsort(where(weights > 0, drawn / weights, INFINITY).astype("float64"))[:count].copy()
        sums = cumulative_sum(weights)
        at = self.random(count, dtype="float64", device=device) * sums[-1]
        return where(at < sums[-1], searchsorted(sums, at, side="right"), searchsorted(sums, at, side="left"))

    def spawn(self, n, /):
        """Return new generators with sequences of their own.

        Parameters
        ----------
        n : int
            How many.

        Returns
        -------
        list of Generator
            Key and stream of each are 128 bits derived from those of this generator and the number of generators
            spawned before.

        Raises
        ------
        ValueError
            `n` is negative.

        {See Also: jump}

        Examples
        --------
        >>> a, b = dl.random.Generator(1).spawn(2)
        >>> bool((a.random(3) == b.random(3)).any())
        False
        """
        cdef uint64_t number, count = _limited(n, 32, "spawn")
        cdef uint64_t first
        with cython.critical_section(self):
            first = self._children
            self._children += count
        result = []
        for number in range(first, first + count):
            check_signals(number - first)
            result.append(self._child(number))
        return result

    cdef Generator _child(self, uint64_t number):
        words = philox((number & 0xffffffff, number >> 32 | <uint64_t>children << 24,
                        self._stream & 0xffffffff, self._stream >> 32), (self._key & 0xffffffff, self._key >> 32))
        return Generator(words[0] | words[1] << 32, stream=words[2] | words[3] << 32)

    def jump(self, n, /):
        """Move forward in the sequence without making values.

        Parameters
        ----------
        n : int
            Words of 32 bits: one for each value, two for each of float64; a negative number moves back.

        Raises
        ------
        ValueError
            The position would leave the 2^56 words of the sequence.

        {See Also: spawn}

        Examples
        --------
        >>> rng = dl.random.Generator(1)
        >>> rng.jump(2)
        >>> bool((rng.random(2) == dl.random.Generator(1).random(4)[2:]).all())
        True
        """
        step = index(n)
        with cython.critical_section(self):
            before = self._position
            position = before + step
            if 0 <= position < _END:
                self._position = position
                return
        raise ValueError(f"jump: expected a position from 0 to 2^{position_bits} - 1, got {before} + {str(n)[:60]}")


def default_rng(seed=None):
    """Return a generator, as NumPy's function of that name.

    Parameters
    ----------
    seed : int, sequence of int, Generator or None, optional
        As for `Generator`; a generator is returned itself.

    Returns
    -------
    Generator
        Whose values are others than those of NumPy's generators.

    Raises
    ------
    TypeError
        The seed is something else.

    See Also
    --------
    Generator : The class.

    Examples
    --------
    >>> bool(dl.random.default_rng(7).random() == dl.random.Generator(7).random())
    True
    """
    try:
        return seed if isinstance(seed, Generator) else Generator(seed)
    except TypeError as error:
        raise TypeError(str(error).replace("Generator", "default_rng", 1)) from None


cdef object _one_of(object shape, object size, str func):
    """The shape, by either of its names."""
    if size is None:
        return shape
    if shape is not None and not (type(shape) is tuple and len(<tuple>shape) == 0):
        raise TypeError(f"{func}: shape and size are names of one parameter; give one of them")
    return size


cdef bint _reads_number(object value, Domain domain, double* out) except -1:
    """Read a parameter that is a number of its domain; all else is left to _arranged()."""
    cdef int overflow = 0
    if domain == Domain.no_parameter:
        return True
    if PyFloat_Check(value) and domain != Domain.whole:
        out[0] = PyFloat_AS_DOUBLE(value)
    elif type(value) is int:
        out[0] = <double>PyLong_AsLongLongAndOverflow(value, &overflow)
    else:
        return False
    return not overflow and contains(domain, out[0])


cdef bint _is_plain_shape(object shape) except -1:
    """Test for None, an int or a tuple of them, none of which is negative."""
    if type(shape) is int:
        return shape >= 0
    if type(shape) is not tuple:
        return shape is None
    for extent in <tuple>shape:
        if type(extent) is not int or extent < 0:
            return False
    return True


cdef object _arranged(str func, list values, list names, list domains, object shape, object device):
    """The shape, the device, and the parameters as numbers or tensors; checked by a module that is imported late."""
    from . import _distributions

    try:
        return _distributions.arranged(func, values, names, domains, shape, device)
    except Exception as error:
        rename(error, func)
        raise


cdef Tensor _shares(object pvals):
    """The probability of each outcome but the last, in what those before it leave: float64 on the host."""
    cdef Tensor result
    cdef list numbers
    cdef double p, rest = 1, total = 0
    cdef double* shares
    cdef int64_t i, count
    if type(pvals) is list and {float}.issuperset(map(type, <list>pvals)):
        numbers = pvals
    else:
        from . import _distributions

        numbers = _distributions.probabilities(pvals)
    count = len(numbers) - 1
    result = empty(max(count, 0), dtype="float64")
    shares = <double*>result.impl.dl.data
    for i in range(count):
        p = numbers[i]
        shares[i] = 1.0 if p >= rest else p / rest
        rest -= p
        total += p
    if count < 0 or total > 1 + 1e-12 or not all([0 <= number <= 1 for number in numbers]):
        _invalid_shares(pvals)
    return result


cdef int _invalid_shares(object pvals) except -1:
    from . import _distributions

    _distributions.probabilities(pvals)  # raises where one is none
    raise ValueError(f"multinomial: pvals must be a vector of probabilities whose sum is at most 1, "
                     f"got {quoted(pvals)}")


cdef object _checked(Distribution kind, object dtype, str default, Tensor target, str func):
    """The dtype of the values: that of the argument or of `target`, which must have values of the distribution."""
    if dtype is None and target is None:
        return get_default_dtype() if default is None else DTYPES[default]
    found = DTYPES.get(dtype) if type(dtype) is str else None
    if found is None:
        dtype = target.dtype if dtype is None else as_dtype(dtype, func)
        found = DTYPES.get(dtype.name)
    if found is None or not draws(kind, find_type(read_dtype(found, func))):
        raise TypeError(f"{func}: dtype: expected {_INTEGERS if kind == INTEGERS else _REALS}, got "
                        f"{dtype if found is None else found.name}; convert the values with astype()")
    return found


cdef Tensor _writable(object x, str what, str func):
    """The memory of an argument that is written to."""
    cdef Tensor target = view_any(x, False, func)
    if target is None:
        raise TypeError(f"{func}: {what}: expected a tensor or an array that shares its memory, got {type(x).__name__}")
    check_writable(&target.impl.dl, target.impl.flags, func, what)
    return target


cdef Tensor _target(object out, str func):
    """The memory of an `out` argument, which is read once; None without one."""
    return None if out is None else _writable(out, "out", func)


cdef int _check_output(Tensor target, object shape, object dtype, object device, str func) except -1:
    shape = (index(shape),) if hasattr(type(shape), "__index__") else tuple(items_of(shape, "shape", func))
    if shape != () and shape != target.shape:
        raise ValueError(f"{func}: shape is {shape}, out has {target.shape}; leave shape out")
    if dtype != target.dtype:
        raise TypeError(f"{func}: dtype is {dtype.name}, out has {target.dtype.name}; leave dtype out")
    if device is not None and as_device(device) != target.device:
        raise ValueError(f"{func}: device is {as_device(device)}, out is on {target.device}; leave device out")
    return 0


def _rounded(value, dtype):
    return float(asarray([float(value)], dtype="float64").astype(dtype).astype("float64")[0])


def _below(value, dtype):
    """The largest value of a dtype below one of its values."""
    layouts = {"float64": (52, -1074), "float32": (23, -149), "float16": (10, -24), "bfloat16": (7, -133)}
    bits, least = layouts[dtype.name]
    part, exponent = frexp(value)
    # Values are twice as dense below a power of two; below 2^(least + bits) they are equally spaced.
    step = least if value == 0 else max(exponent - 1 - bits - (part == 0.5), least)
    return value - 2.0**step


def _count(x, func):
    n = index(x)
    if not 0 <= n < 1 << 63:
        raise ValueError(f"{func}: expected a number of integers from 0 to 2^63 - 1, got {str(n)[:60]}")
    return n


def _entries(x, func):
    if x.ndim == 0:
        raise ValueError(f"{func}: expected a tensor with at least one dimension, got shape (); give an int for "
                         f"integers")
    return x


cdef object _device_of(Tensor t):
    """Where to compute for a tensor."""
    return device_of(computing_device(t.impl.dl.device))


def _weights(p, n):
    """The weights as a float64 tensor in C order."""
    with default_dtype("float64"):  # Python floats are what they are
        weights = asarray(p)
    check_device(<Tensor>weights, "choice")
    weights = weights.astype("float64")
    if weights.shape != (n,):
        raise ValueError(f"choice: p: expected a weight for each of {n} entries, got shape {weights.shape}")
    if n and not (((weights >= 0) & (weights < INFINITY)).all().item() and (weights.sum() < INFINITY).item()):
        raise ValueError("choice: p: expected finite weights of at least 0 with a finite sum")
    return weights.reshape((n,)).copy()


(<PyTypeObject*>Generator).tp_name = "dltensor.random.Generator"
