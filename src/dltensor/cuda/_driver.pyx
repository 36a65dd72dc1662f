# SPDX-License-Identifier: Apache-2.0
# The CUDA functions that need no tensor: devices, streams, events, memory figures, launch settings.
# Operations on tensors are in native/cuda/runtime/engine.h, public functions in the other modules of this package.
from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uintptr_t
from libcpp cimport bool as truth

from cpython.exc cimport PyErr_Fetch, PyErr_Restore
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject

from .._core.dlpack cimport free_object
from .._core.threads cimport Flag
from .._core.native cimport MAX_DIMS, Block, adopt

from .._core.errors import keep_exception


cdef extern from "native/cuda/runtime/device.h" namespace "dlt::cuda" nogil:
    cdef cppclass Properties:
        int major, minor, multiprocessor_count
        const char* name
        const char* pci_bus_id
        size_t total_memory
        int least_priority, greatest_priority
    Status device_count(int*) noexcept
    Status device_properties(int, const Properties**) noexcept
    int cores_per_multiprocessor(int, int) noexcept
    Status synchronize_device(int) noexcept
    Status memory_info(int, size_t*, size_t*) noexcept

cdef extern from "native/cuda/runtime/driver.h" namespace "dlt::cuda" nogil:
    cdef enum class Library(int):
        driver
        nvrtc
        cublas
        cufft
        cusolver
    Status set_library_path(Library, const char*) noexcept
    const char* library_path(Library) noexcept
    Status load_driver() noexcept
    Status load_nvrtc() noexcept
    Status load_cublas() noexcept

cdef extern from "native/cuda/memory/memory.h" namespace "dlt::cuda" nogil:
    cdef cppclass Usage:
        int64_t live_blocks, live_bytes, peak_bytes, cached_bytes, driver_allocations
        int64_t pinned_live_bytes, pinned_cached_bytes, captured_bytes, waiting, shared_bytes
    Status usage(int, Usage*) noexcept
    Status native_reset_peak "dlt::cuda::reset_peak"(int) noexcept
    size_t native_empty_cache "dlt::cuda::empty_cache"(int) noexcept
    void set_python_lock(void* (*)() noexcept, void (*)(void*) noexcept) noexcept
    void native_set_cache_limit "dlt::cuda::set_cache_limit"(size_t) noexcept

cdef extern from "native/cuda/runtime/launch.h" namespace "dlt::cuda" nogil:
    cdef cppclass Blocks1d:
        int64_t num_blocks, values_per_thread, numel
    cdef cppclass BlocksNd:
        int64_t grid_x, grid_y, grid_z, values_per_thread, count
    Status check_launch(const NativeLaunch&) noexcept
    int native_calc_threads "dlt::cuda::calc_threads"(int, int, int) noexcept
    Blocks1d native_blocks_1d "dlt::cuda::blocks_values_1d"(int64_t, int, const NativeLaunch&) noexcept
    BlocksNd native_blocks_nd "dlt::cuda::blocks_values_nd"(int, const int64_t*, int, const NativeLaunch&) noexcept
    const NativeLaunch* native_thread_launch "dlt::cuda::thread_launch"() noexcept
    void native_set_thread_launch "dlt::cuda::set_thread_launch"(const NativeLaunch*) noexcept

cdef extern from "native/cuda/runtime/engine.h" namespace "dlt::cuda" nogil:
    truth native_thread_tf32 "dlt::cuda::thread_tf32"() noexcept
    void native_set_thread_tf32 "dlt::cuda::set_thread_tf32"(truth) noexcept

cdef extern from "native/cuda/runtime/index_checks.h" namespace "dlt::cuda" nogil:
    truth native_late_index_checks "dlt::cuda::late_index_checks"() noexcept
    void native_set_late_index_checks "dlt::cuda::set_late_index_checks"(truth) noexcept

cdef extern from "native/cuda/memory/recording.h" namespace "dlt::cuda" nogil:
    Status join_recording(NativeStream&) noexcept

