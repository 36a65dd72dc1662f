# SPDX-License-Identifier: Apache-2.0
"""Lifetimes of memory that consumers, graphs and other libraries use: the engine, in every order of streams."""

import contextlib
import ctypes
import time

import numpy as np
import pytest
from test_cuda_captures import SUCCESS, Capture, driver, fault

BYTES = 4096
__all__ = ["driver"]  # a fixture


class Consumer:
    """Another library: a stream of its own, and memory on it to which it copies what it is given."""

    def __init__(self, cuda, driver, flags=1):
        self.cuda, self.driver = cuda, driver
        self.stream, self.target = ctypes.c_void_p(), ctypes.c_uint64()
        assert driver.cuStreamCreateWithPriority(ctypes.byref(self.stream), flags, 0) == SUCCESS
        assert driver.cuMemAllocAsync(ctypes.byref(self.target), ctypes.c_size_t(BYTES), self.stream) == SUCCESS

    def take(self, x):
        """Export as ``__dlpack__(stream=)`` does; return what the capsule's deleter releases."""
        exported = ctypes.c_void_p()
        self.cuda("export_to", x.block, self.cuda.stream(0, self.stream.value), ctypes.byref(exported))
        return exported

    def copy(self, x):
        source = ctypes.c_uint64(self.cuda.c.shim_data(x.block))
        assert self.driver.cuMemcpyDtoDAsync_v2(self.target, source, ctypes.c_size_t(BYTES), self.stream) == SUCCESS

    def destroy(self):
        assert self.driver.cuStreamDestroy_v2(self.stream) == SUCCESS
        self.stream = None

    def result(self):
        got = np.zeros(BYTES, "u1")
        assert self.driver.cuCtxSynchronize() == SUCCESS
        pointer = ctypes.c_void_p(got.ctypes.data)
        assert self.driver.cuMemcpyDtoH_v2(pointer, self.target, ctypes.c_size_t(BYTES)) == SUCCESS
        assert self.driver.cuMemFree_v2(self.target) == SUCCESS
        return set(got)


# ---- consumers, whose streams may be destroyed as soon as they have returned a tensor


@pytest.mark.parametrize("ends", ["before", "after"])
def test_memory_is_not_reused_before_a_consumer_has_read_it(cuda, driver, ends):
    """The stream is destroyed `before` or `after` the consumer returns the tensor; its work runs in any case."""
    home, consumer = cuda.new_stream(), Consumer(cuda, driver)
    x = cuda.fill(7, cuda.empty((BYTES,), "uint8", home), home)
    exported, address = consumer.take(x), cuda.c.shim_data(x.block)
    consumer.copy(x)
    x.release()
    if ends == "before":
        consumer.destroy()
    cuda.c.shim_release(exported)
    if ends == "after":
        consumer.destroy()
    y = cuda.fill(9, cuda.empty((BYTES,), "uint8", home), home)
    assert cuda.c.shim_data(y.block) == address
    assert consumer.result() == {7}
    y.release()
    cuda("destroy_stream", home)


def test_a_write_comes_after_what_a_consumer_has_read(cuda, driver):
    """The tensor lives on after the consumer has returned it, and its stream."""
    home, other, consumer = cuda.new_stream(), cuda.new_stream(), Consumer(cuda, driver)
    x = cuda.fill(7, cuda.empty((BYTES,), "uint8", home), home)
    exported = consumer.take(x)
    consumer.copy(x)
    cuda.c.shim_release(exported)
    consumer.destroy()
    cuda.fill(9, x, other)
    assert consumer.result() == {7}
    assert set(x.get(other)) == {9}
    x.release()
    for each in (home, other):
        cuda("destroy_stream", each)


def test_a_read_comes_after_what_a_consumer_has_written(cuda, driver):
    home, other, consumer = cuda.new_stream(), cuda.new_stream(), Consumer(cuda, driver)
    x = cuda.fill(7, cuda.empty((BYTES,), "uint8", home), home)
    exported = consumer.take(x)
    target = ctypes.c_uint64(cuda.c.shim_data(x.block))
    assert driver.cuMemsetD8Async(target, 5, ctypes.c_size_t(BYTES), consumer.stream) == SUCCESS
    cuda.c.shim_release(exported)
    consumer.destroy()
    assert set(cuda.run("add", [x, 1], "uint8", stream=other).get(other)) == {6}
    consumer.result()
    x.release()
    for each in (home, other):
        cuda("destroy_stream", each)


