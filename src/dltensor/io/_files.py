# SPDX-License-Identifier: Apache-2.0
"""`save`, `load`, `open_file` and `memmap`: their arguments, and open files. Formats are read by `_reading`."""

import os
from collections import namedtuple

from .._core.foreign_text import quoted
from .._core.tensor import Tensor
from ._paths import checked_path

_MODES = ("r", "r+", "c", "w+")


class TensorInfo(namedtuple("TensorInfo", ("dtype", "shape", "nbytes", "offset"))):
    """The header of one tensor of a file.

    Parameters
    ----------
    dtype : DType or None
        None where the file does not say it: raw elements, which `load` reads with ``dtype=``.
    shape : tuple of int
        Shape of the tensor.
    nbytes : int
        Bytes of the elements.
    offset : int or None
        Where they begin in the file; None where they are compressed.

    Raises
    ------
    TypeError
        An argument is missing.

    Examples
    --------
    >>> dl.io.TensorInfo(dl.float32, (2, 3), 24, 256).nbytes
    24
    """

    __slots__ = ()


def _check_mmap(mmap, func):
    if mmap is not True and mmap is not False and not (isinstance(mmap, str) and mmap == "auto"):
        raise ValueError(f"{func}: mmap must be True, False or 'auto', got {quoted(mmap)}")