cdef extern from "native/cuda/runtime/abi.h" namespace "dlt::cuda" nogil:
    ctypedef int CUresult
    const CUresult kSuccess, kOutOfMemory, kInvalidValue

cdef extern from "native/cuda/memory/source.h" namespace "dlt::cuda" nogil:
    cdef cppclass Allocator:
        pass
    void native_set_allocator "dlt::cuda::set_allocator"(Allocator*) noexcept

cdef extern from *:
    """
    #include <new>
    #include "native/cuda/memory/source.h"
    // Cython's functions raise nothing here, which their types do not say.
    template <class Allocate, class Free, class Release>
    static dlt::cuda::Allocator* dlt_new_allocator(void* state, Allocate allocate, Free free, Release release) {
      return new (std::nothrow)
          dlt::cuda::Allocator{state, reinterpret_cast<decltype(dlt::cuda::Allocator::allocate)>(allocate),
                               reinterpret_cast<decltype(dlt::cuda::Allocator::free)>(free),
                               reinterpret_cast<decltype(dlt::cuda::Allocator::release)>(release)};
    }
    template <class Hook>
    static void dlt_set_memory_hook(Hook hook) {
      dlt::cuda::set_memory_hook(reinterpret_cast<int (*)() noexcept>(hook));
    }
    """
    Allocator* new_allocator "dlt_new_allocator"(
        void*, CUresult (*)(void*, size_t, int, CUstream, void**) noexcept nogil,
        void (*)(void*, void*, size_t, int, CUstream) noexcept nogil, void (*)(void*) noexcept nogil) noexcept
    void set_native_memory_hook "dlt_set_memory_hook"(CUresult (*)() noexcept) noexcept

cdef extern from "_core/interop/gil.h" namespace "dlt" nogil:
    bint python_is_gone() noexcept

cdef extern from "native/cuda/runtime/graph.h" namespace "dlt::cuda" nogil:
    cdef cppclass NativeGraph "dlt::cuda::Graph":
        pass
    Status begin_graph(NativeStream&, NativeGraph**) noexcept
    Status end_graph(NativeGraph*, truth) noexcept
    Status launch_graph(NativeGraph*, NativeStream&) noexcept
    truth graph_writes(const NativeGraph*, const void*) noexcept
    void destroy_graph(NativeGraph*) noexcept

cdef extern from "native/cuda/compile/compiler.h" namespace "dlt::cuda" nogil:
    cdef cppclass CompilerStatistics:
        int64_t compiled, from_disk, refused
        double seconds
    Status set_source_folder(const char*) noexcept
    Status set_compiled_kernels(const char*) noexcept
    CompilerStatistics compiler_statistics() noexcept

cdef extern from *:
    """
    // The properties of a device as a dict, under their Python names.
    #include "native/cuda/runtime/device.h"
    static inline PyObject* dlt_cuda_properties(const dlt::cuda::Properties* p) {
      PyObject* out = PyDict_New();
      if (!out) return NULL;
      bool good = true;
      auto put = [&](const char* name, PyObject* value) {
        good = good && value && PyDict_SetItemString(out, name, value) == 0;
        Py_XDECREF(value);
      };
    #define DLT_PUT(name, attribute) put(#name, PyLong_FromLong(p->name));
      DLT_CUDA_PROPERTIES(DLT_PUT)
    #undef DLT_PUT
      put("name", PyUnicode_FromString(p->name));
      put("pci_bus_id", PyUnicode_FromString(p->pci_bus_id));
      put("total_memory", PyLong_FromSize_t(p->total_memory));
      put("least_priority", PyLong_FromLong(p->least_priority));
      put("greatest_priority", PyLong_FromLong(p->greatest_priority));
      if (!good) Py_CLEAR(out);
      return out;
    }
    """
    object dlt_cuda_properties(const Properties*)


