// SPDX-License-Identifier: Apache-2.0
// The unsigned type of each width of element that is moved without being looked at.
#pragma once
#include "native/cpu/runtime/kernels/level.h"

namespace dlt::DLT_LEVEL {

typedef uint64_t wide16 __attribute__((vector_size(16)));
typedef uint64_t wide32 __attribute__((vector_size(32)));
template <int W>
struct unit;
template <>
struct unit<1> {
  using type = uint8_t;
};
template <>
struct unit<2> {
  using type = uint16_t;
};
template <>
struct unit<4> {
  using type = uint32_t;
};
template <>
struct unit<8> {
  using type = uint64_t;
};
template <>
struct unit<16> {
  using type = wide16;
};
template <>
struct unit<32> {
  using type = wide32;
};

}  // namespace dlt::DLT_LEVEL
