// SPDX-License-Identifier: Apache-2.0
// QR by Householder's reflections, of matrices that a team has. Signs are as LAPACK's, whose R has a real diagonal.
#pragma once
#include "native/cuda/kernels/linalg/team.cuh"

namespace dlt::kernels::matrices {

// Element e of a vector that is reflected: of the reflection j it is 1 at e = j.
template <class E, class F>
DLT_FN E reflector(const F* x, int e, int j) {
  return e == j ? unit<F, E::parts>(true) : E::load(x + e * E::parts, 1);
}

// Factor `count` vectors of `length` elements each, row(i), the columns of a matrix: in place R above, reflections below, and `taus`.
template <class T, class F, class Row>
DLT_FN void reflect(int count, int length, F* taus, const Row& row) {
  using E = typename T::Element;
  constexpr int parts = E::parts;
  const int lane = T::rank() % T::row_threads, warp_lane = T::rank() % 32;
  for (int j = 0; j < count && j < length; ++j) {
    F* const x = row(j);
    F tail = 0;
    for (int e = j + 1 + warp_lane; e < length; e += 32) tail = tail + squared(E::load(x + e * parts, 1));
    tail = sum_over<32>(tail);
    const E alpha = E::load(x + j * parts, 1);
    const F norm = lanes::root(squared(alpha) + tail), beta = alpha.re >= 0 ? -norm : norm;
    const bool none = tail == 0 && imaginary(alpha) == 0;
    E diagonal{};
    diagonal.re = beta;
    const E by = lanes::choose(none, E{}, unit<F, parts>(true) / (alpha - diagonal));
    const E tau = lanes::choose(none, E{}, over(diagonal - alpha, beta));
    for (int base = j + 1; base < count; base += T::size / T::row_threads) {
      const int i = base + T::rank() / T::row_threads;
      const bool inside = i < count;
      F* const y = row(inside ? i : j);
      E w = lane == 0 ? E::load(y + j * parts, 1) : E{};
      for (int e = j + 1 + lane; e < length; e += T::row_threads)
        w = w + conj(E::load(x + e * parts, 1) * by) * E::load(y + e * parts, 1);
      w = conj(tau) * sum_over<T::row_threads>(w);
      if (!inside) continue;
      if (lane == 0) (E::load(y + j * parts, 1) - w).save(y + j * parts, 1);
      for (int e = j + 1 + lane; e < length; e += T::row_threads)
        (E::load(y + e * parts, 1) - E::load(x + e * parts, 1) * by * w).save(y + e * parts, 1);
    }
    T::wait();
    for (int e = j + 1 + T::rank(); e < length; e += T::size) (E::load(x + e * parts, 1) * by).save(x + e * parts, 1);
    if (T::rank() == 0) {
      lanes::choose(none, alpha, diagonal).save(x + j * parts, 1);
      tau.save(taus + j * parts, 1);
    }
  }
  T::wait();
}

// The columns of Q that are wanted, of `steps` reflections: element e of column c at to(c, e).
template <class T, class F, class Row, class Wanted, class To>
DLT_FN void form_columns(int steps, int length, int columns, const F* taus, const Row& row, const Wanted& wanted,
                         const To& to) {
  using E = typename T::Element;
  constexpr int parts = E::parts;
  const int lane = T::rank() % T::row_threads;
  for (int base = 0; base < columns; base += T::size / T::row_threads) {
    const int c = base + T::rank() / T::row_threads;
    const bool inside = c < columns && wanted(c);
    if (!__any_sync(~0u, inside)) continue;
    if (inside)
      for (int e = lane; e < length; e += T::row_threads) {
        unit<F, parts>(e == c).save(to(c, e), 1);
      }
    for (int j = steps - 1; j >= 0; --j) {
      const F* const x = row(j);
      const int first = j + ((lane - j) & (T::row_threads - 1));
      E w{};
      if (inside)
        for (int e = first; e < length; e += T::row_threads) w = w + conj(reflector<E>(x, e, j)) * E::load(to(c, e), 1);
      w = E::load(taus + j * parts, 1) * sum_over<T::row_threads>(w);
      if (inside)
        for (int e = first; e < length; e += T::row_threads)
          (E::load(to(c, e), 1) - reflector<E>(x, e, j) * w).save(to(c, e), 1);
    }
  }
}

// Q of k columns in `out`, R in `second`. A block has the transpose in `work`.
template <class F, int PARTS, int SIDE>
__global__ void __launch_bounds__(Team<F, PARTS, SIDE>::threads) qr_team(const __grid_constant__ Matrices p) {
  using T = Team<F, PARTS, SIDE>;
  using E = Number<F, PARTS>;
  __shared__ F tiles[T::count][2 * T::tile];
  __shared__ F taus[T::count][T::most * PARTS];
  __shared__ F shared[8];
  const int m = p.m, n = p.n, k = p.k, lead = T::lead(m);
  F* const x = T::is_warp ? tiles[T::place()] : at<F, PARTS>(p.work, blockIdx.x, int64_t(m) * n);
  const auto row = [&](int c) { return x + int64_t(c) * lead * PARTS; };
  for (uint64_t i = T::first(); i < p.count; i += T::step()) {
    const F* const a = at<F, PARTS>(p.a, i, int64_t(m) * n);
    F *const q = at<F, PARTS>(p.out, i, int64_t(m) * k), *const r = at<F, PARTS>(p.second, i, int64_t(k) * n);
    const auto element = [&](int e, int c) { return E::load(a + (int64_t(e) * n + c) * PARTS, 1); };
    F back;
    const F by = normalizer<T>(m, n, element, &back, shared);
    each_element<T>(m, n, [&](int e, int c) { scaled(element(e, c), by).save(row(c) + e * PARTS, 1); });
    T::wait();
    reflect<T>(n, m, taus[T::place()], row);
    each_element<T>(k, n, [&](int e, int c) {
      (e <= c ? scaled(E::load(row(c) + e * PARTS, 1), back) : E{}).save(r + (int64_t(e) * n + c) * PARTS, 1);
    });
    const auto all = [](int) { return true; };
    if constexpr (T::is_warp) {
      F* const columns = x + T::tile;
      form_columns<T>(m < n ? m : n, m, k, taus[T::place()], row, all,
                      [&](int c, int e) { return columns + (c * lead + e) * PARTS; });
      T::wait();
      each_element<T>(m, k,
                      [&](int e, int c) { E::load(columns + (c * lead + e) * PARTS, 1).save(q + (e * k + c) * PARTS, 1); });
    } else {
      form_columns<T>(m < n ? m : n, m, k, taus[T::place()], row, all,
                      [&](int c, int e) { return q + (int64_t(e) * k + c) * PARTS; });
    }
    T::wait();
  }
}

// R from a library's factors of n transposed columns of m elements, in `a`: the upper triangle of k rows, in `second`.
template <class F, int PARTS, int SIDE>
__global__ void __launch_bounds__(256) upper_of(const __grid_constant__ Matrices p) {
  using E = Number<F, PARTS>;
  const uint64_t each = uint64_t(p.k) * uint64_t(p.n);
  for (uint64_t i = first_item(); i < p.count * each; i += all_threads()) {
    const uint64_t place = i % each, r = place / uint64_t(p.n), c = place % uint64_t(p.n);
    E x{};
    if (r <= c) x = E::load(static_cast<const F*>(p.a) + (i / each * p.n * p.m + c * p.m + r) * PARTS, 1);
    x.save(static_cast<F*>(p.second) + i * PARTS, 1);
  }
}

}  // namespace dlt::kernels::matrices