cdef extern from *:
    """
    #include "_core/interop/gil.h"
    static void* dlt_leave_python() noexcept {
      return dlt::holds_gil() && !dlt::python_is_gone() ? PyEval_SaveThread() : nullptr;
    }
    static void dlt_enter_python(void* state) noexcept { PyEval_RestoreThread(static_cast<PyThreadState*>(state)); }
    """
    void* leave_python "dlt_leave_python"() noexcept nogil
    void enter_python "dlt_enter_python"(void*) noexcept nogil


set_python_lock(leave_python, enter_python)


def set_folders(str sources, str compiled):
    """Set the folders of the kernel sources and of the precompiled kernels."""
    check(set_source_folder(sources.encode()))
    check(set_compiled_kernels(compiled.encode()))


def hint(int library, str path):
    """Set a path to try before the engine's own search: 0 the driver, 1 NVRTC, 2 cuBLAS."""
    check(set_library_path(<Library>library, path.encode()))


def loaded_from(int library):
    """Return the path of a loaded library, or ""."""
    return library_path(<Library>library).decode()


def require(int library):
    """Load a library, or raise DeviceError with what was tried and the remedy."""
    cdef Status status
    with nogil:
        status = load_driver() if library == 0 else load_nvrtc() if library == 1 else load_cublas()
    check(status)


def count():
    """Count the devices."""
    cdef int n = 0
    cdef Status status
    with nogil:
        status = device_count(&n)
    check(status)
    return n


def properties(int device):
    """Return the properties of a device."""
    cdef const Properties* p = NULL
    check(device_properties(device, &p))
    return dlt_cuda_properties(p)


def cores(int major, int minor):
    """Return the CUDA cores of one multiprocessor."""
    return cores_per_multiprocessor(major, minor)


def synchronize(int device):
    """Wait for all work of a device."""
    cdef Status status
    with nogil:
        status = synchronize_device(device)
    check(status)


def mem_info(int device):
    """Return free and total bytes of a device."""
    cdef size_t free = 0, total = 0
    check(memory_info(device, &free, &total))
    return free, total


def memory_usage(int device):
    """Return the memory the engine holds on a device."""
    cdef Usage u
    check(usage(device, &u))
    return {
        "live_blocks": u.live_blocks, "live_bytes": u.live_bytes, "peak_bytes": u.peak_bytes,
        "cached_bytes": u.cached_bytes, "driver_allocations": u.driver_allocations,
        "pinned_live_bytes": u.pinned_live_bytes, "pinned_cached_bytes": u.pinned_cached_bytes,
        "captured_bytes": u.captured_bytes, "waiting": u.waiting, "shared_bytes": u.shared_bytes,
    }


def reset_peak(int device):
    """Let the peak of a device count from what is live now."""
    check(native_reset_peak(device))


def empty_cache(int device):
    """Free idle memory; -1: of every device."""
    cdef size_t freed
    with nogil:
        freed = native_empty_cache(device)
    return freed


def set_cache_limit(size_t bytes):
    """Set what each stream may keep idle."""
    native_set_cache_limit(bytes)


def compiled():
    """Return how many kernels were compiled, loaded from disk and refused, and the seconds it took."""
    cdef CompilerStatistics s = compiler_statistics()
    return s.compiled, s.from_disk, s.refused, s.seconds


# ---- launch settings, and what else a thread may choose

def thread_tf32():
    """Return whether the calling thread allows float32 products to be rounded to TF32."""
    return native_thread_tf32()


def set_thread_tf32(bint allowed):
    """Set whether it does."""
    native_set_thread_tf32(allowed)


def late_index_checks():
    """Return whether the calling thread's indexing reports indices out of range later."""
    return native_late_index_checks()


def set_late_index_checks(bint late):
    """Set whether it does."""
    native_set_late_index_checks(late)


