# SPDX-License-Identifier: Apache-2.0
"""File objects and bytes as files: loaded, opened, saved to; and files of other formats, which errors name."""

import bz2
import gzip
import io
import os
import pathlib
import pickle
import tarfile
import tempfile
import zipfile
from contextlib import ExitStack
from functools import partial

import numpy as np
import pytest
from test_files import FORMATS

import dltensor as dl

pytestmark = pytest.mark.thread_unsafe(reason="closes the files of all tests at the end of each")
X = np.arange(300, dtype="f4").reshape(20, 15)


def content(form):
    file = io.BytesIO()
    dl.save(file, X if form == "npy" else {"a": X, "b": X[:, ::2]}, format=form)
    return file.getvalue()


def first(loaded):
    return loaded if isinstance(loaded, dl.Tensor) else loaded["a"]


class OnlyRead:
    """A stream that cannot seek, as a pipe or a socket, and gives little at a time."""

    def __init__(self, data):
        self._file = io.BytesIO(data)

    def read(self, size=-1):
        return self._file.read(size)


class Plain(OnlyRead):
    """A file object with the least that is needed: read, seek and tell."""

    def read(self, size=-1):
        return self._file.read(min(size, 100))

    def seek(self, *place):
        self._file.seek(*place)

    def tell(self):
        return self._file.tell()


_files = ExitStack()


@pytest.fixture(autouse=True)
def _closing():
    """Close what a test has opened."""
    yield
    _files.close()


def on_disk(data, folder, mode="rb", **options):
    path = os.path.join(folder, "file")
    with open(path, "wb") as file:
        file.write(data)
    return _files.enter_context(open(path, mode, **options))


def in_temporary(data, folder):
    make = partial(tempfile.NamedTemporaryFile, dir=folder)
    file = _files.enter_context(make())
    file.write(data)
    file.seek(0)
    return file


SOURCES = {
    "bytes": lambda data, folder: data,
    "bytearray": lambda data, folder: bytearray(data),
    "memoryview": lambda data, folder: memoryview(data),
    "memoryview of another type": lambda data, folder: memoryview(bytearray(data + bytes(-len(data) % 4))).cast("i"),
    "BytesIO": lambda data, folder: io.BytesIO(data),
    "open file": on_disk,
    "open file without a buffer": lambda data, folder: on_disk(data, folder, buffering=0),
    "open file for both": lambda data, folder: on_disk(data, folder, "r+b"),
    "temporary file": in_temporary,
    "gzip": lambda data, folder: gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(data))),
    "bz2": lambda data, folder: bz2.BZ2File(io.BytesIO(bz2.compress(data))),
    "least": lambda data, folder: Plain(data),
    "stream": lambda data, folder: OnlyRead(data),
    "path": lambda data, folder: pathlib.Path(on_disk(data, folder).name),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("mmap", ["auto", False])
def test_every_source_gives_the_tensors_of_the_file(tmp_path, source, form, mmap):
    if source == "memoryview of another type" and form == "safetensors":
        pytest.skip("the format allows no bytes behind the tensors")
    data = content(form)
    loaded = dl.load(SOURCES[source](data, tmp_path), mmap=mmap)
    assert first(loaded).tolist() == X.tolist()
    assert first(loaded).readonly == (mmap == "auto")
    with dl.open_file(SOURCES[source](data, tmp_path), mmap=mmap) as f:
        assert f.format == form
        assert f[f.names[0]].tolist() == f.read(f.names[0]).tolist() == X.tolist()
        assert f.read(f.names[-1], out=dl.empty(f.info(f.names[-1]).shape)).tolist() == f[f.names[-1]].tolist()


@pytest.mark.parametrize("form", FORMATS)
def test_a_member_of_a_tar_archive_is_loaded(tmp_path, form):
    data = content(form)
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        member = tarfile.TarInfo("x")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    with tarfile.open(tmp_path / "a.tar") as archive:
        assert first(dl.load(archive.extractfile("x"))).tolist() == X.tolist()


