# SPDX-License-Identifier: Apache-2.0
"""Tensors as arrays of pyarrow and back: the same memory, the types that pyarrow sees, tables, files."""

import gc

import numpy as np
import pytest

import dltensor as dl

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")


@pytest.mark.parametrize("name", ["int8", "uint16", "int32", "uint64", "float16", "float32", "float64"])
def test_an_array_of_numbers_is_the_same_memory_both_ways(name):
    t = dl.arange(5).astype(name)
    a = pa.array(t)
    assert str(a.type) == {"float16": "halffloat", "float32": "float", "float64": "double"}.get(name, name)
    assert (a.buffers()[1].address, a.null_count, a.to_pylist()) == (t.data_ptr, 0, t.tolist())
    a.validate(full=True)
    back = dl.from_arrow(a[1:4])
    assert (back.data_ptr, back.readonly, back.tolist()) == (t[1:].data_ptr, True, t[1:4].tolist())


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 3, 1), (0, 3, 1, 2), (0, 3, 2, 1), (0, 1, 3, 2)])
def test_tensors_of_more_dimensions_are_fixed_shape_tensors(order):
    t = dl.permute_dims(dl.arange(120).reshape(2, 3, 4, 5), order)
    a = pa.array(t)
    a.validate(full=True)
    assert isinstance(a, pa.FixedShapeTensorArray)
    assert a.storage.values.buffers()[1].address == t.data_ptr
    if order[1:] not in ((2, 3, 1), (3, 1, 2)):  # examples/upstream/pyarrow_permutation.py
        assert a.to_numpy_ndarray().tolist() == t.tolist()
    back = dl.from_arrow(a)
    assert (back.data_ptr, back.strides, back.tolist()) == (t.data_ptr, t.strides, t.tolist())


def test_fixed_shape_tensors_of_pyarrow_come_in():
    n = np.arange(24.0).reshape(3, 2, 4)
    a = pa.FixedShapeTensorArray.from_numpy_ndarray(n)
    assert dl.from_arrow(a).tolist() == n.tolist()
    assert dl.from_arrow(a[1:]).tolist() == n[1:].tolist()
    lists = pa.FixedSizeListArray.from_arrays(pa.FixedSizeListArray.from_arrays(pa.array(range(24)), 2), 3)
    assert dl.from_arrow(lists[1:]).tolist() == lists[1:].to_pylist()


def test_booleans():
    t = dl.asarray([True, False, True])
    a = pa.array(t)
    assert (a.type, a.to_pylist()) == (pa.bool_(), [True, False, True])
    assert pa.array([1, 2, 3]).filter(a).to_pylist() == [1, 3]
    assert pa.array(t, type=pa.int8()).buffers()[1].address == t.data_ptr
    a = pa.Array._import_from_c_capsule(*t.__arrow_c_array__(pa.bool8().__arrow_c_schema__()))
    assert (str(a.type), a.storage.buffers()[1].address) == ("extension<arrow.bool8>", t.data_ptr)
    assert dl.from_arrow(a).data_ptr == t.data_ptr
    bits = pa.array([True, False, True, True] * 7)
    for part in (bits, bits[3:], bits[9:11], bits[:0]):
        assert dl.from_arrow(part).tolist() == part.to_pylist()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: pa.array([1, None]), BufferError),
        (lambda: pa.array(["a"]), TypeError),
        (lambda: pa.array([[1], [2, 3]]), TypeError),
        (lambda: pa.array([1, 2]).dictionary_encode(), TypeError),
        (lambda: pa.chunked_array([[1], [2]]), ValueError),
        (lambda: pa.chunked_array([["a"]]), TypeError),
        (lambda: pa.table({"a": [1]}), TypeError),
        (lambda: pa.array([{"a": 1}]), TypeError),
        (lambda: pa.array([None]), TypeError),
        (lambda: pa.array([1], pa.timestamp("s")), TypeError),
    ],
)
def test_other_arrays_are_refused(make, error):
    with pytest.raises(error, match="from_arrow"):
        dl.from_arrow(make())