cdef int read_launch(object settings, NativeLaunch* out, str func) except -1:
    try:
        out.blocks_per_sm, out.num_threads, out.values_per_thread = settings
    except OverflowError:
        raise ValueError(f"{func}: launch settings must be integers that fit C's int, got {settings}") from None
    return check_status(check_launch(out[0]), func)


def check_settings(settings, str func):
    """Raise ValueError for settings that no device can run."""
    cdef NativeLaunch launch
    read_launch(settings, &launch, func)


def thread_launch():
    """Return the calling thread's launch settings as a tuple, or None."""
    cdef const NativeLaunch* launch = native_thread_launch()
    if launch == NULL:
        return None
    return launch.blocks_per_sm, launch.num_threads, launch.values_per_thread


def set_thread_launch(settings):
    """Set the calling thread's launch settings; None clears them."""
    cdef NativeLaunch launch
    if settings is None:
        native_set_thread_launch(NULL)
        return
    read_launch(settings, &launch, "launch")
    native_set_thread_launch(&launch)


def calc_threads(int threads, int major, int minor):
    """Return `threads`, or when that is 0 the cores of one multiprocessor."""
    return native_calc_threads(threads, major, minor)


def blocks_1d(int64_t numel, int multiprocessors, settings):
    """Return blocks, values for each thread, and elements."""
    cdef NativeLaunch launch
    read_launch(settings, &launch, "blocks_values_1d")
    cdef Blocks1d b = native_blocks_1d(numel, multiprocessors, launch)
    return b.num_blocks, b.values_per_thread, b.numel


def blocks_nd(shape, int multiprocessors, settings):
    """Return the grid, values for each thread, and elements of one entry of dimension 0."""
    cdef NativeLaunch launch
    cdef int64_t extents[MAX_DIMS]
    cdef Py_ssize_t i, n = len(shape)
    if n > MAX_DIMS:
        raise ValueError(f"blocks_values_nd: expected at most {MAX_DIMS} dimensions, got {n}")
    read_launch(settings, &launch, "blocks_values_nd")
    for i in range(n):
        extents[i] = shape[i]
    cdef BlocksNd b = native_blocks_nd(<int>n, extents, multiprocessors, launch)
    return (b.grid_x, b.grid_y, b.grid_z), b.values_per_thread, b.count


# ---- streams and events

cdef Flag _started


cdef int start() except -1:
    """Set the engine's paths before its first use."""
    if not _started.is_set():
        from ._device import start as tell_folders
        tell_folders()
        _started.set()
    return 0


cdef NativeStream* stream_on(int ordinal) except NULL:
    """The calling thread's stream of a device."""
    cdef NativeStream* stream = NULL
    if not _started.is_set():
        start()
    check(native_current_stream(ordinal, &stream))
    return stream


cdef NativeStream* stream_or_null(int ordinal) except? NULL:
    """The same, NULL where there is no driver or no such device: then it has no work of ours either."""
    cdef NativeStream* stream = NULL
    start()
    return stream if native_current_stream(ordinal, &stream).fault == Fault.none else NULL


