# SPDX-License-Identifier: Apache-2.0
"""Files: what is saved is loaded again, by NumPy too; lazily, mapped or read. See also test_files_hostile.py."""

import json
import os
import subprocess
import sys
import threading
import zipfile

import ml_dtypes
import numpy as np
import pytest

import dltensor as dl
from dltensor._core.types import DTYPES
from dltensor.io import _sources
from dltensor.io._safetensors_header import DTYPES as SAFETENSORS

assert ml_dtypes  # np.load knows its names once it is imported
OF_SAFETENSORS = set(SAFETENSORS.values())
FORMATS = ("npy", "npz", "safetensors")


def sample(name, shape=(3, 4)):
    """Some values of a type, a part of them not zero."""
    count = int(np.prod(shape))
    bits = dl.asarray(np.arange(1, 1 + 16 * count, dtype=np.uint8))
    dtype = DTYPES[name]
    if name == "bool":
        return dl.asarray(np.arange(count) % 3 == 0).reshape(*shape)
    nbytes = (count * dtype.bits + 7) // 8
    from dltensor._core.views import from_raw

    return from_raw(bits[:nbytes].copy(), shape, dtype)


def same(a, b):
    """Whether two tensors have one type, shape and the same bits; packed or a byte each."""
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return False
    if a.dtype.bits < 8:
        a, b = a.astype(a.dtype, padded=False), b.astype(b.dtype, padded=False)
    return a.tobytes() == b.tobytes()


# -- every type through every format ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mmap", ["auto", True, False])
@pytest.mark.parametrize("name", DTYPES)
def test_every_named_type_round_trips_through_npy_and_npz(tmp_path, name, mmap):
    x = sample(name)
    for order in (x, x.T):
        dl.save(tmp_path / "a.npy", order)
        dl.save(tmp_path / "a.npz", {"x": order})
        for loaded in (dl.load(tmp_path / "a.npy", mmap=mmap), dl.load(tmp_path / "a.npz", mmap=mmap)["x"]):
            assert same(loaded, order)
            assert loaded.readonly == (mmap is not False)


@pytest.mark.parametrize("name", DTYPES)
def test_numpy_reads_every_named_type_that_is_saved(tmp_path, name):
    try:
        expected = np.dtype(name)
    except TypeError:
        pytest.skip(f"neither NumPy nor this ml_dtypes has {name}")
    x = sample(name)
    for order in (x, x.T):
        dl.save(tmp_path / "a.npy", order)
        loaded = np.load(tmp_path / "a.npy")
        assert loaded.dtype == expected
        assert same(dl.asarray(loaded), order)
        dl.save(tmp_path / "a.npz", {"x": order})
        assert same(dl.asarray(np.load(tmp_path / "a.npz")["x"]), order)


@pytest.mark.parametrize("name", sorted(OF_SAFETENSORS))
@pytest.mark.parametrize("mmap", [True, False])
def test_every_type_of_safetensors_round_trips(tmp_path, name, mmap):
    x, path = sample(name, (4, 8)), tmp_path / "a.safetensors"
    dl.save(path, {"x": x, "t": x.T, "none": dl.zeros((0, 3)), "one": x[:1, :8]})
    loaded = dl.load(path, mmap=mmap)
    assert list(loaded) == ["x", "t", "none", "one"]
    assert same(loaded["x"], x)
    assert same(loaded["t"], x.T.copy())
    assert same(loaded["one"], x[:1])
    assert loaded["none"].shape == (0, 3)
    assert len(OF_SAFETENSORS) == len(SAFETENSORS) == 22
    assert loaded["x"].readonly == mmap


def test_views_of_a_mapped_file_are_not_copied(tmp_path):
    dl.save(tmp_path / "a.safetensors", {"a": dl.zeros(64), "b": dl.ones(64)})
    loaded = dl.load(tmp_path / "a.safetensors")
    assert loaded["a"].same_memory(loaded["b"])
    assert loaded["b"].data_ptr - loaded["a"].data_ptr == 256
    read = dl.load(tmp_path / "a.safetensors", mmap=False)
    assert not read["a"].same_memory(read["b"])


