# SPDX-License-Identifier: Apache-2.0
"""One call for each error that docstrings of `dltensor.cuda` and `hostcuda` document: exception, call, functions."""

import contextlib
import os
import sys
import tempfile

import conftest as setup  # beside this file
import test_tensor_cuda
from public_names import public

import dltensor as dl

cuda = dl.cuda
hostcuda = setup.module("hostcuda_under_test", setup.SOURCE / "testing" / "hostcuda.py")


def things():
    """The public names of `dltensor.cuda` and of the host driver."""
    found = public((cuda, hostcuda))
    return {name.replace("_under_test", ""): thing for name, thing in found.items() if thing is not dl.Device}


LOST = "CUDA_ERROR_ILLEGAL_ADDRESS"  # which a kernel that failed leaves
INCREMENT = cuda.elementwise("float x", "x + 1")
SUM = cuda.elementwise("float x, float y", "x + y")
KERNEL = cuda.RawKernel("__global__ void kernel(float* x) {}", "kernel")
NOT_CPP = cuda.RawKernel("__global__ void kernel(float* x) { nonsense }", "kernel")


OF_A_DEVICE = "cuda.(Event Graph Stream cores_per_sm current_stream mem_info memory_stats properties reset_peak_memory)"


def ones(shape=2):
    return dl.ones(shape, device="cuda")


@contextlib.contextmanager
def failing(function, error=LOST):
    """Let the next call of a function of the driver fail."""
    machine = hostcuda.load()
    machine.fail(function, error=error)
    try:
        yield
    finally:
        machine.fail_no_more()


def failed(function, call, error=LOST):
    def run(f):
        with failing(function, error):
            call(f)

    return run


def captured(call):
    """A call with a stream on which a graph is being captured."""

    def run(f):
        with cuda.Stream() as stream:
            capture = test_tensor_cuda.Capture(hostcuda.load().library, stream)
            try:
                with capture:
                    call(f, stream)
            finally:
                capture.end()

    return run


def of_another_device(f):
    other = cuda.Stream(1)
    f.__get__(None, cuda.Stream)(other.handle, 0)


def transfer():
    """A copy to the host that waits for a failed kernel when it is asked for."""
    return ones().numpy(non_blocking=True)


def empty_graph():
    """A captured graph without work."""
    graph = cuda.Graph()
    with graph.capture():
        pass
    return graph


def release_in_the_capture(f):
    graph = cuda.Graph()
    with graph.capture():
        f(graph)


def writes_to_its_argument(f):
    f(lambda x: dl.add(x, 1.0, out=x))(ones())


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "ml_dtypes":
            raise ImportError(name)


def without_ml_dtypes(f):
    sys.meta_path.insert(0, Absent())
    sys.modules.pop("ml_dtypes", None)
    f(dl.ones(2, dtype="bfloat16", device="cuda").numpy(non_blocking=True))


def open_to_all(f):
    """A call whose cache folder any user may write to."""
    before = os.environ.get("DLTENSOR_CACHE_DIR")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DLTENSOR_CACHE_DIR"] = folder
        hostcuda.cache_folder().chmod(0o777)
        try:
            f()
        finally:
            del os.environ["DLTENSOR_CACHE_DIR"]
            if before is not None:
                os.environ["DLTENSOR_CACHE_DIR"] = before


