// SPDX-License-Identifier: Apache-2.0
// LU, Cholesky and QR by halves: the left columns are factored, the rest is updated by a product, and is factored in turn.
// Nearly all work is done by the kernel of products, whatever the size. A matrix of which only a sum is taken is stored
// negated, as the kernel adds: multipliers of LU, and solutions of triangular systems until the end.
#include "native/cpu/factor.h"

#include <math.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <new>

#include "native/cpu/engine.h"
#include "native/cpu/features.h"
#include "native/cpu/product.h"
#include "native/cpu/sizes.h"
#include "native/cpu/thread_pool.h"
#include "native/memory/block.h"
#include "native/os/pause.h"

namespace dlt {
namespace {

constexpr int64_t leaf = 16;            // columns of LU, rows of a triangle
constexpr int64_t cholesky_leaf = 32, qr_leaf = 8, qr_block = 64;
constexpr int64_t strip = 256;          // columns of a triangular system that are solved at a time
constexpr int64_t least_strip = 64;     // and that one thread solves, if others solve the rest
constexpr int64_t column_block = 96;    // columns of LU that one thread updates and factors

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
  T made{};
  if constexpr (is_real<T>) made = 1;
  else made.re = 1;
  return made;
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
  return kernels().factors[kind_of<T>::kind];
}

// c += a @ b, or c = a @ b.
template <class T>
Status multiply(Part<T> c, Part<T> a, Part<T> b, bool add = true) {
  constexpr int type = kind_of<T>::type;
  Product p{kernels().products[type], type, type, int64_t(sizeof(T)), c.bytes(), a.bytes(), b.bytes()};
  p.add = add;
  if (!add && a.columns == 0)
    for (int64_t i = 0; i < c.rows; ++i) std::fill_n(c[i], c.columns, T{});
  return add_product(p);
}

template <class T>
void copy(Part<T> to, Part<T> from) {
  constexpr int64_t width = sizeof(T);
  constexpr int index = width == 4 ? 2 : width == 8 ? 3 : 4;
  if (to.rows == 0 || to.columns == 0) return;
  const Matrix t = to.bytes(), f = from.bytes();
  kernels().moves[index](t.data, t.row, t.column, f.data, f.row, f.column, t.rows, t.columns);
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
    const Part<T> made{next, rows, columns, columns};
    next += rows * columns;
    return made;
  }
};

// From so many rows on, some products are shared among threads, and columns are factored by one thread between them.
constexpr int64_t awake_from = 192;

int64_t half(int64_t n, int64_t unit) { return ceil_divide(ceil_divide(n, 2), unit) * unit; }

// ---- triangles

