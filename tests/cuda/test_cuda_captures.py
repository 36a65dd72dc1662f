# SPDX-License-Identifier: Apache-2.0
"""Captures, default streams of threads, streams that end, and lost contexts: the engine by the rules of the driver.

What needs public functions of the driver only runs on a card too.
"""

import contextlib
import ctypes
import os
import threading

import numpy as np
import pytest

SUCCESS = 0


def fault():
    from cuda_engine_under_test import Fault

    return Fault


@pytest.fixture
def driver(cuda, machine):
    """The driver with a context current, as programs that capture have it."""
    library, context = machine.library, ctypes.c_void_p()
    assert library.cuInit(0) == SUCCESS
    assert library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == SUCCESS
    assert library.cuCtxPushCurrent_v2(context) == SUCCESS
    yield library
    assert library.cuCtxPopCurrent_v2(ctypes.byref(context)) == SUCCESS
    assert library.cuDevicePrimaryCtxRelease_v2(0) == SUCCESS


class Capture:
    """Captures what its body enqueues on a stream; `launch` runs it there."""

    def __init__(self, cuda, driver, stream, mode=0):
        self.cuda, self.driver, self.mode = cuda, driver, mode
        self.handle = ctypes.c_void_p(cuda.c.shim_handle(stream))
        self.graph, self.executable = ctypes.c_void_p(), ctypes.c_void_p()

    def __enter__(self):
        assert self.driver.cuStreamBeginCapture_v2(self.handle, self.mode) == SUCCESS
        return self

    def __exit__(self, kind, error, trace):
        result = self.driver.cuStreamEndCapture(self.handle, ctypes.byref(self.graph))
        assert kind is not None or result == SUCCESS, f"the capture ended with {result}"

    def launch(self):
        if not self.executable:
            made = self.driver.cuGraphInstantiateWithFlags(
                ctypes.byref(self.executable), self.graph, ctypes.c_uint64(0)
            )
            assert made == SUCCESS
        assert self.driver.cuGraphLaunch(self.executable, self.handle) == SUCCESS

    def close(self, *, last=True):
        """Destroy the graph; the `last` one waits until its memory has come back."""
        if self.executable:
            assert self.driver.cuGraphExecDestroy(self.executable) == SUCCESS
        assert self.driver.cuGraphDestroy(self.graph) == SUCCESS
        if last:
            assert self.cuda.end_of_graphs() == 0


@pytest.mark.parametrize("known", [True, False])
def test_a_foreign_stream_is_wrapped_while_it_is_captured(cuda, driver, known):
    """A driver that is asked for the id of a captured stream invalidates the capture."""
    handle = ctypes.c_void_p()
    assert driver.cuStreamCreateWithPriority(ctypes.byref(handle), 1, 0) == SUCCESS
    x = cuda.upload(np.arange(30, dtype="f4"))
    out = cuda.run("add", [x, 1.0], "float32")
    cuda("synchronize", cuda.stream())
    if known:
        cuda.stream(handle=handle.value)
    graph = ctypes.c_void_p()
    assert driver.cuStreamBeginCapture_v2(handle, 0) == SUCCESS
    stream = cuda.stream(handle=handle.value)
    t = cuda.run("add", [x, 2.0], "float32", stream=stream)
    cuda.run("add", [t, 2.0], "float32", stream=cuda.stream(handle=handle.value), out=out)
    t.release()
    assert driver.cuStreamEndCapture(handle, ctypes.byref(graph)) == SUCCESS
    executable = ctypes.c_void_p()
    assert driver.cuGraphInstantiateWithFlags(ctypes.byref(executable), graph, ctypes.c_uint64(0)) == SUCCESS
    assert driver.cuGraphLaunch(executable, handle) == SUCCESS
    assert driver.cuStreamSynchronize(handle) == SUCCESS
    np.testing.assert_array_equal(out.get(cuda.stream(handle=handle.value)), np.arange(30, dtype="f4") + 4)
    assert driver.cuGraphExecDestroy(executable) == SUCCESS
    assert driver.cuGraphDestroy(graph) == SUCCESS
    assert cuda.end_of_graphs() == 0
    del x, t, out
    cuda.c.shim_empty_cache(-1)
    assert driver.cuStreamDestroy_v2(handle) == SUCCESS