@pytest.mark.parametrize("source", ["BytesIO", "open file", "open file for both", "gzip", "least"])
def test_files_that_follow_one_another_are_loaded_in_turn(tmp_path, source):
    opened = SOURCES[source](content("npy") + content("npy") + content("safetensors"), tmp_path)
    assert dl.load(opened).tolist() == dl.load(opened, mmap=False).tolist() == X.tolist()
    assert dl.load(opened)["a"].tolist() == X.tolist()
    assert opened.read(1) == b""


def test_arrays_that_numpy_saved_to_one_file_are_loaded_in_turn():
    file = io.BytesIO()
    np.save(file, X)
    np.save(file, X + 1)
    file.seek(0)
    assert dl.load(file).tolist() == X.tolist()
    assert np.load(file).tolist() == (X + 1).tolist()


def test_a_file_object_is_read_from_where_it_stands_and_stays_open(tmp_path):
    opened = on_disk(b"before" + content("safetensors"), tmp_path)
    opened.seek(6)
    with dl.open_file(opened) as f:
        assert f.path is None
        assert f["a"].tolist() == X.tolist()
        assert f.info("a").offset % 256 == 0
        assert "open_file" not in repr(f)
    assert not opened.closed
    assert opened.tell() == 6


def test_tensors_of_an_open_file_outlive_it(tmp_path):
    opened = on_disk(content("npy"), tmp_path)
    mapped = dl.load(opened)
    opened.close()
    assert mapped.tolist() == X.tolist()


def test_tensors_of_bytes_share_their_memory_and_those_of_mmap_false_do_not():
    data = bytearray(content("npy"))
    shared, copied = dl.load(data), dl.load(data, mmap=False)
    data[-4:] = np.float32(7).tobytes()
    assert (shared[-1, -1].item(), copied[-1, -1].item()) == (7, 299)
    assert (shared.readonly, copied.readonly) == (True, False)
    with pytest.raises(BufferError):
        data.append(1)
    del shared
    data.append(1)


def test_bytes_are_not_kept_by_a_file_that_is_closed():
    data = bytearray(content("npz"))
    f = dl.open_file(data)
    f["a"]
    f.close()
    data.clear()
    with pytest.raises(ValueError, match="open_file: bytearray: the file is closed"):
        f["a"]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("target", ["BytesIO", "open file", "without a buffer", "gzip", "only write"])
def test_tensors_are_saved_to_file_objects(tmp_path, form, target):
    class OnlyWrite:
        def __init__(self):
            self.data = b""

        def write(self, data):
            self.data += bytes(data[:70])
            return min(len(data), 70)

    path = tmp_path / "a"
    if target in ("BytesIO", "only write"):
        file = io.BytesIO() if target == "BytesIO" else OnlyWrite()
    else:
        how = {"open file": open, "without a buffer": partial(open, buffering=0), "gzip": gzip.open}[target]
        file = _files.enter_context(how(path, "wb"))
    dl.save(file, X if form == "npy" else {"a": X}, format=form, fsync=target == "open file")
    if target == "BytesIO":
        data = file.getvalue()
    elif target == "only write":
        data = file.data
    else:
        file.close()
        data = gzip.decompress(path.read_bytes()) if target == "gzip" else path.read_bytes()
    assert first(dl.load(data)).tolist() == X.tolist()


def test_the_name_of_a_file_object_says_the_format(tmp_path):
    with open(tmp_path / "a.npy", "wb") as file:
        dl.save(file, X)
    assert np.load(tmp_path / "a.npy").tolist() == X.tolist()
    with pytest.raises(ValueError, match=r"save: BytesIO: the suffix must be .*, or format must say which"):
        dl.save(io.BytesIO(), X)


class Text:
    def read(self):
        return "text"


class Lies(io.BytesIO):
    def __init__(self, data, answer):
        super().__init__(data)
        self.answer, self.reads = answer, 0

    def readinto(self, buffer):
        self.reads += 1
        return self.answer if self.reads > 1 else super().readinto(buffer)


