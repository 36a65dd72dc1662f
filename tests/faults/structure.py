# SPDX-License-Identifier: Apache-2.0
"""Section A of the fault catalogue as data: what is wrong with (or odd about) an imported struct, and what must follow.

A row says which fields of a sound tensor change and what is expected. Each is tried through every path.
"""

import struct
from dataclasses import dataclass, field

MIN, MAX = -(2**63), 2**63 - 1
SIX = struct.pack("6f", *range(6))
SIX_VALUES = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


@dataclass(frozen=True)
class Refused:
    """A BufferError whose message names the field, the value and the rule."""

    rule: str
    field: str
    value: str

    def pattern(self):
        return rf"from_dlpack: {self.field}: expected .+, got {self.value}.*\(rule {self.rule}\); ."


@dataclass(frozen=True)
class Accepted:
    """A tensor with these properties; ``touch`` names the exception that reading an element must raise."""

    shape: tuple = (2, 3)
    strides: tuple = None
    values: object = None
    dtype: tuple = None
    device: tuple = (1, 0)
    readonly: bool = None
    flags: int = None
    touch: str = None
    contiguous: bool = None


@dataclass(frozen=True)
class Row:
    """One row of the catalogue, and the paths it makes sense at."""

    number: int
    name: str
    expect: object
    fields: dict
    paths: tuple = field(default=("capsule", "object", "table", "legacy capsule", "legacy object"))


def refused(number, name, rule, where, value, **fields):
    return Row(number, name, Refused(rule, where, value), {"data": SIX, **fields})


def accepted(number, name, expect, **fields):
    return Row(number, name, expect, {"data": SIX, **fields})


def versioned(row):
    """Only a versioned struct can say this."""
    return Row(row.number, row.name, row.expect, row.fields, ("capsule", "object", "table"))


F32 = (2, 32, 1)
EMPTY = {"shape": (0, 3), "values": []}