def make_streams(driver, count, found):
    """Create streams of another library, up to `count` that live at once, until `found` is true of one."""
    handles = []
    while len(handles) < count and not (handles and found(handles[-1])):
        handles.append(ctypes.c_void_p())
        assert driver.cuStreamCreateWithPriority(ctypes.byref(handles[-1]), 1, 0) == SUCCESS
    return handles


def test_a_stream_first_seen_in_a_capture_is_recognized_after_it(cuda, driver):
    """Its id is read then: a stream that the driver later puts at the same address is another one."""
    seen = []

    def keeps_its_record(handle):
        graph = ctypes.c_void_p()
        assert driver.cuStreamBeginCapture_v2(handle, 0) == SUCCESS
        seen.append(cuda.stream(handle=handle.value).value)
        assert driver.cuStreamEndCapture(handle, ctypes.byref(graph)) == SUCCESS
        assert driver.cuGraphDestroy(graph) == SUCCESS
        return cuda.stream(handle=handle.value).value == seen[-1]

    # An address that a destroyed stream of an earlier test had may still be taken for that stream during the capture.
    handles = make_streams(driver, 200, keeps_its_record)
    assert len(handles) < 200
    address = handles[-1].value
    assert driver.cuStreamDestroy_v2(handles.pop()) == SUCCESS
    handles += make_streams(driver, 50, lambda handle: handle.value == address)
    if handles[-1].value == address:
        assert cuda.stream(handle=address).value != seen[-1]
    for each in handles:
        assert driver.cuStreamDestroy_v2(each) == SUCCESS


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("where", ["default", "other"])
@pytest.mark.parametrize("settled", [True, False])
def test_a_tensor_of_another_stream_is_used_in_a_capture(cuda, driver, mode, where, settled):
    """The usual capture: inputs made on the default stream, then work on a stream that is captured."""
    home, stream = cuda.stream() if where == "default" else cuda.new_stream(), cuda.new_stream()
    x = cuda.upload(np.arange(300, dtype="f4"), home)
    out = cuda.run("add", [x, 1.0], "float32", stream=home)
    if settled:
        cuda("synchronize", home)
    with Capture(cuda, driver, stream, mode) as capture:
        cuda.run("add", [x, 2.0], "float32", out=out, stream=stream)
    capture.launch()
    np.testing.assert_array_equal(out.get(stream), np.arange(300, dtype="f4") + 2)
    cuda.run("add", [x, 5.0], "float32", out=x, stream=home)
    capture.launch()
    cuda("synchronize", home)
    capture.launch()
    np.testing.assert_array_equal(out.get(stream), np.arange(300, dtype="f4") + 7)
    capture.close()
    del x, out
    for each in {stream.value, home.value} - {cuda.stream().value}:
        cuda("destroy_stream", ctypes.c_void_p(each))


def test_a_release_during_a_capture_leaves_the_home_stream_outside(cuda, driver):
    """Home must not wait for the captured reader: its later work would go into the graph."""
    home, reader = cuda.new_stream(), cuda.new_stream()
    one = cuda.upload(np.zeros(4, "f4"), home)
    out = cuda.empty((4,), "float32", home)
    cuda.run("add", [one, 5.0], "float32", out=out, stream=home)  # compiled, and memory of home at hand
    x = cuda.upload(np.ones(4, "f4"), home)
    y = cuda.run("add", [x, 1.0], "float32", stream=reader)
    cuda("synchronize", home), cuda("synchronize", reader)
    waiting = cuda.usage().waiting
    with Capture(cuda, driver, reader) as capture:
        cuda.run("add", [x, 1.0], "float32", out=y, stream=reader)
        x.release()
        cuda.run("add", [one, 1.0], "float32", out=out, stream=home)
        assert cuda.usage().waiting == waiting + 1
    np.testing.assert_array_equal(out.get(home), np.ones(4, "f4"))
    capture.close()
    assert cuda.usage().waiting == waiting
    del one, y, out, x
    for each in (home, reader):
        cuda("destroy_stream", each)


