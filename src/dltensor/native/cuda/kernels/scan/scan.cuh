// SPDX-License-Identifier: Apache-2.0
// Running sums, products, maxima and minima, in the order of native/ops/scans.h and with the bodies of reductions.h: `pieces`
// computes what each block of a row comes to, `prefixes` what lies before it, and `pieces` again the results. A row of one
// block needs the last launch only.
#pragma once
#include "native/cuda/kernels/scan/bodies.cuh"

namespace dlt::kernels::scan {

inline constexpr int threads = 256;
inline constexpr int ahead = 8;  // what a thread that adds one by one reads at once, before it needs it
inline constexpr int pitch = each + 1;  // cells of a thread in shared memory: threads of a warp meet different banks

// Room for an element, or for a result.
template <class C, class R>
struct alignas(sizeof(C) > sizeof(R) ? sizeof(C) : sizeof(R)) Cell {
  unsigned char bytes[sizeof(C) > sizeof(R) ? sizeof(C) : sizeof(R)];
  template <class X>
  DLT_FN X get() const {
    X x;
    memcpy(&x, bytes, sizeof(X));
    return x;
  }
  template <class X>
  DLT_FN void set(X x) {
    memcpy(bytes, &x, sizeof(X));
  }
};

template <int DIMS>
DLT_FN void place_of(const Scanned<DIMS>& p, uint64_t row, int64_t* in, int64_t* out) {
  *in = *out = 0;
#pragma unroll 1
  for (int d = p.dims - 1; d >= 0; --d) {
    uint64_t i = row;
    if (d > 0) row = divide(p.axis[d].extent, row, &i);
    *in += int64_t(i) * p.axis[d].in;
    *out += int64_t(i) * p.axis[d].out;
  }
}

// The pieces that a thread block has at a time: each is a block of a row, and has `1 << lane_bits` threads. Where their elements
// begin, and how many there are.
struct Pieces {
  int64_t in[threads], out[threads];
  uint32_t length[threads];
};

// Moves what the threads have of their pieces from element `first` on. Adjacent threads move adjacent elements of a piece; or,
// where rows lie closer in memory than elements, those of adjacent rows.
template <class X, class P, class F, class G>
DLT_FN void move_elements(const P& p, const Pieces& pieces, unsigned first, F read, G write) {
  static_assert(each == 8 && threads == 256, "the bits of a group and of a thread block");
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (!p.across && p.lane_bits == 5) {
    // A warp has one piece. All that a thread moves is read before any of it is written.
    const unsigned length = pieces.length[warp], at = first + lane, cell = (warp * 32 + lane / each) * pitch + lane % each;
    const int64_t in = pieces.in[warp] + int64_t(at) * p.in_step, out = pieces.out[warp] + int64_t(at) * p.out_step;
    X x[each];
#pragma unroll
    for (int k = 0; k < each; ++k)
      if (at + 32 * k < length) x[k] = read(cell + 32 / each * k * pitch, in + k * (32 * p.in_step));
#pragma unroll
    for (int k = 0; k < each; ++k)
      if (at + 32 * k < length) write(cell + 32 / each * k * pitch, out + k * (32 * p.out_step), x[k]);
    return;
  }
  const unsigned span_bits = p.lane_bits + 3, row_bits = 8 - p.lane_bits;
#pragma unroll 2
  for (int k = 0; k < each; ++k) {
    const unsigned e = p.across ? k * threads + threadIdx.x : (warp * each + k) * 32 + lane;
    const unsigned row = p.across ? e & ((1u << row_bits) - 1) : e >> span_bits;
    const unsigned i = p.across ? e >> row_bits : e & ((1u << span_bits) - 1);
    if (first + i >= pieces.length[row]) continue;
    const unsigned cell = ((row << p.lane_bits) + i / each) * pitch + i % each;
    const X x = read(cell, pieces.in[row] + int64_t(first + i) * p.in_step);
    write(cell, pieces.out[row] + int64_t(first + i) * p.out_step, x);
  }
}

// If a warp has elements of other warps' pieces, all meet; else its pieces are its own.
template <class P>
DLT_FN void meet(const P& p) {
  if (p.across) __syncthreads();
  else __syncwarp();
}

// Adds the totals of adjacent groups to `carry`, one after the other, and leaves in place of each what was there before it. All are
// read before the first is needed.
template <class Body, int COUNT, bool WRITE>
DLT_FN void advance_all(typename Body::word* slots, typename Body::word* carry) {
  constexpr int members = Body::members;
  typename Body::word loaded[COUNT * members];
#pragma unroll
  for (int i = 0; i < COUNT * members; ++i) loaded[i] = slots[i];
#pragma unroll
  for (int u = 0; u < COUNT; ++u) {
    if constexpr (WRITE)
      for (int m = 0; m < members; ++m) slots[u * members + m] = carry[m];
    Body::advance(carry, loaded + u * members);
  }
}

// Finds the pieces of a tile from number `first` of `all` on, each by one thread.
template <int DIMS>
DLT_FN void place_pieces(const Scanned<DIMS>& p, uint64_t first, uint64_t all, Pieces* pieces) {
  uint64_t row;
  const uint64_t block = divide(p.row_count, first + threadIdx.x, &row), begin = block * scans::block;
  int64_t in = 0, out = 0;
  const bool there = first + threadIdx.x < all;
  if (there) place_of(p, row, &in, &out);
  pieces->in[threadIdx.x] = in + int64_t(begin) * p.in_step;
  pieces->out[threadIdx.x] = out + int64_t(begin) * p.out_step;
  pieces->length[threadIdx.x] = !there                           ? 0
                                : p.count - begin < scans::block ? uint32_t(p.count - begin)
                                                                 : uint32_t(scans::block);
}

// Elements of a piece from `first` on, as many as `lanes` groups have, one after the other by its first lane.
template <class Body, class R, bool WRITE>
DLT_FN void step_serially(Cell<typename Body::C, R>* cells, unsigned lanes, unsigned first, unsigned length,
                          const typename Body::word* before, typename Body::word* carry) {
#pragma unroll 1
  for (unsigned i = 0; i < lanes * each && first + i < length; ++i) {
    Cell<typename Body::C, R>* const cell = &cells[(threadIdx.x + i / each) * pitch + i % each];
    const typename Body::word x = Body::P::factor(cell->template get<typename Body::C>());
    carry[0] = first + i == 0 ? x : ops::multiply(carry[0], x);
    if (WRITE) cell->set(reduce::as_element<R>(before == nullptr ? carry[0] : ops::multiply(before[0], carry[0])));
  }
}

// The same elements, a group by each lane; the first lane adds the totals of the groups up.
template <class Body, class R, bool WRITE, class P>
DLT_FN void step_groups(const P& p, Cell<typename Body::C, R>* cells, typename Body::word* totals, unsigned lane,
                        unsigned first, unsigned length, const typename Body::word* before, typename Body::word* carry) {
  using C = typename Body::C;
  using word = typename Body::word;
  const unsigned lanes = 1u << p.lane_bits, from = first + lane * each;
  const int n = from >= length ? 0 : length - from < each ? int(length - from) : each;
  Cell<C, R>* const own = cells + threadIdx.x * pitch;
  word* const total = totals + threadIdx.x * Body::members;
  C x[each] = {};
#pragma unroll
  for (int j = 0; j < each; ++j)
    if (j < n) x[j] = own[j].template get<C>();
  typename Body::Group elements;
  word sum[Body::members];
  Body::gather(x, n, &elements, sum);
  for (int m = 0; m < Body::members; ++m) total[m] = sum[m];
  meet(p);
  if (lane == 0 && first < length) {
    const unsigned groups = (length - first + each - 1) / each, taken = groups < lanes ? groups : lanes;
    unsigned l = 0;
#pragma unroll 1
    for (; l + ahead <= taken; l += ahead) advance_all<Body, ahead, WRITE>(total + l * Body::members, carry);
#pragma unroll 1
    for (; l < taken; ++l) advance_all<Body, 1, WRITE>(total + l * Body::members, carry);
  }
  if constexpr (WRITE) {
    meet(p);
    R results[each];
    for (int m = 0; m < Body::members; ++m) sum[m] = total[m];
    if (n > 0) Body::finish(x, n, elements, before, sum, results);
#pragma unroll
    for (int j = 0; j < each; ++j)
      if (j < n) own[j].set(results[j]);
  }
}

// Words of the batches of a row, which lie behind those of all blocks.
template <class Body, int DIMS>
DLT_FN typename Body::word* batch_states(const Scanned<DIMS>& p, uint64_t row) {
  return static_cast<typename Body::word*>(p.states) + (p.rows * p.blocks + row * p.batches) * Body::kept;
}

// The sum, or the other state, of the blocks before one that is not the first of its row.
template <class Body, int DIMS>
DLT_FN void read_before(const Scanned<DIMS>& p, uint64_t row, uint64_t block, const typename Body::word* state,
                        typename Body::word* before) {
  for (int k = 0; k < Body::kept; ++k) before[k] = state[k];
  if constexpr (Body::chained) {
    const uint64_t batch = block / scans::batch;
    if (batch == 0) return;
    const double* const batches = batch_states<Body>(p, row) + batch * Body::kept;
    for (int k = 0; k < Body::kept; k += 2) {
      const scans::Sum sum{batches[k], batches[k + 1]}, own{before[k], before[k + 1]};
      const scans::Sum all = block % scans::batch ? scans::joined(sum, own) : sum;
      before[k] = all.high;
      before[k + 1] = all.low;
    }
  }
}

template <class Body, class M, class R, int DIMS, bool WRITE>
__global__ void __launch_bounds__(256) pieces(const __grid_constant__ Scanned<DIMS> p) {
  using C = typename Body::C;
  using word = typename Body::word;
  __shared__ Cell<C, R> cells[threads * pitch];
  __shared__ word totals[threads * Body::members];
  __shared__ Pieces pieces;
  const unsigned lanes = 1u << p.lane_bits, lane = threadIdx.x & (lanes - 1), own = threadIdx.x >> p.lane_bits;
  const unsigned of_tile = threads >> p.lane_bits;
  // Blocks before rows. The total of the last block of a row is not needed.
  const uint64_t all = p.rows * (WRITE ? p.blocks : p.blocks - 1);
  for (uint64_t first_piece = uint64_t(blockIdx.x) * of_tile; first_piece < all; first_piece += uint64_t(gridDim.x) * of_tile) {
    __syncthreads();
    if (threadIdx.x < of_tile) place_pieces(p, first_piece, all, &pieces);
    __syncthreads();
    uint64_t row;
    const uint64_t block = divide(p.row_count, first_piece + own, &row);
    const unsigned length = pieces.length[own];
    word* const state = static_cast<word*>(p.states) + (row * p.blocks + block) * Body::kept;
    word kept[Body::kept];
    const word* before = nullptr;
    if (WRITE && block > 0 && length > 0) {
      read_before<Body>(p, row, block, state, kept);
      before = kept;
    }
    word carry[Body::members];  // of the first lane
    if constexpr (!Body::serial) Body::start(carry);
    // Repeat for the longest of them: the first one is never shorter than another.
    for (unsigned first = 0; first < pieces.length[0]; first += lanes * each) {
      move_elements<M>(
          p, pieces, first, [&](unsigned, int64_t in) { return static_cast<const M*>(p.in)[in]; },
          [&](unsigned cell, int64_t, M x) { cells[cell].set(C(computed<M>::in(x))); });
      meet(p);
      if constexpr (!Body::serial) step_groups<Body, R, WRITE>(p, cells, totals, lane, first, length, before, carry);
      else if (lane == 0) step_serially<Body, R, WRITE>(cells, lanes, first, length, before, carry);
      meet(p);
      if constexpr (WRITE) {
        move_elements<R>(
            p, pieces, first, [&](unsigned cell, int64_t) { return cells[cell].template get<R>(); },
            [&](unsigned, int64_t out, R x) { static_cast<R*>(p.out)[out] = x; });
        meet(p);
      }
    }
    if (!WRITE && lane == 0 && length > 0)
      for (int m = 0; m < Body::members; ++m) state[m] = carry[m];
  }
}

// Replaces the sum of each block of a row by the sum of the blocks before it, by the threads of a block.

// Sums of floats, in the order of scans::Before: each thread adds up batches of blocks, and leaves in place of the sum of a block
// the sum of those before it in its batch.
template <class Body>
DLT_FN void chain_batch(double* states, uint64_t first, uint64_t end, uint64_t blocks, scans::Sum* total) {
  constexpr int parts = Body::members, kept = Body::kept;
  scans::Chain chain[parts];
#pragma unroll 1
  for (uint64_t k = first; k < end; k += ahead) {
    double loaded[ahead * parts];
#pragma unroll
    for (int u = 0; u < ahead; ++u)
      for (int m = 0; m < parts; ++m)  // the sum of the last block is not known, nor needed
        loaded[u * parts + m] = k + u < end && k + u + 1 < blocks ? states[(k + u) * kept + m] : 0.0;
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      if (k + u >= end) break;
      for (int m = 0; m < parts; ++m) {
        double* const to = states + (k + u) * kept + 2 * m;
        to[0] = chain[m].sum.high;
        to[1] = chain[m].sum.low;
        chain[m].add({loaded[u * parts + m], 0});
      }
    }
  }
  for (int m = 0; m < parts; ++m) total[m] = chain[m].sum;
}

