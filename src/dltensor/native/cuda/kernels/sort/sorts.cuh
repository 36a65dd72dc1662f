// SPDX-License-Identifier: Apache-2.0
// Stable sorting of unsigned keys with a number each, or with the element that it is the key of, by digits of 8 bits from the
// lowest. A block has a tile: it finds the place of each element among the digits of the tile, and has them change places in shared
// memory, so that what goes to memory is adjacent. Lines that fit into a tile are sorted there, whole. Of larger ones all digits
// are counted at once; then one launch for each digit moves elements to their places. In it a block takes the next tile, says what
// the tile has of each digit, and adds up what earlier tiles say (Adinets and Merrill, "Onesweep", 2022). It waits for tiles only
// that blocks have taken before. Elements of several such lines are sorted as one, then their numbers alone by the lines that they
// are in.
#pragma once
#include "native/cuda/kernels/index/counts.cuh"

namespace dlt::kernels::sorts {

inline constexpr int threads = 512, warps = threads / 32, each = sort_tile / threads, digits = 256;
static_assert(threads >= digits, "a thread adds up a digit");

// Element k of this thread, of those of its tile: a warp has `each` times 32 adjacent ones.
DLT_FN unsigned place_in_tile(int k) { return (threadIdx.x / 32 * each + k) * 32 + threadIdx.x % 32; }

// Digits of the threads of a block, which they share.
struct Ranks {
  uint16_t found[warps * digits];  // by warp: what it has of each digit, then how many warps before it have
  unsigned ahead[digits];  // of smaller digits in the tile
  unsigned sums[digits / 32];
};

// The place of each element of this thread in its tile: smaller digits are ahead of it, then equal ones before it. The tile has
// `here` elements; what is behind them stays where it is. Ends with a barrier, behind which `ahead` may be read until the next one.
DLT_FN void rank(Ranks* shared, const unsigned (&digit)[each], unsigned here, unsigned (&place)[each]) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint16_t* const found = shared->found + warp * digits;
#pragma unroll
  for (unsigned d = lane; d < digits; d += 32) found[d] = 0;
  __syncwarp();
#pragma unroll
  for (int k = 0; k < each; ++k) {
    place[k] = place_in_tile(k);
    if (place[k] - lane >= here) continue;  // of the whole warp
    unsigned same = __ballot_sync(0xffffffffu, place[k] < here);  // lanes with this digit
#pragma unroll
    for (int bit = 0; bit < 8; ++bit) {
      const bool set = digit[k] >> bit & 1;
      const unsigned having = __ballot_sync(0xffffffffu, set);
      same &= set ? having : ~having;
    }
    const unsigned before = same & ((1u << lane) - 1), known = found[digit[k]];
    const bool there = place[k] < here;
    __syncwarp();
    if (there && before == 0) found[digit[k]] = uint16_t(known + counts::bits_set(same));
    if (there) place[k] = known + counts::bits_set(before);
    __syncwarp();
  }
  __syncthreads();
  const unsigned d = threadIdx.x;
  unsigned all = 0, sum = 0;
  if (d < digits) {  // whole warps
#pragma unroll
    for (int w = 0; w < warps; ++w) {
      const unsigned own = shared->found[w * digits + d];
      shared->found[w * digits + d] = uint16_t(all);
      all += own;
    }
    sum = all;
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
      const unsigned other = __shfl_up_sync(0xffffffffu, sum, by);
      if (lane >= by) sum += other;
    }
    if (lane == 31) shared->sums[warp] = sum;
  }
  __syncthreads();
  if (d < digits) {
    for (unsigned w = 0; w < warp; ++w) sum += shared->sums[w];
    shared->ahead[d] = sum - all;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < each; ++k)
    if (place_in_tile(k) < here) place[k] += shared->ahead[digit[k]] + found[digit[k]];
}

