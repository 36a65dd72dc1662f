# SPDX-License-Identifier: Apache-2.0
"""Memory, streams and transfers of the CUDA engine on the host driver, in every order of streams."""

import ctypes
import faulthandler
import gc
import itertools
import threading

import numpy as np
import pytest


def fault():
    from cuda_engine_under_test import Fault

    return Fault


def test_the_host_cannot_read_device_memory(eager):
    """Otherwise a test that forgot a copy would pass."""
    import os

    x = eager.upload(np.arange(4, dtype="i4"))
    address = eager.c.shim_data(x.block)
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        ctypes.string_at(address, 4)
        os._exit(0)
    assert os.waitpid(child, 0)[1] & 127 == 11


def test_contexts_are_left_as_they_were(cuda, machine):
    assert machine.context_depth() == 0
    x = cuda.upload(np.ones(10, "f4"), device=1)
    cuda.run("negative", [x], "float32", out=cuda.empty((10,), "float32", device=1), stream=cuda.stream(1)).get()
    assert machine.context_depth() == 0


@pytest.mark.parametrize("count", [1, 1000, 3_000_001])
def test_data_makes_the_round_trip(cuda, count):
    a = np.arange(count, dtype="i8")
    np.testing.assert_array_equal(cuda.upload(a).get(), a)


def test_the_source_may_change_right_after_the_upload(cuda):
    a = np.arange(100_000, dtype="i4")
    x = cuda.empty(a.shape, a.dtype).put(a)
    want = a.copy()
    a[:] = -1
    np.testing.assert_array_equal(x.get(), want)


def test_strided_tensors_come_to_the_host_in_c_order(cuda):
    a = np.arange(240, dtype="i2").reshape(2, 10, 12)
    for view in (a.transpose(2, 0, 1), a[:, ::-2, 1::3], a[1, :, 5]):
        np.testing.assert_array_equal(cuda.upload(view).get(), view)


def test_a_pinned_result_is_complete_when_its_event_is(cuda):
    a = np.arange(5000, dtype="f4")
    x = cuda.run("square", [cuda.upload(a)], "float32")
    block, event = ctypes.c_void_p(), ctypes.c_void_p()
    flat = x.flat()
    cuda("to_pinned", ctypes.byref(flat), cuda.stream(), ctypes.byref(block), ctypes.byref(event))
    cuda("event_wait", 0, event)
    got = np.frombuffer((ctypes.c_char * a.nbytes).from_address(cuda.c.shim_data(block)), "f4").copy()
    kind, index = ctypes.c_int(), ctypes.c_int()
    cuda("pointer_device", ctypes.c_void_p(cuda.c.shim_data(block)), ctypes.byref(kind), ctypes.byref(index))
    assert (kind.value, index.value) == (3, 0)
    cuda.c.shim_event_destroy(0, event)
    cuda.c.shim_release(block)
    np.testing.assert_array_equal(got, a * a)


def test_a_transfer_that_fails_half_way_leaves_its_chunks_to_the_copy_under_way(cuda, machine):
    """Two chunks are under way when the third is refused: pinned memory must not be handed out before they are done."""
    size = 4 << 20
    x = cuda.upload(np.full(3 * size, 7, "u1"))
    block = ctypes.c_void_p()
    cuda("synchronize", cuda.stream())
    cuda.c.shim_empty_cache(-1)
    machine.fail("cuMemcpyDtoHAsync_v2", nth=2, error="CUDA_ERROR_INVALID_VALUE")
    with pytest.raises(fault(), match="cuMemcpyDtoHAsync"):
        x.get()
    machine.fail_no_more()
    cuda("allocate_pinned", 0, ctypes.c_size_t(size), ctypes.byref(block))
    ctypes.memset(cuda.c.shim_data(block), 9, size)
    cuda("synchronize", cuda.stream())
    assert set(ctypes.string_at(cuda.c.shim_data(block), size)) == {9}
    cuda.c.shim_release(block)
    x.release()
    cuda.c.shim_empty_cache(-1)


# ---- streams


def test_a_tensor_written_on_one_stream_is_right_on_another(cuda):
    home, other = cuda.new_stream(), cuda.new_stream()
    a = np.arange(1000, dtype="f4")
    x = cuda.upload(a, home)
    for _ in range(5):
        x = cuda.run("add", [x, 1.0], "float32", stream=home)
        y = cuda.run("multiply", [x, 2.0], "float32", stream=other)
        cuda.run("add", [y, 0.0], "float32", out=x, stream=home)
        a = (a + 1) * 2
    np.testing.assert_array_equal(x.get(other), a)
    for stream in (home, other):
        cuda("destroy_stream", stream)