@pytest.mark.parametrize("name", sorted(set(DTYPES) - OF_SAFETENSORS))
def test_what_safetensors_lacks_is_refused_by_name(tmp_path, name):
    with pytest.raises(TypeError, match=rf"'x' has elements of type {name}, which .safetensors"):
        dl.save(tmp_path / "a.safetensors", {"x": sample(name)})
    assert os.listdir(tmp_path) == []


def test_elements_that_end_inside_a_byte_are_refused_in_safetensors(tmp_path):
    with pytest.raises(ValueError, match="3 elements of 4 bits, which end inside a byte"):
        dl.save(tmp_path / "a.safetensors", {"x": sample("float4_e2m1fn", (3,))})


def test_padded_elements_are_packed_in_safetensors_and_on_demand_from_npy(tmp_path):
    x = sample("float4_e2m1fn", (4, 2))
    dl.save(tmp_path / "a.npy", x)
    padded = dl.load(tmp_path / "a.npy")
    assert dl.Flags.IS_SUBBYTE_TYPE_PADDED in padded.flags
    assert padded.nbytes == 8
    packed = dl.load(tmp_path / "a.npy", packed=True)
    assert packed.nbytes == 4
    dl.save(tmp_path / "a.safetensors", {"x": padded})
    assert dl.load(tmp_path / "a.safetensors")["x"].tobytes() == x.tobytes() == packed.tobytes()


def test_elements_begin_at_multiples_of_256_where_the_padding_is_small(tmp_path):
    tensors = {f"t{n}": dl.zeros(n, dtype="uint8") for n in (1, 256, 3, 512, 7, 0, 4096, 5000)} | {
        "f": dl.zeros(5, dtype="float64")
    }
    for name in ("a.npz", "a.safetensors"):
        dl.save(tmp_path / name, tensors)
        with dl.open_file(tmp_path / name) as f:
            offsets = {one: f.info(one).offset for one in f.names}
        if name == "a.npz":
            assert offsets["t4096"] % 256 == offsets["t5000"] % 256 == 0
            assert {offset % 16 for offset in offsets.values()} == {0}
        else:
            assert offsets["t256"] % 256 == offsets["t512"] % 256 == offsets["t4096"] % 256 == 0
            assert offsets["f"] % 8 == 0
    dl.save(tmp_path / "a.npy", dl.zeros(3))
    with dl.open_file(tmp_path / "a.npy") as f:
        assert f.info("arr_0").offset == 256


def test_archives_of_small_tensors_are_no_larger_than_those_of_numpy(tmp_path):
    arrays = {f"layer.{n}.bias": np.zeros(10, "f4") for n in range(100)}
    np.savez(tmp_path / "numpy.npz", **arrays)
    dl.save(tmp_path / "ours.npz", arrays)
    assert os.path.getsize(tmp_path / "ours.npz") <= os.path.getsize(tmp_path / "numpy.npz")


def test_small_tensors_are_written_by_few_calls_of_the_system(tmp_path, monkeypatch):
    calls, write = [], os.write
    monkeypatch.setattr(os, "write", lambda file, data: calls.append(len(data)) or write(file, data))
    for name in ("a.npz", "a.safetensors"):
        calls.clear()
        dl.save(tmp_path / name, {str(n): dl.zeros(10) for n in range(1000)})
        assert len(calls) <= sum(calls) // 65536 + 2


