# SPDX-License-Identifier: Apache-2.0
"""The host driver refuses what the real one refuses: each rule of captures, contexts and lost contexts by itself."""

import ctypes
import subprocess
import sys
import textwrap
import threading

import conftest as setup  # beside this file: whether a card or the host driver runs
import pytest

pytestmark = pytest.mark.skipif(setup.ON_CARD, reason="tests the host driver, this run uses a card")

SUCCESS, INVALID_VALUE, NOT_INITIALIZED, INVALID_CONTEXT = 0, 1, 3, 201
ILLEGAL_STATE, ILLEGAL_ADDRESS, OUT_OF_RESOURCES, MISALIGNED_ADDRESS = 401, 700, 701, 716
UNSUPPORTED, INVALIDATED, MERGE, UNMATCHED, UNJOINED, ISOLATION = range(900, 906)
IMPLICIT, CAPTURED_EVENT, WRONG_THREAD = range(906, 909)
PER_THREAD = ctypes.c_void_p(2)


class Driver:
    """The driver with shorter names; every call answers its error code."""

    def __init__(self, library):
        self.library = library

    def __getattr__(self, name):
        return getattr(self.library, name)

    def must(self, name, *arguments):
        assert getattr(self.library, name)(*arguments) == SUCCESS, name

    def made(self, name, *arguments):
        out = ctypes.c_void_p()
        self.must(name, ctypes.byref(out), *arguments)
        return out

    def stream(self, flags=1):
        return self.made("cuStreamCreate", flags)

    def event(self):
        return self.made("cuEventCreate", 2)

    def memory(self, stream, count=64):
        out = ctypes.c_uint64()
        self.must("cuMemAllocAsync", ctypes.byref(out), ctypes.c_size_t(count), stream)
        return out

    def fill(self, pointer, stream, value=1):
        return self.library.cuMemsetD8Async(pointer, value, ctypes.c_size_t(64), stream)

    def begin(self, stream, mode=0):
        self.must("cuStreamBeginCapture_v2", stream, mode)

    def end(self, stream):
        graph = ctypes.c_void_p()
        result = self.library.cuStreamEndCapture(stream, ctypes.byref(graph))
        if graph:
            self.must("cuGraphDestroy", graph)
        return result


@pytest.fixture
def driver(eager_machine):
    with eager_machine.context(0):
        yield Driver(eager_machine.library)
    eager_machine.fail_no_more()


def test_a_fork_that_is_not_joined_is_found_at_the_end(driver):
    origin, fork, event = driver.stream(), driver.stream(), driver.event()
    pointer = driver.memory(fork)
    driver.begin(origin)
    driver.must("cuEventRecord", event, origin)
    driver.must("cuStreamWaitEvent", fork, event, 0)
    assert driver.fill(pointer, fork) == SUCCESS
    assert driver.end(origin) == UNJOINED
    driver.begin(origin)
    driver.must("cuEventRecord", event, origin)
    driver.must("cuStreamWaitEvent", fork, event, 0)
    assert driver.fill(pointer, fork) == SUCCESS
    driver.must("cuEventRecord", event, fork)
    driver.must("cuStreamWaitEvent", origin, event, 0)
    assert driver.end(origin) == SUCCESS


def test_work_outside_a_capture_cannot_be_waited_for_in_it(driver):
    stream, event = driver.stream(), driver.event()
    pointer = driver.memory(driver.stream())
    driver.must("cuEventRecord", event, None)
    driver.begin(stream)
    assert driver.cuStreamWaitEvent(stream, event, 0) == ISOLATION
    assert driver.fill(pointer, stream) == INVALIDATED
    assert driver.end(stream) == INVALIDATED


def test_the_legacy_stream_cannot_wait_for_a_capture(driver):
    stream, event = driver.stream(), driver.event()
    driver.begin(stream)
    driver.must("cuEventRecord", event, stream)
    assert driver.cuStreamWaitEvent(None, event, 0) == IMPLICIT
    assert driver.end(stream) == INVALIDATED


def test_two_captures_cannot_be_merged(driver):
    one, two, event = driver.stream(), driver.stream(), driver.event()
    driver.begin(one)
    driver.begin(two)
    driver.must("cuEventRecord", event, one)
    assert driver.cuStreamWaitEvent(two, event, 0) == MERGE
    assert [driver.end(one), driver.end(two)] == [INVALIDATED, INVALIDATED]


