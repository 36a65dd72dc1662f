# SPDX-License-Identifier: Apache-2.0
"""Arrays of ours in the real library: blocks, gradients, maps, merging, files, and two copies of it at once.

Numbers in names are those of the acceptance list. The library's own test suites are not part of its package; what is
asked of an array there is asked here through its public interface.
"""

import ctypes
import gc
import json
import os
import shutil
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import native_building as build
import numpy as np
import pytest

import dltensor as dl
from dltensor import opaque

pytestmark = pytest.mark.peers
mts = pytest.importorskip("metatensor", reason="needs metatensor-core")

FRAMEWORKS = {
    "numpy": lambda a: a,
    "torch": lambda a: pytest.importorskip("torch").from_numpy(a),
    "jax": lambda a: pytest.importorskip("jax.numpy").asarray(a),
    "ours": dl.asarray,
}
SAVED = [
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "complex64",
    "complex128",
]


@pytest.fixture(autouse=True)
def values_of_ours():
    opaque.register_metatensor()


def labels(name, n):
    return opaque.metatensor_labels(name, np.arange(n, dtype=np.int32).reshape(n, 1))


def block(values, **more):
    first, *between, last = np.shape(values) if not hasattr(values, "shape") else values.shape
    components = [labels(f"c{i}", n) for i, n in enumerate(between)]
    return opaque.metatensor_block(values, labels("s", first), components, labels("p", last), **more)


def tensor_map(make, gradient=True, dtype="f4"):
    blocks, values = [], []
    for i in range(2):
        a = (np.arange(18).reshape(3, 2, 3) + 100 * i).astype(dtype)
        values.append(a.copy())
        one = block(make(a))
        if gradient:
            rows = opaque.metatensor_labels(["sample", "g"], [[0, i], [2, i]])
            one.add_gradient(
                "x",
                opaque.metatensor_block(
                    make(np.full((2, 2, 3), 7 + i, dtype)), rows, [labels("c0", 2)], labels("p", 3)
                ),
            )
        blocks.append(one)
    return mts.TensorMap(labels("k", 2), blocks), values


def array(values):
    return np.asarray(values)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_39_42_blocks_gradients_and_maps(framework):
    made = FRAMEWORKS[framework](np.arange(6, dtype="f4").reshape(2, 3))
    one = block(made)
    assert type(one.values) is dl.Tensor
    assert one.values.data_ptr == dl.asarray(made).data_ptr
    tensor, values = tensor_map(FRAMEWORKS[framework])
    for i in range(2):
        assert np.array_equal(array(tensor[i].values), values[i])
        assert np.array_equal(array(tensor[i].gradient("x").values), np.full((2, 2, 3), 7 + i))
    assert tensor.copy()[0].values.data_ptr != tensor[0].values.data_ptr


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_39_keys_to_properties(framework):
    tensor, values = tensor_map(FRAMEWORKS[framework])
    (got,) = tensor.keys_to_properties("k").blocks()
    assert np.array_equal(array(got.values), np.concatenate(values, axis=2))
    gradient = array(got.gradient("x").values)
    assert gradient.shape == (4, 2, 6)
    assert sorted(set(gradient.ravel())) == [0, 7, 8]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_39_keys_to_samples_and_components_to_properties(framework):
    tensor, values = tensor_map(FRAMEWORKS[framework])
    (got,) = tensor.keys_to_samples("k").blocks()
    rows = array(got.values)
    assert np.array_equal(rows, np.stack(values, axis=1).reshape(6, 2, 3))
    moved = tensor.components_to_properties("c0")
    assert np.array_equal(array(moved[1].values), values[1].reshape(3, 6))


def merged(tensor, fill):
    """keys_to_properties with a fill of ours: the wrapper's own fill goes through NumPy, which lacks some dtypes."""
    library = mts._c_lib._get_library()
    struct = type(tensor[0]._raw_values).from_buffer_copy(ctypes.string_at(fill.release(), 104))
    move = opaque.metatensor_labels("k", np.empty((0, 1), np.int32))
    return mts.TensorMap.unsafe_from_ptr(
        library.mts_tensormap_keys_to_properties(tensor._ptr, move.as_mts_labels_t(), struct, True)
    )


def blocks_fill(one, number):
    raw = one._raw_values
    return opaque.hold(ctypes.addressof(raw), owner=one).create((), number)


