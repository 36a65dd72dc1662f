// SPDX-License-Identifier: Apache-2.0
// Factorizations of matrices of up to small_side x small_side: the CPU takes as many at once as a register has lanes, a thread of a
// GPU takes one. Nothing is fused and no function of a library is called: the bits are the same everywhere. What a matrix's lane
// holds never depends on the other lanes.
//
// The file before says what a lane is, in the same namespace: lanes_of, root(), any(), inverse_power(), `capacity`, the distance of
// the elements of a matrix, and small_side.
#pragma once
#include "native/ops/linalg/lane_numbers.h"

#if defined(__CUDACC_RTC__)
#define DLT_UNROLL _Pragma("unroll")
#else
#define DLT_UNROLL _Pragma("GCC unroll 4")
#endif

namespace dlt::DLT_LEVEL {
namespace {

constexpr int most = small_side * small_side;

// ---- memory

template <class E>
DLT_FN void read(E* to, const void* planes, int64_t at, int count) {
  const auto* from = static_cast<const typename E::Float*>(planes) + at;
  for (int e = 0; e < count; ++e) to[e] = E::load(from + e * E::parts * capacity, capacity);
}
template <class E>
DLT_FN void write(void* planes, const E* from, int64_t at, int count) {
  auto* to = static_cast<typename E::Float*>(planes) + at;
  for (int e = 0; e < count; ++e) from[e].save(to + e * E::parts * capacity, capacity);
}
template <class F>
DLT_FN void write_lanes(F* plane, typename lanes_of<F>::type value, int64_t at) {
  memcpy(plane + at, &value, sizeof value);
}
template <class F>
DLT_FN void write_mask(void* plane, mask_of<typename lanes_of<F>::type> mask, int64_t at) {
  using V = typename lanes_of<F>::type;
  write_lanes(static_cast<F*>(plane), mask ? V{} + 1 : V{}, at);
}

// ---- LU

template <class E>
DLT_FN void swap_where(mask_of<typename E::V> mask, E& a, E& b) {
  const E old = a;
  a = choose(mask, b, a);
  b = choose(mask, old, b);
}

// One step of Gaussian elimination with partial pivoting, on `a` (n x n) and `b` (n x k) alike. Returns where the pivot is 0.
template <class E>
DLT_FN mask_of<typename E::V> eliminate(E* a, E* b, int n, int k, int c, typename E::V* sign) {
  using V = typename E::V;
  using F = typename E::Float;
  V best = size(a[c * n + c]), at = V{} + F(c);
  DLT_UNROLL
  for (int r = c + 1; r < n; ++r) {
    const V x = size(a[r * n + c]);
    const auto better = x > best;
    best = better ? x : best;
    at = better ? V{} + F(r) : at;
  }
  DLT_UNROLL
  for (int r = c + 1; r < n; ++r) {
    const auto here = at == V{} + F(r);
    DLT_UNROLL
    for (int j = c; j < n; ++j) swap_where(here, a[c * n + j], a[r * n + j]);
    for (int j = 0; j < k; ++j) swap_where(here, b[c * k + j], b[r * k + j]);
    *sign = here ? -*sign : *sign;
  }
  DLT_UNROLL
  for (int r = c + 1; r < n; ++r) {
    // Below a pivot of 0 there are zeros.
    const E factor = choose(size(a[r * n + c]) == V{}, E{}, a[r * n + c] / a[c * n + c]);
    DLT_UNROLL
    for (int j = c + 1; j < n; ++j) a[r * n + j] = a[r * n + j] - factor * a[c * n + j];
    for (int j = 0; j < k; ++j) b[r * k + j] = b[r * k + j] - factor * b[c * k + j];
  }
  return best == V{};
}

// K right sides, or `k` of them where K is 0.
template <int N, int K, class E>
DLT_FN void solve_right(void* planes, void* right, void* singular, int n, int k, int64_t at) {
  using V = typename E::V;
  if constexpr (N > 0) n = N;
  if constexpr (K > 0) k = K;
  E a[N > 0 ? N * N : most], b[N > 0 && K > 0 ? N * K : most];
  read(a, planes, at, n * n);
  read(b, right, at, n * k);
  V sign{};
  mask_of<V> zero{};
  DLT_UNROLL
  for (int c = 0; c < n; ++c) zero |= eliminate(a, b, n, k, c, &sign);
  DLT_UNROLL
  for (int r = n - 1; r >= 0; --r)
    for (int j = 0; j < k; ++j) {
      E x = b[r * k + j];
      for (int c = r + 1; c < n; ++c) x = x - a[r * n + c] * b[c * k + j];
      b[r * k + j] = x / a[r * n + r];
    }
  write(right, b, at, n * k);
  write_mask<typename E::Float>(singular, zero, at);
}

template <int N, class E>
void solve_lanes(void* planes, void* right, void* singular, int n, int k, int64_t at) {
  if (N > 0 && k == 1) {
    solve_right<N, 1, E>(planes, right, singular, n, k, at);
  } else {
    solve_right<N, 0, E>(planes, right, singular, n, k, at);
  }
}

// Solves for the identity as solve_lanes does, with one division for each row.
template <int N, class E>
void inverse_lanes(void* planes, void* out, void* singular, int n, int, int64_t at) {
  using V = typename E::V;
  if constexpr (N > 0) n = N;
  E a[N > 0 ? N * N : most], b[N > 0 ? N * N : most], one{};
  one.re = V{} + 1;
  read(a, planes, at, n * n);
  for (int e = 0; e < n * n; ++e) b[e] = e % (n + 1) == 0 ? one : E{};
  V sign{};
  mask_of<V> zero{};
  DLT_UNROLL
  for (int c = 0; c < n; ++c) zero |= eliminate(a, b, n, n, c, &sign);
  DLT_UNROLL
  for (int r = n - 1; r >= 0; --r) {
    const E by = one / a[r * n + r];
    DLT_UNROLL
    for (int j = 0; j < n; ++j) {
      E x = b[r * n + j];
      for (int c = r + 1; c < n; ++c) x = x - a[r * n + c] * b[c * n + j];
      b[r * n + j] = x * by;
    }
  }
  write(out, b, at, n * n);
  write_mask<typename E::Float>(singular, zero, at);
}

// The diagonal of U and then the sign of the permutation, which `pivots` has room for.
template <int N, class E>
DLT_FN void find_pivots(const void* planes, E* pivots, int n, int64_t at) {
  using V = typename E::V;
  if constexpr (N > 0) n = N;
  E a[N > 0 ? N * N : most];
  read(a, planes, at, n * n);
  V sign = V{} + 1;
  DLT_UNROLL
  for (int c = 0; c < n; ++c) (void)eliminate(a, a, n, 0, c, &sign);
  for (int c = 0; c < n; ++c) pivots[c] = a[c * n + c];
  pivots[n] = E{};
  pivots[n].re = sign;
}

// ---- Cholesky

// The lower factor in place; `upper` reads and writes the upper triangle instead.
template <int N, class E>
void cholesky_lanes(void* planes, void*, void* indefinite, int n, int upper, int64_t at) {
  using V = typename E::V;
  if constexpr (N > 0) n = N;
  E a[N > 0 ? N * N : most];
  read(a, planes, at, n * n);
  if (upper)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < i; ++j) a[i * n + j] = conj(a[j * n + i]);
  mask_of<V> bad{};
  for (int j = 0; j < n; ++j) {
    V d = a[j * n + j].re;
    for (int k = 0; k < j; ++k) d = d - squared(a[j * n + k]);
    bad |= (!(d > V{})) | (d - d != V{});
    d = root(d);
    a[j * n + j] = E{};
    a[j * n + j].re = d;
    for (int i = j + 1; i < n; ++i) {
      E x = a[i * n + j];
      for (int k = 0; k < j; ++k) x = x - a[i * n + k] * conj(a[j * n + k]);
      a[i * n + j] = over(x, d);
      a[j * n + i] = E{};
    }
  }
  if (upper)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < i; ++j) {
        a[j * n + i] = conj(a[i * n + j]);
        a[i * n + j] = E{};
      }
  write(planes, a, at, n * n);
  write_mask<typename E::Float>(indefinite, bad, at);
}

