# SPDX-License-Identifier: Apache-2.0
"""Convert a .safetensors file tensor by tensor: quantise or dequantise its weights.

--dtype: layouts of mxfp4, nvfp4, fp8, int8, int4, GPTQ, AWQ and nf4 are recognised by names. --format: X becomes X and
X_scale, and X_scale_2 for nvfp4. Other tensors are copied. OUT is replaced when the new file is complete.
"""

import fnmatch
import math
import os

import dltensor as dl

from .._core.foreign_text import first_line
from .._core.views import raw_bytes
from .._ops.quantization import FORMATS, PART, SCALE_DTYPES, Quantized
from .._tools.checkpoints import LayoutError, find_groups
from .._tools.output import reason_of
from .._tools.terminal import Bar, columns_of, complain, say, width
from ..io._paths import Replacement
from ..io._writing import check_safetensors, safetensors_header

_FLOATS = ("float16", "bfloat16", "float32", "float64")


def arguments(parser):
    """Declare the options of the command."""
    parser.add_argument("source", metavar="IN", help="a .safetensors file")
    parser.add_argument("target", metavar="OUT", help="the file to write")
    kind = parser.add_mutually_exclusive_group(required=True)
    help_of_dtype = f"dequantise, and convert floats to this dtype: {', '.join(_FLOATS)}"
    kind.add_argument("--dtype", metavar="DTYPE", choices=_FLOATS, help=help_of_dtype)
    formats = [*FORMATS, "int8", "float8_e4m3fn", "float8_e5m2"]
    help_of_format = f"quantise matrices: {', '.join(formats)}"
    kind.add_argument("--format", metavar="FORMAT", choices=formats, help=help_of_format)
    parser.add_argument("--rule", choices=("floor", "even", "ceil"), default="floor", help="of powers of two")
    parser.add_argument("--keep", metavar="GLOB", action="append", default=[], help="names that stay as they are")
    parser.add_argument("--errors", action="store_true", help="print what quantization changed in each tensor")


class _Output:
    """A weight in the new file: tensors by name with dtype and shape, and the function that makes them."""

    __slots__ = ("described", "error", "make", "what")

    def __init__(self, described, make, what):
        self.described, self.make, self.what, self.error = described, make, what, None


class _Copy:
    """A tensor that is copied. Files have hundreds of thousands of them: it has a name and nothing else of its own."""

    __slots__ = ("file", "name")
    what, error = "copied", None

    def __init__(self, name, file):
        self.name, self.file = name, file

    @property
    def described(self):
        info = self.file.info(self.name)
        return {self.name: (info.dtype, info.shape)}

    def make(self):
        return [self.file.read(self.name)]


def _nbytes(dtype, shape):
    return math.prod(shape) * dtype.bits // 8


def _dequantized(name, dtype, group, info, read):
    """The weight as floats of a dtype."""
    if group is not None:
        return _Output({name: (dtype, group.shape)}, lambda: [group.dequantize(read, dtype)], group.layout)
    return _Output({name: (dtype, info.shape)}, lambda: [dl.astype(read(name), dtype, copy=False)], "converted")


