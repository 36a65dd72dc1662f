# SPDX-License-Identifier: Apache-2.0
"""Public bug reports of other array libraries, each with the dltensor calls that it concerns and the right values."""

import gc
import io
import json
import pickle
import struct
import sys
import tempfile
import threading
import weakref
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest

import dltensor as dl

NAN = float("nan")
INF = float("inf")
INT64_MAX = 2**63 - 1

# Where the number of a report is found: https://github.com/OWNER/NAME/issues/NUMBER.
REPOSITORIES = {
    "array-api-compat": "data-apis/array-api-compat",
    "array-api-tests": "data-apis/array-api-tests",
    "arrow": "apache/arrow",
    "cudf": "NVIDIA/cudf",
    "cupy": "cupy/cupy",
    "dask": "dask/dask",
    "dlpack": "dmlc/dlpack",
    "h5py": "h5py/h5py",
    "jax": "jax-ml/jax",
    "mlx": "ml-explore/mlx",
    "numpy": "numpy/numpy",
    "NumSharp": "SciSharp/NumSharp",
    "polars": "pola-rs/polars",
    "pytorch": "pytorch/pytorch",
    "safetensors": "safetensors/safetensors",
    "zarr": "zarr-developers/zarr-python",
}


class Report(NamedTuple):
    project: str
    number: int
    wrong: str  # what was wrong there
    check: Callable[[], object]  # asserts what is right here


def tensor(values, dtype=None):
    return dl.asarray(values, dtype=dtype)


def values(x):
    if isinstance(x, dl.Tensor):
        return x.tolist()
    return [values(item) for item in x] if isinstance(x, list | tuple) else x


def same(got, want):
    """Equal with types, NaN and the signs of zeros, which the text of the values shows."""
    assert repr(values(got)) == repr(want)


def refuses(error, words, call):
    with pytest.raises(error, match=words):
        call()


# Checks that take more than one expression.
def median_of_many_nans():
    x = dl.full((20, 3000), NAN, dtype="float64")
    x[:, :280] = 1.1
    same(dl.median(x, axis=1), [NAN] * 20)


def quantile_of_small_type():
    x = dl.zeros(65521, dtype="float16")
    x[:10] = 1
    same(dl.quantile(x, tensor([0.5, 1], "float16")), [0.0, 1.0])


def least_of_selected():
    x = tensor([[-1, -2, -3], [1, 2, 3]])
    same(dl.nanmin(x[x >= 0]), 1)


def minimum_with_nan_anywhere():
    for size in (1, 7, 8, 9, 33):
        for position in range(size):
            x = dl.ones(size, dtype="float64")
            x[position] = NAN
            same([dl.min(x), dl.max(x)], [NAN, NAN])


def search_into_strided_out():
    rows = dl.zeros((5, 2), dtype="int64")
    dl.searchsorted(dl.arange(10), dl.arange(3, 8), out=rows[:, 0])
    same(rows, [[3, 0], [4, 0], [5, 0], [6, 0], [7, 0]])


