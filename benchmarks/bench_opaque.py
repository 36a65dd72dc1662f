# SPDX-License-Identifier: Apache-2.0
"""What vtable arrays cost beside metatensor's: its Python wrapper, and its C++ array, in one run. No library code here.

Calls from C are timed by a small program that is compiled here; a row whose tools are missing is named, not dropped.
"""

import argparse
import ctypes
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import metatensor as mts
import numpy as np
from metatensor._c_api import mts_array_t
from metatensor._data import create_mts_array

import dltensor as dl
from dltensor._tools import timing

HERE = Path(__file__).resolve().parent
SOURCE = r"""
#include <chrono>
#include <memory>
#include <vector>
#include <metatensor.hpp>
using Array = mts_array_t;
static double now() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
extern "C" {
// A C++ array of their own, zeros of float64, unless `data` is given.
void their_array(const uintptr_t* shape, uintptr_t count, const double* data, Array* out) {
  std::vector<uintptr_t> dims(shape, shape + count);
  size_t n = 1;
  for (auto d : dims) n *= d;
  auto made = data ? std::make_unique<metatensor::SimpleDataArray<double>>(dims, std::vector<double>(data, data + n))
                   : std::make_unique<metatensor::SimpleDataArray<double>>(dims, 0.0);
  *out = metatensor::DataArrayBase::to_mts_array(std::move(made)).release();
}
double ask(const Array* a, int64_t n, int what) {
  double start = now();
  for (int64_t i = 0; i < n; ++i) {
    mts_data_origin_t origin; DLDevice device; DLDataType dtype; const uintptr_t* shape; uintptr_t count;
    switch (what) {
      case 0: a->origin(a->ptr, &origin); break;
      case 1: a->device(a->ptr, &device); break;
      case 2: a->dtype(a->ptr, &dtype); break;
      default: a->shape(a->ptr, &shape, &count);
    }
  }
  return (now() - start) / n;
}
double export_tensor(const Array* a, int64_t n) {
  double start = now();
  for (int64_t i = 0; i < n; ++i) {
    DLManagedTensorVersioned* t = nullptr;
    a->as_dlpack(a->ptr, &t, {kDLCPU, 0}, nullptr, {1, 3});
    t->deleter(t);
  }
  return (now() - start) / n;
}
double move(const Array* to, const Array* from, const mts_data_movement_t* list, uintptr_t count) {
  double start = now();
  to->move_data(to->ptr, from->ptr, list, count);
  return now() - start;
}
}
"""


def compiled():
    """The timing functions as a library, built against metatensor's headers."""
    folder = Path(tempfile.mkdtemp())
    (folder / "calls.cc").write_text(SOURCE)
    root = Path(mts.__file__).parent
    subprocess.run(["g++", "-O2", "-std=c++17", "-shared", "-fPIC", f"-isystem{root}/include", "calls.cc",
                    f"-L{root}/lib", "-lmetatensor", f"-Wl,-rpath,{root}/lib", "-o", "calls.so"],
                   cwd=folder, check=True)  # fmt: skip
    library = ctypes.CDLL(str(folder / "calls.so"))
    for name in ("ask", "export_tensor", "move"):
        getattr(library, name).restype = ctypes.c_double
    return library


def by_turns(functions, rounds):
    """The median of each function's own answer, all sampled once per round."""
    samples = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            samples[name].append(function())
    return {name: statistics.median(values) for name, values in samples.items()}


def struct_of(values):
    return mts_array_t.from_buffer_copy(ctypes.string_at(dl.opaque.OpaqueArray(values).release(), 104))


def from_c(library, values, rounds):
    """Calls of the struct, from C: {row: {who: nanoseconds}}."""
    shape = (ctypes.c_size_t * values.ndim)(*values.shape)
    theirs = mts_array_t()
    library.their_array(shape, len(shape), None, ctypes.byref(theirs))
    arrays = {"dltensor": struct_of(values), "their Python": create_mts_array(values), "their C++": theirs}
    times = {"dltensor": 20000, "their Python": 200, "their C++": 20000}
    rows = {}
    for what, name in enumerate(["origin", "device", "dtype", "shape"]):
        rows[f"ask from C: {name}"] = by_turns(
            {who: lambda a=a, who=who, what=what: library.ask(ctypes.byref(a), ctypes.c_int64(times[who]), what)
             for who, a in arrays.items()}, rounds)  # fmt: skip
    rows["as_dlpack and deleter, from C"] = by_turns(
        {who: lambda a=a, who=who: library.export_tensor(ctypes.byref(a), ctypes.c_int64(times[who]))
         for who, a in arrays.items()}, rounds)  # fmt: skip
    return rows