def test_a_capture_ends_on_its_stream_and_thread(driver):
    stream, fork, event = driver.stream(), driver.stream(), driver.event()
    driver.begin(stream)
    seen = []

    def elsewhere():
        context = driver.made("cuDevicePrimaryCtxRetain", 0)
        driver.must("cuCtxSetCurrent", context)
        seen.append(driver.end(stream))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [WRONG_THREAD]
    assert driver.end(stream) == ILLEGAL_STATE, "the capture is over"
    driver.begin(stream)
    driver.must("cuEventRecord", event, stream)
    driver.must("cuStreamWaitEvent", fork, event, 0)
    assert driver.end(fork) == UNMATCHED
    assert driver.end(stream) == INVALIDATED


def test_work_on_the_legacy_stream_spoils_captures_of_blocking_streams_only(driver):
    status, event = ctypes.c_int(), driver.event()
    for stream, expected in ((driver.stream(1), SUCCESS), (driver.stream(0), IMPLICIT), (PER_THREAD, IMPLICIT)):
        driver.begin(stream)
        assert driver.cuStreamIsCapturing(None, ctypes.byref(status)) == expected
        assert driver.end(stream) == SUCCESS, "a question spoils nothing"
        driver.begin(stream)
        assert driver.cuEventRecord(event, None) == expected
        assert driver.end(stream) == (INVALIDATED if expected else SUCCESS)


def test_the_legacy_stream_waits_for_the_default_streams_of_other_threads(driver, eager_machine):
    pointer = driver.memory(None)
    driver.must("cuStreamSynchronize", None)
    with eager_machine.order("lazy"):

        def elsewhere():
            context = driver.made("cuDevicePrimaryCtxRetain", 0)
            driver.must("cuCtxSetCurrent", context)
            assert driver.fill(pointer, PER_THREAD, 7) == SUCCESS

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        event, other = driver.event(), driver.stream()
        driver.must("cuEventRecord", event, None)
        driver.must("cuStreamWaitEvent", other, event, 0)
        out = (ctypes.c_ubyte * 64)()
        driver.must("cuMemcpyDtoHAsync_v2", out, pointer, ctypes.c_size_t(64), other)
        driver.must("cuStreamSynchronize", other)
        assert set(out) == {7}


def test_an_event_of_a_capture_cannot_be_asked(driver):
    stream, event = driver.stream(), driver.event()
    for ask in (driver.cuEventQuery, driver.cuEventSynchronize):
        driver.begin(stream)
        driver.must("cuEventRecord", event, stream)
        assert ask(event) == CAPTURED_EVENT
        assert driver.end(stream) == INVALIDATED
        assert ask(event) == CAPTURED_EVENT, "not after the capture either"


@pytest.mark.parametrize(("mode", "calm"), [(0, False), (0, True), (2, False)])
def test_a_whole_device_cannot_be_waited_for_beside_a_capture(driver, mode, calm):
    stream, before = driver.stream(), ctypes.c_int(2)
    driver.begin(stream, mode)
    if calm:
        driver.must("cuThreadExchangeStreamCaptureMode", ctypes.byref(before))
    assert driver.cuCtxSynchronize() == UNSUPPORTED
    if calm:
        driver.must("cuThreadExchangeStreamCaptureMode", ctypes.byref(before))
    assert driver.end(stream) == INVALIDATED