// ---- QR

// Squares of norms below which those of other numbers near them may vanish.
template <class F>
constexpr F small_square = 0x1p-300;
template <>
constexpr float small_square<float> = 0x1p-30f;

// A power of two that brings the largest element of a column near 1, and its inverse.
template <class E>
DLT_FN typename E::V column_power(const E* w, int m, int n, int j, typename E::V* inverse) {
  typename E::V largest{};
  for (int k = 0; k < m; ++k) largest = larger(size(w[k * n + j]), largest);
  return inverse_power(largest, inverse);
}

// Householder: R in place, and `columns` columns of Q. Signs are as LAPACK's, whose R has a real diagonal.
template <class E>
void factor_qr(E* a, E* q, int m, int n, int columns) {
  using V = typename E::V;
  const int steps = m < n ? m : n;
  E taus[small_side], one{};
  one.re = V{} + 1;
  for (int j = 0; j < steps; ++j) {
    V tail{}, power = V{} + 1, inverse = power;
    for (int i = j + 1; i < m; ++i) tail = tail + squared(a[i * n + j]);
    E alpha = a[j * n + j];
    if (any(squared(alpha) + tail < V{} + small_square<typename E::Float>)) {  // squares vanish, or nearly
      power = column_power(a + j * n, m - j, n, j, &inverse);
      tail = V{};
      for (int i = j + 1; i < m; ++i) tail = tail + squared(scaled(a[i * n + j], power));
      alpha = scaled(alpha, power);
    }
    const V norm = root(squared(alpha) + tail), beta = alpha.re >= V{} ? -norm : norm;
    const auto none = (tail == V{}) & (imaginary(alpha) == V{});
    E diagonal{};
    diagonal.re = beta;
    const E by = one / (alpha - diagonal);
    const E tau = taus[j] = choose(none, E{}, over(diagonal - alpha, beta));
    a[j * n + j] = choose(none, a[j * n + j], scaled(diagonal, inverse));
    for (int i = j + 1; i < m; ++i) a[i * n + j] = choose(none, E{}, scaled(a[i * n + j], power) * by);
    for (int c = j + 1; c < n; ++c) {
      E w = a[j * n + c];
      for (int i = j + 1; i < m; ++i) w = w + conj(a[i * n + j]) * a[i * n + c];
      w = conj(tau) * w;
      a[j * n + c] = a[j * n + c] - w;
      for (int i = j + 1; i < m; ++i) a[i * n + c] = a[i * n + c] - a[i * n + j] * w;
    }
  }
  for (int i = 0; i < m; ++i)
    for (int c = 0; c < columns; ++c) q[i * columns + c] = i == c ? one : E{};
  for (int j = steps - 1; j >= 0; --j)
    for (int c = j; c < columns; ++c) {
      E w = q[j * columns + c];
      for (int i = j + 1; i < m; ++i) w = w + conj(a[i * n + j]) * q[i * columns + c];
      w = taus[j] * w;
      q[j * columns + c] = q[j * columns + c] - w;
      for (int i = j + 1; i < m; ++i) q[i * columns + c] = q[i * columns + c] - a[i * n + j] * w;
    }
  for (int j = 0; j < steps; ++j)
    for (int i = j + 1; i < m; ++i) a[i * n + j] = E{};
}

