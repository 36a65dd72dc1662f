// SPDX-License-Identifier: Apache-2.0
// Systems of equations, inverses, determinants and Cholesky factors of matrices that a team has. The roundings of an element do
// not depend on the team.
#pragma once
#include "native/cuda/kernels/linalg/team.cuh"
#include "native/ops/linalg/determinants.h"

namespace dlt::kernels::matrices {

// Results of the warps of a team, for the others.
template <class F>
struct Found {
  F best[8];
  int rows[8];
};

// The row from `c` on whose element in column c is the largest, the first of equal ones; NaN in row c stays there.
template <class T, class F>
DLT_FN int find_pivot(const F* a, int lead, int n, int c, Found<F>& shared) {
  using E = typename T::Element;
  F most = -1;
  int row = n;
  for (int r = c + T::rank(); r < n; r += T::size) {
    const F x = size(E::load(a + (int64_t(r) * lead + c) * E::parts, 1));
    if (r == c) most = x == x ? x : F(bits_as<float>(uint32_t{0x7f800000})), row = r;
    else if (x > most) most = x, row = r;
  }
  const auto take = [&](F x, int r) {
    if (x > most || (x == most && r < row)) most = x, row = r;
  };
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    const F other = __shfl_xor_sync(~0u, most, step);
    take(other, __shfl_xor_sync(~0u, row, step));
  }
  if constexpr (T::is_warp) return row;
  if (T::rank() % 32 == 0) shared.best[T::rank() / 32] = most, shared.rows[T::rank() / 32] = row;
  __syncthreads();
  for (int i = 0; i < T::size / 32; ++i) take(shared.best[i], shared.rows[i]);
  __syncthreads();
  return row;
}

template <class E, class F>
DLT_FN void swap_elements(F* a, F* b) {
  const E x = E::load(a, 1), y = E::load(b, 1);
  y.save(a, 1);
  x.save(b, 1);
}

// Gaussian elimination of `a`, and of b of k columns alike; whether a pivot is 0. With `rows`, which becomes the order of the rows,
// factors are exchanged too. Each thread has a `sign`.
template <class T, class F>
DLT_FN bool eliminate(F* a, int lead, int n, F* b, int k, Found<F>& shared, int* rows, F* sign) {
  using E = typename T::Element;
  const int t = T::rank();
  bool singular = false;
  const auto at = [&](int r, int j) { return a + (int64_t(r) * lead + j) * E::parts; };
  const auto right = [&](int r, int j) { return b + (int64_t(r) * k + j) * E::parts; };
  for (int c = 0; c < n; ++c) {
    const int pivot = find_pivot<T>(a, lead, n, c, shared);
    if (pivot != c) {
      T::wait();
      for (int j = (rows ? 0 : c) + t; j < n; j += T::size) swap_elements<E>(at(c, j), at(pivot, j));
      for (int j = t; j < k; j += T::size) swap_elements<E>(right(c, j), right(pivot, j));
      if (rows && t == 0) {
        const int row = rows[c];
        rows[c] = rows[pivot], rows[pivot] = row;
      }
      *sign = -*sign;
    }
    T::wait();
    const E top = E::load(at(c, c), 1);
    singular |= size(top) == 0;
    for (int r = c + 1 + t; r < n; r += T::size) {
      const E x = E::load(at(r, c), 1);
      lanes::choose(size(x) == 0, E{}, x / top).save(at(r, c), 1);  // below a pivot of 0 there are zeros
    }
    T::wait();
    const int rest = n - c - 1;
    each_element<T>(rest, rest + k, [&](int r, int j) {
      const E factor = E::load(at(c + 1 + r, c), 1);
      F* const to = j < rest ? at(c + 1 + r, c + 1 + j) : right(c + 1 + r, j - rest);
      const F* const from = j < rest ? at(c, c + 1 + j) : right(c, j - rest);
      (E::load(to, 1) - factor * E::load(from, 1)).save(to, 1);
    });
    T::wait();
  }
  return singular;
}

