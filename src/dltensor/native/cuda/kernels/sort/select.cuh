// SPDX-License-Identifier: Apache-2.0
// Selection of places of an order without sorting all elements. Each element has a code of 16 bits that ascends with its key. Two
// passes count codes, the upper half and then, but for bytes, the lower one, and tell which codes the wanted places have; another
// keeps elements of those codes, in their order, for a sort. A block has a run of adjacent tiles, and the last block of a launch
// adds up what all have counted: no block waits for another.
#pragma once
#include "native/cuda/kernels/sort/sorts.cuh"

namespace dlt::kernels::select {

inline constexpr int threads = sorts::threads, warps = sorts::warps, each = sorts::each, digits = sorts::digits;

DLT_FN int bit_length(uint64_t v) {
#if defined(__CUDACC_RTC__)
  return 64 - __clzll(int64_t(v));
#else
  return v == 0 ? 0 : 64 - __builtin_clzll(v);
#endif
}

// The bit length of a number and the bits below its first one.
DLT_FN unsigned rough(uint64_t size) {
  const int length = bit_length(size);
  if (length == 0) return 0;
  const uint64_t below = length > 10 ? size >> (length - 10) : size << (10 - length);
  return unsigned(length) << 9 | (unsigned(below) & 511);
}

// The code of a key. Keys of few bits are their codes. Of integers it is finer for numbers near 0, so that those of small ranges have
// codes of their own; of float64 it is that of the nearest float32 towards 0.
template <class U>
DLT_FN unsigned code_of(U key, const KeyForm& form) {
  if constexpr (sizeof(U) == 1) {
    return unsigned(key) << 8;
  } else if constexpr (sizeof(U) == 2) {
    return key;
  } else {
    constexpr U top = U(1) << (8 * sizeof(U) - 1);
    if (form.infinity != 0 && sizeof(U) == 4) return unsigned(key >> 16);
    if (form.infinity == 0 && form.sign == 0) {
      const unsigned code = rough(form.descending ? U(~key) : key);
      return form.descending ? 0xffff - code : code;
    }
    const bool upper = (key & top) != 0;
    const uint64_t size = upper ? key & U(~top) : U(~key) & U(~top);
    unsigned code;
    if (form.infinity == 0) {
      code = rough(size);
    } else {
      const int exponent = int(size >> 52) - 896;
      code = exponent <= 0 ? 0 : exponent >= 255 ? 0x7fff : unsigned(exponent) << 7 | (unsigned(size >> 45) & 127);
    }
    return upper ? 0x8000 | code : 0x7fff - code;
  }
}

template <class U, class S>
DLT_FN unsigned code_at(const Select& p, uint64_t i) {
  return code_of(key_of<U, S>(static_cast<const U*>(p.in)[i], p.form), p.form);
}

// Calls f(i) with the elements of a run, for each thread its own.
template <class F>
DLT_FN void each_of_run(const Select& p, uint64_t run, F f) {
  const sorts::Run tiles = sorts::Run::of(p.n, p.runs, run);
  const uint64_t end = tiles.end();
#pragma unroll 1
  for (uint64_t first = tiles.begin(); first < end; first += sort_tile) {
#pragma unroll 8
    for (int k = 0; k < each; ++k) {
      const uint64_t i = first + k * threads + threadIdx.x;
      if (i < end) f(i);
    }
  }
}

// Returns whether this block is the last one of the launch, which then sees what all have written.
DLT_FN bool is_last_block(uint32_t* tickets) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(tickets, 1u) == gridDim.x - 1;
  __syncthreads();
  __threadfence();
  return last;
}

// The digits that have two places, and how many elements are ahead of these digits, by the counts of all runs, `step` apart. `room` is
// shared memory for two numbers of each digit. All threads get the answer.
struct Found {
  unsigned digit[2];
  uint64_t ahead[2];
};
DLT_FN Found find_digits(const uint32_t* counts, uint64_t runs, uint64_t step, uint64_t first, uint64_t last, uint64_t* room) {
  __shared__ Found found;
  const unsigned d = threadIdx.x % digits, half = threadIdx.x / digits;
  uint64_t all = 0;
#pragma unroll 8
  for (uint64_t r = half; r < runs; r += 2) all += static_cast<const volatile uint32_t*>(counts)[r * step + d];
  if (half != 0) room[d] = all;
  __syncthreads();
  if (half == 0) {
    all += room[d];
    room[digits + d] = all;
  }
#pragma unroll 1
  for (unsigned by = 1; by < digits; by *= 2) {
    __syncthreads();
    const uint64_t other = half == 0 && d >= by ? room[digits + d - by] : 0;
    __syncthreads();
    if (half == 0) room[digits + d] += other;
  }
  for (int k = 0; k < 2; ++k) {
    const uint64_t place = k == 0 ? first : last, past = room[digits + d];
    if (half != 0 || past <= place || past - all > place) continue;
    found.digit[k] = d;
    found.ahead[k] = past - all;
  }
  __syncthreads();
  const Found answer = found;
  __syncthreads();
  return answer;
}

