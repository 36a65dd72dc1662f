# SPDX-License-Identifier: Apache-2.0
"""`save`, `load`, `open_file` and `memmap`: their arguments, and open files. Formats are read by `_reading`."""

import os
from collections import namedtuple

from .._core.foreign_text import quoted
from .._core.tensor import Tensor
from ._paths import checked_path, open_regular, shown

_MODES = ("r", "r+", "c", "w+")
_MAPPED = (True, False, "auto")


class TensorInfo(namedtuple("TensorInfo", ("dtype", "shape", "nbytes", "offset"))):
    """What the header of a file says of one tensor.

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
    if not any(mmap is one or (isinstance(mmap, str) and mmap == one) for one in _MAPPED):
        raise ValueError(f"{func}: mmap must be True, False or 'auto', got {quoted(mmap)}")


class TensorFile:
    """The tensors of an open file; `open_file` makes it.

    Tensors are made when they are asked for, as ``f[name]`` or by `read`. The file stays open until `close` or the end
    of a ``with`` block. Memory that tensors share with the file outlives both.

    Parameters
    ----------
    path : path_like
        The file.
    mmap : {"auto", True, False}
        As for `load`.

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

    def __init__(self, path, mmap="auto"):
        self._open(path, mmap, "open_file")

    def _open(self, path, mmap, func):
        """Open on behalf of the function `func`, which messages name."""
        from ._reading import open_format

        _check_mmap(mmap, func)
        self._path = checked_path(path, func)
        self._where, self._mapped, self._data = shown(self._path, func), None, None
        self._file, self._size = open_regular(self._path, func)
        try:
            self._format = open_format(self._file, self._size, self._where)
            self._mmap = mmap
        except BaseException:
            os.close(self._file)
            self._file = None
            raise

    @property
    def path(self):
        """Path of the file, as it was given.

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
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "a.safetensors")
        >>> dl.save(path, {"w": dl.ones(2), "b": dl.zeros(3)})
        >>> with dl.open_file(path) as f:
        ...     f.format
        'safetensors'
        """
        return self._format.name

    @property
    def names(self):
        """Names of the tensors, in the order of the file; ``["arr_0"]`` for a .npy file.

        Examples
        --------
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "a.safetensors")
        >>> dl.save(path, {"w": dl.ones(2), "b": dl.zeros(3)})
        >>> with dl.open_file(path) as f:
        ...     f.names
        ['w', 'b']
        """
        return list(self._format.names)

    @property
    def metadata(self):
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

    def __contains__(self, name):
        return name in self._format

    def __repr__(self):
        state = " (closed)" if self._file is None else ""
        return f"<TensorFile {quoted(os.fsdecode(self._path))}: {self.format}, {len(self)} tensors{state}>"

    def keys(self):
        """Return the names of the tensors, so that ``dict(f)`` has all of them.

        Returns
        -------
        list of str
            As `names`.

        Examples
        --------
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "a.safetensors")
        >>> dl.save(path, {"w": dl.ones(2), "b": dl.zeros(3)})
        >>> with dl.open_file(path) as f:
        ...     {name: t.tolist() for name, t in dict(f).items()}
        {'w': [1.0, 1.0], 'b': [0.0, 0.0, 0.0]}
        """
        return self.names

    def _check(self, name=None):
        if self._file is None:
            raise ValueError(f"{self._where}: the file is closed")
        if name is not None and name not in self._format:
            close = ", ".join(quoted(one, 40) for one in self._format.names[:5])
            raise KeyError(f"no tensor is named {quoted(name, 80)}; the file has {close or 'none'}"
                           f"{', ...' if len(self) > 5 else ''}")  # fmt: skip

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
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "a.safetensors")
        >>> dl.save(path, {"w": dl.ones(2), "b": dl.zeros(3)})
        >>> with dl.open_file(path) as f:
        ...     f.info("b").shape
        (3,)
        """
        self._check(name)
        return self._format.info(name)

    def _is_mapped(self):
        if self._mapped is None:
            from ._mapping import is_remote

            self._mapped = self._mmap is True or (self._mmap == "auto" and not is_remote(self._file))
        return self._mapped

    def _bytes(self):
        """All of the file, mapped once."""
        if self._data is None:
            from ._mapping import map_file

            if os.fstat(self._file).st_size < self._size:
                raise ValueError(f"{self._where}: the file was cut off since it was opened")
            self._data = map_file(self._file, self._size, 0, "r", self._where)
        return self._data

    def __getitem__(self, name):
        self._check(name)
        return self._get(name, None)

    def _get(self, name, dtype, add=None):
        """A tensor as `f[name]` gives it; `add` is called with the number of bytes of each piece that is read."""
        if self._is_mapped():
            t = self._format.view(self._bytes, name, dtype)
            if t is not None:
                return t
        t = self._format.read(name, dtype, None, add)
        if self._mmap is not False:
            from ._mapping import as_read_only

            as_read_only(t)
        return t

    def read(self, name=None, *, out=None):
        """Read a tensor into memory of its own, or into that of another tensor.

        Parameters
        ----------
        name : str, optional
            May be left out where the file has one tensor.
        out : Tensor or writable array_like, optional
            Tensor of the same shape, which is written; elements of another type are converted.

        Returns
        -------
        Tensor
            A new, writable tensor, or `out` itself.

        Raises
        ------
        KeyError
            No tensor has that name.
        ValueError
            The shapes differ, `out` is read-only, or the file was cut off since it was opened.

        Examples
        --------
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "a.safetensors")
        >>> dl.save(path, {"w": dl.ones(2), "b": dl.zeros(3)})
        >>> with dl.open_file(path) as f:
        ...     out = dl.empty(3); f.read("b", out=out).tolist()
        [0.0, 0.0, 0.0]
        """
        if name is None:
            if len(self) != 1:
                raise ValueError(f"{self._where}: the file has {len(self)} tensors; name the one to read")
            name = self._format.names[0]
        self._check(name)
        if out is None:
            return self._format.read(name, None, None)
        from .._core.convert import asarray

        target = out if type(out) is Tensor else asarray(out, copy=False)
        shape = self._format.info(name).shape
        if target.shape != shape:
            raise ValueError(f"{self._where}: out must have shape {shape}, got {target.shape}")
        if target.readonly:
            raise ValueError(f"{self._where}: out is read-only; pass a copy()")
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
        from ._mapping import has_views

        self._format.forget_views()
        if self._data is not None and has_views(self._data):
            raise BufferError(
                f"{self._where}: the file cannot be closed while tensors share its memory; delete them, read() copies, "
                f"or use a with statement"
            )
        self._release()

    def _release(self):
        self._data = None
        if self._file is not None:
            file, self._file = self._file, None
            self._format.close()
            os.close(file)

    def __enter__(self):
        self._check()
        return self

    def __exit__(self, kind, error, trace, /):
        self._release()

    def __del__(self):
        if getattr(self, "_file", None) is not None:
            self._release()


def open_for(func, path, mmap):
    """Return a `TensorFile` on behalf of the function `func`, which messages name."""
    file = TensorFile.__new__(TensorFile)
    file._open(path, mmap, func)
    return file


def open_file(path, *, mmap="auto"):
    """Open a .npy, .npz or .safetensors file, whose tensors are made when they are asked for.

    Parameters
    ----------
    path : path_like
        The file; its contents say the format.
    mmap : {"auto", True, False}, default "auto"
        Whether ``f[name]`` maps the elements; see `load`.

    Returns
    -------
    dltensor.io.TensorFile
        ``f.names``, ``f.metadata``, ``f.info(name)``, ``f[name]``, ``f.read(name, out=t)``, ``f.close()``; also for a
        ``with`` statement.

    Raises
    ------
    ValueError
        The file breaks a rule of its format; the message names field and value. Headers are checked whole; those of
        the members of an .npz file when they are asked for.
    TypeError
        Elements of that type have no counterpart in DLPack.
    OSError
        The file cannot be opened, or is not a regular file.

    See Also
    --------
    load : All tensors at once.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.npy")
    >>> dl.save(path, dl.arange(3))
    >>> with dl.open_file(path) as f:
    ...     f.format, f.info("arr_0").shape, f.read().tolist()
    ('npy', (3,), [0, 1, 2])
    """
    return TensorFile(path, mmap)


def load(path, *, mmap="auto", names=None, dtype=None, device=None, packed=False):
    """Load the tensors of a .npy, .npz or .safetensors file. No code of the file is run, and nothing is unpickled.

    Parameters
    ----------
    path : path_like
        The file; its contents say the format.
    mmap : {"auto", True, False}, default "auto"
        True maps the file: elements are read when they are used, and the tensors are read-only. False reads them into
        memory of their own, which is writable. "auto" maps, but reads where a network file system has the file, since
        a page that does not arrive ends the process; the tensors are read-only then too.
    names : sequence of str, optional
        Which tensors of an .npz or .safetensors file to load, in this order.
    dtype : dtype_like, optional
        Elements are converted to this type. Raw elements, as NumPy writes those of ml_dtypes (``<V2``), are taken as
        being of this type.
    device : device_like, optional
        Device to copy the tensors to.
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
        The file breaks a rule of its format; the message names field and value.
    TypeError
        Elements of that type have no counterpart in DLPack, or are raw and `dtype` is missing.
    KeyError
        The file has no tensor of one of `names`.
    OSError
        The file cannot be opened, or is not a regular file.
    MemoryError
        There is not that much memory.

    See Also
    --------
    open_file : Tensors one at a time.
    save : Write such a file.

    Notes
    -----
    Pages of a map are this process's own once written, although the tensors are read-only: a consumer that ignores the
    flag changes neither the file nor other processes. The file must not be made shorter while it is mapped: using a
    page that is gone ends the process (SIGBUS). `save` never does that, since it replaces files.

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
    with open_for("load", path, mmap) as file:
        return load_all(file, names, dtype, device, bool(packed))


def save(path, tensors, *, format=None, metadata=None, fsync=False):
    """Save a tensor or a dictionary of tensors. An existing file is replaced when the new one is complete.

    Parameters
    ----------
    path : path_like
        The file. Its suffix says the format: .npy, .npz or .safetensors.
    tensors : array_like or dict of str to array_like
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
        The file cannot be written. An existing file is as before.

    See Also
    --------
    load : Read such a file.

    Notes
    -----
    Elements begin at multiples of 256 bytes, in .safetensors files those of tensors whose size is such a multiple. .npy
    files hold elements of less than a byte in a byte each, since NumPy has no packed types.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.npy")
    >>> import numpy as np
    >>> dl.save(path, dl.arange(3)); np.load(path)
    array([0, 1, 2])
    """
    from ._writing import save_as

    save_as(checked_path(path, "save"), tensors, format, metadata, bool(fsync))


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

    See Also
    --------
    load : Files that say shape and type.

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