// b becomes x with u x = b, of the upper triangle u of `a`.
template <class T, class F>
DLT_FN void substitute(const F* a, int lead, int n, F* b, int b_lead, int k) {
  using E = typename T::Element;
  for (int r = n - 1; r >= 0; --r) {
    F* const row = b + int64_t(r) * b_lead * E::parts;
    const E top = E::load(a + (int64_t(r) * lead + r) * E::parts, 1);
    for (int j = T::rank(); j < k; j += T::size) (E::load(row + j * E::parts, 1) / top).save(row + j * E::parts, 1);
    T::wait();
    each_element<T>(r, k, [&](int i, int j) {
      F* const x = b + (int64_t(i) * b_lead + j) * E::parts;
      (E::load(x, 1) - E::load(a + (int64_t(i) * lead + r) * E::parts, 1) * E::load(row + j * E::parts, 1)).save(x, 1);
    });
    T::wait();
  }
}

// Matrix `i` of n x n elements: for a warp a copy in its tile, for a block itself, which is overwritten.
template <class T, class F>
DLT_FN F* take_square(void* data, uint64_t i, int n, F* tile) {
  using E = typename T::Element;
  F* const a = at<F, E::parts>(data, i, int64_t(n) * n);
  if constexpr (!T::is_warp) return a;
  each_element<T>(
      n, n, [&](int r, int c) { E::load(a + (r * n + c) * E::parts, 1).save(tile + (r * T::lead(n) + c) * E::parts, 1); });
  T::wait();
  return tile;
}

// b becomes x with a x = b, or the inverse with `flag`. A warp has as many columns of b at a time as its tile.
template <class F, int PARTS, int SIDE>
__global__ void __launch_bounds__(Team<F, PARTS, SIDE>::threads) solve_team(const __grid_constant__ Matrices p) {
  using T = Team<F, PARTS, SIDE>;
  using E = Number<F, PARTS>;
  __shared__ F tiles[T::count][2 * T::tile];
  __shared__ int orders[T::count][T::is_warp ? T::most : 1];
  __shared__ Found<F> found;
  const int t = T::rank(), n = p.n, k = p.k, lead = T::lead(n);
  F* const tile = tiles[T::place()];
  int* const rows = T::is_warp ? orders[T::place()] : nullptr;
  for (uint64_t i = T::first(); i < p.count; i += T::step()) {
    F *const a = take_square<T>(p.a, i, n, tile), *const b = at<F, PARTS>(p.out, i, int64_t(n) * k);
    F sign = 1;
    if constexpr (T::is_warp) {
      if (t < n) rows[t] = t;
      T::wait();
      const bool singular = eliminate<T>(a, lead, n, a, 0, found, rows, &sign);
      if (t == 0) p.info[i] = singular;
      F* const part = tile + T::tile;
      for (int first = 0; first < k; first += SIDE) {
        const int columns = k - first < SIDE ? k - first : SIDE;
        const auto outside = [&](int r, int j) { return b + (int64_t(r) * k + first + j) * PARTS; };
        const auto inside = [&](int r, int j) { return part + (r * lead + j) * PARTS; };
        each_element<T>(n, columns, [&](int r, int j) {
          (p.flag ? unit<F, PARTS>(rows[r] == first + j) : E::load(outside(rows[r], j), 1)).save(inside(r, j), 1);
        });
        T::wait();
        for (int c = 0; c < n - 1; ++c) {
          each_element<T>(n - c - 1, columns, [&](int r, int j) {
            F* const x = inside(c + 1 + r, j);
            (E::load(x, 1) - E::load(a + ((c + 1 + r) * lead + c) * PARTS, 1) * E::load(inside(c, j), 1)).save(x, 1);
          });
          T::wait();
        }
        substitute<T>(a, lead, n, part, lead, columns);
        each_element<T>(n, columns, [&](int r, int j) { E::load(inside(r, j), 1).save(outside(r, j), 1); });
        T::wait();
      }
    } else {
      if (p.flag) {
        each_element<T>(n, n, [&](int r, int j) { unit<F, PARTS>(r == j).save(b + (int64_t(r) * n + j) * PARTS, 1); });
        T::wait();
      }
      const bool singular = eliminate<T>(a, lead, n, b, k, found, rows, &sign);
      if (t == 0) p.info[i] = singular;
      substitute<T>(a, lead, n, b, k, k);
    }
  }
}

