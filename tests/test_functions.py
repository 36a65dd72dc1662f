# SPDX-License-Identifier: Apache-2.0
"""The Python functions, driven by dl.OPS: every dtype, layout and kind of operand gives the bits of the plain call."""

import decimal
import itertools
import math
import os
import subprocess
import sys
import threading
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dltensor as dl
from dltensor._core.types import COMPUTED
from dltensor._ops import elementwise
from dltensor._ops import promotion as _engine

KINDS = {"bool": "bool", "complex64": "complex", "complex128": "complex"} | {
    name: "floats" for name in ("float16", "bfloat16", "float32", "float64")
}
BINARY = [name for name, row in dl.OPS.items() if row["operands"] == 2]
NUMPY = {
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "conj": "conjugate",
    "real": "real",
    "imag": "imag",
}


def foreign(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def taken(name, dtype):
    """Whether an op's row takes a dtype, as it is or as float32."""
    kinds = dl.OPS[name]["kinds"]
    kind = KINDS.get(dtype, "integers")
    return kind in kinds or ("floats" in kinds and "integers" not in kinds and kind in ("bool", "integers"))


PAIRS = [(name, dtype) for name in dl.OPS for dtype in COMPUTED if taken(name, dtype)]


def numbers(dtype, n, seed):
    """Values of a dtype, with all that is special among them."""
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.integers(0, 2, n).astype(bool)
    if KINDS.get(dtype) is None:
        info = np.iinfo(dtype)
        made = random.integers(info.min, info.max, n, foreign(dtype), endpoint=True)
        made[:5] = info.min, info.max, 0, 1, made[5]
        return made
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5]
    made = random.normal(size=n) * 3
    made[: len(special)] = random.permutation(special)
    if KINDS[dtype] == "complex":
        imaginary = random.normal(size=n)
        imaginary[: len(special)] = random.permutation(special)
        made = made + 1j * np.where(np.isfinite(imaginary), imaginary, 1)
    with np.errstate(all="ignore"):
        return made.astype(foreign(dtype))


def bits(x):
    """Bytes of a result; every NaN is the same one."""
    array = np.asarray(x.numpy() if isinstance(x, dl.Tensor) else x)
    if array.dtype.kind in "fcV":
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes()


def operands_of(name, dtype, n=67):
    made = [numbers(dtype, n, 7 * position + len(name)) for position in range(dl.OPS[name]["operands"])]
    if dl.OPS[name]["row"] == "pow" and KINDS.get(dtype) is None:
        made[1] = (made[1] % 7).astype(made[1].dtype)
    return made


@pytest.mark.parametrize(("name", "dtype"), PAIRS)
def test_every_kind_of_operand_gives_the_same_bits(name, dtype):
    arrays = operands_of(name, dtype)
    function = getattr(elementwise, name)
    tensors = [dl.asarray(array) for array in arrays]
    want = function(*tensors)
    assert bits(function(*arrays)) == bits(want), "arrays of NumPy"
    strided = []
    for array in arrays:
        memory = np.zeros(2 * array.size, array.dtype)
        memory[::2] = array
        strided.append(dl.asarray(memory)[::2])
    assert bits(function(*strided)) == bits(want), "every second element"
    assert bits(function(*[dl.flip(dl.flip(t).copy()) for t in tensors])) == bits(want), "reversed"
    out = dl.empty(want.shape, dtype=want.dtype)
    assert function(*tensors, out=out) is out
    assert bits(out) == bits(want), "out"
    memory = np.zeros((want.size, 2), foreign(want.dtype.name))
    target = memory[:, 1]
    assert function(*arrays, out=target) is target
    assert bits(target) == bits(want), "a strided out of NumPy"
    assert not memory[:, 0].any()
    if len(tensors) == 2:
        rows = function(tensors[0].reshape((-1, 1)), tensors[1].reshape((1, -1)))
        for i in (0, 5, 66):
            assert bits(rows[i]) == bits(function(dl.broadcast_to(tensors[0][i], (67,)), tensors[1])), "broadcast"