def test_memory_is_not_reused_before_another_stream_has_read_it(cuda):
    """The block goes back to its home stream, whose next tensor gets it; the reader may be late."""
    home, reader = cuda.new_stream(), cuda.new_stream()
    for value in range(10):
        x = cuda.fill(value, cuda.empty((4096,), "int32", home), home)
        y = cuda.run("add", [x, 100], "int32", stream=reader)
        address = cuda.c.shim_data(x.block)
        x.release()
        z = cuda.empty((4096,), "int32", home)
        assert cuda.c.shim_data(z.block) == address
        cuda.fill(-1, z, home)
        assert set(y.get(reader)) == {value + 100}
        del y, z
    for stream in (home, reader):
        cuda("destroy_stream", stream)


def test_foreign_memory_goes_back_only_after_our_work_on_it(cuda, machine):
    stream = cuda.new_stream()
    x = cuda.upload(np.arange(256, dtype="f4"), stream)
    counter = ctypes.c_int(0)
    block = ctypes.c_void_p()
    cuda("adopt", ctypes.c_void_p(cuda.c.shim_data(x.block)), stream, ctypes.byref(counter), ctypes.byref(block))
    y = cuda.empty((256,), "float32", stream)
    flat = x.flat()
    flat.block = block
    y_flat = y.flat()
    cuda("copy", ctypes.byref(flat), ctypes.byref(y_flat), stream, None)
    cuda.c.shim_release(block)
    if machine.pending():
        assert counter.value in (0, 1)
    cuda("synchronize", stream)
    cuda.c.shim_empty_cache(-1)
    assert counter.value == 1
    np.testing.assert_array_equal(y.get(stream), np.arange(256, dtype="f4"))
    del x, y
    cuda("destroy_stream", stream)


def test_a_destroyed_streams_memory_outlives_it(cuda):
    stream = cuda.new_stream()
    x = cuda.fill(5, cuda.empty((100,), "int64", stream), stream)
    cuda("destroy_stream", stream)
    assert set(x.get()) == {5}
    y = cuda.run("add", [x, 1], "int64")
    del x
    assert set(y.get()) == {6}


def test_threads_with_their_own_streams(cuda):
    failures = []

    def work(seed):
        try:
            stream = cuda.new_stream()
            a = np.random.default_rng(seed).integers(0, 99, 257, dtype="i4")
            x = cuda.upload(a, stream)
            for k in range(30):
                x = cuda.run("add", [x, k], "int32", stream=stream)
                a = a + k
            np.testing.assert_array_equal(x.get(stream), a)
            del x
            cuda("destroy_stream", stream)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def test_threads_that_share_a_stream(cuda):
    """Its lock is owned by the first thread until others come: no idle memory is lost or handed out twice."""
    stream, failures = cuda.new_stream(), []
    held = cuda.upload(np.arange(257, dtype="i4"), stream)  # this thread is the first
    start = threading.Barrier(4)

    def work(seed):
        try:
            a = np.arange(257, dtype="i4") * seed
            start.wait(60)
            for k in range(60):
                x = cuda.upload(a, stream)
                y = cuda.run("add", [x, k], "int32", stream=stream)
                x.release()
                z = cuda.run("add", [y, held], "int32", stream=stream)
                if k % 20 == 0:
                    np.testing.assert_array_equal(z.get(stream), a + k + np.arange(257))
                y.release(), z.release()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 4)]
    before = cuda.usage()
    for thread in threads:
        thread.start()
    work(0)
    for thread in threads:
        thread.join()
    assert not failures, failures
    after = cuda.usage()
    assert (after.live_blocks, after.live_bytes) == (before.live_blocks, before.live_bytes)
    held.release()
    cuda("destroy_stream", stream)
    cuda.c.shim_empty_cache(-1)
    assert cuda.usage().cached_bytes == 0


# ---- the cache


def test_small_results_cost_no_driver_allocation(eager):
    x = eager.upload(np.ones(100, "f4"))
    for _ in range(3):
        eager.run("negative", [x], "float32")
    before = eager.usage().driver_allocations
    for _ in range(100):
        eager.run("negative", [x], "float32")
    assert eager.usage().driver_allocations == before