// `third` has room for n + 1 elements of each matrix of a block.
template <class F, int PARTS, int SIDE>
__global__ void __launch_bounds__(Team<F, PARTS, SIDE>::threads) determinant_team(const __grid_constant__ Matrices p) {
  using T = Team<F, PARTS, SIDE>;
  using E = Number<F, PARTS>;
  __shared__ F tiles[T::count][2 * T::tile];
  __shared__ Found<F> found;
  const int n = p.n, lead = T::lead(n);
  F* const tile = tiles[T::place()];
  for (uint64_t i = T::first(); i < p.count; i += T::step()) {
    F* const a = take_square<T>(p.a, i, n, tile);
    F* const pivots = T::is_warp ? tile + T::tile : at<F, PARTS>(p.third, i, n + 1);
    E sign{};
    sign.re = 1;
    eliminate<T>(a, lead, n, a, 0, found, nullptr, &sign.re);
    if (T::rank() == 0) {
      for (int c = 0; c < n; ++c) E::load(a + (int64_t(c) * lead + c) * PARTS, 1).save(pivots + c * PARTS, 1);
      sign.save(pivots + n * PARTS, 1);
      finish_determinant<F, PARTS>(pivots, n, at<F, PARTS>(p.out, i, 1), at<F, 1>(p.second, i, 1));
    }
    T::wait();
  }
}

// In place; the other triangle is left as it is.
template <class F, int PARTS, int SIDE>
__global__ void __launch_bounds__(Team<F, PARTS, SIDE>::threads) cholesky_team(const __grid_constant__ Matrices p) {
  using T = Team<F, PARTS, SIDE>;
  using E = Number<F, PARTS>;
  __shared__ F tiles[T::count][T::tile];
  const int t = T::rank(), n = p.n, lead = T::lead(n);
  const int64_t down = p.flag ? 1 : lead, right = p.flag ? lead : 1;  // steps of the lower factor in memory
  for (uint64_t i = T::first(); i < p.count; i += T::step()) {
    F* const a = take_square<T>(p.out, i, n, tiles[T::place()]);
    const auto element = [&](int64_t r, int64_t c) { return a + (r * down + c * right) * PARTS; };
    bool bad = false;
    for (int c = 0; c < n; ++c) {
      F* const top = element(c, c);
      const F pivot = *top, d = lanes::root(pivot);
      bad |= !(pivot > 0) || pivot - pivot != 0;
      T::wait();  // all have read it
      for (int r = c + t; r < n; r += T::size) {
        F* const x = element(r, c);
        if (r > c) {
          over(E::load(x, 1), d).save(x, 1);
        } else {
          E diagonal{};
          diagonal.re = d;
          diagonal.save(x, 1);
        }
      }
      T::wait();
      // Memory holds the conjugate of the lower factor for an upper triangle: the products are conjugates too.
      each_element<T>(n - c - 1, n - c - 1, [&](int down_by, int right_by) {
        const int64_t r = c + 1 + (p.flag ? right_by : down_by), j = c + 1 + (p.flag ? down_by : right_by);
        if (j > r) return;
        F* const x = element(r, j);
        (E::load(x, 1) - E::load(element(r, c), 1) * conj(E::load(element(j, c), 1))).save(x, 1);
      });
      T::wait();
    }
    if (t == 0) p.info[i] = bad;
    if constexpr (T::is_warp) {
      F* const out = at<F, PARTS>(p.out, i, int64_t(n) * n);
      each_element<T>(n, n, [&](int r, int c) { E::load(a + (r * lead + c) * PARTS, 1).save(out + (r * n + c) * PARTS, 1); });
      T::wait();
    }
  }
}

}  // namespace dlt::kernels::matrices