def test_nothing_is_allocated_beside_a_capture_that_is_not_told_so(driver):
    stream, other, out = driver.stream(), driver.stream(), ctypes.c_uint64()
    kept = driver.memory(other)
    for spoil in (
        lambda: driver.cuMemAllocAsync(ctypes.byref(out), ctypes.c_size_t(64), other),
        lambda: driver.cuMemFreeAsync(kept, other),
        lambda: driver.cuStreamGetId(stream, ctypes.byref(ctypes.c_ulonglong())),
    ):
        driver.begin(stream)
        assert spoil() == UNSUPPORTED
        assert driver.end(stream) == INVALIDATED
    mode = ctypes.c_int(2)
    driver.begin(stream)
    driver.must("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
    fresh = driver.memory(other)
    driver.must("cuMemFreeAsync", kept, other)
    driver.must("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
    assert driver.end(stream) == SUCCESS
    driver.must("cuMemFreeAsync", fresh, other)


def test_a_captured_free_takes_memory_of_its_own_graph_only(driver):
    stream = driver.stream()
    foreign = driver.memory(stream)
    driver.begin(stream)
    own = driver.memory(stream)
    assert driver.cuMemFreeAsync(own, stream) == SUCCESS
    assert driver.end(stream) == SUCCESS
    driver.begin(stream)
    assert driver.cuMemFreeAsync(foreign, stream) == INVALID_VALUE
    assert driver.end(stream) == INVALIDATED
    driver.must("cuMemFreeAsync", foreign, stream)


def test_without_a_context_default_streams_and_pointers_are_unknown(driver, eager_machine):
    pointer, event, status = driver.memory(None), driver.event(), ctypes.c_int()
    context = ctypes.c_void_p()
    kind, which = ctypes.c_uint(), (ctypes.c_int * 1)(2)
    values = (ctypes.c_void_p * 1)(ctypes.addressof(kind))
    driver.must("cuCtxPopCurrent_v2", ctypes.byref(context))
    try:
        assert driver.cuPointerGetAttributes(1, which, values, pointer) == INVALID_CONTEXT
        assert driver.cuStreamIsCapturing(PER_THREAD, ctypes.byref(status)) == INVALID_CONTEXT
        assert driver.cuEventRecord(event, PER_THREAD) == INVALID_CONTEXT
    finally:
        driver.must("cuCtxPushCurrent_v2", context)
    assert driver.cuPointerGetAttributes(1, which, values, pointer) == SUCCESS
    driver.must("cuMemFreeAsync", pointer, None)


def test_an_injected_fault_of_a_kernel_stays(driver, eager_machine):
    eager_machine.fail("cuStreamSynchronize", error="CUDA_ERROR_MISALIGNED_ADDRESS")
    out = ctypes.c_void_p()
    assert [driver.cuStreamSynchronize(None) for _ in range(3)] == [716] * 3
    assert driver.cuStreamCreate(ctypes.byref(out), 1) == 716
    eager_machine.fail_no_more()
    assert driver.cuStreamSynchronize(None) == SUCCESS


def launch(driver, header, expression, threads, *values):
    """Load a kernel from source, as the engine does without NVRTC, and launch one block."""
    image = b"hostcuda source 1\n" + str(header).encode() + b"\n" + expression.encode() + b"\n"
    module = driver.made("cuModuleLoadData", image)
    function = driver.made("cuModuleGetFunction", module, b"kernel")
    arguments = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
    return driver.cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, None, arguments, None)


def test_a_kernel_that_leaves_its_memory_loses_the_context(driver, eager_machine, tmp_path):
    header = tmp_path / "stray.cuh"
    header.write_text("__global__ void stray(int* at) { at[threadIdx.x] = 1; }\n")
    with eager_machine.order("lazy"):
        assert launch(driver, header, "stray", 4, ctypes.c_void_p(64)) == SUCCESS, "the fault is reported later"
        assert driver.cuStreamSynchronize(None) == ILLEGAL_ADDRESS
        assert driver.cuStreamSynchronize(None) == ILLEGAL_ADDRESS
        assert driver.fill(ctypes.c_uint64(64), None) == ILLEGAL_ADDRESS
        eager_machine.fail_no_more()


def test_a_kernel_that_reads_at_a_misaligned_address_loses_the_context(driver, eager_machine, tmp_path):
    header = tmp_path / "misaligned.cuh"
    header.write_text("__global__ void misaligned(long* at) { at[threadIdx.x] = 1; }\n")
    memory = ctypes.c_uint64()
    assert driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(64)) == SUCCESS
    assert launch(driver, header, "misaligned", 1, ctypes.c_void_p(memory.value + 8)) == SUCCESS
    assert driver.cuStreamSynchronize(None) == SUCCESS
    launch(driver, header, "misaligned", 1, ctypes.c_void_p(memory.value + 4))
    assert driver.cuStreamSynchronize(None) == MISALIGNED_ADDRESS
    eager_machine.fail_no_more()
    assert driver.cuMemFree_v2(memory) == SUCCESS


def test_a_block_of_more_threads_than_the_launch_bound_is_refused(driver, tmp_path):
    header = tmp_path / "bounded.cuh"
    header.write_text("template <class T>\n__global__ void __launch_bounds__(128, 2) bounded(T* at) {}\n")
    assert launch(driver, header, "bounded<int>", 128, ctypes.c_void_p()) == SUCCESS
    assert launch(driver, header, "bounded<int>", 129, ctypes.c_void_p()) == OUT_OF_RESOURCES