// The elements of a tile change places; `room` is shared memory for all of them.
template <class T>
DLT_FN void exchange(T* room, const unsigned (&place)[each], unsigned here, T (&values)[each]) {
  __syncthreads();  // others may be reading what was there
#pragma unroll
  for (int k = 0; k < each; ++k)
    if (place_in_tile(k) < here) room[place[k]] = values[k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < each; ++k)
    if (place_in_tile(k) < here) values[k] = room[place_in_tile(k)];
}

template <class N>
DLT_FN N carried_at(const Sort& p, uint64_t i) {
  return p.numbers == nullptr ? N(i) : static_cast<const N*>(p.numbers)[i];
}

DLT_FN unsigned digit_of_line(const Sort& p, uint64_t number) {
  uint64_t rest;
  return unsigned(divide(p.line, number, &rest) >> p.shift) % digits;
}

// Keys from memory; those of the elements at `in`, in the first pass; the lines of numbers.
enum Keys : int { stored, of_elements, of_lines };

// S is the signed twin of U.
template <class U, class S, int KEYS>
DLT_FN U key_at(const Sort& p, uint64_t i) {
  if constexpr (KEYS == of_elements) return key_of<U, S>(static_cast<const U*>(p.in)[i], p.form);
  else return static_cast<const U*>(p.keys)[i];
}

// The tiles of a run: as many as others have, or one more.
struct Run {
  uint64_t first, past;  // tiles
  uint64_t n;  // of all runs
  DLT_FN static Run of(uint64_t n, uint64_t runs, uint64_t run) {
    const uint64_t tiles = (n + sort_tile - 1) / sort_tile, few = tiles / runs, more = tiles % runs;
    const uint64_t first = few * run + (run < more ? run : more);
    return {first, first + few + (run < more ? 1 : 0), n};
  }
  DLT_FN uint64_t begin() const { return first * sort_tile; }
  DLT_FN uint64_t end() const { return past * sort_tile < n ? past * sort_tile : n; }
};
DLT_FN uint64_t count_of(const Sort& p) { return p.live != nullptr ? *p.live : p.n; }
// Runs that have a tile.
DLT_FN uint64_t runs_of(const Sort& p) {
  const uint64_t tiles = (count_of(p) + sort_tile - 1) / sort_tile;
  return tiles < p.runs ? tiles : p.runs;
}

// Counts the digits of all keys, `p.passes` of each, and has no words known of any tile.
template <class U, class S, int KEYS>
__global__ void __launch_bounds__(512) count(const __grid_constant__ Sort p) {
  constexpr int most = sizeof(U);
  __shared__ unsigned found[most * digits];
  const uint64_t runs = runs_of(p);
  for (unsigned d = threadIdx.x; d < most * digits; d += threads) found[d] = 0;
  __syncthreads();
  for (uint64_t run = blockIdx.x; run < runs; run += gridDim.x) {
    const Run tiles = Run::of(count_of(p), runs, run);
    const uint64_t end = tiles.end();
#pragma unroll 1
    for (uint64_t tile = tiles.first; tile < tiles.past; ++tile) {
      if (threadIdx.x < digits) p.words[tile * digits + threadIdx.x] = 0;
#pragma unroll 8
      for (int k = 0; k < each; ++k) {
        const uint64_t i = tile * sort_tile + k * threads + threadIdx.x;
        if (i >= end) continue;
        const U key = key_at<U, S, KEYS>(p, i);
#pragma unroll
        for (int pass = 0; pass < most; ++pass)
          if (pass < int(p.passes)) atomicAdd(&found[pass * digits + unsigned(key >> (8 * pass)) % digits], 1u);
      }
    }
  }
  __syncthreads();
  for (unsigned d = threadIdx.x; d < p.passes * digits; d += threads)
    if (found[d] != 0)
      atomicAdd(reinterpret_cast<unsigned long long*>(p.totals) + d, static_cast<unsigned long long>(found[d]));
}

