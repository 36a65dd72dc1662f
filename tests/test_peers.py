# SPDX-License-Identifier: Apache-2.0
"""Exchange with the frameworks themselves: torch, jax, tvm-ffi, pyarrow, array-api-strict."""

import gc
import sys
import threading

import numpy as np
import pytest
from native_tools import run_with_pyarrow_25

import dltensor as dl

pytestmark = pytest.mark.peers


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture
def jax():
    pytest.importorskip("jax", reason="jax is not installed")
    import jax

    return jax


@pytest.fixture
def tvm_ffi():
    return pytest.importorskip("tvm_ffi", reason="apache-tvm-ffi is not installed")


TORCH_DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex32",
    "complex64",
    "complex128",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
]


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("dtype", TORCH_DTYPES)
def test_every_torch_dtype_shares_memory_both_ways(torch, dtype):
    theirs = torch.zeros((2, 3), dtype=getattr(torch, dtype))
    ours = dl.from_dlpack(theirs)
    assert str(ours.dtype) == dtype
    assert ours.data_ptr == theirs.data_ptr()
    back = dl.into(ours, torch.Tensor)
    assert back.dtype == theirs.dtype
    assert back.data_ptr() == theirs.data_ptr()
    assert dl.as_dtype(theirs.dtype) == ours.dtype


@pytest.mark.parametrize("dtype", TORCH_DTYPES)
def test_dtypes_equal_those_of_torch_on_both_sides(torch, dtype):
    theirs = getattr(torch, dtype)
    assert dl.DTYPES[dtype] == theirs
    assert theirs == dl.DTYPES[dtype]
    assert [name for name, ours in dl.DTYPES.items() if ours == theirs] == [dtype]
    assert dl.DTYPES[dtype] != torch.qint8


def test_dtypes_equal_those_of_jax(jax):
    for name in ("bool", "int8", "uint64", "float32", "bfloat16", "complex64"):
        assert dl.DTYPES[name] == getattr(jax.numpy, name)
        assert dl.zeros(1, dtype=getattr(jax.numpy, name)).dtype == name


def test_ufuncs_and_operators_beside_torch_tensors_give_tensors(torch):
    theirs, ours = torch.ones(3), dl.asarray([1.0, 2.0, 3.0])
    for made in (np.add(ours, theirs), np.add(theirs, ours), theirs + ours, ours + theirs):
        assert type(made) is dl.Tensor
        assert made.tolist() == [2, 3, 4]


def test_a_torch_dtype_without_an_equivalent_is_refused_with_a_remedy(torch):
    with pytest.raises(TypeError, match=r"zeros: torch.qint8 has no DLPack equivalent; .* dequantize\(\)"):
        dl.zeros(2, dtype=torch.qint8)


def test_a_torch_view_comes_in_with_its_strides(torch):
    theirs = torch.arange(24).reshape(2, 3, 4).permute(2, 0, 1)[1:]
    ours = dl.from_dlpack(theirs)
    assert ours.strides == theirs.stride()
    assert ours.tolist() == theirs.tolist()


def test_a_conjugated_torch_view_is_resolved(torch):
    theirs = torch.tensor([1 + 2j, 3 - 4j]).conj()
    ours = dl.from_dlpack(theirs)
    assert ours.tolist() == [1 - 2j, 3 + 4j]
    assert ours.flags & dl.Flags.IS_COPIED
    with pytest.raises(BufferError, match="resolve_conj"):
        dl.from_dlpack(theirs, copy=False)


def test_a_negated_torch_view_has_the_right_sign(torch):
    theirs = torch.tensor([1 + 2j, 3 - 4j]).conj().imag
    assert dl.from_dlpack(theirs).tolist() == [-2, 4]
    assert dl.asarray(theirs).tolist() == [-2, 4]


def test_negative_strides_are_refused_before_torch_can_abort(torch):
    with pytest.raises(BufferError, match="negative strides"):
        dl.into(dl.asarray([1, 2, 3])[::-1], torch.Tensor)


def test_torch_is_warned_about_what_it_ignores(torch):
    code = (
        "import torch, warnings, dltensor as dl\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        "    dl.into(dl.asarray(b'abc'), torch.Tensor); dl.into(dl.asarray(b'abc'), torch.Tensor)\n"
        "print([str(w.message)[:40] for w in seen])"
    )
    import subprocess

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "['into: torch ignores that the tensor is r']", done.stderr


def test_a_torch_tensor_lives_as_long_as_its_last_view(torch):
    theirs = torch.arange(4)
    ours = dl.from_dlpack(theirs)[1:]
    del theirs
    gc.collect()
    assert ours.tolist() == [1, 2, 3]


def test_our_memory_lives_as_long_as_the_torch_tensor(torch):
    before = dl.from_dlpack(np.zeros(1))
    ours = dl.asarray([1, 2, 3])
    theirs = torch.from_dlpack(ours)
    del ours, before
    gc.collect()
    assert theirs.tolist() == [1, 2, 3]


