// SPDX-License-Identifier: Apache-2.0
// Eigenvalues of symmetric matrices and singular values, both real, by Householder's reduction to two diagonals. LAPACK's functions
// go over the matrix twice for each column, and threads of the library meet several times; these go over it once, and threads
// keep their columns in their caches. LAPACK decomposes the two diagonals, and products apply the reflections to its vectors.
// Decision 47.
#include "native/cpu/linalg/bidiagonal.h"

#include "native/cpu/linalg/factor.h"
#include "native/cpu/linalg/lapack.h"
#include "native/cpu/runtime/thread_pool.h"

namespace dlt {
namespace {

constexpr int64_t group = 4;  // columns that are read together
constexpr int64_t columns_of_chunk = 128, most_chunks = 8;
constexpr int64_t shared_elements = 1 << 14;  // of B, from which threads share a step
constexpr int64_t reflections = 64, few = 128, few_reflections = 32;  // that are applied at once, and to how few columns

// ---- reflections

// Kernels read whole cache lines of it: where they begin at an element, how many elements there are, and zeros behind them.
template <class T>
constexpr int64_t line = 64 / int64_t(sizeof(T));
template <class T>
int64_t start_of(int64_t i) {
  return i & -line<T>;
}
template <class T>
int64_t whole(int64_t n) {
  return ceil_divide(n, line<T>) * line<T>;
}
template <class T>
void fill_up(T* v, int64_t n) {
  std::fill_n(v + n, whole<T>(n) - n, T{});
}

template <class T>
T inner(const T* a, const T* b, int64_t n) {
  return T(loops<T>().inner(a, b, n));
}

// Makes v[0 ... n - 1] the vector of a reflection, with v[0] = 1. Returns its factor; `value` is what becomes of the first
// element, and the others were multiplied by `by`.
template <class T>
T reflection(T* v, int64_t n, T* value, T* by) {
  constexpr T least = sizeof(T) == 4 ? T(0x1p-80) : T(0x1p-800);
  T tail = inner(v + 1, v + 1, n - 1);
  if (tail < least) {
    // Squares are inexact. A vector of smaller numbers is first made a greater one, by a power of two.
    T most = 0;
    for (int64_t i = 1; i < n; ++i) most = std::max(most, T(fabs(v[i])));
    int exponent = 0;
    if (most > 0 && most * most < least && fabs(v[0]) < sqrt(least)) {
      (void)frexp(std::max(most, T(fabs(v[0]))), &exponent);
      const T up = T(ldexp(1, -exponent / 2)), further = T(ldexp(1, -exponent + exponent / 2));
      for (int64_t i = 0; i < n; ++i) v[i] = v[i] * up * further;
      const T tau = reflection(v, n, value, by);
      *value = *value / up / further;
      *by = *by * up * further;
      return tau;
    }
  }
  const T alpha = v[0];
  v[0] = 1;
  *value = alpha;
  *by = 0;
  if (tail == 0) {
    std::fill_n(v + 1, n - 1, T{});
    return 0;
  }
  const T norm = T(sqrt(alpha * alpha + tail)), beta = alpha >= 0 ? -norm : norm;
  *value = beta;
  *by = 1 / (alpha - beta);
  for (int64_t i = 1; i < n; ++i) v[i] *= *by;
  return (beta - alpha) / beta;
}

// x = Q x for vectors as rows of `v`, or x = x Q^T with `right`. `spare` has room for 2 * reflections * x's longer side and
// 3 * reflections^2 elements.
template <class T>
Status reflect(Part<T> v, const T* taus, Part<T> x, bool right, T* spare) {
  const int64_t n = v.rows, most = n <= few ? few_reflections : reflections, longer = right ? x.rows : x.columns;
  Part<T> t{spare, reflections, reflections, reflections}, products = t, factor = t;
  products.data += reflections * reflections;
  factor.data = products.data + reflections * reflections;
  T* const more = factor.data + reflections * reflections;
  for (int64_t first = (n - 1) / most * most; first >= 0; first -= most) {
    const int64_t k = smaller(most, n - first);
    const Part<T> vectors = v.at(first, first, k, v.columns - first), g = products.at(0, 0, k, k);
    // The product of k reflections is 1 - V^T t V.
    DLT_TRY(multiply(g, vectors, vectors.transposed(), false));
    // Column c of t is a row of `factor` first, as the sum of those before.
    for (int64_t c = 0; c < k; ++c) {
      T *const column = factor[c], tau = taus[first + c];
      std::fill_n(column, k, T{});
      for (int64_t p = 0; p < c; ++p) {
        const T *const other = factor[p], by = -tau * g[p][c];
        for (int64_t i = 0; i <= p; ++i) column[i] += by * other[i];
      }
      column[c] = tau;
    }
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < k; ++j) t[i][j] = -(right ? factor[i][j] : factor[j][i]);
    const Part<T> f = t.at(0, 0, k, k);
    if (right) {
      const Part<T> within = x.at(0, first, x.rows, x.columns - first);
      const Part<T> inside{more, x.rows, k, k}, outside{more + k * longer, x.rows, k, k};
      DLT_TRY(multiply(inside, within, vectors.transposed(), false));
      DLT_TRY(multiply(outside, inside, f, false));
      DLT_TRY(multiply(within, outside, vectors));
    } else {
      const Part<T> within = x.at(first, 0, x.rows - first, x.columns);
      const Part<T> inside{more, k, x.columns, x.columns}, outside{more + k * longer, k, x.columns, x.columns};
      DLT_TRY(multiply(inside, vectors, within, false));
      DLT_TRY(multiply(outside, f, inside, false));
      DLT_TRY(multiply(within, vectors.transposed(), outside));
    }
  }
  return success;
}

// ---- symmetric matrices

// H_k ... H_0 a H_0 ... H_k, where rows of v are the vectors. The matrix is stored whole, so that its rows are its columns.
template <class T>
void reduce_symmetric(Part<T> a, Part<T> v, T* factors, T* diagonal, T* beside, T* w, T* products, T* elements) {
  const int64_t n = a.rows;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t next = step + 1, rest = n - next;
    T *const column = a[step], *const vector = v[step];
    const T* const before = v[step > 0 ? step - 1 : 0];
    // The column as the last step leaves it, and its reflection.
    std::fill_n(vector, next, T{});
    fill_up(vector, n);
    if (step > 0)
      for (int64_t i = step; i < n; ++i) column[i] -= w[step] * before[i] + before[step] * w[i];
    diagonal[step] = column[step];
    if (rest == 0) return;
    std::copy_n(column + next, rest, vector + next);
    T by;
    const T tau = factors[step] = reflection(vector + next, rest, beside + step, &by);
    // The others as well; each one's product with the vector. The last step's w is 0 at first.
    const int64_t from = start_of<T>(step);
    const T* const other = step > 0 ? before : w;
    const Reflected r{whole<T>(n) - from, 0, before + from, w + from, vector + from, nullptr, nullptr};
    loops<T>().reflect(r, a[next] + from, a.row, rest, w + next, other + next, products, elements);
    const T along = inner(products, vector + next, rest) * tau / 2;
    std::fill_n(w, next, T{});
    for (int64_t i = 0; i < rest; ++i) w[next + i] = tau * (products[i] - along * vector[next + i]);
  }
}