def test_chunked_arrays():
    parts = [dl.arange(6.0).reshape(3, 2), dl.arange(4.0).reshape(2, 2)]
    chunked = pa.chunked_array([pa.array(part) for part in parts])
    assert dl.from_arrow(chunked, copy=True).tolist() == chunked.combine_chunks().storage.to_pylist()
    one = dl.from_arrow(chunked.slice(3))
    assert (one.data_ptr, one.tolist()) == (parts[1].data_ptr, parts[1].tolist())
    empty = dl.from_arrow(pa.chunked_array([], type=pa.int16()))
    assert (empty.shape, empty.dtype) == ((0,), dl.int16)
    column = pa.table({"x": pa.array(parts[0])}).column("x")
    assert dl.from_arrow(column).data_ptr == parts[0].data_ptr


def test_device_arrays():
    t = dl.arange(6).reshape(3, 2)
    a = pa.Array._import_from_c_device_capsule(*t.__arrow_c_device_array__())
    assert (a.storage.values.buffers()[1].address, a.storage.to_pylist()) == (t.data_ptr, t.tolist())

    class Device:
        def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
            return a.__arrow_c_device_array__(requested_schema, **kwargs)

    back = dl.from_arrow(Device())
    assert (back.data_ptr, back.tolist()) == (t.data_ptr, t.tolist())


def test_a_mapped_file_is_a_tensor_without_a_copy(tmp_path):
    t = dl.arange(30.0).reshape(10, 3)
    table = pa.table({"x": pa.array(t), "y": pa.array(dl.arange(10))})
    with pa.OSFile(str(tmp_path / "file"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    mapped = pa.ipc.open_file(pa.memory_map(str(tmp_path / "file"))).read_all()
    before = dl.debug.live_bytes()
    x, y = (dl.from_arrow(mapped.column(i).chunk(0)) for i in range(2))
    assert dl.debug.live_bytes() == before
    assert (x.tolist(), y.tolist()) == (t.tolist(), list(range(10)))
    del mapped, table
    gc.collect()
    assert float(x.sum()) == 435


def test_nothing_is_left_behind():
    gc.collect()
    before = dl.debug.live_blocks(), pa.total_allocated_bytes()
    for _ in range(200):
        a = pa.array(dl.zeros((3, 4)))
        b, values = dl.from_arrow(a), a.storage.values
        del a
        assert values.to_pylist() == b.reshape(-1).tolist()
        del b, values
    gc.collect()
    assert (dl.debug.live_blocks(), pa.total_allocated_bytes()) == before


@pytest.mark.parametrize(
    "make",
    [
        lambda: pa.array([1, None]),
        lambda: pa.array([1.5, None]),
        lambda: pa.array([True, None]),
        lambda: pa.chunked_array([[1], [None]]),
        lambda: pa.table({"a": [1, None], "b": [1, 2]}),
        lambda: pa.record_batch({"a": [1.0, None]}),
    ],
)
@pytest.mark.parametrize("call", [dl.asarray, lambda x: dl.asarray(x, copy=True), dl.sum, lambda x: dl.ones(2) + x])
def test_nulls_are_refused_the_same_way_everywhere(make, call):
    with pytest.raises(BufferError, match="null"):
        call(make())


def test_asarray_takes_columns_and_tables():
    assert dl.asarray(pa.array([True, False])).tolist() == [True, False]
    assert dl.asarray(pa.chunked_array([[1, 2], [3]])).tolist() == [1, 2, 3]
    assert dl.asarray(pa.table({"a": [1, 2], "b": [3, 4]})).tolist() == [[1, 3], [2, 4]]
    with pytest.raises(ValueError, match="copy=False"):
        dl.asarray(pa.array([True, False]), copy=False)
    with pytest.raises(BufferError, match="refused"):
        dl.from_dlpack(pa.array([True, None]))