// Where the first element of each digit goes: behind all of smaller digits.
template <bool BY_LINE>
DLT_FN void find_starts(const Sort& p, uint64_t* starts) {
  const unsigned d = threadIdx.x;
  if constexpr (BY_LINE) {
    const uint64_t lines = p.n / p.line.divisor, first = uint64_t(d) << p.shift, group = uint64_t(digits) << p.shift;
    const uint64_t rest = lines % group, ahead = lines / group * first + (rest < first ? rest : first);
    if (d < digits) starts[d] = ahead * p.line.divisor;
  } else {
    const uint64_t own = d < digits ? p.totals[d] : 0;
    if (d < digits) starts[d] = own;
#pragma unroll 1
    for (unsigned by = 1; by < digits; by *= 2) {
      __syncthreads();
      const uint64_t other = d < digits && d >= by ? starts[d - by] : 0;
      __syncthreads();
      if (d < digits) starts[d] += other;
    }
    if (d < digits) starts[d] -= own;
  }
  __syncthreads();
}

DLT_FN void tell(const Sort& p, uint64_t tile, uint64_t count, bool whole) {
  static_cast<volatile uint64_t*>(p.words)[tile * digits + threadIdx.x] = counts::said(count, p.pass, whole);
}
// Counts what the tiles before this one have of the digit of this thread.
DLT_FN uint64_t look_back(const Sort& p, uint64_t tile) {
  uint64_t before = 0;
#pragma unroll 1
  while (tile-- > 0) {
    uint64_t word;
    do word = static_cast<const volatile uint64_t*>(p.words)[tile * digits + threadIdx.x];
    while (!counts::is_said(word, p.pass));
    before += word >> 8;
    if ((word & 1) != 0) break;
  }
  return before;
}

// N are the numbers, or what is carried in their place.
template <class U, class S, class N, int KEYS>
__global__ void __launch_bounds__(512, 2) move(const __grid_constant__ Sort p) {
  constexpr bool BY_LINE = KEYS == of_lines;
  __shared__ Ranks ranks;
  __shared__ uint64_t starts[digits];
  __shared__ uint64_t first_of[digits];  // where the first of a digit would be if it were the first of the tile
  __shared__ uint64_t room[sort_tile * (sizeof(U) > sizeof(N) ? sizeof(U) : sizeof(N)) / 8];
  __shared__ unsigned taken;
  U* const room_of_keys = reinterpret_cast<U*>(room);
  N* const room_of_numbers = reinterpret_cast<N*>(room);
  const uint64_t n = count_of(p), tiles = (n + sort_tile - 1) / sort_tile;
#pragma unroll 1
  for (bool begun = false;; begun = true) {
    const uint64_t tile = counts::take_tile(p.ticket, &taken), begin = tile * sort_tile;
    if (tile >= tiles) return;
    if (!begun) find_starts<BY_LINE>(p, starts);
    const unsigned here = n - begin < sort_tile ? unsigned(n - begin) : unsigned(sort_tile);
    U key[each];
    N number[each];
    unsigned digit[each], place[each];
#pragma unroll
    for (int k = 0; k < each; ++k) {
      const unsigned at = place_in_tile(k);
      key[k] = 0;
      number[k] = 0;
      digit[k] = 0;
      if (at >= here) continue;
      if (BY_LINE || p.to_numbers != nullptr) number[k] = carried_at<N>(p, begin + at);
      if constexpr (!BY_LINE) key[k] = key_at<U, S, KEYS>(p, begin + at);
      digit[k] = BY_LINE ? digit_of_line(p, number[k]) : unsigned(key[k] >> p.shift) % digits;
    }
    rank(&ranks, digit, here, place);
    const unsigned d = threadIdx.x, ahead = d < digits ? ranks.ahead[d] : 0;
    const unsigned own = d < digits ? (d + 1 < digits ? ranks.ahead[d + 1] : here) - ahead : 0;
    if (d < digits) tell(p, tile, own, tile == 0);
    if constexpr (BY_LINE) exchange(room_of_numbers, place, here, number);
    else exchange(room_of_keys, place, here, key);
    if (d < digits) {
      const uint64_t before = look_back(p, tile);
      if (tile > 0) tell(p, tile, before + own, true);
      first_of[d] = starts[d] + before - ahead;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < each; ++k) {
      const unsigned at = place_in_tile(k);
      digit[k] = BY_LINE ? digit_of_line(p, number[k]) : unsigned(key[k] >> p.shift) % digits;
      if constexpr (!BY_LINE)
        if (at < here && p.to_keys != nullptr)
          static_cast<U*>(p.to_keys)[first_of[digit[k]] + at] = p.restores ? key_of<U, S>(key[k], p.form) : key[k];
    }
    if (p.to_numbers != nullptr) {
      if constexpr (!BY_LINE) exchange(room_of_numbers, place, here, number);
#pragma unroll
      for (int k = 0; k < each; ++k) {
        const unsigned at = place_in_tile(k);
        if (at < here) static_cast<N*>(p.to_numbers)[first_of[digit[k]] + at] = number[k];
      }
    }
    __syncthreads();
  }
}

