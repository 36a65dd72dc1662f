# SPDX-License-Identifier: Apache-2.0
"""Kernels that users write, against NumPy: elementwise expressions and raw kernels, in every order of streams."""

import ctypes
from collections.abc import Sequence

import numpy as np
import pytest

dl = pytest.importorskip("dltensor", reason="the package is not installed")
cuda = pytest.importorskip("dltensor.cuda", reason="the package is not installed")

import conftest as setup  # noqa: E402  beside this file: whether a card or the host driver runs
from test_tensor_cuda import live_blocks  # noqa: E402

pytestmark = [pytest.mark.gpu] if setup.ON_CARD else []
RNG = np.random.default_rng(11)

SCALE = """
__global__ void scale(float* out, const float* x, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] * factor;
}
"""


@pytest.fixture(params=setup.ORDERS)
def order(request):
    machine = None if setup.ON_CARD else request.getfixturevalue("machine")
    setup.clean(machine, request.param)
    live = live_blocks()
    yield machine
    setup.clean(machine, "eager")
    assert live_blocks() == live, "the test left blocks behind"
    assert machine is None or machine.context_depth() == 0, "the test left a CUDA context on this thread's stack"


@pytest.fixture
def machine_eager(request):
    machine = None if setup.ON_CARD else request.getfixturevalue("machine")
    setup.clean(machine, "eager")
    return machine


def host(shape, dtype="float32"):
    return (RNG.random(shape) * 8 - 4).astype(dtype)


def gpu(a):
    return dl.asarray(a).to("cuda")


AXPY = cuda.elementwise("float x, float y", "x * y + 1")


@pytest.mark.parametrize("count", [0, 1, 3, 4, 1000, 4097])
def test_an_expression_over_runs(order, count):
    a, b = host(count), host(count)
    np.testing.assert_array_equal(AXPY(gpu(a), gpu(b)).numpy(), a * b + 1)


def views(x, ones):
    """Pairs of the same view of an array and of a tensor."""
    yield x, ones
    yield x.T, ones.mT
    yield x[::-1, ::2], ones[::-1, ::2]
    yield x[:, 1:], ones[:, 1:]
    yield x[3], ones[3]
    yield x[:, 2:3], ones[:, 2:3]


def test_strides_and_broadcasting(order):
    a, b = host((6, 6)), host((4, 6, 6))
    x, y = gpu(a), gpu(b)
    for left, t in views(a, x):
        for right, u in ((a, x), (b, y), (a.T, x.mT)):
            try:
                want = left * right + 1
            except ValueError:
                with pytest.raises(ValueError, match="broadcast"):
                    AXPY(t, u)
                continue
            np.testing.assert_array_equal(AXPY(t, u).numpy(), want)


def test_outputs_of_any_layout_and_overlap(order):
    a = host((8, 12))
    x = gpu(a)
    out = dl.zeros((12, 8), device="cuda")
    assert AXPY(x, 2.0, out=out.mT) is not None
    np.testing.assert_array_equal(out.numpy().T, a * 2 + 1)
    AXPY(x[:, ::-1], x, out=x)
    want = a[:, ::-1] * a + 1
    np.testing.assert_array_equal(x.numpy(), want)
    AXPY(x[:-1], 1.0, out=x[1:])
    np.testing.assert_array_equal(x.numpy()[1:], want[:-1] + 1)


def test_more_dimensions_than_kernels_take(machine_eager):
    shape = (2,) * 10
    a, b = host(shape), host(shape)
    axes = (9, 0, 8, 1, 7, 2, 6, 3, 5, 4)
    got = AXPY(dl.permute_dims(gpu(a), axes), gpu(b))
    np.testing.assert_array_equal(got.numpy(), a.transpose(axes) * b + 1)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float64", "bool"])
def test_a_letter_is_any_dtype(machine_eager, dtype):
    f = cuda.elementwise("T x, T y", "x < y ? x : y")
    a, b = (host((5, 7)) * 10).astype(dtype), (host(7) * 10).astype(dtype)
    got = f(gpu(a), gpu(b))
    assert str(got.dtype) == dtype
    np.testing.assert_array_equal(got.numpy(), np.minimum(a, b))