DLT_FN uint64_t sum_of_warp(uint64_t sum) {
#pragma unroll
  for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, by);
  return sum;
}

// How many elements of a run have codes that are kept.
DLT_FN uint64_t kept_of_run(const Select& p, const uint32_t* lower_counts, unsigned low, unsigned high, uint64_t run) {
  const volatile uint32_t* const first = p.counts + run * digits;
  const volatile uint32_t* const second = lower_counts + run * 2 * digits;
  const unsigned lane = threadIdx.x % 32, from = low >> 8, to = high >> 8;
  uint64_t sum = 0;
#pragma unroll 8
  for (unsigned d = lane; d < digits; d += 32) {
    if (from == to) {
      if (d >= (low & 255) && d <= (high & 255)) sum += second[d];
    } else {
      if (d > from && d < to) sum += first[d];
      if (d >= (low & 255)) sum += second[d];
      if (d <= (high & 255)) sum += second[digits + d];
    }
  }
  return sum_of_warp(sum);
}

// The same of bytes, whose counts are of the codes themselves.
DLT_FN uint64_t kept_of_bytes(const Select& p, unsigned from, unsigned to, uint64_t run) {
  const volatile uint32_t* const counts = p.counts + run * digits;
  uint64_t sum = 0;
#pragma unroll 8
  for (unsigned d = threadIdx.x % 32; d < digits; d += 32)
    if (d >= from && d <= to) sum += counts[d];
  return sum_of_warp(sum);
}

// Finds where each run keeps its elements, by the last block.
template <class F>
DLT_FN void place_runs(const Select& p, F kept_of) {
  for (uint64_t run = threadIdx.x / 32; run < p.runs; run += warps) {
    const uint64_t kept = kept_of(run);
    if (threadIdx.x % 32 == 0) p.offsets[run] = kept;
  }
  __threadfence_block();
  __syncthreads();
  if (threadIdx.x != 0) return;
  uint64_t sum = 0;
#pragma unroll 4
  for (uint64_t run = 0; run < p.runs; ++run) {
    const uint64_t own = p.offsets[run];
    p.offsets[run] = sum;
    sum += own;
  }
  p.state->live = sum;
}

// Counts of the upper halves of codes, which of bytes are all there is.
template <class U, class S>
__global__ void __launch_bounds__(512) upper(const __grid_constant__ Select p) {
  __shared__ unsigned found[digits];
  __shared__ uint64_t room[2 * digits];
  for (uint64_t run = blockIdx.x; run < p.runs; run += gridDim.x) {
    if (threadIdx.x < digits) found[threadIdx.x] = 0;
    __syncthreads();
    each_of_run(p, run, [&](uint64_t i) { atomicAdd(&found[code_at<U, S>(p, i) >> 8], 1u); });
    __syncthreads();
    if (threadIdx.x < digits) p.counts[run * digits + threadIdx.x] = found[threadIdx.x];
    __syncthreads();
  }
  if (!is_last_block(&p.state->tickets[0])) return;
  const Found both = find_digits(p.counts, p.runs, digits, p.first, p.last, room);
  if constexpr (sizeof(U) == 1)
    place_runs(p, [&](uint64_t run) { return kept_of_bytes(p, both.digit[0], both.digit[1], run); });
  if (threadIdx.x != 0) return;
  p.state->low = both.digit[0] << 8;
  p.state->high = both.digit[1] << 8;
  p.state->ahead[0] = both.ahead[0];
  p.state->ahead[1] = both.ahead[1];
}