@pytest.mark.parametrize("code", [">i2", ">i8", ">u4", ">f2", ">f8", ">c8", ">c16"])
@pytest.mark.parametrize("mmap", [True, False])
def test_big_endian_elements_are_swapped(tmp_path, code, mmap):
    array = (np.arange(12).reshape(3, 4) * 257).astype(code)
    for one in (array, np.asfortranarray(array), array[:0]):
        np.save(tmp_path / "a.npy", one)
        loaded = dl.load(tmp_path / "a.npy", mmap=mmap)
        assert loaded.tolist() == one.tolist()
        assert loaded.dtype == array.dtype.newbyteorder("=")
        assert loaded.readonly == mmap


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4"])
def test_raw_elements_as_numpy_writes_them_need_a_type(tmp_path, name):
    array = np.arange(6).astype(name)
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(TypeError, match="have lost their type; name it"):
        dl.load(tmp_path / "a.npy")
    loaded = dl.load(tmp_path / "a.npy", dtype=name)
    assert loaded.tolist() == array.astype("f4").tolist()
    with pytest.raises(TypeError, match=r"raw elements of . bytes are not of type float64"):
        dl.load(tmp_path / "a.npy", dtype="float64")


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.array(["a"]), "text"),
        (np.array([b"a"]), "bytes"),
        (np.array([1, None]), "Python objects"),
        (np.zeros(2, "M8[s]"), "dates"),
        (np.zeros(2, "m8[s]"), "times"),
        (np.zeros(2, [("a", "i4")]), "structured"),
        (np.zeros(2, "V7"), "elements of type '|V7'".replace("|", r"\|")),
        (np.zeros(2, np.longdouble), "elements of type '<f16'"),
    ],
)
def test_elements_without_a_counterpart_are_refused_by_name(tmp_path, array, words):
    np.save(tmp_path / "a.npy", array, allow_pickle=True)
    with pytest.raises(TypeError, match=words):
        dl.load(tmp_path / "a.npy")
    np.savez(tmp_path / "a.npz", good=np.zeros(2), bad=array)
    with pytest.raises(TypeError, match=f"'bad'.*{words}"):
        dl.load(tmp_path / "a.npz")
    assert dl.load(tmp_path / "a.npz", names=["good"])["good"].tolist() == [0, 0]


def test_archives_of_numpy_are_read_stored_and_compressed(tmp_path):
    arrays = {"a": np.arange(1000), "b": np.asfortranarray(np.random.default_rng(1).normal(size=(30, 20))),
              "empty": np.zeros((0, 2)), "scalar": np.array(3.5), "folder/x": np.ones(3, ">i4")}  # fmt: skip
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", **arrays)
        for mmap in (True, False, "auto"):
            loaded = dl.load(tmp_path / "a.npz", mmap=mmap)
            assert list(loaded) == list(arrays)
            assert all(np.array_equal(loaded[name].numpy(), arrays[name]) for name in arrays)


def test_other_versions_of_the_npy_header_are_read(tmp_path):
    array = np.arange(6, dtype="<i4").reshape(2, 3)
    for version in ((1, 0), (2, 0), (3, 0)):
        with open(tmp_path / "a.npy", "wb") as file:
            np.lib.format.write_array(file, array, version=version)
        assert dl.load(tmp_path / "a.npy").tolist() == array.tolist()
    text = b"{\"shape\": (2L, 3L), 'fortran_order':False,'descr' : '<i4'}\n"
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + array.tobytes())
    assert dl.load(tmp_path / "a.npy").tolist() == array.tolist()


# -- opening and loading ----------------------------------------------------------------------------------------------


def test_an_open_file_tells_names_shapes_and_metadata_without_reading(tmp_path):
    tensors = {"w": sample("bfloat16", (4, 8)), "b": dl.arange(3)}
    dl.save(tmp_path / "a.safetensors", tensors, metadata={"step": "7", "é": "ü"})
    with dl.open_file(tmp_path / "a.safetensors") as f:
        assert (f.format, f.names, f.metadata, len(f)) == ("safetensors", ["w", "b"], {"step": "7", "é": "ü"}, 2)
        assert f.info("w")[:3] == (dl.bfloat16, (4, 8), 64)
        assert "w" in f
        assert 3 not in f
        assert list(f) == f.keys() == ["w", "b"]
        assert {name: t.tolist() for name, t in dict(f).items()} == {name: t.tolist() for name, t in tensors.items()}
        with pytest.raises(KeyError, match="no tensor is named 'x'; the file has 'w', 'b'"):
            f["x"]
    assert "(closed)" in repr(f)
    with pytest.raises(ValueError, match="the file is closed"):
        f["w"]


def test_names_choose_tensors_in_their_order(tmp_path):
    dl.save(tmp_path / "a.npz", {"a": dl.zeros(1), "b": dl.ones(1), "c": dl.zeros(2)})
    assert list(dl.load(tmp_path / "a.npz", names=("c", "a"))) == ["c", "a"]
    with pytest.raises(KeyError, match="no tensor is named 'z'"):
        dl.load(tmp_path / "a.npz", names=["a", "z"])
    with pytest.raises(TypeError, match=r"write \['a'\]"):
        dl.load(tmp_path / "a.npz", names="a")
    dl.save(tmp_path / "a.npy", dl.zeros(1))
    with pytest.raises(ValueError, match=r"a .npy file has one"):
        dl.load(tmp_path / "a.npy", names=["a"])


