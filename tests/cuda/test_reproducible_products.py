# SPDX-License-Identifier: Apache-2.0
"""Products of floats on CUDA tensors inside `dl.reproducible`: the CPU's bits, on both sides of each border.

DLTENSOR_TEST_GPU=1 runs them on a card."""

import os
import subprocess
import sys
import threading
from itertools import pairwise

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
cuda = pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs
import test_hostcuda_threads  # noqa: E402
import test_tensor_cuda  # noqa: E402
from engine import scratch  # noqa: E402
from test_tensor_cuda import same  # noqa: E402

machine_order, machine_watching = test_tensor_cuda.machine_order, test_hostcuda_threads.machine_watching
pytestmark = [
    *([pytest.mark.gpu] if setup.ON_CARD else []),
    pytest.mark.skipif(dl.cpu_features()["used"] == "v2", reason="level v2 has other bits"),
]

DTYPES = ("float32", "float64", "complex64", "complex128", "float16", "bfloat16")
# A chain is 512 terms deep, a block of bfloat16 32, one of a vector 4,096, and vectors begin at 9 terms.
DEPTHS = (1, 2, 8, 9, 31, 33, 64, 511, 512, 513, 1025, 4097)


def normal(shape, dtype, seed=1):
    generator = dl.random.Generator(seed)
    if not dtype.startswith("complex"):
        return generator.normal(size=shape, dtype="float64").astype(dtype)
    re, im = (generator.normal(size=shape, dtype="float64") for _ in range(2))
    return (re + 1j * im).astype(dtype)


def same_but_for_nan(got, want):
    """The same, of results whose NaNs may have other bits."""
    x, y = (np.ascontiguousarray(t.to("cpu").numpy()) for t in (got, want))
    x, y = (array.view(f"f{array.itemsize // 2}") if array.dtype.kind == "c" else array for array in (x, y))
    assert (x.dtype, x.shape) == (y.dtype, y.shape)
    assert ((x == x) == (y == y)).all()
    assert x[x == x].tobytes() == y[y == y].tobytes()


def check(function, *operands, compare=same, **options):
    """The function of tensors on the device has the bits that it has on the CPU."""
    want = function(*operands, **options)
    on_device = [t.to("cuda") for t in operands]
    with dl.reproducible():
        got = function(*on_device, **options)
    compare(got, want)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_depth_has_the_cpus_bits(eager_machine, dtype, depth):
    for rows, columns in ((1, 1), (1, 7), (7, 1), (3, 5), (66, 35)):
        a, b = normal((rows, depth), dtype), normal((depth, columns), dtype, 2)
        check(dl.matmul, a, b)
        if dtype == "bfloat16":  # elements of 8 bits rarely differ
            check(dl.matmul, a, b, dtype="float32")


