// SPDX-License-Identifier: Apache-2.0
// Masks in chunks, on several threads: counts first, then every chunk knows where its elements go.
#include "native/cpu/index/mask.h"

#include "native/cpu/runtime/engine_table.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/index/kernels.h"
#include "native/cpu/runtime/sizes.h"
#include "native/cpu/runtime/thread_pool.h"
#include "native/layout/layout.h"

namespace dlt {
namespace {

// Calls chunk(k) for each chunk of n elements, on all threads when there are several.
template <class Chunk>
void each_chunk(int64_t n, const Chunk& chunk) {
  parallel_if(mask_chunks(n) > 2, mask_chunks(n), chunk);
}

// A chunk of a packed mask: its first element, how many it has, and how many are set before it and in it.
struct Chunk {
  int64_t first, n, before, count;
  const uint64_t* words;
  Chunk(int64_t k, int64_t elements, const uint64_t* mask, const int64_t* counts)
      : first(k * mask_chunk),
        n(smaller(mask_chunk, elements - first)),
        before(counts[k]),
        count(counts[k + 1] - counts[k]),
        words(mask + first / 64) {}
};

// The positions of one chunk as indices along each dimension.
void split_positions(int64_t* const* to, int ndim, const int64_t* shape, int64_t all, const Chunk& chunk) {
  constexpr int64_t part = 4096;  // elements of the mask at a time, whose positions stay in the first cache
  int64_t flat[part], done = chunk.before;
  const auto split = [&]<class U>(U, int64_t count) {
    for (int d = ndim - 1; d > 0; --d) {
      const U size = U(shape[d]);
      for (int64_t i = 0; i < count; ++i) {
        const U at = U(flat[i]), above = at / size;
        to[d][done + i] = int64_t(U(at - above * size));
        flat[i] = int64_t(above);
      }
    }
  };
  for (int64_t first = 0; first < chunk.n; first += part) {
    const uint64_t* words = chunk.words + first / 64;
    const int64_t n = smaller(part, chunk.n - first);
    int64_t count = 0;
    for (int64_t k = 0; k < mask_words(n); ++k) count += __builtin_popcountll(words[k]);
    kernels().index->positions(flat, chunk.first + first, words, n, count);
    if (uint64_t(all) >> 32 == 0) split(uint32_t(), count);
    else split(uint64_t(), count);
    for (int64_t i = 0; i < count; ++i) to[0][done + i] = flat[i];
    done += count;
  }
}

}  // namespace

int64_t pack_mask(const void* from, int64_t width, uint64_t bits, int64_t n, uint64_t* words, int64_t* before) noexcept {
  const auto pack = kernels().index->pack[width_index(width)];
  each_chunk(n, [=](int64_t k) {
    const int64_t first = k * mask_chunk;
    before[k + 1] = pack(words + first / 64, static_cast<const char*>(from) + first * width, bits,
                         smaller(mask_chunk, n - first));
  });
  before[0] = 0;
  const int64_t chunks = mask_chunks(n);
  for (int64_t k = 0; k < chunks; ++k) before[k + 1] += before[k];
  return before[chunks];
}

void compress(void* to, const void* from, int64_t width, int64_t n, const uint64_t* words, const int64_t* before) noexcept {
  const auto compress = kernels().index->compress[width_index(width)];
  each_chunk(n, [=](int64_t k) {
    const Chunk chunk(k, n, words, before);
    compress(static_cast<char*>(to) + chunk.before * width, static_cast<const char*>(from) + chunk.first * width, chunk.words,
             chunk.n, chunk.count);
  });
}

void expand(void* to, const void* from, int64_t step, int64_t width, int64_t n, const uint64_t* words,
            const int64_t* before) noexcept {
  const auto expand = kernels().index->expand[width_index(width)];
  each_chunk(n, [=](int64_t k) {
    const Chunk chunk(k, n, words, before);
    expand(static_cast<char*>(to) + chunk.first * width, static_cast<const char*>(from) + chunk.before * step * width, step,
           chunk.words, chunk.n, chunk.count);
  });
}

void mask_positions(int64_t* const* to, int ndim, const int64_t* shape, int64_t n, const uint64_t* words,
                    const int64_t* before) noexcept {
  each_chunk(n, [=](int64_t k) {
    const Chunk chunk(k, n, words, before);
    if (ndim > 1) split_positions(to, ndim, shape, n, chunk);
    else kernels().index->positions(to[0] + chunk.before, chunk.first, chunk.words, chunk.n, chunk.count);
  });
}

Status cpu::pack_mask(const EngineOperand& x, uint64_t bits, int64_t n, const EngineOperand& words, const EngineOperand& before,
                      int64_t* count, const LaunchContext&) noexcept {
  *count = dlt::pack_mask(x.tensor->data, item_bytes(x.tensor->dtype), bits, n, static_cast<uint64_t*>(words.tensor->data),
                          static_cast<int64_t*>(before.tensor->data));
  return success;
}

Status cpu::mask_positions(const EngineOperand* out, int ndim, const int64_t* shape, int64_t n, const EngineOperand& words,
                           const EngineOperand& before, const LaunchContext&) noexcept {
  int64_t* to[max_dims];
  for (int d = 0; d < ndim; ++d) to[d] = static_cast<int64_t*>(out[d].tensor->data);
  dlt::mask_positions(to, ndim, shape, n, static_cast<const uint64_t*>(words.tensor->data),
                      static_cast<const int64_t*>(before.tensor->data));
  return success;
}

Status cpu::mask_elements(const EngineOperand& x, int64_t n, const EngineOperand& words, const EngineOperand& before,
                          const EngineOperand& out, const LaunchContext&) noexcept {
  compress(out.tensor->data, static_cast<const char*>(x.tensor->data) + x.tensor->byte_offset, item_bytes(x.tensor->dtype), n,
           static_cast<const uint64_t*>(words.tensor->data), static_cast<const int64_t*>(before.tensor->data));
  return success;
}

}  // namespace dlt