def test_empty_cache_gives_everything_idle_back(eager, machine):
    eager.c.shim_empty_cache(-1)
    x = eager.empty((1 << 16,), "float32")
    live = machine.statistics().live_bytes
    x.release()
    assert machine.statistics().live_bytes == live
    assert eager.c.shim_empty_cache(0) >= 1 << 18
    assert machine.statistics().live_bytes <= live - (1 << 18)
    assert eager.usage().cached_bytes == 0


def test_a_cache_limit_is_kept(eager):
    eager.c.shim_empty_cache(-1)
    eager.c.shim_set_cache_limit(ctypes.c_size_t(4096))
    try:
        tensors = [eager.empty((1024,), "uint8") for _ in range(10)]
        del tensors
        gc.collect()
        assert eager.usage().cached_bytes <= 4096
    finally:
        eager.c.shim_set_cache_limit(ctypes.c_size_t(2**64 - 1))


def test_idle_memory_is_given_up_before_an_allocation_fails(eager, machine):
    eager.c.shim_empty_cache(-1)
    machine.configure(memory=machine.statistics().live_bytes + (64 << 20))
    try:
        x = eager.empty((40 << 20,), "uint8")
        x.release()
        y = eager.empty((55 << 20,), "uint8")  # only fits when the idle 40 MiB are given back
        with pytest.raises(fault(), match=r"memory: allocate: expected 41943040 bytes on cuda:0.*free tensors"):
            eager.empty((40 << 20,), "uint8")
        del y
    finally:
        machine.configure(memory=16 << 30)


MIB = 1 << 20


def test_large_memory_is_rounded_to_two_mebibytes(eager, machine):
    eager.c.shim_empty_cache(-1)
    live = machine.statistics().live_bytes
    x = eager.empty((33 * MIB,), "uint8")
    assert machine.statistics().live_bytes - live == 34 * MIB
    x.release()
    eager.c.shim_empty_cache(-1)


def test_a_large_tensor_that_fits_exactly_is_allocated(eager, machine):
    """There is room for three of them, and for less than their rounded sizes."""
    eager.c.shim_empty_cache(-1)
    machine.configure(memory=machine.statistics().live_bytes + 101 * MIB)
    try:
        tensors = [eager.empty((33 * MIB,), "uint8") for _ in range(3)]
        while tensors:
            tensors.pop().release()
        eager.c.shim_empty_cache(-1)
    finally:
        machine.configure(memory=16 << 30)


def test_large_idle_memory_serves_requests_of_up_to_a_fifth_less(eager):
    eager.c.shim_empty_cache(-1)
    tensors = [eager.empty((size * MIB,), "uint8") for size in (44, 40, 42)]
    addresses = [eager.c.shim_data(t.block) for t in tensors]
    while tensors:
        tensors.pop().release()
    before = eager.usage().driver_allocations
    tensors = [eager.empty((size * MIB,), "uint8") for size in (36, 38, 40)]
    assert [eager.c.shim_data(t.block) for t in tensors] == [addresses[1], addresses[2], addresses[0]]
    assert eager.usage().driver_allocations == before
    while tensors:
        tensors.pop().release()
    x = eager.empty((31 * MIB,), "uint8")
    assert eager.usage().driver_allocations == before + 1
    x.release()
    eager.c.shim_empty_cache(-1)


def test_the_peak_is_that_of_all_streams_together(cuda):
    streams = [cuda.new_stream() for _ in range(4)]
    cuda("reset_peak", 0)
    start = cuda.usage().live_bytes
    for _ in range(3):
        for stream in streams:
            cuda.empty((MIB,), "uint8", stream).release()
    assert cuda.usage().peak_bytes == start + MIB
    tensors = [cuda.empty((MIB,), "uint8", stream) for stream in streams[:3]]
    assert cuda.usage().peak_bytes == start + 3 * MIB
    while tensors:
        tensors.pop().release()
    for stream in streams:
        cuda.empty((2 * MIB,), "uint8", stream).release()
    assert cuda.usage().peak_bytes == start + 3 * MIB
    cuda("reset_peak", 0)
    assert cuda.usage().peak_bytes == start
    for stream in streams:
        cuda("destroy_stream", stream)


def test_the_peak_of_random_allocations_is_the_largest_sum(eager):
    rng, streams, live, most = np.random.default_rng(7), [eager.new_stream() for _ in range(3)], [], 0
    eager("reset_peak", 0)
    start = eager.usage().live_bytes
    for _ in range(3000):
        if live and rng.random() < 0.5:
            live.pop(rng.integers(len(live))).release()
        else:
            live.append(eager.empty((int(rng.integers(1, 5000)),), "uint8", streams[rng.integers(3)]))
        most = max(most, sum(x.shape[0] for x in live))
    assert eager.usage().peak_bytes == start + most
    while live:
        live.pop().release()
    for stream in streams:
        eager("destroy_stream", stream)


