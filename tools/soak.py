# SPDX-License-Identifier: Apache-2.0
"""Exchange back and forth, very often, and see what is left behind: memory, blocks, references.

Run: ``make soak`` (a million rounds per pair) or ``python tools/soak.py ROUNDS``.
"""

import gc
import importlib.util
import sys
import time

import dltensor as dl

ALLOWED_GROWTH = 64 * 1024


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def pairs():
    """Name and round trip of every pair that can be run here."""
    ours = dl.asarray([[1.0, 2.0], [3.0, 4.0]])
    yield "dltensor -> dltensor", lambda: dl.from_dlpack(ours)
    yield "dltensor -> capsule, unconsumed", lambda: ours.__dlpack__(max_version=(1, 3))
    yield "dltensor -> legacy capsule -> dltensor", lambda: dl.from_dlpack(ours.__dlpack__())
    yield "dltensor: view, write, drop", lambda: ours[0].fill(1.0)
    yield "dltensor: copy", lambda: ours.copy()
    yield "bytes -> dltensor", lambda: dl.asarray(b"abc")
    if importlib.util.find_spec("numpy"):
        import numpy as np

        array = np.arange(4.0)
        yield "numpy -> dltensor", lambda: dl.from_dlpack(array)
        yield "dltensor -> numpy", lambda: np.from_dlpack(ours)
        yield "dltensor.numpy()", lambda: ours.numpy()
        yield "numpy capsule -> dltensor", lambda: dl.from_dlpack(array.__dlpack__(max_version=(1, 0)))
    if importlib.util.find_spec("torch"):
        import torch

        tensor = torch.arange(4.0)
        yield "torch -> dltensor", lambda: dl.from_dlpack(tensor)
        yield "dltensor -> torch", lambda: dl.into(ours, torch.Tensor)
        yield "dltensor -> torch.from_dlpack", lambda: torch.from_dlpack(ours)
    if importlib.util.find_spec("tvm_ffi"):
        import tvm_ffi

        held = tvm_ffi.from_dlpack(ours)
        yield "dltensor -> tvm_ffi", lambda: tvm_ffi.from_dlpack(ours)
        yield "tvm_ffi -> dltensor", lambda: dl.from_dlpack(held)
    if importlib.util.find_spec("jax"):
        import jax

        jax_array = jax.numpy.arange(4.0)
        yield "jax -> dltensor", lambda: dl.from_dlpack(jax_array)
    if importlib.util.find_spec("pyarrow"):
        import pyarrow as pa

        arrow = pa.array([1.0, 2.0, 3.0])
        yield "pyarrow -> dltensor", lambda: dl.from_dlpack(arrow)


def soak(once, rounds):
    """Bytes and blocks that `rounds` exchanges leave behind, and the seconds they take."""
    gc.collect()
    blocks, before, start = dl.debug.live_blocks(), resident(), time.perf_counter()
    for _ in range(rounds):
        once()
    seconds = time.perf_counter() - start
    gc.collect()
    return resident() - before, dl.debug.live_blocks() - blocks, seconds


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    failed = 0
    print(f"{'pair':42}{'rounds':>10}{'s':>8}{'growth KiB':>12}{'blocks':>8}")
    for name, once in pairs():
        for _ in range(min(rounds, 20_000)):
            once()
        growth, left, seconds = soak(once, rounds)
        if growth > ALLOWED_GROWTH:
            # Threads that the frameworks have just started reach their steady state meanwhile; a leak grows again.
            growth, left, seconds = soak(once, rounds)
        bad = growth > ALLOWED_GROWTH or left != 0
        failed += bad
        print(f"{name:42}{rounds:10}{seconds:8.1f}{growth / 1024:12.0f}{left:8}{'  FAILED' if bad else ''}", flush=True)
    print(
        f"soak: {'nothing is left behind' if not failed else f'{failed} pairs leave something behind'} "
        f"(allowed: {ALLOWED_GROWTH // 1024} KiB, 0 blocks)"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