def test_what_a_capture_writes_cannot_be_used_outside_it_meanwhile(cuda, driver):
    stream, other = cuda.new_stream(), cuda.new_stream()
    x = cuda.upload(np.ones(40, "f4"), stream)
    out = cuda.run("negative", [x], "float32", stream=stream)
    cuda("synchronize", stream)
    with Capture(cuda, driver, stream) as capture:
        cuda.run("negative", [x], "float32", out=out, stream=stream)
        with pytest.raises(fault(), match=r"buffer: .*CUDA graph is being captured on the other stream"):
            cuda.run("add", [out, 1.0], "float32", stream=other)
    capture.launch()
    assert set(cuda.run("add", [out, 1.0], "float32", stream=other).get(other)) == {0}
    capture.close()
    del x, out
    for each in (stream, other):
        cuda("destroy_stream", each)


def test_a_fork_and_join_inside_a_capture(cuda, driver):
    stream, side = cuda.new_stream(), cuda.new_stream()
    event = ctypes.c_void_p()
    assert driver.cuEventCreate(ctypes.byref(event), 2) == SUCCESS
    handles = [ctypes.c_void_p(cuda.c.shim_handle(each)) for each in (stream, side)]
    x = cuda.upload(np.arange(50, dtype="f4"), stream)
    a, out = (cuda.run("add", [x, 1.0], "float32", stream=stream) for _ in range(2))
    b = cuda.run("add", [x, 1.0], "float32", stream=side)
    cuda("synchronize", stream), cuda("synchronize", side)
    with Capture(cuda, driver, stream) as capture:
        assert driver.cuEventRecord(event, handles[0]) == SUCCESS
        assert driver.cuStreamWaitEvent(handles[1], event, 0) == SUCCESS
        cuda.run("add", [x, 10.0], "float32", out=a, stream=stream)
        cuda.run("add", [a, 100.0], "float32", out=b, stream=side)  # the side waits inside the graph
        cuda.run("add", [b, 1000.0], "float32", out=out, stream=stream)
    capture.launch()
    np.testing.assert_array_equal(out.get(stream), np.arange(50, dtype="f4") + 1110)
    # The waits were of the graph: work of the same streams after it is ordered by new ones.
    capture.launch()
    cuda.run("add", [b, 0.0], "float32", out=b, stream=side)
    capture.close()
    assert driver.cuEventDestroy_v2(event) == SUCCESS
    del x, a, b, out
    for each in (stream, side):
        cuda("destroy_stream", each)


def test_a_wait_inside_a_capture_is_not_taken_for_one_outside(cuda, driver):
    """Work that the other stream had before the capture is waited for after it, though nothing came in between."""
    stream, side = cuda.new_stream(), cuda.new_stream()
    event = ctypes.c_void_p()
    assert driver.cuEventCreate(ctypes.byref(event), 2) == SUCCESS
    x = cuda.upload(np.arange(50, dtype="f4"), side)
    out, after = (cuda.run("add", [x, 1.0], "float32", stream=stream) for _ in range(2))
    cuda("synchronize", stream), cuda("synchronize", side)
    made = cuda.run("add", [x, 10.0], "float32", stream=side)
    with Capture(cuda, driver, stream) as capture:
        # Not by the handle of `side`: a stream whose handle others have is always waited for.
        assert driver.cuEventRecord(event, capture.handle) == SUCCESS
        cuda("stream_waits", side, event)
        cuda.run("add", [made, 100.0], "float32", out=out, stream=stream)
    cuda.run("add", [made, 1000.0], "float32", out=after, stream=stream)
    np.testing.assert_array_equal(after.get(stream), np.arange(50, dtype="f4") + 1010)
    capture.launch()
    np.testing.assert_array_equal(out.get(stream), np.arange(50, dtype="f4") + 110)
    capture.close()
    assert driver.cuEventDestroy_v2(event) == SUCCESS
    del x, made, out, after
    for each in (stream, side):
        cuda("destroy_stream", each)


def test_two_captures_do_not_share_a_tensor(cuda, driver):
    one, two = cuda.new_stream(), cuda.new_stream()
    x = cuda.upload(np.ones(40, "f4"), one)
    out = cuda.run("negative", [x], "float32", stream=one)
    cuda.run("negative", [out], "float32", stream=two)
    cuda("synchronize", one), cuda("synchronize", two)
    with Capture(cuda, driver, one) as first:
        cuda.run("negative", [x], "float32", out=out, stream=one)
        with (
            Capture(cuda, driver, two) as second,
            pytest.raises(fault(), match=r"buffer: .*another CUDA graph is being captured"),
        ):
            cuda.run("negative", [out], "float32", stream=two)
    first.close(last=False)
    second.close()
    del x, out
    for each in (one, two):
        cuda("destroy_stream", each)