def test_every_driver_call_of_an_operation_may_fail(eager, machine):
    """Fails the first, the second, ... call; state stays sound and the operation works afterwards."""
    a = np.arange(3000, dtype="f4").reshape(30, 100)
    x = eager.upload(a)
    eager.run("add", [x, x], "float32")
    live = eager.usage().live_blocks
    refusals = []
    for nth in range(1, 40):
        machine.fail("*", nth=nth, error="CUDA_ERROR_INVALID_VALUE")
        try:
            y = eager.run("add", [x.view((100, 30), (1, 100)), 1.0], "float32")
            y.get()
        except fault() as error:
            refusals.append((error.kind, "CUDA_ERROR_INVALID" in str(error)))
        machine.fail_no_more()
        y = None
        gc.collect()
        assert eager.usage().live_blocks == live
    assert len(refusals) > 3
    assert set(refusals) == {("device", True)}
    np.testing.assert_array_equal(eager.run("add", [x, x], "float32").get(), a + a)


def need_two_devices(cuda):
    try:
        cuda.stream(1)
    except fault() as error:
        pytest.skip(f"needs two devices: {error}")


def test_copies_between_devices(cuda):
    need_two_devices(cuda)
    a = np.arange(600, dtype="i4").reshape(20, 30)
    x = cuda.upload(a, device=0)
    y = cuda.empty((20, 30), "int32", device=1)
    cuda.copy(x, y, stream=cuda.stream(1))
    np.testing.assert_array_equal(y.get(), a)
    z = cuda.empty((30, 20), "int32", device=1)
    cuda.copy(x.view((30, 20), (1, 30)), z, stream=cuda.stream(1))
    np.testing.assert_array_equal(z.get(), a.T)
    w = cuda.upload(np.zeros((20, 60), "i4"), device=1)
    cuda.copy(x, w.view((20, 30), (60, 2)), stream=cuda.stream(1))
    np.testing.assert_array_equal(w.get()[:, ::2], a)
    assert not w.get()[:, 1::2].any()


def test_shared_memory_is_made_accessible_at_the_first_use_by_another_device(eager, machine):
    """Peer access of contexts does not cover it."""
    need_two_devices(eager)
    there, block, exported = eager.new_stream(1), ctypes.c_void_p(), ctypes.c_void_p()
    eager("allocate_shared", eager.stream(), ctypes.c_size_t(100), ctypes.byref(block))
    assert eager.usage().shared_bytes == 2 << 20
    machine.fail("cuMemSetAccess", error="CUDA_ERROR_NOT_SUPPORTED")
    with pytest.raises(fault(), match="cuMemSetAccess"):
        eager("export_to", block, there, ctypes.byref(exported))
    eager("export_to", block, there, ctypes.byref(exported))
    machine.fail("cuMemSetAccess", error="CUDA_ERROR_NOT_SUPPORTED")
    eager("export_to", block, there, ctypes.byref(exported))
    machine.fail_no_more()
    eager("destroy_stream", there)
    eager.c.shim_release(block)
    assert eager.usage().shared_bytes == 0


def test_events_of_a_device_stay_with_it(cuda):
    """Pinned memory of one device that another one still reads at its release: the event behind that is the other's."""
    need_two_devices(cuda)
    a = np.arange(256, dtype="f4")
    there, block = cuda.new_stream(1), ctypes.c_void_p()
    cuda("allocate_pinned", 0, a.nbytes, ctypes.byref(block))
    ctypes.memmove(cuda.c.shim_data(block), a.ctypes.data, a.nbytes)
    y = cuda.empty((256,), "float32", there, device=1)
    flat, y_flat = y.flat(), y.flat()
    flat.block = block
    cuda("copy", ctypes.byref(flat), ctypes.byref(y_flat), there, None)
    cuda.c.shim_release(block)
    cuda("synchronize", there)
    cuda.c.shim_empty_cache(-1)
    # The next events of the first device are its own: those of another one cannot be recorded there.
    streams, x = [cuda.new_stream(0) for _ in range(4)], cuda.upload(a)
    for one, other in itertools.pairwise(streams):
        x = cuda.run("add", [x, 1.0], "float32", stream=one)
        x = cuda.run("add", [x, 1.0], "float32", stream=other)
    np.testing.assert_array_equal(x.get(streams[-1]), a + 6)
    np.testing.assert_array_equal(y.get(there), a)
    del x, y
    for each in (there, *streams):
        cuda("destroy_stream", each)