def test_dtype_converts_and_device_moves(tmp_path):
    dl.save(tmp_path / "a.safetensors", {"a": dl.arange(4)})
    assert dl.load(tmp_path / "a.safetensors", dtype="float32", device="cpu")["a"].dtype == dl.float32


@pytest.mark.parametrize("form", FORMATS)
def test_read_writes_to_out(tmp_path, form):
    x, path = dl.arange(12).reshape(3, 4), tmp_path / f"a.{form}"
    dl.save(path, x if form == "npy" else {"x": x})
    with dl.open_file(path) as f:
        out = dl.zeros((3, 4), dtype="int64")
        assert f.read(out=out) is out
        strided, other, array = dl.zeros((4, 3), dtype="int64").T, dl.zeros((3, 4)), np.zeros((3, 4))
        for target in (strided, other, array):
            assert f.read(f.names[0], out=target) is target
        for got in (out, strided, other, array):
            assert got.tolist() == x.tolist()
        own = f.read()
        own[0, 0] = 5
        assert f.read().tolist() == x.tolist()
        with pytest.raises(ValueError, match=r"out must have shape \(3, 4\), got \(2, 2\)"):
            f.read(out=dl.zeros((2, 2)))
        with pytest.raises(ValueError, match="out is read-only"):
            f.read(out=f[f.names[0]])


def test_closing_with_live_views_is_refused_and_the_end_of_with_is_not(tmp_path):
    path = tmp_path / "a.safetensors"
    dl.save(path, {"a": dl.arange(4), "b": dl.zeros(2)})
    f = dl.open_file(path)
    view = f["a"]
    with pytest.raises(BufferError, match="cannot be closed while tensors share its memory"):
        f.close()
    assert f["b"].tolist() == [0, 0]
    del view
    f.close()
    f.close()
    with dl.open_file(path) as f:
        kept = f["a"]
    assert kept.tolist() == [0, 1, 2, 3]


class CloseBeside:
    """Closes a file within the first read of its elements and opens another one, which may get its descriptor."""

    def __init__(self, monkeypatch, close, other):
        self.close, self.other, self.file, self.preadv = close, other, None, os.preadv
        monkeypatch.setattr(os, "preadv", self)

    def __call__(self, file, buffers, offset):
        if self.file is None:
            self.close()
            self.file = os.open(self.other, os.O_RDONLY)
        return self.preadv(file, buffers, offset)


@pytest.mark.parametrize("form", [*FORMATS, "compressed npz"])
@pytest.mark.parametrize("how", ["close", "end of with", "deletion"])
def test_a_read_beside_which_the_file_is_closed_gives_its_own_elements(tmp_path, monkeypatch, form, how):
    path, other, x = tmp_path / "a", tmp_path / "b", np.random.default_rng(1).integers(0, 2**62, 10_000)
    other.write_bytes(b"\xff" * 200_000)
    if form == "compressed npz":
        np.savez_compressed(path.with_suffix(".npz"), x=x)
        path = path.with_suffix(".npz")
    else:
        dl.save(path, x if form == "npy" else {"x": x}, format=form)
    f, before = dl.open_file(path, mmap=False), len(os.listdir("/proc/self/fd"))
    f.info(f.names[0])
    files = [f]
    close = {"close": f.close, "end of with": lambda: f.__exit__(None, None, None), "deletion": files.clear}[how]
    read = f.read
    if how == "deletion":
        del f  # the bound method refers to the file as long as it runs
    beside = CloseBeside(monkeypatch, close, other)
    assert read().tolist() == x.tolist()
    os.close(beside.file)
    if how != "deletion":
        assert len(os.listdir("/proc/self/fd")) == before - 1
        with pytest.raises(ValueError, match="the file is closed"):
            read()