def test_torch_deleters_run_on_threads_without_the_gil(torch):
    kept = [torch.from_dlpack(dl.from_dlpack(np.full(3, i))) for i in range(200)]
    threads = [threading.Thread(target=kept.clear) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kept == []


def test_jax_arrays_come_in_read_only(jax):
    theirs = jax.numpy.arange(6.0).reshape(2, 3)
    ours = dl.from_dlpack(theirs)
    assert ours.tolist() == theirs.tolist()
    assert ours.data_ptr == theirs.unsafe_buffer_pointer()
    assert ours.readonly


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float16", "int32", "bool"])
def test_jax_takes_our_tensors(jax, dtype):
    ours = dl.from_dlpack(jax.numpy.zeros((2, 3), dtype), copy=True)
    theirs = jax.dlpack.from_dlpack(ours)
    assert str(theirs.dtype) == dtype
    assert dl.into(ours, jax.Array).shape == (2, 3)


def test_tvm_ffi_goes_through_our_table(tvm_ffi):
    ours = dl.asarray([[1.0, 2.0], [3.0, 4.0]])
    theirs = tvm_ffi.from_dlpack(ours)
    assert np.from_dlpack(theirs).ctypes.data == ours.data_ptr
    back = dl.from_dlpack(theirs)
    assert back.tolist() == ours.tolist()


@pytest.fixture
def read_only():
    """A tensor of the alignment that jax shares, which may not be written to."""
    memory = dl.arange(1024, dtype="float32")
    return dl.wrap(memory.data_ptr, memory.shape, memory.dtype, owner=memory, readonly=True)


def test_read_only_tensors_go_to_jax_without_a_copy(jax, read_only):
    theirs = dl.into(read_only, jax.Array)
    assert theirs.unsafe_buffer_pointer() == read_only.data_ptr
    assert dl.from_dlpack(theirs).readonly


def test_views_of_jax_arrays_go_back(jax):
    theirs = jax.numpy.arange(6.0).reshape(2, 3)
    back = dl.into(dl.from_dlpack(theirs), type(theirs))
    assert back.unsafe_buffer_pointer() == theirs.unsafe_buffer_pointer()


@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
def test_jax_does_not_write_to_read_only_memory_that_it_is_told_to_reuse(jax, read_only):
    theirs = dl.into(read_only, jax.Array)
    jax.jit(lambda x: x * 2 + 1, donate_argnums=0)(theirs).block_until_ready()
    assert read_only.tolist() == list(range(1024))


def test_tensorflow_takes_read_only_tensors_and_does_not_write_to_them(read_only):
    tensorflow = pytest.importorskip("tensorflow", reason="tensorflow is not installed")
    variable = tensorflow.Variable(dl.into(read_only, tensorflow.Tensor))
    variable.assign_add(tensorflow.ones(1024))
    assert variable.numpy().tolist() == list(range(1, 1025))
    assert read_only.tolist() == list(range(1024))


def test_buffers_of_nanoarrow_come_in_read_only():
    nanoarrow = pytest.importorskip("nanoarrow", reason="nanoarrow is not installed")
    theirs = nanoarrow.c_buffer([1.0, 2.0], nanoarrow.float32()).view()
    ours = dl.from_dlpack(theirs)
    assert (ours.tolist(), ours.readonly) == ([1.0, 2.0], True)


def test_arrays_of_pyarrow_come_in_read_only():
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    theirs = pyarrow.array([1.0, 2.0])
    ours = dl.from_dlpack(theirs)
    assert (ours.data_ptr, ours.readonly) == (theirs.buffers()[1].address, True)


def test_arrays_of_pyarrow_25_come_in_read_only():
    done = run_with_pyarrow_25(
        "import dltensor as dl, pyarrow\n"
        "theirs = pyarrow.array([1.0, 2.0])\n"
        "ours = dl.from_dlpack(theirs)\n"
        "print(pyarrow.__version__[:2], ours.data_ptr == theirs.buffers()[1].address, ours.readonly, ours.tolist())"
    )
    assert done.stdout == "25 True True [1.0, 2.0]\n", done.stderr


def test_pyarrow_tensors_come_in():
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    theirs = pyarrow.Tensor.from_numpy(np.arange(6.0).reshape(2, 3))
    ours = dl.from_dlpack(theirs)
    assert ours.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_array_api_strict_goes_both_ways():
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    theirs = strict.asarray([[1.0, 2.0]])
    assert dl.from_dlpack(theirs).tolist() == [[1, 2]]
    assert strict.from_dlpack(dl.asarray([[1.0, 2.0]])).shape == (1, 2)


def test_our_table_gives_the_same_object_kind_back(torch):
    ours = dl.asarray([1.0, 2.0])
    theirs = dl.into(ours, torch.Tensor)
    assert dl.from_dlpack(theirs).data_ptr == ours.data_ptr