# ---- graphs


def begin(machine, cuda, stream):
    context = ctypes.c_void_p()
    assert machine.library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert machine.library.cuCtxPushCurrent_v2(context) == 0
    assert machine.library.cuStreamBeginCapture_v2(ctypes.c_void_p(cuda.c.shim_handle(stream)), 0) == 0


def end(machine, cuda, stream):
    graph = ctypes.c_void_p()
    result = machine.library.cuStreamEndCapture(ctypes.c_void_p(cuda.c.shim_handle(stream)), ctypes.byref(graph))
    return result, graph


def finish(machine):
    assert machine.library.cuCtxPopCurrent_v2(None) == 0
    assert machine.library.cuDevicePrimaryCtxRelease_v2(0) == 0


def test_a_captured_chain_replays_and_its_memory_is_its_own(cuda, machine):
    stream = cuda.new_stream()
    x = cuda.upload(np.arange(500, dtype="f4"), stream)
    out = cuda.empty((500,), "float32", stream)
    cuda.run("add", [x, 1.0], "float32", stream=stream, out=out)  # compiled before the capture
    cuda("synchronize", stream)
    begin(machine, cuda, stream)
    t = cuda.run("add", [x, 1.0], "float32", stream=stream)
    u = cuda.run("add", [t, 2.0], "float32", stream=stream)
    cuda.run("add", [u, 3.0], "float32", stream=stream, out=out)
    t.release(), u.release()
    result, graph = end(machine, cuda, stream)
    assert result == 0
    executable = ctypes.c_void_p()
    assert machine.library.cuGraphInstantiateWithFlags(ctypes.byref(executable), graph, ctypes.c_uint64(0)) == 0
    # Eager tensors made now must not get the temporaries' memory.
    others = [cuda.fill(-1.0, cuda.empty((500,), "float32", stream), stream) for _ in range(4)]
    assert machine.library.cuGraphLaunch(executable, ctypes.c_void_p(cuda.c.shim_handle(stream))) == 0
    np.testing.assert_array_equal(out.get(stream), np.arange(500, dtype="f4") + 6)
    for other in others:
        assert set(other.get(stream)) == {-1}
    assert cuda.usage().captured_bytes > 0
    assert machine.library.cuGraphDestroy(graph) == 0
    assert cuda.usage().captured_bytes > 0
    assert machine.library.cuGraphExecDestroy(executable) == 0
    assert cuda.end_of_graphs() == 0
    finish(machine)
    del others, other, x, out, t, u
    cuda("destroy_stream", stream)


def test_reading_in_a_capture_is_refused_and_spoils_nothing(cuda, machine):
    stream = cuda.new_stream()
    x = cuda.upload(np.arange(50, dtype="f4"), stream)
    out = cuda.run("negative", [x], "float32", stream=stream)
    begin(machine, cuda, stream)
    cuda.run("negative", [x], "float32", stream=stream, out=out)
    with pytest.raises(fault(), match="buffer: to_host: a CUDA graph is being captured"):
        x.get(stream)
    result, graph = end(machine, cuda, stream)
    assert result == 0
    assert machine.library.cuGraphDestroy(graph) == 0
    finish(machine)
    del x, out
    cuda("destroy_stream", stream)


def test_work_beside_a_capture_goes_on_and_spoils_nothing(cuda, machine):
    """By default the driver rejects queries and waits of every thread while any stream is captured."""
    stream, other = cuda.new_stream(), cuda.new_stream()
    x = cuda.upload(np.arange(50, dtype="f4"), stream)
    out = cuda.run("negative", [x], "float32", stream=stream)
    far = cuda.upload(np.arange(5000, dtype="f4"), other)
    cuda.upload(np.ones(300, "f4"), other).release()  # leaves pinned memory behind whose event must be asked for
    counter, block = ctypes.c_int(0), ctypes.c_void_p()
    cuda("adopt", ctypes.c_void_p(cuda.c.shim_data(far.block)), other, ctypes.byref(counter), ctypes.byref(block))
    begin(machine, cuda, stream)
    cuda.run("negative", [x], "float32", stream=stream, out=out)
    np.testing.assert_array_equal(far.get(other), np.arange(5000, dtype="f4"))
    cuda("synchronize", other)
    cuda.c.shim_release(block)  # foreign memory: its streams are asked
    near = cuda.upload(np.ones(700, "f4"), other)
    result, graph = end(machine, cuda, stream)
    assert result == 0
    assert machine.library.cuGraphDestroy(graph) == 0
    finish(machine)
    assert set(near.get(other)) == {1}
    del x, out, far, near
    for each in (stream, other):
        cuda("destroy_stream", each)
    cuda.c.shim_empty_cache(-1)
    assert counter.value == 1


