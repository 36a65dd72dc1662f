# SPDX-License-Identifier: Apache-2.0
"""Ask a driver what the host driver assumes of it: captures, contexts, default streams, dead streams, fork.

Every probe runs in a process of its own and needs ctypes alone. A line says what was seen, and whether the host driver
answers the same; where it does not, tests on the host driver prove less than they seem to. What a driver answered is
recorded below (580.159.04, CUDA 13.0, H100), and where the host driver refuses more, which is no harm to tests.

    python tools/gpu_probe.py
"""

import contextlib
import ctypes as c
import os
import subprocess
import sys
import threading
import time

P, SIZE = c.c_void_p, c.c_size_t
PER_THREAD = P(2)
cu = None


def call(name, *arguments):
    return getattr(cu, name)(*arguments)


def must(name, *arguments):
    result = call(name, *arguments)
    assert result == 0, (name, result)


def start():
    global cu
    cu = c.CDLL("libcuda.so.1")
    must("cuInit", 0)
    context = P()
    must("cuDevicePrimaryCtxRetain", c.byref(context), 0)
    must("cuCtxSetCurrent", context)
    return context


def stream(flags=1):
    out = P()
    must("cuStreamCreateWithPriority", c.byref(out), flags, 0)
    return out


def event():
    out = P()
    must("cuEventCreate", c.byref(out), 2)
    return out


def memory(on=None, count=1 << 20):
    out = c.c_uint64()
    must("cuMemAllocAsync", c.byref(out), SIZE(count), on)
    return out


def begin(on, mode=0):
    must("cuStreamBeginCapture_v2", on, mode)


def end(on):
    return call("cuStreamEndCapture", on, c.byref(P()))


def capturing(on):
    status = c.c_int(-1)
    result = call("cuStreamIsCapturing", on, c.byref(status))
    return result or status.value


@contextlib.contextmanager
def relaxed():
    mode = c.c_int(2)
    must("cuThreadExchangeStreamCaptureMode", c.byref(mode))
    yield
    must("cuThreadExchangeStreamCaptureMode", c.byref(mode))


def attributes(pointer):
    kind, which = c.c_uint(), (c.c_int * 1)(2)
    values = (P * 1)(c.addressof(kind))
    return call("cuPointerGetAttributes", 1, which, values, c.c_uint64(pointer)), kind.value


def pointer_without_context():
    """Attributes of device and of pageable memory, with a context and without one."""
    start()
    p, host = memory(), c.create_string_buffer(64)
    seen = [attributes(p.value), attributes(c.addressof(host))]
    must("cuCtxPopCurrent_v2", c.byref(P()))
    return [*seen, attributes(p.value)[0], attributes(c.addressof(host))[0]]


def wait_for_outside():
    """In a capture, wait for an event of the legacy stream; the end of the capture."""
    start()
    s, e = stream(), event()
    must("cuEventRecord", e, None)
    must("cuCtxSynchronize")
    begin(s)
    return [call("cuStreamWaitEvent", s, e, 0), end(s)]


def host_waits_beside():
    """In a capture, relaxed: wait on the host for another stream, query and wait for the legacy one; the end."""
    start()
    s, o = stream(), stream()
    begin(s)
    with relaxed():
        seen = [call("cuStreamSynchronize", o), call("cuStreamQuery", None), call("cuStreamSynchronize", None)]
    return [*seen, end(s)]


def fork_without_work():
    """Another stream waits for a captured event and does nothing more: unjoined at the end?"""
    start()
    s, o, e = stream(), stream(), event()
    p = memory(s)
    must("cuStreamSynchronize", s)
    begin(s)
    must("cuMemsetD8Async", p, 0, SIZE(64), s)
    return [call("cuEventRecord", e, s), call("cuStreamWaitEvent", o, e, 0), capturing(o), end(s)]


def fork_with_work():
    """The same with work there."""
    start()
    s, o, e = stream(), stream(), event()
    p = memory(o)
    must("cuStreamSynchronize", o)
    begin(s)
    return [
        call("cuEventRecord", e, s),
        call("cuStreamWaitEvent", o, e, 0),
        call("cuMemsetD8Async", p, 0, SIZE(64), o),
        end(s),
    ]


def legacy_waits_for_capture():
    """The legacy stream waits for a captured event; the end."""
    start()
    s, e = stream(), event()
    begin(s)
    return [call("cuEventRecord", e, s), call("cuStreamWaitEvent", None, e, 0), end(s)]


