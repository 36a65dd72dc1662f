// SPDX-License-Identifier: Apache-2.0
// Reductions, with the bodies of native/ops/reduce/reductions.h and exact_sums.h: `partial` reduces elements to one state for each
// part of a result, `joined` and `joined_in_order` join those states. Which thread takes which element changes no bit of a
// result: states are exact or do not depend on order, and products of floats follow one fixed tree.
#pragma once
#include "native/cuda/kernels/reduce/again.cuh"

namespace dlt::kernels::reduce {

// Writes a result whose state is complete. False: it has to be summed again.
template <class Body, class R, int DIMS>
DLT_FN bool finish(const Reduce<DIMS>& p, uint64_t result, typename Body::word* w) {
  const Place<DIMS> place = Place<DIMS>::of(p, 0, p.kept, result);
  double center[2] = {};
  read_center<Body>(p, place, center);
  if (p.has_initial) {
    typename Body::word one[Body::members];
    Body::start(one);
    Body::put_first(one, p.initial);
    Body::counted(one, 1);
    Body::join(w, one);
  }
  R value{};
  const bool known = Body::end(w, Ending{p.correction, p.root != 0, center}, &value);
  if (known) static_cast<R*>(p.out)[place.out] = value;
  return known;
}

inline constexpr int threads = 256;

// Joins the states of adjacent threads, `width` of them at a time a power of two: the first of each gets all.
template <class Body>
DLT_FN void join_tree(typename Body::word* states, unsigned slot, unsigned lane, unsigned lanes, typename Body::word* w) {
  using word = typename Body::word;
  for (int m = 0; m < Body::members; ++m) states[slot * Body::members + m] = w[m];
#pragma unroll 1
  for (unsigned width = lanes / 2; width > 0; width /= 2) {
    __syncthreads();
    if (lane >= width) continue;
    word other[Body::members];
    for (int m = 0; m < Body::members; ++m) other[m] = states[(slot + width) * Body::members + m];
    Body::join(w, other);
    for (int m = 0; m < Body::members; ++m) states[slot * Body::members + m] = w[m];
  }
}

// A block takes `columns` results and a part of their elements, with `lanes` threads each. Adjacent threads are lanes, or
// columns where results lie closer in memory than elements.
template <class Body, class M, class R, int DIMS, bool MASKED>
__global__ void __launch_bounds__(256) partial(const __grid_constant__ Reduce<DIMS> p) {
  using word = typename Body::word;
  __shared__ word states[threads * Body::members];
  __shared__ double undecided[threads];  // the number of elements of each result that has to be summed again
  static_assert(threads == 1 << 8);
  const unsigned lanes = 1u << p.lane_bits, columns = threads >> p.lane_bits;
  const unsigned lane = p.across ? threadIdx.x >> (8 - p.lane_bits) : threadIdx.x & (lanes - 1);
  const unsigned column = p.across ? threadIdx.x & (columns - 1) : threadIdx.x >> p.lane_bits;
  for (uint64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    uint64_t group;
    const uint64_t part = divide(p.groups, tile, &group);
    const uint64_t result = group * columns + column;
    const bool there = result < p.results;
    const uint64_t begin = part * p.part, end = p.count - begin < p.part ? p.count : begin + p.part;
    word w[Body::members];
    Body::start(w);
    if (there) reduce_elements<Body, M, DIMS, MASKED>(p, Place<DIMS>::of(p, 0, p.kept, result), begin, end, lane, lanes, w);
    join_tree<Body>(states, column * lanes + lane, lane, lanes, w);
    bool known = true;
    if (lane == 0 && there) {
      if (p.parts > 1) {
        word* const to = static_cast<word*>(p.states) + (result * p.parts + part) * Body::members;
        for (int m = 0; m < Body::members; ++m) to[m] = w[m];
      } else {
        known = finish<Body, R, DIMS>(p, result, w);
      }
    }
    if constexpr (Body::again != Again::never) {
      if (lane == 0) undecided[column] = known ? -1 : double(w[Body::members - 1]);
      __syncthreads();
#pragma unroll 1
      for (unsigned c = 0; c < columns; ++c)
        if (undecided[c] >= 0) read_again<Body, M, R, DIMS, MASKED>(p, group * columns + c, undecided[c]);
    }
    __syncthreads();
  }
}

// Adds elements begin to end of reduce_columns adjacent results, which lie at `in`, to their states.
template <class Body, class M, int DIMS>
DLT_FN void reduce_adjacent(const Reduce<DIMS>& p, const M* in, uint64_t begin, uint64_t end, unsigned lane, unsigned lanes,
                            typename Body::word (&w)[reduce_columns][Body::members]) {
  using T = typename Body::type;
  constexpr int WIDE = reduce_columns, UNROLL = sizeof(M) <= 2 ? 8 : 4;
  const bool aligned = (reinterpret_cast<uint64_t>(p.in) & (sizeof(M) * WIDE - 1)) == 0;
  uint64_t taken = 0;
#pragma unroll 1
  for (uint64_t i = begin + lane; i < end; i += UNROLL * lanes) {
    int64_t at[UNROLL];
    Pack<M, WIDE> x[UNROLL];
    places_of<UNROLL>(p, i, lanes, p.axis[p.kept].in, at);
    // All reads are under way before the first is needed: none depends on a branch of its own.
#pragma unroll
    for (int u = 1; u < UNROLL; ++u)
      if (i + u * lanes >= end) at[u] = at[0];
    if (aligned) {
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) x[u] = *reinterpret_cast<const Pack<M, WIDE>*>(in + at[u]);
    } else {
#pragma unroll
      for (int u = 0; u < UNROLL; ++u)
#pragma unroll
        for (int c = 0; c < WIDE; ++c) x[u].at[c] = in[at[u] + c];
    }
    if constexpr (Body::takes_packs) {
      if (i + (UNROLL - 1) * lanes < end) {
#pragma unroll
        for (int c = 0; c < WIDE; ++c) {
          typename computed<T>::type elements[UNROLL];
#pragma unroll
          for (int u = 0; u < UNROLL; ++u) elements[u] = element<T, M>(&x[u].at[c]);
          Body::template step_pack<UNROLL>(w[c], elements, i, lanes);
        }
        taken += UNROLL;
        continue;
      }
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      if (i + u * lanes >= end) break;
#pragma unroll
      for (int c = 0; c < WIDE; ++c) Body::step(w[c], element<T, M>(&x[u].at[c]), int64_t(i + u * lanes));
      ++taken;
    }
  }
#pragma unroll
  for (int c = 0; c < WIDE; ++c) Body::counted(w[c], taken);
}