// Replaces the sum of each batch by the sum of those before it, by one thread for each part of a number.
template <class Body>
DLT_FN void chain_batches(double* sums, uint64_t batches) {
  constexpr int parts = Body::members, kept = Body::kept;
  const unsigned part = threadIdx.x / 32;
  if (part >= parts || threadIdx.x % 32 != 0) return;
  scans::Chain chain;
#pragma unroll 1
  for (uint64_t k = 0; k < batches; k += ahead) {
    scans::Sum loaded[ahead];
#pragma unroll
    for (int u = 0; u < ahead; ++u)
      if (k + u < batches) loaded[u] = {sums[(k + u) * kept + 2 * part], sums[(k + u) * kept + 2 * part + 1]};
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      if (k + u >= batches) break;
      double* const to = sums + (k + u) * kept + 2 * part;
      to[0] = chain.sum.high;
      to[1] = chain.sum.low;
      chain.add(loaded[u]);
    }
  }
}

// A thread has a row of one batch; else a thread block has a row.
template <class Body, int DIMS>
DLT_FN void prefixes_chained(const Scanned<DIMS>& p) {
  constexpr int parts = Body::members, kept = Body::kept;
  double* const all = static_cast<double*>(p.states);
  scans::Sum total[parts];
  if (p.batches == 1) {
    for (uint64_t row = first_item(); row < p.rows; row += all_threads())
      chain_batch<Body>(all + row * p.blocks * kept, 0, p.blocks, p.blocks, total);
    return;
  }
  for (uint64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    double* const sums = batch_states<Body>(p, row);
    for (uint64_t k = threadIdx.x; k < p.batches; k += threads) {
      const uint64_t first = k * scans::batch, past = first + scans::batch;
      chain_batch<Body>(all + row * p.blocks * kept, first, past < p.blocks ? past : p.blocks, p.blocks, total);
      for (int m = 0; m < parts; ++m) {
        sums[k * kept + 2 * m] = total[m].high;
        sums[k * kept + 2 * m + 1] = total[m].low;
      }
    }
    __syncthreads();
    chain_batches<Body>(sums, p.batches);
    __syncthreads();
  }
}