@pytest.mark.parametrize(
    "call",
    [lambda f: f["x"], lambda f: f.info("x"), lambda f: f.read("x", out=dl.zeros(1000, dtype="int64"))],
    ids=["item", "info", "read"],
)
def test_calls_beside_which_the_file_is_closed_use_it_to_their_end(tmp_path, monkeypatch, call):
    other = tmp_path / "b"
    other.write_bytes(b"\xff" * 100_000)
    dl.save(tmp_path / "a.npz", {"x": np.arange(1000)})
    f = dl.open_file(tmp_path / "a.npz", mmap=False)
    beside = CloseBeside(monkeypatch, f.close, other)
    result = call(f)
    os.close(beside.file)
    assert result.shape == (1000,)
    assert isinstance(result, dl.io.TensorInfo) or result.tolist() == list(range(1000))
    with pytest.raises(ValueError, match="the file is closed"):
        call(f)


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_that_is_closed_while_it_is_mapped_gives_its_tensor(tmp_path, monkeypatch, form):
    from dltensor.io import _mapping

    dl.save(tmp_path / "a", dl.arange(9) if form == "npy" else {"x": dl.arange(9)}, format=form)
    f, map_file = dl.open_file(tmp_path / "a"), _mapping.map_file

    def closing(*arguments):
        f.close()
        return map_file(*arguments)

    monkeypatch.setattr(_mapping, "map_file", closing)
    assert f[f.names[0]].tolist() == list(range(9))
    with pytest.raises(ValueError, match="the file is closed"):
        f[f.names[0]]


def test_a_forked_process_reads_and_closes_a_file_that_another_thread_was_reading(tmp_path, monkeypatch):
    dl.save(tmp_path / "a.npy", dl.arange(1000))
    f, inside, finish, preadv = (
        dl.open_file(tmp_path / "a.npy", mmap=False),
        threading.Event(),
        threading.Event(),
        os.preadv,
    )

    def waiting(file, buffers, offset):
        if threading.current_thread() is not threading.main_thread():
            inside.set()
            assert finish.wait(60)
        return preadv(file, buffers, offset)

    monkeypatch.setattr(os, "preadv", waiting)
    thread = threading.Thread(target=f.read)
    thread.start()
    assert inside.wait(60)
    child = os.fork()
    if child == 0:
        right = f.read().tolist() == list(range(1000))
        f.close()
        os._exit(0 if right else 1)
    status = os.waitpid(child, 0)[1]
    finish.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0


def test_an_error_that_is_kept_does_not_keep_the_file_open(tmp_path):
    dl.save(tmp_path / "a.npy", dl.arange(1000))
    before = len(os.listdir("/proc/self/fd"))
    f = dl.open_file(tmp_path / "a.npy", mmap=False)
    os.truncate(tmp_path / "a.npy", 500)
    with pytest.raises(ValueError, match="the file is cut off") as kept:
        f.read()
    f.close()
    assert len(os.listdir("/proc/self/fd")) == before
    assert kept.value is not None


def test_no_descriptor_is_kept(tmp_path):
    dl.save(tmp_path / "a.npy", dl.zeros(1000))
    dl.save(tmp_path / "a.npz", {"a": dl.zeros(1000)})
    before = len(os.listdir("/proc/self/fd"))
    kept = [dl.load(tmp_path / name) for name in ("a.npy", "a.npz") for _ in range(50)]
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY\x01\x00\xff")
    for _ in range(50):
        with pytest.raises(ValueError, match=r"bad\.npy"):
            dl.load(tmp_path / "bad.npy")
    assert len(os.listdir("/proc/self/fd")) == before
    assert len(kept) == 100