// Results that lie closer than their elements, in wide rows: a thread takes reduce_columns adjacent ones, whose elements it reads
// together. The rest is as in `partial`.
template <class Body, class M, class R, int DIMS, bool MASKED>
__global__ void __launch_bounds__(256) columns(const __grid_constant__ Reduce<DIMS> p) {
  using word = typename Body::word;
  constexpr int WIDE = reduce_columns;
  __shared__ word states[threads * Body::members];
  __shared__ double undecided[threads];
  const unsigned lanes = 1u << p.lane_bits, groups = threads >> p.lane_bits;
  const unsigned lane = threadIdx.x >> (8 - p.lane_bits), own = threadIdx.x & (groups - 1);
  for (uint64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    uint64_t group;
    const uint64_t part = divide(p.groups, tile, &group);
    const uint64_t result = (group * groups + own) * WIDE;
    const bool there = result < p.results;
    const uint64_t begin = part * p.part, end = p.count - begin < p.part ? p.count : begin + p.part;
    word w[WIDE][Body::members];
#pragma unroll
    for (int c = 0; c < WIDE; ++c) Body::start(w[c]);
    if (there)
      reduce_adjacent<Body, M>(p, static_cast<const M*>(p.in) + Place<DIMS>::of(p, 0, p.kept, result).in, begin, end, lane,
                               lanes, w);
#pragma unroll
    for (int c = 0; c < WIDE; ++c) {
      __syncthreads();
      join_tree<Body>(states, own * lanes + lane, lane, lanes, w[c]);
    }
#pragma unroll 1
    for (int c = 0; c < WIDE; ++c) {
      word* state = w[0];
      if (c > 0) {
#pragma unroll
        for (int k = 1; k < WIDE; ++k)
          if (c == k)
            for (int m = 0; m < Body::members; ++m) w[0][m] = w[k][m];
      }
      bool known = true;
      if (lane == 0 && there) {
        if (p.parts > 1) {
          word* const to = static_cast<word*>(p.states) + ((result + c) * p.parts + part) * Body::members;
          for (int m = 0; m < Body::members; ++m) to[m] = state[m];
        } else {
          known = finish<Body, R, DIMS>(p, result + c, state);
        }
      }
      if constexpr (Body::again != Again::never) {
        __syncthreads();
        if (lane == 0) undecided[own] = known ? -1 : double(state[Body::members - 1]);
        __syncthreads();
#pragma unroll 1
        for (unsigned k = 0; k < groups; ++k)
          if (undecided[k] >= 0) read_again<Body, M, R, DIMS, MASKED>(p, (group * groups + k) * WIDE + c, undecided[k]);
      }
    }
    __syncthreads();
  }
}

