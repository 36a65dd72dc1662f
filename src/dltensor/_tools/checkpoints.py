# SPDX-License-Identifier: Apache-2.0
"""Layouts of quantised weights in .safetensors files: which tensors belong together, by their names.

A layout is a row of `LAYOUTS`. Names are known here and nowhere else; the numbers are those of `dltensor.dequantize`.
"""

import json
from dataclasses import dataclass
from math import prod

import dltensor as dl

from .._core.foreign_text import quoted

PART = 1 << 20  # elements that are computed at a time where temporaries would be larger than the weight


class LayoutError(ValueError):
    """Tensors of a file that do not fit the layout that their names say; the message has names and values."""


@dataclass
class Group:
    """Tensors of a file that are one weight together."""

    name: str  # of the weight
    layout: str
    shape: tuple
    parts: dict  # names of the tensors, by their role
    note: str

    def dequantize(self, read, dtype):
        """Return the weight as a tensor; `read` takes the name of a tensor."""
        tensors = {role: read(name) for role, name in self.parts.items()}
        _check_numbers(self, "scale", tensors["scale"])
        if self.layout.startswith("nvfp4"):
            _check_second(self, tensors["second"])
        return _BY_NAME[self.layout].numbers(self, tensors, dtype)


@dataclass
class Layout:
    """Names of tensors that belong to the one with the values, and the functions that check and compute."""

    name: str
    suffix: str  # of the values
    others: dict  # suffixes in place of it, by role; a role that ends with ? may lack
    result: str  # suffix of the weight
    check: object  # takes the infos by role, returns the shape and a note, or None where it is another layout
    numbers: object


def _fail(name, text):
    raise LayoutError(f"{quoted(name, 80)}: {text}")


def _divides(shape, scale):
    return len(scale) <= len(shape) and all(
        m and n % m == 0 for n, m in zip(shape[len(shape) - len(scale) :], scale, strict=True)
    )


def _check_scale(name, infos, shape, role="scale"):
    scale = infos[role].shape
    if not _divides(shape, scale):
        _fail(name, f"the scale has shape {scale}, which does not divide {shape} into blocks")


def _is_narrow(info):
    return info.dtype is not None and info.dtype.bits <= 8 and dl.isdtype(info.dtype, "real floating")


def _typed(name, infos):
    values, scale = infos["values"], infos["scale"]
    if not (_is_narrow(values) or values.dtype == dl.int8) or not dl.isdtype(scale.dtype, "real floating"):
        return None
    _check_scale(name, infos, values.shape)
    return values.shape, "scales are factors"


