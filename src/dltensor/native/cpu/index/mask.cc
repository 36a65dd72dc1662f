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

struct Work {
  const IndexKernels* kernels;
  char* to;
  const char* from;
  int64_t width, step, n;
  uint64_t bits;
  const uint64_t* words;
  uint64_t* packed;
  int64_t* counts;
  const int64_t* before;
  int64_t* const* positions;
  int ndim;
  const int64_t* shape;
};

// One chunk: where it begins, how many elements it has and how many of them are set.
struct Chunk {
  int64_t first, n, before, count;
  const uint64_t* words;
};
Chunk chunk_of(const Work& work, int64_t index) {
  const int64_t first = index * mask_chunk;
  return {first, smaller(mask_chunk, work.n - first), work.before[index], work.before[index + 1] - work.before[index],
          work.words + first / 64};
}

void run(const Work& work, void (*chunk)(const Work&, int64_t)) {
  const int64_t chunks = mask_chunks(work.n);
  struct Job {
    const Work* work;
    void (*chunk)(const Work&, int64_t);
  } job{&work, chunk};
  if (chunks <= 2) {
    for (int64_t k = 0; k < chunks; ++k) chunk(work, k);
    return;
  }
  parallel(
      chunks,
      [](void* context, int64_t k) {
        const Job& job = *static_cast<const Job*>(context);
        job.chunk(*job.work, k);
      },
      &job);
}

// The positions of one chunk as indices along each dimension.
void split_positions(const Work& work, const Chunk& chunk) {
  constexpr int64_t part = 4096;  // elements of the mask at a time, whose positions stay in the first cache
  int64_t flat[part], done = chunk.before;
  for (int64_t first = 0; first < chunk.n; first += part) {
    const uint64_t* words = chunk.words + first / 64;
    const int64_t n = smaller(part, chunk.n - first);
    int64_t count = 0;
    for (int64_t k = 0; k < mask_words(n); ++k) count += __builtin_popcountll(words[k]);
    work.kernels->positions(flat, chunk.first + first, words, n, count);
    for (int d = work.ndim - 1; d > 0; --d) {
      int64_t* to = work.positions[d] + done;
      const uint64_t size = uint64_t(work.shape[d]);
      if (uint64_t(work.n) >> 32 == 0) {
        for (int64_t i = 0; i < count; ++i) {
          const uint32_t at = uint32_t(flat[i]), above = at / uint32_t(size);
          to[i] = at - above * uint32_t(size);
          flat[i] = above;
        }
      } else {
        for (int64_t i = 0; i < count; ++i) {
          const uint64_t at = uint64_t(flat[i]), above = at / size;
          to[i] = int64_t(at - above * size);
          flat[i] = int64_t(above);
        }
      }
    }
    for (int64_t i = 0; i < count; ++i) work.positions[0][done + i] = flat[i];
    done += count;
  }
}

}  // namespace

int64_t pack_mask(const void* from, int64_t width, uint64_t bits, int64_t n, uint64_t* words, int64_t* before) noexcept {
  Work work{};
  work.kernels = kernels().index;
  work.from = static_cast<const char*>(from);
  work.width = width;
  work.bits = bits;
  work.n = n;
  work.packed = words;
  work.counts = before + 1;
  run(work, [](const Work& work, int64_t k) {
    const int64_t first = k * mask_chunk;
    work.counts[k] = work.kernels->pack[width_index(work.width)](work.packed + first / 64, work.from + first * work.width,
                                                                 work.bits, smaller(mask_chunk, work.n - first));
  });
  before[0] = 0;
  const int64_t chunks = mask_chunks(n);
  for (int64_t k = 0; k < chunks; ++k) before[k + 1] += before[k];
  return before[chunks];
}

void compress(void* to, const void* from, int64_t width, int64_t n, const uint64_t* words, const int64_t* before) noexcept {
  Work work{};
  work.kernels = kernels().index;
  work.to = static_cast<char*>(to);
  work.from = static_cast<const char*>(from);
  work.width = width;
  work.n = n;
  work.words = words;
  work.before = before;
  run(work, [](const Work& work, int64_t k) {
    const Chunk chunk = chunk_of(work, k);
    work.kernels->compress[width_index(work.width)](work.to + chunk.before * work.width, work.from + chunk.first * work.width,
                                                    chunk.words, chunk.n, chunk.count);
  });
}

void expand(void* to, const void* from, int64_t step, int64_t width, int64_t n, const uint64_t* words,
            const int64_t* before) noexcept {
  Work work{};
  work.kernels = kernels().index;
  work.to = static_cast<char*>(to);
  work.from = static_cast<const char*>(from);
  work.width = width;
  work.step = step;
  work.n = n;
  work.words = words;
  work.before = before;
  run(work, [](const Work& work, int64_t k) {
    const Chunk chunk = chunk_of(work, k);
    work.kernels->expand[width_index(work.width)](work.to + chunk.first * work.width,
                                                  work.from + chunk.before * work.step * work.width, work.step, chunk.words,
                                                  chunk.n, chunk.count);
  });
}

void mask_positions(int64_t* const* to, int ndim, const int64_t* shape, int64_t n, const uint64_t* words,
                    const int64_t* before) noexcept {
  Work work{};
  work.kernels = kernels().index;
  work.n = n;
  work.words = words;
  work.before = before;
  work.positions = to;
  work.ndim = ndim;
  work.shape = shape;
  run(work, [](const Work& work, int64_t k) {
    const Chunk chunk = chunk_of(work, k);
    if (work.ndim > 1) split_positions(work, chunk);
    else work.kernels->positions(work.positions[0] + chunk.before, chunk.first, chunk.words, chunk.n, chunk.count);
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

}  // namespace dlt