def test_dtypes_of_parameters_and_result(machine_eager):
    a, b = (host(100) * 5).astype("i4"), host(100, "float16")
    f = cuda.elementwise("int i, float16 h", "i * h", result="double")
    np.testing.assert_array_equal(f(gpu(a), gpu(b)).numpy(), (a.astype("f4") * b.astype("f4")).astype("f8"))
    g = cuda.elementwise("int i, uint8_t u, bool flag", "flag ? i : u")
    assert g(gpu(a), gpu(a.astype("u1")), True).dtype == dl.int32
    mask = cuda.elementwise("float x", "x > 0", result="bool")(gpu(host(10)))
    assert mask.dtype == dl.bool


def test_up_to_eight_operands_and_a_preamble(machine_eager):
    names = "abcdefgh"
    arrays = [host((3, 1)) if k % 2 else host((1, 4)) for k in range(8)]
    f = cuda.elementwise(
        ", ".join(f"float {n}" for n in names),
        "twice(" + " + ".join(names) + ")",
        preamble="__device__ inline float twice(float x) { return 2 * x; }",
    )
    want = arrays[0]
    for each in arrays[1:]:
        want = want + each
    np.testing.assert_array_equal(f(*map(gpu, arrays)).numpy(), 2 * want)


def test_operands_of_other_streams_are_waited_for(order):
    with cuda.Stream():
        x = dl.arange(5000, dtype="float32", device="cuda")
        for _ in range(4):
            x = x + 1
    with cuda.Stream():
        y = AXPY(x, 2.0)
        del x
        late = dl.full((5000,), -1.0, device="cuda")
    np.testing.assert_array_equal(y.numpy(), (np.arange(5000, dtype="f4") + 4) * 2 + 1)
    assert late[0].item() == -1


def test_compiler_errors_name_the_users_line(machine_eager):
    with pytest.raises(
        ValueError, match=r"compile: expected CUDA C\+\+ that compiles[^\0]*expression[:(]1[^\0]*nothing"
    ):
        cuda.elementwise("float x", "x + nothing")(dl.ones((3,), device="cuda"))
    with pytest.raises(ValueError, match=r"[^\0]*kernel\.cu[:(]3[^\0]*missing"):
        cuda.RawKernel("__global__ void f(float* x) {\n  int i = 0;\n  x[i] = missing;\n}\n", "f")(
            1, 1, (dl.ones((3,), device="cuda"),)
        )
    np.testing.assert_array_equal(AXPY(dl.ones((2,), device="cuda"), 1.0).numpy(), [2, 2])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: cuda.elementwise("float", "x"), ValueError, "expected parameters such as"),
        (lambda: cuda.elementwise("float x, float x", "x"), ValueError, "different names"),
        (lambda: cuda.elementwise("quaternion x", "x"), ValueError, "expected a C type, a dtype or a capital letter"),
        (lambda: cuda.elementwise("complex64 x", "x"), ValueError, "write a RawKernel"),
        (lambda: cuda.elementwise("float x", " ; "), ValueError, "expected an expression"),
        (lambda: cuda.elementwise("float x", "x", result="U"), ValueError, "is the type of no parameter"),
        (lambda: AXPY(dl.ones(3), 1.0), TypeError, r"expected tensors on a CUDA device, got one on cpu.*\.to"),
        (lambda: AXPY(1.0, 2.0), TypeError, "at least one tensor"),
        (lambda: AXPY(dl.ones(3, device="cuda")), TypeError, "expected 2 operands, got 1"),
        (lambda: AXPY(dl.ones(3, device="cuda"), dl.ones(3, dtype="float64", device="cuda")), TypeError, "astype"),
        (lambda: AXPY(dl.ones(3, device="cuda"), 1.0, out=dl.ones(4, device="cuda")), ValueError, "out of shape"),
        (
            lambda: AXPY(dl.ones(3, device="cuda"), 1.0, out=dl.ones(3, dtype="int32", device="cuda")),
            TypeError,
            "expected out of dtype float32, got int32",
        ),
        (
            lambda: AXPY(dl.ones(3, device="cuda"), 1.0, out=dl.broadcast_to(dl.ones(1, device="cuda"), (3,))),
            ValueError,
            "read-only|repeats elements",
        ),
    ],
)
def test_wrong_uses_say_what_is_expected(machine_eager, call, error, words):
    with pytest.raises(error, match=words):
        call()


# ---- raw kernels


