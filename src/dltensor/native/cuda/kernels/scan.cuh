// SPDX-License-Identifier: Apache-2.0
// Running sums, products, maxima and minima, in the order of native/ops/scans.h and with the bodies of reductions.h: `pieces`
// computes what each block of a row comes to, `prefixes` what lies before it, and `pieces` again the results. A row of one
// block needs the last launch only.
#pragma once
#include "native/cuda/kernels/fold.cuh"
#include "native/ops/scans.h"

namespace dlt::kernels::scan {

inline constexpr int threads = 256, each = scans::group;
inline constexpr int ahead = 8;  // what a thread that adds one by one reads at once, before it needs it
inline constexpr int pitch = each + 1;  // cells of a thread in shared memory: threads of a warp meet different banks

// ---- bodies. `total` is what a group of elements comes to, `carry` what lies before it in its block; both have `members`
// words. In global memory a block has `kept` words: its total first, then what lies before it.

// Sums of floats and of both parts of complex numbers: by distances in a group, one group after the other in a block.
template <class T>
struct float_sums {
  using C = typename computed<T>::type;
  using parts = fold::parts_of<C>;
  using word = double;
  static constexpr bool serial = false;
  static constexpr int members = parts::count, kept = 2 * parts::count;
  struct Group {
    double v[parts::count][each];
  };
  struct Prefix {
    scans::Before part[parts::count];
    DLT_FN void add(const word* total) {
      for (int k = 0; k < parts::count; ++k) part[k].add(total[k]);
    }
    DLT_FN void save(word* to) const {
      for (int k = 0; k < parts::count; ++k) {
        to[2 * k] = part[k].parts[0];
        to[2 * k + 1] = part[k].parts[1];
      }
    }
  };
  DLT_FN static void start(word* carry) {
    for (int k = 0; k < parts::count; ++k) carry[k] = -0.0;
  }
  DLT_FN static void advance(word* carry, const word* total) {
    for (int k = 0; k < parts::count; ++k) carry[k] += total[k];
  }
  DLT_FN static void gather(const C* x, int n, Group* group, word* total) {
#pragma unroll
    for (int k = 0; k < parts::count; ++k) {
      double* const v = group->v[k];
#pragma unroll
      for (int j = 0; j < each; ++j) v[j] = j < n ? parts::part(x[j], k) : -0.0;
#pragma unroll
      for (int by = 1; by < each; by *= 2)
#pragma unroll
        for (int j = each - 1; j >= by; --j) v[j] += v[j - by];
      total[k] = v[each - 1];
    }
  }
  template <class R>
  DLT_FN static R rounded(double re, double im) {
    if constexpr (parts::count == 2) return fold::as_element<R>(complex128{re, im});
    else return fold::as_element<R>(re);
  }
  // `before` is null in the first block.
  template <class R>
  DLT_FN static void finish(const C*, int, const Group& group, const word* before, const word* carry, R* out) {
    double start[2] = {};
#pragma unroll
    for (int k = 0; k < parts::count; ++k)
      start[k] = before == nullptr ? carry[k] : before[2 * k] + (before[2 * k + 1] + carry[k]);
#pragma unroll
    for (int j = 0; j < each; ++j)
      out[j] = rounded<R>(reductions::plain_nan(group.v[0][j] + start[0]),
                          reductions::plain_nan(group.v[parts::count - 1][j] + start[parts::count - 1]));
  }
};

// A reduction whose bits do not depend on the order of its elements.
template <class BODY>
struct folded {
  using C = typename computed<typename BODY::type>::type;
  using word = typename BODY::word;
  static constexpr bool serial = false;
  static constexpr int members = BODY::members, kept = BODY::members;
  struct Group {};
  struct Prefix {
    word w[members];
    DLT_FN Prefix() { BODY::start(w); }
    DLT_FN void add(const word* total) { BODY::join(w, total); }
    DLT_FN void save(word* to) const {
      for (int k = 0; k < members; ++k) to[k] = w[k];
    }
  };
  DLT_FN static void start(word* carry) { BODY::start(carry); }
  DLT_FN static void advance(word* carry, const word* total) { BODY::join(carry, total); }
  DLT_FN static void gather(const C* x, int n, Group*, word* total) {
    BODY::start(total);
#pragma unroll
    for (int j = 0; j < each; ++j)
      if (j < n) BODY::step(total, x[j], 0);
  }
  template <class R>
  DLT_FN static void finish(const C* x, int n, const Group&, const word* before, const word* carry, R* out) {
    word w[members];
    for (int k = 0; k < members; ++k) w[k] = carry[k];
    if (before != nullptr) BODY::join(w, before);
#pragma unroll
    for (int j = 0; j < each; ++j) {
      if (j >= n) continue;
      BODY::step(w, x[j], 0);
      BODY::end(w, fold::Ending{}, out + j);
    }
  }
};

// Products of floats: one element after the other in a block, by one thread.
template <class T>
struct serial_products {
  using C = typename computed<T>::type;
  using P = reductions::product_of<C>;
  using word = typename P::word;
  static constexpr bool serial = true;
  static constexpr int members = 1, kept = 1;
  struct Prefix {
    word w = P::one();
    bool any = false;
    DLT_FN void add(const word* total) {
      w = any ? ops::multiply(w, total[0]) : total[0];
      any = true;
    }
    DLT_FN void save(word* to) const { to[0] = w; }
  };
};

// ---- kernels

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

// Where the elements of a piece lie: `1 << lane_bits` groups of each row. Adjacent threads move adjacent elements of a row, or
// those of adjacent rows where these lie closer in memory.
template <int DIMS>
struct Piece {
  const Scanned<DIMS>& p;
  uint64_t first_row, first, end;  // elements of the rows
  // Calls move(cell, place in the input, place in the output) for what this thread moves.
  template <class F>
  DLT_FN void for_each(F move) const {
    const unsigned span_bits = p.lane_bits + 3, row_bits = 8 - p.lane_bits;
    static_assert(each == 8 && threads == 256, "the bits of a group and of a thread block");
    unsigned known = ~0u;
    int64_t in = 0, out = 0;
#pragma unroll 2
    for (unsigned e = threadIdx.x; e < threads * each; e += threads) {
      const unsigned row = p.across ? e & ((1u << row_bits) - 1) : e >> span_bits;
      const unsigned i = p.across ? e >> row_bits : e & ((1u << span_bits) - 1);
      if (first_row + row >= p.rows || first + i >= end) continue;
      if (row != known) place_of(p, first_row + row, &in, &out);
      known = row;
      const int64_t at = int64_t(first + i);
      move(((row << p.lane_bits) + i / each) * pitch + i % each, in + at * p.in_step, out + at * p.out_step);
    }
  }
  // Of long rows: all threads are in the same one, and all that a thread moves of it is read before any of it is used.
  template <class X, class F, class G>
  DLT_FN void move_all(F read, G write) const {
    const unsigned span = each << p.lane_bits;
    if (p.across || span < threads) {
      for_each([&](unsigned cell, int64_t in, int64_t out) { write(cell, out, read(cell, in)); });
      return;
    }
#pragma unroll 1
    for (unsigned row = 0; row < unsigned(threads) >> p.lane_bits && first_row + row < p.rows; ++row) {
      int64_t in = 0, out = 0;
      place_of(p, first_row + row, &in, &out);
      const unsigned cells = (row << p.lane_bits) * pitch;
      X x[each];
#pragma unroll
      for (int k = 0; k < each; ++k) {
        const unsigned i = k * threads + threadIdx.x;
        if (i < span && first + i < end) x[k] = read(cells + i / each * pitch + i % each, in + int64_t(first + i) * p.in_step);
      }
#pragma unroll
      for (int k = 0; k < each; ++k) {
        const unsigned i = k * threads + threadIdx.x;
        if (i < span && first + i < end)
          write(cells + i / each * pitch + i % each, out + int64_t(first + i) * p.out_step, x[k]);
      }
    }
  }
};

// Adds the totals of adjacent groups to `carry`, one after the other, and leaves in place of each what was there before it. All are
// read before the first is needed.
template <class Body, int COUNT, bool WRITE>
DLT_FN void advance_all(typename Body::word* slots, typename Body::word* carry) {
  constexpr int members = Body::members;
  typename Body::word held[COUNT * members];
#pragma unroll
  for (int i = 0; i < COUNT * members; ++i) held[i] = slots[i];
#pragma unroll
  for (int u = 0; u < COUNT; ++u) {
    if constexpr (WRITE)
      for (int m = 0; m < members; ++m) slots[u * members + m] = carry[m];
    Body::advance(carry, held + u * members);
  }
}

template <class Body, class M, class R, int DIMS, bool WRITE>
__global__ void __launch_bounds__(256, 4) pieces(const __grid_constant__ Scanned<DIMS> p) {
  using C = typename Body::C;
  using word = typename Body::word;
  __shared__ Cell<C, R> cells[threads * pitch];
  __shared__ word totals[threads * Body::members];
  const unsigned lanes = 1u << p.lane_bits, lane = threadIdx.x & (lanes - 1), row_in_group = threadIdx.x >> p.lane_bits;
  const uint64_t blocks = WRITE ? p.blocks : p.blocks - 1;  // what the last one comes to is not asked for
  for (uint64_t tile = blockIdx.x; tile < p.groups.divisor * blocks; tile += gridDim.x) {
    uint64_t group;
    const uint64_t block = divide(p.groups, tile, &group);
    const uint64_t first_row = group * (threads >> p.lane_bits), row = first_row + row_in_group;
    const uint64_t begin = block * scans::block, end = p.count - begin < scans::block ? p.count : begin + scans::block;
    word* const state = static_cast<word*>(p.states) + (row * p.blocks + block) * Body::kept;
    word kept[Body::kept];
    const word* before = nullptr;
    if (WRITE && block > 0 && row < p.rows) {
      for (int k = 0; k < Body::kept; ++k) kept[k] = state[k];
      before = kept;
    }
    word carry[Body::members];  // of the first lane
    if constexpr (!Body::serial) Body::start(carry);
    for (uint64_t first = begin; first < end; first += lanes * each) {
      const Piece<DIMS> piece{p, first_row, first, end};
      piece.template move_all<M>([&](unsigned, int64_t in) { return static_cast<const M*>(p.in)[in]; },
                                 [&](unsigned cell, int64_t, M x) { cells[cell].set(C(computed<M>::in(x))); });
      __syncthreads();
      if constexpr (Body::serial) {
        if (lane == 0 && row < p.rows) {
#pragma unroll 1
          for (unsigned i = 0; i < lanes * each && first + i < end; ++i) {
            Cell<C, R>* const cell = &cells[(threadIdx.x + i / each) * pitch + i % each];
            const word x = Body::P::factor(cell->template get<C>());
            carry[0] = first + i == begin ? x : ops::multiply(carry[0], x);
            if (WRITE) cell->set(fold::as_element<R>(before == nullptr ? carry[0] : ops::multiply(before[0], carry[0])));
          }
        }
      } else {
        const uint64_t from = first + lane * each;
        const int n = row >= p.rows || from >= end ? 0 : end - from < each ? int(end - from) : each;
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
        __syncthreads();
        if (lane == 0) {
          const uint64_t groups = (end - first + each - 1) / each;
          const unsigned taken = groups < lanes ? unsigned(groups) : lanes;
          word* const slots = totals + threadIdx.x * Body::members;
          unsigned l = 0;
#pragma unroll 1
          for (; l + ahead <= taken; l += ahead) advance_all<Body, ahead, WRITE>(slots + l * Body::members, carry);
#pragma unroll 1
          for (; l < taken; ++l) advance_all<Body, 1, WRITE>(slots + l * Body::members, carry);
        }
        if constexpr (WRITE) {
          __syncthreads();
          R made[each];
          for (int m = 0; m < Body::members; ++m) sum[m] = total[m];
          if (n > 0) Body::finish(x, n, elements, before, sum, made);
#pragma unroll
          for (int j = 0; j < each; ++j)
            if (j < n) own[j].set(made[j]);
        }
      }
      __syncthreads();
      if constexpr (WRITE) {
        piece.template move_all<R>([&](unsigned cell, int64_t) { return cells[cell].template get<R>(); },
                                   [&](unsigned, int64_t out, R x) { static_cast<R*>(p.out)[out] = x; });
        __syncthreads();
      }
    }
    if (!WRITE && lane == 0 && row < p.rows)
      for (int m = 0; m < Body::members; ++m) state[m] = carry[m];
  }
}

// The same for blocks, whose words are `kept` apart.
template <class Body, int COUNT>
DLT_FN void add_all(typename Body::word* cells, typename Body::Prefix* prefix) {
  typename Body::word held[COUNT][Body::members];
#pragma unroll
  for (int u = 0; u < COUNT; ++u)
    for (int m = 0; m < Body::members; ++m) held[u][m] = cells[u * Body::kept + m];
#pragma unroll
  for (int u = 0; u < COUNT; ++u) {
    prefix->save(cells + u * Body::kept);
    prefix->add(held[u]);
  }
}

// A thread block takes the blocks of one row, of which one thread adds up what the others have read.
template <class Body, class M, class R, int DIMS, bool WRITE>
__global__ void __launch_bounds__(256) prefixes(const __grid_constant__ Scanned<DIMS> p) {
  using word = typename Body::word;
  constexpr int kept = Body::kept;
  __shared__ word cells[threads * kept];
  for (uint64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    word* const states = static_cast<word*>(p.states) + row * p.blocks * kept;
    typename Body::Prefix prefix;  // of the first thread
    for (uint64_t first = 0; first < p.blocks; first += threads) {
      const uint64_t left = (p.blocks - first < threads ? p.blocks - first : threads) * kept;
#pragma unroll 1
      for (uint64_t i = threadIdx.x; i < left; i += threads) cells[i] = states[first * kept + i];
      __syncthreads();
      if (threadIdx.x == 0) {
        unsigned i = 0;
#pragma unroll 1
        for (; i + ahead * kept <= left; i += ahead * kept) add_all<Body, ahead>(cells + i, &prefix);
#pragma unroll 1
        for (; i < left; i += kept) add_all<Body, 1>(cells + i, &prefix);
      }
      __syncthreads();
#pragma unroll 1
      for (uint64_t i = threadIdx.x; i < left; i += threads) states[first * kept + i] = cells[i];
      __syncthreads();
    }
  }
}

}  // namespace dlt::kernels::scan
