# SPDX-License-Identifier: Apache-2.0
"""Packages that ask tensors for NumPy's attributes: numcodecs, zarr, h5py and polars, there and back."""

import numpy as np
import pytest

import dltensor as dl

pytestmark = pytest.mark.peers
TENSORS = {
    "float32": lambda: dl.asarray(np.arange(12, dtype=np.float32).reshape(3, 4)),
    "Fortran order": lambda: dl.asarray(np.arange(12, dtype=np.float32).reshape(4, 3)).T,
    "integers": lambda: dl.arange(6),
    "bools": lambda: dl.asarray([True, False, True]),
    "complex": lambda: dl.asarray(np.arange(4) * (1 + 2j)),
    "read-only": lambda: dl.from_dlpack(np.frombuffer(b"abcdefgh", np.uint8)),
}


@pytest.mark.parametrize("codec", ["Blosc", "Zlib", "Zstd", "CRC32"])
@pytest.mark.parametrize("name", TENSORS)
def test_codecs_of_numcodecs_take_tensors(name, codec):
    numcodecs = pytest.importorskip("numcodecs", reason="numcodecs is not installed")
    t = TENSORS[name]()
    encoder = getattr(numcodecs, codec)()
    decoded = encoder.decode(encoder.encode(t))
    assert bytes(decoded) == t.tobytes(order="A")


def test_codecs_of_numcodecs_write_into_tensors():
    numcodecs = pytest.importorskip("numcodecs", reason="numcodecs is not installed")
    t, out = TENSORS["float32"](), dl.zeros((3, 4), dtype="float32")
    codec = numcodecs.Blosc()
    codec.decode(codec.encode(t), out=out)
    assert out.tolist() == t.tolist()


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("name", TENSORS)
def test_zarr_stores_tensors(name, version):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    t = TENSORS[name]()
    chunks = (2,) * t.ndim
    stored = zarr.create_array(
        store=zarr.storage.MemoryStore(), shape=t.shape, dtype=t.dtype.name, chunks=chunks, zarr_format=version
    )
    stored[:] = t
    assert dl.asarray(stored[:]).tolist() == t.tolist()
    stored[1:3] = t[1:3]
    stored[:] = dl.zeros(t.shape, dtype=t.dtype)  # compared with the fill value by its bytes
    assert not stored[:].any()


def test_h5py_stores_tensors(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    t = TENSORS["Fortran order"]()
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["t"] = t
        file["t"][0] = t[1]
        assert dl.asarray(file["t"][1:]).tolist() == t[1:].tolist()
        assert file["t"][0].tolist() == t[1].tolist()


def test_columns_of_polars_are_made_of_tensors():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    t = dl.arange(4, dtype="float32")
    column = polars.Series("x", t)
    assert (column * 2).to_list() == [0, 2, 4, 6]
    assert dl.asarray(column).tolist() == t.tolist()
