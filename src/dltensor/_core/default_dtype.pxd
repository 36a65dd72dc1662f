# SPDX-License-Identifier: Apache-2.0
cdef extern from "native/cpu/runtime/default_dtype.h" namespace "dlt" nogil:
    int process_default() noexcept
    void set_process_default(int) noexcept
    void count_contexts(int) noexcept
    bint has_context_defaults() noexcept

cdef int context_default() noexcept
cpdef object new_context_variable(str name, object default)
# Return the number of the default dtype, type_float32 or type_float64.
cdef inline int default_real() noexcept:
    return context_default() if has_context_defaults() else process_default()