def test_emptying_the_cache_spoils_no_capture(cuda, driver):
    stream, other = cuda.new_stream(), cuda.new_stream()
    x = cuda.upload(np.ones(40, "f4"), stream)
    out = cuda.run("negative", [x], "float32", stream=stream)
    cuda("synchronize", stream)
    cuda.empty((1 << 20,), "uint8", other).release()
    cuda.empty((1 << 20,), "uint8", stream).release()
    with Capture(cuda, driver, stream) as capture:
        cuda.run("negative", [x], "float32", out=out, stream=stream)
        assert cuda.c.shim_empty_cache(-1) >= 1 << 20
    capture.launch()
    assert set(out.get(stream)) == {-1}
    capture.close()
    del x, out
    for each in (stream, other):
        cuda("destroy_stream", each)


def test_memory_that_may_not_be_kept_is_freed_after_the_capture(cuda, driver):
    """A captured free is a node of the graph, which takes memory of the graph only."""
    stream = cuda.new_stream()
    x = cuda.upload(np.ones(1 << 12, "f4"), stream)
    out = cuda.run("negative", [x], "float32", stream=stream)
    spare = cuda.empty((1 << 22,), "uint8", stream)
    cuda("synchronize", stream)
    cuda.c.shim_set_cache_limit(ctypes.c_size_t(0))
    try:
        with Capture(cuda, driver, stream) as capture:
            cuda.run("negative", [x], "float32", out=out, stream=stream)
            waiting = cuda.usage().waiting
            spare.release()
            assert cuda.usage().waiting == waiting + 1
        capture.launch()
        cuda.c.shim_empty_cache(-1)
        assert cuda.usage().waiting == waiting
        assert set(out.get(stream)) == {-1}
        capture.close()
    finally:
        cuda.c.shim_set_cache_limit(ctypes.c_size_t(2**64 - 1))
    del x, out, spare
    cuda("destroy_stream", stream)


def test_a_capture_of_a_blocking_stream_by_another_library_is_left_alone(cuda, driver):
    raw, status = ctypes.c_void_p(), ctypes.c_int()
    assert driver.cuStreamCreate(ctypes.byref(raw), 0) == SUCCESS  # waits for the legacy stream, and it for this one
    stream = cuda.new_stream()
    x = cuda.upload(np.ones(40, "f4"))
    cuda.run("negative", [x], "float32")
    y = cuda.run("negative", [x], "float32", stream=stream)
    assert driver.cuStreamBeginCapture_v2(raw, 0) == SUCCESS
    with pytest.raises(fault(), match=r"buffer: .*captured on a blocking stream"):
        cuda.run("add", [x, 1.0], "float32", out=x, stream=stream)
    y.release()
    graph = ctypes.c_void_p()
    assert driver.cuStreamIsCapturing(raw, ctypes.byref(status)) == SUCCESS
    assert status.value == 1, "the capture is lost"
    assert driver.cuStreamEndCapture(raw, ctypes.byref(graph)) == SUCCESS
    assert driver.cuGraphDestroy(graph) == SUCCESS
    cuda.run("add", [x, 1.0], "float32", out=x, stream=stream)
    assert set(x.get(stream)) == {2}
    assert driver.cuStreamDestroy_v2(raw) == SUCCESS
    del x, y
    cuda("destroy_stream", stream)
    cuda.c.shim_empty_cache(-1)


# ---- the per-thread default stream: handle 2 is another stream in each thread


