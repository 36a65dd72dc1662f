# SPDX-License-Identifier: Apache-2.0
"""dl.cuda on the host driver: what it says and does. Each test has a process of its own, since a driver is for life."""

import os
import subprocess
import sys
import textwrap

import pytest
from engine import scratch

pytest.importorskip("dltensor.cuda._driver", reason="the package is not installed")

HEAD = """
    import pytest
    import dltensor as dl
    import dltensor.cuda as cuda
    from dltensor.testing import hostcuda
"""


def run(body, **environment):
    env = {**os.environ, "DLTENSOR_CACHE_DIR": str(scratch()), "DLTENSOR_CUDA_NVRTC": "off", **environment}
    script = textwrap.dedent(HEAD) + textwrap.dedent(body)
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_without_a_driver_it_is_not_available_and_says_why():
    body = """
    assert cuda.is_available() is False
    assert cuda.device_count() == 0
    with pytest.raises(dl.DeviceError, match="the CUDA driver cannot be loaded.*Remedy"):
        cuda.properties(0)
    with pytest.raises(dl.DeviceError, match="CUDA driver"):
        cuda.Stream()
    # Functions that need no driver still work.
    assert cuda.cores_per_sm((8, 6)) == 128
    assert cuda.calc_threads(0, (7, 5)) == 64
    assert cuda.blocks_values_1d(100, num_threads=512, multiprocessors=80) == (1, 1, 100)
    """
    run(body, DLTENSOR_CUDA_DRIVER="/nowhere/libcuda.so.1")


def test_importing_loads_no_cuda_library():
    body = """
    maps = open("/proc/self/maps").read()
    assert "libcuda" not in maps
    assert "libnvrtc" not in maps
    """
    run(body)


def test_devices_memory_and_properties():
    body = """
    machine = hostcuda.load(devices=2)
    assert cuda.is_available()
    assert cuda.device_count() == 2
    p = cuda.properties("cuda:1")
    assert p.compute_capability == (9, 0)
    assert p.multiprocessor_count == 132
    assert cuda.cores_per_sm() == 128
    assert cuda.blocks_values_1d(10**6, num_threads=512).values_per_thread == 2
    used, free, total = cuda.mem_info(1)
    assert used + free == total
    with pytest.raises(ValueError, match="expected cuda:0 to cuda:1, got cuda:2"):
        cuda.properties(2)
    with pytest.raises(ValueError, match="expected a CUDA device such as 0 or 'cuda:0', got cpu"):
        cuda.properties("cpu")
    assert cuda.memory_stats()["live_blocks"] == 0
    cuda.synchronize()
    assert machine.context_depth() == 0
    """
    run(body)


def test_a_wrapped_stream_lives_as_long_as_memory_names_it():
    """A stream of another library, destroyed by its object: a later use would end the process on the host driver."""
    body = """
    import ctypes, gc
    machine = hostcuda.load(order="lazy")
    driver = machine.library
    alive = []

    class Foreign:
        def __init__(self):
            handle = ctypes.c_void_p()
            with machine.context(0):
                assert driver.cuStreamCreate(ctypes.byref(handle), 1) == 0
            self.ptr = handle.value
            alive.append(self.ptr)

        def __del__(self):
            alive.remove(self.ptr)
            assert driver.cuStreamDestroy_v2(ctypes.c_void_p(self.ptr)) == 0

    # Use the stream as the home of memory, and as a reader.
    with cuda.Stream.wrap(Foreign()):
        x = dl.ones((1000,), device="cuda")
    y = dl.ones((1000,), device="cuda")
    with cuda.Stream.wrap(Foreign()):
        z = (x + y).numpy()
    gc.collect()
    assert len(alive) == 2
    x = x + 1
    y = y + 1
    cuda.empty_cache()
    gc.collect()
    assert alive == [], "nothing names them any more"
    assert (x.tolist(), y.tolist()) == ([2.0] * 1000, [2.0] * 1000)
    for _ in range(20):
        with cuda.Stream.wrap(Foreign()):
            x = x + 1
    cuda.empty_cache()
    del x
    cuda.empty_cache()
    gc.collect()
    assert alive == []
    assert cuda.memory_stats()["waiting"] == 0
    """
    run(body)