template <class T>
Status symmetric(int64_t n, const T* from, T* values, T* vectors, bool* ok) {
  const int64_t pitch = pitch_of<T>(n);
  Scratch<T> scratch;
  if (!scratch.reserve(2 * n * pitch + 6 * pitch + n * n + 3 * reflections * reflections + 2 * reflections * n))
    return no_temporary();
  const Part<T> a = scratch.take(n, pitch).at(0, 0, n, n), v = scratch.take(n, pitch).at(0, 0, n, n);
  const Part<T> rows = scratch.take(6, pitch);
  T most = 0;
  for (int64_t i = 0; i < n; ++i) {
    most = std::max(most, largest(from + i * n, i + 1));
    std::copy_n(from + i * n, i + 1, a[i]);
    for (int64_t j = 0; j < i; ++j) a[j][i] = from[i * n + j];
  }
  const T scale = scale_for(most);
  for (int64_t i = 0; i < n; ++i) {
    scale_all(a[i], n, scale);
    fill_up(a[i], n);
  }
  std::fill_n(rows[0], pitch, T{});
  T *const factors = rows[1], *const beside = rows[2];
  reduce_symmetric(a, v, factors, values, beside, rows[0], rows[3], rows[4]);
  T* const columns = vectors != nullptr ? scratch.take(n, n).data : nullptr;
  DLT_TRY(lapack::tridiagonal_eigh(kind_of<T>::kind, n, values, beside, columns, ok));
  if (!*ok) return success;
  scale_all(values, n, 1 / scale);
  if (vectors == nullptr) return success;
  copy(Part<T>{vectors, n, n, n}, Part<T>{columns, n, n, n}.transposed());
  // The vectors of the rows begin at their second element.
  return reflect(v.at(0, 1, n - 1, n - 1), factors, Part<T>{vectors + n, n - 1, n, n}, false, scratch.next);
}

// ---- singular values

