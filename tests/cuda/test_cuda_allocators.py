# SPDX-License-Identifier: Apache-2.0
"""Device memory of other libraries, and for them: `set_allocator`, `torch_allocator` and `on_out_of_memory`."""

import ctypes
import gc
import sys
import threading

import pytest
from test_tensor_cuda import live_blocks, machine_order  # noqa: F401  a fixture

import dltensor as dl

cuda = dl.cuda
pytestmark = pytest.mark.usefixtures("loaded", "machine_order")


class Pool:
    """An allocator over functions of the driver, which counts."""

    def __init__(self, machine):
        self.library, self.live, self.calls, self.error = machine.library, {}, [], None

    def allocate(self, size, device, stream):
        self.calls.append((size, device, stream))
        if self.error:
            raise self.error
        pointer = ctypes.c_uint64()
        assert self.library.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0
        self.live[pointer.value] = size, device
        return pointer.value

    def free(self, pointer, size, device, stream):
        assert self.live.pop(pointer) == (size, device)
        # Not ordered by streams: work with the memory ends first.
        assert self.library.cuStreamSynchronize(ctypes.c_void_p(stream)) == 0
        assert self.library.cuMemFree_v2(ctypes.c_uint64(pointer)) == 0


@pytest.fixture
def pool(machine_order):  # noqa: F811
    if machine_order is None:
        pytest.skip("needs the host driver")
    pool = Pool(machine_order)
    cuda.set_allocator(pool.allocate, pool.free)
    yield pool
    pool.error = None
    cuda.set_allocator()
    live_blocks()
    assert pool.live == {}, "memory did not come back"


def test_memory_comes_from_the_allocator_and_goes_back_at_once(pool):
    x = dl.arange(1000, device="cuda")
    assert x.data_ptr in pool.live
    assert (x + 1).item(999) == 1000
    gc.collect()
    assert list(pool.live) == [x.data_ptr]
    assert cuda.memory_stats()["cached_bytes"] == 0
    del x
    assert pool.live == {}


def test_memory_is_freed_by_the_allocator_that_gave_it(pool, machine_order):  # noqa: F811
    other = Pool(machine_order)
    first = dl.ones(1000, device="cuda")
    cuda.set_allocator(other.allocate, other.free)
    second = dl.ones(1000, device="cuda")
    cuda.set_allocator()
    third = dl.ones(1000, device="cuda")
    assert (len(pool.live), len(other.live)) == (1, 1)
    assert third.data_ptr not in pool.live | other.live
    total = first + second + third
    del first, second
    assert (pool.live, other.live) == ({}, {})
    assert total.item(0) == 3


def test_memory_that_another_stream_uses_is_given_back_after_it(pool):
    x = dl.ones(1000, device="cuda")
    with cuda.Stream():
        y = x + 1
    del x
    assert y.item(0) == 2


def test_objects_with_an_address_are_kept_until_the_memory_is_free(pool):
    class Memory:
        def __init__(self, size, device, stream):
            self.ptr, self.rest = pool.allocate(size, device, stream), (size, device, stream)

        def __del__(self):
            pool.free(self.ptr, *self.rest)

    cuda.set_allocator(Memory)
    x = dl.ones(1000, device="cuda")
    assert list(pool.live) == [x.data_ptr]
    del x
    gc.collect()
    assert pool.live == {}


def test_captured_memory_comes_from_the_allocator_and_outlives_the_graph(pool):
    x = dl.ones(1000, device="cuda")
    graph = cuda.Graph()
    with graph.capture():
        y = x + 1
    graph.launch()
    assert y.data_ptr in pool.live
    assert y.item(0) == 2
    graph.release()
    assert y.item(0) == 2
    del x, y
    live_blocks()
    assert pool.live == {}


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, MemoryError])
def test_an_exception_of_the_allocator_is_that_of_the_operation(pool, error):
    x = dl.ones(1000, device="cuda")
    pool.error = error("mine")
    calls = len(pool.calls)
    for call in (lambda: x + 1, lambda: dl.empty((5,), device="cuda"), lambda: x.copy()):
        with pytest.raises(error, match=r"^mine$"):
            call()
    assert (len(pool.calls) - calls > 3) == (error is MemoryError)  # it is asked again
    pool.error = None
    assert (x + 1).item(0) == 2


