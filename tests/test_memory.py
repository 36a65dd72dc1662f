# SPDX-License-Identifier: Apache-2.0
"""Allocations beyond the machine's memory, memory cached in threads, and a changed number of threads."""

import ctypes
import os
import subprocess
import sys
import textwrap

import ml_dtypes
import numpy as np
import pytest

import dltensor as dl

caches = pytest.mark.skipif(
    "DLTENSOR_SANITIZED" in os.environ,
    reason="a sanitizer would not see the use of memory that is kept",
)

CALLS = {
    "empty": lambda n: dl.empty((n,), dtype="uint8"),
    "zeros": lambda n: dl.zeros((n,), dtype="uint8"),
    "ones": lambda n: dl.ones((n // 4 + 1,), dtype="float32"),
    "full": lambda n: dl.full((n // 2 + 1,), 3, dtype="int16"),
    "copy": lambda n: dl.broadcast_to(dl.ones(()), (n // 4 + 1,)).copy(),
}


def machine_bytes():
    """Memory and swap together: what no process can have more of."""
    with open("/proc/meminfo") as file:
        fields = dict(line.split(":") for line in file)
    return sum(int(fields[name].split()[0]) for name in ("MemTotal", "SwapTotal")) * 1024


SIZES = {
    "1.25 of the machine": lambda: machine_bytes() * 5 // 4,
    "twice": lambda: machine_bytes() * 2,
    "64 TiB": lambda: 64 << 40,
}


def run(script):
    """Run Python in a process of its own, whose cache and threads no other test uses."""
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", CALLS)
def test_a_size_that_the_machine_cannot_back_is_a_memory_error_that_says_how_many_bytes(name, size):
    nbytes = SIZES[size]()
    before = dl.debug.live_bytes()
    with pytest.raises(MemoryError, match=r"\d{10,} bytes") as caught:
        CALLS[name](nbytes)
    said = int("".join(c if c.isdigit() else " " for c in str(caught.value)).split()[0])
    assert nbytes <= said <= nbytes + 8
    assert dl.debug.live_bytes() == before


def most_backed_bytes():
    """The engine's own limit."""
    library = ctypes.CDLL(dl.opaque.library_path())
    function = library._ZN3dlt17most_backed_bytesEv
    function.restype = ctypes.c_size_t
    return function()


def test_the_engine_has_a_limit_of_its_own_where_the_system_would_promise_anything():
    # With vm.overcommit_memory=1 no size is refused by the system.
    assert 0 < most_backed_bytes() <= machine_bytes()


def test_nearly_all_of_the_memory_can_be_asked_for():
    # A size class may be a quarter larger: it must not be what is asked of the system here.
    nbytes = most_backed_bytes() // 10 * 9
    try:
        np.empty(nbytes, np.uint8)
    except MemoryError:
        pytest.skip("the system gives NumPy no such memory either")
    assert dl.empty((nbytes,), dtype="uint8").nbytes == nbytes


FILL = """
    import threading
    import dltensor as dl

    ready, end = threading.Barrier(21), threading.Event()

    def fill():
        for size in (10, 300, 1000, 5000, 20000, 60000):
            kept = [dl.empty((size,), dtype="uint8") for _ in range(20)]
        del kept
        ready.wait()
        end.wait()

    threads = [threading.Thread(target=fill, daemon=True) for _ in range(20)]
    for thread in threads:
        thread.start()
    ready.wait()
    cached = dl.debug.cached_bytes()
    assert cached > 20 * 100_000, cached
"""


@caches
def test_a_cache_limit_of_nothing_reaches_what_idle_threads_keep():
    run(
        FILL
        + """
    dl.set_cache_limit(0)
    assert dl.debug.cached_bytes() == 0
    for size in (10, 1000, 100_000, 10_000_000):
        kept = dl.empty((size,), dtype="uint8")
        del kept
    assert dl.debug.cached_bytes() == 0
    end.set()
    """
    )


@caches
def test_emptying_the_cache_reaches_what_idle_threads_keep():
    run(
        FILL
        + """
    assert dl.empty_cache() >= cached
    assert dl.debug.cached_bytes() == 0
    end.set()
    """
    )


@caches
def test_the_lists_of_threads_count_against_the_limit():
    run(
        FILL
        + """
    dl.set_cache_limit(1 << 20)
    def work():
        return [dl.empty((n * 500,), dtype="uint8") for n in range(100)]
    more = [threading.Thread(target=work) for _ in range(8)]
    for thread in more:
        thread.start()
    for thread in more:
        thread.join()
    assert dl.debug.cached_bytes() <= 1 << 20, dl.debug.cached_bytes()
    end.set()
    """
    )


def test_threads_end_when_their_number_is_lowered():
    out = run("""
    import os
    import time
    import dltensor as dl

    def tasks():
        return len(os.listdir("/proc/self/task"))

    def tasks_at_most(most):  # a thread that was joined stays in the list for a moment
        end = time.monotonic() + 60
        while tasks() > most and time.monotonic() < end:
            time.sleep(0.001)
        return tasks()

    before = tasks()
    dl.set_num_threads(32)
    a = dl.ones((3000, 3000))
    c = a + a
    many = tasks()
    dl.set_num_threads(3)
    few = tasks_at_most(before + 2)
    dl.set_num_threads(1)
    one = tasks_at_most(before)
    dl.set_num_threads(4)
    c = a + a
    print(many - before, few - before, one - before, tasks() - before, float(c[2999, 2999]))
    """)
    many, few, one, again, same = out.split()
    assert (many, few, one, same) == ("31", "2", "0", "2.0")
    assert int(again) <= 3  # none where a busy machine keeps the first job to its caller


LARGE = np.random.default_rng(4).standard_normal(200_000)
FEW = {
    "choice": lambda: dl.random.Generator(1).choice(200_000, 5, replace=False),
    "choice with replacement": lambda: dl.random.Generator(1).choice(200_000, 5),
    "choice by weight": lambda: dl.random.Generator(1).choice(200_000, 5, replace=False, p=np.abs(LARGE)),
    "choice of entries": lambda: dl.random.Generator(1).choice(dl.asarray(LARGE), 5, replace=False),
    "top_k": lambda: dl.top_k(LARGE, 3),
    "top_k of one row": lambda: dl.top_k(LARGE.reshape(1, -1), 3),
    "median": lambda: dl.median(LARGE),
    "quantile": lambda: dl.quantile(LARGE, [0.1, 0.2, 0.5]),
    "quantile, lower": lambda: dl.quantile(LARGE, 0.1, method="lower"),
    "histogram": lambda: dl.histogram(LARGE),
    "unique_values": lambda: dl.unique_values(np.trunc(LARGE)),
    "unique_counts": lambda: dl.unique_counts(np.trunc(LARGE)),
    "nonzero": lambda: dl.nonzero(LARGE > 4),
    "a mask": lambda: dl.asarray(LARGE)[dl.asarray(LARGE > 4)],
    "an index array": lambda: dl.asarray(LARGE)[dl.asarray([1, 2])],
    "take": lambda: dl.take(LARGE, dl.asarray([1, 2])),
    "max": lambda: dl.max(LARGE),
    "nanmax": lambda: dl.nanmax(LARGE),
    "ptp": lambda: dl.ptp(LARGE),
    "average": lambda: dl.average(LARGE, weights=np.abs(LARGE), returned=True),
    "logsumexp": lambda: dl.logsumexp(LARGE),
    "cumulative_sum": lambda: dl.cumulative_sum(LARGE[:3]),
    "diff": lambda: dl.diff(LARGE[:3]),
    "vector_norm": lambda: dl.linalg.vector_norm(LARGE),
    "svdvals": lambda: dl.linalg.svdvals(LARGE.reshape(2, -1)),
    "qr": lambda: dl.linalg.qr(LARGE.reshape(-1, 2)).R,
    "einsum": lambda: dl.einsum("i,i->", LARGE, LARGE),
    "searchsorted": lambda: dl.searchsorted(np.sort(LARGE), dl.asarray([0.5], dtype="float64")),
    "bincount": lambda: dl.bincount(np.abs(np.trunc(LARGE)).astype(int)),
}


@pytest.mark.parametrize("call", FEW.values(), ids=FEW.keys())
def test_a_small_result_keeps_no_large_block(call):
    call()
    before = dl.debug.live_bytes()
    made = call()
    assert dl.debug.live_bytes() - before < 8000
    del made


def test_dtype_objects_without_end_fill_no_memory():
    # Each entry of the memory for dtype objects refers to the dtype of ours.
    original = np.dtype(ml_dtypes.bfloat16)
    references = sys.getrefcount(dl.bfloat16)
    kept = [np.dtype(original, metadata={"number": number}) for number in range(2000)]
    assert len({id(made) for made in kept}) == 2000
    for made in kept:
        assert dl.from_dlpack(np.ones(3, original).view(made)).dtype == dl.bfloat16
    assert sys.getrefcount(dl.bfloat16) - references <= 300
