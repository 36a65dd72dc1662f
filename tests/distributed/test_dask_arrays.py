# SPDX-License-Identifier: Apache-2.0
"""Tensors as chunks of Dask arrays, in one process: operations, dtypes, sizes, names, backends."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import dltensor as dl

pytest.importorskip("dask.array", reason="dask[array] is not installed")

import dask
import dask.array as da
from array_operations import OPERATIONS
from dask.base import tokenize
from dask.sizeof import sizeof

# Dask starts from positions of its own, which are arrays of NumPy, or writes into the array that is given.
ENDS_IN_NUMPY = {"flatnonzero", "store"}
# Dask describes these results by arrays of NumPy; their chunks are tensors.
NUMPY_META = ENDS_IN_NUMPY | {"cumsum by blelloch", "indexing by a mask", "histogram", "apply_along_axis"}


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="sync"):
        yield


def arrays(make):
    r = np.random.default_rng(1)
    data = (r.random((12, 8)) * 8, r.integers(0, 9, (12, 8)), r.random(8) * 5)
    chunks = ((4, 3), (4, 3), 3)
    return [da.from_array(make(x), chunks=c, asarray=False) for x, c in zip(data, chunks, strict=True)]


def computed(x):
    return x.compute() if hasattr(x, "compute") else x


def test_there_are_more_operations_than_asked_for():
    assert len(OPERATIONS) > 100


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_right_and_ends_in_a_tensor(name):
    wanted = computed(OPERATIONS[name](*arrays(np.asarray)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lazy = OPERATIONS[name](*arrays(dl.asarray))
        made = computed(lazy)
    assert name in NUMPY_META or type(lazy._meta) is dl.Tensor
    assert name in ENDS_IN_NUMPY or type(made) is dl.Tensor
    made = np.asarray(made)
    assert (made.shape, made.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(made, wanted, rtol=1e-12, atol=1e-12)


def test_the_chunk_type_is_the_tensor():
    x = da.from_array(dl.zeros((4, 4)), chunks=2)
    assert "chunktype=dltensor.Tensor" in repr(x)
    assert type(da.from_array(np.zeros(4), chunks=2).map_blocks(dl.asarray).compute()) is dl.Tensor
    assert x.dtype == np.float32


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "int8", "uint16", "bool", "complex64"])
def test_dtypes_go_through_slices_joins_and_sums(dtype):
    t = (dl.arange(24) % 2).astype(dtype).reshape(6, 4)
    x = da.from_array(t, chunks=(4, 3))
    joined = da.concatenate([x[::2], x[1:]]).compute()
    assert joined.dtype == t.dtype
    assert joined.astype("complex64").tolist() == dl.concat([t[::2], t[1:]]).astype("complex64").tolist()
    if dtype not in ("bool", "complex64"):
        assert float((x.astype("float32")).sum().compute()) == 12


OPERATORS = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b,
    "//": lambda a, b: a // b, "%": lambda a, b: a % b, "<": lambda a, b: a < b, "==": lambda a, b: a == b,
    "@": lambda a, b: a @ b, "add": np.add, "matmul": np.matmul, "concatenate": lambda a, b: np.concatenate([a, b]),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_a_tensor_beside_a_dask_array_joins_the_graph(name):
    t = dl.arange(1.0, 5.0)
    x = da.from_array(dl.arange(2.0, 6.0), chunks=2)
    for lazy, wanted in (
        (OPERATORS[name](t, x), OPERATORS[name](np.arange(1, 5, dtype="f4"), np.arange(2, 6, dtype="f4"))),
        (OPERATORS[name](x, t), OPERATORS[name](np.arange(2, 6, dtype="f4"), np.arange(1, 5, dtype="f4"))),
    ):
        assert type(lazy) is da.Array
        made = lazy.compute()
        assert type(made) is dl.Tensor
        assert made.tolist() == wanted.tolist()


# Not 0 and 100, which Dask repeats: how equal values are sorted then decides what it interpolates.
@pytest.mark.parametrize("q", [[5, 25, 50, 95], np.array([10, 90]), 50])
@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("dtype", ["float64", "int64", "float32"])
def test_percentiles_are_those_of_chunks_of_numpy(q, method, dtype):
    values = np.random.default_rng(2).integers(0, 100, 50).astype(dtype)
    made = da.percentile(da.from_array(dl.asarray(values), chunks=20), q, method=method, internal_method="dask")
    wanted = da.percentile(da.from_array(values, chunks=20), q, method=method, internal_method="dask").compute()
    made = made.compute()
    assert type(made) is dl.Tensor
    np.testing.assert_allclose(made.numpy(), wanted, rtol=1e-6)


# -- sizes and names --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "size"),
    [
        (lambda: dl.zeros((1 << 24,)), 64 << 20),
        (lambda: dl.zeros((100, 100))[::2, ::5], 4000),
        (lambda: dl.broadcast_to(dl.zeros(100), (1000, 100)), 400),
        (lambda: dl.broadcast_to(dl.zeros(()), (1000, 100)), 4),
        (lambda: dl.zeros(11, dtype="int4"), 6),
        (lambda: dl.zeros((0, 5)), 0),
        (lambda: dl.asarray(np.zeros(100)), 800),
    ],
)
def test_the_size_is_that_of_the_elements(make, size):
    assert sizeof(make()) == size
    assert sizeof([make()]) >= size


def test_names_depend_on_elements_dtype_and_shape_alone():
    t = dl.arange(6)
    assert tokenize(t) == tokenize(t.copy()) == tokenize(dl.asarray(np.arange(6)))
    others = [t + 1, t.astype("int32"), t.reshape(2, 3), t.view("uint64"), dl.arange(7)]
    assert len({tokenize(x) for x in [t, *others]}) == 6
    assert tokenize(dl.broadcast_to(dl.zeros(3), (2, 3))) == tokenize(dl.broadcast_to(dl.zeros(3), (2, 3)))
    code = "import dltensor as dl; from dask.base import tokenize; print(tokenize(dl.arange(6)))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == tokenize(t)


CODES = {
    "naming": "t = dl.arange(4); x = da.from_array(t, chunks=2)",
    "measuring": "from dask.sizeof import sizeof; assert sizeof(dl.arange(4)) == 32",
    "importing": "import dltensor.distributed.dask",
}


@pytest.mark.parametrize("first", ["import dask.array as da", "import distributed; import dask.array as da"])
@pytest.mark.parametrize("by", CODES)
def test_dask_registers_by_itself(first, by):
    if "distributed" in first:
        pytest.importorskip("distributed")
    code = f"""
{first}
import dltensor as dl
{CODES[by]}
x = da.from_array(dl.arange(4.0), chunks=2)
assert type(da.percentile(x, [50], internal_method="dask").compute()) is dl.Tensor
assert type((da.ones(4, chunks=2) + dl.arange(4.0)).compute()) is dl.Tensor
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_importing_dask_does_not_import_its_arrays():
    code = "import sys, dask.sizeof; print('dltensor' in sys.modules, 'dltensor.distributed.dask' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("True False\n", "")