def test_memory_of_another_library_goes_back_after_its_consumers(cuda, driver):
    """Imported, exported again, and released by everyone: the owner's deleter runs when the consumer has read."""
    home, consumer = cuda.new_stream(), Consumer(cuda, driver)
    x = cuda.fill(7, cuda.empty((BYTES,), "uint8", home), home)
    counter, block = ctypes.c_int(0), ctypes.c_void_p()
    cuda("adopt", ctypes.c_void_p(cuda.c.shim_data(x.block)), home, ctypes.byref(counter), ctypes.byref(block))
    exported = ctypes.c_void_p()
    cuda("export_to", block, cuda.stream(0, consumer.stream.value), ctypes.byref(exported))
    consumer.copy(x)
    cuda.c.shim_release(block)
    assert counter.value == 0
    cuda.c.shim_release(exported)
    consumer.destroy()
    while not counter.value:
        cuda("synchronize", home)
        cuda.c.shim_empty_cache(-1)
    cuda.fill(9, x, home)
    assert consumer.result() == {7}
    x.release()
    cuda("destroy_stream", home)


def test_a_consumer_that_returns_a_tensor_during_a_capture_spoils_nothing(cuda, driver):
    """An event of the whole context would: the memory waits, and writing to it is refused until the capture is over."""
    home, captured, consumer = cuda.new_stream(), cuda.new_stream(), Consumer(cuda, driver)
    x = cuda.fill(7, cuda.empty((BYTES,), "uint8", home), home)
    y = cuda.fill(1, cuda.empty((BYTES,), "uint8", home), home)
    out = cuda.run("add", [y, 1], "uint8", stream=captured)
    cuda("synchronize", captured)
    exported, waiting = consumer.take(x), cuda.usage().waiting
    with Capture(cuda, driver, captured) as capture:
        cuda.run("add", [y, 2], "uint8", stream=captured, out=out)
        consumer.copy(x)
        cuda.c.shim_release(exported)
        with pytest.raises(fault(), match=r"buffer: wait: .* consumer that returned .*write to that memory after"):
            cuda.fill(9, x, home)
        x.release()
        assert cuda.usage().waiting == waiting + 1
    capture.launch()
    assert set(out.get(captured)) == {3}
    capture.close()
    assert cuda.usage().waiting == waiting
    assert consumer.result() == {7}
    consumer.destroy()
    del y, out
    for each in (home, captured):
        cuda("destroy_stream", each)


def test_what_a_captured_consumer_takes_lives_as_long_as_the_graph(cuda, driver):
    home, other, consumer = cuda.new_stream(), cuda.new_stream(), Consumer(cuda, driver)
    x = cuda.fill(7, cuda.empty((BYTES,), "uint8", home), home)
    cuda("synchronize", home)
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    assert driver.cuStreamSynchronize(consumer.stream) == SUCCESS
    assert driver.cuStreamBeginCapture_v2(consumer.stream, 2) == SUCCESS
    exported = consumer.take(x)
    consumer.copy(x)
    assert not exported, "the graph holds it"
    x.release()
    assert driver.cuStreamEndCapture(consumer.stream, ctypes.byref(graph)) == SUCCESS
    assert driver.cuGraphInstantiateWithFlags(ctypes.byref(executable), graph, ctypes.c_uint64(0)) == SUCCESS
    others = [cuda.fill(9, cuda.empty((BYTES,), "uint8", home), home) for _ in range(3)]
    assert driver.cuGraphLaunch(executable, consumer.stream) == SUCCESS
    assert consumer.result() == {7}
    live = cuda.usage().live_blocks
    assert driver.cuGraphExecDestroy(executable) == SUCCESS
    assert driver.cuGraphDestroy(graph) == SUCCESS
    end = time.monotonic() + 10
    while cuda.usage().live_blocks == live and time.monotonic() < end:
        cuda.c.shim_empty_cache(-1)
    assert cuda.usage().live_blocks == live - 1
    consumer.destroy()
    others.clear()
    for each in (home, other):
        cuda("destroy_stream", each)


