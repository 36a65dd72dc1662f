# SPDX-License-Identifier: Apache-2.0
"""Graphs by `dl.cuda.Graph` and `dl.cuda.graph`, in every order of streams."""

import contextlib
import ctypes
import gc
import threading

import numpy as np
import pytest
from test_tensor_cuda import live_blocks, machine_order  # noqa: F401  a fixture

import dltensor as dl

cuda = dl.cuda
pytestmark = pytest.mark.usefixtures("loaded", "machine_order")


def on_device(*values):
    return dl.asarray(values, dtype="float32").to("cuda")


def captured_bytes():
    live_blocks()
    return cuda.memory_stats()["captured_bytes"]


def test_a_launch_repeats_the_work_with_the_values_of_then():
    x = on_device(1, 2, 3)
    graph = cuda.Graph()
    with graph.capture() as stream:
        assert (stream.is_capturing, cuda.current_stream()) == (True, stream)
        y = x * 2 + 1
    assert (stream.is_capturing, cuda.current_stream().handle) == (False, 0)
    graph.launch()
    assert y.tolist() == [3, 5, 7]
    x[:] = on_device(10, 20, 30)  # on the default stream, which the launch waits for
    graph.launch()
    assert y.tolist() == [21, 41, 61]
    assert repr(graph) == "<dl.cuda.Graph cuda:0 captured>"


def test_launches_on_several_streams_are_ordered_as_operations_are():
    x, total = dl.zeros(1000, device="cuda"), dl.zeros(1000, device="cuda")
    graph, streams = cuda.Graph(), [cuda.Stream() for _ in range(3)]
    with graph.capture():
        y = x + 1
        dl.add(total, y, out=total)
    for turn in range(12):
        with streams[turn % 3]:
            x[:] = float(turn)
        graph.launch(streams[(turn + 1) % 3])
        with streams[(turn + 2) % 3]:
            assert set((y + 0).tolist()) == {turn + 1}
    assert set(total.tolist()) == {78}


def test_a_reader_on_another_stream_is_done_before_the_next_launch():
    x = dl.zeros(1000, device="cuda")
    graph, reader = cuda.Graph(), cuda.Stream()
    with graph.capture():
        y = x + 1
    copies = []
    for turn in range(4):
        x[:] = float(turn)
        graph.launch()
        with reader:
            copies.append(y.copy())
    assert [each.item(999) for each in copies] == [1, 2, 3, 4]


def test_the_graph_keeps_alive_what_it_reads_and_its_results_outlive_it():
    x = on_device(*range(1000))
    with cuda.Stream() as stream:  # the only user of z is the captured stream
        z = dl.ones(1000, device="cuda")
        graph = cuda.Graph()
        with graph.capture(stream):
            y = x + z
        del x, z
        other = [dl.full(1000, -7.0, device="cuda") for _ in range(4)]  # would reuse the memory
    graph.launch(stream)
    assert y.tolist() == list(range(1, 1001))
    graph.release()
    del graph, other
    gc.collect()
    assert y.item(999) == 1000
    assert captured_bytes() > 0
    del y
    assert captured_bytes() == 0


def test_a_tensor_of_one_graph_is_used_in_another():
    x = on_device(1, 2)
    first, second = cuda.Graph(), cuda.Graph()
    with first.capture():
        y = x + 1
    with second.capture():
        z = y * 10
    del y
    first.launch()
    second.launch(cuda.Stream())
    assert z.tolist() == [20, 30]
    first.release()
    second.launch()
    assert z.tolist() == [20, 30]


def test_nested_captures_are_two_graphs():
    x = on_device(1, 2)
    outer, inner = cuda.Graph(), cuda.Graph()
    with outer.capture() as stream:
        y = x + 1
        with inner.capture():
            z = x + 2
        assert cuda.current_stream() == stream
        y = y + 1
        with pytest.raises(BufferError, match=r"capture: another CUDA graph is being captured on this stream"):
            cuda.Graph().capture(stream).__enter__()
        with pytest.raises(BufferError, match=r"launch: a CUDA graph is being captured on this stream"):
            inner.launch()
    outer.launch(), inner.launch()
    assert (y.tolist(), z.tolist()) == ([3, 4], [3, 4])


