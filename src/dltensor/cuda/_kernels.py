# SPDX-License-Identifier: Apache-2.0
"""Kernels that a user writes in CUDA C++: expressions over elements, and whole kernels.

The public names are in `cuda`.
"""

from __future__ import annotations

import ctypes
import functools
import numbers
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from .._core.convert import asarray, empty
from .._core.foreign_text import quoted
from .._core.layout import broadcast_shapes
from .._core.tensor import Tensor
from .._core.types import DeviceType, DType, as_dtype
from .._ops.promotion import result_type
from . import _user
from ._device import ordinal_of, start
from ._launch import settings_of

# The names that C has for types; those of dtypes, with or without _t, are read by themselves.
_C_NAMES = {
    "bool": "bool",
    "char": "int8",
    "signed char": "int8",
    "unsigned char": "uint8",
    "short": "int16",
    "unsigned short": "uint16",
    "int": "int32",
    "unsigned": "uint32",
    "unsigned int": "uint32",
    "long": "int64",
    "unsigned long": "uint64",
    "long long": "int64",
    "unsigned long long": "uint64",
    "size_t": "uint64",
    "float": "float32",
    "double": "float64",
    "half": "float16",
}
_MOST_PARAMETERS = 32_764  # the bytes that a launch can pass
_CUDA = (DeviceType.kDLCUDA, DeviceType.kDLCUDAManaged)


def _dtype_named(words: str) -> DType | None:
    """Find the dtype of a C type or of a dtype's name, or None."""
    name = _C_NAMES.get(words)
    if name is None and re.fullmatch(r"[a-z]+[0-9]\w*", words):
        name = words.removesuffix("_t")
    try:
        return None if name is None else as_dtype(name)
    except (TypeError, ValueError):
        return None