@pytest.mark.parametrize("answer", [-1, 10**9, None, "many", 0])
def test_a_file_object_that_tells_wrong_counts_is_refused(answer):
    with pytest.raises((OSError, ValueError), match=r"the file object gave|the file is cut off"):
        dl.load(Lies(content("npy"), answer))


@pytest.mark.parametrize("count", [0, -1, None, 10**9, "many"])
def test_a_target_that_tells_wrong_counts_is_refused(count):
    class Target:
        def write(self, data):
            return count

    with pytest.raises(OSError, match=r"write\(\) of \d+ bytes gave"):
        dl.save(Target(), X, format="npy")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda folder: dl.load(io.StringIO("a")), TypeError, "load: StringIO: the file is open for text"),
        (lambda folder: dl.load(on_disk(b"a", folder, "r")), TypeError, "open it with mode 'rb'"),
        (lambda folder: dl.save(io.StringIO(), X, format="npy"), TypeError, "open it with mode 'wb'"),
        (lambda folder: dl.load(io.BytesIO(content("npy")), mmap=True), ValueError, "BytesIO cannot be mapped"),
        (lambda folder: dl.load(b"a.npy"), ValueError, "the contents of a file, a path is given as os.fsdecode"),
        (lambda folder: dl.load(memoryview(b"abcd")[::2]), TypeError, "load: memoryview: the bytes must be contiguous"),
        (lambda folder: dl.load(b""), ValueError, "load: bytes: not a .npy"),
        (lambda folder: dl.load(3), TypeError, "load: file must be a path, a binary file object, bytes"),
        (lambda folder: dl.save(bytearray(), X), TypeError, "save: file must be a path or a binary file object"),
        (lambda folder: dl.load(Text()), TypeError, "load: Text: read\\(\\) must give bytes, got str"),
        (lambda folder: dl.open_file(content("npy"), mode="w+"), ValueError, "open_file: mode must be one of r, r"),
        (lambda folder: dl.open_file(content("npy"), mode="c", mmap=False), ValueError, "mode 'c' maps the file"),
    ],
)
def test_what_is_no_source_or_target_is_refused(tmp_path, call, error, words):
    with pytest.raises(error, match=words):
        call(tmp_path)


def test_a_closed_file_object_is_an_error(tmp_path):
    for opened in (on_disk(content("npy"), tmp_path), io.BytesIO(content("npy"))):
        opened.close()
        with pytest.raises(ValueError, match="closed"):
            dl.load(opened)


# -- writable maps ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["npy", "safetensors"])
def test_mode_r_plus_writes_to_the_file(tmp_path, form):
    path = tmp_path / "a"
    path.write_bytes(content(form))
    with dl.open_file(path, mode="r+") as f:
        f[f.names[0]][0, 0] = 7
    assert first(dl.load(path))[0, 0].item() == 7
    with open(path, "r+b") as opened, dl.open_file(opened, mode="r+") as f:
        f[f.names[0]][0, 0] = 8
    assert first(dl.load(path))[0, 0].item() == 8


def test_mode_r_plus_writes_to_a_bytearray():
    data = bytearray(content("npy"))
    with dl.open_file(data, mode="r+") as f:
        f["arr_0"][0, 0] = 7
    assert dl.load(data)[0, 0].item() == 7


@pytest.mark.parametrize("form", FORMATS)
def test_mode_c_writes_to_copies_of_pages(tmp_path, form):
    path, data = tmp_path / "a", content(form)
    path.write_bytes(data)
    with dl.open_file(path, mode="c") as f:
        t = f[f.names[0]]
        t[0, 0] = 7
        assert f[f.names[0]][0, 0].item() == 7
    assert path.read_bytes() == data
    assert t[0, 0].item() == 7