def merge():
    """One capture waits for another; both ends."""
    start()
    s, o, e = stream(), stream(), event()
    begin(s)
    begin(o)
    return [call("cuEventRecord", e, s), call("cuStreamWaitEvent", o, e, 0), end(s), end(o)]


def legacy_beside_capture():
    """Ask the legacy stream, then record there, beside a capture of a non-blocking and of a blocking stream."""
    start()
    seen, e = [], event()
    for flags in (1, 0):
        s = stream(flags)
        begin(s)
        seen += [capturing(None), end(s)]
        begin(s)
        seen += [call("cuEventRecord", e, None), end(s)]
    return seen


def device_wait_beside():
    """cuCtxSynchronize beside a capture, by default and relaxed; the ends."""
    start()
    seen = []
    for calm in (contextlib.nullcontext, relaxed):
        s = stream()
        begin(s)
        with calm():
            seen.append(call("cuCtxSynchronize"))
        seen.append(end(s))
    return seen


def trim_beside():
    """cuMemPoolTrimTo beside a capture, relaxed; the end."""
    start()
    s, pool = stream(), P()
    must("cuDeviceGetDefaultMemPool", c.byref(pool), 0)
    begin(s)
    with relaxed():
        seen = [call("cuMemPoolTrimTo", pool, SIZE(0))]
    return [*seen, end(s)]


def free_in_capture():
    """cuMemFreeAsync of memory that is not the graph's; the end."""
    start()
    s = stream()
    p = memory(s)
    must("cuStreamSynchronize", s)
    begin(s)
    return [call("cuMemFreeAsync", p, s), end(s)]


def query_of_captured_event():
    """Query an event of a capture, in it and after it; the end."""
    start()
    s, e = stream(), event()
    begin(s)
    must("cuEventRecord", e, s)
    return [call("cuEventQuery", e), end(s), call("cuEventQuery", e)]


def end_by_another_thread():
    """End a capture from another thread, then from its own."""
    context = start()
    s, seen = stream(), []
    begin(s)

    def other():
        must("cuCtxSetCurrent", context)
        seen.append(end(s))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    return [*seen, end(s)]


def per_thread_without_context():
    """The per-thread stream where no context is current: asked, queried, recorded."""
    start()
    e = event()
    must("cuCtxPopCurrent_v2", c.byref(P()))
    return [capturing(PER_THREAD), call("cuStreamQuery", PER_THREAD), call("cuEventRecord", e, PER_THREAD)]


def legacy_waits_for_other_threads():
    """Test whether the legacy stream waits for the per-thread stream of another thread: bytes copied after its fill."""
    context = start()
    p, out = memory(None, 1 << 26), (c.c_ubyte * 16)()
    must("cuStreamSynchronize", None)

    def other():
        must("cuCtxSetCurrent", context)
        for value in range(1, 8):
            must("cuMemsetD8Async", p, value, SIZE(1 << 26), PER_THREAD)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    e, s = event(), stream()
    must("cuEventRecord", e, None)
    must("cuStreamWaitEvent", s, e, 0)
    must("cuMemcpyDtoHAsync_v2", out, c.c_uint64(p.value + (1 << 26) - 16), SIZE(16), s)
    must("cuStreamSynchronize", s)
    return sorted(set(out))


def forked_child():
    """A child of fork() frees memory: its error."""
    start()
    p = memory()
    child = os.fork()
    if child == 0:
        os._exit(call("cuMemFreeAsync", p, None) & 0xFF)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def dead_stream():
    """Questions to a destroyed stream: errors, or the end of the process."""
    start()
    s, e = stream(), event()
    must("cuStreamDestroy_v2", s)
    return [capturing(s), call("cuStreamQuery", s), call("cuEventRecord", e, s)]


PTX = b".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n\0"