class TensorFile:
    """The tensors of an open file; `open_file` makes it.

    Tensors are read when they are requested, by ``f[name]`` or by `read`, from any thread. The file stays open until
    `close` or the end of a ``with`` block, and until calls of other threads that read then have returned. Memory that
    tensors share with the file outlives all of them.

    Parameters
    ----------
    file : path_like, readable binary file, bytes, bytearray or memoryview
        The file.
    mmap : {"auto", True, False}
        As for `load`.
    mode : {"r", "r+", "c"}
        As for `open_file`.

    Raises
    ------
    ValueError, TypeError, OSError
        As `open_file`.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.safetensors")
    >>> dl.save(path, {"w": dl.ones((2, 2)), "b": dl.zeros(2)}, metadata={"step": "7"})
    >>> with dl.open_file(path) as f:
    ...     f.names, f.metadata, f["b"].tolist(), f.info("w").shape
    (['w', 'b'], {'step': '7'}, [0.0, 0.0], (2, 2))
    """

    def __init__(self, file, mmap="auto", mode="r"):
        self._open(file, mmap, mode, "open_file")

    def _open(self, file, mmap, mode, func):
        """Open on behalf of the function `func`, which messages name."""
        from ._reading import open_format
        from ._sources import MODES, LastUse, open_source

        self._last_use = None
        _check_mmap(mmap, func)
        if not isinstance(mode, str) or mode not in MODES:
            raise ValueError(f"{func}: mode must be one of {', '.join(MODES)}, got {quoted(mode)}")
        if mode != "r" and mmap is False:
            raise ValueError(f"{func}: mode {mode!r} maps the file; leave mmap='auto', or read() copies")
        self._source = source = open_source(file, func, mode)
        self._last_use = LastUse(source)
        self._path = os.fspath(file) if isinstance(file, str | os.PathLike) else None
        self._mmap, self._mode = mmap, mode
        try:
            self._maps = mmap is True or mode != "r"  # whether `f[name]` maps the elements
            if self._maps and not source.can_map:
                source.row()
            if mmap == "auto":
                self._maps = self._maps or (source.can_map and source.is_local)
            self._format = open_format(source)
            if mode == "r+" and self._format.name == "npz":
                raise ValueError(f"{source.prefix}: .npz files have checksums, which writing would make wrong; use "
                                 f"mode 'c', or a .npy or .safetensors file")  # fmt: skip
        except BaseException:
            self._last_use = None
            raise

    @property
    def path(self) -> str | bytes | None:
        """Path of the file, as it was given; None for file objects and bytes.

        Examples
        --------
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "a.safetensors")
        >>> dl.save(path, {"w": dl.ones(2), "b": dl.zeros(3)})
        >>> with dl.open_file(path) as f:
        ...     f.path == path
        True
        """
        return self._path

    @property
    def format(self):
        """Format of the file: ``"npy"``, ``"npz"`` or ``"safetensors"``, by its contents.

        Examples
        --------
        {TensorFile.path: 3 lines of Examples}
        >>> with dl.open_file(path) as f:
        ...     f.format
        'safetensors'
        """
        return self._format.name

    @property
    def names(self) -> list[str]:
        """Names of the tensors, in the order of the file; ``["arr_0"]`` for a .npy file.

        Examples
        --------
        {TensorFile.path: 3 lines of Examples}
        >>> with dl.open_file(path) as f:
        ...     f.names
        ['w', 'b']
        """
        return list(self._format.names)

    @property
    def metadata(self) -> dict[str, str]:
        """Metadata, a dictionary of str; empty where the format has none.

        Examples
        --------
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "a.safetensors")
        >>> dl.save(path, {"w": dl.ones(2), "b": dl.zeros(3)}, metadata={"step": "7"})
        >>> with dl.open_file(path) as f:
        ...     f.metadata
        {'step': '7'}
        """
        return dict(self._format.metadata)

    def __len__(self):
        return len(self._format.names)

    def __iter__(self):
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._format

    def __repr__(self):
        state = " (closed)" if self._last_use is None else ""
        name = "" if self._path is None else f" {quoted(os.fsdecode(self._path))}"
        return f"<TensorFile{name}: {self.format}, {len(self)} tensors{state}>"

    def keys(self):
        """Return the names of the tensors, so that ``dict(f)`` has all of them.

        Returns
        -------
        list of str
            As `names`.

        Examples
        --------
        {TensorFile.path: 3 lines of Examples}
        >>> with dl.open_file(path) as f:
        ...     {name: t.tolist() for name, t in dict(f).items()}
        {'w': [1.0, 1.0], 'b': [0.0, 0.0, 0.0]}
        """
        return self.names

    def _check(self, name=None):
        """Return what keeps the file open as long as it is referred to, for a with statement around the use of it."""
        last_use = self._last_use
        if last_use is None:
            raise ValueError(f"{self._source.prefix}: the file is closed")
        if name is not None and name not in self._format:
            close = ", ".join(quoted(one, 40) for one in self._format.names[:5])
            raise KeyError(f"no tensor is named {quoted(name, 80)}; the file has {close or 'none'}"
                           f"{', ...' if len(self) > 5 else ''}")  # fmt: skip
        return last_use

    def info(self, name):
        """Return the type, the shape and the place of a tensor, without reading its elements.

        Parameters
        ----------
        name : str
            One of `names`.

        Returns
        -------
        TensorInfo
            With ``dtype``, ``shape``, ``nbytes`` and ``offset``.

        Raises
        ------
        KeyError
            No tensor has that name.
        ValueError, TypeError
            The member of an .npz file breaks a rule, or has no counterpart in DLPack.

        Examples
        --------
        {TensorFile.path: 3 lines of Examples}
        >>> with dl.open_file(path) as f:
        ...     f.info("b").shape
        (3,)
        """
        with self._check(name):
            return TensorInfo(*self._format.info(name))

    def __getitem__(self, name):
        with self._check(name):
            return self._get(name, None)

    def _get(self, name, dtype, add=None):
        """A tensor as `f[name]` gives it; `add` is called with the number of bytes of each piece that is read."""
        if self._maps:
            t = self._format.view(name, dtype)
            if t is not None:
                return t
            if self._mode == "r+":
                raise ValueError(f"{self._source.prefix}: the bytes of the elements are swapped, so that no map can be "
                                 f"written; use mode 'c', or save the file again")  # fmt: skip
        t = self._format.read(name, dtype, None, add)
        if self._mmap is not False and self._mode == "r":
            from ._mapping import as_read_only

            as_read_only(t)
        return t

    def read(self, name=None, *, out=None):
        """Read a tensor into memory of its own, or into that of another tensor.

        Parameters
        ----------
        name : str, optional
            May be left out where the file has one tensor.
        out : writable array_like, optional
            Tensor of the same shape, which is written; elements of another type are converted.

        Returns
        -------
        Tensor
            A new, writable tensor, or `out` itself.

        Raises
        ------
        {TensorFile.info: KeyError}
        ValueError
            The shapes differ, `out` is read-only, or the file was cut off since it was opened.

        Examples
        --------
        {TensorFile.path: 3 lines of Examples}
        >>> with dl.open_file(path) as f:
        ...     out = dl.empty(3); f.read("b", out=out).tolist()
        [0.0, 0.0, 0.0]
        """
        if name is None:
            if len(self) != 1:
                raise ValueError(f"{self._source.prefix}: the file has {len(self)} tensors; name the one to read")
            name = self._format.names[0]
        with self._check(name):
            return self._read(name, out)

    def _read(self, name, out):
        if out is None:
            return self._format.read(name, None, None)
        from .._core.convert import asarray

        target = out if type(out) is Tensor else asarray(out, copy=False)
        _, shape, _, _ = self._format.info(name)
        if target.shape != shape:
            raise ValueError(f"{self._source.prefix}: out must have shape {shape}, got {target.shape}")
        if target.readonly:
            raise ValueError(f"{self._source.prefix}: out is read-only; pass a copy()")
        self._format.read(name, None, target)
        return out

    def close(self):
        """Close the file, when no tensor shares its memory any more.

        Raises
        ------
        BufferError
            Tensors of the file are still in use. At the end of a ``with`` block they are no error: their memory stays
            until the last of them is deleted.

        Examples
        --------
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "a.npy")
        >>> dl.save(path, dl.ones(2)); f = dl.open_file(path); t = f["arr_0"]
        >>> f.close()  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        BufferError: open_file: ...: the file cannot be closed while tensors share its memory; ...
        >>> del t; f.close()
        """
        if self._source.is_shared:
            raise BufferError(
                f"{self._source.prefix}: the file cannot be closed while tensors share its memory; delete them, read() "
                f"copies, or use a with statement"
            )
        self._release()

    def _release(self):
        """Release the file, which is closed when no call of another thread reads from it any more."""
        self._last_use = None

    def __enter__(self):
        self._check()
        return self

    def __exit__(self, kind, error, trace, /):
        self._release()