// Counts of the lower halves, of the two upper ones that the wanted places have. The last block finds where each run keeps its elements.
template <class U, class S>
__global__ void __launch_bounds__(512) lower(const __grid_constant__ Select p) {
  __shared__ unsigned found[2 * digits];
  __shared__ uint64_t room[2 * digits];
  uint32_t* const counts = p.counts + p.runs * digits;
  const unsigned low = p.state->low, high = p.state->high;
  for (uint64_t run = blockIdx.x; run < p.runs; run += gridDim.x) {
    found[threadIdx.x] = 0;
    __syncthreads();
    each_of_run(p, run, [&](uint64_t i) {
      const unsigned code = code_at<U, S>(p, i), half = code & 0xff00;
      if (half == low) atomicAdd(&found[code & 255], 1u);
      else if (half == high) atomicAdd(&found[digits + (code & 255)], 1u);
    });
    __syncthreads();
    if (threadIdx.x < digits || low != high) counts[run * 2 * digits + threadIdx.x] = found[threadIdx.x];
    __syncthreads();
  }
  if (!is_last_block(&p.state->tickets[1])) return;
  const uint64_t first = p.first - p.state->ahead[0], last = p.last - p.state->ahead[1];
  Found both = find_digits(counts, p.runs, 2 * digits, first, low == high ? last : first, room);
  if (low != high) both.digit[1] = find_digits(counts + digits, p.runs, 2 * digits, last, last, room).digit[0];
  const unsigned from = low | both.digit[0], to = high | both.digit[1];
  place_runs(p, [&](uint64_t run) { return kept_of_run(p, counts, from, to, run); });
  if (threadIdx.x != 0) return;
  p.state->low = from;
  p.state->high = to;
  p.state->ahead[0] += both.ahead[0];
}

// The kept elements in their order: keys, and numbers N.
template <class U, class S, class N>
__global__ void __launch_bounds__(512) keep(const __grid_constant__ Select p) {
  __shared__ unsigned sums[warps];
  const unsigned low = p.state->low, high = p.state->high, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (uint64_t run = blockIdx.x; run < p.runs; run += gridDim.x) {
    const sorts::Run tiles = sorts::Run::of(p.n, p.runs, run);
    uint64_t to = p.offsets[run];
#pragma unroll 1
    for (uint64_t tile = tiles.first; tile < tiles.past; ++tile) {
      const uint64_t begin = tile * sort_tile;
      U key[each];
      unsigned kept[each], all = 0, before = 0;
#pragma unroll
      for (int k = 0; k < each; ++k) {
        const uint64_t i = begin + sorts::place_in_tile(k);
        const bool there = i < p.n;
        key[k] = there ? key_of<U, S>(static_cast<const U*>(p.in)[i], p.form) : U(0);
        if (there && p.form.infinity != 0 && key[k] == U(~U(0))) p.state->nan = 1;
        const unsigned code = code_of(key[k], p.form);
        kept[k] = __ballot_sync(0xffffffffu, there && code >= low && code <= high);
        all += counts::bits_set(kept[k]);
      }
      if (lane == 0) sums[warp] = all;
      __syncthreads();
      unsigned of_tile = 0;
      for (int w = 0; w < warps; ++w) {
        before += w < int(warp) ? sums[w] : 0;
        of_tile += sums[w];
      }
#pragma unroll
      for (int k = 0; k < each; ++k) {
        if (kept[k] >> lane & 1) {
          const uint64_t at = to + before + counts::bits_set(kept[k] & ((1u << lane) - 1));
          static_cast<U*>(p.keys)[at] = key[k];
          static_cast<N*>(p.numbers)[at] = N(begin + sorts::place_in_tile(k));
        }
        before += counts::bits_set(kept[k]);
      }
      to += of_tile;
      __syncthreads();
    }
  }
}

// The elements of the wanted places and their numbers, after the kept ones were sorted. Where a NaN spoils them they are NaN.
template <class U>
__global__ void __launch_bounds__(1024) chosen(const __grid_constant__ Select p) {
  const uint64_t count = p.last - p.first + 1, from = p.first - p.state->ahead[0];
  const bool spoilt = p.nan_spoils && p.state->nan != 0;
  for (uint64_t i = first_item(); i < count; i += all_threads()) {
    const uint64_t number = number_at(p, from + i);
    if (p.out != nullptr)
      static_cast<U*>(p.out)[i] = spoilt ? U(U(p.form.infinity) | (U(p.form.infinity) & U(0 - U(p.form.infinity))) >> 1)
                                         : static_cast<const U*>(p.in)[number];
    if (p.indices != nullptr) p.indices[i] = int64_t(number);
  }
}

}  // namespace dlt::kernels::select