def test_a_stream_that_joins_by_an_event_is_a_part_of_the_graph():
    x, side = on_device(1, 2), cuda.Stream()
    with side:
        held = dl.ones(2, device="cuda")  # which the side stream alone uses
    graph = cuda.Graph()
    with graph.capture() as stream:
        y = x + 1
        side.wait(stream.record())
        with side:
            z = y + held
        stream.wait(side.record())
        total = y + z
    del held
    with side:
        other = [dl.full(2, -7.0, device="cuda") for _ in range(4)]
    graph.launch()
    assert total.tolist() == [5, 7]
    del other


def capture(graph, stream, body):
    with graph.capture(stream):
        return body()


def test_an_unjoined_stream_ends_the_capture_with_the_remedy():
    x, side, stream, graph = on_device(1, 2), cuda.Stream(), cuda.Stream(), cuda.Graph()

    def fork():
        side.wait(stream.record())
        with side:
            x + 1

    with pytest.raises(
        BufferError, match=r"capture: work on another stream, which the captured stream does not wait for"
    ):
        capture(graph, stream, fork)
    y = capture(graph, side, lambda: x + 1)
    graph.launch()
    assert y.tolist() == [2, 3]


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
def test_an_exception_in_the_block_ends_the_capture_and_loses_nothing(error):
    x, stream, graph, kept = on_device(1, 2), cuda.Stream(), cuda.Graph(), []
    live = live_blocks()

    def fail():
        kept.append(x + 1)
        raise error

    with pytest.raises(error):
        capture(graph, stream, fail)
    assert (stream.is_capturing, cuda.current_stream().handle) == (False, 0)
    kept.clear()
    assert (live_blocks(), captured_bytes()) == (live, 0)
    y = capture(graph, stream, lambda: x + 5)
    graph.launch(stream)
    with stream:
        assert (y + 1).tolist() == [7, 8]


def test_a_call_that_waits_leaves_the_capture_whole():
    x, graph = on_device(1, 2), cuda.Graph()
    with graph.capture():
        y = x + 1
        with pytest.raises(BufferError, match=r"a CUDA graph is being captured on this stream"):
            y.tolist()
        y = y + 1
    graph.launch()
    assert y.tolist() == [3, 4]


def test_a_capture_that_another_library_spoils_is_reported(machine_order):  # noqa: F811
    if machine_order is None:
        pytest.skip("needs the host driver")
    x, graph, stream = on_device(1, 2), cuda.Graph(), cuda.Stream()
    library, context = machine_order.library, ctypes.c_void_p()

    def spoil():
        assert library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert library.cuCtxPushCurrent_v2(context) == 0
        assert library.cuStreamQuery(ctypes.c_void_p(stream.handle)) != 0
        assert library.cuCtxPopCurrent_v2(ctypes.byref(context)) == 0
        assert library.cuDevicePrimaryCtxRelease_v2(0) == 0

    with pytest.raises(BufferError, match=r"capture: a call in the block cannot be captured, and the capture is lost"):
        capture(graph, stream, spoil)
    y = capture(graph, stream, lambda: x + 1)
    graph.launch()
    assert y.tolist() == [2, 3]


@pytest.mark.parametrize("call", ["cuStreamBeginCapture_v2", "cuGraphInstantiateWithFlags", "cuGraphLaunch"])
def test_a_failed_call_of_the_driver_leaves_a_graph_that_can_be_used(machine_order, call):  # noqa: F811
    if machine_order is None:
        pytest.skip("needs the host driver")
    x, graph, stream = on_device(1, 2), cuda.Graph(), cuda.Stream()

    def use():
        capture(graph, stream, lambda: x + 1)
        graph.launch()

    machine_order.fail(call, error="CUDA_ERROR_INVALID_VALUE")
    with pytest.raises(dl.DeviceError, match=call):
        use()
    machine_order.fail_no_more()
    if call == "cuGraphLaunch":
        graph.launch()
    else:
        use()