// Multiplies by a power of two that brings the largest element near 1. Returns its inverse.
template <class E>
DLT_FN typename E::V normalize(E* a, int count) {
  typename E::V largest{}, inverse;
  for (int e = 0; e < count; ++e) largest = larger(size(a[e]), largest);
  const auto by = inverse_power(largest, &inverse);
  for (int e = 0; e < count; ++e) a[e] = scaled(a[e], by);
  return inverse;
}

template <class E>
void qr_lanes(void* planes, void* out, int m, int n, int columns, int64_t at) {
  E a[most], q[most];
  read(a, planes, at, m * n);
  const auto inverse = normalize(a, m * n);
  factor_qr(a, q, m, n, columns);
  for (int e = 0; e < m * n; ++e) a[e] = scaled(a[e], inverse);
  write(planes, a, at, m * n);
  write(out, q, at, m * columns);
}

// ---- Jacobi's rotations

// c and s of the rotation by at most 45 degrees that makes [[p, r], [r, p + d]] diagonal, and t = s / c; the identity where
// not `active`.
template <class V>
struct Rotation {
  V c, s, t;
};
template <class V>
DLT_FN Rotation<V> rotation(V r, V d, mask_of<V> active) {
  const V h = r + r, below = magnitude(d) + root(d * d + h * h);
  V t = (d < V{} ? -h : h) / below;
  t = (active & (below > V{})) ? t : V{};
  const V c = 1 / root(t * t + 1);
  return {c, t * c, t};
}
// Lanes that are not `active` keep their elements, signs of zeros too.
template <class E>
DLT_FN void rotate(E* p, E* q, E phase, const Rotation<typename E::V>& by, mask_of<typename E::V> active) {
  const E y = *p, z = *q * phase;
  *p = choose(active, scaled(y, by.c) - scaled(z, by.s), y);
  *q = choose(active, scaled(y, by.s) + scaled(z, by.c), *q);
}

template <class F>
constexpr F epsilon = sizeof(F) == 4 ? F(0x1p-23) : F(0x1p-52);
constexpr int most_sweeps = 60;