@pytest.mark.parametrize("order", ["eager", "lazy"])
def test_a_consumers_stream_is_not_asked_after_the_export(order):
    """A consumer destroys its stream with the tensor: the same end, on the host driver, for a question to it."""
    body = """
    import ctypes
    machine = hostcuda.load(order="ORDER")
    driver, handle = machine.library, ctypes.c_void_p()
    x = dl.arange(1000, dtype="float32").to("cuda")
    y = dl.arange(1000, dtype="float32").to("cuda")
    with machine.context(0):
        for export in (lambda s: x.__dlpack__(stream=s), lambda s: x.__dlpack__(stream=s, max_version=(1, 0)),
                       lambda s: x.__dlpack__(stream=s, max_version=(1, 0), copy=True),
                       lambda s: y.__dlpack__(stream=s)):
            assert driver.cuStreamCreateWithPriority(ctypes.byref(handle), 1, 0) == 0
            capsule = export(handle.value)
            before = dl.from_dlpack(capsule)
            del capsule
            assert driver.cuStreamDestroy_v2(handle) == 0
            assert before.tolist() == list(range(1000))
            del before
            x += 0
        del y
        z = x + 1
        del x
        assert z.tolist() == list(range(1, 1001))
        dl.cuda.synchronize()
        dl.cuda.empty_cache()
        del z
    assert dl.cuda.memory_stats()["live_blocks"] == 0
    assert dl.cuda.memory_stats()["waiting"] == 0
    """
    run(body.replace("ORDER", order))


def test_an_export_that_is_refused_holds_no_memory():
    body = """
    import ctypes
    machine = hostcuda.load()
    x = dl.from_dlpack(dl.arange(10).to("cuda"))
    handle = ctypes.c_void_p()
    with machine.context(0):
        assert machine.library.cuStreamCreateWithPriority(ctypes.byref(handle), 1, 0) == 0
        r = dl.broadcast_to(x, (3, 10))
        with pytest.raises(BufferError, match="read-only"):
            r.__dlpack__(stream=handle.value)
        r.__dlpack__(stream=handle.value, max_version=(1, 0))
        assert machine.library.cuStreamDestroy_v2(handle) == 0
        del x, r
    assert dl.cuda.memory_stats()["live_blocks"] == 0
    """
    run(body)


def test_events_of_a_capture_are_refused_without_a_loss():
    body = """
    import ctypes
    machine = hostcuda.load()
    x = dl.ones((10,), device="cuda")
    with cuda.Stream() as stream:
        y = x + 1
    stream.synchronize()
    before, inside = cuda.Event(timing=True).record(), cuda.Event(timing=True)
    unrecorded = cuda.Event()
    graph = ctypes.c_void_p()
    with machine.context(0), stream:
        assert machine.library.cuStreamBeginCapture_v2(ctypes.c_void_p(stream.handle), 0) == 0
        dl.add(x, 5, out=y)
        inside.record(stream)
        with pytest.raises(BufferError, match="Event.query: the event was recorded while a CUDA graph"):
            inside.query()
        with pytest.raises(BufferError, match="Event.synchronize: "):
            inside.synchronize()
        with pytest.raises(BufferError, match="Event.elapsed_time: "):
            before.elapsed_time(inside)
        with pytest.raises(BufferError, match="Stream.wait: a CUDA graph is being captured on this stream"):
            stream.wait(before)
        stream.wait(unrecorded)
        assert before.query()
        with pytest.raises(BufferError, match="synchronize: a CUDA graph is being captured on a stream of cuda:0"):
            cuda.synchronize()
        assert machine.library.cuStreamEndCapture(ctypes.c_void_p(stream.handle), ctypes.byref(graph)) == 0
    assert machine.library.cuGraphDestroy(graph) == 0
    inside.record(stream).synchronize()
    cuda.synchronize()
    """
    run(body)


def test_a_per_thread_stream_object_is_each_threads_own():
    body = """
    import threading
    machine = hostcuda.load(order="lazy")
    shared = cuda.Stream.wrap(2)
    x = dl.arange(1000, dtype="float32", device="cuda")
    found = []

    def work(k):
        with shared:
            y = x * k
            for _ in range(5):
                y = y + 1
            found.append((k, y))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, y in found:
        assert (y - x * k).tolist() == [5.0] * 1000, k
    """
    run(body)


def test_a_library_of_the_drivers_version_is_taken_first(tmp_path):
    """Wheels of several CUDA versions, in folders whose names sort otherwise."""
    for folder, major in (("cuda_nvrtc", 12), ("cu13", 13), ("zz", 14)):
        place = tmp_path / "nvidia" / folder / "lib"
        place.mkdir(parents=True)
        (place / f"libnvrtc.so.{major}").write_bytes(b"no library")
    body = f"""
    import sys
    machine = hostcuda.load()
    from dltensor.cuda import _device, _driver
    sys.path[:] = [{str(tmp_path)!r}, *(p for p in sys.path if "site-packages" not in p)]
    assert len(_device._wheel_libraries("nvrtc")) == 3
    cuda.properties(0)
    try:
        _driver.require(1)
    except dl.DeviceError as error:
        text = str(error)
        print(*(text.find(f"libnvrtc.so.{{major}}: ") for major in (13, 12, 14)))
    else:
        print("found", _driver.loaded_from(1))
    """
    places = run(body, DLTENSOR_CUDA_NVRTC="").split()
    if places[0] == "found":
        pytest.skip(f"the loader finds NVRTC by itself: {places[1]}")
    assert [int(at) for at in places] == sorted(int(at) for at in places)
    assert int(places[0]) >= 0


