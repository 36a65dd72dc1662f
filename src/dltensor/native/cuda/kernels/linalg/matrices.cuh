// SPDX-License-Identifier: Apache-2.0
// Factorizations of batches of matrices: one of up to 8 x 8 is a thread's, by the code of the CPU; a larger one is a block's, in
// memory, where each step waits for the one before it.
#pragma once
#include "native/cuda/kernels/elementwise/bodies.cuh"
#include "native/ops/linalg/determinants.h"

#define DLT_LEVEL matrix_lanes

// A lane is one number.
namespace dlt::DLT_LEVEL {
namespace {

constexpr int small_side = 8;
constexpr int64_t capacity = 1;

template <class F>
struct lanes_of {
  static constexpr int count = 1;
  using type = F;
};
DLT_FN float root(float v) { return sqrtf(v); }
DLT_FN double root(double v) { return sqrt(v); }
DLT_FN bool any(bool mask) { return mask; }
DLT_FN float inverse_power(float v, float* inverse) {
  int32_t exponent = bits_as<int32_t>(v) >> 23 & 0xff;
  exponent = exponent < 1 ? 1 : exponent > 253 ? 253 : exponent;
  *inverse = bits_as<float>(exponent << 23);
  return bits_as<float>((254 - exponent) << 23);
}
DLT_FN double inverse_power(double v, double* inverse) {
  int64_t exponent = bits_as<int64_t>(v) >> 52 & 0x7ff;
  exponent = exponent < 1 ? 1 : exponent > 2045 ? 2045 : exponent;
  *inverse = bits_as<double>(exponent << 52);
  return bits_as<double>((2046 - exponent) << 52);
}

}  // namespace
}  // namespace dlt::DLT_LEVEL

#include "native/ops/linalg/small_matrices.h"

