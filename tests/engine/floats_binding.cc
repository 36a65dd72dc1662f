// SPDX-License-Identifier: Apache-2.0
// Lets the tests call the conversions of floats.h on arrays, through one C function per type and direction.
#include "dltensor/dlpack.h"
#include "native/ops/dtypes.h"
#include "native/ops/floats.h"

namespace dlt {
template <class T>
struct conversions {
  static void to(const void* in, void* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) static_cast<float*>(out)[i] = to_float(static_cast<const T*>(in)[i]);
  }
  static void of(const void* in, void* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = from<T>(static_cast<const float*>(in)[i]);
  }
  static void of_double(const void* in, void* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = from<T>(static_cast<const double*>(in)[i]);
  }
};
template <int W, bool S>
struct conversions<small_int<W, S>> {
  using T = small_int<W, S>;
  static void to(const void* in, void* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) static_cast<float*>(out)[i] = to_float(static_cast<const T*>(in)[i]);
  }
  static void of(const void* in, void* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      static_cast<T*>(out)[i] = small_int_from<T>(static_cast<int32_t>(static_cast<const float*>(in)[i]));
  }
  static void of_double(const void* in, void* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      static_cast<T*>(out)[i] = small_int_from<T>(static_cast<int32_t>(static_cast<const double*>(in)[i]));
  }
};
struct nothing {
  static void to(const void*, void*, int64_t) {}
  static void of(const void*, void*, int64_t) {}
  static void of_double(const void*, void*, int64_t) {}
};
template <class T>
struct conversions<complex_of<T>> : nothing {};
template <>
struct conversions<boolean> : nothing {};
template <>
struct conversions<int8_t> : nothing {};
template <>
struct conversions<int16_t> : nothing {};
template <>
struct conversions<int32_t> : nothing {};
template <>
struct conversions<int64_t> : nothing {};
template <>
struct conversions<uint8_t> : nothing {};
template <>
struct conversions<uint16_t> : nothing {};
template <>
struct conversions<uint32_t> : nothing {};
template <>
struct conversions<uint64_t> : nothing {};
}  // namespace dlt

#define DLT_CONVERSIONS(name, type, code, bits, format)                                                       \
  static_assert(sizeof(type) * 8 == bits || (bits < 8 && sizeof(type) == 1), #name);                          \
  extern "C" void to_##name(const void* in, void* out, int64_t n) { dlt::conversions<type>::to(in, out, n); } \
  extern "C" void of_##name(const void* in, void* out, int64_t n) { dlt::conversions<type>::of(in, out, n); } \
  extern "C" void of_double_##name(const void* in, void* out, int64_t n) { dlt::conversions<type>::of_double(in, out, n); }
DLT_DTYPES(DLT_CONVERSIONS)