def test_the_first_tensor_on_a_device_starts_the_engine_once():
    body = """
    from dltensor.cuda import _device as _cuda_device

    started, start = [], _cuda_device.start
    _cuda_device.start = lambda: started.append(start())
    hostcuda.load()
    dl.full(3, 2.0, device="cuda")
    dl.full(3, 2.0, device="cuda")
    assert len(started) == 1
    """
    run(body)


def test_blocks_are_computed_for_the_first_device():
    body = """
    hostcuda.load(devices=1)
    assert cuda.blocks_values_1d(10**6, num_threads=512) == (977, 2, 10**6)
    """
    run(body)


@pytest.mark.parametrize(("device", "cached"), [("'cuda:1'", [True, False]), ("None", [False, False])])
def test_emptying_the_cache_reaches_one_device_or_all(device, cached):
    body = f"""
    hostcuda.load(devices=2)
    for device in ("cuda:0", "cuda:1"):
        dl.empty(1 << 18, device=device)
        cuda.synchronize(device)
    cuda.empty_cache({device})
    assert [cuda.memory_stats(ordinal)["cached_bytes"] > 0 for ordinal in (0, 1)] == {cached}
    """
    run(body)


def test_streams_nest_and_restore_the_default():
    body = """
    hostcuda.load(order="lazy")
    assert cuda.current_stream().handle == 0
    a, b = cuda.Stream(), cuda.Stream(priority=-1)
    with a:
        assert cuda.current_stream() is a
        with b:
            assert cuda.current_stream() == b
        assert cuda.current_stream() is a
    assert cuda.current_stream().handle == 0
    a.activate()
    a.deactivate()
    with pytest.raises(ValueError, match="not the one that was activated last"):
        a.deactivate()
    assert a.__cuda_stream__() == (0, a.handle)
    assert cuda.Stream.wrap(a.handle) == a

    class Foreign:
        def __cuda_stream__(self):
            return 0, b.handle

    assert cuda.Stream.wrap(Foreign()).handle == b.handle
    with pytest.raises(TypeError, match="expected an int or an object with __cuda_stream__, got str"):
        cuda.Stream.wrap("legacy")
    """
    run(body)


def test_the_current_stream_is_each_threads_own():
    body = """
    import threading
    hostcuda.load()
    seen = []
    with cuda.Stream():
        thread = threading.Thread(target=lambda: seen.append(cuda.current_stream().handle))
        thread.start()
        thread.join()
    assert seen == [0]
    """
    run(body)


def test_threads_end_their_streams_while_others_wait_for_them():
    body = """
    import threading
    hostcuda.load()
    shared = dl.zeros(4, device="cuda")
    def work():
        for _ in range(400):
            with cuda.Stream():
                dl.fill(1.0, shared)
                cuda.empty_cache()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared.tolist() == [1, 1, 1, 1]
    """
    run(body)


def test_events_order_and_measure():
    body = """
    hostcuda.load(order="lazy")
    s, t = cuda.Stream(), cuda.Stream()
    first = s.record(cuda.Event(timing=True))
    assert not first.query()
    t.wait(first)
    t.wait(s)
    second = cuda.Event(timing=True).record(t)
    second.synchronize()
    assert first.query()
    assert first.elapsed_time(second) > 0
    t.synchronize()
    assert t.query()
    with pytest.raises(TypeError, match="expected a Stream or an Event, got int"):
        t.wait(3)
    """
    run(body)


def test_launch_settings_belong_to_the_block():
    body = """
    from dltensor.cuda import _driver as _cuda
    with cuda.launch(num_threads=96) as settings:
        assert _cuda.thread_launch() == settings == (8, 96, 0)
        with cuda.launch(32):
            assert _cuda.thread_launch() == (32, 0, 0)
        assert _cuda.thread_launch() == settings
    assert _cuda.thread_launch() is None
    with pytest.raises(ValueError, match="num_threads must be 0 to 1024, got 1025"):
        with cuda.launch(num_threads=1025):
            pass
    with pytest.raises(ValueError, match="blocks_per_sm must be 0 or more, got -1"):
        cuda.blocks_values_1d(1, num_threads=1, blocks_per_sm=-1, multiprocessors=1)
    """
    run(body)