def open_for(func, file, mmap):
    """Return a `TensorFile` on behalf of the function `func`, which messages name."""
    opened = TensorFile.__new__(TensorFile)
    opened._open(file, mmap, "r", func)
    return opened


def open_file(file, *, mmap="auto", mode="r"):
    """Open a .npy, .npz or .safetensors file, whose tensors are read when they are requested.

    Parameters
    ----------
    file : path_like, readable binary file, bytes, bytearray or memoryview
        The file; its contents say the format. A file object is read from where it stands and is not closed; do not
        move it while the file is open.
    mmap : {"auto", True, False}, default "auto"
        Whether ``f[name]`` maps the elements; see `load`.
    mode : {"r", "r+", "c"}, default "r"
        What ``f[name]`` gives. "r": read-only tensors. "r+": what is written goes to the file. "c": what is written
        stays in this process.

    Returns
    -------
    dltensor.io.TensorFile
        ``f.names``, ``f.metadata``, ``f.info(name)``, ``f[name]``, ``f.read(name, out=t)``, ``f.close()``; also for a
        ``with`` statement.

    Raises
    ------
    ValueError
        The file breaks a rule of its format; the message names field and value. Headers are checked whole; those of
        the members of an .npz file when they are asked for. Or `mode` is "r+" for an .npz file, whose checksums would
        be wrong then, or for bytes that cannot be written.
    TypeError
        Elements of that type have no counterpart in DLPack, or `file` is a file object for text.
    OSError
        The file cannot be opened, or is not a regular file.

    {See Also: load, memmap}

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.npy")
    >>> dl.save(path, dl.arange(3))
    >>> with dl.open_file(path) as f:
    ...     f.format, f.info("arr_0").shape, f.read().tolist()
    ('npy', (3,), [0, 1, 2])
    """
    return TensorFile(file, mmap, mode)