def test_a_consumer_that_ignores_read_only_changes_its_own_pages_only(tmp_path):
    path = tmp_path / "a.npy"
    dl.save(path, dl.zeros(1024))
    code = f"""
import ctypes, dltensor as dl
t, other = dl.load({str(path)!r}), dl.load({str(path)!r})
ctypes.memset(t.data_ptr, 0x3F, 16)
assert t[0].item() != 0 and other[0].item() == 0 and dl.load({str(path)!r}, mmap=False)[0].item() == 0
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_threads_load_and_save_at_once(tmp_path):
    errors = []

    def work(number):
        try:
            for turn in range(30):
                path = tmp_path / f"{number % 2}.safetensors"  # two threads save to each
                dl.save(path, {"a": dl.full(100, turn), "b": dl.full(7, turn)})
                loaded = dl.load(path)
                assert loaded["a"][0].item() == loaded["b"][0].item()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(os.listdir(tmp_path)) == ["0.safetensors", "1.safetensors"]


def test_network_file_systems_are_read_and_not_mapped(tmp_path, monkeypatch):
    from dltensor.io import _mapping

    dl.save(tmp_path / "a.npz", {"a": dl.zeros(100), "b": dl.zeros(100)})
    monkeypatch.setattr(_mapping, "is_remote", lambda file: True)
    loaded = dl.load(tmp_path / "a.npz")
    assert not loaded["a"].same_memory(loaded["b"])
    assert loaded["a"].readonly
    mapped = dl.load(tmp_path / "a.npz", mmap=True)
    assert mapped["a"].same_memory(mapped["b"])


# -- saving -----------------------------------------------------------------------------------------------------------


def test_an_existing_file_is_replaced_and_its_readers_keep_the_old_one(tmp_path):
    path = tmp_path / "a.npy"
    dl.save(path, dl.zeros(1000))
    os.chmod(path, 0o640)
    old = dl.load(path)
    dl.save(path, dl.ones(3), fsync=True)
    assert old.shape == (1000,)
    assert old.sum().item() == 0
    assert dl.load(path).tolist() == [1, 1, 1]
    assert os.stat(path).st_mode & 0o777 == 0o640
    dl.save(path, dl.load(path))  # over the file that its own tensor is mapped from
    assert dl.load(path).tolist() == [1, 1, 1]
    assert os.listdir(tmp_path) == ["a.npy"]


def test_a_symbolic_link_is_followed(tmp_path):
    dl.save(tmp_path / "a.npy", dl.zeros(1))
    os.symlink("a.npy", tmp_path / "link.npy")
    dl.save(tmp_path / "link.npy", dl.ones(1))
    assert os.path.islink(tmp_path / "link.npy")
    assert dl.load(tmp_path / "a.npy").tolist() == [1]


def test_a_file_system_without_nameless_files_gets_a_temporary_one(tmp_path, monkeypatch):
    import errno

    opened = os.open

    def refuse(path, flags, *mode, **more):
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, "not supported")
        return opened(path, flags, *mode, **more)

    monkeypatch.setattr(os, "open", refuse)
    dl.save(tmp_path / "a.npy", dl.ones(3))
    assert dl.load(tmp_path / "a.npy").tolist() == [1, 1, 1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", lambda *names: (_ for _ in ()).throw(ValueError("replaced")))
        with pytest.raises(ValueError, match="replaced"):
            dl.save(tmp_path / "a.npy", dl.zeros(3))
    assert os.listdir(tmp_path) == ["a.npy"]
    assert dl.load(tmp_path / "a.npy").tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("name", "value", "keywords", "error", "words"),
    [
        ("a.txt", dl.zeros(1), {}, ValueError, "suffix must be .npy, .npz or .safetensors"),
        ("npy", dl.zeros(1), {}, ValueError, "suffix must be"),
        ("a.npy", {"a": dl.zeros(1)}, {}, TypeError, "a .npy file holds one tensor"),
        ("a.npz", dl.zeros(1), {}, TypeError, "holds a dictionary of tensors, got Tensor"),
        ("a.npz", {3: dl.zeros(1)}, {}, TypeError, "names must be str, got 3"),
        ("a.npz", {"a\0b": dl.zeros(1)}, {}, ValueError, "has a NUL"),
        ("a.npz", {"a": dl.zeros(1)}, {"metadata": {"a": "b"}}, ValueError, "hold no metadata"),
        ("a.safetensors", {"__metadata__": dl.zeros(1)}, {}, ValueError, "is taken by the metadata"),
        ("a.safetensors", {"\ud800": dl.zeros(1)}, {}, ValueError, "half of a surrogate pair"),
        ("a.safetensors", {"a": dl.zeros(1)}, {"metadata": {"a": 1}}, TypeError, "metadata must hold str"),
        ("a.safetensors", {"a": dl.zeros(1)}, {"metadata": "a"}, TypeError, "metadata must be a dictionary"),
        ("a.npy", dl.zeros(1), {"format": "pickle"}, ValueError, "format must be one of"),
        ("a.npz", {"a": object()}, {}, TypeError, "save: expected numbers"),
    ],
)
def test_what_cannot_be_saved_is_refused_before_a_file_is_made(tmp_path, name, value, keywords, error, words):
    with pytest.raises(error, match=words):
        dl.save(tmp_path / name, value, **keywords)
    assert os.listdir(tmp_path) == []


def test_array_likes_are_saved_and_format_overrides_the_suffix(tmp_path):
    dl.save(tmp_path / "a.bin", [[1, 2], [3, 4]], format="npy")
    assert np.load(tmp_path / "a.bin").tolist() == [[1, 2], [3, 4]]
    dl.save(str(tmp_path / "b.npz").encode(), {"x": np.arange(3)[::-1]})
    assert np.load(tmp_path / "b.npz")["x"].tolist() == [2, 1, 0]


def test_the_header_of_safetensors_is_plain_json_in_the_order_of_the_caller(tmp_path):
    dl.save(tmp_path / "a.safetensors", {"z": dl.zeros(3), 'ü"': dl.zeros(64)}, metadata={"k": "v"})
    raw = (tmp_path / "a.safetensors").read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    assert (8 + length) % 256 == 0
    assert header == {
        "__metadata__": {"k": "v"},
        "z": {"dtype": "F32", "shape": [3], "data_offsets": [256, 268]},
        'ü"': {"dtype": "F32", "shape": [64], "data_offsets": [0, 256]},
    }
    assert list(dl.load(tmp_path / "a.safetensors")) == ["z", 'ü"']


def test_an_archive_is_one_that_others_read(tmp_path):
    dl.save(tmp_path / "a.npz", {"a": dl.zeros(3), "b/c": dl.ones(2)})
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["a.npy", "b/c.npy"]
    before = (tmp_path / "a.npz").read_bytes()
    dl.save(tmp_path / "a.npz", {"a": dl.zeros(3), "b/c": dl.ones(2)})
    assert (tmp_path / "a.npz").read_bytes() == before
    dl.save(tmp_path / "none.npz", {})
    assert dl.load(tmp_path / "none.npz") == {}
    dl.save(tmp_path / "none.safetensors", {})
    assert dl.load(tmp_path / "none.safetensors") == {}


# -- raw bytes --------------------------------------------------------------------------------------------------------


def test_raw_bytes_are_mapped_in_four_modes(tmp_path):
    path = tmp_path / "raw"
    t = dl.memmap(path, (3, 4), "int16", mode="w+")
    assert t.sum().item() == 0
    t[1] = 7
    again = dl.memmap(path, (3, 4), "int16", mode="r+")
    assert again.tolist() == t.tolist()
    again[0, 0] = 3
    assert t[0, 0].item() == 3
    private = dl.memmap(path, 12, "int16", mode="c")
    private[:] = 9
    view = dl.memmap(path, (2, 4), "int16", offset=8)
    assert view.readonly
    assert view.tolist() == [[7] * 4, [0] * 4]
    assert dl.memmap(path, 4, "int16")[0].item() == 3
    assert dl.memmap(path, 0, "int16").shape == (0,)
    assert dl.memmap(path, 3, "float32", offset=5).shape == (3,)
    dl.memmap(path, 2, "uint8", mode="w+")
    assert t[1, 0].item() == 7  # of the file that was replaced
    assert os.path.getsize(path) == 2


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"mode": "w"}, ValueError, "mode must be one of r, r\\+, c, w\\+"),
        ({"offset": -1}, ValueError, "offset must be from 0"),
        ({"offset": 2**62}, ValueError, "ends at byte"),
        ({"offset": 2**63}, ValueError, "offset must be from 0"),
        ({"offset": 1.5}, TypeError, "float"),
        ({"shape": 17}, ValueError, r"shape \(17,\) of uint8 ends at byte 17, the file at 16"),
        ({"shape": (-1,)}, ValueError, "must be at least 0"),
        ({"shape": (2**62, 2**62)}, ValueError, "2\\^63"),
        ({"shape": "ab"}, TypeError, "shape must be"),
        ({"path": 3}, TypeError, "path must be a str"),
        ({"path": "missing"}, FileNotFoundError, "missing"),
    ],
)
def test_raw_bytes_that_cannot_be_mapped_are_refused(tmp_path, arguments, error, words):
    path = tmp_path / "raw"
    path.write_bytes(bytes(16))
    given = {"path": path, "shape": 4, "dtype": "uint8"} | arguments
    with pytest.raises(error, match=words):
        dl.memmap(given.pop("path"), given.pop("shape"), given.pop("dtype"), **given)


def test_progress_is_shown_on_a_terminal_for_large_files_only(monkeypatch):
    import io

    from dltensor.io import _progress

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with _progress.progress("load: 'a.npy'", 10**8) as add:
        assert add is None
    with _progress.progress("load: 'a.npy'", 2 * 10**9) as add:
        add(10**9)
    assert "1000/2000" in sys.stderr.getvalue()
    assert sys.stderr.getvalue().endswith("\r\033[K")


def test_numpy_is_not_needed_and_nothing_is_loaded_early(tmp_path):
    code = f"""