template <int N, class E>
void eigh_lanes(void* planes, void* values, void* vectors, int n, int, int64_t at) {
  using V = typename E::V;
  using F = typename E::Float;
  if constexpr (N > 0) n = N;
  E a[N > 0 ? N * N : most], v[N > 0 ? N * N : most];
  read(a, planes, at, n * n);
  for (int i = 0; i < n; ++i) {
    V d = a[i * n + i].re;
    a[i * n + i] = E{};
    a[i * n + i].re = d;
    for (int j = 0; j < i; ++j) a[j * n + i] = conj(a[i * n + j]);
    for (int j = 0; j < n; ++j) {
      v[i * n + j] = E{};
      if (i == j) v[i * n + j].re = V{} + 1;
    }
  }
  const V inverse = normalize(a, n * n);
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    V off{};
    for (int p = 0; p < n; ++p)
      for (int q = p + 1; q < n; ++q) off = larger(size(a[p * n + q]), off);
    const auto active = off > V{} + epsilon<F> / 64;
    if (!any(active)) break;
    for (int p = 0; p < n; ++p)
      for (int q = p + 1; q < n; ++q) {
        E phase;
        const V r = polar(a[p * n + q], &phase);
        const Rotation<V> by = rotation(r, a[q * n + q].re - a[p * n + p].re, active);
        a[p * n + p].re = active ? a[p * n + p].re - by.t * r : a[p * n + p].re;
        a[q * n + q].re = active ? a[q * n + q].re + by.t * r : a[q * n + q].re;
        a[p * n + q] = a[q * n + p] = choose(active, E{}, a[p * n + q]);
        for (int k = 0; k < n; ++k) {
          if (k != p && k != q) {
            rotate(&a[k * n + p], &a[k * n + q], phase, by, active);
            a[p * n + k] = conj(a[k * n + p]);
            a[q * n + k] = conj(a[k * n + q]);
          }
          if (vectors != nullptr) rotate(&v[k * n + p], &v[k * n + q], phase, by, active);
        }
      }
  }
  for (int i = 0; i < n; ++i)
    for (int j = i + 1; j < n; ++j) {
      const auto swapped = a[j * n + j].re < a[i * n + i].re;
      swap_where(swapped, a[i * n + i], a[j * n + j]);
      for (int k = 0; k < n; ++k) swap_where(swapped, v[k * n + i], v[k * n + j]);
    }
  for (int i = 0; i < n; ++i) write_lanes(static_cast<F*>(values) + i * capacity, a[i * n + i].re * inverse, at);
  if (vectors != nullptr) write(vectors, v, at, n * n);
}

// Norms of columns below which their elements have few digits, or none.
template <class F>
constexpr F vanishing = 0x1p-960;
template <>
constexpr float vanishing<float> = 0x1p-100f;

// Two columns of m rows and n columns: the squares of their norms, and the inner product.
template <class E>
struct ColumnPair {
  typename E::V alpha{}, beta{};
  E inner{};

  DLT_FN ColumnPair(const E* w, int m, int n, int p, int q, typename E::V by_p, typename E::V by_q) {
    for (int k = 0; k < m; ++k) add(scaled(w[k * n + p], by_p), scaled(w[k * n + q], by_q));
  }
  DLT_FN ColumnPair(const E* w, int m, int n, int p, int q) {
    for (int k = 0; k < m; ++k) add(w[k * n + p], w[k * n + q]);
  }
  DLT_FN void add(E a, E b) {
    alpha = alpha + squared(a);
    beta = beta + squared(b);
    inner = inner + conj(a) * b;
  }
};

// The pair of columns that are brought near 1, each by a power of its own; beta - alpha by both, as the inner product is, and both by
// the power that brings the larger of these near 1: the rotation is the same.
template <class E>
ColumnPair<E> scaled_pair(const E* w, int m, int n, int p, int q, typename E::V* difference, typename E::V* by) {
  using V = typename E::V;
  V inverse_p, inverse_q, ignored;
  const V by_p = column_power(w, m, n, p, &inverse_p), by_q = column_power(w, m, n, q, &inverse_q);
  const ColumnPair<E> pair(w, m, n, p, q, by_p, by_q);
  const V d = pair.beta * (by_p * inverse_q) - pair.alpha * (by_q * inverse_p);
  *by = inverse_power(larger(magnitude(d), size(pair.inner)), &ignored);
  *difference = d * *by;
  return pair;
}