def test_a_raw_kernel_reads_and_writes_tensors(order):
    a = host(1000)
    kernel = cuda.RawKernel(SCALE, "scale")
    assert kernel.parameters == ("float* out", "const float* x", "float factor", "int n")
    with cuda.Stream():
        x = gpu(a)
        x = x + 1
    out = dl.zeros((1000,), device="cuda")
    kernel(4, 256, (out, x, 2.5, 1000))
    del x
    late = dl.full((1000,), -1.0, device="cuda")
    with cuda.Stream():
        np.testing.assert_array_equal((out + 0).numpy(), (a + 1) * np.float32(2.5))
    assert late[0].item() == -1


def test_a_raw_kernel_with_shared_memory_templates_and_atomics(order):
    source = """
    template <class T, int BLOCK>
    __global__ void sum(T* total, const T* x, long long n) {
      __shared__ T part[BLOCK];
      long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
      part[threadIdx.x] = i < n ? x[i] : T(0);
      __syncthreads();
      for (int step = BLOCK / 2; step; step /= 2) {
        if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
      }
      if (threadIdx.x == 0) atomicAdd(total, part[0]);
    }
    """
    x = dl.arange(3000, dtype="int32", device="cuda")
    total = dl.zeros((), dtype="int32", device="cuda")
    cuda.RawKernel(source, "sum<int, 128>")((24,), (128,), (total, x, 3000))
    assert total.item() == 3000 * 2999 // 2


def test_a_raw_kernel_in_three_dimensions_and_structs(machine_eager):
    source = """
    struct Box { int width, height; float add; };
    extern "C" __global__ void place(float* out, Box box) {
      int at = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
      out[at * box.width * box.height + threadIdx.y * box.width + threadIdx.x] = at + box.add;
    }
    """

    class Box(ctypes.Structure):
        _fields_ = [("width", ctypes.c_int), ("height", ctypes.c_int), ("add", ctypes.c_float)]

    out = dl.zeros((2, 3, 4, 2, 5), device="cuda")
    cuda.RawKernel(source, "place")((4, 3, 2), (5, 2), (out, Box(5, 2, 0.5)))
    want = np.broadcast_to((np.arange(24, dtype="f4") + 0.5).reshape(2, 3, 4, 1, 1), (2, 3, 4, 2, 5))
    np.testing.assert_array_equal(out.numpy(), want)


@pytest.mark.parametrize("more", [0, 7])
def test_structs_of_two_texts_may_share_a_name(machine_eager, more):
    source = f"""
    struct Pair {{ int first, rest[{more + 1}]; }};
    __global__ void last(int* out, Pair pair) {{ out[0] = pair.rest[{more}]; }}
    """

    class Pair(ctypes.Structure):
        _fields_ = [("first", ctypes.c_int), ("rest", ctypes.c_int * (more + 1))]

    out = dl.zeros((1,), dtype="int32", device="cuda")
    pair = Pair(1)
    pair.rest[more] = 40 + more
    cuda.RawKernel(source, "last")(1, 1, (out, pair))
    assert out.item() == 40 + more


def test_numbers_get_the_declared_type(machine_eager):
    source = """
    __global__ void pack(double* out, unsigned char a, short b, double c, float d, bool e, long long f) {
      out[0] = a, out[1] = b, out[2] = c, out[3] = d, out[4] = e, out[5] = f;
    }
    """
    out = dl.zeros((6,), dtype="float64", device="cuda")
    kernel = cuda.RawKernel(source, "pack")
    kernel(1, 1, (out, 200, -5, 0.1, 0.5, True, 1 << 40))
    assert out.tolist() == [200, -5, 0.1, 0.5, 1, 1 << 40]
    kernel(1, 1, (out.data_ptr, np.uint8(7), np.int16(-9), np.float64(2), np.float32(1.5), False, np.int64(3)))
    assert out.tolist() == [7, -9, 2, 1.5, 0, 3]
    with pytest.raises(OverflowError):
        kernel(1, 1, (out, 300, 0, 0, 0, 0, 0))


def test_attributes_of_a_raw_kernel(machine_eager):
    source = "__global__ void __launch_bounds__(96) f(int* x) { *x = 1; }"
    found = cuda.RawKernel(source, "f").attributes()
    assert found["max_threads_per_block"] == 96
    assert found["registers"] > 0
    with pytest.raises(ValueError, match="blocks of at most 96 threads for f, got 128"):
        cuda.RawKernel(source, "f")(1, 128, (dl.zeros((1,), dtype="int32", device="cuda"),))