def every_quotient_of_uint8():
    quotients = dl.arange(256, dtype="uint8").reshape(256, 1) // dl.arange(1, 256, dtype="uint8")
    same(quotients, [[a // b for b in range(1, 256)] for a in range(256)])


def assign_large_integer():
    x = dl.zeros(1, dtype="uint64")
    x[0] = 1 << 63
    same(x, [2**63])


def arange_of_bfloat16():
    want = np.arange(241, 273).astype(ml_dtypes.bfloat16).astype(float).tolist()
    assert want[15:19] == [256.0, 256.0, 258.0, 260.0]
    same(dl.arange(241, 273, dtype="bfloat16"), want)


def read_empty_into_out():
    file = io.BytesIO()
    dl.save(file, {"a": dl.zeros((1, 0, 3))}, format="npz")
    with dl.open_file(file.getvalue()) as opened:
        out = dl.empty((1, 0, 3))
        opened.read("a", out=out)
    same([out, out.shape], [[[]], [1, 0, 3]])


def fill_empty():
    x = dl.zeros((3, 0))
    x[...] = 3
    x[:] = 3
    same(x[:], [[], [], []])


def store_number_of_no_dimensions():
    x = dl.zeros(())
    x[...] = 2
    file = io.BytesIO()
    dl.save(file, x, format="npy")
    loaded = dl.load(file.getvalue())
    same([loaded, loaded.shape], [2.0, []])


def einsum_into_strided_out():
    out, wider = dl.zeros((2, 2, 2)), dl.zeros((2, 2), dtype="float64")
    dl.einsum("ij,jk->ik", dl.ones((2, 2)), dl.ones((2, 2)), out=out[..., 0])
    refuses(TypeError, "out is float64", lambda: dl.einsum("ij->ij", dl.ones((2, 2)), out=wider))
    same(out, [[[2.0, 0.0], [2.0, 0.0]], [[2.0, 0.0], [2.0, 0.0]]])


def add_transposed_large():
    x = dl.arange(10000).reshape(100, 100)
    x += x.T
    same([dl.array_equal(x, x.T), x[3, 7]], [True, 307 + 703])


def differences_in_place():
    up, down = tensor([1, 2, 4, 8, 16]), tensor([1, 3, 4, 8, 16])
    up[1:] -= up[:-1]
    dl.subtract(down[1:], down[:-1], out=down[:-1])
    same([up, down], [[1, 1, 2, 4, 8], [2, 1, 4, 8, 16]])


def indices_in_the_written_memory():
    x = dl.arange(10)
    x[2:][x[:-2]] = 3
    same(x, [0, 1, 3, 3, 3, 3, 3, 3, 3, 3])


def strided_indices():
    x = dl.arange(6)
    x[dl.arange(6).reshape(2, 1, 3)[:, :, 0]] = -1
    same(x, [-1, 1, 2, -1, 4, 5])


def add_at_many_narrow_indices():
    added = dl.zeros(8193)
    added[0], added[1], added[8192] = 10, 5, 100
    x = dl.zeros(1)
    dl.add_at(x, dl.zeros(8193, dtype="int16"), added)
    same(x, [115.0])


def masked_mask():
    x = dl.ones((2, 2))
    mask = np.ma.MaskedArray(np.ones((2, 2)), [[False, False], [False, True]], dtype=bool)
    refuses(BufferError, "MaskedArray has masked elements", lambda: x.__setitem__(mask, 2))
    same(x, [[1.0, 1.0], [1.0, 1.0]])


def assign_nan_to_integers():
    x = dl.zeros(5, dtype="int64")
    refuses(ValueError, "NaN cannot be converted to int64", lambda: x.__setitem__(0, NAN))
    same(x, [0, 0, 0, 0, 0])


def read_only_stays_read_only():
    x = np.arange(3)
    x.flags.writeable = False
    imported = dl.asarray(x)
    refuses(BufferError, "read-only", imported.__dlpack__)
    same([imported.readonly, dl.from_dlpack(imported).readonly], [True, True])


def write_to_read_only():
    x = np.zeros(2)
    x.flags.writeable = False
    imported = dl.asarray(x)
    refuses(ValueError, "read-only", lambda: imported.__iadd__(1))
    same([imported, x.tolist()], [[0.0, 0.0], [0.0, 0.0]])


def strides_of_no_meaning():
    memory = np.arange(100, dtype="float64").view("uint8")
    last = np.ndarray((10, 5, 1), "f8", strides=(8, 80, 4), buffer=memory)
    first = np.ndarray((1, 10), "f8", strides=(4, 8), buffer=memory)
    same([dl.from_dlpack(last), dl.from_dlpack(first)], [last.tolist(), first.tolist()])


class Capsule:
    """A producer that gives one capsule again and again."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


def capsule_is_taken_once():
    producer = Capsule(dl.arange(3).__dlpack__())
    taken = dl.from_dlpack(producer)
    refuses(BufferError, "already consumed", lambda: dl.from_dlpack(producer))
    same([taken, '"used_dltensor"' in repr(producer.capsule)], [[0, 1, 2], True])


def two_exports_of_one_tensor():
    x = dl.arange(3)
    first, second = (dl.from_dlpack(Capsule(x.__dlpack__())) for _ in range(2))
    first[0] = 7
    same([x, second], [[7, 1, 2], [7, 1, 2]])


def deleter_is_called():
    x = np.arange(3)
    owner = weakref.ref(x)
    imported = dl.from_dlpack(x)
    del x
    gc.collect()
    same([owner() is not None, imported], [True, [0, 1, 2]])
    del imported
    gc.collect()
    assert owner() is None


def deleter_is_called_for_unused_capsules():
    x = np.arange(3)
    owner = weakref.ref(x)
    capsule = dl.from_dlpack(x).__dlpack__()
    del x
    gc.collect()
    assert owner() is not None
    del capsule
    gc.collect()
    assert owner() is None


def negative_strides_exported():
    flipped = dl.flip(dl.arange(12).reshape(3, 4), axis=1).T
    same([flipped.strides, np.from_dlpack(flipped).tolist()], [[-1, 4], [[3, 7, 11], [2, 6, 10], [1, 5, 9], [0, 4, 8]]])


def pickle_with_read_only_buffers():
    buffers = []
    data = pickle.dumps(dl.arange(5), 5, buffer_callback=lambda b: buffers.append(memoryview(b).toreadonly()))
    loaded = pickle.loads(data, buffers=buffers)
    same([len(buffers), loaded.readonly, loaded], [1, True, [0, 1, 2, 3, 4]])


def load_big_endian():
    file = io.BytesIO()
    np.save(file, np.ndarray((1,), ">i4", buffer=bytearray([0, 1, 3, 2])))
    same(dl.load(file.getvalue()), [66306])


def import_big_endian():
    x = np.array([1, 2], ">i4")
    refuses(BufferError, "byte order", lambda: dl.asarray(x))
    same(dl.asarray(x, copy=True), [1, 2])


def safetensors(header, data=b""):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def offsets_that_do_not_fit_the_shape():
    content = safetensors({"t": {"dtype": "F32", "shape": [1000, 1000], "data_offsets": [0, 4]}}, bytes(4))
    refuses(ValueError, "must span 4000000 bytes", lambda: dl.load(content))


def zip_file_of_torch():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", b"")
        archive.writestr("archive/version", b"3")
    refuses(ValueError, "torch.load", lambda: dl.load(file.getvalue()))


def header_above_the_limit():
    content = struct.pack("<Q", 132095296) + b'{"a":{}}'
    refuses(ValueError, "header length is 132095296 bytes; at most 100000000", lambda: dl.load(content))


def metadata_alone():
    file = io.BytesIO()
    dl.save(file, {}, format="safetensors", metadata={"crc": "12"})
    with dl.open_file(file.getvalue()) as opened:
        same([list(opened.names), dict(opened.metadata)], [[], {"crc": "12"}])


def save_transposed():
    file = io.BytesIO()
    dl.save(file, {"a": dl.arange(6).reshape(2, 3).T}, format="safetensors")
    same(dl.load(file.getvalue())["a"], [[0, 3], [1, 4], [2, 5]])


def save_over_a_mapped_file():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.safetensors"
        dl.save(path, {"a": tensor([1, 2])}, metadata={"v": "1"})
        with dl.open_file(path) as opened:
            tensors = {name: opened[name] for name in opened.names}
        dl.save(path, tensors, metadata={"v": "2"})
        with dl.open_file(path) as opened:
            same([opened["a"], dict(opened.metadata)], [[1, 2], {"v": "2"}])


def save_over_an_open_file():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.npz"
        dl.save(path, {"a": tensor([1, 2]), "b": tensor([11, 22])})
        with dl.open_file(path) as opened:
            dl.save(path, {"a": tensor([33, 33]), "b": tensor([3, 3])})
            same([opened["a"], opened["b"], dl.load(path)["a"]], [[1, 2], [11, 22], [33, 33]])


def read_members_in_threads():
    file = io.BytesIO()
    np.savez_compressed(file, **{str(i): np.full(3000, i) for i in range(8)})
    sums = {}
    with dl.open_file(file.getvalue()) as opened:

        def read(i):
            sums[i] = [dl.sum(opened[str(i)]).item() for _ in range(5)]

        threads = [threading.Thread(target=read, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sums == {i: [3000 * i] * 5 for i in range(8)}


def load_cut_off():
    file = io.BytesIO()
    np.save(file, np.arange(100))
    refuses(ValueError, "takes 800 bytes behind the header, the file has 760", lambda: dl.load(file.getvalue()[:-40]))


def repeat_in_threads():
    x, repeats = dl.arange(1000), dl.arange(1000) % 3
    want = np.repeat(np.arange(1000), np.arange(1000) % 3).tolist()
    got = {}

    def run(i):
        got[i] = [dl.repeat(x, repeats).tolist() == want for _ in range(20)]

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == {i: [True] * 20 for i in range(4)}


def integers_below_a_power_of_two():
    drawn = dl.random.Generator(0).integers(2**32, shape=(64,))
    same([dl.min(drawn) > 0, dl.max(drawn) >= 2**31, dl.max(drawn) < 2**32], [True, True, True])


def integers_of_the_whole_range():
    drawn = dl.random.Generator(0).integers(0, 2**64, shape=(64,), dtype="uint64")
    same([str(drawn.dtype), dl.max(drawn) >= 2**63, len(set(drawn.tolist()))], ["uint64", True, 64])


REPORTS = [
    # initial= of reductions
    Report(
        "numpy",
        15905,
        "min of integers took the infinity of initial= as the least int64.",
        lambda: (
            refuses(TypeError, "initial is inf", lambda: dl.min(tensor([-10, 20, 30, -25]), initial=INF)),
            same(dl.min(tensor([-10, 20, 30, -25]), initial=INT64_MAX), -25),
        ),
    ),
    Report(
        "numpy",
        21668,
        "initial= was cast without the checks that a number of Python gets.",
        lambda: (
            refuses(TypeError, "initial is inf", lambda: dl.min(tensor([1, 2, 3]), initial=INF)),
            refuses(OverflowError, "int8", lambda: dl.min(tensor([1, 2, 3], "int8"), initial=300)),
            same([dl.min(tensor([1, 2, 3]), initial=0), dl.max(tensor([1, 2, 3]), initial=9)], [0, 9]),
        ),
    ),
    # sums, means and variances
    Report(
        "numpy",
        7930,
        "The mean of many float16 numbers was inf.",
        lambda: same(dl.mean(dl.ones(70000, dtype="float16")), 1.0),
    ),
    Report(
        "numpy",
        21941,
        "var of 100000 float16 numbers was inf.",
        lambda: same(dl.var(tensor([0.0, 2.0] * 35000, "float16")), 1.0),
    ),
    Report(
        "polars",
        2500,
        "The mean of int16 was wrong when the sum did not fit int16.",
        lambda: same(dl.mean(dl.full(256, 255, dtype="int16")), 255.0),
    ),
    Report(
        "pytorch",
        127866,
        "The product of zeros of bool was True.",
        lambda: same(dl.prod(dl.zeros((1, 1, 16, 16), dtype="bool"), dtype="bool"), False),
    ),
    Report(
        "pytorch",
        156018,
        "Running products of float16 were rounded after each step on one device.",
        lambda: same(dl.cumulative_prod(tensor([6.5] * 4, "float16")), [6.5, 42.25, 274.5, 1785.0]),
    ),
    Report(
        "pytorch",
        2470,
        "var along an axis of two close float32 numbers was 0.",
        lambda: same(dl.var(tensor([2281.5, 2281.25]), axis=0, correction=1), 0.03125),
    ),
    Report(
        "pytorch",
        180156,
        "std of float32 numbers near 1e20 was inf on one device.",
        lambda: same(dl.std(tensor([1e20, 3e20])), float(np.float32(1e20))),
    ),
    Report("dask", 4233, "std of large integers was NaN.", lambda: same(dl.std(tensor([2**40, 2**40 + 2])), 1.0)),
    Report(
        "array-api-tests",
        160,
        "The sum of unsigned integers had a signed dtype.",
        lambda: same(
            [str(dl.sum(tensor([1, 2], t)).dtype) for t in ("uint8", "uint16", "uint64", "int8")],
            ["uint64", "uint64", "uint64", "int64"],
        ),
    ),
    # least and greatest elements
    Report(
        "pytorch",
        95756,
        "The median of an empty tensor of int32 was the least int32.",
        lambda: same(dl.median(dl.zeros(0, dtype="int32")), NAN),
    ),
    Report(
        "pytorch",
        38922,
        "argmax along an axis of one element was not 0 in large tensors.",
        lambda: same(dl.max(dl.argmax(dl.zeros((40, 900, 1)), axis=2)), 0),
    ),
    Report(
        "cupy",
        266,
        "argmax of no rows was an error.",
        lambda: same([dl.argmax(dl.zeros((0, 1)), axis=1), dl.argmax(dl.zeros((0, 1)), axis=1).shape], [[], [0]]),
    ),
    Report(
        "mlx",
        4274,
        "argmax and argmin passed over NaN.",
        lambda: same(
            [
                [dl.argmax(tensor(x)), dl.argmin(tensor(x))]
                for x in ([3.0, NAN, 1.0, 5.0], [1.0, 2.0, NAN], [INF, NAN, -INF])
            ],
            [[1, 1], [2, 2], [1, 1]],
        ),
    ),
    Report(
        "mlx",
        4044,
        "Running maxima dropped NaN.",
        lambda: same(
            [dl.cumulative_max(tensor([1.0, 3.0, NAN, 5.0, 4.0])), dl.cumulative_min(tensor([4.0, NAN, 1.0]))],
            [[1.0, 3.0, NAN, NAN, NAN], [4.0, NAN, NAN]],
        ),
    ),
    Report("numpy", 10370, "min missed NaN in arrays of eight elements and more.", minimum_with_nan_anywhere),
    Report(
        "dask",
        773,
        "nanmax of a row was NaN when a part of it was all NaN.",
        lambda: same(dl.nanmax(tensor([[1.0, NAN], [NAN, 2.0]]), axis=1), [1.0, 2.0]),
    ),
    Report("dask", 8352, "nanmin failed when a part of the array had no selected elements.", least_of_selected),
    # median and quantiles
    Report(
        "numpy",
        22688,
        "nanmedian of two large float16 numbers was inf.",
        lambda: same(dl.median(tensor([[1.0, 4e4], [1.0, 4e4]], "float16"), axis=0), [1.0, 40000.0]),
    ),
    Report("pytorch", 38018, "The median of rows with many NaN was random.", median_of_many_nans),
    Report(
        "numpy",
        21091,
        "Quantiles between a number and an infinity were NaN.",
        lambda: same(
            [dl.quantile(tensor([1.0, 2.0, INF, INF]), 0.5), dl.quantile(tensor([-INF, -INF, 3.0, 4.0]), 0.5)],
            [INF, -INF],
        ),
    ),
    Report("numpy", 31487, "Quantiles of 65521 elements were NaN when q was float16.", quantile_of_small_type),
    Report(
        "numpy",
        18830,
        "NaN was accepted as a percentile.",
        lambda: refuses(ValueError, "from 0 to 1, got nan", lambda: dl.quantile(tensor([10.0, 9.0]), NAN)),
    ),
    Report(
        "polars",
        16996,
        "A quantile ignored NaN, which was not documented.",
        lambda: same(dl.quantile(tensor([0.0, 1.0, NAN]), 0.5), NAN),
    ),
    # order, search and sets
    Report(
        "numpy",
        24064,
        "The indices that sort equal elements depended on the processor.",
        lambda: same(dl.argsort(tensor([1000] * 6 + [0, 1000])), [6, 0, 1, 2, 3, 4, 5, 7]),
    ),
    Report(
        "numpy",
        21838,
        "NaN of float16 was not sorted to the end.",
        lambda: same(dl.sort(tensor([1.0, NAN, -1.0, NAN, 0.0], "float16")), [-1.0, 0.0, 1.0, NAN, NAN]),
    ),
    Report(
        "pytorch",
        117617,
        "NaN with a sign was sometimes the greatest and sometimes the least.",
        lambda: same(dl.sort(tensor([-NAN, 1.0, NAN, -INF])), [-INF, 1.0, NAN, NAN]),
    ),
    Report(
        "pytorch",
        16762,
        "topk of smallest elements gave inf instead of 3.",
        lambda: same(
            [dl.top_k(tensor([NAN, INF, INF, 3.0, INF]), 1, mode=m) for m in ("largest", "smallest")],
            [[[INF], [1]], [[3.0], [3]]],
        ),
    ),
    Report(
        "numpy",
        29727,
        "searchsorted compared uint64 and int64 as float64.",
        lambda: same(
            [
                dl.searchsorted(dl.arange(2**62, 2**62 + 100, dtype="uint64"), x)
                for x in (tensor([2**62 + 25], "int64"), 2**62 + 25)
            ],
            [[25], 25],
        ),
    ),
    Report(
        "pytorch",
        158738,
        "searchsorted placed inf behind NaN.",
        lambda: same(
            [
                dl.searchsorted(tensor([1.0, 3.0, NAN]), tensor([0.0, 2.0, 4.0, INF, NAN]), side=s)
                for s in ("left", "right")
            ],
            [[0, 1, 2, 2, 2], [0, 1, 2, 2, 3]],
        ),
    ),
    Report("pytorch", 60492, "searchsorted wrote to a strided out= as if it were contiguous.", search_into_strided_out),
    Report(
        "numpy",
        25435,
        "isin of int64 in one large uint64 number was an error.",
        lambda: same(dl.isin(tensor([0, 1], "int64"), tensor([2**63], "uint64")), [False, False]),
    ),
    Report(
        "pytorch",
        67432,
        "isin was wrong for strided tensors.",
        lambda: same(dl.isin(dl.arange(8)[::2], tensor([6, 5, 4, 0])[::-2]), [True, False, False, False]),
    ),
    Report(
        "pytorch",
        95583,
        "unique left equal elements apart when there were NaN.",
        lambda: same(
            dl.unique_values(tensor([0.0, NAN, 2.0, NAN, 2.0, 1.0, 0.0, 1.0, 2.0, 0.0])), [0.0, 1.0, 2.0, NAN, NAN]
        ),
    ),
    # comparisons of integers
    Report(
        "numpy",
        12525,
        "A uint64 number was not greater than the int64 number before it.",
        lambda: same(
            [
                tensor([2**60 + 1], "uint64") > tensor([2**60], "int64"),
                tensor([2**60], "uint64") == tensor([2**60 + 1], "int64"),
            ],
            [[True], [False]],
        ),
    ),
    Report(
        "numpy",
        14883,
        "0 and 2**63 became float64, which loses digits.",
        lambda: (
            refuses(OverflowError, "9223372036854775808 is outside int64", lambda: tensor([0, 2**63])),
            same(tensor([1, 2**63 + 1], "uint64"), [1, 2**63 + 1]),
        ),
    ),
    Report(
        "polars",
        16798,
        "The comparison of a large uint64 number with 0 had no value.",
        lambda: same(
            [tensor([2**63, 0], "uint64") >= 0, tensor([2**63, 0], "uint64") == 0], [[True, True], [False, True]]
        ),
    ),
    Report(
        "polars",
        8950,
        "The product of uint64 and int64 was float64.",
        lambda: (
            refuses(TypeError, "no dtype in common", lambda: tensor([2**63 + 1], "uint64") * tensor([1], "int64")),
            same(tensor([2**63 + 1], "uint64") * tensor([1], "uint8"), [2**63 + 1]),
        ),
    ),
    Report(
        "pytorch",
        114679,
        "1 of int8 was not less than 256.",
        lambda: same([tensor(1, "int8") < 256, tensor(1, "int8") > 256], [True, False]),
    ),
    Report("pytorch", 191458, "2**63 could not be assigned to an element of uint64.", assign_large_integer),
    # integer arithmetic at the limits
    Report(
        "pytorch",
        190042,
        "The least int32 divided by -1 ended the process.",
        lambda: same(tensor([-(2**31)], "int32") // tensor([-1], "int32"), [-(2**31)]),
    ),
    Report("numpy", 19045, "Some quotients of uint8 were wrong on x86.", every_quotient_of_uint8),
    Report(
        "polars",
        14647,
        "The remainder had the sign of the dividend.",
        lambda: same([tensor([-1]) % 3, tensor([2]) % -3], [[2], [-1]]),
    ),
    Report(
        "polars", 10570, "The remainder of -0.1 and 2 was negative.", lambda: same(tensor([-0.1], "float64") % 2, [1.9])
    ),
    Report(
        "numpy",
        2449,
        "Shifts by the number of bits changed nothing for int32 and int64.",
        lambda: same(
            [
                [
                    dl.bitwise_left_shift(tensor(8, t), n),
                    dl.bitwise_right_shift(tensor(8, t), n),
                    dl.bitwise_right_shift(tensor(-8, t), n),
                ]
                for t, n in (("int16", 16), ("int32", 32), ("int64", 64))
            ],
            [[0, 0, -1]] * 3,
        ),
    ),
    Report(
        "jax",
        10692,
        "2**64 of int8 was 1 in an array and 0 as a number.",
        lambda: same([tensor([2], "int8") ** tensor([64], "int8"), tensor(2, "int8") ** tensor(64, "int8")], [[0], 0]),
    ),
    # signs, NaN and rounding of floats
    Report(
        "pytorch",
        193755,
        "A remainder of zero had the sign of the dividend.",
        lambda: same(
            [dl.remainder(tensor([-1.0]), tensor([1.0])), dl.remainder(tensor([2.0]), tensor([-1.0]))], [[0.0], [-0.0]]
        ),
    ),
    Report(
        "pytorch",
        170178,
        "Floor division of a negative number by inf was -1.",
        lambda: same(dl.floor_divide(tensor([-2.3]), tensor([INF])), [-0.0]),
    ),
    Report("pytorch", 41245, "sign of NaN was 0.", lambda: same(dl.sign(tensor([NAN, -2.0])), [NAN, -1.0])),
    Report(
        "pytorch",
        53963,
        "signbit of -0.0 was False.",
        lambda: same(dl.signbit(tensor([-0.0, 0.0, -1.0])), [True, False, True]),
    ),
    Report(
        "numpy",
        13699,
        "Rounding to 5 digits was inf where 10**5 times the number overflows.",
        lambda: same(
            [dl.round(tensor([2.0], "float16"), decimals=5), dl.round(tensor([1e304], "float64"), decimals=5)],
            [[2.0], [1e304]],
        ),
    ),
    Report(
        "numpy",
        15977,
        "nextafter of inf towards 0 was NaN for float16.",
        lambda: same(dl.nextafter(tensor([INF], "float16"), tensor([0.0], "float16")), [65504.0]),
    ),
    Report(
        "pytorch",
        49724,
        "Sums of exponentials of -inf were NaN in some forms.",
        lambda: same(
            [
                dl.logaddexp(tensor([-INF]), tensor([-INF])),
                dl.logsumexp(tensor([-INF, -INF, 2.0])),
                dl.logsumexp(tensor([-INF, -INF])),
            ],
            [[-INF], 2.0, -INF],
        ),
    ),
    Report(
        "numpy",
        19097,
        "The Frobenius norm overflowed and underflowed.",
        lambda: same(
            [dl.linalg.norm(dl.full((2, 2), x, dtype="float64"), "fro") for x in (1e200, 1e-200)], [2e200, 2e-200]
        ),
    ),
    # complex numbers
    Report(
        "numpy",
        18378,
        "0 to a complex power was NaN.",
        lambda: same(tensor([0], "complex128") ** tensor([1 - 1j], "complex128"), [0j]),
    ),
    Report("pytorch", 52332, "1 / (inf+0j) was NaN.", lambda: same(1 / tensor([complex(INF, 0)]), [0j])),
    Report(
        "pytorch",
        92043,
        "Quotients of large complex numbers overflowed.",
        lambda: same(tensor([1e200 + 1e200j], "complex128") / tensor([1e200 + 1e200j], "complex128"), [1 + 0j]),
    ),
    Report("jax", 25679, "sign of inf+0j was NaN.", lambda: same(dl.sign(tensor([complex(INF, 0)])), [1 + 0j])),
    # arange and linspace
    Report(
        "numpy",
        17155,
        "The end of linspace up to the greatest int64 wrapped.",
        lambda: same(dl.linspace(0, INT64_MAX, 4, dtype="int64"), [INT64_MAX * i // 3 for i in range(4)]),
    ),
    Report(
        "numpy",
        31651,
        "linspace of integers from inf was the least int64.",
        lambda: refuses(OverflowError, "inf is outside int64", lambda: dl.linspace(INF, INF, 5, dtype="int64")),
    ),
    Report(
        "numpy",
        27985,
        "arange with a step of 54 bits lost its last element.",
        lambda: same(dl.arange(0, -9007199254740994, -9007199254740993), [0, -9007199254740993]),
    ),
    Report(
        "pytorch",
        80589,
        "arange of large integers held its end, and int32 and int64 differed.",
        lambda: same(
            [
                len(dl.arange(0, 144962911544046900, 1449629115440469)),
                dl.arange(-1.5, 1.5, dtype="int32"),
                dl.arange(-1.5, 1.5, dtype="int64"),
            ],
            [100, [-1, 0, 0], [-1, 0, 0]],
        ),
    ),
    Report("pytorch", 137774, "arange of bfloat16 was rounded twice.", arange_of_bfloat16),
    Report(
        "pytorch",
        81996,
        "linspace of integers depended on the width of the dtype.",
        lambda: same(
            [dl.bincount(dl.linspace(0, 4, 50, dtype=t)) for t in ("int8", "int16", "int32", "int64")],
            [[13, 12, 12, 12, 1]] * 4,
        ),
    ),
    # casts
    Report(
        "numpy",
        6109,
        "NaN became 0 as int16 and the least number as int32 and int64.",
        lambda: same([tensor([NAN, 1.0]).astype(t) for t in ("int16", "int32", "int64")], [[0, 1]] * 3),
    ),
    Report(
        "numpy",
        20728,
        "A cast to uint16 clamped or wrapped, depending on the length of the array.",
        lambda: same([dl.full(n, 68469.13).astype("uint16")[-1] for n in (1, 3, 64, 1000)], [65535] * 4),
    ),
    Report(
        "numpy",
        28317,
        "float(sys.maxsize) as an integer was the least one.",
        lambda: same(tensor([float(sys.maxsize)], "float64").astype("int64"), [INT64_MAX]),
    ),
    Report("jax", 5965, "Assigning NaN to an integer element stored the least integer.", assign_nan_to_integers),
    # clip
    Report(
        "numpy",
        24976,
        "clip of uint8 refused a limit of 4550.",
        lambda: same(
            [dl.clip(tensor([0, 255], "uint8"), 0, 4550), dl.clip(tensor([0, 255], "uint8"), -5, 100)],
            [[0, 255], [0, 100]],
        ),
    ),
    # histograms
    Report(
        "numpy",
        22238,
        "Bins between float16 numbers 65504 apart were an error.",
        lambda: same(dl.histogram(tensor([-30000.0, 35504.0], "float16"))[0], [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
    ),
    Report(
        "pytorch",
        85853,
        "NaN was counted in the first bin.",
        lambda: same(dl.histogram(tensor([NAN, 0.5, NAN, 1.0]), bins=2, range=(0, 1))[0], [0, 2]),
    ),
    Report(
        "pytorch",
        126021,
        "Elements outside a range of one number were counted.",
        lambda: same(dl.histogram(tensor([1.0, 2, 3, 3, 4, 5, 6, 7, 8]), 5, (7, 7))[0], [0, 0, 1, 0, 0]),
    ),
    # empty tensors, indices and shapes
    Report(
        "numpy",
        6089,
        "Tiling an array of no elements was an error.",
        lambda: same([dl.tile(dl.zeros((2, 0)), 2), dl.tile(dl.zeros((2, 0)), 2).shape], [[[], []], [2, 0]]),
    ),
    Report(
        "cupy",
        3017,
        "take with uint8 indices read outside the array.",
        lambda: (
            refuses(IndexError, "256 is out of range", lambda: dl.take(dl.arange(256), tensor([256]))),
            same(
                [dl.take(dl.arange(256), tensor([150], "uint8")), dl.take(dl.arange(256), tensor([-1], "int8"))],
                [[150], [255]],
            ),
        ),
    ),
    Report("h5py", 870, "Reading no elements into an array divided by zero.", read_empty_into_out),
    Report("zarr", 1977, "Assigning to an array of no elements was an error.", fill_empty),
    Report("zarr", 1976, "Arrays without dimensions could not be stored.", store_number_of_no_dimensions),
    Report("numpy", 5907, "einsum wrote wrong elements of a strided out= of another dtype.", einsum_into_strided_out),
    # memory that is read and written at once
    Report("numpy", 6119, "Adding the transpose in place was wrong from 90 rows on.", add_transposed_large),
    Report(
        "numpy",
        16749,
        "It was not said whether shifted views of one array may be subtracted in place.",
        differences_in_place,
    ),
    Report(
        "numpy",
        26844,
        "Indices in the memory that is assigned to changed during the assignment.",
        indices_in_the_written_memory,
    ),
    Report("numpy", 11467, "Assignment with strided indices wrote to other elements.", strided_indices),
    Report(
        "numpy",
        23457,
        "Adding at more than 8192 narrow indices began again at the first value.",
        add_at_many_narrow_indices,
    ),
    Report("numpy", 25197, "Masked elements of a mask were taken as true.", masked_mask),
    # exchange and lifetimes
    Report(
        "numpy",
        20742,
        "A read-only array could not be exported, and the error had the wrong type.",
        read_only_stays_read_only,
    ),
    Report("pytorch", 5442, "A tensor of a read-only array could be written to.", write_to_read_only),
    Report(
        "numpy",
        20336,
        "Arrays with an odd stride of an axis of one element could not be exported.",
        strides_of_no_meaning,
    ),
    Report(
        "jax",
        17784,
        "A transposed array was imported in the order of its memory.",
        lambda: same(
            [dl.from_dlpack(np.arange(4).reshape(2, 2).T), dl.from_dlpack(np.arange(4).reshape(2, 2).T)[0, 1]],
            [[[0, 2], [1, 3]], 2],
        ),
    ),
    Report(
        "pytorch",
        188023,
        "An array with negative strides ended the process.",
        lambda: same(dl.from_dlpack(np.arange(6).reshape(2, 3)[:, ::-1]), [[2, 1, 0], [5, 4, 3]]),
    ),
    Report("cupy", 10172, "A negative stride was exported as a large one.", negative_strides_exported),
    Report(
        "cudf",
        10849,
        "Strides of 0 and 2 were not respected.",
        lambda: same(
            [dl.from_dlpack(np.arange(10)[::2]), dl.from_dlpack(np.broadcast_to(np.arange(2)[1], (4,)))],
            [[0, 2, 4, 6, 8], [1, 1, 1, 1]],
        ),
    ),
    Report("dlpack", 51, "The name of a consumed capsule was not specified.", capsule_is_taken_once),
    Report("jax", 4636, "A tensor could be exported once only.", two_exports_of_one_tensor),
    Report("cupy", 1443, "The deleter of an imported tensor was never called.", deleter_is_called),
    Report("cudf", 2400, "Memory of exported tensors was not released.", deleter_is_called_for_unused_capsules),
    Report(
        "numpy",
        25220,
        "An array that was unpickled from read-only buffers was writable.",
        pickle_with_read_only_buffers,
    ),
    Report(
        "array-api-compat",
        173,
        "The conjugate of a tensor could not be exported.",
        lambda: same(np.from_dlpack(dl.conj(tensor([1 + 2j]))).tolist(), [1 - 2j]),
    ),
    # byte order and files
    Report("h5py", 1729, "Big-endian integers were read as little-endian.", load_big_endian),
    Report("zarr", 3005, "Big-endian arrays could not be read.", import_big_endian),
    Report(
        "mlx",
        3363,
        "Offsets of a safetensors file that do not fit the shape were not refused.",
        offsets_that_do_not_fit_the_shape,
    ),
    Report(
        "safetensors", 414, "A file of another format was reported as a header that is too large.", zip_file_of_torch
    ),
    Report("safetensors", 668, "The refusal of a header of 126 MB did not name the limit.", header_above_the_limit),
    Report("safetensors", 601, "A file with metadata alone could not be read.", metadata_alone),
    Report("safetensors", 469, "A transposed tensor could not be saved.", save_transposed),
    Report(
        "safetensors", 164, "A file could not be replaced by tensors that were mapped from it.", save_over_a_mapped_file
    ),
    Report(
        "numpy", 22435, "An open file was read wrongly after another was saved under its name.", save_over_an_open_file
    ),
    Report("numpy", 14202, "An array in a file had fewer bytes than its header says.", load_cut_off),
    # threads
    Report(
        "numpy", 18124, "Members of an open file that are read at once had wrong checksums.", read_members_in_threads
    ),
    Report("numpy", 28197, "repeat in several threads ended the process.", repeat_in_threads),
    # random numbers
    Report(
        "NumSharp",
        490,
        "choice without replacement drew an entry twice.",
        lambda: same(len(set(dl.random.Generator(0).choice(71, 40, replace=False).tolist())), 40),
    ),
    Report("numpy", 16066, "Integers below 2**32 were always 0.", integers_below_a_power_of_two),
    Report("numpy", 9256, "Integers of the whole range of uint64 were an error.", integers_of_the_whole_range),
]


# Checks with another package, which each of them imports.
def torch_transposed():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    imported = dl.from_dlpack(torch.arange(6).reshape(2, 3).moveaxis(1, 0))
    same([imported, imported[1, 0]], [[[0, 3], [1, 4], [2, 5]], 1])


def torch_axis_of_one_element():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = dl.from_dlpack(torch.ones(3, 1, 2)) + dl.from_dlpack(torch.ones(3, 1, 2))
    same(x, [[[2.0, 2.0]], [[2.0, 2.0]], [[2.0, 2.0]]])


def torch_conjugated():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    same(dl.asarray(torch.tensor([1 + 2j]).conj()), [1 - 2j])


def torch_bool():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    exported = torch.from_dlpack(tensor([True, False]))
    same([str(exported.dtype), exported.tolist()], ["torch.bool", [True, False]])
    same(dl.from_dlpack(torch.tensor([1, 2, 3]) > 2), [False, False, True])


def torch_view_with_offset():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    same(torch.from_dlpack(dl.arange(10)[3:]).tolist(), [3, 4, 5, 6, 7, 8, 9])


def arrow_slice_of_bits():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    sliced = pa.array([True, False, True, True, True, False, False, True]).slice(3, 5)
    same(dl.from_arrow(sliced), [True, True, False, False, True])


def arrow_computed_bits():
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pyarrow as pa
    import pyarrow.compute as pc

    both = pc.and_(pa.array([True] * 48 + [False] * 48), pa.array([True, False] * 48))
    same(dl.count_nonzero(dl.from_arrow(both)), 24)


REPORTS_WITH_PEERS = [
    Report("jax", 7657, "Elements of a transposed tensor were found in the order of its memory.", torch_transposed),
    Report("jax", 25066, "Tensors with an axis of one element could not be added.", torch_axis_of_one_element),
    Report("pytorch", 59945, "The conjugate bit of a tensor was ignored.", torch_conjugated),
    Report("pytorch", 114673, "Tensors of bool could not be exchanged.", torch_bool),
    Report("pytorch", 168177, "The byte offset of a tensor was ignored.", torch_view_with_offset),
    Report("arrow", 51223, "The offset of a slice of bits was ignored.", arrow_slice_of_bits),
    Report("arrow", 41016, "Counting the true elements of a computed array ended the process.", arrow_computed_bits),
]


def name(report):
    return f"{report.project}-{report.number}"


def test_every_report_stands_once():
    names = [name(report) for report in REPORTS + REPORTS_WITH_PEERS]
    assert len(set(names)) == len(names)
    assert {report.project for report in REPORTS + REPORTS_WITH_PEERS} == set(REPOSITORIES)


@pytest.mark.parametrize("report", REPORTS, ids=name)
def test_what_was_wrong_there_is_right_here(report):
    report.check()


@pytest.mark.peers
@pytest.mark.parametrize("report", REPORTS_WITH_PEERS, ids=name)
def test_what_was_wrong_there_is_right_here_with_peers(report):
    report.check()