def moves(library, rounds):
    """20,000 movements in two property patterns between arrays of 3.8 MB."""
    samples, components, properties = 20000, 3, 8
    rng = np.random.default_rng(0)
    values = rng.random((samples, components, properties))
    shape = (ctypes.c_size_t * 3)(samples, components, properties)
    pairs = {}
    pairs["dltensor"] = struct_of(values), struct_of(np.zeros_like(values))
    pairs["their Python"] = create_mts_array(values), create_mts_array(np.zeros_like(values))
    pairs["their C++"] = mts_array_t(), mts_array_t()
    for one in pairs["their C++"]:
        library.their_array(shape, 3, values.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), ctypes.byref(one))
    n = np.arange(samples)
    lists = {
        "two patterns": np.stack([n // 2, n // 2, n % 2 * 4, 4 - n % 2 * 4, 0 * n + 4], 1),
        "in order": np.stack([n, n, 0 * n, 0 * n, 0 * n + properties], 1),
        "permuted": np.stack([n, n * 7919 % samples, 0 * n, 0 * n, 0 * n + properties], 1),
    }
    rows = {}
    for name, listed in lists.items():
        listed = np.ascontiguousarray(listed, dtype=np.uintp)
        rows[f"move_data, 20000 {name}"] = by_turns(
            {who: lambda of=of, to=to: library.move(ctypes.byref(to), ctypes.byref(of), ctypes.c_void_p(listed.ctypes.data),
                                                    ctypes.c_size_t(samples))
             for who, (of, to) in pairs.items()}, max(5, rounds // 4))  # fmt: skip
    return rows


def labels_of(make, name, n):
    return make(name, np.arange(n, dtype=np.int32).reshape(n, 1))


def blocks(library, values, rounds):
    """Making arrays and blocks in Python; labels by the library that makes the block."""
    ours = [labels_of(dl.opaque.metatensor_labels, *a) for a in (("s", 4), ("c", 3), ("p", 5))]
    theirs = [labels_of(mts.Labels, *a) for a in (("s", 4), ("c", 3), ("p", 5))]
    lib = mts._c_lib._get_library()

    def end(array):
        array.destroy(array.ptr)

    names = {"x": values, "OpaqueArray": dl.opaque.OpaqueArray, "create": create_mts_array, "end": end,
             "block": dl.opaque.metatensor_block, "TensorBlock": mts.TensorBlock, "o": ours, "t": theirs, "lib": lib}  # fmt: skip
    ways = {
        "wrap dltensor": "OpaqueArray(x)",
        "wrap their Python": "end(create(x))",
        "block dltensor": "block(x, o[0], [o[1]], o[2])",
        "block their Python": "TensorBlock(x, t[0], [t[1]], t[2])",
    }
    took = timing.by_turns(ways.values(), names, rounds, sample=2e-4)
    found = {label: took[statement] * 1e9 for label, statement in ways.items()}
    rows = {"wrap and destroy a NumPy array": {}, "block over a NumPy array": {}}
    for label, value in found.items():
        what, _, who = label.partition(" ")
        rows["wrap and destroy a NumPy array" if what == "wrap" else "block over a NumPy array"][who] = value
    return rows


def merged(library, rounds):
    """keys_to_properties over 100 blocks of (4, 3, 5), the library's function itself, labels and fill of each kind."""
    lib = mts._c_lib._get_library()

    def tensor_map(kind):
        make = dl.opaque.metatensor_labels if kind != "their Python" else mts.Labels
        samples, component, properties = (labels_of(make, *a) for a in (("s", 4), ("c", 3), ("p", 5)))
        made = []
        for i in range(100):
            values = np.full((4, 3, 5), float(i))
            if kind == "dltensor":
                made.append(dl.opaque.metatensor_block(values, samples, [component], properties))
            elif kind == "their Python":
                made.append(mts.TensorBlock(values, samples, [component], properties))
            else:
                array = mts_array_t()
                library.their_array((ctypes.c_size_t * 3)(4, 3, 5), 3,
                                    values.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), ctypes.byref(array))  # fmt: skip
                between = (type(component.as_mts_labels_t()) * 1)(component.as_mts_labels_t())
                made.append(mts.TensorBlock.unsafe_from_ptr(lib.mts_block(
                    array, samples.as_mts_labels_t(), between, 1, properties.as_mts_labels_t())))  # fmt: skip
        move = make(["k"], np.empty((0, 1), np.int32))
        return mts.TensorMap(labels_of(make, "k", 100), made), move

    def fill(kind):
        if kind == "dltensor":
            return struct_of(np.array(0.0))
        if kind == "their Python":
            return create_mts_array(np.array(0.0))
        array = mts_array_t()
        library.their_array((ctypes.c_size_t * 0)(), 0, None, ctypes.byref(array))
        return array

    def once(kind):
        tensor, move = maps[kind]
        value = fill(kind)
        start = time.perf_counter_ns()
        got = lib.mts_tensormap_keys_to_properties(tensor._ptr, move.as_mts_labels_t(), value, True)
        took = time.perf_counter_ns() - start
        if not got:
            sys.exit("bench_opaque: keys_to_properties failed")
        lib.mts_tensormap_free(got)
        return took

    maps = {kind: tensor_map(kind) for kind in ("dltensor", "their Python", "their C++")}
    return {"keys_to_properties, 100 blocks": by_turns({kind: lambda kind=kind: once(kind) for kind in maps}, rounds)}


# Row: peer, the ratio that was set as the goal (or nanoseconds, where the peer is None).
GOALS = {
    "wrap and destroy a NumPy array": [("their Python", 0.4)],
    "ask from C: origin": [(None, 50)],
    "ask from C: device": [(None, 50)],
    "ask from C: dtype": [(None, 50)],
    "ask from C: shape": [(None, 50)],
    "as_dlpack and deleter, from C": [(None, 200)],
    "block over a NumPy array": [("their Python", 0.35)],
    "keys_to_properties, 100 blocks": [("their Python", 0.25), ("their C++", 1.5)],
    "move_data, 20000 two patterns": [("their Python", 0.05)],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--json", help="also write the rows to this file")
    options = parser.parse_args()
    if not shutil.which("g++"):
        sys.exit("bench_opaque: needs g++ for the calls from C")
    dl.opaque.register_metatensor()
    library = compiled()
    values = np.arange(60.0).reshape(4, 3, 5)
    rows = blocks(library, values, options.rounds)
    rows |= from_c(library, values, options.rounds)
    rows |= merged(library, options.rounds)
    rows |= moves(library, options.rounds)
    print(f"{'':<34}{'dltensor':>12}{'their Python':>14}{'their C++':>12}   goals")
    made, missed = [], 0
    for name, times in rows.items():
        words = []
        for peer, goal in GOALS.get(name, []):
            got = times["dltensor"] / (times[peer] if peer else 1)
            words.append(
                f"{got:.3g} {'x ' + peer if peer else 'ns'} (goal {goal}, {'met' if got <= goal else 'MISSED'})"
            )
            missed += got > goal
        cells = "".join(f"{times[who]:>{w}.0f}" if who in times else f"{'-':>{w}}"
                        for who, w in (("dltensor", 12), ("their Python", 14), ("their C++", 12)))  # fmt: skip
        print(f"{name:<34}{cells}   {', '.join(words)}")
        made.append({"row": name, "nanoseconds": times, "goals": GOALS.get(name, [])})
    print(f"\nmedians in nanoseconds; metatensor-core {mts.__version__}, numpy {np.__version__}; {missed} goals missed")
    if options.json:
        Path(options.json).write_text(json.dumps(made, indent=1))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