// Lines of at most a tile, as many of them to a tile as fit, by their keys and then by their numbers in the tile.
template <class U, class S>
__global__ void __launch_bounds__(512, 2) lines(const __grid_constant__ Sort p) {
  __shared__ Ranks ranks;
  __shared__ uint64_t room[sort_tile * (sizeof(U) > 2 ? sizeof(U) : 2) / 8];
  const unsigned line = unsigned(p.line.divisor), of_tile = sort_tile / line, whole = of_tile * line;
  for (uint64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    const uint64_t begin = tile * whole;
    const unsigned here = p.n - begin < whole ? unsigned(p.n - begin) : whole;
    U key[each];
    uint16_t from[each];  // places of before
    unsigned digit[each], place[each];
#pragma unroll
    for (int k = 0; k < each; ++k) {
      const unsigned at = place_in_tile(k);
      key[k] = at < here ? key_of<U, S>(static_cast<const U*>(p.in)[begin + at], p.form) : U(0);
      from[k] = uint16_t(at);
    }
#pragma unroll 1
    for (unsigned shift = 0; shift < 8 * sizeof(U); shift += 8) {
#pragma unroll
      for (int k = 0; k < each; ++k) digit[k] = unsigned(key[k] >> shift) % digits;
      rank(&ranks, digit, here, place);
      exchange(reinterpret_cast<U*>(room), place, here, key);
      exchange(reinterpret_cast<uint16_t*>(room), place, here, from);
    }
#pragma unroll 1
    for (unsigned shift = 0; (of_tile - 1) >> shift != 0; shift += 8) {
#pragma unroll
      for (int k = 0; k < each; ++k) digit[k] = (from[k] / line >> shift) % digits;
      rank(&ranks, digit, here, place);
      exchange(reinterpret_cast<uint16_t*>(room), place, here, from);
    }
#pragma unroll
    for (int k = 0; k < each; ++k) {
      const unsigned at = place_in_tile(k);
      if (at >= here) continue;
      if (p.out != nullptr) static_cast<U*>(p.out)[begin + at] = static_cast<const U*>(p.in)[begin + from[k]];
      if (p.indices != nullptr) p.indices[begin + at] = from[k] % line;
    }
    __syncthreads();
  }
}

// The numbers as indices along their lines.
template <class I>
__global__ void __launch_bounds__(1024) indices(const __grid_constant__ Sort p) {
  for (uint64_t i = first_item(); i < p.n; i += all_threads()) {
    uint64_t rest;
    divide(p.line, number_at(p, i), &rest);
    p.indices[i] = I(rest);
  }
}

// The elements of those numbers.
template <class U>
__global__ void __launch_bounds__(1024) elements(const __grid_constant__ Sort p) {
  for (uint64_t i = first_item(); i < p.n; i += all_threads())
    static_cast<U*>(p.out)[i] = static_cast<const U*>(p.in)[number_at(p, i)];
}

}  // namespace dlt::kernels::sorts