def calls_beside(calm):
    """What each call answers beside a capture of this thread on a non-blocking stream, and the capture's state then."""
    start()
    out = P()
    other, early, pool = stream(), event(), P()
    must("cuDeviceGetDefaultMemPool", c.byref(pool), 0)
    must("cuEventRecord", early, other)
    kept, gone = memory(other), memory(other)
    must("cuCtxSynchronize")
    host, room = c.create_string_buffer(64), SIZE(1 << 26)
    calls = {
        "stream": lambda s: call("cuStreamCreateWithPriority", c.byref(out), 1, 0),
        "event": lambda s: call("cuEventCreate", c.byref(out), 2),
        "allocate": lambda s: call("cuMemAllocFromPoolAsync", c.byref(c.c_uint64()), room, pool, other),
        "allocate on legacy": lambda s: call("cuMemAllocFromPoolAsync", c.byref(c.c_uint64()), room, pool, None),
        "free": lambda s: call("cuMemFreeAsync", gone, other),
        "id": lambda s: call("cuStreamGetId", s, c.byref(c.c_ulonglong())),
        "context": lambda s: call("cuStreamGetCtx", s, c.byref(P())),
        "record": lambda s: call("cuEventRecord", early, other),
        "wait": lambda s: call("cuStreamWaitEvent", None, early, 0),
        "query": lambda s: call("cuEventQuery", early),
        "wait on the host": lambda s: call("cuEventSynchronize", early),
        "synchronize": lambda s: call("cuStreamSynchronize", other),
        "synchronize legacy": lambda s: call("cuStreamSynchronize", None),
        "pinned": lambda s: call("cuMemHostAlloc", c.byref(out), SIZE(4096), 1),
        "attributes": lambda s: attributes(kept.value)[0],
        "fill": lambda s: call("cuMemsetD8Async", kept, 0, SIZE(64), other),
        "fill on legacy": lambda s: call("cuMemsetD8Async", kept, 0, SIZE(64), None),
        "upload": lambda s: call("cuMemcpyHtoDAsync_v2", kept, host, SIZE(64), other),
        "module": lambda s: call("cuModuleLoadData", c.byref(P()), PTX),
        "memory": lambda s: call("cuMemGetInfo_v2", c.byref(SIZE()), c.byref(SIZE())),
    }
    seen = {}
    for name, make in calls.items():
        s = stream()
        begin(s)
        with relaxed() if calm else contextlib.nullcontext():
            result = make(s)
        seen[name] = [result, capturing(s), end(s)]
    return seen


def calls_beside_a_capture():
    """Calls beside a capture: their answers, the capture's state after each, its end."""
    return calls_beside(False)


def calls_beside_a_capture_relaxed():
    """The same calls, relaxed."""
    return calls_beside(True)


