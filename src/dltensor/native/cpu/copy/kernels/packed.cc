// SPDX-License-Identifier: Apache-2.0
// Elements of 2, 4 and 6 bits out of and into whole bytes. An array begins and ends with a byte here.
#include "native/cpu/copy/kernels.h"
#include "native/cpu/runtime/kernels/elements.h"

namespace dlt::DLT_LEVEL {
namespace {

// One unit of packed bytes spread over as many bytes as it has elements, and back.
DLT_FN uint32_t spread_pairs(uint32_t w) { return (w | w << 6 | w << 12 | w << 18) & 0x03030303u; }
DLT_FN uint16_t spread_nibbles(uint16_t w) { return uint16_t((w | w << 4) & 0x0f0f); }
DLT_FN uint32_t spread_sixes(uint32_t w) {
  return (w & 0x3f) | (w << 2 & 0x3f00) | (w << 4 & 0x3f0000) | (w << 6 & 0x3f000000u);
}
DLT_FN uint8_t join_pairs(uint32_t w) {
  w &= 0x03030303u;
  return uint8_t(w | w >> 6 | w >> 12 | w >> 18);
}
DLT_FN uint8_t join_nibbles(uint16_t w) { return uint8_t((w & 0x0f) | (w >> 4 & 0xf0)); }
DLT_FN uint32_t join_sixes(uint32_t w) { return (w & 0x3f) | (w >> 2 & 0xfc0) | (w >> 4 & 0x3f000) | (w >> 6 & 0xfc0000); }

void unpack_pairs(void* codes, const void* packed, int64_t n) {
  DLT_EACH write_at(codes, i, spread_pairs(read_at<uint8_t>(packed, i)));
}
void unpack_nibbles(void* codes, const void* packed, int64_t n) {
  DLT_EACH write_at(codes, i, spread_nibbles(read_at<uint8_t>(packed, i)));
}
void unpack_sixes(void* codes, const void* packed, int64_t n) {
  DLT_EACH {
    const uint32_t low = read_at<uint8_t>(packed, 3 * i), middle = read_at<uint8_t>(packed, 3 * i + 1);
    write_at(codes, i, spread_sixes(low | middle << 8 | uint32_t(read_at<uint8_t>(packed, 3 * i + 2)) << 16));
  }
}
void pack_pairs(void* packed, const void* codes, int64_t n) {
  DLT_EACH write_at(packed, i, join_pairs(read_at<uint32_t>(codes, i)));
}
void pack_nibbles(void* packed, const void* codes, int64_t n) {
  DLT_EACH write_at(packed, i, join_nibbles(read_at<uint16_t>(codes, i)));
}
void pack_sixes(void* packed, const void* codes, int64_t n) {
  DLT_EACH {
    const uint32_t joined = join_sixes(read_at<uint32_t>(codes, i));
    write_at(packed, 3 * i, uint8_t(joined));
    write_at(packed, 3 * i + 1, uint8_t(joined >> 8));
    write_at(packed, 3 * i + 2, uint8_t(joined >> 16));
  }
}

}  // namespace

void fill_packed(CopyKernels* kernels) {
  kernels->unpack[0] = unpack_pairs;
  kernels->unpack[1] = unpack_nibbles;
  kernels->unpack[2] = unpack_sixes;
  kernels->pack[0] = pack_pairs;
  kernels->pack[1] = pack_nibbles;
  kernels->pack[2] = pack_sixes;
}

}  // namespace dlt::DLT_LEVEL
