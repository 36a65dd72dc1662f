// SPDX-License-Identifier: Apache-2.0
// Reading, writing and comparing one element, from the rows of dtypes.h.
#include "native/cpu/copy/scalar.h"

#include <math.h>
#include <string.h>

#include <type_traits>

#include "native/ops/elementwise/bodies.h"
#include "native/cpu/runtime/bits.h"

namespace dlt {
namespace {

template <class T>
void read(T value, Scalar* out) {
  if constexpr (std::is_same_v<T, boolean>) {
    *out = {Kind::boolean, value.bits != 0, value.bits != 0, double(value.bits != 0), 0};
  } else if constexpr (std::is_integral_v<T>) {
    *out = {std::is_signed_v<T> ? Kind::signed_integer : Kind::unsigned_integer, int64_t(value), uint64_t(value), double(value),
            0};
  } else {
    *out = {Kind::real, 0, 0, to_double(value), 0};
  }
}
template <int W, bool S>
void read(small_int<W, S> value, Scalar* out) {
  const int v = to_int(value);
  *out = {S ? Kind::signed_integer : Kind::unsigned_integer, v, uint64_t(v), double(v), 0};
}
template <class T>
void read(complex_of<T> value, Scalar* out) {
  *out = {Kind::complex, 0, 0, to_double(value.re), to_double(value.im)};
}

bool is_true(const Scalar& v) {
  switch (v.kind) {
    case Kind::real: return v.re != 0;
    case Kind::complex: return v.re != 0 || v.im != 0;
    case Kind::signed_integer: return v.i != 0;
    default: return v.u != 0;
  }
}

template <class T>
T to_integer(const Scalar& v, Rounding rounding, bool saturate) {
  switch (v.kind) {
    case Kind::signed_integer: return saturate ? clamp_integer<T>(v.i) : T(v.i);
    case Kind::real:
    case Kind::complex: return clamp_float<T>(rounding == Rounding::nearest ? nearbyint(v.re) : v.re);
    default: return saturate ? clamp_integer<T>(v.u) : T(v.u);
  }
}

template <class T>
T to_real(const Scalar& v, bool saturate) {
  double wide = v.re;
  if (v.kind == Kind::signed_integer || v.kind == Kind::boolean || v.kind == Kind::unsigned_integer) {
    const bool is_signed = v.kind == Kind::signed_integer;
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) return is_signed ? T(v.i) : T(v.u);
    wide = is_signed ? to_odd(v.i) : to_odd(v.u);
  }
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) return T(wide);
  else if constexpr (std::is_same_v<T, float8_e8m0fnu>) return round_to_e8m0(wide, saturate);
  else return round_to<T>(wide, saturate && sizeof(T) == 1);
}

template <class T>
struct writer {
  static T of(const Scalar& v, Rounding rounding, bool saturate) {
    if constexpr (std::is_same_v<T, boolean>) return {uint8_t(is_true(v))};
    else if constexpr (std::is_integral_v<T>) return to_integer<T>(v, rounding, saturate);
    else return to_real<T>(v, saturate);
  }
};
template <int W, bool S>
struct writer<small_int<W, S>> {
  using T = small_int<W, S>;
  static T of(const Scalar& v, Rounding rounding, bool saturate) {
    const bool is_float = v.kind == Kind::real || v.kind == Kind::complex;
    if (!is_float && !saturate) return small_int_from<T>(int32_t(v.kind == Kind::signed_integer ? v.i : int64_t(v.u)));
    const int32_t wide = to_integer<int32_t>(v, rounding, true);
    return small_int_from<T>(wide < T::lowest ? T::lowest : wide > T::highest ? T::highest : wide);
  }
};
template <class T>
struct writer<complex_of<T>> {
  static complex_of<T> of(const Scalar& v, Rounding, bool saturate) {
    Scalar imaginary = v;
    imaginary.kind = Kind::real;
    imaginary.re = v.kind == Kind::complex ? v.im : 0;
    return {to_real<T>(v, saturate), to_real<T>(imaginary, saturate)};
  }
};

template <class T, int BITS>
void load(const void* base, int64_t index, bool padded, Scalar* out) {
  T value;
  if constexpr (BITS < 8) {
    const auto* bytes = static_cast<const uint8_t*>(base);
    value.bits = padded ? uint8_t(bytes[index] & ((1u << BITS) - 1)) : load_bits(base, index * BITS, BITS);
  } else {
    memcpy(&value, static_cast<const char*>(base) + index * int64_t(sizeof(T)), sizeof(T));
  }
  read(value, out);
}

template <class T, int BITS>
void store(void* base, int64_t index, bool padded, T value) {
  if constexpr (BITS < 8) {
    if (padded) static_cast<uint8_t*>(base)[index] = value.bits;
    else store_bits(base, index * BITS, BITS, value.bits);
  } else {
    memcpy(static_cast<char*>(base) + index * int64_t(sizeof(T)), &value, sizeof(T));
  }
}

int order(bool less, bool equal) { return equal ? 0 : less ? -1 : 1; }

}  // namespace

bool load_scalar(const void* base, int64_t index, DLDataType dtype, bool padded, Scalar* out) {
  switch (find_type(dtype)) {
#define DLT_CASE(name, type, code, bits, format) \
  case type_##name: load<type, bits>(base, index, padded, out); return true;
    DLT_DTYPES(DLT_CASE)
#undef DLT_CASE
    default: return false;
  }
}

bool store_scalar(void* base, int64_t index, DLDataType dtype, bool padded, const Scalar& value, Rounding rounding,
                  bool saturate) {
  switch (find_type(dtype)) {
#define DLT_CASE(name, type, code, bits, format) \
  case type_##name: store<type, bits>(base, index, padded, writer<type>::of(value, rounding, saturate)); return true;
    DLT_DTYPES(DLT_CASE)
#undef DLT_CASE
    default: return false;
  }
}

int compare_scalars(const Scalar& a, const Scalar& b) {
  const auto imaginary = [](const Scalar& v) { return v.kind == Kind::complex ? v.im : 0.0; };
  if (a.kind == Kind::complex || b.kind == Kind::complex) {
    Scalar x = a, y = b;
    if (x.kind == Kind::complex) x.kind = Kind::real;
    if (y.kind == Kind::complex) y.kind = Kind::real;
    return imaginary(a) == imaginary(b) && compare_scalars(x, y) == 0 ? 0 : 2;
  }
  if (a.kind == Kind::real && b.kind == Kind::real) return a.re == a.re && b.re == b.re ? order(a.re < b.re, a.re == b.re) : 2;
  if (a.kind == Kind::real) {
    const int other_way = compare_scalars(b, a);
    return other_way == 2 ? 2 : -other_way;
  }
  const bool a_signed = a.kind == Kind::signed_integer;
  if (b.kind == Kind::real) return a_signed ? ops::exact_order(a.i, b.re) : ops::exact_order(a.u, b.re);
  const bool b_signed = b.kind == Kind::signed_integer;
  if (a_signed && a.i < 0) return b_signed ? order(a.i < b.i, a.i == b.i) : -1;
  if (b_signed && b.i < 0) return 1;
  const uint64_t x = a_signed ? uint64_t(a.i) : a.u, y = b_signed ? uint64_t(b.i) : b.u;
  return order(x < y, x == y);
}

}  // namespace dlt