def test_an_export_that_fails_leaves_nothing_behind(eager, machine):
    home, raw = eager.new_stream(), ctypes.c_void_p()
    with machine.context():
        assert machine.library.cuStreamCreateWithPriority(ctypes.byref(raw), 1, 0) == SUCCESS
        x = eager.fill(7, eager.empty((BYTES,), "uint8", home), home)
        before, live = eager.usage(), eager.c.shim_live_blocks()
        for nth in range(1, 12):
            exported = ctypes.c_void_p()
            machine.fail("*", nth=nth, error="CUDA_ERROR_INVALID_VALUE")
            with contextlib.suppress(fault()):
                eager("export_to", x.block, eager.stream(0, raw.value), ctypes.byref(exported))
            if exported:
                eager.c.shim_release(exported)
            machine.fail_no_more()
            assert eager.c.shim_live_blocks() == live
        assert set(x.get(home)) == {7}
        x.release()
        assert eager.usage().waiting == before.waiting
        assert machine.library.cuStreamDestroy_v2(raw) == SUCCESS
    eager("destroy_stream", home)


def test_drivers_without_an_event_of_the_context_wait_for_blocking_streams(cuda, driver, machine):
    machine.configure(driver_version=12040)
    try:
        home, consumer = cuda.new_stream(), Consumer(cuda, driver, flags=0)
        x = cuda.fill(7, cuda.empty((BYTES,), "uint8", home), home)
        exported = consumer.take(x)
        consumer.copy(x)
        x.release()
        cuda.c.shim_release(exported)
        consumer.destroy()
        y = cuda.fill(9, cuda.empty((BYTES,), "uint8", home), home)
        assert consumer.result() == {7}
        y.release()
        cuda("destroy_stream", home)
    finally:
        machine.configure(driver_version=13000)


# ---- outputs of graphs


@pytest.mark.parametrize("where", ["other", "captured"])
@pytest.mark.parametrize("seed", range(8))
def test_readers_of_an_output_are_waited_for_when_its_graph_is_gone(cuda, driver, machine, where, seed):
    n = 1 << 12
    captured, other, third = cuda.new_stream(), cuda.new_stream(), cuda.new_stream()
    x = cuda.upload(np.ones(n, "f4"), captured)
    cuda.run("multiply", [x, 2.0], "float32", stream=captured)
    cuda.run("add", [x, 1.0], "float32", stream=other)
    cuda("synchronize", captured)
    cuda("synchronize", other)
    with machine.order(f"random:{seed}"):
        with Capture(cuda, driver, captured) as capture:
            y = cuda.run("multiply", [x, 2.0], "float32", stream=captured)
        capture.launch()
        cuda("synchronize", captured)
        z = cuda.run("add", [y, 1.0], "float32", stream=other if where == "other" else captured)
        capture.close(last=False)
        y.release()
        cuda.c.shim_empty_cache(-1)
        kept = [cuda.fill(-7.0, cuda.empty((n,), "float32", third), third) for _ in range(4)]
        assert (z.get() == 3).all()
        del kept, z, x
    assert cuda.end_of_graphs() == 0
    for each in (captured, other, third):
        cuda("destroy_stream", each)


# ---- memory of other libraries


class Foreign:
    """Memory of another library that is imported again and again; counts how often it was given back."""

    def __init__(self, cuda, stream, source):
        self.cuda, self.stream, self.source, self.given_back = cuda, stream, source, ctypes.c_int(0)

    def take(self):
        """Import it."""
        pointer = ctypes.c_void_p(self.cuda.c.shim_data(self.source.block))
        self.block = ctypes.c_void_p()
        self.cuda("adopt", pointer, self.stream, ctypes.byref(self.given_back), ctypes.byref(self.block))

    def release(self):
        self.cuda.c.shim_release(self.block)

    def read(self, target, stream):
        """Import it, copy it to `target`, release it."""
        self.take()
        source, to = self.source.flat(), target.flat()
        source.block = self.block
        self.cuda("copy", ctypes.byref(source), ctypes.byref(to), stream, None)
        self.release()