# -- Dask's backend ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [da.ones, da.zeros, da.empty, lambda *args, **options: da.full(*args, 3, **options)])
def test_names_come_from_arguments_alone(make):
    with dask.config.set({"array.backend": "dltensor"}):
        names = set()
        for value in (1.0, 2.0, 3.0):
            dl.full((), value, dtype="float32")  # leaves the number in memory that is taken again
            names.add(make(10, chunks=4).name)
        assert len(names) == 1
        assert make(10, chunks=5).name not in names


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda: da.ones((4, 3), chunks=2), np.ones((4, 3))),
        (lambda: da.zeros(5, chunks=2, dtype="i4"), np.zeros(5, "i4")),
        (lambda: da.full((3, 3), 7.5, chunks=2), np.full((3, 3), 7.5)),
        (lambda: da.arange(1, 9, 2, chunks=3), np.arange(1, 9, 2)),
        (lambda: da.random.RandomState(1).normal(size=4, chunks=4), None),
        (lambda: da.empty((2, 2), chunks=1) * 0 == 0, None),
    ],
)
def test_creation_by_the_backend(make, wanted):
    with dask.config.set({"array.backend": "dltensor"}):
        lazy = make()
        made = lazy.compute()
    assert type(lazy._meta) is type(made) is dl.Tensor
    if wanted is not None:
        assert made.dtype == wanted.dtype
        assert made.tolist() == wanted.tolist()


def test_arrays_move_between_backends():
    x = da.from_array(np.arange(6.0), chunks=4)
    moved = x.to_backend("dltensor")
    assert type(moved.compute()) is dl.Tensor
    assert moved.to_backend("dltensor") is moved
    back = moved.to_backend("numpy")
    assert type(back.compute()) is np.ndarray
    assert back.compute().tolist() == list(range(6))


def test_random_numbers_are_those_of_numpy():
    wanted = da.random.RandomState(5).gamma(2.0, size=100, chunks=30).compute()
    with dask.config.set({"array.backend": "dltensor"}):
        made = da.random.RandomState(5).gamma(2.0, size=100, chunks=30).compute()
    assert type(made) is dl.Tensor
    assert made.tolist() == wanted.tolist()


def test_xarray_computes_over_chunks_of_tensors():
    xr = pytest.importorskip("xarray")
    t = dl.arange(24.0).reshape(6, 4)
    a = xr.DataArray(da.from_array(t, chunks=(4, 2)), dims=("x", "y"), coords={"x": range(6)})
    n = xr.DataArray(t.numpy(), dims=("x", "y"), coords={"x": range(6)})
    for call in (
        lambda x: x + 1,
        lambda x: x.sum("x"),
        lambda x: x.mean("y"),
        lambda x: x.std(),
        lambda x: x.isel(y=[0, 2]),
        lambda x: x.sel(x=slice(1, 3)),
        lambda x: x.where(x > 5, 0.0),
        lambda x: x.T.dot(x),
        lambda x: x.cumsum("x"),
        lambda x: x.max("x") - x.min("x"),
        lambda x: xr.concat([x, x], "x"),
    ):
        made = call(a).compute()
        assert type(made.data) is dl.Tensor
        np.testing.assert_allclose(np.asarray(made.data), call(n).data, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32", "complex64"])
def test_a_mean_has_the_dtype_that_is_asked_for(dtype):
    x = np.array([1.0, 2.0, 2.5, 4.0])
    found = da.from_array(dl.asarray(x), chunks=2).mean(dtype=dtype).compute()
    assert type(found) is dl.Tensor
    assert (str(found.dtype), found.item()) == (dtype, np.divide(x.astype(dtype).sum(), 4).astype(dtype).item())


def test_a_data_frame_has_the_elements_of_the_chunks():
    program = (
        "import dask.dataframe, dask.array as da, dltensor as dl\n"
        "frame = da.from_array(dl.reshape(dl.arange(6), (3, 2)), chunks=(2, 2)).to_dask_dataframe(columns=['a', 'b'])\n"
        "print(frame.compute().to_numpy().tolist())\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    if "pandas" in ended.stderr or "pyarrow" in ended.stderr:
        pytest.skip("Dask's data frames are not installed")
    assert (ended.stdout, ended.stderr) == ("[[0, 1], [2, 3], [4, 5]]\n", "")