def test_states_in_which_a_graph_cannot_be_used():
    x, graph = on_device(1, 2), cuda.Graph()
    with pytest.raises(ValueError, match=r"Graph.launch: expected a captured graph, this one is empty"):
        graph.launch()
    with graph.capture():
        y = x + 1
        with pytest.raises(ValueError, match=r"Graph.launch: expected a captured graph, this one is being captured"):
            graph.launch()
        with pytest.raises(ValueError, match=r"Graph.capture: expected an empty graph, this one is being captured"):
            graph.capture().__enter__()
        with pytest.raises(ValueError, match=r"Graph.release: the graph is being captured"):
            graph.release()
    with pytest.raises(ValueError, match=r"Graph.capture: expected an empty graph, this one is captured"):
        graph.capture().__enter__()
    graph.release()
    graph.release()
    with pytest.raises(ValueError, match=r"Graph.launch: expected a captured graph, this one is released"):
        graph.launch()
    del y


def test_streams_that_cannot_be_used():
    graph = cuda.Graph()
    with pytest.raises(ValueError, match=r"capture: the legacy default stream cannot be captured"):
        graph.capture(cuda.current_stream()).__enter__()
    with pytest.raises(TypeError, match=r"expected an int or an object with __cuda_stream__, got str"):
        graph.capture("a").__enter__()
    with pytest.raises(TypeError, match=r"Graph.launch: expected a dltensor.cuda.Stream, got int"):
        graph.launch(3)
    if cuda.device_count() > 1:
        with pytest.raises(ValueError, match=r"Graph.capture: expected a stream of cuda:0, got one of cuda:1"):
            graph.capture(cuda.Stream(1)).__enter__()


def test_a_graph_of_the_second_device():
    if cuda.device_count() < 2:
        pytest.skip("needs two devices")
    x = dl.asarray([1.0, 2.0]).to("cuda:1")
    graph = cuda.Graph(1)
    with graph.capture():
        y = x + 1
    graph.launch()
    assert y.tolist() == [2, 3]
    with pytest.raises(ValueError, match=r"Graph.launch: expected a stream of cuda:1, got one of cuda:0"):
        graph.launch(cuda.Stream(0))


def test_threads_launch_one_graph_and_capture_their_own():
    total, failures = dl.zeros(100, device="cuda"), []
    shared = cuda.Graph()
    with shared.capture():
        dl.add(total, 1.0, out=total)
    barrier = threading.Barrier(4)

    def work(number):
        with contextlib.ExitStack() as stack:
            try:
                barrier.wait()
                x = on_device(number)
                for _ in range(10):
                    shared.launch()
                    own = cuda.Graph()
                    with own.capture():
                        y = x + 1
                    own.launch()
                    assert y.item() == number + 1
            except BaseException as error:
                failures.append(error)
            stack.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failures == []
    assert set(total.tolist()) == {40}


# ---- dl.cuda.graph


def test_a_function_is_captured_once_for_each_signature():
    calls = []

    @cuda.graph
    def step(x, y, scale=1.0):
        """Add."""
        calls.append(x.shape)
        return x * scale + y

    assert (step.__name__, step.__doc__) == ("step", "Add.")
    x, y = on_device(1, 2), on_device(10, 20)
    first, second = step(x, y), step(y, y)
    assert (first.tolist(), second.tolist()) == ([11, 22], [20, 40])
    assert len(calls) == 2  # warmed up, and captured
    assert step(x, y, scale=2.0).tolist() == [12, 24]
    assert step(on_device(1), on_device(2)).tolist() == [3]
    assert step(x.astype("int32"), y.astype("int32"), 2).tolist() == [12, 24]
    assert len(calls) == 8
    assert step(x, y).tolist() == [11, 22]
    assert len(calls) == 8