cdef class StreamCore:
    """A stream: our own, destroyed with this object, or a foreign one.

    `owner` keeps a foreign one alive: for this object, and after it for memory that still names the stream.
    """
    cdef NativeStream* impl
    cdef bint ours
    cdef Block* owner

    def __cinit__(self, int device, int priority, object handle, object owner):
        cdef Status status
        cdef CUstream raw
        if handle is None:
            with nogil:
                status = create_stream(device, priority, &self.impl)
            check(status)
            self.ours = True
        else:
            raw = <CUstream><uintptr_t>handle
            with nogil:
                status = stream_of(device, raw, &self.impl)
            check(status)
            hold_stream(self.impl[0])
            if not isinstance(owner, int):
                self.owner = adopt(NULL, <void*>owner, free_object)
                if self.owner == NULL:
                    raise MemoryError("Stream.wrap: allocation failed for a block header")
                Py_INCREF(owner)

    def __dealloc__(self):
        if self.impl == NULL:
            return
        with nogil:
            if self.ours:
                destroy_stream(self.impl)
            else:
                release_stream_owner(self.impl[0], self.owner)

    @property
    def handle(self):
        """The raw CUstream as an int. Others may enqueue work there from now on."""
        return <uintptr_t>share_handle(self.impl[0])

    @property
    def ordinal(self):
        """The number of the device."""
        return self.impl.device.ordinal

    @property
    def priority(self):
        """0, or less for more urgent streams."""
        return self.impl.priority

    def synchronize(self):
        """Wait until all work is done."""
        cdef Status status
        with nogil:
            status = synchronize_stream(self.impl)
        check(status)

    def query(self):
        """Return whether all work is done."""
        cdef Status status
        with nogil:
            status = query_stream(self.impl)
        if status.fault == Fault.not_ready:
            return False
        check(status)
        return True

    def capturing(self):
        """Return whether a graph is being captured on it."""
        cdef truth answer = False
        check(is_capturing(self.impl[0], &answer))
        return answer

    def wait_for(self, StreamCore other not None):
        """Wait on the device for the work that `other` has now."""
        cdef Status status
        with nogil:
            status = order_after(self.impl[0], other.impl[0])
        check(status)

    def make_current(self):
        """Make it the calling thread's stream of its device."""
        check(join_recording(self.impl[0]))
        set_current_stream(self.impl)

    def is_current(self):
        """Return whether it is the calling thread's stream of its device."""
        cdef NativeStream* now = NULL
        check(native_current_stream(self.impl.device.ordinal, &now))
        return now == self.impl


def current_handle(int device):
    """Return the raw handle of the calling thread's stream of a device."""
    cdef NativeStream* now = NULL
    check(native_current_stream(device, &now))
    return now.number()


cdef class EventCore:
    """An event in a stream."""
    cdef CUevent impl
    cdef readonly int ordinal
    # The driver refuses most uses of an event of a capture, and of another event in one, and loses the capture too.
    cdef bint recorded, captured

    cdef int _not_captured(self, str func) except -1:
        if self.captured:
            raise BufferError(f"Event.{func}: the event was recorded while a CUDA graph was being captured, and stands "
                              f"for a place in the graph; record it again outside the capture")
        return 0

    def __cinit__(self, int device, bint timing, bint blocking):
        self.ordinal = device
        check(create_event(device, timing, blocking, &self.impl))

    def __dealloc__(self):
        if self.impl != NULL:
            destroy_event(self.ordinal, self.impl)

    @property
    def handle(self):
        """The raw CUevent as an int."""
        return <uintptr_t>self.impl

    def record(self, StreamCore stream not None):
        """Record the work enqueued on the stream so far."""
        cdef truth captured = False
        cdef Status status
        with nogil:
            status = is_capturing(stream.impl[0], &captured)
            if status.fault == Fault.none:
                status = record_event(self.impl, stream.impl)
        check(status)
        self.recorded, self.captured = True, captured

    def wait_on(self, StreamCore stream not None):
        """Make a stream wait for the event."""
        cdef truth capturing = False
        check(is_capturing(stream.impl[0], &capturing))
        if capturing and self.recorded and not self.captured:
            raise BufferError("Stream.wait: a CUDA graph is being captured on this stream, which cannot wait for an "
                              "event from outside the capture; wait for it before the capture")
        cdef Status status
        with nogil:
            status = wait_event(stream.impl, self.impl)
        check(status)

    def query(self):
        """Return whether it has happened."""
        self._not_captured("query")
        cdef Status status
        with nogil:
            status = query_event(self.ordinal, self.impl)
        if status.fault == Fault.not_ready:
            return False
        check(status)
        return True

    def synchronize(self):
        """Wait until it has happened."""
        cdef Status status
        self._not_captured("synchronize")
        with nogil:
            status = synchronize_event(self.ordinal, self.impl)
        check(status)

    def elapsed_time(self, EventCore end not None):
        """Return the milliseconds from here to `end`."""
        cdef float milliseconds = 0
        self._not_captured("elapsed_time")
        end._not_captured("elapsed_time")
        check(native_elapsed_time(self.ordinal, self.impl, end.impl, &milliseconds))
        return milliseconds


