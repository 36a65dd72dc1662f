# SPDX-License-Identifier: Apache-2.0
# The struct of array.h and the functions of the engine for it, for other modules of this package.
from libc.stdint cimport int32_t, int64_t, uint64_t, uintptr_t
from libcpp.string cimport string

from .._core.native cimport Block, Fault
from .._core.types cimport DLDataType, DLDevice, DLManagedTensorVersioned, DLPackVersion, DLTensor


cdef extern from "dltensor/array.h" nogil:
    int DLT_SUCCESS, DLT_BUFFER_SIZE_ERROR, DLT_CALLBACK_ERROR, DLT_INTERNAL_ERROR
    ctypedef struct dlt_data_movement_t:
        uintptr_t sample_in
        uintptr_t sample_out
        uintptr_t properties_start_in
        uintptr_t properties_start_out
        uintptr_t properties_length
    ctypedef struct dlt_array_t:
        void* ptr
        void (*destroy)(void*) noexcept nogil
    ctypedef struct dlt_host_t:
        int32_t (*last_error)(const char**, const char**, void**) noexcept nogil
        int32_t (*set_last_error)(const char*, const char*, void*, void (*)(void*) noexcept nogil) noexcept nogil
    int32_t dlt_register_data_origin(const char*, uint64_t*)
    int32_t dlt_get_data_origin(uint64_t, char*, uintptr_t)
    int32_t dlt_last_error(const char**, const char**, void**)
    int32_t dlt_find_host(const char*, dlt_host_t*)

cdef extern from "native/opaque/array.h" namespace "dlt::opaque" nogil:
    enum: most_hosts
    cppclass Host:
        dlt_host_t calls
    cppclass Origin:
        string name
    cppclass DetailedStatus:
        Fault fault
        string message
        string source
        void* data
        const Host* host
        bint ok()
    cppclass ArraySpec:
        const DLTensor* view
        Block* block
        uint64_t flags
        const Origin* origin
        const Host* host
        void* owner
        void (*release_owner)(void*) noexcept nogil
    const Host* host_with(const dlt_host_t&) noexcept
    int known_hosts(const Host**) noexcept  # an array of most_hosts
    const Origin* origin_named(const char*) noexcept
    DetailedStatus make(const ArraySpec&, dlt_array_t*) except +
    bint is_ours(const dlt_array_t&) noexcept
    void* owner_of(const dlt_array_t&, void (*)(void*) noexcept nogil) noexcept
    int64_t live_handles() noexcept

cdef extern from "native/opaque/call.h" namespace "dlt::opaque" nogil:
    cppclass ArrayInfo:
        uint64_t origin
        string origin_name
        DLDevice device
        DLDataType dtype
        int32_t ndim
        int64_t* shape
    DetailedStatus read_info(const dlt_array_t&, const Host*, ArrayInfo*) except +
    DetailedStatus export_tensor(const char*, const dlt_array_t&, const Host*, DLDevice, const int64_t*, DLPackVersion,
                                 DLManagedTensorVersioned**) except +
    DetailedStatus call_from_dlpack(const dlt_array_t&, const Host*, DLManagedTensorVersioned*, dlt_array_t*) except +
    DetailedStatus call_reshape(const dlt_array_t&, const Host*, const uintptr_t*, uintptr_t) except +
    DetailedStatus call_swap_axes(const dlt_array_t&, const Host*, uintptr_t, uintptr_t) except +
    DetailedStatus call_create(const dlt_array_t&, const Host*, const uintptr_t*, uintptr_t, dlt_array_t,
                               dlt_array_t*) except +
    DetailedStatus call_copy(const dlt_array_t&, const Host*, DLDevice, dlt_array_t*) except +
    DetailedStatus call_move_data(const dlt_array_t&, const dlt_array_t&, const Host*, const dlt_data_movement_t*,
                                  uintptr_t) except +
    void call_destroy(dlt_array_t*) noexcept

cdef extern from "native/opaque/deferred_release.h" namespace "dlt::opaque" nogil:
    void set_wakeup(void (*)() noexcept nogil) noexcept

cdef extern from "opaque/python_refs.h" namespace "dlt" nogil:
    cppclass Foreign:
        Block* exported
        dlt_array_t array
        void* owner
    cppclass Users:
        int count() noexcept
    cppclass Use:
        void begin(Users*) noexcept
    void drop_object(void*) noexcept
    void drop_pending() noexcept
    void ask_main_thread() noexcept
    void free_block_ref(Block*) noexcept
    void free_foreign(Block*) noexcept
    void destroy_without_gil(dlt_array_t*) noexcept


cdef class OpaqueArray:
    cdef dlt_array_t impl        # with `destroy` for the receiver of the struct
    cdef bint owned              # destroyed with this object
    cdef bint transferred        # the struct must not be used any more
    cdef Users users             # calls that are running
    cdef object parent           # owner of an array that is not owned
    cdef object __weakref__
    cdef const dlt_array_t* array(self, Use* use) except NULL
    cdef int read_info(self, ArrayInfo* info) except -1
    cdef object _scalar(self, object number)