def test_memory_beyond_the_cache_limit_goes_back_to_the_system():
    """The pool would keep it, and no other library could have it."""
    body = """
    hostcuda.load()
    x = dl.zeros((32 << 20,), dtype="uint8", device="cuda")
    free = cuda.mem_info().free
    y = dl.zeros((32 << 20,), dtype="uint8", device="cuda")
    del y
    cuda.synchronize()
    assert cuda.mem_info().free == free - (32 << 20), "kept for reuse"
    cuda.set_cache_limit(0)
    cuda.empty_cache()
    assert cuda.mem_info().free == free
    del x
    cuda.synchronize()
    assert cuda.mem_info().free == free + (32 << 20)
    """
    run(body)


def test_peak_memory_is_counted_from_a_reset():
    body = """
    hostcuda.load()
    start = cuda.memory_stats()["live_bytes"]
    for _ in range(3):
        with cuda.Stream():
            x = dl.empty((1 << 20,), dtype="uint8", device="cuda")
        del x
    assert cuda.memory_stats()["peak_bytes"] == start + (1 << 20)
    cuda.reset_peak_memory("cuda:0")
    assert cuda.memory_stats()["peak_bytes"] == start
    with pytest.raises(ValueError, match="got cuda:7"):
        cuda.reset_peak_memory(7)
    """
    run(body)


def test_a_context_that_another_library_resets_is_reported_with_its_remedy():
    body = """
    machine = hostcuda.load()
    x = dl.ones((1000,), device="cuda")
    with cuda.Stream():
        y = x + 1
    assert machine.library.cuDevicePrimaryCtxReset_v2(0) == 0
    for call in (lambda: x + 1, lambda: x.tolist(), lambda: dl.empty((1 << 24,), device="cuda"), cuda.synchronize):
        with pytest.raises(dl.DeviceError, match="another library has reset the device.*restart the process"):
            call()
    del x, y
    stats = cuda.memory_stats()
    assert (stats["live_blocks"], stats["waiting"]) == (0, 0)
    """
    run(body)


def test_code_that_is_newer_than_the_driver_is_reported_with_its_remedy():
    body = """
    machine = hostcuda.load()
    x = dl.ones((10,), device="cuda")
    machine.fail("cuModuleLoadData", error="CUDA_ERROR_UNSUPPORTED_PTX_VERSION")
    with pytest.raises(dl.DeviceError, match="NVRTC is newer than the driver.*update the driver"):
        x + 1
    machine.fail_no_more()
    assert (x + 1).tolist() == [2.0] * 10
    """
    run(body)


def test_calls_that_may_wait_for_the_device_do_not_hold_the_gil(tmp_path):
    """A full queue waits for a host function that needs the GIL. Here those run in calls, and look who has it."""
    source, library = tmp_path / "see.c", tmp_path / "see.so"
    source.write_text(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n"
        "void see(void* seen) {\n"
        '  int (*check)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Check");\n'
        "  ++((int*)seen)[check()];\n}\n"
    )
    subprocess.run(["gcc", "-shared", "-fPIC", str(source), "-o", str(library), "-ldl"], check=True)
    body = """
    import ctypes
    machine = hostcuda.load(order="random:3")
    driver, see = machine.library, ctypes.CDLL("LIBRARY").see
    seen = (ctypes.c_int * 2)()
    s, t = cuda.Stream(), cuda.Stream()
    x = dl.ones((100,), device="cuda")
    with s:
        y = x + 1

    class Foreign:
        def __init__(self):
            self.__cuda_array_interface__ = {**x.__cuda_array_interface__, "stream": s.handle}

    def release():
        with t:
            z = x + 1
        with s:
            z + 1

    def release_pinned():
        p = dl.empty((100,), device="cuda_host")
        with s:
            p.to("cuda")

    def release_imported():
        z = dl.asarray(Foreign())
        with t:
            z + 1

    event = cuda.Event()
    calls = {
        "record": lambda: s.record(event), "wait for an event": lambda: t.wait(event), "wait": lambda: t.wait(s),
        "query": s.query, "query an event": event.query, "import": lambda: dl.asarray(Foreign()), "release": release,
        "release pinned memory": release_pinned, "release imported memory": release_imported, "stream": cuda.Stream,
        "wrap": lambda: cuda.Stream.wrap(s.handle), "managed": lambda: dl.empty((4,), device="cuda_managed"),
        "large": lambda: dl.empty((1 << 20,), device="cuda"), "export": lambda: x.__dlpack__(stream=s.handle),
    }
    if hasattr(driver, "cuLaunchHostFunc"):
        for name, call in calls.items():
            seen[1] = 0
            for _ in range(30):
                with machine.context(0):
                    for handle in (s.handle, t.handle):
                        assert driver.cuLaunchHostFunc(ctypes.c_void_p(handle), see, ctypes.byref(seen)) == 0
                call()
            assert seen[1] == 0, name
        cuda.synchronize()
        assert seen[0] > 100
    """
    run(body.replace("LIBRARY", str(library)))