ROWS = [
    # devices
    (
        "ValueError",
        lambda f: f(9),
        f"{OF_A_DEVICE} cuda.synchronize",
    ),
    ("ValueError", lambda f: f("cpu"), "cuda.empty_cache"),
    ("DeviceError", failed("cuCtxSynchronize", lambda f: f()), "cuda.synchronize"),
    ("BufferError", captured(lambda f, stream: f()), "cuda.synchronize"),
    ("TypeError", lambda f: f("a"), "cuda.set_cache_limit"),
    ("ValueError", lambda f: f(-1), "cuda.set_cache_limit"),
    # launch settings
    ("TypeError", lambda f: f("a").__enter__(), "cuda.launch"),
    ("ValueError", lambda f: f(num_threads=1025).__enter__(), "cuda.launch"),
    ("TypeError", lambda f: f(1).__enter__(), "cuda.tf32"),
    ("ValueError", lambda f: f("never").__enter__(), "cuda.index_checks"),
    ("ValueError", lambda f: f(-1), "cuda.calc_threads"),
    ("ValueError", lambda f: f(-1, num_threads=32), "cuda.blocks_values_1d"),
    ("ValueError", lambda f: f((-1,), num_threads=32), "cuda.blocks_values_nd"),
    # streams and events
    ("TypeError", lambda f: f.__get__(None, cuda.Stream)(object()), "cuda.Stream.wrap"),
    ("ValueError", of_another_device, "cuda.Stream.wrap"),
    ("DeviceError", failed("cuStreamSynchronize", lambda f: f(cuda.Stream())), "cuda.Stream.synchronize"),
    ("DeviceError", failed("cuStreamQuery", lambda f: f(cuda.Stream())), "cuda.Stream.query"),
    ("BufferError", captured(lambda f, stream: f(stream)), "cuda.Stream.(query synchronize)"),
    ("BufferError", captured(lambda f, stream: f(stream, cuda.Event().record(cuda.Stream()))), "cuda.Stream.wait"),
    ("TypeError", lambda f: f(cuda.Stream(), 3), "cuda.Stream.(record wait)"),
    ("ValueError", lambda f: f(cuda.Stream()), "cuda.Stream.deactivate"),
    ("TypeError", lambda f: f(cuda.Event(), 3), "cuda.Event.(elapsed_time record)"),
    ("DeviceError", failed("cuEventQuery", lambda f: f(cuda.Event().record())), "cuda.Event.query"),
    ("DeviceError", failed("cuEventSynchronize", lambda f: f(cuda.Event().record())), "cuda.Event.synchronize"),
    ("DeviceError", lambda f: f(cuda.Event(), cuda.Event()), "cuda.Event.elapsed_time"),
    (
        "BufferError",
        captured(lambda f, stream: f(cuda.Event().record(stream))),
        "cuda.Event.(query synchronize)",
    ),
    (
        "BufferError",
        captured(lambda f, stream: f(cuda.Event(timing=True).record(stream), cuda.Event(timing=True))),
        "cuda.Event.elapsed_time",
    ),
    # memory of other libraries
    ("TypeError", lambda f: f(3), "cuda.(on_out_of_memory set_allocator)"),
    # graphs
    ("TypeError", lambda f: f(cuda.Graph(), "a").__enter__(), "cuda.Graph.capture"),
    ("ValueError", lambda f: f(cuda.Graph(), cuda.Stream(1)).__enter__(), "cuda.Graph.capture"),
    ("BufferError", captured(lambda f, stream: f(cuda.Graph(), stream).__enter__()), "cuda.Graph.capture"),
    ("TypeError", lambda f: f(cuda.Graph(), 3), "cuda.Graph.launch"),
    ("ValueError", lambda f: f(cuda.Graph()), "cuda.Graph.launch"),
    ("BufferError", captured(lambda f, stream: f(empty_graph(), stream)), "cuda.Graph.launch"),
    ("ValueError", release_in_the_capture, "cuda.Graph.release"),
    ("TypeError", lambda f: f(3), "cuda.graph"),
    ("ValueError", writes_to_its_argument, "cuda.graph"),
    ("TypeError", lambda f: f(), "cuda.Transfer"),
    ("DeviceError", failed("cuEventSynchronize", lambda f: f(transfer())), "cuda.Transfer.(result wait)"),
    # kernels of users
    ("TypeError", lambda f: f(3, "x"), "cuda.elementwise"),
    ("ValueError", lambda f: f("float x", ""), "cuda.elementwise"),
    ("TypeError", lambda f: f(INCREMENT), "cuda.ElementwiseKernel.__call__"),
    ("ValueError", lambda f: f(SUM, ones(), ones(shape=3)), "cuda.ElementwiseKernel.__call__"),
    ("TypeError", lambda f: f(3, "kernel"), "cuda.RawKernel"),
    ("ValueError", lambda f: f("\ud800", "kernel"), "cuda.RawKernel"),
    ("TypeError", lambda f: f(KERNEL, 1, 1), "cuda.RawKernel.__call__"),
    ("ValueError", lambda f: f(KERNEL, 0, 1, (ones(),)), "cuda.RawKernel.__call__"),
    ("ValueError", lambda f: f(NOT_CPP), "cuda.RawKernel.attributes"),
    # the host driver
    ("ValueError", lambda f: f(nonsense=1), "hostcuda.load"),
    ("ValueError", lambda f: f(hostcuda.load(), nonsense=1), "hostcuda.Machine.configure"),
    ("ValueError", lambda f: f(hostcuda.load(), error="nonsense"), "hostcuda.Machine.fail"),
    ("RuntimeError", lambda f: f(hostcuda.load(), 9).__enter__(), "hostcuda.Machine.context"),
    ("FileNotFoundError", lambda f: f(compiler="no-such-compiler"), "hostcuda.build"),
    ("RuntimeError", lambda f: f(compiler="false"), "hostcuda.build"),
    ("PermissionError", open_to_all, "hostcuda.(build cache_folder)"),
]

