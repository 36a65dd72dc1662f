# SPDX-License-Identifier: Apache-2.0
"""`dl.adapt`: exports any source in the form that a given consumer can read. Copies are marked, and read-only memory
stays read-only unless requested otherwise."""

from __future__ import annotations

from .._core.adapted import TABLE, capsule_of, offset_from_256
from .._core.convert import asarray
from .._core.foreign_text import suggestion
from .._core.types import DType, Flags, as_device, as_dtype


class Adapted:
    """The adapted source that `dltensor.adapt` returns: pass it to the consumer's ``from_dlpack``.

    Attributes
    ----------
    changes : tuple of str
        The differences from the source. Empty when there are none.
    copies : bool
        Whether every export makes a copy of its own, marked IS_COPIED, that is solely the consumer's.
    shape, strides, dtype, device, readonly
        As the consumer will see them.

    Raises
    ------
    TypeError
        The class is called: `dltensor.adapt` makes its objects.

    Examples
    --------
    >>> dl.adapt(dl.arange(4)[::-1], contiguous=True)
    <adapted dltensor.Tensor: copied into C order>
    """

    def __init__(self, *arguments, **keywords):
        raise TypeError(f"{type(self).__qualname__}: objects of this class are made by dltensor.adapt")

    @classmethod
    def _of(cls, source, form, name):
        adapted = cls.__new__(cls)
        adapted._source, adapted._form, adapted._name = source, form, name
        adapted._finish(form)
        return adapted

    def _finish(self, form):
        changes, lanes, t, split = [], form["lanes"], self._source, None
        if lanes is not None and lanes != t.dtype.lanes:
            changes.append(f"lanes {lanes} instead of {t.dtype.lanes}, cut along the last axis")
            split = DType(t.dtype.code, t.dtype.bits, lanes)
            if lanes == 1:
                # Before all else: values of several lanes cannot be converted.
                t = self._source = t.view(split)
                split = None
        wanted = None if form["dtype"] is None else as_dtype(form["dtype"], "adapt")
        if wanted is not None and wanted == t.dtype:
            wanted = None
        why = []
        if wanted is not None:
            why.append(f"dtype={wanted} converts {t.dtype}")
            changes.append(f"converted from {t.dtype} to {wanted}")
        if form["contiguous"] and not t.is_contiguous:
            why.append(f"contiguous=True needs C order, strides are {t.strides}")
            if wanted is None:
                changes.append("copied into C order")
        if form["copy"] and not why:
            changes.append("copied")
        if why and form["copy"] is False:
            raise BufferError(f"adapt: {'; '.join(why)}, which needs a copy, but copy=False")
        self.copies = bool(why) or bool(form["copy"])
        self._wanted, self._split = wanted, split
        if split is not None:
            # An axis that cannot be cut raises here, not at export.
            self._cut(t if not self.copies else _empty_like(t, wanted))
        readonly = t.readonly and not self.copies
        if form["readonly"] is False and readonly:
            changes.append("read-only dropped on request: the consumer may write into memory declared immutable")
        elif form["readonly"] and not readonly:
            changes.append("marked read-only")
        self.readonly = readonly if form["readonly"] is None else bool(form["readonly"])
        if form["legacy"] and self.readonly:
            raise BufferError(
                "adapt: a legacy capsule cannot mark the tensor read-only; copy=True makes one "
                "that may be written, readonly=False shares it writable, and jax for one never writes"
            )
        if form["legacy"]:
            changes.append("always a legacy capsule")
        elif form["legacy"] is False:
            changes.append("always a versioned capsule")
        if form["byte_offset"]:
            changes.append(f"byte_offset {form['byte_offset']}")
        self.changes = tuple(changes)
        shown = self._cut(_empty_like(t, wanted)) if self.copies else self._cut(t)
        self.shape, self.strides, self.dtype, self.device = shown.shape, shown.strides, shown.dtype, t.device

    def _cut(self, t):
        return t if self._split is None else t.view(DType(t.dtype.code, t.dtype.bits, self._split.lanes))

    def _make(self, copy=None):
        """Return the tensor to export, its flags and its offset. Each export makes a copy, which its consumer owns."""
        t, copied = self._source, self.copies or bool(copy)
        if self.copies and copy is False:
            raise BufferError(f"__dlpack__: the adapted form needs a copy ({'; '.join(self.changes)}), but copy=False")
        if self._wanted is not None:
            t = t.astype(self._wanted)
        elif copied:
            t = t.copy()
        padded = t.flags & Flags.IS_SUBBYTE_TYPE_PADDED
        flags = padded | (Flags.IS_COPIED if copied else 0)
        if self.readonly and (not copied or self._form["readonly"]):
            flags |= Flags.READ_ONLY
        t = self._cut(t)
        offset = self._form["byte_offset"]
        return t, int(flags), offset_from_256(t) if offset == "256" else offset or 0

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """Export in the adapted form.

        Raises
        ------
        BufferError
            The form needs a copy and `copy` is False, the device is another one, or a legacy capsule was requested
            and cannot represent the form.
        TypeError
            `stream` is not an integer.
        ValueError
            `stream` is not a stream of the device.
        """
        legacy = self._form["legacy"]
        if legacy is None:
            legacy = max_version is None or max_version[0] < 1
        if dl_device is not None and as_device(dl_device) != self.device:
            raise BufferError(
                f"__dlpack__: the adapted tensor is on {self.device} and is offered nowhere else, got "
                f"dl_device={dl_device!r}"
            )
        if stream is not None:
            # The source's own export synchronizes with the consumer's stream, or refuses it; its struct is not needed.
            self._source.__dlpack__(stream=stream, max_version=(1, 3))
        t, flags, offset = self._make(copy)
        if legacy and flags & Flags.READ_ONLY:
            raise BufferError(
                "__dlpack__: the adapted tensor is read-only, which a legacy capsule cannot represent; ask "
                "with max_version=(1, 0), or adapt with copy=True or readonly=False"
            )
        if legacy and flags & Flags.IS_SUBBYTE_TYPE_PADDED:
            raise BufferError(
                "__dlpack__: elements are padded to bytes, which a legacy capsule cannot represent; ask with "
                "max_version=(1, 1)"
            )
        return capsule_of(t, legacy, flags, offset)

    def __dlpack_device__(self):
        """Return the device as the standard's two numbers."""
        return self.device.__dlpack_device__()

    def __repr__(self):
        return f"<adapted {self._name}: {'; '.join(self.changes) or 'as it is'}>"


