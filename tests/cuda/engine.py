# SPDX-License-Identifier: Apache-2.0
"""The CUDA engine for tests: built with its shim, driven by ctypes, spoken to in NumPy arrays. No tests here."""

import contextlib
import ctypes
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ml_dtypes
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "dltensor"
FAULTS = ["none", "device", "memory", "value", "index", "type", "buffer", "not_ready"]


class Fault(Exception):
    """The engine refused; `kind` is one of FAULTS."""

    def __init__(self, kind, words):
        super().__init__(f"{kind}: {words}")
        self.kind = kind


class Flat(ctypes.Structure):
    _fields_ = [
        ("block", ctypes.c_void_p),
        ("offset", ctypes.c_int64),
        ("type", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("lanes", ctypes.c_int32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("value", ctypes.c_ubyte * 16),
    ]


class Launch(ctypes.Structure):
    _fields_ = [("blocks_per_sm", ctypes.c_int), ("num_threads", ctypes.c_int), ("values_per_thread", ctypes.c_int64)]


class Usage(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_int64)
        for name in [
            "live_blocks",
            "live_bytes",
            "peak_bytes",
            "cached_bytes",
            "driver_allocations",
            "pinned_live_bytes",
            "pinned_cached_bytes",
            "captured_bytes",
            "waiting",
            "shared_bytes",
        ]
    ]


def compiled(folder, shim, flags=()):
    """Compile the engine and `shim`, unless that was done before; return the paths of the objects."""
    native = SOURCE / "native"
    parts = [part for part in sorted((native / "cuda").iterdir()) if part.name != "program"]  # it needs the CPU's plans
    folders = (native, native / "memory", native / "os", *parts)
    files = [path for part in folders for path in sorted(part.glob("*.cc"))]
    files += [native / "layout" / name for name in ("layout.cc", "sharing.cc")]
    runtime = ("runtime/dtype.cc", "runtime/thread_pool.cc")
    files += [native / "cpu" / x for x in (*runtime, "reduce/table.cc", "copy/scalar.cc", "quantize/block_layout.cc")]
    files += [Path(__file__).with_name(shim)]
    command = ["-std=c++20", "-O1", "-g1", "-fPIC", "-Wall", f"-I{SOURCE}", f"-I{SOURCE / 'include'}", *flags]
    headers = sorted((SOURCE / "include" / "dltensor").glob("*.h")) + sorted(native.rglob("*.h"))
    headers += sorted((native / "cuda" / "kernels").rglob("*.cuh"))
    shared = hashlib.sha256(repr(command).encode() + b"".join(p.read_bytes() for p in headers)).hexdigest()[:16]
    objects = []
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    jobs = []
    for source in files:
        key = hashlib.sha256(shared.encode() + source.read_bytes()).hexdigest()[:16]
        target = folder / f"{source.stem}-{key}.o"
        objects.append(str(target))
        if not target.exists():
            part = target.with_suffix(f".{os.getpid()}.o")
            jobs.append((["g++", *command, "-c", str(source), "-o", str(part)], part, target))
    while jobs:
        running = [(subprocess.Popen(run), part, target) for run, part, target in jobs[:2]]
        jobs = jobs[2:]
        for process, part, target in running:
            assert process.wait() == 0, f"cannot compile {target}"
            part.replace(target)
    return objects


def linked(folder, name, objects, flags):
    """Link objects to a file, unless that was done before; return its path."""
    key = hashlib.sha256(repr((objects, flags)).encode()).hexdigest()[:16]
    target = Path(folder) / name.format(key)
    if not target.exists():
        part = target.with_suffix(f".{os.getpid()}")
        subprocess.run(["g++", *flags, *objects, "-o", str(part), "-ldl", "-lpthread"], check=True)
        part.replace(target)
    return target


def build(folder, flags=()):
    """Compile engine and shim into one library; return its path."""
    return linked(folder, "engine-{}.so", compiled(folder, "engine_shim.cc", flags), ["-shared", *flags])


class Engine:
    """The engine's functions; every fault is raised as `Fault`."""

    def __init__(self, library):
        self.c = ctypes.CDLL(str(library))
        self.c.shim_message.restype = ctypes.c_char_p
        self.c.shim_data.restype = ctypes.c_void_p
        self.c.shim_handle.restype = ctypes.c_void_p
        self.c.shim_empty_cache.restype = ctypes.c_size_t
        self.c.shim_live_blocks.restype = ctypes.c_int64
        self.c.shim_add_cost.restype = ctypes.c_double
        self.c.shim_op_name.restype = ctypes.c_char_p
        self.c.shim_op_result.restype = ctypes.c_char_p
        self.c.shim_sources(str(SOURCE).encode())
        for number, name in ((1, "nvrtc"), (2, "cublas")):
            for found in (f for p in sys.path for f in Path(p or ".").glob(f"nvidia/*/lib/lib{name}.so.[0-9]*")):
                self.c.shim_hint(number, str(found).encode())

    def __call__(self, name, *arguments):
        fault = getattr(self.c, "shim_" + name)(*arguments)
        if fault:
            raise Fault(FAULTS[fault], self.c.shim_message().decode())

    def type(self, dtype):
        number = self.c.shim_type(np.dtype(dtype).name.encode())
        assert number >= 0, dtype
        return number

    def op(self, name, variant=0):
        number = self.c.shim_op(variant, name.encode())
        assert number >= 0, name
        return number

    def stream(self, device=0, handle=None):
        out = ctypes.c_void_p()
        if handle is None:
            self("current_stream", device, ctypes.byref(out))
        else:
            self("stream_of", device, ctypes.c_void_p(handle), ctypes.byref(out))
        return out

    def new_stream(self, device=0):
        out = ctypes.c_void_p()
        self("create_stream", device, ctypes.byref(out))
        return out

    def usage(self, device=0):
        out = Usage()
        self("usage", device, ctypes.byref(out))
        return out

    def end_of_graphs(self, seconds=10):
        """Empty the cache until no memory belongs to a graph, whose end a driver tells of from a thread of its own."""
        end = time.monotonic() + seconds
        self.c.shim_empty_cache(-1)
        while self.usage().captured_bytes and time.monotonic() < end:
            time.sleep(0.01)
            self.c.shim_empty_cache(-1)
        return self.usage().captured_bytes

    # ---- tensors
    def empty(self, shape, dtype, stream=None, device=0, padding=0):
        return Device(self, shape, dtype, stream, device, padding)

    def upload(self, array, stream=None, device=0):
        """A device tensor with the array's shape, strides and values."""
        array = np.asarray(array)
        base = array
        while isinstance(base.base, np.ndarray):
            base = base.base
        if base is array or not base.flags.c_contiguous:
            base = array = np.ascontiguousarray(array).reshape(array.shape)
        out = self.empty(base.shape, base.dtype, stream, device)
        out.put(base, stream)
        if base is not array:
            offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
            out = out.view(array.shape, [s // array.itemsize for s in array.strides], offset)
        return out

    def flat(self, thing, dtype=None):
        if isinstance(thing, Device):
            return thing.flat()
        value = np.array(thing, dtype=dtype)
        flat = Flat(block=None, type=self.type(value.dtype), lanes=1)
        raw = value.tobytes()
        flat.value[: len(raw)] = raw
        return flat

    def run(
        self,
        name,
        operands,
        dtype,
        out=None,
        variant=0,
        stream=None,
        launch=None,
        out_dtype=None,
        scalar_dtype=None,
    ):
        """out = name(operands) computed in `dtype`; scalars are of `scalar_dtype` or `dtype`."""
        stream = stream or self.stream()
        if out is None:
            shape = np.broadcast_shapes(*[o.shape for o in operands if isinstance(o, Device)])
            out = self.empty(shape, out_dtype or dtype, stream)
        scalars = [np.asarray(o).dtype if isinstance(o, np.generic) else (scalar_dtype or dtype) for o in operands]
        flats = (Flat * len(operands))(*[self.flat(o, d) for o, d in zip(operands, scalars, strict=True)])
        target = self.flat(out)
        self(
            "elementwise",
            variant,
            self.op(name, variant),
            self.type(dtype),
            flats,
            len(operands),
            ctypes.byref(target),
            stream,
            ctypes.byref(launch) if launch else None,
        )
        return out

    def copy(self, source, target, stream=None, launch=None):
        a, b = self.flat(source), self.flat(target)
        self(
            "copy", ctypes.byref(a), ctypes.byref(b), stream or self.stream(), ctypes.byref(launch) if launch else None
        )
        return target

    def choose(self, condition, a, b, out, stream=None):
        flats = [self.flat(condition), self.flat(a, out.dtype), self.flat(b, out.dtype), self.flat(out)]
        self("choose", *(ctypes.byref(f) for f in flats), stream or self.stream())
        return out

    def cast(self, source, target, nearest=False, saturate=False, scaled=None, stream=None, launch=None):
        a, b = self.flat(source), self.flat(target)
        pair = (ctypes.c_double * 2)(*scaled) if scaled else None
        self(
            "cast",
            ctypes.byref(a),
            ctypes.byref(b),
            int(nearest),
            int(saturate),
            pair,
            stream or self.stream(),
            ctypes.byref(launch) if launch else None,
        )
        return target

    def fill(self, value, target, stream=None):
        a, b = self.flat(value, target.dtype), self.flat(target)
        self("fill", ctypes.byref(a), ctypes.byref(b), stream or self.stream())
        return target

    def gemm(self, a, b, c, alpha=1.0, beta=0.0, tf32=False, stream=None):
        x, y, z = self.flat(a), self.flat(b), self.flat(c)
        self(
            "gemm",
            ctypes.byref(x),
            ctypes.byref(y),
            ctypes.byref(z),
            ctypes.c_double(alpha),
            ctypes.c_double(beta),
            int(tf32),
            stream or self.stream(),
        )
        return c


class Device:
    """A strided view of a block on a device."""

    def __init__(self, engine, shape, dtype, stream=None, device=0, padding=0, parent=None):
        self.engine, self.shape, self.dtype, self.device = engine, tuple(shape), np.dtype(dtype), device
        strides, step = [], 1
        for extent in reversed(self.shape):
            strides.insert(0, step)
            step *= max(extent, 1)
        self.strides, self.offset, self.parent = strides, padding, parent
        if parent is None:
            self.block = ctypes.c_void_p()
            count = int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize + padding
            engine("allocate", stream or engine.stream(device), ctypes.c_size_t(count), ctypes.byref(self.block))
        else:
            self.block = parent.block

    def __del__(self):
        if self.parent is None and getattr(self, "block", None):
            self.engine.c.shim_release(self.block)

    def release(self):
        assert self.parent is None
        self.engine.c.shim_release(self.block)
        self.block = None

    def view(self, shape, strides, offset=0, dtype=None):
        out = Device(self.engine, shape, dtype or self.dtype, device=self.device, parent=self)
        out.strides, out.offset = list(strides), self.offset + offset
        return out

    def flat(self):
        n = len(self.shape)
        shape, strides = (ctypes.c_int64 * max(n, 1))(*self.shape), (ctypes.c_int64 * max(n, 1))(*self.strides)
        flat = Flat(
            block=self.block,
            offset=self.offset,
            type=self.engine.type(self.dtype),
            ndim=n,
            device=self.device,
            lanes=1,
            shape=ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)),
            strides=ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64)),
        )
        flat.keep = (shape, strides)
        return flat

    def put(self, array, stream=None):
        array = np.ascontiguousarray(array)
        assert array.dtype == self.dtype
        assert array.size == int(np.prod(self.shape, dtype=np.int64))
        flat = self.flat()
        self.engine(
            "from_host",
            ctypes.c_void_p(array.ctypes.data),
            ctypes.byref(flat),
            stream or self.engine.stream(self.device),
        )
        return self

    def get(self, stream=None):
        out = np.empty(self.shape, self.dtype)
        flat = self.flat()
        self.engine(
            "to_host", ctypes.c_void_p(out.ctypes.data), ctypes.byref(flat), stream or self.engine.stream(self.device)
        )
        return out


@contextlib.contextmanager
def relaxed(driver):
    """What this thread calls does not concern the captures in progress: a driver refuses much beside one otherwise."""
    mode = ctypes.c_int(2)
    assert driver.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode)) == 0
    yield
    assert driver.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode)) == 0


def scratch():
    """A folder that stays between runs, for compiled things."""
    return Path(os.environ.get("DLTENSOR_TEST_CACHE") or Path(tempfile.gettempdir()) / f"dltensor-tests-{os.getuid()}")


assert ml_dtypes  # registers bfloat16 and the small floats with NumPy
