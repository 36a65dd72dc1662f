// SPDX-License-Identifier: Apache-2.0
// The loops over bool and integers.
#include "native/cpu/elementwise/kernels/division.h"
#include "native/cpu/elementwise/kernels/loops.h"

namespace dlt::DLT_LEVEL {
namespace {

// Products of bytes, two in a register of 16 bits: there is no instruction for one of 8, and widening and narrowing
// each byte takes twice as long.
void multiply_bytes(void* out, const void* a, const void* b, const void*, int64_t count, unsigned scalars) {
  if (count == 0) return;  // then not even the first element may be read
  const auto both = [](unsigned x, unsigned y) { return uint16_t(((x * y) & 0xff) | ((x >> 8) * (y >> 8)) << 8); };
  const int64_t n = count >> 1;
  if ((scalars & 3) == 0) {
    DLT_EACH keep<uint16_t>(out, i, both(fetch<uint16_t>(a, i), fetch<uint16_t>(b, i)));
  } else if ((scalars & 3) != 3) {
    const void* const run = scalars & 1 ? b : a;
    const unsigned y = fetch<uint8_t>(scalars & 1 ? a : b, 0) * 0x101u;
    DLT_EACH keep<uint16_t>(out, i, both(fetch<uint16_t>(run, i), y));
  } else {
    return keep_all(out, uint8_t(fetch<uint8_t>(a, 0) * fetch<uint8_t>(b, 0)), count);
  }
  if (count % 2 == 0) return;
  const int64_t last = count - 1;
  keep<uint8_t>(out, last, uint8_t(fetch<uint8_t>(a, scalars & 1 ? 0 : last) * fetch<uint8_t>(b, scalars & 2 ? 0 : last)));
}

void square_bytes(void* out, const void* a, const void*, const void*, int64_t n, unsigned scalars) {
  multiply_bytes(out, a, a, nullptr, n, scalars & 1 ? 3 : 0);
}

template <class T>
void fill_division(ElementwiseKernels* kernels, int type) {
  kernels->ops[op_floor_divide][type] = divided<body_floor_divide, T>;
  kernels->ops[op_remainder][type] = divided<body_remainder, T>;
}

}  // namespace

void fill_integers(ElementwiseKernels* kernels) {
  fill_column<bool>(kernels, type_bool);
#define DLT_FILL(type, name)               \
  fill_column<type>(kernels, type_##name); \
  fill_division<type>(kernels, type_##name);
  DLT_INTEGER_TYPES(DLT_FILL)
#undef DLT_FILL
  kernels->ops[op_multiply][type_int8] = kernels->ops[op_multiply][type_uint8] = multiply_bytes;
  kernels->ops[op_square][type_int8] = kernels->ops[op_square][type_uint8] = square_bytes;
}

}  // namespace dlt::DLT_LEVEL
