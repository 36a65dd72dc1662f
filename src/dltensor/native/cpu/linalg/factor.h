// SPDX-License-Identifier: Apache-2.0
// Factorizations of one matrix of any size by products of its blocks, and their common parts: blocks of a matrix, their products and
// copies, memory, scaling.
#pragma once
#include <math.h>

#include <algorithm>
#include <limits>

#include "native/cpu/runtime/engine.h"
#include "native/cpu/copy/kernels.h"
#include "native/cpu/runtime/features.h"
#include "native/cpu/linalg/product.h"
#include "native/cpu/runtime/sizes.h"
#include "native/memory/block.h"
#include "native/status.h"

namespace dlt {

// Functions of dtype number `kind` of factored_types; matrices are contiguous, by rows.
struct Factorization {
  Status (*solve)(int64_t n, int64_t k, const void* a, void* b, bool* singular);
  Status (*inverse)(int64_t n, const void* a, void* out, bool* singular);
  // The diagonal of U, and at [n] the sign of the permutation.
  Status (*pivots)(int64_t n, const void* a, void* out);
  Status (*cholesky)(int64_t n, const void* a, void* out, bool upper, bool* definite);
  Status (*qr)(int64_t m, int64_t n, int64_t columns, const void* a, void* q, void* r);
};
const Factorization& factorization(int kind) noexcept;

namespace {

template <class T>
struct kind_of;
template <>
struct kind_of<float> {
  static constexpr int kind = 0, type = type_float32;
  using F = float;
};
template <>
struct kind_of<double> {
  static constexpr int kind = 1, type = type_float64;
  using F = double;
};
template <>
struct kind_of<complex64> {
  static constexpr int kind = 2, type = type_complex64;
  using F = float;
};
template <>
struct kind_of<complex128> {
  static constexpr int kind = 3, type = type_complex128;
  using F = double;
};
template <class T>
using real_of = typename kind_of<T>::F;
template <class T>
constexpr bool is_real = kind_of<T>::kind < 2;

template <class T>
T conjugate(T a) {
  if constexpr (!is_real<T>) a.im = -a.im;
  return a;
}
template <class T>
T opposite(T a) {
  if constexpr (is_real<T>) return -a;
  else return {-a.re, -a.im};
}
template <class T>
T one() {
  T result{};
  if constexpr (is_real<T>) result = 1;
  else result.re = 1;
  return result;
}

// Rows `row` elements apart, elements of a row `column` elements apart.
template <class T>
struct Part {
  T* data;
  int64_t rows, columns, row, column = 1;

  Part at(int64_t first_row, int64_t first_column, int64_t some_rows, int64_t some_columns) const {
    return {data + first_row * row + first_column * column, some_rows, some_columns, row, column};
  }
  Part transposed() const { return {data, columns, rows, column, row}; }
  T* operator[](int64_t r) const { return data + r * row; }
  Matrix bytes() const {
    constexpr int64_t width = sizeof(T);
    return {reinterpret_cast<char*>(data), rows, columns, row * width, column * width};
  }
};

template <class T>
const FactorLoops& loops() {
  return kernels().linalg->factors[kind_of<T>::kind];
}

// c += a @ b, or c = a @ b.
template <class T>
Status multiply(Part<T> c, Part<T> a, Part<T> b, bool add = true) {
  constexpr int type = kind_of<T>::type;
  Product p{kernels().linalg->products[type], type, type, type, int64_t(sizeof(T)), c.bytes(), a.bytes(), b.bytes()};
  p.add = add;
  if (!add && a.columns == 0)
    for (int64_t i = 0; i < c.rows; ++i) std::fill_n(c[i], c.columns, T{});
  return add_product(p);
}

template <class T>
void copy(Part<T> to, Part<T> from) {
  constexpr int64_t width = sizeof(T);
  if (to.rows == 0 || to.columns == 0) return;
  const Matrix t = to.bytes(), f = from.bytes();
  kernels().copy->moves[width_index(width)](t.data, t.row, t.column, f.data, f.row, f.column, t.rows, t.columns);
}
template <class T>
void conjugate_all(Part<T> a) {
  if constexpr (!is_real<T>)
    for (int64_t i = 0; i < a.rows; ++i)
      for (int64_t j = 0; j < a.columns; ++j) a[i][j * a.column] = conjugate(a[i][j * a.column]);
}
template <class T>
void negate_all(Part<T> a) {
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < a.columns; ++j) a[i][j] = opposite(a[i][j]);
}

// Memory of a call, by pieces.
template <class T>
struct Scratch {
  BlockRef memory;
  T* next = nullptr;
  bool reserve(int64_t elements) {
    memory.block = allocate(size_t(elements) * sizeof(T));
    if (memory.block == nullptr) return false;
    next = static_cast<T*>(memory.block->data);
    return true;
  }
  Part<T> take(int64_t rows, int64_t columns) {
    const Part<T> part{next, rows, columns, columns};
    next += rows * columns;
    return part;
  }
};

// The elements between rows of a working copy: an odd number of cache lines, as the lines of a column would share few sets of
// the cache with a power of two.
template <class T>
int64_t pitch_of(int64_t columns) {
  constexpr int64_t line = 64 / sizeof(T);
  return (ceil_divide(columns, line) | 1) * line;
}

template <class T>
real_of<T> largest(const T* a, int64_t n) {
  using F = real_of<T>;
  const F* x = reinterpret_cast<const F*>(a);
  F most = 0;
  for (int64_t i = 0; i < n * (is_real<T> ? 1 : 2); ++i) most = std::max(most, F(fabs(x[i])));
  return most;
}
// The power of two by which elements are multiplied so that their squares neither overflow nor vanish; 1 for most matrices.
template <class F>
F scale_for(F most) {
  constexpr F low = sizeof(F) == 4 ? F(0x1p-40) : F(0x1p-400), high = 1 / low;
  if (!(most > 0) || (most > low && most < high) || most > std::numeric_limits<F>::max()) return 1;
  int exponent;
  (void)frexp(most, &exponent);
  constexpr int limit = std::numeric_limits<F>::max_exponent - 2;
  return F(ldexp(1, exponent < -limit ? limit : exponent > limit ? -limit : -exponent));
}
template <class T>
real_of<T> scale_of(const T* a, int64_t n) {
  return scale_for(largest(a, n));
}
template <class T>
void scale_all(T* a, int64_t n, real_of<T> by) {
  if (by == 1) return;
  auto* x = reinterpret_cast<real_of<T>*>(a);
  for (int64_t i = 0; i < n * (is_real<T> ? 1 : 2); ++i) x[i] *= by;
}

}  // namespace
}  // namespace dlt