def test_default_streams_of_two_threads_wait_for_each_other(cuda):
    a = np.arange(500, dtype="i4")
    results, ready, over = [], threading.Event(), threading.Event()

    def produce():
        try:
            stream = cuda.stream(handle=2)
            x = cuda.upload(a, stream)
            for _ in range(4):
                x = cuda.run("add", [x, 1], "int32", stream=stream)
            results.append(x)
        finally:
            ready.set()
        # A thread that ends before its stream is done can wait in the driver (580) for ever, with the driver's lock.
        over.wait(60)

    producer = threading.Thread(target=produce)
    producer.start()
    try:
        assert ready.wait(60)
        mine = cuda.stream(handle=2)
        y = cuda.run("add", [results[0], 10], "int32", stream=mine)
        z = cuda.run("add", [results[0], 20], "int32", stream=cuda.stream())
        np.testing.assert_array_equal(y.get(mine), a + 14)
        np.testing.assert_array_equal(z.get(), a + 24)
        results.clear()
    finally:
        over.set()
        producer.join()


def test_memory_of_a_threads_default_stream_is_released_by_another_thread(cuda):
    """The free must not run on the releasing thread's stream, which is ahead of the work that reads the memory."""
    a = np.arange(500, dtype="i4")
    held, results, ready, over = [], [], threading.Event(), threading.Event()
    cuda.c.shim_set_cache_limit(ctypes.c_size_t(0))

    def produce():
        try:
            stream = cuda.stream(handle=2)
            x = cuda.upload(a, stream)
            cuda("synchronize", stream)
            results.append(cuda.run("add", [x, 1], "int32", stream=stream))
            held.append(x)
        finally:
            ready.set()
        over.wait(60)  # the work of a thread that ends is done

    producer = threading.Thread(target=produce)
    producer.start()
    try:
        assert ready.wait(60)
        held.pop().release()
        mine = cuda.stream(handle=2)
        late = cuda.fill(-1, cuda.empty((500,), "int32", mine), mine)
        assert set(late.get(mine)) == {-1}  # this thread's stream is done first, and with it what was freed on it
        np.testing.assert_array_equal(results.pop().get(), a + 1)
    finally:
        over.set()
        producer.join()
        cuda.c.shim_set_cache_limit(ctypes.c_size_t(2**64 - 1))


def test_a_captured_per_thread_stream_allocates_memory_of_the_graph(cuda, driver):
    stream = cuda.stream(handle=2)
    x = cuda.upload(np.arange(300, dtype="f4"), stream)
    out = cuda.run("add", [x, 1.0], "float32", stream=stream)
    cuda.run("add", [out, 1.0], "float32", stream=stream)
    cuda("synchronize", stream)
    assert cuda.usage().captured_bytes == 0
    with Capture(cuda, driver, stream) as capture:
        t = cuda.run("add", [x, 1.0], "float32", stream=stream)
        cuda.run("add", [t, 2.0], "float32", out=out, stream=stream)
        t.release()
    assert cuda.usage().captured_bytes > 0
    others = [cuda.fill(-1.0, cuda.empty((300,), "float32", stream), stream) for _ in range(3)]
    capture.launch()
    np.testing.assert_array_equal(out.get(stream), np.arange(300, dtype="f4") + 3)
    for other in others:
        assert set(other.get(stream)) == {-1}
    capture.close()
    assert cuda.usage().captured_bytes == 0


def test_questions_about_a_per_thread_stream_need_no_current_context(cuda, machine):
    stream = cuda.stream(handle=2)
    x = cuda.upload(np.arange(30, dtype="f4"), stream)
    np.testing.assert_array_equal(x.get(stream), np.arange(30, dtype="f4"))
    kind, index = ctypes.c_int(), ctypes.c_int()
    for device in (0, 1):
        if device:
            machine.context_depth()  # a card may be alone
        y = cuda.empty((10,), "float32", device=device)
        cuda("pointer_device", ctypes.c_void_p(cuda.c.shim_data(y.block)), ctypes.byref(kind), ctypes.byref(index))
        assert (kind.value, index.value) == (2, device)


# ---- streams of others


def test_work_of_others_on_a_stream_of_ours_is_waited_for(cuda, driver):
    """Any library that has the handle may enqueue there: such work is not counted, so no wait may be left out."""
    home, reader = cuda.new_stream(), cuda.new_stream()
    x = cuda.fill(1, cuda.empty((4096,), "uint8", home), home)
    out = cuda.run("add", [x, 1], "uint8", stream=reader)  # the reader has waited for home
    raw = ctypes.c_void_p(cuda.c.shim_handle(home))
    pointer = ctypes.c_uint64(cuda.c.shim_data(x.block))
    assert driver.cuMemsetD8Async(pointer, 9, ctypes.c_size_t(4096), raw) == SUCCESS
    cuda.run("add", [x, 1], "uint8", out=out, stream=reader)
    assert set(out.get(reader)) == {10}
    del x, out
    for each in (home, reader):
        cuda("destroy_stream", each)


