# SPDX-License-Identifier: Apache-2.0
"""Tensors of every dtype and layout: strided, reversed, broadcast, overlapping, unaligned, packed, read-only."""

import array
import math
from types import SimpleNamespace

import numpy as np

import dltensor as dl


def strides_for(context, shape):
    """Strides of one layout for a shape, and the elements of context that it needs before and behind the first one."""
    order = list(range(len(shape)))
    layout = context.random.choice(("C", "C", "F", "any", "steps", "steps", "reversed", "broadcast", "overlap"))
    if layout in ("any", "steps", "reversed"):
        context.random.shuffle(order)
    elif layout == "F":
        order.reverse()
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        if layout in ("steps", "reversed") and context.chance(0.4):
            step *= 2
        strides[axis] = step
        step *= max(shape[axis], 1)
        if layout == "reversed" and context.chance(0.5):
            strides[axis] *= -1
    if layout == "broadcast" and shape:
        for axis in range(len(shape)):
            strides[axis] *= context.chance(0.5)
    elif layout == "overlap":
        strides = [min(stride, 1 + context.random.randrange(3)) for stride in strides]
    low = sum(min(0, s * (n - 1)) for s, n in zip(strides, shape, strict=True)) if 0 not in shape else 0
    high = sum(max(0, s * (n - 1)) for s, n in zip(strides, shape, strict=True)) if 0 not in shape else 0
    return tuple(strides), -low, high + 1


def fill_memory(context, place, dtype):
    """Bytes that make small numbers, any numbers or nothing but zeros of a dtype."""
    how = context.random.randrange(4)
    if dtype.code == 6:
        place[:] = np.frombuffer(context.random.randbytes(place.size), np.uint8) & 1
    elif how == 0 or dtype.itemsize > 8:
        place[:] = np.frombuffer(context.random.randbytes(place.size), np.uint8)
    elif how == 1 and dtype.itemsize > 1:
        place[:] = 0
        place[:: dtype.itemsize] = np.frombuffer(context.random.randbytes(len(place[:: dtype.itemsize])), np.uint8) & 7
    elif how == 2 and dtype.code == 2 and dtype.bits in (16, 32, 64) and place.size % dtype.itemsize == 0:
        count = place.size // dtype.itemsize
        top = float(np.finfo(f"f{dtype.itemsize}").max)
        special = (0.0, -0.0, math.inf, -math.inf, math.nan, 1.5, -2.5, 1e30, 1e-30, 3.0, top, -top)
        values = np.array([context.random.choice(special) for _ in range(count)])
        with np.errstate(over="ignore"):
            place[:] = values.astype(f"f{dtype.itemsize}").view(np.uint8)
    else:
        place[:] = context.random.randrange(3)


def in_arena(context, shape=None, dtype=None):
    """A tensor in the arena, with guard bytes around it that must not change."""
    shape = context.shape() if shape is None else shape
    dtype = context.dtype() if dtype is None else dtype
    if len(shape) > 64 or math.prod(shape) > 4000:
        return dl.zeros(shape, dtype=dtype)
    strides, before, behind = strides_for(context, shape)
    bits = dtype.bits * dtype.lanes
    if bits % 8:
        strides, before, behind = None, 0, max(math.prod(shape), 1)
    size = -(-(before + behind) * bits // 8)
    if size > context.arena.size - 256:
        return dl.zeros(shape, dtype=dtype)
    start = context.free + (-context.free) % 64
    if start + size + 64 > context.arena.size:
        start = 64  # the oldest tensors share their memory with new ones from here on
    if context.chance(0.1) and dtype.itemsize > 1:
        start += 1
    context.free = start + size + context.random.randrange(8, 64)
    fill_memory(context, context.arena[start : start + size], dtype)
    try:
        return dl.wrap(
            context.start,
            shape,
            dtype,
            strides=strides,
            byte_offset=start + before * (bits // 8 or 0),
            owner=context.arena,
            readonly=context.chance(0.1),
        )
    except BufferError:  # unaligned, or a dtype that no tensor may have
        return dl.zeros(shape, dtype=context.dtypes[0])


def tensor(context, shape=None, dtype=None):
    """A tensor: of the arena, of memory of its own, or what an earlier call gave."""
    kept = context.shelf.get("Tensor")
    if kept and shape is None and context.chance(0.25):
        return context.random.choice(kept)
    t = in_arena(context, shape, dtype)
    if context.device != "cpu" and context.chance(0.6):
        return t.to(context.device)
    if context.chance(0.3):
        t = t.copy()
    if context.chance(0.05):
        context.keep("borrowed", t.__dlpack__(max_version=(1, 3)) if context.chance(0.5) else dl.from_dlpack(t))
    return t


def foreign(context):
    """A tensor as an object of another kind."""
    if context.changing and context.chance(0.5):
        return context.random.choice(context.changing)
    t = tensor(context)
    how = context.random.randrange(8)
    if how == 0:
        return array.array(context.random.choice("bBhHiIlLqQfd"), range(context.random.randrange(6)))
    if how == 1:
        return context.random.choice((b"", b"abc", bytearray(b"12345678"), memoryview(b"abcdef")[::2]))
    if how == 2:
        return context.random.choice(
            (np.float32(1.5), np.int8(-3), np.bool_(True), np.complex64(1j), np.float16("nan"))
        )
    if how == 3 and t.dtype in (dl.float32, dl.int32, dl.uint8) and not t.readonly:
        return SimpleNamespace(__array_interface__=t.__array_interface__, owner=t)  # asked of the object, not its type
    if how == 4:
        return only_dlpack(t)
    try:
        return memoryview(t) if how == 5 else t.numpy()
    except (BufferError, TypeError, ValueError, ImportError):
        return t


def only_dlpack(t):
    """An object that has the two methods of the standard, and nothing else."""

    class Exporter:
        exported = t

        def __dlpack__(self, **asked):
            return t.__dlpack__(**asked)

        def __dlpack_device__(self):
            return t.__dlpack_device__()

    return Exporter()
