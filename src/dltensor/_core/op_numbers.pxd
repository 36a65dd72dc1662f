# SPDX-License-Identifier: Apache-2.0
# Numbers of element-wise operations. Apart from native.pxd: a new row of ops.h compiles only what names an operation.
from .native cimport Real

cdef extern from "native/cpu/elementwise/op_numbers.h" namespace "dlt" nogil:
    int op_add, op_clip, op_subtract, op_multiply, op_divide, op_floor_divide, op_remainder, op_pow, op_fma
    int op_bitwise_and, op_bitwise_or, op_bitwise_xor, op_bitwise_left_shift, op_bitwise_right_shift, op_bitwise_invert
    int op_less, op_less_equal, op_greater, op_greater_equal, op_equal, op_not_equal, op_negative, op_positive, op_abs
    int op_maximum, op_minimum, op_copysign, op_isfinite, op_isinf, op_isnan, op_sign, op_signbit
    int op_logical_and, op_logical_not, op_logical_or, op_logical_xor
    int comparison_of(int)
    Real REAL_ADD "dlt::real_add"
    Real REAL_RSUB "dlt::real_rsub"
    Real REAL_MULTIPLY "dlt::real_multiply"
    Real REAL_DIVIDE "dlt::real_divide"
    Real REAL_RDIVIDE "dlt::real_rdivide"
    Real REAL_FMA "dlt::real_fma"
