// SPDX-License-Identifier: Apache-2.0
// The loop of one cast, for the two cast files. What it does to an element is in native/ops/casts.h.
#pragma once
#include "native/ops/casts.h"
#include "native/cpu/kernels/loops.h"

namespace dlt::DLT_LEVEL {

template <class To, class From, bool NEAREST, bool SATURATE>
void cast_loop(void* out, const void* a, const void*, const void*, int64_t n, unsigned scalars) {
  if (scalars & 1) {
    const To value = convert<To, NEAREST, SATURATE, From>(read_at<From>(a, 0));
    DLT_EACH write_at(out, i, value);
  } else {
    DLT_EACH write_at(out, i, convert<To, NEAREST, SATURATE, From>(read_at<From>(a, i)));
  }
}

// All four modes of one pair; modes that make no difference share a loop.
template <class To, class From>
void fill_cast(Kernels* kernels, int from, int to) {
  constexpr bool from_float = is_real_float<From> || is_complex<From>::value;
  constexpr bool to_float_type = is_real_float<To> || is_complex<To>::value;
  constexpr bool to_bool = is_same<To, boolean>::value;
  constexpr bool rounds = from_float && !to_float_type && !to_bool;
  constexpr bool clamps = !to_bool && (to_float_type ? sizeof(To) == 1 : !from_float);
  kernels->casts[0][from][to] = cast_loop<To, From, false, false>;
  kernels->casts[cast_nearest][from][to] = cast_loop<To, From, rounds, false>;
  kernels->casts[cast_saturate][from][to] = cast_loop<To, From, false, clamps>;
  kernels->casts[cast_nearest | cast_saturate][from][to] = cast_loop<To, From, rounds, clamps>;
}

}  // namespace dlt::DLT_LEVEL
