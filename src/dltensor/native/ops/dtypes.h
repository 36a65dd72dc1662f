/* SPDX-License-Identifier: Apache-2.0 */
/* Every element type, once. A new type is one row: constants, names, formats, switches, kernels * and
 * tests are generated from it. No types are defined here; the C++ ones are in floats.h. */
#pragma once

/* The buffer protocol's character for a 64-bit integer: NumPy writes "l" where long has 64 bits. */
#if defined(__LP64__)
#define DLT_FORMAT_INT64 "l"
#define DLT_FORMAT_UINT64 "L"
#else
#define DLT_FORMAT_INT64 "q"
#define DLT_FORMAT_UINT64 "Q"
#endif

/* Arithmetic types. Row: name, C++ type, DLPack code, bits, buffer format ("" where the protocol has none). */
/* clang-format off */
#define DLT_COMPUTED_DTYPES(X)                                     \
  X(bool, dlt::boolean, kDLBool, 8, "?")                           \
  X(int8, int8_t, kDLInt, 8, "b")                                  \
  X(int16, int16_t, kDLInt, 16, "h")                               \
  X(int32, int32_t, kDLInt, 32, "i")                               \
  X(int64, int64_t, kDLInt, 64, DLT_FORMAT_INT64)                  \
  X(uint8, uint8_t, kDLUInt, 8, "B")                               \
  X(uint16, uint16_t, kDLUInt, 16, "H")                            \
  X(uint32, uint32_t, kDLUInt, 32, "I")                            \
  X(uint64, uint64_t, kDLUInt, 64, DLT_FORMAT_UINT64)              \
  X(float16, dlt::float16, kDLFloat, 16, "e")                      \
  X(bfloat16, dlt::bfloat16, kDLBfloat, 16, "")                    \
  X(float32, float, kDLFloat, 32, "f")                             \
  X(float64, double, kDLFloat, 64, "d")                            \
  X(complex64, dlt::complex64, kDLComplex, 64, "Zf")               \
  X(complex128, dlt::complex128, kDLComplex, 128, "Zd")
/* clang-format on */

/* Storage-only types: converted from and to, no arithmetic. Same columns. Types of fewer than 8 bits are packed,
 * little bit-endian, unless the tensor's IS_SUBBYTE_TYPE_PADDED flag says one byte each. */
/* clang-format off */
#define DLT_STORAGE_DTYPES(X)                                              \
  X(float8_e3m4, dlt::float8_e3m4, kDLFloat8_e3m4, 8, "")                  \
  X(float8_e4m3, dlt::float8_e4m3, kDLFloat8_e4m3, 8, "")                  \
  X(float8_e4m3b11fnuz, dlt::float8_e4m3b11fnuz, kDLFloat8_e4m3b11fnuz, 8, "") \
  X(float8_e4m3fn, dlt::float8_e4m3fn, kDLFloat8_e4m3fn, 8, "")            \
  X(float8_e4m3fnuz, dlt::float8_e4m3fnuz, kDLFloat8_e4m3fnuz, 8, "")      \
  X(float8_e5m2, dlt::float8_e5m2, kDLFloat8_e5m2, 8, "")                  \
  X(float8_e5m2fnuz, dlt::float8_e5m2fnuz, kDLFloat8_e5m2fnuz, 8, "")      \
  X(float8_e8m0fnu, dlt::float8_e8m0fnu, kDLFloat8_e8m0fnu, 8, "")         \
  X(float6_e2m3fn, dlt::float6_e2m3fn, kDLFloat6_e2m3fn, 6, "")            \
  X(float6_e3m2fn, dlt::float6_e3m2fn, kDLFloat6_e3m2fn, 6, "")            \
  X(float4_e2m1fn, dlt::float4_e2m1fn, kDLFloat4_e2m1fn, 4, "")            \
  X(int4, dlt::int4, kDLInt, 4, "")                                        \
  X(uint4, dlt::uint4, kDLUInt, 4, "")                                     \
  X(int2, dlt::int2, kDLInt, 2, "")                                        \
  X(uint2, dlt::uint2, kDLUInt, 2, "")                                     \
  X(complex32, dlt::complex32, kDLComplex, 32, "Ze")
/* clang-format on */

#define DLT_DTYPES(X) DLT_COMPUTED_DTYPES(X) DLT_STORAGE_DTYPES(X)
