#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random calls with CUDA tensors against the same calls on the CPU, to the bit, for a number of seconds.

Sorts, scans, reductions, masks, and reads and writes at index arrays, of tensors of up to 1.6 * 10**7 elements in
several layouts, at odd addresses too. Some were taken by a consumer whose stream is gone, some are outputs of a graph
that is destroyed while they are read. HOSTCUDA_ORDER=random:1 reorders the streams of the host driver. Prints each call
that differs and the seed that repeats it, and exits 1 then.

    python tools/gpu_random.py --seconds 60 --seed 1     on a card
    python tools/gpu_random.py --large                   and of 2**31 + 5 elements: 30 GB of memory
    python tools/gpu_random.py --host --most 5000        on the driver that runs on the host
"""

import argparse
import collections
import contextlib
import ctypes
import math
import os
import sys
import time

import numpy as np

import dltensor as dl

INTEGERS = ("int8", "uint8", "int16", "int32", "uint32", "int64")
DTYPES = ("bool", *INTEGERS, "float16", "bfloat16", "float32", "float64", "complex64")
REDUCTIONS = ("sum", "max", "min", "mean", "argmax", "argmin", "var", "std", "any", "count_nonzero", "prod")
VIEWS = (
    lambda t: t.mT,
    lambda t: t[:, 1:],
    lambda t: t[::-1, ::2],
    lambda t: t[1:],
    lambda t: t[:, t.shape[1] // 2 : t.shape[1] // 2 + 1],
)


def make_shape(rng, most):
    size = int(10 ** rng.uniform(1, math.log10(most)))
    if rng.random() < 0.4:
        return (size,)
    rows = int(10 ** rng.uniform(0.3, math.log10(size)))
    return (rows, max(1, size // rows)) if rng.random() < 0.7 else (max(1, rows // 7), 7, max(1, size // rows))


def make_values(rng, shape, dtype):
    """Integers of the whole range or few different ones; floats of several magnitudes, some with NaN and infinities."""
    size = math.prod(shape)
    if dtype == "bool":
        out = rng.random(size) < rng.random()
    elif dtype in INTEGERS:
        limits = np.iinfo(dtype)
        out = rng.integers(limits.min, limits.max, size, dtype=dtype, endpoint=True)
        if rng.random() < 0.5:
            out = (out % 7).astype(dtype)
    else:
        out = (rng.standard_normal(size) * 10.0 ** rng.uniform(-3, 3)).astype("float32")
        if rng.random() < 0.3:
            out[rng.integers(0, size, 5)] = [np.nan, np.inf, -np.inf, 0.0, -0.0]
        if rng.random() < 0.3:
            out = np.round(out)
    return dl.asarray(out).astype(dtype).reshape(shape)


def bits(x):
    """The bytes of a tensor, in which NaNs are one NaN."""
    out = dl.asarray(x).to("cpu").numpy()
    if out.dtype.kind not in "biu":
        out = np.where(out != out, np.array(np.nan, dtype=out.dtype), out)
    return out.tobytes()


def place(rng, t):
    """Copy a tensor to the device, now and then to an address that is no multiple of its elements' size."""
    t = t.to("cuda")
    if rng.random() < 0.7 or t.size == 0:
        return t
    raw = dl.empty((t.nbytes + 16,), dtype="uint8", device="cuda")[int(rng.integers(1, 16)) :][: t.nbytes]
    raw[:] = t.copy().reshape(-1).view("uint8")
    return raw.view(t.dtype).reshape(t.shape)


