# SPDX-License-Identifier: Apache-2.0
# threads.h as Cython sees it.
cdef extern from "_core/threads.h" namespace "dlt" nogil:
    cppclass Published[T]:
        T* get() noexcept
        void set(T*) noexcept
        bint offer(T*) noexcept

    cppclass Flag:
        bint is_set() noexcept
        void set() noexcept
        bint claim() noexcept
