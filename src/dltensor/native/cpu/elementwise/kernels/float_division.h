// SPDX-License-Identifier: Apache-2.0
// Floored quotients and remainders of floats whose quotient is small, by a division and a fused operation. Others, and zero divisors,
// infinities and NaN, are left to the bodies of bodies.h, whose results these are.
#pragma once
#include <type_traits>

#include "native/cpu/elementwise/kernels/loops.h"

namespace dlt::DLT_LEVEL {

// The floor of x / y. Rounded quotients are at most one too large: the remainder then has the other sign than y.
template <class T>
struct FlooredQuotient {
  double whole, rest;
  bool is_small;
  DLT_FN FlooredQuotient(double x, double y) {
    constexpr double limit = std::is_same_v<T, float> ? 0x1p20 : 0x1p49;
    const double quotient = x / y;
    whole = __builtin_floor(quotient);
    rest = fused(-whole, y, x);
    if constexpr (std::is_same_v<T, double>) {
      whole -= (rest < 0) != (y < 0) && rest != 0 ? 1.0 : 0.0;
      rest = fused(-whole, y, x);
    }
    is_small = magnitude_of(quotient) < limit;  // not of NaN, and of no infinite dividend
  }
};

template <class Body, class T>
DLT_FN T floored(double x, double y, uint64_t* left) {
  const FlooredQuotient<T> quotient(x, y);
  *left |= uint64_t(!quotient.is_small) | uint64_t(!(magnitude_of(y) < __builtin_inf()));
  if constexpr (std::is_same_v<Body, body_floor_divide>) return T(quotient.whole);
  else return T(quotient.rest == 0 ? with_sign(0.0, y) : quotient.rest);
}

template <class Body, class T>
void floored_division(void* out, const void* a, const void* b, const void* c, int64_t count, unsigned scalars) {
#if defined(__FMA__)
  constexpr int64_t block = 256, width = int64_t(sizeof(T));
  if ((scalars & 3) == 3 || count < 8) return loop2<Body, T>(out, a, b, c, count, scalars);
  for (int64_t first = 0; first < count; first += block) {
    const int64_t n = count - first < block ? count - first : block;
    const char* const x = static_cast<const char*>(a) + (scalars & 1 ? 0 : first * width);
    const char* const y = static_cast<const char*>(b) + (scalars & 2 ? 0 : first * width);
    T results[block];  // apart: `out` may be an operand
    uint64_t left = 0;
    if (scalars & 1) {
      const double only = double(fetch<T>(x, 0));
      DLT_EACH results[i] = floored<Body, T>(only, double(fetch<T>(y, i)), &left);
    } else if (scalars & 2) {
      const double only = double(fetch<T>(y, 0));
      DLT_EACH results[i] = floored<Body, T>(double(fetch<T>(x, i)), only, &left);
    } else {
      DLT_EACH results[i] = floored<Body, T>(double(fetch<T>(x, i)), double(fetch<T>(y, i)), &left);
    }
    char* const to = static_cast<char*>(out) + first * width;
    if (left != 0) loop2<Body, T>(to, x, y, nullptr, n, scalars);
    else __builtin_memcpy(to, results, size_t(n * width));
  }
#else
  loop2<Body, T>(out, a, b, c, count, scalars);
#endif
}

}  // namespace dlt::DLT_LEVEL