def test_arguments_and_results_in_containers_and_of_other_frameworks():
    class Foreign:
        def __init__(self, t):
            self.__cuda_array_interface__ = t.__cuda_array_interface__

    @cuda.graph(warmup=0)
    def step(pair, options):
        x, y = pair
        return {"sum": x + y, "parts": [x, (y, options["name"])], "none": None}

    x, y = on_device(1, 2), on_device(10, 20)
    for _ in range(2):
        found = step((x, Foreign(y)), {"name": "a"})
        assert found["sum"].tolist() == [11, 22]
        assert [found["parts"][0].tolist(), found["parts"][1][0].tolist()] == [[1, 2], [10, 20]]
        assert (found["parts"][1][1], found["none"]) == ("a", None)


def test_results_without_copies_have_the_values_of_the_last_call():
    step = cuda.graph(lambda x: x + 1, copy_results=False)
    first = step(on_device(1, 2))
    second = step(on_device(5, 6))
    assert first.same_memory(second)
    assert first.tolist() == [6, 7]


def test_tensors_that_are_no_arguments_are_read_at_each_call():
    weight = on_device(1, 2)
    step = cuda.graph(lambda x: x * weight)
    assert step(on_device(3, 4)).tolist() == [3, 8]
    weight[:] = on_device(10, 10)
    assert step(on_device(3, 4)).tolist() == [30, 40]


def test_the_graph_used_least_recently_is_released():
    calls = []

    def add(x, n):
        calls.append(n)
        return x + n

    step, x = cuda.graph(add, warmup=0, max_graphs=2), on_device(1)
    assert [step(x, n).item() for n in (1, 2, 1, 3, 1, 2)] == [2, 3, 2, 4, 2, 3]
    assert calls == [1, 2, 3, 2]
    assert repr(step).endswith("2 captured>")
    step.release()
    assert captured_bytes() == 0
    assert step(x, 1).item() == 2


def test_a_captured_function_in_a_capture_becomes_a_part_of_it():
    inner = cuda.graph(lambda x: x + 1)
    outer = cuda.graph(lambda x: inner(x) * 2)
    assert outer(on_device(1, 2)).tolist() == [4, 6]
    assert outer(on_device(3, 4)).tolist() == [8, 10]
    graph, x = cuda.Graph(), on_device(5)
    with graph.capture():
        y = inner(x)
    graph.launch()
    assert y.tolist() == [6]


def test_functions_and_arguments_that_are_refused():
    step, x = cuda.graph(lambda x, y: x + 1), on_device(1, 2)
    with pytest.raises(ValueError, match=r'graph: expected tensors on cuda:0, got one on cpu; pass t.to\("cuda:0"\)'):
        step(np.ones(2, "f4"), None)
    with pytest.raises(TypeError, match=r"graph: arguments must be tensors or hashable values, got set"):
        step(x, {1})
    with pytest.raises(TypeError, match=r"graph: expected a function, got int"):
        cuda.graph(3)
    with pytest.raises(ValueError, match=r"graph: warmup must be at least 0, got -1"):
        cuda.graph(len, warmup=-1)
    with pytest.raises(ValueError, match=r"graph: max_graphs must be at least 1, got 0"):
        cuda.graph(len, max_graphs=0)
    with pytest.raises(ValueError, match=r"graph: the function writes to tensor 1 of its arguments"):
        cuda.graph(lambda x, out: dl.add(x, 1.0, out=out))(x, on_device(0, 0))
    with pytest.raises(BufferError, match=r"a CUDA graph is being captured on this stream"):
        cuda.graph(lambda x: x + x.item(0))(x)
    with pytest.raises(KeyError):
        cuda.graph(lambda x: {}[x.shape])(x)
    assert not cuda.current_stream().is_capturing
    assert step(x, None).tolist() == [2, 3]


def test_threads_share_a_captured_function():
    step, found = cuda.graph(lambda x: x * 2 + 1), {}
    barrier = threading.Barrier(4)

    def work(number):
        barrier.wait()
        with cuda.Stream():
            found[number] = [step(on_device(number, turn)).tolist() for turn in range(8)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == {n: [[2 * n + 1, 2 * turn + 1] for turn in range(8)] for n in range(4)}
