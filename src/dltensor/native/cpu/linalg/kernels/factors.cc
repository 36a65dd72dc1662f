// SPDX-License-Identifier: Apache-2.0
// The parts of factorizations of matrices that are no products: narrow columns, triangles. The division into these parts and
// products is in factor.cc. Every sum of products has one order and one rounding for each term, so that the bits do not depend
// on registers; level v2, which has no fused multiply-add, rounds twice.
#if defined(__clang__)
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("fp-contract=fast")
#endif
#include "native/cpu/linalg/kernels.h"
#include "native/cpu/linalg/kernels/lanes.h"
#include "native/cpu/linalg/kernels/parts.h"
#include "native/cpu/runtime/kernels/elements.h"
#include "native/ops/arithmetic.h"

namespace dlt::DLT_LEVEL {
namespace {

// Real numbers and complex_of alike.
template <class F>
DLT_FN F conj(F a) {
  return a;
}
template <class F>
DLT_FN complex_of<F> conj(complex_of<F> a) {
  return {a.re, -a.im};
}
template <class F>
DLT_FN F part(F a) {
  return a;
}
template <class F>
DLT_FN F part(complex_of<F> a) {
  return a.re;
}
template <class F>
DLT_FN F imaginary(F) {
  return 0;
}
template <class F>
DLT_FN F imaginary(complex_of<F> a) {
  return a.im;
}
// a + x * y. The fused operation is written out where both parts of a complex number are computed: g++ fuses a difference
// beside a sum in one way or the other, by instruction set.
template <class F>
DLT_FN F plus(F a, F x, F y) {
#if defined(__FMA__) || defined(__aarch64__)
  if constexpr (sizeof(F) == 4) return __builtin_fmaf(x, y, a);
  else return __builtin_fma(x, y, a);
#else
  return a + x * y;
#endif
}
template <class F>
DLT_FN complex_of<F> plus(complex_of<F> a, complex_of<F> x, complex_of<F> y) {
  return {plus(plus(a.re, x.re, y.re), -x.im, y.im), plus(plus(a.im, x.re, y.im), x.im, y.re)};
}
template <class F>
DLT_FN F sum(F a, F b) {
  return a + b;
}
template <class F>
DLT_FN complex_of<F> sum(complex_of<F> a, complex_of<F> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class F>
DLT_FN F negative(F a) {
  return -a;
}
template <class F>
DLT_FN complex_of<F> negative(complex_of<F> a) {
  return {-a.re, -a.im};
}
template <class F>
DLT_FN F scaled(F a, F by) {
  return a * by;
}
template <class F>
DLT_FN complex_of<F> scaled(complex_of<F> a, F by) {
  return {a.re * by, a.im * by};
}
template <class F>
DLT_FN F quotient(F a, F b) {
  return a / b;
}
template <class F>
DLT_FN complex_of<F> quotient(complex_of<F> a, complex_of<F> b) {
  const F re = b.re < 0 ? -b.re : b.re, im = b.im < 0 ? -b.im : b.im, by = re > im ? re : im;
  const complex_of<F> unit{b.re / by, b.im / by}, x{a.re / by, a.im / by};
  const F square = plus(unit.im * unit.im, unit.re, unit.re);
  return {plus(x.im * unit.im, x.re, unit.re) / square, plus(-(x.re * unit.im), x.im, unit.re) / square};
}
template <class F>
DLT_FN F size(F a) {
  return a < 0 ? -a : a;
}
template <class F>
DLT_FN F size(complex_of<F> a) {
  return size(a.re) + size(a.im);
}

template <class T>
struct parts {
  using F = T;
};
template <class T>
struct parts<complex_of<T>> {
  using F = T;
};
// A real number as T; a product.
template <class T>
DLT_FN T number(typename parts<T>::F value) {
  T result{};
  if constexpr (is_same<typename parts<T>::F, T>::value) result = value;
  else result.re = value;
  return result;
}
template <class T>
DLT_FN T product(T a, T b) {
  return plus(T{}, a, b);
}
template <class T>
constexpr bool real = is_same<typename parts<T>::F, T>::value;

template <class F>
DLT_FN typename pack<F>::type lanes_at(const F* from) {
  typename pack<F>::type v;
  memcpy(&v, from, sizeof v);
  return v;
}

// The sum of the elements of a register, halves first.
template <class T, int N, class V>
T sum_of(V v) {
  if constexpr (N == 2) {
    return v[0] + v[1];
  } else {
    typedef T Half __attribute__((vector_size(N / 2 * sizeof(T))));
    Half halves[2];
    memcpy(halves, &v, sizeof halves);
    return sum_of<T, N / 2>(halves[0] + halves[1]);
  }
}

// Bytes of the partial sums of an inner product, in four registers of 64 bytes, whatever the registers are.
constexpr int inner_bytes = 256;

// sum of conj(a[i]) * b[i]. Of real numbers, term i is added to partial sum i % (inner_bytes / sizeof(T)), and at the end the
// upper half of them to the lower one until one is left.
template <class T>
T inner(const T* a, const T* b, int64_t n) {
  if constexpr (real<T>) {
    constexpr int step = pack<T>::lanes, count = inner_bytes / register_bytes;
    typename pack<T>::type sums[count]{};
    for (; n >= count * step; n -= count * step, a += count * step, b += count * step)
      each<count>([&](int k)
                      __attribute__((always_inline)) { sums[k] = sums[k] + lanes_at(a + k * step) * lanes_at(b + k * step); });
    each<count>([&](int k) __attribute__((always_inline)) {
      const auto *const x = reinterpret_cast<const char*>(a + k * step), *const y = reinterpret_cast<const char*>(b + k * step);
      if (n >= step) {
        sums[k] = sums[k] + load<T>(x) * load<T>(y);
        n -= step;
      } else if (n > 0) {
        sums[k] = sums[k] + load_part<T>(x, int(n)) * load_part<T>(y, int(n));
        n = 0;
      }
    });
    return sum_of<T, step>(halved<count>(sums)) + T{};  // 0 is +0, however many lanes had no term
  } else {
    T total{};
    for (int64_t i = 0; i < n; ++i) total = plus(total, conj(a[i]), b[i]);
    return total;
  }
}

// The first of the elements first ... n - 1 that is largest; NaN is less than all.
template <class T>
int64_t largest(const T* a, int64_t first, int64_t n) {
  using F = typename parts<T>::F;
  F best = size(a[first]);
  int64_t i = first + 1;
  if constexpr (real<T>) {
    constexpr int step = pack<T>::lanes;
    typename pack<T>::type most[2]{};
    for (; i + 2 * step <= n; i += 2 * step)
      for (int k = 0; k < 2; ++k) most[k] = larger(magnitude(lanes_at(a + i + k * step)), most[k]);
    most[0] = larger(most[0], most[1]);
    for (int k = 0; k < step; ++k) best = most[0][k] > best ? most[0][k] : best;
  }
  for (; i < n; ++i) best = size(a[i]) > best ? size(a[i]) : best;
  for (i = first; i < n; ++i)
    if (size(a[i]) == best) return i;
  return first;
}

template <class T>
bool lu(void* data, int64_t step, int64_t m, int64_t n, int64_t* pivots) {
  T* const a = static_cast<T*>(data);
  bool singular = false;
  for (int64_t c = 0; c < n; ++c) {
    T* const column = a + c * step;
    for (int64_t i = 1; i < c; ++i)
      for (int64_t p = 0; p < i; ++p) column[i] = plus(column[i], a[p * step + i], column[p]);
    int64_t p = 0;
    for (; p + 4 <= c; p += 4) {
      const T *const x = a + p * step, *const y = x + step, *const z = y + step, *const w = z + step;
      const T u[] = {column[p], column[p + 1], column[p + 2], column[p + 3]};
      DLT_IVDEP
      for (int64_t i = c; i < m; ++i)
        column[i] = plus(plus(plus(plus(column[i], x[i], u[0]), y[i], u[1]), z[i], u[2]), w[i], u[3]);
    }
    for (; p < c; ++p) {
      const T *const x = a + p * step, u = column[p];
      DLT_IVDEP
      for (int64_t i = c; i < m; ++i) column[i] = plus(column[i], x[i], u);
    }
    const int64_t at = pivots[c] = largest(column, c, m);
    if (at != c)
      for (int64_t q = 0; q < n; ++q) {
        const T old = a[q * step + c];
        a[q * step + c] = a[q * step + at];
        a[q * step + at] = old;
      }
    const T pivot = negative(column[c]);
    if (size(pivot) == 0) {
      singular = true;
      continue;
    }
    DLT_IVDEP
    for (int64_t i = c + 1; i < m; ++i) column[i] = quotient(column[i], pivot);
  }
  return singular;
}

// N registers of columns, or of complex numbers 8 columns.
template <class T, class Packet, int N>
void substitute_columns(const T* t, int64_t t_row, int64_t t_column, T* b, int64_t b_row, int64_t n, bool backward, bool unit) {
  constexpr int64_t step = int64_t(sizeof(Packet) / sizeof(T));
  for (int64_t done = 0; done < n; ++done) {
    const int64_t i = backward ? n - 1 - done : done;
    Packet sums[N];
    T* const row = b + i * b_row;
    for (int k = 0; k < N; ++k) memcpy(&sums[k], row + k * step, sizeof(Packet));
    const T* factor = t + i * t_row + (backward ? n - 1 : 0) * t_column;
    const T* from = b + (backward ? n - 1 : 0) * b_row;
    const int64_t next_factor = backward ? -t_column : t_column, next = backward ? -b_row : b_row;
    for (int64_t p = 0; p < done; ++p, factor += next_factor, from += next)
#pragma GCC unroll 4
      for (int k = 0; k < N; ++k) {
        Packet x;
        memcpy(&x, from + k * step, sizeof x);
        if constexpr (real<T>) sums[k] = sums[k] + x * *factor;
        else sums[k] = plus(sums[k], x, *factor);
      }
    if (!unit) {
      const T by = negative(t[i * t_row + i * t_column]);
      for (int k = 0; k < N; ++k)
        if constexpr (real<T>) sums[k] = sums[k] / by;
        else sums[k] = quotient(sums[k], by);
    }
    for (int k = 0; k < N; ++k) memcpy(row + k * step, &sums[k], sizeof(Packet));
  }
}

template <class T>
void substitute(const void* triangle, int64_t t_row, int64_t t_column, void* right, int64_t b_row, int64_t n, int64_t columns,
                bool backward, bool unit) {
  const T* const t = static_cast<const T*>(triangle);
  T* const b = static_cast<T*>(right);
  int64_t j = 0;
  if constexpr (real<T>) {
    using V = typename pack<T>::type;
    constexpr int64_t step = pack<T>::lanes;
    for (; j + 4 * step <= columns; j += 4 * step)
      substitute_columns<T, V, 4>(t, t_row, t_column, b + j, b_row, n, backward, unit);
    for (; j + step <= columns; j += step) substitute_columns<T, V, 1>(t, t_row, t_column, b + j, b_row, n, backward, unit);
  } else {
    for (; j + 4 <= columns; j += 4) substitute_columns<T, T, 4>(t, t_row, t_column, b + j, b_row, n, backward, unit);
  }
  for (; j < columns; ++j) substitute_columns<T, T, 1>(t, t_row, t_column, b + j, b_row, n, backward, unit);
}

template <class T>
bool cholesky(void* data, int64_t a_row, int64_t n) {
  using F = typename parts<T>::F;
  T* const a = static_cast<T*>(data);
  for (int64_t k = 0; k < n; ++k) {
    T* const row = a + k * a_row;
    const F d = part(row[k]);
    if (!(d > 0) || d - d != 0) return false;
    const F r = F(__builtin_sqrt(d));
    row[k] = number<T>(r);
    const F by = 1 / r;
    for (int64_t j = k + 1; j < n; ++j) row[j] = scaled(row[j], by);
    for (int64_t i = k + 1; i < n; ++i) {
      T* const to = a + i * a_row;
      const T factor = negative(conj(row[i]));
      DLT_IVDEP
      for (int64_t j = i; j < n; ++j) to[j] = plus(to[j], factor, row[j]);
    }
  }
  return true;
}

template <class T>
void qr(void* data, int64_t step, int64_t m, int64_t n, void* triangle, int64_t t_row) {
  using F = typename parts<T>::F;
  T *const a = static_cast<T*>(data), *const t = static_cast<T*>(triangle);
  for (int64_t c = 0; c < n; ++c) {
    T* const v = a + c * step;
    const int64_t below = c + 1, rest = m - below;
    F tail = rest > 0 ? part(inner(v + below, v + below, rest)) : F(0), up = 1;
    if (tail < (sizeof(F) == 4 ? F(0x1p-80) : F(0x1p-800)) && (rest > 0 || imaginary(v[c]) != 0)) {
      // Squares are inexact: a column of small numbers is made a greater one for the time being.
      F most = size(v[c]);
      for (int64_t i = below; i < m; ++i) most = size(v[i]) > most ? size(v[i]) : most;
      constexpr F low = sizeof(F) == 4 ? F(0x1p-30) : F(0x1p-300), by = sizeof(F) == 4 ? F(0x1p+90) : F(0x1p+700);
      if (most > 0 && most < low) {
        up = by;
        for (int64_t i = c; i < m; ++i) v[i] = scaled(v[i], up);
        tail = rest > 0 ? part(inner(v + below, v + below, rest)) : F(0);
      }
    }
    const T alpha = v[c];
    T tau{};
    if (tail != 0 || imaginary(alpha) != 0) {
      const F square = plus(imaginary(alpha) * imaginary(alpha), part(alpha), part(alpha));
      const F norm = F(__builtin_sqrt(square + tail));
      const F beta = part(alpha) >= 0 ? -norm : norm;
      tau = scaled(sum(negative(alpha), number<T>(beta)), 1 / beta);
      const T by = quotient(number<T>(1), sum(alpha, number<T>(-beta)));
      for (int64_t i = below; i < m; ++i) v[i] = product(v[i], by);
      v[c] = number<T>(beta / up);
    } else {
      v[c] = scaled(alpha, 1 / up);
      for (int64_t i = below; i < m; ++i) v[i] = T{};
    }
    for (int64_t other = c + 1; other < n; ++other) {
      T* const x = a + other * step;
      const T w = product(negative(conj(tau)), sum(inner(v + below, x + below, rest), x[c]));
      x[c] = sum(x[c], w);
      DLT_IVDEP
      for (int64_t i = below; i < m; ++i) x[i] = plus(x[i], v[i], w);
    }
    // T[:c, c] = -tau T[:c, :c] (V[:, :c]^H v)
    for (int64_t p = 0; p < c; ++p) {
      const T* const w = a + p * step;
      t[p * t_row + c] = sum(inner(w + below, v + below, rest), conj(w[c]));
    }
    for (int64_t i = 0; i < c; ++i) {
      T total{};
      for (int64_t p = i; p < c; ++p) total = plus(total, t[i * t_row + p], t[p * t_row + c]);
      t[i * t_row + c] = product(negative(tau), total);
    }
    t[c * t_row + c] = tau;
    for (int64_t p = 0; p < c; ++p) t[c * t_row + p] = T{};
  }
}

template <class T, int N>
void reflect_columns(const Reflected& r, T* columns, int64_t step, const T* y, const T* u, T* products, T* row) {
  using V = typename pack<T>::type;
  constexpr int64_t width = pack<T>::lanes;
  const T *const v = static_cast<const T*>(r.v), *const x = static_cast<const T*>(r.x),
                 *const next = static_cast<const T*>(r.next);
  T *const image = static_cast<T*>(r.image), *const row_image = static_cast<T*>(r.row_image);
  V sums[N]{};
  for (int64_t i = 0; i < r.n; i += width) {
    const V a = lanes_at(v + i), b = lanes_at(x + i), c = lanes_at(next + i);
#pragma GCC unroll 4
    for (int k = 0; k < N; ++k) {
      const V at = lanes_at(columns + k * step + i) - a * y[k] - b * u[k];
      memcpy(columns + k * step + i, &at, sizeof at);
      sums[k] = sums[k] + at * c;
    }
  }
#pragma GCC unroll 1
  for (int k = 0; k < N; ++k) {
    products[k] = sum_of<T, int(width)>(sums[k]);
    row[k] = columns[k * step + r.pivot];
  }
  if (image == nullptr) return;
  for (int64_t i = 0; i < r.n; i += width) {
    V a = lanes_at(image + i), b = lanes_at(row_image + i);
#pragma GCC unroll 4
    for (int k = 0; k < N; ++k) {
      const V at = lanes_at(columns + k * step + i);
      a = a + at * products[k];
      b = b + at * row[k];
    }
    memcpy(image + i, &a, sizeof a);
    memcpy(row_image + i, &b, sizeof b);
  }
}
template <class T>
void reflect(const Reflected& r, void* first, int64_t step, int64_t count, const void* y, const void* u, void* products,
             void* row) {
  T* const columns = static_cast<T*>(first);
  const T *const left = static_cast<const T*>(y), *const right = static_cast<const T*>(u);
  T *const to = static_cast<T*>(products), *const elements = static_cast<T*>(row);
  int64_t k = 0;
  for (; k + 4 <= count; k += 4) reflect_columns<T, 4>(r, columns + k * step, step, left + k, right + k, to + k, elements + k);
  for (; k < count; ++k) reflect_columns<T, 1>(r, columns + k * step, step, left + k, right + k, to + k, elements + k);
}

template <class T>
double inner_product(const void* a, const void* b, int64_t n) {
  return inner(static_cast<const T*>(a), static_cast<const T*>(b), n);
}

template <class T>
constexpr FactorLoops loops = {lu<T>, substitute<T>, cholesky<T>, qr<T>, nullptr, nullptr};
template <>
constexpr FactorLoops loops<float> = {lu<float>, substitute<float>, cholesky<float>,
                                      qr<float>, reflect<float>,    inner_product<float>};
template <>
constexpr FactorLoops loops<double> = {lu<double>, substitute<double>, cholesky<double>,
                                       qr<double>, reflect<double>,    inner_product<double>};

}  // namespace

void fill_factors(LinalgKernels* kernels) {
  kernels->factors[0] = loops<float>;
  kernels->factors[1] = loops<double>;
  kernels->factors[2] = loops<complex64>;
  kernels->factors[3] = loops<complex128>;
}

}  // namespace dlt::DLT_LEVEL
