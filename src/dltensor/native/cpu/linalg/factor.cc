// SPDX-License-Identifier: Apache-2.0
// LU, Cholesky and QR by halves: the left columns are factored, the rest is updated by a product, and is factored in turn.
// Nearly all work is done by the kernel of products, whatever the size. A matrix of which only a sum is taken is stored
// negated, as the kernel adds: multipliers of LU, and solutions of triangular systems until the end.
#include "native/cpu/linalg/factor.h"

#include <string.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>

#include "native/cpu/runtime/sizes.h"
#include "native/cpu/runtime/thread_pool.h"

namespace dlt {
namespace {

constexpr int64_t leaf = 16;            // columns of LU, rows of a triangle
constexpr int64_t cholesky_leaf = 32, qr_leaf = 8, qr_block = 64;
constexpr int64_t strip = 256;          // columns of a triangular system that are one task
constexpr int64_t strip_work = 1 << 16;  // from which tasks are shared
constexpr int64_t system_strip = 64;    // columns of x that a thread computes at a time
// Columns of LU that are factored at once; of those to the right, what a thread updates at a time.
constexpr int64_t block = 64, wide_block = 128, wide_from = 1024, strip_columns = 32;

int64_t half(int64_t n, int64_t unit) { return ceil_divide(ceil_divide(n, 2), unit) * unit; }

// ---- triangles

// Solves t x = b in place for a lower triangle, or an upper one `backward`. With `unit` the diagonal is 1 and t is negated;
// without, x becomes negated.
template <class T>
Status substitute(Part<T> t, Part<T> b, bool backward, bool unit) {
  const int64_t n = t.rows;
  if (n <= leaf) {
    parallel_if(n * n * b.columns >= strip_work, ceil_divide(b.columns, strip), [&](int64_t i) {
      const int64_t first = i * strip, columns = smaller(strip, b.columns - first);
      loops<T>().substitute(t.data, t.row, t.column, b.data + first, b.row, n, columns, backward, unit);
    });
    return success;
  }
  const int64_t k = half(n, leaf), rest = n - k;
  const Part<T> low = b.at(k, 0, rest, b.columns), high = b.at(0, 0, k, b.columns);
  if (backward) {
    DLT_TRY(substitute(t.at(k, k, rest, rest), low, true, unit));
    DLT_TRY(multiply(high, t.at(0, k, k, rest), low));
    return substitute(t.at(0, 0, k, k), high, true, unit);
  }
  DLT_TRY(substitute(t.at(0, 0, k, k), high, false, unit));
  DLT_TRY(multiply(low, t.at(k, 0, rest, k), high));
  return substitute(t.at(k, k, rest, rest), low, false, unit);
}

// ---- LU

template <class T>
void swap_rows(Part<T> a, const int64_t* pivots, int64_t first, int64_t last) {
  for (int64_t c = first; c < last; ++c)
    if (pivots[c] != c) std::swap_ranges(a[c], a[c] + a.columns, a[pivots[c]]);
}

// a (m x n, m >= n) becomes L, negated below its diagonal, and U. `spare` has room for m x leaf elements.
template <class T>
Status factor_lu(Part<T> a, T* spare, int64_t* pivots, bool* singular) {
  const int64_t n = a.columns, m = a.rows;
  if (n <= leaf) {
    const Part<T> columns{spare, n, m, m};
    copy(columns, a.transposed());
    if (loops<T>().lu(spare, m, m, n, pivots)) *singular = true;
    copy(a, columns.transposed());
    return success;
  }
  const int64_t k = half(n, leaf), rest = n - k;
  DLT_TRY(factor_lu(a.at(0, 0, m, k), spare, pivots, singular));
  const Part<T> right = a.at(0, k, m, rest);
  swap_rows(right, pivots, 0, k);
  const Part<T> top = right.at(0, 0, k, rest), low = right.at(k, 0, m - k, rest), left = a.at(k, 0, m - k, k);
  DLT_TRY(substitute(a.at(0, 0, k, k), top, false, true));
  DLT_TRY(multiply(low, left, top));
  DLT_TRY(factor_lu(low, spare, pivots + k, singular));
  swap_rows(left, pivots + k, 0, rest);
  for (int64_t c = k; c < n; ++c) pivots[c] += k;
  return success;
}

// Blocks of columns: while the first of those to the right of a factored block is updated and factored in turn, other threads
// update the rest in strips, of which each mostly stays with its thread and so in the thread's cache. What is computed does not
// depend on the number of threads, so that the bits do not.
template <class T>
struct Blocks {
  Part<T> a, from, b;  // the factors, the matrix, and columns that become inverse(L) P b
  T* spare;
  int64_t* pivots;
  int64_t width, done = 0;  // of a block; columns that are factored
  std::atomic<bool> singular{false}, failed{false};