// If the order does not matter, each thread joins adjacent blocks.
template <class Body>
DLT_FN void prefixes_joined(typename Body::word* states, uint64_t blocks) {
  using word = typename Body::word;
  constexpr int members = Body::members;
  __shared__ word sums[threads * members];
  const uint64_t each_of = (blocks + threads - 1) / threads, begin = threadIdx.x * each_of;
  const uint64_t end = begin + each_of < blocks ? begin + each_of : blocks;
  word all[members], loaded[members];
  Body::start(all);
#pragma unroll 4
  for (uint64_t i = begin; i < end; ++i) {
    if (i + 1 == blocks) break;  // which nothing has counted
    for (int m = 0; m < members; ++m) loaded[m] = states[i * Body::kept + m];
    Body::advance(all, loaded);
  }
#pragma unroll 1
  for (unsigned by = 1; by < threads; by *= 2) {
    for (int m = 0; m < members; ++m) sums[threadIdx.x * members + m] = all[m];
    __syncthreads();
    if (threadIdx.x >= by) {
      for (int m = 0; m < members; ++m) loaded[m] = sums[(threadIdx.x - by) * members + m];
      Body::advance(all, loaded);
    }
    __syncthreads();
  }
  for (int m = 0; m < members; ++m) sums[threadIdx.x * members + m] = all[m];
  __syncthreads();
  Body::start(all);
  if (threadIdx.x > 0)
    for (int m = 0; m < members; ++m) all[m] = sums[(threadIdx.x - 1) * members + m];
#pragma unroll 4
  for (uint64_t i = begin; i < end; ++i) {
    const bool more = i + 1 < blocks;
    for (int m = 0; m < members; ++m) {
      word* const at = states + i * Body::kept + m;
      loaded[m] = more ? *at : word(0);
      *at = all[m];
    }
    if (more) Body::advance(all, loaded);
  }
  __syncthreads();
}

