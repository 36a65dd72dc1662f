# SPDX-License-Identifier: Apache-2.0
"""dl.debug: counts that return to their start, and a trace that records each release, its thread and its GIL state."""

import gc
import os
import sysconfig
import threading
import time

import numpy as np
import pytest

import dltensor as dl


def test_blocks_and_bytes_are_counted_and_uncounted():
    gc.collect()
    blocks, nbytes = dl.debug.live_blocks(), dl.debug.live_bytes()
    t = dl.empty((10, 10))
    assert (dl.debug.live_blocks() - blocks, dl.debug.live_bytes() - nbytes) == (1, 400)
    view = t[1:]
    assert dl.debug.live_blocks() - blocks == 1
    del t, view
    assert (dl.debug.live_blocks(), dl.debug.live_bytes()) == (blocks, nbytes)


def test_memory_of_others_counts_as_a_block_without_bytes():
    blocks, nbytes = dl.debug.live_blocks(), dl.debug.live_bytes()
    t = dl.from_dlpack(np.zeros(10))
    assert (dl.debug.live_blocks() - blocks, dl.debug.live_bytes() - nbytes) == (1, 0)
    del t
    assert dl.debug.live_blocks() == blocks


def test_an_exported_capsule_keeps_the_block_alive():
    blocks = dl.debug.live_blocks()
    capsule = dl.zeros(5).__dlpack__(max_version=(1, 3))
    assert dl.debug.live_blocks() == blocks + 1
    del capsule
    assert dl.debug.live_blocks() == blocks


@pytest.mark.skipif("DLTENSOR_SANITIZED" in os.environ, reason="a sanitizer would see nothing of memory that is reused")
def test_freed_memory_waits_for_reuse_until_the_cache_is_emptied():
    dl.empty_cache()
    assert dl.debug.cached_bytes() == 0
    t = dl.empty((1 << 20,), dtype="uint8")
    del t
    waiting = dl.debug.cached_bytes()
    assert waiting >= 1 << 20
    assert dl.empty_cache() == waiting
    assert dl.debug.cached_bytes() == 0


def test_the_cache_can_be_bounded():
    try:
        dl.set_cache_limit(0)
        dl.empty_cache()
        t = dl.empty((1 << 20,), dtype="uint8")
        del t
        assert dl.debug.cached_bytes() == 0
    finally:
        dl.set_cache_limit(1 << 30)
    with pytest.raises(ValueError, match="set_cache_limit: a number of bytes must be at least 0, got -1"):
        dl.set_cache_limit(-1)


def names(trace):
    return [event.event for event in trace.events]


def test_a_trace_tells_the_life_of_our_own_memory():
    with dl.debug.trace() as trace:
        t = dl.empty(4)
        capsule = t.__dlpack__(max_version=(1, 3))
        del t
        del capsule
    assert names(trace) == ["allocated", "exported", "returned", "freed"]
    assert len({event.block for event in trace.events}) == 1
    assert trace.events[1].export == trace.events[2].export != 0
    assert trace.events[0].bytes == 16
    assert [event.time for event in trace.events] == sorted(event.time for event in trace.events)


def test_a_trace_tells_the_life_of_the_memory_of_others():
    with dl.debug.trace() as trace:
        t = dl.from_dlpack(np.zeros(3))
        del t
    assert names(trace) == ["adopted", "released"]


def test_a_trace_knows_what_is_still_out():
    with dl.debug.trace() as trace:
        array = np.from_dlpack(dl.empty(4))
    (export,) = trace.outstanding
    (block,) = trace.alive
    assert export.block == block.block
    assert trace.report().splitlines()[-1] == "still alive: export 1 of block 1, block 1"
    assert array.shape == (4,)


@pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    reason="a free-threaded CPython frees an object in the thread that made it",
)
def test_a_trace_names_threads_and_says_who_held_the_gil():
    with dl.debug.trace() as trace:
        box = [dl.empty(4).__dlpack__(max_version=(1, 3))]
        thread = threading.Thread(target=box.clear, name="consumer")
        thread.start()
        thread.join()
    exported, returned = trace.events[1], trace.events[2]
    assert exported.thread == threading.get_native_id() != returned.thread
    assert exported.gil is True
    line = trace.report().splitlines()[2]
    assert "returned" in line
    assert "exported by MainThread" in line
    assert "with the GIL" in line


def test_a_release_without_the_gil_is_told(release_without_gil):
    with dl.debug.trace() as trace:
        release_without_gil(dl.empty(4))
    assert [event.gil for event in trace.events if event.event == "returned"] == [False]
    assert "without the GIL" in trace.report()


def test_large_copies_release_the_gil():
    """Overlapping memory goes through a temporary, whose event says whether the thread held it."""
    for n, held in ((100, True), (1 << 18, False)):
        t = dl.zeros(n)
        with dl.debug.trace() as trace:
            t[1:] = t[:-1]
        assert [event.gil for event in trace.events if event.event == "allocated"] == [held]


def test_a_trace_is_left_only_when_it_runs():
    with pytest.raises(RuntimeError, match="this trace is not running"):
        dl.debug.trace().__exit__(None, None, None)
    with dl.debug.trace():
        pass


def test_a_threads_name_is_kept_while_it_lives():
    stop = threading.Event()

    def work():
        dl.empty(4)
        stop.wait(10)

    with dl.debug.trace() as trace:
        thread = threading.Thread(target=work, name="worker")
        thread.start()
        for _ in range(5000):
            if len(trace.events) >= 2:
                break
            time.sleep(0.001)
        stop.set()
        thread.join()
    assert "on worker (" in trace.report()


def test_events_beyond_the_capacity_push_out_the_earliest():
    with dl.debug.trace(capacity=4) as trace:
        for _ in range(5):
            dl.empty(1)
    assert len(trace.events) == 4
    assert trace.lost == 6
    assert "6 earlier events were replaced" in trace.report()


def test_nothing_is_recorded_outside_the_block():
    with dl.debug.trace() as trace:
        pass
    dl.empty(3)
    assert trace.events == []
    assert trace.report() == "still alive: no export, no memory"


def test_one_trace_at_a_time():
    with dl.debug.trace(), pytest.raises(RuntimeError, match="trace: another trace is running"), dl.debug.trace():
        pass
    with dl.debug.trace() as trace:
        dl.empty(1)
    assert len(trace.events) == 2


@pytest.mark.parametrize(("capacity", "error"), [(2**60, MemoryError), (2**70, OverflowError)])
def test_a_trace_that_cannot_begin_leaves_room_for_another(capacity, error):
    with pytest.raises(error), dl.debug.trace(capacity):
        pass
    with dl.debug.trace() as trace:
        dl.empty(1)
    assert len(trace.events) == 2


def test_a_trace_needs_room():
    with pytest.raises(ValueError, match="trace: capacity must be at least 1, got 0"):
        dl.debug.trace(capacity=0)


@pytest.fixture
def release_without_gil():
    """Calls the deleter of an exported tensor from C without the GIL, as a consumer's own thread would."""
    import ctypes

    versioned = b"dltensor_versioned"
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", ctypes.pythonapi))
    used = ctypes.create_string_buffer(b"used_dltensor_versioned")

    def release(t):
        capsule = t.__dlpack__(max_version=(1, 3))
        managed = pointer(capsule, versioned)
        # version (8 bytes), manager_ctx (8 bytes), deleter
        deleter = ctypes.c_void_p.from_address(managed + 16).value
        rename(capsule, used)
        # CFUNCTYPE releases the GIL for the call.
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(managed)

    return release