def load(file, *, mmap="auto", names=None, dtype=None, device=None, packed=False):
    """Load the tensors of a .npy, .npz or .safetensors file. No code of the file is run, and nothing is unpickled.

    Parameters
    ----------
    file : path_like, readable binary file, bytes, bytearray or memoryview
        The file; its contents say the format. A file object is read from where it stands, not closed, and stands behind
        what was read afterwards: several .npy files can follow one another. One that cannot seek is read to its end.
    mmap : {"auto", True, False}, default "auto"
        True maps the file: elements are read when they are used, and the tensors are read-only. False reads them into
        memory of their own, which is writable. "auto" maps, but reads where a network file system has the file, since
        a page that does not arrive ends the process; the tensors are read-only then too. Tensors of bytes, a bytearray
        or a memoryview share its memory, except with False; other file objects than those of `open` are always read.
    names : sequence of str, optional
        Which tensors of an .npz or .safetensors file to load, in this order.
    dtype : dtype_like, optional
        Elements are converted to this type. Raw elements, as NumPy writes those of ml_dtypes (``<V2``), are taken as
        being of this type.
    device : device_like, optional
        Device to copy the tensors to. On a CUDA device those of a file with several are one allocation, which lives as
        long as one of them; ``copy()`` gives a tensor memory of its own.
    packed : bool, default False
        .npy files hold elements of less than a byte in a byte each, and so do the tensors. With True they are packed,
        in memory of their own.

    Returns
    -------
    Tensor or dict of str to Tensor
        A tensor from a .npy file, a dictionary from the others.

    Raises
    ------
    ValueError
        The file breaks a rule of its format; the message names field and value. It is of another format, which the
        message names, with what reads it.
    TypeError
        Elements of that type have no counterpart in DLPack, or are raw and `dtype` is missing, or `file` is a file
        object for text.
    KeyError
        The file has no tensor of one of `names`.
    {open_file: OSError}
    MemoryError
        There is not that much memory.

    {See Also: open_file, save}

    Notes
    -----
    Pages of a map are this process's own once written, although the tensors are read-only: a consumer that ignores the
    flag changes neither the file nor other processes. The file must not be truncated while it is mapped: using a
    page that is gone ends the process (SIGBUS). `save` never does that, since it replaces files.

    Checksums of .npz files are compared when the elements are read, and not when they are mapped.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.safetensors")
    >>> dl.save(path, {"w": dl.ones((2, 2), dtype="bfloat16"), "b": dl.zeros(2)})
    >>> tensors = dl.load(path); list(tensors), tensors["w"].dtype, tensors["w"].readonly
    (['w', 'b'], dltensor.bfloat16, True)
    >>> dl.load(path, names=["b"], mmap=False)
    {'b': Tensor([0., 0.], shape=(2,), device=cpu, dtype=float32)}
    """
    from ._reading import load_all

    if names is not None:
        if isinstance(names, str | bytes):
            raise TypeError(f"load: names must be a sequence of names, got {quoted(names)}; write [{quoted(names)}]")
        names = list(names)
    with open_for("load", file, mmap) as opened:
        loaded = load_all(opened, names, dtype, device, bool(packed))
        opened._source.finish(opened._format.end)
    return loaded