// Products of floats: by one thread, one after the other.
template <class Body>
DLT_FN void prefixes_serial(typename Body::word* states, uint64_t blocks) {
  using word = typename Body::word;
  __shared__ word cells[threads];
  word product = Body::P::one();  // of the first thread
#pragma unroll 1
  for (uint64_t first = 0; first < blocks; first += threads) {
    const auto left = unsigned(blocks - first < threads ? blocks - first : threads);
    if (threadIdx.x < left)
      cells[threadIdx.x] = first + threadIdx.x + 1 < blocks ? states[first + threadIdx.x] : Body::P::one();
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll 1
      for (unsigned i = 0; i < left; ++i) {
        const word total = cells[i];
        cells[i] = product;
        product = first + i == 0 ? total : ops::multiply(product, total);
      }
    }
    __syncthreads();
    if (threadIdx.x < left) states[first + threadIdx.x] = cells[threadIdx.x];
    __syncthreads();
  }
}

// A thread block takes the blocks of one row, but for short rows of floats.
template <class Body, class M, class R, int DIMS, bool WRITE>
__global__ void __launch_bounds__(256) prefixes(const __grid_constant__ Scanned<DIMS> p) {
  if constexpr (Body::chained) return prefixes_chained<Body>(p);
  else
    for (uint64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
      typename Body::word* const states = static_cast<typename Body::word*>(p.states) + row * p.blocks * Body::kept;
      if constexpr (Body::serial) prefixes_serial<Body>(states, p.blocks);
      else prefixes_joined<Body>(states, p.blocks);
    }
}

}  // namespace dlt::kernels::scan
