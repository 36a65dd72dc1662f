# SPDX-License-Identifier: Apache-2.0
"""Files, shared memory and pickles beside NumPy, safetensors and the standard library.

Run: python benchmarks/bench_files.py [part of a row's name ...] [--json FILE] [--plot FILE]
Files are in the page cache. Goals in absolute time are in docs/performance.md, with the processor.
"""

import multiprocessing
import os
import pickle
import tempfile

import numpy as np
from compare import Row, main

import dltensor as dl

try:
    import safetensors
    import safetensors.numpy as sn
except ImportError:
    safetensors = sn = None
LARGE = 64 << 20  # float32 elements: 256 MiB
SHARED = 16 << 20


def files(folder):
    path = os.path.join(folder, "a.npy")
    array = np.random.default_rng(1).normal(size=LARGE).astype("f4")
    np.save(path, array)
    model = os.path.join(folder, "a.safetensors")
    dl.save(model, {f"layers.{i}.weight": dl.full((128, 128), i, dtype="float32") for i in range(1000)})
    one = os.path.join(folder, "one.safetensors")
    dl.save(one, {"a": array})
    names = {"dl": dl, "np": np, "path": path, "model": model, "array": array, "new": os.path.join(folder, "new.npy"),
             "other": os.path.join(folder, "other.npy"), "target": np.empty_like(array), "one": one,
             "mapped": dl.load(path), "here": dl.asarray(array), "out": dl.empty(LARGE)}  # fmt: skip

    def row(what, gate, goal, ours, peers):
        found = {name: text for name, text in peers.items() if not name.startswith("safetensors") or sn is not None}
        extra = {"safetensors": safetensors, "sn": sn} if sn is not None else {}
        return Row("files", what, gate, goal, ours, found, names | extra)

    yield row("read 256 MiB, and np.load", 1.35, 1.6, "dl.load(path, mmap=False)", {"numpy": "np.load(path)"})
    yield row("read 256 MiB, and memcpy", 0.8, 0.9, "dl.load(path, mmap=False)", {"memcpy": "np.copyto(target, array)"})
    yield row("open .npy mapped", 2, 4, "dl.load(path)", {"numpy": "np.load(path, mmap_mode='r')"})
    yield row("open .safetensors mapped", 0.5, 1, "dl.load(one)",
              {"safetensors": "safetensors.safe_open(one, 'np')", "numpy": "np.load(path, mmap_mode='r')"})  # fmt: skip
    if sn is not None:
        yield row("1000 tensors of 64 KiB", 10, 13, "dl.load(model)", {"safetensors": "sn.load_file(model)"})
    yield row("save 256 MiB", 1, 1.1, "dl.save(new, array)", {"numpy": "np.save(other, array)"})
    yield row("add over a map, and over memory", 0.9, 0.95, "dl.add(mapped, 1, out=out)",
              {"memory": "dl.add(here, 1, out=out)"})  # fmt: skip


def _answer(connection):
    """Another process, which receives and says so."""
    while connection.recv() is not None:
        connection.send_bytes(b"1")


def sending():
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    context.Process(target=_answer, args=(there,), daemon=True).start()
    t = dl.shared.empty(SHARED)
    t.fill(1)

    def send(what):
        here.send(what)
        here.recv_bytes()

    names = {"send": send, "t": t, "a": np.ones(SHARED, "f4"), "b": b"x"}
    yield Row("shared", "64 MiB to a running process and back", 100, 1000, "send(t)", {"pickle": "send(a)"}, names)
    yield Row("shared", "the same, and a byte there and back", 0.3, 0.7, "send(t)", {"bytes": "send(b)"}, names)


def pickles():
    names = {"dumps": pickle.dumps, "loads": pickle.loads, "t": dl.arange(4), "a": np.arange(4)}
    names |= {"p": pickle.dumps(names["t"], 5), "q": pickle.dumps(names["a"], 5)}
    yield Row("pickle", "dumps of 4 elements", 2, 2, "dumps(t, 5)", {"numpy": "dumps(a, 5)"}, names)
    yield Row("pickle", "loads of 4 elements", 1.5, 2, "loads(p)", {"numpy": "loads(q)"}, names)


def rows():
    with tempfile.TemporaryDirectory() as folder:
        yield from files(folder)
    yield from sending()
    yield from pickles()


def sizes(options, kept):
    """Print how many bytes a pickle takes of tensors that touch less memory than their shape says, or in another order."""
    for what, t in (("broadcast to 64 MiB", dl.broadcast_to(dl.arange(4), (2 << 20, 4))),
                    ("Fortran order, 64 KiB", dl.zeros((128, 128)).T)):  # fmt: skip
        print(f"pickle of a tensor {what}: {len(pickle.dumps(t, 5))} bytes")


if __name__ == "__main__":
    main(rows, __doc__.splitlines()[0], sizes)