def test_foreign_memory_goes_back_without_allocations(cuda, machine):
    stream, most = cuda.new_stream(), 0
    foreign = Foreign(cuda, stream, cuda.upload(np.arange(256, dtype="f4"), stream))
    target = cuda.empty((256,), "float32", stream)
    pinned = ctypes.c_void_p()
    cuda("allocate_pinned", 0, 64, ctypes.byref(pinned))
    with machine.order("lazy"), machine.context():
        for k in range(60):
            foreign.read(target, stream)
            if k % 10 == 9:  # as the device of a program that runs catches up now and then
                assert machine.library.cuStreamSynchronize(ctypes.c_void_p(cuda.c.shim_handle(stream))) == SUCCESS
            most = max(most, k + 1 - foreign.given_back.value)
    assert most <= 12, most
    cuda.c.shim_release(pinned)
    foreign.source.release(), target.release()
    cuda("destroy_stream", stream)
    cuda.c.shim_empty_cache(-1)
    assert foreign.given_back.value == 60


@pytest.mark.parametrize("how", ["stream", "device"])
def test_foreign_memory_goes_back_at_a_synchronization(cuda, machine, how):
    stream = cuda.new_stream()
    foreign = Foreign(cuda, stream, cuda.upload(np.arange(256, dtype="f4"), stream))
    target = cuda.empty((256,), "float32", stream)
    with machine.order("lazy"):
        for _ in range(20):
            foreign.read(target, stream)
        cuda("synchronize", stream) if how == "stream" else cuda("synchronize_device", 0)
        assert foreign.given_back.value == 20
    foreign.source.release(), target.release()
    cuda("destroy_stream", stream)


def test_imports_ask_the_driver_nothing_while_no_memory_waits(eager, machine):
    stream, count = eager.new_stream(), ctypes.c_int(0)
    x = eager.upload(np.arange(256, dtype="f4"), stream)
    pointer, blocks = ctypes.c_void_p(eager.c.shim_data(x.block)), [ctypes.c_void_p() for _ in range(100)]
    eager.c.shim_empty_cache(-1)
    before, calls = eager.usage().waiting, machine.statistics().calls
    for block in blocks:
        eager("adopt", pointer, stream, ctypes.byref(count), ctypes.byref(block))
    assert (before, machine.statistics().calls) == (0, calls)
    for block in blocks:
        eager.c.shim_release(block)
    x.release()
    eager("destroy_stream", stream)


def test_imports_seldom_ask_about_memory_that_waits(cuda, machine):
    """An import costs no driver call, and a release of idle memory the four about its own stream."""
    stuck, stream = cuda.new_stream(), cuda.new_stream()
    source = cuda.upload(np.arange(256, dtype="f4"), stream)
    first, foreign = Foreign(cuda, stuck, source), Foreign(cuda, stream, source)
    target = cuda.empty((256,), "float32", stuck)
    cuda("synchronize", stream)
    with machine.order("lazy"):
        first.read(target, stuck)
        calls = machine.statistics().calls
        for _ in range(160):
            foreign.take(), foreign.release()
        per_pair = (machine.statistics().calls - calls) / 160
        assert (first.given_back.value, foreign.given_back.value) == (0, 160)
    assert 4 <= per_pair < 5
    cuda("synchronize", stuck)
    assert first.given_back.value == 1
    source.release(), target.release()
    for each in (stuck, stream):
        cuda("destroy_stream", each)


def test_memory_that_is_stuck_holds_up_no_other(cuda, machine):
    """The one released first is read on a stream that does not go on."""
    stuck, stream = cuda.new_stream(), cuda.new_stream()
    source = cuda.upload(np.arange(256, dtype="f4"), stream)
    first, foreign = Foreign(cuda, stuck, source), Foreign(cuda, stream, source)
    one, two = cuda.empty((256,), "float32", stuck), cuda.empty((256,), "float32", stream)
    cuda("synchronize", stream)
    with machine.order("lazy"), machine.context():
        first.read(one, stuck)
        for _ in range(200):
            foreign.read(two, stream)
            assert machine.library.cuStreamSynchronize(ctypes.c_void_p(cuda.c.shim_handle(stream))) == SUCCESS
        assert (first.given_back.value, foreign.given_back.value >= 160) == (0, True)
    cuda("synchronize", stuck)
    cuda.c.shim_empty_cache(-1)
    assert (first.given_back.value, foreign.given_back.value) == (1, 200)
    source.release(), one.release(), two.release()
    for each in (stuck, stream):
        cuda("destroy_stream", each)