def save(file, tensors, *, format=None, metadata=None, fsync=False):
    """Save a tensor or a dictionary of tensors. An existing file is replaced when the new one is complete.

    Parameters
    ----------
    file : path_like or writable binary file
        The file. Its suffix says the format: .npy, .npz or .safetensors. A file object is written from where it stands
        and is not closed; where its ``name`` has no such suffix, `format` says which.
    tensors : array_like, nested sequence of numbers or dict of str to these
        One tensor for a .npy file, a dictionary for the others.
    format : {"npy", "npz", "safetensors"}, optional
        Format, whatever the suffix.
    metadata : dict of str to str, optional
        Metadata of a .safetensors file.
    fsync : bool, default False
        Whether to wait until the disk has the data, so that a loss of power leaves the old file or the new one.

    Raises
    ------
    ValueError
        The suffix names no format, or a name or metadata is not possible in it.
    TypeError
        `tensors` is not what the format holds, or elements have a type that it lacks.
    OSError
        The file cannot be written. An existing file is as before; a file object may have a part of the bytes.

    {See Also: load}

    Notes
    -----
    Elements begin at multiples of 256 bytes: in .safetensors files those of tensors whose size is such a multiple, in
    .npz files those of tensors of 4 KiB and more. .npy files hold elements of less than a byte in a byte each, since
    NumPy has no packed types.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.npy")
    >>> import numpy as np
    >>> dl.save(path, dl.arange(3)); np.load(path)
    array([0, 1, 2])
    """
    from ._writing import save_as

    save_as(file, tensors, format, metadata, bool(fsync))


def savez(file, *tensors, **named):
    """Save tensors to a .npz file, under their keywords, or as ``arr_0``, ``arr_1`` and so on.

    Parameters
    ----------
    file : path_like or writable binary file
        The file; ``.npz`` is appended to a path without it.
    *tensors, **named : array_like or nested sequence of numbers
        The tensors.

    {save: Raises}

    {See Also: save, load}

    {Notes: NumPy: ``numpy.savez``.}

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a")
    >>> dl.savez(path, dl.arange(2), x=dl.ones(1)); sorted(dl.load(path + ".npz"))
    ['arr_0', 'x']
    """
    save_archive(file, tensors, named)


def save_archive(file, tensors, named, is_compressed=False):
    """Save tensors to an .npz file, as `savez`."""
    from ._writing import save_as

    places = {f"arr_{place}": tensor for place, tensor in enumerate(tensors)}
    if places.keys() & named.keys():
        raise ValueError(f"savez: {', '.join(sorted(places.keys() & named.keys()))} is the name of two tensors")
    if isinstance(file, (str, os.PathLike)):
        path = os.fsdecode(file)
        file = path if path.endswith(".npz") else f"{path}.npz"
    save_as(file, places | named, "npz", None, False, is_compressed)


def memmap(path, shape, dtype, *, mode="r", offset=0):
    """Map raw elements of a file as a tensor.

    Parameters
    ----------
    path : path_like
        The file.
    shape : int or sequence of int
        Shape of the tensor, in C order.
    dtype : dtype_like
        Element type.
    mode : {"r", "r+", "c", "w+"}, default "r"
        "r": read-only. "r+": what is written goes to the file. "c": what is written stays in this process. "w+": a new
        file of zeros, which replaces an existing one, and is written as with "r+".
    offset : int, default 0
        Where the elements begin in the file, in bytes.

    Returns
    -------
    Tensor
        A view of the file. The file is closed when the last view of it is deleted.

    Raises
    ------
    ValueError
        The file is too short, or `mode` or `offset` is none of those.
    OSError
        The file cannot be opened or written, or is not a regular file.

    {See Also: load}

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "raw")
    >>> t = dl.memmap(path, (2, 2), "int16", mode="w+"); t[1] = 7; del t
    >>> dl.memmap(path, 2, "int16", offset=4)
    Tensor([7, 7], shape=(2,), device=cpu, dtype=int16, readonly=True)
    """
    if mode not in _MODES:
        raise ValueError(f"memmap: mode must be one of {', '.join(_MODES)}, got {quoted(mode)}")
    from ._writing import map_raw

    return map_raw(checked_path(path, "memmap"), shape, dtype, mode, offset)