def _quantized(name, options, shape, read):
    """The weight as values and scales; `read` returns it as floats."""
    dtype, kind, length = FORMATS.get(options.format, (options.format, "ratio", None))
    block = (1, -1) if length is None else length
    scale_shape = (*shape[:-1], 1 if length is None else shape[-1] // length)
    described = {name: (dl.DTYPES[dtype], shape), f"{name}_scale": (dl.DTYPES[SCALE_DTYPES[kind]], scale_shape)}
    if kind == "two_level":
        described[f"{name}_scale_2"] = (dl.float32, ())

    def make():
        if kind == "two_level":  # the second scale is that of the whole weight
            dl.empty_cache()  # of the weight before
            x = dl.astype(read(), "float32", copy=False)
            dl.empty_cache()  # of the weight as it is in the file
            q = dl.quantize(x, options.format, block=block)
        else:
            x = read()
            q = _quantize_rows(x, described.values(), options, block)
        if options.errors:
            output.error = dl.quantization_error(x, q)
        return [t for t in q if t is not None]

    output = _Output(described, make, options.format)
    return output


def _quantize_rows(x, described, options, block):
    """Quantise a weight whose blocks lie in rows, some rows at a time: there is no float32 copy of all of it."""
    whole = [dl.empty(shape, dtype=dtype) for dtype, shape in described]
    rows = [dl.reshape(t, (-1, t.shape[-1])) for t in (x, *whole)]
    count = max(PART // x.shape[-1], 1)
    for first in range(0, rows[0].shape[0], count):
        part = slice(first, first + count)
        for target, t in zip(
            rows[1:], dl.quantize(rows[0][part], options.format, block=block, rule=options.rule), strict=False
        ):
            target[part] = t
    return Quantized(*whole)


def _can_quantize(options, name, shape):
    length = FORMATS.get(options.format, (None, None, None))[2] or 1
    return len(shape) >= 2 and 0 not in shape and shape[-1] % length == 0 and not _is_kept(options, name)


def _is_kept(options, name):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in options.keep)


def plan(file, options):
    """Return the outputs of a conversion, in the order of the file, without reading weights."""
    groups = {name: group for group in find_groups(file) for name in group.parts.values()}
    outputs, done = [], set()
    for name in file.names:
        group = groups.get(name)
        if group is not None and id(group) in done:
            continue
        done.add(id(group))
        info = file.info(name)
        is_float = group is not None or (info.dtype is not None and str(info.dtype) in _FLOATS)
        name, shape = (group.name, group.shape) if group is not None else (name, info.shape)
        if is_float and options.dtype and not _is_kept(options, name):
            outputs.append(_dequantized(name, dl.DTYPES[options.dtype], group, info, file.read))
        elif is_float and options.format and _can_quantize(options, name, shape):
            read = (
                (lambda n=name: file.read(n)) if group is None else (lambda g=group: g.dequantize(file.read, "float32"))
            )
            outputs.append(_quantized(name, options, shape, read))
        else:
            outputs.extend(_Copy(part, file) for part in ([name] if group is None else group.parts.values()))
    return outputs, list({id(group): group for group in groups.values()}.values())


def _header(outputs, metadata, prefix):
    """The header of the new file and the order of its tensors; refuses a name twice and what the format cannot hold."""
    described = {}
    for output in outputs:
        for name, (dtype, shape) in output.described.items():
            if name in described:
                raise LayoutError(f"{prefix}: two tensors would have the name {first_line(name, 80)!r}")
            check_safetensors(name, dtype, math.prod(shape), prefix)
            described[name] = dtype, shape, _nbytes(dtype, shape)
    return safetensors_header(described, metadata, prefix)


def convert(file, target, options):
    """Write the new file; returns the outputs and the groups that were found."""
    outputs, groups = plan(file, options)
    header, order = _header(outputs, file.metadata, "convert")
    sizes = {name: _nbytes(*what) for output in outputs for name, what in output.described.items()}
    places, at = {}, len(header)
    for name in order:
        places[name] = at
        at += sizes[name]
    del order
    with Bar("convert, MB") as bar, Replacement(target, at, "convert") as new:
        new.write(header)
        done = 0
        for output in outputs:
            tensors = output.make()
            for name, t in zip(output.described, tensors, strict=True):
                data = memoryview(raw_bytes(t if t.is_contiguous else t.copy()))
                if len(data) != sizes[name]:
                    raise LayoutError(
                        f"convert: {first_line(name, 80)!r} has {len(data)} bytes, expected {sizes[name]}"
                    )
                os.lseek(new.file, places[name], os.SEEK_SET)
                new.write(data)
                done += len(data)
            del tensors, t, data
            bar(done // 10**6, at // 10**6)
    return outputs, groups


def _problem(error):
    """The message of an error on one line: the file and the reason where the system refused one."""
    if isinstance(error, OSError):
        name = "" if error.filename is None else f"{first_line(str(error.filename))}: "
        return f"{name}{reason_of(error)}"
    return first_line(str(error), 500)


def run(options):
    """Convert, print what was found, and return the exit status: 0 done, 2 not possible."""
    try:
        with dl.open_file(options.source, mmap=False) as file:
            if file.format != "safetensors":
                complain(
                    f"dltensor convert: {first_line(options.source)} is a .{file.format} file, expected .safetensors"
                )
                return 2
            outputs, groups = convert(file, options.target, options)
    except (ValueError, TypeError, OSError) as error:  # a LayoutError is a ValueError
        complain(f"dltensor convert: {_problem(error).removeprefix('convert: ')}")
        return 2
    counts = {}
    for output in outputs:
        counts[output.what] = counts.get(output.what, 0) + 1
    say(f"{first_line(options.target)}: " + ", ".join(f"{n} {what}" for what, n in counts.items()))
    for layout, note in {group.layout: group.note for group in groups}.items():
        say(f"  {layout}: {note}")
    rows = [(next(iter(o.described)), o.error) for o in outputs if o.error]
    if rows:
        table = [["name", "decibels", "relative rms", "largest", "clamped", "to zero"]]
        for name, e in rows:
            table.append(
                [
                    first_line(name, 80),
                    f"{e.decibels:.1f}",
                    f"{e.relative_rms:.2e}",
                    f"{e.largest:.3g}",
                    str(e.clamped),
                    str(e.flushed),
                ]
            )
        for line in columns_of(table, width(), right=(1, 2, 3, 4, 5)):
            say(line)
    return 0