def test_what_cannot_be_written_in_place_is_refused(tmp_path):
    (tmp_path / "a.npz").write_bytes(content("npz"))
    np.save(tmp_path / "swapped.npy", X.astype(">f4"))
    with pytest.raises(ValueError, match=r"\.npz files have checksums, which writing would make wrong"):
        dl.open_file(tmp_path / "a.npz", mode="r+")
    with dl.open_file(tmp_path / "swapped.npy", mode="r+") as f, pytest.raises(ValueError, match="are swapped"):
        f["arr_0"]
    with (
        pytest.raises(ValueError, match="mode 'r\\+' needs bytes that can be written"),
        dl.open_file(content("npy"), mode="r+") as f,
    ):
        f["arr_0"]
    with dl.open_file(tmp_path / "swapped.npy", mode="c") as f:
        f["arr_0"][0, 0] = 7


# -- checksums --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["header", "elements"])
def test_a_wrong_checksum_of_a_stored_member_is_found_when_it_is_read(tmp_path, where):
    np.savez(tmp_path / "a.npz", a=X)
    data = bytearray((tmp_path / "a.npz").read_bytes())
    if where == "header":
        data[data.index(b"}   ") + 3] = ord("\t")  # one of the spaces behind the literal
    else:
        data[data.rindex(X[-1].tobytes())] ^= 0x40
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(ValueError, match=r"'a': the CRC-32 of the member is 0x[0-9a-f]{8}, the archive says 0x"):
        dl.load(tmp_path / "a.npz", mmap=False)
    with dl.open_file(tmp_path / "a.npz") as f, pytest.raises(ValueError, match="CRC-32"):
        f.read("a")
    assert dl.load(tmp_path / "a.npz")["a"].shape == X.shape  # mapped: nothing is compared


def test_the_checksum_of_pieces_that_threads_read_is_that_of_all(tmp_path, monkeypatch):
    from dltensor.io import _sources

    monkeypatch.setattr(_sources, "_READ_PIECE", 1000)
    monkeypatch.setattr(_sources, "_LEAST_PER_THREAD", 4000)
    monkeypatch.setattr(_sources, "num_threads", lambda: 4)
    data = np.random.default_rng(1).integers(0, 255, 100_001, dtype="u1")
    np.savez(tmp_path / "a.npz", a=data, empty=data[:0])
    loaded = dl.load(tmp_path / "a.npz", mmap=False)
    assert loaded["a"].tobytes() == data.tobytes()
    assert loaded["empty"].shape == (0,)


# -- archives ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0xFFFFFFFF, 1000, 100])
def test_archives_with_numbers_of_64_bits_are_read_by_others(tmp_path, monkeypatch, limit):
    from dltensor.io import _npz

    monkeypatch.setattr(_npz, "_LIMIT", limit)
    tensors = {"small": X[:1, :1], "large": X, "\u00e9": X[::2], "none": X[:0], "most": np.zeros((100, 100))}
    dl.save(tmp_path / "a.npz", tensors)
    with zipfile.ZipFile(tmp_path / "a.npz") as found:
        assert found.testzip() is None
    with np.load(tmp_path / "a.npz") as loaded:
        assert {name: loaded[name].tolist() for name in loaded.files} == {
            name: x.tolist() for name, x in tensors.items()
        }
    ours = dl.load(tmp_path / "a.npz", mmap=False)
    assert {name: t.tolist() for name, t in ours.items()} == {name: x.tolist() for name, x in tensors.items()}


def test_an_archive_of_more_members_than_16_bits_count_is_read_by_others(tmp_path):
    tensors = {str(n): np.zeros(0, "u1") for n in range(70_000)}
    dl.save(tmp_path / "a.npz", tensors)
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert len(archive.namelist()) == 70_000
    assert len(dl.load(tmp_path / "a.npz")) == 70_000


# -- other formats ----------------------------------------------------------------------------------------------------


def archive(*names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name in names:
            made.writestr(name, b"x")
    return file.getvalue()


def tar():
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("x"))
    return file.getvalue()