# Errors of a process without a driver.
WITHOUT_DRIVER = [
    (
        "DeviceError",
        lambda f: f(),
        OF_A_DEVICE,
    ),
    ("DeviceError", lambda f: f.__get__(None, cuda.Stream)(5), "cuda.Stream.wrap"),
    ("DeviceError", lambda f: f(5, num_threads=32), "cuda.blocks_values_1d"),
    ("DeviceError", lambda f: f((5,), num_threads=32), "cuda.blocks_values_nd"),
    ("DeviceError", lambda f: f(), "cuda.calc_threads"),
    (
        "DeviceError",
        lambda f: f(INCREMENT, dl.wrap(4096, (2,), "float32", device="cuda")),
        "cuda.ElementwiseKernel.__call__",
    ),
    ("DeviceError", lambda f: f(KERNEL, 1, 1, (0,)), "cuda.RawKernel.__call__"),
    ("DeviceError", lambda f: f(KERNEL), "cuda.RawKernel.attributes"),
]


def with_two_drivers(f):
    hostcuda.load()
    hostcuda._loaded = None
    f()


# Errors of a process of their own: the driver starts once, and a module is imported once.
ALONE = [
    ("DeviceError", failed("cuInit", lambda f: f(), "CUDA_ERROR_NOT_INITIALIZED"), "cuda.device_count"),
    ("ImportError", without_ml_dtypes, "cuda.Transfer.result"),
    ("RuntimeError", with_two_drivers, "hostcuda.load"),
]

# Names, and how messages begin that do not begin with the name of the function.
BEGINNINGS = [
    (
        f"{OF_A_DEVICE} cuda.synchronize",
        "device",
    ),
    ("cuda.Stream.wrap", "stream"),
    ("cuda.Graph.capture", "capture|Stream.wrap"),
    ("cuda.Graph.launch", "launch"),
    (
        "cuda.(Event.elapsed_time Event.query Event.synchronize Stream.query Stream.synchronize synchronize)",
        r"cu[A-Z]\w+",
    ),
    ("cuda.Transfer.(result wait)", r"cuEventSynchronize"),
    ("cuda.ElementwiseKernel.__call__", "elementwise"),
    ("cuda.RawKernel.__call__", "RawKernel"),
    ("cuda.RawKernel.attributes", "compile"),
    ("hostcuda.(Machine.configure Machine.context Machine.fail build cache_folder load)", "hostcuda"),
]