// Columns of `w` (m x n, m >= n) that are orthogonal, and v with w_before @ v = w. Their norms, largest first.
template <class E>
void orthogonalize(E* w, E* v, typename E::V* norms, int m, int n) {
  using V = typename E::V;
  using F = typename E::Float;
  E one{};
  one.re = V{} + 1;
  for (int e = 0; e < n * n; ++e) v[e] = e % (n + 1) == 0 ? one : E{};
  auto active = V{} == V{};
  for (int sweep = 0; sweep < most_sweeps && any(active); ++sweep) {
    mask_of<V> moved{};
    for (int p = 0; p < n; ++p)
      for (int q = p + 1; q < n; ++q) {
        ColumnPair<E> pair(w, m, n, p, q);
        V difference = pair.beta - pair.alpha, power = V{} + 1;
        if (any((pair.alpha < V{} + small_square<F>) | (pair.beta < V{} + small_square<F>)))
          pair = scaled_pair(w, m, n, p, q, &difference, &power);
        E phase;
        const V r = polar(pair.inner, &phase);
        const auto here = active & (magnitude(r) > root(pair.alpha) * root(pair.beta) * (epsilon<F> * F(m)));
        moved |= here;
        if (!any(here)) continue;
        const Rotation<V> by = rotation(r * power, difference, here);
        for (int k = 0; k < m; ++k) rotate(&w[k * n + p], &w[k * n + q], phase, by, here);
        for (int k = 0; k < n; ++k) rotate(&v[k * n + p], &v[k * n + q], phase, by, here);
      }
    active = active & moved;
  }
  for (int j = 0; j < n; ++j) {
    V sum{}, inverse = V{} + 1;
    for (int k = 0; k < m; ++k) sum = sum + squared(w[k * n + j]);
    if (any(sum < V{} + small_square<F>)) {
      const V by = column_power(w, m, n, j, &inverse);
      sum = V{};
      for (int k = 0; k < m; ++k) sum = sum + squared(scaled(w[k * n + j], by));
    }
    norms[j] = root(sum) * inverse;
  }
  for (int i = 0; i < n; ++i)
    for (int j = i + 1; j < n; ++j) {
      const auto swapped = norms[j] > norms[i];
      const V old = norms[i];
      norms[i] = swapped ? norms[j] : norms[i];
      norms[j] = swapped ? old : norms[j];
      for (int k = 0; k < m; ++k) swap_where(swapped, w[k * n + i], w[k * n + j]);
      for (int k = 0; k < n; ++k) swap_where(swapped, v[k * n + i], v[k * n + j]);
    }
}

// One-sided Jacobi of m x n elements with m >= n: U (m x columns), the singular values, V^H (n x n). `wide`: the matrix is the
// conjugate transpose of the one that is decomposed, and its U (n x n) and V^H (columns x m) are written instead.
template <class E>
void svd_lanes(void* planes, void* left, void* values, void* right, int m, int n, int columns, bool wide, int64_t at) {
  using V = typename E::V;
  using F = typename E::Float;
  E a[most], v[most];
  V norms[small_side];
  read(a, planes, at, m * n);
  const V inverse = normalize(a, m * n);
  orthogonalize(a, v, norms, m, n);
  for (int j = 0; j < n; ++j) write_lanes(static_cast<F*>(values) + j * capacity, norms[j] * inverse, at);
  if (left == nullptr) return;
  mask_of<V> incomplete{};
  for (int j = 0; j < n; ++j) {
    const auto none = norms[j] < V{} + vanishing<F>;
    incomplete |= none;
    for (int i = 0; i < m; ++i) a[i * n + j] = choose(none, E{}, over(a[i * n + j], norms[j]));
  }
  E u[most];
  // Orthonormal columns in place of those that are 0 or have too few digits for a direction, which come last, and after the n of `a`.
  if (columns > n || any(incomplete)) {
    E r[most];
    memcpy(r, a, sizeof a[0] * size_t(m * n));
    factor_qr(r, u, m, n, columns);
  }
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      const auto none = norms[j] < V{} + vanishing<F>;
      u[i * columns + j] = any(incomplete) ? choose(none, u[i * columns + j], a[i * n + j]) : a[i * n + j];
    }
  E turned[most];
  const E* const from = wide ? u : v;
  const int rows = wide ? m : n, count = wide ? columns : n;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < count; ++j) turned[j * rows + i] = conj(from[i * count + j]);
  write(left, wide ? v : u, at, wide ? n * n : m * columns);
  write(right, turned, at, rows * count);
}

}  // namespace
}  // namespace dlt::DLT_LEVEL
#undef DLT_UNROLL