class Driver:
    """Functions of the CUDA driver, as other libraries call them."""

    def __init__(self):
        self.library = ctypes.CDLL(os.environ.get("DLTENSOR_CUDA_DRIVER") or "libcuda.so.1")

    def __call__(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        assert result == 0, f"{name} gives {result}"

    @contextlib.contextmanager
    def context(self):
        context = ctypes.c_void_p()
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self("cuCtxPushCurrent_v2", context)
        yield
        self("cuCtxPopCurrent_v2", ctypes.byref(context))
        self("cuDevicePrimaryCtxRelease_v2", 0)

    def consume(self, t):
        """Take a tensor on a stream, copy it there, return it and destroy the stream; the copy is returned."""
        handle, copied = ctypes.c_void_p(), dl.empty(t.shape, dtype=t.dtype, device="cuda")
        dl.cuda.synchronize()
        with self.context():
            self("cuStreamCreateWithPriority", ctypes.byref(handle), 1, 0)
            capsule = t.__dlpack__(stream=handle.value)
            to, size = ctypes.c_uint64(copied.data_ptr), ctypes.c_size_t(t.nbytes)
            self("cuMemcpyDtoDAsync_v2", to, ctypes.c_uint64(t.data_ptr), size, handle)
            del capsule
            self("cuStreamDestroy_v2", handle)
        return copied

    def graph_output(self, t):
        """Return ``t[None]`` computed from the output of a graph that is gone by then."""
        stream, reader = dl.cuda.Stream(), dl.cuda.Stream()
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        for each in (stream, reader):
            with each:
                dl.concat([t, t])  # compiles what is captured
        dl.cuda.synchronize()
        with self.context():
            self("cuStreamBeginCapture_v2", ctypes.c_void_p(stream.handle), 2)
            with stream:
                output = dl.concat([t, t])
            self("cuStreamEndCapture", ctypes.c_void_p(stream.handle), ctypes.byref(graph))
            self("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_uint64(0))
            self("cuGraphLaunch", executable, ctypes.c_void_p(stream.handle))
            with reader:
                reader.wait(stream)
                read = output[: len(t)].copy()
            self("cuGraphExecDestroy", executable)
            self("cuGraphDestroy", graph)
        del output
        dl.cuda.empty_cache()
        return read


def spoil_freed_memory(size):
    """Overwrite what was just freed, here and on another stream, so that a late reader gets other values."""
    for stream in (contextlib.nullcontext(), dl.cuda.Stream()):
        with stream:
            [dl.full((size,), 0xA5, dtype="uint8", device="cuda") for _ in range(3)]


def through_others(rng, driver, t):
    """The tensor, or a copy of it that another library or a graph has made."""
    chance = rng.random()
    if chance > 0.2 or t.ndim == 0 or t.size == 0:
        return t
    out = driver.consume(t) if chance < 0.1 else driver.graph_output(t)
    size = t.nbytes
    del t
    spoil_freed_memory(size)
    return out


class Calls:
    """Random calls: a name, and a function of the tensor `t` and of `there`, which moves an operand to where `t` is."""

    def __init__(self, rng, x):
        self.rng, self.x, self.axis = rng, x, int(rng.integers(x.ndim))
        self.ordered = not x.dtype.name.startswith("complex")

    def indices(self):
        rows = self.x.shape[0]
        return dl.asarray(self.rng.integers(-rows, rows, max(1, rows // 3)))

    def mask(self, shape):
        return dl.asarray(self.rng.random(shape) < self.rng.random())

    def reduction(self):
        names = REDUCTIONS if self.ordered else ("sum", "mean", "prod", "any", "count_nonzero")
        name, axis = str(self.rng.choice(names)), self.axis if self.rng.random() < 0.7 else None
        return f"{name}(axis={axis})", lambda t, there: getattr(dl, name)(t, axis=axis)

    def sort(self):
        if not self.ordered:
            return self.reduction()
        name, options = str(self.rng.choice(("sort", "argsort"))), {"axis": self.axis}
        options["descending"] = bool(self.rng.integers(2))
        return f"{name}({options})", lambda t, there: getattr(dl, name)(t, **options)

    def scan(self):
        names = ("cumulative_sum", "cumulative_prod", "cumulative_max", "cumulative_min")[: 4 if self.ordered else 2]
        name, axis = str(self.rng.choice(names)), self.axis
        return f"{name}(axis={axis})", lambda t, there: getattr(dl, name)(t, axis=axis)

    def unique(self):
        which = str(self.rng.choice(("unique_values", "unique_counts", "unique_all")))
        parts = {"unique_values": lambda r: [r], "unique_counts": list, "unique_all": list}[which]
        return which, lambda t, there: parts(getattr(dl, which)(t))

    def selection(self):
        on = self.mask(self.x.shape[: int(self.rng.integers(1, self.x.ndim + 1))])
        return "x[mask]", lambda t, there: t[there(on)]

    def choice(self):
        on = self.mask(self.x.shape)
        return "where(mask, x, 1)", lambda t, there: dl.where(there(on), t, 1)

    def gather(self):
        at = self.indices()
        return "x[indices]", lambda t, there: t[there(at)]

    def write(self):
        at = self.indices()
        values = make_values(self.rng, (at.size, *self.x.shape[1:]), self.x.dtype.name)

        def run(t, there):
            out = t.copy()
            out[there(at)] = there(values)
            return out

        return "x[indices] = values", run

    def masked_write(self):
        on, value = self.mask(self.x.shape), self.rng.choice((0, 1))

        def run(t, there):
            out = dl.asarray(t, copy=True)
            out[there(on)] = int(value)
            return out

        return "x[mask] = number", run

    def addition(self):
        at = self.indices()
        values = make_values(self.rng, (at.size, *self.x.shape[1:]), self.x.dtype.name)
        if self.x.dtype.name == "bool":
            return self.gather()
        return "add_at", lambda t, there: dl.add_at(t.copy(), there(at), there(values))

    def any(self):
        reads = (self.reduction, self.sort, self.scan, self.unique, self.selection, self.choice, self.gather)
        kinds = (*reads, self.write, self.masked_write, self.addition)
        return kinds[self.rng.integers(len(kinds))]()


def compare(rng, most, counts, driver):
    """One random call; what differs, or None."""
    shape, dtype = make_shape(rng, most), str(rng.choice(DTYPES))
    here = make_values(rng, shape, dtype)
    on_device = through_others(rng, driver, place(rng, here))
    if rng.random() < 0.4 and here.ndim == 2 and min(shape) > 3:
        view = VIEWS[rng.integers(len(VIEWS))]
        here, on_device = view(here), view(on_device)
    name, run = Calls(rng, here).any()
    counts[name.split("(")[0]] += 1
    call = f"{name} of {dtype}, shape {here.shape}, strides {here.strides}"
    want, got = run(here, lambda t: t), run(on_device, lambda t: place(rng, t))
    many = isinstance(want, list)
    for w, g in zip(want if many else [want], got if many else [got], strict=True):
        if (w.dtype, w.shape) != (g.dtype, g.shape) or bits(w) != bits(g):
            return call
    return None


def large():
    """Sorts, sums, running sums, masks and places of more than 2**31 elements."""
    size = 2**31 + 5
    host = np.random.default_rng(1).integers(0, 256, size, dtype="uint8")
    x = dl.asarray(host).to("cuda")
    ordered = dl.sort(x)
    assert int(dl.count_nonzero(ordered[1:] < ordered[:-1])) == 0
    assert int(dl.sum(ordered)) == int(dl.sum(x)) == int(host.sum(dtype="uint64"))
    sums = dl.cumulative_sum(x)
    assert int(sums[size - 1]) == int(dl.sum(x))
    assert int(sums[2**31]) - int(sums[2**31 - 1]) == int(host[2**31])
    assert int(dl.argmax(x)) == int(host.argmax())
    on = x > 250
    assert int(dl.count_nonzero(on)) == int((host > 250).sum())
    places = dl.nonzero(on)[0]
    assert int(places[places.shape[0] - 1]) == int(np.flatnonzero(host[-1000:] > 250)[-1]) + size - 1000
    x[on] = 0
    assert int(dl.sum(x)) == int(host[host <= 250].sum(dtype="uint64"))
    print(f"gpu_random: {size} elements: sort, sum, cumulative_sum, argmax, nonzero and a masked write are right")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--calls", type=int, default=None, help="this many calls instead")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=float, default=1.6e7, help="elements of the largest tensor")
    parser.add_argument("--large", action="store_true", help="2**31 + 5 elements first")
    parser.add_argument("--host", action="store_true", help="on the host driver")
    options = parser.parse_args()
    if options.host:
        from dltensor.testing import hostcuda

        hostcuda.load()
    if options.large:
        large()
    driver = Driver()
    end, counts, seed, bad = time.monotonic() + options.seconds, collections.Counter(), 0, 0
    while seed < options.calls if options.calls is not None else time.monotonic() < end:
        differs = compare(np.random.default_rng((options.seed, seed)), options.most, counts, driver)
        if differs:
            bad += 1
            print(f"gpu_random: differs: {differs} (seed {options.seed}, call {seed})", flush=True)
        seed += 1
    print(f"gpu_random: {seed} calls, {bad} differ: {dict(counts)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