import sys
before = set(sys.modules)
import dltensor as dl
assert not {{"zipfile", "json", "multiprocessing", "dltensor.io._npy"}} & (set(sys.modules) - before)
path = {str(tmp_path)!r} + "/a"
dl.save(path + ".npy", dl.arange(3)); dl.save(path + ".npz", {{"a": dl.arange(3)}})
dl.save(path + ".safetensors", {{"a": dl.arange(3)}})
assert dl.load(path + ".npy").tolist() == dl.load(path + ".npz")["a"].tolist() == [0, 1, 2]
assert dl.load(path + ".safetensors")["a"].tolist() == [0, 1, 2]
assert "numpy" not in sys.modules and "pickle" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_large_files_are_read_by_several_threads(tmp_path, monkeypatch):
    monkeypatch.setattr(_sources, "_READ_PIECE", 1000)
    monkeypatch.setattr(_sources, "_LEAST_PER_THREAD", 4000)
    monkeypatch.setattr(_sources, "num_threads", lambda: 4)
    data = np.random.default_rng(1).integers(0, 255, 100_001, dtype="u1")
    path, active, before = tmp_path / "a.npy", threading.active_count(), set(os.listdir("/proc/self/fd"))
    np.save(path, data)
    seen, reported, arrived, begun = set(), [], threading.Event(), threading.Event()
    preadv = os.preadv

    def noting(file, buffers, offset):
        seen.add(threading.get_ident())
        mine, other = (begun, arrived) if threading.current_thread() is threading.main_thread() else (arrived, begun)
        mine.set()
        assert other.wait(60)
        return preadv(file, [buffers[0][:700]], offset)  # the system may give less than was asked for

    monkeypatch.setattr(os, "preadv", noting)
    source, t = _sources.open_source(path, "load"), dl.empty(data.size, dtype="uint8")
    memory = memoryview(t)
    _sources.read_into(source, memory, 128, "here", reported.append)
    assert len(seen) > 1
    np.testing.assert_array_equal(t.numpy(), data)
    assert sum(reported) == data.size

    # What any of them meets is the error of the call, and all have ended then.
    with pytest.raises(
        ValueError, match=r"^here: the file is cut off: expected 100001 bytes at 1000, got (99129|100000)$"
    ):
        _sources.read_into(source, memory, 1000, "here")

    def failing(file, buffers, offset):
        if threading.current_thread() is not threading.main_thread():
            arrived.set()
            assert begun.wait(60)
            raise OSError(5, "planted")
        begun.set()
        assert arrived.wait(60)
        return preadv(file, buffers, offset)

    arrived.clear()
    begun.clear()
    monkeypatch.setattr(os, "preadv", failing)
    with pytest.raises(OSError, match="planted"):
        _sources.read_into(source, memory, 128, "here")

    def interrupted(file, buffers, offset):
        if threading.current_thread() is threading.main_thread():
            arrived.set()
            raise KeyboardInterrupt
        assert arrived.wait(60)
        return preadv(file, buffers, offset)

    arrived.clear()
    monkeypatch.setattr(os, "preadv", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _sources.read_into(source, memory, 128, "here")

    # Where no thread can be started the calling one reads everything.
    def refused(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(os, "preadv", preadv)
    monkeypatch.setattr(threading.Thread, "start", refused)
    t.fill(0)
    _sources.read_into(source, memory, 128, "here")
    np.testing.assert_array_equal(t.numpy(), data)
    source.close()
    assert threading.active_count() <= active
    assert set(os.listdir("/proc/self/fd")) <= before