def test_exceptions_of_the_allocator_in_a_capture(pool):
    x, graph, stream = dl.ones(1000, device="cuda"), cuda.Graph(), cuda.Stream()
    with graph.capture(stream):
        pool.error = ZeroDivisionError()
        with pytest.raises(ZeroDivisionError):
            x + 1
        pool.error = None
        y = x + 2
    graph.launch()
    assert y.item(0) == 3


@pytest.mark.parametrize("answer", [None, 0])
def test_an_allocator_without_memory(pool, answer):
    cuda.set_allocator(lambda size, device, stream: answer, pool.free)
    with pytest.raises(
        MemoryError, match=r"allocate: the allocator of dl.cuda.set_allocator has no 512 bytes on cuda:0"
    ):
        dl.ones(3, device="cuda")


@pytest.mark.parametrize("answer", ["a", 1.5, -1, 1 << 64, True])
def test_answers_that_are_no_address(pool, answer):
    cuda.set_allocator(lambda size, device, stream: answer, pool.free)
    with pytest.raises(TypeError, match=r"set_allocator: allocate must return an address"):
        dl.ones(3, device="cuda")


def test_an_address_without_a_function_that_frees_it(pool):
    cuda.set_allocator(lambda size, device, stream: 4096)
    with pytest.raises(TypeError, match=r"set_allocator: without free, allocate must return an object"):
        dl.ones(3, device="cuda")


def test_an_exception_of_free_goes_to_the_hook_for_those(pool, monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: seen.append(args.exc_type))

    def free(*args):
        pool.free(*args)
        raise ZeroDivisionError

    cuda.set_allocator(pool.allocate, free)
    held = [dl.ones(3, device="cuda")]
    held.clear()
    assert seen == [ZeroDivisionError]


def test_threads_allocate_and_release_without_a_deadlock(pool):
    failures = []

    def work():
        try:
            with cuda.Stream():
                for _ in range(20):
                    x = dl.ones(100, device="cuda") + 1
                    graph = cuda.Graph()
                    with graph.capture():
                        y = x * 2
                    graph.launch()
                    assert y.item(0) == 4
                    del x, y, graph
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(120)
    assert not any(each.is_alive() for each in threads)
    assert failures == []


def solved(n=40):
    """A call of cuSOLVER, whose matrices are larger than those of our own kernels."""
    return dl.linalg.solve(dl.eye(n, device="cuda") * 4, dl.ones(n, device="cuda"))


def transformed(n=60):
    return dl.abs(dl.fft.fft(dl.ones(n, device="cuda")))


def captured_product(n=20):
    """A product whose workspace belongs to a graph."""
    graph, x = cuda.Graph(), dl.ones((n, n), device="cuda")
    with graph.capture():
        y = x @ x
    graph.launch()
    return y