class AdaptedWithTable(Adapted):
    """An adapted source whose type has an exchange table, for consumers that look for one first.

    {Adapted: Raises}
    """

    __dlpack_c_exchange_api__ = TABLE


def _empty_like(t, dtype):
    """Return a tensor with the shape and strides of the future copy, uninitialized."""
    from .._core.convert import empty

    return empty(t.shape, dtype=dtype or t.dtype)


def _choose(source, to, arguments):
    """Return the form for a framework: the arguments of every quirk that applies, below those of the call."""
    from . import inspect
    from .quirks import load

    quirks = load()
    if to not in quirks.frameworks:
        close = suggestion(str(to), quirks.frameworks)
        raise ValueError(f"adapt: {close}to must be one of {', '.join(quirks.frameworks)}, got {to!r}")
    report = inspect(source)
    if not report.facts:
        raise TypeError(f"adapt: {type(source).__qualname__} has no memory to share; dl.asarray makes a tensor of it")
    chosen, reasons = {}, []
    for row in quirks.about(report.facts, to):
        if row.role != "consumer":
            continue
        for name, value in row.adapt.items():
            chosen[name] = value
        reasons.append(row.id)
    if chosen.get("dtype") == "widen":
        name = report.facts["dtype"]
        if name not in quirks.widen:
            raise BufferError(
                f"adapt: {to} cannot hold {name}, and no common type holds all its values; choose one with dtype="
            )
        chosen["dtype"] = quirks.widen[name]
    # With readonly=False the flag alone causes no copy.
    if arguments.get("readonly") is False and "dtype" not in chosen and arguments.get("copy") is None:
        chosen.pop("copy", None)
    return chosen