def _blocks_of_128(name, infos):
    values, scale = infos["values"].shape, infos["scale"].shape
    if not _is_narrow(infos["values"]):
        return None
    want = tuple(-(-n // 128) for n in values)
    if scale != want:
        _fail(name, f"the scale has shape {scale}, blocks of 128 x 128 of {values} need {want}")
    return values, "scales are factors, in spite of the name"


def _check_second(group, second):
    """Refuse the second scale of nvfp4 where it is one of the other kind: a factor is below 1, a divisor above."""
    value, is_divisor = float(second), group.layout == "nvfp4 divisor"
    if not 0 < value < float("inf") or (value < 1) == is_divisor:
        kinds = (
            ("a divisor, above 1", "looks like a factor")
            if is_divisor
            else ("a factor, below 1", "looks like a divisor")
        )
        _fail(group.parts["second"], f"the value {value:g} {kinds[1]}; expected {kinds[0]}")


def _check_numbers(group, role, t):
    """Refuse scales that are infinite, NaN or negative."""
    scale = dl.astype(t.view("float8_e8m0fnu") if t.dtype == dl.uint8 else t, "float32")
    sound = dl.logical_and(dl.isfinite(scale), dl.greater_equal(scale, 0))
    if not bool(dl.all(sound)):
        at = int(dl.argmin(sound))
        _fail(group.parts[role], f"element {at} is {float(scale.reshape((-1,))[at])}; scales are finite and at least 0")


def _pairs(name, infos, note):
    values, scale = infos["values"], infos["scale"]
    if values.dtype != dl.uint8 or scale.dtype != dl.float8_e4m3fn or len(values.shape) < 1:
        return None
    if infos["second"].shape not in ((), (1,)):
        _fail(name, f"the second scale has shape {infos['second'].shape}, expected one number")
    shape = (*values.shape[:-1], values.shape[-1] * 2)
    _check_scale(name, infos, shape)
    return shape, note


def _mx_blocks(name, infos):
    values, scale = infos["values"], infos["scale"]
    if values.dtype != dl.uint8 or scale.dtype not in (dl.uint8, dl.float8_e8m0fnu):
        return None
    if values.shape[-1:] != (16,) or values.shape[:-1] != scale.shape:
        _fail(name, f"blocks have shape {values.shape}, scales {scale.shape}; expected (..., n, 16) and (..., n)")
    return (*scale.shape[:-1], scale.shape[-1] * 32), "scales are powers of two"


def _packed_int4(name, infos):
    values = infos["values"]
    if values.dtype != dl.int32 or len(values.shape) != 2:
        return None
    shape = (values.shape[0], values.shape[1] * 8)
    _check_scale(name, infos, shape)
    return shape, "values are 8 more"


def _columns_packed(name, infos):
    values, scale, zeros = (infos[role].shape for role in ("values", "scale", "zeros"))
    if infos["values"].dtype != dl.int32 or infos["zeros"].dtype != dl.int32 or len(values) != 2 or len(scale) != 2:
        return None
    if values[1] * 8 == scale[1]:
        layout, depth = "AWQ", values[0]
    elif values[1] == scale[1]:
        layout, depth = "GPTQ", values[0] * 8
    else:
        _fail(name, f"qweight has shape {values}, scales {scale}: neither GPTQ nor AWQ")
    if not scale[0] or depth % scale[0]:
        _fail(name, f"{scale[0]} groups of scales do not divide {depth} rows")
    if zeros != (scale[0], scale[1] // 8) or scale[1] % 8:
        _fail(name, f"qzeros has shape {zeros}, expected {(scale[0], scale[1] // 8)}")
    return layout, (scale[1], depth)


def _gptq(name, infos):
    found = _columns_packed(name, infos)
    return (found[1], "zero points are 1 less") if found and found[0] == "GPTQ" else None


def _awq(name, infos):
    found = _columns_packed(name, infos)
    return (found[1], "packed in the order 0 2 4 6 1 3 5 7") if found and found[0] == "AWQ" else None


def _nf4(name, infos):
    values, scale = infos["values"], infos["scale"]
    if values.dtype != dl.uint8:
        return None
    if scale.dtype != dl.float32:
        _fail(name, f"absmax has dtype {scale.dtype}: nested quantization of scales is not read")
    if infos["table"].shape != (16,):
        _fail(name, f"quant_map has shape {infos['table'].shape}, expected (16,)")
    size = prod(values.shape) * 2
    if not prod(scale.shape) or size % prod(scale.shape):
        _fail(name, f"{prod(scale.shape)} scales do not divide {size} values into blocks")
    return (size,), "the high half of a byte is first"


def _by_scales(group, t, dtype):
    seconds = [t["second"]] if "second" in t else []
    return dl.dequantize(t["values"], t["scale"], *seconds, dtype=dtype)


def _by_large_blocks(group, t, dtype):
    values = t["values"]
    if any(n % 128 for n in group.shape):  # the last blocks are cut
        widths = [(0, -n % 128) for n in group.shape]
        values = dl.pad(values.view("uint8"), widths).view(values.dtype)
    whole = dl.dequantize(values, t["scale"], dtype=dtype)
    return whole[tuple(slice(n) for n in group.shape)]


def _by_pairs(group, t, dtype):
    second = t["second"].reshape(())
    factor = dl.divide(1.0, second) if group.layout == "nvfp4 divisor" else second
    return dl.dequantize(t["values"].view("float4_e2m1fn"), t["scale"], factor, dtype=dtype)


def _by_mx_blocks(group, t, dtype):
    values = t["values"].view("float4_e2m1fn").reshape(group.shape)
    return dl.dequantize(values, t["scale"].view("float8_e8m0fnu"), dtype=dtype)


def _by_packed_int4(group, t, dtype):
    return dl.dequantize(t["values"].view("uint4"), t["scale"], zero=8, dtype=dtype)


def _by_gptq(group, t, dtype):
    scale, (columns, depth) = t["scale"], group.shape
    if "order" in t:
        groups = dl.arange(depth, dtype="int32")
        if not bool(dl.all(dl.equal(t["order"], dl.floor_divide(groups, depth // scale.shape[0])))):
            _fail(group.name, "g_idx permutes the groups, which is not read")
    codes = t["values"].view("uint4").astype("uint8").reshape((depth // 8, columns, 8))
    codes = dl.permute_dims(codes, (1, 0, 2)).reshape((columns, depth))
    zeros = dl.add(t["zeros"].view("uint4").astype("float32"), 1.0)
    return dl.dequantize(codes, scale.T, zero=zeros.T, dtype=dtype)


def _by_awq(group, t, dtype):
    order = dl.asarray([0, 4, 1, 5, 2, 6, 3, 7])

    def unpacked(words):
        codes = words.view("uint4").astype("uint8").reshape((words.shape[0], words.shape[1], 8))
        return dl.take(codes, order, axis=2).reshape((words.shape[0], words.shape[1] * 8))

    return dl.dequantize(unpacked(t["values"]).T, t["scale"].T, zero=unpacked(t["zeros"]).T, dtype=dtype)


def _by_nf4(group, t, dtype):
    bytes_, scale = t["values"].reshape((-1,)), t["scale"].reshape((-1,))
    result = dl.empty((bytes_.size * 2,), dtype=dtype)
    block = bytes_.size // scale.size  # bytes of a block
    count = max(PART // (2 * block), 1)  # blocks at a time, whose codes take four bytes each
    for first in range(0, scale.size, count):
        part = slice(first * block, (first + count) * block)
        pairs = bytes_[part].view("uint4").astype("uint8").reshape((-1, 2))
        codes = dl.flip(pairs, axis=1).reshape((-1,)).astype("int32")
        numbers = dl.dequantize(dl.take(t["table"], codes), scale[first : first + count], dtype=dtype)
        result[2 * part.start : 2 * part.stop] = numbers
    return result.reshape(group.shape)


def _state_of(group, state):
    try:
        shape = tuple(json.loads(bytes(state.tobytes()))["shape"])
    except (ValueError, KeyError, TypeError):
        _fail(group.name, "quant_state is no JSON object with a shape")
    if any(type(n) is not int or n < 0 for n in shape) or prod(shape) != prod(group.shape):
        _fail(group.name, f"quant_state says shape {shape}, there are {prod(group.shape)} values")
    return shape


_SECOND = {"scale": "weight_scale", "second": "weight_scale_2"}
_DIVISOR = {"scale": "weight_scale", "second": "weight_global_scale"}
_INT4 = {"scale": "weight_scale", "extents?": "weight_shape"}
_COLUMNS = {"scale": "scales", "zeros": "qzeros", "order?": "g_idx"}
_NF4 = {
    "scale": "weight.absmax",
    "table": "weight.quant_map",
    "state?": "weight.quant_state.bitsandbytes__nf4",
}
LAYOUTS = [
    Layout("fp8 128 x 128", "weight", {"scale": "weight_scale_inv"}, "weight", _blocks_of_128, _by_large_blocks),
    Layout(
        "nvfp4 factor", "weight", _SECOND, "weight", lambda n, i: _pairs(n, i, "weight_scale_2 is a factor"), _by_pairs
    ),
    Layout("nf4", "weight", _NF4, "weight", _nf4, _by_nf4),
    Layout(
        "nvfp4 divisor",
        "weight_packed",
        _DIVISOR,
        "weight",
        lambda n, i: _pairs(n, i, "weight_global_scale is a divisor"),
        _by_pairs,
    ),
    Layout("int4 in int32", "weight_packed", _INT4, "weight", _packed_int4, _by_packed_int4),
    Layout("GPTQ", "qweight", _COLUMNS, "weight", _gptq, _by_gptq),
    Layout("AWQ", "qweight", _COLUMNS, "weight", _awq, _by_awq),
    Layout("mxfp4 blocks", "_blocks", {"scale": "_scales"}, "", _mx_blocks, _by_mx_blocks),
    Layout("fp8 scale_weight", "weight", {"scale": "scale_weight"}, "weight", _typed, _by_scales),
    Layout("scaled", "", {"scale": "_scale", "second?": "_scale_2"}, "", _typed, _by_scales),
]
_BY_NAME = {layout.name: layout for layout in LAYOUTS}


def _match(file, layout, name, names):
    """The tensors that belong to `name` in a layout; None where one lacks."""
    base, parts = name.removesuffix(layout.suffix), {"values": name}
    for role, suffix in layout.others.items():
        other = base + suffix
        if other in names:
            parts[role.rstrip("?")] = other
        elif not role.endswith("?"):
            return None
    return base, parts


def find_groups(file):
    """Find the quantised weights of an open file. LayoutError where a float of at most 8 bits has no scale.

    Returns
    -------
    list of Group
        In the order of the file.
    """
    names = set(file.names)
    groups, taken = [], set()
    for name in file.names:
        for layout in LAYOUTS:
            if not name.endswith(layout.suffix) or name in taken:
                continue
            matched = _match(file, layout, name, names)
            if matched is None or taken.intersection(matched[1].values()):
                continue
            base, parts = matched
            found = layout.check(name, {role: file.info(part) for role, part in parts.items()})
            if found is not None:
                group = Group(base + layout.result, layout.name, found[0], parts, found[1])
                if "state" in parts:
                    group.shape = _state_of(group, file.read(parts["state"]))
                groups.append(group)
                taken.update(parts.values())
                break
    for name in file.names:
        if name not in taken and _is_narrow(file.info(name)):
            _fail(
                name,
                f"elements are {file.info(name).dtype}, and no scale is there; expected {name}_scale, "
                f"{name}_scale_inv or {name.removesuffix('weight')}scale_weight",
            )
    return groups