@pytest.mark.parametrize("inner", [solved, transformed])
@pytest.mark.parametrize("outer", [solved, transformed, captured_product])
def test_an_allocator_may_compute(pool, outer, inner):
    expected, plain, nested = outer().tolist(), pool.allocate, []

    def allocate(size, device, stream):
        if len(nested) % 2 == 0 and not cuda.current_stream().is_capturing:
            nested.append("begun")
            nested.append(inner().tolist())
        return plain(size, device, stream)

    cuda.set_allocator(allocate, pool.free)
    assert outer().tolist() == expected
    assert len(nested) >= 2
    cuda.set_allocator()
    assert nested[1::2] == [inner().tolist()] * (len(nested) // 2)


def test_arguments_that_are_no_functions():
    with pytest.raises(TypeError, match=r"set_allocator: allocate must be callable, got int"):
        cuda.set_allocator(3)
    with pytest.raises(TypeError, match=r"set_allocator: free must be callable, got int"):
        cuda.set_allocator(len, 3)
    with pytest.raises(TypeError, match=r"set_allocator: expected allocate where free is passed"):
        cuda.set_allocator(None, len)
    with pytest.raises(TypeError, match=r"on_out_of_memory: expected a function, got int"):
        cuda.on_out_of_memory(3)


# ---- hooks


@pytest.fixture
def exhausted(machine_order):  # noqa: F811
    """Let the driver have no memory for so many calls."""
    if machine_order is None:
        pytest.skip("needs the host driver")
    live_blocks()
    yield lambda times: machine_order.fail("cuMemAllocFromPoolAsync", times=times)
    machine_order.fail_no_more()


def test_hooks_are_called_before_an_allocation_fails(exhausted):
    calls = []
    remove = [cuda.on_out_of_memory(lambda n=n: calls.append(n)) for n in range(2)]
    exhausted(2)
    x = dl.ones(1000, device="cuda")
    assert (calls, x.item(0)) == ([0, 1], 1)
    del x
    live_blocks()
    exhausted(9)
    with pytest.raises(MemoryError, match=r"allocate: expected 4000 bytes on cuda:0"):
        dl.ones(1000, device="cuda")
    assert calls == [0, 1, 0, 1]
    for each in (*remove, remove[0]):
        each()
    exhausted(9)
    with pytest.raises(MemoryError):
        dl.ones(1000, device="cuda")
    assert calls == [0, 1, 0, 1]


def test_what_a_hook_raises_is_raised_by_the_operation(exhausted):
    def fail():
        raise ZeroDivisionError("mine")

    remove = cuda.on_out_of_memory(fail)
    exhausted(9)
    with pytest.raises(ZeroDivisionError, match=r"mine"):
        dl.ones(1000, device="cuda")
    remove()


def test_a_hook_that_needs_memory_itself_ends(exhausted):
    errors = []

    def hook():
        try:
            dl.ones(50, device="cuda")
        except MemoryError as error:
            errors.append(error)

    remove = cuda.on_out_of_memory(hook)
    exhausted(20)
    with pytest.raises(MemoryError, match=r"expected 4000 bytes"):
        dl.ones(1000, device="cuda")
    remove()
    assert len(errors) == 1


def test_a_hook_frees_memory_of_the_allocator(pool):
    def give():
        pool.error = None

    remove = cuda.on_out_of_memory(give)
    pool.error = MemoryError("none left")
    assert dl.ones(1000, device="cuda").item(0) == 1
    remove()


# ---- memory for PyTorch


@pytest.fixture
def torch_functions():
    path, malloc, free = cuda.torch_allocator()
    library = ctypes.CDLL(path)
    malloc, free = getattr(library, malloc), getattr(library, free)
    malloc.restype, malloc.argtypes = ctypes.c_void_p, (ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p)
    free.restype, free.argtypes = None, (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p)
    return malloc, free


def test_the_functions_for_pytorch_use_the_memory_of_this_package(torch_functions):
    malloc, free = torch_functions
    cuda.current_stream()
    before, stream = cuda.memory_stats()["live_bytes"], cuda.Stream()
    pointer = malloc(4096, 0, stream.handle)
    assert pointer % 256 == 0
    assert cuda.memory_stats()["live_bytes"] == before + 4096
    free(pointer, 4096, 0, stream.handle)
    assert cuda.memory_stats()["live_bytes"] == before
    with stream:
        x = dl.empty((4096,), dtype="uint8", device="cuda")  # the same memory: there is one pool
    assert x.data_ptr == pointer
    assert malloc(0, 0, None) is None
    free(None, 0, 0, None)


def test_memory_that_pytorch_frees_on_another_stream_is_reused_after_its_work(torch_functions):
    malloc, free = torch_functions
    home, other = cuda.Stream(), cuda.Stream()
    pointer = malloc(4000, 0, home.handle)
    with other:
        dl.wrap(pointer, (1000,), "float32", device="cuda").fill(1.0)
        source = dl.wrap(pointer, (1000,), "float32", device="cuda")
        copy = source + 1
    free(pointer, 4000, 0, other.handle)
    with home:
        x = dl.full((1000,), 7.0, device="cuda")
        assert x.data_ptr == pointer
    assert set(copy.tolist()) == {2}
    del source