def test_42_merging_fills_with_any_dtype():
    for dtype in ("bfloat16", "float8_e4m3fn", "float16", "int8", "complex64"):
        blocks = []
        for i in range(2):
            values = dl.zeros((1, 2), dtype="float32" if "complex" not in dtype else dtype).astype(dtype)
            blocks.append(opaque.metatensor_block(values, opaque.metatensor_labels("s", [[i]]), [], labels("p", 2)))
        fill = blocks_fill(blocks[0], 2)
        got = merged(mts.TensorMap(labels("k", 2), blocks), fill)[0]
        assert str(got.values.dtype) == dtype
        wide = got.values.astype("complex64" if "complex" in dtype else "float32")
        assert wide.tolist() == [[0, 0, 2, 2], [2, 2, 0, 0]]


@pytest.mark.parametrize("like", ["numpy", "torch"])
def test_42_values_as_another_type(like):
    kind = np.ndarray if like == "numpy" else pytest.importorskip("torch").Tensor
    opaque.register_metatensor(kind)
    made = FRAMEWORKS[like](np.arange(6, dtype="f4").reshape(2, 3))
    one = block(made)
    assert one.values is made
    assert str(one.dtype).endswith("float32")
    tensor, _ = tensor_map(FRAMEWORKS["ours"])
    assert isinstance(tensor[0].values, kind)
    with pytest.raises(TypeError, match="register_metatensor"):
        opaque.register_metatensor("numpy")


def test_42_values_outlive_the_block():
    tensor, values = tensor_map(dl.asarray)
    (got,) = tensor.keys_to_samples("k").blocks()
    kept = got.values
    del tensor, got
    gc.collect()
    assert np.array_equal(array(kept), np.stack(values, axis=1).reshape(6, 2, 3))


def test_43_origins_do_not_mix_and_are_named():
    one, other = block(dl.zeros((2, 3))), block(dl.zeros((2, 3)), origin="another.origin")
    with pytest.raises(mts.MetatensorError, match=r"dltensor.*another\.origin|another\.origin.*dltensor"):
        mts.TensorMap(labels("k", 2), [one, other])


def test_44_a_refused_map_leaves_its_inputs_alone():
    before = opaque.live_arrays()
    one = block(dl.zeros((2, 3)))
    with pytest.raises(mts.MetatensorError, match=r"shape|samples"):
        opaque.metatensor_block(dl.zeros((2, 3)), labels("s", 5), [], labels("p", 3))
    with pytest.raises(TypeError, match=r"metatensor\.Labels"):
        opaque.metatensor_block(dl.zeros((2, 3)), [0, 1], [], labels("p", 3))
    assert array(one.values).shape == (2, 3)
    del one
    gc.collect()
    # Labels of this version of the library are never freed, so only they may remain.
    assert opaque.live_arrays() - before <= 6


@pytest.mark.parametrize("dtype", SAVED)
def test_45_save_and_load(dtype, tmp_path):
    tensor, values = tensor_map(dl.asarray, dtype="?" if dtype == "bool" else dtype)
    path = tmp_path / "values.mts"
    mts.save(str(path), tensor)
    back = opaque.metatensor_load(path)
    assert str(back[0].values.dtype) == dtype
    for i in range(2):
        assert np.array_equal(array(back[i].values), values[i])
        assert np.array_equal(array(back[i].gradient("x").values), array(tensor[i].gradient("x").values))


@pytest.mark.parametrize(
    "values",
    [np.arange(48.0).reshape(6, 8)[::2, ::4][:, ::-1], np.zeros((0, 2)), np.arange(6.0).reshape(2, 3).T],
    ids=["negative strides", "no samples", "transposed"],
)
def test_45_save_and_load_of_any_layout(values, tmp_path):
    path = tmp_path / "values.mts"
    mts.save(str(path), mts.TensorMap(labels("k", 1), [block(values)]))
    assert np.array_equal(array(opaque.metatensor_load(path)[0].values), values)


def test_45_what_cannot_be_loaded_says_so(tmp_path):
    with pytest.raises(mts.MetatensorError):
        opaque.metatensor_load(tmp_path / "nothing.mts")


def test_40_their_wrapper_may_be_replaced_by_ours(monkeypatch):
    from metatensor import _block, _c_api

    def create(values):
        made = opaque.OpaqueArray(values)
        return _c_api.mts_array_t.from_buffer_copy(ctypes.string_at(made.release(), 104))

    opaque.register_metatensor(np.ndarray)
    monkeypatch.setattr(_block._data, "create_mts_array", create)
    a = np.arange(6.0).reshape(2, 3)
    names = mts.Labels("s", np.arange(2).reshape(2, 1)), mts.Labels("p", np.arange(3).reshape(3, 1))
    one = mts.TensorBlock(a, names[0], [], names[1])
    assert one.values is a
    both = mts.TensorMap(mts.Labels("k", np.arange(2).reshape(2, 1)), [one.copy(), one.copy()])
    assert np.array_equal(both.keys_to_properties("k")[0].values, np.concatenate([a, a], axis=1))