@pytest.mark.parametrize(("words", "answer"), [(512, SUCCESS), (513, INVALID_VALUE)])
def test_a_kernel_takes_no_more_than_4096_bytes_of_parameters(driver, tmp_path, words, answer):
    header = tmp_path / f"large{words}.cuh"
    header.write_text(f"struct Large{words} {{ long at[{words}]; }};\n__global__ void large(Large{words}) {{}}\n")
    assert launch(driver, header, "large", 1, (ctypes.c_long * words)()) == answer


def test_a_graph_runs_in_any_order_that_its_nodes_allow(driver, eager_machine):
    """Two branches that the capture does not order: lazily they run the other way round."""
    origin, fork, event = driver.stream(), driver.stream(), driver.event()
    pointer, out = driver.memory(origin), (ctypes.c_ubyte * 64)()
    driver.must("cuStreamSynchronize", origin)
    driver.begin(origin)
    driver.must("cuEventRecord", event, origin)
    driver.must("cuStreamWaitEvent", fork, event, 0)
    assert driver.fill(pointer, origin, 1) == driver.fill(pointer, fork, 2) == SUCCESS
    driver.must("cuEventRecord", event, fork)
    driver.must("cuStreamWaitEvent", origin, event, 0)
    graph = ctypes.c_void_p()
    driver.must("cuStreamEndCapture", origin, ctypes.byref(graph))
    executable = driver.made("cuGraphInstantiateWithFlags", graph, ctypes.c_uint64(0))
    seen = []
    for order in ("eager", "lazy"):
        with eager_machine.order(order):
            driver.must("cuGraphLaunch", executable, origin)
            driver.must("cuMemcpyDtoHAsync_v2", out, pointer, ctypes.c_size_t(64), origin)
            driver.must("cuStreamSynchronize", origin)
            seen.append(out[0])
    assert seen == [2, 1]


def child(body):
    head = """
        import ctypes, os
        from dltensor.testing import hostcuda
        machine = hostcuda.load()
        driver = machine.library
    """
    script = textwrap.dedent(head) + textwrap.dedent(body)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)


def test_use_of_a_destroyed_stream_ends_the_process(machine):
    body = """
    with machine.context(0):
        stream = ctypes.c_void_p()
        driver.cuStreamCreate(ctypes.byref(stream), 1)
        assert driver.cuStreamDestroy_v2(stream) == 0
        machine.configure(dead_streams="error")
        assert driver.cuStreamQuery(stream) == 400
        machine.configure(dead_streams="abort")
        driver.cuStreamQuery(stream)
    """
    done = child(body)
    assert done.returncode == -6, done.stderr
    assert "hostcuda: cuStreamQuery of the stream" in done.stderr
    assert "which is destroyed" in done.stderr


def test_a_forked_child_has_no_driver(machine):
    body = """
    with machine.context(0):
        pid = os.fork()
        context = ctypes.c_void_p()
        if pid == 0:
            calls = [driver.cuStreamSynchronize(None), driver.cuInit(0), driver.cuCtxGetCurrent(ctypes.byref(context))]
            os._exit(0 if calls == [3, 3, 3] else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert driver.cuStreamSynchronize(None) == 0
    """
    done = child(body)
    assert done.returncode == 0, done.stderr


def test_blocks_run_in_every_order_once(machine):
    """Tickets of blocks: forwards, backwards, and by chance in orders that differ."""
    dl = pytest.importorskip("dltensor", reason="the package is not installed")
    source = "__global__ void take(int* out, unsigned* next) { out[atomicAdd(next, 1u)] = blockIdx.x; }"
    kernel, seen = dl.cuda.RawKernel(source, "take"), {}
    for order in ("eager", "lazy", "random:1", "random:2"):
        setup.clean(machine, order)
        out, following = dl.zeros((97,), dtype="int32", device="cuda"), dl.zeros((), dtype="uint32", device="cuda")
        kernel((97,), (1,), (out, following))
        seen[order] = out.tolist()
        setup.clean(machine, "eager")
    assert seen["eager"] == list(range(97))
    assert seen["lazy"] == list(range(96, -1, -1))
    for order in ("random:1", "random:2"):
        assert sorted(seen[order]) == list(range(97))
    assert len({tuple(order) for order in seen.values()}) == 4