ROWS = [
    accepted(0, "sound", Accepted(values=SIX_VALUES, strides=(3, 1), dtype=F32, readonly=None, contiguous=True)),
    refused(1, "ndim -1", "ndim.range", "ndim", "-1", ndim=-1),
    refused(2, "ndim INT_MIN", "ndim.range", "ndim", "-2147483648", ndim=-(2**31)),
    refused(3, "ndim 65", "ndim.range", "ndim", "65", ndim=65),
    refused(3, "ndim 1000", "ndim.range", "ndim", "1000", ndim=1000),
    accepted(3, "ndim 33", Accepted(shape=(1,) * 32 + (6,)), shape=(1,) * 32 + (6,)),
    accepted(3, "ndim 64", Accepted(shape=(1,) * 63 + (6,), contiguous=True), shape=(1,) * 63 + (6,)),
    refused(4, "ndim INT_MAX", "ndim.range", "ndim", "2147483647", ndim=2**31 - 1),
    refused(5, "shape NULL", "shape.null", "shape", "NULL", shape=None, ndim=2, strides=(3, 1)),
    refused(5, "shape 16", "shape.pointer", "shape", "address 0x10", shape=16, ndim=2, strides=(3, 1)),
    refused(5, "strides 24", "strides.pointer", "strides", "address 0x18", strides=24),
    accepted(6, "shape NULL, ndim 0", Accepted(shape=(), strides=(), values=0.0), shape=None, strides=None, ndim=0),
    accepted(7, "strides NULL", Accepted(values=SIX_VALUES, strides=(3, 1)), strides=None),
    versioned(
        accepted(7, "strides NULL in 1.1", Accepted(values=SIX_VALUES, strides=(3, 1)), strides=None, version=(1, 1))
    ),
    refused(8, "negative dim", "shape.negative", r"shape\[1\]", "-3", shape=(2, -3), strides=(3, 1)),
    refused(9, "two negative dims", "shape.negative", r"shape\[0\]", "-2", shape=(-2, -3), strides=(3, 1)),
    refused(10, "dim INT64_MIN", "shape.negative", r"shape\[0\]", str(MIN), shape=(MIN, 1), strides=(1, 1)),
    refused(
        11, "numel 2^64, strides 0", "shape.size", r"shape\[0\]", "4294967296", shape=(2**32, 2**32), strides=(0, 0)
    ),
    refused(
        12, "numel 2^64, strides NULL", "shape.size", r"shape\[0\]", "4294967296", shape=(2**32, 2**32), strides=None
    ),
    refused(
        13, "nbytes overflow", "shape.bytes", r"shape\[0\]", str(2**61), shape=(2**61,), strides=(1,), dtype=(2, 64, 1)
    ),
    refused(
        14, "product wraps to 4", "shape.size", r"shape\[0\]", str(2**62 + 1), shape=(2**62 + 1, 4), strides=(4, 1)
    ),
    accepted(
        15,
        "overflow times zero",
        Accepted(shape=(2**62, 2**62, 0), values=None),
        shape=(2**62, 2**62, 0),
        strides=(0, 0, 1),
    ),
    accepted(
        15,
        "zero, then overflow",
        Accepted(shape=(0, MAX, MAX), values=[]),
        shape=(0, MAX, MAX),
        strides=(MAX, MAX, 1),
        data=0,
    ),
    accepted(16, "10^12 elements, 24 bytes, not read", Accepted(shape=(10**12,), strides=(1,)), shape=(10**12,)),
    refused(17, "stride 2^60", "strides.extent", r"strides\[0\]", f"{2**60} with shape\\[0\\] = 2", strides=(2**60, 1)),
    refused(17, "stride -2^60", "strides.extent", r"strides\[0\]", str(-(2**60)), strides=(-(2**60), 1)),
    refused(17, "extent 2^47 + 4", "strides.extent", r"strides\[0\]", "1 with", shape=(2**45 + 1,), strides=(1,)),
    refused(18, "stride INT64_MAX", "strides.extent", r"strides\[1\]", str(MAX), strides=(3, MAX)),
    refused(19, "stride INT64_MIN", "strides.extent", r"strides\[1\]", str(MIN), strides=(3, MIN)),
    accepted(
        20, "negative stride", Accepted(values=SIX_VALUES[::-1], strides=(-3, 1)), strides=(-3, 1), byte_offset=12
    ),
    accepted(
        20,
        "both negative",
        Accepted(values=[[5.0, 4.0, 3.0], [2.0, 1.0, 0.0]], strides=(-3, -1)),
        strides=(-3, -1),
        byte_offset=20,
    ),
    accepted(20, "negative stride, data at the end", Accepted(values=SIX_VALUES[::-1]), strides=(-3, 1), shift=12),
    accepted(21, "zero strides", Accepted(values=[[0.0] * 3] * 2, strides=(0, 0)), strides=(0, 0)),
    accepted(21, "rows broadcast", Accepted(values=[[0.0, 1.0, 2.0]] * 2, strides=(0, 1)), strides=(0, 1)),
    accepted(
        21,
        "odd stride on one element",
        Accepted(shape=(1, 3), values=[[0.0, 1.0, 2.0]]),
        shape=(1, 3),
        strides=(MAX, 1),
    ),
    refused(22, "data NULL", "data.null", "data", "NULL", data=0),
    refused(22, "data NULL, 0-d", "data.null", "data", "NULL", data=0, shape=(), strides=()),
    refused(22, "data NULL on CUDA", "data.null", "data", "NULL", data=0, device=(2, 0)),
    refused(22, "data NULL on Vulkan", "data.null", "data", "NULL", data=0, device=(7, 0)),
    refused(22, "data in the first page", "data.range", "data", "address 0x40", data=64),
    accepted(23, "data NULL, size 0", Accepted(**EMPTY), shape=(0, 3), data=0),
    accepted(23, "data NULL, size 0 behind", Accepted(shape=(3, 0), values=[[], [], []]), shape=(3, 0), data=0),
    accepted(24, "data, size 0", Accepted(**EMPTY), shape=(0, 3)),
    accepted(25, "float32 at 1", Accepted(values=SIX_VALUES), data=b"\0" + SIX, shift=1),
    accepted(
        25,
        "float64 at 4",
        Accepted(shape=(2,), values=[1.5, -2.5]),
        shape=(2,),
        dtype=(2, 64, 1),
        data=bytes(4) + struct.pack("2d", 1.5, -2.5),
        shift=4,
    ),
    accepted(26, "byte_offset 3", Accepted(values=SIX_VALUES), data=b"\0\0\0" + SIX, byte_offset=3),
    accepted(26, "byte_offset 8", Accepted(shape=(2,), values=[2.0, 3.0]), shape=(2,), byte_offset=8),
    refused(27, "byte_offset 2^64-1", "byte_offset.range", "byte_offset", str(2**64 - 1), byte_offset=2**64 - 1),
    refused(28, "byte_offset 2^63", "byte_offset.range", "byte_offset", str(2**63), byte_offset=2**63),
    refused(28, "byte_offset 2^48", "byte_offset.range", "byte_offset", str(2**48), byte_offset=2**48),
    refused(
        28, "byte_offset 2^63 on CUDA", "byte_offset.range", "byte_offset", str(2**63), byte_offset=2**63, device=(2, 0)
    ),
    refused(
        28, "address wraps", "data.range", "data", "address 0xfff", data=2**64 - 256, byte_offset=512, device=(2, 0)
    ),
    refused(29, "lanes 0", "dtype.lanes", "dtype.lanes", "0", dtype=(2, 32, 0)),
    accepted(30, "lanes 4", Accepted(shape=None, dtype=(2, 8 * 4, 4)), dtype=(2, 32, 4), shape=(1,), data=bytes(16)),
    refused(31, "bits 0", "dtype.bits", "dtype.bits", "0", dtype=(2, 0, 1)),
    refused(31, "bits 0, unknown code", "dtype.bits", "dtype.bits", "0", dtype=(99, 0, 1)),
    refused(32, "int7", "dtype.bits", "dtype.bits", "7", dtype=(0, 7, 1)),
    refused(32, "uint24", "dtype.bits", "dtype.bits", "24", dtype=(1, 24, 1)),
    refused(32, "float24", "dtype.bits", "dtype.bits", "24", dtype=(2, 24, 1)),
    refused(32, "float128", "dtype.bits", "dtype.bits", "128", dtype=(2, 128, 1)),
    refused(32, "bool32", "dtype.bits", "dtype.bits", "32", dtype=(6, 32, 1)),
    refused(32, "bf32", "dtype.bits", "dtype.bits", "32", dtype=(4, 32, 1)),
    refused(32, "fp8 of 16 bits", "dtype.bits", "dtype.bits", "16", dtype=(10, 16, 1)),
    refused(32, "fp6 of 8 bits", "dtype.bits", "dtype.bits", "8", dtype=(15, 8, 1)),
    refused(32, "fp4 of 8 bits", "dtype.bits", "dtype.bits", "8", dtype=(17, 8, 1)),
    refused(34, "bool of 1 bit", "dtype.bits", "dtype.bits", "1", dtype=(6, 1, 1)),
    accepted(
        35,
        "bool bytes of 2",
        Accepted(shape=(4,), values=[True, False, True, True]),
        shape=(4,),
        dtype=(6, 8, 1),
        data=b"\x02\x00\x01\xff",
    ),
    accepted(38, "opaque handles", Accepted(shape=(3,), dtype=(3, 64, 1)), shape=(3,), dtype=(3, 64, 1)),
    accepted(39, "code 99", Accepted(shape=(3,), dtype=(99, 64, 1)), shape=(3,), dtype=(99, 64, 1)),
    accepted(39, "code 255", Accepted(shape=(3,), dtype=(255, 8, 1)), shape=(3,), dtype=(255, 8, 1)),
    accepted(39, "bcomplex", Accepted(shape=(3,), dtype=(18, 32, 1)), shape=(3,), dtype=(18, 32, 1)),
    refused(40, "device 0", "device.type", "device.device_type", "0", device=(0, 0)),
    refused(40, "device -1", "device.type", "device.device_type", "-1", device=(-1, 0)),
    accepted(40, "device 9999", Accepted(device=(9999, 0), touch="DeviceError"), device=(9999, 0)),
    accepted(41, "CUDA without a driver", Accepted(device=(2, 0), touch="DeviceError"), device=(2, 0)),
    accepted(41, "Vulkan", Accepted(device=(7, 0), touch="DeviceError"), device=(7, 0)),
    accepted(42, "CPU id 7", Accepted(device=None, values=SIX_VALUES), device=(1, 7)),
    refused(42, "CPU id -5", "device.id", "device.device_id", "-5", device=(1, -5)),
    accepted(45, "pinned host memory", Accepted(device=None, values=SIX_VALUES), device=(3, 0)),
    versioned(accepted(46, "unknown flag bit 63", Accepted(values=SIX_VALUES, readonly=False), flags=2**63)),
    versioned(accepted(46, "read-only", Accepted(values=SIX_VALUES, readonly=True), flags=1)),
    versioned(accepted(46, "is copied", Accepted(values=SIX_VALUES, readonly=False), flags=2)),
    versioned(Row(47, "major 2", Refused("version.major", "", ""), {"version": (2, 0)})),
    versioned(
        Row(
            48,
            "major 2, garbage body",
            Refused("version.major", "", ""),
            {
                "version": (2, 7),
                "shape": 1,
                "strides": 3,
                "ndim": -5,
                "data": 5,
                "dtype": (255, 255, 65535),
                "device": (-9, -9),
                "byte_offset": 2**64 - 1,
                "flags": 2**64 - 1,
            },
        )
    ),
    versioned(Row(49, "major 0", Refused("version.major", "", ""), {"version": (0, 8)})),
    versioned(accepted(50, "minor 99", Accepted(values=SIX_VALUES), version=(1, 99))),
    accepted(59, "deleter NULL", Accepted(values=SIX_VALUES), deleter=None),
]