@pytest.mark.parametrize(("name", "dtype"), [pair for pair in PAIRS if pair[0] in BINARY])
def test_a_number_counts_as_an_element_of_its_dtype(name, dtype):
    a, b = operands_of(name, dtype)
    number = b[6].item() if b.dtype != ml_dtypes.bfloat16 else float(b[6])
    if KINDS.get(dtype) == "bool" or (isinstance(number, float) and number != number):
        number = True if KINDS.get(dtype) == "bool" else 2.0
    spread = dl.full((a.size,), number, dtype=dtype)
    function = getattr(elementwise, name)
    assert bits(function(a, number)) == bits(function(a, spread))
    assert bits(function(number, a)) == bits(function(spread, a))


def test_numbers_of_numpy():
    t = dl.ones(2)
    for number, want in (
        (kind(2), "complex64" if kind is np.complex128 else "float32")
        for kind in (np.float64, np.float32, np.float16, np.int64, np.bool_, np.complex128)
    ):
        for made in (t * number, number * t, dl.multiply(t, number)):
            assert type(made) is dl.Tensor
            assert made.dtype.name == want
            assert made[0].item() == complex(number)
    assert (t < np.float64(2)).tolist() == [True, True]


EXACT = {
    "add",
    "subtract",
    "multiply",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "minimum",
    "maximum",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "logical_and",
    "logical_or",
    "logical_xor",
    "copysign",
    "floor",
    "ceil",
    "trunc",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
    "logical_not",
    "negative",
    "abs",
    "square",
    "divide",
    "sqrt",
    "floor_divide",
    "remainder",
    "nextafter",
    "sign",
    "round",
}


REAL_EXACT = [(n, d) for n, d in PAIRS if n in EXACT and d not in ("bool", "bfloat16") and "complex" not in d]


@pytest.mark.parametrize(("name", "dtype"), REAL_EXACT)
def test_exact_functions_agree_with_numpy(name, dtype):
    if name in ("divide", "sqrt", "copysign", "nextafter", "signbit") and KINDS.get(dtype) is None:
        pytest.skip("integers go through float32 here, through float64 in NumPy")
    arrays = operands_of(name, dtype)
    got = getattr(dl, name)(*arrays).numpy()
    with np.errstate(all="ignore"):
        want = getattr(np, name)(*arrays)
        if name in ("floor_divide", "remainder") and KINDS.get(dtype) is not None:
            # What the array API says of infinite divisors is in test_special_cases.
            finite = np.isfinite(arrays[0]) & np.isfinite(arrays[1]) & (arrays[1] != 0)
            got, want = got[finite], want[finite]
    np.testing.assert_array_equal(got, want.astype(got.dtype))
    if got.dtype.kind == "f" and name not in ("maximum", "minimum"):  # which zero is the greater is left open
        there = ~np.isnan(got)
        np.testing.assert_array_equal(np.signbit(got[there]), np.signbit(want.astype(got.dtype)[there]))


shapes = st.lists(st.integers(0, 5), max_size=4).map(tuple)


@st.composite
def broadcasting_pairs(draw):
    """Two shapes that broadcast, and a permutation for each."""
    full = draw(shapes)
    made = []
    for _ in range(2):
        shape = tuple(draw(st.sampled_from((size, 1))) for size in full)
        made.append(shape[draw(st.integers(0, len(shape))) :] if draw(st.booleans()) else shape)
    return made


@given(broadcasting_pairs(), st.sampled_from(["int16", "float32", "uint8", "float64", "float16"]), st.randoms())
@settings(max_examples=300)
def test_shapes_and_orders_of_every_kind_agree_with_numpy(pair, dtype, random):
    arrays = []
    for shape in pair:
        order = list(range(len(shape)))
        random.shuffle(order)
        plain = np.arange(int(np.prod(shape))).astype(dtype).reshape([shape[d] for d in order])
        array = plain.transpose(np.argsort(order)) if order else plain
        arrays.append(array[(..., *[slice(None, None, random.choice((1, -1))) for _ in shape])])
    want = np.asarray(np.subtract(*arrays))
    got = dl.subtract(*arrays)
    assert got.shape == want.shape
    np.testing.assert_array_equal(got.numpy(), want)
    out = np.zeros(want.shape[::-1], want.dtype).T
    dl.subtract(*arrays, out=out)
    np.testing.assert_array_equal(out, want)
    np.testing.assert_array_equal(dl.cast(arrays[0], "float32").numpy(), arrays[0].astype("float32"))