def shared_memory():
    """Memory by handles: of half a unit; received and sent on; a file of others; mapped beyond its end; mapped, after
    its handles were released: its attributes, freed, filled, unmapped twice."""
    start()
    none, properties, access = c.c_ulonglong(0), (c.c_int * 8)(1, 1, 1, 0), (c.c_int * 3)(1, 0, 3)
    made, received, file, place, unit = c.c_ulonglong(), c.c_ulonglong(), c.c_int(), c.c_uint64(), SIZE()
    must("cuMemGetAllocationGranularity", c.byref(unit), properties, 0)
    twice = SIZE(unit.value * 2)
    seen = [call("cuMemCreate", c.byref(made), SIZE(unit.value // 2), properties, none)]
    must("cuMemCreate", c.byref(made), unit, properties, none)
    must("cuMemExportToShareableHandle", c.byref(file), made, 1, none)
    must("cuMemImportFromShareableHandle", c.byref(received), P(file.value), 1)
    seen.append(call("cuMemExportToShareableHandle", c.byref(file), received, 1, none))
    seen.append(call("cuMemImportFromShareableHandle", c.byref(c.c_ulonglong()), P(os.memfd_create("other")), 1))
    must("cuMemAddressReserve", c.byref(place), twice, SIZE(0), c.c_uint64(0), none)
    seen.append(call("cuMemMap", place, twice, SIZE(0), made, none))
    must("cuMemAddressFree", place, twice)
    must("cuMemAddressReserve", c.byref(place), unit, SIZE(0), c.c_uint64(0), none)
    must("cuMemMap", place, unit, SIZE(0), received, none)
    must("cuMemSetAccess", place, unit, access, SIZE(1))
    must("cuMemRelease", made)
    must("cuMemRelease", received)
    seen += [attributes(place.value), call("cuMemFree_v2", place)]
    seen += [call("cuMemsetD8Async", place, 7, SIZE(64), None), call("cuCtxSynchronize")]
    return [*seen, call("cuMemUnmap", place, unit), call("cuMemUnmap", place, unit)]


def costs():
    """Nanoseconds of the host for calls that order streams and memory, ctypes included: best of 7 bursts of 200."""
    start()
    s, o, e = stream(), stream(), event()
    p, q, status, now = c.c_uint64(), memory(), c.c_int(), P()

    def pair():
        cu.cuMemAllocAsync(c.byref(p), SIZE(4096), s)
        cu.cuMemFreeAsync(p, s)

    def wait():
        cu.cuEventRecord(e, o)
        cu.cuStreamWaitEvent(s, e, 0)

    works = {
        "nothing": lambda: cu.cuDriverGetVersion(c.byref(status)),
        "current context": lambda: cu.cuCtxGetCurrent(c.byref(now)),
        "allocate and free": pair,
        "record and wait": wait,
        "is capturing": lambda: cu.cuStreamIsCapturing(s, c.byref(status)),
        "stream query": lambda: cu.cuStreamQuery(s),
        "fill 4 KiB": lambda: cu.cuMemsetD8Async(q, 0, SIZE(4096), s),
    }
    out = {}
    for name, work in works.items():
        best = 1e9
        for _ in range(7):
            cu.cuCtxSynchronize()
            began = time.perf_counter()
            for _ in range(200):
                work()
            best = min(best, (time.perf_counter() - began) / 200 * 1e9)
        out[name] = round(best)
    return out


INVALIDATED = [900, 2, 901]  # the answer, the state of the capture, its end
CALM = [0, 1, 0]
BESIDE = {
    **dict.fromkeys(("stream", "event"), CALM),
    **dict.fromkeys(("allocate", "allocate on legacy", "free", "id"), INVALIDATED),
    **dict.fromkeys(("context", "record", "wait"), CALM),
    **dict.fromkeys(("query", "wait on the host", "synchronize", "synchronize legacy", "pinned"), INVALIDATED),
    **dict.fromkeys(("attributes", "fill", "fill on legacy", "upload", "module", "memory"), CALM),
}
RELAXED = {name: INVALIDATED if name == "id" else CALM for name in BESIDE}

# Probe: what the driver answered. None where that says nothing.
EXPECTED = {
    pointer_without_context: [(0, 2), (0, 0), 0, 0],
    wait_for_outside: [905, 901],
    host_waits_beside: [0, 0, 0, 0],
    fork_without_work: [0, 0, 1, 0],
    fork_with_work: [0, 0, 0, 904],
    legacy_waits_for_capture: [0, 906, 901],
    merge: [0, 902, 901, 901],
    legacy_beside_capture: [0, 0, 0, 0, 906, 0, 906, 901],
    device_wait_beside: [900, 901, 900, 901],
    trim_beside: [0, 0],
    free_in_capture: [1, 0],
    query_of_captured_event: [907, 901, 1],
    end_by_another_thread: [908, 401],
    per_thread_without_context: [201, 201, 201],
    legacy_waits_for_other_threads: [7],
    forked_child: 3,
    dead_stream: "exit -11",
    calls_beside_a_capture: BESIDE,
    calls_beside_a_capture_relaxed: RELAXED,
    shared_memory: None,  # not asked on a card yet
    costs: None,
}
# The host driver's answers where they are others: those of older drivers, and an end with a message for a crash.
ON_HOST = {
    pointer_without_context: [(0, 2), (0, 0), 201, 201],
    fork_without_work: [0, 0, 1, 904],
    free_in_capture: [1, 901],
    query_of_captured_event: [907, 901, 907],
    dead_stream: "exit -6",
    shared_memory: [1, 1, 1, 1, (0, 2), 1, 0, 0, 0, 1],
    calls_beside_a_capture: {**BESIDE, "module": INVALIDATED},
    calls_beside_a_capture_relaxed: {**RELAXED, "module": [200, 1, 0]},  # it takes no PTX
}


def on_host():
    """Test whether the driver is the host driver."""
    start()
    return hasattr(cu, "hostcuda_configure")


def main():
    if len(sys.argv) > 1:
        print(repr(globals()[sys.argv[1]]()))
        return 0
    different = 0
    host = subprocess.run([sys.executable, __file__, "on_host"], capture_output=True, text=True, check=False)
    known = EXPECTED | (ON_HOST if host.stdout.strip() == "True" else {})
    for probe, expected in known.items():
        command = [sys.executable, __file__, probe.__name__]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
            seen = run.stdout.strip() if run.returncode == 0 else repr(f"exit {run.returncode}")
            why = run.stderr.strip()[-200:] if run.returncode else ""
        except subprocess.TimeoutExpired:
            seen, why = "'no answer in 30 s'", ""
        same = expected is None or seen == repr(expected)
        different += not same
        print(f"{'same    ' if same else 'DIFFERS '} {probe.__name__:32} {seen}", flush=True)
        if not same:
            print(f"{'':9} {probe.__doc__} Expected: {expected!r}. {why}", flush=True)
    print(f"{len(known) - different} of {len(known)} probes answer as is recorded")
    return 0


if __name__ == "__main__":
    sys.exit(main())