// A block takes the parts of some results: as many threads have one as it has parts, to a power of two.
template <class Body, class M, class R, int DIMS, bool MASKED>
__global__ void __launch_bounds__(256) joined(const __grid_constant__ Reduce<DIMS> p) {
  using word = typename Body::word;
  __shared__ word states[threads * Body::members];
  __shared__ double undecided[threads];
  unsigned lanes = 1;
  while (lanes < threads && lanes < p.parts) lanes *= 2;
  const unsigned columns = threads / lanes, lane = threadIdx.x & (lanes - 1), column = threadIdx.x / lanes;
  for (uint64_t first = uint64_t(blockIdx.x) * columns; first < p.results; first += uint64_t(gridDim.x) * columns) {
    const uint64_t result = first + column;
    const bool there = result < p.results;
    const word* const from = static_cast<const word*>(p.states) + result * p.parts * Body::members;
    word w[Body::members];
    Body::start(w);
#pragma unroll 1
    for (uint64_t part = lane; there && part < p.parts; part += lanes) {
      word other[Body::members];
      for (int m = 0; m < Body::members; ++m) other[m] = from[part * Body::members + m];
      Body::join(w, other);
    }
    join_tree<Body>(states, threadIdx.x, lane, lanes, w);
    bool known = true;
    if (lane == 0 && there) known = finish<Body, R, DIMS>(p, result, w);
    if constexpr (Body::again != Again::never) {
      if (lane == 0) undecided[column] = known ? -1 : double(w[Body::members - 1]);
      __syncthreads();
#pragma unroll 1
      for (unsigned c = 0; c < columns; ++c)
        if (undecided[c] >= 0) read_again<Body, M, R, DIMS, MASKED>(p, first + c, undecided[c]);
    }
    __syncthreads();
  }
}

// Joins products of floats: each thread multiplies the blocks of a group in order, the first thread the groups.
template <class Body, class M, class R, int DIMS, bool MASKED>
__global__ void __launch_bounds__(256) joined_in_order(const __grid_constant__ Reduce<DIMS> p) {
  using word = typename Body::word;
  constexpr uint64_t blocks = reductions::product_group / reductions::product_block;
  __shared__ word states[threads];
  for (uint64_t result = blockIdx.x; result < p.results; result += gridDim.x) {
    const word* const from = static_cast<const word*>(p.states) + result * p.parts;
    word total[1];
    Body::start(total);
    for (uint64_t first = 0; first < p.parts; first += blocks * threads) {
      word group[1];
      Body::start(group);
      const uint64_t begin = first + threadIdx.x * blocks;
#pragma unroll 1
      for (uint64_t part = begin; part < begin + blocks && part < p.parts; ++part) Body::join(group, from + part);
      states[threadIdx.x] = group[0];
      __syncthreads();
      if (threadIdx.x == 0)
#pragma unroll 1
        for (uint64_t k = 0; k < threads && first + k * blocks < p.parts; ++k) Body::join(total, states + k);
      __syncthreads();
    }
    if (threadIdx.x == 0) finish<Body, R, DIMS>(p, result, total);
  }
}

}  // namespace dlt::kernels::reduce