LEVELS = dl.cpu_features()["supported"]


def test_instruction_sets_are_chosen_by_the_environment_and_agree():
    code = """
import hashlib, sys
import numpy as np, dltensor as dl
sys.path.insert(0, sys.argv[1])
import test_functions as t
found = hashlib.sha256()
for name, dtype in t.PAIRS:
    if name in t.EXACT and "complex" not in dtype:
        found.update(repr(t.bits(getattr(dl, name)(*t.operands_of(name, dtype, 301)))).encode())
print(dl.cpu_features()["used"], found.hexdigest())
"""
    seen = {}
    for level in LEVELS:
        made = subprocess.run(
            [sys.executable, "-c", code, str(Path(__file__).parent)],
            check=True,
            capture_output=True,
            text=True,
            env=os.environ | {"DLTENSOR_CPU": level},
        )
        used, digest = made.stdout.split()
        assert used == level
        seen[level] = digest
    assert len(set(seen.values())) == 1, seen


def test_a_level_that_is_not_there_is_ignored_aloud():
    made = subprocess.run(
        [sys.executable, "-c", "import dltensor as dl; print(dl.cpu_features()['used'])"],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"DLTENSOR_CPU": "v9"},
    )
    assert made.stdout.strip() == LEVELS[-1]
    assert made.stderr.startswith("dltensor: DLTENSOR_CPU=v9 is ignored; expected a level that this processor")


@pytest.mark.parametrize("level", LEVELS)
def test_levels_can_be_changed_for_tests(level):
    before = dl.cpu_features()["used"]
    try:
        _engine._set_cpu_level(level)
        assert dl.cpu_features()["used"] == level
        assert (dl.arange(5) + 1).tolist() == [1, 2, 3, 4, 5]
    finally:
        _engine._set_cpu_level(before)
    with pytest.raises(ValueError, match="_set_cpu_level: expected one of"):
        _engine._set_cpu_level("v9")