def test_40_labels_are_asked_like_theirs():
    opaque.register_metatensor(np.ndarray)  # what their comparisons understand
    ours, theirs = labels("s", 4), mts.Labels("s", np.arange(4, dtype=np.int32).reshape(4, 1))
    assert ours == theirs
    assert ours.position([2]) == 2
    assert ours.union(theirs) == theirs
    for bad, error in (([[0, 1]], ValueError), ([[0.5]], TypeError)):
        with pytest.raises(error, match="metatensor_labels"):
            opaque.metatensor_labels("s", bad)
    with pytest.raises(mts.MetatensorError, match="same"):
        opaque.metatensor_labels("s", [[1], [1]])


CPP = r"""
#include <metatensor.hpp>
template <class T> static mts_array_t make(std::vector<uintptr_t> shape) {
  size_t n = 1;
  for (auto d : shape) n *= d;
  std::vector<T> values;
  for (size_t i = 0; i < n; ++i) values.push_back(T(i));
  auto array = std::make_unique<metatensor::SimpleDataArray<T>>(shape, values);
  return metatensor::DataArrayBase::to_mts_array(std::move(array)).release();
}
extern "C" void array_of(int which, mts_array_t* out) {
  switch (which) {
    case 0: *out = make<float>({2, 3}); break;
    case 1: *out = make<double>({2, 3}); break;
    case 2: *out = make<int8_t>({2, 3}); break;
    case 3: *out = make<int16_t>({2, 3}); break;
    case 4: *out = make<int32_t>({2, 3}); break;
    case 5: *out = make<int64_t>({2, 3}); break;
    case 6: *out = make<uint8_t>({2, 3}); break;
    case 7: *out = make<uint16_t>({2, 3}); break;
    case 8: *out = make<uint32_t>({2, 3}); break;
    case 9: *out = make<uint64_t>({2, 3}); break;
  }
}
"""


@pytest.fixture(scope="module")
def cpp_arrays(tmp_path_factory):
    build.require("g++")
    folder, root = tmp_path_factory.mktemp("cpp"), Path(mts.__file__).parent
    (folder / "arrays.cc").write_text(CPP)
    build.run(
        [
            build.tool("g++"),
            "-std=c++17",
            "-shared",
            "-fPIC",
            f"-isystem{root}/include",
            folder / "arrays.cc",
            f"-L{root}/lib",
            "-lmetatensor",
            f"-Wl,-rpath,{root}/lib",
            "-o",
            folder / "arrays.so",
        ]
    )
    return ctypes.CDLL(str(folder / "arrays.so"))