  Status factor(int64_t first, int64_t columns) {
    const int64_t rows = a.rows - first;
    bool found = false;
    DLT_TRY(factor_lu(a.at(first, first, rows, columns), spare, pivots + first, &found));
    if (found) singular.store(true);
    return success;
  }
  // Columns of a or b, by the block that ends at `done`.
  Status update(Part<T> columns) const {
    const int64_t first = a.rows - columns.rows, rest = a.rows - done;
    const Part<T> top = columns.at(0, 0, done - first, columns.columns);
    swap_rows(columns, pivots + first, 0, top.rows);
    DLT_TRY(substitute(a.at(first, first, top.rows, top.rows), top, false, true));
    return multiply(columns.at(top.rows, 0, rest, columns.columns), a.at(done, first, rest, top.rows), top);
  }
  int64_t next() const { return smaller(width, a.columns - done); }
  int64_t strips() const { return ceil_divide(a.columns - done - next(), strip_columns); }
  // Chunk 0 is the next block, the others are strips of what lies to its right, and then of b.
  Status run(int64_t index) {
    const int64_t first = index == 0 ? done : done + next() + (index - 1) * strip_columns;
    const bool right = index > strips();
    const int64_t column = right ? (index - strips() - 1) * system_strip : first;
    const int64_t columns = right        ? smaller(system_strip, b.columns - column)
                            : index == 0 ? next()
                                         : smaller(strip_columns, a.columns - column);
    const int64_t top = done == 0 ? 0 : (done - 1) / width * width;
    if (right) return done == 0 ? success : update(b.at(top, column, a.rows - top, columns));
    if (columns == 0) return success;
    const Part<T> target = a.at(top, column, a.rows - top, columns);
    if (done == 0) copy(target, from.at(0, column, a.rows, columns));
    else DLT_TRY(update(target));
    return index == 0 ? factor(done, columns) : success;
  }
};
// Exchanges the rows of a factored block as the blocks to its right did.
template <class T>
void swap_block(const Blocks<T>& blocks, int64_t index) {
  const int64_t column = index * blocks.width, n = blocks.a.columns;
  for (int64_t first = column + blocks.width; first < n; first += blocks.width)
    swap_rows(blocks.a.at(first, column, n - first, blocks.width), blocks.pivots + first, 0, smaller(blocks.width, n - first));
}

template <class T>
struct Lu {
  Scratch<T> scratch;
  std::unique_ptr<int64_t[]> pivots;  // counted from the first row
  Part<T> a{};

  // b, if it has columns, becomes inverse(L) P b; the rows of L are then not all exchanged.
  Status factor(int64_t n, const void* matrix, bool* singular, Part<T> b = {}, bool whole = false) {
    const int64_t pitch = pitch_of<T>(n);
    pivots.reset(new (std::nothrow) int64_t[size_t(n)]);
    if (!pivots || !scratch.reserve(n * pitch + n * leaf)) return no_temporary();
    a = scratch.take(n, pitch).at(0, 0, n, n);
    const Part<T> from{static_cast<T*>(const_cast<void*>(matrix)), n, n, n};
    const int64_t width = n < 2 * block ? n : n < wide_from ? block : wide_block;
    Blocks<T> blocks{a, from, b, scratch.next, pivots.get(), width};
    const KeepAwake awake(n > width);
    for (;; blocks.done += blocks.next()) {
      const int64_t count = 1 + blocks.strips() + (blocks.done > 0 ? ceil_divide(b.columns, system_strip) : 0);
      parallel_if(n * n * (n + b.columns) >= strip_work, count, [&](int64_t i) {
        if (!blocks.run(i).ok()) blocks.failed.store(true);
      });
      if (blocks.failed.load()) return no_temporary();  // a text set by another thread is not seen by this one
      if (blocks.done == n) break;
    }
    if (whole && n > width) parallel(ceil_divide(n, width) - 1, [&](int64_t i) { swap_block(blocks, i); });
    for (int64_t c = width; c < n; ++c) pivots[c] += c / width * width;
    *singular = blocks.singular.load();
    return success;
  }
};

// x in l u x = 1 by strips of columns, or in u x = b.
template <class T>
struct Systems {
  Part<T> lu, x;
  bool unit;
  std::atomic<bool> failed{false};

