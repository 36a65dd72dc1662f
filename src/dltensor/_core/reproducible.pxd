# SPDX-License-Identifier: Apache-2.0
cdef bint must_reproduce() except -1
cdef int refuse_library(str func, str library, str remedy) except -1