def _utf8(text: str, what: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        found = text[error.start : error.start + 1]
        raise ValueError(
            f"{what} has the half of a surrogate pair, {found!r}, at {error.start}, which is no text"
        ) from None


def _tensor(x: Any, func: str) -> Tensor:
    t = x if isinstance(x, Tensor) else asarray(x)
    if t.device.type not in _CUDA:
        raise TypeError(f"{func}: expected tensors on a CUDA device, got one on {t.device}; move it with .to('cuda')")
    return t


def _writable(t: Tensor, func: str) -> Tensor:
    if t.readonly:
        raise ValueError(f"{func}: expected a tensor that can be written, got a read-only one; copy it first")
    return t


def _one_device(tensors: Sequence[Tensor], func: str) -> int:
    devices = dict.fromkeys(t.device for t in tensors)
    if len({device.id for device in devices}) > 1:
        raise ValueError(f"{func}: expected tensors of one device, got {' and '.join(map(str, devices))}")
    return next(iter(devices)).id


class ElementwiseKernel:
    """A function of elements, written as an expression in CUDA C++; made by `elementwise`.

    Attributes
    ----------
    parameters : tuple of (str, str)
        Type and name of each parameter.
    expression : str
    """

    def __init__(self, parameters: str, expression: str, result: Any = None, preamble: str = "") -> None:
        if not isinstance(parameters, str) or not isinstance(preamble, str):
            raise TypeError(
                f"elementwise: expected parameters and preamble as str, got {type(parameters).__qualname__} and "
                f"{type(preamble).__qualname__}"
            )
        self.parameters = _read_parameters(parameters)
        if not isinstance(expression, str) or not expression.strip().rstrip(";"):
            raise ValueError(f"elementwise: expected an expression such as 'x * y + 1', got {expression!r}")
        self.expression = expression.strip().rstrip(";")
        for text, what in ((parameters, "parameters"), (expression, "expression"), (preamble, "preamble")):
            _utf8(text, f"elementwise: {what}")
        self._letters = {kind for kind, _ in self.parameters if _is_letter(kind)}
        if isinstance(result, str) and _is_letter(result):
            if result not in self._letters:
                raise ValueError(f"elementwise: result={result!r} is the type of no parameter")
        elif result is not None:
            result = (_dtype_named(result) if isinstance(result, str) else None) or as_dtype(result, "elementwise")
        self._result = result
        self._preamble = preamble
        self._texts: dict[tuple[DType, ...], tuple[DType, bytes]] = {}

    def __repr__(self) -> str:
        return f"<dl.cuda.ElementwiseKernel ({', '.join(map(' '.join, self.parameters))}) -> {self.expression}>"

    def __call__(self, *operands: Any, out: Any = None, launch: Any = None) -> Any:
        """Compute the expression for every element of the broadcast operands, on the current stream.

        Parameters
        ----------
        *operands : Tensor, any DLPack object on a CUDA device, or number
            In the order of the parameters and of their dtypes. Shapes broadcast; any strides.
        out : Tensor or writable DLPack object, optional
            Of the broadcast shape and the dtype of the result. It may overlap the operands.
        launch : Launch, optional

        Returns
        -------
        Tensor
            Or `out`, when it is given.

        Raises
        ------
        TypeError
            The number of operands, a dtype, or a device is another one.
        ValueError
            Shapes do not broadcast, or the text does not compile: the message has the compiler's lines.
        DeviceError
            There is no driver or no compiler.
        """
        if len(operands) != len(self.parameters):
            raise TypeError(f"elementwise: expected {len(self.parameters)} operands, got {len(operands)}")
        arguments = tuple(_number(x) if isinstance(x, numbers.Number) else _tensor(x, "elementwise") for x in operands)
        target = None if out is None else _writable(_tensor(out, "elementwise"), "elementwise")
        settings = None if launch is None else settings_of(launch, "elementwise")
        types = self._bind(arguments)
        for x, dtype, (_, name) in zip(arguments, types, self.parameters, strict=True):
            if not isinstance(x, Tensor):
                _fits(x, dtype, f"elementwise: {name}")
        result, text = self._text_for(types)
        tensors = [x for x in arguments if isinstance(x, Tensor)]
        if not tensors and target is None:
            raise TypeError("elementwise: expected at least one tensor among the operands, or out=")
        device = _one_device([*tensors, *([] if target is None else [target])], "elementwise")
        try:
            shape = broadcast_shapes(*(t.shape for t in tensors)) if tensors else target.shape
        except ValueError as error:
            raise ValueError(str(error).replace("broadcast_shapes", "elementwise", 1)) from None
        if target is None:
            target = empty(shape, dtype=result, device=f"cuda:{device}")
        elif target.dtype != result:
            raise TypeError(f"elementwise: expected out of dtype {result}, got {target.dtype}")
        elif not _broadcasts(shape, target.shape):
            raise ValueError(f"elementwise: expected out of shape {shape}, got {target.shape}")
        _user.run_elementwise(text, types, arguments, target, settings)
        return target if out is None else out

    def _bind(self, arguments: Sequence[Any]) -> tuple[DType, ...]:
        """The dtype of each parameter: its own, or of a letter that of the operands in its place."""
        letters: dict[str, DType] = {}
        for (kind, name), x in zip(self.parameters, arguments, strict=True):
            if kind in self._letters and isinstance(x, Tensor) and letters.setdefault(kind, x.dtype) != x.dtype:
                raise TypeError(
                    f"elementwise: expected {kind} to be one dtype, got {letters[kind]} and, for {name}, {x.dtype}"
                )
        types = []
        for (kind, name), x in zip(self.parameters, arguments, strict=True):
            if kind in self._letters and kind not in letters:
                raise TypeError(f"elementwise: expected a tensor for a parameter of type {kind}, got numbers only")
            dtype = letters.get(kind) or _dtype_named(kind)
            if isinstance(x, Tensor) and x.dtype != dtype:
                raise TypeError(
                    f"elementwise: expected {name} of dtype {dtype}, got {x.dtype}; convert it with astype(), or "
                    f"declare the parameter as T {name} to take any dtype"
                )
            types.append(dtype)
        return tuple(types)

    def _text_for(self, types: tuple[DType, ...]) -> tuple[DType, bytes]:
        if types not in self._texts:
            result = self._result
            if isinstance(result, str):
                result = types[[kind for kind, _ in self.parameters].index(result)]
            elif result is None:
                try:
                    result = result_type(*types)
                except TypeError as error:
                    raise TypeError(f"{error}; give the dtype of the result as result=") from None
            names = [name for _, name in self.parameters]
            self._texts[types] = result, _text(names, types, result, self.expression, self._preamble)
        return self._texts[types]


def elementwise(parameters: str, expression: str, *, result: Any = None, preamble: str = "") -> ElementwiseKernel:
    """Make a function of CUDA tensors from an expression in CUDA C++.

    It is compiled at its first call for a combination of dtypes, and kept on disk as the package's own kernels are.

    Parameters
    ----------
    parameters : str
        Type and name of each, as in ``"float x, int64 y"``: C types, names of dtypes, or a capital letter, which is any
        dtype: all operands of one letter share it. At most 8. Elements of float16 and bfloat16 are ``float`` in the
        expression, and rounded once.
    expression : str
        What one element of the result is. The functions of CUDA C++ can be used.
    result : dtype_like or letter, optional
        The dtype of the result; by default what the dtypes of the parameters promote to.
    preamble : str, optional
        Functions and types that the expression uses.

    Returns
    -------
    ElementwiseKernel
        Called with tensors of any framework, or numbers; see there.

    Raises
    ------
    TypeError
        `parameters` or `preamble` is not a str.
    ValueError
        The parameters or the expression cannot be read.

    Notes
    -----
    Products are not contracted to fused multiply-adds, so that results have the bits that the same expression has on
    the CPU; write ``fma(x, y, z)`` for one.

    Examples
    --------
    >>> f = dl.cuda.elementwise("float x, float y", "x * y + 1")
    >>> f(dl.ones((2, 1), device="cuda"), dl.arange(3, dtype="float32", device="cuda"))  # doctest: +SKIP
    Tensor([[1., 2., 3.],
            [1., 2., 3.]], shape=(2, 3), device=cuda:0, dtype=float32)
    """
    return ElementwiseKernel(parameters, expression, result, preamble)


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    return len(shape) <= len(to) and all(a in (1, b) for a, b in zip(reversed(shape), reversed(to), strict=False))


def _fits(x: Any, dtype: DType, func: str) -> Any:
    """A number that an element of the dtype can be: a fraction is never dropped."""
    if isinstance(x, float) and not dtype.name.startswith(("float", "bfloat", "complex")):
        raise TypeError(f"{func}: expected an integer for {dtype}, got {quoted(x)}")
    return x


def _number(x: Any) -> Any:
    return x if isinstance(x, (bool, int, float, complex)) or not hasattr(x, "item") else x.item()


def _is_letter(kind: str) -> bool:
    return len(kind) == 1 and kind.isupper()


def _read_parameters(text: str) -> tuple[tuple[str, str], ...]:
    parameters = []
    for part in text.split(","):
        *kind, name = part.replace("&", " ").split() or [""]
        words = " ".join(word for word in kind if word != "const")
        if not words or not name.isidentifier():
            raise ValueError(f"elementwise: expected parameters such as 'float x, float y', got {part.strip()!r}")
        dtype = None if _is_letter(words) else _dtype_named(words)
        if dtype is None and not _is_letter(words):
            raise ValueError(f"elementwise: expected a C type, a dtype or a capital letter for {name}, got {words!r}")
        if dtype is not None and dtype.name.startswith("complex"):
            raise ValueError(f"elementwise: {name} is complex, which expressions cannot be; write a RawKernel")
        parameters.append((words, name))
    if len({name for _, name in parameters}) != len(parameters):
        raise ValueError(f"elementwise: expected parameters of different names, got {text!r}")
    return tuple(parameters)


# The line at which the package's text begins again: compilers name the user's lines as the user's.
_LINE = '#line 1 "{}"'


def _text(names: Sequence[str], types: Sequence[DType], result: DType, expression: str, preamble: str) -> bytes:
    """The text of both kernels: over runs of memory, in packs, and over any strides."""
    count = range(len(names))
    loads = "\n".join(
        f"      Pack<X{k}, VEC> a{k};\n      if constexpr (!(NUMBERS >> {k} & 1)) "
        f"a{k} = static_cast<const Pack<X{k}, VEC>*>(p.in[{k}])[i];"
        for k in count
    )
    numbers = "\n".join(f"  const auto n{k} = computed<X{k}>::in(immediate<X{k}>(p.value[{k}]));" for k in count)

    def call(element: str) -> str:
        return ", ".join(f"NUMBERS >> {k} & 1 ? n{k} : computed<X{k}>::in({element.format(k=k)})" for k in count)

    steps = "\n".join(f"      at{k} += int64_t(rest) * p.stride[{k + 1}][d];" for k in count)
    starts = " ".join(f"int64_t at{k} = 0;" for k in count)
    aliases = "\n".join(f"using X{k} = {_user.name_in_kernels(t)};" for k, t in zip(count, types, strict=True))
    declared = ", ".join(
        f"const dlt::kernels::computed<dlt::user::X{k}>::type {name}" for k, name in zip(count, names, strict=True)
    )
    return f"""#include "native/cuda/kernels/elementwise/bodies.cuh"
{_LINE.format("preamble")}
{preamble}
{_LINE.format("elementwise")}
namespace dlt::user {{
{aliases}
using R = {_user.name_in_kernels(result)};
}}
// In a namespace of its own: no name of the package is in the way of the user's.
namespace dltensor_user {{
DLT_FN dlt::kernels::computed<dlt::user::R>::type body({declared}) {{
  return static_cast<dlt::kernels::computed<dlt::user::R>::type>(
{_LINE.format("expression")}
{expression}
{_LINE.format("elementwise")}
  );
}}
}}
namespace dlt::user {{
using namespace dlt::kernels;
using dltensor_user::body;
template <int VEC, unsigned NUMBERS>
__global__ void __launch_bounds__(1024) contiguous(const __grid_constant__ UserRun p) {{
{numbers}
  const uint64_t packs = p.count / VEC, threads = all_threads();
  for (uint64_t i = first_item(); i < packs; i += threads) {{
{loads}
      Pack<R, VEC> r;
#pragma unroll
      for (int j = 0; j < VEC; ++j) r.at[j] = computed<R>::out(body({call("a{k}.at[j]")}));
      static_cast<Pack<R, VEC>*>(p.out)[i] = r;
  }}
  for (uint64_t i = packs * VEC + first_item(); i < p.count; i += threads)
    static_cast<R*>(p.out)[i] = computed<R>::out(body({call("static_cast<const X{k}*>(p.in[{k}])[i]")}));
}}
template <class I, unsigned NUMBERS>
__global__ void __launch_bounds__(1024) rows(const __grid_constant__ UserRows<I> p) {{
{numbers}
  const uint64_t threads = all_threads();
  for (uint64_t item = first_item(); item < p.count; item += threads) {{
    I left = I(item), rest;
    int64_t to = 0; {starts}
    for (int d = p.dims - 1; d >= 0; --d) {{
      left = divide(p.extent[d], left, &rest);
      to += int64_t(rest) * p.stride[0][d];
{steps}
    }}
    static_cast<R*>(p.out)[to] = computed<R>::out(body({call("static_cast<const X{k}*>(p.in[{k}])[at{k}]")}));
  }}
}}
}}  // namespace dlt::user
""".encode()


class RawKernel:
    """A kernel in CUDA C++, launched as it is. It is compiled at its first launch and kept on disk.

    Parameters
    ----------
    source : str
        The text. Its lines are counted as those of ``kernel.cu`` in messages of the compiler.
    name : str
        The kernel in it; with template arguments if it has some, as in ``"scale<float>"``.
    options : iterable of str, default ()
        For NVRTC, such as ``"--use_fast_math"`` or ``"-I/folder"``. C++17 is the default.

    Raises
    ------
    TypeError
        `source`, `name` or one of `options` is not a str.
    ValueError
        One of them has characters that UTF-8 cannot express.

    Examples
    --------
    >>> kernel = dl.cuda.RawKernel('''
    ... __global__ void scale(float* x, float factor, int n) {
    ...   int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...   if (i < n) x[i] *= factor;
    ... }''', "scale")
    >>> x = dl.ones((1000,), device="cuda")                                 # doctest: +SKIP
    >>> kernel((4,), (256,), (x, 2.5, 1000))                                # doctest: +SKIP
    """

    def __init__(self, source: str, name: str, *, options: Iterable[str] = ()) -> None:
        if not isinstance(source, str) or not isinstance(name, str):
            raise TypeError("RawKernel: expected source and name as str")
        self.source, self.name, self.options = source, name, tuple(options)
        if not all(isinstance(option, str) for option in self.options):
            raise TypeError(f"RawKernel: expected options as str, got {quoted(self.options)}")
        self._text = f"{_LINE.format('kernel.cu')}\n".encode() + _utf8(source, "RawKernel: source") + b"\n"
        self._name = _utf8(name, "RawKernel: name")
        options = (*self.options, *_standard(self.options))
        self._options = [_utf8(option, "RawKernel: an option") for option in options]

    def __repr__(self) -> str:
        return f"<dl.cuda.RawKernel {self.name}>"

    @functools.cached_property
    def parameters(self) -> tuple[str, ...] | None:
        """The declared parameters as texts; None where they cannot be read off the source."""
        return _signature(self.source, self.name)

    def __call__(self, grid: Any, block: Any, arguments: Sequence[Any] = (), *, shared_bytes: int = 0) -> None:
        """Launch the kernel on the current stream of the device that the tensors are on.

        The stream waits for the work that wrote what the kernel reads, and for all users of what it writes: pointers to
        const are read, others are written.

        Parameters
        ----------
        grid, block : int or up to three of them
        arguments : sequence
            For pointers: tensors of any framework, whose first element is pointed to, whatever their strides; None, or
            an address as int. For values: numbers, which get the declared type; NumPy scalars, ctypes objects or bytes
            as they are.
        shared_bytes : int, default 0
            Dynamic shared memory of a block.

        Raises
        ------
        TypeError
            The arguments do not fit the declared parameters.
        ValueError
            A dimension is not positive or too large, a tensor that would be written is read-only, or the text does not
            compile: the message has the compiler's lines.
        DeviceError
            There is no driver or no compiler, or it refuses the launch.
        """
        declared = self.parameters
        if not isinstance(arguments, Iterable) or isinstance(arguments, str):
            raise TypeError(f"RawKernel: expected a sequence of arguments, got {quoted(arguments)}")
        most = _MOST_PARAMETERS if declared is None else len(declared)
        arguments = list(islice(arguments, most + 1))
        if len(arguments) > most or (len(arguments) < most and declared is not None):
            got = "more" if len(arguments) > most else str(len(arguments))
            raise TypeError(f"RawKernel: {self.name} has {most} parameters, got {got} arguments")
        values, tensors, writes = [], [], []
        for k, argument in enumerate(arguments):
            parameter = None if declared is None else declared[k]
            value, tensor, write = _argument(argument, parameter, f"{self.name}, argument {k + 1}")
            values.append(value)
            if tensor is not None:
                tensors.append(tensor)
                writes.append(write)
        device = _one_device(tensors, "RawKernel") if tensors else 0
        if not isinstance(shared_bytes, int) or shared_bytes < 0:
            raise ValueError(f"RawKernel: expected shared_bytes of 0 or more, got {quoted(shared_bytes)}")
        shape = _extents(grid, "grid"), _extents(block, "block")
        start()
        _user.run_raw(self._text, self._name, self._options, *shape, shared_bytes, values, tensors, writes, device)

    def attributes(self, device: Any = 0) -> dict[str, int]:
        """Compile the kernel for a device; return its registers, largest block, shared and local bytes.

        Raises
        ------
        ValueError
            The text does not compile, or there is no such device.
        DeviceError
            There is no driver or no compiler.
        """
        start()
        return _user.attributes(self._text, self._name, self._options, ordinal_of(device, "RawKernel.attributes"))


def _standard(options: Sequence[str]) -> list[str]:
    named = any(option.startswith(("-std", "--std", "-std=", "--std=")) for option in options)
    return [] if named else ["--std=c++17"]


def _extents(value: Any, func: str) -> tuple[int, int, int]:
    extents = tuple(islice(value, 4)) if isinstance(value, Sequence) else (value,)
    if not 1 <= len(extents) <= 3 or not all(isinstance(e, int) and 1 <= e < 1 << 31 for e in extents):
        raise ValueError(f"RawKernel: expected one to three positive ints for {func}, got {quoted(value)}")
    return (*extents, 1, 1)[:3]


def _signature(source: str, name: str) -> tuple[str, ...] | None:
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.S)
    base = name.partition("<")[0].rpartition(":")[2]
    for found in re.finditer(rf"\b{re.escape(base)}\s*\(", plain):
        before = plain[: found.start()]
        if "__global__" not in before[max(before.rfind("}"), before.rfind(";"), 0) :]:
            continue
        depth, parts, part = 0, [], ""
        for c in plain[found.end() :]:
            if c == ")" and depth == 0:
                parts.append(part.strip())
                return tuple(p for p in parts if p and p != "void")
            depth += (c in "(<[") - (c in ")>]")
            if c == "," and depth == 0:
                parts.append(part.strip())
                part = ""
            else:
                part += c
    return None


