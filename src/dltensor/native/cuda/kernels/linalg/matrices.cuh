// SPDX-License-Identifier: Apache-2.0
// Factorizations of matrices of up to 8 x 8, a thread each, by the code of the CPU, and determinants from factors of a library.
#pragma once
#include "native/cuda/kernels/linalg/lanes.cuh"
#include "native/ops/linalg/determinants.h"

namespace dlt::kernels::matrices {

// Of N rows, or of any number up to 8 with N = 0.

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

// From the factors of a library; `third` has room for n + 1 elements of each matrix.
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

}  // namespace dlt::kernels::matrices