@pytest.mark.parametrize(
    ("which", "dtype"),
    list(enumerate(["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])),
)
def test_35_41_arrays_of_their_cpp_classes(cpp_arrays, which, dtype):
    torch = pytest.importorskip("torch")
    made = (ctypes.c_uint64 * 13)()
    cpp_arrays.array_of(which, ctypes.byref(made))
    held = opaque.hold(ctypes.addressof(made), take=True)
    assert (held.shape, str(held.dtype), str(held.device)) == ((2, 3), dtype, "cpu")
    assert held.origin == "metatensor::SimpleDataArray"
    t = held.tensor()
    address = t.data_ptr
    del held  # the tensor keeps it
    gc.collect()
    assert array(t).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert dl.into(t, torch.Tensor).data_ptr() == t.numpy().ctypes.data == address
    taken = (ctypes.c_uint64 * 13)()
    cpp_arrays.array_of(which, ctypes.byref(taken))
    row = opaque.from_pointer(ctypes.addressof(taken), take=True)[1]
    assert row.tolist() == [3, 4, 5]


def test_35_labels_of_the_core_are_read_only():
    tensor, _ = tensor_map(dl.asarray)
    merged = tensor.keys_to_samples("k")[0].samples
    raw = merged._raw_values
    values = opaque.from_pointer(ctypes.addressof(raw), owner=merged)
    assert values.shape == (6, 2)
    assert values.readonly


def test_29_crossing_the_interface_lets_go_of_the_gil():
    # Another thread counts while this one is inside the library.
    tensor = mts.TensorMap(labels("k", 100), [block(np.full((100, 4, 100), float(i))) for i in range(100)])
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)  # no thread is made to release the GIL
    try:
        thread.start()
        before = counted[0]
        tensor.keys_to_properties("k")
        after = counted[0]
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        thread.join()
    assert after > before


def test_08_46_two_copies_keep_their_origins_and_errors_apart(tmp_path):
    copy = tmp_path / "libmetatensor.so"
    shutil.copy(Path(mts.__file__).parent / "lib" / "libmetatensor.so", copy)
    code = """
    import ctypes, sys
    import metatensor as mts, numpy as np, dltensor as dl
    from metatensor import _c_api, _c_lib
    first = _c_lib._get_library()
    second = ctypes.CDLL(sys.argv[1]); _c_api.setup_functions(second)
    from metatensor._c_api import mts_array_t as Struct
    def last(lib):
        text = ctypes.c_char_p(); lib.mts_last_error(ctypes.byref(text), None, None); return text.value.decode()
    def struct(x, keep=[]):
        keep.append(dl.opaque.OpaqueArray(x)); return Struct.from_buffer_copy(ctypes.string_at(keep[-1].release(), 104))
    number = ctypes.c_uint64()
    for i in range(5): second.mts_register_data_origin(f"only here {i}".encode(), ctypes.byref(number))
    for lib, other in ((first, second), (second, first)):
        lib.mts_set_last_error(b"clean", None, None, ctypes.CFUNCTYPE(None, ctypes.c_void_p)())
        name = (ctypes.c_char_p * 1)(b"s")
        one = lib.mts_labels(name, 1, struct(np.arange(2, dtype=np.int32).reshape(2, 1)))
        view = struct(np.zeros((2, 2))); end, ptr = view.destroy, view.ptr
        held = dl.opaque.hold(ctypes.addressof(view), take=True)
        view.destroy = type(view.destroy)()
        block = lib.mts_block(view, one, None, 0, one)
        del held
        before = last(other)
        print(bool(lib.mts_block_copy(block)), "destroyed" in last(lib), last(other) == before)
    names = []
    for lib in (first, second):
        buffer = ctypes.create_string_buffer(100); ours = ctypes.c_uint64()
        lib.mts_register_data_origin(b"dltensor", ctypes.byref(ours)); names.append(ours.value)
    print(names[0] != names[1])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), copy], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == ["False True True", "False True True", "True"]


def test_47_48_the_benchmark_measures_every_goal(tmp_path):
    build.require("g++")
    made = tmp_path / "rows.json"
    done = subprocess.run(
        [sys.executable, build.ROOT / "benchmarks" / "bench_opaque.py", "--rounds", "2", "--json", made],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=os.environ,
    )
    assert done.returncode in (0, 1), done.stderr  # 1: a goal was missed, which so short a run may
    rows = {row["row"]: row for row in json.loads(made.read_text())}
    goals = [(row, peer) for row in rows.values() for peer, _ in row["goals"]]
    assert len(goals) == 10
    assert all(
        row["nanoseconds"]["dltensor"] > 0 and (peer is None or row["nanoseconds"][peer] > 0) for row, peer in goals
    )


def test_25_torch_tensors_that_are_more_than_memory():
    torch = pytest.importorskip("torch")
    with_gradient = torch.ones(3, requires_grad=True)
    lazy = torch.tensor([1 + 2j]).conj()
    held = opaque.OpaqueArray(with_gradient)
    assert held.unwrap() is with_gradient
    assert held.tensor().data_ptr == with_gradient.data_ptr()
    with pytest.raises(BufferError, match="requires grad"):
        dl.asarray(with_gradient)
    assert opaque.OpaqueArray(lazy).tensor().tolist() == [1 - 2j]
    assert opaque.OpaqueArray(lazy).unwrap() is not lazy
    for bad in (torch.ones(2, 2).to_sparse(), torch.ones(2, device="meta")):
        with pytest.raises((BufferError, TypeError, ValueError, RuntimeError, NotImplementedError)):
            opaque.OpaqueArray(bad)


@pytest.mark.parametrize("module", ["torch", "jax.numpy", "pyarrow"])
def test_09_10_37_arrays_of_other_frameworks(module):
    peer = pytest.importorskip(module)
    made = peer.arange(4) if module == "torch" else peer.array([0, 1, 2, 3])
    held = opaque.OpaqueArray(made)
    assert held.unwrap() is made
    assert held.tensor().tolist() == [0, 1, 2, 3]
    assert held.tensor().readonly == (module != "torch")
    assert held.create((2,), 1).tensor().tolist() == [1, 1]
    assert not held.copy().tensor().readonly
