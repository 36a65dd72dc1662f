// SPDX-License-Identifier: Apache-2.0
// Keys with numbers in stable order: one pass over both for each digit of 8 bits, each of three launches.
#include "native/cuda/sort.h"

namespace dlt::cuda {
namespace {

constexpr unsigned threads = 64;  // of a block, as the kernels have it
constexpr uint64_t digits = 256;

Status launch_sort(const char* kernel, int bytes, const Where& where, kernels::Sort* p) noexcept {
  Device& device = *where.stream->device;
  Kernel found;
  DLT_TRY(family_kernel(
      device, Family::sort, static_cast<uint64_t>(bytes) << 1 | (*kernel == 'm'), "native/cuda/kernels/sort.cuh",
      [&] { return std::string("sorts::") + kernel + "<" + type_name(word_type(bytes)) + ">"; }, &found));
  return launch_kernel(device, found, blocks_for(device, found, p->tiles, threads), *where.stream, p);
}

}  // namespace

Status NumberedKeys::make(uint64_t n, int bytes, Stream& stream) noexcept {
  n_ = n, bytes_ = bytes;
  tiles_ = (n + kernels::sort_tile - 1) / kernels::sort_tile;
  for (int k = 0; k < 2; ++k) {
    DLT_TRY(keys_[k].make(n * static_cast<uint64_t>(bytes), stream));
    DLT_TRY(numbers_[k].make(n * 8, stream));
  }
  return counts_.make((digits * tiles_ + 1) * 8, stream);
}

Status NumberedKeys::sort(int bits, const Where& where) noexcept {
  kernels::Sort p{};
  p.counts = counts_.as<uint64_t>();
  p.n = n_, p.tiles = tiles_;
  for (int shift = 0; shift < bits && n_ > 1; shift += 8) {
    p.keys = keys_[now_].as<void>(), p.numbers = numbers_[now_].as<uint64_t>();
    p.to_keys = keys_[!now_].as<void>(), p.to_numbers = numbers_[!now_].as<uint64_t>();
    p.shift = static_cast<uint32_t>(shift);
    DLT_TRY(launch_sort("count", bytes_, where, &p));
    DLT_TRY(running_counts(p.counts, digits * tiles_, where));
    DLT_TRY(launch_sort("move", bytes_, where, &p));
    now_ = !now_;
  }
  return success;
}

}  // namespace dlt::cuda