@pytest.mark.parametrize("dtype", [name for name in COMPUTED if KINDS.get(name, "integers") == "integers"])
def test_integer_division_never_traps(dtype):
    info = np.iinfo(dtype)
    a = dl.asarray(np.array([info.min, info.max, 0, 5], dtype))
    assert dl.floor_divide(a, 0).tolist() == dl.remainder(a, 0).tolist() == [0] * 4
    if info.min < 0:
        assert (a // -1).tolist() == [info.min, -info.max, 0, -5]
        assert (a % -1).tolist() == [0] * 4
        assert abs(a).tolist()[0] == (-a).tolist()[0] == info.min
        assert dl.negative(a, saturate=True).tolist()[0] == info.max
    assert (a << info.bits).tolist() == [0] * 4
    assert (a >> (info.bits if info.bits < 128 else 127)).tolist() == [-1 if value < 0 else 0 for value in a.tolist()]
    assert (a**0).tolist() == [1] * 4


def edges(dtype):
    """Return integers of a type at which a division by multiplication could be off by one."""
    info = np.iinfo(dtype)
    powers = [sign * (1 << bit) + near for sign in (1, -1) for bit in range(info.bits) for near in (-1, 0, 1)]
    chance = np.random.default_rng(0).integers(info.min, info.max, 20, dtype, endpoint=True).tolist()
    return sorted({value for value in [*powers, *chance, 3, 7, 10] if info.min <= value <= info.max})


@pytest.mark.parametrize("dtype", [f"{sign}int{bits}" for sign in ("u", "") for bits in (8, 16, 32, 64)])
def test_integers_divided_by_one_number_have_pythons_quotients(dtype):
    info = np.iinfo(dtype)
    values = list(range(info.min, info.max + 1)) if info.bits == 8 else edges(dtype)
    x = dl.asarray(values, dtype=dtype)
    for divisor in values:
        if divisor:
            quotients = [info.min if value // divisor > info.max else value // divisor for value in values]
            assert (x // divisor).tolist() == quotients, divisor
            assert (x % divisor).tolist() == [value % divisor for value in values], divisor
            assert (x[1::2] // divisor).tolist() == quotients[1::2], divisor


@pytest.mark.parametrize("length", [1, 15, 16, 17, 33])
def test_a_division_by_one_number_does_not_depend_on_the_length(length):
    x = dl.arange(-20, 20, dtype="int8")[:length]
    for divisor in (3, -7, 0):
        divisors = dl.full(length, divisor, dtype="int8")
        assert dl.array_equal(x // divisor, x // divisors)
        assert dl.array_equal(x % divisor, x % divisors)


def test_sizes_beyond_2_to_the_31():
    n = (1 << 31) + 77
    big = dl.broadcast_to(dl.asarray(np.array([3], np.int8)), (n,))
    assert big.size == n
    made = dl.add(big, 4)
    assert made.shape == (n,)
    assert made[0].item() == made[-1].item() == made[n // 2].item() == 7
    made[-1] = 9
    assert dl.greater(made, 8, out=made.view("bool"))[-1].item()
    assert made[-1].item() == 1
    assert made[-2].item() == 0


def test_views_beyond_2_to_the_31():
    rows, columns = 65537, 32769
    flat = dl.empty(rows * columns, dtype="int8")
    matrix = flat.reshape((rows, columns))
    a, b = np.arange(rows).astype(np.int8), np.arange(columns).astype(np.int8)
    far = 1 << 31
    i, j = divmod(far, columns)
    dl.subtract(dl.asarray(a).reshape((rows, 1)), dl.asarray(b), out=matrix)
    assert flat[far].item() == matrix[i, j].item() == matrix.T[j, i].item() == a[i] - b[j]
    dl.subtract(dl.asarray(b).reshape((columns, 1)), dl.asarray(a), out=matrix.T)
    np.testing.assert_array_equal(matrix[i - 1 :].numpy(), b - a[i - 1 :, None])
    np.testing.assert_array_equal(matrix[::-1, :3].T.copy().numpy(), (b[:3] - a[:, None])[::-1].T)
    shown = dl.from_dlpack(flat.numpy())
    assert (shown.data_ptr, shown[far].item()) == (flat.data_ptr, b[j] - a[i])
    before = flat[far - 2 : far + 2].tolist()
    flat[1:] = flat[:-1]
    assert flat[far - 1 : far + 3].tolist() == before
    flat[::-2].fill(7)
    assert flat[far - 1 : far + 2].tolist() == [before[0], 7, before[2]]
    assert flat.reshape((1, -1, 1))[0, far, 0].item() == flat.item(far) == 7


def test_sixteen_threads_on_shared_tensors():
    a, b = dl.arange(200_000, dtype="int64"), dl.full((200_000,), 3, dtype="int64")
    out = [dl.empty_like(a) for _ in range(16)]
    wrong = []

    def work(k):
        for round_ in range(20):
            dl.add(a, b, out=out[k])
            small = dl.multiply(a[:50], round_)
            if out[k][199_999].item() != 200_002 or small[49].item() != 49 * round_:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert all(np.array_equal(t.numpy(), np.arange(200_000) + 3) for t in out)


def test_a_fork_in_the_middle_computes_on():
    code = """
import os, sys, threading
import dltensor as dl
a = dl.ones(3_000_000)
stop = False
def busy():
    while not stop:
        dl.add(a, a)
thread = threading.Thread(target=busy)
thread.start()
for _ in range(5):
    child = os.fork()
    if child == 0:
        ok = (a + a)[-1].item() == 2.0 and (a[:4].reshape((2, 2)) @ a[:4].reshape((2, 2)))[0, 0].item() == 2.0
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
stop = True
thread.join()
print((a + a)[-1].item())
"""
    made = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert made.stdout.strip() == "2.0"


def test_loops_stay_inside_their_memory():
    """Pages that must not be touched lie right behind and right before the data of every operand and the result."""
    import ctypes
    import mmap

    libc = ctypes.CDLL(None, use_errno=True)
    page, size = mmap.PAGESIZE, 4 * mmap.PAGESIZE
    libc.mmap.restype = ctypes.c_void_p
    places = []
    for _ in range(4):
        base = libc.mmap(None, ctypes.c_size_t(size + 2 * page), 3, 0x22, -1, ctypes.c_long(0))
        assert libc.mprotect(ctypes.c_void_p(base), ctypes.c_size_t(page), 0) == 0
        assert libc.mprotect(ctypes.c_void_p(base + page + size), ctypes.c_size_t(page), 0) == 0
        places.append(base + page)

    def at(k, n, dtype, end):
        width = dl.as_dtype(dtype).itemsize
        return dl.wrap(places[k] + (size - n * width if end else 0), (n,), dtype)

    tried = 0
    for name, dtype in PAIRS:
        count = dl.OPS[name]["operands"]
        result = getattr(elementwise, name)(*[dl.ones(1, dtype=dtype)] * count).dtype
        for n, end in itertools.product((0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 63, 64, 67), (True, False)):
            tensors = [at(k, n, dtype, end) for k in range(count)]
            for t in tensors:
                t.fill(1)
            getattr(elementwise, name)(*tensors, out=at(3, n, result, end))
            if n > 2:
                getattr(elementwise, name)(*[t[::2] for t in tensors], out=at(3, n, result, end)[::2])
            tried += 1
    assert tried > 10_000


def test_operands_and_outputs_that_cannot_be():
    locked = np.zeros(2)
    locked.flags.writeable = False
    x = np.ones(2)
    cases = [
        (lambda: dl.add(x, "1"), TypeError, "add: expected a tensor, .* nested sequences of numbers, got str"),
        (lambda: dl.add(x, [1, "2"]), TypeError, "add: expected numbers, nested sequences of numbers, .*, got str"),
        (lambda: dl.add(x), TypeError, "add: expected 2 operands and perhaps out, got 1 positional"),
        (lambda: dl.add(x, x, where=x), TypeError, "add: there is no parameter 'where'; there are out"),
        (lambda: dl.exp(x, saturate=True), TypeError, "exp: there is no parameter 'saturate'; there are out, launch"),
        (lambda: dl.add(x, x, x, out=x), TypeError, "add: out was given twice"),
        (lambda: dl.add(x, np.ones(3)), ValueError, r"add: shapes \(2,\) and \(3,\) do not broadcast"),
        (lambda: dl.add(x, x, out=locked), ValueError, "add: out is read-only; write to a copy"),
        (lambda: dl.add(x, x, out=np.zeros(3)), ValueError, r"add: the result has shape \(2,\), out has shape \(3,\)"),
        (lambda: dl.add(x, x, out=np.zeros(2, np.int32)), TypeError, "add: the result is float64, out is int32"),
        (lambda: dl.add(x, x, out=dl.broadcast_to(dl.zeros(1, dtype="float64"), (2,))), ValueError, "add: "),
        (lambda: dl.add(x, x, out=5), TypeError, "add: out must be a tensor or a writable object"),
        (lambda: dl.less(1j, dl.ones(2, dtype="complex64")), TypeError, "less: not defined for complex64"),
        (lambda: dl.bitwise_and(x, x), TypeError, "bitwise_and: not defined for float64; it takes bool, integers"),
        (lambda: dl.negative(dl.ones(2, dtype="bool")), TypeError, "negative: not defined for bool"),
        (lambda: dl.add(dl.zeros(2, dtype="float8_e5m2"), 1), TypeError, "add: float8_e5m2 has no arithmetic"),
        (lambda: dl.add(np.zeros(2, np.int64), np.zeros(2, np.uint64)), TypeError, "int64 and uint64 have no dtype"),
        (lambda: dl.add(np.zeros(2, np.int8), 200), OverflowError, "add: 200 is outside int8, which holds -128 to 127"),
    ]
    for call, error, words in cases:
        with pytest.raises(error, match=words):
            call()
    assert x.tolist() == [1, 1]


def test_overlap_is_as_if_through_a_temporary():
    for n in (8, 700, 300_000):
        x = dl.arange(n, dtype="int64")
        want = x.numpy().copy()
        want[1:] = want[1:] + want[:-1]
        dl.add(x[1:], x[:-1], out=x[1:])
        np.testing.assert_array_equal(x.numpy(), want)
        y = dl.arange(n, dtype="float32")
        dl.subtract(y, dl.flip(y), out=y)
        np.testing.assert_array_equal(y.numpy(), np.arange(n, dtype="float32") - np.arange(n, dtype="float32")[::-1])


def roots_modulo(residue, bits):
    """The odd numbers below 2**bits whose squares leave `residue`, which is 1 modulo 8."""
    root = 1
    for k in range(3, bits):
        if (root * root - residue) >> k & 1:
            root += 1 << (k - 1)
    half = 1 << (bits - 1)
    found = {root % (2 * half), -root % (2 * half), (root + half) % (2 * half), (half - root) % (2 * half)}
    assert all((r * r - residue) % (2 * half) == 0 for r in found)
    return found


def test_sqrt_of_doubles_next_to_the_middle_of_two_is_rounded_right():
    # M, odd and of 54 bits, lies in the middle of two doubles. Where its square is within some units of a double of 53
    # bits, the root of that double is as hard to round as any.
    hard = []
    for residue in range(1 - 8 * 200, 8 * 200, 8):
        for k in (54, 55):
            for middle in roots_modulo(residue, k):
                if middle.bit_length() == 54 and (middle * middle - residue).bit_length() == 53 + k:
                    hard += [((middle * middle - residue) >> k) * 2.0 ** (k % 2)]
    hard = np.array(hard)
    assert len(hard) > 400
    for scale in (1.0, 4.0**200, 4.0**-300, 4.0**-500):
        np.testing.assert_array_equal(dl.sqrt(hard * scale), np.sqrt(hard * scale))


def test_sqrt_of_every_mantissa_is_rounded_right():
    two_binades = (np.arange(1 << 24, dtype=np.uint32) + (126 << 23)).view(np.float32)
    for exponent in (0, -100, 118):
        x = np.ldexp(two_binades, exponent)
        np.testing.assert_array_equal(np.asarray(dl.sqrt(x)).view(np.uint32), np.sqrt(x).view(np.uint32))


def test_sqrt_of_any_pattern_is_that_of_the_processor():
    random = np.random.default_rng(5)
    for bits, kind in ((np.uint32, np.float32), (np.uint64, np.float64)):
        x = random.integers(0, np.iinfo(bits).max, 100_000, dtype=bits, endpoint=True).view(kind)
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(dl.sqrt(x), np.sqrt(x))


def exact_tanh(x):
    power = (2 * x).exp()
    return (power - 1) / (power + 1)


OF_DECIMALS = {
    "exp": (decimal.Decimal.exp, [(-745, 709), (-1, 1), (-(2.0**-30), 2.0**-30)]),
    "log": (decimal.Decimal.ln, [(5e-324, 1e-300), (0.5, 2.0), (0.999, 1.001), (1, 1e300)]),
    "tanh": (exact_tanh, [(-22, 22), (-1, 1), (-0.05, 0.05), (-1e-9, 1e-9)]),
}


@pytest.mark.parametrize("name", OF_DECIMALS)
def test_doubles_are_within_four_units_of_what_is_exact(name):
    exact, ranges = OF_DECIMALS[name]
    random = np.random.default_rng(7)
    x = np.concatenate([random.uniform(*bounds, 700) for bounds in ranges])
    with decimal.localcontext() as context:
        context.prec = 60
        for at, got in zip(x.tolist(), getattr(dl, name)(x).tolist(), strict=True):
            want = exact(decimal.Decimal(at))
            error = abs(decimal.Decimal(got) - want) / decimal.Decimal(math.ulp(want))
            assert error <= 4, f"{name}({at!r}) is {got!r}, {float(error):.2f} units away"


@pytest.mark.parametrize("name", OF_DECIMALS)
def test_floats_are_within_four_units_of_doubles(name):
    x = np.arange(0, 1 << 32, 9973, dtype=np.uint64).astype(np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        want = getattr(np, name)(x.astype(np.float64))
        finite = np.isfinite(want) & (np.abs(want) < np.finfo(np.float32).max)
        unit = np.spacing(np.abs(want[finite]).astype(np.float32)).astype(np.float64)
    got = np.asarray(getattr(dl, name)(x)).astype(np.float64)
    assert (np.abs(got[finite] - want[finite]) <= 4 * unit).all()
    assert (np.isnan(got) == np.isnan(want)).all()


SPECIAL = [0.0, -0.0, 1.0, -1.0, 3.5, -2.25, 1e-30, 7e30, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize(
    ("dtype", "exponent"),
    [
        *itertools.product(("float16", "float32", "float64"), (1, 2, -1, 0.5)),
        *itertools.product(("complex64", "complex128", "int8", "uint16", "int64"), (1, 2)),
    ],
)
def test_powers_to_common_exponents_are_rounded_once(dtype, exponent):
    kind = np.dtype(dtype).kind
    rng = np.random.default_rng(5)
    values = (
        rng.integers(0, 100, 5000) if kind in "iu" else rng.standard_normal(5000) * 10.0 ** rng.integers(-4, 4, 5000)
    )
    x = dl.asarray((values + 1j * values[::-1] if kind == "c" else values).astype(dtype))
    if kind == "f":
        x = dl.concat([x, dl.asarray(SPECIAL, dtype="float64").astype(dtype)])
    with np.errstate(all="ignore"):
        want = {1: lambda: x.copy(), 2: lambda: dl.multiply(x, x), -1: lambda: dl.divide(1, x),
                0.5: lambda: dl.where(dl.equal(x, -math.inf), math.inf, dl.sqrt(dl.add(x, 0)))}[exponent]()  # fmt: skip
    got = x**exponent
    assert (got.dtype, got.tobytes()) == (want.dtype, want.tobytes())
    by_tensor = dl.pow(x, dl.full(x.shape, exponent, dtype=dtype))
    assert by_tensor.tobytes() == want.tobytes()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("exponent", [0.5, 2])
def test_powers_of_every_half_to_one_number_are_those_to_an_array(dtype, exponent):
    x = dl.asarray(np.arange(1 << 16, dtype=np.uint16)).view(dtype)
    want = dl.pow(x, dl.full(x.shape, exponent, dtype=dtype))
    for view in (slice(None), slice(1, 5000), slice(None, None, -3)):
        got, wanted = x[view] ** exponent, want[view]
        numbers = dl.equal(wanted, wanted)
        assert dl.all(dl.equal(dl.isnan(got), dl.isnan(wanted)))
        assert got[numbers].tobytes() == wanted[numbers].tobytes()


def test_clip_takes_any_limits_as_the_two_functions_do():
    rng = np.random.default_rng(6)
    values = np.asarray([*SPECIAL, *rng.standard_normal(20)])
    for dtype in ("float16", "float32", "float64"):
        with np.errstate(over="ignore"):
            every = np.stack(np.meshgrid(values, values, values, indexing="ij")).reshape(3, -1).astype(dtype)
        x, low, high = (dl.asarray(row.copy()) for row in every)
        assert dl.clip(x, low, high).tobytes() == dl.minimum(dl.maximum(x, low), high).tobytes()
        for bottom, top in ((-0.0, 0.0), (1.0, -1.0), (math.nan, 1.0), (0.0, math.nan), (-math.inf, math.inf)):
            assert dl.clip(x, bottom, top).tobytes() == dl.minimum(dl.maximum(x, bottom), top).tobytes()


def test_abs_of_complex64_is_the_nearest_float_but_for_ties_in_double():
    rng = np.random.default_rng(7)
    parts = [rng.standard_normal(20_000) * 2.0 ** rng.integers(-130, 120, 20_000) for _ in range(2)]
    x = (parts[0] + 1j * parts[1]).astype("complex64")
    wide = x.astype("clongdouble")
    want = np.sqrt(wide.real**2 + wide.imag**2)
    got = dl.abs(x).numpy()
    assert np.all(np.abs(got - want) <= np.spacing(got) * 0.5000001)
    special = np.asarray([complex(a, b) for a in SPECIAL for b in SPECIAL], dtype="complex64")
    assert np.array_equal(dl.abs(special).numpy(), np.hypot(special.real, special.imag), equal_nan=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_element_beside_many_keeps_the_sign_of_zero(dtype):
    x, zero = dl.zeros(9, dtype=dtype), dl.asarray([-0.0], dtype=dtype)
    assert dl.atan2(x, zero).tolist() == [dl.atan2(x[:1], zero).item()] * 9
    assert dl.atan2(x, -0.0).tolist() == dl.atan2(x, dl.full(9, -0.0, dtype=dtype)).tolist()
    assert dl.signbit(dl.atan2(zero, dl.ones(9, dtype=dtype))).tolist() == [True] * 9