def adapt(
    obj: object,
    /,
    *,
    to: str | None = None,
    legacy: bool | None = None,
    readonly: bool | None = None,
    contiguous: bool | None = None,
    byte_offset: int | None = None,
    lanes: int | None = None,
    dtype: object = None,
    copy: bool | None = None,
    table: bool | None = None,
) -> object:
    """Return an object that exports `obj` in the form that a consumer can read.

    Parameters
    ----------
    obj : object
        Any object that `asarray` can share: with DLPack, a buffer or an array interface.
    to : str, optional
        A framework of the quirks file, such as ``"torch"``: chooses everything below that is left None.
    legacy : bool, optional
        True always gives the layout before 1.0, False never does; None gives what the consumer asks for.
    readonly : bool, optional
        True marks the tensor read-only. False drops the flag, which lets the consumer write into memory that its owner
        declared immutable; only this argument does.
    contiguous : bool, optional
        True copies into C order when it is not.
    byte_offset : int or "256", optional
        The offset of the first element from `data`, in bytes; "256" aligns `data` as the standard wants it. None is 0.
    lanes : int, optional
        Joins or splits elements along the last axis, without a copy: pairs of fp4 for torch, single ones for jax.
    dtype : dtype_like, optional
        Converts the values, by a copy.
    copy : bool, optional
        True always copies, False never does.
    table : bool, optional
        Whether its type has an exchange table. None: unless `legacy`.

    Returns
    -------
    Adapted
        With ``__dlpack__`` and ``__dlpack_device__``. It keeps `obj`; its ``changes`` and repr say what is different.

    Raises
    ------
    BufferError
        `copy` is False and the form needs one; a legacy capsule cannot represent the form; `obj` cannot be exchanged.
    TypeError
        `obj` has no memory to share.
    ValueError
        `to` names no known framework, the last axis cannot be cut, or arguments contradict each other.

    Notes
    -----
    Where a form needs a copy every export makes its own, which is marked IS_COPIED: as the standard says, it is then
    solely the consumer's.

    Examples
    --------
    >>> backwards = dl.arange(4)[::-1]
    >>> dl.adapt(backwards, to="torch")
    <adapted dltensor.Tensor: copied into C order>
    >>> dl.from_dlpack(dl.adapt(backwards, to="torch")).tolist()
    [3, 2, 1, 0]
    """
    arguments = {
        "legacy": legacy,
        "readonly": readonly,
        "contiguous": contiguous,
        "byte_offset": byte_offset,
        "lanes": lanes,
        "dtype": dtype,
        "copy": copy,
        "table": table,
    }
    form = arguments
    if to is not None:
        chosen = _choose(obj, to, arguments)
        form = {name: chosen.get(name) if value is None else value for name, value in arguments.items()}
    offset = form["byte_offset"]
    if offset is not None and offset != "256" and (type(offset) is not int or offset < 0):
        raise ValueError(f"adapt: byte_offset must be a number of bytes from 0 on, or '256', got {offset!r}")
    if form["lanes"] is not None and (type(form["lanes"]) is not int or not 1 <= form["lanes"] < 2**16):
        raise ValueError(f"adapt: lanes must be from 1 to 65535, got {form['lanes']!r}")
    if form["legacy"] and form["table"]:
        raise ValueError(
            "adapt: an exchange table gives versioned structs only, so legacy=True and table=True contradict each other"
        )
    if isinstance(obj, (bool, int, float, complex, str, list, tuple)):
        raise TypeError(f"adapt: {type(obj).__qualname__} has no memory to share; dl.asarray makes a tensor of it")
    try:
        source = asarray(obj)
    except TypeError as error:
        raise TypeError(str(error).replace("asarray:", "adapt:", 1)) from None
    kind = type(obj)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    wanted = form["table"] if form["table"] is not None else not form["legacy"]
    return (AdaptedWithTable if wanted else Adapted)._of(source, form, name)
