# SPDX-License-Identifier: Apache-2.0
"""Element-wise kernels on the host driver, against NumPy."""

import ctypes

import numpy as np
import pytest
from test_special_cases import CIRCULAR, SPECIAL, conjugated, is_special, special_values

RNG = np.random.default_rng(7)


def numbers(shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return RNG.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    if dtype.kind == "b":
        return RNG.integers(0, 2, shape).astype(bool)
    return RNG.standard_normal(shape).astype(dtype)


def expected(name, *arrays):
    with np.errstate(all="ignore"):
        return getattr(np, name)(*arrays)


@pytest.mark.parametrize("count", [1, 7, 4099])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64", "float32", "float64"])
def test_runs_of_every_width_equal_numpy(cuda, dtype, count):
    a, b = numbers(count, dtype), numbers(count, dtype)
    got = cuda.run("add", [cuda.upload(a), cuda.upload(b)], dtype).get()
    np.testing.assert_array_equal(got, expected("add", a, b))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_computed_in_float_and_rounded_once(cuda, dtype):
    a, b = numbers(1001, dtype), numbers(1001, dtype)
    got = cuda.run("multiply", [cuda.upload(a), cuda.upload(b)], dtype).get()
    np.testing.assert_array_equal(got.view("u2"), (a.astype("f4") * b.astype("f4")).astype(dtype).view("u2"))


def test_mask_results_are_bool(cuda):
    a, b = numbers(513, "int32") % 5, numbers(513, "int32") % 5
    got = cuda.run("less", [cuda.upload(a), cuda.upload(b)], "int32", out_dtype="bool").get()
    np.testing.assert_array_equal(got, a < b)


def test_a_scalar_travels_with_the_launch(cuda, machine):
    a = numbers((5, 13), "float32")
    x = cuda.upload(a)
    before = machine.statistics()
    got = cuda.run("subtract", [2.5, x], "float32")
    assert machine.statistics().copies == before.copies
    np.testing.assert_array_equal(got.get(), np.float32(2.5) - a)


def test_mixed_dtypes_are_converted_on_the_way(cuda):
    a, b = numbers(300, "uint8"), numbers(300, "float32")
    got = cuda.run("add", [cuda.upload(a), cuda.upload(b)], "float32").get()
    np.testing.assert_array_equal(got, a.astype("f4") + b)


BROADCASTS = [
    ((1, 5), (4, 5)),
    ((4, 1), (4, 5)),
    ((4, 1), (1, 5)),
    ((2, 1, 4), (2, 3, 4)),
    ((2, 3, 1), (2, 3, 4)),
    ((1, 3, 4), (2, 3, 4)),
    ((4,), (3, 4)),
    ((), (4, 5)),
    ((64, 1), (64, 32)),
    ((0,), (1,)),
    ((0, 3), (1, 3)),
]


@pytest.mark.parametrize("shapes", BROADCASTS, ids=str)
def test_broadcasting_is_numpys_in_either_order(cuda, shapes):
    a, b = (numbers(shape, "int32") for shape in shapes)
    for x, y in ((a, b), (b, a)):
        got = cuda.run("subtract", [cuda.upload(x), cuda.upload(y)], "int32").get()
        np.testing.assert_array_equal(got, x - y)


VIEWS = {
    "reversed": lambda a: a[::-1, ::-1, ::-1],
    "inner reversed": lambda a: a[..., ::-1],
    "every other": lambda a: a[:, ::2, ::2],
    "cropped": lambda a: a[1:5, 2:6, 3:7],
    "permuted": lambda a: a.transpose(2, 0, 1),
    "transposed": lambda a: a.T,
    "row": lambda a: a[2],
    "column": lambda a: a[:, :, 3],
}


@pytest.mark.parametrize("view", VIEWS)
def test_views_equal_numpy(cuda, view):
    a = VIEWS[view](numbers((8, 9, 10), "float32"))
    b = numbers(a.shape, "float32")
    got = cuda.run("add", [cuda.upload(a), cuda.upload(b)], "float32").get()
    np.testing.assert_array_equal(got, a + b)


@pytest.mark.parametrize("view", VIEWS)
def test_views_can_be_written(cuda, view):
    base = numbers((8, 9, 10), "int16")
    a = numbers(VIEWS[view](base).shape, "int16")
    out = cuda.upload(base)
    whole = VIEWS[view](base)
    target = out.view(
        whole.shape,
        [s // 2 for s in whole.strides],
        whole.__array_interface__["data"][0] - base.__array_interface__["data"][0],
    )
    cuda.run("negative", [cuda.upload(a)], "int16", out=target)
    VIEWS[view](base)[...] = -a
    np.testing.assert_array_equal(out.get(), base)


def test_many_dimensions(cuda):
    shape = (2, 1, 2, 1, 3, 1, 2, 2, 1, 2)
    a = numbers([2 * n for n in shape], "float32")[tuple(slice(None, None, 2) for _ in shape)]
    got = cuda.run("negative", [cuda.upload(a)], "float32").get()
    np.testing.assert_array_equal(got, -a)


def test_a_kernel_for_more_than_two_to_the_31_elements_is_not_taken_for_few(eager, machine):
    x = eager.empty((64,), "uint8")
    many, few = x.view((2**31,), (2,)), x.view((32,), (2,))
    machine.configure(launches=False)  # there is no memory for that many
    try:
        eager.run("bitwise_xor", [many, 1], "uint8", out=many)
    finally:
        machine.configure(launches=True)
    eager.run("bitwise_xor", [few, 1], "uint8", out=few)
    assert "uint32_t" in machine.last_kernel()


def test_overlap_is_as_if_through_a_temporary(cuda):
    a = np.arange(4001, dtype="int32")
    x = cuda.upload(a)
    cuda.run("add", [x.view((4000,), (1,)), 1], "int32", out=x.view((4000,), (1,), 4))
    want = a.copy()
    want[1:] = a[:-1] + 1
    np.testing.assert_array_equal(x.get(), want)


def test_misaligned_operands_are_read_byte_by_byte(cuda):
    a, b = numbers(33, "float32"), numbers(33, "float32")
    raw = cuda.upload(np.frombuffer(b"\0" + a.tobytes() + b"\0\0\0", "u1"))
    x = raw.view((33,), (1,), 1, "float32")
    out = cuda.upload(np.zeros(33 * 4 + 4, "u1"))
    y = out.view((33,), (1,), 3, "float32")
    cuda.run("add", [x, cuda.upload(b)], "float32", out=y)
    np.testing.assert_array_equal(np.frombuffer(out.get().tobytes()[3:-1], "f4"), a + b)


@pytest.mark.parametrize("dtype", ["uint8", "int16"])
@pytest.mark.parametrize("length", [1, 2, 3, 5, 8, 61, 64, 126, 127])
def test_misaligned_rows_that_fill_their_memory(eager, dtype, length):
    # 512 bytes are a whole block of memory: the sanitized run reports a word that is read past its ends.
    a = numbers((512 // np.dtype(dtype).itemsize,), dtype)
    last = len(a) - 2 * length
    x = eager.upload(a)
    for first in (0, 1, last - 1, last):
        for place in (1, 2, 3):
            out = eager.upload(np.zeros(2 * length + 8, dtype))
            eager.run(
                "bitwise_invert",
                [x.view((2, length), (length, 1), first * a.itemsize)],
                dtype,
                out=out.view((2, length), (length + 1, 1), place * a.itemsize),
            )
            want = np.zeros(2 * length + 8, dtype)
            rows = ~a[first : first + 2 * length].reshape(2, length)
            for row in range(2):
                want[place + row * (length + 1) :][:length] = rows[row]
            np.testing.assert_array_equal(out.get(), want)


def test_many_elements_take_all_threads_of_the_device_at_once(eager, machine):
    x = eager.empty((2**22,), "float32")
    eager.run("add", [x, 1.0], "float32", out=x)
    # The host driver says 132 multiprocessors of 2048 threads.
    assert (machine.statistics().grid[0], machine.statistics().block[0]) == (132 * 2048 // 256, 256)


@pytest.mark.parametrize("threads", [1, 32, 96, 512, 1024])
@pytest.mark.parametrize("blocks", [1, 8, 32])
def test_every_launch_gives_the_same_result(eager, loaded, blocks, threads):
    from cuda_engine_under_test import Launch

    a, b = numbers((37, 53), "float32"), numbers((53,), "float32")
    x, y = eager.upload(a), eager.upload(b)
    launch = Launch(blocks, threads, 0)
    np.testing.assert_array_equal(eager.run("add", [x, y], "float32", launch=launch).get(), a + b)
    np.testing.assert_array_equal(eager.run("add", [x, x], "float32", launch=launch).get(), a + a)
    t = eager.empty((53, 37), "float32")
    eager.copy(x.view((53, 37), (1, 53)), t, launch=launch)
    np.testing.assert_array_equal(t.get(), a.T)


def test_too_many_threads_are_refused(eager):
    from cuda_engine_under_test import Fault, Launch

    x = eager.upload(np.ones(3, "f4"))
    with pytest.raises(Fault, match="num_threads must be 0 to 1024, got 1025"):
        eager.run("negative", [x], "float32", launch=Launch(8, 1025, 0))


def test_saturating_integers_clamp(cuda):
    a = np.array([0, 1, 5, 250, 255], "u1")
    x = cuda.upload(a)
    assert cuda.run("add", [x, 10], "uint8", variant=1).get().tolist() == [10, 11, 15, 255, 255]
    assert cuda.run("add", [x, -10.0], "uint8", variant=2, scalar_dtype="float64").get().tolist() == [0, 0, 0, 240, 245]
    assert cuda.run("multiply", [x, 1.5], "uint8", variant=2, scalar_dtype="float64").get().tolist() == [
        0,
        2,
        8,
        255,
        255,
    ]
    y = cuda.upload(np.array([1, 3, 5, 7, 9, 255, 91], "u1"))
    assert cuda.run("divide", [y, 2.0], "uint8", variant=2, scalar_dtype="float64").get().tolist() == [
        0,
        2,
        2,
        4,
        4,
        128,
        46,
    ]
    assert cuda.run("divide", [cuda.upload(np.array([91], "u1")), 14], "uint8", variant=1).get().tolist() == [6]


def test_saturating_fma_takes_signed_factors_and_an_unsigned_addend(cuda):
    a, c = cuda.upload(np.array([-128, -3, 0, 5, 127], "i1")), cuda.upload(np.full(5, 10, "u1"))
    got = cuda.run("fma", [a, np.int8(2), c], "int8", variant=3, out_dtype="uint8")
    assert got.get().tolist() == [0, 4, 10, 20, 255]
    b, zero = cuda.upload(np.array([1, 3, 5, -1], "i1")), cuda.upload(np.zeros(4, "u1"))
    got = cuda.run("fma", [b, np.float64(0.5), zero], "int8", variant=2, out_dtype="uint8")
    assert got.get().tolist() == [0, 2, 2, 0]


def test_fma_rounds_once(cuda):
    a = np.float32(1 + 2**-12)
    x, c = cuda.upload(np.array([a])), cuda.upload(np.array([-(1 + 2**-11)], "f4"))
    assert cuda.run("fma", [a, x, c], "float32").get()[0] == np.float32(2**-24)


def test_unknown_combinations_are_refused_by_name(eager):
    from cuda_engine_under_test import Fault

    x = eager.upload(np.ones(3, "i4"))
    with pytest.raises(Fault, match="type: sin: not defined for int32"):
        eager.run("sin", [x], "int32")
    out = eager.upload(np.zeros(1, "i4")).view((3,), (0,))
    with pytest.raises(Fault, match="value: negative: the output repeats elements"):
        eager.run("negative", [x], "int32", out=out)
    with pytest.raises(Fault, match="value: negative: operand 1 of 1 dimensions does not broadcast"):
        eager.run("negative", [x], "int32", out=eager.empty((4,), "int32"))


def test_every_row_of_the_table_runs(eager):
    """One dtype of each kind that a row takes: float32 against NumPy where NumPy has the function of that name."""
    names = [eager.c.shim_op_name(i).decode() for i in range(eager.c.shim_op_count())]
    assert len(names) > 60
    compared = 0
    for number, name in enumerate(names):
        kinds, operands = eager.c.shim_op_kinds(number), eager.c.shim_op_operands(number)
        dtype = "float32" if kinds & 4 else "int32"
        arrays = [np.abs(numbers(65, "float32")) * 0.9 + 0.05 for _ in range(operands)]
        if dtype == "int32":
            arrays = [(a * 20).astype("i4") for a in arrays]
        mask = eager.c.shim_op_result(number) == b"mask"
        got = eager.run(name, [eager.upload(a) for a in arrays], dtype, out_dtype="bool" if mask else dtype).get()
        alias = {
            "acos": "arccos",
            "acosh": "arccosh",
            "asin": "arcsin",
            "asinh": "arcsinh",
            "atan": "arctan",
            "atan2": "arctan2",
            "atanh": "arctanh",
            "bitwise_left_shift": "left_shift",
            "bitwise_right_shift": "right_shift",
            "bitwise_invert": "invert",
            "pow": "power",
        }.get(name, name)
        if hasattr(np, alias):
            with np.errstate(all="ignore"):
                want = getattr(np, alias)(*arrays)
            np.testing.assert_allclose(got, want.astype(got.dtype), rtol=1e-5, atol=1e-6, err_msg=name)
            compared += 1
    assert compared > 50


POINTS = [complex(x, y) for x in (-2.5, -1.0, -0.0, 0.0, 0.3, 1.0, 40.0) for y in (-3.0, -0.0, 0.0, 0.7, 1.0)]


# The complex functions, and NumPy's names of them.
COMPLEX = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atanh": "arctanh",
    "cos": "cos",
    "cosh": "cosh",
    "exp": "exp",
    "expm1": "expm1",
    "log": "log",
    "log1p": "log1p",
    "log2": "log2",
    "log10": "log10",
    "sin": "sin",
    "sinh": "sinh",
    "sqrt": "sqrt",
    "tan": "tan",
    "tanh": "tanh",
}


@pytest.mark.parametrize("name", COMPLEX)
def test_the_devices_complex_functions_agree_with_c99(loaded, name):
    """Values and, on the branch cuts, the side that the sign of zero chooses."""
    compared = 0
    for z in POINTS:
        with np.errstate(all="ignore"):
            want = complex(getattr(np, COMPLEX[name])(np.complex128(z)))
        if not np.isfinite(want):
            continue
        out = (ctypes.c_double * 2)()
        loaded.c.shim_complex(name.encode(), ctypes.c_double(z.real), ctypes.c_double(z.imag), out)
        scale = max(abs(want), 1e-3)
        assert abs(complex(*out) - want) < 1e-13 * scale + 1e-15, (name, z, complex(*out), want)
        compared += 1
    assert compared > 25


@pytest.mark.parametrize("name", COMPLEX)
def test_the_devices_complex_functions_are_accurate_in_float(loaded, name):
    """100,000 normal numbers against double precision: no cancellation beyond a few units in the last place."""
    z = np.random.default_rng(7).standard_normal(200_000).astype("f4").view("c8")
    got = np.empty_like(z)
    loaded.c.shim_complex_floats(name.encode(), ctypes.c_int64(z.size), ctypes.c_void_p(z.ctypes.data),
                                 ctypes.c_void_p(got.ctypes.data))  # fmt: skip
    want = getattr(np, COMPLEX[name])(z.astype("c16"))
    assert np.max(abs(got - want) / abs(want)) < 4e-6


@pytest.mark.parametrize("name", ["log", "log1p", "log2", "log10"])
def test_the_devices_complex_logarithms_of_numbers_whose_squares_overflow(loaded, name):
    for z in (1e200j, -1e200j, 0.3 + 1e200j, 1e200 - 1e180j, -1e200 + 1e200j):
        out = (ctypes.c_double * 2)()
        loaded.c.shim_complex(name.encode(), ctypes.c_double(z.real), ctypes.c_double(z.imag), out)
        want = complex(getattr(np, COMPLEX[name])(np.complex128(z)))
        assert abs(complex(*out) - want) < 1e-13 * abs(want), (z, complex(*out), want)


@pytest.mark.parametrize("name", sorted(set(SPECIAL) - {"sign"}))
def test_the_devices_complex_functions_have_the_special_values_of_the_standard(loaded, name):
    out = (ctypes.c_double * 2)()

    def device(z):
        loaded.c.shim_complex(name.encode(), ctypes.c_double(z.real), ctypes.c_double(z.imag), out)
        return complex(*out)

    cases = [(z, want) for function, z, want in special_values() if function == name]
    assert len(cases) > 5
    for z, want in cases:
        for got in (device(z), conjugated(device(conjugated(z)))):
            assert is_special(got, want, z), (z, got, want)


@pytest.mark.parametrize("name", CIRCULAR)
def test_the_devices_circular_functions_have_the_special_values_of_the_hyperbolic_ones(loaded, name):
    out = (ctypes.c_double * 2)()

    def device(name, z):
        loaded.c.shim_complex(name.encode(), ctypes.c_double(z.real), ctypes.c_double(z.imag), out)
        return complex(*out)

    edges = [0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan]
    for z in [complex(x, y) for x in edges for y in edges]:
        turned = device(CIRCULAR[name], complex(-z.imag, z.real))
        want = turned if name == "cos" else complex(turned.imag, -turned.real)
        got = device(name, z)
        for a, b in ((got.real, want.real), (got.imag, want.imag)):
            np.testing.assert_allclose(abs(a), abs(b), rtol=1e-12, atol=1e-15, err_msg=f"{name}({z})")