def dtype_row(name, dtype, data, values, number=36, **fields):
    return accepted(
        number,
        name,
        Accepted(shape=(len(values),), values=values, dtype=dtype),
        shape=(len(values),),
        dtype=dtype,
        data=data,
        **fields,
    )


# Every element type with values whose bits are written out by hand: no library is its own oracle.
DTYPES = [
    dtype_row("bool", (6, 8, 1), b"\1\0\1", [True, False, True]),
    dtype_row("int8", (0, 8, 1), struct.pack("3b", 1, -128, 127), [1, -128, 127]),
    dtype_row("int16", (0, 16, 1), struct.pack("3h", 1, -32768, 32767), [1, -32768, 32767]),
    dtype_row("int32", (0, 32, 1), struct.pack("3i", 1, -(2**31), 2**31 - 1), [1, -(2**31), 2**31 - 1]),
    dtype_row("int64", (0, 64, 1), struct.pack("3q", 1, MIN, MAX), [1, MIN, MAX]),
    dtype_row("uint8", (1, 8, 1), b"\0\1\xff", [0, 1, 255]),
    dtype_row("uint16", (1, 16, 1), struct.pack("3H", 0, 1, 65535), [0, 1, 65535]),
    dtype_row("uint32", (1, 32, 1), struct.pack("3I", 0, 1, 2**32 - 1), [0, 1, 2**32 - 1]),
    dtype_row("uint64", (1, 64, 1), struct.pack("3Q", 0, 1, 2**64 - 1), [0, 1, 2**64 - 1]),
    dtype_row("float16", (2, 16, 1), struct.pack("3e", 0.5, -2.0, 65504.0), [0.5, -2.0, 65504.0]),
    dtype_row("bfloat16", (4, 16, 1), b"\x80\x3f\x00\xc0\x20\x41", [1.0, -2.0, 10.0]),
    dtype_row("float32", (2, 32, 1), struct.pack("2f", 1.5, -0.0), [1.5, -0.0]),
    dtype_row("float64", (2, 64, 1), struct.pack("2d", 0.1, -1e300), [0.1, -1e300]),
    dtype_row("complex32", (5, 32, 1), struct.pack("4e", 1, 2, -3, 0.5), [1 + 2j, -3 + 0.5j], number=37),
    dtype_row("complex64", (5, 64, 1), struct.pack("4f", 1, 2, -3, 0.5), [1 + 2j, -3 + 0.5j]),
    dtype_row("complex128", (5, 128, 1), struct.pack("4d", 1, 2, -3, 0.5), [1 + 2j, -3 + 0.5j]),
    dtype_row("float8_e4m3fn", (10, 8, 1), b"\x38\xc0\x7e", [1.0, -2.0, 448.0]),
    dtype_row("float8_e5m2", (12, 8, 1), b"\x3c\xc0\x7b", [1.0, -2.0, 57344.0]),
    dtype_row("float8_e8m0fnu", (14, 8, 1), b"\x7f\x80\x7e", [1.0, 2.0, 0.5]),
    dtype_row("int4 packed", (0, 4, 1), b"\x21\x8f", [1, 2, -1, -8], number=33),
    dtype_row("uint4 packed, odd count", (1, 4, 1), b"\x21\x0f", [1, 2, 15], number=33),
    dtype_row("int2 packed", (0, 2, 1), b"\xe4", [0, 1, -2, -1], number=33),
    dtype_row("float4_e2m1fn packed", (17, 4, 1), b"\x21\xf7", [0.5, 1.0, 6.0, -6.0], number=33),
    # Four 6-bit elements in three bytes, first element in the lowest bits: 1.0 is 001000 in e2m3, 7.5 is 011111.
    dtype_row(
        "float6_e2m3fn packed",
        (15, 6, 1),
        (8 | 31 << 6 | 40 << 12).to_bytes(3, "little"),
        [1.0, 7.5, -1.0, 0.0],
        number=33,
    ),
    versioned(dtype_row("int4 padded", (0, 4, 1), b"\x01\x0f\x08", [1, -1, -8], number=33, flags=4)),
    versioned(dtype_row("float4_e2m1fn padded", (17, 4, 1), b"\x01\x02\x0f", [0.5, 1.0, -6.0], number=33, flags=4)),
]


def cases():
    """Every (id, path, row): rows times paths."""
    made = {}
    for row in ROWS + DTYPES:
        for path in row.paths:
            made[f"A{row.number} {row.name} [{path}]"] = (path, row)
    return made