OTHERS = {
    "PyTorch": (archive("model/data.pkl", "model/data/0", "model/version"), r"a PyTorch file.*torch\.load\("),
    "old PyTorch": (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19." + bytes(100), r"a PyTorch file.*torch\.load\("),
    "Keras": (archive("config.json", "model.weights.h5"), "a Keras file"),
    "Zarr": (archive("zarr.json", "c/0/0"), "a Zarr archive"),
    "ZIP": (archive("a.txt"), "a ZIP archive without arrays"),
    "pickle": (pickle.dumps({"a": [1, 2, 3]}), "a pickle.*runs code"),
    "pickle of protocol 2": (pickle.dumps({"a": [1, 2, 3]}, 2), "a pickle"),
    "GGUF": (b"GGUF\x03\x00\x00\x00" + bytes(100), "a GGUF file"),
    "HDF5": (b"\x89HDF\r\n\x1a\n" + bytes(100), "an HDF5 file.*h5py"),
    "NetCDF": (b"CDF\x01\x00\x00\x00\x00" + bytes(100), "a NetCDF file"),
    "Parquet": (b"PAR1" + bytes(100), "a Parquet file"),
    "Arrow": (b"ARROW1\x00\x00" + bytes(100), "an Arrow file"),
    "MATLAB": (b"MATLAB 5.0 MAT-file, Platform: posix" + bytes(100), "a MATLAB file"),
    "FITS": (b"SIMPLE  =                    T" + bytes(100), "a FITS file"),
    "gzip": (gzip.compress(bytes(1000)), r"gzip data.*dl\.load\(gzip\.open\(path\)\)"),
    "bzip2": (bz2.compress(bytes(1000)), "bzip2 data"),
    "tar": (tar(), "a tar archive"),
    "PNG": (b"\x89PNG\r\n\x1a\n" + bytes(100), "a PNG image"),
    "Git LFS": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer.*git lfs pull"),
    "HTML": (b"<!DOCTYPE html><html></html>", "an HTML page"),
    "JSON": (b'{"metadata": {"total_size": 1}, "weight_map": {}}', "JSON text.*safetensors"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_of_another_format_is_refused_by_its_name_with_a_remedy(tmp_path, name):
    data, words = OTHERS[name]
    path = tmp_path / "a.npz"
    path.write_bytes(data)
    for call in (dl.load, dl.open_file):
        with pytest.raises(ValueError, match=f"a.npz': the file is {words}"):
            call(path)


def test_an_empty_archive_has_no_tensors(tmp_path):
    np.savez(tmp_path / "a.npz")
    assert dl.load(tmp_path / "a.npz") == {}


# -- messages ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nameless", [True, False])
@pytest.mark.parametrize("call", [lambda path: dl.save(path, X), lambda path: dl.memmap(path, 2, "int8", mode="w+")])
def test_an_error_names_the_path_that_was_given(tmp_path, monkeypatch, nameless, call):
    opened = os.open

    def refuse(path, flags, *mode, **more):
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(95, "not supported")
        return opened(path, flags, *mode, **more)

    if not nameless:
        monkeypatch.setattr(os, "open", refuse)
    path = str(tmp_path / "missing" / "x.npy")
    with pytest.raises(FileNotFoundError) as caught:
        call(path)
    assert caught.value.filename == path
    assert "tmp'" not in str(caught.value).replace(str(tmp_path), "")


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("{'descr': '<f4', 'fortran_order': 7, 'shape': (2,), }", "'7'"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': [2], 'secret': 1}", "'[2]'"),
        ("{'descr': 5, 'fortran_order': False, 'shape': (2,), }", "'5'"),
        ("{'shape': (2.5, 3), 'descr': '<f4', 'fortran_order': False}", r"'(2.5, 3)'"),
    ],
)
def test_a_header_error_quotes_the_value_alone(header, value):
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(100)
    with pytest.raises(ValueError) as caught:
        dl.load(data)
    assert str(caught.value).endswith(f"got {value}")
