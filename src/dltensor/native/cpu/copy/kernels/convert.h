// SPDX-License-Identifier: Apache-2.0
// The loop of one cast, for the two cast files. What it does to an element is in native/ops/casts.h.
#pragma once
#include "native/cpu/copy/kernels.h"
#include "native/cpu/runtime/kernels/elements.h"
#include "native/ops/casts.h"

namespace dlt::DLT_LEVEL {

template <class To, class From, bool NEAREST, bool SATURATE>
void cast_loop(void* out, const void* a, const void*, const void*, int64_t n, unsigned scalars) {
  if (scalars & 1) {
    repeat(out, convert<To, NEAREST, SATURATE, From>(read_at<From>(a, 0)), n);
  } else {
    DLT_EACH write_at(out, i, convert<To, NEAREST, SATURATE, From>(read_at<From>(a, i)));
  }
}

// The loop of a pair of types. Pairs of integers that differ in signs alone share it where the sign makes no difference:
// that of the result, unless it is clamped, and that of the argument, unless it is widened too.
template <class To, class From, bool NEAREST, bool SATURATE>
constexpr loop_t cast_for() {
  constexpr bool to_bool = is_same<To, boolean>::value, from_bool = is_same<From, boolean>::value;
  if constexpr (std::is_integral_v<From> && to_bool) {
    return cast_loop<To, twin_t<From>, NEAREST, false>;
  } else if constexpr (from_bool && std::is_integral_v<To>) {
    return cast_loop<twin_t<To>, From, NEAREST, false>;
  } else if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) {
    constexpr bool widens = sizeof(To) > sizeof(From), fits = range<From>::is_signed == range<To>::is_signed
                                                                  ? sizeof(To) >= sizeof(From)
                                                                  : widens && range<To>::is_signed;
    if constexpr (SATURATE && !fits) return cast_loop<To, From, NEAREST, true>;
    else if constexpr (widens) return cast_loop<twin_t<To>, From, NEAREST, false>;
    else return cast_loop<twin_t<To>, twin_t<From>, NEAREST, false>;
  } else {
    return cast_loop<To, From, NEAREST, SATURATE>;
  }
}

// All four modes of one pair; modes that make no difference share a loop.
template <class To, class From>
void fill_cast(CopyKernels* kernels, int from, int to) {
  constexpr bool from_float = is_real_float<From> || is_complex<From>::value;
  constexpr bool to_float_type = is_real_float<To> || is_complex<To>::value;
  constexpr bool to_bool = is_same<To, boolean>::value;
  constexpr bool rounds = from_float && !to_float_type && !to_bool;
  constexpr bool clamps = !to_bool && (to_float_type ? sizeof(To) == 1 : !from_float);
  kernels->casts[0][from][to] = cast_for<To, From, false, false>();
  kernels->casts[cast_nearest][from][to] = cast_for<To, From, rounds, false>();
  kernels->casts[cast_saturate][from][to] = cast_for<To, From, false, clamps>();
  kernels->casts[cast_nearest | cast_saturate][from][to] = cast_for<To, From, rounds, clamps>();
}

}  // namespace dlt::DLT_LEVEL