// B (`rows` x `columns`, rows >= columns) is the transpose of the matrix, so that its columns are contiguous.
template <class T>
struct Reduction {
  Part<T> b;  // a row of it is a column of B
  Part<T> v, u;  // vectors of reflections from the left and from the right, as rows
  T *v_factors, *u_factors, *diagonal, *above;  // of all steps
  T *x, *image, *row_image, *y, *products, *row;  // of one step
  Part<T> sums;  // two vectors of each chunk
  int64_t step = 0, chunks = 1;

  // The columns after this step's, by the last step's reflections. Groups of columns go to chunks in turn, so that a thread keeps
  // its columns while fewer and fewer remain; a step goes in the opposite direction to the last one, and begins with what that
  // left in the cache.
  void update(int64_t chunk) const {
    const int64_t from = start_of<T>(step), n = whole<T>(b.columns) - from;
    T *const all = sums[2 * chunk] + from, *const other = sums[2 * chunk + 1] + from;
    std::fill_n(all, n, T{});
    std::fill_n(other, n, T{});
    const T *const before = v[step > 0 ? step - 1 : 0], *const u_before = step > 0 ? u[step - 1] : y;  // y is 0 at first
    const Reflected r{n, step - from, before + from, x + from, v[step] + from, all, other};
    const int64_t lowest = (step + 1) / group, groups = ceil_divide(b.rows, group) - lowest;
    for (int64_t done = 0; done < groups; ++done) {
      const int64_t index = lowest + (step % 2 ? groups - 1 - done : done);
      if (index % chunks != chunk) continue;
      const int64_t low = std::max(index * group, step + 1), high = std::min((index + 1) * group, b.rows);
      loops<T>().reflect(r, b[low] + from, b.row, high - low, y + low, u_before + low, products + low, row + low);
    }
  }
  static void update_chunk(void* context, int64_t index) { static_cast<const Reduction*>(context)->update(index); }

  void reduce_column() {
    const int64_t m = b.columns, n = b.rows, next = step + 1, rest = n - next;
    T *const vector = v[step], *const column = b[step];
    // The column as the last step leaves it, and its reflection.
    std::fill_n(vector, step, T{});
    fill_up(vector, m);
    std::copy_n(column + step, m - step, vector + step);
    if (step > 0)
      for (int64_t i = step; i < m; ++i) vector[i] -= y[step] * v[step - 1][i] + u[step - 1][step] * x[i];
    T by, beta;
    const T tau = v_factors[step] = reflection(vector + step, m - step, diagonal + step, &by);
    if (rest == 0) return;
    if (chunks > 1 && (m - step) * rest >= shared_elements) parallel(chunks, update_chunk, this);
    else
      for (int64_t i = 0; i < chunks; ++i) update(i);
    std::fill_n(image + step, m - step, T{});
    std::fill_n(row_image + step, m - step, T{});
    for (int64_t i = 0; i < chunks; ++i) {
      const T *const a = sums[2 * i], *const c = sums[2 * i + 1];
      for (int64_t k = step; k < m; ++k) {
        image[k] += a[k];
        row_image[k] += c[k];
      }
    }
    // y = tau B^T v. The row that remains, and its reflection.
    T* const other = u[step];
    std::fill_n(other, next, T{});
    for (int64_t j = next; j < n; ++j) {
      y[j] = tau * products[j];
      other[j] = row[j] - y[j];
    }
    const T terms = inner(row + next, row + next, rest) + inner(y + next, y + next, rest),
            length = inner(other + next, other + next, rest);
    const T second = u_factors[step] = reflection(other + next, rest, &beta, &by);
    above[step] = beta;
    // x = second (B - v y^T) u. B u follows from B times the row, unless the row is what greater terms left.
    if (length > terms / 64) {
      const T* const under = b[next];
      for (int64_t i = step; i < m; ++i) x[i] = (row_image[i] - tau * image[i] - beta * under[i]) * by;
    } else {
      std::fill_n(x + step, m - step, T{});
      for (int64_t j = next; second != 0 && j < n; ++j)
        for (int64_t i = step; i < m; ++i) x[i] += other[j] * b[j][i];
    }
    const T along = inner(y + next, other + next, rest);
    for (int64_t i = step; i < m; ++i) x[i] = second * (x[i] - along * vector[i]);
  }

  void run() {
    const KeepAwake awake(b.rows * b.columns >= shared_elements);
    std::fill_n(x, whole<T>(b.columns), T{});
    std::fill_n(y, b.rows, T{});
    for (step = 0; step < b.rows; ++step) reduce_column();
  }
};