cdef class GraphCore:
    """A graph that is captured, launched and destroyed, in this order; calls for one must not overlap."""
    cdef NativeGraph* impl

    def __dealloc__(self):
        self.release()

    def begin(self, StreamCore stream not None):
        """Start the capture of a stream."""
        cdef Status status
        with nogil:
            status = begin_graph(stream.impl[0], &self.impl)
        check(status)

    def end(self, bint keep):
        """End the capture; after a failure, and unless `keep`, the graph is gone."""
        cdef Status status
        with nogil:
            status = end_graph(self.impl, keep)
        try:
            check(status)
        finally:
            if not keep or status.fault != Fault.none:
                self.release()

    def launch(self, StreamCore stream not None):
        """Enqueue the graph on a stream."""
        cdef Status status
        with nogil:
            status = launch_graph(self.impl, stream.impl[0])
        check(status)

    def writes(self, uintptr_t address):
        """Return whether the graph writes to memory that was allocated before its capture, by its address."""
        return graph_writes(self.impl, <const void*>address)

    def release(self):
        """Destroy the graph and release the memory that it uses."""
        cdef NativeGraph* graph = self.impl
        self.impl = NULL
        with nogil:
            destroy_graph(graph)


# ---- memory of other libraries

cdef CUresult _allocate(void* functions, size_t nbytes, int device, CUstream stream, void** out) noexcept with gil:
    try:
        out[0] = <void*><uintptr_t>(<object>functions).allocate(nbytes, device, <uintptr_t>stream)
        return kSuccess
    except BaseException as error:
        keep_exception(error)
        return kOutOfMemory if (<object>functions).is_exhausted(error) else kInvalidValue


cdef void _call_free(object functions, uintptr_t pointer, size_t nbytes, int device, uintptr_t stream) noexcept:
    functions.free(pointer, nbytes, device, stream)  # an exception goes to sys.unraisablehook


cdef void _free_held(void* functions, void* pointer, size_t nbytes, int device, CUstream stream) noexcept with gil:
    # Another exception may be on its way where memory is released.
    cdef PyObject* kind
    cdef PyObject* value
    cdef PyObject* traceback
    PyErr_Fetch(&kind, &value, &traceback)
    _call_free(<object>functions, <uintptr_t>pointer, nbytes, device, <uintptr_t>stream)
    PyErr_Restore(kind, value, traceback)


cdef void _free(void* functions, void* pointer, size_t nbytes, int device, CUstream stream) noexcept nogil:
    if not python_is_gone():
        _free_held(functions, pointer, nbytes, device, stream)


cdef void _release_held(void* functions) noexcept with gil:
    Py_DECREF(<object>functions)


cdef void _release(void* functions) noexcept nogil:
    if not python_is_gone():
        _release_held(functions)


def set_allocator(functions):
    """Take device memory from `functions.allocate` from now on; None: from the driver."""
    cdef Allocator* allocator = NULL
    if functions is not None:
        allocator = new_allocator(<void*>functions, _allocate, _free, _release)
        if allocator == NULL:
            raise MemoryError("set_allocator: allocation failed")
        Py_INCREF(functions)
    with nogil:
        native_set_allocator(allocator)


cdef object _hook = None


cdef CUresult _call_hook() noexcept with gil:
    try:
        return kSuccess if _hook() else kOutOfMemory
    except BaseException as error:
        keep_exception(error)
        return kInvalidValue


def set_memory_hook(hook):
    """Set what is called where there is no memory; it returns whether the allocation is to be tried again."""
    global _hook
    _hook = hook
    set_native_memory_hook(_call_hook)
