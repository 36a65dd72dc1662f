# SPDX-License-Identifier: Apache-2.0
cdef int refuse_library(str func, str library, str remedy) except -1