  Status solve(int64_t column) const {
    const int64_t n = x.rows, rest = n - column, columns = smaller(system_strip, x.columns - column);
    const Part<T> b = x.at(0, column, n, columns);
    if (unit) {
      for (int64_t i = 0; i < n; ++i) std::fill_n(b[i], columns, T{});
      for (int64_t i = 0; i < columns; ++i) b[column + i][i] = one<T>();
      // Rows above remain 0.
      DLT_TRY(substitute(lu.at(column, column, rest, rest), b.at(column, 0, rest, columns), false, true));
    }
    DLT_TRY(substitute(lu, b, true, false));
    negate_all(b);
    return success;
  }
};
template <class T>
Status solve_strips(Part<T> lu, Part<T> x, bool unit) {
  Systems<T> systems{lu, x, unit};
  parallel_if(x.rows * x.rows * x.columns >= strip_work, ceil_divide(x.columns, system_strip), [&](int64_t i) {
    if (!systems.solve(i * system_strip).ok()) systems.failed.store(true);
  });
  return systems.failed.load() ? no_temporary() : success;
}

template <class T>
Status solve(int64_t n, int64_t k, const void* a, void* b, bool* singular) {
  Lu<T> lu;
  *singular = false;
  const Part<T> x{static_cast<T*>(b), n, k, k};
  DLT_TRY(lu.factor(n, a, singular, x));
  return *singular ? success : solve_strips(lu.a, x, false);
}

template <class T>
Status inverse(int64_t n, const void* a, void* out, bool* singular) {
  Lu<T> lu;
  *singular = false;
  DLT_TRY(lu.factor(n, a, singular, {}, true));
  if (*singular) return success;
  Scratch<T> scratch;
  const int64_t pitch = pitch_of<T>(n);
  std::unique_ptr<int64_t[]> place{new (std::nothrow) int64_t[size_t(n)]};
  if (!place || !scratch.reserve(n * pitch)) return no_temporary();
  // inverse(P A) is that of A with its columns exchanged.
  const Part<T> x = scratch.take(n, pitch).at(0, 0, n, n);
  DLT_TRY(solve_strips(lu.a, x, true));
  for (int64_t i = 0; i < n; ++i) place[i] = i;
  for (int64_t c = 0; c < n; ++c) std::swap(place[c], place[lu.pivots[c]]);
  const Part<T> to{static_cast<T*>(out), n, n, n};
  parallel(ceil_divide(n, block), [&](int64_t k) {
    for (int64_t i = k * block; i < smaller((k + 1) * block, n); ++i)
      for (int64_t j = 0; j < n; ++j) to[i][place[size_t(j)]] = x[i][j];
  });
  return success;
}

template <class T>
Status pivots(int64_t n, const void* a, void* out) {
  Lu<T> lu;
  bool singular = false, odd = false;
  DLT_TRY(lu.factor(n, a, &singular));
  T* const to = static_cast<T*>(out);
  for (int64_t c = 0; c < n; ++c) {
    to[c] = lu.a[c][c];
    odd ^= lu.pivots[c] != c;
  }
  to[n] = odd ? opposite(one<T>()) : one<T>();
  return success;
}

// ---- Cholesky

// The lower triangle of a becomes the factor. `spare` has room for n * n / 4 + n * leaf elements.
template <class T>
Status factor_cholesky(Part<T> a, T* spare, bool* definite) {
  const int64_t n = a.rows;
  if (n <= cholesky_leaf) {
    const Part<T> upper{spare, n, n, n};
    copy(upper, a.transposed());
    conjugate_all(upper);
    *definite = loops<T>().cholesky(spare, n, n);
    conjugate_all(upper);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j) a[i][j] = upper[j][i];
    return success;
  }
  const int64_t k = half(n, cholesky_leaf), rest = n - k;
  const Part<T> first = a.at(0, 0, k, k), left = a.at(k, 0, rest, k), last = a.at(k, k, rest, rest);
  DLT_TRY(factor_cholesky(first, spare, definite));
  if (!*definite) return success;
  // first y = left^H; then left = y^H and last -= left y, where y is negated.
  const Part<T> y{spare, k, rest, rest};
  copy(y, left.transposed());
  conjugate_all(y);
  DLT_TRY(substitute(first, y, false, false));
  copy(left, y.transposed());
  conjugate_all(left);
  negate_all(left);
  constexpr int64_t step = 128;
  for (int64_t row = 0; row < rest; row += step) {
    const int64_t rows = smaller(step, rest - row), columns = row + rows;
    DLT_TRY(multiply(last.at(row, 0, rows, columns), left.at(row, 0, rows, k), y.at(0, 0, k, columns)));
  }
  return factor_cholesky(last, spare, definite);
}

template <class T>
Status cholesky(int64_t n, const void* a, void* out, bool upper, bool* definite) {
  Scratch<T> scratch;
  if (!scratch.reserve(n * n + n * n / 2 + n * cholesky_leaf)) return no_temporary();
  const Part<T> from{static_cast<T*>(const_cast<void*>(a)), n, n, n}, to{static_cast<T*>(out), n, n, n};
  const Part<T> work = upper ? scratch.take(n, n) : to;
  copy(work, upper ? from.transposed() : from);
  if (upper) conjugate_all(work);
  *definite = true;
  DLT_TRY(factor_cholesky(work, scratch.next, definite));
  for (int64_t i = 0; i < n; ++i) std::fill_n(work[i] + i + 1, n - i - 1, T{});
  if (upper) {
    copy(to, work.transposed());
    conjugate_all(to);
  }
  return success;
}

// ---- QR

// Vectors as rows of `v`: row c is column c of V with its zeros, and `h` is its conjugate (for real dtypes the same memory).
template <class T>
struct Reflections {
  Part<T> v, h, t, product;
  T* spare;  // m x qr_leaf elements
};

// Columns first ... first + n - 1 of a, of which the rows above `first` are finished; t is n x n.
template <class T>
Status factor_columns(Part<T> a, Reflections<T>& w, int64_t first, int64_t n, Part<T> t) {
  const int64_t m = a.rows - first;
  if (n <= qr_leaf) {
    const Part<T> columns{w.spare, n, m, m}, below = a.at(first, first, m, n);
    copy(columns, below.transposed());
    loops<T>().qr(w.spare, m, m, n, t.data, t.row);
    for (int64_t c = 0; c < n; ++c) {
      T* const to = w.v[first + c];
      std::fill_n(to, first + c, T{});
      to[first + c] = one<T>();
      std::copy_n(columns[c] + c + 1, m - c - 1, to + first + c + 1);
      for (int64_t i = 0; i <= c; ++i) below[i][c] = columns[c][i];
    }
    if (!is_real<T>) {
      const Part<T> h = w.h.at(first, 0, n, a.rows);
      copy(h, w.v.at(first, 0, n, a.rows));
      conjugate_all(h);
    }
    return success;
  }
  const int64_t k = half(n, qr_leaf), rest = n - k;
  const Part<T> t1 = t.at(0, 0, k, k), t2 = t.at(k, k, rest, rest), corner = t.at(0, k, k, rest);
  DLT_TRY(factor_columns(a, w, first, k, t1));
  DLT_TRY(reflect(a.at(first, first + k, m, rest), w, first, k, t1, true));
  DLT_TRY(factor_columns(a, w, first + k, rest, t2));
  // corner = -t1 (V1^H V2) t2, all upper triangles being full squares.
  const Part<T> h1 = w.h.at(first, first + k, k, m - k), v2 = w.v.at(first + k, first + k, rest, m - k);
  const Part<T> product{w.product.data, k, rest, rest};
  DLT_TRY(multiply(corner, h1, v2.transposed(), false));
  DLT_TRY(multiply(product, t1, corner, false));
  negate_all(product);
  DLT_TRY(multiply(corner, product, t2, false));
  for (int64_t i = k; i < n; ++i) std::fill_n(t[i], k, T{});
  return success;
}

// x -= V T V^H x, or with T^H, for the k vectors from `first`; x begins at row `first`.
template <class T>
Status reflect(Part<T> x, Reflections<T>& w, int64_t first, int64_t k, Part<T> t, bool adjoint) {
  if (x.columns == 0) return success;
  const Part<T> h = w.h.at(first, first, k, x.rows), v = w.v.at(first, first, k, x.rows);
  const Part<T> inner{w.product.data, k, x.columns, x.columns}, outer{inner.data + k * x.columns, k, x.columns, x.columns};
  Part<T> factor{outer.data + k * x.columns, k, k, k};
  copy(factor, adjoint ? t.transposed() : t);
  if (adjoint) conjugate_all(factor);
  negate_all(factor);
  DLT_TRY(multiply(inner, h, x, false));
  DLT_TRY(multiply(outer, factor, inner, false));
  return multiply(x, v.transposed(), outer);
}

template <class T>
Status qr(int64_t m, int64_t n, int64_t columns, const void* from, void* q, void* r) {
  const int64_t steps = smaller(m, n), widest = std::max(n, columns), blocks = ceil_divide(steps, qr_block);
  Scratch<T> scratch;
  if (!scratch.reserve(m * n + steps * m * (is_real<T> ? 1 : 2) + blocks * qr_block * qr_block + m * qr_leaf +
                       2 * qr_block * widest + 2 * qr_block * qr_block))
    return no_temporary();
  const Part<T> a = scratch.take(m, n);
  memcpy(a.data, from, size_t(m * n) * sizeof(T));
  const real_of<T> scale = scale_of(a.data, m * n);
  scale_all(a.data, m * n, scale);
  const Part<T> v = scratch.take(steps, m), h = is_real<T> ? v : scratch.take(steps, m);
  const Part<T> triangles = scratch.take(blocks * qr_block, qr_block), spare = scratch.take(qr_leaf, m);
  Reflections<T> w{v, h, triangles, scratch.take(2, qr_block * (widest + qr_block)), spare.data};
  const auto triangle = [&](int64_t first, int64_t k) { return triangles.at(first, 0, k, k); };
  for (int64_t first = 0; first < steps; first += qr_block) {
    const int64_t k = smaller(qr_block, steps - first);
    DLT_TRY(factor_columns(a, w, first, k, triangle(first, k)));
    DLT_TRY(reflect(a.at(first, first + k, m - first, n - first - k), w, first, k, triangle(first, k), true));
  }
  const Part<T> right{static_cast<T*>(r), columns, n, n}, left{static_cast<T*>(q), m, columns, columns};
  for (int64_t i = 0; i < columns; ++i) {
    std::fill_n(right[i], smaller(i, n), T{});
    if (i < n) std::copy_n(a[i] + i, n - i, right[i] + i);
  }
  scale_all(right.data, columns * n, 1 / scale);
  for (int64_t i = 0; i < m; ++i) {
    std::fill_n(left[i], columns, T{});
    if (i < columns) left[i][i] = one<T>();
  }
  for (int64_t first = (blocks - 1) * qr_block; first >= 0; first -= qr_block) {
    const int64_t k = smaller(qr_block, steps - first);
    DLT_TRY(reflect(left.at(first, first, m - first, columns - first), w, first, k, triangle(first, k), false));
  }
  return success;
}

template <class T>
constexpr Factorization functions = {solve<T>, inverse<T>, pivots<T>, cholesky<T>, qr<T>};
constexpr Factorization table[] = {functions<float>, functions<double>, functions<complex64>, functions<complex128>};

}  // namespace

const Factorization& factorization(int kind) noexcept { return table[kind]; }

}  // namespace dlt
