// SPDX-License-Identifier: Apache-2.0
// Eigenvalues and singular values by Jacobi's rotations, of matrices that a team has. Pairs without a row in common are rotated
// at once.
#pragma once
#include "native/cuda/kernels/linalg/reflections.cuh"

namespace dlt::kernels::matrices {

// Pair `k` of a round of a tournament, in which each of n meets each other one once. False: the first waits.
DLT_FN int rounds_of(int n) { return (n + 1) / 2 * 2 - 1; }
DLT_FN bool pair_of(int round, int k, int n, int* p, int* q) {
  const int others = rounds_of(n);
  int a = k == 0 ? others : round + k, b = round - k;
  if (k > 0 && a >= others) a -= others;
  if (b < 0) b += others;
  *p = a < b ? a : b, *q = a < b ? b : a;
  return *q < n;
}

// Rotations of a round, and the diagonal after them.
template <class F, int PARTS, int PAIRS>
struct Round {
  F s[PAIRS], tau[PAIRS], phase[PAIRS * PARTS], first[PAIRS], second[PAIRS];
};

// By the tangent `tau` of half the angle of sine `s`: with a cosine, which is rounded to 1 for most angles, all lengths would grow.
template <class F>
DLT_FN F half_tangent(const lanes::Rotation<F>& by) {
  return by.s / (1 + by.c);
}
template <class E, class F>
DLT_FN void rotate_at(F* p, F* q, E phase, F s, F tau) {
  const E y = E::load(p, 1), z = E::load(q, 1) * phase;
  (y - scaled(z + scaled(y, tau), s)).save(p, 1);
  (z + scaled(y - scaled(z, tau), s)).save(q, 1);
}

// One round on the rows and columns of `a`, and on the rows of `v` if there are any.
template <class T, class F, class R>
DLT_FN void rotate_round(F* a, F* v, int lead, int n, int round, R& by) {
  using E = typename T::Element;
  constexpr int parts = E::parts;
  const int pairs = (n + 1) / 2;
  const auto at = [&](int i, int j) { return a + (int64_t(i) * lead + j) * parts; };
  int p, q;
  for (int k = T::rank(); k < pairs; k += T::size) {
    if (!pair_of(round, k, n, &p, &q)) continue;
    E phase;
    const F r = polar(E::load(at(p, q), 1), &phase), above = *at(p, p), below = *at(q, q);
    const lanes::Rotation<F> turn = lanes::rotation(r, below - above, true);
    by.s[k] = turn.s, by.tau[k] = half_tangent(turn);
    phase.save(by.phase + k * parts, 1);
    by.first[k] = above - turn.t * r, by.second[k] = below + turn.t * r;
  }
  T::wait();
  each_element<T>(n, pairs, [&](int i, int k) {
    if (!pair_of(round, k, n, &p, &q)) return;
    rotate_at(at(i, p), at(i, q), E::load(by.phase + k * parts, 1), by.s[k], by.tau[k]);
  });
  T::wait();
  each_element<T>(pairs, n, [&](int k, int j) {
    if (!pair_of(round, k, n, &p, &q)) return;
    const E phase = E::load(by.phase + k * parts, 1);
    if (j == p || j == q) {
      E kept{};
      kept.re = j == p ? by.first[k] : by.second[k];
      (j == p ? kept : E{}).save(at(p, j), 1);
      (j == p ? E{} : kept).save(at(q, j), 1);
    } else {
      rotate_at(at(p, j), at(q, j), conj(phase), by.s[k], by.tau[k]);
    }
    if (v) rotate_at(v + (int64_t(p) * lead + j) * parts, v + (int64_t(q) * lead + j) * parts, phase, by.s[k], by.tau[k]);
  });
  T::wait();
}

// Make `a` diagonal, whose largest element is near 1. False: it did not converge.
template <class T, class F, class R>
DLT_FN bool diagonalize(F* a, F* v, int lead, int n, R& by, F* shared) {
  using E = typename T::Element;
  for (int sweep = 0; sweep < lanes::most_sweeps; ++sweep) {
    F off = 0;
    each_element<T>(n, n, [&](int i, int j) {
      if (i < j) off = lanes::larger(size(E::load(a + (int64_t(i) * lead + j) * E::parts, 1)), off);
    });
    if (!(largest_of<T>(off, shared) > lanes::epsilon<F> / 64)) return true;
    for (int round = 0; round < rounds_of(n); ++round) rotate_round<T>(a, v, lead, n, round, by);
  }
  return false;
}

// The place of number i among n, `before` all that it precedes, and equal ones in their order.
template <class F, class Before>
DLT_FN int rank_of(const F* numbers, int n, int i, const Before& before) {
  int rank = 0;
  for (int j = 0; j < n; ++j) rank += before(numbers[j], numbers[i]) || (!before(numbers[i], numbers[j]) && j < i);
  return rank;
}

// Eigenvalues in `out`, eigenvectors in `second` unless it is null. The lower triangle is read.
template <class F, int PARTS, int SIDE>
__global__ void __launch_bounds__(Team<F, PARTS, SIDE>::threads) eigh_team(const __grid_constant__ Matrices p) {
  using T = Team<F, PARTS, SIDE>;
  using E = Number<F, PARTS>;
  __shared__ F tiles[T::count][2 * T::tile];
  __shared__ Round<F, PARTS, T::most / 2> rounds[T::count];
  __shared__ F diagonals[T::count][T::most];
  __shared__ int orders[T::count][T::most];
  __shared__ F shared[8];
  const int n = p.n, lead = T::lead(n);
  F* const a = T::is_warp ? tiles[T::place()] : at<F, PARTS>(p.work, blockIdx.x, 2 * int64_t(n) * n);
  F* const space = a + (T::is_warp ? int64_t(T::tile) : int64_t(n) * n * PARTS);
  F* const v = p.second ? space : nullptr;
  F* const diagonal = diagonals[T::place()];
  int* const order = orders[T::place()];
  for (uint64_t i = T::first(); i < p.count; i += T::step()) {
    const F* const from = at<F, PARTS>(p.a, i, int64_t(n) * n);
    const auto element = [&](int r, int c) {
      E x = E::load(from + (int64_t(r < c ? c : r) * n + (r < c ? r : c)) * PARTS, 1);
      if (r < c) x = conj(x);
      E real{};
      real.re = x.re;
      return r == c ? real : x;
    };
    F back;
    const F by = normalizer<T>(n, n, element, &back, shared);
    each_element<T>(n, n, [&](int r, int c) {
      const int64_t e = int64_t(r) * lead + c;
      scaled(element(r, c), by).save(a + e * PARTS, 1);
      if (v) unit<F, PARTS>(r == c).save(v + e * PARTS, 1);
    });
    T::wait();
    const bool done = diagonalize<T>(a, v, lead, n, rounds[T::place()], shared);
    if (T::rank() == 0) p.info[i] = !done;
    for (int r = T::rank(); r < n; r += T::size) diagonal[r] = a[(int64_t(r) * lead + r) * PARTS];
    T::wait();
    F* const values = at<F, 1>(p.out, i, n);
    for (int r = T::rank(); r < n; r += T::size) {
      const int rank = rank_of(diagonal, n, r, [](F x, F y) { return x < y; });
      order[rank] = r;
      values[rank] = diagonal[r] * back;
    }
    T::wait();
    if (v)
      each_element<T>(n, n, [&](int r, int c) {
        F* const to = at<F, PARTS>(p.second, i, int64_t(n) * n) + (int64_t(r) * n + c) * PARTS;
        E::load(v + (int64_t(order[c]) * lead + r) * PARTS, 1).save(to, 1);
      });
    T::wait();
  }
}

// Of rows whose largest element is near 1: shorter ones have no direction. Their squares have lost digits, so that they would be rotated
// for ever, and they change no singular value by as much as its rounding.
template <class F>
constexpr F least_norm = F(sizeof(F) == 4 ? 0x1p-40 : 0x1p-459);

// Rotate `rows` rows of w, `length` elements each, until they are orthogonal, and those of g, unless it is null, alike.
template <class T, class F>
DLT_FN bool orthogonalize(F* w, int lead, int rows, int length, F* g, int g_lead, F* shared) {
  using E = typename T::Element;
  constexpr int parts = E::parts, pair_threads = T::is_warp ? 2 * T::row_threads : T::row_threads;
  const int lane = T::rank() % pair_threads, pairs = (rows + 1) / 2;
  const F least = lanes::epsilon<F> * lanes::root(F(length));
  for (int sweep = 0; sweep < lanes::most_sweeps; ++sweep) {
    F moved = 0;
    for (int round = 0; round < rounds_of(rows); ++round) {
      for (int base = 0; base < pairs; base += T::size / pair_threads) {
        const int k = base + T::rank() / pair_threads;
        int i, j;
        const bool there = k < pairs && pair_of(round, k, rows, &i, &j);
        F *const x = w + int64_t(there ? i : 0) * lead * parts, *const y = w + int64_t(there ? j : 0) * lead * parts;
        F alpha = 0, beta = 0;
        E inner{};
        if (there)
          for (int e = lane; e < length; e += pair_threads) {
            const E a = E::load(x + e * parts, 1), b = E::load(y + e * parts, 1);
            alpha = alpha + squared(a), beta = beta + squared(b), inner = inner + conj(a) * b;
          }
        alpha = sum_over<pair_threads>(alpha), beta = sum_over<pair_threads>(beta), inner = sum_over<pair_threads>(inner);
        E phase;
        const F r = polar(inner, &phase);
        constexpr F short_square = least_norm<F> * least_norm<F>;
        if (!there || !(alpha > short_square && beta > short_square)) continue;
        if (!(lanes::magnitude(r) > lanes::root(alpha) * lanes::root(beta) * least)) continue;
        moved = 1;
        const F unit = lanes::larger(alpha, beta);  // squares of the quotients do not vanish
        const lanes::Rotation<F> by = lanes::rotation(r / unit, (beta - alpha) / unit, true);
        const F tau = half_tangent(by);
        for (int e = lane; e < length; e += pair_threads) rotate_at(x + e * parts, y + e * parts, phase, by.s, tau);
        if (g)
          for (int e = lane; e < rows; e += pair_threads)
            rotate_at(g + (int64_t(i) * g_lead + e) * parts, g + (int64_t(j) * g_lead + e) * parts, phase, by.s, tau);
      }
      T::wait();
    }
    if (largest_of<T>(moved, shared) == 0) return true;
  }
  return false;
}

// Norms of the rows, and their order, largest first. NaN is larger than all.
template <class T, class F>
DLT_FN void order_rows(const F* w, int lead, int rows, int length, F* norms, F* keys, int* order) {
  using E = typename T::Element;
  const int lane = T::rank() % T::row_threads;
  for (int base = 0; base < rows; base += T::size / T::row_threads) {
    const int i = base + T::rank() / T::row_threads;
    F sum = 0;
    if (i < rows)
      for (int e = lane; e < length; e += T::row_threads)
        sum = sum + squared(E::load(w + (int64_t(i) * lead + e) * E::parts, 1));
    sum = lanes::root(sum_over<T::row_threads>(sum));
    if (i < rows && lane == 0) norms[i] = sum, keys[i] = sum == sum ? sum : F(bits_as<float>(uint32_t{0x7f800000}));
  }
  T::wait();
  for (int i = T::rank(); i < rows; i += T::size) order[rank_of(keys, rows, i, [](F x, F y) { return x > y; })] = i;
  T::wait();
}

// A matrix or its conjugate transpose, whichever is not taller than wide: rows w, which are rotated until they are orthogonal, and, unless
// it is null, g, the rotations.
template <class F, int PARTS>
struct RotatedRows {
  bool wide;
  int rows, length, columns, lead, g_lead;  // columns: vectors of the longer side
  F *w, *g, *norms;
  int* order;
};

// U and V^H of matrix `i`. Vector c of the shorter side is row c of g, of the longer side that of w: by rows in V^H, as conjugate
// columns in U.
template <class T, class F, int PARTS>
DLT_FN void write_vectors(const Matrices& p, uint64_t i, const RotatedRows<F, PARTS>& m, F* taus) {
  using E = typename T::Element;
  F* const u = at<F, PARTS>(p.out, i, int64_t(p.m) * (m.wide ? m.rows : m.columns));
  F* const vh = at<F, PARTS>(p.third, i, int64_t(p.n) * (m.wide ? m.columns : m.rows));
  const auto longer = [&](int c, int e) {
    return m.wide ? vh + (int64_t(c) * m.length + e) * PARTS : u + (int64_t(e) * m.columns + c) * PARTS;
  };
  const auto shorter = [&](int c, int e) {
    return m.wide ? u + (int64_t(e) * m.rows + c) * PARTS : vh + (int64_t(c) * m.rows + e) * PARTS;
  };
  const auto row = [&](int c) { return m.w + int64_t(m.order[c]) * m.lead * PARTS; };
  const auto is_short = [&](int c) { return m.norms[m.order[c]] <= least_norm<F>; };
  each_element<T>(m.rows, m.rows, [&](int c, int e) {
    const E x = E::load(m.g + (int64_t(m.order[c]) * m.g_lead + e) * PARTS, 1);
    (m.wide ? conj(x) : x).save(shorter(c, e), 1);
  });
  each_element<T>(m.rows, m.length, [&](int c, int e) {
    const E x = lanes::choose(is_short(c), E{}, over(E::load(row(c) + e * PARTS, 1), m.norms[m.order[c]]));
    x.save(row(c) + e * PARTS, 1);
    (m.wide ? x : conj(x)).save(longer(c, e), 1);
  });
  T::wait();
  if (m.columns == m.rows && !is_short(m.rows - 1)) return;
  // Orthonormal vectors in place of those of short rows, which come last, and after the others.
  const auto missing = [&](int c) { return c >= m.rows || is_short(c); };
  reflect<T>(m.rows, m.length, taus, row);
  form_columns<T>(m.rows, m.length, m.columns, taus, row, missing, longer);
  T::wait();
  if (PARTS == 2 && !m.wide)
    each_element<T>(m.columns, m.length, [&](int c, int e) {
      if (missing(c)) conj(E::load(longer(c, e), 1)).save(longer(c, e), 1);
    });
}

// U in `out`, singular values in `second`, V^H in `third`, or singular values alone. With `flag` U and V^H are square.
template <class F, int PARTS, int SIDE>
__global__ void __launch_bounds__(Team<F, PARTS, SIDE>::threads) svd_team(const __grid_constant__ Matrices p) {
  using T = Team<F, PARTS, SIDE>;
  using E = Number<F, PARTS>;
  __shared__ F tiles[T::count][2 * T::tile];
  __shared__ F norms[T::count][T::most], keys[T::count][T::most], taus[T::count][T::most * PARTS];
  __shared__ int orders[T::count][T::most];
  __shared__ F shared[8];
  RotatedRows<F, PARTS> m;
  m.wide = p.m <= p.n;
  m.rows = m.wide ? p.m : p.n, m.length = m.wide ? p.n : p.m, m.columns = p.flag ? m.length : m.rows;
  m.lead = T::lead(m.length), m.g_lead = T::lead(m.rows);
  m.w = T::is_warp ? tiles[T::place()] : at<F, PARTS>(p.work, blockIdx.x, int64_t(m.rows) * (m.length + m.rows));
  F* const space = m.w + (T::is_warp ? int64_t(T::tile) : int64_t(m.rows) * m.length * PARTS);
  m.g = p.out ? space : nullptr;
  m.norms = norms[T::place()], m.order = orders[T::place()];
  for (uint64_t i = T::first(); i < p.count; i += T::step()) {
    const F* const from = at<F, PARTS>(p.a, i, int64_t(m.rows) * m.length);
    const auto element = [&](int r, int e) {
      return m.wide ? E::load(from + (int64_t(r) * m.length + e) * PARTS, 1)
                    : conj(E::load(from + (int64_t(e) * m.rows + r) * PARTS, 1));
    };
    F back;
    const F by = normalizer<T>(m.rows, m.length, element, &back, shared);
    each_element<T>(m.rows, m.length,
                    [&](int r, int e) { scaled(element(r, e), by).save(m.w + (int64_t(r) * m.lead + e) * PARTS, 1); });
    if (m.g)
      each_element<T>(m.rows, m.rows,
                      [&](int r, int c) { unit<F, PARTS>(r == c).save(m.g + (int64_t(r) * m.g_lead + c) * PARTS, 1); });
    T::wait();
    const bool done = orthogonalize<T>(m.w, m.lead, m.rows, m.length, m.g, m.g_lead, shared);
    if (T::rank() == 0) p.info[i] = !done;
    order_rows<T>(m.w, m.lead, m.rows, m.length, m.norms, keys[T::place()], m.order);
    F* const values = at<F, 1>(p.second, i, m.rows);
    for (int r = T::rank(); r < m.rows; r += T::size) values[r] = m.norms[m.order[r]] * back;
    if (m.g) write_vectors<T>(p, i, m, taus[T::place()]);
    T::wait();
  }
}

}  // namespace dlt::kernels::matrices