namespace dlt::kernels::matrices {

namespace lanes = dlt::DLT_LEVEL;

template <class F, int PARTS>
struct number_of {
  using type = lanes::RealLanes<F>;
};
template <class F>
struct number_of<F, 2> {
  using type = lanes::ComplexLanes<F>;
};
template <class F, int PARTS>
using Number = typename number_of<F, PARTS>::type;

// Matrix `i` of so many elements.
template <class F, int PARTS>
DLT_FN F* at(void* data, uint64_t i, int64_t elements) {
  return data ? static_cast<F*>(data) + int64_t(i) * elements * PARTS : nullptr;
}

// ---- a thread a matrix, of N rows or of any number up to 8 with N = 0

template <class F, int PARTS, int N>
__global__ void __launch_bounds__(128) solve(const __grid_constant__ Matrices p) {
  for (uint64_t i = first_item(); i < p.count; i += all_threads()) {
    F singular;
    lanes::solve_lanes<N, Number<F, PARTS>>(at<F, PARTS>(p.a, i, p.n * p.n), at<F, PARTS>(p.out, i, p.n * p.k), &singular, p.n,
                                            p.k, 0);
    p.info[i] = singular != 0;
  }
}

template <class F, int PARTS, int N>
__global__ void __launch_bounds__(128) inverse(const __grid_constant__ Matrices p) {
  for (uint64_t i = first_item(); i < p.count; i += all_threads()) {
    F singular;
    lanes::inverse_lanes<N, Number<F, PARTS>>(at<F, PARTS>(p.a, i, p.n * p.n), at<F, PARTS>(p.out, i, p.n * p.n), &singular,
                                              p.n, 0, 0);
    p.info[i] = singular != 0;
  }
}

template <class F, int PARTS, int N>
__global__ void __launch_bounds__(128) determinant(const __grid_constant__ Matrices p) {
  for (uint64_t i = first_item(); i < p.count; i += all_threads()) {
    Number<F, PARTS> pivots[lanes::small_side + 1];
    lanes::find_pivots<N>(at<F, PARTS>(p.a, i, p.n * p.n), pivots, p.n, 0);
    finish_determinant<F, PARTS>(reinterpret_cast<F*>(pivots), p.n, at<F, PARTS>(p.out, i, 1), at<F, 1>(p.second, i, 1));
  }
}

template <class F, int PARTS, int N>
__global__ void __launch_bounds__(128) cholesky(const __grid_constant__ Matrices p) {
  for (uint64_t i = first_item(); i < p.count; i += all_threads()) {
    F indefinite;
    lanes::cholesky_lanes<N, Number<F, PARTS>>(at<F, PARTS>(p.out, i, p.n * p.n), nullptr, &indefinite, p.n, p.flag, 0);
    p.info[i] = indefinite != 0;
  }
}

// N is not used by the next three.
template <class F, int PARTS, int N>
__global__ void __launch_bounds__(128) qr(const __grid_constant__ Matrices p) {
  using E = Number<F, PARTS>;
  for (uint64_t i = first_item(); i < p.count; i += all_threads()) {
    F r[lanes::most * PARTS];
    memcpy(r, at<F, PARTS>(p.a, i, p.m * p.n), sizeof(E) * p.m * p.n);
    lanes::qr_lanes<E>(r, at<F, PARTS>(p.out, i, p.m * p.k), p.m, p.n, p.k, 0);
    memcpy(at<F, PARTS>(p.second, i, p.k * p.n), r, sizeof(E) * p.k * p.n);
  }
}

template <class F, int PARTS, int N>
__global__ void __launch_bounds__(128) eigh(const __grid_constant__ Matrices p) {
  for (uint64_t i = first_item(); i < p.count; i += all_threads())
    lanes::eigh_lanes<0, Number<F, PARTS>>(at<F, PARTS>(p.a, i, p.n * p.n), at<F, 1>(p.out, i, p.n),
                                           at<F, PARTS>(p.second, i, p.n * p.n), p.n, 0, 0);
}

// Decomposes the conjugate transpose of a wide matrix; k: columns of the longer side.
template <class F, int PARTS, int N>
__global__ void __launch_bounds__(128) svd(const __grid_constant__ Matrices p) {
  using E = Number<F, PARTS>;
  const bool wide = p.m < p.n;
  const int most = wide ? p.n : p.m, least = wide ? p.m : p.n;
  for (uint64_t i = first_item(); i < p.count; i += all_threads()) {
    F turned[lanes::most * PARTS];
    F* from = at<F, PARTS>(p.a, i, p.m * p.n);
    if (wide) {
      for (int r = 0; r < p.m; ++r)
        for (int c = 0; c < p.n; ++c) conj(E::load(from + (r * p.n + c) * PARTS, 1)).save(turned + (c * p.m + r) * PARTS, 1);
      from = turned;
    }
    F* const u = at<F, PARTS>(p.out, i, p.m * (wide ? least : p.k));
    F* const vh = at<F, PARTS>(p.third, i, p.n * (wide ? p.k : least));
    lanes::svd_lanes<E>(from, u, at<F, 1>(p.second, i, least), vh, most, least, p.k, wide, 0);
  }
}

// ---- a block a matrix, in memory

inline constexpr int threads = 256;

// The row from `c` on whose element in column c is the largest, the first of equal ones; NaN is larger than none.
template <class F, class E>
DLT_FN int find_pivot(const F* a, int n, int c, F* best, int* rows) {
  const int t = threadIdx.x;
  F most = -1;
  int row = c;
  for (int r = c + t; r < n; r += threads) {
    const F x = size(E::load(a + (int64_t(r) * n + c) * E::parts, 1));
    if (r == c || x > most) most = x, row = r;
  }
  best[t] = most;
  rows[t] = row;
  for (int step = threads / 2; step > 0; step /= 2) {
    __syncthreads();
    // A thread has rows in ascending order, and the one of row c comes first.
    if (t < step && (best[t + step] > best[t] || (best[t + step] == best[t] && rows[t + step] < rows[t])))
      best[t] = best[t + step], rows[t] = rows[t + step];
  }
  __syncthreads();
  const int found = rows[0];
  __syncthreads();
  return found;
}

template <class F, class E>
DLT_FN void swap_elements(F* a, F* b) {
  const E x = E::load(a, 1), y = E::load(b, 1);
  y.save(a, 1);
  x.save(b, 1);
}

// Gaussian elimination of a and b alike; whether a pivot is 0. `sign` is of thread 0.
template <class F, class E>
DLT_FN bool eliminate(F* a, F* b, int n, int k, F* best, int* rows, F* sign) {
  const int t = threadIdx.x;
  bool singular = false;
  for (int c = 0; c < n; ++c) {
    const int pivot = find_pivot<F, E>(a, n, c, best, rows);
    if (pivot != c) {
      for (int j = c + t; j < n; j += threads)
        swap_elements<F, E>(a + (int64_t(c) * n + j) * E::parts, a + (int64_t(pivot) * n + j) * E::parts);
      for (int j = t; j < k; j += threads)
        swap_elements<F, E>(b + (int64_t(c) * k + j) * E::parts, b + (int64_t(pivot) * k + j) * E::parts);
      *sign = -*sign;
    }
    __syncthreads();
    const E top = E::load(a + (int64_t(c) * n + c) * E::parts, 1);
    singular |= size(top) == 0;
    for (int r = c + 1 + t; r < n; r += threads) {
      F* const at = a + (int64_t(r) * n + c) * E::parts;
      const E x = E::load(at, 1);
      lanes::choose(size(x) == 0, E{}, x / top).save(at, 1);  // below a pivot of 0 there are zeros
    }
    __syncthreads();
    const int columns = n - c - 1 + k;
    for (int64_t item = t; item < int64_t(n - c - 1) * columns; item += threads) {
      const int r = c + 1 + int(item / columns), j = int(item % columns);
      const E factor = E::load(a + (int64_t(r) * n + c) * E::parts, 1);
      const bool right = j >= n - c - 1;
      F* const row = right ? b + (int64_t(r) * k + (j - (n - c - 1))) * E::parts : a + (int64_t(r) * n + c + 1 + j) * E::parts;
      const F* const from = right ? b + (int64_t(c) * k + (j - (n - c - 1))) * E::parts
                                  : a + (int64_t(c) * n + c + 1 + j) * E::parts;
      (E::load(row, 1) - factor * E::load(from, 1)).save(row, 1);
    }
    __syncthreads();
  }
  return singular;
}

// `a` is overwritten. b becomes x with a x = b, or the inverse with `flag`.
template <class F, int PARTS, int N>
__global__ void __launch_bounds__(256) solve_large(const __grid_constant__ Matrices p) {
  using E = Number<F, PARTS>;
  __shared__ F best[threads];
  __shared__ int rows[threads];
  const int t = threadIdx.x, n = p.n, k = p.k;
  for (uint64_t i = blockIdx.x; i < p.count; i += gridDim.x) {
    F *const a = at<F, PARTS>(p.a, i, int64_t(n) * n), *const b = at<F, PARTS>(p.out, i, int64_t(n) * k);
    if (p.flag) {
      for (int64_t e = t; e < int64_t(n) * n; e += threads) {
        E x{};
        x.re = e % (n + 1) == 0 ? F(1) : F(0);
        x.save(b + e * PARTS, 1);
      }
      __syncthreads();
    }
    F sign = 1;
    const bool singular = eliminate<F, E>(a, b, n, k, best, rows, &sign);
    if (t == 0) p.info[i] = singular;
    for (int r = n - 1; r >= 0; --r) {
      const E top = E::load(a + (int64_t(r) * n + r) * PARTS, 1);
      for (int j = t; j < k; j += threads) {
        F* const x = b + (int64_t(r) * k + j) * PARTS;
        (E::load(x, 1) / top).save(x, 1);
      }
      __syncthreads();
      for (int64_t item = t; item < int64_t(r) * k; item += threads) {
        const int64_t row = item / k, j = item % k;
        F* const x = b + item * PARTS;
        (E::load(x, 1) - E::load(a + (row * n + r) * PARTS, 1) * E::load(b + (int64_t(r) * k + j) * PARTS, 1)).save(x, 1);
      }
      __syncthreads();
    }
  }
}

// `a` is overwritten; `third` has room for n + 1 elements of each matrix.
template <class F, int PARTS, int N>
__global__ void __launch_bounds__(256) determinant_large(const __grid_constant__ Matrices p) {
  using E = Number<F, PARTS>;
  __shared__ F best[threads];
  __shared__ int rows[threads];
  const int n = p.n;
  for (uint64_t i = blockIdx.x; i < p.count; i += gridDim.x) {
    F *const a = at<F, PARTS>(p.a, i, int64_t(n) * n), *const pivots = at<F, PARTS>(p.third, i, n + 1);
    E sign{};
    sign.re = 1;
    eliminate<F, E>(a, a, n, 0, best, rows, &sign.re);
    if (threadIdx.x != 0) continue;
    for (int c = 0; c < n; ++c) E::load(a + (int64_t(c) * n + c) * PARTS, 1).save(pivots + c * PARTS, 1);
    sign.save(pivots + n * PARTS, 1);
    finish_determinant<F, PARTS>(pivots, n, at<F, PARTS>(p.out, i, 1), at<F, 1>(p.second, i, 1));
  }
}

// From the factors that a library made; `third` as above.
template <class F, int PARTS, int N>
__global__ void __launch_bounds__(128) determinant_of(const __grid_constant__ Matrices p) {
  using E = Number<F, PARTS>;
  const int n = p.n;
  for (uint64_t i = first_item(); i < p.count; i += all_threads()) {
    F *const a = at<F, PARTS>(p.a, i, int64_t(n) * n), *const pivots = at<F, PARTS>(p.third, i, n + 1);
    E sign{};
    sign.re = 1;
    for (int c = 0; c < n; ++c) {
      E::load(a + (int64_t(c) * n + c) * PARTS, 1).save(pivots + c * PARTS, 1);
      if (p.pivots[int64_t(i) * n + c] != c + 1) sign.re = -sign.re;
    }
    sign.save(pivots + n * PARTS, 1);
    finish_determinant<F, PARTS>(pivots, n, at<F, PARTS>(p.out, i, 1), at<F, 1>(p.second, i, 1));
  }
}

// In place; the other triangle is left as it is.
template <class F, int PARTS, int N>
__global__ void __launch_bounds__(256) cholesky_large(const __grid_constant__ Matrices p) {
  using E = Number<F, PARTS>;
  const int t = threadIdx.x, n = p.n;
  const int64_t down = p.flag ? 1 : n, right = p.flag ? n : 1;  // steps of the lower factor in memory
  for (uint64_t i = blockIdx.x; i < p.count; i += gridDim.x) {
    F* const a = at<F, PARTS>(p.out, i, int64_t(n) * n);
    const auto element = [&](int64_t r, int64_t c) { return a + (r * down + c * right) * PARTS; };
    bool bad = false;
    for (int c = 0; c < n; ++c) {
      F* const top = element(c, c);
      const F d = lanes::root(*top);
      bad |= !(*top > 0) || *top - *top != 0;
      __syncthreads();  // all have read it
      for (int r = c + t; r < n; r += threads) {
        F* const x = element(r, c);
        if (r > c) {
          over(E::load(x, 1), d).save(x, 1);
        } else {
          E diagonal{};
          diagonal.re = d;
          diagonal.save(x, 1);
        }
      }
      __syncthreads();
      // Memory holds the conjugate of the lower factor for an upper triangle: the products are conjugates too.
      const int64_t rest = n - c - 1;
      for (int64_t item = t; item < rest * rest; item += threads) {
        const int64_t r = c + 1 + item / rest, j = c + 1 + item % rest;
        if (j > r) continue;
        F* const x = element(r, j);
        (E::load(x, 1) - E::load(element(r, c), 1) * conj(E::load(element(j, c), 1))).save(x, 1);
      }
      __syncthreads();
    }
    if (t == 0) p.info[i] = bad;
  }
}

}  // namespace dlt::kernels::matrices
#undef DLT_LEVEL