def test_memory_of_an_old_graph_comes_back_during_the_next_capture(cuda, machine):
    from cuda_engine_under_test import relaxed

    stream, second = cuda.new_stream(), cuda.new_stream()
    x = cuda.upload(np.arange(500, dtype="f4"), stream)
    out = cuda.run("add", [x, 1.0], "float32", stream=stream)
    cuda("synchronize", stream)
    begin(machine, cuda, stream)
    t = cuda.run("add", [x, 1.0], "float32", stream=stream)
    cuda.run("add", [t, 1.0], "float32", stream=stream, out=out)
    t.release()
    result, old = end(machine, cuda, stream)
    assert result == 0
    executable = ctypes.c_void_p()
    assert machine.library.cuGraphInstantiateWithFlags(ctypes.byref(executable), old, ctypes.c_uint64(0)) == 0
    assert machine.library.cuGraphLaunch(executable, ctypes.c_void_p(cuda.c.shim_handle(stream))) == 0
    finish(machine)
    begin(machine, cuda, second)
    with relaxed(machine.library):
        assert machine.library.cuGraphExecDestroy(executable) == 0
        assert machine.library.cuGraphDestroy(old) == 0
    y = cuda.upload(np.ones(100000, "f4"), stream)  # asks the driver, so that what is over is looked through
    result, graph = end(machine, cuda, second)
    assert result == 0
    assert machine.library.cuGraphDestroy(graph) == 0
    np.testing.assert_array_equal(out.get(stream), np.arange(500, dtype="f4") + 2)
    assert cuda.end_of_graphs() == 0
    finish(machine)
    del x, y, out, t
    for each in (stream, second):
        cuda("destroy_stream", each)


def test_a_captured_product_has_a_workspace_that_lasts_as_its_graph(cuda, machine):
    stream = cuda.new_stream()
    a = cuda.upload(np.eye(8, dtype="f4"), stream)
    out = cuda.empty((8, 8), "float32", stream)
    cuda.gemm(a, a, out, stream=stream)
    cuda("synchronize", stream)
    begin(machine, cuda, stream)
    cuda.gemm(a, a, out, 2.0, stream=stream)
    result, graph = end(machine, cuda, stream)
    assert result == 0
    executable = ctypes.c_void_p()
    assert machine.library.cuGraphInstantiateWithFlags(ctypes.byref(executable), graph, ctypes.c_uint64(0)) == 0
    cuda("destroy_stream", stream)
    other = cuda.new_stream()
    # The memory of the stream's own workspace is in use elsewhere now.
    size = 32 << 18
    taken = [cuda.fill(7.0, cuda.empty((size,), "float32", other), other) for _ in range(2)]
    for _ in range(2):
        assert machine.library.cuGraphLaunch(executable, ctypes.c_void_p(cuda.c.shim_handle(other))) == 0
    cuda("synchronize", other)
    np.testing.assert_array_equal(out.get(other), 2 * np.eye(8, dtype="f4"))
    for each in taken:
        assert set(each.get(other)) == {7}
    assert machine.library.cuGraphExecDestroy(executable) == 0
    assert machine.library.cuGraphDestroy(graph) == 0
    finish(machine)
    assert cuda.end_of_graphs() == 0
    del a, out, taken, each
    cuda("destroy_stream", other)


def test_a_large_fill_reaches_past_two_to_the_31(eager):
    """More than 2^31 elements, by 64-bit indices; read back at both ends only."""
    count = 2**31 + 37
    x = eager.empty((count,), "uint8")
    eager.fill(3, x)
    rest = x.view((count - 16,), (1,), 16)
    eager.run("add", [rest, 4], "uint8", out=rest)
    assert x.view((40,), (1,), 0).get().tolist() == [3] * 16 + [7] * 24
    assert set(x.view((40,), (1,), count - 40).get()) == {7}
    x.release()
    eager.c.shim_empty_cache(-1)
