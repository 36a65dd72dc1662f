// SPDX-License-Identifier: Apache-2.0
// Packed elements: loops for what begins and ends with a byte, and the others one by one.
#include "native/cpu/copy/packed.h"

#include "native/cpu/copy/kernels.h"
#include "native/cpu/runtime/bits.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/runtime/sizes.h"

namespace dlt {
namespace {

// A run of elements: those before the first byte that begins with one, and whole units of bytes.
struct Run {
  int64_t head, units;
  int per_unit;  // elements
};

Run split(int64_t first, int bits, int64_t n) {
  if (bits != 2 && bits != 4 && bits != 6) return {n, 0, 1};
  const int per_unit = bits == 4 ? 2 : 4;
  const int64_t head = smaller((per_unit - first % per_unit) % per_unit, n);
  return {head, (n - head) / per_unit, per_unit};
}

}  // namespace

void unpack_elements(void* codes, const void* packed, int64_t first, int bits, int64_t n) noexcept {
  const Run run = split(first, bits, n);
  const int64_t tail = run.head + run.units * run.per_unit;
  auto* to = static_cast<uint8_t*>(codes);
  for (int64_t i = 0; i < run.head; ++i) to[i] = load_bits(packed, (first + i) * bits, bits);
  if (run.units > 0)
    kernels().copy->unpack[bits / 2 - 1](to + run.head, static_cast<const char*>(packed) + (first + run.head) * bits / 8,
                                         run.units);
  for (int64_t i = tail; i < n; ++i) to[i] = load_bits(packed, (first + i) * bits, bits);
}

void pack_elements(void* packed, int64_t first, int bits, const void* codes, int64_t n) noexcept {
  const Run run = split(first, bits, n);
  const int64_t tail = run.head + run.units * run.per_unit;
  const auto* from = static_cast<const uint8_t*>(codes);
  for (int64_t i = 0; i < run.head; ++i) store_bits(packed, (first + i) * bits, bits, from[i]);
  if (run.units > 0)
    kernels().copy->pack[bits / 2 - 1](static_cast<char*>(packed) + (first + run.head) * bits / 8, from + run.head, run.units);
  for (int64_t i = tail; i < n; ++i) store_bits(packed, (first + i) * bits, bits, from[i]);
}

}  // namespace dlt
