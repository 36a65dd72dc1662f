# SPDX-License-Identifier: Apache-2.0
"""Formats of others that are known by their first bytes, with what reads them. Reads none of them."""

from typing import NoReturn

_PICKLE = "unpickling runs code that the file names: convert it where it comes from, to .safetensors or .npy"
_TORCH = "read it with torch.load(path, weights_only=True), and save its tensors as .safetensors"
_HDF5 = "open it with h5py and pass a dataset to dl.asarray()"
_UNPACK = "decompress it, or pass the file object that does: dl.load({}.open(path))"
# Offset, the bytes there, the name of the format, and the remedy.
_FORMATS = (
    (0, b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.", "a PyTorch file (a pickle)", _TORCH),
    *((0, b"\x80" + bytes([version]), "a pickle", _PICKLE) for version in range(2, 6)),
    (0, b"GGUF", "a GGUF file", "read it with the package gguf and pass its arrays to dl.asarray()"),
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file", _HDF5),
    (0, b"CDF", "a NetCDF file", "open it with netCDF4 or xarray and pass a variable to dl.asarray()"),
    (0, b"PAR1", "a Parquet file", "read it with pyarrow.parquet and pass a column to dl.from_arrow()"),
    (0, b"ARROW1", "an Arrow file", "read it with pyarrow.ipc and pass a column to dl.from_arrow()"),
    (0, b"FEA1", "a Feather file", "read it with pyarrow.feather and pass a column to dl.from_arrow()"),
    (0, b"MATLAB 5.0", "a MATLAB file", "read it with scipy.io.loadmat and pass an array to dl.asarray()"),
    (0, b"SIMPLE  =", "a FITS file", "read it with astropy.io.fits and pass its data to dl.asarray()"),
    (0, b"\x1f\x8b", "gzip data", _UNPACK.format("gzip")),
    (0, b"BZh", "bzip2 data", _UNPACK.format("bz2")),
    (0, b"\xfd7zXZ\x00", "xz data", _UNPACK.format("lzma")),
    (0, b"\x28\xb5\x2f\xfd", "zstd data", "decompress it"),
    (257, b"ustar", "a tar archive", "pass a member: dl.load(tarfile.open(path).extractfile(name))"),
    (0, b"\x89PNG", "a PNG image", "open it with PIL.Image and pass the image to dl.asarray()"),
    (0, b"\xff\xd8\xff", "a JPEG image", "open it with PIL.Image and pass the image to dl.asarray()"),
    (0, b"II*\x00", "a TIFF image", "open it with tifffile or PIL.Image and pass the image to dl.asarray()"),
    (0, b"MM\x00*", "a TIFF image", "open it with tifffile or PIL.Image and pass the image to dl.asarray()"),
    (0, b"version https://git-lfs", "a Git LFS pointer, not the file itself", "fetch the file with git lfs pull"),
    (0, b"<!DOCTYPE", "an HTML page, as servers send for errors", "download the file again"),
    (0, b"<html", "an HTML page, as servers send for errors", "download the file again"),
    (0, b"{", "JSON text", "if it is the index of a model, load the .safetensors files that it names"),
)  # fmt: skip
# The end of the name of a member, the name of the format, and the remedy.
_ARCHIVES = (
    ("data.pkl", "a PyTorch file", _TORCH),
    ("model.weights.h5", "a Keras file", "read it with keras.saving.load_model()"),
    (".zarray", "a Zarr archive", "open it with zarr and pass an array to dl.asarray()"),
    ("zarr.json", "a Zarr archive", "open it with zarr and pass an array to dl.asarray()"),
)


def refuse(first, prefix):
    """Raise the error that names the format, if the first bytes are those of one that is known.

    >>> refuse(b"GGUF\\x03", "load: 'a.gguf'")
    Traceback (most recent call last):
    ValueError: load: 'a.gguf': the file is a GGUF file, ...
    """
    for offset, magic, name, remedy in _FORMATS:
        if first[offset : offset + len(magic)] == magic:
            raise ValueError(f"{prefix}: the file is {name}, not a .npy, .npz or .safetensors file; {remedy}")


def refuse_archive(names, prefix) -> NoReturn:
    """Raise the error for a ZIP archive of other things than arrays.

    >>> refuse_archive(["model/data.pkl", "model/version"], "load: 'model.pt'")
    Traceback (most recent call last):
    ValueError: load: 'model.pt': the file is a PyTorch file, ...
    """
    name, remedy = "a ZIP archive without arrays", "the members of an .npz file are .npy files"
    for end, kind, cure in _ARCHIVES:
        if any(one.endswith(end) for one in names):
            name, remedy = kind, cure
            break
    raise ValueError(f"{prefix}: the file is {name}, not an .npz file; {remedy}")