// Solves t x = b in place for a lower triangle, or an upper one `backward`. With `unit` the diagonal is 1 and t is negated;
// without, x becomes negated.
template <class T>
Status substitute(Part<T> t, Part<T> b, bool backward, bool unit) {
  const int64_t n = t.rows;
  if (n <= leaf) {
    for (int64_t first = 0; first < b.columns; first += strip)
      loops<T>().substitute(t.data, t.row, t.column, b.data + first, b.row, n, smaller(strip, b.columns - first), backward,
                            unit);
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

// Work on strips of columns, each by one thread. `work(first, columns)` returns a status. The strips do not depend on the
// number of threads: the kernels of products may add in another order where a product has other sides.
template <class WORK>
Status each_strip(int64_t columns, int64_t operations, const WORK& work) {
  struct Strips {
    const WORK& work;
    int64_t columns, width;
    std::atomic<int> fault{int(Fault::none)};
  };
  const int64_t width = operations < shared_work ? columns : std::max(least_strip, ceil_divide(columns, 8 * 32) * 32);
  Strips strips{work, columns, width};
  const auto run = [](void* context, int64_t index) {
    auto& all = *static_cast<Strips*>(context);
    const int64_t first = index * all.width;
    const Status status = all.work(first, smaller(all.width, all.columns - first));
    if (!status.ok()) all.fault.store(int(status.fault));
  };
  parallel(ceil_divide(columns, width), run, &strips);
  return Fault(strips.fault.load()) == Fault::none ? success : no_temporary();
}

// As substitute(), where threads share the columns of b.
template <class T>
Status substitute_columns(Part<T> t, Part<T> b, bool backward, bool unit) {
  return each_strip(b.columns, t.rows * t.rows * b.columns, [&](int64_t first, int64_t columns) {
    return substitute(t, b.at(0, first, b.rows, columns), backward, unit);
  });
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

// L and U of a square matrix, negated below the diagonal as above. Blocks of columns are taken in order by any thread, which
// updates its block by those before it, as soon as each is factored, and then factors it. So a block stays in the cache of one
// processor, and a thread waits for one block at most. Order and bits do not depend on the number of threads.
template <class T>
struct Lu {
  Scratch<T> scratch;
  std::unique_ptr<int64_t[]> pivots;
  Part<T> a{}, from{};
  std::atomic<int64_t> next{0}, factored{0};  // the next block to be taken, and the number of those that are finished
  std::atomic<bool> failed{false};
  bool singular = false;

  int64_t blocks() const { return ceil_divide(a.columns, column_block); }
  int64_t width(int64_t block) const { return smaller(column_block, a.columns - block * column_block); }
  // Columns of a block, from the first row of another one on.
  Part<T> part(int64_t block, int64_t row_block) const {
    const int64_t first = row_block * column_block;
    return a.at(first, block * column_block, a.rows - first, width(block));
  }
  bool wait_for(int64_t block) const {
    for (int turns = 0; factored.load(std::memory_order_acquire) <= block; ++turns) {
      if (failed.load(std::memory_order_relaxed)) return false;
      os::pause(turns);
    }
    return true;
  }

  Status update(Part<T> column, int64_t block) const {
    const Part<T> left = part(block, block);
    const int64_t k = left.columns;
    const Part<T> top = column.at(0, 0, k, column.columns), low = column.at(k, 0, column.rows - k, column.columns);
    swap_rows(column, pivots.get() + block * column_block, 0, k);
    DLT_TRY(substitute(left.at(0, 0, k, k), top, false, true));
    return multiply(low, left.at(k, 0, low.rows, k), top);
  }
  Status factor_block(int64_t block, T* spare) {
    const Part<T> all = part(block, 0), source = from.at(0, block * column_block, from.rows, all.columns);
    for (int64_t row = 0; row < all.rows; ++row) std::copy_n(source[row], all.columns, all[row]);
    for (int64_t before = 0; before < block; ++before) {
      if (!wait_for(before)) return success;  // which the call does not
      DLT_TRY(update(part(block, before), before));
    }
    return factor_lu(part(block, block), spare, pivots.get() + block * column_block, &singular);
  }
  static void run(void* context, int64_t index) {
    auto& lu = *static_cast<Lu*>(context);
    T* const spare = lu.scratch.next + index * lu.a.rows * leaf;
    for (int64_t block; (block = lu.next.fetch_add(1, std::memory_order_relaxed)) < lu.blocks();) {
      if (!lu.factor_block(block, spare).ok()) lu.failed.store(true);
      if (lu.failed.load()) return;
      lu.factored.store(block + 1, std::memory_order_release);
    }
  }

  Status factor(int64_t n, const void* matrix, bool* is_singular) {
    const int64_t threads = n * n * n / 3 >= shared_work ? smaller(num_threads(), ceil_divide(n, column_block)) : 1;
    pivots.reset(new (std::nothrow) int64_t[size_t(n)]);
    if (!pivots || !scratch.reserve(n * n + threads * n * leaf)) return no_temporary();
    from = {static_cast<T*>(const_cast<void*>(matrix)), n, n, n};
    a = scratch.take(n, n);
    parallel(threads, run, this);
    if (failed.load()) return no_temporary();
    *is_singular = singular;
    // Blocks lack the swaps of later ones, whose rows are counted from their own first one.
    for (int64_t block = 1; block < blocks(); ++block) {
      const int64_t first = block * column_block;
      swap_rows(a.at(first, 0, n - first, first), pivots.get() + first, 0, width(block));
    }
    for (int64_t c = 0; c < n; ++c) pivots[size_t(c)] += c / column_block * column_block;
    return success;
  }
};

template <class T>
Status solve(int64_t n, int64_t k, const void* a, void* b, bool* singular) {
  const ThreadsAwake awake(n >= awake_from);
  Lu<T> lu;
  *singular = false;
  DLT_TRY(lu.factor(n, a, singular));
  if (*singular) return success;
  const Part<T> x{static_cast<T*>(b), n, k, k};
  return each_strip(k, n * n * k, [&](int64_t first, int64_t columns) {
    const Part<T> some = x.at(0, first, n, columns);
    swap_rows(some, lu.pivots.get(), 0, n);
    DLT_TRY(substitute(lu.a, some, false, true));
    DLT_TRY(substitute(lu.a, some, true, false));
    negate_all(some);
    return success;
  });
}

// U x = inverse(L) by columns, of which the first rows of inverse(L) are 0. The columns then go where the rows came from.
template <class T>
Status inverse(int64_t n, const void* a, void* out, bool* singular) {
  const ThreadsAwake awake(n >= awake_from);
  Lu<T> lu;
  *singular = false;
  DLT_TRY(lu.factor(n, a, singular));
  if (*singular) return success;
  Scratch<T> scratch;
  std::unique_ptr<int64_t[]> place(new (std::nothrow) int64_t[size_t(n)]);
  if (!place || !scratch.reserve(n * n)) return no_temporary();
  const Part<T> work = scratch.take(n, n), x{static_cast<T*>(out), n, n, n};
  DLT_TRY(each_strip(n, n * n * n, [&](int64_t first, int64_t columns) {
    const Part<T> some = work.at(0, first, n, columns);
    for (int64_t i = 0; i < n; ++i) std::fill_n(some[i], columns, T{});
    for (int64_t c = 0; c < columns; ++c) some[first + c][c] = one<T>();
    const int64_t rest = n - first;
    DLT_TRY(substitute(lu.a.at(first, first, rest, rest), some.at(first, 0, rest, columns), false, true));
    return substitute(lu.a, some, true, false);
  }));
  for (int64_t c = 0; c < n; ++c) place[size_t(c)] = c;
  for (int64_t c = n - 1; c >= 0; --c) std::swap(place[size_t(c)], place[size_t(lu.pivots[size_t(c)])]);
  return each_strip(n, n * n * 8, [&](int64_t first, int64_t rows) {
    for (int64_t i = first; i < first + rows; ++i)
      for (int64_t c = 0; c < n; ++c) x[i][c] = opposite(work[i][place[size_t(c)]]);
    return success;
  });
}

template <class T>
Status pivots(int64_t n, const void* a, void* out) {
  const ThreadsAwake awake(n >= awake_from);
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
  DLT_TRY(substitute_columns(first, y, false, false));
  copy(left, y.transposed());
  conjugate_all(left);
  negate_all(left);
  constexpr int64_t block = 128;
  for (int64_t row = 0; row < rest; row += block) {
    const int64_t rows = smaller(block, rest - row), columns = row + rows;
    DLT_TRY(multiply(last.at(row, 0, rows, columns), left.at(row, 0, rows, k), y.at(0, 0, k, columns)));
  }
  return factor_cholesky(last, spare, definite);
}

template <class T>
Status cholesky(int64_t n, const void* a, void* out, bool upper, bool* definite) {
  const ThreadsAwake awake(n >= awake_from);
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

// The power of two by which elements are multiplied so that their squares neither overflow nor vanish; 1 for most matrices.
template <class T>
real_of<T> scale_of(const T* a, int64_t n) {
  using F = real_of<T>;
  const F* x = reinterpret_cast<const F*>(a);
  F most = 0;
  for (int64_t i = 0; i < n * (is_real<T> ? 1 : 2); ++i) most = std::max(most, F(fabs(x[i])));
  constexpr F low = sizeof(F) == 4 ? F(0x1p-40) : F(0x1p-400), high = 1 / low;
  if (!(most > 0) || (most > low && most < high) || most > std::numeric_limits<F>::max()) return 1;
  int exponent;
  (void)frexp(most, &exponent);
  constexpr int limit = std::numeric_limits<F>::max_exponent - 2;
  return F(ldexp(1, exponent < -limit ? limit : exponent > limit ? -limit : -exponent));
}
template <class T>
void scale_all(T* a, int64_t n, real_of<T> by) {
  if (by == 1) return;
  auto* x = reinterpret_cast<real_of<T>*>(a);
  for (int64_t i = 0; i < n * (is_real<T> ? 1 : 2); ++i) x[i] *= by;
}

template <class T>
Status qr(int64_t m, int64_t n, int64_t columns, const void* from, void* q, void* r) {
  const ThreadsAwake awake(m >= awake_from);
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