LAYOUTS = {  # of a matrix, made where it is multiplied
    "rows": lambda x: x,
    "columns": lambda x: x.mT.copy().mT,
    "every other": lambda x: dl.repeat(dl.repeat(x, 2, axis=1), 3, axis=0)[::3, ::2],
    "backwards": lambda x: dl.flip(dl.flip(x).copy()),
    "columns backwards": lambda x: dl.flip(x.mT).copy()[::-1, ::-1].mT,
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_layout_has_the_cpus_bits(eager_machine, dtype):
    for rows, columns, depth in ((5, 6, 70), (1, 40, 70), (40, 1, 4100)):
        a, b = normal((rows, depth), dtype), normal((depth, columns), dtype, 2)
        for left, right in pairwise([*LAYOUTS.values(), LAYOUTS["rows"]]):
            check(lambda x, y, m=left, n=right: dl.matmul(m(x), n(y)), a, b)
            check(lambda x, y, m=left, n=right: dl.matmul(n(x), m(y)), a, b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_stacks_have_the_cpus_bits(eager_machine, dtype):
    for rows, columns, depth in ((1, 3, 9), (4, 1, 20), (1, 1, 40), (1, 1, 5), (3, 2, 40), (2, 2, 2)):
        a, b = normal((3, 2, rows, depth), dtype), normal((2, depth, columns), dtype, 2)
        check(dl.matmul, a, b)
        check(dl.matmul, a, b[:1])
        check(dl.matmul, a[..., ::-1, :, :].mT.copy().mT, b)
    many = normal((2,) * 10 + (2, 3), dtype)  # dimensions that cannot be joined are more than a kernel has
    check(dl.matmul, many, normal((1, 2) * 5 + (3, 2), dtype, 2))


@pytest.mark.parametrize("dtype", DTYPES)
def test_large_tiles_have_the_cpus_bits(eager_machine, dtype):
    """From as many tiles on as a device has multiprocessors."""
    check(dl.matmul, normal((140, 70, 41), dtype), normal((41, 65), dtype, 2))


@pytest.mark.parametrize(
    ("dtype", "rows", "columns", "depth"),
    [("float32", 2, 132 * 64, 1030), ("bfloat16", 2, 132 * 64, 1030), ("float64", 66, 132 * 64, 515)],
)
def test_sums_between_chains_are_kept_and_added_in_order(eager_machine, dtype, rows, columns, depth):
    """By small tiles and by large ones, of which there are as many as multiprocessors."""
    check(dl.matmul, normal((rows, depth), dtype), normal((depth, columns), dtype, 2))


@pytest.mark.parametrize("dtype", DTYPES)
def test_factors_and_outputs_have_the_cpus_bits(eager_machine, dtype):
    factors = [(1.5, 0.0), (1.0, 2.0), (-0.75, 0.3)] + [(1 - 2j, 0.5j)] * dtype.startswith("complex")
    for rows, columns, depth in ((5, 6, 600), (5, 1, 4100), (1, 6, 20), (3, 3, 0)):
        a, b, c = (
            normal(shape, dtype, i) for i, shape in enumerate([(rows, depth), (depth, columns), (rows, columns)])
        )
        for alpha, beta in factors:
            check(lambda a, b, c, s=alpha, t=beta: dl.gemm(a, b, c.copy(), s, t), a, b, c)
        check(lambda a, b, c: dl.matmul(a, b, c.mT.copy().mT), a, b, c)
    square = normal((70, 70), dtype)
    check(lambda x: [y := x.copy(), dl.matmul(y, y, y)][1], square)  # the output is an operand
    check(lambda x: [y := x.copy(), dl.matmul(y[::2], y, y[1::2])][1], square)


@pytest.mark.parametrize("dtype", DTYPES)
def test_empty_operands(eager_machine, dtype):
    for left, right in (((0, 3), (3, 4)), ((3, 0), (0, 4)), ((1, 0), (0, 1)), ((2, 0, 3), (3, 1)), ((0, 2, 3), (3, 2))):
        check(dl.matmul, normal(left, dtype), normal(right, dtype))


def specials(shape, dtype, seed):
    """Numbers of all magnitudes, some subnormal, infinite, zeros of both signs or NaN."""
    generator = np.random.default_rng(seed)
    info = np.finfo("f4" if dtype in ("bfloat16", "float32", "complex64") else "f2" if dtype == "float16" else "f8")
    exponents = generator.integers(info.minexp - info.nmant, info.maxexp, shape)
    x = np.ldexp(generator.standard_normal(shape), exponents // 2)
    rare = generator.integers(0, 60, shape)
    with np.errstate(all="ignore"):
        for place, value in enumerate(
            [0.0, -0.0, float(info.smallest_subnormal), -float(info.tiny) / 2, np.inf, np.nan]
        ):
            x[(rare == place) & (generator.integers(0, 1 if place < 4 else 40, shape) == 0)] = value
        x = dl.asarray(x.astype("f4") if dtype not in ("float64", "complex128") else x)
        return x.astype(dtype) if not dtype.startswith("complex") else (x + 1j * dl.flip(x)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_numbers_have_the_cpus_bits(eager_machine, dtype):
    """But for the bits of NaN."""
    for rows, columns, depth in ((9, 33, 7), (40, 33, 530), (1, 60, 50), (60, 1, 50), (1, 1, 5000)):
        for seed in range(2):
            check(
                dl.matmul,
                specials((rows, depth), dtype, seed),
                specials((depth, columns), dtype, seed + 5),
                compare=same_but_for_nan,
            )


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "bfloat16"])
def test_products_that_vanish_keep_the_sign_of_the_cpus_zeros(eager_machine, dtype):
    """A chain of products that underflow ends in -0, to which no term outside of the matrix may be added."""
    tiny = {"float64": 1e-200}.get(dtype, 1e-30)
    for rows, columns, depth in ((2, 3, 5), (2, 3, 33), (1, 3, 33), (3, 1, 8)):
        a, b = dl.full((rows, depth), -tiny, dtype=dtype), dl.full((depth, columns), tiny, dtype=dtype)
        check(dl.matmul, a, b)


@pytest.mark.parametrize(
    "types",
    [
        ("bfloat16", "bfloat16"),
        ("float16", "bfloat16"),
        ("int8", "bfloat16"),
        ("float16", "float16"),
        ("float8_e4m3fn", "float8_e5m2"),
    ],
)
def test_products_in_another_dtype_have_the_cpus_bits(eager_machine, types):
    for rows, columns, depth in ((6, 5, 600), (1, 5, 600), (16, 16, 64)):
        a, b = normal((rows, depth), "float32") * 4, normal((depth, columns), "float32", 2) * 4
        for dtype in ("float32", "float64", "bfloat16") if types[0] != "int8" else ("float32",):
            if dtype == "bfloat16" and "float16" in types:
                continue
            check(lambda x, y, to=dtype: dl.matmul(x, y, dtype=to), a.astype(types[0]), b.astype(types[1]))


def test_functions_of_products_have_the_cpus_bits(eager_machine):
    a, b, v = normal((4, 20, 30), "float32"), normal((30, 20, 3), "float32", 2), normal((20,), "float32", 3)
    check(lambda a, b: dl.tensordot(a, b, ((1, 2), (1, 0))), a, b)
    check(lambda a, b: dl.einsum("ijk,kjl->il", a, b), a, b)
    check(lambda a, v: dl.einsum("ijk,j->ik", a, v), a, v)
    check(lambda a: dl.einsum("ijk,ijk->i", a, a), a)
    check(lambda a: dl.einsum("ijk,ijk->ij", a.mT, a.mT), a)
    check(lambda a: dl.vecdot(a, a), a)
    check(lambda a: dl.linalg.matrix_power(a[0, :, :20], 5), a)
    check(lambda a: dl.cov(a[0]), a)


def test_quantized_products_have_the_cpus_bits(eager_machine):
    x, w = normal((5, 64), "float32"), normal((7, 64), "float32", 2)
    codes = dl.quantize(w, "int8", block=(1, 64))[:2]
    check(dl.quantized_matmul, x, *codes)
    check(lambda x, *q: dl.quantized_matmul(x[0], *q), x, *codes)
    narrow, scale = (x.astype("float8_e4m3fn"), w.astype("float8_e4m3fn")), dl.asarray(0.25)
    for dtype in ("float32", "bfloat16"):
        check(dl.quantized_matmul, *narrow, scale, dtype=dtype)


def test_blocks_are_of_one_thread(eager_machine):
    """cuBLAS computes elsewhere, which the driver of the tests lets round every product to TF32 if that is allowed."""
    x = normal((30, 40), "float32").to("cuda")
    want = (x.to("cpu") @ x.to("cpu").mT).tobytes()
    found = {}

    def multiply(place):
        with cuda.tf32():
            found[place] = (x @ x.mT).to("cpu").tobytes()

    with dl.reproducible():
        multiply("inside")
        thread = threading.Thread(target=multiply, args=["elsewhere"])
        thread.start()
        thread.join()
    multiply("after")
    assert found["inside"] == want
    assert found["elsewhere"] != want
    assert found["after"] != want


def test_the_environment_asks_for_the_whole_process(eager_machine):
    script = """
import dltensor as dl
from dltensor.testing import hostcuda
{load}
x = dl.random.Generator(1).normal(size=(40, 600), dtype="float32")
with dl.cuda.tf32():
    y = x.to("cuda")
    print((y @ y.mT).to("cpu").tobytes() == (x @ x.mT).tobytes())
"""
    for value, want in (("1", "True"), ("0", "False")):
        done = subprocess.run(
            [sys.executable, "-c", script.format(load="" if setup.ON_CARD else "hostcuda.load()")],
            env={**os.environ, "DLTENSOR_REPRODUCIBLE": value, "DLTENSOR_CACHE_DIR": str(scratch())},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.stdout.strip() == want, done.stderr


def test_what_a_library_computes_is_refused_still(eager_machine):
    x = dl.eye(9, device="cuda")
    for name in ("eigh", "svd", "qr", "cholesky"):
        with pytest.raises(RuntimeError, match=f"^{name}: computed by cuSOLVER, .*; pass tensors"), dl.reproducible():
            getattr(dl.linalg, name)(x)
    with pytest.raises(RuntimeError, match=r"^fft: computed by cuFFT"), dl.reproducible():
        dl.fft.fft(x)


def test_memory_of_parts_waits_for_its_kernels(machine_order):
    """In an order of streams that runs them as late as it may."""
    a, b = normal((20, 2100), "float32"), normal((2100, 30), "float32", 2)
    with dl.reproducible():
        x, y = a.to("cuda"), b.to("cuda")
        results = [x @ y, x[0] @ y, (x @ y).mT @ (x @ y)]
        del x, y
    for got, want in zip(results, [a @ b, a[0] @ b, (a @ b).mT @ (a @ b)], strict=True):
        same(got, want)


@pytest.mark.skipif(setup.ON_CARD or setup.SANITIZE, reason="needs threads of the host driver")
@pytest.mark.parametrize("seed", [1, 2])
def test_preempted_threads_change_no_bits(machine_watching, seed):
    operands = [(normal((20, 40), "float32"), normal((40, 30), "float32", 2))]
    operands += [(normal((3, 600), "complex64"), normal((600, 4), "complex64", 2))]
    operands += [(normal((1, 300), "float32"), normal((300, 9), "float32", 2))]
    operands += [(normal((9, 40), "bfloat16"), normal((40, 5), "bfloat16", 2))]
    machine_watching.configure(threads=f"random:{seed}")
    for a, b in operands:
        check(dl.matmul, a, b)