def _argument(x: Any, parameter: str | None, func: str) -> tuple[bytes, Tensor | None, bool]:
    """The bytes of an argument, the tensor whose memory it points to, and whether the kernel may write there."""
    if isinstance(x, (bytes, ctypes._SimpleCData, ctypes.Structure, ctypes.Array)):
        return bytes(x), None, False
    pointer = parameter is None or "*" in parameter or "[" in parameter
    words = "" if parameter is None else re.sub(r"\b(const|volatile|__restrict__|__grid_constant__)\b", " ", parameter)
    kind = " ".join(re.split(r"[*&\[]", words)[0].split()) if pointer else " ".join(words.split()[:-1])
    if pointer and (x is None or (isinstance(x, int) and parameter is not None)):
        return (x or 0).to_bytes(8, "little"), None, False
    if isinstance(x, numbers.Number):
        if pointer and parameter is not None:
            raise TypeError(f"RawKernel: {func}: expected a tensor for {parameter!r}, got {quoted(x)}")
        dtype = _dtype_named(kind) if kind else None
        if hasattr(x, "tobytes") and (dtype is None or x.dtype.itemsize == dtype.itemsize):
            return x.tobytes(), None, False
        if dtype is None:
            what = (
                "its parameter cannot be read off the source"
                if parameter is None
                else f"{parameter!r} is of no known type"
            )
            raise TypeError(f"RawKernel: {func}: {what}; pass a NumPy scalar or a ctypes object instead of {quoted(x)}")
        return _user.element(_fits(_number(x), dtype, f"RawKernel: {func}"), dtype), None, False
    if not pointer:
        raise TypeError(f"RawKernel: {func}: expected a number for {parameter!r}, got {type(x).__qualname__}")
    t = _tensor(x, "RawKernel")
    write = parameter is None or not re.search(r"\bconst\b[^*]*\*", parameter)
    dtype = _dtype_named(kind) if kind else None
    if dtype is not None and t.dtype != dtype:
        raise TypeError(f"RawKernel: {func}: expected a tensor of {dtype} for {parameter!r}, got {t.dtype}")
    if write and parameter is not None:
        _writable(t, f"RawKernel: {func}")
    return t.data_ptr.to_bytes(8, "little"), t, write and not t.readonly