// The factors of `a` with no more rows than columns: u m x m, vh (m or n) x n.
template <class T>
Status decompose(Part<T> a, bool full, T* u, T* values, T* vh, bool* ok) {
  const int64_t m = a.rows, n = a.columns, pitch = pitch_of<T>(n), short_pitch = pitch_of<T>(m);
  const int64_t chunks = std::clamp<int64_t>(m / columns_of_chunk, 1, most_chunks);
  Scratch<T> scratch;
  if (!scratch.reserve((2 * m + 2 * chunks + 3) * pitch + (m + 3) * short_pitch + 4 * m + 3 * reflections * reflections +
                       2 * reflections * n))
    return no_temporary();
  const auto take = [&](int64_t rows, int64_t columns, int64_t step) {
    return scratch.take(rows, step).at(0, 0, rows, columns);
  };
  Reduction<T> r{};
  r.b = take(m, n, pitch);
  r.v = take(m, n, pitch);
  r.u = take(m, m, short_pitch);
  r.sums = take(2 * chunks, n, pitch);
  r.chunks = chunks;
  for (T** vector : {&r.x, &r.image, &r.row_image}) *vector = take(1, n, pitch).data;
  for (T** vector : {&r.y, &r.products, &r.row}) *vector = take(1, m, short_pitch).data;
  for (T** vector : {&r.v_factors, &r.u_factors, &r.diagonal, &r.above}) *vector = take(1, m, m).data;
  copy(r.b, a);
  const T scale = scale_of(a.data, m * n);  // of all elements, in whichever order they are stored
  for (int64_t i = 0; i < m; ++i) {
    scale_all(r.b[i], n, scale);
    fill_up(r.b[i], n);
  }
  r.run();
  DLT_TRY(lapack::bidiagonal_svd(kind_of<T>::kind, m, r.diagonal, r.above, vh, n, u, m, ok));
  if (!*ok) return success;
  std::copy_n(r.diagonal, m, values);
  scale_all(values, m, 1 / scale);
  if (u == nullptr) return success;
  const int64_t shown = full ? n : m;
  for (int64_t i = 0; i < shown; ++i) {
    std::fill_n(vh + i * n + (i < m ? m : 0), n - (i < m ? m : 0), T{});
    if (i >= m) vh[i * n + i] = 1;
  }
  DLT_TRY(reflect(r.v, r.v_factors, Part<T>{vh, shown, n, n}, true, scratch.next));
  // The vectors of the rows begin at their second element.
  return reflect(r.u.at(0, 1, m - 1, m - 1), r.u_factors, Part<T>{u + m, m - 1, m, m}, false, scratch.next);
}

template <class T>
Status singular(int64_t m, int64_t n, bool full, const void* from, void* u, void* values, void* vh, bool* ok) {
  const Part<T> a{static_cast<T*>(const_cast<void*>(from)), m, n, n};
  if (m <= n) return decompose(a, full, static_cast<T*>(u), static_cast<T*>(values), static_cast<T*>(vh), ok);
  const int64_t shown = full ? m : n;
  if (u == nullptr) return decompose<T>(a.transposed(), full, nullptr, static_cast<T*>(values), nullptr, ok);
  Scratch<T> scratch;
  if (!scratch.reserve(n * n + shown * m)) return no_temporary();
  const Part<T> left = scratch.take(n, n), right = scratch.take(shown, m);
  DLT_TRY(decompose(a.transposed(), full, left.data, static_cast<T*>(values), right.data, ok));
  copy(Part<T>{static_cast<T*>(u), m, shown, shown}, right.transposed());
  copy(Part<T>{static_cast<T*>(vh), n, n, n}, left.transposed());
  return success;
}

}  // namespace

bool is_tridiagonalized_here(int kind, int64_t n) noexcept { return kind < 2 && n > 1 && n <= 160; }

Status symmetric_eigenvalues(int kind, int64_t n, const void* a, void* values, void* vectors, bool* ok) noexcept {
  if (kind == 0)
    return symmetric(n, static_cast<const float*>(a), static_cast<float*>(values), static_cast<float*>(vectors), ok);
  return symmetric(n, static_cast<const double*>(a), static_cast<double*>(values), static_cast<double*>(vectors), ok);
}

bool are_reduced_here(int kind, int64_t m, int64_t n) noexcept {
  // Longer matrices have most work in the factor Q, small ones in calls.
  const int64_t least = smaller(m, n);
  return kind < 2 && least >= 192 && least <= lapack::most_rows && 2 * std::max(m, n) <= 3 * least;
}

Status singular_values(int kind, int64_t m, int64_t n, bool full, const void* a, void* u, void* values, void* vh,
                       bool* ok) noexcept {
  return (kind == 0 ? singular<float> : singular<double>)(m, n, full, a, u, values, vh, ok);
}

}  // namespace dlt