def readonly():
    x = dl.zeros((1000,), device="cuda")
    return dl.broadcast_to(x, (2, 1000))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (lambda x: (x, x, 1.0), TypeError, "has 4 parameters, got 3 arguments"),
        (lambda x: (x, x, 1.0, 32, 5), TypeError, "has 4 parameters, got more arguments"),
        (lambda x: 5, TypeError, "expected a sequence of arguments, got 5"),
        (
            lambda x: (x, x.astype("float64"), 1.0, 3),
            TypeError,
            "argument 2: expected a tensor of float32 .* got float64",
        ),
        (lambda x: (x, x.to("cpu"), 1.0, 3), TypeError, "expected tensors on a CUDA device"),
        (lambda x: (x, 2.5, 1.0, 3), TypeError, "expected a tensor for 'const float. x', got 2.5"),
        (lambda x: (x, x, x, 3), TypeError, "expected a number for 'float factor', got Tensor"),
        (lambda x: (x, x, 1.0, 2.5), TypeError, "int"),
    ],
)
def test_wrong_arguments_of_a_raw_kernel(machine_eager, arguments, error, words):
    with pytest.raises(error, match=words):
        cuda.RawKernel(SCALE, "scale")(1, 32, arguments(dl.zeros((32,), device="cuda")))


@pytest.mark.parametrize(("grid", "block"), [(0, 32), (1, 0), ((1, 1, 1, 1), 32), ((), 32), (1.5, 32), (1, (32, -1))])
def test_wrong_grids_of_a_raw_kernel(machine_eager, grid, block):
    x = dl.zeros((32,), device="cuda")
    with pytest.raises(ValueError, match="expected one to three positive ints"):
        cuda.RawKernel(SCALE, "scale")(grid, block, (x, x, 1.0, 32))


def test_four_items_of_a_grid_are_read_at_most(machine_eager):
    class Endless(Sequence):
        def __len__(self):
            return 2**40

        def __getitem__(self, i):
            assert i < 4
            return 1

    with pytest.raises(ValueError, match="expected one to three positive ints"):
        cuda.RawKernel(SCALE, "scale")(Endless(), 32, (dl.zeros((32,), device="cuda"), None, 1.0, 32))


def test_a_read_only_tensor_is_not_written(machine_eager):
    x = dl.zeros((32,), device="cuda")
    fixed = dl.from_dlpack(x)
    kernel = cuda.RawKernel(SCALE, "scale")
    closed = dl.broadcast_to(x[:1], (32,))
    if closed.readonly:
        with pytest.raises(ValueError, match="argument 1: expected a tensor that can be written"):
            kernel(1, 32, (closed, fixed, 1.0, 32))
    kernel(1, 32, (fixed, closed, 1.0, 1))


class Foreign:
    """What another framework's array offers."""

    def __init__(self, t):
        self.__cuda_array_interface__ = t.__cuda_array_interface__


def test_arrays_of_other_frameworks_are_taken(machine_eager):
    a = host(64)
    x, out = gpu(a), dl.zeros((64,), device="cuda")
    np.testing.assert_array_equal(AXPY(Foreign(x), 3.0).numpy(), a * 3 + 1)
    target = Foreign(out)
    assert AXPY(x, 2.0, out=target) is target
    np.testing.assert_array_equal(out.numpy(), a * 2 + 1)
    cuda.RawKernel(SCALE, "scale")(1, 64, (Foreign(out), Foreign(x), 3.0, 64))
    np.testing.assert_array_equal(out.numpy(), a * 3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: dl.cuda.elementwise(5, "x"),
        lambda: dl.cuda.elementwise("float x", "x", preamble=None),
        lambda: dl.cuda.RawKernel("", "f", options=[3]),
    ],
)
def test_texts_are_str(make):
    with pytest.raises(TypeError, match="as str, got"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: dl.cuda.elementwise("float x", "x + '\ud800'"),
        lambda: dl.cuda.elementwise("float x", "x", preamble="// \ud800"),
        lambda: dl.cuda.RawKernel("// \ud800", "f"),
        lambda: dl.cuda.RawKernel("", "\ud800"),
        lambda: dl.cuda.RawKernel("", "f", options=["\ud800"]),
    ],
)
def test_texts_can_be_encoded(make):
    with pytest.raises(ValueError, match=r"has the half of a surrogate pair, '\\ud800', at \d") as caught:
        make()
    assert type(caught.value) is ValueError