def test_blocks_are_freed_though_a_stream_that_was_wrapped_by_its_handle_is_gone(cuda, driver, machine):
    machine.configure(dead_streams="error")
    try:
        home, raw = cuda.new_stream(), ctypes.c_void_p()
        assert driver.cuStreamCreate(ctypes.byref(raw), 1) == SUCCESS
        x, y = (cuda.fill(3, cuda.empty((4096,), "uint8", home), home) for _ in range(2))
        cuda.copy(x, y, stream=cuda.stream(0, raw.value))
        assert driver.cuStreamDestroy_v2(raw) == SUCCESS
        before = cuda.usage()
        x.release(), y.release()
        cuda.c.shim_empty_cache(-1)
        after = cuda.usage()
        assert (after.waiting, after.live_blocks) == (before.waiting, before.live_blocks - 2)
        cuda("destroy_stream", home)
    finally:
        machine.configure(dead_streams="abort")


# ---- lost contexts, and processes that fork


@pytest.mark.parametrize("error", ["ILLEGAL_ADDRESS", "MISALIGNED_ADDRESS", "ASSERT", "HARDWARE_STACK_ERROR",
                                   "ILLEGAL_INSTRUCTION", "INVALID_PC", "LAUNCH_FAILED"])  # fmt: skip
def test_the_message_of_a_lost_context_has_its_remedy(eager, machine, error):
    x = eager.upload(np.ones(10, "f4"))
    machine.fail("cuLaunchKernel", error=f"CUDA_ERROR_{error}")
    with pytest.raises(fault(), match=rf"device: cuLaunchKernel: CUDA_ERROR_{error} .*restart the process"):
        eager.run("negative", [x], "float32")
    machine.fail_no_more()
    assert set(eager.run("negative", [x], "float32").get()) == {-1}


@pytest.mark.skipif(bool(os.environ.get("DLTENSOR_TEST_GPU")), reason="injects a fault into the host driver")
def test_an_error_without_a_name_is_reported_by_its_number(eager, machine):
    x = eager.upload(np.ones(10, "f4"))
    machine.library.hostcuda_fail(b"cuLaunchKernel", ctypes.c_int64(1), ctypes.c_int64(1), 4242)
    with pytest.raises(fault(), match=r"device: cuLaunchKernel: unknown error \(4242\)"):
        eager.run("negative", [x], "float32")


def test_releases_after_a_lost_context_pile_up_nothing(eager, machine):
    home, other = eager.new_stream(), eager.new_stream()
    tensors = []
    for _ in range(5):
        x = eager.upload(np.ones(100, "f4"), home)
        eager.run("negative", [x], "float32", stream=other)
        tensors.append(x)
    waiting = eager.usage().waiting
    machine.fail("cuStreamSynchronize", error="CUDA_ERROR_ILLEGAL_ADDRESS")
    with pytest.raises(fault(), match="restart the process"):
        eager("synchronize", home)
    with contextlib.suppress(fault()):  # work on another stream is refused too
        eager.run("negative", [tensors[0]], "float32", stream=other)
    live = eager.c.shim_live_blocks()
    while tensors:
        tensors.pop().release()
    assert eager.usage().waiting == waiting
    assert eager.c.shim_live_blocks() == live - 5
    machine.fail_no_more()
    del x
    for each in (home, other):
        eager("destroy_stream", each)


def test_a_forked_child_is_told_so_and_ends_cleanly(eager, machine):
    x = eager.upload(np.arange(10, dtype="f4"))
    y = eager.run("negative", [x], "float32")
    child = os.fork()
    if child == 0:
        code = 3
        try:
            eager.run("negative", [x], "float32")
        except fault() as error:
            code = 0 if "fork()" in str(error) and error.kind == "device" else 4
        eager.c.shim_release(y.block)
        eager.c.shim_empty_cache(-1)
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_array_equal(y.get(), -np.arange(10, dtype="f4"))
